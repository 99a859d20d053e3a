# SPDX-License-Identifier: MIT
"""test_paper.py - the listing in the white paper's Appendix A compiles unchanged, and prints what the paper says.

PAPER= names the paper's text.  We may not distribute it, so without it these tests are skipped.
"""

import re
import shutil
import subprocess

import pytest

import harness
import paper

HRCC = paper.ROOT / "tools/hrcc"


@pytest.fixture(scope="session")
def appendix_a(tmp_path_factory):
    """The listing, compiled with tools/hrcc."""
    text = paper.paper_path()
    if text is None:
        harness.lacking("paper", "no text of the white paper: make test PAPER=file (docs/testing.md says what it is)")
    work = tmp_path_factory.mktemp("paper")
    source = work / "appendix_a.c"
    source.write_text(paper.listing(text.read_text()))
    program = work / "appendix_a"
    subprocess.run([HRCC, "-Wall", "-Werror", source, "-o", program], check=True)
    return program


def breakdowns(output):
    """The lines `lgroup 0: 123 pages lgroup 1: ...` as a list of {lgroup: pages}."""
    rows = []
    for line in output.splitlines():
        pairs = re.findall(r"lgroup (\d+): (\d+) pages", line)
        if pairs:
            rows.append({int(lgroup): int(pages) for lgroup, pages in pairs})
    return rows


def test_listing_compiles_unchanged(appendix_a):
    assert appendix_a.stat().st_size > 0


def test_breakdowns_are_read():
    text = "first\n    lgroup 3: 24 pages\n\nrandom\n    lgroup 0: 9 pages    lgroup 1: 7 pages\n"
    assert breakdowns(text) == [{3: 24}, {0: 9, 1: 7}]


@pytest.mark.parametrize("machine_name, boards", [("sf3800", 2), ("sf6800", 6), ("sf15k", 18)])
def test_listing_runs(appendix_a, boot_once, tmp_path, machine_name, boards):
    """First touch: the whole array on one board.  Random: pages on every board."""
    overlay = tmp_path / "root"
    (overlay / "usr/bin").mkdir(parents=True)
    shutil.copy(appendix_a, overlay / "usr/bin/appendix_a")
    outcome, text, _ = boot_once(machine_name, run="appendix_a", overlay=overlay, timeout=240)
    assert outcome.status == 0, text
    first_touch, random = breakdowns(text)
    pages = -(-8_000_000 // 4096)
    assert sum(first_touch.values()) == sum(random.values()) == pages
    assert len(first_touch) == 1
    assert set(random) == set(range(boards))
    share = pages / boards
    assert all(share / 2 < count < share * 2 for count in random.values())
