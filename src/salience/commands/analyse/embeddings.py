"""`salience analyse embeddings`: models and texts in; how the models separate the classes out, as numbers and maps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from salience.classify import load
from salience.classify.classifier import with_one_label
from salience.commands.labelled_texts import labelled_texts
from salience.errors import InputError, counted, listed
from salience.files import whole_folder
from salience.papers.vat.representations import TextMap, draw_maps, map_of, representations, silhouette
from salience.report.pictures import save
from salience.report.terminal import say
from salience.runs.folder import trained_columns


def analyse_embeddings(
    names: Sequence[str], data: str, *, most: int, columns: Mapping, max_length: int | None, device: str, seed: int,
    output: Path,
) -> None:  # fmt: skip
    """Writes embeddings.json and a picture with a map for each model, all of the same texts (VAT, Figures 3 and 6).

    Args:
        names: trained classifiers with the same labels.
        data: a file of labelled texts.
        most: number of texts, drawn at random.
        columns: names of the columns and the encoding, as `read_texts` takes them.
        seed: of the texts that are drawn, and of t-SNE.
        output: the folder to write.

    Raises:
        InputError: the data, a model or an option is invalid.
    """
    if most < 1:
        raise InputError(f"--most must be at least 1, not {most}")
    classifiers = [load(name, max_length, device) for name in names]
    labels = classifiers[0].labels
    for name, classifier in zip(names, classifiers, strict=True):
        with_one_label(classifier, "salience analyse embeddings", name)
        if classifier.labels != labels:
            raise InputError(
                f"{name} knows the labels {listed(classifier.labels)}, but {names[0]} {listed(labels)}: they must be "
                "the same to be compared"
            )
    texts = labelled_texts(data, labels, trained_columns(names[0]), None, columns)
    sample = np.sort(np.random.default_rng(seed).permutation(len(texts))[:most])
    texts = texts.take(sample)
    gold = texts.known_labels
    maps, rows = [], []
    for name, classifier in zip(names, classifiers, strict=True):
        vectors = representations(classifier.model, classifier.encode(texts))
        try:
            value = silhouette(vectors, gold)
        except ValueError as error:
            source = f"{counted(len(texts), 'text')} of {data}"
            raise InputError(f"{source}: there is no silhouette; take more texts or classes ({error})") from error
        points, model = map_of(vectors, seed), Path(name).name
        maps.append(TextMap(f"{model}: silhouette {value:.3f}", points))
        rows.append({
            "model": model, "texts": len(texts), "width": vectors.shape[1], "silhouette": value,
            "map": points.round(3).tolist(),
        })  # fmt: skip
        say(f"{name}: silhouette {value:.3f} over {len(texts)} texts")
    described = [
        f"row {row}, {labels[label]}: {text}"
        for row, label, text in zip(texts.rows or [], gold, texts.texts, strict=True)
    ]
    draw = partial(draw_maps, maps=maps, gold=gold, labels=labels, texts=described)
    with whole_folder(output) as folder:
        (folder / "embeddings.json").write_text(
            json.dumps({"labels": labels, "gold": gold.tolist(), "models": rows}), encoding="utf-8"
        )
        save(draw, folder / "embeddings", size=(5.2 * len(names) + 2, 5), panels=(1, len(names)))
    say(f"saved: {output}/embeddings.json, embeddings.png, embeddings.svg")
