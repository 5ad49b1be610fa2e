"""The model pack: files named in a manifest with their hashes, and engines made from them."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.backends.backend import Backend, Precision, Session
from engines.detectors.gate import HardwareBackend, keep_verdict, kept_verdict
from engines.errors import EngineError, ModelMissing, ModelRejected
from engines.face.lid_reading import LidReader
from engines.face.swapper import Swapper
from engines.json_reading import value_from_json
from engines.stylegan.details import DAMAGES, DonorDetails, load_details
from engines.stylegan.gate import GateResult, Painting, compare_sessions
from engines.stylegan.outline import AS_READ, load_outline
from engines.stylegan.relief import load_relief
from engines.stylegan.shape import load_shape_model
from engines.stylegan.warp import load_texture_frame

__all__ = [
    "DETAILS",
    "DONORS",
    "Pack",
    "bundled_pack",
    "donor_latents",
    "file_entry",
    "load_role",
    "read_pack",
    "swapper_from_pack",
]

_GATE_REVISION: Final = "2"
"""Goes up when the gate's probes or limits change, so that it judges anew."""
MANIFEST: Final = "manifest.json"
FORMAT: Final = "kveil pack 1"
_OUTLINE: Final = "outline.npz"
"""How far read outlines are off; a pack may do without, and its outlines are as they are read."""

DONORS: Final = "donors.npz"
DETAILS: Final = "details.npz"
"""What the generator leaves out of donors' textures; a pack may do without."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A folder of model files and what its manifest says of them.

    Attributes:
        folder: where the files lie.
        name: of the pack.
        sha256: by file name, hexadecimal.
    """

    folder: Path
    name: str
    sha256: dict[str, str]

    def path(self, name: str) -> Path:
        """Return the file `name` once its hash is verified.

        Raises:
            ModelMissing: the manifest or the folder lacks it.
            ModelRejected: its content is not what the manifest says.
        """
        if name not in self.sha256:
            raise ModelMissing(f"the pack {self.name} has no {name}; use a complete pack")
        path = self.folder / name
        if not path.is_file():
            raise ModelMissing(f"{name} of the pack {self.name} is absent; reinstall kveil")
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.sha256[name]:
            raise ModelRejected(f"{name} of the pack {self.name} is damaged; reinstall kveil")
        return path


def file_entry(path: Path, purpose: str) -> dict[str, object]:
    """What a manifest says of a file.

    Raises:
        OSError: it cannot be read.
    """
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return {"sha256": digest, "bytes": len(content), "purpose": purpose}


def bundled_pack() -> Path:
    """Return the folder of the pack that comes with kveil."""
    return Path(__file__).resolve().parents[1] / "weights"


def read_pack(folder: Path) -> Pack:
    """Read a pack's manifest; files are verified when they are asked for.

    Raises:
        ModelMissing: there is no manifest.
        ModelRejected: the manifest is damaged or of another format.
    """
    try:
        content = value_from_json((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelMissing(f"no model pack in {folder.name}; reinstall kveil") from error
    except (OSError, ValueError) as error:
        raise ModelRejected("the model pack's manifest is damaged; reinstall kveil") from error
    files = content.get("files") if isinstance(content, dict) else None
    if not isinstance(files, dict) or content.get("format") != FORMAT:
        raise ModelRejected(f"the model pack's manifest is not of the format {FORMAT!r}")
    if not all(isinstance(entry, dict) for entry in files.values()):
        raise ModelRejected("the model pack's manifest is damaged; reinstall kveil")
    hashes = {str(name): str(entry.get("sha256", "")) for name, entry in files.items()}
    if any(Path(name).name != name for name in hashes):
        raise ModelRejected("the model pack names files outside its folder; refuse it")
    return Pack(folder, str(content.get("name", folder.name)), hashes)


def swapper_from_pack(
    backend: Backend,
    folder: Path | None = None,
    *,
    precision: Precision = "fp32",
    verdicts: Path | None = None,
    details: DonorDetails | None = None,
) -> tuple[Swapper, GateResult | None]:
    """Load the networks and the shape model of the swap; gate a reduced precision.

    Args:
        backend: the runtime.
        folder: of the pack; the bundled one by default.
        precision: of those that paint and of the one that reads landmarks. The one that reads
            lids always runs in fp32: it is small.
        verdicts: file that keeps what the gate measured, by networks, processor and runtime; it
            is measured anew where None.
        details: of other donors than the pack's own, whose bank is not read then.

    Returns:
        The swapper and, for a reduced precision, what the gate measured. Where the gate
        fails the swapper computes in fp32 and the result says so.

    Raises:
        ModelMissing: a file is absent.
        ModelRejected: a file is damaged or of wrong shape.
    """
    pack = read_pack(folder or bundled_pack())
    lids = LidReader(backend.load(pack.path("lids.onnx")))
    painting, result = _gated_painting(backend, pack, precision, verdicts)
    geometry = pack.path("shape.npz")
    shape, frame = load_shape_model(geometry), load_texture_frame(geometry)
    relief = load_relief(geometry)
    outline = load_outline(pack.path(_OUTLINE)) if _OUTLINE in pack.sha256 else AS_READ
    swapper = Swapper(
        painting.landmarker,
        painting.generator,
        shape,
        frame,
        relief,
        lids,
        outline,
        _details(pack) if details is None else details,
    )
    return swapper, result


def _gated_painting(
    backend: Backend, pack: Pack, precision: Precision, verdicts: Path | None
) -> tuple[Painting, GateResult | None]:
    """The networks in a precision, or in fp32 where they failed the gate, now or before."""
    if precision == "fp32":
        return _painting(backend, pack, "fp32"), None
    key = _verdict_key(backend, pack, precision)
    known = _known_result(verdicts, key)
    if known is not None:
        try:
            return _painting(backend, pack, precision if known.is_passed else "fp32"), known
        except EngineError:
            pass  # the runtime is not what it was; it is judged again
    exact = _painting(backend, pack, "fp32")
    try:
        reduced = _painting(backend, pack, precision)
        result = compare_sessions(exact, reduced, donor_latents(pack, 8), precision)
    except EngineError as fault:
        return exact, GateResult(precision, 0.0, 0.0, fault=str(fault))
    if verdicts is not None:
        keep_verdict(verdicts, key, precision, json.dumps(asdict(result)))
    chosen, spare = (reduced, exact) if result.is_passed else (exact, reduced)
    spare.close()
    return chosen, result


def _verdict_key(backend: Backend, pack: Pack, precision: Precision) -> str:
    """Names networks, donors that probes are made of, runtime and processor."""
    parts = ["painting", _GATE_REVISION, precision, backend.name]
    if isinstance(backend, HardwareBackend):
        parts += [backend.version, backend.processor]
    parts += [f"{name} {digest}" for name, digest in sorted(pack.sha256.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _known_result(verdicts: Path | None, key: str) -> GateResult | None:
    """What the gate measured before; None where it did not, or the file is damaged."""
    known = kept_verdict(verdicts, key) if verdicts is not None else None
    if known is None:
        return None
    try:
        return GateResult(**json.loads(known[1]))
    except (ValueError, TypeError):
        return None


def _details(pack: Pack) -> DonorDetails | None:
    if DETAILS not in pack.sha256:
        return None
    return load_details(pack.path(DETAILS), donor_latents(pack)[:, 0])


def _painting(backend: Backend, pack: Pack, precision: Precision) -> Painting:
    return Painting(
        load_role(backend, pack, "generator", precision),
        load_role(backend, pack, "landmarker", precision),
    )


def donor_latents(pack: Pack, count: int | None = None) -> npt.NDArray[np.float32]:
    """Latents float32[<= count, L, 512] of the pack's first donors, or of all; not to be written.

    Where all layers of a donor are the same, they are views of one.

    Raises:
        ModelMissing: the pack has none.
        ModelRejected: they are damaged.
    """
    try:
        with np.load(pack.path(DONORS), allow_pickle=False) as file:
            latents = np.asarray(file["latents"][:count], np.float32)
            layers = len(file["mean"])
        return np.broadcast_to(latents, (len(latents), layers, latents.shape[2]))
    except (*DAMAGES, IndexError) as error:
        raise ModelRejected(f"{DONORS} is damaged; restore the model pack") from error


def load_role(backend: Backend, pack: Pack, role: str, precision: Precision = "fp32") -> Session:
    """Load another network of the pack, such as `encoder` or `mapping`.

    Raises:
        ModelMissing: the pack has none.
        ModelRejected: it is damaged.
    """
    return backend.load(pack.path(f"{role}.onnx"), precision=precision)
