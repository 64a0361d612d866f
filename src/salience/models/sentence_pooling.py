"""How a classifier pools its tokens: as it is, by the mean, or as its encoder was trained to be used.

Encoders of sentence-transformers come with a list of modules, `modules.json`, and the settings of their pooling in a
folder beside it, usually `1_Pooling`. MiniLM's says `pooling_mode_mean_tokens: true`; since version 6 of
sentence-transformers it is written `pooling_mode: mean`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel
from transformers.utils import cached_file

from salience.errors import InputError, quoted
from salience.hooks.stages import has_pooling_layer
from salience.models.loading import load_configuration
from salience.models.mean_pooling import fresh_head, settle, supports_mean, with_mean_pooling
from salience.models.sources import model_source

# Encoders for the mean over tokens, by the beginnings of their names, where the settings of the pooling are missing.
BY_NAME = ("all-minilm-", "all-roberta-large-", "all-distilroberta-", "e5-", "multilingual-e5-")


def with_pooling(model: PreTrainedModel, name: str, pooling: str) -> PreTrainedModel:
    """The classifier that is trained: with mean pooling where it is asked for.

    Args:
        model: the classifier as it was loaded. A pooling layer that it already has is kept.
        name: what it was loaded from.
        pooling: "cls" leaves the model as it is; "mean" as in `mean_pooling`; "auto" is "mean" for encoders that were
            trained for it, where the architecture admits it, else "cls".

    Raises:
        InputError: mean pooling is not possible for the architecture, or its pooling layer was trained, which is
            retired.
    """
    if has_pooling_layer(model):
        if model.config.pooling_layer != "mean":
            raise InputError(
                f"--model {quoted(name)} has the pooling {model.config.pooling_layer}, which is retired: it predicts, "
                "but is not trained further; begin from its encoder, with --pooling mean"
            )
        if load_configuration(name).num_labels != model.config.num_labels:  # then the head was drawn anew
            fresh_head(model)
        settle(model)
        return model
    if pooling == "auto":
        pooling = "mean" if supports_mean(model) and is_for_mean(name) else "cls"
    return with_mean_pooling(model) if pooling == "mean" else model


def used_pooling(model: PreTrainedModel) -> str:
    """The value of `pooling` that a classifier stands for: "mean", or "cls" for its own head."""
    own_mean = getattr(model.config, "classifier_pooling", None) == "mean"
    return "mean" if own_mean or getattr(model.config, "pooling_layer", None) else "cls"


def is_for_mean(name: str) -> bool:
    """Whether an encoder was trained for the mean over its tokens, by its files, or else by its name.

    Args:
        name: "minilm", a folder, or a name on the hub.
    """
    modes = declared_modes(model_source(name))
    if modes is not None:
        return modes == {"mean"}
    trained = any("Classification" in kind for kind in load_configuration(name).architectures or [])
    return not trained and Path(name).name.lower().startswith(BY_NAME)


def declared_modes(source: str) -> set[str] | None:
    """The ways of pooling that sentence-transformers uses for an encoder, such as {"mean"}; None if no file says it.

    Args:
        source: a folder, or a name on the hub.
    """
    modules = read_json(source, "modules.json")
    folders = [
        module.get("path")
        for module in (modules if isinstance(modules, list) else [])
        if isinstance(module, dict) and str(module.get("type", "")).endswith("Pooling")
    ]
    folder = folders[0] if folders else "1_Pooling"
    if not isinstance(folder, str) or Path(folder).name != folder:
        return None
    settings = read_json(source, f"{folder}/config.json")
    if not isinstance(settings, dict):
        return None
    modes = settings.get("pooling_mode")
    if modes is None:
        prefix = "pooling_mode_"
        return {key.removeprefix(prefix).removesuffix("_tokens") for key in settings if settings[key] is True
                and key.startswith(prefix)}  # fmt: skip
    return {str(mode) for mode in (modes if isinstance(modes, list) else [modes])}


def read_json(source: str, file: str) -> Any:
    """The content of a JSON file of a model; None if there is no such file, or it is damaged."""
    found = cached_file(
        source, file, _raise_exceptions_for_gated_repo=False, _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )  # fmt: skip
    try:
        return None if found is None else json.loads(Path(found).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
