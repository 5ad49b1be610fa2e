"""Browsers that watch or publish, and a configuration file that changes beneath them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import yaml
from aiortc import RTCPeerConnection
from aiortc.mediastreams import VideoStreamTrack

from config.service import StreamSpec
from tests.stream.service.service_bench import bearer, tokens

_TURNS = 500


@asynccontextmanager
async def offer_of(kind: str) -> AsyncIterator[str]:
    """What a browser sends to `whep` or `whip`."""
    peer = RTCPeerConnection()
    if kind == "whep":
        peer.addTransceiver("video", direction="recvonly")
    else:
        peer.addTrack(VideoStreamTrack())
    await peer.setLocalDescription(await peer.createOffer())
    try:
        yield str(peer.localDescription.sdp)
    finally:
        await peer.close()


async def join(client: httpx.AsyncClient, kind: str, stream: str, role: str) -> httpx.Response:
    """A browser that connects to a stream by `whep` or `whip`."""
    headers = {"Content-Type": "application/sdp", **bearer(role)}
    async with offer_of(kind) as offer:
        return await client.post(f"/{kind}/{stream}", content=offer, headers=headers)


async def until(holds: Callable[[], bool]) -> bool:
    """Whether something holds before long; the loop goes on meanwhile."""
    for _ in range(_TURNS):
        if holds():
            return True
        await asyncio.sleep(0.01)
    return holds()


def write_configuration(
    file: Path, streams: Sequence[StreamSpec], roles: Sequence[str], **more: object
) -> None:
    """A file with these streams, and tokens of these roles."""
    access = tokens().model_dump(mode="json")
    access["tokens"] = [one for one in access["tokens"] if one["role"] in roles]
    entries = [one.model_dump(mode="json") for one in streams]
    file.write_text(yaml.safe_dump({"access": access, "streams": entries, **more}))
