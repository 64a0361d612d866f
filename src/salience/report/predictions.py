"""From a file of texts to a file of labels and probabilities, a window of rows at a time."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from salience.data.columns import Columns, choose_as_trained
from salience.data.encoding import encode_texts
from salience.data.reading import column_names, stream
from salience.data.values import text_of, value_in
from salience.data.writing import check_output, writing
from salience.errors import InputError, counted, unknown
from salience.models.loading import load_trained, longest_text
from salience.training.folder import trained_columns
from salience.training.predicting import predict_probabilities


def predict_file(
    model: str, data: str, output: Path | None, *, text: str | None, text_pair: str | None, encoding: str,
    max_length: int | None, window: int, precision: str, device: str, overwrite: bool,
) -> None:  # fmt: skip
    """Writes the rows of `data` with `predicted`, `probability` and every label's probability beside them.

    A row without a text gets empty cells, so that rows stay where they are; their number is told at the end.

    Raises:
        InputError: the data, the model or an option is at fault; no output file has been written then.
    """
    chosen_device = choose_device(device)
    if precision not in ("auto", "fp32", "bf16"):
        raise unknown("--precision", precision, ["auto", "fp32", "bf16"])
    if window < 1:
        raise InputError(f"--window must be at least 1, not {window}")
    check_output(output, overwrite)
    columns, notes = choose_as_trained(
        column_names(data, encoding), trained_columns(model), {"text": text, "text_pair": text_pair},
        need_label=False, source=data,
    )  # fmt: skip
    classifier, tokenizer = load_trained(model)
    classifier.to(chosen_device)
    longest = longest_text(classifier, tokenizer, max_length)
    for note in notes:
        tell(note)

    rows = stream(data, encoding)
    as_columns = output is None or output.suffix.lower() != ".jsonl"
    seen = cut = empty = 0
    with writing(output, overwrite) as write:
        while part := list(islice(rows, window)):
            predicted, shortened = predict_rows(
                classifier, tokenizer, part, columns, longest, precision, as_columns, data, seen + 1
            )
            write(predicted)
            seen, cut = seen + len(part), cut + shortened
            empty += sum(row["predicted"] is None for row in predicted)
    if cut:
        tell(cut_off(cut, seen, longest))
    if empty:
        tell(f"{empty} of {seen} rows have no text and got no label")
    tell(f"{counted(seen, 'row')} predicted" + (f": {output}" if output else ""))


def predict_rows(
    model,
    tokenizer,
    rows: list[dict],
    columns: Columns,
    longest: int,
    precision: str,
    as_columns: bool,
    source: str,
    first: int,
) -> tuple[list[dict[str, Any]], int]:
    """The rows with what the model says of them, and how many texts were cut; `first` is the first row's number."""
    names = [model.config.id2label[number] for number in range(model.config.num_labels)]
    wanted = [name for name in (columns.text, columns.text_pair) if name is not None]
    texts = [
        [value_in(row, name, text_of, number, source) for name in wanted] for number, row in enumerate(rows, first)
    ]
    whole = [index for index, parts in enumerate(texts) if None not in parts]
    own, *second = zip(*(texts[index] for index in whole), strict=True) if whole else ((),)
    encoded = encode_texts(tokenizer, own, second[0] if second else None, max_length=longest)
    probabilities = predict_probabilities(model, encoded, precision)

    predicted = [row | answer(names, None, as_columns) for row in rows]
    for index, probability in zip(whole, probabilities.tolist(), strict=True):
        predicted[index] |= answer(names, probability, as_columns)
    return predicted, encoded.cut


def answer(names: list[str], probability: list[float] | None, as_columns: bool) -> dict[str, Any]:
    """What is added to a row: a column a label in tables, one object in json."""
    missing = probability is None
    best = None if missing else max(range(len(names)), key=probability.__getitem__)
    each = dict.fromkeys(names) if missing else dict(zip(names, probability, strict=True))
    found = {"predicted": None if missing else names[best], "probability": None if missing else probability[best]}
    if not as_columns:
        return found | {"probabilities": None if missing else each}
    return found | {f"probability_{name}": value for name, value in each.items()}


def choose_device(device: str) -> torch.device:
    if device not in ("auto", "cpu", "cuda"):
        raise unknown("--device", device, ["auto", "cpu", "cuda"])
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise InputError("--device cuda: this machine has no CUDA device that torch sees; use --device cpu or auto")
    return torch.device("cuda" if available and device != "cpu" else "cpu")


def cut_off(cut: int, seen: int, longest: int) -> str:
    return f"{cut} of {seen} texts are longer than the {longest} tokens read of each; the rest was cut off"


def tell(line: str) -> None:
    """Notes go to standard error: standard output may be the csv."""
    print(line, file=sys.stderr)
