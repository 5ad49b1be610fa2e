"""Settings: which source wins, and what a wrong value says."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.errors import FileInvalid, SettingInvalid
from config.loading import load_settings, setting_keys
from config.presets import PRESETS, Preset
from config.settings import Settings

pytestmark = pytest.mark.unit


def test_flag_beats_environment_beats_file_beats_preset(tmp_path: Path) -> None:
    file = tmp_path / "kveil.yaml"
    file.write_text("detection:\n  coarse_px: 800\n  full_px: 2000\n  full_every_s: 0.9\n")
    settings = load_settings(
        preset="cctv",
        file=file,
        environment={"KVEIL_DETECTION__COARSE_PX": "700", "KVEIL_DETECTION__FULL_PX": "1500"},
        flags={"detection.coarse_px": "640"},
    )
    assert settings.detection.coarse_px == 640
    assert settings.detection.full_px == 1500
    assert settings.detection.full_every_s == 0.9
    assert settings.tracking.hold_s == PRESETS["cctv"]["tracking"]["hold_s"]


@pytest.mark.parametrize("preset", list(PRESETS))
def test_every_preset_is_valid(preset: Preset) -> None:
    load_settings(preset=preset, environment={})


@pytest.mark.parametrize("key", sorted(setting_keys()))
def test_every_key_is_described(key: str) -> None:
    assert setting_keys()[key].strip().endswith((".", "…"))


def test_every_key_can_come_from_the_environment() -> None:
    settings = load_settings(environment={"KVEIL_PRIVACY__BELOW_K": "cover", "KVEIL_METHOD": "bar"})
    assert settings.privacy.below_k == "cover"
    assert settings.method == "bar"


def test_unknown_key_in_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "kveil.yaml"
    file.write_text("detection:\n  scroe: 1\n")
    with pytest.raises(SettingInvalid, match=r"detection\.scroe"):
        load_settings(file=file, environment={})


def test_value_out_of_range_is_named() -> None:
    with pytest.raises(SettingInvalid, match=r"privacy\.k"):
        load_settings(flags={"privacy.k": "1"}, environment={})


def test_value_that_aliases_blow_up_is_shown_in_short(tmp_path: Path) -> None:
    names = "abcdefg"
    lines = ["a: &a [x, x, x, x, x, x, x, x]"]
    for name, before in zip(names[1:], names, strict=False):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 8)}]")
    file = tmp_path / "kveil.yaml"
    file.write_text("\n".join([*lines, "privacy: {k: *g}", ""]))
    with pytest.raises(SettingInvalid, match=r"privacy\.k") as refused:
        load_settings(file=file, environment={})
    assert len(str(refused.value)) < 300


def test_setting_of_several_kinds_is_named_as_it_is_written() -> None:
    with pytest.raises(SettingInvalid, match=r"^setting `source\.video_track`: "):
        load_settings(flags={"source.video_track": "0"}, environment={})


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [\n", "\x00"])
def test_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kveil.yaml"
    file.write_text(text)
    with pytest.raises(FileInvalid):
        load_settings(file=file, environment={})


def test_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileInvalid, match=r"none\.yaml"):
        load_settings(file=tmp_path / "none.yaml", environment={})


def test_schema_lists_every_section() -> None:
    properties = Settings.model_json_schema()["properties"]
    assert isinstance(properties, dict)
    assert {"detection", "tracking", "privacy", "output", "limits"} <= set(properties)


def test_wrong_url_is_refused_without_showing_it() -> None:
    with pytest.raises(SettingInvalid) as refused:
        load_settings(flags={"gallery.redis_url": ["redis://user:hidden@host"]}, environment={})
    assert "gallery.redis_url" in str(refused.value)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("text", ["2024", "no", "@night", "1e5", "[a"])
def test_setting_that_holds_text_takes_it_as_it_is(text: str) -> None:
    given = load_settings(flags={"output.speed": text}, environment={"KVEIL_METHOD": text})
    assert (given.output.speed, given.method) == (text, text)


def test_value_that_is_no_yaml_is_refused_without_showing_it() -> None:
    with pytest.raises(SettingInvalid, match=r"KVEIL_PRIVACY__K: .* not valid YAML") as refused:
        load_settings(environment={"KVEIL_PRIVACY__K": "@s3cret"})
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("KVEIL_PRIVACY__KK", "KVEIL_PRIVACY__K"),
        ("KVEIL_METHD", "KVEIL_METHOD"),
        ("KVEIL_PRIVCY__BELOW_K", "KVEIL_PRIVACY__BELOW_K"),
        ("KVEIL_PRIVACY__NOTHING_LIKE_IT", "config keys"),
    ],
)
def test_misspelt_variable_is_refused_and_not_passed_over(variable: str, meant: str) -> None:
    with pytest.raises(SettingInvalid, match=rf"{variable} is no setting; .*{meant}"):
        load_settings(environment={variable: "50"})


@pytest.mark.parametrize(
    "variable",
    ["KVEIL_DEBUG", "KVEIL_MODELS", "KVEIL_GALLERY_KEYS", "KVEIL_LISTEN__PORT", "KVEIL_TARGET"],
)
def test_variables_of_others_are_left_alone(variable: str) -> None:
    assert load_settings(environment={variable: "1"}) == load_settings(environment={})
