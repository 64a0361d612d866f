"""Lewy and Mańdziuk (2023, AttentionMix), Tables 2 to 4: AttentionMix against mixup without attention.

AttentionMix, arXiv:2309.11104. As in the paper, all methods but the baseline train on mixtures only. The rows of
layers have the attention of the three layers that did best in the paper's sweep over each set, at the same depth of
the encoder (`as_deep`). A head has no counterpart in another model: "chosen head" is the one that agrees most with the
gradient of the loss, beside the best head of the paper's sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import ceil

from salience.papers.mixing_tables import Choice, MixingTable, Settings, mixing_alone

DEPTH = 12  # layers of BERT-base, by which the paper trains
LAYERS = {  # of these, from 0
    "AttentionMix, best layer": {"sst5": 10, "mr": 1, "imdb": 1},
    "AttentionMix, second layer": {"sst5": 0, "mr": 6, "imdb": 0},
    "AttentionMix, third layer": {"sst5": 2, "mr": 2, "imdb": 2},
}


def as_deep(layer: int, depth: int) -> int:
    """The layer of an encoder of so many layers at the depth of one of the paper's 12, both from 0."""
    # The layer ends at (layer + 1) / 12 of the paper's encoder; the first that reaches this fraction stands for it.
    return ceil((layer + 1) * depth / DEPTH) - 1


def by_layer(layers: Mapping[str, int], name: str, depth: int) -> Settings:
    """The settings of AttentionMix by a layer of the paper's for a data set, in an encoder of so many layers."""
    return mixing_alone("attentionmix", layer=as_deep(layers[name], depth))


METHODS: dict[str, Choice] = {
    "standard": {"method": "plain"},
    "wordMixup": mixing_alone("wordmixup"),
    "MixupEncoding": mixing_alone("mixupencoding"),
    "senMixup": mixing_alone("senmixup"),
    **{method: partial(by_layer, layers) for method, layers in LAYERS.items()},
    "AttentionMix, chosen head": mixing_alone("attentionmix", layer=0, head="auto"),
}
TOLD = ("standard", "wordMixup", "MixupEncoding", *LAYERS, "AttentionMix, chosen head")
PUBLISHED = {  # in the order of TOLD
    "sst5": (51.17, 51.60, 51.30, 52.05, 51.78, 51.45, 52.76),
    "mr": (85.14, 84.90, 85.08, 85.27, 85.18, 85.05, 85.68),
    "imdb": (93.54, 93.88, 93.72, 93.80, 93.73, 93.52, 94.12),
}

TABLE = MixingTable(METHODS, {name: dict(zip(TOLD, values, strict=True)) for name, values in PUBLISHED.items()}).table(
    "attentionmix-tables", "Lewy and Mańdziuk, AttentionMix, 2023, arXiv:2309.11104"
)
