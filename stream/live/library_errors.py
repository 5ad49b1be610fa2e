"""What an error of the media library means, without its own text: that repeats the URL."""

from __future__ import annotations

from typing import Final

import av

__all__ = ["reason_of"]

_REFUSALS: Final = (av.error.HTTPError, av.error.HTTPClientError, av.error.HTTPServerError)
"""RTSP answers by the same numbers; none of these classes covers the other two."""


def reason_of(error: Exception) -> str:
    """Why a connection failed, in a few words; empty where the error's kind does not say.

    >>> reason_of(av.error.HTTPNotFoundError(0, "rtsp://me:secret@host/x"))
    'it refuses; check the path of the address'
    >>> reason_of(ConnectionRefusedError(111, "Connection refused"))
    'connection refused'
    """
    if isinstance(error, av.error.HTTPUnauthorizedError):
        return "it wants other credentials"
    if isinstance(error, av.error.HTTPServerError):
        return "it is busy or failed inside; look at the server, or try later"
    if isinstance(error, _REFUSALS):
        return "it refuses; check the path of the address"
    if isinstance(error, av.error.ArgumentError):
        return "it is of a kind that is not read"
    if isinstance(error, av.error.InvalidDataError):
        return "what it sends is no video, or damaged"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return ""
