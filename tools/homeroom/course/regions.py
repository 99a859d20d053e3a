# SPDX-License-Identifier: MIT
"""regions.py - the parts of a source file that a student writes.

THEORY      In the source a region lies between two lines

                /* LAB home: begin */
                ...
                /* LAB home: end */

            The tree has the solution there, and labs/NAME/ the text that a student begins with.  The grader takes from a
            submission only the text of its regions and puts that into its own copy of the file, so that nothing else of
            the submission counts.
            check() refuses what could run before the sandbox is closed, or differ between the test program and the
            kernel: assembler, lines of the preprocessor, attributes.
SEE ALSO    grade.py (which uses all of it), objects.py (what is checked after the compiler)
"""

import re
from collections.abc import Iterator
from pathlib import Path

BYTES_MAX = 1 << 20  # of a submitted file
BEGIN, END = "/* LAB {}: begin */", "/* LAB {}: end */"
MARK = re.compile(r"^[ \t]*/\* LAB ([\w-]+): (begin|end) \*/[ \t]*$", re.M)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
REFUSED = [
    (r"^\s*(?:#|%:|\?\?=)", "a line of the preprocessor"),
    (r"\b(?:asm|__asm|__asm__)\b", "assembler"),
    (r"\b(?:__attribute__|__attribute|_Pragma)\b|\[\s*\[", "an attribute"),
]


class RegionError(Exception):
    """What is wrong with the regions of a file, as a sentence."""


def read(path: Path) -> str:
    """The text of a submitted file, with line ends of Unix and without a byte order mark."""
    name = path.name
    with path.open("rb") as file:
        data = file.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise RegionError(f"{name} has more than {BYTES_MAX >> 20} MiB: it is not read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RegionError(f"{name} is no text in UTF-8: byte {error.start}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def spans(text: str, name: str) -> dict[str, tuple[int, int]]:
    """By region: where its text begins and ends.  `name`: of the file, for the message."""
    found, open_region = {}, None
    for mark in MARK.finditer(text):
        region, what = mark.groups()
        line = f"{name}:{text.count(chr(10), 0, mark.start()) + 1}"
        if what == "begin":
            if open_region is not None or region in found:
                raise RegionError(f"{line}: region {region} begins twice, or inside another one")
            open_region, start = region, mark.end() + 1
        elif region != open_region:
            raise RegionError(f"{line}: region {region} ends, but does not begin")
        else:
            found[region], open_region = (start, mark.start()), None
    if open_region is not None:
        raise RegionError(f"{name}: region {open_region} has no line {END.format(open_region)}")
    return found


def region_of(text: str, region: str, name: str) -> str:
    """The text of one region."""
    found = spans(text, name)
    if region not in found:
        raise RegionError(f"{name} has no region {region}: keep the lines {BEGIN.format(region)} and {END.format(region)}")
    start, end = found[region]
    return text[start:end]


def replaced(text: str, region: str, new: str, name: str) -> str:
    """`text` with `new` in the region."""
    region_of(text, region, name)
    start, end = spans(text, name)[region]
    return text[:start] + new + ("" if new.endswith("\n") or not new else "\n") + text[end:]


def outside(text: str, name: str) -> str:
    """The text without its regions."""
    for region in spans(text, name):
        text = replaced(text, region, "", name)
    return text


def lines(text: str, name: str) -> set[int]:
    """The numbers of all lines in regions, from 1 on."""
    ends = [[text.count("\n", 0, at) + 1 for at in span] for span in spans(text, name).values()]
    return {n for start, end in ends for n in range(start, end)}


def refusals(text: str) -> Iterator[str]:
    """What a region must not have, a sentence for each."""
    joined = re.sub(r"\\[ \t]*\n", "", text)
    code = NOT_CODE.sub(lambda match: " " + "\n" * match[0].count("\n"), joined)
    for pattern, what in REFUSED:
        match = re.search(pattern, code, re.M)
        if match:
            yield f"{what} is not allowed in a region: {code[match.start() :].strip().splitlines()[0][:60]}"
