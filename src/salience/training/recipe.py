"""What a run depends on: `Recipe` is what was asked, `Plan` what is used. The plan is saved, and repeats the run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from numbers import Integral, Real
from typing import Any, Self

from salience.errors import InputError, listed, unknown
from salience.processes import world_size
from salience.runs.retired import RETIRED_METHODS, without_retired
from salience.settings import (
    BOOL,
    SHARE,
    TEXT,
    Kind,
    between,
    check_settings,
    is_number,
    is_whole,
    name_and_options,
    one_of,
    setting,
    whole_between,
)

LARGE = 2000  # rows from which on steps are larger
# Texts that a regression is fitted on: with as many, more of them change little and cost time. With more rows there is
# one effort, which keeps the trained head: others were not measured.
MOST = 10_000


@dataclass(frozen=True)
class Effort:
    """How much a small training spends.

    Args:
        steps: multiple of the texts that are seen in all steps.
        rate: multiple of the learning rate.
    """

    steps: float
    rate: float


# Points on the frontier of accuracy and time, with steps as of `default_steps`, measured in
# docs/research/studies/depth-and-steps.md.
EFFORTS = {
    "quick": Effort(1 / 8, 4),
    "normal": Effort(1 / 4, 2),
    "best": Effort(1, 1),
}
OF_LARGE = EFFORTS | {"quick": Effort(1 / 4, 2), "normal": Effort(1 / 2, 2)}
# Of a student, which makes `PASSES` over the texts of its teacher; measured in docs/research/studies/distilling.md.
TAUGHT, PASSES = Effort(1, 2), 2
FEW_CLASSES = 5  # up to which a regression that is saved is penalised like the initial head
# Weight of the contrastive loss where the head reads a mean; docs/research/studies/losses-and-mixing.md measures it.
CONTRAST = 0.6
# What stands in the place of a method for the reference rows of a comparison, which train no model.
REFERENCES = {
    "majority": "the shares of the classes in the labelled rows",
    "tf-idf": "logistic regression on TF-IDF features of words and word pairs",
    "frozen": "logistic regression on the mean vectors of the frozen encoder",
}


def is_scalar(value: object) -> bool:
    return value is None or isinstance(value, bool | str) or is_number(value)


def is_option(value: object) -> bool:
    return is_scalar(value) or (isinstance(value, list | tuple) and all(map(is_scalar, value)))


def plain_value(value: Any) -> Any:
    """A value that yaml can hold: tuples as lists, and NumPy's numbers as Python's, in mappings too."""
    if isinstance(value, Mapping):
        return {plain_value(key): plain_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


OPTIONS = Kind(
    "names with a value each, or with a list of values",
    lambda value: (
        isinstance(value, Mapping)
        and all(isinstance(name, str) and is_option(option) for name, option in value.items())
    ),
    normal=plain_value,
)
LAYERS = Kind(
    "a whole number from 0 to 1,000, all, or auto",
    lambda value: (
        re.fullmatch("all|auto|0|[1-9][0-9]{0,2}|1000", value) is not None
        if isinstance(value, str)
        else is_whole(value) and 0 <= value <= 1000
    ),
    normal=lambda value: "all" if value in ("all", "auto") else int(value),
)
WEIGHTS = Kind(
    "a text such as none or auto, or names with a number each",
    lambda value: (
        isinstance(value, str)
        or (
            isinstance(value, Mapping)  # the names are labels, which may be numbers
            and all(is_scalar(name) and (isinstance(each, str) or is_number(each)) for name, each in value.items())
        )
    ),
    normal=plain_value,
)
CHECKSUMS = Kind(
    "names of files with the SHA-256 of each",
    lambda value: isinstance(value, Mapping) and all(isinstance(text, str) for item in value.items() for text in item),
)
ESTIMATE = Kind(
    "none, holdout, or folds:K with a whole number K from 2 to 20, such as folds:5",
    lambda value: isinstance(value, str) and re.fullmatch("none|holdout|folds:([2-9]|1[0-9]|20)", value) is not None,
)


SOURCES = Kind(
    "a text, or a list of texts",
    lambda value: (
        isinstance(value, str)
        or (isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(each, str) for each in value))
    ),
    normal=lambda value: value if isinstance(value, str) else value[0] if len(value) == 1 else list(value),
)


@dataclass(frozen=True)
class DataSettings:
    """The first settings of a `Recipe`."""

    data: str | list[str] = setting(
        MISSING, SOURCES, "labelled texts: csv, tsv, jsonl, parquet, xlsx, also compressed, or a hub data set; or "
        "several files that share the columns",
    )  # fmt: skip
    validation: str | None = setting(None, TEXT, "rows on which the best checkpoint is selected", "none")
    test: str | None = setting(None, TEXT, "rows for the final test; nothing is selected on them", "none")
    text: str | None = setting(None, TEXT, "column of the text", "guessed")
    text_pair: str | None = setting(None, TEXT, "column of a second text, for pairs of texts", "guessed")
    label: str | None = setting(
        None, TEXT, "column of the label, or of a list of labels; or columns of 0 and 1, one for each label, as "
        "joy,fear,anger", "guessed",
    )  # fmt: skip
    label_separator: str | None = setting(
        None, TEXT, 'separator of the labels of a text in the label column, such as "|"', "none: one label, or a list"
    )
    group: str | None = setting(
        None,
        TEXT,
        "column of groups, such as authors, that cross-validation and validation_share do not divide",
        "none",
    )
    marks: str | None = setting(
        None, TEXT, "column of the words that decide the label of a row; the model is trained on them as texts, too",
        "none",
    )  # fmt: skip
    ignore: str | None = setting(
        None, TEXT, "column of words of a row that must not count; the model is trained on counterexamples for them",
        "none",
    )  # fmt: skip
    ignore_words: str | None = setting(
        None, TEXT, "file of words and phrases, one a line, that are removed from all training texts", "none"
    )
    corrections: str | None = setting(
        None, TEXT, "file of corrected rows, as the page of salience correct saves it: their labels and marks replace "
        "those of the rows with the same texts, and further texts are added", "none",
    )  # fmt: skip
    encoding: str = setting("utf-8", TEXT, "character encoding of csv and tsv files")
    empty_label: str = setting(
        "error", one_of("error", "none"), "meaning of an empty cell of multi-label data: an error, or no label"
    )
    bad_rows: str = setting("error", one_of("error", "skip"), "how rows without a text or a label are treated")
    # None is 0.2, and 0.1 from 1,000 rows on; see `default_share`.
    validation_share: float | None = setting(
        0.0, between(0, 0.9).or_none(),
        "fraction of the training rows held out to select the best checkpoint; 0 trains on all rows",
    )  # fmt: skip
    estimate: str | None = setting(
        None, ESTIMATE, "how scores on new rows are estimated: folds:K (K-fold cross-validation, K further models), "
        "holdout (a held-out fifth, one further model), or none",
        "folds:5 with less effort than best and less than 2,000 rows, folds:10 with trained_layers=0, else folds:2; "
        "none with validation rows, or with test rows and 5,000 labelled rows",
    )  # fmt: skip
    calibrate: bool | None = setting(
        None,
        BOOL,
        "divide the logits by a temperature that is fitted on the out-of-fold predictions of the estimate",
        "yes if there is an estimate",
    )
    target_precision: float | None = setting(
        None, between(0.5, 0.999), "precision that predict reaches by abstaining below thresholds (multi-label: of "
        "each label); the models of the estimate reach it with 95 % certainty",
        "none: predict decides every text",
    )  # fmt: skip

    long: str = setting(
        "head", one_of("head", "head-tail", "windows"), "what is read of texts longer than --max-length: head, their "
        "beginning; head-tail, half of the tokens from either end; windows over the whole text, whose logits are "
        "averaged",
    )  # fmt: skip
    teacher: str | None = setting(
        None, TEXT, "a finished run, or any other classifier, whose probabilities are the labels of the training rows",
        "none: the labels are in the data",
    )  # fmt: skip
    label_descriptions: str | None = setting(
        None, TEXT, "yaml file with a text or a list of texts that describe each label; the model is trained on them "
        "too; names takes the names of the labels", "none",
    )  # fmt: skip

    size: int | None = setting(
        None, whole_between(1, 10**9), "size of the sample of the rows to train on, stratified by class", "all"
    )

    @property
    def sources(self) -> list[str]:
        """The files or data sets of the rows to train on."""
        return [self.data] if isinstance(self.data, str) else self.data

    @property
    def columns(self) -> dict[str, str | None]:
        """What the columns of these are for, as `choose_columns` takes it."""
        return {
            "text": self.text, "text_pair": self.text_pair, "label": self.label, "group": self.group,
            "separator": self.label_separator, "empty_label": self.empty_label, "marks": self.marks,
            "ignore": self.ignore,
        }  # fmt: skip

    @property
    def named_data(self) -> str:
        """These in a message."""
        return listed(self.sources, 3)


def default_steps(rows: int, classes: int, batch_size: int) -> int:
    """The number of steps follows the data: 100 / sqrt(rows of a class) epochs, at least 3 and at most 60.

    Few rows a class need to be seen often, and 77 classes need more steps than 6;
    docs/research/studies/depth-and-steps.md has measurements.
    """
    epochs = min(max(100 / math.sqrt(rows / classes), 3), 60)
    return max(1, round(epochs * rows / batch_size))


def default_rates(width: int | None, mean: bool = False) -> tuple[float, float]:
    """The learning rate, and the multiple of it by which the head learns.

    5e-5 for an encoder of width 768, as BERT's authors advise; narrower models need larger steps. Models over words
    are trained from scratch and have no width here; their rate is that of a width of 100. An encoder whose mean the
    head reads learns at a quarter of the rate, and the head at ten times that: the means are sentence vectors that
    many texts have made, and few labels spoil them. docs/research/studies/learning-rates.md has the measurement.
    """
    rate = 5e-5 * (768 / (100 if width is None else width)) ** 2
    return (rate / 4, 10.0) if mean else (rate, 1.0)


@dataclass(frozen=True)
class Recipe(DataSettings):
    """What was asked: what to train on, with what, and how. None stands for a value that is left open.

    `model_options`, `method_options` and `procedure_options` hold the settings of the model, the method and the
    training procedure that the recipe names. All that can be checked without data, model and machine is checked here.

    Raises:
        InputError: a value does not fit its setting, or settings do not go together.
    """

    model: str = setting(
        "minilm", TEXT, "pretrained model: minilm, a folder, or a name on the hub; or a classifier with attention "
        "pooling, such as attention:dot or lstm-vat",
    )  # fmt: skip
    model_options: dict[str, Any] = setting(dict, OPTIONS, "settings of an attention classifier")
    pooling: str = setting(
        "auto", one_of("auto", "mean", "first", "cls"), "what the head reads: cls is the model's own head; mean the "
        "mean of all tokens; first the first token; auto is what the encoder was trained for, else cls",
    )  # fmt: skip
    max_length: int | None = setting(
        None, whole_between(1, 1_000_000), "number of tokens read at once, see --long",
        "the model's maximum, at most 512",
    )  # fmt: skip
    method: str | None = setting(
        None, TEXT, "mixing method: plain (none), or one listed by `salience methods`, such as ssmix:window=0.2",
        "senmixup:alpha=1 with mean pooling, else plain",
    )  # fmt: skip
    method_options: dict[str, Any] = setting(dict, OPTIONS, "settings of the method")
    clean: float = setting(0.5, between(0, 0.99), "weight of the loss on the original texts, from 0 to 1")
    procedure_options: dict[str, Any] = setting(dict, OPTIONS, "settings of the training procedure of the model")

    steps: int | None = setting(
        None, whole_between(0, 10**9), "number of training steps; 0 where no layer is trained", "follows from the data"
    )
    effort: str | None = setting(
        None, one_of(*EFFORTS), "compute budget of training: quick an eighth of best, normal a quarter, twice that "
        "from 2,000 rows on; for encoders with mean pooling, one label a text and up to 10,000 rows",
        "normal for those, else best",
    )  # fmt: skip
    steps_factor: float | None = setting(
        None, between(0.01, 100), "multiple of the steps that follow from the data", "that of effort, else 1"
    )
    batch_size: int | None = setting(
        None, whole_between(1, 10**6), "number of texts in a training step", "16; 32 from 2,000 rows on"
    )
    accumulation: int = setting(1, whole_between(1, 10**6), "parts that a batch is split into, to save memory")
    learning_rate: float | None = setting(
        None, between(0, 10), "highest learning rate",
        "5e-5 * (768 / width)^2, a quarter of it with mean pooling; 0.003 for models over words",
    )  # fmt: skip
    head_rate: float | None = setting(
        None, between(0.001, 1000), "learning rate of the head, as a multiple of that of the encoder",
        "10 with mean pooling, else 1",
    )  # fmt: skip
    head_start: str | None = setting(
        None, one_of("random", "logistic"), "how the head is initialised: at random, or as the logistic regression on "
        "the vectors that it reads", "logistic with mean pooling, else random",
    )  # fmt: skip
    head_end: str | None = setting(
        None, one_of("trained", "logistic"), "the head that is saved: the trained one, or a logistic regression on "
        "the vectors of the fine-tuned encoder",
        "logistic where --effort can be chosen and the head is initialised so, without validation rows; else trained",
    )  # fmt: skip
    head_strength: float | None = setting(
        None, between(1e-6, 1e6), "C of the regression of head_start and head_end",
        "1; half the number of classes, from six classes on, where a regression is saved",
    )  # fmt: skip
    trained_share: float | None = setting(
        None, between(0, 1), "weight interpolation: the saved weights are this share of the fine-tuned ones plus the "
        "rest of the initial ones",
        "chosen on out-of-fold predictions where the head is initialised as a regression, else 1",
    )  # fmt: skip
    weight_decay: float = setting(0.01, between(0, 10), "weight decay of AdamW")
    warmup: float = setting(0.1, between(0, 1), "fraction of the steps in which the learning rate rises")
    evaluations: int = setting(20, whole_between(1, 10**6), "number of evaluations on the validation rows")
    patience: int = setting(
        10, whole_between(1, 10**6), "number of evaluations without improvement before training stops"
    )
    selection: str = setting(
        "later", one_of("later", "accuracy"), "checkpoint that is kept: that of the best validation accuracy, or a "
        "later one if it is not clearly worse",
    )  # fmt: skip
    class_weights: str | Mapping[str, float] = setting(
        "none", WEIGHTS, "weights of the classes in the loss: none, auto, or name=weight,name=weight"
    )
    label_smoothing: float = setting(0.0, between(0, 0.99), "fraction of each label that is spread over all classes")
    dropout: float | None = setting(
        None, SHARE, "dropout probability of the encoder's states and attention in training", "the model's own"
    )
    trained_layers: int | str = setting(
        "all", LAYERS, "encoder layers that are trained, counted from the top; 0 is the head alone, a logistic "
        "regression on the frozen encoder; all includes the embeddings, and is used where a method mixes, or its "
        "guide reads, what lies below; auto is all"
    )  # fmt: skip
    kept_memory: float = setting(
        2.0, between(0, 10_000), "gigabytes of memory for the states of texts below the trained layers; those of "
        "further texts are computed again in every epoch"
    )  # fmt: skip
    contrastive: float | None = setting(
        None, between(0, 0.99), "weight, from 0 to 1, of a contrastive loss on the vectors that the head reads",
        "0.6 with mean pooling, else 0",
    )  # fmt: skip
    contrastive_temperature: float = setting(0.1, between(0.01, 100), "temperature of the contrastive loss")
    seed: int = setting(0, whole_between(0, 2**32 - 1), "seed of the random numbers")
    precision: str = setting(
        "auto", one_of("auto", "fp32", "bf16", "fp16"), "number format of the computation; auto is bf16 where the "
        "device computes it faster, else fp32",
    )  # fmt: skip
    device: str = setting("auto", one_of("auto", "cpu", "cuda"), "device to compute on")
    checksums: dict[str, str] = setting(dict, CHECKSUMS, "SHA-256 of the data files")

    def __post_init__(self):
        check_settings(self)
        if self.method is not None:
            retired = "plain+" if self.method.startswith("plain+") else self.method
            if retired in RETIRED_METHODS:
                raise InputError(f"--method {self.method} is no longer offered: {RETIRED_METHODS[retired]}")
            if ":" in self.method:  # ssmix:window=0.2
                name, options = name_and_options(self.method)
                object.__setattr__(self, "method", name)
                object.__setattr__(self, "method_options", {**self.method_options, **options})
        # Both need torch, which the command line does not import to show these settings.
        from salience.mixing.choosing import choose_method
        from salience.models.architectures import own_settings

        if self.method in REFERENCES:
            if self.method_options:
                raise InputError(f"{self.method} has no options, so {', '.join(self.method_options)} cannot be set")
        elif not (self.method or "").endswith("()"):  # an object, which `prepare` is given
            choose_method(self.method, self.method_options)
        if own_settings(self.model, self.model_options) is not None:
            if self.pooling not in ("auto", "cls"):
                raise InputError(
                    f"--set pooling={self.pooling}: {self.model} has a pooling of its own; leave it out, or choose "
                    "the pooling by the name of the model, such as attention:mean"
                )
            if self.dropout is not None:
                raise InputError(
                    f"--set dropout={self.dropout:g}: {self.model} has a dropout of its own; set it with "
                    f"--set-model dropout={self.dropout:g}"
                )
        if self.teacher is not None:
            self._check_taught()
        if self.trained_layers == 0:
            self._check_head_alone()
        elif self.steps == 0:
            raise InputError("--steps must be at least 1, not 0; --trained-layers 0 trains the head alone")
        # A start that is left open may turn out to be a regression; the plan is checked here, too.
        if self.head_start == "random" and self.head_end != "logistic" and self.head_strength not in (None, 1):
            raise InputError("--set head_strength has no effect without --set head_start=logistic")
        if self.contrastive and self.accumulation * world_size() > 1:
            raise InputError(
                "--set contrastive compares all texts of a step with each other: use it with accumulation=1, in one "
                "process"
            )
        if self.contrastive and not self.clean and self.method not in (None, "plain", *REFERENCES):
            raise InputError("--set contrastive compares unmixed texts: use it with clean above 0, or leave it out")
        if self.contrastive == 0 and self.contrastive_temperature != Recipe.contrastive_temperature:
            raise InputError(
                "--set contrastive_temperature has no effect without a weight, such as --set contrastive=0.1"
            )

    def _check_taught(self) -> None:
        asked = {
            f"--estimate {self.estimate}": self.estimate not in (None, "none"),
            f"--set validation_share={self.validation_share}": self.validation_share != 0,
            "--label-descriptions": self.label_descriptions is not None,
            f"--marks {self.marks}": self.marks is not None,
            f"--ignore {self.ignore}": self.ignore is not None,
            f"--corrections {self.corrections}": self.corrections is not None,
            f"--trained-layers {self.trained_layers}": self.trained_layers == 0,
            f"--effort {self.effort}": self.effort is not None,
            f"--set contrastive={self.contrastive}": bool(self.contrastive),
            f"--set head_end={self.head_end}": self.head_end == "logistic",
        }
        for option, is_asked in asked.items():
            if is_asked:
                raise InputError(
                    "a student learns in steps what its teacher says, and labels of people alone measure it (--test): "
                    f"leave out {option}"
                )

    def _check_head_alone(self) -> None:
        asked = {
            f"--steps {self.steps}": bool(self.steps),
            f"--effort {self.effort}": self.effort is not None,
            f"--method {self.method}": self.method not in (None, "plain", *REFERENCES),
            f"--set head_start={self.head_start}": self.head_start == "random",
            f"--set contrastive={self.contrastive}": bool(self.contrastive),
        }
        for option, is_asked in asked.items():
            if is_asked:
                raise InputError(
                    "--trained-layers 0 trains the head alone, a logistic regression without steps: leave out "
                    f"{option}"
                )

    def strength_saved(self, classes: int, several: bool) -> float:
        """C of a regression that is saved as the head: with more classes, each probability follows its weights less.

        docs/research/studies/head-strength.md has the measurement, without multi-label texts and descriptions.
        """
        many = classes > FEW_CLASSES and not several and self.label_descriptions is None
        return classes / 2 if many else 1.0

    def resolved(
        self, rows: int, classes: int, width: int | None, *, several: bool = False, validated: bool = False, **found,
    ) -> Plan:  # fmt: skip
        """What is used: every value that is left open follows from the data and the model.

        `width` is the number of hidden units of a transformer, None for a model over words; `found` are settings that
        data, model and machine have shown: `pooling`, `head_start`, `max_length`, `precision`, and the columns.
        """
        asked = {**vars(self), **found}
        mean = asked["pooling"] in ("mean", "first")
        is_small, taught = rows < LARGE, self.teacher is not None
        has_efforts = mean and rows <= MOST and not several and not taught
        if self.effort not in (None, "best") and not has_efforts:
            raise InputError(
                f"--effort {self.effort} is for encoders with mean pooling, one label a text and up to {MOST:,} "
                "rows: leave it out"
            )
        effort = (EFFORTS if is_small else OF_LARGE)[(self.effort or "normal") if has_efforts else "best"]
        if taught and mean:
            effort = TAUGHT
        # Small data sets need many small steps, large ones fewer large ones.
        usual = 16 if is_small or taught else 32
        batch_size = usual if self.batch_size is None else self.batch_size
        factor = effort.steps if self.steps_factor is None else self.steps_factor
        steps = PASSES * rows / batch_size if taught else default_steps(rows, classes, batch_size)
        rate, head_rate = default_rates(width, mean)
        mixes = mean and not taught
        values: dict[str, Any] = {
            "batch_size": batch_size, "steps": max(1, round(steps * factor)), "steps_factor": factor,
            # Mixtures of sentence vectors where the head reads a mean; other heads were not measured, and have none.
            "method": "senmixup" if mixes else "plain",
            "learning_rate": rate * effort.rate, "head_rate": head_rate, "contrastive": 0.0, "head_end": "trained",
            "head_strength": 1.0,
        }  # fmt: skip
        if self.method is None:
            asked["method_options"] = {"alpha": 1} if mixes else {}
        fits = (self.clean or self.method == "plain") and self.accumulation * world_size() == 1
        if mixes and fits and not several:  # where it can be had and was measured
            values["contrastive"] = CONTRAST
        if has_efforts and asked["head_start"] == "logistic" and not validated:
            values["head_end"] = "logistic"
        if self.trained_layers == 0:
            values |= {"steps": 0, "method": "plain", "contrastive": 0.0, "trained_share": 1.0}
            asked["method_options"] = {}
        if self.trained_layers == 0 or (self.head_end or values["head_end"]) == "logistic":
            values["head_strength"] = self.strength_saved(classes, several)
        if validated or taught or asked["head_start"] == "random":  # else the estimate chooses it, if there is one
            values["trained_share"] = 1.0
        return Plan(**asked | {name: value for name, value in values.items() if asked[name] is None})

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], source: str = "") -> Self:
        """A recipe from the names and values of a yaml file; `source` is its name, for messages."""
        return cls(**cls.known(settings, source))

    @classmethod
    def known(cls, settings: Mapping[str, Any], source: str = "") -> dict[str, Any]:
        """Settings by the names of today. Refuses others, and settings that name no data."""
        settings = without_retired(settings, source)
        names = [option.name for option in fields(cls)]
        # An empty mapping is what a yaml file says with `model_options:` and nothing behind it.
        for name in ("model_options", "method_options", "procedure_options", "checksums"):
            if name in settings and settings[name] is None:
                settings[name] = {}
        for name in settings:
            if name not in names:
                raise unknown(f"setting in {source}" if source else "setting", name, names)
        if "data" not in settings:
            raise InputError(f"{source or 'the recipe'}: no data named; give a file or a hub data set")
        return settings

    def as_mapping(self) -> dict[str, Any]:
        """The names and values as `from_mapping` takes them."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Plan(Recipe):
    """What is used: a recipe in which nothing is left open that follows from the data and the model.

    None stands only for what a run does without, such as a limit of rows; for a `trained_share` that the estimate is
    to choose; and for settings of the estimate.
    """

    max_length: int
    method: str
    steps: int
    steps_factor: float
    batch_size: int
    learning_rate: float
    head_rate: float
    head_start: str
    head_end: str
    head_strength: float
    contrastive: float

    def __post_init__(self):
        super().__post_init__()
        if left_open := [name for name in Plan.__annotations__ if getattr(self, name) is None]:
            raise InputError(f"{', '.join(left_open)}: nothing of what a run uses can be left open")
