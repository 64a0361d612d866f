"""The commands that the harness disturbs, each with the files that it starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv

WORK = "home/project"  # the working folder, below the root

MODEL = ["--model", "tiny", "--device", "cpu"]
TRAINING = ["train", "train.csv", *MODEL, "--method", "ssmix", "--steps", "4", "--set", "evaluations=2",
            "--batch-size", "4"]  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """A command, and what it needs.

    `outputs` are what it writes, relative to the working folder; everything else is somebody else's. `first` are
    commands that run undisturbed before it, and `prepare` names a function here that is called in its process.
    """

    arguments: list[str]
    outputs: tuple[str, ...]
    options: tuple[str, ...] = ("--overwrite",)  # that a message may tell the user to add
    first: tuple[list[str], ...] = ()
    prepare: str = ""
    atomic: bool = True  # under its name an output is always absent, as it was before, or whole
    partial: str = ""  # words by which a successful command tells of a part that it could not make: run again, it does
    files: Callable[[Path], None] = field(default=lambda folder: None)


def a_project(folder: Path) -> None:
    """Labelled texts and a tiny model in the working folder, and files of other people in and around it."""
    write_csv(folder / "train.csv", labelled_rows(16))
    write_csv(folder / "test.csv", labelled_rows(8, seed=1))
    wide = [(text, f"{place} " * 2000) for place, (text, _) in enumerate(labelled_rows(8, seed=2))]
    write_csv(folder / "wide.csv", wide, header=("text", "note"))  # written in several pieces
    texts = [*WORDS.values(), " ".join(FILLER)]
    families.save_tiny_model(folder / "tiny", texts, classes=3, dropout=0.1)
    for name in FOREIGN:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"not of salience: {name}\n", encoding="utf-8")
    (folder / "a link").symlink_to("notes.txt")


FOREIGN = [
    "notes.txt", ".hidden", "recipe.yaml", "model.safetensors", "../neighbour/recipe.yaml", "../notes.txt",
    "../../at the root.txt", "runs/notes.txt", "runs/others/recipe.yaml", "runs/others/model.safetensors",
    "runs/.others.partial/recipe.yaml", "runs/.others.partial/checkpoints/checkpoint-1/model.safetensors",
    "runs/one.bak/recipe.yaml", "out/notes.txt", "out/.notes.unfinished", "results/other.jsonl",
    "results/.other.jsonl.unfinished",
]  # fmt: skip

TRAINED = ["train", "train.csv", *MODEL, "--method", "plain", "--steps", "2", "--set", "evaluations=1",
           "--batch-size", "4", "--output", "trained"]  # fmt: skip
PREDICT_ANY = ["predict", "trained", "--device", "cpu"]
PREDICT = [*PREDICT_ANY, "wide.csv", "--window", "3"]


def checkpoint_every_step() -> None:
    """As in a run whose steps take longer than the time between two checkpoints."""
    from salience.training import callbacks as resuming

    resuming.SECONDS = 0


def small_table() -> None:
    """The table of synthetic texts, with few texts and epochs."""
    from salience.papers.tables import TABLES
    from salience.papers.uaftc import synthetic as uaftc_synthetic
    from salience.papers.uaftc.synthetic import synthetic

    uaftc_synthetic.synthetic = lambda *numbers, **settings: synthetic(20, 20)
    small = replace(uaftc_synthetic.TABLE, run=partial(uaftc_synthetic.run, epochs=2))
    TABLES["uaftc-synthetic"] = lambda: small


SCENARIOS = {
    "train": Scenario(
        [*TRAINING, "--test", "test.csv", "--output", "runs/one"], ("runs/one",), ("--resume", "--overwrite"),
        prepare="checkpoint_every_step",
    ),
    "train-again": Scenario(  # over an earlier run of other settings
        [*TRAINING, "--output", "runs/one", "--overwrite"], ("runs/one",), ("--resume",),
        first=([*TRAINING, "--seed", "7", "--output", "runs/one"],), prepare="checkpoint_every_step",
    ),
    "predict-csv": Scenario([*PREDICT, "--output", "out/new.csv"], ("out/new.csv",), first=(TRAINED,)),
    "predict-jsonl": Scenario([*PREDICT, "--output", "new/new.jsonl"], ("new/new.jsonl",), first=(TRAINED,)),
    "predict-parquet": Scenario(  # over an earlier file
        [*PREDICT_ANY, "test.csv", "--window", "3", "--output", "out/new.parquet", "--overwrite"],
        ("out/new.parquet",), (),
        first=(TRAINED, [*PREDICT_ANY, "train.csv", "--output", "out/new.parquet"]),
    ),
    "export": Scenario(
        ["export", "trained", "--check", "test.csv", "--output", "out/new"], ("out/new",), first=(TRAINED,)
    ),
    "export-again": Scenario(  # over an earlier export
        ["export", "trained", "--check", "test.csv", "--int8", "--accept", "--output", "out/new", "--overwrite"],
        ("out/new",), (), first=(TRAINED, ["export", "trained", "--max-length", "9", "--output", "out/new"]),
        atomic=False,
    ),
    "explain-jsonl": Scenario(
        ["explain", "trained", "test.csv", "--device", "cpu", "--output", "out/new.jsonl"], ("out/new.jsonl",),
        first=(TRAINED,),
    ),
    "explain-html": Scenario(
        ["explain", "trained", "test.csv", "--device", "cpu", "--output", "new/new.html"], ("new/new.html",),
        first=(TRAINED,),
    ),
    "faithfulness": Scenario(
        ["faithfulness", "trained", "test.csv", "--device", "cpu", "--explainer", "gradient", "--rows", "4",
         "--most", "3", "--at", "2", "--output", "out/new"],
        ("out/new",), first=(TRAINED,),
    ),
    "compare": Scenario(
        ["compare", "train.csv", "--test", "test.csv", *MODEL, "--methods", "plain,ssmix", "--seeds", "0,1",
         "--steps", "2", "--config", "settings.yaml", "--output", "runs/compared"],
        ("runs/compared",), (), atomic=False, partial="no heat maps of",
        files=lambda folder: (folder / "settings.yaml").write_text("evaluations: 1\nbatch_size: 4\n"),
    ),
    "reproduce": Scenario(
        ["reproduce", "uaftc-synthetic", "--sets", "data-1", "--seeds", "0,1,2", "--results", "results/new.jsonl"],
        ("results/new.jsonl",), (), prepare="small_table", atomic=False,
    ),
}  # fmt: skip
