"""Jobs on a real Ray of two workers on this machine: each result once, also if a worker is killed in the middle."""

import os
import signal
import threading
from dataclasses import replace
from functools import partial

import pytest

from clusters import two_workers
from jobs import work
from jobs.test_jobs import Shown, calls, result, wait_until
from jobs.work import job
from salience.errors import InputError
from salience.jobs import FailureLog, pool_of, run_jobs

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as address:
        yield address


@pytest.fixture
def log(tmp_path) -> FailureLog:
    return FailureLog(tmp_path / "failures.jsonl")


def test_jobs_are_done_by_the_cluster(cluster, log, tmp_path):
    shown = Shown()
    jobs = [job(tmp_path, "one"), job(tmp_path, "two"), job(tmp_path, "told", partial(work.tell_progress, 4)),
            job(tmp_path, "bad", work.fail)]  # fmt: skip
    failures = run_jobs(jobs, pool_of(ray=cluster), log, shown)
    assert [(failure.name, failure.error) for failure in failures] == [("bad", "the file is not there")]
    assert sorted(calls(tmp_path)) == ["one", "two"]
    assert os.getpid() not in (result(tmp_path, "one")[0], result(tmp_path, "two")[0])
    assert result(tmp_path, "one")[1] == "1"  # thread: a core each
    assert ("told", 4, 4, 0.25) in shown.told
    assert sorted(shown.ended) == ["bad", "one", "told", "two"]


def test_a_job_whose_worker_is_killed_is_done_again(cluster, log, tmp_path):
    """Killed once in the middle; begun again, it succeeds, and its result is kept once."""
    kept = []
    slow = job(tmp_path, "slow", partial(work.take_long, tmp_path, "slow", 3))
    slow = replace(slow, keep=kept.append)

    def kill() -> None:
        file = tmp_path / "slow.pid"
        wait_until(lambda: file.exists() and file.read_text())
        os.kill(int(file.read_text()), signal.SIGKILL)
        file.rename(tmp_path / "killed.pid")

    killer = threading.Thread(target=kill)
    killer.start()
    assert run_jobs([slow, job(tmp_path, "quick")], pool_of(ray=cluster), log) == []
    killer.join()
    assert kept == [None] and calls(tmp_path) == ["quick"]
    assert (tmp_path / "slow.pid").read_text() != (tmp_path / "killed.pid").read_text()


def test_a_job_whose_workers_are_killed_every_time_has_failed(cluster, log, tmp_path):
    (failure,) = run_jobs([job(tmp_path, "bad", work.be_killed)], pool_of(ray=cluster), log)
    assert failure.error.startswith("Ray: ")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:many", "nowhere", "ray://127.0.0.1:99999"])
def test_a_cluster_that_is_not_there(address, log, tmp_path):
    with pytest.raises(InputError, match=f"--ray {address}: no Ray cluster answers there"):
        run_jobs([job(tmp_path, "one")], pool_of(ray=address), log)
