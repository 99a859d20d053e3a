# SPDX-License-Identifier: MIT
"""runner.py - what all simulators share: arguments, the program with the tree's code, printing, exercises.

THEORY      A simulator shows a policy of the kernel step by step.  It decides nothing: each decision is an answer of the C code
            in this tree's lab regions, in the program and the sandbox with which the grader calls it (build.py, sandbox.py).
            So the solution is simulated in an instructor's tree, or that of a term, and in a student's tree the student's
            own code.
            A simulator explains a decision with the inputs of the code, and with the code's answers to slightly different
            inputs.  It must not contain the rule itself, because it is part of each student's tree.
            An exercise is a run whose arguments are drawn from the seed, without its last decision.
USAGE       make sim-home SEED=7 ARGS='--boards 6 --explain', or PYTHONPATH=tools python3 -m homeroom.sim.home --seed 7 ...
EXIT STATUS 0 it ran to the end   1 the tree's code cannot run, one sentence says why   2 wrong usage
"""

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from homeroom.course import lab as labs
from homeroom.course import solution
from homeroom.course.build import Builder, in_place, skeleton_of, submitted
from homeroom.course.lab import Lab, LabError
from homeroom.course.regions import RegionError
from homeroom.course.sandbox import Child, ChildError, SandboxError
from homeroom.machine import TOP

CPU_SECONDS = 30  # for one run of the code
EXERCISES = 3
WIDTH = 96  # columns of the longest lists


class CodeError(Exception):
    """The regions of the tree cannot be used; the text says why."""


@dataclass
class Step:
    """One decision: `facts` are what the code is given, `why` is what explains the `result`."""

    title: str
    facts: list[str] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    result: list[str] = field(default_factory=list)


class Simulator:
    """A policy.  A subclass asks `child`, and draws what is random from `rng`."""

    name: ClassVar[str]
    lab: ClassVar[str]
    about: ClassVar[str]
    question: ClassVar[str]  # of an exercise, about its last step

    def __init__(self, new_child: Callable[[], Child], args: argparse.Namespace, rng: random.Random) -> None:
        self.new_child, self.child, self.args, self.rng = new_child, new_child(), args, rng

    @staticmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this simulator."""

    @staticmethod
    def wrong(args: argparse.Namespace) -> str | None:
        """Why these arguments do not fit each other."""

    @staticmethod
    def draw(rng: random.Random) -> list[str]:
        """The arguments of an exercise."""
        raise NotImplementedError

    def intro(self) -> list[str]:
        return []

    def steps(self) -> Iterator[Step]:
        raise NotImplementedError

    def outro(self) -> list[str]:
        return []


def number(least: int, most: int) -> Callable[[str], int]:
    """The type of an argument."""

    def read(text: str) -> int:
        try:
            value = int(text, 0)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is no number from {least} to {most}")
        return value

    return read


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in words: 0-3 5 7-9."""
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "none"


def wrapped(head: str, words: Iterable[str]) -> list[str]:
    """Lines with these words; the first one begins with `head`, the others below its end."""
    lines = [head]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append(" " * len(head))
        lines[-1] += f" {word}"
    return lines


class Parser(argparse.ArgumentParser):
    """Says in one sentence what is wrong."""

    def error(self, message: str) -> None:
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(2)


def parser_of(kind: type[Simulator]) -> Parser:
    parser = Parser(prog=f"sim-{kind.name}", description=kind.about, allow_abbrev=False)
    parser.add_argument("--seed", type=number(0, 2**63), default=1, help="what is random is drawn from it (1)")
    parser.add_argument("--term", type=number(0, 2**63), default=0, help="run the solution of the term of this seed")
    parser.add_argument("--explain", action="store_true", help="print the inputs of each decision, and what it depends on")
    parser.add_argument("--exercise", action="store_true", help=f"print {EXERCISES} exercises, drawn from the seed")
    parser.add_argument("--answers", action="store_true", help="with --exercise: print the answers, too")
    kind.arguments(parser)
    return parser


def show(lines: Iterable[str], indent: int = 0) -> None:
    for line in lines:
        print((" " * indent + line).rstrip())


def run(kind: type[Simulator], new_child: Callable[[], Child], args: argparse.Namespace) -> None:
    simulator = kind(new_child, args, random.Random(args.seed))
    show(simulator.intro())
    for step in simulator.steps():
        print(step.title)
        show([*step.facts, *step.why] if args.explain else [], 4)
        show(step.result, 2)
    show(simulator.outro())


def exercises(kind: type[Simulator], new_child: Callable[[], Child], args: argparse.Namespace) -> None:
    rng, parser = random.Random(args.seed), parser_of(kind)
    for n in range(1, EXERCISES + 1):
        seed, words = rng.randrange(1, 10000), kind.draw(rng)
        simulator = kind(new_child, parser.parse_args(words), random.Random(seed))
        print(f"Exercise {n} of seed {args.seed}")
        show(simulator.intro(), 2)
        *_, step = simulator.steps()
        show([step.title, *step.facts], 2)
        print(f"  {kind.question}")
        if args.answers:
            show([*step.why, *step.result], 4)
            term = f" TERM_SEED={args.term}" if args.term else ""
            print(f"    the whole run:\n    make sim-{kind.name} SEED={seed}{term} ARGS='{' '.join(words)} --explain'")
        print()


def built(lab: Lab, term: int, folder: Path) -> Path:
    """The program with the regions of this tree, or the solution of a term.  Says which regions are still the skeleton's."""
    if term and not (TOP / "instructor").is_dir():
        raise CodeError("--term: a student's tree has no solution of a term; it runs your code")
    submission = submitted(lab, in_place(lab))
    texts = solution.of_term(lab, term) if term else submission.texts
    builder = Builder(lab, folder)
    faults = submission.faults or builder.build(texts)
    if faults:
        raise CodeError("\n".join([f"the lab {lab.name} cannot run:", *faults]))
    for region in lab.regions:
        if texts[region.name].strip() == skeleton_of(region).strip():
            print(f"The region {region.name} of {region.file} is still that of {region.skeleton}.")
    return builder.program


def main(kind: type[Simulator], argv: list[str] | None = None) -> int:
    parser = parser_of(kind)

    args = parser.parse_args(argv)
    if sentence := kind.wrong(args):
        parser.error(sentence)
    if args.answers and not args.exercise:
        parser.error("--answers belongs to --exercise")
    children: list[Child] = []
    (TOP / "build").mkdir(exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="sim.", dir=TOP / "build") as folder:
            program = built(labs.load(kind.lab), args.term, Path(folder))

            def new_child() -> Child:
                children.append(Child(program, CPU_SECONDS))
                return children[-1]

            if args.exercise:
                exercises(kind, new_child, args)
            else:
                run(kind, new_child, args)
            sys.stdout.flush()
    except ChildError as error:
        print(f"sim-{kind.name}: the code of this tree ends the simulation: {error}", file=sys.stderr)
        return 1
    except (CodeError, LabError, RegionError, SandboxError) as error:
        print(f"sim-{kind.name}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        for child in children:
            child.close()
    return 0
