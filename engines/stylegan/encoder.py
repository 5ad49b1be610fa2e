"""From a crop to the w+ latent of the person it shows: in one pass, for datasets and mixing.

The swap of a video does not use it: there the subject supplies control only.
"""

import numpy as np
import numpy.typing as npt

from engines.backends.backend import Session
from engines.face.swapper import Swapper, fed_from_crop, full_light_from_crop
from engines.stylegan.relief import FLAT, ReliefModel, relief_from_light
from engines.stylegan.shape import ShapeModel
from engines.stylegan.sizes import SHAPE_CODES, TEXTURE_SIZE
from engines.stylegan.warp import TextureFrame, image_place_of_texture, owners

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


class LatentEncoder:
    """Encodes crops by their shape-free texture and identity shape.

    Args:
        swapper: reads the landmarks.
        encoder: `image` float32[N, 3, 128, 128] RGB in [-1, 1], `place` float32[N, 128, 128, 2]
            crop units, `shape` float32[N, 24] -> `latents` float32[N, L, 512].
        shape: takes the identity out of landmarks.
        frame: the face on which textures are stored.
        relief: where a latent keeps light and shade that a face brings; they are not read
            where it is flat.
    """

    def __init__(
        self,
        swapper: Swapper,
        encoder: Session,
        shape: ShapeModel,
        frame: TextureFrame,
        relief: ReliefModel = FLAT,
    ) -> None:
        self._swapper = swapper
        self._encoder = encoder
        self._shape = shape
        self._frame = frame
        self._relief = relief
        self._owner = owners(frame.points, frame.triangles, TEXTURE_SIZE)

    def encode(self, crops: UInt8) -> Float32:
        """Return w+ latents float32[N, L, 512] of crops uint8[N, S, S, 3] BGR.

        Raises:
            EngineFault: a network failed.
        """
        points = self._swapper.read(crops).points
        pose = self._shape.pose_of(points)
        own = self._shape.identity_of(points, pose)
        place = [image_place_of_texture(face, self._frame, self._owner) for face in points]
        fed = {
            "image": np.stack([fed_from_crop(crop) for crop in crops]),
            "place": np.stack(place),
            "shape": np.ascontiguousarray(own[:, :SHAPE_CODES]),
        }
        rest = self._shape.rest_to_latents(self._shape.rest_of(points, pose))
        latents = np.asarray(self._encoder.run(fed)["latents"] + rest[:, None], np.float32)
        if self._relief is FLAT:
            return latents
        lights = [full_light_from_crop(c, p) for c, p in zip(crops, points, strict=True)]
        shade = self._relief.to_latents(relief_from_light(np.stack(lights)))
        return np.asarray(latents + shade[:, None], np.float32)
