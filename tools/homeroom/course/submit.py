# SPDX-License-Identifier: MIT
"""submit.py - what a student hands in: build/submit/LAB.zip.

THEORY      The file holds the kernel's files with the regions, by their paths; the student's answers (the file ANSWERS below
            labs/NAME/, which is made from the handout's questions if it is missing); the hours, points and the term's seed;
            and the log of the tests.
            A submission that does not compile is refused: the grader would use the skeleton in its place.
EXIT STATUS 0 the file is there   1 it is not   2 wrong usage   3 the grader failed
"""

import argparse
import re
import sys
import tempfile
import zipfile
from pathlib import Path

from homeroom.course import lab as labs
from homeroom.course import one
from homeroom.course.build import Builder, Submission, in_place, submitted
from homeroom.course.grade import EXIT_FAILED, EXIT_HARNESS, EXIT_USAGE, points
from homeroom.course.lab import Lab, LabError
from homeroom.course.sandbox import SandboxError
from homeroom.machine import TOP

HOURS_MAX = 1000
ANSWERS = "answers.md"


def hours_of(text: str) -> float:
    """ValueError if the text is no time."""
    hours = float(text)
    if not 0 <= hours <= HOURS_MAX:
        raise ValueError(text)
    return hours


def questions(handout: str) -> list[str]:
    """The list in the handout's section of questions."""
    section = re.search(r"^## Questions.*?\n(.*?)(?=^## |\Z)", handout, re.M | re.S)
    return [" ".join(text.split()) for text in re.split(r"^- ", section[1], flags=re.M)[1:]] if section else []


def answers(lab: Lab) -> Path:
    """The file with the student's answers, made if it is missing.  Says how many questions have no text below them."""
    path = lab.folder / ANSWERS
    if not path.exists():
        asked = questions((lab.folder / "README.md").read_text())
        path.write_text(f"# {lab.title}: answers\n" + "".join(f"\n## {question}\n\n" for question in asked))
    below = re.split(r"^## .*$", path.read_text(errors="replace"), flags=re.M)[1:]
    if empty := sum(not text.strip() for text in below):
        print(f"submit: labs/{lab.name}/{ANSWERS}: {empty} of {len(below)} questions have no answer; write it, and repeat this")
    return path


def faults(lab: Lab, submission: Submission) -> list[str]:
    """Why what stands in this tree cannot be graded."""
    if lab.files:
        return submission.faults
    place = TOP / "build" / "grade"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as name:
        return submission.faults or Builder(lab, Path(name)).build(submission.texts)


def bundled(lab: Lab, hours: float, results: dict, archive: Path) -> None:
    score, most = points(results["tests"])
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as made:
        for path in in_place(lab):
            made.write(path, path.relative_to(TOP))
        if not lab.files:
            made.write(answers(lab), ANSWERS)
        made.writestr(
            "submission.toml",
            f'lab = "{lab.name}"\nhours = {hours:g}\npoints = {score}\nof = {most}\n',
        )
        made.writestr("grade.log", one.feedback(lab, results))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="submit", description="Make the file that a student hands in.")
    parser.add_argument("lab")
    parser.add_argument("--hours", help="the time that the student has spent")
    args = parser.parse_args(argv)
    if args.lab not in labs.names():
        print(f"submit: LAB={args.lab}: there is no such lab; there are: {', '.join(labs.names())}", file=sys.stderr)
        return EXIT_USAGE
    try:
        hours = hours_of(input("Hours that you have spent on it: ") if args.hours is None else args.hours)
    except (ValueError, EOFError):
        print("submit: TIME= is the hours that you have spent, a number such as TIME=7.5", file=sys.stderr)
        return EXIT_USAGE
    try:
        lab = labs.load(args.lab)
        submission = submitted(lab, in_place(lab))
        if wrong := faults(lab, submission):
            print("submit: refused, nothing was written:", *wrong, sep="\n", file=sys.stderr)
            return EXIT_FAILED
        results = one.graded(lab, submission, 1, 0)
        archive = TOP / "build" / "submit" / f"{lab.name}.zip"
        archive.parent.mkdir(parents=True, exist_ok=True)
        bundled(lab, hours, results, archive)
    except (LabError, SandboxError, OSError) as error:
        print(f"submit: the grader failed, nothing was written: {error}", file=sys.stderr)
        return EXIT_HARNESS
    score, most = points(results["tests"])
    print(f"{archive.relative_to(TOP)}: {score} of {most} points")
    return 0


if __name__ == "__main__":
    labs.command("submit", main)
