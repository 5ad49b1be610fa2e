"""The swap: a subject's crop and a surrogate's latent in, the surrogate's face out.

The subject supplies control only: landmarks (pose, expression, gaze) whose proportions are
exchanged for the surrogate's, a mean colour with its slope for the light on the face, 4x4
colours of the surroundings, and one number that bounds the contrast. Nothing else of the crop
reaches what is painted; coarse light and shade beyond the slope are the surrogate's. The generator
paints a surrogate's texture once, retouched; each frame only moves, warps and lights it, and draws
irises that look where the subject looks and what open lips show.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.alignment import EYES
from engines.backends.backend import Session
from engines.errors import EngineFault, ModelRejected
from engines.lid_reading import LidReader
from engines.stylegan.contrast import calmed, contrast_under_light
from engines.stylegan.details import DonorDetails
from engines.stylegan.eyes import draw_eyes
from engines.stylegan.light import (
    bare_face,
    field_from_light,
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
    widened_outlines,
)
from engines.stylegan.mouth import draw_mouth, mouth_width
from engines.stylegan.outline import AS_READ, OutlineModel
from engines.stylegan.relief import FLAT, ReliefModel, in_relief
from engines.stylegan.shape import Pose, ShapeModel
from engines.stylegan.sizes import LIGHT_SIZE, SOFT_SIZE
from engines.stylegan.textures import Textures
from engines.stylegan.topology import BROW_LEFT_SLICE, BROW_RIGHT_SLICE, OVAL_SLICE, POINTS
from engines.stylegan.traits import eyes_from_latents
from engines.stylegan.warp import TextureFrame, chin_within, uv_from_points

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
YAW_LIMIT_DEG: Final = 45.0
_BROWS: Final = slice(BROW_LEFT_SLICE.start, BROW_RIGHT_SLICE.stop)
_LEAST_VARIATION: Final = 1 / 127.5
"""Deviation of what is painted below which it is a blank: a grey level."""
_MOST_OUTSIDE: Final = 0.005
"""Share of the subject's face that may lie beyond the painted crop."""
_MOST_GAIN: Final = 2.0
"""How far a painted face is brightened or darkened at most."""
_DARKEST: Final = 1.1
"""Added to light in [-1, 1] before two are divided: black is divided too."""
_NOT_FIXED: Final = "the networks' layers and size must be fixed; export them again"

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
    """

    points: Float32
    light: Float32
    doubt: Float32
    occlusion: Float32 | None = None
    contrast: Float32 | None = None
    openness: Float32 | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """Surrogates in the kveil crop.

    Attributes:
        pixels: float32[N, S, S, 3] BGR, 0 to 255.
        alpha: float32[N, S, S], 1 on the identity region, feathered outside it only.
        identity: float32[N, K, 2] points whose convex hull must be hidden, crop units.
        is_usable: bool[N]; false where the face cannot be followed and must be covered.
    """

    pixels: Float32
    alpha: Float32
    identity: Float32
    is_usable: npt.NDArray[np.bool_]


class Swapper:
    """Renders surrogates over subjects with a landmark network, a generator and a renderer.

    Args:
        landmarker: `image` float32[N, 3, 128, 128] RGB in [-1, 1] -> `points`
            float32[N, POINTS, 3], `spread` float32[N, 1] and, where it tells what is in front
            of a face, `occlusion` float32[N, 1, 128, 128] in [0, 1].
        generator: `latents` float32[N, L, 512] -> `texture` float32[N, 3, S, S] RGB.
        renderer: `texture`, `movement` float32[N, F] of the subject, standardised, and `grid`
            float32[N, 2, 128, 128], place on the texture, -1 to 1 across it (about 0, where half
            precision is finest) -> `image` float32[N, 3, S, S] RGB about [-1, 1], without light.
        shape: exchanges proportions.
        frame: the face on which textures are stored.
        relief: light and shade that surrogates bring.
        small: a renderer of fewer pixels, for faces that are seen at no more.
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
        renderer: Session,
        shape: ShapeModel,
        frame: TextureFrame,
        relief: ReliefModel = FLAT,
        small: Session | None = None,
        lids: LidReader | None = None,
        outline: OutlineModel = AS_READ,
        details: DonorDetails | None = None,
    ) -> None:
        self._lids = lids
        self._outline = outline
        self._landmarker = landmarker
        self._shape = shape
        self._frame = frame
        self._relief = relief
        self.layers, self.size = _layers_and_size(generator, renderer)
        self._renderers = {self.size: renderer}
        if small is not None:
            self._renderers[_side_of(small)] = small
        if details is not None and details.size != self.size:
            raise ModelRejected("the donors' details are of another size; make their pack anew")
        reduced = self.sizes[0] if small is not None else None
        self._textures = Textures(generator, details, small=reduced)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sides at which surrogates can be painted, px, ascending; the last is `size`."""
        return tuple(sorted(self._renderers))

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
        doubt = np.where(_is_in_reach(self._shape.pose_of(points)), out["spread"][:, 0], np.inf)
        seen = out.get("occlusion")
        occlusion = None if seen is None else seen[:, 0]
        light, contrast = _lit(crops, points) if is_lit else (_unlit(len(crops)), None)
        openness = None if self._lids is None else self._lids.read(crops, points)
        return Control(points, light, doubt.astype(np.float32), occlusion, contrast, openness)

    def paint(self, control: Control, latents: Float32, size: int | None = None) -> Rendered:
        """Paint surrogates under the given control.

        Args:
            control: of N subjects.
            latents: float32[N, L, 512].
            size: side of the pictures, one of `sizes`; the largest by default.

        Raises:
            EngineFault: a network failed, or painted a blank.
        """
        size = size or self.size
        pose = self._shape.pose_of(control.points)
        rest = self._shape.at_rest(latents)
        points = self._shape.swapped(control.points, latents, pose, rest)
        theirs = self._outline.of_points(control.points)
        ours = widened_outlines(points[:, OVAL_SLICE, :2], theirs)
        points = carried_along(points, ours)
        light = in_relief(control.light, self._relief.of_latents(latents))
        ovals = np.stack([oval_from_points(face, SOFT_SIZE) for face in points])
        uv = chin_within(np.stack([uv_from_points(face, self._frame) for face in points]))
        grid = 2 * uv.transpose(0, 3, 1, 2) - 1
        image = self._renderers[size].run(
            {
                "texture": self._textures.of_latents(latents, size),
                "movement": self._shape.features_of(control.points, pose),
                "grid": np.ascontiguousarray(grid),
            }
        )["image"]
        _refuse_blank(image)
        insides = [softened(oval, min(size, SOFT_SIZE)) for oval in ovals]
        pixels = _pixels(image, light, insides)
        eyes = eyes_from_latents(latents)
        stretch = mouth_width(points) / mouth_width(rest)
        for row, (picture, wanted, inside) in enumerate(
            zip(pixels, control.light, insides, strict=True)
        ):
            draw_eyes(picture, points[row], eyes[row])
            draw_mouth(picture, points[row], float(stretch[row]))
            _relight(picture, wanted, inside)
            if control.contrast is not None:
                bound = float(control.contrast[row])
                calmed(picture, _levels(picture), wanted, inside, bound)
        identity = identity_outlines(control.points, theirs)
        alpha = np.stack(
            [
                alpha_from_outlines(face, must, own, size)
                for face, must, own in zip(control.points, identity, ours, strict=True)
            ]
        )
        is_hidden = np.array([share_outside(one) <= _MOST_OUTSIDE for one in theirs])
        is_usable = (control.doubt <= DOUBT_LIMIT) & _is_in_reach(pose) & is_hidden
        return Rendered(pixels, alpha, identity, is_usable)

    def render(self, crops: UInt8, latents: Float32) -> Rendered:
        """Read and paint in one call, without smoothing.

        Args:
            crops: uint8[N, S, S, 3] BGR kveil crops.
            latents: float32[N, L, 512], one surrogate per crop.

        Raises:
            EngineFault: a network failed, or painted a blank.
        """
        return self.paint(self.read(crops), latents)


def _lit(crops: UInt8, points: Float32) -> tuple[Float32, Float32]:
    """Light float32[N, 2, 4, 4, 3] and bounds of contrast float32[N] of crops."""
    lit = [light_and_contrast(crop, face) for crop, face in zip(crops, points, strict=True)]
    return np.stack([one for one, _ in lit]), np.array([bound for _, bound in lit], np.float32)


def _unlit(count: int) -> Float32:
    return np.zeros((count, 2, LIGHT_SIZE, LIGHT_SIZE, 3), np.float32)


def _is_in_reach(pose: Pose) -> npt.NDArray[np.bool_]:
    return np.asarray(np.abs(pose.angles_deg()[:, 0]) <= YAW_LIMIT_DEG, np.bool_)


def _layers_and_size(generator: Session, renderer: Session) -> tuple[int, int]:
    latents = {spec.name: spec.shape for spec in generator.inputs}
    texture = {spec.name: spec.shape for spec in generator.outputs}
    if set(latents) != {"latents"} or "texture" not in texture:
        raise ModelRejected("this network is no kveil generator; restore the model pack")
    layers, size = latents["latents"][1], _side_of(renderer)
    if layers is None or texture["texture"][2] != size:
        raise ModelRejected(_NOT_FIXED)
    return layers, size


def _side_of(renderer: Session) -> int:
    """Side of the pictures that a renderer paints, px."""
    fed = {spec.name for spec in renderer.inputs}
    image = {spec.name: spec.shape for spec in renderer.outputs}
    if fed != {"texture", "movement", "grid"} or "image" not in image:
        raise ModelRejected("this network is no kveil renderer; restore the model pack")
    size = image["image"][2]
    if size is None:
        raise ModelRejected(_NOT_FIXED)
    return size


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


def _relight(pixels: Float32, light: Float32, inside: Float32) -> None:
    """Bring a painted face under the light that was asked for, in place.

    A renderer follows the light roughly; a cheek darker than the neck below it shows. The
    ratio of the two lights is as coarse as the light itself and knows nothing else.

    Args:
        pixels: float32[S, S, 3] BGR, 0 to 255.
        light: float32[2, 4, 4, 3] BGR in [-1, 1], of face and surroundings.
        inside: float32[s, s] in [0, 1], 1 on the painted face; s as `_levels` reduces to.
    """
    small = _levels(pixels)
    found = levelled(light_from_picture(small, inside))
    wanted, painted = (field_from_light(one, inside) + _DARKEST for one in (light, found))
    gain = np.clip(wanted / np.maximum(painted, 0.01), 1.0 / _MOST_GAIN, _MOST_GAIN)
    if small.shape != pixels.shape:
        side = (pixels.shape[1], pixels.shape[0])
        gain = np.asarray(cv2.resize(gain, side, interpolation=cv2.INTER_LINEAR), np.float32)
    np.multiply(pixels, gain, out=pixels)
    np.clip(pixels, 0.0, 255.0, out=pixels)


def _levels(picture: Float32) -> Float32:
    """A picture of 0 to 255, averaged down to what light needs where it is larger, in [-1, 1]."""
    if picture.shape[0] > SOFT_SIZE:
        size = (SOFT_SIZE, SOFT_SIZE)
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.float32)
    return picture / np.float32(127.5) - np.float32(1)


def _pixels(image: Float32, light: Float32, insides: Sequence[Float32]) -> Float32:
    """What a renderer painted, under its light: BGR float32[N, S, S, 3], 0 to 255.

    Args:
        image: float32[N, 3, S, S] RGB about [-1, 1].
        light: float32[N, 2, 4, 4, 3] BGR in [-1, 1].
        insides: float32[s, s] each, 1 on the face.
    """
    size = image.shape[-1]
    made = np.empty((len(image), size, size, 3), np.float32)
    for planes, lamp, inside, picture in zip(image, light, insides, made, strict=True):
        lit = under_light(cv2.merge(planes[::-1]), lamp, inside)
        lit += 1
        lit *= np.float32(127.5)
        np.clip(lit, 0, 255, out=picture)
    return made


def _refuse_blank(image: Float32) -> None:
    if not np.isfinite(image).all():
        raise EngineFault("the renderer returned values that are not numbers; the face is covered")
    if any(cv2.meanStdDev(cv2.merge(one))[1].max() < _LEAST_VARIATION for one in image):
        raise EngineFault("the renderer painted a blank; the face is covered")
