"""The donors of a run: those that come with kveil, or a pack that the user made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engines.donors.packs import read_donor_pack
from engines.face.attribute_bins import dealt_values
from engines.face.embedding_attributes import attributes_from_pack
from engines.stylegan.details import DonorDetails, load_details
from engines.stylegan.pack import DETAILS, DONORS, Pack, bundled_pack, donor_latents, read_pack
from gallery.donors import DonorPopulation, read_donors
from gallery.errors import DonorPackRejected, TooFewDonors

__all__ = ["Donors", "donor_pack", "open_donors", "refuse_too_few"]


@dataclass(frozen=True, slots=True)
class Donors:
    """Who surrogates are mixed from.

    Attributes:
        population: their latents and bins.
        details: what the generator leaves out of their textures; None for the networks' own.
    """

    population: DonorPopulation
    details: DonorDetails | None = None


def donor_pack(folder: str) -> Pack:
    """The pack that holds the donors.

    Args:
        folder: of the settings; empty for the bundled one.

    Raises:
        ModelMissing, ModelRejected: see `engines.donors.packs.read_donor_pack`.
    """
    networks = read_pack(bundled_pack())
    return read_donor_pack(Path(folder).expanduser(), networks) if folder else networks


def open_donors(folder: str) -> Donors:
    """Reads the donors of a run; a pack that does not fit is refused as a whole.

    Args:
        folder: of the settings; empty for the bundled one.

    Raises:
        DonorPackRejected: wrong shapes, NaN, or a bin is missing.
        ModelMissing, ModelRejected: it is absent, damaged, or of another frame.
    """
    pack = donor_pack(folder)
    population = read_donors(pack.path(DONORS))
    if not folder:
        return Donors(population)
    name = Path(folder).name
    wanted = donor_latents(read_pack(bundled_pack()), 1).shape[1:]
    if population.latents.shape[1:] != wanted:
        raise DonorPackRejected(
            f"the donors of {name} have latents of {population.latents.shape[1:]} numbers "
            f"where {wanted} are needed; make the pack again"
        )
    _refuse_without_bins(population, name)
    return Donors(population, load_details(pack.path(DETAILS), population.latents[:, 0]))


def refuse_too_few(population: DonorPopulation, k: int) -> None:
    """Refuses a population in which a cluster would find too few different faces.

    Raises:
        TooFewDonors: it is smaller than the 2k - 1 places of a cluster.
    """
    if len(population) < 2 * k - 1:
        raise TooFewDonors(
            f"{len(population)} donors cannot give the {2 * k - 1} different faces of a cluster "
            f"of k = {k}; use a larger pack or a smaller k"
        )


def _refuse_without_bins(population: DonorPopulation, name: str) -> None:
    for attribute, known in dealt_values(attributes_from_pack()).items():
        values = population.attributes.get(attribute)
        if values is None:
            raise DonorPackRejected(
                f"the donors of {name} have no bins of {attribute}; make the pack again"
            )
        if not known.issuperset(values.tolist()):
            raise DonorPackRejected(
                f"the donors of {name} have other bins of {attribute} than "
                f"{', '.join(sorted(known))}; make the pack again"
            )
