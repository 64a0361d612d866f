"""What every test shares: repeatable examples, and one thread, with which tiny models run many times faster.

`--processor-seconds FILE` adds a line for each test to a file: its processor seconds, with those of the processes that
it has started and waited for, and its name.
"""

import gc
import os
import resource
import signal

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

# A shell that starts pytest in the background makes it ignore Ctrl-C, and so all processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--processor-seconds", metavar="FILE", help="a line for each test: seconds, name")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    before = processor_seconds()
    result = yield
    if file := item.config.getoption("--processor-seconds"):
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(f"{processor_seconds() - before:.3f}\t{item.nodeid}\n")
    return result


def processor_seconds() -> float:
    usages = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same random state, whichever ran before it."""
    torch.default_generator.manual_seed(0)


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Each training begins with a collection of garbage, which need not look through what was there before."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def fp32():
    """Expected numbers are those of fp32, also on a machine on which `--precision auto` would be bf16."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("salience.models.precision.has_bf16_instructions", lambda: False)
        yield
