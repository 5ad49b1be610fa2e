"""A gallery with people before its cameras, for the tests of this folder."""

from __future__ import annotations

from gallery.assignments import Assignment
from gallery.gallery import Gallery
from gallery.settings import Attributes, BelowK, GallerySettings, Scope
from gallery.simulation import THRESHOLDS, NoiseMaker, look


def settings_of(
    k: int = 3,
    below_k: BelowK = "swap",
    scope: Scope = "session",
    max_people: int = 1000,
    attributes: Attributes = "matched",
) -> GallerySettings:
    return GallerySettings(
        k=k, below_k=below_k, scope=scope, attributes=attributes, thresholds=THRESHOLDS,
        max_people=max_people,
        period_s=10.0, forget_track_s=30.0, retry_s=1.0,
    )  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Scene:
    """One gallery, and tracks counted up."""

    def __init__(self, gallery: Gallery) -> None:
        self.gallery = gallery
        self.time_s = 0.0
        self.track = 0

    def passes(self, human: int, stream: str = "door", attributes: str | None = None) -> Assignment:
        """A human comes, is seen, and goes."""
        self.track += 1
        answer = self.gallery.assign(stream, self.track, look(human), attributes, self.time_s)
        self.gallery.visible(stream, [self.track], self.time_s)
        self.time_s += 0.5
        self.gallery.visible(stream, [], self.time_s)
        return answer

    def stays(self, human: int, stream: str = "door", *, is_poor: bool = False) -> int:
        """A human comes and stays in view with whoever is there; the track."""
        self.track += 1
        view = {*getattr(self, "view", set()), self.track}
        self.view = view
        self.gallery.visible(stream, view, self.time_s)
        self.gallery.assign(stream, self.track, look(human, is_poor), None, self.time_s)
        return self.track


def scene(settings: GallerySettings | None = None, **named: object) -> Scene:
    return Scene(Gallery(settings or settings_of(), NoiseMaker(), **named))  # type: ignore[arg-type]
