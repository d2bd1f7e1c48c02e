"""The page of `sweep serve` in a real browser (tests/cli/test_serve_page.sh): reads it, presses keys, clicks, waits for
its curves to grow, and checks it wide, narrow and dark. Prints "good NAME" and "bad NAME" lines, or "absent REASON".

usage: serve_page.py URL CONTROL_URL FOLDER: URLs of a read-only server and of one with --control, and the directory of screenshots
"""
import sys

from browser import Absent, Browser

URL, CONTROL_URL, FOLDER = sys.argv[1:]
PANEL = "document.querySelector('#panels [data-column=\"kl\"] .chart')"
DRAWN = f"Number(({PANEL} || {{dataset: {{}}}}).dataset.lines)"
ROWS = "document.querySelectorAll('#run-rows tr[data-run]').length"
IDLE = "document.body && document.body.dataset.ready === 'yes' && !document.body.dataset.busy"


def check(name, good):
    print("good" if good else "bad", name, flush=True)


def text(name):
    return f"document.getElementById('{name}').textContent"


def has(name, words):
    return f"{text(name)}.includes({words!r})"


def column(name):
    return f"[...document.querySelectorAll('#run-rows [data-column=\"{name}\"]')].map(e => e.textContent)"


def choose(browser, name, value):
    browser.value(f"(e => {{ e.value = {value!r}; e.dispatchEvent(new Event('change')); }})(document.getElementById('{name}'))")


def show(browser, url, sweep, width=1280, height=900, dark=False):
    browser.open(f"{url}#{sweep}", width, height, dark)
    return browser.until(IDLE)


def legend():
    return "[...document.querySelectorAll('#legend button')].map(e => e.textContent)"


def elements(selector):
    return f"document.querySelectorAll({selector!r}).length"


def set_checked(browser, name):
    browser.value(f"document.getElementById({name!r}).click()")
    browser.until(IDLE)


def what_is_shown(browser):
    check("the page draws itself", show(browser, URL, "study"))
    check("the sweep of the address is open", browser.value(text("summary-title")) == "study")
    check("all sweeps are listed", browser.value(elements("#sweeps button")) == 6)
    check("its counts are status'", browser.until(has("counts", "3 finished")))
    check("what a rule has stopped is counted apart", browser.value(has("counts", "1 stopped by rule")))
    check("its runs are there", browser.value(ROWS) == 4)
    check("and why one was stopped", browser.value(has("run-rows", "stagnation: not risen")))
    check("settings in which they differ are columns", browser.value(column("ppo.epsilon")) == ["0.1", "0.2"] * 2)
    check("with short names", browser.value("document.querySelector('#run-heads [data-key=\"ppo.epsilon\"]').textContent") == "eps")
    check("tags are shown", browser.value(column("tags"))[3] == "good" and browser.value(has("annotations", "paper")))
    check("notes are text, not markup", browser.value(has("run-rows", "<img src=x")) and not browser.value("window.hacked"))
    check("the pinned run is marked", browser.value(elements("#run-rows .pin")) == 1)
    check("DDR has a dot a run", browser.until(elements("#scatter-chart .dot") + " === 4"))
    dots = "[...document.querySelectorAll('#scatter-chart .dot')].map(e => e.getAttribute('fill'))"
    lines = f"[...{PANEL}.querySelectorAll('.line')].map(e => e.getAttribute('stroke'))"
    check("in the color of its line", browser.value(f"(d => d.size === 2 && [...d].every(c => {lines}.includes(c)))(new Set({dots}))"))
    check("and says what colors mean", browser.until(has("scatter-legend", "eps 0.1")))
    browser.picture(f"{FOLDER}/wide.png")


def curves(browser):
    check("several metrics are panels", browser.until(f"{DRAWN} === 2 && {elements('#panels .panel svg')} >= 3"))
    check("the score is the first", browser.value("document.querySelector('#panels .title').textContent") == "solve rate")
    check("a line is a setting, named by what differs", browser.value(legend()) == ["eps 0.1 2 runs", "eps 0.2 2 runs"])
    check("no label has the seed or the algorithm", not browser.value(
        "['train.seed', 'algo.name'].some(t => document.querySelector('#main').innerText.includes(t))"))
    check("of two runs there is no band", browser.value(f"{PANEL}.querySelectorAll('.band').length") == 0)
    choose(browser, "group", "none")
    check("one line for all runs has a band", browser.until(f"{IDLE} && {DRAWN} === 1 && {PANEL}.querySelectorAll('.band').length === 1"))
    browser.value(f"{PANEL}.querySelector('svg').focus()")
    browser.press("ArrowRight")
    check("the cursor tells mean, interval and runs", browser.value("/all runs: [-0-9.e]+ \\[[-0-9.e]+, [-0-9.e]+\\], n = 4/.test("
                                                                    + text("tip") + ")"))
    choose(browser, "group", "")
    browser.until(f"{IDLE} && {DRAWN} === 2")
    set_checked(browser, "single")
    check("single runs are drawn thin", browser.until(f"{PANEL}.querySelectorAll('.faint').length === 4"))
    choose(browser, "color", "ppo.epsilon")
    colors = "new Set([...document.querySelectorAll('#scatter-chart .dot')].map(e => e.getAttribute('fill'))).size"
    check("a setting colors dots", browser.until(f"{IDLE} && {colors} === 2 && {has('scatter-legend', 'eps 0.1')}"))
    check("and lines", browser.value(f"new Set([...{PANEL}.querySelectorAll('.faint')].map(e => e.getAttribute('stroke'))).size") == 2)
    choose(browser, "color", "")
    set_checked(browser, "single")
    path = f"{PANEL}.querySelector('.line').getAttribute('d')"
    before = browser.value(path)
    browser.value("(e => { e.value = 20; e.dispatchEvent(new Event('input')); })(document.getElementById('smooth'))")
    check("smoothing changes a line", browser.value(f"{path} !== {before!r}") and browser.value(text("smooth-text")) == "20 %")
    browser.value("(e => { e.value = 0; e.dispatchEvent(new Event('input')); })(document.getElementById('smooth'))")
    check("and none gives it back", browser.value(path) == before)
    set_checked(browser, "log-x")
    check("an axis can be logarithmic", browser.value(f"{path} !== {before!r}"))
    set_checked(browser, "log-x")
    names = browser.value("[...document.getElementById('column').options].map(o => o.value)")
    check("COM and epsilon can be drawn", {"com", "epsilon"} <= set(names))
    choose(browser, "column", "epsilon")
    epsilon = "#panels [data-column=epsilon]"
    check("a metric is added as a panel", browser.until(f"{IDLE} && {elements(epsilon + ' svg')} === 1"))
    browser.click(epsilon + " button")
    check("and removed", browser.until(f"{IDLE} && {elements(epsilon)} === 0"))
    browser.click("#legend [data-key='eps 0.1']")
    check("a click on the legend hides a line", browser.until(f"{IDLE} && {DRAWN} === 1"))
    browser.click("#legend [data-key='eps 0.1']")
    browser.until(f"{IDLE} && {DRAWN} === 2")


def drag(browser, selector, start, end):
    """Drags within an element, from and to shares of its width and height."""
    box = browser.value(f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect();"
                        f" return [b.left, b.top, b.width, b.height]; }})(document.querySelector({selector!r}))")
    places = [(box[0] + box[2] * x, box[1] + box[3] * y) for x, y in (start, end)]
    for kind, (x, y), button in (("mouseMoved", places[0], "none"), ("mousePressed", places[0], "left"),
                                 ("mouseMoved", places[1], "left"), ("mouseReleased", places[1], "left")):
        browser.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=1, button=button, buttons=int(button == "left"))
    browser.until(IDLE)


def choose_trials(browser):
    out = elements("#parallel .trial.out")
    axes = browser.value("[...document.querySelectorAll('#parallel .brush-axis')].map(e => e.dataset.axis)")
    check("each axis can be brushed", len(axes) == 3 and axes[2] == "score")
    check("a searched logarithm has ticks at its powers", {"1e-5", "0.0001", "0.001", "0.01"} <= set(browser.value(
        "[...document.querySelectorAll('#parallel .tick')].map(e => e.textContent)")))
    check("a drag along one chooses trials", drag(browser, "[data-axis='ppo.learning_rate'] .brush-area", (.5, .04), (.5, .5)) is None
          and 0 < browser.value(out) < 8)
    first = browser.value(out)
    drag(browser, "[data-axis='ppo.epsilon'] .brush-area", (.5, .95), (.5, .5))
    check("one along another fewer of them", first < browser.value(out) <= 8)
    check("their number is told", browser.value(text("brush-compare") + ".startsWith((8 - " + out + ") + ' of 8')"))
    check("the address has both", browser.value("location.hash.split('brush=').length") == 3)
    browser.value("document.querySelector('[data-axis=\"ppo.epsilon\"]').focus()")
    browser.press("Delete")
    check("the keyboard takes one back", browser.until(f"{IDLE} && location.hash.split('brush=').length === 2"))
    browser.click("#brush-clear")
    check("a button both", browser.until(f"{IDLE} && {out} === 0"))
    browser.value("document.activeElement.blur()")


def programs_and_searches(browser):
    check("a program's sweep is shown", show(browser, URL, "program"))
    titles = browser.value("[...document.querySelectorAll('#panels .title')].map(e => e.textContent)")
    check("its metrics are panels, their names text", "losses/<b>kl</b>" in titles and not browser.value(elements("#panels b")))
    check("score and KL are the first, by the names that it gave them", titles[:2] == ["return", "losses/approx_kl"])
    check("a metric is not taken for a column of a similar name", browser.value("[...document.querySelectorAll("
          "'#panels [data-column=\"metric.charts/SPS\"] .halo, #panels [data-column=\"metric.charts/SPS\"] text')]"
          ".some(e => e.textContent === '7')"))
    check("its settings name the lines", browser.value(legend()) == ["rate 0.1 3 runs", "rate 0.3 3 runs"])
    check("without DDR there is no chart of it", browser.value("document.getElementById('scatter').hidden"))
    check("a search is shown", show(browser, URL, "tune") and not browser.value("document.getElementById('search').hidden"))
    check("each of its trials is a line", browser.value(elements("#parallel .trial")) == 8)
    check("through its settings and the score", browser.value(elements("#parallel .axis")) == 3)
    check("importance is told, or why not", browser.value(text("importance-note") + ".length > 20"))
    choose_trials(browser)
    browser.value("document.querySelector('#parallel svg').focus()")
    browser.press("ArrowRight")
    check("the keyboard goes through the trials", browser.value(has("tip", "rank 1 of 8") + " && " + has("tip", "trial ")))
    browser.press("Enter")
    check("Enter compares a trial's runs", browser.until(f"{IDLE} && {elements('#compare-table thead button')} === 1"))
    browser.picture(f"{FOLDER}/search.png")
    browser.press("c")
    show(browser, URL, "study")


def keys(browser):
    show(browser, URL, "study")
    browser.value(f"{PANEL}.querySelector('svg').focus()")
    browser.press("ArrowRight")
    check("the keyboard moves the cursor of a chart", browser.value("!document.getElementById('tip').hidden && " + has("tip", "transitions")))
    browser.value("document.activeElement.blur()")
    browser.press("j"), browser.press("j")
    check("j goes down the runs", browser.value("document.querySelectorAll('#run-rows tr')[1].classList.contains('at')"))
    browser.press("x"), browser.press("k"), browser.press("x")
    compared = "document.querySelectorAll('#compare-table thead button').length"
    check("x compares two", browser.until(f"{compared} === 2 && {DRAWN} === 2"))
    browser.click("#scatter-chart .dot:not(.chosen)")
    check("a click on a dot compares its run", browser.until(f"{compared} === 3"))
    check("what differs is shown", browser.value(has("compare-table", "eps")))
    browser.picture(f"{FOLDER}/compared.png")
    browser.press("c")
    check("c compares none", browser.until("document.getElementById('compare').hidden"))
    browser.value("document.activeElement.blur()")
    browser.press("Enter")
    opened = "document.getElementById('run').open"
    check("Enter opens the run", browser.until(f"{opened} && {has('run-body', 'info finished')}"))
    if browser.value("Boolean(document.querySelector('.videos'))"):
        images = "[...document.querySelectorAll('.videos img')]"
        check("its videos are seen", browser.until(f"{images}.length > 1 && {images}.every(i => i.complete && i.naturalWidth === 240 && i.alt)"))
    browser.picture(f"{FOLDER}/run.png", whole=False)
    browser.press("Escape")
    check("Escape closes it", browser.until(f"!{opened}"))
    browser.press("?")
    check("? says the keys", browser.value("document.getElementById('help').open && " + has("keys", "next run")))
    browser.press("Escape")
    browser.press("/")
    browser.write("epsilon=0.2")
    check("/ filters", browser.until(f"{ROWS} === 2"))
    browser.value("document.activeElement.select()")
    browser.write("pinned")
    check("by words of people too", browser.until(f"{ROWS} === 1"))
    browser.value("document.activeElement.value = '', document.activeElement.dispatchEvent(new Event('input')), document.activeElement.blur()")
    browser.until(f"{ROWS} === 4")
    choose(browser, "tag", "good")
    check("a tag leaves what has it", browser.until(f"{ROWS} === 4 - 3 && document.querySelectorAll('#sweeps button').length === 1"))
    choose(browser, "tag", "")
    browser.until(f"{ROWS} === 4")
    check("every column sorts", browser.value("[...document.querySelectorAll('#run-heads th')].slice(1).every(e => e.querySelector('button'))"))
    browser.click("#run-heads [data-key=reason]")
    check("text sorts too, empty cells last", browser.until(f"{IDLE} && {column('reason')}[0].startsWith('stagnation')"))
    browser.click("#run-heads [data-key='ppo.epsilon']")
    check("a header sorts", browser.until(f"{column('ppo.epsilon')}.join() === '0.1,0.1,0.2,0.2'"))
    browser.click("#run-heads [data-key='ppo.epsilon']")
    check("and again the other way round", browser.until(f"{column('ppo.epsilon')}.join() === '0.2,0.2,0.1,0.1'"))
    browser.value("document.activeElement.blur()")
    browser.press("[")
    check("[ goes to another sweep", browser.until(f"{text('summary-title')} === 'program'"))
    browser.until(IDLE)
    browser.press("[")
    browser.until(f"{text('summary-title')} === 'long'")
    check("every control can be reached and has a name", browser.value(
        "[...document.querySelectorAll('button, select, input, a[href], summary')].every(e => e.tabIndex >= 0 && "
        "(e.ariaLabel || e.textContent || (e.labels && e.labels.length)))"))
    check("no control changes runs without --control", not browser.value(text("control")))
    browser.press("[")
    check("reasons of failures are shown", browser.until(has("failures", "exit code 1")))


SHOWN = """JSON.stringify([document.getElementById('summary-title').textContent,
  [...document.querySelectorAll('#panels .title')].map(e => e.textContent), [...document.querySelectorAll('#panels .chart')].map(e => e.dataset.lines),
  [...document.querySelectorAll('#panels .line')].map(e => e.getAttribute('d')), ['group', 'color', 'x', 'smooth', 'status', 'text'].map(id =>
  document.getElementById(id).value), ['log-x', 'single'].map(id => document.getElementById(id).checked),
  [...document.querySelectorAll('#legend button')].map(e => e.getAttribute('aria-pressed')), [...document.querySelectorAll('#run-rows tr')].map(e => e.className)])"""


def addresses(browser):
    show(browser, URL, "study")
    choose(browser, "group", "ppo.epsilon"), choose(browser, "color", "ppo.epsilon"), choose(browser, "column", "entropy")
    set_checked(browser, "single"), set_checked(browser, "log-x")
    browser.value("(e => { e.value = 10; e.dispatchEvent(new Event('input')); })(document.getElementById('smooth'))")
    browser.click("#legend [data-key='eps 0.1']")
    browser.until(f"{IDLE} && location.hash.includes('hidden')")
    drag(browser, "#panels [data-column=kl] svg", (.6, .5), (.9, .5))
    check("a drag in a chart shows a part of its axis", browser.until(f"{IDLE} && location.hash.includes('zoom=')")
          and not browser.value("document.getElementById('zoom-out').hidden"))
    browser.value("(e => { e.value = 'finished'; e.dispatchEvent(new Event('input')); })(document.getElementById('text'))")
    browser.until(f"{IDLE} && {ROWS} === 3 && location.hash.includes('filter=finished')")
    before, link = browser.value(SHOWN), browser.value("location.href")
    browser.open(link, 1280, 900)
    browser.until(IDLE)
    check("a link shows the same view", browser.value(SHOWN) == before)
    check("at the same address", browser.value("location.href") == link)
    check("a setting has the color of figures", browser.value("""fetch('/api/curves?sweep=study&column=kl&group=ppo.epsilon', {headers: {Authorization:
        'Bearer ' + page.token}}).then(r => r.json()).then(a => a.group.every(g => [...document.querySelectorAll('#scatter-chart .dot')].some(e =>
        e.getAttribute('fill') === g.color[0])))"""))

    browser.value("document.activeElement.blur()")
    browser.press("v")
    browser.until("document.getElementById('view').open")
    browser.value("document.getElementById('view-name').value = '<img src=x onerror=\"hacked = 1\"> late KL'")
    browser.value("document.getElementById('view-form').requestSubmit()")
    check("a view is saved by a name, which is text", browser.until(elements("#view-rows li") + " === 1") and browser.value(has("view-rows", "<img src=x"))
          and not browser.value("window.hacked"))
    browser.press("Escape")
    show(browser, CONTROL_URL, "tune")
    choose(browser, "views", '<img src=x onerror="hacked = 1"> late KL')
    browser.until(f"{IDLE} && {text('summary-title')} === 'study' && {DRAWN} > 0")
    check("it is shown again by any page of the workspace", browser.value(SHOWN) == before)
    browser.value("history.back()")
    check("back shows what was before", browser.until(f"{IDLE} && {text('summary-title')} === 'tune'"))
    browser.value("document.activeElement.blur()")
    browser.press("v")
    browser.click("#view-rows .plain")
    check("and removed", browser.until(elements("#view-rows li") + " === 0"))


def many_groups(browser):
    show(browser, URL, "wide&group=rate")
    strokes = "[...document.querySelectorAll('#panels .panel')][0].querySelectorAll('.line').length"
    check("twelve groups have a line each", browser.until(f"{IDLE} && {strokes} === 12"))
    browser.value("document.querySelector('#legend button').dispatchEvent(new Event('pointerenter'))")
    check("a name in the legend marks its line", browser.value(elements("#panels .panel:first-child .line.at")) == 1)


def a_run(browser):
    show(browser, URL, "program")
    browser.press("j"), browser.press("Enter")
    curves = elements("#run-body .run-curves .line")
    check("a run shows its curves", browser.until(f"{curves} >= 3"))
    check("those of the panels", browser.value("[...document.querySelectorAll('.run-curves .title')].map(e => e.textContent).join() === "
                                               "[...document.querySelectorAll('#panels .title')].map(e => e.textContent).join()"))
    check("and what it used", browser.until(elements("#run-body [data-resource]") + " === 4"))
    check("with a line of advice", browser.value(has("resources-advice", "used 1.76 of 16 GB, 1.5 of 4 CPUs, 2.93 of 80 GB of GPU memory; the GPU was busy 40 %")))
    check("the address has it", browser.until("/run=[0-9a-f]{16}/.test(location.hash)"))
    link = browser.value("location.href")
    browser.picture(f"{FOLDER}/resources.png", whole=False)
    browser.open(link, 400, 800)
    check("a link opens it", browser.until(f"{IDLE} && document.getElementById('run').open && {curves} >= 3"))


# Pairs of texts of a chart that cover each other, and texts beyond its edges.
COVERED = """[...document.querySelectorAll('section:not([hidden]) .chart svg')].flatMap(function (svg) {
  const edge = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll('text')].filter(t => t.textContent);
  const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]), found = [];
  boxes.forEach(([a, p], i) => {
    if (p.left < edge.left - 1 || p.right > edge.right + 1) found.push(a + ' is cut');
    boxes.slice(i + 1).forEach(([b, q]) => { if (p.left < q.right - 2 && q.left < p.right - 2 && p.top < q.bottom - 3 && q.top < p.bottom - 3) found.push(a + ' covers ' + b); });
  });
  return found; }).join('; ')"""


def first_screen(browser):
    for sweep in ("study", "tune", "program"):
        show(browser, URL, sweep, 400, 800)
        low = browser.value("document.querySelector('#panels .line').closest('svg').getBoundingClientRect().bottom")
        check(f"{sweep}: on 400 pixels a curve is on the first screen, with room", low <= 700)
        covered = browser.value(COVERED)
        check(f"{sweep}: no text covers another " + covered, not covered)
        check(f"{sweep}: nothing is wider than 400 pixels", browser.value("document.documentElement.scrollWidth <= innerWidth"))
        browser.picture(f"{FOLDER}/narrow_{sweep}.png")


def growth(browser):
    show(browser, URL, "long")
    browser.value("window.same = 1")
    shown = "Number(document.querySelector('#run-rows [data-column=iteration]').textContent.split(' ')[0])"
    browser.until(f"{DRAWN} === 1")
    path = f"{PANEL}.querySelector('.line').getAttribute('d')"
    before, drawn = browser.value(shown), browser.value(path)
    check("a running sweep's curve grows", browser.until(f"{path} !== {drawn!r}"))
    check("so does its count of iterations", browser.until(f"({shown}) > {before}"))
    check("without the page being loaded again", browser.value("window.same === 1"))


# The contrast of two colors "rgb(r, g, b)", as WCAG 2 defines it.
CONTRAST = """(function () {
  const light = c => { const [r, g, b] = c.match(/[0-9.]+/g).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const page = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll('h2, p, small, td span, td, th, .muted, .tag, .chart text, .open-run')].filter(e => e.textContent && !e.closest('[hidden]'))
    .map(e => light(e.closest('svg') ? getComputedStyle(e).fill : getComputedStyle(e).color))
    .map(c => (Math.max(c, page) + .05) / (Math.min(c, page) + .05)).reduce((a, b) => Math.min(a, b)); })()"""


def sizes(browser):
    for name, width, height, dark in (("narrow", 390, 844, False), ("dark", 1280, 900, True), ("narrow_dark", 390, 844, True)):
        check(f"{name}: the page draws itself", show(browser, URL, "study", width, height, dark))
        check(f"{name}: nothing is wider than the window", browser.value("document.documentElement.scrollWidth <= innerWidth"))
        check(f"{name}: runs and curves are there", browser.value(ROWS) == 4 and browser.value(DRAWN) == 2)
        check(f"{name}: text can be read (contrast of 4.5 at least)", browser.value(CONTRAST) >= 4.5)
        check(f"{name}: its colors are the system's", (browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") != dark)
        browser.picture(f"{FOLDER}/{name}.png")


def control(browser):
    check("with --control there are buttons", show(browser, CONTROL_URL, "long") and browser.value(has("control", "Stop this sweep")))
    browser.click("#control [data-key=stop]")
    check("a click stops the sweep, after a question", browser.until(has("counts", "1 stopped")) and len(browser.dialogs) == 1)
    browser.until("!" + has("state", "running"))
    browser.click("#control [data-key=retry]")
    check("another one lets it go on", browser.until(has("counts", "1 running")))
    browser.picture(f"{FOLDER}/control.png")


def main():
    try:
        browser = Browser(f"{FOLDER}/profile")
    except Absent as reason:
        print("absent", reason)
        return
    try:
        browser.call("Browser.getVersion")
        for part in (what_is_shown, curves, programs_and_searches, addresses, many_groups, a_run, first_screen, keys, growth, sizes, control):
            part(browser)
        check("the console is silent: " + "; ".join(browser.console), not browser.console)
    except Absent as reason:
        print("absent", reason)
    finally:
        browser.close()


main()
