# SPDX-License-Identifier: MIT
"""lab.py - the definition of a lab: labs/NAME/lab.toml.

KEYS        title         of the lab
            host          the kernel's files of the test program: HOST_<host> in tests/host/host.mk
            cpu_seconds   of the processor, for each test
            leaderboard   title of the points on Gradescope's leaderboard, which shows them to all students
            spoilers      files and folders that retell the solution, or print it: a student's tree has none of them
            files         of the lab "experiment", which the student writes in place of regions (experiment_grader.py); then
                          there is no host, and no cpu_seconds
            rubric        points that a person gives besides those of the tests: instructor/NAME/rubric.md
            [[region]]    name: of the marks in the file; file: with the region; skeleton: what a student begins with
            [[test]]      name: a function in labs/NAME/tests.py; points; title; part: of the lab (by default its name);
                          needs: a test, or a part (all host tests of it), or a list of these, without which it is lost;
                          boot = true: it boots the kernel (boot.py), and is run only after what it needs;
                          beyond: its points come on top of the 100; visibility: to students, on Gradescope (visible)
            [[parameter]] what the term's seed changes: name; tree: the value in this tree; values, or between, the first and
                          the last: those of a term; handout: by value, or "any": what labs/NAME/README.md says (term.py)
            beyond        global names that a region may define, but need not: of the part beyond
            boot_minstr   millions of instructions, of all CPUs, that a boot may take
            forgeable     points of all boot tests: the most that code can forge in ring 0 after it has passed the host tests
            labs/NAME/driver.c calls the student's code for the tests (labs/sandbox.h).
"""

import importlib.util
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from homeroom.course import term
from homeroom.machine import TOP


class LabError(Exception):
    """What is wrong with a lab's definition, or with the tools that grade it: no fault of a student."""


@dataclass(frozen=True)
class Region:
    name: str
    file: str  # from the top
    skeleton: str


@dataclass(frozen=True)
class Test:
    name: str
    points: int
    title: str
    needs: tuple[str, ...] = ()
    part: str = ""
    boot: bool = False
    beyond: bool = False
    visibility: str = "visible"


@dataclass(frozen=True)
class Lab:
    name: str
    title: str
    host: str
    cpu_seconds: int
    regions: tuple[Region, ...]
    tests: tuple[Test, ...]
    leaderboard: str = ""
    files: tuple[str, ...] = ()
    rubric: int = 0
    spoilers: tuple[str, ...] = ()
    parameters: tuple[term.Parameter, ...] = ()
    beyond: tuple[str, ...] = ()
    boot_minstr: int = 0
    forgeable: int = 0

    def needed(self, test: Test) -> list[str]:
        """The tests that a test needs."""
        parts = {one.name for one in self.tests if one.part in test.needs and not (one.boot or one.beyond)}
        return [one.name for one in self.tests if one.name in parts or one.name in test.needs]

    @property
    def sources(self) -> list[str]:
        """The files that a student hands in."""
        return sorted({region.file for region in self.regions} | set(self.files))

    @property
    def folder(self) -> Path:
        return TOP / "labs" / self.name

    def functions(self) -> ModuleType:
        """labs/NAME/tests.py."""
        spec = importlib.util.spec_from_file_location(f"lab_{self.name}", self.folder / "tests.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        known = [test.name for test in self.tests]
        for test in self.tests:
            for need in test.needs:
                if need not in known[: known.index(test.name)] and not any(need == one.part for one in self.tests):
                    raise LabError(f"labs/{self.name}/lab.toml: {test.name} needs {need}: no part, and no test before it")
            if not callable(getattr(module, test.name, None)):
                raise LabError(f"labs/{self.name}/lab.toml: labs/{self.name}/tests.py has no function {test.name}")
        return module


def _test(lab: str, *, needs: str | list[str] = (), part: str = "", **keys) -> Test:
    return Test(needs=(needs,) if isinstance(needs, str) else tuple(needs), part=part or lab, **keys)


def names() -> list[str]:
    return sorted(path.parent.name for path in TOP.glob("labs/*/lab.toml"))


def number(text: str) -> int:
    """A number of the command line."""
    return int(text, 0)


def command(name: str, main: Callable[[], int]) -> NoReturn:
    """End this process with the status of `main`; 3, after a line, if a key stops it or the host has an error."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print(f"{name}: stopped", file=sys.stderr)
    except OSError as error:
        print(f"{name}: {error}", file=sys.stderr)
    sys.exit(3)


def chosen(text: str) -> list[Lab]:
    """The labs that a list with commas names; LabError if there is no lab of a name."""
    asked = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in asked:
        if name not in names():
            raise LabError(f"LABS={text}: there is no lab {name}; there are: {', '.join(names())}")
    return [load(name) for name in asked]


def load(name: str) -> Lab:
    """The lab of that name; LabError if the definition cannot be read."""
    path = TOP / "labs" / name / "lab.toml"
    try:
        keys = tomllib.loads(path.read_text())
        keys = {"host": "", "cpu_seconds": 0} | keys
        keys["regions"] = tuple(Region(**region) for region in keys.pop("region", ()))
        keys["tests"] = tuple(_test(path.parent.name, **test) for test in keys.pop("test"))
        keys["parameters"] = tuple(term.parameter(**one) for one in keys.pop("parameter", ()))
        for name in ("spoilers", "beyond", "files"):
            keys[name] = tuple(keys.get(name, ()))
        return Lab(name=path.parent.name, **keys)
    except (OSError, KeyError, TypeError, ValueError) as error:  # also tomllib's
        raise LabError(f"labs/{name}/lab.toml: {error}") from None
