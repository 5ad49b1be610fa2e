"""Sound stays with its pictures, and nothing that it says beside itself leaves with it."""

from __future__ import annotations

import base64
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.audio.codeccontext import AudioCodecContext
from av.audio.layout import AudioLayout
from av.audio.stream import AudioStream
from av.packet import Packet
from av.stream import Stream

from stream.media import audio
from stream.media.containers import can_copy, container_of
from stream.media.metadata import is_bare_sound
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.sound_passage import Transcoded
from tests.clips import Clip, click_time_s, made_clip
from tests.stream.media.test_round_trip import passed_through

pytestmark = pytest.mark.unit

RATE = 48_000
SECRETS = ("ARTIST=Anna Muster", "LOCATION=+48.137+011.575/")
FACE = base64.b64encode(b"\0" * 30 + b"JPEGFACE" * 20).decode()


def coded(codec: str, layout: str, seconds: float, rate: int = RATE) -> list[Packet[Stream]]:
    """Packets of a tone at half of full scale."""
    context = av.CodecContext.create(codec, "w")
    assert isinstance(context, AudioCodecContext)
    context.sample_rate, context.layout = rate, layout
    context.format = (context.codec.audio_formats or (context.format,))[0]
    channels = AudioLayout(layout).nb_channels
    if codec.startswith("pcm"):
        return raw(context, channels, seconds)
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(round(seconds * rate)) / rate)
    packets: list[Packet[Stream]] = []
    resampler = av.AudioResampler(context.format.name, layout, rate)
    for offset in range(0, len(tone), 1024):
        part = np.repeat(tone[None, offset : offset + 1024].astype(np.float32), channels, 0)
        frame = av.AudioFrame.from_ndarray(part, "fltp", layout)
        frame.sample_rate, frame.pts, frame.time_base = rate, offset, Fraction(1, rate)
        for piece in resampler.resample(frame):
            packets += context.encode(piece)
    packets += context.encode(None)
    return packets


def raw(context: AudioCodecContext, channels: int, seconds: float) -> list[Packet[Stream]]:
    """The same tone in 16 bits, which needs no resampler and so takes channels of any name."""
    rate = context.sample_rate
    tone = 16384 * np.sin(2 * np.pi * 440 * np.arange(round(seconds * rate)) / rate)
    samples = np.repeat(tone.astype(np.int16), channels)[None]
    packets: list[Packet[Stream]] = []
    for offset in range(0, len(tone), 1024):
        part = np.ascontiguousarray(samples[:, offset * channels : (offset + 1024) * channels])
        frame = av.AudioFrame.from_ndarray(part, "s16", context.layout)
        frame.sample_rate, frame.pts, frame.time_base = rate, offset, Fraction(1, rate)
        packets += context.encode(frame)
    return packets + list(context.encode(None))


def recording(
    path: Path,
    codec: str,
    parts: list[list[Packet[Stream]]],
    layout: str = "stereo",
    rate: int = RATE,
) -> Path:
    """A clip whose sound is made of parts, each of one form, that follow each other."""
    ending = ".avi" if path.suffix == ".avi" else ".mp4"
    clip_of_pictures = Clip(frames=50, options={"bf": "0"}, time_base=Fraction(1, 25))
    plain = made_clip(path.with_name(f"plain{ending}"), clip_of_pictures)
    with av.open(str(plain)) as clip, av.open(str(path), "w") as output:
        video = output.add_stream_from_template(clip.streams.video[0])
        sound = output.add_stream(codec, rate)
        assert isinstance(sound, AudioStream)
        sound.codec_context.layout = layout
        packets: list[tuple[Packet[Stream], Stream]] = []
        packets += [(packet, video) for packet in clip.demux(clip.streams[0]) if packet.size]
        for number, part in enumerate(parts):
            for packet in part:
                assert packet.pts is not None
                packet.pts = packet.dts = round((packet.pts * packet.time_base + number) * 90_000)
                packet.time_base = Fraction(1, 90_000)
                packets.append((packet, sound))
        output.start_encoding()
        for packet, track in sorted(packets, key=lambda pair: _time_s(pair[0])):
            packet.stream = track
            output.mux(packet)
    return path


def _time_s(packet: Packet[Stream]) -> Fraction:
    assert packet.dts is not None
    return packet.dts * packet.time_base


def sound_of(path: Path) -> tuple[str, str]:
    """Coding and layout of the first track of sound, empty where there is none."""
    with av.open(str(path)) as container:
        if not container.streams.audio:
            return "", ""
        context = container.streams.audio[0].codec_context
        return context.codec.canonical_name, context.layout.name


def loudness(path: Path) -> dict[int, float]:
    """Largest sample of each second, as part of full scale."""
    found: dict[int, float] = {}
    with av.open(str(path)) as container:
        for frame in container.decode(audio=0):
            if frame.pts is None or frame.time_base is None:
                continue
            wave = np.abs(np.asarray(frame.to_ndarray(), np.float64))
            peak = float(wave.max()) / (1.0 if frame.format.name.startswith("flt") else 32768.0)
            second = int(frame.pts * frame.time_base)
            found[second] = max(found.get(second, 0.0), peak)
    return found


def laced(headers: list[bytes]) -> bytes:
    """The three headers of Vorbis as Matroska stores them."""
    sizes = b"".join(
        b"\xff" * (len(header) // 255) + bytes([len(header) % 255]) for header in headers[:-1]
    )
    return bytes([len(headers) - 1]) + sizes + b"".join(headers)


def unlaced(setup: bytes) -> list[bytes]:
    """The three headers of Vorbis as the encoder hands them out."""
    sizes, place = [], 1
    for _ in range(setup[0]):
        size = 0
        while setup[place] == 255:
            size, place = size + 255, place + 1
        sizes.append(size + setup[place])
        place += 1
    first, second = place + sizes[0], place + sizes[0] + sizes[1]
    return [setup[place:first], setup[first:second], setup[second:]]


def comments(*texts: str) -> bytes:
    """A comment header of Vorbis."""
    fields = [b"Xiph", *(text.encode() for text in texts)]
    sized = [len(field).to_bytes(4, "little") + field for field in fields]
    return b"\x03vorbis" + sized[0] + len(texts).to_bytes(4, "little") + b"".join(sized[1:]) + b"\1"


@pytest.fixture(scope="module")
def vorbis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording whose Vorbis headers tell who and where, and show a picture."""
    path = tmp_path_factory.mktemp("vorbis") / "a.mkv"
    with av.open(str(path), "w") as output:
        video = output.add_stream("libx264", rate=25)
        video.width, video.height, video.pix_fmt = 96, 64, "yuv420p"
        sound = output.add_stream("vorbis", RATE, options={"strict": "-2"})
        assert isinstance(sound, AudioStream)
        sound.codec_context.layout = "stereo"
        sound.codec_context.open()
        headers = unlaced(sound.codec_context.extradata or b"")
        headers[1] = comments(*SECRETS, f"METADATA_BLOCK_PICTURE={FACE}")
        sound.codec_context.extradata = laced(headers)
        for number in range(40):
            part = np.full((2, 64), 0.1 * (number % 3), np.float32)
            frame = av.AudioFrame.from_ndarray(part, "fltp", "stereo")
            frame.sample_rate, frame.pts = RATE, 64 * number
            output.mux(sound.encode(frame))
        output.mux(sound.encode(None))
        for number in range(5):
            picture = av.VideoFrame(96, 64, "yuv420p")
            picture.pts, picture.time_base = number, Fraction(1, 25)
            output.mux(video.encode(picture))
        output.mux(video.encode(None))
    return path


def secrets_in(path: Path) -> list[str]:
    content = path.read_bytes()
    return [text for text in (*SECRETS, FACE) if text.encode() in content]


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("ending", ["mkv", "webm", "mp4"])
def test_texts_and_pictures_in_the_setup_of_sound_are_left_behind(
    ending: str, is_kept: bool, vorbis: Path, tmp_path: Path
) -> None:
    target = tmp_path / f"out.{ending}"
    passed_through(vorbis, target, EncodeSettings(keep_metadata=is_kept))
    assert len(secrets_in(vorbis)) == 3
    assert FACE not in secrets_in(target)
    assert is_kept or not secrets_in(target)
    assert sound_of(target)[0] in ("aac", "opus")


def test_planted_copy_of_every_setup_is_caught(
    vorbis: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audio, "is_bare_sound", lambda track: True)
    passed_through(vorbis, tmp_path / "out.mkv")
    assert len(secrets_in(tmp_path / "out.mkv")) == 3


@pytest.mark.parametrize(
    ("codec", "ending"),
    [("aac", "mp4"), ("libopus", "mkv"), ("flac", "mkv"), ("alac", "mov"), ("ac3", "mkv")],
)
def test_setup_of_numbers_alone_is_copied(codec: str, ending: str, tmp_path: Path) -> None:
    clip = made_clip(tmp_path / f"a.{ending}", Clip(frames=10, sound=codec, click_s=0.1))
    _, sink = passed_through(clip, tmp_path / f"out.{ending}")
    assert any("copied" in note for note in sink.notes)


def test_text_behind_an_opus_header_is_not_copied(tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mkv", Clip(frames=10, sound="libopus", click_s=0.1))
    with av.open(str(clip)) as source:
        track = source.streams.audio[0]
        assert is_bare_sound(track)
        track.codec_context.extradata = (track.codec_context.extradata or b"") + b"OpusTagsAnna"
        assert not is_bare_sound(track)


def test_packet_that_holds_text_is_dropped_and_told(tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mkv", Clip(frames=10, sound="libmp3lame", click_s=0.1))
    with av.open(str(clip)) as source:
        third = [bytes(packet) for packet in source.demux(audio=0) if packet.size][2]
    tagged = b"ID3\x04Anna Muster".ljust(len(third), b"\0")
    clip.write_bytes(clip.read_bytes().replace(third, tagged))
    _, sink = passed_through(clip, tmp_path / "out.mkv")
    assert b"Anna" not in (tmp_path / "out.mkv").read_bytes()
    assert any("text" in note for note in sink.notes)


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv", "webm", "avi", "ts", "3gp", "flv"])
@pytest.mark.parametrize("source", ["avi", "mkv"])
def test_channels_without_names_pass_as_the_usual_ones(
    source: str, ending: str, tmp_path: Path
) -> None:
    clip = recording(tmp_path / f"a.{source}", "pcm_s16le", [coded("pcm_s16le", "stereo", 1.0)])
    assert sound_of(clip) == ("pcm_s16le", "2 channels")
    passed_through(clip, tmp_path / f"out.{ending}")
    codec, layout = sound_of(tmp_path / f"out.{ending}")
    assert layout == ("2 channels" if codec == "pcm_s16le" else "stereo")
    assert loudness(tmp_path / f"out.{ending}")[0] == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize(
    ("codec", "layout", "ending", "result"),
    [
        ("ac3", "5.1(side)", "webm", ("opus", "5.1")),
        ("ac3", "5.1(side)", "avi", ("mp3", "stereo")),
        ("flac", "4.0", "webm", ("opus", "stereo")),
        ("pcm_s16le", "mono", "flv", ("aac", "mono")),
    ],
)
def test_layout_that_the_encoder_lacks_becomes_the_nearest(
    codec: str, layout: str, ending: str, result: tuple[str, str], tmp_path: Path
) -> None:
    clip = recording(tmp_path / "a.mkv", codec, [coded(codec, layout, 1.0)], layout)
    passed_through(clip, tmp_path / f"out.{ending}")
    assert sound_of(tmp_path / f"out.{ending}") == result
    assert loudness(tmp_path / f"out.{ending}")[0] < 0.8


def test_channels_without_names_and_without_a_usual_layout_are_dropped_and_told(
    tmp_path: Path,
) -> None:
    clip = recording(
        tmp_path / "a.mkv", "pcm_s16le", [coded("pcm_s16le", "9 channels", 0.5)], "9 channels"
    )
    _, sink = passed_through(clip, tmp_path / "out.mp4")
    assert sound_of(tmp_path / "out.mp4") == ("", "")
    assert sink.notes == ("sound dropped: aac cannot code 9 channels",)


@pytest.mark.parametrize("rate", [8_000, 44_100, 96_000])
def test_raw_sound_of_any_rate_goes_into_flv(rate: int, tmp_path: Path) -> None:
    parts = [coded("pcm_s16le", "mono", 0.5, rate)]
    clip = recording(tmp_path / "a.mkv", "pcm_s16le", parts, "mono", rate)
    passed_through(clip, tmp_path / "out.flv")
    assert sound_of(tmp_path / "out.flv") == ("aac", "mono")


def test_sound_that_no_encoder_takes_is_dropped_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = made_clip(tmp_path / "a.mp4", Clip(frames=5, sound="aac", click_s=0.1))
    monkeypatch.setattr(audio, "_takes", lambda *asked: False)
    _, sink = passed_through(clip, tmp_path / "out.webm")
    assert sound_of(tmp_path / "out.webm") == ("", "")
    assert "sound dropped: libopus cannot code 1 channels" in sink.notes


@pytest.mark.parametrize("ending", ["webm", "avi", "flv"])
@pytest.mark.parametrize(
    ("first", "layout", "rate"),
    [("stereo", "mono", RATE), ("mono", "stereo", RATE), ("stereo", "stereo", 44_100)],
)
def test_sound_goes_on_as_loud_when_its_form_changes(
    first: str, layout: str, rate: int, ending: str, tmp_path: Path
) -> None:
    parts = [coded("mp2", first, 1.0), coded("mp2", layout, 1.0, rate)]
    clip = recording(tmp_path / "a.ts", "mp2", parts, first)
    assert min(loudness(clip).values()) > 0.3
    _, sink = passed_through(clip, tmp_path / f"out.{ending}")
    heard = loudness(tmp_path / f"out.{ending}")
    assert heard[0] > 0.3
    assert 0.3 < heard[1] < 0.65
    assert not any("could not be" in note for note in sink.notes)


def test_sound_that_cannot_be_decoded_is_counted(tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mkv", Clip(frames=20, sound="flac", click_s=0.1))
    with av.open(str(clip)) as source:
        third = [bytes(packet) for packet in source.demux(audio=0) if packet.size][2]
    clip.write_bytes(clip.read_bytes().replace(third, b"\x55" * len(third)))
    _, sink = passed_through(clip, tmp_path / "out.webm")
    assert "1 stretches of sound could not be transcoded" in sink.notes


def paused(path: Path, pause_s: tuple[float, float]) -> Path:
    """A clip with a click at 1.5 s, and a stretch before without any sound."""
    clip = Clip(frames=50, sound="aac", click_s=1.5, options={"bf": "0"})
    whole = made_clip(path.with_name("whole.mp4"), clip)
    with av.open(str(whole)) as source, av.open(str(path), "w") as output:
        tracks = [output.add_stream_from_template(track) for track in source.streams]
        for packet in source.demux():
            is_sound = packet.stream.type == "audio"
            if packet.size and not (is_sound and pause_s[0] <= _time_s(packet) < pause_s[1]):
                packet.stream = tracks[packet.stream.index]
                output.mux(packet)
    return path


@pytest.mark.parametrize("pause_s", [(-1.0, 0.7), (0.4, 1.0)])
@pytest.mark.parametrize("ending", ["avi", "flv", "ts"])
def test_late_start_and_gap_of_sound_keep_what_follows_in_its_place(
    ending: str, pause_s: tuple[float, float], tmp_path: Path
) -> None:
    clip = paused(tmp_path / "a.mp4", pause_s)
    passed_through(clip, tmp_path / f"out.{ending}")
    assert click_time_s(tmp_path / f"out.{ending}") == pytest.approx(1.5, abs=0.03)


def test_samples_before_the_start_or_over_others_delay_nothing(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "a.avi"), "w") as output:
        track = output.add_stream("libmp3lame", RATE)
        assert isinstance(track, AudioStream)
        track.codec_context.layout = "mono"
        transcode = Transcoded(track, is_timed=False)
        for start in (-9000, 0, 4800, 2000, -500, 9600 + 30):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 4800), np.int32), "s32p", "mono")
            frame.sample_rate, frame.pts, frame.time_base = RATE, start, Fraction(1, RATE)
            output.mux(list(transcode._placed(frame)))
        assert transcode._end == 3 * 4800
        output.mux(list(transcode.rest()))


def test_sound_far_behind_the_rest_is_dropped_and_counted(tmp_path: Path) -> None:
    clip = paused(tmp_path / "a.mp4", (0.4, 1.0))
    with av.open(str(clip)) as source, av.open(str(tmp_path / "far.mkv"), "w") as output:
        tracks = [output.add_stream_from_template(track) for track in source.streams]
        for packet in source.demux():
            if not packet.size:
                continue
            if packet.stream.type == "audio" and _time_s(packet) > 1:
                assert packet.pts is not None
                packet.pts = packet.dts = packet.pts + 10_000 * RATE
            packet.stream = tracks[packet.stream.index]
            output.mux(packet)
    _, sink = passed_through(tmp_path / "far.mkv", tmp_path / "out.avi")
    assert (tmp_path / "out.avi").stat().st_size < 1 << 20
    assert any("could not be transcoded" in note for note in sink.notes)


def test_sound_of_avi_is_copied_into_avi(tmp_path: Path) -> None:
    clip = Clip(frames=20, sound="libmp3lame", click_s=0.3, time_base=Fraction(1, 25))
    source = made_clip(tmp_path / "a.avi", clip)
    _, sink = passed_through(source, tmp_path / "out.avi")
    assert "audio copied (mp3)" in sink.notes


@pytest.mark.parametrize("ending", ["flv", "avi"])
def test_coding_that_players_do_not_find_is_not_copied(ending: str, tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mkv", Clip(frames=5, sound="flac", click_s=0.1))
    with av.open(str(clip)) as source:
        assert not can_copy(source.streams.audio[0], container_of(Path(f"a.{ending}")))


def test_lines_of_text_that_start_together_all_pass_on_request(tmp_path: Path) -> None:
    plain = made_clip(tmp_path / "plain.mp4", Clip(frames=30, options={"bf": "0"}))
    lines = [(0, b"hello"), (0, b"world"), (500, b"three"), (500, b"four")]
    with av.open(str(plain)) as clip, av.open(str(tmp_path / "a.mkv"), "w") as output:
        video = output.add_stream_from_template(clip.streams.video[0])
        titles = output.add_mux_stream("subrip", time_base=Fraction(1, 1000))
        packets: list[tuple[Packet[Stream], Stream]] = []
        packets += [(packet, video) for packet in clip.demux(clip.streams[0]) if packet.size]
        for start, text in lines:
            line: Packet[Stream] = av.Packet(text)
            line.pts = line.dts = start
            line.time_base, line.duration = Fraction(1, 1000), 400
            packets.append((line, titles))
        for packet, track in sorted(packets, key=lambda pair: _time_s(pair[0])):
            packet.stream = track
            output.mux(packet)
    passed_through(tmp_path / "a.mkv", tmp_path / "out.mkv", EncodeSettings(keep_metadata=True))
    with av.open(str(tmp_path / "out.mkv")) as container:
        passed = [bytes(packet) for packet in container.demux(subtitles=0) if packet.size]
    assert passed == [text for _, text in lines]
