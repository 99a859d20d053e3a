# SPDX-License-Identifier: MIT
"""What the documentation names must exist: files, functions, variables of /etc/system."""

import pathlib
import re

import pytest

import lint

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("labs/*/README.md"), *ROOT.glob("README.md")])
FOLDERS = "boot|docs|drivers|include|kernel|labs|qemu|tests|tools|user"


def in_code(page):
    """Everything between backquotes, code blocks included."""
    text = page.read_text()
    blocks = re.findall(r"```.*?```", text, re.S)
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S)), blocks


def sources():
    names = (str(path) for path in lint.tracked())
    wanted = (name for name in names if re.search(r"\.(c|h|S|py|mk|toml|sh)$|^Makefile$|^tools/", name))
    return "\n".join((ROOT / name).read_text(errors="replace") for name in wanted)


@pytest.fixture(scope="module")
def identifiers():
    return set(re.findall(r"[A-Za-z_]\w*", sources()))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_names_exist(page, identifiers):
    """Paths `kernel/...`, functions `name()` and variables `set name=...` are there."""
    words, blocks = in_code(page)
    missing = []
    for word in words:
        path = re.fullmatch(rf"(?:{FOLDERS})(?:/[\w.+-]+)+/?", word)
        if path and not list(ROOT.glob(word.rstrip("/"))) and not word.startswith("build/"):
            missing.append(word)
        call = re.fullmatch(r"([A-Za-z_]\w*)\(\)", word)
        if call and call.group(1) not in identifiers:
            missing.append(word)
    for name in re.findall(r"\bset (?:\w+:)?([a-z]\w+) ?=", " ".join(words + blocks)):
        if name not in identifiers and name not in ("x", "y", "name"):
            missing.append(f"set {name}")
    assert not missing, f"{page.name} names what is not there: {', '.join(missing)}"
