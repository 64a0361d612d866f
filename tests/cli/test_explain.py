"""`salience explain`: words that decided, in the terminal, as JSON lines, and as a page in which texts are data."""

import json
import shutil
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from test_bad_input import refused

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience import EXPLAINERS
from salience.classify import TextClassifier
from salience.data.texts import Texts
from salience.explainers.explain import explain_texts
from salience.explainers.explanation import as_json
from salience.models.loading import load_trained
from salience.report.terminal import explanation_line

LABELS = ["LABEL_0", "LABEL_1"]  # of the tiny model
COLUMNS = ["--text-column", "text", "--label", "label"]  # named: nothing is guessed, and nothing said of it
ROWS = [(text, LABELS[label == "sport"]) for text, label in labelled_rows(20, seed=5)]
SCRIPT = "<script>alert(1)</script>"
NASTY = [
    f"a cup {SCRIPT} & <b>win</b>",
    "</script><script>alert(2)</script> the song",
    "<!-- <script> one \u2028 two\\u003c __DATA__ __TITLE__ \"quoted\" 'too' </title><i>",
]


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path / "data.csv", ROWS)


def explained(place, texts, names, target="predicted"):
    """The same explanations without the command line."""
    model, tokenizer = load_trained(place.model)
    return list(
        explain_texts(
            TextClassifier(model.eval(), tokenizer, 512), texts, {name: EXPLAINERS[name] for name in names}, target
        )
    )


def jsonl(file) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def three_highest(scores) -> set[int]:
    return set(np.argsort(-np.asarray(scores), kind="stable")[:3].tolist())


# ----------------------------------------------------------------------------------------------------------- terminal


def test_in_the_terminal_the_three_highest_words_are_marked(place, salience):
    texts = ["the team and a new cup very", "a song"]
    answer = salience("explain", place.model, "--text", texts[0], "--text", texts[1], "--device", "cpu")
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert len(lines) == 2
    for line, own in zip(lines, explained(place, Texts(texts), ["gradient"]), strict=True):
        marked = three_highest(own.scores["gradient"])
        words = [f"*{word}*" if place in marked else word for place, word in enumerate(own.words)]
        label = own.labels[own.predicted]
        assert line.split() == [label, f"({own.probabilities.max():.2f}):", *words]


def test_a_words_score_may_be_its_highest_pieces(place, salience, tmp_path):
    model, tokenizer = load_trained(place.model)
    rows = [["xylophonist's team, and a new cup"], ["a song"]]
    data = write_csv(tmp_path / "few.csv", rows, header=["text"])
    found = {}
    for pieces in ("sum", "max"):
        output = tmp_path / f"{pieces}.jsonl"
        answer = salience("explain", place.model, data, "--output", output, "--pieces", pieces, "--device", "cpu")
        assert answer.code == 0, answer.err
        found[pieces] = [own["scores"]["gradient"] for own in jsonl(output)]
        expected = explain_texts(
            TextClassifier(model.eval(), tokenizer, 512),
            Texts([text for (text,) in rows]),
            {"g": EXPLAINERS["gradient"]},
            pieces=pieces,
        )
        for own, other in zip(found[pieces], expected, strict=True):
            assert own == pytest.approx(other.scores["g"].tolist(), rel=1e-5)
    assert found["sum"][0][0] > 1.1 * found["max"][0][0]  # of several pieces
    refused(salience("explain", place.model, data, "--pieces", "mean"), 'unknown --pieces "mean"; known: max, sum')


def test_texts_that_are_cut_are_counted(place, salience, tmp_path):
    texts = ["--text", "the team and a new cup", "--text", "a song", "--text", "the song of a team"]
    for kind in ("terminal", "jsonl", "html"):
        output = [] if kind == "terminal" else ["--output", tmp_path / f"out.{kind}"]
        answer = salience("explain", place.model, *texts, "--max-length", "4", "--device", "cpu", *output)
        assert answer.code == 0, answer.err
        assert "2 of 3 texts are cut: they are longer than 4 tokens" in answer.err
    assert "longer" not in salience("explain", place.model, *texts, "--device", "cpu").err


@pytest.mark.parametrize("command", ["explain", "predict", "faithfulness"])
def test_a_text_needs_a_place_for_a_word(command, place, salience, tmp_path):
    """A tokenizer that is to leave none cuts nothing."""
    output = [] if command == "faithfulness" else ["--output", tmp_path / "out.jsonl"]
    data = write_csv(tmp_path / "data.csv", [("a cup", "LABEL_0"), ("a song", "LABEL_1")])
    answer = salience(command, place.model, data, "--max-length", "2", *output)
    assert answer.code == 2
    assert answer.err.splitlines()[-1] == (
        "salience: --max-length 2 leaves no place for words: 2 tokens of each text are special"
    )
    assert [file.name for file in tmp_path.iterdir()] == ["data.csv"]


def test_small_scores_keep_their_digits(place, salience, tmp_path):
    """A model that is very sure has gradients of next to nothing."""
    sure = tmp_path / "sure"
    shutil.copytree(place.model, sure)
    weights = load_file(sure / "model.safetensors")
    weights["classifier.bias"] += torch.tensor([16.0, 0.0])
    save_file(weights, sure / "model.safetensors", metadata={"format": "pt"})
    output = tmp_path / "out.jsonl"
    assert salience("explain", sure, "--text", "a cup", "--output", output, "--device", "cpu").code == 0
    (found,) = jsonl(output)
    model, tokenizer = load_trained(sure)
    (expected,) = explain_texts(
        TextClassifier(model.eval(), tokenizer, 512), Texts(["a cup"]), {"gradient": EXPLAINERS["gradient"]}
    )
    assert 0 < max(found["scores"]["gradient"]) < 1e-5
    assert found["scores"]["gradient"] == pytest.approx(expected.scores["gradient"].tolist(), rel=1e-4, abs=0)


def test_a_text_steers_no_terminal(place, salience):
    answer = salience("explain", place.model, "--text", "a \x1b[31mred\x9b cup", "--device", "cpu")
    assert answer.code == 0, answer.err
    assert "\x1b" not in answer.out and "\x9b" not in answer.out and "\N{REPLACEMENT CHARACTER}[31mred" in answer.out


@pytest.mark.parametrize(
    ("settings", "told"),
    [({"problem_type": "regression", "num_labels": 1}, "a number")],
)  # fmt: skip
def test_models_that_choose_no_label_are_refused(settings, told, place, salience, tmp_path):
    model = families.build("bert", classes=settings.get("num_labels", 2))
    model.config.problem_type = settings["problem_type"]
    model.save_pretrained(tmp_path / "other")
    shutil.copy(place.model / "tokenizer.json", tmp_path / "other")
    shutil.copy(place.model / "tokenizer_config.json", tmp_path / "other")
    refused(salience("explain", tmp_path / "other", "--text", "a cup"), f"{tmp_path / 'other'} gives a text", told)


def test_several_explainers_are_a_line_each_and_say_which(place, salience):
    names = ["occlusion", "attention", "gradient-x-input"]
    answer = salience("explain", place.model, "--text", "the team and a new cup", "--explainer", ",".join(names))
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert [line.split()[-1] for line in lines] == [f"[{name}]" for name in names]
    (own,) = explained(place, Texts(["the team and a new cup"]), names)
    for name, line in zip(names, lines, strict=True):
        words = line.split()[2:-1]
        assert {place for place, word in enumerate(words) if word.startswith("*")} == three_highest(own.scores[name])


def test_a_label_that_is_known_is_compared(place, data, salience):
    answer = salience("explain", place.model, data)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert len(lines) == len(ROWS)
    for line, (_, label) in zip(lines, ROWS, strict=True):
        right = line.split()[0] == label
        assert (", right)" if right else f", wrong, it is {label})") in line
    assert {", right)" in line for line in lines} == {True, False}


def test_what_looks_like_markup_is_printed_as_it_is(place, salience):
    answer = salience("explain", place.model, "--text", "[bold]win[/bold] [/nope] [red]")
    assert answer.code == 0, answer.err
    assert answer.out.split()[2:] == ["*[bold]win[/bold]*", "*[/nope]*", "*[red]*"]


@families.crossed("explainer", [name for name in EXPLAINERS if name != "pooling-attention"], "text", ["", "   "])
def test_a_text_without_words_has_none_to_mark(place, text, explainer):
    (explanation,) = explained(place, Texts([text]), [explainer])  # the command line refuses it
    assert "*" not in explanation_line(explanation).plain


# --------------------------------------------------------------------------------------------------------- JSON lines


def test_json_lines_hold_every_score(place, data, salience, tmp_path):
    output, names = tmp_path / "new" / "out.jsonl", ["gradient", "integrated-gradients", "occlusion"]
    answer = salience("explain", place.model, data, "--explainer", ",".join(names), "--output", output)
    assert answer.code == 0, answer.err
    assert answer.out == ""
    assert "20 texts explained" in answer.err
    rows = jsonl(output)
    expected = explained(
        place, Texts([text for text, _ in ROWS], labels=[LABELS.index(label) for _, label in ROWS]), names
    )
    for row, own, (text, label) in zip(rows, expected, ROWS, strict=True):
        assert row["words"] == text.split()
        assert row["second"] is None
        assert row["label"] == label
        assert row["predicted"] == row["explained"] == LABELS[own.predicted]
        assert list(row["probabilities"].values()) == pytest.approx(own.probabilities, abs=1e-6)
        assert list(row["probabilities"]) == LABELS
        assert list(row["scores"]) == names
        for name in names:
            assert row["scores"][name] == pytest.approx(own.scores[name], abs=1e-6)
            assert any(row["scores"][name])


def test_without_a_file_json_lines_are_all_that_is_printed(place, salience):
    answer = salience("explain", place.model, "--text", SCRIPT, "--text", "ä song", "--format", "jsonl")
    assert answer.code == 0, answer.err
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert [row["words"] for row in rows] == [[SCRIPT], ["ä", "song"]]
    assert [(row["row"], row["label"]) for row in rows] == [(None, None)] * 2


def test_json_lines_know_no_nan(place):
    (own,) = explained(place, Texts(["a song"]), ["gradient"])
    broken = replace(own, scores={"gradient": np.full(2, np.nan)}, probabilities=np.array([np.nan, 1]))
    found = json.loads(json.dumps(as_json(broken), allow_nan=False))
    assert found["scores"] == {"gradient": [None, None]} and found["probabilities"] == {"LABEL_0": None, "LABEL_1": 1}


def test_a_row_of_a_file_is_known_by_its_number(place, salience, tmp_path):
    """Rows without a text are left out, and the others keep their numbers."""
    data, page = write_csv(tmp_path / "holes.csv", [("a cup", "x"), ("", "x"), ("a song", "x")]), tmp_path / "o.html"
    asked = ["explain", place.model, data, *COLUMNS]
    assert [json.loads(line)["row"] for line in salience(*asked, "--format", "jsonl").out.splitlines()] == [1, 3]
    assert salience(*asked, "--output", page).code == 0
    assert '"row": 1' in page.read_text() and '"row": 3' in page.read_text()


def test_the_class_to_explain_is_asked_for_by_name(place, data, salience, tmp_path):
    found = {}
    for target in ("predicted", "gold", *LABELS):
        output = tmp_path / f"{target}.jsonl"
        answer = salience("explain", place.model, data, "--target", target, "--explainer", "occlusion",
                          "--output", output)  # fmt: skip
        assert answer.code == 0, answer.err
        found[target] = jsonl(output)
    for number, (_, label) in enumerate(ROWS):
        predicted, gold, first, second = (rows[number] for rows in found.values())
        assert (first["explained"], second["explained"]) == tuple(LABELS)
        assert gold == {"LABEL_0": first, "LABEL_1": second}[label]
        assert predicted == {"LABEL_0": first, "LABEL_1": second}[predicted["predicted"]]
        assert first["scores"] != second["scores"]
    assert any(row["predicted"] != row["explained"] for row in found["gold"])


def test_the_terminal_says_whose_words_are_marked_if_not_the_predicted_classs(place, salience):
    shown = [
        salience("explain", place.model, "--text", "a cup", "--target", target).out
        for target in ("predicted", *LABELS)
    ]
    predicted = shown[0].split()[0]
    for line, target in zip(shown, (predicted, *LABELS), strict=True):
        assert (f"[for {target}]" in line) == (target != predicted)


def test_a_text_is_explained_the_same_whoever_is_beside_it(place, data, salience, tmp_path):
    names = "attention,gradient,gradient-x-input,integrated-gradients,occlusion"
    output = tmp_path / "all.jsonl"
    assert salience("explain", place.model, data, "--explainer", names, "--output", output).code == 0
    for number in (0, 7):
        answer = salience("explain", place.model, "--text", ROWS[number][0], "--explainer", names, "--format", "jsonl")
        alone, together = json.loads(answer.out), jsonl(output)[number]
        for name in names.split(","):
            assert alone["scores"][name] == pytest.approx(together["scores"][name], abs=1e-5)


def test_a_pair_without_its_second_text_is_left_out(place, salience, tmp_path):
    pairs = [("a cup", ""), ("a very old song", "a cup")]
    data = write_csv(tmp_path / "pairs.csv", pairs, ("premise", "hypothesis"))
    answer = salience("explain", place.model, data, "--format", "jsonl")
    assert answer.code == 0 and "left out 1 row without both texts (row 1)" in answer.err
    assert len(answer.out.splitlines()) == 1


def test_pairs_say_where_the_second_text_begins(place, salience, tmp_path):
    pairs = [("a cup", "the new song"), ("a very old song", "a cup")]
    data = write_csv(tmp_path / "pairs.csv", pairs, ("premise", "hypothesis"))
    answer = salience("explain", place.model, data, "--format", "jsonl", "--explainer", "occlusion")
    assert answer.code == 0, answer.err
    for row, pair in zip(map(json.loads, answer.out.splitlines()), pairs, strict=True):
        assert row["words"] == [*pair[0].split(), *pair[1].split()]
        assert row["second"] == len(pair[0].split())
        assert len(row["scores"]["occlusion"]) == len(row["words"])
    assert " | " in salience("explain", place.model, data).out.splitlines()[0]


def test_only_so_many_texts(place, data, salience):
    answer = salience("explain", place.model, data, "--most", "3", "--format", "jsonl")
    assert len(answer.out.splitlines()) == 3
    assert "only its first 3 texts" in answer.err


@pytest.mark.parametrize("explainer", ["attention", "cls-attention"])
def test_the_layer_and_the_head_of_attention(place, salience, explainer):
    found = []
    for options in ([], ["--layer", "1"], ["--layer", "0"], ["--layer", "0", "--head", "1"]):
        answer = salience("explain", place.model, "--text", "the new song", "--explainer", explainer,
                          "--format", "jsonl", *options)  # fmt: skip
        assert answer.code == 0, answer.err
        found.append(json.loads(answer.out)["scores"][explainer])
    assert found[0] == found[1]
    assert found[1] != found[2] != found[3]


# --------------------------------------------------------------------------------------------------------------- page


@dataclass
class Page(HTMLParser):
    """The elements of a page, and the text in each kind."""

    elements: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    inside: str = ""
    kind: str | None = None

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.inside = dict(attributes).get("id") or tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        self.texts[self.inside] = self.texts.get(self.inside, "") + data


def page(file) -> Page:
    found = Page()
    found.feed(file.read_text(encoding="utf-8"))
    found.close()
    return found


def test_a_page_holds_what_json_lines_hold(place, data, salience, tmp_path):
    for output in ("out.html", "out.jsonl"):
        answer = salience("explain", place.model, data, "--explainer", "occlusion,gradient", "--target", "gold",
                          "--output", tmp_path / output)  # fmt: skip
        assert answer.code == 0, answer.err
    written = json.loads(page(tmp_path / "out.html").texts["data"])
    assert written["labels"] == LABELS
    assert written["explainers"] == ["occlusion", "gradient"]
    for row, own in zip(written["rows"], jsonl(tmp_path / "out.jsonl"), strict=True):
        assert row["words"] == own["words"]
        assert row["second"] == own["second"]
        assert LABELS[row["gold"]] == own["label"] == LABELS[row["target"]]
        assert row["probabilities"] == pytest.approx(list(own["probabilities"].values()), abs=1e-4)
        for scores, name in zip(row["scores"], written["explainers"], strict=True):
            assert scores == pytest.approx(own["scores"][name], rel=0.01, abs=1e-7)


def test_a_page_needs_nothing_from_elsewhere(place, data, salience, tmp_path):
    output = tmp_path / "out.html"
    assert salience("explain", place.model, data, "--output", output).code == 0
    text = output.read_text(encoding="utf-8")
    assert "http://" not in text and "https://" not in text and "src=" not in text
    assert "default-src 'none'" in text


def test_texts_are_data_and_never_markup(place, salience, tmp_path):
    """The elements of the page are those of a page about harmless texts, and the words come back as they were."""
    pages = {}
    for name, texts in (("harmless", ["a cup"]), ("nasty", NASTY)):
        output = tmp_path / f"{name}.html"
        asked = [part for text in texts for part in ("--text", text)]
        assert salience("explain", place.model, *asked, "--output", output).code == 0
        pages[name] = page(output)
    assert pages["nasty"].elements == pages["harmless"].elements
    assert pages["nasty"].elements.count("script") == 2
    written = (tmp_path / "nasty.html").read_text(encoding="utf-8")
    for part in (SCRIPT, "alert(2)</script>", "<b>win", "<!--", "<i>"):
        assert part not in written
    found = json.loads(pages["nasty"].texts["data"])
    assert [row["words"] for row in found["rows"]] == [text.split() for text in NASTY]


@pytest.mark.parametrize("name", ["<i>x & y.csv", "__DATA__.csv"])
def test_a_files_name_is_a_title_and_never_markup(place, salience, tmp_path, name):
    data, output = write_csv(tmp_path / name, ROWS[:2]), tmp_path / "out.html"
    assert salience("explain", place.model, data, "--output", output).code == 0
    found = page(output)
    assert found.texts["title"] == found.texts["h1"] == f"tiny: {name}"
    assert "i" not in found.elements
    assert len(json.loads(found.texts["data"])["rows"]) == 2


def test_labels_are_data_too(salience, tmp_path):
    from transformers import AutoModelForSequenceClassification

    folder = families.save_tiny_model(tmp_path / "labelled", [*WORDS.values(), " ".join(FILLER)], classes=2)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    labels = [SCRIPT, "[red]x[/red]"]
    model.config.id2label, model.config.label2id = (
        dict(enumerate(labels)),
        {name: at for at, name in enumerate(labels)},
    )
    model.save_pretrained(folder)
    assert salience("explain", folder, "--text", "a cup", "--output", tmp_path / "out.html").code == 0
    assert SCRIPT not in (tmp_path / "out.html").read_text(encoding="utf-8")
    assert json.loads(page(tmp_path / "out.html").texts["data"])["labels"] == labels
    assert salience("explain", folder, "--text", "a cup").out.split()[0] in labels


@pytest.mark.parametrize("kind", ["html", "jsonl"])
def test_the_folder_of_an_output_is_made(place, salience, tmp_path, kind):
    output = tmp_path / "new" / f"out.{kind}"
    answer = salience("explain", place.model, "--text", "a cup", "--output", output)
    assert answer.code == 0, answer.err
    assert [file.name for file in output.parent.iterdir()] == [output.name]


@pytest.mark.parametrize("kind", ["html", "jsonl"])
def test_an_output_is_replaced_only_when_asked(place, salience, tmp_path, kind):
    output = tmp_path / f"out.{kind}"
    output.write_text("kept", encoding="utf-8")
    asked = ["explain", place.model, "--text", "a cup", "--output", output]
    refused(salience(*asked), f"out.{kind} exists: choose another --output, or --overwrite it")
    assert output.read_text(encoding="utf-8") == "kept"
    assert salience(*asked, "--overwrite").code == 0
    assert "cup" in output.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == [output.name]


# ---------------------------------------------------------------------------------------------------------- bad input


@families.crossed(
    "options, parts",
    [
        (["--explainer", "gradeint"], ['unknown explainer "gradeint"', 'Did you mean "gradient"?']),
        (["--explainer", "gradient,"], ['unknown explainer ""']),
        (["--explainer", "pooling-attention"], ["BertForSequenceClassification has no attention pooling"]),
        (["--explainer", "attention", "--layer", "2"], ["has the layers 0 to 1, not 2"]),
        (["--explainer", "attention", "--head", "2"], ["has the heads 0 to 1 in a layer, not 2"]),
        (["--layer", "1"], ["--layer and --head are of --explainer attention and cls-attention"]),
        (["--target", "LABEL_7"], ['unknown --target "LABEL_7"', "LABEL_0, LABEL_1, gold, predicted"]),
        (["--text", "a cup"], ["give either a file of texts, or --text"]),
        (["--text-column", "txt", "--label", "label"], ['no column "txt"', 'Did you mean "text"?']),
        (["--device", "abacus"], ["abacus"]),
        (["--max-length", "-1"], ["--max-length"]),
    ],
    "kind", ["html", "jsonl"],
)  # fmt: skip
def test_bad_input_is_one_line_and_nothing_is_written(place, data, salience, tmp_path, kind, options, parts):
    output = tmp_path / f"out.{kind}"
    refused(salience("explain", place.model, data, "--output", output, *COLUMNS, *options), *parts)
    assert [file.name for file in tmp_path.iterdir()] == ["data.csv"]


def test_nothing_to_explain(place, salience):
    refused(salience("explain", place.model), "give either a file of texts, or --text")


def test_no_such_file_or_model(place, data, salience, tmp_path):
    refused(salience("explain", place.model, "none.csv"), "none.csv: no such file")
    refused(salience("explain", tmp_path / "none", data), "no model at")
    refused(salience("explain", place.data, data), "no model at")


def test_a_folder_of_the_outputs_name(place, salience, tmp_path):
    (tmp_path / "out.html").mkdir()
    refused(salience("explain", place.model, "--text", "a cup", "--output", tmp_path / "out.html", "--overwrite"),
            "out.html is a folder, where a file is needed")  # fmt: skip
    assert [own.name for own in tmp_path.iterdir()] == ["out.html"]


@pytest.mark.parametrize("kind", ["html", "jsonl"])
def test_gold_labels_that_are_not_there(place, salience, tmp_path, kind):
    """The second text's is missing: the first has been explained by then."""
    data = write_csv(tmp_path / "data.csv", [("a cup", "LABEL_0"), ("a song", "none")])
    output = tmp_path / f"out.{kind}"
    answer = salience("explain", place.model, data, "--target", "gold", "--output", output, *COLUMNS)
    note, last = answer.err.splitlines()
    assert answer.code == 2 and 'row 2: "none"; it knows "LABEL_0", "LABEL_1"' in note
    assert last.startswith(f"salience: cannot explain {data} by {place.model}: gold labels are to be explained, but ")
    assert "but row 2 has none that the model knows: " in last
    assert last.endswith("correct the label, name its column, or explain another target")
    assert [file.name for file in tmp_path.iterdir()] == ["data.csv"]
    refused(salience("explain", place.model, "--text", "a cup", "--target", "gold"), "in a file that has them")


@pytest.mark.parametrize("kind", ["html", "jsonl"])
def test_a_fault_behind_the_first_rows_leaves_no_output(place, salience, tmp_path, kind):
    data = tmp_path / "ragged.csv"
    data.write_text("text,label\n" + "a cup,LABEL_0\n" * 600 + "one,two,three\n")
    output = tmp_path / f"out.{kind}"
    refused(salience("explain", place.model, data, "--output", output, *COLUMNS), "line 602 has 3 fields")
    assert [file.name for file in tmp_path.iterdir()] == ["ragged.csv"]


def test_formats(place, salience, tmp_path):
    asked = ["explain", place.model, "--text", "a cup"]
    refused(salience(*asked, "--format", "htlm"), 'unknown --format "htlm"', 'Did you mean "html"?')
    refused(salience(*asked, "--format", "html"), "--format html needs a file")
    refused(salience(*asked, "--output", tmp_path / "out.csv"), "out.csv: name it with .jsonl or .html")
    refused(salience(*asked, "--output", tmp_path / "u6"), "u6: name it with .jsonl or .html")
    refused(salience(*asked, "--output", tmp_path / "out.jsonl", "--format", "html"), "which a --format must fit")
    refused(salience(*asked, "--output", tmp_path / "out.jsonl", "--format", "terminal"), "leave --output out")
    assert not list(tmp_path.iterdir())


def test_no_file_is_announced_that_is_not_written(place, salience, tmp_path):
    output = tmp_path / "out.terminal"
    answer = salience("explain", place.model, "--text", "a cup", "--output", output)
    assert output.exists() or answer.code == 2, answer


NO_UNICODE = ["half \ud83d of it", b"caf\xe9 au lait".decode("utf-8", "surrogateescape")]


@families.crossed("text", NO_UNICODE, "suffix", [".jsonl", ".html", ""])
def test_texts_that_are_not_unicode_are_explained(text, suffix, place, salience, tmp_path):
    options = ["--output", tmp_path / f"out{suffix}"] if suffix else []
    answer = salience("explain", place.model, "--text", text, *options)
    assert answer.code == 0, answer.err
    assert "\ufffd" in (tmp_path / f"out{suffix}").read_text() if suffix else "\ufffd" in answer.out


def test_the_explainers_are_listed(salience, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = salience("explain", "--list-explainers").out.splitlines()
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert names == [*EXPLAINERS, "captum:NAME"]
    assert all(len(line) <= 80 for line in lines)
    meanings = " ".join(lines)
    assert "norm of each token's gradient" in meanings and "Gradient times input" in meanings


@pytest.mark.parametrize("text", ["", "  \n", "\u200b", " \ufeff\u00a0"])
def test_a_text_without_words_is_refused(text, place, salience):
    refused(salience("explain", place.model, "--text", "a cup", "--text", text), "--text has no words")


@pytest.mark.parametrize("option", ["--most", "--text-column", "--text-pair", "--label"])
def test_options_about_a_file_are_refused_with_a_text(option, place, salience):
    answer = salience("explain", place.model, "--text", "a cup", option, "1")
    refused(answer, "--most and the names of columns are about a file: leave them out with --text")
