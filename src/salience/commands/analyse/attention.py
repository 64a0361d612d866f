"""`salience analyse attention`: a trained model, or models trained for it, in; words, pictures and a page out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salience.commands.labelled_texts import cannot
from salience.comparison.attention import Analysis, analyse, sweep
from salience.data.datasets import DataSet, from_files
from salience.errors import InputError, nearest, quoted, unknown
from salience.files import whole_folder
from salience.models.attention_models import WORD_ENCODERS, AttentionOptions
from salience.models.loading import load_trained, longest_text
from salience.report.attention_page import write_page
from salience.report.attention_pictures import draw_all
from salience.report.terminal import say
from salience.reproduce.running import numbers
from salience.training.word_models import WordRecipe

BUILT = {"pooling": "dot", "encoder": "embeddings", "embeddings": None}  # what is trained, unless said otherwise
SCORED = ("dot", "additive")  # poolings with one score a word
FITTED = ("epochs", "batch_size", "alignment", "alignment_form")  # and how


def analyse_attention(
    data: str, test: str | None, model: str | None, training: Mapping[str, Any], *, max_length: int,
    reading: Mapping[str, Any], output: Path,
) -> None:  # fmt: skip
    """Writes words.csv, summary.json, pictures and index.html.

    Args:
        model: a trained model; None trains one for every scale.
        training: what of that has been said: the names in `BUILT` and `FITTED`, scales and seed.
        reading: how the files are read, as `read_task` takes it.

    Raises:
        InputError: the data, the model or an option is at fault.
    """
    if model is not None and training:
        idle = ", ".join(f"--{name.replace('_', '-')}" for name in training)
        raise InputError(f"{idle} would have no effect: with --model nothing is trained")
    with cannot(f"analyse {model or data}"):
        if model is None:
            found = from_files(data, test, seed=training.get("seed", 0), **reading)
            analyses = trained_here(training, found, max_length)
        else:
            own = load_trained(model)
            found = from_files(data, test, validation_share=0, **reading)  # nothing need be held out
            analyses = [analyse(*own, found, longest_text(*own, max_length))]
    with whole_folder(output) as folder:
        pictures = draw_all(analyses, found.labels, 0, folder)
        write_page(analyses, found.labels, 0, pictures, f"Attention on {Path(data).name}", folder)
    say(f"saved: {output}/index.html, words.csv, summary.json and {len(pictures)} pictures")


def trained_here(training: Mapping[str, Any], data: DataSet, max_length: int) -> list[Analysis]:
    """A model for every scale, trained the way the paper does, and analysed."""
    built = {name: training.get(name, usual) for name, usual in BUILT.items()}
    if built["pooling"] not in SCORED:
        raise unknown("--pooling", built["pooling"], SCORED)
    if built["encoder"] not in WORD_ENCODERS:
        raise InputError(
            f"--encoder {quoted(built['encoder'])} is not trained here, only {', '.join(WORD_ENCODERS)}; train a "
            f"transformer with salience train --model attention:{built['pooling']}, and analyse it with --model."
            + nearest(built["encoder"], WORD_ENCODERS)
        )
    fitted = {name: training[name] for name in FITTED if name in training}
    scales = numbers(training.get("scales", "10"), ",", "--scales 1,10,100", float)
    return sweep(AttentionOptions(**built), WordRecipe(**fitted), data, scales, training.get("seed", 0), max_length)
