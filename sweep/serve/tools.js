
"use strict";
/* Elements, numbers and requests. Text of the workspace reaches the page as text nodes and attributes, never as
 * markup. */
const page = {token: new URLSearchParams(location.search).get("token") || "", sweep: null, overview: null,
  chosen: [], status: "", text: "", tag: "", columns: [], keys: [], sort: "index", isDescending: false, offset: 0,
  limit: 50, at: -1, rows: [], compared: [], ready: false};
const byId = id => document.getElementById(id);

/* Characters that core_unicode_is_unsafe (core/unicode.c) has, except newlines and tabs. */
const UNSAFE = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e" +
  "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]", "gu");

/* Replaces them in all texts of an answer, which come from files of other people. */
function masked(value) {
  if (typeof value === "string") return value.replace(UNSAFE, "?");
  if (Array.isArray(value)) return value.map(masked);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [masked(key), masked(of)]));
}

/* Parses JSON of our programs, where such characters are escapes. */
function parsed(text) {
  return text.includes("\\u") ? masked(JSON.parse(text)) : JSON.parse(text);
}

function append(node, children) {
  for (const child of children.flat(2)) if (known(child)) node.append(child);
  return node;
}

function setAttributes(node, attributes) {
  for (const key in attributes || {}) {
    if (key === "on") for (const event in attributes.on) node.addEventListener(event, attributes.on[event]);
    else if (known(attributes[key])) node.setAttribute(key, attributes[key]);
  }
  return node;
}

function el(name, attributes, ...children) {
  return append(setAttributes(document.createElement(name), attributes), children);
}

function svg(name, attributes, ...children) {
  return append(setAttributes(document.createElementNS("http://www.w3.org/2000/svg", name), attributes), children);
}

function known(x) { return x !== null && x !== undefined; }

/* 1234567 -> "1.23 M"; 0.000012 -> "1.20e-5" */
function count(x) {
  if (!known(x)) return "";
  for (const [unit, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]])
    if (Math.abs(x) >= size) return Number((x / size).toPrecision(3)) + " " + unit;
  return String(Number(x.toPrecision(4)));
}

function number(x) {
  if (!known(x)) return "";
  const size = Math.abs(x);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(Number(x.toPrecision(4)));
  return x.toExponential(2).replace(/\.?0+e/, "e");
}

function duration(s) {
  if (!known(s)) return "";
  if (s < 60) return Math.round(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + Math.round(s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + Math.round(s % 3600 / 60) + " min";
  return Math.floor(s / 86400) + " d " + Math.round(s % 86400 / 3600) + " h";
}

const date = unix => known(unix) ? new Date(unix * 1000).toISOString().replace("T", " ").slice(0, 19) : "";

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

function showTip(x, y, text) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = !text;
  if (!text) return;
  const below = y + 14 + tip.offsetHeight < innerHeight;
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 6)) + "px";
  tip.style.top = Math.max(4, below ? y + 14 : y - 10 - tip.offsetHeight) + "px";
}

const hideTip = () => showTip(0, 0, "");

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
