# SPDX-License-Identifier: MIT
"""dynamic.py - gather the programs that are linked at run time: Debian's, unmodified, and ours.

    python3 -m homeroom.dynamic OUT [--debian] [--bin FILE]... [--lib FILE]... [--glibc FILE]...

THEORY   OUT becomes a tree to lay over the root file system (OVERLAY=build/dynamic), and `make root` puts it on the disk.
         With --debian it holds each program of DEBIAN, the libraries that the dynamic loader of this machine finds for
         it, and that loader, all under the paths they have here, for these paths are written in the programs.  Debian's
         ncurses wants a description of the terminal.  Ours (--bin, --lib) want musl's loader, which is its C library as
         well.  Those of --glibc are ours and want what a program of Debian's wants: glibc, and libgomp beside it.
         Nothing of this is in the initramfs, whose size every boot pays for.
SEE ALSO tools/deps.sh (group dynamic: the packages), THIRD_PARTY, docs/userland.md, tests/test_dynamic.py
"""

import argparse
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Where each program goes: what it is here.
DEBIAN = {
    "usr/bin/iperf": "iperf",
    "usr/bin/iperf3": "iperf3",
    "usr/bin/sqlite3": "sqlite3",
    "usr/bin/lua5.4": "lua5.4",
    "usr/bin/numactl": "numactl",
    "usr/bin/lstopo": "lstopo-no-graphics",
}
TERMINFO = ("/lib/terminfo/v/vt100", "/usr/share/terminfo/v/vt100")  # of the console: Debian 12, and 13
MUSL = Path("/lib/ld-musl-x86_64.so.1")


def fail(message: str) -> None:
    sys.exit(f"dynamic: {message}")


def libraries(program: str) -> list[str]:
    """What the loader of this machine would map beside the program, itself included."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True)
    if done.returncode != 0 or "not found" in done.stdout:
        fail(f"{program}: ldd does not find all it needs:\n{done.stdout}{done.stderr}")
    return re.findall(r"(/\S+) \(0x", done.stdout)


def put(source: str | Path, tree: Path, target: str) -> None:
    """Copy what a path here leads to."""
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
    parser.add_argument("--bin", action="append", default=[], type=Path, help="a program of ours")
    parser.add_argument("--lib", action="append", default=[], type=Path, help="a shared object of ours")
    parser.add_argument("--glibc", action="append", default=[], type=Path, help="a program of ours that is linked with glibc")
    parser.add_argument("--debian", action="store_true", help="Debian's programs as well")
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
