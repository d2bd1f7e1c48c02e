
/* The page's state, settings and requests. */
const page = {token: new URLSearchParams(location.search).get("token") || "", sweep: null, overview: null,
  chosen: [], status: "", text: "", tag: "", columns: [], keys: [], sort: "index", isDescending: false, offset: 0,
  limit: 50, at: -1, rows: [], compared: [], views: [], ready: false, isStep: false};

function duration(s) {
  if (!known(s)) return "";
  if (s < 60) return Math.round(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + Math.round(s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + Math.round(s % 3600 / 60) + " min";
  return Math.floor(s / 86400) + " d " + Math.round(s % 86400 / 3600) + " h";
}

/* Class of a status: its color says what is to be done about it. */
function statusClass(status, needsAttention) {
  if (needsAttention) return "bad";
  return {finished: "good", running: "open", "stopped by rule": "ruled"}[status] || "muted";
}

/* ---- settings */

/* The short name of a setting, or the full one where two settings share the short one. */
function keyLabel(name) {
  const key = page.keys.find(k => k.name === name);
  if (!key || page.keys.filter(k => k.label === key.label).length > 1) return name;
  return key.label;
}

/* Short numbers as they are, long ones rounded: 0.0003, but 9.014e-5. */
function settingText(value) {
  if (typeof value !== "number" || String(value).length < 8) return String(value);
  const rounded = Number(value.toPrecision(4));
  return Math.abs(value) < 1e-3 ? rounded.toExponential() : String(rounded);
}

/* "eps 0.2, seed 3": the settings in which the sweep's runs differ. */
function runLabel(run) {
  const settings = run.settings || {}, names = Object.keys(settings);
  const words = names.map(name => keyLabel(name) + " " + settingText(settings[name]));
  return words.length ? words.join(", ") : "run " + run.index;
}

/* ---- requests */

/* Values of answers by their address, with the ETag that they came with: an unchanged answer is the same object. */
const answers = new Map(), ANSWERS_MAX = 80;

function remember(address, etag, value) {
  answers.delete(address);
  answers.set(address, {etag, value});
  if (answers.size > ANSWERS_MAX) answers.delete(answers.keys().next().value);
  return value;
}

/* GET, or POST if `post` is set; returns the answer's value. Throws the server's message. */
async function ask(path, values, post) {
  const query = new URLSearchParams();
  for (const key in values || {}) if (known(values[key]) && values[key] !== "") query.set(key, values[key]);
  const address = path + (String(query) ? "?" + query : "");
  const answer = await fetch(address,
    {method: post ? "POST" : "GET", headers: {Authorization: "Bearer " + page.token}, cache: "no-cache"});
  const etag = answer.headers.get("ETag"), before = answers.get(address);
  if (etag && before && before.etag === etag) return remember(address, etag, before.value);
  const value = parsed(await answer.text());
  if (!answer.ok) throw new Error(value.error || "the server answered with status " + answer.status);
  return etag ? remember(address, etag, value) : value;
}

/* An address of a picture for <img>, whose own request cannot carry the token. */
const pictures = new Map();
async function picture(run, iteration) {
  const key = run + " " + iteration;
  if (!pictures.has(key)) {
    const answer = await fetch("/api/video?" + new URLSearchParams({run, iteration}),
      {headers: {Authorization: "Bearer " + page.token}});
    if (!answer.ok) throw new Error("cannot load the video");
    pictures.set(key, URL.createObjectURL(await answer.blob()));
  }
  return pictures.get(key);
}

function showProblem(error) {
  const line = byId("problem");
  line.textContent = error ? error.message || String(error) : "";
  line.hidden = !error;
}

/* Replaces the children of `host`; the focus returns to the element with the same data-key. */
function redraw(host, nodes) {
  const key = host.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  host.replaceChildren(...nodes.filter(known));
  if (!key) return;
  const same = [...host.querySelectorAll("[data-key]")].find(node => node.dataset.key === key);
  if (same) same.focus({preventScroll: true});
}

/* Replaces the options of a <select> if they have changed. options: [[value, text]]. */
function setOptions(select, options, value) {
  const names = JSON.stringify(options);
  if (select.dataset.names !== names)
    select.replaceChildren(...options.map(([name, text]) => el("option", {value: name}, text)));
  select.dataset.names = names;
  select.value = options.some(o => o[0] === value) ? value : options[0][0];
}
