"""Tiny models of every family the library must work with, and batches for them.

`FAMILIES[name](seed, classes, dropout)` builds a random classifier of three narrow layers, large enough in its weights
that different texts get visibly different logits. Everything is deterministic and needs no network.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, wraps
from itertools import count, product
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import BPE, Unigram, WordLevel, WordPiece
from tokenizers.trainers import BpeTrainer, UnigramTrainer, WordPieceTrainer
from torch import nn
from transformers import PreTrainedTokenizerFast

from salience import Batch
from salience.models.mean_pooling import with_mean_pooling
from salience.models.sentence_modules import PooledClassifier
from salience.papers.attention_classifiers.classifier import AttentionClassifier, AttentionClassifierConfig

VOCABULARY = 104  # more than BERT's [UNK], which is 100
POSITIONS = 64
LAYERS = 3

# The ids of the special tokens. RoBERTa and MPNet count positions from the padding's id, which is 1 there.
BERT_SPECIALS = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
ROBERTA_SPECIALS = {"[CLS]": 0, "[PAD]": 1, "[SEP]": 2, "[UNK]": 3, "[MASK]": 4}
FIRST_WORD = 5
TWO_SEPARATORS = {"roberta", "mpnet", "roberta, mean", "mpnet, mean"}  # [CLS] a [SEP] [SEP] b [SEP], and padding id 1
# The tiny models that read token_type_ids.
WITH_TOKEN_TYPES = {"bert", "electra", "albert", "attention", "bert, mean"}


def specials(family: str = "bert") -> dict[str, int]:
    return ROBERTA_SPECIALS if family in TWO_SEPARATORS else BERT_SPECIALS


_diagonals: dict[tuple[str, str], count] = defaultdict(count)


def crossed(
    first: str, firsts: Iterable, second: str, seconds: Iterable, fits: Callable | None = None, every: int = 1
) -> Callable:
    """A decorator: the test runs for every pair of a value of one parameter and one of the other that `fits` admits.

    `make test` runs a diagonal of the product, in which each value is at least once; the rest is `whole`. Each test of
    a file takes the next diagonal, so that a file of many tests has every pair in one of them.

    Args:
        first, second: a parameter, or several as in "height, width", whose values are tuples then.
        every: for a file of many tests: the diagonal is of one in so many values, and of others in the next test.
    """
    rows, columns = list(firsts), list(seconds)

    def parametrized(test: Callable) -> Callable:
        shift = next(_diagonals[test.__module__, first + second])
        pairs = [
            (row, column) for row, column in product(range(len(rows)), range(len(columns)))
            if fits is None or fits(rows[row], columns[column])
        ]  # fmt: skip
        near = [pair for pair in pairs if (pair[0] - shift) % every == (pair[1] - shift // every) % every == 0]
        diagonal = sorted(near, key=lambda pair: (pair[1] - pair[0] - shift) // every % -(-len(columns) // every))
        chosen = {min((pair for pair in diagonal if pair[0] == row), key=diagonal.index) for row, _ in near}
        seen = {column for _, column in chosen}
        chosen |= {next(pair for pair in diagonal if pair[1] == column) for _, column in near if column not in seen}
        cases = []
        for row, column in pairs:
            values = (
                *(rows[row] if "," in first else [rows[row]]),
                *(columns[column] if "," in second else [columns[column]]),
            )
            cases.append(pytest.param(*values, marks=() if (row, column) in chosen else pytest.mark.whole))
        return pytest.mark.parametrize(f"{first}, {second}", cases)(test)

    return parametrized


def some(names, *quick) -> list:
    """All of the names; `make test` runs the quick ones."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.whole) for name in names]


# ------------------------------------------------------------------------------------------------------------- models


def built_once(build):
    """Later models are copies of the first, which is quicker than building them."""
    first: dict[str, nn.Module] = {}

    @wraps(build)
    def copied(*arguments, **settings) -> nn.Module:
        key = repr((arguments, settings))
        if key not in first:
            first[key] = build(*arguments, **settings)
        return copy.deepcopy(first[key])

    return copied


@built_once
def build(
    family: str,
    seed: int = 0,
    classes: int = 3,
    dropout: float = 0.0,
    vocabulary: int = VOCABULARY,
    positions: int = POSITIONS,
    layers: int = LAYERS,
    width: int = 16,
    spread: float = 0.5,
    **settings,
) -> nn.Module:
    """A random classifier, `spread` the standard deviation of its weights. The caller's random state is untouched."""
    ids = specials(family)
    common = {
        "vocab_size": vocabulary,
        "max_position_embeddings": positions,
        "initializer_range": spread,
        "pad_token_id": ids["[PAD]"],
        "bos_token_id": ids["[CLS]"],
        "eos_token_id": ids["[SEP]"],
        "num_labels": classes,
    }
    usual = {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "intermediate_size": 2 * width,
        "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout,
        "classifier_dropout": dropout,
    }
    if family == "bert":
        kind, special = "Bert", usual
    elif family == "roberta":
        kind, special = "Roberta", usual | {"type_vocab_size": 1}
    elif family == "distilbert":
        kind, special = (
            "DistilBert",
            {
                "dim": width,
                "n_layers": layers,
                "n_heads": 2,
                "hidden_dim": 2 * width,
                "dropout": dropout,
                "attention_dropout": dropout,
                "seq_classif_dropout": dropout,
            },
        )
    elif family == "electra":
        kind, special = "Electra", usual | {"embedding_size": width, "summary_last_dropout": dropout}
    elif family == "deberta-v2":
        kind, special = (
            "DebertaV2",
            usual
            | {
                "relative_attention": True,
                "pos_att_type": ["p2c", "c2p"],
                "max_relative_positions": -1,
                "position_buckets": 8,
                "norm_rel_ebd": "layer_norm",
                "share_att_key": True,
                "position_biased_input": False,
                "type_vocab_size": 0,
                "pooler_hidden_size": width,
                "pooler_dropout": dropout,
                "cls_dropout": dropout,
            },
        )
        special.pop("classifier_dropout")
    elif family == "mpnet":
        kind, special = "MPNet", usual
    elif family in ("modernbert", "modernbert-mean"):
        # Full, sliding, full: the window is narrower than the texts, so both kinds of mask are at work.
        kind, special = (
            "ModernBert",
            {
                "hidden_size": width,
                "num_hidden_layers": layers,
                "num_attention_heads": 2,
                "intermediate_size": 2 * width,
                "attention_dropout": dropout,
                "embedding_dropout": dropout,
                "mlp_dropout": dropout,
                "classifier_dropout": dropout,
                "classifier_pooling": "mean" if family == "modernbert-mean" else "cls",
                "layer_types": ["full_attention", "sliding_attention", "full_attention"][:layers],
                "local_attention": 6,
                "cls_token_id": ids["[CLS]"],
                "sep_token_id": ids["[SEP]"],
            },
        )
    elif family == "albert":
        kind, special = "Albert", usual | {"embedding_size": width // 2, "classifier_dropout_prob": dropout}
        special.pop("classifier_dropout")
    else:
        raise ValueError(f"no such family: {family}")

    config = getattr(transformers, f"{kind}Config")(**common, **(special | settings))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = getattr(transformers, f"{kind}ForSequenceClassification")(config)
        spread_out(model, spread)
    for module in model.modules():
        if type(module).__name__ == "ModernBertAttention":
            module.register_forward_pre_hook(finite_masks, with_kwargs=True)
    return model.eval()


def finite_masks(_, args: tuple, settings: dict) -> tuple[tuple, dict]:
    """For transformers 5.0, whose ModernBERT takes the softmax in float32: the smallest float64 is -inf there, and NaN
    what padding attends to. The models are tiny and tested in float64; users' are not."""
    least = torch.finfo(torch.float32).min
    for name, mask in settings.items():
        if name.endswith("mask") and torch.is_tensor(mask) and mask.dtype == torch.float64:
            settings = settings | {name: mask.clamp(min=least)}
    return args, settings


@torch.no_grad()
def spread_out(model: nn.Module, spread: float) -> None:
    """Every weight, bias and embedding a normal draw: no zero bias and no unit norm may hide a fault."""
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1 and "norm" in name.lower() and name.endswith("weight"):
            parameter.copy_(1 + 0.1 * torch.randn_like(parameter))
        elif parameter.ndim == 1:
            parameter.copy_(0.1 * torch.randn_like(parameter))
        else:
            parameter.copy_(spread * torch.randn_like(parameter))


@built_once
def attention_classifier(
    seed: int = 0,
    classes: int = 3,
    dropout: float = 0.0,
    vocabulary: int = VOCABULARY,
    positions: int = POSITIONS,
    layers: int = LAYERS,
    spread: float = 0.5,
    **settings,
) -> nn.Module:
    """One of our own models: additive attention, unless `settings` say otherwise, over the words of a tiny BERT."""
    encoder = build("bert", seed, classes, dropout, vocabulary, positions, layers)
    config = AttentionClassifierConfig(
        encoder="transformer",
        encoder_config=encoder.config,
        special_token_ids=[number for name, number in specials().items() if name != "[UNK]"],
        dropout=dropout,
        num_labels=classes,
        **({"pooling": "additive"} | settings),
    )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = AttentionClassifier(config)
        spread_out(model, spread)
    return model.eval()


@built_once
def with_mean(family: str, seed: int = 0, *arguments, **settings) -> nn.Module:
    """A random classifier with mean pooling: its encoder has one more layer, which belongs to the head."""
    model = build(family, seed, *arguments, **settings)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return with_mean_pooling(model)


@built_once
def pooled(family: str, pooling: str, *arguments, **settings) -> nn.Module:
    """A random classifier that is saved as modules: an encoder, a pooling over its tokens, and a linear map."""
    encoder = build(family, *arguments, **settings).base_model
    encoder.config.sentence_pooling = pooling
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return PooledClassifier(encoder).eval()


FAMILIES = {
    name: partial(build, name)
    for name in (
        "bert",
        "roberta",
        "distilbert",
        "electra",
        "deberta-v2",
        "mpnet",
        "modernbert",
        "modernbert-mean",
        "albert",
    )
}
MODELS = FAMILIES | {
    "attention": attention_classifier,  # one of our own
    "bert, mean": partial(with_mean, "bert"),
    "roberta, mean": partial(with_mean, "roberta"),
    "mpnet, mean": partial(pooled, "mpnet", "mean"),
    "distilbert, first": partial(pooled, "distilbert", "first"),
}

LAYER_CLASSES = {
    "AlbertLayer",
    "BertLayer",
    "DebertaV2Layer",
    "ElectraLayer",
    "ModernBertEncoderLayer",
    "MPNetLayer",
    "RobertaLayer",
    "TransformerBlock",
}


def layer_modules(model: nn.Module) -> list[nn.Module]:
    """The encoder's layers, each module once (ALBERT has one, called again and again); a pooling layer is none."""
    layers = [module for module in model.modules() if type(module).__name__ in LAYER_CLASSES]
    return layers[:-1] if hasattr(model.config, "pooling_layer") else layers


# ------------------------------------------------------------------------------------------------------------ batches


def layout(lengths: list[int], pair_lengths: list[int | None] | None = None, family: str = "bert") -> list[list[int]]:
    """The segment of every token, row by row: special tokens 0, the text 1, the second text 2.

    A row whose pair length is None is a single text.
    """
    between = [0, 0] if family in TWO_SEPARATORS else [0]
    rows = []
    for number, length in enumerate(lengths):
        second = pair_lengths[number] if pair_lengths is not None else None
        row = [0] + [1] * length
        row += [0] if second is None else [*between, *[2] * second, 0]
        rows.append(row)
    return rows


def filled(rows: list[list[int]], words: list[list[int]], family: str, extra_padding: int, labels) -> Batch:
    """The batch whose special tokens follow `rows` and whose words are taken from `words`, place by place."""
    ids = specials(family)
    width = max(map(len, rows)) + extra_padding
    lines: list[tuple[list[int], list[int], list[int]]] = []
    for row, own in zip(rows, words, strict=True):
        line = [word if part else ids["[SEP]"] for word, part in zip(own, row, strict=True)]
        padding = [0] * (width - len(row))
        lines.append((
            [ids["[CLS]"], *line[1:], *[ids["[PAD]"]] * len(padding)], [1] * len(row) + padding, row + padding
        ))  # fmt: skip
    input_ids, attention_mask, segment = (torch.tensor(part) for part in zip(*lines, strict=True))
    types = (segment == 2).cumsum(1).clamp(max=1) * attention_mask  # as BERT's tokenizer sets them
    return Batch(input_ids, attention_mask, segment, labels, types)


def batch(
    lengths: list[int],
    pair_lengths: list[int | None] | None = None,
    extra_padding: int = 0,
    seed: int = 0,
    classes: int = 3,
    family: str = "bert",
) -> Batch:
    """Random words in texts of the given lengths. More padding changes nothing else."""
    generator = torch.Generator().manual_seed(seed)
    rows = layout(lengths, pair_lengths, family)
    words = [torch.randint(FIRST_WORD, VOCABULARY, (len(row),), generator=generator).tolist() for row in rows]
    labels = torch.randint(0, classes, (len(rows),), generator=generator)
    return filled(rows, words, family, extra_padding, labels)


def distinct_batch(
    lengths: list[int], pair_lengths: list[int | None] | None = None, extra_padding: int = 0, family: str = "bert"
) -> Batch:
    """Every word another id, 1000 * (row + 1) + place: where a token came from can be read off it. For rules only."""
    rows = layout(lengths, pair_lengths, family)
    words = [[1000 * (number + 1) + place for place in range(len(row))] for number, row in enumerate(rows)]
    return filled(rows, words, family, extra_padding, torch.arange(len(rows)) % 3)


def padded(own: Batch, columns: int, family: str = "bert") -> Batch:
    """The same texts, each with `columns` more padding."""

    def wider(values: torch.Tensor, fill: int) -> torch.Tensor:
        return torch.cat([values, values.new_full((len(values), columns), fill)], dim=1)

    fills = {"input_ids": specials(family)["[PAD]"]}
    parts = {name: part for name, part in vars(own).items() if part is not None and name != "labels"}
    return replace(own, **{name: wider(part, fills.get(name, 0)) for name, part in parts.items()})


def rearranged(own: Batch, order: torch.Tensor) -> Batch:
    """The same texts in another order."""
    return Batch(**{name: part if part is None else part[order] for name, part in vars(own).items()})


def alone(own: Batch, row: int) -> Batch:
    """One text without its padding and label."""
    length = int(own.attention_mask[row].sum())
    parts = {name: part for name, part in vars(own).items() if part is not None and name != "labels"}
    return Batch(**{name: part[row : row + 1, :length] for name, part in parts.items()})


def same_parts(own: Batch, other: Batch) -> bool:
    """Whether two batches have equal tensors, and nothing under the same names."""
    parts = [(part, vars(other)[name]) for name, part in vars(own).items()]
    return all(theirs is None if part is None else torch.equal(part, theirs) for part, theirs in parts)


# -------------------------------------------------------------------------------------------- tokenizers, saved models


def tiny_tokenizer(texts: list[str] | None = None, family: str = "bert", longest: int = POSITIONS):
    """A WordPiece tokenizer: the special tokens, every word of `texts`, and single characters for all others."""
    ids = specials(family)
    normalizer = normalizers.BertNormalizer(lowercase=True)
    splitter = pre_tokenizers.BertPreTokenizer()
    words = {
        word for text in texts or [] for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text or ""))
    }
    letters = {character for word in words for character in word} | set("abcdefghijklmnopqrstuvwxyz0123456789.,!?'-")
    pieces = sorted(letters) + sorted(f"##{letter}" for letter in letters) + sorted(words - letters)
    vocabulary = dict(ids) | {piece: FIRST_WORD + place for place, piece in enumerate(pieces)}

    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = WordPieceDecoder()
    second = "[SEP]:1 $B:1 [SEP]:1" if family in TWO_SEPARATORS else "$B:1 [SEP]:1"
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=f"[CLS] $A [SEP] {second}",
        special_tokens=[(name, ids[name]) for name in ("[CLS]", "[SEP]")],
    )
    names = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        mask_token="[MASK]",
        model_max_length=longest,
        padding_side="right",
        truncation_side="right",
        model_input_names=[name for name in names if name != "token_type_ids" or family in WITH_TOKEN_TYPES],
    )


# What divides a text before its pieces are found, as of the models named, and how these are learnt.
_SPLIT = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"  # a sign takes the line ends behind it
_BYTES = pre_tokenizers.ByteLevel
TRAINED: dict[str, Callable] = {
    "bytes": lambda: (BPE(), _BYTES(add_prefix_space=False)),  # RoBERTa, ModernBERT
    "bytes, lines": lambda: (BPE(), pre_tokenizers.Sequence(  # Llama 3, Qwen
        [pre_tokenizers.Split(Regex(_SPLIT), "isolated"), _BYTES(add_prefix_space=False, use_regex=False)])),
    "bytes, prefix": lambda: (BPE(), _BYTES(add_prefix_space=True)),  # BART, Longformer
    "WordPiece": lambda: (WordPiece(unk_token="[UNK]"), pre_tokenizers.BertPreTokenizer()),
    "Unigram": lambda: (Unigram(), pre_tokenizers.Metaspace()),  # XLM-R, multilingual-e5
    "BPE": lambda: (BPE(unk_token="[UNK]", fuse_unk=True), pre_tokenizers.Metaspace(split=False)),  # Llama 2
}  # fmt: skip


def trained_tokenizer(kind: str, texts: list[str], pieces: int = 400) -> PreTrainedTokenizerFast:
    """A tokenizer of one of `TRAINED`, whose pieces, at most so many, are learnt from texts."""
    model, splitter = TRAINED[kind]()
    unigram = partial(UnigramTrainer, unk_token="[UNK]")
    trainers = {"BPE": BpeTrainer, "WordPiece": WordPieceTrainer, "Unigram": unigram}
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = splitter
    alphabet = _BYTES.alphabet() if "bytes" in kind else []
    trainer = trainers[type(model).__name__](
        vocab_size=pieces, special_tokens=list(BERT_SPECIALS), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return with_special_tokens(tokenizer)


def unigram_tokenizer(pieces: list[tuple[str, float]]) -> PreTrainedTokenizerFast:
    """A tokenizer as XLM-R's with these pieces and their log probabilities, of which the first one is [UNK]."""
    tokenizer = Tokenizer(Unigram([*((name, 0.0) for name in BERT_SPECIALS if name != "[UNK]"), *pieces], 4))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return with_special_tokens(tokenizer)


def with_special_tokens(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    ids = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=POSITIONS, unk_token="[UNK]", sep_token="[SEP]",
        pad_token="[PAD]", cls_token="[CLS]", mask_token="[MASK]",
    )  # fmt: skip


def save_tiny_model(
    folder: str | Path,
    texts: list[str],
    family: str = "bert",
    classes: int = 2,
    seed: int = 0,
    longest: int = POSITIONS,
    dropout: float = 0.0,
) -> Path:
    """A folder that `from_pretrained` loads: config, safetensors and a tokenizer that knows the words of `texts`."""
    tokenizer = tiny_tokenizer(texts, family, longest)
    model = MODELS[family](
        seed,
        classes,
        dropout,
        vocabulary=len(tokenizer),
        positions=longest + 2,  # RoBERTa and MPNet start counting after the padding's id
        layers=2,
        spread=0.1,
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)


USUAL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
OWN_TABLES = {"max_position_embeddings": 2 * POSITIONS}
# Models that transformers classifies with, unlike those of `FAMILIES`: without an embedding block of their own, with a
# decoder, with attention of another kind, or none. The table of XLM's words is its embedding block.
OTHERS = {
    "Bart": {
        "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 32,
        "decoder_attention_heads": 2, "decoder_ffn_dim": 32, **OWN_TABLES,
    },
    "ConvBert": {**USUAL, "embedding_size": 16, **OWN_TABLES},
    "CTRL": {"n_embd": 16, "n_layer": 2, "n_head": 2, "dff": 32, "n_positions": 2 * POSITIONS},
    "EuroBert": {**USUAL, "mask_token_id": 4},
    "Falcon": {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2},
    "FNet": {name: value for name, value in USUAL.items() if "heads" not in name} | OWN_TABLES,
    "GPT2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 2 * POSITIONS},
    "Longformer": {**USUAL, "attention_window": 8, **OWN_TABLES},
    "Mistral": {**USUAL, "num_key_value_heads": 2},
    "Qwen2": {**USUAL, "num_key_value_heads": 2},
    "T5": {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0},
    "XLM": {"emb_dim": 16, "n_layers": 2, "n_heads": 2, **OWN_TABLES},
}  # fmt: skip


@built_once
def other(kind: str, seed: int = 0, classes: int = 3, vocabulary: int = VOCABULARY, spread: float = 0.5) -> nn.Module:
    """A random classifier of `OTHERS`, for texts as those of the family "bert"."""
    ids = specials()
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=vocabulary, num_labels=classes, pad_token_id=ids["[PAD]"], bos_token_id=ids["[CLS]"],
        eos_token_id=ids["[SEP]"], sep_token_id=ids["[SEP]"], **OTHERS[kind],
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = getattr(transformers, f"{kind}ForSequenceClassification")(config)
        spread_out(model, spread)
    return model.eval()


def save_other(folder: str | Path, texts: list[str], kind: str, classes: int = 2, spread: float = 0.1) -> Path:
    """As `save_tiny_model`, of `OTHERS`."""
    tokenizer = tiny_tokenizer(texts)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    other(kind, classes=classes, vocabulary=len(tokenizer), spread=spread).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)


DECODERS = {
    "GPT2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": POSITIONS},
    "GPTNeoX": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2},
    "Llama": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2},
    "OPT": {
        "hidden_size": 16, "word_embed_proj_dim": 16, "ffn_dim": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "max_position_embeddings": POSITIONS,
    },
}  # fmt: skip


def save_tiny_decoder(
    folder: str | Path, texts: list[str], kind: str, of_tokenizer: str | None, of_config: str | None, classes: int = 2
) -> Path:
    """A random classifier of `DECODERS` that reads the last token of a text, and finds it by the padding token.

    `of_tokenizer` and `of_config` are the padding tokens that its tokenizer and its configuration name: "<end>", which
    ends texts and stands for unknown words, "<fill>", or none.
    """
    words = sorted({word for text in texts for word in text.split()})
    numbers = {word: number for number, word in enumerate(["the-first", "<end>", "<fill>", *words])}
    whole = Tokenizer(WordLevel(numbers, unk_token="<end>"))
    whole.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=whole, unk_token="<end>", eos_token="<end>", pad_token=of_tokenizer,
        model_max_length=POSITIONS, model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip
    padding = None if of_config is None else numbers[of_config]
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(numbers), num_labels=classes, bos_token_id=1, eos_token_id=1, pad_token_id=padding,
        initializer_range=0.5, **DECODERS[kind],
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        getattr(transformers, f"{kind}ForSequenceClassification")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)
