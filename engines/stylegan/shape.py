"""Face shape taken apart: pose and expression of the subject, identity of the surrogate.

Control points are brought into a canonical frame (between the eyes, unit inter-ocular
distance, facing the camera). There a shape is a mean, plus a few expression directions, plus
identity directions orthogonal to them. A swap keeps the subject's pose, expression and gaze
and takes the identity part from the surrogate, so that what is painted says nothing of the
subject's own proportions beyond the expression directions.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.errors import ModelRejected
from engines.stylegan.drawing import rise
from engines.stylegan.gaze import offsets_of_pupils, with_pupils_at
from engines.stylegan.lids import EYES, narrowed, open_shares, openings
from engines.stylegan.mouth import mouth_width
from engines.stylegan.movement import (
    BROWS,
    LIPS,
    beyond_stillness,
    movement_beyond_rest,
    unread_movement,
)
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    MESH_POINTS,
    NOSE_BASE_SLICE,
    NOSE_BRIDGE_SLICE,
    OVAL_SLICE,
)

Float32 = npt.NDArray[np.float32]

_RIGID: Final[npt.NDArray[np.int64]] = np.r_[
    np.arange(NOSE_BRIDGE_SLICE.start, NOSE_BRIDGE_SLICE.stop),
    np.arange(NOSE_BASE_SLICE.start, NOSE_BASE_SLICE.stop),
    np.array([EYE_LEFT_SLICE.start, EYE_LEFT_SLICE.start + 8]),
    np.array([EYE_RIGHT_SLICE.start, EYE_RIGHT_SLICE.start + 8]),
    np.arange(OVAL_SLICE.start, OVAL_SLICE.start + 9),
    np.arange(OVAL_SLICE.stop - 9, OVAL_SLICE.stop),
]
"""Points that expressions hardly move: nose, eye corners, forehead and temples."""


SHOWN: Final = MESH_POINTS * 3 + 3
"""Numbers of a look, see `ShapeModel.shown_by`."""
_MESH_SHOWN: Final = slice(MESH_POINTS * 3)
_LIDS_SHOWN: Final = slice(_MESH_SHOWN.stop, _MESH_SHOWN.stop + 2)
_SHUT_SHOWN: Final = -1
"""Where in them landmarks are, how far open eyes are, and how far shut lips are read apart."""
_BROWS_AT_REST: Final = 0.036
"""Deviation of the height of brows of people at rest, in distances of the eyes."""
_LOWER_LIP: Final = slice(3, 8)
_UPPER_LIP: Final = slice(13, 18)
"""The middle of the inner lips; the contour runs along the lower one first."""
_OVER_MEAN: Final = 0.5
_OVER_SUBJECT: Final = 1.0
"""How much of the way from eyes in place to the whole face in place surrogates are laid over the
mean face, and over their subjects'. By the eyes alone, a subject whose mouth is far from his eyes
wears a mouth that is too high, and a face that is too short for his head."""
_TURNS_DEG: Final = (15.0, 40.0)
_GAP_SLOPES: Final = (0.82, 0.63)
"""How much farther lips are read apart for each that they are, at these angles of yaw."""
_GAP_SHIFTS: Final = (0.03, 0.05)
"""How far shut lips are read apart, distances of the eyes: of anybody, and at most of one whose
lips are never read closer, as dark lips and those in a beard are not. Larger keeps mouths shut of
people who speak in all of a short clip; what is between lips that are not apart is their seam."""
_SMILES: Final = (1.15, 1.3)
"""Widths of a mouth, as shares of one at rest, between which lips are apart since they smile."""
EYES_APART: Final = 0.4
_BETWEEN_EYES: Final = (0.5, 0.37)
"""The kveil crop's, in shares of its side."""


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a batch of canonical faces lies in the crop.

    Attributes:
        rotation: float32[N, 3, 3] from canonical to crop axes.
        scale: float32[N] inter-ocular distance in crop units.
        centre: float32[N, 3] the point between the eyes, crop units.
    """

    rotation: Float32
    scale: Float32
    centre: Float32

    def angles_deg(self) -> Float32:
        """Return yaw, pitch and roll, degrees, float32[N, 3]."""
        r = self.rotation
        yaw = np.arcsin(np.clip(r[:, 0, 2], -1.0, 1.0))
        pitch = np.arctan2(-r[:, 1, 2], r[:, 2, 2])
        roll = np.arctan2(-r[:, 0, 1], r[:, 0, 0])
        return np.asarray(np.degrees(np.stack([yaw, pitch, roll], axis=1)), np.float32)


@dataclass(frozen=True, slots=True)
class ShapeModel:
    """Mean shape, expression and identity directions, and the latent's share in identity.

    Attributes:
        mean: float32[MESH_POINTS, 3], canonical.
        expression: float32[K, MESH_POINTS * 3], orthonormal rows.
        neutral: float32[K], the expression part of the mean of people at rest.
        movement_gain: float32[K, K], what is kept of an expression part beyond it. Faces at rest
            differ in these directions too: this is the least-squares estimate of the movement
            alone (Wiener), given how people vary who were asked to look neutral.
        stillness: float32[K], movement that counts as none.
        identity: float32[J, MESH_POINTS * 3], orthonormal rows, orthogonal to expression.
        from_latent: float32[513, J], affine map from the mean w of a w+ latent.
        identity_limit: float32[J], largest magnitude that a surrogate may take.
        rest_from_latent: float32[513, K], affine map from the mean w to the expression part of
            the surrogate's face at rest.
        rest_limit: float32[K], largest magnitude of it.
        opening: float32[MESH_POINTS * 3], what an inter-ocular distance more between the lips
            moves; `mouth_gap` of it is 1.
    """

    mean: Float32
    expression: Float32
    neutral: Float32
    movement_gain: Float32
    stillness: Float32
    identity: Float32
    from_latent: Float32
    identity_limit: Float32
    rest_from_latent: Float32
    rest_limit: Float32
    opening: Float32

    def pose_of(self, points: Float32) -> Pose:
        """Find the pose of control points float32[N, POINTS, 3] in crop units."""
        return pose_from_points(points, self.mean)

    def expression_of(self, points: Float32, pose: Pose) -> Float32:
        """Return the expression part of posed points, float32[N, K]."""
        shape = canonical_from_points(points, pose) - self.mean
        return np.asarray(shape.reshape(len(points), -1) @ self.expression.T, np.float32)

    def shown_by(self, points: Float32, pose: Pose) -> Float32:
        """Return what a look shows, float32[N, SHOWN].

        It is canonical landmarks, how far open both eyes are, and 0: how far apart shut lips are
        read one look does not tell, see `with_shut_lips`.
        """
        canonical = canonical_from_points(points, pose)
        unknown = np.zeros((len(points), 1), np.float32)
        landmarks = canonical.reshape(len(points), -1)
        return np.concatenate([landmarks, openings(canonical), unknown], axis=1)

    def movement_of(self, points: Float32, pose: Pose) -> Float32:
        """Return what of the expression part is movement rather than person, float32[N, K].

        Besides the gain, what is as small as people at rest differ counts as the person. Large
        movements lose nothing by it.
        """
        return self._moved(self.expression_of(points, pose))

    def _moved(self, expression: Float32) -> Float32:
        """What of expression parts float32[N, K] is movement."""
        return movement_beyond_rest(expression, self.neutral, self.movement_gain, self.stillness)

    def rest_of(self, points: Float32, pose: Pose) -> Float32:
        """Return what of the expression part is the person's face at rest, float32[N, K]."""
        rest = self.expression_of(points, pose) - self.movement_of(points, pose)
        return np.asarray(rest, np.float32)

    def identity_of(self, points: Float32, pose: Pose) -> Float32:
        """Return the identity part of posed points, float32[N, J]."""
        shape = canonical_from_points(points, pose) - self.mean
        return np.asarray(shape.reshape(len(points), -1) @ self.identity.T, np.float32)

    def identity_from_latents(self, latents: Float32) -> Float32:
        """Return the identity part that w+ latents float32[N, L, 512] carry, float32[N, J]."""
        return _carried(latents, self.from_latent, self.identity_limit)

    def rest_from_latents(self, latents: Float32) -> Float32:
        """Return the faces at rest that w+ latents float32[N, L, 512] carry, float32[N, K].

        Brows, lids and lips of people at rest differ in the directions of expression too:
        without them all surrogates would share one look.
        """
        return _carried(latents, self.rest_from_latent, self.rest_limit)

    def rest_to_latents(self, rest: Float32) -> Float32:
        """The shortest w that carries a face at rest float32[N, K]: float32[N, 512]."""
        lacking = rest - self.rest_from_latent[-1]
        return np.asarray(lacking @ np.linalg.pinv(self.rest_from_latent[:-1]), np.float32)

    def swapped(
        self,
        points: Float32,
        latents: Float32,
        pose: Pose | None = None,
        rest: Float32 | None = None,
        usual: Float32 | None = None,
        gap: Float32 | None = None,
        apart: Float32 | None = None,
    ) -> Float32:
        """Give each subject's pose, expression and gaze the surrogate's proportions and rest.

        The surrogate's face is as large as its subject's and lies where that lies, as least squares
        over all points say; its eyes need not lie on the subject's. Lips part as far as the
        subject's, see `true_gap`: at rest nobody's do, so it is movement, which `movement_of` would
        damp. So is the shutting of eyes, see `engines.stylegan.lids`, and whatever departs from
        how a face usually looks: brows at rest differ between people by as much as frowns.

        Args:
            points: float32[N, POINTS, 3] of the subjects, crop units.
            latents: float32[N, L, 512] of the surrogates.
            pose: of the points, where it is known.
            rest: `at_rest` of the latents, where it is known.
            usual: float32[N, SHOWN], `shown_by` of the subjects as they usually look; that of the
                points where it is not known.
            gap: float32[N] how far apart lips are read, see `mouth_gap`; where it is None or NaN,
                that of the points.
            apart: float32[N] in [0, 1] how surely lips are apart, as is seen between them; None
                where it is not known.

        Returns:
            float32[N, POINTS, 3], crop units.
        """
        pose = pose or self.pose_of(points)
        shown = self.shown_by(points, pose)
        usual = shown if usual is None else usual
        moved = self._moved_from(usual, shown)
        if rest is None:
            rest = self.at_rest(latents)
        theirs = canonical_from_points(points, pose)
        read = mouth_gap(theirs)
        if gap is not None:
            read = np.where(np.isfinite(gap), gap, read)
        gap = true_gap(read, pose, self._shut_gap(usual), apart)
        # Opened first: else who opens the mouth would draw the whole face down.
        opened = self._opened(rest + moved, gap)
        laid = _laid_over(opened, self._opened(theirs, gap), _OVER_SUBJECT)
        canonical = self._opened(laid + unread_movement((shown - usual)[:, _MESH_SHOWN]), gap)
        for lids, share in zip(EYES, open_shares(theirs, usual[:, _LIDS_SHOWN]).T, strict=True):
            canonical[:, lids] = narrowed(canonical[:, lids], share)
        made = np.empty_like(points)
        made[:, :MESH_POINTS] = points_from_canonical(canonical, pose)
        return with_pupils_at(made, offsets_of_pupils(points))

    def _shut_gap(self, usual: Float32) -> Float32:
        """How far apart shut lips are read of usual looks float32[N, SHOWN]: float32[N].

        Who smiles all the time hardly ever shuts the lips: there as far as of anybody.
        """
        lips = usual[:, _MESH_SHOWN].reshape(-1, MESH_POINTS, 3)
        wide = np.asarray(mouth_width(lips) / mouth_width(self._at_ease()[None]), np.float32)
        least, most = _GAP_SHIFTS
        bound = most + rise(wide, *_SMILES) * np.float32(least - most)
        return np.asarray(np.minimum(usual[:, _SHUT_SHOWN], bound), np.float32)

    def _moved_from(self, usual: Float32, shown: Float32) -> Float32:
        """What of looks float32[N, SHOWN] is movement, float32[N, MESH_POINTS, 3].

        Of how a face usually looks a part is, and whatever departs from it: of lips and brows as
        each landmark does, of the rest in the directions of expression. Lids are left out, which go
        by how far they are open.
        """
        departed = (shown - usual)[:, _MESH_SHOWN]
        followed = (departed @ self.expression.T @ self.expression).reshape(-1, MESH_POINTS, 3)
        for lids in EYES:
            followed[:, lids] = 0
        for part in (LIPS, BROWS):
            followed[:, part] = departed.reshape(-1, MESH_POINTS, 3)[:, part]
        return np.asarray(self._held(usual[:, _MESH_SHOWN]) + followed, np.float32)

    def _held(self, usual: Float32) -> Float32:
        """What of usual landmarks float32[N, MESH_POINTS * 3] is movement, [N, MESH_POINTS, 3].

        Brows go by how much higher or lower they are than people's at rest.
        """
        at = np.asarray((usual - self.mean.reshape(-1)) @ self.expression.T, np.float32)
        held = (self._moved(at) @ self.expression).reshape(-1, MESH_POINTS, 3)
        down = usual.reshape(-1, MESH_POINTS, 3)[:, BROWS, 1] - self._at_ease()[BROWS, 1]
        held[:, BROWS] = 0
        held[:, BROWS, 1] = beyond_stillness(
            down.mean(axis=1, keepdims=True), np.float32(_BROWS_AT_REST)
        )
        return np.asarray(held, np.float32)

    def _at_ease(self) -> Float32:
        """The mean face without any expression, float32[MESH_POINTS, 3]."""
        flat = self.mean.reshape(-1) + self.neutral @ self.expression
        return np.asarray(flat.reshape(-1, 3), np.float32)

    def _opened(self, canonical: Float32, gap: Float32) -> Float32:
        """Part the lips of faces [N, MESH_POINTS, 3] by float32[N] inter-ocular distances."""
        lacking = (gap - mouth_gap(canonical))[:, None, None]
        return np.asarray(canonical + lacking * self.opening.reshape(MESH_POINTS, 3), np.float32)

    def at_rest(self, latents: Float32) -> Float32:
        """The faces at rest that w+ latents float32[N, L, 512] carry, laid over the mean face.

        Donors smile in their portraits; what of that is movement is left to the subjects.

        Returns:
            float32[N, MESH_POINTS, 3], canonical, half of the way between the eyes in place and
            the whole face in place. By the eyes alone, a face with eyes close together would be
            large, and its mouth far from any subject's.
        """
        own = self.identity_from_latents(latents) @ self.identity
        rest = self.rest_from_latents(latents)
        own = np.asarray(own + (rest - self._moved(rest)) @ self.expression, np.float32)
        return _laid_over(self.mean + own.reshape(-1, MESH_POINTS, 3), self.mean[None], _OVER_MEAN)


def mouth_gap(canonical: Float32) -> Float32:
    """How far the lips are apart, inter-ocular distances: [N, MESH_POINTS, 3] -> float32[N].

    >>> float(mouth_gap(np.zeros((1, MESH_POINTS, 3), np.float32))[0])
    0.0
    """
    height = canonical[:, LIPS_INNER_SLICE, 1]
    gap = height[:, _LOWER_LIP].mean(axis=1) - height[:, _UPPER_LIP].mean(axis=1)
    return np.asarray(gap, np.float32)


def gap_shown(shown: Float32) -> float:
    """How far apart lips are in one look float32[SHOWN], distances of the eyes."""
    return float(mouth_gap(shown[_MESH_SHOWN].reshape(1, MESH_POINTS, 3))[0])


def with_shut_lips(usual: Float32, gap: float) -> Float32:
    """How somebody usually looks float32[SHOWN], whose shut lips are read so far apart."""
    known = usual.copy()
    known[_SHUT_SHOWN] = gap
    return known


def true_gap(
    read: Float32, pose: Pose, shut: Float32 | None = None, apart: Float32 | None = None
) -> Float32:
    """How far lips are apart whose landmarks are `read` so far apart, float32[N].

    The landmark network learnt from photographs, which hardly show mouths wide open: it draws them
    too little open, the more so the farther a head is turned, and shut ones a little open.
    `scripts/measure_opening.py` compares both with heads whose mouths were opened.

    Args:
        read: `mouth_gap` of N faces.
        pose: of the same.
        shut: how far apart their shut lips are read, as far as it is known; 0 where not.
        apart: how surely their lips are apart, in [0, 1]: those are not read too far apart.
    """
    shift = np.float32(_GAP_SHIFTS[0]) if shut is None else np.clip(shut, *_GAP_SHIFTS)
    if apart is not None:
        shift = shift * (1 - apart)
    turned = np.abs(pose.angles_deg()[:, 0])
    slope = np.interp(turned, _TURNS_DEG, _GAP_SLOPES).astype(np.float32)
    opened = (read - shift) / slope
    return np.asarray(np.maximum(opened, np.minimum(read, 0)), np.float32)


def pose_from_points(points: Float32, mean: Float32) -> Pose:
    """Rotate the mean's rigid points onto each face's (Kabsch 1976); eyes give place and scale.

    Args:
        points: float32[N, >= MESH_POINTS, 3], crop units.
        mean: float32[MESH_POINTS, 3], canonical.
    """
    left = points[:, EYE_LEFT_SLICE].mean(axis=1)
    right = points[:, EYE_RIGHT_SLICE].mean(axis=1)
    seen = points[:, _RIGID] - points[:, _RIGID].mean(axis=1, keepdims=True)
    model = mean[_RIGID] - mean[_RIGID].mean(axis=0)
    u, _, vt = np.linalg.svd(np.einsum("npi,pj->nij", seen, model))
    sign = np.sign(np.linalg.det(u @ vt))
    u[:, :, 2] *= sign[:, None]
    scale = np.linalg.norm(right - left, axis=1)
    return Pose(
        np.asarray(u @ vt, np.float32),
        np.asarray(np.maximum(scale, 1e-4), np.float32),
        np.asarray((left + right) / 2, np.float32),
    )


def canonical_from_points(points: Float32, pose: Pose) -> Float32:
    """Undo the pose: float32[N, >= MESH_POINTS, 3] -> float32[N, MESH_POINTS, 3]."""
    moved = points[:, :MESH_POINTS] - pose.centre[:, None]
    turned = moved @ pose.rotation / pose.scale[:, None, None]
    return np.asarray(turned, np.float32)


def points_from_canonical(canonical: Float32, pose: Pose) -> Float32:
    """Apply the pose, float32[N, MESH_POINTS, 3] to the same shape in crop units."""
    turned = canonical @ pose.rotation.transpose(0, 2, 1) * pose.scale[:, None, None]
    return np.asarray(turned + pose.centre[:, None], np.float32)


def points_at_rest(model: ShapeModel) -> Float32:
    """The mean face in the middle of the kveil crop, looking at the camera.

    Returns:
        float32[1, POINTS, 3], crop units.
    """
    pose = Pose(
        np.eye(3, dtype=np.float32)[None],
        np.array([EYES_APART], np.float32),
        np.array([[*_BETWEEN_EYES, 0.0]], np.float32),
    )
    mesh = points_from_canonical(model.mean[None], pose)
    pupils = [mesh[:, eye].mean(axis=1) for eye in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)]
    return np.concatenate([mesh, np.stack(pupils, axis=1)], axis=1)


def load_shape_model(path: Path) -> ShapeModel:
    """Read the arrays of a shape model.

    Raises:
        ModelRejected: an array is missing, of another shape, or not finite.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: np.asarray(file[name], np.float32) for name in ShapeModel.__slots__}
    except (OSError, KeyError, ValueError) as error:
        raise ModelRejected(f"{path.name} is no shape model; restore the model pack") from error
    flat = MESH_POINTS * 3
    count = parts["identity"].shape[0]
    fits = (
        parts["mean"].shape == (MESH_POINTS, 3)
        and parts["expression"].shape[1:] == (flat,)
        and parts["neutral"].shape == (len(parts["expression"]),)
        and parts["movement_gain"].shape == (len(parts["expression"]),) * 2
        and parts["stillness"].shape == (len(parts["expression"]),)
        and parts["identity"].shape[1:] == (flat,)
        and parts["from_latent"].shape == (513, count)
        and parts["identity_limit"].shape == (count,)
        and parts["rest_from_latent"].shape == (513, len(parts["expression"]))
        and parts["rest_limit"].shape == (len(parts["expression"]),)
        and parts["opening"].shape == (flat,)
    )
    if not fits or not all(np.isfinite(part).all() for part in parts.values()):
        raise ModelRejected(f"{path.name} has damaged arrays; restore the model pack")
    return ShapeModel(**parts)


def _carried(latents: Float32, from_latent: Float32, limit: Float32) -> Float32:
    """Apply an affine map float32[513, P] to the mean w of float32[N, L, 512], within limits."""
    found = latents.mean(axis=1) @ from_latent[:-1] + from_latent[-1]
    return np.asarray(np.clip(found, -limit, limit), np.float32)


def _laid_over(shapes: Float32, onto: Float32, share: float) -> Float32:
    """Move and scale shapes float32[N, P, 3] part of the way onto others, one for each or for all.

    As a camera sees them: least squares over x and y, and no shift in depth.
    """
    centre, middle = shapes.mean(axis=1, keepdims=True), onto.mean(axis=1, keepdims=True)
    away, wanted = (shapes - centre)[..., :2], (onto - middle)[..., :2]
    scale = (away * wanted).sum(axis=(1, 2)) / np.square(away).sum(axis=(1, 2))
    scale = (np.clip(scale, 0.5, 2.0) ** share)[:, None, None]
    shift = (middle - scale * centre) * share
    shift[..., 2] = 0.0
    return np.asarray(scale * shapes + shift, np.float32)
