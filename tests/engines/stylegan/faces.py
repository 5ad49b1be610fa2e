"""A drawn face and small models for the tests of this folder."""

import numpy as np
import numpy.typing as npt

from engines.backends.backend import Tensors, TensorSpec
from engines.blending.shading import egg_normals
from engines.face.alignment import IDENTITY_AXES, IDENTITY_CENTRE
from engines.face.face_look import Look, apart
from engines.stylegan.shape import ShapeModel, mouth_gap
from engines.stylegan.sizes import BORDER
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
    POINTS,
)
from engines.stylegan.warp import TextureFrame
from tests.engines.backends.fake import Answer, FakeSession

Float32 = npt.NDArray[np.float32]


def drawn_face() -> Float32:
    """Control points of a face drawn with ellipses, float32[POINTS, 3], crop units."""
    points = np.zeros((POINTS, 3), np.float32)
    for part, centre, axes in (
        (OVAL_SLICE, (0.5, 0.53), (0.40, 0.46)),
        (EYE_LEFT_SLICE, (0.30, 0.37), (0.08, 0.03)),
        (EYE_RIGHT_SLICE, (0.70, 0.37), (0.08, 0.03)),
        (BROW_LEFT_SLICE, (0.30, 0.27), (0.10, 0.02)),
        (BROW_RIGHT_SLICE, (0.70, 0.27), (0.10, 0.02)),
        (LIPS_OUTER_SLICE, (0.5, 0.78), (0.14, 0.06)),
        (LIPS_INNER_SLICE, (0.5, 0.78), (0.10, 0.03)),
        (NOSE_BASE_SLICE, (0.5, 0.62), (0.08, 0.02)),
        (NOSE_BRIDGE_SLICE, (0.5, 0.50), (0.01, 0.10)),
    ):
        count = part.stop - part.start
        angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
        points[part, 0] = centre[0] + axes[0] * np.cos(angle)
        points[part, 1] = centre[1] + axes[1] * np.sin(angle)
    lips = points[LIPS_OUTER_SLICE.start : LIPS_INNER_SLICE.stop]
    lips[:, 0] = 1 - lips[:, 0]  # from the corner on the left along the lower lip
    oval = points[OVAL_SLICE]
    points[OVAL_SLICE] = np.roll(oval, len(oval) // 4, axis=0)  # clockwise from the top
    middle = points[:MESH_POINTS, :2] - np.array([0.5, 0.5])
    points[:MESH_POINTS, 2] = np.square(middle).sum(axis=1) * 0.8
    points[MESH_POINTS, :2] = (0.30, 0.37)
    points[MESH_POINTS + 1, :2] = (0.70, 0.37)
    return points


def identities(count: int, share: float = 0.9) -> Float32:
    """Outlines within the average face's identity oval, float32[N, 24, 2], crop units.

    Args:
        count: N.
        share: of the oval's axes; 1 for its rim.
    """
    turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = share * np.stack([np.cos(turn), np.sin(turn)], axis=1) * IDENTITY_AXES
    return np.repeat((ring + IDENTITY_CENTRE)[None], count, axis=0).astype(np.float32)


def facing(count: int) -> Float32:
    """Normals of heads that look at the camera, float32[N, 16, 16, 3]."""
    return np.repeat(egg_normals(16)[None], count, axis=0)


def drawn_look(
    index: int, *, x: float = 100.0, y: float = 80.0, noise: float = 0.0, doubt: float = 0.01
) -> Look:
    """The drawn face in a frame, 30 a second: the place between its eyes, which are 40 px apart.

    `noise` is of its landmarks, in distances of the eyes.
    """
    random = np.random.default_rng(index)
    points = drawn_face() * np.float32(100)
    points += random.normal(0, 40 * noise, points.shape).astype(np.float32)
    points[:, :2] += np.array([x - 50, y - 37], np.float32)
    return Look(index, index / 30, *apart(points), np.zeros((2, 4, 4, 3), np.float32), doubt)


def canonical_mean() -> Float32:
    """The drawn face in the canonical frame, float32[MESH_POINTS, 3]."""
    face = drawn_face()[:MESH_POINTS]
    eyes = [face[part].mean(axis=0) for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)]
    return np.asarray(
        (face - (eyes[0] + eyes[1]) / 2) / np.linalg.norm(eyes[1] - eyes[0]), np.float32
    )


def shape_model(seed: int = 0) -> ShapeModel:
    """A shape model of random directions over the drawn face."""
    random = np.random.default_rng(seed)
    rows, _ = np.linalg.qr(random.standard_normal((MESH_POINTS * 3, 5)))
    basis = rows.T.astype(np.float32)
    return ShapeModel(
        mean=canonical_mean(),
        expression=basis[:2],
        neutral=np.zeros(2, np.float32),
        movement_gain=np.array([[0.8, 0.0], [0.0, 0.6]], np.float32),
        stillness=np.full(2, 0.01, np.float32),
        identity=basis[2:],
        from_latent=(random.standard_normal((513, 3)) * 0.002).astype(np.float32),
        identity_limit=np.full(3, 0.3, np.float32),
        rest_from_latent=(random.standard_normal((513, 2)) * 0.002).astype(np.float32),
        rest_limit=np.full(2, 0.3, np.float32),
        opening=_opened_mouth(),
    )


def _opened_mouth() -> Float32:
    """The lower lips move down, everything else stays."""
    moved = np.zeros((1, MESH_POINTS, 3), np.float32)
    moved[:, LIPS_INNER_SLICE.start + 1 : LIPS_INNER_SLICE.start + 10, 1] = 1.0
    return np.asarray(moved / mouth_gap(moved), np.float32).reshape(-1)


def texture_frame() -> TextureFrame:
    """The drawn face, triangulated."""
    from scipy.spatial import Delaunay

    corners = np.concatenate([drawn_face()[:MESH_POINTS, :2], np.array(BORDER)]).astype(np.float32)
    corners += np.random.default_rng(0).normal(0, 1e-4, corners.shape).astype(np.float32)
    return TextureFrame(corners, Delaunay(corners).simplices.astype(np.int32))


def turned(points: Float32, yaw_deg: float) -> Float32:
    """Turn a face about the vertical axis through its middle."""
    angle = np.radians(yaw_deg)
    rotation = np.array(
        [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    )
    centre = np.array([0.5, 0.5, 0.1])
    return np.asarray((points - centre) @ rotation.T + centre, np.float32)


def landmark_session(points: Float32, spread: float = 0.01) -> FakeSession:
    """A landmark network that sees the same face everywhere."""

    def answer(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        count = len(tensors["image"])
        return {
            "points": np.repeat(points[None], count, axis=0),
            "spread": np.full((count, 1), spread, np.float32),
        }

    return FakeSession(answer)


def generator_session(answer: Answer | None = None, layers: int = 4, size: int = 64) -> FakeSession:
    """A generator with kveil's ports and the given function, or one that paints noise.

    The noise is around one value of the latents, its own for everybody.
    """

    def noise(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        colours = np.asarray(tensors["latents"], np.float32)[:, 0, 0]
        return {"texture": np.stack([_noise(float(colour), size) for colour in colours])}

    kind = np.dtype(np.float32)
    inputs = (TensorSpec("latents", (None, layers, 512), kind),)
    outputs = (TensorSpec("texture", (None, 3, size, size), kind),)
    return FakeSession(answer or noise, inputs, outputs)


def _noise(colour: float, size: int) -> Float32:
    seed = abs(hash(colour)) % 2**32
    values = np.random.default_rng(seed).uniform(-0.5, 0.5, (3, size, size))
    return np.asarray(0.1 * colour + values, np.float32)
