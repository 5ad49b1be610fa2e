"""What a user may choose, in sections, each key with its range and its trade-off.

A value is taken from the first of: command-line flag, environment variable
(`KVEIL_SECTION__KEY`), configuration file (YAML), preset, default here.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

__all__ = [
    "Cover",
    "Detection",
    "Device",
    "Gallery",
    "Limits",
    "Models",
    "Output",
    "Privacy",
    "Settings",
    "Source",
    "Tracking",
]

Device = Literal["auto", "cpu", "cuda"]
Fraction01 = Annotated[float, Field(ge=0.0, le=1.0)]
Seconds = Annotated[float, Field(ge=0.0, le=60.0)]


class Section(BaseModel):
    """One group of settings; unknown keys are refused, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Source(Section):
    """What of an input is read, and how."""

    rotation: Literal[0, 90, 180, 270] = 0
    """Degrees by which pictures must be turned clockwise to stand upright, on top of what a
    recording says of itself: for cameras that hang turned. Heads that stand upright are found
    more surely. Recordings are tagged so, or turned where their kind has no such tag; single
    pictures and what comes over the network leave upright."""

    video_track: Annotated[int, Field(ge=1, le=99)] | Literal["default", "all"] = "default"
    """Number of the video track, from 1, without cover pictures; `default` is the one that players
    take, of several the largest; the others are left out, and that is told. `all` anonymizes
    each by itself, into one output."""


class Detection(Section):
    """How faces are found."""

    model: str = "centerface"
    """`centerface`, or the path of a YuNet or SCRFD network (5 landmarks) in ONNX."""
    backend: Literal["auto", "openvino", "onnxruntime", "tensorrt"] = "auto"
    """Runtime of the networks; auto takes the fastest that passes its gate."""
    precision: Literal["auto", "int8", "fp32", "bf16", "fp16"] = "auto"
    """Arithmetic of the detector; auto takes int8, else bf16, where it is faster on this processor
    and its gate passes."""
    coarse_px: Annotated[int, Field(ge=128, le=4096)] = 768
    """Long side at which most frames are searched; larger finds smaller faces, slower."""
    full_px: Annotated[int, Field(ge=128, le=8192)] = 1920
    """Long side of the thorough search, in tiles where the frame is larger."""
    full_every_s: Seconds = 0.5
    """Longest time between two thorough searches; smaller finds small faces earlier."""
    schedule: Literal["every", "adaptive"] = "adaptive"
    """`every` searches each frame; `adaptive` leaves out what the tracker can carry: live
    single frames of calm scenes; in files up to 0.135 s between frames that agree."""
    high_score: Fraction01 = 0.5
    """Score from which a face begins a track worth a surrogate; higher covers more, swaps less."""
    low_score: Fraction01 = 0.2
    """Score from which a face is covered at all; lower misses fewer, covers more by mistake."""


class Tracking(Section):
    """How faces are followed, and how far a cover reaches in time."""

    lookahead_s: Seconds = 1.0
    """How far files look ahead, so that a late detection covers earlier frames."""
    lookahead_live_frames: Annotated[int, Field(ge=0, le=120)] = 5
    """The same for live streams, in frames: each one adds its duration to the latency."""
    preroll_s: Annotated[float, Field(ge=0.0, le=10.0)] = 0.2
    """How long before its first detection a face is covered; at most the look-ahead. Small faces
    are covered back to the thorough search that did not find them."""
    hold_s: Annotated[float, Field(ge=0.0, le=10.0)] = 0.2
    """How long after its last detection a face stays covered; live at least 0.5 s."""


class Cover(Section):
    """What lies over a face that gets no surrogate."""

    margin: Annotated[float, Field(ge=1.0, le=3.0)] = 1.2
    """Size of the cover relative to the detected box; larger hides more hair and chin."""
    look: Literal["muted", "solid"] = "muted"
    """What lies over faces that the swap cannot replace: a head out of focus in the scene's colours
    without any feature, or a colour that no scene has, which is told at a glance."""


class Privacy(Section):
    """What is promised about identity."""

    k: Annotated[int, Field(ge=2, le=50)] = 5
    """Least number of people that share a cluster."""
    below_k: Literal["swap", "cover"] = "swap"
    """While fewer than k real people are known: a donor surrogate, counted, or a cover."""
    scope: Literal["track", "session", "camera", "forever"] = "session"
    """How long a person keeps a surrogate; wider is more useful and more linkable."""
    foreground: Literal["drawn", "hidden"] = "drawn"
    """Leaves hands and things before a face in front of the synthetic one, or paints over them.
    Left, a part of a face that was taken for a hand would show, though never eyes and brows."""
    strict: bool = False
    """Ends with status 6 when a promise could not be kept, instead of reporting it."""
    label: bool = True
    """Marks what goes out as synthetic (EU AI Act, Art. 50): files in their metadata, live streams
    visibly as well. A badge drawn into a recording would stay there; who publishes it says so."""


class Gallery(Section):
    """Who is remembered, where, and for how long."""

    redis_url: SecretStr = SecretStr("")
    """`redis://[user:password@]host:6379/0`, `rediss://…` or `unix:///path?db=0`: people and
    clusters are shared with all runs on that Redis, sealed by keys. Empty: this run alone."""
    namespace: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] = "default"
    """Galleries of different names on one Redis do not see each other."""
    key_file: str = ""
    """File of the keys that seal what Redis holds, made by `kveil gallery new-key`; empty takes
    them from the environment variable KVEIL_GALLERY_KEYS."""
    session: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,64}$")] = ""
    """Runs that share a Redis and this name count as one session for `privacy.scope`; empty
    makes each run a session of its own, less linkable."""
    ledger: str = ""
    """Folder in which releases are recorded, without biometrics, for `kveil gallery check`;
    empty keeps the record in memory and in the report alone."""
    window_h: Annotated[float, Field(gt=0.0, le=8784.0)] = 24.0
    """Hours after which everybody is forgotten at once; longer recognises people for longer.
    With the scope `forever`, 30 days after the last newcomer instead."""
    attributes: Literal["matched", "coarse", "none"] = "matched"
    """Age band and gender presentation in the surrogate. `matched`: those that the untouched head
    shows, and people of one cluster have the same; `coarse`: only what at least k people of the
    window share; `none`: nothing, so that a surrogate may not suit the head."""
    timeout_s: Annotated[float, Field(gt=0.0, le=10.0)] = 0.25
    """Longest wait for Redis; new faces are covered when it is exceeded. Longer waits delay
    the picture."""


class Models(Section):
    """What the swap takes instead of what comes with kveil."""

    donors: str = ""
    """Folder of a donor pack of `kveil models donors`; empty takes the donors that come along."""


class Output(Section):
    """How the result is written."""

    encoder: str = "auto"
    """`auto`: hardware where it passes its test, else software; or a name such as `libx264`.
    Live streams too, which use software where the one that is named does not work."""
    codec: Literal["same", "h264", "hevc", "av1", "vp9", "vp8", "mjpeg"] = "same"
    """`same` keeps the coding of the input where the file can hold it. H.264 is the fastest:
    software HEVC and AV1 take several times as long."""
    quality: Annotated[int, Field(ge=0, le=63)] | None = None
    """Constant rate factor of the encoder; smaller is better and larger in size."""
    speed: str = "auto"
    """Preset of the encoder, such as `slow` or, for AV1 and VP9, `6`; `auto` is a quick one."""
    audio: Literal["copy", "drop"] = "copy"
    """Keep the sound (transcoded only where the container cannot hold it) or leave it out."""
    keep_metadata: bool = False
    """Keep titles, chapters, GPS and dates; they can identify people and places."""


class Limits(Section):
    """Bounds on memory, size and time."""

    lookahead_mb: Annotated[int, Field(ge=16, le=65536)] = 512
    """Most memory for frames waiting in the look-ahead."""
    max_pixels: Annotated[int, Field(ge=1)] = 16384 * 16384
    """Largest frame accepted, in pixels."""
    engine_deadline_s: Annotated[float, Field(gt=0.0, le=600.0)] = 20.0
    """Longest run of a network before it counts as hung and the frame is covered."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Cores to use; 0 takes all."""
    drawing_processes: Annotated[int, Field(ge=0, le=64)] = 0
    """Processes that draw synthetic faces, once there are several in view: 0 for half of the
    cores, as far as memory allows; 1 for none besides the process itself."""


class Settings(Section):
    """Everything that may be chosen."""

    method: str = "swap"
    """`swap` for synthetic faces, or the name of a cover: `solid`, `ellipse`, `mosaic`, …"""
    device: Device = "auto"
    """Where networks run; auto takes a GPU only if its engines pass their gate."""
    source: Source = Source()
    detection: Detection = Detection()
    tracking: Tracking = Tracking()
    cover: Cover = Cover()
    privacy: Privacy = Privacy()
    gallery: Gallery = Gallery()
    models: Models = Models()
    output: Output = Output()
    limits: Limits = Limits()
