"""Keyed randomness is repeatable with the key alone; sealing hides, binds and detects."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gallery.errors import SealBroken, SecretMissing
from gallery.secrets import KEY_VARIABLE, KeyedRandom, SecretRing, fresh_key

pytestmark = pytest.mark.unit

KEY = bytes(range(32))


def test_same_key_and_context_repeats_every_kind_of_draw() -> None:
    a, b = KeyedRandom(KEY, "face", 7), KeyedRandom(KEY, "face", 7)
    assert a.token(13) == b.token(13)
    assert a.integer(10**9) == b.integer(10**9)
    assert np.array_equal(a.normal(14, 8), b.normal(14, 8))
    assert np.array_equal(a.permutation(9), b.permutation(9))


@pytest.mark.parametrize(
    "context",
    [("face", 8), ("face", "7"), ("face7",), ("fac", "e", 7), (b"face", 7), ()],
    ids=["number", "type", "joined", "split", "bytes", "none"],
)
def test_other_context_gives_other_stream(context: tuple[str | int | bytes, ...]) -> None:
    assert KeyedRandom(KEY, *context).token(32) != KeyedRandom(KEY, "face", 7).token(32)


def test_other_key_gives_other_stream_of_the_same_context() -> None:
    assert KeyedRandom(fresh_key(), "x").token(32) != KeyedRandom(fresh_key(), "x").token(32)


def test_drawing_in_pieces_equals_drawing_at_once() -> None:
    pieces, whole = KeyedRandom(KEY), KeyedRandom(KEY)
    assert pieces.token(5) + pieces.token(60) + pieces.token(1) == whole.token(66)


def test_child_does_not_depend_on_what_its_parent_drew() -> None:
    used = KeyedRandom(KEY)
    used.token(100)
    assert used.child("a").token(8) == KeyedRandom(KEY).child("a").token(8)
    assert used.child("a").token(8) != used.child("b").token(8)


def test_integers_are_uniform_over_a_range_that_is_no_power_of_two() -> None:
    keyed = KeyedRandom(KEY)
    counts = np.bincount([keyed.integer(6) for _ in range(12_000)], minlength=6)
    assert float(((counts - 2000.0) ** 2 / 2000.0).sum()) < 20.5  # chi-square, 5 df, p = 0.001


def test_normal_values_have_unit_moments_and_light_tails() -> None:
    values = KeyedRandom(KEY).normal(200, 512).astype(np.float64)
    assert abs(values.mean()) < 0.01
    assert abs(values.std() - 1.0) < 0.01
    assert abs((values**4).mean() - 3.0) < 0.1


def test_permutations_of_three_are_equally_likely() -> None:
    keyed = KeyedRandom(KEY)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        order = tuple(keyed.permutation(3).tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6
    assert min(seen.values()) > 850


@given(population=st.integers(0, 60), data=st.data())
@settings(max_examples=60)
def test_sample_holds_different_members_of_the_population(
    population: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, population))
    drawn = KeyedRandom(KEY, population, count).sample(population, count).tolist()
    assert len(set(drawn)) == count
    assert all(0 <= value < population for value in drawn)


def test_short_key_is_refused() -> None:
    with pytest.raises(SecretMissing, match="16 bytes"):
        KeyedRandom(b"short")


@pytest.mark.parametrize("high", [0, -1, 2**63 + 1])
def test_integer_outside_its_range_is_refused(high: int) -> None:
    with pytest.raises(ValueError, match="high"):
        KeyedRandom(KEY).integer(high)


def test_sample_larger_than_population_is_refused() -> None:
    with pytest.raises(ValueError, match="draw"):
        KeyedRandom(KEY).sample(2, 3)


def test_sealing_twice_never_gives_the_same_bytes_nor_shows_the_clear_ones() -> None:
    ring = SecretRing.ephemeral()
    embedding = KeyedRandom(KEY).normal(512)
    first, second = (ring.seal(embedding.tobytes(), "e") for _ in range(2))
    assert first != second
    clear = embedding.tobytes()
    assert all(clear[i : i + 8] not in first for i in range(0, len(clear) - 8, 4))


def test_changed_bit_anywhere_is_detected() -> None:
    ring = SecretRing.ephemeral()
    sealed = ring.seal(b"x" * 8, "e")
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(SealBroken):
            ring.unseal(bytes(changed), "e")


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x01abcd", b"\x02" + b"z" * 60])
def test_truncated_or_foreign_bytes_are_refused(sealed: bytes) -> None:
    with pytest.raises(SealBroken):
        SecretRing.ephemeral().unseal(sealed, "e")


def test_sealed_value_moved_to_another_place_is_refused() -> None:
    ring = SecretRing.ephemeral()
    with pytest.raises(SealBroken, match="moved"):
        ring.unseal(ring.seal(b"x", "window", 1), "window", 2)


def test_rotated_ring_opens_the_old_and_seals_with_the_new() -> None:
    old = SecretRing.ephemeral()
    new = old.rotated()
    assert new.unseal(old.seal(b"x", "e"), "e") == b"x"
    assert new.current_id != old.current_id
    with pytest.raises(SealBroken, match="older key"):
        old.unseal(new.seal(b"x", "e"), "e")


def test_rotation_forgets_keys_beyond_those_kept() -> None:
    old = SecretRing.ephemeral()
    newest = old.rotated(keep=1).rotated(keep=1)
    with pytest.raises(SealBroken):
        newest.unseal(old.seal(b"x", "e"), "e")


def test_ring_survives_the_way_through_a_private_file(tmp_path: Path) -> None:
    ring = SecretRing.ephemeral().rotated()
    path = tmp_path / "keys"
    ring.write(path)
    assert path.stat().st_mode & 0o077 == 0
    assert SecretRing.from_file(path).unseal(ring.seal(b"x", "e"), "e") == b"x"


def test_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    SecretRing.ephemeral().write(path)
    path.chmod(0o644)
    with pytest.raises(SecretMissing, match="chmod 600"):
        SecretRing.from_file(path)


def test_absent_key_file_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SecretMissing, match="cannot read"):
        SecretRing.from_file(tmp_path / "none")


def test_environment_gives_the_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2)]
    monkeypatch.setenv(KEY_VARIABLE, ",".join(keys))
    sealed = SecretRing([bytes([2]) * 32]).seal(b"x", "e")
    assert SecretRing.from_environment().unseal(sealed, "e") == b"x"


@pytest.mark.parametrize("text", ["", "   ", "not base64!", "c2hvcnQ="])
def test_useless_environment_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, text)
    with pytest.raises(SecretMissing):
        SecretRing.from_environment()


def test_no_representation_shows_a_key() -> None:
    ring = SecretRing([KEY])
    shown = repr(ring) + repr(KeyedRandom(KEY))
    assert KEY.hex() not in shown
    assert repr(KEY) not in shown
