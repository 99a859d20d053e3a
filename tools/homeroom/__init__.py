# SPDX-License-Identifier: MIT
"""What Homeroom's commands, launcher and tests share on the host side; the standard library only."""
