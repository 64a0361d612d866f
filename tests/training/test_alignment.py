"""|V^T W| against loops, for whom it is defined, and that a step of training pays it once."""

from dataclasses import replace

import pytest
import torch
from transformers import TrainingArguments

import families
from labelled import planned
from salience import EmbedMix, MixTrainer, SSMix
from salience.classify import TextClassifier
from salience.data.encoding import Encoded
from salience.mixing import neighbours
from salience.models.architectures import alignment_penalty, architecture
from salience.papers.attention_classifiers.options import WordRecipe
from salience.training.fit import fit
from salience.training.objective import penalised, plain
from salience.training.prepare import Prepared
from salience.training.procedures import Standard
from salience.training.recipe import Recipe
from word_models import bits, word_batch, word_classifier


def alignment(model, form: str = "absolute") -> torch.Tensor:
    return architecture(model).alignment(form)


def by_loops(model) -> float:
    """sum_c |sum_d V_d W_dc|, both through the map that lies between them and the words, if there is one."""
    query, polarity = model.pooling.query[0].tolist(), model.head.weight.tolist()
    between = None
    if model.config.pooling in ("additive", "variational"):
        between = model.pooling.key.weight.tolist()  # M_a: V^T M_a W
        query = [sum(query[row] * between[row][column] for row in range(len(query))) for column in range(len(query))]
    if model.config.encoder == "affine":
        between = model.encoder.layers[0].dense.weight.tolist()  # M: V^T M M^T W
        columns = range(len(between[0]))
        query = [sum(query[row] * between[row][column] for row in range(len(query))) for column in columns]
        polarity = [[sum(w * between[row][column] for row, w in enumerate(own)) for column in columns]
                    for own in polarity]  # fmt: skip
    return sum(abs(sum(v * w for v, w in zip(query, own, strict=True))) for own in polarity)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("encoder", "pooling"),
    [
        ("embeddings", "dot"),
        ("affine", "dot"),
        ("lstm", "dot"),
        ("bidirectional", "dot"),
        ("embeddings", "additive"),
        ("affine", "additive"),
        ("lstm", "additive"),
        ("embeddings", "variational"),
    ],
)
def test_the_alignment_is_its_formula(encoder, pooling, classes):
    model = word_classifier(encoder, pooling=pooling, classes=classes, embedding_size=4, hidden_size=6).double()
    assert model.head.weight.shape[0] == (1 if classes == 2 else classes)
    found = alignment(model)
    assert found.shape == ()
    assert found.item() == pytest.approx(by_loops(model), abs=1e-12)
    assert found > 1e-3


@pytest.mark.parametrize("classes", [2, 3])
def test_the_squares_form_is_a_sum_of_squares(classes):
    model = word_classifier("affine", classes=classes).double()
    found = alignment(model, "square")
    assert found.item() == pytest.approx(sum(value**2 for value in model.coupling().tolist()), abs=1e-12)
    assert found.item() != pytest.approx(alignment(model).item(), rel=0.01)
    assert alignment_penalty(0.3, "square")(model).item() == pytest.approx(0.3 * found.item(), abs=1e-12)
    assert alignment_penalty(0.0) is None


@pytest.mark.parametrize(("price", "form"), [(1.0, "cube"), (0.0, "cube"), (0.0, "square")])
def test_a_form_is_a_known_one_and_has_a_price(price, form):
    with pytest.raises(ValueError, match=r"alignment.form"):
        WordRecipe(alignment=price, alignment_form=form)
    with pytest.raises(ValueError, match=r"alignment.form"):
        Standard(alignment=price, alignment_form=form)


def test_over_a_transformer_it_is_that_of_dot_and_additive():
    for pooling in ("dot", "additive"):
        model = families.attention_classifier(pooling=pooling).double()
        assert alignment(model).item() == pytest.approx(by_loops(model), abs=1e-12)


def test_the_gradient_is_the_sign_times_the_other_vector():
    model = word_classifier(classes=2)
    attention, polarity = model.pooling.query, model.head.weight
    by_attention, by_polarity = torch.autograd.grad(alignment(model), [attention, polarity])
    sign = torch.sign(attention[0] @ polarity[0])
    assert torch.allclose(by_attention, sign * polarity)
    assert torch.allclose(by_polarity, sign * attention)


def test_vectors_at_right_angles_cost_nothing():
    model = word_classifier(classes=2)
    with torch.no_grad():
        model.pooling.query.copy_(torch.tensor([[1.0, 0, 2, 0]]))
        model.head.weight.copy_(torch.tensor([[0.0, 3, 0, 4]]))
    assert alignment(model) == 0


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(lambda: word_classifier("embeddings", pooling="mean"), id="mean"),
        pytest.param(lambda: word_classifier("lstm", pooling="max"), id="max"),
        pytest.param(lambda: word_classifier("lstm", pooling="first"), id="first"),
        pytest.param(lambda: word_classifier("affine", pooling_heads=2), id="heads"),
        pytest.param(lambda: word_classifier("lstm", head="perceptron"), id="perceptron"),
        pytest.param(lambda: families.FAMILIES["bert"](), id="bert"),
        pytest.param(lambda: torch.nn.Linear(2, 2), id="linear"),
    ],
)
def test_other_models_have_none(model):
    with pytest.raises(ValueError, match=r"V\^T W is defined for attention classifiers with dot or additive"):
        alignment(model())


# --------------------------------------------------------------------------------------------------------- in training


def rows(count: int = 16) -> Encoded:
    own = word_batch([1 + number % 5 for number in range(count)], seed=4)
    kept = own.attention_mask.bool()
    return Encoded(own.input_ids[kept].numpy(), own.segment[kept].numpy(), kept.sum(1).numpy(), own.labels.tolist())


def step(folder, penalty=None, method=None, pieces: int = 1) -> dict[str, torch.Tensor]:
    """What one step of gradient descent adds to the weights, with a learning rate of 1: minus the gradient."""
    model = word_classifier("affine").double()
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    trainer = MixTrainer(
        model=model,
        method=method,
        penalty=penalty,
        train_dataset=rows(),
        args=TrainingArguments(
            str(folder), max_steps=1, per_device_train_batch_size=8 // pieces, gradient_accumulation_steps=pieces,
            learning_rate=1.0, lr_scheduler_type="constant", max_grad_norm=0.0, optim="sgd", use_cpu=True,
            report_to="none", disable_tqdm=True, save_strategy="no", logging_strategy="no",
        ),
    )  # fmt: skip
    trainer.train()
    return {name: weight.detach() - before[name] for name, weight in model.named_parameters()}


METHODS = {
    "plain": None,
    "ssmix": SSMix(window=0.3, pair=neighbours),
    "embedmix": EmbedMix(ratio=0.7, pair=neighbours),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pieces", [1, 2, 4])
def test_a_step_pays_the_penalty_once(method, pieces, tmp_path):
    """However its batch is cut into pieces, and however many losses the objective has."""
    without = step(tmp_path, method=METHODS[method], pieces=pieces)
    with_penalty = step(tmp_path, lambda model: 0.3 * alignment(model), METHODS[method], pieces)
    model = word_classifier("affine").double()
    (0.3 * alignment(model)).backward()
    for name, weight in model.named_parameters():
        paid = 0 if weight.grad is None else weight.grad
        assert torch.allclose(with_penalty[name], without[name] - paid, rtol=0, atol=1e-7), name
    assert model.pooling.query.grad.abs().max() > 0.01
    assert without["head.weight"].abs().max() > 1e-3


def test_the_penalty_is_the_last_loss_of_an_objective():
    model, own = word_classifier(), word_batch([3, 2])
    losses = list(penalised(plain, alignment)(model, own))
    assert [loss.item() for loss in losses] == [next(plain(model, own)).item(), alignment(model).item()]


def trained(folder, **settings):
    recipe = Recipe(data="texts", steps=5, batch_size=8, learning_rate=0.02, evaluations=1, device="cpu")
    classifier = TextClassifier(word_classifier("embeddings", classes=3), None, 100)
    plan = planned(replace(recipe, procedure_options=settings))
    prepared = Prepared(plan, classifier, None, rows(), None, None, None)
    return fit(prepared, folder).classifier.model


def test_a_recipes_alignment_reaches_the_training(tmp_path):
    before = alignment(word_classifier("embeddings", classes=3)).item()
    plain, priced = trained(tmp_path / "0"), trained(tmp_path / "1", alignment=100.0)
    assert bits(plain) == bits(trained(tmp_path / "2", alignment=0.0))
    assert alignment(priced).item() < before - 0.3
    assert alignment(priced).item() < alignment(plain).item()


def test_a_recipes_form_of_alignment_reaches_the_training(tmp_path):
    absolute, square = (
        trained(tmp_path / form, alignment=1.0, alignment_form=form) for form in ("absolute", "square")
    )
    assert bits(absolute) != bits(square)


def test_a_recipes_alignment_is_a_price():
    for wrong in (-0.1, "much"):
        with pytest.raises(ValueError, match="give a number from 0"):
            Standard(alignment=wrong)
