# SPDX-License-Identifier: MIT
"""tests.py - what a replay and a commit must do: the cases of the lab "journal".

THEORY      Each test makes a disk with a journal, in the format of JBD, block by block: class Disk.  It keeps a list of what
            has happened: the transactions with their commit blocks, with the copies and the revoked blocks of each.  What
            must be on the disk after the replay follows from this list alone (Disk.result()), and so do the writes
            (Disk.replayed_blocks()).  The student's code sees only the blocks.
            For a commit it is the other way round: class Writer changes and frees blocks, has this committed, and reads what
            is in the log (Writer.transaction_at()).  After a power cut, both ends of the log work together (power_cuts()).
            Booted machines work on a file system (class Work).  Which files it must have after a power cut follows from
            the marks that the machine has left on the disk.
            Block numbers, sequence numbers, contents, and the places of the journal are drawn from `t.random`.
"""

import contextlib
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from homeroom import powercut
from homeroom.course.lab import LabError

MAGIC = 0xC03B3998
DESCRIPTOR, COMMIT, SUPER, REVOKE = 1, 2, 4, 5
ESCAPE, SAME_UUID, LAST = 1, 2, 8
EIO, ENOMEM, EUCLEAN = 5, 12, 117
MAGIC_BYTES = struct.pack(">I", MAGIC)
MOST = 0xFFFFFFFF
AS_CHANGED, REVERSED, BY_NUMBER, BY_NUMBER_REVERSED = range(4)  # orders of copies
COUNTS, IGNORED, FOR_COPIES_BEFORE = range(3)  # a revoke record in the transaction of the copy
CLOCK = 10**9  # seconds: clock_real_ns() in tests/host/floor.c begins there, and goes on by 1 us with each call

Found = namedtuple("Found", "error replayed counted sequence reason lost writes")
Copy = namedtuple("Copy", "block data")


class Happened:
    """A transaction with its commit block: the copies in it, and by revoked block: how many copies are before its revoke."""

    def __init__(self, sequence):
        self.sequence, self.copies, self.revoked = sequence, [], {}

    def revokes(self, index, rule):
        """Whether this copy is revoked here."""
        before = self.revoked.get(self.copies[index].block)
        return before is not None and (rule == COUNTS or (rule == FOR_COPIES_BEFORE and index < before))


class Disk:
    """A disk with a journal in pieces, an empty log, and random numbers for everything that a test does not set."""

    def __init__(self, t, *, bsize=1024, blocks=None, ring=None, start=None, sequence=None):
        self.t, rng = t, t.random
        self.bsize, self.uuid = bsize, rng.randbytes(16)
        self.blocks = blocks or rng.randrange(260, 400)
        self.first_block = 1 if bsize == 1024 else 0
        ring = ring or rng.randrange(60, 90)
        self.first = rng.randrange(1, 4)
        self.maxlen = ring + self.first
        self.spare = rng.randrange(1, 5)  # blocks of the journal's file behind those that the journal uses
        self.pieces = self._draw_pieces()
        rng.shuffle(self.pieces)
        self.places = [at + i for at, n in self.pieces for i in range(n)]  # of the file's blocks on the disk
        journal = set(self.places)
        self.free = [b for b in range(self.first_block, min(self.blocks, 4000)) if b not in journal]  # not of the journal
        rng.shuffle(self.free)
        self.start = self.first + rng.randrange(ring // 3) if start is None else self.first + start % ring
        self.sequence = self.next = rng.randrange(1, 1 << 31) if sequence is None else sequence
        self.pos, self.used, self.ring = self.start, 0, ring
        self.data, self.names, self.story = {}, {}, []
        self.happened, self.running = [], None
        self.error = 0
        for i in range(self.maxlen):
            self._set(self.places[i], rng.randbytes(bsize), "bytes of the log")
        self._set(self.places[0], self._super(self.start, self.sequence), "the journal's superblock, unchanged")

    def _draw_pieces(self):
        """The journal in three pieces, with free blocks before, between and behind them."""
        rng = self.t.random
        cuts = sorted(rng.sample(range(self.maxlen // 2, self.maxlen - 4), 2))
        length = self.maxlen + self.spare
        lengths = [cuts[0], cuts[1] - cuts[0], length - cuts[1]]
        gaps = sorted(rng.sample(range(2, min(self.blocks, 4000) - length - 2), 3))
        at = [gap + sum(lengths[:i]) for i, gap in enumerate(gaps)]
        return list(zip(at, lengths, strict=True))

    def _super(self, start, sequence):
        head = struct.pack(">12I", MAGIC, SUPER, 0, self.bsize, self.maxlen, self.first, sequence, start, 0, 0, 1, 0)
        return (head + self.uuid).ljust(self.bsize, b"\0")

    def _set(self, block, data, name):
        self.data[block] = data
        self.names.setdefault(data, name)

    # ---- the log, block by block ----

    def take(self, n):
        """n blocks that are not of the journal, each only once."""
        taken, self.free = self.free[:n], self.free[n:]
        for block in taken:
            self._set(block, self.t.random.randbytes(self.bsize), f"what was in block {block} before")
        return taken

    def put(self, data, name):
        """The next block of the log."""
        if self.used == self.ring:
            raise IndexError("the test's log is longer than the ring")
        self._set(self.places[self.pos], data.ljust(self.bsize, b"\0"), name)
        self.used += 1
        self.pos = self.pos + 1 if self.pos + 1 < self.maxlen else self.first

    def control(self, kind, sequence, rest=b"", magic=MAGIC):
        self.put(struct.pack(">3I", magic, kind, sequence & MOST) + rest, "a block of the journal")

    def begin(self):
        """Begin a transaction.  It counts only if commit() ends it."""
        self.running = Happened(self.next)
        self.story.append(f"#{self.next}:")

    def copy_of(self, block, head):
        """New bytes for a block, as a copy in the open transaction; they begin with `head`."""
        data = head + self.t.random.randbytes(self.bsize - len(head))
        self.names[data] = f"the copy of block {block} in transaction {self.running.sequence}"
        return Copy(block, data)

    def write(self, blocks, *, uuids="first", head=b"", escape=True):
        """A descriptor and copies of these blocks.  `uuids`: behind the "first" tag, the "first and last", or "some" of them.
        There may be no room for that of the last."""
        rng = self.t.random
        copies = [self.copy_of(block, head) for block in blocks]
        escaped = escape and head.startswith(MAGIC_BYTES)
        tags = b""
        for i, copy in enumerate(copies):
            last = uuids == "first and last" and i == len(copies) - 1
            has_uuid = rng.random() < 0.5 if uuids == "some" else i == 0 or last
            flags = (0 if has_uuid else SAME_UUID) | (LAST if i == len(copies) - 1 else 0) | (ESCAPE if escaped else 0)
            tags += struct.pack(">IHH", copy.block, rng.getrandbits(16), flags) + (rng.randbytes(16) if has_uuid else b"")
        self.control(DESCRIPTOR, self.running.sequence, tags[: self.bsize - 12])
        self.story.append(f"descriptor of {' '.join(map(str, blocks))}, {len(blocks)} copies,")
        for copy in copies:
            self.put(bytes(4) + copy.data[4:] if escaped else copy.data, f"the bytes in the log for block {copy.block}")
        self.running.copies += copies

    def revoke(self, blocks, count=None):
        """A revoke record."""
        count = 16 + 4 * len(blocks) if count is None else count
        rest = struct.pack(f">I{len(blocks)}I", count, *blocks)
        self.control(REVOKE, self.running.sequence, rest + self.t.random.randbytes(self.bsize - 12 - len(rest)))
        shown = " ".join(map(str, blocks[:10])) + (" ..." if len(blocks) > 10 else "")
        self.story.append(f"revoke record of {shown},")
        counted = blocks[: max(count - 16, 0) // 4]
        self.running.revoked |= dict.fromkeys(counted, len(self.running.copies))

    def commit(self):
        self.control(COMMIT, self.running.sequence, bytes(36) + self.t.random.randbytes(12))
        self.story.append("commit;")
        self.happened.append(self.running)
        self.next, self.running = (self.next + 1) & MOST, None

    def transaction(self, blocks, revoked=()):
        self.begin()
        if blocks:
            self.write(blocks)
        if revoked:
            self.revoke(revoked)
        self.commit()

    # ---- the replay, and what it must do ----

    def replayed_copies(self):
        """The copies that the replay writes, in this order."""
        term, copies = self.t.term, []
        for i, transaction in enumerate(self.happened):
            later = self.happened[i + 1 :]
            left_out = set().union(*(other.revoked for other in later))
            if term["only_last_copy"]:
                left_out |= {copy.block for other in later for copy in other.copies}
            copies += [
                copy
                for n, copy in enumerate(transaction.copies)
                if copy.block not in left_out and not transaction.revokes(n, term["own_revoke"])
            ]
        return copies

    def result(self):
        """By block: its bytes after the replay."""
        after = self.data | {copy.block: copy.data for copy in self.replayed_copies()}
        del after[self.places[0]]
        return after

    def log(self):
        """The log in words."""
        return f"the log, from block {self.start} of {self.first}..{self.maxlen - 1} on: {' '.join(self.story)[:900]}"

    def send(self, disk=None):
        """Make the disk; `disk`: by block, its bytes."""
        pieces = [number for piece in self.pieces for number in piece]
        self.t.child.ask("disk", self.bsize, self.blocks, self.first_block, *pieces)
        for block, data in (disk or self.data).items():
            self.write_in_place(block, data)

    def write_in_place(self, block, data):
        self.t.child.ask("write", block, *struct.unpack(f"<{self.bsize // 8}Q", data))

    def recover(self, good_io=0, failing_memory=0, failing_flush=0, bad_block=None):
        self.t.child.ask("fail_flush", failing_flush)
        if bad_block is not None:
            self.t.child.ask("bad_block", bad_block)
        answer = self.t.child.ask("recover", good_io, failing_memory)
        return Found(*answer[:6], [block - 1 if block else None for block in answer[6:]])

    def read(self, block):
        words = self.t.child.ask("read", block, 1)
        return struct.pack(f"<{len(words)}Q", *words)

    def name_of(self, data):
        if not any(data):
            return "zeros"
        plain = bytes(4) + data[4:]
        escaped = next((name for known, name in self.names.items() if known[4:] == data[4:]), None)
        return self.names.get(data) or (
            f"{escaped}, with other first 4 bytes" if escaped else f"other bytes: {plain[:8].hex()}..."
        )

    def expect_blocks(self, after, writes, when):
        """The blocks of `after`, and those that were written, have the bytes that `after` says."""
        expected, found = {}, {}
        for block in sorted({*after, *(block for block in writes if block is not None)} - {self.places[0]}):
            right, now = after.get(block, bytes(self.bsize)), self.read(block)
            if right != now:
                expected[block], found[block] = self.name_of(right), self.name_of(now)
            if len(expected) == 3:
                break

        def words(names):
            return "; ".join(f"block {block}: {name}" for block, name in names.items())

        self.t.expect(f"the disk {when}; {self.log()}", words(expected), words(found))

    def expect_replay(self, *, send=True):
        """The replay succeeds, and the disk is right.  Returns what was found."""
        if send:
            self.send()
        found = self.recover()
        self.t.expect(f"the error of jnl_recover(), 0 for none; {self.log()}", 0, found.error)
        self.expect_blocks(self.result(), found.writes, "after the replay")
        writes = [block for block in found.writes if block not in (None, self.places[0])]
        self.t.expect(f"the blocks that were written; {self.log()}", [copy.block for copy in self.replayed_copies()], writes)
        numbers = (found.replayed, found.counted)
        self.t.expect(f"*replayed and fs->n_replayed; {self.log()}", (len(self.happened),) * 2, numbers)
        return found

    def expect_refusal(self, why):
        """-EUCLEAN with a reason, and not one block is written."""
        self.send()
        found = self.recover()
        what = f"error of jnl_recover() and blocks written, if {why}; {self.log()}"
        self.t.expect(what, (EUCLEAN, []), (found.error, [block for block in found.writes if block is not None]))
        self.t.expect(f"whether fs->reason is set, if {why}", 1, found.reason)


def drawn(t, least, most):
    return t.random.randrange(least, most + 1)


# ---- reading a log -------------------------------------------------------------------------------


def one_transaction(t):
    for bsize in (1024, 4096, 2048):
        d = Disk(t, bsize=bsize)
        d.transaction(d.take(drawn(t, 2, 9)))
        d.expect_replay()


def transactions_in_their_order(t):
    for _ in range(3):
        d = Disk(t, start=0)
        blocks = d.take(6)
        for _ in range(drawn(t, 4, 6)):
            d.transaction(t.random.sample(blocks, drawn(t, 2, 5)))
        d.expect_replay()
    d = Disk(t)
    blocks = d.take(2)
    d.transaction([*blocks, blocks[0]])  # two copies of a block in one transaction
    d.transaction([])
    d.transaction(blocks[1:])
    d.expect_replay()


def log_goes_round(t):
    for back in (1, 2, drawn(t, 3, 6)):
        d = Disk(t, start=-back)
        blocks = d.take(5)
        d.transaction(blocks[:3])
        d.transaction(blocks[2:])
        d.expect_replay()


def several_descriptors(t):
    d = Disk(t, ring=300, blocks=900, start=0)
    blocks = d.take(200)
    d.begin()
    d.write(blocks[:124])  # as many as a descriptor of 1024 bytes can have
    d.write(blocks[124:125])
    d.write(blocks[125:])
    d.commit()
    d.transaction(blocks[-2:])
    d.expect_replay()


def tags_have_a_uuid_or_not(t):
    d = Disk(t)
    blocks = d.take(30)
    for i in range(0, 30, 10):
        d.begin()
        d.write(blocks[i : i + 10], uuids="some")
        d.commit()
    d.expect_replay()
    d = Disk(t, ring=300, blocks=900)
    d.begin()
    d.write(d.take(124), uuids="first and last")  # as many as a descriptor can have: no room for the UUID of the last
    d.commit()
    d.expect_replay()


def escaped_blocks_are_restored(t):
    d = Disk(t)
    blocks = d.take(9)
    d.begin()
    d.write(blocks[:3], head=MAGIC_BYTES)
    d.write(blocks[3:5], head=bytes(4))
    d.write(blocks[5:])
    d.commit()
    d.expect_replay()


# ---- the end of the log --------------------------------------------------------------------------


def unfinished_transaction_has_not_happened(t):
    other = "another sequence number in a"
    kinds = {f"{other} commit block": COMMIT, f"{other} revoke record": REVOKE, f"{other} descriptor": DESCRIPTOR}
    for end in ("no commit block", "another magic number", "another type", *kinds):
        d = Disk(t)
        blocks = d.take(8)
        d.transaction(blocks[:3])
        d.begin()
        d.write(blocks[2:6])
        d.story.append(f"{end};")
        if end == "another magic number":
            d.control(COMMIT, d.next, magic=MAGIC ^ 1 << drawn(t, 0, 31))
        elif end == "another type":
            d.control(t.random.choice([3, 4, 6]), d.next)
        elif end in kinds:
            tag, count = struct.pack(">IHH", blocks[6], 0, SAME_UUID | LAST), struct.pack(">I", 16)
            d.control(kinds[end], d.next + t.random.choice([-1, 1]), tag if kinds[end] == DESCRIPTOR else count)
            if kinds[end] == DESCRIPTOR:
                d.put(t.random.randbytes(d.bsize), "bytes of the log")
        if end != "no commit block":
            d.control(COMMIT, d.next)
            d.story.append("commit;")
        # what follows is whole, but it is behind the end
        d.running = Happened(d.next + 1)
        d.write(blocks[5:])
        d.control(COMMIT, d.next + 1)
        d.story.append("commit;")
        d.expect_replay()


def old_blocks_are_not_replayed(t):
    """The log's ring has been used before: behind its end lie whole transactions, with older numbers, and newer ones."""
    for number in (-drawn(t, 2, 9), -1, 1, drawn(t, 2, 9)):
        d = Disk(t)
        blocks = d.take(6)
        d.transaction(blocks[:2])
        d.transaction(blocks[1:3])
        d.running = Happened(d.next + number)
        d.story.append(f"behind the end #{d.next + number}:")
        d.write(blocks[:5])
        d.control(COMMIT, d.next + number)
        d.expect_replay()


def log_that_does_not_end(t):
    for ring in (drawn(t, 20, 30), 300):
        d = Disk(t, ring=ring, blocks=600, start=0)
        blocks = d.take(3)
        d.transaction(blocks[:2])
        d.begin()
        tags = (struct.pack(">IHH", blocks[2], 0, SAME_UUID) for _ in range(d.bsize // 8 - 2))
        d.control(DESCRIPTOR, d.next, b"".join(tags))
        d.story.append("descriptor without a last tag;")
        d.expect_replay()
    d = Disk(t, ring=12, start=0)
    blocks = d.take(6)
    d.transaction(blocks[:4])
    d.transaction(blocks[2:])
    d.expect_replay()
    # the second transaction's copies would go on in the first one's, and there is what looks like its commit block
    d = Disk(t, ring=drawn(t, 20, 30), start=0)
    blocks = d.take(5)
    d.begin()
    d.write(blocks[:2], head=struct.pack(">3I", MAGIC, COMMIT, d.next + 1), escape=False)
    d.commit()
    d.begin()
    n = d.ring - d.used
    tags = [struct.pack(">IHH", blocks[2 + i % 3], 0, SAME_UUID | (LAST if i == n - 1 else 0)) for i in range(n)]
    d.control(DESCRIPTOR, d.next, b"".join(tags))
    d.story.append(f"descriptor of {n} blocks, and the ring has room for {n - 1};")
    d.expect_replay()


def sequence_numbers_begin_again(t):
    d = Disk(t, sequence=MOST - drawn(t, 1, 2))
    blocks = d.take(8)
    for i in range(5):
        d.transaction(blocks[i : i + 3])
    d.expect_replay()
    d = Disk(t, sequence=MOST)
    blocks = d.take(4)
    d.transaction(blocks)
    d.transaction(blocks[:1], revoked=blocks[2:3])
    d.expect_replay()
    d = Disk(t, sequence=MOST)
    blocks = d.take(4)
    d.transaction(blocks[:1], revoked=blocks[2:3])
    d.transaction(blocks)
    d.expect_replay()


# ---- revoked blocks ------------------------------------------------------------------------------


def revoked_block_is_not_replayed(t):
    for _ in range(3):
        d = Disk(t)
        blocks = d.take(8)
        d.transaction(blocks[:5])
        d.transaction(blocks[3:7])
        d.transaction(blocks[7:], revoked=t.random.sample(blocks[:7], 4))
        d.expect_replay()


def revoke_in_its_own_transaction(t):
    for first in (True, False):
        d = Disk(t)
        blocks = d.take(6)
        d.transaction(blocks[:2])
        d.begin()
        if first:
            d.revoke(blocks[1:3])
        d.write(blocks[:4])
        if not first:
            d.revoke(blocks[1:3])
        d.write(blocks[4:])
        d.commit()
        d.expect_replay()


def later_copy_is_replayed(t):
    for _ in range(3):
        d = Disk(t)
        blocks = d.take(6)
        d.transaction(blocks[:4])
        d.transaction(blocks[4:], revoked=blocks[:4])
        d.transaction(t.random.sample(blocks[:4], 2))
        d.expect_replay()


def last_revoke_counts(t):
    d = Disk(t)
    blocks = d.take(6)
    d.transaction(blocks[:4])
    d.transaction([], revoked=blocks[:4])
    d.transaction(blocks[:4])
    d.transaction(blocks[4:], revoked=blocks[1:3])
    d.expect_replay()


def revoke_of_an_unfinished_transaction(t):
    d = Disk(t)
    blocks = d.take(6)
    d.transaction(blocks[:4])
    d.transaction([], revoked=blocks[:1])
    d.begin()
    d.revoke(blocks[1:3])
    d.write(blocks[4:])
    d.story.append("no commit;")
    d.expect_replay()


def thousands_of_revokes(t):
    d = Disk(t, blocks=1 << 31)  # a table with an entry for each block is more than kmem_alloc() gives
    blocks = d.take(12)
    for i in range(0, 12, 3):
        d.transaction(blocks[i : i + 3])
    numbers = t.random.sample(range(5000, d.blocks), 3000) + t.random.sample(blocks[2:], 7)
    t.random.shuffle(numbers)
    d.begin()
    for i in range(0, len(numbers), 252):
        d.revoke(numbers[i : i + 252])
    d.commit()
    d.transaction(blocks[:2])
    d.expect_replay()


# ---- a disk is not trusted -----------------------------------------------------------------------


def block_that_must_not_be_written(t):
    for kind in ("above", "far above", "below", "in the journal", "in its file, but not used", "the journal's superblock"):
        d = Disk(t)
        blocks = d.take(6)
        bad = {
            "above": d.blocks,
            "far above": t.random.randrange(1 << 31, 1 << 32),
            "below": 0,
            "in the journal": t.random.choice(d.places[1 : d.maxlen]),
            "in its file, but not used": t.random.choice(d.places[d.maxlen :]),
            "the journal's superblock": d.places[0],
        }[kind]
        d.transaction(blocks[:3])
        copies = [*blocks[3:], bad]
        t.random.shuffle(copies)
        d.transaction(copies)
        d.transaction(blocks[:1])
        d.expect_refusal(f"a copy is for block {bad} ({kind})")
    d = Disk(t)
    edges = {d.first_block, d.blocks - 1, *(at - 1 for at, _ in d.pieces), *(at + n for at, n in d.pieces)} - set(d.places)
    d.free = sorted(edges)
    d.transaction(d.take(len(edges)))
    d.expect_replay()


def revoke_record_of_a_wrong_length(t):
    for count in (0, 15, 1025, MOST - drawn(t, 0, 3)):
        d = Disk(t)
        blocks = d.take(4)
        d.transaction(blocks[:2])
        d.begin()
        d.write(blocks[2:])
        d.revoke(blocks[:1], count)
        d.commit()
        d.expect_refusal(f"a revoke record says that it has {count} bytes")
    for rest in (1, 2, 3):
        d = Disk(t)
        blocks = d.take(4)
        d.transaction(blocks)
        d.begin()
        d.revoke(blocks[:3], 16 + 2 * 4 + rest)
        d.commit()
        d.expect_replay()


def unfinished_transaction_may_hold_anything(t):
    for fault in ("copy", "revoke"):
        d = Disk(t)
        blocks = d.take(4)
        d.transaction(blocks[:3])
        d.begin()
        if fault == "copy":
            d.write([blocks[3], t.random.choice([0, d.blocks, MOST, d.places[1]])])
        else:
            d.revoke(blocks[:2], t.random.choice([3, 5000, MOST]))
        d.story.append("no commit;")
        d.expect_replay()


def revoked_numbers_outside_do_not_matter(t):
    d = Disk(t)
    blocks = d.take(6)
    d.transaction(blocks[:4])
    d.transaction(blocks[4:], revoked=[d.blocks, MOST, blocks[2], 1 << 31, d.blocks + 256])
    d.expect_replay()


# ---- the end of a replay -------------------------------------------------------------------------


def superblock_says_that_the_log_is_empty(t):
    for n in (0, drawn(t, 1, 4)):
        d = Disk(t, sequence=t.random.choice([drawn(t, 1, 1 << 31), (MOST - n) & MOST]))
        blocks = d.take(4)
        for _ in range(n):
            d.transaction(blocks)
        found = d.expect_replay()
        number = (d.next + t.term["gap"]) & MOST
        t.expect(f"j->seq after the replay of {n} transactions from {d.sequence} on", number, found.sequence)
        start, sequence = struct.unpack_from(">8I", d.read(d.places[0]))[:5:-1]
        t.expect("the superblock's start and sequence", (0, number), (start, sequence))
        order = ["flush" if b is None else "superblock" if b == d.places[0] else "block" for b in found.writes]
        steps = [step for i, step in enumerate(order) if i == 0 or order[i - 1] != step]
        t.expect("order of writes and flushes", (["block"] if n else []) + ["flush", "superblock", "flush"], steps)
        # a second replay finds an empty log, and does nothing
        found = d.recover()
        t.expect("error, *replayed and writes if the log is empty", (0, 0, []), (found.error, found.replayed, found.writes))


def replay_can_be_repeated(t):
    """The disk fails during the replay, at each of its reads and writes, or at a flush; then it works again."""
    d = Disk(t, ring=drawn(t, 24, 30), start=0)
    blocks = d.take(5)
    d.transaction(blocks[:3])
    d.transaction(blocks[3:], revoked=blocks[:1])
    d.transaction(blocks[1:2])
    good = 0
    while True:
        good += 1
        d.send()
        found = d.recover(good_io=good)
        if found.error == 0:
            break
        t.expect(f"the error if the disk works {good} times, and then fails; {d.log()}", EIO, found.error)
        d.expect_replay(send=False)
    t.expect("whether the replay needs fewer than 4 reads and writes", False, good < 4)
    d.expect_blocks(d.result(), [], "after the replay")
    for flush in (2, 1):
        d.send()
        found = d.recover(failing_flush=flush)
        t.expect(f"the error if flush {flush} of the replay fails", EIO, found.error)
    t.expect("whether the superblock is written although the flush before it fails", False, d.places[0] in found.writes)
    d.expect_replay(send=False)
    # one block is bad: a control block, the end of the log, a copy that is replayed, or its place
    copies = d.replayed_copies()
    left_out = {copy.data for done in d.happened for copy in done.copies} - {copy.data for copy in copies}
    log = [place for place in d.places[d.start : d.pos + 1] if d.data[place] not in left_out]
    for block in [*log, *(copy.block for copy in copies)]:
        d.send()
        found = d.recover(bad_block=block)
        bad = f"if block {block} of the disk is bad ({d.name_of(d.data[block])}); {d.log()}"
        found = (found.error, d.places[0] in found.writes)
        t.expect(f"the error, and whether the superblock is written, {bad}", (EIO, False), found)
        d.expect_replay(send=False)


def memory_is_given_back(t):
    d = Disk(t, ring=270, blocks=60000, start=0)
    blocks = d.take(250)
    d.begin()
    d.write(blocks[:124])
    d.write(blocks[124:248])
    d.commit()
    d.begin()
    d.revoke(blocks[:248])  # a replay that goes on without one of them is wrong
    for _ in range(3):
        d.revoke(t.random.sample(range(5000, 60000), 252))
    d.write(blocks[248:])
    d.commit()
    d.send()
    for one_in in range(1, 12):
        found = d.recover(failing_memory=one_in)
        t.expect(f"pieces of memory that are kept, if one allocation in {one_in} fails", 0, found.lost)
        if found.error == 0:
            d.expect_blocks(d.result(), [], f"after a replay without an error, when one allocation in {one_in} fails")
            d.send()
        else:
            t.expect("the error if there is no memory", ENOMEM, found.error)
    d.send()
    found = d.expect_replay(send=False)
    t.expect("pieces of memory that are kept after a replay", 0, found.lost)
    d = Disk(t)
    blocks = d.take(2)
    d.transaction(blocks, revoked=blocks[:1])
    d.transaction([d.blocks])
    d.send()
    t.expect(
        "error and pieces of memory that are kept after a refusal", (EUCLEAN, 0), (lambda f: (f.error, f.lost))(d.recover())
    )


# ---- writing the log -----------------------------------------------------------------------------


class Writer(Disk):
    """A disk whose blocks are changed in transactions.  The log is written from `start` on."""

    def __init__(self, t, **keys):
        super().__init__(t, **keys)
        self.wanted = {}  # by block: its bytes in the transaction that runs
        self.gone = set()  # the blocks that it has freed

    def open(self):
        self.send()
        self.pos = self.start
        self.ok("jnl_open()", "open", self.start)

    def ok(self, what, *words):
        self.t.expect(f"the error of {what}", 0, self.t.child.ask(*words)[0])

    def change(self, blocks, head=b""):
        for block in blocks:
            data = head + self.t.random.randbytes(self.bsize - len(head))
            self.names[data] = f"the bytes of block {block} in transaction {self.next}"
            self.wanted[block] = data
            self.ok("a change", "change", block, *struct.unpack(f"<{self.bsize // 8}Q", data))

    def forget(self, blocks):
        self.ok("jnl_forget()", "forget", *blocks)
        self.gone.update(blocks)
        for block in blocks:
            self.wanted.pop(block, None)

    def commit_all(self, good_io=0, bad_block=None, failing_flush=0):
        """Commit.  Returns the error, and the writes.  The disk fails after so many writes, at a block, or at a flush."""
        self.t.child.ask("fail_flush", failing_flush)
        if bad_block is not None:
            self.t.child.ask("bad_block", bad_block)
        error, self.head, *writes = self.t.child.ask("commit", good_io)
        return error, [block - 1 if block else None for block in writes]

    def expect_commit(self):
        """The transaction is in the log, at its end; it begins a new one.  Returns the writes."""
        error, writes = self.commit_all()
        self.t.expect("the error of the commit", 0, error)
        copies, revoked = self.transaction_at(self.next)
        self.next = (self.next + 1) & MOST
        what = f"blocks with copies in transaction {self.next - 1}, and revoked ones"
        self.t.expect(what, (sorted(self.wanted), sorted(self.gone)), (sorted(copies), sorted(revoked)))
        order = self.order_of_copies()
        self.t.expect(
            f"the order of the copies in the log; the blocks were changed in the order {list(self.wanted)}", order, list(copies)
        )
        for block, data in self.wanted.items():
            self.t.expect(f"the copy of block {block} in the log", self.name_of(data), self.name_of(copies[block]))
        self.t.expect("j->head, the block behind the commit block", self.pos, self.head)
        outside = sorted({block for block in writes if block is not None} - set(self.places[self.first : self.maxlen]))
        self.t.expect("blocks outside the log that the commit wrote", [], outside)
        self.wanted, self.gone = {}, set()
        return writes

    def order_of_copies(self):
        """The blocks in the order in which the log must have their copies."""
        order = self.t.term["order"]
        if order in (BY_NUMBER, BY_NUMBER_REVERSED):
            return sorted(self.wanted, reverse=order == BY_NUMBER_REVERSED)
        return list(self.wanted) if order == AS_CHANGED else list(self.wanted)[::-1]

    def expect_time(self):
        """The commit block that was read last has the time."""
        seconds, ns = self.time
        what = f"whether the commit block has the time; it is after {CLOCK} s and 0 ns, and there are {seconds} s and {ns} ns"
        self.t.expect(what, True, seconds == CLOCK and 0 < ns < 10**9)

    def next_block(self):
        data = self.read(self.places[self.pos])
        self.used += 1
        self.pos = self.pos + 1 if self.pos + 1 < self.maxlen else self.first
        return data

    def control_at(self, sequence, kinds):
        """The kind and the bytes of the next block, which must be a control block of this transaction."""
        pos, data = self.pos, self.next_block()
        magic, kind, number = struct.unpack_from(">3I", data)
        found = f"magic {magic:#x}, sequence {number}, type {kind}"
        if kind not in kinds or magic != MAGIC or number != sequence:
            right = f"magic {MAGIC:#x}, sequence {sequence}, type {' or '.join(map(str, kinds))}"
            self.t.expect(f"the control block at {pos} of the log", right, found)
        return kind, data

    def transaction_at(self, sequence):
        """The transaction that begins at self.pos: the copies by block, and the revoked blocks."""
        copies, revoked, kinds = {}, [], []
        while self.used < self.ring:
            kind, data = self.control_at(sequence, (DESCRIPTOR, REVOKE, COMMIT))
            if kind == COMMIT:
                n = kinds.count(DESCRIPTOR)
                before = (0, n, min(n, 1))[self.t.term["revokes"]]  # descriptors before the revoke records
                order = [DESCRIPTOR] * before + [REVOKE] * kinds.count(REVOKE) + [DESCRIPTOR] * (n - before)
                self.time = struct.unpack_from(">QI", data, 48)
                self.t.expect(f"types of the control blocks of transaction {sequence}, in their order", order, kinds)
                return copies, revoked
            kinds.append(kind)
            if kind == REVOKE:
                (count,) = struct.unpack_from(">I", data, 12)
                if not 16 < count <= self.bsize or count % 4:
                    self.t.expect("bytes of a revoke record", f"20 to {self.bsize}, a multiple of 4", count)
                revoked += struct.unpack_from(f">{count // 4 - 4}I", data, 16)
            else:
                copies.update(self.copies_behind(data))
        self.t.expect(f"the end of transaction {sequence}", "a commit block", "none in the whole ring")

    def copies_behind(self, descriptor):
        """The copies that this descriptor describes, by block."""
        copies, at, flags = {}, 12, 0
        while not flags & LAST and self.used < self.ring:
            if at + 8 > self.bsize:
                self.t.expect("a descriptor's tags", "one with the flag LAST", "none in the whole block")
            block, _, flags = struct.unpack_from(">IHH", descriptor, at)
            at += 8
            if not flags & SAME_UUID:
                uuid = descriptor[at : at + 16]
                self.t.expect("the UUID behind a tag", self.uuid.hex(), uuid.hex())
                at += 16
            pos, data = self.pos, self.next_block()
            first = data[:4]
            self.t.expect(f"whether the copy at {pos} of the log begins with the magic number", False, first == MAGIC_BYTES)
            if flags & ESCAPE:
                self.t.expect("the first 4 bytes of an escaped copy", bytes(4).hex(), first.hex())
                data = MAGIC_BYTES + data[4:]
            copies[block] = data
        return copies


def commit_writes_copies_into_the_log(t):
    for bsize in (1024, 4096):
        w = Writer(t, bsize=bsize)
        blocks = w.take(8)
        w.open()
        w.change(blocks[:5])
        w.expect_commit()
        w.change(blocks[3:])
        w.expect_commit()


def commit_escapes_copies(t):
    w = Writer(t)
    blocks = w.take(9)
    w.open()
    w.change(blocks[:3])
    w.change(blocks[3:6], MAGIC_BYTES)
    w.change(blocks[6:], bytes(4))
    w.expect_commit()


def commit_fills_descriptors(t):
    w = Writer(t, ring=900, blocks=1600, start=-drawn(t, 20, 100))
    blocks = w.take(200)
    w.open()
    w.change(blocks[: drawn(t, 130, 200)])
    n = len(w.wanted)
    w.expect_commit()
    t.expect(f"blocks of the log for {n} copies: 2 descriptors and 1 commit block more", n + 3, w.used)
    w.change(blocks[:124])  # as many as one descriptor can have
    used = w.used
    w.expect_commit()
    t.expect("blocks of the log for 124 copies: 1 descriptor and 1 commit block more", 126, w.used - used)


def commit_revokes_freed_blocks(t):
    w = Writer(t, ring=900, blocks=2000)
    blocks = w.take(800)
    w.open()
    w.change(blocks[:6])
    w.expect_commit()
    w.change(blocks[4:10])
    w.forget([*blocks[:2], *blocks[5:7]])  # some are in the log, one is only in this transaction
    w.expect_commit()
    w.forget(blocks[20 : 20 + drawn(t, 260, 500)])
    w.expect_commit()
    w.change(blocks[520 : 520 + drawn(t, 130, 200)])  # two descriptors
    w.forget(blocks[720 : 720 + drawn(t, 2, 20)])
    w.expect_commit()


def commit_block_stands_between_flushes(t):
    w = Writer(t)
    blocks = w.take(8)
    w.open()
    w.change(blocks)
    writes = w.expect_commit()
    w.expect_time()
    commit = w.places[w.pos - 1 if w.pos > w.first else w.maxlen - 1]
    order = ["flush" if b is None else "commit block" if b == commit else "other blocks" for b in writes]
    steps = [step for i, step in enumerate(order) if i == 0 or order[i - 1] != step]
    t.expect("order of writes and flushes", ["other blocks", "flush", "commit block", "flush"], steps)
    for freed in ([], blocks[:3]):
        if freed:  # what the transaction has is freed, and nothing is to be revoked
            w.forget(freed)
            t.child.ask("unrevoke")
        error, writes = w.commit_all()
        what = f"error and writes (None: a flush), if there is nothing to log; {len(freed)} blocks are freed"
        t.expect(what, (0, [None]), (error, writes))
        w.gone = set()
    w.change(blocks[:2])
    w.expect_commit()


def failed_commit_has_not_happened(t):
    n = drawn(t, 3, 6)
    w = Writer(t)
    blocks = w.take(n)
    for good in range(1, n + 2):  # of a descriptor, n copies and a commit block
        w.open()
        w.change(blocks)
        error, _ = w.commit_all(good)
        t.expect(f"the error of the commit, if the disk fails after {good} writes", EIO, error)
    log = set(w.places[w.first : w.maxlen])
    for flush, changed, logged in ((1, blocks, n + 1), (2, blocks, n + 2), (1, [], 0)):
        w.open()
        w.change(changed)
        error, writes = w.commit_all(failing_flush=flush)
        what = f"if {len(changed)} blocks are changed, and flush {flush} of the commit fails"
        t.expect(f"the error of the commit, {what}", EIO, error)
        t.expect(f"the number of blocks written into the log, {what}", logged, sum(block in log for block in writes))
    # one block of the log cannot be written, but that of the commit block can
    w = Writer(t)
    blocks = w.take(6)
    w.open()
    w.change(blocks)
    error, _ = w.commit_all(bad_block=w.places[w.start + drawn(t, 0, 6)])
    t.expect("the error of the commit, if one block of the log cannot be written", EIO, error)
    heads = [struct.unpack_from(">3I", w.read(place)) for place in w.places[w.first : w.maxlen]]
    t.expect(
        "whether there is a commit block, if one block of the log cannot be written", False, (MAGIC, COMMIT, w.next) in heads
    )


def checkpoint_knows_the_transactions(t):
    """A block of the second transaction is being changed again, so that the log is needed from there on."""
    w = Writer(t)
    blocks = w.take(8)
    w.open()
    w.change(blocks[:4])
    w.expect_commit()
    pos, number = w.pos, w.next
    w.change(blocks[4:])
    w.expect_commit()
    w.change(blocks[5:6])
    w.ok("jnl_checkpoint()", "checkpoint")
    start, sequence = struct.unpack_from(">8I", w.read(w.places[0]))[:5:-1]
    t.expect("start and sequence in the superblock: of the second transaction", (pos, number), (start, sequence))


# ---- power cuts ----------------------------------------------------------------------------------


@dataclass
class Cut:
    """The power fails."""

    when: str
    disk: dict  # by block: the bytes that are certainly on the disk
    cache: dict  # by block: what was written since the last flush, and may be lost
    states: list  # what the next mount may find; each is the bytes by block


class Recorder(Writer):
    """A disk on which transactions change blocks.  It keeps a list of moments at which the power can fail."""

    def __init__(self, t, blocks):
        super().__init__(t, ring=drawn(t, 70, 90), start=0)
        self.state = {block: self.data[block] for block in self.take(blocks)}  # after the last transaction
        self.cuts = []
        self.open()
        self.disk = self.data | {self.places[0]: self.read(self.places[0])}

    def batches(self, writes):
        """What was written before each flush, and after the last one: by block, its bytes."""
        batches = [{}]
        for block in writes:
            if block is None:
                batches.append({})
            else:
                batches[-1][block] = self.read(block)
        return batches

    def record(self, when, writes, states, commit=None):
        """Cuts during an operation and after it.  `commit`: the block of its commit block, with which the last state begins."""
        *flushed, rest = self.batches(writes)
        for cache in flushed:
            self.cuts.append(Cut(f"during {when}", self.disk, cache, states))
            self.disk = self.disk | cache
            if commit in cache:
                states = states[-1:]
        self.cuts.append(Cut(f"after {when}", self.disk, rest, states[-1:]))
        self.disk = self.disk | rest

    def commit_changes(self):
        when = f"the commit of transaction {self.next}"
        error, writes = self.commit_all()
        self.t.expect(f"the error of {when}", 0, error)
        after = {block: data for block, data in self.state.items() if block not in self.gone} | self.wanted
        last = self.maxlen - 1 if self.head == self.first else self.head - 1
        self.record(when, writes, [self.state, after], self.places[last])
        self.state, self.wanted, self.next = after, {}, (self.next + 1) & MOST

    def use_freed_blocks(self):
        """Freed blocks get bytes of a file, which no transaction has."""
        for block in self.gone:
            data = self.t.random.randbytes(self.bsize)
            self.names[data] = f"bytes of a file in block {block}"
            self.write_in_place(block, data)
            self.disk, self.state = self.disk | {block: data}, self.state | {block: data}
        self.gone = set()

    def checkpoint(self):
        error, *writes = self.t.child.ask("checkpoint")
        self.t.expect("the error of jnl_checkpoint()", 0, error)
        self.record("a checkpoint", [block - 1 if block else None for block in writes], [self.state])

    def survivors(self, cache, all_but_one=False):
        """Some of the writes: about half, or all but one that is not at their begin or end."""
        lost = self.t.random.sample(sorted(cache), drawn(self.t, 0, len(cache)))
        if all_but_one and len(cache) > 3:
            lost = [self.t.random.choice(list(cache)[2:-1])]
        return {block: data for block, data in cache.items() if block not in lost}

    def expect_state(self, cut, disk, when):
        """The replay of this disk brings it to one of the states.  Returns what it wrote, as batches."""
        self.send(disk)
        found = self.recover()
        self.t.expect(f"the error of jnl_recover(), if the power fails {when}", 0, found.error)
        now = {block: self.read(block) for block in {block for state in cut.states for block in state}}
        right = [state for state in cut.states if all(now[block] == data for block, data in state.items())]
        if not right:
            wrong = sorted(block for block, data in cut.states[-1].items() if now[block] != data)[:4]
            or_none = " (or nothing of this transaction, in all blocks)" if len(cut.states) > 1 else ""
            expected = "; ".join(f"block {block}: {self.name_of(cut.states[-1][block])}" for block in wrong) + or_none
            shown = "; ".join(f"block {block}: {self.name_of(now[block])}" for block in wrong)
            self.t.expect(f"the disk after the replay, if the power fails {when}", expected, shown)
        return self.batches(found.writes)


def power_cuts(t):
    """What the commit has written is replayed after power cuts, which lose any of the writes since the last flush."""
    r = Recorder(t, 24)
    unused = list(r.state)
    changed, freed, changed_again = [], [], []  # in the last transaction, also those that it has changed after they were freed
    for step in range(6):
        new, unused = unused[:3], unused[3:]
        files = changed_again[:1]
        again, freed = freed, changed[: drawn(t, 1, 2)]
        r.change([*new, *again], t.random.choice([b"", MAGIC_BYTES]))
        r.forget([*freed, *files])
        r.commit_changes()
        r.gone = set(files)
        r.use_freed_blocks()
        if step == 2:
            r.change(new[2:])
            r.checkpoint()
        changed, changed_again = new, again
    for cut in r.cuts:
        left = r.survivors(cut.cache, all_but_one=len(cut.states) > 1)
        when = f"{cut.when}, and of its last {len(cut.cache)} writes these survive: {sorted(left)}"
        disk = cut.disk | left
        batches = r.expect_state(cut, disk, when)
        if drawn(t, 0, 1):
            *flushed, cache = batches[: drawn(t, 1, len(batches))]
            for batch in flushed:
                disk = disk | batch
            left = r.survivors(cache)
            again = f"then during the replay, and of its last {len(cache)} writes these survive: {sorted(left)}"
            r.expect_state(cut, disk | left, f"{when}; {again}")


# ---- booted: power cuts of a machine -----------------------------------------------------------

STEPS, DIRECTORIES = 12, 115  # steps of the work, and the directories that each of them makes
BLOCK, FS_BYTES, MARKS = 1024, 9 << 18, 64 << 10  # a block, the file system, and the room for marks behind it
FILLER = 750  # blocks
LOG_CUTS, REPLAY_CUTS = 12, 8
SECTOR = 512
HOST_SECONDS, FILE_MAX = 20, 4 << 20  # for each program on the host: of a CPU; bytes of a file
# Of a disk whose files are copied to the host: names, and bytes of a file.  The work has fewer.
NAMES_MAX, COPY_MAX = 200, 1 << 20
LATER = "4000000000"  # what e2fsck takes for the time now: a guest's clock may be ahead of the host's


def on_host(*command, most=FILE_MAX):
    """Run a program of e2fsprogs, which may not trust its disk.  Returns its exit status and what it says.

    `most`: bytes of a file that it writes."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"  # an ordinary user has no such folder in PATH
    env = os.environ | {"PATH": path, "LC_ALL": "C", "E2FSCK_TIME": LATER}
    if shutil.which(command[0], path=path) is None:
        raise LabError(f"{command[0]} is missing: tools/deps.sh grade")
    limited = ["sh", "-c", f'ulimit -t {HOST_SECONDS} && ulimit -f {most // SECTOR} && exec "$@"', "sh", *command]
    done = subprocess.run(limited, capture_output=True, env=env)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


class Work:
    """What a machine does on a disk: each step changes files and directories, calls sync, and leaves a mark behind the file
    system.  One transaction has all of a step, because no other commit comes."""

    def __init__(self, t, folder):
        self.t, self.image = t, folder / "image"
        self.image.write_bytes(bytes(FS_BYTES))
        sizes = ["-b", BLOCK, "-N", 512, "-J", "size=1"]
        uuid = UUID(int=t.random.getrandbits(128))
        words = ["mke2fs", "-q", "-F", "-t", "ext3", *sizes, "-U", uuid, "-E", f"nodiscard,hash_seed={uuid}", self.image]
        status, said = on_host(*map(str, words))
        if status != 0:
            raise LabError(f"mke2fs has failed: {said}")
        self.base = self.image.read_bytes() + bytes(MARKS)
        self.states = [{"lost+found": None}]  # after each step; by path: the bytes of a file, None for a directory
        self.commands = [self._step(number) for number in range(1, STEPS + 1)]

    def _step(self, n):
        """Draw a step, add the state after it, and return its command.  Each second one frees what is still in the log, and the
        files of the next one get these blocks."""
        state = dict(self.states[-1])
        if n % 2 == 1:
            commands = [f"mkdir d{n} && (cd d{n} && mkdir $(seq {DIRECTORIES}))"]
            state |= {f"d{n}": None} | {f"d{n}/{i}": None for i in range(1, DIRECTORIES + 1)}
            for name in ("a", "b", "c"):
                first = drawn(self.t, 1, 100000)
                last = first + drawn(self.t, 1000, 3000)
                commands.append(f"seq {first} {last} > d{n}/{name}")
                state[f"d{n}/{name}"] = "".join(f"{i}\n" for i in range(first, last + 1)).encode()
            if n == 1:  # with a file that leaves little room, blocks are soon used again
                commands.append(f"dd if=/dev/zero of=filler bs={BLOCK} count={FILLER} 2>/dev/null")
                state["filler"] = bytes(FILLER * BLOCK)
        else:
            commands = [f"mv d{n - 1}/a moved{n} && rm -rf d{n - 1}"]
            state[f"moved{n}"] = state.pop(f"d{n - 1}/a")
            state = {path: data for path, data in state.items() if not f"{path}/".startswith(f"d{n - 1}/")}
        self.states.append(state)
        mark = f"echo {n} | dd of=/dev/vda bs={SECTOR} seek={FS_BYTES // SECTOR} conv=sync oflag=direct 2>/dev/null"
        return " && ".join([*commands, "sync", mark])

    def cuts(self, count):
        """The work is done, and the power fails at some moments.  For each: when, the disk, and the number of the last mark."""
        command = (
            f"mkdir -p /mnt && mount -t ext3 -o commit=100000 /dev/vda /mnt && cd /mnt && {' && '.join(self.commands)} && sync"
        )
        options = {"disks": [self.base], "system": "set dopageflush=0; set doiflush=0"}
        run = self.t.kernel.boot("sf280r", command, drawn(self.t, 1, 1 << 30), **options)
        record = run.disks[0].record
        marks = [k for k, entry in enumerate(record) if entry.sector == FS_BYTES // SECTOR and entry.data]
        self.t.expect("the number of marks on the disk", STEPS, len(marks))
        flushes = [k for k in range(1, len(record)) if record[k].flush and record[k - 1].data]
        others = [k for k in range(1, len(record)) if not record[k].flush and record[k - 1].data]
        chosen = self.t.random.sample(flushes, min(len(flushes), 2 * count // 3))
        chosen += self.t.random.sample(others, min(len(others), count - len(chosen)))
        cuts = powercut.Cuts(self.base, record)
        for cut in sorted(chosen):
            disk = cuts.rebuild(cut, None if cut in flushes else self.t.random)
            if cut in flushes:  # only one sector is lost
                pending = [entry.sector + i for entry in record[cuts.done : cut] for i in range(len(entry.data) // SECTOR)]
                lost = slice(at := self.t.random.choice(pending) * SECTOR, at + SECTOR)
                disk[lost] = cuts.image[lost]
            last = sum(mark < cut for mark in marks)
            yield f"after {cut} of {len(record)} writes and flushes, when {last} of {STEPS} steps are done", bytes(disk), last

    def expect_files(self, disk, when, last):
        """A disk after its replay has no fault, and the files of the last step that is done, or of the next one."""
        self.image.write_bytes(disk)
        self.t.expect(f"e2fsck -fn, if the power fails {when}", (0, ""), self._faults())
        found = self._files()
        wrong = [self._differences(found, state) for state in self.states[last : last + 2]]
        if all(wrong):
            least = min(wrong, key=len)
            what = f"files that are not all as after step {last}, or all as after step {last + 1}, if the power fails {when}"
            self.t.expect(what, "none", f"{len(least)}: {' '.join(least[:8])}")

    @staticmethod
    def _differences(one, other):
        """The paths that two states do not have in common, or with other bytes."""
        return sorted(path for path in {*one, *other} if one.get(path, 0) != other.get(path, 0))

    def _faults(self):
        """The status of e2fsck, and what it says if there is a fault.  Only files and directories may be copied to the host."""
        status, said = on_host("e2fsck", "-fnv", str(self.image))
        counts = re.findall(r"^ *(\d+) (regular|director|link|symbolic|character|block device|fifo|socket)", said, re.M)
        names = {kind: int(number) for number, kind in counts}
        files = sum(names.pop(kind, 0) for kind in ("regular", "director", "link"))
        if status == 0 and (files > NAMES_MAX or any(names.values())):
            return 1, f"{files} files and directories, and {sum(names.values())} links and devices"
        return status, "" if status == 0 else said

    def _files(self):
        """By path: the bytes of a file, None for a directory."""
        with tempfile.TemporaryDirectory() as name:
            on_host("debugfs", "-R", f"rdump / {name}", str(self.image), most=COPY_MAX)
            paths = sorted(Path(name).rglob("*"))
            return {str(path.relative_to(name)): path.read_bytes() if path.is_file() else None for path in paths}


@contextlib.contextmanager
def work(t):
    with tempfile.TemporaryDirectory(prefix="homeroom.journal.") as name:
        yield Work(t, Path(name))


def log_of_a_machine_is_replayed_by_linux(t):
    """The kernel commits; e2fsck, which has Linux's code for the journal, replays."""
    with work(t) as one:
        for when, disk, last in one.cuts(LOG_CUTS):
            one.image.write_bytes(disk)
            on_host("e2fsck", "-y", "-E", "journal_only", str(one.image))
            one.expect_files(one.image.read_bytes(), f"{when}, and e2fsck replays the log", last)


def machine_replays_its_log(t):
    """The kernel commits; then it mounts the disks of several power cuts."""
    with work(t) as one:
        cuts = list(one.cuts(REPLAY_CUTS))
        names = " ".join(f"vd{chr(ord('a') + i)}" for i in range(len(cuts)))
        command = f"mkdir -p /mnt; for d in {names}; do mount -t ext3 /dev/$d /mnt && umount /mnt || exit 1; done"
        run = t.kernel.boot("sf280r", command, drawn(t, 1, 1 << 30), disks=[disk for _, disk, _ in cuts])
        for (when, _, last), disk in zip(cuts, run.disks, strict=True):
            one.expect_files(disk.after, when, last)


# ---- the part beyond -----------------------------------------------------------------------------

CRC32, CRC_BYTES, POLYNOMIAL = 1, 4, 0x04C11DB7


def crc32(data, crc=MOST):
    """The highest bit first, not inverted at the end."""
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = crc << 1 & MOST ^ (POLYNOMIAL if crc >> 31 else 0)
    return crc


class Checksummed(Writer):
    """A disk on which the part beyond commits, once."""

    def commit_all(self, good_io=0, failing_flush=0):
        self.t.child.ask("fail_flush", failing_flush)
        answer = self.t.child.ask("checksummed", good_io)
        self.t.expect("whether there is a function write_log_with_checksum()", True, answer != [])
        error, self.head, self.sequence_after, *writes = answer
        return error, [block - 1 if block else None for block in writes]

    def expect_checksum(self):
        """A commit, with the right checksum.  Returns the writes."""
        pos, number = self.pos, self.next
        writes = self.expect_commit()
        self.t.expect("j->seq after the commit", self.next, self.sequence_after)
        blocks = []
        while pos != self.pos:
            blocks.append(self.read(self.places[pos]))
            pos = pos + 1 if pos + 1 < self.maxlen else self.first
        kind, size, _, found = struct.unpack_from(">BBHI", blocks.pop(), 12)
        self.t.expect("chksum_type and chksum_size of the commit block", (CRC32, CRC_BYTES), (kind, size))
        right = crc32(b"".join(blocks))
        what = f"the checksum of transaction {number}, which has {len(blocks)} blocks and a commit block"
        self.t.expect(what, f"{right:#010x}", f"{found:#010x}")
        return writes


def checksum_covers_the_transaction(t):
    for bsize, start in ((1024, -drawn(t, 2, 4)), (4096, 0)):
        w = Checksummed(t, bsize=bsize, start=start)
        blocks = w.take(8)
        w.open()
        w.change(blocks[: drawn(t, 2, 5)])
        w.change(blocks[5:], MAGIC_BYTES)
        w.expect_checksum()
        w.expect_time()


def checksum_covers_revoke_records(t):
    w = Checksummed(t)
    blocks = w.take(8)
    w.open()
    w.change(blocks[: drawn(t, 2, 5)])
    w.forget(blocks[5:])
    w.expect_checksum()


def one_flush_is_enough(t):
    w = Checksummed(t)
    blocks = w.take(8)
    w.open()
    w.change(blocks[: drawn(t, 2, 5)])
    w.forget(blocks[5:])
    order = ["flush" if block is None else "block" for block in w.expect_checksum()]
    t.expect("order of writes and flushes", ["block"] * w.used + ["flush"], order)


def failed_checksummed_commit(t):
    n = drawn(t, 2, 5)
    for good in range(1, n + 2):  # of a descriptor, n copies and a commit block
        w = Checksummed(t)
        blocks = w.take(n)
        w.open()
        w.change(blocks)
        error, _ = w.commit_all(good)
        t.expect(f"the error of the commit, if the disk fails after {good} writes", EIO, error)
    w = Checksummed(t)
    w.open()
    w.change(w.take(n))
    error, _ = w.commit_all(failing_flush=1)
    t.expect("the error of the commit, if the flush fails", EIO, error)


def nothing_to_log_beyond(t):
    w = Checksummed(t)
    w.open()
    error, writes = w.commit_all()
    t.expect(
        "error, writes (None: a flush) and j->seq, if there is nothing to log",
        (0, [None], w.next),
        (error, writes, w.sequence_after),
    )
