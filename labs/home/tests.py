# SPDX-License-Identifier: MIT
"""tests.py - what a choice of a home must do: the cases of the lab "home".

Each function is a test of lab.toml.  It draws its numbers from `t.random`, so that nothing can be learnt by heart, and asks
the student's code through `t.child`.
"""

from dataclasses import dataclass, field

NONE = 255
FULL = 32767  # the load of an lgroup with all CPUs busy
TOLERANCE_HPC, TOLERANCE = 0x1000, 0x10000
DRAWS = 12  # of a case in which a fixed answer would be right by chance
STARTS = 256  # random numbers for each question: evenly spread, so that each candidate is a start


def percent(n):
    return FULL * n // 100


def members(lgrps):
    """The set of lgroups as the bits of a number."""
    return sum(1 << g for g in lgrps)


@dataclass
class Question:
    """What lgrp_choose_home() is asked: `n` idle lgroups of 4 CPUs and a new process, if nothing else is set."""

    n: int
    own: list = field(default_factory=list)
    home: int = NONE
    thresh: int = percent(25)
    diff: int = percent(25)
    tolerance: int = TOLERANCE_HPC
    affinities: bool = False
    hysteresis: int | None = None

    def __post_init__(self):
        self.cand = list(range(self.n))
        self.load, self.cpus, self.aff = [0] * self.n, [4] * self.n, [0] * self.n

    def answers(self, t, starts=None):
        """The choice for each random number; by the rule with hysteresis, if that is set."""
        if starts is None:
            starts = [(i << 24 | t.random.getrandbits(24)) & 0xFFFFFFFF for i in range(STARTS)]
        fixed = [members(self.cand), members(self.own), self.home, self.thresh, self.diff, self.tolerance]
        question = ["choose"] if self.hysteresis is None else ["hysteresis", self.hysteresis]
        return t.child.ask(*question, *fixed, self.n, int(self.affinities), *self.load, *self.cpus, *self.aff, *starts)

    def expect(self, t, lgrps, when):
        """Each of `lgrps` is chosen for some random number, and no other one."""
        numbers = f"own {self.own}, loads {self.load}, CPUs {self.cpus}, expand_thresh {self.thresh}"
        state = f"{numbers}, expand_diff {self.diff}, tolerance {self.tolerance}"
        t.expect(f"lgroups chosen {when}\n{state}", sorted(set(lgrps)), sorted(set(self.answers(t))))


def drawn(t, least, most):
    return t.random.randrange(least, most + 1)


def candidates_only(t):
    q = Question(64)
    q.cand = sorted(t.random.sample(range(64), 3))
    q.own = [g for g in range(64) if g not in q.cand]
    q.expect(t, q.cand, f"from the candidates {q.cand}")
    q.cand = []
    q.expect(t, [NONE], "when there is no candidate")


def new_process_goes_to_the_least_loaded(t):
    for n in (2, 6, 18):
        q = Question(n)
        q.load = [percent(50) + drawn(t, 0, 200) for _ in range(n)]
        least = drawn(t, 0, n - 1)
        q.load[least] = percent(drawn(t, 0, 30))
        q.expect(t, [least], f"if the loads are {q.load}")


def equals_are_chosen_at_random(t):
    q = Question(drawn(t, 5, 8))
    q.load = [percent(drawn(t, 0, 100))] * q.n
    t.expect_even("choices of each lgroup between equals", range(q.n), q.answers(t, random_starts(t, 500 * q.n)))


def random_starts(t, n):
    return [t.random.getrandbits(32) for _ in range(n)]


def equals_of_a_class_are_chosen_at_random(t):
    q = Question(8)
    q.own = sorted(t.random.sample(range(8), 3))
    t.expect_even(f"choices of each own lgroup; own are {q.own}", q.own, q.answers(t, random_starts(t, 1500)))
    for g in q.own:
        q.load[g] = percent(100)
    others = [g for g in range(8) if g not in q.own]
    t.expect_even(f"choices of each other lgroup; own are {q.own}", others, q.answers(t, random_starts(t, 2500)))


def loads_within_the_tolerance_are_equal(t):
    q = Question(2)
    high = drawn(t, percent(40), percent(60))
    q.load = [high, high - TOLERANCE_HPC // (4 * t.term["divisor"])]
    q.expect(t, [0, 1], "if the loads differ by the tolerance")
    q.load[1] -= 1
    q.expect(t, [1], "if the loads differ by more than the tolerance")


def tolerance_is_divided_by_the_cpus(t):
    q = Question(2)
    q.cpus = [4, 2]
    high = drawn(t, percent(40), percent(60))
    parts = t.term["divisor"]
    q.load = [high, high - TOLERANCE_HPC // (4 * parts) - 1]
    q.expect(t, [0, 1], "if the lgroup with the lower load has 2 CPUs")
    q.load[1] = high - TOLERANCE_HPC // (2 * parts) - 1
    q.expect(t, [1], "if the difference is above the tolerance of 2 CPUs")


def default_tolerance_hides_small_differences(t):
    q = Question(6, tolerance=TOLERANCE)
    q.load = [g * percent(9) // t.term["divisor"] for g in t.random.sample(range(6), 6)]
    q.expect(t, range(6), f"with the default tolerance, if the loads are {q.load}")


def no_tolerance_among_its_own(t):
    q = Question(6, own=[1, 2, 5], tolerance=TOLERANCE, thresh=percent(75))
    least = t.random.choice(q.own)
    for g in q.own:
        q.load[g] = percent(50) - (g == least)
    q.expect(t, [least], "if the loads of its own differ by 1")
    q.load = [0, FULL, FULL, percent(10), 0, FULL]
    q.expect(t, [0, 3, 4], "if all its own are full: the others are equal within the tolerance")


def threads_stay_below_the_threshold(t):
    for _ in range(DRAWS):
        q = Question(6, own=[drawn(t, 0, 5)], thresh=percent(drawn(t, 20, 80)))
        q.load[q.own[0]] = q.thresh + t.term["margin"]
        q.expect(t, q.own, "if the load of its own is the highest with which it stays")


def process_spreads_above_the_threshold(t):
    q = Question(6, own=[drawn(t, 0, 5)], thresh=percent(drawn(t, 30, 70)))
    q.load[q.own[0]] = q.thresh + t.term["margin"] + 1
    q.diff = drawn(t, 0, q.load[q.own[0]] * 100 // t.term["diff_percent"] - 1)
    q.expect(t, set(range(6)) - set(q.own), "if the load of its own is the lowest with which it spreads")


def least_loaded_of_its_own_decides(t):
    for _ in range(DRAWS):
        q = Question(6, own=sorted(t.random.sample(range(6), 2)))
        busy, idle = t.random.sample(q.own, 2)
        q.load[busy], q.load[idle] = percent(100), q.thresh + t.term["margin"] - drawn(t, 1, 50)
        q.expect(t, [idle], "if one of its own is not loaded enough to spread")


def no_spreading_to_lgroups_as_busy(t):
    q = Question(6, own=[drawn(t, 0, 5)])
    q.load = [percent(100)] * 6
    q.expect(t, q.own, "if all are full")
    other = t.random.choice([g for g in range(6) if g not in q.own])
    q.load[other] -= q.diff * t.term["diff_percent"] // 100
    q.expect(t, q.own, "if one is less loaded, but just not enough to spread")
    q.load[other] -= 1
    q.expect(t, [other], "if one is less loaded, just enough to spread")


def spreading_takes_the_least_loaded_other(t):
    for _ in range(DRAWS):
        q = Question(6, own=[drawn(t, 0, 5)])
        q.load = [percent(10 * load) for load in t.random.sample(range(1, 7), 6)]
        q.load[q.own[0]] = percent(100)
        least = min((g for g in range(6) if g not in q.own), key=q.load.__getitem__)
        q.expect(t, [least], f"if the loads are {q.load}")


def threshold_of_the_high_end(t):
    q = Question(18, own=[drawn(t, 0, 17)], thresh=FULL * 3 // 4)
    q.load[q.own[0]] = 3 * FULL // 4 + t.term["margin"]
    q.expect(t, q.own, "with three threads on a board of four CPUs")
    q.load[q.own[0]] = FULL
    q.expect(t, set(range(18)) - set(q.own), "with four threads on a board of four CPUs")


def extremes_do_not_overflow(t):
    most = 0xFFFFFFFF
    q = Question(4, own=[0], tolerance=most, diff=most)
    q.load, q.cpus = [most, most, most, 0], [1] * 4
    q.expect(t, [0], "if expand_diff is the largest number")
    q = Question(4, tolerance=most, diff=0)
    q.load, q.cpus = [most, most, most, most - most // t.term["divisor"]], [1] * 4
    q.expect(t, range(4), "if the tolerance is the largest number")


def affinity_decides_first(t):
    q = Question(6, own=[0], affinities=True)
    first, second = sorted(t.random.sample(range(1, 6), 2))
    q.aff[first] = q.aff[second] = 0x10
    q.load[first] = percent(300)
    q.home = second
    q.expect(t, [second], f"if {first} and {second} have the same affinity, and the home is {second}")
    q.aff[first] = 0xFF
    q.expect(t, [first], f"if {first} has the greatest affinity")
    q.cand.remove(first)
    q.expect(t, [second], f"if {first} is no candidate")
    q.aff = [0] * 6
    q.expect(t, [0], "if all affinities are 0")
    q.home, q.aff[second] = first, 1
    q.aff[first] = 2
    q.expect(t, [second], f"if the home {first}, with the greatest affinity, is no candidate")
    q.cand = list(range(6))
    for greatest in range(6):
        q.home = (greatest + drawn(t, 1, 5)) % 6
        q.aff = [drawn(t, 1, 0x7F) for _ in range(6)]
        q.aff[greatest] = drawn(t, 0x80, 0xFF)
        q.expect(t, [greatest], f"if the affinities are {q.aff}, and the home is {q.home}")


def one_thread_per_cpu_fills_every_lgroup(t):
    for n, thresh in ((18, 75), (6, 25), (64, 75), (2, 25), (1, 25)):
        for tolerance in (TOLERANCE_HPC, TOLERANCE):
            q = Question(n, thresh=percent(thresh), tolerance=tolerance)
            homes = [0] * n
            for _ in range(4 * n):
                (home,) = q.answers(t, [t.random.getrandbits(32)])
                if home >= n:
                    t.expect("the home of a thread", f"less than {n}", home)
                homes[home] += 1
                q.own = [g for g in range(n) if homes[g]]
                q.load = [threads * FULL // 4 for threads in homes]
            t.expect(f"threads in each of {n} lgroups, tolerance {tolerance:#x}", [4] * n, homes)


# ---- the part beyond ---------------------------------------------------------------------------


def with_hysteresis(t):
    """A process of one thread, at home in an lgroup that is busy enough to spread; all others are equal."""
    q = Question(6, own=[drawn(t, 0, 5)], diff=0, hysteresis=drawn(t, percent(5), percent(40)))
    q.home = q.own[0]
    q.load[q.home] = percent(100)
    return q, [g for g in range(6) if g != q.home]


def small_gains_do_not_move_a_thread(t):
    q, others = with_hysteresis(t)
    for g in others:
        q.load[g] = q.load[q.home] - q.hysteresis
    q.expect(t, [q.home], f"if the others are less loaded by the hysteresis, {q.hysteresis}")
    for g in others:
        q.load[g] -= 1
    q.expect(t, others, f"if the others are less loaded by more than the hysteresis, {q.hysteresis}")


def hysteresis_is_for_threads_that_have_a_home(t):
    q, others = with_hysteresis(t)
    for g in others:
        q.load[g] = q.load[q.home] - q.hysteresis
    home, q.home = q.home, NONE
    q.expect(t, others, "if the thread has no home yet")
    q.home = home
    q.cand.remove(home)
    q.expect(t, others, "if the home is no candidate")


def affinity_beats_hysteresis(t):
    q, others = with_hysteresis(t)
    q.affinities = True
    wanted = t.random.choice(others)
    q.load[wanted] = percent(300)
    q.aff[wanted] = 1
    q.expect(t, [wanted], f"if the thread has an affinity to {wanted}")


# ---- booted ------------------------------------------------------------------------------------


def four_threads_on_each_of_six_boards(t):
    run = t.kernel.boot("sf6800", "memcopy -t 24 -P 576 -i 180", drawn(t, 1, 1 << 30))
    t.expect_own_memory("24 threads", run)


def four_threads_on_each_of_18_boards(t):
    run = t.kernel.boot("sf15k", "memcopy -t 72 -P 1728 -i 180", drawn(t, 1, 1 << 30))
    t.expect_own_memory("72 threads", run)
