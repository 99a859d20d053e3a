# SPDX-License-Identifier: MIT
"""release.py - a student's tree: the kernel with skeletons in place of the solutions, as a git repository with one commit.

THEORY      All files of the last commit are copied but for WITHHELD.  In the regions of the labs stands the skeleton.  Then
            the result is searched for lines of the solutions: a line of LINE_MIN or more characters, blanks removed, that the
            tree has only inside the regions must be nowhere in it, nor in an object of its repository.  Files that retell a
            solution are left out, if the lab's `spoilers` list them.
            The handouts have the rules of the term (term.py).  The commands of the front page name a lab that the tree has.
USAGE       make course RELEASE=folder LABS=home,frames [NOW=home] [TERM_SEED=7]
EXIT STATUS 0 the folder is there   1 nothing was written, one line says why   2 wrong usage
"""

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from homeroom.course import lab as labs
from homeroom.course import regions, term
from homeroom.course.build import skeleton_of
from homeroom.course.lab import Lab, LabError
from homeroom.machine import TOP

LINE_MIN = 20
# What is for instructors and for the project itself.
WITHHELD = (
    "instructor/",
    "labs/INSTRUCTOR.md",
    ".ci/",
    ".github/",
    ".gitlab-ci.yml",
    ".git-blame-ignore-revs",
    "tests/test_grade.py",
    "tests/test_grade_boot.py",
    "tests/test_course_tools.py",
    "tests/test_sim.py",
    "tests/synthetic.py",
    "tests/test_lab_experiment.py",
    "tests/data/lab_cheats.toml",
)


@dataclass(frozen=True)
class Committed:
    data: bytes
    mode: int


def committed() -> dict[str, Committed]:
    """The files of the last commit, by name."""
    done = subprocess.run(["git", "archive", "--format=tar", "HEAD"], cwd=TOP, capture_output=True)
    if done.returncode != 0:
        raise LabError(f"git archive: {done.stderr.decode(errors='replace').strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        return {member.name: Committed(tar.extractfile(member).read(), member.mode) for member in tar if member.isfile()}


def squeezed(text: str) -> Iterator[str]:
    """The lines that are long enough to be recognised, blanks removed."""
    for line in text.splitlines():
        short = "".join(line.split())
        if len(short) >= LINE_MIN:
            yield short


def solution_lines(chosen: list[Lab], files: dict[str, Committed]) -> set[str]:
    """The lines that the tree has only inside the regions of these labs."""
    mine = {(region.file, region.name) for lab in chosen for region in lab.regions}
    inside: set[str] = set()
    outside: set[str] = set()
    for name, file in files.items():
        text = file.data.decode(errors="replace")
        for region in [region for where, region in mine if where == name]:
            inside |= set(squeezed(regions.region_of(text, region, name)))
            text = regions.replaced(text, region, "", name)
        outside |= set(squeezed(text))
    return inside - outside


def withheld(chosen: list[Lab], now: list[Lab]) -> tuple[str, ...]:
    """How the names begin of files that a student's tree does not have.  `now`: the labs whose folders it has."""
    shown = {lab.name for lab in now}
    folders = (f"labs/{name}/" for name in labs.names() if name not in shown)
    return (*WITHHELD, *folders, *(spoiler for lab in chosen for spoiler in lab.spoilers))


def written(chosen: list[Lab], now: list[Lab], files: dict[str, Committed], folder: Path) -> None:
    """Write the files of the release."""
    absent = withheld(chosen, now)
    for name, file in files.items():
        if name.startswith(absent):
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = file.data
        for region in [region for lab in chosen for region in lab.regions if region.file == name]:
            data = regions.replaced(data.decode(), region.name, skeleton_of(region), name).encode()
        path.write_bytes(data)
        path.chmod(file.mode)


def git(folder: Path, *words: str) -> bytes:
    done = subprocess.run(
        ["git", "-c", "user.name=course", "-c", "user.email=course@localhost", *words], cwd=folder, capture_output=True
    )
    if done.returncode != 0:
        raise LabError(f"git {words[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def leaks(folder: Path, secret: set[str]) -> list[str]:
    """The secret lines that the objects of a repository have, and so its tree."""
    text = git(folder, "cat-file", "--batch-all-objects", "--batch").decode(errors="replace")
    return sorted(secret.intersection(squeezed(text)))


def release(chosen: list[Lab], now: list[Lab], folder: Path, term_seed: int = 0) -> None:
    """Make the release in a folder that does not exist yet: skeletons of all labs that are chosen, and the folders of some.

    LabError if something stands in the way; nothing is left then.
    """
    if folder.exists():
        raise LabError(f"{folder} exists")
    if not folder.parent.is_dir():
        raise LabError(f"there is no folder {folder.parent}")
    files = committed()
    secret = solution_lines(chosen, files)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".release.") as name:
        made = Path(name) / "tree"
        made.mkdir()
        written(chosen, now, files, made)
        for lab in now:
            for file, of_term in (("README.md", term.handout), ("lab.toml", term.fixed)):
                path = made / "labs" / lab.name / file
                path.write_text(of_term(lab, path.read_text(), term_seed))
        if "home" not in [lab.name for lab in now]:
            readme = made / "README.md"
            readme.write_text(readme.read_text().replace("LAB=home", f"LAB={now[0].name}"))
        git(made, "init", "-q", "-b", "main")
        git(made, "add", "-A", "-f")
        git(made, "commit", "-q", "-m", f"course: begin with {', '.join(lab.name for lab in chosen)}")
        if found := leaks(made, secret):
            raise LabError(f"{len(found)} lines of a solution are outside its region, the first is: {found[0]}")
        made.rename(folder)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="course", description="Make a student's tree.")
    parser.add_argument("folder", help="where to make it; must not exist")
    parser.add_argument("--labs", required=True, help="the labs of the term, with commas between them")
    parser.add_argument("--now", help="the labs whose folders it has; the others come later, with an update (update.py)")
    parser.add_argument("--term", type=labs.number, default=0, help="the term's seed; 0: the rules of this tree")
    args = parser.parse_args(argv)
    if not args.folder:
        print("course: RELEASE=folder says where to make the student's tree", file=sys.stderr)
        return 2
    try:
        chosen = labs.chosen(args.labs)
        now = labs.chosen(args.now) if args.now else chosen
        if other := [lab.name for lab in now if lab not in chosen]:
            raise LabError(f"NOW={args.now}: {other[0]} is not in LABS={args.labs}, so the tree would have its solution")
        release(chosen, now, Path(args.folder).absolute(), args.term)
    except (LabError, regions.RegionError, ValueError) as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    asked = [lab.name for lab in now]
    print(f"{args.folder}: {', '.join(asked)}; make grade LAB={asked[0]} gives 0 points there")
    return 0


if __name__ == "__main__":
    labs.command("course", main)
