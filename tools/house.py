#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""house.py - figures about the kernel's source: sizes of folders, lengths of functions, calls between folders.

    tools/house.py [REVISION]      of the working tree, or of a commit; Markdown on standard output

THEORY   Files are read as text, not parsed.  This works because lint checks the layout: the head of a function begins in
         the first column, and its body ends with a brace there.
         A line of code has more than blanks and comments.  A function has a comment if a comment ends on the line above
         it, or above its declaration in a header.  Static inline functions of headers count as functions, but their
         names need not be unique.
         Folders form layers, and a folder may use only those below it (tools/lint.py).  An upward call goes the other
         way: to a function that a header declares under "implemented by X/", or through a pointer, or a table of
         pointers, that a higher folder fills in.
"""

import collections
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
FUNCTION = re.compile(
    r"^(?P<head>[A-Za-z_][^;{}=#]*?\b(?P<name>(?!__attribute__)\w+)\([^;{}]*\)[^;{}=#]*?)\n\{\n(?P<body>.*?)^\}", re.M | re.S
)
DECLARED = re.compile(r"^[a-z_][\w *]*?\b(?P<name>\w+)\([^;{}]*\)[^;{}]*;", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
POINTER = re.compile(r"^extern [^;()]*\(\*(?P<name>\w+)\)\(", re.M)
TABLE = re.compile(r"^extern (?!const )struct (?P<name>\w+_(?:ops|upcalls)) \w+;", re.M)
SECTION = re.compile(r"/\* ---- implemented by (?P<by>[\w./]+) ---- \*/\n(?P<text>.*?)(?=/\* ----|#endif|\Z)", re.S)
LENGTHS = (10, 20, 30, 40, 50, 60, 80)
FILES_MAX = 25  # .c files of a folder


def bare(text: str) -> str:
    """The text with s for each string, and a NUL for each line of a comment."""
    return COMMENT.sub(lambda m: "\0" + "\n\0" * m[0].count("\n"), STRING.sub("s", text))


def count_lines(text: str) -> tuple[int, int]:
    """(lines with code, lines with only a comment)"""
    lines = bare(text).splitlines()
    code = sum(1 for line in lines if line.replace("\0", "").strip())
    return code, sum(1 for line in lines if "\0" in line and not line.replace("\0", "").strip())


def commented(text: str, at: int) -> bool:
    """Whether a comment ends on the line above position `at`."""
    above = text[:at].rstrip("\n")
    return len(text[:at]) - len(above) <= 1 and above.endswith("*/")


class House:
    """The source files of the kernel, below `top`, and what can be found in their text."""

    def __init__(self, top: Path) -> None:
        paths = sorted([*top.glob("kernel/**/*.[ch]"), *top.glob("drivers/*.[ch]")])
        self.texts = {path.relative_to(top): path.read_text() for path in paths}

    def folders(self) -> dict[Path, list[Path]]:
        """The files of each folder."""
        found = collections.defaultdict(list)
        for path in self.texts:
            found[path.parent].append(path)
        return found

    def functions(self):
        """(path, match of FUNCTION) for the definition of each function."""
        for path, text in self.texts.items():
            for match in FUNCTION.finditer(text):
                if match["name"].isupper():  # a macro such as PROCFS_SHOW
                    continue
                yield path, match

    def declared_with_comment(self) -> set[str]:
        """The functions that have a comment above their declaration in a header."""
        return {
            match["name"]
            for path, text in self.texts.items()
            if path.suffix == ".h"
            for match in DECLARED.finditer(text)
            if commented(text, match.start())
        }

    def statics(self) -> dict[str, list[Path]]:
        """For each name of static functions, the files that define one; a file appears once for each definition."""
        found = collections.defaultdict(list)
        for path, match in self.functions():
            if path.suffix == ".c" and match["head"].startswith("static"):
                found[match["name"]].append(path)
        return found

    def implemented_above(self) -> list[tuple[Path, str, str]]:
        """(header, folder or file that implements it, name) of each function under "implemented by"."""
        return [
            (path, section["by"], match["name"])
            for path, text in self.texts.items()
            if path.suffix == ".h"
            for section in SECTION.finditer(text)
            for match in DECLARED.finditer(section["text"])
        ]

    def upward(self) -> list[tuple[Path, str]]:
        """(header, name) of each pointer and each table of pointers that a higher folder fills in."""
        return [
            (path, match["name"])
            for path, text in self.texts.items()
            if path.suffix == ".h"
            for kind in (TABLE, POINTER)
            for match in kind.finditer(text)
        ]

    def visited(self) -> dict[Path, set[Path]]:
        """For each header, the other folders that include it."""
        found = collections.defaultdict(set)
        for path, text in self.texts.items():
            for name in INCLUDE.findall(text):
                header = next((p for p in (Path("kernel") / name, Path(name)) if p in self.texts), None)
                if header is not None and header.parent != path.parent:
                    found[header].add(path.parent)
        return found


def table(head: str, rows: list[list]) -> str:
    """A Markdown table; `head` has the titles, separated by |."""
    names = head.split("|")
    lines = [f"| {' | '.join(names)} |", "|" + "|".join("---" if i == 0 else "--:" for i in range(len(names))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def report(house: House) -> str:
    rows, sums = [], [0] * 4
    for folder, paths in sorted(house.folders().items()):
        counts = [count_lines(house.texts[path]) for path in paths]
        row = [
            sum(path.suffix == ".c" for path in paths),
            sum(path.suffix == ".h" for path in paths),
            sum(code for code, _ in counts),
            sum(comment for _, comment in counts),
        ]
        sums = [a + b for a, b in zip(sums, row, strict=True)]
        rows.append([f"`{folder}/`", *row, f"{row[3] / (row[2] + row[3]):.0%}"])
    rows.append(["all", *sums, f"{sums[3] / (sums[2] + sums[3]):.0%}"])
    out = [table("folder|.c|.h|lines of code|of comment|comment", rows)]

    lengths = [match["body"].count("\n") for _, match in house.functions()]
    rows = [[f"at most {n}", sum(length <= n for length in lengths), f"{sum(x <= n for x in lengths) / len(lengths):.1%}"]
            for n in LENGTHS]  # fmt: skip
    longest = max(house.functions(), key=lambda f: f[1]["body"].count("\n"))
    out.append(table("lines of a function's body|functions|of all", rows))
    out.append(f"{len(lengths)} functions, median {statistics.median(lengths):.0f} lines, longest {max(lengths)} "
               f"(`{longest[1]['name']}`, `{longest[0]}`).")  # fmt: skip

    above = house.declared_with_comment()
    told = sum(commented(house.texts[path], match.start()) or match["name"] in above for path, match in house.functions())
    statics, upward, visited = house.statics(), house.upward(), house.visited()
    twice = {name: paths for name, paths in statics.items() if len(paths) > 1}
    large = [f"`{folder}/` {n}" for folder, paths in sorted(house.folders().items())
             if (n := sum(path.suffix == ".c" for path in paths)) > FILES_MAX]  # fmt: skip
    bases = collections.Counter(path.name for path in house.texts)
    out.append(table("|count", [
        ["functions with a comment above them, or above their declaration", f"{told} ({told / len(lengths):.0%})"],
        ["static functions", sum(map(len, statics.values()))],
        ["names that more than one static function has", f"{len(twice)} ({sum(map(len, twice.values()))} functions)"],
        ["names of static functions without an underscore", sum("_" not in name for name in statics)],
        ["upward calls: tables and pointers that others fill in", len(upward)],
        ["upward calls: functions that a header says others implement", len(house.implemented_above())],
        ["headers", sum(path.suffix == ".h" for path in house.texts)],
        ["headers that other folders include", len(visited)],
        [f"folders with more than {FILES_MAX} .c files", f"{len(large)}: {', '.join(large)}" if large else 0],
        ["file names that occur more than once", f"{sum(n > 1 for n in bases.values())}: "
         + ", ".join(f"`{name}`" for name, n in sorted(bases.items()) if n > 1)],
    ]))  # fmt: skip
    upward += [(path, f"{name}()") for path, _, name in house.implemented_above()]
    out.append("Upward calls: " + ", ".join(f"`{name}` ({path.relative_to('kernel') if path.parts[0] == 'kernel' else path})"
                                            for path, name in upward) + ".")  # fmt: skip
    if twice:
        out.append("Twice: " + ", ".join(f"`{name}` {len(paths)}" for name, paths in sorted(twice.items())) + ".")
    return "\n\n".join(out)


def main() -> int:
    if len(sys.argv) < 2:
        print(report(House(TOP)))
        return 0
    archive = subprocess.run(["git", "archive", sys.argv[1], "kernel", "drivers"], cwd=TOP, capture_output=True)
    if archive.returncode != 0:
        print(f"house: {archive.stderr.decode().strip()}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["tar", "-x", "-C", name], input=archive.stdout, check=True)
        print(report(House(Path(name))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
