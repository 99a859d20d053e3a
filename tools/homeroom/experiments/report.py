# SPDX-License-Identifier: MIT
"""report.py - write the report: one HTML file with the paper's numbers and ours side by side.

THEORY      results.collect() computes the rows; this file only formats them.  The page has a table of errors, a summary, a
            section for each table of the paper, the traffic between boards, the parameters with their sources, and the
            runs.  Each row of a table shows the headline of an experiment; results under other conditions are further
            columns.
INVARIANTS  I1  the page loads nothing: it contains styles and figures, and has no script
            I2  every figure has a table beside it with the same numbers
SEE ALSO    tests/test_report.py opens one in a browser
"""

import html
import math
from pathlib import Path

from homeroom import machine
from homeroom.experiments import metrics, parameters, plots, results, run, storage
from homeroom.experiments.definition import Experiment, Hypothesis
from homeroom.experiments.results import Row
from homeroom.experiments.settings import Settings

CSS = Path(__file__).with_name("report.css")


def esc(text: object) -> str:
    return html.escape(str(text))


def number(value: float | None, row: Row) -> str:
    """A value as text: gains with their sign, percentages with one decimal, others with three digits or more."""
    if value is None:
        return "–"
    if row.what in ("compare", "linux") or row.unit == "points":
        return f"{value:+.1f}"
    if row.unit.startswith("%"):
        return f"{value:.1f}"
    if value == int(value) and abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def chip(row: Row) -> str:
    """The coloured label with a row's verdict."""
    if row.ours is None:
        return '<span class="chip failed">failed</span>'
    if row.inside is None:
        return f"<span class=quiet>{row.verdict}</span>"
    word = row.verdict.lower()
    return f'<span class="chip {word}">{word}</span>'


def band(row: Row) -> str:
    """The accepted band of a row as text; empty without one."""
    if row.band is None:
        return ""
    least, most = row.band
    if most == math.inf:
        return f"≥ {least:g}"
    least, most = (f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}" for x in (least, most))
    return least if least == most else f"{least} to {most}"


def comparable(row: Row) -> bool:
    """Whether the paper's value and ours can be compared: times cannot if the problems have different sizes."""
    return row.experiment.compare != "time" or row.experiment.times != 1 or row.what in ("compare", "linux")


def line(row: Row, others: list[Row | None], place: bool = False) -> str:
    """A line of a table: a row, and the rows of other conditions.  `place`: also show its table and machine."""
    table = row.experiment.tables[0]
    lead = f'<a href="#table-{table}">{table}</a> {row.experiment.machine}: ' if place else ""
    kind = "hypothesis" if row.hypothesis else ("compare" if row.what in ("compare", "linux") else "")
    both = row.ours is not None and row.paper is not None and comparable(row)
    ratio = f"{row.ours / row.paper:.2f}" if both and row.ours * row.paper > 0 else ""
    residual = number(row.ours - row.paper, row) if both else ""
    residual = f"+{residual}" if both and row.ours >= row.paper and residual[0] != "+" else residual
    spread = ""
    if row.spread is not None and row.runs > 1:
        relative = not row.unit.startswith(("%", "points")) and row.ours
        spread = f"{100 * row.spread / row.ours:.2f} %" if relative else f"{row.spread:.2f}"
    cells = [lead + esc(row.label), number(row.paper, row), number(row.ours, row)]
    cells += ["" if other is None else number(other.ours, other) for other in others]
    cells += [esc(row.unit), ratio, residual, f"{spread or '–'} ({row.runs})" if row.runs else ""]
    cells.append("<br>".join(filter(None, (band(row), chip(row)))))
    out = f'<tr class="{kind}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    for one in [row, *filter(None, others)]:
        for fault in dict.fromkeys(one.faults):
            out += f'<tr><td colspan="{len(cells)}" class="left fault">{esc(one.label)}: {esc(fault)}</td></tr>'
    return out


def grid(rows: list[Row], settings: Settings, place: bool = False) -> str:
    """A table of rows.  Rows of conditions other than the headline become columns."""
    beside = {(r.experiment.name, r.what, r.condition): r for r in rows if r.condition}
    conditions = [name for name in settings.suite.conditions if any(name == r.condition for r in beside.values())]
    titles = [settings.suite.conditions[name].title for name in conditions]
    head = ["row", "paper", "ours", *titles, "unit", "ratio", "residual", "spread (runs)", "accepted"]
    lines = [
        line(r, [None if r.hypothesis else beside.get((r.experiment.name, r.what, c)) for c in conditions], place)
        for r in rows
        if not r.condition
    ]
    cells = "".join(f"<th>{esc(name)}</th>" for name in head)
    return f'<div class="scroll"><table><tr>{cells}</tr>{"".join(lines)}</table></div>'


def _off(rows: list[Row]) -> str:
    """The mean and the largest error of these rows, as text."""
    found = [(abs(r.error), r) for r in rows if r.error is not None]
    if not found:
        return "–"
    worst, row = max(found, key=lambda pair: pair[0])
    mean = sum(error for error, _ in found) / len(found)
    return f"{mean:.1f} %, at worst {worst:.1f} % ({esc(row.experiment.name)}); {len(found)}"


def accuracy(rows: list[Row], settings: Settings) -> str:
    """The table of errors: the difference between our values and the paper's, by condition."""
    rows = [r for r in rows if not r.hypothesis and r.experiment.conditions and r.ours is not None]
    kinds = (
        ("gains, as time or rate with placement over without", lambda r: r.what == "compare"),
        ("absolute values of the copies", lambda r: r.what in r.experiment.variants and r.experiment.known),
        (
            "absolute values of finite differences: our equations",
            lambda r: r.what in r.experiment.variants and r.experiment.bench == "fdiff" and r.experiment.times != 1,
        ),
    )
    lines = []
    for name, c in settings.suite.conditions.items():
        of = [r for r in rows if name == (r.condition or r.experiment.headline)]
        cells = [esc(c.title), *(_off([r for r in of if fits(r)]) for _, fits in kinds), esc(c.why)]
        lines.append("".join(f'<td class="left">{cell}</td>' for cell in cells))
    if not lines:
        return ""
    head = "".join(f'<th class="left">{h}</th>' for h in ("condition", *(esc(k) for k, _ in kinds), "what it is"))
    return f'<div class="scroll"><table id="accuracy"><tr>{head}</tr>{"".join(f"<tr>{x}</tr>" for x in lines)}</table></div>'


def fitted(settings: Settings) -> str:
    """The list of defaults that were chosen so that they fit a number of the paper."""
    lines = [f"<li><code>{esc(f.what)}</code>: {esc(f.source)}</li>" for f in settings.suite.fitted]
    return f"<p>Fitted, that is, chosen so that they fit a number of the paper:</p><ul>{''.join(lines)}</ul>" if lines else ""


def figure(svg: str | None, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{esc(caption)}</figcaption></figure>" if svg else ""


def summary(rows: list[Row], settings: Settings) -> str:
    """The line of facts about the whole sweep."""
    judged = [r for r in rows if r.inside is not None and r.headline]
    inside, failed = sum(bool(r.inside) for r in judged), sum(r.ours is None for r in rows)
    boots = {f["log"]: f for r in rows for f in [r.file] if f}
    first = next(iter(boots.values()), {})
    revs = sorted({f["rev"] for f in boots.values()})
    spreads = [100 * r.spread / r.ours for r in rows if r.runs > 1 and r.ours and not r.unit.startswith(("%", "points"))]
    facts = [
        (f"{inside} of {len(judged)}", "numbers that are judged hold, under the headline's condition"),
        (f"{failed}", "rows failed"),
        (f"{max(spreads):.2f} %" if spreads else "not measured", "largest spread over seeds"),
        (settings.suite.seed, "first seed"),
        (first.get("qemu", "?"), "QEMU"),
        (", ".join(revs) or "?", "revision"),
    ]
    return '<div class="facts">' + "".join(f"<span><b>{esc(a)}</b> {esc(b)}</span>" for a, b in facts) + "</div>"


def left_out(settings: Settings) -> list[Experiment]:
    """The experiments that a quick run leaves out."""
    return [e for e in settings.suite.experiments if settings.quick and e not in settings.experiments()]


def quick_run(settings: Settings) -> str:
    """A line that explains a quick run; empty for another run."""
    if not settings.quick:
        return ""
    number, out = len(settings.experiments()), len(left_out(settings))
    return (
        f"This is a quick run: {number} of {number + out} experiments, once each, to see that it works. "
        "Nothing is judged by its band. All of them: make experiments"
    )


def breakdown(rows: list[Row]) -> str:
    """The pages in each lgroup for each number of threads, as in the paper's Tables 3-4 and 3-7."""
    found: dict[str, dict[str, dict[int, int]]] = {}
    papers: dict[str, list[int]] = {}
    ours: dict[str, dict[int, int]] = {}
    for row in rows:
        if row.unit == "pages" and row.file:
            e = row.experiment
            one = metrics.select(results.measurements(row.file), e.bench, e.select, e.starts)[0]
            what = row.label.removeprefix(f"{row.experiment.row}, ")
            threads = one.result.get("threads", "?")
            found.setdefault(threads, {})[what] = one.pages
            papers[threads] = e.lgroups or papers.get(threads, [])
            if row.headline and row.what == e.variants[-1]:
                ours[threads] = one.pages
    out = []
    for threads, cases in found.items():
        known = dict(enumerate(papers[threads]))
        lgroups = sorted({lgroup for pages in [known, *cases.values()] for lgroup in pages})
        head = "".join(f"<th>{lgroup}</th>" for lgroup in lgroups)
        shown = ({"paper, MPO": known} if known else {}) | cases
        lines = "".join(
            f"<tr><td>{esc(what)}</td>" + "".join(f"<td>{pages.get(lgroup, 0):,}</td>" for lgroup in lgroups) + "</tr>"
            for what, pages in shown.items()
        )
        title = f"{threads} thread{'' if threads == '1' else 's'}"
        out.append(f"<h3>Pages by lgroup, {title}</h3>")
        out.append(figure(plots.pages(f"pages-{threads}", ours.get(threads, {}), papers[threads]), "Pages in each lgroup."))
        out.append(f'<div class="scroll"><table><tr><th>lgroup</th>{head}</tr>{lines}</table></div>')
    return "".join(out)


def described(one: Hypothesis) -> str:
    """A paragraph about a hypothesis."""
    return f"<p class=quiet><b>{esc(one.title)}</b> (<code>{esc(one.set)}</code>): {esc(one.why)}.</p>"


def section(name: str, rows: list[Row], settings: Settings) -> str:
    """The section of one table of the paper."""
    info, suite = settings.suite.tables[name], settings.suite
    title = f"Table {name}. {info['title']}" if name[0].isdigit() else info["title"]
    parts = [f'<section id="table-{name}"><h2>{esc(title)}</h2><p>{esc(info.get("text", ""))}</p>']
    # A row that is in two tables of the paper is shown only in the first.
    if other := [t for t in dict.fromkeys(r.experiment.tables[0] for r in rows) if t != name]:
        links = ", ".join(f'<a href="#table-{t}">Table {esc(t)}</a>' for t in other)
        same = dict.fromkeys(r.experiment.row for r in rows if r.experiment.tables[0] != name)
        parts.append(f"<p>As in {links}: {esc(', '.join(same))}.</p>")
    if missing := [e.row for e in left_out(settings) if name in e.tables]:
        parts.append(f"<p>Left out of this quick run: {esc('; '.join(missing))}.</p>")
    rows = [r for r in rows if r.experiment.tables[0] == name]
    if not rows:
        return "".join([*parts, "</section>"])
    parts.append(grid([r for r in rows if not r.hypothesis], settings))
    parts.append(breakdown(rows))
    drawn = plots.speed_up(name, rows) if info.get("curve") else plots.table(name, rows)
    fewest = "The speed of the fewest threads without MPO is their number."
    words = fewest if info.get("curve") else "Grey: the paper; colour: ours."
    parts.append(figure(drawn, f"{words} The numbers are in the table above."))
    if tried := [r for r in rows if r.hypothesis and not suite.hypotheses[r.hypothesis].sensitivity]:
        parts.append("<details><summary>hypotheses: options of the model that are off by default</summary>")
        parts.append(grid(tried, settings))
        parts += [described(suite.hypotheses[h]) for h in dict.fromkeys(r.hypothesis for r in tried)]
        parts.append("</details>")
    notes = dict.fromkeys(r.experiment.note for r in rows if r.experiment.note)
    parts += [f"<p class=quiet>{esc(note)}</p>" for note in notes]
    names = list(dict.fromkeys(r.experiment.name for r in rows))
    commands = [f"make experiment-{n}" for n in names]
    for e in {r.experiment.name: r.experiment for r in rows}.values():
        commands += [run.by_hand(suite.run_of(e, v)) for v in e.variants]
    again = esc("\n".join(dict.fromkeys(commands)))
    parts.append(f"<details open><summary>run it again</summary><pre>{again}</pre></details></section>")
    return "".join(parts)


def sensitivity(rows: list[Row], settings: Settings) -> str:
    """The section that shows how gains depend on parameters: a line for each row, a column for each changed parameter."""
    hypotheses = settings.suite.hypotheses
    found = {(r.experiment.name, r.hypothesis): r for r in rows if r.what == "compare" and not r.condition}
    names = [h for h, one in hypotheses.items() if one.sensitivity and any(h == key for _, key in found)]
    if not names:
        return ""
    head = "".join(f"<th>{esc(hypotheses[h].title)}</th>" for h in names)
    lines = []
    for e in dict.fromkeys(name for name, h in found if h in names):
        row = found[e, None]
        cells = [number(r.ours, r) if (r := found.get((e, h))) else "" for h in names]
        lines.append(f"<tr><td>{esc(e)}</td><td>{number(row.paper, row)}</td><td>{number(row.ours, row)}</td>"
                     + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")  # fmt: skip
    text = "The gain of placement when one parameter of the model has another value; nothing here is a default."
    why = "".join(described(hypotheses[h]) for h in names)
    return (
        f'<section id="sensitivity"><h2>Sensitivity</h2><p>{text}</p><div class="scroll"><table>'
        f"<tr><th>row</th><th>paper</th><th>ours</th>{head}</tr>{''.join(lines)}</table></div>{why}</section>"
    )


def heat_maps(rows: list[Row], settings: Settings) -> str:
    """The section with the traffic between boards, for the experiments with `map`."""
    out = []
    for e in {r.experiment.name: r.experiment for r in rows if r.experiment.map}.values():
        parts = []
        for row in rows:
            page = row.file.get("page") if row.experiment is e else None
            if page and row.what in e.variants and row.headline:
                parts.append((settings.suite.variants[row.what].title, page["traffic"]))
        if parts:
            caption = f"{e.machine}, {e.run}: bytes moved from board to board, lines that are read and lines that are written."
            lines = []
            for title, matrix in parts:
                total, own = sum(map(sum, matrix)), sum(matrix[i][i] for i in range(len(matrix)))
                cells = [title, f"{total / 2**20:,.1f}", f"{own / 2**20:,.1f}", f"{(total - own) / 2**20:,.1f}"]
                cells.append(f"{100 * (total - own) / total:.1f} %" if total else "–")
                lines.append("<tr>" + "".join(f"<td>{esc(c)}</td>" for c in cells) + "</tr>")
            head = "<tr><th></th><th>MiB moved</th><th>on board</th><th>off board</th><th>share</th></tr>"
            out.append(f"<h3>{esc(e.name)}</h3>" + figure(plots.traffic(e.name, parts), caption))
            one = machine.load(e.machine, e.boards)
            cpus = [sum(b.cpus for b in one.boards if b.domain == d) for d in range(len(parts[0][1]))]
            switch = f"{one.title}: {len(cpus)} x {len(cpus)} data crossbar"
            out.append(figure(plots.drawing(e.name, switch, cpus, parts), "The machine, from its machine file."))
            out.append(f"<table>{head}{''.join(lines)}</table>")
    return f'<section id="traffic"><h2>Traffic between boards</h2>{"".join(out)}</section>' if out else ""


def parameter_table(rows: list[Row], settings: Settings) -> str:
    """The section with the model's parameters on each machine, and their sources."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        page = row.file.get("page")
        if page and row.hypothesis is None:
            found.setdefault(row.experiment.machine, page["params"])
    if not found:
        return ""
    machines = list(found)
    lines = []
    for key in dict.fromkeys(k for params in found.values() for k in params if k not in parameters.TOPOLOGY):
        values = [found[m].get(key, "–") for m in machines]
        cells = f'<td class=centre colspan="{len(machines)}">{esc(values[0])}</td>' if len(set(values)) == 1 else "".join(
            f"<td>{esc(v)}</td>" for v in values
        )
        source = parameters.source(key, machines)
        source = f"fitted. {source}" if any(f.parameter == key for f in settings.suite.fitted) else source
        lines.append(f"<tr><td>{esc(key)}</td>{cells}<td class=left>{esc(source)}</td></tr>")
    head = "<th>parameter</th>" + "".join(f"<th>{esc(m)}</th>" for m in machines) + "<th class=left>source</th>"
    text = "As the model printed them. One value across all columns: the same on every machine."
    return (
        f'<section id="parameters"><h2>Parameters of the model</h2><p>{text}</p>'
        f'<div class="scroll"><table><tr>{head}</tr>{"".join(lines)}</table></div></section>'
    )


def run_table(rows: list[Row], settings: Settings) -> str:
    """The section with every boot: its accesses, its CPU time, its log."""
    suite, lines, seen = settings.suite, [], set()
    for row in rows:
        file = row.file
        if not file or row.what in ("compare", "linux") or file["log"] in seen:
            continue
        seen.add(file["log"])
        page, one = file.get("page") or {}, suite.run_of(row.experiment, row.what, row.hypothesis, row.condition)
        speed = page["accesses"] / file["cpu_seconds"] if page and file["cpu_seconds"] else None
        cells = [f"<code>{esc(run.describe(one))}</code>", results.scale(file, row.experiment)]
        cells += [f"{page['accesses']:,}" if page else "–", f"{file['cpu_seconds']:.0f}"]
        cells += [f"{speed / 1e6:.1f}" if speed else "–", esc(Path(file["log"]).name)]
        lines.append("<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    names = ("run", "scale", "accesses watched", "CPU s", "M accesses/CPU s, boot included", "log")
    head = "".join(f"<th>{name}</th>" for name in names)
    return (
        f'<section id="runs"><h2>Runs</h2><p>Logs are in <code>{run.shown(run.RUNS)}</code>. CPU seconds are '
        "those of QEMU and the launcher; they are printed, and nothing is concluded from them.</p>"
        f'<div class="scroll"><table><tr>{head}</tr>{"".join(lines)}</table></div></section>'
    )


def page(rows: list[Row], settings: Settings) -> str:
    """The whole report."""
    tables = [t for t in settings.suite.tables if any(t in r.experiment.tables for r in rows)]
    links = "".join(f'<a href="#table-{t}">{f"Table {t}" if t[0].isdigit() else t}</a>' for t in tables)
    links += '<a href="#traffic">traffic</a><a href="#parameters">parameters</a><a href="#runs">runs</a>'
    judged = [r for r in rows if ((r.what == "compare" and r.paper is not None) or r.band) and not r.hypothesis]
    without = [t for t in settings.suite.tables if t not in tables] if settings.quick else []
    quick = f"<p><b>{esc(quick_run(settings))}.</b>" if settings.quick else ""
    quick += f" Tables without any row: {esc(', '.join(without))}.</p>" if without else "</p>" if quick else ""
    intro = (
        "Times and rates are in modelled time: that of the interconnect model's clocks, not of this computer. Misses and pages "
        "are counted. One rule judges all rows: a gain of less than 30 % in the paper must be met within 3 points, a larger "
        "one within 10 % of the ratio of times or rates with and without placement, pages exactly, absolute values of copies "
        "within 20 %. Values outside are shown like the others. The residual is our value minus the paper's."
    )
    gains = figure(plots.gains(rows), "The gain of memory placement, the paper's and ours.")
    summed = grid(judged, settings, place=True) if judged and not quick else ""
    return "".join([
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
        f"<title>Homeroom: memory placement, measured</title><style>{CSS.read_text()}</style></head><body>",
        "<h1>Memory placement, measured</h1>",
        "<p class=quiet>Homeroom on modelled Sun Fire servers, beside the tables of the white paper.</p>",
        quick, summary(rows, settings), accuracy(rows, settings), f"<p>{intro}</p>", fitted(settings), f"<nav>{links}</nav>",
        f'<section id="summary"><h2>Summary</h2>{gains}{summed}</section>',
        *(section(t, [r for r in rows if t in r.experiment.tables], settings) for t in tables),
        sensitivity(rows, settings), heat_maps(rows, settings), storage.sections(),
        parameter_table(rows, settings), run_table(rows, settings),
        "</body></html>\n",
    ])  # fmt: skip


def say(rows: list[Row], path: Path, settings: Settings) -> None:
    """Print the rows, at the end of the sweep."""
    if settings.quick:
        print(f"experiments: {quick_run(settings)}")
    for row in rows:
        if row.hypothesis is None and (row.band is not None or row.ours is None or row.what == "compare"):
            ours = f"{number(row.ours, row)} {row.unit}"
            paper = f"paper {number(row.paper, row)}" if row.paper is not None else ""
            verdict = "FAILED: " + row.faults[0] if row.ours is None else row.verdict
            table = row.experiment.tables[0]
            print(f"  {table:5} {row.experiment.machine:8} {row.label:44} {ours:>18}  {paper:16} {band(row):12} {verdict}")
    print(f"experiments: {run.shown(results.CSV)}, {run.shown(path)}")


def make(settings: Settings) -> int:
    """Write results.csv and the report.  Returns 0, or 1 if a row has no value."""
    rows = results.collect(settings)
    results.write_csv(rows, settings.suite.seed, keep=bool(settings.names) or settings.quick or not settings.full)
    names = settings.names
    path = run.OUT / ("report.html" if not names else f"{names[0]}.html" if len(names) == 1 else "some.html")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(rows, settings))
    say(rows, path, settings)
    return int(any(row.ours is None for row in rows))
