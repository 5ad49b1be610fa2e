"""The networks of a process: opened once, shared by all streams."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from config.settings import Settings
from engines.backends.backend import Precision
from engines.backends.choice import (
    BackendName,
    Choice,
    Device,
    choose_backend,
    choose_detector,
    settled_names,
)
from engines.backends.networks import model_sha256
from engines.detectors.detector import Detector
from engines.detectors.gate import HardwareBackend, gates_file
from engines.detectors.multiscale import LEAST_SIDE_PX, DetectionPlan
from engines.face.attribute_bins import AttributeReader
from engines.face.embedder import FaceEmbedder, PersonThresholds, embedder_from_pack
from engines.face.embedding_attributes import attributes_from_pack
from engines.face.swapper import Swapper
from engines.models.catalogue import model_path, quantised_twin
from engines.models.gpu_gate import gpu_fault
from engines.models.model_trial import refuse_unbounded
from engines.stylegan.pack import Pack, bundled_pack, read_pack, swapper_from_pack
from gallery.donors import DonorPopulation
from stream.allocator import give_memory_back
from stream.crew.crew import FaceCrew, crew_size, spare_memory
from stream.crew.messages import Hello
from stream.files.report import EngineChoice
from stream.finding.finding import Plans, Scale
from stream.pipeline.methods import SWAP
from stream.scheduling.backend import ScheduledBackend
from stream.scheduling.scheduler import Scheduler, Terms
from stream.swap.donors import Donors, open_donors, refuse_too_few
from stream.swap.fitting import Fitting

__all__ = ["EngineSet", "SwapEngines", "open_engines", "open_painter", "plans_for"]

_LARGE_FACES_PX = 320
_SMALL_FRAME_PX = 1280
_TINY_FRAME_PX = 720
_LEAST_COARSE_PX = 640
_TILE_PX = 1920
_MOST_STREAMS = 4
_WORKERS = 2
"""One search computes while the next one's picture is being scaled."""


@dataclass(frozen=True, slots=True)
class SwapEngines:
    """What the swap needs besides the detector.

    Attributes:
        painter: reads control and paints surrogates.
        embedder: tells people apart.
        thresholds: which embeddings are one person.
        donors: synthetic people that surrogates are mixed from.
        attributes: reads bins; None where surrogates show nothing of the person.
        crew: processes that draw faces where there are several; None where this one draws all.
    """

    painter: Swapper
    embedder: FaceEmbedder
    thresholds: PersonThresholds
    donors: DonorPopulation
    attributes: AttributeReader | None = None
    crew: FaceCrew | None = None

    def fitting(self, step_s: float = math.inf) -> Fitting:
        """Tries surrogates on; for `step_s` see `Fitting`."""
        return Fitting(self.painter, self.embedder, self.thresholds, self.attributes, step_s)


@dataclass(frozen=True, slots=True)
class EngineSet:
    """What a stream needs of the engines.

    Attributes:
        detector: finds faces.
        plans: at which scales frames of a height and width are searched.
        workers: detections that are worth running at once.
        choices: for the report.
        swap: None where faces are only covered.
        scheduler: runs their networks.
    """

    detector: Detector
    plans: Plans
    workers: int
    choices: tuple[EngineChoice, ...]
    swap: SwapEngines | None = None
    scheduler: Scheduler = field(default_factory=Scheduler)


@contextmanager
def open_engines(
    settings: Settings,
    *,
    is_recorded: bool = False,
    hang_s: float = math.inf,
    join_s: float = 0.0,
) -> Iterator[EngineSet]:
    """Opens the networks that the settings ask for.

    Args:
        settings: of the run.
        is_recorded: frames are there before they are due, so several are searched side by
            side; live, each one is searched as fast as can be.
        hang_s: after which a live stream takes the engines for hung: each run ends in half of it,
            or its faces are covered. Recordings wait.
        join_s: see `Terms`.

    Raises:
        DonorPackRejected, TooFewDonors: the donors do not fit.
        ModelMissing, ModelRejected, BackendMissing: a network, runtime or pack is not there.
    """
    donors = _donors_of(settings)
    wanted = settings.detection
    model = model_path(wanted.model)
    refuse_unbounded(model)
    threads = settings.limits.threads
    streams = _streams(threads) if is_recorded else 1
    gate = partial(gpu_fault, detector=model, packs=_packs_of(settings))
    choice = choose_backend(
        wanted.backend, settings.device, threads=threads, streams=streams, gate=gate
    )
    names = settled_names(choice.backend)
    deadline_s = settings.limits.engine_deadline_s
    terms = Terms(width=1 if names[1] == "cuda" else streams + 1, longest_s=deadline_s)
    scheduler = Scheduler(terms)
    choice = _scheduled(choice, scheduler)
    quantised = quantised_twin(model)
    chosen = choose_detector(model, choice, precision=wanted.precision, quantised=quantised)
    used = quantised if quantised is not None and chosen.is_int8 else model
    choices = [
        EngineChoice(
            role="detector",
            model_sha256=model_sha256(used),
            backend=chosen.backend,
            precision="int8" if chosen.is_int8 else chosen.precision,
            reason=chosen.reason,
        )
    ]
    swap = None
    if donors is not None:
        if streams > 1:
            choice = _scheduled(choose_backend(*names, threads=threads), scheduler)
        swap = _swap_engines(
            choice.backend, chosen.precision, settings, donors, choices, is_recorded=is_recorded
        )
    workers = max(_WORKERS, streams)
    # What gates try while the engines are opened may take its time.
    scheduler.terms = replace(
        terms, longest_s=min(deadline_s, hang_s / 2), patience_s=hang_s / 2, join_s=join_s
    )
    give_memory_back()
    try:
        plans = partial(plans_for, settings)
        yield EngineSet(chosen.detector, plans, workers, tuple(choices), swap, scheduler)
    finally:
        if swap is not None and swap.crew is not None:
            swap.crew.close()
        scheduler.close()


def _scheduled(choice: Choice, scheduler: Scheduler) -> Choice:
    """The runtime that was chosen, whose networks the scheduler runs."""
    return replace(choice, backend=ScheduledBackend(choice.backend, scheduler))


def _donors_of(settings: Settings) -> Donors | None:
    """Who faces are swapped for; None where they are only covered."""
    if settings.method != SWAP:
        return None
    donors = open_donors(settings.models.donors)
    refuse_too_few(donors.population, settings.privacy.k)
    return donors


def _packs_of(settings: Settings) -> list[Pack]:
    """The packs whose networks a run loads besides the detector."""
    if settings.method != SWAP:
        return []
    return [read_pack(bundled_pack()), read_pack(bundled_pack() / "embedder")]


def _crew(
    settings: Settings, names: tuple[BackendName, Device], precision: Precision, *, is_patient: bool
) -> FaceCrew | None:
    """Processes that draw faces, started when there are several; None for none."""
    limits = settings.limits
    cores = limits.threads or os.cpu_count() or 1
    size = crew_size(limits.drawing_processes, cores, spare_memory())
    if size == 0:
        return None
    donors = settings.models.donors and str(Path(settings.models.donors).expanduser().absolute())
    hello = Hello(*names, precision, donors)
    return FaceCrew(hello, size, limits.engine_deadline_s, is_patient=is_patient)


def open_painter(
    backend: BackendName, device: Device, precision: Precision, donors: str = ""
) -> Swapper:
    """The networks of one more process that draws faces, on one core of the processor.

    Args:
        backend: as of the settings.
        device: likewise.
        precision: that of the first process's.
        donors: folder of their pack, as of the settings.

    Raises:
        DonorPackRejected: the donors do not fit.
        ModelMissing, ModelRejected, BackendMissing: a network, runtime or pack is not there.
    """
    painter, _ = swapper_from_pack(
        choose_backend(backend, device, threads=1).backend,
        bundled_pack(),
        precision=precision,
        verdicts=gates_file(),
        details=open_donors(donors).details,
    )
    return painter


def _streams(threads: int) -> int:
    """Searches side by side: one for every two cores, within a bound.

    Each has memory of its own for what lies between its layers, and one keeps two cores busy.

    >>> _streams(1), _streams(2), _streams(64)
    (1, 1, 4)
    """
    return min(max((threads or os.cpu_count() or 1) // 2, 1), _MOST_STREAMS)


def _swap_engines(
    backend: HardwareBackend,
    precision: Precision,
    settings: Settings,
    donors: Donors,
    choices: list[EngineChoice],
    *,
    is_recorded: bool,
) -> SwapEngines:
    folder: Path = bundled_pack()
    pack = read_pack(folder)
    painter, gate = swapper_from_pack(
        backend, folder, precision=precision, verdicts=gates_file(), details=donors.details
    )
    used: Precision = precision if gate is None or gate.is_passed else "fp32"
    reason = "as the detector" if gate is None else gate.told()
    choices += [
        EngineChoice(
            role=role,
            model_sha256=pack.sha256[f"{role}.onnx"],
            backend=backend.name,
            precision=used,
            reason=reason,
        )
        for role in ("generator", "landmarker")
    ]
    embedder, thresholds = embedder_from_pack(backend)
    mode = settings.gallery.attributes
    attributes = None if mode == "none" else AttributeReader(attributes_from_pack(), mode)
    crew = _crew(settings, settled_names(backend), used, is_patient=is_recorded)
    return SwapEngines(painter, embedder, thresholds, donors.population, attributes, crew)


def _enlarged_px(native: int) -> int:
    """Long side at which a small frame is searched thoroughly.

    >>> [_enlarged_px(native) for native in (320, 640, 960, 1920)]
    [480, 800, 1280, 1280]
    """
    if native > _TINY_FRAME_PX:
        return min(_SMALL_FRAME_PX, round(1.5 * native))
    return max(round(1.25 * native), min(800, round(1.5 * native)))


def plans_for(settings: Settings, height: int, width: int) -> dict[Scale, DetectionPlan]:
    """At which scales frames of one size are searched.

    CenterFace needs about 10 px per face. The thorough look therefore takes the frame at
    its own size up to `full_px`, and small frames enlarged; a second, small scale finds
    faces that fill the frame.
    """
    wanted = settings.detection
    native = max(height, width)
    full_px = max(min(wanted.full_px, max(native, _enlarged_px(native))), LEAST_SIDE_PX)
    coarse_px = min(wanted.coarse_px, max(native, _LEAST_COARSE_PX))
    near_px = coarse_px if wanted.schedule == "every" else max(128, coarse_px * 2 // 3)
    return {
        "near": DetectionPlan(near_px, max_upscale=1.5),
        "coarse": DetectionPlan(coarse_px, max_upscale=1.5),
        "full": DetectionPlan(
            full_px, also_px=(_LARGE_FACES_PX,), tile_px=_TILE_PX, max_upscale=1.5
        ),
    }
