# SPDX-License-Identifier: MIT
"""test_lint.py - make lint finds its faults: one fault of each kind is put into a copy of the tree."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import lint as linter
from homeroom.machine import TOP

GOOD = "// SPDX-License-Identifier: MIT\n"
SHELLCHECK = pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is missing: tools/deps.sh lint")
BODY = GOOD + "int odd_one(int a)\n{{\n    {0};\n}}\n"
STATIC = GOOD + "static int {0}(void)\n{{\n    return 0;\n}}\n\nint {1}(void)\n{{\n    return {0}();\n}}\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the files that lint checks."""
    folder = tmp_path_factory.mktemp("lint") / "tree"
    folder.mkdir()
    for name in linter.tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, folder / name)
    (folder / ".venv").symlink_to(TOP / ".venv")
    return folder


def lint(tree, *files):
    done = subprocess.run(["python3", "tools/lint.py", *files], cwd=tree, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("kernel/vm/odd.c", "int odd_one;\n", r"odd\.c:1: no SPDX-License-Identifier"),
        ("kernel/vm/odd.c", GOOD + '#include "proc/proc.h"\n', r"odd\.c:2: vm is below proc and may not include"),
        ("kernel/sys/odd.c", GOOD + '#include "pages/radix.h"\n', r'odd\.c:2: "pages/radix\.h" is a private header of pages/'),
        (
            "kernel/vm/odd.h",
            GOOD + "/* ---- implemented by proc/ ---- */\nvoid odd_one(void);\n",
            r"odd\.h:1: odd_one\(\) is not implemented by proc/",
        ),
        ("kernel/odd/odd.c", GOOD, r"odd\.c:1: room 'odd' has no place among the layers"),
        (
            "kernel/vm/odd.c",
            STATIC.format("alloc_slow", "odd_one"),
            r"odd\.c:1: static alloc_slow\(\) is in kernel/mem/page\.c",
        ),
        ("kernel/vm/odd.c", STATIC.format("fill", "odd_one"), r"static fill\(\): say what it does to what"),
        (
            "kernel/sys/odd.c",
            BODY.format("if (a > 0 && (a = f(a)) != 0)\n        return 1;\n    return 0"),
            r"odd\.c:4: an assignment in the condition of an if",
        ),
        (
            "drivers/odd.c",
            BODY.format("return a > 0 ? 1 : a < 0 ? -1 : 0"),
            r"odd\.c:4: a conditional expression in another one",
        ),
        (
            "kernel/sys/odd.c",
            BODY.format("return (a > f(a > 0 ? 1 : 2)) ? 3 : 4"),
            r"odd\.c:4: a conditional expression in another one",
        ),
        ("kernel/vm/odd.c", GOOD + "int  odd_one;\n", r"code should be clang-formatted"),
        ("user/cmd/odd.c", GOOD + "int  odd_one;\n", r"code should be clang-formatted"),
        ("kernel/vm/odd.c", GOOD + "int odd_one; \n", r"odd\.c:2: blanks at the end of the line"),
        ("tests/host/odd.c", GOOD + "\tint odd_one;\n", r"odd\.c:2: a tab"),
        ("tests/host/odd.c", GOOD + f"/* {'x' * 120} */\n", r"odd\.c:2: 126 columns; at most 120"),
        ("tests/host/odd.c", GOOD + f"/* /{'home'}/someone/tree */\n", r"odd\.c:2: a path of one developer's machine"),
        ("tools/odd.py", GOOD.replace("//", "#") + "import os\n", r"F401"),
        pytest.param("tools/odd.sh", "#!/bin/sh\n" + GOOD.replace("//", "#") + "echo $1\n", r"SC2086", marks=SHELLCHECK),
    ],
)
def test_a_fault_is_found(tree, name, text, said):
    path = tree / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    try:
        status, out = lint(tree, name)
    finally:
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    assert status == 1 and re.search(said, out), out


def test_plain_conditions():
    fine = """
    while ((x = next()) != NULL) /* if (a = b) */
        f(a ? b : c, d ? e : g);
    if (x <= y || x >= z || x != w)
        a[i ? j : k] = l ? m : n;
    v = (p ? q : r) | (s ? t : u); // a ? b : c ? d : e
    if (p ? q : r)
        return s ? "? ?" : '?';
#define ODD(a) ((a) ? 1 : 2)
#define EVEN(a) ((a) ? 2 : 1)
    """
    assert not list(linter.conditions(Path("kernel/sys/odd.c"), fine))
    for bad in "if (a == b && (c += d))", "if ((a <<= 1) == 0)", "a = b ? (c ? d : e) : f;", "f(a ? b : c ? d : e);":
        assert len(list(linter.conditions(Path("kernel/sys/odd.c"), bad))) == 1, bad


def test_subjects_of_commits():
    assert not list(linter.subject_faults("1234", "vm: copy a page only once"))
    assert "80 characters" in next(linter.subject_faults("1234", "vm: " + "x" * 76))
    assert "begins with the area" in next(linter.subject_faults("1234", "Fixed a bug"))
