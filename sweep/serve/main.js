
/* The list of sweeps, the chosen sweep, keys, and polling. */
let isBusy = false, isRequested = false, timer = 0;

/* ---- sweeps */
const statusOrder = ["finished", "stopped by rule", "running", "starting", "suspended", "queued", "held", "pending", "not submitted",
  "stopped", "cancelled", "orphaned", "lost", "out of memory", "time limit", "node failure", "failed", "diverged"];

function statusCounts(sweep) {
  const counts = sweep.condition_count || sweep.count;
  return statusOrder.filter(name => counts[name]).map(name => [name, counts[name]]);
}

function progressBar(done) {
  const inner = el("div");
  inner.style.width = Math.floor(100 * done) + "%";
  return inner;
}

/* The sweep of the address, else the one with most running runs, else one that waits, else the first. */
function sweepToOpen(sweeps, wanted) {
  const running = s => (s.condition_count || s.count).running || 0;
  const most = sweeps.reduce((a, b) => running(b) > running(a) ? b : a, sweeps[0]);
  return sweeps.find(s => s.name === wanted) || (most && running(most) ? most : sweeps.find(s => s.busy)) || sweeps[0];
}

const isTagged = sweep => !page.tag || sweep.tags.includes(page.tag) || sweep.run_tags.includes(page.tag);

/* The choice of a tag; hidden where nothing is tagged. */
function drawTags() {
  const tags = [...new Set(page.overview.sweep.flatMap(s => [...s.tags, ...s.run_tags]))].sort();
  if (!tags.includes(page.tag)) page.tag = "";
  byId("tag-label").hidden = !tags.length;
  setOptions(byId("tag"), [["", "all"], ...tags.map(t => [t, t])], page.tag);
}

/* On a narrow screen the sweeps stand in a row: the chosen one is scrolled into view once. */
function drawSweeps() {
  const host = byId("sweeps"), before = host.scrollLeft;
  redraw(host, page.overview.sweep.filter(isTagged).map(s => el("button", {type: "button", "data-key": s.name,
    "aria-current": s.name === page.sweep ? "true" : null, on: {click: () => openSweep(s.name)}},
    s.name, el("div", {class: "progress", "aria-hidden": "true"}, progressBar(s.done)),
    el("small", null, statusCounts(s).map(([name, n]) => n + " " + name).join(", ") || "no runs"),
    s.tags.map(tagMark))));
  const chosen = host.querySelector("[aria-current]");
  const isNew = chosen && host.dataset.sweep !== page.sweep;
  host.scrollLeft = isNew ? chosen.offsetLeft - host.offsetLeft - 8 : before;
  host.dataset.sweep = page.sweep;
}

const unselected = {chosen: [], status: "", text: "", offset: 0, at: -1, sort: "index", isDescending: false};

function openSweep(name) {
  if (name === page.sweep) return;
  Object.assign(page, unselected, {sweep: name, chosen: []});
  byId("text").value = "";
  page.isStep = true;
  drawSweeps();
  refresh();
}

function toggleStatus(name) {
  page.status = page.status === name ? "" : name;
  page.offset = 0;
  refresh();
}

function summaryText(sweep) {
  return [Math.floor(100 * sweep.done) + " %", sweep.runs + (sweep.runs === 1 ? " run" : " runs"),
    sweep.not_in_file ? sweep.not_in_file + " no longer in the file" : null,
    sweep.steps_per_second > 0 ? count(sweep.steps_per_second) + " steps/s" : null,
    known(sweep.eta_s) ? "ETA " + duration(sweep.eta_s) : null,
    sweep.archived ? "archived on " + sweep.archived + ", checkpoints removed" : null,
    sweep.slurm_problem ? "Slurm: " + sweep.slurm_problem : null].filter(known).join("  \u00b7  ");
}

function failureLine(t) {
  return el("li", null, el("span", {class: "bad"}, t.count + " " + t.status), ": " + t.reason + " ",
    t.run.slice(0, 4).map(id => runLink(id, "t" + id, id.slice(0, 8))));
}

function drawSummary(sweep) {
  byId("summary-title").textContent = sweep.name;
  byId("summary-text").textContent = summaryText(sweep);
  redraw(byId("annotations"), [sweep.tags.map(tagMark),
    sweep.note ? el("span", {class: "note"}, sweep.note + " ") : null,
    sweep.pinned ? runLink(sweep.pinned, "pinned", "\u2605 " + sweep.pinned.slice(0, 8)) : null].flat());
  byId("progress").replaceChildren(progressBar(sweep.done));
  byId("progress").setAttribute("aria-valuenow", Math.floor(100 * sweep.done));
  redraw(byId("counts"), statusCounts(sweep).map(([name, n]) => el("li", null, el("button", {type: "button",
    "data-key": name, "aria-pressed": String(page.status === name), on: {click: () => toggleStatus(name)},
    class: statusClass(name, statusOrder.indexOf(name) >= statusOrder.indexOf("lost"))}, n + " " + name))));
  redraw(byId("failures"), sweep.failures.length ? [el("h3", null, "Failures"),
    el("ul", null, sweep.failures.map(failureLine))] : []);
  redraw(byId("control"), page.overview.control ? [actionButton("stop", {}), actionButton("retry", {})] : []);
  setOptions(byId("status"), ["", "needs attention", ...statusCounts(sweep).map(c => c[0])].map(n =>
    [n, n || "all"]), page.status);
}

/* ---- polling */

async function refreshSweep() {
  const sweep = page.overview.sweep.find(s => s.name === page.sweep), asked = page.sweep;
  for (const id of ["curves", "runs"]) byId(id).hidden = !sweep;
  if (!sweep) {
    for (const id of ["scatter", "search", "compare"]) byId(id).hidden = true;
    return;
  }
  drawSummary(sweep);
  const answer = await ask("/api/runs", {sweep: asked, text: page.text, status: page.status, tag: page.tag,
    sort: page.sort, descending: page.isDescending ? 1 : 0, offset: page.offset, limit: page.limit});
  const compared = await Promise.all(page.chosen.map(id => ask("/api/run", {run: id, sweep: asked})));
  if (asked !== page.sweep) return;
  page.compared = compared.map(r => ({...r, sweepIndex: asked + "/" + r.index}));
  drawRuns(answer);
  drawCompared(page.compared);
  await Promise.all([refreshPanels().then(refreshScatter), refreshSearch(sweep)]);
}

async function actionText() {
  const actions = await ask("/api/actions"), last = actions[0];
  page.hasAction = last && last.state === "running";
  if (!last) return "";
  const reason = last.state === "failed" ? ": " + last.output.trim().split("\n").pop() : "";
  return `  \u00b7  ${last.action} ${last.run || last.sweep}: ${last.state}${reason}`;
}

async function readPage() {
  const o = page.overview = await ask("/api/overview"), action = o.control ? await actionText() : "";
  const sweeps = o.sweep.filter(isTagged);
  byId("root").textContent = o.root;
  byId("state").textContent = `read ${date(o.read_unix_s)} UTC, every ${Math.round(o.interval_s)} s`
    + (o.importing ? ", importing" : "") + action;
  drawTags();
  if (!sweeps.some(s => s.name === page.sweep)) {
    const first = sweepToOpen(sweeps, page.sweep);
    Object.assign(page, unselected, {sweep: first ? first.name : null, chosen: []});
  }
  document.title = (page.sweep ? page.sweep + " \u2013 " : "") + "sweep";
  drawSweeps();
  await refreshSweep();
  if (openedRun) await fillRun(openedRun);
  writeAddress(page.isStep);
  page.isStep = false;
  await refreshViews();
  showProblem(o.problem);
  page.ready = true;
  document.body.dataset.ready = "yes";
}

/* Reads everything that is shown. A call during a reading leads to another one after it. */
async function refresh() {
  isRequested = isBusy;
  if (isBusy) return;
  isBusy = true;
  clearTimeout(timer);
  document.body.dataset.busy = "yes";
  try {
    await readPage();
  } catch (error) {
    showProblem(error instanceof TypeError ? "sweep serve does not answer; check that it is still running." : error);
  }
  isBusy = false;
  if (isRequested) return refresh();
  delete document.body.dataset.busy;
  const pause = page.hasAction ? 1000 : Math.max(3000, 1000 * (page.overview ? page.overview.interval_s : 3));
  if (document.visibilityState === "visible") timer = setTimeout(refresh, pause);
}

/* ---- keys */
const keys = [["j", "next run", () => move(1)], ["k", "previous run", () => move(-1)],
  ["x", "compare the run, or remove it", () => withRun(choose)], ["Enter", "open the run", () => withRun(openRun)],
  ["c", "clear the comparison", () => compareRuns([])], ["/", "filter runs", () => byId("text").focus()],
  ["n", "next page of runs", () => turnPage(1)], ["p", "previous page of runs", () => turnPage(-1)],
  ["]", "next sweep", () => stepSweep(1)], ["[", "previous sweep", () => stepSweep(-1)],
  ["l", "logarithmic y axis", () => byId("log-y").click()], ["s", "single runs", () => byId("single").click()],
  ["m", "add a metric", () => byId("column").focus()], ["0", "show all of the axis", () => zoom()], ["v", "share or save this view", () => openViews()],
  ["t", "choose a tag", () => byId("tag").focus()],
  ["r", "refresh", () => refresh()], ["?", "show the keys", () => byId("help").showModal()],
  ["Escape", "close, or leave a field", () => document.activeElement.blur()]];

function move(step) {
  page.at = Math.max(0, Math.min(page.rows.length - 1, page.at + step));
  redraw(byId("run-rows"), page.rows.map(runRow));
  const row = byId("run-rows").children[page.at];
  if (row) row.scrollIntoView({block: "nearest"});
}

function withRun(act) { if (page.rows[page.at]) act(page.rows[page.at].run); }

function turnPage(step) {
  const offset = page.offset + step * page.limit;
  if (offset < 0 || offset >= (page.matching || 0)) return;
  page.offset = offset;
  page.at = 0;
  refresh();
}

function stepSweep(step) {
  const names = page.overview ? page.overview.sweep.filter(isTagged).map(s => s.name) : [];
  const next = names[names.indexOf(page.sweep) + step];
  if (next) openSweep(next);
}

document.addEventListener("keydown", function (e) {
  const tag = e.target.tagName, isText = tag === "INPUT" && !["checkbox", "range"].includes(e.target.type);
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
  if (e.key !== "Escape" && (isText || tag === "SELECT")) return;
  if (e.key === "Enter" && ["BUTTON", "A", "SUMMARY", "svg"].includes(tag)) return;
  const key = keys.find(k => k[0] === e.key);
  if (!key) return;
  e.preventDefault();
  key[2]();
});

/* ---- start */

/* Calls `change` with the element for each change of a form element. */
function onChange(id, change) { byId(id).addEventListener("change", e => { change(e.target); refresh(); }); }

byId("keys").append(...keys.map(([key, words]) =>
  el("tr", null, el("th", {scope: "row"}, el("kbd", null, key)), el("td", null, words))));
byId("help-button").addEventListener("click", () => byId("help").showModal());
byId("help-close").addEventListener("click", () => byId("help").close());
byId("run-close").addEventListener("click", () => byId("run").close());
byId("run").addEventListener("close", () => {
  openedRun = null;
  writeAddress();
});
byId("zoom-out").addEventListener("click", () => zoom());
byId("brush-clear").addEventListener("click", () => {
  study.brushes = {};
  refresh();
});
byId("clear").addEventListener("click", () => compareRuns([]));
byId("previous").addEventListener("click", () => turnPage(-1));
byId("next").addEventListener("click", () => turnPage(1));
onChange("status", e => Object.assign(page, {status: e.value, offset: 0}));
onChange("tag", e => Object.assign(page, {tag: e.value, offset: 0}));
onChange("group", e => Object.assign(view, {group: e.value, hidden: new Set()}));
onChange("x", e => Object.assign(view, {x: e.value, zoom: null}));
onChange("color", e => { view.color = e.value; });
onChange("log-x", e => { view.logX = e.checked; });
onChange("log-y", e => { view.logY = e.checked; });
onChange("single", e => { view.runs = e.checked; });
onChange("search-name", e => Object.assign(study, {name: e.value, brushes: {}}));
onChange("column", e => { if (e.value) view.metrics = [...shownMetrics(), e.value].slice(-METRICS_MAX); });
let sliding = 0;
byId("smooth").addEventListener("input", function (e) {
  view.smooth = Number(e.target.value) / 100;
  byId("smooth-text").textContent = view.smooth ? e.target.value + " %" : "off";
  for (const panel of byId("panels").children) if (panel.answer) drawPanel(panel, panel.answer);
  clearTimeout(sliding);
  sliding = setTimeout(writeAddress, 300);
});
let typing = 0;
byId("text").addEventListener("input", function (e) {
  clearTimeout(typing);
  typing = setTimeout(() => { Object.assign(page, {text: e.target.value, offset: 0}); refresh(); }, 200);
});
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") refresh(); });
isDark.addEventListener("change", refresh);
let resizing = 0;
addEventListener("resize", function () {
  clearTimeout(resizing);
  resizing = setTimeout(refresh, 200);
});
addEventListener("hashchange", function () {
  if (hashNow() === addressOf()) return;
  applyAddress(hashNow());
  refresh();
});
const isNarrow = matchMedia("(max-width: 760px)");
const openOptions = () => { byId("options").open = !isNarrow.matches; };
isNarrow.addEventListener("change", openOptions);
openOptions();
if (hashNow()) applyAddress(hashNow());
refresh();
