"""The papers' data sets, read from a folder with a subfolder for each set, or from the hub; and a training on one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from transformers import PreTrainedModel, set_seed

from salience.classify import TextClassifier
from salience.classify.classifier import predict_probabilities
from salience.data.encoding import Encoded
from salience.data.reading import stream
from salience.data.tables import hub_rows, hub_splits
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError, listed, quoted, unknown
from salience.models.loading import load_classifier
from salience.training.fit import Listeners, fit
from salience.training.prepare import prepare
from salience.training.recipe import Recipe

SPLIT_SEED = 13478  # of the splits of Jain and Wallace (NAACL 2019, arXiv:1902.10186), whom Sun and Lu (2020) follow
SHORT = 400  # words: longer reviews are left out

Rows = list[dict[str, Any]]
Parts = tuple[Rows, Rows, Rows]  # training, validation, test
Preparation = Callable[[Rows, Rows], Parts]  # of training and test rows


def newsgroup_words(text: str) -> str:
    """A message in lower case: words with a digit become "qqq", and most punctuation disappears.

    The tokens of the text, words apart from punctuation marks, are joined by spaces. Then each run of characters that
    belong to no word becomes its last character: a mark inside a word stays, between spaces, and all others go.
    """
    tokens = re.findall(r"\w+(?:'\w+)*|[^\w\s]", text)
    joined = " ".join("qqq" if any(map(str.isdigit, token)) else token.lower() for token in tokens)
    return " ".join(re.sub(r"\W+", lambda run: f" {run.group()[-1]} ", joined).split())


def newsgroups(training: int, validation: int, test: int) -> Preparation:
    """Prepares messages, and splits all of them together into parts of so many rows, stratified."""

    def prepare(*parts: Rows) -> Parts:
        messages = [row | {"text": newsgroup_words(row["text"])} for part in parts for row in part]
        rest, tested = stratified([row for row in messages if row["text"]], test)
        rest, held_out = stratified(rest, validation)
        return rest[:training], held_out, tested

    return prepare


def short_reviews(held_out: float, test: int) -> Preparation:
    """Leaves out long reviews, holds a share of the training rows out, and draws so many test rows, stratified.

    Line breaks of the web become spaces.
    """

    def prepare(*parts: Rows) -> Parts:
        lines = ([row | {"text": re.sub(r"<br\s*/?>|\s+", " ", row["text"])} for row in part] for part in parts)
        training, tested = ([row for row in part if len(re.findall(r"\w+", row["text"])) < SHORT] for part in lines)
        training, validation = stratified(training, round(held_out * len(training)))
        return training, validation, stratified(tested, test)[1]

    return prepare


def stratified(rows: Rows, drawn: int) -> tuple[Rows, Rows]:
    """The rows that are left, and those that are drawn."""
    labels = [row["label"] for row in rows]
    left, taken = train_test_split(rows, test_size=drawn, random_state=SPLIT_SEED, stratify=labels)
    return left, taken


@dataclass(frozen=True)
class Source:
    """Where a data set is read from, and how it is split.

    The set's own parts are used; if it has no validation part, or that is the part to test on, the share `held_out` of
    the training rows is held out. Some sets differ on the hub: AG News and QNLI are complete there, and SST-1 has no
    labels of words. Sets with a `preparation` are prepared and split here if they are from the hub; a folder holds the
    result.
    """

    folder: str
    hub: str
    labels: tuple[str, ...]  # in the order of their numbers; of two labels the second is the positive one
    hub_label: str = "label"  # the label's column on the hub: a text, or a number with a name
    pairs_on_hub: tuple[str, str] | None = None  # of pairs: the columns of both texts on the hub
    test: tuple[str, str] = ("test", "test")  # the part to test on, in the folder and on the hub
    preparation: Preparation | None = None  # of the hub's rows
    subset: bool = False  # whether the hub's set has further classes, which are left out
    held_out: float = 0.1
    tokenised: bool = False  # words are separated by spaces already


# The 50 fine classes of TREC.
FINE = (
    "ABBR:abb", "ABBR:exp", "DESC:def", "DESC:desc", "DESC:manner", "DESC:reason", "ENTY:animal", "ENTY:body",
    "ENTY:color", "ENTY:cremat", "ENTY:currency", "ENTY:dismed", "ENTY:event", "ENTY:food", "ENTY:instru",
    "ENTY:lang", "ENTY:letter", "ENTY:other", "ENTY:plant", "ENTY:product", "ENTY:religion", "ENTY:sport",
    "ENTY:substance", "ENTY:symbol", "ENTY:techmeth", "ENTY:termeq", "ENTY:veh", "ENTY:word", "HUM:desc", "HUM:gr",
    "HUM:ind", "HUM:title", "LOC:city", "LOC:country", "LOC:mount", "LOC:other", "LOC:state", "NUM:code",
    "NUM:count", "NUM:date", "NUM:dist", "NUM:money", "NUM:ord", "NUM:other", "NUM:perc", "NUM:period", "NUM:speed",
    "NUM:temp", "NUM:volsize", "NUM:weight",
)  # fmt: skip
ENTAILMENT = ("not_entailment", "entailment")

SOURCES = {
    "sst2": Source("sst2", "SetFit/sst2", ("negative", "positive"), "label_text", tokenised=True),
    "imdb": Source("imdb", "stanfordnlp/imdb", ("negative", "positive"), held_out=0.2),
    # Sun and Lu's IMDB: no reviews of 400 words and more.
    "imdb-short": Source(
        "imdb_short", "stanfordnlp/imdb", ("negative", "positive"), preparation=short_reviews(held_out=0.2, test=4363)
    ),
    "20news-1": Source(
        "20news_sports_jw", "SetFit/20_newsgroups", ("rec.sport.baseball", "rec.sport.hockey"), "label_text",
        preparation=newsgroups(1236, 310, 387), subset=True, tokenised=True,
    ),
    "20news-2": Source(
        "20news_moto_med_guns_jw", "SetFit/20_newsgroups", ("rec.motorcycles", "sci.med", "talk.politics.guns"),
        "label_text", preparation=newsgroups(2300, 240, 274), subset=True, tokenised=True,
    ),
    "trec": Source(
        "trec", "SetFit/TREC-QC", ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"), "label_coarse_original",
        held_out=452 / 5452, tokenised=True,
    ),
    # The folder holds SST-1 as trees: the same texts and splits, with the sentiment of every word.
    "sst5": Source(
        "sst_trees", "SetFit/sst5", ("very negative", "negative", "neutral", "positive", "very positive"),
        "label_text", tokenised=True,
    ),
    "subj": Source("subj", "SetFit/subj", ("objective", "subjective"), "label_text", tokenised=True),
    "mr": Source("mr", "cornell-movie-review-data/rotten_tomatoes", ("negative", "positive"), tokenised=True),
    "trec-fine": Source("trec_fine", "SetFit/TREC-QC", FINE, "label_original", tokenised=True),
    # Of GLUE, the hub has no labels of the test part.
    "rte": Source("rte", "SetFit/rte", ENTAILMENT, "label_text", ("text1", "text2"), test=("dev", "dev")),
    "qnli": Source("qnli", "SetFit/qnli", ENTAILMENT, "label_text", ("text1", "text2"), test=("test", "dev")),
    "mrpc": Source("mrpc", "SetFit/mrpc", ("not_equivalent", "equivalent"), "label_text", ("text1", "text2"),
                   tokenised=True),
    "ag_news": Source("ag_news", "fancyzhx/ag_news", ("World", "Sports", "Business", "Sci/Tech")),
}  # fmt: skip


def load(name: str, data_dir: Path | None, seed: int = 0) -> Task:
    """A data set with its three parts. The same seed draws the same rows.

    Args:
        name: one of `SOURCES`.
        data_dir: a folder with FOLDER/train.jsonl.gz, test.jsonl.gz and possibly dev.jsonl.gz for each set; None reads
            from the hub.

    Raises:
        InputError: the set is unknown or missing, or a row has no text or an unknown label; the message names the
            place.
    """
    if name not in SOURCES:
        raise unknown("data set", name, SOURCES)
    source = SOURCES[name]
    tested = source.test[data_dir is None]
    training = rows(source, "train", data_dir)
    validation = [] if tested == "dev" else rows(source, "dev", data_dir)
    test = rows(source, tested, data_dir)
    random = np.random.default_rng(seed)
    if data_dir is None and source.preparation is not None:
        training, validation, test = source.preparation(training, test)
    elif not validation:
        order = random.permutation(len(training))
        held = round(source.held_out * len(training))
        validation, training = [training[i] for i in order[:held]], [training[i] for i in order[held:]]

    def texts(part: Rows, judged: bool = False) -> Texts:
        """Those on which explanations are judged have the labels of the words as marks, if the rows have them.

        A training would read marks: the papers' methods know none.
        """
        columns = part[0] if part else {}
        return Texts(
            [row["text"] for row in part],
            [row["text_pair"] for row in part] if "text_pair" in columns else None,
            labels=np.array([source.labels.index(row["label"]) for row in part], np.int64),
            marks=[row["token_labels"] for row in part] if judged and "token_labels" in columns else None,
        )

    return Task(
        list(source.labels), texts(training), texts(validation), texts(test, judged=True), tokenised=source.tokenised
    )


def rows(source: Source, part: str, data_dir: Path | None) -> Rows:
    """The rows of a part ("train", "dev" or "test") of a set; none if the set has no "dev".

    Raises:
        InputError: the part is missing, or a row has no text or an unknown label.
    """
    name = f"{source.folder}/{part}.jsonl.gz"
    if data_dir is not None:
        file = data_dir / name
        if file.is_file():
            return [_checked(row, source, f"{file}: row {number}") for number, row in enumerate(stream(str(file)), 1)]
        if part == "dev":
            return []
        raise InputError(f"no data set at {file}: --data-dir is a folder with {name} in it")
    try:
        return list(_rows_of_hub(source, part))
    except InputError as error:
        raise InputError(f"{error}; --data-dir names a folder with {name} in it") from error


def _rows_of_hub(source: Source, part: str) -> Iterator[dict]:
    """As `rows`, from the hub. If the set is drawn from a larger one, rows of other classes are left out."""
    if part == "dev":
        part = "validation"
        if part not in hub_splits(source.hub):
            return
    for number, row in enumerate(hub_rows(source.hub, part), 1):
        name = str(row.get(source.hub_label))
        # Some sets abbreviate, "pos" for "positive", and some have "not entailment" for "not_entailment".
        begins = (name, name.replace(" ", "_"))
        label = next((known for known in source.labels if name and known.startswith(begins)), name)
        texts = dict(zip(("text", "text_pair"), source.pairs_on_hub or ("text",), strict=False))
        own = {name: row[column] for name, column in texts.items()} | {"label": label}
        if not source.subset:
            yield _checked(own, source, f"{source.hub}, {part}: row {number}")
        elif label in source.labels and row["text"].strip():
            yield own


def _checked(row: dict, source: Source, place: str) -> dict:
    """The row, which must have a text and one of the set's labels; `place` names it in the error."""
    needed = ["text", "text_pair", "label"] if source.pairs_on_hub else ["text", "label"]
    if not {*needed} <= row.keys():
        raise InputError(f"{place} has the columns {listed(row)}, but needs {listed(needed)}")
    if row["label"] not in source.labels:
        raise InputError(f"{place}: unknown label {quoted(row['label'])}; known: {listed(source.labels)}")
    return row


def train_minilm(data: Task, name: str, method: str, seed: int, max_length: int) -> TextClassifier:
    """The packaged MiniLM, trained with a method and the default recipe on the data set of this name."""
    set_seed(seed)
    model, tokenizer = load_classifier("minilm", data.labels)
    recipe = Recipe(data=name, method=method, seed=seed)
    return train_classifier(TextClassifier(model, tokenizer, max_length), data, recipe)[0]


def train_classifier(
    classifier: TextClassifier,
    data: Task,
    recipe: Recipe,
    watch: Callable[[TextClassifier], None] = lambda classifier: None,
) -> tuple[TextClassifier, list[dict]]:
    """Trains the model of a classifier up to the checkpoint that validation chooses. Test texts are not read.

    `watch` is called with the classifier after every iteration of a training by turns.

    Returns:
        The trained classifier, and the results of every iteration of a training by turns.
    """
    prepared = prepare(recipe, replace(data, test=Texts([])), classifier=classifier)
    listeners = Listeners(iteration=lambda model: watch(replace(classifier, model=model)))
    with TemporaryDirectory() as folder:
        fitted = fit(prepared, Path(folder), listeners)
    return fitted.classifier, fitted.iterations


def accuracy(model: PreTrainedModel, encoded: Encoded) -> float:
    """The accuracy of a model on texts with labels, from 0 to 1, computed in fp32."""
    predicted = predict_probabilities(model, encoded, "fp32").argmax(1)
    return float((predicted == np.asarray(encoded.labels)).mean())
