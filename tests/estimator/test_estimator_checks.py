"""scikit-learn's own checks of estimators.

They fit matrices of numbers, so a subclass writes each row of a matrix as a text, one word a column. Everything else
is passed on as it is: labels, what is no matrix of numbers, and every refusal.
"""

import numpy as np
import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator

import families
from salience import SalienceClassifier

# Checks that do not apply, and why. Each must fail: one that passes is to be taken out.
NOT_APPLICABLE = {
    "check_n_features_in": "texts have no features to count",
    "check_n_features_in_after_fitting": "texts have no features to count",
    "check_estimators_empty_data_messages": "it wants features to be counted; no texts at all are refused, see inputs",
    "check_fit2d_predict1d": "it wants the advice to reshape a matrix; what is no text is refused, see inputs",
    "check_complex_data": "it wants a message about complex numbers; all numbers are refused as no texts, see inputs",
    "check_estimators_nan_inf": "it wants a message about infinite numbers; for None and NaN, see inputs",
    "check_dtype_object": "it wants numbers stored as objects to be read as numbers",
    "check_array_api_input": "needs SCIPY_ARRAY_API in the environment; texts are in no array namespace",
}


class OfNumbers(SalienceClassifier):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False  # all checks, with matrices
        tags.classifier_tags.poor_score = True  # two steps are no training
        return tags

    def fit(self, X, y):
        super().fit(written_out(X), y)
        self.columns_ = np.asarray(X).shape[1:]
        return self

    def predict_proba(self, X):
        if hasattr(self, "columns_") and np.asarray(X).shape[1:] != self.columns_:
            raise ValueError("another number of columns")  # texts have none, so only these matrices are at fault
        return super().predict_proba(written_out(X))


def written_out(X):
    if hasattr(X, "tocsr"):
        return X
    matrix = np.asarray(X)
    if matrix.ndim != 2 or 0 in matrix.shape or matrix.dtype.kind not in "fiu" or not np.isfinite(matrix).all():
        return X
    return [" ".join(word(value, column) for column, value in enumerate(row)) for row in matrix]


def word(value: float, column: int) -> str:
    return f"{'minus' if value < 0 else 'plus'}{min(int(abs(value)), 9)}at{column}"


def name_of(check) -> str:
    while hasattr(check, "func"):
        check = check.func
    return check.__name__


CHECKS = [check for _, check in estimator_checks_generator(OfNumbers())]


@pytest.fixture(scope="session")
def model_of_numbers(tmp_path_factory):
    words = [word(sign * (size + 0.5), column) for sign in (-1, 1) for size in range(10) for column in range(10)]
    return str(families.save_tiny_model(tmp_path_factory.mktemp("numbers"), words))


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("check", CHECKS, ids=name_of)
def test_scikit_learns_checks(check, model_of_numbers):
    # No texts are held out: some checks give a class one row.
    estimator = OfNumbers(model=model_of_numbers, steps=2, validation_share=0, device="cpu")
    if name_of(check) not in NOT_APPLICABLE:
        check(estimator)
        return
    try:
        check(estimator)
    except Exception:  # a check that scikit-learn skips too
        return
    pytest.fail(f"{name_of(check)} passes now; take it out of NOT_APPLICABLE")


def test_most_checks_apply():
    assert sum(name_of(check) not in NOT_APPLICABLE for check in CHECKS) > 40


@pytest.mark.parametrize("name", NOT_APPLICABLE)
def test_what_does_not_apply_is_a_check(name):
    assert hasattr(estimator_checks, name)


def test_the_tags_say_texts():
    tags = SalienceClassifier().__sklearn_tags__()
    assert tags.input_tags.string
    assert tags.input_tags.one_d_array
    assert not tags.input_tags.two_d_array
    assert tags.target_tags.required
    assert not tags.non_deterministic
    assert tags.estimator_type == "classifier"
