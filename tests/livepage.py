# SPDX-License-Identifier: MIT
"""livepage.py - machines with the server of `make live`, recordings, and how a browser shows both; for tests."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import HOST_LIMIT
from homeroom.live import memory, record
from homeroom.machine import TOP

WORK = "memcopy -t {0} -i 1000000"


def stands(thread: Path) -> bool:
    """Whether a thread of the host is stopped, or has ended."""
    try:
        return (thread / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"T"
    except OSError:
        return True


class Live:
    """A machine that runs `command`, and the server that shows it."""

    def __init__(
        self,
        name: str,
        command: str,
        *options: str,
        server: tuple[str, ...] = (),
        console: int = subprocess.DEVNULL,
        keys: int = subprocess.DEVNULL,
    ) -> None:
        """`console` and `keys`: standard output and input of the launcher."""
        launch = [sys.executable, TOP / "qemu/launch.py", name, "--run", command, "--seed", "3", *options]
        self.guest = subprocess.Popen(launch, stdin=keys, stdout=console, stderr=subprocess.DEVNULL, cwd=TOP, text=True)
        self.server = None
        try:
            self.start(server)
        except BaseException:
            self.close()
            raise

    def start(self, server: tuple[str, ...]) -> None:
        self.process = self.wait_for(lambda: next((p for p in memory.processes() if p.parent == self.guest.pid), None))
        call = [sys.executable, "-m", "homeroom.live.server", "--port", "0", "--pid", str(self.process.pid), *server]
        self.server = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=TOP / "tools")
        words = self.server.stdout.readline().split()
        assert words[:1] == ["live:"], self.server.stderr.read()
        self.address = words[1]

    @staticmethod
    def wait_for(condition, limit: float = HOST_LIMIT):
        end = time.monotonic() + limit
        while not (found := condition()):
            assert time.monotonic() < end, "it never happened"
            time.sleep(0.05)
        return found

    def stop(self) -> None:
        """Stop QEMU, and wait until it stands: each thread stops by itself, and the CPUs' is not the first."""
        os.kill(self.process.pid, signal.SIGSTOP)
        threads = Path(f"/proc/{self.process.pid}/task")
        self.wait_for(lambda: all(stands(thread) for thread in threads.iterdir()))

    def close(self) -> None:
        for process in filter(None, (self.server, self.guest)):
            if process.poll() is None:
                process.terminate()
            process.wait(timeout=HOST_LIMIT)


def look(browser, live):
    """Open the page and wait until it shows frames."""
    browser.open(live.address)
    browser.until("typeof view !== 'undefined' && view.shown > 3")


LINKS = {"version": 2, "name": "x", "title": "x", "crossbar": True, "link_mbps": 1000, "heat": 0}
LINKS["boards"] = [{"cpus": [0], "mib": 4}, {"cpus": [1], "mib": 4}]


IDLE = ["i", -1, 0, 0, 0, 0, 0, 0]


def written(path: Path, frames: list[dict], **more) -> Path:
    """A recording with a frame for each dictionary.  `more` changes the layout."""
    recorder = record.Recorder(path, LINKS | more)
    for i, one in enumerate(frames):
        frame = {"t": i, "w": i, "c": [IDLE, IDLE], "h": {}, "n": [[1024, 512, 0, 0, 0, 0, 0]] * 2, "e": [], **one}
        recorder.add(json.dumps(frame), frame)
    recorder.close()
    return path


def play_back(browser, path: Path) -> None:
    """Open a recording, and wait until it shows its first frame."""
    browser.open(path.as_uri())
    browser.until("typeof tape !== 'undefined' && tape.count > 0 && view.frame")


# What the page shows, apart from what only a recording has.
SHOWN = """(() => [
    view.links.map((l) => [l.text.textContent, l.gauge.getAttribute("width"), l.gauge.getAttribute("fill")]),
    ...["details", "numbers", "disks", "sets", "clock", "lines"].map((id) => $(id).textContent),
    view.boards.map((b) => [b.memory.textContent, b.used.map((u) => u.getAttribute("width"))]),
    [...document.querySelectorAll(".cpu[data-cpu]")].map((c) => c.outerHTML.replace(/ tabindex="[^"]*"/, "")),
    [...view.layer.children].map((d) => d.outerHTML).sort(),
    [...view.trails.children].map((t) => t.outerHTML),
].map((part) => JSON.stringify(part)))()"""


def check_same_as_live(browser, frames: list[dict]) -> None:
    """A page that got the frames one after the other, and the recording at each frame, show the same."""
    browser.value("select('cpu', 1)")
    live = f"(frames) => {{ view.frame = view.before = null; view.slow = {{}}; view.places.clear(); \
        view.moves = []; draw(view.layout); $('lines').replaceChildren(); \
        return frames.map((f) => {{ next(f); return {SHOWN}; }}); }}"
    browser.value(f"globalThis.live = ({live})({json.dumps(frames)}); 0")
    order = [i * 97 % len(frames) for i in range(len(frames))] + [*range(len(frames))]  # by the slider, then by `play`
    assert len(frames) % 97
    recorded = f"(async (order) => {{ const bad = []; for (const n of order) {{ await seek(n); const now = {SHOWN}; \
        now.forEach((part, i) => {{ if (part !== live[n][i] && bad.length < 5) bad.push([n, i, part, live[n][i]]); }}); }} \
        return bad; }})({order})"
    assert browser.value(recorded) == []
    assert not browser.errors


def replayed(path: Path) -> subprocess.CompletedProcess:
    """What `make replay` does with a file."""
    call = [sys.executable, "-m", "homeroom.live.record", str(path)]
    env = os.environ | {"BROWSER": "true"}
    return subprocess.run(call, capture_output=True, text=True, cwd=TOP / "tools", timeout=HOST_LIMIT, env=env)
