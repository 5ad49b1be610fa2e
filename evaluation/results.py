"""What one method gave, as an object and as plain JSON, so that a run can go on later."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from evaluation.attacks.attack import Finding
from evaluation.attributes_kept import AttributeKept
from evaluation.downstream import DownstreamUse
from evaluation.metrics.diversity import Diversity
from evaluation.metrics.homogeneity import Homogeneity
from evaluation.metrics.intervals import Proportion
from evaluation.reports.clip_record import Record
from evaluation.utility import Utility

__all__ = ["MethodResult", "record_from_result", "result_from_record"]

_CURVE_POINTS: Final = 40
_CURVES_OF: Final = ("A1", "other photograph")
_RATE: Final = TypeAdapter(Proportion)
_DIVERSITY: Final = TypeAdapter(dict[str, Diversity])
_HOMOGENEITY: Final = TypeAdapter(list[Homogeneity])
_DOWNSTREAM: Final = TypeAdapter(list[DownstreamUse])
_KEPT: Final = TypeAdapter(list[AttributeKept])
_UTILITY: Final = TypeAdapter(Utility)


@dataclass(frozen=True, slots=True)
class MethodResult:
    """What one method gave.

    Attributes:
        name: of the method.
        kind: control, cover, mean or surrogate.
        findings: of all attacks.
        people: whose faces it released; fewer where it is too slow for everybody.
        utility: what is left of the faces; None where it was not measured.
        diversity: identities out and in, by judge.
        information_loss: AnonFACES Definition 3.2, by judge.
        frechet: distance to the originals in each judge's space.
        homogeneity: what its clusters disclose, by attribute.
        downstream: what can be learnt from its release, by attribute.
        kept: which attributes its faces still show.
        seconds: time to anonymize the probes once.
        samples: a strip of outputs as JPEG in base64, when allowed.
        failure: why the method could not run; empty when it did.
    """

    name: str
    kind: str
    findings: list[Finding] = field(default_factory=list)
    people: int = 0
    utility: Utility | None = None
    diversity: dict[str, Diversity] = field(default_factory=dict)
    information_loss: dict[str, float] = field(default_factory=dict)
    frechet: dict[str, float] = field(default_factory=dict)
    homogeneity: list[Homogeneity] = field(default_factory=list)
    downstream: list[DownstreamUse] = field(default_factory=list)
    kept: list[AttributeKept] = field(default_factory=list)
    seconds: float = 0.0
    samples: str = ""
    failure: str = ""


def record_from_result(result: MethodResult) -> Record:
    """Plain JSON without an embedding or a name of a person."""
    utility = result.utility
    return {
        "name": result.name,
        "kind": result.kind,
        "failure": result.failure,
        "people": result.people,
        "seconds": round(result.seconds, 3),
        "findings": [_finding_record(finding) for finding in result.findings],
        "diversity": {name: _diversity_record(own) for name, own in result.diversity.items()},
        "information_loss": dict(result.information_loss),
        "frechet": dict(result.frechet),
        "homogeneity": [asdict(own) for own in result.homogeneity],
        "downstream": [
            asdict(use) | {"accuracy": use.accuracy.as_dict()} for use in result.downstream
        ],
        "attributes": [asdict(own) | {"same": own.same.as_dict()} for own in result.kept],
        "utility": None if utility is None else _utility_record(utility),
        "samples": result.samples,
    }


def result_from_record(record: Record) -> MethodResult:
    """The other way round; curves come back as thin as they were written."""
    utility = record["utility"]
    numbers = cast("dict[str, dict[str, float]]", record)
    return MethodResult(
        str(record["name"]),
        str(record["kind"]),
        [_finding(own) for own in _records(record["findings"])],
        cast(int, record["people"]),
        None if utility is None else _utility(cast(Record, utility)),
        _DIVERSITY.validate_python(record["diversity"]),
        dict(numbers["information_loss"]),
        dict(numbers["frechet"]),
        _HOMOGENEITY.validate_python(record["homogeneity"]),
        _DOWNSTREAM.validate_python(record["downstream"]),
        _KEPT.validate_python(record["attributes"]),
        cast(float, record["seconds"]),
        str(record["samples"]),
        str(record["failure"]),
    )


def _records(value: object) -> list[Record]:
    return cast("list[Record]", value)


def _diversity_record(diversity: Diversity) -> Record:
    return asdict(diversity) | {"ratio": diversity.ratio}


def _utility_record(utility: Utility) -> Record:
    return {
        "redetected": utility.redetected.as_dict(),
        "pose_error_deg": _finite(utility.pose_error_deg),
        "landmark_error": _finite(utility.landmark_error),
        "protected": None if utility.protected is None else utility.protected.as_dict(),
        "kept": None if utility.kept is None else utility.kept.as_dict(),
    }


def _utility(record: Record) -> Utility:
    errors = {name: _number(record[name]) for name in ("pose_error_deg", "landmark_error")}
    return _UTILITY.validate_python(record | errors)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: object) -> float:
    return float("nan") if value is None else float(cast(float, value))


def _finding_record(finding: Finding) -> Record:
    record: Record = {
        "attack": finding.attack,
        "variant": finding.variant,
        "judge": finding.judge,
        **finding.rate.as_dict(),
        "chance": finding.chance,
        "measures": dict(finding.measures),
    }
    if (finding.attack, finding.variant) == _CURVES_OF:
        record["curves"] = {name: _thinned(curve) for name, curve in finding.curves.items()}
    return record


def _finding(record: Record) -> Finding:
    curves = cast("dict[str, list[list[float]]]", record.get("curves", {}))
    return Finding(
        str(record["attack"]),
        str(record["variant"]),
        str(record["judge"]),
        _RATE.validate_python(record),
        cast(float, record["chance"]),
        cast("dict[str, float]", record["measures"]),
        {name: np.array(curve, np.float64) for name, curve in curves.items()},
    )


def _thinned(curve: NDArray[np.float64]) -> list[list[float]]:
    rows = np.arange(len(curve))
    if len(curve) > _CURVE_POINTS:
        rows = np.unique(np.geomspace(1, len(curve), _CURVE_POINTS).astype(int)) - 1
    return [[round(float(value), 5) for value in curve[row]] for row in rows]
