"""The page of an audit: the findings, kind by kind, with the texts that they are about."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from salience.audit.findings import KINDS, Finding, OutOfFold, kinds_of, named, rows_of, shown
from salience.audit.neighbours import NEIGHBOURS
from salience.audit.words import EXPLAINED, GAMMA, PART, SHARE
from salience.audit.wrong_labels import (
    LEAST,
    LOWEST,
    most_mistaken,
    noise_counts,
    share_of_right,
    share_of_wrong,
)
from salience.data.task import Task
from salience.data.texts import Texts
from salience.report.comparison_page import cut
from salience.report.page import PACKAGE, asset, framed
from salience.templating import render

MOST = 100  # findings of a kind that are shown
OF_GROUP = 10  # texts of a finding that are shown


@dataclass(frozen=True)
class AuditEvidence:
    """What the page of an audit shows.

    Attributes:
        task: the labelled rows, and the test rows if there are any.
        findings: all findings, as of `salience.audit.findings.find_all`.
        predicted: the out-of-fold probabilities.
        similarity: cosine from which on texts are near-duplicates.
        explained: whether rows were explained.
    """

    task: Task
    findings: Sequence[Finding]
    predicted: OutOfFold
    similarity: float
    explained: bool = False


@dataclass(frozen=True)
class ShownRow:
    """A row as the page shows it.

    Attributes:
        row: "row 7", or "test row 7".
        label: its label.
        parts: the text, and the second one of a pair; each as its beginning and the rest.
    """

    row: str
    label: str
    parts: list[tuple[str, str]]


def audit_page(evidence: AuditEvidence, title: str) -> str:
    """The page as HTML. The same evidence gives the same page.

    Args:
        title: a title as plain text.
    """
    task, predicted = evidence.task, evidence.predicted
    kinds = kinds_of(task, evidence.explained)
    found = {kind: [each for each in evidence.findings if each.kind == kind] for kind in kinds}
    counts = noise_counts(task, predicted)
    body = render(
        PACKAGE, "audit.html.jinja",
        title=title, names=KINDS, found={kind: len(each) for kind, each in found.items()},
        rows=len(task.training), tests=len(task.test), judged=len(predicted.places), source=predicted.source,
        several=task.multi_label, right=f"{share_of_right(task, predicted):.1%}",
        noise=f"{share_of_wrong(counts):.1%}",
        similarity=f"{evidence.similarity:g}",
        shown={kind: [(each, shown_rows(each, task)) for each in findings[:MOST]] for kind, findings in found.items()},
        pairs=most_mistaken(counts, task.labels, OF_GROUP), label_text=shown,
        neighbours=NEIGHBOURS, lowest=LOWEST, least=LEAST, gamma=GAMMA, share=f"{SHARE:.0%}",
        part=f"{PART:.0%}", explained=EXPLAINED,
    )  # fmt: skip
    return framed(title, asset("audit.css"), body)


def shown_rows(finding: Finding, task: Task) -> list[ShownRow]:
    """The texts of a finding, at most `OF_GROUP`; none of a word."""
    if finding.kind in ("word", "deciding_word"):
        return []
    tested = finding.details.get("test_rows", [])
    return [
        *(shown_row(task.test, row, task.labels, f"test row {row}") for row in tested[:OF_GROUP]),
        *(shown_row(task.training, row, task.labels, f"row {row}") for row in finding.rows[:OF_GROUP]),
    ]


def shown_row(texts: Texts, row: int, labels: Sequence[str], name: str) -> ShownRow:
    """The row of a file as the page shows it."""
    place = bisect_left(rows_of(texts), row)  # rows are in the order of the file
    parts = [texts.texts[place]] + ([] if texts.second is None else [texts.second[place]])
    return ShownRow(name, shown(named(texts.known_labels[place], labels)), [cut(part) for part in parts])
