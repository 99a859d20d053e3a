# SPDX-License-Identifier: MIT
"""sandbox.py - the process that holds a student's code, and the grader's side of the pipe to it.

THEORY      The grader knows inputs and expected results.  The child (labs/sandbox.c) holds the student's code, and enters
            seccomp's strict mode before it calls any of it: read, write and exit are all that the process can do.  The
            grader sends operations and gets numbers back, never a verdict, so that a child that lies has to know the
            right answer.
            A line to the child is a name and integers; its answer is a line of integers.  "!" and places in the program are a
            panic of the kernel's code; its text is in the child's standard error, a file of limited size.  "?" is a crash.
INVARIANTS  S1  a child that dies, hangs or talks nonsense fails the test that runs, and no other
            S2  before the child is ready, no code of the student has run: what fails until then is a fault of this host
"""

import os
import re
import resource
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path

MEMORY = 1 << 40  # bytes of address space: the kernel's memory is mapped sparsely
ERRORS_MAX = 1 << 16  # bytes of the standard error
ANSWER_MAX = 1 << 20  # bytes
SANDBOX_MISSING = 3  # exit status of the child
END_SECONDS = 10  # of this host, for a child that has said that it ends
WAITS = 20  # a child may take so many times its limit of CPU seconds
NUMBERS = re.compile(r"(?:[0-9a-f]{1,16} )*")  # an answer
PAGE_FAULT = 14  # x86's number of the exception
PLACES_MAX = 4  # of a crash that are shown: the instruction, and callers
ENDED_BY_LIMIT = "no end after {} s of the CPU: stopped"
UNDEFINED = "undefined behaviour: an index out of bounds, an overflow, a shift by the width or more, or a null pointer"


class ChildError(Exception):
    """The student's code has died, hangs, or answers nonsense; the text says which, as a sentence."""


class SandboxError(Exception):
    """The host has no sandbox: nothing can be graded."""


def limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Lower a limit of this process.  It stays as it is if it is lower already."""
    most = resource.getrlimit(kind)[1]
    hard = soft if hard is None else hard
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def limits(cpu_seconds: int):
    """What the child does before it is a program."""

    def set_limits() -> None:
        limit(resource.RLIMIT_AS, MEMORY)
        limit(resource.RLIMIT_FSIZE, ERRORS_MAX)
        limit(resource.RLIMIT_CORE, 0)
        limit(resource.RLIMIT_NOFILE, 16)
        limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)  # SIGXCPU, and not yet SIGKILL

    return set_limits


def where(program: Path, places: tuple[int, ...]) -> list[str]:
    """The functions and lines of some places in a program, which needs debug information."""
    words = [f"{place & (1 << 64) - 1:#x}" for place in places]
    command = ["addr2line", "-f", "-i", "-s", "-e", program, *words]
    said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    lines = said.splitlines()
    found = [(function, line.split(" ")[0]) for function, line in zip(lines[::2], lines[1::2], strict=False)]
    return [f"{function}() ({line})" for function, line in found if function not in ("??", "panic")][:PLACES_MAX]


def called_by(places: list[str]) -> str:
    return f": in {', called by '.join(places)}" if places else ""


class Child:
    """One run of the program with the student's code."""

    def __init__(self, program: Path, cpu_seconds: int) -> None:
        self._program, self._cpu, self._rest, self.calls = program, cpu_seconds, b"", 0
        # The child's CPU time is limited; the limit here is for a child that only waits.
        self._left = WAITS * cpu_seconds
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                [program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                env={},
                cwd="/",
                start_new_session=True,
                preexec_fn=limits(cpu_seconds),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SandboxError(f"the test program does not start: {error}") from None
        os.set_blocking(self._process.stdin.fileno(), False)
        try:
            ready = self._line()
        except ChildError as error:
            ready = str(error)
        if ready != "ready":
            missing = self._process.poll() == SANDBOX_MISSING
            self.close()
            raise SandboxError("this host has no seccomp" if missing else f"the test program is not ready: {ready}")

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()

    def ask(self, name: str, *numbers: int) -> list[int]:
        """The answer of the child to an operation; ChildError if it gives none."""
        self.calls += 1
        line = (" ".join([name, *(f"{number:x}" for number in numbers)]) + "\n").encode()
        try:
            while line:
                self._wait([], [self._process.stdin])
                line = line[self._process.stdin.write(line) or 0 :]
        except BrokenPipeError:
            raise ChildError(self._why_dead()) from None
        answer = self._line()
        if answer.startswith("!") and NUMBERS.fullmatch(answer[1:]):
            places = where(self._program, tuple(int(word, 16) for word in answer[1:].split()))
            raise ChildError(f"the kernel panicked: {self._said()}{called_by(places)}")
        if answer.startswith("?") and NUMBERS.fullmatch(answer[1:]) and len(numbers := answer[1:].split()) > 3:
            raise ChildError(self._crash(*(int(word, 16) for word in numbers)))
        if not NUMBERS.fullmatch(answer):
            raise ChildError(f"the answer is no list of numbers: {answer[:60]!r}")
        return [int(word, 16) for word in answer.split()]

    def _wait(self, readers: list, writers: list) -> None:
        began = time.monotonic()
        if not any(select.select(readers, writers, [], max(0.0, self._left))):
            raise ChildError(f"no answer after {WAITS * self._cpu} s: grade again if this host was busy")
        self._left -= time.monotonic() - began

    def _line(self) -> str:
        while b"\n" not in self._rest:
            self._wait([self._process.stdout], [])
            data = self._process.stdout.read(1 << 16)
            if not data:
                raise ChildError(self._why_dead())
            self._rest += data
            if len(self._rest) > ANSWER_MAX:
                raise ChildError("the answer has no end")
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")

    def _ended(self) -> int:
        """The status of a child that ends, or has closed its pipe.  It is killed if it stays."""
        try:
            return self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _said(self) -> str:
        """The end of the child's standard error, as one line."""
        self._ended()
        self._errors.seek(0)
        return " ".join(self._errors.read().decode(errors="replace").split())[-300:]

    def _crash(self, number: int, exception: int, address: int, *places: int) -> str:
        """What a crash was, and where."""
        if number == signal.SIGXCPU:
            what = ENDED_BY_LIMIT.format(self._cpu)
        elif number == signal.SIGSEGV:
            at = f" ({address:#x})" if exception == PAGE_FAULT else ""
            what = f"access to a bad address{at}: a null or wild pointer, or a full stack"
        else:
            what = UNDEFINED
        return f"{what}{called_by(where(self._program, places)) or ': in no function of the program'}"

    def _why_dead(self) -> str:
        status = self._ended()
        if status == -signal.SIGXCPU:
            return ENDED_BY_LIMIT.format(self._cpu)
        if status == -signal.SIGKILL:
            return "killed by the sandbox: the code made a system call"
        if status == -signal.SIGILL:
            return UNDEFINED
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
        return f"the process ended with status {status} instead of an answer"
