"""A trained classifier as one object: a model, its tokenizer, and the number of tokens that it reads of a text."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from salience.batch import Batch
from salience.classify.onnx_model import FILE, TOKENS, OnnxModel
from salience.data.batching import like_length
from salience.data.encoding import Encoded, encode_texts
from salience.data.long_texts import LONG, Passages, merged, passages
from salience.data.texts import Texts, TextsLike
from salience.data.words import Segmenter, Span, Spans, segmented_spans, word_spans
from salience.errors import InputError, listed, one_line, unknown
from salience.hooks.hooks import evaluating, forward
from salience.models.architectures import architecture
from salience.models.loading import load_configuration, load_tokenizer, load_trained, longest_text
from salience.models.precision import check_precision, computing
from salience.models.problem import labels_in_config, labels_of_model, thresholds_in, to_probabilities
from salience.runs.folder import trained_on_pairs
from salience.scores.labels import Labels
from salience.scores.predictions import Predictions

Once = Callable[[Callable[[], np.ndarray]], np.ndarray]  # what a function gives, which need not be called again


def at_once(compute: Callable[[], np.ndarray]) -> np.ndarray:
    return compute()


@torch.inference_mode()
def predict_probabilities(
    model: PreTrainedModel, encoded: Encoded, precision: str = "auto", once: Once = at_once
) -> np.ndarray:
    """The probabilities (N, C) float32 of N encoded texts, in evaluation mode; the model's mode is restored.

    `once` is called for every batch, with a function that computes its probabilities.
    """
    classes = cast(int, model.config.num_labels)  # None stands for a configuration without labels
    probabilities = np.empty((len(encoded), classes), np.float32)
    kind = labels_of_model(model)
    with evaluating(model), computing(model, precision):
        fast = architecture(model).fast_logits(int(encoded.lengths.sum()))
        logits_of: Callable[[Batch], Tensor] = fast or partial(forward, model)
        for rows, batch in like_length(model, encoded):
            probabilities[rows] = once(partial(probabilities_of, logits_of, kind, batch))
    return probabilities


def probabilities_of(logits_of: Callable[[Batch], Tensor], kind: Labels, batch: Batch) -> np.ndarray:
    """The probabilities (B, C) of a batch in float32."""
    return to_probabilities(kind, logits_of(batch).float()).cpu().numpy()


@dataclass(frozen=True)
class TextClassifier:
    """A classifier of texts and of pairs of texts.

    Args:
        model: a sequence classifier of Hugging Face. Its configuration may have a `long_texts`, see `long`.
        tokenizer: its fast tokenizer.
        max_length: number of tokens that are read at once, special tokens included.
        precision: number format of the computation: "fp32", "bf16", or "auto", which is bf16 where the device computes
            it faster. Predictions and explanations are computed in it.
        pairs: whether it was trained on pairs of texts; the other kind is then refused. None if that is not known.
        spans: a function that gives the words of a text; None is `salience.data.words.word_spans` of its tokenizer.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    max_length: int
    precision: str = "auto"
    pairs: bool | None = None
    spans: Spans | None = None

    def __repr__(self) -> str:
        """Its labels in a line, and in another one what it reads."""
        each = "any of" if self.multi_label else "one of"
        texts = {None: "texts", False: "single texts", True: "pairs of texts"}[self.pairs]
        return (
            f"{type(self).__name__}: {each} {listed((one_line(label, 40) for label in self.labels), 8)}\n"
            f"{type(self.model).__name__} on {self.model.device}, reads {self.max_length:,} tokens of {texts}"
        )

    @property
    def labels(self) -> list[str]:
        """The C labels, in the order of the columns of `predict_proba`."""
        return [self.model.config.id2label[number] for number in range(self.model.config.num_labels)]

    @property
    def multi_label(self) -> bool:
        """Whether a text can have several labels, or none."""
        return self.kind.several

    @property
    def kind(self) -> Labels:
        """One label for a text or any number of them, and what follows from it."""
        return labels_in_config(self.model.config)

    @property
    def thresholds(self) -> np.ndarray:
        """The probabilities (C,) float64 from which on labels are predicted, where a text can have several.

        Where it has one, all are 0.5, which means nothing, or one label has a threshold and the others have NaN.
        """
        return thresholds_in(self.model.config, self.labels)

    @property
    def has_thresholds(self) -> bool:
        """Whether `decisions` are other than the most probable label."""
        return self.multi_label or bool(np.isnan(self.thresholds).any())

    @property
    def long(self) -> str:
        """What is read of longer texts: "head", "head-tail" or "windows"; see `salience.data.long_texts`."""
        found = getattr(self.model.config, "long_texts", "head")
        return found if found in LONG else "head"

    @property
    def empty_token(self) -> int:
        """The id of the token that stands for an empty text: [UNK], or the padding token if there is no [UNK]."""
        unknown_token = self.tokenizer.unk_token_id
        return self.tokenizer.pad_token_id if unknown_token is None else unknown_token

    def encode(self, texts: TextsLike, words: bool = False) -> Encoded:
        """N texts, or N pairs of texts, as token ids, each read at once; with labels if `texts` has them.

        Args:
            words: also find the word, of `word_spans`, that each token is a part of.

        Raises:
            InputError: as `predict_proba`; or the classifier reads long texts in windows.
        """
        if self.long == "windows":
            raise InputError(
                "this model reads long texts in windows, and here every text is read at once: train a model with "
                "--long head or --long head-tail"
            )
        return self.read(texts, words)

    def read(self, texts: TextsLike, words: bool = False) -> Encoded:
        """As `encode`, but a long text may be windows, whose `owners` then say of which text each is."""
        given = Texts.of(texts)
        if len(given) and self.pairs not in (None, given.second is not None):
            trained, other = ("pairs of texts", "single texts")[:: 1 if self.pairs else -1]
            raise InputError(f"the model was trained on {trained}, and these are {other}: give it {trained}")
        if self.long == "head":
            return self.encode_heads(given, self.word_spans if words else None)
        found = self.passages(given)
        encoded = self.encode_heads(found.texts, self.word_spans if words else None)
        encoded.cut = encoded.cut | found.shortened[found.owners]
        if self.long == "windows":
            encoded.owners = found.owners
        return encoded

    def word_spans(self, text: str) -> list[Span]:
        """The words of a text, in its explanations and wherever words are marked, removed or counted."""
        return word_spans(text, self.tokenizer) if self.spans is None else self.spans(text)

    def encode_heads(self, texts: Texts, spans: Spans | None = None) -> Encoded:
        """N texts, or N pairs of texts, cut at `max_length`; with the words that a function gives."""
        return encode_texts(self.tokenizer, texts.texts, texts.second, texts.labels, self.max_length, spans)

    def passages(self, texts: Texts) -> Passages:
        """The passages that are read of N texts or pairs, where `long` is not "head"."""
        return passages(self.tokenizer, texts, self.max_length, self.long, self.word_spans)

    def computing(self) -> AbstractContextManager[None]:
        """A context in which the model computes in the classifier's precision."""
        return computing(self.model, self.precision)

    def probabilities(self, encoded: Encoded, once: Once = at_once) -> np.ndarray:
        """The probabilities of the labels (N, C) in float32 for N texts, of which some may be several windows.

        `once` is called for every batch, with a function that computes its probabilities.
        """
        found = self._probabilities(encoded, once)
        return found if encoded.owners is None else merged(found, encoded.owners, self.multi_label)

    def _probabilities(self, encoded: Encoded, once: Once) -> np.ndarray:
        return predict_probabilities(self.model, encoded, self.precision, once)

    def predictions(self, encoded: Encoded, labels: np.ndarray) -> Predictions:
        """What it predicts of N texts with these labels: class numbers (N,), or 0 and 1 (N, C)."""
        probabilities = self.probabilities(encoded)
        return Predictions(probabilities, labels, self.decisions(probabilities) if self.has_thresholds else None)

    def predict_proba(self, texts: TextsLike) -> np.ndarray:
        """The probabilities of the labels (N, C) in float32 for N texts or pairs, in their order.

        Args:
            texts: a list, a tuple or an array of texts or of pairs, a column of pandas, or a table of one column, of
                two for pairs.

        Raises:
            InputError: `texts` is one string, mixes single texts with pairs, or is not what the model was trained on.
        """
        return self.probabilities(self.read(texts))

    def decisions(self, probabilities: np.ndarray) -> np.ndarray:
        """The labels that are predicted (..., C) bool from probabilities (..., C): one, or by the thresholds."""
        return self.kind.decisions(probabilities, self.thresholds)

    def predict(self, texts: TextsLike) -> list[str] | list[list[str]]:
        """The most probable label of each text; of several labels, the list of those at or above their threshold.

        If `salience thresholds --save` gave one label a threshold, this label is predicted from there on, and
        elsewhere the most probable one of the others.

        Raises as `predict_proba`.
        """
        labels = np.array(self.labels, object)
        chosen = [labels[row].tolist() for row in self.decisions(self.predict_proba(texts))]
        return chosen if self.multi_label else [only for (only,) in chosen]


def load(
    folder: str | Path, max_length: int | None = None, device: str = "auto", precision: str = "auto"
) -> TextClassifier:
    """Loads a trained classifier: a run folder of `salience train`, an export of it, or any other text classifier.

    Args:
        folder: a folder, or a name on the Hugging Face hub. For a folder of `salience export`, the result is an
            `OnnxClassifier`.
        max_length: number of tokens read of a text; None reads as many as in training.
        device: "auto", "cpu" or "cuda".
        precision: "auto", "fp32" or "bf16", see `TextClassifier`.

    Raises:
        InputError: there is no such model, device or precision, or the model was not trained to classify.
    """
    check_precision(precision)
    if is_exported(folder):
        return load_exported(folder, max_length, device, precision)
    chosen = choose_device(device)
    model, tokenizer = load_trained(folder)
    longest = longest_text(model, tokenizer, max_length)
    return TextClassifier(model.to(chosen).eval(), tokenizer, longest, precision, trained_on_pairs(folder))


def with_one_label(classifier: TextClassifier, doing: str, model: object = "the model") -> None:
    """Raises an `InputError` if a classifier, named `model`, can give several labels, which `doing` does not allow."""
    if classifier.multi_label:
        raise InputError(f"{model} is a multi-label classifier, and {doing} needs one that gives each text one label")


def choose_device(device: str) -> torch.device:
    """The device that "auto", "cpu" or "cuda" stands for."""
    if device not in ("auto", "cpu", "cuda"):
        raise unknown("--device", device, ["auto", "cpu", "cuda"])
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise InputError("--device cuda: this machine has no CUDA device that torch sees; use --device cpu or auto")
    return torch.device("cuda" if available and device != "cpu" else "cpu")


@dataclass(frozen=True, repr=False)
class OnnxClassifier(TextClassifier):
    """A `TextClassifier` whose model is a file of ONNX. It predicts; what needs gradients or states refuses it."""

    model: OnnxModel

    def _probabilities(self, encoded: Encoded, once: Once) -> np.ndarray:
        logits = np.empty((len(encoded), len(self.labels)), np.float32)
        for rows, batch in like_length(self.model, encoded, tokens={"cpu": TOKENS * self.model.threads}):
            logits[rows] = once(partial(self.model.logits, batch))
        return to_probabilities(self.kind, torch.from_numpy(logits)).numpy()


def is_exported(folder: str | Path) -> bool:
    """Whether a folder holds a model in ONNX, and no weights that torch reads."""
    path = Path(folder).expanduser()
    return (path / FILE).is_file() and not (path / "model.safetensors").exists()


def load_exported(
    folder: str | Path, max_length: int | None = None, device: str = "auto", precision: str = "auto"
) -> OnnxClassifier:
    """Loads a classifier that `salience export` has written, which reads at most as many tokens as then."""
    if device not in ("auto", "cpu"):
        raise InputError(f"--device {device}: {folder} was exported to ONNX and is computed on the CPU")
    if precision not in ("auto", "fp32"):
        raise InputError(
            f"--precision {precision}: {folder} was exported, and is computed as its file says; leave --precision out"
        )
    path = Path(folder).expanduser()
    tokenizer = load_tokenizer(str(path))
    model = OnnxModel(path, load_configuration(str(path)))
    longest = tokenizer.model_max_length
    if max_length is not None and max_length > longest:
        raise InputError(
            f"--max-length {max_length}: {folder} was exported to read {longest} tokens of a text; give at most that, "
            "or leave it out"
        )
    return OnnxClassifier(
        model, tokenizer, longest if max_length is None else max_length, pairs=trained_on_pairs(path)
    )


def classifier_of(given: Any, segmenter: Segmenter | None = None) -> TextClassifier:
    """A classifier as it is, and that of a fitted `SalienceClassifier`, which works on texts alone too.

    With a `segmenter`, the words of a text are those that it gives.
    """
    if isinstance(given, str | Path):
        raise InputError(f"{str(given)!r} is the name of a model: load it first, as salience.load({str(given)!r})")
    found: TextClassifier = getattr(given, "classifier_", given)
    return found if segmenter is None else replace(found, spans=partial(segmented_spans, segmenter=segmenter))
