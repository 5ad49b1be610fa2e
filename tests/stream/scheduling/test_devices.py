"""The scheduler with real networks, and with a GPU's binding as a stand-in tells of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from engines.backends.backend import Tensors
from engines.backends.cuda_memory import open_stream
from engines.backends.openvino import OpenVino
from engines.face.swapper import Rendered, Swapper
from engines.stylegan.pack import bundled_pack, donor_latents, read_pack, swapper_from_pack
from stream.files.demo_clip import portrait
from stream.scheduling.backend import ScheduledBackend
from stream.scheduling.request import Outputs
from stream.scheduling.scheduler import Scheduler, Terms
from tests.engines.backends.fake import FakeSession
from tests.engines.backends.pycuda_driver import Driver, installed_driver
from tests.stream.scheduling.networks import together

pytestmark = pytest.mark.unit


class OnGpu:
    """A network that sends its rows to a GPU and takes them back, as TensorRT's sessions do."""

    def __init__(self) -> None:
        self.stream = open_stream()
        self.threads: set[threading.Thread] = set()

    def answer(self, tensors: Tensors) -> Outputs:
        self.threads.add(threading.current_thread())
        rows = np.ascontiguousarray(tensors["x"], np.float32)
        back = np.empty_like(rows)
        with self.stream.entered():
            place = self.stream.allocate(rows.nbytes)
            self.stream.upload(place, rows)
            self.stream.download(back, place)
            self.stream.synchronize()
        return {"y": back}


def test_context_of_a_gpu_is_entered_on_the_thread_of_the_scheduler_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver: Driver = installed_driver(monkeypatch)
    on_gpu, scheduler = OnGpu(), Scheduler(Terms(width=1))
    network = FakeSession(on_gpu.answer)
    rows = [{"x": np.full((1, 3), value, np.float32)} for value in range(6)]
    answers = together(*[partial(scheduler.run, network, one) for one in rows])
    scheduler.close()
    for one, answer in zip(rows, answers, strict=True):
        assert isinstance(answer, dict)
        np.testing.assert_array_equal(answer["y"], one["x"])
    assert len(on_gpu.threads) == 1
    assert threading.current_thread() not in on_gpu.threads
    assert driver.depth == 0


@pytest.fixture(scope="module")
def scheduler() -> Iterator[Scheduler]:
    made = Scheduler(Terms(join_s=20.0, most_rows=4))
    yield made
    made.close()


@pytest.fixture(scope="module")
def painters(scheduler: Scheduler) -> tuple[Swapper, Swapper]:
    """Of the bundled networks: run by a scheduler, and by whoever asks."""
    backend = OpenVino(threads=1)
    made = (swapper_from_pack(one)[0] for one in (ScheduledBackend(backend, scheduler), backend))
    return next(made), next(made)


def test_faces_of_two_streams_are_painted_together_and_come_back_apart(
    scheduler: Scheduler, painters: tuple[Swapper, Swapper]
) -> None:
    joint, alone = painters
    photo = portrait()
    side = min(photo.shape[:2]) // 4 * 4
    crops = np.stack([photo[:side, :side], photo[:side, :side, ::-1]])
    latents = donor_latents(read_pack(bundled_pack()), 4).reshape(2, 2, -1, 512)
    streams = [
        partial(joint.render, np.repeat(crops[n][None], 2, axis=0), latents[n]) for n in (0, 1)
    ]
    made = together(*streams)
    counts = scheduler.counts()
    assert counts["rows"] > counts["runs"] * 3, "the streams' faces were run apart"
    for number, rendered in enumerate(made):
        assert isinstance(rendered, Rendered)
        wanted = alone.render(np.repeat(crops[number][None], 2, axis=0), latents[number])
        np.testing.assert_allclose(rendered.pixels, wanted.pixels, atol=1.0)
        np.testing.assert_allclose(rendered.identity, wanted.identity, atol=1e-3)
        np.testing.assert_array_equal(rendered.is_usable, wanted.is_usable)
