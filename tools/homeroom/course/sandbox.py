# SPDX-License-Identifier: MIT
"""sandbox.py - the process that holds a student's code, and the grader's side of the pipe to it.

THEORY      The grader knows inputs and expected results.  The child (labs/sandbox.c) holds the student's code, and enters
            seccomp's strict mode before it calls any of it: read, write and exit are all that the process can do.  The
            grader sends operations and gets numbers back, never a verdict, so that a child that lies has to know the
            right answer.
            A line to the child is a name and integers; its answer is a line of integers.  The answer "!" is a panic of the
            kernel's code; its text is in the child's standard error, a file of limited size.
INVARIANTS  S1  a child that dies, hangs or talks nonsense fails the test that runs, and no other
"""

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


class ChildError(Exception):
    """The student's code has died, hangs, or answers nonsense; the text says which, as a sentence."""


class SandboxError(Exception):
    """The host has no sandbox: nothing can be graded."""


def limits(cpu_seconds: int):
    """What the child does before it is a program."""

    def limit() -> None:
        for kind, most in (
            (resource.RLIMIT_AS, MEMORY),
            (resource.RLIMIT_FSIZE, ERRORS_MAX),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, 16),
        ):
            resource.setrlimit(kind, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))  # SIGXCPU, and not yet SIGKILL

    return limit


class Child:
    """One run of the program with the student's code."""

    def __init__(self, program: Path, cpu_seconds: int) -> None:
        self._cpu, self._rest, self.calls = cpu_seconds, b"", 0
        self._errors = tempfile.TemporaryFile()
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
        if self._line() != "ready":
            self.close()
            raise SandboxError("the test program could not enter seccomp's strict mode")

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
        line = " ".join([name, *(f"{number:x}" for number in numbers)]) + "\n"
        try:
            self._process.stdin.write(line.encode())
        except BrokenPipeError:
            raise ChildError(self._why_dead()) from None
        answer = self._line()
        if answer.startswith("!"):
            raise ChildError(f"the kernel panicked: {self._said()}")
        try:
            return [int(word, 16) for word in answer.split()]
        except ValueError:
            raise ChildError(f"the answer is no list of numbers: {answer[:60]!r}") from None

    def _line(self) -> str:
        # The child's CPU time is limited; the limit here is for a child that only waits.
        end = time.monotonic() + 20 * self._cpu
        while b"\n" not in self._rest:
            if not select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                raise ChildError(f"no answer after {20 * self._cpu} s: grade again if this host was busy")
            data = self._process.stdout.read(1 << 16)
            if not data:
                raise self._dead()
            self._rest += data
            if len(self._rest) > ANSWER_MAX:
                raise ChildError("the answer has no end")
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")

    def _said(self) -> str:
        """The end of the child's standard error, as one line."""
        self._process.wait()
        self._errors.seek(0)
        return " ".join(self._errors.read().decode(errors="replace").split())[-300:]

    def _dead(self) -> Exception:
        if self._process.wait() == SANDBOX_MISSING and self.calls == 0:
            return SandboxError("this host has no seccomp, so nothing is graded")
        return ChildError(self._why_dead())

    def _why_dead(self) -> str:
        status = self._process.wait()
        if status == -signal.SIGXCPU:
            return f"no end after {self._cpu} s of the CPU: stopped"
        if status == -signal.SIGKILL:
            return "killed by the sandbox: the code made a system call"
        if status == -signal.SIGILL:
            return "undefined behaviour: an index out of bounds, an overflow, or a null pointer (SIGILL)"
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
        return f"the process ended with status {status} instead of an answer"
