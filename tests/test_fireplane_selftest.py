# SPDX-License-Identifier: MIT
"""The model's self-test: a plugin that counts wrong is found the first time that it is armed, and ends the run.

The plugin is broken as a new version of QEMU would break it: by a change of its source, compiled anew.
"""

import re
import shutil
import subprocess

import pytest

from homeroom import model
from homeroom.machine import TOP

# What is changed, in which file, and what the self-test says of it.
BROKEN = {
    "loads taken for stores": (
        "plugin.c",
        [
            ("if (LOAD_8(info, at))\n        fp_load", "if (STORE_8(info, at))\n        fp_load"),
            ("else if (STORE_8(info, at))\n        fp_store", "else if (LOAD_8(info, at))\n        fp_store"),
        ],
        r"loads: \d+ counted",
    ),
    "turns that do not end": ("plugin.c", [("    cpu_exit(qemu_cpu[vcpu]);\n", "")], "clocks were apart"),
    "CPUs in another order": ("plugin.c", [("place[i].cpu = &cpus[n];", "place[i].cpu = &cpus[n ^ 1];")], "loads: 0 counted"),
    "misses counted twice": ("cache.c", [("c->n.miss_local++;", "c->n.miss_local += 2;")], "misses: "),
    "code that is not translated anew": (
        "plugin.c",
        [("qemu_plugin_reset(self, watch, NULL);", ";")],
        r"loads: \d+ counted|references after",
    ),
    "a clock that stands": ("model.h", [("    c->clock += ps;\n", "")], "clocks: 0 counted"),
    "boards in another order": (
        "model.c",
        [("memset(&m->home[base >> 12], (int)board + 1,", "memset(&m->home[base >> 12], (int)!board + 1,")],
        r"(?:local|remote) misses: 5\d\d counted",
    ),
    "address spaces that are not told apart": ("plugin.c", [("cb = on_mmu;", ";")], "change of address space"),
}


def build(folder, name, changes):
    """A plugin with a change in one of its files."""
    source = folder / "fireplane"
    shutil.copytree(TOP / "qemu/fireplane", source)
    text = (source / name).read_text()
    for old, new in changes:
        assert text.count(old) == 1, f"{name} has no {old!r}"
        text = text.replace(old, new)
    (source / name).write_text(text)
    plugin = folder / "fireplane.so"
    command = ["gcc", "-std=gnu17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{source}", "-Iinclude", "-o", plugin]
    subprocess.run([*command, *sorted(source.glob("*.c"))], cwd=TOP, check=True)
    return plugin


@pytest.mark.parametrize("name, changes, says", BROKEN.values(), ids=BROKEN)
def test_a_broken_plugin_is_refused(boot_once, tmp_path, monkeypatch, name, changes, says):
    monkeypatch.setattr(model, "PLUGIN", build(tmp_path, name, changes))
    outcome, text, _ = boot_once("sf3800", run="cpustat -c EC_ref 1 1", model="fireplane")
    assert outcome.kind == "qemu" and outcome.status != 0, text
    assert re.fullmatch(r"fireplane: the model counts wrong on this QEMU \(\d+\.\d+\.\d+\): .*", outcome.detail)
    assert re.search(rf"^fptest: the interconnect model counts wrong: CPU \d: .*(?:{says})", text, re.MULTILINE), text
    assert "pic0" not in text, "nothing was counted"


MODEL = pytest.mark.machine("sf3800", model="fireplane")


@MODEL
def test_it_passes_each_time(machine):
    """From any CPU, in a processor set, by any user, and while the machine is busy."""
    machine.check("fptest; fptest")
    machine.check("for i in 0 3 7; do pbind -b $i $$; fptest || exit 1; done")
    machine.check("su nobody -s /bin/sh -c fptest")
    machine.check("psrset -c 2 3; psrset -e 1 fptest; s=$?; psrset -d 1; exit $s")
    machine.check("for i in 1 2 3 4 5 6 7 8 9; do sh -c 'while :; do :; done' & done; fptest; s=$?; kill $(jobs -p); exit $s")


@pytest.mark.parametrize(
    "name, options",
    [
        ("sf6800", {"system": "set mpo_enable=0", "model_set": "ecache_kib=64"}),
        ("sf15k", {"boards": 2, "model_set": "ecache_kib=64; write_allocate=always"}),
        ("t2000", {}),
        ("sf280r", {"model_set": "skew_ps=10000"}),
    ],
)
def test_it_passes_on(boot_once, name, options):
    """Boards that the system does not tell apart, one board, other parameters."""
    outcome, text, _ = boot_once(name, run="fptest", model="fireplane", **options)
    assert outcome.status == 0, text


def test_who_can_end_the_run(boot_once):
    """Once it was proven, nobody ends the machine by saying that it is broken."""
    outcome, text, _ = boot_once("sf3800", run="fptest && /usr/test/fpnoise; echo alive", model="fireplane")
    assert outcome.status == 0 and "alive" in text


def test_without_a_model(boot_once):
    outcome, text, _ = boot_once("sf3800", run="fptest")
    assert outcome.status == 2 and "fptest: no model: start the machine with MODEL=fireplane" in text
