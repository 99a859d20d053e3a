# SPDX-License-Identifier: MIT
"""grade.py - grade one lab: points per test, a log per test, and Gradescope's results.json.

THEORY      In a lab (labs/NAME/lab.toml) a student writes regions of the kernel's files (regions.py).  build.py makes a
            program of them and of the kernel's other files.  Each test runs a new process of that program in a sandbox
            (sandbox.py), asks it, and compares its answers with what this process expects.  Boot tests run machines (boot.py).
            The numbers of a test are drawn from the seed; --term changes some of its rules (term.py).
            A missing tool, test or sandbox is a fault of the harness: then there is no results.json, so that a student does
            not get zero points for it.  Any other error is a fault of the submission: it does not compile, crashes, does not
            end, or answers what is wrong.  What is not usable of it is replaced by the skeleton.
EXIT STATUS 0 full points   1 some test failed   2 wrong usage   3 the harness failed, nothing graded
FILES       build/grade/NAME/results.json, build/grade/NAME/TEST.log
SEE ALSO    one.py (which grades what a student has handed in), regrade.py (all of a folder)
"""

import argparse
import contextlib
import fcntl
import json
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from homeroom.course import lab as labs
from homeroom.course import term
from homeroom.course.boot import BootError, Kernel, KernelBuilder
from homeroom.course.build import Builder, Submission, in_place, submitted
from homeroom.course.lab import Lab, LabError
from homeroom.course.sandbox import Child, ChildError, SandboxError
from homeroom.course.trial import Trial, Wrong
from homeroom.machine import TOP

EXIT_FAILED, EXIT_USAGE, EXIT_HARNESS = 1, 2, 3
OUTPUT_MAX = 20000  # characters of a log in results.json
LINE_MAX = 300  # characters of a line of a log that is printed
JUDGE_CPU = 20  # seconds of the grader's own process for each test


def shell_word(file: Path) -> str:
    return shlex.quote(str(file))


def files_of(text: str) -> list[Path]:
    """The files that --file names: one, or several with blanks between them, quoted as for a shell."""
    if Path(text).exists():
        return [Path(text)]
    try:
        return [Path(word) for word in shlex.split(text)]
    except ValueError:
        return [Path(text)]


@contextlib.contextmanager
def limited_judge() -> Iterator[None]:
    """A test that has no end in this process, because it follows the child's answers, is wrong."""

    def stop(*_) -> None:
        raise ChildError(f"the answers lead to no end: stopped after {JUDGE_CPU} s of the grader's own time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, JUDGE_CPU)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Grader:
    """One run of the grader for a lab and a submission."""

    def __init__(self, lab: Lab, submission: Submission, seed: int, term_seed: int, out: Path, files: tuple = ()) -> None:
        """`out`: where to build and to write logs, below build/; `files`: those that a student must name to repeat a test."""
        self.lab, self.submission, self.seed, self.term_seed, self.out = lab, submission, seed, term_seed, out
        self.faults: list[str] = []  # of the submission
        self._files = files
        self._texts: dict[str, str] = {}  # of the regions, as the host tests have them
        self._kernel: Kernel | None = None  # made for the first boot test
        self._kernel_faults: list[str] = []
        self._unsolved: list[str] = []  # other labs with their skeletons in place

    def _repeat_line(self, name: str) -> str:
        files = f" FILE={shlex.quote(' '.join(map(shell_word, self._files)))}" if self._files else ""
        other = f" TERM_SEED={self.term_seed}" if self.term_seed else ""
        return f"make grade LAB={self.lab.name} TEST={name} SEED={self.seed}{other}{files}"

    def _entry(self, test: labs.Test, wrong: str | None) -> dict:
        """Write the log of a test.  Returns its entry for results.json."""
        log = f"test {test.name}: {test.title}\n"
        if wrong is not None:
            log += f"{wrong.rstrip()}\nrepeat with: {self._repeat_line(test.name)}\n"
        (self.out / f"{test.name}.log").write_text(log)
        return {
            "name": test.title,
            "number": test.name,
            "max_score": 0 if test.beyond else test.points,
            "score": test.points if wrong is None else 0,
            "status": "passed" if wrong is None else "failed",
            "visibility": test.visibility,
            "output": log[-OUTPUT_MAX:],
        }

    def _drawn(self, test: labs.Test) -> tuple[str, dict[str, int]]:
        """The seed of a test's numbers, and the lab's parameters."""
        return f"{self.seed} {test.name}", term.values(self.lab, self.term_seed)

    def _begin(self) -> None:
        """Build the program of the submission."""
        builder = Builder(self.lab, self.out)
        self._unsolved = builder.unsolved()
        for name in self._unsolved:
            print(f"grade: this lab builds on the lab {name}, whose skeleton is still in place")
        self.faults += builder.build(self.submission.texts)
        replaced = {region.name for region in self.lab.regions if region.file in builder.replaced}
        self._texts = {name: text for name, text in self.submission.texts.items() if name not in replaced}
        self._program = builder.program

    def _judged(self, test: labs.Test, function, asked: Child | Kernel) -> str | None:
        """What is wrong in a test that asks the student's program, or boots the student's kernel; None if it passes."""
        try:
            with limited_judge():
                function(Trial(asked, *self._drawn(test)))
        except (Wrong, ChildError, BootError) as wrong:
            return str(wrong)
        except (LabError, SandboxError, OSError):
            raise
        except Exception as error:  # labs-proof shows that the solution's answers cause none
            if self._unsolved:
                raise LabError(f"test {test.name} cannot go on: {error!r}") from error
            where = traceback.extract_tb(error.__traceback__)[-1]
            return f"the answers fit no state that there can be: {error!r:.200} ({Path(where.filename).name}:{where.lineno})"
        return None

    def _run(self, test: labs.Test, function) -> str | None:
        """What is wrong in a host test; None if it passes."""
        with Child(self._program, self.lab.cpu_seconds) as child:
            return self._judged(test, function, child)

    def _boot(self, test: labs.Test, function) -> str | None:
        """What is wrong in a boot test; None if it passes."""
        if self._kernel is None:
            builder = KernelBuilder(self.lab, self.out / "kernel")
            for name in builder.unsolved():
                print(f"grade: the kernel that boots has the skeleton of the lab {name}")
            self._kernel_faults = builder.build(self._texts)
            self._kernel = Kernel(builder.elf, self.lab.boot_minstr * 10**6)
        wrong = self._judged(test, function, self._kernel)
        return wrong and "\n".join([*self._kernel_faults, wrong])

    def grade(self, only: str | None) -> Iterator[dict]:
        """The entries of all tests, or of the one that `only` names, as they are graded.

        `faults` is complete before the first one.  LabError or SandboxError if the harness has failed.
        """
        tests = [test for test in self.lab.tests if only in (None, test.name)]
        functions = self.lab.functions()
        self.faults = list(self.submission.faults)
        self._begin()
        passed: set[str] = set()
        for test in tests:
            lost = [name for name in self.lab.needed(test) if name not in passed]
            if only is None and lost:
                wrong = f"it needs {lost[0]}, which failed"
            elif test.boot:
                wrong = self._boot(test, getattr(functions, test.name))
            else:
                wrong = self._run(test, getattr(functions, test.name))
            if wrong is None:
                passed.add(test.name)
            yield self._entry(test, wrong and "\n".join([*self.faults, wrong]))

    def results(self, entries: list[dict], seconds: float) -> dict:
        """What results.json has."""
        board = [{"name": self.lab.leaderboard, "value": points(entries)[0]}] if self.lab.leaderboard else []
        return {
            "execution_time": round(seconds, 1),
            "visibility": "visible",
            "output": "\n".join([*self.faults, *self.submission.notes])[:OUTPUT_MAX],
            "extra_data": {"faults": self.faults, "notes": self.submission.notes},
            "tests": entries,
            **({"leaderboard": board} if board else {}),
        }


def points(entries: list[dict]) -> tuple[int, int]:
    """The points of some tests, and the most that there can be without the part beyond."""
    return sum(entry["score"] for entry in entries), sum(entry["max_score"] for entry in entries)


def grader_of(lab: Lab) -> type[Grader]:
    """The grader of the lab's kind."""
    if lab.files:
        from homeroom.course.experiment_grader import ExperimentGrader

        return ExperimentGrader
    return Grader


def print_entry(entry: dict, details: bool) -> None:
    """Print the points of a test, and with `details` what was wrong."""
    print(f"{entry['score']:>4} /{entry['max_score'] or '+':>3}  {entry['status']:<7} {entry['number']}: {entry['name']}")
    if entry["status"] == "failed" and details:
        lines = entry["output"].splitlines()[1:]
        shown = lines if len(lines) <= 5 else [*lines[:4], lines[-1]]
        print("".join(f"             {line.strip()[:LINE_MAX]}\n" for line in shown), end="")
    sys.stdout.flush()


def graded_aloud(grader: Grader, only: str | None) -> list[dict]:
    """The entries of the tests, which are printed as they come.

    With a fault a part was not graded, but its skeleton: then what the tests found is in their logs only.
    """
    entries = []
    for entry in grader.grade(only):
        if not entries:
            print("".join(f"grade: {fault.rstrip()}\n" for fault in grader.faults), end="")
        print_entry(entry, not grader.faults)
        entries.append(entry)
    return entries


def print_sum(entries: list[dict], faults: list[str], out: Path) -> bool:
    """Print the points.  Returns whether there are full points without the part beyond."""
    score, most = points(entries)
    beyond = sum(entry["score"] for entry in entries if not entry["max_score"])
    more = f", and {beyond} beyond" if beyond else ""
    print(f"{score - beyond:>4} /{most:>3}  points{more}; logs in {out.relative_to(TOP)}/")
    for fault in faults:
        print(f"grade: a part of the submission was not graded: {fault.splitlines()[0].rstrip(':')}")
    return score - beyond == most


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="grade", description="Grade one lab.")
    parser.add_argument("lab", nargs="?", default="", help="name of a folder below labs/")
    parser.add_argument(
        "--file", action="append", default=[], help="grade the regions of this file, or these files, not those in place"
    )
    parser.add_argument("--test", help="only this test")
    parser.add_argument("--cpu-seconds", type=int, help="another limit for each test than that of lab.toml")
    parser.add_argument("--seed", type=labs.number, default=1, help="the numbers of the tests are drawn from it (1)")
    parser.add_argument("--term", type=labs.number, default=0, help="the term's seed")
    args = parser.parse_args(argv)
    if args.lab not in labs.names():
        print(f"grade: LAB={args.lab}: there is no such lab; there are: {', '.join(labs.names())}", file=sys.stderr)
        return EXIT_USAGE
    files = [file for text in args.file for file in files_of(text)]
    for file in files:
        if not file.is_file():
            print(f"grade: no such file: {file}", file=sys.stderr)
            return EXIT_USAGE

    began = time.monotonic()
    out = TOP / "build" / "grade" / args.lab
    try:
        lab = labs.load(args.lab)
        if args.test and args.test not in (known := [test.name for test in lab.tests]):
            print(f"grade: TEST={args.test}: lab {lab.name} has no such test; there are: {', '.join(known)}", file=sys.stderr)
            return EXIT_USAGE
        if args.cpu_seconds:
            lab = replace(lab, cpu_seconds=args.cpu_seconds)
        files = [file.absolute() for file in files]
        submission = submitted(lab, files or in_place(lab))
        grader = grader_of(lab)(lab, submission, args.seed, args.term, out, tuple(files))
        out.mkdir(parents=True, exist_ok=True)
        with (out / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            results = out / "results.json"
            for old in [results, *out.glob("*.log"), *out.glob("*.o")]:
                old.unlink(missing_ok=True)
            for note in submission.notes:
                print(f"grade: {note}")
            if lab.rubric:
                print(f"{lab.rubric:>4} more points are given by a person")
            entries = graded_aloud(grader, args.test)
            results.write_text(json.dumps(grader.results(entries, time.monotonic() - began), indent=1) + "\n")
    except BlockingIOError:
        print(f"grade: another run grades lab {args.lab} in this tree; nothing was graded", file=sys.stderr)
        return EXIT_HARNESS
    except (LabError, SandboxError, OSError, ValueError) as error:
        print(f"grade: the grader failed, nothing was graded: {error}", file=sys.stderr)
        return EXIT_HARNESS
    return 0 if print_sum(entries, grader.faults, out) else EXIT_FAILED


if __name__ == "__main__":
    labs.command("grade", main)
