# SPDX-License-Identifier: MIT
"""test_fireplane_guest.py - the interconnect model in the guest: without a model, with a page but no model, and with it.

user/test/t_fireplane.c tests the time and the counters of threads; tests/host/ tests the model itself.
"""

import re
import struct

import pytest

from homeroom.fireplane import VERSION

MAGIC = 0x454E414C50455246
PAGE_BYTES = 1 << 20
NO_MODEL = "no model: start the machine with MODEL=fireplane"
WITHOUT = pytest.mark.machine("sf3800")
WITH = pytest.mark.machine("sf3800", model="fireplane", model_set="fp_latency=4")  # so that some instructions wait


def verdicts(text: str) -> dict[str, str]:
    """{test: PASS|FAIL|SKIP} from the output of a test program."""
    return {w[1]: w[0] for w in (line.split() for line in text.splitlines()) if len(w) == 2 and w[0].isupper()}


def rows(text: str) -> list[list[str]]:
    """The words of each line that begins with a time."""
    return [line.split() for line in text.splitlines() if re.match(r" *\d+\.\d{3} ", line)]


# ---- without the model ----


@WITHOUT
def test_without_model(machine):
    assert machine.run("cat /dev/fireplane").out == "cat: can't open '/dev/fireplane': No such device\n"
    for command in ("cpustat -c EC_ref 1 1", "cputrack -c EC_ref true"):
        refused = machine.run(command)
        assert refused.out == f"{command.split()[0]}: {NO_MODEL}\n" and refused.status == 1
    assert "fireplane" not in machine.check("dmesg")
    said = verdicts(machine.check("/usr/test/t_fireplane"))
    assert said.pop("no_model") == "PASS"
    assert set(said.values()) == {"SKIP"}


@WITHOUT
def test_wrong_options(machine):
    """Wrong options are reported, with and without a model."""
    for command, words in {
        "cpustat": "usage: cpustat",
        "cpustat -c EC_ref 1 2 3": "usage: cpustat",
        "cpustat -c EC_reference": "'EC_reference' is not an event; cpustat -h lists them",
        "cpustat -c pic2=EC_ref": "'pic2=EC_ref': the counters are pic0 and pic1",
        "cpustat -c EC_ref,EC_hit,EC_wb": "'EC_wb': pic1 is taken; use another -c",
        "cpustat -c ''": "too long or empty",
        "cpustat -c EC_ref zero": "'zero': give the interval in seconds",
        "cpustat -c EC_ref 1 0": "'0': give the number of samples",
        "cputrack -c EC_ref": "usage: cputrack",
        "cputrack -c EC_ref -T x true": "-T 'x': give seconds",
        "cputrack -c EC_ref -N 0 true": "-N '0': give a number of samples",
    }.items():
        refused = machine.run(command)
        assert words in refused.out and refused.status == 2, (command, refused)
    for command in ("cpustat -h", "cputrack -h"):
        text = machine.check(command)
        assert "EC_miss_remote" in text and "Cycle_cnt" in text


# ---- a page that no model has written, or one for another machine ----


def page(magic=MAGIC, version=VERSION, ncpus=8, nboards=2) -> bytes:
    header = struct.pack("<QIIIIQQQQIIII", magic, version, ncpus, nboards, 0, 1111, 8 << 20, 0, 1000000, 0, 0, 1, 0)
    return header.ljust(PAGE_BYTES, b"\0")


def device(path, content: bytes) -> list[str]:
    """QEMU's options for an ivshmem device with this file as its memory."""
    path.write_bytes(content)
    backend = f"memory-backend-file,id=page,size={len(content)},share=on,mem-path={path}"
    return ["-object", backend, "-device", "ivshmem-plain,memdev=page"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xa5" * PAGE_BYTES, "no model has written to the device's page (wrong magic)"),
        (page(version=7), "the model is of another version"),
        (page(ncpus=4), "the model is of another machine"),
        (page(nboards=1000), "the model is of another machine"),
        (page()[:65536], "the device's page is missing or too small"),
    ],
    ids=["garbage", "version", "cpus", "boards", "size"],
)
def test_a_page_that_is_none(boot_once, tmp_path, content, why):
    """One line gives the reason, and the machine works without a model."""
    outcome, text, _ = boot_once("sf3800", run="cpustat -c EC_ref 1 1", qemu_args=device(tmp_path / "page", content))
    assert outcome.status == 1, text
    assert [line for line in text.splitlines() if "fireplane:" in line] == [f"WARNING: fireplane: {why}: no model"]
    assert NO_MODEL in text


def test_a_page_without_plugin(boot, tmp_path):
    """A header with the right contents is accepted.  Without the plugin, calls of the model fail and counters stay zero."""
    machine = boot("sf3800", qemu_args=device(tmp_path / "page", page()))
    assert "fireplane: model of 8 CPUs on 2 boards, external caches of 8192 KiB" in machine.check("dmesg")
    said = verdicts(machine.check("/usr/test/t_fireplane"))
    assert said["page"] == "PASS" and "FAIL" not in said.values()
    total = machine.check("cpustat -c EC_ref,EC_misses 1 1").splitlines()[-1]
    assert total.split()[1:] == ["8", "total", "0", "0"]
    assert machine.run("cputrack -c EC_ref -o /tmp/out sh -c 'exit 3'").status == 3
    assert machine.run("/usr/test/t_sys").status == 0


@pytest.mark.parametrize("place", ["bridge", "above 4 GiB"])
def test_wherever_the_page_is(boot_once, tmp_path, place):
    """The page is found behind a bridge, and in a window so large that the firmware puts it above 4 GiB."""
    options = device(tmp_path / "page", page())
    if place == "bridge":
        options[-1] += ",bus=bridge,addr=3"
        options = ["-device", "pci-bridge,id=bridge,chassis_nr=1", *options]
    else:
        with (tmp_path / "page").open("r+b") as file:
            file.truncate(4 << 30)
        options[1] = options[1].replace(f"size={PAGE_BYTES}", "size=4G")
    outcome, text, _ = boot_once("sf3800", run="/usr/test/t_fireplane page", qemu_args=options)
    assert outcome.status == 0 and "PASS page" in text


# ---- with the model ----


@WITH
def test_time_and_counters(machine):
    """Time never decreases, also across wake-ups and creation; the counters of threads add up to those of CPUs."""
    result = machine.run("/usr/test/t_fireplane", timeout=200)
    assert result.status == 0, result.out
    said = verdicts(result.out)
    assert said.pop("no_model") == "SKIP"
    assert set(said.values()) == {"PASS"} and {"monotonic", "wake", "creation", "timer", "counts", "sums"} <= set(said)


@WITH
def test_cpustat(machine):
    text = machine.check("memcopy -t 4 -i 1000000 >/dev/null & sleep 1; cpustat -c pic0=EC_ref,pic1=EC_misses 1 3; kill $!")
    assert text.splitlines()[0] == "   time cpu event      pic0      pic1"
    table = rows(text)
    assert [row[2] for row in table] == ["tick"] * 24 + ["total"]
    assert [int(row[1]) for row in table] == [*range(8)] * 3 + [8]
    assert re.fullmatch(r"[ \d]{3}\.\d{3} [ \d]{3}  tick [ \d]{9} [ \d]{9}", text.splitlines()[1])
    for pic in (3, 4):
        assert int(table[-1][pic]) == sum(int(row[pic]) for row in table[:-1])
    assert int(table[-1][3]) >= int(table[-1][4]) > 0
    assert machine.check("psradm -f 3; cpustat -n -c EC_wb 1 1; psradm -n 3").count("tick") == 7


@WITH
def test_cpustat_sets_take_turns(machine):
    text = machine.check("cpustat -t -c pic0=EC_ref,pic1=EC_hit -c pic1=Instr_cnt 0.2 4")
    assert text.splitlines()[0] == "   time cpu event     %tick      pic0      pic1"
    sets = ["# pic0=EC_ref,pic1=EC_hit", "# pic1=Instr_cnt"]
    for number, row in enumerate(rows(text)[:-2]):
        assert " ".join(row[6:]) == sets[number // 8 % 2]
        assert (row[4] == "-") == (number // 8 % 2 == 1)
    assert [" ".join(row[6:]) for row in rows(text)[-2:]] == sets


@WITH
def test_the_model_is_armed_while_cpustat_runs(machine):
    """A program counts only while cpustat runs, not before and not after."""
    machine.check("cpustat -n -c Instr_cnt 0.1 1")
    before = machine.check("cputrack -n -c Instr_cnt true").split()
    programs = "while kill -0 $!; do ls /; done > /dev/null 2>&1"  # from before cpustat arms the model until its end
    text = machine.check(f"cpustat -n -c Instr_cnt 1 1 > /tmp/c & {programs}; wait; cat /tmp/c")
    assert int(rows(text)[-1][3]) > 10000
    assert before[2] == "exit" and int(before[3]) > 100


@WITH
def test_cpustat_goes_on_after_a_benchmark(machine):
    """A benchmark disarms the model at its end; cpustat arms it again."""
    spin = "timeout 4 sh -c 'while :; do :; done'"
    text = machine.check(
        f"cpustat -n -c Instr_cnt 0.5 100 >/tmp/c & memcopy -t 2 >/dev/null; {spin}; kill -INT $!; wait; cat /tmp/c"
    )
    ticks = [int(row[3]) for row in rows(text) if row[2] == "tick"]
    assert sum(ticks[-24:-8]) > 100000  # without the last sample, and the one in which the benchmark ended


@WITH
def test_cputrack_of_a_program(machine):
    """The exit line counts the whole program: at least as many instructions as the program itself counts."""
    text = machine.check("cputrack -T 0 -c Instr_cnt,EC_misses -c EC_miss_local,EC_miss_remote memcopy -t 4")
    counters = dict(word.split("=") for word in re.search(r"^counters: (.*)", text, re.M)[1].split())
    table = rows(text)
    assert [row[2] for row in table].count("lwp_create") == [row[2] for row in table].count("lwp_exit") == 3
    instr, misses, local, remote = (int(word) for row in table[-2:] for word in row[3:5])
    assert [row[2] for row in table[-2:]] == ["exit", "exit"]
    assert misses == local + remote
    assert int(counters["instr"]) * 0.9 < instr < int(counters["instr"]) * 2
    ended = sum(int(row[3]) for row in table if row[2] == "lwp_exit")
    assert 0 < ended <= instr


@WITH
def test_cputrack_ticks(machine):
    """A tick is the count since the last tick; the sum of all ticks and the rest is the total."""
    text = machine.check("cputrack -T 0.05 -c Instr_cnt sh -c 'i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done'")
    assert text.splitlines()[0] == "   time lwp      event      pic0"
    ticks = [int(row[3]) for row in rows(text) if row[2] == "tick"]
    assert rows(text)[-1][2] == "exit"
    assert ticks and 0 < sum(ticks) <= int(rows(text)[-1][3])


@WITH
def test_cputrack_follows(machine):
    """-f: children; -e: new programs; -v: events; without -e the count ends at the exec."""
    script = "sh -c '(exec cat /etc/hostname); echo done'"
    machine.check(f"cputrack -fev -o /tmp/all -c Instr_cnt {script}")
    text = machine.check("cat /tmp/all")
    assert text.splitlines()[0] == "   time    pid lwp      event      pic0"
    events = [row[3] for row in rows(text)]
    assert events.count("exec") == 2 and events.count("exit") == events.count("fork") + 1 == 2
    assert events.count("init_lwp") == events.count("fini_lwp") == 3
    child = re.search(r"fork +# (\d+)", text)[1]
    assert {row[1] for row in rows(text)} == {child, rows(text)[0][1]}
    assert re.search(rf"{child}   1       exec +# '(cat|exe|busybox)'", text)
    events = [row[3] for row in rows(machine.check(f"cputrack -nf -c Instr_cnt {script}"))]
    assert events.count("exec") == 1 and events.count("exit") == 1
    events = [row[2] for row in rows(machine.check(f"cputrack -n -c Instr_cnt {script}"))]
    assert events.count("exec") == 0 and events.count("exit") == 1


@WITH
def test_cputrack_passes_the_status_on(machine):
    assert machine.run("cputrack -c EC_ref -o /dev/null sh -c 'exit 9'").status == 9
    assert machine.run("cputrack -c EC_ref -o /dev/null sh -c 'kill -9 $$'").status == 137
    missing = machine.run("cputrack -n -c EC_ref /no/such")
    assert missing.status == 127 and missing.out == "cputrack: /no/such: No such file or directory\n"
    assert machine.run("cputrack -c EC_ref -o /no/such true").status == 1
    until = "until [ $(grep -c tick /tmp/few) = 2 ]; do sleep 0.1; done"  # the command does not end before the second sample
    few = machine.check(f"cputrack -n -N 2 -T 0.1 -c EC_ref -o /tmp/few sh -c '{until}'; cat /tmp/few")
    assert [row[2] for row in rows(few)] == ["tick", "tick"]


@WITH
def test_cputrack_of_others(machine):
    """An ordinary user can count its own programs; a set-uid program (as busybox is) then runs as the user."""
    text = machine.check("cputrack -T 0.1 -n -c Instr_cnt memcopy -t 2 -i 60", uid=1000)
    assert [row[2] for row in rows(text)][-1] == "exit" and "tick" in text
    text = machine.check("cputrack -T 0.1 -n -c Instr_cnt sleep 1", uid=1000)
    assert [row[2] for row in rows(text)][-1] == "exit" and "tick" in text
