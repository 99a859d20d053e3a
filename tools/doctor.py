#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""doctor.py - what is installed, what is missing, and the command that installs it (`make doctor`)."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]

# tool, argument that prints its version, least version, who needs it (a group of tools/deps.sh)
TOOLS = [
    (os.environ.get("CC", "gcc"), "--version", "12", "run"),
    ("ld", "--version", "2.35", "run"),
    ("musl-gcc", "--version", None, "run"),
    ("busybox", "--help", None, "run"),
    ("qemu-system-x86_64", "--version", "7.2", "run"),
    ("grub-mkrescue", "--version", "2.04", "run"),
    ("xorriso", "--version", None, "run"),
    ("mformat", "--version", None, "run"),
    ("iperf3", "--version", None, "dynamic"),
    ("numactl", "--version", None, "dynamic"),
    ("lstopo-no-graphics", "--version", None, "dynamic"),
    ("gdb", "--version", "12", "gdb"),
    ("shellcheck", "--version", None, "lint"),
    ("chromium", "--version", None, "browser"),
]
EXPERIMENTS = (".venv-experiments", "requirements-experiments.txt", "experiments")


def version(tool: str, argument: str) -> str:
    done = subprocess.run([tool, argument], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    match = re.search(r"(?<![\w.])\d+\.\d+(\.\d+)*", done.stdout + done.stderr)
    return match[0] if match else "?"


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(".") if part.isdigit()]


def main() -> int:
    lacking: set[str] = set()
    print(f"{'python3':20} {sys.version.split()[0]:12} {'ok' if sys.version_info >= (3, 11) else 'too old: 3.11'}")
    for tool, argument, least, group in TOOLS:
        if shutil.which(tool) is None:
            print(f"{tool:20} {'-':12} missing (group {group})")
            lacking.add(group)
            continue
        found = version(tool, argument)
        old = least is not None and numbers(found) < numbers(least)
        print(f"{tool:20} {found:12} {'too old: needs ' + least if old else 'ok'}")
    modules = Path("/usr/lib/grub/i386-pc/multiboot2.mod").exists()
    print(f"{'GRUB for BIOS':20} {'':12} {'ok' if modules else 'missing (grub-pc-bin)'}")
    if not modules:
        lacking.add("run")
    if shutil.which("qemu-system-x86_64"):
        takes = "-plugin" in subprocess.run(["qemu-system-x86_64", "-help"], capture_output=True, text=True).stdout
        print(f"{'plugins of QEMU':20} {'':12} {'ok' if takes else 'not in this QEMU: no MODEL=fireplane'}")
    for folder, needs, maker in ((".venv", "requirements.txt", "test"), EXPERIMENTS):
        made = TOP / folder / "requirements.txt"
        ready = made.exists() and made.read_bytes() == (TOP / needs).read_bytes()
        print(f"{folder:20} {'':12} {'ok' if ready else f'made by `make {maker}`'}")
    memory = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    print(f"{'free memory':20} {int(memory[1]) // 1024 if memory else 0} MiB (sf15k takes 4864)")
    print(f"{'CPUs':20} {os.cpu_count()}")
    # QEMU's own translator is used everywhere: counts must not depend on the host's processor.
    print(f"{'KVM':20} {'there' if Path('/dev/kvm').exists() else 'not there'}, not used")
    if lacking:
        print(f"\nto install what is missing: tools/deps.sh {' '.join(sorted(lacking))}")
    return int("run" in lacking)


if __name__ == "__main__":
    sys.exit(main())
