"""A small client of WebDriver: what a test of a page needs, with nothing but the standard library."""

import base64
import json
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Down": "\ue015", "Control": "\ue009"}


class Browser:
    """A window of headless Chromium."""

    def __init__(self, driver, width=1400, height=900, dark=False):
        self.driver = driver
        # The fields that were marked, by their selectors.
        self.fields = {}
        options = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--window-size={width},{height}"]
        options += ["--blink-settings=preferredColorScheme=0"] if dark else ["--blink-settings=preferredColorScheme=1"]
        capabilities = {"alwaysMatch": {"goog:chromeOptions": {"args": options}, "goog:loggingPrefs": {"browser": "ALL"}}}
        made = self.send("POST", "/session", {"capabilities": capabilities})
        self.session = f"/session/{made['sessionId']}"

    def send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.driver + path, data, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"].split("\n")[0]) from None

    def post(self, path, **body):
        return self.send("POST", self.session + path, body)

    def open(self, url):
        self.post("/url", url=url)

    def resize(self, width, height):
        self.post("/window/rect", width=width, height=height)

    def run(self, script, *args):
        return self.post("/execute/sync", script=script, args=list(args))

    def find(self, css, text=None, seconds=20):
        """Waits for an element that is shown, whose text contains `text`."""
        script = """
            const [css, text] = arguments;
            return [...document.querySelectorAll(css)].find((one) => one.checkVisibility() && (text === null || one.innerText.includes(text))) ?? null;
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.run(script, css, text)
            if found:
                return found[ELEMENT]
            time.sleep(0.03)
        raise AssertionError(f"no {css} with {text!r} within {seconds} s")

    def gone(self, css, text=None, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                self.find(css, text, 0.05)
            except AssertionError:
                return
        raise AssertionError(f"{css} with {text!r} is still there")

    def text(self, css, text=None):
        return self.act(lambda: self.send("GET", f"{self.session}/element/{self.find(css, text)}/text"))

    def click(self, css, text=None):
        self.act(lambda: self.post(f"/element/{self.find(css, text)}/click"))

    @staticmethod
    def act(do):
        """Does something with an element. Tries again if the page replaced the element in the meantime or is still drawing it."""
        for attempt in range(10):
            try:
                return do()
            except AssertionError as error:
                is_passing = any(words in str(error) for words in ("stale element", "not interactable", "no [data-test"))
                if not is_passing or attempt == 9:
                    raise
                time.sleep(0.05)

    def type(self, css, text, clear=True):
        def write():
            # The page may have drawn the field again since it was found.
            if css in self.fields:
                self.mark(*self.fields[css])
            element = self.find(css, seconds=5)
            if clear:
                self.post(f"/element/{element}/clear")
            self.post(f"/element/{element}/value", text=text)

        self.act(write)

    def field(self, name, entry="input, textarea, select", seconds=20):
        """Waits for the field with a name; returns a selector that finds it."""
        end = time.monotonic() + seconds
        while not self.mark(name, entry):
            assert time.monotonic() < end, f"no field {name} within {seconds} s"
            time.sleep(0.03)
        css = f'[data-test="{name}"]'
        self.fields[css] = (name, entry)
        return css

    def mark(self, name, entry):
        """Marks the field with a name; returns whether there is one."""
        script = """
            const [name, entry] = arguments;
            const label = [...document.querySelectorAll('.field')].find((one) => one.checkVisibility() && one.querySelector('.name')?.innerText === name);
            const found = label?.querySelector(entry);
            if (found) found.dataset.test = name;
            return Boolean(found);
        """
        return self.run(script, name, entry)

    def keys(self, *keys):
        """Presses keys, all down before the first goes up."""
        keys = [KEYS.get(key, key) for key in keys]
        actions = [{"type": "keyDown", "value": key} for key in keys] + [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.post("/actions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    @contextmanager
    def frame(self, css):
        """Goes into a frame, whose elements are found until it is left."""
        self.post("/frame", id={ELEMENT: self.find(css)})
        try:
            yield
        finally:
            self.post("/frame/parent")

    def shot(self, file):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.send("GET", self.session + "/screenshot")))

    def before_pages(self, source):
        """Runs a script in each page before its own."""
        self.post("/goog/cdp/execute", cmd="Page.addScriptToEvaluateOnNewDocument", params={"source": source})

    def complaints(self):
        """What the page wrote to the console as an error. That Chromium does not know the directive for WebRTC is no error of the page."""
        entries = self.post("/se/log", type="browser")
        messages = [entry["message"] for entry in entries if entry["level"] == "SEVERE"]
        return [message for message in messages if "directive 'webrtc'" not in message]

    def close(self):
        self.send("DELETE", self.session)
