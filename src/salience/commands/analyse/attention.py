"""`salience analyse attention`: a trained model, or models trained for it, in; words, pictures and a page out."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from salience.classify import TextClassifier
from salience.classify.classifier import with_one_label
from salience.commands.labelled_texts import cannot
from salience.data.task import Task
from salience.errors import InputError, nearest, quoted, unknown
from salience.files import whole_folder
from salience.models.loading import load_trained, longest_text
from salience.papers.attention_classifiers.options import WORD_ENCODERS, AttentionOptions
from salience.papers.uaftc.analysis import Analysis, analyse, sweep
from salience.papers.uaftc.page import attention_page, category_rows, draw_all, word_rows
from salience.papers.uaftc.training import WordRecipe
from salience.report.terminal import say
from salience.settings import numbers
from salience.training.recipe import Recipe
from salience.training.task import check_one_label, read_task

MODEL = {"pooling": "dot", "encoder": "embeddings", "embeddings": None}  # defaults of the model that is trained
SCORED = ("dot", "additive")  # poolings with one attention score for each word
RECIPE = ("epochs", "batch_size", "alignment", "alignment_form")  # options of its training


def analyse_attention(
    data: str, test: str | None, model: str | None, training: Mapping[str, Any], *, max_length: int,
    reading: Mapping[str, Any], output: Path,
) -> None:  # fmt: skip
    """Writes words.csv, summary.json, pictures and index.html.

    Args:
        data: labelled training texts.
        test: labelled test texts.
        model: a trained attention classifier; None trains one for every scale.
        training: the options given for that: the keys of `MODEL`, those of `RECIPE`, scales and seed.
        max_length: number of tokens read of a text.
        reading: how the files are read: settings of a `Recipe`.
        output: the folder to write.

    Raises:
        InputError: the data, the model or an option is invalid.
    """
    if model is not None and training:
        idle = ", ".join(f"--{name.replace('_', '-')}" for name in training)
        raise InputError(f"{idle} would have no effect: with --model nothing is trained")
    with cannot(f"analyse {model or data}"):
        if model is None:
            seed = training.get("seed", 0)
            texts = read_first_texts(Recipe(data=data, test=test, validation_share=None, seed=seed, **reading))
            analyses = analyses_of_trained(training, texts, max_length)
        else:
            loaded = load_trained(model)
            with_one_label(TextClassifier(*loaded, 1), "salience analyse attention", model)
            texts = read_first_texts(Recipe(data=data, test=test, **reading))  # nothing need be held out
            analyses = [analyse(*loaded, texts, longest_text(*loaded, max_length))]
    labels, shown = texts.labels, 0
    with whole_folder(output) as folder:
        pictures = draw_all(analyses, labels, shown, folder)
        summary = {
            "categories": [row for analysis in analyses for row in category_rows(analysis, labels)],
            "trajectories": {f"{analysis.scale:g}": analysis.trajectory for analysis in analyses},
        }
        (folder / "summary.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
        write_words(word_rows(analyses[shown], labels), folder / "words.csv")
        page = attention_page(analyses, labels, shown, pictures, f"Attention on {Path(data).name}")
        (folder / "index.html").write_text(page, encoding="utf-8")
    say(f"saved: {output}/index.html, words.csv, summary.json and {len(pictures)} pictures")


def read_first_texts(recipe: Recipe, note: Callable[[str], None] = print) -> Task:
    """The task of a recipe, as `read_task` reads it; a note says so where second texts are ignored."""
    task = read_task(recipe, note)
    check_one_label(task, "salience analyse attention compares the polarities of classes")
    if task.columns is not None and task.columns.text_pair is not None:
        note(f"{recipe.data}: only the column {quoted(task.columns.text)} is read, not the second texts beside it")
    return task


def write_words(rows: Iterable[dict], file: Path) -> None:
    """Writes rows with the same keys as a csv file."""
    with file.open("w", encoding="utf-8", errors="backslashreplace", newline="") as opened:
        writer = None
        for row in rows:
            if writer is None:
                writer = csv.DictWriter(opened, list(row))
                writer.writeheader()
            writer.writerow(row)


def analyses_of_trained(training: Mapping[str, Any], texts: Task, max_length: int) -> list[Analysis]:
    """Trains a model for every scale as the paper does, and analyses each."""
    options = {name: training.get(name, default) for name, default in MODEL.items()}
    if options["pooling"] not in SCORED:
        raise unknown("--pooling", options["pooling"], SCORED)
    if options["encoder"] not in WORD_ENCODERS:
        raise InputError(
            f"--encoder {quoted(options['encoder'])} is not trained here, only {', '.join(WORD_ENCODERS)}; train a "
            f"transformer with salience train --model attention:{options['pooling']}, and analyse it with --model."
            + nearest(options["encoder"], WORD_ENCODERS)
        )
    recipe = WordRecipe(**{name: training[name] for name in RECIPE if name in training})
    scales = numbers(training.get("scales", "10"), ",", "--scales 1,10,100", float)
    return sweep(AttentionOptions(**options), recipe, texts, scales, training.get("seed", 0), max_length)
