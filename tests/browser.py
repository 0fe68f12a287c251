"""Headless Chromium, driven through its debugging pipe: real clicks and keys on a local page, without further packages."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--window-size=1400,900",
)  # fmt: skip
PATIENCE = 60.0
"""Seconds that an answer may take on a busy machine."""


def chromium() -> str | None:
    """The browser's path, None where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


class Page:
    """One page in a browser of its own. `close` ends the browser."""

    def __init__(self, path: str, profile: Path) -> None:
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        command = shlex.join([path, *FLAGS, f"--user-data-dir={profile}", "about:blank"])
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {command} 3<&{read_there} 4>&{write_there}"],
            pass_fds=(read_there, write_there), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_there)
        os.close(write_there)
        self.reader, self.writer = read_here, write_here
        self.rest = b""
        self.number = 0
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def receive(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.reader], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            self.rest += os.read(self.reader, 1 << 20)
        line, _, self.rest = self.rest.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def open(self, file: Path) -> None:
        self.call("Page.navigate", url=file.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, script: str, times: int = 1) -> None:
        """Click in the middle of the element that a JavaScript expression gives."""
        x, y = self.run(
            f"(() => {{ const e = {script}; if (e instanceof HTMLElement) e.scrollIntoView();"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + 8]; })()"
        )
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)

    def key(self, name: str, text: str = "") -> None:
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def problems(self) -> list[str]:
        """Uncaught errors of the page, and requests that are not for the page itself."""
        found = [str(e["params"]) for e in self.events if e["method"] == "Runtime.exceptionThrown"]
        urls = [
            e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"
        ]
        return found + [url for url in urls if not url.startswith(("file:", "about:"))]

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
        os.close(self.reader)
        os.close(self.writer)
