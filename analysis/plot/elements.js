
"use strict";
/* Elements, numbers and the tip of the pages: the live one (sweep/serve) and reports (analysis/report). Text of the
 * workspace reaches a page as text nodes and attributes, never as markup. */
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

const date = unix => known(unix) ? new Date(unix * 1000).toISOString().replace("T", " ").slice(0, 19) : "";

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
