from __future__ import annotations

import pytest

from engines.errors import KveilError
from stream.cli.stream_end import raise_failure
from stream.live.counters import Latency
from stream.live.live_stream import StreamStatus

pytestmark = pytest.mark.unit


def ended(frames_in: int, sink: str, taken: int, trouble: str = "") -> StreamStatus:
    return StreamStatus(
        name="stream",
        source="stopped",
        output="live",
        trouble=trouble,
        fps_in=0.0,
        fps_out=0.0,
        latency=Latency(),
        counts={"frames_in": frames_in},
        sinks={"rtmp://host:1935": sink},
        taken={"rtmp://host:1935": taken},
        hung_calls=0,
    )


@pytest.mark.parametrize(
    ("status", "stuck", "code", "said"),
    [
        (ended(0, "ok", 30, "cannot read cam: it is silent"), [], 3, "it is silent"),
        (ended(0, "ok", 30), [], 3, "no picture"),
        (ended(90, "cannot publish to x: refused", 0), [], 4, "refused"),
        (ended(90, "cannot publish to x: refused", 80), [], 4, "refused"),
        (ended(90, "ok", 0), [], 4, "rtmp://host:1935 got nothing"),
        (ended(90, "ok", 80), ["stream-worker"], 5, "1 threads did not end: stream-worker"),
        (ended(90, "ok", 0), ["stream-worker"], 5, "1 threads did not end: stream-worker"),
        # The planted fault: the thread of an output that waits for its server was told of alone.
        (ended(90, "cannot publish to x: refused", 0), ["stream-sink-0"], 4, "refused"),
        (ended(0, "ok", 0, "cannot read cam: it is silent"), ["stream-reader"], 3, "silent"),
    ],
)
def test_stream_that_did_not_do_what_was_asked_is_an_error(
    status: StreamStatus, stuck: list[str], code: int, said: str
) -> None:
    with pytest.raises(KveilError, match=said) as failure:
        raise_failure(status, stuck)
    assert failure.value.exit_code == code


def test_stream_that_was_published_to_its_end_is_no_error() -> None:
    raise_failure(ended(90, "ok", 85))
