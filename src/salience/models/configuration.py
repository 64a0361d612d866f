"""A model's configuration, without what would fetch and run code: a `config.json` is somebody else's file.

What transformers fetches or runs at the word of a configuration, and what stands against it:

- `auto_map`, code in the model's folder or on the hub: `trust_remote_code=False`;
- `attn_implementation: owner/name` and `experts_implementation`, compiled kernels of the hub, at the top or in a
  nested configuration: replaced by the default here. "flash_attention_2" is replaced too, because transformers takes a
  kernel of the hub for it where the package is not installed;
- `quantization_config`, kernels of the hub for some formats: refused here. Such weights cannot be trained anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

# What transformers itself implements, in torch alone.
ATTENTION = (None, "eager", "sdpa")
EXPERTS = (None, "eager")


def read_configuration(source: str, **changes):
    """The configuration at `source`, a folder or a name on the hub, with `changes`; nothing of it names a kernel.

    Raises:
        ValueError: the weights are quantised.
        Exception: whatever transformers raises for a file that is no configuration.
    """
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(source, trust_remote_code=False, **changes)
    for part in nested(config):
        if getattr(part, "quantization_config", None) is not None:
            raise ValueError("its weights are quantised, which cannot be trained or explained; take the model in full")
        if getattr(part, "_attn_implementation_internal", None) not in ATTENTION:
            part._attn_implementation_internal = None
        if getattr(part, "_experts_implementation_internal", None) not in EXPERTS:
            part._experts_implementation_internal = None
    return config


def nested(value: object, depth: int = 0) -> Iterator:
    """A configuration and those inside it, in lists and mappings too."""
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
            yield from nested(part, depth + 1)
