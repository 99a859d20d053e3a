# SPDX-License-Identifier: MIT
"""update.py - a later lab of the term: an archive that an instructor makes, and that students add to their tree.

THEORY      A release has the skeletons of all labs of the term in the kernel, but may come without the folders of later labs.
            An update brings such folders, with the handouts of the term.  It may also bring solutions of earlier labs, so that
            a student who has not solved one can go on: they take the place of the student's text, which is kept in
            a folder `mine` of the lab.
            The archive is a tar file with labs/NAME/... and solved/REGION.
USAGE       make course UPDATE=placement.tar.gz LABS=placement [SOLVED=home] TERM_SEED=7
            make update FILE=placement.tar.gz, in a student's tree
EXIT STATUS 0 done   1 nothing was written, one line says why   2 wrong usage   3 stopped by a key, or an error of this host
"""

import argparse
import io
import re
import sys
import tarfile
import zlib
from pathlib import Path

from homeroom.course import lab as labs
from homeroom.course import regions, release, solution, term
from homeroom.course.lab import Lab, LabError
from homeroom.machine import TOP

MEMBER = re.compile(r"labs/[\w-]+/(?:[\w-]+/)*[\w.-]+|solved/[\w-]+")


def made(chosen: list[Lab], solved: list[Lab], seed: int) -> dict[str, bytes]:
    """The files of an update."""
    committed = release.committed()
    absent = release.withheld(chosen, chosen)
    files = {}
    for lab in chosen:
        for name, file in committed.items():
            if name.startswith(f"labs/{lab.name}/") and not name.startswith(absent):
                files[name] = file.data
        for file, of_term in (("README.md", term.handout), ("lab.toml", term.fixed)):
            name = f"labs/{lab.name}/{file}"
            files[name] = of_term(lab, files[name].decode(), seed).encode()
    secret = release.solution_lines([lab for lab in chosen if lab not in solved], committed)
    if leaked := secret.intersection(release.squeezed(b"\n".join(files.values()).decode(errors="replace"))):
        raise LabError(f"the update would have lines of a solution, the first is: {min(leaked)}")
    for lab in solved:
        if lab.files:
            raise LabError(f"SOLVED={lab.name}: no later lab needs a solution of it")
        files |= {f"solved/{region}": text.encode() for region, text in solution.of_term(lab, seed).items()}
    return files


def written(path: Path, files: dict[str, bytes]) -> None:
    """Write an update.  LabError if the file exists."""
    try:
        with path.open("xb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
            for name, data in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None


def read(path: Path) -> dict[str, bytes]:
    """The files of an update.  LabError if it is none."""
    try:
        with tarfile.open(path) as tar:
            files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise LabError(f"{path} is no update: {error}") from None
    for name in files:
        if not MEMBER.fullmatch(name):
            raise LabError(f"{path} is no update: it has {name}")
    return files


def applied(files: dict[str, bytes]) -> None:
    """Add an update to this tree, and say what was done.  LabError, before anything is written, if it does not fit."""
    new: dict[Path, str] = {}
    mine: dict[Path, str] = {}
    where = {region.name: (lab, region) for lab in map(labs.load, labs.names()) for region in lab.regions}
    for name in sorted(files):
        folder, _, rest = name.partition("/")
        if folder == "labs":
            if (TOP / name).exists() and (TOP / name).read_bytes() != files[name]:
                raise LabError(f"{name} exists, and differs from the update's")
            continue
        if rest not in where:
            raise LabError(f"the update has a solution of {rest}, which this tree does not have")
        lab, region = where[rest]
        path = TOP / region.file
        text = new.get(path) or path.read_text()
        mine[lab.folder / "mine" / f"{rest}.region"] = regions.region_of(text, rest, region.file)
        new[path] = regions.replaced(text, rest, files[name].decode(), region.file)
    for path in mine:
        if path.exists():
            raise LabError(f"{path.relative_to(TOP)} exists: this update was added before")
    for name in (name for name in files if name.startswith("labs/")):
        (TOP / name).parent.mkdir(parents=True, exist_ok=True)
        (TOP / name).write_bytes(files[name])
    for path, text in mine.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(f"{path.relative_to(TOP)}: what you had written")
    for path, text in new.items():
        path.write_text(text)
        print(f"{path.relative_to(TOP)}: has the solution now")
    for folder in sorted({"/".join(name.split("/")[:2]) for name in files if name.startswith("labs/")}):
        print(f"{folder}: added")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="update", description="Make an update of a student's tree, or add one to this tree.")
    parser.add_argument("file")
    parser.add_argument("--labs", help="make an update with these labs")
    parser.add_argument("--solved", help="and with the solutions of these")
    parser.add_argument("--term", type=labs.number, default=0, help="the term's seed")
    args = parser.parse_args(argv)
    if not args.file:
        print("update: FILE=archive says which update", file=sys.stderr)
        return 2
    try:
        if args.labs is None:
            applied(read(Path(args.file)))
        else:
            solved = labs.chosen(args.solved) if args.solved else []
            written(Path(args.file), made(labs.chosen(args.labs), solved, args.term))
            print(f"{args.file}: {args.labs}" + (f", and the solutions of {args.solved}" if solved else ""))
    except (LabError, regions.RegionError, ValueError) as error:
        print(f"update: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    labs.command("update", main)
