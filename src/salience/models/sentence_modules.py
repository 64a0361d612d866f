"""Classifiers as modules of sentence-transformers: any encoder, its own pooling over the tokens, and a linear map.

Encoders of sentence-transformers (Reimers and Gurevych, 2019, arXiv:1908.10084, Sec. 3) were trained for one pooling,
which their files name: the mean over the tokens, or the state of the first one. Where the classifier of an
architecture computes another vector, no plain checkpoint of it can hold that pooling. Such a run is saved as the
modules Transformer, Pooling and Dense, which sentence-transformers loads without salience: its `encode` gives logits.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.utils import cached_file

from salience.files import write_json

MODULES = "modules.json"  # the list of modules, each with a folder
POOLING, DENSE = "1_Pooling", "2_Dense"
MODES = {"mean": "mean_tokens", "first": "cls_token"}  # poolings, as sentence-transformers writes them


def pooled(states: Tensor, mask: Tensor | None, pooling: str) -> Tensor:
    """The vectors (B, D) of texts from their tokens' states (B, T, D) and mask (B, T), which is 0 on padding.

    `pooling` is "mean", over special tokens too, or "first".
    """
    if pooling == "first":
        return states[:, 0]
    weights = torch.ones_like(states[..., :1]) if mask is None else mask[..., None].to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


class PooledClassifier(PreTrainedModel):
    """A classifier whose logits (B, C) are a linear map of the mean over an encoder's tokens, or of its first token.

    Args:
        encoder: any encoder of transformers, whose configuration the classifier shares. Its `sentence_pooling` is
            "mean" or "first".
    """

    base_model_prefix = "encoder"
    has_saved_head = False  # whether the linear map was read from a file
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True  # as the encoder

    def __init__(self, encoder: PreTrainedModel):
        config: Any = encoder.config
        super().__init__(config)
        self.encoder = encoder
        probabilities = (
            getattr(config, name, None) for name in ("classifier_dropout", "hidden_dropout_prob", "dropout")
        )
        self.dropout = nn.Dropout(next((each for each in probabilities if each is not None), 0.0))
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.fresh_head()

    @torch.no_grad()
    def fresh_head(self) -> None:
        """Initialises the linear map."""
        self.classifier.weight.normal_(0, getattr(self.config, "initializer_range", 0.02))
        self.classifier.bias.zero_()

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, **inputs
    ) -> SequenceClassifierOutput:
        """The logits (B, C) of tokens (B, T); `inputs` are further arguments of the encoder."""
        found = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **inputs)
        vector = pooled(found.last_hidden_state, attention_mask, self.config.sentence_pooling)
        return SequenceClassifierOutput(
            logits=self.classifier(self.dropout(vector)),  # type: ignore[arg-type]
            hidden_states=getattr(found, "hidden_states", None), attentions=getattr(found, "attentions", None),
        )  # fmt: skip

    def save_pretrained(self, save_directory: str | PathLike, **options) -> None:  # type: ignore[override]
        """Writes the modules to a folder, without the tokenizer; `options` are those of the encoder's weights."""
        folder = Path(save_directory)
        self.encoder.save_pretrained(folder, **options)
        width, pooling = self.config.hidden_size, self.config.sentence_pooling
        types = {"": "Transformer", POOLING: "Pooling", DENSE: "Dense"}
        write_json(folder / MODULES, [
            {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for place, (path, kind) in enumerate(types.items())
        ])  # fmt: skip
        for name in (POOLING, DENSE):
            (folder / name).mkdir(exist_ok=True)
        modes = {f"pooling_mode_{mode}": name == pooling for name, mode in MODES.items()}
        write_json(folder / POOLING / "config.json", {"word_embedding_dimension": width, **modes})
        write_json(folder / DENSE / "config.json", {
            "in_features": width, "out_features": self.config.num_labels, "bias": True,
            "activation_function": "torch.nn.modules.linear.Identity",
        })  # fmt: skip
        weights = {f"linear.{name}": value.contiguous() for name, value in self.classifier.state_dict().items()}
        save_file(weights, folder / DENSE / "model.safetensors", {"format": "pt"})


def with_saved_head(encoder: PreTrainedModel, source: str) -> PooledClassifier | None:
    """The classifier whose modules were saved in a folder or on the hub, around its encoder.

    None if there are none, or their linear map is not one to the labels of the encoder's configuration.
    """
    if getattr(encoder.config, "sentence_pooling", None) not in MODES:
        return None
    if (weights := saved_head(source, encoder.config.num_labels)) is None:
        return None
    classifier = PooledClassifier(encoder)
    classifier.has_saved_head = True
    stored = load_file(weights)
    classifier.classifier.load_state_dict({name.removeprefix("linear."): value for name, value in stored.items()})
    return classifier


def saved_head(source: str, labels: int) -> str | None:
    """The file of a linear map to so many labels, among the modules of a folder or on the hub; None without one."""
    if (dense := module_folder(source, "Dense")) is None:
        return None
    settings = read_json(source, f"{dense}/config.json")
    if not isinstance(settings, dict) or settings.get("out_features") != labels:
        return None
    return optional_file(source, f"{dense}/model.safetensors")


def declared_modes(source: str) -> set[str] | None:
    """The ways of pooling that sentence-transformers uses for a folder or a name on the hub; None if no file says.

    It has a list of modules, and the settings of the pooling in a folder beside it, usually `1_Pooling`. MiniLM's says
    `pooling_mode_mean_tokens: true`; since version 6 it is written `pooling_mode: mean`.
    """
    folder = module_folder(source, "Pooling", POOLING)
    settings = None if folder is None else read_json(source, f"{folder}/config.json")
    if not isinstance(settings, dict):
        return None
    modes = settings.get("pooling_mode")
    if modes is None:
        prefix = "pooling_mode_"
        return {
            name.removeprefix(prefix).removesuffix("_tokens")
            for name in settings if settings[name] is True and name.startswith(prefix)
        }  # fmt: skip
    return {str(mode) for mode in (modes if isinstance(modes, list) else [modes])}


def module_folder(source: str, kind: str, usual: str | None = None) -> str | None:
    """The folder, in that of the model, of the first module of a kind; `usual` if the list has none."""
    modules, folder = read_json(source, MODULES), usual
    for module in modules if isinstance(modules, list) else []:
        if isinstance(module, dict) and str(module.get("type", "")).endswith(kind):
            folder = module.get("path")
            break
    return folder if isinstance(folder, str) and folder and Path(folder).name == folder else None


def read_json(source: str, file: str) -> Any:
    """The content of a JSON file of a model; None if there is no such file, or it is damaged."""
    found = optional_file(source, file)
    try:
        return None if found is None else json.loads(Path(found).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def optional_file(source: str, file: str) -> str | None:
    """The place of a file of a model, which is a folder or a name on the hub; None if there is no such file."""
    return cached_file(
        source, file, _raise_exceptions_for_gated_repo=False, _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )  # fmt: skip
