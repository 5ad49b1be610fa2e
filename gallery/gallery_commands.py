"""`kveil gallery`: check, show or purge what the gallery keeps."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from gallery.diversity import AttributeDiversity
from gallery.errors import GalleryError, SettingsConflict, StoreUnavailable
from gallery.homogeneity import cluster_diversity
from gallery.ledger import LedgerCheck, check_folder, purge_folder
from gallery.roster import Roster
from gallery.secrets import SecretRing
from gallery.settings import Attributes, BelowK, GallerySettings
from gallery.stores.store import Store

if TYPE_CHECKING:
    from gallery.stores.redis import RedisStore

__all__ = ["gallery_app"]

_VIOLATED = 6
_URL_VARIABLES = ["KVEIL_REDIS_URL", "KVEIL_GALLERY__REDIS_URL"]

gallery_app = typer.Typer(
    help="Checks, shows or purges what the gallery keeps.", no_args_is_help=True
)

LedgerFolder = Annotated[
    Path | None,
    typer.Argument(
        metavar="LEDGER", show_default=False, help="The folder that gallery.ledger names."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")]
RedisUrl = Annotated[
    str | None, typer.Option("--redis", envvar=_URL_VARIABLES, help="redis://host:6379/0")
]
Namespace = Annotated[str, typer.Option(help="Which gallery of that Redis.")]


@gallery_app.command(
    help="Tell whether every promise about k was kept, from the record of releases; status 6 if "
    "one was broken.\n\nRuns and services write the record into the folder that the setting "
    "gallery.ledger names. With --redis this also tells what the clusters kept there say about "
    "the attributes of their people: l-diversity and t-closeness."
)
def check(
    ledger: LedgerFolder = None,
    redis_url: Annotated[
        str | None, typer.Option("--redis", help="Also look at the clusters kept there.")
    ] = None,
    namespace: Namespace = "default",
    key_file: Annotated[
        Path | None, typer.Option(help="Opens what Redis holds; else KVEIL_GALLERY_KEYS.")
    ] = None,
    l_min: Annotated[
        float | None, typer.Option(help="Fewest effective values of an attribute per cluster.")
    ] = None,
    t_max: Annotated[
        float | None, typer.Option(help="Farthest a cluster may be from the crowd, 0…1.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute every candidate set; status 6 if a promise was broken.

    With --redis it also says what the clusters there tell about their people's attributes:
    l-diversity and t-closeness.

    Raises:
        GalleryError: no folder was named.
        LedgerBroken: no record there, or one that cannot be trusted.
        StoreUnavailable: no client library, no answer, or no window in that Redis.
        SecretMissing, SealBroken: no key, or not the one that sealed it.
    """
    if ledger is None:
        raise GalleryError("nothing to check: name the folder of gallery.ledger, as in "
                           "kveil gallery check FOLDER")  # fmt: skip
    found = check_folder(ledger)
    told = _told(redis_url, namespace, key_file, found) if redis_url and found.k else {}
    typer.echo(_as_json(found, told) if as_json else _as_lines(found, told))
    faults = list(found.violations[:20])
    for name, one in told.items():
        if l_min is not None and one.effective < l_min - 1e-9:
            faults.append(f"{name}: a cluster has {one.effective:.2f} effective values")
        if t_max is not None and one.distance > t_max + 1e-9:
            faults.append(f"{name}: a cluster is {one.distance:.2f} away from the crowd")
    for fault in faults:
        typer.echo(fault, err=True)
    if faults:
        raise typer.Exit(_VIOLATED)


@gallery_app.command(
    help="Tell what a Redis holds of a gallery, as far as it can be seen without the key."
)
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


@gallery_app.command(
    help="Delete everybody from a Redis, and on demand the record of releases.\n\nWorkers that "
    "are running begin a new window, in which everybody is unknown."
)
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


@gallery_app.command(
    "new-key",
    help="Make a key file, or put a new key first in it; restart workers one by one afterwards.",
)
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


def _told(
    url: str, namespace: str, key_file: Path | None, found: LedgerCheck
) -> dict[str, AttributeDiversity]:
    """What the clusters in Redis tell about attributes; read only."""
    ring = SecretRing.from_file(key_file) if key_file else SecretRing.from_environment()
    with _store(url, namespace) as store:
        if not store.contents().window:
            raise StoreUnavailable("that Redis holds no window of this gallery; nothing to check")
        return cluster_diversity(_followed(store, ring, found).buffer, found.k)


def _followed(store: Store, ring: SecretRing, found: LedgerCheck) -> Roster:
    """A copy of the window, whatever it shows of attributes: the ledger does not say."""
    policy: BelowK = "cover" if found.below_k == "cover" else "swap"
    *others, last = get_args(Attributes)
    for attributes in others:
        settings = GallerySettings(k=found.k, below_k=policy, attributes=attributes)
        with suppress(SettingsConflict):
            roster = Roster(settings, store, ring)
            roster.catch_up()
            return roster
    roster = Roster(GallerySettings(k=found.k, below_k=policy, attributes=last), store, ring)
    roster.catch_up()
    return roster


def _as_json(found: LedgerCheck, told: Mapping[str, AttributeDiversity]) -> str:
    attributes = {name: dataclasses.asdict(one) for name, one in told.items()}
    shown = {"ok": found.is_ok, **dataclasses.asdict(found), "attributes": attributes}
    return json.dumps(shown)


def _as_lines(found: LedgerCheck, told: Mapping[str, AttributeDiversity]) -> str:
    promise = "held" if found.is_ok else f"BROKEN {len(found.violations)} times"
    return "\n".join(
        [
            f"promise          {promise}",
            f"releases         {found.releases} of {found.people} people "
            f"in {found.windows} windows",
            f"in doubt         {found.lone_releases} faces that belong to no cluster",
            f"k                {found.k}; {found.people_below_k} people below it",
            f"k_real           min {found.k_real_min}, median {found.k_real_median:g}",
            f"k_joint          min {found.k_joint_min}, median {found.k_joint_median:g}",
            f"k_present        min {found.k_present_min}, median {found.k_present_median:g}",
            f"suspected        {found.suspected} found too late to be one person",
            *(
                f"{name:17}l {one.effective:.2f} ({one.distinct} distinct values), "
                f"t {one.distance:.2f} in the worst full cluster, "
                f"unknown of {one.unknown:.0%} of their people"
                for name, one in told.items()
            ),
        ]
    )
