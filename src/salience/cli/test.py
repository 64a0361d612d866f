"""`salience test`: how good a trained classifier is on rows that were labelled since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.cli import options
from salience.cli.options import of_recipe


def test(
    model: options.Model,
    data: Annotated[str, Argument(help="Labelled rows: csv, tsv, jsonl, parquet, or of the hub.")],
    text: options.Text = None,
    text_pair: options.TextPair = None,
    label: options.Label = None,
    empty_label: Annotated[str | None, of_recipe("Empty cells: error or none.  [default: as in training]")] = None,
    encoding: options.Encoding = "utf-8",
    bad_rows: Annotated[str, Option(help="Incomplete rows: error or skip.")] = "error",
    max_length: options.MaxLength = None,
    device: options.Device = "auto",
    precision: options.Precision = "auto",
    output: Annotated[Path | None, Option(help="Page to write, with the errors: scores.html.")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Score a trained classifier on labelled rows, with intervals, confusions and errors; nothing is trained."""
    from tempfile import TemporaryDirectory

    from salience.processes import importing

    with importing():
        from salience.classify import load
        from salience.cli.report import confused_lines
        from salience.cli.train import show_scores
        from salience.data.task import check_not_read
        from salience.files import check_output_file, whole_file
        from salience.report.run_page import run_page
        from salience.report.terminal import tell
        from salience.runs.results import write_results
        from salience.runs.sentences import decision_sentences, estimate_sentences, with_intervals
        from salience.training.scored import labelled_rows, scored_on

    classifier = load(model, max_length, device, precision)
    columns = {"text": text, "text_pair": text_pair, "label": label, "empty_label": empty_label}
    labelled_rows(model, classifier, data, columns, encoding, bad_rows)
    check_output_file(output, overwrite)
    check_not_read(output, data)
    run = scored_on(model, classifier, data, columns, encoding, bad_rows, tell)
    lines = [f"on these rows: {with_intervals(run.metrics['test'])} (95 % intervals over rows)"]
    lines += [*estimate_sentences(run.metrics)[:1], *decision_sentences(run.metrics), *confused_lines(run)]
    if output is not None:
        assert run.task is not None and run.predictions is not None  # it was made here
        with TemporaryDirectory() as place:  # of the files that the page is made from
            folder = Path(place)
            write_results(folder, run.recipe, run.metrics, run.labels, (run.task.test, run.predictions))
            page, _ = run_page(replace(run, folder=folder), classifier, f"{Path(model).name} on {Path(data).name}")
        with whole_file(output) as unfinished:
            unfinished.write_text(page, encoding="utf-8")
        lines.append(f"saved: {output}")
    show_scores(run, *lines)
