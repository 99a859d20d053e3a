# SPDX-License-Identifier: MIT
"""test_report.py - make experiments from end to end on two boards, its report in a browser, and make watch.

tests/data/experiments.toml is measured with real boots and the model, through Snakemake.  Headless Chromium then opens the
report.  Without Chromium that test is skipped, or fails if HR_REQUIRE lists browser.
"""

import csv
import os
import re
import shutil
import subprocess
import sys

import pytest

import harness
from harness import HOST_LIMIT
from homeroom.machine import TOP
from test_fireplane_page import make_page

PYTHON = TOP / ".venv-experiments/bin/python"
FILE = "tests/data/experiments.toml"
pytestmark = pytest.mark.xdist_group("experiments")


def call(folder, command, *names):
    environment = os.environ | {"EXPERIMENTS_OUT": str(folder), "PYTHONPATH": "tools"}
    words = [PYTHON, "-m", "homeroom.experiments", command, "--file", FILE, "--full"]
    words += [word for name in names for word in ("--name", name)]
    return subprocess.run(words, cwd=TOP, env=environment, capture_output=True, text=True, timeout=HOST_LIMIT)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """All experiments of the small file, run once: the folder, and the output."""
    folder = tmp_path_factory.mktemp("experiments")
    return folder, call(folder, "sweep")


def read_rows(folder):
    with open(folder / "results.csv", newline="") as file:
        return {row["row"]: row for row in csv.DictReader(file)}


@pytest.mark.long
def test_rows_are_measured(sweep):
    folder, done = sweep
    rows = read_rows(folder)
    gain = rows["8 threads, speed-up"]
    assert gain["note"].startswith("inside"), done.stdout + done.stderr
    assert (gain["kind"], gain["machine"], gain["scale"], gain["runs"]) == ("modelled", "sf3800", "ecache 64 KiB", "1")
    base, new = (float(rows[f"8 threads, {v}"]["ours"]) for v in ("no MPO", "MPO"))
    assert float(gain["ours"]) == pytest.approx(100 * (new / base - 1))
    assert rows["8 threads, MPO [every store miss reads its line]"]["ours"] != rows["8 threads, MPO"]["ours"]
    for variant, pages in (("no MPO", "4096"), ("MPO", "2048")):
        assert rows[f"most pages in an lgroup, {variant}"]["ours"] == pages


@pytest.mark.long
def test_a_failed_run_is_reported(sweep):
    """Status 1, a message on the terminal, a row with the log's path, and the log; the other runs continue."""
    folder, done = sweep
    assert done.returncode == 1
    row = read_rows(folder)["a program that is not there, MPO"]
    assert row["ours"] == ""
    log = re.search(r"^FAILED: .*; log (\S+)$", row["note"])
    assert log, row
    assert "no-such-program: not found" in open(TOP / log[1]).read()
    assert "FAILED" in done.stderr
    assert "FAILED" in done.stdout


@pytest.mark.long
def test_results_are_found_again(sweep):
    """A second sweep boots nothing, and makes the report again."""
    folder, _ = sweep
    before = {p: p.stat().st_mtime_ns for p in (folder / "runs").glob("*.log")}
    (folder / "copy.html").unlink(missing_ok=True)
    done = call(folder, "sweep", "copy")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {p: p.stat().st_mtime_ns for p in (folder / "runs").glob("*.log")} == before
    assert (folder / "copy.html").exists()


def test_a_quick_report_says_so(tmp_path):
    """Also without any run: what is left out, at the top and for each table; each row once."""
    environment = os.environ | {"EXPERIMENTS_OUT": str(tmp_path), "PYTHONPATH": "tools"}
    words = [PYTHON, "-m", "homeroom.experiments", "report", "--quick"]
    done = subprocess.run(words, cwd=TOP, env=environment, capture_output=True, text=True)
    quick = re.compile(r"This is a quick run: 1 of \d+ experiments, once each, .* Nothing is judged by its band.")
    assert quick.search(done.stdout), done.stderr
    page = (tmp_path / "report.html").read_text()
    assert quick.search(page)
    assert "Tables without any row: 3-1, 3-2, 3-3" in page
    assert "Left out of this quick run: 1 thread.</p>" in re.search(r'<section id="table-3-8">.*?</section>', page, re.S)[0]
    assert page.count("<td>24 threads, MPO</td>") == 1
    assert 'As in <a href="#table-3-8">Table 3-8</a>: 24 threads.' in page
    assert 'class="chip inside"' not in page


@pytest.mark.long
def test_a_report_of_rows_that_the_paper_lacks(sweep):
    """If it is the only experiment, there is no gain to compare, but the row is there."""
    folder, _ = sweep
    done = call(folder, "report", "threads-8")
    assert done.returncode == 0, done.stderr
    page = (folder / "threads-8.html").read_text()
    assert 'aria-label="gains"' not in page and "<td>copy, 8 threads, MPO</td>" in page


def browse(page, *options):
    """Open a page in headless Chromium.  Returns its DOM, and the messages of the browser."""
    browser = shutil.which("chromium")
    if browser is None:
        harness.lacking("browser", "no chromium to look at the report with: tools/deps.sh browser")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1100,6000"]
    command += ["--enable-logging=stderr", "--virtual-time-budget=5000", f"--user-data-dir={page.parent / 'profile'}"]
    command += ["--dump-dom", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HOST_LIMIT)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


# Runs in the page: whether every figure is drawn and nothing exceeds it, and whether something is loaded from elsewhere.
LOOK = """<script>addEventListener("load", () => {
    const bad = [];
    for (const svg of document.querySelectorAll("svg")) {
        const box = svg.getBoundingClientRect();
        if (box.width < 300 || box.height < 100) bad.push(svg.getAttribute("aria-label") + " is not drawn");
        if (svg.querySelectorAll("path, use").length < 10) bad.push(svg.getAttribute("aria-label") + " is empty");
        const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent.trim(), t.getBoundingClientRect()]);
        texts.forEach(([a, p], i) => texts.slice(i + 1).forEach(([b, q]) => {
            const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
            const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
            if (a && b && wide > 1 && high > 4) bad.push(svg.getAttribute("aria-label") + ": '" + a + "' is over '" + b + "'");
        }));
    }
    for (const table of document.querySelectorAll("section:not(#parameters):not(#runs) .scroll"))
        if (table.scrollWidth > table.clientWidth) bad.push("a table is too wide: " + table.textContent.slice(0, 60));
    if (document.documentElement.scrollWidth > innerWidth) bad.push("the page is wider than the window");
    if (performance.getEntriesByType("resource").length) bad.push("something was loaded");
    const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
    if (new Set(ids).size != ids.length) bad.push("an id is there twice");
    if (bad.length) console.error(bad.join("; "));
    document.body.dataset.looked = bad.length;
});</script></body>"""


@pytest.mark.long
def test_report_in_a_browser(sweep, tmp_path):
    folder, _ = sweep
    text = (folder / "report.html").read_text()
    assert not re.search(r'(?:src|href)="(?!#|data:)', text), "the report asks for another file"
    page = tmp_path / "looked.html"
    page.write_text(text.replace("</body>", LOOK))
    for width in (800, 1280):
        dom, logged = browse(page, f"--window-size={width},6000")
        assert logged == []
        assert 'data-looked="0"' in dom
    tables = ("table-3-5", "table-3-7", "table-threads", "table-text")
    for part in ("summary", *tables, "sensitivity", "traffic", "parameters", "runs"):
        section = re.search(rf'<section id="{part}">.*?</section>', dom, re.S)
        assert section, part
        assert "<table>" in section[0], part
    drawn = re.findall(r'<svg class="plot" role="img" aria-label="([^"]+)"', dom)
    assert drawn == ["gains", "table-3-5", "pages-8", "table-3-7", "speed-up-threads", "traffic-copy", "machine-copy"]
    table = re.search(r'<section id="table-3-5">.*?</table>', dom, re.S)[0]
    for label, row in read_rows(folder).items():
        if label.endswith("[4 misses in flight]"):
            assert label not in dom, "only its gain is shown, under Sensitivity"
        elif not label.endswith(", 0x1000"):
            assert label in dom
        elif row["unit"] == "MB/s":
            line = re.search(rf"<td>{label.removesuffix(', 0x1000')}</td>.*?</tr>", table)[0]
            assert f"<td>{float(row['ours']):,.0f}</td>" in line, "the other condition, in the row's line"
    assert "<th>ours</th><th>0x1000</th>" in table
    assert re.search(r'<table id="accuracy">.*defaults.*\(copy\); 1<.*0x1000.*\(copy\); 1<', dom, re.S)
    assert "<code>write_allocate=merge</code>: Table 3-8" in dom
    assert "fitted. The CPU has a 2 KB write cache" in dom
    assert "CHOICE" in dom, "sources of parameters"
    assert "<tr><td>paper, MPO</td><td>2,047</td><td>2,049</td>" in dom, "pages by lgroup"
    sensitive = re.search(r'<section id="sensitivity">.*?</section>', dom, re.S)[0]
    ours = float(read_rows(folder)["8 threads, speed-up [4 misses in flight]"]["ours"])
    assert f"<td>{ours:+.1f}</td>" in sensitive
    assert "4 misses in flight" not in table, "it is no hypothesis"


def test_the_browser_tells_of_errors(tmp_path):
    """The test above depends on these messages."""
    page = tmp_path / "wrong.html"
    page.write_text(f'<html><body><svg aria-label="tiny" width="9" height="9"></svg>{LOOK}</html>')
    dom, logged = browse(page)
    assert 'data-looked="2"' in dom
    assert "tiny is not drawn; tiny is empty" in logged[0]


def watch(*arguments):
    command = [PYTHON, "-m", "homeroom.watch", *map(str, arguments)]
    return subprocess.run(command, cwd=TOP / "tools", capture_output=True, text=True, timeout=HOST_LIMIT)


def test_watch(tmp_path):
    """While a guest runs with the model, and from the page afterwards."""
    page = tmp_path / "sf3800.page"
    command = [sys.executable, TOP / "qemu/launch.py", "sf3800", "--run", "memcopy -t 8 -i 4 && read line"]
    command += ["--model", "fireplane", "--model-page", page, "--timeout", "200"]
    guest = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        while b"ok" not in (line := guest.stdout.readline()):
            assert line, "the guest ended early"
        live = watch(page)
        guest.stdin.write(b"\n")
        guest.stdin.flush()
        guest.wait(HOST_LIMIT)
    finally:
        guest.kill()
        guest.wait()
    assert live.stdout.startswith("sf3800: disarmed"), live.stdout + live.stderr
    rows = [line.split() for line in live.stdout.splitlines()]
    assert [row[0] for row in rows[1:5]] == ["board", "0", "1", "all"]
    local = rows[2][3]
    assert re.fullmatch(r"[\d.]+[kM]", local), "local misses"
    assert watch(page, "--once").stdout == live.stdout


NO_GUEST = """
import sys
from pathlib import Path
from homeroom import fireplane, watch
pages = [Path(p) for p in sys.argv[1:]]
fireplane.newest = lambda: None
fireplane.newest_ended = lambda: pages[0] if pages else None
sys.argv[1:] = []
sys.exit(watch.main())
"""


def test_watch_when_no_guest_runs(tmp_path):
    """The command to start one; or the totals of the run that ended last."""

    def call(*pages):
        command = [PYTHON, "-c", NO_GUEST, *map(str, pages)]
        return subprocess.run(command, cwd=TOP / "tools", capture_output=True, text=True)

    none = call()
    assert (none.returncode, none.stdout) == (1, "")
    assert re.fullmatch(r"watch: no guest with the model is running; start one .*: make qemu-sf6800 MODEL=.*\n", none.stderr)
    last = tmp_path / "sf3800.last"
    last.write_bytes(make_page())
    ended = call(last)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("sf3800: ")
    assert ended.stdout.endswith("no guest with the model is running; these are the totals of the last one\n")


def test_watch_without_a_guest(tmp_path):
    done = watch(tmp_path / "none.page")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "No such file" in done.stderr
    (tmp_path / "short.page").write_bytes(b"x")
    assert "1 bytes; a page of the model has" in watch(tmp_path / "short.page").stderr
