# SPDX-License-Identifier: MIT
"""beside.py - compare Homeroom with Linux: the same programs on the same machine with the same disks.

THEORY      Both systems boot in QEMU and run the same static programs.  tools/experiments/beside.toml lists the parts.  A
            part has a machine, disks and runs.  A run is one boot of each system; the guest's shell executes the `setup`
            of the part and the `command` of the run.  The result is the page docs/results/beside.md.
              part     title, about (for the page), disks (names of [disk.*], in order), machine (sf280r),
                       memory = {homeroom=, linux=}, system (more lines of /etc/system), swap, threads (single),
                       timeout (600 s), setup
              run      title, command, quick (the command with QUICK=1; a run without it is left out then), figures (names
                       of [part.X.figure]), rows (row= of result lines, or the name of a list of the part), quick_rows
              figure   title, unit, better ("less", or "more"), factor, bench (or that of all figures of the part)
            Each disk gets one command at a time (disk_depth=1, PEER_DEPTH=1) and has one queue, so the guest determines
            the order of requests.  Otherwise Linux has its own defaults.
            The name of a result's file contains a digest of everything on which the run depends; titles and figures
            are not part of it.  So a run that has succeeded is not repeated, and the page shows all results that
            exist.  Without Linux's kernel, the page shows the figures of tools/experiments/beside-linux.json (written
            with STORE=1), and marks them.
            Times are those of the guest.  A disk with scale=N is N times as fast as its model.
            A line of each row says which share of its time the host gave QEMU a processor (patience.py): host.ROW.got.
            A kernel that calibrates its clock on a busy host may get a wrong result, and then all its times are wrong.
            So each run prints its uptime before and after its command, and fails if the difference does not agree
            with the host's clock.
INVARIANTS  I1  a run that failed leaves a log and no result
            I2  the page shows a figure without a result as not measured
USAGE       make experiment-beside [SEEDS=3] [QUICK=1] [ROWS='stream ddt'] [STORE=1]
SEE ALSO    docs/experiments.md, docs/peer.md, user/bench/beside.c, fsio.c, latency.c, callcost.c
"""

import datetime
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import statistics
import sys
import time
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path

from homeroom import guest, machine, peer
from homeroom.experiments import ddt, run, storage
from homeroom.machine import TOP, MachineError
from homeroom.patience import kept_waiting

DEFINITION = TOP / "tools/experiments/beside.toml"
STORED = TOP / "tools/experiments/beside-linux.json"
PAGE = TOP / "docs/results/beside.md"
OUT = run.OUT / "beside"
SYSTEMS = {"homeroom": "Homeroom", "linux": "Linux"}
COLOURS = {"homeroom": "#1f5f99", "linux": "#d9a55b"}
EQUAL = 0.03  # figures that differ by less count as equal
PLUGIN = TOP / "build/refdisk.so"
CLOCK = 0.05  # share by which the guest's clock may differ from the host's
CLOCK_SECONDS = 1.0  # and seconds in addition, because the host may read a line late


@dataclass
class Figure:
    name: str  # of the result: BENCH.key, BENCH.row.key
    title: str
    unit: str
    better: str = "less"
    factor: float = 1.0


@dataclass
class Run:
    """One boot on each system."""

    part: str
    name: str
    title: str
    command: str  # with the part's setup
    figures: list[Figure]
    machine: str = "sf280r"
    memory: dict[str, str] = field(default_factory=dict)
    disks: list[str] = field(default_factory=list)
    system: str = ""
    swap: str | None = None
    threads: str = "single"
    timeout: int = 600

    @property
    def label(self) -> str:
        return f"{self.part}/{self.name}"


@dataclass
class Part:
    name: str
    title: str
    about: str
    runs: list[Run]


def expand_figures(part: dict, one: dict, rows: list[str]) -> list[Figure]:
    """The figures of a run, for each of its rows."""
    table = dict(part["figure"])
    common = table.pop("bench", None)
    found = []
    for row in rows or [""]:
        for key in one["figures"]:
            words = dict(table[key])
            bench = words.pop("bench", common)
            name = ".".join(filter(None, (bench, row, key)))
            title = words.pop("title")
            found.append(Figure(name, f"{row}: {title}" if row else title, **words))
    return found


def load(quick: bool, path: Path = DEFINITION) -> tuple[dict, list[Part]]:
    """The disks and parts of the definition; with `quick`, only the runs with a quick command, and this command."""
    raw = tomllib.loads(path.read_text())
    parts = []
    for name, part in raw["part"].items():
        runs = []
        for run_name, one in part["run"].items():
            if quick and "quick" not in one:
                continue
            command = one["quick"] if quick else one["command"]
            rows = one.get("rows", [])
            rows = part[rows] if isinstance(rows, str) else rows
            rows = one.get("quick_rows", rows) if quick else rows
            keys = ("machine", "memory", "disks", "system", "swap", "threads", "timeout")
            options = {key: part[key] for key in keys if key in part}
            setup = part.get("setup", "").strip()
            text = f"{setup}\n{command}" if setup else command
            runs.append(Run(name, run_name, one["title"], text, expand_figures(part, one, rows), **options))
        parts.append(Part(name, part["title"], part["about"], runs))
    return {"seed": raw["seed"], **raw["disk"]}, parts


# ---- reading -----------------------------------------------------------------------------------------------------------------


def parse(text: str) -> dict[str, str]:
    """The values of result lines, as BENCH.key, or BENCH.row.key for a line with row=."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("result: "):
            continue
        words = dict(word.split("=", 1) for word in line.split()[1:] if "=" in word)
        begin = [words.pop("bench", ""), *([words.pop("row")] if "row" in words else [])]
        found |= {".".join([*begin, key]): value for key, value in words.items()}
    return found


def read_figures(found: dict[str, str], figures: list[Figure]) -> dict[str, float]:
    """The figures of a run, from the values of parse().  MachineError if the run did not print all of them."""
    if missing := [f.name for f in figures if f.name not in found]:
        raise MachineError(f"it printed no {', '.join(missing[:3])}{' and more' if len(missing) > 3 else ''}")
    try:
        return {f.name: float(found[f.name]) * f.factor for f in figures}
    except ValueError as error:
        raise MachineError(f"a figure is not a number: {error}") from None


# ---- running -----------------------------------------------------------------------------------------------------------------


def have_linux() -> bool:
    """Whether Linux's kernel, modules and initramfs are there."""
    return all(path.is_file() for path in (peer.KERNEL, peer.MODULES, peer.INITRAMFS))


def depends(one: Run, system: str) -> list[Path]:
    """The files on whose contents the result of a run depends, besides its definition."""
    files = [TOP / "build/user/bench" / word for word in dict.fromkeys(re.findall(r"[\w-]+", one.command))]
    files = [path for path in files if path.is_file()]
    if "ddt" in one.command:
        files.append(TOP / "build/user/ondisk/ddt")
    if system == "linux":
        files += [peer.KERNEL, peer.MODULES, *sorted((TOP / "build/peer/bin").glob("*"))]
    else:
        files += [TOP / "build/kernel.elf", TOP / "build/user/bin/init"]
    return [*files, machine.find(one.machine), *([PLUGIN] if one.disks else [])]


def key(one: Run, system: str, disks: dict) -> str:
    """The name of a run's result, with the digest of everything on which it depends."""
    models = [TOP / f"qemu/refdisk/{disks[name].get('model', 'ibm0661')}.toml" for name in one.disks]
    shape = {name: value for name, value in asdict(one).items() if name not in ("title", "figures")}
    words = json.dumps([shape, system, [disks[name] for name in one.disks]], sort_keys=True)
    words += " ".join(run.digest(path) for path in [*depends(one, system), *models])
    return f"{one.part}-{one.name}-{system}-{hashlib.sha256(words.encode()).hexdigest()[:12]}"


def build_disk(name: str, words: dict, folder: Path) -> Path:
    """The image of a disk; it is made only once in the folder."""
    image = folder / f"{name}.img"
    if image.exists():
        return image
    if words.get("layout") == "ddt":
        (folder / name).mkdir()
        ddt.build_disk(folder / name)
        (folder / name / "disk.img").rename(image)
        return image
    tree = folder / name
    tree.mkdir()
    for file, mib in words.get("files", {}).items():
        (tree / file).write_bytes(random.Random(file).randbytes(mib << 20))
    for file, program in words.get("programs", {}).items():
        path = shutil.which(program)
        if path is None:
            raise MachineError(f"{program} is missing: tools/deps.sh run")
        shutil.copy(path, tree / file)
    return storage.make_disk(image, words["mib"], tree)


def describe_disk(words: dict, image: Path) -> str:
    """The description of a disk for guest.Options.disks."""
    if "scale" not in words:
        return f"{image},queues=1"
    return f"refdisk:{image},model={words.get('model', 'ibm0661')},scale={words['scale']},queues=1"


def boot(one: Run, system: str, seed: int, disks: dict, folder: Path) -> tuple[guest.Outcome, str]:
    """Boot a system with new copies of the disks and do a run.  Returns how it ended, and the console's output."""
    described = []
    for number, name in enumerate(one.disks):
        image = folder / f"now{number}.img"
        shutil.copy(build_disk(name, disks[name], folder), image)
        described.append(describe_disk(disks[name], image))
    uptime = "$(cut -d' ' -f1 /proc/uptime)"
    command = f'echo "result: bench=system release=$(uname -r) begin={uptime}"; (\n{one.command}\n); status=$?; '
    command += f'echo "result: bench=system end={uptime}"; exit $status'
    options = guest.Options(run=command, seed=seed, disks=described, swap=one.swap, threads=one.threads, speed=2.0)
    chosen = machine.load(one.machine, memory=one.memory.get(system))
    if system == "linux":
        started = peer.Peer(chosen, options, depth=1 if described else None)
    else:
        options.system = "; ".join(filter(None, ("set disk_depth=1" if described else "", one.system))) or None
        started = guest.Guest(chosen, options)
    samples: list[tuple[float, float]] = []  # for each result line: the host's time, and how long QEMU has been kept waiting

    def watch(_: bytes) -> None:
        if new := len(re.findall(rb"^result: ", started.console, re.M)) - len(samples):
            samples.extend([(time.monotonic(), kept_waiting(started.pid))] * new)

    started.on_console = watch
    try:
        outcome = started.start().wait(one.timeout)
    finally:
        started.close()
    text = started.text()
    if outcome.status == 0:
        seen = list(zip(re.findall(r"^result: .*", text, re.M), samples, strict=True))
        check_clock(parse(text), [when for line, (when, _) in seen if " bench=system " in line])
        text += "".join(host_lines(seen))
    return outcome, text


def host_lines(seen: list[tuple[str, tuple[float, float]]]) -> list[str]:
    """A result line of the host for each row: the share of the time since the last line that QEMU was not kept waiting."""
    lines = []
    for (_, (began, before)), (line, (ended, after)) in itertools.pairwise(seen):
        if (row := re.search(r" row=(\S+)", line)) and ended - began > after - before >= 0:
            lines.append(f"result: bench=host row={row[1]} got={1 - (after - before) / (ended - began):.3f}\n")
    return lines


def check_clock(values: dict[str, str], seen: list[float]) -> None:
    """Raise MachineError if the guest's clock was faster or slower than the host's."""
    if len(seen) != 2 or "system.begin" not in values or "system.end" not in values:
        raise MachineError("it did not print its uptime twice")
    theirs, real = float(values["system.end"]) - float(values["system.begin"]), seen[1] - seen[0]
    if abs(theirs - real) > CLOCK * real + CLOCK_SECONDS:
        raise MachineError(f"the guest's clock is wrong: it counted {theirs:.1f} s in {real:.1f} s of the host")


def execute(one: Run, system: str, repetition: int, disks: dict, folder: Path) -> str:
    """Do a run and write its result.  Returns "", or the reason why there is no result (I1)."""
    base = OUT / f"{key(one, system, disks)}.{repetition}"
    log = base.with_suffix(f"{base.suffix}.log")
    text = ""
    try:
        outcome, text = boot(one, system, disks["seed"] + repetition - 1, disks, folder)
        if message := outcome.message(True):
            raise MachineError(message)
        if outcome.status != 0:
            said = [line for line in text.splitlines() if line.strip() and not line.startswith("result: ")]
            raise MachineError(f"status {outcome.status}{': ' + said[-1].strip() if said else ''}")
        values = parse(text)
        read_figures(values, one.figures)
    except (MachineError, OSError) as error:
        log.write_text(f"{text}\n{error}\n")
        return f"{one.label} on {SYSTEMS[system]}: {str(error).splitlines()[0]} ({run.shown(log)})"
    log.write_text(text)
    found = {
        "run": one.label,
        "values": values,
        "date": datetime.date.today().isoformat(),
        "kernel": values["system.release"],
        "load": round(os.getloadavg()[0], 1),  # of the host, this run included
        "qemu": guest.qemu_version(),
        "rev": run.revision(),
    }
    part = base.with_suffix(f"{base.suffix}.part")
    part.write_text(json.dumps(found, indent=1) + "\n")
    part.rename(base.with_suffix(f"{base.suffix}.json"))
    return ""


# ---- results -----------------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    """The result of a run on one system; `figures` has a value for each repetition."""

    figures: dict[str, list[float]]
    dates: list[str]
    kernels: list[str]
    loads: list[float] = field(default_factory=list)  # load averages of the host, if they were recorded
    stored: bool = False


def collect(one: Run, system: str, seeds: int, disks: dict) -> Result | None:
    """The measured result of a run, from its files; None if there are none."""
    paths = [OUT / f"{key(one, system, disks)}.{i}.json" for i in range(1, seeds + 1)]
    files = [json.loads(path.read_text()) for path in paths if path.is_file()]
    if not files:
        return None
    read = [read_figures(file["values"], one.figures) for file in files]
    figures = {f.name: [values[f.name] for values in read] for f in one.figures}
    loads = [f["load"] for f in files if "load" in f]
    return Result(figures, sorted({f["date"] for f in files}), sorted({f["kernel"] for f in files}), loads)


def stored(one: Run, quick: bool, path: Path = STORED) -> Result | None:
    """Linux's stored figures of a run; None if there are none, or if its command has changed since then."""
    if not path.is_file():
        return None
    found = json.loads(path.read_text()).get("quick" if quick else "full", {}).get(one.label)
    if found is None or found["command"] != one.command or any(f.name not in found["figures"] for f in one.figures):
        return None
    return Result(found["figures"], [found["date"]], [found["kernel"]], found.get("loads", []), stored=True)


def store(runs: list[Run], results: dict, quick: bool, path: Path = STORED) -> int:
    """Store Linux's measured figures of these runs in the file.  Returns the number of runs."""
    held = json.loads(path.read_text()) if path.is_file() else {}
    size, count = held.setdefault("quick" if quick else "full", {}), 0
    for one in runs:
        result = results.get((one.label, "linux"))
        if result is not None and not result.stored:
            words = {"date": result.dates[-1], "kernel": result.kernels[-1], "loads": result.loads, "command": one.command}
            size[one.label] = {**words, "figures": result.figures}
            count += 1
    path.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n")
    return count


# ---- the page ----------------------------------------------------------------------------------------------------------------


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def shown(result: Result | None, name: str, spread: bool = True) -> str:
    """A figure as text: the median, and with several values the smallest and the largest in brackets (I2)."""
    if result is None:
        return "not measured"
    values = result.figures[name]
    text = number(statistics.median(values))
    if spread and len(values) > 1:
        text += f" ({number(min(values))} to {number(max(values))})"
    return f"{text} *" if result.stored and spread else text


def worse(figure: Figure, ours: float, theirs: float) -> float | None:
    """The factor by which our value is worse; None if it is not worse by more than EQUAL."""
    bad, good = (ours, theirs) if figure.better == "less" else (theirs, ours)
    if bad <= good * (1 + EQUAL):
        return None
    return bad / good if good > 0 else float("inf")


def losses(part: Part, results: dict) -> list[str]:
    """A sentence for each figure that is worse on Homeroom."""
    found = []
    for one in part.runs:
        ours, theirs = (results.get((one.label, system)) for system in SYSTEMS)
        if ours is None or theirs is None:
            continue
        for figure in one.figures:
            a, b = statistics.median(ours.figures[figure.name]), statistics.median(theirs.figures[figure.name])
            if (times := worse(figure, a, b)) is not None:
                much = "none on Linux" if times == float("inf") else f"{times:.2f} times as {_bad(figure)}"
                words = f"{number(a)} {figure.unit} against {number(b)}, {much}"
                found.append(f"Homeroom loses: {one.title}: {figure.title}: {words}.")
    return found


def _bad(figure: Figure) -> str:
    return "much" if figure.better == "less" else "little"


def table(part: Part, results: dict) -> list[str]:
    """The lines of a part's Markdown table."""
    lines = ["| run | figure | Homeroom | Linux | unit |", "|---|---|--:|--:|---|"]
    for one in part.runs:
        ours, theirs = (results.get((one.label, system)) for system in SYSTEMS)
        for figure in one.figures:
            cells = (one.title, figure.title, shown(ours, figure.name), shown(theirs, figure.name), figure.unit)
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def plot(part: Part, results: dict, folder: Path) -> Path | None:
    """Draw the medians of both systems as bars, a panel for each unit.  Returns the file; None if nothing was measured."""
    bars: dict[str, list[tuple[str, dict[str, float]]]] = {}
    for one in part.runs:
        have = {system: results[one.label, system] for system in SYSTEMS if results.get((one.label, system))}
        for figure in one.figures if have else []:
            values = {system: statistics.median(r.figures[figure.name]) for system, r in have.items()}
            bars.setdefault(figure.unit, []).append((f"{one.title}: {figure.title}", values))
    if not bars:
        return None
    from homeroom.experiments import plots  # matplotlib takes a second to load

    heights = [len(rows) for rows in bars.values()]
    fig, axes = plots.plt.subplots(
        len(bars), 1, figsize=(8, 0.34 * sum(heights) + 0.6 * len(bars) + 0.5), squeeze=False,
        gridspec_kw={"height_ratios": [h + 0.5 for h in heights]},
    )  # fmt: skip
    for one, (unit, rows) in zip(axes[:, 0], bars.items(), strict=True):
        for at, (system, title) in enumerate(SYSTEMS.items()):
            points = [(i + 0.36 * at, values[system]) for i, (_, values) in enumerate(rows) if system in values]
            one.barh([p[0] for p in points], [p[1] for p in points], 0.34, color=COLOURS[system], label=title)
            for y, value in points:
                one.annotate(number(value), (value, y), xytext=(2, 0), textcoords="offset points", va="center", fontsize=6)
        one.set_yticks([i + 0.18 for i in range(len(rows))], [title for title, _ in rows], fontsize=7)
        one.invert_yaxis()
        one.set_xlabel(unit)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper right", ncols=2, fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"beside-{part.name}.svg"
    with plots.plt.rc_context({"svg.hashsalt": part.name}):
        fig.savefig(path, format="svg", metadata={"Date": None})
    plots.plt.close(fig)
    path.write_text("".join(f"{line.rstrip()}\n" for line in path.read_text().splitlines()))
    return path


def sources(systems: dict[str, list[Result]]) -> list[str]:
    """A line for each system that was measured: kernel, date, load of the host."""
    lines = []
    for system, found in systems.items():
        if found:
            dates = sorted({d for r in found for d in r.dates})
            kernels = ", ".join(sorted({k for r in found for k in r.kernels}))
            when = f"{dates[0]}{f' to {dates[-1]}' if len(dates) > 1 else ''}"
            loads = [load for r in found for load in r.loads]
            busy = f"{min(loads):.1f} to {max(loads):.1f}" if loads else "not recorded"
            lines.append(f"- {SYSTEMS[system]}: {kernels}, measured on {when}; load of the host: {busy}.")
    return lines


def page(parts: list[Part], results: dict, quick: bool, seeds: int, faults: list[str], figures: dict[str, str]) -> str:
    """The text of the page.  `faults`: sentences about failed runs; `figures`: the name of each part's plot."""
    measured = [r for r in results.values() if r is not None]
    systems = {s: [r for (_, system), r in results.items() if system == s and r is not None] for s in SYSTEMS}
    lines = ["# Beside Linux", "", "`make experiment-beside" + (" QUICK=1" if quick else "") + "` writes this page.", ""]
    if quick:
        lines += ["**A quick run: small sizes and few runs. It shows that the experiment works, and compares nothing.**", ""]
    lines += [
        "The same programs on Homeroom and on Linux, on the same machine with the same disks. Each disk gets one command at a "
        "time. Times are those of the guest. A disk with a scale is that many times as fast as its model, usually an IBM 0661 "
        "of 1990; multiply its times by the scale to get those of the real disk (`tools/experiments/beside.toml`). "
        f"Figures that differ by less than {round(100 * EQUAL)} % count as equal.",
        "",
    ]
    lines += [f"Seeds: {seeds}. Each figure is the median; brackets show the smallest and the largest of several.", ""]
    lines += sources(systems)
    if any(r.stored for r in measured):
        lines.append("- A figure with * is stored: it was measured on the date of Linux's line, not in this run.")
    lines.append("")
    for part in parts:
        lines += [f"## {part.title}", "", part.about, ""]
        lines += table(part, results) if part.runs else ["Not part of a quick run."]
        lines.append("")
        if part.name in figures:
            lines += [f"![{part.title}]({figures[part.name]})", ""]
        if sentences := losses(part, results):
            lines += [*(f"- {sentence}" for sentence in sentences), ""]
        mine = [fault for fault in faults if fault.startswith(f"{part.name}/")]
        if mine:
            lines += [*(f"- Failed: {fault}" for fault in mine), ""]
    return "\n".join(lines).rstrip() + "\n"


# ---- the whole experiment ----------------------------------------------------------------------------------------------------


def all_results(parts: list[Part], quick: bool, seeds: int, disks: dict, linux: bool) -> dict:
    """The result of each run on each system, or None, by (label, system); for Linux, stored figures if none was measured."""
    results = {}
    for one in (r for part in parts for r in part.runs):
        results[one.label, "homeroom"] = collect(one, "homeroom", seeds, disks)
        measured = collect(one, "linux", seeds, disks) if linux else None
        results[one.label, "linux"] = measured or stored(one, quick)
    return results


def measure(parts: list[Part], wanted: list[str], seeds: int, disks: dict, linux: bool, folder: Path) -> list[str]:
    """Do the runs that have no result yet.  Returns a sentence for each run that failed."""
    systems = list(SYSTEMS) if linux else ["homeroom"]
    todo = [(r, s, i) for p in parts if p.name in wanted for i in range(1, seeds + 1) for r in p.runs for s in systems]
    todo = [(r, s, i) for r, s, i in todo if not (OUT / f"{key(r, s, disks)}.{i}.json").is_file()]
    faults = []
    for count, (one, system, i) in enumerate(todo, 1):
        fault = execute(one, system, i, disks, folder)
        storage.progress(f"beside: {count} of {len(todo)}: {fault or f'{one.label} on {SYSTEMS[system]}, run {i}'}")
        faults += [fault] if fault else []
    return faults


def main() -> int:
    args = storage.arguments("beside", seeds=1, rows="")
    quick, keep = (os.environ.get(name) == "1" for name in ("QUICK", "STORE"))
    disks, parts = load(quick)
    wanted = storage.chosen("beside", args.rows, [p.name for p in parts]) if args.rows else [p.name for p in parts]
    linux = have_linux()
    if not linux:
        storage.progress("beside: no Linux here (tools/deps.sh peer): its columns show the stored figures")
    OUT.mkdir(parents=True, exist_ok=True)

    def experiment(folder: Path) -> int:
        faults = measure(parts, wanted, args.seeds, disks, linux, folder)
        results = all_results(parts, quick, args.seeds, disks, linux)
        target = OUT / "beside.md" if quick else PAGE
        plots = {part.name: path.name for part in parts if (path := plot(part, results, target.parent))}
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page(parts, results, quick, args.seeds, faults, plots))
        if keep:
            count = store([r for p in parts for r in p.runs], results, quick)
            storage.progress(f"beside: Linux's figures of {count} runs are in {run.shown(STORED)}")
        print(f"beside: {run.shown(target)}")
        for sentence in (s for part in parts for s in losses(part, results)):
            print(sentence)
        return int(bool(faults))

    return storage.program("beside", experiment)


if __name__ == "__main__":
    sys.exit(main())
