"""Lewy and Mańdziuk (2023, AttentionMix), Tables 2 to 4: AttentionMix against mixup without attention.

AttentionMix, arXiv:2309.11104. As in the paper, all methods but the baseline train on mixtures only. Of the paper's
layers and heads, the table has those that lead on several sets; MiniLM has 6 layers, so a layer of the paper's 12 is
taken to be the one at half its number.
"""

from __future__ import annotations

from salience.reproduce.mixing_report import Claim
from salience.reproduce.mixing_tables import MixingTable, mixing_alone

METHODS = {
    "standard": {"method": "plain"},
    "wordMixup": mixing_alone("wordmixup"),
    "MixupEncoding": mixing_alone("mixupencoding"),
    "senMixup": mixing_alone("senmixup"),
    "AttentionMix, first layer": mixing_alone("attentionmix", layer=0),
    "AttentionMix, last layer": mixing_alone("attentionmix", layer=-1),
    "AttentionMix, chosen head": mixing_alone("attentionmix", layer=0, head="auto"),
}
# The layer of the paper's first rows is the first one here; its best head stands for the chosen one.
PUBLISHED = {
    "sst5": {"standard": 51.17, "wordMixup": 51.60, "MixupEncoding": 51.30, "AttentionMix, first layer": 51.78,
             "AttentionMix, chosen head": 52.76},
    "mr": {"standard": 85.14, "wordMixup": 84.90, "MixupEncoding": 85.08, "AttentionMix, chosen head": 85.68},
    "imdb": {"standard": 93.54, "wordMixup": 93.88, "MixupEncoding": 93.72, "AttentionMix, first layer": 93.73,
             "AttentionMix, chosen head": 94.12},
}  # fmt: skip
CLAIMS = (
    Claim("AttentionMix by a good head is better than training without mixing", "AttentionMix, chosen head",
          "standard"),
    Claim("AttentionMix by a good head is better than wordMixup", "AttentionMix, chosen head", "wordMixup"),
    Claim("AttentionMix by a good head is better than MixupEncoding", "AttentionMix, chosen head", "MixupEncoding"),
    Claim("a good head is better than a layer's mean", "AttentionMix, chosen head", "AttentionMix, first layer"),
)  # fmt: skip

TABLE = MixingTable(METHODS, PUBLISHED, CLAIMS).table(
    "attentionmix-tables", "Lewy and Mańdziuk, AttentionMix, 2023, arXiv:2309.11104"
)
