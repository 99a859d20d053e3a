# SPDX-License-Identifier: MIT
"""term.py - what the term's seed changes: numbers and rules of the labs.

THEORY      A lab has parameters (`[[parameter]]` in labs/NAME/lab.toml).  Each has the value of the kernel in this tree, and
            other values, of which the term's seed draws one.  With the seed 0 all parameters have the tree's value.
            The tests of a lab read the values (`t.term`), and its handout has a sentence for each.  So a solution of the
            tree, or of another term, is wrong.
            A student's tree knows its own term only: its labs/NAME/lab.toml has one value for each parameter.
SEE ALSO    solution.py (the solution of a term), release.py (the handout of a term)
"""

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homeroom.course.lab import Lab


@dataclass(frozen=True)
class Parameter:
    name: str
    tree: int  # the value in this tree
    values: tuple[int, ...]  # of a term
    handout: dict[str, str]  # by value: what the handout says; "any": of the others, with {value} in it

    def sentence(self, value: int) -> str:
        return self.handout.get(str(value)) or self.handout["any"].format(value=value)


def parameter(name: str, tree: int, handout: dict[str, str] | None = None, values=(), between=()) -> Parameter:
    """A parameter as labs/NAME/lab.toml has it: with a list of values, or with the first and the last one."""
    found = Parameter(name, tree, tuple(values or (range(between[0], between[1] + 1) if between else ())), handout or {})
    if found.values and (tree in found.values or str(tree) not in found.handout):
        raise ValueError(f"parameter {name}: the tree's value is one of the others, or has no sentence")
    return found


def values(lab: "Lab", seed: int) -> dict[str, int]:
    """The parameters of a lab in the term of that seed.  ValueError in a tree that knows one term only, if it is not 0."""
    draw = random.Random(f"{seed} {lab.name}")
    if seed and any(not p.values for p in lab.parameters):
        raise ValueError("this tree has the rules of one term only: leave the term's seed out")
    return {p.name: draw.choice(p.values) if seed else p.tree for p in lab.parameters}


def fixed(lab: "Lab", text: str, seed: int) -> str:
    """labs/NAME/lab.toml, whose text is given, with the values of a term only."""
    blocks = re.split(r"^(?=\[\[)", text, flags=re.M)
    kept = "".join(block for block in blocks if not block.startswith("[[parameter]]")).rstrip()
    chosen = "".join(f'\n[[parameter]]\nname = "{name}"\ntree = {value}\n' for name, value in values(lab, seed).items())
    return f"{kept}\n{chosen}"


def handout(lab: "Lab", text: str, seed: int) -> str:
    """The handout, whose text for this tree is given, with the sentences of a term."""
    chosen = values(lab, seed)
    for p in lab.parameters:
        if text.count(p.sentence(p.tree)) != 1:
            raise ValueError(f"labs/{lab.name}/README.md does not say once: {p.sentence(p.tree)}")
        text = text.replace(p.sentence(p.tree), p.sentence(chosen[p.name]))
    return text
