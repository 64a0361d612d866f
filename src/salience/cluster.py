"""The connection to a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from salience.errors import InputError, one_line


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Inside the `with`, this process is connected to a Ray cluster. Ray says nothing on the terminal.

    Args:
        address: "local" starts a cluster on this machine, which ends with the `with`; "auto" is the cluster that runs
            on this machine; else HOST:PORT, or ray://HOST:PORT.

    Raises:
        InputError: Ray is not installed, or there is no cluster at the address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError("--ray needs the package ray: pip install 'salience[cluster]'") from error
    check_reachable(address)
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=True)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        reason = one_line(error, 200)
        raise InputError(
            f"--ray {address}: no Ray cluster answers there ({reason}): check the address, and the "
            "token if the cluster asks for one (RAY_AUTH_MODE)"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def check_reachable(address: str, seconds: float = 5) -> None:
    """Checks that something answers at HOST:PORT. Ray itself would try for a minute, and then end this process.

    Raises:
        InputError: nothing answers, or the address has no port.
    """
    if address in ("local", "auto"):
        return
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), seconds).close()
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"--ray {address}: no Ray cluster answers there ({error}): write local, auto, or HOST:PORT of a head node"
        ) from error
