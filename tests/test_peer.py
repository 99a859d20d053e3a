# SPDX-License-Identifier: MIT
"""test_peer.py - Linux on the same machine: it boots, returns the status of commands, and runs the benchmarks."""

import os
import random
import re
import subprocess

import pytest

import harness
from homeroom import guest, machine, peer
from homeroom.experiments import storage
from homeroom.machine import TOP, MachineError

BOOT_LIMIT = 120  # seconds

pytestmark = pytest.mark.xdist_group("peer")  # one worker, so that Linux is built only once


@pytest.fixture(scope="module")
def built():
    """Download and build Linux; skip these tests if that is not possible, but fail where HR_REQUIRE lists peer."""
    make = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "TEST")}
    done = subprocess.run(["make", "-s", "peer", "fireplane"], cwd=TOP, env=make, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).splitlines()
        lines = [line for line in said if "no Linux" in line or "only root may install" in line]
        if lines:
            harness.lacking("peer", f"{lines[0]}: tools/deps.sh peer")
        pytest.fail(done.stdout + done.stderr)


@pytest.fixture
def linux(built, speed, guests):
    """linux(run, name="sf3800", balancing=True, scheduler=None, depth=None, memory=None, **options) -> (Outcome, text)."""

    def once(run, name="sf3800", balancing=True, scheduler=None, depth=None, memory=None, **options):
        settings = guest.Options(run=run, speed=speed, **options)
        one = peer.Peer(machine.load(name, memory=memory), settings, balancing, scheduler, depth)
        guests.append(one)
        try:
            outcome = one.start().wait(BOOT_LIMIT)
        finally:
            one.close()
        return outcome, one.text()

    return once


def test_machine_and_memory(linux):
    """Linux sees the CPUs and boards of the machine; fpmap finds a page in each range; benchmarks run."""
    benches = "memcopy -t 8 -i 1 -b && fdiff -t 8 -i 1 -n 64x64"
    outcome, text = linux(f"nproc; fpmap -l; cat /proc/sys/kernel/numa_balancing; {benches}")
    assert outcome.status == 0, text
    assert text.splitlines()[0] == "8"
    found = re.findall(r"board (\d+): (0x\w+)-(0x\w+), a page at (0x\w+)", text)
    assert [int(board) for board, *_ in found] == [0, 1]
    for _, low, high, page in found:
        assert int(low, 16) <= int(page, 16) < int(high, 16)
    assert re.search(r"^1$", text, re.M)
    assert re.findall(r"home lgroup (\d+): 4 threads: ([\d-]+)", text)[:2] == [("00", "0-3"), ("01", "4-7")]
    total = re.search(r"^pages on the home .*: (\d+) of \1$", text, re.M)
    assert total and int(total[1]) > 0, "a bound thread's pages are not on its board"
    assert text.splitlines().count("ok") == 2


@pytest.mark.long
@pytest.mark.parametrize("command, status", [("false", 1), ("nosuch", 127)])
def test_statuses(linux, command, status):
    outcome, text = linux(f"cat /proc/sys/kernel/numa_balancing; {command}", balancing=False)
    assert (outcome.kind, outcome.status) == ("clean", status), text
    assert text.splitlines()[0] == "0"


@pytest.mark.long
def test_piped_input(built):
    command = [TOP / "qemu/launch.py", "sf280r", "--peer", "linux", "--timeout", "200"]
    done = subprocess.run(command, input=b"echo hello\nexit 3", capture_output=True)
    assert (done.returncode, done.stdout) == (3, b"hello\n"), done.stderr


@pytest.mark.long
def test_a_panic_and_a_reset_are_no_success(linux):
    outcome, _ = linux("echo c > /proc/sysrq-trigger")
    assert (outcome.kind, outcome.status, outcome.detail) == ("panic", None, "sysrq triggered crash")
    assert outcome.exit_code(True) == guest.STATUS_PANIC
    outcome, _ = linux("reboot -f")
    assert outcome.exit_code(True) == guest.STATUS_NO_VERDICT


@pytest.mark.long
def test_the_model_knows_where_linux_memory_is(linux):
    """Bound threads that touch memory first miss to their own board; with random pages, they miss to both boards."""
    run = "memcopy -t 8 -i 2 -b -p both"
    outcome, text = linux(run, balancing=False, model="fireplane")
    assert outcome.status == 0, text
    first, random = (
        {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}
        for line in re.findall(r"^counters: (.*)$", text, re.M)
    )
    for counts in first, random:
        counts["remote share"] = counts["miss_remote"] / (counts["miss_local"] + counts["miss_remote"])
        assert counts["miss_local"] > 50000
    assert first["remote share"] < 0.01
    assert 0.4 < random["remote share"] < 0.6


@pytest.mark.long
def test_disks_and_swap(linux, tmp_path):
    """Linux mounts an ext3 file system on a reference disk, reads and writes it, and swaps to a second disk."""
    if not (TOP / "build/refdisk.so").is_file():
        subprocess.run(["make", "-s", "refdisk"], cwd=TOP, check=True)
    (tmp_path / "tree").mkdir()
    words = random.Random(1).randbytes(30000).hex()
    (tmp_path / "tree/words").write_text(words)
    image = storage.make_disk(tmp_path / "files.img", 32, tmp_path / "tree")
    with open(tmp_path / "swap.img", "wb") as file:
        file.truncate(64 << 20)
    run = (
        "mkdir -p /m /ram && mount -t ext3 /dev/vda /m && cp /m/words /m/copy && sync && wc -c /m/copy && umount /m && "
        "cat /sys/block/vda/queue/scheduler /sys/block/vda/queue/nr_requests && mount -t tmpfs -o size=100% tmpfs /ram && "
        "n=$(awk '/MemAvailable/{print int($2 / 1024) + 16}' /proc/meminfo) && "
        "dd if=/dev/zero of=/ram/much bs=1M count=$n 2>/dev/null && "
        "awk '$1 == \"/dev/vdb\" { print \"swapped\", ($4 > 0) }' /proc/swaps"
    )
    disks = [f"refdisk:{image},scale=1000", str(tmp_path / "swap.img")]
    outcome, text = linux(run, "sf280r", scheduler="bfq", depth=1, memory="192M", disks=disks, swap="/dev/vdb")
    assert outcome.status == 0, text
    assert text.splitlines() == ["60000 /m/copy", "mq-deadline [bfq] kyber none", str(peer.REQUESTS), "swapped 1"]
    dumped = subprocess.run(["debugfs", "-R", "cat /copy", image], capture_output=True, text=True)
    assert dumped.stdout == words


def test_without_modules_a_disk_is_refused(built, tmp_path, monkeypatch):
    (tmp_path / "a.img").write_bytes(bytes(4096))
    monkeypatch.setattr(peer, "MODULES", tmp_path / "modules.cpio")
    one = peer.Peer(machine.load("sf280r"), guest.Options(run="true", disks=[str(tmp_path / "a.img")]))
    with pytest.raises(MachineError, match=r"^DISK: .*modules\.cpio, .*, is missing: tools/deps\.sh peer, with a network$"):
        one.check_built()


@pytest.mark.parametrize(
    "options, says",
    [
        (["--peer", "bsd"], "PEER=bsd: there is only linux"),
        (["--peer", "linux", "--balancing", "x"], "BALANCING=x: write 0 or 1"),
        (["--balancing", "0"], "BALANCING: only Linux has it (PEER=linux)"),
        (["--peer-sched", "bfq"], "PEER_SCHED: only Linux has it (PEER=linux)"),
        (["--peer-depth", "1"], "PEER_DEPTH: only Linux has it (PEER=linux)"),
        (["--peer", "linux", "--peer-depth", "0"], "PEER_DEPTH=0: write a number from 1 to 256"),
        (["--peer", "linux", "--peer-sched", "bfq"], "PEER_SCHED: it needs a disk (DISK=)"),
        (["--peer", "linux", "--peer-sched", "cfq"], "PEER_SCHED=cfq: write mq-deadline, bfq, kyber or none"),
        (["--swap", "vdb"], "SWAP=vdb: write a disk of DISK=, or a partition of one: /dev/vdb, /dev/vda2"),
        (["--peer", "linux", "--release", "9/02"], "RELEASE: only Homeroom has it, not PEER=linux"),
        (["--peer", "linux", "--swap", "/dev/vda"], "SWAP=/dev/vda: DISK= has no such disk"),
    ],
)
def test_bad_options(built, options, says):
    command = [TOP / "qemu/launch.py", "sf3800", "--print", *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (guest.STATUS_SETUP, f"homeroom: {says}\n")


@pytest.mark.parametrize("option", [{"system": "set a=1"}, {"watchdog": 5}, {"acpi": b"x"}])
def test_what_linux_does_not_have(option):
    with pytest.raises(MachineError, match="only Homeroom has it"):
        peer.Peer(machine.load("sf3800"), guest.Options(run="true", **option))
