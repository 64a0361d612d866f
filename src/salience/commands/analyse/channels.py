"""`salience analyse channels`: which channels matter for which class, and their words (DropMix, section 5.7)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from salience.analysis.channels import Channels, scan_channels
from salience.batch import Batch
from salience.commands.labelled_texts import cannot, labelled_texts
from salience.data.batching import Collator
from salience.errors import InputError
from salience.explainers.explanations import words_of
from salience.files import whole_folder
from salience.hooks.hooks import evaluating
from salience.inference import TextClassifier, load
from salience.mixing import METHODS
from salience.report.pictures import COLOURS, numbers, save
from salience.report.terminal import say
from salience.training.folder import trained_columns

SHAPES = "UCWG"  # of Figure 3a
WORDS = 15  # of a channel's list


def analyse_channels(
    name: str, data: str, *, ratio: float, top: int, sentence: str | None, most: int | None, columns: Mapping,
    max_length: int | None, device: str, output: Path,
) -> None:  # fmt: skip
    """Writes channels.json and pictures, and prints the words of each class's top channels.

    Raises:
        InputError: the data, the model or an option is at fault.
    """
    if not 0 < ratio < 1:
        raise InputError(f"--ratio is a part of the channels, between 0 and 1, not {ratio}")
    classifier = load(name, max_length, device)
    texts = labelled_texts(data, classifier.labels, trained_columns(name), most, columns)
    with cannot(f"analyse {name}"):
        found = scan_channels(classifier.model, words_of(classifier, texts).encoded, ratio)
    words = {
        classifier.labels[label]: {str(channel): spelt(counts, classifier) for channel, counts in channels.items()}
        for label, channels in found.leading(len(classifier.labels), top).items()
    }
    for label, channels in words.items():
        for channel, counts in channels.items():
            say(f"{label}, channel {channel}: " + " ".join(counts))
    importance = dict(zip(classifier.labels, map(numbers, found.importance(len(classifier.labels))), strict=True))
    written = {"texts": len(texts), "ratio": ratio, "importance": importance, "contributed": words}
    with whole_folder(output) as folder:
        (folder / "channels.json").write_text(
            json.dumps(written, ensure_ascii=False, indent=1), encoding="utf-8", errors="backslashreplace"
        )
        save(partial(importances, found=found, labels=classifier.labels), folder / "channels", (9, 6.5), (2, 1))
        if sentence is not None:
            batch, tokens = one_text(classifier, sentence)
            draw = partial(patches, classifier=classifier, batch=batch, tokens=tokens, ratio=ratio)
            save(draw, folder / "patches", size=(11, 7), panels=(2, 2))
    say(f"saved: {output}/channels.json, channels.png" + ("" if sentence is None else ", patches.png"))


def spelt(counts: Counter[int], classifier: TextClassifier) -> dict[str, int]:
    return {classifier.tokenizer.convert_ids_to_tokens(token): count for token, count in counts.most_common(WORDS)}


def importances(axes, found: Channels, labels: Sequence[str]) -> None:
    """Figures 3b and 3c: every channel's importance for each class, and by how much it is a class's own, sorted."""
    importance, preference = found.importance(len(labels)), found.preference(len(labels))
    for index, label in enumerate(labels):
        colour = COLOURS[index % len(COLOURS)]
        axes[0].plot(importance[index], color=colour, linewidth=0.7, label=label)
        axes[1].plot(np.sort(preference[index])[::-1], color=colour, label=label)
    axes[0].set(xlabel="channel", ylabel="part of the class's texts")
    axes[0].set_title("Importance: how often a channel is selected", loc="left")
    axes[1].set(xlabel="channels, sorted", ylabel="importance, minus the other classes'")
    axes[1].set_title("Preference", loc="left")
    axes[1].axhline(0, color="black", linewidth=0.6)
    axes[0].legend(frameon=False)


def one_text(classifier: TextClassifier, text: str) -> tuple[Batch, list[str]]:
    row = classifier.tokenizer(text, truncation=True, max_length=classifier.max_length)["input_ids"]
    batch = Batch(**Collator.of(classifier.tokenizer)([{"input_ids": row}])).to(classifier.model.device)
    return batch, classifier.tokenizer.convert_ids_to_tokens(row)


def patches(axes, classifier: TextClassifier, batch: Batch, tokens: Sequence[str], ratio: float) -> None:
    """Figure 3a: what DropMix replaces of a text, by the shape of its windows."""
    methods = {name: METHODS[f"dropmix-{name.lower()}"](ratio=ratio) for name in SHAPES}
    with evaluating(classifier.model):
        scores = methods["U"].guide(classifier.model, batch)  # the same for all of them
    for own, (name, method) in zip(axes.flat, methods.items(), strict=True):
        keep = method(batch, scores).keep[0].expand(scores.shape[1:])
        own.imshow(~keep.cpu().numpy(), aspect="auto", cmap="Greys", interpolation="nearest")
        own.set_yticks(range(len(tokens)), tokens)
        own.set(xlabel="channel")
        own.set_title(f"DropMix-{name}", loc="left")
