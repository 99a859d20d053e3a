# SPDX-License-Identifier: MIT
"""patience.py - time limits that a busy host stretches.

THEORY      A limit is for what the guest does, and the guest does nothing while QEMU waits for a CPU of the host.  So a
            limit counts host time minus the time that QEMU's busiest thread, the one that runs the guest's CPUs, was
            ready to run but did not.  On an idle host the two are equal, also for a guest that sleeps.
            LAST_RESORT times the limit of plain host time ends the run nevertheless.
SEE ALSO    Linux, Documentation/scheduler/sched-stats.rst (schedstat), tools/homeroom/guest.py
"""

import contextlib
import os
import time
from pathlib import Path

LAST_RESORT = 10


def kept_waiting(pid: int) -> float:
    """Seconds that a process's busiest thread has waited for a CPU so far; 0 if it has ended or Linux does not tell."""
    wanted, waited = 0, 0
    threads = Path(f"/proc/{pid}/task")
    with contextlib.suppress(OSError):  # it may end at any time
        for thread in os.listdir(threads):
            with contextlib.suppress(OSError, ValueError):
                ran, queued, _ = map(int, (threads / thread / "schedstat").read_text().split())
                if ran + queued > wanted:
                    wanted, waited = ran + queued, queued
    return waited / 1e9


class Limit:
    """A time limit for a process, from now on."""

    def __init__(self, pid: int, seconds: float) -> None:
        self.seconds = seconds
        self._pid = pid
        self._began = time.monotonic()
        self._waited_before = kept_waiting(pid)

    def left(self) -> float:
        """So many seconds of host time it still has at least; 0 or less: it has passed."""
        passed = time.monotonic() - self._began
        if passed < self.seconds:
            return self.seconds - passed
        waited = max(0.0, kept_waiting(self._pid) - self._waited_before)
        return min(self.seconds - (passed - waited), LAST_RESORT * self.seconds - passed)

    def host_too_busy(self) -> bool:
        """Whether the last resort has struck rather than the limit itself."""
        return time.monotonic() - self._began >= LAST_RESORT * self.seconds
