"""`salience export`: a trained classifier in, a folder with the same classifier in ONNX out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from salience.cli import options
from salience.errors import InputError, unknown


def export(
    model: options.Model,
    to: Annotated[str, Option(help="Format: onnx.")] = "onnx",
    int8: Annotated[bool, Option("--int8", help="Round to 8 bits: smaller, faster with VNNI.")] = False,
    check: Annotated[str | None, Option(help="Texts to compare on.  [default: the run's test data]")] = None,
    accept: Annotated[bool, Option("--accept", help="Write it even if --int8 changes more than 1 %.")] = False,
    text: options.Text = None,
    text_pair: options.TextPair = None,
    label: options.Label = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    output: Annotated[Path | None, Option(help="Folder to write.  [default: RUN-onnx, or RUN-onnx-int8]")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Export a trained classifier to ONNX, compare it with the original, and write a folder that `predict` reads."""
    import shutil

    from salience.classify import load
    from salience.classify.classifier import OnnxClassifier
    from salience.classify.onnx_model import FILE, needed
    from salience.cli.rows import check_model_and_data, read_texts
    from salience.data.texts import Texts
    from salience.export.agreement import ENOUGH, Agreement
    from salience.export.folder import is_served, write_export
    from salience.files import check_folder, files_in, input_first, resolved, whole_folder
    from salience.report.terminal import tell
    from salience.runs.folder import (
        ABSTENTION,
        RECIPE,
        check_replaceable,
        trained_columns,
        write_manifest,
        written_by_run,
    )  # fmt: skip

    if to != "onnx":
        raise unknown("--to", to, ["onnx"])
    if accept and not int8:
        raise InputError("--accept is about labels that --int8 changes: leave it out, or add --int8")
    for package in ("onnx", "onnxscript", "onnxruntime"):
        needed(package)
    folder = Path(model).expanduser()
    output = output or beside(folder, "-onnx-int8" if int8 else "-onnx")
    columns = {"text": text, "text_pair": text_pair, "label": label, "encoding": encoding}
    with input_first(lambda: check_model_and_data([model], check, columns)):
        check_folder(output, overwrite)
        if output.exists():
            check_replaceable(resolved(output), output, "an export of salience", FILE)
    classifier = load(model, max_length, "cpu", "fp32")
    if isinstance(classifier, OnnxClassifier):
        raise InputError(f"{model} is an export already: name the run that it was exported from")
    trained, texts = trained_columns(model), None
    source = check or unchanged_test_data(folder)
    if source is None:
        lacking = f"{model} names no test data that are still there and unchanged: "
        if int8:
            raise InputError(f"{lacking}name texts on which int8 is compared with the original, with --check FILE")
        tell(f"{lacking}the export is compared on made-up texts alone")
    else:
        texts = Texts.concatenated(
            read_texts(source, classifier.labels, trained, None, columns, multi_label=classifier.multi_label)
        )
        if not len(texts):
            raise InputError(f"{source} has no texts; name others with --check FILE")

    def decide(held: Agreement) -> None:
        tell(f"{source}: {held}")
        if not accept and not held.is_enough:
            raise InputError(
                f"{'int8' if int8 else 'the export'} keeps {held.share:.2%} of the {held.kind.answers} in {source}, "
                f"and {ENOUGH:.0%} are asked for: nothing is written. "
                + ("Leave out --int8, or --accept the loss" if int8 else "Please report it")
            )

    with whole_folder(output, own=written_by_run(output)) as unfinished:
        write_export(classifier, unfinished, texts, int8, decide)
        if not is_served(classifier):
            tell(f"no server is written: the model reads long texts with --long {classifier.long}")
        for file in (RECIPE, ABSTENTION):  # `salience predict` finds the columns and the thresholds there
            if (folder / file).is_file():
                shutil.copyfile(folder / file, unfinished / file)
        write_manifest(unfinished)
        size = sum((unfinished / file).stat().st_size for file in files_in(unfinished)) / 2**20
    tell(f"saved: {output} ({size:.0f} MiB)")


def beside(run: Path, suffix: str) -> Path:
    """The folder that is written if none is named: beside the run, or here for a name on the hub."""
    if not run.is_dir():
        return Path(run.name + suffix)
    place = run if run.name not in ("", "..") else run.resolve()  # such as "." and "..", which are no names
    return place.with_name(run.resolve().name + suffix)


def unchanged_test_data(run: Path) -> str | None:
    """The test data that a run's recipe names; None if there are none, or if the file is gone or has changed."""
    from salience.files import sha256_of
    from salience.runs.folder import RECIPE, read_recipe

    try:
        recipe = read_recipe(run / RECIPE)
        test = recipe["test"]
        return test if sha256_of(test) == recipe["checksums"][test] else None
    except (InputError, OSError, KeyError, TypeError):
        return None
