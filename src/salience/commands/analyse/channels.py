"""`salience analyse channels`: a model and texts in; the channels of each class and their words out (DropMix, 5.7)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from salience.batch import Batch
from salience.classify import TextClassifier, load
from salience.classify.classifier import with_one_label
from salience.commands.labelled_texts import cannot, labelled_texts
from salience.data.batching import Collator
from salience.data.labels import visible
from salience.data.values import well_formed
from salience.errors import InputError
from salience.files import whole_folder
from salience.hooks.hooks import evaluating
from salience.mixing import METHODS
from salience.papers.dropmix.channels import draw_importance, draw_patches, scan_channels
from salience.report.pictures import numbers, save
from salience.report.terminal import say
from salience.runs.folder import trained_columns

SHAPES = "UCWG"  # of the windows in Figure 3a
WORDS = 15  # tokens listed for each channel


def analyse_channels(
    name: str, data: str, *, ratio: float, top: int, sentence: str | None, most: int | None, columns: Mapping,
    max_length: int | None, device: str, output: Path,
) -> None:  # fmt: skip
    """Writes channels.json and pictures, and prints the words of each class's most important channels.

    Args:
        name: a trained classifier.
        data: a file of labelled texts.
        ratio: the part of the channels that is selected in a text, in (0, 1); DropMix's lambda.
        top: number of channels of each class whose words are listed.
        sentence: a text whose replaced patches are drawn; None draws none.
        most: number of rows to read; None reads all.
        columns: names of the columns and the encoding, as `read_texts` takes them.
        output: the folder to write.

    Raises:
        InputError: the data, the model or an option is invalid.
    """
    if not 0 < ratio < 1:
        raise InputError(f"--ratio is a part of the channels, between 0 and 1, not {ratio}")
    if sentence is not None:
        # Command-line arguments that are not UTF-8 contain lone surrogates, which no tokenizer accepts.
        sentence = well_formed(sentence)
        if not visible(sentence):
            raise InputError("--sentence has no words: give a text whose patches are drawn")
    classifier = load(name, max_length, device)
    with_one_label(classifier, "salience analyse channels", name)
    texts = labelled_texts(data, classifier.labels, trained_columns(name), most, columns)
    with cannot(f"analyse {name}"):
        scanned = scan_channels(classifier.model, classifier.encode(texts), ratio)
    labels = classifier.labels
    if not np.nan_to_num(found := scanned.importance(len(labels))).any():
        width = found.shape[1]
        raise InputError(f"--ratio {ratio} selects none of the {width} channels: give at least {1 / width:.2g}")
    words = {
        labels[label]: {str(channel): token_counts(counts, classifier) for channel, counts in channels.items()}
        for label, channels in scanned.leading(len(labels), top).items()
    }
    for label, channels in words.items():
        for channel, counts in channels.items():
            say(f"{label}, channel {channel}: " + " ".join(counts))
    importance = dict(zip(labels, map(numbers, scanned.importance(len(labels))), strict=True))
    values = {"texts": len(texts), "ratio": ratio, "importance": importance, "contributed": words}
    with whole_folder(output) as folder:
        (folder / "channels.json").write_text(
            json.dumps(values, ensure_ascii=False, indent=1), encoding="utf-8", errors="backslashreplace"
        )
        draw = partial(
            draw_importance,
            importance=scanned.importance(len(labels)), preference=scanned.preference(len(labels)), labels=labels,
        )  # fmt: skip
        save(draw, folder / "channels", size=(9, 6.5), panels=(2, 1))
        if sentence is not None:
            tokens, kept = kept_patches(classifier, sentence, ratio)
            save(partial(draw_patches, tokens=tokens, kept=kept), folder / "patches", size=(11, 7), panels=(2, 2))
    say(f"saved: {output}/channels.json, channels.png" + ("" if sentence is None else ", patches.png"))


def token_counts(counts: Counter[int], classifier: TextClassifier) -> dict[str, int]:
    """The most frequent tokens of a channel, as texts, with their counts."""
    return {str(classifier.tokenizer.convert_ids_to_tokens(id)): count for id, count in counts.most_common(WORDS)}


def kept_patches(classifier: TextClassifier, text: str, ratio: float) -> tuple[list[str], dict[str, np.ndarray]]:
    """What DropMix keeps of a text, by the shape of its windows.

    Returns:
        The T tokens, and by the name of the method the values that are kept, bool (T, D).
    """
    ids = classifier.tokenizer(text, truncation=True, max_length=classifier.max_length)["input_ids"]
    batch = Batch(**Collator.of(classifier.tokenizer)([{"input_ids": ids}])).to(classifier.model.device)
    methods = {f"DropMix-{shape}": METHODS[f"dropmix-{shape.lower()}"](ratio=ratio) for shape in SHAPES}
    with evaluating(classifier.model):
        guide = methods["DropMix-U"].guide  # the same for all shapes
        assert guide is not None
        scores = guide(classifier.model, batch)
    kept = {
        name: method(batch, scores).keep[0].expand(scores.shape[1:]).cpu().numpy().astype(bool)
        for name, method in methods.items()
    }
    return list(classifier.tokenizer.convert_ids_to_tokens(ids)), kept
