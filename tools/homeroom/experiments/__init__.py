# SPDX-License-Identifier: MIT
"""The experiments: tables of papers, measured again on Homeroom, with their results and reports.

definition.py    reads the tables of the white paper (tools/experiments/paper.toml)
run.py           one boot; the Snakefile runs all of them (the sweep)
metrics.py, results.py, report.py, plots.py      from the output of programs to a row, a file and a page
ddt.py, idedma.py, mkeyed.py, pacing.py          disk experiments, programs of their own (storage.py has their common code)
beside.py, fabric.py, psrset.py                  Linux for comparison, the interconnect model, processor sets
"""
