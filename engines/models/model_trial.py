"""Reads and tries networks of strangers in a process of its own, within a deadline and a memory.

No runtime can be stopped within a run, and what a network needs is sure only when it has run: a
small file may ask for days or terabytes. So a process that may be ended tries it first; what it
takes too long over, or dies of, is refused.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from engines.errors import BackendMissing, EngineError, EngineFault, ModelMissing, ModelRejected
from engines.json_reading import value_from_json
from engines.models.catalogue import CENTERFACE_SHA256, models_folder
from engines.models.importing import Imported, import_model

__all__ = ["IMPORT_DEADLINE_S", "TRIAL_DEADLINE_S", "import_bounded", "refuse_unbounded"]

IMPORT_DEADLINE_S: Final = 600.0
"""For reading a file of gigabytes, writing its networks and running them once, s."""
TRIAL_DEADLINE_S: Final = 90.0
"""For loading a detector and one search of a picture in full HD, s; the slowest known takes 5."""
_IMPORT_BYTES: Final = 16 << 30
_TRIAL_BYTES: Final = 6 << 30
_GRACE_S: Final = 10.0
_TRIED_PX: Final = (1080, 1920)
_REVISION: Final = "trial 1"
_KINDS: Final[Mapping[str, type[EngineError]]] = {
    kind.__name__: kind for kind in (ModelMissing, ModelRejected, BackendMissing, EngineFault)
}


def import_bounded(
    path: Path,
    *,
    name: str | None = None,
    licence: str | None = None,
    folder: Path | None = None,
    overwrite: bool = False,
    deadline_s: float = IMPORT_DEADLINE_S,
) -> Imported:
    """Imports as `engines.models.importing.import_model` does, in a process of its own.

    Args:
        path: see `import_model`, as the rest.
        name: likewise.
        licence: likewise.
        folder: likewise.
        overwrite: likewise.
        deadline_s: after so long the file is refused, s.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: as `import_model` says; it takes too long or too much memory.
        FileExistsError: another network has that name.
        OSError: the folder cannot be written.
    """
    given = {
        "job": "import",
        "path": str(path),
        "name": name,
        "licence": licence,
        "folder": str(models_folder(folder)),
        "overwrite": overwrite,
    }
    done = _answer(given, path.name, deadline_s, _IMPORT_BYTES)
    is_new = bool(done["is_new"])
    return Imported(str(done["name"]), Path(str(done["folder"])), str(done["source"]), is_new)


def refuse_unbounded(
    model: Path, *, deadline_s: float = TRIAL_DEADLINE_S, cache: Path | None = None
) -> None:
    """Refuses a detector that does not load and search a picture in full HD within bounds.

    That one does is kept under its hash, so that only its first start pays for it. The detector
    that comes with kveil is known.

    Args:
        model: its ONNX file.
        deadline_s: after so long it is refused, s.
        cache: file of verdicts; that of the precision gates where None.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is no detector, fails, or takes too long or too much memory.
    """
    from engines.backends.networks import model_sha256
    from engines.detectors.gate import gates_file, keep_verdict, kept_verdict

    digest = model_sha256(model)
    if digest == CENTERFACE_SHA256:
        return
    verdicts = cache or gates_file()
    key = hashlib.sha256(f"{_REVISION}\n{digest}".encode()).hexdigest()
    if kept_verdict(verdicts, key) is not None:
        return
    _answer({"job": "try", "path": str(model)}, model.name, deadline_s, _TRIAL_BYTES)
    keep_verdict(verdicts, key, "fp32", "loads and runs within its bounds")


def _answer(
    given: Mapping[str, object], name: str, deadline_s: float, memory: int
) -> Mapping[str, object]:
    """What the other process answers.

    Raises:
        EngineError, OSError: what it met.
        ModelRejected: it was not done in time, or died.
    """
    memory = min(memory, _most_of_this_machine())
    bounds = {"memory": memory, "deadline_s": deadline_s}
    try:
        # Without -P a folder `engines` where the user happens to be would be run instead.
        done = subprocess.run(
            [sys.executable, "-P", "-m", "engines.models.model_trial"],
            input=json.dumps({**given, **bounds}).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ModelRejected(
            f"{name} was not loaded and run within {deadline_s:g} s; it is refused"
        ) from None
    try:
        answer = value_from_json(done.stdout.decode())
    except ValueError:
        raise ModelRejected(
            f"{name} ended the process that tried it, or takes more than {memory >> 30} GiB; "
            "it is refused"
        ) from None
    _raise_fault(answer)
    found: Mapping[str, object] = answer
    return found


def _most_of_this_machine() -> int:
    """Three quarters of the memory that is built in, bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4


def _raise_fault(answer: Mapping[str, object]) -> None:
    fault = answer.get("fault")
    if not isinstance(fault, list):
        return
    kind, *told = fault
    if kind == "OSError":
        number, text, file = told
        raise OSError(number, text, file)
    raise _KINDS.get(str(kind), ModelRejected)(str(told[0]))


def _done(given: Mapping[str, object]) -> dict[str, object]:
    """Does in this process what another one asked for."""
    path = Path(str(given["path"]))
    if given["job"] == "try":
        _search_once(path, int(str(given["memory"])))
        return {}
    done = import_model(
        path,
        name=_text(given["name"]),
        licence=_text(given["licence"]),
        folder=Path(str(given["folder"])),
        overwrite=bool(given["overwrite"]),
    )
    return {
        "name": done.name,
        "folder": str(done.folder),
        "source": done.source,
        "is_new": done.is_new,
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _search_once(path: Path, memory: int) -> None:
    """Loads a detector on the processor and searches one picture.

    Raises:
        ModelMissing, ModelRejected: there is none, or it fails.
    """
    from engines.backends.choice import choose_backend
    from engines.detectors.drawn_faces import drawn_scene
    from engines.detectors.loading import detector_from_model, layout_of

    layout_of(path)
    scene, _ = drawn_scene(*_TRIED_PX, 2, side_px=180.0)
    try:
        detector = detector_from_model(choose_backend(device="cpu").backend, path)
        detector.detect(scene, min_score=0.3)
    except (EngineError, MemoryError) as fault:
        message = f"the detector does not run within {memory >> 30} GiB: {fault}"
        raise ModelRejected(message) from fault


def _bound(given: Mapping[str, object]) -> None:
    """Bounds this process's memory, and its life should the one that asked be gone."""
    memory, deadline_s = int(str(given["memory"])), float(str(given["deadline_s"]))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_REAL, deadline_s + _GRACE_S)


def main() -> int:
    """Reads from stdin what to do, and writes to stdout what came of it, both as JSON."""
    given = value_from_json(sys.stdin.buffer.read().decode())
    # What libraries print is no answer.
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _bound(given)
    answer: dict[str, object]
    try:
        answer = _done(given)
    except EngineError as fault:
        answer = {"fault": [type(fault).__name__, str(fault)]}
    except OSError as fault:
        number = fault.errno or errno.EIO
        answer = {"fault": ["OSError", number, fault.strerror or str(fault), fault.filename]}
    except MemoryError:
        return 1
    with os.fdopen(answers, "w", encoding="utf-8") as file:
        file.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
