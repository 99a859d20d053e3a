# SPDX-License-Identifier: MIT
"""test_live.py - the page of a running machine (`make live`), its server, and recordings."""

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import conftest
import harness
from browser import Browser
from homeroom import guest, machine
from homeroom.live import memory, record
from homeroom.live.recent import Recent
from homeroom.machine import TOP

pytestmark = [pytest.mark.xdist_group("live"), pytest.mark.part("model")]
COUNTED = "osbench -d /tmp -n 1000 -r 1 null pipe_pp pf_anon; kstat -p cpu:::"
WORK = "memcopy -t {0} -i 1000000"


class Live:
    """A machine that runs `command`, and the server that shows it."""

    def __init__(
        self, name: str, command: str, *options: str, server: tuple[str, ...] = (), console: int = subprocess.DEVNULL
    ) -> None:
        launch = [sys.executable, TOP / "qemu/launch.py", name, "--run", command, "--seed", "3", *options]
        self.guest = subprocess.Popen(
            launch, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.DEVNULL, cwd=TOP, text=True
        )
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
    def wait_for(condition, limit: float = 60):
        end = time.monotonic() + limit
        while not (found := condition()):
            assert time.monotonic() < end, "it never happened"
            time.sleep(0.05)
        return found

    def close(self) -> None:
        for process in filter(None, (self.server, self.guest)):
            if process.poll() is None:
                process.terminate()
            process.wait(timeout=60)


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


def look(browser, live):
    """Open the page and wait until it shows frames."""
    browser.open(live.address)
    browser.until("typeof view !== 'undefined' && view.shown > 3")


@pytest.mark.parametrize("machine, cpus", [("sf6800", 24), ("sf15k", 72)])
def test_page(live, browser, machine, cpus):
    """All CPUs and boards are drawn, threads run on them, and nothing is loaded from elsewhere."""
    one = live(machine, WORK.format(cpus), "--model", "fireplane")
    look(browser, one)
    assert browser.value("document.querySelectorAll('.cpu[data-cpu]').length") == cpus
    assert browser.until(f"document.querySelectorAll('.dot[data-thread]').length >= {cpus}")
    assert browser.until("document.querySelectorAll('#numbers tbody tr').length") == cpus // 4 + 1
    assert all(request.startswith(one.address) for request in browser.requests), browser.requests
    assert not browser.errors


def test_numbers_equal_those_of_watch(live, browser, tmp_path):
    """The table of the page has the numbers that `make watch` prints of the same page of the model."""
    one = live("sf6800", "memcopy -t 24 -i 3; sleep 1000", "--model", "fireplane", "--model-page", str(tmp_path / "page"))
    look(browser, one)
    # The model is disarmed at the end of memcopy, so its counts stay.
    browser.until("view.frame.b && view.frame.a === 0 && view.frame.b[0][1] > 100000 && view.before.m === view.frame.m", 120)
    rows = browser.value("[...document.querySelectorAll('#numbers tr')].map(r => [...r.cells].map(c => c.textContent))")
    page = tmp_path / "page.copy"
    shutil.copy(tmp_path / "page", page)
    printed = subprocess.run(
        [TOP / ".venv-experiments/bin/python", "-m", "homeroom.watch", "--once", page],
        capture_output=True,
        text=True,
        cwd=TOP / "tools",
    )
    lines = {line.split()[0]: line.split() for line in printed.stdout.splitlines()[2:-2]}
    for cells in rows[1:]:
        words = lines[cells[0]]
        assert cells[2:] == words[-7:], (cells, words)
    assert len(rows) == 8


def test_a_pinned_thread_and_a_fenced_set(live, browser):
    """A thread that pbind binds is on its CPU; the CPUs of a fenced set are drawn as fenced."""
    command = "psrset -c 8 9; psrset -f 1; (while :; do :; done) & pbind -b 5 $!; echo $! > /tmp/pid; wait"
    one = live("sf6800", command)
    look(browser, one)
    browser.until("document.querySelectorAll('.cpu.inset.fenced[data-cpu]').length === 2")
    assert browser.value("[...document.querySelectorAll('.cpu.fenced[data-cpu]')].map(c => c.dataset.cpu)") == ["8", "9"]
    bound = "Object.entries(view.frame.h).filter(([, t]) => t[5] === 5 && t[2] === 2 && t[4] === 5).map(([tid]) => tid)"
    tid = browser.until(f"({bound})[0]")
    place = f"document.querySelector('.dot[data-thread=\"{tid}\"]').getAttribute('transform')"
    cell = browser.value("[view.cells[5].x, view.cells[5].y]")
    assert browser.until(place) == f"translate({cell[0]} {cell[1]})"


def test_keyboard(live, browser):
    """Tab reaches a board, Enter selects it, and its counters appear with the commands that show the same."""
    look(browser, live("sf3800", "sleep 1000"))
    browser.press("Tab")
    browser.press("Enter")
    assert browser.until("document.querySelector('#details h2')?.textContent") == "board 0"
    assert "lgrpinfo 0" in browser.value("document.querySelector('#details').textContent")


def test_recording(live, browser, tmp_path):
    """A recording opens from disk, and goes to any of its moments; cut short, it still opens."""
    file = tmp_path / "rec.html"
    one = live("sf3800", WORK.format(8), server=("--record", str(file)))
    Live.wait_for(lambda: file.stat().st_size > 60000 or file.read_text().count("x-frames") > 4, 120)
    one.close()
    whole = file.read_text()
    cut = tmp_path / "cut.html"
    cut.write_text(whole[: whole.rindex("x-frames") + 200])
    for page, least in ((file, 300), (cut, 200)):
        browser.open(page.as_uri())
        browser.until("typeof tape !== 'undefined' && tape.count > 0 && view.frame")
        assert browser.value("tape.count") >= least
        for at in (0, 0.5, 1):
            browser.value(f"seek(Math.round((tape.count - 1) * {at}))")
            assert browser.value("Number($('slider').value)") == browser.value(f"Math.round((tape.count - 1) * {at})")
        assert browser.value("document.querySelectorAll('.cpu[data-cpu]').length") == 8
        assert not browser.errors and browser.requests == [page.as_uri()]


def test_the_server_ends_with_the_machine(live):
    one = live("sf3800", "sleep 3")
    assert one.server.wait(timeout=60) == 0, one.server.stderr.read()
    assert "the machine has ended" in one.server.stdout.read()


def test_the_guest_notices_nothing(tmp_path, speed):
    """With ICOUNT and a seed all that a guest prints is the same each time.  So it is when it is watched, 50 times a second."""
    printed = []
    for watched in (False, True):
        options = guest.Options(iso=harness.ISO["normal"], speed=speed, run=COUNTED, icount=True, seed=5)
        one = guest.Guest(machine.load("sf280r"), options)
        seen = Recent(one.start().pid, 0.02 if watched else 1e6)
        assert one.wait(300).kind == "clean"
        printed.append(one.text())
    assert printed[0] == printed[1] and "cpu:0:sys:syscl" in printed[0]
    assert seen.write(tmp_path / "seen.html") and len(record.read(tmp_path / "seen.html")[1]) > 10


def test_a_failed_test_leaves_a_recording(boot):
    """The last minute of a machine with the model, for the report of a failure."""
    one = boot("sf280r", model="fireplane")
    one.check("memcopy -i 2000")
    Live.wait_for(lambda: len(harness.recent[one.guest].frames) > 2)
    path = Path(conftest.left_recording(one.guest, "test_live.html"))
    layout, frames, whole = record.read(path)
    path.unlink()
    assert whole and layout["name"] == "sf280r" and len(frames) > 2 and "b" in frames[-1]
    assert conftest.left_recording(boot("sf280r").guest, "test_live.html") == ""


def test_only_this_address(live):
    """A request that names another host is refused: a page of another origin cannot read the machine."""
    one = live("sf280r", "sleep 1000")
    request = urllib.request.Request(one.address + "layout", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 403
    assert json.load(urllib.request.urlopen(one.address + "layout"))["name"] == "sf280r"


def server(*options: str) -> subprocess.CompletedProcess:
    call = [sys.executable, "-m", "homeroom.live.server", *options]
    return subprocess.run(call, capture_output=True, text=True, cwd=TOP / "tools", timeout=60)


def test_bad_input(live, tmp_path):
    """One line for each: a port in use, no such process, a file that cannot be written."""
    one = live("sf280r", "sleep 1000")
    pid = str(one.process.pid)
    port = one.address.rstrip("/").rpartition(":")[2]
    for options, words in [
        (("--port", port, "--pid", pid), f"live: port {port}: Address already in use; name another with PORT="),
        (("--pid", "1"), "live: process 1 is no machine of yours"),
        (("--pid", pid, "--record", str(tmp_path / "no/rec.html")), "No such file or directory"),
    ]:
        done = server(*options)
        assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    "text, words",
    [
        ("<html></html>", "rec.html: not a recording"),
        (
            '<script type="application/json" id="layout">{"version": 99}</script>',
            "rec.html: a recording of version 99; this program reads 1",
        ),
        ("\x00\xff", "rec.html: not a recording"),
    ],
)
def test_what_is_no_recording(tmp_path, text, words):
    """`make replay` says in one line what a file is not."""
    (tmp_path / "rec.html").write_bytes(text.encode("latin-1"))
    call = [sys.executable, "-m", "homeroom.live.record", str(tmp_path / "rec.html")]
    done = subprocess.run(call, capture_output=True, text=True, cwd=TOP / "tools", timeout=60)
    assert done.returncode == 1 and done.stderr.strip().endswith(words) and done.stderr.count("\n") == 1


def test_files_refer_to_nothing_outside():
    for file in Path(TOP / "tools/homeroom/live/page").iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "//cdn" not in text
