# SPDX-License-Identifier: MIT
"""recent.py - the last minute of a machine, kept in memory in case that a test fails.

THEORY      A thread reads the machine twice a second (state.py), and keeps the last KEPT frames.  Nothing is written until
            write() is called, which is possible after the end of the machine, too.
SEE ALSO    record.py, tests/conftest.py
"""

import json
import threading
from collections import deque
from pathlib import Path

from homeroom.live import layout
from homeroom.live.memory import LiveError, processes
from homeroom.live.record import Recorder
from homeroom.live.state import ENCODE, frames_of

PERIOD = 0.5  # seconds
KEPT = 120  # frames
TRIES = 20  # to find a process that has not executed QEMU yet


class Recent:
    """Watches the QEMU with a process id, from now until it ends, each `period` seconds."""

    def __init__(self, pid: int, period: float = PERIOD) -> None:
        self._pid, self._period = pid, period
        self._layout: dict | None = None
        self.frames: deque[str] = deque(maxlen=KEPT)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        pause = threading.Event()
        for _ in range(TRIES):
            if process := next((p for p in processes() if p.pid == self._pid), None):
                break
            pause.wait(PERIOD)
        else:  # it has ended already
            return
        self._layout = layout.of(process)
        try:
            for frame in frames_of(process, lambda: pause.wait(self._period)):
                self.frames.append(ENCODE(frame))
        except LiveError:  # this kernel cannot be read: there is no recording
            return

    def write(self, path: Path) -> bool:
        """Write the recording.  False if there is nothing to write.  OSError if the file cannot be written."""
        frames = list(self.frames)
        if not frames or self._layout is None:
            return False
        recorder = Recorder(path, self._layout)
        for text in frames:
            recorder.add(text, json.loads(text))
        recorder.close()
        return True
