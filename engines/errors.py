"""Everything that can go wrong in the engines.

KveilError                    any failure that kveil reports in one line
├── EngineError               a network or a pixel operation failed
│   ├── ModelMissing          a model file is absent                              (exit 5)
│   ├── ModelRejected         wrong hash, shape, layout, or its gate failed        (exit 5)
│   ├── BackendMissing        the runtime that was asked for is not installed      (exit 5)
│   └── EngineFault           a run raised, hung, or returned NaN or a blank       (covered)
└── (each other room adds its own branch in its errors.py)
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BackendMissing",
    "EngineError",
    "EngineFault",
    "KveilError",
    "ModelMissing",
    "ModelRejected",
    "import_failure",
]


class KveilError(Exception):
    """A failure told in one line: what happened and what to do.

    Attributes:
        exit_code: process exit status when the failure ends a command.
        retryable: whether the same call may succeed later, unchanged.
    """

    exit_code: ClassVar[int] = 2
    retryable: bool = False


def import_failure(name: str, advice: str, fault: ImportError) -> str:
    """Why a library cannot be used: it is not there, or something keeps it from being loaded.

    >>> import_failure("OpenVINO", "pip install openvino", ModuleNotFoundError("no module"))
    'OpenVINO is absent; pip install openvino'
    >>> import_failure("OpenVINO", "", ImportError("a.so: cannot map: Cannot allocate memory"))
    'OpenVINO is installed but does not load (a.so: cannot map: Cannot allocate memory)'
    """
    if isinstance(fault, ModuleNotFoundError):
        return f"{name} is absent; {advice}"
    return f"{name} is installed but does not load ({' '.join(str(fault).split())})"


class EngineError(KveilError):
    """A network or a pixel operation failed."""

    exit_code = 5


class ModelMissing(EngineError):
    """A model file is absent."""


class ModelRejected(EngineError):
    """A model file has the wrong hash, shape or layout, or did not pass its gate."""


class BackendMissing(EngineError):
    """The runtime that was asked for is not installed; the message names the extra."""


class EngineFault(EngineError):
    """One run of an engine raised, hung, or returned NaN or a blank picture."""

    retryable = True
