"""The swap: a subject's crop and a surrogate's latent in, the surrogate's face out.

The subject supplies control only: landmarks (pose, expression, gaze) whose proportions are
exchanged for the surrogate's, a mean colour with its slope for the light on the face, 4x4
colours of the surroundings, one number that bounds the contrast, and the coarse colours of what is
between the lips. Nothing else of the crop reaches what is painted; coarse light and shade beyond
the slope are the surrogate's. The generator paints a surrogate's texture once, retouched; each
frame only warps and lights it, and draws irises that look where the subject looks and what open
lips show.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.backend import Session
from engines.blending.occlusion import Occlusion
from engines.blending.patches import Patch
from engines.errors import ModelRejected
from engines.face.alignment import EYES, Similarity
from engines.face.brow_reading import brows_raised, with_brows_raised
from engines.face.lid_reading import LidReader
from engines.stylegan.contrast import contrast_under_light, with_contrast
from engines.stylegan.details import DonorDetails
from engines.stylegan.eyes import draw_eyes, draw_shut_eyes
from engines.stylegan.facing import facing_of, normals_of_texture
from engines.stylegan.gaze import looking_at, offsets_of_pupils
from engines.stylegan.lids import open_shares
from engines.stylegan.light import (
    bare_face,
    in_hue_of_light,
    levelled,
    light_from_picture,
    softened,
    under_light,
)
from engines.stylegan.masks import (
    alpha_from_outlines,
    carried_along,
    identity_outlines,
    oval_from_points,
    share_outside,
)
from engines.stylegan.mouth import (
    draw_mouth,
    inside_of_mouth,
    lips_apart,
    mouth_width,
    usual_inside,
)
from engines.stylegan.outline import AS_READ, OutlineModel
from engines.stylegan.relief import FLAT, ReliefModel, in_relief
from engines.stylegan.shape import Pose, ShapeModel
from engines.stylegan.sizes import LIGHT_SIZE, SOFT_SIZE
from engines.stylegan.textures import Textures
from engines.stylegan.topology import BROW_LEFT_SLICE, BROW_RIGHT_SLICE, POINTS
from engines.stylegan.traits import eyes_from_latents
from engines.stylegan.warp import TextureFrame, chin_within, seen_of_texture, uv_from_points

__all__ = [
    "DOUBT_LIMIT",
    "Control",
    "Rendered",
    "Swapper",
    "full_light_from_crop",
    "light_and_contrast",
]

LANDMARK_SIZE: Final = 128
DOUBT_LIMIT: Final = 0.06 * float(EYES[1, 0] - EYES[0, 0])
"""Expected landmark error, crop units, above which a face is not followed: 6 % of the distance of
the eyes. Larger swaps more faces, less truly."""
YAW_LIMIT_DEG: Final = 60.0
"""Yaw beyond which a face is not followed. Larger swaps more profiles, whose noses leave what a
surrogate hides."""
_BROWS: Final = slice(BROW_LEFT_SLICE.start, BROW_RIGHT_SLICE.stop)
_MOST_OUTSIDE: Final = 0.005
"""Share of the subject's face that may lie beyond the painted crop."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Control:
    """What the subjects' crops say; smooth `points` and `light` over time before painting.

    Attributes:
        points: float32[N, POINTS, 3], crop units.
        light: float32[N, 2, 4, 4, 3] BGR in [-1, 1], of face and surroundings.
        doubt: float32[N] expected error of the points, crop units; infinite where the head is
            turned further than the generator follows.
        occlusion: float32[N, 128, 128] how surely something is in front, in [0, 1]; None where
            it is not asked for or the network does not tell.
        contrast: float32[N] how much of it a surrogate may have, see
            `engines.stylegan.contrast`; None for any.
        openness: float32[N, 2] of both eyes, 0 shut to 1 open; None where it is not read.
        usual: float32[N, SHOWN], see `ShapeModel.shown_by`; before painting, of the subjects in the
            mean of their tracks. None for that of `points`.
        inside: float32[N, *INSIDE] what is between the lips, see `engines.stylegan.mouth`; None
            for what is usual.
        raised: float32[N] how much higher than `points` have them both brows lie, see
            `engines.face.brow_reading`; None for no more.
        gap: float32[N] how far apart lips are read, see `mouth_gap`; None, or NaN, for that of
            `points`.
    """

    points: Float32
    light: Float32
    doubt: Float32
    occlusion: Float32 | None = None
    contrast: Float32 | None = None
    openness: Float32 | None = None
    usual: Float32 | None = None
    inside: Float32 | None = None
    raised: Float32 | None = None
    gap: Float32 | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """Surrogates in the kveil crop.

    Attributes:
        pixels: float32[N, S, S, 3] BGR, 0 to 255.
        alpha: float32[N, S, S], 1 on the identity region, feathered outside it only.
        identity: float32[N, K, 2] points whose convex hull must be hidden, crop units.
        is_usable: bool[N]; false where the face cannot be followed and must be covered.
        normals: float32[N, M, M, 3], where the skin faces, see `engines.blending.shading`.
        points: float32[N, 2, POINTS, 2] of subjects and of surrogates, crop units.
    """

    pixels: Float32
    alpha: Float32
    identity: Float32
    is_usable: npt.NDArray[np.bool_]
    normals: Float32
    points: Float32 | None = None

    def patch(self, row: int, place: Similarity, occlusion: Occlusion | None = None) -> Patch:
        """One of the surrogates, in its place in a frame; see `engines.blending.patches.Patch`."""
        face = self.pixels[row], self.alpha[row], place, self.identity[row]
        points = None if self.points is None else self.points[row]
        return Patch(*face, occlusion, self.normals[row], points)


class Swapper:
    """Renders surrogates over subjects with a landmark network and a generator.

    Args:
        landmarker: `image` float32[N, 3, 128, 128] RGB in [-1, 1] -> `points`
            float32[N, POINTS, 3], `spread` float32[N, 1] and, where it tells what is in front
            of a face, `occlusion` float32[N, 1, 128, 128] in [0, 1].
        generator: `latents` float32[N, L, 512] -> `texture` float32[N, 3, S, S] RGB.
        shape: exchanges proportions.
        frame: the face on which textures are stored.
        relief: light and shade that surrogates bring.
        lids: reads how far eyes are open.
        outline: tells where the subject's face ends.
        details: what the generator leaves out of donors' textures.

    Raises:
        ModelRejected: the networks' inputs or outputs have other names or shapes, or the
            details are of another size than the textures.
    """

    def __init__(
        self,
        landmarker: Session,
        generator: Session,
        shape: ShapeModel,
        frame: TextureFrame,
        relief: ReliefModel = FLAT,
        lids: LidReader | None = None,
        outline: OutlineModel = AS_READ,
        details: DonorDetails | None = None,
    ) -> None:
        self._lids = lids
        self._outline = outline
        self._landmarker = landmarker
        self._shape = shape
        self._frame = frame
        self._normals = normals_of_texture(frame.points, shape.mean)
        self._relief = relief
        self.layers, self.size = _layers_and_size(generator)
        if details is not None and details.size != self.size:
            raise ModelRejected("the donors' details are of another size; make their pack anew")
        self._textures = Textures(generator, frame.points, details)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sides at which surrogates are painted, px: for faces seen at few pixels, and others."""
        return self.size // 2, self.size

    def read(self, crops: UInt8, *, is_lit: bool = True) -> Control:
        """Read the control off crops uint8[N, S, S, 3] BGR, S a multiple of 4.

        Args:
            crops: of N faces.
            is_lit: whether light and contrast are read too; else light is 0, and contrast None.

        Raises:
            EngineFault: a network that reads landmarks or eyelids failed.
        """
        fed = np.stack([fed_from_crop(crop) for crop in crops])
        out = self._landmarker.run({"image": fed})
        points = out["points"].reshape(-1, POINTS, 3)
        pose = self._shape.pose_of(points)
        doubt = np.where(_is_in_reach(pose), out["spread"][:, 0], np.inf).astype(np.float32)
        front = out.get("occlusion")
        occlusion = None if front is None else front[:, 0]
        light, contrast = _lit(crops, points) if is_lit else (_unlit(len(crops)), None)
        openness = None if self._lids is None else self._lids.read(crops, points)
        told = [brows_raised(*one) for one in zip(crops, points, strict=True)]
        raised = np.array(told, np.float32)
        usual = self._shape.shown_by(with_brows_raised(points, raised), pose)
        inside = [inside_of_mouth(one, own) for one, own in zip(crops, points, strict=True)]
        seen = (occlusion, contrast, openness, usual, np.stack(inside), raised)
        return Control(points, light, doubt, *seen)

    def paint(self, control: Control, latents: Float32, size: int | None = None) -> Rendered:
        """Paint surrogates under the given control.

        Args:
            control: of N subjects.
            latents: float32[N, L, 512].
            size: side of the pictures, one of `sizes`; the largest by default.

        Raises:
            EngineFault: the generator failed, or painted a blank.
        """
        size = size or self.size
        pose, faces = self._shape.pose_of(control.points), control.points
        if control.raised is not None:
            faces = with_brows_raised(faces, control.raised)
        rest = self._shape.at_rest(latents)
        apart = None if control.inside is None else lips_apart(control.inside)
        lips = (control.gap, apart)
        points = self._shape.swapped(faces, latents, pose, rest, control.usual, *lips)
        theirs = self._outline.of_points(control.points)
        points = carried_along(points, theirs)
        uv = chin_within(np.stack([uv_from_points(face, self._frame) for face in points]))
        mouths = _inside_of(control, points, rest)
        pixels = self._painted(control, latents, size, points, uv, mouths)
        identity = identity_outlines(faces, theirs)
        masks = zip(faces, identity, theirs, strict=True)
        alpha = np.stack([alpha_from_outlines(*one, size) for one in masks])
        is_hidden = np.array([share_outside(one) <= _MOST_OUTSIDE for one in theirs])
        is_usable = (control.doubt <= DOUBT_LIMIT) & _is_in_reach(pose) & is_hidden
        normals = facing_of(self._normals, uv[:, ::2, ::2], pose.rotation)
        both = np.stack([faces[..., :2], points[..., :2]], axis=1)
        return Rendered(np.stack(pixels), alpha, identity, is_usable, normals, both)

    def _painted(
        self,
        control: Control,
        latents: Float32,
        size: int,
        points: Float32,
        uv: Float32,
        mouths: Float32,
    ) -> list[Float32]:
        """Faces under their light, BGR float32[size, size, 3] each, 0 to 255.

        Args:
            control: of N subjects.
            latents: float32[N, L, 512].
            size: side of the pictures, px.
            points: float32[N, POINTS, 3] of the painted faces, crop units.
            uv: where on their textures they are seen, see `uv_from_points`.
            mouths: float32[N, *INSIDE] what is between their lips.
        """
        light = in_relief(control.light, self._relief.of_latents(latents))
        insides = [
            softened(oval_from_points(face, SOFT_SIZE), min(size, SOFT_SIZE)) for face in points
        ]
        shut = np.maximum(1 - open_shares(points), 0)
        image = self._seen(latents, size, uv, offsets_of_pupils(points), shut)
        pixels, eyes = _pixels(image, light, insides), eyes_from_latents(latents)
        for row, picture in enumerate(pixels):
            if control.contrast is not None:
                lamp, bound = control.light[row], float(control.contrast[row])
                with_contrast(picture, _levels(picture), lamp, insides[row], bound)
            # Skin tells the contrast: pupils and open mouths are dark, and teeth white, in any.
            draw_eyes(picture, points[row], eyes[row])
            draw_shut_eyes(picture, points[row], shut[row])
            draw_mouth(picture, points[row], mouths[row])
        return pixels

    def _seen(
        self, latents: Float32, size: int, uv: Float32, gaze: Float32, shut: Float32
    ) -> list[Float32]:
        """Faces without light, BGR float32[size, size, 3] each, by `uv` and what the eyes do."""
        made = []
        for row, texture in enumerate(self._textures.of_latents(latents)):
            face = self._frame.points
            places = looking_at(uv[row], face, texture.gaze, gaze[row], shut[row])
            made.append(seen_of_texture(texture.of_size(size), places))
        return made

    def render(self, crops: UInt8, latents: Float32) -> Rendered:
        """Read and paint in one call, without smoothing.

        Args:
            crops: uint8[N, S, S, 3] BGR kveil crops.
            latents: float32[N, L, 512], one surrogate per crop.

        Raises:
            EngineFault: a network failed, or the generator painted a blank.
        """
        return self.paint(self.read(crops), latents)


def _inside_of(control: Control, points: Float32, rest: Float32) -> Float32:
    """What is between the lips of painted faces, as it was read or as it is usual."""
    if control.inside is not None:
        return control.inside
    stretch = mouth_width(points) / mouth_width(rest)
    return np.stack([usual_inside(*one) for one in zip(points, stretch.tolist(), strict=True)])


def _lit(crops: UInt8, points: Float32) -> tuple[Float32, Float32]:
    """Light float32[N, 2, 4, 4, 3] and bounds of contrast float32[N] of crops."""
    lit = [light_and_contrast(crop, face) for crop, face in zip(crops, points, strict=True)]
    return np.stack([one for one, _ in lit]), np.array([bound for _, bound in lit], np.float32)


def _unlit(count: int) -> Float32:
    return np.zeros((count, 2, LIGHT_SIZE, LIGHT_SIZE, 3), np.float32)


def _is_in_reach(pose: Pose) -> npt.NDArray[np.bool_]:
    return np.asarray(np.abs(pose.angles_deg()[:, 0]) <= YAW_LIMIT_DEG, np.bool_)


def _layers_and_size(generator: Session) -> tuple[int, int]:
    """Rows of latents, and the side of textures, px."""
    latents = {spec.name: spec.shape for spec in generator.inputs}
    texture = {spec.name: spec.shape for spec in generator.outputs}
    if set(latents) != {"latents"} or "texture" not in texture:
        raise ModelRejected("this network is no kveil generator; restore the model pack")
    layers, size = latents["latents"][1], texture["texture"][2]
    if layers is None or size is None:
        raise ModelRejected("the generator's layers and size must be fixed; export it again")
    return layers, size


def fed_from_crop(crop: UInt8) -> Float32:
    """Bring a BGR crop uint8[S, S, 3] into the landmark network's form, float32[3, 128, 128]."""
    if crop.shape[0] != LANDMARK_SIZE:
        side = (LANDMARK_SIZE, LANDMARK_SIZE)
        shrinks = crop.shape[0] > LANDMARK_SIZE
        way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        crop = np.asarray(cv2.resize(crop, side, interpolation=way), np.uint8)
    return crop[:, :, ::-1].transpose(2, 0, 1).astype(np.float32) / 127.5 - 1.0


def light_and_contrast(crop: UInt8, points: Float32) -> tuple[Float32, float]:
    """Read the lamp's light off a crop, and how much the face stands out from it.

    Hair on the forehead has no part in either.

    Args:
        crop: uint8[S, S, 3] BGR, S a multiple of 4.
        points: float32[POINTS, 3] of its face, in units of this crop.

    Returns:
        Light of face and surroundings, BGR float32[2, 4, 4, 3] in [-1, 1], and a bound as of
        `contrast_under_light`.
    """
    small, inside = _seen_softly(crop, points)
    bare = bare_face(small, inside, float(points[_BROWS, 1].mean()))
    light = levelled(light_from_picture(small, inside, bare))
    return light, contrast_under_light(small, light, bare)


def full_light_from_crop(crop: UInt8, points: Float32) -> Float32:
    """Read the light off a crop as `light_and_contrast`, the person's own relief included."""
    return light_from_picture(*_seen_softly(crop, points))


def _seen_softly(crop: UInt8, points: Float32) -> tuple[Float32, Float32]:
    """A crop as coarse as light needs, in [-1, 1], and where in it the face is, in [0, 1]."""
    small = _levels(crop.astype(np.float32))
    return small, softened(oval_from_points(points, SOFT_SIZE), small.shape[0])


def _levels(picture: Float32) -> Float32:
    """A picture of 0 to 255, averaged down to what light needs where it is larger, in [-1, 1]."""
    if picture.shape[0] > SOFT_SIZE:
        size = (SOFT_SIZE, SOFT_SIZE)
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.float32)
    return picture / np.float32(127.5) - np.float32(1)


def _pixels(images: Sequence[Float32], light: Float32, insides: Sequence[Float32]) -> list[Float32]:
    """Faces under their light: BGR float32[S, S, 3] each, 0 to 255.

    Args:
        images: float32[S, S, 3] BGR each, about [-1, 1], without light.
        light: float32[N, 2, 4, 4, 3] BGR in [-1, 1].
        insides: float32[s, s] each, 1 on the face.
    """
    made = []
    for image, lamp, inside in zip(images, light, insides, strict=True):
        lit = under_light(in_hue_of_light(image, lamp), lamp, inside)
        lit += 1
        lit *= np.float32(127.5)
        made.append(np.clip(lit, 0, 255, out=lit))
    return made
