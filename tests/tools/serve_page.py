"""The page of `sweep serve` in a real browser (tests/cli/test_serve_page.sh): reads it, presses its keys, clicks, waits for
its curves to grow, and looks at it wide, narrow and dark. Prints "good NAME" and "bad NAME" lines, or "absent REASON".

usage: serve_page.py URL CONTROL_URL FOLDER: of a server that only shows, of one with --control, and where pictures go
"""
import sys

from browser import Absent, Browser

URL, CONTROL_URL, FOLDER = sys.argv[1:]
DRAWN = "document.querySelectorAll('#curve-chart path').length"
ROWS = "document.querySelectorAll('#run-rows tr[data-run]').length"


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
    return browser.until("document.body && document.body.dataset.ready === 'yes'")


def what_is_shown(browser):
    check("the page draws itself", show(browser, URL, "study"))
    check("the sweep of the address is open", browser.value(text("summary-title")) == "study")
    check("all sweeps are listed", browser.value("document.querySelectorAll('#sweeps button').length") == 3)
    check("its counts are status'", browser.value(has("counts", "3 finished")))
    check("what a rule has stopped is counted apart", browser.value(has("counts", "1 stopped by rule")))
    check("its runs are there", browser.value(ROWS) == 4)
    check("and why one was stopped", browser.value(has("run-rows", "stagnation: not risen")))
    check("settings in which they differ are columns", browser.value(column("ppo.epsilon")) == ["0.1", "0.2"] * 2)
    check("tags are shown", browser.value(column("tags"))[3] == "good" and browser.value(has("annotations", "paper")))
    check("notes are text, not markup", browser.value(has("run-rows", "<img src=x")) and not browser.value("window.hacked"))
    check("the pinned run is marked", browser.value("document.querySelectorAll('#run-rows .pin').length") == 1)
    check("DDR has a dot a run", browser.value("document.querySelectorAll('#scatter-chart .dot').length") == 4)
    check("and says what colours mean", browser.value(has("scatter-legend", "stopped by rule")))
    names = browser.value("[...document.getElementById('column').options].map(o => o.value)")
    check("COM and epsilon can be drawn", {"com", "epsilon", "kl", "score"} <= set(names))
    choose(browser, "column", "kl")
    check("curves are drawn", browser.until(f"{DRAWN} === 4 && document.querySelector('#curve-chart svg').ariaLabel.startsWith('kl')"))
    browser.picture(f"{FOLDER}/wide.png")


def keys(browser):
    browser.value("document.querySelector('#curve-chart svg').focus()")
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
    check("what differs is shown", browser.value(has("compare-table", "ppo.epsilon")))
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
    browser.click("#run-heads [data-key='ppo.epsilon']")
    check("a header sorts", browser.until(f"{column('ppo.epsilon')}.join() === '0.1,0.1,0.2,0.2'"))
    browser.click("#run-heads [data-key='ppo.epsilon']")
    check("and again the other way round", browser.until(f"{column('ppo.epsilon')}.join() === '0.2,0.2,0.1,0.1'"))
    browser.value("document.activeElement.blur()")
    browser.press("[")
    check("[ goes to another sweep", browser.until(f"{text('summary-title')} === 'long'"))
    check("every control can be reached and has a name", browser.value(
        "[...document.querySelectorAll('button, select, input, a[href], summary')].every(e => e.tabIndex >= 0 && "
        "(e.ariaLabel || e.textContent || (e.labels && e.labels.length)))"))
    check("no control changes runs without --control", not browser.value(text("control")))
    browser.press("[")
    check("reasons of failures are shown", browser.until(has("failures", "exit code 1")))


def growth(browser):
    show(browser, URL, "long")
    choose(browser, "column", "kl")
    browser.value("window.same = 1")
    shown = "document.querySelector('#curve-chart .cursor') && Number(document.querySelector('#run-rows [data-column=iteration]').textContent.split(' ')[0])"
    browser.until(f"{DRAWN} === 1")
    before, path = browser.value(shown), browser.value("document.querySelector('#curve-chart path').getAttribute('d')")
    check("a running sweep's curve grows", browser.until(f"document.querySelector('#curve-chart path').getAttribute('d') !== {path!r}"))
    check("so does its count of iterations", browser.until(f"({shown}) > {before}"))
    check("without the page being loaded again", browser.value("window.same === 1"))


# The contrast of two colours "rgb(r, g, b)", as WCAG 2 defines it.
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
        check(f"{name}: runs and curves are there", browser.value(ROWS) == 4 and browser.value(DRAWN) == 4)
        check(f"{name}: text can be read (contrast of 4.5 at least)", browser.value(CONTRAST) >= 4.5)
        check(f"{name}: its colours are the system's", (browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") != dark)
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
        for part in (what_is_shown, keys, growth, sizes, control):
            part(browser)
        check("the console is silent: " + "; ".join(browser.console), not browser.console)
    except Absent as reason:
        print("absent", reason)
    finally:
        browser.close()


main()
