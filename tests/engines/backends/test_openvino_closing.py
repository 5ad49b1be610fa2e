"""A session that was closed runs no more, whatever was under way."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

import pytest

from engines.backends.openvino import OpenVinoSession
from engines.errors import EngineFault

pytestmark = pytest.mark.unit


class Compiled:
    """A compiled network without inputs or outputs, whose runs last until they are let go."""

    inputs = ()
    outputs = ()

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def create_infer_request(self) -> Compiled:
        return self

    def infer(self, tensors: object, **_: object) -> tuple[()]:
        self.has_begun.set()
        self.may_end.wait()
        return ()


@pytest.mark.parametrize("requests", [1, 3])
def test_session_closed_during_a_run_refuses_the_next(requests: int, tmp_path: Path) -> None:
    compiled = Compiled()
    session = OpenVinoSession(cast(Any, compiled), ([], []), "fp32", requests, tmp_path)
    worker = threading.Thread(target=session.run, args=({},))
    worker.start()
    compiled.has_begun.wait()
    session.close()
    compiled.may_end.set()
    worker.join()
    for _ in range(3):
        with pytest.raises(EngineFault, match="closed"):
            session.run({})
