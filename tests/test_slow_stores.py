# SPDX-License-Identifier: MIT
"""test_slow_stores.py - stores of the kernel into frames whose code QEMU has translated: they take about 100 times as long.

QEMU logs each such store as a trace event.  Firmware and boot loader make many, in memory from which they also execute code;
user programs may, too.  The kernel, whose addresses are in the upper half, makes them only when it zeroes a frame that had
code.
"""

import collections

import pytest

KERNEL = 1 << 63
ZEROED = 512  # stores of 8 bytes that zero a frame
LIMIT = 64 * ZEROED  # a small memory zeroes some frames 20 times; one in use by the kernel has more than 100,000 such stores


def stores(log) -> collections.Counter:
    """Frame -> number of slow stores of the kernel."""
    count = collections.Counter()
    with log.open() as file:
        for line in file:
            words = line.split()
            if words[:1] == ["memory_notdirty_write_access"] and int(words[1], 16) >= KERNEL:
                count[int(words[3], 16) >> 12] += 1
    return count


@pytest.mark.long
@pytest.mark.parametrize("memory", ["96M", "256M"])
def test_few(boot, tmp_path, memory):
    """A boot with execs, forks, files and paging."""
    log, swap = tmp_path / "log", tmp_path / "swap.img"
    with swap.open("wb") as file:
        file.truncate(256 << 20)
    machine = boot(
        "sf280r", memory=memory, disks=(str(swap),), qemu_args=["-d", "trace:memory_notdirty_write_access", "-D", str(log)]
    )
    machine.check("swap -a /dev/vda")
    for _ in range(3):
        machine.check("cp /bin/busybox /tmp/b; /tmp/b ls / > /dev/null; rm /tmp/b")
        machine.check("i=0; while test $i -lt 60; do (:); psrinfo > /dev/null; i=$((i + 1)); done", timeout=120)
        machine.check("dd if=/dev/zero of=/tmp/f bs=4k count=2000 2>/dev/null; cat /tmp/f > /tmp/g; rm /tmp/f /tmp/g")
        assert "bad=0" in machine.check("/usr/test/paging anon 80 1", timeout=200)
    machine.close()
    count = stores(log)
    assert count, "no event at all: this QEMU has no trace"
    frame, most = count.most_common(1)[0]
    assert most < LIMIT, f"frame {frame:#x}: {most} slow stores; {sum(count.values())} in all"
    assert sum(count.values()) <= 2 * ZEROED * len(count)
