#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""launch.py - run Homeroom on one of its machines.

    qemu/launch.py sf15k --run 'lgrpinfo'       or    make qemu-sf15k RUN=lgrpinfo

The launcher starts QEMU with the machine of a file in qemu/machines, shows the guest's console on standard output,
and waits for the end.  On a terminal, keys go to the guest: Ctrl-C, too; Ctrl-A X ends the run.  If standard input is
a file or a pipe, the command of --run reads it; without --run, a shell in the guest executes it, and its end ends the run.

Exit status: that of the command or of this shell; 0 if the machine was shut down in another way; 141 if the reader of
our standard output has ended (a pipe to head); and
    120  a wrong option, a missing tool, QEMU failed     121  the machine ended without a verdict
    122  the kernel panicked    123  the kernel hung     124  the time limit (--timeout) is over
After an error, a line on standard error says which.
"""

import signal

if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until main() handles it, Ctrl-C ends this program without a traceback

import argparse
import contextlib
import os
import re
import select
import shlex
import sys
import termios
import threading
import tty
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from homeroom import guest, machine, model, peer

ESCAPE = 0x01  # Ctrl-A
DLE, END_OF_INPUT = b"\x10", b"\x10\x04"  # user/lib/console.c: each DLE of piped input is sent twice; DLE EOT is its end


def say(text: str) -> None:
    print(f"homeroom: {text}", file=sys.stderr, flush=True)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line, or of `given`; with --make, those not given there come from make's variables."""
    parser = argparse.ArgumentParser(
        prog="launch.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("machine", help=f"one of {', '.join(machine.names())}, or a .toml file")
    add("--run", help="command line to run in the guest; the launcher exits with its status")
    add("--system", help="/etc/system lines, separated by semicolons")
    add("--release", help="9/02: the settings of this Solaris release, from the machine's file; before those of --system")
    add("--overlay", help="directory whose files are added to the root file system, or replace files there")
    add("--boards", help="only the first BOARDS boards")
    add("--mem", help="memory of each board: 256M, 1G")
    add("--seed", help="boot seed, from which the kernel derives its random choices; by default a new one for each run")
    add("--acpi", help="file of replacement ACPI tables")
    add("--watchdog", help="seconds without progress after which the kernel counts as hung")
    add("--timeout", help="seconds after which the run is killed")
    add("--icount", help="1: one CPU, and time counted in instructions")
    add("--threads", help="single: one host thread for all CPUs; multi: one for each; auto: multi if the host has enough cores")
    add("--model", help="fireplane: attach the interconnect model")
    add("--model-page", help="keep the model's shared page in this file")
    add("--model-set", help="parameters of the model, separated by semicolons")
    add("--heat", help="count misses by page, one of HEAT; 1: all of them; 0: none (docs/heat.md)")
    add("--disk", action="append", help="a disk: FILE[,bus=ide][,readonly]...; may be given several times (docs/disks.md)")
    add("--net", help="number of network cards; behind each is a user network of QEMU (docs/network.md)")
    add("--forward", action="append", help="PORT[/udp][@CARD] of the guest that the host can reach; may be given several times")
    add("--trace", help="trace the command of --run into this file, for ui.perfetto.dev (docs/trace.md)")
    add("--swap", help="swap space of the guest: one of the disks, or a partition: /dev/vdb")
    add("--root", help="ext: the root file system is build/root.img, the first disk; it keeps what a run writes")
    add("--qemu-args", help="more arguments for QEMU")
    add("--iso", help="image to boot (build/homeroom.iso); QEMU loads kernel.elf and initramfs.cpio from the same folder")
    add("--peer", help="linux: boot Linux instead, with the same benchmarks (docs/peer.md)")
    add("--balancing", help="0: Linux without NUMA balancing")
    add("--peer-sched", help="Linux's I/O scheduler for every disk: mq-deadline, bfq, kyber or none")
    add("--peer-depth", help="number of commands that Linux gives a disk at a time, like disk_depth of Homeroom")
    add("--gdb", help="port on which QEMU waits for GDB; the machine is stopped until GDB continues it")
    add("--print", action="store_true", help="print the QEMU command instead of running it")
    add("--check", action="store_true", help="only check the options; the files that make builds may be missing")
    add("--make", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(given)
    if args.make:
        for name, value in vars(args).items():
            if value is None and os.environ.get(name.upper()):
                setattr(args, name, os.environ[name.upper()])
        if isinstance(args.disk, str):
            args.disk = words("DISK", args.disk)
        if isinstance(args.forward, str):
            args.forward = args.forward.split()
    return args


# The range of each option that is a number.  machine.load() compares BOARDS with the number that the machine has.
RANGES = {
    "BOARDS": (1, 255),
    "NET": (0, machine.CARD_LIMIT),
    "SEED": (0, 2**64 - 1),
    "WATCHDOG": (0, 86400),  # s; 0: none
    "TIMEOUT": (1, 10**7),  # s
    "ICOUNT": (0, 1),
    "HEAT": (0, model.HEAT_MOST),
    "BALANCING": (0, 1),
    "PEER_DEPTH": (1, peer.DEPTH_LIMIT),
    "GDB": (1, 65535),
}


def number(args: argparse.Namespace, name: str) -> int | None:
    """The number of an option; None if it was not given.  MachineError if it is not a number, or outside its range."""
    text, (least, most) = getattr(args, name.lower()), RANGES[name]
    if not text:
        return None
    if re.fullmatch("[0-9]+|0x[0-9a-fA-F]+", text) and least <= (value := int(text, 16 if "x" in text else 10)) <= most:
        return value
    raise machine.MachineError(f"{name}={text}: write {'0 or 1' if most == 1 else f'a number from {least} to {most}'}")


def words(name: str, text: str) -> list[str]:
    """The words of an option, split as a shell does.  MachineError if a quote is not closed."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise machine.MachineError(f"{name}={text}: {error}; write it as words of a shell") from None


def root_disk(args: argparse.Namespace) -> list[str]:
    """The disk of ROOT=ext: root.img in the folder of the image; none without ROOT.  MachineError if it is missing."""
    if not args.root:
        return []
    image = (Path(args.iso).parent if args.iso else machine.TOP / "build") / "root.img"  # of the same build
    if args.root != "ext":
        raise machine.MachineError(f"ROOT={args.root}: there is only ext")
    if args.check:
        return []
    if not image.is_file():
        raise machine.MachineError(f"{image} is missing: make root")
    return [str(image)]


def overlay(args: argparse.Namespace) -> Path | None:
    """The directory of OVERLAY; None with --check for one that make builds, because it may be missing then."""
    made = args.check and any(tree in (args.overlay or "") for tree in ("build/dynamic", "build/openmp"))
    return Path(args.overlay) if args.overlay and not made else None


def root_lines(kind: str | None) -> str:
    return "rootfs:ext3; rootdev:/dev/vda" if kind else ""


def piped_input() -> str:
    """The kind of our standard input, as guest.Options.piped wants it: "" for a terminal."""
    if os.isatty(0):
        return ""
    return "nothing" if os.fstat(0).st_rdev == os.stat(os.devnull).st_rdev else "pipe"


def make_guest(args: argparse.Namespace) -> guest.Guest:
    """The run that the options describe, not started yet.  MachineError if an option is wrong."""
    chosen = machine.load(args.machine, number(args, "BOARDS"), args.mem, number(args, "NET"))
    lines = [root_lines(args.root), chosen.release(args.release) if args.release and not args.peer else "", args.system or ""]
    options = guest.Options(
        run=args.run,
        system="; ".join(filter(None, lines)) or None,
        overlay=overlay(args),
        seed=number(args, "SEED"),
        watchdog=number(args, "WATCHDOG"),
        icount=bool(number(args, "ICOUNT")),
        acpi=Path(args.acpi) if args.acpi else None,
        threads=args.threads or ("auto" if args.make else "single"),
        model=args.model or None,
        model_page=Path(args.model_page).absolute() if args.model_page else None,
        model_set=args.model_set,
        heat=number(args, "HEAT") or 0,
        disks=[*root_disk(args), *(args.disk or [])],
        swap=args.swap or None,
        forward=args.forward or [],
        trace=Path(args.trace) if args.trace else None,
        qemu_args=words("QEMU_ARGS", args.qemu_args or ""),
        gdb_port=number(args, "GDB"),
        terminal=terminal_size() if os.isatty(0) else None,
        piped="" if args.gdb else piped_input(),  # a machine that is debugged must not end with its input
    )
    if args.iso:
        options.iso = Path(args.iso)
    if not args.peer:
        for name in ("balancing", "peer_sched", "peer_depth"):
            if getattr(args, name):
                raise machine.MachineError(f"{name.upper()}: only Linux has it (PEER=linux)")
        return guest.Guest(chosen, options)
    if args.peer != "linux":
        raise machine.MachineError(f"PEER={args.peer}: there is only linux")
    for name in ("root", "release", "heat"):
        if getattr(args, name):
            raise machine.MachineError(f"{name.upper()}: only Homeroom has it, not PEER=linux")
    depth = number(args, "PEER_DEPTH")
    return peer.Peer(chosen, options, number(args, "BALANCING") != 0, args.peer_sched or None, depth)


def relay_keyboard(run: guest.Guest) -> None:
    """Pass keys from the terminal to the guest; Ctrl-A X ends the run, Ctrl-A Ctrl-A sends one Ctrl-A."""
    escaped, typed = False, bytearray()
    while run.running:
        if select.select([0], [], [], 0.2)[0]:
            if not (data := os.read(0, 1024)):
                return
            for key in data:
                if escaped:
                    escaped = False
                    if key in b"xX":
                        run.kill("quit")
                    elif key == ESCAPE:
                        typed.append(key)
                    else:
                        sys.stderr.write("\r\nCtrl-A X ends the run, Ctrl-A Ctrl-A types Ctrl-A\r\n")
                elif key == ESCAPE:
                    escaped = True
                else:
                    typed.append(key)
        # The kernel's set-up of the serial port clears its buffers: keys sent before that would be lost.  After the
        # first output the port is set up.
        if typed and run.console:
            run.send(bytes(typed))
            typed.clear()


def relay_input(run: guest.Guest) -> None:
    """Pass standard input (a file or a pipe) and its end to the guest, once the guest reads it (user/lib/console.c)."""
    run.wait_until(lambda: "input" in run.lines, 10**8)
    with contextlib.suppress(OSError):  # an error in reading is an end of the input, too
        while run.running and (data := os.read(0, 65536)):
            run.send(data.replace(DLE, DLE + DLE))
    run.send(END_OF_INPUT)


def terminal_size() -> tuple[int, int] | None:
    """Rows and columns of the terminal on standard input; None if it does not know them."""
    columns, rows = os.get_terminal_size(0)
    return (rows, columns) if rows > 0 and columns > 0 else None


class Screen:
    """Writes the guest's console to standard output.

    `plain`: each \\r\\n becomes a newline, also if the two bytes arrive in different pieces.
    If a write fails, the run ends and `error` is the reason; `unread`: it failed because the reader of a pipe has ended.
    """

    def __init__(self, run: guest.Guest, plain: bool) -> None:
        self._run, self._plain, self._kept = run, plain, b""
        self.error, self.unread = "", False

    def show(self, data: bytes) -> None:
        if self._plain:
            data = self._kept + data
            self._kept = data[-1:] if data.endswith(b"\r") else b""
            data = data.removesuffix(self._kept).replace(b"\r\n", b"\n")
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            self.unread = isinstance(error, BrokenPipeError)
            self.error = f"standard output: {error.strerror}"
            self._run.kill("quit")


def standard_streams() -> None:
    """Open /dev/null for each standard stream that is closed, so that no file that we open gets its number.

    MachineError if standard output was closed.
    """
    closed = []
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            closed.append(os.open(os.devnull, os.O_RDWR))
    if 2 in closed:
        sys.stderr = open(2, "w", closefd=False)
    if 1 in closed:
        raise machine.MachineError("standard output is closed; >/dev/null throws the output away")


def main() -> int:
    try:
        standard_streams()
        args = arguments()
        limit = number(args, "TIMEOUT")
        run = make_guest(args)
        if args.check:
            return 0
        run.check_built()
        if args.print:
            print(shlex.join(run.command()))
            return 0
    except machine.MachineError as error:
        say(str(error))
        return guest.STATUS_SETUP
    if note := guest.untried():
        say(note)
    say(f"{run.machine.describe()}, seed {run.seed:#x}, {run.threads} host thread{'s' if run.threads > 1 else ''}")
    is_tty = os.isatty(0)
    screen = Screen(run, plain=not is_tty)
    run.on_console = screen.show
    saved = termios.tcgetattr(0) if is_tty else None
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(sig) != signal.SIG_IGN:
            signal.signal(sig, lambda *_: run.kill("signal"))
    try:
        if saved:
            tty.setraw(0, termios.TCSADRAIN)  # keys typed before now are kept
        run.start()
        for note in run.notes:
            print(f"homeroom: {note}", end="\r\n" if saved else "\n", file=sys.stderr, flush=True)
        if is_tty or run.options.piped == "pipe":
            relay = relay_keyboard if is_tty else relay_input
            threading.Thread(target=relay, args=(run,), daemon=True).start()
        outcome = run.wait(limit)
    except machine.MachineError as error:
        say(str(error))
        return guest.STATUS_SETUP
    finally:
        run.close()
        if saved:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)
    wants = args.run is not None
    if run.traced:
        say(run.traced)
    if screen.unread:
        return 128 + signal.SIGPIPE
    if screen.error:
        say(screen.error)
        return guest.STATUS_SETUP
    if text := outcome.message(wants):
        say(text)
        say(f"to repeat it: {run.repeat()}{f' TIMEOUT={limit}' if limit else ''}")
    return outcome.exit_code(wants) or (guest.STATUS_SETUP if run.trace_failed else 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:  # a file that cannot be read or written, a full disk
        say(": ".join(filter(None, (str(error.filename or ""), error.strerror or str(error)))))
        sys.exit(guest.STATUS_SETUP)
