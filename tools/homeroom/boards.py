# SPDX-License-Identifier: MIT
"""boards.py - the counts of the interconnect model, summed for each board.

SEE ALSO    fireplane.py (the page with the counts), watch.py, live/state.py
"""

from dataclasses import dataclass

from homeroom import fireplane


@dataclass
class Board:
    """The counts of one board."""

    cpus: int = 0
    active: int = 0
    instr: int = 0
    local: int = 0
    remote: int = 0
    out: int = 0  # bytes moved from it to other boards
    into: int = 0  # bytes moved from other boards to it

    def since(self, old: "Board") -> "Board":
        """The counts since an older reading; `cpus` and `active` are those of this reading."""
        changed = {k: v - getattr(old, k) for k, v in vars(self).items() if k not in ("cpus", "active")}
        return Board(self.cpus, self.active, **changed)


@dataclass
class Reading:
    """The counts of a page, summed for each board."""

    machine: str
    armed: bool
    time_ps: int
    accesses: int
    boards: list[Board]
    ran_ps: list[int]  # for each CPU the modelled time for which it has run, without the time that its clock has skipped


def reading(page: fireplane.Page, name: str) -> Reading:
    boards = [Board() for _ in range(page.header.nboards)]
    latest, ran, clock_ps = 0, [], page.header.clock_ps
    fields = page.fields("time_ps", "instr", "stall_ps", "fp_stall_ps", "miss_local", "miss_remote", "board", "active")
    for time_ps, instr, stall_ps, fp_stall_ps, local, remote, number, active in fields:
        latest = max(latest, time_ps)
        ran.append(instr * clock_ps + stall_ps + fp_stall_ps)
        if number >= len(boards):
            continue
        board = boards[number]
        board.cpus += 1
        board.active += active != 0
        board.instr += instr
        board.local += local
        board.remote += remote
    traffic = page.traffic()
    for i, (board, out, into) in enumerate(zip(boards, traffic, zip(*traffic, strict=True), strict=True)):
        board.out, board.into = sum(out) - out[i], sum(into) - into[i]
    return Reading(name.split(".")[0], bool(page.header.armed), latest, page.header.accesses, boards, ran)
