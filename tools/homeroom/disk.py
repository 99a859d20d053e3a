# SPDX-License-Identifier: MIT
"""disk.py - the disks of a run, as QEMU arguments.

A disk is written  WHAT[,option]...  where WHAT is

    FILE                a raw image
    nbd:SOCKET          the device of a server for network block devices, on a Unix socket
    refdisk:FILE        a raw image that is as slow as the reference disk (qemu/refdisk)

and the options are

    bus=virtio|ide      the controller (virtio); at most four disks are IDE
    readonly            the guest cannot write (virtio only)
    queues=N            number of queues of a virtio disk; by default one for each CPU, at most four
    bps=N               transfer at most N bytes in a second of the host's time
    unsafe              flushes do not reach the host's disk: a crash of the host may lose what the guest has written
    blkdebug=FILE       inject the errors that FILE describes (QEMU's blkdebug)
    blklogwrites=FILE   record all writes and flushes in FILE (format of Linux's dm-log-writes)

and for a refdisk

    scale=N             divide all times by N (1)
    model=NAME          use the parameters in qemu/refdisk/NAME.toml (ibm0661)
    log=FILE            write a line for each request

In the guest, virtio disks are /dev/vda, /dev/vdb, ... in this order, and IDE disks /dev/hda, /dev/hdb, ...  An error in
reading or writing the image is an error of the disk to the guest.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from homeroom.machine import TOP, MachineError, check_writable

BUSES = ("virtio", "ide")
IDE_LIMIT, VIRTIO_LIMIT, QUEUES_USUAL, QUEUES_LIMIT = 4, 16, 4, 64
PLUGIN = TOP / "build/refdisk.so"
SERVER_SECONDS = 20  # nbdkit must be ready after this time
USAGE = "DISK='FILE[,bus=ide][,readonly][,queues=N][,bps=N][,unsafe][,blkdebug=FILE][,blklogwrites=FILE]'"


@dataclass
class Disk:
    source: str
    bus: str = "virtio"
    readonly: bool = False
    queues: int | None = None
    bps: int | None = None
    unsafe: bool = False
    blkdebug: str | None = None
    blklogwrites: str | None = None
    scale: str | None = None
    model: str | None = None
    log: str | None = None

    @property
    def reference(self) -> str | None:
        """The image, if this is a reference disk; otherwise None."""
        return self.source.removeprefix("refdisk:") if self.source.startswith("refdisk:") else None


def parse(text: str) -> Disk:
    """The disk that `text` describes.  MachineError if the description is wrong, or names a file that cannot be used."""
    source, *options = text.split(",")
    disk = Disk(source)
    for option in options:
        key, equals, value = option.partition("=")
        if key == "readonly" and not equals:
            disk.readonly = True
        elif key == "unsafe" and not equals:
            disk.unsafe = True
        elif key == "bus" and value in BUSES:
            disk.bus = value
        elif key == "queues" and re.fullmatch("[0-9]{1,3}", value) and 1 <= int(value) <= QUEUES_LIMIT:
            disk.queues = int(value)
        elif key == "queues":
            raise MachineError(f"DISK={text}: queues={value}: write a number from 1 to {QUEUES_LIMIT}")
        elif key == "bps" and re.fullmatch("[1-9][0-9]{3,11}", value):
            disk.bps = int(value)
        elif key == "bps":
            raise MachineError(f"DISK={text}: bps={value}: write a number from 1000 to 999999999999")
        elif value and (key in ("blkdebug", "blklogwrites") or (disk.reference and key in ("scale", "model", "log"))):
            setattr(disk, key, value)
        else:
            raise MachineError(f"DISK={text}: '{option}' is not an option; {USAGE}")
    _check(text, disk)
    return disk


def _model(disk: Disk) -> Path:
    """The parameter file of a reference disk."""
    return TOP / f"qemu/refdisk/{disk.model or 'ibm0661'}.toml"


def _check(text: str, disk: Disk) -> None:
    if disk.bus == "ide" and (disk.readonly or disk.queues):
        raise MachineError(f"DISK={text}: an IDE disk has one queue and can be written")
    kind, colon, rest = disk.source.partition(":")
    if not disk.source:
        raise MachineError(f"DISK={text}: it names no file; {USAGE}")
    if kind == "nbd" and colon:
        if not Path(rest).is_socket():
            raise MachineError(f"DISK={text}: {rest} is not a socket")
        return
    image = Path(disk.reference or disk.source)
    if not image.is_file():
        raise MachineError(f"DISK={text}: {image} is not a file")
    if image.stat().st_size < 512:
        raise MachineError(f"DISK={text}: {image} is smaller than a sector")
    if not os.access(image, os.R_OK if disk.readonly else os.R_OK | os.W_OK):
        way = "read" if disk.readonly else "read and written; for the first alone add ,readonly"
        raise MachineError(f"DISK={text}: {image} cannot be {way}")
    if disk.reference and not _model(disk).is_file():
        models = ", ".join(sorted(path.stem for path in _model(disk).parent.glob("*.toml")))
        raise MachineError(f"DISK={text}: no model '{disk.model}'; there are: {models}")
    if disk.blkdebug and not Path(disk.blkdebug).is_file():
        raise MachineError(f"DISK={text}: {disk.blkdebug} is not a file")
    try:
        sound = 0.001 <= float(disk.scale or 1) <= 1_000_000
    except ValueError:
        sound = False
    if not sound:
        raise MachineError(f"DISK={text}: scale={disk.scale}: write a number from 0.001 to 1000000")
    for log in filter(None, (disk.blklogwrites, disk.log)):
        check_writable("DISK", Path(log))


def files(text: str) -> list[tuple[str, Path, bool]]:
    """The files of a disk, as (description, path, whether the run writes it)."""
    disk = parse(text)
    image = disk.reference or ("" if disk.source.startswith("nbd:") else disk.source)
    found = [("a disk", image, not disk.readonly), ("a disk's errors", disk.blkdebug, False)]
    found += [("a disk's log", disk.log, True), ("a disk's log", disk.blklogwrites, True)]
    return [(what, Path(name), writes) for what, name, writes in found if name]


def check_all(disks: list[str], others: int = 0) -> None:
    """Raise MachineError if a description is wrong, or if there are too many disks.  `others`: further virtio disks."""
    buses = [parse(text).bus for text in disks]
    if buses.count("ide") > IDE_LIMIT or buses.count("virtio") + others > VIRTIO_LIMIT:
        raise MachineError(f"DISK: there may be {IDE_LIMIT} IDE and {VIRTIO_LIMIT} virtio disks, ROOT= and TRACE= included")


def check_swap(name: str, disks: list[str]) -> None:
    """Raise MachineError unless `name` (SWAP=) is the guest's name of one of these disks, or of a partition."""
    found = re.fullmatch(r"/dev/([vh])d([a-z])\d{0,3}", name)
    if not found:
        raise MachineError(f"SWAP={name}: write a disk of DISK=, or a partition of one: /dev/vdb, /dev/vda2")
    bus = "virtio" if found[1] == "v" else "ide"
    if sum(parse(text).bus == bus for text in disks) <= ord(found[2]) - ord("a"):
        raise MachineError(f"SWAP={name}: DISK= has no such disk")


def check_built(disks: list[str]) -> None:
    """Raise MachineError if a disk needs nbdkit or the plugin for reference disks, and it is missing."""
    if any(parse(text).reference for text in disks):
        if shutil.which("nbdkit") is None:
            raise MachineError("nbdkit is missing: tools/deps.sh refdisk")
        if not PLUGIN.is_file():
            raise MachineError(f"{PLUGIN} is missing: make refdisk")


def lock(disks: list[str]) -> list[int]:
    """Lock the images of a run: shared for a disk that is only read, otherwise exclusive.

    Returns the file descriptors that hold the locks, for unlock().  MachineError if another run has an image.
    """
    held: list[int] = []
    for text in disks:
        for what, path, writes in files(text):
            if what == "a disk":
                held.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                try:
                    fcntl.flock(held[-1], (fcntl.LOCK_EX if writes else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                except OSError as error:
                    unlock(held)
                    raise MachineError(f"DISK={text}: another run uses {path}; copy it, or end that run") from error
    return held


def unlock(held: list[int]) -> None:
    while held:
        os.close(held.pop())


def _socket(folder: Path, number: int) -> Path:
    return folder / f"disk{number}.sock"


def serve(disks: list[str], folder: Path) -> tuple[list[subprocess.Popen], list[str]]:
    """Start a server (nbdkit) for each reference disk, with its socket in `folder`, and wait until it is ready.

    Returns the servers, for stop(), and a line to print for each.  MachineError with nbdkit's message if one fails.
    """
    servers, notes = [], []
    for number, text in enumerate(disks):
        disk = parse(text)
        if disk.reference is None:
            continue
        values = tomllib.loads(_model(disk).read_text())
        title = values.pop("title")
        words = [f"{key}={value}" for key, value in values.items()]
        words += [f"file={Path(disk.reference).absolute()}", f"scale={disk.scale or 1}"]
        words += [f"log={Path(disk.log).absolute()}"] if disk.log else []
        command = ["nbdkit", "-f", "--exit-with-parent", "-t", "1", "-U", _socket(folder, number), PLUGIN, *words]
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        servers.append(server)
        end = time.monotonic() + SERVER_SECONDS
        while not _socket(folder, number).is_socket():
            if server.poll() is not None or time.monotonic() > end:
                stop(servers)
                said = server.stderr.read().strip().splitlines() or ["nbdkit: is not ready"]
                raise MachineError(f"DISK={text}: {said[-1]}")
            time.sleep(0.01)
        notes.append(f"disk {number}: {title}, times divided by {disk.scale or 1}")
    return servers, notes


def stop(servers: list[subprocess.Popen]) -> None:
    """End the servers of serve(), after at most 5 seconds each."""
    for server in servers:
        server.terminate()
        try:
            server.wait(5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _node(disk: Disk, name: str, socket: Path) -> dict:
    """QEMU's description of where the bytes are."""
    if disk.source.startswith("nbd:") or disk.reference:
        path = str(socket) if disk.reference else disk.source[4:]
        node = {"driver": "nbd", "server": {"type": "unix", "path": path}}
    else:
        node = {"driver": "raw", "file": {"driver": "file", "filename": disk.source}}
        if disk.readonly:
            node["file"]["read-only"] = True
    if disk.unsafe:
        node["cache"] = {"no-flush": True}
    if disk.bps:
        node = {"driver": "throttle", "throttle-group": f"{name}-bps", "file": node}
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


def qemu_args(disks: list[str], cpus: int, folder: Path) -> list[str]:
    """QEMU's arguments for all disks of a run; `cpus` of the machine, `folder` as for serve()."""
    args: list[str] = []
    counts = dict.fromkeys(BUSES, 0)
    for number, text in enumerate(disks):
        disk = parse(text)
        i, name = counts[disk.bus], f"disk{number}"
        counts[disk.bus] += 1
        if disk.bps:
            group = {"qom-type": "throttle-group", "id": f"{name}-bps", "limits": {"bps-total": disk.bps}}
            args += ["-object", json.dumps(group)]
        args += ["-blockdev", json.dumps(_node(disk, name, _socket(folder, number)))]
        if disk.bus == "ide":
            device = f"ide-hd,drive={name},bus=ide.{i // 2},unit={i % 2}"
        else:
            queues = disk.queues or min(QUEUES_USUAL, cpus)
            device = f"virtio-blk-pci,drive={name},disable-legacy=on,num-queues={queues}"
        args += ["-device", f"{device},rerror=report,werror=report"]
    return args
