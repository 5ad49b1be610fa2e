"""Everything that can go wrong in the tracker.

KveilError                        any failure that kveil reports in one line
└── TrackerError                  the tracker was used or configured wrongly
    ├── TrackerSettingsRejected   a setting is out of range                       (exit 2)
    └── FrameOutOfOrder           frames were not pushed one by one, in order      (exit 2)
"""

from __future__ import annotations

from engines.errors import KveilError

__all__ = ["FrameOutOfOrder", "TrackerError", "TrackerSettingsRejected"]


class TrackerError(KveilError):
    """The tracker was used or configured wrongly."""


class TrackerSettingsRejected(TrackerError):
    """A setting is out of range; the message names it and the range."""


class FrameOutOfOrder(TrackerError):
    """A frame was pushed twice, left out, or pushed after the end."""
