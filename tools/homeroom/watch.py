# SPDX-License-Identifier: MIT
"""watch.py - show the boards of a running machine, every second (`make watch`, in a second terminal).

    make watch                     the guest that was started last; if none runs, the totals of the last one, then the next
    make watch PAGE=file           the guest with this page, or a page that MODEL_PAGE has kept
    python -m homeroom.watch --once    the totals since the start, once, without rates

THEORY      The interconnect model counts instructions, misses and traffic in a page that the host can read
            (fireplane.py).  The difference of two readings, a second apart, gives the rates.  Reading does not slow the
            guest down.  Rates are per second of the host's clock.  Traffic between boards is also given per second of
            modelled time: that rate can be compared with the rate of a board's port.
SEE ALSO    tools/homeroom/fireplane.py, docs/experiments.md
"""

import argparse
import contextlib
import sys
import time
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from homeroom import fireplane
from homeroom.boards import Board, Reading, reading

START = "start one in another terminal: make qemu-sf6800 MODEL=fireplane RUN='memcopy -t 24'"


def fixed(value: float, digits: int) -> str:
    """A number with `digits` decimals.  A half is rounded up, as in a browser: `make live` shows the same."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def short(value: float) -> str:
    """A number with two to four digits and a unit: 12.3M."""
    for unit in ("", "k", "M", "G", "T"):
        if abs(value) < 1000:
            return fixed(value, 0 if unit == "" or value >= 100 else 1) + unit
        value /= 1000
    return fixed(value, 0) + "P"


def bar(active: int, cpus: int) -> Text:
    """A square for each active CPU of a board, a dot for each other one."""
    return Text("■" * active, style="green") + Text("·" * (cpus - active), style="dim")


def draw(now: Reading, old: Reading | None, seconds: float) -> Group:
    """The picture: rates since `old`, or without it the totals."""
    rates = old is not None
    modelled = (now.time_ps - old.time_ps if old else now.time_ps) / 1e12
    state = "watching" if now.armed else "disarmed: nothing is being counted"
    head = f"{now.machine}: {state}; modelled time {now.time_ps / 1e9:.3f} ms"
    if rates:
        head += f" (+{modelled * 1e3:.3f} ms); {short((now.accesses - old.accesses) / seconds)} accesses/s"
    else:
        head += f"; {short(now.accesses)} accesses"
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for name in ("board", "active"):
        table.add_column(name, no_wrap=True)
    for name in ("instr", "local", "remote", "rem %", "out", "in", "GB/s"):
        table.add_column(name, justify="right", no_wrap=True, min_width=6)
    total = Board()
    rows = [(str(i), b.since(old.boards[i]) if rates else b) for i, b in enumerate(now.boards)]
    for _, board in rows:
        for key, value in vars(board).items():
            setattr(total, key, getattr(total, key) + value)
    for name, b in [*rows, ("all", total)]:
        misses = b.local + b.remote
        moved = b.out if name == "all" else b.out + b.into
        table.add_row(
            name,
            bar(b.active, b.cpus) if name != "all" else f"{b.active} of {b.cpus}",
            *(short(value / seconds) for value in (b.instr, b.local, b.remote)),
            fixed(100 * b.remote / misses, 0) if misses else "-",
            *(short(value / seconds) for value in (b.out, b.into)),
            fixed(moved / modelled / 1e9, 2) if modelled > 0 else "-",
            style="bold" if name == "all" else "",
        )
    what = "per second" if rates else "since the start"
    foot = f"{what}: instructions, misses to own and other boards, bytes out and in\nGB/s: off board, per modelled second"
    return Group(Text(head), table, Text(foot, style="dim"))


def watch(path: Path, console: Console) -> None:
    """Refresh the picture until the guest ends or Ctrl-C."""
    page = fireplane.Live(path)
    old, then = None, time.monotonic()
    with Live(console=console, auto_refresh=False, screen=False) as live:
        while not page.ended():
            try:
                now, at = reading(page.read(), path.name), time.monotonic()
                live.update(draw(now, old, max(at - then, 1e-3) if old else 1.0), refresh=True)
                old, then = now, at
            except fireplane.PageError as error:  # the model has not started yet
                live.update(Text(str(error)), refresh=True)
            time.sleep(1)
    console.print(f"{path.name}: the run has ended")


def totals(path: Path) -> None:
    """Print the totals since the start."""
    Console(width=120).print(draw(reading(fireplane.read(path), path.name), None, 1.0))


def next_guest(console: Console) -> Path:
    """Wait until a guest with the model runs."""
    console.print(f"waiting for a guest with the model (Ctrl-C ends this); {START}")
    while (path := fireplane.newest()) is None:
        time.sleep(0.5)
    return path


def without_guest(console: Console, wait: bool) -> int:
    """No guest runs: show the totals of the last one; with `wait`, watch the next one.  Returns the exit status."""
    last = fireplane.newest_ended()
    if last is not None:
        with contextlib.suppress(fireplane.PageError):  # it ended before the model started
            totals(last)
            console.print("no guest with the model is running; these are the totals of the last one")
    if wait:
        watch(next_guest(console), console)
    elif last is None:
        print(f"watch: no guest with the model is running; {START}", file=sys.stderr)
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="watch", description="show the boards of a guest that runs with the model")
    parser.add_argument("page", nargs="?", help="page file (default: that of the guest that was started last)")
    parser.add_argument("--once", action="store_true", help="print the totals since the start, once")
    args = parser.parse_args()
    console = Console()
    path = Path(args.page) if args.page else fireplane.newest()
    wait = console.is_terminal and not args.once
    try:
        if path is None:
            return without_guest(console, wait)
        if wait:
            watch(path, console)
        else:
            totals(path)
    except fireplane.PageError as error:
        print(f"watch: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
