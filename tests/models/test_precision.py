"""`--precision auto` follows the machine, and what is computed in bf16 agrees with fp32 within stated bounds."""

import pytest
import torch

import families
import word_models
from salience.errors import InputError
from salience.models import precision
from salience.models.precision import computing, default_precision, exactly, has_fast_bf16, resolve_precision

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.fixture(autouse=True)
def unknown_machine():
    """Every test asks anew."""
    has_fast_bf16.cache_clear()
    yield
    has_fast_bf16.cache_clear()


@pytest.mark.parametrize(
    ("native", "faster", "chosen"),
    [(True, True, "bf16"), (True, False, "fp32"), (False, True, "fp32"), (False, False, "fp32")],
)
def test_a_processor_must_have_bf16_and_be_faster_with_it(native, faster, chosen, monkeypatch):
    monkeypatch.setattr(precision, "has_bf16_instructions", lambda: native)
    monkeypatch.setattr(precision, "is_bf16_faster", lambda: faster)
    assert resolve_precision("auto", CPU) == chosen
    assert resolve_precision("fp32", CPU) == "fp32" and resolve_precision("bf16", CPU) == "bf16"


@pytest.mark.parametrize(("capability", "chosen"), [((7, 5), "fp32"), ((8, 0), "bf16"), ((9, 0), "bf16")])
def test_a_gpu_must_have_tensor_cores_for_bf16(capability, chosen, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    assert resolve_precision("auto", CUDA) == chosen


def test_the_machine_is_asked_once(monkeypatch):
    asked = []
    monkeypatch.setattr(precision, "has_bf16_instructions", lambda: True)
    monkeypatch.setattr(precision, "is_bf16_faster", lambda: asked.append("measured") or True)
    assert [resolve_precision("auto", CPU) for _ in range(3)] == ["bf16"] * 3
    assert asked == ["measured"]


@pytest.mark.parametrize(("seconds", "faster"), [(7, True), (9, False), (20, False)])
def test_bf16_must_take_less_than_four_fifths_of_the_time(seconds, faster, monkeypatch):
    """The first tries are disturbed by something else; the fastest count. fp32 takes 10."""
    times = {torch.float32: [30, 10, 12, 10, 11], torch.bfloat16: [40, seconds, seconds + 1, 25, seconds]}
    monkeypatch.setattr(precision.timeit, "repeat", lambda product, number, repeat: times[product().dtype])
    assert precision.is_bf16_faster() == faster


def test_models_over_words_stay_in_fp32(monkeypatch):
    monkeypatch.setattr(precision, "has_fast_bf16", lambda device: True)
    model = word_models.word_classifier("embeddings", classes=2)
    assert resolve_precision("auto", CPU, model) == "fp32"
    assert resolve_precision("bf16", CPU, model) == "bf16"  # whoever asks for it, gets it
    assert resolve_precision("auto", CPU, families.build("bert")) == "bf16"


def test_auto_can_be_set_for_a_while(monkeypatch):
    monkeypatch.setattr(precision, "has_fast_bf16", lambda device: True)
    with default_precision("fp32"):
        assert resolve_precision("auto", CPU) == "fp32" and resolve_precision("bf16", CPU) == "bf16"
    with default_precision("bf16"):
        assert resolve_precision("auto", CPU, word_models.word_classifier("embeddings", classes=2)) == "fp32"
    assert resolve_precision("auto", CPU) == "bf16"
    with pytest.raises(InputError, match=r'unknown --precision "fp8"; known: auto, bf16'), default_precision("fp8"):
        pass


def test_exactly_is_fp32_within_bf16():
    layer, numbers = torch.nn.Linear(3, 3), torch.ones(1, 3)
    with torch.autocast("cpu", torch.bfloat16):
        with exactly():
            assert layer(numbers).dtype == torch.float32
        assert layer(numbers).dtype == torch.bfloat16


@pytest.mark.parametrize(("chosen", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_layers_compute_in_the_precision(chosen, dtype):
    model, seen = families.build("bert"), []
    layer = next(module for module in model.modules() if isinstance(module, torch.nn.Linear))
    layer.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    with computing(model, chosen):
        model(torch.ones(2, 3, dtype=torch.long))
    assert seen[:1] == [dtype]
