"""`salience faithfulness`: a model, a judge and labelled texts in, the table of explainers by metrics out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from transformers import set_seed

from salience.commands.explain import chosen_explainers
from salience.commands.labelled_texts import cannot, check_pieces, labelled_texts
from salience.errors import InputError, counted, listed
from salience.explainers import EXPLAINERS
from salience.explainers.explanations import Text, explain_texts
from salience.faithfulness.evaluation import DRAWS, TAU_TEXTS, evaluate
from salience.files import whole_folder
from salience.inference import TextClassifier, load
from salience.outputs import check_folder
from salience.report.faithfulness_page import marked_table, terminal_table, write_faithfulness
from salience.report.terminal import tell
from salience.training.folder import trained_columns


def check_explanations(
    name: str, data: str, *, judge: str | None, explainers: list[str] | None, most: int, at: int, rows: int | None,
    seed: int, device: str, output: Path | None, overwrite: bool, max_length: int | None, columns: Mapping[str, Any],
    marks: str | None = None, pieces: str = "sum",
) -> None:  # fmt: skip
    """Prints the table and, if a folder is named, writes it there with its curves.

    Raises:
        InputError: the data, a model or an option is at fault.
    """
    if not 1 <= at <= most:
        raise InputError(f"--at {at} must be from 1 to --most {most}")
    check_folder(output, overwrite)
    if rows is not None and rows < 1:
        raise InputError(f"--rows must be at least 1, not {rows}")
    check_pieces(pieces)
    classifier = load(name, max_length, device)
    judging = classifier if judge is None else load(judge, max_length, device)
    if judging.labels != classifier.labels:
        raise InputError(
            f"{judge} knows the labels {listed(judging.labels)}, but {name} {listed(classifier.labels)}: they must be "
            "the same"
        )
    texts = labelled_texts(data, classifier.labels, trained_columns(name), rows, columns, marks)
    if marks is not None and texts[0].pair is not None:
        raise InputError(f"{data}: words are marked in single texts only, not in pairs")
    functions = (
        applicable_explainers(classifier, texts[0])
        if explainers is None
        else chosen_explainers(explainers, None, None)
    )
    set_seed(seed)
    with cannot(f"test {name}"):
        found = evaluate(classifier, judging, texts, functions, most, at, pieces=pieces, seed=seed, say=tell)
    about = (
        f"{counted(len(texts), 'text')} of {Path(data).name}, explained for the class that {Path(name).name} "
        "predicts, judged by "
        + ("the model itself" if judge is None else Path(judge).name)
        + ("; a word's score is its highest token's" if pieces == "max" else "")
        + f"; means with 95 % bootstrap intervals, random over {DRAWS} draws; words to flip: {most + 1} where "
        f"{most} are not enough; tau over {counted(min(TAU_TEXTS, len(texts)), 'text')}"
    )
    Console().print(terminal_table(found, about))
    if any(row.detected for row in found):
        Console().print(marked_table(found, at))
    elif marks is not None:
        tell(f"{data}: no word of a text is marked with the text's label; the labels are {listed(classifier.labels)}")
    if output is not None:
        with whole_folder(output) as folder:
            write_faithfulness(found, f"Faithfulness of {Path(name).name}", about, at, folder)
        tell(f"saved: {output}/faithfulness.json, index.html")


def applicable_explainers(classifier: TextClassifier, text: Text) -> dict[str, Callable]:
    """The explainers that can explain this model."""
    found = {}
    for name, explainer in EXPLAINERS.items():
        try:
            list(explain_texts(classifier, [text], {name: explainer}))
        except InputError:
            raise
        except ValueError:
            continue
        found[name] = explainer
    return found
