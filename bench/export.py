"""Time of predicting with torch, with `transformers.pipeline`, and with exports to ONNX in float32 and int8.

All read the same texts with the same model, packaged MiniLM with a fresh head, as `bench/predict.py` makes them, and
tokenise within the measured time. The contestants run one after the other on each of `--repetitions` equal parts.
float32 must give the same labels and probabilities within 1e-5, else the script exits with 1; what int8 changes is
reported. Goals, on one thread: int8 at least 3 times as fast as torch, and at least 6 times as fast as the pipeline.

    python bench/export.py --data-dir DATA --reviews 0.5 --threads 1 --clock processor
    python bench/export.py --data-dir DATA --sweep-tokens --threads 1 --clock processor    batch sizes of int8
    python bench/export.py --data-dir DATA --eight-bits --threads 1 --clock processor      other ways to have 8 bits
    python bench/export.py --data-dir DATA --run RUN --set mr --threads 1     what int8 changes in a trained run

DATA holds imdb/train.jsonl.gz, and `<set>/test.jsonl.gz` for a run, with rows of `text` and `label`.
"""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import torch
from scipy.special import softmax
from transformers import pipeline

from predict import BATCH_SIZE, LABELS, LONGEST, TOLERANCE, chosen, prediction_parser, save_classifier
from salience import Batch, load
from salience.classify import TextClassifier
from salience.classify import classifier as onnx_classifier
from salience.classify.onnx_model import FILE
from salience.data.batching import padded
from salience.data.reading import stream
from salience.export.folder import write_export
from side_by_side import Comparison, alternate, prepare, save

GOALS = {"torch": 3, "pipeline": 6}  # times int8's
BUDGETS = (64, 128, 256, 512, 1024, 2048)  # padded tokens in a batch, for each thread
NAMES = {"float32": False, "int8": True}
SHAPES = ((1, 12), (1, 256), (32, 12), (32, 256))  # texts and tokens of a batch


def exported(folder: Path, name: str) -> Path:
    """A folder with the export of the classifier in `folder`."""
    made = folder / name
    made.mkdir()
    write_export(load(folder, LONGEST, "cpu", "fp32"), made, None, NAMES[name], lambda held: None)
    return made


def compare(options: Namespace, folder: Path, texts: list[str]) -> tuple[Comparison, dict[str, dict]]:
    """The seconds of all, and how the labels and probabilities of each differ from torch's."""
    original = load(folder, LONGEST, "cpu", "fp32")
    classifiers = {"torch": original} | {name: load(exported(folder, name)) for name in NAMES}
    classify = pipeline("text-classification", model=str(folder), device="cpu", top_k=None)
    parts = [texts[start :: options.repetitions] for start in range(options.repetitions)]
    found: dict[str, list] = {name: [None] * len(parts) for name in (*classifiers, "pipeline")}

    def predict(name: str, number: int) -> None:
        classifier = classifiers[name]
        found[name][number] = classifier.probabilities(classifier.encode(parts[number]))

    def transformers(number: int) -> None:
        rows = classify(parts[number], batch_size=BATCH_SIZE, truncation=True, max_length=LONGEST)
        scores = [{score["label"]: score["score"] for score in row} for row in rows]
        found["pipeline"][number] = np.array([[row[label] for label in LABELS] for row in scores])

    contestants = {
        "int8": lambda number: predict("int8", number),
        "float32": lambda number: predict("float32", number),
        "torch": lambda number: predict("torch", number),
        "pipeline": transformers,
    }
    alternate(contestants, 1, options.clock)  # all are warm
    seconds = alternate(contestants, options.repetitions, options.clock)
    expected, *others = (np.concatenate(found[name]) for name in ("torch", *NAMES))
    return seconds, {
        name: {
            "labels_changed": int((other.argmax(1) != expected.argmax(1)).sum()),
            "largest_difference": float(abs(other - expected).max()),
        }
        for name, other in zip(NAMES, others, strict=True)
    }


def sweep(options: Namespace, folder: Path, texts: list[str]) -> Comparison:
    """Seconds of int8 for several numbers of padded tokens in a batch, without tokenising."""
    classifier = load(exported(folder, "int8"))
    encoded = classifier.encode(texts)
    default = onnx_classifier.TOKENS

    def with_budget(tokens: int) -> None:
        onnx_classifier.TOKENS = tokens
        classifier.probabilities(encoded)

    budgets = sorted(BUDGETS, key=lambda tokens: tokens != default)  # the others are compared with the default
    contestants = {f"{tokens} tokens": lambda _, tokens=tokens: with_budget(tokens) for tokens in budgets}
    return alternate(contestants, options.repetitions, options.clock)


def in_eight_bits(folder: Path) -> dict[str, Path]:
    """The classifier in float32, as `salience export --int8` writes it, and in the ways that were not chosen."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    float32 = exported(folder, "float32")
    found = {"float32": float32, "scale a token": exported(folder, "int8")}
    for name in ("scale a batch", "weights only", "blocks of 32"):
        found[name] = folder / name
        shutil.copytree(float32, found[name])
        if name == "scale a batch":
            quantize_dynamic(
                float32 / FILE, found[name] / FILE, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True,
                op_types_to_quantize=["MatMul"], extra_options={"MatMulConstBOnly": True},
            )  # fmt: skip
        else:
            level = 0 if name == "weights only" else 4  # 4 rounds what a layer reads, too
            made = MatMulNBitsQuantizer(
                onnx.load(float32 / FILE), bits=8, block_size=32, is_symmetric=True, accuracy_level=level
            )
            made.process()
            made.model.save_model_to_file(str(found[name] / FILE))
    return found


def timed(classifier: TextClassifier, batch: Batch, number: int) -> None:
    classifier.model.logits(batch)


def eight_bits(options: Namespace, folder: Path, texts: list[str]) -> dict[str, dict]:
    """Of each way: its size, seconds by shape of a batch, changes of labels, and what neighbours change."""
    ways = in_eight_bits(folder)
    classifiers = {name: load(way) for name, way in ways.items()}
    encoded = classifiers["float32"].encode(texts)
    alone = [encoded.take([row]) for row in range(len(encoded))]
    found: dict[str, dict] = {name: {"MiB": (way / FILE).stat().st_size / 2**20} for name, way in ways.items()}
    by_itself = {
        name: np.concatenate([each.probabilities(text) for text in alone]) for name, each in classifiers.items()
    }
    labels = by_itself["float32"].argmax(1)
    for name, classifier in classifiers.items():
        together = classifier.probabilities(encoded)
        found[name] |= {
            "labels changed": int((by_itself[name].argmax(1) != labels).sum()),
            "by neighbours": float(abs(together - by_itself[name]).max()),
            "labels changed by neighbours": int((together.argmax(1) != by_itself[name].argmax(1)).sum()),
        }
    for rows, tokens in SHAPES:
        ids = torch.randint(1000, 20000, (rows, tokens))
        batch = Batch(ids, torch.ones_like(ids), torch.ones_like(ids), token_type_ids=torch.zeros_like(ids))
        contestants = {name: partial(timed, each, batch) for name, each in classifiers.items()}
        alternate(contestants, 1, options.clock)
        repetitions = max(1, min(options.repetitions, 3000 // (rows * tokens)))
        for name, seconds in alternate(contestants, repetitions, options.clock).seconds.items():
            found[name][f"ms, {rows} x {tokens}"] = 1000 * float(np.median(seconds))
    return found


def agreement(run: Path, rows: list[dict], folder: Path, seed: int) -> dict[str, dict]:
    """What int8 changes in what a run says of labelled rows: of each alone, and in groups of any size and order."""
    original = load(run, device="cpu", precision="fp32")
    write_export(original, folder, None, True, lambda held: None)
    classifier = load(folder)
    texts, labels = [row["text"] for row in rows], np.array([original.labels.index(row["label"]) for row in rows])
    expected, encoded, draw = original.predict_proba(texts), classifier.encode(texts), np.random.default_rng(seed)

    def grouped(order: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        found = np.empty_like(expected)
        for some in np.split(order, sizes.cumsum()):
            if len(some):
                found[some] = softmax(classifier.model.logits(padded(encoded, some)), axis=1)
        return found

    alone = grouped(np.arange(len(rows)), np.ones(len(rows), int))
    together = grouped(draw.permutation(len(rows)), draw.integers(1, 33, len(rows)))
    accuracies = {
        f"accuracy of {name}": float((found.argmax(1) == labels).mean())
        for name, found in (("the run", expected), ("int8", alone))
    }
    return {
        "int8, each text alone, against the run": changed(alone, expected) | {"texts": len(rows)} | accuracies,
        "int8, in groups of 1 to 32 in any order, against alone": changed(together, alone),
        "int8, as salience groups them, against alone": changed(classifier.predict_proba(texts), alone),
    }


def changed(found: np.ndarray, expected: np.ndarray) -> dict[str, float]:
    """How two tables of probabilities (N, C) differ."""
    differences = abs(found - expected)
    return {
        "labels changed": int((found.argmax(1) != expected.argmax(1)).sum()),
        "largest difference": float(differences.max()),
        "mean difference": float(differences.mean()),
    }


def main() -> int:
    arguments = prediction_parser(__doc__, texts=1000)
    arguments.add_argument("--run", type=Path, help="say what int8 changes in this trained run instead")
    arguments.add_argument("--set", default="mr", help="the data set whose test rows it reads")
    arguments.add_argument("--sweep-tokens", action="store_true", help="try several sizes of int8's batches instead")
    arguments.add_argument("--eight-bits", action="store_true", help="compare ways to compute in 8 bits instead")
    options = arguments.parse_args()
    machine = prepare(options)
    if options.run is not None:
        with TemporaryDirectory() as folder:
            rows = list(stream(options.data_dir / options.set / "test.jsonl.gz"))
            found = agreement(options.run, rows, Path(folder), options.seed)
        for name, values in found.items():
            print(f"{name}: " + ", ".join(f"{key} {value:.3g}" for key, value in values.items()))
        save(options, machine, {"agreement": found})
        return 0
    texts, title = chosen(options)
    with TemporaryDirectory() as folder:
        save_classifier(folder, texts[:BATCH_SIZE], options.seed)
        if options.sweep_tokens:
            seconds = sweep(options, Path(folder), texts)
            seconds.show(title)
            save(options, machine, {"sweep": seconds.as_json()})
            return 0
        if options.eight_bits:
            ways = eight_bits(options, Path(folder), texts)
            for name, values in ways.items():
                print(f"{name}: " + ", ".join(f"{key} {value:.3g}" for key, value in values.items()))
            save(options, machine, {"eight_bits": ways})
            return 0
        seconds, changes = compare(options, Path(folder), texts)
    seconds.show(title)
    for name, goal in GOALS.items():
        print(f"goal: {name} / int8 at least {goal}")
    for name, change in changes.items():
        print(f"{name} against torch: " + ", ".join(f"{key} {value:.2g}" for key, value in change.items()))
    save(options, machine, {"prediction": seconds.as_json(), "against_torch": changes})
    same = not changes["float32"]["labels_changed"] and changes["float32"]["largest_difference"] <= TOLERANCE
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
