"""`salience demo-data`: labelled rows to try the other commands on, which are part of the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from salience.errors import InputError, printable

FILES = {
    "banking_train.csv": "200 rows to train on",
    "banking_test.csv": "400 rows to test on",
    "README.md": "source and licence",
}


def demo_data(folder: Annotated[Path, Argument(help="Folder to write; new or empty.")]) -> None:
    """Write labelled rows to try the other commands on: 600 questions of customers of a bank, with ten intents."""
    import shutil

    from salience.files import check_folder, whole_folder

    check_folder(folder, overwrite=True)
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} has files in it already: name another folder")
    with whole_folder(folder) as unfinished:
        for name in FILES:
            shutil.copyfile(examples_folder() / name, unfinished / name)
    for name, content in FILES.items():
        print(printable(f"{folder / name}: {content}"))


def examples_folder() -> Path:
    """The folder of the rows: `salience/examples` in an installed package, `examples` in a checkout."""
    package = Path(__file__).parents[1]
    shipped = package / "examples"
    return shipped if shipped.is_dir() else package.parents[1] / "examples"
