"""Recipes of earlier runs: settings that are no longer offered, and those that there were not yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from salience.errors import InputError

# By name: the values that ask for nothing, and what to do instead.
RETIRED: dict[str, tuple[tuple[Any, ...], str]] = {
    "plain_share": ((0, None), "train with --method plain first, and then from its folder with --model FOLDER"),
    "auto_budget": ((12.0, None), "compare methods with salience compare, and name the best one with --method"),
    "r_drop": ((0, None), "leave it out; --set contrastive=X is the loss beside the cross-entropy that helps"),
    "average": (("none", None), "leave it out; --set trained_share=X interpolates initial and fine-tuned weights"),
    "contrastive_memory": ((0, None), "leave it out, or use a larger --batch-size"),
    "layer_decay": ((1.0, None), "leave it out; head_rate and trained_layers treat parts of the model differently"),
    "freeze": ((None,), "name the encoder layers that are trained, from the top: --trained-layers N"),
    "label_noise": ((0, None), "change labels in the file of the rows"),
    "robustness": ((False, None), "compare on a test file whose texts are changed"),
} | {
    f"unlabelled{name}": (unused, "let a run of labelled rows teach a model on these texts: salience distill RUN FILE")
    for name, unused in {
        "": (None, ""), "_labels": ("fixed", None), "_view": ("randomunk:window=0.15", None),
        "_partners": ("unlabelled", None), "_ratio": (2, None), "_weight": (1.0, None),
    }.items()
}  # fmt: skip
RETIRED_METHODS = {"auto": RETIRED["auto_budget"][1], "plain+": RETIRED["plain_share"][1]} | dict.fromkeys(
    ("setfit", "setfit-equal"), "train it with its own package, as bench/others/setfit_text.py does"
)

# What runs did before there were these settings; their recipes have checksums, and lack the names.
BEFORE = {"head_end": "trained", "empty_label": "error"}


def without_retired(settings: Mapping[str, Any], source: str = "") -> dict[str, Any]:
    """The settings without retired ones, and with those that the recipe of an earlier run does not name.

    Raises:
        InputError: a retired setting asks for something.
    """
    for name, (unused, instead) in RETIRED.items():
        if name in settings and settings[name] not in unused:
            raise InputError(f"{source or 'the recipe'}: {name}={settings[name]} is no longer offered: {instead}")
    earlier = BEFORE if settings.get("checksums") else {}
    return earlier | {name: value for name, value in settings.items() if name not in RETIRED}
