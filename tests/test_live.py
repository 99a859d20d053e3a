# SPDX-License-Identifier: MIT
"""test_live.py - the page of a running machine (`make live`) and its server."""

import dataclasses
import itertools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

import harness
from harness import HOST_LIMIT
from homeroom import guest, heat, machine, model
from homeroom.live import layout, memory, record
from homeroom.live import server as live_server
from homeroom.live.kernel import Kernel, Symbols
from homeroom.live.recent import Recent
from homeroom.live.state import frames_of
from homeroom.machine import TOP
from homeroom.net import free_port
from livepage import IDLE, WORK, Live, check_same_as_live, look, play_back, replayed, written

pytestmark = [pytest.mark.xdist_group("live"), pytest.mark.part("model")]
COUNTED = "osbench -d /tmp -n 4000 -r 1 null pipe_pp pf_anon; kstat -p cpu:::"
MODEL = ("--model", "fireplane")


# ---- the page, with the model ----


def printed_by_watch(page: Path, copy: Path) -> list[list[str]]:
    """The rows that `make watch` prints of a saved page of the model: board, then instr to GB/s."""
    shutil.copy(page, copy)
    call = [TOP / ".venv-experiments/bin/python", "-m", "homeroom.watch", "--once", copy]
    done = subprocess.run(call, capture_output=True, text=True, cwd=TOP / "tools", check=True)
    return [[line.split()[0], *line.split()[-7:]] for line in done.stdout.splitlines()[2:-2]]


def check_page(browser, one: Live, cpus: int, threads: int, page: Path, copy: Path) -> None:
    """All CPUs and boards are drawn, and threads run on them; the numbers are those of `make watch`; no request leaves."""
    look(browser, one)
    assert browser.value("document.querySelectorAll('.cpu[data-cpu]').length") == cpus
    assert browser.until(f"document.querySelectorAll('.dot[data-thread]').length >= {threads}")
    browser.until("view.frame.a && view.frame.b.every((board) => board[1] > 1e6)")
    assert all(request.startswith(one.address) for request in browser.requests), browser.requests
    assert not browser.errors
    one.stop()  # so that its counts stay as they are
    look(browser, one)
    assert set(browser.value("view.links.map((link) => link.text.textContent)")) == {"link -"}  # no modelled time passes
    shown = browser.value(
        "[...document.querySelectorAll('#numbers tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    printed = printed_by_watch(page, copy)
    os.kill(one.process.pid, signal.SIGCONT)
    assert [[cells[0], *cells[2:]] for cells in shown] == printed and len(printed) == cpus // 4 + 1


def test_the_page_of_sf15k(live, browser, tmp_path):
    page = tmp_path / "page"
    check_page(browser, live("sf15k", WORK.format(72), *MODEL, "--model-page", str(page)), 72, 72, page, tmp_path / "copy")


def test_the_server_ends_with_the_machine(live, browser, tmp_path):
    """The page and the server say so, and the server returns 0; the recording is whole."""
    file = tmp_path / "rec.html"
    one = live("sf280r", "read line", server=("--record", str(file)), keys=subprocess.PIPE)
    look(browser, one)
    one.guest.stdin.write("\n")  # the command ends, and so does the machine: not before the page shows it
    one.guest.stdin.close()
    browser.until("$('status').textContent === 'the machine has ended'")
    assert one.server.wait(timeout=HOST_LIMIT) == 0, one.server.stderr.read()
    assert "the machine has ended" in one.server.stdout.read()
    assert record.read(file)[2]


def test_events_from_the_trace(live, tmp_path):
    """While the trace is on, a thread that lives for less than the time between two readings is an event."""
    one = live("sf280r", "while :; do true; (true); done", "--trace", str(tmp_path / "trace.json"))
    found = set()
    for frame in itertools.islice(frames_of(one.process, lambda: time.sleep(0.05)), 1200):
        found.update(kind for kind, text, _ in frame["e"] if text.endswith("begins, and ends within 0.1 s"))
        if found:
            break
    assert found == {"created"}


def test_the_guest_notices_nothing(tmp_path, speed):
    """With ICOUNT and a seed all that a guest prints is the same each time.  So it is when it is watched."""
    printed = []
    for watched in (False, True):
        options = guest.Options(iso=harness.ISO["normal"], speed=speed, run=COUNTED, icount=True, seed=5)
        one = guest.Guest(machine.load("sf280r"), options)
        seen = Recent(one.start().pid, 0.005 if watched else 1e6)
        assert one.wait(300).kind == "clean"
        printed.append(one.text())
    assert printed[0] == printed[1] and "cpu:0:sys:syscl" in printed[0]
    assert seen.write(tmp_path / "seen.html") and len(record.read(tmp_path / "seen.html")[1]) > 1


def server(*options: str) -> subprocess.CompletedProcess:
    call = [sys.executable, "-m", "homeroom.live.server", *options]
    return subprocess.run(call, capture_output=True, text=True, cwd=TOP / "tools", timeout=HOST_LIMIT)


# ---- which machine ----


def test_one_of_several_machines(monkeypatch, capsys):
    """PID= chooses one; else it is the newest, for `make heat` the newest that counts, and one line says which there are."""
    hot = ("-plugin", "file=a.so,page=p,heat=16")
    first, second = memory.Process(70, "sf6800", hot, 1, 1), memory.Process(80, "sf15k", (), 1, 2)
    running = [first, second]
    monkeypatch.setattr(memory, "processes", lambda: running)
    assert memory.find("live", None) is second
    assert capsys.readouterr().err == "live: 2 machines run: 70 sf6800, 80 sf15k; this is 80, PID= chooses another\n"
    assert heat.find(None) is first
    assert capsys.readouterr().err == "heat: 2 machines run: 70 sf6800, 80 sf15k; this is 70, PID= chooses another\n"
    assert memory.find("live", "70") is heat.find("70") is first
    for pid, words in (
        ("x", "PID=x: write the number"),
        ("-70", "PID=-70: write"),
        ("7", "process 7 is no machine of yours; there are: 70 sf"),
    ):
        with pytest.raises(memory.LiveError, match=words):
            memory.find("live", pid)
    with pytest.raises(memory.LiveError, match="not counted by page"):
        heat.find("80")
    running.remove(first)
    with pytest.raises(memory.LiveError, match="not counted by page"):
        heat.find(None)
    assert memory.find("live", None) is second and capsys.readouterr() == ("", "")


def test_a_machine_that_starts():
    """Memory that QEMU has made, but not given its size, is tried again later."""
    one = memory.Process(os.getpid(), "sf280r", (), 0, 0)
    file = os.memfd_create("memory-backend-memfd")
    try:
        with pytest.raises(memory.LiveError) as refused:
            memory.open_memory(one)
        assert not isinstance(refused.value, memory.Hopeless)
    finally:
        os.close(file)


@pytest.mark.parametrize("allowed", [True, False])
def test_the_end_of_a_process(monkeypatch, allowed):
    """It is seen at once, also while the parent has not asked for the status, and without pidfd_open()."""
    if not allowed:
        monkeypatch.setattr(os, "pidfd_open", lambda pid: os.open("/none", os.O_RDONLY))
    child = subprocess.Popen(["sleep", "1000"])
    process = memory.Process(child.pid, "", (), os.getpid(), memory._state(child.pid)[1])
    turns = process.until_its_end()
    assert [next(turns) for _ in range(3)] == [None] * 3
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert list(turns) == []
    child.wait()
    assert list(process.until_its_end()) == []
    assert list(dataclasses.replace(process, pid=os.getpid()).until_its_end()) == []  # another process with the number


def test_a_process_with_an_odd_name():
    """Names of processes are any bytes."""
    name = Path("/proc/self/comm")
    before = name.read_bytes()
    try:
        name.write_bytes(b"\xff) \n")
        assert memory.Process(os.getpid(), "", (), os.getppid(), memory._state(os.getpid())[1]).runs()
    finally:
        name.write_bytes(before)


def test_files_refer_to_nothing_outside():
    for file in Path(TOP / "tools/homeroom/live/page").iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "//cdn" not in text


# ---- one machine for the rest ----

SETTINGS = "crossbar_mbps=1200"
PINNED = "psrset -c 8 9; psrset -f 1; (while :; do :; done) & pbind -b 5 $!; "


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    return tmp_path_factory.mktemp("live") / "page"


@pytest.fixture(scope="module")
def shared(page_file):
    """A machine with a fenced set and a bound thread, whose other threads copy memory of one board: all of them exist."""
    one = Live("sf6800", PINNED + WORK.format("21 -o"), *MODEL, "--model-set", SETTINGS, "--model-page", str(page_file))
    try:
        for frame in frames_of(one.process, lambda: time.sleep(0.1)):
            if sum(thread[1] == "memcopy" for thread in frame["h"].values()) == 21:
                break
        yield one
    finally:
        one.close()


def test_the_page_of_sf6800(shared, browser, page_file, tmp_path):
    check_page(browser, shared, 24, 22, page_file, tmp_path / "copy")


def test_a_pinned_thread_and_a_fenced_set(shared, browser):
    """A thread that pbind binds is on its CPU; the CPUs of a fenced set are drawn as fenced."""
    look(browser, shared)
    browser.until("document.querySelectorAll('.cpu.inset.fenced[data-cpu]').length === 2")
    assert browser.value("[...document.querySelectorAll('.cpu.fenced[data-cpu]')].map((c) => c.dataset.cpu)") == ["8", "9"]
    drawn = "getComputedStyle(document.querySelector('.cpu[data-cpu=\"{}\"] .fence')).stroke"
    assert browser.value(drawn.format(8)) != "none" == browser.value(drawn.format(10))
    assert browser.value("$('sets').textContent").endswith("set 1: CPUs 8-9, fenced off")
    # It shares the CPU with a thread of memcopy, so it may wait there.  Both places are those of one frame.
    centre = "(({x, y, width, height}) => [x + width / 2, y + height / 2])"
    dot = "document.querySelector(`.dot[data-thread='${tid}']`).getBoundingClientRect()"
    cell = "document.querySelector('.cpu[data-cpu=\"5\"]').getBoundingClientRect()"
    bound = "Object.keys(view.frame.h).find((tid) => view.frame.h[tid][5] === 5 && view.dots.has(tid))"
    (x, y), box = browser.until(f"((tid) => tid && [{centre}({dot}), {cell}.toJSON()])({bound})")
    assert box["left"] < x < box["right"] and box["top"] < y < box["bottom"]


def test_shares_of_links(shared, browser):
    """The share of a link: bytes in both directions in a second of modelled time, of the link's rate in this run."""
    look(browser, shared)
    rate = int(SETTINGS.partition("=")[2])
    shares = "[view.before, view.frame, view.links.map((link) => link.text.textContent)]"

    def busy():
        old, new, words = browser.value(shares)
        if "k" not in old or (seconds := (new["k"] - old["k"]) / 1e12) == 0:
            return False
        moved = [n[4] + n[5] - o[4] - o[5] for o, n in zip(old["b"], new["b"], strict=True)]
        assert words == [f"link {int(100 * b / seconds / (rate * 1e6) + 0.5)} %" for b in moved]
        return max(moved) / seconds > rate * 1e6 / 2

    Live.wait_for(busy)


@pytest.mark.parametrize("name, settings, rate", [("sf6800", "", 4800), ("sf15k", 'centerplane="double-pumped"', 2400)])
def test_the_rate_of_a_link(tmp_path, name, settings, rate):
    """It comes from the parameter file of the run, also if the name of the file has a comma."""
    file = tmp_path / "fire,plane"
    file.write_text(model.parameters(machine.load(name), settings))
    args = model.qemu_args(file, tmp_path / "page", 0, 0)
    process = memory.Process(1, name, ("-smp", "4,cores=4,threads=1", "-m", "512M", *args), 1, 0)
    assert layout.of(process)["link_mbps"] == rate
    assert layout.of(dataclasses.replace(process, args=process.args[:4]))["link_mbps"] == 0


def chosen(browser, heading: str) -> str:
    """The words of the selected thing, whose name must be `heading`."""
    browser.until(f"document.querySelector('#details h2')?.textContent === '{heading}'")
    return browser.value("document.querySelector('#details').textContent")


def focused(browser) -> dict:
    return browser.value("({...document.activeElement.dataset, words: document.activeElement.getAttribute('aria-label')})")


def test_keyboard(shared, browser):
    """The picture is one stop of Tab; arrow keys go to each board, CPU and dot, and Enter selects it."""
    look(browser, shared)
    browser.press("Tab")
    browser.press("Enter")
    assert "lgrpinfo 0" in chosen(browser, "board 0")
    for key, place in (
        ("ArrowRight", {"cpu": "0"}),
        ("ArrowRight", {"cpu": "1"}),
        ("ArrowLeft", {"cpu": "0"}),
        ("PageDown", {"board": "1"}),
        ("ArrowRight", {"cpu": "4"}),
        ("PageUp", {"board": "1"}),
        ("PageUp", {"board": "0"}),
        ("PageUp", {"board": "0"}),
        ("End", {"cpu": "23"}),
        ("ArrowRight", {"cpu": "23"}),
        ("Home", {"board": "0"}),
        ("ArrowLeft", {"board": "0"}),
    ):
        browser.press(key)
        assert focused(browser).items() >= place.items(), key
        assert browser.value("document.querySelectorAll('#picture [tabindex=\"0\"]').length") == 1
    browser.press("Tab")
    assert browser.value("document.activeElement.closest('#picture')") is None

    # The bound thread of CPU 5 shares it with others, so the machine has to stand for this.
    def stands_with_dots() -> bool:
        """Whether more than 5 threads have a dot where it was stopped: one initialises for all, and copies wait for others."""
        shared.stop()
        look(browser, shared)
        if browser.value("view.dots.size") > 5:
            return True
        os.kill(shared.process.pid, signal.SIGCONT)
        return False

    try:
        Live.wait_for(stands_with_dots)
        reached = set()
        for cpu in range(24):
            browser.value(f"view.cells[{cpu}].group.focus()")
            while True:
                before = focused(browser)
                browser.press("ArrowDown")
                if (now := focused(browser)) == before:
                    break
                reached.add(now["thread"])
                browser.press("Enter")
                assert f"CPU {cpu}" in chosen(browser, f"thread {now['thread']}")
                assert now["words"].startswith(f"thread {now['thread']}, memcopy") or cpu == 5 or "memcopy" not in now["words"]
            browser.press("ArrowUp")
        assert reached == set(browser.value("[...view.dots.keys()]"))
        assert len(reached) > 5
    finally:
        os.kill(shared.process.pid, signal.SIGCONT)


def test_threads_that_sleep_are_listed(shared, browser):
    """The details of a board and of a CPU have buttons for its threads, also for those without a dot."""
    look(browser, shared)
    tid = browser.until("Object.keys(view.frame.h).find((tid) => view.frame.h[tid][2] === 0 && view.frame.h[tid][3] < 255)")
    home = browser.value(f"view.frame.h[{tid}][3]")
    browser.value(f"select('board', {home})")
    line = f"document.querySelector('#details li[data-thread=\"{tid}\"] button')"
    assert browser.until(f"{line} && {line}.textContent").endswith("sleeps")
    browser.value(f"{line}.click()")
    chosen(browser, f"thread {tid}")
    many = "Object.fromEntries([...Array(500).keys()].map((t) => [t, [1, 'x', 0, 0, 0, -1, -1]]))"
    browser.value(f"select('cpu', 0); show({{...view.frame, h: {many}}})")
    assert browser.value("document.querySelectorAll('#details li').length <= LISTED")


def test_the_focus_stays_in_the_picture(browser, tmp_path):
    """When a thread with the focus ends, its CPU gets the focus."""
    thread = {"h": {"7": [7, "x", 2, 0, 1, -1, -1]}}
    play_back(browser, written(tmp_path / "rec.html", [thread, thread, {}]))
    browser.value("document.querySelector('[data-thread=\"7\"]').focus()")
    for at, place in ((1, {"thread": "7"}), (2, {"cpu": "1"})):
        browser.value(f"seek({at})")
        assert focused(browser).items() >= place.items()
    browser.value("redraw()")
    assert focused(browser)["cpu"] == "1"
    browser.value("seek(0)")
    browser.value("document.querySelector('[data-thread=\"7\"]').focus(); redraw()")
    assert focused(browser)["thread"] == "7"
    browser.value("view.frame.h[7][0] = 8; redraw()")  # the number of a thread that has ended
    assert focused(browser)["cpu"] == "1"


def test_the_list_of_events_by_keyboard(browser, tmp_path):
    """Tab stops at one event; keys move it.  If its line goes, the newest one has the focus."""
    frames = [{"e": [["created", f"thread {n}.{i}", 0] for i in range(40)]} for n in range(8)]
    play_back(browser, written(tmp_path / "rec.html", frames))
    stops = "[...$('lines').querySelectorAll('button')].filter((b) => b.tabIndex >= 0).map((b) => b.closest('li').textContent)"
    at = "document.activeElement.closest('li')?.textContent"
    browser.value("seek(6)")
    assert browser.value(stops) == ["created thread 6.39 (6.0 s)"]
    browser.value("keys.line.focus()")
    for key, thread in (("ArrowDown", "6.38"), ("ArrowDown", "6.37"), ("ArrowUp", "6.38"), ("Home", "6.39"), ("End", "2.0")):
        browser.press(key)
        assert f"thread {thread} " in browser.value(at) and browser.value(stops) == [browser.value(at)]
    for number in (7, 3):
        browser.value(f"seek({number})")
        assert browser.value(stops) == [browser.value(at)] == [f"created thread {number}.39 ({number}.0 s)"]
    browser.press("Tab")
    assert not browser.value(at) and not browser.errors


def test_screen_reader(browser, tmp_path):
    """A CPU's name has its state, and is written only when that changes; frames change nothing that is read out by itself."""
    frames = [{"c": [[state, -1, 0, waiting, 0, 0, 0, 0], IDLE]} for state, waiting in (("u", 0), ("u", 0), ("s", 2))]
    play_back(browser, written(tmp_path / "rec.html", frames))
    browser.value("select('cpu', 0)")
    count = "(target, options) => new MutationObserver((all) => globalThis.changes += all.length).observe(target, options)"
    everything = "{subtree: true, childList: true, characterData: true}"
    said = "document.querySelectorAll('[role=status], [role=log], [role=alert], [aria-live], output')"
    browser.value(f"globalThis.changes = 0; {said}.forEach((node) => ({count})(node, {everything}))")
    label = "{subtree: true, attributeFilter: ['aria-label']}"
    browser.value(f"({count})($('picture'), {label})")
    name = "view.cells[0].group.getAttribute('aria-label')"
    for at, words, changes in ((1, "CPU 0: user", 0), (2, "CPU 0: system, 2 waiting", 1)):
        browser.value(f"seek({at})")
        assert browser.value(f"[{name}, changes]") == [words, changes]
    assert browser.value("view.cells[0].group.getAttribute('aria-pressed')") == "true"
    assert browser.value(f"{said}.length") == 1
    assert browser.value("$('slider').getAttribute('aria-valuetext')") == "2.0 s"


def test_a_cpu_that_has_not_started(browser, tmp_path):
    """It can be selected."""
    play_back(browser, written(tmp_path / "rec.html", [{"c": [IDLE]}, {}]))
    browser.value("select('cpu', 1)")
    assert "has not started" in chosen(browser, "CPU 1")
    browser.value("seek(1)")
    assert "psrinfo -v 1" in chosen(browser, "CPU 1") and not browser.errors


@pytest.mark.parametrize("width", [1920, 1280, 390])
def test_nothing_scrolls_sideways(shared, browser, width):
    browser.resize(width, 1000)
    look(browser, shared)
    browser.until("document.querySelector('#numbers td') !== null")
    long = "addEvents({w: 1234.5, e: [['fence broken', 'thread 12345 (fifteen-letters): CPU 100 -> 200', 1]]}); "
    long += "updateNumbers({...view.frame, b: view.frame.b.map(() => [4, ...Array(5).fill(88.8e9)])})"
    wide = f"(e) => e.getBoundingClientRect().right > {width} || (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0"
    wide += " && getComputedStyle(e).overflowX !== 'visible')"
    assert browser.value(f"{long}; [...document.querySelectorAll('body *')].filter({wide}).map((e) => e.outerHTML)") == []
    browser.resize(1280, 1000)


def test_without_javascript(shared, browser):
    """One line says what to do instead."""
    browser.scripts(False)
    browser.open(shared.address)
    words = browser.until("document.querySelector('noscript') && document.body.innerText")
    browser.scripts(True)
    assert [line for line in words.splitlines() if line.strip()] == [
        "Homeroom",
        "This page needs JavaScript. In a terminal, make watch shows the boards without it.",
    ]


def test_recording(shared, browser, tmp_path):
    """A recording opens from disk, and shows at each of its frames what the live page showed; cut short, it still opens."""
    file, cut = tmp_path / "rec.html", tmp_path / "cut.html"
    recorder, frames = record.Recorder(file, layout.of(shared.process)), []
    for frame in itertools.islice(frames_of(shared.process, lambda: time.sleep(0.02)), 250):
        frames.append(json.loads(json.dumps(frame)))
        recorder.add(json.dumps(frame), frame)
    recorder.close()
    whole = file.read_text()
    cut.write_text(whole[: whole.rindex("x-frames") + 200])
    for page, count in ((file, 250), (cut, 200)):
        play_back(browser, page)
        assert browser.value("[tape.count, Number($('slider').max)]") == [count, count - 1]
        assert record.read(page) == (layout.of(shared.process), frames[:count], count == 250, [])
        check_same_as_live(browser, frames[:count])
        assert browser.value("document.querySelectorAll('.cpu[data-cpu]').length") == 24
        assert browser.requests == [page.as_uri()]
    done = replayed(cut)
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith("replay: Sun Fire 6800, 200 frames, ") and ", cut short: file:" in done.stdout


def test_another_server_at_the_same_address(shared, live, browser):
    """The page begins again with the machine of that server."""
    one = live("sf280r", "sleep 1000", server=("--port", str(free_port("tcp"))))
    look(browser, one)
    assert browser.value("[$('title').textContent, view.frame.c.length]") == ["Sun Fire 280R", 2]
    one.server.terminate()
    one.server.wait(timeout=HOST_LIMIT)
    browser.until("$('status').textContent === 'the server does not answer'")
    port = one.address.rstrip("/").rpartition(":")[2]
    call = [sys.executable, "-m", "homeroom.live.server", "--port", port, "--pid", str(shared.process.pid)]
    other = subprocess.Popen(call, stdout=subprocess.DEVNULL, cwd=TOP / "tools")
    try:
        browser.until("typeof view !== 'undefined' && view.frame && view.frame.c.length === 24")
        drawn = "[$('title').textContent, document.querySelectorAll('.cpu[data-cpu]').length, $('status').textContent]"
        assert browser.value(drawn) == ["Sun Fire 6800", 24, ""]
    finally:
        other.terminate()
        other.wait(timeout=HOST_LIMIT)


def test_the_times_of_frames(monkeypatch):
    """Ten a second.  After a delay, frames come sooner until those of half a second are made up for; no more than these."""
    feed = live_server.Feed.__new__(live_server.Feed)
    feed._due, feed._wait_for_listeners = 100.0, lambda: None
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now, sleep=lambda s: setattr(clock, "now", clock.now + s))
    monkeypatch.setattr(live_server, "time", clock)
    times = []
    for work in (0.01, 0.03, 0.33, *[0.01] * 4, 60, *[0.01] * 8):
        clock.now += work
        feed._pause()
        times.append(round(clock.now - 100, 2))
    late = [60.7, 60.71, 60.72, 60.73, 60.74, 60.75, 60.8, 60.9, 61.0]
    assert times == [0.1, 0.2, 0.53, 0.54, 0.55, 0.6, 0.7, *late]


class Gone:
    """A machine whose server closes the connection when a page asks for its layout."""

    @property
    def layout(self) -> dict:
        raise ConnectionError


def test_a_server_that_ends_while_the_page_opens(browser):
    one = live_server.listen("0")
    one.feed = Gone()
    threading.Thread(target=one.serve_forever, daemon=True).start()
    browser.open(f"http://127.0.0.1:{one.server_port}/")
    browser.until("typeof view !== 'undefined' && $('status').textContent === 'the server does not answer'", 60)
    one.shutdown()
    one.server_close()


def test_a_client_that_is_too_slow(monkeypatch):
    """The server does not wait for the rest of a request, or for a page that takes no frames, for ever."""
    assert 5 <= live_server.Handler.timeout <= 60
    monkeypatch.setattr(live_server.Handler, "timeout", 0.2)
    one = live_server.listen("0")
    one.feed = feed = live_server.Feed.__new__(live_server.Feed)
    feed._listeners, feed._changed, feed.ended = [], threading.Condition(), ""
    threading.Thread(target=one.serve_forever, daemon=True).start()
    address = ("127.0.0.1", one.server_port)
    with socket.create_connection(address, HOST_LIMIT) as half:
        half.sendall(b"GET / HTTP/1.1\r\n")
        assert half.recv(1000) == b""
    with socket.create_connection(address, HOST_LIMIT) as lazy:
        lazy.sendall(f"GET /frames HTTP/1.1\r\nHost: 127.0.0.1:{one.server_port}\r\n\r\n".encode())
        Live.wait_for(lambda: feed._listeners)
        while feed._listeners:
            feed._give("x" * 10**6)
            time.sleep(0.01)
    one.shutdown()
    one.server_close()


def test_the_default_port_of_http():
    """A browser leaves it out."""
    assert live_server.hosts_of(80) == {"127.0.0.1", "localhost", "127.0.0.1:80", "localhost:80"}
    assert live_server.hosts_of(8015) == {"127.0.0.1:8015", "localhost:8015"}


def test_a_blank_port(monkeypatch, capsys):
    """It is the port that is used without it."""
    wanted = []
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    for options in ((), ("--port", ""), ("--port", " ")):
        monkeypatch.setattr(live_server, "Server", lambda port: wanted.append(port) or SimpleNamespace(server_port=port))
        monkeypatch.setattr(sys, "argv", ["live", "--pid", "1", *options])
        assert live_server.main() == 1 and "process 1 is no machine of yours" in capsys.readouterr().err
    assert wanted == [8015] * 3


def test_only_this_address(shared, browser, tmp_path):
    """A request that names another host is refused, and a page of another origin cannot read the machine."""
    for path in ("", "layout", "frames", "heat?pid=1", "live.js"):
        request = urllib.request.Request(shared.address + path, headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=HOST_LIMIT)
        assert refused.value.code == 403
    assert json.load(urllib.request.urlopen(shared.address + "layout"))["name"] == "sf6800"
    other = tmp_path / "other.html"
    other.write_text("<title>other</title>")
    browser.open(other.as_uri())
    browser.until("document.title === 'other'")
    for path in ("layout", "frames"):
        assert browser.value(f"fetch('{shared.address}{path}').then(() => 'read', () => 'refused')") == "refused"


def test_malformed_requests(shared):
    """They get an answer or none; the server goes on, and writes nothing."""
    port = int(shared.address.rstrip("/").rpartition(":")[2])
    host = f"Host: 127.0.0.1:{port}\r\n\r\n".encode()

    def answer(request: bytes) -> bytes:
        """The server may close the connection before it has read all: then Linux refuses each of these calls."""
        with socket.create_connection(("127.0.0.1", port)) as one, suppress(ConnectionError):
            one.settimeout(HOST_LIMIT)
            with suppress(OSError):
                one.sendall(request)
                one.shutdown(socket.SHUT_WR)
            return one.recv(1000)
        return b""

    for request in (
        b"",
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /frames\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n",
        b"\x16\x03\x01\x00\xff" * 9,
        b"GET /" + b"x" * 70000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
        b"POST / HTTP/1.1\r\n" + host,
        b"GET /../server.py HTTP/1.1\r\n" + host,
        b"GET /heat?pid=\xb2 HTTP/1.1\r\n" + host,
    ):
        assert not answer(request).startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")), request
    assert json.load(urllib.request.urlopen(shared.address + "layout"))["name"] == "sf6800"
    assert shared.server.poll() is None and not select.select([shared.server.stderr], [], [], 0)[0]


def test_bad_input(shared, tmp_path):
    """One line for each: a port in use, no such process, a file that cannot be written."""
    pid, port = str(shared.process.pid), shared.address.rstrip("/").rpartition(":")[2]
    for options, words in [
        (("--port", port, "--pid", pid), f"live: port {port}: Address already in use; name another with PORT="),
        (("--port", "0", "--pid", "1"), "live: process 1 is no machine of yours"),
        (("--port", "0", "--pid", pid, "--record", str(tmp_path / "no/rec.html")), "No such file or directory"),
    ]:
        done = server(*options)
        assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_no_guest(monkeypatch, capsys, tmp_path):
    """One line, and no empty recording."""
    monkeypatch.setattr(memory, "processes", list)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["live", "--port", "0", "--record", str(tmp_path / "rec.html")])
    assert live_server.main() == 1
    out, err = capsys.readouterr()
    assert (
        not out and err.startswith("live: no machine runs; start one") and err.count("\n") == 1 and not list(tmp_path.iterdir())
    )


def test_sigterm_ends_its_machine_too():
    """A server that has started a machine does not leave it behind."""
    call = [sys.executable, "-m", "homeroom.live.server", "--port", "0", "--machine", "sf280r", "--iso", harness.ISO["test"]]
    env = {**os.environ, "RUN": "sleep 1000"}
    server = subprocess.Popen(
        call, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=TOP / "tools", env=env
    )
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    launcher = Live.wait_for(lambda: children.read_text().split())[0]
    machine = Live.wait_for(lambda: next((p for p in memory.processes() if p.parent == int(launcher)), None))
    server.terminate()
    server.communicate(timeout=HOST_LIMIT)
    assert not machine.runs()


def test_another_kernel(live):
    """A kernel.elf that differs from the running kernel in one byte is refused: its variables may have moved."""
    one = live("sf280r", "sleep 1000")
    path = one.process.folder() / one.process.values("-kernel")[0]

    def opened():
        try:
            file = memory.open_memory(one.process)
            Kernel(Symbols(path), file)
        except memory.LiveError:  # QEMU makes the memory, or the kernel is not loaded yet
            return None
        return file

    file = one.wait_for(opened)
    other = Symbols(path)
    start, code = other.code()
    last = len(code.rstrip(b"\0")) - 1
    other.code = lambda: (start, code[:last] + bytes([code[last] ^ 1]) + code[last + 1 :])
    with pytest.raises(memory.Hopeless, match="is not the kernel that runs"):
        Kernel(other, file)


@pytest.mark.parametrize("loaded", [0, 5000, 8191])
def test_a_kernel_that_is_being_loaded(loaded):
    """What is zero may come yet; the first byte that is neither zero nor that of kernel.elf is of another kernel."""
    code = bytes(range(1, 251)) * 40
    memory_now = code[:loaded] + bytes(len(code) - loaded)
    with pytest.raises(memory.LiveError) as refused:
        Kernel._compare(memory_now, code)
    assert not isinstance(refused.value, memory.Hopeless)
    with pytest.raises(memory.Hopeless):
        Kernel._compare(memory_now[:-1] + b"\xff", code)
    Kernel._compare(code, code)
