"""Finding a model by its name: in a package, in a folder, on the hub or in the hub's cache."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from salience.errors import InputError, nearest, quoted
from salience.models.embedded import EMBEDDED, embedded_folder

PATIENCE = 5  # seconds to wait for an answer of the hub


def model_source(name: str) -> str:
    """The argument of `from_pretrained` for a model: a folder, or a name on the hub.

    Args:
        name: "minilm", a folder, or a name on the hub.

    Raises:
        InputError: there is no such model.
    """
    if name in EMBEDDED:
        return str(embedded_folder(name))
    path = Path(name).expanduser()
    if path.is_file():
        raise InputError(
            f"no model at {name}: this is a file, and a model is a folder, such as one that salience train has written"
        )
    in_a_folder = path.parent != Path() and path.parent.is_dir()  # "runs/nmae" is a mistyped path
    looks_like_path = name.startswith((".", "/", "~")) or name.count("/") > 1 or in_a_folder
    if looks_like_path and not path.is_dir():
        raise InputError(f"no model at {name}: give a folder, a name on the hub, or one of {', '.join(EMBEDDED)}")
    if not path.is_dir() and (near := nearest(name, EMBEDDED)):  # a mistyped name: the hub need not be asked
        raise InputError(f"unknown model {quoted(name)}.{near}")
    return str(path) if path.is_dir() else hub_source(name)


@cache  # one request per process serves the model and its tokenizer
def hub_source(name: str) -> str:
    """The argument of `from_pretrained` for a name on the hub: the name, or the model's folder in the hub's cache.

    The hub is asked once, with a short timeout. `from_pretrained` would repeat a request without an answer for half a
    minute, for a mistyped name and for a model in the cache alike.

    Raises:
        InputError: there is no such model, or the hub does not answer and the model is not in its cache.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, is_offline_mode, try_to_load_from_cache
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
    )

    try:
        cached = try_to_load_from_cache(name, "config.json")
        address = hf_hub_url(name, "config.json")
    except HFValidationError:
        raise InputError(
            f"no model at {name}: there is no such folder, and a name on the hub is of the form owner/name"
        ) from None
    folder = str(Path(cached).parent) if isinstance(cached, str) else None
    if is_offline_mode():
        if folder is None:
            raise InputError(f"the model {quoted(name)} is not in the hub's cache, and HF_HUB_OFFLINE is set")
        return folder
    try:
        get_hf_file_metadata(address, timeout=PATIENCE, token=None)
    except GatedRepoError as error:
        raise InputError(
            f"the model {quoted(name)} is gated: accept its licence on the hub and log in with a token"
        ) from error
    except RepositoryNotFoundError as error:
        raise InputError(f"no model {quoted(name)} on the hub, and no folder of that name; see --model") from error
    except (EntryNotFoundError, HfHubHTTPError):
        return name  # the hub has answered, and `from_pretrained` reports what is wrong
    except Exception as error:  # no connection or no answer in time; the type depends on the HTTP library in use
        if folder is not None:
            return folder
        raise InputError(
            f"no folder {quoted(name)}, no model of that name in the hub's cache, and the hub does not answer: "
            "check the name and the connection"
        ) from error
    return name
