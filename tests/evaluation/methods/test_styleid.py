"""StyleID: what is swapped, by which rank, in which area and at which level."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.errors import EvaluationError, TooFewPeople
from evaluation.faces import crop_window
from evaluation.methods.attribute_control import corrected, read_values
from evaluation.methods.channels import ChannelSwap, blocks_of, chosen_channels, rank_blocks
from evaluation.methods.disentanglement import code_swap, layer_swap, score_swaps
from evaluation.methods.generated import points_at_rest
from evaluation.methods.latents import LayerSwap
from evaluation.methods.levels import TunableStyleId, dealt_values, least_channels
from evaluation.methods.looks import look_names, looks_of
from evaluation.methods.masked import AREAS, MaskSwap, area_alpha
from gallery.clustering.shuffle import RandomClustering
from gallery.diversity import attribute_diversity
from tests.evaluation.fakes import painted_people
from tests.evaluation.methods.linear_generator import CODES, LAYERS, LinearGenerator

pytestmark = pytest.mark.unit

GENERATOR = LinearGenerator()
FACES = painted_people(0, people=10, pictures=2)
CROPS = np.ascontiguousarray(FACES.images[:, *crop_window()])
SECRET = b"s" * 32


def test_a_whole_swap_moves_identity_as_far_as_strangers_and_no_swap_does_not() -> None:
    swaps = [layer_swap(()), layer_swap(range(LAYERS))]
    found = score_swaps(GENERATOR, swaps, pairs=8)
    assert found.identity[0].max() < 1e-3
    assert found.identity[1].mean() == pytest.approx(found.strangers, abs=0.05)
    assert found.scores[0] == pytest.approx(0, abs=1e-6)


def test_ranking_prefers_channels_that_move_identity_and_not_looks() -> None:
    planted = np.zeros((2, CODES), np.bool_)
    looks = np.abs(GENERATOR.directions.basis[:, :2]).sum(axis=1)
    planted[0, np.argsort(-looks)[:2]] = True
    planted[1, np.argsort(looks)[:2]] = True
    swaps = [code_swap(GENERATOR.directions, mask) for mask in planted]
    scores = score_swaps(GENERATOR, swaps, pairs=12).scores
    assert scores[1] > scores[0]


def test_blocks_cover_all_channels_and_the_best_are_chosen_first() -> None:
    ranking = rank_blocks(GENERATOR, 4, pairs=6)
    assert np.sum(blocks_of(CODES, 4), axis=0).tolist() == [1] * CODES
    assert ranking.scores[ranking.order[0]] == ranking.scores.max()
    best = chosen_channels(ranking, 1)
    assert best.sum() == 4
    np.testing.assert_array_equal(best, blocks_of(CODES, 4)[int(ranking.order[0])])


def test_a_channel_swap_keeps_the_persons_other_channels_and_repeats_itself() -> None:
    method = ChannelSwap(GENERATOR, share=0.5, size=4)
    release = method.anonymize(FACES, SECRET)
    directions = GENERATOR.directions
    own, made = (directions.codes(part) for part in (GENERATOR.encoded(CROPS), release.latents))
    np.testing.assert_allclose(made[:, ~method.chosen], own[:, ~method.chosen], atol=1e-3)
    assert not np.allclose(made[:, method.chosen], own[:, method.chosen], atol=0.1)
    again = ChannelSwap(GENERATOR, share=0.5, size=4).anonymize(FACES, SECRET)
    np.testing.assert_array_equal(release.images, again.images)
    other = method.anonymize(FACES, b"t" * 32)
    assert not np.array_equal(release.images, other.images)


def test_single_layers_can_be_swapped_too() -> None:
    release = LayerSwap(GENERATOR, (1, 4)).anonymize(FACES, SECRET)
    own = GENERATOR.encoded(CROPS)
    np.testing.assert_allclose(release.latents[:, [0, 2, 3, 5]], own[:, [0, 2, 3, 5]], atol=1e-4)
    assert not np.allclose(release.latents[:, [1, 4]], own[:, [1, 4]])


def test_areas_grow_and_nothing_changes_outside_them() -> None:
    points = points_at_rest(GENERATOR.shape)[0]
    shares = [float(area_alpha(points, area, 128).mean()) for area in AREAS]
    assert shares == sorted(shares)
    assert shares[0] > 0.02
    assert shares[-1] == 1
    release = MaskSwap(GENERATOR, "eyes").anonymize(FACES, SECRET)
    outside = area_alpha(points, "eyes", 128) == 0
    kept = release.images[:, *crop_window()][:, outside]
    np.testing.assert_array_equal(kept, CROPS[:, outside])
    inside = area_alpha(points, "eyes", 128) == 1
    assert (release.images[:, *crop_window()][:, inside] != CROPS[:, inside]).mean() > 0.5


def test_correction_reaches_the_wanted_values_and_leaves_the_rest() -> None:
    latents = GENERATOR.latents(np.arange(20))
    wanted = {"gender": np.ones(20, np.int64), "age": np.full(20, 2)}
    made = corrected(GENERATOR.looks, GENERATOR.directions, latents, wanted)
    values = read_values(GENERATOR.looks, made)
    np.testing.assert_array_equal(values["gender"], wanted["gender"])
    np.testing.assert_array_equal(values["age"], wanted["age"])
    np.testing.assert_allclose(made[..., 3:], latents[..., 3:], atol=0.6)


def test_looks_are_shares_with_a_name_each() -> None:
    looks = looks_of(GENERATOR, CROPS)
    assert looks.shape == (20, len(look_names(GENERATOR.looks)))
    assert looks.min() >= 0
    assert looks.max() <= 1


def test_low_goes_just_beyond_the_threshold() -> None:
    chosen = least_channels(GENERATOR)
    found = score_swaps(GENERATOR, [code_swap(GENERATOR.directions, chosen)], 12)
    assert found.identity.mean() >= np.sqrt(2 - 2 * GENERATOR.match)
    strict = least_channels(LinearGenerator(match=0.99))
    assert strict.sum() <= chosen.sum()


def test_medium_keeps_gender_and_age_and_nothing_else_of_the_person() -> None:
    release = TunableStyleId(GENERATOR, "medium").anonymize(FACES, SECRET)
    own = GENERATOR.encoded(CROPS)
    means = np.stack([own[FACES.persons == person].mean(axis=0) for person in FACES.persons])
    before, after = (read_values(GENERATOR.looks, part) for part in (means, release.latents))
    np.testing.assert_array_equal(before["gender"], after["gender"])
    np.testing.assert_array_equal(before["age"], after["age"])
    scrambled = FACES.showing(FACES.images[::-1].copy())
    other = TunableStyleId(GENERATOR, "medium").anonymize(scrambled, SECRET)
    np.testing.assert_allclose(other.latents[..., 5:], release.latents[..., 5:], atol=0.6)


def test_high_deals_values_that_are_diverse_and_depend_on_nobody() -> None:
    method = TunableStyleId(GENERATOR, "high", k=5)
    release = method.anonymize(FACES, SECRET)
    assert method.kind == "surrogate"
    assert not release.mixing.any()
    assert method.diversity["gender"].distinct == 2
    changed = FACES.showing(FACES.images[::-1].copy())
    again = TunableStyleId(GENERATOR, "high", k=5).anonymize(changed, SECRET)
    np.testing.assert_array_equal(release.latents, again.latents)
    with pytest.raises(TooFewPeople, match="11"):
        TunableStyleId(GENERATOR, "high", k=11).anonymize(FACES, SECRET)
    with pytest.raises(EvaluationError, match="larger k"):
        TunableStyleId(GENERATOR, "high", k=1).anonymize(FACES, SECRET)


def test_dealt_values_are_l_diverse_and_t_close_in_every_cluster() -> None:
    persons = np.repeat(np.arange(47), 2)
    partition = RandomClustering().partition(np.zeros((94, 1), np.float32), 6, 1, persons)
    random = np.random.default_rng(0)
    crowd = {"gender": random.integers(0, 2, 300), "age": random.integers(0, 4, 300)}
    dealt = dealt_values(crowd, partition, SECRET)
    for name, l_min in (("gender", 1.7), ("age", 2.5)):
        found = attribute_diversity(partition, dealt[name])
        assert found.effective >= l_min
        assert found.distance <= 0.3
        np.testing.assert_array_equal(dealt[name][::2], dealt[name][1::2])
