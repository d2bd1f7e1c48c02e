
/* Charts as SVG: axes, lines with bands, dots. The pointer and the arrow keys move a cursor. Names
 * have the colors of `palette` (palette.h).
 *
 * No plotting library: those that Debian packages (Chart.js 3.9, Dygraphs 2.2, D3 3.5) are each larger than the whole
 * page, draw on a canvas that screen readers cannot read, or make markup or code of text. Other distributions do not package them, and uPlot is not packaged. */
const ramps = {light: ["#440154", "#3b528b", "#21918c", "#4fae52", "#c9a800"],
  dark: ["#a88be0", "#5f9bea", "#2fb5ad", "#7ddc7d", "#fde725"]};
const isDark = matchMedia("(prefers-color-scheme: dark)");
const dashes = place => ["none", "7 3", "2 3", "8 3 2 3"][Math.floor(place) % 4];
const paletteColor = place => palette[place % palette.length];

/* A color between the ramp's ends; share: 0 to 1. */
function rampColor(share) {
  const stops = ramps[isDark.matches ? "dark" : "light"];
  const position = Math.max(0, Math.min(1, share)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(position)), rest = position - low;
  const part = (stop, i) => parseInt(stops[stop].slice(1 + 2 * i, 3 + 2 * i), 16);
  return "rgb(" + [0, 1, 2].map(i => Math.round(part(low, i) * (1 - rest) + part(low + 1, i) * rest)).join(", ") + ")";
}

/* Colors of things by a setting: numbers along a ramp by their rank, other values by the palette. values: one per
 * thing, undefined where it does not have the setting. */
function colorsBy(values) {
  const distinct = [...new Set(values.filter(known))];
  const isNumber = distinct.length > 0 && distinct.every(v => typeof v === "number");
  if (isNumber) distinct.sort((a, b) => a - b);
  else distinct.sort();
  const colors = new Map(distinct.map((v, i) =>
    [v, isNumber ? rampColor(distinct.length > 1 ? i / (distinct.length - 1) : 0) : paletteColor(i)]));
  return {colors: values.map(v => known(v) ? colors.get(v) : "#808080"), legend: [...colors]};
}

function ticks(low, high, n) {
  const raw = (high - low) / n, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].find(m => m * power >= raw) * power, list = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step)
    list.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return list;
}

/* Ticks of a logarithmic axis: powers of ten, with their doubles and halves where there are few. low, high: log10. */
function logTicks(low, high, n) {
  const powers = [], all = [], every = Math.ceil((high - low) / n);
  for (let k = Math.floor(low); k <= high; k++) for (const m of [1, 2, 5]) {
    const v = m * Math.pow(10, k);
    if (Math.log10(v) < low - 1e-9 || Math.log10(v) > high + 1e-9) continue;
    all.push(v);
    if (m === 1 && k % every === 0) powers.push(v);
  }
  if (high - low > 2.5) return powers;
  return all.length > 2 && all.length <= n + 2 ? all : powers.length > 1 ? powers
    : ticks(Math.pow(10, low), Math.pow(10, high), 4);
}

/* The range of an axis with some margin; in logarithms where it is logarithmic. */
function axisRange(values, isLog, isFromZero) {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    if (!known(v) || (isLog && !(v > 0))) continue;
    const u = isLog ? Math.log10(v) : v;
    low = Math.min(low, u);
    high = Math.max(high, u);
  }
  if (!(low <= high)) return [0, 1];
  if (!isLog && (isFromZero || (low > 0 && low < high / 3))) low = Math.min(0, low);
  const margin = (high - low) * 0.04 || Math.abs(high) * 0.1 || 0.5;
  if (isFromZero) return [low, high + 0.3 * margin];
  return [low === 0 && !isLog ? 0 : low - margin, high + margin];
}

/* The axes of a chart, its scales and the SVG with the grid. options: x, y (all values), xRange (instead of x), logX,
 * logY, xFromZero, xName, yName, label, height. */
function makeAxes(host, options) {
  const W = Math.max(280, Math.min(960, host.clientWidth || 600)), H = options.height, R = 12, T = 10, B = 44;
  const [x0, x1] = options.xRange ? options.xRange.map(v => options.logX ? Math.log10(v) : v)
    : axisRange(options.x, options.logX, options.xFromZero && !options.logX);
  const [y0, y1] = options.yRange || axisRange(options.y, options.logY);
  const yTicks = options.logY ? logTicks(y0, y1, 6) : ticks(y0, y1, 5), yTexts = yTicks.map(number);
  const L = 18 + (options.yName ? 18 : 0) + 7 * Math.max(1, ...yTexts.map(t => t.length));
  const px = v => L + (W - L - R) * ((options.logX ? Math.log10(v) : v) - x0) / (x1 - x0);
  const share = v => ((options.logY ? Math.log10(v) : v) - y0) / (y1 - y0);
  const py = v => H - B - (H - T - B) * Math.max(0, Math.min(1, share(v)));
  const root = svg("svg", {viewBox: `0 0 ${W} ${H}`, width: W, height: H, tabindex: "0", role: "img",
    "aria-label": options.label});
  let end = -Infinity;
  for (const v of options.logX ? logTicks(x0, x1, W / 90) : ticks(x0, x1, W / 90)) {
    const text = count(v), width = 6.5 * text.length;
    const anchor = px(v) + width / 2 > W - 2 ? "end" : "middle";
    root.append(svg("line", {class: "grid", x1: px(v), x2: px(v), y1: T, y2: H - B}));
    if (px(v) - (anchor === "end" ? width : width / 2) < end + 6) continue; /* would touch the text before it */
    end = px(v) + (anchor === "end" ? 0 : width / 2);
    root.append(svg("text", {x: px(v), y: H - B + 19, "text-anchor": anchor}, text));
  }
  yTicks.forEach(function (v, i) {
    root.append(svg("line", {class: "grid", x1: L, x2: W - R, y1: py(v), y2: py(v)}));
    root.append(svg("text", {x: L - 6, y: py(v) + 4, "text-anchor": "end"}, yTexts[i]));
  });
  root.append(svg("text", {x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle"}, options.xName));
  if (options.yName) {
    const isLong = options.yName.length > (H - B - T) / 6.6; /* the mean width of a character of 12 px */
    root.append(svg("text", {"text-anchor": "middle", transform: `translate(13 ${(T + H - B) / 2}) rotate(-90)`,
      textLength: isLong ? H - B - T : null, lengthAdjust: isLong ? "spacingAndGlyphs" : null}, options.yName));
  }
  const at = function (pixel) {
    const v = x0 + (x1 - x0) * (pixel - L) / (W - L - R);
    return options.logX ? Math.pow(10, v) : v;
  };
  return {root, px, py, at, W, H, left: L, right: W - R, top: T, bottom: H - B, cursor: null};
}

/* Replaces a chart; one that has the focus keeps it. */
function replaceChart(host, root) {
  const isFocused = host.contains(document.activeElement);
  host.replaceChildren(root);
  if (isFocused) root.focus({preventScroll: true});
}

/* A short line of a legend, or a dot. */
function sampleLine(color, dash) {
  return svg("svg", {viewBox: "0 0 24 8", width: 24, height: 8, "aria-hidden": "true"},
    svg("line", {x1: 0, x2: 24, y1: 4, y2: 4, stroke: color, "stroke-width": 2.5, "stroke-dasharray": dash}));
}

function sampleDot(color) {
  return svg("svg", {viewBox: "0 0 10 10", width: 10, height: 10, "aria-hidden": "true"},
    svg("circle", {cx: 5, cy: 5, r: 4.5, fill: color}));
}

/* ---- lines */

/* A line averages over fewer runs where some of them have ended. As in `analyze curves`, it is solid where all of its
 * runs have a value, and ends there if the longest one goes on for hardly longer. */
const HARDLY_LONGER = 0.02;

function isWhole(line, i) {
  return !line.n || line.n[i] === (line.runs || Math.max(...line.n));
}

/* The number of points to draw. */
function drawnPoints(line) {
  let end = line.x.length;
  while (end > 0 && !isWhole(line, end - 1)) end--;
  const last = line.x[line.x.length - 1];
  return end > 0 && last - line.x[end - 1] < HARDLY_LONGER * (last - line.x[0]) ? end : line.x.length;
}

/* Whether points i - 1 and i are joined. Where the number of runs changes, a mean jumps without any run having done so:
 * the line begins anew, unless the number changes at each point. */
function isJoined(n, i, end) {
  return !n || n[i] === n[i - 1] || (i + 1 < end && n[i + 1] !== n[i]);
}

/* The paths of a line, broken where a value is missing or has no logarithm: `solid` over all of its runs, `rest` over
 * those that go on. */
function linePaths(axes, line, isLogX, isLogY) {
  const {x, y} = line, end = drawnPoints(line), paths = {solid: "", rest: ""};
  const isGood = i => known(x[i]) && known(y[i]) && !(isLogX && !(x[i] > 0)) && !(isLogY && !(y[i] > 0));
  const point = i => axes.px(x[i]).toFixed(1) + " " + axes.py(y[i]).toFixed(1);
  let last = "";
  for (let i = 0; i < end; i++) {
    if (!isGood(i)) continue;
    const isNext = i > 0 && isGood(i - 1) && isJoined(line.n, i, end);
    const part = isWhole(line, i) && (!isNext || isWhole(line, i - 1)) ? "solid" : "rest";
    if (!isNext) paths[part] += "M" + point(i);
    else paths[part] += (last === part ? "" : "M" + point(i - 1)) + "L" + point(i);
    last = part;
  }
  return paths;
}

/* The outline of a band: along its upper edge and back along the lower one, one piece per stretch of the line. */
function bandPath(axes, line, isLogX, isLogY) {
  const {x, low, high} = line, end = drawnPoints(line);
  const isGood = i => known(low[i]) && known(high[i]) && !(isLogX && !(x[i] > 0)) && !(isLogY && !(low[i] > 0));
  let path = "";
  for (let i = 0; i < end; i++) {
    if (!isGood(i)) continue;
    let last = i;
    while (last + 1 < end && isGood(last + 1) && isJoined(line.n, last + 1, end)) last++;
    const point = (k, y) => axes.px(x[k]).toFixed(1) + " " + axes.py(y[k]).toFixed(1), forth = [], back = [];
    for (let k = i; k <= last; k++) forth.push(point(k, high));
    for (let k = last; k >= i; k--) back.push(point(k, low));
    if (last > i) path += "M" + forth.join("L") + "L" + back.join("L") + "Z";
    i = last;
  }
  return path;
}

/* A centered moving average over a share of the axis, of logarithms where the axis has them; missing values stay. n: the
 * runs behind each value: only values of equally many are averaged, so that the end of a run bends no line. */
function smooth(values, share, isLog, n) {
  const half = Math.round(values.length * share / 2);
  if (half < 1) return values;
  return values.map(function (v, i) {
    if (!known(v) || (isLog && !(v > 0))) return null;
    let sum = 0, used = 0;
    for (let k = Math.max(0, i - half); k <= Math.min(values.length - 1, i + half); k++) {
      if (!known(values[k]) || (isLog && !(values[k] > 0)) || (n && n[k] !== n[i])) continue;
      sum += isLog ? Math.log(values[k]) : values[k];
      used++;
    }
    return isLog ? Math.exp(sum / used) : sum / used;
  });
}

/* The y axis shows all lines, and bands as far as they do not make the lines flat. */
function rangeOfLines(lines, isLog) {
  const [low, high] = axisRange(lines.flatMap(l => l.y), isLog), span = high - low;
  const ends = axisRange(lines.flatMap(l => [...(l.low || []), ...(l.high || []), ...l.y]), isLog);
  return [Math.max(ends[0], low - 2 * span), Math.min(ends[1], high + 2 * span)];
}

const BANDS_MAX = 8;

/* lines: [{name, x, y, low, high, n, runs, color, dash, isFaint}]; low and high: a band, or absent; runs: the largest n.
 * More than BANDS_MAX bands would cover each other: then only the marked line has its band. options: as of makeAxes;
 * yFromZero; zoom(low, high): called for a chosen part of the axis x, without arguments for all of it. */
function drawLines(host, lines, options) {
  const yRange = rangeOfLines(options.yFromZero ? [...lines, {y: [0]}] : lines, options.logY);
  const axes = makeAxes(host, {...options, x: lines.flatMap(l => l.x), yRange, xFromZero: true});
  const bands = lines.filter(l => l.low), isMany = bands.length > BANDS_MAX;
  const opacity = isMany ? 0.2 : Math.min(0.2, 0.5 / bands.length).toFixed(2);

  for (const line of bands) {
    const path = bandPath(axes, line, options.logX, options.logY);
    if (path) axes.root.append(svg("path", {class: isMany ? "band many" : "band", d: path, fill: line.color, opacity,
      "data-line": line.name}));
  }
  for (const line of lines) {
    const {solid, rest} = linePaths(axes, line, options.logX, options.logY), of = {stroke: line.color, "data-line": line.name};
    if (rest) axes.root.append(svg("path", {class: "line rest", d: rest, "stroke-dasharray": "2 4", ...of}));
    if (!solid) continue;
    axes.root.append(svg("path", {class: line.isFaint ? "faint line" : "line", d: solid,
      "stroke-dasharray": line.dash || "none", ...of}));
    if (!solid.includes("L")) axes.root.append(svg("path", {class: "point", d: solid.replace(/ [^M]*/g, "$&h.01"), ...of}));
  }

  addCursor(host, axes, lines, options);
  if (options.zoom) addZoom(axes, options.zoom);
  replaceChart(host, axes.root);
}

/* Marks the lines of a name in a chart and pales the others; null: none. */
function markLine(root, name) {
  root.classList.toggle("has-mark", name !== null);
  for (const path of root.querySelectorAll("[data-line]")) path.classList.toggle("at", path.dataset.line === name);
}

/* Lets a drag along the chart, or + and - at its cursor, choose a part of the axis x; a double click or 0 shows all. */
function addZoom(axes, zoom) {
  const box = svg("rect", {class: "selection", y: axes.top, height: axes.bottom - axes.top, visibility: "hidden"});
  const limit = pixel => Math.max(axes.left, Math.min(axes.right, pixel));
  const place = function (e) {
    const outline = axes.root.getBoundingClientRect();
    return limit((e.clientX - outline.left) * axes.W / outline.width);
  };
  const DRAG_MIN = 8;
  let start = null;

  const end = function () {
    start = null;
    box.setAttribute("visibility", "hidden");
  };
  const magnify = function (factor) {
    const middle = axes.cursor === null ? (axes.left + axes.right) / 2 : axes.px(axes.cursor);
    const half = (axes.right - axes.left) / 2 * factor;
    zoom(axes.at(middle - half), axes.at(middle + half));
  };

  axes.root.append(box);
  setAttributes(axes.root, {on: {
    pointerdown: function (e) {
      if (e.button !== 0) return;
      start = place(e);
      axes.root.setPointerCapture(e.pointerId);
    },
    pointermove: function (e) {
      if (start === null) return;
      const x = Math.min(start, place(e)), width = Math.abs(place(e) - start);
      setAttributes(box, {x, width, visibility: width >= DRAG_MIN ? "visible" : "hidden"});
    },
    pointerup: function (e) {
      const from = start, to = place(e);
      end();
      if (from !== null && Math.abs(to - from) >= DRAG_MIN) zoom(axes.at(Math.min(from, to)), axes.at(Math.max(from, to)));
    },
    pointercancel: end,
    dblclick: () => zoom(),
    keydown: function (e) {
      if (e.key === "+") magnify(0.5);
      if (e.key === "-") magnify(2);
      if (e.key === "0") zoom();
    }}});
}

/* The index of a line's last value up to x; -1: none, or the line has ended before. */
function indexAt(line, x) {
  let last = -1;
  for (let i = 0; i < line.x.length && line.x[i] <= x; i++) if (known(line.y[i])) last = i;
  return line.x[line.x.length - 1] < x ? -1 : last;
}

const TIP_LINES = 10;

/* The text of the cursor: lines from the highest value to the lowest; of many, those nearest to the pointer. */
function cursorText(axes, lines, x, y, options) {
  let rows = lines.filter(l => !l.isFaint).map(line => ({line, i: indexAt(line, x)})).filter(r => r.i >= 0);
  const distance = r => Math.abs(axes.py(r.line.y[r.i]) - y), left = rows.length - TIP_LINES;
  if (left > 0) rows = rows.sort((a, b) => distance(a) - distance(b)).slice(0, TIP_LINES);
  rows.sort((a, b) => b.line.y[b.i] - a.line.y[a.i]);
  const words = rows.map(function ({line, i}) {
    const band = line.low && known(line.low[i]) ? ` [${number(line.low[i])}, ${number(line.high[i])}]` : "";
    const runs = line.n ? `, n = ${line.n[i]}` + (isWhole(line, i) ? "" : ` of ${line.runs || Math.max(...line.n)}`) : "";
    return `${line.name}: ${number(line.y[i])}${band}${runs}`;
  });
  return count(x) + " " + options.xName + "\n" + words.join("\n") + (left > 0 ? `\n${left} more lines` : "");
}

/* The name of the line that is nearest to the pointer; null: none. */
function nearestLine(axes, lines, x, y) {
  let best = null, least = Infinity;
  for (const line of lines) {
    const i = line.isFaint ? -1 : indexAt(line, x), distance = i < 0 ? Infinity : Math.abs(axes.py(line.y[i]) - y);
    if (distance < least) [best, least] = [line.name, distance];
  }
  return best;
}

function addCursor(host, axes, lines, options) {
  const cursor = svg("line", {class: "cursor", y1: axes.top, y2: axes.bottom, visibility: "hidden"});
  const places = [...new Set(lines.flatMap(l => l.x))].filter(x => !options.logX || x > 0).sort((a, b) => a - b);
  let current = -1;
  axes.root.append(cursor);
  const show = function (place, x, y, row) {
    if (!places.length) return;
    current = place;
    axes.cursor = places[current];
    if (lines.length > BANDS_MAX) markLine(axes.root, nearestLine(axes, lines, places[current], row));
    setAttributes(cursor, {x1: axes.px(places[current]), x2: axes.px(places[current]), visibility: "visible"});
    showTip(x, y, cursorText(axes, lines, places[current], row, options));
  };
  const hide = function () {
    cursor.setAttribute("visibility", "hidden");
    markLine(axes.root, null);
    hideTip();
  };
  setAttributes(axes.root, {on: {
    pointermove: function (e) {
      const box = axes.root.getBoundingClientRect(), scale = axes.W / box.width, x = (e.clientX - box.left) * scale;
      let best = 0;
      places.forEach((v, i) => { if (Math.abs(axes.px(v) - x) < Math.abs(axes.px(places[best]) - x)) best = i; });
      show(best, e.clientX, e.clientY, (e.clientY - box.top) * scale);
    },
    pointerleave: hide,
    blur: hide,
    keydown: function (e) {
      if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
      const box = axes.root.getBoundingClientRect(), step = (e.key === "ArrowRight" ? 1 : -1) * (e.shiftKey ? 10 : 1);
      const next = Math.max(0, Math.min(places.length - 1, current < 0 ? 0 : current + step));
      show(next, box.left + axes.px(places[next]) * box.width / axes.W, box.top + 30, 0);
      e.preventDefault();
    }}});
}

/* ---- selectable marks */

/* Lets the pointer, the arrow keys and Enter go through nodes, in their order. text(i): the tip of node i; choose(i):
 * acts on a click or Enter; mark(i): highlights node i, -1: none. */
function addChoices(root, nodes, text, choose, mark) {
  let current = -1;
  const place = node => nodes.indexOf(node.closest("[data-choice]"));
  const go = function (i, x, y) {
    current = i;
    mark(i);
    showTip(x, y, i < 0 ? "" : text(i));
  };
  setAttributes(root, {on: {
    pointermove: e => go(place(e.target), e.clientX, e.clientY),
    pointerleave: () => go(-1, 0, 0),
    blur: () => go(-1, 0, 0),
    click: function (e) {
      const i = place(e.target);
      if (i >= 0) choose(i);
    },
    keydown: function (e) {
      if (e.key === "Enter" && current >= 0) return choose(current);
      if ((e.key !== "ArrowLeft" && e.key !== "ArrowRight") || !nodes.length) return;
      const step = e.key === "ArrowRight" ? 1 : -1;
      const next = current < 0 ? 0 : Math.max(0, Math.min(nodes.length - 1, current + step));
      const box = nodes[next].getBoundingClientRect();
      go(next, box.left + Math.min(box.width, 40), box.top);
      e.preventDefault();
    }}});
}

/* points: [{run, ddr, best, color, text}]. */
function drawScatter(host, points, chosen, choose) {
  const axes = makeAxes(host, {x: points.map(p => p.ddr), y: points.map(p => p.best), logX: true, height: 320,
    xName: "DDR (transitions per nat)", yName: "best score",
    label: "Best score against DDR, one dot per run; left and right go from run to run, Enter compares it"});
  const order = points.slice().sort((a, b) => a.ddr - b.ddr);
  const dots = order.map(function (p) {
    const isChosen = chosen.includes(p.run);
    return svg("circle", {class: isChosen ? "dot chosen" : "dot", cx: axes.px(p.ddr).toFixed(1),
      cy: axes.py(p.best).toFixed(1), r: isChosen ? 6 : points.length > 500 ? 3 : 4.5, fill: p.color,
      "data-run": p.run, "data-choice": ""});
  });
  axes.root.append(...dots);
  addChoices(axes.root, dots, i => order[i].text, i => choose(order[i].run),
    i => dots.forEach((dot, k) => dot.classList.toggle("at", k === i)));
  replaceChart(host, axes.root);
}
