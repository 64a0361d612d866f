"""`salience demo`: a page on this machine that shows label, probabilities and words of a text that is typed in."""

from __future__ import annotations

import os
from importlib.util import find_spec

from salience.classify import TextClassifier, load
from salience.classify.abstaining import Thresholds, read_thresholds
from salience.commands.faithfulness import applicable_explainers
from salience.commands.local_only import LocalOnly
from salience.data.texts import Texts
from salience.errors import InputError
from salience.explainers import EXPLAINERS
from salience.explainers.class_words import KeptWords, read_kept_words
from salience.explainers.explain import explain_texts
from salience.report.demo_page import abstaining, classes_table, decision_line, labels_table, predicting

FONTS = ["system-ui", "sans-serif"]  # installed ones, so that none is downloaded


def serve(name: str, *, port: int | None, browser: bool, max_length: int | None, device: str) -> None:
    """Serves the page to this machine only, until it is interrupted.

    Args:
        name: a run folder, or any other trained classifier.
        port: None takes the first free one from 7860.
        browser: whether to open the page in the browser.
        max_length: number of tokens read of a text; None takes that of the training.
        device: "auto", "cpu" or "cuda".

    Raises:
        InputError: gradio is not installed, there is no such model, or the port is taken.
    """
    if find_spec("gradio") is None:
        raise InputError("the page needs gradio: pip install 'salience[demo]'")
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    classifier = load(name, max_length, device)
    thresholds = None if classifier.multi_label else read_thresholds(name, classifier.labels)
    page = build_page(classifier, name, thresholds, read_kept_words(name))
    try:
        launch(page, server_port=port, inbrowser=browser)
    except OSError as error:
        at = "no free port" if port is None else f"--port {port}"
        raise InputError(f"{at}: {error}") from error
    except ValueError as error:  # gradio asks for its own page once
        if "localhost is not accessible" not in str(error):
            raise
        raise InputError(
            "the page does not answer on this machine within three seconds: the machine is busy, or a proxy stands "
            "between; try again, or set NO_PROXY=127.0.0.1,localhost"
        ) from error


def launch(page, **settings):
    """Starts a server that answers this machine only, and no pages of other sites.

    Args:
        page: gradio's blocks.
        settings: further arguments of gradio's `launch`, whose result is returned.
    """
    import gradio
    from starlette.middleware import Middleware

    for name in ("NO_PROXY", "no_proxy"):  # a proxy cannot reach a page that answers this machine only
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), "127.0.0.1", "localhost"]))
    return page.launch(
        server_name="127.0.0.1", share=False, theme=gradio.themes.Default(font=FONTS, font_mono=["monospace"]),
        app_kwargs={"middleware": [Middleware(LocalOnly)]}, **settings,
    )  # fmt: skip


def build_page(
    classifier: TextClassifier, name: str, thresholds: Thresholds | None = None, words: KeptWords | None = None
):
    """The page as gradio's blocks. Texts, labels and words are escaped.

    Args:
        name: of the classifier, for the title.
        thresholds: below which it abstains; None if it decides every text, or can give a text several labels.
        words: that speak for its classes; None if they are not known.
    """
    import gradio

    offered, several = list(applicable_explainers(classifier, Texts(["a text"]))), classifier.multi_label
    column = None if thresholds is None else abstaining(thresholds, classifier.labels)
    if several:
        column = predicting(classifier.thresholds)

    def show(text: str, pair: str, explainer: str) -> tuple[dict[str, float], str, str]:
        if not text.strip():
            return {}, "", ""
        texts = Texts([text], [pair] if pair.strip() else None)
        # There is one for each predicted label, where a text can have several.
        explanations = list(explain_texts(classifier, texts, {explainer: EXPLAINERS[explainer]}))
        first = explanations[0]
        probabilities = dict(zip(first.labels, map(float, first.probabilities), strict=True))
        line = "" if thresholds is None else decision_line(first, thresholds)
        if several:
            line = labels_table(first, classifier.thresholds)
        return probabilities, line, "".join(explanation._repr_html_() for explanation in explanations)

    with gradio.Blocks(title=f"salience: {name}", analytics_enabled=False) as page:
        gradio.Markdown("# Which words decide")
        with gradio.Row():
            with gradio.Column():
                text = gradio.Textbox(label="text", lines=4, autofocus=True)
                pair = gradio.Textbox(label="second text, if the model reads pairs")
                default = "gradient" if "gradient" in offered else offered[0]
                explainer = gradio.Dropdown(offered, value=default, label="explainer")
                button = gradio.Button("explain", variant="primary")
            with gradio.Column():
                probabilities = gradio.Label(label="probabilities", num_top_classes=5, visible=not several)
                decision = (
                    gradio.HTML(label="labels")
                    if several
                    else gradio.Textbox(label="decision", visible=thresholds is not None, interactive=False)
                )
                shown = gradio.HTML(label="words")
        gradio.HTML(classes_table(classifier.labels, column, words))
        for event in (button.click, text.submit, explainer.change):
            event(show, [text, pair, explainer], [probabilities, decision, shown], api_visibility="private")
    return page
