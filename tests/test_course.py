# SPDX-License-Identifier: MIT
"""test_course.py - a student's tree: it can be graded, and has nothing of the solutions."""

import os
import re
import subprocess
import sys

import pytest

from harness import HOST_LIMIT, without_tests
from homeroom.course import build, lab, regions, release, solution, term, update
from homeroom.machine import TOP

pytestmark = pytest.mark.xdist_group("grade")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course") / "tree"
    assert release.main([str(folder), "--labs", ",".join(lab.names())]) == 0
    return folder


def grade(tree, name, *words):
    """The last line that the grader prints in a student's tree."""
    done = subprocess.run(
        [sys.executable, "-m", "homeroom.course.grade", name, *words],
        cwd=tree,
        text=True,
        capture_output=True,
        timeout=HOST_LIMIT,
        env={**os.environ, "PYTHONPATH": str(tree / "tools")},
    )
    return done.stdout.splitlines()[-1].split(" points")[0].strip()


QUICK = "frames"  # is graded without its boots; the others take longer


@pytest.mark.parametrize(
    "name, boots",
    [(QUICK, False), *(pytest.param(n, True, marks=pytest.mark.long) for n in lab.names() if lab.load(n).regions)],
)
def test_a_students_tree_is_graded(tree, name, boots):
    """The skeleton has no points, the solution all; the grader of that tree is used.  The other labs are solved."""
    subprocess.run(["git", "checkout", "-q", "."], cwd=tree, check=True)  # an earlier test may have failed
    most = 100
    if not boots:
        assert without_tests(tree / "labs" / name / "lab.toml", "boot") > 0
        most -= lab.load(name).forgeable

    def solve(one):
        for region in one.regions:
            path, text = tree / region.file, (TOP / region.file).read_text()
            assert build.skeleton_of(region).strip() in path.read_text()
            solution = regions.region_of(text, region.name, region.file)
            path.write_text(regions.replaced(path.read_text(), region.name, solution, region.file))

    for other in lab.names():
        if other != name:
            solve(lab.load(other))
    assert grade(tree, name) == f"0 /{most:>3}"
    solve(lab.load(name))
    assert grade(tree, name) == f"{most} /{most:>3}"
    subprocess.run(["git", "checkout", "-q", "."], cwd=tree, check=True)


def test_nothing_of_the_solutions_is_in_it(tree):
    chosen = [lab.load(name) for name in lab.names()]
    secret = release.solution_lines(chosen, release.committed())
    assert len(secret) > 20 and not release.leaks(tree, secret)
    log = subprocess.run(["git", "log", "--oneline"], cwd=tree, capture_output=True, text=True, check=True).stdout
    assert log.count("\n") == 1
    for withheld in (
        "instructor",
        ".ci",
        "tests/test_grade.py",
        "tests/synthetic.py",
        *(spoiler for one in chosen for spoiler in one.spoilers),
    ):
        assert not (tree / withheld).exists()


def test_a_line_of_a_solution_elsewhere_stops_it(tmp_path, monkeypatch, capsys):
    chosen = [lab.load("home")]
    line = sorted(release.solution_lines(chosen, release.committed()))[0]

    written = release.written

    def with_a_leak(chosen, now, files, folder):
        written(chosen, now, files, folder)
        (folder / "odd.md").write_text(f"so it is:\n    {line}\n")

    monkeypatch.setattr(release, "written", with_a_leak)
    assert release.main([str(tmp_path / "tree"), "--labs", "home"]) == 1
    assert "1 lines of a solution are outside its region" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words, status, said",
    [
        (["", "--labs", "home"], 2, "RELEASE=folder says where"),
        (["{tmp}", "--labs", "home"], 1, "exists"),
        (["{tmp}/a/b", "--labs", "home"], 1, "there is no folder"),
        (["{tmp}/tree", "--labs", "home,odd"], 1, "there is no lab odd"),
    ],
)
def test_what_is_refused(words, status, said, tmp_path, capsys):
    assert release.main([word.format(tmp=tmp_path) for word in words]) == status
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_labs_that_are_there_now_are_of_the_term(tmp_path, capsys):
    """The tree would have the solution of another one."""
    assert release.main([str(tmp_path / "tree"), "--labs", "home", "--now", "paging"]) == 1
    assert "NOW=paging: paging is not in LABS=home" in capsys.readouterr().err and not list(tmp_path.iterdir())


# ---- a term, and labs that come later ----------------------------------------------------------

TERM = 3


@pytest.fixture(scope="module")
def first_week(tmp_path_factory):
    """A tree in which the lab placement is still to come."""
    folder = tmp_path_factory.mktemp("term") / "tree"
    assert release.main([str(folder), "--labs", "home,placement", "--now", "home", "--term", str(TERM)]) == 0
    return folder


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "placement.tar.gz"
    assert update.main([str(path), "--labs", "placement", "--solved", "home", "--term", str(TERM)]) == 0
    return path


def add(tree, archive):
    done = subprocess.run(
        [sys.executable, "-m", "homeroom.course.update", archive],
        cwd=tree,
        text=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(tree / "tools")},
    )
    return done.returncode, done.stdout + done.stderr


def test_a_term_has_handouts_of_its_own(first_week):
    one = lab.load("home")
    text = (first_week / "labs/home/README.md").read_text()
    for parameter in one.parameters:
        assert parameter.sentence(term.values(one, TERM)[parameter.name]) in text
        assert parameter.sentence(parameter.tree) not in text


def test_a_later_lab_comes_with_an_update(first_week, archive):
    home, placement = lab.load("home"), lab.load("placement")
    assert not (first_week / "labs/placement").exists() and not (first_week / "labs/sets").exists()
    for region in placement.regions:
        assert build.skeleton_of(region) in (first_week / region.file).read_text()
    path = first_week / home.regions[0].file
    path.write_text(path.read_text().replace("bit_first(in->cand)", "bit_last(in->cand)"))

    status, said = add(first_week, archive)
    assert status == 0 and "labs/placement: added" in said
    assert "bit_last" in (first_week / "labs/home/mine/home.region").read_text()
    assert regions.region_of(path.read_text(), "home", "home.c") == solution.of_term(home, TERM)["home"]
    assert not release.leaks(first_week, release.solution_lines([placement], release.committed()))
    score, most = grade(first_week, "home", "--test", "process_spreads_above_the_threshold").split("/")
    assert int(score) == int(most) > 0

    before = path.read_text()
    status, said = add(first_week, archive)
    assert status == 1 and "was added before" in said and path.read_text() == before


@pytest.mark.parametrize(
    "data, said",
    [(b"", "is no update"), (b"x" * 5000, "is no update"), (None, "No such file")],
    ids=["empty", "no archive", "none"],
)
def test_a_file_that_is_no_update(data, said, tmp_path, capsys):
    path = tmp_path / "odd.tar.gz"
    if data is not None:
        path.write_bytes(data)
    assert update.main([str(path)]) == 1
    assert said in capsys.readouterr().err


def test_update_without_a_file(capsys):
    assert update.main([""]) == 2
    assert "FILE=archive says which" in capsys.readouterr().err


def test_make_course_does_one_thing(tmp_path):
    command = ["make", "course", f"RELEASE={tmp_path}/a", f"SOLUTION={tmp_path}/b", "LABS=home"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    assert done.returncode == 2 and "give one of RELEASE SOLUTION" in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_update_with_names_outside_labs_is_refused(tmp_path, capsys):
    path = tmp_path / "odd.tar.gz"
    for name in ("labs/../kernel/main.c", "/etc/passwd", "kernel/lgrp/home.c", "labs/home"):
        path.unlink(missing_ok=True)
        update.written(path, {name: b"x"})
        assert update.main([str(path)]) == 1
        assert "is no update: it has" in capsys.readouterr().err


# ---- the worked example of a new lab -----------------------------------------------------------


def test_the_worked_example_of_the_notes(tree):
    """The files of labs/INSTRUCTOR.md make a lab."""
    text = (TOP / "labs/INSTRUCTOR.md").read_text()
    files = re.findall(r'^```\w+ title="(labs/around/[^"]+)"\n(.*?)^```$', text, re.M | re.S)
    assert len(files) == 4
    for name, body in files:
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(body)
    path = tree / "kernel/pages/around.c"
    marked = re.sub(
        r"^struct page_run around_miss.*?^}\n",
        "/* LAB around: begin */\n\\g<0>/* LAB around: end */\n",
        path.read_text(),
        flags=re.M | re.S,
    )
    path.write_text(marked)
    assert grade(tree, "around") == "100 /100"
    path.write_text(regions.replaced(marked, "around", dict(files)["labs/around/around.region"], "around.c"))
    assert grade(tree, "around") == "0 /100"
    subprocess.run(["git", "clean", "-qfd", "labs"], cwd=tree, check=True)
    subprocess.run(["git", "checkout", "-q", "."], cwd=tree, check=True)
