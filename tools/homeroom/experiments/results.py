# SPDX-License-Identifier: MIT
"""results.py - from the runs' files to the rows of results.csv and of the report.

INVARIANTS  I1  every row that was asked for is there: one without a number says why, with the log's path
            I2  results.csv has exactly COLUMNS; rows of experiments that were not asked for stay as they were
"""

import csv
import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from homeroom.experiments import metrics, run
from homeroom.experiments.definition import COMPARE, Experiment, Run, Suite
from homeroom.experiments.settings import Settings

CSV = run.OUT / "results.csv"
# Tables of experiments that are programs of their own.
DISKS = ("idedma", "pacing", "mkeyed", "ddt")
SETS = ("psrset",)
COLUMNS = [
    "table", "row", "kind", "unit", "paper", "ours", "spread", "runs", "machine", "scale", "seed", "rev", "qemu", "note",
]  # fmt: skip
COMPARED = {"rate": "speed-up", "time": "time saved", "points": "drop"}
LINUX = "against the better Linux"


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


@dataclass
class Row:
    """A number beside the paper's."""

    experiment: Experiment
    what: str  # variant, or "compare", or "linux"
    hypothesis: str | None
    label: str
    kind: str
    unit: str
    paper: float | None = None
    band: list[float] | None = None
    ours: float | None = None
    spread: float | None = None
    runs: int = 0
    faults: list[str] = field(default_factory=list)
    file: dict = field(default_factory=dict)  # of the first run behind it
    quick: bool = False  # of a quick run, which shows that it works and no more

    @property
    def inside(self) -> bool | None:
        """Whether ours is in the band; None where that is not judged: `verdict` says why."""
        if self.band is None or self.quick:
            return None
        fits = self.ours is not None and self.band[0] <= self.ours <= self.band[1]
        return None if fits and self.what == "compare" and self.band[0] <= 0 < (self.paper or 0) else fits

    @property
    def verdict(self) -> str:
        """The band in words; a band that holds 0 cannot tell the paper's gain from none, so nothing is inside it."""
        if self.band is None:
            return ""
        if self.inside is None:
            return "not judged: a quick run" if self.quick else "not judged: the band holds 0"
        return "inside" if self.inside else "OUTSIDE"

    @property
    def note(self) -> str:
        parts = [f"FAILED: {fault}" for fault in dict.fromkeys(self.faults)]
        if self.band is not None and self.ours is not None:
            least, most = self.band
            limits = f"at least {least:g}" if most == float("inf") else f"{least:g} to {most:g}"
            parts.append(f"{self.verdict}, {limits}" if self.inside is None else f"{self.verdict} {limits}")
        return "; ".join([*parts, *([self.experiment.note] if self.experiment.note else [])])


def read_case(suite: Suite, e: Experiment, variant: str, hypothesis: str | None) -> Case:
    """All repetitions of a run that are there; what lacks is a fault."""
    case = Case(suite.run_of(e, variant, hypothesis))
    for i in range(1, suite.repeats(e, variant, hypothesis) + 1):
        try:
            path, log = run.paths(case.run, i)
        except OSError as error:
            case.faults.append(f"{error.filename} is missing")
            break
        if not path.exists():
            why = run.failure(log)
            case.faults.append(f"{why}; log {run.shown(log)}" if why else "not run")
            continue
        stored = json.loads(path.read_text())
        try:
            found = metrics.select(measurements(stored), e.bench, e.select, e.starts)
            case.values.append(e.times * statistics.median(map(metrics.METRICS[e.metric].value, found)))
            case.files.append(stored)
        except (metrics.MetricError, ValueError) as error:
            case.faults.append(f"{error}; log {stored['log']}")
    return case


def measurements(file: dict) -> list[metrics.Measurement]:
    """What a run's file holds, as metrics.parse() gave it."""
    parts = ((m["result"], m["counters"], m["pages"]) for m in file["measurements"])
    return [metrics.Measurement(r, c, {int(lgroup): n for lgroup, n in p.items()}) for r, c, p in parts]


def _spread(values: list[float]) -> float | None:
    return max(values) - min(values) if values else None


def _row(suite: Suite, e: Experiment, case: Case, variant: str, hypothesis: str | None) -> Row:
    label = f"{e.row}, {suite.variants[variant].title}"
    return Row(
        e, variant, hypothesis, _with(suite, label, hypothesis), metrics.METRICS[e.metric].kind, e.unit,
        e.paper.get(variant), e.band.get(variant), case.value, _spread(case.values), len(case.values),
        case.faults, case.files[0] if case.files else {},
    )  # fmt: skip


def _with(suite: Suite, label: str, hypothesis: str | None) -> str:
    return f"{label} [{suite.hypotheses[hypothesis].title}]" if hypothesis else label


def _compared(suite: Suite, e: Experiment, base: Case, new: Case, hypothesis: str | None, what: str = "compare") -> Row:
    name = COMPARED[e.compare] if what == "compare" else f"{suite.variants[e.variants[1]].title} {LINUX}"
    kind = metrics.METRICS[e.metric].kind
    row = Row(e, what, hypothesis, _with(suite, f"{e.row}, {name}", hypothesis), kind, COMPARE[e.compare])
    row.paper, row.band = e.paper.get(what), e.band.get(what)
    row.faults = [f for case in (base, new) for f in case.faults if case.value is None][:1]
    if base.value is not None and new.value is not None:
        row.ours = metrics.compare(e.compare, base.value, new.value)
        row.spread = _spread([metrics.compare(e.compare, b, n) for b, n in zip(base.values, new.values, strict=False)])
        row.runs, row.file = min(len(base.values), len(new.values)), new.files[0]
    return row


def rows_of(suite: Suite, e: Experiment, peer: bool, hypotheses: bool) -> list[Row]:
    """The rows of one experiment: each variant, their comparison, the same for each hypothesis, Linux."""
    rows = []
    cases = {v: read_case(suite, e, v, None) for v in suite.variants_of(e, peer)}
    rows += [_row(suite, e, case, v, None) for v, case in cases.items()]
    if e.compare != "none":
        rows.append(_compared(suite, e, cases[e.variants[0]], cases[e.variants[1]], None))
    linux = [c for v, c in cases.items() if suite.variants[v].os == "linux"]
    done = [c for c in linux if c.value is not None]
    if linux and e.compare != "none":
        better = (max if e.compare == "rate" else min)(done, key=lambda c: c.value) if done else linux[0]
        rows.append(_compared(suite, e, better, cases[e.variants[1]], None, "linux"))
    for h in e.hypotheses if hypotheses else []:
        pair = [read_case(suite, e, v, h) for v in e.variants]
        rows += [_row(suite, e, case, v, h) for v, case in zip(e.variants, pair, strict=True)]
        if e.compare != "none":
            rows.append(_compared(suite, e, *pair, h))
    return rows


def collect(settings: Settings) -> list[Row]:
    """Every row that was asked for (I1)."""
    suite = settings.suite
    rows = [r for e in settings.experiments() for r in rows_of(suite, e, bool(settings.peer), not settings.quick)]
    for row in rows:
        row.quick = settings.quick
    return rows


def scale(file: dict, e: Experiment) -> str:
    """The external cache of the run, as the model says it."""
    page = file.get("page")
    if not e.model:
        return "no model"
    return f"ecache {page['ecache_bytes'] // 1024} KiB{f', time x {e.times}' if e.times != 1 else ''}" if page else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def as_csv(row: Row, seed: int) -> dict[str, str]:
    e = row.experiment
    return dict(zip(COLUMNS, (
        e.tables[0], row.label, row.kind, row.unit, _number(row.paper), _number(row.ours), _number(row.spread),
        str(row.runs), f"{e.machine}{f'/{e.boards}' if e.boards else ''}", scale(row.file, e), str(seed),
        row.file.get("rev", ""), row.file.get("qemu", ""), row.note,
    ), strict=True))  # fmt: skip


def read_csv(path: Path = CSV) -> list[dict[str, str]]:
    """The rows of a results.csv; none if there is none, or one with other columns."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        return list(reader) if reader.fieldnames == COLUMNS else []


def write_csv(rows: list[Row], seed: int, keep: bool, path: Path = CSV) -> None:
    """Write results.csv; with `keep`, rows of other experiments stay (I2), and those of experiments with disks always."""
    new = [as_csv(row, seed) for row in rows]
    names = {(r["table"], r["row"], r["machine"]) for r in new}
    old: list[dict] = []
    for r in read_csv(path):
        if r["table"] in DISKS + SETS or (keep and (r["table"], r["row"], r["machine"]) not in names):
            old.append(r)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*old, *new])
