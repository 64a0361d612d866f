"""The folder of a run: written under a temporary name and renamed, so that it is complete once it exists."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from salience.errors import InputError, listed, quoted
from salience.files import files_in, write_whole
from salience.outputs import locked, resolved
from salience.training.manifest import RECIPE, write_manifest, written_by_run
from salience.training.recipe import without_retired
from salience.training.recipe_file import check_same_recipe, read_recipe

WORK = {RECIPE, "checkpoints", "model", "replaced"}  # names in a working folder


class RunFolder:
    """The output folder of a run, and the hidden folder beside it (`work`) that holds an unfinished run.

    `work` holds the checkpoints and then the trained model. It remains after a run is killed, so that the run can be
    resumed, and is removed when the run is done.

    Args:
        output: the folder to write; if it is a link, the target of the link.
        overwrite: whether an earlier run there is replaced.
        resume: whether an interrupted run is resumed.
        inputs: files and folders that the run reads, by the options that name them.

    Raises:
        InputError: the output cannot be replaced (the current folder, a mount point), or contains an input of the
            run.
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
        """Inside the `with`, this process holds the lock of the output.

        Raises:
            InputError: another process holds it, the output exists and may not be replaced, or there is an
                interrupted run that is neither to be resumed nor to be replaced.
        """
        with locked(self.output):
            self.restore_replaced()
            self.check_output()
            self.check_work()
            yield

    def restore_replaced(self) -> None:
        """Restores the earlier run that a killed process had moved away, unless the new run has replaced it."""
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
        if not self.output.is_dir():
            raise InputError(f"{self.name} is a file, not a run, and is not overwritten: choose another --output")
        files, written = set(files_in(self.output)), written_by_run(self.output)
        if files and not written:
            raise InputError(f"{self.name} is not a run of salience and is not overwritten: choose another --output")
        if foreign := sorted(files - written):
            raise InputError(
                f"{self.name} contains files that no run wrote ({listed(map(quoted, foreign), 3)}) and is not "
                "overwritten: "
                "choose another --output, or move these files elsewhere"
            )

    def check_work(self) -> None:
        """Raises an `InputError` if `work` was not written by a run, or holds a run that is not to be touched."""
        if not os.path.lexists(self.work):
            return
        if self.work.is_symlink() or not self.work.is_dir():
            raise InputError(
                f"{self.work} is in the way and was not written by a run: move it, or choose another --output"
            )
        names = {path.name for path in self.work.iterdir() if not path.name.startswith(f".{RECIPE}.")}
        if names - WORK or (names and RECIPE not in names):
            raise InputError(
                f"{self.work} is in the way and contains files that no run wrote: move it, or choose another --output"
            )
        if names and not (self.overwrite or self.resume):
            raise InputError(f"an interrupted run of {self.name} exists: --resume it, or --overwrite it")

    def open(self, recipe: dict[str, Any]) -> None:
        """Prepares `work` for a run. The files of an interrupted run are removed unless it is resumed.

        Args:
            recipe: the settings of the run.

        Raises:
            InputError: the run that is to be resumed had other settings, or its recipe is damaged.
        """
        file = self.work / RECIPE
        if file.is_file() and self.resume:
            check_same_recipe(without_retired(read_recipe(file), str(self.name)), recipe, self.name)
            self.checkpoints.mkdir(exist_ok=True)
            return
        self.remove_work()
        self.work.mkdir()
        write_whole(file, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))
        self.checkpoints.mkdir()

    def publish(self) -> None:
        """Moves the finished model folder to the output, in place of an earlier run if `overwrite` is set.

        Raises:
            InputError: the output exists by now and may not be replaced.
        """
        write_manifest(self.model)
        self.check_output()
        if self.output.exists():
            os.replace(self.output, self.replaced)
        os.replace(self.model, self.output)
        self.remove_work()

    def discard_work(self) -> None:
        """Removes the files of an interrupted run.

        Raises:
            InputError: another process holds the lock of the output.
        """
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


def kept_precision(folder: Path) -> str | None:
    """The precision of a run, finished or interrupted; None if there is no run, or if its recipe names none.

    A run that is continued keeps its precision, also on a machine on which "auto" is another one.

    Args:
        folder: of the run.
    """
    for place in (work_of(folder), folder):  # where both are there, the interrupted run replaces the finished one
        try:
            precision = read_recipe(place / RECIPE).get("precision")
        except (OSError, InputError):
            continue
        if precision in ("fp32", "bf16", "fp16"):
            return precision
    return None
