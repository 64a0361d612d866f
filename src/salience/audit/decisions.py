"""decisions.csv: the rows that an audit suggests to change, one a line, with a column that a person fills in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from salience.audit.findings import Finding, rows_of
from salience.data.reading import stream
from salience.data.texts import Texts
from salience.data.writers import FORMULA
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
            suggested[rows[0]] = finding.details["suggested"]
            reasons.setdefault(rows[0], []).append("the label is likely wrong")
        elif finding.kind == "duplicate":
            differ = len(set(finding.details["labels"])) > 1
            for row in rows if differ else rows[1:]:
                others = listed((str(other) for other in rows if other != row), 3)
                what = "nearly equal, with several labels" if differ else "nearly equal"
                reasons.setdefault(row, []).append(f"{what}: row {others}")
        elif finding.kind == "leak":
            reasons.setdefault(rows[0], []).append(f"nearly equal to test row {finding.details['test_rows'][0]}")
        elif finding.kind == "outlier":
            reasons.setdefault(rows[0], []).append("far from all other rows")
    places = {row: place for place, row in enumerate(rows_of(texts))}
    return [
        {
            "row": str(row), "label": labels[texts.known_labels[places[row]]], "suggested": suggested.get(row, ""),
            "decision": "", "reason": "; ".join(reasons[row]), "text": shown_text(texts, places[row]),
        }
        for row in reasons
    ]  # fmt: skip


def shown_text(texts: Texts, place: int) -> str:
    """A text, or both texts of a pair, cut to `LONGEST` characters."""
    text = texts.texts[place] if texts.second is None else f"{texts.texts[place]} | {texts.second[place]}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def read_decisions(file: str, labels_of_rows: Mapping[int, str], data: str) -> dict[int, str | None]:
    """What is to be changed: the number of a row to its new label, or `DELETED`.

    Rows without a decision are kept.

    Args:
        file: decisions.csv, filled in; its text is UTF-8.
        labels_of_rows: the label of every row of the data that has one.
        data: the name of the data, for error messages.

    Raises:
        InputError: a line is not valid, or does not fit the data; names the line and its row.
    """
    known = sorted(set(labels_of_rows.values()))
    changes: dict[int, str | None] = {}
    decided: dict[int, int] = {}
    for number, line in enumerate(stream(file), 1):
        place = f"{file}: row {number}"
        for column in COLUMNS[:4]:
            if not isinstance(line.get(column), str):
                raise InputError(f"{file}: no column {quoted(column)}; take the file that `salience audit` wrote")
        decision = line["decision"].strip().lower()
        if not decision:
            continue
        if decision not in (KEEP, DELETE, RELABEL):
            raise InputError(f"{place}: {unknown('decision', line['decision'], [KEEP, DELETE, RELABEL])}")
        written = line["row"].strip()
        row = int(written) if written.isdecimal() and len(written) < 16 else 0
        if row not in labels_of_rows:
            raise InputError(f"{place}: {data} has no row {quoted(line['row'])} with a label; restore the number")
        if row in decided:
            raise InputError(f"{place}: row {row} is decided in row {decided[row]} already; remove one of the two")
        decided[row] = number
        if unescaped(line["label"], known) != labels_of_rows[row]:
            raise InputError(
                f"{place}: row {row} of {data} has the label {quoted(labels_of_rows[row])}, not "
                f"{quoted(line['label'])}; the file was made from other data: run the audit again"
            )
        if decision == DELETE:
            changes[row] = DELETED
        elif decision == RELABEL:
            new = unescaped(line["suggested"], known)
            if new not in known:
                raise InputError(f'{place}, column "suggested": {unknown("label", new, known)}')
            if new != labels_of_rows[row]:
                changes[row] = new
    return changes


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
