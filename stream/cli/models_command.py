"""`kveil models`: the networks that kveil runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from engines.backends.backend import Backend, Precision
from engines.backends.choice import Device
from engines.backends.tensorrt_build import TensorrtName
from engines.donors.casting import FEWEST, MOST, SHEET
from engines.donors.mixing import MOST_MIXED
from engines.donors.packs import is_donor_pack
from engines.errors import BackendMissing, ModelMissing, ModelRejected
from engines.models.catalogue import Listed, catalogue, centerface_path, models_folder
from engines.stylegan.pack import Pack, bundled_pack, read_pack
from stream.cli.progress import progress_for
from stream.errors import OutputExists, UsageRefused, writing

if TYPE_CHECKING:
    from engines.models.building import Built
    from engines.models.verifying import Verdict

__all__ = ["models_app"]

_TRIES: Final = 10
"""Portraits per donor that are painted at most where nothing else is said."""

models_app = typer.Typer(help="List, import, verify and build networks.", no_args_is_help=True)

Folder = Annotated[
    Path | None,
    typer.Option("--models", help="Folder of imported networks; KVEIL_MODELS or your data folder."),
]
Names = Annotated[
    list[str] | None, typer.Argument(help="Networks as `list` names them; all where none is named.")
]


class Arithmetic(StrEnum):
    """Precisions by the words of the command line."""

    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"


@models_app.command("list")
def list_models(
    models: Folder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, for scripts.")] = False,
) -> None:
    """List the networks that are there, with their hashes."""
    found = list(catalogue(models))
    if as_json:
        typer.echo(json.dumps([_described(listed) for listed in found], indent=1))
        return
    for listed in found:
        typer.echo(f"{listed.name}  {listed.kind}, {listed.origin}, licence: {listed.licence}")
        for name, sha256 in sorted(listed.pack.sha256.items()):
            typer.echo(f"  {sha256}  {name}")
        if listed.fault:
            typer.echo(f"  cannot be used: {listed.fault}")


@models_app.command("import")
def import_network(
    file: Annotated[
        Path,
        typer.Argument(
            help="Official StyleGAN2-ADA or StyleGAN3 pickle, rosinality checkpoint, or an ONNX "
            "face detector (CenterFace, YuNet, SCRFD)."
        ),
    ],
    name: Annotated[str | None, typer.Option(help="Its name; made from the file's name.")] = None,
    licence: Annotated[str | None, typer.Option(help="Its licence, in words.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace another network of that name.")] = False,
    models: Folder = None,
) -> None:
    """Import a generator or a detector; nothing in the file is executed."""
    from engines.models.model_trial import import_bounded

    with writing(str(models_folder(models).name)):
        try:
            done = import_bounded(
                file, name=name, licence=licence, folder=models, overwrite=overwrite
            )
        except FileExistsError as taken:
            raise OutputExists(
                f"another network is called {taken.filename}; choose --name, or --overwrite it"
            ) from None
    verb = "imported" if done.is_new else "already imported"
    typer.echo(f"{done.name}  {verb}, {done.source}, in {done.folder}")


@models_app.command("donors")
def donors(
    network: Annotated[
        str, typer.Argument(help="Imported StyleGAN2 or StyleGAN3 of portraits, as `list` says.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the donor pack.", metavar="PACK")],
    count: Annotated[int, typer.Option(min=FEWEST, max=MOST, help="Donors.")] = 100,
    mix: Annotated[
        int,
        typer.Option(
            min=1, max=MOST_MIXED, help="People in a mixture; more give more typical faces."
        ),
    ] = 2,
    psi: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Truncation; less gives more typical faces.")
    ] = 0.7,
    seed: Annotated[int, typer.Option(min=0, help="Another one gives other people.")] = 0,
    tries: Annotated[
        int | None,
        typer.Option(min=1, help="Portraits painted at most; 10 per donor by default."),
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="Where networks run.")
    ] = "auto",
    overwrite: Annotated[bool, typer.Option(help="Replace another pack of that name.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    models: Folder = None,
) -> None:
    """Mix people of an imported network into a donor pack for `--set models.donors=PACK`."""
    from engines.donors.casting import Wanted, cast_donors

    (listed,) = _chosen([network], models)
    _refuse_taken(out, overwrite=overwrite)
    wanted = Wanted(count, mix, psi, seed, tries or _TRIES * count)
    backend = _fastest(device, listed.pack)
    with writing(out.name), progress_for(quiet) as progress:
        progress.begin("donors", count)
        cast = cast_donors(listed, out, wanted, backend, progress.advance)
    typer.echo(f"{out}  {count} donors; {cast.told()}")
    for name, values in cast.bins().items():
        found = Counter(values.tolist()).most_common()
        typer.echo(f"  {name}: {', '.join(f'{value} {number}' for value, number in found)}")
    typer.echo(f"look at {out / SHEET}: not every pair of glasses, fringe or shadow is told")


def _refuse_taken(out: Path, *, overwrite: bool) -> None:
    """Refuses a name that something has, unless it is a donor pack that may be replaced.

    Raises:
        OutputExists: it has.
    """
    if not out.exists() and not out.is_symlink():
        return
    if not is_donor_pack(out):
        raise OutputExists(f"{out.name} is there and no donor pack; choose another --out")
    if not overwrite:
        raise OutputExists(f"{out.name} is there already; choose another --out, or --overwrite it")


def _fastest(device: Device, network: Pack) -> Backend:
    """The fastest runtime on which the networks give what they give on the processor."""
    from engines.backends.choice import choose_backend
    from engines.models.gpu_gate import gpu_fault

    packs = [read_pack(bundled_pack()), read_pack(bundled_pack() / "embedder"), network]
    gate = partial(gpu_fault, detector=centerface_path(), packs=packs)
    return choose_backend(device=device, gate=gate).backend


@models_app.command("verify")
def verify(names: Names = None, models: Folder = None) -> None:
    """Check hashes, graphs, answers, both runtimes against each other, and bf16 against fp32."""
    from engines.models.verifying import verified

    verdicts = [verdict for listed in _chosen(names, models) for verdict in verified(listed)]
    typer.echo(_verdict_table(verdicts))
    faults = [verdict for verdict in verdicts if verdict.fault]
    if faults:
        first = faults[0]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise ModelRejected(f"{first.model} {first.file}: {first.fault}{more}")


@models_app.command("build")
def build(
    names: Names = None,
    backend: Annotated[TensorrtName, typer.Option(help="Which TensorRT.")] = "auto",
    precision: Annotated[
        list[Arithmetic] | None, typer.Option(help="Arithmetic; may be repeated.")
    ] = None,
    capability: Annotated[
        list[str] | None,
        typer.Option(help="Compute capability such as 8.6, or all; this machine's GPU by default."),
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder of engines.")] = None,
    models: Folder = None,
) -> None:
    """Build TensorRT engines ahead of the first run; a machine without a GPU can do it too."""
    from engines.backends.tensorrt import engine_cache
    from engines.models.building import built

    wanted: list[Precision] = [choice.value for choice in precision or [Arithmetic.fp32]]
    targets = _capabilities(capability or [], backend)
    folder = cache or engine_cache()
    with writing(str(folder.name)):
        rows = [
            row
            for listed in _chosen(names, models)
            for row in built(listed, targets, wanted, folder, backend)
        ]
    typer.echo(_build_table(rows))
    typer.echo(f"engines in {folder}")
    faults = [row for row in rows if row.fault]
    if faults:
        first = faults[0]
        raise ModelRejected(
            f"{len(faults)} of {len(rows)} engines were not built; {first.file} for "
            f"{first.capability} {first.precision}: {first.fault}"
        )


def _chosen(names: list[str] | None, models: Path | None) -> list[Listed]:
    found = list(catalogue(models))
    known = {listed.name for listed in found}
    for name in names or []:
        if name not in known:
            raise ModelMissing(f"there is no network {name}; known are {', '.join(sorted(known))}")
    return [listed for listed in found if not names or listed.name in names]


def _capabilities(wanted: list[str], backend: TensorrtName) -> list[str]:
    from engines.backends.cuda_memory import current_capability
    from engines.backends.tensorrt_build import capabilities

    known = capabilities(backend)
    if "all" in wanted:
        return known or ["current"]
    unknown = [name for name in wanted if known and name not in known]
    if unknown:
        raise UsageRefused(f"no compute capability {unknown[0]}; known are {', '.join(known)}")
    if wanted or not known:
        return wanted or ["current"]
    try:
        return [current_capability()]
    except BackendMissing:
        raise BackendMissing(
            f"this machine has no GPU; say --capability {known[0]} (of {', '.join(known)}) or all"
        ) from None


def _described(listed: Listed) -> dict[str, object]:
    return {
        "name": listed.name,
        "kind": listed.kind,
        "origin": listed.origin,
        "licence": listed.licence,
        "folder": str(listed.pack.folder),
        "files": listed.pack.sha256,
        "fault": listed.fault,
    }


def _verdict_table(verdicts: list[Verdict]) -> str:
    head = ("model", "file", "runtimes", "bf16 error", "bf16 cosine", "bf16", "s", "verdict")
    rows = [
        (
            v.model,
            v.file,
            _figure(v.runtimes, "{:.1e}"),
            _figure(v.error, "{:.4f}"),
            _figure(v.cosine, "{:.4f}"),
            v.bf16 or "-",
            f"{v.seconds:.1f}",
            "refused" if v.fault else "sound",
        )
        for v in verdicts
    ]
    return _table(head, rows)


def _build_table(rows: list[Built]) -> str:
    head = ("model", "file", "capability", "precision", "MB", "s", "state")
    lines = [
        (
            row.model,
            row.file,
            row.capability,
            row.precision,
            f"{row.nbytes / 1e6:.1f}",
            f"{row.seconds:.1f}",
            "failed" if row.fault else ("built" if row.seconds else "was there"),
        )
        for row in rows
    ]
    return _table(head, lines)


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Markdown, columns aligned."""
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    rule = tuple("-" * width for width in widths)
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in [head, rule, *rows]
    )
