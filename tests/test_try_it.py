# SPDX-License-Identifier: MIT
"""The blocks of *Try it* in docs/: what a reader types works, and prints what the page shows."""

import os
import time

import pytest

from homeroom import machine, tryit
from homeroom.machine import TOP


def found_blocks():
    """All blocks, and the fault of a page in their place."""
    for page in sorted(TOP.glob("docs/*.md")):
        try:
            for number, block in enumerate(tryit.blocks_of(f"docs/{page.name}", page.read_text()), 1):
                yield pytest.param(
                    block, id=f"{page.stem}-{number}", marks=pytest.mark.xdist_group(page.stem)
                )  # ports of the host
        except tryit.Fault as fault:
            yield pytest.param(fault, id=page.stem)


BLOCKS = list(found_blocks())


@pytest.mark.long
@pytest.mark.parametrize("block", BLOCKS)
def test_a_block(block, speed, guests):
    if isinstance(block, tryit.Fault):
        pytest.fail(str(block), pytrace=False)
    if not tryit.has_outputs(block):
        pytest.fail(tryit.how_to_record(block), pytrace=False)
    try:
        faults = [fault for done in tryit.outputs(block, speed, guests.append) for fault in tryit.faults_of(*done)]
    except tryit.Fault as fault:
        faults = [str(fault)]
    if faults:
        pytest.fail("\n".join([block.name, *faults]), pytrace=False)


def test_pages_have_blocks_of_machines_that_exist():
    blocks = [param.values[0] for param in BLOCKS]
    assert len(blocks) > 25 and not [block for block in blocks if isinstance(block, tryit.Fault)]
    assert {block.machine for block in blocks} <= set(machine.names())


# ---- the runner itself -------------------------------------------------------------------------

PAGE = """Text.

```sh
false # of another section
```

## Try it

```sh title="in a second terminal"
sleep 1000
```

```sh
truncate -s 1M build/odd.img
make dynamic
```

```console title="make qemu-sf280r MEM=64M SYSTEM='set x=1; set y=2'"
# one
1 line
# two | three
```

```console title="make gdb"
# not one of ours
```

??? tip "Hint"

    ```console title="make qemu-sf3800"
    # four
      five

    # six
    ```
"""


def test_blocks_of_a_page():
    one, two = tryit.blocks_of("docs/odd.md", PAGE)
    assert (one.name, one.machine, one.variables) == ("docs/odd.md:18", "sf280r", {"MEM": "64M", "SYSTEM": "set x=1; set y=2"})
    assert one.host == two.host == ["truncate -s 1M build/odd.img"]
    assert one.commands == [tryit.Command("one", ["1 line"]), tryit.Command("two | three")]
    assert two.commands == [tryit.Command("four", ["  five", ""]), tryit.Command("six")]
    for block in (one, two):
        assert PAGE[block.start : block.end] == block.text()


@pytest.mark.parametrize(
    "text, said",
    [
        ('```console title="make qemu-sf280r"\nno command\n```', "docs/odd.md:1: a block begins with a command"),
        ('```console title="make qemu-sf280r RUN"\n# a\n```', "docs/odd.md:1: the title is no command of make"),
    ],
)
def test_a_bad_block(text, said):
    with pytest.raises(tryit.Fault, match=said):
        list(tryit.blocks_of("docs/odd.md", text))


def test_a_block_without_outputs():
    (block,) = tryit.blocks_of("docs/odd.md", '```console title="make qemu-sf280r"\n# nproc\n```')
    assert not tryit.has_outputs(block)
    assert tryit.how_to_record(block) == "docs/odd.md:1: this block has no outputs yet: make docs-record PAGE=docs/odd.md"


@pytest.mark.parametrize(
    "shown, printed",
    [
        ("CPU 3 is   on", "CPU 12 is on "),
        ("at 0xffffffff80001000", "at 0x1f"),
        ("fault    0x1 0x5e4720", "fault    0xa 0xbeef"),
        ("root 6 Nov 28 11:58 f", "root 6 Dec  1 09:00 f"),
        ("rseq(0X1C71CE0, 32)", "rseq(0XB8FCE0, 32)"),
        ("00400000    4K r----", "7ffffef1e000  120K r----"),
        ("rate: 1.5 MB/s", "rate: 104 MB/s"),
        ("lgrp:0:lgrp0:x\t-1", "lgrp:4:lgrp4:x 7"),
        ("a long line ...", "a long line of words"),
    ],
)
def test_lines_that_fit(shown, printed):
    assert tryit.fits(shown, printed)


@pytest.mark.parametrize(
    "shown, printed", [("CPU 3 is on", "CPU 3 is off"), ("CPU 3", "CPU"), ("a b ...", "a c d"), ("4K", "4M"), ("May", "Dec")]
)
def test_lines_that_do_not_fit(shown, printed):
    assert not tryit.fits(shown, printed)


@pytest.mark.parametrize(
    "shown, printed, lines",
    [
        ("", "", []),
        ("a 1", "a 2", [0]),
        ("", "a", None),
        ("a", "", None),
        ("a", "b", None),
        ("...", "a", [None]),
        ("a ... b", "a b", [0, None, 1]),
        ("a ... b", "a x y b", [0, None, 3]),
        ("a ... b", "a x", None),
        ("a ... b", "b", None),
        ("... b ... c", "a b b d c", [None, 1, None, 4]),
        ("... b c", "b d b c", [None, 2, 3]),
        ("... b ...", "a", None),
        ("... line-3 ...", "line-1 line-2 line-3 line-4", [None, 2, None]),  # the most like it
    ],
)
def test_outputs_are_aligned(shown, printed, lines):
    def words(text):
        return ["a 1"] if text == "a 1" else ["a 2"] if text == "a 2" else text.split()

    assert tryit.align(words(shown), words(printed)) == lines


@pytest.mark.parametrize(
    "chosen, printed, lines",
    [
        ("a b c", "a b c", "a b c"),
        ("a b c", "a c", "a ... c"),
        ("a c", "a b c", "a ... c"),
        ("a b", "x a b y", "... a b ..."),
        ("a ... c", "a b b c", "a ... c"),
        ("a ... c", "a c", "a ... c"),
        ("a b", "b a", "... b ..."),
        ("a", "b a c a", "... a ..."),
        ("a b", "c", "..."),
        ("a", "", "..."),
        ("", "a", "..."),
        ("", "", ""),
    ],
)
def test_what_runs_have_in_common(chosen, printed, lines):
    assert tryit.common(chosen.split(), printed.split()) == lines.split()
    assert tryit.align(lines.split(), printed.split()) is not None


def test_what_is_wrong_with_an_output():
    busy = tryit.Command("psradm -f 0", ["psradm: processor 0: Device busy"])
    assert not list(tryit.faults_of(busy, 1, ["psradm: processor 7: Device busy", ""]))
    (fault,) = tryit.faults_of(tryit.Command("date", ["..."]), 0, ["Monday"])
    assert "no line is in the output of each run" in fault
    silent = tryit.Command("grep x y")
    assert list(tryit.faults_of(silent, 1, [])) == ["'grep x y' ended with status 1, and the page shows no error"]
    (fault,) = tryit.faults_of(tryit.Command("nproc", ["2"]), 0, ["two"])
    assert "does not print what the page shows" in fault and "    two" in fault


def test_what_is_recorded():
    many = [f"line {number}" for number in range(30)]
    short = tryit.recorded([], many)
    assert len(short) <= tryit.LINES_MAX and short[0] == "line 0" and short[-1] == "line 29" and tryit.ANY in short
    assert tryit.align(short, many)
    assert tryit.recorded(["line 7", "...", "line 8"], many) == ["line 0", "...", "line 29"]  # the lines that the page chose
    assert tryit.recorded(["a  1 ..."], ["a  22 b c"]) == tryit.recorded(["a 1 ..."], ["a  22 ..."]) == ["a  22 ..."]
    assert tryit.recorded(["other"], ["# a", "", "word " * 40]) == [" # a", "word " * 23 + "..."]


def test_the_hosts_files_stay():
    """Commands of the host work in a copy: what they write is not in the checkout."""
    with tryit.copy_of_top(["truncate -s 1M build/odd.img", "test -f qemu/launch.py"], False) as top:
        assert (top / "build/odd.img").stat().st_size == 1 << 20
    assert not top.exists() and not (TOP / "build/odd.img").exists()
    with pytest.raises(tryit.Fault, match="'false' ended with status 1"), tryit.copy_of_top(["false"], False):
        pass


def test_a_command_of_the_host_in_the_background():
    with tryit.copy_of_top(["touch build/before; exec sleep 1000 &"], False) as top:
        while not (top / "build/before").exists():
            time.sleep(0.01)
    assert not top.exists()
    ends = "echo $$ > build/new; mv build/new build/pid; echo oh; exit 3 &"
    with pytest.raises(tryit.Fault, match="ended with status 3: oh"), tryit.copy_of_top([ends], False) as top:
        while not (top / "build/pid").exists():
            time.sleep(0.01)
        os.waitid(os.P_PID, int((top / "build/pid").read_text()), os.WEXITED | os.WNOWAIT)


class Console:
    """A machine that prints `text` after the second line that is typed, and ends if `status` is given."""

    def __init__(self, text, status=None):
        self.console, self.running, self._text, self._status, self._typed = b"# ", True, text, status, 0

    def send(self, data):
        self._typed += 1
        self.console += f"{tryit.MARK}ready{tryit.MARK}".encode() if self._typed == 1 else self._text.encode()
        self.running = self._typed == 1 or self._status is None

    def wait_until(self, condition, timeout):
        return condition()

    def tail(self, lines):
        return "the end"

    def wait(self):
        return self

    def exit_code(self, wants_verdict):
        return self._status


def test_the_last_command_may_end_the_machine():
    panic = "panic: oh\r\n  [1] f+0x1\r\n"
    assert tryit.Session(Console(panic, 122)).do("x", last=True) == (122, ["panic: oh", "  [1] f+0x1"])
    with pytest.raises(tryit.Fault, match="'x': the machine ended"):
        tryit.Session(Console(panic, 122)).do("x")
    with pytest.raises(tryit.Fault, match="'x': no end in"):
        tryit.Session(Console(panic)).do("x", last=True)
    assert tryit.Session(Console(f"a\r\n{tryit.MARK}3{tryit.MARK}")).do("x") == (3, ["a"])
