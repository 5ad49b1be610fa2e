"""Whether a detector may run in half precision or int8, by drawn faces; judged once.

Half precision must give the same faces as fp32. int8 moves scores by more than that allows and is
judged by recall: of drawn faces of each size as many as in fp32, and in the same places.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol, runtime_checkable

import numpy as np

from engines.backends.backend import Backend, Precision
from engines.backends.networks import model_sha256
from engines.cache_folder import cache_folder
from engines.detectors.detector import Detector, overlaps_of
from engines.detectors.drawn_faces import drawn_scene
from engines.errors import EngineError, ModelMissing
from engines.json_reading import value_from_json
from engines.pictures import BgrImage
from engines.types import Face

__all__ = [
    "Comparison",
    "GateResult",
    "HardwareBackend",
    "compared_detectors",
    "gate_int8",
    "gate_precision",
    "gates_file",
    "keep_verdict",
    "kept_verdict",
    "parity_defect",
    "recall_defect",
]

_REVISION: Final = "1"
"""Goes up when scenes or tolerances change, so that older verdicts are judged anew."""
_LEAST_SCORE: Final = 0.3
_LEAST_OVERLAP: Final = 0.85
_SCORE_SLACK: Final = 0.08
_LANDMARK_SLACK: Final = 0.06
_LEAST_SPEEDUP: Final = 1.05
_SCENES: Final = ((1, 200.0), (2, 120.0), (5, 60.0), (9, 26.0), (14, 16.0))
_TIMED_RUNS: Final = 5
_RECALL_SIDES: Final = ((9, 14.0), (8, 20.0), (6, 32.0), (5, 60.0), (2, 140.0))
"""Faces in a scene and their width, px: the sizes at which int8 is judged."""
_RECALL_SCENES: Final = 4
"""Scenes of each size."""
_COVER_SCORE: Final = 0.2
"""Score from which a face is covered: not one fewer of any size may have it."""
_SWAP_SCORE: Final = 0.5
"""Score from which a face is swapped."""
_LEAST_SWAPPED: Final = 0.95
"""Share of the faces swapped in fp32 that have that score in int8."""
_SAME_FACE: Final = 0.3
"""Overlap from which a find is a drawn face."""
_QUANTISED_SLACK: Final = 2.0
"""Of boxes and landmarks in int8 beside the tolerances of half precision."""


@runtime_checkable
class HardwareBackend(Backend, Protocol):
    """A runtime that knows what it runs on."""

    @property
    def version(self) -> str:
        """Release of the runtime."""

    @property
    def processor(self) -> str:
        """What the processor or GPU calls itself."""

    @property
    def reduced(self) -> tuple[Precision, ...]:
        """Half precisions that it computes in natively, the better first."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """The precision to use, and why.

    Attributes:
        precision: passed the gate, or fp32.
        reason: one line for `kveil doctor` and the report.
    """

    precision: Precision
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became of two detectors on the same scenes.

    Attributes:
        defect: how their faces differ; empty where they agree.
        found: faces that both found.
        speedup: how many times as fast the quick one is; 0 where they differ.
    """

    defect: str
    found: int
    speedup: float


def gate_precision(
    load: Callable[[Precision], Detector],
    model: Path | bytes,
    backend: HardwareBackend,
    *,
    wanted: Literal["auto", "fp32", "bf16", "fp16"] = "auto",
    cache: Path | None = None,
) -> GateResult:
    """Decides between half precision and fp32 for a detector.

    Half is taken where it is native, the detector gives the same faces in both, and (for
    `auto`) it is faster. The verdict is kept in a file under model, processor and versions, so
    that only the first start pays for it.

    Args:
        load: loads the detector in a precision.
        model: its file, for the hash.
        backend: the runtime.
        wanted: `fp32` asks nothing; `bf16` and `fp16` skip the comparison of speed.
        cache: file of verdicts; `gates_file()` where None.

    Returns:
        The precision and the reason.
    """
    if wanted == "fp32":
        return GateResult("fp32", "fp32 was asked for")
    native = backend.reduced
    if not native:
        return GateResult("fp32", f"{backend.name} has no half precision on this processor")
    half = native[0] if wanted == "auto" else wanted
    if half not in native:
        return GateResult("fp32", f"{backend.name} has no {half} on this processor")
    path = cache or gates_file()
    key = _key(model, backend, wanted)
    known = kept_verdict(path, key)
    if known is not None:
        precision, reason = known
        return GateResult(half if precision == half else "fp32", reason)
    try:
        result = _judged(load, half, is_speed_asked=wanted == "auto")
    except ModelMissing as missing:  # it may be built any time
        return GateResult("fp32", f"{half} is not there: {missing}")
    keep_verdict(path, key, result.precision, result.reason)
    return result


def gate_int8(
    load: Callable[[Precision], Detector],
    quantised: Callable[[], Detector],
    models: Sequence[Path | bytes],
    backend: HardwareBackend,
    half: Precision,
    *,
    is_speed_asked: bool = True,
    cache: Path | None = None,
) -> tuple[bool, str]:
    """Decides whether a detector runs in int8.

    It must find as many drawn faces of each size as in fp32, in the same places, and (where
    speed is asked) be faster than in `half`. The verdict is kept as that of `gate_precision` is.

    Args:
        load: loads the detector in a precision.
        quantised: loads it in int8.
        models: both files, for their hashes.
        backend: the runtime.
        half: the precision in which it would run otherwise.
        is_speed_asked: false where the user asked for int8.
        cache: file of verdicts; `gates_file()` where None.

    Returns:
        Whether it may, and the reason.
    """
    path = cache or gates_file()
    hashes = " ".join(model_sha256(model) for model in models)
    key = _key(hashes.encode(), backend, f"int8 {half} {is_speed_asked}")
    known = kept_verdict(path, key)
    if known is not None:
        return known[0] == "int8", known[1]
    try:
        exact, quick = load("fp32"), quantised()
        defect, found = recall_defect(exact, quick)
        speedup = (
            0.0 if defect else _speedup(load(half), quick, drawn_scene(480, 640, 4, side_px=90)[0])
        )
    except EngineError as fault:
        defect = str(fault)
    if defect:
        is_passed, reason = False, f"int8 failed its gate: {defect}"
    elif is_speed_asked and speedup < _LEAST_SPEEDUP:
        is_passed, reason = False, f"int8 agrees, but is {speedup:.2f} times as fast as {half}"
    else:
        reason = f"int8 finds the same {found} faces as fp32, {speedup:.2f} times as fast as {half}"
        is_passed = True
    keep_verdict(path, key, "int8" if is_passed else half, reason)
    return is_passed, reason


def recall_defect(exact: Detector, quick: Detector) -> tuple[str, int]:
    """Of which size a detector finds fewer drawn faces than an exact one.

    Args:
        exact: the detector in fp32.
        quick: the same in fewer bits.

    Returns:
        One line, empty where it finds as many of every size and they lie alike; and how many.

    Raises:
        EngineError: one of them failed.
    """
    covered = swapped = swapped_wanted = 0
    for number, (faces, side) in enumerate(_RECALL_SIDES):
        wanted = got = 0
        for seed in range(_RECALL_SCENES * number, _RECALL_SCENES * (number + 1)):
            scene, drawn = drawn_scene(320, 480, faces, side_px=side, seed=seed)
            known, found = (one.detect(scene, min_score=_COVER_SCORE) for one in (exact, quick))
            defect = parity_defect(
                [face for face in known if _count_found([face], found)],
                found,
                _QUANTISED_SLACK,
                is_score_asked=False,
            )
            if defect:
                return defect, covered
            wanted, got = wanted + _count_found(drawn, known), got + _count_found(drawn, found)
            swapped_wanted += _count_found(drawn, _clear(known))
            swapped += _count_found(drawn, _clear(found))
        if got < wanted:
            return f"finds {got} of {wanted} faces {side:.0f} px wide", covered
        covered += wanted
    if not covered:
        return "no drawn face is found in fp32", 0
    if swapped < _LEAST_SWAPPED * swapped_wanted:
        return f"finds {swapped} of {swapped_wanted} faces from {_SWAP_SCORE:g}", covered
    return "", covered


def _clear(faces: Sequence[Face]) -> list[Face]:
    return [face for face in faces if face.score >= _SWAP_SCORE]


def _count_found(drawn: Sequence[Face], found: Sequence[Face]) -> int:
    """How many of the faces overlap a find."""
    if not drawn or not found:
        return 0
    boxes = [np.stack([face.box_px for face in some]) for some in (drawn, found)]
    return int((overlaps_of(*boxes) >= _SAME_FACE).any(axis=1).sum())


def parity_defect(
    exact: Sequence[Face],
    quick: Sequence[Face],
    slack: float = 1.0,
    *,
    is_score_asked: bool = True,
) -> str:
    """How the faces of a quick detector differ from those of an exact one.

    Args:
        exact: faces in fp32.
        quick: faces of the same image in the other precision, found down to a lower score.
        slack: factor on the tolerances; larger accepts more difference.
        is_score_asked: whether scores must agree, too.

    Returns:
        One line, or an empty string where every exact face has its quick twin.

    >>> parity_defect([], [])
    ''
    """
    if not exact:
        return ""
    if not quick:
        return f"finds none of {len(exact)} faces"
    boxes = np.stack([face.box_px for face in exact])
    others = np.stack([face.box_px for face in quick])
    overlaps = overlaps_of(boxes, others)
    for number, face in enumerate(exact):
        best = int(overlaps[number].argmax())
        overlap, twin = float(overlaps[number, best]), quick[best]
        if overlap < 1 - (1 - _LEAST_OVERLAP) * slack:
            return f"a face's box agrees by {overlap:.2f} only"
        if is_score_asked and abs(twin.score - face.score) > _SCORE_SLACK * slack:
            return f"a face's score is {twin.score:.2f} instead of {face.score:.2f}"
        away = np.linalg.norm(twin.landmarks_px - face.landmarks_px, axis=1)
        shift = float(away.max()) / face.size_px
        if shift > _LANDMARK_SLACK * slack:
            return f"a face's landmark lies {100 * shift:.0f} % of its size away"
    return ""


def gates_file() -> Path:
    """Where verdicts are kept: the user's cache folder."""
    return cache_folder() / "gates.json"


def _judged(
    load: Callable[[Precision], Detector], half: Precision, *, is_speed_asked: bool
) -> GateResult:
    try:
        compared = compared_detectors(load("fp32"), load(half))
    except ModelMissing:
        raise
    except EngineError as fault:
        return GateResult("fp32", f"{half} failed its gate: {fault}")
    if compared.defect:
        return GateResult("fp32", f"{half} failed its gate: {compared.defect}")
    found, speedup = compared.found, compared.speedup
    if is_speed_asked and speedup < _LEAST_SPEEDUP:
        return GateResult("fp32", f"{half} agrees, but is {speedup:.2f} times as fast as fp32")
    return GateResult(
        half, f"{half} gives the same {found} faces as fp32, {speedup:.2f} times as fast"
    )


def compared_detectors(exact: Detector, quick: Detector) -> Comparison:
    """A quick detector beside an exact one on drawn faces.

    Raises:
        EngineError: one of them failed.
    """
    scenes = [
        drawn_scene(320, 480, faces, side_px=side, seed=number)[0]
        for number, (faces, side) in enumerate(_SCENES)
    ]
    found = 0
    for scene in scenes:
        truth = exact.detect(scene, min_score=_LEAST_SCORE)
        twins = quick.detect(scene, min_score=_LEAST_SCORE - 1.5 * _SCORE_SLACK)
        defect = parity_defect(truth, twins)
        if defect:
            return Comparison(defect, found, 0.0)
        found += len(truth)
    if not found:
        return Comparison("no drawn face is found in fp32", 0, 0.0)
    return Comparison("", found, _speedup(exact, quick, scenes[0]))


def _speedup(exact: Detector, quick: Detector, scene: BgrImage) -> float:
    """Ratio of median times, taken in turn so that other load falls on both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(_TIMED_RUNS):
        for detector, into in zip((exact, quick), times, strict=True):
            start = time.perf_counter()
            detector.detect(scene, min_score=_LEAST_SCORE)
            into.append(time.perf_counter() - start)
    return statistics.median(times[0]) / max(statistics.median(times[1]), 1e-9)


def _key(model: Path | bytes, backend: HardwareBackend, wanted: str) -> str:
    parts = [_REVISION, model_sha256(model), backend.name, backend.version, backend.processor]
    return hashlib.sha256("\n".join([*parts, wanted]).encode()).hexdigest()


def _verdicts(path: Path) -> dict[str, tuple[str, str]]:
    """What is kept; nothing where the file is absent or damaged."""
    try:
        kept = value_from_json(path.read_text("utf-8"))
        return {str(key): (str(pair[0]), str(pair[1])) for key, pair in kept.items()}
    except (OSError, ValueError, AttributeError, TypeError, IndexError, KeyError):
        return {}


def kept_verdict(path: Path, key: str) -> tuple[str, str] | None:
    """A verdict and its reason, if the file of verdicts has it."""
    return _verdicts(path).get(key)


def keep_verdict(path: Path, key: str, verdict: str, reason: str) -> None:
    """Writes beside the file and renames; a read-only home costs the next start a second."""
    verdicts = {**_verdicts(path), key: (verdict, reason)}
    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(verdicts, indent=1), "utf-8")
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
