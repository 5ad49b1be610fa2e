"""Donors are dealt in a secret order, look-alikes far from each other."""

from __future__ import annotations

import numpy as np
import pytest

from gallery import dealing
from gallery.dealing import Deals, Indices, dealt, look_alikes
from gallery.donors import DonorPopulation, dealt_card
from gallery.secrets import KeyedRandom

pytestmark = pytest.mark.unit

COUNT = 200
POOL = np.arange(COUNT)


def keyed(name: str = "a") -> KeyedRandom:
    return KeyedRandom(b"k" * 32, name)


def order_of(pairs: Indices, count: int, name: str = "a") -> Indices:
    return dealt(keyed(name), POOL, look_alikes(pairs, COUNT), count)


def drawn_pairs(each: int) -> Indices:
    """Look-alikes drawn at random: so many per person, on the mean."""
    pairs = np.random.default_rng(0).integers(0, COUNT, (COUNT * each // 2, 2))
    return np.asarray(np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]]), axis=0), np.intp)


def met(order: Indices, pairs: Indices) -> int:
    """Look-alikes who are both among the dealt."""
    return int(np.isin(pairs, order).all(axis=1).sum())


@pytest.mark.parametrize("each", [0, 6])
def test_everybody_is_dealt_once(each: int) -> None:
    order = order_of(drawn_pairs(each), COUNT)
    assert sorted(order.tolist()) == POOL.tolist()


@pytest.mark.parametrize("each", [0, 6])
def test_fewer_are_the_beginning_of_more(each: int) -> None:
    pairs = drawn_pairs(each)
    some, more = (order_of(pairs, count) for count in (30, 90))
    assert np.array_equal(some, more[:30])


def test_no_look_alikes_are_dealt_while_there_are_others() -> None:
    pairs = drawn_pairs(6)
    first = order_of(pairs, 50)
    by_chance = order_of(pairs[:0], 50)
    assert met(first, pairs) == 0
    assert met(by_chance, pairs) > 20
    later = order_of(pairs, 100)
    assert met(later, pairs) < 0.7 * met(order_of(pairs[:0], 100), pairs)


def test_another_key_deals_others() -> None:
    pairs = drawn_pairs(6)
    one, other = (order_of(pairs, 40, name) for name in "ab")
    assert len(set(one.tolist()) & set(other.tolist())) < 20


def test_everybody_is_among_the_first_under_some_key() -> None:
    """But whoever resembles many others is less often."""
    pairs = drawn_pairs(6)
    seen = np.bincount(
        np.concatenate([order_of(pairs, 50, str(n)) for n in range(200)]), minlength=COUNT
    )
    assert seen.min() > 0


def test_look_alikes_outside_the_pool_do_not_matter() -> None:
    pairs = drawn_pairs(6)
    pool = np.arange(0, COUNT, 2)
    within = pairs[(pairs % 2 == 0).all(axis=1)]
    every, some = (dealt(keyed(), pool, look_alikes(each, COUNT), 100) for each in (pairs, within))
    assert np.array_equal(every, some)


@pytest.mark.parametrize("each", [0, 6])
def test_remembered_orders_deal_the_same_cards(each: int) -> None:
    latents = np.random.default_rng(0).normal(size=(COUNT, 1, 8)).astype(np.float32)
    people = DonorPopulation(latents, alike=drawn_pairs(each))
    deals = Deals()
    for scope in ("a", "b"):
        for number in (0, 150, 3, -1, 70, COUNT + 2):
            for draw in (0, 5, 1):
                at = (people, keyed(scope), number)
                anew = dealt_card(*at, draw=draw, at_once=9)
                assert dealt_card(*at, draw=draw, at_once=9, deals=deals).main == anew.main


def test_deck_is_dealt_once_and_further_where_more_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def counting(random: KeyedRandom, pool: Indices, alike: object, count: int) -> Indices:
        asked.append(count)
        return pool[:count]

    monkeypatch.setattr(dealing, "dealt", counting)
    deals, alike = Deals(), look_alikes(drawn_pairs(0), COUNT)
    for count in (1, 40, 64, 65, 100, COUNT):
        assert len(deals.deck(keyed(), POOL, alike, count)) >= count
    assert asked == [64, 128, COUNT]
    deals.deck(keyed("b"), POOL, alike, 1)
    assert len(asked) == 4
    deals.forget()
    deals.deck(keyed(), POOL, alike, 1)
    assert len(asked) == 5


def test_memory_of_orders_is_bounded() -> None:
    deals, alike = Deals(), look_alikes(drawn_pairs(0), COUNT)
    for number in range(100):
        deals.deck(keyed(str(number)), POOL, alike, 1)
    assert len(deals._kept) <= 64
