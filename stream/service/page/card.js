"use strict";

const STILL_LOOKS = 5;
const FIRST_FRAME_LOOKS = 15;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30000;
const FAILURE_MS = 10000;
const BADGES = { slate: "no video, slate shown", waiting_for_video: "waiting for video" };
const FIGURES = [".fps-in", ".fps-out", ".latency", ".dropped", ".viewers", ".effort"];
const $ = (selector, root = document) => root.querySelector(selector);

/** One stream on the page. */
class Card {
  constructor(name, api) {
    this.name = name;
    this.api = api;
    this.onchange = () => {};
    this.onunpublish = () => {};
    this.session = null;
    this.isWatching = false;
    this.attempt = 0;
    this.hasPlayed = false;
    this.isProven();
    this.element = $("#card").content.firstElementChild.cloneNode(true);
    this.element.dataset.stream = name;
    this.video = $("video", this.element);
    this.text("h2", name);
    $(".toggle", this.element).onclick = () => this.toggle();
    $(".remove", this.element).onclick = () => this.remove();
    $(".unpublish", this.element).onclick = () => this.onunpublish();
    $(".sound", this.element).onclick = () => this.mute(!this.video.muted);
    this.video.onplaying = () => {
      this.hasPlayed = true;
      this.curtain("");
    };
  }

  /** Shows what the service says of the stream. */
  show(view, isPublished) {
    this.isOff = view.state === "stopped";
    this.hasSound = view.audio === "pass";
    $(".sound", this.element).hidden = this.isOff || !this.hasSound;
    $(".unpublish", this.element).hidden = !isPublished;
    this.badge(this.isOff ? "stopped" : view.output === "slate" ? "slate" : view.state);
    this.text(".source", view.source === "whip" ? "published by a browser" : view.source);
    this.text(".toggle", this.isOff ? "Start" : "Stop");
    this.figures(view);
    const troubles = Object.entries(view.sinks).filter(([, text]) => text !== "ok")
      .map(([sink, text]) => (text.includes(sink) ? text : `${sink}: ${text}`));
    this.text(".trouble", [view.trouble, ...troubles].filter(Boolean).join("; "));
    if (!this.isOff) return this.watch();
    this.isProven();
    this.hasPlayed = false;
    return this.leave("stopped");
  }

  figures({ fps_in, fps_out, latency, counts, viewers, effort }) {
    const late = Math.round(latency.p95_ms);
    const dropped = (counts.dropped_input || 0) + (counts.dropped_output || 0);
    this.text(".fps-in", `${fps_in.toFixed(1)} fps`);
    this.text(".fps-out", `${fps_out.toFixed(1)} fps`);
    this.text(".latency", late ? `${late} ms` : "–");
    this.text(".dropped", String(dropped));
    this.text(".viewers", String(viewers));
    this.text(".effort", effort);
  }

  /** Claims nothing: what was known of the stream may have changed. */
  forget() {
    this.badge("unknown");
    FIGURES.forEach((figure) => this.text(figure, "–"));
    this.text(".trouble", "");
    if (!this.session) this.curtain("no connection");
  }

  badge(state) {
    this.text(".badge", BADGES[state] || state);
    $(".badge", this.element).className = `badge ${state}`;
  }

  text(selector, text) {
    const element = $(selector, this.element);
    if (element.textContent !== text) element.textContent = text;
  }

  mute(isMuted) {
    this.video.muted = isMuted;
    const button = $(".sound", this.element);
    button.textContent = isMuted ? "Sound on" : "Sound off";
    button.setAttribute("aria-pressed", String(!isMuted));
  }

  curtain(text) {
    this.text(".curtain", text);
    $(".curtain", this.element).hidden = !text;
  }

  async watch() {
    if (this.isWatching || Date.now() < this.again) return;
    this.isWatching = true;
    this.frames = 0;
    this.stillLooks = 0;
    this.curtain(this.hasPlayed ? "reconnecting…" : "connecting…");
    const attempt = ++this.attempt;
    try {
      const session = await watch(this.api, this.name, this.video, this.hasSound);
      if (attempt !== this.attempt) return session.end(); // left while it connected
      this.session = session;
      session.onlost = () => this.retry("reconnecting…");
    } catch (error) {
      if (attempt === this.attempt) this.retry(error.message);
    }
  }

  /** Connects again where a connection that looks healthy brings no pictures. */
  async check() {
    const session = this.session;
    if (!session) return;
    const frames = await session.frames();
    if (session !== this.session) return;
    if (frames > this.frames) {
      this.frames = frames;
      this.stillLooks = 0;
      this.isProven();
    } else if (++this.stillLooks >= (this.frames ? STILL_LOOKS : FIRST_FRAME_LOOKS)) {
      this.retry("reconnecting…");
    }
  }

  /** The next loss may be answered at once again. */
  isProven() {
    this.again = 0;
    this.pauseMs = FIRST_PAUSE_MS;
  }

  retry(text) {
    this.leave(text);
    this.again = Date.now() + this.pauseMs;
    this.pauseMs = Math.min(2 * this.pauseMs, LONGEST_PAUSE_MS);
  }

  /** Ends the video; the service is told unless it would refuse to listen. */
  leave(text, isTold = true) {
    this.attempt += 1;
    if (this.session) this.session.end(isTold);
    this.session = null;
    this.isWatching = false;
    this.video.srcObject = null;
    this.curtain(text);
  }

  toggle() {
    return this.act("POST", `/streams/${this.name}/${this.isOff ? "start" : "stop"}`);
  }

  async remove() {
    if (confirm(`Remove the stream ${this.name}?`)) await this.act("DELETE", `/streams/${this.name}`);
  }

  async act(method, path) {
    this.fail("");
    try {
      await this.api.call(method, path);
    } catch (error) {
      return this.fail(error.message);
    }
    return this.onchange();
  }

  /** Says what became of an action, long enough to be read. */
  fail(text) {
    clearTimeout(this.failureTimer);
    this.text(".failure", text);
    if (text) this.failureTimer = setTimeout(() => this.text(".failure", ""), FAILURE_MS);
  }
}
