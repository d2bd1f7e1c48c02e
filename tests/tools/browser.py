"""A headless Chromium, driven over a pipe by its DevTools protocol
(https://chromedevtools.github.io/devtools-protocol): real keys and clicks, console messages, screenshots. Needs only
Python's standard library."""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
WAIT_S = 300  # a machine with other things to do may take a minute for what takes a second here
SHORT_S = 10
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39}


class Absent(Exception):
    """There is no browser, or it does not start here."""


class Browser:
    def __init__(self, profile):
        path = next(filter(None, map(shutil.which, NAMES)), None)
        if not path:
            raise Absent("no Chromium is installed (Debian: apt-get install chromium)")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out)]
        os.close(theirs_in), os.close(theirs_out)
        quiet = os.open(os.devnull, os.O_RDWR)
        arguments = [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe",
                     f"--user-data-dir={profile}"]
        places = [(quiet, 0), (quiet, 1), (quiet, 2), (theirs[0], 3), (theirs[1], 4)]
        self.process = os.posix_spawn(path, arguments, os.environ, setpgroup=0,
                                      file_actions=[(os.POSIX_SPAWN_DUP2, *place) for place in places])
        for fd in (*theirs, quiet):
            os.close(fd)
        self.input, self.output, self.rest, self.number = ours_in, ours_out, b"", 0
        self.console, self.dialogs, self.failed = [], [], False

    def close(self):
        os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)

    def receive(self, timeout):
        """One message; None: there was none in time."""
        while b"\0" not in self.rest:
            if not select.select([self.input], [], [], timeout)[0]:
                return None
            got = os.read(self.input, 1 << 16)
            if not got:
                raise Absent("the browser does not start here, or has ended")
            self.rest += got
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, given):
        if method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(a.get("value", a.get("description"))) for a in given["args"]))
        elif method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.console.append(given["entry"]["text"] + " " + given["entry"].get("url", ""))
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(given["message"])
            self.send("Page.handleJavaScriptDialog", {"accept": True}, self.session)

    def send(self, method, given, session=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": given}
        if session:
            message["sessionId"] = session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        return self.number

    def call(self, method, given=None, session=None):
        number = self.send(method, given or {}, session)
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            message = self.receive(end - time.monotonic())
            if message and message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
        raise Absent(f"the browser does not answer {method}")

    # ---- a page

    def open(self, url, width, height, dark=False):
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for part in ("Page", "Runtime", "Log"):
            self.tell(part + ".enable")
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", features=[scheme])
        self.tell("Page.navigate", url=url)

    def tell(self, method, **given):
        return self.call(method, given, self.session)

    def value(self, expression):
        result = self.tell("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(expression + ": " + str(result["exceptionDetails"].get("exception", {}).get("description")))
        return result["result"].get("value")

    def until(self, expression, wait_s=WAIT_S):
        """Until the expression is true; False: it never was. After one that never was the others wait for less."""
        end = time.monotonic() + (SHORT_S if self.failed else wait_s)
        while not self.value(f"Boolean({expression})"):
            if time.monotonic() > end:
                self.failed = True
                return False
            time.sleep(0.05)
        return True

    def press(self, key, text=None):
        text = text if text is not None else "\r" if key == "Enter" else key if len(key) == 1 else ""
        code = KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        down = {"type": "keyDown" if text else "rawKeyDown", "key": key, "windowsVirtualKeyCode": code, "text": text}
        self.tell("Input.dispatchKeyEvent", **down)
        self.tell("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def write(self, text):
        self.tell("Input.insertText", text=text)

    def click(self, selector):
        if not self.until(f"document.querySelector({json.dumps(selector)})"):
            return
        box = self.value(f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect();"
                         f" return [b.left + b.width / 2, b.top + b.height / 2]; }})(document.querySelector({json.dumps(selector)}))")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.tell("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], clickCount=1,
                      button="none" if kind == "mouseMoved" else "left")

    def picture(self, path, whole=True):
        data = self.tell("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
