# SPDX-License-Identifier: MIT
"""definition.py - read and check the definition of the experiments: tools/experiments/paper.toml.

An experiment is a row of a table.  It runs a benchmark once for each variant (with and without memory placement), reads a
number from each run, and compares them.  The head of the file has settings for all experiments (seed, repeat, and keys
of [[group.experiment]]).  Then follow

    [variant.NAME]      something to compare:
      title, system     as printed; /etc/system lines that it adds
      os, balancing     "homeroom" (the default) or "linux"; for linux, NUMA balancing: true or false
    [condition.NAME]    circumstances under which all variants are run; an experiment lists some, its headline first:
      title, why        as printed
      option            is added to the command, for all variants
      system            /etc/system lines, for all variants except the first, the base
    [hypothesis.NAME]   title, set (model parameters), why: a change of the model that is also run, for experiments that
                        list it
      sensitivity       true: it only shows how much results depend on a parameter; these have a table of their own
    [[fitted]]          parameter, what, source: a default value that was chosen so that it fits a number of the paper
    [table.NUMBER]      title, text: a table of the paper (or a claim in its text)
      curve             true: draw it over the number of threads
    [[group]]           keys for all experiments of the group
    [[group.experiment]]
      name, row         name for make experiment-NAME; name of the row in the tables
      threads           numbers: an experiment for each, with -N after its name; the number replaces {threads} in `run`
      full              true: run it only with FULL=1, or if it is named
      tables            the tables to which it belongs; the first is its place in results.csv
      overlay           a tree that is added to the root file system: build/openmp
      machine, boards, mem, run, system, set       the run, with the names of make's variables (set: MODEL_SET)
      model             false: without the interconnect model (for counts of pages)
      starts            number of times that a boot starts the program, one after the other; the median counts
      variants          two names: the base, and the variant that is compared with it; `more`: names of others to show
      bench, select     the `result:` line to use, if a run prints several: its bench= and other keys
      metric, unit      the number to read from it (metrics.py)
      times             factor for the number, because the paper's problem is so many times as large as ours
      compare           "rate": higher is better; "time": lower is better; "points": percentage points by which it falls;
                        "none": nothing is compared
      conditions        names of [condition]; the first is the headline of the row
      paper             the paper's numbers, by variant, and `compare`; results.py has the rule that judges ours
      lgroups           the paper's pages in each lgroup, with MPO
      known             true: the paper's program is known, so absolute values are judged
      band              [least, most] that are accepted, if the paper has no number; `linux`: for the gain over the
                        better Linux
      hypotheses        names of [hypothesis] that are also run with the headline, with FULL=1
      map               true: draw the traffic between boards
      repeat            number of runs, in place of the file's `repeat` if it is less; each has another seed
      quick             true: part of `make experiments QUICK=1`
      timeout           seconds that a boot may take; Linux gets three times as many
      note              a sentence for the report

Facts about machines are in qemu/machines/*.toml.
"""

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from homeroom import machine
from homeroom.experiments import metrics
from homeroom.machine import TOP

FOLDER = TOP / "tools/experiments"
COMPARE = {"rate": "%", "time": "%", "points": "points", "none": ""}
LINUX_PATIENCE = 3  # factor for time limits: a boot of Linux takes as long as most runs of Homeroom
OPTIONAL = {
    "boards": int, "mem": str, "system": str, "set": str, "model": bool, "more": list, "bench": str, "select": dict,
    "paper": dict, "band": dict, "hypotheses": list, "map": bool, "quick": bool, "note": str, "timeout": int,
    "repeat": int, "starts": int, "times": int, "conditions": list, "known": bool, "full": bool,
    "lgroups": list, "overlay": str,
}  # fmt: skip
REQUIRED = {
    "name": str, "row": str, "tables": list, "machine": str, "run": str, "variants": list, "metric": str, "unit": str,
    "compare": str,
}  # fmt: skip


class DefinitionError(Exception):
    """The definition is wrong; the text is one line that says where and how."""


@dataclass(frozen=True)
class Variant:
    name: str
    title: str
    system: str = ""
    os: str = "homeroom"
    balancing: bool = False


@dataclass(frozen=True)
class Hypothesis:
    name: str
    title: str
    set: str
    why: str
    sensitivity: bool = False


@dataclass(frozen=True)
class Condition:
    name: str
    title: str
    why: str
    option: str = ""
    system: str = ""


@dataclass(frozen=True)
class Fitted:
    parameter: str
    what: str
    source: str


@dataclass(frozen=True)
class Run:
    """One boot: everything on which its result depends, except the contents of files."""

    machine: str
    command: str
    system: str = ""
    boards: int | None = None
    mem: str | None = None
    overlay: str = ""
    model_set: str = ""
    model: bool = True
    os: str = "homeroom"
    balancing: bool = False
    seed: int = 1
    timeout: int = 300

    def key(self, inputs: str = "") -> str:
        """The name of the run's files.  Experiments that need the same run get the same name.

        `inputs`: the digests of the files on which the run depends.
        """
        digest = hashlib.sha256(json.dumps([vars(self), inputs], sort_keys=True).encode()).hexdigest()
        words = re.sub(r"[^A-Za-z0-9]+", "-", self.command).strip("-")
        return f"{self.machine}-{words[:40].rstrip('-')}-{digest[:12]}"


@dataclass
class Experiment:
    name: str
    row: str
    tables: list[str]
    machine: str
    run: str
    variants: list[str]
    metric: str
    unit: str
    compare: str
    more: list[str] = field(default_factory=list)
    boards: int | None = None
    mem: str | None = None
    overlay: str = ""
    system: str = ""
    set: str = ""
    model: bool = True
    bench: str | None = None
    select: dict = field(default_factory=dict)
    paper: dict = field(default_factory=dict)
    band: dict = field(default_factory=dict)
    hypotheses: list[str] = field(default_factory=list)
    map: bool = False
    quick: bool = False
    note: str = ""
    timeout: int = 300
    repeat: int | None = None
    starts: int = 1
    times: int = 1
    conditions: list[str] = field(default_factory=list)
    known: bool = False
    full: bool = False
    lgroups: list[int] = field(default_factory=list)

    @property
    def headline(self) -> str | None:
        return self.conditions[0] if self.conditions else None


def _started(command: str, starts: int) -> str:
    """A command line that runs a command `starts` times, one after the other, until one fails."""
    return command if starts == 1 else f"for i in {' '.join(map(str, range(1, starts + 1)))}; do {command} || exit; done"


@dataclass
class Suite:
    """A definition file."""

    path: Path
    seed: int
    repeat: int
    variants: dict[str, Variant]
    hypotheses: dict[str, Hypothesis]
    conditions: dict[str, Condition]
    fitted: list[Fitted]
    tables: dict[str, dict]
    experiments: list[Experiment]

    def pick(self, names: list[str] | None = None, quick: bool = False, full: bool = True) -> list[Experiment]:
        """The experiments to run: those in `names`, or without names all; without `full` only those that are not marked
        full, with `quick` only those marked quick.  DefinitionError for an unknown name."""
        known = [e.name for e in self.experiments]
        for name in names or []:
            if name not in known:
                raise DefinitionError(f"no experiment '{name}'; there are: {', '.join(known)}")
        chosen = [e for e in self.experiments if e.name in names] if names else self.experiments
        chosen = [e for e in chosen if full or names or not e.full]
        return [e for e in chosen if e.quick] if quick and not names else chosen

    def run_of(self, e: Experiment, variant: str, hypothesis: str | None = None, condition: str | None = None) -> Run:
        """The run for a variant of an experiment.  Without a condition it is that of the headline; Linux has no conditions."""
        v = self.variants[variant]
        name = condition or e.headline
        c = self.conditions[name] if name and v.os == "homeroom" else None
        sets = [e.set, self.hypotheses[hypothesis].set if hypothesis else ""]
        base = len(e.variants) > 1 and variant == e.variants[0]
        systems = (e.system, v.system, c.system if c and not base else "")
        return Run(
            machine=e.machine,
            command=_started(" ".join(filter(None, (e.run, c.option if c else ""))), e.starts),
            system="; ".join(filter(None, systems)) if v.os == "homeroom" else "",
            boards=e.boards,
            mem=e.mem,
            overlay=e.overlay,
            model_set="; ".join(filter(None, sets)) if e.model else "",
            model=e.model,
            os=v.os,
            balancing=v.balancing,
            seed=self.seed,
            timeout=e.timeout * (LINUX_PATIENCE if v.os == "linux" else 1),
        )

    def variants_of(self, e: Experiment, peer: bool) -> list[str]:
        """The variants to run; variants of Linux only with `peer`."""
        return [v for v in [*e.variants, *e.more] if peer or self.variants[v].os == "homeroom"]

    def cases(self, e: Experiment, peer: bool, full: bool) -> list[tuple[str, str | None, str | None]]:
        """All runs of an experiment, as (variant, hypothesis, condition); the headline's condition is None."""
        found: list[tuple[str, str | None, str | None]] = [(v, None, None) for v in self.variants_of(e, peer)]
        found += [(v, None, c) for c in e.conditions[1:] for v in e.variants]
        return found + [(v, h, None) for h in e.hypotheses if full for v in e.variants]

    def repeats(self, e: Experiment, variant: str, hypothesis: str | None, condition: str | None = None) -> int:
        """The number of repetitions of a run.  Only the headline is repeated, to measure the spread; Linux is too slow."""
        once = hypothesis or condition or self.variants[variant].os == "linux"
        return 1 if once else min(e.repeat or self.repeat, self.repeat)

    def runs(self, experiments: list[Experiment], peer: bool = False, full: bool = True) -> list[tuple[Run, int]]:
        """All different runs that the experiments need, with their number of repetitions; `full`: also hypotheses."""
        found: dict[str, tuple[Run, int]] = {}
        for e in experiments:
            for case in self.cases(e, peer, full):
                run, repeats = self.run_of(e, *case), self.repeats(e, *case)
                found[run.key()] = run, max(repeats, found.get(run.key(), (run, 0))[1])
        return list(found.values())


def _made(kind: type, where: str, *name: str, **value: str) -> object:
    """kind(*name, **value), with DefinitionError for a missing or unknown key."""
    try:
        return kind(*name, **value)
    except TypeError as error:
        raise DefinitionError(f"{where}: {re.sub(r'^.*__init__.. ', '', str(error))}") from None


def _dicts(raw: dict, name: str, where: str) -> list[dict]:
    """Take the array of tables [[name]] out of `raw`."""
    several = raw.pop(name, [])
    if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):
        raise DefinitionError(f"{where}: write [[{name}]], and its keys below")
    return several


def _named(raw: dict, name: str, where: str) -> dict[str, dict]:
    """Take the tables [name.KEY] out of `raw`, by KEY."""
    several = raw.pop(name, {})
    if not isinstance(several, dict) or not all(isinstance(one, dict) for one in several.values()):
        raise DefinitionError(f"{where}: write [{name}.NAME], and its keys below")
    return several


def _table(raw: dict, name: str, kind: type, where: str) -> dict:
    return {key: _made(kind, f"{where}: [{name}.{key}]", key, **one) for key, one in _named(raw, name, where).items()}


def _list(raw: dict, name: str, kind: type, where: str) -> list:
    return [_made(kind, f"{where}: [[{name}]]", **one) for one in _dicts(raw, name, where)]


def _count(value: object, name: str, where: str, least: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise DefinitionError(f"{where}: {name} = {value!r}: write a number, {least} at least")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _each_thread(raw: dict) -> list[dict]:
    """The experiments for each number in `threads`; without this key, the one experiment."""
    numbers = raw.pop("threads", None)
    if numbers is None:
        return [raw]
    own = {"name": "{name}-{threads}", "row": "{row}, {threads} thread{s}", "run": "{run}"}
    out = []
    for n in numbers:
        run = raw.get("run", "").replace("{threads}", str(n))
        words = raw | {"run": run, "threads": n, "s": "" if n == 1 else "s"}
        out.append(raw | {key: text.format_map(words) for key, text in own.items() if key in raw})
    return out


def _experiment(raw: dict, suite: Suite, where: str) -> Experiment:
    """Check the keys of an experiment.  DefinitionError for the first fault; `where` begins its text."""
    for key, value in raw.items():
        kind = REQUIRED.get(key) or OPTIONAL.get(key)
        if kind is None:
            raise DefinitionError(f"{where}: unknown key '{key}'")
        if not isinstance(value, kind):
            raise DefinitionError(f"{where}: {key} = {value!r}: write a {kind.__name__}")
    if missing := [key for key in REQUIRED if key not in raw]:
        raise DefinitionError(f"{where}: '{missing[0]}' is missing")
    e = Experiment(**raw)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", e.name):
        raise DefinitionError(f"{where}: name = {e.name!r}: letters, digits, and . _ - after the first")
    if not e.tables:
        raise DefinitionError(f"{where}: tables = []: name one")
    for name in ("timeout", "times", "starts", *(["repeat"] if e.repeat is not None else [])):
        _count(getattr(e, name), name, where)
    for name, value in e.paper.items():
        if not _is_number(value):
            raise DefinitionError(f"{where}: paper {name} = {value!r}: write a number")
    if e.compare not in COMPARE:
        raise DefinitionError(f"{where}: compare = '{e.compare}'; there are {', '.join(COMPARE)}")
    if e.metric not in metrics.METRICS:
        raise DefinitionError(f"{where}: metric = '{e.metric}'; there are {', '.join(metrics.METRICS)}")
    if len(e.variants) != 2 and e.compare != "none":
        raise DefinitionError(f"{where}: variants = {e.variants}: name two, the base and what is compared with it")
    for names, known, what in (
        (e.variants + e.more, suite.variants, "variant"),
        (e.hypotheses, suite.hypotheses, "hypothesis"),
        (e.conditions, suite.conditions, "condition"),
        (e.tables, suite.tables, "table"),
        ([*e.paper, *e.band], [*suite.variants, "compare", "linux"], "variant"),
    ):
        for name in names:
            if name not in known:
                raise DefinitionError(f"{where}: no {what} '{name}'; there are: {', '.join(known)}")
    for name, limits in e.band.items():
        if name in e.paper:
            raise DefinitionError(f"{where}: band {name}: the paper has a number, so the rule for all rows judges")
        if not isinstance(limits, list) or len(limits) != 2 or not all(map(_is_number, limits)) or limits[0] > limits[1]:
            raise DefinitionError(f"{where}: band {name} = {limits}: write [least, most]")
    try:
        machine.load(e.machine, e.boards, e.mem)
    except machine.MachineError as error:
        raise DefinitionError(f"{where}: {error}") from None
    return e


def load(path: Path) -> Suite:
    """Read and check a definition file.  DefinitionError for the first fault."""
    try:
        raw = tomllib.loads(path.read_text())
    except OSError as error:
        raise DefinitionError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{path}: {error}") from None
    where, tables = str(path), _named(raw, "table", str(path))
    for name, table in tables.items():
        if not isinstance(table.get("title"), str):
            raise DefinitionError(f"{where}: [table.{name}]: 'title' is missing")
    suite = Suite(
        path,
        _count(raw.pop("seed", 1), "seed", where, 0),
        _count(raw.pop("repeat", 1), "repeat", where),
        _table(raw, "variant", Variant, where),
        _table(raw, "hypothesis", Hypothesis, where),
        _table(raw, "condition", Condition, where),
        _list(raw, "fitted", Fitted, where),
        tables,
        [],
    )
    for group in _dicts(raw, "group", where):
        for own in (one for several in _dicts(group, "experiment", where) for one in _each_thread(several)):
            where = f"{path.name}: experiment '{own.get('name', '?')}'"
            suite.experiments.append(_experiment({**raw, **group, **own}, suite, where))
    names = [e.name for e in suite.experiments]
    if not names:
        raise DefinitionError(f"{path.name}: it contains no experiment")
    if double := {n for n in names if names.count(n) > 1}:
        raise DefinitionError(f"{path.name}: two experiments are called '{min(double)}'")
    return suite
