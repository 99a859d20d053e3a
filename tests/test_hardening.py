# SPDX-License-Identifier: MIT
"""test_hardening.py - hostile and heavy programs: the system-call fuzzer, a fork bomb, a mixed load.

The machines run the test kernel, which checks lock ranks and invariants, and at the exit of each process that all its memory
is free again.  tools/soak, and sysfuzz with more calls, run longer.
"""

import re

import pytest

pytestmark = pytest.mark.core

# Caches of CPUs may have grown by so much.  In 132 rounds of the fork bomb free memory went up and down by up to 4,400 KiB; if
# each of its 2,000 processes left a frame, that would be 8,000 KiB.
MARGIN_KIB = 6144


def fuzz(machine, calls, jobs, timeout):
    fill = f"/usr/test/sysfuzz -s 1 -n {calls // 2} -j {jobs} && rm -rf /tmp/sysfuzz.* && sleep 1"
    machine.check(fill, timeout=timeout)  # caches grow when more objects are in use than ever before
    before = machine.free_kib()
    text = machine.check(f"/usr/test/sysfuzz -n {calls} -j {jobs} && rm -rf /tmp/sysfuzz.* && sleep 1", timeout=timeout)
    assert int(re.search(r"(\d+) calls made", text)[1]) >= calls
    machine.expect_free(before, MARGIN_KIB)
    assert machine.check("echo alive") == "alive\n"


@pytest.mark.long
@pytest.mark.machine("cpu1")
def test_fuzzer_on_one_cpu(machine):
    fuzz(machine, 50_000, 8, 400)


@pytest.mark.machine("sf6800")
def test_fuzzer_on_24_cpus(machine):
    fuzz(machine, 30_000, 24, 400)


@pytest.mark.machine("sf3800")
def test_fork_bomb(machine):
    """A fork bomb stops at the user's limit; root, and afterwards the user's own shell, can work."""
    start = """mkfifo /tmp/said; su student -c 'exec /usr/test/forkbomb' > /tmp/said & bomb=$!
        exec 3< /tmp/said; read many <&3; echo $many\n"""  # it has met the limit
    end = "kill $bomb; wait; cat <&3; exec 3<&-; rm /tmp/said; sleep 1\n"
    machine.check(start + end, timeout=90)  # once before the measurement, to fill caches
    before = machine.free_kib()
    text = machine.check(
        start
        + """sh -c 'echo root works; ls / | wc -l >/dev/null; su nobody -s /bin/sh -c "echo others too"'\n"""
        + end
        + "su student -c 'echo user again'",
        timeout=90,
    )
    for words in ("many", "root works", "others too", "user again"):
        assert words in text
    forks, refused, other = map(int, re.search(r"(\d+) forks, (\d+) refused, (\d+) other", text).groups())
    assert forks > 10 and refused > 0 and other == 0
    machine.expect_free(before, MARGIN_KIB)


@pytest.mark.long
@pytest.mark.machine("sf6800")
def test_short_soak(machine):
    text = machine.check("/usr/test/soak -t 10 -s 1", timeout=200)
    assert text.splitlines()[-1] == "soak: ok"
