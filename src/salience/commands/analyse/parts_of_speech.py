"""`salience analyse pos`: attention by part of speech as a table, JSON and pictures (AttentionMix, Figures 5 to 7)."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from salience.analysis.parts_of_speech import ByTag, Meetings, meetings, tagged_attention
from salience.analysis.tagging import SpacyTagger, Tagged, Tagger, given_tags
from salience.commands.labelled_texts import cannot, read_texts
from salience.errors import InputError, counted, quoted
from salience.explainers import Attention
from salience.files import whole_folder
from salience.inference import load
from salience.report.parts_of_speech import Head, bars, meeting_map, named
from salience.report.pictures import numbers, save
from salience.report.terminal import literal, say, tell, titled
from salience.settings import is_whole


def analyse_parts_of_speech(
    name: str, data: str, *, heads: str, tagger: str | None, tags: str | None, words: bool, sums: bool,
    most: int | None, columns: Mapping, max_length: int | None, device: str, seed: int, output: Path,
) -> None:  # fmt: skip
    """Writes pos.json and pictures, and prints the table.

    Raises:
        InputError: the data, the model or an option is at fault.
    """
    chosen = [head_of(own) for own in heads.split(",")]
    classifier = load(name, max_length, device)
    rows = list(read_texts(data, labels=None, trained=None, most=most, columns=columns, marks=tags, option="--tags"))
    if any(own.pair is not None for own in rows):
        tell(f"{data}: only first texts are read, not the second ones beside them")
    texts = [own.text for own in rows]
    if tags is not None:
        tagged = [given_tags(own.text, own.marks, own.row) for own in rows]
    else:
        tagged = tagged_by(tagger, texts)
    if not texts:
        raise InputError(f"{data} has no texts")
    found: dict[Head, ByTag] = {}
    met: dict[Head, Meetings] = {}
    for layer, head in chosen:
        attention = Attention(layer, head, mean=not sums)
        look = partial(
            tagged_attention, classifier.model, classifier.tokenizer, texts, tagged, attention, classifier.max_length
        )
        with cannot(f"analyse {name}"):
            pieces = look()
            found[layer, head] = (look(words=True) if words else pieces).by_tag()
        # Mixtures are made piece by piece, whatever is summed for the table.
        met[layer, head] = meetings(pieces, np.random.default_rng(seed).permutation(len(texts)))
    Console().print(
        table(found, f"{counted(len(texts), 'text')} of {Path(data).name}: attention relative to the head's mean")
    )
    written = [as_json(own, found[own], met[own]) for own in chosen]
    heights = {named(head): own.relative for head, own in found.items()}
    first = chosen[0]
    with whole_folder(output) as folder:
        (folder / "pos.json").write_text(json.dumps(written, indent=1), encoding="utf-8")
        save(lambda axes: bars(axes, found[first].tags, heights, "Attention by part of speech"), folder / "pos")
        save(lambda axes: meeting_map(axes, met[first], named(first)), folder / "meetings", size=(7.5, 6.5))
    say(f"saved: {output}/pos.json, pos.png and meetings.png, both also as svg")


def head_of(text: str) -> Head:
    """ "0:8" is head 8 of layer 0, "0" the mean of its heads."""
    layer, _, head = text.partition(":")
    try:
        return int(layer), int(head) if head else None
    except ValueError:
        raise InputError(f"{quoted(text)} is no head; write --heads 0:8,10:3, or a layer alone for its mean") from None


def tagged_by(name: str | None, texts: Sequence[str]) -> list[Tagged]:
    """The tags of a spaCy pipeline, or of a function of the user's.

    Raises:
        InputError: it fails, or gives something else than tags.
    """
    tagger = tagger_named(name)
    try:
        found = [list(own) for own in tagger(texts)]
    except InputError:
        raise
    except Exception as error:  # the user's own code
        raise InputError(f"--tagger {name}: {type(error).__name__}: {error}") from error
    if len(found) != len(texts):
        raise InputError(f"--tagger {name}: it gave the tags of {len(found)} texts for {len(texts)}")
    for own in chain.from_iterable(found):
        fits = isinstance(own, tuple | list) and len(own) == 3
        if not (fits and is_whole(own[0]) and is_whole(own[1]) and isinstance(own[2], str)):
            raise InputError(f'--tagger {name}: a word is (from, to, tag), as (0, 3, "DET"), not {own!r:.60}')
    return found


def tagger_named(name: str | None) -> Tagger:
    """A spaCy pipeline, or the user's own function, written module:function, also from the current folder."""
    if name is None or ":" not in name:
        return SpacyTagger() if name is None else SpacyTagger(name)
    module, _, function = name.partition(":")
    sys.path.append("")
    try:
        found = getattr(import_module(module), function)
    except Exception as error:  # the user's own code
        raise InputError(f"--tagger {name}: {error}") from error
    finally:
        sys.path.remove("")
    if not callable(found):
        raise InputError(f"--tagger {name}: {function} is no function")
    return found


def table(found: Mapping[Head, ByTag], title: str) -> Table:
    made = titled(title)
    made.add_column("tag")
    made.add_column("count", justify="right")
    for head in found:
        made.add_column(named(head), justify="right")
    first = next(iter(found.values()))
    for index in np.argsort(-first.relative):
        made.add_row(
            literal(first.tags[index]),
            str(first.count[index]),
            *(f"{own.relative[index]:.2f}" for own in found.values()),
        )
    return made


def as_json(head: Head, found: ByTag, met: Meetings) -> dict:
    by_tag = zip(found.tags, found.count, found.mean, found.relative, found.difference, strict=True)
    return {
        "layer": head[0], "head": head[1], "mean": found.overall,
        "tags": {
            tag: {"count": int(count), "mean": float(mean), "relative": float(part), "difference": float(more)}
            for tag, count, mean, part, more in by_tag
        },
        "mixtures": {
            "tags": met.tags, "own words keep": numbers(met.own), "partner's words take": numbers(met.partner),
            "own words keep, by partner's tag": [numbers(row) for row in met.kept],
        },
    }  # fmt: skip
