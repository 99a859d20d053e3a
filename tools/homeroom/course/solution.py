# SPDX-License-Identifier: MIT
"""solution.py - solutions and wrong answers of a lab, as only an instructor's tree has them.

THEORY      This tree is the solution of its labs.  Files in instructor/ list edits of it.  The `old` of an edit stands exactly
            once in the regions of the lab.
FILES       instructor/NAME/term.toml: [[edit]] parameter, old, new, values: for the solution of a term whose parameter has one
            of these values (if there are no `values`: any but the tree's); {value} in `new` is the value
            instructor/NAME/beyond.toml: [[edit]] old, new: the part beyond, which has no solution in the tree
            instructor/NAME/mistakes.toml: ["title"] old, new, fails: a typical wrong answer, and the tests that it must fail
USAGE       make course SOLUTION=folder LABS=home TERM_SEED=7: the files of the labs with the solution of that term
"""

import argparse
import sys
import tomllib
from pathlib import Path

from homeroom.course import experiment, regions, term
from homeroom.course import lab as labs
from homeroom.course.lab import Lab, LabError
from homeroom.machine import TOP

Texts = dict[str, str]  # by region


def tree(lab: Lab) -> Texts:
    """The regions of this tree; of a lab without regions the files of instructor/NAME/solution/."""
    if lab.files:
        return {path.name: path.read_text() for path in sorted((TOP / "instructor" / lab.name / "solution").iterdir())}
    return {r.name: regions.region_of((TOP / r.file).read_text(), r.name, r.file) for r in lab.regions}


def edited(texts: Texts, old: str, new: str, where: str) -> Texts:
    """The regions after an edit.  LabError if `old` is not in them, or twice."""
    if (found := sum(text.count(old) for text in texts.values())) != 1:
        raise LabError(f"{where}: found {found} times in the regions: {old.strip()}")
    return {name: text.replace(old, new) for name, text in texts.items()}


def listed(lab: Lab, file: str) -> dict:
    path = TOP / "instructor" / lab.name / file
    return tomllib.loads(path.read_text()) if path.exists() else {}


def of_term(lab: Lab, seed: int) -> Texts:
    """The solution of the term of that seed; 0: of this tree."""
    texts, chosen = tree(lab), term.values(lab, seed)
    trees = {p.name: p.tree for p in lab.parameters}
    for edit in listed(lab, "term.toml").get("edit", []):
        value = chosen[edit["parameter"]]
        if value != trees[edit["parameter"]] and value in edit.get("values", [value]):
            texts = edited(texts, edit["old"], edit["new"].replace("{value}", str(value)), f"instructor/{lab.name}/term.toml")
    return texts


def beyond(lab: Lab, texts: Texts) -> Texts:
    """The regions with the part beyond."""
    for edit in listed(lab, "beyond.toml").get("edit", []):
        texts = edited(texts, edit["old"], edit["new"], f"instructor/{lab.name}/beyond.toml")
    return texts


def mistakes(lab: Lab) -> dict[str, tuple[Texts, list[str]]]:
    """By title: the regions with a mistake, and the tests that it fails."""
    found = {}
    for title, edit in listed(lab, "mistakes.toml").items():
        texts = edited(tree(lab), edit["old"], edit["new"], f"instructor/{lab.name}/mistakes.toml")
        if lab.files:
            texts = experiment.recorded_again(texts, edit.get("log", ["predict", "measure"]))
        found[title] = texts, edit["fails"]
    return found


def written(lab: Lab, texts: Texts, folder: Path) -> list[Path]:
    """Write the files of a lab with these texts in their regions, without folders.  Returns them."""
    files = dict(texts) if lab.files else {}
    for region in lab.regions:
        text = files.get(region.file) or (TOP / region.file).read_text()
        files[region.file] = regions.replaced(text, region.name, texts[region.name], region.file)
    for file, text in files.items():
        (folder / Path(file).name).write_text(text)
    return [folder / Path(file).name for file in files]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="course", description="Write the solution of a term.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labs", required=True)
    parser.add_argument("--term", type=labs.number, default=0)
    args = parser.parse_args(argv)
    try:
        for lab in labs.chosen(args.labs):
            folder = args.folder / lab.name
            folder.mkdir(parents=True)
            for file in written(lab, of_term(lab, args.term), folder):
                print(file)
    except (LabError, OSError) as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    labs.command("course", main)
