
/* The state of the page in its address, and named views. The part after '#' is the sweep, then what differs from the
 * usual view: #study&metrics=score,kl&group=ppo.epsilon&zoom=0,20000. */
const SORT_KEY = "index";

/* A list of names in one value: commas in names are escaped once more. */
const joinNames = names => names.map(n => n.replace(/[%,]/g, encodeURIComponent)).join(",");

function splitNames(text) {
  return text ? text.split(",").map(function (name) {
    try { return decodeURIComponent(name); } catch (error) { return name; }
  }) : [];
}

function pairOf(text) {
  const pair = (text || "").split(",").map(Number);
  return pair.length === 2 && pair.every(Number.isFinite) && pair[0] < pair[1] ? pair : null;
}

/* "study&metrics=score,kl" */
function addressOf() {
  const values = new URLSearchParams(), set = (key, value) => { if (value) values.set(key, value); };
  set("tag", page.tag);
  set("metrics", view.metrics && joinNames(view.metrics));
  set("group", view.group);
  set("color", view.color);
  set("x", view.x === "transitions" ? "" : view.x);
  set("smooth", view.smooth ? String(Math.round(100 * view.smooth)) : "");
  set("log", (view.logX ? "x" : "") + (view.logY ? "y" : ""));
  set("single", view.runs ? "1" : "");
  set("hidden", joinNames([...view.hidden]));
  set("zoom", view.zoom && view.zoom.map(v => Number(v.toPrecision(6))).join());
  set("search", study.name);
  for (const [name, range] of Object.entries(study.brushes))
    values.append("brush", joinNames([name]) + "," + range.map(v => v.toFixed(3)).join());
  set("runs", page.chosen.join());
  set("run", openedRun);
  set("filter", page.text);
  set("status", page.status);
  set("sort", page.sort === SORT_KEY && !page.isDescending ? "" : (page.isDescending ? "-" : "") + page.sort);
  set("from", page.offset ? String(page.offset) : "");
  const rest = values.toString().replaceAll("%2C", ",").replaceAll("%2F", "/");
  return encodeURIComponent(page.sweep || "") + (rest ? "&" + rest : "");
}

function brushesOf(values) {
  const brushes = {};
  for (const text of values.getAll("brush")) {
    const [name, ...ends] = text.split(","), range = pairOf(ends.join());
    if (range) brushes[splitNames(name)[0]] = range;
  }
  return brushes;
}

/* Takes the state from the address; what it does not name is as usual. */
function applyAddress(address) {
  const end = (address + "&").indexOf("&"), values = new URLSearchParams(address.slice(end + 1));
  const get = key => values.get(key) || "", smooth = Number(get("smooth")), sort = get("sort");
  let sweep = address.slice(0, end);
  try { sweep = decodeURIComponent(sweep); } catch (error) { /* not encoded */ }
  const isRun = id => /^[0-9a-f]{16}$/.test(id);

  Object.assign(page, unselected, {sweep: sweep || null, tag: get("tag"), status: get("status"), text: get("filter"),
    chosen: get("runs").split(",").filter(isRun).slice(0, CHOSEN_MAX), isDescending: sort.startsWith("-"),
    sort: sort.replace(/^-/, "") || SORT_KEY, offset: Math.max(0, Math.floor(Number(get("from"))) || 0)});
  Object.assign(view, {sweep: sweep || null, metrics: values.has("metrics") ? splitNames(get("metrics")).slice(0, METRICS_MAX) : null,
    group: get("group"), color: get("color"), x: axisNames[get("x")] ? get("x") : "transitions",
    smooth: smooth > 0 && smooth <= 25 ? smooth / 100 : 0, logX: get("log").includes("x"), logY: get("log").includes("y"),
    runs: get("single") === "1", hidden: new Set(splitNames(get("hidden"))), zoom: pairOf(get("zoom"))});
  Object.assign(study, {sweep: sweep || null, name: get("search"), brushes: brushesOf(values)});
  showControls();
  if (isRun(get("run"))) openRun(get("run"));
  else if (byId("run").open) byId("run").close();
}

/* Shows the state in the controls that have no choices to wait for. */
function showControls() {
  byId("text").value = page.text;
  byId("x").value = view.x;
  byId("log-x").checked = view.logX;
  byId("log-y").checked = view.logY;
  byId("single").checked = view.runs;
  byId("smooth").value = Math.round(100 * view.smooth);
  byId("smooth-text").textContent = view.smooth ? byId("smooth").value + " %" : "off";
}

const hashNow = () => location.hash.slice(1);

/* Writes the state to the address. A new sweep is a step of the browser's history. */
function writeAddress(isStep) {
  const address = addressOf();
  if (address === hashNow() || !page.sweep) return;
  history[isStep ? "pushState" : "replaceState"](null, "", location.pathname + location.search + "#" + address);
}

/* ---- named views */

async function refreshViews() {
  const answer = await ask("/api/views"), now = addressOf();
  page.views = answer.view;
  const current = answer.view.find(v => v.address === now);
  setOptions(byId("views"), [["", answer.view.length ? "Views" : "No view yet"], ...answer.view.map(v => [v.name, v.name])],
    current ? current.name : "");
  byId("views").disabled = !answer.view.length;
  byId("view-problem").textContent = answer.problem || "";
  redraw(byId("view-rows"), answer.view.map(v => el("li", null,
    el("button", {type: "button", class: "open-run", "data-key": "v" + v.name, on: {click: () => showView(v.name)}}, v.name),
    el("button", {type: "button", class: "plain", "data-key": "d" + v.name, "aria-label": "Remove the view " + v.name,
      title: "Remove this view", on: {click: () => changeView(v.name, "")}}, "\u2715"))));
}

function showView(name) {
  const found = page.views.find(v => v.name === name);
  byId("view").close();
  if (!found) return;
  applyAddress(found.address);
  writeAddress(true);
  refresh();
}

/* Saves the view, or removes it if the address is empty. */
async function changeView(name, address) {
  try {
    await ask("/api/views", {name, address}, true);
    await refreshViews();
    byId("view-problem").textContent = address ? "saved" : "removed";
  } catch (error) { byId("view-problem").textContent = error.message; }
}

function openViews() {
  byId("view-problem").textContent = "";
  byId("view").showModal();
  refreshViews().catch(showProblem);
}

async function copyLink() {
  writeAddress();
  try {
    await navigator.clipboard.writeText(location.href);
    byId("view-problem").textContent = "copied";
  } catch (error) {
    byId("view-problem").textContent = location.href;
  }
}

/* ---- start */
byId("views").addEventListener("change", e => showView(e.target.value));
byId("view-button").addEventListener("click", openViews);
byId("view-close").addEventListener("click", () => byId("view").close());
byId("view-copy").addEventListener("click", copyLink);
byId("view-form").addEventListener("submit", function (e) {
  e.preventDefault();
  const name = byId("view-name").value.trim();
  if (name) changeView(name, addressOf());
});
