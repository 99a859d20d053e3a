# SPDX-License-Identifier: MIT
"""psrset_report.py - print, record and draw the results of experiment-psrset, and compare them with the paper.

The paper's numbers are from "Playing with Solaris processor sets" (2009): a Sun Fire T2000 and a second machine, connected by
gigabit Ethernet.  The paper gives no throughput for its third run: those lines repeat the lines of the second.
"""

from collections.abc import Iterable
from pathlib import Path

from homeroom.experiments import run, storage
from homeroom.experiments.storage import Value

# By step: Mbit/s from and to the machine; mpstat's column intr for each CPU.
PAPER_RATE = {"all CPUs": (540, 518), "outside the fenced set": (481, 436)}
PAPER_INTR = {
    "all CPUs": [
        3481, 1332, 646, 356, 618, 714, 1085, 894, 993, 1431, 1155, 837, 2, 3, 5, 9,
        1299, 1473, 960, 1048, 852, 41259, 1069, 681, 799, 962, 1241, 862, 689, 656, 774, 649,
    ],
    "outside the fenced set": [
        *[1] * 16, 1854, 2236, 1699, 855, 42492, 1952, 1191, 1134, 2213, 2485, 1773, 1812, 2332, 2292, 1553, 1520,
    ],
    "inside the fenced set": [
        7751, 1, 1, 1, 201, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 8,
        1346, 687, 653, 509, 47201, 757, 1055, 791, 1033, 804, 584, 519, 726, 428, 812, 675,
    ],
}  # fmt: skip
PAPER_ICSW = {"all CPUs": 41, "outside the fenced set": 104, "inside the fenced set": 27}  # sum of mpstat's column icsw
WORDS = {
    "LOC": "the CPU's own timer", "RES": "pokes", "TLB": "cross-calls to flush translations",
    "SET": "settling, once when it is fenced", "SPU": "spurious",
}  # fmt: skip
COLOURS = {"device": "#b3382c", "RES": "#1f5f99", "LOC": "#8fb8de", "TLB": "#d9a441", "SPU": "#7d8894"}


def mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values)


def column(step, name: str, cpus: Iterable[int]) -> list[int]:
    return [step.mpstat[cpu][name] for cpu in cpus]


def total(step) -> float:
    return step.out.rate + step.back.rate


def source_in(step, name: str, cpus: Iterable[int]) -> float:
    """Interrupts per second from a source on these CPUs."""
    return sum(step.sources.get(name, {}).get(cpu, 0) for cpu in cpus)


def device_in(step, cpus: Iterable[int]) -> float:
    return sum(source_in(step, name, cpus) for name in step.devices)


def outside(step, inside: range) -> list[int]:
    return [cpu for cpu in step.mpstat if cpu not in inside]


def summary(done: list, inside: range) -> str:
    """The table of throughput and interrupts, the paper's numbers beside ours."""
    lines = []
    for step in done:
        rate, intr, others = PAPER_RATE.get(step.title), PAPER_INTR.get(step.title), outside(step, inside)
        lines.append([
            step.title, f"{rate[0]}/{rate[1]}" if rate else "-", f"{step.out.rate / 1e6:.1f}/{step.back.rate / 1e6:.1f}",
            f"{sum(rate) / sum(PAPER_RATE['all CPUs']):.2f}" if rate else "-", f"{total(step) / total(done[0]):.2f}",
            f"{mean(intr[:16]):.0f}" if intr else "-", f"{mean(column(step, 'intr', inside)):.1f}",
            f"{mean(intr[16:]):.0f}" if intr else "-", f"{mean(column(step, 'intr', others)):.1f}",
            str(PAPER_ICSW.get(step.title, "-")), str(sum(column(step, "icsw", step.mpstat))),
            f"{mean(column(step, 'idl', inside)):.0f}",
        ])  # fmt: skip
    head = ["step (CPUs 0-15, then 16-31)", "paper", "Mbit/s out/in", "paper", "to step 1", "paper", "intr 0-15",
            "paper", "intr 16-31", "paper", "icsw", "idl 0-15"]  # fmt: skip
    return storage.table("Network throughput, and mpstat: mean of intr for a CPU, sum of icsw, mean of idl", head, lines)


def targets(done: list) -> str:
    """The table of the CPUs that take each device's interrupt, by step."""
    names = sorted({name for step in done for name in step.targets}, key=lambda n: int(n.split()[0]))
    rows = [[name, *(f"{s.targets.get(name, '-')} ({source_in(s, name, s.mpstat):.0f}/s)" for s in done)] for name in names]
    return storage.table("Device interrupts: the CPU, and how often", ["interrupt", *(s.title for s in done)], rows)


def named(step, cpus: range) -> list[tuple[str, float, str]]:
    """The interrupts of these CPUs: (source, number per second, the CPUs with the most)."""
    out = []
    for name, row in step.sources.items():
        there = {cpu: row[cpu] for cpu in cpus if row.get(cpu)}
        if there:
            most = sorted(there, key=lambda cpu: -there[cpu])[:4]
            where = ", ".join(f"CPU {cpu} {there[cpu]:.0f}" for cpu in most)
            out.append((WORDS.get(name, name), sum(there.values()), where))
    return sorted(out, key=lambda item: -item[1])


def answer(done: list, inside: range) -> list[str]:
    """The counts that show why CPUs of the set take interrupts."""
    lines = []
    for step in (*done[1:4], *done[6:]):
        lines.append(f"{step.title}: what interrupted CPUs 0-15, a second")
        lines += [f"    {rate:9.1f}  {what:34} {where}" for what, rate, where in named(step, inside)] or ["    nothing"]
        reasons = {why: sum(row.get(cpu, 0) for cpu in inside) for why, row in step.pokes.items()}
        sent = sorted(((n, why) for why, n in reasons.items() if n), reverse=True)
        if sent:
            lines.append("               pokes by reason: " + ", ".join(f"{why} {n:.1f}" for n, why in sent))
            most = sorted((n, cpu) for cpu, n in step.senders.items() if n >= 0.1)[::-1][:4]
            lines.append("               pokes of all kinds sent by: " + ", ".join(f"CPU {cpu} {n:.1f}" for n, cpu in most))
    return lines


def cards_of(step) -> dict[str, str]:
    """The CPU that takes the interrupt of each network card."""
    return {name: cpu for name, cpu in step.targets.items() if "vnet" in name}


def judge(done: list, inside: range) -> list[tuple[bool, str]]:
    """The claims of the experiment, each with whether it holds."""
    _, out, within, quiet, _, free, *many = done
    fenced = [out, within, quiet, *many]
    lost = [s.title for s in done if any(f.sent != f.received or f.sent == 0 for f in (s.out, s.back))]
    intr = {step.title: column(step, "intr", inside) for step in done}
    woken = source_in(within, "RES", inside) / max(1e-9, sum(source_in(within, name, inside) for name in within.sources))
    return [
        (not lost, "all bytes delivered, both ways, each step" + "".join(f"; not: {title}" for title in lost)),
        (all(device_in(s, inside) == 0 for s in fenced), "no device interrupt in the set while it is fenced"),
        (max(intr[out.title]) <= 1, "iperf outside: at most one interrupt a second on each CPU of the set"),
        (sum(intr[within.title]) > 10 * sum(intr[out.title]), "iperf inside: CPUs of the set take interrupts, as in the paper"),
        (woken > 0.9, f"of these {100 * woken:.1f} % are pokes: a CPU outside has work for one that idles"),
        (max(intr[quiet.title]) <= 2, "fenced CPUs that do not halt need no pokes: at most two a second with iperf inside"),
        (all(int(cpu) not in inside for s in fenced for cpu in s.targets.values()), "fenced vectors arrive outside"),
        (all(len(set(cards_of(s).values())) == len(cards_of(s)) > 1 for s in (free, *many)),
         "the vectors of four cards arrive on four CPUs, before and behind the fence"),
        (all(sum(column(s, "icsw", s.mpstat)) > 0 for s in (free, many[0])),
         "beside a busy process threads are forced off a CPU, where iperf may share its CPU"),
    ]  # fmt: skip


def values(done: list, inside: range) -> list[Value]:
    """The rows for results.csv."""
    out = []
    for step in done:
        rate, intr, others = PAPER_RATE.get(step.title), PAPER_INTR.get(step.title), outside(step, inside)
        both = sum(rate) / sum(PAPER_RATE["all CPUs"]) if rate else None
        delivered = f"sent {step.out.sent} received {step.out.received}; sent {step.back.sent} received {step.back.received}"
        wall = [("out", step.out, 0), ("in", step.back, 1)]
        out += [
            Value(f"{step.title}: {way}", "wall", "Mbit/s", flow.rate / 1e6, rate[i] if rate else None, note=delivered)
            for way, flow, i in wall
        ]
        out += [
            Value(f"{step.title}: throughput to step 1", "wall", "ratio", total(step) / total(done[0]), both),
            Value(f"{step.title}: intr of a CPU, 0-15", "counters", "1/s", mean(column(step, "intr", inside)),
                  mean(intr[:16]) if intr else None),
            Value(f"{step.title}: intr of a CPU, 16-31", "counters", "1/s", mean(column(step, "intr", others)),
                  mean(intr[16:]) if intr else None),
            Value(f"{step.title}: icsw of all", "counters", "1/s", sum(column(step, "icsw", step.mpstat)),
                  PAPER_ICSW.get(step.title)),
            Value(f"{step.title}: device interrupts, 0-15", "counters", "1/s", device_in(step, inside)),
            Value(f"{step.title}: pokes, 0-15", "counters", "1/s", source_in(step, "RES", inside)),
        ]  # fmt: skip
    return out


def plot(done: list) -> Path:
    """Draw the interrupts of each CPU by source, with a panel for each step; the paper's numbers are dots."""
    from homeroom.experiments import plots

    fig, panels = plots.plt.subplots(len(done), 1, figsize=(7.6, 1.7 * len(done)), sharex=True)
    for axes, step in zip(panels, done, strict=True):
        cpus = sorted(step.mpstat)
        rows = {"device": [sum(step.sources[name].get(cpu, 0) for name in step.devices) for cpu in cpus]}
        rows |= {name: [step.sources.get(name, {}).get(cpu, 0) for cpu in cpus] for name in ("RES", "LOC", "TLB")}
        base = [0.0] * len(cpus)
        for name, row in rows.items():
            axes.bar(cpus, row, bottom=base, color=COLOURS[name], label=WORDS.get(name, name), width=0.8)
            base = [a + b for a, b in zip(base, row, strict=True)]
        if step.title in PAPER_INTR:
            axes.plot(range(32), PAPER_INTR[step.title], ".", color="#222222", ms=4, label="the paper's intr")
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(bottom=0)
        axes.set_title(step.title, fontsize=9, loc="left")
        axes.set_ylabel("1/s")
    panels[0].legend(fontsize=6, ncols=5, loc="upper right")
    panels[-1].set_xlabel("CPU")
    return storage.save(fig, "psrset")


def report(done: list, machine: str, seed: int, inside: range, seconds: int) -> int:
    """Print, record and draw everything.  Returns 0 if all claims hold, otherwise 1."""
    print(summary(done, inside))
    print(f"({machine}; ours: wall time under QEMU, its user network, {seconds} s counted; the paper: gigabit Ethernet.")
    print(" The paper gives no throughput for its third run.)")
    print()
    print(targets(done))
    print()
    for line in answer(done, inside):
        print(line)
    verdicts = judge(done, inside)
    for holds, what in verdicts:
        print(f"{'yes' if holds else 'NO '}  {what}")
    file = storage.record("psrset", values(done, inside), machine, "no scale", seed)
    print(f"rows in {run.shown(file)}, plot {run.shown(plot(done))}")
    return int(not all(holds for holds, _ in verdicts))
