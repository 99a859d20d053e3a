# SPDX-License-Identifier: MIT
"""steps.py - list the functions that the kernel executes for one operation, with their files.

    PYTHONPATH=tools python3 -m homeroom.steps [touch] [write] [wake]        Markdown on standard output

THEORY      The program user/test/steps.c does an operation between two calls of getppid:
              touch  the first access to a page of private memory, with free frames
              write  a write of 4 KiB and an fsync, on one CPU
              wake   a futex call that wakes a thread on another board, up to the first call of that thread; the steps of
                     each CPU are listed separately
            QEMU executes code in pieces and can log the address of each piece before it executes it (its log "exec",
            with nochain).  For each instruction of a piece, the debugging information gives the function and the file,
            also if the compiler has inlined the function into another one.
            Left out are kernel/lib/, locks and the trace, because almost every operation uses them, inline functions of
            headers, because most of them only read or set a field, and clock interrupts.
            The program repeats the operation several times (rounds); the shortest round counts.
            A change of folder is a step from a function to a function of another folder.  A call through a pointer is
            an indirect call to the first instruction of a function.
"""

import bisect
import collections
import itertools
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from homeroom.experiments import storage
from homeroom.machine import TOP

KERNEL = TOP / "build/kernel.elf"
THINGS = {  # operation: machine, arguments of user/test/steps.c, a function that the operation executes
    "touch": ("cpu1", "touch", "as_fault"),
    "write": ("cpu1", "write /mnt/f", "sys_fsync"),
    "wake": ("sf3800", "wake 4", "sys_futex"),
}
USER_END = 1 << 47
LEFT_OUT = re.compile(r"^(kernel/lib/|kernel/disp/sync\.|kernel/stat/trace\.)|.*\.h$")
PIECE = re.compile(r"^Trace (\d+): 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/", re.M)
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$", re.M)
ENDS = re.compile(r"^(?:rep\w* |bnd |notrack )*(?:j\w+|call|ret|iret|sysret|syscall|hlt|int3|ud2)")
BY_POINTER = re.compile(r"^(?:notrack )?call\s+\*")


@dataclass
class Code:
    """The kernel's instructions: their addresses in order, and their texts."""

    at: list[int]
    text: list[str]
    entry: dict[int, str]  # functions by their first address
    where: dict[int, tuple[str, str]] = field(default_factory=dict)  # (function, file) by address

    @classmethod
    def read(cls, kernel: Path) -> "Code":
        listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", kernel], capture_output=True, text=True, check=True)
        found = [(int(at, 16), text) for at, text in INSTRUCTION.findall(listing.stdout)]
        names = subprocess.run(["nm", kernel], capture_output=True, text=True, check=True).stdout
        entry = {int(at, 16): name for at, name in re.findall(r"^([0-9a-f]+) [tT] (\w+)", names, re.M)}
        return cls([at for at, _ in found], [text for _, text in found], entry)

    def piece(self, at: int) -> list[int]:
        """Indices of the instructions of a piece: from `at` to the first that may jump, or to the end of the function."""
        first = bisect.bisect_left(self.at, at)
        last = first
        while last + 1 < len(self.at) and not ENDS.match(self.text[last]) and self.at[last + 1] not in self.entry:
            last += 1
        return list(range(first, last + 1))

    def look_up(self, addresses: set[int]) -> None:
        """Fill in `where` for these addresses."""
        wanted = sorted(addresses - self.where.keys())
        asked = "\n".join(f"{at:#x}" for at in wanted)
        done = subprocess.run(["addr2line", "-f", "-e", KERNEL], input=asked, capture_output=True, text=True, check=True)
        lines = done.stdout.splitlines()
        for at, name, place in zip(wanted, lines[::2], lines[1::2], strict=True):
            file = place.rsplit(":", 1)[0]
            self.where[at] = (name, file.removeprefix(f"{TOP}/").removeprefix("./"))


@dataclass
class Walk:
    """The steps of one round."""

    steps: list[tuple[str, str]]  # (function, file), each different from the one before
    pointers: list[str]  # functions called through a pointer

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(file for _, file in self.steps))

    @property
    def changes(self) -> int:
        folders = [str(Path(file).parent) for _, file in self.steps]
        return sum(a != b for a, b in itertools.pairwise(folders))


def rounds(log: str, code: Code, function: str) -> list[list[tuple[int, int]]]:
    """The kernel's pieces of each round, as lists of (CPU, address).

    A round is the code between two calls of getppid, if it executes `function`.
    """
    mark, through = ({at for at, name in code.entry.items() if name == wanted} for wanted in ("sys_getppid", function))
    pieces = [(int(cpu), int(at, 16)) for cpu, at in PIECE.findall(log)]
    calls = [i for i, (_, at) in enumerate(pieces) if at in mark]
    found = []
    for first, last in itertools.pairwise(calls):
        user = [i for i in range(first, last) if pieces[i][1] < USER_END]
        if user:  # without the end of the first call of getppid and the begin of the second
            found.append([p for p in pieces[user[0] : user[-1]] if p[1] >= USER_END])
    return [one for one in found if any(at in through for _, at in one)]


def without_ticks(addresses: list[int], code: Code) -> list[int]:
    """The pieces of one CPU without clock interrupts; interrupts after which another thread runs stay."""
    out: list[int] = []
    begun: list[int] = []  # index in `out` of the begin of each trap that has not ended
    for at in addresses:
        name = code.where[at][0]
        if name == "trap_stubs":
            begun.append(len(out))
        out.append(at)
        if name == "switch_to":
            begun.clear()  # another thread continues
        if begun and code.text[code.piece(at)[-1]].startswith("iret"):
            first = begun.pop()
            if any(code.where[a][0] == "timer_interrupt" for a in out[first:]):
                del out[first:]
    return out


def walk(pieces: list[tuple[int, int]], code: Code) -> Walk:
    """The steps of a round, from its pieces; first those of one CPU, then those of the next."""
    by_cpu = collections.defaultdict(list)
    for cpu, at in pieces:
        by_cpu[cpu].append(at)
    steps, pointers = [], []
    for addresses in by_cpu.values():
        before = ""
        for at in without_ticks(addresses, code):
            run = code.piece(at)
            if at in code.entry and BY_POINTER.match(before):
                name, file = code.where[at]
                if not LEFT_OUT.match(file):
                    pointers.append(name)
            for i in run:
                place = code.where[code.at[i]]
                if not LEFT_OUT.match(place[1]) and place[1].startswith(("kernel/", "drivers/")) and steps[-1:] != [place]:
                    steps.append(place)
            before = code.text[run[-1]]
    return Walk(steps, pointers)


def record(thing: str, code: Code) -> Walk:
    """Run the operation in a machine and return the steps of its shortest round."""
    machine, words, function = THINGS[thing]
    with tempfile.TemporaryDirectory(prefix="homeroom.") as name:
        folder = Path(name)
        (folder / "usr/test").mkdir(parents=True)
        program = ["-O2", "-D_GNU_SOURCE", TOP / "user/test/steps.c", "-o", folder / "usr/test/steps"]
        subprocess.run([TOP / "tools/hrcc", *program], check=True)
        options = {"seed": 1, "overlay": folder}
        if thing == "write":
            image = folder / "disk.img"
            subprocess.run(["mke2fs", "-q", "-F", "-t", "ext3", image, "32M"], check=True)
            options["disks"] = (str(image),)
        log = Path(tempfile.mkstemp(prefix="homeroom.", suffix=".log")[1])
        try:
            with storage.Machine(machine, **options) as guest:
                if thing == "write":
                    guest.check("mkdir -p /mnt && mount -t ext3 /dev/vda /mnt")
                guest.check(f"/usr/test/steps {words}")
                for line in (f"logfile {log}", "log exec,nochain"):
                    guest.guest.qmp("human-monitor-command", **{"command-line": line})
                guest.check(f"/usr/test/steps {words}")
                guest.guest.qmp("human-monitor-command", **{"command-line": "log none"})
            found = rounds(log.read_text(), code, function)
        finally:
            log.unlink()
    shortest = min(found, key=len)
    code.look_up({code.at[i] for _, at in shortest for i in code.piece(at)})
    return walk(shortest, code)


def main() -> int:
    unknown = [thing for thing in sys.argv[1:] if thing not in THINGS]
    if unknown:
        print(f"steps: {unknown[0]}: write {', '.join(THINGS)}, or nothing for all", file=sys.stderr)
        return 2
    if not KERNEL.is_file():
        print("steps: build/kernel.elf is missing: make iso", file=sys.stderr)
        return 2
    code = Code.read(KERNEL)
    for thing in sys.argv[1:] or THINGS:
        found = record(thing, code)
        print(f"**{thing}**: {len(found.files)} files, {len(found.pointers)} calls through pointers, "
              f"{found.changes} changes of folder, {len(found.steps)} steps.\n")  # fmt: skip
        lines, last = [], ""
        for name, file in found.steps:
            if file != last:
                lines.append(f"\n    {file}: {name}")
            else:
                lines.append(f", {name}")
            last = file
        print("".join(lines).strip("\n") + "\n")
        print("Through pointers: " + ", ".join(found.pointers) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
