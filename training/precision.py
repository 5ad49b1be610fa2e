"""The precision of training: bfloat16 where the machine has units for it, float32 elsewhere.

A processor without such units computes bfloat16 by widening, at half the speed of float32.
"""

from typing import Final

import torch

__all__ = ["fast_precision"]

_UNITS: Final = ("amx_bf16", "avx512_bf16", "arm_bf16")


def fast_precision(device: torch.device) -> torch.autocast:
    """The context of a forward pass on `device`; losses and weights stay in float32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=_has_bfloat16(device))


def _has_bfloat16(device: torch.device) -> bool:
    if device.type != "cpu":
        return True
    has = torch.cpu.get_capabilities()
    return any(bool(has.get(unit)) for unit in _UNITS)
