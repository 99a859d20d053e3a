# SPDX-License-Identifier: MIT
"""conftest.py - fixtures for tests that boot machines, and the order of tests.

    pytestmark = pytest.mark.machine("sf3800", system="set lgrp_loadavg_tolerance=0x1000")

    def test_boards(machine):
        assert machine.check("lgrpinfo -I").split() == ["0", "1"]

`machine` is a booted machine; all tests with the same mark use it, one after the other (harness.Booted).
`boot_once(name, run=...)` boots a machine for one command line and returns how the run ended.
`boot(name, ...)` boots a machine for one test only.
`live(name, command, ...)` starts a machine with the server of `make live`, and `browser` is a Chromium to look at its page.

A failed test shows the command that repeats its boot, and the end of the console.  If its machine had the model or a trace, the
last minute is left as a recording (docs/live.md).  A fault of the host (no QEMU, not enough
memory, a full disk, an image that was not built) is an error, not a failure.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import zlib

import pytest

import harness
import size
from browser import Browser
from homeroom import guest
from homeroom.machine import TOP, MachineError
from livepage import Live

EXIT_ISO = TOP / "build/boot/exit_at_once.iso"
LEFT = TOP / "build/test-live"  # recordings of machines whose tests have failed
USUAL_SECONDS = 0.9  # CPU time that the measurement took on the host for which the time limits were chosen


def measure_speed() -> float:
    """The factor by which this host is slower than usual, at least 1: the CPU time of two boots of an empty image.

    CPU time, because the time limits do not count time in which other programs have the CPU (patience.py).
    """
    command = ["qemu-system-x86_64", "-machine", "pc-i440fx-7.2", "-nodefaults", "-display", "none", "-no-reboot"]
    command += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-cdrom", str(EXIT_ISO)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    runs = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for _ in range(2)]
    if any(run.wait(timeout=harness.HOST_LIMIT) != guest.EXIT_CLEAN for run in runs):
        raise MachineError("QEMU does not run the exit-at-once image")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return max(1.0, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / USUAL_SECONDS)


def pytest_configure(config):
    # With pytest-xdist, a file that does not exist would be ignored without a message.
    for argument in config.args:
        if not os.path.exists(argument.partition("::")[0]):
            raise pytest.UsageError(f"{argument}: no such file or folder; the tests are in tests/")
    if "PYTEST_XDIST_WORKER" not in os.environ:  # the workers inherit it
        chosen = config.option.markexpr or config.option.keyword or config.args != config.getini("testpaths")
        os.environ["HR_ALL"] = "1" if chosen else "0"
    os.environ["THREADS"] = "single"  # for the make commands of tests, so that runs are repeatable
    if (python := shutil.which("python3")) and open(python, "rb").read(2) == b"#!":
        # A script that looks for the interpreter (pyenv's) takes longer than most of what it starts.
        os.environ["PATH"] = f"{sys.base_prefix}/bin{os.pathsep}{os.environ['PATH']}"
    # The suite starts our tools a thousand times: they are compiled once, also where the environment forbids that.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(TOP / "build/pycache")
    if "HR_SPEED" in os.environ:
        return
    try:
        speed = measure_speed() if EXIT_ISO.exists() else 1.0
    except (OSError, MachineError, subprocess.TimeoutExpired) as error:
        pytest.exit(f"harness: {error}", returncode=3)
    os.environ["HR_SPEED"] = f"{speed:.2f}"  # the workers of pytest-xdist inherit it


def pytest_report_header(config):
    return f"homeroom: time limits times {os.environ['HR_SPEED']}"


def machine_key(item) -> str:
    """A key that is the same for tests that can use the same booted machine; empty for tests without one."""
    mark = item.get_closest_marker("machine")
    return repr((mark.args, sorted(mark.kwargs.items()))) if mark else ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out tests, and sort the others.

    Left out are tests of parts that the kernel does not have, and long tests unless tests were chosen by name, mark or
    file.  Tests with the same machine, and those of a module with a group, run in the same worker (pytest -n 3 --dist
    loadgroup).  These groups come first; single tests then fill the time until the last worker has finished.
    """
    absent = size.parts((TOP / "kernel/profile.mk").read_text())[1][harness.PROFILE]
    lacking = [item for item in items if any(mark.args[0] in absent for mark in item.iter_markers("part"))]
    config.hook.pytest_deselected(items=lacking)
    items[:] = [item for item in items if item not in lacking]
    if os.environ["HR_ALL"] == "0":
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    items.sort(key=lambda item: (not machine_key(item) and not item.get_closest_marker("xdist_group"), machine_key(item)))
    for item in items:
        if (key := machine_key(item)) and not item.get_closest_marker("xdist_group"):
            # The name of a group must not contain a bracket: pytest-xdist takes only the text after the last "]".
            item.add_marker(pytest.mark.xdist_group(f"{zlib.crc32(key.encode()):08x}"))


@pytest.fixture(scope="session")
def speed() -> float:
    return float(os.environ["HR_SPEED"])


@pytest.fixture(scope="session")
def pool(speed):
    machines = harness.Pool(speed)
    yield machines
    machines.close()


@pytest.fixture
def guests(request):
    """A list for the guests of this test; the report of a failure shows their consoles."""
    request.node.guests = []
    return request.node.guests


@pytest.fixture
def machine(request, pool, guests):
    mark = request.node.get_closest_marker("machine")
    if mark is None:
        raise pytest.UsageError("a test that takes `machine` needs @pytest.mark.machine(name)")
    booted = pool.get(mark.args[0], mark.kwargs)
    guests.append(booted.guest)
    return booted


@pytest.fixture
def boot(speed, guests):
    """boot(name, **options): a harness.Booted for this test alone."""
    mine = []

    def make(name, **options):
        mine.append(harness.Booted(name, speed, **options))
        guests.append(mine[-1].guest)
        return mine[-1]

    yield make
    for booted in mine:
        booted.close()


@pytest.fixture
def live():
    """live(machine, command, *launcher's options, server=(...)) starts a machine and its server."""
    found = []

    def start(*args, **more):
        found.append(Live(*args, **more))
        return found[-1]

    yield start
    for one in found:
        one.close()


@pytest.fixture(scope="module")
def browser():
    if shutil.which("chromium") is None:
        harness.lacking("browser", "no chromium to look at the page with: tools/deps.sh browser")
    page = Browser()
    yield page
    page.close()


@pytest.fixture
def boot_once(speed, guests):
    """boot_once(name, run=..., timeout=120, **options) -> (Outcome, console text, verdict lines)."""

    def once(name, timeout=120, **options):
        one = harness.make_guest(name, speed, **options)
        guests.append(one)
        try:
            outcome = harness.start(one).wait(timeout)
        finally:
            one.close()
        return outcome, one.text(), one.lines

    return once


def left_recording(one, name: str) -> str:
    """Write the last minute of a guest into a file.  Returns its name, why it could not be written, or "": it has none."""
    path = LEFT / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return str(path) if one in harness.recent and harness.recent[one].write(path) else ""
    except OSError as error:
        return str(error)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if not report.failed:
        return
    if "Timeout (>" in str(report.longrepr) or "Timeout >" in str(report.longrepr):
        said = "this is the limit of pyproject.toml, in the host's time: the test hangs, or this host is much too busy"
        report.sections.append(("the last resort", said))
    for number, one in enumerate(getattr(item, "guests", [])):
        report.sections.append(("to repeat it", one.repeat()))
        if recording := left_recording(one, re.sub(r"\W+", "-", item.nodeid).strip("-") + f"-{number}.html"):
            report.sections.append(("its last minute, for a browser", recording))
        report.sections.append(("end of the console", one.tail(400 if "NMI: " in one.text() else 40)))
    if call.excinfo is not None and call.excinfo.errisinstance((MachineError, OSError)):
        report.when = "setup"  # pytest counts this as an error, not as a failure
