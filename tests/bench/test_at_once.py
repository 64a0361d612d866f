"""Commands of a machine that is lent for a while."""

import sys
import time

import at_once


def test_commands_run_in_their_order_and_not_again_once_they_succeed(tmp_path):
    listed = tmp_path / "order"
    commands = [(name, f"echo {name} >> {listed}; exit {code}") for name, code in (("a", 0), ("b", 3), ("c", 0))]
    assert at_once.run_at_once(commands, 1, 60, tmp_path / "place") == {"a": 0, "b": 3, "c": 0}
    assert at_once.run_at_once(commands, 1, 60, tmp_path / "place") == {"b": 3}
    assert listed.read_text().split() == ["a", "b", "c", "b"]


def test_commands_run_at_the_same_time(tmp_path):
    """Each waits for a file that the other writes."""
    wait = "until [ -e {} ]; do sleep 0.05; done"
    one, other = tmp_path / "one", tmp_path / "other"
    commands = [("one", f"touch {one}; {wait.format(other)}"), ("other", f"touch {other}; {wait.format(one)}")]
    assert at_once.run_at_once(commands, 2, 60, tmp_path / "place") == {"one": 0, "other": 0}


def test_what_still_runs_is_interrupted_when_the_time_is_over(tmp_path, capsys):
    script = tmp_path / "long.py"
    script.write_text(
        "import pathlib, signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which a shell in the background ignores
        "pathlib.Path('begun').touch()\n"
        "try:\n    time.sleep(600)\n"
        "except KeyboardInterrupt:\n    pathlib.Path('saved').touch()\n"
    )
    begun = time.monotonic()
    commands = [("long", f"cd {tmp_path} && exec {sys.executable} -S {script}"), ("later", "true")]
    assert at_once.run_at_once(commands, 1, 10, tmp_path / "place") == {}
    assert (tmp_path / "begun").exists() and (tmp_path / "saved").exists()
    assert time.monotonic() - begun < 300  # of the 600 that it would sleep
    assert capsys.readouterr().out == "not done: long, later\n"
    assert not list((tmp_path / "place").glob("*.done"))


def test_lines_without_a_command_are_left_out(tmp_path):
    (tmp_path / "commands").write_text("a\techo 1\techo 2\n\nno command\n")
    assert at_once.read_commands(tmp_path / "commands") == [("a", "echo 1\techo 2")]
