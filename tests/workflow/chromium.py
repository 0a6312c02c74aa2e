"""Pages as a reader sees them: a headless Chromium, driven through its pipe for developers."""

import base64
import json
import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def path():
    """Path of a Chromium; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """A browser with one page, as a context.

    Attributes
    ----------
    requested : list of str
        Addresses that were asked for since the page was opened, with its own, and without data.
    complaints : list of str
        Errors and warnings of the console, and exceptions.
    """

    def __init__(self, profile):
        self.profile = profile
        self.requested, self.complaints, self.loaded = [], [], False
        self.session, self.last, self.kept = {}, 0, b""

    def __enter__(self):
        # The browser reads commands from its descriptor 3 and answers on 4.
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()

        def descriptors():
            # Copies out of the way first: either of the two may have the number of the other.
            first, second = os.dup(commands), os.dup(answers)
            os.dup2(first, 3)
            os.dup2(second, 4)

        arguments = ["--headless", "--remote-debugging-pipe", f"--user-data-dir={self.profile}"]
        # As root Chromium starts without its sandbox only.
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [path(), *arguments, "--disable-gpu", "--no-first-run", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=descriptors,
        )
        os.close(commands)
        os.close(answers)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = {"sessionId": found["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.answers)
        os.close(self.commands)

    def _next(self):
        """The browser's next message; what it tells by itself is noted."""
        while b"\0" not in self.kept:
            part = os.read(self.answers, 1 << 20)
            assert part, "the browser ended"
            self.kept += part
        text, _, self.kept = self.kept.partition(b"\0")
        message = json.loads(text)
        told, what = message.get("method"), message.get("params", {})
        if told == "Network.requestWillBeSent":
            self.requested += [what["request"]["url"]]
        elif told == "Log.entryAdded":
            self.complaints += [what["entry"]["text"]]
        elif told == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints += [str(what["args"])]
        elif told == "Runtime.exceptionThrown":
            self.complaints += [str(what["exceptionDetails"])]
        self.loaded = self.loaded or told == "Page.loadEventFired"
        return message

    def call(self, method, **params):
        """The result of a command."""
        self.last += 1
        command = {"id": self.last, "method": method, "params": params, **self.session}
        sent = json.dumps(command).encode() + b"\0"
        assert os.write(self.commands, sent) == len(sent)
        while (answer := self._next()).get("id") != self.last:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, file, width):
        """Open a file at the width of a screen, in pixels; a narrow one is a phone's."""
        self.requested, self.complaints, self.loaded = [], [], False
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=file.as_uri())
        while not self.loaded:
            self._next()

    def evaluate(self, expression):
        """The value of an expression of JavaScript on the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"]["value"]

    def pdf(self):
        """The page in print."""
        printed = self.call("Page.printToPDF", preferCSSPageSize=True)["data"]
        return base64.b64decode(printed)
