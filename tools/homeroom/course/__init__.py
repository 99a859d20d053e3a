# SPDX-License-Identifier: MIT
"""The course: labs, how they are graded, and what is handed out."""
