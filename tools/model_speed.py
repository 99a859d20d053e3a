#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""model_speed.py - the cost of the interconnect model, in CPU time of the QEMU process (`make model-speed`).

THEORY      The model runs inside QEMU and slows the guest down.  Two costs are measured.
            Boots: with the model attached but not armed; without it; and without it, but with a clock that counts
            instructions, because the launcher uses this clock together with the model.  The medians are compared.
            Accesses: in one boot the program `sweep` reads or copies memory, alternating between armed ("watched") and
            disarmed.  It prints "begin" and "end"; QEMU's CPU time is read at these lines.  The least of several runs
            counts, because other work on the host only adds time.
SEE ALSO    user/bench/sweep.c, docs/fireplane.md
"""

import argparse
import re
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from homeroom import guest, machine

# Name, options of sweep, number of rounds disarmed, number of rounds armed.
PATTERNS = [
    ("reads that hit level 1 (8 KB each)", "-n 1024", 500000, 120000),
    ("copies that hit level 1 (2 x 8 KB each)", "-c -n 1024", 250000, 60000),
    ("reads that hit the external cache (256 KB each)", "-n 32768", 16000, 4000),
    ("streaming reads that miss (4 MB each)", "-n 524288", 1000, 150),
    ("streaming copies that miss (2 x 4 MB each)", "-c -n 524288", 500, 60),
]


class Meter:
    """Records QEMU's CPU time at each line "begin" and "end" of `sweep`.

    `marks`: (CPU seconds, number of accesses of each thread), with 0 accesses for "begin".
    """

    def __init__(self, run: guest.Guest) -> None:
        self.run, self.seen, self.marks = run, b"", []
        run.on_console = self.console

    def cpu(self) -> float:
        return sum(int(f.read_text().split()[0]) for f in Path(f"/proc/{self.run.pid}/task").glob("*/schedstat")) / 1e9

    def console(self, data: bytes) -> None:
        self.seen += data
        *lines, self.seen = self.seen.split(b"\n")
        for line in lines:
            if match := re.match(rb"(begin|end (\d+))\r?$", line):
                self.marks.append((self.cpu(), int(match[2] or 0)))


def boot(name: str, **how: object) -> float:
    """QEMU's CPU seconds for a boot with more options of guest.Options; ends the program if the run failed."""
    options = guest.Options(run="true", seed=1, **how)
    run = guest.Guest(machine.load(name), options).start()
    outcome = run.wait(300)
    if outcome.status != 0:
        sys.exit(f"model_speed: {outcome.message(True)}")
    return outcome.cpu_seconds


def sweeps(name: str, threads: int, repeat: int, scale: float) -> list[tuple[str, float, float]]:
    """For each pattern (name, CPU seconds per access disarmed, the same armed); ends the program if the run failed."""
    commands = []
    for _, options, plain, watched in PATTERNS:
        for _ in range(repeat):
            commands.append(f"sweep -t {threads} {options} -i {max(1, int(plain * scale / threads))}")
            commands.append(f"sweep -w -t {threads} {options} -i {max(1, int(watched * scale / threads))}")
    options = guest.Options(run="; ".join(commands), seed=1, model="fireplane", model_set="ecache_kib=1024")
    run = guest.Guest(machine.load(name), options)
    meter = Meter(run)
    outcome = run.start().wait(1800)
    if outcome.status != 0 or len(meter.marks) != 2 * len(commands):
        sys.exit(f"model_speed: {outcome.message(True) or 'the runs are incomplete'}\n{run.tail(10)}")
    costs = [
        (end[0] - begin[0]) / (end[1] * threads)
        for begin, end in zip(meter.marks[::2], meter.marks[1::2], strict=True)
    ]
    if min(costs) <= 0:
        sys.exit("model_speed: too short to be measured: take a larger --scale")
    rows = []
    for i, (what, *_) in enumerate(PATTERNS):
        mine = costs[2 * repeat * i : 2 * repeat * (i + 1)]
        rows.append((what, min(mine[::2]), min(mine[1::2])))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="the cost of the interconnect model, in CPU time of QEMU")
    parser.add_argument("machine", nargs="?", default="sf15k")
    parser.add_argument("--threads", type=int, default=0, help="threads of sweep; by default one for each CPU")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of each pattern (3)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for the length of a measurement; 1: about a second")
    args = parser.parse_args()
    try:
        threads = args.threads or machine.load(args.machine).cpus
        print(f"{time.strftime('%Y-%m-%d')}  {args.machine}, {threads} threads; CPU time of QEMU, least of {args.repeat}\n")
        ways = ({}, {"qemu_args": guest.ICOUNT}, {"model": "fireplane"})
        times = 5 * args.repeat if args.repeat > 1 else 1
        boots = [[boot(args.machine, **how) for how in ways] for _ in range(times)]
        plain, counted, attached = (statistics.median(column) for column in zip(*boots, strict=True))
        print(f"{'boot':50} {plain:8.2f} s {attached:8.2f} s   x {attached / plain:.2f}")
        both = "boot, both counting instructions"
        print(f"{both:50} {counted:8.2f} s {attached:8.2f} s   x {attached / counted:.2f}")
        print(f"\n{'':50} {'M accesses/s':>22}")
        print(f"{'':50} {'disarmed':>10} {'armed':>10}   slow-down")
        for what, free, armed in sweeps(args.machine, threads, args.repeat, args.scale):
            print(f"{what:50} {1e-6 / free:10.0f} {1e-6 / armed:10.0f}   x {armed / free:.1f}")
    except machine.MachineError as error:
        sys.exit(f"model_speed: {error}")


if __name__ == "__main__":
    main()
