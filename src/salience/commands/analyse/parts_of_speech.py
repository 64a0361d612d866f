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

from salience.classify import load
from salience.classify.classifier import with_one_label
from salience.commands.labelled_texts import cannot, read_texts
from salience.data.texts import Texts
from salience.errors import InputError, counted, quoted
from salience.explainers import Attention
from salience.files import whole_folder
from salience.papers.attentionmix.parts_of_speech import (
    ByTag,
    Head,
    Meetings,
    SpacyTagger,
    Tagged,
    Tagger,
    bars,
    given_tags,
    head_table,
    meeting_map,
    meetings,
    named,
    tagged_attention,
)
from salience.report.pictures import numbers, save
from salience.report.terminal import say, tell
from salience.settings import is_whole


def analyse_parts_of_speech(
    name: str, data: str, *, heads: str, tagger: str | None, tags: str | None, words: bool, sums: bool,
    most: int | None, columns: Mapping, max_length: int | None, device: str, seed: int, output: Path,
) -> None:  # fmt: skip
    """Writes pos.json and pictures, and prints the table.

    Args:
        name: a trained classifier with a transformer inside.
        data: a file of texts.
        heads: LAYER:HEAD between commas; a layer alone stands for the mean of its heads.
        tagger: a spaCy pipeline, or a function as module:function; None is the usual pipeline.
        tags: a column of `data` with one tag for each word; no tagger is used then.
        words: sum the attention of a word's tokens for the table.
        sums: multiply attention by the length of the text.
        most: number of rows to read; None reads all.
        columns: names of the columns and the encoding, as `read_texts` takes them.
        seed: of the pairs of texts whose mixtures are examined.
        output: the folder to write.

    Raises:
        InputError: the data, the model or an option is invalid.
    """
    chosen = [head_of(text) for text in heads.split(",")]
    classifier = load(name, max_length, device)
    with_one_label(classifier, "salience analyse pos", name)
    if classifier.long != "head":
        raise InputError(
            f"{name} reads parts of long texts, with --long {classifier.long}, and the attention of whole texts is "
            "analysed: train a model with --long head"
        )
    read = Texts.concatenated(
        read_texts(data, labels=None, trained=None, most=most, columns=columns, marks=tags, option="--tags")
    )
    if read.second is not None:
        tell(f"{data}: only first texts are read, not the second ones beside them")
    texts = read.texts
    if tags is not None:
        tagged = [given_tags(*of_text) for of_text in zip(texts, read.marks or [], read.rows or [], strict=True)]
    else:
        tagged = tagged_by(tagger, texts)
    if not texts:
        raise InputError(f"{data} has no texts")
    by_head: dict[Head, ByTag] = {}
    met: dict[Head, Meetings] = {}
    for layer, head in chosen:
        attention = Attention(layer, head, mean=not sums)
        look = partial(
            tagged_attention, classifier.model, classifier.tokenizer, texts, tagged, attention, classifier.max_length
        )
        with cannot(f"analyse {name}"):
            tokens = look()
            by_head[layer, head] = (look(words=True) if words else tokens).by_tag()
        # AttentionMix mixes token by token, whatever is summed for the table.
        met[layer, head] = meetings(tokens, np.random.default_rng(seed).permutation(len(texts)))
    title = f"{counted(len(texts), 'text')} of {Path(data).name}: attention relative to the head's mean"
    Console().print(head_table(by_head, title))
    first, rows_of_heads = chosen[0], [as_json(head, by_head[head], met[head]) for head in chosen]
    heights = {named(head): by_tag.relative for head, by_tag in by_head.items()}
    draw_bars = partial(bars, tags=by_head[first].tags, heads=heights, title="Attention by part of speech")
    with whole_folder(output) as folder:
        (folder / "pos.json").write_text(json.dumps(rows_of_heads, indent=1), encoding="utf-8")
        save(draw_bars, folder / "pos")
        save(partial(meeting_map, met=met[first], title=named(first)), folder / "meetings", size=(7.5, 6.5))
    say(f"saved: {output}/pos.json, pos.png and meetings.png, both also as svg")


def head_of(text: str) -> Head:
    """A head from the command line: "0:8" is head 8 of layer 0, "0" the mean of the heads of layer 0.

    Raises:
        InputError: it is neither.
    """
    layer, _, head = text.partition(":")
    try:
        return int(layer), int(head) if head else None
    except ValueError:
        raise InputError(f"{quoted(text)} is no head; write --heads 0:8,10:3, or a layer alone for its mean") from None


def tagged_by(name: str | None, texts: Sequence[str]) -> list[Tagged]:
    """The tags that a spaCy pipeline, or a function of the user's, gives the words of each text.

    Raises:
        InputError: the tagger fails, or gives something other than tags.
    """
    tagger = tagger_named(name)
    try:
        tagged = [list(words) for words in tagger(texts)]
    except InputError:
        raise
    except Exception as error:  # the user's own code
        raise InputError(f"--tagger {name}: {type(error).__name__}: {error}") from error
    if len(tagged) != len(texts):
        raise InputError(f"--tagger {name}: it gave the tags of {len(tagged)} texts for {len(texts)}")
    for word in chain.from_iterable(tagged):
        valid = isinstance(word, tuple | list) and len(word) == 3
        if not (valid and is_whole(word[0]) and is_whole(word[1]) and isinstance(word[2], str)):
            raise InputError(f'--tagger {name}: a word is (from, to, tag), as (0, 3, "DET"), not {word!r:.60}')
    return tagged


def tagger_named(name: str | None) -> Tagger:
    """A spaCy pipeline, or a function of the user's as module:function, which may be in the current folder.

    Raises:
        InputError: it cannot be imported, or is not a function.
    """
    if name is None or ":" not in name:
        return SpacyTagger() if name is None else SpacyTagger(name)
    module, _, function = name.partition(":")
    sys.path.append("")
    try:
        tagger = getattr(import_module(module), function)
    except Exception as error:  # the user's own code
        raise InputError(f"--tagger {name}: {error}") from error
    finally:
        sys.path.remove("")
    if not callable(tagger):
        raise InputError(f"--tagger {name}: {function} is no function")
    return tagger


def as_json(head: Head, by_tag: ByTag, met: Meetings) -> dict:
    """The values of one head as they are written to pos.json."""
    values = zip(by_tag.tags, by_tag.count, by_tag.mean, by_tag.relative, by_tag.difference, strict=True)
    return {
        "layer": head[0], "head": head[1], "mean": by_tag.overall,
        "tags": {
            tag: {
                "count": int(count), "mean": float(mean), "relative": float(relative), "difference": float(difference)
            }
            for tag, count, mean, relative, difference in values
        },
        "mixtures": {
            "tags": met.tags, "own words keep": numbers(met.own), "partner's words take": numbers(met.partner),
            "own words keep, by partner's tag": [numbers(row) for row in met.kept],
        },
    }  # fmt: skip
