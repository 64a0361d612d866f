"""`salience demo`: a page on this machine that shows label, probabilities and words of a text that is typed in.

Any site can make a browser send requests to 127.0.0.1. A site whose name is made to resolve to that address (DNS
rebinding) could even read the answers. The browser then sends the site's name as `Host`: `LocalOnly` refuses it.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from typer import Option

from salience.cli.explain import applicable_explainers
from salience.cli.options import Device, MaxLength, Model
from salience.errors import InputError, pip_install

if TYPE_CHECKING:
    from salience.classify import TextClassifier
    from salience.classify.abstaining import Thresholds
    from salience.explainers.class_words import KeptWords

FONTS = ["system-ui", "sans-serif"]  # installed ones, so that none is downloaded
WRAPPED = ".output-class, td { overflow-wrap: anywhere }"  # long labels in a small window
HOSTS = ("127.0.0.1", "localhost")
# gradio's page has inline scripts and styles, and evaluates templates. Nothing is loaded from or sent to other hosts.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'none'; "
    "frame-ancestors 'none'"
)
REFUSAL = "This page is for this machine only: open it as http://127.0.0.1 or http://localhost, with its port.\n"


def demo(
    model: Model,
    port: Annotated[int | None, Option(min=1, max=65535, help="Port.  [default: from 7860 on]")] = None,
    max_length: MaxLength = None,
    device: Device = "auto",
    browser: Annotated[bool, Option("--browser", help="Open the page in the browser.")] = False,
) -> None:
    """Serve a page on this machine that classifies and explains texts that are typed in."""
    if find_spec("gradio") is None:
        raise InputError(f"the page needs gradio: {pip_install('demo')}")
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

    from salience.classify import load
    from salience.classify.abstaining import read_thresholds
    from salience.explainers.class_words import read_kept_words

    classifier = load(model, max_length, device)
    thresholds = None if classifier.multi_label else read_thresholds(model, classifier.labels)
    page = build_page(classifier, model, thresholds, read_kept_words(model))
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
    """Starts a server that answers this machine only, and no pages of other sites; `settings` are those of gradio."""
    import gradio
    from starlette.middleware import Middleware

    for name in ("NO_PROXY", "no_proxy"):  # a proxy cannot reach a page that answers this machine only
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), *HOSTS]))
    return page.launch(
        server_name="127.0.0.1", share=False, css=WRAPPED,
        theme=gradio.themes.Default(primary_hue="blue", font=FONTS, font_mono=["monospace"]),
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

    from salience.data.texts import Texts
    from salience.explainers import EXPLAINERS
    from salience.explainers.explain import explain_texts
    from salience.report.demo_page import classes_table, decision_line, labels_table

    tried = Texts(["a text"], ["another"] if classifier.pairs else None)
    offered, several = list(applicable_explainers(classifier, tried)), classifier.multi_label

    def show(text: str, pair: str, explainer: str) -> tuple[dict[str, float], str, str]:
        if not text.strip():
            return {}, "", ""
        texts = Texts([text], [pair] if pair.strip() else None)
        # There is one for each predicted label, where a text can have several.
        try:
            explanations = list(explain_texts(classifier, texts, {explainer: EXPLAINERS[explainer]}))
        except InputError as error:  # single texts for a model of pairs, or the reverse
            raise gradio.Error(str(error)) from error
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
                if several:
                    decision = gradio.HTML(label="labels")
                else:
                    decision = gradio.Textbox(label="decision", visible=thresholds is not None, interactive=False)
                shown = gradio.HTML(label="words")
        gradio.HTML(classes_table(classifier.labels, classifier.thresholds if several else thresholds, words))
        for event in (button.click, text.submit, explainer.change):
            event(show, [text, pair, explainer], [probabilities, decision, shown], api_visibility="private")
    return page


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class LocalOnly:
    """ASGI middleware: refuses `Host` and `Origin` headers of other machines, and sends a content security policy."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_policy(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                policy = (b"content-security-policy", POLICY.encode("ascii"))
                message = {**message, "headers": [*message.get("headers", ()), policy]}
            await send(message)

        if scope["type"] == "lifespan" or is_local(scope["headers"]):
            await self.app(scope, receive, send_with_policy)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            from starlette.responses import PlainTextResponse

            await PlainTextResponse(REFUSAL, 403)(scope, receive, send)


def is_local(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether a request has one `Host` header, for this machine, and only `Origin` headers of this machine."""

    def is_here(address: str) -> bool:
        try:
            return urlsplit(address).hostname in HOSTS
        except ValueError:  # not a valid address
            return False

    hosts = [f"//{value.decode('latin-1')}" for name, value in headers if name == b"host"]
    origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
    return len(hosts) == 1 and all(map(is_here, hosts + origins))
