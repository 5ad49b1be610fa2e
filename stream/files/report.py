"""What a run did, counted: the JSON that accompanies every output.

The report holds counts, times and hashes; never a face, an embedding, a box or a number
that follows one person.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from stream.errors import writing
from stream.file_names import text_of
from stream.media.writing.partial_file import place_behind_links

__all__ = [
    "SCHEMA_VERSION",
    "ClusterCounts",
    "EngineChoice",
    "FaceCounts",
    "FileIdentity",
    "FrameCounts",
    "RunReport",
    "StageTimes",
    "TrackReport",
    "installed_versions",
    "save_report",
]

SCHEMA_VERSION = 1


class Part(BaseModel):
    """A group of figures; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class FileIdentity(Part):
    """One file, by content."""

    name: Annotated[str, BeforeValidator(text_of)]
    """File name without its folders; bytes that are no Unicode are written as `\\xe9`."""
    sha256: str
    size_bytes: int
    height: int = 0
    width: int = 0


class EngineChoice(Part):
    """A network, where it runs and why there."""

    role: str
    model_sha256: str
    backend: str
    precision: str
    reason: str


class FrameCounts(Part):
    """Frames, each counted once."""

    read: int = 0
    written: int = 0
    damaged: int = 0
    """Decoded with errors; covered in full."""
    covered_fully: int = 0
    covered_fully_by_cause: dict[str, int] = {}
    uncovered: int = 0
    """Frames that left without passing the compositor: 0, or the run failed."""

    def plus(self, other: FrameCounts) -> FrameCounts:
        """Both counts together."""
        return FrameCounts.model_validate(_added(self, other))


class FaceCounts(Part):
    """Faces in frames (one person in ten frames counts ten) and tracks."""

    tracks: int = 0
    swapped: int = 0
    covered: int = 0
    covered_by_cause: dict[str, int] = {}
    filled: int = 0
    """Face-frames covered between or around detections, where the detector saw nothing."""
    switches: int = 0
    """Times that a track changed between a surrogate and a cover."""
    switches_by_cause: dict[str, int] = {}
    """The same by why it was covered before or afterwards."""

    def plus(self, other: FaceCounts) -> FaceCounts:
        """Both counts together."""
        return FaceCounts.model_validate(_added(self, other))


class ClusterCounts(Part):
    """Sizes of the clusters that lent surrogates."""

    k: int = 0
    k_real_min: int = 0
    k_real_median: float = 0.0
    k_present_min: int = 0
    clusters: int = 0
    people: int = 0
    swaps_below_k: int = 0
    swaps_in_doubt: int = 0
    """Tracks whose person was in doubt, and which wear a face that belongs to no cluster."""
    redrawn: int = 0
    """Surrogates drawn again since they happened to resemble the person they were tried on."""
    of_next_bin: int = 0
    """Times that a track got a face of another bin, since too few donors are of its person's."""
    store_failures: int = 0
    """Times that the shared store did not answer or could not be trusted."""

    def since(self, before: ClusterCounts) -> ClusterCounts:
        """The same with what was counted after `before` alone; clusters and people as they are."""
        counted = {
            name: getattr(self, name) - getattr(before, name)
            for name in (
                "swaps_below_k",
                "swaps_in_doubt",
                "redrawn",
                "of_next_bin",
                "store_failures",
            )
        }
        return self.model_copy(update=counted)


class StageTimes(Part):
    """Time of one stage per frame, ms."""

    p50_ms: float
    p95_ms: float
    p99_ms: float
    runs: int


class TrackReport(Part):
    """What was counted of one video track, where a file shows several."""

    number: int
    height: int
    width: int
    encoder: str
    frames: FrameCounts
    faces: FaceCounts


class RunReport(Part):
    """One run of `kveil anonymize` on one input."""

    schema_version: int = SCHEMA_VERSION
    status: Literal["complete", "failed", "interrupted", "skipped"] = "failed"
    """`skipped`: an earlier run had finished it, and its report is not at hand."""
    error: str | None = None
    input: FileIdentity | None = None
    output: FileIdentity | None = None
    method: str = ""
    settings: dict[str, object] = {}
    versions: dict[str, str] = {}
    machine: dict[str, str] = {}
    engines: list[EngineChoice] = []
    encoder: str = ""
    encoder_reason: str = ""
    metadata_dropped: list[str] = []
    frames: FrameCounts = FrameCounts()
    faces: FaceCounts = FaceCounts()
    tracks: list[TrackReport] = []
    """One entry per video track, where all of several were asked for; else empty."""
    clusters: ClusterCounts = ClusterCounts()
    stages: dict[str, StageTimes] = {}
    fps: float = 0.0
    elapsed_s: float = 0.0
    warnings: list[str] = []
    losses: list[str] = []
    """Of the warnings those that tell what of the input is not as it was; told on the terminal."""


def installed_versions() -> dict[str, str]:
    """Versions of kveil and of the libraries that touch pixels."""
    names = ("kveil", "av", "numpy", "opencv-python-headless", "openvino", "onnxruntime")
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def save_report(report: BaseModel, path: Path) -> None:
    """Writes a report as JSON, complete or not at all.

    Raises:
        OutputNotWritable: the folder cannot be written.
    """
    text = json.dumps(_as_text(report.model_dump()), indent=2, ensure_ascii=False) + "\n"
    place = place_behind_links(path)
    with writing(path.name):
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=".kveil-", suffix=".partial")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _added(one: Part, other: Part) -> dict[str, int | dict[str, int]]:
    """Counts added by their names, those of causes too."""
    sums: dict[str, int | dict[str, int]] = {}
    for name in type(one).model_fields:
        a, b = getattr(one, name), getattr(other, name)
        sums[name] = dict(Counter(a) + Counter(b)) if isinstance(a, dict) else a + b
    return sums


def _as_text(value: object) -> object:
    """The same with every text valid Unicode: names of files may hold any bytes."""
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, Mapping):
        return {text_of(str(key)): _as_text(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_text(item) for item in value]
    return value
