# SPDX-License-Identifier: MIT
"""test_sim.py - the simulators: they run the tree's code, repeat with a seed, and their exercises agree with a run."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from harness import HOST_LIMIT
from homeroom.course import lab, regions, release
from homeroom.machine import TOP
from homeroom.sim import runner
from homeroom.sim.buddy import Buddy
from homeroom.sim.clock import Clock
from homeroom.sim.home import Home
from homeroom.sim.journal import Journal

pytestmark = pytest.mark.xdist_group("grade")  # they build with the grader
KINDS = {kind.name: kind for kind in (Home, Clock, Buddy, Journal)}


def simulate(name, *words, tree=TOP):
    """Run a simulator in a tree, in a process of its own.  Returns status, standard output, standard error."""
    done = subprocess.run(
        [sys.executable, "-m", f"homeroom.sim.{name}", *words],
        cwd=tree,
        text=True,
        capture_output=True,
        timeout=HOST_LIMIT,
        env={**os.environ, "PYTHONPATH": str(tree / "tools")},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module", autouse=True)
def build_once():
    """In this process, the program of a lab is built once."""
    build, programs = runner.built, {}
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=TOP / "build") as folder:

        def built(lab, term, _):
            if (lab.name, term) not in programs:
                made = Path(folder) / f"{lab.name}.{term}"
                made.mkdir()
                programs[lab.name, term] = build(lab, term, made)
            return programs[lab.name, term]

        patch.setattr(runner, "built", built)
        yield


@cache
def output(name, *words):
    """What a simulator prints in this tree."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert runner.main(KINDS[name], list(words)) == 0
    return out.getvalue()


@pytest.mark.parametrize("name", KINDS)
def test_the_seed_decides(name):
    first = output(name, "--seed", "7")
    output.cache_clear()
    assert output(name, "--seed", "7") == first
    assert output(name, "--seed", "8") != first


@pytest.mark.parametrize("name", KINDS)
def test_lines_fit_a_terminal(name):
    lines = [line for line in output(name, "--seed", "7", "--explain").splitlines() if len(line) > 100]
    assert not lines


@pytest.mark.parametrize("name", KINDS)
def test_an_explanation_changes_no_decision(name):
    """--explain adds lines, and leaves the others as they are."""
    explained = output(name, "--seed", "7", "--explain").splitlines()
    plain = output(name, "--seed", "7").splitlines()
    assert len(explained) > len(plain)
    assert [line for line in explained if not line.startswith("    ") or line in plain] == plain


@pytest.mark.parametrize("name", KINDS)
def test_answers_are_those_of_the_run(name):
    """Each exercise names a run.  Its last decision is the answer."""
    text = output(name, "--exercise", "--answers", "--seed", "3")
    exercises = text.split("\nExercise ")
    assert len(exercises) == 3
    for exercise in exercises:
        question = next(n for n, line in enumerate(exercise.splitlines()) if line.strip() == KINDS[name].question)
        *answer, _, command = [line.strip() for line in exercise.splitlines()[question + 1 :] if line]
        make, goal, seed, words = shlex.split(command)
        assert (make, goal) == ("make", f"sim-{name}")
        run = output(name, "--seed", seed.removeprefix("SEED="), *words.removeprefix("ARGS=").split())
        assert answer and all(line in [other.strip() for other in run.splitlines()] for line in answer)
    asked = output(name, "--exercise", "--seed", "3")
    assert "make sim-" not in asked
    assert asked.splitlines() == [line for line in text.splitlines() if line in asked.splitlines()]


def test_a_term_has_other_answers():
    """The solution of a term runs, and answers name it."""
    words = ("--exercise", "--answers", "--seed", "2")
    ours, terms = (output("home", *words, "--term", term).splitlines() for term in ("0", "7"))
    commands = [line for line in terms if "make sim-home" in line]
    assert len(commands) == 3 and all(" TERM_SEED=7 " in line for line in commands)
    assert [line.replace(" TERM_SEED=7", "") for line in terms] != ours


def test_make_passes_arguments():
    command = ["make", "-s", "sim-home", "SEED=7", "TERM_SEED=0", "ARGS=--boards 5 --tolerance 0x1000"]
    done = subprocess.run(command, cwd=TOP, text=True, capture_output=True, timeout=HOST_LIMIT)
    assert done.stdout == output("home", "--seed", "7", "--boards", "5", "--tolerance", "0x1000"), done.stderr


# ---- what they show --------------------------------------------------------------------------------


def threads_by_board(out):
    rows = re.findall(r"^ +(\d+) +(\d+)(?: (#*))?(?: +off-line)?$", out.partition("threads by board:\n")[2], re.M)
    assert all(len(marks) == int(n) for _, n, marks in rows)
    return {int(board): int(n) for board, n, _ in rows}


def test_threads_per_board_add_up():
    out = output("home", "--threads", "30", "--busy", "50", "--offline", "2", "--seed", "5")
    threads, left = threads_by_board(out), dict.fromkeys(range(6), 0)
    for leaves, board in re.findall(r"^thread \d+(?: leaves board (\d+))?\n  home (\d+)", out, re.M):
        left[int(board)] += 1
        if leaves:
            left[int(leaves)] -= 1
    assert threads == left and sum(threads.values()) == 30
    assert sorted(threads.values())[:2] == [0, 0] and out.count("goes off-line") == 2


def test_72_threads_on_a_sun_fire_15k():
    """As the paper's table says: four on each board."""
    assert threads_by_board(output("home", "--boards", "18", "--threads", "72")) == dict.fromkeys(range(18), 4)


def test_pages_that_are_taken_are_free():
    out = output("clock", "--rounds", "12", "--seed", "2")
    rounds = re.findall(r"^round \d+: (\d+) of .*\n  goal (\d+), examined (\d+), .*: (.*); (\d+) pages free now", out, re.M)
    taken = 0
    for before, goal, examined, verdicts, after in rounds:
        counts = {name: int(n) for name, n in (verdict.split() for verdict in verdicts.split(", "))}
        assert int(examined) <= int(goal)
        assert int(after) - int(before) == counts.get("free", 0) + counts.get("push", 0)
        taken += int(after) - int(before)
    assert len(rounds) > 6 and taken > 10


def test_no_frame_is_lost():
    out = output("buddy", "--steps", "120", "--seed", "4")
    sums = re.findall(r"^board \d: (\d+) frames free, (\d+) in use, (\d+) in the magazine, 0 lost$", out, re.M)
    assert len(sums) == 3 and all(sum(map(int, numbers)) == 64 for numbers in sums)
    for what in ("splits", "merges", "a fallback", "no block"):
        assert what in out


def test_magazines_hold_frames():
    out = output("buddy", "--low", "0", "--order", "7", "--seed", "1")
    assert "m" * 20 in out and "the magazine of CPU 0 has 31 frames, before 0" in out


@pytest.mark.parametrize("cache_of_the_disk", [(), ("--cache",)])
def test_a_power_cut_leaves_whole_transactions(cache_of_the_disk):
    out = output("journal", "--seed", "6", "--transactions", "6", *cache_of_the_disk)
    writes = int(re.search(r"power cut after write 0 of (\d+)", out)[1])
    ends = re.findall(r"^cuts that leave the blocks as after transaction ([56]): (\d+)$", out, re.M)
    assert [number for number, _ in ends] == ["5", "6"] and sum(int(n) for _, n in ends) == writes + 1
    assert "in no state" not in out


# ---- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, words, said",
    [
        ("home", ["--boards", "0"], "--boards: 0 is no number from 1 to 64"),
        ("home", ["--boards", "many"], "--boards: many is no number"),
        ("home", ["--seed", "-1"], "--seed: -1 is no number"),
        ("home", ["--offline", "6"], "--offline must leave one board on-line"),
        ("home", ["--answers"], "--answers belongs to --exercise"),
        ("clock", ["--spread", "64"], "--spread must be below --pages"),
        ("buddy", ["--order", "11"], "--order: 11 is no number from 2 to 10"),
        ("journal", ["--odd"], "unrecognized arguments: --odd"),
    ],
)
def test_bad_arguments_get_one_sentence(name, words, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        runner.main(KINDS[name], words)
    out, err = capsys.readouterr()
    assert (stopped.value.code, out) == (2, "")
    assert err.startswith(f"sim-{name}: ") and said in err and err.count("\n") == 1


# ---- a student's tree ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sim") / "tree"
    assert release.main([str(folder), "--labs", ",".join(sorted({kind.lab for kind in KINDS.values()}))]) == 0
    (folder / "build/grade").mkdir(parents=True)
    (folder / "build/grade/objects").symlink_to(TOP / "build/grade/objects")  # trusted objects, which are the same
    return folder


@pytest.mark.parametrize("name", ["home", *(pytest.param(name, marks=pytest.mark.long) for name in KINDS if name != "home")])
def test_a_students_tree_runs_the_students_code(tree, name):
    """With the skeleton the simulator says so, and shows other results.  With the solution they are those of this tree."""
    status, out, err = simulate(name, "--seed", "7", tree=tree)
    found = lab.load(KINDS[name].lab)
    assert (status, err) == (0, "")
    for region in found.regions:
        assert f"The region {region.name} of {region.file} is still that of {region.skeleton}." in out
    assert set(output(name, "--seed", "7").splitlines()) - set(out.splitlines())
    for region in found.regions:
        path, text = tree / region.file, (TOP / region.file).read_text()
        solved = regions.replaced(path.read_text(), region.name, regions.region_of(text, region.name, region.file), region.file)
        path.write_text(solved)
    assert simulate(name, "--seed", "7", tree=tree) == (0, output(name, "--seed", "7"), "")
    status, _, err = simulate(name, "--term", "7", tree=tree)
    assert status == 1 and "a student's tree has no solution of a term" in err and err.count("\n") == 1
    subprocess.run(["git", "checkout", "-q", "."], cwd=tree, check=True)


@pytest.mark.parametrize(
    "text, said",
    [
        ("unsigned lgrp_choose_home(const struct lgrp_home_in *in)\n{\n    return 0\n}\n", "home.c does not compile"),
        ("#define ODD 1\n", "a line of the preprocessor is not allowed"),
        (
            "unsigned lgrp_choose_home(const struct lgrp_home_in *in)\n{\n    return in->load[in->rnd];\n}\n",
            "the code of this tree ends the simulation: ",
        ),
        (
            "unsigned lgrp_choose_home(const struct lgrp_home_in *in)\n{\n    return 77;\n}\n",
            "",
        ),
    ],
)
def test_code_that_is_wrong(tree, text, said):
    path = tree / "kernel/lgrp/home.c"
    path.write_text(regions.replaced(path.read_text(), "home", text, "home.c"))
    status, out, err = simulate("home", tree=tree)
    subprocess.run(["git", "checkout", "-q", "."], cwd=tree, check=True)
    assert "Traceback" not in err and said in err
    assert status == (1 if said else 0)
    assert said or ("home 77, which is no candidate" in out and not any(threads_by_board(out).values()))
