"""`salience describe`: a classifier from descriptions of its labels, written as a plain checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salience._version import __version__
from salience.classify import TextClassifier
from salience.commands.export import check_replaceable
from salience.commands.labelled_texts import labelled_texts
from salience.data.task import label_descriptions, read_descriptions
from salience.errors import counted
from salience.files import whole_folder, write_json, write_whole
from salience.report.terminal import say
from salience.runs.card import code, file_name, markdown
from salience.runs.folder import write_manifest, written_by_run
from salience.scores.metrics import scores
from salience.training.described import described_classifier

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


def describe_labels(
    source: str, model: str, test: str | None, output: Path | None, *, max_length: int | None, device: str,
    overwrite: bool, columns: Mapping[str, Any],
) -> None:  # fmt: skip
    """Writes a folder with a classifier, and measures it if there are labelled texts.

    Args:
        source: a yaml file with a text or a list of texts for each label.
        model: the encoder.
        test: a file of labelled texts; None measures nothing.
        output: the folder to write; None is runs/LABELS-described.
        columns: names of the columns and the encoding of `test`, as `read_texts` takes them.

    Raises:
        InputError: the descriptions, the model, the test data or an option is at fault. Nothing is written then.
    """
    output = output or Path("runs") / f"{Path(source).name.split('.')[0] or 'labels'}-described"
    check_replaceable(output, overwrite, FILE, "classifier of salience describe")
    described = read_descriptions(source)
    labels = list(described)
    classifier = described_classifier(model, label_descriptions(source, labels), labels, max_length, device)
    found = None if test is None else measured(classifier, test, columns)
    if found is not None:
        say("accuracy {accuracy:.3f}, macro-F1 {macro_f1:.3f} on {rows:,} rows of {file}".format_map(found))
    with whole_folder(output, own=written_by_run(output)) as unfinished:
        classifier.model.config._name_or_path = model
        classifier.model.save_pretrained(unfinished)
        classifier.tokenizer.save_pretrained(unfinished)
        about = {"written by": f"salience {__version__}", "model": model, "labels": described, "test": found}
        write_json(unfinished / FILE, about)
        write_whole(unfinished / "README.md", card(described, model, found))
        write_manifest(unfinished)
    say(f"saved: {output} ({counted(len(labels), 'label')})")


def measured(classifier: TextClassifier, test: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The scores on labelled texts, with their number of "rows" and the "file". Rows of other labels are left out.

    Raises:
        InputError: the file is at fault, or has no row with a label of the classifier.
    """
    known = labelled_texts(test, classifier.labels, None, None, columns)
    return scores(classifier.predict_proba(known), known.known_labels) | {"rows": len(known), "file": Path(test).name}


def card(described: Mapping[str, list[str]], model: str, found: Mapping[str, Any] | None) -> str:
    """The README.md of the folder, in Markdown; labels and descriptions are escaped."""
    rows = "\n".join(
        f"| {markdown(label)} | {'; '.join(map(markdown, texts))} |" for label, texts in described.items()
    )
    scores = "Nothing was measured."
    if found is not None:
        scores = "Accuracy {accuracy:.3f}, macro-F1 {macro_f1:.3f} on {rows:,} labelled rows.".format_map(found)
    return CARD.format(model=code(file_name(model)), rows=rows, scores=scores, version=__version__)
