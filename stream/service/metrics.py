"""Prometheus metrics, read off the streams when asked; labels never name a person."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from stream.scheduling.scheduler import Scheduler
from stream.service.fleet import Fleet
from stream.service.views import StreamView, report_of, view_of

__all__ = ["FleetCollector", "metrics_text"]


class FleetCollector(Collector):
    """Turns the state of the fleet into metrics.

    Args:
        fleet: whose streams are told of.
        scheduler: that runs their networks.
    """

    def __init__(self, fleet: Fleet, scheduler: Scheduler) -> None:
        self._fleet = fleet
        self._scheduler = scheduler

    def collect(self) -> Iterator[Metric]:
        """Every metric of every stream."""
        members = self._fleet.members()
        views = [view_of(member) for member in members]
        yield from _flow(views)
        yield from _events(views)
        faces = CounterMetricFamily(
            "kveil_faces", "Faces in frames by outcome.", labels=["stream", "outcome", "cause"]
        )
        frames = CounterMetricFamily(
            "kveil_full_covers", "Frames covered in full.", labels=["stream", "cause"]
        )
        k_real = GaugeMetricFamily(
            "kveil_k_real_min", "Fewest real people behind a surrogate.", labels=["stream"]
        )
        store = GaugeMetricFamily(
            "kveil_gallery_store_failures",
            "Times that the store of people failed; new faces are covered meanwhile.",
            labels=["stream"],
        )
        stages = GaugeMetricFamily(
            "kveil_stage_seconds", "Time of a stage per frame.", labels=["stream", "stage", "q"]
        )
        for member in members:
            report, name = report_of(member, "", []), member.spec.name
            faces.add_metric([name, "swapped", ""], report.faces.swapped)
            for cause, number in report.faces.covered_by_cause.items():
                faces.add_metric([name, "covered", cause], number)
            for cause, number in report.frames.covered_fully_by_cause.items():
                frames.add_metric([name, cause], number)
            k_real.add_metric([name], report.clusters.k_real_min)
            store.add_metric([name], report.clusters.store_failures)
            for stage, times in report.stages.items():
                stages.add_metric([name, stage, "0.5"], times.p50_ms / 1e3)
                stages.add_metric([name, stage, "0.95"], times.p95_ms / 1e3)
        yield from (faces, frames, k_real, store, stages)
        yield from _engines(self._scheduler)
        yield GaugeMetricFamily(
            "kveil_stuck_threads", "Threads that did not leave.", value=len(self._fleet.stuck)
        )


def metrics_text(fleet: Fleet, scheduler: Scheduler) -> bytes:
    """All metrics in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(FleetCollector(fleet, scheduler))
    return generate_latest(registry)


def _flow(views: list[StreamView]) -> Iterator[Metric]:
    fps = GaugeMetricFamily("kveil_fps", "Frames per second.", labels=["stream", "direction"])
    latency = GaugeMetricFamily(
        "kveil_latency_seconds", "Decoded to handed to the encoders.", labels=["stream", "q"]
    )
    up = GaugeMetricFamily("kveil_source_up", "1 while video comes in.", labels=["stream"])
    slate = GaugeMetricFamily("kveil_on_slate", "1 while slates go out.", labels=["stream"])
    viewers = GaugeMetricFamily("kveil_viewers", "Viewers by WHEP.", labels=["stream"])
    for view in views:
        fps.add_metric([view.name, "in"], view.fps_in)
        fps.add_metric([view.name, "out"], view.fps_out)
        latency.add_metric([view.name, "0.5"], view.latency.p50_ms / 1e3)
        latency.add_metric([view.name, "0.95"], view.latency.p95_ms / 1e3)
        up.add_metric([view.name], view.state == "live")
        slate.add_metric([view.name], view.output == "slate")
        viewers.add_metric([view.name], view.viewers)
    yield from (fps, latency, up, slate, viewers)


def _events(views: list[StreamView]) -> Iterator[Metric]:
    events = CounterMetricFamily(
        "kveil_events",
        "Frames, drops, reconnects and faults by kind.",
        labels=["stream", "event"],
    )
    for view in views:
        for event, number in view.counts.items():
            events.add_metric([view.name, event], number)
    yield events


def _engines(scheduler: Scheduler) -> Iterator[Metric]:
    events = CounterMetricFamily(
        "kveil_engine_events",
        "Runs of networks and their rows; requests that failed, came late or were refused; hangs.",
        labels=["event"],
    )
    for event, number in scheduler.counts().items():
        events.add_metric([event], number)
    yield events
    yield GaugeMetricFamily(
        "kveil_hung_runs", "Runs of networks that hang at present.", value=scheduler.hung
    )
