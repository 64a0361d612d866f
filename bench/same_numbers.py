"""Whether two versions of the code give the same numbers, to the last bit, on one machine.

    python bench/same_numbers.py record before.json     # in the tree of the one version
    python bench/same_numbers.py record after.json      # in the tree of the other
    python bench/same_numbers.py compare before.json after.json

Every method and model is trained for a few steps, predicts, is explained, tested and compared, through the command
line alone, so that code may move between the two. What is recorded is the SHA-256 of weights and predictions, and
every number of the results.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

ROOT = Path(__file__).parents[1]
TRAIN, TEST = ROOT / "examples" / "banking_train.csv", ROOT / "examples" / "banking_test.csv"
METHODS = [
    "plain", "wordmixup", "embedmix", "tmix", "mixupencoding", "senmixup", "dropoutmixup", "attentionmix", "ssmix",
    "ssmix-nosaliency", "ssmix-nospan", "randomunk", "dropmix-u", "dropmix-c", "dropmix-w", "dropmix-g",
]  # fmt: skip
MODELS = {
    "attention:dot": ["--method", "plain", "--alignment", "0.1"],
    "attention:additive": ["--encoder", "lstm", "--method", "embedmix"],
    "lstm-vat": ["--method", "plain", "--iterations", "1"],
    "lstm-att": ["--method", "plain"],
}
UNTIMED = ("seconds", "versions", "machine", "checksums")


def run(*arguments: object) -> str:
    """A command's standard output. Raises a `RuntimeError` where it fails."""
    from salience.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    if code:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: {err.getvalue()}")
    return out.getvalue()


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def of_run(folder: Path) -> dict:
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    kept = {"metrics": {name: value for name, value in metrics.items() if name not in UNTIMED}}
    kept["predictions"] = digest(folder / "predictions.jsonl")
    if (folder / "model.safetensors").exists():
        kept["weights"] = digest(folder / "model.safetensors")
    return kept


def record() -> dict[str, object]:
    numbers: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        rows = TRAIN.read_text(encoding="utf-8").splitlines()
        few = place / "few.csv"
        few.write_text("\n".join(rows[:1] + rows[1::3]) + "\n", encoding="utf-8")
        tests = TEST.read_text(encoding="utf-8").splitlines()
        test = place / "test.csv"
        test.write_text("\n".join(tests[:41]) + "\n", encoding="utf-8")
        base = ["--device", "cpu", "--evaluations", "2", "--batch-size", "8", "--max-length", "24"]
        for method in METHODS:
            folder = place / method
            run("train", few, "--test", test, "--method", method, "--steps", "4", "--output", folder, *base)
            numbers[f"train minilm {method}"] = of_run(folder)
            print(f"{method}", file=sys.stderr)
        for model, options in MODELS.items():
            folder = place / model.replace(":", "-")
            run("train", few, "--test", test, "--model", model, "--steps", "12", "--output", folder, *base, *options)
            numbers[f"train {model}"] = of_run(folder)
            print(f"{model}", file=sys.stderr)
        for model in ("ssmix", "lstm-att"):
            labels = place / f"{model}.jsonl"
            run("predict", place / model, test, "--output", labels, "--device", "cpu")
            numbers[f"predict {model}"] = digest(labels)
            explainers = ["gradient", "gradient-x-input", "integrated-gradients", "occlusion", "random"]
            explainers.append("attention" if model == "ssmix" else "pooling-attention")
            for explainer in explainers:
                file = place / f"{model}-{explainer}.jsonl"
                run("explain", place / model, test, "--explainer", explainer, "--most", "12", "--output", file,
                    "--device", "cpu")  # fmt: skip
                numbers[f"explain {model} {explainer}"] = digest(file)
            run("faithfulness", place / model, test, "--explainer", "gradient,occlusion", "--rows", "12", "--most",
                "5", "--at", "3", "--output", place / f"faithful-{model}", "--device", "cpu")  # fmt: skip
            tested = json.loads((place / f"faithful-{model}" / "faithfulness.json").read_text(encoding="utf-8"))
            numbers[f"faithfulness {model}"] = tested["rows"]
        config = place / "config.yaml"
        config.write_text("evaluations: 2\nbatch_size: 8\nmax_length: 24\n", encoding="utf-8")
        run("compare", few, "--test", test, "--methods", "plain,ssmix", "--seeds", "0,1", "--steps", "3", "--config",
            config, "--output", place / "compared", "--device", "cpu")  # fmt: skip
        numbers["compare"] = json.loads((place / "compared" / "comparison.json").read_text(encoding="utf-8"))
    return numbers


def flat(value: object, name: str = "") -> dict[str, object]:
    """Every number with the way to it."""
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    else:
        return {name: value}
    return {way: number for key, part in parts for way, number in flat(part, f"{name} / {key}").items()}


def compare(before: dict, after: dict) -> int:
    """Prints what differs; gives the number of differences."""
    before, after = flat(before), flat(after)
    only = sorted(before.keys() ^ after.keys())
    differing = [way for way in before if way in after and before[way] != after[way]]
    for way in differing:
        print(f"{way}: {before.get(way)} -> {after.get(way)}")
    for way in only:
        print(f"{way}: in one of the files only")
    print(f"{len(before)} numbers before, {len(after)} after, {len(differing)} of those in both differ")
    return len(differing)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    chosen = parser.parse_args()
    if chosen.action == "record":
        chosen.files[0].write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
        return 0
    return bool(compare(*(json.loads(file.read_text(encoding="utf-8")) for file in chosen.files)))


if __name__ == "__main__":
    sys.exit(main())
