"""The server of an export, started as its Dockerfile starts it, with what its Dockerfile copies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from time import monotonic, sleep
from typing import Any

import httpx
import pytest


def commands_of(page: str) -> dict[str, list[str]]:
    """The instructions of a Dockerfile by their name."""
    found: dict[str, list[str]] = {}
    for line in page.replace("\\\n", " ").splitlines():
        name, _, rest = line.partition(" ")
        found.setdefault(name, []).append(" ".join(rest.split()))
    return found


@contextmanager
def served(exported: Path, container: Path) -> Iterator[httpx.Client]:
    """A client of the server that the Dockerfile's command starts, here on a free port of this machine only.

    Args:
        exported: the folder of an export.
        container: an empty folder. It gets what the Dockerfile copies, and nothing else.
    """
    commands = commands_of((exported / "Dockerfile").read_text(encoding="utf-8"))
    for pattern in commands["COPY"][0].split()[1:-1]:
        files = list(exported.glob(pattern))
        assert files, pattern
        for file in files:
            shutil.copyfile(file, container / file.name)
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = ["--host", "127.0.0.1", "--port", str(port)]  # of an option that is given twice, the last one counts
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", *json.loads(commands["CMD"][0]), *own]
    server = subprocess.Popen(command, cwd=container, env=environment)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            wait_for(client, server)
            yield client
    finally:
        server.terminate()
        assert server.wait(timeout=30) in (0, -15)


def wait_for(client: httpx.Client, server: subprocess.Popen) -> None:
    """Until the server answers, as the Dockerfile's check of its health asks it."""
    end = monotonic() + 60
    while server.poll() is None and monotonic() < end:
        try:
            assert client.get("/health").json() == {"status": "ok"}
            return
        except httpx.TransportError:
            sleep(0.05)
    pytest.fail("the server does not answer")


def asked(client: httpx.Client, texts: list[Any]) -> list[dict[str, Any]]:
    """What the server predicts."""
    response = client.post("/predict", content=json.dumps({"texts": texts}))  # ASCII: half a character can be sent
    assert response.status_code == 200, response.text
    return response.json()["predictions"]
