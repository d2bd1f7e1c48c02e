
/* The list of runs, those compared, and one run in full. */
const CHOSEN_MOST = 12, SETTINGS_MOST = 6;

/* The columns of the list: some are there only where the sweep's runs differ in them, or somebody has said something. */
function columnsOf(rows) {
  const own = rows.find(r => r.settings), names = own ? Object.keys(own.settings) : [], shown = names.slice(0, SETTINGS_MOST);
  const last = name => name.slice(name.indexOf(".") + 1), short = name => shown.filter(n => last(n) === last(name)).length > 1 ? name : last(name);
  const setting = (r, name) => known((r.settings || {})[name]) ? String(r.settings[name]) : "";
  return [{name: "index", key: "index", number: true, get: r => String(r.index)}, {name: "run", kind: "run", get: runButton},
    ...shown.map(name => ({name: short(name), key: name, number: rows.every(r => typeof (r.settings || {})[name] !== "string"), get: r => setting(r, name)})),
    names.length > shown.length ? {name: "other settings", get: r => names.slice(SETTINGS_MOST).map(n => n + "=" + setting(r, n)).join(" ")} : null,
    {name: "status", key: "status", get: r => el("span", {class: statusClass(r.condition, r.needs_attention)}, r.condition)},
    {name: "done", key: "iteration", number: true, get: r => r.iterations > 0 ? r.iteration + " / " + r.iterations : ""},
    {name: "best", words: "best score", key: "best", number: true, get: r => number(r.best)}, {name: "last", words: "last score", key: "last", number: true, get: r => number(r.last)},
    {name: "DDR", key: "ddr", number: true, get: r => count(r.ddr)}, {name: "steps/s", key: "speed", number: true, get: r => count(r.steps_per_second)},
    rows.some(r => r.tags.length) ? {name: "tags", get: r => r.tags.map(tagMark)} : null,
    {name: "reason", kind: "reason", get: r => [r.reason || null, r.note ? el("div", {class: "note"}, r.note) : null]}].filter(known);
}

const tagMark = tag => el("span", {class: "tag"}, tag);

function runButton(run) {
  return [el("button", {type: "button", class: "open-run", "data-key": "o" + run.run, "aria-label": "run " + run.run + (run.pinned ? ", pinned" : ""),
    on: {click: () => openRun(run.run)}}, run.run.slice(0, 8)), run.pinned ? el("span", {class: "pin", title: "pinned as the sweep's best"}, " \u2605") : null];
}

/* Draws anew and gives the focus back to the element with the same data-key. */
function redraw(host, nodes) {
  const key = host.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  host.replaceChildren(...nodes);
  if (key) for (const node of host.querySelectorAll("[data-key]")) if (node.dataset.key === key) node.focus({preventScroll: true});
}

function drawHeads() {
  redraw(byId("run-heads"), [el("th", {scope: "col"}, el("span", {class: "muted", title: "compare"}, "+")), ...page.columns.map(function (column) {
    const key = column.key, sorted = known(key) && key === page.sort;
    const head = el("th", {scope: "col", class: column.number ? "number" : null, "aria-sort": sorted ? (page.falling ? "descending" : "ascending") : null});
    if (!key) head.append(column.name);
    else head.append(el("button", {type: "button", "data-key": key, title: column.words || (key.includes(".") ? key : null), on: {click: () => sortBy(key)}},
      column.name + (sorted ? (page.falling ? " \u2193" : " \u2191") : "")));
    return head;
  })]);
}

function sortBy(key) {
  page.falling = page.sort === key ? !page.falling : ["iteration", "best", "last", "ddr", "speed"].includes(key);
  page.sort = key;
  page.offset = 0;
  refresh();
}

function runRow(run, place) {
  const chosen = page.chosen.includes(run.run);
  return el("tr", {class: (place === page.at ? "at " : "") + (chosen ? "chosen" : ""), "data-run": run.run},
    el("td", null, el("input", {type: "checkbox", "aria-label": "compare run " + run.index, checked: chosen ? "" : null, "data-key": "c" + run.run,
      on: {change: () => choose(run.run)}})),
    page.columns.map(column => el("td", {class: column.number ? "number" : column.kind, "data-column": column.key || column.name}, column.get(run))));
}

function drawRuns(answer) {
  page.rows = answer.run;
  page.matching = answer.matching;
  page.columns = columnsOf(answer.run);
  if (page.at >= page.rows.length) page.at = page.rows.length - 1;
  drawHeads();
  redraw(byId("run-rows"), page.rows.length ? page.rows.map(runRow)
    : [el("tr", null, el("td", {colspan: page.columns.length + 1, class: "muted"}, answer.runs ? "no run passes the filter" : "no runs"))]);
  const last = Math.min(answer.offset + page.limit, answer.matching);
  byId("range").textContent = answer.matching ? (answer.offset + 1) + " to " + last + " of " + answer.matching : "none";
  byId("previous").disabled = answer.offset === 0;
  byId("next").disabled = last >= answer.matching;
}

/* ---- compared */
function choose(run) {
  if (page.chosen.includes(run)) page.chosen = page.chosen.filter(r => r !== run);
  else if (page.chosen.length < CHOSEN_MOST) page.chosen.push(run);
  else complain(CHOSEN_MOST + " runs are compared at most; clear some first (c)");
  redraw(byId("run-rows"), page.rows.map(runRow));
  refresh();
}

/* A column a run: results, then the settings in which they differ. */
function drawCompared(runs) {
  byId("compare").hidden = runs.length === 0;
  if (!runs.length) return;
  const names = [...new Set(runs.flatMap(r => Object.keys(r.settings || {})))];
  const differing = names.filter(n => runs.some(r => JSON.stringify((r.settings || {})[n]) !== JSON.stringify((runs[0].settings || {})[n])));
  const rows = [["status", r => r.condition], ["done", r => r.iteration + " / " + r.iterations], ["best score", r => number(r.best)],
    ["last score", r => number(r.last)], ["DDR", r => count(r.ddr)], ["steps/s", r => count(r.steps_per_second)],
    ...[["tags", r => r.tags.join(", ")], ["note", r => r.note || ""]].filter(row => runs.some(row[1])),
    ...differing.map(n => [n, r => known((r.settings || {})[n]) ? String(r.settings[n]) : ""])];
  redraw(byId("compare-table"), [el("thead", null, el("tr", null, el("th", {scope: "col"}, ""), runs.map((r, place) => el("th", {scope: "col"},
    sample(place), el("button", {type: "button", "data-key": r.run, on: {click: () => openRun(r.run)}}, r.sweepIndex))))),
    el("tbody", null, rows.map(([name, get]) => el("tr", null, el("th", {scope: "row"}, name), runs.map(r => el("td", {class: "number"}, get(r))))))]);
}

function sample(place) {
  const box = svg("svg", {viewBox: "0 0 24 8", width: 24, height: 8, "aria-hidden": "true"});
  box.append(svg("line", {x1: 0, x2: 24, y1: 4, y2: 4, stroke: colour(place), "stroke-width": 2, "stroke-dasharray": dashes(place)}));
  return box;
}

/* ---- one run */
let openedRun = null;

function list(pairs) {
  return el("dl", null, pairs.filter(p => known(p[1]) && p[1] !== "").flatMap(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
}

function attemptLine(a) {
  return el("li", null, `${a.attempt}: ${a.status || "running"}, ${date(a.started)} to ${date(a.finished) || "now"}, ${a.host || ""} ${a.device || ""}` +
    (a.message ? ": " + a.message : ""));
}

/* Pictures stay where they are while the rest is drawn anew. */
function videoFigure(run, iteration) {
  const image = el("img", {alt: "the agent after " + iteration + " iterations", width: 220});
  picture(run, iteration).then(address => { image.src = address; }, error => { image.replaceWith(String(error.message)); });
  return el("figure", null, image, el("figcaption", null, "after " + iteration + " iterations"));
}

async function fillRun(id) {
  const [run, log] = await Promise.all([ask("/api/run", {run: id, sweep: page.sweep}), ask("/api/log", {run: id, sweep: page.sweep})]);
  if (openedRun !== id) return;
  byId("run-title").textContent = page.sweep + "/" + run.index + "  " + run.run;
  const body = byId("run-body"), old = body.querySelector("pre"), follows = !old || old.scrollTop + old.clientHeight >= old.scrollHeight - 4;
  const before = old ? old.scrollTop : 0, unfolded = body.querySelector("details[open]") ? "" : null;
  const kept = body.querySelector(".videos"), shown = kept ? kept.dataset.shown : "";
  const scores = run.evaluations.map(e => `${e.level_set}: ${known(e.solve_rate) ? "solve rate " + number(e.solve_rate) : "return " + number(e.episode_return)} after ${e.iteration} iterations`);
  const videos = run.videos.length === 0 ? null : shown === run.videos.join() ? kept
    : el("div", {class: "videos", "data-shown": run.videos.join()}, run.videos.map(i => videoFigure(id, i)));
  const text = el("pre", {tabindex: "0", role: "log", "aria-label": "the end of the run's log"}, log.text || "no log yet");
  redraw(body, [
    el("p", {class: statusClass(run.condition, run.needs_attention)}, run.condition + (run.reason ? ": " + run.reason : "")),
    run.pinned ? el("p", null, "\u2605 pinned as the sweep's best") : null, run.tags.length ? el("p", null, run.tags.map(tagMark)) : null,
    run.note ? el("p", {class: "note"}, run.note) : null,
    page.overview.control ? el("p", {class: "controls"}, actionButton("stop", {run: id}), actionButton("retry", {run: id})) : null,
    list([["settings", run.label], ["iterations", run.iteration + " of " + run.iterations], ["transitions", count(run.transitions)],
      ["steps/s", count(run.steps_per_second)], ["best score", number(run.best)], ["DDR", count(run.ddr)], ["scores", scores.join("; ")],
      ["trained for", duration(run.train_seconds)], ["started", date(run.started_unix_s)], ["heartbeat", date(run.heartbeat_unix_s)],
      ["where", [run.host, run.device, run.job && "job " + run.job].filter(Boolean).join(", ")], ["begins from", run.parent],
      ["directory", run.directory], ["sweeps", run.sweeps.map(s => s.sweep + "/" + s.index).join(", ")]]),
    videos ? el("h3", null, "Videos of evaluations") : null, videos,
    el("h3", null, "Log"), text,
    run.attempts.length ? el("h3", null, "Attempts") : null, run.attempts.length ? el("ul", null, run.attempts.map(attemptLine)) : null,
    el("details", {open: unfolded}, el("summary", {"data-key": "settings"}, "All settings that are not the default"),
      list(Object.entries(run.not_default || {}).map(([k, v]) => [k, String(v)])))].filter(known));
  text.scrollTop = follows ? text.scrollHeight : before;
}

function openRun(id) {
  openedRun = id;
  byId("run-title").textContent = id;
  byId("run-body").replaceChildren("...");
  if (!byId("run").open) byId("run").showModal();
  fillRun(id).catch(complain);
}

/* ---- what --control allows */
function actionButton(action, what) {
  const words = {stop: "Stop", retry: "Try again"}[action] + (what.run ? " this run" : " this sweep");
  return el("button", {type: "button", "data-key": action, on: {click: async function () {
    if (action === "stop" && !confirm(words + "? What runs writes a checkpoint and ends; trying again goes on from there.")) return;
    try {
      await ask("/api/" + action, {...what, sweep: page.sweep}, true);
      refresh();
    } catch (error) { complain(error); }
  }}}, words);
}
