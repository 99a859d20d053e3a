# SPDX-License-Identifier: MIT
"""autograder.py - an archive that grades one lab: on Gradescope, in a container, on GitHub Classroom and on GitLab.

THEORY      The archive has the files of labs/hosting/ and, in tree/, those of the last commit that grading needs.  The regions
            of the lab have the skeleton there: no solution of the lab is where submissions are graded.
USAGE       make course AUTOGRADER=home.zip LAB=home [TERM_SEED=7] [SEED=3]
EXIT STATUS 0 the archive is there   1 it is not, one line says why   2 wrong usage
"""

import argparse
import sys
import tempfile
import zipfile
from pathlib import Path

from homeroom.course import lab as labs
from homeroom.course import regions, release, term
from homeroom.course.lab import Lab, LabError

HOSTING = "labs/hosting/"
NOT_NEEDED = ("docs/", "tests/")
NEEDED = "tests/host/"  # all the same


def prepared(lab: Lab) -> tuple[str, str]:
    """What an image is made with: groups of tools/deps.txt, and goals of the Makefile."""
    if lab.files:  # experiment.py
        return "grade run", "iso fireplane"
    if any(test.boot for test in lab.tests):
        return "grade", "lab-objects"
    return "grade", f"lab-recipe-{lab.host}"


def archived(lab: Lab, seed: int, term_seed: int, folder: Path) -> None:
    """Write the files of the archive."""
    files = release.committed()
    groups, goals = prepared(lab)
    marks = {"@LAB@": lab.name, "@SEED@": str(seed), "@GROUPS@": groups, "@GOALS@": goals}
    for name in [name for name in files if name.startswith(HOSTING)]:
        text = files[name].data.decode()
        for mark, value in marks.items():
            text = text.replace(mark, value)
        path = folder / name.removeprefix(HOSTING)
        path.write_text(text)
        path.chmod(files[name].mode)
    needed = {name: files[name] for name in files if name.startswith(NEEDED) or not name.startswith(NOT_NEEDED)}
    release.written([lab], [lab], needed, folder / "tree")
    path = folder / "tree/labs" / lab.name / "lab.toml"
    path.write_text(term.fixed(lab, path.read_text(), term_seed))


def zipped(folder: Path, archive: Path) -> None:
    """Make a .zip of a folder's files, with their modes, which zipfile keeps, and without their times."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(str(path.relative_to(folder)))
            info.external_attr = path.stat().st_mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(info, path.read_bytes())


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="course", description="Make an archive that grades a lab.")
    parser.add_argument("archive", type=Path)
    parser.add_argument("--lab", required=True)
    parser.add_argument("--seed", type=labs.number, help="of the tests' numbers: one that students do not know")
    parser.add_argument("--term", type=labs.number, default=0, help="the term's seed; 0: the rules of this tree")
    args = parser.parse_args(argv)
    if args.lab not in labs.names():
        print(f"course: LAB={args.lab}: there is no such lab; there are: {', '.join(labs.names())}", file=sys.stderr)
        return 2
    if args.archive.suffix != ".zip" or not args.archive.parent.is_dir() or args.archive.exists():
        print(f"course: AUTOGRADER={args.archive} must be a new file .zip in a folder that exists", file=sys.stderr)
        return 2
    if args.seed is None:
        print("course: SEED= is missing, of the numbers in the tests: choose one that students do not know", file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory() as name:
            archived(labs.load(args.lab), args.seed, args.term, Path(name))
            zipped(Path(name), args.archive)
    except (LabError, regions.RegionError, OSError) as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    print(f"{args.archive}: upload it to Gradescope as the autograder of {args.lab}, or unpack it and see its Containerfile")
    return 0


if __name__ == "__main__":
    labs.command("course", main)
