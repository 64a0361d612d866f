"""`salience push`: a run as a model on the Hugging Face hub."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from salience.cli.options import Debug


def push(
    run: Annotated[str, Argument(help="Folder written by `salience train`.")],
    repository: Annotated[str, Argument(metavar="OWNER/NAME", help="Model on the hub; it is created if need be.")],
    private: Annotated[
        bool, Option("--private", help="Only to a private repository.  [default: public, or as the owner has set]")
    ] = False,
    license: Annotated[
        str | None, Option(help="Licence of the model, by the hub's name, such as apache-2.0.  [default: none stated]")
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Upload nothing: list the files, and print the model card.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Upload the checkpoint of a run to the Hugging Face hub, with a model card that has its scores as metadata."""
    from salience.commands.push import push_run

    push_run(run, repository, private=private, license=license, dry_run=dry_run)
