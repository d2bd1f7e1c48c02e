
"use strict";
/* Elements, numbers and requests. What comes from the workspace reaches the page as text and attributes, never as
 * markup. */
const page = {token: new URLSearchParams(location.search).get("token") || "", sweep: null, overview: null,
  chosen: [], status: "", text: "", tag: "", columns: [], sort: "index", falling: false, offset: 0, limit: 50, at: -1, rows: [], ready: false};
const byId = id => document.getElementById(id);

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const key in attributes || {}) {
    if (key === "on") for (const event in attributes.on) node.addEventListener(event, attributes.on[event]);
    else if (attributes[key] !== null && attributes[key] !== undefined) node.setAttribute(key, attributes[key]);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

function svg(name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  return node;
}

const known = x => x !== null && x !== undefined;

/* 1234567 -> "1.23 M"; 0.000012 -> "1.20e-5" */
function count(x) {
  if (!known(x)) return "";
  for (const [unit, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]])
    if (Math.abs(x) >= size) return Number((x / size).toPrecision(3)) + " " + unit;
  return String(Number(x.toPrecision(4)));
}

function number(x) {
  if (!known(x)) return "";
  const a = Math.abs(x);
  return a !== 0 && (a < 1e-4 || a >= 1e6) ? x.toExponential(2) : String(Number(x.toPrecision(4)));
}

function duration(s) {
  if (!known(s)) return "";
  if (s < 60) return Math.round(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + Math.round(s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + Math.round(s % 3600 / 60) + " min";
  return Math.floor(s / 86400) + " d " + Math.round(s % 86400 / 3600) + " h";
}

const date = unix => known(unix) ? new Date(unix * 1000).toISOString().replace("T", " ").slice(0, 19) : "";

/* Words of a status, coloured by what is to be done about it. */
function statusClass(status, needsAttention) {
  return needsAttention ? "bad" : status === "finished" ? "good" : status === "running" ? "open" : status === "stopped by rule" ? "ruled" : "muted";
}

/* GET, or POST where `post` is set; the answer's value. Fails with the server's own words. */
async function ask(path, values, post) {
  const query = new URLSearchParams();
  for (const key in values || {}) if (known(values[key]) && values[key] !== "") query.set(key, values[key]);
  const answer = await fetch(path + (String(query) ? "?" + query : ""),
    {method: post ? "POST" : "GET", headers: {Authorization: "Bearer " + page.token}, cache: "no-cache"});
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error || "the server answers " + answer.status);
  return value;
}

/* A picture as an address that an <img> can have: its own request could not carry the token. */
const pictures = new Map();
async function picture(run, iteration) {
  const key = run + " " + iteration;
  if (!pictures.has(key)) {
    const answer = await fetch("/api/video?" + new URLSearchParams({run, iteration}),
      {headers: {Authorization: "Bearer " + page.token}});
    if (!answer.ok) throw new Error("the video cannot be had");
    pictures.set(key, URL.createObjectURL(await answer.blob()));
  }
  return pictures.get(key);
}

function complain(error) {
  const line = byId("problem");
  line.textContent = error ? error.message || String(error) : "";
  line.hidden = !error;
}

function showTip(x, y, text) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = !text;
  if (!text) return;
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 6)) + "px";
  tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - tip.offsetHeight - 6)) + "px";
}
