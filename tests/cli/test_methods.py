"""`salience methods`: a table of all, a card of one, and no waiting for torch."""

import io
import subprocess
import sys
import tomllib
from pathlib import Path

from rich.console import Console
from test_bad_input import refused

from salience import METHODS
from salience.report import cards

ROOT = Path(__file__).parents[2]


def test_a_table_of_all_methods(salience):
    answer = salience("methods")
    assert answer.code == 0 and not answer.err
    rows = [line.split()[0] for line in answer.out.splitlines()[1 : 1 + len(METHODS)]]
    assert sorted(rows) == sorted(METHODS)  # one line each, however narrow the test's terminal
    assert "random tokens become [UNK]; the label stays" in answer.out
    assert "training without mixing costs 3 F" in answer.out


def test_a_narrow_terminal_loses_nothing():
    written = io.StringIO()
    cards.show_index(Console(file=written, width=60, force_terminal=True, color_system=None))
    for name in METHODS:
        assert name in written.getvalue()


def test_a_card_is_printed_as_it_is_written(salience):
    for name in METHODS:
        answer = salience("methods", name)
        assert (answer.code, answer.err) == (0, "")
        assert answer.out == (ROOT / "docs" / "methods" / f"{name}.md").read_text(encoding="utf-8")


def test_in_a_terminal_a_card_is_laid_out():
    for name in METHODS:
        written = io.StringIO()
        cards.show_card(name, Console(file=written, width=90, force_terminal=True, color_system=None))
        shown = written.getvalue()
        assert name in shown and "##" not in shown and "|---" not in shown
        assert "label  = " in shown, name  # formulas keep their columns


def test_the_card_of_a_method_as_train_takes_it(salience):
    assert salience("methods", "ssmix:window=0.2").out == salience("methods", "ssmix").out


def test_what_is_no_mixing_method_is_said_in_a_line(salience):
    refused(salience("methods", "plain"), "plain has no card: it trains on the texts as they are, without mixing")


def test_an_unknown_name_is_one_line_with_the_nearest(salience):
    refused(salience("methods", "ssmx"), 'unknown method "ssmx"', 'Did you mean "ssmix"?', "dropmix-g")
    refused(salience("methods", "README"), 'unknown method "README"')
    refused(salience("methods", "../../README"), "unknown method")


def test_nothing_heavy_is_imported():
    script = (
        "import sys\nfrom salience.cli.main import main\n"
        "codes = [main(['methods', *more]) for more in ([], ['ssmix'], ['nothing'])]\n"
        "heavy = {'torch', 'transformers', 'datasets', 'numpy', 'sklearn', 'pandas'} & set(sys.modules)\n"
        "assert codes == [0, 0, 2] and not heavy, (codes, heavy)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_wheel_ships_the_cards():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert wheel["wheel"]["force-include"]["docs/methods"] == "salience/cards"


def test_an_installed_package_reads_the_cards_beside_it(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "salience"
    monkeypatch.setattr(cards, "__file__", str(package / "report" / "cards.py"))
    (package / "cards").mkdir(parents=True)
    assert cards.cards_folder() == package / "cards"
