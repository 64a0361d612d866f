"""The search of the site ranks guides before concepts, and these before the rest (`hooks` of mkdocs.yml)."""

BOOSTS = {"guides": 8, "concepts": 4, "reference": 2}


def on_page_markdown(markdown, page, **_):
    """Sets the weight of a page in the search."""
    page.meta["search"] = {"boost": BOOSTS.get(page.file.src_uri.split("/")[0], 1)}
    return markdown
