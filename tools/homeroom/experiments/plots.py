# SPDX-License-Identifier: MIT
"""plots.py - the figures of the report, as SVG elements that are part of the HTML page.

Text in a figure remains text, in the fonts of the page.  The ids in each figure begin with the figure's name, so that the ids
of several figures in one page differ.
"""

import io
import re
import textwrap

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.colors import PowerNorm

from homeroom.experiments.results import Row

INK, QUIET, RULE = "#1f2933", "#7b8794", "#d9dee3"
PAPER, BASE, NEW, BAND = "#b0b8c1", "#8fb8de", "#1f5f99", "#e8dcae"
PAPER_NEW = "#7d8894"
LINUX = ("#d9a55b", "#a86f1d")
OUTSIDE = "#b3382c"

plt.rcParams |= {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def _svg(figure, name: str) -> str:
    """The <svg> element of a figure; its ids begin with `name`."""
    out = io.StringIO()
    with plt.rc_context({"svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    plt.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r'(id="|"#|url\(#)', rf"\g<1>{name}-", text)
    box = re.search(r'viewBox="[^"]*"', text)[0]
    head = f'<svg class="plot" role="img" aria-label="{name}" {box} xmlns:xlink="http://www.w3.org/1999/xlink">'
    return re.sub(r"<svg[^>]*>", head, text, count=1)


def _text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _gain(axes, rows: list[Row]) -> None:
    """Draw gains as horizontal bars: the paper's above ours, the accepted band behind both.

    Other conditions are circles, hypotheses diamonds.
    """
    main = [r for r in rows if r.headline]
    ends = []
    for at, row in enumerate(main):
        y = len(main) - 1 - at
        if row.band is not None and row.band[1] != float("inf"):
            axes.barh(y, row.band[1] - row.band[0], 0.86, left=row.band[0], color=BAND, zorder=1)
            ends.append(row.band[1])
        if row.paper is not None:
            axes.barh(y + 0.19, row.paper, 0.34, color=PAPER, zorder=2)
            ends.append(row.paper)
        if row.ours is not None:
            axes.barh(y - 0.19, row.ours, 0.34, color=OUTSIDE if row.inside is False else NEW, zorder=2)
            ends.append(row.ours)
        for other in rows:
            if not other.headline and other.experiment is row.experiment and other.ours is not None:
                axes.plot(other.ours, y - 0.19, "D" if other.hypothesis else "o", ms=5, mfc="white", mec=NEW, zorder=3)
                ends.append(other.ours)
    widest = max(ends, default=1)
    for at, row in enumerate(main):
        marks = sorted(r.ours for r in rows if not r.headline and r.experiment is row.experiment and r.ours is not None)
        for value, shift in ((row.paper, 0.19), (row.ours, -0.19)):
            if value is not None:
                x = max(value, 0) + 0.012 * widest
                for mark in marks if shift < 0 else []:  # the number must not hide a mark
                    if x - 0.012 * widest <= mark <= x + 0.06 * widest:
                        x = mark + 0.012 * widest
                text = f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.1f}"
                axes.text(x, len(main) - 1 - at + shift, text, va="center", fontsize=7.5, zorder=4)
    axes.set_yticks(range(len(main)), [f"{r.experiment.name}" for r in reversed(main)])
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color=QUIET, lw=0.8)
    axes.grid(axis="x", color=RULE, lw=0.6, zorder=0)
    axes.set_axisbelow(True)


def gains(rows: list[Row]) -> str | None:
    """The gains from memory placement, the paper's and ours.  Gains above 50 are in a panel of their own."""
    rows = [r for r in rows if r.what == "compare" and r.paper is not None]
    if not rows:
        return None
    large = {r.experiment.name for r in rows if max(abs(r.paper or 0), abs(r.ours or 0)) > 50}
    parts = [[r for r in rows if (r.experiment.name in large) == want] for want in (True, False)]
    parts = [part for part in parts if part]
    heights = [sum(r.headline for r in part) for part in parts]
    figure, axes = plt.subplots(
        len(parts), 1, figsize=(7.6, 0.42 * sum(heights) + 1.0 * len(parts) + 0.3), squeeze=False,
        gridspec_kw={"height_ratios": [h + 1 for h in heights]},
    )  # fmt: skip
    for one, part in zip(axes[:, 0], parts, strict=True):
        _gain(one, part)
        one.set_xlabel("gain from memory placement: % of rate, % of time, or points of remote misses")
    marks = [plt.Rectangle((0, 0), 1, 1, color=c) for c in (PAPER, NEW, OUTSIDE, BAND)]
    labels = ["paper", "ours", "ours, outside its band", "accepted band"]
    for marker, label, there in (
        ("o", "ours, another condition", any(r.condition for r in rows)),
        ("D", "ours, with a hypothesis", any(r.hypothesis for r in rows)),
    ):
        if there:
            marks.append(plt.Line2D([], [], ls="", marker=marker, ms=5, mfc="white", mec=NEW))
            labels.append(label)
    figure.legend(marks, labels, loc="outside upper left", ncols=3, fontsize=8, handlelength=1.2)
    return _svg(figure, "gains")


def _colours(row: Row) -> tuple[str, str]:
    """The colours of a variant: of the paper's bar and of ours.  A single variant has the colour of the compared one."""
    e = row.experiment
    if row.what not in e.variants:
        return PAPER, LINUX[e.more.index(row.what) % 2]
    new = len(e.variants) == 1 or row.what == e.variants[1]
    return (PAPER_NEW, NEW) if new else (PAPER, BASE)


def _shares(row: Row) -> bool:
    """Whether a row's values can be compared with the paper's only as shares of the value without placement.

    This is so if the paper gives only the gain, or the times of a problem of another size.
    """
    e = row.experiment
    other_size = e.compare == "time" and e.times == 1
    return e.compare in ("rate", "time") and "compare" in e.paper and (row.paper is None or other_size)


def _papers(row: Row) -> float | None:
    """The paper's value of a variant as a share of the value without placement, in percent, from the paper's gain."""
    e = row.experiment
    if row.what not in e.variants:
        return None
    return 100.0 if row.what == e.variants[0] else 100 + (1 if e.compare == "rate" else -1) * e.paper["compare"]


def _bars(axes, rows: list[Row], legend: dict[str, str]) -> None:
    """Draw rows with the same unit as bars; adds the colour of each title to `legend`."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.experiment.name, []).append(row)
    relative = _shares(rows[0])
    ticks, y, peak = [], 0.0, 0.0
    for group in groups.values():
        first, base = y, group[0]
        for row in group:
            title = row.label.removeprefix(f"{row.experiment.row}, ")
            paper = _papers(row) if relative else row.paper
            ours = 100 * row.ours / base.ours if relative else row.ours
            grey, colour = _colours(row)
            owner = "ours, " if row.what in row.experiment.variants else ""
            for value, fill, name in ((paper, grey, f"paper, {title}"), (ours, colour, f"{owner}{title}")):
                if value is not None:
                    axes.barh(y, value, 0.88, color=fill)
                    axes.annotate(_text(value), (value, y), (3, 0), textcoords="offset points", va="center", fontsize=7)
                    legend.setdefault(name, fill)
                    peak, y = max(peak, value), y + 1
        label = textwrap.fill(f"{base.experiment.row}, {base.experiment.machine}", 34)
        ticks.append(((first + y - 1) / 2, label))
        y = max(y, first + 1.2 * (label.count("\n") + 1)) + 0.8
    axes.set_yticks([t for t, _ in ticks], [label for _, label in ticks], fontsize=8)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_xlabel(f"% of the {rows[0].experiment.compare} without MPO" if relative else rows[0].unit)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.set_xlim(0, peak * 1.1 or 1)
    axes.set_ylim(y - 1.1, -0.7)
    axes.grid(axis="x", color=RULE, lw=0.6)
    axes.set_axisbelow(True)


def table(name: str, rows: list[Row]) -> str | None:
    """The numbers of a table as bars, with a panel for each unit: for each variant our value below the paper's.

    Rows for which _shares() is true are shown as shares of the value without placement.
    """
    parts: dict[str, list[Row]] = {}
    for row in rows:
        if row.what not in ("compare", "linux") and row.headline and row.ours is not None:
            parts.setdefault("%" if row.unit.startswith(("%", "points")) else row.unit, []).append(row)
    if not parts:
        return None
    heights = [0.17 * 1.2 * sum(2 if r.paper is not None or _shares(r) else 1 for r in part) + 0.8 for part in parts.values()]
    figure, axes = plt.subplots(
        len(parts), 1, figsize=(7.6, sum(heights) + 0.4), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    legend: dict[str, str] = {}
    for one, part in zip(axes[:, 0], parts.values(), strict=True):
        _bars(one, part, legend)
    marks = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in legend.values()]
    figure.legend(marks, list(legend), loc="outside upper left", ncols=min(len(marks), 4), fontsize=8, handlelength=1.2)
    return _svg(figure, f"table-{name}")


def pages(name: str, ours: dict[int, int], paper: list[int]) -> str | None:
    """The pages in each lgroup, the paper's beside ours; None for a single lgroup."""
    if len(ours) <= 1:
        return None
    series = [("paper", PAPER_NEW, dict(enumerate(paper)))] if paper else []
    series.append(("ours, MPO", NEW, ours))
    lgroups = sorted({lgroup for _, _, found in series for lgroup in found})
    figure, axes = plt.subplots(figsize=(7.6, 2.2))
    width = 0.8 / len(series)
    for i, (label, colour, found) in enumerate(series):
        at = [x + (i - (len(series) - 1) / 2) * width for x in range(len(lgroups))]
        values = [found.get(lgroup, 0) for lgroup in lgroups]
        axes.bar(at, values, 0.92 * width, color=colour, label=label)
        for x, value in zip(at, values, strict=True):
            axes.annotate(str(value), (x, value), (0, 2), textcoords="offset points", ha="center", fontsize=6,
                          rotation=90 if len(lgroups) > 8 else 0)  # fmt: skip
    axes.set_xticks(range(len(lgroups)), [str(lgroup) for lgroup in lgroups])
    axes.tick_params(axis="x", length=0, labelcolor=INK)
    axes.set_xlabel("lgroup")
    axes.set_ylabel("pages")
    axes.margins(y=0.25)
    axes.grid(axis="y", color=RULE, lw=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper left", ncols=2, fontsize=8, handlelength=1.2)
    return _svg(figure, name)


def speed_up(name: str, rows: list[Row]) -> str | None:
    """Speed over the number of threads, with a panel for each program.

    The unit is chosen so that the first variant with the fewest threads has their number as its speed.
    """
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for row in rows:
        if row.what in row.experiment.variants and row.headline and row.ours:
            threads = int(re.search(r"-t (\d+)", row.experiment.run)[1])
            value = row.ours if row.experiment.compare == "rate" else 1 / row.ours
            found.setdefault(row.experiment.bench or "", {}).setdefault(row.what, []).append((threads, value))
    if not found:
        return None
    figure, axes = plt.subplots(1, len(found), figsize=(7.6, 3.2), squeeze=False)
    for one, (bench, lines) in zip(axes[0], found.items(), strict=True):
        fewest, speed = next(iter(lines.values()))[0]
        unit = speed / fewest
        last = max(n for points in lines.values() for n, _ in points)
        one.plot([fewest, last], [fewest, last], color=RULE, lw=1, label="threads")
        for (what, points), colour in zip(lines.items(), (BASE, NEW), strict=False):
            label = "MPO" if what == "mpo" else "no MPO"
            one.plot([n for n, _ in points], [v / unit for _, v in points], "o-", ms=4, color=colour, label=label)
        one.set_title(bench, fontsize=9)
        one.set_xlabel("threads")
        one.grid(color=RULE, lw=0.6)
        one.set_axisbelow(True)
    axes[0][0].set_ylabel("speed-up")
    axes[0][0].legend(fontsize=8)
    return _svg(figure, f"speed-up-{name}")


def _board(axes, x: float, y: float, up: bool, number: int, cpus: int, cells: tuple[float, float, float]) -> None:
    """Draw a board with its CPUs, and its link to the crossbar.  `cells`: width of the link, MiB on and off the board."""
    width, own, away = cells
    axes.add_patch(plt.Rectangle((x - 0.42, y - 0.5), 0.84, 1.0, facecolor="white", edgecolor=QUIET, lw=0.8, zorder=3))
    for i in range(cpus):
        axes.plot(x - 0.3 + 0.2 * (i % 4), y + 0.22 - 0.2 * (i // 4), "o", ms=4, color=BASE, zorder=4)
    axes.text(x, y - 0.08, f"board {number}", ha="center", va="center", fontsize=6, zorder=4)
    axes.text(x, y - 0.33, f"{own:,.0f}", ha="center", va="center", fontsize=6, color=QUIET, zorder=4)
    end = y - 0.5 if up else y + 0.5
    axes.plot([x, x], [end, 0.28 if up else -0.28], color=NEW, lw=max(0.6, width), solid_capstyle="butt", zorder=2)
    axes.text(x + 0.08, (end + (0.28 if up else -0.28)) / 2, f"{away:,.0f}", va="center", fontsize=6, zorder=4)


def drawing(name: str, switch: str, cpus: list[int], parts: list[tuple[str, list[list[int]]]]) -> str:
    """The machine as in the paper's Figures B-5 and B-6: boards, and links to the switch whose width shows their traffic."""
    n = len(cpus)
    row = (n + 1) // 2
    sums = [[(sum(m[i]) - m[i][i] + sum(line[i] for line in m) - m[i][i]) / 2**20 for i in range(n)] for _, m in parts]
    top = max((cell for cells in sums for cell in cells), default=0) or 1.0
    figure, axes = plt.subplots(len(parts), 1, figsize=(7.6, 2.5 * len(parts)), squeeze=False)
    for one, (title, matrix), away in zip(axes[:, 0], parts, sums, strict=True):
        one.add_patch(plt.Rectangle((-0.5, -0.28), row, 0.56, facecolor=RULE, edgecolor="none", zorder=1))
        one.text(row / 2 - 0.5, 0, switch, ha="center", va="center", fontsize=8, zorder=3)
        for i in range(n):
            up = i < row
            _board(one, i % row, 1.35 if up else -1.35, up, i, cpus[i], (8 * away[i] / top, matrix[i][i] / 2**20, away[i]))
        one.set_xlim(-0.7, row - 0.3)
        one.set_ylim(-2, 2)
        one.axis("off")
        one.set_title(f"{title}: MiB moved within a board (in its box), and on its link, in and out", fontsize=8)
    return _svg(figure, f"machine-{name}")


def traffic(name: str, parts: list[tuple[str, list[list[int]]]]) -> str:
    """Heat maps of the bytes moved between boards, all with the same colour scale."""
    top = max((cell for _, matrix in parts for line in matrix for cell in line), default=0) / 2**20 or 1.0
    figure, axes = plt.subplots(1, len(parts), figsize=(3.6 * len(parts) + 0.6, 3.5), squeeze=False)
    for one, (title, matrix) in zip(axes[0], parts, strict=True):
        mib = [[cell / 2**20 for cell in line] for line in matrix]
        image = one.pcolormesh(mib, cmap="YlGnBu", norm=PowerNorm(0.5, 0, top), edgecolors="white", linewidth=0.4)
        one.set_aspect("equal")
        one.invert_yaxis()
        step = 1 if len(mib) <= 9 else 3
        at = range(0, len(mib), step)
        one.set_xticks([i + 0.5 for i in at], list(at))
        one.set_yticks([i + 0.5 for i in at], list(at))
        one.tick_params(length=0, labelcolor=INK)
        total = sum(map(sum, mib))
        away = total - sum(mib[i][i] for i in range(len(mib)))
        one.set_title(f"{title}: {100 * away / total if total else 0:.1f} % off board", fontsize=9)
        one.set_xlabel("to board")
    axes[0][0].set_ylabel("from board")
    figure.colorbar(image, ax=axes[0].tolist(), label="MiB moved (square-root scale)", shrink=0.85)
    return _svg(figure, f"traffic-{name}")
