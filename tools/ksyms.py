#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ksyms.py - make the table with which the kernel prints function names in a backtrace.

Reads `nm -n kernel` on standard input and writes assembly.  The table contains the functions, sorted by address:

    ksyms_count    u32, number of functions
    ksyms_addr[]   u32, address minus __kernel_start
    ksyms_name[]   u32, offset of the name in ksyms_text
    ksyms_text     the names, each followed by a NUL

The table is in the section .ksyms.  The linker script puts this section last, so the size of the table does not change
the address of any function.  With --empty the table has no entries: for the first of the kernel's two links (Makefile).
"""

import sys

HEAD = """\t.section .ksyms, "a"
\t.balign 4
\t.globl ksyms_count, ksyms_addr, ksyms_name, ksyms_text
ksyms_count:
\t.long {count}
"""


def table(symbols: list[tuple[int, str]]) -> str:
    """The assembly for functions, given as (offset, name) and sorted by offset."""
    out = [HEAD.format(count=len(symbols)), "ksyms_addr:\n"]
    out += [f"\t.long {offset:#x}\n" for offset, _ in symbols]
    out.append("ksyms_name:\n")
    position = 0
    for _, name in symbols:
        out.append(f"\t.long {position}\n")
        position += len(name) + 1
    out.append("ksyms_text:\n")
    out += [f'\t.asciz "{name}"\n' for _, name in symbols]
    out.append('\t.section .note.GNU-stack, "", @progbits\n')
    return "".join(out)


def functions(nm_output) -> list[tuple[int, str]]:
    """The functions in the output of `nm -n`, as (offset from __kernel_start, name).  Each address has one name, the first."""
    start, found = None, {}
    for line in nm_output:
        fields = line.split()
        if len(fields) != 3:
            continue
        address, kind, name = int(fields[0], 16), fields[1], fields[2]
        if name == "__kernel_start":
            start = address
        elif kind in "tT" and not name.startswith("."):
            found.setdefault(address, name)
    if start is None:
        sys.exit("ksyms.py: the kernel has no symbol __kernel_start (boot/kernel.ld defines it)")
    return [(a - start, n) for a, n in sorted(found.items()) if 0 <= a - start < 2**32]


if __name__ == "__main__":
    sys.stdout.write(table([] if "--empty" in sys.argv[1:] else functions(sys.stdin)))
