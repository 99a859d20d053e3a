# SPDX-License-Identifier: MIT
"""objects.py - what a student's object file may have: checked before it is linked.

THEORY      Code that runs before main(), a function that takes the place of the C library's, or a call of the C library
            could get around the sandbox of the test program.  So an object may define only the global names that the file
            defines with the skeleton in it, may use only names of the kernel and the few functions that the compiler
            itself calls, and has none of the sections whose contents run at the start or the end.  The size of its variables
            is limited, because memory that they take is the host's.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

COMPILERS = {"memcpy", "memmove", "memset", "memcmp", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}
SECTIONS = re.compile(
    r"\.(text|data|bss|rodata|rela?|eh_frame|comment|note|debug|symtab|strtab|shstrtab|group)(\.|_|$)|\.data\.rel\.(ro|local)"
)

VARIABLES_MAX = 1 << 20  # bytes


def names_of(*paths: Path) -> tuple[set[str], set[str]]:
    """The global names that objects define, and those that they use."""
    lines = subprocess.run(["nm", "-gA", *paths], capture_output=True, text=True, check=True).stdout.splitlines()
    words = [line.split() for line in lines if line.strip()]
    return {w[-1] for w in words if w[-2] not in "Uvw"}, {w[-1] for w in words if w[-2] in "Uvw"}


def bytes_of_variables(path: Path) -> int:
    words = subprocess.run(["size", path], capture_output=True, text=True, check=True).stdout.splitlines()[1].split()
    return int(words[1]) + int(words[2])


def indirect_functions(path: Path) -> list[str]:
    """Functions whose address is chosen by code that runs before main()."""
    text = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r" i (\S+)$", text, re.M)


def sections_of(path: Path) -> list[str]:
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^ *\[ *[1-9]\d*\] (\S+) ", text, re.M)


def refusals(student: Path, skeleton: Path, others: Iterable[Path], beyond: Iterable[str] = ()) -> Iterator[str]:
    """What the student's object must not have, a sentence for each.

    `skeleton`: the object of the same file with the skeleton; `others`: the trusted objects of the kernel; `beyond`: names
    that it may define besides.
    """
    defined, used = names_of(student)
    for name in sorted(defined - names_of(skeleton)[0] - set(beyond)):
        yield f"{name} is a global name: write static before it"
    kernel = COMPILERS | names_of(skeleton, *others)[0]
    for name in sorted(used - kernel - defined):
        yield f"{name} is used, but this part of the kernel does not have it, even if a header names it"
    if bytes_of_variables(student) - bytes_of_variables(skeleton) > VARIABLES_MAX:
        yield f"the variables of the regions take more than {VARIABLES_MAX >> 20} MiB"
    for name in indirect_functions(student):
        yield f"{name} is an indirect function"
    for name in sections_of(student):
        if not SECTIONS.match(name) and name not in sections_of(skeleton):
            yield f"the section {name} is not allowed"
