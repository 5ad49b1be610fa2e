"""Anonymizes a folder of face images, group by group, so that memory does not grow with it."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.errors import EngineFault
from evaluation.dataset_log import DatasetLog, GroupEntry
from evaluation.errors import EvaluationError, ReportNotWritable, TooFewPeople
from evaluation.exposure import FaceFinder
from evaluation.faces import Faces, portrait_from_image
from evaluation.finders import largest_central
from evaluation.folder import Progress, portraits
from evaluation.methods.method import Method
from evaluation.methods.registry import method_named
from evaluation.methods.surrogate import DonorImages, DonorSurrogate, SurrogateRenderer
from evaluation.reports.clip_record import Record
from gallery.clustering.mdav import MdavClustering
from gallery.pictures import people_in_folder, read_picture
from gallery.secrets import KeyedRandom, SecretRing

__all__ = ["DATASET_SCHEMA", "DatasetJob", "anonymize_dataset"]

DATASET_SCHEMA: Final = "kveil.dataset/1"
_COVER_GROUP = 16
_FEATURE_SIDE = 24
_MOST_DONORS = 4000
_REFUSED: Final = {
    "none": "protects nobody",
    "random stranger": "is a control of the evaluation",
    "surroundings": "is a reference of the evaluation",
    "FPSP morph": "keeps half of each original and has no least cluster size",
}


@dataclass(frozen=True, slots=True)
class DatasetJob:
    """What is to be anonymized, and how.

    Attributes:
        source: folder of pictures.
        target: new or interrupted output folder.
        method: by name; controls are refused.
        k: least people per cluster.
        identities: CSV with `file` and `person`; folders name people when None.
        seed: hexadecimal secret of 16 bytes or more; drawn and forgotten when None.
        donors: folder of other people whose photographs are lent, where there is no
            generator.
        mapping: file for the sealed list of which output came from whom; none when None.
    """

    source: Path
    target: Path
    method: str = "kveil"
    k: int = 5
    identities: Path | None = None
    seed: str | None = None
    donors: Path | None = None
    mapping: Path | None = None


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Pictures in a fixed order, and who is on them."""

    files: list[Path]
    names: list[str]
    persons: NDArray[np.int64]


def anonymize_dataset(
    job: DatasetJob,
    finder: FaceFinder,
    progress: Progress,
    renderer: SurrogateRenderer | None = None,
) -> Record:
    """Writes an aligned, anonymized portrait for every picture with a face, and a manifest.

    People are numbered in a secret order, so that names and positions say nothing. A person
    keeps one surrogate over all his pictures and counts once in k. With the same seed and
    inputs the output is the same, byte for byte; an interrupted run goes on where it was.

    Args:
        job: what to do.
        finder: detector.
        progress: told (stage, done, all).
        renderer: of surrogates; donors' photographs when None.

    Returns:
        The manifest, as written to `manifest.json`.

    Raises:
        EvaluationError: the method or the output folder cannot be used.
        PeopleFolderRejected: there are no pictures, or one cannot be read.
        TooFewPeople: fewer than k people with a face.
        ReportNotWritable: the mapping's folder is not there.
        SecretMissing: a mapping is wanted without a key to seal it with.
    """
    if job.method in _REFUSED:
        message = f"{job.method!r} {_REFUSED[job.method]}; choose another method"
        raise EvaluationError(message)
    ring = SecretRing.from_environment() if job.mapping is not None else None
    if job.mapping is not None and not job.mapping.absolute().parent.is_dir():
        message = f"cannot write {job.mapping.name}: its folder does not exist; make it first"
        raise ReportNotWritable(message)
    secret, inputs = _secret(job), _inputs(job)
    log = DatasetLog.opened(job.target, _fingerprint(job, inputs), secret)
    _find_faces(inputs, finder, log, progress)
    method = _fitted(job, finder, progress, renderer)
    try:
        groups = _groups(job, method, inputs, log, progress)
    except TooFewPeople:
        log.close()  # with another k it is another job, which would not go on here
        raise
    rank = _secret_numbers(inputs, log)
    origins: dict[str, str] = {}
    for number, rows in enumerate(groups):
        progress("anonymizing", number, len(groups))
        named = _output_names(rows, inputs, rank)
        origins |= {name: inputs.names[row] for row, name in zip(rows, named, strict=True)}
        if number in log.groups:
            if isinstance(method, DonorSurrogate):
                method.enrol(inputs.persons[rows], log.secret)
            continue
        log.note_group(number, _anonymized(rows, named, inputs, method, log))
    manifest = _manifest(job, inputs, log)
    if job.mapping is not None and ring is not None:
        sealed = ring.seal(json.dumps(origins).encode(), "dataset mapping")
        job.mapping.write_bytes(sealed)
    _write(job.target / "manifest.json", (json.dumps(manifest, indent=1) + "\n").encode())
    log.close()
    return manifest


def _inputs(job: DatasetJob) -> _Inputs:
    people = people_in_folder(job.source, job.identities)
    files = [path for paths in people.values() for path in paths]
    persons = [number for number, paths in enumerate(people.values()) for _ in paths]
    names = [path.relative_to(job.source).as_posix() for path in files]
    return _Inputs(files, names, np.array(persons, np.int64))


def _secret(job: DatasetJob) -> bytes:
    if job.seed is None:
        return secrets.token_bytes(32)
    try:
        secret = bytes.fromhex(job.seed)
    except ValueError as fault:
        message = "--seed is not hexadecimal; give 32 bytes as 64 digits"
        raise EvaluationError(message) from fault
    if len(secret) < 16:
        message = "--seed is shorter than 16 bytes; give 32 bytes as 64 digits"
        raise EvaluationError(message)
    return secret


def _fingerprint(job: DatasetJob, inputs: _Inputs) -> str:
    parts = [job.method, str(job.k), str(job.seed is None), *inputs.names]
    if job.seed is not None:
        parts.append(hashlib.sha256(b"seed" + bytes.fromhex(job.seed)).hexdigest())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _find_faces(inputs: _Inputs, finder: FaceFinder, log: DatasetLog, progress: Progress) -> None:
    for number, path in enumerate(inputs.files):
        if number in log.points:
            continue
        progress("finding faces", number, len(inputs.files))
        image = read_picture(path)
        face = largest_central(finder.find(image), image.shape[0], image.shape[1])
        points = None if face is None else face.landmarks_px
        try:
            if points is not None:
                portrait_from_image(image, points)
        except EngineFault:
            points = None
        log.note_points(number, points)


def _fitted(
    job: DatasetJob, finder: FaceFinder, progress: Progress, renderer: SurrogateRenderer | None
) -> Method:
    method = method_named(job.method, job.k, renderer)
    if job.donors is not None:
        lenders = people_in_folder(job.donors)
        chosen = [(place, paths[0]) for place, paths in enumerate(lenders.values())]
        faces, _ = portraits(chosen[:_MOST_DONORS], finder, progress)
        method.fit(faces)
    elif isinstance(method, DonorSurrogate) and isinstance(method.renderer, DonorImages):
        message = "no generator is installed: give --donors, a folder of other people's faces"
        raise EvaluationError(message)
    return method


def _groups(
    job: DatasetJob, method: Method, inputs: _Inputs, log: DatasetLog, progress: Progress
) -> list[NDArray[np.int64]]:
    """Rows of pictures that are anonymized together: whole people, k…2k − 1 where k counts."""
    found = np.array([log.points[row] is not None for row in range(len(inputs.files))])
    rows = np.flatnonzero(found)
    people = np.unique(inputs.persons[rows])
    if method.kind != "cover" and len(people) < job.k:
        message = f"{len(people)} people with a face cannot hide among {job.k}; add people"
        raise TooFewPeople(message)
    if method.kind == "mean":
        features = _features(rows, inputs, log, progress)
        seed = KeyedRandom(log.secret, "groups").integer(2**31)
        labels = MdavClustering().partition(features, job.k, seed, inputs.persons[rows]).labels
        return [rows[labels == label] for label in range(int(labels.max()) + 1)]
    order = people[KeyedRandom(log.secret, "groups").permutation(len(people))]
    size = job.k if method.kind == "surrogate" else _COVER_GROUP
    count = max(1, len(order) // size)
    parts = [order[i * size : (i + 1) * size if i < count - 1 else None] for i in range(count)]
    return [rows[np.isin(inputs.persons[rows], part)] for part in parts]


def _features(
    rows: NDArray[np.int64], inputs: _Inputs, log: DatasetLog, progress: Progress
) -> NDArray[np.float32]:
    """(N, 576) small grey portraits: enough to put alike faces together."""
    features = np.zeros((len(rows), _FEATURE_SIDE**2), np.float32)
    for place, row in enumerate(rows):
        progress("comparing", place, len(rows))
        faces = _loaded([int(row)], inputs, log)
        grey = cv2.cvtColor(faces.images[0], cv2.COLOR_BGR2GRAY)
        small = cv2.resize(grey, (_FEATURE_SIDE, _FEATURE_SIDE), interpolation=cv2.INTER_AREA)
        features[place] = small.reshape(-1)
    return features


def _loaded(rows: Sequence[int], inputs: _Inputs, log: DatasetLog) -> Faces:
    images, marks = [], []
    for row in rows:
        points = log.points[row]
        assert points is not None, "rows without a face are never grouped"
        portrait, moved = portrait_from_image(read_picture(inputs.files[row]), points)
        images.append(portrait)
        marks.append(moved)
    return Faces(np.stack(images), np.stack(marks), inputs.persons[np.array(rows)])


def _secret_numbers(inputs: _Inputs, log: DatasetLog) -> NDArray[np.int64]:
    """Number of each person in the output."""
    return KeyedRandom(log.secret, "names").permutation(int(inputs.persons.max()) + 1)


def _output_names(rows: NDArray[np.int64], inputs: _Inputs, rank: NDArray[np.int64]) -> list[str]:
    counts: dict[int, int] = {}
    names = []
    for row in rows:
        person = int(rank[inputs.persons[row]])
        counts[person] = counts.get(person, 0) + 1
        names.append(f"{person + 1:06d}/{counts[person]:04d}.png")
    return names


def _anonymized(
    rows: NDArray[np.int64],
    names: Sequence[str],
    inputs: _Inputs,
    method: Method,
    log: DatasetLog,
) -> GroupEntry:
    faces = _loaded([int(row) for row in rows], inputs, log)
    release = method.anonymize(faces, log.secret)
    outputs = {}
    for image, name in zip(release.images, names, strict=True):
        _, encoded = cv2.imencode(".png", image)
        content = encoded.tobytes()
        _write(log.folder / name, content)
        outputs[name] = hashlib.sha256(content).hexdigest()
    clusters = [
        len(np.unique(faces.persons[release.clusters == cluster]))
        for cluster in np.unique(release.clusters)
        if cluster >= 0
    ]
    return GroupEntry(outputs, faces.people, clusters if method.kind != "cover" else [])


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(content)
    beside.replace(path)


def _manifest(job: DatasetJob, inputs: _Inputs, log: DatasetLog) -> Record:
    outputs = {name: sha for entry in log.groups.values() for name, sha in entry.outputs.items()}
    sizes = sorted(size for entry in log.groups.values() for size in entry.clusters)
    given = "given by the user" if job.seed is not None else "drawn for this run and forgotten"
    return {
        "schema": DATASET_SCHEMA,
        "kveil": metadata.version("kveil"),
        "method": job.method,
        "k": job.k,
        "k_real": min(sizes, default=0),
        "cluster_sizes": {str(size): sizes.count(size) for size in sorted(set(sizes))},
        "people": sum(entry.people for entry in log.groups.values()),
        "images_in": len(inputs.files),
        "images_out": len(outputs),
        "images_without_a_face": sum(points is None for points in log.points.values()),
        "seed": given,
        "mapping": "sealed, in a file of its own" if job.mapping is not None else "none",
        "sha256": dict(sorted(outputs.items())),
    }
