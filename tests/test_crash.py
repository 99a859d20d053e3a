# SPDX-License-Identifier: MIT
"""test_crash.py - power cuts at any moment: afterwards the file system has no faults, and has all data that fsync promised.

There are three workloads: one thread (crashwork), several threads (crashcrowd), and many small files (crashfiles).  The
cuts of the last two are also during the recovery.  `make crash` makes 2,000 cuts of the second and 800 of the third.

A machine works on a disk while QEMU records its writes.  The disk is rebuilt as it may be after a cut (crash.py), at CUTS
moments, most of them between the writes before a flush; writes after the last flush may be lost.  Each time the kernel's own
code, built for this host, replays the journal.  Then e2fsck must find no fault, and the promised data must be there.  At
BOOTS of the moments a machine mounts the disk instead.
The record depends on the speed of the host's disk; the choice of cuts depends only on the seed, which is printed.  Records
are kept (FOLDER/writes.log, crowd1024.log, files4096.log, ...), and one with a fault also in FOLDER/failed.  CRASH_LOG names
a record to use again.  THREADS=multi: the recorded machine has a host thread for each CPU.
"""

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import crash
from homeroom import powercut
from homeroom.machine import TOP

CUTS, BOOTS, STEPS, SEED = 200, 10, 50, 4
BLOCKS = [1024, 4096]
CROWD_CUTS, CYCLES, ROUNDS = int(os.environ.get("CRASH_CUTS", 420)), 18, 8
FOLDER = TOP / "build/test-crash"
pytestmark = pytest.mark.xdist_group("crash")  # one worker, because all tests use one record
REPLAY = TOP / "build/host/ext-replay"
MKFS = ["mke2fs", "-q", "-F", "-t", "ext3", "-E", "nodiscard"]
SHM = Path("/dev/shm")
os.environ["PATH"] += ":/usr/sbin:/sbin"  # mke2fs is there, and an ordinary user has no such folder in PATH


@pytest.fixture(scope="module")
def folder():
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run(["make", "-s", str(REPLAY.relative_to(TOP))], cwd=TOP, check=True)
    fast = SHM / f"homeroom-crash-{os.getpid()}" if SHM.is_dir() else FOLDER / "work"
    fast.mkdir(exist_ok=True)
    yield fast
    shutil.rmtree(fast)


def new_disk(folder: Path, block: int = 1024, inodes: int = 256) -> Path:
    """Make a disk with a partition table, an empty file system whose free blocks contain a pattern, and the marker."""
    part, disk = folder / "part.img", folder / "disk.img"
    part.write_bytes(crash.STALE * (crash.FS_SECTORS * crash.SECTOR // len(crash.STALE)))
    sizes = ["-N", str(inodes), "-b", str(block), "-J", f"size={1 if block == 1024 else 4}"]
    subprocess.run([*MKFS, *sizes, part], check=True)
    image = bytearray(crash.DISK_SECTORS * crash.SECTOR)
    image[: crash.SECTOR] = crash.partition_table()
    image[crash.FS_START * crash.SECTOR : crash.MARKER_START * crash.SECTOR] = part.read_bytes()
    disk.write_bytes(image)
    return disk


def recorded(disk: Path, log: Path, speed, command: str):
    """Run a command that writes to the disk.  Returns the disk before it, and the record of its writes."""
    import harness

    base, kept = disk.read_bytes(), Path(os.environ.get("CRASH_LOG", ""))
    if kept.name == log.name:
        return base, powercut.read_log(kept)
    log.unlink(missing_ok=True)
    one = harness.make_guest(
        "sf280r",
        speed,
        disks=(f"{disk},blklogwrites={log}",),
        seed=SEED,
        threads=os.environ.get("THREADS") or "single",
        run=f"mkdir -p /mnt && mount -t ext3 /dev/vda1 /mnt && {command}",
    )
    try:
        outcome = one.start().wait(180)
    finally:
        one.close()
    assert outcome.kind == "clean" and outcome.status == 0, one.tail(30)
    return base, powercut.read_log(log)


@pytest.fixture(scope="module")
def record(folder, speed):
    return recorded(new_disk(folder), FOLDER / "writes.log", speed, f"/usr/test/crashwork /mnt /dev/vda2 {STEPS}")


def none(faults: list[str], log: Path) -> None:
    """Fail if there are faults; then the record is copied, so that the next run does not replace it."""
    if faults and Path(os.environ.get("CRASH_LOG", "")).name != log.name:
        (FOLDER / "failed").mkdir(exist_ok=True)
        shutil.copy(log, FOLDER / "failed")
    assert not faults, "\n".join(faults[:10])


def e2fsck(part: Path) -> str:
    run = subprocess.run(["e2fsck", "-fn", part], capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stdout


Judge = Callable[[Path], list[str]]  # the faults in the files of a disk


def kept(mark: int) -> Judge:
    return lambda root: crash.check_promises(root, mark) + crash.check_order(root)


class Replayer:
    """The host program that replays the journal; it uses the same image file for many disks."""

    def __init__(self, folder: Path, number: int) -> None:
        self.program = subprocess.Popen(
            [REPLAY, "--list"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        self.part, self.files = folder / f"cut{number}.img", folder / f"files{number}"

    def check(self, image: bytes | bytearray, judge: Judge, again: int = 0) -> list[str]:
        """The faults of a disk after its journal was replayed.

        `again`: if it is not 0, the power fails once more during the replay, at a moment chosen with this seed.
        """
        with open(self.part, "r+b" if self.part.exists() else "wb") as file:  # a new file would be cleared first
            file.write(memoryview(image)[crash.FS_START * crash.SECTOR : crash.MARKER_START * crash.SECTOR])
        shutil.rmtree(self.files, ignore_errors=True)
        self.files.mkdir()
        self.program.stdin.write(f"{self.part} copy {self.files} {again}\n")
        answer = self.program.stdout.readline()
        if answer != "OK\n":
            return [f"the replay failed: {answer}{self.program.stderr.read() if answer == '' else ''}"]
        faults = judge(self.files)
        if said := e2fsck(self.part):
            faults.append(said)
        return faults

    def close(self) -> None:
        self.program.stdin.close()
        self.program.wait()


def choose_cuts(entries) -> list[int]:
    """Cuts, each between two entries: half of them anywhere, half of them where writes wait for a flush."""
    rng = random.Random(SEED)
    waiting = [k for k in range(1, len(entries)) if not entries[k - 1].flush and entries[k - 1].data]
    half = rng.sample(waiting, min(CUTS // 2, len(waiting)))
    cuts = set(half)
    rest = [k for k in range(1, len(entries) + 1) if k not in cuts]
    cuts.update(rng.sample(rest, CUTS - len(cuts)))
    return sorted(cuts)


def disks(base: bytes, entries):
    """For each cut: (cut, disk, last mark, whether a machine boots with it)."""
    cuts, made = choose_cuts(entries), crash.Cuts(base, entries)
    for number, cut in enumerate(cuts):
        rng = random.Random(SEED * 1000003 + cut) if number % 4 else None
        image, mark = made.rebuild(cut, rng)
        yield cut, image, mark, number % (CUTS // BOOTS) == CUTS // BOOTS - 1


def check_all(folder: Path, cuts) -> list[str]:
    """The faults after the host's replay, two disks at a time.

    `cuts`: (cut, disk, judge, seed of a second cut or 0) of each disk.
    """
    workers = [Replayer(folder, n) for n in range(2)]
    faults, waiting = [], []
    with ThreadPoolExecutor(2) as threads:
        for count, (cut, image, judge, again) in enumerate(cuts):
            if len(waiting) == 2:
                before, job = waiting.pop(0)
                faults += [f"cut {before}: {f}" for f in job.result()]
            waiting.append((cut, threads.submit(workers[count % 2].check, image, judge, again)))
        for before, job in waiting:
            faults += [f"cut {before}: {f}" for f in job.result()]
    for worker in workers:
        worker.close()
    return faults


def test_every_cut(folder, record):
    """The host replays the journal at each cut."""
    base, entries = record
    assert len(entries) > 2 * CUTS and sum(e.flush for e in entries) > 4 * STEPS, "too little was recorded"
    assert crash.Cuts(base, entries).mark(len(entries)) == 4 * STEPS
    made = crash.Cuts(base, entries)
    marks = {made.mark(cut) for cut in choose_cuts(entries)}
    count = len(choose_cuts(entries))
    faults = check_all(folder, ((cut, image, kept(mark), 0) for cut, image, mark, _ in disks(base, entries)))
    print(f"seed {SEED}, {len(entries)} entries, {count} cuts, {len(marks)} different promises")
    none(faults, FOLDER / "writes.log")
    assert count == CUTS and len(marks) > CUTS // 3


def crowd_cuts(entries, count: int) -> list[int]:
    """Cuts between two entries: half of them just behind a flush, or behind each flush if there are fewer flushes."""
    rng = random.Random(SEED)
    flushes = [k + 1 for k in range(len(entries)) if entries[k].flush]
    cuts = set(rng.sample(flushes, min(count // 2, len(flushes))))
    rest = [k for k in range(1, len(entries) + 1) if k not in cuts]
    cuts.update(rng.sample(rest, min(count - len(cuts), len(rest))))
    return sorted(cuts)


def crowd_disks(base: bytes, entries, count: int, judge: Callable[[list[int]], Judge]):
    """The cuts for check_all(): in two of three, writes after the last flush may be lost; in one, a second cut follows."""
    made = crash.Cuts(base, entries)
    for number, cut in enumerate(crowd_cuts(entries, count)):
        image, _ = made.rebuild(cut, random.Random(SEED * 1000003 + cut) if number % 3 else None)
        yield cut, image, judge([made.mark(cut, slot) for slot in range(crash.WORKERS)]), cut if number % 3 == 1 else 0


def test_mark_beside_other_sectors():
    """A mark is found in a request that begins before it, with a block of the file system or with another worker's mark."""
    marks = [struct.pack("<II", crash.MARK, number).ljust(crash.SECTOR, b"\0") for number in (7, 8)]
    last = crash.Entry(crash.MARKER_START - 8, bytes(8 * crash.SECTOR) + marks[0] + marks[1], False)
    made = crash.Cuts(b"", [crash.Entry(crash.MARKER_START + 1, marks[1], False), last])
    assert [made.mark(2, slot) for slot in range(3)] == [7, 8, 0] and made.mark(1) == 0
    assert made.marks(0) == [7] and made.marks(1) == [8, 8]


@pytest.mark.long
@pytest.mark.parametrize("block", BLOCKS)
def test_cuts_in_company(folder, speed, block):
    """Several threads; cuts at flushes and between them, with lost writes, and again during the recovery."""
    command = f"/usr/test/crashcrowd /mnt /dev/vda2 {CYCLES}"
    log = FOLDER / f"crowd{block}.log"
    base, entries = recorded(new_disk(folder, block), log, speed, command)
    count = CROWD_CUTS // len(BLOCKS)
    assert len(entries) > count and sum(e.flush for e in entries) > 6 * CYCLES, "too little was recorded"
    made = crash.Cuts(base, entries)
    for slot in range(crash.WORKERS):
        assert made.marks(slot) == [*range(1, 6 * CYCLES + 1)], "a mark is missing: the promises would be too few"
    assert base.count(crash.STALE * 64) > 4000, "the free blocks hold no pattern"
    cuts = crowd_cuts(entries, count)
    assert len(cuts) == count
    crowd = crowd_disks(base, entries, count, lambda marks: lambda root: crash.check_crowd(root, marks))
    none(check_all(folder, crowd), log)
    print(f"seed {SEED}, {len(entries)} entries, {count} cuts")


@pytest.mark.long
@pytest.mark.parametrize("block", BLOCKS)
def test_small_files_in_company(folder, speed, block):
    """Two threads make many small files: files that sync(2) has promised are there, and all others complete or absent."""
    log = FOLDER / f"files{block}.log"
    disk = new_disk(folder, block, inodes=1024)
    base, entries = recorded(disk, log, speed, f"/usr/test/crashfiles /mnt /dev/vda2 {ROUNDS}")
    made = crash.Cuts(base, entries)
    assert made.marks(0) == [*range(1, ROUNDS + 1)], "a mark is missing: the promises would be too few"
    count = min(CROWD_CUTS // 5, len(entries))
    assert count > 10 * ROUNDS, "too little was recorded"
    disks = crowd_disks(base, entries, count, lambda marks: lambda root: crash.check_files(root, marks[0]))
    none(check_all(folder, disks), log)
    print(f"seed {SEED}, {len(entries)} entries, {count} cuts")


@pytest.mark.parametrize("half", [0, 1])
def test_real_boots(folder, record, speed, half):
    """Machines mount the disks after a cut, one after the other."""
    import harness

    base, entries = record
    chosen = [(cut, image, mark) for cut, image, mark, boots in disks(base, entries) if boots][half::2]
    assert len(chosen) == BOOTS // 2
    replayer = Replayer(folder, 10 + half)
    for cut, image, mark in chosen:
        disk = folder / f"boot{half}.img"
        disk.write_bytes(image)
        one = harness.make_guest(
            "sf280r",
            speed,
            disks=(str(disk),),
            run="mkdir -p /mnt && mount -t ext3 /dev/vda1 /mnt && ls -lR /mnt >/dev/null && umount /mnt",
        )
        try:
            outcome = one.start().wait(60)
        finally:
            one.close()
        assert outcome.kind == "clean" and outcome.status == 0, f"cut {cut}:\n{one.tail(30)}"
        after = disk.read_bytes()
        part = folder / f"part{half}.img"
        part.write_bytes(after[crash.FS_START * crash.SECTOR : crash.MARKER_START * crash.SECTOR])
        assert e2fsck(part) == "", f"cut {cut}"
        faults = replayer.check(after, kept(mark))
        assert not faults, f"cut {cut}: " + "\n".join(faults)
    replayer.close()
