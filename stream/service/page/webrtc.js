"use strict";

const GATHER_MS = 1500;

/** One WHIP or WHEP session. */
class Session {
  constructor(api, path) {
    this.api = api;
    this.path = path;
    this.peer = new RTCPeerConnection();
    this.location = null;
    this.onlost = () => {};
    this.peer.onconnectionstatechange = () => {
      if (["failed", "closed", "disconnected"].includes(this.peer.connectionState)) this.onlost();
    };
  }

  async begin() {
    await this.peer.setLocalDescription(await this.peer.createOffer());
    await gathered(this.peer);
    const answer = await this.api.ask(this.path, {
      method: "POST",
      headers: this.api.headers({ "Content-Type": "application/sdp" }),
      body: this.peer.localDescription.sdp,
    });
    const location = answer.headers.get("Location");
    this.location = location && new URL(location, answer.url).href;
    await this.peer.setRemoteDescription({ type: "answer", sdp: await answer.text() });
  }

  /** How many frames of video the browser has decoded. */
  async frames() {
    const stats = [...(await this.peer.getStats()).values()];
    const video = stats.find((one) => one.type === "inbound-rtp" && one.kind === "video");
    return (video && video.framesDecoded) || 0;
  }

  /** Ends it; `isTold` says whether the service hears so by HTTP too. */
  end(isTold = true) {
    this.onlost = () => {};
    this.peer.getSenders().forEach((sender) => sender.track && sender.track.stop());
    this.peer.close();
    if (this.location && isTold) {
      fetch(this.location, { method: "DELETE", headers: this.api.headers(), keepalive: true })
        .catch(() => {});
    }
  }
}

/** Waits until the browser has found its addresses, or long enough. */
function gathered(peer) {
  if (peer.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((resolve) => {
    setTimeout(resolve, GATHER_MS);
    peer.addEventListener("icegatheringstatechange", () => {
      if (peer.iceGatheringState === "complete") resolve();
    });
  });
}

/** Watches a stream in a video element; with its sound, if it has any. */
async function watch(api, name, video, hasSound) {
  const session = new Session(api, `whep/${name}`);
  const media = new MediaStream();
  session.peer.addTransceiver("video", { direction: "recvonly" });
  if (hasSound) session.peer.addTransceiver("audio", { direction: "recvonly" });
  session.peer.ontrack = ({ track }) => {
    media.addTrack(track);
    video.srcObject = media;
    video.play().catch(() => {});
  };
  try {
    await session.begin();
  } catch (error) {
    session.end();
    throw error;
  }
  return session;
}

/** Publishes this device's camera as a stream. */
async function publish(api, name, hasSound) {
  const media = await navigator.mediaDevices.getUserMedia({
    video: { width: { ideal: 1280 }, height: { ideal: 720 } }, audio: hasSound,
  });
  const session = new Session(api, `whip/${name}`);
  media.getTracks().forEach((track) => session.peer.addTransceiver(track, {
    direction: "sendonly", streams: [media],
  }));
  try {
    await session.begin();
  } catch (error) {
    session.end();
    throw error;
  }
  return session;
}
