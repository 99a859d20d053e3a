# SPDX-License-Identifier: MIT
"""tests.py - where pages go: the cases of the lab "placement".

Each function is a test of lab.toml.  It draws its numbers from `t.random`, so that nothing can be learnt by heart, and asks
the student's code through `t.child`.
"""

from dataclasses import dataclass, field

from homeroom.cpio import Archive
from homeroom.machine import TOP

NONE = 255
DEFAULT, NEXT, RANDOM_PROC, RANDOM_PSET, RANDOM, ROUNDROBIN, NEXT_CPU = range(7)
POLICIES = ["DEFAULT", "NEXT", "RANDOM_PROC", "RANDOM_PSET", "RANDOM", "ROUNDROBIN", "NEXT_CPU"]
MPOL_DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL, PREFERRED_MANY = range(6)
MODES = ["MPOL_DEFAULT", "MPOL_PREFERRED", "MPOL_BIND", "MPOL_INTERLEAVE", "MPOL_LOCAL", "MPOL_PREFERRED_MANY"]
BALANCING, RELATIVE, STATIC = 1 << 13, 1 << 14, 1 << 15
ENOMEM, EINVAL = 12, 22
UNLIMITED = (1 << 64) - 1
PAGE = 4096
EACH = 400  # random numbers for each member, in tests of an even spread
SOME = 64  # random numbers for each member, in tests of which members there are


def members(numbers):
    """The set as the bits of a number."""
    return sum(1 << n for n in set(numbers))


def elements(bits):
    return [n for n in range(64) if bits >> n & 1]


def name_of(policy):
    return POLICIES[policy] if policy < len(POLICIES) else str(policy)


def drawn(t, least, most):
    return t.random.randrange(least, most + 1)


def sample(t, numbers, least, most):
    """A sorted sample, with `least` to `most` elements."""
    numbers = list(numbers)
    return sorted(t.random.sample(numbers, drawn(t, least, min(most, len(numbers)))))


def numbers(t, n):
    return [t.random.getrandbits(32) for _ in range(n)]


# ---- the machine -------------------------------------------------------------------------------


class Machine:
    """A topology: `count[g]` nodes in lgroup g.  Numbers of nodes and the order of near[] are drawn."""

    def __init__(self, t, count, near=None):
        free = t.random.sample(range(sum(count)), sum(count))
        self.nodes = [sorted(free.pop() for _ in range(c)) for c in count]
        self.n, self.nnodes = len(count), sum(count)
        self.bytes = [drawn(t, 1, 3) << 28 for _ in range(self.nnodes)]  # some nodes have equally much
        self.same_lgroup = t.term["same_lgroup"]
        self.near = near or [[g, *t.random.sample([o for o in range(self.n) if o != g], self.n - 1)] for g in range(self.n)]
        sets = [members(nodes) for nodes in self.nodes]
        t.child.ask("topo", self.n, *sets, *(g for row in self.near for g in row), self.nnodes, *self.bytes)

    def with_memory(self):
        return [g for g in range(self.n) if self.nodes[g]]

    def bare(self):
        return [g for g in range(self.n) if not self.nodes[g]]

    def memory(self, lgrps):
        return sum(self.bytes[node] for g in lgrps for node in self.nodes[g])

    def by_distance(self, lgrp, nodes):
        """These nodes, nearest first; nodes of one lgroup in the order of the term's rule."""
        orders = [lambda node: node, lambda node: -node, lambda node: (-self.bytes[node], node)]
        order = orders[self.same_lgroup]
        return [node for g in self.near[lgrp] for node in sorted(self.nodes[g], key=order) if node in nodes]

    def __str__(self):
        lgroups = ", ".join(f"{g}: {nodes if nodes else 'none'}" for g, nodes in enumerate(self.nodes))
        memory = f"; bytes of the nodes, in units of 2^28: {[n >> 28 for n in self.bytes]}" if self.same_lgroup == 2 else ""
        return f"nodes of the lgroups: {lgroups}{memory}"


def boards(t, n, bare=0):
    """`n` boards with a node each, but for `bare` of them, which have CPUs only."""
    count = [1] * n
    for g in t.random.sample(range(n), bare):
        count[g] = 0
    return Machine(t, count)


# ---- lgrp_mem_choose ---------------------------------------------------------------------------


@dataclass
class Choice:
    """What lgrp_mem_choose() is asked."""

    machine: Machine
    policy: int
    home: int = NONE
    cpu: int = 0
    proc: list = field(default_factory=list)
    pset: list = field(default_factory=list)
    bytes: int = PAGE
    aware: int = 0

    def answers(self, t, questions):
        """(lgroup, policy) for each (page index, random number)."""
        found = []
        for i in range(0, len(questions), 4000):
            flat = [x for question in questions[i : i + 4000] for x in question]
            fixed = (self.policy, self.home, self.cpu, members(self.proc), members(self.pset), self.bytes, self.aware)
            found += t.child.ask("choose", *fixed, *flat)
        return list(zip(found[::2], found[1::2], strict=True))

    def __str__(self):
        home = "no home" if self.home == NONE else f"home {self.home}"
        bare = self.machine.bare()
        without = f"; no memory in {bare}" if bare else ""
        return f"policy {name_of(self.policy)}, {home}; {self.machine.n} lgroups{without}"

    def expect_always(self, t, lgrp, charged, when=""):
        for index, rnd in zip(range(8), numbers(t, 8), strict=True):
            self.expect_charged(t, lgrp, charged, *self.answers(t, [(index, rnd)])[0], when)

    def expect_charged(self, t, lgrp, charged, found, policy, when=""):
        when = when and " " + when
        t.expect(f"lgroup and *policy{when} ({self})", f"{lgrp}, {name_of(charged)}", f"{found}, {name_of(policy)}")

    def expect_among(self, t, lgrps, charged, when=""):
        """Each of `lgrps` is chosen for some random number, and no other one."""
        when = when and " " + when
        found = self.answers(t, [(drawn(t, 0, 1 << 40), rnd) for rnd in numbers(t, SOME * len(lgrps))])
        t.expect(f"lgroups chosen{when} ({self})", sorted(lgrps), sorted({g for g, _ in found}))
        t.expect(f"*policy{when} ({self})", [name_of(charged)], sorted({name_of(p) for _, p in found}))

    def expect_even(self, t, lgrps, charged, when="", same=0):
        """Each of `lgrps` is chosen equally often, and the random number alone decides; its low `same` bits do not differ."""
        when = when and " " + when
        drawn_numbers = [rnd >> same << same for rnd in numbers(t, EACH * len(lgrps))]
        found = self.answers(t, [(0, rnd) for rnd in drawn_numbers])
        t.expect(f"*policy{when} ({self})", [name_of(charged)], sorted({name_of(p) for _, p in found}))
        t.expect_even(f"pages on each lgroup{when} ({self})", lgrps, [g for g, _ in found])
        first = dict(zip(drawn_numbers, found, strict=True))
        for rnd in t.random.sample(drawn_numbers, 50):
            ((again, _),) = self.answers(t, [(drawn(t, 1, 1000), rnd)])
            t.expect(f"lgroup for the random number {rnd:#x}, asked again for another page ({self})", first[rnd][0], again)


def first_touch_is_the_home(t):
    machine = boards(t, drawn(t, 4, 18), bare=drawn(t, 0, 2))
    for home in range(machine.n):
        cpu = t.random.choice([g for g in range(machine.n) if g != home])
        when = f"if the thread runs on a CPU of lgroup {cpu}"
        Choice(machine, NEXT, home=home, cpu=cpu).expect_always(t, home, NEXT, when)


def next_cpu_is_the_lgroup_of_the_cpu(t):
    machine = boards(t, drawn(t, 4, 18), bare=drawn(t, 1, 2))
    for cpu in range(machine.n):
        home = t.random.choice([NONE, *(g for g in range(machine.n) if g != cpu)])
        when = f"if the thread runs on a CPU of lgroup {cpu}"
        Choice(machine, NEXT_CPU, home=home, cpu=cpu).expect_always(t, cpu, NEXT_CPU, when)


def random_is_even_and_repeatable(t):
    for n in (2, drawn(t, 3, 7), 18):
        machine = boards(t, n)
        Choice(machine, RANDOM, home=drawn(t, 0, n - 1)).expect_even(t, range(n), RANDOM)
    n = t.random.choice([3, 5, 7])
    Choice(boards(t, n), RANDOM, home=0).expect_even(t, range(n), RANDOM, "for random numbers whose low 16 bits are 0", 16)


def random_uses_only_lgroups_with_memory(t):
    for n, bare in ((6, 2), (18, 9), (64, 59)):
        machine = boards(t, n, bare)
        Choice(machine, RANDOM, home=0).expect_even(t, machine.with_memory(), RANDOM)


def first_touch_without_a_home(t):
    machine = boards(t, drawn(t, 4, 9), bare=1)
    lgrps = machine.with_memory()
    proc = sample(t, lgrps, 2, len(lgrps) - 1)
    choice = Choice(machine, NEXT, cpu=drawn(t, 0, 3), proc=proc)
    charged = t.term["homeless"]
    when = f"if the thread has no home, runs on a CPU of lgroup {choice.cpu}, and the homes of the process are {proc}"
    if charged == NEXT_CPU:
        choice.expect_always(t, choice.cpu, NEXT_CPU, when)
    else:
        choice.expect_even(t, lgrps if charged == RANDOM else proc, charged, when)


def random_within_a_set_of_lgroups(t):
    machine = boards(t, 18, bare=4)
    for policy in (RANDOM_PROC, RANDOM_PSET):
        inside = sample(t, machine.with_memory(), 2, 5)
        sets = sorted([*inside, *sample(t, machine.bare(), 1, 3)])
        other = sample(t, range(18), 2, 8)
        choice = Choice(machine, policy, home=drawn(t, 0, 17))
        choice.proc, choice.pset = (sets, other) if policy == RANDOM_PROC else (other, sets)
        whose = "homes of the process" if policy == RANDOM_PROC else "lgroups of the processor set"
        choice.expect_even(t, inside, policy, f"if the {whose} are {sets}")


def set_without_memory_means_all_lgroups(t):
    machine = boards(t, 8, bare=3)
    for policy in (RANDOM_PROC, RANDOM_PSET):
        for empty in ([], sample(t, machine.bare(), 1, 3)):
            other = sample(t, machine.with_memory(), 2, 3)
            choice = Choice(machine, policy, home=0)
            choice.proc, choice.pset = (empty, other) if policy == RANDOM_PROC else (other, empty)
            choice.expect_among(t, machine.with_memory(), RANDOM, f"if the set is {empty}")


def expect_turns(t, choice, order, when=""):
    """The lgroups of `order` have turns, for small and for large indices: the first and the last page of each turn."""
    pages = t.term["turn"]
    last = (1 << 64) // pages - len(order) - 1  # near the end of 64 bits
    first = [0, drawn(t, 1, 1000), drawn(t, 1 << 32, 1 << 33), drawn(t, 1 << 50, 1 << 51), last]
    for turn in (start + i for start in first for i in range(len(order) + 1)):
        for index in {turn * pages, turn * pages + pages - 1}:
            ((lgrp, policy),) = choice.answers(t, [(index, t.random.getrandbits(32))])
            choice.expect_charged(t, order[turn % len(order)], ROUNDROBIN, lgrp, policy, f"for page {index}{when}")


def round_robin_begins_at_the_home(t):
    for n in (drawn(t, 3, 8), 18):
        machine = boards(t, n, bare=n // 3)
        home = t.random.choice(machine.with_memory()[1:])
        order = [g for g in machine.with_memory() if g >= home] + [g for g in machine.with_memory() if g < home]
        expect_turns(t, Choice(machine, ROUNDROBIN, home=home, cpu=drawn(t, 0, n - 1)), order)


def round_robin_without_memory_at_home(t):
    machine = boards(t, drawn(t, 8, 18), bare=3)
    lgrps = machine.with_memory()
    for home in machine.bare():
        order = [g for g in lgrps if g > home] + [g for g in lgrps if g < home]
        expect_turns(t, Choice(machine, ROUNDROBIN, home=home), order)
    expect_turns(t, Choice(machine, ROUNDROBIN), lgrps)


def pset_aware_narrows_random_placement(t):
    machine = Machine(t, [drawn(t, 0, 2) for _ in range(6)] + [1, 2, 1])
    inside = [drawn(t, 0, 5), 6, 7]
    with_memory = [g for g in inside if machine.nodes[g]]
    memory = machine.memory(inside)
    proc = [7, 8]
    for policy, homes, charged, on in (
        (RANDOM, proc, RANDOM, 1),
        (RANDOM_PROC, proc, RANDOM_PROC, 2),
        (RANDOM_PROC, [], RANDOM, 1 << drawn(t, 8, 31)),
    ):
        own = proc if charged == RANDOM_PROC else machine.with_memory()
        choice = Choice(machine, policy, home=8, proc=homes, pset=inside, aware=on)
        for choice.bytes in (PAGE, memory - 1):
            when = f"for {choice.bytes} bytes, if the set {inside} has {memory}, and the homes of the process are {homes}"
            choice.expect_among(t, with_memory, RANDOM_PSET, f"{when}; lgrp_mem_pset_aware is {on}")
        choice.bytes = memory
        choice.expect_among(t, own, charged, f"for as many bytes as the set {inside} has")
        choice.bytes, choice.aware = PAGE, 0
        choice.expect_among(t, own, charged, "if lgrp_mem_pset_aware is 0")
        choice.pset, choice.aware = [], on
        choice.expect_among(t, own, charged, "in the default set")


def pset_aware_leaves_other_policies(t):
    machine = boards(t, 6)
    choice = Choice(machine, NEXT, home=drawn(t, 1, 3), cpu=drawn(t, 4, 5), pset=[0, 4], aware=1)
    choice.expect_always(t, choice.home, NEXT, "if lgrp_mem_pset_aware is 1")
    choice.policy = NEXT_CPU
    choice.expect_always(t, choice.cpu, NEXT_CPU, "if lgrp_mem_pset_aware is 1")
    choice.policy = ROUNDROBIN
    expect_turns(t, choice, [(choice.home + i) % 6 for i in range(6)], " if lgrp_mem_pset_aware is 1")
    choice.policy, choice.home = NEXT, NONE
    when = "if lgrp_mem_pset_aware is 1 and the set is [0, 4]"
    if t.term["homeless"] == NEXT_CPU:
        choice.expect_always(t, choice.cpu, NEXT_CPU, when)
    else:
        choice.expect_among(t, choice.pset, RANDOM_PSET, when)


def unknown_policy_is_random(t):
    machine = boards(t, 6, bare=2)
    for policy in (7, drawn(t, 8, 254), 0xFFFFFFFF):
        Choice(machine, policy, home=0).expect_among(t, machine.with_memory(), RANDOM)


# ---- lgrp_mem_node -----------------------------------------------------------------------------


def nodes_of_an_lgroup_are_drawn_evenly(t):
    for count in (18, drawn(t, 2, 5)):
        machine = Machine(t, [drawn(t, 1, 3), count, drawn(t, 1, 3)])
        drawn_numbers = numbers(t, EACH * count)
        found = t.child.ask("node", 1, *drawn_numbers)
        t.expect_even(f"pages of lgroup 1 on each node ({machine})", machine.nodes[1], found)
        t.expect(f"the same random numbers again ({machine})", found[:50], t.child.ask("node", 1, *drawn_numbers[:50]))


def lgroup_without_memory_uses_the_nearest(t):
    for _ in range(5):
        count = [2, 0, 0, 0, 3, 1, 1, 0, 1]
        t.random.shuffle(count)
        machine = Machine(t, count)
        for lgrp in machine.bare():
            nearest = next(g for g in machine.near[lgrp] if machine.nodes[g])
            found = t.child.ask("node", lgrp, *numbers(t, SOME * 3))
            what = f"nodes for lgroup {lgrp}, if near[{lgrp}] is {machine.near[lgrp]} ({machine})"
            t.expect(what, machine.nodes[nearest], sorted(set(found)))


# ---- the policy of a segment -------------------------------------------------------------------


@dataclass
class Segment:
    """What place_of_seg() is asked, with the tunables that it reads."""

    shared: int
    bytes: int
    policy: int = 0
    default: int = NEXT
    privm: int = UNLIMITED
    shm: int = UNLIMITED
    start: int = 0x10000000
    obj_first: int = 0

    def __str__(self):
        if self.shared:
            kind, thresh = "a shared", f"shm_random_thresh {self.shm}; page {self.obj_first} of the object at its start"
        else:
            kind, thresh = "a private", f"privm_random_thresh {self.privm}"
        policy = f"policy {name_of(self.policy)}, default policy {name_of(self.default)}"
        return f"{kind} segment of {self.bytes} bytes ({policy}, {thresh})"

    def expect(self, t, policy, advised, page=None):
        """Policy and other fields of the placement of a page; `page`: of the segment."""
        page = drawn(t, 1, self.bytes // PAGE + 5) if page is None else page
        addr = self.start + page * PAGE + drawn(t, 0, PAGE - 1)
        tunables = (self.default, self.privm, self.shm)
        first = self.obj_first or drawn(t, 1, 1000)
        for maps, of_object in [(1, first)] if self.shared else [(0, 0), (1, first)]:
            asked = (self.shared, self.policy, self.bytes, self.start, maps, of_object, addr)
            found = t.child.ask("segment", *tunables, *asked)
            index = {0: page, 1: page + of_object * self.shared, 2: addr // PAGE}[t.term["index"]]
            of_file = f" that maps a file from its page {first} on" if maps and not self.shared else ""
            what = f"policy, bytes, index and advised of page {page} of {self}{of_file}, address {addr:#x}"
            t.expect(what, [name_of(policy), self.bytes, index, advised], [name_of(found[0]), *found[1:3], bool(found[3])])


def private_segments_have_the_default_policy(t):
    for default in (RANDOM_PROC, RANDOM_PSET, ROUNDROBIN, NEXT_CPU, NEXT):
        thresh = drawn(t, 16, 1 << 36)
        Segment(0, thresh, default=default, privm=thresh, shm=0).expect(t, default, False)
        Segment(0, drawn(t, 1, thresh), default=default, privm=thresh, shm=0).expect(t, default, False)
        Segment(0, drawn(t, 1, 1 << 40), default=default, shm=0).expect(t, default, False)


def large_private_segments_are_random(t):
    for default in (NEXT, ROUNDROBIN):
        thresh = drawn(t, 16, 1 << 36)
        Segment(0, thresh + 1, default=default, privm=thresh).expect(t, RANDOM, False)
        Segment(0, thresh + drawn(t, 1, thresh), default=default, privm=thresh).expect(t, RANDOM, False)


def shared_segments_are_random_above_their_own_threshold(t):
    for default in (NEXT, ROUNDROBIN):
        thresh = drawn(t, 16, 1 << 36)
        first = drawn(t, 1, 1000)
        Segment(1, thresh, default=default, privm=0, shm=thresh, obj_first=first).expect(t, NEXT, False)
        Segment(1, thresh + 1, default=default, shm=thresh, obj_first=first).expect(t, RANDOM, False)


def advice_on_private_memory_decides(t):
    for policy in t.random.sample(range(1, 7), 6):
        size = drawn(t, PAGE, 1 << 36)
        thresh = t.random.choice([0, UNLIMITED])
        default = t.random.choice([p for p in range(1, 7) if p != policy])
        Segment(0, size, policy=policy, default=default, privm=thresh).expect(t, policy, True)


def advice_on_shared_memory_is_that_of_the_object(t):
    size = t.term["block"]
    first = drawn(t, 1000, 2000) * size
    advice = {2: ROUNDROBIN, 3: RANDOM, 5: NEXT}  # by block of the segment
    for block, policy in advice.items():
        page = first + block * size + drawn(t, 0, size - 1)
        t.expect(f"object_advise({page}, {page}, {name_of(policy)})", [0], t.child.ask("advise", page, page, policy))
    for thresh, default in ((UNLIMITED, NEXT), (0, RANDOM)):
        for page in (page for block in range(8) for page in ends(block, size)):
            # The segment's own policy does not count: it is for private memory.
            segment = Segment(1, 8 * size * PAGE, policy=NEXT_CPU, default=ROUNDROBIN, shm=thresh, obj_first=first)
            segment.expect(t, advice.get(page // size, default), page // size in advice, page)
    for block in advice:
        # Advice for a file does not count for private memory.
        Segment(0, 8 * size * PAGE, default=NEXT_CPU, obj_first=first).expect(t, NEXT_CPU, False, block * size)


# ---- the policies of Linux ---------------------------------------------------------------------


@dataclass
class Made:
    """What mempolicy_make() answers."""

    err: int
    mode: int
    flags: int
    asked: int
    nodes: int

    def shown(self):
        mode = MODES[self.mode] if self.mode < len(MODES) else self.mode
        return f"{-self.err}: mode {mode}, flags {self.flags:#x}, asked {self.asked:#x}, nodes {self.nodes:#x}"


def make(t, mode, flags, asked, nmem):
    err, mode, _, flags, asked, nodes = t.child.ask("make", mode & 0xFFFFFFFF, flags, asked, nmem)
    return Made(err, mode, flags, asked, nodes)


def expect_made(t, given, expected):
    mode, flags, asked, nmem = given
    called = MODES[mode] if 0 <= mode < len(MODES) else mode
    what = f"mempolicy_make({called}, flags {flags:#x}, asked {asked:#x}, nmem {nmem}): result and policy"
    t.expect(what, expected.shown(), make(t, *given).shown())


def machine_size(t):
    """A number of nodes with memory."""
    return drawn(t, 6, 40)


def valid_policies_are_accepted(t):
    for nmem in (1, 64, machine_size(t)):
        for mode in (BIND, INTERLEAVE, PREFERRED_MANY):
            for flags in (0, STATIC):
                asked = t.random.getrandbits(64) | 1 << drawn(t, 0, nmem - 1)
                nodes = members(n for n in elements(asked) if n < nmem)
                expect_made(t, (mode, flags, asked, nmem), Made(0, mode, flags, asked, nodes))
        for flags in (0, STATIC, RELATIVE):
            expect_made(t, (MPOL_DEFAULT, flags, 0, nmem), Made(0, MPOL_DEFAULT, 0, 0, 0))
        expect_made(t, (LOCAL, 0, 0, nmem), Made(0, LOCAL, 0, 0, 0))


def invalid_arguments_are_refused(t):
    nmem = machine_size(t)
    some = t.random.getrandbits(nmem) | 1
    absent = t.random.getrandbits(64) << nmem & (1 << 64) - 1 | 1 << nmem
    cases = [(mode, 0, some) for mode in (-1, 6, drawn(t, 7, 1 << 20))]
    cases += [(BIND, flags, some) for flags in (RELATIVE | STATIC, BALANCING, 1 << drawn(t, 0, 12), STATIC | 1 << 16)]
    cases += [(mode, 0, some) for mode in (MPOL_DEFAULT, LOCAL)]
    cases += [(mode, flags, 0) for mode in (LOCAL, PREFERRED) for flags in (STATIC, RELATIVE)]
    cases += [(mode, flags, 0) for mode in (BIND, INTERLEAVE, PREFERRED_MANY) for flags in (0, STATIC, RELATIVE)]
    cases += [(mode, flags, absent) for mode in (PREFERRED, BIND, INTERLEAVE, PREFERRED_MANY) for flags in (0, STATIC)]
    t.random.shuffle(cases)
    before = Made(0, BIND, STATIC, some, some)
    expect_made(t, (BIND, STATIC, some, nmem), before)
    for mode, flags, asked in cases:
        expect_made(t, (mode, flags, asked, nmem), Made(EINVAL, BIND, STATIC, some, some))


def preferred_is_the_lowest_node_that_exists(t):
    for nmem in (64, machine_size(t)):
        for flags in (0, STATIC):
            asked = (t.random.getrandbits(64) | 1 << nmem - 1) & ~1
            lowest = min(elements(asked))
            expect_made(t, (PREFERRED, flags, asked, nmem), Made(0, PREFERRED, flags, asked, 1 << lowest))
        expect_made(t, (PREFERRED, 0, 0, nmem), Made(0, LOCAL, 0, 0, 0))


def relative_nodes_are_taken_modulo_the_nodes(t):
    for nmem in (1, 64, drawn(t, 3, 7), drawn(t, 33, 63)):
        for mode in (BIND, INTERLEAVE, PREFERRED_MANY):
            asked = members(t.random.sample(range(64), drawn(t, 1, 5)))
            nodes = members(n % nmem for n in elements(asked))
            expect_made(t, (mode, RELATIVE, asked, nmem), Made(0, mode, RELATIVE, asked, nodes))
    nmem = drawn(t, 20, 30)
    first, second = nmem + drawn(t, 1, 5), drawn(t, 10, 19)
    asked = members([first, second])
    expect_made(t, (PREFERRED, RELATIVE, asked, nmem), Made(0, PREFERRED, RELATIVE, asked, 1 << first - nmem))


def set_policy(t, mode, nodes, nmem):
    """Set the policy; its mistakes are those of other tests."""
    made = make(t, mode, 0, members(nodes), nmem)
    t.expect(f"result and nodes of mempolicy_make({MODES[mode]}, nodes {nodes})", (0, members(nodes)), (made.err, made.nodes))


def interleaved_pages_take_turns(t):
    boards(t, 6)
    for nodes in (sample(t, range(1, 64), 2, 6), [0, 63], [drawn(t, 1, 63)], list(range(64)), sample(t, range(8, 64), 3, 20)):
        set_policy(t, INTERLEAVE, nodes, 64)
        n = 2 * len(nodes) + 1
        found = t.child.ask("pages", drawn(t, 0, 5), n)
        expected = [nodes[i % len(nodes)] for i in range(n)]
        t.expect(f"nodes of {n} pages, interleaved over {nodes}", expected, found[1::2])
        t.expect(f"mempolicy_next() before each of these pages, interleaved over {nodes}", expected, found[::2])


def drawn_machine(t):
    """A machine of lgroups with none, one or several nodes."""
    count = [1, 1, 0, 0, 2, 2, 3, 3, *(drawn(t, 0, 2) for _ in range(6))]
    t.random.shuffle(count)
    return Machine(t, count)


def nearest_node_of_a_set(t):
    machine = drawn_machine(t)
    for lgrp in range(machine.n):
        own = machine.nodes[machine.near[lgrp][drawn(t, 0, 2)]]
        for nodes in (own or range(3), *(sample(t, range(machine.nnodes), 1, 5) for _ in range(4))):
            what = f"mempolicy_nearest(lgroup {lgrp}, nodes {nodes}); near[{lgrp}] is {machine.near[lgrp]} ({machine})"
            expected = machine.by_distance(lgrp, nodes)[0]
            t.expect(what, [expected], t.child.ask("nearest", lgrp, members(nodes)))
    for nodes in ([], [machine.nnodes]):
        t.expect(f"mempolicy_nearest() for nodes {nodes}", [0], t.child.ask("nearest", 0, members(nodes)))


def pages_come_from_the_node_near_the_home(t):
    machine = drawn_machine(t)
    for home in range(machine.n):
        for mode in (BIND, PREFERRED_MANY, PREFERRED):
            nodes = sample(t, range(machine.nnodes), 1, 1 if mode == PREFERRED else 4)
            set_policy(t, mode, nodes, machine.nnodes)
            what = f"node of a page, {MODES[mode]} {nodes}, home {home}, near[{home}] {machine.near[home]} ({machine})"
            for _ in range(2):  # the same again: these modes have no turns
                t.expect(what, [machine.by_distance(home, nodes)[0]], t.child.ask("local", home))


def local_pages_come_from_the_home(t):
    machine = drawn_machine(t)
    for mode in (LOCAL, PREFERRED):
        set_policy(t, mode, [], machine.nnodes)
        for home in range(machine.n):
            what = f"node of a page, MPOL_LOCAL, home {home}, near[{home}] {machine.near[home]} ({machine})"
            t.expect(what, [machine.by_distance(home, range(machine.nnodes))[0]], t.child.ask("local", home))


def full_nodes_are_followed_by_the_next_nearest(t):
    machine = drawn_machine(t)
    for _ in range(6):
        home = drawn(t, 0, machine.n - 1)
        nodes = sample(t, range(machine.nnodes), 3, 8)
        set_policy(t, BIND, nodes, machine.nnodes)
        (node,) = t.child.ask("local", home)
        order, left = [node], set(nodes) - {node}
        while left and len(order) < len(nodes):
            (node,) = t.child.ask("nearest", home, members(left))
            order.append(node)
            left -= {node}
        what = f"nodes of MPOL_BIND {nodes} as they become full, home {home}, near[{home}] {machine.near[home]} ({machine})"
        t.expect(what, machine.by_distance(home, nodes), order)


# ---- the list of advice ------------------------------------------------------------------------


@dataclass
class State:
    length: int
    nadvised: int
    blocks: int
    bytes: int
    charged: list[int]  # to each of two users
    misuses: int
    held: int
    taken: int


def ends(block, size):
    """The first and the last page of a block; one page, if it has no others."""
    return sorted({block * size, block * size + size - 1})


class Advice:
    """The student's object, beside a table with one policy for each block from page `base` on.

    A block has one page, or as many as the term says.
    """

    def __init__(self, t, blocks, base=None):
        """`base` -1: the last page is 2^64 - 1."""
        self.t, self.size = t, t.term["block"]
        self.base = drawn(t, 1, (1 << 50) // self.size) * self.size if base is None else base
        if base == -1:
            self.base = (1 << 64) - blocks * self.size
        self.table, self.calls = [0] * blocks, []

    def state(self):
        found = self.t.child.ask("state")
        return State(*found[:4], found[4:6], *found[6:])

    def runs(self):
        """The ranges that the table needs."""
        return sum(p != 0 and (i == 0 or p != self.table[i - 1]) for i, p in enumerate(self.table))

    def history(self):
        shown = self.calls[-8:]
        return f"after {'... ' if len(shown) < len(self.calls) else ''}{', '.join(shown)}; pages count from {self.base}"

    def try_advise(self, first, last, policy):
        """Give advice for some page of block `first` to some of block `last`.  Changes the table if it is accepted.

        Returns the error.
        """
        pages = sorted(block * self.size + drawn(self.t, 0, self.size - 1) for block in (first, last))
        (err,) = self.t.child.ask("advise", *(self.base + page for page in pages), policy)
        self.calls.append(f"advise({pages[0]}..{pages[1]}, {policy}){' refused' if err else ''}")
        if not err:
            self.table[first : last + 1] = [policy] * (last + 1 - first)
        return err

    def call_as(self, user):
        """The next calls are those of user 0 or 1; before, they are those of user 0."""
        self.t.child.ask("user", user)
        self.calls.append(f"as user {user}")

    def advise(self, first, last, policy):
        err = self.try_advise(first, last, policy)
        self.t.expect(f"result of the last call {self.history()}", 0, -err)

    def check_pages(self):
        """The policies of all blocks, of pages around them, and of one whose number differs from theirs in a high bit."""
        n = len(self.table) * self.size
        far = drawn(self.t, 0, n - 1) + (1 << drawn(self.t, 32, 63))
        pages = [*(page for block in range(len(self.table)) for page in ends(block, self.size)), n, n + 1, far, -1]
        found = self.t.child.ask("policies", *((self.base + page) % (1 << 64) for page in pages))
        for page, policy in zip(pages, found, strict=True):
            expected = self.table[page // self.size] if 0 <= page < n else 0
            self.t.expect(f"policy of page {page} {self.history()}", expected, policy)

    def check_ranges(self):
        state = self.state()
        what = f"length of the list, and nadvised, {self.history()}"
        self.t.expect(what, (self.runs(), self.runs()), (state.length, state.nadvised))

    def check_memory(self):
        """One block of memory for each range, charged to the user."""
        state = self.state()
        self.t.expect(f"blocks of memory that are held, one for each range, {self.history()}", state.nadvised, state.blocks)
        self.t.expect(f"bytes that are charged to the users {self.history()}", state.bytes, sum(state.charged))

    def advise_any(self, policies=4):
        """Draw a range and a policy: many small ranges, some large ones."""
        n = len(self.table)
        first = drawn(self.t, 0, n - 1)
        most = n - first if drawn(self.t, 0, 5) == 0 else min(12, n - first)
        return self.try_advise(first, first + drawn(self.t, 0, most - 1), drawn(self.t, 0, policies - 1))


def policies(t, n):
    """Different policies."""
    return t.random.sample(range(1, 7), n)


def advice_for_one_range(t):
    for base in (0, None, -1):
        advice = Advice(t, 40, base)
        advice.check_pages()
        for last in (drawn(t, 11, 38), 39):
            advice.advise(last - drawn(t, 0, 10), last, drawn(t, 1, 6))
            advice.check_pages()
            advice.advise(0, 39, 0)
            advice.check_pages()


def several_ranges_in_any_order(t):
    advice = Advice(t, 120)
    ranges = [(10 * i + drawn(t, 0, 4), 10 * i + drawn(t, 5, 8)) for i in range(12)]
    t.random.shuffle(ranges)
    for first, last in ranges:
        advice.advise(first, last, drawn(t, 1, 6))
        advice.check_pages()


def later_advice_replaces_earlier_advice(t):
    one, two, three = policies(t, 3)
    for first, last in ((20, 29), (15, 34), (10, 24), (20, 34), (0, 59), (20, 20), (29, 29), (15, 20), (29, 40)):
        advice = Advice(t, 60)
        for old, policy in (((5, 9), two), ((20, 29), one), ((40, 44), two)):
            advice.advise(*old, policy)
        advice.advise(first, last, three)
        advice.check_pages()
        t.child.ask("forget")


def advice_inside_a_range_cuts_it(t):
    one, two = policies(t, 2)
    for inner in (two, 0):
        advice = Advice(t, 60)
        advice.advise(5, 54, one)
        first = drawn(t, 6, 40)
        advice.advise(first, first + drawn(t, 0, 12), inner)
        advice.check_pages()
        t.child.ask("forget")


def removed_advice_leaves_no_range(t):
    advice = Advice(t, 60)
    for i in range(6):
        advice.advise(10 * i, 10 * i + drawn(t, 2, 8), drawn(t, 1, 6))
    for first, last in ((0, 4), (10, 29), (35, 44), (0, 59)):
        advice.advise(first, last, 0)
        advice.check_pages()
        advice.check_ranges()
    advice.advise(3, 5, 0)
    advice.check_ranges()


def neighbours_with_the_same_policy_are_joined(t):
    one, two = policies(t, 2)
    advice = Advice(t, 60)
    for first, last, policy in (
        (10, 19, one), (30, 39, one), (20, 24, two), (20, 29, one), (40, 44, one), (5, 9, one), (45, 45, two), (4, 4, two),
        (15, 20, one), (12, 12, two), (12, 12, one), (45, 50, one), (0, 4, one),
    ):  # fmt: skip
        advice.advise(first, last, policy)
        advice.check_pages()
        advice.check_ranges()


def drawn_advice_is_that_of_the_table(t):
    for base in (0, None, -1):
        advice = Advice(t, 100, base)
        for _ in range(120):
            t.expect(f"result of the last call {advice.history()}", 0, -advice.advise_any())
            advice.check_pages()
        t.child.ask("forget")


def drawn_advice_needs_no_more_ranges_than_the_table(t):
    advice = Advice(t, 100)
    for _ in range(150):
        t.expect(f"result of the last call {advice.history()}", 0, -advice.advise_any())
        advice.check_ranges()
    advice.check_pages()


def ranges_are_limited(t):
    advice = Advice(t, 4 * 258)
    for i in t.random.sample(range(256), 256):
        advice.advise(4 * i, 4 * i + 2, 1 + i % 6)
    some = 4 * drawn(t, 0, 255)
    for first, last, policy, why in (
        (4 * 256, 4 * 256, 1, "a 257th range"),
        (some, some + 2, 6 if advice.table[some] == 1 else 1, "advice in place of other advice, at the limit"),
        (some + 1, some + 1, 0, "a hole that cuts a range in two, at the limit"),
    ):
        err = advice.try_advise(first, last, policy)
        t.expect(f"result of the last call: {why} ({advice.history()})", -ENOMEM, -err)
        advice.check_pages()
        advice.check_memory()
    advice.advise(some + 2, some + 2, 0)
    advice.advise(some, some, 0)
    advice.advise(some + 1, some + 1, 0)
    advice.check_pages()
    advice.advise(some, some + 1, 3)
    advice.check_pages()
    err = advice.try_advise(4 * 257, 4 * 257, 2)
    t.expect(f"result of the last call, at the limit again ({advice.history()})", -ENOMEM, -err)


def memory_of_ranges_is_charged_and_returned(t):
    advice = Advice(t, 100)
    advice.advise(50, 59, drawn(t, 1, 6))
    t.expect(f"blocks of memory that are held {advice.history()}", 1, advice.state().blocks)
    for _ in range(120):
        t.expect(f"result of the last call {advice.history()}", 0, -advice.advise_any())
        advice.check_memory()
    advice.advise(0, 99, 0)
    state = advice.state()
    t.expect("blocks and charged bytes without advice", (0, [0, 0]), (state.blocks, state.charged))
    one, two = policies(t, 2)
    advice.advise(10, 60, one)
    first = advice.state().charged[0]
    advice.call_as(1)
    advice.advise(20, 29, two)  # cuts the range of the first user
    state = advice.state()
    t.expect(f"bytes that are charged to each user {advice.history()}", [first, state.bytes - first], state.charged)
    for _ in range(60):
        advice.call_as(drawn(t, 0, 1))
        t.expect(f"result of the last call {advice.history()}", 0, -advice.advise_any())
        advice.check_memory()
    advice.advise(0, 99, 0)
    t.expect(f"bytes that are charged to each user {advice.history()}", [0, 0], advice.state().charged)


def without_memory_nothing_changes(t):
    advice = Advice(t, 100)
    for i in range(5):
        advice.advise(20 * i, 20 * i + 10, 1 + i)
    advice.check_memory()
    state = advice.state()
    for most, fails, why in ((state.bytes, 0, "if the user may hold no more"), (UNLIMITED, UNLIMITED, "without memory")):
        for first, last, policy in ((13, 14, 6), (13, 14, 0), (20, 30, 0)):
            t.child.ask("memory", most, fails)
            err = advice.try_advise(first, last, policy)
            t.expect(f"result of the last call {why}, {advice.history()}", -ENOMEM, -err)
            advice.check_memory()
            advice.check_pages()
    for _ in range(150):
        state = advice.state()
        most = UNLIMITED if drawn(t, 0, 2) else state.bytes + drawn(t, 0, 3) * state.bytes // max(1, state.blocks)
        t.child.ask("memory", most, drawn(t, 0, 3))
        err = advice.advise_any()
        if err not in (0, ENOMEM):
            t.expect(f"result of the last call {advice.history()}", "0 or -12 (ENOMEM)", -err)
        advice.check_memory()
        advice.check_pages()


def lock_is_held_only_for_the_list(t):
    advice = Advice(t, 100)
    t.child.ask("policies", *range(10))
    t.expect("times that o->lock was taken by object_policy() without advice", 0, advice.state().taken)
    for _ in range(20):
        before = advice.state().taken
        advice.advise_any()
        state = advice.state()
        t.expect(
            f"whether o->lock was taken, and is still held, {advice.history()}", (True, 0), (state.taken > before, state.held)
        )
        t.expect(f"calls of the allocator or of usermem_charge() that held o->lock, {advice.history()}", 0, state.misuses)
    advice.advise(10, 20, 1)
    before = advice.state().taken
    t.child.ask("policies", *range(10))
    state = advice.state()
    t.expect(
        "times that o->lock was taken by 10 look-ups with advice, and whether it is held",
        (10, 0),
        (state.taken - before, state.held),
    )
    before = state.taken
    t.child.ask("forget")
    state = advice.state()
    t.expect("whether object_forget_advice() took o->lock, and holds it", (True, 0), (state.taken > before, state.held))
    t.expect("calls of the allocator by object_forget_advice() that held o->lock", 0, state.misuses)


def all_advice_is_forgotten(t):
    advice = Advice(t, 60)
    for _ in range(2):
        for i in range(drawn(t, 3, 6)):
            advice.advise(10 * i, 10 * i + drawn(t, 0, 8), drawn(t, 1, 6))
        advice.check_pages()
        t.child.ask("forget")
        advice.table, advice.calls = [0] * 60, ["object_forget_advice()"]
        advice.check_pages()
        advice.check_ranges()
        advice.check_memory()


# ---- booted: a Sun Fire 6800, six boards of four CPUs ------------------------------------------

BOARDS = 6
# How far a board's share of accesses may be from that of its pages.  The start of the shell counts, too, some 200,000
# accesses with QEMU 10; each program makes 8 million and more.
SPREAD = 0.04
RAN = 100_000  # the least number of accesses of a program that has run


def expect_programs(t, programs, **options):
    """Boot, and run programs at the same time, each bound to a CPU of a board of its own.

    `programs`: (command, share), where share(home) is the share of its pages that each board must have, by board."""
    boards = t.random.sample(range(BOARDS), len(programs))
    archive = Archive()
    archive.directory("bin")
    archive.file("bin/placed", (TOP / "build/user/test/placed").read_bytes(), 0o755)
    run = t.kernel.boot(
        "sf6800",
        " & ".join(
            f"sh -c 'pbind -b {4 * home} $$; exec {command}'" for home, (command, _) in zip(boards, programs, strict=True)
        )
        + " & wait",
        drawn(t, 1, 1 << 30),
        overlay=archive.pack(),
        **options,
    )
    for home, (command, share) in zip(boards, programs, strict=True):
        used = run.by_domain()[home]
        found = [n / max(1, sum(used)) for n in used]
        good = sum(used) >= RAN and all(abs(a - b) <= SPREAD for a, b in zip(found, share(home), strict=True))
        wanted = shares(share(home))
        t.expect(
            f"accesses of `{command}` on board {home} to the memory of each board, as QEMU counts them",
            wanted,
            wanted if good else f"{shares(found)} (of {sum(used)})",
        )


def shares(parts):
    return ", ".join(f"{100 * part:.0f} %" for part in parts)


def spread(pages_at_home=0.0, boards=range(BOARDS)):
    """A part of the pages is at home, and the others are evenly on some boards."""
    return lambda home: [(1 - pages_at_home) * (b in boards) / len(boards) + pages_at_home * (b == home) for b in range(BOARDS)]


def programs_get_pages_as_they_ask(t):
    """The default is round robin.  All pages of the program with -m are there before they move to its home."""
    turn = t.term["turn"]
    whole = BOARDS * turn * (drawn(t, 600, 900) // (BOARDS * turn) + 1)  # pages of whole rounds
    few = drawn(t, 1000, 1500)  # below lgrp_shm_random_thresh, 8 MiB
    programs = [
        (f"memcopy -t 1 -i 8 -P {2 * whole} -p any", spread()),
        ("memcopy -t 1 -i 8 -P 4000 -p random", spread()),
        (f"memcopy -t 1 -i 40 -P {few} -p any -m", spread(0.97)),
        (f"placed {few} shared", spread(1)),
        (f"placed {few + 3000} shared", spread()),
    ]
    t.random.shuffle(programs)
    expect_programs(t, programs, system=f"set lgrp_mem_default_policy={ROUNDROBIN}")


def nodes_that_programs_name(t):
    three, others = t.random.sample(range(BOARDS), 3), t.random.sample(range(BOARDS), 2)
    one = drawn(t, 0, BOARDS - 1)
    pages = 3 * drawn(t, 300, 400)
    programs = [
        (f"placed {pages} {INTERLEAVE} {members(three)}", spread(boards=three)),
        (f"placed {pages} {PREFERRED} {members(others)}", spread(boards=[min(others)])),
        (f"placed {pages} {BIND} {members([one])}", spread(boards=[one])),
        (f"placed {pages} {PREFERRED_MANY} {members(range(BOARDS))}", spread(1)),
    ]
    expect_programs(t, programs)


def advice_holds_for_a_part_of_shared_memory(t):
    """The half in the middle has no advice: it was removed."""
    pages = 128 * drawn(t, 12, 15)  # below lgrp_shm_random_thresh, 8 MiB
    expect_programs(t, [(f"placed {pages} advised", spread(0.5)), (f"placed {pages} shared", spread(1))])
