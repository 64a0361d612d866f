"""`salience audit`: labelled texts in, findings and a file for decisions out; decisions in, a corrected copy out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from salience.cli import options
from salience.cli.options import folder_for, of_recipe, settings_in
from salience.errors import InputError, counted
from salience.settings import as_option

if TYPE_CHECKING:
    from salience.data.task import Task
    from salience.explainers.explanation import Explanation
    from salience.report.audit_page import AuditEvidence
    from salience.training.recipe import Recipe

PAGE, LINES, DECISIONS, WORDS = "audit.html", "audit.jsonl", "decisions.csv", "ignore_words.txt"
FOLDS, SIMILARITY = 5, 0.95
# Settings that a corrected copy depends on.
OF_COPIES = ("text", "text_pair", "label", "label_separator", "empty_label", "encoding")


def audit(
    data: Annotated[str, Argument(help="Labelled texts, as for `salience train`.")],
    text: options.GuessedText = None,
    text_pair: Annotated[str | None, of_recipe("Column of a second text.  [default: guessed]")] = None,
    label: Annotated[str | None, of_recipe("Column of the label, or columns of 0 and 1.")] = None,
    label_separator: options.LabelSeparator = None,
    empty_label: options.EmptyLabel = None,
    group: Annotated[str | None, of_recipe("Column of groups that are not divided.")] = None,
    encoding: options.DataEncoding = None,
    bad_rows: options.BadRows = None,
    model: Annotated[str | None, of_recipe("Encoder: a folder, or a hub name.  [default: minilm]")] = None,
    max_length: Annotated[int | None, of_recipe("Tokens read of a text.")] = None,
    precision: options.TrainingPrecision = None,
    seed: options.AnySeed = None,
    device: options.TrainingDevice = None,
    test: Annotated[str | None, Option(help="Test rows, searched for near-duplicates of the data.")] = None,
    run: Annotated[str | None, Option(help="Check labels by the estimate of this run.")] = None,
    fine_tune: Annotated[bool, Option("--fine-tune", help="Check labels by fine-tuned models; slower.")] = False,
    folds: Annotated[int | None, Option(help="Folds of the cross-validation.  [default: 5]")] = None,
    similarity: Annotated[float | None, Option(help="Lowest cosine of near-duplicates.  [default: 0.95]")] = None,
    explain: Annotated[bool, Option("--explain", help="Also list the words a classifier decides by.")] = False,
    apply: Annotated[str | None, Option(metavar="DECISIONS", help="Write a copy corrected by decisions.csv.")] = None,
    output: Annotated[Path | None, Option(help="Folder, or the copy.  [default: runs/DATA-audit]")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Find likely wrong labels, near-duplicates, outliers, confusable classes and words that give the label away."""
    given = settings_in({**locals(), "data": None, "test": None})
    judging = {"test": test, "run": run, "fine_tune": fine_tune, "folds": folds, "similarity": similarity,
               "explain": explain}  # fmt: skip
    useless = [] if run is None else [name for name in ("fine_tune", "folds") if judging[name]]
    if apply is not None:
        useless = [name for name, value in (given | judging).items() if value and name not in OF_COPIES]
    if useless:
        other = "--run" if apply is None else "--apply"
        raise InputError(f"{as_option(useless[0])} has no effect with {other}: leave out one of them")
    if apply is not None:
        apply_decisions(data, apply, output, overwrite, given)
        return
    if folds is not None and not 2 <= folds <= 20:
        raise InputError(f"--folds is {folds}: give a whole number from 2 to 20")
    if similarity is not None and not 0.5 <= similarity <= 1:
        raise InputError(f"--similarity is {similarity:g}: give a number from 0.5 to 1")

    from salience.audit.auditing import audit_folds, by_fine_tuning, by_regression, find_all, of_run
    from salience.audit.decisions import has_decisions
    from salience.audit.findings import KINDS, ignorable, kinds_of
    from salience.audit.wrong_labels import share_of_right
    from salience.files import check_folder, input_first
    from salience.report.audit_page import AuditEvidence
    from salience.report.terminal import say
    from salience.report.training_progress import Progress
    from salience.runs.sentences import HEAD_ALONE, estimated_by
    from salience.training.fit import Listeners
    from salience.training.recipe import Recipe
    from salience.training.references import encoder_of_recipe
    from salience.training.task import check_input, read_task

    output = output or folder_for(data, "audit")
    decisions = output / DECISIONS
    similarity = SIMILARITY if similarity is None else similarity
    recipe = Recipe(data=data, test=test, **given)
    with input_first(lambda: check_input(recipe)):
        check_folder(output, overwrite)
        if decisions.is_file() and has_decisions(decisions):
            raise InputError(f"{decisions} has decisions, which would be lost: move it, or choose another --output")
    task = read_task(recipe, say)
    if run is not None:  # a wrong run is reported before the encoder runs
        predicted = of_run(run, data, task)
        source = f"the estimate of {Path(run).name} on {len(predicted):,} rows"
    encoder = encoder_of_recipe(recipe)
    vectors = encoder.vectors(task.training)
    test_vectors = encoder.vectors(task.test) if len(task.test) else None
    if run is None:
        divided, places = audit_folds(task, folds or FOLDS, recipe.seed, say)
        if fine_tune:
            with Progress(stderr=True) as progress:
                listeners = Listeners(say, [progress.callback], planned=progress.planned)
                predicted = by_fine_tuning(replace(recipe, test=None), task, divided, places, listeners)
            source = "fine-tuned models"
        else:
            predicted = by_regression(divided, places, vectors, len(task.labels))
            source = HEAD_ALONE
        source += f", {estimated_by(f'folds:{len(divided.predicted)}')}"
    explanations = explained(recipe, task, run) if explain else ()
    findings = find_all(task, vectors, test_vectors, predicted, similarity, explanations)
    options = [part for name, value in given.items() for part in (as_option(name), str(value))]
    into = ["--output", str(folder_for(data, "without-words"))]
    ignoring = join(["salience", "train", data, *options, "--ignore-words", str(output / WORDS), *into])
    evidence = AuditEvidence(task, findings, predicted, source, similarity, explain, ignoring)
    write_audit(output, evidence, f"Audit of {Path(data).name}")
    say(
        f"{counted(len(task.training), 'row')}; labels checked by {source}: accuracy "
        f"{share_of_right(task, predicted):.1%}{' over all decisions about labels' if task.multi_label else ''}"
    )
    for kind in kinds_of(task, explain):
        say(f"{KINDS[kind]}: {sum(finding.kind == kind for finding in findings):,}")
    say(f"page: {output / PAGE}")
    say(f"decisions: {decisions}")
    if ignorable(findings):
        say(f"words: {output / WORDS}; delete those that rightly decide the label, then run: {ignoring}")


def explained(recipe: Recipe, task: Task, run: str | None) -> Iterable[Explanation]:
    """Explanations of the labelled rows, by a run or by the regression on the vectors of the encoder."""
    from salience.audit.words import explained_rows
    from salience.classify import load
    from salience.cli.rows import cannot
    from salience.data.texts import Texts
    from salience.training.prepare import prepare, silent

    if run is not None:
        classifier = load(run, device=recipe.device)
    else:
        own = replace(task, validation=Texts([]), test=Texts([]))
        classifier = prepare(replace(recipe, test=None, head_start="logistic"), own, silent).classifier
    with cannot(f"explain by {run or recipe.model}"):
        return list(explained_rows(classifier, task.training, recipe.seed))


def write_audit(output: Path, evidence: AuditEvidence, title: str) -> None:
    """Writes the files of an audit in one step; without a word that gives a label away, there is none of words."""
    from salience.audit.decisions import COLUMNS, decision_rows
    from salience.audit.findings import ignorable
    from salience.data.reading import Form
    from salience.data.writing import csv_writer
    from salience.files import whole_folder, write_lines, write_whole
    from salience.report.audit_page import audit_page

    page = audit_page(evidence, title)
    rows = decision_rows(evidence.findings, evidence.task.training, evidence.task.labels)
    with whole_folder(output, own=[WORDS]) as folder:
        write_whole(folder / PAGE, page)
        if words := ignorable(evidence.findings):
            write_whole(folder / WORDS, "".join(f"{word}\n" for word in words))
        write_lines(folder / LINES, (finding.as_row() for finding in evidence.findings))
        # A person opens the file in a spreadsheet: Excel needs the byte order mark to read UTF-8, and the texts, which
        # are from elsewhere, must not become formulas.
        with open(folder / DECISIONS, "w", encoding="utf-8-sig", newline="") as file:
            csv_writer(file, COLUMNS, safe=True, form=Form())(rows)


def apply_decisions(
    data: str, decisions: str, output: Path | None, overwrite: bool, given: Mapping[str, Any]
) -> None:  # fmt: skip
    """Writes a copy of a file of labelled texts, corrected by decisions.csv; `given` are settings of a recipe."""
    from salience.audit.decisions import DELETED, label_of_row, read_decisions, write_corrected
    from salience.data.columns import choose_columns
    from salience.data.reading import column_names, is_on_hub, stream, suffix_of
    from salience.data.task import check_not_read
    from salience.data.values import mixed_kinds
    from salience.files import check_output_file
    from salience.report.terminal import say

    suffix = suffix_of(Path(data))
    if is_on_hub(data):
        raise InputError(f"{data} is a data set on the hub, and only files can be corrected: save it as a file")
    if output is None:
        raise InputError(f"--apply needs the name of the corrected copy: add --output corrected{suffix}")
    encoding, separator = given.get("encoding", "utf-8"), given.get("label_separator")
    columns, notes = choose_columns(
        column_names(data, encoding), given.get("text"), given.get("text_pair"), given.get("label"), source=data,
        separator=separator, empty_label=given.get("empty_label", "error"),
    )  # fmt: skip
    if suffix_of(output) != suffix:
        raise InputError(f"{output} must end in {suffix}, as {data} does: a copy keeps the format")
    label = columns.several or str(columns.label)
    streamed = stream(data, encoding, columns=set(columns.several) or {str(columns.label)})
    rows = [label_of_row(row, columns) for row in streamed]
    labels = {number: label for number, label in enumerate(rows, 1) if label is not None}
    if mixed_kinds(list(labels.values())) is not None:
        raise InputError(f"{data}: some rows have lists of labels, and others have not: write them in one way")
    changes = read_decisions(decisions, labels, data)
    deleted = sum(change is DELETED for change in changes.values())
    if deleted == len(rows):
        raise InputError(f"{decisions} deletes every row of {data}: nothing would be left")
    check_not_read(output, data, decisions)
    check_output_file(output, overwrite)
    for note in notes:
        say(note)
    write_corrected(Path(data), output, label, encoding, labels, changes, separator, columns.empty_label)
    say(
        f"{counted(len(changes) - deleted, 'row')} relabelled and {counted(deleted, 'row')} deleted of "
        f"{len(rows):,}: {output}"
    )
