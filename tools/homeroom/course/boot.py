# SPDX-License-Identifier: MIT
"""boot.py - boot tests: machines that boot the kernel with a student's regions, and what is seen of them from outside.

THEORY      A student's code runs in ring 0 here, so it can forge everything inside the guest: the console, the verdict port,
            kernel statistics, the page of the interconnect model.  A boot test's verdict rests on what QEMU sees:
              - instructions, and accesses of user programs by CPU and board (qemu/witness/witness.c, a plugin)
              - interrupts of disks, at the interrupt controller (QEMU's trace events)
              - requests of virtio disks (trace events), the contents of a disk, and the record of its writes (powercut.py)
              - QEMU's exit code: a panic ends QEMU with its own
            The guest names phases only: a line of its verdict port says that the command has ended.  A line that comes too
            early gains nothing, because the accesses are missing then.
            Everything but the regions is built from this tree.  The regions are those that the host tests had: a file
            that was replaced by its skeleton there is replaced here.  A region must make no pointer of an integer, so that
            it reaches only what it is given.  That stops no determined forger: a union or an index can do the same.
            So the kernel's text is trusted only as far as it is compared: its text and read-only data in the guest's
            memory with its image (pmemsave), after the start, during the run and at its end, and each instruction
            that a CPU is to run (the plugin).
            What is left to a forger is data: a region that passes its host tests, sees that it runs in a kernel,
            and changes the kernel's variables there.  Boot tests need the host tests of their part.  So a forger reaches
            at most the boot points of a part that is solved on the host: `forgeable` in labs/NAME/lab.toml.
            Time in the guest is counted in instructions, all CPUs run in one host thread, and the boot seed is fixed: a
            run without disks does not depend on how busy this host is.  A disk answers in the time of this host: tests
            of disks must hold for any moment.  A run ends at the latest after so many instructions as
            labs/NAME/lab.toml allows.  The limit of host time is a fault of the harness.
FILES       build/grade/NAME/kernel/: the kernel, and what was compiled for it
SEE ALSO    grade.py, build.py, witness.py, tests/test_grade_boot.py
"""

import os
import re
import shlex
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from homeroom import guest, machine, powercut
from homeroom.course import lab as labs
from homeroom.course import regions
from homeroom.course.build import Builder
from homeroom.course.lab import Lab, LabError
from homeroom.course.witness import Counts, Witness
from homeroom.machine import TOP, Machine, MachineError
from homeroom.patience import Limit
from homeroom.powercut import SECTOR

HOST_SECONDS = 1200  # of host time for one run; on a busy host more (patience.py)
POLL_SECONDS = 0.3
END_SECONDS = 120  # of this host, for the end of a QEMU that ends
DISK_BYTES = 64 << 20
TRACE_MAX = 64 << 20  # bytes of QEMU's trace
RECORD_MAX = 256 << 20  # bytes of the record of a disk's writes
CONSOLE_LINES = 40  # of the console in a log
ELSEWHERE = 0.02  # share of accesses that may be to no board's memory (devices' memory)
COUNTED = ["-icount", "shift=0,sleep=off", "-rtc", "clock=vm"]
TRACE = "trace"
EVENTS = ["virtio_notify", "virtio_notify_irqfd", "apic_deliver_irq"]
EVENTS += ["virtio_blk_handle_read", "virtio_blk_handle_write", "virtio_blk_req_complete"]
IN_DUMP = re.compile(r"^\s*\[(?P<file>[^]]*?):(?P<line>\d+):\d+\] (?P<code>.*)")
# In GCC's tree: a cast to a pointer, where casts of pointers are not written, or an address; the result of an atomic operation.
TO_POINTER = re.compile(r"= (?:\([^;]*\*[^;]*\) (?P<of>[\w.]+);|-?[1-9]\d*B;)")
ATOMIC = re.compile(r"(\S+) = __atomic_")


class BootError(Exception):
    """The kernel with the student's code has failed; the text says how, as a sentence."""


# ---- building ----------------------------------------------------------------------------------


def pointers_of_integers(dump: str, source: Path, lines: set[int]) -> Iterator[str]:
    """A sentence if one of these lines of the source makes a pointer of an integer.  `dump`: GCC's tree after the parser."""
    atomic = set()  # GCC makes an integer of an atomic pointer, and a pointer of that
    for found in filter(None, map(IN_DUMP.match, dump.splitlines())):
        line, code = int(found["line"]), found["code"]
        if loaded := ATOMIC.match(code):
            atomic.add(loaded[1])
        made = TO_POINTER.search(code)
        if made and made["of"] not in atomic and found["file"] == str(source) and line in lines:
            text = source.read_text().splitlines()[line - 1].strip()
            yield f"a pointer that is made of an integer is not allowed in a region: {text[:60]}"
            return


class KernelBuilder(Builder):
    """Builds the kernel of a lab in a folder: `elf`."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab, self._folder = lab, folder
        self.elf = folder / "kernel.elf"
        self.replaced: set[str] = set()
        folder.mkdir(exist_ok=True)
        self._files = sorted({region.file for region in lab.regions})
        self._sources = [region.file for name in labs.names() for region in labs.load(name).regions]  # the kernel has all
        self._tree = [TOP / name for name in self._make("lab-objects").split()]
        self._compiler, self._flags = shlex.split((TOP / "build/flags").read_text()), []
        self._headers = b"".join(
            path.read_bytes() for path in sorted([*TOP.glob("kernel/**/*.h"), *TOP.glob("include/**/*.h")])
        )

    def _make(self, goal: str, *objs: Path) -> str:
        """What a goal of the Makefile prints; LabError if it fails."""
        env = {name: value for name, value in os.environ.items() if name not in ("TEST", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        env |= {"LAB_FILES": " ".join(self._files), "LAB_OUT": str(self._folder), "LAB_OBJECTS": " ".join(map(str, objs))}
        command = ["make", "-s", "--no-print-directory", goal]
        done = subprocess.run(command, cwd=TOP, env=env, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            raise LabError(f"make {goal} failed:\n{done.stdout}{done.stderr}")
        return done.stdout.splitlines()[-1] if done.stdout else ""

    def _compile(self, source: Path, name: str) -> tuple[Path, int, str]:
        return super()._compile(source, name, f"-fdump-tree-gimple-lineno={self._folder / name}.tree")

    def _student(
        self, file: str, texts: dict[str, str], skeletons: dict[str, Path], kernel: list[Path]
    ) -> tuple[Path, list[str]]:
        """As Builder's; a file in which a region makes a pointer of an integer is replaced, too."""
        made, faults = super()._student(file, texts, skeletons, kernel)
        if not faults:
            source = self._folder / "student" / Path(file).name
            lines = regions.lines(source.read_text(), file)
            faults = list(pointers_of_integers((self._folder / f"{made.stem}.tree").read_text(), source, lines))
        return (skeletons[file], faults) if faults else (made, [])

    def build(self, texts: dict[str, str]) -> list[str]:
        """Make `elf` with these texts in the regions.  Returns why a file of them was replaced by its skeleton."""
        skeletons = {
            file: self._trusted(self._written(file, {}, "skeleton"), f"{file} with the skeleton") for file in self._files
        }
        objs, faults = self._students(texts, skeletons, self._tree)
        try:
            self._make("lab-kernel", *objs.values())
        except LabError as error:
            if objs == skeletons:
                raise
            faults.append(f"the kernel does not link: {error}")
            self._make("lab-kernel", *skeletons.values())
        initramfs = self._folder / "initramfs.cpio"  # guest.direct_files()
        initramfs.unlink(missing_ok=True)
        initramfs.symlink_to(TOP / "build/initramfs.cpio")
        return faults


# ---- the trusted text --------------------------------------------------------------------------


@dataclass(frozen=True)
class Segment:
    address: int  # virtual
    physical: int
    data: bytes
    executable: bool


def trusted_segments(elf: bytes) -> list[Segment]:
    """The text and the read-only data of the kernel: the loaded segments of the upper half that are not writable."""
    at, size, count = *struct.unpack_from("<Q", elf, 32), *struct.unpack_from("<HH", elf, 54)
    found = []
    for i in range(count):
        kind, flags, offset, address, physical, length = struct.unpack_from("<IIQQQQ", elf, at + i * size)
        if kind == 1 and not flags & 2 and address >> 63:
            found.append(Segment(address, physical, elf[offset : offset + length], bool(flags & 1)))
    return found


def first_difference(one: bytes, other: bytes) -> int | None:
    """The index of the first byte that differs; None if they are equal."""
    if one == other:
        return None
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def function_at(elf: Path, address: int) -> str:
    """The name of the kernel's function or table at an address, with the address."""
    name = "no function of the kernel"
    for line in subprocess.run(["nm", "-n", elf], capture_output=True, text=True, check=True).stdout.splitlines():
        start, _, symbol = line.split(None, 2) if line[0] != " " else ("0", "", "")
        if address < int(start, 16):
            break
        name = symbol or name
    return f"{name} ({address:#x})"


# ---- running -----------------------------------------------------------------------------------


class Request(NamedTuple):
    """That a request of a virtio disk begins or ends."""

    disk: int  # 0 is /dev/vda
    kind: str  # read or write
    bytes: int
    end: bool


@dataclass
class Written:
    """What a run has written to a disk."""

    after: bytes  # the contents at the end
    record: list[powercut.Entry]  # its writes, up to its last flush


@dataclass
class Run:
    """What was seen of a run from outside."""

    machine: Machine
    access: list[list[int]]  # of user programs, by CPU and part of the memory (domain)
    instructions: int
    interrupts: list[tuple[str, int]]  # of disks, in order: the address of the device in QEMU, and the CPU's APIC id
    console: str
    requests: list[Request]  # of disks, in order
    disks: list[Written]  # those that had contents

    def by_domain(self) -> list[list[int]]:
        """The accesses by the domain of the CPU and the domain of the memory."""
        n = range(self.machine.domains)
        return [[sum(self.access[cpu][d] for cpu in self.machine.domain_cpus(domain)) for d in n] for domain in n]


class WatchedGuest(guest.Guest):
    """A guest that needs no CD image."""

    def check_image(self) -> None:
        for path in guest.direct_files(self.options.iso):
            if not path.is_file():
                raise MachineError(f"{path} is missing")


class Kernel:
    """The kernel with a student's regions: boot() runs a machine with it."""

    def __init__(self, elf: Path, most_instructions: int) -> None:
        self._elf, self._folder, self._most = elf, elf.parent, most_instructions
        self._segments = trusted_segments(elf.read_bytes())

    def boot(
        self,
        name: str,
        command: str,
        seed: int,
        *,
        memory: str | None = None,
        disks: Sequence[bytes] = (),
        disk_options: str = "",
        **options,
    ) -> Run:
        """Boot a machine, run the command, and look at it; BootError if it does not come to the command's end.

        `disks`: the contents of /dev/vda, ...; with b"" the disk is empty, and its writes are not recorded.
        `disk_options`: as in disk.py, for each of them, with a comma before each; `options`: more of guest.Options.
        """
        try:
            chosen = machine.load(name, None, memory)
            with tempfile.TemporaryDirectory(prefix="homeroom.boot.") as folder:
                files = [Path(folder) / f"disk{i}" for i in range(len(disks))]
                for file, contents in zip(files, disks, strict=True):
                    file.write_bytes(contents)
                    os.truncate(file, len(contents) or DISK_BYTES)
                kept = [file for file, contents in zip(files, disks, strict=True) if contents]
                recorded = [f",blklogwrites={file}.log" if file in kept else "" for file in files]
                options["disks"] = [f"{file},unsafe{disk_options}{log}" for file, log in zip(files, recorded, strict=True)]
                run = self._boot(chosen, command, seed, Path(folder), options)
                run.disks = [Written(file.read_bytes(), powercut.read_log(Path(f"{file}.log"))) for file in kept]
                return run
        except (MachineError, OSError) as error:
            raise LabError(f"{name} cannot boot: {error}") from error

    def _boot(self, chosen: Machine, command: str, seed: int, folder: Path, options: dict) -> Run:
        text = next(segment for segment in self._segments if segment.executable)
        witness = Witness(folder, chosen, text.address, text.data)
        events = [word for event in EVENTS for word in ("-trace", event)]
        args = [*COUNTED, *witness.qemu_args(), "-D", str(folder / TRACE), *events]
        # The machine stays until it was looked at: the sleep is longer than any limit.
        run = f"({command}); echo @done $? >/dev/ttyS1; sleep 1000000000"
        one = WatchedGuest(
            chosen, guest.Options(run=run, seed=seed, iso=self._folder / "homeroom.iso", qemu_args=args, **options)
        )
        try:
            one.start()
            limit = Limit(one.pid, HOST_SECONDS)
            while not (done := self._done(one)):
                one.wait_until(lambda: self._done(one), POLL_SECONDS)
                if not self._check(one, witness, folder):
                    raise BootError(self._why_ended(one))
                if limit.left() <= 0:
                    raise LabError(f"{chosen.name} has not ended after {HOST_SECONDS} s of this host: grade again")
            if not self._asked(one, "stop") or not self._check(one, witness, folder):
                raise BootError(self._why_ended(one))
            if done != "done 0":
                raise BootError(f"a command has failed in the guest: {command}\n{one.tail(CONSOLE_LINES)}")
            return self._seen(one, witness.read(), folder / TRACE)
        finally:
            one.close()

    def _done(self, one: guest.Guest) -> str:
        return next((line for line in one.lines if re.fullmatch(r"done \d+", line)), "")

    def _check(self, one: guest.Guest, witness: Witness, folder: Path) -> bool:
        """BootError if a limit is passed, or the kernel's trusted text has changed.  False if QEMU has ended."""
        counts = witness.read()
        if counts.instructions > self._most:
            raise BootError(f"no end after {self._most // 10**6} million instructions: stopped\n{one.tail(CONSOLE_LINES)}")
        if (folder / TRACE).exists() and (folder / TRACE).stat().st_size > TRACE_MAX:
            raise BootError("the kernel sends interrupts without end: stopped")
        if any(record.stat().st_size > RECORD_MAX for record in folder.glob("*.log")):
            raise BootError("the kernel writes to a disk without end: stopped")
        if counts.foreign:
            raise BootError(f"the kernel was to run code that is not in its image: {function_at(self._elf, counts.foreign)}")
        for segment in self._segments:
            saved = folder / "memory"
            if not self._asked(one, "pmemsave", val=segment.physical, size=len(segment.data), filename=str(saved)):
                return False
            at = first_difference(segment.data, saved.read_bytes())
            if at is not None:
                what = "text" if segment.executable else "read-only data"
                raise BootError(f"the kernel's {what} has changed: {function_at(self._elf, segment.address + at)}")
        return True

    def _asked(self, one: guest.Guest, command: str, **arguments) -> bool:
        """Run a command of QEMU.  False if QEMU has ended; LabError if it does not answer, or refuses."""
        answer = one.qmp(command, **arguments)
        if not answer:  # QEMU has closed its end: it is about to end
            one.wait_until(lambda: False, END_SECONDS)
        if "return" not in answer and one.running:
            raise LabError(f"QEMU does not answer {command}: grade again: {answer}")
        return "return" in answer

    def _why_ended(self, one: guest.Guest) -> str:
        outcome = one.wait(HOST_SECONDS)
        if outcome.kind == "qemu":
            raise LabError(outcome.message(False))
        return f"{outcome.message(True)}\n{one.tail(CONSOLE_LINES)}"

    def _seen(self, one: guest.Guest, counts: Counts, trace: Path) -> Run:
        access = [list(row)[: one.machine.domains] for row in counts.access[: one.machine.cpus]]
        if counts.elsewhere > ELSEWHERE * sum(map(sum, access)):
            raise LabError(f"this QEMU ({guest.qemu_version()}) names the memory of boards in a way unknown here")
        return Run(
            one.machine, access, counts.instructions, list(disk_interrupts(trace)), one.text(), list(disk_requests(trace)), []
        )


def disk_interrupts(trace: Path) -> Iterator[tuple[str, int]]:
    """The interrupts of virtio devices in QEMU's trace: QEMU sends one to the interrupt controller after each notification."""
    device = ""
    for line in trace.read_text(errors="replace").splitlines():
        if found := re.search(r"\bvirtio_notify(?:_irqfd)? vdev (\S+)", line):
            device = found[1]
        elif (found := re.search(r"\bapic_deliver_irq dest (\d+)", line)) and device:
            yield device, int(found[1])
            device = ""


def disk_requests(trace: Path) -> Iterator[Request]:
    """The requests of virtio disks in QEMU's trace.  The kernel reads each disk when it finds it, one after the other."""
    disks: list[str] = []
    running: dict[str, Request] = {}  # by address
    for line in trace.read_text(errors="replace").splitlines():
        if found := re.search(r"\bvirtio_blk_handle_(read|write) vdev (\S+) req (\S+) sector \d+ nsectors (\d+)", line):
            if found[2] not in disks:
                disks.append(found[2])
            running[found[3]] = Request(disks.index(found[2]), found[1], SECTOR * int(found[4]), False)
            yield running[found[3]]
        elif (found := re.search(r"\bvirtio_blk_req_complete vdev \S+ req (\S+)", line)) and found[1] in running:
            yield running.pop(found[1])._replace(end=True)
