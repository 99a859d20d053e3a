# SPDX-License-Identifier: MIT
"""test_psrset_experiment.py - make experiment-psrset without a machine: reading outputs, judging, reporting."""

import csv

import pytest

from homeroom.experiments import psrset, psrset_report, results, run
from homeroom.machine import MachineError

HEAD = "CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl"
INSIDE = range(2)


def mpstat(*rows):
    return "\n".join([HEAD, *(" ".join(map(str, row)) for row in rows)])


def row(cpu, intr=1, ithr=0, xcal=0, icsw=0, idl=100):
    return (cpu, 0, 0, xcal, intr, ithr, 0, icsw, 0, 0, 0, 0, 0, 0, 0, idl)


def test_mpstat():
    """The last report counts; lines between reports are ignored."""
    text = "\n".join([mpstat(row(0, intr=900), row(1)), "<<pset created: 1>>", mpstat(row(0, intr=7), row(1, idl=3))])
    found = psrset.parse_mpstat(text)
    assert found[0]["intr"] == 7 and found[1]["idl"] == 3 and set(found) == {0, 1}


def test_interrupts():
    text = (
        "           CPU0         CPU1\n"
        "  4:            2            0   IO-APIC   4-edge   uart\n"
        " 17:          100          200   PCI-MSI  49-edge   eth0\n"
        "LOC:           10           20   Local timer interrupts\n"
    )
    before = psrset.parse_interrupts(text)
    assert before == {"4 uart": {0: 2, 1: 0}, "17 eth0": {0: 100, 1: 200}, "LOC": {0: 10, 1: 20}}
    after = psrset.parse_interrupts(text.replace("200", "300"))
    assert psrset.rates(before, after, 4)["17 eth0"] == {0: 0, 1: 25}
    assert psrset.parse_pokes("intr:0:cpu:poke wakeup\t5\nintr:1:cpu:poke wakeup\t6\nintr:1:cpu:timer\t7\n") == {
        "wakeup": {0: 5, 1: 6}
    }
    assert psrset.parse_senders("cpu:3:sys:pokes\t8\ncpu:3:sys:icsw\t9\n") == {3: 8}


GUEST = "x,10.0.2.15,4000,10.0.2.2,5001,1,0.0-9.0,1000,800\nx,10.0.2.2,700,10.0.2.15,6000,2,0.0-9.0,500,400\n"
SERVER = "iperf says\nx,127.0.0.1,4001,127.0.0.1,5001,1,0.0-9.0,1000,790\nx,127.0.0.1,701,127.0.0.1,6000,2,0.0-9.0,500,410\n"


def test_flows():
    out, back = psrset.flows(GUEST, SERVER, 5001, 6000)
    assert (out.sent, out.received, out.rate) == (1000, 1000, 800)
    assert (back.sent, back.received, back.rate) == (500, 500, 400)
    with pytest.raises(MachineError, match="four ends"):
        psrset.flows(GUEST, SERVER.splitlines()[1], 5001, 6000)


@pytest.mark.parametrize(("fails", "said", "ends"), [(0, 0, None), (2, 2, None), (3, 2, psrset.GAVE_UP), (-1, 0, "on fire")])
def test_a_step_whose_iperf_gave_up_is_run_again(monkeypatch, capsys, fails, said, ends):
    """At most three runs, with a message before each repetition; the step is prepared once; another error ends it at once."""
    prepared, runs = [], []

    class Guest:
        check = prepared.append

    def measure(*_):
        runs.append(1)
        if fails < 0 or len(runs) <= fails:
            raise MachineError(f"iperf: {psrset.GAVE_UP}" if fails > 0 else "iperf is on fire")

    monkeypatch.setattr(psrset, "measure", measure)
    step = psrset.Step("a step", before=("psrset -c",))
    if ends:
        with pytest.raises(MachineError, match=ends):
            psrset.attempt(Guest(), step, None, [], 10)
    else:
        psrset.attempt(Guest(), step, None, [], 10)
    assert (prepared, len(runs)) == (["psrset -c"], said + 1)
    assert capsys.readouterr().err.count("again") == said


def fake(busy_inside: float, quiet_inside: float, lost: int = 0):
    """All steps as they should be, on four CPUs of which two are in the set; `busy_inside` and `quiet_inside`: interrupts."""
    done = psrset.steps()
    for i, step in enumerate(done):
        step.out = psrset.Flow(1000, 1000 - lost, 5e6)
        step.back = psrset.Flow(900, 900, 4e6)
        fenced, many = 1 <= i <= 3 or i >= 6, i >= 5
        inside = {2: busy_inside, 3: quiet_inside}.get(i, 1 if fenced else 200)
        rows = (row(0, intr=int(inside), idl=99), row(1), row(2, intr=500, icsw=5 * many), row(3, ithr=40))
        step.mpstat = psrset.parse_mpstat(mpstat(*rows))
        device = {0: 0.0 if fenced else 50.0, 1: 0.0, 2: 0.0, 3: 40.0}
        step.sources = {"17 eth0": device, "LOC": {0: 0.2, 1: 1.0, 2: 9, 3: 9}, "RES": {0: max(0, inside - 1.0), 2: 400.0}}
        step.devices, step.targets = {"17 eth0"}, {"17 eth0": "3"}
        step.targets |= {"20 vnet0": "2", "21 vnet1": "3"} if many else {}
        step.senders = {2: 900.0, 3: 0.0}
        step.pokes = {"wakeup": {0: max(0, inside - 1.0)}, "steal": {0: 0.0}}
    return done


def test_judged():
    assert all(holds for holds, _ in psrset_report.judge(fake(900, 1), INSIDE))
    wrong = dict((what.split(":")[0].split(";")[0], holds) for holds, what in psrset_report.judge(fake(1, 50, lost=1), INSIDE))
    assert not wrong["all bytes delivered, both ways, each step"]
    assert not wrong["iperf inside"] and not wrong["fenced CPUs that do not halt need no pokes"]
    done = fake(900, 1)
    done[6].targets["21 vnet1"] = "2"  # the same CPU as for the other card
    done[6].mpstat[2]["icsw"] = 0
    assert [what.split()[0] for holds, what in psrset_report.judge(done, INSIDE) if not holds] == ["the", "beside"]


def test_report(tmp_path, monkeypatch, capsys):
    """Rows in results.csv, and the answer to the paper's question by source, CPU and reason."""
    for module, name, value in ((results, "CSV", tmp_path / "results.csv"), (run, "OUT", tmp_path)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr("homeroom.experiments.storage.CSV", tmp_path / "results.csv")
    monkeypatch.setattr("homeroom.experiments.storage.read_csv", list)
    monkeypatch.setattr(psrset_report, "plot", lambda done: tmp_path / "psrset.svg")
    assert psrset_report.report(fake(900, 1), "t2000", 1, INSIDE, 10) == 0
    text = capsys.readouterr().out
    assert "the paper" in text and "540/518" in text and "NO " not in text
    assert "pokes by reason: wakeup 899.0" in text and "CPU 0 899" in text and "sent by: CPU 2 900.0\n" in text
    rows = list(csv.DictReader(open(tmp_path / "results.csv")))
    by_name = {r["row"]: r for r in rows}
    assert by_name["all CPUs: out"]["paper"] == "540" and by_name["all CPUs: out"]["ours"] == "5"
    assert by_name["inside the fenced set: device interrupts, 0-15"]["ours"] == "0"
    assert by_name["inside the fenced set: throughput to step 1"]["paper"] == ""
