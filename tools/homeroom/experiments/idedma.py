# SPDX-License-Identifier: MIT
"""idedma.py - compare PIO and DMA of an IDE disk: the cost for the CPU, and the time.

THEORY      With PIO, the CPU itself copies each word between disk and memory; with DMA the controller does.
            iocost (user/bench/iocost.c) reads and writes the disk, sequentially and at random, while another process
            counts on the same CPU.  The CPU time that this process loses is the cost of the transfers.  With one CPU and
            guest time counted in instructions, the cost is exact.  A rep string instruction counts once for each word.
            Times are measured in another boot without counting instructions, alternating between both modes, and given
            as a ratio.  QEMU's disk has no speed of its own, so the ratio compares what the two modes cost the host.
            It says nothing about a real disk.
            The paper (AIPS on a Celeron) gives one number for each mode: AIPSmark 9.1 with DMA, 5.7 without.
USAGE       make experiment-idedma
SEE ALSO    drivers/ide.c, docs/disks.md
"""

import re
import statistics
import sys
from pathlib import Path

from homeroom.experiments import run, storage
from homeroom.experiments.storage import Value

MACHINE, SEED, MIB, PAGES, TURNS = "sf280r", 4, 8, 1000, 5
WORKS = {"seqread": "sequential read", "seqwrite": "sequential write", "randread": "random read of pages"}
MODES = {"PIO": 0, "DMA": 1}
PAPER = {"PIO": 5.7, "DMA": 9.1}  # AIPSmark


def set_mode(guest: storage.Machine, mode: str) -> None:
    guest.check(f"echo ide_dma/W {MODES[mode]} | mdb -kw")


def costs(image: Path) -> dict[tuple[str, str], dict[str, float]]:
    """(mode, work) -> instructions per MiB; for sequential reads also interrupts per MiB."""
    out = {}
    system = storage.system(storage.PLAIN)
    with storage.Machine(MACHINE, seed=SEED, icount=True, disks=[f"{image},bus=ide"], system=system) as guest:
        for mode in MODES:
            set_mode(guest, mode)
            text = guest.check(f"iocost -m {MIB} -n {PAGES} /dev/hda", 900)
            for work, size, cpu in re.findall(r"work=(\S+) bytes=(\d+) cpu_ns=(\d+)", text):
                out[mode, work] = {"instructions": float(cpu) / (int(size) / 2**20)}
        for mode in MODES:
            set_mode(guest, mode)
            before = interrupts(guest)
            guest.check(f"blockdev --flushbufs /dev/hda; dd if=/dev/hda of=/dev/null bs=64k count={MIB * 16}")
            out[mode, "seqread"]["interrupts"] = (interrupts(guest) - before) / MIB
    return out


def interrupts(guest: storage.Machine) -> int:
    """The number of interrupts of the IDE controller so far."""
    return int(re.search(r"^ *14: +(\d+)", guest.check("cat /proc/interrupts"), re.M)[1])


def times(image: Path) -> dict[str, list[float]]:
    """Work -> the ratio of the time with PIO to that with DMA, for each of TURNS measurements."""
    ratios: dict[str, list[float]] = {work: [] for work in WORKS}
    system = storage.system(storage.PLAIN)
    with storage.Machine(MACHINE, seed=SEED, disks=[f"{image},bus=ide"], system=system) as guest:
        for _ in range(TURNS):
            took: dict[tuple[str, str], float] = {}
            for mode in MODES:
                set_mode(guest, mode)
                text = guest.check(f"iocost -t -m {MIB} -n {PAGES} /dev/hda")
                for work, elapsed in re.findall(r"work=(\S+) .*elapsed_ns=(\d+)", text):
                    took[mode, work] = float(elapsed)
            for work in WORKS:
                ratios[work].append(took["PIO", work] / took["DMA", work])
    return ratios


def plot(cost: dict) -> Path:
    fig, axes = storage.figure("idedma", height=2.6)
    for shift, mode, colour in ((0.2, "PIO", "#8fb8de"), (-0.2, "DMA", "#1f5f99")):
        values = [cost[mode, work]["instructions"] / 1e6 for work in WORKS]
        axes.barh([i + shift for i in range(len(WORKS))], values, 0.38, color=colour, label=mode)
    axes.set_yticks(range(len(WORKS)), list(WORKS.values()))
    axes.set_xlabel("million instructions for each MiB")
    axes.legend()
    return storage.save(fig, "idedma")


def experiment(folder: Path) -> int:
    image = folder / "ide.img"
    image.write_bytes(bytes(2 * MIB << 20))
    cost, ratios = costs(image), times(image)
    values, rows = [], []
    for work, title in WORKS.items():
        pio, dma = (cost[mode, work]["instructions"] for mode in MODES)
        ratio = statistics.median(ratios[work])
        values += [Value(f"{title}, {m}", "instructions", "per MiB", cost[m, work]["instructions"]) for m in MODES]
        values.append(
            Value(f"{title}, time with PIO / with DMA", "wall", "ratio", ratio,
                  spread=max(ratios[work]) - min(ratios[work]), runs=TURNS)
        )  # fmt: skip
        rows.append([title, f"{pio:,.0f}", f"{dma:,.0f}", f"{pio / dma:.2f}", f"{ratio:.2f}"])
    for mode in MODES:
        values.append(Value(f"interrupts, {mode}", "counters", "per MiB", cost[mode, "seqread"]["interrupts"]))
    head = ["", "PIO, instr/MiB", "DMA, instr/MiB", "PIO/DMA", "time PIO/DMA (wall)"]
    print(storage.table(f"IDE: PIO and DMA ({MACHINE}, one CPU, {MIB} MiB; {PAGES} pages)", head, rows))
    counts = ", ".join(f"{mode} {cost[mode, 'seqread']['interrupts']:.1f}" for mode in MODES)
    print(f"interrupts for each MiB read in order: {counts}")
    print(f"the paper, AIPSmark of a whole program: PIO {PAPER['PIO']}, DMA {PAPER['DMA']}")
    rows_file = storage.record("idedma", values, MACHINE, "no scale", SEED)
    print(f"rows in {run.shown(rows_file)}, plot {run.shown(plot(cost))}")
    return int(any(cost["PIO", w]["instructions"] <= cost["DMA", w]["instructions"] for w in WORKS))


if __name__ == "__main__":
    sys.exit(storage.program("idedma", experiment))
