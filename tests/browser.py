# SPDX-License-Identifier: MIT
"""browser.py - a headless Chromium that tests control over its DevTools protocol, through a pair of pipes."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe"]
KEYS = {"Tab": 9, "Enter": 13, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36}
KEYS |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}

LIMIT = 1500  # seconds for an answer, so that one that never comes does not stop the test run
# What Chromium answers to a question during which the page is left for another, as by its own reload().
LEFT = ("Inspected target navigated or closed", "Execution context was destroyed", "Cannot find default execution context")


class PageLeft(RuntimeError):
    """The page was left while it was asked, so it gives no answer."""


class Browser:
    """One page.  `requests` has the addresses that it asked for, `errors` what its scripts reported."""

    def __init__(self, width: int = 1280, height: int = 1000) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="homeroom.", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        os.set_inheritable(theirs_in, True)
        os.set_inheritable(theirs_out, True)
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        script = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
        command = ["bash", "-c", script, "browser", shutil.which("chromium") or "chromium", *FLAGS]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._numbers, self._data, self._session = itertools.count(1), b"", None
        self.requests: list[str] = []
        self.errors: list[str] = []
        pages = self._call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in pages if target["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        self.resize(width, height)

    def _message(self) -> dict:
        while b"\0" not in self._data:
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self._data += data
        text, _, self._data = self._data.partition(b"\0")
        return json.loads(text)

    def _note(self, message: dict) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])

    def _call(self, method: str, **params) -> dict:
        number = next(self._numbers)
        request = {"id": number, "method": method, "params": params}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._out, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == number:
                if "error" in message:
                    said = message["error"]["message"]
                    raise (PageLeft if said.startswith(LEFT) else RuntimeError)(f"{method}: {said}")
                return message["result"]
            self._note(message)

    def resize(self, width: int, height: int) -> None:
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)

    def dark(self, dark: bool) -> None:
        value = "dark" if dark else "light"
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def scripts(self, on: bool) -> None:
        """Whether pages that are opened from now on can run scripts."""
        self._call("Emulation.setScriptExecutionDisabled", value=not on)

    def open(self, address: str) -> None:
        """Leave the present page, and open another."""
        self._call("Page.navigate", url="about:blank")
        self.until("location.href === 'about:blank'")
        self.requests, self.errors = [], []
        self._call("Page.navigate", url=address)

    def value(self, expression: str):
        """The value of an expression of JavaScript in the page; it may be a promise."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", expression))
        return found["result"].get("value")

    def until(self, expression: str, limit: float = LIMIT):
        """Wait until an expression is true, and return its value.  TimeoutError after `limit` seconds."""
        end = time.monotonic() + limit
        while True:
            try:
                if value := self.value(expression):
                    return value
            except PageLeft as error:
                value = error
            if time.monotonic() > end:
                raise TimeoutError(f"{expression} stays {value!r}")
            time.sleep(0.05)

    def press(self, key: str) -> None:
        number = KEYS[key]
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=number)

    def picture(self, path: Path) -> None:
        data = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=False)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for end in (self._in, self._out):
            os.close(end)
        self._folder.cleanup()
