"""`salience export`: a trained classifier in, a folder with the same classifier in ONNX out."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salience.classify import TextClassifier, load
from salience.classify.classifier import OnnxClassifier
from salience.classify.onnx_model import FILE, needed
from salience.commands.labelled_texts import read_texts
from salience.data.texts import Texts
from salience.errors import InputError, listed, quoted, unknown
from salience.export.agreement import ENOUGH, Agreement
from salience.export.folder import is_served, write_export
from salience.files import check_folder, files_in, resolved, sha256_of, whole_folder
from salience.report.terminal import tell
from salience.runs.folder import ABSTENTION, RECIPE, read_recipe, trained_columns, write_manifest, written_by_run

FORMATS = ("onnx",)


def export_run(
    name: str, *, to: str, int8: bool, check: str | None, accept: bool, output: Path | None, overwrite: bool,
    max_length: int | None, columns: Mapping[str, Any],
) -> None:  # fmt: skip
    """Writes a folder with the classifier in ONNX, after comparing it with the original.

    Args:
        name: a run folder, or any other trained classifier.
        to: a value of `FORMATS`.
        int8: whether weights and products are rounded to 8 bits.
        check: a file of texts on which the export is compared with the original; None takes the test data of the run.
        accept: write an export that changes more than 1 % of the labels, or sets of labels.
        output: the folder to write; None puts it beside the run.
        columns: names of the columns and the encoding of `check`, as `read_texts` takes them.

    Raises:
        InputError: the model cannot be exported, the export changes too much, or an option is at fault. Nothing is
            written then.
    """
    if to not in FORMATS:
        raise unknown("--to", to, FORMATS)
    if accept and not int8:
        raise InputError("--accept is about labels that --int8 changes: leave it out, or add --int8")
    for package in ("onnx", "onnxscript", "onnxruntime"):
        needed(package)
    output = output or beside(name, "-onnx-int8" if int8 else "-onnx")
    check_replaceable(output, overwrite)
    classifier = load(name, max_length, "cpu", "fp32")
    if isinstance(classifier, OnnxClassifier):
        raise InputError(f"{name} is an export already: name the run that it was exported from")
    source = check or unchanged_test_data(name)
    if source is None and int8:
        raise InputError(
            f"{name} names no test data that are still there and unchanged: name texts on which int8 is compared with "
            "the original, with --check FILE"
        )
    if source is None:
        tell(
            f"{name} names no test data that are still there and unchanged: the export is compared on made-up texts "
            "alone"
        )
    texts = None if source is None else checking_texts(source, classifier, name, columns)
    trained = trained_columns(name)
    pairs = None if trained is None else trained.text_pair is not None

    def decide(held: Agreement) -> None:
        tell(f"{source}: {held}")
        if not accept:
            check_agreement(held, source, int8)

    with whole_folder(output, own=written_by_run(output)) as unfinished:
        write_export(classifier, unfinished, texts, int8, decide, pairs)
        if not is_served(classifier):
            tell(
                f"no server is written: the model reads long texts with --long {classifier.long}, which the server "
                "cannot; salience predict can"
            )
        for file in (RECIPE, ABSTENTION):  # `salience predict` finds the columns and the thresholds there
            if (Path(name).expanduser() / file).is_file():
                shutil.copyfile(Path(name).expanduser() / file, unfinished / file)
        write_manifest(unfinished)
        size = sum((unfinished / file).stat().st_size for file in files_in(unfinished)) / 2**20
    tell(f"saved: {output} ({size:.0f} MiB)")


def check_agreement(held: Agreement, source: str | None, int8: bool) -> None:
    """Raises an `InputError` if an export keeps too few of the answers about the texts of `source`."""
    if not held.is_enough:
        raise InputError(
            f"{'int8' if int8 else 'the export'} keeps {held.share:.2%} of the {held.problem.answers} in "
            f"{source}, and {ENOUGH:.0%} are asked for: nothing is written. "
            + ("Leave out --int8, or --accept the loss" if int8 else "Please report it")
        )


def beside(name: str, suffix: str) -> Path:
    """The folder that is written if none is named: beside the run, or here for a name on the hub."""
    path = Path(name).expanduser()
    if not path.is_dir():
        return Path(path.name + suffix)
    place = path if path.name not in ("", "..") else path.resolve()  # such as "." and "..", which are no names
    return place.with_name(path.resolve().name + suffix)


def check_replaceable(output: Path, overwrite: bool, sign: str = FILE, kind: str = "export of salience") -> None:
    """Checks that a folder can be written, and that only an earlier folder of its kind is replaced.

    Args:
        sign: a file that all folders of the kind have, and no others.
        kind: what they are, for messages.

    Raises:
        InputError: it exists and may not be overwritten, cannot be written, or has files that no such command wrote.
    """
    check_folder(output, overwrite)
    files = set(files_in(resolved(output))) if output.exists() else set()
    written = written_by_run(output)
    if files and sign not in written:
        raise InputError(f"{output} is no {kind} and is not overwritten: choose another --output")
    if foreign := sorted(files - written):
        raise InputError(
            f"{output} contains files that no {kind} has ({listed(map(quoted, foreign), 3)}) and is not "
            "overwritten: choose another --output, or move these files elsewhere"
        )


def unchanged_test_data(name: str) -> str | None:
    """The test data that a run's recipe names; None if there are none, or if the file is gone or has changed."""
    try:
        recipe = read_recipe(Path(name).expanduser() / RECIPE)
        test = recipe["test"]
        return test if sha256_of(test) == recipe["checksums"][test] else None
    except (InputError, OSError, KeyError, TypeError):
        return None


def checking_texts(source: str, classifier: TextClassifier, name: str, columns: Mapping[str, Any]) -> Texts:
    """The texts on which an export is compared with the original; with labels, if the file has them.

    Raises:
        InputError: the file is invalid or has no texts.
    """
    trained = trained_columns(name)
    texts = Texts.concatenated(
        read_texts(source, classifier.labels, trained, None, columns, multi_label=classifier.multi_label)
    )
    if not len(texts):
        raise InputError(f"{source} has no texts; name others with --check FILE")
    return texts
