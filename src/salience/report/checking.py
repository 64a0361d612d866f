"""`salience faithfulness`: a model, a judge and labelled texts in, the table of explainers by metrics out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from transformers import set_seed

from salience.errors import InputError, listed
from salience.explain import EXPLAINERS
from salience.explain.explanations import Text, explain_texts
from salience.models.loading import load_trained, longest_text
from salience.report.explaining import chosen_explainers, read
from salience.report.faithfulness_page import terminal_table, write_faithfulness
from salience.report.predictions import choose_device, tell
from salience.study.faithfulness import Reader, evaluate


def check_explanations(
    name: str, data: str, *, judge: str | None, explainers: list[str] | None, most: int, at: int, rows: int | None,
    seed: int, device: str, output: Path | None, overwrite: bool, max_length: int | None, columns: Mapping[str, Any],
) -> None:  # fmt: skip
    """Prints the table and, if a folder is named, writes it there with its curves.

    Raises:
        InputError: the data, a model or an option is at fault.
    """
    if not 1 <= at <= most:
        raise InputError(f"--at {at} must be from 1 to --most {most}")
    if output is not None and output.exists() and not overwrite:
        raise InputError(f"{output} exists: choose another --output, or --overwrite it")
    chosen = choose_device(device)
    reader = load(name, max_length, chosen)
    judging = reader if judge is None else load(judge, max_length, chosen)
    labels = names_of(reader)
    if names_of(judging) != labels:
        raise InputError(f"{judge} knows the labels {names_of(judging)}, but {name} {labels}: they must be the same")
    texts = [own for own in read(data, labels, rows, columns) if own.label is not None]
    if not texts:
        raise InputError(
            f"{data}: no row has a label that the model knows ({listed(labels)}); name its --label column"
        )
    functions = fitting(reader, texts[0]) if explainers is None else chosen_explainers(explainers, None, None)
    set_seed(seed)
    found = evaluate(reader, judging, texts, functions | {"random": EXPLAINERS["random"]}, most, at, say=tell)
    about = (
        f"{len(texts)} texts of {Path(data).name}, explained for the class that {Path(name).name} predicts, judged by "
        + ("the model itself" if judge is None else Path(judge).name)
        + "; means with 95 % bootstrap intervals, random over 5 draws; words to flip: "
        f"{most + 1} where {most} are not enough"
    )
    Console().print(terminal_table(found, about))
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write_faithfulness(found, f"Faithfulness of {Path(name).name}", about, output)
        tell(f"saved: {output}/faithfulness.json, index.html")


def load(name: str, max_length: int | None, device) -> Reader:
    model, tokenizer = load_trained(name)
    return Reader(model.to(device).eval(), tokenizer, longest_text(model, tokenizer, max_length))


def names_of(reader: Reader) -> list[str]:
    return [reader.model.config.id2label[number] for number in range(reader.model.config.num_labels)]


def fitting(reader: Reader, text: Text) -> dict[str, Callable]:
    """The explainers that can explain this model."""
    found = {}
    for name, explainer in EXPLAINERS.items():
        try:
            list(explain_texts(reader.model, reader.tokenizer, [text], {name: explainer}, max_length=reader.longest))
        except ValueError:
            continue
        found[name] = explainer
    return found
