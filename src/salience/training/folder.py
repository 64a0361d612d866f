"""The run folder: written to a place of its own and moved, so that no half folder is ever found under its name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from salience.data.columns import Columns
from salience.errors import InputError, listed, quoted
from salience.files import files_in, write_whole
from salience.outputs import locked, resolved
from salience.training.manifest import RECIPE, write_manifest, written_by_run

WORK = {RECIPE, "checkpoints", "model", "replaced"}  # what a working folder holds


class RunFolder:
    """Where a run works (`work`, a hidden neighbour) and where it ends (`output`).

    `work` holds checkpoints and then the trained model. It survives a killed run, which `resume` goes on from, and is
    removed when the run is done.

    Args:
        output: where the run ends; the target, if it is a link.
        overwrite: replace an earlier run there.
        resume: go on with an interrupted run.
        inputs: files and folders that the run reads, by the options that name them.

    Raises:
        InputError: the output exists and may not be replaced, cannot be replaced (the current folder, a mount point),
            or holds something that the run reads.
    """

    def __init__(
        self,
        output: str | Path,
        overwrite: bool = False,
        resume: bool = False,
        inputs: Mapping[str, Path] = MappingProxyType({}),
    ):
        self.output = resolved(Path(output))
        self.name = output  # as messages call it
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
                raise InputError(f"{output} holds {place}, which {option} reads: choose another --output")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside the `with`, no other process works on this run.

        Raises:
            InputError: another one does; or the output or an interrupted run stand in the way.
        """
        with locked(self.output):
            self.settle_replaced()
            self.check_output()
            self.check_work()
            yield

    def settle_replaced(self) -> None:
        """Undoes half a replacement: a run that was killed while it replaced an older one had moved that away."""
        if not self.replaced.is_dir():
            return
        if self.output.exists():
            shutil.rmtree(self.replaced)
        else:
            os.replace(self.replaced, self.output)

    def check_output(self) -> None:
        if not os.path.lexists(self.output):
            return
        if not self.overwrite:
            raise InputError(f"{self.name} exists: choose another --output, or --overwrite it")
        if not self.output.is_dir():
            raise InputError(f"{self.name} is a file, not a run, and is not overwritten: choose another --output")
        files, written = set(files_in(self.output)), written_by_run(self.output)
        if files and not written:
            raise InputError(f"{self.name} is no run of salience and is not overwritten: choose another --output")
        if foreign := sorted(files - written):
            raise InputError(
                f"{self.name} holds {listed(map(quoted, foreign), 3)}, which no run wrote, and is not overwritten: "
                "choose another --output, or move these files elsewhere"
            )

    def check_work(self) -> None:
        if not os.path.lexists(self.work):
            return
        if self.work.is_symlink() or not self.work.is_dir():
            raise InputError(
                f"{self.work} stands in the way, and no run wrote it: move it, or choose another --output"
            )
        names = {path.name for path in self.work.iterdir() if not path.name.startswith(f".{RECIPE}.")}
        if names - WORK or (names and RECIPE not in names):
            raise InputError(
                f"{self.work} stands in the way, and no run wrote all of it: move it, or choose another --output"
            )
        if names and not (self.overwrite or self.resume):
            raise InputError(f"an interrupted run of {self.name} is there: --resume it, or --overwrite it")

    def open(self, recipe: dict[str, Any]) -> None:
        """Prepares `work` for this recipe. What an interrupted run left there is kept only to resume it."""
        left = self.work / RECIPE
        if left.is_file() and self.resume:
            check_same_recipe(read_recipe(left), recipe, self.name)
            self.checkpoints.mkdir(exist_ok=True)
            return
        self.remove_work()
        self.work.mkdir()
        write_whole(left, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))
        self.checkpoints.mkdir()

    def publish(self) -> None:
        """Gives the finished model folder its name, in place of an older run if that was asked for."""
        write_manifest(self.model)
        self.check_output()
        if self.output.exists():
            os.replace(self.output, self.replaced)
        os.replace(self.model, self.output)
        self.remove_work()

    def discard_work(self) -> None:
        """Deletes what an interrupted run left.

        Raises:
            InputError: another process works on it.
        """
        with locked(self.output):
            self.settle_replaced()
            self.remove_work()

    def remove_work(self) -> None:
        """Deletes `work`; its recipe goes last, so that it is known for a run's wherever this is interrupted."""
        if not self.work.exists():
            return
        for folder in (self.checkpoints, self.model, self.replaced):
            if folder.exists():
                shutil.rmtree(folder)
        for file in sorted(self.work.iterdir(), key=lambda path: path.name == RECIPE):
            file.unlink()
        self.work.rmdir()


def trained_columns(model: str | Path) -> Columns | None:
    """The columns that a run was trained on; None of a model that is no run, or of a recipe that does not say."""
    try:
        recipe = read_recipe(Path(model).expanduser() / RECIPE)
        names = [recipe[role] for role in ("text", "text_pair", "label")]
    except (OSError, InputError, KeyError):
        return None
    strange = not isinstance(names[0], str) or not all(name is None or isinstance(name, str) for name in names)
    return None if strange else Columns(*names)


def work_of(output: Path) -> Path:
    """Where the run works that will end in `output`."""
    return output.absolute().parent / f".{output.name}.partial"


def read_recipe(file: Path) -> dict[str, Any]:
    """The settings in a run's recipe.

    Raises:
        InputError: the file is damaged.
        OSError: it cannot be read.
    """
    try:
        recipe = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{file} is damaged: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(recipe, dict):
        raise InputError(f"{file} is damaged: settings are lines of the form name: value")
    return recipe


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The settings of `now` that were others before."""
    return [name for name in now if before.get(name) != now[name]]


def check_same_recipe(before: dict[str, Any], now: dict[str, Any], output: str | Path) -> None:
    for name in changed(before, now):
        if name == "checksums":
            files = changed(before.get(name) or {}, now[name])
            raise InputError(
                f"{output}: {listed(files)} changed after the interrupted run had begun: put the earlier file back to "
                "resume, or begin again with --overwrite"
            )
        raise InputError(
            f"{output}: the interrupted run had {name}={before.get(name)!r}, not {now[name]!r}: "
            "resume it as it was started, or --overwrite it"
        )
