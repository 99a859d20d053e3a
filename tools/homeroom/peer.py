# SPDX-License-Identifier: MIT
"""peer.py - one run of Linux on the same machine, for comparison with Homeroom.

THEORY      A Peer is a Guest that boots something else: Debian's kernel, unmodified, and an initramfs with busybox
            and the benchmark binaries of Homeroom's image.  Machine, tables, model and devices are the same code.
            The kernel is booted as an ELF file (PVH), already unpacked: unpacking it in the guest takes longer than
            the rest of the boot.  The run's command is the file /command of a second archive after the initramfs; /piped and
            /terminal are of the console (user/lib/console.c).
INVARIANTS  I1  as in guest.py: no verdict, no success.  A Linux that panics resets the machine (panic=-1), which
                ends QEMU; what it said on the console tells a panic from another reset
SEE ALSO    docs/peer.md, tools/peer/init.c (process 1), tools/peer/kernel.py (where the kernel is from)
"""

import os
import re
from pathlib import Path

from homeroom.cpio import Archive
from homeroom.guest import Guest, Options, Outcome
from homeroom.machine import TOP, MachineError

FOLDER = TOP / "build/peer"
KERNEL, INITRAMFS = FOLDER / "vmlinux", FOLDER / "initramfs.cpio"

# Linux's command line, besides numa_balancing.
COMMAND_LINE = (
    "console=ttyS0,115200 quiet rdinit=/sbin/init panic=-1",
    "transparent_hugepage=never",  # pages of 4 KiB, as Homeroom gives for the same mmap
    "mitigations=off nokaslr rodata=off",  # the model has no speculation to protect from; the same addresses each time
    "nowatchdog rcupdate.rcu_cpu_stall_suppress=1",  # 72 CPUs take turns in one thread of the host
    "tsc=reliable lpj=4000000 no_timer_check",  # no calibration against other clocks, which take turns as well
    "apparmor=0 audit=0 cryptomgr.notests",  # nothing that this machine has no use for
)


class Peer(Guest):
    """A Linux machine that runs.  `balancing`: Linux's NUMA balancing, which is on by default."""

    def __init__(self, machine, options: Options, balancing: bool = True) -> None:
        self.balancing = balancing
        if machine.proximity_domains is not None:
            raise MachineError(f"{machine.name}: PEER=linux cannot renumber proximity domains")
        super().__init__(machine, options)
        for name in ("system", "watchdog", "agent", "acpi", "trace"):
            if getattr(options, name):
                raise MachineError(f"{name.upper()}: only Homeroom has it, not PEER=linux")

    def check_image(self) -> None:
        for path in (KERNEL, INITRAMFS):
            if not path.is_file():
                raise MachineError(f"{path} is missing: make peer")

    def run_files(self) -> dict[str, bytes]:
        archive = Archive()
        if isinstance(self.options.overlay, Path):
            try:
                archive.tree(self.options.overlay)
            except ValueError as error:
                raise MachineError(f"OVERLAY: {error}") from error
        if self.options.run is not None:
            archive.file("command", os.fsencode(self.options.run))
        for name, data in self._console_files().items():
            archive.file(name, data)
        return {"initrd": INITRAMFS.read_bytes() + archive.pack()}

    def boot_args(self, files: Path) -> list[str]:
        line = " ".join((*COMMAND_LINE, f"numa_balancing={'enable' if self.balancing else 'disable'}"))
        return ["-kernel", str(KERNEL), "-initrd", str(files / "initrd"), "-append", line]

    def repeat(self) -> str:
        return super().repeat().replace(" SEED=", f" PEER=linux BALANCING={int(self.balancing)} SEED=", 1)

    def _judge(self, last_words: str) -> Outcome:
        outcome = super()._judge(last_words)
        panic = re.search(r"Kernel panic - not syncing: (.*)", self.text())
        if panic and outcome.kind == "reset":
            outcome.kind, outcome.detail = "panic", panic[1].strip()
        return outcome
