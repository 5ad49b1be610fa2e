"""A real RTSP server for the tests: a camera that burns the time into its picture, and a
place to publish to and watch from. Runs under the system's Python, which has GStreamer:

    /usr/bin/python3 gst_server.py --port 8554 --fps 15 --size 1280x720 [--base FRAMES.i420]
        [--sound pcma|aac|opus] [--loop]

`/camera` plays; `/out` takes a publication (ANNOUNCE, RECORD) that `/watch` plays again. With
`--loop` the camera's pictures are encoded once, at the start, and sent over and over at the
times burnt into them, which then go round every ten seconds: a camera that costs nothing.
"""
# mypy: ignore-errors

from __future__ import annotations

import argparse
import math
import struct
import sys
import time
from pathlib import Path

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

BITS = 40
BAR_ROWS = 32
RATE = 48000
LOOP_MS = 10_000
SOUNDS = {
    "pcma": "audioresample ! alawenc ! rtppcmapay name=pay1 pt=8",
    "aac": "avenc_aac ! aacparse ! rtpmp4gpay name=pay1 pt=97",
    "opus": "opusenc ! rtpopuspay name=pay1 pt=97",
}


class Camera(GstRtspServer.RTSPMediaFactory):
    """Pushes raw pictures whose top rows hold the monotonic time in ms as black and white."""

    def __init__(self, options):
        super().__init__()
        self.options = options
        width, height = options.width, options.height
        encode = {
            "h264": "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=15 bitrate=3000 "
            "! rtph264pay config-interval=1 pt=96",
            "jpeg": "jpegenc quality=85 ! rtpjpegpay pt=26",
        }[options.codec]
        loss = f"! netsim drop-probability={options.drop} " if options.drop or options.late else ""
        if options.late:
            loss += f"delay-probability={options.late} min-delay=10 max-delay=60 "
        last = encode.rpartition("!")[2].strip()
        chain = encode[: len(encode) - len(last)]
        tail = f"{last} {loss} ! capsfilter name=pay0" if loss else f"{last} name=pay0"
        self.set_launch(
            "( appsrc name=src is-live=true format=time do-timestamp=true block=false "
            f"caps=video/x-raw,format=I420,width={width},height={height},"
            f"framerate={options.fps}/1 ! queue max-size-buffers=2 leaky=downstream ! "
            f"{chain} {tail} {self.sound()} )"
        )
        self.set_shared(True)
        self.set_latency(0)
        size = width * height * 3 // 2
        raw = Path(options.base).read_bytes() if options.base else bytes([90]) * size
        self.pictures = [raw[at : at + size] for at in range(0, len(raw) - size + 1, size)]
        self.count = 0
        self.connect("media-configure", self.configured)

    def sound(self):
        """A second branch whose tone is on while the picture's last rows are white.

        Both follow the clock, and the tone lasts from one picture to the next, however late a
        busy machine makes that one.
        """
        if not self.options.sound:
            return ""
        return (
            "appsrc name=tone is-live=true format=time do-timestamp=true block=false "
            f"caps=audio/x-raw,format=S16LE,layout=interleaved,rate={RATE},channels=1 "
            f"! queue ! audioconvert ! {SOUNDS[self.options.sound]}"
        )

    def configured(self, _factory, media):
        source = media.get_element().get_by_name("src")
        tone = media.get_element().get_by_name("tone")
        state = {"on": True, "pushed_s": time.monotonic()}
        media.connect("unprepared", lambda *_: state.update(on=False))
        GLib.timeout_add(1000 // self.options.fps, self.push, source, tone, state)

    def push(self, source, tone, state):
        if not state["on"]:
            return False
        picture = self.pictures[self.count % len(self.pictures)]
        width, height = self.options.width, self.options.height
        now_s = time.monotonic()
        is_loud = self.options.sound and int(now_s) % 2 == 0
        self.count += 1
        row = bar_row(int(now_s * 1000), width)
        burnt = row * BAR_ROWS + picture[width * BAR_ROWS :]
        if self.options.sound:
            bottom = width * (height - BAR_ROWS)
            flash = bytes([235 if is_loud else 16]) * (width * BAR_ROWS)
            burnt = burnt[:bottom] + flash + burnt[width * height :]
            samples = int(RATE * (now_s - state["pushed_s"]))
            tone.emit("push-buffer", Gst.Buffer.new_wrapped(tone_of(samples, is_loud)))
            state["pushed_s"] = now_s
        source.emit("push-buffer", Gst.Buffer.new_wrapped(burnt))
        return True


class LoopedCamera(GstRtspServer.RTSPMediaFactory):
    """Sends pictures encoded beforehand, each when the monotonic time modulo the loop is its own.

    It begins at the next key frame, of which there is one a second.
    """

    def __init__(self, options):
        super().__init__()
        self.caps = (
            "video/x-h264,stream-format=byte-stream,alignment=au,"
            f"width={options.width},height={options.height},framerate={options.fps}/1"
        )
        self.stamps_ms = [n * 1000 // options.fps for n in range(LOOP_MS // 1000 * options.fps)]
        self.encoded = encoded_loop(options, self.stamps_ms, self.caps)
        self.set_launch(
            f"( appsrc name=src is-live=true format=time do-timestamp=true caps={self.caps} "
            "! h264parse ! rtph264pay name=pay0 pt=96 config-interval=1 )"
        )
        self.set_shared(True)
        self.set_latency(0)
        self.connect("media-configure", self.configured)

    def configured(self, _factory, media):
        state = {"on": True}
        media.connect("unprepared", lambda *_: state.update(on=False))
        source = media.get_element().get_by_name("src")
        late_ms = [lateness_ms(stamp) for stamp in self.stamps_ms]
        keys = [place for place, (_, is_key) in enumerate(self.encoded) if is_key]
        self.wait_for(source, state, max(keys, key=late_ms.__getitem__))

    def wait_for(self, source, state, place):
        """Sleeps until the picture at `place` is due."""
        late_ms = lateness_ms(self.stamps_ms[place])
        wait_ms = 0 if late_ms < LOOP_MS / 2 else math.ceil(LOOP_MS - late_ms)
        GLib.timeout_add(wait_ms, self.push, source, state, place)

    def push(self, source, state, place):
        if state["on"]:
            source.emit("push-buffer", Gst.Buffer.new_wrapped(self.encoded[place][0]))
            self.wait_for(source, state, (place + 1) % len(self.encoded))
        return False


def lateness_ms(stamp_ms):
    """Time since a stamp was due, 0…LOOP_MS."""
    return (time.monotonic() * 1000 - stamp_ms) % LOOP_MS


def encoded_loop(options, stamps_ms, caps):
    """One loop of pictures as H.264, each with its stamp burnt in, and whether it is a key."""
    width, height = options.width, options.height
    size = width * height * 3 // 2
    raw = Path(options.base).read_bytes() if options.base else bytes([90]) * size
    pictures = [raw[at : at + size] for at in range(0, len(raw) - size + 1, size)]
    pipeline = Gst.parse_launch(
        f"appsrc name=src format=time caps=video/x-raw,format=I420,width={width},height={height},"
        f"framerate={options.fps}/1 ! x264enc tune=zerolatency speed-preset=superfast "
        f"key-int-max=15 bitrate=3000 ! h264parse config-interval=-1 ! {caps} "
        "! appsink name=sink sync=false"
    )
    source, sink = pipeline.get_by_name("src"), pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    encoded = []
    for place, stamp in enumerate(stamps_ms):
        picture = pictures[place % len(pictures)]
        burnt = bar_row(stamp, width) * BAR_ROWS + picture[width * BAR_ROWS :]
        buffer = Gst.Buffer.new_wrapped(burnt)
        buffer.pts = buffer.dts = place * Gst.SECOND // options.fps
        buffer.duration = Gst.SECOND // options.fps
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    while sample := sink.emit("pull-sample"):
        buffer = sample.get_buffer()
        is_key = not buffer.has_flags(Gst.BufferFlags.DELTA_UNIT)
        encoded.append((buffer.extract_dup(0, buffer.get_size()), is_key))
    pipeline.set_state(Gst.State.NULL)
    assert len(encoded) == len(stamps_ms)
    return encoded


def bar_row(number, width):
    cell = width // BITS
    row = b"".join((b"\xeb" if number >> bit & 1 else b"\x10") * cell for bit in range(BITS))
    return row + b"\x10" * (width - len(row))


def tone_of(samples, is_loud):
    """480 Hz, which fits whole periods into every tenth of a second."""
    period = [round(12000 * math.sin(2 * math.pi * place / 100)) for place in range(100)]
    wave = [period[place % 100] if is_loud else 0 for place in range(samples)]
    return struct.pack(f"<{samples}h", *wave)


class Desk:
    """Hands what is published to whoever watches."""

    def __init__(self, has_sound, codec):
        self.has_sound = has_sound
        self.listeners = []
        self.sound_caps = None
        heard = (
            " rtpmp4gdepay name=depay1 ! aacparse ! appsink name=heard emit-signals=true "
            "sync=false max-buffers=64 drop=true"
        )
        told = " appsrc name=told is-live=true format=time do-timestamp=true ! rtpmp4gpay name=pay1"
        self.watchers = []
        self.caps = f"video/x-{codec},stream-format=byte-stream,alignment=au"
        self.take = GstRtspServer.RTSPMediaFactory()
        self.take.set_transport_mode(GstRtspServer.RTSPTransportMode.RECORD)
        self.take.set_launch(
            f"( rtp{codec}depay name=depay0 ! {codec}parse config-interval=-1 "
            f"! {self.caps} ! appsink name=sink emit-signals=true sync=false max-buffers=8 "
            f"drop=true {heard if has_sound else ''} )"
        )
        self.take.connect("media-configure", self.taking)
        self.give = GstRtspServer.RTSPMediaFactory()
        self.give.set_launch(
            f"( appsrc name=src is-live=true format=time do-timestamp=true caps={self.caps} "
            f"! {codec}parse ! rtp{codec}pay name=pay0 pt=96 config-interval=1 "
            f"{told if has_sound else ''} )"
        )
        self.give.set_shared(True)
        self.give.connect("media-configure", self.giving)

    def taking(self, _factory, media):
        media.get_element().get_by_name("sink").connect("new-sample", self.passed)
        if self.has_sound:
            media.get_element().get_by_name("heard").connect("new-sample", self.passed_sound)

    def giving(self, _factory, media):
        source = media.get_element().get_by_name("src")
        self.watchers.append(source)
        media.connect("unprepared", lambda *_: self.watchers.remove(source))
        if self.has_sound:
            listener = media.get_element().get_by_name("told")
            listener.set_property("caps", self.sound_caps)
            self.listeners.append(listener)
            media.connect("unprepared", lambda *_: self.listeners.remove(listener))

    def passed_sound(self, sink):
        sample = sink.emit("pull-sample")
        self.sound_caps = sample.get_caps()
        data = sample.get_buffer().extract_dup(0, sample.get_buffer().get_size())
        for source in list(self.listeners):
            source.emit("push-buffer", Gst.Buffer.new_wrapped(data))
        return Gst.FlowReturn.OK

    def passed(self, sink):
        buffer = sink.emit("pull-sample").get_buffer()
        data = buffer.extract_dup(0, buffer.get_size())
        for source in list(self.watchers):
            source.emit("push-buffer", Gst.Buffer.new_wrapped(data))
        return Gst.FlowReturn.OK


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", default="8554")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--fps", type=int, default=15)
    parser.add_argument("--codec", default="h264")
    parser.add_argument("--takes", default="h264", help="coding of what is published: h264, h265")
    parser.add_argument("--drop", type=float, default=0.0)
    parser.add_argument("--late", type=float, default=0.0, help="share of packets out of order")
    parser.add_argument("--base")
    parser.add_argument("--user")
    parser.add_argument("--sound", choices=sorted(SOUNDS))
    parser.add_argument("--loop", action="store_true", help="encode once, send over and over")
    options = parser.parse_args()
    options.width, options.height = map(int, options.size.split("x"))
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(options.port)
    server.get_thread_pool().set_max_threads(8)
    mounts = server.get_mount_points()
    camera = LoopedCamera(options) if options.loop else Camera(options)
    desk = Desk(bool(options.sound), options.takes)
    mounts.add_factory("/camera", camera)
    mounts.add_factory("/out", desk.take)
    mounts.add_factory("/watch", desk.give)
    if options.user:
        guard(server, (camera,), options.user)
    server.attach(None)
    sys.stdout.write(f"ready {server.get_bound_port()}\n")
    sys.stdout.flush()
    GLib.MainLoop().run()


def guard(server, factories, user):
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string(GstRtspServer.RTSP_TOKEN_MEDIA_FACTORY_ROLE, "viewer")
    name, _, password = user.partition(":")
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(name, password), token)
    server.set_auth(auth)
    for factory in factories:
        permissions = GstRtspServer.RTSPPermissions()
        permissions.add_permission_for_role("viewer", "media.factory.access", True)
        permissions.add_permission_for_role("viewer", "media.factory.construct", True)
        factory.set_permissions(permissions)


if __name__ == "__main__":
    main()
