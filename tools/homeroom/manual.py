# SPDX-License-Identifier: MIT
"""manual.py - the manual pages of commands, taken from their programs.

    python3 -m homeroom.manual          writes docs/commands.md from what is built in build/user

THEORY      A program has its page in the section `manual` (user/include/help.h), from where objcopy takes it: the program
            is not run.  The image has each page as /usr/share/man/NAME, and docs/commands.md all of them.
SEE ALSO    image.py, user/cmd/man.c; tests/test_manual.py compares docs/commands.md with what this makes
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from homeroom.machine import TOP

# Chapters of docs/commands.md: the folder of the sources, and where in build/user the programs may be.
CHAPTERS = {"Commands": ("cmd", ("bin",)), "Benchmarks": ("bench", ("bench", "ondisk"))}
PAGE = TOP / "docs/commands.md"
INTRO = """\
# Commands

Each command of `user/cmd` and each benchmark of `user/bench` has a manual page: the text that the command prints with
`--help`. `man psrset` shows it in the guest, and `man -k processor` lists the pages about a word. This page of the book is
made from the same text (`make generated`).

Applets of busybox have no page; `ls --help` prints their options. [User land](userland.md) says what differs from Solaris.
"""


def page(program: Path) -> str:
    """The manual page of a program; nothing if it has none."""
    with tempfile.NamedTemporaryFile() as out:
        command = [os.environ.get("OBJCOPY", "objcopy"), "-O", "binary", "--only-section=manual", str(program), out.name]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return Path(out.name).read_bytes().rstrip(b"\0").decode()


def sections(text: str) -> dict[str, str]:
    """What is below each heading of a page, without the indent."""
    parts = re.findall(r"^([A-Z ]+)\n((?: .*\n|\n(?= ))*)", text, re.M)
    return {heading: re.sub(r"^    ", "", body, flags=re.M).strip("\n") for heading, body in parts}


def related(text: str) -> list[str]:
    """The names after SEE ALSO."""
    return sections(text).get("SEE ALSO", "").replace("\n", " ").split(", ")


def link(name: str) -> str:
    if name.startswith("docs/"):
        return f"[{Path(name).stem}]({Path(name).name})"
    return f"[{name}](#{name})"


def entry(name: str, text: str) -> str:
    """A command in the book: its page, with links in the place of SEE ALSO."""
    body = text.partition("\nSEE ALSO\n")[0]
    links = ", ".join(link(other) for other in related(text))
    return f"### {name}\n\n```text\n{body}```\n\nSee also: {links}\n"


def programs(chapter: str) -> list[Path]:
    """The programs of a chapter, which must have been built (make user), by name."""
    sources, folders = CHAPTERS[chapter]
    names = sorted(path.stem for path in (TOP / "user" / sources).glob("*.c"))
    places = [[TOP / "build/user" / folder / name for folder in folders] for name in names]
    return [next((path for path in paths if path.exists()), paths[0]) for paths in places]


def book() -> str:
    """docs/commands.md."""
    parts = [INTRO]
    for chapter in CHAPTERS:
        pages = {program.name: page(program) for program in programs(chapter)}
        rows = [sections(text)["NAME"].split(" - ", 1) for text in pages.values()]
        table = [f"| [`{name}`](#{name}) | {purpose} |" for name, purpose in rows]
        parts.append("\n".join([f"## {chapter}\n", "| command | what it does |", "|---|---|", *table, ""]))
        parts += [entry(name, text) for name, text in pages.items()]
    return "\n".join(parts)


def main() -> None:
    PAGE.write_text(book())


if __name__ == "__main__":
    main()
