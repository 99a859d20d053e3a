# SPDX-License-Identifier: MIT
"""disk.py - the disks of a run, as QEMU arguments.

A disk is written  WHAT[,option]...  where WHAT is

    FILE                a raw image
    nbd:SOCKET          what a server of network block devices offers on a Unix socket

and the options are

    bus=virtio|ide      the controller (virtio); QEMU's PIIX takes four disks
    readonly            the guest may not write (virtio)
    queues=N            of a virtio disk; by default one for each CPU, at most four
    blkdebug=FILE       inject the errors that FILE describes (QEMU's blkdebug)
    blklogwrites=FILE   record all writes and flushes in FILE (format of Linux's dm-log-writes)

The i-th virtio disk is /dev/vda, /dev/vdb, ...; the i-th IDE disk /dev/hda, /dev/hdb, ...  Errors of the image reach
the guest as errors of the disk.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from homeroom.machine import MachineError

BUSES = ("virtio", "ide")
IDE_LIMIT, VIRTIO_LIMIT, QUEUES_USUAL = 4, 16, 4
USAGE = "DISK='FILE[,bus=ide][,readonly][,queues=N][,blkdebug=FILE][,blklogwrites=FILE]'"


@dataclass
class Disk:
    source: str
    bus: str = "virtio"
    readonly: bool = False
    queues: int | None = None
    blkdebug: str | None = None
    blklogwrites: str | None = None


def parse(text: str) -> Disk:
    """A disk from its description.  MachineError says what is wrong with it."""
    source, *options = text.split(",")
    disk = Disk(source)
    for option in options:
        key, equals, value = option.partition("=")
        if key == "readonly" and not equals:
            disk.readonly = True
        elif key == "bus" and value in BUSES:
            disk.bus = value
        elif key == "queues" and value.isdigit() and int(value) > 0:
            disk.queues = int(value)
        elif key in ("blkdebug", "blklogwrites") and value:
            setattr(disk, key, value)
        else:
            raise MachineError(f"DISK={text}: '{option}' is no option; {USAGE}")
    _check(text, disk)
    return disk


def _check(text: str, disk: Disk) -> None:
    if disk.bus == "ide" and (disk.readonly or disk.queues):
        raise MachineError(f"DISK={text}: an IDE disk has one queue and can be written")
    kind, colon, rest = disk.source.partition(":")
    if not disk.source:
        raise MachineError(f"DISK={text}: it names no file; {USAGE}")
    if kind == "nbd" and colon:
        if not Path(rest).is_socket():
            raise MachineError(f"DISK={text}: {rest} is not a socket")
    elif not Path(disk.source).is_file():
        raise MachineError(f"DISK={text}: {disk.source} is not a file")
    elif Path(disk.source).stat().st_size < 512:
        raise MachineError(f"DISK={text}: {disk.source} is smaller than a sector")
    if disk.blkdebug and not Path(disk.blkdebug).is_file():
        raise MachineError(f"DISK={text}: {disk.blkdebug} is not a file")


def _node(disk: Disk, name: str) -> dict:
    """QEMU's description of where the bytes are."""
    if disk.source.startswith("nbd:"):
        node = {"driver": "nbd", "server": {"type": "unix", "path": disk.source[4:]}}
    else:
        node = {"driver": "raw", "file": {"driver": "file", "filename": disk.source}}
        if disk.readonly:
            node["file"]["read-only"] = True
    if disk.blkdebug:
        node = {"driver": "blkdebug", "config": disk.blkdebug, "image": node}
    if disk.blklogwrites:
        Path(disk.blklogwrites).touch()
        log = {"driver": "file", "filename": disk.blklogwrites}
        node = {"driver": "blklogwrites", "file": node, "log": log, "log-append": False}
    node["node-name"] = name
    if disk.readonly:
        node["read-only"] = True
    return node


def qemu_args(disks: list[str], cpus: int) -> list[str]:
    """The arguments for all disks of a run on a machine with so many CPUs."""
    args: list[str] = []
    counts = dict.fromkeys(BUSES, 0)
    for number, text in enumerate(disks):
        disk = parse(text)
        i, name = counts[disk.bus], f"disk{number}"
        counts[disk.bus] += 1
        if i >= (IDE_LIMIT if disk.bus == "ide" else VIRTIO_LIMIT):
            raise MachineError(f"DISK={text}: there may be {IDE_LIMIT} IDE and {VIRTIO_LIMIT} virtio disks")
        args += ["-blockdev", json.dumps(_node(disk, name))]
        if disk.bus == "ide":
            device = f"ide-hd,drive={name},bus=ide.{i // 2},unit={i % 2}"
        else:
            queues = disk.queues or min(QUEUES_USUAL, cpus)
            device = f"virtio-blk-pci,drive={name},disable-legacy=on,num-queues={queues}"
        args += ["-device", f"{device},rerror=report,werror=report"]
    return args
