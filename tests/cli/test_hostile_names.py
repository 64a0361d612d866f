"""Labels, tags and names of files are anybody's: no command fails by them, and none lets them steer the terminal."""

import json
import re
from html.parser import HTMLParser

import pytest
from pandas import read_csv
from test_analyse import read, saved_model
from test_bad_input import refused

from labelled import WORDS, labelled_rows, write_csv
from salience.errors import is_unprintable

pytestmark = pytest.mark.filterwarnings("error:constrained_layout")  # which is given up where a text takes all room

SETS = {  # three labels each
    "some of each": ["[/b] [link=https://evil.example]y[/link]", "</script><img src=x onerror=alert(1)>",
                     "\x1b[31mred\x1b]0;title\x07\x9b2J\u202e"],
    "markup": ["[/b]", "[red]x[/red] :x:", "[link=https://evil.example]y[/link]"],
    "html": ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)> &lt;", "--></svg>]]>{{ 7*7 }}"],
    "controls": ["\x1b[31mred\x1b]0;title\x07", "\x9b2J\x01\x7f", "\u202eevil\u2066\u200b\ufeff"],
    "long": ["a" * 10_000, "b " * 5_000 + "b", "music"],
}  # fmt: skip
TAMED = "\x1b]0;evil\x07\x9b2J\u202e"


@pytest.fixture(
    scope="module",
    params=[next(iter(SETS)), *(pytest.param(name, marks=pytest.mark.whole) for name in list(SETS)[1:])],
)
def given(request, tmp_path_factory):
    """A model that knows such labels, and a file of such a name with them."""
    labels = SETS[request.param]
    folder = tmp_path_factory.mktemp("hostile")
    names = dict(zip(WORDS, labels, strict=True))
    rows = [(text, names[label], " ".join([names[label].split()[0]] * len(text.split())))
            for text, label in labelled_rows(60)]  # fmt: skip
    file = write_csv(folder / "[b]<i>\x1b[31m\u202e.csv", rows, ("text", "label", "marks"))
    return labels, saved_model(folder / "\x1b[1m[tiny]", labels=labels), file


def check_terminal(answer) -> None:
    assert answer.code == 0, answer.err[-2000:]
    printed = answer.out + answer.err
    assert not [letter for letter in printed if letter != "\n" and is_unprintable(letter)]


class Elements(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)


def check_page(file, scripts: int) -> None:
    seen = Elements(file.read_text(encoding="utf-8")).seen
    assert (seen.count("script"), seen.count("img"), seen.count("b"), seen.count("i")) == (scripts, 0, 0, 0)


def test_explain(given, salience, tmp_path):
    labels, model, file = given
    answer = salience("explain", model, file, "--most", "9")
    check_terminal(answer)
    for kind in ("html", "jsonl"):
        check_terminal(salience("explain", model, file, "--most", "9", "--output", tmp_path / f"out.{kind}"))
    check_page(tmp_path / "out.html", scripts=2)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["label"] for row in rows} == set(labels)
    # Standard output gets the same values, in another spelling where they would steer a terminal.
    answer = salience("explain", model, file, "--most", "9", "--format", "jsonl")
    check_terminal(answer)
    assert [json.loads(line) for line in answer.out.splitlines()] == rows


@pytest.mark.whole
def test_correct(given, salience, tmp_path):
    _, model, file = given
    check_terminal(salience("correct", model, file, file, "--output", tmp_path / "page.html"))
    check_page(tmp_path / "page.html", scripts=2)


@pytest.mark.whole
def test_suggest(given, salience, tmp_path):
    """The label is named in the summary, and written as it is."""
    labels, model, file = given
    answer = salience("suggest", model, file, "--text", "text", "--count", "9", "--output", tmp_path / "out.jsonl")
    check_terminal(answer)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 9 and {row["predicted"] for row in rows} <= set(labels)


def test_faithfulness(given, salience, tmp_path):
    _, model, file = given
    short = ["--rows", "9", "--most", "3", "--at", "2", "--explainer", "gradient"]
    answer = salience("faithfulness", model, file, *short, "--marks", "marks", "--output", tmp_path / "out")
    check_terminal(answer)
    check_page(tmp_path / "out" / "index.html", scripts=0)
    read(tmp_path / "out" / "faithfulness.json")


@pytest.mark.whole
def test_compare(given, salience, tmp_path):
    """Labels, file, model and output are named by anybody; the report and the tables hold them as they are."""
    labels, model, file = given
    output = tmp_path / "[/b]<i>'\"\x1b[31m\u202e\n<script>"
    asked = ["compare", file, "--test", file, "--model", model, "--text", "text", "--label", "label", "--steps", "2",
             "--seeds", "0,1", "--references", "majority", "--device", "cpu", "--output", output]  # fmt: skip
    answer = salience(*asked)
    check_terminal(answer)
    check_page(output / "report.html", scripts=0)
    text = (output / "report.md").read_text(encoding="utf-8")
    assert not [letter for letter in text if letter != "\n" and is_unprintable(letter)]
    assert not re.search(r"(?<!\\)<", text)
    assert {*read_csv(output / "classes.csv")["class"]} == set(labels)
    stored = output / "explanations.jsonl"  # there is none where methods agree
    lines = stored.read_text(encoding="utf-8").split("\n")[:-1] if stored.exists() else []
    assert all(json.loads(line)["explained"] in labels for line in lines)
    again = salience(*asked)
    check_terminal(again)
    assert "eat maps" not in again.out


@pytest.mark.whole
@pytest.mark.parametrize("kind", ["channels", "embeddings"])
def test_analyses_of_a_model(kind, given, salience, tmp_path):
    labels, model, file = given
    check_terminal(salience("analyse", kind, model, file, "--output", tmp_path / "[/b]\x1b"))
    found = read(tmp_path / "[/b]\x1b" / f"{kind}.json")
    assert list(found["importance"] if kind == "channels" else found["labels"]) == labels


@pytest.mark.whole
def test_an_analysis_of_attention(given, salience, tmp_path):
    _, _, file = given
    answer = salience("analyse", "attention", file, "--text", "text", "--label", "label", "--epochs", "1",
                      "--output", tmp_path / "out")  # fmt: skip
    check_terminal(answer)
    check_page(tmp_path / "out" / "index.html", scripts=0)


def test_errors(given, salience):
    """The label is named, in a spelling that steers nothing; and so are arguments that name nothing."""
    _, model, file = given
    for answer in (
        salience("explain", model, file, "--target", TAMED), salience("explain", model, TAMED),
        salience("explain", TAMED, file), salience("explain", model, file, "--text-column", TAMED),
        salience("explain", model, file, "--output", f"{TAMED}.txt"), salience("methods", TAMED),
        salience("analyse", "pos", model, file, "--tags", TAMED, "--output", "nowhere"),
        salience(TAMED), salience("explain", model, file, f"--{TAMED}"),
    ):  # fmt: skip
        refused(answer)
        assert not [letter for letter in answer.err.rstrip("\n") if is_unprintable(letter)], answer.err
