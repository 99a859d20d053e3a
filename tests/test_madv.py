# SPDX-License-Identifier: MIT
"""test_madv.py - madv.so.1 on the host: the advice that it chooses, and its messages (test_dynamic.py: the effect of advice).

It is built with -DDEBUG, so MADVDEBUG=1 prints each advice.  Linux has no memcntl(2), so each call fails here, and that gives
a message, too.
"""

import os
import re
import subprocess

import pytest

from homeroom.machine import TOP

PROGRAM = r"""
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
    int fd = open("/proc/self/exe", O_RDONLY), id = shmget(IPC_PRIVATE, 12288, 0600), bad = 0;
    bad |= mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANON, -1, 0) == MAP_FAILED;
    bad |= mmap(0, 8192, PROT_READ, MAP_SHARED | MAP_ANON, -1, 0) == MAP_FAILED;
    bad |= mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED;
    bad |= mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED;
    bad |= id < 0 || shmat(id, 0, 0) == (void *)-1;
    shmctl(id, IPC_RMID, 0);
    puts(bad ? "bad" : "ran");
    return bad;
}
"""
CALLS = ["anonymous private", "anonymous shared", "private file", "shared file"]
NORMAL, RANDOM, SEQUENTIAL, DEFAULT, LWP, MANY = 0, 1, 2, 6, 7, 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("madv")
    flags = ["-O2", "-D_GNU_SOURCE", "-I", TOP / "user/include", "-I", TOP / "include"]
    subprocess.run(
        [TOP / "tools/musl-gcc", *flags, "-DDEBUG", "-fPIC", "-shared", "-nostdlib", "-fvisibility=hidden", "-o",
         out / "madv.so.1", TOP / "user/preload/madv.c"], check=True,
    )  # fmt: skip
    (out / "program.c").write_text(PROGRAM)
    subprocess.run([TOP / "tools/musl-gcc", "-O2", "-o", out / "musl-prog", out / "program.c"], check=True)
    subprocess.run(["gcc", "-O2", "-o", out / "glibc-prog", out / "program.c"], check=True)
    return out


@pytest.fixture(params=["musl-prog", "glibc-prog"])
def run(request, folder, tmp_path):
    """run(config=text, args=(), **environment) -> (advice for each kind of memory, messages)."""

    def once(config=None, args=(), program=None, cwd=None, **environment):
        errors = tmp_path / "errors"
        errors.unlink(missing_ok=True)
        env = os.environ | {"LD_PRELOAD": str(folder / "madv.so.1"), "MADVERRFILE": str(errors), "MADVDEBUG": "1"}
        if config is not None:
            (tmp_path / "conf").write_text(config)
            env["MADVCFGFILE"] = str(tmp_path / "conf")
        binary = program or folder / request.param
        done = subprocess.run([binary, *args], env=env | environment, capture_output=True, text=True, cwd=cwd)
        assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
        lines = errors.read_text().splitlines() if errors.exists() else []
        assert all(line.startswith("madv.so.1: ") for line in lines)
        messages = [line.removeprefix("madv.so.1: ").replace(f"{tmp_path}/", "") for line in lines]
        given = re.findall(r"^madv.so.1: (heap|mapping|shared memory) at \S+: advice (\d+)$", done.stderr, re.M)
        failed = [m for m in messages if m.startswith("memcntl of ")]
        assert len(failed) == len(given) and all(m.endswith("unction not implemented") for m in failed)
        return [(what, int(value)) for what, value in given], [m for m in messages if m not in failed]

    return once


def maps(*values):
    return [("mapping", value) for value in values]


def test_words(run):
    """Each word is advice for all kinds of memory; any other word gives a message, and the program runs."""
    for word, value in (("normal", 0), ("random", 1), ("sequential", 2), ("access_default", 6), ("access_lwp", 7)):
        given, messages = run(MADV=word)
        assert given == [("heap", value), *maps(*[value] * 4), ("shared memory", value)] and messages == []
    for word in ("willneed", "dontneed", "free", "many", "access_many "):
        assert run(MADV=word) == ([], [f"bad advice: MADV={word}"])
    assert run(MADV="") == ([], [])


def test_kinds(run):
    """A specific option overrides a general one; heap and shared memory have options of their own."""
    every = "*-prog:madv=normal,heap=random,shm=sequential,map=access_lwp,mapshared=access_many,mapanon=access_default"
    given, messages = run(every)
    assert messages == []
    assert given == [("heap", RANDOM), *maps(DEFAULT, DEFAULT, LWP, MANY), ("shared memory", SEQUENTIAL)]
    assert run("*-prog:map=random,mapprivate=sequential")[0] == maps(SEQUENTIAL, RANDOM, SEQUENTIAL, RANDOM)
    assert run("*-prog:mapshared=access_many")[0] == maps(MANY, MANY)
    assert run("*-prog:madv=random,ism=normal,dism=normal")[0][-1] == ("shared memory", RANDOM)
    assert run("*-prog:heap=access_many")[0] == [("heap", MANY)]


def test_file_wins_over_variable(run):
    assert run("other:heap=random\n", MADV="normal")[0][0] == ("heap", NORMAL)
    assert run("*-prog:heap=random\n", MADV="normal")[0] == [("heap", RANDOM)]
    assert run("*-prog:\n", MADV="normal")[0] == []
    assert run("*-prog:heap=random\n*-prog:madv=normal\n")[0] == [("heap", RANDOM)]
    given, messages = run(MADVCFGFILE="/nowhere/at/all", MADV="normal")
    assert given[0] == ("heap", NORMAL)
    assert messages == ["/nowhere/at/all: cannot open the configuration file: No such file or directory"]


def test_which_program(run, folder):
    """A program is matched by its name, its full path or an argument, with wildcards; the last colon and the last blank divide
    the line.
    """
    assert run(f"{folder}/*-prog:heap=random")[0] == [("heap", RANDOM)]
    assert run(f"{folder}/prog:heap=random")[0] == []
    assert run("/*/other-prog:heap=random")[0] == []
    assert run("*-prog -v*:heap=random", args=["-t", "-verbose"])[0] == [("heap", RANDOM)]
    assert run("*-prog -v*:heap=random", args=["-t"])[0] == []
    assert run("*-prog *prog:heap=random", args=["x"])[0] == []  # its own name is not an argument
    assert run("*-prog a:b:heap=random", args=["a:b"])[0] == [("heap", RANDOM)]
    for relative in ("./musl-prog", f"../{folder.name}/musl-prog"):
        assert run(f"{folder}/*musl-prog:heap=random", program=relative, cwd=folder)[0] == [("heap", RANDOM)]
    assert run("# *-prog:heap=random\n\n*-prog:heap=normal")[0] == [("heap", NORMAL)]


BAD = [
    ("no delimiter", "line 1: no ':' between program and options: no delimiter"),
    ("*-prog:stack=random", "line 1: unknown option: stack"),
    ("*-prog:heap", "line 1: option without advice: heap"),
    ("*-prog:heap=", "line 1: option without advice: heap"),
    ("*-prog:heap=free", "line 1: bad advice: heap=free"),
    ("x" * 4161, "line 1: longer than 4160 characters"),
    ("x:" + "y" * 9000, "line 1: longer than 4160 characters"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_lines(run, number):
    """Each wrong line is reported with file and line number; the next line counts, and the other options of the line, too."""
    line, message = BAD[number]
    given, messages = run(line + "\n*-prog:heap=random\n" if "prog" not in line else line + ",mapanon=random")
    assert messages == [f"conf: {message}"]
    assert given == ([("heap", RANDOM)] if "prog" not in line else maps(RANDOM, RANDOM))


def test_given_twice(run):
    given, messages = run("a:heap=free\n*-prog:heap=random,heap=normal")
    assert messages == ["conf: line 2: option given twice: heap"] and given == [("heap", RANDOM)]


def test_without_an_error_file(folder, tmp_path):
    """An error file that cannot be written, or none: the program runs, and madv.so.1 prints nothing into its output."""
    for errors in ("/nowhere/at/all", ""):
        env = os.environ | {"LD_PRELOAD": str(folder / "madv.so.1"), "MADV": "free", "MADVERRFILE": errors}
        done = subprocess.run([folder / "musl-prog"], env=env, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")
