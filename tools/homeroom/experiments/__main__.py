# SPDX-License-Identifier: MIT
"""The command behind `make experiments`.

    python -m homeroom.experiments sweep [--name NAME]... [--quick] [--peer linux]     do the missing runs, then report
    python -m homeroom.experiments report ...                                          report, from the runs so far
    python -m homeroom.experiments run KEY REPETITION ...                              one boot (a job of the Snakefile)
    python -m homeroom.experiments list                                                the names of the experiments

Exit status of sweep: 0 if every run succeeded, 1 if one failed (the report shows which), 2 for a wrong option or file.
"""

import argparse
import contextlib
import fcntl
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from homeroom.experiments import run, settings
from homeroom.experiments.definition import DefinitionError
from homeroom.experiments.settings import Settings
from homeroom.machine import TOP, MachineError


def host_memory(least: int) -> list[str]:
    """Snakemake's limit on the memory of all runs at a time: the host's free memory, but not less than `least` MiB."""
    found = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    return ["--resources", f"mem_mb={max(least, int(found[1]) // 1024 if found else 0)}"]


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Wait until no other sweep runs; the next sweep then finds the results of this one."""
    run.OUT.mkdir(parents=True, exist_ok=True)
    with open(run.OUT / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("experiments: another sweep is running: waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def sweep(asked: Settings, snakemake: list[str]) -> int:
    """Let Snakemake do the missing runs, then make the report, also if some failed.  Returns 0, or 1 if one failed."""
    for one, _ in asked.runs():
        for path in run.inputs(one):
            if not path.is_file():
                raise MachineError(f"{run.shown(path)} is missing: make iso fireplane{' peer' if one.os == 'linux' else ''}")
    tool = Path(sys.executable).with_name("snakemake")
    command = [str(tool), "-s", "tools/experiments/Snakefile", "--keep-going", "--rerun-triggers", "mtime"]
    command += ["--nolock", "--rerun-incomplete", "--quiet", "all", *snakemake, *asked.config()]
    if not any("--profile" in word for word in snakemake):
        command += host_memory(max(run.memory_mib(one) for one, _ in asked.runs()))
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    with alone():
        status = subprocess.run(command, cwd=TOP, env=environment).returncode
        return int(report(asked) != 0 or status != 0)


def one_run(asked: Settings, name: str, repetition: int) -> int:
    """Do the run with this key.  Returns the exit status."""
    wanted = [(one, i + 1) for one, repeats in asked.runs() for i in range(repeats)]
    for one, i in wanted:
        if run.key(one) == name and i == repetition:
            return run.execute(one, i, lambda: f"{sum(run.paths(*w)[0].exists() for w in wanted)} of {len(wanted)}")
    print(f"experiments: {name}: no such run (an input changed since the sweep began)", file=sys.stderr)
    return 2


def report(asked: Settings) -> int:
    from homeroom.experiments import report as reporter  # matplotlib takes a second to load

    return reporter.make(asked)


def main() -> int:
    parser = argparse.ArgumentParser(prog="experiments")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("sweep", "report", "run", "list"):
        command = commands.add_parser(name)
        if name == "run":
            command.add_argument("key")
            command.add_argument("repetition", type=int)
        settings.add_arguments(command)
        if name == "sweep":
            command.add_argument("--snakemake", default="-j1", help="arguments for Snakemake")
    args = parser.parse_args()
    asked = settings.from_arguments(args)
    try:
        if args.command == "list":
            for e in asked.experiments():
                print(f"{e.name:24} {', '.join(e.tables):10} {e.machine:8} {e.run}")
            return 0
        if args.command == "sweep":
            return sweep(asked, shlex.split(args.snakemake))
        return one_run(asked, args.key, args.repetition) if args.command == "run" else report(asked)
    except (DefinitionError, MachineError) as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("experiments: stopped; what has been run is kept", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
