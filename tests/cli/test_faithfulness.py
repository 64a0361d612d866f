"""`salience faithfulness`: the table of explainers in the terminal, as JSON and as a page."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest
from test_bad_input import refused

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience import EXPLAINERS
from salience import METRICS as CATALOGUE
from salience.classify import TextClassifier
from salience.cli.rows import read_texts
from salience.data.marks import Mark
from salience.data.texts import Texts
from salience.explainers.explain import explain_words
from salience.faithfulness.detection import detection
from salience.faithfulness.evaluation import evaluate
from salience.faithfulness.results import Evaluation
from salience.models.loading import load_trained, longest_text

LABELS = ["LABEL_0", "LABEL_1"]  # of the tiny model
ROWS = [(text, LABELS[label == "sport"]) for text, label in labelled_rows(24, seed=6)]
TEXTS = Texts([text for text, _ in ROWS], labels=[LABELS.index(label) for _, label in ROWS])
VOCABULARY = [*WORDS.values(), " ".join(FILLER)]
FITTING = ["attention", "cls-attention", "gradient", "gradient-x-input", "integrated-gradients", "occlusion", "random"]
SHORT = ["--most", "4", "--at", "2", "--device", "cpu"]
COLUMNS = ["--text", "text", "--label", "label"]  # named: nothing is guessed, and nothing said of it
METRICS = [
    "aopc",
    "decision-flip",
    "comprehensiveness",
    "sufficiency",
    "accuracy-drop@2",
    "post-hoc-accuracy@2",
    "loo-tau",
]
SETTINGS = {"most": 4, "at": 2, "curves": True}  # of `evaluate`, as in `SHORT` with an output


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path / "data.csv", ROWS)


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """Another model, which decides otherwise, over other pieces of words."""
    return families.save_tiny_model(tmp_path_factory.mktemp("judge") / "other", VOCABULARY[:2], "roberta", seed=3)


def reader(folder) -> TextClassifier:
    model, tokenizer = load_trained(folder)
    return TextClassifier(model.eval(), tokenizer, longest_text(model, tokenizer))


def strictly(file) -> dict:
    """What any reader of JSON gets, who knows no NaN."""

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)


@pytest.mark.whole  # `evaluate` is tested so
def test_a_words_score_may_be_its_highest_pieces(place, salience, tmp_path):
    rows = [(f"quartz's {text} xylophonists", label) for text, label in ROWS]
    data = write_csv(tmp_path / "data.csv", rows)
    options = [place.model, data, *COLUMNS, *SHORT, "--explainer", "gradient", "--pieces", "max"]
    answer = salience("faithfulness", *options, "--output", tmp_path / "found")
    assert answer.code == 0, answer.err
    texts = Texts([text for text, _ in rows], labels=TEXTS.labels)
    classifier, explainers = reader(place.model), {"gradient": EXPLAINERS["gradient"]}
    usual, expected = (
        evaluate(classifier, texts, explainers=explainers, **SETTINGS, pieces=pieces)["gradient"].metrics["loo-tau"]
        for pieces in ("sum", "max")
    )
    found, _ = strictly(tmp_path / "found" / "faithfulness.json")["rows"]
    assert found["metrics"]["loo-tau"] == pytest.approx(list(expected)) != pytest.approx(list(usual))
    assert "a word's score is the highest of its tokens' scores" in " ".join(answer.out.split())


class Cells(HTMLParser):
    """The rows of a page's table, and the page's elements."""

    def __init__(self, file):
        super().__init__()
        self.rows, self.elements, self.inside = [], [], False
        self.feed(file.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append([])
        self.inside = tag in ("td", "th", "br", "small", "span")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside and self.rows and data.strip():
            self.rows[-1][-1].append(data.strip())


def agrees(found: dict, expected: Evaluation) -> None:
    assert list(found["metrics"]) == METRICS
    assert found["metrics"]["sufficiency"] == {
        "unit": "probability", "higher_is_better": False,
        "reference": "DeYoung et al. (2020), arXiv:1911.03429, section 4.2",
    }  # fmt: skip
    assert [row["explainer"] for row in found["rows"]] == [row.explainer for row in expected.rows]
    for row, own in zip(found["rows"], expected.rows, strict=True):
        assert set(row) == {"explainer", "metrics", "without", "alone"}
        assert list(row["metrics"]) == list(own.metrics) == METRICS
        for metric, values in own.metrics.items():
            assert row["metrics"][metric] == pytest.approx(list(values), abs=1e-4), (own.explainer, metric)
        assert row["without"] == pytest.approx(own.without)
        assert row["alone"] == pytest.approx(own.alone)


# -------------------------------------------------------------------------------------------------------------- table


def test_files_hold_what_evaluate_says(place, data, salience, tmp_path):
    folder = tmp_path / "deep" / "run"
    names = "occlusion,gradient"
    answer = salience("faithfulness", place.model, data, "--explainer", names, "--seed", "3", "--output", folder,
                      *SHORT)  # fmt: skip
    assert answer.code == 0, answer.err
    assert sorted(file.name for file in folder.iterdir()) == ["faithfulness.json", "index.html"]
    own = reader(place.model)
    expected = evaluate(own, TEXTS, explainers=("occlusion", "gradient"), **SETTINGS, seed=3)
    found = strictly(folder / "faithfulness.json")
    agrees(found, expected)
    for part in (
        "24 texts of data.csv",
        "that tiny predicts",
        "scored by the model itself",
        "5 random orders",
        "5 where removing 4",
    ):
        assert part in found["about"]
    # On whole texts the model is as right as it is.
    right = np.mean(own.probabilities(own.encode(TEXTS)).argmax(1) == TEXTS.labels)
    assert 0 < right < 1
    assert f"the classifier on these texts: accuracy {right:.3f} [" in found["about"]
    assert all(row["without"][0] == row["alone"][0] == right for row in found["rows"])


def test_the_page_and_the_terminal_show_the_same_numbers(place, data, salience, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    folder = tmp_path / "run"
    answer = salience("faithfulness", place.model, data, "--explainer", "gradient", "--output", folder, *SHORT)
    assert answer.code == 0, answer.err
    found, page = strictly(folder / "faithfulness.json"), Cells(folder / "index.html")
    head, *rows = page.rows
    assert [cell[0] for cell in head] == ["explainer", *METRICS]
    assert [" ".join(cell) for cell in head[1:4:2]] == [
        "aopc percentage points, higher is better", "comprehensiveness probability, higher is better",
    ]  # fmt: skip
    assert len(rows) == 2
    for row, cells in zip(found["rows"], rows, strict=True):
        assert cells[0] == [row["explainer"]]
        for (name, (mean, low, high)), cell in zip(row["metrics"].items(), cells[1:], strict=True):
            places = 3 if found["metrics"][name]["unit"] == "probability" else 2
            assert cell == [f"{mean:.{places}f}", f"{low:.{places}f} to {high:.{places}f}"]
            assert any(f"{mean:.{digits}f}±" in answer.out for digits in (1, 2, 3))
    assert page.elements.count("svg") == 2
    # The page's title, and one for each of 5 points of both explainers, in both pictures.
    assert page.elements.count("title") == 1 + 5 * 2 * 2
    assert "script" not in page.elements
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert "http" not in text.replace("http-equiv", "") and "default-src 'none'" in text


OTHER_WIDTHS = [
    pytest.param(columns, marks=pytest.mark.whole) for columns in (60, 80, *range(100, 125, 2)) if columns != 104
]


@pytest.mark.parametrize("columns", [104, 250, *OTHER_WIDTHS])
def test_the_terminals_tables_fit(columns, place, data, salience, monkeypatch):
    """In a narrow terminal the metrics are spread over several tables."""
    monkeypatch.setenv("COLUMNS", str(columns))
    answer = salience("faithfulness", place.model, data, "--explainer", "gradient,integrated-gradients", *SHORT)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert "…" not in answer.out and max(map(len, lines)) <= columns
    heads = [line.split() for line in lines if line.split() and set(line.split()) <= set(METRICS)]
    assert [name for head in heads for name in head] == METRICS
    assert (len(heads) == 1) == (columns == 250)
    rows = [number for number, line in enumerate(lines) if line.split() and line.split()[0] == "integrated-"]
    assert all(lines[row + 1].split() == ["gradients"] for row in rows)
    assert [lines[row].count("±") for row in rows] == [len(head) for head in heads]
    for words in ("percentage points", "higher is better", "lower is better", "rank correlation"):
        assert words in answer.out


def test_metrics_may_be_chosen(place, data, salience, tmp_path):
    asked = [
        "faithfulness",
        place.model,
        data,
        *COLUMNS,
        *SHORT,
        "--explainer",
        "gradient",
        "--output",
        tmp_path / "run",
    ]
    answer = salience(*asked, "--metrics", "sufficiency, accuracy-drop@7,aopc")
    assert answer.code == 0, answer.err
    found = strictly(tmp_path / "run" / "faithfulness.json")
    names = ["sufficiency", "accuracy-drop@7", "aopc"]  # in the order given, and beyond --most
    assert list(found["metrics"]) == names
    assert [list(row["metrics"]) for row in found["rows"]] == [names, names]
    assert "gradient: sufficiency" in answer.err and "loo-tau" not in answer.out
    expected = evaluate(reader(place.model), TEXTS, metrics=names, most=4)
    for row, own in zip(found["rows"], expected.rows, strict=True):
        for name in names:
            assert row["metrics"][name] == pytest.approx(list(own.metrics[name]), abs=1e-5)


def test_the_metrics_are_listed_with_unit_direction_and_source(salience, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    told = " ".join(salience("faithfulness", "--list-metrics").out.split())
    for name, metric in CATALOGUE.items():
        assert f"{name} {metric.unit}, {metric.direction}. {metric.reference}" in told


def test_curves_have_a_point_for_every_number_of_words(place, data, salience, tmp_path):
    folder = tmp_path / "run"
    assert salience("faithfulness", place.model, data, "--explainer", "random", "--output", folder, *SHORT).code == 0
    text = (folder / "index.html").read_text(encoding="utf-8")
    (row,) = strictly(folder / "faithfulness.json")["rows"]
    for which, counted in (("without", "words removed"), ("alone", "words kept")):
        assert len(row[which]) == 5
        for count, accuracy in enumerate(row[which]):
            assert text.count(f"<title>random: {count} {counted}, accuracy {100 * accuracy:.1f} %</title>") == 1


def test_all_explainers_that_fit_unless_said_otherwise(place, data, salience, tmp_path):
    answer = salience("faithfulness", place.model, data, "--rows", "6", "--output", tmp_path / "run", *SHORT)
    assert answer.code == 0, answer.err
    found = strictly(tmp_path / "run" / "faithfulness.json")
    assert [row["explainer"] for row in found["rows"]] == FITTING
    assert found["about"].startswith("6 texts of data.csv")
    assert "only its first 6 texts" in answer.err
    for name in FITTING:
        assert f"{name}: aopc" in answer.err


@pytest.mark.whole
def test_an_attention_classifier_has_its_own_explainer(data, salience, tmp_path):
    folder = families.save_tiny_model(tmp_path / "attending", VOCABULARY, "attention", classes=2)
    answer = salience("faithfulness", folder, data, "--rows", "4", "--output", tmp_path / "run", *SHORT)
    assert answer.code == 0, answer.err
    found = strictly(tmp_path / "run" / "faithfulness.json")
    assert [row["explainer"] for row in found["rows"]] == list(EXPLAINERS)


@pytest.mark.whole
def test_another_model_may_judge(place, judge, data, salience, tmp_path):
    folder = tmp_path / "run"
    answer = salience("faithfulness", place.model, data, "--judge", judge, "--explainer", "gradient",
                      "--output", folder, *SHORT)  # fmt: skip
    assert answer.code == 0, answer.err
    expected = evaluate(reader(place.model), TEXTS, judge=reader(judge), **SETTINGS)
    found = strictly(folder / "faithfulness.json")
    agrees(found, expected)
    assert "shortened texts scored by other" in found["about"]
    itself = reader(place.model)
    assert found["rows"][0]["without"] != pytest.approx(evaluate(itself, TEXTS, **SETTINGS)["gradient"].without)


@pytest.mark.whole  # `evaluate` is tested so
def test_random_scores_follow_the_seed(place, data, salience, tmp_path):
    found = []
    for number, seed in enumerate((1, 1, 2)):
        folder = tmp_path / str(number)
        assert salience("faithfulness", place.model, data, "--explainer", "random", "--seed", seed, "--output", folder,
                        *SHORT).code == 0  # fmt: skip
        found.append((folder / "faithfulness.json").read_text(encoding="utf-8"))
    assert found[0] == found[1] != found[2]


def test_rows_without_a_label_that_is_known_are_left_out(place, salience, tmp_path):
    data = write_csv(tmp_path / "some.csv", [*ROWS[:3], ("a cup", "LABEL_9"), *ROWS[3:5]])
    answer = salience("faithfulness", place.model, data, "--explainer", "gradient", "--output", tmp_path / "run",
                      *SHORT)  # fmt: skip
    assert answer.code == 0, answer.err
    assert strictly(tmp_path / "run" / "faithfulness.json")["about"].startswith("5 texts of some.csv")
    assert "some.csv: 1 of 6 texts are left out: the model lacks their label" in answer.err
    assert 'some.csv: 1 row with a label that the model does not know, the first being row 4: "LABEL_9"' in answer.err


def test_labels_that_are_nearly_known(place, salience, tmp_path):
    data = write_csv(tmp_path / "lower.csv", [(text, label.lower()) for text, label in ROWS[:4]])
    refused(
        salience("faithfulness", place.model, data, *SHORT, *COLUMNS),
        'the first being row 1: "label_', 'Did you mean "LABEL_',
    )  # fmt: skip


def test_a_column_of_marks_is_no_label(place, salience, tmp_path):
    rows = [{"text": text, "class": label, "labels": ["x"] * len(text.split())} for text, label in ROWS[:4]]
    data = tmp_path / "marked.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    answer = salience("faithfulness", place.model, data, "--marks", "labels", "--explainer", "gradient", *SHORT)
    assert answer.code == 0, answer.err
    assert 'label column: "class" (guessed)' in answer.err


def test_texts_that_are_cut_are_counted(place, salience, data):
    answer = salience(
        "faithfulness", place.model, data, *COLUMNS, *SHORT, "--explainer", "gradient", "--max-length", 6
    )
    assert answer.code == 0, answer.err
    cut = sum(len(text.split()) > 4 for text, _ in ROWS)
    assert cut > 0
    assert f"{cut} of 24 texts are cut: they are longer than 6 tokens" in answer.err


def test_rows_without_a_text_are_counted(place, salience, tmp_path):
    data = write_csv(tmp_path / "some.csv", [ROWS[0], ("", LABELS[0]), *ROWS[1:4], (" ", LABELS[1])])
    answer = salience("faithfulness", place.model, data, "--explainer", "gradient", *SHORT)
    assert answer.code == 0 and "some.csv: left out 2 rows without a text (rows 2, 6)" in answer.err
    none = salience("faithfulness", place.model, write_csv(tmp_path / "none.csv", [("", LABELS[0])]), *SHORT)
    assert none.code == 2 and none.err.splitlines()[-1].endswith("none.csv has no texts")


@pytest.mark.whole
def test_pairs(place, salience, tmp_path):
    rows = [(first, second, label) for (first, label), (second, _) in zip(ROWS[:6], ROWS[6:12], strict=True)]
    data = write_csv(tmp_path / "pairs.csv", rows, ("premise", "hypothesis", "label"))
    answer = salience("faithfulness", place.model, data, "--explainer", "occlusion", "--output", tmp_path / "run",
                      *SHORT)  # fmt: skip
    assert answer.code == 0, answer.err
    own = reader(place.model)
    first, second, labels = map(list, zip(*rows, strict=True))
    texts = Texts(first, second, [LABELS.index(label) for label in labels])
    expected = evaluate(own, texts, explainers=["occlusion"], **SETTINGS)
    agrees(strictly(tmp_path / "run" / "faithfulness.json"), expected)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_texts_of_one_word_have_no_order_and_the_file_is_json_all_the_same(place, salience, tmp_path):
    data = write_csv(tmp_path / "words.csv", [("team", "LABEL_0"), ("song", "LABEL_1")])
    answer = salience("faithfulness", place.model, data, "--explainer", "gradient", "--output", tmp_path / "run",
                      *SHORT)  # fmt: skip
    assert answer.code == 0, answer.err
    strictly(tmp_path / "run" / "faithfulness.json")


def test_a_files_name_is_a_name_and_never_markup(place, salience, tmp_path):
    name = "<i>x & old[red].csv"
    data = write_csv(tmp_path / name, ROWS[:4])
    answer = salience("faithfulness", place.model, data, "--explainer", "gradient", "--output", tmp_path / "run",
                      *SHORT)  # fmt: skip
    assert answer.code == 0, answer.err
    assert f"4 texts of {name}".replace(" ", "") in "".join(answer.out.split())  # however it is broken into lines
    assert strictly(tmp_path / "run" / "faithfulness.json")["about"].startswith(f"4 texts of {name}")
    assert "i" not in Cells(tmp_path / "run" / "index.html").elements


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--explainer", "gradeint"], ['unknown explainer "gradeint"', 'Did you mean "gradient"?']),
        (["--explainer", "pooling-attention"], ["BertForSequenceClassification has no attention pooling"]),
        (["--at", "5"], ["--at 5 must be from 1 to --most 4"]),
        (["--at", "0"], ["--at 0 must be from 1 to --most 4"]),
        (["--most", "0"], ["--most must be at least 1, not 0"]),
        (["--label", "lable"], ['no column "lable"', 'Did you mean "label"?']),
        (["--judge", "./nowhere"], ["no model at ./nowhere"]),
        (["--metrics", "aocp"], ['unknown metric "aocp"', 'Did you mean "aopc"?']),
        (["--metrics", "aopc,tau"], ['unknown metric "tau"']),
        (
            ["--metrics", "accuracy-drop@0"],
            ['metric "accuracy-drop@0"', "a whole number from 1 to", "accuracy-drop@5"],
        ),
        (["--metrics", "detection@2"], ["--metrics detection@2 needs marked words: --marks names their column"]),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("--") else "",
)
def test_bad_input_is_one_line_and_nothing_is_written(place, data, salience, tmp_path, options, parts):
    output = tmp_path / "run"
    refused(salience("faithfulness", place.model, data, "--output", output, *SHORT, *COLUMNS, *options), *parts)
    assert [file.name for file in tmp_path.iterdir()] == ["data.csv"]


def test_no_label_that_the_model_knows(place, salience, tmp_path):
    output = tmp_path / "run"
    refused(
        salience("faithfulness", place.model, place.test, "--output", output, *SHORT, *COLUMNS),
        "test.csv: 30 rows with a label that the model does not know, the first being row 1",
        'it knows "LABEL_0", "LABEL_1". --label names another column',
    )
    bare = write_csv(tmp_path / "bare.csv", [("a cup",), ("a song",)], ("text",))
    refused(
        salience("faithfulness", place.model, bare, "--output", output, "--text", "text", *SHORT),
        "bare.csv: no row has a label that the model knows",
    )
    assert not output.exists()


def test_a_judge_with_other_labels(place, data, salience, tmp_path):
    other = families.save_tiny_model(tmp_path / "three", VOCABULARY, classes=3)
    refused(
        salience("faithfulness", place.model, data, "--judge", other, "--output", tmp_path / "run", *SHORT),
        "three knows the labels LABEL_0, LABEL_1, LABEL_2", "must be the same",
    )  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_a_folder_is_written_to_only_when_asked(place, data, salience, tmp_path):
    output = tmp_path / "run"
    output.mkdir()
    (output / "faithfulness.json").write_text("kept", encoding="utf-8")
    asked = ["faithfulness", place.model, data, "--explainer", "gradient", "--rows", "3", "--output", output, *SHORT]
    refused(salience(*asked), "run exists: choose another --output, or --overwrite it")
    assert (output / "faithfulness.json").read_text(encoding="utf-8") == "kept"
    assert [file.name for file in output.iterdir()] == ["faithfulness.json"]
    assert salience(*asked, "--overwrite").code == 0
    assert len(strictly(output / "faithfulness.json")["rows"]) == 2


def test_a_file_cannot_become_a_folder(place, data, salience, tmp_path):
    output = tmp_path / "notes.txt"
    output.write_text("kept", encoding="utf-8")
    answer = salience("faithfulness", place.model, data, "--explainer", "gradient", "--rows", "3", "--output", output,
                      "--overwrite", *SHORT, *COLUMNS)  # fmt: skip
    assert answer.code == 2, answer.err
    assert "notes.txt" in answer.err.splitlines()[-1] and "internal fault" not in answer.err
    assert output.read_text(encoding="utf-8") == "kept"


def test_no_such_file_or_model(place, data, salience, tmp_path):
    refused(salience("faithfulness", place.model, "none.csv", *SHORT), "none.csv: no such file")
    refused(salience("faithfulness", tmp_path / "none", data, *SHORT), "no model at")


# ------------------------------------------------------------------------------------------------------ marked words


MARKS = [" ".join(label if word in WORDS["sport"] else "-" for word in text.split()) for text, label in ROWS]
OF_MARKS = ["--marks", "marks", "--explainer", "occlusion"]


def test_marked_words_are_found_or_not(place, salience, tmp_path, monkeypatch):
    """The column's words of the text's own label, as `detection` counts them."""
    monkeypatch.setenv("COLUMNS", "250")
    rows = [(*row, marks) for row, marks in zip(ROWS, MARKS, strict=True)]
    data, folder = write_csv(tmp_path / "marked.csv", rows, ("text", "label", "marks")), tmp_path / "run"
    answer = salience("faithfulness", place.model, data, *OF_MARKS, *COLUMNS, "--output", folder, *SHORT)
    assert answer.code == 0, answer.err
    found = {row["explainer"]: row["marked"] for row in strictly(folder / "faithfulness.json")["rows"]}
    own = reader(place.model)
    scores = explain_words(own.model, own.encode(TEXTS, words=True), EXPLAINERS["occlusion"])
    marked = [place for place, (_, label) in enumerate(ROWS) if label in MARKS[place].split()]
    assert marked and found.keys() == {"occlusion", "random"}
    for label, values in found["occlusion"].items():
        places = [row for row in marked if ROWS[row][1] == label]
        gold = [[at for at, mark in enumerate(MARKS[row].split()) if mark == label] for row in places]
        expected = [100 * own.mean() for count in (1, 2)
                    for own in detection([scores[row] for row in places], gold, count).T]  # fmt: skip
        assert list(values) == ["P@1", "R@1", "F1@1", "P@2", "R@2", "F1@2"]
        assert list(values.values()) == pytest.approx(expected)
        cells = ["occlusion", label, *(f"{value:.1f}" for value in expected)]
        assert [[cell] for cell in cells] in Cells(folder / "index.html").rows
        assert " ".join(cells) in " ".join(answer.out.split())


def test_a_text_without_spaces_has_a_mark_for_each_of_its_words(tmp_path):
    rows = [
        ("我喜欢 it", "a", "- a a -"),
        ("我喜欢 it", "b", "0 1 1 0"),
        ("我喜欢 it", "b", [[1, 3, "b"], [4, 6, "a"]]),
    ]
    data = write_csv(tmp_path / "marked.csv", rows, ("text", "label", "marks"))
    (texts,) = read_texts(str(data), ["a", "b"], None, None, {"encoding": "utf-8"}, "marks")
    assert texts.marks == [[Mark(1, 2, "a"), Mark(2, 3, "a")], [Mark(1, 2), Mark(2, 3)], [Mark(1, 3, "b")]]


def test_where_a_text_can_have_several_labels_marks_of_each_are_read(tmp_path):
    """Also of labels that it has not, as its labels need not be known."""
    data = write_csv(tmp_path / "marked.csv", [("a b c", '["a"]', "a b 1")], ("text", "label", "marks"))
    (texts,) = read_texts(str(data), ["a", "b"], None, None, {"encoding": "utf-8"}, "marks", multi_label=True)
    assert texts.marks == [[Mark(0, 1, "a"), Mark(2, 3, "b"), Mark(4, 5)]]


def test_marks_of_pairs_are_in_both_texts(place, salience, tmp_path):
    """The same table by spans under the names of the columns and by words of both texts."""
    rows = [(text, "a song", label) for text, label in ROWS[:8]]
    spans = ['{"a": [[0, 1]], "b": [[2, 6]]}'] * 8
    words = [" ".join(["1", *"0" * (len(text.split()) - 1), "0", "1"]) for text, _ in ROWS[:8]]
    columns, found = ("a", "b", "label", "marks"), []
    for number, marks in enumerate((spans, words)):
        data = write_csv(
            tmp_path / f"{number}.csv", [(*row, own) for row, own in zip(rows, marks, strict=True)], columns
        )
        asked = ["--text", "a", "--text-pair", "b", "--label", "label", "--output", tmp_path / f"out{number}", *SHORT]
        answer = salience("faithfulness", place.model, data, *OF_MARKS, *asked)
        assert answer.code == 0, answer.err
        found.append([row["marked"] for row in strictly(tmp_path / f"out{number}" / "faithfulness.json")["rows"]])
    assert found[0] == found[1] and found[0][0].keys() == {label for _, label in ROWS[:8]}


def test_marks_that_do_not_fit_are_one_line(place, salience, tmp_path):
    data = write_csv(tmp_path / "marked.csv", [(*row, "-") for row in ROWS], ("text", "label", "marks"))
    asked = ["faithfulness", place.model, data, *COLUMNS, *SHORT]
    refused(salience(*asked, "--marks", "mark"), 'marked.csv: no column "mark" for --marks', "text, label, marks")
    refused(
        salience(*asked, "--marks", "marks"), 'marked.csv: row 1, column "marks": 1 mark, but the text has',
        "between white space",
    )  # fmt: skip
    rows = [("a cup", LABELS[0], "[]"), ("a song", LABELS[0], "[[2, 9]]")]
    data = write_csv(tmp_path / "spans.csv", rows, ("text", "label", "marks"))
    refused(
        salience("faithfulness", place.model, data, *COLUMNS, *SHORT, "--marks", "marks"),
        'spans.csv: row 2, column "marks": the span [2, 9] is outside of the text, which has 6 characters',
    )  # fmt: skip


def test_marks_of_no_label_are_said_to_be_none(place, data, salience, tmp_path):
    rows = [(*row, " ".join("-" for _ in row[0].split())) for row in ROWS]
    data = write_csv(tmp_path / "marked.csv", rows, ("text", "label", "marks"))
    answer = salience("faithfulness", place.model, data, *OF_MARKS, *COLUMNS, *SHORT)
    assert answer.code == 0 and "no word of a text is marked with the text's label" in answer.err
