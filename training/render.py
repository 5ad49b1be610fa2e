"""Control maps and texture places from control points, in torch: many faces at once.

The same pictures as `engines.stylegan.control` and `engines.stylegan.warp` draw one by one,
for machines that train and have no OpenCV.
"""

from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from engines.stylegan.sizes import (
    BORDER,
    DRAW_SIZE,
    LINE_WIDTH,
    MAP_SIZE,
    PUPIL_RADIUS,
    UV_SIZE,
)
from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
    MESH_POINTS,
    NOSE_BASE_SLICE,
    NOSE_BRIDGE_SLICE,
    OVAL_SLICE,
    PUPIL_IMAGE_LEFT,
    PUPIL_IMAGE_RIGHT,
)

_FAR: Final = 10.0
_SPILL: Final = 0.55 / DRAW_SIZE
"""OpenCV's smooth fills reach about half a pixel beyond an outline, its lines a whole one."""


def maps_from_points(points: Tensor) -> Tensor:
    """Draw control maps, float[N, POINTS, 3] -> float[N, 7, 64, 64] in [0, 1]."""
    flat = points[:, :, :2].float()
    place = _places(DRAW_SIZE, flat.device)
    eyes = _either(flat, EYE_LEFT_SLICE, EYE_RIGHT_SLICE, place)
    pupils = torch.zeros_like(eyes)
    for index in (PUPIL_IMAGE_LEFT, PUPIL_IMAGE_RIGHT):
        away = (place[None] - flat[:, index, None, None]).norm(dim=-1)
        pupils = torch.maximum(pupils, (away <= PUPIL_RADIUS + _SPILL).float())
    width = 0.5 * LINE_WIDTH / DRAW_SIZE + 2 * _SPILL
    bridge = _near(flat[:, NOSE_BRIDGE_SLICE], place, width)
    nose = torch.maximum(bridge, _near(flat[:, NOSE_BASE_SLICE], place, width))
    drawn = torch.stack(
        [
            _inside(flat[:, OVAL_SLICE], place),
            _either(flat, BROW_LEFT_SLICE, BROW_RIGHT_SLICE, place),
            eyes,
            torch.minimum(pupils, eyes),
            _inside(flat[:, LIPS_OUTER_SLICE], place),
            _inside(flat[:, LIPS_INNER_SLICE], place),
            nose,
        ],
        dim=1,
    )
    return functional.avg_pool2d(drawn, DRAW_SIZE // MAP_SIZE)


def uv_from_points(points: Tensor, frame_points: Tensor, triangles: Tensor) -> Tensor:
    """Places on the texture, float[N, POINTS, 3] -> float[N, 2, UV_SIZE, UV_SIZE].

    Args:
        points: crop units.
        frame_points: float[P + 16, 2] of the texture frame.
        triangles: int64[T, 3].
    """
    count, device = len(points), points.device
    border = torch.tensor(BORDER, device=device).expand(count, -1, -1)
    corners = torch.cat([points[:, :MESH_POINTS, :2].float(), border], dim=1)
    depth = torch.cat(
        [points[:, :MESH_POINTS, 2].float(), torch.full((count, len(BORDER)), _FAR, device=device)],
        dim=1,
    )
    place = _places(UV_SIZE, device).reshape(-1, 2)
    ones = torch.ones(count, len(triangles), 3, 1, device=device)
    system = torch.cat([corners[:, triangles], ones], dim=3)
    flat = torch.linalg.det(system).abs() < 1e-7
    system[flat] = torch.eye(3, device=device)
    inverse = torch.linalg.inv(system)
    affine = inverse @ frame_points[triangles].float()
    hidden = _turn(corners[:, triangles]) * _turn(frame_points[triangles].float())[None] <= 0
    hidden &= ~(triangles >= MESH_POINTS).any(dim=1)[None]
    order = depth[:, triangles].mean(dim=2).argsort(dim=1, descending=True)
    found = torch.zeros(count, len(place), dtype=torch.long, device=device)
    spot = torch.cat([place, torch.ones(len(place), 1, device=device)], dim=1)
    rows = torch.arange(count, device=device)
    for step in range(order.shape[1]):
        which = order[:, step]
        share = spot[None] @ inverse[rows, which]
        drawn = ~(flat | hidden)[rows, which][:, None]
        covers = (share >= -1e-5).all(dim=2) & drawn
        found = torch.where(covers, which[:, None], found)
    chosen = torch.gather(affine.flatten(2), 1, found[:, :, None].expand(-1, -1, 6))
    uv = torch.einsum("pk,npkj->npj", spot, chosen.unflatten(2, (3, 2)))
    return uv.permute(0, 2, 1).reshape(count, 2, UV_SIZE, UV_SIZE)


def _turn(corners: Tensor) -> Tensor:
    """Twice the signed area of triangles float[..., 3, 2]."""
    a, b = corners[..., 1, :] - corners[..., 0, :], corners[..., 2, :] - corners[..., 0, :]
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _places(size: int, device: torch.device) -> Tensor:
    step = (torch.arange(size, device=device) + 0.5) / size
    y, x = torch.meshgrid(step, step, indexing="ij")
    return torch.stack([x, y], dim=-1)


def _either(points: Tensor, first: slice, second: slice, place: Tensor) -> Tensor:
    return torch.maximum(_inside(points[:, first], place), _inside(points[:, second], place))


def _inside(polygon: Tensor, place: Tensor) -> Tensor:
    """Even-odd rule, and the outline itself: float[N, V, 2] -> float[N, S, S]."""
    start, stop = polygon, polygon.roll(-1, dims=1)
    odd = torch.zeros(len(polygon), *place.shape[:2], dtype=torch.bool, device=place.device)
    x, y = place[None, ..., 0], place[None, ..., 1]
    for edge in range(polygon.shape[1]):
        x0, y0 = start[:, edge, 0, None, None], start[:, edge, 1, None, None]
        x1, y1 = stop[:, edge, 0, None, None], stop[:, edge, 1, None, None]
        crosses = (y0 > y) != (y1 > y)
        odd ^= crosses & (x < (x1 - x0) * (y - y0) / (y1 - y0 + 1e-12) + x0)
    outline = _near(torch.cat([polygon, polygon[:, :1]], dim=1), place, _SPILL)
    return torch.maximum(odd.float(), outline)


def _near(line: Tensor, place: Tensor, width: float) -> Tensor:
    """Within `width` of a polyline float[N, V, 2]: float[N, S, S]."""
    least = torch.full((len(line), *place.shape[:2]), _FAR, device=place.device)
    for edge in range(line.shape[1] - 1):
        start = line[:, edge, None, None]
        along = line[:, edge + 1, None, None] - start
        length = along.square().sum(dim=-1, keepdim=True) + 1e-12
        share = ((place[None] - start) * along).sum(dim=-1, keepdim=True) / length
        away = (place[None] - start - share.clamp(0, 1) * along).norm(dim=-1)
        least = torch.minimum(least, away)
    return (least <= width).float()
