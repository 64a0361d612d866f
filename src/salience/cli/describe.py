"""`salience describe`: a classifier from descriptions of its labels, written as a plain checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience._version import __version__
from salience.cli import options
from salience.cli.options import folder_for, of_recipe
from salience.errors import counted

FILE = "descriptions.json"  # in the folder: what it was made from
CARD = """---
pipeline_tag: text-classification
library_name: transformers
tags:
- salience
---

# Text classifier from descriptions of its labels

A plain Hugging Face checkpoint that was not trained: a text gets the label whose description has the most similar
sentence vector of the encoder {model}. Made by `salience describe`, salience {version}.

{scores} The probabilities are not calibrated.

| label | descriptions |
|---|---|
{rows}
"""


def describe(
    labels: Annotated[str, Argument(help="Yaml file with a text or a list of texts for each label.")],
    model: Annotated[str, Option(help="Encoder: a folder, or a hub name.")] = "minilm",
    test: Annotated[str | None, Option(help="Labelled texts to measure it on.  [default: none]")] = None,
    text: options.GuessedText = None,
    label: options.GuessedLabel = None,
    encoding: options.Encoding = "utf-8",
    max_length: Annotated[int | None, of_recipe("Tokens read of a text.")] = None,
    device: options.Device = "auto",
    output: Annotated[Path | None, Option(help="Folder.  [default: runs/LABELS-described]")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Make a classifier from descriptions of its labels, without any labelled text."""
    from salience.cli.rows import labelled_texts
    from salience.data.reading import column_names
    from salience.data.task import label_descriptions, read_descriptions
    from salience.files import check_folder, input_first, resolved, whole_folder, write_json, write_whole
    from salience.models.loading import load_configuration
    from salience.report.terminal import say
    from salience.runs.card import code, file_name, markdown
    from salience.runs.folder import check_replaceable, write_manifest, written_by_run
    from salience.runs.sentences import with_intervals
    from salience.scores.labels import ONE_LABEL
    from salience.training.head import described_classifier

    output = output or folder_for(labels, "described")
    described, columns = read_descriptions(labels), {"text": text, "label": label, "encoding": encoding}
    with input_first(lambda: (load_configuration(model), test and column_names(test, encoding))):
        check_folder(output, overwrite)
        if output.exists():
            check_replaceable(resolved(output), output, "a classifier of salience describe", FILE)
    names = list(described)
    classifier = described_classifier(model, label_descriptions(labels, names), names, max_length, device)
    found, scores = None, "Nothing was measured."
    if test is not None:
        known = labelled_texts(test, names, None, None, columns)
        measured = ONE_LABEL.with_intervals(classifier.predict_proba(known), known.known_labels, None, seed=0)
        found = {**measured, "rows": len(known), "file": Path(test).name}
        told = f"{with_intervals(measured)} (95 % intervals over rows)"
        say(f"on {counted(len(known), 'row')} of {found['file']}: {told}")
        scores = f"On {counted(len(known), 'labelled row')}: {told}."
    rows = [f"| {markdown(name)} | {'; '.join(map(markdown, texts))} |" for name, texts in described.items()]
    card = CARD.format(model=code(file_name(model)), rows="\n".join(rows), scores=scores, version=__version__)
    with whole_folder(output, own=written_by_run(output)) as unfinished:
        classifier.model.config._name_or_path = model
        classifier.model.save_pretrained(unfinished)
        classifier.tokenizer.save_pretrained(unfinished)
        about = {"written by": f"salience {__version__}", "model": model, "labels": described, "test": found}
        write_json(unfinished / FILE, about)
        write_whole(unfinished / "README.md", card)
        write_manifest(unfinished)
    say(f"saved: {output} ({counted(len(names), 'label')})")
