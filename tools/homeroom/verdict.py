# SPDX-License-Identifier: MIT
"""verdict.py - the line protocol of the verdict port, the guest's second serial port.

The verdict port tells the host in a machine-readable way what happens in the guest.  Each line begins with @.  The kernel
writes @boot, @alive, @panic and @test, the first process writes @exit, and the test agent writes the others
(user/cmd/verdictd.c).  The kernel may write at any moment, also in the middle of a line of a process.  So an @ inside a
line begins another line; after the end of that line the first one continues.  The agent escapes each @ in its own data.
"""

import re


def escape(data: bytes) -> bytes:
    """Data as verdictd.c's unescape() reads it: bytes that are not printable, @ and % become %XX."""
    return b"".join(
        bytes([c]) if 0x20 <= c < 0x7F and c not in b"@%" else b"%%%02x" % c for c in data
    )


def unescape(data: bytes) -> bytes:
    """The reverse of escape()."""
    return re.sub(rb"%([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), data)


class Lines:
    """Splits the bytes of the verdict port into lines.

    feed() takes bytes in pieces of any size and returns the lines that they complete, without the leading @.
    """

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
