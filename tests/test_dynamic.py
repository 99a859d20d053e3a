# SPDX-License-Identifier: MIT
"""test_dynamic.py - programs that are linked at run time, from the disk of `make root`: Debian's, unmodified, and ours.

numactl and lstopo must describe the machine as its file does.  test_madv.py tests which advice madv.so.1 gives; here is what
the advice does to memory.
"""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from harness import HOST_LIMIT
from homeroom import dynamic
from homeroom.machine import TOP

FOLDER = TOP / "build/test-dynamic"
ROOT = {
    "disks": (f"{FOLDER}/root.img",), "overlay": FOLDER / "overlay",
    "system": "rootfs:ext3; rootdev:/dev/vda; set lgrp_loadavg_tolerance=0x1000",
}  # fmt: skip
# Boards of 128 MiB, so that a test can fill a node, twice.
pytestmark = [pytest.mark.xdist_group("dynamic"), pytest.mark.machine("sf6800", memory="128M", **ROOT)]
GLIBC, MUSL = "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"
FAKE = "/tmp/dd/is-no-loader-at-all"  # as long as the path of glibc's loader, so that it can replace it in the program
PAGE = 4096
PLACES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
enum { BYTES = 600 * 4096 };
int main(int argc, char **argv)
{
    int id = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600), count[64] = {0}, shm = strcmp(argv[argc - 1], "shm") == 0;
    char *p = shm ? shmat(id, NULL, 0) : mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    uint_t what = MEMINFO_VLGRP;
    shmctl(id, IPC_RMID, NULL);
    for (size_t at = 0; at < BYTES; at += 4096) {
        uint64_t in = (uint64_t)(p + at), out;
        uint_t valid;
        p[at] = 1;
        if (meminfo(&in, 1, &what, 1, &out, &valid) == 0 && valid == 3)
            count[out]++;
    }
    for (int i = 0; i < 64; i++)
        if (count[i] > 0)
            printf("lgroup %d: %d pages\n", i, count[i]);
    return 0;
}
"""


GDB_PORT = 2345
SUM = r"""
#include <stdio.h>
static int sum(int n)
{
    int here = n;
    if (n == 0)
        return 0;
    return sum(n - 1) + here;
}
int main(void)
{
    int result = sum(2);
    printf("sum %d\n", result);
    return result;
}
"""


@pytest.fixture(scope="module", autouse=True)
def disk():
    programs = FOLDER / "overlay/usr/bin"
    programs.mkdir(parents=True, exist_ok=True)
    (FOLDER / "places.c").write_text(PLACES)
    subprocess.run([TOP / "tools/hrcc", "-dynamic", "-O2", FOLDER / "places.c", "-o", programs / "places"], check=True)
    subprocess.run(["make", "-s", "TEST=1", "root"], cwd=TOP, check=True)
    shutil.copy(TOP / "build/test/root.img", FOLDER / "root.img")


def even(counts: dict[int, int], lgroups: int) -> bool:
    """Whether pages that were placed at random are on all boards, each within six standard deviations of its share."""
    total = sum(counts.values())
    share = total / lgroups
    slack = 6 * (share * (1 - 1 / lgroups)) ** 0.5
    return len(counts) == lgroups and all(abs(n - share) < slack for n in counts.values())


# ---- Debian's programs ------------------------------------------------------------------------------------------------------


def test_unmodified(machine):
    """The programs on the disk are the same files as on this host."""
    for name in (
        "iperf",
        "iperf3",
        "sqlite3",
        "lua5.4",
        "numactl",
        "strace",
        "gdbserver",
        "migratepages",
        "lstopo-no-graphics",
    ):
        here = subprocess.run(["md5sum", shutil.which(name)], capture_output=True, text=True, check=True).stdout.split()[0]
        assert machine.check(f"md5sum /usr/bin/{name.removesuffix('-no-graphics')}").split()[0] == here


def test_they_run(machine):
    assert machine.check("iperf3 --version").startswith("iperf 3.")
    assert "pthreads" in machine.run("iperf --version").out
    assert machine.check("echo 'select sum(n) from (select 40 n union select 2);' | sqlite3").split() == ["42"]
    script = 'local t = {} for i = 1, 1e5 do t[i] = tostring(i) end print(#table.concat(t), math.sqrt(2), os.getenv("X"))'
    assert machine.check(f"X=y lua5.4 -e '{script}'").split() == ["488895", "1.4142135623731", "y"]
    assert "loadlib" in machine.check('lua5.4 -e \'print(package.loadlib("libm.so.6", "*") and "loadlib")\'')
    assert machine.run("lua5.4 -e 'os.exit(7)'").status == 7


def test_strace(machine):
    """Debian's strace shows the calls of a program and its children, and can attach to a program that runs."""
    text = machine.check("strace -f -o /tmp/calls sh -c 'lua5.4 -e \"print(6*7)\"; exit 3' || cat /tmp/calls")
    assert text.startswith("42\n")
    assert re.search(r'execve\("/usr/bin/lua5.4", \["lua5.4", "-e", "print\(6\*7\)"\], .*\) = 0', text)
    assert re.search(r'write\(1, "42\\n", 3\) += 3', text) and "+++ exited with 3 +++" in text
    assert re.search(r"--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=\d+, si_uid=0, si_status=0", text)
    # The program runs until strace has said that it is attached.
    run = "rm -f /tmp/go; sh -c 'until [ -e /tmp/go ]; do sleep 0.1; done' & strace -o /tmp/calls -p $! 2> /tmp/said &"
    attached = machine.check(
        f"{run} until grep -q attached /tmp/said; do sleep 0.1; done; touch /tmp/go; wait; cat /tmp/said /tmp/calls"
    )
    assert "attached" in attached and "+++ exited with 0 +++" in attached
    assert "killed by SIGSEGV" in machine.run("strace sh -c 'kill -SEGV $$' 2>&1").out


def test_gdbserver(boot, tmp_path):
    """The host's gdb stops a program in the guest through Debian's gdbserver, and shows its stack."""
    tree = tmp_path / "tree"
    dynamic.put_with_libraries(shutil.which("gdbserver"), tree, "usr/bin/gdbserver")
    (tmp_path / "sum.c").write_text(SUM)
    subprocess.run([TOP / "tools/hrcc", "-g", "-O0", tmp_path / "sum.c", "-o", tree / "usr/bin/sum"], check=True)
    guest = boot("sf280r", cards=1, forward=(str(GDB_PORT),), overlay=tree)
    port = guest.guest.forwards[0].host
    serve = f"gdbserver --once :{GDB_PORT} /usr/bin/sum > /tmp/out 2>&1; mv /tmp/out /tmp/ended"
    guest.check(f"({serve}) > /dev/null 2>&1 & until netstat -ln | grep -q ':{GDB_PORT} '; do sleep 0.02; done")
    commands = (
        f"target remote 127.0.0.1:{port}",
        "break sum if n == 0",
        "continue",
        "backtrace",
        "finish",
        "set var here = 40",
    )
    words = [word for command in (*commands, "delete", "continue") for word in ("-ex", command)]
    done = subprocess.run(
        ["gdb", "-nx", "-batch", *words, tree / "usr/bin/sum"], capture_output=True, text=True, timeout=HOST_LIMIT
    )
    assert re.findall(r"#\d +(?:0x\w+ in )?(\w+) \((?:n=(\d))?\)", done.stdout) == [
        ("sum", "0"), ("sum", "1"), ("sum", "2"), ("main", "")
    ], done  # fmt: skip
    assert "Value returned is $1 = 0" in done.stdout and "exited with code 052" in done.stdout
    ended = guest.check("until [ -e /tmp/ended ]; do sleep 0.02; done; cat /tmp/ended")
    assert "sum 42\n" in ended and "Child exited with status 42" in ended


def test_loaders(machine):
    """A loader that is started as a program starts the program in its arguments."""
    listed = machine.check(f"{GLIBC} --list /usr/bin/sqlite3")
    assert "libsqlite3.so.0 => /lib/x86_64-linux-gnu/libsqlite3.so.0" in listed and "not found" not in listed
    assert machine.check(f"{GLIBC} /usr/bin/lua5.4 -e 'print(6*7)'") == "42\n"
    assert machine.check(f"{MUSL} /usr/bin/memcopy -t 2 -i 1").endswith("ok\n")
    assert "libc.so" in machine.check(f"{MUSL} --list /usr/bin/memcopy")
    assert "cannot be preloaded" in machine.check("LD_PRELOAD=nowhere.so lua5.4 -e 'print(1)'")


def test_no_interpreter(machine):
    """A loader that is missing, or is no program, gives an error; the shell does not execute the program as a script."""
    machine.check(f"cp /usr/bin/lua5.4 /tmp/prog; sed -i 's,{GLIBC},{FAKE},' /tmp/prog")
    machine.check("mkdir -p /tmp/dd; rm -f /tmp/dd/*")
    assert machine.run("/tmp/prog").status == 127
    for content in ("text", "", "#!/bin/sh"):
        machine.check(f"printf '{content}' > {FAKE}; chmod 755 /tmp/dd/*")
        result = machine.run("/tmp/prog -e 'print(1)'")
        assert result.status == 126 and "shared library" in result.out, result
    machine.check("chmod 644 /tmp/dd/*")
    assert "Permission denied" in machine.run("/tmp/prog").out
    machine.check(f"cp {GLIBC} {FAKE}; chmod 755 /tmp/dd/*")
    assert machine.check("/tmp/prog -e 'print(1)'") == "1\n"


def test_numactl_hardware(machine):
    want = machine.machine
    text = machine.check("numactl --hardware")
    assert text.startswith(f"available: {want.domains} nodes (0-{want.domains - 1})\n")
    for node in range(want.domains):
        cpus = " ".join(map(str, want.domain_cpus(node)))
        assert f"node {node} cpus: {cpus}\n" in text
        size = int(re.search(rf"^node {node} size: (\d+) MB$", text, re.M)[1])
        free = int(re.search(rf"^node {node} free: (\d+) MB$", text, re.M)[1])
        assert want.domain_memory_mib(node) - 2 <= size <= want.domain_memory_mib(node) and size // 2 < free <= size
    rows = re.findall(r"^ +(\d+): +([\d ]+?) *$", text, re.M)
    assert len(rows) == want.domains
    for node, row in rows:
        assert [int(d) for d in row.split()] == [10 if int(node) == other else 12 for other in range(want.domains)]


def test_numactl_show(machine):
    """The default policy, all nodes allowed; and numactl shows the settings that numactl has made."""
    text = machine.check("numactl --show")
    assert "policy: default" in text and "membind: 0 1 2 3 4 5" in text and "cpubind: 0 1 2 3 4 5" in text
    assert machine.check("numactl --cpunodebind=2 sh -c 'grep Cpus_allowed_list /proc/self/status'").split()[1] == "8-11"
    for options, policy in ("membind=2,4", "bind"), ("interleave=all", "interleave"), ("preferred=3", "preferred"):
        assert f"policy: {policy}" in machine.check(f"numactl --{options} numactl --show")
    wrong = machine.run("numactl --membind=6 true")
    assert wrong.status != 0 and "out of range" in wrong.out


def test_numactl_policies(machine):
    """A program's memory comes from the nodes that numactl gave it."""
    machine.check(f"cat > /tmp/heap.lua <<'EOF'\n{HEAP}\nEOF\n")
    for options, nodes in (("-m 1,4", {1, 4}), ("-N 5 -p 3", {3})):
        pages = heap_pages(machine.check(f"numactl {options} lua5.4 /tmp/heap.lua"))
        assert sum(pages.values()) > 1000 and pages.keys() <= nodes, (options, pages)
    # The advice for a segment overrides the policy of the process.
    machine.check("echo '*:heap=access_many' > /tmp/c")
    advised = machine.check("LD_PRELOAD=madv.so.1 MADVCFGFILE=/tmp/c numactl --membind=2 lua5.4 /tmp/heap.lua")
    assert even(heap_pages(advised), 6)


@pytest.mark.long
def test_numactl_interleaves_and_binds(machine):
    """Also the memory of children."""
    machine.check(f"cat > /tmp/heap.lua <<'EOF'\n{HEAP}\nEOF\n")
    for nodes in ({1, 4}, {0, 1, 2, 3, 4, 5}):
        pages = heap_pages(machine.check(f"numactl --interleave={','.join(map(str, nodes))} sh -c 'exec lua5.4 /tmp/heap.lua'"))
        share = sum(pages.values()) / len(nodes)
        # Interleaving counts pages of all segments, so those of the heap alone are not spread quite evenly.
        assert pages.keys() == nodes and all(abs(n - share) < share / 4 for n in pages.values()), pages
    # More memory than the node has: a bound program is killed; one that prefers the node gets the rest from others.
    big = f"lua5.4 -e 'print(#string.rep(\"x\", {machine.machine.domain_memory_mib(2) + 64} << 20))'"
    assert machine.run(f"numactl --membind=2 {big}").status > 128
    assert int(machine.check(f"numactl --preferred=2 {big}")) >> 20 == machine.machine.domain_memory_mib(2) + 64


def pages_by_node(maps: str) -> dict[int, int]:
    """The private pages in the text of a numa_maps, by node: those of lines without a file."""
    pages = {}
    for line in maps.splitlines():
        if " anon=" in line and " file=" not in line:
            for node, count in re.findall(r" N(\d+)=(\d+)", line):
                pages[int(node)] = pages.get(int(node), 0) + int(count)
    return pages


def test_numa_maps(machine):
    """Each line has the policy that numactl has set, and the nodes of the pages."""
    for options, policy, nodes in (
        ("--membind=1", "bind:1", {1}),
        ("--preferred=3", "prefer:3", {3}),
        ("--interleave=2,4-5", "interleave:2,4-5", {2, 4, 5}),
        ("--localalloc", "local", None),  # the home, which is not known here
        ("--cpunodebind=4", "default", None),
    ):
        maps = machine.check(f"numactl {options} cat /proc/self/numa_maps")
        assert {line.split()[1] for line in maps.splitlines()} == {policy}
        pages = pages_by_node(maps)
        assert pages.keys() <= nodes if nodes else len(pages) == 1, (options, maps)
        assert sum(pages.values()) > 3
        assert re.search(r"^[0-9a-f]+ \S+ heap anon=\d+ dirty=\d+ (N\d=\d+ )+kernelpagesize_kB=4$", maps, re.M), maps
        assert re.search(r"^[0-9a-f]+ \S+ file=/\S+ .*kernelpagesize_kB=4$", maps, re.M), maps
    machine.check("lua5.4 -e 'os.execute(\"sleep 60\")' > /dev/null & echo $! > /tmp/pid", uid=1234)
    for uid, status in (0, 0), (1234, 0), (1235, 1):
        result = machine.run("cat /proc/$(cat /tmp/pid)/numa_maps", uid=uid)
        assert result.status == status, (uid, result.out)
    machine.check("kill $(cat /tmp/pid)")


def test_migratepages(machine):
    """The pages of a running program move; only root and the program's own user can do that."""
    # The child makes the file, so its parent sleeps for nothing but the child's end, and touches no pages any more.
    script = 't = {} for i = 1, 120000 do t[i] = {i} end os.execute("touch /tmp/ready; sleep 60")'
    start = f"numactl --membind=1,2 lua5.4 -e '{script}' & echo $! > /tmp/pid"
    asleep = "[ -e /tmp/ready ] && grep -q '^State:.S' /proc/$(cat /tmp/pid)/status"
    machine.check(f"rm -f /tmp/ready; {start}; until {asleep}; do sleep 0.1; done", uid=1234)
    maps = "cat /proc/$(cat /tmp/pid)/numa_maps"
    before = pages_by_node(machine.check(maps))
    assert before.keys() <= {1, 2} and sum(before.values()) > 1000
    assert machine.run("migratepages $(cat /tmp/pid) 1,2 5", uid=1235).status != 0
    assert pages_by_node(machine.check(maps)) == before
    machine.check("migratepages $(cat /tmp/pid) 1,2 4,5", uid=1234)
    after = pages_by_node(machine.check(maps))
    assert after.keys() <= {4, 5} and sum(after.values()) == sum(before.values())
    machine.check("migratepages $(cat /tmp/pid) all 0")
    assert pages_by_node(machine.check(maps)) == {0: sum(before.values())}
    table = machine.check("numastat -p $(cat /tmp/pid)")
    heap = [float(word) for word in re.search(r"^Heap +(.*)", table, re.M)[1].split()]
    assert heap[0] == heap[-1] > 4 and sum(heap[1:-1]) == 0
    machine.check("kill $(cat /tmp/pid)")


@pytest.mark.long
def test_numactl_others(machine):
    """memhog and migspeed, and numactl with shared memory, all use mbind(2)."""
    assert machine.check("memhog -r1 20m membind 3").strip(".\n") == ""
    text = machine.check("migspeed -p 500 1 4")
    assert "anon=500 dirty=500 N1=500 " in text and " N4=500 " in text and " Mbyte migrated " in text
    machine.check("touch /tmp/shared; numactl --length=240k --shm /tmp/shared --interleave=0,3 --touch --dump > /tmp/dump")
    text = machine.check("cat /tmp/dump")
    assert "interleave" in text and " 0 3" in text, text
    machine.check("numactl --length=240k --shm /tmp/shared --interleave=0,3 --verify")


def test_lstopo(machine):
    """Six boards, each with a node and two packages of two CPUs."""
    want = machine.machine
    text = machine.check("lstopo --no-io")
    assert text.count("NUMANode L#") == want.domains and text.count("PU L#") == want.cpus
    tree = ET.fromstring(machine.check("lstopo --no-io --of xml"))
    boards = [o for o in tree.iter("object") if any(c.get("type") == "NUMANode" for c in o.findall("object"))]
    assert len(boards) == want.domains
    for board in boards:
        node = board.find("object[@type='NUMANode']")
        number = int(node.get("os_index"))
        packages = board.findall("object[@type='Package']")
        places = [[int(pu.get("os_index")) for pu in p.iter("object") if pu.get("type") == "PU"] for p in packages]
        assert [cpu for place in places for cpu in place] == want.domain_cpus(number)
        assert all(len(place) == want.cores for place in places)
        assert want.domain_memory_mib(number) - 2 <= int(node.get("local_memory")) >> 20 <= want.domain_memory_mib(number)


# ---- madv.so.1 --------------------------------------------------------------------------------------------------------------


def by_lgroup(text: str) -> dict[int, int]:
    return {int(a): int(b) for a, b in re.findall(r"lgroup (\d+): (\d+) pages", text)}


def breakdown(text: str) -> tuple[dict[int, int], int, int]:
    """memcopy's pages by lgroup, the number of those at home, and the number of all."""
    pages = by_lgroup(text)
    local, total = re.search(r"pages on the home of .*: (\d+) of (\d+)", text).groups()
    return pages, int(local), int(total)


@pytest.mark.long
def test_memcopy(machine):
    """memcopy maps its arrays, so advice reaches them: random placement with advice, first touch without it."""
    pages, local, total = breakdown(machine.check("memcopy -t 24 -i 1"))
    assert pages == {lgroup: total // 6 for lgroup in range(6)} and local == total
    result = machine.run("LD_PRELOAD=madv.so.1 MADV=access_many memcopy -t 24 -i 1")
    pages, local, again = breakdown(result.out)
    assert again == total and even(pages, 6) and total // 10 < local < total // 4
    assert result.status == 1  # memcopy fails if pages are not at home
    example = re.search(r"^    (LD_PRELOAD=madv.so.1 .*)", (TOP / "docs/userland.md").read_text(), re.M)[1]
    pages, local, total = breakdown(machine.check(example))
    assert even(pages, 6) and local < total // 4
    for setting in ("MADV=access_lwp", "MADV=sequential", "MADV=normal", "MADV="):
        pages, local, total = breakdown(machine.check(f"LD_PRELOAD=madv.so.1 {setting} memcopy -t 6 -i 1"))
        assert local == total, setting


@pytest.mark.long
def test_configured(machine):
    """Advice from a file, for one program and one kind of memory; a wrong line is reported in the error file."""
    machine.check("echo 'memcopy -t:mapprivate=access_many' > /tmp/c; echo 'memcopy:madv=willneed' >> /tmp/c; rm -f /tmp/e")
    env = "LD_PRELOAD=madv.so.1 MADVCFGFILE=/tmp/c MADVERRFILE=/tmp/e"
    pages, local, total = breakdown(machine.run(f"{env} memcopy -t 24 -i 1").out)
    assert even(pages, 6) and local < total // 4
    pages, local, total = breakdown(machine.check(f"{env} memcopy -n 48k -i 1"))
    assert local == total
    assert machine.check("cat /tmp/e") == "madv.so.1: /tmp/c: line 2: bad advice: madv=willneed\n"
    machine.check("echo 'memcopy:map=access_many' > /etc/madv.conf")
    pages, local, total = breakdown(machine.run("LD_PRELOAD=madv.so.1 memcopy -t 24 -i 1").out)
    machine.check("rm /etc/madv.conf")
    assert even(pages, 6) and local < total // 4


def test_shared(machine):
    """Shared memory gets advice: System V's when it is attached, mappings when they are made, each by its own option."""
    machine.check("printf 'places shm:shm=access_many\\nplaces map:mapshared=access_many\\n' > /tmp/c; rm -f /tmp/e")
    env = "LD_PRELOAD=madv.so.1 MADVCFGFILE=/tmp/c MADVERRFILE=/tmp/e"
    for kind in ("shm", "map"):
        assert list(by_lgroup(machine.check(f"places {kind}")).values()) == [600]
        assert list(by_lgroup(machine.check(f"MADV=access_many places {kind}")).values()) == [600]
        assert even(by_lgroup(machine.check(f"{env} places {kind}")), 6)
    machine.check("echo 'places:shm=access_many,mapshared=access_lwp' > /tmp/c")
    assert even(by_lgroup(machine.check(f"{env} places shm")), 6)
    assert list(by_lgroup(machine.check(f"{env} places map")).values()) == [600]
    assert machine.run("cat /tmp/e").status != 0


HEAP = """
local t = {} for i = 1, 120000 do t[i] = {i} end
local pid = io.open("/proc/self/stat"):read("n")
os.execute("pmap -L " .. pid)
"""


def heap_pages(text: str) -> dict[int, int]:
    pages = {}
    for size, lgroup in re.findall(r"^\S+ +(\d+)K \S+ +(\d+) +\[ heap \]$", text, re.M):
        pages[int(lgroup)] = pages.get(int(lgroup), 0) + int(size) * 1024 // PAGE
    return pages


def test_heap(machine):
    """The heap gets advice when the program starts; pages that it grows by later have it, too; also with glibc."""
    machine.check(f"cat > /tmp/heap.lua <<'EOF'\n{HEAP}\nEOF\n")
    plain = heap_pages(machine.check("lua5.4 /tmp/heap.lua"))
    assert len(plain) == 1 and sum(plain.values()) > 1000
    advised = heap_pages(machine.check("LD_PRELOAD=madv.so.1 MADVCFGFILE=/tmp/c lua5.4 /tmp/heap.lua"))
    assert advised == {} or len(advised) == 1  # the file has advice for memcopy only
    machine.check("echo 'lua5.4:heap=access_many' > /tmp/c")
    advised = heap_pages(machine.check("LD_PRELOAD=madv.so.1 MADVCFGFILE=/tmp/c lua5.4 /tmp/heap.lua"))
    assert sum(advised.values()) > 1000 and even(advised, 6)


def test_fork_and_exec(machine):
    """A child inherits the advice of its parent; a program that it executes gets advice of its own."""
    machine.check("echo '*:heap=access_many' > /tmp/c")
    inner = 'for i = 1, 2 do os.execute("lua5.4 /tmp/heap.lua") end'
    both = machine.check(f"LD_PRELOAD=madv.so.1 MADVCFGFILE=/tmp/c lua5.4 -e '{inner}'")
    assert even(heap_pages(both), 6)
    machine.check("echo 'nobody:heap=access_many' > /tmp/c")
    both = machine.check(f"LD_PRELOAD=madv.so.1 MADVCFGFILE=/tmp/c lua5.4 -e '{inner}'")
    assert len(heap_pages(both)) <= 2


def test_shell_in_between(machine):
    """A static program ignores LD_PRELOAD, but passes it on to its children."""
    out = machine.run("export LD_PRELOAD=madv.so.1 MADV=access_many; sh -c 'busybox env | grep MADV; memcopy -t 24 -i 1'").out
    assert "MADV=access_many" in out and even(breakdown(out)[0], 6)
