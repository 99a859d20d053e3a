# SPDX-License-Identifier: MIT
"""test_disk.py - disks: names, partitions, contents, both controllers, injected errors, disk schedulers, statistics."""

import hashlib
import random
import re
import struct
import subprocess
import tomllib

import pytest

from homeroom import disk
from homeroom.machine import TOP

FOLDER = TOP / "build/test-disks"
pytestmark = [pytest.mark.disk, pytest.mark.xdist_group("disk")]  # one worker makes the disks in FOLDER once
SECTOR = 512
BAD_READ, BAD_WRITE = 100, 200  # sectors that fail

# The i-th virtio disk is vda, vdb, ...; the i-th IDE disk hda, hdb, ...
DISKS = (
    f"{FOLDER}/parts.img,queues=2",
    f"{FOLDER}/short.img,readonly",
    f"{FOLDER}/bad.img,blkdebug={FOLDER}/bad.conf",
    f"{FOLDER}/ide.img,bus=ide",
    f"{FOLDER}/badide.img,bus=ide,blkdebug={FOLDER}/bad.conf",
)
ALL = pytest.mark.machine("sf3800", disks=DISKS, system="set disk_sched=1")


def entry(kind: int, start: int, count: int) -> bytes:
    return struct.pack("<B3sB3sII", 0, b"", kind, b"", start, count)


def table(*entries: bytes) -> bytes:
    return b"\0" * 446 + b"".join(entries).ljust(64, b"\0") + b"\x55\xaa"


def rule(iotype: str, sector: int) -> str:
    return f'[inject-error]\nevent = "none"\niotype = "{iotype}"\nsector = "{sector}"\nerrno = "5"\n'


@pytest.fixture(scope="module", autouse=True)
def images():
    """The contents of the disks, by file name."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    rng = random.Random(4)
    sizes = {"parts": 16384, "short": 2049, "bad": 4096, "ide": 8192, "badide": 4096}
    contents = {name: bytearray(rng.randbytes(n * SECTOR)) for name, n in sizes.items()}
    contents["parts"][:SECTOR] = table(entry(0x83, 2048, 4096), entry(5, 8192, 4096), entry(0x83, 16000, 9999))
    contents["parts"][8192 * SECTOR : 8193 * SECTOR] = table(entry(0x83, 8, 100))
    for name, data in contents.items():
        (FOLDER / f"{name}.img").write_bytes(data)
    (FOLDER / "lossy.img").write_bytes(bytes(16 << 20))
    command = ["mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096", FOLDER / "lossy.img"]
    subprocess.run(command, check=True, capture_output=True)
    lossy = range(16000, 16064)  # in the middle: a file of 10 of the 16 MiB has data there
    (FOLDER / "lossy.conf").write_text("".join(rule("write", sector) for sector in lossy))
    (FOLDER / "slow.img").write_bytes(bytes(64 << 20))
    (FOLDER / "prio.img").write_bytes(bytes(64 << 20))
    (FOLDER / "bad.conf").write_text(rule("read", BAD_READ) + rule("write", BAD_WRITE))
    return contents


def md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


def forget(machine, name: str) -> None:
    """Write all data of a disk to it, and drop its pages, so that the next read comes from the disk."""
    machine.check(f"blockdev --flushbufs /dev/{name}")


def image(name: str) -> bytes:
    return (FOLDER / f"{name}.img").read_bytes()


@ALL
def test_names(machine, images):
    rows = [line.split() for line in machine.check("cat /proc/partitions").splitlines()[2:]]
    blocks = {row[3]: int(row[2]) for row in rows}
    assert blocks == {"vda": 8192, "vda1": 2048, "vda5": 50, "vdb": 1024, "vdc": 2048, "hda": 4096, "hdb": 2048}
    assert machine.check("ls -l /dev/vda5").startswith("brw-------")
    assert machine.check("blockdev --getsize64 /dev/vdb").strip() == str(2049 * SECTOR)
    assert machine.check("blockdev --getss /dev/hda").strip() == "512"
    assert machine.run("dd if=/dev/vda of=/dev/null count=1", uid=1000).status != 0
    assert "vda: 1 partitions" in machine.check("dmesg")
    blocks = machine.check("cat /sys/block/vda/size /sys/block/vda/vda1/start /sys/block/vdb/ro").split()
    assert blocks == ["16384", "2048", "1"]


@ALL
def test_contents(machine, images):
    whole = {"vda": images["parts"], "vdb": images["short"], "hda": images["ide"]}
    whole["vda1"] = images["parts"][2048 * SECTOR : 6144 * SECTOR]
    whole["vda5"] = images["parts"][8200 * SECTOR : 8300 * SECTOR]
    out = machine.check("md5sum " + " ".join(f"/dev/{name}" for name in whole))
    assert [line.split()[0] for line in out.splitlines()] == [md5(data) for data in whole.values()]


@ALL
@pytest.mark.parametrize("name, file, start", [("vda5", "parts", 8200), ("hda", "ide", 0)])
def test_writes_reach_the_image(machine, name, file, start):
    """Writes arrive in the image, also unaligned ones; the bytes around them do not change."""
    before = bytearray(image(file))
    machine.check(f"dd if=/bin/busybox of=/dev/{name} bs=777 count=50 seek=3 conv=fsync")
    text = machine.check("dd if=/bin/busybox bs=777 count=50 2>/dev/null | md5sum")
    after = image(file)
    at = start * SECTOR + 3 * 777
    assert md5(after[at : at + 50 * 777]) == text.split()[0]
    before[at : at + 50 * 777] = after[at : at + 50 * 777]
    assert after == before


@ALL
def test_end_of_disk(machine, images):
    out = machine.check("dd if=/dev/vdb bs=1k skip=1024 2>/dev/null | md5sum")
    assert out.split()[0] == md5(images["short"][-SECTOR:])
    assert machine.check("dd if=/dev/vdb bs=512 skip=2049 2>/dev/null | wc -c").strip() == "0"
    result = machine.run("dd if=/dev/zero of=/dev/vda5 bs=4k seek=10")
    assert result.status != 0 and "No space left on device" in result.out
    assert image("parts")[8300 * SECTOR : 8301 * SECTOR] == images["parts"][8300 * SECTOR : 8301 * SECTOR]


@ALL
def test_read_only(machine, images):
    result = machine.run("dd if=/dev/zero of=/dev/vdb count=1")
    assert result.status != 0 and "Read-only" in result.out
    assert image("short") == images["short"]


@ALL
@pytest.mark.parametrize("name, file", [("vdc", "bad"), ("hdb", "badide")])
def test_errors(machine, images, name, file):
    """A bad sector is an error for the process that reads or writes it, and is counted; other accesses work."""
    stat = f"sd:{2 if name == 'vdc' else 4}:{name}:"
    before = machine.kstats(stat)
    good = machine.check(f"dd if=/dev/{name} bs=4k count=12 2>/dev/null | md5sum")
    assert good.split()[0] == md5(images[file][: 12 * 4096])
    bad = machine.run(f"dd if=/dev/{name} bs=512 skip={BAD_READ} count=1")
    assert bad.status != 0 and "Input/output error" in bad.out
    for direction, command in (
        ("w", f"dd if=/dev/zero of=/dev/{name} bs=4k seek={BAD_WRITE // 8} count=1 conv=fsync"),
        ("r", f"for i in 1 2 3; do dd if=/dev/{name} bs=4k skip={BAD_READ // 8} count=1 && exit 1; done; exit 9"),
    ):
        result = machine.run(command)
        assert result.status != 0 and "Input/output error" in result.out, direction
    after = machine.kstats(stat)
    assert after[f"{stat}rerrors"] - before[f"{stat}rerrors"] >= 4
    assert after[f"{stat}werrors"] - before[f"{stat}werrors"] >= 1
    rest = machine.check(f"dd if=/dev/{name} bs=4k skip=26 2>/dev/null | md5sum")
    assert rest.split()[0] == md5(images[file][26 * 4096 :])
    assert int(machine.check(f"iostat -xe {name} | tail -1").split()[-1]) >= 5


@ALL
def test_pio_reads_and_writes_the_same(machine, images):
    forget(machine, "hda")
    machine.check("echo 'ide_dma/W 0' | mdb -kw")
    try:
        assert machine.check("md5sum /dev/hda").split()[0] == md5(image("ide"))
        machine.check("dd if=/dev/vda of=/dev/hda bs=64k count=32 conv=fsync")
    finally:
        machine.check("echo 'ide_dma/W 1' | mdb -kw")
    forget(machine, "hda")
    assert machine.check("dd if=/dev/hda bs=64k count=32 2>/dev/null | md5sum") == machine.check(
        "dd if=/dev/vda bs=64k count=32 2>/dev/null | md5sum"
    )


@ALL
def test_queues_interrupt_their_own_cpus(machine):
    """Reads on each CPU use the queue whose interrupt goes to the nearest CPU."""

    def counts() -> dict[str, list[int]]:
        rows = re.findall(r"^ *\d+:((?: +\d+)+) .* (vda-q\d)$", machine.check("cat /proc/interrupts"), re.MULTILINE)
        return {name: [int(n) for n in numbers.split()] for numbers, name in rows}

    before = counts()
    assert sorted(before) == ["vda-q0", "vda-q1"]
    for cpu in range(8):
        forget(machine, "vda")
        machine.check(f"taskset -c {cpu} dd if=/dev/vda of=/dev/null bs=64k count=4")
    after = counts()
    for number, name in enumerate(sorted(after)):
        gained = [b - a for a, b in zip(before[name], after[name], strict=True)]
        assert gained[number * 4] >= 4 * 4 and sum(gained) == gained[number * 4], (name, gained)


@ALL
@pytest.mark.parametrize("order", [0, 1, 2])
def test_orders(machine, order):
    """Many processes read and write at the same time: with each disk scheduler, all data are where they belong."""
    machine.check(f"echo disk_sched/W {order} | mdb -kw")
    for name, file, start in (("vda1", "parts", 2048), ("hda", "ide", 0)):
        machine.check(
            f"for i in 0 1 2 3 4 5 6 7; do (yes $i${{i}}{order}$i | dd of=/dev/{name} bs=4k seek=$((i*40)) count=40 "
            f"iflag=fullblock conv=fsync) & dd if=/dev/{name} of=/dev/null bs=16k skip=$((i*7)) count=30 & done; wait"
        )
        after = image(file)
        for i in range(8):
            at = start * SECTOR + i * 40 * 4096
            want = (f"{i}{i}{order}{i}\n".encode() * 40 * 4096)[: 40 * 4096]
            assert after[at : at + 40 * 4096] == want, (name, i)
    machine.check("echo disk_sched/W 1 | mdb -kw")


@ALL
def test_counts(machine):
    """Each block that is read and written once is counted once, in both interfaces."""
    forget(machine, "hda")
    before = machine.kstats("sd:3:hda:")
    machine.check("dd if=/dev/hda of=/dev/null bs=4k count=100; dd if=/dev/zero of=/dev/hda bs=4k count=50 conv=fsync")
    after = machine.kstats("sd:3:hda:")
    gained = {name.split(":")[-1]: after[name] - before[name] for name in after}
    assert 100 * 4096 <= gained["nread"] <= 100 * 4096 + 256 * 1024  # with read-ahead
    assert gained["nwritten"] == 50 * 4096 and gained["flushes"] >= 1
    assert gained["wcnt"] == gained["rcnt"] == 0
    fields = next(line.split() for line in machine.check("cat /proc/diskstats").splitlines() if line.split()[2] == "hda")
    assert [int(fields[5]), int(fields[9])] == [after["sd:3:hda:nread"] // 512, after["sd:3:hda:nwritten"] // 512]
    assert int(fields[7]) + int(fields[8]) == after["sd:3:hda:writes"]
    assert len(fields) == 20 and int(fields[18]) == after["sd:3:hda:flushes"]
    for wrong in ("iostat 1 2 3", "iostat 1 hda", "vmstat 1 2 3"):
        assert "usage: " in machine.run(wrong).out
    title, columns, first = machine.check("iostat -x hda").splitlines()
    assert title.strip() == "extended device statistics" and columns.split()[-1] == "%b"
    assert first.split()[0] == "hda" and float(first.split()[3]) > 0
    _, columns, first = machine.check("iostat -fn hda").splitlines()
    assert columns.split()[-2:] == ["fl/s", "device"] and float(first.split()[-2]) > 0


# ---- a file system on a disk that cannot write some of its sectors ----

LOSSY = pytest.mark.machine("sf280r", disks=(f"{FOLDER}/lossy.img,blkdebug={FOLDER}/lossy.conf",))


@LOSSY
def test_fsync_reports_lost_writes(machine):
    """If data cannot be written to the disk, fsync of that file reports it.  The page stays, and other files are unaffected."""
    machine.check("mkdir -p /mnt && mount -t ext3 /dev/vda /mnt")
    machine.check("dd if=/bin/busybox of=/mnt/small bs=4k count=4 conv=fsync")
    lost = machine.run("yes 0123456 | dd of=/mnt/large bs=64k count=160 iflag=fullblock conv=fsync")
    assert lost.status != 0 and "Input/output error" in lost.out
    assert machine.kstats("sd:0:vda:")["sd:0:vda:werrors"] >= 1
    text = machine.check("dd if=/mnt/large bs=64k 2>/dev/null | md5sum").split()[0]
    assert text == md5((b"0123456\n" * (160 * 65536 // 8))[: 160 * 65536])
    machine.check("dd if=/bin/busybox of=/mnt/small bs=4k count=8 conv=fsync")
    assert machine.check("dd if=/mnt/small bs=4k 2>/dev/null | md5sum") == machine.check(
        "dd if=/bin/busybox bs=4k count=8 2>/dev/null | md5sum"
    )


# ---- the reference disk: needs a machine of its own ----

REFERENCE = pytest.mark.machine(
    "sf280r", disks=(f"refdisk:{FOLDER}/slow.img,scale=20,log={FOLDER}/slow.log",), system="set disk_depth=1"
)


def test_models_of_the_reference_disk(tmp_path):
    """nbdkit can serve a disk with each parameter file in qemu/refdisk."""
    (tmp_path / "image").write_bytes(bytes(512))
    for model in (TOP / "qemu/refdisk").glob("*.toml"):
        servers, notes = disk.serve([f"refdisk:{tmp_path}/image,model={model.stem},scale=2"], tmp_path)
        disk.stop(servers)
        assert notes == [f"disk 0: {tomllib.loads(model.read_text())['title']}, times divided by 2"]
        (tmp_path / "disk0.sock").unlink(missing_ok=True)


PRIORITY = pytest.mark.machine(
    "sf280r",
    disks=(f"refdisk:{FOLDER}/prio.img,scale=4,log={FOLDER}/prio.log",),
    system="set disk_depth=1; set disk_fair_idle=2000",
)


@PRIORITY
def test_idle_reader_waits_for_others(machine):
    """Four readers keep the disk busy.  A fifth one, of I/O class idle, reads the upper half: one command in 2 s, and the rest
    when the others have ended.
    """
    read = "dd if=/dev/vda bs=4k count=1 iflag=direct of=/dev/null 2>/dev/null skip="
    machine.check(
        f"(ionice -c 3 sh -c 'for i in $(seq 40); do {read}$((8192 + i * 97)); done') & "
        f"for k in 0 1 2 3; do (for i in $(seq 50); do {read}$(((i * 389 + k * 2001) % 8192)); done) & done; wait",
        120,
    )
    machine.guest.close()
    rows = [line.split() for line in (FOLDER / "prio.log").read_text().splitlines() if line[0] == "R"]
    upper = [int(row[1]) >= 65536 for row in rows]
    assert upper.count(True) == 40 and upper.count(False) >= 200
    last = len(upper) - 1 - upper[::-1].index(False)
    # Of 40 commands: at the start, every 2 s, and when a busy host delays all four others.  In turn it would be all 40.
    assert upper[:last].count(True) <= 20


@REFERENCE
def test_reference_disk(machine):
    """Unscaled, a request takes the time that the parameters give: command, transfer, half a revolution, seek.  A request that
    continues the one before takes another time.
    """
    log = FOLDER / "slow.log"
    cylinder = 14 * 48
    for sector in (0, 40000, 40000 + cylinder * 100, 40000 + cylinder * 101):
        machine.check(f"dd if=/dev/vda of=/dev/null bs=4k count=1 skip={sector // 8} iflag=direct")
    machine.check("dd if=/dev/vda of=/dev/null bs=4k count=3 skip=1 iflag=direct")
    machine.check("dd if=/dev/zero of=/dev/vda bs=16k count=3 seek=100 oflag=direct")
    machine.guest.close()
    rows = [line.split() for line in log.read_text().splitlines() if line[0] in "RW"]
    reads = {int(r[1]): float(r[5]) / 1000 for r in rows if r[0] == "R" and int(r[1]) >= 40000}
    turn, command = 60000 / 4316.5, 2.46
    page = command + turn / 2 + 8 * turn / 48
    seek = [2.0 + 0.46 * distance**0.5 + 0.01 * distance for distance in (40000 // cylinder, 100, 1)]
    assert list(reads.values()) == pytest.approx([page + s for s in seek], abs=0.01)
    following = [float(r[5]) / 1000 for r in rows if r[0] == "R" and int(r[1]) in (16, 24)]
    assert following == pytest.approx([command + 8 * turn / 48] * 2, abs=0.01)
    writes = [r for r in rows if r[0] == "W"]
    assert [int(r[1]) for r in writes] == [3200, 3232, 3264] and {int(r[2]) for r in writes} == {32}
    assert [float(r[5]) / 1000 for r in writes[1:]] == pytest.approx([turn + 32 * turn / 48] * 2, abs=0.01)
