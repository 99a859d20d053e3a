# SPDX-License-Identifier: MIT
"""test_agent.py - the test agent (user/cmd/verdictd.c) on this host, over a pseudo terminal; all boot tests depend on it."""

import os
import pty
import subprocess
import time

import pytest

from harness import HOST_LIMIT
from homeroom.machine import TOP
from homeroom.verdict import Lines, escape, unescape


class Agent:
    def __init__(self, program) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([program, os.ttyname(slave)], stdin=subprocess.DEVNULL)
        self.parser, self.lines = Lines(), []
        self.until("ready")
        os.close(slave)

    def until(self, line: str, seconds: float = HOST_LIMIT) -> None:
        end = time.monotonic() + seconds
        while line not in self.lines:
            assert time.monotonic() < end, self.lines
            self.lines += [ln.decode() for ln in self.parser.feed(os.read(self.master, 4096))]

    def run(self, number: int, command: str) -> None:
        os.write(self.master, b"run %d 0 %s\n" % (number, escape(command.encode())))

    def output(self, number: int) -> bytes:
        head = f"out {number} "
        return b"".join(unescape(ln[len(head) :].encode()) for ln in self.lines if ln.startswith(head))


@pytest.fixture
def agent(tmp_path):
    program = tmp_path / "verdictd"
    subprocess.run([TOP / "tools/hrcc", "-D_GNU_SOURCE", TOP / "user/cmd/verdictd.c", "-o", program], check=True)
    one = Agent(program)
    yield one
    one.process.kill()
    one.process.wait()


def test_status_and_output(agent):
    agent.run(1, "printf 'a@b%%c\\n\\377'; echo no >&2; exit 3")
    agent.until("done 1 3")
    assert agent.output(1) == b"a@b%c\n\xffno\n"
    agent.run(2, "kill -9 $$")
    agent.until("done 2 137")
    agent.run(3, "cat")
    agent.until("done 3 0")


def test_long_output_comes_before_the_end(agent):
    agent.run(1, "seq 20000")
    agent.until("done 1 0")
    assert agent.output(1) == b"".join(b"%d\n" % i for i in range(1, 20001))


def test_background_child_does_not_hold_the_command(agent):
    agent.run(1, "sleep 60 & echo started")
    agent.until("done 1 0")
    assert agent.output(1) == b"started\n"


def test_closed_output_does_not_spin(agent):
    agent.run(1, "exec >/dev/null 2>&1; sleep 0.5")
    agent.until("done 1 0")
    with open(f"/proc/{agent.process.pid}/stat") as stat:
        ticks = sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))
    assert ticks < 20  # hundredths of a second


def test_several_at_once_and_kill(agent):
    agent.run(1, "sleep 100")
    agent.run(2, "echo two")
    agent.until("done 2 0")
    os.write(agent.master, b"kill 1\n")
    agent.until("done 1 137")
