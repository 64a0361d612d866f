"""The page of an audit: the findings, kind by kind, with the texts that they are about."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.audit.confident_learning import estimated_counts, of_each_label
from salience.audit.finding import KINDS, Finding, named, rows_of, shown
from salience.audit.giveaways import GAMMA, SHARE
from salience.audit.neighbours import NEIGHBOURS
from salience.audit.out_of_fold import OutOfFold
from salience.audit.separation import LEAST, LOWEST
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
    """

    task: Task
    findings: Sequence[Finding]
    predicted: OutOfFold
    similarity: float


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
    found = {kind: [each for each in evidence.findings if each.kind == kind] for kind in kinds_of(task)}
    counts = counts_of(task, predicted)
    pairs = mistaken_labels(counts, task.labels) if task.multi_label else mistaken_pairs(counts, task.labels)
    body = render(
        PACKAGE, "audit.html.jinja",
        title=title, names=KINDS, found={kind: len(each) for kind, each in found.items()},
        rows=len(task.training), tests=len(task.test), judged=len(predicted.places), source=predicted.source,
        several=task.multi_label, right=f"{share_of_right(task, predicted):.1%}",
        noise=f"{1 - counts.trace(axis1=-2, axis2=-1).sum() / counts.sum():.1%}",
        similarity=f"{evidence.similarity:g}",
        shown={kind: [(each, shown_rows(each, task)) for each in findings[:MOST]] for kind, findings in found.items()},
        pairs=pairs, label_text=shown, neighbours=NEIGHBOURS, lowest=LOWEST, least=LEAST,
        gamma=GAMMA, share=f"{SHARE:.0%}",
    )  # fmt: skip
    return framed(title, asset("audit.css"), body)


def kinds_of(task: Task) -> list[str]:
    """The kinds of findings that there can be.

    Those of test rows need test rows, and classes are close only where a text has one label.
    """
    of_one_label, of_test_rows = {"classes"}, {"leak", "test_duplicate"}
    left_out = (of_one_label if task.multi_label else set()) | (set() if len(task.test) else of_test_rows)
    return [kind for kind in KINDS if kind not in left_out]


def share_of_right(task: Task, predicted: OutOfFold) -> float:
    """The share of rows whose label is the most probable one; with several, of decisions about labels at 0.5."""
    labels = task.training.known_labels[predicted.places]
    decided = predicted.probabilities >= 0.5 if task.multi_label else predicted.probabilities.argmax(1)
    return float((decided == labels).mean())


def counts_of(task: Task, predicted: OutOfFold) -> np.ndarray:
    """The `estimated_counts` (C, C) of the classes; with several labels those of each (C, 2, 2), of "no" and "yes"."""
    labels = task.training.known_labels[predicted.places]
    if not task.multi_label:
        return estimated_counts(labels, predicted.probabilities)
    return np.array([
        np.diag(np.bincount(given, minlength=2)) if number in predicted.unseen else estimated_counts(given, both)
        for number, given, both in of_each_label(labels, predicted.probabilities)
    ])  # fmt: skip


def shown_rows(finding: Finding, task: Task) -> list[ShownRow]:
    """The texts of a finding, at most `OF_GROUP`; none of a word."""
    if finding.kind == "word":
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


def mistaken_labels(counts: np.ndarray, labels: Sequence[str]) -> list[tuple[str, str, int, str]]:
    """Of several labels, those with the most rows that are estimated to lack them, or to have them, by mistake.

    Args:
        counts: (C, 2, 2), as of `counts_of`.

    Returns:
        A label, what is likely, the number of rows, and their share of the rows that have it, or that lack it.
    """
    found = [
        (label, f"{'has' if likely else 'lacks'} it", int(each[given, likely]),
         f"{each[given, likely] / each[given].sum():.1%}")
        for label, each in zip(labels, counts, strict=True) for given, likely in ((0, 1), (1, 0))
        if each[given, likely]
    ]  # fmt: skip
    return sorted(found, key=lambda line: -line[2])[:OF_GROUP]


def mistaken_pairs(counts: np.ndarray, labels: Sequence[str]) -> list[tuple[str, str, int, str]]:
    """The pairs of labels with the most rows that are estimated to be mistaken: given, true, rows, share of the given.

    Args:
        counts: (C, C), as of `estimated_counts`.
    """
    wrong = counts - np.diag(counts.diagonal())
    order = np.argsort(-wrong, axis=None, kind="stable")[:OF_GROUP]
    found: list[tuple[str, str, Any, str]] = []
    for given, true in (divmod(int(place), len(counts)) for place in order):
        if wrong[given, true]:
            share = wrong[given, true] / counts[given].sum()
            found.append((labels[given], labels[true], int(wrong[given, true]), f"{share:.1%}"))
    return found
