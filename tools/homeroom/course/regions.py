# SPDX-License-Identifier: MIT
"""regions.py - the parts of a source file that a student writes.

THEORY      In the source a region lies between two lines

                /* LAB home: begin */
                ...
                /* LAB home: end */

            The tree has the solution there, and labs/NAME/ the text that a student begins with.  The grader takes from a
            submission only the text of its regions and puts that into its own copy of the file, so that nothing else of
            the submission counts.
            refusals() names what could run before the sandbox is closed, or differ between the test program and the
            kernel: assembler, lines of the preprocessor, attributes.  It also names what makes the compiler read another
            text than this module (control characters, raw strings, digraphs), and brackets that would take trusted text
            between two regions into a function of the student's.
SEE ALSO    grade.py (which uses all of it), objects.py (what is checked after the compiler)
"""

import re
from collections.abc import Iterator
from pathlib import Path

BYTES_MAX = 1 << 20  # of a submitted file
BEGIN, END = "/* LAB {}: begin */", "/* LAB {}: end */"
MARK = re.compile(r"^[ \t]*/\* LAB ([\w-]+): (begin|end) \*/[ \t]*$", re.M)
# Comments, strings and characters.  The end of each may be missing, so that no text is scanned twice.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?', re.S)
REFUSED = [
    (r"^[ \t]*(?:#|%:|\?\?=)", "a line of the preprocessor"),
    (r"<%|%>|<:|:>|%:|\?\?[=/'()!<>-]", "a digraph or a trigraph"),
    (r"\b(?:asm|__asm|__asm__)\b", "assembler"),
    (r"\b(?:__attribute__|__attribute|_Pragma)\b|\[\s*\[", "an attribute"),
    (r'\b(?:u8|[uUL])?R"', "a raw string"),
]
BRACKETS = {")": "(", "]": "[", "}": "{"}


class RegionError(Exception):
    """What is wrong with the regions of a file, as a sentence."""


def read(path: Path) -> str:
    """The text of a submitted file, with line ends of Unix and without a byte order mark."""
    name = path.name
    if path.is_symlink():  # perhaps to a solution that only the grader's host has
        raise RegionError(f"{name} is a symbolic link: hand in the file itself")
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

    def wrong(what: str) -> RegionError:
        return RegionError(f"{name}:{text.count(chr(10), 0, mark.start()) + 1}: region {region} {what}")

    for mark in MARK.finditer(text):
        region, what = mark.groups()
        if what == "begin":
            if open_region is not None or region in found:
                raise wrong("begins twice, or inside another one")
            open_region, start = region, mark.end() + 1
        elif region != open_region:
            raise wrong("ends, but does not begin")
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
    edges = [0, *(edge for span in spans(text, name).values() for edge in span), len(text)]
    return "".join(text[begin:end] for begin, end in zip(edges[::2], edges[1::2], strict=True))


def odd_bracket(code: str) -> str | None:
    """A bracket without its partner."""
    opened = []
    for match in re.finditer(r"[][(){}]", code):
        bracket = match[0]
        if bracket not in BRACKETS:
            opened.append(bracket)
        elif not opened or opened.pop() != BRACKETS[bracket]:
            return bracket
    return opened[-1] if opened else None


def lines(text: str, name: str) -> set[int]:
    """The numbers of all lines in regions, from 1 on."""
    ends = [[text.count("\n", 0, at) + 1 for at in span] for span in spans(text, name).values()]
    return {n for start, end in ends for n in range(start, end)}


def refusals(text: str) -> Iterator[str]:
    """What a region must not have, a sentence for each."""
    joined = re.sub(r"\\[ \t]*\n", "", text)
    code = NOT_CODE.sub(lambda match: match[0][0].replace("/", " ") + "\n" * match[0].count("\n"), joined)
    control = re.search(r"[\0-\x08\x0b-\x1f\x7f]", text)
    if control:
        yield f"a control character is not allowed in a region: {control[0]!r}"
    for pattern, what in REFUSED:
        match = re.search(pattern, code, re.M)
        if match:
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            line = joined.split("\n")[code.count("\n", 0, start)]
            yield f"{what} is not allowed in a region: {line.strip()[:60]}"
    odd = odd_bracket(code)
    if odd:
        yield f"a region has {odd} without its partner"
