"""Descriptions of the labels: texts that say in words what a label means.

Where a class has few rows, its name tells as much as one of them, and a description tells more. Each description is
one more text to train on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from salience.assignments import read_yaml_texts
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError, counted, listed, quoted, unknown
from salience.files import readable_text

NAMES = "names"  # in place of a file: the names of the labels
# Rows of a label, on average, with which descriptions gained something in the study of docs/howto/few-labels.md.
FEW = 10


def label_descriptions(source: str, labels: Sequence[str], several: bool = False) -> Texts:
    """The descriptions of labels, with the numbers of the labels.

    Args:
        source: a yaml file with a text or a list of texts for each label, which may leave labels out; or "names",
            which takes the names of the labels themselves.
        labels: the names of the C labels, in the order of their numbers.
        several: whether a text can have several labels. A description then has its label alone: 0 and 1 (M, C).

    Raises:
        InputError: the file cannot be read, describes a label that there is not, or has a description without words.
    """
    described = {label: [name_in_words(label)] for label in labels} if source == NAMES else read_descriptions(source)
    for label in described:
        if label not in labels:
            raise unknown(f"label in {source}:", label, labels)
    pairs = [(text, labels.index(label)) for label, texts in described.items() for text in texts]
    for text, number in pairs:
        if not re.search(r"\w", text):
            raise InputError(
                f"{source}: a description of {quoted(labels[number])} has no words: write some, or remove it"
            )
    numbers = np.array([number for _, number in pairs], np.int64)
    alone = np.eye(len(labels), dtype=np.int64)
    return Texts([text for text, _ in pairs], labels=alone[numbers] if several else numbers)


def name_in_words(label: str) -> str:
    """The name of a label as a text: "card_arrival" as "card arrival", "getSpareCard" as "get spare card"."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    words = re.sub(r"[_\W]+", " ", apart).strip()
    return words.lower() if words else label


def read_descriptions(source: str) -> dict[str, list[str]]:
    """The descriptions of each label in a yaml file. Names of labels and descriptions are read as they are written.

    Raises:
        InputError: the file cannot be read, or does not hold labels with texts.
    """
    path = Path(source).expanduser()
    with readable_text(path, "utf-8") as file:
        text = file.read()
    found = read_yaml_texts(text, source)
    if not isinstance(found, dict) or not found:
        raise InputError(f"{source}: label descriptions are lines of the form label: text")
    descriptions = {label: texts if isinstance(texts, list) else [texts] for label, texts in found.items()}
    wrong = [str(label) for label, texts in descriptions.items() if not all(isinstance(text, str) for text in texts)]
    if wrong:
        raise InputError(
            f"{source}: {counted(len(wrong), 'label')} with something else than a text or a list of texts: "
            f"{listed(wrong, 5)}"
        )
    return descriptions


def worth_describing(task: Task) -> str:
    """A line for a person who has few rows of a label and has described none; else empty."""
    rows = len(task.training) / len(task.labels)
    if rows > FEW or len(task.descriptions) or task.training.second is not None:
        return ""
    return (
        f"{counted(round(rows), 'row')} of a label on average: a sentence that says what each label means can help "
        "(--label-descriptions labels.yaml)"
    )
