# SPDX-License-Identifier: MIT
"""test_grade.py - the grader: points for the solution only, no way around the sandbox, and a broken grader grades nothing."""

import fcntl
import json
import os
import re
import subprocess
import sys
import tomllib

import pytest

from harness import HOST_LIMIT
from homeroom.course import build, lab, objects, proof, regions, sandbox, term
from homeroom.course import grade as grader
from homeroom.course import solution as course_solution
from homeroom.course.trial import Trial, Wrong
from homeroom.machine import TOP

pytestmark = pytest.mark.xdist_group("grade")  # all use build/grade
RESULTS = TOP / "build" / "grade" / "home" / "results.json"
FILE = TOP / "kernel/lgrp/home.c"
SIGNATURE = "unsigned lgrp_choose_home(const struct lgrp_home_in *in)\n"


def grade(*args, **env):
    """Run the grader; returns (exit status, output, results or None)."""
    RESULTS.unlink(missing_ok=True)
    run = subprocess.run(
        [sys.executable, "-m", "homeroom.course.grade", *map(str, args)],
        cwd=TOP,
        text=True,
        capture_output=True,
        timeout=HOST_LIMIT,
        check=False,
        env={**os.environ, "PYTHONPATH": str(TOP / "tools"), **env},
    )
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else None
    return run.returncode, run.stdout + run.stderr, results


def points(results):
    return sum(t["score"] for t in results["tests"]), sum(t["max_score"] for t in results["tests"])


def submission(tmp_path, text):
    """A file with this text in its region."""
    file = tmp_path / "home.c"
    file.write_text(regions.replaced(FILE.read_text(), "home", text, "home.c"))
    return file


def skeleton():
    return (TOP / "labs/home/home.region").read_text()


def solution():
    return regions.region_of(FILE.read_text(), "home", "home.c")


@pytest.mark.parametrize("seed", ["1", pytest.param("0x7fffffff", marks=pytest.mark.long)])
def test_solution_has_all_points(seed):
    status, out, results = grade("home", "--seed", seed)
    assert status == 0, out
    assert points(results) == (100, 100)
    assert all(t["status"] == "passed" for t in results["tests"] if t["max_score"])


def test_readings_of_the_tolerance():
    """As docs/lgroups.md says, only one reading gives each board as many threads as any other, on the 15K and on the 6800."""
    for size in ([], ["6", "24"]):
        command = [sys.executable, TOP / "labs/home/readings.py", *size]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
        even = {name: int(words.split()[-2]) for name, _, words in (line.partition(": ") for line in lines)}
        assert even.pop("lgroups that the process does not use yet") == 300
        assert len(even) == 3 and not any(even.values()), lines


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_skeleton_has_none(seed, tmp_path):
    file = submission(tmp_path, skeleton())
    status, out, results = grade("home", "--file", file, "--seed", seed)
    assert status == 1, out
    assert points(results) == (0, 100)
    for test in results["tests"]:
        log = (RESULTS.parent / f"{test['number']}.log").read_text()
        assert ("expected: " in log and "found:    " in log) or "it needs " in log
        assert f"repeat with: make grade LAB=home TEST={test['number']} SEED={seed} FILE={file}" in log


SLOW = {"experiment", "journal", "paging", "placement", "sets"}  # labs


def sampled_rows():
    """What each lab must give, without skeleton and solution: of the lab home much, of each other a mistake and a term.

    Only the mistakes of labs that are graded in seconds are not in the long tests.
    """
    for name in lab.names():
        found = [row for row in proof.rows(lab.load(name)) if row.term in (0, 2)]
        mistakes = [row for row in found if row.name.startswith("mistake: ")]
        others = [row for row in found if row.term or row.name == "beyond"]
        for row in mistakes + others if name == "home" else mistakes[:1] + others[1:2]:
            marks = [] if row in mistakes and name not in SLOW else [pytest.mark.long]
            yield pytest.param(row, id=f"{name}: {row.name}", marks=marks)


@pytest.mark.parametrize("row", sampled_rows())
def test_a_row_of_the_proof_holds(row):
    result = proof.graded(row, 1)
    assert row.holds(result), f"wanted: {row.wanted}; found: {result}\n{result.said}"


# ---- cheats ------------------------------------------------------------------------------------

CHEATS = tomllib.loads((TOP / "tests/data/lab_cheats.toml").read_text())


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_gets_nothing(cheat, tmp_path):
    file = submission(tmp_path, CHEATS[cheat]["text"])
    one = ["--test", "affinity_decides_first"] if cheat == "an endless loop" else []
    status, out, results = grade("home", "--file", file, "--cpu-seconds", "1", *one)
    assert status == 1, out
    assert points(results)[0] == 0
    assert any(CHEATS[cheat]["reason"] in test["output"] for test in results["tests"]), results["tests"][0]["output"]
    assert "Traceback" not in out


@pytest.mark.parametrize("choice", ["n++ % 6", "in->rnd % 6", "in->home", "bit_first(in->cand & in->spanned)"])
def test_an_answer_without_the_work_gets_nothing(choice, tmp_path):
    """Also code that overwrites the driver and says whatever it likes has to know the answer."""
    text = SIGNATURE + f"{{\n    static unsigned n;\n    n++;\n    return in->cand == 0 ? NONE : {choice};\n}}\n"
    _, _, results = grade("home", "--file", submission(tmp_path, text))
    assert points(results) == (0, 100)


@pytest.mark.parametrize(
    "name, test, place",
    [
        ("frames", "the_asked_board_first", "called by alloc_from_node() (page.c:"),
        ("placement", "several_ranges_in_any_order", "called by object_advise() (advice.c:"),
        ("sets", "new_sets_are_numbered", "called by pset_create() (pset.c:"),
    ],
)
def test_a_spin_lock_that_is_taken_twice_is_named(name, test, place, tmp_path):
    """Without the check the CPU would wait for it until its time is used up."""
    file = tmp_path / "all.c"
    for region, text in course_solution.tree(lab.load(name)).items():
        twice = re.sub(r"\bspin_lock\(.*?\);", r"{ \g<0> \g<0> }", text)
        with file.open("a") as out:
            out.write(f"{regions.BEGIN.format(region)}\n{twice}{regions.END.format(region)}\n")
    _, out, _ = grade(name, "--file", file, "--test", test)
    assert "the kernel panicked: " in out and place in out, out


# ---- files that cannot be graded ---------------------------------------------------------------


@pytest.mark.parametrize(
    "data, sentence",
    [
        (b"", "home.c has no region home: keep the lines"),
        (b"int x;\n", "home.c has no region home: keep the lines"),
        (b"/* LAB home: begin */\n", "home.c: region home has no line /* LAB home: end */"),
        (b"/* LAB home: end */\n", "home.c:1: region home ends, but does not begin"),
        (b"/* LAB home: begin */\n/* LAB home: begin */\n", "home.c:2: region home begins twice"),
        (b"\xff\xfe" + "/* LAB */".encode("utf-16-le"), "home.c is no text in UTF-8"),
        (b"x" * (100 << 20), "home.c has more than 1 MiB: it is not read"),
    ],
    ids=["empty", "no region", "no end", "no begin", "two", "no text", "large"],
)
def test_a_file_that_is_no_submission(data, sentence, tmp_path):
    file = tmp_path / "home.c"
    file.write_bytes(data)
    status, out, results = grade("home", "--file", file)
    assert (status, points(results)) == (1, (0, 100))
    assert sentence in results["tests"][0]["output"] and "Traceback" not in out


def test_a_link_is_no_submission(tmp_path):
    """It may lead to a solution that only the grader's host has."""
    (tmp_path / "home.c").symlink_to(FILE)
    status, _, results = grade("home", "--file", tmp_path / "home.c", "--test", "candidates_only")
    assert (status, points(results)[0]) == (1, 0)
    assert "home.c is a symbolic link: hand in the file itself" in results["tests"][0]["output"]


def test_a_refused_line_is_named_with_its_region_and_once_more_at_the_end(tmp_path):
    """What the tests found of the skeleton in its place is not shown: it would hide the reason."""
    text = solution().replace("\nunsigned lgrp_choose_home", '\n  #include "x.h" /* y */\nunsigned lgrp_choose_home')
    status, out, results = grade("home", "--file", submission(tmp_path, text), "--test", "candidates_only")
    fault = 'home.c, region home: a line of the preprocessor is not allowed in a region: #include "x.h" /* y */'
    assert status == 1 and out.splitlines()[0] == f"grade: {fault}"
    assert out.rstrip().endswith(f"grade: a part of the submission was not graded: {fault}")
    assert "expected:" not in out and "expected:" in results["tests"][0]["output"]


@pytest.mark.parametrize("text", ["\n", "/*/", '\\"', "[\n", "\\ ", "'\\\n", "/* LAB a{}: begin */\n/* LAB a{}: end */\n"])
def test_a_large_region_is_read_in_its_length(text):
    """Patterns that look at a text again and again would take hours for this."""
    text = "".join(text.format(i, i) for i in range(regions.BYTES_MAX // len(text)))
    list(regions.refusals(text))
    regions.outside(text, "home.c")


@pytest.mark.parametrize("outside", [b"", b"#error\r\n"])
def test_line_ends_and_a_byte_order_mark_do_not_matter(tmp_path, outside):
    """Nor does text outside the regions, but the output says so."""
    file = tmp_path / "home.c"
    file.write_bytes(b"\xef\xbb\xbf" + outside + FILE.read_bytes().replace(b"\n", b"\r\n"))
    status, out, results = grade("home", "--file", file, "--test", "affinity_decides_first")
    assert status == 0 and points(results)[0] == points(results)[1], out
    said = "home.c differs from kernel/lgrp/home.c outside its regions; that is not graded"
    assert (said in out) == bool(outside)


# ---- faults of the harness ---------------------------------------------------------------------


def test_harness_failure_is_not_a_zero():
    status, out, results = grade("home", HOSTCC="/nonexistent/cc", MAKEFLAGS="HOSTCC=/nonexistent/cc")
    assert (status, results) == (3, None), out
    assert "nothing was graded" in out


def test_a_test_that_there_is_not():
    status, out, results = grade("home", "--test", "no_such_test")
    assert (status, results) == (2, None) and "there are: candidates_only, " in out


def test_a_compiler_that_fails_for_the_skeleton_grades_nothing(tmp_path, monkeypatch):
    """As on a full disk: no fault of the student's."""
    builder = build.Builder(lab.load("home"), tmp_path)
    assert builder.build({"home": solution()}) == []
    monkeypatch.setattr(build.Builder, "_compile", lambda self, source, name, *_: (tmp_path / name, 1, "no space left"))
    with pytest.raises(lab.LabError, match=r"fails for the skeleton of home\.c, too: grade again"):
        builder.build({"home": solution()})


def test_a_host_without_a_sandbox_grades_nothing(tmp_path, monkeypatch):
    child = tmp_path / "child"
    child.write_text("#!/bin/sh\nexit 3\n")
    child.chmod(0o755)
    with pytest.raises(sandbox.SandboxError, match="no seccomp"):
        sandbox.Child(child, 1)


@pytest.mark.parametrize(
    "script, reason",
    [
        ("echo ready; read x; echo one two", "no list of numbers"),
        ("echo ready; read x; echo assertion failed >&2; echo '!'", "the kernel panicked: assertion failed"),
        ("echo ready; read x; echo '!'; exec sleep 1000", "the kernel panicked: "),
        ("echo ready; read x; yes x >&2", "killed by SIGXFSZ"),
        ("echo ready; read x; exit 7", "ended with status 7"),
        ("echo ready; read x; echo '-1 1_0 '", "no list of numbers"),
        ("echo ready; read x; printf '%05000d \\n' 1", "no list of numbers"),
        ("echo ready; read x; kill -SEGV $$", "killed by SIGSEGV"),
        ("echo ready; read x; yes 1 | tr -d '\\n'", "the answer has no end"),
        ("echo ready; read x; while :; do :; done", "no end after 1 s of the CPU"),
    ],
)
def test_what_a_child_may_do(script, reason, tmp_path, monkeypatch):
    if "sleep" in script:  # the others end by themselves, at a time that the host chooses
        monkeypatch.setattr(sandbox, "END_SECONDS", 1)
    child = tmp_path / "child"
    child.write_text(f"#!/bin/sh\n{script}\n")
    child.chmod(0o755)
    with sandbox.Child(child, 1) as run, pytest.raises(sandbox.ChildError, match=reason):
        run.ask("choose", 1)


def test_a_child_that_does_not_read(tmp_path, monkeypatch):
    """Neither a full pipe nor many slow answers let the grader wait for longer than the limit of the child."""
    child = tmp_path / "child"
    child.write_text("#!/bin/sh\necho ready; exec sleep 60\n")
    child.chmod(0o755)
    with sandbox.Child(child, 1) as run, pytest.raises(sandbox.ChildError, match="no answer after 1 s"):
        monkeypatch.setattr(sandbox, "WAITS", 1)
        run._left = 1  # not in the limit: the start of the child, which takes its time on a busy host
        run.ask("choose", *[1 << 63] * (1 << 14))


def answers_of_nonsense(t):
    return t.child.ask("x")[5]


def answers_without_end(t):
    while t.child.ask("x"):
        pass


@pytest.mark.parametrize("function, reason", [(answers_of_nonsense, "fit no state"), (answers_without_end, "lead to no end")])
def test_answers_that_confuse_a_test(function, reason, tmp_path, monkeypatch):
    """They fail that test; the others are graded."""
    monkeypatch.setattr(grader, "JUDGE_CPU", 0.2)
    child = tmp_path / "child"
    child.write_text("#!/bin/sh\necho ready; while read x; do echo '1 '; done\n")
    child.chmod(0o755)
    home = lab.load("home")
    run = grader.Grader(home, [], 1, 0, tmp_path)
    run._program = child
    assert reason in run._run(home.tests[0], function)


def test_a_compiler_that_talks_without_end(tmp_path):
    status, text = build.Builder(lab.load("home"), tmp_path)._run(["yes", "warning"])
    assert status != 0 and len(text) == build.SAID_MAX


def test_two_runs_do_not_share_a_folder():
    with (RESULTS.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, out, results = grade("home")
    assert (status, results) == (3, None)
    assert "another run grades lab home in this tree; nothing was graded" in out


def test_unknown_lab_is_named():
    status, out, results = grade("nonsense")
    assert (status, results) == (2, None)
    assert "home" in out


def test_every_lab_is_whole():
    """Points add up to 100, each test has its function, and solution and skeleton pass the checks of a region."""
    for name in lab.names():
        one = lab.load(name)
        assert sum(test.points for test in one.tests if not test.beyond) + one.rubric == 100 and len(one.tests) >= 12
        assert term.handout(one, (one.folder / "README.md").read_text(), 1)
        one.functions()
        for region in one.regions:
            text = (TOP / region.file).read_text()
            for written in (regions.region_of(text, region.name, region.file), build.skeleton_of(region)):
                assert not list(regions.refusals(written))


def test_objects_are_checked(tmp_path):
    """What the compiler makes of a section or a weak name is seen, whatever the source looked like."""

    def compiled(text, name):
        source = tmp_path / f"{name}.c"
        source.write_text(text)
        subprocess.run(["gcc", "-c", source, "-o", tmp_path / f"{name}.o"], check=True)
        return tmp_path / f"{name}.o"

    plain = compiled("int f(void) { return 1; }", "plain")
    assert not list(objects.refusals(plain, plain, []))
    for text, word in (
        ("__attribute__((constructor)) static void g(void) { } int f(void) { return 1; }", ".init_array"),
        ('__attribute__((section(".fini_array"))) void *p = 0; int f(void) { return 1; }', ".fini_array"),
        ("extern int g(void); int f(void) { return g(); }", "g is used"),
        ("extern int g(void) __attribute__((weak)); int f(void) { return g(); }", "g is used"),
        ("static int h(void) { return 1; } static void *r(void) { return h; } "
         'int f(void) __attribute__((ifunc("r")));', "f is an indirect function"),
    ):  # fmt: skip
        assert any(word in refusal for refusal in objects.refusals(compiled(text, "odd"), plain, [])), text


def test_even_counts():
    trial = Trial(None, "1", {})
    trial.expect_even("x", [1, 2], [1, 2] * 50)
    for found in ([1] * 100, [1, 2, 3] * 30, [1] * 70 + [2] * 30):
        with pytest.raises(Wrong):
            trial.expect_even("x", [1, 2], found)
