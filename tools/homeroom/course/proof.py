# SPDX-License-Identifier: MIT
"""proof.py - what each lab must give: skeleton, solution, wrong answers, terms.

THEORY      A row is a submission of a lab with what the grader must say of it:

            skeleton      no points
            solution      all points; with the part beyond, these too
            mistake       all tests pass but those that it lists, and boot tests that need one of these
            term N        under the term's seed N: the solution of that term has all points, the tree's at most TREE_MAX, that
                          of the next term not all, the skeleton none
            Rows that held are kept in build/labs-proof, by a hash of the tree's files, so that a run that was stopped goes on.
USAGE       make labs-proof [LAB=name]: all rows; tests/test_grade.py has some of them
EXIT STATUS 0 each row holds   1 some do not, or could not be graded
"""

import argparse
import contextlib
import hashlib
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from homeroom.course import experiment, grade, solution, term
from homeroom.course import lab as labs
from homeroom.course.build import skeleton_of
from homeroom.course.lab import Lab, LabError
from homeroom.course.solution import Texts
from homeroom.machine import TOP

TERMS = range(1, 11)
TREE_MAX = 60  # points of the tree's solution in a term
KEPT = TOP / "build/labs-proof"


@dataclass(frozen=True)
class Result:
    points: int
    failed: frozenset[str]  # tests; without those beyond, which count as open
    said: str = field(default="", compare=False)  # what the grader said of these

    def __str__(self) -> str:
        return f"{self.points} points" + (f", fails {', '.join(sorted(self.failed))}" if self.failed else "")


@dataclass(frozen=True)
class Row:
    lab: Lab
    name: str
    texts: Texts
    wanted: str  # in words
    holds: Callable[[Result], bool]
    term: int = 0


def rows(lab: Lab) -> Iterator[Row]:
    """All rows of a lab.  LabError if an edit of its instructor's files does not fit."""
    skeleton = {region.name: skeleton_of(region) for region in lab.regions} or experiment.skeleton()
    all_points = 100 - lab.rubric
    tree = solution.tree(lab)
    yield Row(lab, "skeleton", skeleton, "0 points", lambda r: r.points == 0)
    yield Row(lab, "solution", tree, f"{all_points} points", lambda r: r.points == all_points)
    extra = sum(test.points for test in lab.tests if test.beyond)
    if extra:
        yield Row(lab, "beyond", solution.beyond(lab, tree), f"{100 + extra} points", lambda r: r.points == 100 + extra)
    for title, (texts, fails) in solution.mistakes(lab).items():
        fails = set(fails).union(test.name for test in lab.tests if test.boot and set(fails).intersection(lab.needed(test)))
        wanted = f"fails {', '.join(sorted(fails))}"
        yield Row(lab, f"mistake: {title}", texts, wanted, lambda r, fails=fails: r.failed == fails)
    for seed in TERMS if lab.parameters else ():
        other = next(n for n in range(seed + 1, seed + 99) if term.values(lab, n) != term.values(lab, seed))
        for name, texts, wanted, holds in (
            ("solution", solution.of_term(lab, seed), "100 points", lambda r: r.points == 100),
            ("the tree's solution", tree, f"at most {TREE_MAX} points", lambda r: r.points <= TREE_MAX),
            (f"the solution of {other}", solution.of_term(lab, other), "less than 100 points", lambda r: r.points < 100),
            ("skeleton", skeleton, "0 points", lambda r: r.points == 0),
        ):
            yield Row(lab, f"term {seed}: {name}", texts, wanted, holds, seed)


def graded(row: Row, seed: int) -> Result:
    """What the grader says.  LabError if it grades nothing."""
    with tempfile.TemporaryDirectory() as folder:
        files = solution.written(row.lab, row.texts, Path(folder))
        words = [word for file in files for word in ("--file", str(file))]
        with contextlib.redirect_stdout(io.StringIO()):
            status = grade.main([row.lab.name, "--term", str(row.term), "--seed", str(seed), *words])
    if status > 1:
        raise LabError(f"{row.lab.name}, {row.name}: not graded")
    tests = json.loads((TOP / "build/grade" / row.lab.name / "results.json").read_text())["tests"]
    failed = [test for test in tests if test["status"] == "failed" and test["max_score"]]
    said = "".join(f"  {test['number']}:\n{test['output']}\n" for test in failed)
    return Result(sum(test["score"] for test in tests), frozenset(test["number"] for test in failed), said)


def tree_hash() -> str:
    """Of the files that git knows, as they are now."""
    known = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True).stdout.decode().split("\0")
    sums = [hashlib.sha256((TOP / name).read_bytes()).digest() for name in known if (TOP / name).is_file()]
    return hashlib.sha256(repr(known).encode() + b"".join(sums)).hexdigest()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="labs-proof", description="Grade what each lab must give.")
    parser.add_argument("labs", help="names with commas between them; empty: all")
    parser.add_argument("--seed", type=labs.number, default=1, help="of the tests' numbers (1)")
    args = parser.parse_args(argv)
    kept = KEPT / f"{tree_hash()}.{args.seed}"
    try:
        chosen = labs.chosen(args.labs or ",".join(labs.names()))
        kept.parent.mkdir(parents=True, exist_ok=True)
        held = set(kept.read_text().splitlines()) if kept.exists() else set()
        deviations = 0
        for lab in chosen:
            for row in rows(lab):
                key = f"{lab.name}: {row.name}"
                if key not in held:
                    result = graded(row, args.seed)
                    if row.holds(result):
                        with kept.open("a") as file:
                            file.write(f"{key}\n")
                    else:
                        deviations += 1
                        print(f"{key}: wanted {row.wanted}; found {result}\n{result.said}", flush=True)
                        continue
                print(f"{key}: {row.wanted}", flush=True)
    except LabError as error:
        print(f"labs-proof: {error}", file=sys.stderr)
        return 1
    print(f"labs-proof: {deviations} deviations, seed {args.seed}")
    return 1 if deviations else 0


if __name__ == "__main__":
    labs.command("labs-proof", main)
