"""Reading a model's configuration without fetching or running the code that it names.

A `config.json` may come from anyone. It can make transformers fetch or run code in these ways:

- `auto_map` names code in the model's folder or on the hub: prevented by `trust_remote_code=False`.
- `attn_implementation: owner/name` and `experts_implementation`, at the top or in a nested configuration, name
  compiled kernels on the hub: replaced by the default here. "flash_attention_2" is replaced too, because transformers
  fetches a kernel from the hub for it where the package is not installed.
- `quantization_config` needs kernels from the hub for some formats: refused here. Quantised weights cannot be trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from salience.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

# The implementations in transformers itself, which need torch alone.
ATTENTION = (None, "eager", "sdpa")
EXPERTS = (None, "eager")
# Names of the probabilities of dropout in configurations of encoders; those of heads are not among them.
DROPOUT = (
    "hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout", "embedding_dropout",
    "mlp_dropout",
)  # fmt: skip


def read_configuration(source: str, **changes) -> PreTrainedConfig:
    """Reads a configuration and removes the kernels that it names.

    Args:
        source: a folder, or a name on the hub.
        changes: fields to replace.

    Raises:
        ValueError: the weights are quantised.
        Exception: whatever transformers raises for a file that is not a configuration.
    """
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(source, trust_remote_code=False, **changes)
    for part in _nested(config):
        if getattr(part, "quantization_config", None) is not None:
            raise ValueError(
                "its weights are quantised, and such a model cannot be trained or explained; use the model with "
                "unquantised weights"
            )
        if getattr(part, "_attn_implementation_internal", None) not in ATTENTION:
            part._attn_implementation_internal = None
        if getattr(part, "_experts_implementation_internal", None) not in EXPERTS:
            part._experts_implementation_internal = None
    return config


def set_dropout(config: PreTrainedConfig, probability: float | None) -> None:
    """Sets the dropout of an encoder's states and attention weights in training.

    None leaves the configuration as it is. The dropout before the head follows where the configuration has no other
    value for it, as in BERT.

    Raises:
        InputError: the configuration has no such dropout.
    """
    if probability is None:
        return
    names = [name for name in DROPOUT if isinstance(getattr(config, name, None), int | float)]
    if not names:
        raise InputError(f"--dropout {probability:g}: models of the type {config.model_type} have no dropout to set")
    for name in names:
        setattr(config, name, probability)


def _nested(value: object, depth: int = 0) -> Iterator[PreTrainedConfig]:
    """A configuration and all configurations inside it, also those in lists and mappings."""
    from transformers import PreTrainedConfig

    if depth > 8:
        return
    if isinstance(value, PreTrainedConfig):
        yield value
        value = vars(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _nested(part, depth + 1)
