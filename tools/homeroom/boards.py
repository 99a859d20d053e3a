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
    latest, ran = 0, []
    for cpu in page.cpus():
        counts = cpu.counts
        latest = max(latest, counts.time_ps)
        ran.append(counts.instr * page.header.clock_ps + counts.stall_ps + counts.fp_stall_ps)
        if cpu.board >= len(boards):
            continue
        board = boards[cpu.board]
        board.cpus += 1
        board.active += cpu.active != 0
        board.instr += counts.instr
        board.local += counts.miss_local
        board.remote += counts.miss_remote
    traffic = page.traffic()
    for i, (board, out, into) in enumerate(zip(boards, traffic, zip(*traffic, strict=True), strict=True)):
        board.out, board.into = sum(out) - out[i], sum(into) - into[i]
    return Reading(name.split(".")[0], bool(page.header.armed), latest, page.header.accesses, boards, ran)
