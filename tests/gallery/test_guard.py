"""Each failure becomes its cause to cover; programming errors do not."""

from __future__ import annotations

import pytest

from gallery.assignments import CoverCause
from gallery.errors import (
    BufferBroken,
    EmbeddingsRejected,
    LedgerBroken,
    SealBroken,
    SettingsConflict,
    StoreUnavailable,
)
from gallery.guard import Guard

pytestmark = pytest.mark.unit


def failing(error: Exception) -> CoverCause | None:
    raise error


@pytest.mark.parametrize(
    ("error", "cause", "distrusts"),
    [
        (StoreUnavailable("x"), "store_unavailable", 0),
        (BufferBroken("x"), "store_untrusted", 1),
        (SealBroken("x"), "store_untrusted", 1),
        (SettingsConflict("x"), "store_untrusted", 1),
        (EmbeddingsRejected("x"), "unusable_embedding", 0),
        (LedgerBroken("x"), "ledger_unavailable", 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_failure_becomes_its_cause(error: Exception, cause: str, distrusts: int) -> None:
    distrusted: list[int] = []
    guard = Guard(lambda: 0.0, 1.0, lambda: distrusted.append(1))
    assert guard.run(lambda: failing(error)) == cause
    assert len(distrusted) == distrusts


def test_own_cause_of_the_work_is_passed_on() -> None:
    guard = Guard(lambda: 0.0, 1.0, lambda: None)
    assert guard.run(lambda: "below_k") == "below_k"
    assert guard.run(lambda: None) is None


def test_defect_is_not_swallowed() -> None:
    guard = Guard(lambda: 0.0, 1.0, lambda: None)
    with pytest.raises(ZeroDivisionError):
        guard.run(lambda: failing(ZeroDivisionError()))


def test_success_ends_the_row_of_failures() -> None:
    now_s = [0.0]
    guard = Guard(lambda: now_s[0], 1.0, lambda: None)
    for _ in range(3):
        guard.run(lambda: failing(StoreUnavailable("x")))
        now_s[0] += 100.0
    assert guard.run(lambda: None) is None
    guard.run(lambda: failing(StoreUnavailable("x")))
    now_s[0] += 1.0
    assert guard.run(lambda: None) is None
    assert guard.failures == 4
