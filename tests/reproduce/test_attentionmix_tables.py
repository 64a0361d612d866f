"""AttentionMix's Tables 2 to 4: the paper's layers in encoders of other depths, and the published numbers."""

import pytest
from test_datasets import write
from test_explained_studies import rows

import families
from salience.papers import mixing_tables
from salience.papers.attentionmix.tables import LAYERS, METHODS, as_deep
from salience.papers.mixing_tables import Cell, MixingTable
from salience.papers.tables import TABLES

TABLE = TABLES["attentionmix-tables"]()
OF_LAYERS = [f"AttentionMix, {rank} layer" for rank in ("best", "second", "third")]


@pytest.mark.parametrize("depth", [1, 2, 3, 6, 12, 24])
def test_layers_of_another_encoder_are_as_deep(depth):
    """The counterpart is the first layer that ends where the paper's ends, or later."""
    for layer in range(12):
        assert as_deep(layer, depth) == next(own for own in range(depth) if 12 * (own + 1) >= depth * (layer + 1))
    assert [as_deep(layer, 12) for layer in range(12)] == list(range(12))
    assert as_deep(0, depth) in (0, 1) and as_deep(11, depth) == depth - 1


def test_layers_of_the_paper_in_six_layers():
    """SST: layers 10, 0 and 2; MR: 1, 6 and 2; IMDB: 1, 0 and 2 (Tables 2 to 4)."""
    found = {
        name: [METHODS[method](name, 6)["method_options"]["layer"] for method in OF_LAYERS] for name in TABLE.published
    }
    assert found == {"sst5": [5, 0, 1], "mr": [0, 3, 1], "imdb": [0, 0, 1]}
    assert [METHODS[OF_LAYERS[0]](name, 12)["method_options"]["layer"] for name in TABLE.published] == [10, 1, 1]


def test_published_numbers_are_as_the_paper_says():
    """Sections 6.1 to 6.3: of six configurations on SST all are above no mixing, all but one above every benchmark; on
    MR five of six are above no mixing. Layers are in descending order, and the best head is above all of them."""
    for told in TABLE.published.values():
        layers = [told[method] for method in LAYERS]
        assert layers == sorted(layers, reverse=True) and told["AttentionMix, chosen head"] > layers[0]
    benchmarks = ("standard", "wordMixup", "MixupEncoding")
    sst, mr = TABLE.published["sst5"], TABLE.published["mr"]
    assert [max(sst[name] for name in benchmarks) < sst[method] for method in LAYERS] == [True, True, False]
    assert all(sst[method] > sst["standard"] for method in LAYERS)
    assert [mr[method] > mr["standard"] for method in LAYERS] == [True, True, False]


def test_a_cell_is_trained_by_the_layer_of_its_set_and_encoder(tmp_path, monkeypatch):
    own = [
        {"text": row["text"], "label": row["label"].split()[-1]} for row in rows(60, seed=1)
        if row["label"] != "neutral"
    ]  # fmt: skip
    for part, chosen in (("train", own[:30]), ("test", own[30:])):
        write(tmp_path / "mr", part, chosen)
    encoder = families.save_tiny_model(tmp_path / "encoder", [row["text"] for row in own])
    trained = []

    def noted(data, name, settings, seed, model, part):
        trained.append(settings["method_options"]["layer"])
        return prepare_equal(data, name, settings, seed, model, part)

    prepare_equal = mixing_tables.prepare_equal
    monkeypatch.setattr(mixing_tables, "prepare_equal", noted)
    table = MixingTable({method: METHODS[method] for method in OF_LAYERS}, {"mr": {}}, (), model=str(encoder))
    for method in OF_LAYERS:
        table.run(Cell("mr", method, 16, 0, str(encoder)), tmp_path)
    assert trained == [0, 1, 0]  # of the encoder's two layers, for the paper's layers 1, 6 and 2
