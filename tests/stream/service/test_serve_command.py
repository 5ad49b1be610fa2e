from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from config.errors import FileInvalid
from config.service import TokenSpec
from engines.errors import KveilError
from stream.cli.serve_command import serve

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "days", "told"),
    [
        ("me", 99_999_999, "--days"),
        ("me", -3, "--days"),
        ("me", 0, "--days"),
        ("Me Myself", None, "--new-token"),
        ("", None, "--new-token"),
    ],
)
def test_token_that_could_not_be_used_is_refused_before_it_is_printed(
    name: str, days: int | None, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KveilError, match=told) as refusal:
        serve(new_token=name, role="viewer", days=days)
    assert "\n" not in str(refusal.value)
    assert capsys.readouterr() == ("", "")


def test_token_that_is_printed_is_an_entry_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    serve(new_token="front-desk", role="publisher", days=36_500)
    (entry,) = yaml.safe_load(capsys.readouterr().out)
    spec = TokenSpec.model_validate(entry)
    assert (spec.name, spec.role) == ("front-desk", "publisher")


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("streams: [{name: a, record: true}]", KveilError),
        ("listen: {port: 1}\nlisten: {port: 2}", FileInvalid),
    ],
)
def test_check_refuses_what_does_not_hold(
    tmp_path: Path, text: str, refusal: type[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kveil.yaml"
    file.write_text(text)
    with pytest.raises(refusal):
        serve(config=file, check=True)
    assert capsys.readouterr().out == ""
