"""`salience correct`: texts in; a page out on which a person corrects their labels and marks their words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.cli import options
from salience.errors import InputError, counted, quoted


def correct(
    model: options.Model,
    data: Annotated[list[str], Argument(help="Texts to correct, labelled or unlabelled: files.", metavar="TEXTS")],
    text: options.Text = None,
    text_pair: options.TextPair = None,
    label: options.Label = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    precision: options.Precision = "auto",
    device: options.Device = "auto",
    limit: Annotated[int, Option(help="Texts on the page.")] = 50,
    output: Annotated[Path, Option(help="Page to write.")] = Path("corrections.html"),
    overwrite: options.Overwrite = False,
) -> None:
    """Write a page on which a person corrects labels and marks words, for `salience train --corrections`."""
    from salience.audit.doubtful import most_doubtful
    from salience.classify import load
    from salience.cli.rows import cannot, check_model_and_data, found_columns, read_texts
    from salience.data.corrected import COLUMNS
    from salience.data.reading import column_names
    from salience.data.task import check_not_read
    from salience.data.texts import Texts
    from salience.files import check_output_file, input_first, write_whole
    from salience.report.correction_page import SAVED, correction_page
    from salience.report.terminal import say
    from salience.runs.folder import trained_columns
    from salience.runs.results import unseen_predictions

    if limit < 1:
        raise InputError(f"--limit is {limit}: give the number of texts on the page, at least 1")
    if output.suffix.lower() != ".html":
        raise InputError(f"{output}: name the page with .html")
    columns = {"text": text, "text_pair": text_pair, "label": label, "encoding": encoding}
    for source in data:
        with input_first(lambda source=source: check_model_and_data([model], source, columns)):  # type: ignore[misc]
            check_output_file(output, overwrite)
            check_not_read(output, source)
    classifier, trained = load(model, max_length, device, precision), trained_columns(model)
    named = [
        (found.text, found.text_pair)
        for found, _ in (found_columns(column_names(each, encoding), each, True, trained, columns) for each in data)
    ]
    of_texts = [name for name in named[0] if name is not None]
    for source, own in zip(data, named, strict=True):
        if own != named[0]:
            raise InputError(f"{source}: its texts are in other columns than those of {data[0]}: name them by --text")
    if taken := [name for name in of_texts if name in COLUMNS]:
        raise InputError(f"{data[0]}: the text column {quoted(taken[0])} has a name that {SAVED} needs: rename it")

    parts = list[Texts]()
    for source in data:
        read = read_texts(source, classifier.labels, trained, None, columns, multi_label=classifier.multi_label)
        parts += (replace(part, files=[Path(source).name] * len(part)) for part in read)
    if not parts:
        raise InputError(f"{', '.join(data)}: there are no texts")
    with cannot(f"explain {', '.join(data)} by {model}"):
        found = most_doubtful(
            classifier, Texts.concatenated(parts), limit, unseen_predictions(model, classifier.labels)
        )
    title = f"Correct {Path(model).name}"
    write_whole(output, correction_page(found, of_texts, classifier.labels, classifier.multi_label, title))
    say(f"page: {output}, {counted(len(found), 'text')}")
    say(f"next: correct them on the page, save {SAVED}, and train with --corrections {SAVED}")
