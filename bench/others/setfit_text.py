"""The accuracy of SetFit (Tunstall et al., 2022, arXiv:2209.11055) on a csv file of labelled texts, and its time.

    python3 -m venv setfit && setfit/bin/pip install 'setfit>=1.2' pandas
    setfit/bin/python bench/others/setfit_text.py examples/banking_train.csv examples/banking_test.csv \\
        --encoder FOLDER --label category

It runs in an environment of its own, with all settings of the package's release: one epoch over pairs of texts,
batches of 16 pairs, a learning rate of 2e-5, and scikit-learn's logistic regression with C=1. With `--steps`, it has
as many passes of texts as another training: a step reads 32 texts. `--bf16` computes products in bfloat16 on a
processor, as salience does where it can.
"""

import argparse
import time
from tempfile import TemporaryDirectory

import pandas as pd
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from setfit import SetFitModel, Trainer, TrainingArguments
from sklearn.linear_model import LogisticRegression


def main() -> None:
    """Trains and prints a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--encoder", required=True, help="folder of a checkpoint, or a name on the hub")
    parser.add_argument("--label", default="label")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="default: one epoch over pairs")
    parser.add_argument("--bf16", action="store_true")
    options = parser.parse_args()
    train, test = (pd.read_csv(file, dtype=str) for file in (options.train, options.test))
    started, used = time.time(), time.process_time()
    # Without the cache, which would keep the first weights for as long as the context lasts.
    bf16 = torch.autocast("cpu", torch.bfloat16, enabled=options.bf16, cache_enabled=False)
    with TemporaryDirectory() as folder, bf16:
        # `SetFitModel.from_pretrained` would load a pickled head from the folder, if there is one.
        body = SentenceTransformer(options.encoder, trust_remote_code=False, model_kwargs={"use_safetensors": True})
        model = SetFitModel(model_body=body, model_head=LogisticRegression())
        own = {} if options.steps is None else {"max_steps": options.steps}
        arguments = TrainingArguments(
            output_dir=folder, seed=options.seed, report_to="none", save_strategy="no", logging_strategy="no", **own
        )
        rows = Dataset.from_dict({"text": train["text"].tolist(), "label": train[options.label].tolist()})
        Trainer(model=model, args=arguments, train_dataset=rows).train()
        predicted = model.predict(test["text"].tolist(), as_numpy=True)
    right = (predicted == test[options.label].to_numpy()).mean()
    print(
        f"SetFit: accuracy {100 * right:.1f} % of {len(test)} rows, "
        f"{time.time() - started:.0f} s, {time.process_time() - used:.0f} s of the processor"
    )


if __name__ == "__main__":
    main()
