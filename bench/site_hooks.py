"""What the site adds to mkdocs (`hooks` of mkdocs.yml): the ranks of its search, and links from notebooks to pages."""

import re

BOOSTS = {"guides": 8, "concepts": 4, "reference": 2}  # before research and the methods' cards


def on_page_markdown(markdown, page, **_):
    """Sets the weight of a page in the search."""
    page.meta["search"] = {"boost": BOOSTS.get(page.file.src_uri.split("/")[0], 1)}
    return markdown


def on_page_content(html, page, **_):
    """mkdocs-jupyter leaves links to Markdown files as they are: a page lies in a folder of its own on the site."""
    return re.sub(r'href="(\.\./[\w/-]+)\.md', r'href="../\1/', html) if page.file.src_uri.endswith(".ipynb") else html
