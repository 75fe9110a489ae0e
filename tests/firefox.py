"""Firefox as the machine has it, without a window, through Marionette: its own protocol of remote control.

A command is `[0, number, name, parameters]` in JSON behind its length and a colon.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

FIREFOX = next(filter(None, map(shutil.which, ("firefox", "firefox-esr"))), None)

PREFERENCES = """
user_pref("marionette.port", 0);
user_pref("network.proxy.type", 1);
user_pref("network.proxy.http", "127.0.0.1");
user_pref("network.proxy.http_port", 9);
user_pref("network.proxy.ssl", "127.0.0.1");
user_pref("network.proxy.ssl_port", 9);
user_pref("app.update.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
"""
"""A free port, which a file in the profile names; no network: a proxy that nobody runs."""

SECONDS = 60.0
"""Time for a start on a busy machine."""


class Firefox:
    """A browser with one page. Raises `TimeoutError` where it does not start."""

    def __init__(self, profile: Path) -> None:
        assert FIREFOX is not None
        (profile / "user.js").write_text(PREFERENCES, encoding="utf-8")
        arguments = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
        self._process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._socket = socket.create_connection(("127.0.0.1", _port(profile)), SECONDS)
            self._read()  # the greeting
            self._number = 0
            self.version: str = self._do("WebDriver:NewSession")["capabilities"]["browserVersion"]
            self._do("WebDriver:SetWindowRect", width=1280, height=1000)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    def close(self) -> None:
        """End the browser."""
        self._do("Marionette:Quit", flags=["eForceQuit"])
        self._process.wait(SECONDS)
        self._socket.close()

    def open(self, file: Path) -> None:
        """Open a page and wait until it is drawn."""
        self._do("WebDriver:Navigate", url=file.as_uri())
        self.wait("document.documentElement.dataset.ready")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""
        return self._do("WebDriver:ExecuteScript", script=f"return {expression}", args=[])["value"]

    def wait(self, expression: str) -> Any:
        """The value of an expression once it is true. Raises `TimeoutError`."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if found := self.evaluate(expression):
                return found
        raise TimeoutError(expression)

    def point(self, x: float, y: float) -> None:
        """Move the pointer to a place in the view."""
        move = {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}
        pointer = {
            "type": "pointer",
            "id": "mouse",
            "parameters": {"pointerType": "mouse"},
            "actions": [move],
        }
        self._do("WebDriver:PerformActions", actions=[pointer])

    def press(self, key: str) -> None:
        """Press and release a key: a character, or its private code of WebDriver."""
        keys = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self._do("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": keys}])

    def picture(self) -> bytes:
        """The view as PNG."""
        return b64decode(self._do("WebDriver:TakeScreenshot", full=False)["value"])

    def _do(self, name: str, **parameters: Any) -> Any:
        self._number += 1
        text = json.dumps([0, self._number, name, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(text), text))
        _kind, _number, error, found = self._read()
        assert error is None, error
        return found

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._receive(1)
        return json.loads(self._receive(int(length[:-1])))

    def _receive(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self._socket.recv(count - len(found))
            if not part:
                raise ConnectionError("Firefox has ended")
            found += part
        return found


def _port(profile: Path) -> int:
    """The port that the browser has chosen."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        file = profile / "MarionetteActivePort"
        if file.is_file() and (text := file.read_text().strip()):
            return int(text)
        time.sleep(0.05)
    raise TimeoutError("Firefox has not opened its port")
