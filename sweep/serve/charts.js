
/* Curves of runs, and DDR against scores. Both are SVG with a cursor that the mouse and the arrow keys move. */
const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f00", "#a6761d", "#888888"];
const dashes = place => ["none", "6 3", "2 3"][Math.floor(place / palette.length) % 3];
const colour = place => palette[place % palette.length];

function ticks(low, high, n) {
  const raw = (high - low) / n, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].find(m => m * power >= raw) * power, out = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return out;
}

/* Of a logarithmic axis, in logarithms: powers of ten, with their doubles and halves where there are few. */
function logTicks(low, high) {
  const powers = [], all = [], every = Math.ceil((high - low) / 7);
  for (let k = Math.floor(low); k <= high; k++) for (const m of [1, 2, 5]) {
    const v = m * Math.pow(10, k);
    if (Math.log10(v) < low || Math.log10(v) > high) continue;
    all.push(v);
    if (m === 1 && k % every === 0) powers.push(v);
  }
  if (high - low > 2.5) return powers;
  return all.length > 2 ? all : ticks(Math.pow(10, low), Math.pow(10, high), 5);
}

/* The axes of a chart: how values become pixels, and the SVG with its grid. xs, ys: all values. */
function frame(host, xs, ys, options) {
  const W = Math.max(320, Math.min(960, host.clientWidth || 600)), H = W < 560 ? 280 : 380, L = 74, R = 14, T = 12, B = 44;
  const range = function (values, log) {
    let low = Infinity, high = -Infinity;
    for (const v of values) if (!log || v > 0) { const u = log ? Math.log10(v) : v; low = Math.min(low, u); high = Math.max(high, u); }
    if (!(low <= high)) return [0, 1];
    if (!log && low > 0 && low < high / 3) low = 0;
    const room = (high - low) * 0.04 || Math.abs(high) * 0.1 || 0.5;
    return [low === 0 && !log ? 0 : low - room, high + room];
  };
  const [x0, x1] = options.fromZero ? [0, range(xs)[1]] : range(xs, options.logX), [y0, y1] = range(ys, options.logY);
  const px = v => L + (W - L - R) * ((options.logX ? Math.log10(v) : v) - x0) / (x1 - x0);
  const py = v => H - B - (H - T - B) * ((options.logY ? Math.log10(v) : v) - y0) / (y1 - y0);
  const root = svg("svg", {viewBox: `0 0 ${W} ${H}`, width: W, tabindex: "0", role: "img", "aria-label": options.label});
  for (const v of options.logX ? logTicks(x0, x1) : ticks(x0, x1, W < 560 ? 4 : 6)) {
    root.append(svg("line", {class: "grid", x1: px(v), x2: px(v), y1: T, y2: H - B}));
    root.append(svg("text", {x: px(v), y: H - B + 18, "text-anchor": px(v) > W - 28 ? "end" : "middle"}, count(v)));
  }
  for (const v of options.logY ? logTicks(y0, y1) : ticks(y0, y1, 6)) {
    root.append(svg("line", {class: "grid", x1: L, x2: W - R, y1: py(v), y2: py(v)}));
    root.append(svg("text", {x: L - 6, y: py(v) + 4, "text-anchor": "end"}, number(v)));
  }
  root.append(svg("text", {x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle"}, options.xName));
  root.append(svg("text", {x: 0, y: 0, "text-anchor": "middle", transform: `translate(14 ${(T + H - B) / 2}) rotate(-90)`}, options.yName));
  return {root, px, py, W, H, top: T, bottom: H - B};
}

/* curves: [{run, x, y}]; names: run -> words. The cursor goes along the longest curve. */
function drawCurves(host, curves, options, names) {
  const fine = (c, i) => !options.logY || c.y[i] > 0;
  const f = frame(host, curves.flatMap(c => c.x), curves.flatMap(c => c.y), {...options, fromZero: true});
  curves.forEach(function (curve, place) {
    let path = "";
    curve.x.forEach(function (x, i) { if (fine(curve, i)) path += (path ? "L" : "M") + f.px(x).toFixed(1) + " " + f.py(curve.y[i]).toFixed(1); });
    if (!path) return;
    f.root.append(svg("path", {d: path, fill: "none", stroke: colour(place), "stroke-width": 1.8, "stroke-dasharray": dashes(place)}));
    if (curve.x.length === 1) f.root.append(svg("circle", {cx: f.px(curve.x[0]), cy: f.py(curve.y[0]), r: 3, fill: colour(place)}));
  });
  const line = svg("line", {class: "cursor", y1: f.top, y2: f.bottom, visibility: "hidden"});
  f.root.append(line);
  const places = [...new Set(curves.flatMap(c => c.x))].sort((a, b) => a - b);
  let at = -1;
  const show = function (place, x, y) {
    at = Math.max(0, Math.min(places.length - 1, place));
    if (!places.length) return;
    line.setAttribute("x1", f.px(places[at])); line.setAttribute("x2", f.px(places[at])); line.setAttribute("visibility", "visible");
    const lines = curves.map(function (c) {
      let i = c.x.findIndex(v => v >= places[at]);
      if (i < 0) i = c.x.length - 1;
      return i < 0 ? null : names(c.run) + ": " + number(c.y[i]);
    });
    showTip(x, y, count(places[at]) + " " + options.xName + "\n" + lines.filter(known).slice(0, 14).join("\n"));
  };
  const hide = () => { line.setAttribute("visibility", "hidden"); showTip(0, 0, ""); };
  f.root.addEventListener("pointermove", function (e) {
    const box = f.root.getBoundingClientRect(), x = (e.clientX - box.left) * f.W / box.width;
    let best = 0;
    places.forEach((v, i) => { if (Math.abs(f.px(v) - x) < Math.abs(f.px(places[best]) - x)) best = i; });
    show(best, e.clientX, e.clientY);
  });
  f.root.addEventListener("pointerleave", hide);
  f.root.addEventListener("blur", hide);
  f.root.addEventListener("keydown", function (e) {
    if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
    const box = f.root.getBoundingClientRect();
    show(at < 0 ? 0 : at + (e.key === "ArrowRight" ? 1 : -1) * (e.shiftKey ? 10 : 1), box.left + box.width / 2, box.top + 30);
    e.preventDefault();
  });
  replaceChart(host, f.root);
}

/* Dots by status; any other one is a failure's. */
const dotColours = {finished: "#0072b2", running: "#009e73", "stopped by rule": "#8c6bb1", stopped: "#e69f00"}, failureColour = "#d55e00";

function scatterLegend(points) {
  const statuses = [...new Set(points.map(p => p.status))].sort();
  return statuses.map(function (status) {
    const box = svg("svg", {viewBox: "0 0 10 10", width: 10, height: 10, "aria-hidden": "true"});
    box.append(svg("circle", {cx: 5, cy: 5, r: 4.5, fill: dotColours[status] || failureColour}));
    return el("li", null, box, status);
  });
}

/* points: [{run, ddr, best, status, label}]; choose(run) is called for a click or Enter. */
function drawScatter(host, points, chosen, choose) {
  const f = frame(host, points.map(p => p.ddr), points.map(p => p.best), {logX: true, xName: "DDR (transitions per nat)",
    yName: "best score", label: "DDR against the best score, a dot a run; left and right go from run to run, Enter compares"});
  const order = points.slice().sort((a, b) => a.ddr - b.ddr), dots = order.map(function (p) {
    const dot = svg("circle", {class: chosen.includes(p.run) ? "dot chosen" : "dot", cx: f.px(p.ddr).toFixed(1), cy: f.py(p.best).toFixed(1),
      r: chosen.includes(p.run) ? 6 : points.length > 500 ? 3 : 4.5, fill: dotColours[p.status] || failureColour, "data-run": p.run});
    f.root.append(dot);
    return dot;
  });
  const words = p => p.label + "\n" + p.run + ", " + p.status + "\nDDR " + count(p.ddr) + ", best score " + number(p.best);
  const place = node => dots.indexOf(node);
  let at = -1;
  f.root.addEventListener("pointermove", e => { const i = place(e.target); showTip(e.clientX, e.clientY, i < 0 ? "" : words(order[i])); });
  f.root.addEventListener("pointerleave", () => showTip(0, 0, ""));
  f.root.addEventListener("blur", () => showTip(0, 0, ""));
  f.root.addEventListener("click", e => { const i = place(e.target); if (i >= 0) choose(order[i].run); });
  f.root.addEventListener("keydown", function (e) {
    if (e.key === "Enter" && at >= 0) return choose(order[at].run);
    if ((e.key !== "ArrowLeft" && e.key !== "ArrowRight") || !order.length) return;
    at = at < 0 ? 0 : Math.max(0, Math.min(order.length - 1, at + (e.key === "ArrowRight" ? 1 : -1)));
    const box = dots[at].getBoundingClientRect();
    showTip(box.left, box.top, words(order[at]));
    e.preventDefault();
  });
  replaceChart(host, f.root);
}

/* A chart that has the focus keeps it when it is drawn anew. */
function replaceChart(host, root) {
  const focused = host.contains(document.activeElement);
  host.replaceChildren(root);
  if (focused) root.focus({preventScroll: true});
}
