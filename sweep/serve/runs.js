
/* The table of runs, the compared runs, and one run in full. */
const CHOSEN_MAX = 12, SETTINGS_MAX = 20;

const tagMark = tag => el("span", {class: "tag"}, tag);

/* A button that opens a run. */
function runLink(id, key, ...content) {
  return el("button", {type: "button", class: "open-run", "data-key": key, on: {click: () => openRun(id)}}, ...content);
}

function runCell(run) {
  const link = runLink(run.run, "o" + run.run, run.run.slice(0, 8));
  link.setAttribute("aria-label", "run " + run.run + (run.pinned ? ", pinned" : ""));
  return [link, run.pinned ? el("span", {class: "pin", title: "pinned as the sweep's best"}, " \u2605") : null];
}

/* Iterations, or steps of a program, which counts its budget in steps. */
function doneText(run) {
  if (!(run.iterations > 0)) return run.iteration ? String(run.iteration) : "";
  if (run.iterations === run.transitions_total) return count(run.transitions) + " / " + count(run.iterations);
  return run.iteration + " / " + run.iterations;
}

/* The columns of the table: those of settings, tags and reasons only where the runs have some. */
function tableColumns(rows) {
  const first = rows.find(r => r.settings), names = first ? Object.keys(first.settings).slice(0, SETTINGS_MAX) : [];
  const value = (r, name) => (r.settings || {})[name];
  const isNumber = name => rows.every(r => typeof value(r, name) !== "string");
  return [
    {name: "index", key: "index", isNumber: true, get: r => String(r.index)},
    {name: "run", key: "run", kind: "run", get: runCell},
    ...names.map(name => ({name: keyLabel(name), key: name, title: name, isNumber: isNumber(name),
      get: r => known(value(r, name)) ? settingText(value(r, name)) : ""})),
    {name: "status", key: "status",
      get: r => el("span", {class: statusClass(r.condition, r.needs_attention)}, r.condition)},
    {name: "done", key: "iteration", title: "iterations, or steps of a program", isNumber: true,
      get: doneText},
    {name: "best", key: "best", title: "best score", isNumber: true, get: r => number(r.best)},
    {name: "last", key: "last", title: "last score", isNumber: true, get: r => number(r.last)},
    rows.some(r => known(r.ddr)) ? {name: "DDR", key: "ddr", title: "data-to-divergence ratio", isNumber: true,
      get: r => count(r.ddr)} : null,
    {name: "steps/s", key: "speed", isNumber: true, get: r => count(r.steps_per_second)},
    rows.some(r => r.tags.length) ? {name: "tags", key: "tags", get: r => r.tags.map(tagMark)} : null,
    rows.some(r => r.reason || r.note) ? {name: "reason", key: "reason", kind: "reason",
      get: r => [r.reason || null, r.note ? el("div", {class: "note"}, r.note) : null]} : null].filter(known);
}

function headCell(column) {
  const isSorted = column.key === page.sort, arrow = isSorted ? (page.isDescending ? " \u2193" : " \u2191") : "";
  return el("th", {scope: "col", class: column.isNumber ? "number" : null,
    "aria-sort": isSorted ? (page.isDescending ? "descending" : "ascending") : null},
    el("button", {type: "button", "data-key": column.key, title: column.title || null,
      on: {click: () => sortBy(column.key)}}, column.name + arrow));
}

function sortBy(key) {
  const isHighFirst = ["iteration", "best", "last", "ddr", "speed"].includes(key);
  page.isDescending = page.sort === key ? !page.isDescending : isHighFirst;
  page.sort = key;
  page.offset = 0;
  refresh();
}

function runRow(run, place) {
  const isChosen = page.chosen.includes(run.run);
  return el("tr", {class: (place === page.at ? "at " : "") + (isChosen ? "chosen" : ""), "data-run": run.run},
    el("td", null, el("input", {type: "checkbox", "aria-label": "compare run " + run.index, "data-key": "c" + run.run,
      checked: isChosen ? "" : null, on: {change: () => choose(run.run)}})),
    page.columns.map(column => el("td", {class: column.isNumber ? "number" : column.kind, "data-column": column.key},
      column.get(run))));
}

function drawRuns(answer) {
  page.rows = answer.run;
  page.keys = answer.keys;
  page.matching = answer.matching;
  page.columns = tableColumns(answer.run);
  if (page.at >= page.rows.length) page.at = page.rows.length - 1;
  redraw(byId("run-heads"), [el("th", {scope: "col"}, el("span", {class: "muted", title: "compare"}, "+")),
    ...page.columns.map(headCell)]);
  redraw(byId("run-rows"), page.rows.length ? page.rows.map(runRow)
    : [el("tr", null, el("td", {colspan: page.columns.length + 1, class: "muted"},
      answer.runs ? "no run passes the filter" : "no runs"))]);
  const last = Math.min(answer.offset + page.limit, answer.matching);
  byId("range").textContent = answer.matching ? `${answer.offset + 1} to ${last} of ${answer.matching}` : "none";
  byId("previous").disabled = answer.offset === 0;
  byId("next").disabled = last >= answer.matching;
}

/* ---- comparison */

function choose(run) {
  if (page.chosen.includes(run)) page.chosen = page.chosen.filter(r => r !== run);
  else if (page.chosen.length < CHOSEN_MAX) page.chosen.push(run);
  else showProblem(`At most ${CHOSEN_MAX} runs can be compared; clear some first (c).`);
  redraw(byId("run-rows"), page.rows.map(runRow));
  refresh();
}

function compareRuns(runs) {
  page.chosen = runs.slice(0, CHOSEN_MAX);
  refresh();
}

/* A column per run: results, then the settings in which the runs differ. */
function drawCompared(runs) {
  byId("compare").hidden = runs.length === 0;
  if (!runs.length) return;
  const value = (r, n) => (r.settings || {})[n], text = (r, n) => known(value(r, n)) ? settingText(value(r, n)) : "";
  const names = [...new Set(runs.flatMap(r => Object.keys(r.settings || {})))];
  const differing = names.filter(n => runs.some(r => text(r, n) !== text(runs[0], n)));
  const notes = [["tags", r => r.tags.join(", ")], ["note", r => r.note || ""]].filter(row => runs.some(row[1]));
  const rows = [["status", r => r.condition], ["done", doneText],
    ["best score", r => number(r.best)], ["last score", r => number(r.last)], ["DDR", r => count(r.ddr)],
    ["steps/s", r => count(r.steps_per_second)], ...notes,
    ...differing.map(n => [keyLabel(n), r => text(r, n)])];
  const heads = runs.map((r, place) => el("th", {scope: "col"},
    sampleLine(paletteColor(place), dashes(place / palette.length)), runLink(r.run, r.run, " " + r.sweepIndex)));
  redraw(byId("compare-table"), [el("thead", null, el("tr", null, el("th", {scope: "col"}, ""), heads)),
    el("tbody", null, rows.map(([name, get]) =>
      el("tr", null, el("th", {scope: "row"}, name), runs.map(r => el("td", {class: "number"}, get(r))))))]);
}

/* ---- one run */
let openedRun = null;

function listPairs(pairs) {
  return el("dl", null, pairs.filter(p => known(p[1]) && p[1] !== "")
    .map(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
}

function attemptLine(a) {
  const where = [a.host, a.device].filter(Boolean).join(" ");
  return el("li", null, `${a.attempt}: ${a.status || "running"}, ${date(a.started)} to ${date(a.finished) || "now"}`
    + (where ? ", " + where : "") + (a.message ? ": " + a.message : ""));
}

function videoFigure(run, iteration) {
  const image = el("img", {alt: "the agent after " + iteration + " iterations", width: 220});
  picture(run, iteration).then(address => { image.src = address; }, error => image.replaceWith(String(error.message)));
  return el("figure", null, image, el("figcaption", null, "after " + iteration + " iterations"));
}

function scoreText(e) {
  const score = known(e.solve_rate) ? "solve rate " + number(e.solve_rate) : "return " + number(e.episode_return);
  return `${e.level_set}: ${score} after ${e.iteration} iterations`;
}

function factsOf(run) {
  return listPairs([["settings", runLabel(run)], ["done", doneText(run)],
    ["transitions", count(run.transitions)], ["steps/s", count(run.steps_per_second)], ["best score", number(run.best)],
    ["DDR", count(run.ddr)], ["scores", run.evaluations.map(scoreText).join("; ")],
    ["trained for", duration(run.train_seconds)], ["started", date(run.started_unix_s)],
    ["heartbeat", date(run.heartbeat_unix_s)],
    ["host", [run.host, run.device, run.job && "job " + run.job].filter(Boolean).join(", ")],
    ["parent", run.parent], ["directory", run.directory],
    ["sweeps", run.sweeps.map(s => s.sweep + "/" + s.index).join(", ")]]);
}

/* Videos stay in place while the rest is replaced, so that they play on. */
function videosOf(run, before) {
  const names = run.videos.join();
  if (!run.videos.length) return null;
  if (before && before.dataset.shown === names) return before;
  return el("div", {class: "videos", "data-shown": names}, run.videos.map(i => videoFigure(run.run, i)));
}

/* Its curves: those of the panels of the page, of this run alone. They stay in place while they do not change. */
async function runCurves(id, host) {
  const metrics = shownMetrics();
  const found = await Promise.all(metrics.map(column => ask("/api/curves", {run: id, column, x: view.x, points: 300})));
  const panels = metrics.map(function (name, i) {
    const before = [...host.children].find(p => p.dataset.column === name && p.answer === found[i]);
    const title = view.titles[name] || columnTitle(columnOf(name));
    return before || Object.assign(el("figure", {class: "panel", "data-column": name},
      el("figcaption", null, el("span", {class: "title"}, title)), el("div", {class: "chart"})), {answer: found[i]});
  });
  if (panels.some((panel, i) => host.children[i] !== panel) || host.children.length !== panels.length)
    host.replaceChildren(...panels);

  panels.forEach(function (panel, i) {
    const chart = panel.lastChild, curve = found[i].curve[0], isLog = (columnOf(metrics[i]) || {}).log || view.logY;
    if (chart.hasChildNodes()) return;
    if (!curve || !curve.x.length) return chart.append(el("p", {class: "muted"}, "no value yet"));
    drawLines(chart, [{name: panel.firstChild.textContent, x: curve.x, y: smooth(curve.y, view.smooth, isLog), color: paletteColor(0)}],
      {logX: view.logX, logY: isLog, xName: axisNames[view.x], height: 190,
        label: panel.firstChild.textContent + " of this run; left and right move the cursor"});
  });
}

/* ---- what it used */
const resourceCharts = [["CPUs", 1, "cpus", 1], ["memory (GB)", 2, "memory_mb", 1024], ["GPU busy (%)", 3, null, 1],
  ["GPU memory (GB)", 4, "gpu_memory_mb", 1024]];
const LEVEL_FACTOR_MAX = 5;

/* What it used against time, beside what it asked for. A machine's size is drawn if it is not far above. */
function drawResource(host, points, asked, [title, place, key, unit]) {
  const x = points.map(p => (p[0] - points[0][0]) / 60), y = points.map(p => known(p[place]) ? p[place] / unit : null);
  const level = key && asked[key] ? asked[key] / unit : 0, most = Math.max(...y.filter(known));
  const name = asked.slurm && key !== "gpu_memory_mb" ? "asked for" : key === "gpu_memory_mb" ? "the GPU has" : "the machine has";
  const lines = [{name: "used", x, y, color: paletteColor(0)}];
  if (level && (asked.slurm || level < LEVEL_FACTOR_MAX * most))
    lines.push({name, x: [x[0], x[x.length - 1]], y: [level, level], color: paletteColor(1), dash: "7 3"});
  const figure = el("figure", {class: "panel", "data-resource": title}, el("figcaption", null,
    el("span", {class: "title"}, title), el("span", null, lines.length > 1 ? name + " " + number(level) : "")),
    el("div", {class: "chart"}));
  host.append(figure);
  drawLines(figure.lastChild, lines, {xName: "minutes", yFromZero: true, height: 170, label: title + " that the run used"});
}

function drawResources(answer, host, advice) {
  advice.textContent = answer.advice || "nothing was measured: the run was too short, or has not begun";
  if (host.answer === answer) return;
  host.answer = answer;
  host.replaceChildren();
  if (answer.point.length < 2) return;
  for (const chart of resourceCharts)
    if (answer.point.some(p => known(p[chart[1]]))) drawResource(host, answer.point, answer.asked, chart);
}

/* The parts of the dialog that are kept while the rest is replaced. */
function keptPart(body, name) {
  return body.querySelector("." + name) || el("div", {class: "panels " + name});
}

async function fillRun(id) {
  const asked = {run: id, sweep: page.sweep};
  const [run, log, used] = await Promise.all([ask("/api/run", asked), ask("/api/log", asked), ask("/api/resources", asked)]);
  if (openedRun !== id) return;
  const body = byId("run-body"), old = body.querySelector("pre"), scroll = old ? old.scrollTop : 0;
  const isAtEnd = !old || old.scrollTop + old.clientHeight >= old.scrollHeight - 4;
  const isOpen = body.querySelector("details[open]") ? "" : null;
  const videos = videosOf(run, body.querySelector(".videos")), curves = keptPart(body, "run-curves");
  const resources = keptPart(body, "run-resources"), advice = el("p", {id: "resources-advice"});
  const text = el("pre", {tabindex: "0", role: "log", "aria-label": "the end of the run's log"},
    log.text || "no log yet");
  byId("run-title").textContent = page.sweep + "/" + run.index + "  " + run.run;
  redraw(body, [
    el("p", {class: statusClass(run.condition, run.needs_attention)},
      run.condition + (run.reason ? ": " + run.reason : "")),
    run.pinned ? el("p", null, "\u2605 pinned as the sweep's best") : null,
    run.tags.length ? el("p", null, run.tags.map(tagMark)) : null,
    run.note ? el("p", {class: "note"}, run.note) : null,
    page.overview.control ? el("p", {class: "controls"}, ["stop", "retry"].map(a => actionButton(a, {run: id}))) : null,
    factsOf(run), el("h3", null, "Curves"), curves, el("h3", null, "Resources"), advice, resources, videos ? el("h3", null, "Videos of evaluations") : null, videos, el("h3", null, "Log"), text,
    run.attempts.length ? el("h3", null, "Attempts") : null,
    run.attempts.length ? el("ul", null, run.attempts.map(attemptLine)) : null,
    el("details", {open: isOpen},
      el("summary", {"data-key": "settings"}, "All settings that differ from their defaults"),
      listPairs(Object.entries(run.not_default || {}).map(([k, v]) => [k, String(v)])))]);
  text.scrollTop = isAtEnd ? text.scrollHeight : scroll;
  drawResources(used, resources, advice);
  await runCurves(id, curves);
}

function openRun(id) {
  openedRun = id;
  byId("run-title").textContent = id;
  byId("run-body").replaceChildren("...");
  if (!byId("run").open) byId("run").showModal();
  if (page.ready) fillRun(id).then(() => writeAddress()).catch(showProblem); /* else at the end of the first reading */
}

/* ---- --control */

function actionButton(action, what) {
  const words = {stop: "Stop", retry: "Retry"}[action] + (what.run ? " this run" : " this sweep");
  const question = words + "? Running jobs write a checkpoint and end; retry continues from there.";
  return el("button", {type: "button", "data-key": action, on: {click: async function () {
    if (action === "stop" && !confirm(question)) return;
    try {
      await ask("/api/" + action, {...what, sweep: page.sweep}, true);
      refresh();
    } catch (error) { showProblem(error); }
  }}}, words);
}
