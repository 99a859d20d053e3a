# SPDX-License-Identifier: MIT
"""test_bench.py - the benchmarks of user/bench: their results are right, do not depend on the number of threads, and agree
with the counters of the interconnect model.

The programs are ordinary static Linux programs, so most of this is tested on the host, without a machine.
"""

import math
import re
import subprocess

import pytest

from harness import HOST_LIMIT
from homeroom.machine import TOP

BENCH = TOP / "build/user/bench"
HPC = "set lgrp_loadavg_tolerance=0x1000"
COUNTERS = ["time_ps", "instr", "loads", "stores", "ec_ref", "ec_hit", "miss_local", "miss_remote"]
COUNTERS += ["load_miss_local", "load_miss_remote", "writeback", "stall_ps", "fp_stall_ps"]
COUNTERS += [f"queue_{resource}_ps" for resource in ("port", "memory", "bus", "request", "response", "crossbar")]

# Arguments of each program for a short run; the keys are the names in result lines.
SMALL = {
    "memcopy": "memcopy -t 4 -n 20000 -i 3 -p both",
    "fdiff": "fdiff -t 4 -g 6 -n 60x37 -i 20 -c -p both",
    "oltp": "oltp -l 12 -r 3 -x 3 -w 100 -m 16",
    "dw": "dw -l 3 -m 16",
    "erp": "erp -l 6 -x 5",
    "jvm": "jvm -t 4",
    "solvers": "solvers -t 4 -n 64 -i 60",
}


def on_host(command, status=0):
    program, *options = command.split()
    done = subprocess.run([BENCH / program, *options], capture_output=True, text=True, timeout=HOST_LIMIT, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def fields(line):
    return dict(word.split("=", 1) for word in line.split()[1:])


def results(text):
    """The result lines as dictionaries; counters that follow a line are added to it under "counters"."""
    found = []
    for line in text.splitlines():
        if line.startswith("result: "):
            found.append(fields(line))
        elif line.startswith("counters: "):
            found[-1]["counters"] = {key: int(value) for key, value in fields(line).items()}
    return found


def check_plain(text, name):
    """Check the output of a run without the model: it says so, and gives no modelled figure."""
    assert text.splitlines()[-1] == "ok"
    assert text.count("modelled: no model") == len(results(text)) > 0
    for result in results(text):
        assert result["bench"] == name
        assert float(result["wall_s"]) >= 0
        assert not [key for key in result if key.startswith("modelled")]


@pytest.mark.parametrize("name", SMALL)
def test_on_the_host(name):
    check_plain(on_host(SMALL[name]), name)


@pytest.mark.parametrize("threads", [1, 2, 5, 11])
def test_fdiff_does_not_depend_on_threads(threads):
    (sums,) = re.findall(r"sums: (.*)", on_host(f"fdiff -t {threads} -g 11 -n 60x37 -i 20"))
    assert sums == "u 14080.3726995599 v 939.812381631078 p 111000000"


@pytest.mark.parametrize("kind", ["fv", "fea", "feb", "ode", "eigen"])
def test_solvers_do_not_depend_on_threads(kind):
    values = set()
    for threads in (1, 3, 8):
        (result,) = results(on_host(f"solvers -k {kind} -t {threads} -n 64 -i 60"))
        values.add(result["value"])
    assert len(values) == 1


def test_fdiff_computes_what_a_plain_program_does():
    """The result is that of the same equations in Python: one grid, periodic in both directions, ten steps."""
    n1, n2, steps = 17, 10, 10
    text = on_host(f"fdiff -t 1 -n {n1}x{n2} -i {steps}")
    (found,) = re.findall(r"sums: u (\S+) v (\S+) p (\S+)", text)
    dx, leap = 1e5, 180.0
    cells = [(i, j) for i in range(n1) for j in range(n2)]

    def wave(i, j):
        return 1e6 * math.sin(2 * math.pi / n1 * (i + 0.5)) * math.sin(2 * math.pi / n2 * (j + 0.5))

    def at(f, i, j):
        return f[i % n1, j % n2]

    psi = {c: wave(*c) for c in cells}
    now = [
        {(i, j): (at(psi, i, j) - at(psi, i, j + 1)) / dx for i, j in cells},
        {(i, j): (at(psi, i + 1, j) - at(psi, i, j)) / dx for i, j in cells},
        {(i, j): 5e4 * (1 + 0.01 * math.cos(4 * math.pi / n1 * i)) for i, j in cells},
    ]
    old = now
    for _ in range(steps):
        u, v, p = ((lambda i, j, f=f: at(f, i, j)) for f in now)
        cu = {(i, j): (p(i, j) + p(i - 1, j)) / 2 * u(i, j) for i, j in cells}
        cv = {(i, j): (p(i, j) + p(i, j - 1)) / 2 * v(i, j) for i, j in cells}
        around = {(i, j): (p(i, j) + p(i - 1, j) + p(i, j - 1) + p(i - 1, j - 1)) / 4 for i, j in cells}
        z = {(i, j): (v(i, j) - v(i - 1, j) - u(i, j) + u(i, j - 1)) / dx / around[i, j] for i, j in cells}
        kinetic = {(i, j): (u(i + 1, j) ** 2 + u(i, j) ** 2) / 4 + (v(i, j + 1) ** 2 + v(i, j) ** 2) / 4 for i, j in cells}
        h = {c: now[2][c] + kinetic[c] for c in cells}
        new = [{}, {}, {}]
        for i, j in cells:
            mean_cv = (at(cv, i, j) + at(cv, i - 1, j) + at(cv, i, j + 1) + at(cv, i - 1, j + 1)) / 4
            mean_cu = (at(cu, i, j) + at(cu, i + 1, j) + at(cu, i, j - 1) + at(cu, i + 1, j - 1)) / 4
            z_u, z_v = (at(z, i, j) + at(z, i, j + 1)) / 2, (at(z, i, j) + at(z, i + 1, j)) / 2
            new[0][i, j] = old[0][i, j] + leap * (z_u * mean_cv - (at(h, i, j) - at(h, i - 1, j)) / dx)
            new[1][i, j] = old[1][i, j] - leap * (z_v * mean_cu + (at(h, i, j) - at(h, i, j - 1)) / dx)
            flow = at(cu, i + 1, j) - at(cu, i, j) + at(cv, i, j + 1) - at(cv, i, j)
            new[2][i, j] = old[2][i, j] - leap * flow / dx
        old = [{c: b[c] + 0.001 * (n[c] - 2 * b[c] + o[c]) for c in cells} for n, b, o in zip(new, now, old, strict=True)]
        now = new
    expected = [sum(abs(f[c]) for c in cells) for f in now]
    assert [float(x) for x in found] == pytest.approx(expected, rel=1e-12)


def test_solvers_see_a_wrong_result():
    """After only five steps, conjugate gradients have not solved the system: the program must report that."""
    assert on_host("solvers -k fea -t 2 -n 64 -i 5", status=1).splitlines()[-1] == "FAILED"


def test_dw_does_not_depend_on_slaves():
    sums = {re.search(r"selected \d+ rows, sum \d+", on_host(f"dw -l {slaves} -m 16"))[0] for slaves in (1, 2, 7)}
    assert len(sums) == 1


def test_oltp_mix_is_that_of_table_3_1():
    mixed, private, shared = results(on_host("oltp -l 16 -r 4 -x 4"))
    assert abs(float(mixed["private_pct"]) - 42.51) < 2
    assert (float(private["private_pct"]), float(shared["private_pct"])) == (100, 0)


def test_oltp_visits_each_area_alone():
    phases = results(on_host("oltp -l 8 -r 2 -x 2 -k"))
    assert [(p["phase"], float(p["private_pct"])) for p in phases[3:]] == [("data", 100), ("heap", 100), ("stack", 100)]
    assert [p["phase"] for p in results(on_host("oltp -l 8 -r 2 -x 2 -1"))] == ["mixed"]


def test_copy_is_a_loop_of_8_byte_moves():
    """Each element is copied by one load and one store of 8 bytes, not by memcpy or wider moves."""
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
    assert here == total == str(13 * 8 * 5)  # 16 columns of 128, and the offset
    here, total = map(int, re.search(local, random).groups())
    assert total / 4 < here < total * 3 / 4


# With the model: a smaller cache, as in the experiments, and more data than it can hold.  These tests only count, so the order
# of transfers need not be exact, and large skews make the run faster.
MODEL = {"model": "fireplane", "model_set": "ecache_kib=64; skew_ps=1000000; order_ps=1000000", "system": HPC}


def share(counters, which):
    return counters[f"miss_{which}"] / (counters["miss_local"] + counters["miss_remote"])


def check_counters(result):
    c = result["counters"]
    assert list(c) == COUNTERS
    assert c["ec_ref"] == c["ec_hit"] + c["miss_local"] + c["miss_remote"]
    assert c["load_miss_local"] <= c["miss_local"] and c["load_miss_remote"] <= c["miss_remote"]
    assert c["loads"] > 0 and c["stores"] > 0 and c["instr"] >= c["loads"]
    assert 0 < float(result["modelled_s"]) <= c["time_ps"] / 1e12


@pytest.mark.long
def test_with_the_model(boot_once):
    """With first touch, almost no misses are remote; with random placement on six boards, five in six are."""
    commands = [
        "fdiff -t 24 -n 336x336 -i 1 -p both -b",
        "memcopy -t 24 -n 768k -i 2 -p both -b",
        SMALL["oltp"] + " -k",
        *(SMALL[name] for name in ("dw", "erp", "jvm", "solvers")),
    ]
    outcome, text, _ = boot_once("sf6800", run=" && ".join(commands), timeout=400, **MODEL)
    assert outcome.status == 0, text
    found = results(text)
    for result in found:
        check_counters(result)
    assert {result["bench"] for result in found} == set(SMALL)
    by_name = {(result["bench"], result.get("placement", result.get("phase"))): result for result in found}
    for name in ("fdiff", "memcopy"):
        first, random = by_name[name, "first"], by_name[name, "random"]
        assert share(first["counters"], "remote") < 0.02
        assert abs(share(random["counters"], "remote") - 5 / 6) < 0.04
    assert float(by_name["fdiff", "first"]["modelled_s"]) < float(by_name["fdiff", "random"]["modelled_s"])
    copied = by_name["memcopy", "first"]["counters"]
    lines = 768 * 1024 * 8 * 2 / 64  # lines of one array, in two rounds
    assert lines * 0.95 < copied["load_miss_local"] < lines * 1.05
    assert lines * 0.7 < copied["writeback"] < lines * 1.05
    # Most rows are misses.  Those of the private phase are local; those of the shared phase are on any board.
    assert 0.9 < float(by_name["oltp", "private"]["misses_per_row"]) < 1.3
    assert float(by_name["oltp", "private"]["remote_load_pct"]) < 50
    assert 70 < float(by_name["oltp", "shared"]["remote_load_pct"]) < 95
    mix = by_name["oltp", "stack"]
    kinds = {name: float(mix[f"{name}_miss_pct"]) for name in ("data", "heap", "stack", "sga")}
    assert sum(kinds.values()) == pytest.approx(100, abs=0.03)
    for name, visited in {"data": 9.7, "heap": 26.2, "stack": 6.7, "sga": 57.5}.items():
        assert visited * 0.8 < kinds[name] < visited * 1.2, kinds
    simulated = by_name["oltp", "shared"]
    parts = [float(simulated[f"{a}_{b}_pct"]) for a in ("private", "shared") for b in ("remote", "local")]
    assert sum(parts) == pytest.approx(100, abs=0.03)
    assert parts[0] + parts[1] == pytest.approx(float(simulated["private_miss_pct"]), abs=0.03)


def test_oltp_without_mpo(boot_once):
    """Without MPO, memory of any kind is on any board: five misses in six are remote, also for private rows."""
    options = {**MODEL, "system": "set mpo_enable=0"}
    outcome, text, _ = boot_once("sf6800", run="oltp -l 48 -r 12 -x 4 -m 32", timeout=400, **options)
    assert outcome.status == 0, text
    found = results(text)
    loads = {where: sum(result["counters"][f"load_miss_{where}"] for result in found) for where in ("local", "remote")}
    assert abs(loads["remote"] / sum(loads.values()) - 5 / 6) < 0.02
    for result in found:
        check_counters(result)
        assert abs(float(result["remote_load_pct"]) - 100 * 5 / 6) < 4  # a phase has most misses in a few pages
        assert float(result["off_home_pct"]) == 0
