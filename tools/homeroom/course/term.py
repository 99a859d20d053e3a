# SPDX-License-Identifier: MIT
"""term.py - what the term's seed changes: numbers and rules of the labs.

THEORY      A lab has parameters (`[[parameter]]` in labs/NAME/lab.toml).  Each has the value of the kernel in this tree, and
            other values, of which the term's seed draws one.  The seed stands in a file of labs/ (FILE), which only a
            student's tree has; without it, and with --term 0, all parameters have the tree's value.
            The tests of a lab read the values (`t.term`), and its handout has a sentence for each.  So a solution of the
            tree, or of another term, is wrong.
SEE ALSO    solution.py (the solution of a term), release.py (the handout of a term)
"""

import random
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homeroom.machine import TOP

if TYPE_CHECKING:
    from homeroom.course.lab import Lab

FILE = "labs/term.toml"


@dataclass(frozen=True)
class Parameter:
    name: str
    tree: int  # the value in this tree
    values: tuple[int, ...]  # of a term
    handout: dict[str, str]  # by value: what the handout says; "any": of the others, with {value} in it

    def sentence(self, value: int) -> str:
        return self.handout.get(str(value)) or self.handout["any"].format(value=value)


def parameter(name: str, tree: int, handout: dict[str, str], values=(), between=()) -> Parameter:
    """A parameter as labs/NAME/lab.toml has it: with a list of values, or with the first and the last one."""
    found = Parameter(name, tree, tuple(values or range(between[0], between[1] + 1)), handout)
    if not found.values or tree in found.values or str(tree) not in handout:
        raise ValueError(f"parameter {name}: there are no values, or the tree's is one of them, or has no sentence")
    return found


def seed_in_place() -> int:
    """The term's seed of this tree; 0: it has none."""
    path = TOP / FILE
    return tomllib.loads(path.read_text())["seed"] if path.exists() else 0


def values(lab: "Lab", seed: int) -> dict[str, int]:
    """The parameters of a lab in the term of that seed."""
    draw = random.Random(f"{seed} {lab.name}")
    return {p.name: draw.choice(p.values) if seed else p.tree for p in lab.parameters}


def handout(lab: "Lab", text: str, seed: int) -> str:
    """The handout, whose text for this tree is given, with the sentences of a term."""
    chosen = values(lab, seed)
    for p in lab.parameters:
        if text.count(p.sentence(p.tree)) != 1:
            raise ValueError(f"labs/{lab.name}/README.md does not say once: {p.sentence(p.tree)}")
        text = text.replace(p.sentence(p.tree), p.sentence(chosen[p.name]))
    return text
