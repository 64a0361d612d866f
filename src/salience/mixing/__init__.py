"""Rules that turn (batch, scores) into a Mix: one file a method, each readable beside its paper."""

from salience.mixing.embedmix import EmbedMix
from salience.mixing.forwarding import forward_mixed
from salience.mixing.mix import Mix
from salience.mixing.pairing import neighbours, shuffle, swap_halves
from salience.mixing.ssmix import SSMix
from salience.mixing.tmix import TMix

METHODS = {
    "embedmix": EmbedMix,
    "ssmix": SSMix,
    "tmix": TMix,
}

__all__ = ["METHODS", "EmbedMix", "Mix", "SSMix", "TMix", "forward_mixed", "neighbours", "shuffle", "swap_halves"]
