# SPDX-License-Identifier: MIT
"""settings.py - the settings of one call of `make experiments`, and their forms.

The settings go from make to __main__.py, from there to Snakemake (--config), which reads the Snakefile, and from there to the
command line of each job.  Each step has the same five settings, in another form.
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
    full: bool = False

    @functools.cached_property
    def suite(self) -> definition.Suite:
        suite = definition.load(definition.TOP / self.file)
        if self.quick:
            suite.repeat = 1
        return suite

    def experiments(self) -> list[definition.Experiment]:
        return self.suite.pick(list(self.names), self.quick, self.full)

    def runs(self) -> list[tuple[definition.Run, int]]:
        return self.suite.runs(self.experiments(), bool(self.peer), self.full)

    def arguments(self) -> str:
        """The settings as command-line options, quoted for the shell."""
        words = ["--file", self.file, "--peer", self.peer]
        words += [f"--{name}" for name in ("quick", "full") if getattr(self, name)]
        return shlex.join([*words, *(word for name in self.names for word in ("--name", name))])

    def config(self) -> list[str]:
        """The settings as arguments for Snakemake."""
        words = [f"file={self.file}", f"names={','.join(self.names)}", f"peer={self.peer}"]
        return ["--config", *words, f"quick={int(self.quick)}", f"full={int(self.full)}"]


def from_config(config: dict) -> Settings:
    """The settings in Snakemake's `config`."""
    names = tuple(filter(None, str(config.get("names", "") or "").split(",")))
    file = config.get("file") or Settings.file
    quick, full = (bool(int(config.get(name) or 0)) for name in ("quick", "full"))
    return Settings(file, names, quick, str(config.get("peer") or ""), full)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", help="definition of the experiments")
    parser.add_argument("--name", action="append", default=[], help="only this experiment (may be repeated)")
    parser.add_argument("--quick", action="store_true", help="only the experiments marked quick, once each")
    parser.add_argument("--full", action="store_true", help="also hypotheses, and the experiments marked full")
    parser.add_argument("--peer", default="", choices=PEERS, help="also run the benchmarks on Linux")


def from_arguments(args: argparse.Namespace) -> Settings:
    path = Path(args.file).resolve() if args.file else FILE
    file = str(path.relative_to(definition.TOP) if path.is_relative_to(definition.TOP) else path)
    return Settings(file, tuple(args.name), args.quick, args.peer, args.full)
