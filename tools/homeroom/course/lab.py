# SPDX-License-Identifier: MIT
"""lab.py - the definition of a lab: labs/NAME/lab.toml.

KEYS        title         of the lab
            host          the kernel's files of the test program: HOST_<host> in tests/host/host.mk
            cpu_seconds   of the processor, for each test
            leaderboard   title of the points on Gradescope's leaderboard, which shows them to all students
            spoilers      files and folders that retell the solution, or print it: a student's tree has none of them
            [[region]]    name: of the marks in the file; file: with the region; skeleton: what a student begins with
            [[test]]      name: a function in labs/NAME/tests.py; points; title; needs: another test, without which it is lost;
                          beyond: its points come on top of the 100; visibility: to students, on Gradescope (visible)
            [[parameter]] what the term's seed changes: name; tree: the value in this tree; values, or between, the first and
                          the last: those of a term; handout: by value, or "any": what labs/NAME/README.md says (term.py)
            beyond        global names that a region may define, but need not: of the part beyond
            labs/NAME/driver.c calls the student's code for the tests (labs/sandbox.h).
"""

import importlib.util
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

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
    needs: str = ""
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
    spoilers: tuple[str, ...] = ()
    parameters: tuple[term.Parameter, ...] = ()
    beyond: tuple[str, ...] = ()

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
            if test.needs and test.needs not in known[: known.index(test.name)]:
                raise LabError(f"labs/{self.name}/lab.toml: {test.name} needs {test.needs}, which is no test before it")
            if not callable(getattr(module, test.name, None)):
                raise LabError(f"labs/{self.name}/lab.toml: labs/{self.name}/tests.py has no function {test.name}")
        return module


def names() -> list[str]:
    return sorted(path.parent.name for path in TOP.glob("labs/*/lab.toml"))


def chosen(text: str) -> list[Lab]:
    """The labs that a list with commas names; LabError if there is no lab of a name."""
    asked = [name.strip() for name in text.split(",")]
    for name in asked:
        if name not in names():
            raise LabError(f"LABS={text}: there is no lab {name}; there are: {', '.join(names())}")
    return [load(name) for name in asked]


def load(name: str) -> Lab:
    """The lab of that name; LabError if the definition cannot be read."""
    path = TOP / "labs" / name / "lab.toml"
    try:
        keys = tomllib.loads(path.read_text())
        keys["regions"] = tuple(Region(**region) for region in keys.pop("region"))
        keys["tests"] = tuple(Test(**test) for test in keys.pop("test"))
        keys["parameters"] = tuple(term.parameter(**one) for one in keys.pop("parameter", ()))
        for name in ("spoilers", "beyond"):
            keys[name] = tuple(keys.get(name, ()))
        return Lab(name=path.parent.name, **keys)
    except (OSError, KeyError, TypeError, ValueError) as error:  # also tomllib's
        raise LabError(f"labs/{name}/lab.toml: {error}") from None
