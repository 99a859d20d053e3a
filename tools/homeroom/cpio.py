# SPDX-License-Identifier: MIT
"""cpio.py - archives in cpio's "newc" format: the format of the initramfs and of overlays.

All files belong to root unless pack() is told otherwise, all have the same time, and names are sorted.  So the same files
always give the same archive.  The owner of the files on the host does not matter, so no privilege is needed.
"""

import os
import stat
from pathlib import Path

MTIME = 1017619200  # 1 April 2002, when Solaris on the Sun Fire 15K first had locality groups


class Archive:
    """Files, directories and symbolic links, by their path without the leading slash; parent directories are added."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[int, bytes]] = {}

    def _put(self, path: str, mode: int, data: bytes) -> None:
        path = path.strip("/")
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self.directory(parent)
        self.entries[path] = (mode, data)

    def directory(self, path: str, mode: int = 0o755) -> None:
        self._put(path, stat.S_IFDIR | mode, b"")

    def file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self._put(path, stat.S_IFREG | mode, data)

    def symlink(self, path: str, target: str) -> None:
        self._put(path, stat.S_IFLNK | 0o777, target.encode())

    def tree(self, top: Path, at: str = "") -> None:
        """Add everything below the host directory `top`; modes and symbolic links are kept.

        Raises ValueError for a file of another kind (a socket, a device).
        """
        for path in sorted(top.rglob("*")):
            name = f"{at}/{path.relative_to(top)}"
            info = path.lstat()
            if stat.S_ISLNK(info.st_mode):
                self.symlink(name, os.readlink(path))
            elif stat.S_ISDIR(info.st_mode):
                self.directory(name, stat.S_IMODE(info.st_mode))
            elif stat.S_ISREG(info.st_mode):
                self.file(name, path.read_bytes(), stat.S_IMODE(info.st_mode))
            else:
                raise ValueError(f"{path} is neither a file, a directory nor a symbolic link")

    def extract(self, top: Path) -> None:
        """Write the files below the host directory `top`, without owners and set-id bits, which would need a privilege."""
        top.mkdir(mode=0o755, exist_ok=True)
        for path in sorted(self.entries):
            mode, data = self.entries[path]
            target = top / path
            if stat.S_ISLNK(mode):
                target.symlink_to(data.decode())
            elif stat.S_ISDIR(mode):
                target.mkdir()
                target.chmod(stat.S_IMODE(mode) & 0o777)
            else:
                target.write_bytes(data)
                target.chmod(stat.S_IMODE(mode) & 0o777)
                os.utime(target, (MTIME, MTIME))

    def special(self) -> list[tuple[str, tuple[int, bytes]]]:
        """The entries with set-id or sticky bits."""
        return [item for item in self.entries.items() if not stat.S_ISLNK(item[1][0]) and item[1][0] & 0o7000]

    def pack(self, owners: dict[str, int] | None = None) -> bytes:
        """The archive's bytes.  `owners` has the uid, which is also the gid, of paths that do not belong to root."""
        out = bytearray()
        for number, path in enumerate(sorted(self.entries), start=1):
            mode, data = self.entries[path]
            uid = (owners or {}).get(path, 0)
            links = 2 if stat.S_ISDIR(mode) else 1
            _record(out, number, path, mode, uid, links, data)
        _record(out, 0, "TRAILER!!!", 0, 0, 1, b"")
        return bytes(out)


def _record(
    out: bytearray, number: int, path: str, mode: int, uid: int, links: int, data: bytes
) -> None:
    name = path.encode() + b"\0"
    fields = (number, mode, uid, uid, links, MTIME, len(data), 0, 0, 0, 0, len(name), 0)
    out += b"070701" + b"".join(b"%08X" % value for value in fields) + name
    out += b"\0" * (-len(out) % 4) + data
    out += b"\0" * (-len(out) % 4)
