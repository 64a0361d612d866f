"""`salience predict --resume`: what is answered is kept, and the output has the bytes of an uninterrupted one."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from test_bad_input import refused

import salience.classify.classifier as classifier_module
from labelled import FILLER, WORDS, write_csv
from salience.classify.kept_answers import KeptAnswers

SUFFIXES = (".csv", ".jsonl", ".parquet")
WINDOW, ROWS = 9, 40


def texts(number: int) -> list[str]:
    """Texts of such different lengths that a window has several batches; some are blank."""
    draw, words = random.Random(0), [*FILLER, *" ".join(WORDS.values()).split()]
    return [" ".join(draw.choices(words, k=draw.choice([0, 3, 12, 30, 55]))) for _ in range(number)]


@pytest.fixture
def data(tmp_path):
    (tmp_path / "in").mkdir()
    return write_csv(tmp_path / "in" / "data.csv", list(enumerate(texts(ROWS))), ("id", "text"))


@pytest.fixture
def predict(place, data, salience, tmp_path):
    """Predicts the data into a file of the folder `out`."""
    (tmp_path / "out").mkdir()

    def predict(name, *options):
        output = tmp_path / "out" / name
        return salience(
            "predict", place.model, data, "--output", output, "--window", WINDOW, "--device", "cpu", *options
        )

    return predict


@pytest.fixture
def batches(monkeypatch):
    """Counts the batches that are computed."""
    computed, of_batch = [], classifier_module.probabilities_of
    monkeypatch.setattr(
        classifier_module, "probabilities_of", lambda *given: computed.append(given) or of_batch(*given)
    )
    return computed


@pytest.fixture
def stopped(predict, monkeypatch):
    """Runs a prediction that something ends after so many records."""

    def stop(name, records, end, *options):
        count, add = 0, KeptAnswers.add

        def added(self, kind, *arrays):
            nonlocal count
            add(self, kind, *arrays)
            count += 1
            if count == records:
                end(self)

        with monkeypatch.context() as patch:
            patch.setattr(KeptAnswers, "add", added)
            return predict(name, *options)

    return stop


def interrupt(kept):
    signal.raise_signal(signal.SIGINT)


def files(folder) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("records", [1, 5, 12])
def test_an_interrupted_prediction_goes_on_and_ends_with_the_same_bytes(
    suffix, records, predict, stopped, batches, tmp_path
):
    out = tmp_path / "out"
    assert predict(f"whole{suffix}").code == 0
    needed, name = len(batches), f"out{suffix}"
    assert needed > 2 * ROWS / WINDOW  # a window has several
    batches.clear()
    answer = stopped(name, records, interrupt)
    assert answer.code == 130
    kept, last = answer.err.splitlines()[-2:]
    assert kept.startswith("kept: ") and kept.endswith("; the same command with --resume goes on"), answer.err
    assert last == "salience: interrupted"
    assert files(out) == [f".{name}.working", f"whole{suffix}"]
    answer = predict(name, "--resume")
    assert answer.code == 0 and "goes on after" in answer.err
    assert (out / name).read_bytes() == (out / f"whole{suffix}").read_bytes()
    assert files(out) == [name, f"whole{suffix}"]
    assert len(batches) == needed  # none was computed twice


def test_a_file_that_was_cut_off_anywhere_is_gone_on_from(predict, stopped, tmp_path):
    """A process can be killed in the middle of any write."""
    out, draw = tmp_path / "out", random.Random(1)
    assert predict("whole.csv").code == 0
    stopped("out.csv", 8, interrupt)
    kept = (out / ".out.csv.working").read_bytes()
    header = kept.index(b"\n") + 1
    damaged = bytearray(kept)
    damaged[(header + len(kept)) // 2] ^= 1
    cuts = [kept[:place] for place in (header, header + 1, header + 13, *draw.choices(range(header, len(kept)), k=8))]
    for content in (*cuts, bytes(damaged), kept + b"\x01" + b"\xff" * 40):
        (out / ".out.csv.working").write_bytes(content)
        answer = predict("out.csv", "--resume")
        assert answer.code == 0, answer.err
        assert (out / "out.csv").read_bytes() == (out / "whole.csv").read_bytes()
        (out / "out.csv").unlink()


def test_nothing_is_lost_and_nothing_begins_again_unasked(predict, stopped, tmp_path):
    out = tmp_path / "out"
    stopped("out.csv", 3, interrupt)
    kept = (out / ".out.csv.working").read_bytes()
    refused(predict("out.csv"), "an interrupted prediction of", "--resume it, or --overwrite it")
    assert (out / ".out.csv.working").read_bytes() == kept
    assert predict("out.csv", "--overwrite").code == 0
    assert files(out) == ["out.csv"]
    refused(predict("out.csv", "--resume"), "exists: choose another --output")
    (out / ".new.csv.working").write_text("of somebody else\n")
    refused(predict("new.csv", "--resume"), "is in the way")
    answer = predict("other.csv", "--resume")
    assert answer.code == 0 and "begins with the first row" in answer.err


def test_an_earlier_output_stays_until_the_new_one_is_whole(predict, stopped, tmp_path):
    out = tmp_path / "out"
    assert predict("out.csv").code == 0
    before = (out / "out.csv").read_bytes()
    assert stopped("out.csv", 3, interrupt, "--overwrite", "--prefix", "model_").code == 130
    assert (out / "out.csv").read_bytes() == before
    assert predict("out.csv", "--overwrite", "--prefix", "model_", "--resume").code == 0
    assert b"model_predicted" in (out / "out.csv").read_bytes() and files(out) == ["out.csv"]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--window", "8"], "--window 9, not 8"),
        (["--max-length", "12"], "--max-length"),
        (["--threshold", "0.5"], '--threshold null, not "0.5"'),
        (["--precision", "bf16"], '--precision "fp32", not "bf16"'),
        (["--safe-csv"], "--safe-csv false, not true"),
        (["--text", "id"], '--text "text", not "id"'),
    ],
)
def test_other_options_are_refused(options, part, predict, stopped, tmp_path):
    stopped("out.csv", 4, interrupt)
    kept = (tmp_path / "out" / ".out.csv.working").read_bytes()
    refused(predict("out.csv", "--resume", *options), "out.csv: the interrupted prediction had ", part)
    assert (tmp_path / "out" / ".out.csv.working").read_bytes() == kept


def test_other_data_and_another_model_are_refused(place, data, predict, stopped, salience, tmp_path):
    stopped("out.csv", 4, interrupt)
    config = place.model / "config.json"
    before = config.read_text()
    try:
        config.write_text(json.dumps(json.loads(before) | {"initializer_range": 0.5}))
        refused(predict("out.csv", "--resume"), f"{place.model} changed after the interrupted prediction had begun")
    finally:
        config.write_text(before)
    with data.open("a") as file:
        file.write("x,one more row\r\n")
    refused(predict("out.csv", "--resume"), f"{data} changed after the interrupted prediction had begun")
    assert files(tmp_path / "out") == [".out.csv.working"]


@pytest.mark.parametrize("output", [(), ("--output", "/dev/stdout"), ("--output", "/dev/null")])
def test_what_is_no_file_is_not_resumed(output, place, data, salience):
    refused(salience("predict", place.model, data, "--resume", *output), "--resume needs an output that is a file")


def test_a_full_disk_keeps_what_is_whole(predict, stopped, tmp_path):
    def fill(kept):
        kept.file.write(b"\x01\x00")  # what fitted of the next record
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    answer = stopped("out.csv", 6, fill)
    assert answer.code == 2 and "the disk is full" in answer.err.splitlines()[-1]
    assert answer.err.splitlines()[-2].startswith("kept: ")
    assert predict("out.csv", "--resume").code == 0 and predict("whole.csv").code == 0
    assert (tmp_path / "out" / "out.csv").read_bytes() == (tmp_path / "out" / "whole.csv").read_bytes()


def test_a_row_at_fault_leaves_nothing(place, salience, tmp_path):
    rows = [{"text": "a cup"}] * 30 + [{"text": ["a list"]}]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answer = salience("predict", place.model, tmp_path / "data.jsonl", "--output", tmp_path / "out.csv", "--window", 5)
    assert answer.code == 2 and "row 31" in answer.err and "--resume" not in answer.err
    assert files(tmp_path) == ["data.jsonl"]


@pytest.mark.whole
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_ended(number, place, predict, salience, tmp_path):
    """In the middle of a computation: it ends within two seconds, says how it goes on, and does so."""
    data = write_csv(tmp_path / "many.csv", list(enumerate(texts(40_000))), ("id", "text"))
    output = tmp_path / "out" / "out.csv"
    arguments = ["predict", place.model, data, "--window", "4000", "--device", "cpu", "--output"]
    process = subprocess.Popen(
        [sys.executable, "-m", "salience", *map(str, [*arguments, output])], stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    working = output.with_name(".out.csv.working")
    try:
        while process.poll() is None and not (working.exists() and working.stat().st_size > 300_000):
            time.sleep(0.01)
        begun = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        seconds = time.monotonic() - begun
    finally:
        process.kill()
    assert seconds < 2 and working.exists() and not output.exists()
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
        assert said.splitlines()[-2].endswith("the same command with --resume goes on")
        assert said.splitlines()[-1] == f"salience: {'interrupted' if number == signal.SIGINT else 'terminated'}"
    assert salience(*arguments, output, "--resume").code == 0
    assert salience(*arguments, output.with_name("whole.csv")).code == 0
    assert output.read_bytes() == output.with_name("whole.csv").read_bytes()
    assert files(output.parent) == ["out.csv", "whole.csv"]
