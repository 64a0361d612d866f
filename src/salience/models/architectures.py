"""Models that are built here and not by transformers: where they are found, and what other rooms ask of a model.

A model of such an architecture is asked for by name (`attention:dot`), or found by the `model_type` of its
configuration. Its module is imported then, and not before: nothing else in the house knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, Protocol

from torch import Tensor, nn

from salience.batch import Batch
from salience.errors import InputError
from salience.hooks.stages import unwrapped

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

# The function that gives the settings of a model of such a name, or of a name that begins with "attention:".
NAMES = dict.fromkeys(
    ("attention:", "lstm-base", "lstm-att", "lstm-vat", "bert-base", "bert-att", "bert-vat"),
    "salience.papers.attention_classifiers.options:attention_options",
)
# The module that registers the models of these types at transformers.
MODEL_TYPES = {"salience-attention": "salience.papers.attention_classifiers.classifier"}
NO_ALIGNMENT = (
    "V^T W is defined for attention classifiers with dot or additive attention of one head and a linear head"
)


def library_of(config: Any) -> str:
    """The library that loads a saved classifier: "transformers", "sentence-transformers", or "salience" alone."""
    if getattr(config, "sentence_pooling", None) is not None:
        return "sentence-transformers"
    return "salience" if config.model_type in MODEL_TYPES else "transformers"


class OwnSettings(Protocol):
    """The settings of a model that is built here."""

    @property
    def pretrained(self) -> str | None:
        """The name of its pretrained encoder; None if all of it is trained from scratch."""

    @property
    def procedure(self) -> str:
        """As `Architecture.procedure` of the model."""

    @property
    def one_label(self) -> str:
        """Why a text can have one label only, as a clause for messages."""

    @property
    def builder(self) -> str:
        """The name of the function that makes the model and its tokenizer, called as `build`."""


def own_settings(model: str, options: Mapping[str, Any]) -> OwnSettings | None:
    """The settings of the model that is built here for a name and its options; None for a model that is loaded."""
    name, colon, _ = model.partition(":")
    if (found := NAMES.get(name + colon)) is not None:
        return resolve_name(found)(model, options)
    if options:
        presets = ", ".join(name for name in NAMES if not name.endswith(":"))
        raise InputError(
            f"--model {model} takes no {', '.join(options)}: these options are for attention:dot and the other "
            f"attention:POOLING models, and for the presets {presets}"
        )
    return None


def build(
    settings: OwnSettings, labels: Sequence[str], texts: Iterable[str], note: Callable[[str], None]
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The untrained model of some settings, and its tokenizer, whose vocabulary may be taken from training `texts`."""
    return resolve_name(settings.builder)(settings, labels, texts, note)


class Architecture:
    """What is asked of a model beside its outputs. These are the answers for the models of transformers.

    The class of a model that is built here inherits from this one, and answers for itself.
    """

    # The function that fits the model if its procedure is "turns", called as `salience.training.fit.fit` does.
    by_turns: str = ""

    @property
    def reads_words(self) -> bool:
        """Whether the model reads words, by embeddings or an LSTM, and not the tokens of a transformer."""
        return False

    @property
    def predicts_compressed(self) -> bool:
        """Whether it predicts, in evaluation mode, by a compressor that is trained by turns."""
        return False

    @property
    def procedure(self) -> Literal["standard", "turns"]:
        """How the model is trained: all weights together, or learner and compressor by turns (VAT)."""
        return "standard"

    @property
    def predicting_head(self) -> nn.Module | None:
        """The module whose last linear map gives the logits that are predicted; None stands for the whole model."""
        return None

    def alignment(self, form: str = "absolute") -> Tensor:
        """The alignment of attention and polarity, a scalar, where it is defined; `form`: "absolute" or "square"."""
        raise ValueError(NO_ALIGNMENT)

    def fast_logits(self, tokens: int) -> Callable[[Batch], Tensor] | None:
        """A function that gives the logits (B, C) in evaluation mode without the encoder; None if it does not pay."""
        return None

    def pooling_attention(self, batch: Batch) -> Tensor:
        """The attention weights of the pooling (B, T), the mean over heads; 0 on padding and special tokens."""
        raise ValueError(f"{type(self).__name__} has no attention over its words")


USUAL = Architecture()


def architecture(model: nn.Module) -> Architecture:
    """The model itself, inside its wrappers, or the usual answers if it is not built here."""
    inner: object = unwrapped(model)
    return inner if isinstance(inner, Architecture) else USUAL


def alignment_penalty(weight: float, form: str = "absolute") -> Callable[[nn.Module], Tensor] | None:
    """A function that maps a model to `weight` times its `alignment`, a scalar; None if the weight is 0."""
    return (lambda model: weight * architecture(model).alignment(form)) if weight else None
