"""From a model's name to a classifier and its tokenizer."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from salience.errors import InputError
from salience.models.configuration import read_configuration
from salience.models.sources import model_source

# No pickles, no code from the hub, and no question in the middle of a run whether to run it.
SAFELY = {"use_safetensors": True, "trust_remote_code": False}
LONGEST = 512  # tokens read of a text unless asked for more: what BERT was trained on
UNLIMITED = 10**9  # transformers gives a larger length to tokenizers that have none


def load_classifier(name: str, labels: Sequence[str]):
    """A sequence classifier with a fresh head for `labels`, and its tokenizer.

    Args:
        name: "minilm", a folder, or a name on the hub; what lies in the hub's cache loads offline.

    Raises:
        InputError: no such model, no safetensors, or a model that is no encoder for classification.
    """
    from transformers import AutoModelForSequenceClassification

    import salience.models.attention_classifier  # noqa: F401  registers it

    source = model_source(name)
    numbered = dict(enumerate(labels))

    def load():
        config = read_configuration(
            source,
            num_labels=len(numbered),
            id2label=numbered,
            label2id={label: number for number, label in numbered.items()},
            problem_type="single_label_classification",
        )
        return AutoModelForSequenceClassification.from_pretrained(
            source,
            config=config,
            **SAFELY,
            ignore_mismatched_sizes=True,  # a head for other labels gives way to a fresh one
            output_loading_info=True,
        )

    model, found = loaded(name, load)
    check_weights(name, model, found)
    # Weights stored in half precision are trained, and judged, in full.
    return model.float(), fresh_tokenizer(name)


def load_encoder(name: str):
    """An encoder without a head, and its tokenizer, for a model that is still to be trained.

    Raises:
        InputError: no such model, or no safetensors.
    """
    from transformers import AutoModel

    source = model_source(name)
    encoder, found = loaded(
        name,
        lambda: AutoModel.from_pretrained(
            source, config=read_configuration(source), **SAFELY, output_loading_info=True
        ),
    )
    check_weights(name, encoder, found)
    return encoder.float(), fresh_tokenizer(name)


def check_weights(name: str, model, found: Mapping) -> None:
    """Refuses weights of another encoder than the configuration describes; only a head may be of another shape.

    Args:
        found: what `from_pretrained` says about loading: its missing and mismatched keys.

    Raises:
        InputError: names a weight and its shapes.
    """
    prefix = f"{model.base_model_prefix}."
    inside = [weight for weight, _ in model.named_parameters() if weight.startswith(prefix)]
    encoder = set(inside or dict(model.named_parameters()))  # an encoder alone has no prefix
    for weight, stored, wanted in found["mismatched_keys"]:
        if weight in encoder:
            raise InputError(
                f"cannot load the model {name!r}: its weight {weight} has the shape {tuple(stored)}, and config.json "
                f"asks for {tuple(wanted)}"
            )
    if encoder and encoder <= set(found["missing_keys"]):
        raise InputError(f"cannot load the model {name!r}: the file of weights holds none of the encoder's")


def load_trained(folder: str | Path):
    """A trained classifier and its tokenizer, as `salience train` or anyone else saved them.

    Raises:
        InputError: there is no such model, or it was never trained to classify.
    """
    from transformers import AutoModelForSequenceClassification

    import salience.models.attention_classifier  # noqa: F401  registers it

    name = str(folder)
    source = model_source(name)
    model, found = loaded(
        name,
        lambda: AutoModelForSequenceClassification.from_pretrained(
            source, config=read_configuration(source), **SAFELY, output_loading_info=True
        ),
    )
    if found["missing_keys"]:
        raise InputError(f"{name} holds no trained classifier: train one first, with salience train --model {name}")
    if model.config.problem_type == "multi_label_classification":
        raise InputError(f"{name} gives a text several labels at once; only classifiers that choose one are read here")
    if model.config.num_labels < 2:
        raise InputError(f"{name} gives a text a number, not one of several labels")
    return model.float(), load_tokenizer(name)


def load_tokenizer(name: str):
    """The model's fast tokenizer, padding and cutting on the right."""
    from transformers import AutoTokenizer

    tokenizer = loaded(name, lambda: AutoTokenizer.from_pretrained(model_source(name), trust_remote_code=False))
    if not tokenizer.is_fast:
        raise InputError(f"{name}: its tokenizer has no fast form, which alone tells which token is which word")
    tokenizer.padding_side = tokenizer.truncation_side = "right"
    return tokenizer


def fresh_tokenizer(name: str):
    """The tokenizer of a model that is still to be trained, which reads at most `LONGEST` tokens unless told to.

    After training its `model_max_length` is what the model was trained on, and is saved with it.
    """
    tokenizer = load_tokenizer(name)
    tokenizer.model_max_length = min(tokenizer.model_max_length, LONGEST)
    return tokenizer


def longest_text(model, tokenizer, asked: int | None = None) -> int:
    """How many tokens of a text are read: as many as asked for, as far as the model has positions.

    Where nothing is asked for, `tokenizer.model_max_length`: of a trained model that is the length it was trained on,
    and `LONGEST` where the tokenizer does not say.
    """
    room = getattr(model.base_model.config, "max_position_embeddings", None) or sys.maxsize
    # RoBERTa and MPNet count positions from behind the padding index.
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    if getattr(table, "padding_idx", None) is not None:
        room -= table.padding_idx + 1
    if asked is None:
        asked = tokenizer.model_max_length if tokenizer.model_max_length <= UNLIMITED else LONGEST
    return min(room, asked)


def loaded(name: str, load):
    """What `load()` gives, with the many ways in which libraries fail on a model's files in one line.

    Raises:
        InputError: `load` raised an error, whatever its type; `--debug` shows where.
    """
    import warnings

    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()  # a fresh head is what was asked for, not news
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load()
    except InputError:
        raise
    except Exception as error:  # files of others: cut, of another shape, for packages that are not there, ...
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"cannot load the model {name!r}: {reason[:300]}") from error
    finally:
        logging.set_verbosity(level)
