# SPDX-License-Identifier: MIT
"""draw.py - figures of docs/ that are made from tables: machines, and the layers of the kernel.

    python3 -m homeroom.draw            writes docs/figures/machine-NAME.svg and layers.svg

THEORY      A machine is drawn from its machine file (qemu/machines/NAME.toml) and from the parameters of its family
            (qemu/fireplane.toml).  A board has its memory at the top, then its CPUs in groups that share a data switch,
            then the switch of the board.  Boards of one snoop domain stand beside each other on one bus.  Where each
            board has a snoop domain of its own, up to nine expanders stand above and up to nine below the crossbar.
            The layers are ROOMS of tools/lint.py; the words beside each folder come from the table in docs/layers.md.
            The files are committed, so that docs/ can be read without building anything.
SEE ALSO    tests/test_docs.py compares the committed files with what this makes
"""

import re
from html import escape
from pathlib import Path

import lint
from homeroom import machine, model
from homeroom.machine import TOP, Board, Machine

FIGURES = TOP / "docs/figures"
SHOWN = ("sf15k", "sf3800")  # machines that the book shows
WIDTH, MARGIN, GAP = 760, 20, 8
EXPANDERS = 9  # in a row
INK, EDGE, PAPER = "#1b1b1b", "#555", "#f8f8f5"
CPU, MEMORY, BOARD, SWITCH, GROUP = "#ffffff", "#dcebdc", "#eef0ee", "#eee6f3", "#e8eef7"


class Figure:
    """An SVG drawing that grows downwards."""

    def __init__(self, title: str, description: str) -> None:
        self.title, self.description, self.shapes = title, description, []
        self.height = 0

    def box(self, x: float, y: float, w: float, h: float, fill: str, words: str = "", size: int = 13, style: str = "") -> None:
        """A rectangle with words in its middle."""
        self.shapes.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="3" fill="{fill}" stroke="{EDGE}"/>')
        if words:
            self.text(x + w / 2, y + h / 2 + size * 0.35, words, size, style)
        self.height = max(self.height, y + h)

    def text(self, x: float, y: float, words: str, size: int = 13, style: str = "", anchor: str = "middle") -> None:
        """One line of text; `style` holds further attributes."""
        font = "" if "font-family" in style else ' font-family="sans-serif"'
        more = f" {style}" if style else ""
        place = f'x="{x:g}" y="{y:g}"{font} font-size="{size}" fill="{INK}" text-anchor="{anchor}"'
        self.shapes.append(f"<text {place}{more}>{escape(words, quote=False)}</text>")
        self.height = max(self.height, y)

    def line(self, x: float, y: float, end: float, style: str = "") -> None:
        """A vertical line."""
        self.shapes.append(f'<path d="M {x:g} {y:g} V {end:g}" stroke="{INK}" stroke-width="1.5"{style}/>')

    def arrow(self, x: float, y: float, end: float, words: str, style: str = "") -> None:
        """A vertical arrow, with words along its left side."""
        back = -9 if end > y else 9
        self.line(x, y, end + back / 2, style)
        self.shapes.append(f'<path d="M {x - 5:g} {end + back:g} L {x:g} {end:g} L {x + 5:g} {end + back:g} z" fill="{INK}"/>')
        middle = (y + end) / 2
        self.text(x - 6, middle, words, style=f'transform="rotate(-90 {x - 6:g} {middle:g})"')

    def svg(self) -> str:
        height = f"{self.height + MARGIN:g}"
        size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        lines = [f"<title>{escape(self.title)}</title>", f"<desc>{escape(self.description)}</desc>"]
        lines += [f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{PAPER}"/>', *self.shapes]
        return "\n".join([head, *("  " + line for line in lines), "</svg>", ""])


# ---- machines ----------------------------------------------------------------------------------


def group_size(m: Machine) -> int:
    """CPUs that share a data switch: those of a socket, or of a core where a socket has many."""
    return m.socket_cpus if m.socket_cpus <= 4 else m.threads


class Layout:
    """The sizes of the parts of a board that is `width` wide."""

    def __init__(self, width: float, m: Machine) -> None:
        self.width, self.group = width, group_size(m)
        small = width < 100
        self.font, self.bar, self.cpu = (10, 16, 18) if small else (13, 24, 28)  # sizes of text, of bars, of CPUs
        least = self.group * 18 + GAP  # numbers of two digits fit into 18
        most = max(board.cpus for board in m.boards) // self.group
        self.columns = max(1, min(most, int((width - GAP) // least)))
        self.group_width = (width - GAP) / self.columns - GAP

    def parts(self, board: Board, first: int) -> list[tuple[str, list[str], float]]:
        """What a board has, from its outside to its switch: the kind, the words of each box, the height."""
        size = f"{board.memory_mib} MiB"
        out = [("memory", [size if self.width < 140 else f"memory, {size}"], self.bar)] if board.memory_mib else []
        for start in range(first, first + board.cpus, self.group * self.columns):
            cpus = range(start, min(start + self.group * self.columns, first + board.cpus))
            out.append(("cpu", [str(cpu) for cpu in cpus], self.cpu))
            words = "data switch" if self.group_width >= 80 else ""
            out.append(("data", [words] * (len(cpus) // self.group), self.bar if words else self.bar / 2))
        return [*out, ("switch", ["switch" if self.width < 140 else "switch of the board"], self.bar)]

    def height(self, board: Board) -> float:
        return sum(height + (0 if kind == "cpu" else GAP) for kind, _, height in self.parts(board, 0)) + GAP


COLORS = {"memory": MEMORY, "cpu": CPU, "data": SWITCH, "switch": SWITCH}


def draw_board(fig: Figure, at: Layout, x: float, y: float, board: Board, first: int, mirrored: bool = False) -> None:
    """A board whose CPUs are numbered from `first`; its switch is at the bottom, or if `mirrored` at the top."""
    parts = at.parts(board, first)
    fig.box(x, y, at.width, at.height(board), BOARD)
    y += GAP
    for kind, words, height in reversed(parts) if mirrored else parts:
        whole = kind in ("memory", "switch")
        each = at.width - 2 * GAP if whole else at.group_width / (at.group if kind == "cpu" else 1)
        for i, word in enumerate(words):
            column, place = divmod(i, at.group) if kind == "cpu" else (i, 0)
            fig.box(x + GAP + column * (at.group_width + GAP) + place * each, y, each, height, COLORS[kind], word, at.font)
        joined = kind == ("data" if mirrored else "cpu")  # CPUs touch their switch
        y += height + (0 if joined else GAP)


def numbered(m: Machine) -> list[tuple[int, Board, int]]:
    """Each board with its number and that of its first CPU."""
    out, first = [], 0
    for i, board in enumerate(m.boards):
        out.append((i, board, first))
        first += board.cpus
    return out


def draw_bus(fig: Figure, m: Machine, top: float) -> None:
    """Boards beside each other, on the bus of the machine."""
    n = len(m.boards)
    wide = (WIDTH - 2 * MARGIN - (n - 1) * GAP * 2) / n
    at = Layout(wide, m)
    bottom = top + 22 + max(at.height(board) for board in m.boards)
    for i, board, first in numbered(m):
        x = MARGIN + i * (wide + GAP * 2)
        fig.text(x + wide / 2, top + 13, f"board {i}", style='font-weight="bold"')
        draw_board(fig, at, x, top + 22, board, first)
        if n > 1:
            fig.line(x + wide / 2, top + 22 + at.height(board), bottom + 24)
    if n > 1:
        fig.box(MARGIN, bottom + 24, WIDTH - 2 * MARGIN, 34, SWITCH, "address bus and data crossbar of the machine")


def draw_crossbar(fig: Figure, m: Machine, top: float) -> None:
    """Expanders above and below a crossbar, each with its boards."""
    columns = min(m.domains, EXPANDERS)
    wide = (WIDTH - 2 * MARGIN + 4) / columns - 4
    at = Layout(wide - 8, m)
    homes = [[entry for entry in numbered(m) if entry[1].domain == domain] for domain in range(m.domains)]
    high = 20 + max(sum(at.height(board) + 4 for _, board, _ in boards) for boards in homes)
    middle, thick = top + high + 22, 44
    for domain, boards in enumerate(homes):
        below = domain >= columns
        x, y = MARGIN + domain % columns * (wide + 4), middle + thick + 22 if below else top
        fig.box(x, y, wide, high, GROUP)
        fig.text(x + wide / 2, y + (high - 6 if below else 14), f"expander {domain}", 11)
        fig.line(x + wide / 2, middle + thick if below else y + high, y if below else middle)
        # A second board, without memory, is farther from the crossbar.
        place = y + 4 if below else y + high - 4
        for _, board, first in boards:
            place -= 0 if below else at.height(board)
            draw_board(fig, at, x + 4, place, board, first, mirrored=below)
            place += at.height(board) + 4 if below else -4
    words = f"crossbar with {m.domains} ports: addresses, responses, data"
    fig.box(MARGIN, middle, WIDTH - 2 * MARGIN, thick, SWITCH, words)


def distances(m: Machine) -> list[str]:
    """What the machine file and the family say of distances."""
    values = dict(line.split(" = ") for line in model.parameters(m).splitlines())
    ns = {key: int(value) // 1000 for key, value in values.items() if key.endswith("_ps")}
    lines = [
        f"A load that misses the caches takes {ns['own_ps']} ns from memory of the CPU itself,",
        f"{ns['pair_ps']} or {ns['board_ps']} ns from memory of the other CPUs of its board",
    ]
    if len(m.boards) == 1 or m.slit is None:
        return [lines[0], lines[1] + "."]
    far = str(ns["remote_ps"]) if ns["remote_ps"] == ns["remote_miss_ps"] else f"{ns['remote_ps']} to {ns['remote_miss_ps']}"
    lines[1] += f", and {far} ns from another board."
    return [*lines, f"Distances in the SLIT: {m.slit[0][0]} to the own board, {m.slit[0][1]} to another."]


def draw_machine(name: str) -> str:
    """The drawing of a machine, as SVG.  MachineError if its file is wrong."""
    m = machine.load(name)
    crossbar = m.fireplane is not None and m.fireplane["family"] == "high-end"
    joined = f"{m.domains} expanders on a crossbar" if crossbar else "boards on one bus" if len(m.boards) > 1 else "one board"
    fig = Figure(f"{m.title}: {joined}", f"{m.describe()}. " + " ".join(distances(m)))
    fig.text(MARGIN, 32, m.describe(), 15, 'font-weight="bold"', "start")
    (draw_crossbar if crossbar else draw_bus)(fig, m, 46)
    y = fig.height + 26
    for i, line in enumerate(distances(m)):
        fig.text(MARGIN, y + 18 * i, line, 13, anchor="start")
    return fig.svg()


# ---- layers ------------------------------------------------------------------------------------

ROW = re.compile(r"^\| `((?:kernel/)?(\w+)/)` \| ([^|]+) \| ([^|]+) \|$", re.M)
PAGE = TOP / "docs/layers.md"


def layer_words(page: str) -> dict[str, str]:
    """The short words for each folder in the table of docs/layers.md, in its order."""
    return {name: short for _, name, short, _ in ROW.findall(page)}


def draw_layers(words: dict[str, str]) -> str:
    """The rooms of lint.ROOMS above each other, with `words` for each."""
    fig = Figure("The layers of the kernel", "A folder includes headers of its own layer and of the layers below only.")
    left, high = MARGIN + 90, 40
    for level, rooms in enumerate(lint.ROOMS):
        y = MARGIN + level * (high + 6)
        order = [name for name in words if name in rooms]
        wide = (WIDTH - MARGIN - left - (len(order) - 1) * GAP) / len(order)
        for i, name in enumerate(order):
            x = left + i * (wide + GAP)
            fig.box(x, y, wide, high, GROUP if level % 2 else BOARD)
            folder = f"{name}/" if name == "drivers" else f"kernel/{name}/"
            fig.text(x + wide / 2, y + 17, folder, 13, 'font-family="monospace" font-weight="bold"')
            fig.text(x + wide / 2, y + 33, words[name], 12)
    fig.arrow(MARGIN + 30, MARGIN, fig.height, "includes headers of")
    fig.arrow(MARGIN + 66, fig.height, MARGIN, "calls what is implemented above", ' stroke-dasharray="5 4"')
    return fig.svg()


def figures() -> dict[Path, str]:
    """Each figure that this module makes, and its text."""
    made = {FIGURES / f"machine-{name}.svg": draw_machine(name) for name in SHOWN}
    return made | {FIGURES / "layers.svg": draw_layers(layer_words(PAGE.read_text()))}


def main() -> None:
    for path, text in figures().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
