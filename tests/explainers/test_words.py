"""From tokens to words by offsets, and the words that decided."""

import pytest
import torch

import families
from salience import EXPLAINERS, Batch
from salience.explainers.explanations import Text, explain_texts
from salience.explainers.words import word_spans
from salience.inference import TextClassifier


def test_words_are_what_white_space_parts():
    assert word_spans("a  film,\tgood! ") == [(0, 1), (3, 8), (9, 14)]
    assert word_spans("  ") == []


def test_the_scores_of_words_are_those_of_their_tokens():
    text = "a good day, unseen"
    tokenizer = families.tiny_tokenizer(["a good day"])
    model = families.build("bert", classes=2, vocabulary=len(tokenizer)).float().eval()
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    special = torch.tensor([tokenizer(text, return_special_tokens_mask=True)["special_tokens_mask"]])
    batch = Batch(ids, torch.ones_like(ids), 1 - special)
    scores = EXPLAINERS["gradient"](model, batch)[0, 1:-1].tolist()

    (found,) = explain_texts(TextClassifier(model, tokenizer, 512), [Text(text)], {"gradient": EXPLAINERS["gradient"]})
    assert found.words == text.split()
    words = found.scores["gradient"]
    # the comma belongs to the third word, and all pieces of a word that the tokenizer does not know to the fourth
    assert words == pytest.approx([scores[0], scores[1], scores[2] + scores[3], sum(scores[4:])], rel=1e-5)
    assert min(words) > 0


@pytest.mark.parametrize("pairs", [None, ["a film", "good good day"]])
def test_a_text_alone_and_in_a_batch_has_the_same_scores(pairs):
    texts = ["a very good day", "no"]
    tokenizer = families.tiny_tokenizer([*texts, *(pairs or [])])
    model = families.build("bert", classes=2, vocabulary=len(tokenizer)).float()
    wanted = [Text(*both) for both in zip(texts, pairs or [None, None], strict=True)]
    explainers = {name: EXPLAINERS[name] for name in ("attention", "gradient-x-input", "integrated-gradients")}
    together = list(explain_texts(TextClassifier(model, tokenizer, 512), wanted, explainers))
    for own, other in zip(wanted, together, strict=True):
        (alone,) = explain_texts(TextClassifier(model, tokenizer, 512), [own], explainers)
        assert alone.words == other.words == [*own.text.split(), *(own.pair or "").split()]
        assert alone.second == other.second == (pairs and len(own.text.split()))
        assert alone.probabilities == pytest.approx(other.probabilities, abs=1e-5)
        for name in explainers:
            assert alone.scores[name] == pytest.approx(other.scores[name], abs=1e-5)
