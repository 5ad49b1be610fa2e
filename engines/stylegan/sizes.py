"""Sizes that the engines and the training of the generator share."""

from typing import Final

UV_SIZE: Final = 128
"""Height and width of the map of places on the texture, px."""
LIGHT_SIZE: Final = 4
"""Height and width of the light's grid, cells."""
LIGHT_SPREAD: Final = 0.05
"""Share of a cell that the whole region's mean fills; it decides cells the region hardly
reaches."""
CONTRAST_FLOOR: Final = 0.15
"""Least contrast of a texture under a light that is nearly black or white; 1 at mid grey."""
SOFT_SIZE: Final = 64
"""Height and width at which the face's outline is drawn, px."""
SOFT_KERNEL: Final = 9
"""The outline is blurred by this box, twice: no line shows where the lights of face and
surroundings meet."""
BORDER: Final[tuple[tuple[float, float], ...]] = tuple(
    (x, y)
    for x in (-0.2, 0.15, 0.5, 0.85, 1.2)
    for y in (-0.2, 0.15, 0.5, 0.85, 1.2)
    if x in (-0.2, 1.2) or y in (-0.2, 1.2)
)
"""Fixed points around the crop, so that its background has a place on the texture too."""
TEXTURE_SIZE: Final = 128
"""Height and width of a person's texture, px."""
CHROMA_SIZE: Final = 32
"""Height and width of its chroma planes, px."""
SHAPE_CODES: Final = 24
"""Identity shape directions that a latent holds."""
