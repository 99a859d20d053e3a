# SPDX-License-Identifier: MIT
"""live_cost.py - what `make live` costs: frames a second, time of the server, the size of a recording, the time of a seek.

    PYTHONPATH=tools:tests .venv/bin/python tests/live_cost.py [machine [seconds]]     sf15k, 60

All CPUs of the machine run memcopy with the model; the server makes a recording and gives its frames to one page.  After
that, memcopy runs twice with the same seed, with the server and without, and the tool compares what it prints.
docs/live.md shows the figures.
"""

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from browser import Browser
from homeroom.live import record
from homeroom.machine import load
from livepage import WORK, Live

SEEKS = 20
SEED = 3
SEEK = "(async () => {{ const t = performance.now(); await seek({0}); return performance.now() - t; }})()"


class Reader(threading.Thread):
    """Takes the frames of a server, as a page does, and counts them."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._stream, self.count = urllib.request.urlopen(address + "frames"), 0
        self.start()

    def run(self) -> None:
        for line in self._stream:
            self.count += line.startswith(b"data: {")


def used(pid: int) -> float:
    """The CPU time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(name: str, seconds: float, file: Path) -> None:
    """Let the server record a machine, and print its rate and its cost."""
    one = Live(name, WORK.format(load(name).cpus), "--model", "fireplane", server=("--record", str(file)))
    try:
        reader = Reader(one.address)
        Live.wait_for(lambda: reader.count > 50, 600)
        frames, first, began = reader.count, used(one.server.pid), time.monotonic()
        time.sleep(seconds)
        lasted = time.monotonic() - began
        took, frames = used(one.server.pid) - first, reader.count - frames
    finally:
        one.close()
    print(f"{name}: {frames / lasted:.2f} frames a second; the server takes {100 * took / lasted:.2f} % of a core")


def seek(file: Path) -> None:
    """Go to some moments of the recording, and print how long it takes."""
    frames = record.read(file)[1]
    lasted = frames[-1]["w"] - frames[0]["w"]
    print(f"recording: {file.stat().st_size * 60 / lasted / 1e6:.3f} MB a minute, {len(frames)} frames")
    browser = Browser()
    browser.open(file.as_uri())
    browser.until("typeof tape !== 'undefined' && tape.count > 0 && view.frame")
    numbers = random.Random(SEED)
    times = sorted(browser.value(SEEK.format(numbers.randrange(len(frames)))) for _ in range(SEEKS))
    browser.close()
    print(f"seek: {times[-1]:.0f} ms at most, {times[SEEKS // 2]:.0f} ms in the middle; seed {SEED}")


def rows(name: str, watched: bool) -> str:
    """What memcopy prints."""
    command = f"memcopy -t {load(name).cpus} -i 2"
    one = Live(name, command, "--model", "fireplane", console=subprocess.PIPE)
    try:
        reader = Reader(one.address) if watched else None
        text = one.guest.stdout.read()
        assert reader is None or reader.count > 10
    finally:
        one.close()
    return text[text.index("placement") :]


def main() -> None:
    name, seconds = (sys.argv[1:] + ["sf15k", "60"][len(sys.argv) - 1 :])[:2]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rec.html"
        measure(name, float(seconds), file)
        seek(file)
    alone, watched = rows(name, False), rows(name, True)
    print(f"rows: {'equal' if alone == watched else 'DIFFERENT'}", alone, sep="\n")


if __name__ == "__main__":
    main()
