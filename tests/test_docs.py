# SPDX-License-Identifier: MIT
"""What the documentation names must exist: files, functions, variables of /etc/system."""

import os
import pathlib
import re
import subprocess

import pytest

import harness
import house
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


def test_tunables_are_listed():
    """Every registered variable is in a table of docs/tunables.md; tests/test_sys.py compares the ranges."""
    macro = r'^TUNABLE(?:_IF|_HOOK|_RO)?\(\s*(\w+),|^TUNABLE(?:_RO)?_M\("(\w+)", (\w+),'
    found = [m for folder in ("kernel", "drivers") for file in ROOT.glob(f"{folder}/**/*.c")
             for m in re.findall(macro, file.read_text(), re.M)]  # fmt: skip
    registered = {name or f"{module}:{member}" for name, module, member in found}
    rows = [line.split("|")[1] for line in (ROOT / "docs/tunables.md").read_text().splitlines() if line.startswith("| `")]
    listed = {name for cell in rows for name in re.findall(r"`([\w:]+)`", cell) if not name.startswith("nonsense")}
    assert registered and registered - listed == set()


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


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_make_lines_can_be_typed(page):
    """The variables of each `make ...` are known to the Makefile, and a name after -k is one of a test."""
    words, blocks = in_code(page)
    lines = [line.split(" # ")[0] for line in re.findall(r"^ {4,}(.*)$", page.read_text(), re.M)]
    makes = [found for text in [*words, *blocks, *lines] for found in re.findall(r"\bmake [^|&;#\n]*", text)]
    makefile = re.sub(r"\\\n", "", (ROOT / "Makefile").read_text())
    known = set(" ".join(re.findall(r"^(?:RUN_VARS|KNOWN) *\+?:?= *(.*)$", makefile, re.M)).split())
    given = {name for make in makes for name in re.findall(r"(?<=\s)([A-Z_]+)=", re.sub(r"'[^']*'|\"[^\"]*\"", "", make))}
    assert given - known == set(), f"{page.name}: the Makefile refuses these variables"
    tests = " ".join(str(file.relative_to(ROOT)) + file.read_text() for file in ROOT.glob("tests/test_*.py"))
    chosen = {name for make in makes for name in re.findall(r"PYTEST='-k (\w+)", make)}
    absent = {name for name in chosen if not re.search(rf"tests/test_\w*{name}|def test_\w*{name}", tests)}
    assert absent == set(), f"{page.name}: no test has these names"


def test_the_reading_order_is_short():
    """The files that docs/index.md has a newcomer read have at most 4,500 lines of code."""
    files = re.findall(r"^\| +\d+ \| `([\w/.]+)` \|", (ROOT / "docs/index.md").read_text(), re.M)
    assert 12 <= len(files) <= 20 and sum(house.count_lines((ROOT / file).read_text())[0] for file in files) <= 4500


def test_the_book_is_built(tmp_path):
    """Without a warning, and no page wants anything from the network."""
    mkdocs = ROOT / ".venv-docs/bin/mkdocs"
    if not mkdocs.exists():
        harness.lacking("docs", "tools/deps.sh docs")
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([mkdocs, "build", "--strict", "-d", tmp_path], cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    html = [page.read_text() for page in tmp_path.rglob("*.html")]
    assert len(html) > 25 and not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="?(?:https?:)?//[^>]*>', "\n".join(html))
