"""The model card: what the model is, how it was trained, and its scores."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import ModelCard, ModelCardData

from salience.errors import printable
from salience.mixing.choosing import PLAIN
from salience.training.abstaining import abstention_sentences
from salience.training.card_results import TASK, hub_results
from salience.training.data_facts import training_rows_among
from salience.training.estimate_words import estimate_sentences, with_intervals
from salience.training.judged_scores import judge_of, judged_scores
from salience.training.label_precision import precision_sentences
from salience.training.procedures import Turns
from salience.training.recipe import Recipe
from salience.training.scoring import scoring_in

# ModelCard's template is Jinja2 without escaping, as Markdown needs: `markdown` and `code` escape what is shown.
TEMPLATE = "templates/model_card.md.jinja"


def model_card(
    recipe: Recipe, labels: Sequence[str], metrics: dict, about: dict, needs_salience: bool,
    repository: str | None = None, base_model: str | None = None, license: str | None = None,
    facts: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """The README.md of a run folder or of a repository on the hub, with the metadata that the hub reads.

    Args:
        recipe: the settings of the run.
        labels: the names of the labels, which are shown.
        metrics: the scores of the run, as metrics.json has them.
        about: the versions of the libraries.
        needs_salience: whether the model is an architecture of salience, which transformers alone cannot load.
        repository: "owner/name" of the repository that the card is for: the scores are then in the metadata too, and
            files that only the run folder has are not spoken of. None for the run folder.
        base_model: the name on the hub of the model that was trained further; None if it is none.
        license: of the model, by the hub's name.
        facts: on the data, as of `salience.training.data_facts.data_facts`; None if they are not known.
    """
    results, judge = hub_results(recipe, metrics) if repository else [], judge_of(metrics)
    data = ModelCardData(
        pipeline_tag=TASK,
        library_name="transformers",
        tags=["salience", recipe.method or PLAIN],
        base_model=base_model,
        license=license,
        model_name=repository.split("/")[-1] if repository and results else None,
        eval_results=results or None,
    )
    card = ModelCard.from_template(
        data,
        template_str=files("salience.training").joinpath(TEMPLATE).read_text(encoding="utf-8"),
        title="Text classifier",
        needs_salience=needs_salience,
        kind="Hugging Face checkpoint with an architecture of salience"
        if needs_salience
        else "plain Hugging Face checkpoint",
        folder=repository or "path/to/this/folder",
        published=repository is not None,
        longest=recipe.max_length,
        names=[markdown(name) for name in labels],
        multi_label="labels" in metrics,
        training=training_summary(recipe, metrics),
        table=score_table(metrics),
        judge=judge,
        intervals=with_intervals(metrics[judge]) if judge is not None else "",
        shared="" if judge is None else training_rows_among(facts, judge),
        estimated=[
            f"{line[0].upper()}{line[1:]}."
            for line in (*estimate_sentences(metrics), *map(markdown, precision_sentences(metrics)))
        ],
        abstains=[markdown(line) for line in abstention_sentences(metrics["abstention"])]
        if "abstention" in metrics
        else [],
        metrics=metrics,
        about=about,
    )
    return str(card)


def training_summary(recipe: Recipe, metrics: dict) -> str:
    """Data, model, method and settings in one sentence."""
    name = recipe.method or PLAIN
    method = "plain training" if name == PLAIN else f"{name} with clean={recipe.clean}"
    if recipe.contrastive:
        method += f" and a contrastive loss of the weight {recipe.contrastive:g}"
    return (
        f"{metrics['rows']['training']} rows of {code(file_name(recipe.data))} on {code(file_name(recipe.model))}: "
        f"{method}, "
        f"{training_steps(recipe, metrics)}, learning rate {recipe.learning_rate:.2g}, seed {recipe.seed}"
    )


def training_steps(recipe: Recipe, metrics: dict) -> str:
    """The number of training steps, or those of every iteration of VAT."""
    if "iterations" not in metrics:
        ended = "" if metrics["steps"] == recipe.steps else f", of which {metrics['steps']} were made"
        return f"{recipe.steps} steps of at most {recipe.batch_size} texts{ended}"
    steps = " + ".join(str(row["steps"]) for row in metrics["iterations"])
    (kept,) = (row["iteration"] for row in metrics["iterations"] if row["kept"])
    procedure = Turns(**recipe.procedure_options)
    return (
        f"{steps} steps of {recipe.batch_size} texts in iterations 0 to {procedure.iterations} of VAT, beta "
        f"{procedure.beta:g}, of which iteration {kept} was selected"
    )


# Characters with a meaning inside a line of Markdown: CommonMark, and GitHub's tables, links, formulas and emoji.
SPECIAL = re.compile(r"[\\`*_{}\[\]<>&|~$:@#^=]|(?<=www)\.", re.IGNORECASE)


def markdown(text: str) -> str:
    """A text escaped for a line of Markdown, so that a label cannot become a link, an HTML element or a table cell."""
    return SPECIAL.sub(lambda match: f"\\{match[0]}", printable(text))


def code(text: str) -> str:
    """A text as a code span of Markdown: between more backticks than it has in a row itself."""
    text = printable(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def file_name(source: str) -> str:
    """The last part of a path: cards are published and must not show the folders of a machine."""
    if os.path.exists(source):  # also False for strings that are not paths
        return Path(source).name
    return urlsplit(source).path if "://" in source else source


def score_table(metrics: dict) -> str:
    """The scores of the model and of the baselines as a table in Markdown; empty if nothing was measured."""
    judged = judged_scores(metrics)
    if judged is None:
        return ""
    shown = scoring_in(next(iter(judged[1].values()))).shown
    lines = [f"| | {' | '.join(shown.values())} |", "|---" * (1 + len(shown)) + "|"]
    lines += [
        f"| {markdown(name)} | {' | '.join(f'{row[score]:.3f}' for score in shown)} |"
        for name, row in judged[1].items()
    ]
    return "\n".join(lines)
