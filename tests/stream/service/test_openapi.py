from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok

from config.service import Bounds, ServiceSettings
from tests.stream.service.service_bench import bearer, running_service, tokens, whip_stream

pytestmark = [
    pytest.mark.unit,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
ENDLESS = "preview.mjpeg"
"""Answers with pictures until the viewer leaves, so waiting for its end would never end."""
PATIENT = Bounds(requests_per_minute=1_000_000, streams=4)


@schemathesis.serializer("application/sdp", "application/trickle-ice-sdpfrag")
def sdp_bytes(context: object, value: object) -> bytes:
    return str(value).encode("utf-8", errors="replace")


def test_whatever_is_sent_no_answer_is_a_server_error() -> None:
    headers = bearer("operator") | {"Host": "localhost"}
    wanted = ServiceSettings(access=tokens(), streams=(whip_stream(),), bounds=PATIENT)
    with running_service(wanted) as service:
        schema = schemathesis.openapi.from_asgi("/openapi.json", service.app, headers=headers)
        found = [one for one in schema.get_all_operations() if isinstance(one, Ok)]
        assert len(found) >= 15
        for operation in found:
            if operation.ok().path.endswith(ENDLESS):
                continue

            @given(case=operation.ok().as_strategy())
            @settings(max_examples=15, suppress_health_check=list(HealthCheck))
            def is_answered(case: schemathesis.Case) -> None:  # type: ignore[type-arg]
                answer = case.call(headers=headers)
                case.validate_response(answer, checks=[not_a_server_error])

            is_answered()
