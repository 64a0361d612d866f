"""The page of `salience demo`: what is typed is explained, and nothing leaves the machine."""

import json
from importlib.util import find_spec
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

import families
from browsing import VIOLATIONS
from salience.classify import TextClassifier
from salience.classify.abstaining import Thresholds
from salience.cli import demo as demo_page
from salience.errors import InputError
from salience.explainers.class_words import ClassWord, KeptWords, read_kept_words
from salience.report.demo_page import classes_table

pytestmark = pytest.mark.skipif(find_spec("gradio") is None, reason="gradio is not installed")


@pytest.fixture(scope="module")
def served():
    """The page on a free port, of a tiny BERT."""
    reader = TextClassifier(families.build("bert").eval(), families.tiny_tokenizer(), 32)
    page = demo_page.build_page(reader, "tiny")
    _, address, _ = demo_page.launch(page, prevent_thread_lock=True, quiet=True, ssr_mode=False)
    yield address
    page.close()


@pytest.mark.whole
def test_a_text_is_explained_and_shown_as_a_text(browser, served):
    page = browser.new_page()
    page.add_init_script(VIOLATIONS)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(served)
    page.get_by_label("text", exact=True).fill("a cup <script>window.hacked = 1</script>")
    page.get_by_role("button", name="explain").click()
    page.get_by_text("LABEL_", exact=False).first.wait_for()
    page.locator("span[title]", has_text="<script>").wait_for()
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("window.violations") == []
    assert not [url for url in asked if not url.startswith((served.rstrip("/"), "data:", "blob:"))]
    page.close()


def answer(address: str, **headers: str) -> tuple[int, str]:
    """The status of a request to the page, and its content security policy."""
    request = Request(address, headers=headers)
    try:
        with urlopen(request, timeout=20) as found:
            return found.status, found.headers["Content-Security-Policy"]
    except HTTPError as error:
        return error.code, ""


def test_the_page_is_known_by_the_names_of_this_machine(served):
    port = urlsplit(served).port
    for host in ("127.0.0.1", "localhost", f"127.0.0.1:{port}", f"LOCALHOST:{port}"):
        status, policy = answer(served, Host=host)
        assert status == 200 and "default-src 'self'" in policy and "frame-ancestors 'none'" in policy, host
    for origin in (served.rstrip("/"), f"http://localhost:{port}"):
        assert answer(served, Origin=origin)[0] == 200, origin


FOREIGN = [
    {"Host": "evil.example"}, {"Host": "evil.example:7860"}, {"Host": "localhost.evil.example"},
    {"Host": "127.0.0.1.evil.example"}, {"Host": "evil.example#@127.0.0.1"}, {"Host": "[::1"},
    {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost.evil.example"},
]  # fmt: skip


def test_other_names_and_other_sites_are_refused(served):
    """A site whose name leads to 127.0.0.1 must not read the page, nor may any site send it a text."""
    for path in ("", "config", "gradio_api/info", "gradio_api/startup-events"):
        assert answer(served + path)[0] == 200
        for headers in FOREIGN:
            assert answer(served + path, **headers)[0] == 403, (path, headers)


def test_an_empty_text_shows_nothing_and_is_no_error():
    reader = TextClassifier(families.build("bert").eval(), families.tiny_tokenizer(), 32)
    page = demo_page.build_page(reader, "tiny")
    show = next(iter(page.fns.values())).fn  # itself, without a browser
    assert show("  ", "", "gradient") == ({}, "", "")
    probabilities, _, words = show("a cup", "a song", "gradient")
    assert abs(sum(probabilities.values()) - 1) < 1e-5 and "cup" in words and "song" in words


def test_without_gradio_the_mend_is_told(monkeypatch):
    monkeypatch.setattr(demo_page, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'gradio>="):
        demo_page.demo("minilm")


def reader_with(labels: list[str]) -> TextClassifier:
    model = families.build("bert", classes=len(labels)).eval()
    model.config.id2label = dict(enumerate(labels))
    return TextClassifier(model, families.tiny_tokenizer(), 32)


@pytest.mark.parametrize(("threshold", "said"), [
    (0.999, "not above its threshold of 0.999"),
    *(pytest.param(*case, marks=pytest.mark.whole) for case in ((0.0, "decided: "), (1.0, "is never decided"))),
])  # fmt: skip
def test_a_text_below_its_threshold_is_undecided(threshold, said):
    """As `Predictor` decides."""
    reader = reader_with(["a", "b"])
    page = demo_page.build_page(reader, "tiny", Thresholds({"a": threshold, "b": threshold}))
    probabilities, line, _ = next(iter(page.fns.values())).fn("a cup", "", "gradient")
    assert said in line and line.startswith("decided" if threshold == 0 else "undecided")
    assert max(probabilities, key=probabilities.get) in line.split(": ")[1]


HOSTILE = "<img src=x onerror=alert(1)>"


def test_classes_show_their_thresholds_and_words():
    words = KeptWords("integrated-gradients", 9, {"a": [ClassWord(HOSTILE, 0.5, 3), ClassWord("cup", 0.25, 4)]})
    table = classes_table(["a", HOSTILE], Thresholds({"a": 0.75, HOSTILE: 1.0}, 0.9, 0.95), words)
    assert "<img" not in table and table.count("&lt;img") == 2
    first, second = table.split("<tr>")[2:4]
    assert "0.750" in first and first.index("&lt;img") < first.index("cup")
    assert "1 (never decided)" in second and "cup" not in second
    assert "a precision of 0.9 with a certainty of 0.95" in table and "over 9 texts" in table
    assert classes_table(["a", "b"], None, None) == ""
    assert "abstains" not in classes_table(["a", HOSTILE], None, words)
    assert "salience report RUN" in classes_table(["a"], Thresholds({"a": 0.5}), None)


def test_kept_words_are_read_as_they_were_written(tmp_path):
    words = KeptWords("gradient", 9, {"a": [ClassWord("cup", 0.25, 4)]})
    assert read_kept_words(tmp_path) is None
    (tmp_path / "class_words.json").write_text(json.dumps(words.as_json()))
    assert read_kept_words(tmp_path) == words
    for damaged in ("[]", "{", '{"words": {"a": [{"word": 1}]}}'):
        (tmp_path / "class_words.json").write_text(damaged)
        with pytest.raises(InputError, match=r"class_words.json is damaged .*: salience report makes it again"):
            read_kept_words(tmp_path)


def test_a_page_that_does_not_answer_itself_is_one_line(monkeypatch):
    def launch(page, **settings):
        raise ValueError("When localhost is not accessible, a shareable link must be created.")

    monkeypatch.setattr(demo_page, "launch", launch)
    monkeypatch.setattr("salience.classify.load", lambda *_: reader_with(["a", "b"]))
    with pytest.raises(InputError, match=r"the page does not answer on this machine .* NO_PROXY=127.0.0.1,localhost"):
        demo_page.demo("tiny")
