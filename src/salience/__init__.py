"""salience trains text classifiers with guided mixing and tests explanations of their decisions.

Everything that a program needs is imported from here: `from salience import SSMix, load`. Names are imported when they
are first used, so `salience --help` does not wait for torch.

Letters in shapes: B batch, T tokens, D width, C classes, L encoder layers, H heads.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from salience._version import __version__

if TYPE_CHECKING:  # for static tools; `_HOMES` is the same list for run time, and tests/test_public.py compares them
    from salience.batch import Batch
    from salience.classify import TextClassifier, load
    from salience.classify.predictor import Predictor
    from salience.comparison.comparing import compare
    from salience.comparison.comparison import Comparison
    from salience.data.batching import Collator
    from salience.data.encoding import encode_texts
    from salience.data.texts import Texts
    from salience.estimator import SalienceClassifier
    from salience.explainers import EXPLAINERS, Explainer
    from salience.explainers.explain import explain
    from salience.explainers.explanation import Explanation
    from salience.faithfulness import METRICS, Metric
    from salience.faithfulness.evaluation import evaluate
    from salience.faithfulness.results import Evaluation
    from salience.hooks.stages import stages
    from salience.mixing import (
        METHODS,
        AttentionMix,
        DropMix,
        DropoutMixup,
        EmbedMix,
        Method,
        Mix,
        MixupEncoding,
        RandomUNK,
        SenMixup,
        SSMix,
        TMix,
        WordMixup,
        forward_mixed,
    )
    from salience.models.loading import load_classifier
    from salience.suggestions import STRATEGIES, Strategy, Suggestion, suggest
    from salience.training.objective import cross_entropy, mixed, plain
    from salience.training.procedures import Standard, Turns
    from salience.training.recipe import Recipe
    from salience.training.trainer import MixTrainer

__all__ = [
    "EXPLAINERS", "METHODS", "METRICS", "STRATEGIES", "AttentionMix", "Batch", "Collator", "Comparison", "DropMix",
    "DropoutMixup", "EmbedMix", "Evaluation", "Explainer", "Explanation", "Method", "Metric", "Mix", "MixTrainer",
    "MixupEncoding", "Predictor", "RandomUNK", "Recipe", "SSMix", "SalienceClassifier", "SenMixup", "Standard",
    "Strategy", "Suggestion", "TMix", "TextClassifier", "Texts", "Turns", "WordMixup", "__version__", "compare",
    "cross_entropy", "encode_texts", "evaluate", "explain", "forward_mixed", "load", "load_classifier", "mixed",
    "plain", "stages", "suggest",
]  # fmt: skip

_HOMES = {  # module -> the public names that it defines
    "salience.batch": ["Batch"],
    "salience.classify": ["TextClassifier", "load"],
    "salience.classify.predictor": ["Predictor"],
    "salience.comparison.comparing": ["compare"],
    "salience.comparison.comparison": ["Comparison"],
    "salience.data.batching": ["Collator"],
    "salience.data.encoding": ["encode_texts"],
    "salience.data.texts": ["Texts"],
    "salience.estimator": ["SalienceClassifier"],
    "salience.explainers": ["EXPLAINERS", "Explainer"],
    "salience.explainers.explain": ["explain"],
    "salience.explainers.explanation": ["Explanation"],
    "salience.faithfulness": ["METRICS", "Metric"],
    "salience.faithfulness.evaluation": ["evaluate"],
    "salience.faithfulness.results": ["Evaluation"],
    "salience.hooks.stages": ["stages"],
    "salience.mixing": [
        "METHODS", "AttentionMix", "DropMix", "DropoutMixup", "EmbedMix", "Method", "Mix", "MixupEncoding",
        "RandomUNK", "SSMix", "SenMixup", "TMix", "WordMixup", "forward_mixed",
    ],
    "salience.models.loading": ["load_classifier"],
    "salience.suggestions": ["STRATEGIES", "Strategy", "Suggestion", "suggest"],
    "salience.training.objective": ["cross_entropy", "mixed", "plain"],
    "salience.training.procedures": ["Standard", "Turns"],
    "salience.training.recipe": ["Recipe"],
    "salience.training.trainer": ["MixTrainer"],
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # so that static tools report a name that is not there

    def __getattr__(name: str):
        if name not in _HOME:
            raise AttributeError(f"module 'salience' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
