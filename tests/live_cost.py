# SPDX-License-Identifier: MIT
"""live_cost.py - what `make live` costs: frames a second, time of the server, the size of a recording, the time of a seek.

    PYTHONPATH=tools:tests .venv/bin/python tests/live_cost.py [machine [seconds]]     sf15k, 60

All CPUs of the machine run memcopy with the model.  Prints a line for each figure; docs/live.md shows them.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from browser import Browser
from homeroom.live import record
from homeroom.machine import load
from test_live import WORK, Live

SEEKS = "(async () => { let all = []; for (let i = 0; i < 40; i++) { const at = Math.floor(tape.count * ((i * 7) % 40) / 40);"
SEEKS += " const t = performance.now(); await seek(at); all.push(performance.now() - t); } return all; })()"


def main() -> None:
    name, seconds = (sys.argv[1:] + ["sf15k", "60"][len(sys.argv) - 1 :])[:2]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rec.html"
        one = Live(name, WORK.format(load(name).cpus), "--model", "fireplane", server=("--record", str(file)))
        stat = Path(f"/proc/{one.server.pid}/stat")
        used = lambda: sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")  # noqa: E731
        time.sleep(10)
        first, began = used(), time.monotonic()
        time.sleep(float(seconds))
        share = (used() - first) / (time.monotonic() - began)
        one.close()
        _, frames, _ = record.read(file)
        lasted = frames[-1]["w"] - frames[0]["w"]
        print(f"{len(frames) / lasted:.1f} frames a second; the server takes {100 * share:.1f} % of a core")
        print(f"recording: {file.stat().st_size * 60 / lasted / 1e6:.2f} MB a minute")
        browser = Browser()
        browser.open(file.as_uri())
        browser.until("typeof tape !== 'undefined' && tape.count > 0 && view.frame")
        times = browser.value(SEEKS)
        browser.close()
        print(f"seek: {max(times):.0f} ms at most, {sorted(times)[len(times) // 2]:.0f} ms in the middle")


if __name__ == "__main__":
    main()
