# SPDX-License-Identifier: MIT
"""results.py - compute the rows of results.csv and of the report from the files of the runs.

THEORY      A row is a number of ours, beside that of the paper.  One rule judges all rows for which the paper has a number
            (accepted(); docs/experiments.md, "One rule for all rows").  The first condition of an experiment is its
            headline; rows of other conditions are shown beside it.
INVARIANTS  I1  there is a row for everything that was requested; a row without a number has the reason and the log's path
            I2  results.csv has exactly the columns COLUMNS; rows of experiments that were not requested do not change
"""

import csv
import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from homeroom.experiments import metrics, run
from homeroom.experiments.definition import COMPARE, Experiment, Run, Suite
from homeroom.experiments.settings import Settings
from homeroom.machine import MachineError

CSV = run.OUT / "results.csv"
# Names of the experiments that are separate programs (storage.py).
DISKS = ("idedma", "pacing", "mkeyed", "ddt")
SETS = ("psrset",)
PLATEAUS = ("fabric",)
HEAT = ("heat",)
COLUMNS = [
    "table", "row", "kind", "unit", "paper", "ours", "spread", "runs", "machine", "scale", "seed", "rev", "qemu", "note",
]  # fmt: skip
COMPARED = {"rate": "speed-up", "time": "time saved", "points": "drop"}
LINUX = "against the better Linux"
SMALL_GAIN = 30  # percent: smaller gains are judged in points
POINTS, RATIO, ABSOLUTE = 3, 0.1, 0.2


@dataclass
class Case:
    """The repetitions of one run, read for one experiment."""

    run: Run
    values: list[float] = field(default_factory=list)
    files: list[dict] = field(default_factory=list)  # what run.execute() wrote
    faults: list[str] = field(default_factory=list)

    @property
    def value(self) -> float | None:
        return statistics.median(self.values) if self.values else None


def _sign(e: Experiment) -> int:
    """1 if a gain makes the measured value larger, -1 if smaller."""
    return 1 if e.compare == "rate" else -1


def accepted(e: Experiment, what: str) -> list[float] | None:
    """The accepted band [least, most] for a variant or a comparison; None: it is not judged."""
    paper = e.paper.get(what)
    if paper is None:
        return e.band.get(what)
    if what != "compare":
        slack = 0 if e.unit == "pages" else ABSOLUTE if e.known else None
        return None if slack is None else [paper * (1 - slack), paper * (1 + slack)]
    if e.compare == "points" or abs(paper) < SMALL_GAIN:
        return [paper - POINTS, paper + POINTS]
    new_over_base = 1 + _sign(e) * paper / 100
    return sorted(_sign(e) * 100 * (new_over_base * (1 + d) - 1) for d in (-RATIO, RATIO))


@dataclass
class Row:
    """A value of ours, with the paper's and the accepted band."""

    experiment: Experiment
    what: str  # variant, or "compare", or "linux"
    hypothesis: str | None
    condition: str | None  # None: the headline
    label: str
    kind: str
    unit: str
    paper: float | None = None
    band: list[float] | None = None
    ours: float | None = None
    spread: float | None = None
    runs: int = 0
    faults: list[str] = field(default_factory=list)
    file: dict = field(default_factory=dict)  # contents of the file of its first run
    quick: bool = False  # from a quick run, which is not judged

    @property
    def inside(self) -> bool | None:
        """Whether our value is in the band; None if it is not judged (`verdict` tells why)."""
        if self.band is None or self.quick:
            return None
        return self.ours is not None and self.band[0] <= self.ours <= self.band[1]

    @property
    def headline(self) -> bool:
        return self.hypothesis is None and self.condition is None

    @property
    def verdict(self) -> str:
        if self.band is None:
            return ""
        if self.inside is None:
            return "not judged: a quick run"
        return "inside" if self.inside else "OUTSIDE"

    @property
    def error(self) -> float | None:
        """The difference from the paper's value in percent; None if they cannot be compared.

        For a gain, the ratios of the time or rate with placement to that without are compared.
        """
        if self.ours is None or self.paper is None:
            return None
        if self.what != "compare":
            return 100 * (self.ours / self.paper - 1) if self.paper else None
        if self.experiment.compare == "points":
            return None
        ours, paper = (1 + _sign(self.experiment) * gain / 100 for gain in (self.ours, self.paper))
        return 100 * (ours / paper - 1)

    @property
    def note(self) -> str:
        """The column "note": faults, the verdict with its limits, and the note of the experiment."""
        parts = [f"FAILED: {fault}" for fault in dict.fromkeys(self.faults)]
        if self.band is not None and self.ours is not None:
            least, most = self.band
            limits = f"at least {least:g}" if most == float("inf") else f"{least:.6g} to {most:.6g}"
            parts.append(f"{self.verdict}, {limits}" if self.inside is None else f"{self.verdict} {limits}")
        return "; ".join([*parts, *([self.experiment.note] if self.experiment.note else [])])


def read_case(
    suite: Suite, e: Experiment, variant: str, hypothesis: str | None = None, condition: str | None = None
) -> Case:
    """Read all repetitions of a run; for each that is missing or not usable, a fault is added."""
    case = Case(suite.run_of(e, variant, hypothesis, condition))
    for i in range(1, suite.repeats(e, variant, hypothesis, condition) + 1):
        try:
            path, log = run.paths(case.run, i)
        except OSError as error:
            case.faults.append(f"{error.filename} is missing")
            break
        if not path.exists():
            why = run.failure(log)
            case.faults.append(f"{why}; log {run.shown(log)}" if why else "not run")
            continue
        try:
            stored = json.loads(path.read_text())
            read = measurements(stored)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            case.faults.append(f"{run.shown(path)} is damaged ({error}): remove it, and the next sweep repeats the run")
            continue
        try:
            found = metrics.select(read, e.bench, e.select, e.starts)
            case.values.append(e.times * statistics.median(map(metrics.METRICS[e.metric].value, found)))
            case.files.append(stored)
        except (metrics.MetricError, ValueError) as error:
            case.faults.append(f"{error}; log {stored['log']}")
    return case


def measurements(file: dict) -> list[metrics.Measurement]:
    """The measurements in a run's file, as metrics.parse() returned them."""
    parts = ((m["result"], m["counters"], m["pages"]) for m in file["measurements"])
    return [metrics.Measurement(r, c, {int(lgroup): n for lgroup, n in p.items()}) for r, c, p in parts]


def _spread(values: list[float]) -> float | None:
    return max(values) - min(values) if values else None


def _label(suite: Suite, text: str, hypothesis: str | None, condition: str | None) -> str:
    text += f", {suite.conditions[condition].title}" if condition else ""
    return f"{text} [{suite.hypotheses[hypothesis].title}]" if hypothesis else text


def _row(suite: Suite, e: Experiment, case: Case, variant: str, hypothesis: str | None, condition: str | None) -> Row:
    label = _label(suite, f"{e.row}, {suite.variants[variant].title}", hypothesis, condition)
    return Row(
        e, variant, hypothesis, condition, label, metrics.METRICS[e.metric].kind, e.unit, e.paper.get(variant),
        accepted(e, variant), case.value, _spread(case.values), len(case.values), case.faults,
        case.files[0] if case.files else {},
    )  # fmt: skip


def _compared(
    suite: Suite, e: Experiment, pair: tuple[Case, Case], hypothesis: str | None, condition: str | None,
    what: str = "compare",
) -> Row:  # fmt: skip
    name = COMPARED[e.compare] if what == "compare" else f"{suite.variants[e.variants[1]].title} {LINUX}"
    label = _label(suite, f"{e.row}, {name}", hypothesis, condition)
    row = Row(e, what, hypothesis, condition, label, metrics.METRICS[e.metric].kind, COMPARE[e.compare])
    row.paper, row.band = e.paper.get(what), accepted(e, what)
    row.faults = [f for case in pair for f in case.faults if case.value is None][:1]
    base, new = pair
    if base.value is not None and new.value is not None:
        row.ours = metrics.compare(e.compare, base.value, new.value)
        row.spread = _spread([metrics.compare(e.compare, b, n) for b, n in zip(base.values, new.values, strict=False)])
        row.runs, row.file = min(len(base.values), len(new.values)), new.files[0]
    return row


def rows_of(suite: Suite, e: Experiment, peer: bool, full: bool) -> list[Row]:
    """The rows of one experiment: for each condition, and with `full` for each hypothesis, a row for each variant, one for
    their comparison, and one for the comparison with Linux."""
    cases = {case: read_case(suite, e, *case) for case in suite.cases(e, peer, full)}
    rows = []
    for kind in dict.fromkeys(case[1:] for case in cases):  # hypothesis and condition
        rows += [_row(suite, e, case, variant, *kind) for (variant, *k), case in cases.items() if tuple(k) == kind]
        if e.compare != "none":
            base, new = (cases[v, *kind] for v in e.variants)
            rows.append(_compared(suite, e, (base, new), *kind))
        linux = [case for (v, *k), case in cases.items() if tuple(k) == kind and suite.variants[v].os == "linux"]
        if linux and e.compare != "none":
            done = [c for c in linux if c.value is not None]
            better = (max if e.compare == "rate" else min)(done, key=lambda c: c.value) if done else linux[0]
            rows.append(_compared(suite, e, (better, new), *kind, "linux"))
    return rows


def collect(settings: Settings) -> list[Row]:
    """All rows that were requested (I1)."""
    suite = settings.suite
    rows = [r for e in settings.experiments() for r in rows_of(suite, e, bool(settings.peer), settings.full)]
    for row in rows:
        row.quick = settings.quick
    return rows


def scale(file: dict, e: Experiment) -> str:
    """The size of the external cache in the run, and the factor for its times."""
    page = file.get("page")
    if not e.model:
        return "no model"
    return f"ecache {page['ecache_bytes'] // 1024} KiB{f', time x {e.times}' if e.times != 1 else ''}" if page else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def as_csv(row: Row, seed: int) -> dict[str, str]:
    """A row of results.csv."""
    e = row.experiment
    return dict(zip(COLUMNS, (
        e.tables[0], row.label, row.kind, row.unit, _number(row.paper), _number(row.ours), _number(row.spread),
        str(row.runs), f"{e.machine}{f'/{e.boards}' if e.boards else ''}", scale(row.file, e), str(seed),
        row.file.get("rev", ""), row.file.get("qemu", ""), row.note,
    ), strict=True))  # fmt: skip


def read_csv(path: Path = CSV) -> list[dict[str, str]]:
    """The rows of a results.csv; empty if the file is missing.  MachineError if it has other contents."""
    if not path.exists():
        return []
    try:
        with open(path, newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames == COLUMNS:
                return list(reader)
        why = "has other columns"
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = f"cannot be read: {error}"
    raise MachineError(f"{run.shown(path)} {why}: move it away, because rows are added to it")


def write_csv(rows: list[Row], seed: int, keep: bool, path: Path = CSV) -> None:
    """Write results.csv.  With `keep`, rows of other experiments stay (I2); those of separate programs always stay."""
    new = [as_csv(row, seed) for row in rows]
    names = {(r["table"], r["row"], r["machine"]) for r in new}
    old: list[dict] = []
    for r in read_csv(path):
        if r["table"] in DISKS + SETS + PLATEAUS + HEAT or (keep and (r["table"], r["row"], r["machine"]) not in names):
            old.append(r)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*old, *new])
