"""Pages as a browser shows them; nothing of theirs may come from elsewhere, and nothing may go wrong in them."""

from __future__ import annotations

import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
VIOLATIONS = """window.violations = [];
document.addEventListener("securitypolicyviolation", event => violations.push(event.effectiveDirective));"""
# Not wait_for_function: that evaluates a string in each of its looks, which a page's policy forbids.
UNTIL_VIOLATED = """() => new Promise((found, missing) => {
    const look = () => violations.length ? found() : setTimeout(look, 10);
    look();
    setTimeout(() => missing(new Error("nothing was against the policy in 30 seconds")), 30000);
})"""
POLICY = "[...document.querySelectorAll('head > meta[http-equiv=Content-Security-Policy]')].map(own => own.content)"
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
    tab = browser.new_page()
    tab.add_init_script(VIOLATIONS)
    return tab


@pytest.fixture
def page(tab):
    """An empty page to open one file in.

    It is asserted afterwards that the file was all that it needed, that it has a strict content security policy, and
    that nothing in it was against the policy.
    """
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
    policies, violations = tab.evaluate(POLICY), tab.evaluate("window.violations")
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    tab.goto("about:blank")
    assert not wrong
    assert set(requests) <= {address}, "the page asks for more than itself"
    assert hacked is None
    if address.startswith("file:"):
        (policy,) = policies
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "*" not in policy
        assert "base-uri 'none'" in policy and "form-action 'none'" in policy
        assert violations == []
