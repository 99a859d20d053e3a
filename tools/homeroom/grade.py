# SPDX-License-Identifier: MIT
"""grade.py - grade one lab: points per test, a log per test, and Gradescope's results.json.

THEORY
    In a lab (labs/NAME/lab.toml) the student writes one policy file of the kernel anew.  The tests of
    the lab are host tests of the kernel.  The grader compiles all other files, then the submitted
    file, links them, and runs each test case in a process of its own.
    An error in the first step, or a missing tool or test, is a fault of the harness: then there is
    no results.json, so the student does not get zero points for it.  Any later error is a fault of the
    submission: it does not compile or link, crashes, does not end, or gives a wrong result.
EXIT STATUS
    0 full points   1 some test failed   2 wrong usage   3 the harness failed, nothing graded
FILES
    build/grade/NAME/results.json, build/grade/NAME/TEST.log, build/grade/NAME/build.log
"""

import argparse
import json
import pathlib
import resource
import shlex
import signal
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXIT_FAILED, EXIT_USAGE, EXIT_HARNESS = 1, 2, 3


class HarnessError(Exception):
    """The grader itself has failed; this is no judgement of the submission."""


class SubmissionError(Exception):
    """The submission does not compile or link; the text contains the compiler's output."""


def find_labs():
    """All labs by name, as (folder, definition)."""
    labs = {}
    for path in sorted(ROOT.glob("labs/*/lab.toml")):
        with path.open("rb") as f:
            labs[path.parent.name] = (path.parent, tomllib.load(f))
    return labs


def run(argv, timeout, **kwargs):
    """Runs a command in the root; returns (exit status or None on time-out, output)."""
    try:
        done = subprocess.run(
            argv,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            **kwargs,
        )
    except subprocess.TimeoutExpired as late:
        out = late.stdout or b""
        return None, out.decode(errors="replace") if isinstance(out, bytes) else out
    except OSError as error:
        raise HarnessError(f"cannot run {argv[0]}: {error.strerror}") from error
    return done.returncode, done.stdout


class Grader:
    """One run: builds the test program of a lab around a submission and runs its cases."""

    def __init__(self, name, lab, submission):
        self.name = name
        self.lab = lab
        self.submission = submission
        self.out = ROOT / "build" / "grade" / name
        self.program = self.out / ("test_" + lab["program"])

    def recipe(self):
        """Compiler, flags and sources of the test program, from the Makefile."""
        status, text = run(["make", "-s", "--no-print-directory", "host-recipe-" + self.lab["program"]], 60)
        lines = text.splitlines()
        if status != 0 or len(lines) != 3:
            raise HarnessError(f"make host-recipe-{self.lab['program']} failed:\n{text}")
        sources = lines[2].split()
        if self.lab["replaces"] not in sources:
            raise HarnessError(f"{self.lab['program']} is not built from {self.lab['replaces']}")
        return lines[0].split(), shlex.split(lines[1]), sources

    def build(self):
        """Builds self.program.  HarnessError or SubmissionError when that fails."""
        cc, flags, sources = self.recipe()
        objects = []
        log = (self.out / "build.log").open("w")
        # The submission comes last: when it is compiled, everything else has been.
        sources.sort(key=lambda source: source == self.lab["replaces"])
        for source in sources:
            mine = source == self.lab["replaces"]
            path = self.submission if mine else ROOT / source
            objects.append(str(self.out / (source.replace("/", "_") + ".o")))
            command = cc + flags + ["-c", str(path), "-o", objects[-1]]
            status, text = run(command, 120)
            print(shlex.join(command), text, sep="\n", file=log)
            if status != 0:
                error = SubmissionError if mine else HarnessError
                raise error(f"{path} does not compile:\n{text}")
        status, text = run(cc + flags + objects + ["-o", str(self.program)], 120)
        print(text, file=log)
        if status != 0:
            raise SubmissionError(f"{self.submission.name} does not link:\n{text}")
        log.close()

    def check_cases(self):
        """Every test of the definition must exist: a misspelt name is not the student's fault."""
        _, text = run([str(self.program), "-l"], 60)
        known = set(text.split())
        for test in self.lab["test"]:
            if known and test["case"] not in known:
                raise HarnessError(f"labs/{self.name}/lab.toml: no test {test['case']}")

    def repeat_line(self, case):
        file = self.submission.resolve()
        own = file == (ROOT / self.lab["replaces"]).resolve()
        return f"make grade LAB={self.name} TEST={case}" + ("" if own else f" FILE={file}")

    def run_case(self, test):
        """Run a test case and write its log.  Returns its entry for results.json."""
        case = test["case"]
        # The limit counts CPU time, because the host may be busy.  A second limit stops a test that only sleeps.
        limit = self.lab["cpu_seconds"]
        status, text = run(
            [str(self.program), case],
            20 * limit,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
        )
        passed = status == 0 and f"@test {case} PASS" in text.splitlines()
        if status in (None, -signal.SIGKILL, -signal.SIGXCPU):
            text += f"no end after {f'{20 * limit} s' if status is None else f'{limit} s of the CPU'}: stopped\n"
        elif not passed:
            text += f"exit status {status}\n"
        return self.entry(test, passed, text)

    def entry(self, test, passed, text):
        """Write the log of a test.  Returns its entry for results.json."""
        case = test["case"]
        log = f"test {case}: {test['title']}\n{text}"
        if not passed:
            log += f"repeat with: {self.repeat_line(case)}\n"
        (self.out / f"{case}.log").write_text(log)
        return {
            "name": test["title"],
            "number": case,
            "max_score": test["points"],
            "score": test["points"] if passed else 0,
            "status": "passed" if passed else "failed",
            "output": log[-20000:],
        }

    def grade(self, only):
        """Grade all tests, or the one that `only` names.  Returns the entries; HarnessError if the grader has failed."""
        tests = [t for t in self.lab["test"] if only in (None, t["case"])]
        if not tests:
            cases = ", ".join(t["case"] for t in self.lab["test"])
            raise HarnessError(f"lab {self.name} has no test {only}; there are: {cases}")
        try:
            self.build()
        except SubmissionError as error:
            return [self.entry(test, False, str(error) + "\n") for test in tests]
        self.check_cases()
        return [self.run_case(test) for test in tests]


def reason(entry):
    """Two lines of a failed test's log: the first with an error, and the command that repeats the test."""
    lines = [line for line in entry["output"].splitlines() if line.strip()]
    telling = [line for line in lines if " FAIL " in line or "error:" in line or "ERROR:" in line]
    return [(telling or lines[-2:-1])[0], lines[-1]]


def print_table(entries, out):
    """Print the points.  Returns whether there are full points."""
    for e in entries:
        print(f"{e['score']:>4} /{e['max_score']:>3}  {e['status']:<7} {e['number']}: {e['name']}")
        if e["status"] == "failed":
            print("".join(f"             {line.strip()}\n" for line in reason(e)), end="")
    score, most = sum(e["score"] for e in entries), sum(e["max_score"] for e in entries)
    print(f"{score:>4} /{most:>3}  points; logs in {out.relative_to(ROOT)}/")
    return score == most


def main(argv=None):
    parser = argparse.ArgumentParser(prog="grade", description="Grade one lab.")
    parser.add_argument("lab", nargs="?", default="", help="name of a folder below labs/")
    parser.add_argument("--file", type=pathlib.Path, help="grade this file, not the one in place")
    parser.add_argument("--test", help="only this test")
    args = parser.parse_args(argv)

    labs = find_labs()
    if args.lab not in labs:
        print(f"grade: LAB={args.lab}: there is no such lab; there are: {', '.join(labs)}", file=sys.stderr)
        return EXIT_USAGE
    _, lab = labs[args.lab]
    submission = (args.file or ROOT / lab["replaces"]).absolute()
    if not submission.is_file():
        print(f"grade: no such file: {submission}", file=sys.stderr)
        return EXIT_USAGE

    grader = Grader(args.lab, lab, submission)
    results = grader.out / "results.json"
    began = time.monotonic()
    grader.out.mkdir(parents=True, exist_ok=True)
    for old in [results, *grader.out.glob("*.log"), *grader.out.glob("*.o")]:
        old.unlink(missing_ok=True)
    try:
        entries = grader.grade(args.test)
    except HarnessError as error:
        (grader.out / "harness.log").write_text(str(error) + "\n")
        print(f"grade: the grader failed, nothing was graded: {error}", file=sys.stderr)
        return EXIT_HARNESS
    results.write_text(
        json.dumps(
            {
                "execution_time": round(time.monotonic() - began, 1),
                "visibility": "visible",
                "tests": entries,
            },
            indent=1,
        )
        + "\n"
    )
    return 0 if print_table(entries, grader.out) else EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
