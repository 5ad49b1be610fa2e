"""Where posed crops show the canonical face, in torch: many faces at once.

The same as `engines.stylegan.warp` finds one by one, for machines that train and have no OpenCV.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from engines.stylegan.sizes import BORDER
from engines.stylegan.topology import MESH_POINTS


class CanonicalPlaces:
    """Where posed crops show each pixel of the texture: `image_place_of_texture`, many at once."""

    def __init__(
        self,
        frame_points: npt.NDArray[np.float32],
        triangles: npt.NDArray[np.int32],
        size: int,
        device: torch.device,
    ) -> None:
        """Find every texture pixel's triangle and its place in it.

        Args:
            frame_points: float32[MESH_POINTS + 16, 2] of the texture frame.
            triangles: int32[T, 3].
            size: of the texture, px.
            device: where crops are.
        """
        corners = torch.from_numpy(frame_points[triangles]).double()
        system = torch.cat([corners, torch.ones(len(triangles), 3, 1)], dim=2)
        place = _centres(size).double()
        spot = torch.cat([place, torch.ones(len(place), 1)], dim=1)
        shares = torch.einsum("pk,tkj->ptj", spot, torch.linalg.inv(system))
        owner = shares.amin(dim=2).argmax(dim=1)
        self._share = shares[torch.arange(len(owner)), owner].float().to(device)
        self._corners = torch.from_numpy(triangles).long()[owner].to(device)
        self._border = torch.tensor(BORDER, device=device)
        self._size = size

    def __call__(self, points: Tensor) -> Tensor:
        """float[N, >= MESH_POINTS, 3], crop units -> float[N, size, size, 2], crop units."""
        count = len(points)
        mesh = points[:, :MESH_POINTS, :2].to(self._share.device).float()
        corners = torch.cat([mesh, self._border.expand(count, -1, -1)], dim=1)
        place = torch.einsum("npkj,pk->npj", corners[:, self._corners], self._share)
        return place.reshape(count, self._size, self._size, 2)


def _centres(size: int) -> Tensor:
    """Of the pixels of a picture, float[size * size, 2] in its units, row by row."""
    step = (torch.arange(size) + 0.5) / size
    y, x = torch.meshgrid(step, step, indexing="ij")
    return torch.stack([x, y], dim=-1).reshape(-1, 2)
