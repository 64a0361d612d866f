"""Keeps other sites away from a server on this machine.

Any site can make a browser send requests to 127.0.0.1. A site whose name is made to resolve to that address (DNS
rebinding) could even read the answers. The browser then sends the site's name as `Host`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

HOSTS = ("127.0.0.1", "localhost")
# gradio's page has inline scripts and styles, and evaluates templates. Nothing is loaded from or sent to other hosts.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'none'; "
    "frame-ancestors 'none'"
)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class LocalOnly:
    """ASGI middleware: refuses `Host` and `Origin` headers of other machines, and sends a content security policy.

    Args:
        app: the ASGI application that answers the other requests.
    """

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, or refuses it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif not is_local(scope["headers"]):
            await refuse(scope, receive, send)
        else:

            async def send_with_policy(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    policy = (b"content-security-policy", POLICY.encode("ascii"))
                    message = {**message, "headers": [*message.get("headers", ()), policy]}
                await send(message)

            await self.app(scope, receive, send_with_policy)


def is_local(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether a request has one `Host` header, for this machine, and only `Origin` headers of this machine.

    Args:
        headers: names in lower case, and values.
    """
    hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
    origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
    return len(hosts) == 1 and is_here(f"//{hosts[0]}") and all(map(is_here, origins))


def is_here(address: str) -> bool:
    """Whether an address is one of this machine."""
    try:
        return urlsplit(address).hostname in HOSTS
    except ValueError:  # not a valid address
        return False


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers a request with status 403, or closes a web socket."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    message = b"This page is for this machine only: open it as http://127.0.0.1 or http://localhost, with its port.\n"
    await send({
        "type": "http.response.start", "status": 403,
        "headers": [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(message)).encode())],
    })  # fmt: skip
    await send({"type": "http.response.body", "body": message})
