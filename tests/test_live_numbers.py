# SPDX-License-Identifier: MIT
"""test_live_numbers.py - each number, word, width and colour of the live page, from frames and counters in which all differ.

The first part opens a recording made by hand and reads what the page shows of it.  The second part reads a kernel made by
hand, a few structs in memory with all the fields, and compares the frame.
"""

import itertools
import json
import math
import re
import struct
from collections import defaultdict
from types import SimpleNamespace

import pytest

import harness
from homeroom import fireplane
from homeroom.live import state
from homeroom.live.kernel import DIRECT_BASE, KERNEL_BASE, NO_CPU, TICK_NS, Kernel, Symbols
from homeroom.live.memory import LiveError
from livepage import IDLE, play_back, written

pytestmark = pytest.mark.xdist_group("live")

# ---- a recording -------------------------------------------------------------------------------

BOARDS = [{"cpus": [0, 1, 6], "mib": 108}, {"cpus": [2, 3], "mib": 54}, {"cpus": [4, 5], "mib": 42}]
CPUS = [  # state, set, thread, waiting, user %, system %, fenced, interrupts a second
    ["u", -1, 21, 2, 61, 7, 0, 1234],
    ["s", -1, 22, 0, 8, 72, 0, 345],
    ["i", 1, 0, 0, 3, 4, 1, 56],
    ["u", 1, 23, 1, 45, 6, 1, 67],
    ["o", -1, 0, 0, 0, 0, 0, 0],
    ["s", 2, 24, 0, 1, 98, 0, 11],
    ["u", 2, 25, 4, 50, 13, 0, 22],
]
SLEEPS, WAITS, RUNS = range(3)
THREADS = {  # process, name, state, home, CPU, bound, set
    "21": [201, "alpha", RUNS, 0, 0, -1, -1],
    "22": [202, "beta", RUNS, 2, 1, 1, -1],
    "23": [202, "gamma", RUNS, 1, 3, -1, 1],
    "24": [0, "pageout", RUNS, 255, 5, -1, -1],
    "25": [205, "delta", RUNS, 0, 6, 6, 2],
    "26": [206, "epsilon", WAITS, 1, 0, -1, -1],
    "27": [207, "zeta", WAITS, 0, 0, -1, -1],
    "28": [208, "eta", SLEEPS, 2, 3, 5, 1],
    "29": [209, "theta", WAITS, 0, 3, -1, 1],
    **{str(tid): [300, "iota", WAITS, 0, 6, -1, 2] for tid in range(31, 35)},
}
# A board's bar is 108 wide.  Kinds: home, away, shared, file, kernel.
MEMORY = [
    [27648, 14080, 2560, 1280, 768, 5120, 3840],
    [13824, 9856, 256, 512, 1024, 128, 2048],
    [10800, 9450, 0, 0, 50, 250, 1050],
]
WIDTHS = [["10.0", "5.0", "3.0", "20.0", "15.0"], ["2.0", "4.0", "8.0", "1.0", "16.0"], ["0.0", "0.0", "0.5", "2.5", "10.5"]]
EVENTS = [
    ["migrated", "thread 21 (alpha): CPU 6 -> 0", 0],
    ["fence broken", "CPU 3 is fenced off, and took 5 device interrupts", 3],
    ["reclaim", "the page daemon begins: it examined 17 pages", -1],
]
MODEL = [  # active CPUs, instructions, local and remote misses, bytes out, bytes in
    [[2, 1, 2, 3, 4_600_000_000, 1_750_000_000], [1, 4, 5, 6, 40_000_000, 80_000_000], [0, 7, 0, 0, 1_070_000_000, 20_000_000]],
    [
        [2, 1_500_000_000, 3000, 1000, 5_000_000_000, 2_000_000_000],
        [1, 2_500_000, 700, 2100, 50_000_000, 110_000_000],
        [0, 999, 0, 0, 1_970_000_000, 370_000_000],
    ],
    [
        [2, 1_500_000_001, 3001, 1001, 5_000_000_000, 2_210_000_000],
        [1, 2_500_001, 701, 2101, 290_000_000, 290_000_000],
        [0, 1000, 0, 0, 2_320_000_000, 840_000_000],
    ],
]
SECOND = 10**12  # ps
THRESHOLDS = ("cachefree", "lotsfree", "desfree", "minfree", "throttlefree")
DISKS = [["vda", 3, 2, 4096, 123_456], ["vdb", 5, 4, 999, 7_890_000]]
SOURCES = [{"poke": 20, "timer": 100, "vda": 3}, {}, {"tlb": 8}, {}, {}, {}, {"net0": 40}]
FRAMES = [
    {
        "w": 11.5,
        "c": [*CPUS[:6], [*CPUS[6][:3], 0, *CPUS[6][4:]]],
        "h": {"21": [201, "alpha", RUNS, 0, 6, -1, -1], "22": THREADS["22"]},
        "n": MEMORY,
        "b": MODEL[0],
        "m": SECOND,
        "k": 3 * SECOND,
        "a": 1,
        "i": [{"old": 9}] * 7,
        "p": [9, 8, 7, 6, 5],
    },
    {
        "w": 12.34,
        "t": 56.78,
        "c": CPUS,
        "h": THREADS,
        "n": MEMORY,
        "e": EVENTS,
        "d": DISKS,
        "b": MODEL[1],
        "m": 2 * SECOND,
        "k": 4 * SECOND,
        "a": 1,
        "i": SOURCES,
        "p": [2048, 1024, 512, 256, 256],
    },
    {"w": 13.0, "c": CPUS, "h": THREADS, "n": MEMORY, "b": MODEL[2], "m": 9 * SECOND, "k": 4 * SECOND + SECOND // 2, "a": 1},
    {"w": 14.0, "c": [IDLE] * 7, "n": MEMORY},
]


def rgb(colour: str) -> str:
    """A colour as the browser names it."""
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


# By the name of the variable in live.css, light and dark.
COLOURS = {
    "ink": ("#1b1b1b", "#ececec"),
    "paper": ("#fbfbf8", "#16181b"),
    "edge": ("#8a8a84", "#6c7076"),
    "idle": ("#ffffff", "#121416"),
    "user": ("#3b78c2", "#4f94e0"),  # blue
    "system": ("#e6a01f", "#d9921a"),  # yellow
    "offline": ("#c9c9c4", "#4a4d52"),  # grey
    "set": ("#7a3fa0", "#b98be0"),  # violet
    "fence": ("#b3261e", "#ff7a70"),  # red
    "away": ("#d0006f", "#ff6fb5"),  # pink
    "free": ("#ffffff", "#121416"),
    "home": ("#2f9468", "#35a376"),  # green
    "shared": ("#f0d060", "#e3c94f"),
    "file": ("#a3b4d6", "#7f90b8"),
    "oncolor": ("#ffffff", "#101010"),
}
HUES = ["#0072b2", "#d55e00", "#009e73"]  # of homes 0, 1 and 2
LINK = ["#9aa0a6", "#7f95b5", "#8a8f5c", "#c9a227", "#e06c1f", "#c2152b"]  # of a link, by fifths of its share


@pytest.fixture
def page(browser, tmp_path):
    """The recording at its second frame."""
    play_back(browser, written(tmp_path / "rec.html", FRAMES, boards=BOARDS))
    browser.value("seek(1)")
    yield browser
    browser.dark(False)
    assert not browser.errors


def named(dark: bool) -> dict[str, str]:
    return {name: rgb(pair[dark]) for name, pair in COLOURS.items()}


STYLE = """const style = (node, name) => getComputedStyle(node)[name];
    const get = (node, ...names) => names.map((name) => node.getAttribute(name));"""
CELLS = f"""(() => {{ {STYLE} return view.cells.map(({{ group }}) => {{
    const part = (name) => group.querySelector(name);
    return [get(group, "class", "aria-label", "data-cpu"), [...group.querySelectorAll("text")].map((t) => t.textContent),
        [style(part(".cell"), "fill"), style(part(".cross"), "visibility"), style(part("text"), "fill")],
        [style(part(".set"), "stroke"), style(part(".fence"), "stroke"), style(part(".fence"), "strokeWidth")]];
}}); }})()"""


@pytest.mark.parametrize("dark", [False, True])
def test_cpus(page, dark):
    """State, number, waiting threads, set, fence and name of each CPU; a broken fence is thicker in its frame."""
    page.dark(dark)
    is_, no = named(dark), "none"
    user, system = [is_["user"], "hidden", is_["oncolor"]], [is_["system"], "hidden", is_["oncolor"]]
    plain, fence = [no, no], [is_["set"], is_["fence"]]
    wanted = [
        [["cpu pick u", "CPU 0: user, 2 waiting", "0"], ["0", "+2"], user, plain],
        [["cpu pick s", "CPU 1: system", "1"], ["1", ""], system, plain],
        [
            ["cpu pick i inset fenced", "CPU 2: idle, set 1, no-intr", "2"],
            ["2", ""],
            [is_["idle"], "hidden", is_["ink"]],
            [*fence, "3px"],
        ],
        [["cpu pick u inset fenced broken", "CPU 3: user, set 1, no-intr, 1 waiting", "3"], ["3", "+1"], user, [*fence, "6px"]],
        [["cpu pick o", "CPU 4: off-line", "4"], ["4", ""], [is_["offline"], "visible", is_["ink"]], plain],
        [["cpu pick s inset", "CPU 5: system, set 2", "5"], ["5", ""], system, [is_["set"], no]],
        [["cpu pick u inset", "CPU 6: user, set 2, 4 waiting", "6"], ["6", "+4"], user, [is_["set"], no]],
    ]
    shown = page.value(CELLS)
    for cpu, (one, found) in enumerate(zip(wanted, shown, strict=True)):
        if one[3][-1] not in ("3px", "6px"):
            found[3].pop()
        assert found == one, cpu
    page.value("seek(2)")
    assert page.value("view.cells[3].group.getAttribute('class')") == "cpu pick u inset fenced"


DOTS = f"""(() => {{ {STYLE} return Object.fromEntries([...view.layer.children].map((node) => {{
    const [path, text] = node.children, transform = node.getAttribute("transform");
    return [node.getAttribute("data-thread"), [...get(node, "class", "aria-label"), text.textContent, path.getAttribute("fill"),
        style(path, "stroke"), style(path, "strokeWidth"), transform.includes("scale(0.5)"), path.getAttribute("d")[4]]];
}})); }})()"""
PLACES = """(() => [...view.layer.children].map((node) => {
    const dot = node.getBoundingClientRect(), cell = view.cells[node.cpu].group.querySelector(".cell").getBoundingClientRect();
    const inside = dot.left > cell.left && dot.right < cell.right && dot.top > cell.top && dot.bottom < cell.bottom;
    return [node.getAttribute("data-thread"), node.cpu, inside, dot.left];
}))()"""


@pytest.mark.parametrize("dark", [False, True])
def test_dots(page, dark):
    """A dot has the number and colour of its home; away from it, it has a pink edge; it is small while the thread waits."""
    page.dark(dark)
    is_ = named(dark)
    home, away = [is_["paper"], "1px"], [is_["away"], "3px"]

    def dot(kind: str, words: str, number: int, edge: list, small: bool = False) -> list:
        return [kind, words, str(number), HUES[number], *edge, small]

    wanted = {
        "21": dot("dot", "thread 21, alpha, home board 0", 0, home),
        "22": dot("dot away", "thread 22, beta, home board 2", 2, away),
        "23": dot("dot", "thread 23, gamma, home board 1", 1, home),
        "24": ["dot", "thread 24, pageout, of the kernel", "k", "#777777", *home, False],
        "25": dot("dot", "thread 25, delta, home board 0", 0, home),
        "26": dot("dot away", "thread 26, epsilon, home board 1, waiting", 1, away, True),
        "27": dot("dot", "thread 27, zeta, home board 0, waiting", 0, home, True),
        "29": dot("dot away", "thread 29, theta, home board 0, waiting", 0, away, True),
        **{str(tid): dot("dot", f"thread {tid}, iota, home board 0, waiting", 0, home, True) for tid in (31, 32, 33)},
    }
    assert {tid: one[:-1] for tid, one in page.value(DOTS).items()} == wanted
    places = page.value(PLACES)
    assert all(inside and THREADS[tid][4] == cpu for tid, cpu, inside, _ in places)
    lefts = {tid: left for tid, _, _, left in places}
    assert lefts["31"] < lefts["32"] < lefts["33"] and lefts["26"] < lefts["27"]


def test_homes_by_shape_and_colour(page):
    """Homes of one colour differ in shape; a light dot has dark numbers."""
    drawn = "const [path, text] = newDot('9', 1, {}).group.children; [path.getAttribute('fill'), \
        path.getAttribute('d').replace(/[^A-Z]/gi, ''), getComputedStyle(text).fill, text.textContent]"
    hues = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#6f4fb0"]
    for home in (*range(24), 255):
        shape = "MAAz" if home < 8 or home == 255 else "MHVHz" if home < 16 else "MLLLz"
        text = rgb("#101010" if home % 8 in (4, 5) else "#ffffff")
        hue = "#777777" if home == 255 else hues[home % 8]
        assert page.value(f"{{ {drawn.format(home)} }}") == [hue, shape, text, "k" if home == 255 else str(home)], home


def test_the_trail_of_a_thread_that_moved(page):
    """From the CPU of before to the present one."""
    page.value("seek(0)")
    page.value("seek(1)")
    ends = "((from, to) => `M ${from.x} ${from.y} L ${to.x} ${to.y}`)(view.cells[6], view.cells[0])"
    assert page.value("[...view.trails.children].map((line) => line.getAttribute('d'))") == [page.value(ends)]


BARS = f"""(() => {{ {STYLE} return view.boards.map(({{ group, memory, used, wide, x }}) => [memory.textContent, wide,
    used.map((bar) => [...get(bar, "class", "width"), style(bar, "fill"), Number(bar.getAttribute("x")) - x]),
    style(group.querySelector(".memfree"), "fill"), group.querySelector("text").textContent]); }})()"""


@pytest.mark.parametrize("dark", [False, True])
def test_memory(page, dark):
    """The bar of a board has the kinds of memory in their order, colours and widths; the words are what is free."""
    page.dark(dark)
    is_ = named(dark)
    kinds = [("home", "home"), ("away", "away"), ("shared", "shared"), ("file", "file"), ("kernel", "edge")]
    for number, (words, wide, bars, free, name) in enumerate(page.value(BARS)):
        assert [words, wide, free, name] == [["55", "39", "37"][number] + " MiB free", 108, is_["free"], f"board {number}"]
        assert [bar[:3] for bar in bars] == [
            [f"mem {kind}", width, is_[colour]] for (kind, colour), width in zip(kinds, WIDTHS[number], strict=True)
        ]
        at = 8.0
        for _, width, _, left in bars:
            assert left == pytest.approx(at, abs=0.11)
            at += float(width)


LINKS = """view.links.map(({ text, gauge, line, frame, wide }) => [text.textContent, gauge.getAttribute("width"),
    gauge.getAttribute("fill"), line && line.getAttribute("stroke"), line && line.getAttribute("stroke-width"),
    frame.getAttribute("visibility"), wide])"""


def test_links(page):
    """Share, gauge, colour and thickness, of a link with 1,000 MB/s; more than 100 % fill the gauge."""
    for at, shares in ((1, [65, 4, 125]), (2, [42, 84, 164])):
        page.value(f"seek({at})")
        for number, (text, width, fill, stroke, thick, visible, wide) in enumerate(page.value(LINKS)):
            share = min(1, shares[number] / 100)
            colour = LINK[round(5 * share)]
            assert [text, width, fill, visible] == [f"link {shares[number]} %", f"{34 * share:.1f}", colour, "visible"]
            assert wide == 34 and stroke in (colour, None)
            assert thick is None or float(thick) == pytest.approx(3 + 9 * share)
    assert page.value("view.links.some(({ line }) => line)")
    fills = page.value(
        "[0, .11, .31, .49, .51, .69, .71, .89, .91, 5].map((s) => LINK[Math.max(0, Math.min(5, Math.round(s * 5)))])"
    )
    assert fills == [LINK[i] for i in (0, 1, 2, 2, 3, 3, 4, 4, 5, 5)]


TABLE = "[...document.querySelectorAll('#{} tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"


def test_the_table_of_the_model(page):
    assert page.value(TABLE.format("numbers")) == [
        ["board", "active", "instr", "local", "remote", "rem %", "out", "in", "GB/s"],
        ["0", "2", "1.5G", "3.0k", "1.0k", "25", "5.0G", "2.0G", "3.50"],
        ["1", "1", "2.5M", "700", "2.1k", "75", "50.0M", "110M", "0.08"],
        ["2", "0", "999", "0", "0", "-", "2.0G", "370M", "1.17"],
        ["all", "3 of 7", "1.5G", "3.7k", "3.1k", "46", "7.0G", "2.5G", "3.51"],
    ]


def test_disks_and_thresholds(page):
    assert page.value(TABLE.format("disks")) == [
        ["disk", "waiting", "at the device", "read", "written"],
        ["vda", "3", "2", "4.1kB/s", "123kB/s"],
        ["vdb", "5", "4", "999B/s", "7.9MB/s"],
    ]
    assert page.value("document.querySelector('#disks p').textContent") == (
        "Dot: 130 MiB free now. Lines, the thresholds: cachefree 8.0 MiB; lotsfree 4.0 MiB; desfree 2.0 MiB; "
        "minfree, throttlefree 1.0 MiB."
    )
    total, free = (sum(board[i] for board in MEMORY) for i in (0, 1))
    at = lambda pages: 300 * math.log(pages / 64) / math.log(total / 64)  # noqa: E731
    assert float(page.value("document.querySelector('#disks circle').getAttribute('cx')")) == pytest.approx(at(free), abs=0.06)
    ticks = page.value("[...document.querySelectorAll('#disks .tick')].map((t) => [t.getAttribute('d'), t.textContent])")
    sizes = ["8.0", "4.0", "2.0", "1.0", "1.0"]
    assert [words for _, words in ticks] == [f"{name}: {size} MiB" for name, size in zip(THRESHOLDS, sizes, strict=True)]
    assert [float(d.split()[1]) for d, _ in ticks] == pytest.approx([at(n) for n in FRAMES[1]["p"]], abs=0.06)


def test_sets_events_and_time(page):
    assert page.value(
        "[...document.querySelectorAll('#sets button')].map((b) => [b.textContent, b.dataset.kind, b.dataset.id])"
    ) == [
        ["set 1: CPUs 2-3, fenced off", "set", "1"],
        ["set 2: CPUs 5-6", "set", "2"],
    ]
    lines = "[...$('lines').children].map((li) => [li.textContent, li.querySelector('b').textContent, \
        li.querySelector('button')?.dataset.id ?? ''])"
    assert page.value(lines) == [
        [f"{kind} {text} (12.3 s)", kind, str(cpu) if cpu >= 0 else ""] for kind, text, cpu in reversed(EVENTS)
    ]
    assert page.value("$('clock').textContent") == "after 12.3 s; the machine's clock: 56.78 s; running threads: 5"
    assert page.value("$('second').textContent") == "12.3 s"
    assert page.value("ranges([0, 1, 2, 3, 8, 10, 11])") == "0-3, 8, 10-11"


def at_board(memory: str, home: str, away: str, shared: str, file: str, kernel: str, threads: str, misses: str, number: int):
    return [
        ("memory", memory),
        ("of its own threads", home),
        ("of threads elsewhere", away),
        ("shared", shared),
        ("files", file),
        ("kernel", kernel),
        ("threads at home", threads),
        ("misses", misses),
        ("in the guest", f"lgrpinfo {number}; kstat -p mem:{number}: lgrp:{number}:"),
    ]


def at_cpu(number: int, *values: str):
    keys = ("state", "time", "processor set", "runs", "threads waiting", "threads here", "interrupts", "by source")
    return [*zip(keys, values, strict=True), ("in the guest", f"psrinfo -v {number}; mpstat 1; intrstat -k 1")]


def of_thread(*values: str):
    return [*zip(("name", "process", "home", "on", "bound to", "processor set", "in the guest"), values, strict=True)]


def of_set(number: int, *values: str):
    keys = ("CPUs", "fenced off", "threads bound to it", "of them run", "interrupts")
    return [*zip(keys, values, strict=True), ("in the guest", f"psrset -i {number}; psrset -q")]


IOTA = tuple(f"thread {tid} (iota) waits for the CPU" for tid in range(31, 35))
ALPHA = "alpha, thread 21 of process 201"
DELTA = "delta, thread 25 of process 205"


DETAILS = [
    (
        "cpu",
        0,
        at_cpu(0, "user", "user 61 %, system 7 %", "none", ALPHA, "2", "3", "1234 a second", "timer 100, poke 20, vda 3"),
        ("thread 21 (alpha) runs", "thread 26 (epsilon) waits for the CPU", "thread 27 (zeta) waits for the CPU"),
    ),
    ("cpu", 2, at_cpu(2, "idle, no-intr", "user 3 %, system 4 %", "set 1", "-", "0", "0", "56 a second", "tlb 8")),
    (
        "cpu",
        3,
        at_cpu(
            3,
            "user, no-intr",
            "user 45 %, system 6 %",
            "set 1",
            "gamma, thread 23 of process 202",
            "1",
            "3",
            "67 a second",
            "none",
        ),
        ("thread 23 (gamma) runs", "thread 28 (eta) sleeps", "thread 29 (theta) waits for the CPU"),
    ),
    ("cpu", 4, at_cpu(4, "off-line", "user 0 %, system 0 %", "none", "-", "0", "0", "0 a second", "none")),
    (
        "cpu",
        5,
        at_cpu(
            5,
            "system",
            "user 1 %, system 98 %",
            "set 2",
            "pageout, thread 24 of the kernel",
            "0",
            "1",
            "11 a second",
            "none",
        ),
        ("thread 24 (pageout) runs",),
    ),
    (
        "cpu",
        6,
        at_cpu(6, "user", "user 50 %, system 13 %", "set 2", DELTA, "4", "5", "22 a second", "net0 40"),
        ("thread 25 (delta) runs", *IOTA),
    ),
    ("thread", "21", of_thread("alpha", "201", "board 0", "CPU 0", "-", "none", "plgrp 201; pmap -L 201")),
    ("thread", "22", of_thread("beta", "202", "board 2", "CPU 1", "CPU 1", "none", "plgrp 202; pmap -L 202")),
    ("thread", "24", of_thread("pageout", "the kernel", "none", "CPU 5", "-", "none", "mpstat 1")),
    ("thread", "25", of_thread("delta", "205", "board 0", "CPU 6", "CPU 6", "set 2", "plgrp 205; pmap -L 205")),
    ("thread", "28", of_thread("eta", "208", "board 2", "CPU 3", "CPU 5", "set 1", "plgrp 208; pmap -L 208")),
    ("thread", "99", [("thread", "has ended")]),
    (
        "board",
        0,
        at_board(
            "108 MiB, 55 MiB free",
            "10 MiB",
            "5.0 MiB",
            "3.0 MiB",
            "20 MiB",
            "15 MiB",
            "8",
            "3.0k local, 1.0k remote",
            0,
        ),
        (
            "thread 21 (alpha) runs",
            "thread 25 (delta) runs",
            "thread 27 (zeta) waits for the CPU",
            "thread 29 (theta) waits for the CPU",
            *IOTA,
        ),
    ),
    (
        "board",
        1,
        at_board(
            "54 MiB, 39 MiB free", "1.0 MiB", "2.0 MiB", "4.0 MiB", "0.5 MiB", "8.0 MiB", "2", "700 local, 2.1k remote", 1
        ),
        ("thread 23 (gamma) runs", "thread 26 (epsilon) waits for the CPU"),
    ),
    ("set", 1, of_set(1, "2-3", "CPUs 2-3", "3", "1", "123 a second")),
    ("set", 2, of_set(2, "5-6", "no", "5", "1", "33 a second")),
    ("set", 3, [("set", "does not exist now")]),
]


@pytest.mark.parametrize("kind", ["cpu", "thread", "board", "set"])
def test_details(page, kind):
    """What is selected, with its counters, its buttons and the list of its threads."""
    pairs = "[...document.querySelectorAll('#details dt')].map((key) => [key.textContent, key.nextSibling.textContent])"
    lines = "[...document.querySelectorAll('#details li')].map((line) => line.textContent)"
    links = "[...document.querySelectorAll('#details dd button')].map((node) => [node, node.dataset]).map(\
        ([{ textContent, disabled }, { kind, id }]) => [textContent, kind, id, disabled])"
    for number, words, *threads in (rest for one, *rest in DETAILS if one == kind):
        page.value(f"select('{kind}', {number})")
        heading = f"{'CPU' if kind == 'cpu' else kind} {number}"
        assert page.value("document.querySelector('#details h2').textContent") == heading
        assert [tuple(pair) for pair in page.value(pairs)] == words
        assert [tuple(page.value(lines))] == (threads or [()])
        for text, to, where, disabled in page.value(links):
            wanted = re.search(r"(?:set|board|CPU|thread) (\d+)", text)
            assert (
                to in ("set", "board", "cpu", "thread") and where == (wanted[1] if wanted else "") and disabled == (not wanted)
            )


def test_what_is_selected(page):
    """It is the only thing that is drawn so."""
    names = "[...document.querySelectorAll('#picture .selected')].map((node) => node.getAttribute('aria-label'))"
    pressed = "[...document.querySelectorAll('#picture [aria-pressed=true]')].map((node) => node.getAttribute('aria-label'))"
    for kind, number, name in (("cpu", 1, "CPU 1: system"), ("board", 1, "board 1")):
        page.value(f"select('{kind}', {number})")
        assert page.value(names) == page.value(pressed) == [name]
    page.value("select('thread', 22)")
    assert page.value(names) == [] and page.value(pressed) == ["thread 22, beta, home board 2"]


def test_a_long_list_of_threads(page):
    """It has the 30 threads that run, wait and sleep, in this order, sorted by their numbers."""
    states = {100 + n: SLEEPS for n in range(40)} | {150: RUNS, 151: WAITS}
    threads = {str(tid): [tid, "x", does, 0, 1, -1, -1] for tid, does in states.items()}
    page.value(f"select('cpu', 1); show({{...view.frame, h: {json.dumps(threads)}}})")
    lines = page.value("[...document.querySelectorAll('#details li')].map((line) => line.dataset.thread)")
    assert lines == [str(tid) for tid in (*range(100, 128), 150, 151)]


def test_without_the_model(page):
    """No link, no table; the line with the time says why."""
    page.value("seek(3)")
    clock = page.value("$('clock').textContent")
    assert clock == "after 14.0 s; the machine's clock: 3.00 s; running threads: 0; without the model"
    shown = [["", "0.0", LINK[0], "hidden"]] * 3
    assert [[*link[:3], link[5]] for link in page.value(LINKS)] == shown
    assert page.value("[$('numbers').textContent, $('disks').textContent, $('sets').textContent]") == [""] * 3
    page.value("select('board', 0)")
    assert "misses" not in page.value("$('details').textContent")


@pytest.mark.parametrize("crossbar, words", [(True, "crossbar with 3 ports"), (False, "address bus and data crossbar")])
def test_the_switch(browser, tmp_path, crossbar, words):
    play_back(browser, written(tmp_path / "rec.html", FRAMES, boards=BOARDS, crossbar=crossbar))
    assert browser.value("document.querySelector('.switch').nextSibling.textContent") == words


LEGEND = f"""(() => {{ {STYLE} return [...document.querySelectorAll('#legend li')].map((item) => {{
    const part = (name) => item.querySelector(name), found = {{}};
    if (part(".cell")) Object.assign(found, {{ cell: style(part(".cell"), "fill"), set: style(part(".set"), "stroke"),
        fence: style(part(".fence"), "stroke"), cross: style(part(".cross"), "visibility") }});
    if (part(".dot")) found.edge = style(part(".dot path"), "stroke");
    if (part(".mem")) found.mem = style(part(".mem"), "fill");
    const rects = [...item.querySelectorAll("rect")];
    if (rects.length === 6) found.link = rects.map((rect) => rect.getAttribute("fill"));
    return [item.textContent.replace(/^0/, ""), found];
}}); }})()"""


def test_legend(page):
    """The legend has the colours of the picture."""
    is_ = named(False)

    def cell(colour: str, **more: str) -> dict:
        return {"cell": is_[colour], "set": "none", "fence": "none", "cross": "hidden"} | more

    assert page.value(LEGEND) == [
        ["CPU in user mode", cell("user")],
        ["in the kernel", cell("system")],
        ["idle", cell("idle")],
        ["off-line", cell("offline", cross="visible")],
        ["in a processor set", cell("idle", set=is_["set"])],
        ["fenced off from interrupts", cell("idle", fence=is_["fence"])],
        ["thread; number, colour and shape: its home", {"edge": is_["paper"]}],
        ["thread away from home", {"edge": is_["away"]}],
        ["thread that waits; +2: two wait", {"edge": is_["paper"]}],
        ["a thread has moved", {}],
        ["memory of threads that live here", {"mem": is_["home"]}],
        ["of threads that live elsewhere", {"mem": is_["away"]}],
        ["shared memory", {"mem": is_["shared"]}],
        ["files", {"mem": is_["file"]}],
        ["the kernel's", {"mem": is_["edge"]}],
        ["free memory", {"mem": is_["free"]}],
        ["link: 0 to 100 % of its bandwidth", {"link": LINK}],
    ]


# ---- a kernel -----------------------------------------------------------------------------------

KERNEL_ELF = harness.ISO["test"].with_name("kernel.elf")
THREAD_NAMES = {11: b"idle", 12: b"shell", 13: b"pageout", 14: b"copier", 15: b"idle2", 16: b"fsflush", 17: b"gone"}


class Written:
    """A kernel whose variables and structs are written by hand: the fields of kernel.elf, at addresses of this class."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = defaultdict(lambda: bytearray(4096))
        self._next = DIRECT_BASE + (1 << 30)
        self.symbols = Symbols(KERNEL_ELF)
        self.put(*self.symbols.code())
        self.boards: list = []
        self.kernel = Kernel(self.symbols, self)

    def read(self, address: int, size: int) -> bytes:
        return bytes(self._pages[at >> 12][at & 4095] for at in range(address, address + size))

    def place(self, address: int, size: int) -> tuple[bytearray, int]:
        assert address % 4096 + size <= 4096
        return self._pages[address >> 12], address % 4096

    def put(self, address: int, data: bytes) -> None:
        address -= KERNEL_BASE if address >= KERNEL_BASE else DIRECT_BASE
        for at, byte in enumerate(data, address):
            self._pages[at >> 12][at & 4095] = byte

    def new(self, *fields: tuple[str, str, int | bytes]) -> int:
        """The address of a new struct."""
        self._next += 1 << 16
        self.set(self._next, *fields)
        return self._next

    def set(self, address: int, *fields: tuple[str, str, int | bytes]) -> None:
        for type_, name, value in fields:
            offset, size = self.kernel._fields[type_, name]
            self.put(address + offset, value if isinstance(value, bytes) else value.to_bytes(size, "little"))

    def variable(self, name: str, *values: int, size: int = 8) -> int:
        """Write an array of numbers, and return its address."""
        at = self.symbols.at[name][0]
        self.put(at, b"".join(value.to_bytes(size, "little") for value in values))
        return at

    def chain(self, name: str, *links: int) -> None:
        """Write a list."""
        head = self.variable(name, links[0])
        for link, after in zip(links, (*links[1:], head), strict=True):
            self.put(link, after.to_bytes(8, "little"))


class Machine(Written):
    """Four CPUs on two boards, with a set, threads, disks and interrupts."""

    STATS = ("usr_ticks", "sys_ticks", "intr", "ithr")

    def __init__(self) -> None:
        super().__init__()
        self.sets = [0, self.new()]
        self.put(self.sets[1], struct.pack("<i", 3))
        self.threads = {tid: self._thread(tid) for tid in THREAD_NAMES}
        self.cpus = [self._cpu(i) for i in range(4)]
        self._place(12, cpu=1, state=1, home=1, bound=2, part=1)
        self._place(14, cpu=2, state=2, home=0, bound=NO_CPU, part=0)
        self._place(13, cpu=3, state=2, home=255, bound=NO_CPU, part=0)
        self._place(15, cpu=0, state=1, home=255, bound=0, part=0)
        self._place(16, cpu=0, state=0, home=255, bound=NO_CPU, part=0)
        self._place(17, cpu=0, state=3, home=1, bound=NO_CPU, part=0)
        self._place(11, cpu=0, state=2, home=255, bound=NO_CPU, part=0)
        self.chain("all_threads", *(at + self.kernel.field("thread", "all_link") for at in self.threads.values()))
        self.variable("all_threads_count", len(self.threads), size=4)
        self.variable("ncpu", 4, size=4)
        self.variable("cpus", *(one["cpu"] for one in self.cpus))
        self.variable("nnodes", 2, size=4)
        for i, (free, installed) in enumerate(((500, 9000), (700, 8000))):
            at = self.symbols.at["mem_nodes"][0] + i * self.kernel._fields["mem_node", ""][1]
            self.set(at, ("mem_node", "nfree_pages", free), ("mem_node", "ninstalled_pages", installed))
        self.disks = [self.new(("disk", "name", name)) for name in (b"vda", b"vdb", b"vdap1")]
        self.set(self.disks[2], ("disk", "whole", self.disks[0]))
        self.chain("disks", *self.disks)
        for i, name in enumerate(THRESHOLDS):
            self.variable(name, 601 + i)
        names = [self.new(), 0, self.new()]
        for at, name in ((names[0], b"vda"), (names[2], b"net0")):
            self.put(at, name)
        self.variable("intr_names", *names)

    def _thread(self, tid: int) -> int:
        fields = [("thread", "tid", tid), ("thread", "name", THREAD_NAMES[tid])]
        if tid in (12, 14, 17):
            fields.append(("thread", "lwp", self.new(("lwp", "proc", self.new(("proc", "pid", 100 + tid))))))
        return self.new(*fields)

    def _place(self, tid: int, cpu: int, state: int, home: int, bound: int, part: int) -> None:
        at = self.threads[tid]
        self.set(at, ("thread", "cpu", self.cpus[cpu]["cpu"]), ("thread", "state", state), ("thread", "bound_cpu", bound))
        self.set(at, ("thread", "part", self.sets[part]))
        self.put(at + self.kernel.field("thread", "lg") + self.kernel.field("lgrp_thread", "home"), bytes([home]))

    def _cpu(self, number: int) -> dict[str, int]:
        parts = {name: self.new() for name in ("disp", "mem", "stat", "intr")}
        fields = [("cpu", name, at) for name, at in parts.items()]
        state = (2, 6, 2, 1)[number]
        self.set(parts["disp"], ("disp_queue", "nrun", number * 7), ("disp_cpu", "state", state))
        self.set(parts["disp"], ("disp_cpu", "part", self.sets[number == 1]))
        self.set(parts["mem"], ("mem_cpu", "npages", 10 + number))
        fields += [("cpu", "in_user", int(number == 2)), ("cpu", "idle", int(number == 0)), ("cpu", "id", number)]
        fields += [("cpu", "thread", self.threads[(11, 12, 14, 13)[number]])]
        return parts | {"cpu": self.new(*fields, ("cpu", "node", number // 2), ("cpu", "lgrp", number // 2))}

    def count(self, ticks: int, **by_cpu: list[int]) -> None:
        """Set the clock, and counters of the CPUs."""
        self.variable("clock_ns", ticks * TICK_NS + TICK_NS // 2)
        for name, values in by_cpu.items():
            for parts, value in zip(self.cpus, values, strict=True):
                self.set(parts["stat"], ("cpu_stat", name, value))

    def interrupts(self, cpu: int, **counts: int) -> None:
        """Set how many interrupts a CPU has taken, by source; `device` N: by the device with number N."""
        at, (offset, size) = self.cpus[cpu]["intr"], self.kernel._fields["intr_cpu", "dev"]
        each = size // (self.symbols.at["intr_names"][1] // 8)
        for name, count in counts.items():
            if name.startswith("device"):
                self.put(at + offset + int(name[6:]) * each, count.to_bytes(8, "little"))
            else:
                self.set(at, ("intr_cpu", name, count))

    def disk(self, number: int, *values: int) -> None:
        """Set the statistics of a disk: requests that wait, at the device, bytes read and written."""
        at = self.disks[number] + self.kernel.field("disk", "stats")
        self.set(at, *(("io_stats", name, n) for name, n in zip(("wcnt", "rcnt", "nread", "nwritten"), values, strict=True)))


def model_page(path, seconds: int) -> None:
    """Write a page of the model, whose counts are those of so many modelled seconds."""
    data = bytearray(fireplane.SHARED_BYTES)
    head = fireplane.Header.from_buffer(data)
    head.magic, head.version, head.ncpus, head.nboards, head.armed = fireplane.MAGIC, fireplane.VERSION, 4, 2, 1
    head.clock_ps = 1000
    for i in range(4):
        at = fireplane.Cpu.from_buffer(data, fireplane.CPU_OFFSET + i * fireplane.CPU_STRIDE)
        at.board, at.active, counts = i // 2, int(i != 3), at.counts
        counts.time_ps, counts.instr, counts.stall_ps = (seconds * SECOND + i, seconds * (i + 1) * 1000, seconds * 10**9)
        counts.miss_local, counts.miss_remote = seconds * (i + 20), seconds * (i + 300)
    for to, number in ((1, 5000), (0, 7000)):
        place = fireplane.TRAFFIC_OFFSET + (1 - to) * fireplane.TRAFFIC_STRIDE + to * 8
        data[place : place + 8] = (seconds * number).to_bytes(8, "little")
    path.write_bytes(data)


@pytest.fixture
def watched(monkeypatch, tmp_path):
    """A machine made by hand, and its Watcher."""
    machine = Machine()
    used: list = []
    look = SimpleNamespace(look=lambda threads, pages: used.append(pages) or [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
    monkeypatch.setattr(state, "open_memory", lambda process: None)
    monkeypatch.setattr(state, "open_kernel", lambda process, memory: machine.kernel)
    monkeypatch.setattr(state.frames, "Frames", lambda kernel: look)
    process = SimpleNamespace(name="x", model=lambda: {"page": str(tmp_path / "page")})
    return machine, state.Watcher(process), used, tmp_path / "page"


def test_a_frame_of_known_counters(watched):
    """The second reading is 2.5 s of the machine's clock after the first.  Half of the ticks of CPU 3 were lost meanwhile."""
    machine, watcher, used, page = watched
    first = {"usr_ticks": [10, 20, 30, 40], "sys_ticks": [5, 6, 7, 8], "intr": [100, 200, 300, 400]}
    first |= {"idl_ticks": [50, 60, 70, 80], "wt_ticks": [1, 2, 3, 4]}
    machine.count(1000, **first)
    machine.disk(0, 9, 8, 10_000, 20_000)
    machine.disk(1, 7, 6, 30_000, 40_000)
    model_page(page, 1)
    one = watcher.frame()
    assert [cpu[4:] for cpu in one["c"]] == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert one["d"] == [["vda", 9, 8, 0, 0], ["vdb", 7, 6, 0, 0]] and (one["t"], one["e"]) == (10.0, [])
    assert one["p"] == [601, 602, 603, 604, 605] and "i" not in one
    grown = {"usr_ticks": [25, 50, 125, 125], "sys_ticks": [10, 20, 30, 0], "intr": [500, 750, 1000, 26]}
    grown |= {"idl_ticks": [200, 100, 90, 0], "wt_ticks": [15, 80, 5, 0]}
    machine.count(1250, **{name: [a + b for a, b in zip(first[name], grown[name], strict=True)] for name in grown})
    machine.disk(0, 4, 3, 60_000, 45_000)
    machine.disk(1, 2, 1, 30_000, 1_040_000)
    model_page(page, 3)
    two = watcher.frame()
    assert two == {
        "t": 12.5,
        "c": [
            ["i", -1, 11, 0, 10, 4, 0, 200],
            ["s", 3, 12, 7, 20, 8, 1, 300],
            ["u", -1, 14, 14, 50, 12, 0, 400],
            ["o", -1, 13, 21, 100, 0, 0, 10],
        ],
        "h": {
            12: [112, "shell", WAITS, 1, 1, 2, 3],
            13: [0, "pageout", RUNS, 255, 3, -1, -1],
            14: [114, "copier", RUNS, 0, 2, -1, -1],
            15: [0, "idle2", WAITS, 255, 0, 0, -1],  # fsflush sleeps, and 17 has ended
        },
        "n": [[9000, 521, 1, 2, 3, 4, 5], [8000, 725, 6, 7, 8, 9, 10]],
        "e": [],
        "d": [["vda", 4, 3, 20_000, 10_000], ["vdb", 2, 1, 0, 400_000]],
        "b": [[2, 9000, 123, 1803, 15_000, 21_000], [1, 21_000, 135, 1815, 21_000, 15_000]],
        "m": 3 * SECOND + 3,
        "k": 2 * SECOND,
        "a": 1,
    }
    assert used == [[9000 - 521, 8000 - 725]] * 2


def test_a_process_that_begins(watched):
    """A thread is in the list before its process has a pid: then it is left out, also if it is called idle, and found later."""
    machine, watcher, _, _ = watched
    machine.set(machine.threads[12], ("thread", "name", b"idle\0"))
    proc = machine.new(("proc", "pid", 0))
    machine.set(machine.threads[12], ("thread", "lwp", machine.new(("lwp", "proc", proc))))
    machine.count(1000)
    assert 12 not in watcher.frame()["h"]
    machine.set(proc, ("proc", "pid", 112))
    assert watcher.frame()["h"][12][:2] == [112, "idle"]


@pytest.mark.parametrize("seen", [True, False])
def test_a_number_that_is_used_again(watched, seen):
    """A thread at the address of one that has ended, with its number and name, can be in another process.

    `seen`: whether a reading met the machine without the thread; if none did, forget() was called.
    """
    machine, watcher, _, _ = watched
    machine.count(1000)
    assert watcher.frame()["h"][14][:2] == [114, "copier"]
    link = machine.kernel.field("thread", "all_link")
    places = [at + link for at in machine.threads.values()]
    if seen:
        machine.chain("all_threads", *(at for at in places if at != machine.threads[14] + link))
        machine.variable("all_threads_count", len(places) - 1, size=4)
        assert 14 not in watcher.frame()["h"]
    else:
        machine.kernel.forget()
    machine.set(machine.threads[14], ("thread", "lwp", machine.new(("lwp", "proc", machine.new(("proc", "pid", 9))))))
    machine.chain("all_threads", *places)
    machine.variable("all_threads_count", len(places), size=4)
    assert watcher.frame()["h"][14][:2] == [9, "copier"]


def test_damaged_memory(watched, monkeypatch):
    """A list that goes round and numbers that are too large do not keep a reading from its end."""
    monkeypatch.setattr("homeroom.live.kernel.LIST_MAX", 1000)
    machine, watcher, _, _ = watched
    machine.count(1000)
    frame = watcher.frame()
    machine.variable("nnodes", 0xFFFFFFFF, size=4)
    with pytest.raises(LiveError, match="damaged"):
        watcher.frame()
    machine.variable("nnodes", 2, size=4)
    link = machine.kernel.field("thread", "all_link")
    for tid in (11, 13):  # an idle thread, and another
        after = machine.kernel.read(machine.threads[tid] + link, 8)
        machine.put(machine.threads[tid] + link, (machine.threads[tid] + link).to_bytes(8, "little"))
        assert watcher.frame()["h"].keys() <= frame["h"].keys()
        machine.put(machine.threads[tid] + link, after)
    machine.set(machine.disks[2], ("disk", "link", machine.disks[2].to_bytes(8, "little")))
    assert len(watcher.frame()["d"]) == 2
    watcher.kernel._cpus = []
    machine.variable("ncpu", 0x02DC7C70, size=4)
    with pytest.raises(LiveError, match="has not started its CPUs"):
        watcher.frame()


def test_a_kernel_that_cannot_be_read_any_more(monkeypatch):
    """After BOOT seconds without a reading there is a message; not after a pause in which no page was open."""
    now, frames = SimpleNamespace(at=0.0), iter([{}, {}])

    def frame():
        if (found := next(frames, None)) is None:
            raise LiveError("the kernel has not started its CPUs")
        return found

    monkeypatch.setattr(state, "time", SimpleNamespace(monotonic=lambda: now.at))
    monkeypatch.setattr(state, "Watcher", lambda process: SimpleNamespace(frame=frame))
    pauses = iter([0.1, 1000.0])

    def wait():
        now.at += next(pauses, 0.1)

    found = state.frames_of(SimpleNamespace(until_its_end=itertools.count), wait)
    assert next(found) == {"w": 0.0} and next(found) == {"w": 0.1}
    with pytest.raises(LiveError, match="has not started its CPUs"):
        next(found)
    assert 1000 + state.BOOT < now.at < 1001 + state.BOOT


def test_interrupts_by_source(watched):
    """A rate is that of the time since the last `i`, ten readings before; nothing is left of what is less than one."""
    machine, watcher, _, _ = watched
    machine.interrupts(0, timer=50, poke=60, tlb=70, device0=80, device2=90)
    machine.interrupts(1, timer=10, device2=7)
    for n in range(10):
        machine.count(1000 + 10 * n)
        assert "i" not in watcher.frame()
    machine.count(1340)
    machine.interrupts(0, timer=50 + 680, poke=60 + 19, tlb=70, device0=80 + 34, device2=90 + 102)
    machine.interrupts(1, timer=10 + 1, device2=7 + 340)
    assert watcher.frame()["i"] == [{"timer": 200, "poke": 6, "vda": 10, "net0": 30}, {"net0": 100}, {}, {}]


def test_a_reading_without_a_tick(watched):
    """With the model, the clock can stand between two readings.  Rates stay then, and the next ones are since it stood."""
    machine, watcher, _, _ = watched

    def rates(ticks: int, user: int, intr: int, nread: int) -> tuple[list[int], list[int]]:
        machine.count(ticks, usr_ticks=[user] * 4, idl_ticks=[ticks - user] * 4, intr=[intr] * 4)
        machine.disk(0, 0, 0, nread, 2 * nread)
        frame = watcher.frame()
        return frame["c"][0][4:], frame["d"][0][3:]

    assert rates(1000, 0, 0, 0) == ([0, 0, 0, 0], [0, 0])
    assert rates(1000, 0, 20, 100) == ([0, 0, 0, 0], [0, 0])
    assert rates(1100, 50, 30, 500) == ([50, 0, 0, 30], [500, 1000])
    assert rates(1100, 50, 40, 600) == ([50, 0, 0, 30], [500, 1000])
    assert rates(1200, 80, 90, 1500) == ([30, 0, 0, 60], [1000, 2000])
