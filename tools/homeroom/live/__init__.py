# SPDX-License-Identifier: MIT
"""The live page: reads a running machine from outside, and shows it in a browser."""
