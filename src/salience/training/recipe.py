"""Everything a run depends on, as one value that is saved with it and repeats it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from salience.errors import InputError, unknown
from salience.settings import CHECKSUMS, OPTIONS, TEXT, WEIGHTS, is_number, is_whole, shown


@dataclass(frozen=True)
class Recipe:
    """What to train on, with what, and how. None stands for "as the data asks", and `resolved` fills it in."""

    data: str
    validation: str | None = None
    test: str | None = None
    text: str | None = None  # columns; guessed from usual names
    text_pair: str | None = None
    label: str | None = None
    encoding: str = "utf-8"
    bad_rows: str = "error"  # or "skip"
    validation_share: float | None = None  # 0: train on everything, choose by nothing

    model: str = "minilm"
    model_options: dict[str, Any] = field(default_factory=dict)  # of an attention classifier
    max_length: int | None = None  # tokens read of a text
    method: str = "ssmix"  # or "plain"
    method_options: dict[str, Any] = field(default_factory=dict)  # the method's fields
    clean: float = 0.5  # the part of the loss on the texts as they are
    alignment: float = 0.0  # what |V^T W| of an attention classifier costs
    alignment_form: str = "absolute"  # or "square", and then (V^T W)^2 does
    iterations: int = 3  # of compressing and learning by turns, where the pooling is variational (VAT)
    beta: float = 0.1  # what a nat of VAT's compressed vector costs

    steps: int | None = None
    batch_size: int | None = None  # texts in a step
    accumulation: int = 1  # pieces in which a step's batch is computed
    learning_rate: float | None = None
    weight_decay: float = 0.01
    warmup: float = 0.1  # the part of the steps in which the learning rate rises
    evaluations: int = 20  # how often validation is looked at
    patience: int = 10  # looks without a better one after which training stops
    class_weights: str | Mapping[str, float] = "none"  # "auto", "name=weight,...", or names to weights
    label_smoothing: float = 0.0
    seed: int = 0
    precision: str = "fp32"  # "bf16", "fp16"
    device: str = "auto"  # "cpu", "cuda"
    checksums: dict[str, str] = field(default_factory=dict)  # SHA-256 of the data files, by their names above

    def __post_init__(self):
        for name, kind in KINDS.items():
            if not kind.fits(getattr(self, name)):
                raise InputError(f"{as_option(name)} is {shown(getattr(self, name))}: give {kind.words}")
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise unknown(as_option(name), getattr(self, name), allowed)
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if value is None and getattr(Recipe, name) is None:
                continue
            if not (is_number(value) and low <= value <= high):
                raise InputError(f"{as_option(name)} must be from {low} to {high}, not {shown(value)}")
            if name in WHOLE and value != int(value):
                raise InputError(f"{as_option(name)} must be a whole number, not {shown(value)}")
            # 1e3 is a whole number too; numpy's numbers would not be written to the recipe's file.
            if name in WHOLE or is_whole(value):
                object.__setattr__(self, name, int(value))
            else:
                object.__setattr__(self, name, float(value))

    def resolved(self, rows: int, classes: int, width: int | None) -> Recipe:
        """The recipe for `rows` texts of `classes` and a transformer of `width` hidden units, with nothing left open.

        Over words, `width` is None.
        """
        batch_size = default_batch_size(rows) if self.batch_size is None else self.batch_size
        steps = default_steps(rows, classes, batch_size) if self.steps is None else self.steps
        # 0 is a learning rate too: nothing is learnt, and that was asked for.
        learning_rate = default_learning_rate(width) if self.learning_rate is None else self.learning_rate
        return replace(self, batch_size=batch_size, steps=steps, learning_rate=learning_rate)

    @classmethod
    def from_mapping(cls, settings: dict[str, Any], source: str = "") -> Recipe:
        """A recipe from the names and values of a yaml file."""
        names = [option.name for option in fields(cls)]
        # An empty mapping is what a yaml file says with `model_options:` and nothing behind it.
        mappings = ("model_options", "method_options", "checksums")
        settings = settings | {name: {} for name in mappings if settings.get(name, 0) is None}
        for name in settings:
            if name not in names:
                raise unknown(f"setting in {source}" if source else "setting", name, names)
        if "data" not in settings:
            raise InputError(f"{source or 'the recipe'}: no data named; give a file or a hub data set")
        return cls(**settings)

    def as_mapping(self) -> dict[str, Any]:
        return asdict(self)


def as_option(name: str) -> str:
    """validation_share -> --validation-share"""
    return f"--{name.replace('_', '-')}"


KINDS = {
    "data": TEXT, "validation": TEXT.or_none(), "test": TEXT.or_none(), "text": TEXT.or_none(),
    "text_pair": TEXT.or_none(), "label": TEXT.or_none(), "encoding": TEXT, "bad_rows": TEXT, "model": TEXT,
    "model_options": OPTIONS, "method": TEXT, "method_options": OPTIONS, "alignment_form": TEXT,
    "class_weights": WEIGHTS, "precision": TEXT, "device": TEXT,
    "checksums": CHECKSUMS,
}  # fmt: skip
CHOICES = {
    "bad_rows": ["error", "skip"],
    "precision": ["fp32", "bf16", "fp16"],
    "device": ["auto", "cpu", "cuda"],
}
RANGES = {
    "validation_share": (0, 0.9),
    "max_length": (4, 1_000_000),
    "clean": (0, 0.99),
    "alignment": (0, 10**6),
    "iterations": (0, 100),
    "beta": (0, 10**6),
    "steps": (1, 10**9),
    "batch_size": (1, 10**6),
    "accumulation": (1, 10**6),
    "learning_rate": (0, 10),
    "weight_decay": (0, 10),
    "warmup": (0, 1),
    "evaluations": (1, 10**6),
    "patience": (1, 10**6),
    "label_smoothing": (0, 0.99),
    "seed": (0, 2**32 - 1),
}
WHOLE = ("max_length", "iterations", "steps", "batch_size", "accumulation", "evaluations", "patience", "seed")


def default_batch_size(rows: int) -> int:
    """Small data sets need many small steps, large ones fewer large ones."""
    return 16 if rows < 2000 else 32


def default_steps(rows: int, classes: int, batch_size: int) -> int:
    """The number of steps follows the data: 100 / sqrt(rows of a class) epochs, at least 3 and at most 60.

    Few rows a class need to be seen often, and 77 classes need more steps than 6; `docs/recipe.md` shows what doubling
    the steps brings.
    """
    epochs = min(max(100 / math.sqrt(rows / classes), 3), 60)
    return max(1, round(epochs * rows / batch_size))


def default_learning_rate(width: int | None) -> float:
    """5e-5 for a model of width 768, as BERT's authors advise; narrower models take, and need, larger steps.

    Models over words, which are trained from scratch, have no width here: they learn as one of 100 units would.
    """
    return 5e-5 * (768 / (100 if width is None else width)) ** 2
