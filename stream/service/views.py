"""What the REST interface answers: nothing personal, and addresses without their secrets."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from stream.files.report import ClusterCounts, EngineChoice, FaceCounts, FrameCounts, StageTimes
from stream.live.address import address_from_text
from stream.live.errors import AddressRefused
from stream.service.fleet import Member

__all__ = ["Health", "LatencyView", "ReportView", "StreamView", "report_of", "view_of"]


class View(BaseModel):
    """An answer."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
    )


class Health(View):
    """Whether the service lives, and why it would not."""

    status: Literal["ok", "not ready"]
    reasons: list[str] = []


class LatencyView(View):
    """Recent time from decoded to handed to the encoders, ms."""

    p50_ms: float = 0
    p95_ms: float = 0
    largest_ms: float = 0


class StreamView(View):
    """A stream at this moment."""

    name: str
    source: str
    """Where it comes from, without secrets; `whip` for browsers."""
    state: Literal["stopped", "connecting", "waiting_for_video", "live", "lost", "ended"] = (
        "stopped"
    )
    output: Literal["off", "live", "slate"] = "off"
    trouble: str = ""
    fps_in: float = 0
    fps_out: float = 0
    latency: LatencyView = LatencyView()
    audio: Literal["pass", "drop"]
    """Whether sound leaves with the pictures."""
    effort: str = "full"
    """`full`, `coarse`, `sparse` or `cover`: what an overload makes of the stream."""
    viewers: int = 0
    sinks: dict[str, str] = {}
    counts: dict[str, int] = {}


class ReportView(View):
    """What became of a stream's frames and faces since it was started."""

    name: str
    method: str
    frames: FrameCounts = FrameCounts()
    faces: FaceCounts = FaceCounts()
    clusters: ClusterCounts = ClusterCounts()
    stages: dict[str, StageTimes] = {}
    counts: dict[str, int] = {}
    engines: list[EngineChoice]


def view_of(member: Member) -> StreamView:
    """A stream as the REST interface shows it."""
    running, spec = member.running, member.spec
    if running is None:
        return StreamView(name=spec.name, source=_label(spec.source), audio=spec.audio)
    status = running.live.status()
    latency = status.latency
    return StreamView(
        name=spec.name,
        source=_label(spec.source),
        state=status.source,
        output=status.output,
        trouble=status.trouble,
        fps_in=status.fps_in,
        fps_out=status.fps_out,
        latency=LatencyView(
            p50_ms=round(latency.p50_s * 1e3, 1),
            p95_ms=round(latency.p95_s * 1e3, 1),
            largest_ms=round(latency.largest_s * 1e3, 1),
        ),
        audio=spec.audio,
        effort=running.anonymizers.overload.effort.name.lower(),
        viewers=running.viewers,
        sinks=status.sinks,
        counts={str(name): number for name, number in status.counts.items()},
    )


def report_of(member: Member, method: str, engines: list[EngineChoice]) -> ReportView:
    """The report of a stream; empty counts while it is stopped."""
    running = member.running
    if running is None:
        return ReportView(name=member.spec.name, method=method, engines=engines)
    counts = {str(name): number for name, number in running.live.counters.counts().items()}
    made = running.anonymizers
    return ReportView(
        name=member.spec.name,
        method=method,
        frames=made.tally.frames(counts.get("frames_in", 0), counts.get("frames_damaged", 0)),
        faces=made.tally.faces(),
        clusters=made.clusters(),
        stages=made.stages.summary(),
        counts=counts,
        engines=engines,
    )


def _label(source: str) -> str:
    if not source:
        return "whip"
    try:
        return str(address_from_text(source))
    except AddressRefused:
        return "malformed"
