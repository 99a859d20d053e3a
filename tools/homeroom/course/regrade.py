# SPDX-License-Identifier: MIT
"""regrade.py - grade a folder of submissions: a table (CSV), and a feedback file for each student.

THEORY      Each file or folder in the folder is the submission of a student, and its name that of the student.  As many
            submissions are graded at a time as this process has CPUs, each by a process of its own (one.py).
            Results are kept beside the table, in the folder that has its name without .csv: STUDENT.json, and STUDENT.txt to
            hand out.  STUDENT.json holds a digest of the submission and of all that it was graded with.  What has the
            digest still is not graded again, so that a run that was stopped goes on, and a change of the tests regrades.
            If the harness fails, the row has no points, but says so; the next run tries again.
USAGE       make course REGRADE=folder LAB=home CSV=grades.csv
EXIT STATUS 0 all are graded   1 stopped   2 wrong usage   3 the harness failed for some
"""

import argparse
import contextlib
import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from homeroom.course import handed, one, proof
from homeroom.course import lab as labs
from homeroom.course.grade import EXIT_FAILED, EXIT_HARNESS, EXIT_USAGE, points
from homeroom.course.lab import Lab
from homeroom.machine import TOP

WALL_LIMIT = 3600  # seconds for one submission; all that it does has lower limits of its own


def students(folder: Path) -> dict[str, Path]:
    """By the name of the student: what was handed in.  The name has no suffix, unless two names would be equal."""
    there = [path for path in sorted(folder.iterdir()) if not handed.hidden(path.name)]
    students = {path.stem if path.is_file() else path.name: path for path in there}
    return students if len(students) == len(there) else {path.name: path for path in there}


def digest_of(lab: Lab, path: Path, rest: str) -> str:
    """Of a submission, and of `rest`."""
    with tempfile.TemporaryDirectory() as name:
        files, notes = handed.copied(lab, path, Path(name))
        data = [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]
    return hashlib.sha256(repr([rest, data, notes]).encode()).hexdigest()


def sentence(results: dict) -> str:
    """What was wrong with a submission; nothing if it has full points."""
    odd = [*results["extra_data"]["faults"], *results["extra_data"]["notes"]]
    if odd:
        first, *rest = odd[0].splitlines()
        error = next((line.strip() for line in rest if "error:" in line), "")
        return f"{first} {error}".strip()
    failed = [test["number"] for test in results["tests"] if test["status"] == "failed" and test["max_score"]]
    return f"{len(failed)} tests failed, the first is {failed[0]}" if failed else ""


class Course:
    """The submissions of one lab, and where their results are kept."""

    def __init__(self, lab: Lab, table: Path, seed: int, term_seed: int) -> None:
        self._lab, self._table, self._kept = lab, table, table.with_suffix("")
        self._words = ["--seed", str(seed), "--term", str(term_seed)]
        self._with = f"{proof.tree_hash()} {self._words}"
        self._kept.mkdir(exist_ok=True)

    def grade(self, student: str, path: Path) -> dict | str:
        """The results of a student, or what was wrong with the harness."""
        try:
            return self._graded(student, path)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{error}: grade again"

    def _graded(self, student: str, path: Path) -> dict | str:
        file = self._kept / f"{student}.json"
        digest = digest_of(self._lab, path, self._with)
        if file.exists():
            with contextlib.suppress(ValueError, KeyError, TypeError):  # damaged
                results = json.loads(file.read_text())
                if results["extra_data"]["digest"] == digest:
                    return results
            file.unlink()
        made = self._kept / f"{student}.results"
        command = [sys.executable, "-m", "homeroom.course.one", self._lab.name, path.absolute(), made.absolute(), *self._words]
        done = subprocess.run(
            command,
            cwd=TOP,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=WALL_LIMIT,
            start_new_session=True,  # a key that stops this process lets the others end
            env={**os.environ, "PYTHONPATH": str(TOP / "tools")},
        )
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or [f"the grader ended with status {done.returncode}"])[-1]
        results = json.loads(made.read_text())
        results["extra_data"]["digest"] = digest
        made.unlink()
        (self._kept / f"{student}.txt").write_text(one.feedback(self._lab, results))
        part = self._kept / f"{student}.part"
        part.write_text(json.dumps(results, indent=1) + "\n")
        part.rename(file)
        return results

    def write(self, found: dict[str, dict | str]) -> None:
        """Write the table."""
        tests = [test.name for test in self._lab.tests]
        part = self._table.with_suffix(".part")
        with part.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["student", "points", *tests, "wrong"])
            for student, results in sorted(found.items()):
                if isinstance(results, str):
                    rows.writerow([student, "", *("" for _ in tests), f"not graded: {results}"])
                else:
                    scores = {test["number"]: test["score"] for test in results["tests"]}
                    rows.writerow([student, points(results["tests"])[0], *(scores[test] for test in tests), sentence(results)])
        part.rename(self._table)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="course", description="Grade a folder of submissions.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lab", required=True)
    parser.add_argument("--csv", required=True, help="the table to write")
    parser.add_argument("--seed", type=labs.number, help="of the tests' numbers: one that students do not know")
    parser.add_argument("--term", type=labs.number, default=0, help="the term's seed")
    args = parser.parse_args(argv)
    table = Path(args.csv)
    if args.lab not in labs.names():
        print(f"course: LAB={args.lab}: there is no such lab; there are: {', '.join(labs.names())}", file=sys.stderr)
        return EXIT_USAGE
    if not args.folder.is_dir() or table.suffix != ".csv" or table.is_dir() or not table.parent.is_dir():
        print(f"course: REGRADE={args.folder} must be a folder, and CSV={table} a file .csv in one", file=sys.stderr)
        return EXIT_USAGE
    if args.seed is None:
        print("course: SEED= is missing, of the numbers in the tests: choose one that students do not know", file=sys.stderr)
        return 2
    try:
        course = Course(labs.load(args.lab), table, args.seed, args.term)
        there = students(args.folder)
    except (labs.LabError, OSError, subprocess.SubprocessError) as error:
        print(f"course: {error}", file=sys.stderr)
        return EXIT_HARNESS
    found: dict[str, dict | str] = {}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        try:
            jobs = {pool.submit(course.grade, student, path): student for student, path in there.items()}
            for job in as_completed(jobs):
                results = found[jobs[job]] = job.result()
                said = f"not graded: {results}" if isinstance(results, str) else f"{points(results['tests'])[0]} points"
                print(f"{jobs[job]}: {said}", flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            left = sum(job.cancelled() for job in jobs)
            print(f"course: stopped; the same command goes on, {left} are left", file=sys.stderr)
            return EXIT_FAILED
    course.write(found)
    lost = sum(isinstance(results, str) for results in found.values())
    print(f"{table}: {len(found)} submissions, {lost} of them not graded; feedback in {table.with_suffix('')}/")
    return EXIT_HARNESS if lost else 0


if __name__ == "__main__":
    labs.command("course", main)
