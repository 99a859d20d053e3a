# SPDX-License-Identifier: MIT
"""run.py - one boot of an experiment, and its files.

THEORY      The name of a run's files contains a digest of everything on which the result depends: the definition of the
            run, the parts of the image that it uses (kernel, init, the benchmarks that its command names), the plugin,
            the machine file, and qemu/fireplane.toml.  A command that names no benchmark depends on the whole image.
            So a result can be used again, also on another computer, until one of these changes; then the name is
            another one.
            KEY.REP.log is written in any case, and KEY.REP.json at the end of a run that has succeeded.
INVARIANTS  I1  a run that failed leaves no .json
SEE ALSO    tools/experiments/Snakefile, qemu/launch.py
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from homeroom import fireplane, machine
from homeroom.experiments import metrics
from homeroom.experiments.definition import Run
from homeroom.guest import qemu_version
from homeroom.machine import TOP

OUT = TOP / os.environ.get("EXPERIMENTS_OUT", "build/experiments")
RUNS = OUT / "runs"
ISO = TOP / "build/homeroom.iso"
PLUGIN = TOP / "build/fireplane.so"
FAMILIES = TOP / "qemu/fireplane.toml"
REPORTS = ":!labs/experiment/answer"  # for git: all other files
PEER = (TOP / "build/peer/vmlinux", TOP / "build/peer/initramfs.cpio")


def inputs(run: Run) -> list[Path]:
    """The files that a run needs."""
    files = [*PEER] if run.os == "linux" else [ISO]
    return [*files, machine.find(run.machine), *([PLUGIN, FAMILIES] if run.model else [])]


def overlaid(run: Run) -> list[Path]:
    """The files that a run adds to the root file system."""
    return sorted((TOP / run.overlay).rglob("*")) if run.overlay else []


def depends(run: Run) -> list[Path]:
    """The files on whose contents the result depends: the inputs, with the parts that are used in place of the image."""
    files = inputs(run)
    programs = [TOP / "build/user/bench" / word for word in dict.fromkeys(re.findall(r"[\w-]+", run.command))]
    programs = [path for path in [*programs, *overlaid(run)] if path.is_file()]
    if not programs:
        return files
    files = [path for path in files if path not in (ISO, PEER[-1])]
    if run.os == "linux":
        return [*sorted((TOP / "build/peer/bin").glob("*")), *programs, *files]
    return [TOP / "build/kernel.elf", TOP / "build/user/bin/init", *programs, *files]


@functools.cache
def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def key(run: Run) -> str:
    """The name of a run's files, without repetition and suffix."""
    return run.key(" ".join(digest(path) for path in depends(run)))


def paths(run: Run, repetition: int) -> tuple[Path, Path]:
    """The files for the result and the log of a repetition."""
    name = f"{key(run)}.{repetition}"
    return RUNS / f"{name}.json", RUNS / f"{name}.log"


def options(run: Run, repetition: int = 1) -> list[str]:
    """The arguments for the launcher; each repetition has another seed."""
    args = [run.machine, "--run", run.command, "--seed", str(run.seed + repetition - 1)]
    for name, value in (
        ("--boards", run.boards), ("--mem", run.mem), ("--overlay", run.overlay), ("--system", run.system)
    ):  # fmt: skip
        args += [name, str(value)] if value else []
    if run.model:
        args += ["--model", "fireplane"]
        args += ["--model-set", run.model_set] if run.model_set else []
    if run.os == "linux":
        args += ["--peer", "linux", "--balancing", str(int(run.balancing))]
    return args


def by_hand(run: Run) -> str:
    """The make command that repeats a run."""
    words = [f"make qemu-{run.machine}", f"RUN={shlex.quote(run.command)}"]
    for name, value in (("BOARDS", run.boards), ("MEM", run.mem), ("OVERLAY", run.overlay), ("SYSTEM", run.system)):
        words += [f"{name}={shlex.quote(str(value))}"] if value else []
    if run.model:
        words.append("MODEL=fireplane")
        words += [f"MODEL_SET={shlex.quote(run.model_set)}"] if run.model_set else []
    if run.os == "linux":
        words.append(f"PEER=linux BALANCING={int(run.balancing)}")
    return " ".join([*words, f"SEED={run.seed}"])


def describe(run: Run) -> str:
    """A short description of a run."""
    words = [f"{run.machine}{f' BOARDS={run.boards}' if run.boards else ''}: {run.command}"]
    words += [text for text in (run.system, run.model_set) if text]
    words += [f"Linux, balancing {'on' if run.balancing else 'off'}"] if run.os == "linux" else []
    return " | ".join(words)


def revision() -> str:
    """The commit that is checked out, with + if files differ from it, other than a student's report."""
    git = ["git", "-C", str(TOP)]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        rev = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "-uno", "--", ".", REPORTS], capture_output=True, text=True, check=True
        )
        return rev.stdout.strip() + ("+" if changed.stdout.strip() else "")
    return "unknown"


def _page(path: Path) -> dict | None:
    """The values of the model's page that the report needs; removes the page.  None if there is no page."""
    if not path.exists():
        return None
    page = fireplane.read(path)
    path.unlink()
    return {
        "params": page.params(),
        "ecache_bytes": page.header.ecache_bytes,
        "accesses": page.header.accesses,
        "traffic": page.traffic(),
    }


def execute(run: Run, repetition: int, progress: Callable[[], str] = str) -> int:
    """Do a run and write its files.  Returns 0, or 1 if it failed (I1).  `progress`: a text such as "3 of 20"."""
    result, log = paths(run, repetition)
    RUNS.mkdir(parents=True, exist_ok=True)
    page = log.with_suffix(f".{os.getpid()}.page")
    command = [sys.executable, str(TOP / "qemu/launch.py"), *options(run, repetition), "--timeout", str(run.timeout)]
    command += ["--model-page", str(page)] if run.model else []
    start = time.monotonic()
    try:
        with open(log, "wb") as file:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=TOP).returncode
    except KeyboardInterrupt:
        page.unlink(missing_ok=True)
        raise
    seconds = time.monotonic() - start
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = log.read_text(errors="replace")
    reason = failure(log) if status != 0 else refused(text)
    measurements = metrics.parse(text)
    if reason is None and not measurements:
        reason = "it printed no result: line"
    try:
        model = _page(page)
    except fireplane.PageError as error:
        model, reason = None, reason or str(error)
    finally:
        page.unlink(missing_ok=True)
    where = f"{describe(run)}, run {repetition}"
    if reason:
        print(f"experiments: {where}: FAILED: {reason}; its log is {shown(log)}", file=sys.stderr, flush=True)
        return 1
    out = {
        "run": asdict(run),
        "repetition": repetition,
        "measurements": [asdict(m) for m in measurements],
        "page": model,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "rev": revision(),
        "qemu": qemu_version(),
        "log": shown(log),
    }
    part = result.with_suffix(f".{os.getpid()}.part")
    with open(part, "w") as file:
        file.write(json.dumps(out, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.rename(result)
    print(f"experiments: {progress():>10}  {where}: {seconds:.0f} s", flush=True)
    return 0


def shown(path: Path) -> str:
    """A file's name for messages: relative to the top folder, if it is below it."""
    return str(path.relative_to(TOP) if path.is_relative_to(TOP) else path)


def failure(log: Path) -> str | None:
    """The reason why a run has no result, from its log; None if it was not started."""
    if not log.exists():
        return None
    said = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    said = [line for line in said if not line.startswith("homeroom: to repeat it")]
    return said[-1].strip() if said else "its log is empty"


def refused(text: str) -> str | None:
    """The kernel's first warning about a line of /etc/system that it ignored; None if there is none."""
    found = re.search(r"^WARNING: (.* on line \d+ of etc/system.*?)\r?$", text, re.M)
    return found[1] if found else None


def memory_mib(run: Run) -> int:
    """The memory that a run needs on the host, for Snakemake."""
    return machine.load(run.machine, run.boards, run.mem).memory_mib + 600
