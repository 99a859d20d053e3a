# SPDX-License-Identifier: MIT
"""Manual pages: each command has one, it says what --help says and what the program takes, and `man` shows it."""

import re
import subprocess

import pytest

from harness import HOST_LIMIT
from homeroom import manual
from homeroom.machine import TOP

PROGRAMS = [program for chapter in manual.CHAPTERS for program in manual.programs(chapter)]
NAMES = [program.name for program in PROGRAMS]
HEADINGS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"]


def options_taken(name):
    """The option letters of a program's source, each with whether it takes an argument."""
    source = next(TOP.glob(f"user/*/{name}.c")).read_text()
    letters = "".join(re.findall(r'getopt\(argc, argv, "\+?([^"]*)"', source))
    return {letter: colon == ":" for letter, colon in re.findall(r"(\w)(:?)", letters)}


def options_told(text):
    rows = re.findall(r"^-(\w)( \S+)?", manual.sections(text).get("OPTIONS", ""), re.M)
    return {letter: word != "" for letter, word in rows}


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_help_is_the_page(program):
    """And ends well, before the program does anything."""
    done = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=HOST_LIMIT, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == manual.page(program) != ""


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_form(program):
    text, name = manual.page(program), program.name
    found = list(manual.sections(text))
    assert found == [heading for heading in HEADINGS if heading in found] and found[:2] == HEADINGS[:2]
    assert all(line == line.rstrip() and len(line) <= 79 for line in text.split("\n")) and text.endswith("\n")
    assert manual.sections(text)["NAME"].startswith(f"{name} - ")
    forms = [line for line in manual.sections(text)["SYNOPSIS"].split("\n") if not line.startswith(" ")]
    assert all(re.search(rf"\b{name}\b", form) for form in forms)
    assert options_told(text) == options_taken(name)
    there = {*NAMES, *(f"docs/{path.name}" for path in TOP.glob("docs/*.md"))}
    assert set(manual.related(text)) - there == set()


def test_the_book_has_the_pages():
    assert manual.PAGE.read_text() == manual.book(), "make generated, and commit what it changes"


def test_wrong_command_line():
    """It gets the synopsis, on standard error."""
    done = subprocess.run([TOP / "build/user/bench/memcopy", "-Z"], capture_output=True, text=True, timeout=HOST_LIMIT)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.splitlines()[1:] == [
        "usage: memcopy [-t threads] [-n elements | -P pages] [-s 4k|2m] [-i iterations]",
        "               [-p first|random|both|any] [-b] [-o] [-m]",
        "       memcopy --help tells more",
    ]


@pytest.mark.machine("sf3800")
@pytest.mark.core
def test_man(machine):
    assert machine.check("man psrset") == machine.check("psrset --help") == manual.page(TOP / "build/user/bin/psrset")
    assert machine.check("man -k processor").splitlines()[-1] == "psrset - make, show and change processor sets"
    assert machine.check("for f in /sbin/init /usr/bin/*; do [ -L $f ] || man ${f##*/} > /dev/null; done") == ""
    for wrong in ("ls", "nonsense", "../../../etc/passwd"):
        done = machine.run(f"man {wrong}")
        assert (done.status, done.out) == (16, f"No manual entry for {wrong}\n")
