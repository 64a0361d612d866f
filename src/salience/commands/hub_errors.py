"""What goes wrong between this machine and the Hugging Face hub, in one line that says how to fix it."""

from __future__ import annotations

from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

from salience.errors import InputError, one_line

# The error of the HTTP library that this version of huggingface_hub uses, of which its own errors are a kind.
HTTP_ERROR = HfHubHTTPError.__mro__[1]
CAUSES = {
    401: "the hub does not know your token: run `hf auth login`, or set HF_TOKEN to a token with the right to write",
    403: "you may not write to {repository}: take a token with the right to write, and an owner that you belong to",
    404: "there is no {repository} on the hub that you may see: check the owner, and your token",
    429: "the hub takes no more requests from you for now: wait some minutes, then run again",
}


def hub_error(error: Exception, repository: str) -> InputError | None:
    """The error for the user; None for an error that is not of the hub or the way to it.

    Args:
        repository: "owner/name".
    """
    if isinstance(error, OfflineModeIsEnabled):
        return InputError("HF_HUB_OFFLINE is set, so nothing is uploaded: unset it")
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        said = one_line(error.server_message or str(error), 200)
        if status in CAUSES:
            return InputError(f"{CAUSES[status].format(repository=repository)} (the hub says: {said})")
        return InputError(f"the hub refuses {repository} (status {status}: {said}); run again, or see its help pages")
    if isinstance(error, HTTP_ERROR | ConnectionError | TimeoutError):
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        return InputError(f"the hub does not answer ({reason}): check the connection, then run again")
    if isinstance(error, RuntimeError):  # of the library that uploads large files
        reason = one_line(error, 200)
        return InputError(f"the files could not be uploaded ({reason}): check the connection, then run again")
    if isinstance(error, ValueError) and "Invalid metadata" in str(error):
        return InputError(f"the hub refuses the model card: {one_line(error, 300)}")
    return None
