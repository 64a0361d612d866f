"""`salience demo`: a local page to type a text into and see label, probabilities and words."""

from __future__ import annotations

import os
from importlib.util import find_spec

from salience.commands.faithfulness import applicable_explainers
from salience.commands.local_only import LocalOnly
from salience.errors import InputError
from salience.explainers import EXPLAINERS
from salience.explainers.explanations import Text, explain_texts
from salience.inference import TextClassifier, load

FONTS = ["system-ui", "sans-serif"]  # of the machine itself: none is fetched


def serve(name: str, *, port: int | None, browser: bool, max_length: int | None, device: str) -> None:
    """Shows the page on this machine alone, until it is interrupted.

    Raises:
        InputError: gradio is not installed, there is no such model, or the port is taken.
    """
    if find_spec("gradio") is None:
        raise InputError("the page needs gradio: pip install 'salience[demo]'")
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    page = build_page(load(name, max_length, device), name)
    try:
        launch(page, server_port=port, inbrowser=browser)
    except OSError as error:
        raise InputError(f"--port {port}: {error}") from error


def launch(page, **settings):
    """Starts the page's server, which answers this machine and no pages of other sites; gives what gradio gives."""
    import gradio
    from starlette.middleware import Middleware

    return page.launch(
        server_name="127.0.0.1", share=False, theme=gradio.themes.Default(font=FONTS, font_mono=["monospace"]),
        app_kwargs={"middleware": [Middleware(LocalOnly)]}, **settings,
    )  # fmt: skip


def build_page(classifier: TextClassifier, name: str):
    """The page as gradio's blocks; texts are shown as texts, whatever they hold."""
    import gradio

    offered = list(applicable_explainers(classifier, Text("a text")))

    def show(text: str, pair: str, explainer: str) -> tuple[dict[str, float], str]:
        if not text.strip():
            return {}, ""
        whole = Text(text, pair if pair.strip() else None)
        (found,) = explain_texts(classifier, [whole], {explainer: EXPLAINERS[explainer]})
        return dict(zip(found.labels, map(float, found.probabilities), strict=True)), found._repr_html_()

    with gradio.Blocks(title=f"salience: {name}", analytics_enabled=False) as page:
        gradio.Markdown("# Which words decide")
        with gradio.Row():
            with gradio.Column():
                text = gradio.Textbox(label="text", lines=4, autofocus=True)
                pair = gradio.Textbox(label="second text, if the model reads pairs")
                usual = "gradient" if "gradient" in offered else offered[0]
                explainer = gradio.Dropdown(offered, value=usual, label="explainer")
                button = gradio.Button("explain", variant="primary")
            with gradio.Column():
                probabilities = gradio.Label(label="probabilities", num_top_classes=5)
                words = gradio.HTML(label="words")
        for event in (button.click, text.submit, explainer.change):
            event(show, [text, pair, explainer], [probabilities, words], api_name=False)
    return page
