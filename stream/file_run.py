"""Anonymizes one file: builds its pipeline, runs it, fills its report."""

from __future__ import annotations

import asyncio
import hmac
import platform
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from config.settings import Settings
from engines.stylegan.pack import bundled_pack, read_pack
from gallery.gallery import Gallery
from stream.anonymizer import Anonymizer
from stream.detection_setup import file_schedule, finder_for, tracker_for
from stream.digests import file_digest
from stream.donors import donor_pack
from stream.encoder_options import EncodeSettings
from stream.engine_set import EngineSet
from stream.errors import PrivacyRefused
from stream.file_sink import FileSink
from stream.finding_memory import FindingMemory
from stream.image_sink import ImageSink
from stream.interruption import held_back
from stream.jobs import Job
from stream.lending import GalleryLender, file_stream
from stream.media import Sink, StreamShape
from stream.methods import SWAP, method_cover
from stream.opening import RecordedSource, open_sink, open_source
from stream.partial_file import made_folder
from stream.pipeline import run_pipeline
from stream.replacement import CoverEveryFace, FaceReplacer
from stream.report import ClusterCounts, FileIdentity, RunReport, installed_versions
from stream.run_progress import RunProgress
from stream.segments import SegmentSink
from stream.stage_clock import StageClock
from stream.swap_setup import swap_by
from tracker.schedule import DetectionSchedule
from tracker.spans import KeySchedule
from tracker.tracker import Tracker

__all__ = ["recording_anonymizer", "run_file"]

_GIVE_UP_AFTER = 25
"""Frames in a row without a working detector; a second of a common video."""


def run_file(
    job: Job,
    settings: Settings,
    engines: EngineSet,
    gallery: Gallery | None,
    report: RunReport,
    *,
    resume_key: bytes | None,
    progress: RunProgress,
) -> None:
    """Anonymizes one file and fills `report`, as far as it got.

    Raises:
        InputUnreadable: nothing could be decoded.
        OutputNotWritable: the output could not be written; nothing is left of it.
        EngineFault: an engine died; nothing is left of the output.
        PrivacyRefused: `strict`, and a promise was not kept; nothing is left either.
    """
    _describe(report, settings, engines)
    source = open_source(
        job.source,
        max_pixels=settings.limits.max_pixels,
        video_track=settings.source.video_track,
    )
    report.input = _identity(job, source.shape)
    report.metadata_dropped = list(source.probe.dropped)
    with ExitStack() as ends:
        ends.callback(source.close)
        made_folder(job.target.parent)
        words = _settings_hash(settings, engines, resume_key) if resume_key else None
        with held_back():
            sink = open_sink(job.target, source, _encoding(settings), resume=words)
            ends.callback(sink.abort)
        if gallery is not None:
            ends.callback(gallery.end, file_stream(gallery, job.source))
        progress.begin(job.source.name, source.shape.frames)
        replacer = _replacer(job, settings, engines, gallery)
        _run(job, settings, engines, replacer, report, source, sink, progress)
    report.output = FileIdentity(
        name=job.target.name,
        sha256=file_digest(job.target),
        size_bytes=job.target.stat().st_size,
        height=source.shape.height,
        width=source.shape.width,
    )
    report.status = "complete"
    if report.losses:
        progress.say(f"{job.target.name}: not as it was: {'; '.join(report.losses)}")
    progress.say(_summary(report))


def _run(
    job: Job,
    settings: Settings,
    engines: EngineSet,
    replacer: FaceReplacer,
    report: RunReport,
    source: RecordedSource,
    sink: Sink,
    progress: RunProgress,
) -> None:
    """Runs the pipeline and notes what it did, also when it fails."""
    clock = StageClock()
    memory = sink if isinstance(sink, SegmentSink) else None
    anonymizer = recording_anonymizer(
        settings, engines, replacer, source.shape, clock, memory, is_image=job.kind == "image"
    )
    before = replacer.counts()
    refuse = partial(_refuse_broken_promises, replacer, before)
    verdict = refuse if settings.privacy.strict else None
    start = time.monotonic()
    try:
        asyncio.run(run_pipeline(source, anonymizer, sink, clock, progress.advance, verdict))
    finally:
        report.elapsed_s = round(time.monotonic() - start, 3)
        report.frames, report.faces = anonymizer.tally.frames(), anonymizer.tally.faces()
        report.clusters, report.stages = replacer.counts().since(before), clock.summary()
        report.fps = round(report.frames.written / max(report.elapsed_s, 1e-9), 2)
        report.losses += [*source.probe.lost, *source.report.warnings]
        report.warnings += [*source.probe.lost, *source.report.warnings]
        if engines.swap is not None and engines.swap.crew is not None:
            report.warnings += engines.swap.crew.told()
        if isinstance(sink, ImageSink):
            report.warnings += sink.losses
            report.losses += sink.losses
        if isinstance(sink, FileSink | SegmentSink):
            report.warnings += sink.notes
            report.losses += sink.losses
            report.encoder, report.encoder_reason = sink.choice.name, sink.choice.reason


def _replacer(
    job: Job, settings: Settings, engines: EngineSet, gallery: Gallery | None
) -> FaceReplacer:
    if engines.swap is None or gallery is None:
        return CoverEveryFace()
    swap = engines.swap
    name = file_stream(gallery, job.source)
    lender = GalleryLender(gallery, name, swap.attributes, swap.fitting())
    if job.kind == "image":
        swap = replace(swap, crew=None)  # one picture is drawn before others could begin
    return swap_by(swap, lender, settings)


def _refuse_broken_promises(replacer: FaceReplacer, before: ClusterCounts) -> None:
    """Keeps an output whose people were fewer than k from being published.

    Args:
        replacer: of this output.
        before: what its gallery had counted for others.

    Raises:
        PrivacyRefused: always then.
    """
    known = replacer.counts().since(before)
    below = known.swaps_below_k + known.swaps_in_doubt
    if below:
        raise PrivacyRefused(
            f"{below} tracks were swapped with fewer than k = {known.k} real "
            "people; use --below-k cover, or drop --strict"
        )


def _settings_hash(settings: Settings, engines: EngineSet, key: bytes) -> str:
    """What a resumed output depends on besides its input: also donors, thresholds, versions."""
    packs = [read_pack(folder) for folder in (bundled_pack(), bundled_pack() / "embedder")]
    packs += [donor_pack(settings.models.donors)] if settings.models.donors else []
    words = [settings.model_dump_json(), repr(sorted(installed_versions().items()))]
    words += [repr(sorted(pack.sha256.items())) for pack in packs]
    words += [repr(choice) for choice in engines.choices]
    return hmac.new(key, "\0".join(words).encode(), "sha256").hexdigest()


def _describe(report: RunReport, settings: Settings, engines: EngineSet) -> None:
    report.method = settings.method
    report.settings = settings.model_dump(mode="json")
    report.versions = installed_versions()
    report.machine = {"system": platform.system(), "architecture": platform.machine()}
    report.engines = list(engines.choices)


def _identity(job: Job, shape: StreamShape) -> FileIdentity:
    return FileIdentity(
        name=job.source.name,
        sha256=file_digest(job.source),
        size_bytes=job.source.stat().st_size,
        height=shape.height,
        width=shape.width,
    )


def _encoding(settings: Settings) -> EncodeSettings:
    wanted = settings.output
    return EncodeSettings(
        encoder=wanted.encoder,
        codec=wanted.codec,
        crf=wanted.quality,
        preset=None if wanted.speed == "auto" else wanted.speed,
        audio=wanted.audio,
        keep_metadata=wanted.keep_metadata,
        overwrite=True,
        threads=settings.limits.threads,
        is_marked=settings.privacy.label and settings.method == SWAP,
    )


def recording_anonymizer(
    settings: Settings,
    engines: EngineSet,
    replacer: FaceReplacer,
    shape: StreamShape,
    clock: StageClock,
    memory: FindingMemory | None = None,
    *,
    is_image: bool = False,
) -> Anonymizer:
    """The anonymizer of a recording, which looks ahead as far as memory allows.

    Args:
        settings: of the run.
        engines: shared by all recordings.
        replacer: makes the synthetic faces.
        shape: of the recording.
        clock: gets the stages.
        memory: what an interrupted run found.
        is_image: it is a single picture.
    """
    workers = engines.workers
    finder = finder_for(
        settings, engines, clock, workers=workers, give_up_after=_GIVE_UP_AFTER, memory=memory
    )
    schedule: DetectionSchedule | KeySchedule
    if is_image:
        schedule, tracker = DetectionSchedule(), _still_tracker(settings)
    else:
        finder.prepare(shape.height, shape.width)
        schedule, lookahead = file_schedule(settings, shape, workers)
        tracker = tracker_for(settings, lookahead)
    cover = method_cover(settings.method, settings.cover.look)
    return Anonymizer(
        finder,
        schedule,
        tracker,
        replacer,
        cover,
        settings.cover.margin,
        clock,
    )


def _still_tracker(settings: Settings) -> Tracker:
    """The tracker of a single picture: no other frame tells more of what was found in it."""
    return tracker_for(settings, 0, confirm_hits=1, early_score=0.0)


def _summary(report: RunReport) -> str:
    faces, frames = report.faces, report.frames
    name = report.output.name if report.output else ""
    parts = [
        f"{name}: {frames.written} frames, {report.fps:g} fps",
        f"{faces.tracks} tracks, {faces.swapped} faces swapped, {faces.covered} covered",
    ]
    if frames.covered_fully:
        parts.append(f"{frames.covered_fully} frames covered in full")
    return "; ".join(parts)
