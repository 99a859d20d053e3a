# SPDX-License-Identifier: MIT
"""journal.py - simulate a commit and a replay: the log block by block, and a power cut after each of the last writes.

THEORY      A disk of blocks of BSIZE bytes has a journal, and some blocks that transactions change.  jnl_commit_all() with
            write_log() of the tree commits them.  The disk after a power cut is the disk before the last commit with the
            first of its writes; jnl_recover() of the tree replays that in another process.
            Each version of a block has contents of its own, so that it is recognised in the log and in its place without
            the descriptors: "41v2" is block 41 as transaction 2 has left it.
            A freed block is reused at once when the transaction that frees it is committed: "41file", without the journal.
SEE ALSO    labs/journal/README.md (the format and the rules), docs/ext.md
"""

import struct
import sys

from homeroom.sim import runner
from homeroom.sim.runner import Simulator, Step, number, wrapped

MAGIC, SUPER, REVOKE = 0xC03B3998, 4, 5
TYPES = {1: "descriptor", 2: "commit block"}
BSIZE, FIRST_BLOCK, PLACE = 1024, 1, 4  # bytes; of the file system; block of the disk where the journal begins
WORDS = BSIZE // 8
SEQUENCE = 1  # number of the first transaction


def contents(block, version, escaped):
    """A version of a block.  `escaped`: it begins with the magic number of the journal."""
    head = struct.pack(">I", MAGIC) if escaped else b"data"
    return (head + f" {block} {version} ".encode()).ljust(BSIZE, b"-")


class Journal(Simulator):
    name, lab = "journal", "journal"
    about = "Transactions are written into the log, the power fails, and the log is replayed."
    question = "What does the replay write, and to which state does it bring the disk?"

    @staticmethod
    def arguments(parser):
        parser.add_argument("--ring", type=number(24, 120), default=32, help="blocks of the log (32)")
        parser.add_argument("--blocks", type=number(2, 20), default=6, help="blocks that transactions change (6)")
        parser.add_argument("--transactions", type=number(1, 40), default=3, help="commits (3)")
        parser.add_argument("--cut", type=number(0, 100), help="the power fails after so many writes of the last commit (all)")
        parser.add_argument("--cache", action="store_true", help="a cut loses some of the writes since the last flush, too")

    @staticmethod
    def draw(rng):
        numbers = {"blocks": rng.randrange(3, 7), "transactions": rng.randrange(2, 4), "cut": rng.randrange(2, 7)}
        return [word for name, value in numbers.items() for word in (f"--{name}", str(value))]

    def __init__(self, *words):
        super().__init__(*words)
        args = self.args
        self.maxlen = args.ring + 1
        self.blocks = list(range(PLACE + self.maxlen + 1, PLACE + self.maxlen + 1 + args.blocks))
        self.end = self.blocks[-1] + 2  # of the file system
        self.names = {}  # by contents without the first 4 bytes: a name, and all contents
        self.state = {}  # by block: its contents after the last transaction
        self.states = []  # one for each transaction, and one before them
        self.outcomes = []
        self.replayer = self.new_child()
        super_block = struct.pack(">8I", MAGIC, SUPER, 0, BSIZE, self.maxlen, 1, SEQUENCE, 0).ljust(BSIZE, b"\0")
        image = {PLACE: super_block, **{block: self.version(block, "v0", False) for block in self.blocks}}
        self.state = {block: image[block] for block in self.blocks}
        self.states.append(dict(self.state))
        self.send(self.child, image)
        self.ask("open", 1)

    def ask(self, name, *numbers):
        error, *answer = self.child.ask(name, *numbers)
        if error:
            raise runner.ChildError(f"{name}: error {error}")
        return answer

    def version(self, block, version, escaped):
        data = contents(block, version, escaped)
        self.names[data[4:]] = (f"{block}{version}", data)
        return data

    # ---- the disk ----

    def send(self, child, image):
        child.ask("disk", BSIZE, self.end, FIRST_BLOCK, PLACE, self.maxlen)
        for block, data in image.items():
            child.ask("write", block, *struct.unpack(f"<{WORDS}Q", data))

    def read(self, child):
        """All blocks of a disk."""
        words = [word for at in range(0, self.end, 8) for word in child.ask("read", at, min(8, self.end - at))]
        data = struct.pack(f"<{len(words)}Q", *words)
        return {i: data[i * BSIZE : (i + 1) * BSIZE] for i in range(len(data) // BSIZE)}

    def name_of(self, data):
        if data is None:
            return "a block that the file system does not have"
        if data[4:] in self.names:
            name, whole = self.names[data[4:]]
            return name + ("" if data == whole else f" with {data[:4].hex()} in place of {whole[:4].hex()}")
        magic, kind, sequence, _, _, _, super_sequence, start = struct.unpack_from(">8I", data)
        if magic == MAGIC and kind == SUPER:
            return f"superblock, start {start}, sequence {super_sequence}"
        if magic == MAGIC and kind == REVOKE:
            count = struct.unpack_from(">I", data, 12)[0]
            numbers = struct.unpack_from(f">{min(max(count, 16), BSIZE) // 4 - 4}I", data, 16)
            return f"revoke record of {sequence} ({' '.join(map(str, numbers))})"
        if magic == MAGIC:
            return f"{TYPES.get(kind, f'type {kind}')} of {sequence}"
        return "other bytes" if any(data) else "zeros"

    def place(self, block):
        """A block of the disk in words."""
        return f"log {block - PLACE}" if PLACE <= block < PLACE + self.maxlen else f"block {block}"

    def picture(self, image):
        """The blocks of the journal that have been written, and the blocks at their own places."""
        used = [i for i in range(self.maxlen) if any(image[PLACE + i])]
        lines = wrapped("log:", [f"{i} {self.name_of(image[PLACE + i])};" for i in used])
        return [*lines, *self.places("places:", image)]

    def places(self, head, image):
        return wrapped(head, [self.name_of(image[block]) for block in self.blocks])

    # ---- transactions ----

    def transaction(self, n):
        """Change and free blocks.  Returns the title of the step."""
        rng, usable = self.rng, list(self.state)
        changed = sorted(rng.sample(usable, rng.randrange(1, min(4, len(usable)) + 1)))
        left = [block for block in usable if block not in changed]
        freed = rng.sample(left, 1) if len(left) > 1 and rng.random() < 0.5 else []
        for block in changed:
            data = self.version(block, f"v{n}", rng.random() < 0.15)
            self.ask("change", block, *struct.unpack(f"<{WORDS}Q", data))
            self.state[block] = data
        for block in freed:
            self.ask("forget", block)
            del self.state[block]
        words = [f"changes {' '.join(self.name_of(self.state[block]) for block in changed)}"]
        words += [f"frees {block}" for block in freed]
        return f"transaction {n} {', '.join(words)}", freed

    def reuse(self, block):
        """A freed block becomes part of a file, whose data no journal has."""
        data = self.version(block, "file", False)
        self.child.ask("write", block, *struct.unpack(f"<{WORDS}Q", data))
        self.state[block] = data
        return f"block {block} is reused: {self.name_of(data)}"

    def written(self, writes, after):
        """The writes of a commit, one a line."""
        lines = []
        for block in writes:
            lines.append("flush" if block is None else f"write {self.place(block)}: {self.name_of(after.get(block))}")
        return [f"{n:>3} {line}" for n, line in enumerate(lines, 1)]

    # ---- power cuts ----

    def cut_image(self, before, after, writes, cut):
        """The disk after a power cut, and what it has lost."""
        done = writes[:cut]
        flushed = max((i for i, block in enumerate(done) if block is None), default=0)
        lost = []
        if self.args.cache:
            lost = [i for i in range(flushed, len(done)) if done[i] is not None and self.rng.random() < 0.5]
        image = dict(before)
        image.update({block: after[block] for i, block in enumerate(done) if block in after and i not in lost})
        return image, [self.place(done[i]) for i in lost]

    def whole(self, image):
        """The transactions after which the blocks were as they are on this disk."""
        return [n for n, state in enumerate(self.states) if all(image[block] == data for block, data in state.items())]

    def cut(self, before, after, writes, cut):
        image, lost = self.cut_image(before, after, writes, cut)
        losing = f", which loses {', '.join(lost)}" if lost else ""
        step = Step(f"power cut after write {cut} of {len(writes)}{losing}", self.picture(image))
        self.send(self.replayer, image)
        error, replayed, _, sequence, _, _, *numbers = self.replayer.ask("recover", 0, 0)
        disk = self.read(self.replayer)
        targets = dict.fromkeys(number - 1 for number in numbers if number and number - 1 != PLACE)
        found = f"finds {replayed} transactions; the next one has the number {sequence}"
        step.result.append(f"the replay {f'ends with error {error}' if error else found}")
        step.result += wrapped("the replay writes", [self.name_of(disk.get(block)) for block in targets] or ["no block"])
        step.why += self.places("places after the replay:", disk)
        states = self.whole(disk)
        state = f"as after transaction {states[-1]}" if states else "in no state between two transactions"
        step.result.append(f"the blocks are {state}")
        self.outcomes.append(state)
        return step

    def intro(self):
        return [
            f"blocks {self.blocks[0]}-{self.blocks[-1]}; the log has blocks 1-{self.args.ring} of the journal",
            f'"{self.blocks[0]}v2" is block {self.blocks[0]} as transaction 2 leaves it',
        ]

    def steps(self):
        for n in range(1, self.args.transactions + 1):
            before = self.read(self.child)
            title, freed = self.transaction(n)
            step = Step(title, self.picture(before))
            head, *numbers = self.ask("commit", 0)
            writes = [number - 1 if number else None for number in numbers]
            after = self.read(self.child)
            self.states.append(dict(self.state))
            step.result = [*self.written(writes, after), f"the next block of the log is {head}"]
            if n < self.args.transactions:
                step.result += [self.reuse(block) for block in freed]
                self.states[-1] = dict(self.state)
            yield step
        most = len(writes)
        for cut in range(most + 1) if self.args.cut is None else [min(self.args.cut, most)]:
            yield self.cut(before, after, writes, cut)

    def outro(self):
        return [f"cuts that leave the blocks {state}: {self.outcomes.count(state)}" for state in dict.fromkeys(self.outcomes)]


if __name__ == "__main__":
    sys.exit(runner.main(Journal))
