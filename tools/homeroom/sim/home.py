# SPDX-License-Identifier: MIT
"""home.py - simulate lgrp_choose_home(): the threads of a process get their homes, one after the other.

THEORY      A thread counts as load on its home at once, with LGRP_LOAD_FULL divided by the CPUs of the board.  The load of
            other processes is drawn at the start and stays.
            An explanation lists the loads of both classes of the rule, and what the code chooses for STARTS random numbers:
            from all boards, and if only one of the classes were candidates.
SEE ALSO    labs/home/README.md (the rule), kernel/lgrp/homing.c (the caller in the kernel), docs/lgroups.md
"""

import random
import sys
from collections import Counter, defaultdict

from homeroom.sim import runner
from homeroom.sim.runner import Simulator, Step, number, ranges

FULL = 32767  # LGRP_LOAD_FULL
NONE = 255
STARTS = 1024  # random numbers for an explanation
HIGH_END = 6  # machines with more boards have another default of expand_thresh
MOST = (1 << 32) - 1


def members(boards):
    """A set of boards as the bits of a number."""
    return sum(1 << board for board in boards)


def loads(load):
    return f"{load} ({100 * load / FULL:.0f} %)"


class Home(Simulator):
    name, lab = "home", "home"
    about = "Threads of one process get their homes, one after the other."
    question = "On which board does this thread get its home? Name each board that is possible."

    @staticmethod
    def arguments(parser):
        parser.add_argument("--boards", type=number(1, 64), default=6, help="lgroups of the machine (6)")
        parser.add_argument("--cpus", type=number(1, 64), default=4, help="CPUs of a board (4)")
        parser.add_argument("--threads", type=number(1, 512), default=24, help="threads that the process creates (24)")
        parser.add_argument("--tolerance", type=number(0, MOST), default=0x10000, help="lgrp_loadavg_tolerance (0x10000)")
        parser.add_argument("--thresh", type=number(0, MOST), help="lgrp_expand_proc_thresh (8191, and 24575 above 6 boards)")
        parser.add_argument("--diff", type=number(0, MOST), default=FULL // 4, help="lgrp_expand_proc_diff (8191)")
        parser.add_argument("--busy", type=number(0, 200), default=0, help="per cent of load by other processes, at most (0)")
        parser.add_argument("--offline", type=number(0, 63), default=0, help="boards that then go off-line (0)")

    @staticmethod
    def wrong(args):
        return "--offline must leave one board on-line" if args.offline >= args.boards else None

    @staticmethod
    def draw(rng):
        numbers = {
            "boards": rng.randrange(3, 8),
            "cpus": rng.choice([2, 4]),
            "threads": rng.randrange(2, 12),
            "tolerance": rng.choice([0x1000, 0x4000, 0x10000]),
            "thresh": FULL * rng.choice([25, 50, 75]) // 100,
            "busy": rng.choice([0, 30, 60]),
        }
        return [word for name, value in numbers.items() for word in (f"--{name}", str(value))]

    def __init__(self, *words):
        super().__init__(*words)
        args = self.args
        self.thresh = FULL * (3 if args.boards > HIGH_END else 1) // 4 if args.thresh is None else args.thresh
        self.base = [self.rng.randrange(FULL * args.busy // 100 + 1) for _ in range(args.boards)]
        self.threads = [0] * args.boards  # of the process, by home
        self.home = []  # by thread
        self.online = set(range(args.boards))

    def load(self, board):
        return self.base[board] + self.threads[board] * FULL // self.args.cpus

    def own(self):
        return {board for board in range(self.args.boards) if self.threads[board]}

    def choose(self, candidates, starts):
        """What the code chooses from these boards, for each random number."""
        args = self.args
        fixed = [members(candidates), members(self.own()), NONE, self.thresh, args.diff, args.tolerance]
        all_loads = [self.load(board) for board in range(args.boards)]
        n = args.boards
        return self.child.ask("choose", *fixed, n, 0, *all_loads, *[args.cpus] * n, *[0] * n, *starts)

    def possible(self, candidates):
        draw = random.Random(0)  # all bits are mixed: a rule may use the high or the low ones
        return set(self.choose(candidates, [draw.getrandbits(32) for _ in range(STARTS)]))

    def classes(self):
        own = self.own() & self.online
        return {"own": own, "other": self.online - own} if own else {"all": self.online}

    def facts(self):
        lines = []
        for name, boards in self.classes().items():
            by_load = defaultdict(list)
            for board in boards:
                by_load[self.load(board)].append(board)
            lines += [f"{name + ' boards':<13} {loads(load):>14}: {ranges(by_load[load])}" for load in sorted(by_load)]
        return lines

    def why(self):
        classes = {name: boards for name, boards in self.classes().items() if boards}
        lines = []
        if len(classes) == 2:
            own, other = (min(map(self.load, boards)) for boards in classes.values())
            lines.append(f"least of the own {own}, expand_thresh {self.thresh}")
            lines.append(f"least of the others {other}, expand_diff {self.args.diff}")
            lines += [f"if only {name} boards were candidates: {ranges(self.possible(classes[name]))}" for name in classes]
        return [*lines, f"possible, by the random start: {ranges(self.possible(self.online))}"]

    def place(self, title):
        """Choose a home for a thread that has none.  Returns the step, and the board; None if the code chooses no candidate."""
        step = Step(title, self.facts(), self.why())
        (board,) = self.choose(self.online, [self.rng.getrandbits(32)])
        if board not in self.online:
            step.result = [f"home {board}, which is no candidate: the thread has no home"]
            return step, None
        new = "" if self.threads[board] else ", new for the process"
        before = self.load(board)
        self.threads[board] += 1
        step.result = [f"home {board}{new}: load {loads(before)}, now {loads(self.load(board))}"]
        return step, board

    def intro(self):
        args = self.args
        lines = [
            f"{args.boards} boards of {args.cpus} CPUs; a load of {FULL} is one thread on each CPU",
            f"expand_thresh {loads(self.thresh)}, expand_diff {loads(args.diff)}, tolerance {args.tolerance:#x}",
            "how the rule of your term uses these numbers is in labs/home/README.md",
        ]
        if args.busy:
            lines += runner.wrapped("other processes load the boards with", map(str, self.base))
        return lines

    def steps(self):
        for thread in range(1, self.args.threads + 1):
            step, board = self.place(f"thread {thread}")
            self.home.append(board)
            yield step
        for gone in self.rng.sample(range(self.args.boards), self.args.offline):
            self.online.discard(gone)
            leaving = [thread for thread, board in enumerate(self.home, 1) if board == gone]
            yield Step(f"board {gone} goes off-line with {len(leaving)} threads")
            for thread in leaving:
                self.threads[gone] -= 1
                step, board = self.place(f"thread {thread} leaves board {gone}")
                self.home[thread - 1] = board
                yield step

    def outro(self):
        lines = ["threads by board:"]
        for board, n in enumerate(self.threads):
            state = "" if board in self.online else "  off-line"
            lines.append(f"{board:>4} {n:>4} {'#' * n}{state}" if n <= 80 else f"{board:>4} {n:>4} {'#' * 79}+{state}")
        counts = Counter(self.threads[board] for board in self.online)
        return [*lines, *(f"boards with {n} threads: {boards}" for n, boards in sorted(counts.items()))]


if __name__ == "__main__":
    sys.exit(runner.main(Home))
