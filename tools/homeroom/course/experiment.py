# SPDX-License-Identifier: MIT
"""experiment.py - the lab "experiment": check a hypothesis, record its prediction, measure the row, draft the report.

THEORY      A student writes a question about placement, two columns that differ in one thing, and the ratio that the new
            column's number will have to the base's (hypothesis.toml).  `predict` writes the digest of that file into a log,
            `measure` boots each column once for each seed and writes the numbers into the same log.  Each line of the log
            has the digest of the line before it, so lines cannot be moved, changed or taken out without a trace.
            Such a log can be written anew from its first line.  So it keeps the order of honest work; it proves nothing.
            What counts is that the grader boots both columns again (labs/experiment/tests.py), and that a course may
            collect the digest that `predict` prints before the day on which measuring begins.
            A command is one benchmark of the tree with its options, and no shell: a row that `echo` printed would repeat.
FILES       labs/experiment/answer/hypothesis.toml, log.jsonl, report.md
USAGE       make lab-predict, make lab-measure, make lab-report
EXIT STATUS 0 done   1 refused, a sentence for each reason   2 wrong usage
SEE ALSO    experiment_grader.py, labs/experiment/README.md
"""

import datetime
import functools
import hashlib
import json
import math
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from homeroom import machine, model
from homeroom.course import regions
from homeroom.experiments import metrics, results, run
from homeroom.experiments.definition import Run
from homeroom.guest import qemu_version
from homeroom.machine import TOP, MachineError

ANSWER = TOP / "labs/experiment/answer"
FILE, LOG, REPORT = "hypothesis.toml", "log.jsonl", "report.md"
COLUMNS = ("base", "new")
BENCHES = ("dw", "erp", "fdiff", "jvm", "memcopy", "oltp", "solvers")
SEEDS_LEAST, SEEDS_MOST = 3, 9
WIDTH_MOST = 1.5  # the greatest ratio of a range, divided by the least
REASON_WORDS, SECTION_WORDS = 30, 40
TIMEOUT = 120  # seconds of a boot
EXACT_QEMU = "7.2"  # the version with which equal runs have equal modelled times (docs/fireplane.md)
OTHER_BUILD = 0.02  # how far outside the row's values a number of another build or another QEMU may be

KEYS = {
    "question": str, "machine": str, "boards": int, "model": str, "metric": str, "select": dict, "seeds": list,
    "base": dict, "new": dict, "prediction": dict,
}  # fmt: skip
COLUMN_KEYS = {"title": str, "command": str, "system": str}
PREDICTION_KEYS = {"ratio": float, "least": float, "most": float, "reason": str}
OPTIONAL = ("boards", "model", "select", "system")
OF_THE_FILE = ("machine", "boards", "model", "metric", "select", "seeds")  # keys that a column must not have
COMMAND = re.compile(r"[\w.,:=/+-]+(?: [\w.,:=/+-]+)*")
SYSTEM = re.compile(r"set ([\w:]+) ?= ?(-?\w+)")

# The sections of a report: by its title, what the student writes there; "": the draft has it all.
SECTIONS = {
    "Question": "",
    "Prediction": "",
    "Setup": "",
    "Result": "",
    "Noise": "how much the seeds differ, in each column and in the ratio, and what that says about the result",
    "Why": "what explains the ratio: counters of the logs, latencies, a limit of the machine; if the prediction did not hold, "
    "which step of its reason was wrong",
    "Limits": "what this row does not show: other machines, sizes, programs, what the model leaves out",
}
WRITE_HERE = "(Write here: "


class ExperimentError(Exception):
    """What is wrong with a student's experiment, as a sentence."""


class HostError(Exception):
    """Why this computer could not do a run: no fault of the experiment."""


@dataclass(frozen=True)
class Fault:
    test: str  # that fails because of it
    text: str


@dataclass(frozen=True)
class Column:
    title: str
    command: str
    system: str = ""

    def settings(self) -> dict[str, str]:
        """The options of its command and the variables that it sets, with their values."""
        found, key = {}, ""
        for word in self.command.split():
            if word.startswith("-"):
                key, word = word, ""
            found[key] = f"{found.get(key, '')} {word}"
        return found | dict(SYSTEM.fullmatch(part).groups() for part in _parts(self.system))


@dataclass(frozen=True)
class Hypothesis:
    """What hypothesis.toml says."""

    digest: str
    question: str
    machine: str
    metric: str
    seeds: tuple[int, ...]
    columns: dict[str, Column]
    prediction: dict
    boards: int | None
    model: str
    select: dict

    def run(self, column: str, seed: int) -> Run:
        one = self.columns[column]
        return Run(
            self.machine, one.command, one.system, boards=self.boards, model_set=self.model, seed=seed, timeout=TIMEOUT
        )  # fmt: skip

    @property
    def experiment(self) -> str:
        """A digest of what is measured, without what is predicted."""
        return sha256(repr([self.run(column, 0) for column in COLUMNS] + [self.metric, sorted(self.select.items())]))

    def boot(self, column: str, seed: int) -> float:
        """Measure a column once.  ExperimentError if the run has no number, HostError if this computer cannot do it."""
        build()
        one = self.run(column, seed)
        result, log = run.paths(one, 1)
        where = f"[{column}], seed {seed}"
        if run.execute(one, 1, lambda: where) != 0:
            why = run.failure(log) or "no log"
            if "host is too busy" in why:
                raise HostError(f"{where}: {why}; try again")
            why = run.refused(log.read_text(errors="replace")) or why
            raise ExperimentError(f"{where}: {why}; its log is {run.shown(log)}")
        print(f"{where}: its log is {run.shown(log)}", flush=True)
        try:
            found = metrics.select(results.measurements(json.loads(result.read_text())), None, self.select)
            return metrics.METRICS[self.metric].value(found[0])
        except (metrics.MetricError, ValueError) as error:
            raise ExperimentError(f"{where}: {error}; its log is {run.shown(log)}") from None


@dataclass(frozen=True)
class Row:
    """The numbers of both columns, by seed."""

    values: dict[str, dict[int, float]]
    qemu: str
    rev: str
    inputs: dict[str, str]  # by column: digest of the files on which its runs depend

    def median(self, column: str) -> float:
        return statistics.median(self.values[column].values())

    @property
    def ratio(self) -> float:
        return self.median("new") / self.median("base")

    def ratios(self) -> list[float]:
        return [self.values["new"][seed] / base for seed, base in self.values["base"].items()]

    def spread(self, column: str) -> float:
        """The largest minus the smallest value, in percent of the median."""
        numbers = self.values[column].values()
        return 100 * (max(numbers) - min(numbers)) / self.median(column)

    @property
    def has_effect(self) -> bool:
        """Whether the medians differ by more than the seeds do."""
        return 100 * abs(self.ratio - 1) > max(map(self.spread, COLUMNS))

    def numbers(self) -> list[float]:
        """All numbers that follow from the row."""
        found = [self.ratio, 100 * (self.ratio - 1), 100 * (1 - self.ratio), *self.ratios()]
        for column in COLUMNS:
            found += [*self.values[column].values(), self.median(column), self.spread(column)]
        return found


@functools.cache
def build() -> None:
    """Build kernel, programs and model.  HostError if that fails."""
    done = subprocess.run(
        ["make", "-s", "--no-print-directory", "TEST=", "iso", "fireplane"],
        cwd=TOP,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        raise HostError(f"make iso fireplane failed:\n{(done.stdout + done.stderr).strip()}")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _parts(system: str) -> list[str]:
    return [part.strip() for part in system.split(";") if part.strip()]


# ---- hypothesis.toml ---------------------------------------------------------------------------


def _key_faults(where: str, table: dict, kinds: dict[str, type]) -> Iterator[str]:
    for key, value in table.items():
        kind = kinds.get(key)
        fits = isinstance(value, int | float if kind is float else kind or object) and not isinstance(value, bool)
        if kind is None:
            yield f"{where}: there is no key {key}; there are: {', '.join(kinds)}"
        elif not fits:
            names = {str: "a text", int: "a whole number", float: "a number", list: "a list", dict: "a table"}
            yield f"{where}: {key} must be {names[kind]}"
        elif kind is str and not value.strip() and key not in OPTIONAL:
            yield f"{where}: {key} is empty"
        elif kind is float and not (math.isfinite(value) and value > 0):
            yield f"{where}: {key} must be a number above 0"
    for key in kinds:
        if key not in table and key not in OPTIONAL:
            yield f"{where}: {key} is missing"


def _machine_faults(raw: dict) -> Iterator[str]:
    if raw["machine"] not in machine.names():
        yield f"machine: there is no {raw['machine']!r}; there are: {', '.join(machine.names())}"
        return
    try:
        loaded = machine.load(raw["machine"], raw.get("boards"))
        model.parameters(loaded, raw.get("model") or None)
    except MachineError as error:
        yield f"machine: {error}"
        return
    if sum(board.memory_mib > 0 for board in loaded.boards) < 2:
        yield f"machine: {raw['machine']} has memory on one board only, so there is nothing to place"


def _column_faults(name: str, column: dict) -> Iterator[str]:
    command = column["command"]
    if not COMMAND.fullmatch(command) or command.split()[0] not in BENCHES:
        yield f"[{name}]: command must be one of {', '.join(BENCHES)} with its options, without characters of the shell"
    for part in _parts(column.get("system", "")):
        if not SYSTEM.fullmatch(part):
            yield f"[{name}]: system: {part!r} is not of the form set NAME=NUMBER"


def _value_faults(raw: dict) -> Iterator[str]:
    """What is wrong with values whose keys and kinds are right."""
    yield from _machine_faults(raw)
    for name in COLUMNS:
        yield from _column_faults(name, raw[name])
    if raw["base"]["title"] == raw["new"]["title"]:
        yield "[new]: title is that of [base]"
    if raw["metric"] not in metrics.METRICS:
        yield f"metric: there is no {raw['metric']!r}; there are: {', '.join(metrics.METRICS)}"
    seeds = raw["seeds"]
    if not all(type(seed) is int and 0 < seed < 1 << 32 for seed in seeds) or len(set(seeds)) < len(seeds):
        yield "seeds must be different whole numbers from 1 to 4294967295"
    elif not 1 <= len(seeds) <= SEEDS_MOST:
        yield f"seeds: there are {len(seeds)}; at most {SEEDS_MOST} are measured, and at least one"
    least, ratio, most = (raw["prediction"][key] for key in ("least", "ratio", "most"))
    if not least <= ratio <= most:
        yield f"[prediction]: ratio {ratio:g} is not between least {least:g} and most {most:g}"


def _differences(base: Column, new: Column) -> int:
    """In how many options and variables two columns differ."""
    one, other = base.settings(), new.settings()
    return sum(one.get(key) != other.get(key) for key in one.keys() | other.keys())


def faults_of(raw: dict) -> list[Fault]:
    """All that is wrong with the keys of a hypothesis."""
    found = list(_key_faults(FILE, raw, KEYS))
    others = []
    for name, kinds in (("base", COLUMN_KEYS), ("new", COLUMN_KEYS), ("prediction", PREDICTION_KEYS)):
        table = raw.get(name)
        if not isinstance(table, dict):
            continue
        own = [key for key in table if kinds is COLUMN_KEYS and key in OF_THE_FILE]
        others += [Fault("one_machine", f"[{name}]: {key} belongs above the columns: it holds for both") for key in own]
        found += _key_faults(f"[{name}]", {key: value for key, value in table.items() if key not in own}, kinds)
    if not found:
        found += _value_faults(raw)
    if found:
        return [*(Fault("file_is_valid", text) for text in found), *others]
    base, new = (_column(raw[name]) for name in COLUMNS)
    if (number := _differences(base, new)) != 1:
        others.append(Fault("one_change", f"[base] and [new] must differ in one option or variable; they differ in {number}"))
    if len(raw["seeds"]) < SEEDS_LEAST:
        others.append(Fault("several_seeds", f"seeds: {len(raw['seeds'])} show no spread: write {SEEDS_LEAST} or more"))
    prediction = raw["prediction"]
    if prediction["most"] > WIDTH_MOST * prediction["least"]:
        text = f"[prediction]: most is more than {WIDTH_MOST} times least: hardly a result is outside such a range"
        others.append(Fault("prediction_can_be_wrong", text))
    if (number := len(prediction["reason"].split())) < REASON_WORDS:
        text = f"[prediction]: reason has {number} words: write how you calculated the ratio, in {REASON_WORDS} or more"
        others.append(Fault("prediction_has_a_reason", text))
    return others


def _column(table: dict) -> Column:
    return Column(**{key: table.get(key, "") for key in COLUMN_KEYS})


def hypothesis(text: str) -> tuple[Hypothesis | None, list[Fault]]:
    """The hypothesis in the text of a file, or None, and its faults."""
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return None, [Fault("file_is_valid", f"{FILE}: {error or 'it is nested too deeply'}")]
    faults = faults_of(raw)
    if any(fault.test == "file_is_valid" for fault in faults):
        return None, faults
    columns = {name: _column(raw[name]) for name in COLUMNS}
    return Hypothesis(
        sha256(text), raw["question"].strip(), raw["machine"], raw["metric"], tuple(raw["seeds"]), columns, raw["prediction"],
        raw.get("boards"), raw.get("model", ""), raw.get("select", {}),
    ), faults  # fmt: skip


# ---- the log -----------------------------------------------------------------------------------


def entries(text: str) -> list[dict]:
    """The lines of a log.  ExperimentError unless each has the digest of the one before it."""
    found, before = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or entry.get("what") not in ("predict", "measure"):
            raise ExperimentError(f"{LOG}:{number}: that is no line that make lab-predict or make lab-measure writes")
        if entry.get("before") != before:
            raise ExperimentError(f"{LOG}:{number}: a line before it was changed, moved or taken out")
        found.append(entry)
        before = sha256(line)
    return found


def appended(text: str, entry: dict) -> str:
    """A log with one more line."""
    lines = text.splitlines()
    line = json.dumps(entry | {"before": sha256(lines[-1]) if lines else ""}, sort_keys=True)
    return "".join(f"{one}\n" for one in [*lines, line])


def prediction_entry(h: Hypothesis) -> dict:
    return {"what": "predict", "hypothesis": h.digest, "rev": run.revision(), "at": _now()}


def row_entry(h: Hypothesis, row: Row) -> dict:
    return {
        "what": "measure", "hypothesis": h.digest, "experiment": h.experiment, "rev": row.rev, "qemu": row.qemu,
        "inputs": row.inputs, "at": _now(),
        "values": {column: {str(seed): value for seed, value in row.values[column].items()} for column in COLUMNS},
    }  # fmt: skip


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def place_of(log: list[dict], what: str, h: Hypothesis) -> int | None:
    """The place of the first prediction, or of the last row, of a hypothesis in the log."""
    found = [i for i, entry in enumerate(log) if entry["what"] == what and entry.get("hypothesis") == h.digest]
    if not found:
        return None
    return found[0] if what == "predict" else found[-1]


def row_of(log: list[dict], h: Hypothesis) -> Row:
    """The row of a hypothesis.  ExperimentError if there is none, or if it is not whole."""
    place = place_of(log, "measure", h)
    if place is None:
        raise ExperimentError(f"{LOG} has no row of this {FILE}: make lab-measure")
    entry = log[place]
    try:
        values = {c: {seed: float(entry["values"][c][str(seed)]) for seed in h.seeds} for c in COLUMNS}
        row = Row(values, str(entry["qemu"]), str(entry["rev"]), {c: str(entry["inputs"][c]) for c in COLUMNS})
    except (KeyError, TypeError, ValueError):
        raise ExperimentError(f"{LOG}: the row lacks a number of a column and seed") from None
    if not all(math.isfinite(value) and value > 0 for column in values.values() for value in column.values()):
        raise ExperimentError(f"{LOG}: the row has a number that is not above 0, so it has no ratio")
    return row


def inputs_digest(h: Hypothesis, column: str) -> str:
    """A digest of the files on whose contents the runs of a column depend: kernel, program, model, machine."""
    return sha256(" ".join(run.digest(path) for path in run.depends(h.run(column, 0))))


def measured(h: Hypothesis) -> Row:
    """Boot both columns with all seeds."""
    values = {column: {seed: h.boot(column, seed) for seed in h.seeds} for column in COLUMNS}
    return Row(values, qemu_version(), run.revision(), {column: inputs_digest(h, column) for column in COLUMNS})


def repeats(h: Hypothesis, row: Row, column: str, seed: int, found: float) -> bool:
    """Whether a number found again is that of the row.

    Equal files under QEMU 7.2 give equal numbers.  Another build of the kernel or another QEMU is like another seed.
    """
    if row.qemu == qemu_version() and row.qemu.startswith(EXACT_QEMU) and row.inputs[column] == inputs_digest(h, column):
        return found == row.values[column][seed]
    values = row.values[column].values()
    return min(values) * (1 - OTHER_BUILD) <= found <= max(values) * (1 + OTHER_BUILD)


def recorded_again(texts: dict[str, str], order: list[str]) -> dict[str, str]:
    """The files of an answer with a new log: its last row, for the hypothesis as it is now, recorded in this order."""
    old = entries(texts[LOG])[-1]
    h, _ = hypothesis(texts[FILE])
    values = {column: {seed: old["values"][column][str(seed)] for seed in h.seeds} for column in COLUMNS}
    row = Row(values, old["qemu"], old["rev"], old["inputs"])
    made = {"predict": prediction_entry(h), "measure": row_entry(h, row)}
    log = ""
    for what in order:
        log = appended(log, made[what])
    return texts | {LOG: log}


def skeleton() -> dict[str, str]:
    """What a student begins with."""
    return {FILE: (ANSWER / FILE).read_text()}


# ---- the report --------------------------------------------------------------------------------


def sections(report: str) -> dict[str, str]:
    """The text below each heading of level 2, by heading."""
    parts = re.split(r"^## +(.*?) *$", report, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def number(value: float) -> str:
    return f"{value:.6g}"


def verdict(h: Hypothesis, row: Row) -> str:
    return "held" if h.prediction["least"] <= row.ratio <= h.prediction["most"] else "did not hold"


def result_table(h: Hypothesis, row: Row) -> str:
    """The row as a table of Markdown."""
    seeds = [f"seed {seed}" for seed in h.seeds]
    lines = [["", *seeds, "median", "spread"], ["---", *["--:"] * (len(seeds) + 2)]]
    for column in COLUMNS:
        title = h.columns[column].title + (" (base)" if column == "base" else "")
        values = map(number, row.values[column].values())
        lines.append([title, *values, number(row.median(column)), f"{row.spread(column):.2g} %"])
    ratios = [f"{ratio:.3f}" for ratio in row.ratios()]
    lines.append([f"{h.columns['new'].title} / {h.columns['base'].title}", *ratios, f"{row.ratio:.3f}", ""])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def draft(h: Hypothesis, row: Row, recorded: dict) -> str:
    """A report with the numbers of the row, and a line for each thing that the student has to write."""
    p = h.prediction
    commands = "".join(f"    {run.by_hand(h.run(column, h.seeds[0]))}\n" for column in COLUMNS)
    texts = {
        "Question": f"{h.question}\n",
        "Prediction": f"The ratio of {h.columns['new'].title} to {h.columns['base'].title} is {p['ratio']:g}, and lies between "
        f"{p['least']:g} and {p['most']:g}.\nRecorded {recorded['at']} at {recorded['rev']}, before the row.\n\n"
        f"{p['reason'].strip()}\n",
        "Setup": f"Metric: {h.metric}. Measured at {row.rev} with QEMU {row.qemu}. "
        f"The commands, with the first seed:\n\n{commands}",
        "Result": f"{h.metric}:\n\n{result_table(h, row)}\nPredicted: {p['ratio']:g} ({p['least']:g} to {p['most']:g}). "
        f"Measured: {row.ratio:.3f}.\n\nVerdict: {verdict(h, row)}\n",
    }
    parts = [f"## {title}\n\n{texts.get(title) or f'{WRITE_HERE}{what}.){chr(10)}'}" for title, what in SECTIONS.items()]
    return "\n".join(["# Experiment\n", *parts])


# ---- commands ----------------------------------------------------------------------------------


def read(path: Path) -> str:
    """The text of a file of the answer.  ExperimentError if it is missing or no text."""
    try:
        return regions.read(path)
    except OSError as error:
        raise ExperimentError(f"{path.name}: {error.strerror}") from None
    except regions.RegionError as error:
        raise ExperimentError(str(error)) from None


def _predict(h: Hypothesis, text: str) -> None:
    log = entries(text)
    if place_of(log, "predict", h) is None:
        text = appended(text, prediction_entry(h))
        (ANSWER / LOG).write_text(text)
    place = place_of(entries(text), "predict", h)
    print(f"the prediction is line {place + 1} of {run.shown(ANSWER / LOG)}; its digest is {sha256(text.splitlines()[place])}")


def _measure(h: Hypothesis, text: str) -> None:
    if place_of(entries(text), "predict", h) is None:
        raise ExperimentError(f"{LOG} has no prediction of this {FILE}: make lab-predict comes before make lab-measure")
    row = measured(h)
    (ANSWER / LOG).write_text(appended(text, row_entry(h, row)))
    print(f"{result_table(h, row)}predicted {h.prediction['ratio']:g}, measured {row.ratio:.3f}: it {verdict(h, row)}")
    if not row.has_effect:
        print("the columns differ by no more than the seeds do: an effect that is not larger than the spread is no effect")


def _report(h: Hypothesis, text: str) -> None:
    log = entries(text)
    row, place = row_of(log, h), place_of(log, "predict", h)
    if place is None:
        raise ExperimentError(f"{LOG} has no prediction of this {FILE}")
    if (ANSWER / REPORT).exists():
        raise ExperimentError(f"{run.shown(ANSWER / REPORT)} exists: move it away, so that a draft does not replace your text")
    (ANSWER / REPORT).write_text(draft(h, row, log[place]))
    print(f"{run.shown(ANSWER / REPORT)}: write what stands in brackets there")


def main(words: Iterable[str]) -> int:
    commands = {"predict": _predict, "measure": _measure, "report": _report}
    words = list(words)
    if len(words) != 1 or words[0] not in commands:
        print(f"experiment: write one of {', '.join(commands)}", file=sys.stderr)
        return 2
    try:
        h, faults = hypothesis(read(ANSWER / FILE))
        for fault in faults:
            print(f"experiment: {fault.text}", file=sys.stderr)
        if h is None or faults:
            return 1
        commands[words[0]](h, read(ANSWER / LOG) if (ANSWER / LOG).exists() else "")
    except (ExperimentError, HostError, MachineError) as error:
        print(f"experiment: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("experiment: stopped, nothing was written", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
