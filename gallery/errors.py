"""Everything that can go wrong in the gallery.

KveilError                       any failure that kveil reports in one line
└── GalleryError                 state over people could not be used as asked
    ├── EmbeddingsRejected       wrong shape, not finite, or persons that do not match   (exit 2)
    ├── TooFewPeople             fewer distinct people than k                            (exit 2)
    ├── UnknownAlgorithm         no clustering has this name                             (exit 2)
    ├── PartitionBroken          a clustering lost, split or misnumbered a person        (exit 6)
    ├── PeopleFolderRejected     a folder of face pictures that cannot be used           (exit 3)
    ├── SecretMissing            no usable key in the environment, the file or the call  (exit 2)
    ├── SealBroken               a sealed value was changed, moved, or its key is unknown (exit 6)
    ├── LedgerBroken             the record of releases cannot be read or trusted        (exit 6)
    ├── BufferBroken             an entry would break a cluster: nothing may be released (exit 6)
    ├── SettingsConflict         workers that share a store disagree about k or attributes (exit 2)
    ├── StoreError               what workers share could not be used                    (exit 5)
    │   ├── StoreUnavailable     lost, slow, full or failing: faces are covered          (retryable)
    │   └── WindowEnded          the store began anew; everyone is unknown again         (retryable)
    └── DonorError               donor latents
        ├── DonorPackRejected    the pack is absent, damaged, or holds what it must not  (exit 5)
        └── TooFewDonors         fewer donors than distinct surrogates need              (exit 5)
"""

from __future__ import annotations

from engines.errors import KveilError

__all__ = [
    "BufferBroken",
    "DonorError",
    "DonorPackRejected",
    "EmbeddingsRejected",
    "GalleryError",
    "LedgerBroken",
    "PartitionBroken",
    "PeopleFolderRejected",
    "SealBroken",
    "SecretMissing",
    "SettingsConflict",
    "StoreError",
    "StoreUnavailable",
    "TooFewDonors",
    "TooFewPeople",
    "UnknownAlgorithm",
    "WindowEnded",
]


class GalleryError(KveilError):
    """State over people could not be used as asked."""


class EmbeddingsRejected(GalleryError):
    """Embeddings have the wrong shape, are not finite, or do not match their persons."""


class TooFewPeople(GalleryError):
    """There are fewer distinct people than k; the message says how many are missing."""


class UnknownAlgorithm(GalleryError):
    """No clustering algorithm has this name; the message lists those there are."""


class PartitionBroken(GalleryError):
    """A clustering lost, split or misnumbered a person: a defect, nothing may be released."""

    exit_code = 6


class PeopleFolderRejected(GalleryError):
    """A folder of face pictures is empty, unreadable or without the layout that is needed."""

    exit_code = 3


class SecretMissing(GalleryError):
    """No usable key: absent, too short, malformed, or readable by others."""


class SealBroken(GalleryError):
    """A sealed value was changed or moved, or was sealed by a key that is not at hand."""

    exit_code = 6


class LedgerBroken(GalleryError):
    """The record of releases cannot be read, written or trusted."""

    exit_code = 6


class BufferBroken(GalleryError):
    """An entry would split a person or overfill a cluster: a defect, nothing may be released."""

    exit_code = 6


class SettingsConflict(GalleryError):
    """Workers that share a store disagree about k, the policy below k or attributes."""


class StoreError(GalleryError):
    """What workers share could not be used."""

    exit_code = 5


class StoreUnavailable(StoreError):
    """The store is lost, slow, full or failing; faces are covered until it answers again."""

    retryable = True


class WindowEnded(StoreError):
    """The window that the caller follows is over; open the store again and start afresh."""

    retryable = True


class DonorError(GalleryError):
    """Something about the donor latents."""

    exit_code = 5


class DonorPackRejected(DonorError):
    """A donor pack is absent, damaged, or holds what it must not."""


class TooFewDonors(DonorError):
    """The population has fewer donors than distinct surrogates need."""
