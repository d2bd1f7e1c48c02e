
/* The list of runs, those compared, and one run in full. */
const CHOSEN_MOST = 12;
const heads = [["", null], ["index", "index"], ["run", null], ["settings", null], ["status", "status"], ["done", "iteration"],
  ["best score", "best"], ["last score", "last"], ["DDR", "ddr"], ["steps/s", "speed"], ["reason", null]];
const isNumber = name => ["index", "done", "best score", "last score", "DDR", "steps/s"].includes(name);

/* Draws anew and gives the focus back to the element with the same data-key. */
function redraw(host, nodes) {
  const key = host.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  host.replaceChildren(...nodes);
  if (key) for (const node of host.querySelectorAll("[data-key]")) if (node.dataset.key === key) node.focus({preventScroll: true});
}

function drawHeads() {
  redraw(byId("run-heads"), heads.map(function ([name, key]) {
    const head = el("th", {scope: "col", class: isNumber(name) ? "number" : null,
      "aria-sort": key === page.sort ? (page.falling ? "descending" : "ascending") : null});
    if (!key) head.append(name || el("span", {class: "muted", title: "compare"}, "+"));
    else head.append(el("button", {type: "button", "data-key": key, on: {click: function () {
      page.falling = page.sort === key ? !page.falling : key !== "index" && key !== "status";
      page.sort = key;
      page.offset = 0;
      drawHeads();
      refresh();
    }}}, name + (key === page.sort ? (page.falling ? " \u2193" : " \u2191") : "")));
    return head;
  }));
}

function runRow(run, place) {
  const chosen = page.chosen.includes(run.run);
  const cell = (name, value, kind) => el("td", {class: kind || (isNumber(name) ? "number" : null)}, value);
  return el("tr", {class: (place === page.at ? "at " : "") + (chosen ? "chosen" : ""), "data-run": run.run},
    el("td", null, el("input", {type: "checkbox", "aria-label": "compare run " + run.index, checked: chosen ? "" : null, "data-key": "c" + run.run,
      on: {change: () => choose(run.run)}})),
    cell("index", String(run.index)),
    el("td", null, el("button", {type: "button", class: "open-run", "data-key": "o" + run.run, "aria-label": "run " + run.run,
      on: {click: () => openRun(run.run)}}, run.run.slice(0, 8))),
    cell("settings", run.label), el("td", {class: statusClass(run.standing, run.trouble)}, run.standing),
    cell("done", known(run.iterations) && run.iterations > 0 ? run.iteration + " / " + run.iterations : ""),
    cell("best score", number(run.best)), cell("last score", number(run.last)), cell("DDR", count(run.ddr)),
    cell("steps/s", count(run.steps_per_second)), cell("reason", run.reason || "", "reason"));
}

function drawRuns(answer) {
  page.rows = answer.run;
  page.matching = answer.matching;
  if (page.at >= page.rows.length) page.at = page.rows.length - 1;
  redraw(byId("run-rows"), page.rows.length ? page.rows.map(runRow)
    : [el("tr", null, el("td", {colspan: heads.length, class: "muted"}, answer.runs ? "no run passes the filter" : "no runs"))]);
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
  const rows = [["status", r => r.standing], ["done", r => r.iteration + " / " + r.iterations], ["best score", r => number(r.best)],
    ["last score", r => number(r.last)], ["DDR", r => count(r.ddr)], ["steps/s", r => count(r.steps_per_second)],
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
    el("p", {class: statusClass(run.standing, run.trouble)}, run.standing + (run.reason ? ": " + run.reason : "")),
    page.overview.control ? el("p", {class: "controls"}, actionButton("stop", {run: id}), actionButton("retry", {run: id})) : null,
    list([["settings", run.label], ["iterations", run.iteration + " of " + run.iterations], ["transitions", count(run.transitions)],
      ["steps/s", count(run.steps_per_second)], ["best score", number(run.best)], ["DDR", count(run.ddr)], ["scores", scores.join("; ")],
      ["trained for", duration(run.train_seconds)], ["started", date(run.started_unix_s)], ["heartbeat", date(run.heartbeat_unix_s)],
      ["where", [run.host, run.device, run.job && "job " + run.job].filter(Boolean).join(", ")], ["begins from", run.parent],
      ["folder", run.folder], ["sweeps", run.sweeps.map(s => s.sweep + "/" + s.index).join(", ")]]),
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
