"""A real Ray of two workers on this machine, for tests."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def two_workers() -> Iterator[str]:
    """The address of a cluster of two workers, as `ray start --head` begins one. They import what tests define."""
    from ray.cluster_utils import Cluster

    handler = signal.getsignal(signal.SIGTERM)  # which ray replaces by its own
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
        started = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    try:
        yield started.address
    finally:
        started.shutdown()
        signal.signal(signal.SIGTERM, handler)
