"""Where a model lies: a mistyped name is refused at once, and what lies in the hub's cache loads offline."""

import time

import huggingface_hub
import huggingface_hub.errors
import pytest

import families
from salience.errors import InputError
from salience.models import loading as sources
from salience.models.loading import load_trained, model_source

COMMIT = "0" * 40


@pytest.fixture(autouse=True)
def asked_anew():
    sources.hub_source.cache_clear()
    yield
    sources.hub_source.cache_clear()


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """An empty cache of the hub, and every question to the hub; the answer is set by the test."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)

    class Hub:
        def __init__(self):
            self.questions = []
            self.answer = None
            self.cache = tmp_path / "cache"

        def ask(self, address, **_):
            self.questions.append(address)
            if self.answer is not None:
                raise self.answer

    hub = Hub()
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", hub.ask)
    return hub


def unanswered():
    return ConnectionError("[Errno -2] Name or service not known")


class Unknown(huggingface_hub.errors.RepositoryNotFoundError):
    def __init__(self):
        Exception.__init__(self, "401 Client Error")


def cached_model(hub, name="owner/tiny"):
    """The hub's cache with a trained classifier in it, as a download leaves it."""
    place = hub.cache / f"models--{name.replace('/', '--')}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(COMMIT)
    families.save_tiny_model(place / "snapshots" / COMMIT, ["a good film"], classes=2)
    return name


def test_a_mistyped_name_is_asked_for_once(hub):
    hub.answer = unanswered()
    started = time.perf_counter()
    with pytest.raises(InputError, match=r'no folder "bert-bsae-uncased", .* check the name and the connection'):
        model_source("bert-bsae-uncased")
    assert len(hub.questions) == 1
    assert time.perf_counter() - started < 5


def test_a_name_that_the_hub_does_not_know(hub):
    hub.answer = Unknown()
    with pytest.raises(InputError, match='no model "owner/nmae" on the hub'):
        model_source("owner/nmae")


def test_a_name_that_is_known_is_loaded_by_name(hub):
    assert model_source("owner/name") == model_source("owner/name") == "owner/name"
    assert len(hub.questions) == 1


def test_a_name_that_no_model_can_have(hub):
    with pytest.raises(InputError, match="no model at my model: there is no such folder"):
        model_source("my model")
    assert hub.questions == []


def test_what_lies_in_the_cache_loads_while_the_hub_does_not_answer(hub):
    hub.answer = unanswered()
    model, tokenizer = load_trained(cached_model(hub))
    assert model.config.num_labels == 2 and tokenizer.is_fast
    assert len(hub.questions) == 1


def test_what_lies_in_the_cache_loads_offline_without_a_question(hub, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    hub.answer = unanswered()
    model, _ = load_trained(cached_model(hub))
    assert model.config.num_labels == 2
    with pytest.raises(InputError, match='"owner/other" is not in the hub\'s cache, and HF_HUB_OFFLINE is set'):
        model_source("owner/other")
    assert hub.questions == []


@pytest.mark.parametrize("name", ["rows.csv", "./rows.csv"])
def test_a_file_is_no_model_and_the_hub_is_not_asked(name, hub, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("text\na\n")
    with pytest.raises(InputError) as caught:
        model_source(name)
    assert str(caught.value).startswith(f"no model at {name}: this is a file, and a model is a folder")
    assert hub.questions == []
