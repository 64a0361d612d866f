"""What every test shares: repeatable examples, and one thread, with which tiny models run many times faster."""

import gc
import os

os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"  # as the command line sets it, before the hub's library is imported
# Processes that a test starts find bf16 slower than fp32, so that `--precision auto` is fp32 in them, too.
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"

import pytest
import torch
from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
torch.set_num_threads(1)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same random state, whichever ran before it."""
    torch.default_generator.manual_seed(0)


@pytest.fixture(scope="session", autouse=True)
def quick():
    """The Trainer collects garbage whenever it has trained; what was imported need not be looked through each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def fp32():
    """Expected numbers are those of fp32, also on a machine on which `--precision auto` would be bf16."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("salience.models.precision.has_bf16_instructions", lambda: False)
        yield
