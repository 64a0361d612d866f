"""What metrics.json says of a run, in words, for the terminal, the card and the report; sentences without full stops.

`metrics` are those of a run, as the file has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from salience.errors import counted, listed, quoted
from salience.scores.calibration import LIMITS
from salience.scores.intervals import accuracy_interval
from salience.scores.labels import AT_THRESHOLDS, ONE_LABEL, labels_in, labels_of
from salience.scores.metrics import confused_pairs
from salience.scores.predictions import Predictions

HEAD_ALONE = "the head alone (logistic regression on the frozen encoder)"
LEAST = 5  # rows of a class that can be named as the weakest
OFTEN = 2  # rows of the weakest class that are taken for another one


def judge_of(metrics: Mapping[str, Any]) -> str | None:
    """The rows that a run is judged on: "test", else "estimate", else "validation"; None if nothing was measured.

    The rows of an estimate are new to the models that predict them. Validation rows have chosen the checkpoint, so
    that their scores are too high.
    """
    if metrics.get("judged_on") == "test":
        return "test"
    return "estimate" if "estimate" in metrics else metrics.get("judged_on")


def estimated_by(kind: str) -> str:
    """A kind of estimate in words: "10-fold cross-validation" for "folds:10", or "one held-out part"."""
    name, _, count = kind.partition(":")
    return f"{count}-fold cross-validation" if name == "folds" else "one held-out part"


def own_scores(metrics: Mapping[str, Any], judge: str) -> dict[str, Any]:
    """The scores of the model, or of those of an estimate: scaled by the temperature, if the model is calibrated."""
    own = metrics[judge]
    if judge != "estimate" or not own["calibrated"]:
        return own
    scaled = own["temperature_scaling"]["calibration_error_scaled"]
    return own if scaled is None else {**own, "calibration_error": scaled}


def judged_scores(metrics: Mapping[str, Any]) -> tuple[str, dict[str, dict]] | None:
    """The evaluation set in words, and the scores of model and baselines on it by name; None if nothing was measured.

    Where thresholds of the labels decide otherwise than 0.5, the model has scores by both.
    """
    judge = judge_of(metrics)
    if judge is None:
        return None
    own = own_scores(metrics, judge)
    if judge == "estimate":
        name, baselines = "models like this one", own["baselines"]
        rows = f"estimate by {estimated_by(own['kind'])}: {own['rows']:,} labelled rows, each new to its model"
    else:
        name, baselines = "this model", metrics["baselines"]
        caution = ", which chose the checkpoint: scores too high" if judge == "validation" else ""
        rows = f"{metrics['rows'][judge]:,} {judge} rows{caution}"
    if left := left_out(metrics):
        rows += f"; {left}"
    models, decided = {name: own}, at_thresholds(own)
    if any(own[score] != value for score, value in decided.items()):
        models[f"{name}, thresholds of the labels"] = own | decided
    return rows, models | baselines


def left_out(metrics: Mapping[str, Any]) -> str:
    """How many rows the scores leave out; empty if none."""
    judge = judge_of(metrics)
    number = metrics.get("left_out", {}).get("training" if judge == "estimate" else judge, 0)
    return f"{counted(number, 'row')} without text or label left out" if number else ""


def baseline_ahead(models: Mapping[str, dict], head_alone: bool = False) -> str:
    """Which baseline has a higher main score than the first of the `judged_scores`, and what to do; empty if none.

    Args:
        head_alone: whether no layer of the encoder was trained.
    """
    (name, own), *others = models.items()
    scoring = labels_in(own)
    baselines = {each: scores[scoring.main] for each, scores in others if not each.startswith(name)}
    best = max(baselines, key=baselines.__getitem__, default="")
    if not best or baselines[best] <= own[scoring.main]:
        return ""
    first = "fine-tuning (no --trained-layers 0), more rows" if head_alone else "more rows"
    return (
        f"The baseline {best} scores higher ({scoring.main_title} {baselines[best]:.3f}, model "
        f"{own[scoring.main]:.3f}). Try {first}, another --model, or --long windows if texts are cut."
    )


def at_thresholds(scores: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of decisions by the thresholds of the labels, named as those at 0.5; empty if there are none."""
    return {name.removesuffix(AT_THRESHOLDS): value for name, value in scores.items() if name.endswith(AT_THRESHOLDS)}


def training_rows_among(facts: Mapping[str, Any] | None, role: str) -> str:
    """A sentence on the rows of a part, "test" or "validation", whose texts are training texts too; empty without."""
    part = {} if facts is None else facts["parts"].get(role, {})
    shared = part.get("in_training", 0)
    if not shared:
        return ""
    return f"Scores are too high: {shared:,} of the {part['rows']:,} {role} rows are in the training rows too."


def of_hundred(share: float) -> str:
    """A share in percent: "94", and with a digit what would be rounded to none or all: "99.8"."""
    rounded = f"{100 * share:.0f}"
    return rounded if rounded not in ("0", "100") or share in (0, 1) else f"{min(max(100 * share, 0.1), 99.9):.1f}"


def right_share(judged: Predictions, seed: int) -> tuple[str, str]:
    """How many of 100 rows are right, in all labels if multi-label, and the interval: "94" and "90 to 97"."""
    right = (judged.decisions == labels_of(judged.labels).right(judged.labels, judged.probabilities.shape[1])).all(1)
    low, high = accuracy_interval(np.ones(len(right), int), right.astype(int), judged.groups, seed)
    return of_hundred(float(right.mean())), f"{of_hundred(low)} to {of_hundred(high)}"


def outcome(metrics: Mapping[str, Any], facts: Mapping[str, Any] | None, judged: Predictions, seed: int) -> str:
    """What a run is worth, in a line: "94 % right on unseen rows (90 to 97 %)"."""
    judge = judge_of(metrics) or ""
    seen = judge == "validation" or training_rows_among(facts, judge)
    rows = f"the {judge} rows" if seen else "unseen rows"
    share, interval = right_share(judged, seed)
    several = labels_of(judged.labels).several
    right = f"all labels right in {share} % of {rows}" if several else f"{share} % right on {rows}"
    return f"{right} ({interval} %){', estimated' if judge == 'estimate' else ''}"


def verdict(metrics: Mapping[str, Any], labels: Sequence[str], judged: Predictions, seed: int) -> str:
    """What a run is worth, beside the best baseline, and where it is weakest.

    "94 of 100 right, 90 to 97; TF-IDF 83; weakest: card_arrival (65), often taken for card_delivery_estimate".
    """
    share, interval = right_share(judged, seed)
    several = labels_of(judged.labels).several
    right = f"all labels of {share} of 100 rows right" if several else f"{share} of 100 right"
    parts = [f"{right}, {interval}"]
    judge = judge_of(metrics)
    baselines = metrics["estimate"]["baselines"] if judge == "estimate" else metrics["baselines"]
    score = "subset_accuracy" if several else "accuracy"
    known = {name: scores[score] for name, scores in baselines.items() if score in scores}
    if known:
        best = max(known, key=known.__getitem__)
        parts.append(f"{best.split(' + ')[0]} {of_hundred(known[best])}")
    weak = weakest_label(metrics) if several else weakest_class(labels, judged)
    return "; ".join(filter(None, [*parts, weak]))


def weakest_class(labels: Sequence[str], judged: Predictions) -> str:
    """The class of which the fewest rows are found, and what it is taken for; empty if all rows of all are found."""
    counts = ONE_LABEL.confusion(judged.probabilities[None], judged.labels)
    rows = counts.sum(1)
    found = np.where(rows >= LEAST, np.diag(counts) / np.maximum(rows, 1), 1)
    weakest = int(found.argmin())
    if found[weakest] == 1:
        return ""
    alone = np.zeros_like(counts)
    alone[weakest] = counts[weakest]
    (other,) = confused_pairs(alone, 1)
    taken = f", often taken for {labels[other.predicted]}" if other.rows >= OFTEN and len(labels) > 2 else ""
    return f"weakest: {labels[weakest]} ({of_hundred(found[weakest])}){taken}"


def weakest_label(metrics: Mapping[str, Any]) -> str:
    """The label with the lowest F1; empty if none has enough rows."""
    scores = {name: each["f1"] for name, each in metrics["labels"].items() if each["rows"] >= LEAST}
    weakest = min(scores, key=scores.__getitem__, default="")
    return f"weakest: {weakest} (F1 {scores[weakest]:.2f})" if weakest else ""


def estimate_sentences(metrics: Mapping[str, Any]) -> list[str]:
    """What the estimate of a run says, in which direction it errs, and what it has set; empty if there is none."""
    if "estimate" not in metrics:
        return []
    estimate, of_run = metrics["estimate"], metrics["rows"]["training"]
    units, labelled = "rows", f"{estimate['rows']:,} labelled rows"
    if "groups" in estimate:
        units, labelled = "groups", f"{labelled} of {estimate['groups']:,} groups"
    least, most = min(estimate["training_rows"]), max(estimate["training_rows"])
    rows = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    kind, better = estimated_by(estimate["kind"]), " and is likely better" * (of_run > most)
    found = [
        f"estimated on {labelled} by {kind}: {with_intervals(estimate)} (95 % intervals over {units})",
        f"the models of the estimate were trained on {rows} rows; the saved model was trained on {of_run:,}{better}",
    ]
    share = estimate.get("trained_share", 1.0)  # it is there where the estimate has chosen it
    if (alone := estimate.get("head_alone")) is not None:
        scoring = labels_in(alone)
        gain = round(100 * (estimate[scoring.main] - alone[scoring.main]), 1)
        enough = "; --trained-layers 0 trains it alone, faster" if gain <= 0 else ""
        found.append(
            f"fine-tuning gains {gain:+.1f} points: {HEAD_ALONE} has the {scoring.main_title} "
            f"{alone[scoring.main]:.3f}{enough}"
        )
        if (of_more := estimate.get("head_alone_of_more")) is not None:
            more = of_more[scoring.main] - alone[scoring.main]
            found.append(
                f"expect about {min(1.0, estimate[scoring.main] + more):.3f} of the saved model: with more training "
                f"rows ({estimated_by(of_more['kind'])}), the head alone gains {100 * more:+.1f} points"
            )
    if share == 0:
        found.append("saved weights: the head alone, because fine-tuning did not lower the out-of-fold log loss")
    elif share != 1:
        found.append(
            f"saved weights: {share:g} x fine-tuned + {1 - share:g} x initial, which lowered the out-of-fold log loss"
        )
    if estimate["calibrated"]:
        scaling = estimate["temperature_scaling"]
        before, after = scaling["calibration_error"], scaling["calibration_error_scaled"]
        errors = f": calibration error {before:.3f} before, {after or 0:.3f} after (cross-validated)"
        temperature = scaling["temperature"]
        if np.isclose(temperature, LIMITS).any():
            found.append(f"calibration failed (temperature {temperature:.3g}): do not rely on the probabilities")
        else:
            found.append(f"calibrated, temperature {temperature:.3g}{'' if after is None else errors}")
    return found


def with_intervals(scores: Mapping[str, Any]) -> str:
    """The two scores that have intervals: "accuracy 0.842 [0.758, 0.901], macro-F1 0.830 [0.741, 0.893]".

    They are of the decisions by thresholds, if there are such.
    """
    named = {
        name + AT_THRESHOLDS if name + AT_THRESHOLDS in scores else name: title
        for name, title in labels_in(scores).estimated.items()
    }
    return ", ".join(f"{title} {with_interval(scores, name)}" for name, title in named.items())


def with_interval(scores: Mapping[str, Any], score: str) -> str:
    """A score with its interval, if it has one: "0.842 [0.758, 0.901]"."""
    if scores[score] is None:
        return "undefined"
    bounds = scores[f"{score}_interval"]
    interval = "" if bounds is None else f" [{bounds[0]:.3f}, {bounds[1]:.3f}]"
    return f"{scores[score]:.3f}{interval}"


def decision_sentences(metrics: Mapping[str, Any]) -> list[str]:
    """What is known of decisions that are held to a target precision."""
    return [*abstention_sentences(metrics), *precision_sentences(metrics), *label_threshold_sentences(metrics)]


def abstention_sentences(metrics: Mapping[str, Any]) -> list[str]:
    """What the thresholds of abstaining decide, in a line, and what they gave on test rows, in another; or nothing."""
    found = metrics.get("abstention")
    if found is None:
        return []
    target = f"a precision of {found['target_precision']:g}"
    if not found["decided"]:
        highest = found.get("reachable")
        instead = "not even 0.5" if highest is None else f"at most {highest:g}"
        return [
            f"{target} is out of reach: {found['rows']:,} rows of the estimate show {instead} with 95 % certainty; "
            "predict decides no text without --no-abstain or --threshold"
        ]
    never = [quoted(label) for label, value in found["thresholds"].items() if value == 1]
    none = f"; never decided: {listed(never, 5)}" if never else ""
    lines = [
        f"predict abstains to reach {target} (95 % certainty on {found['rows']:,} rows of the estimate): it decides "
        f"{with_interval(found, 'coverage')} of the texts{none}"
    ]
    if test := found.get("test"):
        precision = f", of which {with_interval(test, 'precision')} are right" if test["decided"] else ""
        share = with_interval(test, "coverage")
        lines.append(f"{test['decided']:,} of {test['rows']:,} test rows are decided ({share}){precision}")
    return lines


def precision_sentences(metrics: Mapping[str, Any]) -> list[str]:
    """Which labels reach the target, in a line, and which are never predicted, in another; empty without a target."""
    found = metrics.get("estimate", {}).get("label_precision")
    if found is None:
        return []
    target, labels = f"a precision of {found['target_precision']:g}", found["labels"]
    never = [
        f"{quoted(name)} ({'not even 0.5' if each['reachable'] is None else format(each['reachable'], 'g')})"
        for name, each in labels.items() if each["threshold"] == 1
    ]  # fmt: skip
    reached = len(labels) - len(never)
    lines = [
        f"labels are predicted from thresholds for {target}: {reached} of {len(labels)} labels reach it (95 % "
        f"certainty on {found['rows']:,} rows of the estimate)"
    ]
    if never:
        lines.append(
            f"never predicted, because {target} is out of reach: {listed(never, 5)}; in brackets the highest "
            "precision that the rows show; predict --threshold predicts them anyway"
        )
    return lines


def label_threshold_sentences(metrics: Mapping[str, Any]) -> list[str]:
    """From where on a label is predicted, and what it gave on the rows that chose it and on test rows; or nothing."""
    found = metrics.get("label_threshold")
    if found is None:
        return []
    head = f"{quoted(found['label'])} is predicted from {found['threshold']} on"
    lines = []
    if "of" in found:
        lines.append(f"{head}{chosen_by(found)}; on {found['of']:,} rows of the estimate: {of_threshold(found)}")
    if test := found.get("test"):
        lines.append(f"{head}; on the {test['of']:,} test rows: {of_threshold(test)}")
    return lines


def chosen_by(found: Mapping[str, Any]) -> str:
    """What a threshold of a label was chosen by."""
    name, asked = next(iter(found["chosen_by"].items()))
    if name == "precision":
        return f" for a precision of {asked:g} (95 % certainty)"
    if name == "recall":
        return f", the highest threshold with a recall of {asked:g}"
    return (
        f", where the mean cost (fp={asked['fp']:g}, fn={asked['fn']:g}) is lowest: "
        f"{with_interval(found, 'mean_cost')} a row, {found['usual_cost']:.3f} without this threshold"
    )


def of_threshold(numbers: Mapping[str, Any]) -> str:
    """Precision, recall and share of a label with their intervals, as of `label_numbers`."""
    shown = (f"{name} {with_interval(numbers, name)}" for name in ("precision", "recall"))
    return f"{', '.join(shown)}, {with_interval(numbers, 'share')} of all rows"
