"""Sun and Lu's analysis (ACL 2020, section 5) of one data set: what becomes of attention and polarity over scales."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from transformers import TrainerCallback

from salience.analysis.association import NONE, association, categories, counts
from salience.analysis.token_scores import TokenScores, check_scored, global_scores, local_scores
from salience.batch import Batch
from salience.data.batching import like_length
from salience.data.datasets import DataSet
from salience.data.encoding import Encoded, encode_texts
from salience.errors import listed
from salience.models.attention_classifier import AttentionClassifier
from salience.models.attention_models import AttentionOptions
from salience.training.alignment import alignment, coupling
from salience.training.word_models import Fitted, WordRecipe, accuracy, fit_words


@dataclass(frozen=True)
class Words:
    """The types of a training set: what each is, how often it stands where, and to which category it belongs."""

    names: list[str]  # (V,)
    counts: np.ndarray  # (V, C)
    category: np.ndarray  # (V,) as in `analysis.association`

    @cached_property
    def association(self) -> np.ndarray | None:
        """gamma (V,), which two classes have."""
        return association(self.counts) if self.counts.shape[1] == 2 else None


@dataclass(frozen=True)
class Analysis:
    """One trained model on one data set."""

    scale: float
    words: Words
    alone: TokenScores  # global scores, of each type by itself
    in_texts: TokenScores  # local scores, means over the training texts
    in_test: TokenScores | None  # over the test texts
    alignment: float | None  # |V^T W|, where it is defined
    test_accuracy: float | None
    trajectory: list[dict]  # an epoch each, where the training was watched


def analyse(
    model: AttentionClassifier, tokenizer, data: DataSet, max_length: int | None = None, trajectory: list | None = None
) -> Analysis:
    """Everything about a trained model that the pictures show.

    Raises:
        ValueError: the model has no attention score or no polarity, or knows other labels.
    """
    check_scored(model)
    known = tuple(model.config.id2label[number] for number in range(model.config.num_labels))
    if known != tuple(data.labels):
        raise ValueError(f"it knows the labels {listed(known)}, but the texts have {listed(data.labels)}")
    training, test = (
        encode_texts(tokenizer, part.texts, labels=part.labels, max_length=max_length)
        for part in (data.training, data.test)
    )
    special = special_around(tokenizer)
    try:
        aligned = alignment(model).item()
    except ValueError:
        aligned = None
    return Analysis(
        scale=model.config.scale,
        words=words_of(tokenizer, training, model.config.vocab_size, len(data.labels)),
        alone=global_scores(model, special),
        in_texts=local_scores(model, batches_of(model, training)),
        in_test=local_scores(model, batches_of(model, test)) if len(test) else None,
        alignment=aligned,
        test_accuracy=accuracy(model, test) if len(test) else None,
        trajectory=trajectory or [],
    )


def sweep(
    options: AttentionOptions,
    recipe: WordRecipe,
    data: DataSet,
    scales: list[float],
    seed: int = 0,
    max_length: int | None = None,
    say: Callable[[str], None] = print,
) -> list[Analysis]:
    """Trains a model for each scale, watching it, and analyses it.

    Raises:
        ValueError: a scale is none; nothing has been trained then.
    """
    found = []
    scaled = {scale: replace(options, scale=scale) for scale in scales}
    for scale, own in scaled.items():
        watcher = Watcher(data, max_length)
        fitted = fit_words(own, recipe, data, seed, max_length, callbacks=[watcher])
        analysis = analyse(fitted.model, fitted.tokenizer, data, max_length, watcher.seen)
        found.append(analysis)
        say(f"scale {scale:g}: {told(fitted)}, the best of {recipe.epochs} epochs is the {fitted.best_epoch + 1}.")
    return found


def told(fitted: Fitted) -> str:
    if fitted.test_accuracy is None:
        return f"validation accuracy {max(fitted.accuracies):.3f}"
    return f"test accuracy {fitted.test_accuracy:.3f}"


class Watcher(TrainerCallback):
    """Notes after every epoch how the mean global scores of the words' categories stand, which are `analyse`'s."""

    def __init__(self, data: DataSet, max_length: int | None = None):
        self.data, self.max_length = data, max_length
        self.category: np.ndarray | None = None
        self.seen: list[dict] = []

    def on_train_begin(self, args, state, control, model=None, processing_class=None, **_):
        training = self.data.training
        encoded = encode_texts(processing_class, training.texts, labels=training.labels, max_length=self.max_length)
        self.category = words_of(processing_class, encoded, model.config.vocab_size, len(self.data.labels)).category
        self.look(model)

    def on_epoch_end(self, args, state, control, model=None, **_):
        self.look(model)

    def look(self, model: AttentionClassifier) -> None:
        assert self.category is not None  # training has begun
        found = global_scores(model)
        row = {"epoch": len(self.seen), "V^T W": coupling(model).tolist()}
        for category in np.unique(self.category):
            own = torch.from_numpy(self.category == category)
            row[f"attention {category}"] = found.attention[own].mean().item()
            row[f"polarity {category}"] = found.polarity[own].mean(0).tolist()
        self.seen.append(row)


def words_of(tokenizer, encoded: Encoded, vocabulary: int, classes: int) -> Words:
    """What is known of the vocabulary from encoded training texts.

    Raises:
        ValueError: no word is of a class or neutral.
    """
    texts = [encoded[row]["input_ids"][encoded[row]["segment"] > 0] for row in range(len(encoded))]
    assert encoded.labels is not None  # of training texts
    counted = counts(texts, encoded.labels, vocabulary, classes)
    found = categories(counted)
    if (found == NONE).all():
        raise ValueError("no word stands in enough texts to be of a class, or in enough of each to be neutral")
    return Words(tokenizer.convert_ids_to_tokens(list(range(vocabulary))), counted, found)


def batches_of(model: AttentionClassifier, encoded: Encoded) -> Iterator[Batch]:
    return (batch for _, batch in like_length(model, encoded))


def special_around(tokenizer) -> tuple[int, ...]:
    """The special tokens that a single text gets: none, or one on either side."""
    return tuple(tokenizer("", add_special_tokens=True)["input_ids"])
