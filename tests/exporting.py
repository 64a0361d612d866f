"""Exports of a run, and what is predicted from them by the command line."""

from __future__ import annotations

import csv
from pathlib import Path

from salience.cli.main import main


def exports_of(run: Path) -> dict[str, Path]:
    """The folders of the exports of a run, beside it: in float32, and in int8 whatever it costs."""
    assert main(["export", str(run), "--to", "onnx"]) == 0
    assert main(["export", str(run), "--int8", "--accept"]) == 0
    return {"float32": run.with_name(f"{run.name}-onnx"), "int8": run.with_name(f"{run.name}-onnx-int8")}


def predicted(salience, model, data, output) -> list[dict]:
    """The rows that `salience predict` writes."""
    answer = salience("predict", model, data, "--output", output, "--window", "9", "--device", "cpu")
    assert answer.code == 0, answer.err
    with output.open(newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))
