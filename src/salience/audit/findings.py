"""All findings of an audit, from the rows, their vectors and their out-of-fold probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from salience.audit.deciding_words import deciding_words
from salience.audit.finding import Finding, Named, named, rows_of
from salience.audit.giveaways import giveaways
from salience.audit.neighbours import above_fence, duplicate_groups, matches, outlier_scores
from salience.audit.out_of_fold import OutOfFold
from salience.audit.separation import close_pairs
from salience.audit.wrong_labels import wrong_labels
from salience.data.task import Task
from salience.data.texts import Texts
from salience.explainers.explanation import Explanation


def find_all(
    task: Task, vectors: np.ndarray, test_vectors: np.ndarray | None, predicted: OutOfFold, similarity: float,
    explanations: Iterable[Explanation] = (),
) -> list[Finding]:  # fmt: skip
    """All findings, kind by kind, the strongest first.

    Args:
        task: N labelled rows, and the test rows if there are any.
        vectors: (N, D) of the labelled rows, of length 1.
        test_vectors: of the test rows; None without any.
        predicted: out-of-fold probabilities of the labelled rows.
        similarity: cosine from which on texts are near-duplicates.
        explanations: of labelled rows for their labels, as of `explained_rows`; none if the rows are not explained.
    """
    texts = task.training
    exclusive = [] if task.multi_label else hard_classes(task, predicted)  # labels of one text need not be told apart
    return [
        *wrong_labels(task, predicted),
        *near_duplicates(task, vectors, similarity),
        *([] if test_vectors is None else leaks(task, vectors, test_vectors, similarity)),
        *([] if test_vectors is None else duplicates_in_test(task, test_vectors, similarity)),
        *outliers(texts, task.labels, vectors),
        *exclusive,
        *telling_words(texts, task.labels),
        *words_that_decide(explanations, task.labels),
    ]


def near_duplicates(task: Task, vectors: np.ndarray, similarity: float) -> list[Finding]:
    """The groups of labelled rows that are nearly equal, those with different labels first. The score is a cosine."""
    return [
        Finding("duplicate", rows, "keep one of them" if alike(labels) else choice(task), cosine, {"labels": labels})
        for rows, labels, cosine in similar_groups(task.training, task.labels, vectors, similarity)
    ]


def duplicates_in_test(task: Task, test_vectors: np.ndarray, similarity: float) -> list[Finding]:
    """The groups of test rows that are nearly equal: a model is right or wrong on all of a group together."""
    return [
        Finding(
            "test_duplicate", [], "keep one of them in the test file" if alike(labels) else choice(task), cosine,
            {"test_rows": rows, "labels": labels},
        )
        for rows, labels, cosine in similar_groups(task.test, task.labels, test_vectors, similarity)
    ]  # fmt: skip


def similar_groups(
    texts: Texts, names: Sequence[str], vectors: np.ndarray, similarity: float
) -> list[tuple[list[int], list[Named], float]]:
    """Row numbers, labels and cosine of each group of `duplicate_groups`; groups with different labels come first."""
    rows = rows_of(texts)
    groups = [
        (
            [rows[place] for place in group.places],
            [named(label, names) for label in texts.known_labels[group.places]],
            group.cosine,
        )
        for group in duplicate_groups(texts, vectors, similarity)
    ]
    return sorted(groups, key=lambda group: alike(group[1]))


def alike(labels: Sequence[Named]) -> bool:
    """Whether all rows of a group are labelled alike."""
    return all(label == labels[0] for label in labels)


def choice(task: Task) -> str:
    """What to do about texts that are equal and labelled differently."""
    return "choose one set of labels" if task.multi_label else "choose one label"


def leaks(task: Task, vectors: np.ndarray, test_vectors: np.ndarray, similarity: float) -> list[Finding]:
    """The test rows that are nearly equal to labelled rows, with these. The score is the highest cosine."""
    rows, test_rows = rows_of(task.training), rows_of(task.test)
    labels, test_labels = task.training.known_labels, task.test.known_labels
    found = [
        Finding(
            "leak", [rows[place] for place in match.places], f"delete the row{'s' * (len(match.places) > 1)}",
            match.cosine,
            {
                "test_rows": [test_rows[match.other]],
                "labels": [named(labels[place], task.labels) for place in match.places],
                "test_label": named(test_labels[match.other], task.labels),
            },
        )
        for match in matches(vectors, test_vectors, similarity)
    ]  # fmt: skip
    return sorted(found, key=lambda finding: -finding.score)


def outliers(texts: Texts, labels: Sequence[str], vectors: np.ndarray) -> list[Finding]:
    """The rows that are far from all others. The score is the mean cosine distance to the nearest rows."""
    rows, scores = rows_of(texts), outlier_scores(vectors)
    far = above_fence(scores)
    return [
        Finding("outlier", [rows[place]], "check whether the row belongs here", float(scores[place]),
                {"label": named(texts.known_labels[place], labels)})
        for place in np.argsort(-scores, kind="stable").tolist() if far[place]
    ]  # fmt: skip


def hard_classes(task: Task, predicted: OutOfFold) -> list[Finding]:
    """The pairs of classes that are hard to tell apart, with their confused rows. The score is 1 minus the area."""
    rows = rows_of(task.training)
    return [
        Finding(
            "classes", [rows[predicted.places[place]] for place in pair.confused],
            "merge the classes, or define them more clearly", 1 - pair.area,
            {"labels": [task.labels[number] for number in pair.classes], "area": round(pair.area, 6)},
        )
        for pair in close_pairs(task.training.known_labels[predicted.places], predicted.probabilities)
    ]  # fmt: skip


def telling_words(texts: Texts, labels: Sequence[str]) -> list[Finding]:
    """The words that give a label away, with the rows that have word and label. The score is the share of them."""
    rows = rows_of(texts)
    return [
        Finding(
            "word", [rows[place] for place in each.places], "check whether the word belongs to what is classified",
            each.share,
            {
                "word": each.word, "label": labels[each.label], "gamma": round(each.gamma, 6),
                "log_odds": round(each.log_odds, 6),
            },
        )
        for each in giveaways(texts, len(labels))
    ]  # fmt: skip


def words_that_decide(explanations: Iterable[Explanation], labels: Sequence[str]) -> list[Finding]:
    """The words by which a classifier decides, each with the explained rows that have it; the score is its part."""
    return [
        Finding(
            "deciding_word", each.rows, "check whether the word belongs to what is classified", each.part,
            {"word": each.word, "label": labels[each.label], "share": round(each.share, 6)},
        )
        for each in deciding_words(explanations)
    ]  # fmt: skip
