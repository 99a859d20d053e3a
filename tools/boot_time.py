#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""boot_time.py - the cost of booting Homeroom, compared with that of the firmware and GRUB alone.

For each machine, two images boot from the CD with the same arguments: Homeroom with RUN=true, and a multiboot2 image
that exits at once.  The figures are QEMU's CPU time (user + system seconds) from its start to its end: medians of 5
runs of each image, alternating.  Other work on the host changes CPU time less than elapsed time.
Exit status: 1 if a ratio exceeds its limit, or a run failed; otherwise 0.
"""

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from homeroom import guest, machine
from homeroom.machine import TOP

LIMITS = {"sf280r": 1.9, "sf15k": 2.3}  # greatest ratio to the time of the image that exits at once


def cpu_seconds(name: str, iso: Path, run: str | None) -> float:
    """QEMU's CPU time for one boot of a machine; the program ends with a message if the run failed."""
    options = guest.Options(run=run, iso=iso, cd=True, seed=1)
    outcome = guest.Guest(machine.load(name), options).start().wait(300)
    wrong = outcome.kind != "clean" or (run is not None and outcome.status != 0)
    if wrong:
        sys.exit(f"boot_time: {name}: {outcome.message(run is not None) or outcome}")
    return outcome.cpu_seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", nargs="*", default=list(LIMITS))
    parser.add_argument("-n", type=int, default=5, help="runs of each image (5)")
    parser.add_argument("--iso", type=Path, default=guest.ISO)
    args = parser.parse_args()
    slow = False
    print(f"{'machine':14} {'exit at once':>12} {'RUN=true':>10} {'ratio':>6} {'limit':>6}")
    for name in args.machine:
        pairs = [
            (cpu_seconds(name, TOP / "build/boot/exit_at_once.iso", None), cpu_seconds(name, args.iso, "true"))
            for _ in range(args.n)
        ]
        floor, full = (statistics.median(column) for column in zip(*pairs, strict=True))
        limit = LIMITS.get(name)
        slow |= limit is not None and full > limit * floor
        print(f"{name:14} {floor:10.2f} s {full:8.2f} s {full / floor:6.2f} {limit or '-':>6}")
    return int(slow)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except machine.MachineError as error:
        sys.exit(f"boot_time: {error}")
