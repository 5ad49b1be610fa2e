"""What lies beside the pictures of a track and cannot be written again, in words."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import av
from av.sidedata.sidedata import SideData

__all__ = ["lost_beside"]

_KEPT: Final = frozenset(
    {
        *("DISPLAYMATRIX", "MASTERING_DISPLAY_METADATA", "CONTENT_LIGHT_LEVEL"),
        # Of no use to a player, or used up by the decoder.
        *("MOTION_VECTORS", "VIDEO_ENC_PARAMS", "VIDEO_HINT", "FILM_GRAIN_PARAMS"),
        # Text and findings about the scene, which are not to pass.
        *("SEI_UNREGISTERED", "DETECTION_BBOXES", "REGIONS_OF_INTEREST"),
    }
)
_NAMES: Final = MappingProxyType(
    {
        "SPHERICAL": "360° projection",
        "STEREO3D": "stereo layout",
        "DOVI_METADATA": "Dolby Vision",
        "DOVI_RPU_BUFFER": "Dolby Vision",
        "DYNAMIC_HDR_PLUS": "HDR10+",
        "DYNAMIC_HDR_VIVID": "HDR Vivid",
        "AMBIENT_VIEWING_ENVIRONMENT": "light around the viewer",
        "A53_CC": "closed captions",
        "S12M_TIMECODE": "time code",
        "GOP_TIMECODE": "time code",
        "ICC_PROFILE": "colour profile",
        "AFD": "active format",
        "PANSCAN": "pan and scan",
    }
)
_FLAT: Final = bytes(4)
"""How a stereo layout says that there is but one picture."""


def lost_beside(image: av.VideoFrame) -> set[str]:
    """Names of what a decoded frame carries beside its pixels and no output will."""
    return {
        _NAMES.get(data.type.name, data.type.name.lower().replace("_", " "))
        for data in image.side_data
        if isinstance(data, SideData) and data.type.name not in _KEPT and not _is_flat(data)
    }


def _is_flat(data: SideData) -> bool:
    return data.type.name == "STEREO3D" and bytes(data)[:4] == _FLAT
