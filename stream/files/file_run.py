"""Anonymizes one file, with one picture track or all of them, and fills its report."""

from __future__ import annotations

import hmac
import platform
from contextlib import ExitStack
from functools import partial

from config.settings import Settings
from engines.stylegan.pack import bundled_pack, read_pack
from gallery.gallery import Gallery
from stream.digests import file_digest
from stream.files.interruption import held_back
from stream.files.jobs import Job
from stream.files.report import FileIdentity, RunReport, TrackReport, installed_versions
from stream.files.run_progress import RunProgress
from stream.files.track_run import TrackRun
from stream.media.ends import Sink
from stream.media.opening import open_sink, open_source, opened_tracks, video_track_count
from stream.media.writing.coded_track import CodedTrack
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import FileSink
from stream.media.writing.image_sink import ImageSink
from stream.media.writing.partial_file import made_folder
from stream.media.writing.segments import SegmentedOutput, SegmentSink
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.methods import SWAP
from stream.swap.donors import donor_pack
from stream.swap.lending import file_stream

__all__ = ["run_file"]


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
        UsageRefused: there is no such video track, or the output cannot hold them all.
        OutputNotWritable: the output could not be written; nothing is left of it.
        EngineFault: an engine died; nothing is left of the output.
        PrivacyRefused: `strict`, and a promise was not kept; nothing is left either.
    """
    _describe(report, settings, engines)
    words = _settings_hash(settings, engines, resume_key) if resume_key else None
    run = TrackRun(job, settings, engines, gallery, progress)
    takes_all = job.kind == "video" and settings.source.video_track == "all"
    count = video_track_count(job.source, settings.limits.max_pixels) if takes_all else 1
    if count > 1:
        _run_tracks(run, count, report, words)
    else:
        _run_one(run, report, words)
    report.output = FileIdentity(
        name=job.target.name,
        sha256=file_digest(job.target),
        size_bytes=job.target.stat().st_size,
        height=report.input.height if report.input else 0,
        width=report.input.width if report.input else 0,
    )
    report.status = "complete"
    _tell_of_ledger(job.target.name, report, progress)
    if report.losses:
        progress.say(f"{job.target.name}: not as it was: {'; '.join(report.losses)}")
    progress.say(_summary(report))


def _run_one(run: TrackRun, report: RunReport, resume: str | None) -> None:
    """Anonymizes the one picture track that is taken."""
    job, settings = run.job, run.settings
    wanted = settings.source.video_track
    source = open_source(
        job.source,
        max_pixels=settings.limits.max_pixels,
        video_track=wanted if isinstance(wanted, int) else None,
        rotation=settings.source.rotation,
    )
    report.input = _identity(job, source.shape.height, source.shape.width)
    report.metadata_dropped = list(source.probe.dropped)
    with ExitStack() as ends:
        ends.callback(source.close)
        made_folder(job.target.parent)
        with held_back():
            sink = open_sink(job.target, source, _encoding(settings), resume=resume)
            ends.callback(sink.abort)
        if run.gallery is not None:
            ends.callback(run.gallery.end, file_stream(run.gallery, job.source))
        run.progress.begin(job.source.name, source.shape.frames)
        report.losses += source.probe.lost
        report.warnings += source.probe.lost
        memory = sink if isinstance(sink, SegmentSink) else None
        try:
            run.run(source, sink, report, memory)
        finally:
            _note_crew(run, report)
            _note_sink(sink, report)


def _run_tracks(run: TrackRun, count: int, report: RunReport, resume: str | None) -> None:
    """Anonymizes every picture track by itself, then joins them; one that fails fails all."""
    job, settings = run.job, run.settings
    opened = partial(
        opened_tracks,
        job.source,
        count,
        settings.limits.max_pixels,
        settings.source.rotation,
    )
    probes = [source.probe for source in opened()]
    report.input = _identity(job, probes[0].shape.height, probes[0].shape.width)
    report.metadata_dropped = list(probes[0].dropped)
    for _ in range(count - 1):
        report.metadata_dropped.remove("video track")
    with ExitStack() as ends:
        made_folder(job.target.parent)
        with held_back():
            output = SegmentedOutput(job.target, probes, _encoding(settings), resume)
            ends.callback(output.abort)
        for number, source in enumerate(opened(), start=1):
            if run.gallery is not None:
                ends.callback(run.gallery.end, file_stream(run.gallery, job.source, number))
            run.progress.begin(f"{job.source.name}, track {number}", source.shape.frames)
            coded = output.tracks[number - 1]
            of_track = RunReport()
            try:
                memory = coded if resume else None
                run.run(source, coded, of_track, memory, number)
            finally:
                _note_track(report, of_track, number, coded)
        _note_crew(run, report)
        output.finish()
        report.warnings += output.notes
        report.losses += output.losses


def _note_track(report: RunReport, of_track: RunReport, number: int, coded: CodedTrack) -> None:
    """Adds what was counted of one of several tracks."""
    shape, choice = coded.track.probe.shape, coded.track.choice
    of_track.warnings += coded.notes
    of_track.losses += coded.notes
    report.tracks.append(
        TrackReport(
            number=number,
            height=shape.height,
            width=shape.width,
            encoder=choice.name,
            frames=of_track.frames,
            faces=of_track.faces,
        )
    )
    report.frames = report.frames.plus(of_track.frames)
    report.faces = report.faces.plus(of_track.faces)
    report.clusters, report.stages = of_track.clusters, of_track.stages
    report.elapsed_s = round(report.elapsed_s + of_track.elapsed_s, 3)
    report.fps = round(report.frames.written / max(report.elapsed_s, 1e-9), 2)
    report.warnings += [f"video track {number}: {line}" for line in of_track.warnings]
    report.losses += [f"video track {number}: {line}" for line in of_track.losses]
    report.encoder, report.encoder_reason = choice.name, choice.reason


def _note_sink(sink: Sink, report: RunReport) -> None:
    if isinstance(sink, ImageSink):
        report.warnings += sink.losses
        report.losses += sink.losses
    if isinstance(sink, FileSink | SegmentSink):
        report.warnings += sink.notes
        report.losses += sink.losses
        report.encoder, report.encoder_reason = sink.choice.name, sink.choice.reason


def _tell_of_ledger(name: str, report: RunReport, progress: RunProgress) -> None:
    """Says of a ledger that could not be written, as on a full disk: its faces are covered."""
    covered = report.faces.covered_by_cause.get("ledger_unavailable", 0)
    if covered:
        line = f"the ledger could not be written, and {covered} faces are covered for that"
        report.warnings.append(line)
        progress.say(f"{name}: {line}; free some space on its disk, or check its rights")


def _note_crew(run: TrackRun, report: RunReport) -> None:
    swap = run.engines.swap
    if swap is not None and swap.crew is not None:
        report.warnings += swap.crew.told()


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


def _identity(job: Job, height: int, width: int) -> FileIdentity:
    return FileIdentity(
        name=job.source.name,
        sha256=file_digest(job.source),
        size_bytes=job.source.stat().st_size,
        height=height,
        width=width,
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


def _summary(report: RunReport) -> str:
    faces, frames = report.faces, report.frames
    name = report.output.name if report.output else ""
    tracks = f" of {len(report.tracks)} video tracks" if report.tracks else ""
    parts = [
        f"{name}: {frames.written} frames{tracks}, {report.fps:g} fps",
        f"{faces.tracks} tracks, {faces.swapped} faces swapped, {faces.covered} covered",
    ]
    if frames.covered_fully:
        parts.append(f"{frames.covered_fully} frames covered in full")
    return "; ".join(parts)
