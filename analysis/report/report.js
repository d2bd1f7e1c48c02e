
/* The report's page. Everything that comes from the database reaches it as text nodes and attributes. */
const data = parsed(byId("data").textContent), main = byId("main");

function section(id, title, ...children) {
  const node = el("section", {id, "aria-labelledby": id + "-title"},
    el("h2", {id: id + "-title", tabindex: "-1"}, title), children);
  main.append(node);
  byId("contents").append(el("a", {href: "#" + id}, title));
  return node;
}

/* A sweep's part: a section of its own where there is one sweep, else a part of the sweep's section. */
let sweep = null;
const own = id => sweep ? sweep.id + "-" + id : id;

function part(id, title, ...children) {
  if (!sweep) return section(id, title, ...children);
  const node = el("section", {id: own(id), "aria-labelledby": own(id) + "-title"},
    el("h3", {id: own(id) + "-title"}, title), children);
  sweep.append(node);
  return node;
}

/* Formats like analysis_format_interval: equal decimals, which give the largest number three digits. */
function interval(i) {
  if (!i || i[0] === null) return "";
  if (i[1] === null) return number(i[0]);
  const largest = Math.max(...i.map(Math.abs)), width = i[2] - i[1], place = x => Math.floor(Math.log10(x));
  const isWide = !(width > 0) || largest >= 1e6 || largest < 1e-3 || (i[1] > 0 && i[2] / i[1] > 20);
  if (isWide) return number(i[0]) + " [" + number(i[1]) + ", " + number(i[2]) + "]";
  const decimals = Math.max(0, Math.min(2 - place(largest), largest >= 0.01 ? 3 : 12));
  const [center, low, high] = i.map(x => x.toFixed(decimals));
  return `${center} [${low}, ${high}]`;
}

/* ---- tables */
const ROWS_MAX = 2000;

/* Orders two values; missing ones stand last both ways. */
function compareValues(x, y, isFalling) {
  const isMissing = v => !known(v) || v === "";
  if (isMissing(x) || isMissing(y)) return isMissing(x) - isMissing(y);
  const order = typeof x === "number" && typeof y === "number" ? x - y
    : String(x).localeCompare(String(y), "en", {numeric: true});
  return isFalling ? -order : order;
}

function cell(column, row) {
  const value = column.get(row);
  const shown = column.node ? column.node(row) : column.text ? column.text(value) : known(value) ? String(value) : "";
  return el("td", {class: column.right ? "right" : null}, shown);
}

/* columns: {title, get, text, right, node}. Clicking a header sorts. */
function table(columns, rows, label) {
  const body = el("tbody"), heads = [];
  let order = -1, isFalling = false, filter = "";

  function fill() {
    let list = rows;
    if (filter) list = list.filter(r => columns.some(c => String(c.get(r) ?? "").toLowerCase().includes(filter)));
    if (order >= 0) {
      const get = columns[order].get;
      list = list.slice().sort((a, b) => compareValues(get(a), get(b), isFalling));
    }
    body.replaceChildren(...list.slice(0, ROWS_MAX).map(r => el("tr", null, columns.map(c => cell(c, r)))));
    const more = list.length - ROWS_MAX;
    if (more > 0)
      body.append(el("tr", null, el("td", {colspan: columns.length}, `... ${more} more rows; sort or filter to see them`)));
  }

  function sort(i) {
    isFalling = order === i ? !isFalling : !!columns[i].right;
    order = i;
    heads.forEach((h, k) => h.setAttribute("aria-sort", k !== i ? "none" : isFalling ? "descending" : "ascending"));
    fill();
  }

  columns.forEach((column, i) => heads.push(el("th", {scope: "col", class: column.right ? "right" : null,
    "aria-sort": "none"}, el("button", {type: "button", on: {click: () => sort(i)}}, column.title))));
  fill();

  const view = el("div", {class: "scroll", role: "region", "aria-label": label, tabindex: "0"},
    el("table", null, el("thead", null, el("tr", null, heads)), body));
  if (rows.length < 12) return view;
  const search = e => {
    filter = e.target.value.toLowerCase();
    fill();
  };
  return el("div", null, el("div", {class: "controls"}, el("label", null, "Filter ",
    el("input", {type: "search", "aria-label": "Filter " + label, on: {input: search}}))), view);
}

const text = (title, key) => ({title, get: r => r[key]});
const real = (title, key) => ({title, get: r => r[key], text: number, right: true});
const big = (title, key) => ({title, get: r => r[key], text: count, right: true});

/* ---- overview */
document.title = data.title;
byId("title").textContent = data.title;
byId("subtitle").textContent = data.subtitle;
const verdicts = {supported: 0, contradicted: 0, undecided: 0};
data.claims.forEach(c => verdicts[c.verdict]++);
section("overview", "Overview", el("div", {class: "tiles"},
  data.tiles.map(t => el("div", {class: "tile"}, el("b", null, typeof t[1] === "number" ? count(t[1]) : t[1]), t[0])),
  Object.keys(verdicts).filter(() => data.claims.length).map(v =>
    el("div", {class: "tile"}, el("b", {class: v}, String(verdicts[v])), "claims " + v))),
  el("p", null, data.summary));

/* ---- curves */
const DRAWN_AT_FIRST = 10;

/* Colors as in figures; series of one color differ in dashes. */
function seriesLooks(series) {
  const seen = {};
  return series.map(function (s) {
    const color = s.color[isDark.matches ? 1 : 0];
    seen[color] = (seen[color] || 0) + 1;
    return {color, dash: dashes(seen[color] - 1)};
  });
}

/* The lines of the series that are switched on. */
function seriesLines(of, state, looks) {
  const list = [];
  of.curves.series.forEach(function (s, i) {
    const value = s.values[state.measure];
    if (!state.on[i] || !value) return;
    const band = state.band ? {low: value.low, high: value.high} : {};
    list.push({name: s.label, x: of.curves.x, y: value.mean, n: value.runs, ...band, ...looks[i]});
  });
  return list;
}

/* The note of the curves, with the meaning of dashes where there are some. */
function curvesNote(of) {
  const hasRest = of.curves.series.some(s => Object.values(s.values).some(v => v.runs.some(n => n > 0 && n < Math.max(...v.runs))));
  return of.curves.note + (hasRest ? " Dashed: over the runs that go on where others have ended, or have no value." : "");
}

function curves(of) {
  const series = of.curves.series, names = Object.keys(of.curves.measures);
  if (!series.length) return;
  const state = {measure: names[0], log: false, band: true, on: series.map((s, i) => i < DRAWN_AT_FIRST)};
  const host = el("div", {id: own("chart"), class: "chart"}), drawn = el("span", {class: "muted", role: "status"});
  const looks = seriesLooks(series);
  const buttons = series.map((s, i) => el("button", {type: "button", "aria-pressed": String(state.on[i]),
    on: {click: () => toggle(i)}}, sampleLine(looks[i].color, looks[i].dash), el("span", null, s.label)));

  function draw() {
    const measure = of.curves.measures[state.measure];
    drawLines(host, seriesLines(of, state, looks), {logY: state.log, xName: "environment transitions", yName: measure,
      height: main.clientWidth < 600 ? 300 : 420,
      label: measure + " against transitions; left and right arrows move the cursor"});
    drawn.textContent = state.on.filter(on => on).length + " of " + series.length + " drawn";
    buttons.forEach(function (b, i) {
      const runs = series[i].values[state.measure]?.runs || [];
      b.lastChild.textContent = `${series[i].label} (${Math.max(0, ...runs)})`;
    });
  }

  function toggle(i) {
    state.on[i] = !state.on[i];
    buttons[i].setAttribute("aria-pressed", String(state.on[i]));
    draw();
  }

  function toggleAll(on) {
    state.on.fill(on);
    buttons.forEach(b => b.setAttribute("aria-pressed", String(on)));
    draw();
  }

  function choose(values) {
    Object.assign(state, values);
    draw();
  }

  const check = (label, key) => el("label", null, el("input", {type: "checkbox", checked: state[key] ? "" : null,
    on: {change: e => choose({[key]: e.target.checked})}}), " " + label);
  const all = (label, on) => el("button", {type: "button", on: {click: () => toggleAll(on)}}, label);
  part("curves", "Curves", el("p", {class: "muted"}, curvesNote(of)),
    el("div", {class: "controls"},
      el("label", null, "Measure ", el("select", {on: {change: e => choose({measure: e.target.value})}},
        names.map(n => el("option", {value: n}, of.curves.measures[n])))),
      check("logarithmic", "log"), check("95 % band", "band"), all("all", true), all("none", false), drawn),
    host, el("div", {class: "legend", role: "group", "aria-label": "Configurations"}, buttons));
  draw();
}

/* ---- figures */
function figures(of) {
  const figure = f => el("figure", {id: own("figure-" + f.name)}, el("img", {src: f.image, alt: f.summary, loading: "lazy"}),
    el("figcaption", null, el("b", null, f.name), ": " + f.summary),
    f.text ? el("details", null, el("summary", null, "Table and reading"), el("pre", null, f.text)) : null);
  const missing = of.missing_figures;
  if (!of.figures.length) return;
  part("figures", "Figures", el("div", {class: "figures"}, of.figures.map(figure)),
    missing.length ? el("details", null, el("summary", null, missing.length + " figures that these runs do not allow"),
      table([text("figure", "name"), text("what it shows", "summary"), text("why not", "reason")], missing,
        "Figures not drawn")) : null);
}

/* ---- configurations */
const ranged = (title, key) => ({title, get: r => r[key] && r[key][0], node: r => interval(r[key]), right: true});

/* A number where the text is one, so that columns of numbers sort as numbers. */
function settingValue(value) {
  return value !== "" && !Number.isNaN(Number(value)) ? Number(value) : value;
}

function configurations(of) {
  const columns = [text("configuration", "label"), big("runs", "runs"), big("ended", "ended"),
    big("stopped by rule", "censored"), ranged("final score", "final"), ranged("best score", "best"), big("DDR", "ddr"),
    real("mean KL", "kl"), big("transitions/s", "speed")];
  const keys = of.differences.keys;
  const settings = keys.map((k, i) => ({title: k, get: r => settingValue(r.values[i]), text: String}));
  part("configurations", "Configurations", table(columns, of.configurations, "Configurations"),
    keys.length ? el("details", null, el("summary", null, `Settings that differ (${keys.length})`),
      table([text("configuration", "label"), ...settings], of.differences.rows, "Settings that differ")) : null,
    el("details", null, el("summary", null, "Settings that all runs share"), el("pre", null, of.shared_settings)));
}

data.sections.forEach(function (of, i) {
  sweep = of.title === "" ? null : section("sweep-" + (i + 1), of.title);
  curves(of);
  figures(of);
  configurations(of);
  sweep = null;
});

/* ---- videos */
function video(v) {
  const after = `after ${v.iteration} iterations`, score = known(v.score) ? ", final score " + number(v.score) : "";
  return el("figure", null, el("img", {src: v.image, alt: `the agent of run ${v.id} ${after}`}),
    el("figcaption", null, `${v.label}, run ${v.id.slice(0, 8)} ${after}${score}`));
}

if (data.videos.length) section("videos", "Videos", el("p", {class: "muted"},
  "The last filmed evaluation of the best run of each configuration, best final score first: its first attempt."),
  el("div", {class: "videos"}, data.videos.map(video)));

/* ---- claims */
function claimEstimate(r) {
  if (r.low === null) return number(r.estimate);
  const values = [r.estimate, r.low, r.high];
  return interval(r.ratio ? values.map(Math.exp) : values);
}

function claimProblem(r) {
  if (r.verdict !== "undecided") return "";
  const seeds = r.more_seeds ? `; about ${r.more_seeds} seeds would tell (power 0.5)` : "";
  return r.reason + seeds + (r.estimate === null ? ` (${r.data})` : "");
}

if (data.claims.length) section("claims", "Claims of the papers", el("p", {class: "muted"},
  "Runs are compared only where all settings but the studied one are equal. p: how probable such data were if the claim "
  + "(its opposite) were false; a verdict needs 0.025. No correction for the number of claims."),
  table([{title: "verdict", get: r => r.verdict, node: r => el("span", {class: r.verdict}, r.verdict)},
    text("paper", "paper"), text("figure", "figure"), text("claim", "sentence"),
    {title: "statistic", get: r => r.statistic, node: r => r.statistic + " of the " + r.measure},
    {title: "estimate", get: r => r.estimate, node: claimEstimate, right: true}, text("claimed", "direction"),
    real("p for", "p_for"), real("p against", "p_against"), big("runs", "runs"),
    {title: "what is missing", get: r => r.reason, node: claimProblem}], data.claims, "Claims"));

/* ---- runs */
const mentions = of => [of.pinned ? "pinned" : "", of.tags, of.note].filter(Boolean).join("; ");
const runColumns = [text("run", "id"), text("configuration", "label"), big("seed", "seed"), text("status", "status"),
  big("iteration", "iteration"), big("transitions", "transitions"), real("final score", "final"),
  real("best score", "best"), big("DDR", "ddr"), big("transitions/s", "speed")];
if (data.runs.some(mentions)) runColumns.push({title: "notes", get: mentions});
section("runs", "Runs", data.runs_note ? el("p", {class: "muted"}, data.runs_note) : "",
  table(runColumns, data.runs, "Runs"));

const bad = data.runs.filter(r => ["failed", "diverged", "lost", "stopped"].includes(r.status));
section("problems", "Runs that failed, diverged or stopped", bad.length
  ? table([text("run", "id"), text("configuration", "label"), big("seed", "seed"), text("status", "status"),
    big("iteration", "iteration"), {title: "attempts", get: r => r.attempt, right: true}, text("host", "host"),
    {title: "last seen", get: r => r.heartbeat, text: date}, text("message", "message")], bad, "Problems")
  : el("p", null, "None."));

/* ---- provenance */
section("provenance", "Provenance",
  table(["what", "value"].map((title, i) => ({title, get: r => r[i]})), data.provenance, "Provenance"),
  data.sweeps.map(s => el("details", null, el("summary", null,
    `Sweep ${s.name} (${s.runs} runs, ${date(s.created)})` + (mentions(s) ? ": " + mentions(s) : "")),
    el("pre", null, s.ini))));
document.body.dataset.ready = "yes";
