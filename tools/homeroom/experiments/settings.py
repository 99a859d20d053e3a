# SPDX-License-Identifier: MIT
"""settings.py - what one call of `make experiments` asks for, in the forms in which it travels.

make -> __main__.py -> Snakemake's --config -> Snakefile -> the jobs' command lines: all four name the same four things.
"""

import argparse
import functools
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from homeroom.experiments import definition

FILE = definition.FOLDER / "paper.toml"
PEERS = ("", "linux")


@dataclass(frozen=True)
class Settings:
    file: str = str(FILE.relative_to(definition.TOP))
    names: tuple[str, ...] = field(default=())
    quick: bool = False
    peer: str = ""

    @functools.cached_property
    def suite(self) -> definition.Suite:
        suite = definition.load(definition.TOP / self.file)
        if self.quick:
            suite.repeat = 1
        return suite

    def experiments(self) -> list[definition.Experiment]:
        return self.suite.pick(list(self.names), self.quick)

    def runs(self) -> list[tuple[definition.Run, int]]:
        return self.suite.runs(self.experiments(), bool(self.peer), not self.quick)

    def arguments(self) -> str:
        """As a command line, for the shell."""
        words = ["--file", self.file, "--peer", self.peer, *(["--quick"] if self.quick else [])]
        return shlex.join([*words, *(word for name in self.names for word in ("--name", name))])

    def config(self) -> list[str]:
        """As Snakemake's --config."""
        words = [f"file={self.file}", f"names={','.join(self.names)}", f"quick={int(self.quick)}", f"peer={self.peer}"]
        return ["--config", *words]


def from_config(config: dict) -> Settings:
    names = tuple(filter(None, str(config.get("names", "") or "").split(",")))
    file = config.get("file") or Settings.file
    return Settings(file, names, bool(int(config.get("quick") or 0)), str(config.get("peer") or ""))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", help="definition of the experiments")
    parser.add_argument("--name", action="append", default=[], help="take this experiment (may be repeated)")
    parser.add_argument("--quick", action="store_true", help="the few marked quick, once each, no hypotheses")
    parser.add_argument("--peer", default="", choices=PEERS, help="run the same on Linux")


def from_arguments(args: argparse.Namespace) -> Settings:
    path = Path(args.file).resolve() if args.file else FILE
    file = str(path.relative_to(definition.TOP) if path.is_relative_to(definition.TOP) else path)
    return Settings(file, tuple(args.name), args.quick, args.peer)
