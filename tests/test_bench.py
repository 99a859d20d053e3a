# SPDX-License-Identifier: MIT
"""The benchmarks of user/bench: results are right, equal for all thread counts, and counted by the model as they must be.

The programs are ordinary static Linux programs, so most of it is tested on this host, without a machine.
"""

import re
import subprocess

import pytest

from homeroom.machine import TOP

BENCH = TOP / "build/user/bench"
HPC = "set lgrp_loadavg_tolerance=0x1000"
COUNTERS = (
    "time_ps instr loads stores ec_ref ec_hit miss_local miss_remote load_miss_local load_miss_remote writeback stall_ps "
    "queue_port_ps queue_memory_ps queue_bus_ps queue_out_ps queue_in_ps queue_centerplane_ps"
).split()

# Every program with sizes that take a moment; its name is that of its result lines.
SMALL = {
    "memcopy": "memcopy -t 4 -n 20000 -i 3 -p both",
    "fdiff": "fdiff -t 4 -n 60x37 -i 20 -c -p both",
    "oltp": "oltp -l 12 -r 3 -x 3 -w 100 -m 16",
    "dw": "dw -l 3 -m 16",
    "erp": "erp -l 6 -x 5",
    "jvm": "jvm -t 4",
    "solvers": "solvers -t 4 -n 64 -i 60",
}


def on_host(command, status=0):
    program, *options = command.split()
    done = subprocess.run([BENCH / program, *options], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def fields(line):
    return dict(word.split("=", 1) for word in line.split()[1:])


def results(text):
    """The result lines; the counters that follow one are added to it under "counters"."""
    found = []
    for line in text.splitlines():
        if line.startswith("result: "):
            found.append(fields(line))
        elif line.startswith("counters: "):
            found[-1]["counters"] = {key: int(value) for key, value in fields(line).items()}
    return found


def check_plain(text, name):
    """A run without the model: it says so, and claims no modelled figure."""
    assert text.splitlines()[-1] == "ok"
    assert text.count("modelled: no model") == len(results(text)) > 0
    for result in results(text):
        assert result["bench"] == name
        assert float(result["wall_s"]) >= 0
        assert not [key for key in result if key.startswith("modelled")]


@pytest.mark.parametrize("name", SMALL)
def test_on_the_host(name):
    check_plain(on_host(SMALL[name]), name)


@pytest.mark.parametrize("threads", [1, 2, 5, 37])
def test_fdiff_does_not_depend_on_threads(threads):
    (sums,) = re.findall(r"sums: (.*)", on_host(f"fdiff -t {threads} -n 60x37 -i 20"))
    assert sums == "u 6494.41229984287 v 1910.61590937856 p 111000000"


@pytest.mark.parametrize("kind", ["fv", "fea", "feb", "ode", "eigen"])
def test_solvers_do_not_depend_on_threads(kind):
    values = set()
    for threads in (1, 3, 8):
        (result,) = results(on_host(f"solvers -k {kind} -t {threads} -n 64 -i 60"))
        values.add(result["value"])
    assert len(values) == 1


def test_solvers_see_a_wrong_result():
    """Five steps of conjugate gradients do not solve the system."""
    assert on_host("solvers -k fea -t 2 -n 64 -i 5", status=1).splitlines()[-1] == "FAILED"


def test_dw_does_not_depend_on_slaves():
    sums = {re.search(r"selected \d+ rows, sum \d+", on_host(f"dw -l {slaves} -m 16"))[0] for slaves in (1, 2, 7)}
    assert len(sums) == 1


def test_oltp_mix_is_that_of_table_3_1():
    mixed, private, shared = results(on_host("oltp -l 16 -r 4 -x 4"))
    assert abs(float(mixed["private_pct"]) - 42.51) < 2
    assert (float(private["private_pct"]), float(shared["private_pct"])) == (100, 0)


def test_copy_is_a_loop_of_8_byte_moves():
    """Each element is one load and one store: neither memcpy nor wide moves."""
    command = ["objdump", "-d", "--no-show-raw-insn", BENCH / "memcopy"]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    work = code.split("<work>:")[1].split("\n\n")[0]
    assert "memcpy" not in work and "memmove" not in work and "rep " not in work
    assert not re.search(r"\bmov[au]p[sd]\b|\bmovdq[au]\b", work)
    assert len(re.findall(r"movsd? .*%xmm\d,-?(?:0x)?[0-9a-f]*\(", work)) >= 8


@pytest.mark.parametrize("name", SMALL)
def test_bad_options(name):
    for options in ("-t 0 -l 0", "-?", "extra"):
        on_host(f"{name} {options}", status=2)


@pytest.mark.machine("sf3800")
@pytest.mark.parametrize("name", SMALL)
def test_on_two_boards(machine, name):
    text = machine.check(SMALL[name], timeout=120)
    check_plain(text, name)


@pytest.mark.machine("sf3800")
def test_fdiff_pages(machine):
    first, random = machine.check("fdiff -t 8 -n 128x128 -p both").split("placement ")[1:]
    local = r"pages on the home of the thread that initialised them: (\d+) of (\d+)"
    here, total = re.search(local, first).groups()
    assert here == total == str(13 * 8 * 4)
    here, total = map(int, re.search(local, random).groups())
    assert total / 4 < here < total * 3 / 4
