"""Pages are opened in a browser, by tests that are `whole`."""

import pytest

from browsing import browser, page, tab

__all__ = ["browser", "page", "tab"]


def pytest_collection_modifyitems(items):
    for item in items:
        if "page" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.whole)
