"""A service whose engines cover everything, for tests of what surrounds them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import cast

import httpx

from config.service import Access, ServiceSettings, StreamSpec, TokenSpec
from engines.pictures import BgrImage
from engines.types import Face
from stream.finding.finding import Scale
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.replacement import CoverEveryFace
from stream.service.serving import Service

Talk = Callable[[httpx.AsyncClient], Coroutine[None, None, None]]
TOKENS = {"viewer": "kv_viewer", "publisher": "kv_publisher", "operator": "kv_operator"}


class SeesNobody:
    """A detector that finds no face."""

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        return ()


def engines() -> EngineSet:
    from engines.detectors.multiscale import DetectionPlan

    plan = DetectionPlan(320)
    plans: dict[Scale, DetectionPlan] = {"near": plan, "coarse": plan, "full": plan}
    return EngineSet(
        detector=SeesNobody(), plans=lambda height, width: plans, workers=1, choices=()
    )


def tokens() -> Access:
    specs = [
        {"name": role, "sha256": hashlib.sha256(text.encode()).hexdigest(), "role": role}
        for role, text in TOKENS.items()
    ]
    return Access(tokens=tuple(TokenSpec.model_validate(spec) for spec in specs))


def service_of(settings: ServiceSettings, file: Path | None = None) -> Service:
    return Service(settings, engines(), lambda chosen, name: CoverEveryFace(), file)


def bearer(role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[role]}"}


def client_of(service: Service, role: str | None = "operator") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=service.app, raise_app_exceptions=True)
    headers = bearer(role) if role else {}
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)


def talk(service: Service, conversation: Talk, role: str | None = "operator") -> None:
    async def run() -> None:
        async with client_of(service, role) as client:
            await conversation(client)

    asyncio.run(run())


def whip_stream(name: str = "desk") -> StreamSpec:
    return StreamSpec(name=name)


@contextlib.contextmanager
def running_service(settings: ServiceSettings, file: Path | None = None) -> Iterator[Service]:
    service = service_of(settings, file)
    service.start()
    try:
        yield service
    finally:
        stuck = service.close()
        assert not stuck, stuck
        left = [one.name for one in threading.enumerate() if one.name.startswith("desk")]
        assert not left, left


def json_list(response: httpx.Response) -> list[dict[str, object]]:
    return cast(list[dict[str, object]], response.json())
