# SPDX-License-Identifier: MIT
"""buddy.py - simulate the frame allocator: blocks of several boards are taken and freed.

THEORY      page_alloc() and page_free() of the tree work on a few boards with one block each.  What an operation has done is
            read from the lists of the boards before and after it: blocks that are gone, and blocks that are new.
            A board counts as short of frames while fewer than --low are free; then magazines hold none.
SEE ALSO    labs/frames/README.md (the rules), kernel/mem/buddy.c, docs/memory.md
"""

import sys

from homeroom.sim import runner
from homeroom.sim.runner import Simulator, Step, number

MAX_ORDER, BOARD = 10, 1 << 10  # frames between the first frames of two boards
NONE = (1 << 64) - 1
STRICT = 1
ROW = 64  # frames of a line
LETTERS = "abcdefghijklmnopqrstuvwxyz"  # blocks in use, in turn


class Buddy(Simulator):
    name, lab = "buddy", "frames"
    about = "Blocks of frames are taken from several boards, and freed."
    question = "Which frames of which board are taken or freed? Which free blocks does this board have then?"

    @staticmethod
    def arguments(parser):
        parser.add_argument("--boards", type=number(1, 8), default=3, help="boards, with a CPU each (3)")
        parser.add_argument("--order", type=number(2, MAX_ORDER), default=6, help="each board has a block of this order (6)")
        parser.add_argument("--steps", type=number(1, 500), default=24, help="operations (24)")
        parser.add_argument("--low", type=number(0, BOARD + 1), help="frames below which a board is short of them (all)")

    @staticmethod
    def draw(rng):
        numbers = {"boards": rng.randrange(2, 4), "order": 8, "steps": rng.randrange(16, 40)}
        return [word for name, value in numbers.items() for word in (f"--{name}", str(value))]

    def __init__(self, *words):
        super().__init__(*words)
        args = self.args
        self.size = 1 << args.order
        self.used = {}  # by first frame: (letter, order)
        self.taken = 0  # blocks so far
        self.child.ask("cpus", *range(args.boards))
        for board in range(args.boards):
            self.child.ask("near", board, *self.near(board))
            self.child.ask("low", board, self.size + 1 if args.low is None else args.low)
            self.child.ask("add", board, args.order, board * BOARD)

    def near(self, board):
        """All boards, the nearest first."""
        return [(board + i) % self.args.boards for i in range(self.args.boards)]

    def lists(self, board):
        """The free blocks on the lists of a board, as (order, frame), the largest first."""
        numbers, blocks = iter(self.child.ask("lists", board)), []
        for order in range(MAX_ORDER + 1):
            for _ in range(next(numbers)):
                frame, *_ = (next(numbers) for _ in range(4))
                blocks.append((order, frame))
        return sorted(blocks, key=lambda block: (-block[0], block[1]))

    def magazine(self, board):
        """The frames in the magazine of the board's CPU."""
        return self.child.ask("magazine", board)

    def counts(self, board):
        return dict(zip(("local", "fallback", "foreign"), self.child.ask("state", board)[3:], strict=True))

    def words(self, blocks, board):
        """Blocks by order, with the numbers of their first frames on the board."""
        by_order = {}
        for order, frame in blocks:
            by_order.setdefault(order, []).append(str(frame - board * BOARD))
        found = [f"{order} at {' '.join(frames)}" for order, frames in by_order.items()]
        return f"order {', '.join(found)}" if found else "none"

    def change(self, before, after, board):
        """What is different on the lists of a board."""
        gone, new = ([block for block in one if block not in other] for one, other in ((before, after), (after, before)))
        if not gone:
            return f"has a new free block, {self.words(new, board)}"
        if not new:
            return f"gives a free block, {self.words(gone, board)}"
        if gone[0][0] > new[0][0]:
            return f"splits {self.words(gone, board)}; left are {self.words(new, board)}"
        return f"merges it with {self.words(gone, board)} to {self.words(new, board)}"

    def picture(self):
        """A letter for each frame: a free block is its order and dashes, one in use its letter and equal signs."""
        lines = []
        for board in range(self.args.boards):
            row = ["?"] * self.size  # a frame that the code has lost
            blocks = [(frame, order, f"{order:x}", "-") for order, frame in self.lists(board)]
            blocks += [(frame, order, letter, "=") for frame, (letter, order) in self.used.items()]
            blocks += [(frame, 0, "m", "m") for frame in self.magazine(board)]
            for frame, order, first, rest in blocks:
                for i in range(1 << order):
                    if frame // BOARD == board and (frame + i) % BOARD < self.size:
                        row[(frame + i) % BOARD] = rest if i else first
            lines += [f"board {board} {at:>4}  {''.join(row[at : at + ROW])}" for at in range(0, self.size, ROW)]
        return lines

    def operation(self):
        """The next operation: its title, and a function that does it and returns what came out."""
        rng, boards = self.rng, self.args.boards
        cpu = rng.choice([0, rng.randrange(boards)])  # board 0 is short of frames before the others
        if self.used and rng.random() < 0.35:
            frame = rng.choice(sorted(self.used))
            letter, order = self.used[frame]

            def release():
                self.child.ask("free", frame)
                del self.used[frame]
                return []

            return cpu, f"frees block {letter}, order {order}, board {frame // BOARD} frame {frame % BOARD}", release
        board = cpu if rng.random() < 0.7 else rng.randrange(boards)
        order = rng.choice(range(max(1, self.args.order - 1)))
        flags = STRICT if rng.random() < 0.15 else 0

        def take():
            frame, node = self.child.ask("alloc", board, order, flags, 1)
            if frame == NONE:
                return ["no block"]
            letter = LETTERS[self.taken % len(LETTERS)]
            self.taken += 1
            self.used[frame] = (letter, order)
            fallback = f", a fallback: board {board} was asked" if node != board else ""
            return [f"block {letter}: board {node}, frame {frame % BOARD}{fallback}"]

        where = f"board {board}{' and no other' if flags else ''}"
        return cpu, f"takes order {order} from {where}", take

    def intro(self):
        near = ", ".join(f"{board}: {' '.join(map(str, self.near(board)[1:]))}" for board in range(self.args.boards))
        return [
            f"{self.args.boards} boards, with a CPU and a free block of {self.size} frames each",
            f"the other boards, nearest first: {near}",
            "a free block is its order and -, one in use its letter and =; m: in a magazine; ?: lost",
        ]

    def steps(self):
        boards = range(self.args.boards)
        for n in range(1, self.args.steps + 1):
            cpu, what, act = self.operation()
            self.child.ask("run", cpu)
            before, counted, held = ([look(board) for board in boards] for look in (self.lists, self.counts, self.magazine))
            held = [len(frames) for frames in held]
            step = Step(f"{n}: CPU {cpu} {what}", self.picture())
            step.result = act()
            for board in boards:
                after, now = self.lists(board), self.counts(board)
                if after != before[board]:
                    step.result.append(f"board {board} {self.change(before[board], after, board)}")
                    step.why.append(f"free blocks of board {board} then: {self.words(after, board)}")
                counts = [f"{name} {counted[board][name]} -> {now[name]}" for name in now if now[name] != counted[board][name]]
                step.why += [f"counts of board {board}: {', '.join(counts)}"] if counts else []
                kept = len(self.magazine(board))
                if kept != held[board]:
                    step.result.append(f"the magazine of CPU {board} has {kept} frames, before {held[board]}")
            yield step

    def outro(self):
        lines = self.picture()
        for board in range(self.args.boards):
            free = sum(1 << order for order, _ in self.lists(board))
            used = sum(1 << order for frame, (_, order) in self.used.items() if frame // BOARD == board)
            kept = len(self.magazine(board))
            lost = self.size - free - used - kept
            lines.append(f"board {board}: {free} frames free, {used} in use, {kept} in the magazine, {lost} lost")
        return lines


if __name__ == "__main__":
    sys.exit(runner.main(Buddy))
