"""The model card: labels and names of files are shown as they are, whatever Markdown would make of them."""

import pytest
import yaml
from markdown_it import MarkdownIt

from salience.errors import printable
from salience.runs.card import model_card
from salience.training.recipe import Recipe

HOSTILE = {
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "a comment": "<!-- -->",
    "entities": "&lt;b&gt; &amp; &#x3c;",
    "a link": "[click](https://evil.example)",
    "a picture": "![x](https://evil.example/x.png)",
    "an address": "https://evil.example www.evil.example <https://evil.example>",
    "emphasis": "*a* __b__ ~~c~~ **d**",
    "code": "`a` ``b`` ```",
    "a cell": "a | b | c",
    "backslashes": "\\ \\| \\` \\n",
    "a formula": "$x_1^2$ \\(y\\)",
    "a template": "{{ 7 * 7 }} {% if x %} {title}",
    "metadata": "a\n---\ntags: [evil]\n---\n# b",
    "a heading": "x\n\n# heading\r\n- item\x0b\x85\u2028",
    "controls": "\x00\x1b[31m\x9b\u202e\u2066\u200b\ufeff",
    "half a character": "caf\udce9",
    "long": "a" * 10_000,
}


def card_of(names=("sport", "music"), data="train.csv", model="tiny", library="transformers", steps=3) -> str:
    recipe = Recipe(data=data, model=model, method="plain", steps=3, batch_size=4, learning_rate=1e-3)
    scores = {"accuracy": 0.5, "macro_f1": 0.5, "calibration_error": 0.5}
    intervals = {"accuracy_interval": [0.4, 0.6], "macro_f1_interval": None}
    metrics = {"judged_on": "test", "rows": {"training": 8, "test": 4}, "steps": steps, "test": scores | intervals,
               "baselines": {"majority class": scores}}  # fmt: skip
    return model_card(recipe.as_mapping(), list(names), metrics, {"versions": {"salience": "0"}}, library)


def read(card: str):
    """The metadata, and the tokens of GitHub's Markdown with html allowed, as a careless reader has it."""
    _, metadata, text = card.split("---\n", 2)
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    inline = [child for token in tokens if token.children for child in token.children]
    return yaml.safe_load(metadata), tokens, inline


def kinds(tokens) -> list[str]:
    return [token.type for token in tokens]


def shown(inline) -> str:
    return "".join(token.content for token in inline if token.type in ("text", "text_special", "code_inline"))


PLAIN_METADATA, PLAIN, _ = read(card_of())


@pytest.mark.parametrize("case", HOSTILE)
def test_labels_are_no_markdown(case):
    metadata, tokens, inline = read(card_of([HOSTILE[case], "music"]))
    assert metadata == PLAIN_METADATA
    assert kinds(tokens) == kinds(PLAIN)
    assert set(kinds(inline)) <= {"text", "text_special", "code_inline", "softbreak"}
    assert f"2 labels: {printable(HOSTILE[case])}, music." in shown(inline)


@pytest.mark.parametrize("case", sorted(HOSTILE.keys() - {"an address"}))  # of which a card shows the path only
def test_names_of_files_and_models_are_no_markdown(case):
    metadata, tokens, inline = read(card_of(data=HOSTILE[case], model=f"{HOSTILE[case]}`"))
    assert metadata == PLAIN_METADATA
    assert kinds(tokens) == kinds(PLAIN)
    assert set(kinds(inline)) <= {"text", "text_special", "code_inline", "softbreak"}
    # In code a newline would be a space: none is left.
    codes = [token.content for token in inline if token.type == "code_inline"]
    assert printable(f"{HOSTILE[case]}`") in codes


def test_addresses_are_no_links_where_a_reader_makes_links_of_them():
    """As GitHub and the hub do with what begins with www. or https://."""
    card = card_of(["https://evil.example", "www.evil.example"])
    assert "https://evil" not in card and "www.evil" not in card


def test_usual_names_look_as_they_did():
    card = card_of(["positive", "très bien", "5 stars", "sci-fi (old)"], "data/train.csv", "microsoft/MiniLM")
    assert "for 4 labels: positive, très bien, 5 stars, sci-fi (old)." in card
    assert "8 rows of `data/train.csv` on `microsoft/MiniLM`: fine-tuning without mixing" in card


def test_a_model_without_any_step_is_a_regression():
    assert "the head alone (logistic regression on the frozen encoder), seed 0" in card_of(steps=0)
    assert "regression on" not in card_of() and "3 steps of at most" in card_of()


@pytest.mark.parametrize(
    ("library", "loaded"),
    [
        ("transformers", "pipeline("),
        ("sentence-transformers", "SentenceTransformer("),
        ("salience", "salience.papers."),
    ],
)
def test_the_card_says_how_the_model_is_loaded(library, loaded):
    assert loaded in card_of(library=library)
    assert f"library_name: {'sentence-transformers' if library == 'sentence-transformers' else 'transformers'}\n" in (
        card_of(library=library)
    )
