"""What the search of the site finds for questions that users of other tools ask: the place of the page that answers.

    make docs && python bench/site_search.py

A question is answered if one of its pages is among the first three hits. Exit code 1 if one is not.
"""

from __future__ import annotations

import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import Page, sync_playwright

HITS = 3
QUESTIONS = {
    "how many examples per class": ("guides/few-labels",),
    "confidence threshold": ("guides/thresholds",),
    "multi-label classification": ("guides/multi-label",),
    "imbalanced class weights": ("guides/imbalanced",),
    "out of memory": ("guides/performance", "guides/troubleshooting"),
    "documents longer than 512 tokens": ("guides/long-texts",),
    "export to ONNX": ("guides/serve",),
    "push to hub": ("guides/share",),
    "zero-shot without labels": ("guides/no-labels",),
    "label errors": ("guides/audit",),
    "active learning": ("guides/which-texts-next",),
    "explain a prediction": ("guides/explain",),
    "multilingual model": ("guides/languages-and-encoders",),
    "resume interrupted training": ("concepts/how-a-run-works", "guides/troubleshooting", "concepts/guarantees"),
    "cross-validation": ("concepts/estimate", "concepts/glossary"),
    "calibrated probabilities": ("concepts/numbers", "concepts/estimate", "concepts/glossary"),
    "sentence pairs": ("guides/pairs",),
    "knowledge distillation": ("guides/distill",),
    "significance of a difference": ("concepts/statistics", "guides/compare"),
    "SetFit": ("guides/from-setfit-or-trainer", "research/other-tools"),
    "Docker server": ("guides/serve",),
    "spurious correlation shortcut": ("guides/correct", "concepts/glossary"),
}


class Quiet(SimpleHTTPRequestHandler):
    """Writes no line for each request."""

    def log_message(self, *_: object) -> None:
        pass


def hits(page: Page, question: str) -> list[str]:
    """The pages that the search lists first, each once."""
    asked = page.locator("input[name=query]")
    asked.fill(question[:-1])
    asked.press_sequentially(question[-1])  # the search listens to keys
    page.wait_for_timeout(1500)
    found = page.locator(".md-search-result__item > a.md-search-result__link")
    addresses = [str(each.get_attribute("href")) for each in found.all()]
    pages = [address.split("?")[0].split("#")[0].split("/", 3)[-1].strip("/") for address in addresses]
    return list(dict.fromkeys(pages))


def main() -> int:
    """Asks every question."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory="site"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    missed = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--headless=new"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.locator("input[name=query]").click()
        hits(page, "warm up")  # the index is read with the first question
        for question, wanted in QUESTIONS.items():
            found = hits(page, question)
            place = next((number for number, each in enumerate(found, 1) if each in wanted), 0)
            missed += not 0 < place <= HITS
            print(f"{place or '-':>2}  {question}  ({', '.join(found[:HITS])})")
        browser.close()
    print(f"{len(QUESTIONS) - missed} of {len(QUESTIONS)} are answered by one of the first {HITS} hits")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
