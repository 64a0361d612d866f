"""wordMixup's successor at the output of the embedding block (methods.md 3.2)."""

import pytest
import torch

from families import FAMILIES, batch, distinct_batch
from reference import close
from salience import EmbedMix, forward_mixed, stages
from salience.hooks.hooks import forward
from salience.mixing.method import neighbours, shuffle, swap_halves


def test_gold():
    """X_A = (1, 2), X_B = (3, -2), lambda = .75: (1.5, 1); the other way round (2.5, -1), under the same lambda."""
    mix = EmbedMix(ratio=0.75)(distinct_batch([1, 1]), None)
    assert mix.level == "embeddings"
    assert mix.blend(torch.tensor([[[1.0, 2.0]], [[3.0, -2.0]]])).tolist() == [[[1.5, 1.0]], [[2.5, -1.0]]]
    assert mix.share.tolist() == [0.75, 0.75]


def test_one_weight_for_the_whole_batch_and_its_label():
    own = distinct_batch([3, 5, 2, 8])
    for _ in range(20):
        mix = EmbedMix()(own, None)
        assert mix.share.shape == (4,)
        assert len(set(mix.share.tolist())) == 1
        representation = torch.tensor([1.0, 0.0, 0.0, 0.0]).view(4, 1, 1).expand(4, 10, 3)
        blended = mix.blend(representation)
        assert close(blended[0], mix.share[0], 1e-6)
        assert close(blended[2], 1 - mix.share[0], 1e-6)


def test_weights_are_drawn_from_the_larger_side_of_beta():
    """E[max(l, 1 - l)] for l ~ Beta(.2, .2) is .899 (methods.md); 2,000 draws are within .015, five deviations."""
    own = distinct_batch([2, 2])
    draws = torch.tensor([EmbedMix()(own, None).share[0].item() for _ in range(2000)])
    assert (draws >= 0.5).all()
    assert (draws <= 1).all()
    assert draws.mean().item() == pytest.approx(0.899, abs=0.015)


def test_the_seed_decides():
    own = distinct_batch([2, 2, 3])
    draws = []
    for seed in (1, 1, 2):
        torch.default_generator.manual_seed(seed)
        mix = EmbedMix(pair=shuffle)(own, None)
        draws.append((mix.partner.tolist(), mix.share.tolist()))
    assert draws[0] == draws[1]
    assert draws[0][1] != draws[2][1]


def test_defaults_are_the_ssmix_papers():
    method = EmbedMix()
    assert (method.alpha, method.largest, method.ratio, method.pair) == (0.2, True, None, swap_halves)
    assert method.guide is None


@pytest.mark.parametrize("family", FAMILIES)
def test_ratio_one_is_the_plain_model_and_ratio_zero_the_partner(family):
    model = FAMILIES[family]().double()
    own = batch([6, 6, 6, 6], family=family)
    with torch.no_grad():
        plain = forward(model, own)
        kept = forward_mixed(model, own, EmbedMix(ratio=1.0, largest=False)(own, None))
        swapped = forward_mixed(model, own, EmbedMix(ratio=0.0, largest=False)(own, None))
    assert not close(plain[0], plain[2], 1e-2)
    assert close(kept, plain)
    assert close(swapped, plain[swap_halves(own)])


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_mixed_with_themselves_stay_themselves(family):
    model = FAMILIES[family]().double()
    own = batch([6, 1, 9], family=family)
    mix = EmbedMix(ratio=0.6, pair=lambda batch: torch.arange(len(batch.input_ids)))(own, None)
    with torch.no_grad():
        assert close(forward_mixed(model, own, mix), forward(model, own))


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_against_two_passes_by_hand(attention):
    """BERT from the mixed embeddings on, every layer under the union of the two masks."""
    model = FAMILIES["bert"]().double()
    model.set_attn_implementation(attention)
    own = batch([7, 2, 5, 11])
    mix = EmbedMix(ratio=0.75, pair=neighbours)(own, None)
    with torch.no_grad():
        embedded = model.bert.embeddings(input_ids=own.input_ids)
        hidden = 0.75 * embedded + 0.25 * embedded[[1, 0, 3, 2]]
        union = torch.maximum(own.attention_mask, own.attention_mask[[1, 0, 3, 2]])
        allowed = torch.where(union.bool(), 0.0, -1e9).double()[:, None, None, :]
        model.set_attn_implementation("eager")
        for layer in model.bert.encoder.layer:
            output = layer(hidden, allowed)
            hidden = output[0] if isinstance(output, tuple) else output
        expected = model.classifier(model.bert.pooler(hidden))
        model.set_attn_implementation(attention)
        assert close(forward_mixed(model, own, mix), expected)


def test_the_level_is_the_output_of_the_embedding_block():
    """After positions and LayerNorm, before the first layer; for BERT that is `bert.embeddings`."""
    model = FAMILIES["bert"]()
    assert stages(model)["embeddings"] is model.bert.embeddings
    assert stages(model)["words"] is model.get_input_embeddings()
