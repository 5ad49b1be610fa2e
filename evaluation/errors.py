"""Everything that can go wrong in the laboratory.

KveilError
└── EvaluationError               an evaluation could not be made or may not be believed
    ├── RecogniserRejected        a recogniser's description or network is unusable      (exit 5)
    ├── FacesUnreadable           a folder of faces or a clip cannot be read              (exit 3)
    ├── LabelsUnreadable          a table of attributes cannot be used                    (exit 3)
    ├── TooFewPeople              too few people for the method or the statistic          (exit 3)
    ├── CommandMisused            the arguments of a command contradict each other        (exit 2)
    ├── ReportNotWritable         the report's folder is absent or may not be written     (exit 4)
    ├── ExtraMissing              the packages of the extra `evaluate` are not installed  (exit 5)
    └── ClipsDiffer               original and anonymized clip do not match in time       (exit 6)
"""

from __future__ import annotations

from engines.errors import KveilError

__all__ = [
    "ClipsDiffer",
    "CommandMisused",
    "EvaluationError",
    "ExtraMissing",
    "FacesUnreadable",
    "LabelsUnreadable",
    "RecogniserRejected",
    "ReportNotWritable",
    "TooFewPeople",
]


class EvaluationError(KveilError):
    """An evaluation could not be made, or its figures may not be believed."""


class RecogniserRejected(EvaluationError):
    """A recogniser's description or network is unusable."""

    exit_code = 5


class FacesUnreadable(EvaluationError):
    """A folder of faces or a clip cannot be read."""

    exit_code = 3


class LabelsUnreadable(EvaluationError):
    """A table of attributes cannot be read or fits nobody."""

    exit_code = 3


class TooFewPeople(EvaluationError):
    """There are too few people for the method or for the statistic."""

    exit_code = 3


class CommandMisused(EvaluationError):
    """The arguments of a command contradict each other."""


class ReportNotWritable(EvaluationError):
    """The report's folder is absent or may not be written."""

    exit_code = 4


class ExtraMissing(EvaluationError):
    """The packages of the extra `evaluate` are not installed."""

    exit_code = 5


class ClipsDiffer(EvaluationError):
    """The anonymized clip has other frames or times than its original."""

    exit_code = 6
