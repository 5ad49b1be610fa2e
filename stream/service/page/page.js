"use strict";

const LOOK_MS = 1000;
const api = new Api();
const cards = new Map();
const published = new Map();
let asked = 0;
let heard = 0;
let isLooking = false;

/** Shows what the service says; answers that have been overtaken are not heard. */
async function look() {
  const turn = ++asked;
  const token = api.token;
  let views = null;
  let problem = null;
  try {
    views = await api.call("GET", "/streams", undefined, AbortSignal.timeout(PATIENCE_MS));
  } catch (error) {
    problem = error;
  }
  if (turn < heard || token !== api.token) return;
  heard = turn;
  if (views) showAll(views);
  else if (problem.status === 401) askForToken(token ? problem.message : "");
  else showNothing(problem.message, true);
}

function showAll(views) {
  $("#sign-in").close();
  $("#sign-out").hidden = !api.token;
  const live = views.filter((view) => view.state === "live").length;
  say(`${live} of ${views.length} streams live`, false);
  $("#empty").hidden = views.length > 0;
  for (const view of views) cardOf(view.name).show(view, published.has(view.name));
  for (const [name, card] of cards) {
    if (!views.some((view) => view.name === name)) {
      card.leave("");
      card.element.remove();
      cards.delete(name);
    }
  }
}

/** Nothing is known: no figure stays that may be wrong. */
function showNothing(text, isProblem) {
  say(text, isProblem);
  $("#empty").hidden = true;
  cards.forEach((card) => card.forget());
}

function say(text, isProblem) {
  const summary = $("#summary");
  if (summary.textContent !== text) summary.textContent = text;
  summary.classList.toggle("problem", isProblem);
}

/** What an action has changed is looked at anew. */
function lookAgain() {
  heard = asked + 1;
  return look();
}

function cardOf(name) {
  if (!cards.has(name)) {
    const card = new Card(name, api);
    card.onchange = lookAgain;
    card.onunpublish = () => endPublishing(name);
    cards.set(name, card);
    $("#grid").append(card.element);
  }
  return cards.get(name);
}

function askForToken(problem) {
  endAll(false);
  showNothing("sign in to see the streams", false);
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
  await lookAgain();
}

async function publishCamera(form) {
  const name = form.elements.name.value.trim();
  const hasSound = form.elements.audio.checked;
  const audio = hasSound ? "pass" : "drop";
  if (!cards.has(name)) await api.call("POST", "/streams", { name, audio });
  const session = await publish(api, name, hasSound);
  session.onlost = () => endPublishing(name);
  published.set(name, session);
  await lookAgain();
}

function endPublishing(name) {
  const session = published.get(name);
  published.delete(name);
  if (session) session.end();
  lookAgain();
}

/** Ends every video, seen or sent; `isTold` as for one session. */
function endAll(isTold) {
  cards.forEach((card) => card.leave("", isTold));
  published.forEach((session) => session.end(isTold));
  published.clear();
}

/** Opens a dialog whose form is sent by `work`; what goes wrong is said in the dialog. */
function wire(opener, dialog, work) {
  opener.onclick = () => {
    $(".problem", dialog).textContent = "";
    dialog.showModal();
  };
  $("button.cancel", dialog).onclick = () => dialog.close();
  const form = $("form", dialog);
  form.onsubmit = async (event) => {
    event.preventDefault();
    const button = $("button.primary", form);
    button.disabled = true;
    try {
      await work(form);
      dialog.close();
    } catch (error) {
      $(".problem", dialog).textContent = error.message;
    } finally {
      button.disabled = false;
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
  endAll(true);
  api.keep("");
  location.reload();
};
addEventListener("pagehide", () => endAll(true));

async function tick() {
  if (document.hidden) return;
  cards.forEach((card) => card.check());
  // Each request without a valid token brings this address nearer to being locked out.
  if (isLooking || $("#sign-in").open) return;
  isLooking = true;
  await look().finally(() => { isLooking = false; });
}

tick();
setInterval(tick, LOOK_MS);
