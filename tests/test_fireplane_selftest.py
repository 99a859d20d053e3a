# SPDX-License-Identifier: MIT
"""test_fireplane_selftest.py - the model's self-test: it finds a plugin that counts wrong when the model is first armed.

A new version of QEMU could break the plugin.  Here changes of the plugin's source do (data/fireplane_broken.toml); the
self-test must end the run.
"""

import re
import shutil
import subprocess
import tomllib

import pytest

from homeroom import model
from homeroom.machine import TOP

BROKEN = tomllib.loads((TOP / "tests/data/fireplane_broken.toml").read_text())["broken"]


def compile_plugin(source, folder, files):
    """Compile some of the plugin's files; their object files are in `folder`."""
    command = ["gcc", "-std=gnu17", "-O2", "-fPIC", "-fvisibility=hidden", f"-I{source}", "-I", TOP / "include", "-c"]
    subprocess.run([*command, *files], cwd=folder, check=True)


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """A folder with the object files of the correct plugin."""
    folder = tmp_path_factory.mktemp("objects")
    source = TOP / "qemu/fireplane"
    compile_plugin(source, folder, sorted(source.glob("*.c")))
    return folder


@pytest.fixture
def break_plugin(objects, tmp_path, monkeypatch):
    """A function that makes the plugin of a row, and lets guests use it."""

    def break_it(row):
        source, name = tmp_path / "fireplane", row["file"]
        shutil.copytree(TOP / "qemu/fireplane", source)
        text = (source / name).read_text()
        for old, new in row["change"]:
            assert text.count(old) == 1, f"{name} has no {old!r}"
            text = text.replace(old, new)
        (source / name).write_text(text)
        shutil.copytree(objects, tmp_path / "o")
        changed = [source / name] if name.endswith(".c") else sorted(source.glob("*.c"))
        compile_plugin(source, tmp_path / "o", changed)
        plugin = tmp_path / "fireplane.so"
        subprocess.run(["gcc", "-shared", "-o", plugin, *sorted((tmp_path / "o").glob("*.o"))], check=True)
        monkeypatch.setattr(model, "PLUGIN", plugin)

    return break_it


WRONG = "fptest: the interconnect model counts wrong: "


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row["what"], marks=pytest.mark.long if n % 8 else []) for n, row in enumerate(BROKEN)]
)
def test_a_broken_plugin_is_refused(boot_once, break_plugin, row):
    break_plugin(row)
    outcome, text, _ = boot_once(row.get("machine", "sf3800"), run="cpustat -c EC_ref 1 1", model="fireplane")
    assert outcome.kind == "qemu" and outcome.status != 0, text
    assert re.fullmatch(r"fireplane: the model counts wrong on this QEMU \(\d+\.\d+\.\d+\): .*", outcome.detail)
    assert re.search(rf"^{WRONG}(?=CPU \d+: ).*(?:{row['says']})", text, re.MULTILINE), text
    assert "pic0" not in text, "nothing was counted"


@pytest.mark.long
def test_some_of_the_cpus_prove_nothing(boot_once, break_plugin):
    """A test that is bound to a good CPU proves only that CPU: the next one, not bound, finds the fault of another."""
    break_plugin(next(row for row in BROKEN if row["what"] == "turns of the last CPU that do not end"))
    run = "pbind -b 0 $$; fptest && echo good; pbind -u $$; fptest; echo alive"
    outcome, text, _ = boot_once("sf3800", run=run, model="fireplane")
    assert outcome.kind == "qemu" and "good" in text and f"{WRONG}CPU 7: slices: " in text and "alive" not in text, text


MODEL = pytest.mark.machine("sf3800", model="fireplane")


@pytest.mark.long
@MODEL
def test_it_passes_each_time(machine):
    """The test passes on any CPU, in a processor set, for any user, and on a busy machine."""
    machine.check("for i in 0 7; do pbind -b $i $$; fptest || exit 1; done")
    machine.check("su nobody -s /bin/sh -c fptest")
    machine.check("psrset -c 2 3; psrset -e 1 fptest; s=$?; psrset -d 1; exit $s")
    machine.check("for i in 1 2 3 4 5 6 7 8 9; do sh -c 'while :; do :; done' & done; fptest; s=$?; kill $(jobs -p); exit $s")


@pytest.mark.parametrize(
    "name, options",
    [
        ("sf6800", {"system": "set mpo_enable=0", "model_set": "ecache_kib=128"}),
        ("sf15k", {"boards": 2, "model_set": "ecache_kib=128; write_allocate=always"}),
        ("t2000", {}),
        ("sf280r", {"model_set": "skew_ps=10000; order_ps=10000"}),
    ],
)
def test_it_passes_on(boot_once, name, options):
    """The test passes with boards that the system does not distinguish, with one board, with other parameters."""
    outcome, text, _ = boot_once(name, run="fptest", model="fireplane", **options)
    assert outcome.status == 0 and "tested" not in text, text


FAR_OFF = ["ecache_kib=32", "ecache_kib=128; ecache_ways=1", "skew_ps=1000; order_ps=1000", "memory_mbps=300"]


@pytest.mark.parametrize("setting", [*FAR_OFF, "remote_ps=2000000; remote_miss_ps=2000000"])
def test_parameters_that_are_too_far_off(boot_once, setting):
    """With these legal parameters the test's own accesses would disturb the measurement; the test says so."""
    run = "memcopy -t 1 -n 64k -p both && echo counted"
    outcome, text, _ = boot_once("sf3800", run=run, model="fireplane", model_set=setting)
    assert outcome.status == 0 and "counted" in text, text
    assert text.count("fptest: the model is not tested with these parameters: ") == 1, text


FORKS = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sh -c 'while :; do /bin/true; done' & done; "


def test_beside_programs_that_fork(boot_once):
    """Programs that fork use all CPUs; root's test runs in the real-time class."""
    run = f"{FORKS} cpustat -n -c EC_ref 0.1 1 && echo counted"
    outcome, text, _ = boot_once("sf3800", run=run, model="fireplane")
    assert outcome.status == 0 and "counted" in text and "tested" not in text, text


def test_it_cannot_be_tested(boot_once):
    """If the test cannot be done, that is no fault of the model: nothing is measured, and the machine continues to work."""
    run = "su nobody -s /bin/sh -c 'ulimit -u 6; cpustat -n -c EC_ref 0.1 1'; echo status $?; memcopy -t 1 -n 1m | tail -1"
    outcome, text, _ = boot_once("sf3800", run=run, model="fireplane")
    assert outcome.status == 0 and "status 1\n" in text, text
    assert "fptest: the model cannot be tested now: " in text and "pic0" not in text
    assert "fireplane: the model is not armed, because it could not be tested: fptest: see above" in text


def test_who_can_end_the_run(boot_once):
    """After the model has passed, no program can end the machine by reporting that the model is broken."""
    outcome, text, _ = boot_once("sf3800", run="fptest && /usr/test/fpnoise; echo alive", model="fireplane")
    assert outcome.status == 0 and "alive" in text


def test_without_a_model(boot_once):
    outcome, text, _ = boot_once("sf3800", run="fptest")
    assert outcome.status == 2 and "fptest: no model: start the machine with MODEL=fireplane" in text
