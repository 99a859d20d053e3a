# SPDX-License-Identifier: MIT
"""fabric.py - measure each latency and each rate of the interconnect model separately, with a program in the guest.

THEORY      Each row runs `fabric` (user/bench/fabric.c), which accesses memory in a way that depends on one property of the
            model: the latency of a line, or a rate.  The expected value follows from the parameters of the machine
            (qemu/fireplane.toml and the machine file); expect() of the row computes it from nothing else.
            So a row does not show that the model is like a Sun Fire.  It shows that the complete model, used by a real
            guest, does what its parameters say.  If the expected value is a number of the paper (Table B-2 or B-3), that
            number was an input of the model; all other rows check the model against itself.
            Latencies are pin to pin: the time of the loop and of the external cache, which are rows of their own, is
            subtracted.
            Then each parameter in turn is reduced by 10 %, and all rows are compared with their new expected values.
USAGE       make experiment-fabric             (QUICK=1: without the changes)
SEE ALSO    docs/fireplane.md, tests/test_fabric.py
"""

import concurrent.futures
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from homeroom import machine, model
from homeroom.experiments import results, run, storage
from homeroom.experiments.definition import Run
from homeroom.machine import MachineError

SET = "ecache_kib=256"
SEED = 1
LINE = 64
WITHIN, WITHIN_B3 = 2.0, 1.0  # percent


class Parameters:
    """The model's parameters of a machine, and values that follow from them.  Times are in ns, rates in MB/s."""

    def __init__(self, name: str, settings: str) -> None:
        one = machine.load(name)
        self.values = dict(line.split(" = ", 1) for line in model.parameters(one, settings).splitlines())
        self.boards = sum(board.memory_mib > 0 for board in one.boards)
        self.own, self.pair, self.board, self.expander, self.remote_hit, self.remote_miss = (
            self.number(key) / 1000
            for key in ("own_ps", "pair_ps", "board_ps", "expander_ps", "remote_ps", "remote_miss_ps")
        )
        hits = self.number("cdc_hit_percent")
        self.local = (self.own + self.pair + 2 * self.board) / 4  # each of a board's four CPUs controls a quarter of its lines
        self.remote = (hits * self.remote_hit + (100 - hits) * self.remote_miss) / 100
        self.clock = self.number("clock_ps") / 1000
        self.ask = self.number("ecache_latency") * self.clock
        self.port, self.memory, self.bus, self.crossbar = (
            self.number(f"{key}_mbps") for key in ("port", "memory", "bus", "crossbar")
        )
        self.shared_bus = self.values["bus"] == "machine"
        messages = min(self.number("request_mbps"), self.number("response_mbps"))
        self.requests = float("inf") if self.shared_bus else messages  # a mid-range server has no crossbar for requests

    def number(self, key: str) -> int:
        return int(self.values[key])

    def cpu(self, latency: float) -> float:
        """The rate of one CPU: that of its port, or less if the number of lines in flight limits it."""
        return min(self.port, self.number("misses_in_flight") * LINE * 1000 / latency)

    def board_local(self) -> float:
        """The rate at which a board's CPUs read their board's memory."""
        return min(self.memory, self.bus, 4 * self.cpu(self.local))

    def all_local(self) -> float:
        """The sum of board_local() of all boards."""
        return min(self.bus if self.shared_bus else float("inf"), self.boards * self.board_local())

    def one_way(self) -> float:
        """The rate at which a board's CPUs read another board, without traffic in the other direction."""
        return min(self.crossbar, self.memory, self.bus, 4 * self.cpu(self.remote), self.requests)

    def both_ways(self, boards: int) -> float:
        """The rate at which a board's CPUs read another board while `boards` boards do so, and each is read as much."""
        bus = self.bus / (boards if self.shared_bus else 2)  # a remote transaction uses the buses of two boards
        return min(self.crossbar / 2, self.memory, bus, 4 * self.cpu(self.remote), self.requests)


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    machine: str
    command: str  # options of fabric
    unit: str  # ns: time of a line; MB/s
    expect: Callable[[Parameters], float | None]  # the expected value; None: none is known
    paper: str = ""  # the table of the paper with this value, an input of the model; empty: a self-check
    less: str = ""  # the row whose value is subtracted
    less_clocks: int = 0  # clocks that are subtracted as well
    share: float = 1.0  # factor for the measured value
    set: str = ""

    @property
    def within(self) -> float:
        """The accepted error, in percent."""
        return WITHIN_B3 if self.paper == "B-3" else WITHIN


def _latencies(name: str, prefix: str) -> list[Row]:
    """Latencies of the own board's memory, for each CPU that can control the line (Table B-2)."""
    kinds = [("own", "own memory", 0), ("pair", "the pair's memory", 1), ("board", "the other pair's memory", 2),
             ("board", "the other pair's memory, other CPU", 3)]  # fmt: skip
    return [
        Row(f"{prefix}-{key}{'-2' if seats == 3 else ''}", title, name, f"-k {seats}", "ns",
            lambda p, key=key: getattr(p, key), "B-2", f"{prefix}-ecache")
        for key, title, seats in kinds
    ]  # fmt: skip


def _common(name: str, prefix: str, last: int) -> list[Row]:
    """Rows for any machine with boards of four CPUs; `last`: the number of its last CPU."""
    ecache, many = f"{prefix}-ecache", "-l 16384"
    rows = [
        Row(f"{prefix}-loop", "loop of five instructions, level 1", name, "-w hit -t 100", "ns", lambda p: 5 * p.clock),
        Row(ecache, "external cache, with the loop", name, "-p 1 -t 8", "ns", lambda p: 5 * p.clock + p.ask),
        *_latencies(name, prefix),
        Row(f"{prefix}-32k", "32 KB, again and again", name, "-l 512 -p 1 -t 100", "ns", lambda p: 5 * p.clock),
        Row(f"{prefix}-128k", "128 KB", name, "-l 2048 -p 1 -t 8", "ns", lambda p: 5 * p.clock + p.ask),
        Row(f"{prefix}-1m", "1 MB", name, "-l 16384 -p 1", "ns", lambda p: 5 * p.clock + p.ask + p.local),
        Row(f"{prefix}-dirty-pair", "a line that the pair has changed", name, "-o 1 -l 1024", "ns",
            lambda p: p.local, less=ecache),
        Row(f"{prefix}-dirty-home", "a line of another board, changed by its CPU", name, "-m +1 -o 4 -l 1024", "ns",
            lambda p: p.remote, less=ecache),
        Row(f"{prefix}-dirty-away", "a line of this board, changed by another's CPU", name, "-o 4 -l 1024", "ns",
            lambda p: p.remote, less=ecache),
        Row(f"{prefix}-dirty-third", "a line of a second board, changed by a third's CPU", name, "-m +1 -o 8 -l 1024",
            "ns", lambda p: p.remote, less=ecache),
        Row(f"{prefix}-hand-over", "a line stored by two CPUs of a board in turn", name,
            "-w store-load -o 1 -r 3 -l 1024", "ns", lambda p: p.local, less=ecache, less_clocks=1),
        Row(f"{prefix}-hand-over-far", "the same, of two boards", name,
            "-w store-load -o 4 -r 3 -l 1024", "ns", lambda p: p.remote, less=ecache, less_clocks=1),
        Row(f"{prefix}-false-sharing", "two CPUs store to different words of a line", name,
            "-w store-load -o 4 -d 8 -r 3 -l 1024", "ns", lambda p: p.remote, less=ecache, less_clocks=1),
        Row(f"{prefix}-stores", "stores that read their lines, in order", name, f"-w store {many}", "ns",
            lambda p: p.local / p.number("stores_in_flight")),
        Row(f"{prefix}-write-back", "changed lines pushed out by reads in order", name, "-w stream -e -l 1024", "ns",
            lambda p: p.local / p.number("writebacks_in_flight")),
        Row(f"{prefix}-read-1", "one thread reads its board", name, f"-w stream {many}", "MB/s",
            lambda p: p.cpu(p.local)),
        Row(f"{prefix}-copy-1", "one thread copies on its board", name, f"-w copy {many}", "MB/s",
            lambda p: p.cpu(p.local)),
        Row(f"{prefix}-write-1", "one thread writes whole lines of its board", name, f"-w write {many}", "MB/s",
            lambda p: p.cpu(p.local)),
        Row(f"{prefix}-read-far", "one thread reads another board", name, f"-w stream -m +1 {many}", "MB/s",
            lambda p: p.cpu(p.remote)),
        Row(f"{prefix}-copy-far", "one thread copies on another board", name, f"-w copy -m +1 {many}", "MB/s",
            lambda p: p.cpu(p.remote)),
        Row(f"{prefix}-one-way", "a board reads another one", name, f"-w stream -m +1 -c 0-3 {many}", "MB/s",
            lambda p: p.one_way()),
        Row(f"{prefix}-hammer", "all other boards read one", name, f"-w stream -m 0 -c 4-{last} -l 8192", "MB/s",
            lambda p: min(p.crossbar, p.memory, p.bus, p.requests)),
        Row(f"{prefix}-random", "all read memory of all boards, at random", name, "-w stream -m random -c all -l 8192",
            "MB/s", lambda p: None),
        *_bandwidths(name, prefix),
    ]  # fmt: skip
    return rows


def _bandwidths(name: str, prefix: str) -> list[Row]:
    """The rates of Table B-3."""
    return [
        Row(f"{prefix}-local-1", "one Uniboard reads its memory", name, "-w stream -c 0-3 -l 16384", "MB/s",
            lambda p: p.board_local(), "B-3"),
        Row(f"{prefix}-local", "all boards read their own memory", name, "-w stream -c all -l 32768", "MB/s",
            lambda p: p.all_local(), "B-3"),
        Row(f"{prefix}-remote-1", "one Uniboard reads another, and serves as much", name,
            "-w stream -m ^1 -c 0-7 -l 16384", "MB/s", lambda p: p.both_ways(2), "B-3", share=0.5),
        Row(f"{prefix}-remote", "board i reads board i + 1", name, "-w stream -m +1 -c all -l 32768", "MB/s",
            lambda p: p.boards * p.both_ways(p.boards), "B-3"),
    ]  # fmt: skip


def _high_end() -> list[Row]:
    hit, miss = "cdc_hit_percent=100", "cdc_hit_percent=0"
    return [
        Row("15k-remote-mix", "another board's memory, hits and misses of its directory cache", "sf15k", "-m +1", "ns",
            lambda p: p.remote, less="15k-ecache"),
        Row("15k-hit-ecache", "external cache, with the loop", "sf15k", "-p 1 -t 8", "ns",
            lambda p: 5 * p.clock + p.ask, set=hit),
        Row("15k-hit", "another board's memory, directory cache hits", "sf15k", "-m +1", "ns",
            lambda p: p.remote_hit, "B-2", "15k-hit-ecache", set=hit),
        Row("15k-miss-ecache", "external cache, with the loop", "sf15k", "-p 1 -t 8", "ns",
            lambda p: 5 * p.clock + p.ask, set=miss),
        Row("15k-miss", "another board's memory, directory cache misses", "sf15k", "-m +1", "ns",
            lambda p: p.remote_miss, "B-2", "15k-miss-ecache", set=miss),
        Row("maxcpu-ecache", "external cache, with the loop", "sf15k-maxcpu", "-c 72 -p 1 -t 8", "ns",
            lambda p: 5 * p.clock + p.ask),
        Row("maxcpu", "a MaxCPU board's expander", "sf15k-maxcpu", "-c 72", "ns", lambda p: p.expander,
            less="maxcpu-ecache"),
    ]  # fmt: skip


ROWS = [
    *_common("sf6800", "6800", 23),
    Row("6800-other-board", "another board's memory", "sf6800", "-m +1", "ns", lambda p: p.remote, "B-2", "6800-ecache"),
    *_common("sf15k", "15k", 71),
    *_high_end(),
    *_bandwidths("sf12k", "12k"),
]

# The parameters to change.  Those of a group change together, because they would contradict each other otherwise: latencies
# must not decrease from near to far, and all remote memory of a mid-range server has the same latency.
CHANGES = [
    ("clock_ps",), ("ecache_latency",), ("misses_in_flight",),
    ("own_ps",), ("own_ps", "pair_ps"), ("own_ps", "pair_ps", "board_ps"), ("expander_ps",), ("expander_ps", "remote_ps"),
    ("remote_miss_ps",), ("expander_ps", "remote_ps", "remote_miss_ps"), ("cdc_hit_percent",), ("port_mbps",),
    ("memory_mbps",), ("bus_mbps",), ("crossbar_mbps",), ("request_mbps", "response_mbps"), ("skew_ps",), ("order_ps",),
    ("bucket_ps",),
]  # fmt: skip
# Parameters that are not changed: small integers that 10 % does not change, the size of the cache, on which no row depends,
# and floating-point latencies.
UNCHANGED = {
    "stores_in_flight", "store_queue", "writebacks_in_flight", "streams", "crossbar_queue", "ecache_kib", "ecache_ways",
    "fp_latency", "fp_move_latency", "fp_div_latency", "fp_sqrt_latency", "fp_divs_latency", "fp_sqrts_latency",
}  # fmt: skip


@dataclass
class Outcome:
    row: Row
    expected: float | None
    ours: float | None
    note: str = ""

    @property
    def error(self) -> float | None:
        """The difference from the expected value, in percent; None without an expected value."""
        return None if self.ours is None or self.expected is None else 100 * (self.ours / self.expected - 1)

    @property
    def good(self) -> bool:
        return self.ours is not None and (self.error is None or abs(self.error) <= self.row.within)


def settings(row: Row, change: str) -> str:
    """MODEL_SET for a row."""
    return "; ".join(filter(None, (SET, change, row.set)))


def boots(rows: list[Row], change: str) -> dict[Run, list[Row]]:
    """The runs for these rows.  Rows of one machine with the same parameters share a boot."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.machine, settings(row, change)), []).append(row)
    return {
        Run(machine=name, command="; ".join(f"fabric {row.command}" for row in group), model_set=sets, seed=SEED): group
        for (name, sets), group in groups.items()
    }


def measure(wanted: list[Run]) -> None:
    """Do the runs that have no result yet, JOBS at a time."""
    missing = [one for one in wanted if not run.paths(one, 1)[0].exists()]
    done = iter(range(1, len(missing) + 1))
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count() or 1)) as pool:
        list(pool.map(lambda one: run.execute(one, 1, lambda: f"{next(done)} of {len(missing)}"), missing))


def outcomes(rows: list[Row], change: str) -> list[Outcome]:
    """The measured and the expected value of each row, with changed parameters; `note` tells why a run failed."""
    raw: dict[str, float] = {}
    notes: dict[str, str] = {}
    for one, group in boots(rows, change).items():
        result, log = run.paths(one, 1)
        if not result.exists():
            notes |= {row.name: run.failure(log) or "it was not run" for row in group}
            continue
        found = results.measurements(json.loads(result.read_text()))
        for row, measurement in zip(group, found, strict=True):
            raw[row.name] = float(measurement.result["ns" if row.unit == "ns" else "mbps"]) * row.share
    out = []
    for row in rows:
        p = Parameters(row.machine, settings(row, change))
        ours = raw.get(row.name)
        if ours is not None and row.less:
            ours = ours - raw[row.less] - row.less_clocks * p.clock if row.less in raw else None
        out.append(Outcome(row, row.expect(p), ours, notes.get(row.name, "")))
    return out


def changed(name: str, keys: tuple[str, ...]) -> str | None:
    """MODEL_SET with these parameters of a machine reduced by 10 %; None if they would contradict its other parameters."""
    p = Parameters(name, SET)
    text = "; ".join(f"{key}={round(p.number(key) * 0.9)}" for key in keys)
    try:
        model.parameters(machine.load(name), f"{SET}; {text}")
    except MachineError:
        return None
    return text


def table(found: list[Outcome]) -> str:
    rows = []
    for o in found:
        said = "" if o.error is None else f"{o.error:+.2f} %"
        where = f"paper's input, Table {o.row.paper}" if o.row.paper else "self-check" if o.expected is not None else ""
        number = [("" if x is None else f"{x:,.1f}" if o.row.unit == "ns" else f"{x:,.0f}") for x in (o.expected, o.ours)]
        rows.append([o.row.title, o.row.machine, *number, o.row.unit, said, where, "" if o.good else o.note or "NO"])
    return storage.table("Plateaus", ["", "machine", "expected", "ours", "", "", "", ""], rows)


def experiment(_: Path) -> int:
    quick = bool(os.environ.get("QUICK"))
    every: list[tuple[str, list[Row], str]] = [("", ROWS, "")]
    names = dict.fromkeys(row.machine for row in ROWS)
    for keys in [] if quick else CHANGES:
        for name in names:
            change = changed(name, keys)
            if change is not None:
                every.append((f"{name}: {change}", [row for row in ROWS if row.machine == name], change))
    measure([one for _, rows, change in every for one in boots(rows, change)])
    bad = 0
    for title, rows, change in every:
        found = outcomes(rows, change)
        wrong = [o for o in found if not o.good]
        bad += len(wrong)
        if not title:
            print(table(found))
            record(found)
            continue
        errors = [abs(o.error) for o in found if o.error is not None]
        worst = f"worst {max(errors):.2f} %" if errors else ""
        print(f"{title}: {len(found) - len(wrong)} of {len(found)} rows as expected, {worst}")
        if wrong:
            print(table(wrong))
    return int(bad != 0)


def record(found: list[Outcome]) -> None:
    """Write the rows into results.csv."""
    values = [
        storage.Value(f"{o.row.machine}: {o.row.title}", "modelled", o.row.unit, o.ours, o.expected,
                      note=f"paper is Table {o.row.paper}" if o.row.paper else "paper is the value expected: a self-check")
        for o in found
    ]  # fmt: skip
    path = storage.record("fabric", values, "several", SET, SEED)
    print(f"rows in {run.shown(path)}")


if __name__ == "__main__":
    sys.exit(storage.program("fabric", experiment))
