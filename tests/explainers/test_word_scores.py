"""From tokens to words by offsets, and the words that decided."""

import pytest
import torch

import families
from salience import EXPLAINERS, Batch
from salience.classify import TextClassifier
from salience.data.encoding import word_spans
from salience.data.texts import Texts
from salience.explainers.explain import explain_texts


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

    (found,) = explain_texts(
        TextClassifier(model, tokenizer, 512), Texts([text]), {"gradient": EXPLAINERS["gradient"]}
    )
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
    wanted = Texts(texts, pairs)
    explainers = {name: EXPLAINERS[name] for name in ("attention", "gradient-x-input", "integrated-gradients")}
    together = list(explain_texts(TextClassifier(model, tokenizer, 512), wanted, explainers))
    for row, other in enumerate(together):
        (alone,) = explain_texts(TextClassifier(model, tokenizer, 512), wanted.take([row]), explainers)
        assert alone.words == other.words == [*texts[row].split(), *(pairs[row] if pairs else "").split()]
        assert alone.second == other.second == (pairs and len(texts[row].split()))
        assert alone.probabilities == pytest.approx(other.probabilities, abs=1e-5)
        for name in explainers:
            assert alone.scores[name] == pytest.approx(other.scores[name], abs=1e-5)
