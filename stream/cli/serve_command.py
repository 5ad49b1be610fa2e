"""`kveil serve`: the service with streams, WHIP, WHEP, REST and a page."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer

from config.service import NAME_PATTERN, Role, ServiceSettings
from stream.errors import UsageRefused

__all__ = ["serve"]

_MOST_DAYS: Final = 36_500


def serve(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="YAML file; see --example.")
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Print a file with every key and end.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of the file and end.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the configuration and end.")
    ] = False,
    new_token: Annotated[
        str | None, typer.Option("--new-token", metavar="NAME", help="Make a token and end.")
    ] = None,
    role: Annotated[Role, typer.Option(help="Role of the new token.")] = "viewer",
    days: Annotated[int | None, typer.Option(help="Days until the new token expires.")] = None,
) -> None:
    """Run many live streams as a service."""
    import json

    from config.service_loading import commented_yaml, load_service

    if example:
        typer.echo(commented_yaml(), nl=False)
    elif schema:
        typer.echo(json.dumps(ServiceSettings.model_json_schema(), indent=2))
    elif new_token is not None:
        _print_token(new_token, role, days)
    else:
        settings = load_service(config)
        if check:
            from stream.service.checking import check_service

            check_service(settings)
            typer.echo("the configuration holds")
            return
        from stream.cli.live_engines import running_service

        running_service(settings, config, lambda address: typer.echo(f"kveil serves at {address}"))


def _print_token(name: str, role: Role, days: int | None) -> None:
    from stream.service.tokens import hash_token, new_token

    if re.fullmatch(NAME_PATTERN, name) is None:
        raise UsageRefused("--new-token takes small letters, digits, - and _, such as `front-desk`")
    if days is not None and not 1 <= days <= _MOST_DAYS:
        raise UsageRefused(f"--days takes 1 to {_MOST_DAYS}; leave it out for a token without end")
    token = new_token()
    typer.echo(f"token (shown once): {token}", err=True)
    typer.echo(f"- name: {name}\n  sha256: {hash_token(token)}\n  role: {role}")
    if days is not None:
        expires = (datetime.now(UTC) + timedelta(days=days)).replace(microsecond=0)
        typer.echo(f"  expires: {expires.isoformat()}")
