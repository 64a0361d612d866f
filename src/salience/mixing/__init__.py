"""Mixing methods: rules that turn (batch, scores) into a `Mix`. There is one file for each method."""

from collections.abc import Callable
from functools import partial

from salience.mixing.attentionmix import AttentionMix
from salience.mixing.dropmix import DropMix
from salience.mixing.forwarding import dry_run, forward_mixed
from salience.mixing.heads import rank_heads
from salience.mixing.interpolation import DropoutMixup, EmbedMix, MixupEncoding, SenMixup, TMix, WordMixup
from salience.mixing.method import Method, neighbours, shuffle, swap_halves
from salience.mixing.mix import Mix
from salience.mixing.randomunk import RandomUNK
from salience.mixing.ssmix import SSMix

# Name -> class or factory; called with no arguments it gives the method with the paper's settings.
METHODS: dict[str, Callable[..., Method]] = {
    "wordmixup": WordMixup,
    "embedmix": EmbedMix,
    "tmix": TMix,
    "mixupencoding": MixupEncoding,
    "senmixup": SenMixup,
    "dropoutmixup": DropoutMixup,
    "ssmix": SSMix,
    "ssmix-nosaliency": partial(SSMix, guide=None),
    "ssmix-nospan": partial(SSMix, guide=None, span=False),
    "randomunk": RandomUNK,
    "attentionmix": AttentionMix,
    "dropmix-u": partial(DropMix, height=1, width=1),
    "dropmix-c": partial(DropMix, height=None, width=1),
    "dropmix-w": partial(DropMix, height=2, width=None),  # the paper tunes the height in [2, 32]
    "dropmix-g": partial(DropMix, height=2, width=1),
}

__all__ = [
    "METHODS", "AttentionMix", "DropMix", "DropoutMixup", "EmbedMix", "Method", "Mix", "MixupEncoding",
    "RandomUNK", "SSMix", "SenMixup", "TMix", "WordMixup", "dry_run", "forward_mixed", "neighbours",
    "rank_heads", "shuffle", "swap_halves",
]  # fmt: skip
