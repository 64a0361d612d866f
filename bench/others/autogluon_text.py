"""The accuracy of AutoGluon on a csv file of labelled texts, and its time.

    python3 -m venv autogluon && autogluon/bin/pip install 'autogluon.tabular[lightgbm,catboost]'
    autogluon/bin/python bench/others/autogluon_text.py examples/banking_train.csv examples/banking_test.csv

    autogluon/bin/pip install autogluon.multimodal
    autogluon/bin/python bench/others/autogluon_text.py examples/banking_train.csv examples/banking_test.csv \\
        --encoder FOLDER

It runs in an environment of its own. The tabular predictor reads texts as counts of n-grams and trains an ensemble of
models on them; with `--encoder`, the multimodal predictor fine-tunes the encoder in a folder. Both have their default
settings. The torchvision that pip chose did not load beside a torch for processors alone; texts do not need it, so the
import of its operators was taken out of its `__init__.py`.
"""

import argparse
import time
from tempfile import TemporaryDirectory

import pandas as pd


def tabular(train: pd.DataFrame, test: pd.DataFrame, label: str, presets: str, folder: str) -> pd.Series:
    """The labels that the tabular predictor gives the test rows."""
    from autogluon.tabular import TabularPredictor

    predictor = TabularPredictor(label, path=folder, eval_metric="accuracy", verbosity=1)
    return predictor.fit(train, presets=presets, num_cpus=1).predict(test)


def multimodal(train: pd.DataFrame, test: pd.DataFrame, label: str, encoder: str, folder: str) -> pd.Series:
    """The labels that the multimodal predictor gives the test rows, with the encoder of a folder."""
    from autogluon.multimodal import MultiModalPredictor

    predictor = MultiModalPredictor(label, path=folder, eval_metric="accuracy", verbosity=1)
    # Two workers for the texts are more than a small machine has.
    settings = {"model.names": ["hf_text"], "model.hf_text.checkpoint_name": encoder, "env.num_workers": 0}
    return predictor.fit(train, hyperparameters=settings).predict(test)


def main() -> None:
    """Trains and prints a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--label", default="label")
    parser.add_argument("--presets", default="medium_quality", help="of the tabular predictor")
    parser.add_argument("--encoder", help="folder of a checkpoint; default: the tabular predictor")
    options = parser.parse_args()
    train, test = pd.read_csv(options.train), pd.read_csv(options.test)
    started, used = time.time(), time.process_time()
    with TemporaryDirectory() as folder:
        if options.encoder:
            name, predicted = "multimodal", multimodal(train, test, options.label, options.encoder, folder)
        else:
            name, predicted = options.presets, tabular(train, test, options.label, options.presets, folder)
    right = (predicted == test[options.label]).mean()
    print(
        f"AutoGluon {name}: accuracy {100 * right:.1f} % of {len(test)} rows, "
        f"{time.time() - started:.0f} s, {time.process_time() - used:.0f} s of the processor"
    )


if __name__ == "__main__":
    main()
