# SPDX-License-Identifier: MIT
"""A power cut at any moment: the file system is whole afterwards, and what fsync promised is there.

One machine works on a disk while QEMU records its writes.  The disk is rebuilt at CUTS moments, most of them between the
writes of one flush, with writes dropped that no flush covers.  At each the kernel's own code, built for this host,
replays the journal; e2fsck judges the result; what was promised is compared.  At BOOTS of them a machine does it.
The record depends on how fast the host's disk answers; what is cut of it depends on the seed alone, which is printed.  The
record is kept (FOLDER/writes.log); CRASH_LOG names one to be used again.
"""

import os
import random
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import crash
from homeroom.machine import TOP

CUTS, BOOTS, STEPS, SEED = 320, 20, 70, 4
FOLDER = TOP / "build/test-crash"
pytestmark = pytest.mark.xdist_group("crash")  # one worker: one record serves all
REPLAY = TOP / "build/host/ext-replay"
MKFS = ["mke2fs", "-q", "-F", "-t", "ext3", "-b", "1024", "-N", "256", "-J", "size=1"]
SHM = Path("/dev/shm")
os.environ["PATH"] += ":/usr/sbin:/sbin"  # where mke2fs is for who is not root


@pytest.fixture(scope="module")
def folder():
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run(["make", "-s", str(REPLAY.relative_to(TOP))], cwd=TOP, check=True)
    fast = SHM / f"homeroom-crash-{os.getpid()}" if SHM.is_dir() else FOLDER / "work"
    fast.mkdir(exist_ok=True)
    yield fast
    shutil.rmtree(fast)


def new_disk(folder: Path) -> Path:
    part, disk = folder / "part.img", folder / "disk.img"
    part.write_bytes(bytes(crash.FS_SECTORS * crash.SECTOR))
    subprocess.run([*MKFS, part], check=True)
    image = bytearray(crash.DISK_SECTORS * crash.SECTOR)
    image[: crash.SECTOR] = crash.partition_table()
    image[crash.FS_START * crash.SECTOR : crash.MARKER_START * crash.SECTOR] = part.read_bytes()
    disk.write_bytes(image)
    return disk


@pytest.fixture(scope="module")
def record(folder, speed):
    """The disk before, and what was written to it."""
    import harness

    disk = new_disk(folder)
    base, log = disk.read_bytes(), FOLDER / "writes.log"
    if kept := os.environ.get("CRASH_LOG"):
        return base, crash.read_log(Path(kept))
    log.unlink(missing_ok=True)
    one = harness.make_guest(
        "sf280r",
        speed,
        disks=(f"{disk},blklogwrites={log}",),
        seed=SEED,
        run=f"mkdir -p /mnt && mount -t ext3 /dev/vda1 /mnt && /usr/test/crashwork /mnt /dev/vda2 {STEPS}",
    )
    try:
        outcome = one.start().wait(180)
    finally:
        one.close()
    assert outcome.kind == "clean" and outcome.status == 0, one.tail(30)
    return base, crash.read_log(log)


def e2fsck(part: Path) -> str:
    run = subprocess.run(["e2fsck", "-fn", part], capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stdout


class Replayer:
    """The host program, kept for many images."""

    def __init__(self, folder: Path, number: int) -> None:
        self.program = subprocess.Popen(
            [REPLAY, "--list"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        self.part, self.files = folder / f"cut{number}.img", folder / f"files{number}"

    def check(self, image: bytes, mark: int) -> list[str]:
        self.part.write_bytes(image[crash.FS_START * crash.SECTOR : crash.MARKER_START * crash.SECTOR])
        shutil.rmtree(self.files, ignore_errors=True)
        self.files.mkdir()
        self.program.stdin.write(f"{self.part} copy {self.files}\n")
        answer = self.program.stdout.readline()
        if answer != "OK\n":
            return [f"the replay failed: {answer}{self.program.stderr.read() if answer == '' else ''}"]
        faults = crash.check_promises(self.files, mark) + crash.check_order(self.files)
        if said := e2fsck(self.part):
            faults.append(said)
        return faults

    def close(self) -> None:
        self.program.stdin.close()
        self.program.wait()


def choose_cuts(entries) -> list[int]:
    """Moments, each between two entries: spread over all, half of them where writes wait for a flush."""
    rng = random.Random(SEED)
    waiting = [k for k in range(1, len(entries)) if not entries[k - 1].flush and entries[k - 1].data]
    half = rng.sample(waiting, min(CUTS // 2, len(waiting)))
    cuts = set(half)
    rest = [k for k in range(1, len(entries) + 1) if k not in cuts]
    cuts.update(rng.sample(rest, CUTS - len(cuts)))
    return sorted(cuts)


def disks(base: bytes, entries):
    """(cut, disk, mark, whether to boot) for each cut."""
    cuts, made = choose_cuts(entries), crash.Cuts(base, entries)
    for number, cut in enumerate(cuts):
        rng = random.Random(SEED * 1000003 + cut) if number % 4 else None
        image, mark = made.rebuild(cut, rng)
        yield cut, image, mark, number % (CUTS // BOOTS) == CUTS // BOOTS - 1


def test_every_cut(folder, record):
    """The host's replay at each of the cuts."""
    base, entries = record
    assert len(entries) > 2 * CUTS and sum(e.flush for e in entries) > 4 * STEPS, "too little was recorded"
    assert crash.Cuts(base, entries).mark(len(entries)) == 4 * STEPS
    workers = [Replayer(folder, n) for n in range(2)]
    faults, marks, count = [], set(), 0
    with ThreadPoolExecutor(2) as threads:
        waiting = []
        for cut, image, mark, _ in disks(base, entries):
            if len(waiting) == 2:
                before, job = waiting.pop(0)
                faults += [f"cut {before}: {f}" for f in job.result()]
            waiting.append((cut, threads.submit(workers[count % 2].check, image, mark)))
            marks.add(mark)
            count += 1
        for before, job in waiting:
            faults += [f"cut {before}: {f}" for f in job.result()]
    for worker in workers:
        worker.close()
    print(f"seed {SEED}, {len(entries)} entries, {count} cuts, {len(marks)} different promises")
    assert not faults, "\n".join(faults[:10])
    assert count == CUTS and len(marks) > CUTS // 3


@pytest.mark.parametrize("half", [0, 1])
def test_real_boots(folder, record, speed, half):
    """Machines that mount what is left, one after the other."""
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
        faults = replayer.check(after, mark)
        assert not faults, f"cut {cut}: " + "\n".join(faults)
    replayer.close()
