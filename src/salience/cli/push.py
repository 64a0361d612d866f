"""`salience push`: the checkpoint of a run on the Hugging Face hub, with a card that has its scores as metadata."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from salience._version import __version__
from salience.errors import InputError, counted, listed, one_line, quoted
from salience.runs.folder import ABSTENTION, written_by_run
from salience.runs.retired import RETIRED
from salience.training.recipe import Recipe
from salience.work import doing

if TYPE_CHECKING:
    from salience.runs.results import Run

CARD = "README.md"
# What transformers and `salience predict` load. No texts, predictions, settings and paths: a file that is not named
# here stays on this machine.
UPLOADED = (
    "config.json", "model.safetensors", "model-*-of-*.safetensors", "model.safetensors.index.json", "tokenizer.json",
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt",
    "*.model", ABSTENTION, "modules.json", "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors",
)  # fmt: skip
CAUSES = {
    401: "the hub does not know your token: run `hf auth login`, or set HF_TOKEN to a token with the right to write",
    403: "you may not write to {repository}: take a token with the right to write, and an owner that you belong to",
    404: "there is no {repository} on the hub that you may see: check the owner, and your token",
    429: "the hub takes no more requests from you for now: wait some minutes, then run again",
}


def push(
    run: Annotated[str, Argument(help="Folder written by `salience train`.")],
    repository: Annotated[str, Argument(metavar="OWNER/NAME", help="Model on the hub; it is created if need be.")],
    private: Annotated[bool, Option("--private", help="Only to a private repository.")] = False,
    license: Annotated[str | None, Option(help="Licence by the hub's name, such as apache-2.0.")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Upload nothing: list the files, print the card.")] = False,
) -> None:
    """Upload the checkpoint of a run to the Hugging Face hub, with a model card that has its scores as metadata."""
    from salience.classify.classifier import is_exported
    from salience.report.terminal import say, tell
    from salience.runs.results import read_run

    check_repository(repository)
    if is_exported(run):
        raise InputError(f"{run} is an export: push the run that it was exported from")
    finished = read_run(run)
    folder = finished.folder
    written = sorted(written_by_run(folder))
    files = [name for name in written if any(fnmatch(name, each) for each in UPLOADED) and (folder / name).is_file()]
    if not any(name.endswith(".safetensors") for name in files) or "config.json" not in files:
        raise InputError(f"{folder} has no model: train it again, and not as a part of a comparison")
    card = card_for(finished, repository, license)
    if not dry_run:
        say(upload(folder, files, card, repository, private))
        return
    for name in files:
        tell(f"{name} ({(folder / name).stat().st_size:,} bytes)")
    tell(f"{CARD}, written for the hub")
    tell(f"not uploaded: {listed((name for name in written if name not in (*files, CARD)), 20)}")
    print(card)


def check_repository(name: str) -> None:
    """Raises an `InputError` if a name is none for a repository."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        reason = one_line(error, 200)
        raise InputError(f"{quoted(name)} is no name of a repository ({reason}): give owner/name") from error
    if name.count("/") != 1:
        raise InputError(f"{quoted(name)} has no owner: give owner/name, such as your-name/{name}")


def card_for(run: Run, repository: str, license: str | None) -> str:
    """The model card of a run for a repository on the hub."""
    from salience.models.architectures import library_of
    from salience.models.loading import load_configuration
    from salience.runs.card import model_card

    config = load_configuration(str(run.folder))
    labels = [config.id2label[number] for number in range(config.num_labels)]
    # Retired settings are left out, whatever they asked for; the card does not speak of the pooling.
    settings = {name: value for name, value in run.recipe.items() if name not in {*RETIRED, "pooling"}}
    if chosen := run.metrics.get("choice", {}).get("chosen"):  # by the retired --method auto
        settings |= {"method": chosen, "method_options": {}}
    recipe = Recipe.from_mapping(settings, str(run.folder))
    return model_card(
        without_places(recipe).as_mapping(), labels, run.metrics, run.metrics, library_of(config),
        repository, base_model_of(recipe), license, facts=run.facts,
    )  # fmt: skip


def without_places(recipe: Recipe) -> Recipe:
    """The recipe with names of files in place of their paths: the folders of a machine are nobody's business."""
    from salience.runs.card import is_place

    short: dict[str, Any] = {}

    def shortened(value: str) -> str:
        return Path(value).name if "://" not in value and is_place(value) else value

    for name in ("test", "validation", "model"):
        if (value := getattr(recipe, name)) is not None:
            short[name] = shortened(value)
    short["data"] = [shortened(source) for source in recipe.sources]
    return replace(recipe, **short)


def base_model_of(recipe: Recipe) -> str | None:
    """The name on the hub of the model that was trained further; None if there is none, or if that is not certain."""
    from huggingface_hub import try_to_load_from_cache

    from salience.models.loading import EMBEDDED
    from salience.runs.card import is_place

    if recipe.model in EMBEDDED:
        return EMBEDDED[recipe.model].hub
    if is_place(recipe.model) or ":" in recipe.model:
        return None
    return recipe.model if isinstance(try_to_load_from_cache(recipe.model, "config.json"), str) else None


def upload(folder: Path, files: list[str], card: str, repository: str, private: bool) -> str:
    """Uploads files and a card in one commit, all or nothing. Returns a line that says where they are."""
    from huggingface_hub import CommitOperationAdd, HfApi, get_token

    if get_token() is None:
        raise InputError("you are not logged in to the hub: run `hf auth login`, or set HF_TOKEN")
    api = HfApi(library_name="salience", library_version=__version__)
    with told(repository), doing("uploading"):
        address = api.create_repo(repository, private=True if private else None, exist_ok=True)
        is_private = api.model_info(repository).private
        if private and not is_private:
            raise InputError(
                f"{repository} exists and is public: leave out --private, choose another name, or make it private on "
                "the hub; nothing is uploaded"
            )
        parts = [CommitOperationAdd(name, folder / name) for name in files]
        parts.append(CommitOperationAdd(CARD, card.encode()))
        api.create_commit(repository, parts, commit_message=f"Upload a run of salience {__version__}")
    return f"uploaded: {address} ({'private' if is_private else 'public'}, {counted(len(parts), 'file')})"


@contextmanager
def told(repository: str) -> Iterator[None]:
    """Inside the `with`, what goes wrong between this machine and the hub becomes one line."""
    from huggingface_hub.errors import HfHubHTTPError

    # Errors of the HTTP library that this version of huggingface_hub uses; its own ones are a kind of them.
    http_error: Any = HfHubHTTPError.__mro__[1]
    try:
        yield
    except InputError:
        raise
    except HfHubHTTPError as error:
        status = error.response.status_code
        cause = CAUSES.get(status, "the hub refuses {repository}: run again, or see its help pages")
        said = one_line(error.server_message or error, 200)
        raise InputError(f"{cause.format(repository=repository)} (the hub says: {status}, {said})") from error
    except (http_error, OSError, RuntimeError) as error:  # RuntimeError: of the library that uploads large files
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"the hub does not answer ({reason}): check the connection, then run again") from error
    except ValueError as error:
        if "Invalid metadata" not in str(error):
            raise
        raise InputError(f"the hub refuses the model card: {one_line(error, 300)}") from error
