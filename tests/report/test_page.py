"""The frame of every page in a browser: what its policy lets through and what it does not."""

import socket
from contextlib import suppress

import pytest

from browsing import UNTIL_VIOLATED, VIOLATIONS
from salience.report.page import framed

pytestmark = pytest.mark.whole  # a browser
INJECTED = {  # what an unescaped text could bring, and the directive that stops it
    "a script": ("<script>window.hacked = 1</script>", "script-src-elem"),
    "an event": ("<details open ontoggle='window.hacked = 1'>", "script-src-attr"),
    "a style sheet": ("<style>h1 { color: rgb(1, 2, 3) }</style>", "style-src-elem"),
    "a style": ("<p style='position: fixed'>over everything</p>", "style-src-attr"),
    "a picture from elsewhere": ("<img src='http://127.0.0.1:PORT/x.png'>", "img-src"),
    "a frame": ("<iframe src='http://127.0.0.1:PORT/'></iframe>", "frame-src"),
    "another base": ("<base href='http://127.0.0.1:PORT/'>", "base-uri"),
    "an object": ("<object data='http://127.0.0.1:PORT/x.svg'></object>", "object-src"),
    "a script from elsewhere": ("<script src='http://127.0.0.1:PORT/x.js'></script>", "script-src-elem"),
    "a style sheet from elsewhere": ("<link rel=stylesheet href='http://127.0.0.1:PORT/x.css'>", "style-src-elem"),
}


@pytest.fixture
def elsewhere():
    """A server that must never be asked for anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
        server.settimeout(0.1)
        asked = b""
        with suppress(TimeoutError):
            while True:  # Chromium connects ahead of frames and forms, before it asks the policy, and sends nothing
                connection, _ = server.accept()
                connection.settimeout(0.1)
                with connection, suppress(TimeoutError):
                    asked += connection.recv(1000)
        assert asked == b""


@pytest.fixture
def opened(browser, elsewhere, tmp_path):
    """Opens a page that may do what its policy forbids."""
    tab = browser.new_page()
    tab.add_init_script(VIOLATIONS)

    def run(text: str):
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        tab.goto((tmp_path / "page.html").as_uri())
        return tab

    yield run
    tab.close()


STYLE, SCRIPT = "h1 { color: rgb(9, 8, 7) }", "document.querySelector('h1').textContent += ' and more'"


def test_a_page_has_its_style_and_its_script(opened):
    tab = opened(framed("R&D <b> ü", STYLE, "<h1>one</h1>", SCRIPT))
    assert tab.title() == "R&D <b> ü"
    assert tab.locator("h1").text_content() == "one and more"
    assert tab.locator("h1").evaluate("own => getComputedStyle(own).color") == "rgb(9, 8, 7)"
    assert tab.evaluate("window.violations") == []


@pytest.mark.parametrize("script", ["", SCRIPT], ids=["without a script", "with a script"])
@pytest.mark.parametrize("case", INJECTED)
def test_nothing_else_runs_or_loads(case, script, opened, elsewhere):
    markup, directive = INJECTED[case]
    tab = opened(framed("a page", STYLE, f"<h1>one</h1>{markup.replace('PORT', str(elsewhere))}", script))
    tab.evaluate(UNTIL_VIOLATED)
    assert directive in tab.evaluate("window.violations")
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("h1").evaluate("own => getComputedStyle(own).color") == "rgb(9, 8, 7)"
    assert tab.evaluate("document.baseURI").startswith("file:")


def test_no_form_is_sent(opened, elsewhere):
    tab = opened(framed("a page", STYLE, f"<form action='http://127.0.0.1:{elsewhere}/'><button>go</button></form>"))
    tab.get_by_role("button").click(no_wait_after=True)
    tab.evaluate(UNTIL_VIOLATED)
    assert tab.evaluate("window.violations") == ["form-action"]


def test_half_characters_can_be_written(opened):
    """As of a file whose name is no UTF-8."""
    tab = opened(framed("caf\udce9.csv", STYLE, "<h1>\ud83d</h1>"))
    assert tab.title() == "caf\\udce9.csv" and tab.locator("h1").text_content() == "\\ud83d"
