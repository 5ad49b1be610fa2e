"""Anonymizes one picture track of a recording: builds its pipeline, runs it, counts what it did."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from functools import partial

from config.settings import Settings
from gallery.gallery import Gallery
from stream.errors import PrivacyRefused
from stream.files.jobs import Job
from stream.files.report import ClusterCounts, RunReport
from stream.files.run_progress import RunProgress
from stream.finding.detection_setup import file_schedule, finder_for, tracker_for, weak_hold_s
from stream.finding.finding_memory import FindingMemory
from stream.media.ends import Sink, StreamShape
from stream.media.reading.recorded_source import RecordedSource
from stream.pipeline.anonymizer import Anonymizer
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.methods import method_cover
from stream.pipeline.pipeline import run_pipeline
from stream.pipeline.replacement import CoverEveryFace, FaceReplacer
from stream.pipeline.stage_clock import StageClock
from stream.swap.lending import GalleryLender, file_stream
from stream.swap.swap_setup import swap_by
from tracker.schedule import DetectionSchedule
from tracker.spans import KeySchedule
from tracker.tracker import Tracker

__all__ = ["TrackRun", "recording_anonymizer", "replacer_for"]

_GIVE_UP_AFTER = 25
"""Frames in a row without a working detector; a second of a common video."""


@dataclass(slots=True)
class TrackRun:
    """What the tracks of one recording are anonymized with, one after the other.

    Attributes:
        job: the recording.
        settings: of the run.
        engines: shared by all recordings.
        gallery: likewise; None where faces are only covered.
        progress: told how far it is.
        clock: gets the stages of all tracks.
        before: what the gallery had counted for others; set by the first track.
    """

    job: Job
    settings: Settings
    engines: EngineSet
    gallery: Gallery | None
    progress: RunProgress
    clock: StageClock = field(default_factory=StageClock)
    before: ClusterCounts | None = None

    def run(
        self,
        source: RecordedSource,
        sink: Sink,
        report: RunReport,
        memory: FindingMemory | None = None,
        track: int = 0,
    ) -> None:
        """Runs the pipeline and notes what it did, also when it fails.

        Args:
            source: the track.
            sink: where its composites go.
            report: gets counts, times, and what the source met.
            memory: what an interrupted run found.
            track: number of the track, from 1; 0 where the recording has but one to show.

        Raises:
            KveilError: the first fault of a worker; the sink was aborted.
        """
        is_image = self.job.kind == "image"
        name = file_stream(self.gallery, self.job.source, track) if self.gallery else ""
        replacer = replacer_for(name, self.settings, self.engines, self.gallery, is_image=is_image)
        anonymizer = recording_anonymizer(
            self.settings,
            self.engines,
            replacer,
            source.shape,
            self.clock,
            memory,
            is_image=is_image,
        )
        before = self.before = self.before or replacer.counts()
        refuse = partial(_refuse_broken_promises, replacer, before)
        verdict = refuse if self.settings.privacy.strict else None
        start = time.monotonic()
        advance = self.progress.advance
        try:
            asyncio.run(run_pipeline(source, anonymizer, sink, self.clock, advance, verdict))
        finally:
            report.elapsed_s = round(time.monotonic() - start, 3)
            report.frames, report.faces = anonymizer.tally.frames(), anonymizer.tally.faces()
            report.clusters = replacer.counts().since(before)
            report.stages = self.clock.summary()
            report.fps = round(report.frames.written / max(report.elapsed_s, 1e-9), 2)
            report.losses += source.report.warnings
            report.warnings += source.report.warnings


def replacer_for(
    name: str,
    settings: Settings,
    engines: EngineSet,
    gallery: Gallery | None,
    *,
    is_image: bool = False,
) -> FaceReplacer:
    """What takes the place of the faces of one stream of recorded pictures.

    Args:
        name: under which it is a stream of the gallery.
        settings: of the run.
        engines: shared by all recordings.
        gallery: likewise; None where faces are only covered.
        is_image: it is a single picture.
    """
    if engines.swap is None or gallery is None:
        return CoverEveryFace()
    swap = engines.swap
    lender = GalleryLender(gallery, name, swap.attributes, swap.fitting())
    if is_image:
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
        held_s = weak_hold_s(lookahead, float(shape.rate))
        tracker = tracker_for(settings, lookahead, weak_hold_s=held_s)
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
