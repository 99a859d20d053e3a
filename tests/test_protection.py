# SPDX-License-Identifier: MIT
"""test_protection.py - violations that the processor or the kernel must stop: each ends the machine, with its name."""

import re
import subprocess

import pytest

from harness import BUILD

pytestmark = pytest.mark.core

VIOLATIONS = {
    "panic": r"asked for by /dev/selftest",
    "smep": r"page fault in the kernel .* error 0x11,",  # present, instruction fetch, from a user page
    "smap": r"page fault in the kernel .* error 0x1,",  # present, read
    "nx": r"page fault in the kernel .* error 0x11,",
    "rodata": r"page fault in the kernel .* error 0x3,",  # present, write
    "text": r"page fault in the kernel .* error 0x3,",
    "null": r"page fault in the kernel .* address 0x8",
    "lockorder": r"lock order: rank \d+ taken while holding rank \d+",
    "sleeporder": r"lock order: fifo taken while holding pipe",
    "keep": r"lock order: back to the program while holding pipe",
    "assert": r"invariant I0 broken",
    "stack": r"a kernel stack is used up",
    "sleep": r"invariant I3 broken",
    "freed": r"byte 8 was written after it was freed",
}


@pytest.mark.parametrize("word", VIOLATIONS)
def test_violation_ends_in_a_panic_that_names_it(boot_once, word):
    outcome, console, verdicts = boot_once("sf280r", run=f"echo {word} > /dev/selftest; echo went on")
    assert outcome.kind == "panic", console[-2000:]
    assert "went on" not in console
    assert re.search("panic: .*" + VIOLATIONS[word], console), console[-2000:]
    assert any(line.startswith("panic") for line in verdicts)


@pytest.mark.machine("sf3800")
def test_no_page_is_writable_and_executable(machine):
    """All page tables are checked while programs of several kinds run."""
    machine.check("sleep 5 & memcopy -t 8 -i 1 >/dev/null & echo vmcheck > /dev/selftest; wait")
    text = machine.check("dmesg | grep vm_check")
    assert " 0 writable and executable" in text
    assert int(text.split()[1]) > 100


def test_program_jumps_into_the_kernel(boot, tmp_path):
    """A program jumps to each named place of the kernel, also to those that entry.S distinguishes by the address of a fault."""
    symbols = subprocess.run(["nm", BUILD / "test/kernel.elf"], capture_output=True, text=True, check=True)
    places = [line.split()[0] for line in symbols.stdout.splitlines() if line.split()[1] in "tT" and line[0] == "f"]
    (tmp_path / "places").write_text("\n".join(places) + "\n")
    assert any(line.endswith(" iret_user") for line in symbols.stdout.splitlines())
    machine = boot("sf280r", overlay=tmp_path)
    assert machine.run("/usr/test/jump </places", uid=1000).out.strip() == f"{len(places)} refused"


@pytest.mark.machine("sf3800")
def test_only_root_may_ask(machine):
    assert machine.run("echo vmcheck > /dev/selftest", uid=1000).status != 0
