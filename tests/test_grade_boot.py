# SPDX-License-Identifier: MIT
"""test_grade_boot.py - boot tests of labs: verdicts rest on what QEMU sees, so code in ring 0 gets no points for what it says.

The forgers below know that they run in a kernel: there, `in` is an address of the upper half.  On the host they are right.
"""

import re
import subprocess
from pathlib import Path

import pytest

from homeroom.course import boot, build, lab, solution
from homeroom.course import grade as grader
from homeroom.course.lab import Lab, LabError
from homeroom.course.trial import Trial, Wrong
from homeroom.machine import TOP

pytestmark = pytest.mark.xdist_group("grade")  # all use build/grade
HOME = lab.load("home")
BOOTED = [name for name in lab.names() if lab.load(name).forgeable]
SIGNATURE = "unsigned lgrp_choose_home(const struct lgrp_home_in *in)\n{\n"
IN_KERNEL = "(long)(unsigned long)in < 0"


def wanting(condition: str, forged: str) -> str:
    """The solution, with code in front that runs where the condition holds."""
    text = solution.tree(HOME)["home"]
    assert text.count(SIGNATURE) == 1
    return text.replace(SIGNATURE, f"{SIGNATURE}    if ({condition}) {{ {forged} }}\n")


def in_kernel(forged: str) -> str:
    return wanting(IN_KERNEL, forged)


def folder(name: str) -> Path:
    """A folder on the same file system as the grader's objects."""
    path = TOP / "build/grade" / f"test_{name}"
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture(scope="module")
def kernel():
    """kernel(text, instructions): the kernel with this text in the region `home`, and the builder's faults."""
    builder = boot.KernelBuilder(HOME, folder("kernel"))

    def made(text: str, most: int = 10**9):
        faults = builder.build({"home": text})
        return boot.Kernel(builder.elf, most), faults

    return made


def booted(kernel, text: str, most: int = 10**9) -> boot.Run:
    one, faults = kernel(text, most)
    assert not faults
    return one.boot("sf3800", "memcopy -t 8 -P 192 -i 60", 1)


# ---- definitions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BOOTED)
def test_the_bound_of_a_forger_is_stated(name):
    """A forger of boot tests gets their points and no more, and each of them needs tests on the host."""
    one = lab.load(name)
    tests = [test for test in one.tests if test.boot]
    assert sum(test.points for test in tests) == one.forgeable < 100 and one.boot_minstr
    for test in tests:
        needed = [other for other in one.tests if other.name in one.needed(test)]
        assert sum(other.points for other in needed if not other.boot) > test.points
    assert {"frames", "home", "journal", "paging", "placement", "sets", "topology"} == set(BOOTED)


def test_a_boot_test_needs_the_host_tests_of_its_part(monkeypatch, tmp_path):
    tests = [
        lab.Test("one", 1, "", part="a"),
        lab.Test("two", 1, "", part="a"),
        lab.Test("other", 1, "", part="b"),
        lab.Test("extra", 1, "", part="a", beyond=True),
        lab.Test("boot_a", 1, "", needs=("a",), part="a", boot=True),
        lab.Test("boot_b", 1, "", needs=("b",), part="b", boot=True),
    ]
    made = Lab("home", "", "home", 1, HOME.regions, tuple(tests))
    run = []
    monkeypatch.setattr(grader.Grader, "_run", lambda self, test, *_: "wrong" if test.name in ("two", "extra") else None)
    monkeypatch.setattr(grader.Grader, "_boot", lambda self, test, *_: run.append(test.name))
    monkeypatch.setattr(Lab, "functions", lambda self: type("", (), {test.name: None for test in tests}))
    one = grader.Grader(made, build.Submission({}, [], []), 1, 0, tmp_path)
    scores = {entry["number"]: entry["score"] for entry in one.grade(None)}
    assert run == ["boot_b"] and scores["boot_b"] == 1 and scores["boot_a"] == 0
    assert "it needs two, which failed" in (tmp_path / "boot_a.log").read_text()


# ---- what a region may not have ----------------------------------------------------------------


def refused(text: str, tmp_path) -> list[str]:
    """What is refused in the lines of a function that has `v`, an integer, and `p`, a pointer."""
    source = tmp_path / "some.c"
    source.write_text(f"long f(unsigned long v, char *p)\n{{\n    {text}\n    return *p;\n}}\n")
    dump = tmp_path / "tree"
    subprocess.run(["gcc", "-O2", f"-fdump-tree-gimple-lineno={dump}", "-c", source, "-o", tmp_path / "some.o"], check=True)
    return list(boot.pointers_of_integers(dump.read_text(), source, {3}))


def test_a_pointer_of_an_integer_is_refused(tmp_path):
    for text in (
        "p = (char *)v; p[1] = 3;",
        "*(volatile unsigned *)0xffffffff80100000ul = 1;",
        "((void (*)(void))v)();",
        "typedef char *name; name q = (name)v; *q = 1;",
        "struct { char *p; } x = { (void *)v }; x.p[0] = 1;",
        "static long table[3]; *(int *)table[v] = 1;",
    ):
        (sentence,) = refused(text, tmp_path)
        assert sentence == f"a pointer that is made of an integer is not allowed in a region: {text[:60]}"
    for text in (
        "const char *q = p + v; v = (unsigned long)q; p = v > 3 ? (char *)0 : p;",
        "struct s { struct s *next; } *q = (struct s *)p; while (q) q = q->next;",
        "static char *head; p = __atomic_load_n(&head, __ATOMIC_SEQ_CST); p = __atomic_exchange_n(&head, p, __ATOMIC_SEQ_CST);",
    ):
        assert not refused(text, tmp_path), text


@pytest.mark.long
@pytest.mark.parametrize("name", lab.names())
def test_solutions_and_skeletons_make_no_pointer_of_an_integer(name):
    one = lab.load(name)
    builder = boot.KernelBuilder(one, folder(name))
    skeletons = {region.name: build.skeleton_of(region) for region in one.regions}
    assert builder.build(solution.tree(one)) == [] == builder.build(skeletons)


def test_a_region_that_does_not_compile_is_replaced(kernel):
    one, faults = kernel("this is no C\n")
    assert "home.c does not compile" in faults[0]
    assert "lgrp_choose_home" in subprocess.run(["nm", one._elf], capture_output=True, text=True, check=True).stdout


# ---- boots -------------------------------------------------------------------------------------


def test_a_boot_shows_where_programs_have_their_memory(kernel):
    """The solution passes, and it would not if the memory were that of the other board."""
    trial = Trial(None, "1", {})
    run = booted(kernel, solution.tree(HOME)["home"])
    trial.expect_own_memory("8 threads", run)
    assert 10**7 < run.instructions < 10**9
    table = run.by_domain()
    run.access = [list(reversed(row)) for row in run.access]
    with pytest.raises(Wrong, match=r"found: +\d+ \(\d %\), \d+ \(\d %\)"):
        trial.expect_own_memory("8 threads", run)
    assert run.by_domain() == [list(reversed(row)) for row in table]


def test_a_panic_leaves_its_backtrace(kernel):
    with pytest.raises(boot.BootError) as raised:
        booted(kernel, in_kernel("volatile unsigned char *p = NULL; *p = 1;"))
    text = str(raised.value)
    assert "the kernel panicked: " in text and re.search(r"lgrp_choose_home\+0x", text), text


def test_an_endless_loop_ends_by_its_instructions(kernel, monkeypatch):
    """The time of this host ends it only as a fault of the harness."""
    loop = in_kernel("for (volatile int i = 0;; i++) ;")
    with pytest.raises(boot.BootError, match="no end after 60 million instructions: stopped"):
        booted(kernel, loop, 60 * 10**6)
    monkeypatch.setattr(boot, "HOST_SECONDS", 0)
    with pytest.raises(LabError, match="grade again"):
        booted(kernel, loop, 10**15)  # the loop must not have used them up when this process runs again


# A union makes a pointer of an integer, and no check of the text or of the compiler's tree sees that.
FORGED = """static volatile unsigned long at = {at}ul;
        union {{ unsigned long n; void (*call)(const char *, ...); volatile unsigned char *byte; }} x = {{ at }};
        {code}"""
DIRECT_BASE, KERNEL_BASE = 0xFFFF888000000000, 0xFFFFFFFF80000000


def forger(kernel, name: str, code: str, base: int = KERNEL_BASE) -> str:
    """A region that does this in a kernel with x, the address of a function; `base`: of the mapping of the kernel there."""
    one, _ = kernel(in_kernel(FORGED.format(at=KERNEL_BASE, code=code)))
    words = subprocess.run(["nm", one._elf], capture_output=True, text=True, check=True).stdout.split()
    address = int(words[words.index(name) - 2], 16)  # the same for each value of `at`
    return in_kernel(FORGED.format(at=address - KERNEL_BASE + base, code=code))


def test_lines_on_the_verdict_port_give_nothing(kernel):
    """A kernel that ends the run early, and says that all is well, has no accesses to show."""
    run = booted(kernel, forger(kernel, "verdict", 'x.call("@test four_threads PASS"); x.call("@exit 0"); x.call("@done 0");'))
    with pytest.raises(Wrong, match="accesses of 8 threads"):
        Trial(None, "1", {}).expect_own_memory("8 threads", run)


@pytest.mark.parametrize(
    "code, said",
    [
        ("x.byte[1] = 0xcc;", "the kernel's text has changed: sys_reboot"),
        # A return in place of the function, which is executed and then replaced by what was there before.
        (
            "unsigned char first = *x.byte; *x.byte = 0xc3;"
            f'x.n += {KERNEL_BASE - DIRECT_BASE}ul; x.call(""); x.n -= {KERNEL_BASE - DIRECT_BASE}ul; *x.byte = first;',
            "the kernel was to run code that is not in its image: sys_reboot",
        ),
    ],
    ids=["left", "executed_and_put_back"],
)
def test_changed_text_is_found(kernel, code, said):
    """A function is changed through the kernel's mapping of all memory: whether the change stays or is executed, it is seen."""
    with pytest.raises(boot.BootError) as raised:
        booted(kernel, forger(kernel, "sys_reboot", code, DIRECT_BASE))
    assert str(raised.value).startswith(said)


@pytest.mark.long
@pytest.mark.parametrize("name", BOOTED)
def test_a_skeleton_fails_boot_tests_that_need_nothing(name, tmp_path):
    one = lab.load(name)
    skeletons = {region.name: build.skeleton_of(region) for region in one.regions}
    files = solution.written(one, skeletons, tmp_path)
    for test in one.tests:
        if test.boot:
            words = [word for file in files for word in ("--file", str(file))]
            assert grader.main([name, "--test", test.name, *words]) == 1, test.name
