# SPDX-License-Identifier: MIT
"""test_sqlite.py - Debian's sqlite3, unmodified, with its loader and libraries, and its database on the journalled file system.

It makes a table of 40,000 rows with an index and checks it.  Then transactions change rows in all parts of the file while QEMU
records the writes.  At CUTS moments during the transactions the power is cut: sqlite must roll back what was not committed
and find no fault, and each commit that it has reported must be there.
"""

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import crash
from homeroom import powercut
from homeroom.machine import TOP

os.environ["PATH"] += ":/usr/sbin:/sbin"  # mke2fs is there, and an ordinary user has no such folder in PATH

FOLDER = TOP / "build/test-sqlite"
pytestmark = pytest.mark.long
REPLAY = TOP / "build/host/ext-replay"
ROWS, COMMITS, CUTS, BOOTS, SEED = 40000, 6, 12, 2, 9
PART_MIB = 24

START = (
    "create table t(a integer primary key, b text, c integer); create index ic on t(c); create table v(n integer); begin; "
    f"with recursive n(i) as (select 1 union all select i+1 from n where i<{ROWS}) "
    f"insert into t select i, 'row number ' || i, (i * 7919) % {ROWS + 3} from n; insert into v values (0); commit; "
    "pragma integrity_check; select count(*), sum(c) from t;"
)
SUM = sum(i * 7919 % (ROWS + 3) for i in range(1, ROWS + 1))
# One transaction: 1/25 of the rows, in all parts of the file, with a cache so small that pages are written before the commit.
# Only with synchronous=extra does sqlite promise that a commit is on the disk: then it syncs the directory, too.
CHANGE = (
    "pragma synchronous=extra; pragma cache_size=40; begin; update t set c = c + 1 where a % 25 = 7; "
    "update v set n = n + 1; commit;"
)
STATE = "pragma integrity_check; select n, (select sum(c) from t), (select count(*) from t) from v;"


def programs(tree: Path) -> None:
    """Copy sqlite3, its loader and its libraries, as ldd lists them."""
    binary = shutil.which("sqlite3")
    names = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout)
    for name in [binary, *names]:
        target = tree / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, target)


@pytest.fixture(scope="module")
def tools_disk():
    """A disk with the programs; the database is on another disk."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    tree, image = FOLDER / "tree", FOLDER / "programs.img"
    tree.mkdir(parents=True)
    programs(tree)
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext2", "-b", "4096", "-d", tree, image, "16M"], check=True)
    subprocess.run(["make", "-s", str(REPLAY.relative_to(TOP))], cwd=TOP, check=True)
    return image


SETUP = (
    "mkdir -p /mnt/p /mnt/d && mount -o ro -t ext2 /dev/vdb /mnt/p && mkdir -p /lib64 /lib /usr/lib && "
    "for f in /mnt/p/lib/* /mnt/p/lib64/* /mnt/p/usr/lib/*; do [ ! -e $f ] || ln -s $f ${f#/mnt/p}; done && "
    "mount -t ext3 /dev/vda1 /mnt/d && cd /mnt/d && S=/mnt/p/usr/bin/sqlite3 && "
)


def new_disk(path: Path) -> None:
    part = FOLDER / "part.img"
    part.unlink(missing_ok=True)
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096", "-J", "size=4", part, f"{PART_MIB}M"], check=True)
    put_together(path, part.read_bytes())


def put_together(path: Path, part: bytes) -> None:
    start, marker = crash.FS_START * crash.SECTOR, 8 * crash.SECTOR
    image = bytearray(start + (PART_MIB << 20) + marker)
    image[: crash.SECTOR] = crash.table((crash.FS_START, PART_MIB * 2048), (crash.FS_START + PART_MIB * 2048, 8))
    image[start : start + len(part)] = part
    path.write_bytes(image)


def run_once(boot_once, disks, command: str) -> str:
    outcome, text, _ = boot_once("sf280r", run=SETUP + command, disks=tuple(map(str, disks)), timeout=150)
    assert outcome.kind == "clean" and outcome.status == 0, text
    return text


def fsck(part: Path) -> None:
    done = subprocess.run(["e2fsck", "-fn", part], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def part_of(disk: bytes) -> bytes:
    return disk[crash.FS_START * crash.SECTOR :][: PART_MIB << 20]


def promised(state: str, mark: int, cut: int) -> None:
    """Check that the version of the state is at least `mark`, and that the rows have the sum of this version."""
    whole, row = state.split()[:2]
    version, total, count = map(int, row.split("|"))
    assert whole == "ok" and count == ROWS, f"cut {cut}: {state}"
    assert mark <= version <= COMMITS, f"cut {cut}: commit {mark} was reported, the database has {version}"
    assert total == SUM + version * (ROWS // 25), f"cut {cut}: a part of a transaction is there: {state}"


def test_database(tools_disk, boot_once):
    disk, log = FOLDER / "disk.img", FOLDER / "writes.log"
    new_disk(disk)
    text = run_once(boot_once, (disk, tools_disk), f'$S t.db "{START}" && cd / && umount /mnt/d')
    assert re.search(rf"ok\r?\n{ROWS}\|{SUM}", text)
    base, part = disk.read_bytes(), FOLDER / "cut.img"
    part.write_bytes(part_of(base))
    fsck(part)

    log.unlink(missing_ok=True)
    loop = f'for i in $(seq {COMMITS}); do $S t.db "{CHANGE}" && /usr/test/crashwork -m /dev/vda2 $i || exit 1; done'
    run_once(boot_once, (f"{disk},blklogwrites={log}", tools_disk), loop)
    entries = powercut.read_log(log)
    cuts, rng = crash.Cuts(base, entries, marker=crash.FS_START + PART_MIB * 2048), random.Random(SEED)
    assert cuts.mark(len(entries)) == COMMITS
    unfinished = 0
    for number, cut in enumerate(sorted(rng.sample(range(1, len(entries)), CUTS))):
        image, mark = cuts.rebuild(cut, rng if number % 3 else None)
        part.write_bytes(part_of(image))
        if number % (CUTS // BOOTS) == CUTS // BOOTS - 1:  # a real machine, with sqlite there
            put_together(disk, part_of(image))
            text = run_once(boot_once, (disk, tools_disk), f'$S t.db "{STATE}" && cd / && umount /mnt/d')
            promised(re.search(r"ok\s+\S+\|\S+\|\S+", text)[0], mark, cut)
            part.write_bytes(part_of(disk.read_bytes()))
            fsck(part)
            continue
        files = FOLDER / "files"
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir()
        subprocess.run([REPLAY, part, "copy", files], check=True, capture_output=True)
        fsck(part)
        unfinished += (files / "t.db-journal").exists()
        done = subprocess.run(["sqlite3", files / "t.db", STATE], capture_output=True, text=True)
        promised(done.stdout, mark, cut)
    print(f"seed {SEED}, {len(entries)} entries, {CUTS} cuts, {unfinished} in the middle of a transaction")
    assert unfinished > CUTS // 4
