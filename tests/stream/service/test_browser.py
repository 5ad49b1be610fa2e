from __future__ import annotations

import base64
import itertools
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import cv2
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from config.service import Listen, ServiceSettings, Sources, StreamSpec, Webrtc
from config.settings import Settings
from evaluation.bare import BARE_GREY_LEVELS, central_difference
from stream.pipeline.engine_set import open_engines
from stream.pipeline.replacement import CoverEveryFace
from stream.service.serving import Service
from stream.service.tokens import TokenBook
from tests.stream.live.rtsp_peer import eventually
from tests.stream.service.served import served
from tests.stream.service.service_bench import TOKENS, engines, tokens
from tests.stream.service.web_driver import ENTER, ESCAPE, Browser, browser, need_browser

pytestmark = pytest.mark.browser
LOOPBACK = Webrtc(addresses=("127.0.0.1",))
SHOTS = Path(__file__).resolve().parents[3] / "runs" / "page"
Image = NDArray[np.uint8]
NOTE_CURTAINS = """
    window.curtains = [];
    const curtain = document.querySelector('.curtain');
    const note = () => {
      if (curtains.at(-1) !== curtain.textContent) curtains.push(curtain.textContent);
    };
    new MutationObserver(note).observe(curtain, { childList: true, characterData: true });
"""


def settings_of(*streams: StreamSpec, **more: object) -> ServiceSettings:
    given = {"listen": Listen(port=0), "webrtc": LOOPBACK, "streams": streams, **more}
    return ServiceSettings.model_validate(given)


def write_camera(clip: Path, target: Path) -> list[Image]:
    """The clip as the fake camera's MJPEG; gives its frames as BGR."""
    frames: list[Image] = []
    with av.open(str(clip)) as source, av.open(str(target), "w", format="mjpeg") as output:
        track = output.add_stream("mjpeg", rate=15)
        track.width, track.height, track.pix_fmt = 640, 480, "yuvj420p"
        for number, frame in enumerate(itertools.islice(source.decode(video=0), 45)):
            fitted = frame.reformat(640, 480, "yuvj420p")
            fitted.pts, fitted.time_base = number, Fraction(1, 15)
            frames.append(np.asarray(fitted.to_ndarray(format="bgr24"), np.uint8))
            output.mux(track.encode(fitted))
        output.mux(track.encode(None))
    return frames


def publish_webcam(page: Browser) -> None:
    page.run("document.querySelector('#open-publish').click()")
    page.type("#publish [name=name]", ENTER)


def is_playing(page: Browser, stream: str) -> bool:
    script = (
        "const v = document.querySelector(`[data-stream=${arguments[0]}] video`);"
        "return Boolean(v && v.videoWidth > 0 && v.currentTime > 1);"
    )
    return bool(page.run(script, stream))


def received(page: Browser, stream: str) -> Image:
    """The decoded pixels that the browser shows, BGR."""
    script = """
        const v = document.querySelector(`[data-stream=${arguments[0]}] video`);
        const c = document.createElement('canvas');
        c.width = v.videoWidth; c.height = v.videoHeight;
        c.getContext('2d').drawImage(v, 0, 0);
        return c.toDataURL('image/png').split(',')[1];
    """
    png = np.frombuffer(base64.b64decode(str(page.run(script, stream))), np.uint8)
    return np.asarray(cv2.imdecode(png, cv2.IMREAD_COLOR), np.uint8)


def test_webcam_published_by_whip_comes_back_by_whep_without_its_face(
    tmp_path: Path, shared_data: Path
) -> None:
    need_browser()
    original = write_camera(shared_data / "video" / "s32.mp4", tmp_path / "camera.mjpeg")
    wanted = Settings(method="solid")
    settings = settings_of(StreamSpec(name="webcam"), anonymize=wanted)
    with open_engines(wanted) as networks:
        service = Service(settings, networks, lambda chosen, name: CoverEveryFace())
        with (
            served(service, settings) as address,
            browser(tmp_path / "profile", tmp_path / "camera.mjpeg") as page,
        ):
            page.resize(1280, 800)
            page.open(address)
            assert eventually(lambda: is_playing(page, "webcam"), 20.0)
            publish_webcam(page)
            latest = service.context.fleet.running("webcam").latest
            assert eventually(lambda: covers(latest.composite) > 0, 60.0)
            assert eventually(lambda: received(page, "webcam").shape[:2] == (480, 640), 30.0)
            shots = [received(page, "webcam") for _ in range(8)]
            SHOTS.mkdir(parents=True, exist_ok=True)
            page.screenshot(SHOTS / "desktop.png")
            page.emulate(390, 844)
            page.screenshot(SHOTS / "phone.png")
            assert page.run("return document.documentElement.scrollWidth") == 390
        detector = networks.detector
        bare = [(frame, one) for frame in original for one in detector.detect(frame, min_score=0.5)]
        assert len(bare) >= 30, "the camera's clip shows a face in most frames"
        # The cover is drawn as a face, so pixels are compared rather than faces looked for.
        for shot in shots:
            least = min(central_difference(frame, shot, face.box_px) for frame, face in bare)
            assert least > 2 * BARE_GREY_LEVELS, "a face came back"
        assert all(shot.std() > 20 for shot in shots), "the scene around the face is still there"


def covers(composite: object) -> int:
    from engines.blending.compositor import Composite

    return len(composite.outcomes) if isinstance(composite, Composite) else 0


def test_page_adds_stops_and_removes_a_stream(tmp_path: Path, shared_data: Path) -> None:
    need_browser()
    sources = Sources(folders=(str(shared_data / "video"),))
    settings = settings_of(sources=sources)
    service = Service(settings, engines(), lambda chosen, name: CoverEveryFace())
    fill = """
        document.querySelector('#open-add').click();
        const form = document.querySelector('#add form');
        form.elements.name.value = arguments[0];
        form.elements.source.value = arguments[1];
    """
    is_open = "return document.querySelector('#add').open"
    with served(service, settings) as address, browser(tmp_path / "profile") as page:
        page.open(address)
        page.run(fill, "hall", "file:///etc/passwd")
        page.type("#add [name=name]", ESCAPE)
        assert not page.run(is_open)
        page.run(fill, "hall", "file:///etc/passwd")
        page.run("document.querySelector('#add .cancel').click()")
        assert not page.run(is_open)
        page.run(fill, "hall", "file:///etc/passwd")
        page.type("#add [name=source]", ENTER)
        problem = "return document.querySelector('#add .problem').textContent"
        assert eventually(lambda: "scheme" in str(page.run(problem)))
        assert not service.context.fleet.members()
        page.run("document.querySelector('#add').close()")
        page.run(fill, "hall", str(shared_data / "video" / "s13.mp4"))
        page.type("#add [name=name]", ENTER)
        assert eventually(lambda: is_playing(page, "hall"), 30.0)
        page.run("document.querySelector('[data-stream=hall] .toggle').click()")
        badge = "return document.querySelector('[data-stream=hall] .badge').textContent"
        assert eventually(lambda: page.run(badge) == "stopped")
        page.run("window.confirm = () => true;")
        page.run("document.querySelector('[data-stream=hall] .remove').click()")
        assert eventually(lambda: page.run("return document.querySelectorAll('.card').length") == 0)


def test_sound_published_by_whip_comes_back_by_whep(tmp_path: Path) -> None:
    need_browser()
    settings = settings_of(StreamSpec(name="webcam", audio="pass"))
    service = Service(settings, engines(), lambda chosen, name: CoverEveryFace())
    heard = """
        return (async () => {
          const peer = cards.get('webcam').session.peer;
          const energies = [...(await peer.getStats()).values()]
            .filter((one) => one.type === 'inbound-rtp' && one.kind === 'audio')
            .map((one) => one.totalAudioEnergy);
          return Math.max(0, ...energies);
        })();
    """
    with served(service, settings) as address, browser(tmp_path / "profile") as page:
        page.open(address)
        assert eventually(lambda: is_playing(page, "webcam"), 30.0)
        button = "const b = document.querySelector('.sound'); b.click(); return b.textContent"
        assert page.run(button) == "Sound off"
        silent = float(str(page.run(heard)))
        page.run("document.querySelector('#publish [name=audio]').checked = true")
        publish_webcam(page)
        assert eventually(lambda: float(str(page.run(heard))) > silent + 1e-4, 60.0)
        assert silent < 1e-4


def test_viewer_follows_a_replaced_stream_and_frees_its_place_when_it_vanishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_browser()
    monkeypatch.setattr("aioice.ice.CONSENT_INTERVAL", 0.3)
    settings = settings_of(StreamSpec(name="desk"), live={"hold_s": 0.2})
    service = Service(settings, engines(), lambda chosen, name: CoverEveryFace())
    with served(service, settings) as address, browser(tmp_path / "profile") as page:
        page.open(address)
        assert eventually(lambda: is_playing(page, "desk"), 30.0)
        assert service.context.fleet.running("desk").viewers == 1
        page.run(NOTE_CURTAINS)
        service.context.fleet.apply([StreamSpec(name="desk", label=False)])
        running = service.context.fleet.running("desk")
        assert eventually(lambda: running.viewers == 1, 30.0), "the picture froze for ever"
        assert eventually(lambda: is_playing(page, "desk"), 30.0)
        assert page.run("return [curtains[0], curtains.at(-1)]") == ["reconnecting…", ""]
        assert eventually(lambda: service.context.viewers.sessions.count("desk") == 1)
        page.vanish()
        assert eventually(lambda: running.viewers == 0, 30.0)
        out = running.live.counters.counts()["slates"]
        assert eventually(lambda: running.live.counters.counts()["slates"] > out + 5)


def text_of(page: Browser, selector: str) -> str:
    return str(page.run("return document.querySelector(arguments[0]).textContent", selector))


def test_page_without_a_valid_token_asks_once_and_shows_no_video(tmp_path: Path) -> None:
    need_browser()
    settings = settings_of(StreamSpec(name="desk"), access=tokens())
    service = Service(settings, engines(), lambda chosen, name: CoverEveryFace())
    is_asked = "return document.querySelector('#sign-in').open"
    late_refusal = """
        window.calls = 0;
        const straight = window.fetch;
        const held = new Promise((resolve) => { window.release = resolve; });
        window.fetch = async (path, options) => {
          calls += 1;
          const answer = await straight(path, options);
          await (options.headers.Authorization ? window.late : held);
          return answer;
        };
    """
    calls_meanwhile = "return new Promise((later) => setTimeout(() => later(calls), 1500))"
    with served(service, settings) as address, browser(tmp_path / "profile") as page:
        page.open(address)
        assert eventually(lambda: bool(page.run(is_asked)))
        page.run(late_refusal)
        assert page.run(calls_meanwhile) == 0, "it asked in vain"
        page.run("window.late = look()")
        page.type("#token", TOKENS["viewer"] + ENTER)
        asked_again = f"release(); return late.then(() => {{ {is_asked} }})"
        assert not page.run(asked_again), "a refusal from before the sign-in was heard"
        assert eventually(lambda: is_playing(page, "desk"), 30.0)

        page.run("document.querySelector('.toggle').click()")
        refusal = "this needs a token of the role operator"
        assert eventually(lambda: text_of(page, "[role=alert].failure") == refusal)
        page.run("return look()")
        assert text_of(page, ".failure") == refusal, "it went before anyone could read it"

        running = service.context.fleet.running("desk")
        assert running.viewers == 1
        service.context.tokens = TokenBook([one for one in tokens().tokens if one.role != "viewer"])
        assert eventually(lambda: bool(page.run(is_asked)))
        assert page.run("return document.querySelector('video').srcObject") is None
        assert eventually(lambda: running.viewers == 0)
        page.type("#token", TOKENS["operator"] + ENTER)
        assert eventually(lambda: running.viewers == 1)
        page.run("document.querySelector('.toggle').click()")
        assert eventually(lambda: text_of(page, ".badge") == "stopped")
        assert text_of(page, ".failure") == ""


def test_service_that_goes_away_is_shown_as_unknown_until_it_comes_back(tmp_path: Path) -> None:
    need_browser()
    settings = settings_of(StreamSpec(name="desk"), live={"hold_s": 0.2})

    def service() -> Service:
        return Service(settings, engines(), lambda chosen, name: CoverEveryFace())

    with browser(tmp_path / "profile") as page:
        with served(service(), settings) as address:
            page.open(address)
            assert eventually(lambda: is_playing(page, "desk"), 30.0)
            assert eventually(lambda: text_of(page, ".viewers") == "1")
        assert eventually(lambda: text_of(page, ".badge") == "unknown")
        assert "the service does not answer" in text_of(page, "#summary")
        assert text_of(page, ".viewers") == text_of(page, ".fps-out") == "–"
        port = int(address.rpartition(":")[2])
        again = settings.model_copy(update={"listen": Listen(port=port)})
        with served(service(), again):
            assert eventually(lambda: text_of(page, ".viewers") == "1")
            assert eventually(lambda: is_playing(page, "desk"), 30.0)
            assert text_of(page, "#summary") == "0 of 1 streams live"


def test_storm_of_viewers_who_never_connect_takes_a_quarter_of_the_places(
    tmp_path: Path,
) -> None:
    need_browser()
    webrtc = LOOPBACK.model_copy(update={"max_viewers": 4})
    settings = settings_of(StreamSpec(name="desk"), webrtc=webrtc, live={"hold_s": 0.2})
    service = Service(settings, engines(), lambda chosen, name: CoverEveryFace())
    storm = """
        const answers = await Promise.all([...Array(50)].map(async () => {
          const peer = new RTCPeerConnection();
          peer.addTransceiver('video', { direction: 'recvonly' });
          await peer.setLocalDescription(await peer.createOffer());
          const answer = await fetch('/whep/desk', {
            method: 'POST',
            body: peer.localDescription.sdp,
            headers: { 'Content-Type': 'application/sdp' },
          });
          peer.close();
          return [answer.status, answer.headers.get('Retry-After')];
        }));
        return answers;
    """
    with served(service, settings) as address, browser(tmp_path / "profile") as page:
        page.open(address)
        assert eventually(lambda: is_playing(page, "desk"), 20.0)
        answers = cast(list[list[object]], page.run(f"return (async () => {{ {storm} }})()"))
        statuses = [answer[0] for answer in answers]
        assert statuses.count(201) == 1
        assert statuses.count(503) == 49
        assert all(answer[1] for answer in answers if answer[0] == 503)
        running = service.context.fleet.running("desk")
        assert running.live.counters.counts()["viewers_refused"] == 49
        assert is_playing(page, "desk")
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_browser_plays_the_parts_of_low_latency_hls_as_they_come(tmp_path: Path) -> None:
    need_browser()
    settings = settings_of(StreamSpec(name="desk"), live={"hold_s": 0.2, "slate_fps": 15.0})
    service = Service(settings, engines(), lambda chosen, name: CoverEveryFace())
    player = """
        const at = '/hls/desk/', seen = new Set(), media = new MediaSource();
        const video = document.createElement('video');
        video.muted = true;
        video.src = URL.createObjectURL(media);
        await new Promise((opened) => { media.onsourceopen = opened; });
        let query = '', buffer = null, waited = 0;
        const append = async (uri) => {
          const answer = await fetch(at + uri);
          if (!answer.ok) throw new Error(`${uri}: ${answer.status}`);
          buffer.appendBuffer(await answer.arrayBuffer());
          await new Promise((done) => { buffer.onupdateend = done; });
        };
        while (seen.size < 16) {
          const text = await (await fetch(at + 'live.m3u8' + query)).text();
          waited += query ? 1 : 0;
          if (!buffer) {
            buffer = media.addSourceBuffer('video/mp4; codecs="avc1.42c01f"');
            await append('init.mp4');
          }
          for (const [, uri] of text.matchAll(/EXT-X-PART:DURATION=[\\d.]+,URI="([^"]+)"/g)) {
            if (!seen.has(uri)) await append(uri);
            seen.add(uri);
          }
          const [, segment, part] = text.match(/TYPE=PART,URI="(\\d+)\\.(\\d+)/);
          query = `?_HLS_msn=${segment}&_HLS_part=${part}`;
        }
        video.currentTime = video.buffered.start(0);
        await video.play();
        const start = video.currentTime;
        await new Promise((later) => setTimeout(later, 1500));
        const ranges = video.buffered;
        return [video.videoWidth, video.currentTime - start, ranges.length,
          ranges.end(0) - ranges.start(0), waited];
    """
    with served(service, settings) as address, browser(tmp_path / "profile") as page:
        page.open(address)
        told = cast(list[float], page.run(f"return (async () => {{ {player} }})()"))
    width, played_s, ranges, buffered_s, waited = told
    assert width == 1280
    assert played_s > 0.5
    assert ranges == 1, "the parts join without a gap"
    assert buffered_s > 3.0
    assert waited >= 3, "the player waited for parts instead of asking again and again"
