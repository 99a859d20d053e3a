# SPDX-License-Identifier: MIT
"""clock.py - simulate the policy of pageout: two hands move around a circle of pages, four rounds a second.

THEORY      paging_setup(), paging_goal(), paging_percent() and paging_judge() of the tree decide.  The simulator moves the
            hands as scan_round() of kernel/pages/pageout.c does, and carries out the verdicts: a page that is written is
            free at once.  Between two rounds programs touch pages, some often and some rarely, and take free ones.
            An explanation says for each page what the verdict would be if one thing about the page were different.
SEE ALSO    labs/paging/README.md (the rules), docs/pageout.md
"""

import sys
from dataclasses import dataclass, replace

from homeroom.sim import runner
from homeroom.sim.runner import Simulator, Step, number

KINDS = {"file": "f", "exec": "x", "anon": "a"}
VERDICTS = ("skip", "clear", "keep", "free", "push")
TAKEN = ("free", "push")
FIELDS = (
    *("lotsfree", "desfree", "minfree", "throttlefree", "pageout_reserve", "cachefree", "fastscan", "slowscan"),
    *("handspreadpages", "maxpgio", "min_percent_cpu", "max_percent_cpu"),
)
PAGE = 4096  # bytes
SHARE = 8  # po_share: pages with more mappings are passed over
ROW = 64  # pages of a line
OFTEN, RARELY = 60, 6  # per cent: how probably a page is touched between two rounds


@dataclass(frozen=True)
class Page:
    kind: str
    referenced: bool
    dirty: bool
    busy: bool = False
    spaces: int = 1
    often: bool = False  # how the program uses it; the policy does not know

    def words(self):
        flags = {"busy": self.busy, "touched": self.referenced, "dirty": self.dirty}
        mapped = [f"{self.spaces} mappings"] if self.spaces != 1 else []
        return ", ".join([self.kind, *(name for name, on in flags.items() if on), *mapped])


def mark_of(page):
    """The letter below a page."""
    marks = page is not None and {"!": page.busy, "+": page.spaces > SHARE, "1": page.referenced, " ": True}
    return next(mark for mark, on in marks.items() if on) if marks else " "


class Clock(Simulator):
    name, lab = "clock", "paging"
    about = "The two hands of pageout move around a circle of pages."
    question = "How many pages does this round examine? What does each hand do with the pages that it passes?"

    @staticmethod
    def arguments(parser):
        parser.add_argument("--pages", type=number(16, 512), default=64, help="frames in the circle (64)")
        parser.add_argument("--spread", type=number(1, 511), default=16, help="handspreadpages (16)")
        parser.add_argument("--policy", type=number(0, 2), default=0, help="pageout_policy; 1: priority paging (0)")
        parser.add_argument("--lotsfree", type=number(1, 512), help="lotsfree (a quarter of the pages)")
        parser.add_argument("--fastscan", type=number(1, 4096), help="fastscan, pages in a second (that of paging_setup())")
        parser.add_argument("--rounds", type=number(1, 200), default=8, help="rounds of a quarter of a second (8)")
        parser.add_argument(
            "--demand", type=number(0, 512), default=6, help="free pages that are taken before a round, at most (6)"
        )

    @staticmethod
    def wrong(args):
        return "--spread must be below --pages" if args.spread >= args.pages else None

    @staticmethod
    def draw(rng):
        numbers = {
            "pages": rng.choice([24, 32, 40]),
            "spread": rng.randrange(4, 12),
            "policy": rng.choice([0, 1]),
            "rounds": rng.randrange(2, 6),
            "demand": rng.randrange(8, 12),
        }
        return [word for name, value in numbers.items() for word in (f"--{name}", str(value))]

    def __init__(self, *words):
        super().__init__(*words)
        args = self.args
        given = {
            "lotsfree": args.lotsfree or args.pages // 4,
            "fastscan": args.fastscan or 0,
            "handspreadpages": args.spread,
        }
        priority = int(args.policy == 1)
        self.child.ask("values", *(given.get(name, 0) for name in FIELDS), priority, args.pages, args.policy)
        self.values = dict(zip(FIELDS, self.child.ask("setup", PAGE), strict=False))
        self.mark = self.values["lotsfree"] if args.policy != 1 else max(self.values["lotsfree"], self.values["cachefree"])
        self.frames = [self.new_page() if self.rng.random() < 0.8 else None for _ in range(args.pages)]
        self.back, self.waiting = 0, False

    def new_page(self):
        kind = self.rng.choices(list(KINDS), [4, 2, 3])[0]
        return Page(
            kind,
            referenced=self.rng.random() < 0.4,
            dirty=kind == "anon" or (kind == "file" and self.rng.random() < 0.3),
            busy=self.rng.random() < 0.05,
            spaces=SHARE + 1 if kind == "exec" and self.rng.random() < 0.2 else 1,
            often=self.rng.random() < 0.4,
        )

    @property
    def free(self):
        return self.frames.count(None)

    def programs(self):
        """What programs do between two rounds, in words."""
        touched = 0
        for n, page in enumerate(self.frames):
            if page is not None and self.rng.randrange(100) < (OFTEN if page.often else RARELY):
                touched += 1
                self.frames[n] = replace(page, referenced=True)
        wanted, free = self.rng.randrange(self.args.demand + 1), [n for n, page in enumerate(self.frames) if page is None]
        for n in free[:wanted]:
            self.frames[n] = replace(self.new_page(), referenced=True)
        self.waiting = wanted > len(free)
        waits = f", and wait for {wanted - len(free)} more" if self.waiting else ""
        return f"programs touch {touched} pages, take {min(wanted, len(free))} free ones{waits}"

    def picture(self):
        """The circle: kinds (upper case: dirty), bits and hands below."""
        front = (self.back + self.args.spread) % len(self.frames)
        lines = []
        for at in range(0, len(self.frames), ROW):
            row = self.frames[at : at + ROW]
            kinds = [KINDS[page.kind] if page is not None else "." for page in row]
            pages = "".join(k.upper() if page is not None and page.dirty else k for page, k in zip(row, kinds, strict=True))
            bits = "".join(mark_of(page) for page in row)
            hands = "".join("B" if n == self.back else "F" if n == front else " " for n in range(at, at + len(row)))
            lines += [f"pages {at:>4}  {pages}", f"touched     {bits}", f"hands       {hands}"]
        return lines

    def judge(self, page, hand):
        numbers = (list(KINDS).index(page.kind), page.busy, page.referenced, page.dirty, page.spaces, hand == "back")
        (verdict,) = self.child.ask("judge", *map(int, numbers), self.free, SHARE)
        return VERDICTS[verdict] if verdict < len(VERDICTS) else f"the unknown verdict {verdict}"

    def otherwise(self, page, hand, verdict):
        """What the verdict would be if one thing were different: only what makes a difference."""
        others = {
            "under the other hand": (page, "front" if hand == "back" else "back"),
            "not touched" if page.referenced else "touched": (replace(page, referenced=not page.referenced), hand),
            "clean" if page.dirty else "dirty": (replace(page, dirty=not page.dirty), hand),
            "not busy" if page.busy else "busy": (replace(page, busy=not page.busy), hand),
            "with 1 mapping" if page.spaces != 1 else f"with {SHARE + 1} mappings": (
                replace(page, spaces=SHARE + 2 - page.spaces),
                hand,
            ),
            **{f"of kind {kind}": (replace(page, kind=kind), hand) for kind in KINDS if kind != page.kind},
        }
        found = {name: self.judge(*case) for name, case in others.items()}
        return [f"{name}: {other};" for name, other in found.items() if other != verdict]

    def look(self, n, hand, step):
        """One hand looks at one page.  Returns the verdict; None if there is no page."""
        page = self.frames[n]
        if page is None:
            return None
        verdict = self.judge(page, hand)
        step.why.append(f"{hand:<5} hand, page {n:>3} ({page.words()}): {verdict}")
        if self.args.explain:
            others = self.otherwise(page, hand, verdict) or ["anything else: the same"]
            step.why += runner.wrapped("            if it were", others)
        if verdict == "clear":
            self.frames[n] = replace(page, referenced=False)
        if verdict in TAKEN:
            self.frames[n] = None
        return verdict

    def scan(self, step, goal):
        """Move the hands for one round.  Returns the verdicts."""
        verdicts, examined, moves = [], 0, 0
        while examined < goal and self.free < self.mark and moves < 2 * len(self.frames):
            front = (self.back + self.args.spread) % len(self.frames)
            found = [self.look(front, "front", step), self.look(self.back, "back", step)]
            self.back = (self.back + 1) % len(self.frames)
            verdicts += [verdict for verdict in found if verdict is not None]
            examined += any(verdict not in (None, "skip") for verdict in found)
            moves += 1
        return verdicts, examined, moves

    def intro(self):
        values = ", ".join(f"{name} {value}" for name, value in self.values.items() if name not in ("maxpgio", "throttlefree"))
        lines = [f"{self.args.pages} pages, policy {self.args.policy}; values in force after paging_setup():"]
        lines += runner.wrapped("   ", values.split(" "))
        lines.append("pages: f file, x executed file, a anonymous; upper case: dirty; . free")
        lines.append(f"below: 1 touched, ! busy, + more than {SHARE} mappings; F and B: the hands")
        if not self.values["fastscan"]:
            lines.append("paging_setup() leaves fastscan 0: it replaces no value yet.")
        return lines

    def steps(self):
        for n in range(1, self.args.rounds + 1):
            programs = self.programs()
            free = self.free
            step = Step(f"round {n}: {free} of {len(self.frames)} pages free; {programs}", self.picture())
            if free >= self.mark:
                step.result = [f"{free} free pages are not below the mark of {self.mark}: the hands rest"]
            else:
                (goal,) = self.child.ask("goal", free, 0, int(self.waiting))
                (percent,) = self.child.ask("percent", free)
                step.why.append(f"mark {self.mark}; goal {goal}, at most {percent} % of one CPU")
                verdicts, examined, moves = self.scan(step, goal)
                counts = (
                    ", ".join(f"{verdict} {verdicts.count(verdict)}" for verdict in dict.fromkeys(verdicts)) or "no page seen"
                )
                step.result = [
                    f"goal {goal}, examined {examined}, hands moved by {moves}: {counts}; {self.free} pages free now",
                    *self.picture(),
                ]
            yield step


if __name__ == "__main__":
    sys.exit(runner.main(Clock))
