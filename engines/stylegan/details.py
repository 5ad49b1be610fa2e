"""What the generator leaves out of donors' textures, painted back from a bank.

A generator that paints everybody leaves every donor soft. The bank keeps, for each donor of the
pack, the difference between the texture of the donor's portrait and what the generator paints
of the donor's latent. A surrogate is a convex mixture of donors' latents, so the same weights mix
their differences, and the weights follow from the latent itself by least squares. A latent that
is no mixture of donors, such as an encoded person's, gets nothing.
"""

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.errors import EngineFault, ModelRejected

__all__ = ["DAMAGES", "DETAIL_SCALE", "DonorDetails", "load_details", "write_details"]

DETAIL_SCALE: Final = 100.0
"""Grey levels of a stored picture per unit of difference. Larger is finer, and cuts off what the
generator paints of hair and background, so that it would be seen beside faces."""
_MIDDLE: Final = 128.0
_LEAST_WEIGHT: Final = 0.02
"""Weight below which a donor counts as rounding."""
_LARGEST_RESIDUE: Final = 0.1
"""Share of a latent that may be left unexplained by donors. Larger takes encoded people for
mixtures of donors, smaller takes rounded mixtures for strangers."""
_QUALITY: Final = 96
DAMAGES: Final = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    MemoryError,
    zipfile.BadZipFile,
)
"""What reading damaged arrays, or such as claim to be larger than the memory, raises."""

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DonorDetails:
    """The bank of a donor pack.

    Attributes:
        latents: float32[N, C], the donors' latents, one layer of each.
        pictures: N encoded WebP pictures of S×S px, BGR.
        size: S.
    """

    latents: Float32
    pictures: tuple[bytes, ...]
    size: int
    _solver: Float32 = field(init=False, repr=False)

    def __post_init__(self) -> None:
        solver = np.linalg.pinv(self.latents.astype(np.float64), rcond=1e-4)
        object.__setattr__(self, "_solver", np.asarray(solver, np.float32))

    def weights_of(self, latent: Float32) -> Float32:
        """Weights float32[N] with which donors make up a latent float32[C]; all 0 for others.

        >>> bank = DonorDetails(np.eye(2, 4, dtype=np.float32), (b"", b""), 8)
        >>> bank.weights_of(np.float32([0.75, 0.25, 0, 0])).tolist()
        [0.75, 0.25]
        >>> bank.weights_of(np.float32([0, 0, 1, 0])).tolist()
        [0.0, 0.0]
        """
        weights = latent @ self._solver
        weights = np.where(np.abs(weights) < _LEAST_WEIGHT, 0, weights).astype(np.float32)
        residue = float(np.linalg.norm(latent - weights @ self.latents))
        is_mixture = residue <= _LARGEST_RESIDUE * float(np.linalg.norm(latent))
        return weights if is_mixture else np.zeros_like(weights)

    def of_latent(self, latent: Float32) -> Float32:
        """What must be added to the generator's texture of a latent float32[C].

        Returns:
            float32[3, S, S] RGB, in the texture's units.

        Raises:
            EngineFault: a picture of the bank is damaged; the face is covered.
        """
        total = np.zeros((self.size, self.size, 3), np.float32)
        weights = self.weights_of(latent)
        for row in np.flatnonzero(weights):
            total += weights[row] * self._picture(int(row))
        return np.ascontiguousarray(total[:, :, ::-1].transpose(2, 0, 1))

    def _picture(self, row: int) -> Float32:
        found = cv2.imdecode(np.frombuffer(self.pictures[row], np.uint8), cv2.IMREAD_COLOR)
        if found is None or found.shape != (self.size, self.size, 3):
            raise EngineFault("a donor's details are damaged; restore the model pack")
        return (found.astype(np.float32) - np.float32(_MIDDLE)) / np.float32(DETAIL_SCALE)


def load_details(path: Path, latents: Float32) -> DonorDetails:
    """Read a bank.

    Args:
        path: file of `write_details`.
        latents: float32[N, C] of the same pack's donors, in its order.

    Raises:
        ModelRejected: it is damaged, or of another number of donors.
    """
    try:
        _refuse_packed(path)
        with np.load(path, allow_pickle=False) as file:
            stored = np.asarray(file["pictures"], np.uint8).tobytes()
            ends = np.asarray(file["ends"], np.int64)
            size = int(file["size"].item())
    except DAMAGES as error:
        raise ModelRejected(f"{path.name} is no bank of details; restore the pack") from error
    if ends.ndim != 1:
        raise ModelRejected(f"{path.name} is no bank of details; restore the pack")
    starts = np.concatenate([[0], ends[:-1]])
    fits = len(ends) == len(latents) and len(ends) > 0 and int(ends[-1]) == len(stored)
    if not fits or (ends <= starts).any() or not 8 <= size <= 4096:
        raise ModelRejected(f"{path.name} does not fit the donors; restore the model pack")
    parts = tuple(stored[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True))
    return DonorDetails(np.asarray(latents, np.float32), parts, size)


def _refuse_packed(path: Path) -> None:
    """Banks are stored as they are: one that unpacks to more than it holds would fill the memory.

    Raises:
        ModelRejected: it does.
    """
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > path.stat().st_size:
        raise ModelRejected(f"{path.name} unpacks to more than it holds; restore the pack")


def write_details(path: Path, differences: Float32) -> None:
    """Write a bank of differences float32[N, 3, S, S] RGB, in the texture's units."""
    encoded = []
    for one in differences:
        levels = np.clip(np.rint(one * DETAIL_SCALE + _MIDDLE), 0, 255).astype(np.uint8)
        picture = np.ascontiguousarray(levels.transpose(1, 2, 0)[:, :, ::-1])
        _, data = cv2.imencode(".webp", picture, [cv2.IMWRITE_WEBP_QUALITY, _QUALITY])
        encoded.append(data.reshape(-1))
    np.savez(
        path,
        allow_pickle=False,
        pictures=np.concatenate(encoded),
        ends=np.cumsum([len(one) for one in encoded]),
        size=np.array(differences.shape[-1]),
    )
