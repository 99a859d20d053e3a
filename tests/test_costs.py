# SPDX-License-Identifier: MIT
"""Instructions of kernel paths: every line of osbench within its limit (docs/performance.md)."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_costs():
    """QEMU's instruction counter gives the same figures on every run and every host."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools/cost_table.py", "--check"], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
