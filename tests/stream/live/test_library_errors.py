from __future__ import annotations

import av
import pytest

from stream.live.library_errors import reason_of

pytestmark = pytest.mark.unit
URL = "rtsp://me:s3cret@host/key"


@pytest.mark.parametrize(
    "kind",
    [
        av.error.HTTPError,
        av.error.HTTPClientError,
        av.error.HTTPNotFoundError,
        av.error.HTTPForbiddenError,
        av.error.HTTPOtherClientError,
    ],
)
def test_refusal_of_any_kind_says_to_check_the_path(kind: type[av.FFmpegError]) -> None:
    assert reason_of(kind(1, URL)) == "it refuses; check the path of the address"


def test_failure_of_the_server_is_told_as_such() -> None:
    assert reason_of(av.error.HTTPServerError(1, URL)).startswith("it is busy or failed inside")


def test_wrong_credentials_are_told_as_such() -> None:
    assert reason_of(av.error.HTTPUnauthorizedError(1, URL)) == "it wants other credentials"


def test_what_is_no_video_is_told_as_such() -> None:
    assert reason_of(av.error.ArgumentError(22, URL)) == "it is of a kind that is not read"
    assert "no video" in reason_of(av.error.InvalidDataError(1, URL))


def test_error_that_says_nothing_has_no_reason() -> None:
    assert reason_of(RuntimeError(URL)) == ""
