"""Everything that can go wrong with a live stream.

StreamError
├── AddressRefused        a URL is malformed, of an unknown scheme, or not allowed     (exit 2)
├── InputUnreadable
│   └── SourceLost        camera or server unreachable, silent, or without video       (exit 3)
├── OutputNotWritable
│   └── SinkLost          the server at the other end is gone or refused the stream    (exit 4)
├── ViewerRefused         every place is taken; try again later
└── OfferRefused          a WebRTC offer is malformed or has nothing in common with us

Messages name an endpoint by scheme, host and port alone: paths and queries hold stream keys.
"""

from __future__ import annotations

from stream.errors import InputUnreadable, OutputNotWritable, StreamError

__all__ = ["AddressRefused", "OfferRefused", "SinkLost", "SourceLost", "ViewerRefused"]


class AddressRefused(StreamError):
    """A URL is malformed, of an unknown scheme, or not allowed."""

    exit_code = 2


class SourceLost(InputUnreadable):
    """The camera or server is unreachable, silent, or sends no video."""

    retryable = True


class SinkLost(OutputNotWritable):
    """The server at the other end is gone or refused the stream."""

    retryable = True


class ViewerRefused(StreamError):
    """Every place for viewers or publishers is taken."""

    retryable = True


class OfferRefused(StreamError):
    """A WebRTC offer is malformed or has no codec in common with us."""
