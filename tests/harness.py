# SPDX-License-Identifier: MIT
"""harness.py - booted machines for tests: commands by the test agent, the console, one-shot runs.

THEORY      Booting a machine takes longer than most tests, so a `Booted` is one boot for many tests: run() sends a command
            to the test agent (user/cmd/verdictd.c) over the verdict port, and type() and expect() use the console.
            `Pool` keeps one machine running.  conftest.py sorts the tests so that those with the same machine follow
            each other.
            Time limits are multiplied by a speed factor that is measured at the start of the test run.  They do not
            count time in which QEMU waits for a CPU of the host (tools/homeroom/patience.py).
SEE ALSO    tools/homeroom/guest.py (one run), conftest.py (fixtures)
"""

import itertools
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest

from homeroom import guest
from homeroom.live.recent import Recent
from homeroom.machine import TOP, load
from homeroom.verdict import escape, unescape

PROFILE = os.environ.get("HR_PROFILE", "full")  # profile of the kernel under test: `make PROFILE=core test`
BUILD = TOP / "build" / ("" if PROFILE == "full" else PROFILE)
ISO = {"test": BUILD / "test/homeroom.iso", "normal": BUILD / "homeroom.iso"}
WATCHDOG = 20  # seconds of the kernel's watchdog, in every test
BOOT_LIMIT = 120  # seconds
HOST_LIMIT = 1500  # seconds that a program on the host may take, so that one that hangs does not stop the test run


def lacking(what: str, message: str) -> None:
    """Skip this test, because the host has no `what` (paper, browser, peer, ...); fail it if HR_REQUIRE lists `what`."""
    if what in os.environ.get("HR_REQUIRE", "").split():
        pytest.fail(message)
    pytest.skip(message)


def without_tests(definition: Path, *keys: str) -> int:
    """Leaves the tests that have one of these keys ("boot") out of a lab's definition.  Returns how many there were."""
    blocks = re.split(r"^(?=\[\[)", definition.read_text(), flags=re.M)
    kept = [block for block in blocks if not any(f"{key} = true" in block for key in keys)]
    definition.write_text("".join(kept))
    assert sum(block.startswith("[[test]]") for block in kept) >= 12
    return len(blocks) - len(kept)


class GuestDied(AssertionError):
    """The machine ended, or did not answer any more, during a test."""


@dataclass(frozen=True)
class Result:
    """The result of a command: its exit status (128 + signal), and its output with standard error."""

    status: int
    out: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def make_guest(name: str, speed: float, *, boards=None, memory=None, cards=None, kernel="test", **options) -> guest.Guest:
    """A guest that is not started yet; `options` are those of guest.Options."""
    options.setdefault("watchdog", WATCHDOG)
    settings = guest.Options(iso=ISO[kernel], speed=speed, **options)
    return guest.Guest(load(name, boards, memory, cards), settings)


recent: WeakKeyDictionary[guest.Guest, Recent] = WeakKeyDictionary()


def start(one: guest.Guest) -> guest.Guest:
    """Start a guest.  If it has the model or a trace, its last minute is kept for the report of a failure."""
    one.start()
    if one.options.model or one.options.trace:
        recent[one] = Recent(one.pid)
    return one


class Booted:
    """A running machine whose test agent is ready.  GuestDied if it does not boot."""

    def __init__(self, name: str, speed: float, **options) -> None:
        options.setdefault("agent", "shell")
        self.guest = make_guest(name, speed, **options)
        self.machine = self.guest.machine
        self._ids = itertools.count(1)
        self._read_to = 0  # console bytes that expect() has passed
        start(self.guest)
        if not self.guest.wait_until(lambda: "ready" in self.guest.lines, BOOT_LIMIT):
            self._fail("the test agent did not answer")

    def _fail(self, what: str) -> None:
        """End the machine, and raise GuestDied."""
        if self.guest.running:
            self.guest.kill("timeout")
        outcome = self.guest.wait()
        raise GuestDied(f"{what} ({outcome.message(False) or outcome.kind})")

    @property
    def alive(self) -> bool:
        return self.guest.running

    def run(self, command: str, timeout: float = 60, uid: int = 0) -> Result:
        """Run `sh -c command` as a user and wait for its end.

        After `timeout` seconds the kernel prints what its CPUs and threads do, the machine ends, and GuestDied is raised.
        """
        number = next(self._ids)
        mine, first = f" {number} ", len(self.guest.lines)
        done = f"done {number} "
        self.guest.send_verdict(b"run %d %d %s\n" % (number, uid, escape(command.encode())))

        def answer():
            return next((ln for ln in self.guest.lines[first:] if ln.startswith(done)), None)

        last = self.guest.wait_until(answer, timeout)
        text = b"".join(
            unescape(ln.split(" ", 2)[2].encode()) for ln in self.guest.lines[first:] if ln.startswith("out" + mine)
        ).decode(errors="replace")
        if last is None and self.guest.running:
            self.guest.ask()
            self._fail(f"'{command}' did not end in {timeout} s; it printed:\n{text}\n")
        if last is None:
            self._fail(f"the machine ended during '{command}', which printed:\n{text}\n")
        return Result(int(last.split()[2]), text)

    def check(self, command: str, timeout: float = 60, uid: int = 0) -> str:
        """Like run(), for a command that must succeed; returns its output."""
        result = self.run(command, timeout, uid)
        assert result.status == 0, f"'{command}' ended with status {result.status}:\n{result.out}"
        return result.out

    def kstats(self, prefix: str = "") -> dict[str, int]:
        """The kernel statistics whose name (module:instance:name:statistic) begins with `prefix`."""
        rows = (ln.rsplit("\t", 1) for ln in self.check("cat /dev/kstat").splitlines())
        return {
            name: int(value, 0) for name, value in rows if name.startswith(prefix) and re.fullmatch(r"-?(0x)?[0-9a-f]+", value)
        }

    def free_kib(self) -> int:
        """The free memory of the machine."""
        return int(re.search(r"MemFree: +(\d+)", self.check("cat /proc/meminfo"))[1])

    def expect_free(self, before: int, margin: int) -> None:
        """Wait until memory is free as before, but for `margin` KiB; fail if it is not after 10 seconds of the guest."""
        for _ in range(100):
            if self.free_kib() > before - margin:
                return
            self.check("sleep 0.1")
        seen = self.check("cat /proc/meminfo; kstat -p -m mem; ps -o pid,user,stat,comm; df /tmp")
        raise AssertionError(f"less memory is free than {before} - {margin} KiB:\n{seen}")

    def type(self, text: str) -> None:
        """Type on the console; \\n is Enter, \\x03 Ctrl-C."""
        self.guest.send(text.replace("\n", "\r").encode())

    def expect(self, pattern: str, timeout: float = 30) -> re.Match:
        """Wait until the console has printed `pattern` (regular expression) since the last expect()."""
        wanted = re.compile(pattern, re.MULTILINE)

        def found():
            return wanted.search(self.guest.console[self._read_to :].decode(errors="replace").replace("\r", ""))

        match = self.guest.wait_until(found, timeout)
        assert match, f"the console did not print /{pattern}/ in {timeout} s, but:\n{self.guest.tail(20)}"
        self._read_to = len(self.guest.console)
        return match

    def close(self) -> guest.Outcome:
        self.guest.close()
        return self.guest.wait()


class Pool:
    """Keeps one machine running for the tests; get() of another machine ends it."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self.key: str | None = None
        self.booted: Booted | None = None

    def get(self, name: str, options: dict) -> Booted:
        key = repr((name, sorted(options.items())))
        if self.booted is None or self.key != key or not self.booted.alive:
            self.close()
            self.booted, self.key = Booted(name, self.speed, **options), key
        return self.booted

    def close(self) -> None:
        if self.booted is not None:
            self.booted.close()
            self.booted = None


def default_signals():
    """Reset signals that nohup or a shell's background job ignores, so that programs of tests do not ignore them, too."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def build_exit_image(folder: Path, *defines: str) -> Path:
    """Make a bootable image of tests/boot/exit_at_once.S, compiled with these macros, for tests of the launcher."""
    elf, iso = folder / "exit.elf", folder / "exit.iso"
    flags = ["-nostdlib", "-static", "-Wl,--build-id=none,-Ttext=0x100000,-e,start,-n"]
    source = TOP / "tests/boot/exit_at_once.S"
    subprocess.run(["gcc", *flags, *(f"-D{d}" for d in defines), "-o", elf, source], check=True)
    tools = {**os.environ, "PYTHONPATH": str(TOP / "tools")}
    subprocess.run(["python3", "-m", "homeroom.image", "iso", iso, elf], check=True, env=tools)
    return iso
