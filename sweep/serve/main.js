
/* What is shown when: the list of sweeps, the chosen one, keys, and the clock that asks for news. */
let busy = false, again = false, timer = 0, columnWords = {};

/* ---- sweeps */
const order = ["finished", "stopped by rule", "running", "starting", "queued", "held", "pending", "not submitted", "stopped", "cancelled", "orphaned", "lost", "out of memory",
  "time limit", "node failure", "failed", "diverged"];
function countsOf(sweep) {
  const counts = sweep.condition_count || sweep.count;
  return order.filter(name => counts[name]).map(name => [name, counts[name]]);
}

function bar(done) {
  const inner = el("div");
  inner.style.width = Math.floor(100 * done) + "%";
  return inner;
}


/* The one of the address, else that with most runs that train, else one that waits, else the first. */
function sweepToOpen(sweeps, wanted) {
  const running = s => (s.condition_count || s.count).running || 0, most = sweeps.reduce((a, b) => running(b) > running(a) ? b : a, sweeps[0]);
  return sweeps.find(s => s.name === wanted) || (most && running(most) ? most : sweeps.find(s => s.busy)) || sweeps[0];
}

const isTagged = sweep => !page.tag || sweep.tags.includes(page.tag) || sweep.run_tags.includes(page.tag);

/* Hidden where nothing is tagged. */
function drawTags() {
  const tags = [...new Set(page.overview.sweep.flatMap(s => [...s.tags, ...s.run_tags]))].sort(), choice = byId("tag");
  if (!tags.includes(page.tag)) page.tag = "";
  byId("tag-label").hidden = !tags.length;
  if (choice.dataset.names !== tags.join()) choice.replaceChildren(...["", ...tags].map(t => el("option", {value: t}, t || "all")));
  choice.dataset.names = tags.join();
  choice.value = page.tag;
}

/* On a narrow screen they stand side by side: the chosen one is brought into view once. */
function drawSweeps() {
  const host = byId("sweeps"), before = host.scrollLeft;
  redraw(host, page.overview.sweep.filter(isTagged).map(s => el("button", {type: "button", "data-key": s.name,
    "aria-current": s.name === page.sweep ? "true" : null, on: {click: () => openSweep(s.name)}},
    s.name, el("div", {class: "progress", "aria-hidden": "true"}, bar(s.done)),
    el("small", null, countsOf(s).map(([name, n]) => n + " " + name).join(", ") || "no runs"),
    s.tags.map(tagMark))));
  const chosen = host.querySelector("[aria-current]");
  host.scrollLeft = chosen && host.dataset.sweep !== page.sweep ? chosen.offsetLeft - host.offsetLeft - 8 : before;
  host.dataset.sweep = page.sweep;
}

function openSweep(name) {
  if (name === page.sweep) return;
  Object.assign(page, {sweep: name, chosen: [], status: "", text: "", offset: 0, at: -1, sort: "index", falling: false});
  byId("text").value = "";
  location.hash = name;
  drawSweeps();
  refresh();
}

function toggleStatus(name) {
  page.status = page.status === name ? "" : name;
  page.offset = 0;
  refresh();
}

function drawSummary(sweep) {
  byId("summary-title").textContent = sweep.name;
  const words = [Math.floor(100 * sweep.done) + " %", sweep.runs + (sweep.runs === 1 ? " run" : " runs"), sweep.not_in_file ? sweep.not_in_file + " no longer in the file" : null,
    sweep.steps_per_second > 0 ? count(sweep.steps_per_second) + " steps/s" : null, known(sweep.eta_s) ? "ETA " + duration(sweep.eta_s) : null,
    sweep.archived ? "archived on " + sweep.archived + ": its checkpoints are gone" : null, sweep.slurm_problem ? "Slurm: " + sweep.slurm_problem : null];
  byId("summary-text").textContent = words.filter(known).join("  \u00b7  ");
  redraw(byId("annotations"), [sweep.tags.map(tagMark), sweep.note ? el("span", {class: "note"}, sweep.note + " ") : null, sweep.pinned ? el("button", {type: "button",
    class: "open-run", "data-key": "pinned", on: {click: () => openRun(sweep.pinned)}}, "\u2605 " + sweep.pinned.slice(0, 8)) : null].flat().filter(known));
  byId("progress").replaceChildren(bar(sweep.done));
  byId("progress").setAttribute("aria-valuenow", Math.floor(100 * sweep.done));
  redraw(byId("counts"), countsOf(sweep).map(([name, n]) => el("li", null, el("button", {type: "button", "data-key": name,
    "aria-pressed": String(page.status === name), class: statusClass(name, order.indexOf(name) >= order.indexOf("lost")),
    on: {click: () => toggleStatus(name)}}, n + " " + name))));
  redraw(byId("failures"), sweep.failures.length ? [el("h3", null, "Failures"), el("ul", null, sweep.failures.map(t => el("li", null,
    el("span", {class: "bad"}, t.count + " " + t.status), ": " + t.reason + " ", t.run.slice(0, 4).map(id => el("button", {type: "button",
      class: "open-run", "data-key": "t" + id, on: {click: () => openRun(id)}}, id.slice(0, 8))))))] : []);
  redraw(byId("control"), page.overview.control ? [actionButton("stop", {}), actionButton("retry", {})] : []);
  drawStatusChoice(sweep);
}

function drawStatusChoice(sweep) {
  const choice = byId("status"), names = ["", "needs attention", ...countsOf(sweep).map(c => c[0])];
  if (choice.dataset.names !== names.join()) {
    choice.replaceChildren(...names.map(n => el("option", {value: n}, n || "all")));
    choice.dataset.names = names.join();
  }
  choice.value = names.includes(page.status) ? page.status : "";
}

/* ---- news */
const labelOf = id => { const run = page.rows.find(r => r.run === id) || page.compared.find(r => r.run === id); return run ? run.index + " " + run.label : id; };

async function refreshCharts() {
  const runs = page.chosen.length ? page.chosen : page.rows.slice(0, 10).map(r => r.run), column = byId("column").value || "score", x = byId("x").value;
  const [curves, scatter] = await Promise.all([runs.length ? ask("/api/curves", {run: runs.join(), column, x, points: 200}) : {curve: []},
    ask("/api/scatter", {sweep: page.sweep})]);
  const unit = curves.unit ? " (" + curves.unit + ")" : "", drawn = curves.curve.filter(c => c.x.length);
  byId("curve-chart").hidden = !drawn.length;
  if (!drawn.length) byId("curve-chart").replaceChildren();
  else drawCurves(byId("curve-chart"), curves.curve, {logY: byId("log").checked, xName: x === "iteration" ? "iterations" : "environment transitions",
    yName: column + unit, label: column + " against " + x + "; left and right arrows move the cursor"}, labelOf);
  byId("curves-note").textContent = (page.chosen.length ? "the compared runs" : "the first runs of the list; check runs to compare them") +
    (drawn.length < curves.curve.length ? ", " + (curves.curve.length - drawn.length) + " without a value" : "");
  byId("curves-note").title = columnWords[column] || "";
  redraw(byId("legend"), curves.curve.map((c, place) => el("li", null, el("button", {type: "button", "data-key": c.run, on: {click: () => openRun(c.run)}},
    sample(place), labelOf(c.run)))));
  byId("scatter-note").textContent = scatter.point.length < scatter.measured ? scatter.point.length + " of " + scatter.measured + " runs are drawn; click a dot to compare its run"
    : scatter.measured ? scatter.measured + " of " + scatter.runs + " runs have both; click a dot to compare its run" : "no run has both yet";
  byId("scatter-chart").hidden = !scatter.measured;
  redraw(byId("scatter-legend"), scatterLegend(scatter.point));
  if (scatter.measured) drawScatter(byId("scatter-chart"), scatter.point, page.chosen, choose);
}

async function refreshSweep() {
  const sweep = page.overview.sweep.find(s => s.name === page.sweep);
  byId("curves").hidden = byId("scatter").hidden = byId("runs").hidden = !sweep;
  if (!sweep) return;
  drawSummary(sweep);
  const asked = page.sweep;
  const answer = await ask("/api/runs", {sweep: page.sweep, text: page.text, status: page.status, tag: page.tag, sort: page.sort, descending: page.falling ? 1 : 0,
    offset: page.offset, limit: page.limit});
  page.compared = await Promise.all(page.chosen.map(id => ask("/api/run", {run: id, sweep: asked})));
  if (asked !== page.sweep) return;
  page.compared.forEach(r => { r.sweepIndex = asked + "/" + r.index; });
  drawRuns(answer);
  drawCompared(page.compared);
  await refreshCharts();
}

async function showActions() {
  const actions = await ask("/api/actions"), last = actions[0];
  page.action = last && last.state === "running";
  return last ? `  \u00b7  ${last.action} ${last.run || last.sweep}: ${last.state}${last.state === "failed" ? ": " + last.output.trim().split("\n").pop() : ""}` : "";
}

async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  clearTimeout(timer);
  try {
    page.overview = await ask("/api/overview");
    const o = page.overview, said = o.control ? await showActions() : "";
    byId("root").textContent = o.root;
    byId("state").textContent = "read " + date(o.read_unix_s) + " UTC, each " + Math.round(o.interval_s) + " s" + (o.importing ? ", importing" : "") + said;
    drawTags();
    const sweeps = o.sweep.filter(isTagged);
    if (!sweeps.some(s => s.name === page.sweep)) {
      const first = sweepToOpen(sweeps, decodeURIComponent(location.hash.slice(1)));
      Object.assign(page, {sweep: first ? first.name : null, chosen: [], status: "", offset: 0, at: -1, sort: "index", falling: false});
    }
    document.title = (page.sweep ? page.sweep + " \u2013 " : "") + "sweep";
    drawSweeps();
    await refreshSweep();
    if (openedRun) await fillRun(openedRun);
    complain(o.problem);
    page.ready = true;
    document.body.dataset.ready = "yes";
  } catch (error) {
    complain(error instanceof TypeError ? "sweep serve does not answer; is it still running?" : error);
  }
  busy = false;
  const pause = page.action ? 1000 : Math.max(3000, 1000 * (page.overview ? page.overview.interval_s : 3));
  if (again) { again = false; refresh(); }
  else if (document.visibilityState === "visible") timer = setTimeout(refresh, pause);
}

/* ---- keys */
const keys = [["j", "next run", () => move(1)], ["k", "run before", () => move(-1)], ["x", "compare the run, or leave it out", () => withRun(choose)],
  ["Enter", "open the run", () => withRun(openRun)], ["c", "compare none", () => clearChosen()], ["/", "filter", () => byId("text").focus()],
  ["n", "next page of runs", () => turn(1)], ["p", "page of runs before", () => turn(-1)], ["]", "next sweep", () => step(1)], ["[", "sweep before", () => step(-1)],
  ["l", "logarithmic curves", () => byId("log").click()], ["m", "choose a measure", () => byId("column").focus()], ["t", "choose a tag", () => byId("tag").focus()], ["r", "read again", () => refresh()],
  ["?", "this list", () => byId("help").showModal()], ["Escape", "close, or leave a field", () => document.activeElement.blur()]];

function move(by) {
  page.at = Math.max(0, Math.min(page.rows.length - 1, page.at + by));
  redraw(byId("run-rows"), page.rows.map(runRow));
  const row = byId("run-rows").children[page.at];
  if (row) row.scrollIntoView({block: "nearest"});
}

function withRun(act) { if (page.rows[page.at]) act(page.rows[page.at].run); }

function clearChosen() { page.chosen = []; refresh(); }

function turn(by) {
  const offset = page.offset + by * page.limit;
  if (offset < 0 || offset >= (page.matching || 0)) return;
  page.offset = offset;
  page.at = 0;
  refresh();
}

function step(by) {
  const names = page.overview ? page.overview.sweep.filter(isTagged).map(s => s.name) : [], at = names.indexOf(page.sweep) + by;
  if (names[at]) openSweep(names[at]);
}

document.addEventListener("keydown", function (e) {
  const tag = e.target.tagName, types = tag === "INPUT" && e.target.type !== "checkbox";
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
  if (e.key !== "Escape" && (types || tag === "SELECT" || tag === "TEXTAREA")) return;
  if (e.key === "Enter" && (tag === "BUTTON" || tag === "A" || tag === "SUMMARY" || tag === "svg")) return;
  const key = keys.find(k => k[0] === e.key);
  if (!key) return;
  e.preventDefault();
  key[2]();
});

/* ---- begin */
byId("keys").append(...keys.map(([key, words]) => el("tr", null, el("th", {scope: "row"}, el("kbd", null, key)), el("td", null, words))));
byId("help-button").addEventListener("click", () => byId("help").showModal());
byId("help-close").addEventListener("click", () => byId("help").close());
byId("run-close").addEventListener("click", () => byId("run").close());
byId("run").addEventListener("close", () => { openedRun = null; });
byId("clear").addEventListener("click", clearChosen);
byId("previous").addEventListener("click", () => turn(-1));
byId("next").addEventListener("click", () => turn(1));
byId("status").addEventListener("change", e => { page.status = e.target.value; page.offset = 0; refresh(); });
byId("tag").addEventListener("change", e => { page.tag = e.target.value; page.offset = 0; refresh(); });
let typing = 0;
byId("text").addEventListener("input", function (e) {
  clearTimeout(typing);
  typing = setTimeout(() => { page.text = e.target.value; page.offset = 0; refresh(); }, 200);
});
for (const id of ["column", "x", "log"]) byId(id).addEventListener("change", refresh);
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") refresh(); });
window.addEventListener("hashchange", function () {
  const name = decodeURIComponent(location.hash.slice(1));
  if (page.overview && page.overview.sweep.some(s => s.name === name)) openSweep(name);
});
page.compared = [];
ask("/api/columns").then(function (columns) {
  byId("column").append(...columns.map(c => el("option", {value: c.name, title: c.description}, c.name + (c.unit ? " (" + c.unit + ")" : ""))));
  columns.forEach(c => { columnWords[c.name] = c.description; });
}).then(refresh, complain);
