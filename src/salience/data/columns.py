"""The columns of a file that hold the text, the second text of a pair, and the label: named, or guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from salience.data.values import label_columns
from salience.errors import InputError, listed, nearest, quoted

# Usual names in lower case. The first one that a file has is chosen.
PAIRS = [
    ("text", "text_pair"), ("text1", "text2"), ("text_1", "text_2"), ("text_a", "text_b"),
    ("sentence1", "sentence2"), ("sentence_1", "sentence_2"), ("sentence_a", "sentence_b"),
    ("premise", "hypothesis"), ("question1", "question2"), ("question", "sentence"), ("question", "passage"),
    ("question", "context"), ("query", "passage"), ("query", "document"),
]  # fmt: skip
TEXTS = [
    "text", "texts", "sentence", "review", "review_text", "content", "utterance", "question", "query", "tweet",
    "comment", "comment_text", "message", "body", "document", "passage", "description", "headline", "title",
]  # fmt: skip
LABELS = [
    "label", "labels", "class", "category", "intent", "sentiment", "target", "topic", "emotion", "stance", "polarity",
    "y", "gold_label", "label_text",
]  # fmt: skip
WORDS_OF_A_TEXT = 4  # a name of so many words is taken for a text, and the file for one without a header
ROLES = {"text": "text column", "text_pair": "second text column", "label": "label column"}


@dataclass(frozen=True)
class Columns:
    """The names of the columns that are read.

    Args:
        text: the column of the texts, or of the first texts of pairs.
        text_pair: the column of the second texts; None for single texts.
        label: the column of the labels, or the names in `several` with commas between; None if they are not read.
        group: the column of the groups that rows belong to; None if there are none.
        several: the columns of 0 and 1, one for each label; empty where one column holds the labels.
        separator: divides the labels of a row in the column; None if each row has one label or a list.
        empty_label: "none" where an empty value of the column says that a row has no label; else "error".
        marks, ignore: the columns of words that decide, and that must not count; see `salience.data.marks`.
    """

    text: str
    text_pair: str | None = None
    label: str | None = None
    group: str | None = None
    several: tuple[str, ...] = ()
    separator: str | None = None
    empty_label: str = "error"
    marks: str | None = None
    ignore: str | None = None

    @property
    def names(self) -> set[str]:
        named = (self.text, self.text_pair, self.group, self.marks, self.ignore, *(self.several or (self.label,)))
        return {name for name in named if name is not None}


def choose_columns(
    names: Sequence[str],
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    need_label: bool = True,
    source: str = "",
    text_option: str = "--text",
    group: str | None = None,
    separator: str | None = None,
    empty_label: str = "error",
    marks: str | None = None,
    ignore: str | None = None,
) -> tuple[Columns, list[str]]:
    """Chooses the columns: those that are named, and for the others a guess from usual names.

    A second text is guessed only together with the first one; the group and marks are never guessed.

    Args:
        names: all columns of the file.
        label: one column, or several of 0 and 1 with commas between them.
        source, text_option: the data, and the option that names the text column, for error messages.

    Returns:
        The columns, and a note for each guess: 'text column: "sentence" (guessed)'.

    Raises:
        InputError: there is no column of a given name, a column is named twice, or a column cannot be guessed.
    """
    at, several = f"{source}: " if source else "", label_columns(label, names)
    if len(several) > 1 and separator is not None:
        raise InputError(f"--label-separator divides the labels of one column, and --label names {len(several)}")
    if len(several) > 1 and empty_label == "none":
        raise InputError(f"--empty-label is about the cells of one column, and --label names {len(several)}: write 0")
    if len(set(several)) < len(several):
        raise InputError(f"--label {label} names a column twice")
    options = {text_option: text, "--text-pair": text_pair, "--group": group, "--marks": marks, "--ignore": ignore}
    options |= {"--label": label} if len(several) < 2 else {f"--label {name}": name for name in several}
    named = {option: name for option, name in options.items() if name is not None}
    for option, name in named.items():
        if name not in names:
            raise InputError(
                f"{at}no column {quoted(name)} ({option}); the columns are {listed(map(quoted, names))}."
                f"{nearest(name, names)}"
            )
    if len(set(named.values())) < len(named):
        raise InputError(f"{at}{' and '.join(named)} must each name another column")

    free = [name for name in names if name not in named.values()]
    guessed: list[str] = []

    def guess(role: str, name: str) -> str:
        free.remove(name)
        guessed.append(f"{ROLES[role]}: {quoted(name)} (guessed)")
        return name

    def only(but: str | None = None) -> str | None:
        """The only column that is left, ignoring `but`; None if there are several."""
        rest = [name for name in free if name != but]
        return rest[0] if len(rest) == 1 else None

    if text is None and text_pair is None:
        pairs = (tuple(usual(free, [name]) for name in pair) for pair in PAIRS)
        if pair := next((pair for pair in pairs if None not in pair), None):
            text, text_pair = guess("text", str(pair[0])), guess("text_pair", str(pair[1]))
    # Of two columns, one with a usual name decides what the other one is.
    likely_label = usual(free, LABELS) if label is None else None
    if text is None and (likely := usual(free, TEXTS) or only(but=likely_label)):
        text = guess("text", likely)
    if label is None and need_label and (likely := usual(free, LABELS) or (only() if len(names) == 2 else None)):
        label = guess("label", likely)
    if text is None or (label is None and need_label):
        option, what, more = "--label", "the label", "; if there are no labels yet, see salience describe"
        if text is None:
            option, what, more = text_option, "the text", ""
            if any(len(name.split()) >= WORDS_OF_A_TEXT for name in names):
                more = (
                    "; if that is the first row of the data, write the names of the columns above it, such as "
                    "text,label"
                )
        raise InputError(
            f"{at}no column has a usual name for {what}; name it with {option}. The columns are "
            f"{listed(map(quoted, names))}{more}"
        )
    labels = several if len(several) > 1 else ()
    return Columns(text, text_pair, label, group, labels, separator, empty_label, marks, ignore), guessed


def choose_as_trained(
    names: Sequence[str], trained: Columns | None, named: Mapping[str, str | None], need_label: bool, source: str = "",
    text_option: str = "--text",
) -> tuple[Columns, list[str]]:  # fmt: skip
    """As `choose_columns`, but the names of the training columns come before usual names.

    Args:
        named: `text`, `text_pair`, `label` and `empty_label`, as far as the user names them.

    Raises:
        InputError: as `choose_columns`; or the model was trained on pairs and the texts are single, or the reverse.
    """
    known: dict[str, str | None] = {}
    if trained is not None:
        free = set(names) - set(named.values())
        texts = {"text": trained.text} | ({} if trained.text_pair is None else {"text_pair": trained.text_pair})
        if not any(named.get(role) for role in ("text", "text_pair")) and free.issuperset(texts.values()):
            known |= texts
        labels = label_columns(trained.label, names)
        if need_label and named.get("label") is None and labels and free.issuperset(labels):
            known["label"] = trained.label
    written: dict[str, Any] = {} if trained is None or not need_label else {
        "separator": trained.separator, "empty_label": trained.empty_label,
    }  # fmt: skip
    given = {role: name for role, name in named.items() if name is not None}
    chosen, notes = choose_columns(
        names, **{**written, **given, **known}, need_label=need_label, source=source, text_option=text_option
    )
    if trained is not None and (trained.text_pair is None) != (chosen.text_pair is None):
        needed = f"pairs of texts; name both with {text_option} and --text-pair"
        if trained.text_pair is None:
            needed = f"single texts, not on pairs; name one with {text_option}"
        raise InputError(f"{source}{': ' if source else ''}the model was trained on {needed}")
    return chosen, [f"{ROLES[role]}: {quoted(name)} (as in training)" for role, name in known.items()] + notes


def usual(names: Sequence[str], known: Sequence[str]) -> str | None:
    """The first of the `known` names that is among `names`, ignoring case."""
    by_lower_case = {name.lower(): name for name in reversed(names)}
    return next((by_lower_case[name] for name in known if name in by_lower_case), None)
