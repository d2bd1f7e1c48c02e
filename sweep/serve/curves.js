
/* Curves of groups of runs as small panels, one per metric, and scores against DDR. */
const view = {metrics: null, group: "", x: "transitions", color: "", smooth: 0, logX: false, logY: false, runs: false,
  zoom: null, hidden: new Set(), columns: [], colors: [], titles: {}, lines: null, sweep: null};
const METRICS_MAX = 12, DEFAULT_METRICS = 4;
const USUAL_METRICS = ["episode_return", "entropy", "explained_variance", "value_loss", "policy_loss"];
const KL_NAME = /(^|[/._-])(approx_?|mean_?)?kl($|[/._-])/i;
const axisNames = {transitions: "environment transitions", iteration: "iterations", wall_seconds: "s of training"};

/* ---- which metrics */

/* The score, the goals that differ from it, KL, and then the usual metrics or a program's own. */
function defaultMetrics() {
  const measured = view.columns.filter(c => c.has_values && c.name !== "score" && !c.is_score);
  const names = measured.map(c => c.name), own = names.filter(name => name.startsWith("metric."));
  const goals = measured.filter(c => c.goal).map(c => c.name);
  const kl = [...names.filter(name => name === "kl"), ...own.filter(name => KL_NAME.test(name))].slice(0, 1);
  const usual = USUAL_METRICS.flatMap(usual => names.filter(name => name === usual || name.endsWith("/" + usual)));
  return [...new Set(["score", ...goals, ...kl, ...usual, ...own])].slice(0, Math.max(DEFAULT_METRICS, goals.length + 2));
}

/* The chosen metrics that the sweep can have, or else the default ones. An empty choice is one, too. */
function shownMetrics() {
  const chosen = (view.metrics || []).filter(name => view.columns.some(c => c.name === name));
  return chosen.length || (view.metrics && !view.metrics.length) ? chosen : defaultMetrics();
}

const columnOf = name => view.columns.find(c => c.name === name);

const columnTitle = c => c.name === "score" ? "score" : c.title;

function drawMetricChoice() {
  const shown = shownMetrics(), rest = view.columns.filter(c => !shown.includes(c.name));
  const options = [...rest.filter(c => c.has_values), ...rest.filter(c => !c.has_values)];
  setOptions(byId("column"), [["", "Add a metric"], ...options.map(c =>
    [c.name, columnTitle(c) + (c.has_values ? "" : " (no value yet)")])], "");
}

function setMetrics(metrics) {
  view.metrics = metrics;
  refresh();
}

/* ---- colors and lines */

/* Colors of things by the chosen setting, as colorsBy: those that figures have for it, where the server knows them. */
function settingColors(values) {
  const table = new Map(view.colors.map(([value, color]) => [value, color[isDark.matches ? 1 : 0]]));
  if (!table.size) return colorsBy(values);
  const present = new Set(values);
  return {colors: values.map(v => table.get(v) || "#808080"), legend: [...table].filter(([value]) => present.has(value))};
}

/* Colors of groups: by the chosen setting where the groups have it, else those of figures and reports. */
function groupColors(answer) {
  const values = answer.group.map(g => g.settings[view.color]);
  if (view.color && values.some(known)) return settingColors(values).colors;
  return answer.group.map(g => g.color[isDark.matches ? 1 : 0]);
}

/* The group that a run belongs to, by its settings; -1: none. */
function groupOf(answer, settings) {
  const isIn = (range, value) => range === null ? !known(value) : range.length === 1 ? value === range[0]
    : value >= range[0] && value <= range[1];
  return answer.group.findIndex(g => Object.entries(g.covers).every(([name, range]) => isIn(range, settings[name])));
}

/* Color and dash of each group: groups of one color differ in dashes. */
function groupLooks(answer) {
  const seen = {};
  return groupColors(answer).map(function (color) {
    seen[color] = (seen[color] || 0) + 1;
    return {color, dash: dashes(seen[color] - 1)};
  });
}

/* Colors of single runs: of the chosen setting, or of their groups. legend: [[name, color]]. */
function runColors(answer, looks) {
  const values = answer.line.map(l => l.settings[view.color]);
  if (!view.color || !values.some(known)) return {colors: answer.line.map(l => looks[l.group].color), legend: []};
  const by = settingColors(values);
  const name = v => keyLabel(view.color) + " " + settingText(v);
  return {colors: by.colors, legend: by.legend.map(([v, color]) => [name(v), color])};
}

/* The label of a group with its long numbers rounded. */
function groupName(answer, g) {
  if (answer.groups === 1) return "all runs";
  return answer.group[g].label.replace(/\d[\d.]*(e-?\d+)?/g, n => n.length > 7 ? number(Number(n)) : n);
}

/* The lines of a panel: each group's mean with its band; single runs thin; compared runs in their own colors. */
function panelLines(answer) {
  const looks = groupLooks(answer), isComparing = page.chosen.length > 0, list = [];
  const {colors} = runColors(answer, looks);
  answer.line.forEach(function (line, i) {
    if (isComparing || view.hidden.has(groupName(answer, line.group))) return;
    list.push({name: line.run, x: line.x, y: line.y, color: colors[i], isFaint: true});
  });
  answer.curve.forEach(function (curve, g) {
    const name = groupName(answer, g), band = v => smooth(v, view.smooth, answer.log, curve.n);
    if (isComparing || view.hidden.has(name) || curve.runs === 0) return;
    list.push({name, x: answer.grid, y: band(curve.mean), low: band(curve.low), high: band(curve.high), n: curve.n,
      runs: curve.runs, ...looks[g]});
  });
  page.chosen.forEach(function (run, place) {
    const line = answer.line.find(l => l.run === run);
    if (line) list.push({name: nameOf(run), x: line.x, y: smooth(line.y, view.smooth, answer.log),
      color: paletteColor(place), dash: dashes(place / palette.length)});
  });
  return list;
}

/* The label of a compared run: the settings in which the compared runs differ. */
function nameOf(id) {
  const run = page.compared.find(r => r.run === id);
  if (!run) return id.slice(0, 8);
  const settings = Object.entries(run.settings || {});
  const differs = ([name, value]) => page.compared.some(r => (r.settings || {})[name] !== value);
  const some = settings.filter(differs);
  return runLabel({...run, settings: Object.fromEntries(some.length ? some : settings)});
}

/* ---- panels */

function panelOf(name) {
  const host = byId("panels"), found = [...host.children].find(p => p.dataset.column === name);
  if (found) return found;
  const remove = el("button", {type: "button", class: "plain", "aria-label": "Remove the panel of " + name,
    title: "Remove this panel", on: {click: () => setMetrics(shownMetrics().filter(m => m !== name))}}, "\u2715");
  return el("figure", {class: "panel", "data-column": name},
    el("figcaption", null, el("span", {class: "title"}), remove), el("div", {class: "chart"}));
}

/* Draws a panel, unless it shows the same answer in the same way already. */
function drawPanel(panel, answer) {
  const host = panel.querySelector(".chart"), lines = panelLines(answer);
  const state = JSON.stringify([view.smooth, view.color, view.colors, view.logX, [...view.hidden], host.clientWidth, isDark.matches,
    page.compared.map(r => nameOf(r.run))]);
  if (panel.answer === answer && panel.state === state) return;
  Object.assign(panel, {answer, state});
  const column = columnOf(answer.column) || {description: ""}, title = answer.title;
  panel.querySelector(".title").textContent = title;
  panel.querySelector(".title").title = column.description;
  host.dataset.lines = lines.length;
  if (!lines.length) {
    host.replaceChildren(el("p", {class: "muted"}, answer.runs === 0 || answer.without === answer.read ? "no value yet"
      : "no line is shown"));
    return;
  }
  drawLines(host, lines, {logX: view.logX, logY: answer.log, xName: axisNames[view.x], height: 250, xRange: view.zoom, zoom,
    label: `${title} against ${axisNames[view.x]}, ${lines.length} lines; left and right move the cursor`});
}

/* Shows a part of the axis x in all panels; without arguments all of it. */
function zoom(low, high) {
  view.zoom = low < high ? [low, high] : null;
  refresh();
}

/* Marks a line in all panels while its name has the pointer or the focus. */
function legendMarks(name) {
  const mark = of => () => { for (const root of document.querySelectorAll("#panels svg")) markLine(root, of); };
  return {pointerenter: mark(name), pointerleave: mark(null), focus: mark(name), blur: mark(null)};
}

function drawLegend(answer) {
  const looks = groupLooks(answer), colors = runColors(answer, looks).legend;
  if (page.chosen.length) {
    redraw(byId("legend"), page.chosen.map((run, place) => el("li", null, el("button", {type: "button",
      "data-key": run, on: {click: () => openRun(run)}},
      sampleLine(paletteColor(place), dashes(place / palette.length)), nameOf(run)))));
    return;
  }
  const items = answer.group.map(function (group, g) {
    const name = groupName(answer, g);
    const runs = ` ${group.runs} ${group.runs === 1 ? "run" : "runs"}`;
    return el("li", null, el("button", {type: "button", "data-key": name, title: "Show or hide this line",
      "aria-pressed": String(!view.hidden.has(name)), on: {click: () => toggleLine(name), ...legendMarks(name)}},
      sampleLine(looks[g].color, looks[g].dash), name, el("span", {class: "muted"}, runs)));
  });
  redraw(byId("legend"), [...items, ...colors.map(([name, color]) => el("li", null, sampleDot(color), name))]);
}

function toggleLine(name) {
  if (!view.hidden.delete(name)) view.hidden.add(name);
  refresh();
}

const listLabels = keys => keys.map(k => k.label).join(", ");

/* Describes the lines. */
function curvesNote(answer) {
  if (page.chosen.length) return "compared runs";
  const words = ["mean and 95 % interval over runs; no band below 3 runs"];
  const drawn = answer.curve.filter((c, g) => c.runs && !view.hidden.has(groupName(answer, g)));
  if (drawn.length > BANDS_MAX) words.push("of so many lines only the marked one has its band");
  if (drawn.some(c => c.n.some(n => n > 0 && n < c.runs)))
    words.push("dashed: over the runs that go on where others have ended, or have no value");
  if (answer.limited) {
    const isLine = key => answer.lines.some(k => k.name === key.name);
    words.push(`lines: ${listLabels(answer.lines)}, which explains most of the scores; `
      + `averaged over ${listLabels(answer.keys.filter(k => !isLine(k)))}`);
  }
  if (answer.groups > answer.group.length) words.push(`${answer.group.length} of ${answer.groups} lines are drawn`);
  if (answer.read < answer.runs) words.push(`from a sample of ${answer.read} of ${answer.runs} runs`);
  if (answer.without) words.push(`${answer.without} runs without a score`);
  return words.join("; ");
}

function drawChoices(answer) {
  const keys = answer.keys.map(k => [k.name, keyLabel(k.name)]);
  const isNew = !keys.some(k => k[0] === view.color) && !page.keys.some(k => k.name === view.color);
  if (isNew) view.color = "";
  setOptions(byId("group"), [["", "settings that differ"], ...keys, ["none", "nothing: one line"]], view.group);
  const all = page.keys.map(k => [k.name, keyLabel(k.name)]);
  setOptions(byId("color"), [["", "default"], ...all], view.color);
}

/* Reads and draws all panels. */
async function refreshPanels() {
  const asked = page.sweep;
  if (view.sweep !== asked) Object.assign(view, {sweep: asked, group: "", color: "", zoom: null, hidden: new Set()});
  view.columns = await ask("/api/columns", {sweep: asked});
  view.colors = view.color ? await ask("/api/colors", {sweep: asked, key: view.color}).catch(() => []) : [];
  const metrics = shownMetrics(), log = (view.logX ? "x" : "") + (view.logY ? "y" : "");
  const found = await Promise.all(metrics.map(column => ask("/api/curves", {sweep: asked, column, group: view.group,
    x: view.x, log, runs: view.runs ? 1 : null, run: page.chosen.join(), from: view.zoom && view.zoom[0],
    to: view.zoom && view.zoom[1]})));
  if (asked !== page.sweep) return;
  drawMetricChoice();
  byId("zoom-out").hidden = !view.zoom;
  found.forEach(answer => { view.titles[answer.column] = answer.title; });
  const panels = metrics.map(panelOf), host = byId("panels");
  const isSame = panels.length === host.children.length && panels.every((p, i) => host.children[i] === p);
  if (!isSame) host.replaceChildren(...panels);
  view.lines = found[0] || null;
  if (!found.length) return;
  drawChoices(found[0]);
  found.forEach((answer, i) => drawPanel(panels[i], answer));
  drawLegend(found[0]);
  byId("curves-note").textContent = curvesNote(found[0]);
}

/* ---- scores against DDR */

/* Colors by the chosen setting, or of the lines that the runs belong to, with the legend: [[name, color]]. */
function scatterColors(points) {
  if (view.color) {
    const by = settingColors(points.map(p => (p.settings || {})[view.color]));
    const name = v => keyLabel(view.color) + " " + settingText(v);
    return {colors: by.colors, legend: by.legend.map(([v, color]) => [name(v), color])};
  }
  if (!view.lines) return {colors: points.map(() => paletteColor(0)), legend: []};
  const answer = view.lines, colors = groupColors(answer), places = points.map(p => groupOf(answer, p.settings || {}));
  const present = [...new Set(places)].filter(g => g >= 0).sort((a, b) => a - b);
  return {colors: places.map(g => g < 0 ? "#808080" : colors[g]), legend: present.map(g => [groupName(answer, g), colors[g]])};
}

async function refreshScatter() {
  const asked = page.sweep, answer = await ask("/api/scatter", {sweep: asked});
  if (asked !== page.sweep) return;
  byId("scatter").hidden = !answer.measured;
  if (!answer.measured) return;
  const {colors, legend} = scatterColors(answer.point), host = byId("scatter-chart");
  const drawn = answer.point.length < answer.measured ? `${answer.point.length} of ${answer.measured} runs are drawn`
    : `${answer.measured} of ${answer.runs} runs have both`;
  byId("scatter-note").textContent = drawn + "; click a dot to compare its run";
  redraw(byId("scatter-legend"), legend.map(([name, color]) => el("li", null, sampleDot(color), " " + name)));
  const state = JSON.stringify([colors, page.chosen, host.clientWidth, isDark.matches, page.keys]);
  if (host.answer === answer && host.state === state) return;
  Object.assign(host, {answer, state});
  drawScatter(host, answer.point.map((p, i) => ({...p, color: colors[i],
    text: `${runLabel(p)}\n${p.run.slice(0, 8)}, ${p.status}\nDDR ${count(p.ddr)}, best score ${number(p.best)}`})),
    page.chosen, choose);
}
