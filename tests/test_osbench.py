# SPDX-License-Identifier: MIT
"""test_osbench.py - osbench: every test ends, and no kernel path exceeds its goal (tools/osbench_report.py)."""

import re

import osbench_report as report

LINUX = report.linux_figures(report.DATA.read_text())


def test_linux_figures_are_read():
    assert LINUX["null"].one == 361 and LINUX["null"].two == 361
    assert LINUX["sleep1ms"].unit == "nanosleep"
    assert len(LINUX) == 53


def test_goals():
    assert report.goal("null") == 0.5
    assert report.goal("fstat") == 1.0
    assert report.goal("yield_proc") is None
    figures = {name: them.one for name, them in LINUX.items()}
    assert set(report.missed(figures, LINUX)) == report.HALF
    del figures["brk"]
    assert "brk" in report.missed(figures, LINUX)


def test_unfinished_run_has_no_figures():
    assert report.osbench_figures("OSB null iters=1 tsc_med=5.00 unit=x\n") == {}
    assert report.osbench_figures("OSB null iters=1 tsc_med=5.00 unit=x\nOSB-END\n") == {"null": 5.0}


def test_page_is_kept_round_the_table(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write_page(page, "new")
    assert page.read_text() == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"


def test_instructions_on_one_cpu(boot_once):
    options = {"run": "osbench -d /tmp", "icount": True, "kernel": "normal", "watchdog": None, "seed": 1}
    outcome, text, _ = boot_once("sf280r", timeout=400, **options)
    assert outcome.status == 0, text
    ours = report.osbench_figures(text)
    over = {name: (ours.get(name), LINUX[name].one) for name in report.missed(ours, LINUX)}
    assert not over, f"over the goal, ours and Linux's: {over}"


def test_ends_on_two_cpus(boot_once):
    outcome, text, _ = boot_once("sf280r", run="osbench -d /tmp -s 4 -r 1", timeout=400)
    assert outcome.status == 0, text
    assert set(re.findall(r"^OSB (\S+)", text, re.M)) == set(LINUX)
    assert "OSB-ERR" not in text
