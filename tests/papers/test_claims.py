"""The claims of the mixing papers: what they compare, verdicts, what would decide them, and the order of runs."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from made import lines_of, rows, write
from matplotlib.figure import Figure

import families
from salience.comparison.power import draws_needed, pooled_spread
from salience.comparison.verdict import TOO_FEW, judged
from salience.errors import InputError
from salience.mixing import METHODS, EmbedMix
from salience.papers import claims, mixing_tables
from salience.papers.claims import (
    ALL,
    PAPERS,
    SETS,
    SIZES,
    TRAININGS,
    Claims,
    Runs,
    cost,
    cost_of,
    decisions,
    differences,
    of_method,
    verdicts,
)
from salience.papers.mixing_tables import Cell
from salience.papers.tables import TABLES
from salience.report.comparison_pictures import forests
from salience.training.recipe import default_steps

SSMIX, DROPMIX, ATTENTIONMIX = PAPERS
TABLE = TABLES["claims"]()


def test_the_nineteen_claims_and_their_gains():
    """Counted from the papers' tables by hand: the mean over the sets of one row less another."""
    assert [[paper.gain(claim) for claim in paper.claims] for paper in PAPERS] == [
        [pytest.approx(gain, abs=0.005) if gain is not None else None for gain in gains]
        for gains in (
            (1.057, -0.018, 0.147, 0.240, 0.057, 0.263, None),
            (0.809, 0.854, 0.730, 0.695, 0.884, 0.623, None),
            (0.903, 0.727, 0.820, 0.423, 0.480),
        )
    ]
    assert [(paper.name, paper.sets) for paper in PAPERS] == [
        ("SSMix", ("sst2", "qnli", "rte", "mrpc", "trec", "trec-fine")),
        ("DropMix", ("qnli", "sst2", "mrpc", "rte", "trec", "sst5", "subj", "mr")),
        ("AttentionMix", ("sst5", "mr", "imdb")),
    ]
    for paper in PAPERS:
        for claim in paper.claims:
            assert {claim.better, claim.worse} <= {*paper.methods} and claim.place
            assert (claim.place == claims.NOT_TOLD) == (paper.gain(claim) is None)


def test_a_training_of_several_papers_is_one():
    plain = {(paper.name, method) for paper in PAPERS for method in paper.methods if paper.training(method) == "plain"}
    assert plain == {("SSMix", "no mixup"), ("DropMix", "Dropout"), ("AttentionMix", "standard")}
    assert DROPMIX.training("Dropout", "another") == "DropMix: Dropout"  # its own dropout is not known
    assert SSMIX.training("SSMix") == "SSMix: SSMix" != DROPMIX.training("SSMix")
    for paper in PAPERS:
        for method, chosen in paper.methods.items():
            if paper.training(method) != "plain":
                assert TRAININGS[paper.training(method)] == chosen


def made_up(paper, gains, size=200, model="minilm") -> list[dict]:
    """Rows of a paper: plain training has 50 %, and a method of (method, set) its gains over it, by seed."""
    found = {}
    for (method, name), of_seeds in gains.items():
        for seed, gain in enumerate(of_seeds):
            for training, accuracy in ((paper.training(method, model), 50 + gain), ("plain", 50.0)):
                cell = Cell(name, training, size, seed, model)
                found[cell] = asdict(cell) | {"accuracy": accuracy / 100, "text_passes": 1.0, "seconds": 2.0}
    return list(found.values())


NOISE = np.array([-0.1, 0.1, 0.0])


def test_verdicts_are_of_all_sets_and_corrected_over_all_claims_and_sizes():
    gains = {("AttentionMix, chosen head", name): 1 + k + NOISE for k, name in enumerate(ATTENTIONMIX.sets)}
    gains |= {("AttentionMix, best layer", name): 8 * NOISE for name in ATTENTIONMIX.sets[:2]}
    gains |= {("wordMixup", name): 1.4 + k - 8 * NOISE for k, name in enumerate(ATTENTIONMIX.sets)}
    text = TABLE.report(made_up(ATTENTIONMIX, gains) + made_up(ATTENTIONMIX, {
        ("AttentionMix, chosen head", name): -1 + 2 * NOISE for name in ATTENTIONMIX.sets
    }, size=50))  # fmt: skip
    tables = text.split("AttentionMix: claims, differences in points")[1].split("Spread of")[0]

    good, over_word, _, layer, _ = [
        lines_of(tables, claim.text)[0] for claim in ATTENTIONMIX.claims
    ]  # fmt: skip
    at_50, at_200, words = judged([
        [-1 + 2 * NOISE] * 3, [k + 1 + NOISE for k in range(3)], [-0.4 + 9 * NOISE] * 3
    ])  # fmt: skip
    assert good[1:3] == ["Tables 2 to 4", "+0.90"]
    assert good[3].startswith(f"{at_50.found}") and good[4].startswith(f"{at_200.found}; other sets [")
    assert good[5] == good[6] == "50 rows: loss; 200 rows: gain"
    assert over_word[3] == "" and over_word[4].startswith(f"{words.found}")
    assert over_word[5:7] == [words.verdict, words.corrected]
    assert layer[4].startswith("+0.00 [") and ", 2 of 3 sets;" in layer[4]
    assert layer[5:7] == ["too few runs", "too few runs"] and layer[7].startswith("6 of ")


def test_draws_follow_from_the_spread_of_what_has_run():
    """Over the sets of the claim, where these say enough of it; else over all claims of the paper."""
    random = np.random.default_rng(0)
    gains = {
        (method, name): random.normal(0, spread, 4)
        for name in SSMIX.sets for method, spread in (("SSMix", 1.0), ("TMix", 3.0))
    }  # fmt: skip
    runs = Runs.of(made_up(SSMIX, gains), "minilm")
    over_plain, over_tmix = SSMIX.claims[0], SSMIX.claims[2]
    own = [pooled_spread(differences(SSMIX, claim, 200, runs)) for claim in (over_plain, over_tmix)]
    assert own[0][1] == 18
    for claim, (spread, degrees) in zip((over_plain, over_tmix), own, strict=True):
        assert claims.spread_at(SSMIX, 200, runs, claim) == (spread, degrees, 200)
        assert claims.spread_at(SSMIX, 1000, runs, claim) == (spread, degrees, 200)
        assert claims.spread_at(SSMIX, 50, runs, claim) == (pytest.approx(2 * spread), degrees, 200)
        expected = max(draws_needed(1.0, spread, 6), draws_needed(None, spread, 6))
        assert claims.draws_to_decide(SSMIX, claim, 200, runs) == expected
    pooled = math.sqrt((own[0][0] ** 2 + own[1][0] ** 2) / 2)
    assert claims.spread_at(SSMIX, 200, runs, SSMIX.claims[3]) == (pytest.approx(pooled), 36, 200)
    assert claims.draws_to_decide(DROPMIX, DROPMIX.claims[0], 200, runs) == math.inf  # nothing is known


def test_a_run_costs_its_passes_of_texts():
    assert cost("sst2", 200) == 1 and cost("trec", 200) == default_steps(200, 6, 1) / 2000
    assert cost("rte", ALL) == default_steps(2490, 2, 1) / 2000  # it has no more rows


def test_the_list_decides_claim_by_claim_and_the_cheapest_first():
    random = np.random.default_rng(0)
    spreads = {"SSMix": 0.5, "EmbedMix": 0.6, "TMix": 1.5, "SSMix without saliency": 1.0}
    rows = made_up(SSMIX, {
        (method, name): random.normal(-4 * (method == "TMix"), spread, 3)
        for name in SSMIX.sets for method, spread in spreads.items()
    })  # fmt: skip
    table = Claims(papers=(SSMIX,), sizes=(200, 1000))
    order = decisions(table.papers, table.sizes, Runs.of(rows, "minilm"))
    first = order[: len(SSMIX.claims)]
    assert {each.claim for each in first} == {*SSMIX.claims} and len(order) == 14
    asked = table.table().plan(SSMIX.sets, range(20))
    sorted_cells = table.ordered(asked, rows)
    assert {*sorted_cells} == {*asked} and sorted_cells != asked
    # After the runs of each decision, its claim has all its draws on all sets.
    have = {Cell(*(row[name] for name in ("set", "method", "rows", "seed", "model"))) for row in rows}
    place = 0
    for each in order:
        assert each.missing == tuple(cell for cell in sorted_cells if cell in each.missing)
        missing = [cell for cell in each.missing if cell.seed < 20]
        assert sorted_cells[place : place + len(missing)] == missing
        place += len(missing)
        have |= {*missing}
        for method in (each.claim.better, each.claim.worse):
            wanted = {(name, draw) for name in SSMIX.sets for draw in range(min(each.draws, 20))}
            training = SSMIX.training(method)
            assert wanted <= {
                (cell.set, cell.seed) for cell in have if (cell.method, cell.rows) == (training, each.size)
            }
    # Claims with a verdict that would take more runs come after those without one, and the cheapest is the first.
    known = {claim for (claim, _), case in verdicts(SSMIX, Runs.of(rows, "minilm")).items() if case.verdict != TOO_FEW}
    waiting = [each.claim in known and bool(each.missing) for each in first]
    assert waiting == sorted(waiting) and any(waiting) and not all(waiting)
    costs = [cost_of(each.missing) for each in first]
    assert costs[0] == min(costs[: waiting.index(True)]) and table.ordered(asked, []) == asked


def test_pairs_count_whatever_their_seeds_and_one_more_is_planned_where_they_decide_nothing():
    """A seed with one run of the pair is completed before a new one is begun."""
    claim, random = SSMIX.claims[1], np.random.default_rng(0)
    worse, better = (SSMIX.training(method) for method in (claim.worse, claim.better))
    accuracies = {
        (training, name, 200): dict(zip((1, 4, 6, 7), random.normal(50, 0.5, 4), strict=True))
        for name in SSMIX.sets for training in (worse, better)
    }  # fmt: skip
    accuracies[worse, "rte", 200][5] = accuracies[worse, "qnli", 200][8] = 50.0
    runs = Runs("minilm", accuracies)
    assert claims.draws_to_decide(SSMIX, claim, 200, runs) < 4
    decided, open_case = (claims.planned(SSMIX, claim, 200, runs, has_verdict) for has_verdict in (True, False))
    have = {Cell(name, training, size, seed) for (training, name, size), own in accuracies.items() for seed in own}
    assert {*decided.missing} <= have and len(decided.missing) == 2 * 6 * decided.draws
    assert open_case.draws == 5 and [cell for cell in open_case.missing if cell not in have] == [
        Cell(name, training, 200, seed)
        for name, seed in (("sst2", 0), ("qnli", 8), ("rte", 5), ("mrpc", 0), ("trec", 0), ("trec-fine", 0))
        for training in (worse, better) if (training, seed) not in ((worse, 8), (worse, 5))
    ]  # fmt: skip


def test_what_cannot_be_decided_is_said_with_its_reason():
    random = np.random.default_rng(0)
    methods = ("SSMix", "EmbedMix", "TMix", "SSMix without saliency", "SSMix without saliency and span")
    rows = made_up(SSMIX, {(method, name): random.normal(0, 1, 3) for name in SSMIX.sets for method in methods})
    text = TABLE.report(rows).split("and what is decided by 1,000 runs in all")[1]
    told = {claim: lines_of(text, claim.text)[0] for claim in SSMIX.claims}
    spans = told[SSMIX.claims[4]]
    assert spans[1] == "+0.06" and spans[-2].startswith("no: ") and spans[-2].endswith(", for +0.06 points")
    assert told[SSMIX.claims[1]][-2] == "it is none" and told[SSMIX.claims[6]][-2] == "none is told"
    assert told[SSMIX.claims[0]][-1].startswith("with 200 rows, after ")
    (unknown,) = lines_of(text, DROPMIX.claims[0].text)
    assert unknown[-2:] == ["the spread is not known", "not within 1,000 runs"]


def test_every_run_once_and_all_rows_of_small_sets_only():
    cells = TABLE.plan(SETS, [0, 1])
    assert {cell.rows for cell in cells} == {*SIZES, ALL}
    assert {cell.set for cell in cells if cell.rows == ALL} == {"rte", "mrpc", "trec", "trec-fine"}
    mr = {cell.method for cell in cells if cell.set == "mr"}
    assert "plain" in mr and {name.split(":")[0] for name in mr} == {"plain", "DropMix", "AttentionMix"}
    with pytest.raises(InputError, match=r"--rows 10000 is for the small data sets rte, .* and not for sst2"):
        TABLE.resized([ALL]).plan(["sst2", "rte"], [0])


def test_runs_of_the_papers_tables_count(tmp_path):
    """Under the name of the training; a run of the file itself comes before them."""
    of_table = {"set": "rte", "method": "no mixup", "rows": 200, "seed": 0, "model": "minilm"}
    lines = [of_table | {"accuracy": 0.5}, of_table | {"method": "SSMix", "accuracy": 0.6}, of_table | {"seed": 1}]
    lines = [{"accuracy": 0.7} | line | {"text_passes": 1.0, "seconds": 2.0} for line in lines]
    lines = [{**{key: line[key] for key in of_table}, **line} for line in lines]
    (tmp_path / "ssmix-table2.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    own = of_table | {"method": "plain", "seed": 1, "accuracy": 0.9, "text_passes": 1.0, "seconds": 2.0}
    (tmp_path / "claims.jsonl").write_text(json.dumps(own) + "\n")
    found = TABLE.results(tmp_path / "claims.jsonl").rows()
    assert [(row["method"], row["seed"], row["accuracy"]) for row in found] == [
        ("plain", 1, 0.9), ("plain", 0, 0.5), ("SSMix: SSMix", 0, 0.6)
    ]  # fmt: skip


def test_seconds_are_those_of_plain_training_with_the_same_rows_and_number_format():
    rows = made_up(SSMIX, {("SSMix", "rte"): NOISE, ("TMix", "rte"): NOISE})
    times = {("SSMix: SSMix", 0): 2.2, ("SSMix: SSMix", 1): 9.0, ("SSMix: SSMix", 2): 2.4, ("SSMix: TMix", 0): 1.8}
    rows = [row | {"seconds": times.get((row["method"], row["seed"]), 2.0), "precision": "fp32"} for row in rows]
    for row in rows:
        if (row["method"], row["seed"]) == ("SSMix: TMix", 0):
            row["precision"] = "bf16"
    assert "a plain one, medians: SSMix: TMix 1.00; SSMix: SSMix 1.20." in TABLE.report(rows)


# --------------------------------------------------------------------------------- a method that somebody has added


class Better(EmbedMix):
    controls = ("embedmix", "ssmix-nospan")


def test_a_method_has_claims_against_plain_training_and_its_controls(monkeypatch):
    monkeypatch.setitem(METHODS, "better", Better)
    paper = of_method("better:alpha=0.3")
    assert [(claim.better, claim.worse) for claim in paper.claims] == [
        ("better:alpha=0.3", other) for other in ("plain", "embedmix", "ssmix-nospan")
    ]
    table = TABLE.of_method("better:alpha=0.3").resized([50, 200])
    cells = table.plan(["rte"], [0, 1])
    assert {cell.method for cell in cells} == {"better:alpha=0.3", "plain", "embedmix", "ssmix-nospan"}
    assert claims.settings_of("better:alpha=0.3") == {"method": "better", "method_options": {"alpha": 0.3}}
    rows = made_up(paper, {("better:alpha=0.3", name): 2 + NOISE for name in SETS})
    (line,) = lines_of(table.report(rows), "better:alpha=0.3 is better than training without mixing")[:1]
    assert line[3].startswith("+2.00 [") and line[4:6] == ["gain", "gain"] and line[6].startswith("30 of ")
    assert "SSMix: claims" not in table.report(rows)


def test_what_is_no_method_is_refused():
    with pytest.raises(InputError, match="--method plain: every claim compares with training without mixing"):
        TABLE.of_method("plain")
    with pytest.raises(InputError, match='unknown method "ssmx"'):
        TABLE.of_method("ssmx")


@pytest.mark.whole
def test_a_run_is_that_of_its_papers_table(tmp_path, monkeypatch):
    own = [
        {"text": row["text"], "label": row["label"].split()[-1]} for row in rows(100, seed=1)
        if row["label"] != "neutral"
    ]  # fmt: skip
    for part, chosen in (("train", own[:40]), ("dev", own[40:50]), ("test", own[50:])):
        write(tmp_path / "sst2", part, chosen)

    def tiny(name, labels, dropout=None):
        model = families.build("bert", classes=len(labels), vocabulary=300, dropout=dropout or 0.0)
        model.config.id2label = dict(enumerate(labels))
        return model, families.tiny_tokenizer([row["text"] for row in own])

    monkeypatch.setattr(mixing_tables, "load_classifier", tiny)
    for table, method, training in [
        ("ssmix-table2", "SSMix", "SSMix: SSMix"), ("dropmix-table3", "DropMix-G", "DropMix: DropMix-G"),
        ("ssmix-table2", "no mixup", "plain"),
    ]:  # fmt: skip
        found = TABLE.row(Cell("sst2", training, 12, 0), tmp_path)
        theirs = TABLES[table]().row(Cell("sst2", method, 12, 0), tmp_path)
        assert (found["accuracy"], found["text_passes"]) == (theirs["accuracy"], theirs["text_passes"])
    assert TABLE.row(Cell("sst2", "tmix:alpha=0.3", 12, 0), tmp_path)["training_rows"] == 12


METHODS_DRAWN = ("SSMix", "TMix", "EmbedMix")


def test_the_forest_has_a_point_for_each_method_set_and_size():
    gains = {("SSMix", "rte"): 1 + NOISE, ("SSMix", "trec"): -3 + NOISE[:2], ("TMix", "rte"): 40 + NOISE}
    gains |= {("EmbedMix", name): NOISE for name in ("rte", "trec")}
    rows = made_up(SSMIX, gains)
    rows += made_up(SSMIX, {("SSMix", "rte"): 2 + NOISE[:1]}, size=50)
    panels = claims.against_plain(Runs.of(rows, "minilm"), {f"SSMix: {each}": each for each in METHODS_DRAWN})
    both, one = {"50 rows", "200 rows"}, {"200 rows"}
    assert {name: {method: {*found} for method, found in own.items()} for name, own in panels.items()} == {
        "rte": {"SSMix": both, "TMix": one, "EmbedMix": one}, "trec": {"SSMix": one, "EmbedMix": one},
        "mean": {"SSMix": both, "TMix": one, "EmbedMix": one},
    }  # fmt: skip
    spread, degrees = pooled_spread([NOISE, NOISE[:2]])
    trec = panels["trec"]["SSMix"]["200 rows"]
    assert degrees == 3 and trec.mean == pytest.approx(-3)
    assert trec.high - trec.low == pytest.approx(2 * 3.182446 * spread / 2**0.5)  # the tabled quantile of t
    assert panels["mean"]["SSMix"]["200 rows"].mean == pytest.approx(-1)
    assert panels["rte"]["SSMix"]["50 rows"].low is None
    figure = Figure()
    texts = forests(panels, ["50 rows", "200 rows"], "points").draw(figure.subplots(1, 3))
    assert len(texts) == 10
    said = {said: line for line, (said,) in texts.items()}
    far = next(line for text, line in said.items() if text.startswith("TMix, rte, 200 rows: +40.00 ["))
    limit = figure.axes[0].get_xlim()[1]
    assert far.get_marker() == ">" and far.get_xdata()[0] == limit < 70
