"""Files and folders are written completely or not at all, and two processes never write the same one."""

import hashlib
import json
import multiprocessing
import os
import stat
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from salience.errors import InputError
from salience.files import (
    Occupied,
    check_output_file,
    check_writable,
    files_in,
    locked,
    resolved,
    sha256_of,
    whole_file,
    whole_folder,
    write_lines,
    write_whole,
)

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def held(tmp_path):
    """Another process that holds tmp_path/"target" until it is killed."""

    def hold():
        with locked(tmp_path / "target"):
            (tmp_path / "ready").touch()
            time.sleep(60)

    process = FORK.Process(target=hold)
    process.start()
    while not (tmp_path / "ready").exists():
        assert process.is_alive()
        time.sleep(0.002)
    yield process
    process.kill()
    process.join()


def test_nobody_gets_past_a_lock_that_is_held(held, tmp_path):
    for act in (locked, whole_file, whole_folder):
        with pytest.raises(InputError, match="target is being written by another process"), act(tmp_path / "target"):
            raise AssertionError("inside the lock")
    with pytest.raises(InputError, match="being written by another process"):
        check_writable(tmp_path / "target")
    with locked(tmp_path / "another"):
        pass


def test_the_lock_of_a_process_that_is_killed_is_free(held, tmp_path):
    held.kill()
    held.join()
    assert (tmp_path / ".target.lock").exists()
    with whole_file(tmp_path / "target") as unfinished:
        unfinished.write_text("whole")
    assert sorted(os.listdir(tmp_path)) == ["ready", "target"]


def count(folder, number: int) -> None:
    """Adds 1 to a number in a file, so slowly that another process would get in between."""
    for _ in range(number):
        with locked(folder / "sub" / "number", patience=60):
            file = folder / "number"
            value = int(file.read_text())
            time.sleep(0.001)
            file.write_text(str(value + 1))
    os._exit(0)


def test_processes_that_come_and_go_take_turns(tmp_path):
    """The lock's file and its folder are made and removed all the time, and still only one is inside."""
    (tmp_path / "number").write_text("0")
    processes = [FORK.Process(target=count, args=(tmp_path, 30)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert (tmp_path / "number").read_text() == "120"
    assert files_in(tmp_path) == ["number"]


def test_a_lock_that_is_released_while_it_is_asked_for_is_acquired(tmp_path, monkeypatch):
    """The first try meets a lock whose file is gone when this process looks for it."""
    asked = []

    class Released(FileLock):
        def acquire(self, timeout):
            asked.append(timeout)
            if len(asked) == 1:
                raise Timeout(self.lock_file)
            return super().acquire(timeout)

    monkeypatch.setattr("salience.files.FileLock", Released)
    with locked(tmp_path / "target", patience=60):
        assert (tmp_path / ".target.lock").exists()
    assert asked == [60, 0]  # only the first try waits


def insist(folder, number: int) -> None:
    """Gets hold of a lock a number of times, and waits only while another process has it."""
    for _ in range(number):
        with suppress(Occupied), locked(folder / "sub" / "target"):
            pass
    os._exit(0)


def test_a_process_that_does_not_wait_gets_the_lock_or_hears_who_has_it(tmp_path):
    processes = [FORK.Process(target=insist, args=(tmp_path, 200)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert files_in(tmp_path) == []


def test_a_file_appears_when_it_is_whole(tmp_path):
    target = tmp_path / "deep" / "file.txt"
    with whole_file(target) as unfinished:
        unfinished.write_text("a line")
        assert not target.exists() and unfinished.parent == target.parent
    assert target.read_text() == "a line" and os.listdir(target.parent) == ["file.txt"]


def test_a_file_that_fails_leaves_the_earlier_one(tmp_path):
    target = tmp_path / "file.txt"
    target.write_text("earlier")
    with pytest.raises(ZeroDivisionError), whole_file(target) as unfinished:
        unfinished.write_text("half a li")
        raise ZeroDivisionError
    assert target.read_text() == "earlier" and os.listdir(tmp_path) == ["file.txt"]


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path):
    left = [".file[1].txt.0123abcd.unfinished"]
    kept = [".file[1].txt.backup.unfinished", ".file1.txt.0123abcd.unfinished", "file[1].txt.0123abcd.unfinished"]
    for name in left + kept:
        (tmp_path / name).touch()
    with whole_file(tmp_path / "file[1].txt") as unfinished:
        unfinished.touch()
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "file[1].txt"])


def test_a_folder_appears_when_it_is_whole(tmp_path):
    with whole_folder(tmp_path / "pages") as folder:
        (folder / "index.html").write_text("new")
        assert not (tmp_path / "pages").exists()
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "pages") as folder:
        (folder / "index.html").write_text("half")
        raise ZeroDivisionError
    assert (tmp_path / "pages" / "index.html").read_text() == "new"
    assert os.listdir(tmp_path) == ["pages"]


def test_other_files_of_a_folder_stay(tmp_path):
    target = tmp_path / "pages"
    (target / "mine").mkdir(parents=True)
    (target / "mine" / "notes.md").write_text("notes")
    (target / "index.html").write_text("old")
    with whole_folder(target) as folder:
        (folder / "index.html").write_text("new")
        (folder / "pictures").mkdir()
        (folder / "pictures" / "a.png").touch()
    assert files_in(target) == ["index.html", "mine/notes.md", "pictures/a.png"]
    assert (target / "index.html").read_text() == "new"


def test_parts_of_what_is_replaced_do_not_stay(tmp_path):
    target = tmp_path / "pages"
    target.mkdir()
    for name in ("index.html", "values.jsonl", "notes.md"):
        (target / name).write_text("old")
    with whole_folder(target, own=("index.html", "values.jsonl")) as folder:
        (folder / "index.html").write_text("new")
    assert files_in(target) == ["index.html", "notes.md"] and (target / "index.html").read_text() == "new"
    with pytest.raises(ZeroDivisionError), whole_folder(target, own=("index.html",)):
        raise ZeroDivisionError
    assert (target / "index.html").exists()


def test_a_folder_in_a_files_place_is_known_before_anything_is_replaced(tmp_path):
    (tmp_path / "pages" / "b.html").mkdir(parents=True)
    (tmp_path / "pages" / "a.html").write_text("old")
    with pytest.raises(InputError, match=r"b\.html is a folder"), whole_folder(tmp_path / "pages") as folder:
        for name in ("a.html", "b.html"):
            (folder / name).write_text("new")
    assert (tmp_path / "pages" / "a.html").read_text() == "old"
    assert sorted(os.listdir(tmp_path / "pages")) == ["a.html", "b.html"]
    refused = pytest.raises(InputError, match=r"a\.html is a file, where a folder is needed")
    with refused, whole_folder(tmp_path / "pages") as folder:
        (folder / "Z.html").write_text("new")
        (folder / "a.html" / "parts").mkdir(parents=True)
        (folder / "a.html" / "parts" / "one.html").write_text("new")
    assert sorted(os.listdir(tmp_path / "pages")) == ["a.html", "b.html"]


def test_files_outside_the_folder_stay(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    outside = ("../mine.txt", str(tmp_path / "mine.txt"), "../pages/../mine.txt")
    with whole_folder(tmp_path / "pages", own=outside) as folder:
        (folder / "index.html").write_text("new")
    assert (tmp_path / "mine.txt").read_text() == "mine" and files_in(tmp_path / "pages") == ["index.html"]


def test_a_place_where_no_file_can_be_made():
    for target in ("/proc/self/fd/page", "/proc/no such folder/page"):
        with pytest.raises((InputError, OSError), match=r"cannot be written|not permitted|No such file|denied"):
            check_writable(Path(target))


def test_files_follow_the_mask(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_links(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert resolved(tmp_path / "link") == tmp_path / "real"
    for act in (resolved, check_writable, lambda path: check_output_file(path, overwrite=True)):
        with pytest.raises(InputError, match="dangling is a broken link"):
            act(tmp_path / "dangling")
    with whole_folder(tmp_path / "link") as folder:
        (folder / "file").touch()
    assert (tmp_path / "link").is_symlink() and os.listdir(tmp_path / "real") == ["file"]


def test_a_name_that_is_too_long_is_known_at_once(tmp_path):
    with pytest.raises(InputError, match="is too long"):
        check_writable(tmp_path / ("n" * 240))


def test_trying_leaves_no_trace(tmp_path):
    check_writable(tmp_path / "a" / "b" / "c")
    assert not os.listdir(tmp_path)


def test_a_folder_that_cannot_be_listed_is_not_taken_for_empty(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    system = os.scandir

    def refused(place="."):
        if str(place).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(place))
        return system(place)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(PermissionError):
        files_in(tmp_path)


def test_sha256(tmp_path):
    data = os.urandom(3_000_000)
    (tmp_path / "data").write_bytes(data)
    assert sha256_of(tmp_path / "data") == hashlib.sha256(data).hexdigest()


def test_lines_are_written_as_they_come(tmp_path):
    """40 MB of rows that are made one by one take a small part of that in memory."""
    file, text = tmp_path / "rows.jsonl", "\N{LATIN SMALL LETTER E WITH ACUTE}x" * 5000
    rows = ({"row": number, "text": text} for number in range(2700))
    tracemalloc.start()
    try:
        write_lines(file, rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert file.stat().st_size > 40e6 and peak < 4e6
    with file.open(encoding="utf-8") as opened:
        assert [json.loads(line)["row"] for line in opened] == list(range(2700))


def test_lines_that_end_in_an_error_leave_the_file_as_it_was(tmp_path):
    file = tmp_path / "rows.jsonl"
    write_lines(file, [{"a": 1}])

    def broken():
        yield {"a": 2}
        raise KeyError

    with pytest.raises(KeyError):
        write_lines(file, broken())
    assert file.read_text() == '{"a": 1}\n' and [each.name for each in tmp_path.iterdir()] == ["rows.jsonl"]
