"""Who labels texts without labels best: the question behind `salience train --unlabelled`.

    python bench/labellers.py --data-dir DATA --sets trec sst2 mr subj sst5 ag_news --sizes 50 --seeds 0 1

A student can be better than its teacher only where the labels that it learns from are. So for each set, size and seed,
the default recipe trains the first teacher on the labelled rows, and 2,000 texts without labels are labelled by it and
by others: the regression on frozen vectors, the mean of both as the package has it, label spreading (Zhou et al., NIPS
2003), a mixture of von Mises-Fisher distributions (Banerjee et al., JMLR 2005), one for each class, and a regression
that learns from the labels of the mean. The labels that the texts really have tell how many are right. Runs are
appended to RESULTS, and those that it has are not made again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading

from development import development_set, rows_of, unlabelled_texts
from kept_rows import arguments, keep, kept_rows, missing_runs
from salience.comparison.statistics import difference
from salience.inference.sentence_vectors import sentence_vectors
from salience.training.fitting import fit
from salience.training.recipe import Recipe
from salience.training.run import prepare_files
from salience.training.self_training.aligning import aligned
from salience.training.self_training.blending import blended

UNLABELLED = 2000  # texts without labels, at most
BASELINE = "the trained model"
ROUNDS = 10  # of labels that follow from labels
CONCENTRATION = 10.0  # of the texts of a class around its direction: the inverse of the contrastive temperature
NEIGHBOURS = 10  # of a text, for label spreading


def labels_of_run(recipe: Recipe) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Trains a teacher; the probabilities (U, C) of U texts without labels by labeller, and their classes (U,)."""
    prepared, _ = prepare_files(recipe)
    classifier, training, unlabelled = prepared.classifier, prepared.training, prepared.unlabelled
    assert unlabelled is not None and training.labels is not None
    known = np.eye(len(classifier.labels))[training.labels]
    prior = known.mean(0)
    texts = unlabelled.encoded
    # The head begins as the regression on the vectors of the encoder, which is frozen so far.
    regression = classifier.probabilities(texts)
    frozen = [normalize(sentence_vectors(classifier.model, each)) for each in (training, texts)]
    with TemporaryDirectory() as folder:
        classifier = fit(replace(prepared, unlabelled=None), Path(folder)).classifier
    model = classifier.probabilities(texts)
    trained = [normalize(sentence_vectors(classifier.model, each)) for each in (training, texts)]
    both = blended(model, regression)
    among_trained = spread(*trained, known)
    found = {
        BASELINE: model,
        "regression on frozen vectors": regression,
        "mean of both": both,
        "mean of both, aligned": aligned(both, prior),
        "spreading among frozen vectors": spread(*frozen, known),
        "spreading among trained vectors": among_trained,
        "mean of the trained model and this": blended(model, among_trained),
        "clusters among frozen vectors": clustered(*frozen, known, regression),
        "clusters among trained vectors": clustered(*trained, known, model),
        "regression, taught by itself": taught(*frozen, known, regression),
        "regression, taught by the mean": taught(*frozen, known, aligned(both, prior), rounds=1),
    }
    labels = {row["text"].strip(): row["label"] for row in rows_of(str(recipe.data))}
    truth = [classifier.labels.index(labels[text.strip()]) for text in unlabelled.texts.texts]
    return found, np.array(truth)


def spread(labelled: np.ndarray, others: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The labels (U, C) that label spreading gives to the other vectors (U, D), over the nearest neighbours of each.

    Texts that no label reaches get the shares of the classes.

    Args:
        labelled: vectors (N, D).
        others: vectors (U, D).
        known: the labels (N, C) of the first, 1 for the class.
    """
    labels = np.concatenate([known.argmax(1), np.full(len(others), -1)])
    spreading = LabelSpreading(kernel="knn", n_neighbors=NEIGHBOURS, alpha=0.8)
    found = spreading.fit(np.concatenate([labelled, others]), labels).label_distributions_[len(labelled) :]
    reached = found.sum(1, keepdims=True) > 0
    return np.where(reached, found, known.mean(0))


def clustered(labelled: np.ndarray, others: np.ndarray, known: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The labels (U, C) of a mixture with one direction for each class, by expectation maximisation from `start`.

    Args:
        labelled, others, known: as of `spread`. The labels of the first stay as they are.
        start: the labels (U, C) to begin with.
    """
    vectors, found = np.concatenate([labelled, others]), start
    for _ in range(ROUNDS):
        labels = np.concatenate([known, found])
        directions = normalize(labels.T @ vectors)
        found = softmax(np.log(labels.mean(0)) + CONCENTRATION * others @ directions.T, axis=1)
    return found


def taught(
    labelled: np.ndarray, others: np.ndarray, known: np.ndarray, start: np.ndarray, rounds: int = ROUNDS
) -> np.ndarray:
    """The labels (U, C) of a regression that learns from known labels and from labels that were given before.

    Args:
        labelled, others, known: as of `spread`. Both kinds of texts have the same weight together.
        start: the labels (U, C) that the first round learns from; the later ones learn from those of the round before.
        rounds: their number.
    """
    found, classes = start, known.shape[1]
    vectors = np.concatenate([labelled, np.repeat(others, classes, 0)])
    for _ in range(rounds):
        labels = np.concatenate([known.argmax(1), np.tile(np.arange(classes), len(others))])
        weights = np.concatenate([np.ones(len(labelled)), found.ravel() * len(labelled) / len(others)])
        regression = LogisticRegression(max_iter=1000).fit(vectors, labels, weights)
        found = regression.predict_proba(others)
    return found


def scores(probabilities: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Percentages of right labels: of all texts, and of the half of which the labeller is most certain."""
    right = probabilities.argmax(1) == truth
    certain = np.argsort(-probabilities.max(1), kind="stable")[: len(right) // 2]
    return {"right": 100 * right.mean(), "right_of_certain": 100 * right[certain].mean()}


def table(rows: list[dict]) -> str:
    """Each labeller against the trained model, over all runs, in Markdown."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    lines = [
        f"| labels by | right, against it | of the certain half | {' | '.join(sets)} |",
        "|---" * (3 + len(sets)) + "|",
    ]
    for labeller in rows[0]["scores"]:
        gains = [
            difference(
                [row["scores"][labeller][score] - row["scores"][BASELINE][score] for row in rows], [0.0] * len(rows)
            )
            for score in ("right", "right_of_certain")
        ]
        means = [np.mean([row["scores"][labeller]["right"] for row in rows if row["set"] == name]) for name in sets]
        told = [str(gain) for gain in gains] if labeller != BASELINE else ["", ""]
        lines.append(f"| {labeller} | {' | '.join(told + [f'{mean:.1f}' for mean in means])} |")
    return "\n".join(lines)


def main() -> None:
    """Makes the runs that are missing and prints a table for each size."""
    parser = arguments(
        __doc__,
        "results/studies/labellers.jsonl",
        sets=["trec", "sst2", "mr", "subj", "sst5", "ag_news"],
        sizes=[50],
        seeds=[0, 1],
    )
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        for run in missing_runs(options.results, seed=options.seeds, size=options.sizes, set=options.sets):
            files = development_set(run["set"], options.data_dir, Path(folder))
            texts = unlabelled_texts(run["set"], files["data"], UNLABELLED, Path(folder))
            found, truth = labels_of_run(
                Recipe(files["data"], unlabelled=texts, size=run["size"], seed=run["seed"], estimate="none")
            )
            scored = {labeller: scores(probabilities, truth) for labeller, probabilities in found.items()}
            keep(options.results, [run | {"texts": len(truth), "scores": scored}])
    rows = kept_rows(options.results)
    for size in dict.fromkeys(row["size"] for row in rows):
        print(f"{size} rows\n\n{table([row for row in rows if row['size'] == size])}\n")


if __name__ == "__main__":
    main()
