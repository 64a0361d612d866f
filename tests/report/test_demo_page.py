"""The page of `salience demo`: what is typed is explained, and nothing leaves the machine."""

import pytest

import families
from salience.errors import InputError
from salience.report import demo_page
from salience.study.faithfulness import Reader

gradio = pytest.importorskip("gradio")


@pytest.fixture(scope="module")
def served():
    """The page on a free port, of a tiny BERT."""
    reader = Reader(families.build("bert").eval(), families.tiny_tokenizer(), 32)
    page = demo_page.build_page(reader, "tiny")
    _, address, _ = page.launch(
        server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, share=False, ssr_mode=False,
        theme=gradio.themes.Default(font=demo_page.FONTS, font_mono=["monospace"]),
    )  # fmt: skip
    yield address
    page.close()


def test_a_text_is_explained_and_shown_as_a_text(browser, served):
    page = browser.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(served)
    page.get_by_label("text", exact=True).fill("a cup <script>window.hacked = 1</script>")
    page.get_by_role("button", name="explain").click()
    page.get_by_text("LABEL_", exact=False).first.wait_for()
    page.locator("span[title]", has_text="<script>").wait_for()
    assert page.evaluate("window.hacked") is None
    assert not [url for url in asked if not url.startswith((served.rstrip("/"), "data:", "blob:"))]
    page.close()


def test_an_empty_text_shows_nothing_and_is_no_error():
    reader = Reader(families.build("bert").eval(), families.tiny_tokenizer(), 32)
    page = demo_page.build_page(reader, "tiny")
    show = next(iter(page.fns.values())).fn  # itself, without a browser
    assert show("  ", "", "gradient") == ({}, "")
    probabilities, words = show("a cup", "a song", "gradient")
    assert abs(sum(probabilities.values()) - 1) < 1e-5 and "cup" in words and "song" in words


def test_without_gradio_the_mend_is_told(monkeypatch):
    monkeypatch.setattr(demo_page, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'salience\[demo\]'"):
        demo_page.serve("minilm", port=None, browser=False, max_length=None, device="cpu")
