#!/usr/bin/env python
"""6. The same from Python: the estimator, a loaded model, the words that decided, and how faithful they are.

    DATA=DIR bench/jobs/06_python.py

The rows are those of `examples/`, so that DATA has no effect here.
"""

import shutil
from pathlib import Path

import pandas

import salience
from salience.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Shows each step with what it returns."""
    train = pandas.read_csv(ROOT / "examples/banking_train.csv")
    test = pandas.read_csv(ROOT / "examples/banking_test.csv")
    folder = ROOT / "runs/jobs/06_python"
    shutil.rmtree(folder, ignore_errors=True)

    classifier = salience.SalienceClassifier(effort="quick").fit(train.text, train.category)
    print("accuracy:", classifier.score(test.text, test.category))
    classifier.save(folder)

    loaded = salience.load(folder)
    print(loaded)
    print(loaded.predict(["Somebody has my card number"]), loaded.predict(test.text[:2]))
    column = test.text[:2]
    for each in (classifier, loaded):
        for texts in (column.to_list(), column, column.to_numpy(), column.to_frame(), [], test[:2], "text", [None]):
            tried(each.predict, texts)
    print(salience.explain(loaded, ["Somebody has my card number", "Where is my card?"]))
    print(salience.evaluate(loaded, test.text[:40], test.category[:40], explainers=["gradient"]))
    tried(salience.explain, str(folder), ["a text"])
    tried(salience.load, "runs/none")


def tried(function, *arguments) -> None:
    """Shows what a call returns, or the message with which it is refused."""
    try:
        print(type(arguments[0]).__name__, function(*arguments), sep=": ")
    except InputError as error:
        print(f"{type(arguments[0]).__name__}: refused: {str(error).replace(str(ROOT), '.')}")


if __name__ == "__main__":
    main()
