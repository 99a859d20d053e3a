# SPDX-License-Identifier: MIT
"""verdict.py - the line protocol of the verdict port (the guest's second serial port).

Every line begins with @.  The kernel writes some (@boot, @alive, @panic, @test), init one (@exit), the test
agent the others (user/cmd/verdictd.c describes them).  The kernel may write at any moment, even inside a line
that a process is writing, so an @ in the middle of a line begins a line of its own, after whose end the first
one goes on; the agent escapes every other @.
"""

import re


def escape(data: bytes) -> bytes:
    """What verdictd.c's unescape() undoes."""
    return b"".join(
        bytes([c]) if 0x20 <= c < 0x7F and c not in b"@%" else b"%%%02x" % c for c in data
    )


def unescape(data: bytes) -> bytes:
    return re.sub(rb"%([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), data)


class Lines:
    """Takes bytes as they come, gives whole lines without the leading @."""

    def __init__(self) -> None:
        self._open: list[bytearray] = []

    def feed(self, data: bytes) -> list[bytes]:
        out = []
        for byte in data:
            if byte == ord("@"):
                self._open.append(bytearray())
            elif byte == ord("\n"):
                if self._open:
                    out.append(bytes(self._open.pop()))
            elif self._open and byte != ord("\r"):
                self._open[-1].append(byte)
        return out
