# SPDX-License-Identifier: MIT
"""test_fireplane_page.py - the model's shared page: the layout in Python and in the C header, and wrong files."""

import ctypes
import os
import struct
import subprocess
import time

import pytest

from homeroom import fireplane, machine, model
from homeroom.machine import TOP

STRUCTS = {"fp_header": fireplane.Header, "fp_counts": fireplane.Counts, "fp_cpu": fireplane.Cpu}
NUMBERS = {
    "FP_MAGIC": fireplane.MAGIC,
    "FP_VERSION": fireplane.VERSION,
    "FP_SHARED_BYTES": fireplane.SHARED_BYTES,
    "FP_MAX_CPUS": fireplane.MAX_CPUS,
    "FP_MAX_BOARDS": fireplane.MAX_BOARDS,
    "FP_RES_COUNT": len(fireplane.RESOURCES),
    "FP_CPU_OFFSET": fireplane.CPU_OFFSET,
    "FP_CPU_STRIDE": fireplane.CPU_STRIDE,
    "FP_TRAFFIC_OFFSET": fireplane.TRAFFIC_OFFSET,
}


def expected():
    lines = [f"{name} {value}" for name, value in NUMBERS.items()]
    lines += [f"FP_RES_{name.upper()} {i}" for i, name in enumerate(fireplane.RESOURCES)]
    for name, struct_ in STRUCTS.items():
        lines.append(f"sizeof {name} {ctypes.sizeof(struct_)}")
        for field, *_ in struct_._fields_:
            at = getattr(struct_, field)
            lines.append(f"{name} {field} {at.offset} {at.size}")
    return lines


def test_layout_is_the_headers(tmp_path):
    """All offsets and sizes are those of the C compiler, and Python has all fields of the header."""
    out = ["#include <stddef.h>", "#include <stdio.h>", '#include "uapi/fireplane.h"', "int main(void) {"]
    for name in [*NUMBERS, *(f"FP_RES_{r.upper()}" for r in fireplane.RESOURCES)]:
        out.append(f'printf("{name} %llu\\n", (unsigned long long){name});')
    for name, struct_ in STRUCTS.items():
        out.append(f'printf("sizeof {name} %zu\\n", sizeof(struct {name}));')
        for field, *_ in struct_._fields_:
            out.append(
                f'printf("{name} {field} %zu %zu\\n", offsetof(struct {name}, {field}), sizeof ((struct {name} *)0)->{field});'
            )
    (tmp_path / "layout.c").write_text("\n".join([*out, "return 0; }"]))
    program = tmp_path / "layout"
    subprocess.run(["gcc", "-I", TOP / "include", "-o", program, tmp_path / "layout.c"], check=True)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines() == expected()


def make_page(ncpus=8, nboards=2, params=b"misses_in_flight = 2\ncenterplane = full\n"):
    page = bytearray(fireplane.SHARED_BYTES)
    header = fireplane.Header(fireplane.MAGIC, fireplane.VERSION, ncpus, nboards, 1, 1111, 1 << 18, 77, 10**6)
    header.params = params
    page[: ctypes.sizeof(header)] = bytes(header)
    for i in range(ncpus):
        cpu = fireplane.Cpu(board=i * nboards // ncpus, active=i % 2)
        cpu.counts.instr, cpu.counts.miss_local, cpu.counts.time_ps = 1000 + i, 10, 5 * 10**9
        at = fireplane.CPU_OFFSET + i * fireplane.CPU_STRIDE
        page[at : at + ctypes.sizeof(cpu)] = bytes(cpu)
    for i in range(nboards):
        for j in range(nboards):
            at = fireplane.TRAFFIC_OFFSET + 8 * (i * fireplane.MAX_BOARDS + j)
            page[at : at + 8] = struct.pack("<Q", 100 * i + j)
    return bytes(page)


def test_read(tmp_path):
    (tmp_path / "x.page").write_bytes(make_page())
    page = fireplane.read(tmp_path / "x.page")
    assert page.traffic() == [[0, 1], [100, 101]]
    assert page.params() == {"misses_in_flight": "2", "centerplane": "full"}
    assert page.fields("board", "instr", "active") == [(i // 4, 1000 + i, i % 2) for i in range(8)]
    assert page.header.accesses == 77


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "0 bytes"),
        (bytes(fireplane.SHARED_BYTES), "not started"),
        (struct.pack("<QI", fireplane.MAGIC, 99) + bytes(fireplane.SHARED_BYTES), "version 99"),
        (make_page()[:12] + struct.pack("<I", 9999) + make_page()[16:], "more than can be"),
    ],
)
def test_refused(tmp_path, data, word):
    path = tmp_path / "bad.page"
    path.write_bytes(data)
    with pytest.raises(fireplane.PageError, match=word):
        fireplane.read(path)


def test_a_run_that_has_ended_leaves_its_page(tmp_path):
    """The last page of each machine is kept, and `make watch` shows the newest of them."""
    assert fireplane.newest_ended(tmp_path) is None
    for n, name in enumerate(("sf6800", "sf3800", "sf6800")):
        page = tmp_path / f"{name}.{n}.page"
        page.write_bytes(make_page() + bytes([n]))
        model.keep_last(page, machine.load(name))
        assert fireplane.newest_ended(tmp_path) == tmp_path / f"{name}.last"
        assert fireplane.newest_ended(tmp_path).read_bytes()[-1] == n
        assert fireplane.newest((tmp_path,)) is None
        time.sleep(0.02)  # the resolution of file times
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sf3800.last", "sf6800.last"]


def test_newest_is_of_a_launcher_that_lives(tmp_path):
    assert fireplane.newest((tmp_path,)) is None
    dead = subprocess.Popen(["true"])
    dead.wait()
    (tmp_path / f"sf3800.{dead.pid}.page").write_bytes(make_page())
    assert fireplane.newest((tmp_path,)) is None
    living = tmp_path / f"sf3800.{os.getpid()}.page"
    living.write_bytes(make_page())
    assert fireplane.newest((tmp_path,)) == living
    live = fireplane.Live(living)
    assert live.read().header.ncpus == 8
    assert not live.ended()
    living.unlink()
    assert live.ended()
