"""Results files: interrupted writes, runs that are in the file twice, and files that hold something else."""

import json
import multiprocessing
import os

import pytest

from salience.errors import InputError
from salience.papers.table import Results

ROWS = [
    {"set": "sst2", "scale": 0.001, "seed": 0, "accuracy": 0.5, "test": [0.4, 0.5]},
    {"set": "sst2", "scale": 10, "seed": 0, "accuracy": 0.8, "test": []},
    {"set": "größe", "scale": 10, "seed": 1, "accuracy": None, "test": None},
]


@pytest.fixture
def results(tmp_path):
    """A file in a folder that is not there yet."""
    results = Results(tmp_path / "new" / "folder" / "table.jsonl")
    for row in ROWS:
        results.add(row)
    return results


def test_nothing_is_held_at_first(tmp_path):
    empty = Results(tmp_path / "none.jsonl")
    assert empty.rows() == []
    assert not empty.has()
    assert not (tmp_path / "none.jsonl").exists()


def test_a_line_that_was_broken_by_hand_is_named(results):
    results.file.write_text(results.file.read_text().replace('"scale": 10', '"scale": ', 1))
    with pytest.raises(InputError, match=r"table\.jsonl: line 2 is not JSON"):
        results.rows()


def test_what_was_added_is_held(results):
    assert results.rows() == ROWS
    assert Results(str(results.file)).rows() == ROWS  # and by whoever opens it next
    assert [json.loads(line) for line in results.file.read_text().splitlines()] == ROWS


@pytest.mark.parametrize(
    ("wanted", "held"),
    [
        ({"set": "sst2", "scale": 10, "seed": 0}, True),
        ({"set": "sst2", "scale": 10.0, "seed": 0}, True),
        ({"scale": 0.001}, True),
        ({"set": "sst2", "scale": 10, "seed": 1}, False),  # each holds of some row, but not of one
        ({"set": "sst2", "model": "DP"}, False),
        ({"set": "SST2"}, False),
    ],
    ids=str,
)
def test_a_row_is_found_by_some_of_its_fields(results, wanted, held):
    assert results.has(**wanted) is held


@pytest.mark.parametrize("left", [1, 5, 20])
def test_a_line_that_was_cut_off_is_dropped(results, left):
    """After a kill in the middle of the last line."""
    text = results.file.read_text()
    last = text.rindex("\n", 0, -1) + 1
    results.file.write_text(text[: last + left])
    results = Results(results.file)  # the study is taken up again
    assert results.rows() == ROWS[:2]
    assert not results.has(set="größe")
    results.add({"set": "mr"})
    assert results.rows() == [*ROWS[:2], {"set": "mr"}]
    assert results.file.read_text().endswith('{"set": "mr"}\n')


def test_a_line_without_its_end_counts_as_cut_off(results):
    """It may be whole, and it may be the beginning of a longer number."""
    results.file.write_text(results.file.read_text().rstrip("\n"))
    results = Results(results.file)
    assert results.rows() == ROWS[:2]
    results.add(ROWS[2])
    assert results.rows() == ROWS


def test_nothing_but_a_cut_off_line(tmp_path):
    file = tmp_path / "table.jsonl"
    file.write_text('{"set": "ss')
    results = Results(file)
    assert results.rows() == []
    results.add({"set": "mr"})
    assert file.read_text() == '{"set": "mr"}\n'


def test_processes_that_share_a_file_keep_each_others_lines(tmp_path):
    """Each of them read the file when it began, and adds its own lines to what is there now."""
    file = tmp_path / "table.jsonl"
    first, second = Results(file), Results(file)
    for number in range(3):
        first.add({"process": 1, "run": number})
        second.add({"process": 2, "run": number})
    assert len(first.rows()) == len(second.rows()) == 6
    assert first.has(process=2, run=2)


IDENTITY = ("set", "scale", "seed")


@pytest.mark.parametrize(
    "text",
    [
        "a note that somebody wrote",
        '{"name": "a file of something else"}',
        '{"name": "a file of something else"}\n',
        '{"set": "sst2", "scale": 1, "seed": 0}\n[1, 2]\n{"set": ',
        "a note\nof two lines",
        "name,value\nset,1\n",
    ],
)
def test_a_file_of_something_else_is_refused_and_stays_as_it_is(tmp_path, text):
    file = tmp_path / "notes.txt"
    file.write_text(text)
    for act in (lambda: Results(file, IDENTITY).rows(), lambda: Results(file, IDENTITY).add(ROWS[0])):
        with pytest.raises(InputError, match=r"notes\.txt: line \d"):
            act()
        assert file.read_text() == text


@pytest.mark.parametrize("act", [Results.rows, lambda results: results.add(ROWS[1])], ids=["read", "added to"])
def test_a_row_without_a_declared_key_is_named(tmp_path, act):
    """It would make the report fail after all runs."""
    file = tmp_path / "table.jsonl"
    Results(file).add(ROWS[0])
    Results(file).add({name: ROWS[1][name] for name in (*IDENTITY, "accuracy")})
    before = file.read_text()
    assert len(Results(file, IDENTITY, ["accuracy"]).rows()) == 2
    with pytest.raises(InputError, match=r'table\.jsonl: line 2 is not a result of this table, it lacks "test":'):
        act(Results(file, IDENTITY, ["accuracy", "test"]))
    assert file.read_text() == before


def test_a_cut_off_line_stays_until_another_is_added(tmp_path):
    file = tmp_path / "table.jsonl"
    file.write_text('{"set": "ss')
    assert Results(file, IDENTITY).rows() == []
    assert file.read_text() == '{"set": "ss'


def test_a_run_that_stands_twice_counts_once(tmp_path):
    """Two processes may have made it at the same time."""
    results = Results(tmp_path / "table.jsonl", IDENTITY)
    for accuracy in (0.5, 0.6):
        results.add({"set": "mr", "scale": 1, "seed": 0, "accuracy": accuracy})
    results.add({"set": "mr", "scale": 1, "seed": 1, "accuracy": 0.7})
    assert [row["accuracy"] for row in results.rows()] == [0.5, 0.7]


def test_a_line_that_the_disk_has_no_room_for_is_no_result(results, monkeypatch):
    """The system writes what it has room for, and says how much that was."""
    before, system = results.file.read_text(), open

    def short(path, mode="r", **options):
        file = system(path, mode, **options)
        if "b" not in mode:
            return file

        class Short:
            def __getattr__(self, name):
                return getattr(file, name)

            def __enter__(self):
                return self

            def __exit__(self, *failure):
                file.close()

            def write(self, data):
                return file.write(data[:5])

        return Short()

    monkeypatch.setattr("builtins.open", short)
    with pytest.raises(OSError, match="No space left"):
        results.add({"set": "mr"})
    monkeypatch.undo()
    assert results.file.read_text() == before


def add_lines(file, process: int) -> None:
    results = Results(file)
    for run in range(50):
        results.add({"process": process, "run": run, "padding": "x" * 10_000})
    os._exit(0)


def test_processes_that_add_at_the_same_time_lose_no_line(tmp_path):
    file = tmp_path / "table.jsonl"
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=add_lines, args=(file, number)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    rows = Results(file).rows()
    assert sorted((row["process"], row["run"]) for row in rows) == [(p, r) for p in range(3) for r in range(50)]
    assert os.listdir(tmp_path) == ["table.jsonl"]
