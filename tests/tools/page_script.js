/* Functions of the live page's script in node, without a browser (tests/cli/test_page_script.sh): lines that end, default
 * panels, the address, chosen ranges. Prints "good NAME" and "bad NAME: what it gave" lines.
 *
 * usage: node page_script.js ROOT: the root of the sources */
"use strict";
const fs = require("fs"), vm = require("vm"), path = require("path");
const root = process.argv[2], read = name => fs.readFileSync(path.join(root, name), "utf8");
const parts = ["tools", "curves", "parallel", "search", "runs", "address", "main"].map(n => read(`sweep/serve/${n}.js`));
const script = [read("analysis/plot/elements.js"), 'const palette = ["#0072b2", "#d55e00"];', read("analysis/plot/charts.js"), ...parts];

/* An element that takes everything, and a page that never answers. */
function element() {
  const own = {dataset: {}, style: {}, children: [], classList: {toggle() {}}, value: "", checked: false, open: false};
  return new Proxy(own, {get: (of, key) => key in of ? of[key] : () => element(), set: (of, key, v) => { of[key] = v; return true; }});
}
const elements = {}, events = {};
const world = {URLSearchParams, console, history: {pushState: () => {}, replaceState: (s, t, address) => { world.location.hash = address.slice(address.indexOf("#")); }},
  location: {search: "?token=t", hash: "", pathname: "/"}, matchMedia: () => ({matches: false, addEventListener() {}}),
  document: {getElementById: id => elements[id] = elements[id] || element(), createElement: element, createElementNS: element,
    addEventListener() {}, querySelector: () => null, querySelectorAll: () => [], visibilityState: "visible", body: element()},
  addEventListener: (name, act) => { events[name] = act; }, fetch: () => new Promise(() => {}), setTimeout: () => 0, clearTimeout() {},
  innerWidth: 1000, innerHeight: 800};
vm.createContext(world);

function tests() {
  const check = (name, given, wanted) => {
    const is = JSON.stringify(given), should = JSON.stringify(wanted);
    console.log(is === should ? "good " + name : `bad ${name}: ${is} instead of ${should}`);
  };
  const axes = {px: x => x, py: y => y};
  const paths = line => { const p = linePaths(axes, line, false, false); return [p.solid, p.rest].map(d => d.replace(/\.0/g, "")); };

  /* three runs, of which one with a high value ends at x = 2: the mean would fall from 6 to 3 */
  const ended = {x: [0, 1, 2, 3, 4], y: [6, 6, 6, 3, 3], n: [3, 3, 3, 2, 2], runs: 3};
  check("a mean does not fall where a run has ended", paths(ended), ["M0 6L1 6L2 6", "M3 3L4 3"]);
  const band = (line, low, high) => bandPath(axes, {...line, low, high}, false, false).replace(/\.0/g, "");
  check("nor does its band", band(ended, [5, 5, 5, 2, 2], [7, 7, 7, 4, 4]), "M0 7L1 7L2 7L2 5L1 5L0 5ZM3 4L4 4L4 2L3 2Z");
  check("a line without counts is whole", paths({x: [0, 1], y: [1, 2]}), ["M0 1L1 2", ""]);
  check("a line is dashed before all runs have begun", paths({x: [0, 1, 2, 3], y: [1, 1, 4, 4], n: [1, 1, 2, 2], runs: 2}), ["M2 4L3 4", "M0 1L1 1"]);
  check("runs that end one after the other are joined", paths({x: [0, 1, 2, 3], y: [4, 3, 2, 1], n: [4, 3, 2, 1], runs: 4})[1], "M0 4L1 3L2 2M3 1");
  const grid = [...Array(101).keys()];
  check("a run that is hardly longer adds no tail", drawnPoints({x: grid, y: grid, n: grid.map(i => i < 100 ? 3 : 2), runs: 3}), 100);
  check("one that is longer does", drawnPoints({x: grid, y: grid, n: grid.map(i => i < 90 ? 3 : 2), runs: 3}), 101);
  check("smoothing averages no value of fewer runs", smooth([6, 6, 6, 3, 3, 3], 0.5, false, [3, 3, 3, 2, 2, 2]), [6, 6, 6, 3, 3, 3]);
  check("it averages the others", smooth([0, 3, 6, 9], 0.5, false, [1, 1, 1, 1]), [1.5, 3, 6, 7.5]);

  const column = (name, more) => ({name, title: name, has_values: true, ...more});
  view.columns = [column("score"), column("metric.charts/ret", {is_score: true}), column("metric.charts/SPS"),
    column("metric.losses/approx_kl"), column("metric.losses/entropy")];
  check("score and KL come first, and the score once", defaultMetrics(), ["score", "metric.losses/approx_kl", "metric.losses/entropy", "metric.charts/SPS"]);
  view.columns = [column("score"), column("entropy"), column("kl"), column("kl_reverse"), column("ddr", {goal: true}), column("episode_return")];
  check("so does the goal's metric", defaultMetrics(), ["score", "ddr", "kl", "episode_return"]);
  view.columns = [column("score"), column("metric.a"), column("metric.bleu_skl_x"), column("metric.entropy/klein")];
  check("a name that only contains kl is none", defaultMetrics(), ["score", "metric.a", "metric.bleu_skl_x", "metric.entropy/klein"]);

  const link = "my%20sweep&tag=paper&metrics=score,metric.losses/kl,metric.a%252Cb&group=ppo.epsilon&color=ppo.com&x=iteration&smooth=12&log=xy&single=1"
    + "&hidden=eps+0.1&zoom=10,2000.5&search=tune&brush=ppo.com,0.250,0.500&brush=score,0.500,1.000&runs=0123456789abcdef&filter=a%26b&status=needs+attention&sort=-best&from=50";
  applyAddress(link);
  check("an address gives itself", addressOf(), link);
  check("names in it are whole", view.metrics, ["score", "metric.losses/kl", "metric.a,b"]);
  check("so are its numbers", [view.zoom, view.smooth, study.brushes["ppo.com"]], [[10, 2000.5], 0.12, [0.25, 0.5]]);
  applyAddress("study");
  check("what it does not name is as usual", addressOf(), "study");
  applyAddress("%zz&zoom=9,1&smooth=900&runs=../x,0123456789abcdef&x=z&brush=a&brush=b,nan,1&from=-3&run=x");
  check("nonsense in it is passed over", addressOf(), "%25zz&runs=0123456789abcdef");

  const groups = {group: [{covers: {lr: [0.1, 0.2]}}, {covers: {lr: [0.3, 0.4]}}, {covers: {lr: null}}]};
  check("a run has the group that covers it", [0.2, 0.3, 0.25, null].map(lr => groupOf(groups, {lr})), [0, 1, -1, 2]);
  check("text matches as a whole", groupOf({group: [{covers: {opt: ["sgd"]}}, {covers: {opt: ["adam"]}}]}, {opt: "adam"}), 1);

  const columns = [{name: "lr"}, {name: "clip"}, {name: "score"}];
  const passes = brushes => [[0.1, 0.5, 0.9], [0.5, null, 0.2], [0.5, 0.6, 0.8]].map(unit => isBrushed(columns, unit, brushes));
  check("one axis chooses", passes({lr: [0.4, 0.6]}), [false, true, true]);
  check("several choose together", passes({lr: [0.4, 0.6], score: [0.7, 1]}), [false, false, true]);
  check("what is not active has no value there", passes({clip: [0, 1]}), [true, false, true]);
  check("a long name has two lines", nameLines("late charts/episodic_return", 16), ["late charts/", "episodic_return"]);
  check("a longer one is cut", nameLines("a_setting_of_a_very_long_name", 10), ["a_setting_", "of_a_very\u2026"]);
  check("ticks keep apart, the first before the others", ticksWithRoom([[0, "a"], [1, "b"], [0.05, "c"], [0.5, "d"]], u => 100 * u).map(t => t[1]), ["a", "b", "d"]);
}
vm.runInContext(script.join("\n") + `\n;(${tests})();`, world, {filename: "page"});
