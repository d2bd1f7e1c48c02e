
/* A search: its trials as parallel coordinates, and the importance of its settings. */
const study = {name: "", sweep: null, brushes: {}};

/* A score's place on its axis, 0 to 1, with ticks; logarithmic where the measure is averaged so. */
function scoreScale(answer) {
  const values = answer.trial.map(t => t.value).filter(v => !answer.log || v > 0);
  const least = Math.min(...values), most = Math.max(...values), height = v => answer.log ? Math.log10(v) : v;
  const low = height(least), high = height(most);
  if (!(high > low)) return {unit: () => 0.5, tick: [[0.5, number(values[0])]]};
  const unit = v => (height(v) - low) / (high - low);
  const round = answer.log ? logTicks(low, high, 8) : ticks(low, high, 8);
  return {unit, tick: [[0, number(least)], [1, number(most)], ...round.map(v => [unit(v), number(v)])]};
}

/* The color of a place on the score's axis. The best trials stand out from the page: dark on a light one, as in
 * `analyze search`, and bright on a dark one. */
function scoreColor(answer, unit) {
  const good = answer.goal === "min" ? 1 - unit : unit;
  return rampColor(isDark.matches ? good : 1 - good);
}

/* Axes with the most important setting first; the score is the last one. */
function axisOrder(answer) {
  return answer.axis.map((axis, i) => i).sort((a, b) =>
    (answer.axis[b].importance || 0) - (answer.axis[a].importance || 0) || a - b);
}

function trialText(answer, order, trial, rank) {
  const band = known(trial.low) ? ` [${number(trial.low)}, ${number(trial.high)}]` : "";
  const settings = order.filter(a => known(trial.text[a])).map(a => answer.axis[a].label + " " + trial.text[a]);
  return `trial ${trial.trial}, rank ${rank + 1} of ${answer.ranked}\n${answer.title}: ${number(trial.value)}${band}, `
    + `n = ${trial.n}\n${settings.join(", ")}`;
}

function drawTrials(answer) {
  const order = axisOrder(answer), scale = scoreScale(answer), color = unit => scoreColor(answer, unit);
  const lines = answer.trial.map((trial, rank) => ({trial, color: color(scale.unit(trial.value)),
    unit: [...order.map(a => trial.unit[a]), scale.unit(trial.value)], text: trialText(answer, order, trial, rank)}));
  const columns = [...order.map(a => answer.axis[a]), {name: "score", label: answer.title, log: answer.log, tick: scale.tick,
    color}];
  const label = `${lines.length} trials as lines through ${order.length} settings to their ${answer.title}; `
    + "left and right go from the best trial to the worst, Enter compares its runs";
  const brushes = Object.fromEntries(Object.entries(study.brushes).filter(([name]) => columns.some(c => c.name === name)));
  drawParallel(byId("parallel"), columns, lines, {label, brushes, choose: line => compareRuns(line.trial.run), brush: brushAxisOf});
  drawBrushed(lines.filter(line => isBrushed(columns, line.unit, brushes)), lines.length);
}

/* Chooses a range of an axis; null: all of it. */
function brushAxisOf(name, range) {
  delete study.brushes[name];
  if (range) study.brushes[name] = range;
  refresh();
}

/* How many trials are chosen, with a button that compares the best of them. */
function drawBrushed(lines, count) {
  const isAll = !Object.keys(study.brushes).length, best = lines.flatMap(l => l.trial.run).slice(0, CHOSEN_MAX);
  const button = byId("brush-compare");
  byId("brush-clear").hidden = isAll;
  button.hidden = isAll;
  button.disabled = !best.length;
  button.textContent = `${lines.length} of ${count} trials chosen: compare ` + (best.length < lines.length ? "the best" : "them");
  button.onclick = () => compareRuns(best);
}

function importanceRow(axis, most) {
  const inner = el("div");
  inner.style.width = 100 * axis.importance / most + "%";
  return el("tr", null, el("th", {scope: "row", title: axis.name}, axis.label),
    el("td", {class: "number"}, Math.round(100 * axis.importance) + " %"),
    el("td", null, el("div", {class: "share", "aria-hidden": "true"}, inner)));
}

function importanceNote(answer, isKnown) {
  if (isKnown)
    return "Share of the variance of the score over the space, by functional ANOVA of a random forest from "
      + `${answer.explained_from} trials. Of trials that it has not seen, the forest predicts `
      + `${Math.round(100 * answer.explained)} % of the variance (out-of-bag R\u00b2).`;
  if (answer.ranked < 8) return "The importance of settings is known from 8 different trials on.";
  if (!known(answer.explained)) return "The scores of the trials do not differ.";
  return "These trials do not tell how much each setting matters: a forest predicts trials that it has not seen no "
    + `better than their mean (out-of-bag R\u00b2 ${answer.explained.toFixed(2)}).`;
}

/* Shares of the variance, or why there are none. */
function drawImportance(answer) {
  const axes = axisOrder(answer).map(a => answer.axis[a]), most = Math.max(...axes.map(a => a.importance || 0));
  const isKnown = axes.every(a => known(a.importance));
  byId("importance").hidden = !isKnown;
  if (isKnown) byId("importance-rows").replaceChildren(...axes.map(a => importanceRow(a, most || 1)));
  byId("importance-note").textContent = importanceNote(answer, isKnown);
}

/* Reads and draws the search of the sweep, if it has one. */
async function refreshSearch(sweep) {
  const section = byId("search");
  if (!sweep.searches) {
    section.hidden = true;
    return;
  }
  if (study.sweep !== sweep.name) Object.assign(study, {sweep: sweep.name, name: "", brushes: {}});
  let answer = null;
  try {
    answer = await ask("/api/search", {sweep: sweep.name, search: study.name});
  } catch (error) { /* no run has a result yet */ }
  if (sweep.name !== page.sweep) return;
  section.hidden = !answer || answer.trial.length < 2;
  if (section.hidden) return;
  byId("search-label").hidden = answer.searches.length < 2;
  setOptions(byId("search-name"), answer.searches.map(name => [name, name]), answer.search);
  byId("search-note").textContent = `${answer.ranked} of ${answer.wanted} trials (${answer.method}) for ${answer.goal} `
    + `${answer.title}${answer.goals.includes(",") ? ` (goals: ${answer.goals})` : ""}; each line is a trial, colored by its score; click one to compare its runs, drag along axes to `
    + "choose some";
  const host = byId("parallel"), state = JSON.stringify([host.clientWidth, isDark.matches, study.brushes]);
  if (host.answer === answer && host.state === state) return;
  Object.assign(host, {answer, state});
  drawTrials(answer);
  drawImportance(answer);
}
