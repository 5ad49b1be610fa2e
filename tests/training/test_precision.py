"""Training computes in bfloat16 only where the machine has units for it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")

from training.precision import fast_precision  # noqa: E402

pytestmark = [pytest.mark.unit, pytest.mark.torch]


@pytest.mark.parametrize("has_units", [False, True])
def test_a_processor_without_units_computes_in_float32(
    has_units: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": has_units})
    values = torch.ones(2, 2)
    with fast_precision(torch.device("cpu")):
        made = values @ values
    assert made.dtype == (torch.bfloat16 if has_units else torch.float32)
