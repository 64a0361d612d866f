"""Pages as a browser shows them; nothing of theirs may come from elsewhere, and nothing may go wrong in them."""

from __future__ import annotations

import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    """One for a module, not for all: while playwright is at work, asyncio.run fails in every test of this process."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found = None
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        # Old versions of playwright ask for a headless mode that Chromium no longer has; the last switch counts.
        browser = playwright.chromium.launch(executable_path=found, args=[*QUIET, "--headless=new"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tab(browser):
    return browser.new_page()


@pytest.fixture
def page(tab):
    """An empty page to open one file in; it is asserted afterwards that the file was all that it needed."""
    wrong, requests = [], []
    listeners = {
        "console": lambda message: message.type in ("error", "warning") and wrong.append(message.text),
        "pageerror": lambda error: wrong.append(str(error)),
        "dialog": lambda dialog: (wrong.append(dialog.message), dialog.dismiss()),
        "request": lambda request: requests.append(request.url),
    }
    tab.set_viewport_size({"width": 1200, "height": 800})
    for event, listener in listeners.items():
        tab.on(event, listener)
    yield tab
    address, hacked = tab.url, tab.evaluate("window.hacked")
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    tab.goto("about:blank")
    assert not wrong
    assert set(requests) <= {address}, "the page asks for more than itself"
    assert hacked is None
