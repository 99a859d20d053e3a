# SPDX-License-Identifier: MIT
"""The simulators: a policy step by step, decided by the C code of this tree."""
