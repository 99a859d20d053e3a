# SPDX-License-Identifier: MIT
"""one.py - grade one submission, and write results.json as Gradescope reads it.

THEORY      All that grades for an instructor uses this: run_autograder in labs/hosting/, and so Gradescope, the container,
            GitHub Classroom and GitLab; regrade.py.  It works in a folder of its own, so that several can run at a time.
EXIT STATUS 0 graded, whatever the points   2 wrong usage   other: not graded, there is no results.json
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from homeroom.course import handed
from homeroom.course import lab as labs
from homeroom.course.build import Submission, submitted
from homeroom.course.grade import EXIT_HARNESS, EXIT_USAGE, grader_of, points
from homeroom.course.lab import Lab, LabError
from homeroom.course.sandbox import SandboxError
from homeroom.machine import TOP


def graded(lab: Lab, submission: Submission, seed: int, term_seed: int) -> dict:
    """The results of a submission.  LabError, SandboxError or OSError if the harness has failed."""
    began = time.monotonic()
    place = TOP / "build" / "grade"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix=f"{lab.name}.") as name:
        grader = grader_of(lab)(lab, submission, seed, term_seed, Path(name))
        return grader.results(list(grader.grade(None)), time.monotonic() - began)


def handed_in(lab: Lab, path: Path) -> Submission:
    """What a student has handed in."""
    with tempfile.TemporaryDirectory() as name:
        files, notes = handed.copied(lab, path, Path(name))
        submission = submitted(lab, files)
    return Submission(submission.texts, submission.faults, [*notes, *submission.notes])


def feedback(lab: Lab, results: dict) -> str:
    """What the student reads."""
    score, most = points(results["tests"])
    lines = [f"Lab {lab.name}: {score} of {most} points", *results["output"].splitlines()]
    for test in results["tests"]:
        lines.append(f"{test['score']:>4} /{test['max_score']:>3}  {test['status']:<7} {test['name']}")
        if test["status"] == "failed":
            log = test["output"].replace("".join(f"{fault}\n" for fault in results["extra_data"]["faults"]), "")
            lines += [f"             {line}" for line in log.splitlines()[1:]]
    return "\n".join(lines) + "\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="one", description="Grade one submission.")
    parser.add_argument("lab")
    parser.add_argument("submission", type=Path, help="a folder, a .zip, or a file with the regions")
    parser.add_argument("results", type=Path, help="the results.json to write")
    parser.add_argument("--seed", type=labs.number, default=1, help="of the numbers in the tests")
    parser.add_argument("--term", type=labs.number, default=0, help="the term's seed")
    args = parser.parse_args(argv)
    if args.lab not in labs.names() or not args.submission.exists():
        print(f"one: there is no lab {args.lab}, or no {args.submission}", file=sys.stderr)
        return EXIT_USAGE
    args.results.unlink(missing_ok=True)
    try:
        lab = labs.load(args.lab)
        results = graded(lab, handed_in(lab, args.submission), args.seed, args.term)
        part = args.results.with_suffix(".part")
        part.write_text(json.dumps(results, indent=1) + "\n")
        part.rename(args.results)
    except (LabError, SandboxError, OSError) as error:
        print(f"the grader failed, nothing was graded: {error}", file=sys.stderr)
        return EXIT_HARNESS
    print(feedback(lab, results), end="")
    return 0


if __name__ == "__main__":
    labs.command("grade", main)
