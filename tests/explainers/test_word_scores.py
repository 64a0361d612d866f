"""From tokens to words by offsets, and the words that decided."""

import pytest
import torch

import families
from salience import EXPLAINERS, Batch
from salience.classify import TextClassifier
from salience.data.encoding import put_together
from salience.data.texts import Texts
from salience.data.words import word_spans
from salience.explainers.explain import explain, explain_texts
from salience.faithfulness.evaluation import evaluate


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


# In Chinese, Japanese, Thai, Korean, Arabic and Hindi, and with emoji of several characters.
SCRIPTS = [
    "我喜欢这部电影，非常好。",
    "私はスーパーへ行った。とても良い",
    "ฉันรักหนังเรื่องนี้มาก",
    "나는 이 영화를 좋아한다.",
    "أحب هذا الفيلم، حقا!",
    "मुझे यह फ़िल्म पसंद है।",
    "看👨\u200d👩\u200d👧了👍🏽 great",
]


def multilingual(kind: str, long: str = "head") -> TextClassifier:
    tokenizer = families.trained_tokenizer(kind, SCRIPTS * 3, 500)
    model = families.build("bert", classes=2, vocabulary=len(tokenizer)).eval()
    model.config.long_texts = long
    return TextClassifier(model, tokenizer, 16 if long == "windows" else 64, "fp32")


@pytest.mark.parametrize("kind", ["bytes", "Unigram"])
@pytest.mark.parametrize("long", ["head", "windows"])
def test_texts_of_every_script_have_a_score_a_word(kind, long):
    """Words are the text when they are put together; without a space, of which there are at least as many as signs."""
    classifier = multilingual(kind, long)
    texts = SCRIPTS if long == "head" else [text * 4 for text in SCRIPTS]
    for text, found in zip(texts, explain(classifier, texts, ["gradient", "occlusion"]), strict=True):
        words = [text[start:end] for start, end in word_spans(text, classifier.tokenizer)]
        assert found.words == words and len(words) > 2 and not found.cut
        assert "".join(space + word for space, word in zip(found.spaces, words, strict=True)) == text
        assert found.spaces.count(" ") == text.count(" ")
        for scores in found.scores.values():
            assert scores.shape == (len(words),) and (scores != 0).all()


def test_a_text_without_spaces_loses_a_word_and_gains_no_space():
    """In a reader of windows, each question to the judge is the text without some of its words."""
    classifier, asked = multilingual("Unigram", "windows"), []
    predict = classifier.predict_proba

    class Listening(TextClassifier):
        def predict_proba(self, texts):
            asked.extend(Texts.of(texts).texts)
            return predict(texts)

    listening = Listening(**vars(classifier))
    text = SCRIPTS[0]
    evaluate(listening, [text], metrics=["loo-tau"], explainers=["gradient"])
    words = [text[start:end] for start, end in classifier.word_spans(text)]
    without = {put_together(words, range(len(words)), [other != place for other in range(len(words))])
               for place in range(len(words))}  # fmt: skip
    assert without <= set(asked) and not any(" " in each for each in asked)


@pytest.mark.parametrize("long", ["head", "windows"])
def test_words_of_a_segmenter_are_explained_and_judged(long):
    """A word has the sum of its tokens' scores; a judge with another tokenizer is asked about the same words."""
    classifier, judge = multilingual("bytes", long), multilingual("Unigram", long)
    text, words = "我喜欢这部电影，非常好。", ["我", "喜欢", "这部", "电影", "，", "非常", "好", "。"]
    (found,) = explain(classifier, [text], ["gradient-x-input"], target=1, segmenter=lambda _: words)
    (alone,) = explain(classifier, [text], ["gradient-x-input"], target=1)
    assert found.words == words
    if long == "head":
        assert found.scores["gradient-x-input"].sum() == pytest.approx(
            alone.scores["gradient-x-input"].sum(), abs=1e-5
        )
    rows = evaluate(classifier, [text], metrics=["comprehensiveness"], judge=judge, segmenter=lambda _: words)
    assert abs(rows["gradient"].metrics["comprehensiveness"].mean) > 0
