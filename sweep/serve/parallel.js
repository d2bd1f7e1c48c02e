
/* Parallel coordinates: an axis for each setting and one for the score, a line for each trial. A drag along an axis
 * chooses the trials that pass there; choices on several axes count together. */
const AXIS_REACH = 12, TICK_GAP = 15;

/* Splits a name into at most two lines of `room` characters, after spaces, '/', '_', '.' or ','; shortens the rest. */
function nameLines(name, room) {
  if (name.length <= room) return [name];
  const parts = name.match(/[^ /_.,]+[ /_.,]*/g) || [name];
  let first = "";
  while (parts.length && (first + parts[0]).trimEnd().length <= room) first += parts.shift();
  const rest = first ? parts.join("") : name, line = rest.length <= room ? rest : rest.slice(0, room - 1) + "\u2026";
  return first ? [first.trimEnd(), line] : [line];
}

/* The ticks that have room on an axis, the more important ones first. py: the place of a unit. */
function ticksWithRoom(ticks, py) {
  const shown = [];
  for (const tick of ticks) if (shown.every(t => Math.abs(py(t[0]) - py(tick[0])) >= TICK_GAP)) shown.push(tick);
  return shown;
}

/* Whether a line passes all chosen ranges. brushes: {name of an axis: [low, high]}, in units of the axis. */
function isBrushed(columns, unit, brushes) {
  return columns.every(function (column, i) {
    const range = brushes[column.name];
    return !range || (known(unit[i]) && unit[i] >= range[0] - 1e-9 && unit[i] <= range[1] + 1e-9);
  });
}

/* The sizes of the chart, and the places of axes and units. */
function parallelFrame(host, columns, lines) {
  const gap = 112, W = Math.max(host.clientWidth || 600, gap * columns.length), H = 350, T = 52, L = 52, R = 52;
  const hasNone = lines.some(l => l.unit.some(u => !known(u))), bottom = H - (hasNone ? 40 : 16);
  const px = i => L + (W - L - R) * i / Math.max(1, columns.length - 1);
  const py = u => known(u) ? bottom - (bottom - T) * u : H - 22;
  return {W, H, T, bottom, px, py, space: columns.length > 1 ? px(1) - px(0) : W, hasNone};
}

/* The line of an axis with its name and ticks; of the score also the scale of the colors. */
function axisParts(frame, column, i, count, isMissing) {
  const x = frame.px(i), room = Math.floor(frame.space / 7.4), parts = [];
  const isLast = i === count - 1, side = isLast ? 1 : -1;
  if (column.color) {
    const STEPS = 40, height = (frame.bottom - frame.T) / STEPS;
    for (let k = 0; k < STEPS; k++) parts.push(svg("rect", {x: x - 3, width: 6, y: frame.T + k * height,
      height: height + 0.5, fill: column.color(1 - (k + 0.5) / STEPS)}));
  }
  parts.push(svg("line", {class: "axis", x1: x, x2: x, y1: frame.T, y2: frame.bottom}));

  const names = nameLines(column.label + (column.log ? " (log)" : ""), room);
  const anchor = i === 0 ? "start" : isLast ? "end" : "middle", at = i === 0 ? 4 : isLast ? frame.W - 4 : x;
  names.forEach((text, k) => parts.push(svg("text", {class: "head", x: at, y: 16 + 15 * (k + 2 - names.length),
    "text-anchor": anchor}, text)));
  for (const [unit, text] of ticksWithRoom(column.tick, frame.py)) {
    const shown = Number.isFinite(Number(text)) ? number(Number(text)) : nameLines(text, room - 2)[0];
    parts.push(svg("line", {class: "mark", x1: x - 3, x2: x + 3, y1: frame.py(unit), y2: frame.py(unit)}));
    parts.push(svg("text", {class: "halo tick", x: x + 6 * side, y: frame.py(unit) + 4,
      "text-anchor": isLast ? "start" : "end"}, shown));
  }
  if (isMissing) parts.push(svg("text", {class: "halo", x, y: frame.H - 4, "text-anchor": "middle"}, "not active"));
  return parts;
}

/* An axis that can be brushed: by a drag, or by the arrow keys (with Shift the upper end). change(range): null: none. */
function brushAxis(root, frame, column, i, range, change) {
  const x = frame.px(i) - AXIS_REACH, width = 2 * AXIS_REACH;
  const box = svg("rect", {class: "brush", x, width, visibility: "hidden"});
  const area = svg("rect", {class: "brush-area", x, width, y: frame.T - 8, height: frame.bottom - frame.T + 16});
  const words = range ? "from " + range.map(v => Math.round(100 * v) + " %").join(" to ") + " of the axis" : "all values";
  const group = svg("g", {class: "brush-axis", tabindex: "0", role: "slider", "data-axis": column.name,
    "aria-valuenow": range ? Math.round(100 * range[0]) : 0, "aria-valuetext": words,
    "aria-label": column.label + ": up and down move the lower end of the chosen values, with Shift the upper one; "
      + "Delete chooses all"}, box, area);
  const unit = function (e) {
    const outline = root.getBoundingClientRect(), y = (e.clientY - outline.top) * frame.H / outline.height;
    return Math.max(0, Math.min(1, (frame.bottom - y) / (frame.bottom - frame.T)));
  };
  const draw = (low, high) => setAttributes(box, {y: frame.py(high), height: frame.py(low) - frame.py(high),
    visibility: "visible"});
  let start = null;

  if (range) draw(...range);
  setAttributes(group, {on: {
    pointerdown: function (e) {
      start = unit(e);
      area.setPointerCapture(e.pointerId);
    },
    pointermove: e => { if (start !== null) draw(Math.min(start, unit(e)), Math.max(start, unit(e))); },
    pointerup: function (e) {
      const from = start, to = unit(e);
      start = null;
      if (from !== null) change(Math.abs(to - from) < 0.015 ? null : [Math.min(from, to), Math.max(from, to)]);
    },
    keydown: function (e) {
      const [low, high] = range || [0, 1], step = e.key === "ArrowUp" ? 0.05 : e.key === "ArrowDown" ? -0.05 : 0;
      const next = e.shiftKey ? [low, Math.max(low, Math.min(1, high + step))] : [Math.max(0, Math.min(high, low + step)), high];
      if (!step && e.key !== "Delete" && e.key !== "Backspace") return;
      e.preventDefault();
      e.stopPropagation();
      change(step && (next[0] > 0 || next[1] < 1) ? next : null);
    }}});
  return group;
}

/* columns: [{name, label, log, tick: [[unit, text]], color: of a unit of the score}]; lines: [{unit: [0 to 1 per axis,
 * null: not active], color, text}], the best first. options: label; brushes; choose(line): after a click; brush(name,
 * range): after a drag. */
function drawParallel(host, columns, lines, options) {
  const frame = parallelFrame(host, columns, lines), point = (u, i) => frame.px(i).toFixed(1) + " " + frame.py(u).toFixed(1);
  const root = svg("svg", {viewBox: `0 0 ${frame.W} ${frame.H}`, width: frame.W, height: frame.H, tabindex: "0",
    role: "group", "aria-label": options.label, class: "parallel"});
  root.style.width = frame.W + "px"; /* wider than its host where axes would be too close: it scrolls */
  const groups = lines.map(function (line) {
    const d = "M" + line.unit.map(point).join("L"), isIn = isBrushed(columns, line.unit, options.brushes);
    return svg("g", {class: isIn ? "trial" : "trial out", "data-choice": isIn ? "" : null},
      svg("path", {class: "reach", d}), svg("path", {class: "shown", d, stroke: line.color}));
  });
  const isIn = lines.map(line => isBrushed(columns, line.unit, options.brushes));
  const chosen = groups.filter((g, i) => isIn[i]), chosenLines = lines.filter((l, i) => isIn[i]);

  root.append(...groups.filter((g, i) => !isIn[i]), ...chosen.slice().reverse()); /* the best in front */
  columns.forEach((column, i) => root.append(...axisParts(frame, column, i, columns.length,
    lines.some(l => !known(l.unit[i])))));
  columns.forEach((column, i) => root.append(brushAxis(root, frame, column, i, options.brushes[column.name] || null,
    range => options.brush(column.name, range))));
  addChoices(root, chosen, i => chosenLines[i].text, i => options.choose(chosenLines[i]), function (i) {
    root.classList.toggle("has-mark", i >= 0);
    chosen.forEach((group, k) => group.classList.toggle("at", k === i));
  });

  const axis = host.contains(document.activeElement) && document.activeElement.dataset.axis;
  replaceChart(host, root);
  const same = axis && [...root.querySelectorAll("[data-axis]")].find(g => g.dataset.axis === axis);
  if (same) same.focus({preventScroll: true});
}
