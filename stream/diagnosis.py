"""What this machine offers, what of it is used, and why the rest is not."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import psutil

from engines.backends.choice import choose_backend, settled_names
from engines.backends.openvino import OpenVino
from engines.detectors.loading import layout_of
from engines.errors import KveilError
from engines.models.catalogue import centerface_path
from engines.models.gpu_gate import gpu_fault
from stream.files.report import installed_versions
from stream.media.writing.encoders import hardware_encoders
from stream.network_speeds import network_speeds

__all__ = ["Diagnosis", "diagnose"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One line of the doctor's report.

    Attributes:
        topic: what was looked at.
        state: `used`, `unused` (there, but not taken) or `missing`.
        detail: what it is, and where it is not used, why and what to do.
    """

    topic: str
    state: Literal["used", "unused", "missing"]
    detail: str


def diagnose() -> Iterator[Diagnosis]:
    """Looks at machine, runtimes, models and encoders, one after the other."""
    versions = ", ".join(f"{name} {version}" for name, version in installed_versions().items())
    yield Diagnosis("versions", "used", versions)
    yield Diagnosis("machine", "used", f"{os.cpu_count()} cores, {_memory()}, {_system()}")
    yield from _processor()
    yield _gpu()
    yield _detector()
    yield from _encoders()


def _memory() -> str:
    try:
        return f"{psutil.virtual_memory().total / 1e9:.0f} GB"
    except OSError:  # a sandbox without /proc
        return "memory unknown"


def _system() -> str:
    return f"{platform.system()} {platform.machine()}"


def _processor() -> Iterator[Diagnosis]:
    try:
        backend = OpenVino()
    except KveilError as fault:
        yield Diagnosis("openvino", "missing", str(fault))
        return
    yield Diagnosis("openvino", "used", f"{backend.version} on {backend.processor}")
    if backend.has_bf16:
        yield Diagnosis("bf16", "used", "the processor computes it; each network passes a gate")
    else:
        yield Diagnosis("bf16", "missing", "the processor has no bf16 units; fp32 is used")
    try:
        for speed in network_speeds(backend):
            yield Diagnosis("network", "used", speed.told())
    except KveilError as fault:
        yield Diagnosis("network", "missing", str(fault))


def _gpu() -> Diagnosis:
    try:
        choice = choose_backend("auto", "cuda")
        told = f"{choice.backend.name} {choice.backend.version} on {choice.backend.processor}"
        by_itself = choose_backend(gate=partial(gpu_fault, detector=centerface_path()))
    except KveilError as fault:
        return Diagnosis("gpu", "missing", str(fault))
    if settled_names(by_itself.backend)[1] == "cuda":
        return Diagnosis("gpu", "used", f"{told}; {by_itself.reason}")
    return Diagnosis("gpu", "unused", f"{told}; {by_itself.reason}; --device cuda takes it anyway")


def _detector() -> Diagnosis:
    try:
        path = centerface_path()
        return Diagnosis("detector", "used", f"{path.name}, {layout_of(path)} layout")
    except KveilError as fault:
        return Diagnosis("detector", "missing", str(fault))


def _encoders() -> Iterator[Diagnosis]:
    for name, works in hardware_encoders().items():
        if works:
            yield Diagnosis("encoder", "used", f"{name} passed a test encode")
        else:
            yield Diagnosis("encoder", "unused", f"{name} failed a test encode: no such hardware")
    yield Diagnosis("encoder", "used", "libx264, libx265, libsvtav1, libvpx-vp9 (software)")
