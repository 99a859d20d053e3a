# SPDX-License-Identifier: MIT
"""test_ext.py - the journalled file system on a machine: mke2fs makes the disks, e2fsck and debugfs check the results."""

import os
import re
import shlex
import shutil
import struct
import subprocess

import pytest

from homeroom.machine import TOP

os.environ["PATH"] += ":/usr/sbin:/sbin"  # mke2fs is there, and an ordinary user has no such folder in PATH

FOLDER = TOP / "build/test-ext"
pytestmark = [pytest.mark.disk, pytest.mark.xdist_group("ext")]  # one worker makes the disks in FOLDER once
TREE = FOLDER / "tree"
MACHINE = "sf3800"
DISKS = tuple(f"{FOLDER}/{name}.img" for name in ("main", "small", "ext4", "rofeat", "old", "flags"))
EXT = pytest.mark.machine(MACHINE, disks=DISKS)
BAD = pytest.mark.machine("sf280r", disks=(f"{FOLDER}/bad.img,blkdebug={FOLDER}/bad.conf",))
LOGBAD = pytest.mark.machine("sf280r", disks=(f"{FOLDER}/logbad.img,blkdebug={FOLDER}/logbad.conf",), watchdog=30)
FUZZ = pytest.mark.machine("sf280r", disks=(f"{FOLDER}/fuzz.img", f"{FOLDER}/scratch.img"))
STORM = pytest.mark.machine("sf3800", memory="64M", disks=(f"{FOLDER}/storm.img", f"{FOLDER}/parts.img"))
# Without fsflush, which would write some of the pages whose commands are counted, if their writer is slow.
SLOW = pytest.mark.machine(
    "sf280r", disks=(f"refdisk:{FOLDER}/slow.img,scale=4",), system="set disk_sched=2; set disk_depth=1; set dopageflush=0"
)
SHORT = pytest.mark.machine("sf280r", memory="64M", disks=(f"{FOLDER}/short.img", f"{FOLDER}/swap.img"))
FUZZ_IMAGES, FUZZ_SIZE = 50, 4 << 20


def tool(*words: str) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(map(str, words))}: {done.stdout}{done.stderr}"
    return done.stdout


def mke2fs(name: str, mib: int, *options: str, kind: str = "ext3") -> None:
    path = FOLDER / f"{name}.img"
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(mib << 20)
    tool("mke2fs", "-q", "-F", "-t", kind, *options, path)


def fsck(name: str) -> None:
    done = subprocess.run(["e2fsck", "-fn", FOLDER / f"{name}.img"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def debugfs(name: str, request: str) -> str:
    return tool("debugfs", "-R", request, FOLDER / f"{name}.img")


def rule(iotype: str, sector: int) -> str:
    return f'[inject-error]\nevent = "none"\niotype = "{iotype}"\nsector = "{sector}"\nerrno = "5"\n'


def block_of(name: str, path: str) -> int:
    return int(debugfs(name, f"blocks {path}").split()[0])


def spotted(page: int) -> int:
    return int(debugfs("bad", f"bmap /spotted {page}"))


def make_flags() -> None:
    """Make a disk with files that are immutable, append-only, or have an access control list, as from chattr and setfacl."""
    mke2fs("flags", 8)
    (TREE / "acl").write_bytes(
        bytes.fromhex("02000000 01000600ffffffff 02000600e9030000 04000400ffffffff 10000600ffffffff 20000400ffffffff")
    )
    requests = ["mkdir fixed_dir", f"write {TREE}/a fixed_dir/f"]
    for name, field in (("fixed", "flags 0x10"), ("log", "flags 0x20"), ("fixed_dir", "flags 0x10")):
        requests += [f"write {TREE}/a {name}"] if name != "fixed_dir" else []
        requests += [f"sif {name} {field}"]
    requests += [
        f"write {TREE}/a acl",
        "sif acl mode 0100664",
        "sif acl uid 1000",
        f"ea_set -f {TREE}/acl acl system.posix_acl_access",
    ]
    script = FOLDER / "flags.txt"
    script.write_text("\n".join(requests) + "\n")
    tool("debugfs", "-w", "-f", script, FOLDER / "flags.img")
    (TREE / "acl").unlink()


@pytest.fixture(scope="module", autouse=True)
def images():
    shutil.rmtree(FOLDER, ignore_errors=True)
    (TREE / "dir/sub").mkdir(parents=True)
    (TREE / "big").write_bytes(os.urandom(1 << 20))
    (TREE / "dir/small").write_text("small\n")
    (TREE / "dir/sub/link").symlink_to("../small")
    for name in ("a", "b"):
        (TREE / name).write_bytes(name.encode() * 4096)
    mke2fs("main", 64, "-b", "4096", "-d", str(TREE))
    (FOLDER / "sparse").mkdir()
    with (FOLDER / "sparse/hole").open("wb") as file:  # a page with only one block
        file.write(b"a" * 1024)
        file.truncate(4096)
    mke2fs("small", 8, "-b", "1024", "-d", str(FOLDER / "sparse"))
    mke2fs("ext4", 8, kind="ext4")
    mke2fs("rofeat", 8)
    mke2fs("old", 8, "-b", "2048", kind="ext2")
    make_flags()
    mke2fs("storm", 8, "-b", "1024", "-J", "size=1")
    mke2fs("slow", 4, "-b", "1024", "-J", "size=1")
    (FOLDER / "parts").mkdir()
    with (FOLDER / "parts/sparse").open("wb") as file:  # one block in the middle of a page
        file.seek(2048)
        file.write(b"s" * 1024)
        file.truncate(4096)
    mke2fs("parts", 8, "-b", "1024", "-d", str(FOLDER / "parts"))
    mke2fs("short", 12, "-b", "1024", "-J", "size=1")
    with (FOLDER / "swap.img").open("wb") as file:
        file.truncate(128 << 20)
    with (FOLDER / "rofeat.img").open("r+b") as file:  # an unknown read-only-compatible feature
        file.seek(1024 + 0x64)
        (bits,) = struct.unpack("<I", file.read(4))
        file.seek(1024 + 0x64)
        file.write(struct.pack("<I", bits | 0x10000000))
    for name in ("bad", "logbad"):
        mke2fs(name, 16, "-b", "4096", "-d", str(TREE))
    tool("debugfs", "-w", "-R", f"write {TREE}/big spotted", FOLDER / "bad.img")
    bad = {"read": [block_of("bad", "/a"), spotted(21)], "write": [block_of("bad", "/b"), spotted(30)]}
    (FOLDER / "bad.conf").write_text("".join(rule(kind, block * 8) for kind in bad for block in bad[kind]))
    log = [int(word) for word in debugfs("logbad", "blocks <8>").split()]
    (FOLDER / "logbad.conf").write_text("".join(rule("write", block * 8) for block in log[20:24]))
    subprocess.run(["make", "-s", "build/host/test_extfuzz"], cwd=TOP, check=True)
    dump = {**os.environ, "FUZZ_DUMP": str(FOLDER / "fuzz.img")}
    subprocess.run(["build/host/test_extfuzz"], cwd=TOP, env=dump, check=True, capture_output=True)
    (FOLDER / "scratch.img").write_bytes(bytes(FUZZ_SIZE))


@pytest.fixture(autouse=True)
def places(request):
    """Make directories to mount on; afterwards, unmount what a failed test has left mounted."""
    if "machine" in request.fixturenames:
        machine = request.getfixturevalue("machine")
        machine.run("cd /; umount /mnt/m /mnt/s /mnt 2>/dev/null; mkdir -p /mnt/m /mnt/s")


@EXT
def test_mounting(machine):
    machine.check("mount -t ext3 /dev/vda /mnt/m")
    assert "/dev/vda on /mnt/m type ext3 (rw,relatime)" in machine.check("mount")
    kinds = machine.check("cat /proc/filesystems")
    assert "\text3\n" in kinds and "\text2\n" in kinds and "nodev\text3" not in kinds
    assert machine.run("mount -t ext3 /dev/vda /mnt/s").out.count("busy") == 1
    assert "busy" in machine.run("swap -a /dev/vda").out
    assert machine.run("cd /mnt/m && umount /mnt/m").status != 0
    assert machine.run("mount -t ext3 /dev/nothing /mnt/s").status != 0
    assert machine.run("mount -t ext3 -o nonsense /dev/vdb /mnt/s").status != 0
    assert "is not known" in machine.check("dmesg")
    size, used = machine.check("df /mnt/m").splitlines()[1].split()[1:3]
    assert 56000 < int(size) < 65536 and 1024 < int(used) < 8000
    assert machine.check("stat -f -c '%t %s %l' /mnt/m").split() == ["ef53", "4096", "255"]
    machine.check("umount /mnt/m")
    fsck("main")


@EXT
@pytest.mark.parametrize("how", ["sync", "dsync", "mount"])
def test_synchronous_writes(machine, how):
    """When the write returns, a copy of the disk has its data and the file."""
    machine.check(f"mount {'-o sync' if how == 'mount' else ''} -t ext3 /dev/vda /mnt/m")
    machine.check(f"/usr/test/syncwrite /mnt/m/{how} {how if how != 'mount' else ''}")
    shutil.copy(FOLDER / "main.img", FOLDER / "cut.img")
    machine.check(f"rm /mnt/m/{how}; umount /mnt/m")
    subprocess.run(["e2fsck", "-fp", FOLDER / "cut.img"], capture_output=True, check=False)  # replay the journal
    assert debugfs("cut", f"cat /{how}") == "".join(c * 4096 for c in "abcdefgh")
    (FOLDER / "cut.img").unlink()


@EXT
def test_synchronous_mount(machine):
    """With -o sync, names and attributes are on the disk, too, when the call returns."""
    machine.check("mount -o sync -t ext3 /dev/vda /mnt/m && cd /mnt/m && mkdir d && touch gone d/moved")
    done = {"ln d/moved linked": "linked", "mv d/moved here": "here", "mkdir made": "made", "ln -s a sym": "sym",
            "truncate -s 9 here": None, "chmod 604 here": None, "rm gone": None, "rmdir d": None}  # fmt: skip
    for command, name in done.items():
        machine.check(f"cd /mnt/m && {command}")
        shutil.copy(FOLDER / "main.img", FOLDER / "cut.img")
        subprocess.run(["e2fsck", "-fp", FOLDER / "cut.img"], capture_output=True, check=False)
        names = debugfs("cut", "ls -p /")
        assert name is None or f"/{name}/" in names, (command, names)
    assert "/gone/" not in names and "/d/" not in names
    here = debugfs("cut", "stat /here")
    assert "Mode:  0604" in here and "Size: 9" in here, here
    machine.check("cd /mnt/m && rm -r here linked made sym && cd / && umount /mnt/m")
    (FOLDER / "cut.img").unlink()


@EXT
def test_flags_bind_root(machine):
    """Immutable and append-only files bind root, too, as on Linux; a file with an access control list is only for its owner and
    root.
    """
    machine.check("mount -t ext3 /dev/vdf /mnt/m && cd /mnt/m && cat fixed log fixed_dir/f >/dev/null")
    refused = ["echo x >>fixed", ">fixed", "rm -f fixed", "mv fixed other", "ln fixed other", "chmod 600 fixed",
               "chown 1 fixed", "touch fixed", "mv log fixed", "echo x >log", ">log", "rm -f log", "mv log other",
               "ln log other", "chmod 600 log", "touch -d '2001-02-03 04:05:06' log", "truncate -s 1 log",
               "touch fixed_dir/new", "rm -f fixed_dir/f", "mv fixed_dir other"]  # fmt: skip
    for command in refused:
        got = machine.run(f"cd /mnt/m && {command}")
        assert got.status != 0 and "not permitted" in got.out, (command, got)
    machine.check("cd /mnt/m && echo more >>log && touch log && tail -c 5 log | grep -q more && echo x >fixed_dir/f")
    assert machine.run("cat /mnt/m/acl", uid=1001).status != 0
    machine.check("cat /mnt/m/acl && echo x >>/mnt/m/acl")
    assert machine.run("cat /mnt/m/acl && echo x >>/mnt/m/acl", uid=1000).status == 0
    machine.check("umount /mnt/m")
    fsck("flags")


@EXT
def test_dontneed_drops_clean_pages(machine):
    machine.check("mount -t ext3 /dev/vda /mnt/m")
    assert machine.check("/usr/test/dontneed /mnt/m/f").split() == ["16", "9", "0"]
    machine.check("rm /mnt/m/f && umount /mnt/m")


@EXT
def test_reads_what_mke2fs_wrote(machine):
    machine.check("mount -o ro -t ext3 /dev/vda /mnt/m")
    assert machine.check("md5sum < /mnt/m/big").split()[0] in tool("md5sum", TREE / "big")
    assert machine.check("cat /mnt/m/dir/sub/link && cd /mnt/m/dir/sub && pwd -P") == "small\n/mnt/m/dir/sub\n"
    assert "Read-only file system" in machine.run("touch /mnt/m/x").out
    machine.check("mount -o remount,rw /mnt/m && touch /mnt/m/x && rm /mnt/m/x")
    assert "busy" in machine.run("exec 3>/mnt/m/y; mount -o remount,ro /mnt/m").out
    # The last close of a file without a name frees it, and must be able to write.
    assert "busy" in machine.run("exec 3</mnt/m/y; rm /mnt/m/y; mount -o remount,ro /mnt/m").out
    machine.check("mount -o remount,ro /mnt/m")
    assert machine.run("rm /mnt/m/a").status != 0
    # With the device, busybox passes no type; the kernel uses that of the mounted file system.
    machine.check("mount -o remount,rw /dev/vda /mnt/m && touch /mnt/m/x && rm /mnt/m/x")
    machine.check("mount -o remount,ro /dev/vda /mnt/m")
    assert "Read-only file system" in machine.run("touch /mnt/m/x").out
    machine.check("umount /mnt/m")
    fsck("main")


@EXT
def test_e2fsck_and_debugfs_agree(machine):
    """Files of every kind; debugfs shows the attributes that were set."""
    machine.check(
        "mount -t ext3 /dev/vda /mnt/m && cd /mnt/m && mkdir k && cd k && echo data > f && ln f hard && ln -s f soft && "
        f"ln -s {'x' * 100} long && mknod c c 4 70 && mknod b b 300 70000 && mkfifo p && mkdir d && chmod 750 f && "
        "chown 1234:70000 f && touch -d '2001-02-03 04:05:06' f && mv d e && echo over > g && mv g soft && "
        "dd if=/dev/zero of=sparse bs=1 count=1 seek=3000000000 2>/dev/null && cp /bin/busybox . && cmp busybox /bin/busybox"
    )
    assert machine.check("cat /mnt/m/k/soft; ls -l /mnt/m/k/sparse | cut -c20-").startswith("over\n")
    assert machine.check("du -k /mnt/m/k/sparse").split()[0] in ("16", "12")
    machine.check("cd / && umount /mnt/m")
    fsck("main")
    said = debugfs("main", "stat /k/f")
    assert re.search(r"Mode:\s+0750", said) and re.search(r"User:\s+1234\s+Group:\s+70000", said)
    assert "Links: 2" in said and "mtime: 0x3a7b8372" in said
    assert debugfs("main", "cat /k/soft") == "over\n"
    assert "x" * 100 in debugfs("main", "stat /k/long") or "x" * 100 in debugfs("main", "cat /k/long")
    assert "Device major/minor number: 04:70" in debugfs("main", "stat /k/c")
    assert "Device major/minor number: 300:70000" in debugfs("main", "stat /k/b")
    assert "Size: 3000000001" in debugfs("main", "stat /k/sparse")
    machine.check("mount -t ext3 /dev/vda /mnt/m && cd /mnt/m/k && stat -c '%t:%T' b && rm -r ../k && cd / && umount /mnt/m")
    fsck("main")


@EXT
def test_times_have_nanoseconds(machine):
    machine.check("mount -t ext3 /dev/vda /mnt/m && touch /mnt/m/t && sync && umount /mnt/m && mount -t ext3 /dev/vda /mnt/m")
    assert machine.check("stat -c %y /mnt/m/t").split(".")[1][:9] != "000000000"
    machine.check("mount -o remount,noatime /mnt/m && touch -a -d '2001-01-01 00:00:00' /mnt/m/t && cat /mnt/m/t")
    assert machine.check("stat -c %x /mnt/m/t").startswith("2001-01-01 00:00:00")
    assert "noatime" in machine.check("grep /mnt/m /proc/mounts")
    machine.check("rm /mnt/m/t && umount /mnt/m")
    fsck("main")


@EXT
def test_large_directory(machine):
    """10,000 names are made, found through the index, listed once each, and removed."""
    machine.check("mount -t ext3 /dev/vda /mnt/m && mkdir /mnt/m/d && cd /mnt/m/d && seq 10000 | xargs touch", timeout=120)
    assert machine.check("ls /mnt/m/d | sort -n | uniq | wc -l; ls /mnt/m/d | wc -l") == "10000\n10000\n"
    machine.check("umount /mnt/m")
    fsck("main")
    assert "Flags: 0x1000" in debugfs("main", "stat /d")
    machine.check("mount -t ext3 /dev/vda /mnt/m && cd /mnt/m/d && for i in 1 5000 9999; do [ -e $i ] || exit 1; done")
    assert machine.run("test -e /mnt/m/d/10001").status == 1
    machine.check("rm -r /mnt/m/d && umount /mnt/m", timeout=120)
    fsck("main")


@EXT
def test_full_disk(machine):
    machine.check("mount -t ext3 /dev/vdb /mnt/s && echo kept > /mnt/s/kept && sync")
    before = machine.check("df /mnt/s").splitlines()[1].split()[2]
    for _ in range(2):
        out = machine.run("dd if=/dev/zero of=/mnt/s/fill bs=64k; sync; df /mnt/s").out
        assert "No space left on device" in out and out.splitlines()[-1].split()[4] in ("99%", "100%")
        assert machine.check("cat /mnt/s/kept; tail -c 1000 /mnt/s/fill | tr -d '\\0' | wc -c") == "kept\n0\n"
        machine.check("rm /mnt/s/fill")
    machine.check("sync")
    assert machine.check("df /mnt/s").splitlines()[1].split()[2] == before
    out = machine.run("cd /mnt/s && i=0; while mkdir d$i 2>/tmp/said; do i=$((i+1)); done; cat /tmp/said").out
    assert "No space" in out
    machine.check("umount /mnt/s")
    fsck("small")


@EXT
def test_no_room_inside_a_file(machine):
    """A write into a hole of three blocks fails when only one block is free; the page keeps its contents."""
    machine.check(
        "mount -t ext3 /dev/vdb /mnt/s && rm -rf /mnt/s/d*; cd /mnt/s && test $(stat -c %b hole) = 2 &&"
        "echo 1 > one && cd / && umount /mnt/s && mount -t ext3 /dev/vdb /mnt/s"
    )
    machine.run("dd if=/dev/zero of=/mnt/s/fill bs=1024 2>/dev/null; rm /mnt/s/one; sync")
    out = machine.run("dd if=/dev/zero bs=4096 count=1 2>/dev/null | tr '\\0' b | dd of=/mnt/s/hole bs=4096 conv=notrunc")
    assert "No space left on device" in out.out
    for _ in range(2):
        assert machine.check("tr -d '\\0' < /mnt/s/hole") == "a" * 1024
        machine.check("umount /mnt/s && mount -t ext3 /dev/vdb /mnt/s")
    machine.check("rm /mnt/s/fill /mnt/s/hole && umount /mnt/s")
    fsck("small")


@EXT
def test_busy_file_system_stays(machine):
    """A umount that fails never makes the directory below visible."""
    machine.check("mount -t ext3 /dev/vdb /mnt/s && echo x > /mnt/s/keep && rm -f /tmp/end")
    out = machine.check(
        "exec 3</mnt/s/keep; (for i in $(seq 200); do umount /mnt/s 2>/dev/null && echo done; done; touch /tmp/end) &"
        "while [ ! -e /tmp/end ]; do [ -e /mnt/s/keep ] || echo gone; done; wait; rm /mnt/s/keep"
    )
    assert out == ""


@EXT
def test_deleted_while_open(machine):
    machine.check("mount -t ext3 /dev/vdb /mnt/s && rm -rf /mnt/s/d*; sync")
    before = machine.check("df /mnt/s").splitlines()[1].split()[2]
    out = machine.check("cd /mnt/s; exec 3<>o; echo text >&3; rm o; sync; cat /proc/self/fd/3; df . | tail -1; exec 3>&-")
    assert out.startswith("text\n")
    out = machine.check(
        "cd /; exec 3<>/mnt/s/o; echo text >&3; rm /mnt/s/o; umount /mnt/s 2>&1; cat /proc/self/fd/3; exec 3>&-"
    )
    assert "busy" in out and out.endswith("text\n")
    machine.check("sync")
    assert machine.check("df /mnt/s").splitlines()[1].split()[2] == before
    machine.check("umount /mnt/s")
    fsck("small")


@EXT
def test_without_a_journal(machine):
    machine.check("mount -t ext2 /dev/vde /mnt/s && mkdir -p /mnt/s/a/b && cp /bin/busybox /mnt/s/a && mv /mnt/s/a /mnt/s/c")
    assert " type ext2 " in machine.check("mount | grep vde")
    machine.check("cmp /mnt/s/c/busybox /bin/busybox && umount /mnt/s")
    fsck("old")


@EXT
def test_features(machine):
    """An unknown incompatible feature prevents the mount, with its name; an unknown read-only-compatible one makes the file
    system read-only.
    """
    assert machine.run("mount -t ext3 /dev/vdc /mnt/s").status != 0
    assert "vdc: cannot be mounted: incompatible feature 0x40 extent is not known" in machine.check("dmesg")
    machine.check("mount -t ext3 /dev/vdd /mnt/s")
    assert "(ro," in machine.check("mount | grep vdd")
    assert machine.run("touch /mnt/s/x").status != 0
    assert machine.run("mount -o remount,rw /mnt/s").status != 0
    machine.check("umount /mnt/s")


@EXT
@pytest.mark.long
@pytest.mark.parametrize("program", ["t_file", "t_fsrace"])
def test_programs_work_on_it(machine, program):
    """The tests of files and mappings pass with their files on it; all ways to access a file show the same data."""
    machine.check("mount -t ext3 /dev/vda /mnt/m && mkdir -p /mnt/m/tmp && chmod 1777 /mnt/m/tmp")
    machine.check("cp -a /tmp /mnt/m/old.tmp; mount -t tmpfs none /mnt/s")
    out = machine.run(f"cd /mnt/m/tmp && TMPDIR=/mnt/m/tmp /usr/test/{program}", timeout=120)
    assert out.status == 0, out.out
    assert "bad=0" in machine.check("cd /mnt/m/tmp && /usr/test/coherence f 4 20000 5", timeout=120)
    machine.check("umount /mnt/s; rm -r /mnt/m/tmp /mnt/m/old.tmp; umount /mnt/m")
    fsck("main")


@STORM
def test_many_at_the_same_files(machine):
    """Random writes, stores, truncations, unlinks, syncs and kills, on a small disk with a small journal."""
    machine.check("mount -t ext3 /dev/vda /mnt/m")
    out = machine.check("/usr/test/storm /mnt/m 11 400 12", timeout=180)
    machine.check("umount /mnt/m")
    assert "bad=0" in out
    fsck("storm")


@SHORT
def test_many_when_memory_and_disk_are_short(machine):
    """The same while pages are paged out and in, on a disk that is full again and again."""
    machine.check("swapon /dev/vdb && mount -t ext3 /dev/vda /mnt/m")
    left = int(machine.check("df -k /mnt/m").splitlines()[1].split()[3])
    machine.check(f"dd if=/dev/zero of=/mnt/m/fill bs=64k count={left // 64 - 24} 2>/dev/null")
    machine.check("/usr/test/paging rounds 54 4000 >/dev/null 2>&1 & echo $! >/tmp/hog")
    assert "bad=0" in machine.check("/usr/test/storm /mnt/m 13 300 12", timeout=180)
    machine.check("kill -9 $(cat /tmp/hog); umount /mnt/m")
    fsck("short")
    assert sum(int(line.split("\t")[1]) for line in machine.check("kstat -p cpu:::anonpgout").splitlines()) > 0


@STORM
def test_stores_to_parts_of_pages(machine):
    """
    Blocks smaller than a page, holes, and an end of file in the middle of a page: data that were stored through a mapping are
    there after another mount if they are before the end of the file, and not if they are behind it.
    """
    machine.check("mount -t ext3 /dev/vdb /mnt/s && /usr/test/storm part /mnt/s")
    machine.check("umount /mnt/s && mount -t ext3 /dev/vdb /mnt/s")
    assert "bad=0" in machine.check("/usr/test/storm check /mnt/s")
    machine.check("umount /mnt/s")
    fsck("parts")


@STORM
def test_writes_that_find_no_room_leave_nothing(machine):
    machine.check("mount -t ext3 /dev/vdb /mnt/s")
    assert "bad=0" in machine.check("/usr/test/storm full /mnt/s", timeout=60)
    machine.check("umount /mnt/s")
    fsck("parts")


@SLOW
def test_cut_inside_a_page_that_is_being_written(machine):
    machine.check("mkdir -p /mnt && mount -t ext3 -o commit=1000 /dev/vda /mnt")
    assert "bad=0" in machine.check("/usr/test/storm cut /mnt", timeout=60)
    machine.check("umount /mnt")
    fsck("slow")


@SLOW
def test_small_files_are_written_together(machine):
    """A hundred files are next to each other on the disk: their data, inodes and the log need only a few commands."""

    def commands() -> int:
        return int(machine.check("cat /proc/diskstats").split()[7])

    machine.check("mkdir -p /mnt && mount -t ext3 -o commit=1000 /dev/vda /mnt")
    machine.check("cd /mnt && ls | grep -v lost+found | xargs -r rm -rf && cd / && sync && mkdir /mnt/beside")
    machine.check("""i=0; while test $i -lt 100; do
        dd if=/bin/busybox of=/mnt/beside/f$i bs=4k count=$((i % 3 + 1)) 2>/dev/null; i=$((i + 1)); done""")
    before = commands()
    machine.check("sync")
    assert 3 <= commands() - before <= 30
    machine.check("umount /mnt")
    fsck("slow")


@SLOW
def test_time_of_access_of_a_directory_is_kept(machine):
    machine.check("mkdir -p /mnt && mount -t ext3 /dev/vda /mnt && mkdir /mnt/read && touch -d 2001-01-01 /mnt/read && sync")
    machine.check("ls /mnt/read && umount /mnt && mount -t ext3 /dev/vda /mnt")
    assert int(machine.check("stat -c %X /mnt/read")) > 1_000_000_000
    machine.check("umount /mnt")


@SLOW
def test_seconds_between_commits(machine):
    for text in ("abc", "5x", "", "200000"):
        assert machine.run(f"mkdir -p /mnt && mount -t ext3 -o commit={text} /dev/vda /mnt").status != 0, text

    def flushes(options: str, seconds: int) -> int:
        """Of the disk's cache after a change, until there are some, or for a time: each commit has one or two."""
        machine.check(f"mount -t ext3 -o {options} /dev/vda /mnt && echo x > /mnt/late && rm /mnt/late")
        counts = [int(machine.check("grep vda /proc/diskstats").split()[-2])]
        while counts[-1] == counts[0] and len(counts) <= seconds:
            counts.append(int(machine.check("sleep 1; grep vda /proc/diskstats").split()[-2]))
        machine.check("umount /mnt")
        return counts[-1] - counts[0]

    assert flushes("commit=1000", 7) == 0
    # The disk is a program of the host, and takes the longer the busier that is.
    assert flushes("commit=0", 30) > 0  # the default, five seconds
    assert flushes("commit=1", 30) > 0


@BAD
def test_errors_of_the_disk(machine):
    """A read and a sync of a bad sector give EIO; everything else works."""
    machine.check("mkdir -p /mnt && mount -t ext3 /dev/vda /mnt")
    assert "Input/output error" in machine.run("cat /mnt/a").out
    assert machine.check("md5sum < /mnt/big").split()[0] in tool("md5sum", TREE / "big")
    out = machine.run("dd if=/dev/zero of=/mnt/b bs=4096 count=1 conv=notrunc,fsync")
    assert out.status != 0 and "Input/output error" in out.out
    machine.check("echo more > /mnt/c && sync && cat /mnt/c")
    assert "Input/output error" in machine.run("mount -o remount,ro /mnt").out  # the page is still not on the disk
    machine.check("echo again > /mnt/c")
    assert "busy" in machine.run("cd /mnt && umount /mnt").out
    machine.check("umount /mnt")
    assert "vda: 1 pages of inode" in machine.check("dmesg")


@BAD
def test_a_bad_sector_costs_its_page(machine):
    """Only the page of the bad sector cannot be read or written, not the other pages of the same request."""
    machine.check("mkdir -p /mnt && mount -t ext3 /dev/vda /mnt")
    read = "for i in $(seq 0 63); do dd if=/mnt/spotted of=/dev/null bs=4k skip=$i count=1 2>/dev/null || echo $i; done"
    for _ in range(2):
        assert machine.check(read).split() == ["21"]
    out = machine.run("dd if=/dev/zero of=/mnt/spotted bs=4k count=64 conv=notrunc,fsync")
    assert out.status != 0 and "Input/output error" in out.out
    machine.check("dmesg -c >/dev/null; umount /mnt")
    assert "vda: 1 pages of inode" in machine.check("dmesg")


@BAD
def test_a_commit_goes_on_without_refused_data(machine):
    """A new file gets the bad block, and commits happen: each later fsync of this file fails, other files are written."""
    fsync = "dd if=/dev/null conv=notrunc,fsync of=/mnt"
    machine.check("mkdir -p /mnt && mount -t ext3 /dev/vda /mnt && rm /mnt/b && sync")
    machine.run("dd if=/dev/zero of=/mnt/all bs=64k")  # until the disk is full
    machine.check("sync")
    assert "Input/output error" in machine.run(f"{fsync}/all").out
    machine.check(f"echo more >> /mnt/a; {fsync}/a")
    assert "Input/output error" in machine.run(f"{fsync}/all").out
    machine.check("rm /mnt/all && sync && umount /mnt")


@LOGBAD
def test_errors_of_the_journal(machine):
    """If the journal cannot be written, the file system becomes read-only and fsync returns EIO; reads still work."""
    machine.check("mkdir -p /mnt && mount -t ext3 /dev/vda /mnt")
    out = machine.run("cd /mnt; for i in $(seq 40); do echo $i > n$i; sync; done; dd if=/dev/zero of=n conv=fsync bs=1 count=1")
    assert out.status != 0 and "Read-only file system" in out.out
    assert "journal aborted" in machine.check("dmesg")
    assert machine.check("md5sum < /mnt/big").split()[0] in tool("md5sum", TREE / "big")
    machine.check("umount /mnt")
    assert re.search(r"Filesystem state:.* with errors", tool("dumpe2fs", "-h", FOLDER / "logbad.img"))


@pytest.mark.long
@FUZZ
def test_corrupt_images(machine):
    """Images that the host program has damaged are mounted, read, changed and unmounted, or refused."""
    machine.check("mkdir -p /mnt")
    mounted = 0
    for number in range(FUZZ_IMAGES):
        out = machine.check(
            f"dd if=/dev/vda of=/dev/vdb bs=4M skip={number} count=1 conv=fsync 2>/dev/null;"
            "mount -t ext3 /dev/vdb /mnt 2>/dev/null || exit 0; echo mounted; ls -lR /mnt >/dev/null 2>&1;"
            "cat /mnt/a/big /mnt/a/b/* /mnt/n1 /mnt/long >/dev/null 2>&1; cd /mnt; for i in 1 2 3; do echo x > new$i;"
            "mkdir d$i; mv new$i d$i; rm -rf n$i a/b/some-longer-name-$i*; echo y >> a/big; done"
            " >/dev/null 2>&1; sync; cd /; umount /mnt"
        )
        mounted += out == "mounted\n"
    assert FUZZ_IMAGES // 5 < mounted < FUZZ_IMAGES


def test_root(boot_once, speed):
    """The root is on a disk: the same tree, owned by root; what a run writes is there in the next."""
    subprocess.run(["make", "-s", "TEST=1", "root"], cwd=TOP, check=True)
    shutil.copy(TOP / "build/test/root.img", FOLDER / "root.img")
    fsck("root")
    assert "User:     0" in debugfs("root", "stat /bin/busybox") and "Mode:  04755" in debugfs("root", "stat /bin/busybox")
    disk = {"disks": (f"{FOLDER}/root.img",), "system": "rootfs:ext3; rootdev:/dev/vda"}
    run = "mount | head -1; echo kept > /root/kept; ls -ld /home/student /tmp"
    outcome, text, _ = boot_once("sf280r", run=run, **disk)
    assert outcome.kind == "clean" and outcome.status == 0, text
    assert "/dev/vda on / type ext3 (rw,relatime)" in text and "student" in text and "drwxrwxrwt" in text
    fsck("root")
    outcome, text, _ = boot_once("sf280r", run="cat /root/kept", **disk)
    assert outcome.status == 0 and "kept" in text
    outcome, text, _ = boot_once("sf280r", run="mount | head -1", system="rootdev:/dev/vda")
    assert outcome.status == 0 and "the root is in memory" in text and "tmpfs on /" in text
