# SPDX-License-Identifier: MIT
"""test_grade.py - the lab grader: the skeleton fails, the solution passes, and a broken grader grades nothing."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from harness import HOST_LIMIT

ROOT = pathlib.Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.xdist_group("grade")  # all use build/grade
RESULTS = ROOT / "build" / "grade" / "home" / "results.json"


def grade(*args, **env):
    """Run the grader; returns (exit status, output, results or None)."""
    RESULTS.unlink(missing_ok=True)
    run = subprocess.run(
        [sys.executable, "-m", "homeroom.grade", *map(str, args)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=HOST_LIMIT,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools"), **env},
    )
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else None
    return run.returncode, run.stdout + run.stderr, results


def points(results):
    return sum(t["score"] for t in results["tests"]), sum(t["max_score"] for t in results["tests"])


def submission(tmp_path, text):
    file = tmp_path / "home.c"
    file.write_text(text)
    return file


def test_solution_has_all_points():
    status, out, results = grade("home")
    assert status == 0, out
    assert points(results) == (100, 100)
    assert all(t["status"] == "passed" for t in results["tests"])


def test_readings_of_the_tolerance():
    """As docs/lgroups.md says, only one reading gives each board as many threads as any other, on the 15K and on the 6800."""
    for size in ([], ["6", "24"]):
        command = [sys.executable, ROOT / "labs/home/readings.py", *size]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
        even = {name: int(words.split()[-2]) for name, _, words in (line.partition(": ") for line in lines)}
        assert even.pop("lgroups that the process does not use yet") == 300
        assert len(even) == 3 and not any(even.values()), lines


def test_skeleton_fails():
    status, out, results = grade("home", "--file", ROOT / "labs/home/home.c")
    assert status == 1, out
    assert points(results)[0] == 0
    assert "repeat with: make grade LAB=home TEST=" in out
    for test in results["tests"]:
        log = RESULTS.parent / f"{test['number']}.log"
        assert "repeat with:" in log.read_text()


def test_repeat_line_repeats(tmp_path):
    """The printed command runs only this test, with the same verdict."""
    status, _, results = grade("home", "--file", ROOT / "labs/home/home.c", "--test", "affinity_decides_first")
    assert status == 1
    assert [t["number"] for t in results["tests"]] == ["affinity_decides_first"]


@pytest.mark.parametrize(
    "text, word",
    [
        ("this is not C", "does not compile"),
        ('#include "lgrp/home.h"\n', "does not link"),
        (
            '#include "lgrp/home.h"\nunsigned lgrp_choose_home(const struct lgrp_home_in *in)\n'
            "{ return *(volatile unsigned *)(in->load + (1 << 30)); }\n",
            "ERROR: AddressSanitizer",
        ),
        (
            '#include "lgrp/home.h"\n#include <stdlib.h>\n'
            "unsigned lgrp_choose_home(const struct lgrp_home_in *in) { (void)in; exit(0); }\n",
            "exit status 0",
        ),
    ],
)
def test_broken_submission_is_zero(tmp_path, text, word):
    status, _, results = grade("home", "--file", submission(tmp_path, text))
    assert status == 1
    assert points(results) == (0, 100)
    assert word in results["tests"][0]["output"]


def test_hanging_submission_is_stopped(tmp_path):
    text = (
        '#include "lgrp/home.h"\nunsigned lgrp_choose_home(const struct lgrp_home_in *in)\n'
        "{ volatile const void *p = in; while (p != 0) ; return 0; }\n"
    )
    status, _, results = grade("home", "--file", submission(tmp_path, text), "--test", "affinity_decides_first")
    assert status == 1
    assert "no end after 5 s of the CPU: stopped" in results["tests"][0]["output"]


def test_harness_failure_is_not_a_zero():
    status, out, results = grade("home", HOSTCC="/nonexistent/cc", MAKEFLAGS="HOSTCC=/nonexistent/cc")
    assert status == 3, out
    assert results is None
    assert "nothing was graded" in out
    status, out, results = grade("home", "--test", "no_such_test")
    assert status == 3
    assert results is None


def test_unknown_lab_is_named():
    status, out, results = grade("nonsense")
    assert status == 2
    assert results is None
    assert "home" in out
