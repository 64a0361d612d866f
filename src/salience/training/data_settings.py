"""The settings of a recipe that are about its data: which rows are read, and which ones measure the model."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from salience.settings import BOOL, TEXT, between, one_of, setting, whole_between
from salience.training.recipe_kinds import ESTIMATE


@dataclass(frozen=True)
class DataSettings:
    """The first settings of a `Recipe`."""

    data: str = setting(MISSING, TEXT, "labelled texts: csv, tsv, jsonl or parquet, also .gz, or a hub data set")
    validation: str | None = setting(None, TEXT, "rows on which the best checkpoint is selected", "none")
    test: str | None = setting(None, TEXT, "rows for the final test; nothing is selected on them", "none")
    text: str | None = setting(None, TEXT, "column of the text", "guessed")
    text_pair: str | None = setting(None, TEXT, "column of a second text, for pairs of texts", "guessed")
    label: str | None = setting(
        None, TEXT, "column of the label, or of a list of labels; or columns of 0 and 1, one for each label, as "
        "joy,fear,anger", "guessed",
    )  # fmt: skip
    label_separator: str | None = setting(
        None, TEXT, 'what divides the labels of a text in the label column, such as "|"', "none: one label, or a list"
    )
    group: str | None = setting(
        None, TEXT, "column of groups, such as authors, that the estimate and --validation-share do not divide", "none"
    )
    encoding: str = setting("utf-8", TEXT, "character encoding of csv and tsv files")
    bad_rows: str = setting("error", one_of("error", "skip"), "how rows without a text or a label are treated")
    # None is 0.2, and 0.1 from 1,000 rows on; see `default_share`.
    validation_share: float | None = setting(
        0.0, between(0, 0.9).or_none(),
        "fraction of the training rows held out to select the best checkpoint; 0 trains on all rows",
    )  # fmt: skip
    estimate: str | None = setting(
        None, ESTIMATE, "further models that estimate the scores on new rows, each trained on a part of the labelled "
        "rows: none, holdout (one model), or folds:K (K models)",
        "folds:2; none with validation rows, or with test rows and 5,000 labelled rows",
    )  # fmt: skip
    calibrate: bool | None = setting(
        None, BOOL, "fold a temperature into the model, fitted on the rows of the estimate", "yes if there is one"
    )
    target_precision: float | None = setting(
        None, between(0.5, 0.999), "precision for which predict abstains below thresholds, of texts with "
        "several labels that of each label; the models of the estimate reach it with 95 % certainty",
        "none: predict decides every text",
    )  # fmt: skip

    long: str = setting(
        "head", one_of("head", "head-tail", "windows"), "what is read of texts longer than --max-length: the head; "
        "head-tail, half of it from either end; windows over the whole text, whose logits are averaged",
    )  # fmt: skip
    label_descriptions: str | None = setting(
        None, TEXT, "yaml file with a text or a list of texts that describe each label, on which the model is trained "
        "too; names takes the names of the labels", "none",
    )  # fmt: skip

    size: int | None = setting(
        None, whole_between(1, 10**9), "number of rows of the data that are drawn, stratified by class", "all"
    )
    label_noise: float | None = setting(
        None, between(0, 1), "fraction of the training and validation labels that are replaced by wrong ones, "
        "of texts with several labels of the decisions about each label", "none",
    )  # fmt: skip
