"""From tokens to words by offsets, and the words that decided."""

import pytest
import torch

import families
from salience import EXPLAINERS, Batch
from salience.explain.decisions import explain_decisions
from salience.explain.words import merge_pieces, word_spans


def test_words_are_what_white_space_parts():
    assert word_spans("a  film,\tgood! ") == [(0, 1), (3, 8), (9, 14)]
    assert word_spans("  ") == []


def test_pieces_add_up_to_their_word():
    words = word_spans("unseen film, good")
    offsets = [(0, 0), (0, 2), (2, 6), (7, 11), (11, 12), (13, 17), (0, 0)]
    assert merge_pieces([9, 1, 2, 3, 4, 5, 9], offsets, words).tolist() == [3, 7, 5]


def test_the_scores_of_words_are_those_of_their_tokens():
    text = "a good day, unseen"
    tokenizer = families.tiny_tokenizer(["a good day"])
    model = families.build("bert", classes=2, vocabulary=len(tokenizer)).float().eval()
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    special = torch.tensor([tokenizer(text, return_special_tokens_mask=True)["special_tokens_mask"]])
    batch = Batch(ids, torch.ones_like(ids), 1 - special)
    scores = EXPLAINERS["gradient"](model, batch)[0, 1:-1].tolist()

    decision = explain_decisions(model, tokenizer, [text])[0]
    ((shown, words),) = decision.parts
    assert shown == text
    # the comma belongs to the third word, and all pieces of a word that the tokenizer does not know to the fourth
    assert words == pytest.approx([scores[0], scores[1], scores[2] + scores[3], sum(scores[4:])], rel=1e-5)
    assert min(words) > 0


@pytest.mark.parametrize("pairs", [None, ["a film", "good good day"]])
def test_a_text_alone_and_in_a_batch_has_the_same_scores(pairs):
    texts = ["a very good day", "no"]
    tokenizer = families.tiny_tokenizer([*texts, *(pairs or [])])
    model = families.build("bert", classes=2, vocabulary=len(tokenizer)).float()
    together = explain_decisions(model, tokenizer, texts, pairs)
    for index, text in enumerate(texts):
        alone = explain_decisions(model, tokenizer, [text], pairs and [pairs[index]])[0]
        assert alone.probability == pytest.approx(together[index].probability, abs=1e-5)
        for (_, one), (_, other) in zip(alone.parts, together[index].parts, strict=True):
            assert one == pytest.approx(other, abs=1e-5)
