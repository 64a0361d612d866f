"""The studies behind the defaults: each a question, and the variants of the recipe that answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from corruptions import Robustness
from development import JOINED
from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.faithfulness import ZHOU, Metric, metrics_named
from salience.faithfulness.accuracy import mean_accuracy_drop
from salience.training.measures import Faithfulness, Measure


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
        foreign: the development set whose test texts the runs are to know from their own; empty for none.
        wrong: the share of the rows to train on that get a wrong label, evenly of the other classes.
    """

    question: str
    variants: dict[str, dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)
    sets: tuple[str, ...] = ("trec", "mr", "subj", "ag_news")
    sizes: tuple[int, ...] = (100, 500)
    references: tuple[str, ...] = ()
    budget: str = "passes"
    measures: Mapping[str, Measure] = field(default_factory=dict)
    foreign: str = ""
    wrong: float = 0.0


def guided_by(**options: Any) -> dict[str, Any]:
    """AttentionMix on mixtures only, as its paper trains, with these options."""
    return {"method": "attentionmix", "clean": 0.0, "method_options": options}


METHODS = (
    "plain", "senmixup:alpha=1", "senmixup", "ssmix", "attentionmix", "dropmix-g", "tmix", "embedmix", "randomunk",
)  # fmt: skip
# AttentionMix in the middle of the encoder has the lower half of its passes in common.
TRIED = (
    "senmixup:alpha=1", "senmixup:alpha=4", "tmix", "tmix:alpha=1", "ssmix", "ssmix:window=0.05", "ssmix:window=0.3",
    "attentionmix", "attentionmix:head=auto", "attentionmix:level=0.5", "dropmix-g", "dropmix-g:alpha=0.5",
    "dropmix-g:direction=keep",
)  # fmt: skip


EIGHT = ("trec", "sst2", "sst5", "mr", "subj", "ag_news", "20news", "rte")
FEW = (50, 100, 200, 500)
STRENGTHS = (0.3, 0.25, 0.1, 0.015, 0.01, 0.005)
CLS = {
    "method": "plain", "validation_share": 0.0, "pooling": "cls", "head_start": "random", "contrastive": 0.0,
    "contrastive_temperature": 0.1,
}  # fmt: skip
MEAN = CLS | {"pooling": "mean", "learning_rate": 2e-4, "head_rate": 1.0}
QUARTER = CLS | {"pooling": "mean", "learning_rate": 5e-5, "head_rate": 10.0}  # a quarter of the rate of MEAN
BEGUN = QUARTER | {"head_start": "logistic"}
CONTRASTIVE = {"contrastive": 0.3, "contrastive_temperature": 0.1}
MORE_CONTRAST = CONTRASTIVE | {"contrastive": 0.6}
MIXTURES = {"method": "senmixup", "method_options": {"alpha": 1.0}}
CONTRASTED = QUARTER | MORE_CONTRAST
PRESENT = CONTRASTED | MIXTURES
TRAINED = {"head_end": "trained"}
TWICE = {"learning_rate": 1e-4, "head_end": "logistic"}  # twice the rate
# Of `normal` and `quick`, as they were when most studies were made.
OF_8 = {"effort": "normal", "batch_size": 8}
SHORT_OF_8 = {"effort": "quick", "batch_size": 8}
HELD_OUT = CLS | {"validation_share": 0.2}
# The metrics of VAT, and agreement with leave-one-out for 100 texts.
AS_VAT = Faithfulness(
    {name: EXPLAINERS[name] for name in ("gradient", "gradient-x-input")}
    | {"integrated-gradients": IntegratedGradients(8)},
    metrics_named(["accuracy-drop@5", "post-hoc-accuracy@5", "loo-tau"])
    | {"mean-accuracy-drop": Metric(mean_accuracy_drop, "percentage points", True, f"{ZHOU}: AOPC", "labels")},
    texts=200, most=5, leave_one_out_texts=100,
)  # fmt: skip

STUDIES = {
    "recipe": Study(
        "Which recipe is best with few labels?",
        {
            "all rows": CLS,
            "held out": HELD_OUT,
            "mean": MEAN,
            "mean, head x 3": MEAN | {"head_rate": 3.0},
            "mean, head x 10": MEAN | {"head_rate": 10.0},
            "mean, half rate": MEAN | {"learning_rate": 1e-4},
            "mean, quarter rate, head x 10": QUARTER,
            "mean, quarter rate, head x 30": MEAN | {"learning_rate": 5e-5, "head_rate": 30.0},
            "mean, eighth rate, head x 20": MEAN | {"learning_rate": 2.5e-5, "head_rate": 20.0},
            "cls, quarter rate, head x 10": CLS | {"learning_rate": 5e-5, "head_rate": 10.0},
            "mean, half the steps": MEAN | {"steps_factor": 0.5},
            "mean, twice the steps": MEAN | {"steps_factor": 2.0},
            "mean, label smoothing": MEAN | {"label_smoothing": 0.1},
            "mean, batches of 8": MEAN | {"batch_size": 8},
        },
        sets=EIGHT,
        sizes=FEW,
        references=("tf-idf", "frozen"),
    ),
    "start": Study(
        "Does a head that begins as a regression help, and a contrastive loss, and mixtures of the vectors?",
        {
            "mean, quarter rate, head x 10": QUARTER,
            "regression": BEGUN,
            "contrastive": QUARTER | CONTRASTIVE,
            "contrastive 0.6": QUARTER | MORE_CONTRAST,
            "mixtures": QUARTER | MIXTURES,
            "contrastive, mixtures": QUARTER | CONTRASTIVE | MIXTURES,
            "contrastive 0.6, mixtures": PRESENT,
            "contrastive 0.8, mixtures": PRESENT | {"contrastive": 0.8},
            "contrastive 0.6 of 0.2, mixtures": PRESENT | {"contrastive_temperature": 0.2},
            "contrastive 0.6 of 0.05, mixtures": PRESENT | {"contrastive_temperature": 0.05},
            "regression, contrastive": BEGUN | CONTRASTIVE,
            "regression, mixtures": BEGUN | MIXTURES,
            "regression, contrastive, mixtures": BEGUN | CONTRASTIVE | MIXTURES,
            "regression, contrastive 0.6, mixtures": BEGUN | MORE_CONTRAST | MIXTURES,
            "regression, contrastive, mixtures of 0.2": BEGUN | CONTRASTIVE | {"method": "senmixup"},
        },
        sets=EIGHT,
        sizes=FEW,
    ),
    "strength": Study(
        "How closely should the regression that a head begins as fit its rows?",
        {
            "default": {},  # C = 1
            # 0.3, 0.25, 0.015 and 0.005 are 5 / rows per class of TREC and SST-5 with 100 rows, TREC and SST-2 with
            # 2,000.
            **{f"C = {c:g}": {"head_start": "logistic", "head_strength": c} for c in STRENGTHS},
            "random": {"head_start": "random"},
            # Half the number of classes of TREC, banking20 and TREC fine, as of the head alone.
            "normal": OF_8,
            **{f"normal, C = {c:g}": OF_8 | {"head_strength": c} for c in (3.0, 10.0, 25.0)},
        },
        sets=(*EIGHT, "banking20", "trec_fine"),
        sizes=FEW,
    ),
    "several-labels": Study(
        "Several labels: does a head that begins as a regression of each label help, and mixtures?",
        {
            "random, mixtures": {"head_start": "random", "method": "senmixup:alpha=1"},
            "regression, mixtures": {"head_start": "logistic", "method": "senmixup:alpha=1"},
            "random": {"head_start": "random", "method": "plain"},
            "regression": {"head_start": "logistic", "method": "plain"},
        },
        sets=JOINED,
        sizes=(100, 200),
        references=("tf-idf", "frozen"),
    ),
    "default": Study(
        "Is the default recipe better than the earlier one, and than plain fine-tuning of [CLS]?",
        {"default": {}, "ssmix, held out": HELD_OUT | {"method": "ssmix"}, "all rows": CLS},
        sets=EIGHT,
        sizes=FEW,
        references=("tf-idf", "frozen"),
        budget="steps",  # so that SSMix takes twice the time, as it did
    ),
    "methods": Study(
        "Does mixing help, at equal passes of texts?",
        {name: {"method": name} for name in METHODS},
        sets=("trec", "sst2", "mr", "subj", "sst5", "ag_news"),
        sizes=FEW,
        measures={"robustness": Robustness()},
        foreign="banking77",
    ),
    **{
        f"{percent}-wrong": Study(
            f"Does mixing help where {percent} % of the labels are wrong, at equal passes of texts?",
            {name: {"method": name} for name in ("plain", "senmixup:alpha=1", "ssmix")},
            settings=OF_8,
            sets=("trec", "sst2", "mr", "subj", "sst5", "ag_news"),
            sizes=(100,),
            wrong=percent / 100,
        )
        for percent in (20, 40)
    },
    "settings": Study(
        "Which settings of its own does each method need, at equal passes of texts?",
        {name: {"method": name} for name in ("plain", *TRIED)},
        sets=("trec", "sst2"),
        sizes=(100,),
    ),
    # Variants that were retired, and their numbers, are in docs/research/studies/training-techniques.md.
    "techniques": Study(
        "Does a technique of training help, at equal passes of texts?",
        {
            "default": {},
            "frozen embeddings": {"trained_layers": 6},
            "2 frozen layers": {"trained_layers": 4},
            "batches of 8": {"batch_size": 8},
            "no dropout": {"dropout": 0.0},
            "dropout 0.2": {"dropout": 0.2},
            "label smoothing 0.1": {"label_smoothing": 0.1},
            "no contrast": {"contrastive": 0.0},
            "no mixtures": {"method": "plain"},
        },
        sets=(*EIGHT, "banking20"),
        sizes=FEW,
    ),
    # Steps are not made alike: a variant's cost is measured by itself.
    "depth": Study(
        "How many layers need training, in how many steps, at which rate, and which head is kept?",
        {
            "today": TRAINED,
            "today, regression": {},  # `--effort best`
            "today, C = 23.5": TRAINED | {"head_strength": 23.5},  # half of the classes of trec_fine
            "half": TWICE | {"steps_factor": 0.5},
            **{  # of 2,000 rows and more
                f"{share} of 32, {head}": {"learning_rate": 1e-4, "batch_size": 32, "steps_factor": factor} | end
                for share, factor in (("half", 0.5), ("quarter", 0.25))
                for head, end in (("trained", TRAINED), ("regression", {"head_end": "logistic"}))
            },
            "quarter of 16": {"effort": "normal"},
            "quarter of 16, trained": {"effort": "normal"} | TRAINED,
            "quarter of 16, no contrast": {"effort": "normal", "contrastive": 0.0},
            "quarter of 8, no contrast": OF_8 | {"contrastive": 0.0},
            "quarter of 16, no dropout": {"effort": "normal", "dropout": 0.0},
            "quarter of 32": {"effort": "normal", "batch_size": 32},
            "quarter of 8": OF_8,
            "eighth of 16": {"effort": "quick"},
            "eighth of 16, no dropout": {"effort": "quick", "dropout": 0.0},
            **{f"eighth of 16, contrast {w:g}": {"effort": "quick", "contrastive": w} for w in (0.4, 0.8)},
            "eighth of 16, no mixtures": {"effort": "quick", "method": "plain"},
            "eighth of 8": SHORT_OF_8,
            "eighth of 4": {"effort": "quick", "learning_rate": 1e-4, "batch_size": 4},
            "half of 8": OF_8 | {"steps_factor": 0.5},
            "quarter of 16, rate 0.00015": {"effort": "normal", "learning_rate": 1.5e-4},
            "quarter of 32, rate 0.0002": {"effort": "normal", "batch_size": 32, "learning_rate": 2e-4},
            "eighth of 16, rate 0.0001": {"effort": "quick", "learning_rate": 1e-4},
            **{f"quarter of 8, rate {rate:g}": OF_8 | {"learning_rate": rate} for rate in (5e-5, 1.5e-4)},
            **{f"eighth of 8, rate {rate:g}": SHORT_OF_8 | {"learning_rate": rate} for rate in (1e-4, 1.5e-4, 3e-4)},
            "eighth of 8, no warmup": SHORT_OF_8 | {"warmup": 0.0},
            **{f"quarter of 16, {n} layers": {"effort": "normal", "trained_layers": n} for n in (3, 4, 6)},
            "quarter of 8, 6 layers": OF_8 | {"trained_layers": 6},  # the upper half of MPNet
            "quarter of 8, trained": OF_8 | TRAINED,
            "eighth of 8, trained": SHORT_OF_8 | TRAINED,
            "3 layers, half": TWICE | {"steps_factor": 0.5, "trained_layers": 3},
            "head alone": {"trained_layers": 0, "effort": None},
        },
        {"head_end": None},
        sets=(*EIGHT, "banking20", "trec_fine"),
        sizes=FEW,
        references=("tf-idf", "frozen"),
        budget="steps",
    ),
    # Sets whose labels have names that say what they mean.
    "names": Study(
        "Should the names of the labels be trained on as texts of their labels?",
        {
            "default": {},
            "names": {"label_descriptions": "names"},
            "begun": {"head_start": "logistic"},
            "begun, names": {"head_start": "logistic", "label_descriptions": "names"},
        },
        sets=("banking77", "ag_news", "sst2", "mr", "subj"),
        sizes=(20, 50, 100, 154, 385),
    ),
    # Reviews of some 800 tokens, and windows that are short, so that a study fits a small machine.
    "long": Study(
        "How should texts be read that are longer than what is read at once?",
        {"head": {}, "both ends": {"long": "head-tail"}, "windows": {"long": "windows"}},
        {"max_length": 128},
        sets=("movie_rationales",),
        sizes=(100, 200),
        references=("tf-idf",),
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
        {"contrastive": 0.0},  # a training on mixtures alone has none
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
        {"max_length": 128, "validation_share": 0.2, "pooling": "cls"},
        sets=("sst2", "trec"),
        sizes=(500,),  # 400 to train on, 100 for validation
        budget="steps",
        measures={"faithfulness": AS_VAT},
    ),
}
