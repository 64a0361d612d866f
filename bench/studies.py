"""The studies behind the defaults: each a question, and the variants of the recipe that answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.faithfulness import ZHOU, Metric, metrics_named
from salience.faithfulness.accuracy import mean_accuracy_drop
from salience.training.faithfulness import Faithfulness
from salience.training.measured_scores import Measure


@dataclass(frozen=True)
class Study:
    """What `bench/study.py` runs.

    Args:
        question: printed above the answer.
        variants: name to the settings that it changes; the first is the baseline.
        settings: of all variants.
        sets: names of development sets.
        sizes: numbers of labelled rows that each seed draws.
        references: rows beside the variants.
        budget: what all variants spend alike, as of `salience compare --budget`.
        measures: what is measured of each run beside its scores, by name.
        unlabelled: number of texts of each set that all variants are given without labels; 0 for none.
    """

    question: str
    variants: dict[str, dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)
    sets: tuple[str, ...] = ("trec", "mr", "subj", "ag_news")
    sizes: tuple[int, ...] = (100, 500)
    references: tuple[str, ...] = ()
    budget: str = "passes"
    measures: Mapping[str, Measure] = field(default_factory=dict)
    unlabelled: int = 0


def guided_by(**options: Any) -> dict[str, Any]:
    """AttentionMix on mixtures only, as its paper trains, with these options."""
    return {"method": "attentionmix", "clean": 0.0, "method_options": options}


EIGHT = ("trec", "sst2", "sst5", "mr", "subj", "ag_news", "banking77", "rte")
ALL_ROWS = {"method": "plain", "validation_share": 0.0}
MEAN = ALL_ROWS | {"pooling": "mean"}
# The metrics of VAT, and agreement with leave-one-out for 100 texts.
AS_VAT = Faithfulness(
    {name: EXPLAINERS[name] for name in ("gradient", "gradient-x-input")}
    | {"integrated-gradients": IntegratedGradients(8)},
    metrics_named(["accuracy-drop@5", "post-hoc-accuracy@5", "loo-tau"])
    | {"mean-accuracy-drop": Metric(mean_accuracy_drop, "percentage points", True, f"{ZHOU}: AOPC", "labels")},
    texts=200, most=5, leave_one_out_texts=100,
)  # fmt: skip

STUDIES = {
    "pooling": Study(
        "What should the head read, and does a validation part pay?",
        {
            "all rows": ALL_ROWS,
            "held out": {"method": "plain"},
            "mean": MEAN,
            "trained mean": ALL_ROWS | {"pooling": "trained-mean"},
        },
        sets=EIGHT,
        sizes=(50, 100, 200, 500),
        references=("tf-idf", "frozen"),
    ),
    "rates": Study(
        "Which learning rates?",
        {
            "usual": MEAN,
            "head x 3": MEAN | {"head_rate": 3.0},
            "head x 10": MEAN | {"head_rate": 10.0},
            "layer decay 0.8": MEAN | {"layer_decay": 0.8},
            "half": MEAN | {"learning_rate": 1e-4},
            "twice": MEAN | {"learning_rate": 4e-4},
        },
        sets=EIGHT,
        sizes=(50, 100, 200, 500),
    ),
    "methods": Study(
        "Does mixing help on top of the mean, at equal passes of texts?",
        {"plain": MEAN}
        | {
            name: MEAN | {"method": name}
            for name in ("ssmix", "attentionmix", "dropmix-g", "tmix", "embedmix", "senmixup", "mixupencoding")
        },
        sets=EIGHT,
        sizes=(50, 100, 200, 500),
    ),
    "schedule": Study(
        "How long, and with how many texts a step?",
        {
            "usual": MEAN,
            "half": MEAN | {"steps_factor": 0.5},
            "twice": MEAN | {"steps_factor": 2.0},
            "batches of 8": MEAN | {"batch_size": 8},
            "batches of 32": MEAN | {"batch_size": 32},
            "label smoothing": MEAN | {"label_smoothing": 0.1},
        },
        sets=EIGHT,
        sizes=(50, 100, 200, 500),
    ),
    # Steps are equal, so that the student has as many on labelled rows as the baseline.
    "unlabelled": Study(
        "Do texts without labels help, and how should they be read?",
        {
            "without": MEAN | {"unlabelled_ratio": 0},
            "with": MEAN,
            "as they are": MEAN | {"unlabelled_view": "plain"},
            "more words replaced": MEAN | {"unlabelled_view": "randomunk:window=0.3"},
            "mixed by ssmix": MEAN | {"unlabelled_view": "ssmix"},
            "mixed by tmix": MEAN | {"unlabelled_view": "tmix"},
            "twice the steps": MEAN | {"steps_factor": 2.0},
        },
        sets=("trec", "sst2", "mr", "subj", "sst5", "ag_news"),
        sizes=(50, 100),
        references=("frozen",),
        budget="steps",
        unlabelled=2000,
    ),
    "steps": Study(
        "Does the default recipe train long enough?",
        {
            "usual": {"method": "plain"},
            "half": {"method": "plain", "steps_factor": 0.5},
            "twice": {"method": "plain", "steps_factor": 2.0},
        },
        sets=("trec", "mr", "ag_news", "banking77"),
    ),
    "heads": Study(
        "Is the head that AttentionMix chooses by itself better than other heads, or than a layer's mean?",
        {
            "auto": guided_by(head="auto"),
            "mean": guided_by(layer=0),
            # Drawn once, of MiniLM's 6 layers with 12 heads each.
            "head 3 of layer 1": guided_by(layer=1, head=3),
            "head 9 of layer 2": guided_by(layer=2, head=9),
            "head 6 of layer 4": guided_by(layer=4, head=6),
            "plain": {"method": "plain"},
        },
        sets=("trec", "mr", "subj"),
        sizes=(200,),
    ),
    "precision": Study(
        "Does training in bf16 cost accuracy?",
        {"fp32": {"method": "plain", "precision": "fp32"}, "bf16": {"method": "plain", "precision": "bf16"}},
        sets=("trec", "sst2", "mr", "subj", "ag_news"),
        sizes=(500,),
    ),
    # Steps are equal, not passes, as in the earlier study of this question, which results/faithful-training.jsonl has.
    "faithful-training": Study(
        "Are classifiers that were trained on mixtures, or by turns, explained more faithfully?",
        {name: {"method": name} for name in ("plain", "ssmix", "attentionmix", "dropmix-g")}
        | {
            "att": {"method": "plain", "model": "bert-att"},
            "vat": {"method": "plain", "model": "bert-vat", "procedure_options": {"iterations": 1}},
        },
        {"max_length": 128},
        sets=("sst2", "trec"),
        sizes=(500,),  # 400 to train on, 100 for validation
        budget="steps",
        measures={"faithfulness": AS_VAT},
    ),
}
