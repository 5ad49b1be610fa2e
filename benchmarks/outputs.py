#!/usr/bin/env python3
"""What the outputs of a live stream cost: processor time for each second of a 360p stream.

    python -m benchmarks.outputs CLIP [--code BEFORE=FOLDER …] [--rounds 3] [--seconds 20]
        [--viewers 2]

Runs the service with one stream: the clip over and over in real time, once without any output
and once with RTSP (the GStreamer server of the tests), HLS in a folder, a recording and viewers
by WHEP (in a process of their own, whose time is not counted). Faces are not sought, so that the
rest is what is measured. `--code` adds another copy of the repository, so that two versions are
measured in turns in one run. The time is that of the service and its processes; the difference
between the two rows is what the outputs cost. On a machine that others use as well, compare
within one run alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import httpx
import psutil
import yaml
from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack

HERE = Path(__file__).resolve().parents[1]
FPS = 25
WARM_S = 6.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took.

    Attributes:
        cpu: processor seconds for each second of the stream.
        fps: pictures that left, each second.
        codecs: in which the viewers got them.
        arrived: pictures that each viewer decoded, each second.
    """

    cpu: float
    fps: float
    codecs: tuple[str, ...] = ()
    arrived: float = 0.0


def main() -> None:
    """Prints a row for each copy of the code, without and with outputs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clip", type=Path, nargs="?")
    parser.add_argument("--code", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--viewers", type=int, default=2)
    parser.add_argument("--watch", help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve(chosen.serve)
        return
    if chosen.watch:
        asyncio.run(watch(chosen.watch, chosen.viewers, chosen.seconds))
        return
    versions = dict(pair.split("=", 1) for pair in chosen.code) | {"this": str(HERE)}
    with tempfile.TemporaryDirectory() as folder:
        clip = small_clip(chosen.clip, Path(folder) / "clip.mp4")
        measured(versions, clip, chosen)


def measured(versions: dict[str, str], clip: Path, chosen: argparse.Namespace) -> None:
    """Runs each version without and with outputs, in turns, and prints the medians."""
    runs: dict[tuple[str, bool], list[Cost]] = {}
    for _ in range(chosen.rounds):
        for name, code in versions.items():
            for has_outputs in (False, True):
                cost = one_run(Path(code), clip, chosen, has_outputs=has_outputs)
                runs.setdefault((name, has_outputs), []).append(cost)
                print(name, has_outputs, cost, file=sys.stderr, flush=True)
    print("| code | outputs | viewers get | CPU s per s (each round) | fps out | fps at a viewer |")
    print("|---|---|---|---|---|---|")
    for (name, has_outputs), costs in runs.items():
        cpu = statistics.median(cost.cpu for cost in costs)
        each = ", ".join(f"{cost.cpu:.3f}" for cost in costs)
        codecs = " ".join(sorted({codec for cost in costs for codec in cost.codecs})) or "–"
        fps, arrived = (
            statistics.median(getattr(cost, what) for cost in costs) for what in ("fps", "arrived")
        )
        label = f"RTSP, HLS, recording, {chosen.viewers} WHEP" if has_outputs else "none"
        print(f"| {name} | {label} | {codecs} | {cpu:.3f} ({each}) | {fps:.1f} | {arrived:.1f} |")
    for name in versions:
        with_, without = (
            statistics.median(cost.cpu for cost in runs[name, has]) for has in (True, False)
        )
        print(f"outputs of {name}: {with_ - without:.3f} CPU s per s")


def small_clip(clip: Path, target: Path) -> Path:
    """Ten seconds of the clip as 640×360 at the stream's rate."""
    with av.open(str(clip)) as source, av.open(str(target), "w") as output:
        track = output.add_stream("libx264", rate=FPS)
        track.width, track.height, track.pix_fmt = 640, 360, "yuv420p"
        for number, frame in zip(range(10 * FPS), source.decode(video=0), strict=False):
            small = frame.reformat(640, 360, "yuv420p")
            small.pts, small.time_base = number, Fraction(1, FPS)
            output.mux(track.encode(small))
        output.mux(track.encode(None))
    return target


def one_run(code: Path, clip: Path, chosen: argparse.Namespace, *, has_outputs: bool) -> Cost:
    """One service, watched for some seconds."""
    sys.path.insert(0, str(HERE))
    from tests.stream.live.rtsp_peer import rtsp_peer

    with tempfile.TemporaryDirectory() as folder, rtsp_peer() as peer:
        settings = configuration(clip, Path(folder), peer.port if has_outputs else None)
        with serving(code, settings, Path(folder)) as (address, process):
            viewers = watching(address, chosen) if has_outputs else None
            time.sleep(WARM_S)
            before, began_s = pictures_out(address), time.monotonic()
            cpu_before_s = cpu_s(process)
            time.sleep(chosen.seconds)
            cpu_used_s, lasted_s = cpu_s(process) - cpu_before_s, time.monotonic() - began_s
            left = pictures_out(address) - before
            seen = json.loads(viewers.communicate(timeout=60)[0]) if viewers else {}
    streamed_s = left / FPS
    arrived = statistics.mean(seen["pictures"]) / chosen.seconds if seen else 0.0
    return Cost(cpu_used_s / streamed_s, left / lasted_s, tuple(seen.get("codecs", ())), arrived)


def configuration(clip: Path, folder: Path, rtsp_port: int | None) -> dict[str, object]:
    """The service's file."""
    stream: dict[str, object] = {"name": "cam", "source": str(clip), "repeat": True}
    if rtsp_port is not None:
        rtsp, hls = f"rtsp://127.0.0.1:{rtsp_port}/out", str(folder / "hls" / "live.m3u8")
        stream |= {"sinks": [rtsp, hls], "record": True}
    return {
        "listen": {"port": 0},
        "webrtc": {"addresses": ["127.0.0.1"]},
        "recording": {"folder": str(folder / "recordings")},
        "live": {"sheds_load": False, "fps": FPS},
        "streams": [stream],
        "anonymize": {"method": "solid"},
    }


@contextmanager
def serving(
    code: Path, settings: dict[str, object], folder: Path
) -> Iterator[tuple[str, psutil.Process]]:
    """The service of a copy of the code: its address and its process."""
    file = folder / "kveil.yaml"
    file.write_text(yaml.safe_dump(settings))
    command = [sys.executable, __file__, "--serve", str(file)]
    environment = os.environ | {"PYTHONPATH": str(code)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, cwd=code
    ) as process:
        told = file.with_suffix(".address")
        while not told.exists():
            assert process.poll() is None, "the service ended"
            time.sleep(0.1)
        try:
            yield told.read_text(), psutil.Process(process.pid)
        finally:
            process.communicate(b"end", timeout=60)


def serve(file: Path) -> None:
    """Runs the service of whichever copy of the code is on the path, until its input ends."""
    from config.service import ServiceSettings
    from tests.stream.service.served import served
    from tests.stream.service.service_bench import service_of

    settings = ServiceSettings.model_validate(yaml.safe_load(file.read_text()))
    with served(service_of(settings), settings) as address:
        fresh = file.with_suffix(".fresh")
        fresh.write_text(address)
        fresh.rename(file.with_suffix(".address"))
        sys.stdin.read()


def cpu_s(process: psutil.Process) -> float:
    """Processor time of a process and everything that it started."""
    total = 0.0
    for one in (process, *process.children(recursive=True)):
        times = one.cpu_times()
        total += times.user + times.system
    return total


def pictures_out(address: str) -> int:
    """Pictures that have left so far."""
    streams = httpx.get(f"{address}/api/v1/streams", timeout=10.0).json()
    return int(streams[0]["counts"].get("frames_out", 0))


def watching(address: str, chosen: argparse.Namespace) -> subprocess.Popen[bytes]:
    """The viewers, in a process of their own."""
    seconds = str(chosen.seconds)
    command = [sys.executable, __file__, "--watch", address, "--seconds", seconds]
    return subprocess.Popen(
        [*command, "--viewers", str(chosen.viewers)], stdout=subprocess.PIPE, cwd=HERE
    )


async def watch(address: str, viewers: int, seconds: float) -> None:
    """Watches by WHEP; prints what came."""
    found = await asyncio.gather(*(watch_one(address, seconds) for _ in range(viewers)))
    told = {"codecs": [codec for codec, _ in found], "pictures": [number for _, number in found]}
    print(json.dumps(told))


async def watch_one(address: str, seconds: float) -> tuple[str, int]:
    """One viewer: the codec and the pictures that it decoded in the time that counts."""
    peer = RTCPeerConnection()
    peer.addTransceiver("video", direction="recvonly")
    await peer.setLocalDescription(await peer.createOffer())
    tracks: asyncio.Queue[MediaStreamTrack] = asyncio.Queue()
    peer.on("track", tracks.put_nowait)
    async with httpx.AsyncClient() as client:
        headers = {"Content-Type": "application/sdp"}
        offer = peer.localDescription.sdp
        answer = await client.post(f"{address}/whep/cam", content=offer, headers=headers)
    answer.raise_for_status()
    await peer.setRemoteDescription(RTCSessionDescription(answer.text, "answer"))
    pictures = await pictures_of(await tracks.get(), seconds)
    await peer.close()
    found = re.search(r"a=rtpmap:\d+ (\w+)/90000", answer.text)
    return found[1] if found else "?", pictures


async def pictures_of(track: MediaStreamTrack, seconds: float) -> int:
    """Pictures of the last seconds, after the time to warm up."""
    begin_s = time.monotonic() + WARM_S
    number = 0
    while time.monotonic() < begin_s + seconds:
        try:
            await asyncio.wait_for(track.recv(), 5.0)
        except (TimeoutError, MediaStreamError):
            break
        number += time.monotonic() >= begin_s
    return number


if __name__ == "__main__":
    main()
