# SPDX-License-Identifier: MIT
"""test_pageout.py - pageout, swap and promised memory on a machine with little memory: contents, policies, tunables."""

import hashlib
import os
import random
import re
import subprocess

import pytest

from homeroom.machine import TOP

os.environ["PATH"] += ":/usr/sbin:/sbin"  # mke2fs is there, and an ordinary user has no such folder in PATH

FOLDER = TOP / "build/test-pageout"
pytestmark = [pytest.mark.disk, pytest.mark.xdist_group("pageout")]  # one worker makes the disks in FOLDER once
MB = 1 << 20
FILE_MB = 96
WORN = range(1000, 1008)  # pages of a disk to which writes fail


def disks(name: str) -> tuple[str, str]:
    return (f"{FOLDER}/{name}-swap.img", f"{FOLDER}/file.img,readonly")


def put(name: str, data: bytes) -> None:
    """Make a file under another name and rename it: several processes may run these tests."""
    if not (FOLDER / name).exists():
        new = FOLDER / f"{name}.{os.getpid()}"
        new.write_bytes(data)
        new.replace(FOLDER / name)


@pytest.fixture(scope="module", autouse=True)
def images():
    FOLDER.mkdir(parents=True, exist_ok=True)
    put("file.img", random.Random(6).randbytes(MB) * FILE_MB)
    for name in ("cache", "priority", "old"):
        put(f"{name}-swap.img", bytes(256 * MB))
    for name, size in (("dead", 24), ("worn", 128), ("clusters", 80), ("advice", 96), ("roomy", 128)):
        with (FOLDER / f"{name}-swap.img").open("wb") as file:
            file.truncate(size * MB)
    for name in ("ext.img", "advice-ext.img"):
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096", FOLDER / name, "64M"], check=True)
    rule = '[inject-error]\nevent = "none"\niotype = "write"\nerrno = "5"\n'
    (FOLDER / "dead.conf").write_text(rule)
    (FOLDER / "worn.conf").write_text("".join(f'{rule}sector = "{8 * page}"\n' for page in WORN))


def little(name: str, system: str = ""):
    """A machine with 64 MiB of memory, a disk for swap (vda) and a disk of 96 MiB that is only read (vdb)."""
    return pytest.mark.machine("sf280r", memory="64M", disks=disks(name), system=system)


CACHE = little("cache", "set priority_paging=1")
PRIORITY = little("priority", "set pageout_policy=1;set priority_paging=1;set cachefree=4000;set ufs:freebehind=0")
EAGER = pytest.mark.machine(
    "sf280r",
    memory="96M",
    disks=(f"{FOLDER}/ext.img",),
    system="set lotsfree=7000;set handspreadpages=64;set pageout_timescale=1000;set file_readaround=1;"
    "set min_percent_cpu=100;set max_percent_cpu=100",
)
BROKEN = pytest.mark.machine(
    "sf280r", memory="64M", disks=tuple(f"{FOLDER}/{name}-swap.img,blkdebug={FOLDER}/{name}.conf" for name in ("dead", "worn"))
)
CLUSTERS = little("clusters")
ROOMY = pytest.mark.machine("sf280r", memory="256M", disks=(f"{FOLDER}/roomy-swap.img",))
ADVICE = pytest.mark.machine("sf280r", memory="64M", disks=(f"{FOLDER}/advice-swap.img", f"{FOLDER}/advice-ext.img"))
OLD = little("old", "set pageout_policy=0;set lotsfree=999999;set desfree=99999;set slowscan=999999;set ufs:freebehind=0")


def counts(machine) -> dict[str, int]:
    """The sums of the counters of all CPUs."""
    total: dict[str, int] = {}
    for line in machine.check("kstat -p cpu:::").splitlines():
        name, value = line.rsplit("\t", 1)
        name = name.rsplit(":", 1)[1]
        total[name] = total.get(name, 0) + int(value)
    return total


def pages(machine) -> dict[str, int]:
    rows = (line.split("\t") for line in machine.check("kstat -p unix:0:system_pages:").splitlines())
    return {name.rsplit(":", 1)[1]: int(value) for name, value in rows}


def commit_limit(machine) -> int:
    """The limit of promised memory, in KiB."""
    return int(machine.check("grep CommitLimit /proc/meminfo").split()[1])


def swap_on(machine) -> None:
    if "/dev/vda" not in machine.check("cat /proc/swaps"):
        machine.check("swap -a /dev/vda")


@CACHE
def test_memory_goes_out_and_comes_back(machine):
    """Private, forked and shared memory larger than that of the machine: every byte has its value."""
    swap_on(machine)
    before, limit = counts(machine), commit_limit(machine)
    for kind in ("anon", "shared"):
        assert "bad=0" in machine.check(f"/usr/test/paging {kind} 80 {kind[0] == 'a':d}", timeout=120)
    after = counts(machine)
    assert after["anonpgout"] - before["anonpgout"] > 5000
    assert after["anonpgin"] - before["anonpgin"] > 5000
    assert after["mjf"] - before["mjf"] > 1000, "faults that waited for the disk"
    assert int(machine.check("swap -l").split()[-1]) > 500000, "nearly all blocks are free again"
    assert abs(commit_limit(machine) - limit) < 1024, "what can be promised is what it was"
    assert after["around_used"] + after["around_wasted"] <= after["around_read"]


@pytest.mark.long
@CACHE
def test_clean_pages_go_unwritten(machine):
    """Pages that are only read return from swap and leave again without another write; a command reads many of them."""
    swap_on(machine)
    before = counts(machine)
    out = machine.check("/usr/test/paging looks 80 5", timeout=120)
    came, went = (int(re.search(rf"{what}=(\d+)", out)[1]) for what in ("in", "out"))
    after = counts(machine)
    assert came > 9000 and went < came // 3, f"{out}: but for what had not gone out before"
    around = {name: after[name] - before[name] for name in ("around_read", "around_used", "around_wasted")}
    pages = after["anonpgin"] - before["anonpgin"]
    assert pages >= 2 * (after["mjf"] - before["mjf"]), "pages for each fault that waited"
    assert around["around_used"] >= 0.8 * around["around_read"], around


@CACHE
def test_random_pages_come_alone(machine):
    swap_on(machine)
    out = machine.check("/usr/test/paging random 110 12000", timeout=120)
    needed, came = (int(re.search(rf"{what}=(\d+)", out)[1]) for what in ("needed", "in"))
    assert needed > 4000 and came <= 1.1 * needed, out


@pytest.mark.long
@CACHE
def test_shared_pages_keep_slots(machine):
    """A shared page that was read from swap keeps its slot; a store to it is not lost when it leaves again."""
    swap_on(machine)
    out = machine.check("/usr/test/paging sharedlooks 80 3", timeout=120)
    came, went = (int(re.search(rf"{what}=(\d+)", out)[1]) for what in ("in", "out"))
    assert "bad=0" in out and came > 9000 and went < came // 3, out


@pytest.mark.long
@CLUSTERS
def test_slots_used_twice_are_no_loss(machine):
    """Memory and swap are nearly full, and a process keeps slots for pages in memory: another still gets promised memory."""
    swap_on(machine)
    machine.check("/usr/test/paging looks 45 40 >/tmp/looks & /usr/test/paging rounds 65 3 && wait $!", timeout=240)
    assert "bad=0" in machine.check("cat /tmp/looks")
    assert not re.search("out of memory", machine.check("dmesg"))
    machine.check("swap -d /dev/vda")
    assert int(machine.check("grep swap_kept /proc/vmstat").split()[1]) == 0
    assert machine.check("kstat -p unix:0:swap:kept").split()[-1] == "0"


@CACHE
def test_locked_memory_stays(machine):
    swap_on(machine)
    out = machine.check("/usr/test/paging locked 70 2", timeout=60)
    pages, locked, segment, other = (int(n) for n in re.findall(r"=(\d+)", out))
    assert locked == segment == pages, out
    assert other < pages, "memory was not short"


@pytest.mark.long
@CACHE
def test_segment_nobody_has_attached(machine):
    """A shared segment without attachments goes to swap, and returns when swap is removed: no address space has its pages."""
    swap_on(machine)
    assert "made=1 bad=0" in machine.check("/usr/test/paging sysv 12 7")
    machine.check("/usr/test/paging anon 80 1", timeout=120)
    before = counts(machine)
    machine.check("swap -d /dev/vda")
    assert counts(machine)["anonpgin"] - before["anonpgin"] > 1000
    assert "made=0 bad=0" in machine.check("/usr/test/paging sysv 12 7")
    swap_on(machine)


@ROOMY
def test_kill_ends_what_swapoff_reads(machine):
    """SIGKILL need not wait until all pages of the process are back.  Five tries: the disk may be faster than the killer."""
    for _ in range(5):
        swap_on(machine)
        out = machine.check("/usr/test/paging killed 96 /dev/vda", timeout=120)
        pages, came = (int(n) for n in re.findall(r"=(\d+)", out))
        if pages // 16 <= came < pages // 2:
            break
    else:
        pytest.fail(out)


@CACHE
def test_refused_early(machine):
    """Promised memory can be used.  mmap and brk refuse with ENOMEM what cannot be promised; MAP_NORESERVE is not refused."""
    swap_on(machine)
    found = re.search(r"promised_mb=(\d+) refused=(.*) brk=(.*) noreserve=(.*)", machine.check("/usr/test/paging early 1000"))
    assert 256 <= int(found[1]) <= 256 + 64
    assert found[2] == found[3] == "Out of memory" and found[4] == "ok"
    machine.check("swap -d /dev/vda")
    found = re.search(r"promised_mb=(\d+) ", machine.check("/usr/test/paging early 1000"))
    assert 20 <= int(found[1]) <= 64
    assert machine.run("/usr/test/paging rounds 200 1").status != 0, "more than there is"
    swap_on(machine)


@CACHE
def test_the_greedy_one_ends(machine):
    """When memory without a promise has used up everything, its process is killed; processes with promised memory continue.

    Until then, a new program may be refused, because nothing was promised to it yet: by execve (126), or by fork (2, which
    would end the shell without `command eval`).
    """
    machine.run("swap -d /dev/vda")
    killed = machine.check("dmesg").count("out of memory: killed")
    out = machine.run(
        "/usr/test/paging greedy 200 & greedy=$!; i=0; while kill -0 $greedy 2>/dev/null; do "
        'i=$((i + 1)); command eval "/usr/test/paging anon 4 $i" || case $? in 2 | 126) ;; *) exit 1 ;; esac; done; '
        "wait $greedy",
        timeout=120,
    )
    assert out.status == 137, out.out
    assert machine.check("dmesg").count("out of memory: killed") == killed + 1
    swap_on(machine)


@pytest.mark.long
@BROKEN
def test_disk_that_cannot_be_written(machine):
    """A page of swap whose write fails is not used again, and its data stay in memory.

    If no page of a disk can be written, the process that needs memory is killed.
    """
    machine.check("swap -a /dev/vdb")
    assert "busy" in machine.run("mount -t ext3 /dev/vdb /mnt").out
    assert "bad=0" in machine.check("/usr/test/paging anon 80 1", timeout=120)
    assert int(machine.check("swap -l").split()[-2]) == (128 * MB // 4096 - 1 - len(WORN)) * 8, "blocks that can be used"
    machine.check("swap -d /dev/vdb && swap -a /dev/vda")
    assert machine.run("/usr/test/paging rounds 64 1", timeout=120).status == 137
    log = machine.check("dmesg")
    assert log.count("a page of swap cannot be written") == 2 and "out of memory: killed" in log
    assert machine.check("echo on")


@pytest.mark.long
@EAGER
def test_unmap_beside_the_page_daemon(machine):
    """A mapping is removed while the page daemon empties the same entries: each is counted once (a table's count, vm/pt.h)."""
    machine.check("psradm -f 1; dd if=/dev/zero of=/tmp/fill bs=1M count=36 2>/dev/null")
    before = counts(machine)["scan"]
    machine.check("mkdir -p /mnt; mount -t ext3 /dev/vda /mnt; head -c 41943040 /dev/zero >/mnt/f; sync", timeout=120)
    machine.check("/usr/test/paging unmap 40 300 </mnt/f", timeout=120)
    assert counts(machine)["scan"] - before > 250000


@pytest.mark.machine("sf3800", memory="96M", disks=(f"{FOLDER}/ext.img",))
def test_pages_of_the_cache_list_move(machine):
    """Pages of a file that are on the cache list move to another board; none stays on the list of the old board."""
    machine.check("mkdir -p /mnt; mount -t ext3 /dev/vda /mnt")
    machine.check("pbind -b 0 $$ >/dev/null; head -c 8388608 /dev/urandom >/mnt/moved; sync; md5sum </mnt/moved >/tmp/sum")
    before = sum(n for name, n in machine.kstats("lgrp:").items() if name.endswith("pages migrated to"))
    machine.check("pbind -b 4 $$ >/dev/null; exec /usr/test/paging moved 8 </mnt/moved")
    after = sum(n for name, n in machine.kstats("lgrp:").items() if name.endswith("pages migrated to"))
    assert after - before > 1000
    machine.run("/usr/test/paging greedy 300", timeout=120)
    machine.check("md5sum </mnt/moved | cmp - /tmp/sum")


@pytest.mark.machine("sf280r", memory="96M")
def test_memory_in_single_pages(machine):
    """Threads need no contiguous frames; a process that requests some gets an answer, and does not wait for ever."""
    out = machine.check("/usr/test/paging pieces 24 60", timeout=60)
    forks, bus, served = (int(n) for n in re.search(r"forks=(\d+) bus=(\d+) served=(\d+)", out).groups())
    assert forks == 60 and bus + served == 60 and bus > 40, out


@CACHE
def test_cache_list(machine):
    """With the policy of Solaris 8, a long read reuses the cache list: its pages count as free, and nothing is scanned."""
    assert "sorry, variable 'priority_paging' is not defined in the 'kernel'" in machine.check("dmesg")
    before = counts(machine)
    assert pages(machine)["pageout_policy"] == 2
    free = pages(machine)["freemem"]
    machine.check("exec 3< /dev/vdb; cat <&3 > /dev/null; kstat -p unix:0:system_pages: > /tmp/while")
    during = dict(line.split("\t") for line in machine.check("cat /tmp/while").splitlines())
    after = counts(machine)
    assert after["fspgin"] - before["fspgin"] >= FILE_MB * 256
    assert after["scan"] == before["scan"] and after["anonpgout"] == before["anonpgout"]
    assert int(during["unix:0:system_pages:cachelist"]) > 8000
    assert abs(int(during["unix:0:system_pages:freemem"]) - free) < 1000


@PRIORITY
def test_priority_paging(machine):
    """While free memory is between lotsfree and cachefree, only file pages are freed, not those of programs."""
    swap_on(machine)
    assert pages(machine)["cachefree"] == 4000
    before = counts(machine)
    # A fast reader would bring free memory below lotsfree, where all pages are equal.  So it waits before each 1024 pages until
    # 2500 are free.
    wait = "while [ $(kstat -p unix:0:system_pages:freemem | cut -f 2) -lt 2500 ]; do sleep 0.1; done"
    machine.check(f"exec 3< /dev/vdb; for i in $(seq 20); do {wait}; dd bs=64k count=64 <&3 > /dev/null 2>&1; done")
    after = counts(machine)
    assert after["scan"] > before["scan"]
    assert after["fsfree"] - before["fsfree"] > 1000
    assert after["anonfree"] == before["anonfree"] and after["execfree"] == before["execfree"]


@OLD
def test_all_compete(machine):
    """With the policy before Solaris 7, a long read also takes pages of programs; no data are lost."""
    swap_on(machine)
    out = machine.check("/usr/test/paging rounds 30 20 & exec 3< /dev/vdb; cat <&3 > /dev/null; wait; echo ok")
    assert "bad=0" in out
    assert counts(machine)["anonfree"] > 0


@OLD
def test_validation(machine):
    """Values that make no sense are replaced by defaults."""
    p = pages(machine)
    assert p["lotsfree"] == max(p["physmem"] // 64, 128)
    assert p["desfree"] == p["lotsfree"] // 2 and p["minfree"] == p["desfree"] // 2
    assert p["throttlefree"] == p["minfree"] and p["pageout_reserve"] == p["throttlefree"] // 2
    assert p["fastscan"] == p["physmem"] // 2 and p["slowscan"] == p["fastscan"] // 2
    assert p["pageout_policy"] == 0


@CACHE
def test_vmstat(machine):
    head = machine.check("vmstat -p").splitlines()
    assert " ".join(head[1].split()) == "swap free re mf fr de sr epi epo epf api apo apf fpi fpo fpf"
    assert len(head[2].split()) == 16
    assert re.search(r"^ *\d+ pages examined by the clock daemon$", machine.check("vmstat -s"), re.M)
    assert machine.check("vmstat -S | head -2").splitlines()[1].split()[5:7] == ["si", "so"]
    assert machine.check("vmstat 1 2 | wc -l").strip() == "4"
    assert "Total" in machine.check("vmstat -i")


# ---- advice: madvise(2), posix_fadvise(2) ----


def advise(machine, words: str) -> dict[str, int]:
    """The counts that /usr/test/advice prints; FILE in `words` is a file of 8 MiB on a disk."""
    swap_on(machine)
    machine.check(
        "[ -f /mnt/f ] || { mkdir -p /mnt; mount -t ext3 /dev/vdb /mnt && head -c 8388608 /dev/urandom >/mnt/f && sync; }",
        timeout=60,
    )
    out = machine.check(f"/usr/test/advice {words.replace('FILE', '/mnt/f')}", timeout=120)
    return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", out)}


@ADVICE
def test_random_reads_what_it_needs(machine):
    """MADV_RANDOM and POSIX_FADV_RANDOM: a command for each of the pages; with MADV_NORMAL, pages around them are read, too."""
    # A fault counts as minor if its read ends before it would wait: on a busy host, the thread of a CPU may pause there.
    got = advise(machine, "map FILE random")
    assert got["pages"] == got["commands"] == 200 and 0 < got["major"] <= 200, got
    assert advise(machine, "map FILE normal")["pages"] > 240
    got = advise(machine, "read FILE random")
    assert got["pages"] == got["commands"] == 64, got
    assert advise(machine, "read FILE normal")["commands"] < 10


@ADVICE
def test_sequential_reads_full_windows(machine):
    """From the first page on, a command reads 32 pages: 512 pages through a mapping, 64 with read(2) and up to 32 more ahead.

    The pages of a command become ready one after the other, so the thread may wait several times for one command; on a busy
    host, all can be ready before it would wait.
    """
    got = advise(machine, "map FILE sequential")
    assert got["pages"] == 512 and got["commands"] == 16 and 0 < got["major"] <= 512 // 4, got
    got = advise(machine, "read FILE sequential")
    assert got["commands"] <= 3 and got["pages"] <= 96, got


@ADVICE
def test_readers_of_one_file_read_ahead_apart(machine):
    """64 pages in order, and 64 at random through another open file: only these need a command each."""
    got = advise(machine, "two FILE")
    assert 64 < got["commands"] < 64 + 12, got


@ADVICE
@pytest.mark.parametrize("how", ["map", "file"])
def test_needed_pages_come_at_once(machine, how):
    got = advise(machine, f"need FILE {how}")
    assert got["there"] == got["pages"] == 2048 and got["major"] == 0 and got["commands"] <= 2048 // 32 + 8, got


@ADVICE
@pytest.mark.parametrize("how", ["anon", "shared"])
def test_pages_go_to_swap_when_told(machine, how):
    """MADV_PAGEOUT, then MADV_RANDOM: 200 accesses read 200 pages; after MADV_WILLNEED all pages are there."""
    got = advise(machine, f"swap {how}")
    assert got["left"] == 0 and got["out"] == got["there"] == 2048, got
    assert got["random_in"] == 200 and got["major"] == got["bad"] == 0, got


@ADVICE
def test_pages_of_others_stay(machine):
    """MADV_PAGEOUT removes neither pages shared with a relative, nor a file for which the caller has only read permission."""
    assert advise(machine, "fork")["left"] == 2048
    assert advise(machine, "out FILE 1000")["left"] == 2048
    assert advise(machine, "out FILE 0")["left"] == 0


@ADVICE
def test_cold_pages_go_first(machine):
    """At least in two of the last three of five runs.

    In the first runs the hands of the clock pass for the first time since the boot, and how far they get before the program
    has its memory varies.
    """
    got = [advise(machine, "cold 80") for _ in range(5)][2:]
    assert sum(one["cold"] <= 2048 // 4 and one["other"] > 2048 // 2 for one in got) >= 2, got


@ADVICE
def test_advice_goes_with_the_mapping(machine):
    """A child inherits advice, and a mapping that moves keeps it: 200 accesses read 200 pages."""
    got = advise(machine, "kept FILE")
    assert got["child"] == got["moved"] == 200, got


@ADVICE
@pytest.mark.parametrize("how", ["passed", "once"])
def test_pages_for_one_use_go_first(machine, how):
    """MADV_SEQUENTIAL and POSIX_FADV_NOREUSE: these pages leave before pages that are used as often without advice."""
    got = advise(machine, f"first FILE {how} 60")
    assert got["half"] < got["rest"] / 2, got


@ADVICE
def test_pages_that_others_map_stay_as_long(machine):
    """MADV_SEQUENTIAL does not affect pages that another mapping has without it."""
    got = advise(machine, "first FILE shared 60")
    assert abs(got["half"] - got["rest"]) < 2048 // 8, got


@ADVICE
def test_changed_pages_of_files_go_when_told(machine):
    """MADV_PAGEOUT writes changed pages within ten seconds; clean pages leave at once; the file has all data."""
    got = advise(machine, "dirty FILE")
    assert got["written"] >= 2048 and got["left"] == 0, got
    machine.check("sync && umount /mnt && mount -t ext3 /dev/vdb /mnt")
    data = b"".join(bytes([i % 251 + 1]) * 4096 for i in range(2048))
    assert machine.check("md5sum /mnt/f").split()[0] == hashlib.md5(data).hexdigest()


# ---- writers that wait: a slow disk, and a machine of its own ----


@pytest.fixture(scope="module", autouse=True)
def slow_disk():
    FOLDER.mkdir(parents=True, exist_ok=True)
    put("slow.img", bytes(16 * MB))


SLOW = pytest.mark.machine("sf280r", disks=(f"refdisk:{FOLDER}/slow.img,scale=15",), system="set maxphys=16384")


def setting(machine, name: str, value: int | None = None) -> int:
    """Set a tunable if `value` is given; returns its value."""
    if value is not None:
        machine.check(f"echo '{name}/W 0t{value}' | mdb -kw")
    return int(machine.check(f"echo '{name}/U' | mdb -k").split()[-1])


def sleeps(machine, ufs: int, high: int, low: int, maxpout: int = 0, minpout: int = 0) -> tuple[int, int]:
    """How often a writer of 1 MiB in pieces of 4 KiB sleeps: (for the write throttle, for pacing)."""
    for name, value in (("ufs_WRITES", ufs), ("ufs_HW", high), ("ufs_LW", low), ("maxpout", maxpout), ("minpout", minpout)):
        setting(machine, name, value)
    before = setting(machine, "ufs_throttles"), setting(machine, "pout_sleeps")
    machine.check("dd if=/dev/zero of=/dev/vda bs=4k count=256 2>/dev/null", timeout=120)
    return setting(machine, "ufs_throttles") - before[0], setting(machine, "pout_sleeps") - before[1]


@SLOW
def test_writers_wait(machine):
    """Each rule alone stops writers; the closer its marks, the more often; and never when it is off."""
    assert setting(machine, "ufs_HW") == 393216 and setting(machine, "ufs_LW") == 262144
    assert sleeps(machine, 0, 393216, 262144) == (0, 0)
    default, none = sleeps(machine, 1, 393216, 262144)
    assert default > 0 and none == 0
    small, none = sleeps(machine, 1, 65536, 32768)
    assert small > default and none == 0
    none, coarse = sleeps(machine, 0, 393216, 262144, 33, 16)
    assert coarse > 0 and none == 0
    none, fine = sleeps(machine, 0, 393216, 262144, 9, 6)
    assert fine > coarse and none == 0


@pytest.mark.machine(
    "sf280r",
    disks=(f"refdisk:{FOLDER}/slow.img,scale=50",),
    system="set autoup=2000; set tune_t_fsflushr=2000; set pageout_timescale=1000",
)
def test_clocks_of_daemons_go_faster(machine):
    """fsflush looks for dirty pages after 2 s in place of 2000 s; the disk is open, so nothing else writes.

    It may come just after a page has become dirty, but not each time.
    """
    machine.check(
        "exec 3<>/dev/vda; n=0; until echo sd:0:vda > /dev/kstat; echo dirty >&3; "
        "grep -q 'sd:0:vda:writes[^0-9]0$' /dev/kstat; do n=$((n + 1)); [ $n -lt 5 ] || exit 1; done; "
        "until grep -q 'sd:0:vda:writes[^0-9][1-9]' /dev/kstat; do sleep 0.1; done",
        timeout=60,
    )
    # Pages after clean ones, beside holes, and alone in their clusters: each is written exactly once.
    machine.check(
        "exec 3<>/dev/vda; dd if=/dev/vda of=/dev/null bs=4k count=40 2>/dev/null; echo sd:0:vda > /dev/kstat; "
        "for page in 5 9 20 33 200 211 300; do "
        "dd if=/dev/zero of=/dev/vda bs=4k count=1 seek=$page conv=notrunc 2>/dev/null; done; "
        "until grep -q 'sd:0:vda:nwritten[^0-9]28672$' /dev/kstat; do sleep 0.1; done",
        timeout=60,
    )
