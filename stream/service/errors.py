"""What the service answers when it does not do what was asked.

StreamError
└── ServiceRefusal       any refusal; `status` is the HTTP status
    ├── TokenRefused     no token, a wrong one, or one that has expired              (401)
    ├── RoleRefused      the token does not allow that                              (403)
    ├── PlaylistRefused  no player asks for that                                    (400)
    ├── StreamUnknown    there is no such stream or session                         (404)
    └── StreamConflict   there is one already, or it is not in the state for that   (409)
"""

from __future__ import annotations

from typing import ClassVar

from stream.errors import StreamError

__all__ = [
    "PlaylistRefused",
    "RoleRefused",
    "ServiceRefusal",
    "StreamConflict",
    "StreamUnknown",
    "TokenRefused",
]


class ServiceRefusal(StreamError):
    """The service does not do what was asked; the message says why."""

    status: ClassVar[int] = 400


class TokenRefused(ServiceRefusal):
    """No token, a wrong one, or one that has expired."""

    status = 401


class RoleRefused(ServiceRefusal):
    """The token does not allow that."""

    status = 403


class PlaylistRefused(ServiceRefusal):
    """The query of a playlist makes no sense, or waits for what will not come soon."""

    status = 400


class StreamUnknown(ServiceRefusal):
    """There is no such stream or session."""

    status = 404


class StreamConflict(ServiceRefusal):
    """There is one already, or it is not in the state for that."""

    status = 409
