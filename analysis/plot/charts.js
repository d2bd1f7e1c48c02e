
/* Charts as SVG: axes, lines with bands, dots, parallel coordinates. The pointer and the arrow keys move a cursor. Names
 * have the colors of `palette` (palette.h).
 *
 * No plotting library: those that Debian packages (Chart.js 3.9, Dygraphs 2.2, D3 3.5) are each larger than the whole
 * page, draw on a canvas that screen readers cannot read, or make markup or code of text, and have no parallel
 * coordinates. Other distributions do not package them, and uPlot is not packaged. */
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

/* The axes of a chart, its scales and the SVG with the grid. options: x, y (all values), logX, logY, xFromZero, xName,
 * yName, label, height. */
function makeAxes(host, options) {
  const W = Math.max(280, Math.min(960, host.clientWidth || 600)), H = options.height, R = 12, T = 10, B = 44;
  const [x0, x1] = axisRange(options.x, options.logX, options.xFromZero && !options.logX);
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
  return {root, px, py, W, H, top: T, bottom: H - B};
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

/* The path of a line, broken where a value is missing or has no logarithm. */
function linePath(axes, x, y, isLogX, isLogY) {
  let path = "", isOpen = false;
  x.forEach(function (v, i) {
    const isGood = known(v) && known(y[i]) && !(isLogX && !(v > 0)) && !(isLogY && !(y[i] > 0));
    if (isGood) path += (isOpen ? "L" : "M") + axes.px(v).toFixed(1) + " " + axes.py(y[i]).toFixed(1);
    isOpen = isGood;
  });
  return path;
}

/* The outline of a band: along its upper edge and back along the lower one, one piece per stretch with both. */
function bandPath(axes, x, low, high, isLogX, isLogY) {
  const isGood = i => known(low[i]) && known(high[i]) && !(isLogX && !(x[i] > 0)) && !(isLogY && !(low[i] > 0));
  let path = "";
  for (let i = 0; i < x.length; i++) {
    if (!isGood(i)) continue;
    let end = i;
    while (end + 1 < x.length && isGood(end + 1)) end++;
    const point = (k, y) => axes.px(x[k]).toFixed(1) + " " + axes.py(y[k]).toFixed(1), forth = [], back = [];
    for (let k = i; k <= end; k++) forth.push(point(k, high));
    for (let k = end; k >= i; k--) back.push(point(k, low));
    if (end > i) path += "M" + forth.join("L") + "L" + back.join("L") + "Z";
    i = end;
  }
  return path;
}

/* A centered moving average over a share of the axis, of logarithms where the axis has them; missing values stay. */
function smooth(values, share, isLog) {
  const half = Math.round(values.length * share / 2);
  if (half < 1) return values;
  return values.map(function (v, i) {
    if (!known(v) || (isLog && !(v > 0))) return null;
    let sum = 0, n = 0;
    for (let k = Math.max(0, i - half); k <= Math.min(values.length - 1, i + half); k++) {
      if (!known(values[k]) || (isLog && !(values[k] > 0))) continue;
      sum += isLog ? Math.log(values[k]) : values[k];
      n++;
    }
    return isLog ? Math.exp(sum / n) : sum / n;
  });
}

/* The y axis shows all lines, and bands as far as they do not make the lines flat. */
function rangeOfLines(lines, isLog) {
  const [low, high] = axisRange(lines.flatMap(l => l.y), isLog), span = high - low;
  const ends = axisRange(lines.flatMap(l => [...(l.low || []), ...(l.high || []), ...l.y]), isLog);
  return [Math.max(ends[0], low - 2 * span), Math.min(ends[1], high + 2 * span)];
}

/* lines: [{name, x, y, low, high, n, color, dash, isFaint}]; low and high: a band, or absent. */
function drawLines(host, lines, options) {
  const axes = makeAxes(host, {...options, x: lines.flatMap(l => l.x), yRange: rangeOfLines(lines, options.logY),
    xFromZero: true});
  const bands = lines.filter(l => l.low), opacity = Math.min(0.2, 0.5 / bands.length).toFixed(2);
  for (const line of bands) {
    const path = bandPath(axes, line.x, line.low, line.high, options.logX, options.logY);
    if (path) axes.root.append(svg("path", {class: "band", d: path, fill: line.color, opacity}));
  }
  for (const line of lines) {
    const path = linePath(axes, line.x, line.y, options.logX, options.logY);
    if (!path) continue;
    axes.root.append(svg("path", {class: line.isFaint ? "faint line" : "line", d: path, stroke: line.color,
      "stroke-dasharray": line.dash || "none"}));
    if (!path.includes("L"))
      axes.root.append(svg("path", {class: "point", d: path.replace(/ [^M]*/g, "$&h.01"), stroke: line.color}));
  }
  addCursor(host, axes, lines, options);
  replaceChart(host, axes.root);
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
    return `${line.name}: ${number(line.y[i])}${band}${line.n ? `, n = ${line.n[i]}` : ""}`;
  });
  return count(x) + " " + options.xName + "\n" + words.join("\n") + (left > 0 ? `\n${left} more lines` : "");
}

function addCursor(host, axes, lines, options) {
  const cursor = svg("line", {class: "cursor", y1: axes.top, y2: axes.bottom, visibility: "hidden"});
  const places = [...new Set(lines.flatMap(l => l.x))].filter(x => !options.logX || x > 0).sort((a, b) => a - b);
  let current = -1;
  axes.root.append(cursor);
  const show = function (place, x, y, row) {
    if (!places.length) return;
    current = place;
    setAttributes(cursor, {x1: axes.px(places[current]), x2: axes.px(places[current]), visibility: "visible"});
    showTip(x, y, cursorText(axes, lines, places[current], row, options));
  };
  const hide = function () {
    cursor.setAttribute("visibility", "hidden");
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

/* ---- parallel coordinates */

/* axes: [{label, tick: [[unit, text]]}]; lines: [{unit: [0 to 1 per axis, null: not active], color, text}], the best
 * last. */
function drawParallel(host, columns, lines, label, choose) {
  const W = Math.max(host.clientWidth || 600, 100 * columns.length), H = 330, T = 44, B = 34, L = 44, R = 34;
  const hasNone = lines.some(l => l.unit.some(u => !known(u))), bottom = H - B - (hasNone ? 26 : 0);
  const px = i => L + (W - L - R) * i / Math.max(1, columns.length - 1), py = u => known(u) ? bottom - (bottom - T) * u
    : H - B + 6;
  const root = svg("svg", {viewBox: `0 0 ${W} ${H}`, width: W, height: H, tabindex: "0", role: "img",
    "aria-label": label, class: "parallel"});
  const paths = lines.map(l => svg("path", {class: "trial", stroke: l.color, "data-choice": "",
    d: "M" + l.unit.map((u, i) => px(i).toFixed(1) + " " + py(u).toFixed(1)).join("L")}));
  root.append(...paths);
  columns.forEach(function (column, i) {
    const anchor = i === columns.length - 1 ? "end" : i === 0 ? "start" : "middle";
    const x = anchor === "end" ? px(i) + R - 4 : anchor === "start" ? px(i) - L + 4 : px(i);
    root.append(svg("line", {class: "axis", x1: px(i), x2: px(i), y1: T, y2: bottom}));
    root.append(svg("text", {class: "head", x, y: 16, "text-anchor": anchor}, column.label));
    for (const [unit, text] of column.tick) {
      const isEnd = unit > 0.9 || unit < 0.1, side = i > 0 ? "end" : "start";
      if (!isEnd && px(1) - px(0) < 130 && Number.isFinite(Number(text))) continue;
      root.append(svg("text", {class: "halo", x: isEnd ? x : px(i) + (i > 0 ? -5 : 5),
        y: py(unit) + (unit > 0.9 ? -6 : unit < 0.1 ? 15 : 4), "text-anchor": isEnd ? anchor : side},
        Number.isFinite(Number(text)) ? number(Number(text)) : text));
    }
    if (lines.some(l => !known(l.unit[i])))
      root.append(svg("text", {class: "halo", x: px(i), y: H - 8, "text-anchor": "middle"}, "not active"));
  });
  const order = paths.slice().reverse();
  const lineOf = i => lines[lines.length - 1 - i];
  addChoices(root, order, i => lineOf(i).text, i => choose(lineOf(i)), function (i) {
    root.classList.toggle("has-mark", i >= 0);
    order.forEach((path, k) => path.classList.toggle("at", k === i));
  });
  replaceChart(host, root);
}
