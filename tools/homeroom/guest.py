# SPDX-License-Identifier: MIT
"""guest.py - one run of Homeroom in QEMU, from its start to its verdict.  The launcher and the tests use it.

THEORY      A run is one QEMU process.  Options says what the run needs besides the machine and the image; Guest starts
            QEMU, reads its output, watches it and ends it; Outcome says how it ended.
            QEMU's standard input and output are the console (COM1).  Two sockets of ours are the verdict port (COM2),
            with lines for programs (verdict.py), and QMP, QEMU's control interface.  The console's output is a pipe and
            not a socket: a socket is full after some 280 writes of one byte, and then QEMU would wait for us, so that
            the guest's serial port would be ready at times that depend on the host.
            Files of the run (command, /etc/system lines, overlay) reach the kernel through QEMU's fw_cfg device.
            QEMU's exit code tells how the machine ended (isa-debug-exit).  The status of the run's command comes over
            the verdict port.
            With a watchdog of W seconds the kernel writes @alive every second, and ends the machine when nothing in it
            makes progress.  If the @alive lines stop too, the kernel itself hangs.  Then we inject an NMI, on which the
            kernel prints what each CPU does, and kill QEMU if it has not ended NMI_GRACE seconds later.
            On a busy host all time limits become longer (patience.py).
INVARIANTS  I1  after wait() or close() no process and no file of the run is left
            I2  a run without a verdict is never reported as a success
SEE ALSO    qemu/launch.py, tests/conftest.py, docs/boot.md
"""

import contextlib
import ctypes
import fcntl
import functools
import io
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from homeroom import acpi, disk, model, net, trace
from homeroom.cpio import Archive
from homeroom.machine import TOP, Machine, MachineError, ask_program, check_host_memory, check_writable, one_cpu
from homeroom.patience import Limit
from homeroom.verdict import Lines

QEMU = "qemu-system-x86_64"
TRIED = ((7, 2), (10, 0), (11, 1))  # versions of QEMU with which Homeroom was tried
ISO = TOP / "build/homeroom.iso"
PROFILES = ("core", "disk")  # profiles (kernel/profile.mk) whose kernels are built in folders of their own below build/

THREADS = ("auto", "single", "multi")  # what Options.threads may be

# With these options an instruction takes one nanosecond of guest time; while all CPUs sleep, time jumps to the next timer.
# Several CPUs take turns.  ICOUNT=1 also reduces the machine to one CPU, so that the count is that of one path through the
# code.  While the interconnect model is armed, its clock replaces this one (qemu/fireplane/clock.c).
ICOUNT = ["-icount", "shift=0,sleep=off", "-rtc", "clock=vm"]

# isa-debug-exit: QEMU exits with twice the value written, plus one.
EXIT_CLEAN, EXIT_PANIC, EXIT_WATCHDOG = 33, 35, 37

# The launcher's exit statuses, if there is no command whose status it can return.
STATUS_SETUP, STATUS_NO_VERDICT, STATUS_PANIC, STATUS_HUNG, STATUS_TIMEOUT = range(120, 125)

BOOT_GRACE = 60  # seconds that a boot may take until its first @alive, times the speed factor
ALIVE_FACTOR = 4  # after this many watchdog periods without @alive, the guest counts as hung
SYSTEM_BYTES, ACPI_BYTES = 4095, 65536  # sizes of the kernel's buffers (kernel/main.c)
PR_SET_THP_DISABLE = 41  # <sys/prctl.h>
TRACE_DISK, TRACE_BYTES = "trace.img", 4 << 20  # bytes of a CPU's largest trace buffer
CONSOLE_BYTES = 1 << 20  # size of the console's pipe: the largest that Linux allows without privileges
NMI_GRACE = 20  # seconds that the kernel has for its report after the NMI


@dataclass
class Outcome:
    """How a run ended."""

    kind: str  # clean, reboot, reset, panic, watchdog, hung, timeout, quit, signal, qemu
    status: int | None  # of the command, if there was a verdict
    detail: str = ""  # the kernel's reason, or QEMU's last message
    cpu_seconds: float = 0.0  # user + system time of QEMU

    def exit_code(self, wants_verdict: bool) -> int:
        """The launcher's exit status (I2); `wants_verdict`: the run had a command."""
        if self.kind in ("clean", "reboot", "reset"):
            if self.status is not None:
                return self.status
            return STATUS_NO_VERDICT if wants_verdict else 0
        if self.kind == "quit":
            return STATUS_NO_VERDICT if wants_verdict else 0
        if self.kind == "signal":
            return STATUS_NO_VERDICT
        table = {"panic": STATUS_PANIC, "watchdog": STATUS_HUNG, "hung": STATUS_HUNG}
        return table.get(self.kind, STATUS_TIMEOUT if self.kind == "timeout" else STATUS_SETUP)

    def message(self, wants_verdict: bool) -> str:
        """One line for the user; empty after a normal end.  `wants_verdict`: the run had a command."""
        texts = {
            "panic": f"the kernel panicked: {self.detail or 'no reason given'}",
            "watchdog": f"the kernel's watchdog ended the run: {self.detail or 'no progress'}",
            "hung": "the kernel did not react any more and was killed (above: what its CPUs did, if it could print that)",
            "timeout": f"the time limit is over; the run was killed{f' ({self.detail})' if self.detail else ''}",
            "quit": "stopped from the keyboard",
            "signal": "stopped by a signal",
            "qemu": f"QEMU failed: {self.detail}",
        }
        if self.kind in texts:
            return texts[self.kind]
        if wants_verdict and self.status is None:
            how = {"reset": "reset itself (a triple fault?)", "reboot": "was rebooted"}.get(self.kind, "ended")
            return f"no verdict: the machine {how} before the command's status came"
        return ""


@dataclass
class Options:
    """What a run needs besides the machine."""

    run: str | None = None  # command line
    system: str | None = None  # /etc/system lines, separated by ; or newlines
    overlay: Path | bytes | None = None  # directory, or a cpio archive
    seed: int | None = None
    acpi: Path | bytes | None = None  # replacement tables: a file, or its contents
    watchdog: int | None = None  # seconds
    agent: str | None = None  # start the test agent; "shell": also a shell on the console
    icount: bool = False
    threads: str = "single"  # host threads that run the CPUs: "single", "multi" (one for each CPU), "auto" (_host_threads)
    model: str | None = None  # "fireplane": attach the interconnect model
    model_page: Path | None = None  # file for its shared page
    model_set: str | None = None  # parameters, "name=value; name=value"
    heat: int = 0  # count one of so many misses by page (docs/heat.md); 0: none
    disks: list[str] = field(default_factory=list)  # descriptions as in disk.py
    swap: str | None = None  # the guest's swap space: one of these disks, or a partition, as /dev/vdb
    forward: list[str] = field(default_factory=list)  # ports of the guest that are forwarded to the host (net.py)
    trace: Path | None = None  # trace the command, and write this file for Perfetto (trace.py)
    qemu_args: list[str] = field(default_factory=list)
    iso: Path = ISO
    cd: bool = False  # boot from the CD through GRUB, even if QEMU could load the kernel directly (boot_args)
    gdb_port: int | None = None
    terminal: tuple[int, int] | None = None  # rows and columns of the terminal that shows the console
    piped: str = ""  # standard input of the command or shell: "" the console, "pipe" (user/lib/console.c), "nothing" /dev/null
    speed: float = 1.0  # factor for all time limits

    def check(self) -> None:
        """Raise MachineError if an option is wrong.  check_built() checks the files that make builds and installs."""
        if self.run is not None and len(os.fsencode(self.run)) > 60000:
            raise MachineError("RUN: a command line has at most 60000 bytes; put a script into OVERLAY")
        if len(os.fsencode(self.system or "")) > SYSTEM_BYTES:
            raise MachineError(f"SYSTEM: at most {SYSTEM_BYTES} bytes; longer ones belong into user/etc/system")
        if isinstance(self.overlay, Path) and not self.overlay.is_dir():
            raise MachineError(f"OVERLAY: {self.overlay} is not a directory")
        if self.threads not in THREADS:
            raise MachineError(f"THREADS={self.threads}: write {', '.join(THREADS[:-1])} or {THREADS[-1]}")
        if self.threads == "multi" and (why := self.one_thread()):
            raise MachineError(f"THREADS=multi: with {why} all CPUs run in one host thread; leave one of the two out")
        if self.trace is not None and self.run is None:
            raise MachineError("TRACE: it needs a command (RUN='command')")
        if self.swap is not None:
            disk.check_swap(self.swap, self.disks)
        self.acpi_tables()
        disk.check_all(self.disks, int(self.trace is not None))
        if self.model:
            model.check(self.model)
        elif self.model_page or self.model_set or self.heat:
            raise MachineError("MODEL_PAGE, MODEL_SET and HEAT need MODEL=fireplane")
        for name, path in (("TRACE", self.trace), ("MODEL_PAGE", self.model_page)):
            if path is not None:
                check_writable(name, path)
        if self.gdb_port is not None:
            net.check_port("GDB", "tcp", self.gdb_port)
        self._check_apart()

    def acpi_tables(self) -> bytes:
        """The replacement tables; empty without any.  MachineError if the file does not contain tables."""
        if not isinstance(self.acpi, Path):
            return self.acpi or b""
        if not self.acpi.is_file():
            raise MachineError(f"ACPI: {self.acpi} is not a file")
        tables = self.acpi.read_bytes()
        if not 8 <= len(tables) <= ACPI_BYTES or not tables[:4].isalpha():
            raise MachineError(f"ACPI: {self.acpi} holds no ACPI tables of at most {ACPI_BYTES} bytes")
        return tables

    def one_thread(self) -> str:
        """The option that needs one host thread for all CPUs, because its runs must be repeatable; empty if none does."""
        wants = {"MODEL": self.model, "ICOUNT": self.icount, "TRACE": self.trace}
        wants["QEMU_ARGS=-icount"] = "-icount" in self.qemu_args
        return next((name for name, value in wants.items() if value), "")

    def _check_apart(self) -> None:
        """Raise MachineError if the run would write a file that it also uses for something else."""
        uses = [use for text in self.disks for use in disk.files(text)]
        uses += [(name, path, True) for name, path in (("TRACE", self.trace), ("MODEL_PAGE", self.model_page)) if path]
        uses += [("the image", path, False) for path in (self.iso, *direct_files(self.iso))]
        if isinstance(self.acpi, Path):
            uses.append(("the ACPI tables", self.acpi, False))
        for (one, path, writes), (two, other, writes_too) in itertools.combinations(uses, 2):
            if (writes or writes_too) and same_file(path, other):
                raise MachineError(f"{path} is {one} and {two} at once: name another file for one of them")

    def check_built(self) -> None:
        """Raise MachineError if QEMU is missing or too old for the options, or if a file that make builds is missing."""
        if shutil.which(QEMU) is None:
            raise MachineError(f"{QEMU} is missing: tools/deps.sh run")
        qemu_version()
        disk.check_built(self.disks)
        if self.model:
            if too_old():
                raise MachineError(f"MODEL={self.model} needs QEMU 7.2 or newer; the version here is {qemu_version()}")
            model.check_built(QEMU)


def direct_files(iso: Path) -> tuple[Path, Path]:
    """The kernel and the initramfs from which make builds this image; they may be missing."""
    return iso.with_name("kernel.elf"), iso.with_name("initramfs.cpio")


@functools.cache
def qemu_version() -> str:
    """QEMU's version, as "7.2.22"; "unknown" if its output contains none.  MachineError if it cannot be run."""
    found = re.search(r"version (\d+\.\d+\S*)", ask_program(QEMU, "--version"), re.ASCII)
    return found[1] if found else "unknown"


@functools.cache
def _version() -> tuple[int, int] | None:
    """(major, minor) of QEMU's version; None if it is unknown."""
    found = re.match(r"(\d+)\.(\d+)", qemu_version(), re.ASCII)
    return (int(found[1]), int(found[2])) if found else None


def too_old() -> bool:
    """Whether QEMU is older than all versions in TRIED, or unknown.

    Such a QEMU may lack the board pc-i440fx-7.2, and the model was not tried with it.
    """
    return (version := _version()) is None or version < TRIED[0]


def untried() -> str:
    """A line for the user if Homeroom was not tried with this version of QEMU; otherwise empty."""
    if _version() in TRIED:
        return ""
    names = ", ".join(f"{major}.{minor}" for major, minor in TRIED)
    what = "but not with MODEL=" if too_old() else "and MODEL= tests itself before it counts"
    return f"QEMU {qemu_version()} was not tried ({names} were): machines should run, {what}"


class Guest:
    """One run: start() it, use it, then wait() for its end, or close() it.

    Three threads work for it: they read the console, read the verdict port, and wait for QEMU's end.
    """

    def __init__(self, machine: Machine, options: Options) -> None:
        options.check()
        if options.icount:
            machine = one_cpu(machine)
        check_host_memory(machine)
        self.machine = machine
        self.options = options
        self.threads = self._host_threads()
        self.seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "little")
        self.console = bytearray()  # all output of the console
        self.lines: list[str] = []  # lines of the verdict port, without the @
        self.notes: list[str] = []  # lines for the user about disks and forwarded ports
        self.on_console: Callable[[bytes], None] | None = None  # called with each piece of console output
        self.on_line: Callable[[bytes], None] | None = None  # called with each line of the verdict port
        self.changed = threading.Condition()  # console or lines grew, or QEMU ended
        self._ended = False
        self._kill_kind: str | None = None  # why we killed QEMU, as in Outcome.kind
        self._ran = False  # QEMU has greeted us over QMP; with -help in QEMU_ARGS it does not
        self._last_life = 0.0  # host time of the last line of the verdict port
        self._started = 0.0
        self._host_too_busy = False  # a limit was ended by LAST_RESORT (patience.py)
        self._saw_alive = False
        self._threads: list[threading.Thread] = []
        self._process: subprocess.Popen | None = None
        self._files: tempfile.TemporaryDirectory | None = None
        text = model.parameters(machine, options.model_set) if options.model or machine.fireplane is not None else None
        self._model_text = text if options.model else None
        self.page: Path | None = None  # the model's shared page, while the guest runs
        self.forwards = net.parse(options.forward, machine.cards)
        self.notes += [f.note() for f in self.forwards]
        if options.heat:
            self.notes.append(f"page heat: one of {options.heat} misses is counted, seed {self.seed:#x}")
        self._qmp_lock = threading.Lock()
        self._outcome: Outcome | None = None
        self.traced = ""  # at the end, a line for the user about the trace
        self.trace_failed = False
        self._servers: list[subprocess.Popen] = []
        self._locks: list[int] = []  # file descriptors that lock the images of disks and the model's page

    def _host_threads(self) -> int:
        """The number of host threads that run the CPUs: 1, or one for each CPU.

        "auto" gives each CPU a thread if the host has a core for each, no seed was given, and no option needs one thread.
        """
        o, cpus = self.options, self.machine.cpus
        if o.threads == "auto" and (o.one_thread() or o.seed is not None or cpus > len(os.sched_getaffinity(0))):
            return 1
        return 1 if o.threads == "single" else cpus

    # ---- starting ------------------------------------------------------------------------------

    # A subclass that boots another system overrides these three (tools/homeroom/peer.py).

    def check_image(self) -> None:
        """Raise MachineError if the image is missing."""
        if not self.options.iso.is_file():
            raise MachineError(f"{self.options.iso} is missing: make iso")

    def run_files(self) -> dict[str, bytes]:
        """The files that start() writes for QEMU: name and contents."""
        return self._fw_cfg()

    def boot_args(self, files: Path) -> list[str]:
        """QEMU's arguments for the boot.  `files`: the directory with the run's files."""
        iso = self.options.iso
        kernel, initramfs = direct_files(iso)
        # An old QEMU does not pass the address of the firmware's tables to a kernel that it loads itself; GRUB does.
        if not self.options.cd and not too_old() and kernel.is_file() and initramfs.is_file():
            args = ["-kernel", str(kernel)]  # without GRUB, which takes longer than the rest of a boot
            args += ["-fw_cfg", f"name=opt/homeroom/initramfs,file={quoted(initramfs)}"]
        else:
            # A SCSI drive: SeaBIOS reads IDE drives without DMA, and then GRUB takes three times as long.
            args = ["-device", "virtio-scsi-pci,id=scsi", "-device", "scsi-cd,drive=cd,bootindex=0"]
            args += ["-drive", f"if=none,id=cd,format=raw,readonly=on,file={quoted(iso)}"]
        for name in self._fw_cfg():
            args += ["-fw_cfg", f"name=opt/homeroom/{name},file={quoted(files / name)}"]
        return args

    def _fw_cfg(self) -> dict[str, bytes]:
        """The fw_cfg files of the run: name below opt/homeroom and contents.  MachineError if the overlay is not usable."""
        o, files = self.options, {}
        files["seed"] = f"{self.seed:#x}".encode()
        if o.run is not None:
            files["run"] = os.fsencode(self._traced(o.run))
        if o.system:
            lines = [part.strip() for part in o.system.replace(";", "\n").splitlines()]
            files["system"] = os.fsencode("".join(f"{line}\n" for line in lines if line))
        if isinstance(o.overlay, Path):
            archive = Archive()
            try:
                archive.tree(o.overlay)
            except OSError as error:
                raise MachineError(f"OVERLAY: {error.filename or o.overlay} cannot be read: {error.strerror}") from error
            except ValueError as error:
                raise MachineError(f"OVERLAY: {error}") from error
            files["overlay"] = archive.pack()
            # The kernel allows half of the largest range of memory; the firmware uses a part of that range.
            most = (max(length for _, _, length in acpi.memory_ranges(self.machine)) >> 20) // 2 - 1
            if len(files["overlay"]) > most << 20:
                size = len(files["overlay"]) >> 20
                limit = f"{most} MiB, half of the largest piece of memory"
                raise MachineError(f"OVERLAY: {size} MiB; the limit is {limit}: give more MEM=, or a DISK=")
        elif o.overlay is not None:
            files["overlay"] = o.overlay
        tables = o.acpi_tables()
        if self.machine.proximity_domains is not None:
            tables += acpi.tables(self.machine, self.machine.proximity_domains)
        if tables:
            files["acpi"] = tables
        if self.machine.cards:
            files["net"] = net.config(self.machine.cards)
        if o.watchdog:
            files["watchdog"] = str(o.watchdog).encode()
        if self.threads > 1:
            files["threads"] = str(self.threads).encode()
        if o.swap is not None:
            files["swap"] = o.swap.encode()
        if o.agent is not None:
            files["agent"] = (o.agent or "yes").encode()
        return files | self._console_files()

    def _console_files(self) -> dict[str, bytes]:
        """The files about the console that the first process reads: name and contents."""
        files = {"piped": self.options.piped.encode()} if self.options.piped else {}
        if self.options.terminal:
            files["terminal"] = "{} {}\n".format(*self.options.terminal).encode()
        return files

    def _traced(self, run: str) -> str:
        """The run's command line; with TRACE, a command that traces it to the last disk, with rings that SYSTEM has not set."""
        if self.options.trace is None:
            return run
        number = sum(disk.parse(text).bus == "virtio" for text in self.options.disks)
        size = ""
        if "trace_entries" not in (self.options.system or ""):
            size = f"-n {trace.slots(self.machine.memory_mib << 20, self.machine.cpus)} "
        return f"trace {size}-o /dev/vd{chr(ord('a') + number)} sh -c {shlex.quote(run)}"

    def _disks(self, files: Path) -> list[str]:
        """The run's disks, with the disk for the trace as the last one."""
        return [*self.options.disks, *([str(files / TRACE_DISK)] if self.options.trace is not None else [])]

    def command(self, fds: tuple[int, int] = (3, 4), files: Path = Path(".")) -> list[str]:
        """The QEMU command line.  `fds`: our sockets for the verdict port and for QMP.  `files`: the run's files."""
        o = self.options
        board = "pc" if too_old() else "pc-i440fx-7.2"  # the same board in every version of QEMU that has it
        args = [QEMU, "-machine", board, *self.machine.qemu_args()]
        args += ["-accel", f"tcg,thread={'single' if self.threads == 1 else 'multi'}"]
        args += ["-display", "none", "-no-reboot", "-seed", str(self.seed & 0xFFFFFFFF)]
        args += self.boot_args(files)
        args += ["-chardev", "stdio,id=console,signal=off"]
        for name, fd in zip(("verdict", "qmp"), fds, strict=True):
            args += ["-chardev", f"socket,id={name},fd={fd}"]
        args += ["-serial", "chardev:console", "-serial", "chardev:verdict"]
        args += ["-mon", "chardev=qmp,mode=control"]
        args += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        if self.counted():
            args += ICOUNT
        if o.model:
            args += model.qemu_args(files / "fireplane", self.page or Path("fireplane.page"), o.heat, self.seed)
        if o.gdb_port is not None:
            args += ["-S", "-gdb", f"tcp:127.0.0.1:{o.gdb_port}"]
        args += net.qemu_args(self.machine.cards, self.forwards)
        return args + disk.qemu_args(self._disks(files), self.machine.cpus, files) + o.qemu_args

    def counted(self) -> bool:
        """Whether guest time is counted in instructions.

        With ICOUNT=1 it is.  With the model it is for a run with a command, unless a part of the run depends on the host's
        time (disks, network, watchdog, agent, GDB), and only with QEMU 7.2, where the plugin's clock was tried.
        """
        o = self.options
        outside = o.watchdog or o.agent is not None or o.disks or self.machine.cards or o.gdb_port is not None
        return o.icount or bool(o.model and o.run is not None and not outside and _version() == TRIED[0])

    def repeat(self) -> str:
        """The make command that repeats this run.  Tables that are not in a file are written to one below build/."""
        o, words = self.options, [f"make qemu-{self.machine.name}", *self.machine.changes, f"SEED={self.seed:#x}"]
        if o.run is not None:
            words.append(f"RUN={shlex.quote(o.run)}")
        if o.system:
            words.append(f"SYSTEM={shlex.quote('; '.join(o.system.splitlines()))}")
        if isinstance(o.overlay, Path):
            words.append(f"OVERLAY={shlex.quote(str(o.overlay))}")
        if isinstance(o.acpi, Path):
            words.append(f"ACPI={shlex.quote(str(o.acpi))}")
        elif o.acpi:
            tables = TOP / f"build/acpi-{zlib.crc32(o.acpi):08x}.bin"
            with contextlib.suppress(OSError):  # a checkout that cannot be written
                tables.write_bytes(o.acpi)
            words.append(f"ACPI={tables.relative_to(TOP)}")
        if o.icount:
            words.append("ICOUNT=1")
        if self.threads > 1:
            words.append("THREADS=multi")
        if o.watchdog:
            words.append(f"WATCHDOG={o.watchdog}")
        if o.model:
            words.append(f"MODEL={o.model}")
        if o.model_set:
            words.append(f"MODEL_SET={shlex.quote(o.model_set)}")
        if o.model_page:
            words.append(f"MODEL_PAGE={shlex.quote(str(o.model_page))}")
        if o.heat:
            words.append(f"HEAT={o.heat}")
        if o.disks:
            words.append(f"DISK={shlex.quote(shlex.join(o.disks))}")
        if o.swap is not None:
            words.append(f"SWAP={o.swap}")
        if o.trace is not None:
            words.append(f"TRACE={shlex.quote(str(o.trace))}")
        if o.forward:
            words.append(f"FORWARD={shlex.quote(' '.join(o.forward))}")
        if o.qemu_args:
            words.append(f"QEMU_ARGS={shlex.quote(shlex.join(o.qemu_args))}")
        built = o.iso.parent.relative_to(TOP / "build").parts if o.iso.is_relative_to(TOP / "build") else ()
        words += [f"PROFILE={part}" for part in built if part in PROFILES]
        if "test" in built:
            words.append("TEST=1")
        return " ".join(words)

    def check_built(self) -> None:
        """Raise MachineError if QEMU, or a file that make builds, is missing or cannot be used."""
        self.options.check_built()
        self.check_image()

    def start(self) -> "Guest":
        """Start QEMU.  After a MachineError no process and no file of the run is left (I1)."""
        self.check_built()
        _no_huge_pages()
        try:
            self._start()
        except BaseException:
            if self._process is None:
                self._clean_up()
            raise
        return self

    def _write_files(self) -> Path:
        """Make the run's folder with all files that QEMU reads.  MachineError if there is no room."""
        files = self.run_files()
        if self._model_text is not None:
            files["fireplane"] = self._model_text.encode()
        try:
            self._files = tempfile.TemporaryDirectory(prefix="homeroom.")
            folder = Path(self._files.name)
            for name, data in files.items():
                (folder / name).write_bytes(data)
            if self.options.trace is not None:
                with open(folder / TRACE_DISK, "wb") as image:
                    image.truncate(TRACE_BYTES * (self.machine.cpus + 1))  # sparse
            self._stderr = open(folder / "stderr", "w+", errors="replace")
        except OSError as error:
            where = tempfile.gettempdir() if self._files else os.environ.get("TMPDIR", "/tmp")
            raise MachineError(f"{where}: {error.strerror}: make room there, or name another folder in TMPDIR") from error
        return folder

    def _start(self) -> None:
        self._locks = disk.lock(self.options.disks)
        folder = self._write_files()
        if self._model_text is not None:
            self.page = model.new_page(self.machine, self.options.model_page, self._locks)
        self._servers, notes = disk.serve(self.options.disks, folder)
        self.notes += notes
        pairs = [socket.socketpair() for _ in range(2)]
        pipes = [os.pipe() for _ in range(2)]
        with contextlib.suppress(OSError):  # an administrator may have set a lower limit
            fcntl.fcntl(pipes[1][1], fcntl.F_SETPIPE_SZ, CONSOLE_BYTES)
        fds = tuple(theirs.fileno() for _, theirs in pairs)
        # With setpriv, Linux kills QEMU when this process ends, even if it is killed itself.
        with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        self._process = subprocess.Popen(
            [*with_us, *self.command(fds, folder)],
            stdin=pipes[0][0],
            stdout=pipes[1][1],
            stderr=self._stderr,
            pass_fds=fds,
        )
        if self._kill_kind is not None:
            self._kill_qemu()
        for _, theirs in pairs:
            theirs.close()
        os.close(pipes[0][0])
        os.close(pipes[1][1])
        self._console_in, self._console_out = open(pipes[0][1], "wb", buffering=0), open(pipes[1][0], "rb", buffering=0)
        self._verdict, self._qmp = (ours for ours, _ in pairs)
        self._qmp.settimeout(10)
        self._qmp_file = self._qmp.makefile("r")
        self._started = self._last_life = time.monotonic()
        for work in (self._read_console, self._read_verdicts, self._watch):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            self._threads.append(thread)

    # ---- while it runs -------------------------------------------------------------------------

    def _read_console(self) -> None:
        while data := _receive(self._console_out):
            with self.changed:
                self.console += data
                self.changed.notify_all()
            if self.on_console:
                self.on_console(data)

    def _read_verdicts(self) -> None:
        parser = Lines()
        while data := _receive(self._verdict):
            for line in parser.feed(data):
                self._last_life = time.monotonic()
                self._saw_alive |= line.startswith(b"alive")
                with self.changed:
                    self.lines.append(line.decode(errors="replace"))
                    self.changed.notify_all()
                if self.on_line:
                    self.on_line(line)

    def _watch(self) -> None:
        """Wait for QEMU's end.  With a watchdog, inject an NMI when the guest hangs, and kill QEMU if that does not end it."""
        watchdog, speed, nmi = self.options.watchdog, self.options.speed, None
        life, limit = self._last_life, Limit(self.pid, BOOT_GRACE * speed)
        while True:
            try:
                _, status, usage = _wait4(self._process.pid, 0.25 if watchdog else None)
                break
            except TimeoutError:
                pass
            if life != self._last_life:
                life = self._last_life
                limit = Limit(self.pid, speed * (ALIVE_FACTOR * watchdog if self._saw_alive else BOOT_GRACE))
            if nmi is None and limit.left() <= 0 and self._kill_kind is None:
                nmi = Limit(self.pid, NMI_GRACE)
                self._kill_kind = "hung"
                self.qmp("inject-nmi")
            elif nmi is not None and nmi.left() <= 0:
                self._kill_qemu()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._usage = usage.ru_utime + usage.ru_stime
        with self.changed:
            self._ended = True
            self.changed.notify_all()

    def qmp(self, command: str, **arguments) -> dict:
        """Run a QMP command and return its answer; {} if QEMU has ended."""
        with self._qmp_lock:
            try:
                if not self._ran:
                    self._ran = bool(self._qmp_file.readline())
                    self._qmp.sendall(b'{"execute": "qmp_capabilities"}\n')
                    self._qmp_file.readline()
                request = {"execute": command, "arguments": arguments}
                self._qmp.sendall(json.dumps(request).encode() + b"\n")
                while answer := self._qmp_file.readline():
                    if '"event"' not in answer:
                        return json.loads(answer)
            except OSError:
                pass
        return {}

    def send(self, data: bytes) -> None:
        """Type on the console."""
        with contextlib.suppress(OSError, ValueError):  # QEMU has ended, or the pipe was closed
            self._console_in.write(data)

    def send_verdict(self, data: bytes) -> None:
        """Write to the verdict port, which the test agent reads."""
        with contextlib.suppress(OSError):
            self._verdict.sendall(data)

    def wait_until(self, condition: Callable[[], object], timeout: float) -> object:
        """Wait until condition() is true, QEMU ends, or `timeout` seconds (times the speed factor) have passed; on a busy
        host the time is longer (patience.py).

        Returns the last value of condition(), which is called each time the console or the verdict lines have grown.
        """
        limit = Limit(self.pid, timeout * self.options.speed)
        with self.changed:
            while not (value := condition()) and not self._ended:
                if (left := limit.left()) <= 0:
                    self._host_too_busy = limit.host_too_busy()
                    break
                self.changed.wait(left)
            return value or condition()

    @property
    def pid(self) -> int:
        """The process id of QEMU; only after start()."""
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and not self._ended

    def text(self) -> str:
        """All output of the console, without carriage returns."""
        return self.console.decode(errors="replace").replace("\r", "")

    def tail(self, lines: int = 40) -> str:
        """The last lines of the console's output."""
        return "\n".join(self.text().splitlines()[-lines:])

    # ---- the end -------------------------------------------------------------------------------

    def ask(self) -> None:
        """Inject an NMI: the kernel prints what its CPUs do and what its threads wait for, and ends.  Call wait() then."""
        if self.running:
            self.qmp("inject-nmi")
            self.wait_until(lambda: False, NMI_GRACE)

    def kill(self, kind: str) -> None:
        """End QEMU now, or as soon as it starts.  The run's Outcome then has this `kind`.  Signal handlers may call it."""
        if not self._ended:
            self._kill_kind = self._kill_kind or kind
            self._kill_qemu()

    def _kill_qemu(self) -> None:
        # Not Popen.kill(): it would wait for the process, and _watch() does that.
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> Outcome:
        """Wait for the end of the run and clean up (I1); after `timeout` seconds (times the speed factor) kill it."""
        if self._outcome is not None:
            return self._outcome
        self.wait_until(lambda: False, timeout if timeout is not None else 10**8)
        if not self._ended:
            self.kill("timeout")
        for thread in self._threads:
            thread.join()
        self._stderr.seek(0)
        words = self._stderr.read().strip().splitlines()
        self._stderr.close()
        self._ran = self._ran or bool(self._qmp_file.readline())
        self._qmp_file.close()
        for end in (self._console_in, self._console_out, self._verdict, self._qmp):
            end.close()
        self._convert_trace()
        self._clean_up()
        # If the model refuses to start, it prints the reason, and QEMU a message after it: prefer the model's.
        words = [line for line in words if line.startswith("fireplane: ")][-1:] + words[-1:]
        self._outcome = self._judge(words[0] if words else "")
        return self._outcome

    def _clean_up(self) -> None:
        """Stop the servers and remove the run's files (I1).  The model's page is kept for `make watch`."""
        disk.stop(self._servers)
        disk.unlock(self._locks)
        if self._files is not None:
            self._files.cleanup()
        if self.page and not self.options.model_page:
            model.keep_last(self.page, self.machine)

    def _convert_trace(self) -> None:
        """Convert the trace, if there is one; sets `traced` and `trace_failed`."""
        if self.options.trace is None:
            return
        try:
            link_mbps = model.link_mbps(self._model_text) if self._model_text else 0
            self.traced = trace.write(Path(self._files.name) / TRACE_DISK, self.options.trace, link_mbps)
        except trace.TraceError as error:
            self.traced, self.trace_failed = f"no trace: {error}", True

    def _judge(self, last_words: str) -> Outcome:
        """How the run ended, from QEMU's exit code and the verdict lines.  `last_words`: QEMU's last message."""
        code, detail, status, rebooted = self._process.returncode, "", None, False
        for line in self.lines:
            word, _, rest = line.partition(" ")
            if word == "exit" and rest.strip().isdigit():
                status = int(rest)
            elif word in ("panic", "watchdog", "hung"):
                detail = rest
            rebooted |= word == "reboot"
        kinds = {EXIT_CLEAN: "clean", EXIT_PANIC: "panic", EXIT_WATCHDOG: "watchdog", 0: "reboot" if rebooted else "reset"}
        kind = kinds.get(code, "qemu") if self._ran else "qemu"
        if kind not in ("clean", "panic"):
            kind = self._kill_kind or kind
        if kind == "qemu":
            detail = last_words or (f"exit code {code}" if self._ran else "it ended before the machine had started")
        if kind == "timeout" and self._host_too_busy:
            detail = (
                f"this host is too busy: it gave QEMU {self._usage:.0f} s of CPU time "
                f"in {time.monotonic() - self._started:.0f} s"
            )
        return Outcome(kind, status, detail, self._usage)

    def close(self) -> None:
        """End the run if it has not ended yet."""
        if self._process is not None:
            self.kill("quit")
            self.wait()


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths name one file, also through links; the files may be missing."""
    with contextlib.suppress(OSError):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)


def quoted(path: Path) -> str:
    """A path inside an option of QEMU: a comma, which would end the value, is doubled."""
    return str(path).replace(",", ",,")


def _no_huge_pages() -> None:
    """Turn off transparent huge pages for this process and its children.

    The kernel first touches pages on all boards, and for each of these the host would clear 2 MiB.  That took a fifth of
    the CPU time of a boot with 72 CPUs.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


def _receive(end: socket.socket | io.FileIO) -> bytes:
    """The next bytes; empty at the end, or after an error."""
    try:
        return os.read(end.fileno(), 65536)
    except OSError:
        return b""


def _wait4(pid: int, period: float | None) -> tuple:
    """os.wait4(), but TimeoutError after `period` seconds; None: no limit."""
    if period is None:
        return os.wait4(pid, 0)
    end = time.monotonic() + period
    while True:
        done = os.wait4(pid, os.WNOHANG)
        if done[0] == pid:
            return done
        if time.monotonic() >= end:
            raise TimeoutError
        time.sleep(0.02)
