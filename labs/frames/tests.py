# SPDX-License-Identifier: MIT
"""tests.py - what a frame allocator must do: the cases of the lab "frames".

THEORY      The model of a board is the set of its free frames.  That is enough to know its lists: if free buddies always
            merge, the free blocks are the largest aligned blocks of free frames (blocks_of).  Which of several blocks of
            one order is taken is left to the student's code: the model takes note of it.
Each function is a test of lab.toml.  It draws its numbers from `t.random`, and asks the student's code through `t.child`.
"""

from homeroom import acpi
from homeroom.course.trial import Wrong

MAX_ORDER, BLOCK = 10, 1 << 10  # a block of 4 MiB has 1024 frames
FRAMES = 32 * BLOCK  # of the machine
MAGAZINE, BATCH = 64, 32  # PAGE_MAG, PAGE_MAG_BATCH
UPPER, SINGLES_UPPER = 1, 2  # values of half, a parameter of lab.toml
NONE = (1 << 64) - 1
FREE = 1 << 0  # PG_FREE
NEAR, STRICT = 0, 1
SHOWN = 8  # blocks in a message


def blocks_of(frames):
    """By order, the first frames of the blocks that a set of free frames consists of."""
    blocks, left = [], set(frames)
    for order in range(MAX_ORDER):
        size = 1 << order
        pairs = {f for f in left if f % (2 * size) == 0 and f + size in left}
        blocks.append(left - pairs - {f + size for f in pairs})
        left = pairs
    return [*blocks, left]


def cut(first, count):
    """The largest aligned blocks that a range of frames consists of, as (order, frame)."""
    return [(order, f) for order, found in enumerate(blocks_of(range(first, first + count))) for f in found]


def frames_of(order, first):
    return set(range(first, first + (1 << order)))


def few(frames):
    shown = sorted(frames)
    if not shown:
        return "none"
    return f"{len(shown)}: {', '.join(map(str, shown[:SHOWN]))}{', ...' if len(shown) > SHOWN else ''}"


class Board:
    """What the grader knows of a board: `frames` of its own, and which of them are on its lists: `free`."""

    def __init__(self, node):
        self.node, self.frames, self.free, self.low = node, set(), set(), 0
        self.near = []
        self._known = {}  # by number of 4 MiB: blocks_of() the free frames there; none: they have changed
        self.local = self.fallback = self.foreign = 0

    def has_block(self, order):
        return any(self.blocks()[order:])

    def blocks(self):
        """blocks_of() the free frames."""
        found = [set() for _ in range(MAX_ORDER + 1)]
        for at in self._known:
            if self._known.get(at) is None:
                self._known[at] = blocks_of(self.free.intersection(range(at * BLOCK, (at + 1) * BLOCK)))
            for blocks, more in zip(found, self._known[at], strict=True):
                blocks |= more
        return found

    def put(self, frames):
        self.free |= frames
        self._known.update((f // BLOCK, None) for f in frames)

    def remove(self, frames):
        self.free -= frames
        self._known.update((f // BLOCK, None) for f in frames)

    def scarce(self):
        return len(self.free) < self.low


class Machine:
    """Boards with frames, and a CPU on each.  The one that runs is `cpu`, whose number is its board's."""

    def __init__(self, t, boards):
        self.t, self.ask, self.term, self.cpu = t, t.child.ask, t.term, 0
        self.boards = [Board(node) for node in range(boards)]
        self.magazines = [[] for _ in range(boards)]
        self.used = {}  # by first frame: the order of a block in use
        self.ask("cpus", *range(boards))
        for node in range(boards):
            self.set_near(node, [node, *(other for other in range(boards) if other != node)])
        self.run(0)

    def set_near(self, node, near):
        self.boards[node].near = near
        self.ask("near", node, *near)

    def set_low(self, node, low):
        self.boards[node].low = low
        self.ask("low", node, low)

    def run(self, cpu):
        self.cpu = cpu
        self.ask("run", cpu)

    def add(self, node, blocks):
        """Give blocks, as (order, frame), to a board at boot."""
        self.ask("add", node, *(number for block in blocks for number in block))
        for block in blocks:
            self.own(node, frames_of(*block))

    def own(self, node, frames):
        self.boards[node].frames |= frames
        self.boards[node].put(frames)

    # ---- checks ----

    def expect(self, what, expected, found):
        self.t.expect(what, expected, found)

    def lists(self, node):
        """The lists of a board: by order, a list of (frame, flags, node, order)."""
        numbers, lists = iter(self.ask("lists", node)), []
        for _ in range(MAX_ORDER + 1):
            count = next(numbers)
            lists.append([tuple(next(numbers) for _ in range(4)) for _ in range(count)])
        return lists

    def expect_lists(self, node, when):
        """The free blocks of a board are those that its free frames make."""
        for order, (right, found) in enumerate(zip(self.boards[node].blocks(), self.lists(node), strict=True)):
            starts = [block[0] for block in found]
            if len(starts) != len(right) or set(starts) != right:
                self.expect(
                    f"free blocks of order {order} on the lists of board {node}, by first frame, {when}",
                    few(right),
                    few(starts),
                )

    def expect_all_lists(self, when):
        for board in self.boards:
            self.expect_lists(board.node, when)

    def state(self, node):
        names = ("mask", "nfree", "binned", "local", "fallback", "foreign")
        return dict(zip(names, self.ask("state", node), strict=True))

    def expect_counts(self, when):
        for board in self.boards:
            state = self.state(board.node)
            right = {"local": board.local, "fallback": board.fallback, "foreign": board.foreign}
            self.expect(f"counts of board {board.node} {when}", right, {name: state[name] for name in right})

    def expect_magazine(self, cpu, when):
        self.expect(
            f"frames in the magazine of CPU {cpu}, the next one last, {when}", self.magazines[cpu], self.ask("magazine", cpu)
        )

    def _note(self, first, order, board, what):
        """A block has been taken from the lists of a board: check that it was free, and take note."""
        if first == NONE or first % (1 << order) or not frames_of(order, first) <= board.free:
            found = "none" if first == NONE else f"frame {first}, {self._kind(first, order, board)}"
            right = f"frames of board {board.node} that are free, at a multiple of {1 << order}"
            raise Wrong(f"{what}\nexpected: {right}\nfound:    {found}")
        board.remove(frames_of(order, first))

    def _kind(self, first, order, board):
        if first % (1 << order):
            return "which is no such multiple"
        if not frames_of(order, first) <= board.frames:
            owners = [other.node for other in self.boards if first in other.frames]
            return f"of board {owners[0]}" if owners else "which no board has"
        return "of which some are in use"

    # ---- blocks of a board, without magazines ----

    def take(self, node, order, smallest_first=True, right_half=False):
        """block_take() of a board.  Returns the first frame, or NONE.  `smallest_first`: check which block is split;
        `right_half`: and which part of it is taken."""
        board, what = self.boards[node], f"block_take() of order {order} from board {node}"
        first, flags = self.ask("take", node, order, 1)
        sizes = board.blocks()
        if not any(sizes[order:]):
            self.expect(what, "no block", "no block" if first == NONE else f"frame {first}")
            return NONE
        self._note(first, order, board, what)
        self.expect(f"flags of the head after {what}", 0, flags)
        size, start = next((o, f) for o, found in enumerate(sizes) for f in found if f <= first < f + (1 << o))
        smallest = next(o for o in range(order, MAX_ORDER + 1) if sizes[o])
        if smallest_first:
            self.expect(f"order of the free block from which {what} is cut", smallest, size)
        upper = {UPPER: True, SINGLES_UPPER: order == 0}.get(self.term["half"])
        if right_half and upper is not None:
            right = start + (1 << size) - (1 << order) if upper else start
            self.expect(f"first frame of {what}, cut from the block of order {size} at {start}", right, first)
        self.used[first] = order
        return first

    def give(self, node, first):
        order = self.used.pop(first)
        self.ask("give", node, order, first)
        self.boards[node].put(frames_of(order, first))

    # ---- page_alloc() and page_free() ----

    def source(self, node, order, flags):
        """The board whose frames an allocation must get; None: there is none."""
        if order == 0 and node == self.cpu and self.magazines[self.cpu]:
            return self.boards[node]
        asked = self.boards[node]
        others = [] if flags & STRICT else [self.boards[n] for n in asked.near if n != node]
        sources = [asked, *(other for other in others if len(other.free) > self.term["reserve"])]
        return next((board for board in sources if board.has_block(order)), None)

    def alloc(self, node, order=0, flags=NEAR):
        """page_alloc().  Returns the first frame, or NONE."""
        what = f"page_alloc() of order {order} on board {node}, by CPU {self.cpu}{', ALLOC_STRICT' if flags & STRICT else ''}"
        right, asked, mag = self.source(node, order, flags), self.boards[node], self.magazines[self.cpu]
        few_free = asked.scarce()
        first, found = self.ask("alloc", node, order, flags, 1)
        self.expect(f"board of the block that {what} gets", right.node if right else "none", "none" if first == NONE else found)
        if right is None:
            return NONE
        if right is asked:
            asked.local += 1
        else:
            asked.fallback += 1
            right.foreign += 1
        if order == 0 and node == self.cpu and right is asked:
            if not mag:
                self.filled(few_free, [first], what)
            else:
                self.expect(f"frame that {what} gets from the magazine", mag.pop(), first)
        else:
            self._note(first, order, right, what)
        self.used[first] = order
        return first

    def filled(self, few_free, taken, what):
        """The magazine of the running CPU was empty and has been filled; `taken` are frames that left it since."""
        board = self.boards[self.cpu]
        want = min(1 if few_free else self.term["batch"], len(board.free))
        now = self.ask("magazine", self.cpu)
        self.expect(f"frames in the magazine of CPU {self.cpu} after {what}", want - len(taken), len(now))
        self.expect(f"different frames in that magazine after {what}", len(now), len(set(now) - set(taken)))
        for frame in [*now, *taken]:
            self._note(frame, 0, board, f"frame that the magazine got in {what}")
        self.magazines[self.cpu] = now

    def drained(self, keep, pushed, what):
        """The magazine of the running CPU was emptied until `keep` were left; `pushed` went in after that."""
        before, now = self.magazines[self.cpu], self.ask("magazine", self.cpu)
        self.expect(f"frames in the magazine of CPU {self.cpu} after {what}", keep + len(pushed), len(now))
        kept = set(now) - set(pushed)
        self.expect(f"frames in that magazine that were in it before {what}", keep, len(kept & set(before)))
        if self.term["oldest_drained"]:
            self.expect(f"frames in that magazine, the next one last, after {what}", before[len(before) - keep :] + pushed, now)
        self.boards[self.cpu].put(set(before) - kept)
        self.magazines[self.cpu] = now

    def pushed(self, first, what):
        """A frame has gone to the magazine of the running CPU, which is drained first if it is full."""
        if len(self.magazines[self.cpu]) < MAGAZINE:
            self.magazines[self.cpu].append(first)
        else:
            self.drained(MAGAZINE - BATCH, [first], what)

    def push(self, first):
        """magazine_push() of a frame that was taken from the CPU's board."""
        del self.used[first]
        self.ask("push", first)
        self.pushed(first, "magazine_push()")
        self.expect_magazine(self.cpu, "after magazine_push()")

    def free(self, first):
        """page_free()."""
        order = self.used.pop(first)
        board = next(board for board in self.boards if first in board.frames)
        what = f"page_free() of a block of board {board.node} and order {order} by CPU {self.cpu}"
        pushed = order == 0 and board.node == self.cpu and not board.scarce()
        self.ask("free", first)
        if pushed:
            self.pushed(first, what)
        else:
            board.put(frames_of(order, first))
        self.expect_magazine(self.cpu, f"after {what}")

    def free_all(self):
        blocks = list(self.used)
        self.t.random.shuffle(blocks)
        for first in blocks:
            self.free(first)

    def drain_all(self):
        for cpu, mag in enumerate(self.magazines):
            self.ask("drain", cpu, 0)
            self.boards[cpu].put(set(mag))
            self.magazines[cpu] = []
            self.expect_magazine(cpu, "after magazine_drain() to 0")

    def expect_all_free(self, when):
        """Nothing is in use: each board has its frames again, in blocks as large as at the beginning."""
        for board in self.boards:
            self.expect(
                f"free frames of board {board.node} {when} (nfree_pages)", len(board.frames), self.state(board.node)["nfree"]
            )
        self.expect_all_lists(when)


# ---- machines ----


def places(t, n):
    """`n` different blocks of 4 MiB of the machine, by first frame."""
    return [BLOCK * i for i in t.random.sample(range(FRAMES // BLOCK), n)]


def drawn(t, least, most):
    return t.random.randrange(least, most + 1)


def shuffled(t, values):
    values = list(values)
    t.random.shuffle(values)
    return values


def machine(t, boards, each=2):
    """A machine whose boards have `each` blocks of 4 MiB, and one of which a part in the middle is missing."""
    m, at = Machine(t, boards), places(t, boards * (each + 1))
    for node in range(boards):
        for _ in range(each):
            m.add(node, [(MAX_ORDER, at.pop())])
        first, hole = at.pop(), drawn(t, 100, 400)
        m.add(node, shuffled(t, cut(first, hole)))
        m.add(node, shuffled(t, cut(first + hole + 1, BLOCK - hole - 1)))
    return m


def small_machine(t, boards, frames):
    """A machine whose boards have `frames` frames each, in one block of 4 MiB."""
    m = Machine(t, boards)
    for node, first in enumerate(places(t, boards)):
        m.add(node, shuffled(t, cut(first + drawn(t, 0, BLOCK - frames), frames)))
    return m


def with_reserve(t, least, most):
    """A number of frames of a board, of which so many may go to other boards."""
    return t.term["reserve"] + drawn(t, least, most)


def set_random_near(t, m, boards=None):
    """Each board has an own order of the others, which is not that of their numbers."""
    boards = list(range(len(m.boards))) if boards is None else boards
    for node in range(len(m.boards)):
        others = sorted(other for other in boards if other != node)
        while others == sorted(others):
            t.random.shuffle(others)
        m.set_near(node, [*([node] if node in boards else []), *others])


# ---- part 1: blocks of a board ----


def split_leaves_the_other_halves(t):
    m = Machine(t, MAX_ORDER + 1)
    for order, first in zip(shuffled(t, range(MAX_ORDER + 1)), places(t, MAX_ORDER + 1), strict=True):
        m.add(order, [(MAX_ORDER, first)])
        m.take(order, order, right_half=True)
        m.expect_lists(order, f"after a block of order {order} was taken from one of order {MAX_ORDER}")


def smallest_block_first(t):
    m = Machine(t, 1)
    orders = sorted(t.random.sample(range(MAX_ORDER + 1), 6))
    m.add(0, [(order, first) for order, first in zip(shuffled(t, orders), places(t, 6), strict=True)])
    for order in [*shuffled(t, orders[:4]), 0, *(drawn(t, 0, 5) for _ in range(40))]:
        m.take(0, order, right_half=True)
        m.expect_lists(0, f"after a block of order {order} was taken")


def buddies_merge(t):
    m = Machine(t, 2)
    for node, first in enumerate(places(t, 2)):
        m.add(node, [(MAX_ORDER, first)])
        order = drawn(t, 3, 6)
        pieces = [m.take(node, order) for _ in range(BLOCK >> order)]
        m.expect_lists(node, "while all frames are in use")
        for piece in shuffled(t, pieces):
            m.give(node, piece)
            m.expect_lists(node, f"after block {piece} of order {order} was given back")


def merging_stops_at_a_smaller_block(t):
    for node, first in enumerate(places(t, 6)):
        if node == 0:
            m = Machine(t, 6)
        order = drawn(t, 1, 8)
        m.add(node, [(MAX_ORDER, first)])
        blocks = [m.take(node, order) for _ in range(BLOCK >> order)]
        chosen = t.random.choice(blocks)
        m.give(node, chosen)
        half = max(m.take(node, order - 1), m.take(node, order - 1))  # both halves are taken again; the second stays in use
        m.give(node, chosen)
        m.expect_lists(node, f"after the first half of block {chosen} of order {order} was given back")
        buddy = chosen ^ (1 << order)
        m.give(node, buddy)
        m.expect_lists(node, f"after block {buddy} of order {order} was given back; the second half of its buddy is in use")
        m.give(node, half)
        m.expect_lists(node, f"after that half, {half}, was given back, too")


def boards_do_not_merge(t):
    m = Machine(t, 2)
    for order, first in zip(range(MAX_ORDER), places(t, MAX_ORDER), strict=True):
        border = (drawn(t, 1, BLOCK >> order + 1) * 2 - 1) << order  # buddies of this order lie on both sides
        left = [(0, o, f) for o, f in cut(first, border)]
        right = [(1, o, f) for o, f in cut(first + border, BLOCK - border)]
        for node, o, f in shuffled(t, left + right):
            m.add(node, [(o, f)])
        m.expect_all_lists(f"if the border of two boards is at frame {first + border}")
    for node in range(2):
        for order in reversed(range(MAX_ORDER)):
            while m.boards[node].has_block(order):
                m.take(node, order)
    for first in shuffled(t, m.used):
        m.give(0 if first in m.boards[0].frames else 1, first)
    m.expect_all_lists("after all frames on both sides of the borders were given back")


def heads_mask_and_count(t):
    m = machine(t, 2, 1)
    for step in range(60):
        node = drawn(t, 0, 1)
        mine = [first for first in m.used if first in m.boards[node].frames]
        if step % 3 == 2 and mine:
            m.give(node, t.random.choice(mine))
        else:
            m.take(node, drawn(t, 0, 8))
        board, state = m.boards[node], m.state(node)
        mask = sum(1 << order for order, found in enumerate(board.blocks()) if found)
        m.expect(f"nfree_pages of board {node}", len(board.free), state["nfree"])
        m.expect(f"free_mask of board {node}", f"{mask:#b}", f"{state['mask']:#b}")
        for order, found in enumerate(m.lists(node)):
            for first, flags, of, size in found:
                right = {"flags": FREE, "node": node, "order": order}
                m.expect(f"descriptor of the free block {first}", right, {"flags": flags, "node": of, "order": size})


def fresh_blocks_of_the_boot(t):
    m = Machine(t, 3)
    for node, first in enumerate(places(t, 3)):
        m.ask("add_fresh", node, first, *shuffled(t, range(MAX_ORDER)))
        m.own(node, set(range(first, first + BLOCK)))
        for order in shuffled(t, range(9)) if node else [MAX_ORDER]:
            taken = m.take(node, order)
            dirty = m.ask("dirty", order, taken)
            m.expect(
                f"descriptors that are not clear in block {taken} of order {order}, taken from a fresh block",
                "none",
                few(dirty),
            )
        for piece in shuffled(t, [f for f in m.used if f in m.boards[node].frames]):
            m.give(node, piece)
            m.expect_lists(node, f"after block {piece} of a block that was fresh before was given back")


def random_blocks_merge_back(t):
    m = machine(t, 3, 1)
    owner = {}
    for step in range(500):
        if t.random.random() < 0.55 or not owner:
            node = drawn(t, 0, 2)
            first = m.take(node, drawn(t, 0, MAX_ORDER) if step % 8 == 0 else drawn(t, 0, 5))
            if first != NONE:
                owner[first] = node
        else:
            first = t.random.choice(list(owner))
            m.give(owner.pop(first), first)
        if step % 25 == 0:
            m.expect_all_lists(f"after {step + 1} operations")
    for first in shuffled(t, owner):
        m.give(owner[first], first)
    m.expect_all_free("after all blocks were given back")


def every_frame_once_then_none(t):
    m = small_machine(t, 2, drawn(t, 300, 500))
    for node in range(2):
        for _ in range(len(m.boards[node].frames)):
            m.expect(
                f"a frame of board {node}, of which some are free", "a frame", "none" if m.take(node, 0) == NONE else "a frame"
            )
        for order in shuffled(t, range(MAX_ORDER + 1)):
            m.take(node, order)  # none
        m.expect(f"nfree_pages of board {node}", 0, m.state(node)["nfree"])
    for first in shuffled(t, m.used):
        m.give(0 if first in m.boards[0].frames else 1, first)
    m.expect_all_free("after all frames were given back")


# ---- part 2: magazines ----


def fill(m, cpu):
    """magazine_fill() of a CPU whose magazine is empty."""
    few_free = m.boards[cpu].scarce()
    m.run(cpu)
    right = bool(m.boards[cpu].free)
    (filled,) = m.ask("fill", cpu)
    m.expect(f"result of magazine_fill() for board {cpu}", right, bool(filled))
    m.filled(few_free, [], "magazine_fill()")


def an_empty_magazine_is_filled(t):
    m = machine(t, 4, 1)
    for cpu in shuffled(t, range(4)):
        fill(m, cpu)
        m.expect_lists(cpu, "after magazine_fill()")
        batch = t.term["batch"]
        for _ in range(batch):
            m.alloc(cpu)
        m.expect_magazine(cpu, f"after {batch} allocations")
        fill(m, cpu)
        m.expect_all_lists("after magazine_fill() once more")


def a_poor_board_fills_what_it_has(t):
    m, batch = Machine(t, 3), t.term["batch"]
    sizes = shuffled(t, [0, drawn(t, 1, batch // 2), drawn(t, batch // 2 + 1, batch - 1)])
    for node, (size, first) in enumerate(zip(sizes, places(t, 3), strict=True)):
        m.add(node, cut(first + drawn(t, 0, 900), size))
    for cpu in range(3):
        fill(m, cpu)
        m.expect_lists(cpu, f"after magazine_fill() on a board with {sizes[cpu]} frames")
        for _ in range(sizes[cpu]):
            m.alloc(cpu)
        fill(m, cpu)  # nothing


def few_free_frames_fill_one(t):
    m = small_machine(t, 2, drawn(t, 200, 600))
    for cpu in range(2):
        free = len(m.boards[cpu].free)
        m.set_low(cpu, free + 1)
        fill(m, cpu)
        m.alloc(cpu)
        m.set_low(cpu, free - 1)  # as many as are free now: not fewer
        fill(m, cpu)
        m.expect_lists(cpu, "after magazine_fill()")


def a_magazine_is_drained(t):
    m = machine(t, 3, 1)
    cpu = drawn(t, 0, 2)
    m.run(cpu)
    frames = [m.take(cpu, 0, smallest_first=False) for _ in range(4 * MAGAZINE)]
    for first in shuffled(t, frames):
        m.push(first)
        m.expect_lists(cpu, f"after frame {first} was put into the magazine")
    for keep in sorted((drawn(t, 2, BATCH - 1) for _ in range(3)), reverse=True):
        m.ask("drain", cpu, keep)
        m.drained(min(keep, len(m.magazines[cpu])), [], f"magazine_drain() to {keep}")
        m.expect_lists(cpu, f"after magazine_drain() to {keep}")
    now = len(m.magazines[cpu])
    m.ask("drain", cpu, now + drawn(t, 1, 9))
    m.drained(now, [], "magazine_drain() to more frames than it has")
    m.drain_all()
    m.expect_all_free("after magazine_drain() to 0")


def locks(m):
    """The locks of the last operation: by board with one that was taken, (times, free frames, allocations) changed under it."""
    unbalanced, most, _, *numbers = m.ask("locks")
    m.expect("irq_push() and spin_lock() without their counterpart", 0, unbalanced)
    signed = [n - (1 << 64) if n >> 63 else n for n in numbers]
    each = {i // 3: tuple(signed[i : i + 3]) for i in range(0, len(signed), 3)}
    return most, {node: change for node, change in each.items() if any(change)}


def a_batch_costs_one_lock(t):
    m, batch = machine(t, 2, 1), t.term["batch"]
    for cpu in range(2):
        fill(m, cpu)
        what = "holds of the node's lock, and the change of nfree_pages and of the node's counts under it,"
        m.expect(f"{what} in magazine_fill()", (1, {cpu: (1, -batch, 0)}), locks(m))
        keep = drawn(t, 0, batch - 1)
        m.ask("drain", cpu, keep)
        m.expect(f"{what} in magazine_drain() from {batch} to {keep}", (1, {cpu: (1, batch - keep, 0)}), locks(m))
        m.drained(keep, [], f"magazine_drain() to {keep}")
        m.expect_lists(cpu, "after that")


# ---- part 3: the nearest board ----


def the_asked_board_first(t):
    m = machine(t, 6, 1)
    for _ in range(4):
        m.run(drawn(t, 0, 5))
        for node in shuffled(t, range(6)):
            m.alloc(node, drawn(t, 0, 4), t.random.choice([NEAR, STRICT]))
    m.expect_all_lists("after allocations on each board")


def empty(m, nodes):
    """Take all frames from the lists of some boards; the CPUs that run are of other boards."""
    for node in nodes:
        for order in reversed(range(MAX_ORDER + 1)):
            while m.boards[node].has_block(order):
                m.alloc(node, order, STRICT)


def the_nearest_board_next(t):
    boards = 6
    m = Machine(t, boards + 1)  # the last board has a CPU and no memory
    for node, first in enumerate(places(t, boards)):
        m.add(node, cut(first + 3, with_reserve(t, 130, 250)))
    set_random_near(t, m, list(range(boards)))
    m.run(boards)
    for _ in range(2):
        m.alloc(boards, drawn(t, 0, 3))
    asked = drawn(t, 0, boards - 1)
    m.run(m.boards[asked].near[1])
    m.alloc(m.cpu)  # its magazine has frames now, which it must not use when another board is asked
    for node in m.boards[asked].near:
        for order in (7, 0):  # a board may have frames and no block
            while m.source(asked, order, NEAR) is m.boards[node]:
                m.alloc(asked, order)
            m.alloc(asked, 7)
        m.expect_all_lists(f"after board {node} was used up")
    m.alloc(asked)  # none
    m.alloc(boards)  # none
    for first in shuffled(t, list(m.used))[:4]:
        m.free(first)
        m.alloc(asked)
    m.run(asked)
    m.free_all()
    for _ in range(2 * boards):
        m.alloc(drawn(t, 0, boards), drawn(t, 0, 6))


def strict_takes_no_other_board(t):
    m = small_machine(t, 4, with_reserve(t, 150, 300))
    asked, other = t.random.sample(range(4), 2)
    m.run(other)
    empty(m, [asked])
    for order in (0, 1, 5):
        m.alloc(asked, order, STRICT)  # none
    m.run(asked)
    m.alloc(asked, 0, STRICT)  # none
    m.alloc(asked, 0, NEAR)
    m.expect_all_lists("after ALLOC_STRICT has failed")


def allocations_are_counted(t):
    m = small_machine(t, 5, with_reserve(t, 130, 200))
    for node in shuffled(t, range(5))[:3]:
        m.run(t.random.choice([other for other in range(5) if other != node]))
        empty(m, [node])
        m.expect_counts(f"after all frames of board {node} were allocated there")
        for _ in range(drawn(t, 3, 6)):
            m.alloc(node, drawn(t, 0, 3))
        m.alloc(node, 0, STRICT)  # none
        m.expect_counts(f"after board {node} fell back on others")
    for _ in range(10):
        m.run(drawn(t, 0, 4))
        m.alloc(m.cpu)
    m.expect_counts("after CPUs have allocated on their own boards")
    m.alloc(drawn(t, 0, 4), MAX_ORDER)  # none: no board has such a block
    m.expect_counts("after an allocation that failed on all boards")


def a_frame_goes_home(t):
    m = machine(t, 4, 1)
    for _ in range(60):
        m.run(drawn(t, 0, 3))
        m.alloc(drawn(t, 0, 3), drawn(t, 0, 3))
    for node in range(4):  # a frame at least of each board is freed at home and by another board's CPU
        for cpu in (node, (node + drawn(t, 1, 3)) % 4):
            m.run(cpu)
            m.free(m.alloc(node))
            m.expect_lists(node, f"after CPU {cpu} has freed a frame of board {node}")
    for first in shuffled(t, m.used):
        m.run(drawn(t, 0, 3))
        m.free(first)
    m.expect_all_lists("after CPUs of all boards have freed all blocks")
    m.drain_all()
    m.expect_all_free("after all magazines were drained")


def freed_frames_of_a_scarce_board(t):
    m = small_machine(t, 2, drawn(t, 200, 400))
    cpu = drawn(t, 0, 1)
    m.run(cpu)
    blocks = [m.alloc(cpu) for _ in range(150)]
    m.set_low(cpu, len(m.boards[cpu].free) + 20)
    for first in shuffled(t, blocks)[:30]:
        m.free(first)
        m.expect_lists(cpu, f"after a frame was freed; low_pages is {m.boards[cpu].low}")


def bins_give_way(t):
    """Board 0 is asked by another board's CPU, board 1 by its own, and board 2 helps board 3, which has no memory."""
    m, splits = Machine(t, 4), 2 + t.term["reserve"] // 31
    for node, first in enumerate(places(t, 3)):
        m.add(node, [(MAX_ORDER, first)])
    m.ask("colors")
    for node, cpu in enumerate((3, 1, 3)):
        board = m.boards[node]
        m.run(3)
        for _ in range(splits):  # each splits a block; frames of other colours go to the bins
            first, found = m.ask("colored", node, 7)
            m.expect("board of a frame by colour", node, found)
            board.remove({first})
        m.expect("frames in the bins", splits * 31, m.state(node)["binned"])
        if node == 2:
            for order, blocks in enumerate(m.lists(2)):
                for _ in blocks:
                    m.alloc(2, order, STRICT)
            m.expect("frames in the bins, after all blocks on the lists were allocated", splits * 31, m.state(2)["binned"])
            m.alloc(3)
        m.run(cpu)
        while board.free:
            m.alloc(node, 0, STRICT)
        m.alloc(node, 0, STRICT)  # none
        m.expect(f"frames in the bins of board {node}, all of whose frames were allocated", 0, m.state(node)["binned"])


def locks_guard_the_lists(t):
    m = small_machine(t, 4, with_reserve(t, 150, 300))
    for asked in shuffled(t, range(4))[:3]:
        cpu = t.random.choice([node for node in range(4) if node != asked])
        m.run(cpu)
        order = drawn(t, 0, 4)
        right = m.source(asked, order, NEAR)
        while right is not None and right.node == asked:
            first = m.alloc(asked, order)
            expect_locks(m, asked, order, -(1 << order), 1)
            right = m.source(asked, order, NEAR)
        first = m.alloc(asked, order)
        expect_locks(m, right.node if right else None, order, -(1 << order), 1)
        if first != NONE and right.node != cpu:
            m.free(first)
            expect_locks(m, right.node, order, 1 << order, 0)
    m.free_all()
    m.expect_all_lists("after all blocks were freed")
    cpu = t.random.choice([node for node in range(4) if node != m.cpu])  # its magazine is empty
    m.run(cpu)
    frames = [m.alloc(cpu)]
    expect_covered(m, f"page_alloc(), which fills the magazine of CPU {cpu}")
    while len(frames) + len(m.magazines[cpu]) <= MAGAZINE:
        frames.append(m.alloc(cpu))
    while len(m.magazines[cpu]) < MAGAZINE:
        m.free(frames.pop())
    m.free(frames.pop())
    expect_covered(m, f"page_free(), which drains the magazine of CPU {cpu}")


def expect_covered(m, what):
    _, _, uncovered, *_ = m.ask("locks")
    m.expect(f"locks taken while interrupts were on in {what}", 0, uncovered)


def expect_locks(m, node, order, frames, allocs):
    most, each = locks(m)
    m.expect("the most nodes' locks held at the same time", True, most <= 1)
    right = {} if node is None else {node: (frames, allocs)}
    found = {n: change for n, (_, *rest) in each.items() if any(change := tuple(rest))}
    m.expect(
        f"changes under the locks, by board (nfree_pages, allocations counted), for a block of order {order}", right, found
    )


def a_whole_machine(t):
    boards = 4
    m = machine(t, boards, 1)
    set_random_near(t, m)
    for node, low in enumerate(shuffled(t, [drawn(t, 100, 400), drawn(t, 400, 1000), 0, FRAMES])):
        m.set_low(node, low)
    for step in range(700):
        m.run(drawn(t, 0, boards - 1))
        if t.random.random() < (0.8 if step < 450 else 0.3) or not m.used:
            m.alloc(drawn(t, 0, boards - 1), t.random.choice([0, 0, 0, 1, 4, 7, 9]), t.random.choice([NEAR, NEAR, STRICT]))
        else:
            m.free(t.random.choice(list(m.used)))
        if step % 50 == 0:
            m.expect_all_lists(f"after {step + 1} operations")
    for first in shuffled(t, m.used):
        m.run(drawn(t, 0, boards - 1))
        m.free(first)
    m.drain_all()
    m.expect_all_free("after all blocks were freed and all magazines drained")


# ---- booted ----

SPILLS = 0.1  # the least share of a program's accesses that is to a board on which it has spilled
STRAY = 0.02  # the greatest share that is where it should not be


def freed_frames_become_large_pages_again(t):
    """Two boards of 48 MiB.  One after the other, programs use more frames than there are, and a CPU frees those of both
    boards.  Then each of eight threads needs two pages of 2 MiB, and finds them on its board."""
    pages = 8 * drawn(t, 600, 700)
    small = f"for i in 1 2 3 4 5; do memcopy -b -t 8 -P {pages} -i 1 || exit 1; done"
    run = t.kernel.boot("sf3800", f"{small}; memcopy -b -t 8 -s 2m -n 2m -i 20", drawn(t, 1, 1 << 30), memory="48M")
    t.expect_own_memory("8 threads with large pages", run)


def full_board_falls_back_on_the_nearest(t):
    """18 boards of 64 MiB; a program needs 160 MiB.  The three nearest boards are none of those that come first by number."""
    n = 18
    full, *near = t.random.sample(range(n // 2, n), 4)
    distances = [[10 if i == j else 150 for j in range(n)] for i in range(n)]
    for k, g in enumerate(near):
        distances[full][g] = distances[g][full] = 20 + 10 * k
    command = f"sh -c 'pbind -b {4 * full} $$; exec memcopy -t 1 -i 1 -n 10m'; true"
    run = t.kernel.boot("sf15k", command, drawn(t, 1, 1 << 30), memory="64M", acpi=acpi.slit(distances))
    used = run.by_domain()[full]
    shares = [used[g] / max(1, sum(used)) for g in range(n)]
    first, second, third = (shares[g] for g in near)
    good = shares[full] > SPILLS and first > second > SPILLS and third <= STRAY and shares[full] + first + second >= 1 - STRAY
    wanted = f"a part in the memory of {full}, as much as there is in that of {near[0]}, the rest in that of {near[1]}"
    found = ", ".join(f"{100 * share:.0f} % in that of {g}" for g, share in enumerate(shares) if share > STRAY / n)
    t.expect(
        f"accesses of a program on board {full} that needs more memory than the board has, as QEMU counts them; the nearest "
        f"boards are {', '.join(map(str, near))}",
        wanted,
        wanted if good else found,
    )
