"""`kveil config`: what can be set, from where, and the schema for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
import yaml

from config.loading import ENV_PREFIX, load_settings, setting_keys
from config.presets import Preset
from config.settings import Settings

__all__ = ["config_app"]

config_app = typer.Typer(help="Show settings, their keys and their schema.", no_args_is_help=True)


@config_app.command()
def keys() -> None:
    """List every key, its environment variable and its meaning."""
    for key, meaning in setting_keys().items():
        variable = ENV_PREFIX + key.replace(".", "__").upper()
        typer.echo(f"{key}\n    {variable}\n    {' '.join(meaning.split())}")


@config_app.command()
def schema() -> None:
    """Print the JSON schema of the configuration file."""
    typer.echo(json.dumps(Settings.model_json_schema(), indent=2))


@config_app.command()
def show(
    preset: Annotated[Preset, typer.Option(help="Start from this preset.")] = "default",
    file: Annotated[Path | None, typer.Option("--config", help="A YAML file.")] = None,
) -> None:
    """Print the settings that would be used, as YAML that --config accepts."""
    settings = load_settings(preset=preset, file=file)
    typer.echo(yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False), nl=False)
