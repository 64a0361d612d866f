"""decisions.csv: the rows that an audit suggests to change, one a line, with a column that a person fills in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from salience.audit.finding import Finding, named, rows_of, written
from salience.data.labels import number_in, separate
from salience.data.reading import stream
from salience.data.texts import Texts
from salience.data.values import Label, listed_values
from salience.data.writing import FORMULA
from salience.errors import InputError, listed, quoted, unknown

COLUMNS = ("row", "label", "suggested", "decision", "reason", "text")
KEEP, DELETE, RELABEL = "keep", "delete", "relabel"
LONGEST = 500  # characters of a text that are shown
DELETED = None  # in place of a new label


def decision_rows(findings: Sequence[Finding], texts: Texts, labels: Sequence[str]) -> list[dict[str, str]]:
    """The lines of decisions.csv: every row that its label, a near-duplicate, a test row or its distance brings up.

    The first row of near-duplicates of one label is left out: it is the one to keep. A row has one line, with all
    reasons.

    Args:
        findings: as `salience.audit.findings.find_all` gives them.
        texts: the labelled rows.
        labels: the names of the classes.
    """
    reasons: dict[int, list[str]] = {}
    suggested: dict[int, str] = {}
    for finding in findings:
        rows = finding.rows
        if finding.kind == "label":
            suggested[rows[0]] = written(finding.details["suggested"])
            reasons.setdefault(rows[0], []).append("the label is likely wrong")
        elif finding.kind == "duplicate":
            differ = len({written(label) for label in finding.details["labels"]}) > 1
            for row in rows if differ else rows[1:]:
                others = listed((str(other) for other in rows if other != row), 3)
                what = "nearly equal, with other labels" if differ else "nearly equal"
                reasons.setdefault(row, []).append(f"{what}: row {others}")
        elif finding.kind == "leak":
            for row in rows:
                reasons.setdefault(row, []).append(f"nearly equal to test row {finding.details['test_rows'][0]}")
        elif finding.kind == "outlier":
            reasons.setdefault(rows[0], []).append("far from all other rows")
    places = {row: place for place, row in enumerate(rows_of(texts))}

    def line(row: int) -> dict[str, str]:
        place = places[row]
        return {
            "row": str(row), "label": written(named(texts.known_labels[place], labels)),
            "suggested": suggested.get(row, ""), "decision": "", "reason": "; ".join(reasons[row]),
            "text": shown_text(texts, place),
        }  # fmt: skip

    return [line(row) for row in reasons]


def shown_text(texts: Texts, place: int) -> str:
    """A text, or both texts of a pair, cut to `LONGEST` characters."""
    text = texts.texts[place] if texts.second is None else f"{texts.texts[place]} | {texts.second[place]}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def read_decisions(file: str, labels_of_rows: Mapping[int, Label], data: str) -> dict[int, Label | None]:
    """What is to be changed: the number of a row to its new label, or `DELETED`.

    Rows without a decision are kept.

    Args:
        file: decisions.csv, filled in; its text is UTF-8.
        labels_of_rows: the label of every row of the data that has one, or its labels.
        data: the name of the data, for error messages.

    Raises:
        InputError: a line is not valid, or does not fit the data; names the line and its row.
    """
    known = sorted({name for label in labels_of_rows.values() for name in separate(label)})
    several = any(isinstance(label, tuple) for label in labels_of_rows.values())
    changes: dict[int, Label | None] = {}
    for place, row, decision, line in decided_lines(file, labels_of_rows, data):
        own, given = labels_of_rows[row], read_label(line["label"], known, several, f'{place}, column "label"')
        if not same(given, own):
            cause = (
                "a spreadsheet has changed the number: give its columns the type text when you open decisions.csv"
                if same_number(given, own)
                else "the file was made from other data: run the audit again"
            )
            raise InputError(f"{place}: row {row} of {data} has the label {told(own)}, not {told(given)}; {cause}")
        if decision == DELETE:
            changes[row] = DELETED
        elif decision == RELABEL:
            column = f'{place}, column "suggested"'
            new = read_label(line["suggested"], known, several, column)
            for name in separate(new):
                if name not in known:
                    raise InputError(f"{column}: {unknown('label', name, known)}")
            if not same(new, own):
                changes[row] = new
    return changes


def decided_lines(file: str, rows: Collection[int], data: str) -> Iterator[tuple[str, int, str, dict[str, str]]]:
    """Yields the lines with a decision: their place for messages, the row, the decision, and the line by columns.

    Args:
        file, data: as of `read_decisions`.
        rows: the rows of the data that have a label.

    Raises:
        InputError: a column is missing, a decision or a row is unknown, or a row is decided twice.
    """
    decided: dict[int, int] = {}
    for number, line in enumerate(lines_of(file), 1):
        place = f"{file}: row {number}"
        for column in COLUMNS[:4]:
            if not isinstance(line.get(column), str):
                raise InputError(f"{file}: no column {quoted(column)}; take the file that `salience audit` wrote")
        decision = line["decision"].strip().lower()
        if not decision:
            continue
        if decision not in (KEEP, DELETE, RELABEL):
            raise InputError(f"{place}: {unknown('decision', line['decision'], [KEEP, DELETE, RELABEL])}")
        numbered = line["row"].strip()
        row = int(numbered) if numbered.isdecimal() and len(numbered) < 16 else 0
        if row not in rows:
            raise InputError(f"{place}: {data} has no row {quoted(line['row'])} with a label; restore the number")
        if row in decided:
            raise InputError(f"{place}: row {row} is decided in row {decided[row]} already; remove one of the two")
        decided[row] = number
        yield place, row, decision, line


def lines_of(file: str) -> Iterator[dict]:
    """The lines of decisions.csv. Raises an `InputError` that says what to do if it is not UTF-8."""
    try:
        yield from stream(file)
    except InputError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            raise InputError(f'{file} is not UTF-8: save it as csv in UTF-8, which Excel calls "CSV UTF-8"') from error
        raise


def read_label(text: str, known: Sequence[str], several: bool, place: str) -> Label:
    """A label of decisions.csv, or a list of labels.

    Args:
        known: the names of the labels.
        several: whether a text can have several labels.
        place: where it stands, for the message.

    Raises:
        InputError: a list is needed, and this is none, or a name occurs twice in it.
    """
    if not several:
        return unescaped(text, known)
    try:
        names = listed_values(text)
    except TypeError:
        names = None
    if names is None or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(f'{place}: {quoted(text)} is no list of different labels; write it as ["joy", "fear"], or []')
    return tuple(names)


def same(one: Label, other: Label) -> bool:
    """Whether two labels are the same; lists of labels have no order."""
    return set(separate(one)) == set(separate(other))


def same_number(one: Label, other: Label) -> bool:
    """Whether two labels are one number that is written in two ways, such as 01 and 1."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        return False
    value = number_in(one)
    return value is not None and value == number_in(other)


def told(label: Label) -> str:
    """A label in quotation marks, or a list of labels, for a message."""
    return quoted(label) if isinstance(label, str) else written(list(label))


def unescaped(label: str, known: Sequence[str]) -> str:
    """A label without the apostrophe that keeps a spreadsheet from running it as a formula."""
    bare = label[1:]
    return bare if label not in known and label.startswith("'") and bare.startswith(FORMULA) else label


def has_decisions(file: Path) -> bool:
    """Whether a person has filled in a decision; also if the file cannot be read."""
    try:
        return any(str(line.get("decision") or "").strip() for line in stream(file))
    except InputError as error:
        return "no rows" not in str(error)
