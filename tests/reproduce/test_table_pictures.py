"""Pictures of the papers' tables: what is drawn is read off the axes again."""

import pytest
from matplotlib.figure import Figure

from salience.papers.attentionmix.figures import TAGS, draw_heads
from salience.papers.tables import TABLES
from salience.papers.uaftc.figures import draw_words
from salience.papers.uaftc.synthetic import draw_coupling, draw_scores
from salience.papers.uaftc.table2 import draw_scales
from salience.papers.vat.tables import draw_curves


def lines(axes) -> dict[str, list]:
    """What is drawn under each name."""
    return {line.get_label(): [list(map(float, line.get_xdata())), list(map(float, line.get_ydata()))]
            for line in axes.get_lines()}  # fmt: skip


def run(model, scale, seed, accuracy):
    return {"set": "sst2", "model": model, "scale": scale, "seed": seed, "accuracy": accuracy, "published": 0.8}


def training(name, seed, rise):
    """Three looks at a training in which every number rises."""
    looked_at = [
        f"{score} {kind}" for score in ("attention", "polarity") for kind in ("positive", "negative", "neutral")
    ]
    return {"set": name, "seed": seed, "trajectory": [
        {"epoch": epoch} | dict.fromkeys([*looked_at, "V^T W"], rise * epoch) for epoch in (0, 10, 20)
    ]}  # fmt: skip


SCALES = [run("DP", 10, 0, 0.5), run("DP", 1, 0, 0.25), run("DP", 10, 1, 1.0), run("AD", 1, 0, 0.75)]
TRAININGS = [
    training("data-1", 0, 1),
    training("data-1", 1, 3),
    training("data-2", 0, 5),
    training("ratio-1:2", 0, -1),
]
HEADS = {"set": "mr", "seed": 0, "agreeing": [(0, 1), (1, 0)],
         "relative": [[{}, {"ADJ": 2.0, "PUNCT": 0.5}], [{"ADJ": 3.0}, {}]]}  # fmt: skip

SWEEP = [
    {"set": name, "layer": 1, "head": head, "rows": size, "seed": 0, "accuracy": 0.5, "agreement": 0.1}
    for name, size in (("mr", 200), ("sst5", 100)) for head in range(3)
]  # fmt: skip
GROWING = [
    {"set": name, "method": "Bert", "rows": size, "seed": 0, "model": "minilm", "accuracy": size / 1000}
    for name, size in (("mr", 100), ("mr", 200), ("subj", 100))  # a single size is no curve
]
WORDS = {"set": "sst2", "seed": 0, "scale": 10.0, "labels": ["bad", "good"], "points": {
    "neutral": {"frequency": [3], "attention": [0.5], "polarity": [0.25], "weight": [0.1]},
    "1": {"frequency": [7, 9], "attention": [2.0, 3.0], "polarity": [4.0, 5.0], "weight": [0.2, 0.4, 0.9]},
}}  # fmt: skip


def judged(seed, without, alone):
    curves = {"without": [1.0, without], "alone": [0.5, alone]}
    return {
        "set": "sst2",
        "encoder": "bilstm-random",
        "seed": seed,
        "explanations": {"random": curves, "ATT": curves, "VAT": {"without": [1.0, 0.0], "alone": [0.5, 1.0]}},
    }


CURVES = [judged(0, 0.25, 0.75), judged(1, 0.75, 1.0)]


def test_means_over_seeds_are_lines_and_the_papers_numbers_crosses():
    axes = Figure().subplots()
    draw_scales(axes, SCALES)
    assert lines(axes)["DP"] == [[1, 10], [25, 75]]
    assert lines(axes)["AD"] == [[1], [75]]
    crosses = [line for line in axes.get_lines() if line.get_marker() == "x" and len(line.get_xdata())]
    assert [list(line.get_ydata()) for line in crosses] == [[80, 80], [80]]


@pytest.mark.parametrize("names", [["data-1"], ["data-1", "data-2"]])
def test_trainings_are_drawn_condition_by_condition(names):
    figure = Figure()
    draw_scores(figure.subplots(2, len(names)), TRAININGS, names)
    assert [panel.get_title("left") for panel in figure.axes] == names * 2
    for panel in figure.axes:
        rise = 2 if panel.get_title("left") == "data-1" else 5  # the mean over seeds
        for kind in ("positive", "negative", "neutral"):
            assert lines(panel)[kind] == [[0, 10, 20], [0, 10 * rise, 20 * rise]]


def test_the_coupling_by_ratio():
    axes = Figure().subplots()
    draw_coupling(axes, TRAININGS, ["data-1", "ratio-1:2"])
    assert lines(axes)["1:1"] == [[0, 10, 20], [0, 20, 40]]
    assert lines(axes)["1:2"] == [[0, 10, 20], [0, -10, -20]]


def test_heads_are_bars_tag_by_tag():
    axes = Figure().subplots()
    draw_heads(axes, HEADS)
    first, second = axes.containers
    assert (first.get_label(), second.get_label()) == ("layer 0, head 1", "layer 1, head 0")
    assert first[TAGS.index("ADJ")].get_height() == 2 and second[TAGS.index("ADJ")].get_height() == 3
    assert first[TAGS.index("PUNCT")].get_height() == 0.5


def test_words_of_each_category_are_points_and_their_weights_boxes():
    polarity, attention, weights = panels = Figure().subplots(1, 3)
    draw_words(panels, WORDS)
    for panel, expected in ((polarity, [[7, 4], [9, 5]]), (attention, [[7, 2], [9, 3]])):
        neutral, good = panel.collections
        assert (neutral.get_label(), good.get_label()) == ("neutral", "good")
        assert len(neutral.get_offsets()) == 1 and good.get_offsets().tolist() == expected
        assert neutral.get_facecolor().tolist() != good.get_facecolor().tolist()
    assert [label.get_text() for label in weights.get_xticklabels()] == ["neutral", "good"]
    middles = [line.get_ydata()[0] for line in weights.get_lines()[4::5]]
    assert middles == [0.1, 0.4]


def test_curves_over_words_are_means_over_seeds():
    without, alone = panels = Figure().subplots(1, 2)
    draw_curves(panels, CURVES)
    assert lines(without)["random"] == lines(without)["ATT"] == [[0, 1], [100, 50]]
    assert lines(without)["VAT"] == [[0, 1], [100, 0]]
    assert lines(alone)["ATT"] == [[0, 1], [50, 87.5]]


@pytest.mark.parametrize(
    ("table", "rows", "names"),
    [
        ("uaftc-table2", SCALES, ["scales-sst2"]),
        ("uaftc-synthetic", TRAININGS, ["dynamics", "coupling"]),
        ("uaftc-synthetic", TRAININGS[:1], ["dynamics"]),
        ("attentionmix-figures", [HEADS], ["pos-mr"]),
        ("attentionmix-sweep", SWEEP, ["sweep-sst5-100", "sweep-mr-200"]),
        ("uaftc-figures", [WORDS | {"set": "imdb"}, WORDS], ["words-imdb", "words-sst2"]),
        ("dropmix-sparse", GROWING, ["curves-mr-minilm"]),
        ("vat", CURVES, ["words-sst2-bilstm-random"]),
    ],
)
def test_pictures_are_written(table, rows, names, tmp_path):
    assert list(TABLES[table]().pictures(rows, tmp_path)) == names
    written = {file.name for file in tmp_path.iterdir()}
    assert written == {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
    assert all((tmp_path / name).stat().st_size > 1000 for name in written)
