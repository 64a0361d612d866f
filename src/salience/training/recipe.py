"""Everything that a run depends on, as one value. It is saved with the run and repeats it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any

from salience.assignments import name_and_options
from salience.errors import InputError, listed, unknown
from salience.settings import BOOL, TEXT, as_option, between, check_settings, one_of, setting, whole_between
from salience.training.default_schedule import default_batch_size, default_learning_rate, default_steps
from salience.training.earlier_recipes import from_earlier
from salience.training.plain_stage import PLAIN_SHARE, PREFIX, split_name
from salience.training.recipe_kinds import CHECKSUMS, ESTIMATE, OPTIONS, WEIGHTS


@dataclass(frozen=True)
class Recipe:
    """What to train on, with what, and how.

    None stands for a value that follows from the data; `resolved` fills it in. `model_options`, `method_options` and
    `procedure_options` hold the settings of the model, the method and the training procedure that the recipe names.

    Raises:
        InputError: a value does not fit its setting.
    """

    data: str = setting(MISSING, TEXT, "labelled texts: csv, tsv, jsonl or parquet, also .gz, or a hub data set")
    validation: str | None = setting(
        None, TEXT, "rows on which the best checkpoint is selected", "held out of the training data"
    )
    test: str | None = setting(None, TEXT, "rows for the final test; nothing is selected on them", "none")
    text: str | None = setting(None, TEXT, "column of the text", "guessed")
    text_pair: str | None = setting(None, TEXT, "column of a second text, for pairs of texts", "guessed")
    label: str | None = setting(None, TEXT, "column of the label", "guessed")
    group: str | None = setting(
        None, TEXT, "column of groups, such as authors, that the estimate does not divide", "none"
    )
    encoding: str = setting("utf-8", TEXT, "character encoding of csv and tsv files")
    bad_rows: str = setting("error", one_of("error", "skip"), "how rows without a text or a label are treated")
    validation_share: float | None = setting(
        None, between(0, 0.9), "fraction of the training rows held out for validation; 0 trains on all rows",
        "0.2; 0.1 from 1,000 rows on",
    )  # fmt: skip
    estimate: str | None = setting(
        None, ESTIMATE, "further models that estimate the scores on new rows, each trained on a part of the labelled "
        "rows: none, holdout (one model), or folds:K (K models)", "folds:2 if all rows train and none test, else none",
    )  # fmt: skip
    calibrate: bool = setting(False, BOOL, "fold a temperature into the model, fitted on the rows of the estimate")

    unlabelled: str | None = setting(
        None, TEXT, "texts without labels, on which the model is trained too, with labels that it gives them", "none"
    )
    unlabelled_view: str = setting(
        "randomunk:window=0.15", TEXT, "how these texts are changed before the model learns from them: plain for not "
        "at all, or a mixing method",
    )  # fmt: skip
    unlabelled_ratio: int = setting(
        2, whole_between(0, 100), "number of these texts for each labelled one in a step; 0 trains without them"
    )
    unlabelled_weight: float = setting(1.0, between(0, 100), "weight of the loss on these texts")

    size: int | None = setting(
        None, whole_between(1, 10**9), "number of rows of the data that are drawn, stratified by class", "all"
    )
    label_noise: float | None = setting(
        None, between(0, 1), "fraction of the training and validation labels that are replaced by wrong ones", "none"
    )

    model: str = setting(
        "minilm", TEXT, "pretrained model: minilm, a folder, or a name on the hub; or a classifier with attention "
        "pooling, such as attention:dot or lstm-vat",
    )  # fmt: skip
    model_options: dict[str, Any] = setting(dict, OPTIONS, "settings of an attention classifier")
    pooling: str = setting(
        "cls", one_of("auto", "mean", "trained-mean", "cls"), "what the head reads: cls is the model's own head; mean "
        "the mean of all tokens; trained-mean begins as the mean and learns to attend; auto is mean for encoders that "
        "were trained for it, else cls",
    )  # fmt: skip
    max_length: int | None = setting(
        None, whole_between(1, 1_000_000), "number of tokens read from each text; longer texts are cut off",
        "the model's maximum, at most 512",
    )  # fmt: skip
    method: str = setting(
        "ssmix", TEXT, "mixing method: plain, or one listed by `salience methods`, such as ssmix:window=0.2; "
        "plain+ssmix trains without mixing first (--plain-share 0.375)",
    )  # fmt: skip
    method_options: dict[str, Any] = setting(dict, OPTIONS, "settings of the method")
    plain_share: float = setting(
        0.0, between(0, 0.95), "fraction of the steps that train without mixing first; the method then goes on from "
        "the best checkpoint, at a fifth of the learning rate",
    )  # fmt: skip
    clean: float = setting(0.5, between(0, 0.99), "weight of the loss on the original texts, from 0 to 1")
    procedure_options: dict[str, Any] = setting(dict, OPTIONS, "settings of the training procedure of the model")

    steps: int | None = setting(None, whole_between(1, 10**9), "number of training steps", "follows from the data")
    steps_factor: float = setting(
        1.0, between(0.01, 100), "multiple of the number of steps that follows from the data"
    )
    batch_size: int | None = setting(
        None, whole_between(1, 10**6), "number of texts in a training step", "16; 32 from 2,000 rows on"
    )
    accumulation: int = setting(
        1, whole_between(1, 10**6), "number of parts that a batch is split into, to save memory"
    )
    learning_rate: float | None = setting(
        None, between(0, 10), "highest learning rate", "5e-5 * (768 / width)^2; 0.003 for models over words"
    )
    head_rate: float = setting(
        1.0, between(0.001, 1000), "learning rate of the head, as a multiple of that of the last encoder layer"
    )
    layer_decay: float = setting(
        1.0, between(0.01, 1), "learning rate of each encoder layer, as a multiple of that of the layer above it"
    )
    weight_decay: float = setting(0.01, between(0, 10), "weight decay of AdamW")
    warmup: float = setting(0.1, between(0, 1), "fraction of the steps in which the learning rate rises")
    evaluations: int = setting(20, whole_between(1, 10**6), "number of evaluations on the validation rows")
    patience: int = setting(
        10, whole_between(1, 10**6), "number of evaluations without improvement before training stops"
    )
    class_weights: str | Mapping[str, float] = setting(
        "none", WEIGHTS, "weights of the classes in the loss: none, auto, or name=weight,name=weight"
    )
    label_smoothing: float = setting(
        0.0, between(0, 0.99), "fraction of each label that is spread evenly over all classes"
    )
    seed: int = setting(0, whole_between(0, 2**32 - 1), "seed of the random numbers")
    precision: str = setting(
        "auto", one_of("auto", "fp32", "bf16", "fp16"), "number format of the computation; auto is bf16 where the "
        "device computes it faster, else fp32",
    )  # fmt: skip
    device: str = setting("auto", one_of("auto", "cpu", "cuda"), "device to compute on")
    checksums: dict[str, str] = setting(dict, CHECKSUMS, "SHA-256 of the data files")

    def __post_init__(self):
        check_settings(self, as_option)
        if ":" in self.method:  # ssmix:window=0.2
            name, options = name_and_options(self.method)
            object.__setattr__(self, "method", name)
            object.__setattr__(self, "method_options", {**self.method_options, **options})
        staged, name = split_name(self.method)
        if staged:  # plain+ssmix
            object.__setattr__(self, "method", name)
            object.__setattr__(self, "plain_share", self.plain_share or PLAIN_SHARE)

    @property
    def staged_method(self) -> str:
        """The name of the method, with that of the plain stage if there is one: ssmix, plain+ssmix."""
        return PREFIX * bool(self.plain_share) + self.method

    def resolved(self, rows: int, classes: int, width: int | None) -> Recipe:
        """The recipe with every open value filled in.

        Args:
            rows: number of training texts.
            classes: number of labels.
            width: number of hidden units of a transformer; None for a model over words.
        """
        batch_size = default_batch_size(rows) if self.batch_size is None else self.batch_size
        usual = default_steps(rows, classes, batch_size)
        steps = max(1, round(usual * self.steps_factor)) if self.steps is None else self.steps
        # 0 is a learning rate too: nothing is learnt, and that was asked for.
        learning_rate = default_learning_rate(width) if self.learning_rate is None else self.learning_rate
        return replace(self, batch_size=batch_size, steps=steps, learning_rate=learning_rate)

    @classmethod
    def from_mapping(
        cls, settings: Mapping[str, Any], source: str = "", note: Callable[[str], None] = lambda line: None
    ) -> Recipe:
        """A recipe from the names and values of a yaml file.

        Args:
            source: the file's name, for messages.
            note: told in one line which settings of an earlier version are read under new names.

        Raises:
            InputError: an unknown setting, no data, or a value that does not fit.
        """
        settings, renamed = from_earlier(settings)
        if renamed:
            written = source or "the recipe"
            note(f"{written} is of an earlier version: {listed(renamed)} now belong to procedure_options")
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
        return cls(**settings)

    def as_mapping(self) -> dict[str, Any]:
        """The names and values as `from_mapping` takes them."""
        return asdict(self)
