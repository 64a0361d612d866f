"""Loading of classifiers, encoders and tokenizers by name."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from salience.errors import InputError, one_line
from salience.models.configuration import read_configuration, set_dropout
from salience.models.mean_pooling import without_pooling_layer
from salience.models.problem import ONE, SEVERAL
from salience.models.sources import model_source

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    WithTokenizer = tuple[PreTrainedModel, PreTrainedTokenizerBase]

Loaded = TypeVar("Loaded")

# No pickled weights, no code of a model folder or of the hub, and no prompt that asks whether to run it.
SAFELY = {"use_safetensors": True, "trust_remote_code": False}
LONGEST = 512  # default of the number of tokens read of a text: the length that BERT was trained on
UNLIMITED = 10**9  # tokenizers without a maximum length have a larger one in transformers


def load_classifier(
    name: str, labels: Sequence[str], dropout: float | None = None, multi_label: bool = False
) -> WithTokenizer:
    """Loads an encoder with a sequence-classification head for `labels`, and its tokenizer.

    The head is initialised at random, unless the model is a classifier with as many labels. Weights are loaded in
    float32, whatever type they are stored in.

    Args:
        name: "minilm", a folder, or a name on the hub. A model in the hub's cache is loaded without a connection.
        labels: names of the classes, in the order of their indices.
        dropout: probability of the dropout of states and attention; None leaves the model's own.
        multi_label: whether a text can have several labels.

    Raises:
        InputError: there is no such model, it has no safetensors weights, or transformers cannot classify with it.
    """
    from transformers import AutoModelForSequenceClassification

    import salience.models.attention_classifier  # noqa: F401  registers the model type

    source = model_source(name)
    id2label = dict(enumerate(labels))

    def load() -> tuple[PreTrainedModel, Mapping]:
        config = read_configuration(
            source,
            num_labels=len(id2label),
            id2label=id2label,
            label2id={label: number for number, label in id2label.items()},
            problem_type=SEVERAL if multi_label else ONE,
        )
        set_dropout(config, dropout)
        return AutoModelForSequenceClassification.from_pretrained(
            source,
            config=config,
            **SAFELY,
            ignore_mismatched_sizes=True,  # a head for other labels is replaced
            output_loading_info=True,
        )

    model, loading_info = _loaded(name, load)
    _check_weights(name, model, loading_info)
    return model.float(), _untrained_tokenizer(name)


def load_encoder(name: str) -> WithTokenizer:
    """Loads an encoder without a head, and its tokenizer, for a model that is trained afterwards.

    Raises:
        InputError: there is no such model, or it has no safetensors weights.
    """
    from transformers import AutoModel

    source = model_source(name)
    encoder, loading_info = _loaded(
        name,
        lambda: AutoModel.from_pretrained(
            source, config=read_configuration(source), **SAFELY, output_loading_info=True
        ),
    )
    _check_weights(name, encoder, loading_info)
    return without_pooling_layer(encoder).float(), _untrained_tokenizer(name)


def load_trained(folder: str | Path) -> WithTokenizer:
    """Loads a trained classifier and its tokenizer, saved by `salience train` or by transformers.

    Raises:
        InputError: there is no such model, it has no trained head, or it is a regression.
    """
    from transformers import AutoModelForSequenceClassification

    import salience.models.attention_classifier  # noqa: F401  registers the model type

    name = str(folder)
    source = model_source(name)
    model, loading_info = _loaded(
        name,
        lambda: AutoModelForSequenceClassification.from_pretrained(
            source, config=read_configuration(source), **SAFELY, output_loading_info=True
        ),
    )
    if loading_info["missing_keys"]:
        raise InputError(f"{name} holds no trained classifier: train one first, with salience train --model {name}")
    if model.config.num_labels < 2:
        raise InputError(f"{name} gives a text a number (regression); use a classifier with at least two labels")
    return model.float(), load_tokenizer(name)


def load_configuration(name: str) -> PreTrainedConfig:
    """Loads the configuration of a model. Raises as `load_tokenizer`."""
    import salience.models.attention_classifier  # noqa: F401  registers the model type

    return _loaded(name, lambda: read_configuration(model_source(name)))


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """Loads the fast tokenizer of a model; it pads and truncates on the right.

    Raises:
        InputError: there is no such model, or it has no fast tokenizer.
    """
    from transformers import AutoTokenizer

    tokenizer = _loaded(name, lambda: AutoTokenizer.from_pretrained(model_source(name), trust_remote_code=False))
    if not tokenizer.is_fast:
        raise InputError(f"{name}: its tokenizer has no fast version, which is needed to map tokens to words")
    tokenizer.padding_side = tokenizer.truncation_side = "right"
    return tokenizer


def longest_text(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, asked: int | None = None) -> int:
    """The number of tokens read of a text, special tokens included.

    Args:
        model: a classifier. The result is at most the number of its positions.
        tokenizer: its tokenizer.
        asked: the wanted number. None stands for the tokenizer's `model_max_length`, which of a trained model is the
            length that it was trained on, or for `LONGEST` where the tokenizer has no maximum.
    """
    positions = getattr(model.base_model.config, "max_position_embeddings", None) or sys.maxsize
    # The positions of RoBERTa and MPNet begin after the padding index.
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    if (padding := getattr(table, "padding_idx", None)) is not None:
        positions -= padding + 1
    if asked is None:
        asked = tokenizer.model_max_length if tokenizer.model_max_length <= UNLIMITED else LONGEST
    return min(positions, asked)


def _untrained_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer of a model before training: `model_max_length`, which training sets, is at most `LONGEST`."""
    tokenizer = load_tokenizer(name)
    tokenizer.model_max_length = min(tokenizer.model_max_length, LONGEST)
    return tokenizer


def _check_weights(name: str, model: PreTrainedModel, loading_info: Mapping) -> None:
    """Refuses encoder weights that do not fit the configuration; only the head may have another shape.

    Args:
        loading_info: what `from_pretrained` returns with `output_loading_info=True`.

    Raises:
        InputError: names a weight and its shapes.
    """
    prefix = f"{model.base_model_prefix}."
    inside = [weight for weight, _ in model.named_parameters() if weight.startswith(prefix)]
    encoder = set(inside or dict(model.named_parameters()))  # without a head, names have no prefix
    for weight, stored, wanted in loading_info["mismatched_keys"]:
        if weight in encoder:
            raise InputError(
                f"cannot load the model {name!r}: its weight {weight} has the shape {tuple(stored)}, and config.json "
                f"asks for {tuple(wanted)}"
            )
    if encoder and encoder <= set(loading_info["missing_keys"]):
        raise InputError(f"cannot load the model {name!r}: its weights file holds no weight of the encoder")


def _loaded(name: str, load: Callable[[], Loaded]) -> Loaded:
    """The result of `load()`, with warnings silenced and every error on a model's files reported in one line.

    Raises:
        InputError: `load` raised an error of any type; `--debug` shows the traceback.
    """
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()  # transformers warns of a head without weights, which is what was asked for
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load()
    except InputError:
        raise
    except Exception as error:  # truncated or foreign files and missing packages raise errors of many types
        reason = one_line(error) or type(error).__name__
        raise InputError(f"cannot load the model {name!r}: {reason[:300]}") from error
    finally:
        logging.set_verbosity(level)
