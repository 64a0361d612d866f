"""The page of an audit: the findings, kind by kind, with the texts that they are about."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from salience.audit.decisions import DELETE, KEEP, as_decision, decision_rows
from salience.audit.findings import KINDS, Finding, kinds_of, named, rows_of, shown
from salience.audit.neighbours import NEIGHBOURS
from salience.audit.words import EXPLAINED, GAMMA, PART, SHARE
from salience.audit.wrong_labels import LEAST, LOWEST, most_mistaken, noise_counts, share_of_right, share_of_wrong
from salience.data.task import Task
from salience.report.page import Block, Card, Decisions, Marked, Phrase, Section, Table, Title, joined, page_of
from salience.scores.predictions import Predictions

MOST = 100  # findings of a kind that are shown
OF_GROUP = 10  # texts of a finding that are shown
OVERVIEW = (
    "Every finding is a suggestion, and some are wrong. Decide about each row under Decisions and save "
    "decisions.csv, or fill in its column decision in a spreadsheet: keep, delete, relabel, or the right label. "
    "salience audit DATA --apply decisions.csv --output FILE then writes the corrected copy."
)
DECIDE = (
    "All rows that a finding suggests to change. relabel gives a row the suggested label. Save the file before you "
    "leave: the page itself stores nothing."
)
IGNORE = (
    "These words are in ignore_words.txt. Delete from that file each word that rightly decides the label, such as "
    '"excellent". This command then trains without the others:'
)
ABOUT = {  # what the section of a kind shows; that of labels says more
    "duplicate": (
        "Groups of nearly equal texts: the cosine of their vectors (frozen encoder) is at least {:g}. Groups with "
        "different labels come first. A repeated text counts several times in training."
    ),
    "leak": (
        "Test scores are too high if the training data contain nearly the same texts. Each test row is shown with "
        "the similar rows of the data, the most similar first."
    ),
    "test_duplicate": (
        "Groups of nearly equal test rows. A model is right or wrong on all of them together, and each counts in the "
        "score. The true interval of a score is therefore wider than the one that is printed."
    ),
    "outlier": (
        f"Texts far from all others: their mean cosine distance to the {NEIGHBOURS} nearest texts is more than 1.5 "
        "interquartile ranges above the third quartile. They may not belong to the data, or may just be rare."
    ),
    "classes": (
        f"Pairs of classes that the model hardly separates: the area under their ROC curve is below {LOWEST}, where 1 "
        "is perfect and 0.5 is chance (Hand and Till, 2001). Only classes with at least "
        f"{LEAST} rows are tested. The rows shown have one label and are predicted as the other."
    ),
    "word": (
        f"Words and phrases that occur almost only with one label (gamma at least {GAMMA}; Sun and Lu, 2020), in at "
        f"least {SHARE:.0%} of its texts. A model can decide by such a word alone. That is a shortcut if the word is "
        "there only because of how the texts were collected."
    ),
    "deciding_word": (
        f"Words by which the classifier decides: they carry at least {PART:.0%} of the explanation (integrated "
        f"gradients, at most {EXPLAINED} rows) of the texts of a label that contain them. A word that has nothing to "
        "do with the label is a shortcut, even if it occurs with other labels too."
    ),
}


@dataclass(frozen=True)
class AuditEvidence:
    """What the page of an audit shows.

    Attributes:
        task: the labelled rows, and the test rows if there are any.
        findings: all findings, as of `salience.audit.auditing.find_all`.
        predicted: out of fold.
        source: what predicted them, in words.
        similarity: cosine from which on texts are near-duplicates.
        explained: whether rows were explained.
        ignoring: the command that trains without the words of the findings "word".
    """

    task: Task
    findings: Sequence[Finding]
    predicted: Predictions
    source: str
    similarity: float
    explained: bool = False
    ignoring: str = ""


def audit_page(evidence: AuditEvidence, title: str) -> str:
    """The page as HTML, with a title as plain text. The same evidence gives the same page."""
    task = evidence.task
    found = {
        kind: [each for each in evidence.findings if each.kind == kind] for kind in kinds_of(task, evidence.explained)
    }
    counts = [[KINDS[kind], f"{len(each):,}"] for kind, each in found.items()]
    tests = f" and {len(task.test):,} test rows" if len(task.test) else ""
    rows = f"{len(task.training):,} labelled rows{tests}. {OVERVIEW}"
    sections = [Section("overview", "Overview", [rows, Table(["what", "found"], counts)])]
    lines = decision_rows(evidence.findings, task.training, task.labels)
    if lines:
        sections.append(Section("decisions", "Decisions", [DECIDE, Decisions(lines, decisions_of(task))]))
    for kind, findings in found.items():
        blocks: list[Block] = about_labels(evidence) if kind == "label" else [ABOUT[kind].format(evidence.similarity)]
        if not findings:
            blocks.append("None were found.")
        elif len(findings) > MOST:
            blocks.append(f"The first {MOST} of {len(findings):,}; all are in audit.jsonl.")
        if kind not in ("word", "deciding_word"):
            blocks += [card_of(each, task) for each in findings[:MOST]]
        elif findings:
            blocks.append(words_table(kind, findings[:MOST]))
            blocks += [IGNORE, Card([Marked(evidence.ignoring, "command")])] if kind == "word" else []
        sections.append(Section(kind, joined("", KINDS[kind]), blocks))
    return page_of(title, "", sections, "audit.css", script="audit.js" if lines else "")


def decisions_of(task: Task) -> list[tuple[str, str]]:
    """What can be written in the column `decision` beside relabel, each with what a reader sees.

    Of several labels, other sets than the suggested one are written into the file by hand.
    """
    labels = [] if task.multi_label else [(as_decision(label), label) for label in task.labels]
    return [(KEEP, KEEP), (DELETE, DELETE), *labels]


def about_labels(evidence: AuditEvidence) -> list[Block]:
    """How labels were judged, how many are wrong, and which are mistaken for which."""
    task, predicted = evidence.task, evidence.predicted
    counts = noise_counts(task, predicted)
    right, wrong = share_of_right(task, predicted), share_of_wrong(counts)
    words = f"{right:.1%} of the predictions equal the label. About {wrong:.1%} of the labels"
    if task.multi_label:
        words = (
            f"{right:.1%} of the decisions about labels, at 0.5, equal the data. Each label is checked by itself. "
            f"About {wrong:.1%} of the decisions in the data"
        )
    blocks: list[Block] = [
        f"Found by confident learning on the probabilities of {evidence.source}. Each of {len(predicted):,} rows "
        f"was predicted by a model that was not trained on it. {words} are estimated to be wrong. The rows whose "
        "prediction is much more probable than their label come first."
    ]
    if pairs := most_mistaken(counts, task.labels, OF_GROUP):
        several = task.multi_label
        rows = [[given, likely, str(count), f"{100 * share:.1f}%"] for given, likely, count, share in pairs]
        blocks += [
            Title("Labels that are missing, or too many" if several else "Labels that are confused"),
            Table(["label", "likely", "rows", "of the rows" if several else "of the label"], rows, {1}),
        ]
    return blocks


def words_table(kind: str, findings: Sequence[Finding]) -> Table:
    """The words of findings, with what was measured of them."""
    rows = []
    for each in findings:
        found, share = each.details, each.details.get("share", each.score)
        measured = [f"{100 * each.score:.0f} %"]
        if kind == "word":
            measured = [f"{found['gamma']:.3f}", f"{found['log_odds']:.2f}"]
        rows.append([found["word"], found["label"], *measured, f"{100 * share:.0f} %"])
    heads = ["gamma", "log odds ratio"] if kind == "word" else ["part of the explanation"]
    return Table(["word", "label", *heads, "texts of the label with it"], rows, {1})


def card_of(finding: Finding, task: Task) -> Card:
    """A finding with its texts, at most `OF_GROUP` of its rows and of its test rows."""
    tested = finding.details.get("test_rows", [])
    rows = [(task.test, row, "test row") for row in tested[:OF_GROUP]]
    rows += [(task.training, row, "row") for row in finding.rows[:OF_GROUP]]
    texts: list[tuple[Phrase, str]] = []
    for part, row, name in rows:
        place = bisect_left(rows_of(part), row)  # rows are in the order of the file
        label = shown(named(part.known_labels[place], task.labels))
        before: Phrase = "" if finding.kind == "label" else [Marked(f"{name} {row}", "row"), " ", Marked(label)]
        first, *second = (column[place] for column in part.columns)
        texts += [(before, first), *(("", text) for text in second)]
    return Card(lead_of(finding, len(rows), task.multi_label), texts)


def lead_of(finding: Finding, rows: int, several: bool) -> Phrase:
    """What is said of a finding of which so many rows are shown."""
    kind, details = finding.kind, finding.details
    if kind == "label":
        given: Phrase = [Marked(f"row {finding.rows[0]}", "row"), " ", Marked(shown(details["label"]), "wrong")]
        likely = Marked(shown(details["suggested"]))
        if several:
            chances = (f"{label} is {chance:.3f}" for label, chance in details["probabilities"].items())
            return [*given, ", likely ", likely, f": the probability of {', of '.join(chances)}"]
        label, suggested = details["probability_of_label"], details["probability_of_suggested"]
        return [*given, f" {label:.3f}, likely ", likely, f" {suggested:.3f}"]
    if kind == "outlier":
        return f"mean distance {finding.score:.3f}"
    if kind == "classes":
        one, other = details["labels"]
        return [
            Marked(one),
            " and ",
            Marked(other),
            f": area under the curve {details['area']:.3f}, {len(finding.rows)} confused rows",
        ]
    cosine = f"cosine {finding.score:.3f}"
    lead: list[str | Marked] = [cosine if kind == "leak" else f"{cosine}: {finding.suggestion}"]
    of, rows = len(details["test_rows"] if kind == "test_duplicate" else finding.rows), rows - (kind == "leak")
    if of > rows:
        lead.append(Marked(f" ({rows} of {of} rows)", "row"))
    return lead
