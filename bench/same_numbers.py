"""Whether two versions of the code give the same numbers, to the last bit, on one machine.

    python bench/same_numbers.py record before.json --keep kept    # in the tree of the one version
    python bench/same_numbers.py record after.json                 # in the tree of the other
    python bench/same_numbers.py compare before.json after.json
    python bench/same_numbers.py reread kept before-kept.json      # in either: what it makes of the kept runs

Everything goes through the command line and names of `salience.__all__`, so that code may move between the two. Models
are tiny and trained for a few steps. Two kinds of things are recorded. Numbers: the SHA-256 of weights and outputs,
metrics.json, explanations, faithfulness, comparisons, findings. What is printed, without times and paths, and the help
of every command; it may change on purpose, so `compare` shows it apart, and only numbers decide its exit code.
`--parts` records some parts alone. A command that fails is recorded as its message, and the others go on.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import difflib
import hashlib
import html
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SETTINGS = {"OMP_NUM_THREADS": "1", "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "HF_HUB_OFFLINE": "1"}
os.environ.update(SETTINGS)  # before torch is imported

ROOT = Path(__file__).resolve().parents[1]
# Recipe fields of retired features, which are left out wherever they stand.
RETIRED = {
    "plain_share", "auto_budget", "layer_decay", "average", "r_drop", "contrastive_memory", "label_noise",
}  # fmt: skip
PASSING = {"seconds", "versions", "machine", "checksums", "threads", "salience"}  # what differs from day to day
COMMANDS = [
    "", "train", "predict", "explain", "faithfulness", "compare", "audit", "suggest", "describe", "methods", "report",
    "export", "push", "demo", "demo-data", "reproduce", "analyse", "analyse attention", "analyse pos",
    "analyse channels", "analyse embeddings",
]  # fmt: skip
METHODS = [
    "wordmixup", "embedmix", "tmix", "mixupencoding", "dropoutmixup", "attentionmix", "ssmix:window=0.3",
    "ssmix-nosaliency", "ssmix-nospan", "randomunk", "dropmix-u", "dropmix-c", "dropmix-w",
]  # fmt: skip
TABLES = [
    "uaftc-table2", "uaftc-figures", "uaftc-synthetic", "ssmix-table2", "attentionmix-tables", "attentionmix-sweep",
    "attentionmix-figures", "dropmix-table3", "dropmix-sparse", "dropmix-table5", "vat", "vat-controls",
]  # fmt: skip
BASE = {"model": "tiny", "steps": 4, "batch_size": 8, "max_length": 24, "evaluations": 2, "precision": "fp32",
        "device": "cpu", "estimate": "none", "learning_rate": 0.001}  # fmt: skip
WORDS = {"model": "attention:dot", "model_options": {"encoder": "embeddings", "width": 8}, "method": "plain",
         "steps": 12}  # fmt: skip
# Name -> the training file, the file of the test rows, what is different from `BASE`.
RUNS: dict[str, tuple[str, str, dict]] = {
    "plain": ("train.csv", "test.csv", {"method": "plain"}),
    "senmixup": ("train.csv", "test.csv", {"model": "minilm", "estimate": "folds:2"}),  # the default recipe
    "ssmix": ("train.csv", "test.csv", {"method": "ssmix"}),
    "dropmix-g": ("train.csv", "test.csv", {"method": "dropmix-g"}),
    "several": ("several.csv", "several_test.csv", {"label_separator": "|", "method": "ssmix", "estimate": "folds:2"}),
    "windows": ("long.csv", "long_test.csv", {"long": "windows", "max_length": 16, "method": "ssmix"}),
    "validation": ("train.csv", "test.csv", {"validation": "validation.csv", "method": "embedmix", "evaluations": 4}),
    "several-lists": ("several.jsonl", "several_test.jsonl", {"method": "plain", "validation_share": 0.25}),
    "head-tail": ("long.csv", "long_test.csv", {"long": "head-tail", "max_length": 16, "method": "plain"}),
    "pairs": ("pairs.csv", "pairs_test.csv", {"text": "text", "text_pair": "second", "label": "category",
                                              "method": "ssmix", "max_length": 32}),
    "share": ("train.csv", "test.csv", {"validation_share": 0.25, "method": "plain", "class_weights": "auto",
                                        "label_smoothing": 0.1, "accumulation": 2, "dropout": 0.2}),
    "estimated": ("grouped.csv", "test.csv", {"group": "author", "estimate": "folds:3", "target_precision": 0.6,
                                              "method": "plain", "steps": 12}),
    "several-precise": ("several.csv", "several_test.csv", {"label_separator": "|", "method": "plain",
                                                            "estimate": "folds:2", "target_precision": 0.6}),
    "mean": ("train.csv", "test.csv", {"pooling": "mean", "method": "senmixup:alpha=0.5", "estimate": "holdout",
                                       "label_descriptions": "labels.yaml", "seed": 3}),
    "drawn": ("train.csv", "test.csv", {"size": 40, "method": "ssmix", "clean": 0.3, "trained_share": 0.5,
                                        "precision": "bf16", "seed": 1}),
    "attention-dot": ("train.csv", "test.csv", WORDS | {"procedure_options": {"alignment": 0.1}}),
    "attention-additive": ("train.csv", "test.csv", WORDS | {
        "model": "attention:additive", "model_options": {"encoder": "lstm", "width": 8}, "method": "embedmix"}),
    "lstm-att": ("train.csv", "test.csv", WORDS | {"model": "lstm-att", "model_options": {"width": 8}}),
    "lstm-vat": ("train.csv", "test.csv", WORDS | {
        "model": "lstm-vat", "model_options": {"width": 8}, "procedure_options": {"iterations": 1}}),
    "whole": ("train.csv", "test.csv", {"validation_share": 0.25, "method": "ssmix", "evaluations": 12, "patience": 12,
                                        "steps": 36, "accumulation": 2}),
    **{f"method {name}": ("train.csv", "test.csv", {"method": name}) for name in METHODS},
}  # fmt: skip
KEPT = ["plain", "senmixup", "several", "windows", "pairs", "estimated", "attention-dot", "lstm-vat"]
PROGRESS = re.compile(r"\d+%\||it/s|\bWarning\b|warnings\.warn")
TIME = re.compile(r"\b\d+(?:[.,]\d+)?(?: ?(?:ms|s|min|h)\b| (?:seconds?|minutes?|hours?)\b)(?: \d+ ?(?:s|min)\b)?")


# ------------------------------------------------------------------------------------------------------- what is read


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def lasting(value: object) -> object:
    """A value without retired fields and without what differs from day to day."""
    if isinstance(value, dict):
        return {
            str(name): lasting(each) for name, each in value.items()
            if name not in RETIRED | PASSING and not str(name).startswith("unlabelled")
        }  # fmt: skip
    return [lasting(each) for each in value] if isinstance(value, list | tuple) else value


def read(file: Path) -> object:
    """What a file says. Of many rows the digest, and the first one, which shows in which way others differ."""
    if file.suffix == ".json":
        return lasting(json.loads(file.read_text(encoding="utf-8")))
    if file.suffix == ".yaml":
        import yaml

        return lasting(yaml.safe_load(file.read_text(encoding="utf-8")))
    if file.suffix in (".jsonl", ".csv"):
        lines = file.read_text(encoding="utf-8").splitlines()
        first = lines[1 if file.suffix == ".csv" else 0 :][:1]
        parsed = [json.loads(line) for line in first] if file.suffix == ".jsonl" else next(csv.reader(first), None)
        return {"sha256": digest(file), "rows": len(lines), "first": parsed}
    return {"sha256": digest(file)}


def page(file: Path) -> list[str]:
    """The lines of a page or card that a reader sees, in order."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".html":
        text = re.sub(r"<(script|style|svg)\b.*?</\1>", "", text, flags=re.DOTALL)
        text = html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"</(td|th)>", " | ", text)))
    return normal(text)


def normal(text: str) -> list[str]:
    """Lines without progress, times and this place's path."""
    for place in {str(Path.cwd()), os.path.realpath(Path.cwd()), str(ROOT)}:
        text = text.replace(place, "PLACE")
    lines = (re.sub(r"\s+", " ", line).strip() for line in re.split(r"[\r\n]+", text) if not PROGRESS.search(line))
    return [re.sub(r"\d+(?:\.\d+)+\b(?=.*(?:torch|salience) )", "N", TIME.sub("TIME", line)) for line in lines if line]


# ---------------------------------------------------------------------------------------------------------- recording


class Record:
    """What has been recorded, and the commands that are run for it in the present folder."""

    def __init__(self):
        self.numbers: dict[str, object] = {}
        self.printed: dict[str, Any] = {}
        self.failed: dict[str, str] = {}
        self.trained: set[str] = set()

    def entries(self) -> dict[str, object]:
        return {"numbers": self.numbers, "failed": self.failed, "printed": self.printed}

    def run(self, name: str, *arguments: object) -> bool:
        """Whether a command succeeds; what it prints is recorded under the name."""
        self.printed[name], code = self.says(*arguments)
        if code:
            self.fails(name, f"exit code {code}: {' '.join(self.printed[name]['err'][-1:])}")
        return not code

    @staticmethod
    def says(*arguments: object) -> tuple[dict[str, list[str]], int]:
        """The lines that a command prints, and its exit code."""
        from salience.cli.main import main

        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main([str(argument) for argument in arguments])
            except SystemExit as ended:
                code = ended.code
        return {"out": normal(out.getvalue()), "err": normal(err.getvalue())}, code

    def fails(self, name: str, message: str) -> None:
        self.failed[name] = message
        print(f"FAILED {name}: {message}", file=sys.stderr)

    def reads(self, name: str, *files: str) -> None:
        """Records what the files say as numbers."""
        for file in map(Path, files):
            if file.exists():
                self.numbers[f"{name} / {file.name}"] = read(file)
            else:
                self.fails(f"{name} / {file.name}", "was not written")

    def outputs(self, name: str, *arguments: object, to: str, pages: bool = False) -> None:
        """Runs a command that writes one file or a folder, and records all that it writes but pictures and pages."""
        if not self.run(name, *arguments, "--output", to):
            return
        files = sorted(Path(to).rglob("*")) if Path(to).is_dir() else [Path(to)]
        for file in files:
            if file.suffix in (".json", ".jsonl", ".csv", ".yaml", ".safetensors", ".parquet"):
                self.reads(name, str(file))
            elif pages and file.suffix in (".html", ".md"):
                self.printed[f"{name} / {file.name}"] = page(file)

    def train(self, name: str) -> str:
        """The folder of a run of `RUNS`, which is trained and recorded if it is not there yet."""
        folder = name.replace("method ", "method-").replace(":", "-")
        if name not in self.trained:
            self.trained.add(name)
            self.of_training(f"train {name}", folder, self.run(f"train {name}", *training(name, folder)))
        return folder

    def of_training(self, name: str, folder: str, done: bool) -> None:
        if not done:
            return
        self.reads(name, *(f"{folder}/{file}" for file in ("metrics.json", "recipe.yaml", "history.json",
                                                           "data_facts.json", "model.safetensors",
                                                           "predictions.jsonl")),
                   *(f"{folder}/{file}" for file in ("class_words.json", "out_of_fold.jsonl")
                     if Path(folder, file).exists()))  # fmt: skip
        self.numbers[f"{name} / files"] = {file.name: True for file in Path(folder).iterdir()}
        for file in ("report.html", "README.md"):
            self.printed[f"{name} / {file}"] = page(Path(folder, file))


def training(name: str, output: str) -> list[str]:
    """The arguments of a run of `RUNS`: all settings in a file, so that options may come and go."""
    data, test, settings = RUNS[name]
    config = Path(f"{output}.yaml")
    config.write_text(json.dumps(BASE | {"test": test} | settings) + "\n", encoding="utf-8")
    return ["train", data, "--config", str(config), "--output", output]


def killed_and_resumed(record: Record) -> None:
    """A run that is killed after a checkpoint and goes on, beside the same run that nobody kills.

    A checkpoint is written once a minute, so the clock of the run that is killed is a thousand times as fast.
    """
    import salience

    whole = record.train("whole")
    Path("killing").mkdir()
    arguments = training("whole", "killing/run")
    fast = (
        "import sys, time; real = time.monotonic; time.monotonic = lambda: 1000 * real()\n"
        "from salience.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", fast, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(Path(salience.__file__).parents[1])},
    )  # fmt: skip
    while process.poll() is None and not any(Path("killing").rglob("checkpoint-*/trainer_state.json")):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    if process.wait() != -signal.SIGKILL:
        record.fails("train killed", f"ended with {process.returncode} before it could be killed at a checkpoint")
        return
    if record.run("train killed", *arguments, "--resume"):
        record.of_training("train killed", "killing/run", True)
        record.numbers["train killed / as the whole run"] = [
            digest(Path("killing/run", file)) == digest(Path(whole, file))
            for file in ("model.safetensors", "predictions.jsonl")
        ]


def runs(record: Record) -> None:
    for name in RUNS:
        if not name.startswith("method ") and "attention" not in name and "lstm" not in name:
            record.train(name)
    killed_and_resumed(record)


def methods(record: Record) -> None:
    for name in METHODS:
        record.train(f"method {name}")


def predictions(record: Record) -> None:
    for name in ("plain", "senmixup", "several", "windows", "pairs", "estimated", "several-precise", "lstm-att"):
        folder, data = record.train(name), RUNS[name][1]
        record.outputs(f"predict {name}", "predict", folder, data, "--device", "cpu", to=f"predicted-{name}.jsonl")
    folder = record.train("estimated")
    record.outputs("predict sets", "predict", folder, "test.csv", "--sets", "0.9", "--no-abstain", "--prefix", "my_",
                   "--device", "cpu", to="sets.csv")  # fmt: skip
    record.run("predict to the terminal", "predict", folder, "test.csv", "--threshold", "0.2", "--device", "cpu")
    record.run("predict a part", "predict", folder, "test.csv", "--part", "2/3", "--output", "part.csv", "--device",
               "cpu")  # fmt: skip
    record.reads("predict a part", "part-2-of-3.csv")
    record.outputs("predict several above", "predict", record.train("several"), "several_test.csv", "--threshold",
                   "0.3", "--device", "cpu", to="above.csv")  # fmt: skip


def explanations(record: Record) -> None:
    explainers = ["attention", "cls-attention", "gradient", "gradient-x-input", "integrated-gradients", "occlusion",
                  "random"]  # fmt: skip
    plain = record.train("plain")
    for explainer in explainers:
        record.outputs(f"explain plain {explainer}", "explain", plain, "test.csv", "--explainer", explainer, "--most",
                       "8", "--device", "cpu", to=f"plain-{explainer}.jsonl")  # fmt: skip
    for name in ("senmixup", "several", "windows", "pairs", "attention-dot"):
        names = ["gradient", "occlusion", "pooling-attention" if name == "attention-dot" else "integrated-gradients"]
        record.outputs(f"explain {name}", "explain", record.train(name), RUNS[name][1], "--explainer",
                       ",".join(names), "--most", "4", "--device", "cpu", to=f"explained-{name}.jsonl")  # fmt: skip
    record.outputs("explain several gold", "explain", record.train("several"), "several_test.csv", "--target", "gold",
                   "--most", "4", "--device", "cpu", to="gold.jsonl")  # fmt: skip
    record.outputs("explain a label", "explain", plain, "test.csv", "--target", "card_arrival", "--pieces", "max",
                   "--explainer", "gradient-x-input", "--most", "8", "--device", "cpu", to="label.jsonl")  # fmt: skip
    record.outputs("explain a head", "explain", plain, "test.csv", "--explainer", "attention", "--layer", "0",
                   "--head", "1", "--most", "4", "--device", "cpu", to="head.jsonl")  # fmt: skip
    if record.run("explain as a page", "explain", plain, "test.csv", "--most", "3", "--output", "explained.html",
                  "--explainer", "gradient,occlusion", "--device", "cpu"):  # fmt: skip
        record.printed["explain as a page / page"] = page(Path("explained.html"))
    record.run("explain a text", "explain", plain, "--text", "My card has not arrived.", "--device", "cpu")
    record.run("explain the list", "explain", plain, "--list-explainers")


def faithfulness(record: Record) -> None:
    usual = ["--most", "4", "--at", "2", "--device", "cpu"]
    for name, rows in (("plain", 8), ("several", 6), ("windows", 3), ("attention-dot", 6)):
        chosen = [] if name == "plain" else ["--explainer", "gradient,occlusion"]
        record.outputs(f"faithfulness {name}", "faithfulness", record.train(name), RUNS[name][1], "--rows", str(rows),
                       *chosen, *usual, to=f"faithful-{name}", pages=True)  # fmt: skip
    record.outputs("faithfulness by another", "faithfulness", record.train("plain"), "marked.csv", "--rows", "8",
                   "--judge", record.train("ssmix"), "--marks", "marks", "--explainer", "gradient", *usual,
                   to="faithful-judged")  # fmt: skip
    record.run("faithfulness the list", "faithfulness", record.train("plain"), "test.csv", "--list-metrics")


def comparisons(record: Record) -> None:
    config = {name: value for name, value in BASE.items() if name not in ("model", "steps")}
    Path("compared.yaml").write_text(json.dumps(config), encoding="utf-8")
    variants = {"usual": {"method": "plain"}, "faster": {"method": "plain", "learning_rate": 0.01}}
    Path("variants.yaml").write_text(json.dumps(variants), encoding="utf-8")
    shared = ["--model", "tiny", "--steps", "3", "--seeds", "0,1", "--config", "compared.yaml"]
    for name, *options in (
        ("methods", "train.csv", "--test", "test.csv", "--methods", "plain,ssmix", "--references",
         "majority,tf-idf,frozen"),
        ("sizes", "train.csv", "--test", "test.csv", "--variants", "variants.yaml", "--sizes", "30,all",
         "--references", "none", "--budget", "steps", "--faithfulness", "--no-heat-maps"),
        ("several", "several.jsonl", "--test", "several_test.jsonl", "--methods", "plain,embedmix", "--references",
         "majority"),
    ):  # fmt: skip
        done = record.run(f"compare {name}", "compare", *options, *shared, "--output", f"compared-{name}")
        said = record.printed[f"compare {name}"]
        said["out"] = without_ratios(said["out"])
        if done:
            record.reads(f"compare {name}", f"compared-{name}/comparison.json")
            with open(f"compared-{name}/results.csv", encoding="utf-8-sig", newline="") as file:
                record.numbers[f"compare {name} / results.csv"] = lasting(list(csv.DictReader(file)))
            for file in ("report.html", "report.md"):
                if Path(f"compared-{name}", file).exists():
                    record.printed[f"compare {name} / {file}"] = without_ratios(page(Path(f"compared-{name}", file)))


def without_ratios(lines: list[str]) -> list[str]:
    """Lines without the last column of wide tables, a ratio of times."""
    return [re.sub(r"((?:[|│][^|│]*){5,}[|│]) (?:x )?\d+\.\d+ ([|│])$", r"\1 RATIO \2", line) for line in lines]


def audits(record: Record) -> None:
    record.outputs("audit frozen", "audit", "wrong.csv", "--model", "minilm", "--test", "test.csv", "--explain",
                   "--max-length", "24", "--device", "cpu", to="audited", pages=True)  # fmt: skip
    record.outputs("audit several", "audit", "several.csv", "--label-separator", "|", "--model", "minilm",
                   "--max-length", "24", "--device", "cpu", to="audited-several")  # fmt: skip
    record.outputs("audit by a run", "audit", "grouped.csv", "--run", record.train("estimated"), "--explain",
                   "--device", "cpu", to="audited-run")  # fmt: skip
    if not Path("audited/decisions.csv").exists():
        return
    with open("audited/decisions.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        row["decision"] = ("relabel" if row.get("suggested") else "keep", "delete", "keep")[number % 3]
    with open("decided.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    if record.run("audit apply", "audit", "wrong.csv", "--apply", "decided.csv", "--output", "corrected.csv"):
        with open("corrected.csv", encoding="utf-8-sig", newline="") as file:  # bytes may differ, rows may not
            record.numbers["audit apply / rows"] = list(csv.reader(file))


def suggestions(record: Record) -> None:
    for name, pool in (("plain", "pool.csv"), ("several", "pool.csv"), ("windows", "pool.csv")):
        for strategy in ("facility-location", "margin")[: 1 if name == "several" else 2]:
            record.outputs(f"suggest {name} {strategy}", "suggest", record.train(name), pool, "--count", "8",
                           "--strategy", strategy, "--device", "cpu", to=f"next-{name}-{strategy}.csv")  # fmt: skip
    record.run("suggest", "suggest", record.train("plain"), "pool.csv", "--count", "3", "--device", "cpu")
    record.run("suggest the list", "suggest", "plain", "pool.csv", "--list-strategies")


def exports(record: Record) -> None:
    for name, options in (("plain", []), ("several", ["--int8", "--accept"])):
        if record.run(f"export {name}", "export", record.train(name), "--check", RUNS[name][1], "--output",
                      f"onnx-{name}", *options):  # fmt: skip
            record.numbers[f"export {name} / files"] = {file.name: True for file in Path(f"onnx-{name}").iterdir()}
            record.outputs(f"predict export {name}", "predict", f"onnx-{name}", RUNS[name][1], "--device", "cpu",
                           to=f"exported-{name}.jsonl")  # fmt: skip


def reports(record: Record) -> None:
    for name in ("plain", "several", "attention-dot"):
        folder = record.train(name)
        Path(folder, "report.html").unlink()
        if record.run(f"report {name}", "report", folder):
            record.printed[f"report {name} / report.html"] = page(Path(folder, "report.html"))


def others(record: Record) -> None:
    record.run("methods", "methods")
    for name in ("ssmix", "dropmix-g", "senmixup"):
        record.run(f"methods {name}", "methods", name)
    record.run("demo-data", "demo-data", "demo")
    record.reads("demo-data", "demo/banking_train.csv", "demo/banking_test.csv")
    record.outputs("describe", "describe", "labels.yaml", "--model", "minilm", "--test", "test.csv", "--max-length",
                   "24", "--device", "cpu", to="described", pages=True)  # fmt: skip


def papers(record: Record) -> None:
    for name in ("attention-dot", "attention-additive", "lstm-att", "lstm-vat"):
        record.train(name)
    plain, dot = record.train("plain"), record.train("attention-dot")
    record.outputs("analyse attention", "analyse", "attention", "train.csv", "--test", "test.csv", "--epochs", "2",
                   "--scales", "10,1", to="analysed-attention", pages=True)  # fmt: skip
    record.outputs("analyse attention of a model", "analyse", "attention", "train.csv", "--model", dot,
                   to="analysed-model")  # fmt: skip
    record.outputs("analyse pos", "analyse", "pos", plain, "marked.csv", "--tags", "tags", "--heads", "0:1,1",
                   "--device", "cpu", to="analysed-pos")  # fmt: skip
    record.outputs("analyse channels", "analyse", "channels", plain, "train.csv", "--sentence", "My card is lost.",
                   "--device", "cpu", to="analysed-channels")  # fmt: skip
    record.outputs("analyse embeddings", "analyse", "embeddings", plain, "test.csv", "--beside",
                   record.train("ssmix"), "--device", "cpu", to="analysed-embeddings")  # fmt: skip


def tables(record: Record) -> None:
    """Two cells of tables on a made-up set, and what is printed of the runs that results/ keeps."""
    for table, *options in (
        ("uaftc-table2", "--sets", "sst2", "--part", "1/20"),
        ("uaftc-figures", "--sets", "sst2"),
        ("ssmix-table2", "--sets", "sst2", "--model", "tiny", "--rows", "20", "--part", "4/20", "--precision", "fp32"),
    ):
        file = f"made-{table}.jsonl"
        record.run(f"reproduce {table}", "reproduce", table, "--data-dir", "sets", *options, "--results", file)
        rows = Path(file).read_text(encoding="utf-8").splitlines() if Path(file).exists() else []
        record.numbers[f"reproduce {table}"] = [lasting(json.loads(row)) for row in rows]
    for table in TABLES:
        record.run(f"reproduce {table} of results", "reproduce", table, "--results", f"all-{table}.jsonl", "--merge",
                   ROOT / "results" / f"{table}.jsonl")  # fmt: skip


def library(record: Record) -> None:
    """The estimator, and what is listed in the public name tables."""
    import numpy as np

    import salience

    for name in ("EXPLAINERS", "METHODS", "METRICS", "STRATEGIES"):
        record.numbers[f"library / {name}"] = {str(each): True for each in getattr(salience, name)}

    def rows_of(file: str) -> tuple[list[str], list[str]]:
        with open(file, encoding="utf-8", newline="") as opened:
            rows = list(csv.DictReader(opened))
        return [row["text"] for row in rows], [row["category"] for row in rows]

    texts, labels = rows_of("train.csv")
    lists, several = rows_of("several.csv")
    new = rows_of("test.csv")[0][:10]
    usual = {"model": "tiny", "steps": 4, "batch_size": 8, "max_length": 24, "precision": "fp32", "device": "cpu"}
    for name, settings, X, y in (
        ("plain", {"method": "plain", "estimate": "folds:2"}, texts, labels),
        ("ssmix", {"method": salience.SSMix(window=0.3), "validation_share": 0.25}, texts, labels),
        ("several", {"method": "embedmix"}, lists, [each.split("|") for each in several]),
        ("turns", {"model": "lstm-vat", "method": "plain", "model_options": {"width": 8},
                   "procedure": salience.Turns(iterations=1)}, texts, labels),
    ):  # fmt: skip
        with failing(record, f"library / SalienceClassifier {name}"), contextlib.redirect_stderr(io.StringIO()):
            estimator = salience.SalienceClassifier(**usual | settings).fit(X, y)
            found = {"probabilities": estimator.predict_proba(new).tolist(), "classes": list(estimator.classes_)}
            found["predicted"] = np.asarray(estimator.predict(new)).tolist()
            found["parameters"] = lasting(dict.fromkeys(estimator.get_params(deep=False), True))
            found["estimate"] = lasting(getattr(estimator, "estimate_", None))
            record.numbers[f"library / SalienceClassifier {name}"] = json.loads(json.dumps(found, default=str))
            estimator.save(f"estimator-{name}")
    plain = record.train("plain")
    with failing(record, "library / values"), contextlib.redirect_stderr(io.StringIO()):
        classifier = salience.load(plain, device="cpu")
        explained = salience.explain(classifier, new[:4], ("gradient", "occlusion"))
        record.numbers["library / load"] = classifier.predict_proba(new).tolist()
        record.numbers["library / explain"] = [repr(each) for each in explained]
        record.numbers["library / suggest"] = [repr(each) for each in salience.suggest(classifier, new, 3)]
        tested = salience.evaluate(classifier, new[:4], explainers=("gradient",), most=4, at=2)
        record.numbers["library / evaluate"] = [repr(row) for row in tested.rows]


@contextlib.contextmanager
def failing(record: Record, name: str) -> Iterator[None]:
    """Records an error, and goes on."""
    try:
        yield
    except Exception as error:
        record.fails(name, f"{type(error).__name__}: {error}")


def refusals(record: Record) -> None:
    """What is said of input that does not fit: the lines may be worded anew, and none may be lost."""
    plain, dot = record.train("plain"), record.train("attention-dot")
    Path("empty.csv").write_text("text,category\n", encoding="utf-8")
    Path("holes.csv").write_text("text,category\na card,one\n,two\nsome money,\n", encoding="utf-8")
    Path("ragged.csv").write_text("text,category\na card,one\nmoney,two,three\n", encoding="utf-8")
    Path("unknown.yaml").write_text("stesp: 3\n", encoding="utf-8")
    output = ["--output", "refused"]
    for arguments in (
        ["train"], ["train", "none.csv"], ["train", "empty.csv", *output], ["train", "holes.csv", *output],
        ["train", "ragged.csv", *output], ["train", "train.csv", "--label", "categry", *output],
        ["train", "train.csv", "--method", "ssmx", *output], ["train", "train.csv", "--config", "unknown.yaml"],
        ["train", "train.csv", "--steps", "0", *output], ["train", "train.csv", "--output", plain],
        ["train", "train.csv", "--method", "ssmix:window=7", *output], ["train", "train.csv", "--stesp", "3"],
        ["train", "train.csv", "--model", "no-such-model", *output], ["predict", "none", "test.csv"],
        ["predict", plain, "none.csv"], ["predict", plain, "test.csv", "--text", "txt"],
        ["predict", plain, "test.csv", "--output", "out.xyz"], ["predict", plain, "test.csv", "--threshold", "7"],
        ["predict", plain, "test.csv", "--sets", "0.9"], ["predict", plain, "test.csv", "--part", "3/2"],
        ["explain", plain], ["explain", plain, "test.csv", "--explainer", "gradent"],
        ["explain", plain, "test.csv", "--explainer", "pooling-attention"],
        ["explain", plain, "test.csv", "--target", "nothing"],
        ["faithfulness", plain, "test.csv", "--metrics", "detection@2"],
        ["explain", dot, "test.csv", "--explainer", "attention"],
        ["faithfulness", plain, "test.csv", "--metrics", "aopcc"], ["compare", "train.csv", "--methods", "plain"],
        ["compare", "train.csv", "--test", "test.csv", "--seeds", "0"], ["audit", "none.csv"],
        ["audit", "train.csv", "--run", "none"], ["suggest", plain, "test.csv", "--count", "3"],
        ["suggest", plain, "pool.csv", "--strategy", "margn"], ["export", "none"],
        ["export", plain, "--to", "nnx"], ["report", "none"], ["methods", "ssmx"], ["describe", "none.yaml"],
        ["reproduce", "uaftc-tabel2"], ["reproduce", "vat", "--sets", "sst3"], ["reproduce", "vat", "--rows", "20"],
        ["analyse", "pos", plain, "test.csv", "--tags", "tgs"],
        ["analyse", "pos", dot, "marked.csv", "--tags", "tags"],
        ["demo-data", "sets"], ["nothing"],
    ):  # fmt: skip
        said, code = record.says(*arguments)
        record.numbers[f"refused: {' '.join(arguments)}"] = code
        record.printed[f"refused: {' '.join(arguments)}"] = said


def helps(record: Record) -> None:
    for command in COMMANDS:
        record.run(f"help {command}".strip(), *command.split(), "--help")


PARTS: dict[str, Callable[[Record], None]] = {
    "helps": helps, "runs": runs, "methods": methods, "predictions": predictions, "explanations": explanations,
    "faithfulness": faithfulness, "comparisons": comparisons, "audits": audits, "suggestions": suggestions,
    "exports": exports, "others": others, "papers": papers, "tables": tables, "library": library, "reports": reports,
    "refusals": refusals,
}  # fmt: skip


# -------------------------------------------------------------------------------------------------------- the material


def write(file: str, header: list[str], rows: list[list[str]]) -> None:
    with open(file, "w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([header, *rows])


def write_material() -> None:
    """Data of every kind and a tiny encoder, in the present folder."""
    train, test = (
        list(csv.reader(io.StringIO((ROOT / "examples" / name).read_text(encoding="utf-8"))))[1:]
        for name in ("banking_train.csv", "banking_test.csv")
    )
    header = ["text", "category"]
    write("train.csv", header, train[::3])
    write("test.csv", header, test[:40])
    write("validation.csv", header, train[1::9])
    write("pool.csv", ["id", "text"], [[str(number), text] for number, (text, _) in enumerate(test[100:140])])
    write("grouped.csv", [*header, "author"], [[*row, f"a{number // 2}"] for number, row in enumerate(train[::2])])
    wrong = [[text, train[(place + 7) % len(train)][1] if place % 20 == 3 else label]
             for place, (text, label) in enumerate(train)]  # fmt: skip
    write("wrong.csv", header, [*wrong, train[0], [train[1][0], train[5][1]]])
    marked = [
        [text, label,
         " ".join(label if len(word) > 5 else "-" for word in text.split()),
         " ".join("LONG" if len(word) > 5 else "SHORT" if len(word) > 2 else "TINY" for word in text.split())]
        for text, label in test[:40]
    ]  # fmt: skip
    write("marked.csv", [*header, "marks", "tags"], marked)
    some = sorted({label for _, label in train})[:5]
    few, few_tests = ([row for row in rows if row[1] in some] for rows in (train, test))
    for name, rows in (("", few), ("_test", few_tests[:60])):
        pairs = list(zip(rows[::2], rows[1::2], strict=False))
        several = [(f"{one[0]} {two[0]}", sorted({one[1], two[1]})) for one, two in pairs]
        several[::7] = [(one[0], []) if number % 2 else (one[0], [one[1]])
                        for number, (one, _) in enumerate(pairs[::7])]  # fmt: skip
        write(f"several{name}.csv", header, [[text, "|".join(labels)] for text, labels in several if labels])
        lines = (json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in several)
        Path(f"several{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        same = [[f"{one[0]} {two[0]} {one[0]}", one[1]] if number % 3 else list(one)
                for number, (one, two) in enumerate(pairs)]  # fmt: skip
        write(f"long{name}.csv", header, same)
        rows = [[one[0], two[0], ("other", "same")[number % 2]] for number, (one, two) in enumerate(pairs)]
        write(f"pairs{name}.csv", ["text", "second", "category"], rows)
    Path("labels.yaml").write_text(json.dumps({label: [label.replace("_", " "), f"a question about {label[:4]}"]
                                               for label in sorted({row[1] for row in train})}),
                                   encoding="utf-8")  # fmt: skip
    Path("sets/sst2").mkdir(parents=True)
    good, bad = "a lovely warm film", "an awful dull plot"
    for name, count in (("train", 60), ("dev", 20), ("test", 20)):
        lines = [{"text": f"{(bad, good)[row % 2]} number {row}", "label": ("negative", "positive")[row % 2]}
                 for row in range(count)]  # fmt: skip
        import gzip

        with gzip.open(f"sets/sst2/{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    write_encoder([text for text, _ in [*train, *test]])


def write_encoder(texts: list[str]) -> None:
    """A BERT of four narrow layers that knows the words of the texts, in the folder tiny."""
    import torch
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = sorted({word for text in texts for word in re.findall(r"\w+", text.lower())})
    letters = sorted({letter for text in texts for letter in text.lower() if not letter.isspace()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    pieces += [word for word in words if word not in letters]
    tokenizer = Tokenizer(WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=64, model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained("tiny")  # fmt: skip
    torch.manual_seed(0)
    configuration = BertConfig(
        vocab_size=len(pieces), hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=64, initializer_range=0.2,
    )  # fmt: skip
    BertModel(configuration).save_pretrained("tiny")


@contextlib.contextmanager
def workplace(source: Path | None = None) -> Iterator[Path]:
    """A fresh folder as the present one, with the files of another if it is given."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="same-") as name:
        if source is not None:
            shutil.copytree(source, name, dirs_exist_ok=True)
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def record(parts: list[str], keep: Path | None) -> dict[str, object]:
    import salience

    print(f"the tree of {salience.__file__}", file=sys.stderr)
    made = Record()
    with workplace() as place, quiet():
        write_material()
        wanted = {*os.listdir(), *KEPT, *(f"estimator-{name}" for name in ("plain", "several", "turns")), "onnx-plain"}
        for name in parts:
            begun = time.monotonic()
            with failing(made, f"part {name}"):
                PARTS[name](made)
            print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
        if keep is not None:
            for name in KEPT:
                made.train(name)
            shutil.copytree(
                place, keep, ignore=lambda folder, names: set(names) - wanted if Path(folder) == place else []
            )
    return made.entries()


def quiet() -> contextlib.AbstractContextManager:
    import warnings

    caught = warnings.catch_warnings()
    warnings.simplefilter("ignore")
    return caught


def reread(kept: Path) -> dict[str, object]:
    """What the tree at hand makes of runs that another has written."""
    import salience

    print(f"the tree of {salience.__file__}", file=sys.stderr)
    made = Record()
    with workplace(kept), quiet():
        for name in KEPT:
            data = RUNS[name][1]
            made.outputs(f"predict {name}", "predict", name, data, "--device", "cpu", to=f"again-{name}.jsonl")
            made.outputs(f"explain {name}", "explain", name, data, "--most", "3", "--explainer", "gradient,occlusion",
                         "--device", "cpu", to=f"explained-again-{name}.jsonl")  # fmt: skip
            Path(name, "report.html").unlink()
            if made.run(f"report {name}", "report", name):
                made.printed[f"report {name} / report.html"] = page(Path(name, "report.html"))
            config = lasting(read(Path(name, "recipe.yaml")))
            Path("again.yaml").write_text(json.dumps(config), encoding="utf-8")
            if name != "senmixup" and made.run(f"train by the recipe of {name}", "train", "--config", "again.yaml",
                                               "--output", f"again-{name}"):  # fmt: skip
                made.reads(f"train by the recipe of {name}", f"again-{name}/model.safetensors")
        for name in ("plain", "windows", "several"):
            made.outputs(f"faithfulness {name}", "faithfulness", name, RUNS[name][1], "--rows", "3", "--explainer",
                         "gradient", "--most", "3", "--at", "2", "--device", "cpu", to=f"tested-{name}")  # fmt: skip
            made.outputs(f"suggest {name}", "suggest", name, "pool.csv", "--count", "5", "--device", "cpu",
                         to=f"next-again-{name}.csv")  # fmt: skip
        made.outputs("audit by a run", "audit", "grouped.csv", "--run", "estimated", "--device", "cpu",
                     to="audited-again")  # fmt: skip
        for name in ("plain", "several"):
            made.run(f"export {name}", "export", name, "--check", RUNS[name][1], "--output", f"again-onnx-{name}")
            made.outputs(f"predict export {name}", "predict", f"again-onnx-{name}", RUNS[name][1], "--device", "cpu",
                         to=f"exported-again-{name}.jsonl")  # fmt: skip
        made.outputs("predict kept export", "predict", "onnx-plain", "test.csv", "--device", "cpu",
                     to="kept-export.jsonl")  # fmt: skip
        for name in ("plain", "several", "turns"):
            with failing(made, f"estimator {name}"), contextlib.redirect_stderr(io.StringIO()):
                estimator = salience.SalienceClassifier.load(f"estimator-{name}")
                found = estimator.predict_proba(["My card has not arrived.", "What is the exchange rate?"])
                made.numbers[f"estimator {name}"] = found.tolist()
    return made.entries()


# ---------------------------------------------------------------------------------------------------------- comparing


def flat(value: object, name: str = "") -> dict[str, object]:
    """Every number with the way to it."""
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    else:
        return {name: value}
    return {
        way: number
        for key, part in parts
        for way, number in flat(part, f"{name} / {key}" if name else str(key)).items()
    }


def compare(before: dict, after: dict, printed: bool = True, most: int = 20) -> int:
    """Prints what differs, numbers first; gives how many numbers differ, with commands that fail in one only.

    Args:
        most: lines that are shown of one entry.
    """
    numbers, others = flat(before["numbers"]), flat(after["numbers"])
    differing = [way for way in numbers if way in others and numbers[way] != others[way]]
    failing = {name: message for name, message in after["failed"].items() if name not in before["failed"]}
    print("NUMBERS")
    shown: Counter = Counter()
    for way in differing:
        entry = " / ".join(way.split(" / ")[:2])
        shown[entry] += 1
        if shown[entry] <= most:
            print(f"  {way}: {numbers[way]} -> {others[way]}")
    for entry, count in shown.items():
        if count > most:
            print(f"  {entry}: {count - most} more")
    for name, message in failing.items():
        print(f"  {name} fails: {message}")
    for known, there, which in ((numbers, others, "before"), (others, numbers, "after")):
        missing = [way for way in known if way not in there]
        entries = Counter(" / ".join(way.split(" / ")[:2]) for way in missing)
        for entry, count in entries.items():
            first = next(way for way in missing if way.startswith(entry))
            print(f"  only {which}: {entry}" + (f": {count}, such as {first}" if first != entry else ""))
    if printed:
        for title, of_help in (("PRINTED LINES", False), ("HELP", True)):
            print(title)
            old, new = (
                {name: lines for name, lines in each["printed"].items() if name.startswith("help") == of_help}
                for each in (before, after)
            )
            print_lines(old, new, most)
    same = len(numbers.keys() & others.keys()) - len(differing)
    print(f"{same} numbers are the same, {len(differing)} differ, {len(failing)} commands fail that did not")
    return len(differing) + len(failing)


def print_lines(before: dict, after: dict, most: int) -> None:
    for name, lines in before.items():
        if name not in after:
            print(f"  only before: {name}")
            continue
        old, new = ([*each.get("out", []), *each.get("err", [])] if isinstance(each, dict) else each
                    for each in (lines, after[name]))  # fmt: skip
        changes = [line for line in difflib.unified_diff(old, new, n=0, lineterm="") if line[:2] not in ("--", "++")]
        changes = [line for line in changes if not line.startswith("@@")]
        if changes:
            print(f"  {name}")
        for line in changes[:most]:
            print(f"    {line}")
        if len(changes) > most:
            print(f"    {len(changes) - most} more lines")
    for name in after:
        if name not in before:
            print(f"  only after: {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    recording = actions.add_parser("record", help="record the numbers of the tree at hand")
    recording.add_argument("file", type=Path)
    recording.add_argument("--parts", default=",".join(PARTS), help=f"some of {', '.join(PARTS)} [default: all]")
    recording.add_argument("--keep", type=Path, help="new folder in which runs are kept, for reread")
    again = actions.add_parser("reread", help="record what the tree at hand makes of kept runs")
    again.add_argument("kept", type=Path)
    again.add_argument("file", type=Path)
    comparing = actions.add_parser("compare", help="print what differs")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--most", type=int, default=20, help="lines shown of one entry [default: 20]")
    comparing.add_argument("--numbers", action="store_true", help="show no printed lines")
    chosen = parser.parse_args()
    if chosen.action == "compare":
        before, after = (json.loads(file.read_text(encoding="utf-8")) for file in (chosen.before, chosen.after))
        return bool(compare(before, after, printed=not chosen.numbers, most=chosen.most))
    if chosen.action == "record":
        found = record(chosen.parts.split(","), chosen.keep and chosen.keep.resolve())
    else:
        found = reread(chosen.kept.resolve())
    chosen.file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
