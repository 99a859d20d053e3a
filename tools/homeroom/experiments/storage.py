# SPDX-License-Identifier: MIT
"""storage.py - the common code of experiments that are separate programs.

These experiments are not rows of paper.toml, because their result is not one number of a benchmark, but a table with a setting
in each row, or a curve.  Here are their options, a machine that executes commands, disks with their logs, tables, rows for
results.csv, and plots.
"""

import argparse
import contextlib
import csv
import html
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from homeroom import guest, machine
from homeroom.experiments import run
from homeroom.experiments.results import COLUMNS, CSV, DISKS, HEAT, PLATEAUS, SETS, read_csv
from homeroom.machine import MachineError


@dataclass
class Value:
    """A row of results.csv, without the columns that are the same for the whole experiment."""

    row: str
    kind: str  # counters, instructions, modelled, wall
    unit: str
    ours: float | None
    paper: float | None = None
    spread: float | None = None
    runs: int = 1
    note: str = ""


class Machine:
    """A running machine, as in the tests: the guest's agent executes commands and answers over the verdict port.

    MachineError if it does not boot.
    """

    def __init__(self, name: str, *, boards: int | None = None, memory: str | None = None, **options) -> None:
        speed = float(os.environ.get("HR_SPEED", "4"))
        self.guest = guest.Guest(
            machine.load(name, boards, memory), guest.Options(agent="yes", speed=speed, **options)
        )
        self.number = 0
        self.guest.start()
        if not self.guest.wait_until(lambda: "ready" in self.guest.lines, 120):
            self.guest.kill("timeout")
            raise MachineError(f"{name} did not boot: {self.guest.wait().message(False)}")

    def run(self, command: str, timeout: float = 600, watch: Callable[[str], None] | None = None) -> tuple[int, str]:
        """Status and output of a command.  MachineError if it does not end in time.  `watch` is called with each line."""
        from homeroom.verdict import escape, unescape

        self.number += 1
        first, mine, done = len(self.guest.lines), f" {self.number} ", f"done {self.number} "
        self.guest.on_line = (lambda line: watch(line.decode(errors="replace"))) if watch else None
        self.guest.send_verdict(b"run %d 0 %s\n" % (self.number, escape(command.encode())))

        def answer() -> str | None:
            return next((line for line in self.guest.lines[first:] if line.startswith(done)), None)

        last = self.guest.wait_until(answer, timeout)
        lines = [line for line in self.guest.lines[first:] if line.startswith("out" + mine)]
        text = b"".join(unescape(line.split(" ", 2)[2].encode()) for line in lines).decode(errors="replace")
        if last is None:
            raise MachineError(f"'{command}' did not end; it printed:\n{text}\n{self.guest.tail(20)}")
        return int(last.split()[2]), text

    def check(self, command: str, timeout: float = 600, watch: Callable[[str], None] | None = None) -> str:
        """Like run(), but MachineError if the status is not 0; returns the output."""
        status, text = self.run(command, timeout, watch)
        if status != 0:
            raise MachineError(f"'{command}' ended with status {status}:\n{text}")
        return text

    def kstats(self, prefix: str) -> dict[str, int]:
        """The statistics of one kstat ("sd:0:vda"), by name."""
        rows = [line.split("\t") for line in self.check("cat /dev/kstat").splitlines() if line.startswith(prefix + ":")]
        return {name.rsplit(":", 1)[1]: int(value) for name, value in rows}

    def close(self) -> None:
        self.guest.close()

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def wrong(prog: str, text: str) -> NoReturn:
    """End the program with status 2, because a variable is wrong."""
    print(f"{prog}: {text}", file=sys.stderr)
    sys.exit(2)


def number(prog: str, name: str, text: str, kind: type = float) -> float:
    """A number of the given type, larger than 0; otherwise wrong()."""
    with contextlib.suppress(ValueError):
        if 0 < (value := kind(text)) <= 1e9:
            return value
    wrong(prog, f"{name}={text}: write a {'whole ' if kind is int else ''}number over 0")


def arguments(prog: str, **defaults) -> argparse.Namespace:
    """Parse the command line: an option --NAME for each default, with its type.

    Without the option, the environment variable NAME counts.  wrong() for a wrong value, also of SET.
    """
    parser = argparse.ArgumentParser(prog=prog)
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", default=os.environ.get(name.upper()) or str(default))
    args = parser.parse_args()
    for word in os.environ.get("SET", "").split():
        if not re.fullmatch(r"[\w:]+=\w+", word):
            wrong(prog, f"SET: '{word}': write name=value, as in /etc/system")
    for name, default in defaults.items():
        if not isinstance(default, str):
            setattr(args, name, number(prog, name.upper(), getattr(args, name), type(default)))
    return args


def chosen(prog: str, text: str, names: Iterable[str], fits: Callable[[str, str], bool] = str.__eq__) -> list[str]:
    """The names that a word of ROWS= matches; wrong() for a word that matches none."""
    words, names = text.split(), list(names)
    for word in words:
        if not any(fits(name, word) for name in names):
            wrong(prog, f"ROWS: no row '{word}'; there are: {', '.join(names)}")
    return [name for name in names if any(fits(name, word) for word in words)]


def program(name: str, body: Callable[[Path], int]) -> int:
    """Call `body` with a temporary folder.  Returns its exit status, or 2 after a MachineError, which is printed."""
    try:
        with tempfile.TemporaryDirectory(prefix="homeroom.") as folder:
            return body(Path(folder))
    except MachineError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def result_lines(text: str, bench: str) -> list[dict[str, str]]:
    """The key=value pairs of each line that begins with "result: bench=NAME"."""
    start = f"result: bench={bench} "
    return [dict(word.split("=", 1) for word in line.split()[1:]) for line in text.splitlines() if line.startswith(start)]


# Settings for the rows of papers, in place of Homeroom's defaults: the disk scheduler sorts requests and has no deadlines;
# pages are swapped and read one at a time.
PLAIN = {"disk_sched": 1, "disk_read_expire": 0, "disk_write_expire": 0}
PLAIN |= {"swap_cluster": 1, "swap_readaround": 1, "swap_keep": 0, "file_readaround": 1}


def system(pairs: dict[str, int]) -> str:
    """The /etc/system lines for these settings; those of SET='name=value ...' follow, and override them."""
    return "; ".join(f"set {pair}" for pair in [*(f"{n}={v}" for n, v in pairs.items()), *os.environ.get("SET", "").split()])


def leave_room(guest: "Machine", mib: int) -> None:
    """Write a file in tmpfs so that only `mib` MiB of memory remain free."""
    free = int(guest.check("grep MemFree /proc/meminfo").split()[1])  # KiB
    guest.check(f"dd if=/dev/zero of=/tmp/taken bs=1k count={free - mib * 1024} 2>/dev/null")


class Judgement:
    """The claims of an experiment: a line for each, which begins with "yes" or "NO"."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, holds: bool, what: str) -> None:
        self.lines.append(f"{'yes' if holds else 'NO '}  {what}")

    def note(self, what: str) -> None:
        self.lines.append(f"     {what}")


def make_disk(image: Path, mib: int, tree: Path | None = None, inodes: int | None = None) -> Path:
    """Make an image with an ext3 file system of `mib` MiB, filled from a directory.  MachineError if mke2fs fails.

    `inodes`: the number of inodes, in place of mke2fs's default.
    """
    with open(image, "wb") as file:
        file.truncate(mib << 20)
    command = ["mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096", "-E", "root_owner=0:0"]
    command += ["-N", str(inodes)] if inodes else []
    done = subprocess.run([*command, *(["-d", tree] if tree else []), image], capture_output=True, text=True)
    if done.returncode:
        raise MachineError(f"mke2fs: {done.stderr.strip()}")
    return image


@dataclass
class Request:
    """A request of a reference disk."""

    ended: float  # when it was answered, as time.monotonic(), s
    took: float  # time for the request, s, unscaled


class DiskLog:
    """A reference disk with an image, and its log.  The log is complete only after the machine was closed."""

    def __init__(self, image: Path, scale: float, model: str = "ibm0661") -> None:
        self.path = image.with_suffix(".log")
        self.disk = f"refdisk:{image},model={model},scale={scale:g},log={self.path}"  # description, as in disk.py
        self.requests: list[Request] | None = None

    def between(self, begin: float, end: float) -> list[Request]:
        """The requests that were answered between two times of time.monotonic()."""
        if self.requests is None:
            head, *lines = self.path.read_text().splitlines()
            started = float(re.search(r"started at (\d+)", head)[1])
            rows = [[float(word) for word in line.split()[4:6]] for line in lines if line[0] in "RW"]
            self.requests = [Request((started + ended) / 1e6, took / 1e6) for ended, took in rows]
        return [r for r in self.requests if begin <= r.ended < end]

    def busy(self, begin: float, end: float) -> float:
        """The seconds for which the disk was busy between two times, unscaled."""
        return sum(r.took for r in self.between(begin, end))


def table(title: str, head: list[str], rows: list[list[str]]) -> str:
    """A table as text; the first column is left-aligned, the others right-aligned."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: list[str]) -> str:
        cells = [cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        return "  ".join(cells).rstrip()

    return "\n".join([title, line(head), "-" * (sum(widths) + 2 * len(widths) - 2), *map(line, rows)])


def record(name: str, values: list[Value], machine_name: str, scale: str, seed: int | str) -> Path:
    """Write the rows into results.csv, in place of all earlier rows of this experiment."""
    new = [
        dict(zip(COLUMNS, (
            name, v.row, v.kind, v.unit, *("" if n is None else f"{n:.10g}" for n in (v.paper, v.ours, v.spread)),
            str(v.runs), machine_name, scale, str(seed), run.revision(), guest.qemu_version(), v.note,
        ), strict=True))
        for v in values
    ]  # fmt: skip
    old = [r for r in read_csv() if r["table"] != name]
    CSV.parent.mkdir(parents=True, exist_ok=True)
    with open(CSV, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*old, *new])
    return CSV


SECTIONS = [
    ("plateaus", "Plateaus", PLATEAUS,
     "Each latency and each rate of the model, measured separately, beside the value that follows from its parameters."),
    ("disks", "Disks", DISKS,
     "Times are those of the guest, multiplied by the disk's scale (wall), or those of the disk, from its log (modelled)."),
    ("heat", "Page heat", HEAT,
     "The pages of a copy with first touch and with random placement; how far counts of one miss in several are off, and what "
     "they cost."),
    ("sets", "Processor sets", SETS,
     "Throughput and rates are per second of the guest's clock under QEMU."),
]  # fmt: skip


def sections() -> str:
    """The sections of these experiments for the report: their plots and all their rows."""
    return "".join(_section(*words) for words in SECTIONS)


def _section(ident: str, title: str, tables: tuple[str, ...], text: str) -> str:
    names, parts = ("row", "kind", "paper", "ours", "spread", "unit", "scale", "rev", "note"), []
    for table in tables:
        lines = [r for r in read_csv() if r["table"] == table]
        if not lines:
            continue
        plot = run.OUT / f"{table}.svg"
        svg = plot.read_text() if plot.exists() else ""
        drawn = f"<figure>{svg[svg.find('<svg') :]}<figcaption>make experiment-{table}</figcaption></figure>" if svg else ""
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(r[name])}</td>" for name in names) + "</tr>" for r in lines)
        grid = f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
        parts.append(f"<h3>{table}</h3>{drawn}<details><summary>{len(lines)} rows</summary>{grid}</details>")
    return f'<section id="{ident}"><h2>{title}</h2><p>{text}</p>{"".join(parts)}</section>' if parts else ""


def figure(name: str, width: float = 7.0, height: float = 3.6):
    """A figure and its axes; save(figure, name) writes build/experiments/NAME.svg."""
    from homeroom.experiments import plots  # sets the style; matplotlib takes a second to load

    return plots.plt.subplots(figsize=(width, height))


def save(fig, name: str) -> Path:
    path = run.OUT / f"{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, format="svg", metadata={"Date": None})
    return path
