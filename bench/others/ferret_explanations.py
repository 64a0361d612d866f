"""What ferret's benchmark of explanations costs for texts of a csv file, and its measures, beside salience's.

    python3 -m venv ferret
    ferret/bin/pip install 'transformers<5' 'datasets<3' 'pyarrow<20' 'numpy<2' 'shap<0.45' 'captum<0.8' lime \\
        'pandas<2.3' pytreebank 'scikit-image<0.22' seaborn sentencepiece joblib opencv-python-headless overrides \\
        jsonnet pytorch-ignite protobuf spacy
    ferret/bin/pip install --no-deps ferret-xai thermostat-datasets
    ferret/bin/python bench/others/ferret_explanations.py runs/banking examples/banking_test.csv --texts 20
    python bench/others/ferret_explanations.py runs/banking examples/banking_test.csv --texts 20   # salience

In an environment with ferret it runs all of ferret's explainers and measures of faithfulness on the class that the
model predicts, else the explainers of salience with the same names and its measures. The lines give the seconds of the
processor for all texts and the mean measures. The measures of the two are of the same name, not the same formula:
ferret removes tokens, and salience words.
"""

import argparse
import csv
import importlib.util
import time
from collections import defaultdict


def with_ferret(folder: str, texts: list[str]) -> None:
    """Prints the seconds and measures of ferret."""
    from ferret import Benchmark
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder)
    benchmark = Benchmark(model, AutoTokenizer.from_pretrained(folder))
    seconds, measures = defaultdict(float), defaultdict(list)
    for text in texts:
        target = int(max(benchmark.score(text, return_dict=False).argmax(-1).reshape(-1)))
        for explainer in benchmark.explainers:
            started = time.process_time()
            explanation = explainer(text, target)
            seconds[explanation.explainer] += time.process_time() - started
            started = time.process_time()
            evaluation = benchmark.evaluate_explanation(explanation, target, show_progress=False)
            seconds["measures"] += time.process_time() - started
            for score in evaluation.evaluation_scores:
                measures[explanation.explainer, score.name].append(score.score)
    for name, spent in seconds.items():
        told = ", ".join(f"{of[1]} {sum(v) / len(v):.3f}" for of, v in measures.items() if of[0] == name)
        print(f"{name}: {spent:.1f} s; {told}")


def with_salience(folder: str, texts: list[str]) -> None:
    """Prints the seconds and measures of salience."""
    import salience

    classifier = salience.load(folder)
    for name in ("gradient", "gradient-x-input", "integrated-gradients", "occlusion"):
        started = time.process_time()
        list(salience.explain(classifier, texts, explainers=[name]))
        explained = time.process_time() - started
        metrics = ["comprehensiveness", "sufficiency", "loo-tau"]
        started = time.process_time()
        evaluation = salience.evaluate(classifier, texts, explainers=[name], metrics=metrics)
        spent = time.process_time() - started - explained
        told = ", ".join(f"{metric} {evaluation[name].metrics[metric][0]:.3f}" for metric in metrics)
        print(f"{name}: {explained:.1f} s, measures {spent:.1f} s; {told}")


def main() -> None:
    """Reads the texts and prints the lines of the tool that is installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--texts", type=int, default=20)
    options = parser.parse_args()
    with open(options.data, encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)][: options.texts]
    (with_ferret if importlib.util.find_spec("ferret") else with_salience)(options.model, texts)


if __name__ == "__main__":
    main()
