"""`salience analyse embeddings`: how models part the classes, as a number and as maps (VAT, Figures 3 and 6)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from salience.analysis.representations import map_of, representations, silhouette
from salience.commands.labelled_texts import labelled_texts
from salience.errors import InputError, counted, listed
from salience.explainers.explanations import words_of
from salience.files import whole_folder
from salience.inference import load
from salience.report.pictures import COLOURS, save
from salience.report.terminal import say
from salience.training.folder import trained_columns

MARKERS = "os^D"  # of classes, once the colours are used up


def analyse_embeddings(
    names: Sequence[str], data: str, *, most: int, columns: Mapping, max_length: int | None, device: str, seed: int,
    output: Path,
) -> None:  # fmt: skip
    """Writes embeddings.json and a picture with a map for every model, all of the same texts.

    Raises:
        InputError: the data, a model or an option is at fault.
    """
    if most < 1:
        raise InputError(f"--most must be at least 1, not {most}")
    classifiers = [load(name, max_length, device) for name in names]
    labels = classifiers[0].labels
    for name, classifier in zip(names, classifiers, strict=True):
        if classifier.labels != labels:
            raise InputError(
                f"{name} knows the labels {listed(classifier.labels)}, but {names[0]} {listed(labels)}: they must be "
                "the same to be compared"
            )
    texts = labelled_texts(data, labels, trained_columns(names[0]), None, columns)
    drawn = np.sort(np.random.default_rng(seed).permutation(len(texts))[:most])
    texts = [texts[index] for index in drawn]
    gold = np.array([own.label for own in texts])
    found, maps = [], []
    for name, classifier in zip(names, classifiers, strict=True):
        vectors = representations(classifier.model, words_of(classifier, texts).encoded)
        try:
            value = silhouette(vectors, gold)
        except ValueError as error:
            drawn = f"{counted(len(texts), 'text')} of {data}"
            raise InputError(f"{drawn}: there is no silhouette; take more texts or classes ({error})") from error
        maps.append(map_of(vectors, seed))
        found.append({"model": Path(name).name, "texts": len(texts), "width": vectors.shape[1], "silhouette": value})
        say(f"{name}: silhouette {value:.3f} over {len(texts)} texts")
    points = [own | {"map": chart.round(3).tolist()} for own, chart in zip(found, maps, strict=True)]
    written = {"labels": labels, "gold": gold.tolist(), "models": points}
    with whole_folder(output) as folder:
        (folder / "embeddings.json").write_text(json.dumps(written), encoding="utf-8")
        save(
            partial(draw_maps, found=found, maps=maps, gold=gold, labels=labels), folder / "embeddings",
            size=(5.2 * len(names) + 2, 5), panels=(1, len(names)),
        )  # fmt: skip
    say(f"saved: {output}/embeddings.json, embeddings.png, embeddings.svg")


def draw_maps(
    axes, found: Sequence[dict], maps: Sequence[np.ndarray], gold: np.ndarray, labels: Sequence[str]
) -> None:
    for own, about, chart in zip(np.atleast_1d(axes), found, maps, strict=True):
        for number, label in enumerate(labels):
            marker, colour = MARKERS[number // len(COLOURS) % len(MARKERS)], COLOURS[number % len(COLOURS)]
            own.scatter(*chart[gold == number].T, s=10, linewidths=0, marker=marker, color=colour, label=label)
        own.set(xticks=[], yticks=[])
        own.set_title(f"{about['model']}: silhouette {about['silhouette']:.3f}", loc="left")
    last = np.atleast_1d(axes)[-1]
    last.figure.legend(*last.get_legend_handles_labels(), loc="outside right upper", frameon=False, markerscale=2)
