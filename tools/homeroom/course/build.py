# SPDX-License-Identifier: MIT
"""build.py - the program that holds a student's code.

THEORY      All files come from this tree, but for the regions, which come from the submission.  The student's objects are
            checked before they are linked (objects.py).  A region that is missing or refused, and a file that does not
            compile, is replaced by the skeleton, so that the rest of a submission is graded.
            Trusted objects are kept in build/grade/objects, by a hash of all that they are made from.
"""

import hashlib
import os
import resource
import shlex
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from homeroom.course import lab as labs
from homeroom.course import objects, regions
from homeroom.course.lab import Lab, LabError, Region
from homeroom.course.sandbox import limit
from homeroom.machine import TOP

COMPILE_LIMIT = 120  # seconds
COMPILER_CPU, COMPILER_MEMORY, COMPILER_FILE = 20, 2 << 30, 64 << 20  # seconds of the CPU, bytes, bytes of what it writes
SAID_MAX = 20000  # characters of what it says


def limit_compiler() -> None:
    """What a compiler of a student's text may use."""
    limit(resource.RLIMIT_CPU, COMPILER_CPU)
    limit(resource.RLIMIT_AS, COMPILER_MEMORY)
    limit(resource.RLIMIT_FSIZE, COMPILER_FILE)


@dataclass
class Submission:
    """The text of each region that can be used, or of each file of a lab without regions.

    As sentences: what is wrong with the others, and what is not graded.
    """

    texts: dict[str, str]
    faults: list[str]
    notes: list[str]


def skeleton_of(region: Region) -> str:
    return (TOP / region.skeleton).read_text()


def submitted(lab: Lab, files: list[Path]) -> Submission:
    """The regions of the files that were handed in."""
    texts, faults, notes = {}, [], []
    for region in lab.regions:
        missing = []
        for path in files:
            try:
                text = regions.read(path)
                part = regions.region_of(text, region.name, path.name)
            except (OSError, regions.RegionError) as error:
                missing.append(str(error))
                continue
            refused = list(regions.refusals(part))
            faults += [f"{path.name}, region {region.name}: {why}" for why in refused]
            if not refused:
                texts[region.name] = part
            trusted = (TOP / region.file).read_text()
            if regions.outside(text, path.name) != regions.outside(trusted, region.file):
                notes.append(f"{path.name} differs from {region.file} outside its regions; that is not graded")
            break
        else:
            faults += missing or [f"there is no file {Path(region.file).name}, and no other one with the region {region.name}"]
    for name in (Path(file).name for file in lab.files):
        try:
            texts[name] = regions.read(next(path for path in files if path.name == name))
        except StopIteration:
            faults.append(f"there is no file {name}")
        except (OSError, regions.RegionError) as error:
            faults.append(str(error))
    return Submission(texts, list(dict.fromkeys(faults)), list(dict.fromkeys(notes)))


def in_place(lab: Lab) -> list[Path]:
    """The files of this tree that would be handed in."""
    return [TOP / file for file in lab.sources if (TOP / file).exists()]


class Builder:
    """Builds the test program of a lab in a folder."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab, self._folder = lab, folder
        self.program = folder / "program"
        self.replaced: set[str] = set()  # files that build() has replaced by their skeletons
        recipe = f"lab-recipe-{lab.host}"
        status, text = self._run(["make", "-s", "--no-print-directory", recipe])
        lines = text.splitlines()
        if status != 0 or len(lines) != 3:
            raise LabError(f"make {recipe} failed:\n{text}")
        headers = sorted(
            [*TOP.glob("kernel/**/*.h"), *TOP.glob("include/**/*.h"), *TOP.glob("tests/host/*.h"), *TOP.glob("labs/**/*.h")]
        )
        self._headers = b"".join(path.read_bytes() for path in headers)
        self._compiler, self._flags, self._sources = lines[0].split(), shlex.split(lines[1]), lines[2].split()
        for region in lab.regions:
            if region.file not in self._sources:
                raise LabError(f"labs/{lab.name}/lab.toml: HOST_{lab.host} has no {region.file}")

    def unsolved(self) -> list[str]:
        """Other labs whose skeleton is in the files of the test program: what they get wrong, this lab gets wrong."""
        others = [labs.load(name) for name in labs.names() if name != self._lab.name]
        return [other.name for other in others if any(map(self._is_unsolved, other.regions))]

    def _is_unsolved(self, region: Region) -> bool:
        text = regions.region_of((TOP / region.file).read_text(), region.name, region.file)
        return region.file in self._sources and text == skeleton_of(region)

    def _run(self, command: list) -> tuple[int, str]:
        """Exit status of a tool, and what it said.  A file takes that, whose size is limited.  LabError if it has no end."""
        with tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=TOP,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                    preexec_fn=limit_compiler,
                )
            except OSError as error:
                raise LabError(f"cannot run {command[0]}: {error.strerror}") from error
            try:
                status = process.wait(COMPILE_LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise LabError(f"{command[0]} has not ended after {COMPILE_LIMIT} s: grade again") from None
            said.seek(0)
            return status, said.read(SAID_MAX).decode(errors="replace")

    def _compile(self, source: Path, name: str, *more: str) -> tuple[Path, int, str]:
        made = self._folder / f"{name}.o"
        return made, *self._run([*self._compiler, *self._flags, *more, "-fmax-errors=10", "-c", str(source), "-o", str(made)])

    def _trusted(self, source: Path, name: str) -> Path:
        """The object of a trusted source.  `name`: of the source, for the message."""
        key = hashlib.sha256(repr([self._compiler, self._flags]).encode() + source.read_bytes() + self._headers)
        kept = TOP / "build/grade/objects" / f"{key.hexdigest()}.o"
        if not kept.exists():
            made, status, text = self._compile(source, f"trusted.{os.getpid()}")
            if status != 0:
                raise LabError(f"{name} does not compile:\n{text}")
            kept.parent.mkdir(parents=True, exist_ok=True)
            made.rename(kept)
        return kept

    def _check_compiler(self, name: str) -> None:
        """LabError if the compiler fails for the skeleton of a file, too: a full disk, a busy host."""
        made, status, text = self._compile(self._folder / "skeleton" / name, f"skeleton_{name}")
        made.unlink(missing_ok=True)
        if status != 0:
            raise LabError(f"the compiler fails for the skeleton of {name}, too: grade again\n{text}")

    def _written(self, file: str, texts: dict[str, str], kind: str) -> Path:
        """A copy of a file of the tree with these texts in its regions."""
        text = (TOP / file).read_text()
        for region in self._lab.regions:
            if region.file == file:
                text = regions.replaced(text, region.name, texts.get(region.name, skeleton_of(region)), file)
        path = self._folder / kind / Path(file).name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def _student(
        self, file: str, texts: dict[str, str], skeletons: dict[str, Path], kernel: list[Path]
    ) -> tuple[Path, list[str]]:
        """The object of a file with these texts, and no faults; or that of the skeleton, and why."""
        name = Path(file).name
        source = self._written(file, texts, "student")
        made, status, text = self._compile(source, f"student_{name}")
        if status != 0:
            self._check_compiler(name)
            text = text.replace(f"{source.parent}/", "")
            return skeletons[file], [f"{name} does not compile:\n{text}"]
        others = [*kernel, *(skeleton for other, skeleton in skeletons.items() if other != file)]
        refused = list(objects.refusals(made, skeletons[file], others, self._lab.beyond))
        return (skeletons[file], refused) if refused else (made, [])

    def _students(
        self, texts: dict[str, str], skeletons: dict[str, Path], kernel: list[Path]
    ) -> tuple[dict[str, Path], list[str]]:
        """The objects of all files with these texts, or their skeletons, and why; sets `replaced`."""
        objs, faults = {}, []
        for file in skeletons:
            objs[file], wrong = self._student(file, texts, skeletons, kernel)
            faults += wrong
        self.replaced = {file for file, made in objs.items() if made == skeletons[file]}
        return objs, faults

    def build(self, texts: dict[str, str]) -> list[str]:
        """Make `program` with these texts in the regions.  Returns why a file of them was replaced by its skeleton."""
        files = sorted({region.file for region in self._lab.regions})
        kernel = [self._trusted(TOP / source, source) for source in self._sources if source not in files]
        frame = [self._trusted(TOP / source, source) for source in (f"labs/{self._lab.name}/driver.c", "labs/sandbox.c")]
        skeletons = {file: self._trusted(self._written(file, {}, "skeleton"), f"{file} with the skeleton") for file in files}
        objs, faults = self._students(texts, skeletons, kernel)
        status, text = self._link([*kernel, *frame, *objs.values()])
        if status != 0 and objs != skeletons:
            faults.append(f"the program does not link:\n{text}")
            self.replaced = set(files)
            status, text = self._link([*kernel, *frame, *skeletons.values()])
        if status != 0:
            raise LabError(f"the program does not link with the skeleton:\n{text}")
        return faults

    def _link(self, objs: list[Path]) -> tuple[int, str]:
        return self._run([*self._compiler, *self._flags, *map(str, objs), "-o", str(self.program)])
