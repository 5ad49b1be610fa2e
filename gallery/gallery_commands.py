"""`kveil gallery`: check, show or purge what the gallery keeps."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gallery.errors import GalleryError, StoreUnavailable
from gallery.ledger import LedgerCheck, check_folder, purge_folder
from gallery.secrets import SecretRing

if TYPE_CHECKING:
    from gallery.stores.redis import RedisStore

__all__ = ["gallery_app"]

_VIOLATED = 6

gallery_app = typer.Typer(
    help="Checks, shows or purges what the gallery keeps.", no_args_is_help=True
)

LedgerFolder = Annotated[
    Path, typer.Argument(metavar="LEDGER", help="Folder that releases are recorded in.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")]
RedisUrl = Annotated[
    str | None, typer.Option("--redis", envvar="KVEIL_REDIS_URL", help="redis://host:6379/0")
]
Namespace = Annotated[str, typer.Option(help="Which gallery of that Redis.")]


@gallery_app.command()
def check(ledger: LedgerFolder, as_json: AsJson = False) -> None:
    """Recompute every candidate set; status 6 if a promise was broken.

    Raises:
        LedgerBroken: no folder, or a record that cannot be trusted.
    """
    found = check_folder(ledger)
    typer.echo(_as_json(found) if as_json else _as_lines(found))
    for violation in found.violations[:20]:
        typer.echo(violation, err=True)
    if not found.is_ok:
        raise typer.Exit(_VIOLATED)


@gallery_app.command()
def show(
    redis_url: RedisUrl = None, namespace: Namespace = "default", as_json: AsJson = False
) -> None:
    """What a Redis holds of a gallery, as far as it can be seen without the key.

    Raises:
        StoreUnavailable: no URL, no client library, or no answer.
    """
    with _store(_required(redis_url), namespace) as store:
        contents = store.contents()
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(contents)))
        return
    typer.echo(f"keys            {contents.keys}")
    typer.echo(f"window          {contents.window or 'none'}")
    typer.echo(f"entries         {contents.entries}, all sealed")
    typer.echo(f"ends in         {contents.ends_in_s:.0f} s")
    typer.echo(f"bytes           {contents.bytes}")


@gallery_app.command()
def purge(
    redis_url: RedisUrl = None,
    namespace: Namespace = "default",
    ledger: Annotated[Path | None, typer.Option(help="Delete this record of releases too.")] = None,
) -> None:
    """Delete everybody from a Redis, and on demand the record of releases.

    Workers that are running begin a new window, in which everybody is unknown.

    Raises:
        StoreUnavailable: no URL, no client library, no answer, or keys that stay.
        LedgerBroken: a file cannot be deleted.
    """
    if redis_url is None and ledger is None:
        raise GalleryError("nothing to purge: give --redis URL, --ledger FOLDER, or both")
    if redis_url is not None:
        with _store(redis_url, namespace) as store:
            deleted = store.forget()
            left = store.contents().keys
        if left:
            raise StoreUnavailable(
                f"{left} keys appeared again while purging: stop the workers, then repeat"
            )
        typer.echo(f"{deleted} keys deleted from Redis, a scan finds none left")
    if ledger is not None:
        typer.echo(f"{purge_folder(ledger)} files deleted from {ledger}")


@gallery_app.command("new-key")
def new_key(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Key file, made or rotated.")],
    keep: Annotated[int, typer.Option(min=0, help="Older keys that still open.")] = 2,
) -> None:
    """Make a key file, or put a new key first in it; restart workers one by one afterwards.

    Raises:
        SecretMissing: the file is there and is no key file, or others can read it.
    """
    ring = SecretRing.from_file(path).rotated(keep) if path.exists() else SecretRing.ephemeral()
    ring.write(path)
    typer.echo(f"{path} seals with key {ring.current_id}")


def _store(url: str, namespace: str) -> RedisStore:
    try:
        from gallery.stores.redis import RedisStore
    except ImportError:
        raise StoreUnavailable("Redis needs the extra: pip install kveil[redis]") from None
    return RedisStore(url, namespace, timeout_s=5.0)


def _required(url: str | None) -> str:
    if url is None:
        raise StoreUnavailable("give --redis URL or set KVEIL_REDIS_URL; a gallery in memory "
                               "shows itself in the run's report")  # fmt: skip
    return url


def _as_json(found: LedgerCheck) -> str:
    return json.dumps({"ok": found.is_ok, **dataclasses.asdict(found)})


def _as_lines(found: LedgerCheck) -> str:
    promise = "held" if found.is_ok else f"BROKEN {len(found.violations)} times"
    return "\n".join(
        [
            f"promise          {promise}",
            f"releases         {found.releases} of {found.people} people "
            f"in {found.windows} windows",
            f"k                {found.k}; {found.people_below_k} people below it",
            f"k_real           min {found.k_real_min}, median {found.k_real_median:g}",
            f"k_joint          min {found.k_joint_min}, median {found.k_joint_median:g}",
            f"k_present        min {found.k_present_min}, median {found.k_present_median:g}",
            f"suspected        {found.suspected} found too late to be one person",
        ]
    )
