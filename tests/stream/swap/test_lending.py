"""The gallery that settings ask for: where it is kept, and what it never tells."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from config.settings import Settings
from engines.face.embedder import PersonThresholds
from engines.pictures import picture_from_bgr
from engines.types import Embedding, Face, Frame, Surrogate, Track, TrackState
from gallery.donors import DonorPopulation
from gallery.errors import SecretMissing, SettingsConflict, StoreUnavailable
from gallery.gallery import Gallery
from gallery.ledger import check_folder
from gallery.secrets import KEY_VARIABLE, SecretRing
from gallery.stores.local_redis import INSTALL, LocalRedis
from stream.files.track_run import replacer_for
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.replacement import FaceReplacer
from stream.swap.lending import GalleryLender, file_stream, gallery_from_settings

PEOPLE = PersonThresholds(match=0.5, doubt=0.5)
SOMEBODY = np.eye(8, dtype=np.float32)[0]
DONORS = DonorPopulation(np.random.default_rng(0).normal(size=(200, 2, 512)).astype(np.float32))

FACE = Face(np.array([0, 0, 4, 4], np.float32), np.ones((5, 2), np.float32), 0.9)
FRAME = Frame(picture_from_bgr(np.zeros((8, 8, 3), np.uint8)), 0, Fraction(1, 25), 0)
TRACK = Track(1, FACE, TrackState.DETECTED, 5, True)


def later_frame(index: int) -> Frame:
    return replace(FRAME, pts=index, index=index)


with_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason=f"needs redis-server: {INSTALL}"
)


def settings(**gallery: object) -> Settings:
    return Settings.model_validate({"gallery": gallery, "privacy": {"k": 3}})


def opened(**gallery: object) -> Gallery:
    return gallery_from_settings(settings(**gallery), DONORS, PEOPLE)


def on_redis(server: LocalRedis, folder: Path) -> dict[str, object]:
    return {"redis_url": server.url, "key_file": str(folder / "keys"), "timeout_s": 5.0}


@pytest.fixture
def folder() -> Iterator[Path]:
    short = Path(tempfile.mkdtemp())
    SecretRing.ephemeral().write(short / "keys")
    yield short
    shutil.rmtree(short)


@pytest.mark.unit
def test_without_a_url_people_stay_in_this_process(tmp_path: Path) -> None:
    gallery = opened(ledger=str(tmp_path))
    assert gallery.assign("door", 1, SOMEBODY, None, 0.0).surrogate is not None
    gallery.close()
    assert check_folder(tmp_path).people == 1


@pytest.mark.unit
@pytest.mark.parametrize(
    "unfit",
    [
        replace(TRACK, state=TrackState.EXTENDED),
        replace(TRACK, state=TrackState.DOUBTFUL),
        replace(TRACK, is_confirmed=False),
    ],
)
def test_who_is_covered_anyway_lets_another_track_of_the_person_wear_the_face(
    unfit: Track,
) -> None:
    lender, again = GalleryLender(opened(), "door"), replace(TRACK, id=2)
    for one in (TRACK, again):  # after each other: one person, one face
        lender.see(FRAME, [])
        lender.see(later_frame(one.id), [one])
        lender.lend(later_frame(one.id), one, SOMEBODY)
    assert lender.see(later_frame(3), [unfit, again]) == frozenset()
    assert lender.see(later_frame(4), [TRACK, again]) == {2}


@pytest.mark.unit
def test_redis_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(SecretMissing, match=KEY_VARIABLE):
        opened(redis_url="redis://127.0.0.1:1")


@pytest.mark.unit
@pytest.mark.parametrize("url", ["http://u:hidden@host", "redis://u:hid/hidden@host:6379"])
def test_malformed_url_is_refused_without_its_password(folder: Path, url: str) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        opened(redis_url=url, key_file=str(folder / "keys"))
    assert "hid" not in str(refused.value)


@pytest.mark.unit
def test_password_shows_in_no_dump_of_the_settings() -> None:
    chosen = settings(redis_url="redis://user:hidden@host:6379/0")
    shown = [repr(chosen), str(chosen), chosen.model_dump_json(), str(chosen.model_dump())]
    assert not any("hidden" in text for text in shown)


@pytest.mark.unit
def test_redis_that_does_not_answer_covers_instead_of_failing(folder: Path) -> None:
    url = f"unix://{folder}/nobody.sock"
    gallery = opened(redis_url=url, key_file=str(folder / "keys"))
    assert gallery.assign("door", 1, SOMEBODY, None, 0.0).cause == "store_unavailable"
    with pytest.raises(StoreUnavailable):
        gallery.probe()


@pytest.mark.redis
@with_redis
def test_runs_of_one_redis_and_session_lend_a_person_one_face(folder: Path) -> None:
    with LocalRedis(folder) as server:
        shared = on_redis(server, folder)
        faces: dict[str, list[str]] = {}
        for session in ("", "", "night", "night"):
            gallery = opened(**shared, session=session)
            answer = gallery.assign("door", 1, SOMEBODY, None, 0.0)
            faces.setdefault(session, []).append(answer.face)
            assert gallery.people == 1
            gallery.close()
        assert faces["night"][0] == faces["night"][1]
        assert len({*faces[""], *faces["night"]}) == 3


@pytest.mark.redis
@with_redis
def test_run_with_another_k_on_one_redis_is_refused(folder: Path) -> None:
    with LocalRedis(folder) as server:
        shared = on_redis(server, folder)
        opened(**shared).close()
        other = Settings.model_validate({"gallery": shared, "privacy": {"k": 4}})
        with pytest.raises(SettingsConflict, match="k=3"):
            gallery_from_settings(other, DONORS, PEOPLE)


@pytest.mark.redis
@with_redis
def test_resumed_run_on_redis_lends_the_same_face(folder: Path) -> None:
    with LocalRedis(folder) as server:
        shared = on_redis(server, folder)
        faces: set[str] = set()
        for _ in range(2):
            gallery = gallery_from_settings(settings(**shared), DONORS, PEOPLE, b"r" * 32)
            faces.add(gallery.assign("door", 1, SOMEBODY, None, 0.0).face)
            gallery.close()
        assert len(faces) == 1


@pytest.mark.unit
def test_resumable_runs_with_one_ledger_count_their_people_apart(tmp_path: Path) -> None:
    strangers = np.eye(8, dtype=np.float32)
    for key, people in ((b"a" * 32, strangers[:3]), (b"b" * 32, strangers[:2]), (b"a" * 32, [])):
        chosen = settings(ledger=str(tmp_path))
        gallery = gallery_from_settings(chosen, DONORS, PEOPLE, key)
        for track, person in enumerate(people):
            assert gallery.assign("door", track, person, None, 0.0).surrogate is not None
        gallery.close()
    found = check_folder(tmp_path)
    assert (found.windows, found.people, found.violations) == (2, 5, ())
    record = "".join(path.read_text() for path in tmp_path.glob("*.jsonl"))
    assert b"aaaa".hex() not in record


def scoped(scope: str, **gallery: object) -> Settings:
    return Settings.model_validate({"gallery": gallery, "privacy": {"k": 3, "scope": scope}})


def lent_in_files(gallery: Gallery, *paths: Path) -> list[bytes]:
    """What the same person wears on the first track of each file."""
    engines = cast(
        "EngineSet",
        SimpleNamespace(swap=SimpleNamespace(attributes=None, crew=None, fitting=lambda: None)),
    )
    latents = []
    for path in paths:
        name = file_stream(gallery, path)
        lender = cast("GalleryLender", replacer_for(name, Settings(), engines, gallery))
        answer = lender.lend(FRAME, TRACK, SOMEBODY)
        assert isinstance(answer, Surrogate)
        latents.append(answer.latent.tobytes())
        gallery.end(name)
    return latents


@pytest.fixture
def bare_lenders(monkeypatch: pytest.MonkeyPatch) -> None:
    """File runs get their lender itself in the place of the swap."""

    def lender_alone(swap: object, lender: GalleryLender, settings: Settings) -> FaceReplacer:
        return cast("FaceReplacer", lender)

    monkeypatch.setattr("stream.files.track_run.swap_by", lender_alone)


@pytest.mark.unit
@pytest.mark.usefixtures("bare_lenders")
@pytest.mark.parametrize(
    ("scope", "again", "elsewhere"),
    [("track", False, False), ("camera", True, False), ("session", True, True)],
)
def test_files_of_one_name_are_linked_only_as_far_as_the_scope_says(
    tmp_path: Path, scope: str, again: bool, elsewhere: bool
) -> None:
    gallery = gallery_from_settings(scoped(scope), DONORS, PEOPLE)
    one, other = tmp_path / "cam1" / "clip.mp4", tmp_path / "cam2" / "clip.mp4"
    first, repeated, second = lent_in_files(gallery, one, one, other)
    assert (first == repeated) is again
    assert (first == second) is elsewhere
    assert list(gallery._presence.streams()) == []


@pytest.mark.unit
def test_name_of_a_files_stream_tells_no_path_and_differs_between_runs(tmp_path: Path) -> None:
    path = tmp_path / "person" / "clip.mp4"
    names = [file_stream(opened(), path) for _ in range(2)]
    assert names[0] != names[1]
    assert not any(part in name for name in names for part in ("clip", "person", str(tmp_path)))


@pytest.mark.unit
@pytest.mark.usefixtures("bare_lenders")
@pytest.mark.parametrize("scope", ["track", "camera", "session"])
def test_resumed_run_lends_the_same_faces_whatever_the_scope(tmp_path: Path, scope: str) -> None:
    lent = []
    for key in (b"r" * 32, b"r" * 32, b"s" * 32):
        gallery = gallery_from_settings(scoped(scope), DONORS, PEOPLE, key)
        lent += lent_in_files(gallery, tmp_path / "clip.mp4")
    assert lent[0] == lent[1] != lent[2]


@pytest.mark.redis
@with_redis
def test_runs_of_one_session_share_no_face_of_a_track(folder: Path) -> None:
    with LocalRedis(folder) as server:
        chosen = scoped("track", **on_redis(server, folder), session="night")
        faces = set()
        for key in (None, None, b"r" * 32, b"r" * 32):
            gallery = gallery_from_settings(chosen, DONORS, PEOPLE, key)
            faces.add(gallery.assign("door", 1, SOMEBODY, None, 0.0).face)
            assert gallery.people == 1
            gallery.close()
        assert len(faces) == 3


class SameBin:
    def bin_of(self, embedding: Embedding) -> str | None:
        return "gender=female"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("attributes", "people", "expected"),
    [
        ("matched", 1, {"gender=female"}),
        ("coarse", 2, {""}),
        ("coarse", 4, {"", "gender=female"}),
        ("none", 4, {""}),
    ],
)
def test_bins_are_used_as_the_settings_say(
    attributes: str, people: int, expected: set[str]
) -> None:
    gallery = opened(attributes=attributes)
    lender = GalleryLender(gallery, "door", SameBin())
    picture = picture_from_bgr(np.zeros((8, 8, 3), np.uint8))
    face = Face(np.array([0, 0, 4, 4], np.float32), np.ones((5, 2), np.float32), 0.9)
    for number in range(people):
        frame = Frame(picture, number, Fraction(1, 25), number)
        track = Track(number, face, TrackState.DETECTED, 5, True)
        lender.lend(frame, track, np.eye(8, dtype=np.float32)[number])
    assert {cluster.bin for cluster in gallery.buffer.clusters.values()} == expected


@pytest.mark.unit
@pytest.mark.parametrize(("below_k", "cause"), [("swap", None), ("cover", "doubtful_person")])
def test_somebody_like_two_people_is_told_apart_in_the_report(
    below_k: str, cause: str | None
) -> None:
    chosen = Settings.model_validate({"privacy": {"k": 2, "below_k": below_k}})
    gallery = gallery_from_settings(chosen, DONORS, PersonThresholds(match=0.9, doubt=0.5))
    for person in (0, 1):
        gallery.assign("door", person, np.eye(8, dtype=np.float32)[person], None, 0.0)
    like_both = np.array([0.7, 0.7] + [0.1] * 6, np.float32)
    answer = gallery.assign("door", 2, like_both, None, 60.0)
    counts = GalleryLender(gallery, "door").counts()
    assert answer.cause == cause
    assert counts.swaps_in_doubt == (cause is None)
    assert counts.people == 2
