"""From a model's name to a classifier and its tokenizer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from salience.errors import InputError, nearest, quoted
from salience.models.embedded import EMBEDDED, embedded_folder

# No pickles, no code from the hub, and no question in the middle of a run whether to run it.
SAFELY = {"use_safetensors": True, "trust_remote_code": False}
LONGEST = 512  # tokens read of a text unless asked for more: what BERT was trained on


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
    model = loaded(
        name,
        lambda: AutoModelForSequenceClassification.from_pretrained(
            source,
            num_labels=len(numbered),
            id2label=numbered,
            label2id={label: number for number, label in numbered.items()},
            problem_type="single_label_classification",
            **SAFELY,
            ignore_mismatched_sizes=True,  # a head for other labels gives way to a fresh one
        ),
    )
    return model.float(), load_tokenizer(name)  # weights stored in half precision are trained, and judged, in full


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
        lambda: AutoModelForSequenceClassification.from_pretrained(source, **SAFELY, output_loading_info=True),
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


def longest_text(model, tokenizer, asked: int | None = None) -> int:
    """How many tokens of a text are read: what was asked for or `LONGEST`, as far as the model can."""
    room = getattr(model.base_model.config, "max_position_embeddings", None) or sys.maxsize
    # RoBERTa and MPNet count positions from behind the padding index.
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    if getattr(table, "padding_idx", None) is not None:
        room -= table.padding_idx + 1
    return min(room, tokenizer.model_max_length, asked or LONGEST)


def model_source(name: str) -> str:
    """What `from_pretrained` is to be given: the embedded model's folder, a folder, or a name on the hub."""
    if name in EMBEDDED:
        return str(embedded_folder(name))
    path = Path(name).expanduser()
    beside_others = path.parent != Path() and path.parent.is_dir()  # runs/nmae: not a name on the hub
    looks_like_path = name.startswith((".", "/", "~")) or name.count("/") > 1 or beside_others
    if looks_like_path and not path.is_dir():
        raise InputError(f"no model at {name}: give a folder, a name on the hub, or one of {', '.join(EMBEDDED)}")
    if not path.is_dir() and (near := nearest(name, EMBEDDED)):  # not worth half a minute of asking the hub
        raise InputError(f"unknown model {quoted(name)}.{near}")
    return str(path) if path.is_dir() else name


def loaded(name: str, load):
    """What `load()` gives, with Hugging Face's ways of failing in one line."""
    import warnings

    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()  # a fresh head is what was asked for, not news
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load()
    except (OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"cannot load the model {name!r}: {reason[:300]}") from error
    finally:
        logging.set_verbosity(level)
