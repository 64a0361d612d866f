"""Attention and polarity scores of the words of a data set, for models with several scales of the attention.

The attention score a of a token is the argument of the softmax. Its polarity score s is the score that the head would
give to a text whose attention is all on this token. The global scores of a word type are those of a text that
consists of this word alone. Its local scores are means over its occurrences in a corpus; they differ from the global
ones if the encoder reads the context.

Sun and Lu (ACL 2020), "Understanding Attention for Text Classification", doi 10.18653/v1/2020.acl-main.312, sections 3
and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn
from transformers import TrainerCallback

from salience.audit.words import NONE, association, categories, counts
from salience.batch import Batch
from salience.data.batching import like_length
from salience.data.encoding import Encoded, encode_texts
from salience.data.task import Task
from salience.errors import listed
from salience.hooks.hooks import evaluating
from salience.papers.attention_classifiers.classifier import AttentionClassifier, pooled_states
from salience.papers.attention_classifiers.layers import Attention
from salience.papers.attention_classifiers.options import AttentionOptions, WordRecipe
from salience.papers.datasets import accuracy
from salience.papers.uaftc.training import fit_words

CHUNK = 1024  # word types in a batch


@dataclass(frozen=True)
class TokenScores:
    """The scores of each of V word types, in float64."""

    attention: Tensor  # attention scores (V,), divided by the scale
    polarity: Tensor  # polarity scores (V, K), with K = 1 for two classes and K = C otherwise
    weight: Tensor  # mean attention weights (V,), after the softmax; 1 for a text of one word
    occurrences: Tensor  # number of occurrences (V,); a type without any has scores of 0


def polarity_of(polarity: np.ndarray, category: int) -> np.ndarray:
    """The polarity scores (...) by which a category of words is judged, of scores (..., K)."""
    if polarity.shape[-1] == 1:  # two classes
        return polarity[..., 0]
    # A category below 0 belongs to no class.
    return polarity[..., category] if category >= 0 else polarity.mean(-1)


def check_scored(model: nn.Module) -> tuple[Attention, nn.Linear]:
    """The pooling and the head of a model whose tokens have one attention score and a polarity score."""
    if not isinstance(model, AttentionClassifier) or not isinstance(model.head, nn.Linear):
        raise ValueError(
            "polarity is defined for attention classifiers with a linear head; train one with --model attention:dot"
        )
    if model.predicts_compressed:
        raise ValueError("VAT's compressor predicts, and its scores are no sum of the polarities of words")
    if not isinstance(model.pooling, Attention) or model.pooling.heads != 1:
        raise ValueError("attention scores are defined for dot and additive attention with one head")
    return model.pooling, model.head


@torch.no_grad()
def token_scores(model: AttentionClassifier, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Attention scores (B, T), attention weights (B, T), polarity scores (B, T, K), and the mask of words (B, T)."""
    pooling, head = check_scored(model)
    states, mask = pooled_states(model, batch)
    _, weights = pooling(states, mask)
    return pooling.scores(states)[:, 0], weights[:, 0], states @ head.weight.T, mask


def global_scores(model: AttentionClassifier, special: Iterable[int] = ()) -> TokenScores:
    """The scores of every word type in a text that consists of this word alone, between special tokens if there are
    any."""
    special = list(special)

    def batches() -> Iterator[Batch]:
        for ids in torch.arange(model.config.vocab_size).split(CHUNK):
            columns = [torch.full_like(ids, special[0]), ids, torch.full_like(ids, special[1])] if special else [ids]
            texts = torch.stack(columns, 1)
            segment = torch.zeros_like(texts)
            segment[:, len(columns) // 2] = 1
            yield Batch(texts, torch.ones_like(texts), segment)

    return local_scores(model, batches())


def local_scores(model: AttentionClassifier, batches: Iterable[Batch]) -> TokenScores:
    """The mean scores of every word type over its occurrences in texts."""
    _, head = check_scored(model)
    vocabulary, columns = model.config.vocab_size, head.weight.shape[0]
    attention, weight, number = (torch.zeros(vocabulary, dtype=torch.float64) for _ in range(3))
    polarity = torch.zeros(vocabulary, columns, dtype=torch.float64)
    with evaluating(model):
        for batch in batches:
            scores, weights, polarities, mask = (part.cpu() for part in token_scores(model, batch.to(model.device)))
            ids = batch.input_ids.cpu()[mask]
            attention.index_add_(0, ids, scores[mask].double())
            weight.index_add_(0, ids, weights[mask].double())
            polarity.index_add_(0, ids, polarities[mask].double())
            number.index_add_(0, ids, torch.ones(len(ids), dtype=torch.float64))
    divisor = number.clamp(min=1)
    return TokenScores(attention / divisor, polarity / divisor[:, None], weight / divisor, number)


@dataclass(frozen=True)
class Words:
    """The vocabulary of a training set."""

    names: list[str]  # the words (V,)
    counts: np.ndarray  # (V, C), occurrences in the training texts of each class
    category: np.ndarray  # (V,), class index, NEUTRAL or NONE, as `salience.audit.words.categories` gives it

    @cached_property
    def association(self) -> np.ndarray | None:
        """gamma (V,), the association of words with one of two classes; None for more classes."""
        return association(self.counts) if self.counts.shape[1] == 2 else None


def words_of(tokenizer, encoded: Encoded, vocabulary: int, classes: int) -> Words:
    """The vocabulary of V words of encoded training texts of C classes."""
    texts = [encoded[row]["input_ids"][encoded[row]["segment"] > 0] for row in range(len(encoded))]
    assert encoded.labels is not None  # training texts are labelled
    word_counts = counts(texts, encoded.labels, vocabulary, classes)
    category = categories(word_counts)
    if (category == NONE).all():
        raise ValueError("no word occurs often enough to belong to a class, and none is neutral")
    return Words(tokenizer.convert_ids_to_tokens(list(range(vocabulary))), word_counts, category)


@dataclass(frozen=True)
class Analysis:
    """The analysis of one trained model on one data set."""

    scale: float  # lambda, by which the attention scores are divided
    words: Words  # the vocabulary of the training texts
    alone: TokenScores  # global scores, of every word as a text by itself
    in_texts: TokenScores  # local scores, means over the training texts
    in_test: TokenScores | None  # local scores, means over the test texts; None if there are none
    alignment: float | None  # |V^T W|; None if it is not defined for the model
    test_accuracy: float | None  # from 0 to 1; None if there are no test texts
    # Mean global scores of every category after every epoch, as `Watcher` records them; else empty
    trajectory: list[dict]


def analyse(
    model: AttentionClassifier, tokenizer, data: Task, max_length: int | None = None, trajectory: list | None = None
) -> Analysis:
    """Analyses a trained model on a data set: training texts, from which the categories of words follow, and test
    texts."""
    check_scored(model)
    known = [model.config.id2label[number] for number in range(model.config.num_labels)]
    if known != list(data.labels):
        raise ValueError(f"it knows the labels {listed(known)}, but the texts have {listed(data.labels)}")
    training, test = (
        encode_texts(tokenizer, part.texts, labels=part.labels, max_length=max_length)
        for part in (data.training, data.test)
    )
    in_texts, in_test = (
        local_scores(model, (batch for _, batch in like_length(model, part))) if len(part) else None
        for part in (training, test)
    )
    assert in_texts is not None  # there are training texts
    try:
        aligned = model.alignment().item()
    except ValueError:
        aligned = None
    return Analysis(
        scale=model.config.scale,
        words=words_of(tokenizer, training, model.config.vocab_size, len(data.labels)),
        # With the special tokens that the tokenizer adds to a single text: none, or one on each side.
        alone=global_scores(model, tokenizer("", add_special_tokens=True)["input_ids"]),
        in_texts=in_texts,
        in_test=in_test,
        alignment=aligned,
        test_accuracy=accuracy(model, test) if len(test) else None,
        trajectory=trajectory or [],
    )


def sweep(
    options: AttentionOptions,
    recipe: WordRecipe,
    data: Task,
    scales: list[float],
    seed: int = 0,
    max_length: int | None = None,
    say: Callable[[str], None] = print,
) -> list[Analysis]:
    """Trains and analyses a model for every scale: what becomes of attention and polarity (Sun and Lu, section 5)."""
    analyses = []
    scaled = {scale: replace(options, scale=scale) for scale in scales}
    for scale, scaled_options in scaled.items():
        watcher = Watcher(data, max_length)
        fitted = fit_words(scaled_options, recipe, data, seed, max_length, callbacks=[watcher])
        analyses.append(analyse(fitted.model, fitted.tokenizer, data, max_length, watcher.rows))
        part, reached = "test", fitted.test_accuracy
        if reached is None:
            part, reached = "validation", max(fitted.accuracies)
        say(f"scale {scale:g}: {part} accuracy {reached:.3f}; best epoch {fitted.best_epoch + 1} of {recipe.epochs}.")
    return analyses


class Watcher(TrainerCallback):
    """Records the mean global scores of every category of words before training and after every epoch."""

    def __init__(self, data: Task, max_length: int | None = None):
        self.data, self.max_length = data, max_length
        self.category = np.zeros(0, np.int64)
        self.rows: list[dict] = []

    def on_train_begin(self, args, state, control, model=None, processing_class=None, **_):
        training = self.data.training
        encoded = encode_texts(processing_class, training.texts, labels=training.labels, max_length=self.max_length)
        self.category = words_of(processing_class, encoded, model.config.vocab_size, len(self.data.labels)).category
        self.record(model)

    def on_epoch_end(self, args, state, control, model=None, **_):
        self.record(model)

    def record(self, model: AttentionClassifier) -> None:
        """Appends the scores of the model to `rows`."""
        scores = global_scores(model)
        row = {"epoch": len(self.rows), "V^T W": model.coupling().tolist()}
        for category in np.unique(self.category):
            members = torch.from_numpy(self.category == category)
            row[f"attention {category}"] = scores.attention[members].mean().item()
            row[f"polarity {category}"] = scores.polarity[members].mean(0).tolist()
        self.rows.append(row)
