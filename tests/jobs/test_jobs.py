"""Jobs in one process and in several: none twice, none lost, failures recorded, killed commands continued."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from jobs import work
from jobs.work import job
from salience.errors import InputError
from salience.files import lock_of, locked
from salience.jobs import RETRIES, Failure, FailureLog, Workers, pool_of, run_jobs


@pytest.fixture
def log(tmp_path) -> FailureLog:
    return FailureLog(tmp_path / "failures.jsonl")


def result(folder: Path, name: str):
    return json.loads((folder / f"{name}.json").read_text())


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().split()


def test_every_job_is_done_once(log, tmp_path):
    names = [f"job{number}" for number in range(5)]
    ended = []
    jobs = [job(tmp_path, name) for name in names]
    assert run_jobs(jobs, pool_of(), log, ended=lambda job, failure: ended.append((job.name, failure))) == []
    assert calls(tmp_path) == names and ended == [(name, None) for name in names]
    assert {result(tmp_path, name)[0] for name in names} == {os.getpid()}
    assert run_jobs(jobs, pool_of(), log) == [] and len(calls(tmp_path)) == 5  # all are there already
    assert not list(tmp_path.glob("*.lock")) and not log.file.exists()


def test_two_processes_share_jobs_and_cores(log, tmp_path, monkeypatch):
    """Every job is done once, a failure of any kind is recorded, and the others go on; progress is told."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(6), raising=False)
    shown, names = Shown(), [f"good{number}" for number in range(4)]
    jobs = [job(tmp_path, name) for name in names]
    jobs += [job(tmp_path, does.__name__, does) for does in FAILURES]
    jobs += [job(tmp_path, "told", partial(work.tell_progress, 4))]
    failures = run_jobs(jobs, pool_of(2), log, shown)
    assert sorted(calls(tmp_path)) == names
    processes, threads = zip(*(result(tmp_path, name) for name in names), strict=True)
    assert len(set(processes)) == 2 and os.getpid() not in processes and set(threads) == {"3"}
    assert {failure.name for failure in failures} == {does.__name__ for does in FAILURES}
    for does, said in FAILURES.items():
        (row,) = (row for row in log.rows() if row["run"] == does.__name__)
        assert said in row["error"] and "\n" not in row["error"]
    told = [each for each in shown.told if each[0] == "told"]  # a few times a second: the first and the last
    assert told[0][:3] == ("told", 1, 4) and told[1:] == [("told", 4, 4, 0.25)]
    assert shown.begun == [9] and len(shown.ended) == 9
    assert not list(tmp_path.glob("*.lock"))


@pytest.mark.whole
def test_the_user_chooses_threads_and_every_process_sees_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr("salience.jobs.visible_gpus", lambda: ["4", "7"])
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    with Workers(2) as pool:
        for name in ("one", "two"):
            pool.submit(name, partial(os.getenv, "CUDA_VISIBLE_DEVICES"))
        assert sorted(pool.next(None)[1] for _ in range(2)) == ["4", "7"]
        pool.submit("three", partial(os.getenv, "OMP_NUM_THREADS"))
        assert pool.next(None) == ("three", "5")


@pytest.mark.whole
def test_a_killed_process_is_replaced_and_its_job_done_again(log, tmp_path):
    """As often as `RETRIES` says: the job is killed twice."""
    jobs = [job(tmp_path, "one", partial(work.be_killed_at_first, tmp_path, "one"))]
    assert run_jobs(jobs, pool_of(2), log) == [] and calls(tmp_path) == ["one"] * (1 + RETRIES)
    assert result(tmp_path, "one")[0] != os.getpid() and not log.file.exists()


@pytest.mark.whole
def test_a_process_that_is_killed_between_two_jobs_is_replaced():
    with Workers(1) as pool:
        pool.submit("one", os.getpid)
        _, first = pool.next(None)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not is_running(first))
        pool.submit("two", os.getpid)
        assert pool.next(None)[1] not in (first, os.getpid())


def test_a_missing_ray_is_named(log, tmp_path, monkeypatch):
    from salience.classify.parts import answers_by_ray

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"--ray needs the package ray: pip install 'ray"):
        run_jobs([job(tmp_path, "one")], pool_of(ray="local"), log)
    with pytest.raises(InputError, match="--ray needs the package ray"):
        next(answers_by_ray(None, None, "local"))


def test_no_jobs_at_all_and_jobs_beside_a_cluster():
    with pytest.raises(InputError, match="--jobs must be at least 1, not 0"):
        pool_of(0)
    with pytest.raises(InputError, match="--jobs is for this machine"):
        pool_of(2, "auto")


class Shown:
    """A display that remembers."""

    def __init__(self):
        self.begun, self.told, self.ended = [], [], []

    def begin(self, jobs):
        self.begun.append(jobs)

    def progress(self, *told):
        self.told.append(told)

    def end(self, name):
        self.ended.append(name)


def test_progress_is_shown(log, tmp_path):
    shown = Shown()
    run_jobs([job(tmp_path, "one", partial(work.tell_progress, 4))], pool_of(), log, shown)
    assert shown.begun == [1] and shown.ended == ["one"]
    assert [each[:3] for each in shown.told] == [("one", step, 4) for step in (1, 2, 3, 4)]


FAILURES = {
    work.fail: "the file is not there",
    work.break_down: "ZeroDivisionError: by zero",
    work.be_killed: "signal 9",
    work.give_something_that_cannot_be_sent: "pickle",
}


def test_a_failure_is_recorded_and_the_rest_goes_on(log, tmp_path):
    jobs = [job(tmp_path, "bad", work.fail), *(job(tmp_path, f"good{number}") for number in range(3))]
    failures = run_jobs(jobs, pool_of(), log)
    assert [failure.name for failure in failures] == ["bad"] and len(calls(tmp_path)) == 3
    (row,) = log.rows()
    assert (row["run"], row["error"]) == ("bad", "the file is not there") and "in fail" in row["traceback"]
    with pytest.raises(InputError, match=r"1 of 4 runs failed; bad: .*failures\.jsonl"):
        log.check(failures, len(jobs))
    jobs[0] = job(tmp_path, "bad")  # it succeeds now
    assert run_jobs(jobs, pool_of(), log) == [] and calls(tmp_path)[3:] == ["bad"]
    assert not log.file.exists()


def test_a_file_of_something_else_is_no_list_of_failures(log, tmp_path):
    for text in ('{"error": "no run is named"}\n', "no JSON\n", "[1]\n"):
        log.file.write_text(text)
        with pytest.raises(InputError, match=r"failures\.jsonl is not a list of failed runs"):
            run_jobs([job(tmp_path, "one")], pool_of(), log)
        assert log.file.read_text() == text


def test_a_run_of_another_command_is_waited_for(log, tmp_path, monkeypatch):
    """The other command makes one run and gives up another one, which is then made here."""
    monkeypatch.setattr("salience.jobs.POLL", 0.01)
    held, notes = threading.Event(), []
    begun = threading.Event()

    def other():
        with locked(tmp_path / "made"), locked(tmp_path / "left"):
            begun.set()
            held.wait(30)
            (tmp_path / "made.json").write_text("0")

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait(30)

    def note(line):
        notes.append(line)
        if len(notes) == 2:
            threading.Timer(0.1, held.set).start()

    run_jobs([job(tmp_path, name) for name in ("made", "left", "own")], pool_of(), log, note=note)
    thread.join()
    assert calls(tmp_path) == ["own", "left"]
    assert notes == ["made: another command is making this run", "left: another command is making this run"]


def test_the_lock_of_a_command_that_was_killed_is_removed(log, tmp_path):
    """It was killed after it had kept the result."""
    one = job(tmp_path, "one")
    one.keep(0)
    lock_of(one.lock).touch()
    run_jobs([one], pool_of(), log)
    assert not lock_of(one.lock).exists() and not (tmp_path / "calls").exists()


COMMAND = """
import signal
from functools import partial
from pathlib import Path
from jobs import work
from jobs.work import job
from salience.jobs import FailureLog, pool_of, run_jobs
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background of a shell ignores
    folder = Path({folder!r})
    jobs = [work.job(folder, name, partial(work.{work}, folder, name)) for name in ("one", "two")]
    run_jobs(jobs, pool_of(2), FailureLog(folder / "failures.jsonl"))
"""


@pytest.mark.whole
@pytest.mark.parametrize("does", [work.take_long, work.compute_long], ids=lambda does: does.__name__)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=lambda how: how.name)
def test_a_command_that_is_ended_leaves_no_process_and_no_lock(how, does, tmp_path):
    if does is work.compute_long and how == signal.SIGKILL and not sys.platform.startswith("linux"):
        pytest.skip("other systems cannot kill a process with its parent")
    script = tmp_path / "command.py"
    script.write_text(COMMAND.format(folder=str(tmp_path), work=does.__name__))
    tests = Path(__file__).parents[1]
    command = subprocess.Popen(
        [sys.executable, script], env=os.environ | {"PYTHONPATH": f"{tests}:{os.environ.get('PYTHONPATH', '')}"},
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    files = [tmp_path / f"{name}.pid" for name in ("one", "two")]
    wait_until(lambda: all(file.exists() and file.read_text() for file in files), 300)  # imports take long
    processes = [int(file.read_text()) for file in files]
    try:
        command.send_signal(how)
        command.wait(30)
        wait_until(lambda: not any(is_running(process) for process in processes))
    finally:
        command.kill()
        for process in filter(is_running, processes):
            os.kill(process, signal.SIGKILL)
    for name in ("one", "two"):
        with locked(tmp_path / name):
            pass


def wait_until(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_an_error_may_have_any_separator_of_lines(log):
    for name, error in (("one", "a\u2028b"), ("two", "e")):
        log.replace({name}, Failure(name, error, "c\x85d"))
    assert [row["run"] for row in log.rows()] == ["one", "two"] and log.rows()[0]["error"] == "a\u2028b"
    log.replace({"one", "three"})
    assert [row["run"] for row in log.rows()] == ["two"]
