from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from config.errors import FileInvalid, SettingInvalid
from config.service import ServiceSettings, StreamSpec
from config.service_loading import commented_yaml, load_service

pytestmark = pytest.mark.unit


def test_commented_example_holds_every_key_and_its_default() -> None:
    parsed = yaml.safe_load(commented_yaml())
    assert ServiceSettings.model_validate(parsed) == ServiceSettings()
    assert set(parsed) == set(ServiceSettings.model_fields)


def test_every_key_is_described() -> None:
    def undescribed(model: type[BaseModel], prefix: str = "") -> list[str]:
        missing = []
        for name, field in model.model_fields.items():
            kind = field.annotation
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                missing += undescribed(kind, f"{prefix}{name}.")
            elif not field.description and f"{prefix}{name}" != "streams":
                missing.append(f"{prefix}{name}")
        return missing

    assert not undescribed(ServiceSettings)
    assert not undescribed(StreamSpec)


def test_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "kveil.yaml"
    file.write_text("listen: {port: 1234}\nanonymize: {method: ellipse}\n")
    variables = {
        "KVEIL_LISTEN__PORT": "4321",
        "KVEIL_PRIVACY__K": "9",
        "KVEIL_STREAMS__0__NAME": "door",
        "KVEIL_STREAMS__0__SOURCE": "rtsp://camera/live",
        "KVEIL_STREAMS__1__NAME": "yard",
        "UNRELATED": "x",
    }
    loaded = load_service(file, variables)
    assert loaded.listen.port == 4321
    assert loaded.anonymize.privacy.k == 9
    assert loaded.anonymize.method == "ellipse"
    assert [one.name for one in loaded.streams] == ["door", "yard"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("listen: {prot: 1}", "unknown setting `listen.prot`"),
        ("listen: {port: 70000}", "listen.port"),
        ("streams: [{name: A}]", "streams.0.name"),
        ("streams: [{name: a}, {name: a}]", "same name"),
        ("listen: {tls_key: k.pem}", "come together"),
        ("sources: {networks: [10.0.0.0/33]}", "sources.networks"),
        ("listen: {cors_origins: ['*']}", "cors_origins"),
    ],
)
def test_wrong_value_is_one_line_that_names_the_key(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "kveil.yaml"
    file.write_text(text)
    with pytest.raises(SettingInvalid) as refusal:
        load_service(file, {})
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_wrong_value_with_a_password_is_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "kveil.yaml"
    file.write_text("streams: [{name: BAD, source: 'rtsp://u:s3cret@h/x'}]")
    with pytest.raises(SettingInvalid) as refusal:
        load_service(file, {})
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize("text", ["- a", "a: [", "\x00"])
def test_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kveil.yaml"
    file.write_text(text)
    with pytest.raises(FileInvalid):
        load_service(file, {})


def test_schema_is_strict_about_unknown_keys() -> None:
    schema = ServiceSettings.model_json_schema()
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("text", ["@foo", "12345", "yes", "{a", "'a'", "null"])
def test_password_of_the_environment_is_taken_as_it_is(text: str) -> None:
    loaded = load_service(None, {"KVEIL_WEBRTC__TURN_PASSWORD": text})
    assert loaded.webrtc.turn_password.get_secret_value() == text


def test_names_and_addresses_in_lists_are_taken_as_they_are() -> None:
    variables = {
        "KVEIL_STREAMS__0__NAME": "007",
        "KVEIL_STREAMS__0__SINKS__0": "rtsp://host/a: b",
        "KVEIL_STREAMS__0__METHOD": "null",
        "KVEIL_SOURCES__HOSTS": "[a.example, b.example]",
    }
    loaded = load_service(None, variables)
    assert loaded.streams[0] == StreamSpec(name="007", sinks=("rtsp://host/a: b",))
    assert loaded.sources.hosts == ("a.example", "b.example")


def test_variable_that_is_no_yaml_is_one_line_without_its_value() -> None:
    with pytest.raises(SettingInvalid, match=r"KVEIL_LISTEN__PORT: .* not valid YAML") as refusal:
        load_service(None, {"KVEIL_LISTEN__PORT": "@s3cret"})
    assert "s3cret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_empty_file_stands_for_the_defaults_unless_it_may_not_be_empty(tmp_path: Path) -> None:
    file = tmp_path / "kveil.yaml"
    for text in ("", "# nothing\n", "{}"):
        file.write_text(text)
        assert load_service(file, {}) == ServiceSettings()
        with pytest.raises(FileInvalid, match=r"kveil\.yaml is empty"):
            load_service(file, {}, may_be_empty=False)
