"""Publishes slates to an address, connecting as often as it takes."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from stream.live.address import address_from_text
from stream.live.encoder_choice import EncoderOptions
from stream.live.errors import SinkLost
from stream.live.publishing import SinkCodec, network_sink
from stream.service.url_guard import OpenGate
from tests.stream.live.fakes import Encoding, slate


@contextmanager
def publishing(address: str, codec: SinkCodec = "h264") -> Iterator[None]:
    """Publishes slates until the block ends, connecting as often as it takes."""
    stop = threading.Event()

    def publish() -> None:
        sink = encoding = None
        for number in itertools.count():
            if stop.wait(1 / 25):
                break
            try:
                if sink is None or encoding is None:
                    sink = network_sink(address_from_text(address), OpenGate(), codec)
                    encoding = Encoding(sink, EncoderOptions(keyframe_s=0.5), codec)
                encoding.write(slate(90, 160, number * 3600))
            except SinkLost:
                assert sink is not None
                sink.abort()
                sink = encoding = None
        if sink is not None:
            sink.abort()

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20.0)
    assert not thread.is_alive()
