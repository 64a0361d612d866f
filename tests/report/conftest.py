"""Pages are opened in a browser."""

from browsing import browser, page, tab

__all__ = ["browser", "page", "tab"]
