"""Threads share a loaded classifier: in the middle of an explanation, another thread gets what it gets alone."""

from functools import partial
from threading import Event, Thread, get_ident

import numpy as np
import pytest
import torch

import families
import salience
from salience.classify import TextClassifier
from salience.data.encoding import encode_texts
from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.explainers.from_captum import FromCaptum
from salience.hooks.attention import attention

TEXTS = ["goal match", "song band song band goal", "soup"]
OF_ATTENTION = {"attention", "cls-attention"}


def classifier_of(attention: str = "sdpa") -> TextClassifier:
    tokenizer = families.tiny_tokenizer(TEXTS)
    model = families.build("bert", vocabulary=len(tokenizer)).eval()
    model.set_attn_implementation(attention)
    return TextClassifier(model, tokenizer, families.POSITIONS, "fp32")


def in_thread(work) -> None:
    """Runs work in another thread, and raises what it raises."""
    raised = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    for error in raised:
        raise error


def scores(classifier: TextClassifier, explainer) -> list[np.ndarray]:
    found = salience.explain(classifier, TEXTS, explainers={"own": explainer})
    return [np.concatenate([each.scores["own"], each.probabilities]) for each in found]


def same(found, expected, exact: bool = True) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=0 if exact else 1e-5)


@families.crossed(
    "name", [name for name in EXPLAINERS if name not in ("random", "pooling-attention")],
    "attention", ["sdpa", "eager"],
)  # fmt: skip
def test_in_the_middle_of_an_explanation_another_thread_predicts_and_explains(name, attention):
    # While eager attention is read, others compute fused attention in its place, which rounds in another way.
    check(EXPLAINERS[name], classifier_of(attention), exact=attention == "sdpa")


def test_in_the_middle_of_an_attribution_of_captum():
    pytest.importorskip("captum")
    check(FromCaptum("DeepLift"), classifier_of())


def check(explainer, classifier: TextClassifier, exact: bool = True) -> None:
    """Compares what another thread gets when a pass of an explanation begins and at its first layer with its own."""
    others = {name: EXPLAINERS[name] for name in ("gradient", "attention")} | {"three steps": IntegratedGradients(3)}
    expected = classifier.predict_proba(TEXTS), scores(classifier, explainer)
    theirs = {name: scores(classifier, each) for name, each in others.items()}
    main, passes = get_ident(), []

    def meanwhile(module, arguments) -> None:
        if get_ident() != main:
            return
        passes.append(1)
        in_thread(lambda: same(classifier.predict_proba(TEXTS), expected[0], exact))
        if len(passes) < 3:
            for name, each in others.items():
                in_thread(lambda each=each, name=name: same(scores(classifier, each), theirs[name], exact))

    places = (classifier.model, classifier.model.bert.encoder.layer[0])
    handles = [place.register_forward_pre_hook(meanwhile) for place in places]
    found = scores(classifier, explainer)
    for handle in handles:
        handle.remove()
    assert passes
    same(found, expected[1], exact)
    same(classifier.predict_proba(TEXTS), expected[0])


@pytest.mark.parametrize("usual", ["sdpa", "eager"])
def test_the_one_that_begins_to_read_attention_first_ends_first(usual):
    model = classifier_of(usual).model
    batch = families.batch([3, 5])
    expected, found = attention(model, batch, 2), {}
    main, begun, ended = get_ident(), Event(), Event()
    other = Thread(target=lambda: found.update(theirs=attention(model, batch, 2)))

    def meanwhile(module, arguments) -> None:
        if get_ident() == main:
            other.start()
            assert begun.wait(60)
        else:
            begun.set()
            assert ended.wait(60)

    handle = model.bert.encoder.layer[0].register_forward_pre_hook(meanwhile)
    found["ours"] = attention(model, batch, 2)
    ended.set()
    other.join()
    handle.remove()
    assert torch.equal(found["ours"], expected) and torch.equal(found["theirs"], expected)
    assert model.config._attn_implementation == usual


def test_threads_tokenise_in_turns(monkeypatch):
    """A tokenizer that cuts texts in one thread has been told so in all of them."""
    tokenizer = families.tiny_tokenizer(TEXTS)
    encode = partial(encode_texts, tokenizer, ["goal " * 30], max_length=5)
    expected, threads = encode(), []
    settle = tokenizer.set_truncation_and_padding

    def settled_and_meanwhile(**settings) -> None:
        settle(**settings)
        if not threads:  # the first call, which does not cut
            threads.append(Thread(target=encode))
            threads[0].start()
            threads[0].join(0.2)  # seconds: more than it takes, unless it waits for its turn

    monkeypatch.setattr(tokenizer, "set_truncation_and_padding", settled_and_meanwhile)
    found = encode()
    threads[0].join()
    assert found.cut.tolist() == expected.cut.tolist() == [True]
    assert found.ids.tolist() == expected.ids.tolist()
