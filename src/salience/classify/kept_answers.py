"""The answers of a prediction in a working file beside its output, from which an interrupted one goes on.

What is kept are probabilities, not rows: the output is written from its beginning by the program that writes every
output, so that it has the same bytes whatever its format is.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np

from salience._version import __version__
from salience.classify.classifier import OnnxClassifier, TextClassifier, at_once
from salience.classify.parts import ClusterError, Windows, answers_by_ray
from salience.classify.predictor import Answers, Predictor
from salience.errors import InputError, counted
from salience.files import files_in, resolved, sha256_of, temporary, working_file
from salience.models.precision import resolve_precision
from salience.runs.folder import MANIFEST, changed
from salience.work import tracked

BEGIN = b'{"kept by": "salience predict", '  # of the first line, which says what the answers depend on
HEAD = Struct("<BIQ")  # of a record: its kind, the checksum and the number of the bytes that follow
# Kinds: what is computed of a batch of the window under way, and the answers of a whole one; 1 and 2 are of the past.
PART, WINDOW = 3, 4
Answered = Generator[tuple[int, list[dict], Answers], None, None]
ARRAYS = {PART: 1, WINDOW: 4}
PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
# Files in the folder of a model that no prediction reads, by their ends.
NOT_READ = (MANIFEST, "class_words.json", ".html", ".md", ".csv", ".jsonl", ".parquet")


class KeptAnswers:
    """The answers in a working file, the first part of all, and those that are added to it.

    An answer is there as soon as it is computed, also if the process is killed then: every record is written at once,
    and one that is cut off or damaged ends the file.
    """

    def __init__(self, place: Path) -> None:
        # Windows that are whole, their rows, parts of the next one, and the texts (or windows of long ones) in these.
        self.windows = self.rows = self.parts = self.texts = 0
        self.file = open(place, "r+b")  # noqa: SIM115  # until `close`
        self.depends_on = self.first_line(place)
        begin = end = self.file.tell()
        for kind, values in self.records():
            end = self.file.tell()
            self.count(kind, values[0])
        self.file.truncate(end)
        self.file.seek(begin)
        self.unread = self.parts

    def first_line(self, place: Path) -> dict[str, Any]:
        """What the answers depend on."""
        with suppress(ValueError):
            if (line := self.file.readline()).startswith(BEGIN):
                return json.loads(line)
        self.close()
        raise InputError(
            f"{place} is in the way and was not written by salience predict: move it, or choose another --output"
        )

    @property
    def is_empty(self) -> bool:
        return not self.windows and not self.parts

    def count(self, kind: int, probabilities: np.ndarray) -> None:
        if kind == WINDOW:
            self.windows, self.rows = self.windows + 1, self.rows + len(probabilities)
            self.parts = self.texts = 0
        else:
            self.parts, self.texts = self.parts + 1, self.texts + len(probabilities)

    def told(self, total: int) -> str:
        """How much there is, for a note."""
        more = f", and {counted(self.texts, 'text')} of the next ones" if self.texts else ""
        return f"{self.rows:,} of {counted(total, 'row')}{more}"

    def records(self) -> Iterator[tuple[int, list[np.ndarray]]]:
        """The kind and the arrays of each record from here on, up to the first one that is not whole."""
        size = os.fstat(self.file.fileno()).st_size
        while len(head := self.file.read(HEAD.size)) == HEAD.size:
            kind, checksum, length = HEAD.unpack(head)
            if kind not in ARRAYS or length > size - self.file.tell():
                return
            if zlib.crc32(content := self.file.read(length)) != checksum:
                return
            opened = BytesIO(content)
            yield kind, [np.load(opened, allow_pickle=False) for _ in range(ARRAYS[kind])]

    def add(self, kind: int, *arrays: np.ndarray) -> None:
        opened = BytesIO()
        for array in arrays:
            np.save(opened, array, allow_pickle=False)
        content = opened.getvalue()
        self.file.write(HEAD.pack(kind, zlib.crc32(content), len(content)) + content)
        self.file.flush()
        self.count(kind, arrays[0])

    def whole_windows(self) -> Iterator[Answers]:
        """The answers of the windows that are whole. They are read before anything is added."""
        records = self.records()
        for _ in range(self.windows):
            yield next(Answers(*values) for kind, values in records if kind == WINDOW)

    def once(self, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """The next part of the window under way: the one that is kept, or one that is computed, and kept then."""
        if self.unread:
            self.unread -= 1
            return next(self.records())[1][0]
        found = compute()
        self.add(PART, found)
        return found

    def add_window(self, answers: Answers) -> None:
        self.add(WINDOW, answers.probabilities, answers.has_text, answers.cut, answers.familiarity)

    def close(self) -> None:
        with suppress(OSError):  # the disk is full, and what is cut off is not read again
            self.file.close()


@contextmanager
def kept_answers(
    output: Path, windows: Windows, predictor: Predictor, options: Mapping[str, Any], resume: bool, overwrite: bool,
    tell: Callable[[str], None],
) -> Iterator[KeptAnswers]:  # fmt: skip
    """Inside the `with`, answers are kept beside the output, and with `resume` those of an interrupted prediction.

    This process holds the lock of the output, and removes the working file when the output is whole. The file stays
    after an interruption. An error of the input removes one that this process has begun.

    Args:
        options: further options by their names, which an interrupted prediction must share.

    Raises:
        InputError: an interrupted prediction is there and is neither resumed nor replaced, or it cannot be resumed.
    """
    depends_on, total = what_answers_depend_on(windows, predictor, options), len(windows.rows)
    target = resolved(output)
    kept = KeptAnswers(place) if os.path.lexists(place := working_file(target)) else None
    if kept is not None and (kept.is_empty or not resume):
        kept.close()
        if not (kept.is_empty or overwrite):
            raise InputError(f"an interrupted prediction of {output} exists: --resume it, or --overwrite it")
        kept = None
    begun = kept is None
    if kept is not None:
        check_unchanged(kept.depends_on, depends_on, output, {"data": windows.source, "model": str(predictor.model)})
        tell(f"goes on after {kept.told(total)}")
    else:
        if resume:
            tell(f"no interrupted prediction of {output} is there: it begins with the first row")
        kept = begin(target, depends_on)
    try:
        yield kept
    except BaseException as error:
        kept.close()
        at_fault = isinstance(error, InputError) and not isinstance(error, ClusterError)
        if kept.is_empty or (begun and at_fault):
            place.unlink(missing_ok=True)
        elif not at_fault:
            tell(f"kept: {kept.told(total)}; the same command with --resume goes on")
        raise
    kept.close()


def answered(predictor: Predictor, windows: Windows, ray: str | None, kept: KeptAnswers | None) -> Answered:
    """The windows of a file in their order: the number of the first row, the rows, and the answers about them.

    Args:
        ray: the address of the cluster that predicts; None predicts here.
        kept: the answers that are there already, to which the others are added; None keeps none.
    """
    if kept is not None:
        whole = replace(windows, rows=windows.rows[: kept.rows])
        for (first, rows), answers in zip(whole, kept.whole_windows(), strict=True):
            yield first, rows, answers
        windows = replace(windows, rows=windows.rows[kept.rows :])
        if kept.rows and not windows.rows:
            return

    def here() -> Answered:
        once = at_once if kept is None else kept.once
        for first, rows in tracked(windows, len(windows.rows), "predicting", "rows", lambda window: len(window[1])):
            yield first, rows, predictor.answers(windows.texts_of(first, rows), once)

    def there(address: str) -> Answered:
        with closing(answers_by_ray(predictor, windows, address)) as found:
            yield from tracked(found, len(windows.rows), "predicting", "rows", lambda window: len(window[1]))

    with closing(here() if ray is None else there(ray)) as found:
        for first, rows, answers in found:
            if kept is not None:
                kept.add_window(answers)
            yield first, rows, answers


def begin(target: Path, depends_on: Mapping[str, Any]) -> KeptAnswers:
    """A new working file, which has its whole first line once it is there."""
    place, unfinished = working_file(target), temporary(target)
    try:
        unfinished.write_bytes(BEGIN + json.dumps(depends_on)[1:].encode() + b"\n")
        os.replace(unfinished, place)
    finally:
        unfinished.unlink(missing_ok=True)
    return KeptAnswers(place)


def kept_precision(output: Path) -> str:
    """The number format of an interrupted prediction, which "auto" is where it goes on; "auto" if it is not known."""
    with suppress(InputError, OSError, KeyError):
        kept = KeptAnswers(working_file(resolved(output)))
        kept.close()
        return str(kept.depends_on["--precision"])
    return "auto"


def what_answers_depend_on(
    windows: Windows, predictor: Predictor, options: Mapping[str, Any]
) -> dict[str, Any]:  # fmt: skip
    """By name: checksums of the data and the model, versions of packages, and options, which begin with a dash."""
    classifier = predictor.classifier
    device, precision = classifier.model.device, predictor.precision
    if not isinstance(classifier, OnnxClassifier):
        precision = resolve_precision(precision, device, classifier.model)
    return {
        "data": checksum_of_data(windows), "model": checksum_of_model(predictor.model, classifier),
        "packages": {name: version(name) for name in PACKAGES} | {"salience": __version__},
        "--max-length": classifier.max_length, "--device": device.type, "--precision": precision, **options,
    }  # fmt: skip


def checksum_of_data(windows: Windows) -> str:
    """The SHA-256 of a file, or of the texts of a data set on the hub."""
    if os.path.isfile(windows.source):
        return sha256_of(windows.source)
    found = sha256()
    for texts in windows.texts():
        found.update(json.dumps(texts).encode())
    return found.hexdigest()


def checksum_of_model(model: str | Path, classifier: TextClassifier) -> str:
    """The SHA-256 of the files in a folder, without checkpoints in it; or the name and the commit on the hub."""
    folder, found = Path(model).expanduser(), sha256()
    if not folder.is_dir():
        return f"{model} {getattr(classifier.model.config, '_commit_hash', None)}"
    for name in files_in(folder):
        if not name.endswith(NOT_READ) and not any(part.startswith((".", "checkpoint")) for part in Path(name).parts):
            found.update(f"{name} {sha256_of(folder / name)}\n".encode())
    return found.hexdigest()


def check_unchanged(
    before: Mapping[str, Any], now: Mapping[str, Any], output: Path, files: Mapping[str, str]
) -> None:  # fmt: skip
    """Raises an `InputError` if the answers of an interrupted prediction are not those of the present one.

    `files` are the names of the data and the model.
    """
    for name in changed(before, now):
        if name.startswith("-"):
            raise InputError(
                f"{output}: the interrupted prediction had {name} {json.dumps(before.get(name))}, not "
                f"{json.dumps(now[name])}: resume it with the same options, or --overwrite it"
            )
        what = files.get(name) or f"the versions of {', '.join(changed(before.get(name) or {}, now[name]))}"
        raise InputError(
            f"{output}: {what} changed after the interrupted prediction had begun: restore what was there to resume, "
            "or start again with --overwrite"
        )
