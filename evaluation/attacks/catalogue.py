"""All attacks on faces, in the order of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluation.attacks.adaptive import AdaptiveRecognition
from evaluation.attacks.attack import Attack
from evaluation.attacks.candidates import Duplicates, Intersection, KnownWeights
from evaluation.attacks.inversion import Inversion
from evaluation.attacks.linkage import Linkage
from evaluation.attacks.membership import MemberDisclosure, MembershipInference
from evaluation.attacks.parrot import ParrotRecognition
from evaluation.attacks.recognition import NaiveRecognition, ReverseRecognition
from evaluation.attacks.side_channels import SideChannels
from evaluation.attacks.templates import WholeTrack
from evaluation.errors import EvaluationError

__all__ = ["ATTACKS", "attacks_named"]

ATTACKS: Final[tuple[Attack, ...]] = (
    NaiveRecognition(),
    ReverseRecognition(),
    ParrotRecognition(),
    AdaptiveRecognition(),
    Inversion(),
    WholeTrack(),
    Linkage(),
    Intersection(),
    MemberDisclosure(),
    MembershipInference(),
    Duplicates(),
    KnownWeights(),
    SideChannels(),
)


def attacks_named(ids: Sequence[str]) -> tuple[Attack, ...]:
    """Attacks by id in the order of the report; all of them when none is named.

    Raises:
        EvaluationError: there is no such attack.

    >>> [attack.id for attack in attacks_named(["A9", "A1"])]
    ['A1', 'A9']
    """
    wanted = {name.upper() if name.lower() != "a9m" else "A9m" for name in ids}
    unknown = wanted - {attack.id for attack in ATTACKS}
    if unknown:
        known = ", ".join(attack.id for attack in ATTACKS)
        message = f"no attack on faces is called {', '.join(sorted(unknown))}; choose from {known}"
        raise EvaluationError(message)
    return tuple(attack for attack in ATTACKS if not wanted or attack.id in wanted)
