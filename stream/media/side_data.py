"""What lies beside the pictures of a track: numbers by name, and what cannot be written again."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import av
from av.sidedata.sidedata import SideData, SideDataContainer

__all__ = ["integers_beside", "lost_beside"]

_KEPT: Final = frozenset(
    {
        # What the output tells, too, or its losses.
        *("DISPLAYMATRIX", "MASTERING_DISPLAY_METADATA", "CONTENT_LIGHT_LEVEL"),
        *("SPHERICAL", "STEREO3D"),
        # Of no use to a player, or used up by the decoder.
        *("MOTION_VECTORS", "VIDEO_ENC_PARAMS", "VIDEO_HINT", "FILM_GRAIN_PARAMS"),
        # Text and findings about the scene, which are not to pass.
        *("SEI_UNREGISTERED", "DETECTION_BBOXES", "REGIONS_OF_INTEREST"),
    }
)
_NAMES: Final = MappingProxyType(
    {
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


def lost_beside(image: av.VideoFrame) -> set[str]:
    """Names of what a decoded frame carries beside its pixels and no output will."""
    return {
        _NAMES.get(data.type.name, data.type.name.lower().replace("_", " "))
        for data in _beside(image)
        if data.type.name not in _KEPT
    }


def integers_beside(image: av.VideoFrame, kind: str) -> list[int]:
    """The 32-bit numbers that a decoded frame carries under a name of the library's; or none."""
    data: object = _beside(image).get(kind)
    if not isinstance(data, SideData):
        return []
    content = bytes(data)
    return memoryview(content[: len(content) // 4 * 4]).cast("i").tolist()


def _beside(image: av.VideoFrame) -> SideDataContainer:
    """What lies beside a frame, without the frame's knowledge.

    A frame that is asked for it keeps the container, and the container keeps the frame: the pixels
    of such a pair stay in memory until the collector of cycles finds them, dozens of frames later.
    """
    return SideDataContainer(image)  # type: ignore[call-arg]  # which the stub leaves out
