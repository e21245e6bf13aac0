"""A headless Chromium behind the DevTools protocol, over its pipe: what a page does, asks for and shows."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SECONDS = 60.0
_OPTIONS = (
    "--headless",
    "--no-sandbox",  # tests run as root in containers; the pages are ours
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
)
_LAUNCHER = """
import os, sys
os.dup2(int(sys.argv[1]), 3), os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser reads its commands from 3 and writes to 4."""


class Browser:
    """One page of a browser that runs."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._num_sent = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; keep the events that come before."""
        self._num_sent += 1
        message = {"id": self._num_sent, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._num_sent:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, url: str) -> None:
        """Load a page, whose events are the only ones that are kept."""
        self.events.clear()
        self.send("Page.navigate", url=url)
        while not self.of_kind("Page.loadEventFired"):
            self.events.append(self._read())

    def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript in the page."""
        done = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def of_kind(self, method: str) -> list[dict[str, Any]]:
        """What came of one kind of event since the page was opened."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def complaints(self) -> list[Any]:
        """Errors and warnings of the page, whoever noticed them."""
        said = self.of_kind("Runtime.consoleAPICalled")
        logged = [entry["entry"] for entry in self.of_kind("Log.entryAdded")]
        return [*self.of_kind("Runtime.exceptionThrown"), *said, *logged]

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return [sent["request"]["url"] for sent in self.of_kind("Network.requestWillBeSent")]

    def _read(self) -> dict[str, Any]:
        until = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(until - time.monotonic(), 0))
            assert ready, "the browser says nothing"
            read = os.read(self._answers, 1 << 16)
            assert read, "the browser ended"
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


@contextmanager
def open_browser(profile: Path) -> Generator[Browser]:
    """Start a browser until the block ends; skips the test where there is none.

    Args:
        profile: An empty folder.
    """
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium: install Debian's package of this name")
    from_us, commands = os.pipe()
    answers, to_us = os.pipe()
    # Above those that the launcher puts in their places, so that it overwrites neither.
    given = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (from_us, to_us)]
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", _LAUNCHER, *map(str, given)),
            *(program, *_OPTIONS, f"--user-data-dir={profile}"),
        ],
        pass_fds=given,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for fd in (from_us, to_us, *given):
        os.close(fd)
    try:
        yield Browser(commands, answers)
    finally:
        os.close(commands)  # which ends it
        os.close(answers)
        try:
            process.wait(SECONDS)
        finally:
            process.kill()
