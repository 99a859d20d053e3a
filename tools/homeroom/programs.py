# SPDX-License-Identifier: MIT
"""programs.py - run Debian's programs on Homeroom, and check what they do: docs/results/programs.md.

    make programs                          each program that has not passed with this kernel and these packages
    make programs PROGRAMS='git redis'     these, also if they have passed

THEORY   programs.toml has a row for each program: packages, a script, and what its output must have.  For each row a root
         disk is made (debian.py), a machine boots from it and runs the script, and the disk is removed.  The result is kept
         in build/programs with a digest of everything on which it depends: the row, the packages, the kernel, Homeroom's
         commands.  The page has a line for each row; a result of another kernel does not count.
         All programs together may take an hour.  A program for which there is no time left is run by the next make.
SEE ALSO tests/test_debian.py (the rows with test = true, on the test kernel), docs/userland.md
"""

import datetime
import hashlib
import json
import re
import sys
import time
import tomllib
import urllib.request
from dataclasses import asdict, dataclass, field
from pathlib import Path

from homeroom import debian, guest, machine
from homeroom.cpio import Archive
from homeroom.experiments.run import digest, revision
from homeroom.machine import TOP, MachineError

TABLE = TOP / "tools/homeroom/programs.toml"
PAGE = TOP / "docs/results/programs.md"
OUT = TOP / "build/programs"
MACHINE, MEMORY, DISK_MIB = "sf3800", "1G", 1536
LIMIT = 3600  # seconds of the host for all programs
HOST_NEXT = "the host is next"  # the script prints this line when its server waits for the host
COMMAND = "mkdir /work && cd /work && HOME=/root LC_ALL=C exec dash -eu /root/script"
INTRODUCTION = """# Debian's programs

`make programs` has written this page. Each program of this table ran unmodified, from a root disk with Debian's packages
(`tools/homeroom/programs.py`), on a {title} with {memory} for each board. The scripts and what their output must have are in
`tools/homeroom/programs.toml`; [userland](../userland.md#debians-programs) has more about them. The time is processor time of
QEMU {qemu} for the whole run, boot included.

| program | packages | result | time | what was checked |
|---|---|---|--:|---|
"""


@dataclass(frozen=True)
class Program:
    name: str
    packages: list[str]
    checks: str
    script: str
    expect: list[str]
    files: list[str] = field(default_factory=list)
    requests: int = 0
    seconds: int = 150
    test: bool = False


def load() -> list[Program]:
    return [Program(**row) for row in tomllib.loads(TABLE.read_text())["program"]]


def key(program: Program, packages: list[Path], iso: Path) -> str:
    """The digest of everything on which the result of a program depends."""
    files = [iso.with_name("kernel.elf"), *sorted((TOP / "build/user/bin").iterdir()), machine.find(MACHINE)]
    files += [TOP / name for name in program.files]
    words = [json.dumps(asdict(program)), *(path.name for path in packages), *map(digest, files)]
    return hashlib.sha256(" ".join(words).encode()).hexdigest()


def ask_server(port: int, count: int) -> str:
    """Make HTTP requests to the guest.  Returns the reason why one failed, or ""."""
    sizes = set()
    try:
        for _ in range(count):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/data", timeout=60) as answer:
                sizes.add(len(answer.read()))
    except OSError as error:
        return f"a request of the host failed: {error}"
    return "" if len(sizes) == 1 else f"the host got answers of {sorted(sizes)} bytes"


def fault(program: Program, outcome: guest.Outcome, text: str) -> str:
    """What is wrong with a run, or ""."""
    if message := outcome.message(True):
        return message
    if outcome.status != 0:
        lines = [line for line in text.splitlines() if line.strip()]
        return f"status {outcome.status} after: {lines[-1] if lines else ''}"
    missing = [words for words in program.expect if not re.search(words, text, re.M)]
    return f"the output does not have /{missing[0]}/" if missing else ""


def run(program: Program, packages: list[Path], iso: Path, speed: float = 1.0) -> tuple[str, float, str]:
    """Run a program: what is wrong, or ""; QEMU's processor time in s; and the console's text.  MachineError, SystemExit."""
    files = Archive()
    files.file("root/script", program.script.encode(), 0o755)
    for name in program.files:
        files.file(f"root/{Path(name).name}", (TOP / name).read_bytes())
    OUT.mkdir(parents=True, exist_ok=True)
    disk = OUT / f"{program.name}.img"
    debian.write_disk(str(disk), DISK_MIB, packages)
    options = guest.Options(
        run=COMMAND, system="rootfs:ext3; rootdev:/dev/vda", disks=[f"{disk},unsafe"], overlay=files.pack(), iso=iso,
        watchdog=20, forward=["80"] if program.requests else [], piped="nothing", speed=speed,
    )  # fmt: skip
    one = guest.Guest(machine.load(MACHINE, memory=MEMORY, cards=1), options)
    wrong = ""
    try:
        one.start()
        if program.requests and one.wait_until(lambda: HOST_NEXT in one.text(), program.seconds):
            wrong = ask_server(one.forwards[0].host, program.requests)
        outcome = one.wait(program.seconds)
    finally:
        one.close()
        disk.unlink()
    text = one.text()
    return wrong or fault(program, outcome, text), outcome.cpu_seconds, text


def versions(program: Program, packages: list[Path]) -> str:
    """Names and versions of the row's packages."""
    found = (path.name.replace("%3a", ":").split("_")[:2] for path in packages)
    wanted = [name.removeprefix("?name(^").removesuffix("$)") for name in program.packages]
    return ", ".join(f"{name} {version}" for name, version in found if any(re.fullmatch(one, name) for one in wanted))


def row(program: Program, result: dict | None) -> str:
    if result is None:
        return f"| {program.name} | {', '.join(program.packages)} | not run with this kernel | | {program.checks} |\n"
    said = f"failed: {result['wrong']}" if result["wrong"] else "passed"
    shown = said.replace("|", "\\|")
    return f"| {program.name} | {result['versions']} | {shown} | {result['cpu']:.0f} s | {program.checks} |\n"


def main() -> None:
    named = sys.argv[1:]
    programs = load()
    if unknown := set(named) - {program.name for program in programs}:
        sys.exit(f"programs: no program {sorted(unknown)[0]}; there are: {', '.join(p.name for p in programs)}")
    begun, bad, late = time.monotonic(), [], []
    results = {}
    for program in programs:
        packages = debian.fetch(program.packages)
        result, log = OUT / f"{program.name}.json", OUT / f"{program.name}.log"
        now = key(program, packages, guest.ISO)
        kept = json.loads(result.read_text()) if result.is_file() else None
        kept = kept if kept and kept["key"] == now else None
        if program.name in named or (not named and (kept is None or kept["wrong"])):
            if time.monotonic() - begun + program.seconds > LIMIT:
                late.append(program.name)
            else:
                wrong, cpu, text = run(program, packages, guest.ISO)
                log.write_text(text)
                kept = {"key": now, "wrong": wrong, "cpu": cpu, "versions": versions(program, packages), "kernel": revision(),
                        "date": datetime.date.today().isoformat()}  # fmt: skip
                result.write_text(json.dumps(kept, indent=1) + "\n")
                print(f"{program.name}: {wrong or 'passed'} ({cpu:.0f} s; {log.relative_to(TOP)})", flush=True)
                bad += [program.name] if wrong else []
        results[program.name] = kept
    intro = INTRODUCTION.format(title=machine.load(MACHINE).title, memory=MEMORY, qemu=guest.qemu_version())
    kernels = sorted({f"{kept['kernel']} ({kept['date']})" for kept in results.values() if kept})
    end = f"\nKernel: commit {', '.join(kernels)}.\n" if kernels else ""
    PAGE.write_text(intro + "".join(row(program, results[program.name]) for program in programs) + end)
    if late:
        print(f"no time left for {', '.join(late)}: type make programs again")
    sys.exit(1 if bad or late else 0)


if __name__ == "__main__":
    try:
        main()
    except MachineError as error:
        sys.exit(f"programs: {error}")
