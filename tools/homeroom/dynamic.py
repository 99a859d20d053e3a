# SPDX-License-Identifier: MIT
"""dynamic.py - make a tree of programs that are linked at run time: Debian's, unmodified, and ours.

    python3 -m homeroom.dynamic OUT [--debian] [--bin FILE]... [--lib FILE]... [--glibc FILE]...

THEORY   A program that is linked at run time needs a loader and shared libraries, at the paths that are written in the
         program.  The tree OUT contains programs together with these files.  It is added to the root file system
         (OVERLAY=build/dynamic), and `make root` puts it on the disk.  It is not part of the initramfs, because each boot
         takes longer with a larger initramfs.
           --debian      each program of DEBIAN, with the loader and the libraries that the loader of this host finds for
                         it, at the same paths as on this host; and the description of the console's terminal, which
                         Debian's ncurses needs
           --bin, --lib  our programs and objects for musl, with musl's loader, which is also musl's C library
           --glibc       our programs for glibc, with its loader and libraries, as for Debian's programs
SEE ALSO tools/deps.sh (group dynamic: the packages), THIRD_PARTY, docs/userland.md, tests/test_dynamic.py
"""

import argparse
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Path in the tree: name of the program on this host.
DEBIAN = {
    "usr/bin/iperf": "iperf",
    "usr/bin/iperf3": "iperf3",
    "usr/bin/sqlite3": "sqlite3",
    "usr/bin/lua5.4": "lua5.4",
    "usr/bin/numactl": "numactl",
    "usr/bin/numastat": "numastat",
    "usr/bin/migratepages": "migratepages",
    "usr/bin/migspeed": "migspeed",
    "usr/bin/memhog": "memhog",
    "usr/bin/strace": "strace",
    "usr/bin/gdbserver": "gdbserver",
    "usr/bin/lstopo": "lstopo-no-graphics",
}
TERMINFO = ("/lib/terminfo/v/vt100", "/usr/share/terminfo/v/vt100")  # the console's terminal, in Debian 12 and in 13
MUSL = Path("/lib/ld-musl-x86_64.so.1")


def fail(message: str) -> None:
    sys.exit(f"dynamic: {message}")


def libraries(program: str) -> list[str]:
    """The loader and the libraries that this host would load for a program."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True)
    if done.returncode != 0 or "not found" in done.stdout:
        fail(f"{program}: ldd does not find all it needs:\n{done.stdout}{done.stderr}")
    return re.findall(r"(/\S+) \(0x", done.stdout)


def put(source: str | Path, tree: Path, target: str) -> None:
    """Copy a file of this host into the tree; a link is followed."""
    to = tree / target.lstrip("/")
    to.parent.mkdir(parents=True, exist_ok=True)
    if not Path(source).is_file():
        fail(f"{source} is missing: tools/deps.sh dynamic")
    shutil.copy(source, to)
    to.chmod(0o755 if "/bin/" in target or ".so" in target else 0o644)


def put_with_libraries(program: str, tree: Path, target: str) -> None:
    put(program, tree, target)
    for library in libraries(program):
        put(library, tree, library)


def main() -> None:
    parser = argparse.ArgumentParser(prog="dynamic")
    parser.add_argument("out", type=Path)
    parser.add_argument("--bin", action="append", default=[], type=Path, help="a program linked with musl")
    parser.add_argument("--lib", action="append", default=[], type=Path, help="a shared object")
    parser.add_argument("--glibc", action="append", default=[], type=Path, help="a program linked with glibc")
    parser.add_argument("--debian", action="store_true", help="also copy Debian's programs")
    args = parser.parse_args()
    if platform.machine() != "x86_64":
        fail("programs of this machine are copied: it must be an x86-64 (make dynamic, ROOT=ext, OVERLAY=build/dynamic)")
    shutil.rmtree(args.out, ignore_errors=True)
    for target, name in DEBIAN.items() if args.debian else ():
        program = shutil.which(name)
        if program is None:
            fail(f"{name} is missing: tools/deps.sh dynamic")
        put_with_libraries(program, args.out, target)
    if args.debian:
        path = next((path for path in TERMINFO if Path(path).is_file()), TERMINFO[0])
        put(path, args.out, path)
    for path in args.glibc:
        put_with_libraries(str(path), args.out, f"usr/bin/{path.name}")
    if args.bin:
        put(MUSL, args.out, str(MUSL))
    for path in args.bin:
        put(path, args.out, f"usr/bin/{path.name}")
    for path in args.lib:
        put(path, args.out, f"usr/lib/{path.name}")


if __name__ == "__main__":
    main()
