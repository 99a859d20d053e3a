# SPDX-License-Identifier: MIT
"""tests.py - what the policy of pageout and the throttles must do: the cases of the lab "paging".

Each function is a test of labs/paging/lab.toml.  It draws its numbers from `t.random`, so that nothing can be learnt by
heart, and asks the student's code through `t.child`, or boots machines.  The models below are the rules of
labs/paging/README.md.
"""

from collections import namedtuple
from fractions import Fraction
from math import ceil, floor

PAGE = 4096  # bytes
KINDS = {"file": 0, "exec": 1, "anon": 2}
FRONT, BACK, MIDDLE = "front", "back", "middle"
HANDS = {FRONT: 0, BACK: 1}
VERDICTS = ["skip", "clear", "keep", "free", "push"]
SHARE = 8  # po_share
ROUNDS = 4  # of the scanner in a second
LIMITS = ["lotsfree", "desfree", "minfree", "throttlefree", "pageout_reserve"]
SPEEDS = ["fastscan", "slowscan", "handspreadpages"]
FIELDS = [*LIMITS, "cachefree", *SPEEDS, "maxpgio", "min_percent_cpu", "max_percent_cpu"]


def drawn(t, least, most):
    return t.random.randrange(least, most + 1)


def in_words(numbers):
    return ", ".join(f"{name}={value}" for name, value in numbers.items())


# ---- part 1: the limits --------------------------------------------------------------------------

# What a value of 0 becomes, and one that does not fit.  A rule sees what the rules above it have left.
DEFAULTS = {
    "lotsfree": lambda v: max(v["physmem"] // v["lotsfree_part"], 512 * 1024 // v["page_size"]),
    "desfree": lambda v: v["lotsfree"] // 2,
    "minfree": lambda v: v["desfree"] // 2,
    "throttlefree": lambda v: v["minfree"],
    "pageout_reserve": lambda v: v["throttlefree"] // 2,
    "cachefree": lambda v: v["lotsfree"] * (2 if v["priority_paging"] else 1),
    "fastscan": lambda v: (64 << 20) // v["page_size"],
    "slowscan": lambda v: min(v["fastscan"] // 10, 100),
    "handspreadpages": lambda v: v["fastscan"],
    "maxpgio": lambda v: 40,
    "min_percent_cpu": lambda v: 4,
    "max_percent_cpu": lambda v: 80,
}
FITS = {  # the most that stays as it is; above it the default is used
    "lotsfree": lambda v: floor(Fraction(30, 100) * v["physmem"]),
    "desfree": lambda v: v["lotsfree"] - 1,
    "minfree": lambda v: v["desfree"] - 1,
    "throttlefree": lambda v: v["desfree"] - 1,
    "pageout_reserve": lambda v: v["throttlefree"] - 1,
    "cachefree": lambda v: v["physmem"] - 1,
}
RANGE = {  # the nearest value of this range is in force
    "cachefree": lambda v: (v["lotsfree"], None),
    "fastscan": lambda v: (0, v["physmem"] // 2),
    "slowscan": lambda v: (1, max(v["fastscan"] // 2, 1)),
    "handspreadpages": lambda v: (0, v["physmem"] - 1),
    "max_percent_cpu": lambda v: (v["min_percent_cpu"], None),
}


def in_force(memory, given):
    """The values that must be in force if `given` are set: {name: value}."""
    v = {**memory, **given}
    for name in FIELDS:
        value = v.get(name, 0)
        if value == 0 or (name in FITS and value > FITS[name](v)):
            value = DEFAULTS[name](v)
        if name in RANGE:
            least, most = RANGE[name](v)
            value = max(value, least) if most is None else min(max(value, least), most)
        v[name] = value
    return {name: v[name] for name in FIELDS}


def machine(t, least, most, **others):
    """A machine with `least` to `most` bytes of memory."""
    page, part = t.random.choice([4096, 8192]), t.term["lotsfree_part"]
    physmem = drawn(t, least // page, most // page)
    return {"physmem": physmem, "page_size": page, "lotsfree_part": part, "priority_paging": 0, **others}


def small_memory(t, **others):
    """A machine on which 512 KiB are more than the part of memory that lotsfree is."""
    return machine(t, 12 << 20, 31 << 20, **others)


def large_memory(t, **others):
    least = t.term["lotsfree_part"] * (640 << 10)
    return machine(t, least, least * t.random.choice([2, 12, 100, 1600]), **others)


def send_values(t, values, policy, priority_paging, physmem):
    t.child.ask("values", *(values.get(name, 0) for name in FIELDS), priority_paging, physmem, policy)


def expect_limits(t, memory, given, names, policy=1):
    """paging_setup() leaves what the rules say in the variables `names`."""
    send_values(t, given, policy, memory["priority_paging"], memory["physmem"])
    found = dict(zip(FIELDS, t.child.ask("setup", memory["page_size"]), strict=True))
    expected = in_force(memory, given)
    wrong = [name for name in names if found[name] != expected[name]]
    t.expect(
        f"values in force with {in_words(memory)}; set: {in_words(given) or 'nothing'}",
        in_words({name: expected[name] for name in wrong}),
        in_words({name: found[name] for name in wrong}),
    )


def limits_follow_the_memory(t):
    for memory in (small_memory(t), large_memory(t), small_memory(t), large_memory(t)):
        expect_limits(t, memory, {}, LIMITS, policy=drawn(t, 0, 2))


def speeds_follow_the_memory(t):
    for memory in (small_memory(t), large_memory(t), small_memory(t), large_memory(t)):
        expect_limits(t, memory, {}, [*SPEEDS, "maxpgio", "min_percent_cpu", "max_percent_cpu"], policy=drawn(t, 0, 2))


def priority_paging_doubles_cachefree(t):
    for priority in t.random.sample([0, 1], 2):
        memory = large_memory(t, priority_paging=priority)
        expect_limits(t, memory, {}, ["cachefree"])
        expect_limits(t, memory, {"lotsfree": drawn(t, memory["physmem"] // 20, memory["physmem"] // 5)}, ["cachefree"])


def fitting_limits(t, memory, names):
    """Values that fit each other, and are far from the defaults; throttlefree is above minfree."""
    given, above = {}, memory["physmem"] * 29 // 100
    for name in names:
        least = given["minfree"] + 1 if name == "throttlefree" else above * 3 // 4
        given[name] = drawn(t, least, above - (1 if name == "throttlefree" else 3))
        above = given["desfree" if name == "minfree" else name]
    return given


def defaults_follow_values_that_are_set(t):
    for n in t.random.sample([1, 2, 3, 4], 4):
        memory = large_memory(t)
        expect_limits(t, memory, fitting_limits(t, memory, LIMITS[:n]), LIMITS)
    memory = large_memory(t)
    expect_limits(t, memory, {"fastscan": drawn(t, 500, 900)}, SPEEDS)


def values_at_the_edge(t):
    for name in t.random.sample(list(FITS), len(FITS)):
        for beyond in (0, 1):
            memory = large_memory(t, priority_paging=drawn(t, 0, 1))
            given = fitting_limits(t, memory, LIMITS)
            for later in LIMITS[LIMITS.index(name) + 1 :] if name in LIMITS else ():
                given.pop(later)
            given[name] = FITS[name]({**memory, **given}) + beyond
            expect_limits(t, memory, given, [name])
    memory = large_memory(t)
    given = fitting_limits(t, memory, ["lotsfree"])
    for below in (0, 1):
        expect_limits(t, memory, {**given, "cachefree": given["lotsfree"] - below}, ["cachefree"])


def replaced_value_decides_for_the_next(t):
    memory = large_memory(t)
    given = fitting_limits(t, memory, LIMITS)
    given["lotsfree"] = drawn(t, memory["physmem"] // 2, memory["physmem"])
    expect_limits(t, memory, given, [*LIMITS, "cachefree"])
    memory = large_memory(t)
    given = fitting_limits(t, memory, LIMITS)
    given["desfree"] = drawn(t, given["lotsfree"], memory["physmem"])
    expect_limits(t, memory, given, LIMITS)
    memory = small_memory(t)
    fastest = memory["physmem"] // 2
    given = {"fastscan": drawn(t, 2 * fastest, 4 * fastest), "slowscan": drawn(t, fastest // 2 + 1, fastest)}
    expect_limits(t, memory, given, SPEEDS)


def speeds_are_limited(t):
    memory = large_memory(t)
    half = memory["physmem"] // 2
    for fastscan in (half, half + 1, drawn(t, half + 2, 9 * half)):
        expect_limits(t, memory, {"fastscan": fastscan}, SPEEDS)
    fastscan = drawn(t, 1000, half)
    for slowscan in (fastscan // 2, fastscan // 2 + 1, drawn(t, fastscan, 9 * fastscan)):
        expect_limits(t, memory, {"fastscan": fastscan, "slowscan": slowscan}, SPEEDS)
    expect_limits(t, memory, {"fastscan": drawn(t, 1, 9)}, ["slowscan"])
    for spread in (2 * half - 1, memory["physmem"], drawn(t, 2 * half + 2, 9 * half)):
        expect_limits(t, memory, {"handspreadpages": spread}, ["handspreadpages"])
    low = drawn(t, 81, 99)
    expect_limits(t, memory, {"min_percent_cpu": low}, ["min_percent_cpu", "max_percent_cpu"])
    expect_limits(t, memory, {"min_percent_cpu": low, "max_percent_cpu": low - 1}, ["max_percent_cpu"])


def any_values(t):
    for _ in range(300):
        memory = t.random.choice([small_memory, large_memory])(t, priority_paging=drawn(t, 0, 1))
        set_ones = [name for name in FIELDS if drawn(t, 0, 2) > 0]
        given = {name: drawn(t, 1, max(1, memory["physmem"] >> drawn(t, 0, 12))) for name in set_ones}
        expect_limits(t, memory, given, FIELDS, policy=drawn(t, 0, 2))


# ---- part 2: how fast ----------------------------------------------------------------------------


class Clock:
    """Valid values of a machine; the child has them, too."""

    def __init__(self, t, policy=0, scale=1, **others):
        lotsfree = drawn(t, 300, 3000) * scale
        self.policy, self.front_hand = policy, t.term["front_hand"]
        self.values = {
            "lotsfree": lotsfree,
            "desfree": lotsfree // 2 - drawn(t, 0, 99),
            "cachefree": lotsfree * 2 + drawn(t, 1, 300),
            "fastscan": drawn(t, 2000, 20000) * scale,
            "slowscan": drawn(t, 50, 900) * scale,
            "min_percent_cpu": drawn(t, 1, 20),
            "max_percent_cpu": drawn(t, 40, 100),
            **others,
        }
        # The scanner's speed and share follow from the marks and speeds alone: the others are as they were left.
        self.mark = self.values["cachefree" if policy == 1 else "lotsfree"]
        self.full = self.mark * t.term["full_speed"] // 100  # with so many free pages or fewer, the speed is highest
        send_values(t, self.values, policy, int(policy == 1), 100 * lotsfree)

    def __str__(self):
        return f"policy {self.policy}, {in_words(self.values)}"

    def part(self, free, at_mark, at_full):
        """The value between `at_mark`, with `mark` pages free, and `at_full`, with `full` of them."""
        free = min(max(free, self.full), self.mark)
        return at_mark + Fraction((self.mark - free) * (at_full - at_mark), self.mark - self.full)

    def goal(self, free, deficit=0, waiting=False):
        speed = self.part(0 if waiting else free - deficit, self.values["slowscan"], self.values["fastscan"])
        return floor(speed / ROUNDS)

    def percent(self, free):
        return floor(self.part(free, self.values["min_percent_cpu"], self.values["max_percent_cpu"]))

    def expect_goals(self, t, cases):
        """`cases`: (free, deficit, waiting)."""
        found = t.child.ask("goal", *(int(number) for case in cases for number in case))
        for (free, deficit, waiting), goal in zip(cases, found, strict=True):
            t.expect(
                f"pages in a round with {free} free, deficit {deficit}, threads {'' if waiting else 'do not '}wait; {self}",
                self.goal(free, deficit, waiting),
                goal,
            )


def ends_of_the_scale(t):
    clock = Clock(t)
    frees = [clock.mark, 0, clock.full, clock.full + clock.mark // 20, drawn(t, clock.mark, 9 * clock.mark)]
    clock.expect_goals(t, [(free, 0, False) for free in frees])


def speed_is_linear(t):
    for policy in (0, 2):
        clock = Clock(t, policy)
        clock.expect_goals(t, [(drawn(t, 1, clock.mark - 1), 0, False) for _ in range(50)])


def deficit_counts_as_used(t):
    clock = Clock(t)
    frees = [drawn(t, 2, clock.mark) for _ in range(20)]
    clock.expect_goals(t, [(free, drawn(t, 1, free), False) for free in frees])
    clock.expect_goals(t, [(free, drawn(t, free, 9 * free), False) for free in frees])
    clock.expect_goals(t, [(clock.mark + free, drawn(t, free, clock.mark), False) for free in frees])


def waiting_threads_get_full_speed(t):
    clock = Clock(t)
    clock.expect_goals(t, [(drawn(t, 1, 2 * clock.mark), drawn(t, 0, 9), True) for _ in range(20)])


def speed_above_lotsfree(t):
    clock = Clock(t, policy=1)
    lotsfree = clock.values["lotsfree"]
    clock.expect_goals(t, [(free, 0, False) for free in (clock.mark, lotsfree, lotsfree - 1)])
    clock.expect_goals(t, [(drawn(t, lotsfree, clock.mark), 0, False) for _ in range(20)])


def share_of_the_cpu(t):
    for policy in (0, 1):
        clock = Clock(t, policy)
        frees = [0, clock.mark, drawn(t, clock.mark, 9 * clock.mark), *(drawn(t, 1, clock.mark) for _ in range(30))]
        for free, percent in zip(frees, t.child.ask("percent", *frees), strict=True):
            t.expect(f"per cent of a CPU with {free} pages free; {clock}", clock.percent(free), percent)


def large_machine(t):
    clock = Clock(t, scale=1 << 15)
    clock.expect_goals(t, [(drawn(t, 1, clock.mark), 0, False) for _ in range(20)])


# ---- part 3: which pages -------------------------------------------------------------------------

Page = namedtuple("Page", "kind busy referenced dirty spaces")


def any_page(t, **fixed):
    """A page that is not busy and has few mappings, where nothing else is fixed."""
    kind = fixed.pop("kind", None) or t.random.choice(list(KINDS))
    page = Page(kind, False, bool(drawn(t, 0, 1)), kind == "anon" or bool(drawn(t, 0, 1)), drawn(t, 0, SHARE))
    return page._replace(**fixed)


def spares(clock, kind, free):
    return clock.policy == 1 and kind != "file" and free >= clock.values["lotsfree"]


# The untouched pages that the front hand leaves to the back hand: by the term's rule.
LEFT_BY_FRONT = [
    lambda page: False,
    lambda page: page.dirty,
    lambda page: page.kind != "file",
    lambda page: True,
]


def verdict(clock, page, hand, free, share=SHARE):
    """What the rules say about a page."""
    if page.busy or page.spaces > share or spares(clock, page.kind, free):
        return "skip"
    if hand == MIDDLE and page.kind != "file" and free >= clock.values["desfree"]:
        return "keep"
    if page.referenced:
        return "keep" if hand == BACK else "clear"
    if hand == FRONT and LEFT_BY_FRONT[clock.front_hand](page):
        return "keep"
    return "push" if page.dirty else "free"


def judged(t, cases):
    """The student's verdicts; `cases`: (page, hand, free, share), all of the middle hand or none."""
    middle = cases[0][1] == MIDDLE
    numbers = []
    for page, hand, free, share in cases:
        numbers += [KINDS[page.kind], *map(int, page[1:]), *([] if middle else [HANDS[hand]]), free, share]
    found = t.child.ask("middle" if middle else "judge", *numbers)
    if middle:
        t.expect("whether paging_judge_middle() is written", True, bool(found))
    return [VERDICTS[v] if v < len(VERDICTS) else v for v in found]


def expect_verdicts(t, clock, cases):
    """`cases`: (page, hand, free) or (page, hand, free, share)."""
    cases = [(*case, SHARE)[:4] for case in cases]
    for (page, hand, free, share), found in zip(cases, judged(t, cases), strict=True):
        words = f"{page}, {hand} hand, {free} pages free, po_share {share}; policy {clock.policy}, {in_words(clock.values)}"
        t.expect(f"verdict on {words}", verdict(clock, page, hand, free, share), found)


def few_free(t, clock):
    return drawn(t, 0, clock.values["lotsfree"] - 1)


def touched_page_gets_a_turn(t):
    clock = Clock(t)
    for hand in HANDS:
        expect_verdicts(t, clock, [(any_page(t, referenced=True), hand, few_free(t, clock)) for _ in range(20)])


def untouched_page_is_taken(t):
    clock = Clock(t)
    cases = every_kind(t, lambda: few_free(t, clock))
    expect_verdicts(t, clock, [case for case in cases if not case[0].referenced])


def busy_and_shared_pages_are_passed_over(t):
    clock = Clock(t)
    busy = [any_page(t, busy=busy) for _ in range(10) for busy in (True, False)]
    expect_verdicts(t, clock, [(page, t.random.choice([FRONT, BACK]), few_free(t, clock)) for page in busy])
    for _ in range(10):
        share = SHARE << drawn(t, 0, 20)
        pages = [any_page(t, spaces=share + more) for more in (0, 1, drawn(t, 2, share))]
        expect_verdicts(t, clock, [(page, t.random.choice([FRONT, BACK]), few_free(t, clock), share) for page in pages])


def every_kind(t, free, hands=HANDS):
    """Pages of each kind, touched or not, dirty or not, under each hand."""
    return [
        (any_page(t, kind=kind, referenced=touched, dirty=dirty), hand, free())
        for kind in KINDS
        for touched in (False, True)
        for dirty in ((True,) if kind == "anon" else (False, True))
        for hand in hands
    ]


def priority_paging_spares_programs(t):
    clock = Clock(t, policy=1)
    lotsfree = clock.values["lotsfree"]
    for free in (lotsfree, clock.mark - 1, clock.mark + drawn(t, 0, 99)):
        expect_verdicts(t, clock, every_kind(t, lambda free=free: free))
    expect_verdicts(t, clock, every_kind(t, lambda: drawn(t, lotsfree, clock.mark)))


def below_lotsfree_all_pages_compete(t):
    clock = Clock(t, policy=1)
    for free in (0, clock.values["lotsfree"] - 1):
        expect_verdicts(t, clock, every_kind(t, lambda free=free: free))
    expect_verdicts(t, clock, every_kind(t, lambda: few_free(t, clock)))


def other_policies_spare_nothing(t):
    for policy in (0, 2):
        clock = Clock(t, policy)
        expect_verdicts(t, clock, every_kind(t, lambda clock=clock: drawn(t, 0, 3 * clock.mark)))


def judge_of_the_rules(clock):
    return lambda page, hand, free: verdict(clock, page, hand, free)


def judge_of_the_student(t):
    return lambda page, hand, free: judged(t, [(page, hand, free, SHARE)])[0]


def two_hands(spread):
    """How far each hand is before the back hand, in frames."""
    return {FRONT: spread, BACK: 0}


class Circle:
    """Frames that hands pass.  A page that is taken leaves a free frame."""

    def __init__(self, pages, hands, free, judge):
        self.frames, self.hands, self.free, self.judge = list(pages), hands, free, judge
        self.back, self.taken, self.cleared = 0, dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)

    def look(self, n, hand):
        """Whether the page counts for the goal of a round."""
        page = self.frames[n]
        if page is None:
            return False
        found = self.judge(page, hand, self.free)
        if found == "clear":
            self.frames[n] = page._replace(referenced=False)
            self.cleared[page.kind] += 1
        if found in ("free", "push"):
            self.frames[n] = None
            self.free += 1
            self.taken[page.kind] += 1
        return found != "skip"

    def step(self):
        counts = [self.look((self.back + before) % len(self.frames), hand) for hand, before in self.hands.items()]
        self.back = (self.back + 1) % len(self.frames)
        return any(counts)


def pages_that_stay(pages, hands, free, periods, judge):
    """Two turns of the hands.  Page n is touched each `periods[n]` steps."""
    circle = Circle(pages, hands, free, judge)
    for step in range(2 * len(pages)):
        for n, page in enumerate(circle.frames):
            if page is not None and (step + n) % periods[n] == 0:
                circle.frames[n] = page._replace(referenced=True)
        circle.step()
    return [n for n, page in enumerate(circle.frames) if page is not None]


def page_touched_between_the_hands_stays(t):
    clock = Clock(t)
    expect_pages_that_stay(t, clock, two_hands(drawn(t, 20, 40)), drawn(t, 0, clock.values["lotsfree"] // 2))


def expect_pages_that_stay(t, clock, hands, free):
    frames = drawn(t, 100, 150)
    pages = [any_page(t) for _ in range(frames)]
    periods = [drawn(t, 1, 4 * hands[FRONT]) for _ in range(frames)]
    expected = pages_that_stay(pages, hands, free, periods, judge_of_the_rules(clock))
    found = pages_that_stay(pages, hands, free, periods, judge_of_the_student(t))
    for n in range(frames):
        t.expect(
            f"two turns of {frames} frames, hands {in_words(hands)}: {pages[n]}, page {n}, touched each {periods[n]} steps",
            "it stays" if n in expected else "it is taken",
            "it stays" if n in found else "it is taken",
        )


def scanned(clock, circle, goal):
    """What happens until the mark is reached, or for 20 rounds, in words."""
    rounds, frames = 0, len(circle.frames)
    while circle.free < clock.mark and rounds < 20:
        most, done, looked = goal(circle.free), 0, 0
        while done < most and circle.free < clock.mark and looked < 2 * frames:
            done += circle.step()
            looked += 1
        rounds += 1
    return f"{rounds} rounds, {circle.free} pages free, taken: {in_words(circle.taken)}, cleared: {in_words(circle.cleared)}"


def long_read_with_and_without_priority_paging(t):
    """Memory has pages of programs, not touched for long, and those of a file that is read."""
    frames, lotsfree = drawn(t, 400, 600), drawn(t, 60, 90)
    kinds = t.random.choices(list(KINDS), [4, 2, 3], k=frames)
    pages = [any_page(t, kind=kind, referenced=drawn(t, 0, 3) == 0) for kind in kinds]
    speeds = {"fastscan": drawn(t, 100, 400), "slowscan": drawn(t, 20, 60)}
    free = lotsfree + drawn(t, 0, lotsfree // 3)
    for policy in t.random.sample([0, 1], 2):
        marks = {"lotsfree": 2 * lotsfree if policy == 0 else lotsfree, "cachefree": 2 * lotsfree}
        clock = Clock(t, policy, **marks, **speeds)
        model = Circle(pages, two_hands(frames // 3), free, judge_of_the_rules(clock))
        student = Circle(pages, two_hands(frames // 3), free, judge_of_the_student(t))
        t.expect(
            f"scan from {free} free pages on, of {frames}: {in_words({kind: kinds.count(kind) for kind in KINDS})}; {clock}",
            scanned(clock, model, clock.goal),
            scanned(clock, student, lambda free: t.child.ask("goal", free, 0, 0)[0]),
        )


# ---- part 4: write-behind ------------------------------------------------------------------------


class Gathered:
    """The pages that write-behind holds back."""

    def __init__(self, cluster, elsewhere):
        self.cluster, self.elsewhere, self.pages = cluster, elsewhere, []

    def continues(self, new):
        """Whether a block continues what is gathered, by the term's rule."""
        if new[0] == self.pages[-1] + 1:
            return True
        if self.elsewhere == 1:
            return new[-1] + 1 == self.pages[0]
        return self.elsewhere == 2 and new[0] in self.pages

    def put(self, first, n):
        """The pages to write now."""
        new = list(range(first, first + n))
        if set(new) <= set(self.pages):
            return []
        if self.pages and not self.continues(new):
            old, self.pages = self.pages, new
            return old
        self.pages = sorted({*self.pages, *new})
        if len(self.pages) < self.cluster:
            return []
        full, self.pages = self.pages, []
        return full


def run_in_words(first, n):
    return f"write {first} .. {first + n - 1}" if n else "nothing"


def expect_runs(t, cluster, blocks):
    """`blocks`: (first, n), beginning with nothing gathered."""
    answers = t.child.ask("put", cluster, *(number for block in blocks for number in block))
    gathered = Gathered(cluster, t.term["elsewhere"])
    for i, (block, found) in enumerate(zip(blocks, zip(answers[::2], answers[1::2], strict=True), strict=True)):
        held = f"{gathered.pages[0]} .. {gathered.pages[-1]}" if gathered.pages else "nothing"
        run = gathered.put(*block)
        t.expect(
            f"block {i + 1}, pages {block[0]} .. {sum(block) - 1}, comes while {held} is gathered; cluster of {cluster} pages",
            run_in_words(run[0], len(run)) if run else "nothing",
            run_in_words(*found),
        )


def full_cluster_is_written(t):
    n, blocks = drawn(t, 1, 4), drawn(t, 3, 9)
    start = n * drawn(t, 0, 1000)
    expect_runs(t, n * blocks, [(start + n * i, n) for i in range(3 * blocks)])


def block_elsewhere_writes_the_cluster(t):
    blocks, at = [], drawn(t, 100, 1000)
    for _ in range(12):
        length = drawn(t, 1, 7)
        blocks += [(2 * (at + i), 2) for i in range(length)]
        at += length + t.random.choice([-1, 1]) * drawn(t, 10, 40)
        at = max(at, 0)
    at += 50  # at last three blocks: the second ends directly before the first, the third overlaps with the second
    expect_runs(t, 16, [*blocks, (2 * at, 2), (2 * at - 2, 2), (2 * at - 1, 6), (0, 2)])


def block_written_again_changes_nothing(t):
    start, length = 2 * drawn(t, 0, 1000), drawn(t, 3, 7)
    cycle = [(start + 2 * i, 2) for i in range(length)]
    rest = [(start + 2 * i, 2) for i in range(length, 8)]
    expect_runs(t, 16, [*cycle, *t.random.choices(cycle, k=20), *cycle, *rest])


def any_blocks(t):
    cluster = drawn(t, 6, 12)
    at, blocks = drawn(t, 0, 1000), []
    for _ in range(2000):
        n = drawn(t, 1, 4) if drawn(t, 0, 9) else drawn(t, cluster, 2 * cluster)
        at = max(at + t.random.choice([0, 0, 0, 0, 0, -1, -2, -n, 1]), 0)
        blocks.append((at, n))
        at += n
    expect_runs(t, cluster, blocks)


# ---- part 5: when a writer waits -----------------------------------------------------------------


def expect_bools(t, asked, words, expected, *numbers):
    """The operation `asked` answers what is expected for each case; `words`: of each case."""
    for word, right, found in zip(words, expected, t.child.ask(asked, *numbers), strict=True):
        t.expect(word, right, bool(found))


def expect_stops(t, on, hw, lw, counts):
    words = [f"whether a writer must wait with {n} bytes in flight; ufs_WRITES={on}, ufs_HW={hw}, ufs_LW={lw}" for n in counts]
    expect_bools(t, "throttle_stops", words, [bool(on) and n > hw for n in counts], on, hw, lw, *counts)


def low_mark(t, value):
    """The mark of sleepers, if ufs_LW or minpout has this value."""
    return value * t.term["low_mark"] // 100


def expect_wakes(t, on, hw, lw, falls):
    low = low_mark(t, lw)
    words = [
        f"whether sleepers wake when {a} bytes in flight become {b}; ufs_WRITES={on}, ufs_HW={hw}, ufs_LW={lw}"
        for a, b in falls
    ]
    expected = [b == 0 or (bool(on) and b <= low <= a) for a, b in falls]
    expect_bools(t, "throttle_goes", words, expected, on, hw, lw, *(number for fall in falls for number in fall))


def marks(t):
    """ufs_HW and ufs_LW; all in bytes."""
    lw = PAGE * drawn(t, 8, 2000)
    return lw + PAGE * drawn(t, 2, 2000), lw


def falls_by_pages(most):
    return [(n, n - PAGE) for n in range(most, 0, -PAGE)]


def writer_stops_above_hw(t):
    for _ in range(10):
        hw, lw = marks(t)
        expect_stops(t, 1, hw, lw, [0, lw, hw, hw + 1, hw - 1, hw + PAGE, 1 << 40, drawn(t, hw + 1, 9 * hw), drawn(t, 1, hw)])


def sleepers_wake_up_at_lw(t):
    for _ in range(5):
        hw, lw = marks(t)
        expect_wakes(t, 1, hw, lw, [(n, m) for n, m in falls_by_pages(hw + 9 * PAGE) if m > 0])
        odd = lw + drawn(t, 1, PAGE - 1)
        page = low_mark(t, odd) // PAGE
        expect_wakes(t, 1, hw, odd, [(PAGE * (page + n), PAGE * (page + n - 1)) for n in (2, 1, 0)])


def no_sleeper_stays_asleep(t):
    """Not even one that went to sleep below ufs_LW, because the marks were changed."""
    for hw, lw in (marks(t), sorted(marks(t))):
        expect_wakes(t, 1, hw, lw, falls_by_pages(PAGE * drawn(t, 2, low_mark(t, lw) // PAGE - 1)))


def throttle_that_is_off(t):
    hw, lw = marks(t)
    expect_stops(t, 0, hw, lw, [hw + 1, 1 << 40])
    expect_wakes(t, 0, hw, lw, falls_by_pages(hw))


def expect_pacing(t, maxpout, minpout, counts):
    for op, what, expected in (
        ("pacing_stops", "a writer must wait", [0 < maxpout <= n for n in counts]),
        ("pacing_goes", "sleepers wake", [maxpout == 0 or n <= low_mark(t, minpout) for n in counts]),
    ):
        words = [f"whether {what} with {n} pages in flight; maxpout={maxpout}, minpout={minpout}" for n in counts]
        expect_bools(t, op, words, expected, maxpout, minpout, *counts)


def pacing_stops_and_goes(t):
    for _ in range(10):
        minpout = drawn(t, 0, 500)
        maxpout = minpout + drawn(t, 2, 500)
        expect_pacing(t, maxpout, minpout, range(maxpout + drawn(t, 2, 99)))


def pacing_that_is_off(t):
    minpout = drawn(t, 0, 99)
    counts = [drawn(t, minpout + 1, 1 << 20) for _ in range(10)]
    expect_pacing(t, 0, 0, counts)
    expect_pacing(t, 0, minpout, counts)
    expect_pacing(t, minpout + 1, minpout, counts)


def stops_and_goes(stops, goes, pages, times):
    """A writer that always writes, and a disk that writes a page whenever the writer sleeps: the counts at each change.

    `pages`: what each write(2) sends to the disk.
    """
    flight, seen = 0, []
    while len(seen) < times:
        for _ in range(500):
            if stops(flight):
                break
            flight += next(pages)
        seen.append(f"stop at {flight}")
        while flight > 0:
            flight -= 1
            if goes(flight):
                break
        seen.append(f"go at {flight}")
    return ", ".join(seen)


def forever(values):
    while True:
        yield from values


def expected_stops_and_goes(high, low, piece, times):
    """`high`: a writer stops at the first count from it on; `piece`: pages that each write(2) adds."""
    flight, seen = 0, []
    for _ in range(times // 2):
        flight += piece * ceil(Fraction(high - flight, piece))
        seen += [f"stop at {flight}", f"go at {low}"]
        flight = low
    return ", ".join(seen)


def writer_and_disk(t):
    """One sleep is enough if the marks are in the right order."""
    for _ in range(3):
        piece = drawn(t, 1, 16)
        high = piece * drawn(t, 3, 9)  # a count that the writer meets exactly
        low = drawn(t, 1, high - 2)
        hw, lw = high * PAGE, low * PAGE
        t.expect(
            f"pages in flight; ufs_HW={hw}, ufs_LW={lw}, {piece} pages in each write",
            expected_stops_and_goes(high + 1, low_mark(t, lw) // PAGE, piece, 6),
            stops_and_goes(
                lambda n, hw=hw, lw=lw: t.child.ask("throttle_stops", 1, hw, lw, n * PAGE)[0],
                lambda n, hw=hw, lw=lw: t.child.ask("throttle_goes", 1, hw, lw, (n + 1) * PAGE, n * PAGE)[0],
                forever([piece]),
                6,
            ),
        )


def marks_of_4n_plus_1(t):
    """A program writes page by page, and write-behind gives the disk clusters of 4 pages."""

    def clusters():
        page = 4 * drawn(t, 0, 1000)
        while True:
            yield t.child.ask("put", 4, page, 1)[1]
            page += 1

    n = drawn(t, 2, 12)
    for maxpout in t.random.sample([4 * n, 4 * n + 1], 2):
        minpout = drawn(t, 1, maxpout - 2)
        t.expect(
            f"pages in flight with clusters of 4 pages; maxpout={maxpout}, minpout={minpout}",
            expected_stops_and_goes(maxpout, low_mark(t, minpout), 4, 6),
            stops_and_goes(
                lambda n, high=maxpout, low=minpout: t.child.ask("pacing_stops", high, low, n)[0],
                lambda n, high=maxpout, low=minpout: t.child.ask("pacing_goes", high, low, n)[0],
                clusters(),
                6,
            ),
        )


# ---- booted --------------------------------------------------------------------------------------

KIB, MIB = 1 << 10, 1 << 20
DISK = 64 * MIB  # bytes of an empty disk
HELD = 12 * MIB  # memory of a program that sleeps
CLUSTER = 128 * KIB  # maxphys, by default
BYTES_A_SECOND = 1_000_000  # of a disk that is slower than any writer, also on a busy host
# So that the disk gets what pageout and the writers give it.
ONE_BY_ONE = "set disk_sched=0; set disk_coalesce=0; set dopageflush=0; set doiflush=0"


def sizes(run, disk, kind):
    return [request.bytes for request in run.requests if (request.disk, request.kind, request.end) == (disk, kind, False)]


def long_read_of_a_machine(t):
    """A program sleeps with 12 MiB, while another one reads a disk of 64 MiB twice, 4 MiB in a second."""
    piece = "sleep 1; dd bs=64k count=64 <&3 > /dev/null 2>&1 || exit 1"
    once = f"exec 3< /dev/vdb; for i in $(seq {DISK // (4 * MIB)}); do {piece}; done"
    command = f"dd if=/dev/zero bs={HELD} count=1 2>/dev/null | ({once}; {once}; cat > /dev/null)"
    spared = f"set pageout_policy=1; set priority_paging=1; set cachefree={drawn(t, 3700, 4300)}"
    alike = f"set pageout_policy=0; set lotsfree={drawn(t, 3700, 4300)}"
    for rules, what in ((spared, "with priority paging"), (alike, "without priority paging")):
        options = {"memory": "64M", "disks": [b"", b""], "swap": "/dev/vda", "system": f"{rules}; set ufs:freebehind=0"}
        run = t.kernel.boot("sf280r", command, drawn(t, 1, 1 << 30), **options)
        read, swapped = sum(sizes(run, 1, "read")), [sum(sizes(run, 0, kind)) for kind in ("write", "read")]
        t.expect(f"whether most of {2 * DISK // MIB} MiB were read from the disk {what}", True, read > 2 * DISK * 3 // 4)
        wanted = "nearly none" if rules is spared else f"most of {HELD // KIB} KiB out, and in again"
        good = max(swapped) < MIB if rules is spared else min(swapped) > HELD // 2
        found = " and ".join(f"{n // KIB} KiB {way}" for n, way in zip(swapped, ("out", "in"), strict=True))
        t.expect(f"what the disk for swap gets during a long read {what}", wanted, wanted if good else found)


def in_flight(run, disk, most):
    """The most bytes that were on their way to a disk, and the most with which a write began after more than `most` were."""
    flying = greatest = resumed = 0
    stopped = False
    for request in run.requests:
        if (request.disk, request.kind) != (disk, "write"):
            continue
        if request.end:
            flying -= request.bytes
            continue
        resumed = max(resumed, flying if stopped else 0)
        flying += request.bytes
        greatest, stopped = max(greatest, flying), flying > most
    return greatest, resumed


def writers_of_a_machine(t):
    """A writer of single pages; one that ufs_HW stops, and one that maxpout stops."""
    high, clusters = CLUSTER * drawn(t, 2, 4), drawn(t, 2, 4)
    maxpout = CLUSTER // PAGE * clusters + 1
    low, minpout = drawn(t, CLUSTER, high - 1), drawn(t, CLUSTER // PAGE, maxpout - 2)

    def write(disk, size, count):
        return f"dd if=/dev/zero of=/dev/{disk} bs={size} count={count} 2>/dev/null && sync"

    pages = CLUSTER // PAGE * drawn(t, 5, 9)
    pacing = f"echo ufs_WRITES/W 0 | mdb -kw && chdev -l sys0 -a maxpout={maxpout} -a minpout={minpout}"
    command = " && ".join([write("vda", "4k", pages), write("vdb", "64k", 32), pacing, write("vdc", "64k", 32)])
    run = t.kernel.boot(
        "sf280r",
        command,
        drawn(t, 1, 1 << 30),
        disks=[b""] * 3,
        disk_options=f",bps={BYTES_A_SECOND}",
        system=f"{ONE_BY_ONE}; set ufs:ufs_LW={low}; set ufs:ufs_HW={high}",
    )
    what = f"bytes of each write to the disk, if {pages} pages are written one by one"
    t.expect(what, [CLUSTER] * (pages * PAGE // CLUSTER), sizes(run, 0, "write"))
    part = t.term["low_mark"]
    marks = {1: (high, low * part // 100, f"ufs_HW={high}, ufs_LW={low}")}
    marks[2] = (PAGE * maxpout - 1, PAGE * (minpout * part // 100), f"maxpout={maxpout}, minpout={minpout}")
    for disk, (most, least, names) in marks.items():
        t.expect(f"bytes that were written with {names}", 2 * MIB, sum(sizes(run, disk, "write")))
        greatest, resumed = in_flight(run, disk, most)
        right = CLUSTER * (most // CLUSTER + 1)
        wanted = f"at most {right}, and more than {right - 2 * CLUSTER}"
        good = right - 2 * CLUSTER < greatest <= right
        t.expect(f"the most bytes on their way to the disk, with {names}", wanted, wanted if good else greatest)
        wanted = f"at most {least}"
        t.expect(
            f"bytes on their way when a writer goes on that was stopped, with {names}",
            wanted,
            wanted if resumed <= least else resumed,
        )


# ---- beyond: three hands -------------------------------------------------------------------------


def middle_hand_is_harder_on_files(t):
    clock = Clock(t)
    desfree = clock.values["desfree"]
    for free in (desfree, drawn(t, desfree + 1, clock.mark)):
        expect_verdicts(t, clock, every_kind(t, lambda free=free: free, [MIDDLE]))


def middle_hand_below_desfree(t):
    for policy in (0, 1, 2):
        clock = Clock(t, policy)
        for free in (0, clock.values["desfree"] - 1):
            expect_verdicts(t, clock, every_kind(t, lambda free=free: free, [MIDDLE]))


def middle_hand_passes_over(t):
    clock = Clock(t, policy=1)
    lotsfree = clock.values["lotsfree"]
    for free in (lotsfree - 1, lotsfree):
        expect_verdicts(t, clock, every_kind(t, lambda free=free: free, [MIDDLE]))
    pages = [any_page(t, busy=busy) for _ in range(10) for busy in (True, False)]
    expect_verdicts(t, clock, [(page, MIDDLE, few_free(t, clock)) for page in pages])
    share = SHARE << drawn(t, 0, 20)
    pages = [any_page(t, spaces=share + more) for _ in range(10) for more in (0, 1)]
    expect_verdicts(t, clock, [(page, MIDDLE, few_free(t, clock), share) for page in pages])


def one_turn_with_three_hands(t):
    clock = Clock(t)
    half = drawn(t, 10, 20)
    for free in (clock.values["desfree"], 0):
        expect_pages_that_stay(t, clock, {FRONT: 2 * half, MIDDLE: half, BACK: 0}, free)
