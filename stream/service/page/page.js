"use strict";

const LOOK_MS = 1000;
const AGAIN_MS = 3000;
const api = new Api();
const cards = new Map();
const published = new Map();
const $ = (selector, root = document) => root.querySelector(selector);

/** One stream on the page. */
class Card {
  constructor(name) {
    this.name = name;
    this.session = null;
    this.isWatching = false;
    this.again = 0;
    this.element = $("#card").content.firstElementChild.cloneNode(true);
    this.element.dataset.stream = name;
    this.video = $("video", this.element);
    $("h2", this.element).textContent = name;
    $(".toggle", this.element).onclick = () => this.act(this.isOff ? "start" : "stop");
    $(".remove", this.element).onclick = () => this.remove();
    $(".unpublish", this.element).onclick = () => endPublishing(name);
    $(".sound", this.element).onclick = () => this.mute(!this.video.muted);
    this.video.onplaying = () => this.curtain("");
  }

  show(view) {
    this.isOff = view.state === "stopped";
    this.hasSound = view.audio === "pass";
    $(".sound", this.element).hidden = this.isOff || !this.hasSound;
    const state = this.isOff ? "stopped" : view.output === "slate" ? "slate" : view.state;
    const badge = $(".badge", this.element);
    badge.textContent = { live: "live", slate: "no video, slate shown", lost: "lost",
      waiting_for_video: "waiting for video" }[state] || state;
    badge.className = `badge ${state}`;
    const counts = view.counts;
    const dropped = (counts.dropped_input || 0) + (counts.dropped_output || 0);
    this.text(".source", view.source === "whip" ? "published by a browser" : view.source);
    this.text(".fps-in", `${view.fps_in.toFixed(1)} fps`);
    this.text(".fps-out", `${view.fps_out.toFixed(1)} fps`);
    const latency = Math.round(view.latency.p95_ms);
    this.text(".latency", latency ? `${latency} ms` : "–");
    this.text(".dropped", String(dropped));
    this.text(".viewers", String(view.viewers));
    this.text(".effort", view.effort);
    const troubles = Object.entries(view.sinks).filter(([, text]) => text !== "ok")
      .map(([sink, text]) => (text.includes(sink) ? text : `${sink}: ${text}`));
    this.text(".trouble", [view.trouble, ...troubles].filter(Boolean).join("; "));
    this.text(".toggle", this.isOff ? "Start" : "Stop");
    $(".unpublish", this.element).hidden = !published.has(this.name);
    if (this.isOff) this.leave("stopped");
    else this.watch();
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
    const curtain = $(".curtain", this.element);
    curtain.textContent = text;
    curtain.hidden = !text;
  }

  async watch() {
    if (this.isWatching || Date.now() < this.again) return;
    this.isWatching = true;
    this.curtain("connecting…");
    try {
      this.session = await watch(api, this.name, this.video, this.hasSound);
      this.session.onlost = () => this.leave("connection lost; trying again");
    } catch (error) {
      this.leave(error.message);
    }
  }

  leave(text) {
    if (this.session) this.session.end();
    this.session = null;
    this.isWatching = false;
    this.again = Date.now() + AGAIN_MS;
    this.video.srcObject = null;
    this.curtain(text);
  }

  async act(action) {
    try {
      this.show(await api.call("POST", `/streams/${this.name}/${action}`));
    } catch (error) {
      this.text(".trouble", error.message);
    }
  }

  async remove() {
    if (!confirm(`Remove the stream ${this.name}?`)) return;
    try {
      await api.call("DELETE", `/streams/${this.name}`);
      await look();
    } catch (error) {
      this.text(".trouble", error.message);
    }
  }
}

async function look() {
  let views;
  try {
    views = await api.call("GET", "/streams");
  } catch (error) {
    $("#summary").textContent = error.message;
    if (error.status === 401) askForToken(api.token ? error.message : "");
    return;
  }
  $("#sign-out").hidden = !api.token;
  const live = views.filter((view) => view.state === "live").length;
  $("#summary").textContent = `${live} of ${views.length} streams live`;
  $("#empty").hidden = views.length > 0;
  for (const view of views) cardOf(view.name).show(view);
  for (const [name, card] of cards) {
    if (!views.some((view) => view.name === name)) {
      card.leave("");
      card.element.remove();
      cards.delete(name);
    }
  }
}

function cardOf(name) {
  if (!cards.has(name)) {
    const card = new Card(name);
    cards.set(name, card);
    $("#grid").append(card.element);
  }
  return cards.get(name);
}

function askForToken(problem) {
  const dialog = $("#sign-in");
  if (dialog.open) return;
  $(".problem", dialog).textContent = problem;
  dialog.showModal();
}

async function addStream(form) {
  const sink = form.elements.sink.value.trim();
  await api.call("POST", "/streams", {
    name: form.elements.name.value.trim(),
    source: form.elements.source.value.trim(),
    sinks: sink ? [sink] : [],
    record: form.elements.record.checked,
    audio: form.elements.audio.checked ? "pass" : "drop",
  });
  form.reset();
  await look();
}

async function publishCamera(form) {
  const name = form.elements.name.value.trim();
  const hasSound = form.elements.audio.checked;
  const audio = hasSound ? "pass" : "drop";
  if (!cards.has(name)) await api.call("POST", "/streams", { name, audio });
  const session = await publish(api, name, hasSound);
  session.onlost = () => endPublishing(name);
  published.set(name, session);
  await look();
}

function endPublishing(name) {
  const session = published.get(name);
  published.delete(name);
  if (session) session.end();
  look();
}

/** Opens a dialog whose form is sent by `work`; what goes wrong is said in the dialog. */
function wire(opener, dialog, work) {
  opener.onclick = () => {
    $(".problem", dialog).textContent = "";
    dialog.showModal();
  };
  const form = $("form", dialog);
  form.onsubmit = async (event) => {
    if (event.submitter.value === "cancel") return;
    event.preventDefault();
    event.submitter.disabled = true;
    try {
      await work(form);
      dialog.close();
    } catch (error) {
      $(".problem", dialog).textContent = error.message;
    } finally {
      event.submitter.disabled = false;
    }
  };
}

wire($("#open-add"), $("#add"), addStream);
wire($("#open-publish"), $("#publish"), publishCamera);
$("#sign-in form").onsubmit = () => {
  api.keep($("#token").value.trim());
  $("#token").value = "";
  look();
};
$("#sign-out").onclick = () => {
  api.keep("");
  location.reload();
};
addEventListener("pagehide", () => {
  cards.forEach((card) => card.session && card.session.end());
  published.forEach((session) => session.end());
});
look();
setInterval(() => {
  if (!document.hidden) look();
}, LOOK_MS);
