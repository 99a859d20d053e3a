# SPDX-License-Identifier: MIT
"""The code that the launcher, the make commands and the tests share on the host.  It uses only the standard library.

experiments/ and watch.py are exceptions: they need the packages of requirements-experiments.txt.
"""
