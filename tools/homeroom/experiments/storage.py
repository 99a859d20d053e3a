# SPDX-License-Identifier: MIT
"""storage.py - what experiments of their own share: options, a machine, disks and their logs, tables, results.csv, a plot.

These experiments are programs of their own, not rows of paper.toml: what they measure is not one number of a benchmark but
a table with a setting in each row, or a curve.
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
from homeroom.experiments.results import COLUMNS, CSV, DISKS, PLATEAUS, SETS, read_csv
from homeroom.machine import MachineError


@dataclass
class Value:
    """A row of results.csv; the rest of its columns comes from the run."""

    row: str
    kind: str  # counters, instructions, modelled, wall
    unit: str
    ours: float | None
    paper: float | None = None
    spread: float | None = None
    runs: int = 1
    note: str = ""


class Machine:
    """A machine at work, as in the tests: commands go to the agent, answers come back over the verdict port."""

    def __init__(self, name: str, *, boards: int | None = None, memory: str | None = None, **options) -> None:
        speed = float(os.environ.get("HR_SPEED", "4"))
        self.guest = guest.Guest(
            machine.load(name, boards, memory), guest.Options(agent="yes", speed=speed, **options)
        )
        self.number = 0
        self.guest.start()
        if not self.guest.wait_until(lambda: "ready" in self.guest.lines, 120):
            self.guest.kill("timeout")
            raise MachineError(f"{name} did not come up: {self.guest.wait().message(False)}")

    def run(self, command: str, timeout: float = 600, watch: Callable[[str], None] | None = None) -> tuple[int, str]:
        """Status and output of a command; MachineError when it does not end in time.  `watch` sees lines as they come."""
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
        status, text = self.run(command, timeout, watch)
        if status != 0:
            raise MachineError(f"'{command}' ended with status {status}:\n{text}")
        return text

    def kstats(self, prefix: str) -> dict[str, int]:
        """Statistics of one kstat ("sd:0:vda"), by their names."""
        rows = [line.split("\t") for line in self.check("cat /dev/kstat").splitlines() if line.startswith(prefix + ":")]
        return {name.rsplit(":", 1)[1]: int(value) for name, value in rows}

    def close(self) -> None:
        self.guest.close()

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def wrong(prog: str, text: str) -> NoReturn:
    """End a program in whose variables something is wrong; status 2."""
    print(f"{prog}: {text}", file=sys.stderr)
    sys.exit(2)


def number(prog: str, name: str, text: str, kind: type = float) -> float:
    """A number of the given type over 0; otherwise wrong()."""
    with contextlib.suppress(ValueError):
        if 0 < (value := kind(text)) <= 1e9:
            return value
    wrong(prog, f"{name}={text}: write a {'whole ' if kind is int else ''}number over 0")


def arguments(prog: str, **defaults) -> argparse.Namespace:
    """An option --name for each default, of its type; without it the variable NAME of the environment counts."""
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
    """Those of the names that a word of ROWS= fits; wrong() for a word that fits none."""
    words, names = text.split(), list(names)
    for word in words:
        if not any(fits(name, word) for name in names):
            wrong(prog, f"ROWS: no row '{word}'; there are: {', '.join(names)}")
    return [name for name in names if any(fits(name, word) for word in words)]


def program(name: str, body: Callable[[Path], int]) -> int:
    """Status of an experiment that works in a folder of its own: what body says, 2 when a machine failed."""
    try:
        with tempfile.TemporaryDirectory(prefix="homeroom.") as folder:
            return body(Path(folder))
    except MachineError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def result_lines(text: str, bench: str) -> list[dict[str, str]]:
    """What a program printed in lines that begin with "result: bench=NAME"."""
    start = f"result: bench={bench} "
    return [dict(word.split("=", 1) for word in line.split()[1:]) for line in text.splitlines() if line.startswith(start)]


# Rows of papers, whatever the defaults are: requests in sorted sweeps, without deadlines; a page goes and comes by itself.
PLAIN = {"disk_sched": 1, "disk_read_expire": 0, "disk_write_expire": 0}
PLAIN |= {"swap_cluster": 1, "swap_readaround": 1, "swap_keep": 0, "file_readaround": 1}


def system(pairs: dict[str, int]) -> str:
    """Lines of /etc/system, for a machine; those of SET='name=value ...' come last, and so count."""
    return "; ".join(f"set {pair}" for pair in [*(f"{n}={v}" for n, v in pairs.items()), *os.environ.get("SET", "").split()])


def leave_room(guest: "Machine", mib: int) -> None:
    """A file in tmpfs takes memory until so much is free."""
    free = int(guest.check("grep MemFree /proc/meminfo").split()[1])  # KiB
    guest.check(f"dd if=/dev/zero of=/tmp/taken bs=1k count={free - mib * 1024} 2>/dev/null")


class Judgement:
    """What an experiment is to show, each as a line that begins with yes or no."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, holds: bool, what: str) -> None:
        self.lines.append(f"{'yes' if holds else 'NO '}  {what}")

    def note(self, what: str) -> None:
        self.lines.append(f"     {what}")


def make_disk(image: Path, mib: int, tree: Path | None = None) -> Path:
    """A new image with an ext3 file system of so many MiB, filled from a directory."""
    with open(image, "wb") as file:
        file.truncate(mib << 20)
    command = ["mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096", "-E", "root_owner=0:0"]
    done = subprocess.run([*command, *(["-d", tree] if tree else []), image], capture_output=True, text=True)
    if done.returncode:
        raise MachineError(f"mke2fs: {done.stderr.strip()}")
    return image


@dataclass
class Request:
    """Of a reference disk; times of time.monotonic()."""

    ended: float  # when it was answered, s
    took: float  # what it takes, s, unscaled


class DiskLog:
    """The log of a reference disk with an image; it is whole when the machine is closed."""

    def __init__(self, image: Path, scale: float, model: str = "ibm0661") -> None:
        self.path = image.with_suffix(".log")
        self.disk = f"refdisk:{image},model={model},scale={scale:g},log={self.path}"  # for a machine
        self.requests: list[Request] | None = None

    def between(self, begin: float, end: float) -> list[Request]:
        """Requests answered between two times of time.monotonic()."""
        if self.requests is None:
            head, *lines = self.path.read_text().splitlines()
            started = float(re.search(r"started at (\d+)", head)[1])
            rows = [[float(word) for word in line.split()[4:6]] for line in lines if line[0] in "RW"]
            self.requests = [Request((started + ended) / 1e6, took / 1e6) for ended, took in rows]
        return [r for r in self.requests if begin <= r.ended < end]

    def busy(self, begin: float, end: float) -> float:
        """Seconds that the disk was busy, unscaled."""
        return sum(r.took for r in self.between(begin, end))


def table(title: str, head: list[str], rows: list[list[str]]) -> str:
    """Columns of text: the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: list[str]) -> str:
        cells = [cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        return "  ".join(cells).rstrip()

    return "\n".join([title, line(head), "-" * (sum(widths) + 2 * len(widths) - 2), *map(line, rows)])


def record(name: str, values: list[Value], machine_name: str, scale: str, seed: int | str) -> Path:
    """Put the rows into results.csv, in place of those that had the same names."""
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
     "Each latency and each rate of the model alone, beside the value that follows from its parameters."),
    ("disks", "Disks", DISKS,
     "Times are the guest's, multiplied by the disk's scale (wall), or the disk's own, from its log (modelled)."),
    ("sets", "Processor sets", SETS,
     "Throughput is the guest's wall time under QEMU; rates are counts for each second of it."),
]  # fmt: skip


def sections() -> str:
    """What these experiments have left, for the report: their plots and all of their rows."""
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
