"""The picture of README: the verdict of a run, three heat maps and its confusions, taken from its report in Chromium.

python bench/card_picture.py runs/demo/report.html docs/pictures/card.png
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1040, 400
CARD = """() => {
    const take = selector => document.querySelector(selector).cloneNode(true);
    const maps = [...document.querySelectorAll('#errors .card')].slice(0, 3).map(each => each.cloneNode(true));
    const [title, verdict, matrix] = ['h1', '.worth', '#confusions .matrix'].map(take);
    const [left, right, all] = [0, 1, 2].map(() => document.createElement('div'));
    left.append(title, verdict, ...maps);
    right.append(matrix);
    all.append(left, right);
    all.style = 'display: flex; gap: 2rem; align-items: center';
    left.style = 'flex: 1.25; zoom: 0.85';
    right.style = 'flex: 1';
    matrix.style = 'zoom: 0.62; overflow: visible';
    document.body.replaceChildren(all);
    document.body.style = 'max-width: none; margin: 0 1.5rem';
}"""


def main() -> None:
    """Takes the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--headless=new"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=2)
        page.goto(options.report.resolve().as_uri())
        page.evaluate(CARD)
        page.screenshot(path=options.picture)
        browser.close()


if __name__ == "__main__":
    main()
