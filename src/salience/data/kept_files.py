"""Data files that were read a moment ago: a grid names the same ones for every run, and a process reads them once."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

from salience.data.texts import Texts

LIMIT = 50_000_000  # characters of texts that are kept: some hundreds of megabytes at most
Read = TypeVar("Read")
_kept: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()  # what was read, with its number of characters


def read_once(source: str, how: Hashable, read: Callable[[], Read], texts_of: Callable[[Read], Texts]) -> Read:
    """What `read` gives, or gave when it was called for the same file; not to be changed by who gets it.

    A file is the same as long as its path, size, times and number in the file system are. Data sets on the hub are
    read every time: their files have no place of their own.

    Args:
        source: the file, or the name of a data set on the hub.
        how: all that the result depends on besides the file.
        read: reads the file.
        texts_of: the texts in a result, by whose characters the room is counted. The files that were not wanted for
            the longest time are forgotten first. A file of more than `LIMIT` characters is not kept.
    """
    before = stamp(source)
    if before is None:
        return read()
    key = (before, how)
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key][0]  # type: ignore[return-value]  # `how` says what was read
    found = read()
    texts = texts_of(found)
    size = sum(map(len, texts.texts)) + sum(map(len, texts.second or []))
    if size <= LIMIT and stamp(source) == before:  # it did not change while it was read
        _kept[key] = found, size
        while sum(each for _, each in _kept.values()) > LIMIT:
            _kept.popitem(last=False)
    return found


def stamp(source: str) -> tuple | None:
    """What tells a file from another one and from its own later states; None if there is no such file."""
    try:
        path = os.path.realpath(source)
        if not os.path.isfile(path):
            return None
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return path, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
