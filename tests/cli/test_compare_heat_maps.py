"""Heat maps in the report of `salience compare`: which models are kept, and explanations as of `salience explain`."""

import json
import re
import shutil

import numpy as np
import pytest

from labelled import labelled_rows, write_csv
from salience.classify import load
from salience.comparison import heat_maps
from salience.comparison.results import DisputedText
from salience.data.texts import Texts
from salience.explainers import EXPLAINERS
from salience.explainers.explain import explain_texts
from salience.training.recipe import Recipe

TOLD = "explaining the texts on which methods disagree"


@pytest.fixture(scope="module")
def finished(place, tmp_path_factory):
    """A comparison of two sizes, with a reference, as the command line makes it."""
    from salience.cli.main import main

    output = tmp_path_factory.mktemp("maps") / "out"
    assert main([str(each) for each in options(place, output)]) == 0
    return output


def options(place, output, methods="plain,embedmix"):
    return ["compare", place.data, "--test", place.test, "--model", place.model, "--methods", methods,
            "--seeds", "3,1", "--sizes", "20,40", "--steps", "6", "--device", "cpu", "--references", "tf-idf",
            "--output", output]  # fmt: skip


@pytest.fixture
def again(place, finished, salience, tmp_path, monkeypatch):
    """Runs the comparison again in a copy of its folder; gives the answer and the folders whose models are loaded."""
    output = tmp_path / "out"
    shutil.copytree(finished, output)

    def run(*more, methods="plain,embedmix"):
        loaded = []

        def counted(folder, **settings):
            loaded.append(str(folder.relative_to(output)))
            return load(folder, **settings)

        monkeypatch.setattr(heat_maps, "load", counted)
        answer = salience(*options(place, output, methods), *more)
        assert answer.code == 0, answer.err
        return answer, loaded

    return run


def stored(output) -> list[dict]:
    return [json.loads(line) for line in (output / "explanations.jsonl").read_text(encoding="utf-8").splitlines()]


def same(rows: list[dict], others: list[dict]) -> bool:
    """Whether lines are equal, in any order, up to the last digits, which depend on the batch that a text is in."""
    one, other = ({(row["method"], row["row"]): row for row in each} for each in (rows, others))
    return len(rows) == len(others) and one.keys() == other.keys() and all(
        row | {name: pytest.approx(row[name]["gradient"] if name == "scores" else row[name], rel=1e-3, abs=1e-6)
               for name in ("scores", "probabilities")}
        == other[key] | {"scores": other[key]["scores"]["gradient"]}
        for key, row in one.items()
    )  # fmt: skip


def maps_of(output) -> list[str]:
    """Each heat map of the page."""
    return (output / "report.html").read_text(encoding="utf-8").split('<div class="map">')[1:]


def test_models_of_the_first_seed_at_the_largest_size_are_kept(finished, place, salience, tmp_path):
    folders = {str(path.parent.relative_to(finished)) for path in finished.rglob("model.safetensors")}
    assert folders == {"40/plain-3", "40/embedmix-3"}
    assert len(list(finished.rglob("metrics.json"))) == 12
    folder = finished / "40" / "embedmix-3"
    assert "pipeline" in (folder / "README.md").read_text(encoding="utf-8")
    answer = salience("predict", folder, place.test, "--output", tmp_path / "predicted.jsonl")
    assert answer.code == 0, answer.err
    predicted = [json.loads(line) for line in (tmp_path / "predicted.jsonl").read_text().splitlines()]
    expected = [json.loads(line)["predicted"] for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert [row["predicted"] for row in predicted] == expected


def test_heat_maps_are_those_of_salience_explain(finished, place, salience, tmp_path):
    """Texts, classes, probabilities and scores, in the file and on the page, for each disputed text and method."""
    rows, page = stored(finished), (finished / "report.html").read_text(encoding="utf-8")
    shown = [int(row) for row in re.findall(r"<dt>row</dt><dd>(\d+)</dd>", page)]
    assert 0 < len(shown) <= 10
    assert [(row["method"], row["row"]) for row in rows] == [
        (method, row) for method in ("plain", "embedmix") for row in shown
    ]
    on_page = iter(maps_of(finished))
    explained = {}
    for method in ("plain", "embedmix"):
        file = tmp_path / f"{method}.jsonl"
        answer = salience("explain", finished / "40" / f"{method}-3", place.test, "--output", file)
        assert answer.code == 0, answer.err
        explained[method] = {row["row"]: row for row in map(json.loads, file.read_text().splitlines())}
    for row in rows:
        expected = explained[row["method"]][row["row"]]
        assert (row["seed"], row["size"]) == (3, 40)
        assert row["scores"]["gradient"] == pytest.approx(expected["scores"]["gradient"], rel=1e-4, abs=1e-6)
        assert row["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-5)
        for name in ("words", "predicted", "explained", "label", "second", "cut"):
            assert row[name] == expected[name]
        assert row["explained"] == row["predicted"]
    by_text = {(row["method"], row["row"]): row for row in rows}
    for number in shown:
        for method in ("plain", "embedmix"):
            row, line = by_text[method, number], next(on_page)
            assert line.startswith(
                f"<span><strong>{method}</strong> {row['predicted']} {row['probabilities'][row['predicted']]:.2f}<"
            )
            assert re.findall(r'title="([^"]*)">([^<]*)<', line) == [
                (f"{score:.3g}", word) for score, word in zip(row["scores"]["gradient"], row["words"], strict=True)
            ]
    assert next(on_page, None) is None


def test_a_finished_comparison_loads_no_model(again, finished, tmp_path):
    answer, loaded = again()
    assert loaded == [] and TOLD not in answer.out
    assert (tmp_path / "out" / "report.html").read_text() == (finished / "report.html").read_text()
    for file in (tmp_path / "out").rglob("model.safetensors"):
        file.unlink()  # not needed any more
    answer, loaded = again()
    assert loaded == [] and "no heat maps" not in answer.out
    assert (tmp_path / "out" / "report.html").read_text() == (finished / "report.html").read_text()


def test_a_method_that_is_added_is_explained(again, tmp_path):
    """The texts on which methods disagree are others then; of those that were explained, no model is asked again."""
    before = {(row["method"], row["row"]): row for row in stored(tmp_path / "out")}
    answer, loaded = again(methods="plain,embedmix,wordmixup")
    assert "40/wordmixup-3" in loaded and len(loaded) == len({*loaded}) and answer.out.count(TOLD) == 1
    rows = {(row["method"], row["row"]): row for row in stored(tmp_path / "out")}
    assert rows | before == rows
    page = (tmp_path / "out" / "report.html").read_text()
    shown = [int(row) for row in re.findall(r"<dt>row</dt><dd>(\d+)</dd>", page)]
    assert {(method, row) for row in shown for method in ("plain", "embedmix", "wordmixup")} <= rows.keys()
    assert len(maps_of(tmp_path / "out")) == 3 * len(shown)
    assert again(methods="plain,embedmix,wordmixup")[1] == []


def test_a_run_that_was_made_again_is_explained_again(again, tmp_path):
    """By its predictions; a model that was trained again to the same predictions is the same."""
    file = tmp_path / "out" / "40" / "plain-3" / "probabilities.npz"
    with np.load(file) as arrays:
        values = dict(arrays)
    values["probabilities"] *= np.float32(1 - 1e-6)
    np.savez(file, **values)
    assert again()[1] == ["40/plain-3"]
    assert len({row["predictions"] for row in stored(tmp_path / "out")}) == 2


def test_models_that_are_missing_or_damaged_are_named(again, tmp_path):
    out = tmp_path / "out"
    (out / "explanations.jsonl").unlink()
    (out / "40" / "embedmix-3" / "model.safetensors").unlink()
    answer, loaded = again()
    line = "no heat maps of 1 run without a model (40/embedmix-3): remove the folder of a run to make it again"
    assert answer.out.count(line) == 1 and answer.err == "" and loaded == ["40/plain-3"]
    assert f"<p>N{line[1:]}" in (out / "report.html").read_text()
    assert maps_of(out) and all(each.startswith("<span><strong>plain</strong>") for each in maps_of(out))

    (out / "explanations.jsonl").unlink()
    (out / "40" / "plain-3" / "model.safetensors").write_bytes(b"no weights")
    answer, loaded = again()
    assert answer.out.count("no heat maps of 40/plain-3: cannot load the model") == 1
    assert maps_of(out) == [] and "Heat maps:" not in (out / "report.html").read_text()
    assert not (out / "explanations.jsonl").exists()


@pytest.mark.parametrize("damage", [b"{", b"[]", b"\xff\xfe", b'{"data": "train", "row": 1}', b"[" * 100_000])
def test_a_damaged_file_is_made_anew(damage, again, tmp_path):
    file = tmp_path / "out" / "explanations.jsonl"
    whole = file.read_bytes()
    file.write_bytes(damage + whole[whole.index(b"\n") :])
    answer, loaded = again()
    assert f"{file} is damaged in 1 line: these explanations are made anew" in answer.out.replace("\n", "")
    assert loaded == ["40/plain-3"]
    assert same(stored(tmp_path / "out"), list(map(json.loads, whole.splitlines())))


@pytest.mark.parametrize(
    "changed",
    [{"words": "a"}, {"scores": {"gradient": [1.0]}}, {"scores": []}, {"explained": "none"}, {"second": "x"},
     {"probabilities": None}, {"row": None}, {"method": []}, {"words": [1, 2]}, {"row": "4"}],
)  # fmt: skip
def test_lines_that_are_none_are_left_out(changed, again, tmp_path):
    file = tmp_path / "out" / "explanations.jsonl"
    rows = stored(tmp_path / "out")
    file.write_text("".join(json.dumps(row) + "\n" for row in [rows[0] | changed, *rows[1:]]))
    answer, loaded = again()
    assert "is damaged in 1 line" in answer.out and loaded == ["40/plain-3"]
    assert same(stored(tmp_path / "out"), rows)


def test_none_are_made_when_they_are_not_wanted(place, salience, tmp_path):
    """No model is kept, nothing is explained; and a later comparison with heat maps says what it lacks."""
    asked = ["compare", place.data, "--test", place.test, "--model", place.model, "--seeds", "0,1", "--steps", "20",
             "--device", "cpu", "--references", "none", "--output", tmp_path / "out"]  # fmt: skip
    answer = salience(*asked, "--no-heat-maps")
    assert answer.code == 0, answer.err
    assert not list(tmp_path.rglob("*.safetensors")) and not list(tmp_path.rglob("explanations.jsonl"))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "eat maps" not in page and 'id="disputed"' in page
    answer = salience(*asked)
    assert answer.code == 0, answer.err
    assert answer.out.count("no heat maps of 2 runs without a model (plain-0, ssmix-0)") == 1
    assert salience(*asked, "--no-heat-maps").out.count("heat maps") == 0


def test_a_file_of_the_user_is_not_replaced(place, salience, tmp_path):
    (tmp_path / "explanations.jsonl").write_text("mine")
    answer = salience(*options(place, tmp_path))
    assert answer.code == 2 and answer.err.count("\n") == 1
    assert "explanations.jsonl is there without comparison.json" in answer.err
    assert (tmp_path / "explanations.jsonl").read_text() == "mine"


def test_pairs_are_explained_as_pairs(place, salience, tmp_path):
    rows = [(text, text.split()[0], label) for text, label in labelled_rows(30)]
    data = write_csv(tmp_path / "pairs.csv", rows, ("text", "other", "label"))
    folder = tmp_path / "run"
    answer = salience("train", data, "--text-pair", "other", "--model", place.model, "--steps", "3", "--device", "cpu",
                      "--output", folder)  # fmt: skip
    assert answer.code == 0, answer.err
    disputed = [DisputedText(number + 1, *rows[number], {}) for number in (4, 2)]
    found = heat_maps.explained(disputed, folder, Recipe(str(data), device="cpu"))
    classifier = load(folder, device="cpu")
    texts = Texts([rows[number][0] for number in (4, 2)], [rows[number][1] for number in (4, 2)], rows=[5, 3])
    expected = explain_texts(classifier, texts, {"gradient": EXPLAINERS["gradient"]})
    for one, other in zip(found, expected, strict=True):
        assert (one.words, one.second, one.row, one.target) == (other.words, other.second, other.row, other.target)
        np.testing.assert_allclose(one.scores["gradient"], other.scores["gradient"], rtol=1e-5)
    assert [one.labels[one.gold] for one in found] == [rows[4][2], rows[2][2]]


def test_the_explainer_is_that_of_salience_explain():
    import inspect

    from salience.cli.explain import explain

    assert inspect.signature(explain).parameters["explainer"].default == heat_maps.EXPLAINER
