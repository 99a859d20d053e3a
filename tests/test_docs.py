# SPDX-License-Identifier: MIT
"""What comments and pages name exists: files, functions, tunables, system calls.  What they tell to type can be typed."""

import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import pytest

import docnames
import harness
import house
import lint
from homeroom import draw, machine

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = [str(path) for path in lint.tracked()]
PAGES = [name for name in NAMES if name.endswith(".md") and not name.startswith("docs/results/")]  # those are records
HINT = "mend the name, or add it to FOREIGN of tests/docnames.py if it is another system's:\n"


@pytest.fixture(scope="module")
def tree():
    return docnames.read_tree(ROOT, NAMES)


def test_names_in_comments_exist(tree):
    faults = list(tree.faults_of_comments())
    assert not faults, HINT + "\n".join(faults)


@pytest.mark.parametrize("page", PAGES)
def test_names_in_pages_exist(page, tree):
    faults = list(tree.faults_of_page(page, (ROOT / page).read_text()))
    assert not faults, HINT + "\n".join(faults)


@pytest.mark.parametrize(
    "text, fault",
    [
        ("see kernel/vm/absent.c", "there is no file kernel/vm/absent.c"),
        ("see vm/absent.h", "there is no file vm/absent.h"),
        ("see tests/test_absent.py", "there is no file tests/test_absent.py"),
        ("see docs/absent.md", "there is no file docs/absent.md"),
        ("see absent.c", "there is no file absent.c"),
        ("see check.h", "check.h is tests/host/check.h or user/test/check.h: name the folder"),
        ("see tests/absent_*.py", "tests/absent_*.py fits no file"),
        ("below kernel/nowhere/", "there is no file or folder kernel/nowhere/"),
        ("calls absentee(), once", "there is no function absentee()"),
        ("absent_one - does it", "the code has no name absent_one"),
        ("the tunable trace_absent is read", "there is no tunable trace_absent"),
        ("set ufs:absent=1 in /etc/system", "there is no tunable absent"),
        ("TUNABLES    trace_enable, as_query", "there is no tunable as_query"),
    ],
)
def test_a_name_that_is_not_there_is_found(tree, text, fault):
    """In a comment of each language, and in a page."""
    sources = {"kernel/vm/odd.c": f"int odd; /* {text} */", "tools/odd.py": f'def odd():\n    """{text}"""\n'}
    sources["odd.mk"] = f"odd: # {text}"
    for name, source in sources.items():
        comments, _, _ = docnames.splitter(name, source)(source)
        assert fault in list(tree.faults_of(name, comments[0][1])), name
    assert fault in list(tree.faults_of_page("docs/odd.md", f"A page: `{text}`"))


def test_tunables_in_blocks_of_code(tree):
    block = "```console\n# echo {0}/W 1 | mdb -kw; absent(); cat vm/absent.c\n```\n"
    assert not list(tree.faults_of_page("docs/odd.md", block.format("trace_enable")))
    assert list(tree.faults_of_page("docs/odd.md", block.format("trace_no"))) == ["there is no tunable trace_no"]


def test_names_that_are_there_are_not_found(tree):
    text = """kernel/vm/as.c vm/as.c as.h tests/test_*.py kernel/vm/ labs/NAME/lab.toml fork() as_query() test_boot THIRD_PARTY
        <linux/futex.h> /etc/absent.sh build/absent.img set ufs:freebehind=0; ufs_WRITES/W the tunable trace_enable"""
    assert not list(tree.faults_of("kernel/vm/fault.c", text))


def test_comments_are_told_from_strings():
    assert docnames.split_c('a("/* x */", \'"\'); /* b\n */ c // d\ne')[0] == [(1, "/* b\n */"), (2, "// d")]
    comments, _, strings = docnames.split_python('"""a"""\nx = (\n    "b",  # c\n)\n')
    assert comments == [(1, '"""a"""'), (3, "# c")] and strings == '"b"'


def test_a_file_that_moves_is_found():
    """The comments that name it are found."""
    without = docnames.read_tree(ROOT, [name for name in NAMES if name != "kernel/pages/reserve.c"])
    assert any(fault.startswith("kernel/proc/oom.c:") and "pages/reserve.c" in fault for fault in without.faults_of_comments())


def test_tunables_are_listed(tree):
    """The tables of docs/tunables.md have what TUNABLE() registers and nothing else; tests/test_sys.py compares the ranges."""
    text = (ROOT / "docs/tunables.md").read_text().partition("## The variables")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    listed = sorted(name for cell in cells for name in re.findall(r"`([\w:]+)`", cell))
    assert listed == sorted(tree.tunables)


def calls_of_page(text):
    """The system calls that docs/syscalls.md lists, by the file that answers them."""
    section = text.partition("### What is where\n")[2].partition("\n### ")[0]
    rows = re.findall(r"^- `(\w+\.c)`(.*?)(?=^- |\Z)", section, re.M | re.S)
    return {file: sorted(re.findall(r"`(\w+)`", row)) for file, row in rows}


def calls_of_kernel():
    table = (ROOT / "kernel/sys/syscalls.tbl.h").read_text().partition("#define SYSCALLS(X)")[2].partition("#define")[0]
    there = set(re.findall(r"X\(\d+, (\w+)\)", table))
    found = {file.name: re.findall(r"^long sys_(\w+)\(", file.read_text(), re.M) for file in ROOT.glob("kernel/sys/*.c")}
    assert there == {name for names in found.values() for name in names}
    return {file: sorted(names) for file, names in found.items() if names}


def test_system_calls_are_listed():
    """docs/syscalls.md has every call of the table, in the file that answers it, and no other."""
    text = (ROOT / "docs/syscalls.md").read_text()
    assert calls_of_page(text) == calls_of_kernel()
    assert (
        calls_of_page(text.replace("`mremap`, ", "")) != calls_of_kernel() != calls_of_page(text.replace("`futex`", "`futile`"))
    )


@pytest.mark.parametrize("page", PAGES)
def test_make_lines_can_be_typed(page):
    """The variables of each `make ...` are known to the Makefile, and a name after -k is one of a test."""
    text = (ROOT / page).read_text()
    words, blocks = docnames.in_code(text)
    lines = [line.split(" # ")[0] for line in re.findall(r"^ {4,}(.*)$", text, re.M)]
    makes = [found for part in [*words, *blocks, *lines] for found in re.findall(r"\bmake [^|&;#\n]*", part)]
    makefile = re.sub(r"\\\n", "", (ROOT / "Makefile").read_text())
    known = set(" ".join(re.findall(r"^(?:RUN_VARS|COURSE_VARS|KNOWN) *\+?:?= *(.*)$", makefile, re.M)).split())
    given = {name for make in makes for name in re.findall(r"(?<=\s)([A-Z_]+)=", re.sub(r"'[^']*'|\"[^\"]*\"", "", make))}
    assert given - known == set(), f"{page}: the Makefile refuses these variables"
    tests = " ".join(str(file.relative_to(ROOT)) + file.read_text() for file in ROOT.glob("tests/test_*.py"))
    chosen = {name for make in makes for name in re.findall(r"PYTEST='-k (\w+)", make)}
    absent = {name for name in chosen if not re.search(rf"tests/test_\w*{name}|def test_\w*{name}", tests)}
    assert absent == set(), f"{page}: no test has these names"


def test_the_reading_order_is_short():
    """The files that docs/index.md has a newcomer read have at most 4,500 lines of code."""
    files = re.findall(r"^\| +\d+ \| `([\w/.]+)` \|", (ROOT / "docs/index.md").read_text(), re.M)
    assert 12 <= len(files) <= 20 and sum(house.count_lines((ROOT / file).read_text())[0] for file in files) <= 4500


def test_figures_are_as_made():
    """The figures that are made from tables are those that the tables make now."""
    old = [path.name for path, text in draw.figures().items() if not path.is_file() or path.read_text() != text]
    assert not old, "make generated, and commit what it changes"


@pytest.mark.parametrize("name", machine.names())
def test_every_machine_can_be_drawn(name):
    """As wide as the page, with each CPU once."""
    svg = xml.etree.ElementTree.fromstring(draw.draw_machine(name))
    space = "{http://www.w3.org/2000/svg}"
    words = [text.text for text in svg.iter(f"{space}text")]
    assert svg.get("width") == "760" and svg.findtext(f"{space}title")
    assert sorted(int(word) for word in words if word.isdigit()) == list(range(machine.load(name).cpus))


def test_layers_are_explained():
    """docs/layers.md has each folder of lint.ROOMS once, from the highest layer down, in one sentence."""
    rows = draw.ROW.findall((ROOT / "docs/layers.md").read_text())
    names = [name for _, name, _, _ in rows]
    assert sorted(names) == sorted(lint.LEVEL)
    assert [lint.LEVEL[name] for name in names] == sorted(lint.LEVEL.values(), reverse=True)
    assert all((ROOT / path).is_dir() for path, *_ in rows)
    assert not [row for row in rows if not re.fullmatch(r"It [^.]*(?:\.md[^.]*)*\.", row[3])]


def test_every_page_is_in_the_book():
    """The nav of mkdocs.yml has each page of docs/ once."""
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    pages = [name.removeprefix("docs/") for name in NAMES if re.fullmatch(r"docs/.*\.md", name)]
    assert sorted(re.findall(r": (\S+\.md)$", nav, re.M)) == sorted(pages)


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
