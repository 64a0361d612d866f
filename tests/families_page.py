"""docs/reference/families.md: what works with a tiny model of each type. `python tests/families_page.py` writes it."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoModelForSequenceClassification

import families
import salience
from documents import ROOT
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.cli.main import main
from salience.data.batching import padded
from salience.errors import InputError
from salience.explainers import EXPLAINERS
from salience.hooks.hooks import forward
from salience.hooks.stages import stages
from salience.mixing import Mix, forward_mixed
from salience.mixing.forwarding import check_exchange
from salience.training.recipe import Recipe
from salience.training.run import train

FILE = ROOT / "docs" / "reference" / "families.md"
WIDTH, POSITIONS = 32, 128
# What a configuration has under these names is made small.
TINY = (
    dict.fromkeys(
        ("hidden_size", "d_model", "dim", "n_embd", "emb_dim", "embedding_size", "input_embedding_size",
         "word_embed_proj_dim", "pooler_hidden_size"), WIDTH)
    | dict.fromkeys(
        ("num_hidden_layers", "n_layers", "n_layer", "num_layers", "encoder_layers", "decoder_layers",
         "num_decoder_layers"), 2)
    | dict.fromkeys(
        ("num_attention_heads", "n_heads", "n_head", "num_heads", "encoder_attention_heads",
         "decoder_attention_heads"), 4)
    | dict.fromkeys(
        ("intermediate_size", "hidden_dim", "n_inner", "d_inner", "d_ff", "ffn_dim", "encoder_ffn_dim",
         "decoder_ffn_dim", "ffn_hidden_size"), 64)
    | dict.fromkeys(("d_kv", "head_dim", "d_head"), 8)
    | dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"), POSITIONS)
    | {"num_key_value_heads": 2, "decoder_start_token_id": 2}
)  # fmt: skip
# The types, with what they need beside it; None for what they must not be given.
PLAIN = """
    albert bart bert bloom camembert convbert ctrl deberta deberta-v2 distilbert electra ernie eurobert fnet gemma gpt2
    gpt_neox gte jina_embeddings_v3 layoutlm llama mistral mobilebert modernbert mpnet mpt mra nomic_bert nystromformer
    opt phi qwen2 qwen3 rembert roberta roformer squeezebert xlm xlm-roberta yoso"""
TYPES: dict[str, dict[str, Any]] = {kind: {} for kind in PLAIN.split()} | {
    "big_bird": {"block_size": 4, "num_random_blocks": 1},
    "falcon": {"head_dim": None},
    "funnel": {"block_sizes": [1, 1], "num_hidden_layers": None},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "gptj": {"rotary_dim": 4},
    "longformer": {"attention_window": 8},
    "t5": {"decoder_start_token_id": 0},
    "xlnet": {"max_position_embeddings": None},
}  # fmt: skip
# Why the other types with a head for texts are not on the page.
LEFT_OUT = {
    "of the parts of another type": """
        arcee axk1 axk2 bigbird_pegasus biogpt cohere_compass_text data2vec-text deepseek_v2 deepseek_v3 diffllama doge
        esm esmc exaone4 flaubert gemma2 gemma3_text glm glm4 gpt-sw3 gpt_bigcode helium hunyuan_v1_dense ibert mbart
        megatron-bert modernbert-decoder minicpm3 ministral ministral3 mistral4 mt5 mvp nemotron olmo olmo2 olmo3
        openai-gpt persimmon phi3 plbart roberta-prelayernorm roc_bert seed_oss smollm3 stablelm starcoder2 t5gemma
        t5gemma2 ultrabert umt5 xlm-roberta-xl xmod""",
    "of experts or states that no tiny model has": """
        gpt_oss hunyuan_v1_moe jamba jetmoe minimax mixtral phimoe qwen2_moe qwen3_5_text qwen3_moe qwen3_next zamba
        zamba2""",
    "of images, pages, tables or entities beside the text": """
        gemma3 layoutlmv2 layoutlmv3 lilt luke markuplm modernvbert qwen3_5 tapas ultravbert""",
    "without a tokenizer that tells the characters of a token": "canine perceiver",
    "of one length in training, the product of its axial positions": "reformer",
}  # fmt: skip
ROBERTA = ("roberta", "camembert", "xlm-roberta", "longformer", "mpnet", "jina_embeddings_v3")  # by their tokenizers
COMMANDS = {
    "train": "train",
    "predict": "predict",
    "windows": "`--long windows`",
    "pairs": "pairs",
    "export": "export",
}
# Of an attention classifier alone is `pooling-attention`.
EXPLAINED = [name for name in EXPLAINERS if name != "pooling-attention"]
# One of each group that meets at the same level with the same guide.
METHODS = ("wordmixup", "embedmix", "dropoutmixup", "tmix", "mixupencoding", "senmixup", "ssmix", "randomunk",
           "attentionmix", "dropmix-g")  # fmt: skip
WORKS = ("train", "predict", "occlusion")  # with every type
EVERY_WORD = [*WORDS.values(), " ".join(FILLER)]
PREFIX = re.compile(r"^(cannot explain \S+ by \S+|\w+ cannot be used with this model): ")
NAMES = re.compile(r"\b[A-Z]\w+(ForSequenceClassification|Model) (?=has|does|reads)")

PAGE = """# Types of models

What works with each type of model of transformers that classifies texts, tried with a tiny random model of each:
`make families` writes this page, and `make test-all` holds it. It was made with transformers {version}.

A cell is "works", or the number of the line by which the command refuses, before anything is trained. "Works" is more
than an exit code of 0. A text has the same probabilities and the same explanation alone and together with others, and
the probabilities are those that transformers computes. Two texts that are exchanged at a level of the model have each
other's result. An export answers as its run does.

## Commands

{commands}

## Explainers

`pooling-attention` is of [attention classifiers](../guides/attention.md) alone.

{explainers}

## Mixing methods

{methods}

The other methods of [the list](../methods/README.md) mix at the level of one of these, by the same guide.

## What is refused

| number | line |
| --- | --- |
{refusals}

## Types that are not on this page

| models | types |
| --- | --- |
{left_out}
"""


class Fault(AssertionError):
    """What no model may do: an internal fault, or a result that depends on what it should not."""


def save(folder: Path, kind: str, **changes: Any) -> Path:
    """A random classifier of a type, with a tokenizer as such models have."""
    family = "roberta" if kind in ROBERTA else "bert"
    tokenizer, ids = families.tiny_tokenizer(EVERY_WORD, family, POSITIONS // 2), families.specials(family)
    default = transformers.CONFIG_MAPPING[kind]()
    settings = {name: value for name, value in TINY.items() if getattr(default, name, None) is not None}
    settings |= {
        "vocab_size": len(tokenizer), "num_labels": 3, "pad_token_id": ids["[PAD]"], "bos_token_id": ids["[CLS]"],
        "eos_token_id": ids["[SEP]"], "sep_token_id": ids["[SEP]"],
    } | TYPES.get(kind, {}) | changes  # fmt: skip
    config = type(default)(**{name: value for name, value in settings.items() if value is not None})
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model = AutoModelForSequenceClassification.from_config(config)
        families.spread_out(model, 0.2)
    if getattr(config, "type_vocab_size", None) in (0, 1):  # tokenizers of such models give no types
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def same(what: str, found: Any, expected: Any, tolerance: float = 1e-4) -> None:
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    worst = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-9)
    if not worst <= tolerance:
        raise Fault(f"{what}: another result, by {worst:.2g} of the largest")


class Row:
    """What works with one type, tried in a folder; `cells` has an empty text, or the line that refuses."""

    def __init__(self, kind: str, folder: Path):
        self.folder, self.model, self.cells = folder, save(folder / "tiny", kind), dict[str, str]()
        rows, tests = labelled_rows(24), labelled_rows(8, seed=1)
        self.texts = [text for text, _ in tests]
        self.data, self.test = write_csv(folder / "train.csv", rows), write_csv(folder / "test.csv", tests)
        self.long = write_csv(folder / "long.csv", [(" ".join([text] * 4), label) for text, label in rows])
        pairs = [(text, other, label) for (text, label), (other, _) in zip(rows, rows[::-1], strict=True)]
        self.pairs = write_csv(folder / "pairs.csv", pairs, ("text", "second", "label"))

    def fill(self) -> None:
        options = ("--model", self.model, "--test", self.test, "--steps", 2, "--estimate", "none", "--device", "cpu",
                   "--output", self.folder / "run")  # fmt: skip
        work: dict[str, Callable[[], str]] = {"train": lambda: self.command("train", self.data, *options)}
        work["predict"] = lambda: self.predicted("run", self.test, self.texts)
        work |= {"windows": self.windows, "pairs": self.of_pairs, "export": self.exported}
        work |= {name: lambda name=name: self.explained(name) for name in EXPLAINED}
        work |= {name: lambda name=name: self.train(name, self.data, method=name) for name in METHODS}
        work["levels"] = self.levels
        for name, each in work.items():
            try:
                self.cells[name] = each()
            except Exception as error:
                raise Fault(f"{self.model.parent.name} {name}: {type(error).__name__}: {error}") from error

    def command(self, *arguments: object) -> str:
        """The line by which a command refuses; empty if it works. A `Fault` if it ends otherwise."""
        out, error = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(error):
            code = main([str(argument) for argument in arguments])
        line = (error.getvalue().strip().splitlines() or [""])[-1]
        if code == 0:
            return ""
        if code != 2 or not line.startswith("salience: "):
            raise Fault(f"exit {code}: {line}")
        return self.property_in(line.removeprefix("salience: "))

    def property_in(self, line: str) -> str:
        """What a refusal says of the model, without the names of files and classes."""
        return NAMES.sub("the model ", PREFIX.sub("", line.replace(f"{self.folder}/", "")))

    def train(self, name: str, data: Path, **settings: Any) -> str:
        """As the command, without its report."""
        recipe = Recipe(str(data), model=str(self.model), steps=2, batch_size=8, device="cpu", **settings)
        try:
            train(recipe, self.folder / name, note=lambda line: None, estimating=False)
        except InputError as error:
            return self.property_in(str(error))
        return ""

    def loaded(self, run: str) -> salience.TextClassifier:
        return salience.load(self.folder / run, device="cpu", precision="fp32")

    def predicted(self, run: str, file: Path, texts: Sequence) -> str:
        output = self.folder / f"{run}.jsonl"
        if line := self.command("predict", self.folder / run, file, "--output", output):
            return line
        classifier = self.loaded(run)
        together = classifier.predict_proba(texts)
        same("alone", together, np.concatenate([classifier.predict_proba([text]) for text in texts]))
        if classifier.long == "head":
            for text, found in zip(texts, together, strict=True):
                given = text if isinstance(text, tuple) else (text,)
                inputs = classifier.tokenizer(
                    *given, truncation=True, max_length=classifier.max_length, return_tensors="pt"
                )
                with torch.no_grad():
                    same("by transformers", found, classifier.model(**inputs).logits.softmax(1)[0])
        return ""

    def windows(self) -> str:
        line = self.train("windows", self.long, long="windows", max_length=12)
        return line or self.predicted("windows", self.long, [" ".join(self.texts[:3]), *self.texts[:4]])

    def of_pairs(self) -> str:
        line = self.train("pairs", self.pairs, text_pair="second")
        return line or self.predicted("pairs", self.pairs, list(zip(self.texts, self.texts[::-1], strict=True)))

    def exported(self) -> str:
        if line := self.command("export", self.folder / "run", "--output", self.folder / "onnx"):
            return line
        answers = salience.load(self.folder / "onnx", device="cpu").predict_proba(self.texts)
        same("exported", answers, self.loaded("run").predict_proba(self.texts), 1e-3)
        return ""

    def explained(self, name: str) -> str:
        output, texts = self.folder / f"{name}.jsonl", self.texts[:3]
        if line := self.command("explain", self.folder / "run", self.test, "--explainer", name, "--output", output):
            return line
        if name != "random":
            classifier = self.loaded("run")
            for text, found in zip(texts, salience.explain(classifier, texts, [name]), strict=True):
                (own,) = salience.explain(classifier, [text], [name])
                same("alone", found.scores[name], own.scores[name], 1e-3)
        return ""

    def levels(self) -> str:
        """At each level, all of one's own is the plain text, and nothing of it is the partner."""
        classifier, partner = self.loaded("run"), torch.tensor([1, 0])
        model, encoded = classifier.model, classifier.encode(self.texts)
        try:
            levels = list(stages(model))
        except ValueError as error:
            return self.property_in(str(error))
        batch, refused = padded(encoded, np.array([0, 1]), model.config.pad_token_id), []
        with torch.no_grad():
            plain = forward(model, batch)
            for level in levels:
                try:
                    check_exchange(model, batch, level)
                except ValueError as error:
                    refused.append((level, error))
                    continue
                for keep, expected in ((1.0, plain), (0.0, plain[partner])):
                    mix = Mix(level, partner, torch.tensor(keep), torch.full((2,), keep))
                    same(f"level {level}, keep {keep:g}", forward_mixed(model, batch, mix), expected)
        return f"not at {', '.join(str(level) for level, _ in refused)}: {refused[0][1]}" if refused else ""


def row_of(kind: str) -> dict[str, str]:
    """The cells of a type: empty where it works, or the line that refuses."""
    with TemporaryDirectory() as folder:
        row = Row(kind, Path(folder))
        row.fill()
    if lines := [row.cells[name] for name in WORKS if row.cells[name]]:
        raise Fault(f"{kind}: {lines[0]}")
    return row.cells


def row_on_page(kind: str, page: str) -> dict[str, str]:
    """The cells of a type on the page."""
    cells = " | ".join(re.findall(rf"^\| {re.escape(kind)} \| (.+) \|$", page, re.MULTILINE)).split(" | ")
    lines = dict(re.findall(r"^\| (\d+) \| (.+) \|$", page, re.MULTILINE)) | {"works": ""}
    return dict(zip([*COMMANDS, *EXPLAINED, *METHODS, "levels"], [lines[cell] for cell in cells], strict=True))


def table(rows: Mapping[str, Mapping[str, str]], columns: Mapping[str, str], numbers: Mapping[str, int]) -> str:
    lines = [["type", *columns.values()], ["---"] * (len(columns) + 1)]
    for kind, cells in rows.items():
        lines.append([kind, *(str(numbers[cells[name]]) if cells[name] else "works" for name in columns)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def families_page(rows: Mapping[str, Mapping[str, str]], version: str = transformers.__version__) -> str:
    """The page of the cells of each type, by a version of transformers."""
    lines = dict.fromkeys(line for cells in rows.values() for line in cells.values() if line)
    numbers = {line: number for number, line in enumerate(lines, 1)}
    return PAGE.format(
        version=version,
        commands=table(rows, COMMANDS, numbers),
        explainers=table(rows, {name: f"`{name}`" for name in EXPLAINED}, numbers),
        methods=table(rows, {name: f"`{name}`" for name in METHODS} | {"levels": "all levels"}, numbers),
        refusals="\n".join(f"| {number} | {line} |" for line, number in numbers.items()),
        left_out="\n".join(f"| {reason} | {', '.join(names.split())} |" for reason, names in LEFT_OUT.items()),
    )


if __name__ == "__main__":
    os.environ |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "TRANSFORMERS_VERBOSITY": "error"}
    found = {}
    for kind in sorted(TYPES):
        print(kind, file=sys.stderr)
        found[kind] = row_of(kind)
    FILE.write_text(families_page(found), encoding="utf-8")
