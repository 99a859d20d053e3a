# SPDX-License-Identifier: MIT
"""The papers' tables: rows, the sweep that measures them, results and report."""
