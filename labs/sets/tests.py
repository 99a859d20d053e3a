# SPDX-License-Identifier: MIT
"""tests.py - what processor sets and the routes of interrupts must do: the cases of the lab "sets".

Each function is a test of lab.toml.  It draws its numbers from `t.random`, so that nothing can be learnt by heart.  World
has a model of the rules in README.md: it carries out each operation in the student's code and in the model, and compares
all that can be seen.  routed() is a model of the other rule.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import groupby

NONE = -1  # the default set; no binding
DESTROYED, UNKNOWN, HOMELESS = -2, -3, 255
EINVAL, EBUSY, ENOMEM = -22, -16, -12
OFFLINE, ONLINE, NOINTR = 1, 2, 6
ASLEEP, WAITS, RUNS = 0, 1, 2
NOESCAPE = 1
TRIES = 5  # BOUND_TRIES
ANYWHERE = 256  # CPU_MAX
WAKES = -2  # `meanwhile`: the thread wakes up
CPUS = 12
TIE_AFTER, TIE_LOWEST, TIE_HIGHEST, TIE_BEFORE = range(4)
BOARDS = [(2, 6), (3, 4), (4, 3), (6, 2)]  # boards, CPUs of each
ERRORS = {EINVAL: "-EINVAL", EBUSY: "-EBUSY", ENOMEM: "-ENOMEM"}


def drawn(t, least, most):
    return t.random.randrange(least, most + 1)


def named(number):
    """A set, as a failure shows it."""
    return {NONE: "default", DESTROYED: "a destroyed set", UNKNOWN: "none"}.get(number, number)


# ---- the answers of the driver -----------------------------------------------------------------


@dataclass
class SetSeen:
    attr: int
    load: int
    mask: set[int]
    rng: int  # changes when a home is chosen in the set
    cpus: list[int]  # by lgroup, in the load records
    homed: list[int]


@dataclass
class CpuSeen:
    part: int
    state: int
    idle: bool
    queue: int
    lgrp: int
    steal: int  # pokes in this operation, by reason
    move: int


@dataclass
class ThreadSeen:
    part: int
    counted: int
    home: int
    bound: int
    state: int
    place: int  # the CPU where it runs or waits


@dataclass
class Seen:
    """The result of an operation, and the state of the machine after it."""

    def __init__(self, numbers):
        numbers = iter([n - (1 << 64) if n >> 63 else n for n in numbers])

        def take(n):
            return [next(numbers) for _ in range(n)]

        self.result, self.sleeps, self.spin_locks, self.has_cpu_lock, self.bad_locks = take(5)
        self.bad_order, self.unguarded, self.stranded, self.creations, self.enters = take(5)
        self.meanwhile, self.kstats, nsets, ncpus, nlgrps, nthreads = take(6)
        self.sets = {}
        for _ in range(nsets):
            number, attr, load = take(3)
            mask = {cpu for cpu, inside in enumerate(take(ncpus)) if inside}
            (rng,) = take(1)
            records = take(2 * nlgrps)
            self.sets[number] = SetSeen(attr, load, mask, rng, records[::2], records[1::2])
        self.cpus = [CpuSeen(*take(7)) for _ in range(ncpus)]
        self.threads = [ThreadSeen(*take(6)) for _ in range(nthreads)]


# ---- the model ---------------------------------------------------------------------------------


@dataclass
class Thread:
    home: int
    part: int = NONE
    bound: int = NONE
    mask: int = NONE  # the only CPU of its affinity mask; NONE: all CPUs
    zombie: bool = False


class World:
    """A machine, in the student's code and as a model of the rules."""

    def __init__(self, t, threads=0, awake=0, shape=None, homes=False, places=False, locks=False):
        """What only some tests compare, so that one mistake does not fail all: the homes of threads and the load records;
        where threads run and wait, once the poked CPUs have looked; the use of locks, and what other CPUs could see."""
        self.t, self.homes, self.places, self.locks = t, homes, places, locks
        boards, each = shape or t.random.choice(BOARDS)
        self.seen = Seen(t.child.ask("machine", boards, each, threads, awake, t.random.getrandbits(63)))
        self.lgrp = [cpu.lgrp for cpu in self.seen.cpus]
        self.part, self.state = [NONE] * CPUS, [ONLINE] * CPUS
        self.shared = {}  # by CPU: the set that shares it with the default set
        self.changes = 0  # since the poked CPUs have looked
        self.last = "the start"  # the last call
        self.sets = {NONE}
        self.threads = [Thread(thread.home) for thread in self.seen.threads]
        self.board = [range(b * each, (b + 1) * each) for b in range(boards)]

    # -- what the model knows

    def cpus(self, number):
        """The on-line CPUs of a set, with shared ones."""
        mine = [cpu for cpu in range(CPUS) if number in (self.part[cpu], self.shared.get(cpu))]
        return [cpu for cpu in mine if self.state[cpu] != OFFLINE]

    def lgrps(self, number):
        return {self.lgrp[cpu] for cpu in self.cpus(number)}

    def loses_home(self, i, cpus):
        """Whether thread i loses its home in a set with these CPUs."""
        home = self.threads[i].home
        return home != HOMELESS and sum(self.lgrp[cpu] == home for cpu in cpus) < self.t.term["home_cpus"]

    def members(self, number):
        return [i for i, thread in enumerate(self.threads) if thread.part == number and not thread.zombie]

    def bound_to(self, cpu):
        return [i for i, thread in enumerate(self.threads) if thread.bound == cpu and not thread.zombie]

    def awake(self, state):
        """The threads that run, or wait, or sleep."""
        return [i for i, thread in enumerate(self.seen.threads) if thread.state == state]

    # -- operations

    def ask(self, name, *numbers):
        self.changes += 1
        self.seen = Seen(self.t.child.ask(name, *[number % (1 << 64) for number in numbers]))

    def expect_result(self, call, result, sleeps=0, takes_cpu_lock=False):
        t, seen = self.t, self.seen
        self.last = call
        t.expect(f"the result of {call}", ERRORS.get(result, result), ERRORS.get(seen.result, seen.result))
        t.expect(f"waits of BOUND_WAIT_NS in {call}", sleeps, seen.sleeps)
        t.expect(f"spin locks that are still held after {call}", 0, seen.spin_locks)
        t.expect(f"whether cpu_lock is still held after {call}", 0, seen.has_cpu_lock)
        t.expect(f"uses of locks in {call} that hang the kernel or make it panic", 0, seen.bad_locks)
        if takes_cpu_lock:
            t.expect(f"whether {call} takes cpu_lock", True, seen.enters > 0)
        if self.locks:
            t.expect(f"spin locks that {call} takes against their order", 0, seen.bad_order)
            t.expect(f"changes of load records, `live` or a thread's set in {call} without the lock", 0, seen.unguarded)
            stranded = f"thread {seen.stranded}" if seen.stranded >= 0 else "none"
            t.expect(f"a thread whose set has no CPU in its mask, at some moment of {call}", "none", stranded)

    def expect_poke(self, cpu, reason):
        """The last operation has poked a CPU, which is not that of the caller."""
        found = getattr(self.seen.cpus[cpu], reason) > 0
        self.t.expect(f"whether {self.last} pokes CPU {cpu} with POKE_{reason.upper()}", True, found)

    def create(self):
        number = min(set(range(1, len(self.sets) + 1)) - self.sets)
        self.ask("create")
        self.sets.add(number)
        self.expect_result("pset_create()", number, takes_cpu_lock=self.locks)
        self.check("pset_create()")
        return number

    def destroy(self, number):
        call = f"pset_destroy({number})"
        result = sleeps = 0
        chosen = []
        if number not in self.sets or number == NONE:
            result = EINVAL
        elif any(self.threads[i].bound != NONE for i in self.members(number)):
            result, sleeps = EBUSY, TRIES
        self.ask("destroy", number)
        if result == 0:
            self.sets.remove(number)
            self.part = [NONE if part == number else part for part in self.part]
            for i, thread in enumerate(self.threads):
                if thread.part == number:
                    thread.part = NONE
                    chosen += [i] * self.loses_home(i, self.cpus(NONE))
        self.expect_result(call, result, sleeps, takes_cpu_lock=self.locks)
        self.check(call, chosen)

    def assign(self, number, cpu, forced=False):
        call = f"pset_assign({number}, {cpu}, {'true' if forced else 'false'})"
        result = sleeps = 0
        if number not in self.sets or not 0 <= cpu < CPUS or self.state[cpu] == OFFLINE:
            result = EINVAL
        elif self.part[cpu] != number:
            last = len(self.cpus(self.part[cpu])) <= self.t.term["reserve"]
            if last and (self.part[cpu] == NONE or self.members(self.part[cpu])):
                result = EBUSY
            elif self.bound_to(cpu) and not forced:
                result, sleeps = EBUSY, TRIES
            else:
                for i in self.bound_to(cpu):
                    self.threads[i].bound = NONE
                self.part[cpu] = number
        self.ask("assign", number, cpu % (1 << 32), int(forced))
        self.expect_result(call, result, sleeps, takes_cpu_lock=self.locks)
        self.check(call)

    def share(self, number, cpu, shared):
        """The part beyond."""
        call = f"pset_share({number}, {cpu}, {'true' if shared else 'false'})"
        result = 0
        if number not in self.sets - {NONE} or not 0 <= cpu < CPUS or self.state[cpu] == OFFLINE:
            result = EINVAL
        elif self.part[cpu] != NONE or self.shared.get(cpu, number) != number:
            result = EBUSY
        elif shared:
            self.shared[cpu] = number
        elif cpu in self.shared:
            threads = self.members(number)
            if threads and (self.cpus(number) == [cpu] or any(self.threads[i].bound == cpu for i in threads)):
                result = EBUSY
            else:
                del self.shared[cpu]
        answer = self.t.child.ask("share", number % (1 << 64), cpu % (1 << 32), int(shared))
        self.t.expect("whether there is a function pset_share()", True, answer != [])
        self.changes += 1
        self.seen = Seen(answer)
        self.expect_result(call, result, takes_cpu_lock=True)
        self.check(call)

    def bind(self, i, number):
        thread = self.threads[i]
        call = f"pset_bind(thread {i}, set {named(number)})"
        moves = thread.part != number
        result = 0
        if thread.bound != NONE and self.part[thread.bound] != number:
            result, moves = EBUSY, False
        else:
            thread.part = number
        chosen = [i] if moves and self.loses_home(i, self.cpus(number)) else []
        rng = self.seen.sets[number].rng
        self.ask("bind", i, number)
        self.expect_result(call, result)
        if self.homes:
            cpus = sum(self.lgrp[cpu] == thread.home for cpu in self.cpus(number))
            what = f"whether a home is chosen in {call}; the home is {thread.home}, and the set has {cpus} CPUs there"
            self.t.expect(what, chosen != [], self.seen.sets[number].rng != rng)
        self.check(call, chosen)

    def homeless(self, i, zombie=False):
        """No load record counts a sleeping thread any more: it is a kernel thread, or it ends."""
        self.ask("homeless", i, int(zombie))
        self.threads[i].home, self.threads[i].zombie = HOMELESS, zombie

    def pbind(self, i, cpu):
        """thread_bind() of the kernel.  Returns whether the thread is bound now."""
        thread = self.threads[i]
        done = cpu == NONE or cpu in self.cpus(thread.part)
        if done:
            thread.bound = cpu
            if cpu != NONE:
                thread.home = self.lgrp[cpu]
        self.ask("pbind", i, cpu)
        call = f"thread_bind(thread {i}, {cpu})"
        self.expect_result(call, 0 if done else EINVAL)
        self.check(call)
        return done

    def p_online(self, cpu, state, forced=False):
        """disp_cpu_set_state() of the kernel."""
        result, sleeps, old = self.state[cpu], 0, self.state[cpu]
        if state == OFFLINE and old != OFFLINE:
            if len(self.cpus(self.part[cpu])) == 1:
                result = EBUSY
            elif self.bound_to(cpu) and not forced:
                result, sleeps = EBUSY, TRIES
        if result != EBUSY:
            if state == OFFLINE:
                for i in self.bound_to(cpu):
                    self.threads[i].bound = NONE
            self.state[cpu] = state
        self.ask("p_online", cpu, state, int(forced))
        call = f"disp_cpu_set_state({cpu}, {state})"
        self.expect_result(call, result, sleeps)
        self.check(call)

    def settle(self):
        """The poked CPUs look at their threads and queues.  Then each thread is where it may be."""
        several = self.changes > 1
        self.ask("settle", self.t.random.randrange(CPUS))
        self.changes = 0
        self.check("the poked CPUs have looked")
        if not self.places:
            return
        for i, (thread, seen) in enumerate(zip(self.threads, self.seen.threads, strict=True)):
            allowed = self.cpus(thread.part) if thread.bound == NONE else [thread.bound]
            doing = {RUNS: "runs", WAITS: "waits"}.get(seen.state)
            if doing and seen.place not in allowed:
                place = "no CPU, and on no queue of a CPU" if seen.place == UNKNOWN else f"CPU {seen.place}"
                what = f"where thread {i} of set {named(thread.part)} {doing}, once the poked CPUs have looked"
                self.t.expect(f"{what}; the last call was {self.last}", f"CPU of {allowed}", place)
            idle = [cpu for cpu in allowed if self.seen.cpus[cpu].idle and cpu not in self.shared]
            # an idle CPU that was called to steal may be in another set now: then no CPU comes for the thread
            if seen.state == WAITS and idle and thread.mask == NONE and not several:
                what = f"idle CPUs of the set in which thread {i} waits, once the poked CPUs have looked"
                self.t.expect(f"{what}; the last call was {self.last}", [], idle)

    # -- comparing

    def check(self, after, chosen=()):
        """All that can be seen at once; `after`: what was called; `chosen`: threads that may have got another home."""
        t, seen = self.t, self.seen
        t.expect(f"sets after {after}", sorted(map(str, map(named, self.sets))), sorted(map(str, map(named, seen.sets))))
        t.expect(f"kstats of sets after {after}", len(self.sets), seen.kstats)
        t.expect(f"the set of each CPU after {after}", [*map(named, self.part)], [named(cpu.part) for cpu in seen.cpus])
        t.expect(
            f"the set of each thread after {after}",
            [named(thread.part) for thread in self.threads],
            [named(thread.part) for thread in seen.threads],
        )
        t.expect(
            f"the CPU to which each thread is bound after {after}",
            [thread.bound for thread in self.threads],
            [thread.bound for thread in seen.threads],
        )
        for number in sorted(self.sets):
            where = f"of set {named(number)} after {after}"
            t.expect(f"the mask {where}", self.cpus(number), sorted(seen.sets[number].mask))
            if not self.homes:
                continue
            cpus = Counter(self.lgrp[cpu] for cpu in self.cpus(number))
            lgrps = range(len(seen.sets[number].cpus))
            t.expect(f"CPUs by lgroup in the load records {where}", [cpus[g] for g in lgrps], seen.sets[number].cpus)
        if self.homes:
            self._check_homes(after, chosen)
        for thread, found in zip(self.threads, seen.threads, strict=True):
            thread.home = found.home

    def _check_homes(self, after, chosen):
        t = self.t
        for i, (thread, seen) in enumerate(zip(self.threads, self.seen.threads, strict=True)):
            if thread.home == HOMELESS:
                t.expect(f"the home and the load records of thread {i} after {after}, which had none", (HOMELESS, "none"),
                         (seen.home, named(seen.counted)))  # fmt: skip
                continue
            t.expect(f"the set in whose load records thread {i} counts after {after}", named(thread.part), named(seen.counted))
            lgrps = self.lgrps(thread.part)
            if thread.home in lgrps and i not in chosen:
                t.expect(f"the home of thread {i} after {after}; its set has CPUs there", thread.home, seen.home)
            elif seen.home not in lgrps:
                t.expect(f"the home of thread {i} after {after}", f"an lgroup of its set: {sorted(lgrps)}", seen.home)
        for number in sorted(self.sets):
            homed = Counter(self.seen.threads[i].home for i in self.members(number))
            found = self.seen.sets[number].homed
            t.expect(f"threads by home in set {named(number)} after {after}", [homed[g] for g in range(len(found))], found)


# ---- making and filling sets -------------------------------------------------------------------


def new_sets_are_numbered(t):
    world = World(t, locks=True)
    rng = world.seen.sets[NONE].rng
    for _ in range(2 * CPUS):
        number = world.create()
        t.expect("attributes of a new set", 0, world.seen.sets[number].attr)
        t.expect("`rng` of the default set after pset_create()", rng, world.seen.sets[NONE].rng)
    t.expect("sets that begin with different numbers `rng`", 2 * CPUS + 1, len({one.rng for one in world.seen.sets.values()}))
    world.ask("create")
    world.expect_result("pset_create(), with all numbers in use,", ENOMEM)
    world.check("pset_create()")


def cpus_change_their_sets(t):
    world = World(t, homes=True)
    sets = [NONE, world.create(), world.create(), world.create()]
    for _ in range(60):
        world.assign(t.random.choice(sets), drawn(t, 0, CPUS - 1), t.random.random() < 0.3)
    for cpu in t.random.sample(range(CPUS), CPUS):
        world.assign(sets[1], cpu)


def what_does_not_exist_is_refused(t):
    world = World(t, locks=True)
    number, other = world.create(), world.create()
    cpu, off = t.random.sample(range(1, CPUS), 2)
    world.assign(number, cpu)
    for wrong in (0, other + 1, 2 * CPUS, 1 << 20, -2, -drawn(t, 3, 1000)):
        world.assign(wrong, cpu)
    for wrong in (CPUS, CPUS + drawn(t, 1, 200), ANYWHERE, (1 << 32) - 1):
        world.assign(number, wrong)
    world.p_online(off, OFFLINE)
    world.assign(number, off)
    world.p_online(off, ONLINE)
    world.assign(number, off)
    world.assign(number, off)


def threads_leave_a_cpu_that_moves(t):
    world = World(t, 40, 40, places=True)
    number = world.create()
    for cpu in t.random.sample(range(CPUS), CPUS):
        world.assign(number, cpu)
        if cpu not in world.cpus(number):
            continue
        if cpu != 0:
            world.expect_poke(cpu, "move")
        t.expect(f"threads that wait on CPU {cpu} when pset_assign() has returned", 0, world.seen.cpus[cpu].queue)
        if t.random.random() < 0.7:
            world.settle()
    world.settle()
    for cpu in t.random.sample(world.cpus(number), 3):
        world.assign(NONE, cpu)
        world.settle()
        t.expect(f"whether CPU {cpu} is idle, back in the default set, where threads wait", False, world.seen.cpus[cpu].idle)


def default_set_keeps_a_cpu(t):
    world = World(t, 12, drawn(t, 4, 12))
    number = world.create()
    order = t.random.sample(range(CPUS), CPUS)
    for cpu in order:
        world.assign(number, cpu, forced=t.random.random() < 0.5)
        world.settle()
    world.assign(NONE, t.random.choice(order[:-1]))
    world.assign(number, order[-1])
    world.settle()


def affinity_masks_count_again(t):
    world = World(t, 4, 3)
    number = world.create()
    cpu = drawn(t, 1, CPUS - 1)
    world.ask("affinity", 0, cpu)
    world.threads[0].mask = cpu
    world.settle()
    t.expect("the CPU of a thread whose affinity mask has only this CPU", cpu, world.seen.threads[0].place)
    for _ in range(2):
        world.assign(number, cpu)
        world.settle()
        world.assign(NONE, cpu)
        world.settle()
        t.expect("the CPU of this thread, after the CPU was in another set", cpu, world.seen.threads[0].place)
    world.assign(number, cpu)
    world.settle()
    world.destroy(number)
    world.settle()
    t.expect("the CPU of this thread, after the other set was destroyed", cpu, world.seen.threads[0].place)
    number = world.create()
    world.ask("affinity", 3, cpu)
    world.threads[3].mask = cpu
    world.pbind(1, cpu)
    t.child.ask("meanwhile", drawn(t, 1, TRIES), 3, WAKES % (1 << 64))
    world.assign(number, cpu)
    world.settle()
    what = f"the CPU of a thread whose affinity mask has only this CPU, and which woke up while {world.last} waited in vain"
    t.expect(what, cpu, world.seen.threads[3].place)


# ---- threads change their sets -----------------------------------------------------------------


def filled_set(world, cpus):
    number = world.create()
    for cpu in cpus:
        world.assign(number, cpu)
    world.settle()
    return number


def threads_change_their_sets(t):
    world = World(t, 40, 25, places=True)
    some = t.random.sample(range(CPUS), 7)
    sets = [NONE, filled_set(world, some[:2]), filled_set(world, some[2:5])]
    for _ in range(60):
        world.bind(drawn(t, 0, 39), t.random.choice(sets))
        if t.random.random() < 0.4:
            world.settle()
        if world.awake(ASLEEP) and t.random.random() < 0.2:
            world.ask("wake", t.random.choice(world.awake(ASLEEP)))
    world.settle()
    for i in range(40):
        world.bind(i, sets[1])
    world.settle()
    busy = [cpu for cpu in range(CPUS) if not world.seen.cpus[cpu].idle]
    t.expect("CPUs that are not idle, with all threads in one set", sorted(some[:2]), busy)


def last_cpu_of_a_set_with_threads_stays(t):
    world = World(t, 20, drawn(t, 5, 19))
    first, *others = t.random.sample(range(CPUS), t.term["reserve"] + 2)
    number = filled_set(world, [first])
    world.assign(NONE, first)  # the set has no threads
    world.assign(number, first)
    i = t.random.choice(world.awake(ASLEEP))
    world.bind(i, number)
    for forced in (False, True):
        world.assign(NONE, first, forced)
        world.settle()
    for cpu in others:
        world.assign(number, cpu)
    for cpu in (first, *others):
        world.assign(NONE, cpu)
    world.settle()
    world.homeless(i, zombie=True)
    for cpu in (first, *others):
        world.assign(NONE, cpu)
    world.settle()


def home_stays_if_it_can(t):
    least = t.term["home_cpus"]
    shape = t.random.choice([shape for shape in BOARDS if shape[1] > least])
    world = World(t, 30, 10, homes=True, locks=True, shape=shape)
    boards = t.random.sample(world.board, 2)
    one, both = filled_set(world, boards[0][:least]), filled_set(world, [boards[0][least], boards[1][0]])
    for _ in range(2):
        for i in t.random.sample(range(30), 30):
            world.bind(i, t.random.choice([one, both, NONE]))
    for i in range(30):
        world.bind(i, NONE)


def home_follows_the_last_cpu_of_a_board(t):
    world = World(t, 30, 10, homes=True, locks=True)
    board = t.random.choice(world.board)
    others = t.random.sample([cpu for cpu in range(CPUS) if cpu not in board], t.term["reserve"])
    number = filled_set(world, [board[0], board[1], *others])
    for i in t.random.sample(range(30), 15):
        world.bind(i, number)
    world.assign(NONE, board[0])
    world.assign(NONE, board[1])  # the board's last CPU of this set
    world.settle()
    for cpu in board:
        world.assign(number, cpu)  # the default set loses the board
    world.settle()


def kernel_threads_have_no_home(t):
    world = World(t, 10, 0, homes=True)
    number = filled_set(world, t.random.sample(range(CPUS), 2))
    for i in t.random.sample(range(10), 4):
        world.homeless(i)
        world.bind(i, number)
        world.bind(i, NONE)


def new_thread_follows_its_creator(t):
    world = World(t, 10, 1, homes=True, shape=t.random.choice(BOARDS[1:]))
    creator, new = t.random.sample(range(1, 10), 2)
    homes = [world.threads[i].home for i in (creator, new)]
    board = t.random.choice([board for board in world.board if world.lgrp[board[0]] not in homes])
    cpus = t.random.sample(board, 2)
    number = filled_set(world, cpus)
    world.bind(creator, number)
    world.pbind(creator, cpus[1])
    world.threads[new].part, world.threads[new].bound = number, cpus[1]
    world.ask("follow", new, creator)
    world.expect_result("thread_follow()", 0)
    world.check("thread_follow()")


def calling_thread_leaves_at_once(t):
    world = World(t, 40, 40, places=True)
    number = filled_set(world, t.random.sample(range(1, CPUS), 2))
    (caller,) = [i for i in world.awake(RUNS) if world.seen.threads[i].place == 0]
    world.bind(caller, number)
    seen = world.seen.threads[caller]
    t.expect("whether the thread that calls pset_bind() still runs on CPU 0, which is not in its new set", False,
             (seen.state, seen.place) == (RUNS, 0))  # fmt: skip
    world.settle()
    world.assign(number, 0)
    there = [i for i in world.awake(RUNS) if world.seen.threads[i].place == 0 and world.threads[i].part == NONE]
    t.expect("threads of the default set on CPU 0, which has just moved itself to another set", [], there)
    world.settle()


# ---- bound threads -----------------------------------------------------------------------------


def bound_thread_holds_its_cpu(t):
    world = World(t, 30, 20)
    number = world.create()
    cpu, i = drawn(t, 1, CPUS - 1), drawn(t, 0, 29)
    world.pbind(i, cpu)
    world.settle()
    world.assign(number, cpu)
    world.expect_poke(cpu, "steal")
    world.settle()
    tries = drawn(t, 1, TRIES)
    t.child.ask("meanwhile", tries, i, (1 << 64) - 1)
    world.ask("assign", number, cpu, 0)
    world.part[cpu], world.threads[i].bound = number, NONE
    call = "pset_assign(), while the bound thread ends its binding,"
    world.expect_result(call, 0, sleeps=tries)
    world.check(call)
    world.settle()


def forced_ends_bindings(t):
    world = World(t, 30, 20)
    number = world.create()
    for cpu in t.random.sample(range(1, CPUS), 3):
        for i in t.random.sample(range(30), 3):
            world.pbind(i, cpu)
        world.assign(number, cpu, forced=True)
        world.settle()


def no_thread_is_bound_to_a_cpu_that_leaves(t):
    world = World(t, 30, 20)
    number = world.create()
    for tries in t.random.sample(range(1, TRIES + 1), 3):
        cpu = drawn(t, 1, CPUS - 1)
        i, other = t.random.sample(range(30), 2)
        world.pbind(i, cpu)
        t.child.ask("meanwhile", tries, other, cpu)
        world.assign(number, cpu)
        t.expect("thread_bind() to a CPU for which pset_assign() waits", "-EINVAL", ERRORS.get(world.seen.meanwhile, 0))
        world.pbind(other, cpu)
        for each in (i, other):
            world.pbind(each, NONE)
        world.settle()


def bound_thread_stays_in_its_set(t):
    world = World(t, 20, 10)
    cpus = t.random.sample(range(CPUS), 4)
    one, two = filled_set(world, cpus[:2]), filled_set(world, cpus[2:])
    for i in t.random.sample(range(20), 4):
        world.bind(i, one)
        world.pbind(i, t.random.choice(cpus[:2]))
        for number in (two, NONE, one):
            world.bind(i, number)
        world.settle()
        world.pbind(i, NONE)
        world.bind(i, two)
        world.settle()


# ---- the end of a set --------------------------------------------------------------------------


def destroyed_set_gives_back_all(t):
    world = World(t, 40, 30, places=True)
    some = t.random.sample(range(1, CPUS), 8)
    other = filled_set(world, some[:2])
    number = filled_set(world, some[2:])
    for i in t.random.sample(range(40), 20):
        world.bind(i, t.random.choice([number, number, other]))
    world.settle()
    world.p_online(some[4], OFFLINE)
    world.settle()
    creator, new = world.members(number)[0], t.random.choice(world.awake(ASLEEP))
    world.ask("creates", new, creator)
    world.threads[new].part = number
    world.destroy(number)
    t.expect("whether the creations of threads in the destroyed set go on", 0, world.seen.creations)
    for cpu in set(some[2:]) - {some[4]}:
        world.expect_poke(cpu, "steal")
    world.settle()
    world.p_online(some[4], ONLINE)
    world.settle()
    world.destroy(other)
    world.settle()


def homes_of_a_destroyed_set(t):
    world = World(t, 30, 20, homes=True, locks=True)
    boards = t.random.sample(world.board, len(world.board) - 1)
    number = filled_set(world, [cpu for board in boards for cpu in board])
    for i in t.random.sample(range(30), 20):
        world.bind(i, number)
    world.destroy(number)
    world.settle()


def bound_thread_keeps_its_set(t):
    world = World(t, 20, 10)
    cpus = t.random.sample(range(CPUS), 3)
    number = filled_set(world, cpus)
    for i in t.random.sample(range(20), 8):
        world.bind(i, number)
    i = t.random.choice(world.members(number))
    world.pbind(i, t.random.choice(cpus))
    world.settle()
    world.destroy(number)
    world.settle()
    zombie = t.random.choice([j for j in world.awake(ASLEEP) if j != i])
    world.bind(zombie, number)
    world.pbind(zombie, t.random.choice(cpus))
    world.homeless(zombie, zombie=True)
    tries = drawn(t, 1, TRIES)
    t.child.ask("meanwhile", tries, i, (1 << 64) - 1)
    world.ask("destroy", number)
    world.sets.remove(number)
    world.part = [NONE] * CPUS
    world.threads[i].bound = NONE
    for thread in world.threads:
        thread.part = NONE
    call = "pset_destroy(), while the bound thread ends its binding,"
    world.expect_result(call, 0, sleeps=tries)
    world.check(call)
    world.settle()


def numbers_are_used_again(t):
    world = World(t, 10, 5, locks=True)
    for _ in range(6):
        world.create()
    for wrong in (0, 7, 2 * CPUS, 1 << 20, NONE, -2, -drawn(t, 3, 1000)):
        world.destroy(wrong)
    for number in t.random.sample(range(1, 7), 4):
        world.assign(number, drawn(t, 0, CPUS - 1))
        world.ask("attr", number, NOESCAPE)
        world.ask("load", number, drawn(t, 1, 1000))
        world.destroy(number)
        world.destroy(number)
    while len(world.sets) < 7:
        seen = world.create()
        seen = world.seen.sets[seen]
        t.expect("attributes, and load averages, of a set that has a number again", (0, 0), (seen.attr, seen.load))


def change(t, world):
    """One change, of anything."""
    i, cpu, forced = drawn(t, 0, len(world.threads) - 1), drawn(t, 0, CPUS - 1), t.random.random() < 0.5
    sets = sorted(world.sets)
    number = t.random.choice(sets)
    kind = drawn(t, 1, 20)
    if kind <= 2 and len(sets) < 5:
        world.create()
    elif kind == 3:
        world.destroy(t.random.choice(range(1, 6)))
    elif kind <= 10:
        world.assign(number, cpu, forced)
    elif kind <= 15 and world.cpus(number):
        world.bind(i, number)
    elif kind == 16:
        world.pbind(i, t.random.choice([NONE, cpu]))
    elif kind == 17 and cpu != 0:
        state = ONLINE if world.state.count(OFFLINE) > 2 else t.random.choice([ONLINE, OFFLINE])
        world.p_online(cpu, state, forced)
    elif kind == 18 and world.awake(ASLEEP):
        world.ask("wake", t.random.choice(world.awake(ASLEEP)))


def many_changes(t):
    world = World(t, 40, 25, homes=True, places=True, locks=True)
    for _ in range(250):
        change(t, world)
        if t.random.random() < 0.4:
            world.settle()
    world.settle()
    # at last a whole board is a set, which is destroyed with a CPU off-line
    for i in range(40):
        world.pbind(i, NONE)
        world.bind(i, NONE)
    for cpu in range(CPUS):
        world.p_online(cpu, ONLINE)
    if world.sets == {NONE}:
        world.create()
    number, board = max(world.sets), t.random.choice(world.board[1:])
    for cpu in range(CPUS):
        world.assign(number if cpu in board else NONE, cpu)
    for i in t.random.sample(range(40), 20):
        world.bind(i, number)
    world.settle()
    world.p_online(t.random.choice(board), OFFLINE)
    world.settle()
    world.destroy(number)
    world.settle()


# ---- interrupts --------------------------------------------------------------------------------


def routed(term, each, in_pairs, wanted, takes, arrive):
    """The CPU for an interrupt; `takes`: CPUs that take it; `arrive`: for each CPU, how many arrive there already."""
    if wanted == ANYWHERE:
        return min(takes, key=lambda cpu: (arrive[cpu], cpu), default=ANYWHERE)
    if wanted in takes and (not term["limit"] or arrive[wanted] < term["limit"]):
        return wanted

    def distance(cpu):
        board, other = wanted // each, cpu // each
        return 0 if board == other else 1 if in_pairs and board // 2 == other // 2 else 2

    def rank(cpu):
        after = (cpu - wanted - 1) % len(arrive)
        return {TIE_AFTER: after, TIE_LOWEST: cpu, TIE_HIGHEST: -cpu, TIE_BEFORE: (wanted - cpu - 1) % len(arrive)}[term["tie"]]

    near = []
    for level in range(3):
        if len(near) < term["spread"]:
            near += [cpu for cpu in takes if distance(cpu) == level]
    return min(near, key=lambda cpu: (arrive[cpu], rank(cpu)), default=ANYWHERE)


class Routes:
    """A machine of boards for questions to intr_route()."""

    def __init__(self, t, boards, each, in_pairs=False):
        self.t, self.boards, self.each, self.in_pairs = t, boards, each, in_pairs
        self.ncpus = boards * each
        self.takes, self.arrive = set(range(self.ncpus)), [0] * self.ncpus

    def ask(self, wanted):
        """The CPU that the student's code chooses, compared with the model."""
        takes = [int(cpu in self.takes) for cpu in range(self.ncpus)]
        (found,) = self.t.child.ask("route", self.boards, self.each, int(self.in_pairs), wanted, *takes, *self.arrive)
        what = [f"the CPU of an interrupt on {self.boards} boards of {self.each} CPUs"]
        what.append("wanted on no CPU" if wanted == ANYWHERE else f"wanted on CPU {wanted}")
        what.append(f"taken by CPUs {sorted(self.takes)}")
        right = routed(self.t.term, self.each, self.in_pairs, wanted, self.takes, self.arrive)
        board = [cpu for cpu in self.takes if right < self.ncpus and cpu // self.each == right // self.each]
        shown = {cpu: self.arrive[cpu] for cpu in {*board, found, wanted} if cpu < self.ncpus}
        what.append(
            f"arriving already on this CPU, on the one found, and on the right one's board: {dict(sorted(shown.items()))}"
        )
        self.t.expect(", ".join(what), right, found)
        return found

    def fence(self, cpus):
        self.takes -= set(cpus)


def wanted_cpu_is_taken(t):
    for _ in range(10):
        r = Routes(t, drawn(t, 2, 18), 4)
        r.arrive = [drawn(t, 0, 9) for _ in range(r.ncpus)]
        wanted = drawn(t, 1, r.ncpus - 1)
        limit = t.term["limit"]
        r.arrive[wanted] = limit - 1 if limit else drawn(t, 20, 500)
        r.fence(cpu for cpu in range(r.ncpus) if cpu != wanted and t.random.random() < 0.3)
        r.takes.add(0)
        r.ask(wanted)
        if limit:
            r.arrive[wanted] = limit
            r.ask(wanted)
            r.arrive = [limit] * r.ncpus
            r.ask(wanted)


def no_wanted_cpu_fills_all_evenly(t):
    r = Routes(t, drawn(t, 2, 8), drawn(t, 2, 4))
    for _ in range(2 * r.ncpus):
        r.arrive[r.ask(ANYWHERE)] += 1
    r.fence(t.random.sample(range(r.ncpus), r.ncpus // 2))
    for _ in range(r.ncpus):
        r.arrive[r.ask(ANYWHERE)] += 1
    r.takes = set()
    for wanted in (ANYWHERE, drawn(t, 0, r.ncpus - 1)):
        r.ask(wanted)


def own_board_comes_first(t):
    for _ in range(10):
        r = Routes(t, drawn(t, 3, 8), 4, in_pairs=True)
        wanted = drawn(t, 8, r.ncpus - 1)
        r.fence([wanted])
        for cpu in range(r.ncpus):
            r.arrive[cpu] = 100 + t.random.randrange(100) * 4 + cpu % 4 if cpu // 4 == wanted // 4 else 0
        r.ask(wanted)
        board = wanted // 4 * 4
        r.fence(t.random.sample([cpu for cpu in range(board, board + 4) if cpu != wanted], 2))
        r.ask(wanted)


def nearest_board_comes_next(t):
    for _ in range(10):
        r = Routes(t, 2 * drawn(t, 2, 6), 4, in_pairs=True)
        wanted = drawn(t, 8, r.ncpus - 1)
        board, pair = wanted // 4, wanted // 8 * 8
        r.fence(range(4 * board, 4 * board + 4))
        r.arrive = t.random.sample(range(1, r.ncpus + 1), r.ncpus)  # no two are equal
        for cpu in range(pair, pair + 8):
            r.arrive[cpu] += 100
        r.ask(wanted)
        r.fence(t.random.sample([cpu for cpu in range(pair, pair + 8) if cpu in r.takes], 3))
        r.ask(wanted)
        r.fence(range(pair, pair + 8))
        r.ask(wanted)


def fewest_and_then_the_tie(t):
    for _ in range(20):
        r = Routes(t, drawn(t, 1, 3), drawn(t, 6, 20))
        r.fence(t.random.sample(range(r.ncpus), r.ncpus // 3))
        r.takes.add(0)
        fenced = sorted(set(range(1, r.ncpus)) - r.takes)
        for _ in range(3):
            wanted = t.random.choice(fenced)
            r.arrive = [drawn(t, 0, 1) for _ in range(r.ncpus)]
            r.ask(wanted)
            r.arrive = [0] * r.ncpus
            r.ask(wanted)
    # with equal counts, neither the first CPU of the board, nor its last, nor a neighbour is right by chance
    r = Routes(t, 2, 8)
    wanted = drawn(t, 10, 13)
    r.fence([wanted])
    r.ask(wanted)


class Interrupts:
    """Interrupts of devices on the machine, moved by the kernel's intr.c: a model of where they arrive."""

    def __init__(self, t, wanted, shape):
        self.t, self.each = t, shape[1]
        self.world = World(t, shape=shape)
        self.takes, self.arrive = set(range(CPUS)), [0] * CPUS
        self.wanted, self.cpu = [], []
        for cpu in wanted:
            self.cpu.append(self._route(cpu))
            self.arrive[self.cpu[-1]] += 1
            self.wanted.append(self.cpu[-1] if cpu == ANYWHERE else cpu)
        self.compare("registering them", t.child.ask("irqs", *wanted))

    def _route(self, wanted):
        return routed(self.t.term, self.each, False, wanted, self.takes, self.arrive)

    def compare(self, after, found):
        self.t.expect(f"the CPU of each interrupt after {after}; wanted are {self.wanted}", self.cpu, found)

    def _move(self, i, cpu):
        self.arrive[self.cpu[i]] -= 1
        self.arrive[cpu] += 1
        self.cpu[i] = cpu

    def state(self, cpu, state):
        """psradm -i, -f or -n."""
        self.world.p_online(cpu, state)
        if state == ONLINE:
            self.takes.add(cpu)
        else:
            self.takes.discard(cpu)
        for i, wanted in enumerate(self.wanted):
            if state == ONLINE and wanted == cpu:
                self._move(i, cpu)
            elif state != ONLINE and self.cpu[i] == cpu:
                self._move(i, self._route(wanted))
        name = {ONLINE: "-n", OFFLINE: "-f", NOINTR: "-i"}[state]
        self.compare(f"psradm {name} {cpu}", self.t.child.ask("irqs"))


def fenced_set_takes_none(t):
    """All CPUs of a board but one are fenced off, and some others.  The interrupts are spread, and come back."""
    wanted = list(range(CPUS))
    irqs = Interrupts(t, wanted, t.random.choice([shape for shape in BOARDS if shape[1] >= 3]))
    board = list(t.random.choice(irqs.world.board))
    first = t.random.choice(board[1:-1])
    rest = [cpu for cpu in board if cpu != first]
    others = [cpu for cpu in range(CPUS) if cpu not in board]
    fenced = [first, *t.random.sample(rest, len(rest) - 1), *t.random.sample(others, 3)]
    for cpu in fenced:
        irqs.state(cpu, NOINTR)
    t.random.shuffle(fenced)
    for cpu in fenced:
        irqs.state(cpu, ONLINE)
    irqs.compare("all CPUs take interrupts again", wanted)


def interrupts_leave_cpus_that_go_off_line(t):
    wanted = [t.random.choice([ANYWHERE, drawn(t, 0, CPUS - 1)]) for _ in range(30)]
    irqs = Interrupts(t, wanted, t.random.choice(BOARDS))
    for _ in range(25):
        cpu = drawn(t, 1, CPUS - 1)
        now = irqs.world.state[cpu]
        irqs.state(cpu, ONLINE if now != ONLINE else t.random.choice([OFFLINE, NOINTR]))


# ---- booted: a Sun Fire 3800, two boards of four CPUs ------------------------------------------

OUTSIDE = 0.1  # the greatest share of a set's accesses that is made outside the set (by the shell, by commands)
RAN = 100_000  # the least number of accesses of a CPU that works
PHASE = 10  # the least number of interrupts of a disk one after the other: fewer come from the start of the kernel


def programs_stay_in_their_set(t):
    cpus = sorted(t.random.sample(range(1, 8), 3))
    command = f"psrset -c {' '.join(map(str, cpus))} && psrset -e 1 memcopy -t 8 -P 192 -i 180"
    run = t.kernel.boot("sf3800", command, drawn(t, 1, 1 << 30))
    work = [sum(row) for row in run.access]
    inside = sum(work[cpu] for cpu in cpus)
    good = min(work[cpu] for cpu in cpus) >= RAN and inside >= (1 - OUTSIDE) * sum(work)
    wanted = f"many by each of the CPUs {cpus}, nearly none by others"
    t.expect("accesses of 8 threads to memory, by CPU, as QEMU counts them", wanted, wanted if good else work)


def disk_interrupts_leave_a_fenced_set(t):
    """CPUs 4 to 7 read a disk, then another one while they are fenced off, and then the first one again."""
    bytes_read = drawn(t, 20, 32)  # by each CPU, in units of 64 KiB

    def read(disk, prefix, skip):
        one = f"pbind -b $c $$ && dd if=/dev/{disk} of=/dev/null bs=64k skip=$((32 * c + {skip})) count={bytes_read}"
        return f"for c in 4 5 6 7; do c=$c {prefix} sh -c '{one}' || exit 1; done"

    steps = [
        read("vda", "", 0),
        "psrset -c 4-7 && psrset -f 1",
        read("vdb", "psrset -e 1", 0),
        "psrset -n 1",
        read("vda", "psrset -e 1", 256),
    ]
    run = t.kernel.boot("sf3800", " && ".join(steps), drawn(t, 1, 1 << 30), disks=[b"", b""])
    phases = [[cpu for _, cpu in group] for _, group in groupby(run.interrupts, lambda interrupt: interrupt[0])]
    found = [dict(sorted(Counter(phase).items())) for phase in phases if len(phase) >= PHASE]
    own = [phase.keys() <= {4, 5, 6, 7} and len(phase) > 1 for phase in found]
    wanted = "before: several of the CPUs 4 to 7; fenced off: none of these; after that: several of 4 to 7"
    good = len(found) == 3 and own[0] and found[1].keys() <= {0, 1, 2, 3} and own[2]
    t.expect("interrupts of disks by CPU, as QEMU sends them", wanted, wanted if good else found)


# ---- the part beyond ---------------------------------------------------------------------------


def running(world, cpu):
    """The sets of the threads that run or wait on a CPU."""
    return {thread.part for thread in world.seen.threads if thread.state != ASLEEP and thread.place == cpu}


def shared_set(t, threads, awake):
    """A world in which a set of one CPU shares another CPU.  Returns the world, the set, and both CPUs."""
    world = World(t, threads, awake, homes=True, places=True)
    own, cpu = t.random.sample(range(1, CPUS), 2)
    number = filled_set(world, [own])
    world.share(number, cpu, True)
    world.settle()
    return world, number, own, cpu


def shared_cpu_serves_both_sets(t):
    world, number, own, cpu = shared_set(t, 40, 40)
    world.share(number, cpu, True)
    for i in t.random.sample(range(40), 20):
        world.bind(i, number)
    world.settle()
    t.expect(
        f"whether a thread of set {number} runs or waits on CPU {cpu}, which it shares", True, number in running(world, cpu)
    )
    for i in world.members(NONE):
        world.bind(i, number)
    world.settle()
    t.expect("CPUs that are not idle, with all threads in the set", sorted([own, cpu]),
             [cpu for cpu in range(CPUS) if not world.seen.cpus[cpu].idle])  # fmt: skip
    for i in range(40):
        world.bind(i, NONE)
    world.settle()
    t.expect(f"the sets of threads on CPU {cpu}, with all threads in the default set", {NONE}, running(world, cpu))


def sharing_is_refused(t):
    world, number, own, cpu = shared_set(t, 10, 10)
    other, off, free = t.random.sample([c for c in range(1, CPUS) if c not in (own, cpu)], 3)
    second = filled_set(world, [other])
    world.p_online(off, OFFLINE)
    for shared in (True, False):
        for wrong in (NONE, 0, second + 1, -2):
            world.share(wrong, free, shared)
        for wrong in (off, CPUS, ANYWHERE, (1 << 32) - 1):
            world.share(number, wrong, shared)
        world.share(number, own, shared)  # is no CPU of the default set
        world.share(number, other, shared)
        world.share(second, cpu, shared)  # the first set shares it
        world.share(number, free, False)


def unshared_cpu_is_left(t):
    world, number, _, cpu = shared_set(t, 40, 40)
    for i in range(40):
        world.bind(i, number)
    world.settle()
    world.share(number, cpu, False)
    t.expect(f"threads that wait on CPU {cpu} when pset_share() has returned", 0, world.seen.cpus[cpu].queue)
    world.settle()
    t.expect(f"the sets of threads on CPU {cpu}, which is not shared any more", set(), running(world, cpu) - {NONE})
    world.share(number, 0, True)
    for i in range(40):
        world.bind(i, NONE)
        world.bind(i, number)
    world.settle()
    world.share(number, 0, False)  # the CPU of the caller
    there = [i for i in world.awake(RUNS) if world.seen.threads[i].place == 0 and world.threads[i].part == number]
    t.expect("threads of the set on CPU 0, which has just ended its sharing", [], there)


def threads_keep_a_shared_cpu(t):
    world, number, _, cpu = shared_set(t, 20, 10)
    one, two = t.random.sample(range(20), 2)
    world.bind(one, number)
    world.pbind(one, cpu)
    world.pbind(two, cpu)  # a thread of the default set does not matter
    world.settle()
    world.share(number, cpu, False)
    world.settle()
    world.pbind(one, NONE)
    world.share(number, cpu, False)
    world.settle()
    # a set without a CPU of its own
    second = world.create()
    world.share(second, cpu, True)
    world.bind(one, second)
    world.share(second, cpu, False)
    world.bind(one, NONE)
    world.share(second, cpu, False)
    world.settle()
