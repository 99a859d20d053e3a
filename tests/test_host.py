# SPDX-License-Identifier: MIT
"""test_host.py - run the host unit tests (tests/host): policy code and parsers, with ASan and UBSan."""

import pathlib
import subprocess

import pytest

from harness import HOST_LIMIT

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = sorted(p.stem for p in (ROOT / "tests" / "host").glob("test_*.c"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_host(program):
    """All tests of the program pass, and the program prints so: without a verdict, it has failed."""
    target = f"build/host/{program}"
    subprocess.run(["make", "-s", target], cwd=ROOT, check=True)
    run = subprocess.run([target], cwd=ROOT, capture_output=True, text=True, timeout=HOST_LIMIT)
    lines = run.stdout.splitlines()
    failed = [line for line in lines if line.startswith("@test") and " FAIL" in line]
    assert not failed, "\n".join(failed) + f"\nrepeat with: make {target} && {target}"
    assert run.returncode == 0, f"exit status {run.returncode}\n{run.stdout[-2000:]}{run.stderr[-4000:]}"
    assert any(line.startswith("@test") and line.endswith(" PASS") for line in lines)
    assert lines[-1].endswith(" 0 failed")
