"""salience trains text classifiers on what matters in the text, and checks that it does.

Letters in shapes: B batch, T tokens, D width, C classes, L encoder layers, H heads.
"""

from importlib import import_module

from salience._version import __version__

# fmt: off
# Where each public name lives. Imported on first use, so that `salience --help` need not wait for torch.
_HOMES = {
    "salience.batch": ["Batch"],
    "salience.data.texts": ["Texts"],
    "salience.hooks.stages": ["stages"],
    "salience.inference": ["TextClassifier", "load"],
    "salience.explainers": ["EXPLAINERS"],
    "salience.explainers.explanations": ["explain"],
    "salience.faithfulness": ["METRICS", "Metric"],
    "salience.faithfulness.evaluation": ["evaluate"],
    "salience.faithfulness.results": ["Evaluation"],
    "salience.mixing": [
        "METHODS", "AttentionMix", "DropMix", "DropoutMixup", "EmbedMix", "Mix", "MixupEncoding", "RandomUNK", "SSMix",
        "SenMixup", "TMix", "WordMixup", "forward_mixed",
    ],
    "salience.training.objectives": ["mixed", "plain"],
    "salience.training.trainer": ["MixTrainer"],
    "salience.estimator": ["SalienceClassifier"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'salience' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
