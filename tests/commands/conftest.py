"""The demo's page is opened in a browser."""

from browsing import browser

__all__ = ["browser"]
