# SPDX-License-Identifier: MIT
"""handed.py - finds a lab's files in what a student has handed in: a file, a folder, or a .zip of a folder.

THEORY      A lab's file is searched by its path, then by its name, then by the marks of its regions.  At most BYTES_MAX + 1
            bytes of it are copied (regions.py refuses a file that large), so that neither a huge file nor a .zip that unpacks
            to one does harm.  Nothing else is unpacked.  Symbolic links are left out: they could lead to the solution.
"""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from homeroom.course import regions
from homeroom.course.lab import Lab

FILES_MAX = 100000  # in a folder or .zip
SEARCHED_MAX = 1000  # for marks
NAME_MAX = 255  # bytes of a name on this host; a .zip may have longer ones
Members = dict[str, Callable[[], BinaryIO]]  # by path: what opens it


class HandedError(Exception):
    """What was handed in cannot be read; the text says why, as a sentence."""


def hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)


def members(path: Path) -> Members:
    """The files in what was handed in.  HandedError, or for a damaged .zip any other error, if it cannot be read."""
    found: Members = {}
    if path.is_symlink():
        raise HandedError(f"{path.name} is a symbolic link: hand in the file itself")
    if path.is_dir():
        there = [file for file in path.iterdir() if not hidden(file.name)]
        if len(there) == 1 and there[0].suffix == ".zip" and there[0].is_file() and not there[0].is_symlink():
            return members(there[0])
        for folder, folders, files in os.walk(path):
            folders[:] = [name for name in folders if not hidden(name)]
            for file in (Path(folder, name) for name in files):
                if file.is_file() and not file.is_symlink():
                    found[str(file.relative_to(path))] = lambda file=file: file.open("rb")
    elif zipfile.is_zipfile(path):
        archive = zipfile.ZipFile(path)
        for info in archive.infolist():
            if not info.is_dir():
                found[info.filename] = lambda info=info: archive.open(info)
    else:
        found[path.name] = lambda: path.open("rb")
    if len(found) > FILES_MAX:
        raise HandedError(f"{path.name} has {len(found)} files; at most {FILES_MAX} are looked at")
    return {name: opened for name, opened in found.items() if not hidden(name)}


def beginning(opened: Callable[[], BinaryIO]) -> bytes:
    with opened() as file:
        return file.read(regions.BYTES_MAX + 1)


def chosen(file: str, marks: list[bytes], there: Members) -> str | None:
    """The member that is to be graded as `file`, which has regions with these marks."""
    by_path = [name for name in there if f"/{name}".endswith(f"/{file}")]
    by_name = [name for name in there if PurePosixPath(name).name == PurePosixPath(file).name]
    by_mark = (name for name in sorted(there)[:SEARCHED_MAX] if any(mark in beginning(there[name]) for mark in marks))
    return min(by_path or by_name, key=lambda name: (name.count("/"), name), default=None) or next(by_mark, None)


def copied(lab: Lab, path: Path, folder: Path) -> tuple[list[Path], list[str]]:
    """Copy the lab's files from what was handed in.  Returns the copies, and sentences on what is odd."""
    found, copies, notes = [], [], []
    try:
        there = members(path)
        for i, file in enumerate(lab.sources):
            marks = [regions.BEGIN.format(region.name).encode() for region in lab.regions if region.file == file]
            name = chosen(file, marks, there)
            if name is None:
                continue
            short = PurePosixPath(name).name
            short = short if len(os.fsencode(short)) <= NAME_MAX else PurePosixPath(file).name
            found.append((i, file, short, beginning(there[name])))
    except HandedError as error:
        notes.append(str(error))
    except Exception as error:  # a damaged .zip raises errors of many kinds
        notes.append(f"{path.name} cannot be read: {error}")
    for i, file, name, data in found:
        copy = folder / str(i) / name
        copy.parent.mkdir(parents=True)
        copy.write_bytes(data)
        copies.append(copy)
        if name != PurePosixPath(file).name:
            notes.append(f"{name} is graded as {file}")
    return copies, notes
