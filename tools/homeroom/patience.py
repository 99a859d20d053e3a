# SPDX-License-Identifier: MIT
"""patience.py - time limits that become longer on a busy host.

THEORY      A time limit should end a guest that makes no progress.  On a busy host, a guest may make none because QEMU
            waits for a CPU of the host.  So a limit does not count the time in which QEMU's busiest thread (the one that
            runs the guest's CPUs) was ready to run but had no CPU.  On an idle host this time is 0, also if the guest
            sleeps.  When LAST_RESORT times the limit of host time has passed, the limit ends in any case.
SEE ALSO    Linux, Documentation/scheduler/sched-stats.rst (schedstat), tools/homeroom/guest.py
"""

import contextlib
import os
import time
from pathlib import Path

LAST_RESORT = 10


def kept_waiting(pid: int) -> float:
    """Seconds for which a process's busiest thread has waited for a CPU so far; 0 if it has ended, or Linux does not count."""
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
    """A time limit for a process, which starts now."""

    def __init__(self, pid: int, seconds: float) -> None:
        self.seconds = seconds
        self._pid = pid
        self._began = time.monotonic()
        self._waited_before = kept_waiting(pid)

    def left(self) -> float:
        """Seconds of host time until the limit can end; 0 or less if it has ended."""
        passed = time.monotonic() - self._began
        if passed < self.seconds:
            return self.seconds - passed
        waited = max(0.0, kept_waiting(self._pid) - self._waited_before)
        return min(self.seconds - (passed - waited), LAST_RESORT * self.seconds - passed)

    def host_too_busy(self) -> bool:
        """Whether LAST_RESORT has ended the limit, and not the limit itself."""
        return time.monotonic() - self._began >= LAST_RESORT * self.seconds
