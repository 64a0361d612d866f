"""The model card: what the model is, what it was trained on and how, and how good it was found to be."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from huggingface_hub import ModelCard, ModelCardData

from salience.data.task import Task
from salience.errors import printable
from salience.training.procedures import Turns
from salience.training.recipe import Recipe

TEMPLATE = """---
{{ card_data }}
---

# {{ title }}

A text classifier for {{ names | length }} labels: {{ names | join(", ") }}.

It is a {{ kind }}:

```python
{% if ours %}import salience.models.attention_classifier  # registers the architecture
{% endif %}from transformers import pipeline

classify = pipeline("text-classification", model="{{ folder }}", truncation=True)
```

`truncation=True` cuts texts to the {{ longest }} tokens that the model was trained on.

## How it was trained

{{ training }}, with salience {{ about.versions.salience }}. `recipe.yaml` repeats the run:
`salience train --config recipe.yaml --output another-folder`.

## How good it is
{% if table %}
{{ table }}

Measured on {{ metrics.rows[metrics.judged_on] }} {{ metrics.judged_on }} rows, once, with one seed: no interval can be
given, and a difference of a few rows means nothing.
{%- if metrics.judged_on == "validation" %} The checkpoint was chosen on these rows, so the first line is flattered.
{%- endif %}
{% else %}
Nothing was held out, so nothing was measured.
{% endif %}
The calibration error is the expected calibration error in 15 bins: 0 for a model that is right as often as it says.
"""


def model_card(recipe: Recipe, task: Task, metrics: dict, about: dict, ours: bool) -> str:
    """The README.md of a run folder, with the metadata that the hub reads.

    `ours`: transformers does not know the model's architecture by itself.
    """
    data = ModelCardData(
        pipeline_tag="text-classification",
        library_name="transformers",
        tags=["salience", recipe.method],
    )
    card = ModelCard.from_template(
        data,
        template_str=TEMPLATE,
        title="Text classifier",
        ours=ours,
        kind="Hugging Face checkpoint, whose architecture salience knows" if ours else "plain Hugging Face checkpoint",
        folder="path/to/this/folder",
        longest=recipe.max_length,
        names=[markdown(name) for name in task.names],
        training=training_words(recipe, metrics),
        table=score_table(metrics),
        metrics=metrics,
        about=about,
    )
    return str(card)


def training_words(recipe: Recipe, metrics: dict) -> str:
    method = "the texts as they are" if recipe.method == "plain" else f"{recipe.method}, clean part {recipe.clean}"
    return (
        f"{metrics['rows']['training']} rows of {code(file_name(recipe.data))} on {code(file_name(recipe.model))}: "
        f"{method}, "
        f"{training_steps(recipe, metrics)}, learning rate {recipe.learning_rate:.2g}, seed {recipe.seed}"
    )


def training_steps(recipe: Recipe, metrics: dict) -> str:
    if "iterations" not in metrics:
        return f"{recipe.steps} steps of {recipe.batch_size} texts at most (stopped after {metrics['steps']})"
    steps = " + ".join(str(row["steps"]) for row in metrics["iterations"])
    (kept,) = (row["iteration"] for row in metrics["iterations"] if row["kept"])
    turns = Turns(**recipe.procedure_options)
    return (
        f"{steps} steps of {recipe.batch_size} texts in iterations 0 to {turns.iterations} of VAT, beta "
        f"{turns.beta:g}, of which iteration {kept} was kept"
    )


# Signs that mean something inside a line of Markdown: in CommonMark, GitHub's tables and links, formulas and emoji.
MEANINGFUL = re.compile(r"[\\`*_{}\[\]<>&|~$:@#^=]|(?<=www)\.", re.IGNORECASE)


def markdown(text: str) -> str:
    """A text inside a line of Markdown that shows it as it is: a label may be no link, element or cell of a table."""
    return MEANINGFUL.sub(lambda sign: f"\\{sign[0]}", printable(text))


def code(text: str) -> str:
    """A text as Markdown's code, between more backticks than it has in a row."""
    text = printable(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def file_name(source: str) -> str:
    """A card is published: of a path on somebody's machine it shows the last part only."""
    if os.path.exists(source):  # False also for what can be no path
        return Path(source).name
    return urlsplit(source).path if "://" in source else source


def score_table(metrics: dict) -> str:
    judge = metrics.get("judged_on")
    if not judge:
        return ""
    rows = {"this model": metrics[judge]} | metrics["baselines"]
    lines = ["| | accuracy | macro-F1 | calibration error |", "|---|---|---|---|"]
    lines += [
        f"| {markdown(name)} | {found['accuracy']:.3f} | {found['macro_f1']:.3f} | {found['calibration_error']:.3f} |"
        for name, found in rows.items()
    ]
    return "\n".join(lines)
