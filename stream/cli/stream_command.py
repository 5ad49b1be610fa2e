"""`kveil stream`: one live stream from a source to an output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from config.presets import Preset
from stream.cli.pairs import settings_from_command

__all__ = ["stream"]


def stream(
    source: Annotated[str, typer.Argument(help="rtsp, rtmp, srt, http URL, file, /dev/videoN.")],
    target: Annotated[
        str, typer.Argument(help="rtsp, rtmp, srt URL, a name in .m3u8, or a folder.")
    ],
    method: Annotated[str | None, typer.Option(help="swap, or the name of a cover.")] = None,
    preset: Annotated[
        Preset, typer.Option(help="Starting point for a kind of camera.")
    ] = "default",
    config: Annotated[Path | None, typer.Option(help="YAML file of settings.")] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key of `kveil config keys`."),
    ] = None,
    lookahead: Annotated[
        int | None, typer.Option(help="Frames of look-ahead; each adds its duration of delay.")
    ] = None,
    transport: Annotated[
        Literal["tcp", "udp"], typer.Option(help="How RTSP video is read.")
    ] = "tcp",
    fps: Annotated[int, typer.Option(min=1, max=120, help="Nominal rate of the output.")] = 25,
    bitrate: Annotated[int, typer.Option(min=100, help="Ceiling of the output, kbit/s.")] = 4000,
    codec: Annotated[
        Literal["h264", "hevc"], typer.Option(help="Coding of the output; RTMP stays H.264.")
    ] = "h264",
    audio: Annotated[
        Literal["pass", "drop"], typer.Option(help="Sound; a voice identifies a person too.")
    ] = "drop",
    repeat: Annotated[bool, typer.Option("--repeat", help="Start a file over at its end.")] = False,
    label: Annotated[
        bool, typer.Option("--label/--no-label", help="Draw the visible mark.")
    ] = True,
    seconds: Annotated[float | None, typer.Option(help="End after this time.")] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing until the end.")
    ] = False,
) -> None:
    """Anonymize one live stream."""
    from config.service import Live, Recording, ServiceSettings, Sources, StreamSpec
    from stream.cli.live_engines import running_stream
    from stream.cli.terminal import say as say_line
    from stream.errors import UsageRefused

    if not source:  # a service waits for a publisher then, and nobody can publish here
        raise UsageRefused("the source is empty; name a URL, a file or /dev/videoN")

    flags: dict[str, object] = {"method": method, "tracking.lookahead_live_frames": lookahead}
    settings = ServiceSettings(
        anonymize=settings_from_command(preset, config, flags, pairs or []),
        sources=Sources(rtsp_transport=transport),
        live=Live(fps=fps, bitrate_kbps=bitrate, codec=codec),
        recording=Recording(folder="" if "://" in target or ".m3u8" in target else target),
    )
    is_recording = bool(settings.recording.folder)
    spec = StreamSpec(
        name="stream",
        source=source,
        sinks=() if is_recording else (target,),
        record=is_recording,
        audio=audio,
        repeat=repeat,
        label=label,
    )

    def say(line: str) -> None:
        if not quiet:
            say_line(line)

    running_stream(settings, spec, seconds, say)
