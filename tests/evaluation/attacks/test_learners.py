"""Learners of the attackers: each finds the relation that it is made for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.attacks.learners import Map, best_learner, kernel_ridge, network, ridge, unit

pytestmark = pytest.mark.unit

Rows = NDArray[np.float32]
RANDOM = np.random.default_rng(3)
INPUTS = RANDOM.normal(size=(240, 6)).astype(np.float32)
PLANE = unit(np.asarray(INPUTS @ RANDOM.normal(size=(6, 8)), np.float32))
BENT = unit(np.asarray(np.cos(2 * INPUTS) @ RANDOM.normal(size=(6, 8)), np.float32))


def agreement(fit: Callable[[Rows, Rows], Map], targets: Rows) -> float:
    guessed = unit(fit(INPUTS[:180], targets[:180])(INPUTS[180:]))
    return float((guessed * targets[180:]).sum(axis=1).mean())


def test_a_plane_is_found_by_ridge_regression() -> None:
    assert agreement(ridge, PLANE) > 0.9


@pytest.mark.parametrize("fit", [kernel_ridge, network])
def test_what_bends_is_found_by_kernel_and_network_where_a_plane_fails(
    fit: Callable[[Rows, Rows], Map],
) -> None:
    pytest.importorskip("sklearn", reason="the extra `evaluate` is not installed")
    assert agreement(fit, BENT) > agreement(ridge, BENT) + 0.2


def test_the_attacker_takes_the_learner_that_finds_his_own_people() -> None:
    chosen = best_learner(INPUTS, BENT)
    assert not chosen.name.startswith("ridge")
    assert chosen.found > 0.7


def test_noise_is_not_mistaken_for_a_relation() -> None:
    noise = unit(RANDOM.normal(size=(240, 8)).astype(np.float32))
    assert abs(best_learner(INPUTS, noise).found - 0.5) < 0.15


def test_equal_inputs_do_not_break_a_learner() -> None:
    flat = np.zeros((40, 5), np.float32)
    assert np.isfinite(best_learner(flat, PLANE[:40]).guess(flat)).all()
