"""The folder of a run: written under a temporary name and renamed, so that it is complete once it exists."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

import yaml

from salience._version import __version__
from salience.data.columns import Columns
from salience.errors import InputError, listed, nearest, one_line, quoted
from salience.files import files_in, leftovers, locked, resolved, write_json, write_whole
from salience.runs.retired import without_retired

# The manifest of a run folder lists the files that the run wrote. Only these files are ever removed.

RECIPE, METRICS, MANIFEST = "recipe.yaml", "metrics.json", "manifest.json"
HISTORY = "history.json"  # the loss and the validation scores over the steps
FACTS = "data_facts.json"
CORRECTED = "corrected.jsonl"  # corrected rows, and what was known of them before
ESTIMATOR, EXPORT = "salience.json", "export.json"  # what a saved estimator, and an export, are about
ABSTENTION = "abstention.json"  # thresholds below which the classifier abstains
FAMILIARITY = "familiarity.npz"  # training texts to which new ones are compared
# Of the rows in predictions.jsonl (N, C), with their class numbers (N,), and the names of the classes (C,).
PREDICTIONS, PROBABILITIES = "predictions.jsonl", "probabilities.npz"
OUT_OF_FOLD = ("out_of_fold.jsonl", "out_of_fold.npz")  # the same of the rows of an estimate, with their folds


@contextmanager
def optional(part: str, note: Callable[[str], None]) -> Iterator[None]:
    """Inside the `with`, a fault costs no finished run: `note` is told that this part of it is missing, and why.

    A full disk, or a file that may not be read, ends the run as it does elsewhere; it can be resumed.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) or isinstance(error.__cause__, OSError):
            raise
        note(f"the run is finished, but {part} is not ({one_line(f'{type(error).__name__}: {error}', 200)})")


def write_manifest(folder: Path) -> None:
    """Writes a manifest of all files in a folder, and gives them the file mode of new files (the umask)."""
    manifest = folder / MANIFEST
    write_json(manifest, {"written by": f"salience {__version__}", "files": sorted({*files_in(folder), MANIFEST})})
    for file in files_in(folder):
        shutil.copymode(manifest, folder / file)


def add_to_manifest(folder: Path, *names: str) -> None:
    """Adds files to the manifest of a run folder."""
    content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    files = {*content["files"], *names}
    if len(files) > len(content["files"]):
        write_json(folder / MANIFEST, content | {"files": sorted(files)})


def written_by_run(folder: Path) -> set[str]:
    """The files that a run wrote to its folder, as relative paths; none if the folder is not one of a run."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        written = manifest["written by"].startswith("salience ")  # other tools write files of this name, too
        paths = {file: PurePath(file) for file in manifest["files"]}
        inside = {file for file, path in paths.items() if not path.is_absolute() and ".." not in path.parts}
        return {MANIFEST, *inside} if written else set()
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return set()


def is_run(folder: Path) -> bool:
    """Whether a folder has the results of a run."""
    return all((folder / name).is_file() for name in (METRICS, RECIPE))


def no_run(name: str | Path) -> InputError:
    """The error for a folder that is no run: it names the runs in it, or the one beside it that was likely meant."""

    def runs_in(folder: Path) -> list[str]:
        return sorted(str(each) for each in folder.iterdir() if is_run(each)) if folder.is_dir() else []

    place = Path(name).expanduser()
    if inside := runs_in(place):
        return InputError(f"{name} is no run, but holds some: name one of {listed(map(quoted, inside), 5)}")
    near = nearest(str(place), runs_in(place.parent))
    return InputError(f"{name} is no run: name a folder that `salience train` has written.{near}")


def check_replaceable(folder: Path, name: str | Path, kind: str, sign: str = MANIFEST) -> None:
    """Checks that a folder has only files that salience wrote to a folder of this kind, which all have the `sign`.

    What a killed command has left in it does not count; the next one removes it. Nor does what Python has compiled of
    the server of an export.
    """
    files, written = set(files_in(folder)) if folder.is_dir() else {folder.name}, written_by_run(folder)
    left = {path.name for path in leftovers(folder / folder.name)}
    files = {file for file in files if PurePath(file).parts[0] not in {*left, "__pycache__"}}
    if files and sign not in written:
        raise InputError(f"{name} is not {kind} and is not overwritten: choose another --output")
    if foreign := sorted(files - written):
        raise InputError(
            f"{name} is not overwritten: salience did not write {listed(map(quoted, foreign), 3)}; choose another "
            "--output, or move these files elsewhere"
        )


# The recipe file of a run: reading it, and comparing its settings with those of another recipe.

QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a grid of 1,000 runs has 1,000 recipes


def read_recipe(file: Path) -> dict[str, Any]:
    """The settings in a recipe file, of which some may be retired.

    Raises:
        InputError: the file is damaged.
        OSError: the file cannot be read.
    """
    try:
        recipe = yaml.load(file.read_text(encoding="utf-8"), Loader=QUICK)
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{file} is damaged: {one_line(error, 200)}") from error
    if not isinstance(recipe, dict):
        raise InputError(f"{file} is damaged: settings are lines of the form name: value")
    return recipe


def trained_columns(model: str | Path) -> Columns | None:
    """The columns on which a run was trained; None for other models, and for recipes that name no columns."""
    try:
        recipe = read_recipe(Path(model).expanduser() / RECIPE)
        text, text_pair, label = (recipe[role] for role in ("text", "text_pair", "label"))
        separator, empty_label = recipe.get("label_separator"), recipe.get("empty_label", "error")
    except (FileNotFoundError, NotADirectoryError, InputError, KeyError):
        return None
    if not isinstance(text, str) or not all(isinstance(name, str | None) for name in (text_pair, label, separator)):
        return None
    return Columns(text, text_pair, label, separator=separator, empty_label=str(empty_label))


def trained_on_pairs(model: str | Path) -> bool | None:
    """Whether a run, a saved estimator or an export was trained on pairs of texts; None if nothing says so."""
    if (columns := trained_columns(model)) is not None:
        return columns.text_pair is not None
    for file, *names in ((ESTIMATOR, "pairs"), (EXPORT, "reads", "pairs")):
        with suppress(OSError, ValueError, KeyError, TypeError):  # not there, or damaged
            found = json.loads((Path(model).expanduser() / file).read_text(encoding="utf-8"))
            for name in names:
                found = found[name]
            if isinstance(found, bool):
                return found
    return None


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names in `now` whose values in `before` are different or missing."""
    return [name for name in now if before.get(name) != now[name]]


WORK = {RECIPE, "checkpoints", "model", "replaced"}  # names in a working folder


class RunFolder:
    """The output folder of a run, and the hidden folder beside it (`work`) that holds an unfinished run.

    `work` holds the checkpoints and then the trained model. It remains after a run is killed, so that the run can be
    resumed, and is removed when the run is done. Of an output that is a link, the target is written.

    Args:
        overwrite: whether an earlier run there is replaced.
        resume: whether an interrupted run is resumed.
        inputs: files and folders that the run reads, by the options that name them.

    Raises:
        InputError: the output cannot be replaced (the current folder, a mount point), or contains an input.
    """

    def __init__(
        self,
        output: str | Path,
        overwrite: bool = False,
        resume: bool = False,
        inputs: Mapping[str, Path] = MappingProxyType({}),
    ):
        self.output = resolved(Path(output))
        self.name = output  # for messages
        self.overwrite = overwrite
        self.resume = resume
        self.work = work_of(self.output)
        self.checkpoints = self.work / "checkpoints"
        self.model = self.work / "model"
        self.replaced = self.work / "replaced"
        if self.output in (Path.cwd(), *Path.cwd().parents) or os.path.ismount(self.output):
            raise InputError(
                f"{output} cannot be replaced by a run: name a folder inside it, as --output {output}/run"
            )
        for option, place in inputs.items():
            if self.output in (resolved(place), *resolved(place).parents):
                raise InputError(f"{output} contains {place}, which {option} reads: choose another --output")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside the `with`, this process holds the lock of the output, which may be written."""
        with locked(self.output):
            self.restore_replaced()
            self.check_output()
            if os.path.lexists(self.work):
                is_folder = self.work.is_dir() and not self.work.is_symlink()
                files = self.work.iterdir() if is_folder else [self.work]
                names = {path.name for path in files if not path.name.startswith(f".{RECIPE}.")}
                if names - WORK or (names and RECIPE not in names):
                    raise InputError(
                        f"{self.work} is in the way and was not written by a run: move it, or choose another --output"
                    )
                if names and not (self.overwrite or self.resume):
                    raise InputError(f"an interrupted run of {self.name} exists: --resume it, or --overwrite it")
            yield

    def restore_replaced(self) -> None:
        """Restores an earlier run that a killed process had moved away, unless the new run has replaced it."""
        if not self.replaced.is_dir():
            return
        if self.output.exists():
            shutil.rmtree(self.replaced)
        else:
            os.replace(self.replaced, self.output)

    def check_output(self) -> None:
        """Raises an `InputError` if the output exists and may not be replaced by a run."""
        if not os.path.lexists(self.output):
            return
        if not self.overwrite:
            raise InputError(f"{self.name} exists: choose another --output, or --overwrite it")
        check_replaceable(self.output, self.name, "a run of salience")

    def open(self, recipe: dict[str, Any]) -> None:
        """Prepares `work` for a run of this recipe. An interrupted run that is not resumed is removed."""
        file = self.work / RECIPE
        if file.is_file() and self.resume:
            before = without_retired(read_recipe(file), str(self.name))
            for name in changed(before, recipe):
                if name == "checksums":
                    files = changed(before.get(name) or {}, recipe[name])
                    raise InputError(
                        f"{self.name}: {listed(files)} changed after the interrupted run had begun: restore the "
                        "earlier file to resume, or start again with --overwrite"
                    )
                raise InputError(
                    f"{self.name}: the interrupted run had {name}={before.get(name)!r}, not {recipe[name]!r}: "
                    "resume it with the same settings, or --overwrite it"
                )
            self.checkpoints.mkdir(exist_ok=True)
            return
        self.remove_work()
        self.work.mkdir()
        write_whole(file, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))
        self.checkpoints.mkdir()

    def begin_model(self) -> None:
        """Makes the folder of the trained model, without what a killed process has left in it."""
        shutil.rmtree(self.model, ignore_errors=True)
        self.model.mkdir()

    def publish(self) -> None:
        """Moves the finished model folder to the output, in place of an earlier run if `overwrite` is set."""
        write_manifest(self.model)
        self.check_output()
        if self.output.exists():
            os.replace(self.output, self.replaced)
        os.replace(self.model, self.output)
        self.remove_work()

    def discard_work(self) -> None:
        """Removes the files of an interrupted run, unless another process holds the lock of the output."""
        with locked(self.output):
            self.restore_replaced()
            self.remove_work()

    def remove_work(self) -> None:
        """Removes `work`, the recipe last: by it, a later run recognises what remains after an interruption."""
        if not self.work.exists():
            return
        for folder in (self.checkpoints, self.model, self.replaced):
            if folder.exists():
                shutil.rmtree(folder)
        for file in sorted(self.work.iterdir(), key=lambda path: path.name == RECIPE):
            file.unlink()
        self.work.rmdir()


def work_of(output: Path) -> Path:
    """The hidden folder that holds an unfinished run of `output`."""
    return output.absolute().parent / f".{output.name}.partial"


def kept_recipe(folder: Path) -> dict[str, Any]:
    """The recipe of a run, interrupted or finished, that is resumed; empty if there is none that can be read."""
    for place in (work_of(folder), folder):  # where both are there, the interrupted run replaces the finished one
        with suppress(OSError, InputError):
            return read_recipe(place / RECIPE)
    return {}


def kept_precision(folder: Path) -> str | None:
    """The precision of a run, finished or interrupted, which it keeps on a machine on which "auto" is another one."""
    precision = kept_recipe(folder).get("precision")
    return precision if precision in ("fp32", "bf16", "fp16") else None
