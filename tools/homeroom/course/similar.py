# SPDX-License-Identifier: MIT
"""similar.py - compare the submissions of a lab with each other.

THEORY      Only the text of the regions is compared, by copydetect: it has names, comments and layout out of the way, and
            takes the sequences of K characters that are left as fingerprints (winnowing, as MOSS does).  Fingerprints of the
            skeleton do not count.  The measure of a pair is how many fingerprints of the text that has fewer are in the other
            one, too, in percent.  It says where to look; a person has to judge: a short lab has few good solutions.
USAGE       make course SIMILAR=folder LAB=home
FILES       build/similar/LAB.csv has all pairs, most similar first
NEEDS       requirements-similar.txt (tools/deps.sh similar)
EXIT STATUS 0 compared   2 wrong usage   3 the lab's definition is wrong
"""

import argparse
import csv
import io
import itertools
import sys
from pathlib import Path

from copydetect import CodeFingerprint

from homeroom.course import lab as labs
from homeroom.course import one
from homeroom.course.build import skeleton_of
from homeroom.course.lab import Lab, LabError
from homeroom.course.regrade import students
from homeroom.machine import TOP

K = 25  # copydetect's default: characters, a name being one
SHOWN = 20  # pairs


def fingerprints(text: str, base: set[int]) -> set[int]:
    """Of a text without those of `base`.  A window of 1 takes all, so that the measure does not depend on Python's hashes."""
    return {int(n) for n in CodeFingerprint("region", K, 1, language="c", fp=io.StringIO(text)).hashes} - base


def pairs(lab: Lab, folder: Path) -> list[tuple[float, int, str, str]]:
    """All pairs of students with the measure and the number of common fingerprints, most similar first."""
    base = fingerprints("\n".join(skeleton_of(region) for region in lab.regions), set())
    prints = {}
    for student, path in students(folder).items():
        texts = one.handed_in(lab, path).texts
        text = "\n".join(texts[region.name] for region in lab.regions if region.name in texts)
        prints[student] = fingerprints(text, base)
    found = []
    for (student, mine), (other, others) in itertools.combinations(prints.items(), 2):
        common = len(mine & others)
        found.append((round(100 * common / max(1, min(len(mine), len(others))), 1), common, student, other))
    return sorted(found, key=lambda pair: (-pair[0], -pair[1], *pair[2:]))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="course", description="Compare submissions.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lab", required=True)
    args = parser.parse_args(argv)
    if args.lab not in labs.names() or not args.folder.is_dir():
        print(f"course: SIMILAR={args.folder} must be a folder, and LAB={args.lab} a lab", file=sys.stderr)
        return 2
    try:
        found = pairs(labs.load(args.lab), args.folder)
    except LabError as error:
        print(f"course: {error}", file=sys.stderr)
        return 3
    table = TOP / "build" / "similar" / f"{args.lab}.csv"
    table.parent.mkdir(parents=True, exist_ok=True)
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([("percent", "common", "student", "other"), *found])
    for percent, _, student, other in found[:SHOWN]:
        print(f"{percent:5.1f} %  {student}  {other}")
    print(f"{table.relative_to(TOP)}: {len(found)} pairs")
    return 0


if __name__ == "__main__":
    labs.command("course", main)
