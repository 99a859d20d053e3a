# SPDX-License-Identifier: MIT
"""peer.py - one run of Linux on the same machine, for comparison with Homeroom.

THEORY      A Peer is a Guest that boots another system: Debian's unmodified kernel, with an initramfs of busybox and the
            benchmark programs of Homeroom's image.  The code for the machine, its tables, the model and the devices is
            that of Guest, so both systems run on the same machine.
            QEMU boots the kernel as an ELF file (PVH) that was unpacked before; unpacking it in the guest would take
            longer than the rest of the boot.
            The initrd consists of several archives.  First comes the initramfs.  With disks, the modules for them
            follow.  The last one has the files of the run: /command, the console's /piped and /terminal
            (user/lib/console.c), and with disks the settings of modules and disk queues.
INVARIANTS  I1  as in guest.py: no success without a verdict.  A Linux that panics resets the machine (panic=-1), which
                ends QEMU; the text on the console distinguishes a panic from another reset
SEE ALSO    docs/peer.md, tools/peer/init.c (process 1), tools/peer/kernel.py (where the kernel is from)
"""

import os
import re
from dataclasses import replace
from pathlib import Path

from homeroom import disk
from homeroom.cpio import Archive
from homeroom.guest import Guest, Options, Outcome
from homeroom.machine import TOP, MachineError

FOLDER = TOP / "build/peer"
KERNEL, INITRAMFS, MODULES = FOLDER / "vmlinux", FOLDER / "initramfs.cpio", FOLDER / "modules.cpio"
SCHEDULERS = ("mq-deadline", "bfq", "kyber", "none")  # those of Debian's kernel; tools/peer/kernel.py gets their modules
DEPTH_LIMIT = 256  # commands that QEMU's virtio disk takes at a time
# Number of requests that an I/O scheduler holds and can reorder.  Linux uses twice the depth of the disk: only two requests
# for a disk that takes one command at a time.  This is the number that Linux uses for a disk that takes many.
REQUESTS = 256

# Linux's command line, besides numa_balancing.
COMMAND_LINE = (
    "console=ttyS0,115200 quiet rdinit=/sbin/init panic=-1",
    "transparent_hugepage=never",  # pages of 4 KiB, as Homeroom uses for the same mmap
    "mitigations=off nokaslr rodata=off",  # the machine does not speculate; the same addresses in each boot
    "nowatchdog rcupdate.rcu_cpu_stall_suppress=1",  # 72 CPUs take turns in one thread of the host
    "tsc=reliable lpj=4000000 no_timer_check",  # no calibration against other clocks, which take turns as well
    "apparmor=0 audit=0 cryptomgr.notests",  # without services that this machine does not need
)


class Peer(Guest):
    """One run of Linux.

    `balancing`: NUMA balancing, which Linux has on by default.  `scheduler`: the I/O scheduler of every disk; None: as Linux
    chooses.  `depth`: number of commands that a disk gets at a time; None: as many as it takes.
    """

    def __init__(
        self, machine, options: Options, balancing: bool = True, scheduler: str | None = None, depth: int | None = None
    ) -> None:
        self.balancing, self.scheduler, self.depth = balancing, scheduler, depth
        if scheduler is not None and scheduler not in SCHEDULERS:
            raise MachineError(f"PEER_SCHED={scheduler}: write {', '.join(SCHEDULERS[:-1])} or {SCHEDULERS[-1]}")
        for name, value in (("PEER_SCHED", scheduler), ("PEER_DEPTH", depth)):
            if value is not None and not options.disks:
                raise MachineError(f"{name}: it needs a disk (DISK=)")
        for text in options.disks:
            one = disk.parse(text)
            if one.bus != "virtio":
                raise MachineError(f"DISK={text}: bus={one.bus}: only Homeroom has it, not PEER=linux")
            if depth is not None and (one.queues or 1) != 1:
                raise MachineError(f"DISK={text}: PEER_DEPTH counts the commands of a queue: leave queues= out")
        if depth is not None:  # one queue, so that the depth of the queue is that of the disk
            options = replace(options, disks=[t if "queues=" in t else f"{t},queues=1" for t in options.disks])
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
        if self.options.disks and not MODULES.is_file():
            raise MachineError(f"DISK: {MODULES}, Linux's modules for disks, is missing: tools/deps.sh peer, with a network")

    def run_files(self) -> dict[str, bytes]:
        archive = Archive()
        if isinstance(self.options.overlay, Path):
            try:
                archive.tree(self.options.overlay)
            except ValueError as error:
                raise MachineError(f"OVERLAY: {error}") from error
        if self.options.run is not None:
            archive.file("command", os.fsencode(self.options.run))
        for name, data in self._console_files().items() | self._disk_files().items():
            archive.file(name, data)
        modules = MODULES.read_bytes() if self.options.disks else b""
        return {"initrd": INITRAMFS.read_bytes() + modules + archive.pack()}

    def _disk_files(self) -> dict[str, bytes]:
        """The files about disks that the first process reads: name and contents."""
        files = {"scheduler": self.scheduler, "swap": self.options.swap}
        if self.depth is not None:
            files["modules/virtio_blk.options"] = f"queue_depth={self.depth}"
            if self.scheduler != "none":  # only a scheduler holds requests
                files["requests"] = str(REQUESTS)
        return {name: text.encode() for name, text in files.items() if text is not None}

    def boot_args(self, files: Path) -> list[str]:
        line = " ".join((*COMMAND_LINE, f"numa_balancing={'enable' if self.balancing else 'disable'}"))
        return ["-kernel", str(KERNEL), "-initrd", str(files / "initrd"), "-append", line]

    def counted(self) -> bool:
        return self.options.icount  # Linux does not complete its boot if several CPUs take turns by instructions

    def repeat(self) -> str:
        words = f" PEER=linux BALANCING={int(self.balancing)}"
        words += f" PEER_SCHED={self.scheduler}" if self.scheduler else ""
        words += f" PEER_DEPTH={self.depth}" if self.depth else ""
        return super().repeat().replace(" SEED=", f"{words} SEED=", 1)

    def _judge(self, last_words: str) -> Outcome:
        outcome = super()._judge(last_words)
        panic = re.search(r"Kernel panic - not syncing: (.*)", self.text())
        if panic and outcome.kind == "reset":
            outcome.kind, outcome.detail = "panic", panic[1].strip()
        return outcome
