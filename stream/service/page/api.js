"use strict";

/** Where the service stands, also behind a proxy's prefix: the folder above this script's. */
const ROOT = new URL("..", document.currentScript.src).href;
const PATIENCE_MS = 10000;
const SILENT = "the service does not answer; check that it runs and that this device reaches it";

/** Calls to the service with the token of this tab. */
class Api {
  constructor() {
    this.token = sessionStorage.getItem("kveil-token") || "";
  }

  keep(token) {
    this.token = token;
    if (token) sessionStorage.setItem("kveil-token", token);
    else sessionStorage.removeItem("kveil-token");
  }

  headers(more = {}) {
    return this.token ? { Authorization: `Bearer ${this.token}`, ...more } : more;
  }

  async call(method, path, body, signal) {
    const options = { method, signal, headers: this.headers() };
    if (body !== undefined) {
      options.headers = this.headers({ "Content-Type": "application/json" });
      options.body = JSON.stringify(body);
    }
    const answer = await this.ask(`api/v1${path}`, options);
    return answer.status === 204 ? null : answer.json().catch(silence);
  }

  /** An answer that is no refusal; the path begins at the service's root. */
  async ask(path, options) {
    const answer = await fetch(new URL(path, ROOT), options).catch(silence);
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }
}

function silence() {
  throw new Error(SILENT);
}

/** An error that says what the service said. */
async function refusal(answer) {
  let text = `the service answered ${answer.status}`;
  try {
    const { detail } = await answer.json();
    if (typeof detail === "string") text = detail;
    else if (Array.isArray(detail)) text = detail.map((one) => `${one.at}: ${one.problem}`).join("; ");
  } catch { /* no JSON: the status must do */ }
  const error = new Error(text);
  error.status = answer.status;
  return error;
}
