"""Threads that meet in OpenVINO's binding must not wait for each other for ever."""

import pytest

from tests.engines.backends.programs import ran

pytestmark = pytest.mark.unit

_STARTS = 4
"""Programs started; without the filled table every second one stands still."""
_PROGRAM = """
import faulthandler, sys, threading
faulthandler.dump_traceback_later(30, exit=True)
import openvino
from engines.backends.openvino import OpenVino
OpenVino()
start = threading.Barrier(4)
def convert():
    start.wait()
    openvino.Type.f32.to_dtype()
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=convert) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_first_conversions_of_several_threads_end() -> None:
    for _ in range(_STARTS):
        done = ran(_PROGRAM)
        assert done.returncode == 0, done.stderr
