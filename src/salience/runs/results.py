"""Facts on the data of a run, kept as data_facts.json in its folder: rows, classes, lengths and duplicates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from salience.classify import TextClassifier
from salience.data.encoding import Encoded, encode_texts
from salience.data.splitting import contradictions, shared_rows, stripped
from salience.data.task import Task
from salience.data.texts import Texts
from salience.scores.label_metrics import AT_THRESHOLDS
from salience.scores.scoring import scoring_in

FACTS = "data_facts.json"


def data_facts(task: Task, encoded: Mapping[str, Encoded], classifier: TextClassifier) -> dict[str, Any]:
    """Facts on every part of the data.

    Args:
        task: the labelled texts.
        encoded: "training" and, where there are such rows, "validation" and "test" to the same texts, encoded.
            Descriptions of labels may follow the training texts.
        classifier: the classifier that reads them.

    Returns:
        "max_length", the number of tokens that are read of a text, and "parts": for each part "rows", "classes" (rows
        by label), "tokens" ("median", "percentile_95" and "longest" of the lengths before texts are cut, special
        tokens included), "cut" (texts longer than what is read), "duplicates" (rows whose text is in an earlier row of
        the part), "contradictions" (rows whose text is in the part with another label too) and, except of training,
        "in_training" (rows whose text is in the training part). Where a text can have several labels also "no_label"
        and "several_labels" (rows without a label, and with two or more). Texts are compared without the space around
        them.
    """
    texts = {"training": task.training, "validation": task.validation, "test": task.test}
    parts = {}
    for role, rows in encoded.items():
        part = texts[role]
        labels = part.known_labels
        counts = (labels.sum(0) if task.multi_label else np.bincount(labels, minlength=len(task.labels))).tolist()
        parts[role] = {
            "rows": len(part),
            "classes": dict(zip(task.labels, counts, strict=True)),
            "tokens": length_facts(whole_lengths(part, rows, classifier)),
            "cut": int(rows.cut_texts[: len(part)].sum()),
            "duplicates": len(part) - len(set(stripped(part))),
            "contradictions": contradictions(part),
        } | ({} if role == "training" else {"in_training": shared_rows(task.training, part)})
        if task.multi_label:
            parts[role] |= {
                "no_label": int((labels.sum(1) == 0).sum()),
                "several_labels": int((labels.sum(1) > 1).sum()),
            }
    return {"max_length": classifier.max_length, "parts": parts}


def training_rows_among(facts: Mapping[str, Any] | None, role: str) -> str:
    """A sentence on the rows of a part whose texts are training texts too; empty if there are none, or no facts.

    Args:
        facts: as of `data_facts`.
        role: "test" or "validation".
    """
    part = {} if facts is None else facts["parts"].get(role, {})
    shared = part.get("in_training", 0)
    if not shared:
        return ""
    return (
        f"{shared:,} of the {part['rows']:,} {role} rows also stand{'s' * (shared == 1)} in the training rows; "
        "the scores are too high."
    )


def whole_lengths(texts: Texts, encoded: Encoded, classifier: TextClassifier) -> np.ndarray:
    """The number of tokens of each text (N,) before it is cut."""
    if encoded.owners is not None:
        return encode_texts(classifier.tokenizer, texts.texts, texts.second).lengths
    lengths = encoded.lengths[: len(texts)].copy()  # descriptions of labels come after the texts
    if encoded.cut.any():
        cut = np.flatnonzero(encoded.cut[: len(texts)])
        whole = texts.take(cut)
        lengths[cut] = encode_texts(classifier.tokenizer, whole.texts, whole.second).lengths
    return lengths


def length_facts(lengths: np.ndarray) -> dict[str, float]:
    """The median, the length that 95 % of the texts do not exceed, and the largest of lengths (N,)."""
    return {
        "median": float(np.median(lengths)),
        "percentile_95": int(np.quantile(lengths, 0.95, method="inverted_cdf")),
        "longest": int(lengths.max()),
    }


# On which rows a run is judged, and the scores there.


def judge_of(metrics: Mapping[str, Any]) -> str | None:
    """The rows that a run is judged on: "test", else "estimate", else "validation"; None if nothing was measured.

    The rows of an estimate are new to the models that predict them. Validation rows have chosen the checkpoint, so
    that their scores are too high.
    """
    if metrics.get("judged_on") == "test":
        return "test"
    return "estimate" if "estimate" in metrics else metrics.get("judged_on")


def judged_scores(metrics: dict) -> tuple[str, dict[str, dict]] | None:
    """The rows that a run is judged on, in words, and the scores on them by name: of the model and of the baselines.

    Which they are, `judge_of` says. The calibration error of an estimate is that after temperature scaling if the
    model is calibrated.

    Args:
        metrics: of the run, as metrics.json has them.

    Returns:
        None if nothing was measured.
    """
    judge = judge_of(metrics)
    if judge in ("test", "validation"):
        caution = ", on which the checkpoint was chosen" if judge == "validation" else ""
        own = with_thresholds("this model", metrics[judge])
        return f"{metrics['rows'][judge]:,} {judge} rows{caution}", own | metrics["baselines"]
    if judge == "estimate":
        estimate = metrics["estimate"]
        scaled = estimate["temperature_scaling"]["calibration_error_scaled"]
        own = estimate | ({"calibration_error": scaled} if estimate["calibrated"] and scaled is not None else {})
        return (
            f"estimate by {estimate['kind']}: {estimate['rows']:,} labelled rows, each new to the model",
            with_thresholds("models like this one", own) | estimate["baselines"],
        )
    return None


def baseline_ahead(models: Mapping[str, dict]) -> str:
    """A line that says which baseline has a higher main score than the model, and what to do; empty if none has.

    Args:
        models: as `judged_scores` gives them, the model first.
    """
    (name, own), *others = models.items()
    scoring = scoring_in(own)
    baselines = {each: scores[scoring.main] for each, scores in others if not each.startswith(name)}
    best = max(baselines, key=baselines.__getitem__)
    if baselines[best] <= own[scoring.main]:
        return ""
    return (
        f"{best} is ahead of {name}: {scoring.main_title} {baselines[best]:.3f}, and {own[scoring.main]:.3f} by the "
        "model. More rows, another --model or, if texts are cut, --long windows may change that"
    )


def at_thresholds(scores: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of decisions by the thresholds of the labels, named as those at 0.5; empty if there are none."""
    return {name.removesuffix(AT_THRESHOLDS): value for name, value in scores.items() if name.endswith(AT_THRESHOLDS)}


def with_thresholds(name: str, scores: dict) -> dict[str, dict]:
    """The scores of a model by its name; and where thresholds of its labels decide otherwise than 0.5, those, too."""
    decided = at_thresholds(scores)
    differ = any(scores[each] != value for each, value in decided.items())
    return {name: scores} | ({f"{name}, thresholds of the labels": scores | decided} if differ else {})
