#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kernel.py - Debian's Linux kernel for comparisons: kernel.py OUT     (tools/deps.sh peer calls it)

THEORY      The package that linux-image-amd64 depends on is downloaded, not installed, and only the kernel is taken
            out of it: no module is needed.  A bzImage holds the kernel as a compressed ELF file, which a machine
            without a real-mode loader can boot as it is (PVH); its place is in the setup header, by the boot
            protocol of Linux (Documentation/x86/boot.rst: setup_sects, payload_offset, payload_length).
            A copy is kept in the user's cache, so that `make clean` and another checkout cost no download.
EXIT        0; 1 with one line that says what to do
"""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "linux-image-amd64"
# After the stream come four bytes, the unpacked length; gzip's reader would stumble over them.
UNPACK = {
    b"\xfd7zXZ": lambda data: lzma.LZMADecompressor().decompress(data),
    b"\x1f\x8b": lambda data: gzip.decompress(data[:-4]),
    b"BZh": lambda data: bz2.BZ2Decompressor().decompress(data),
    b"\x28\xb5\x2f\xfd": lambda data: output("zstd", "-dc", stdin=data[:-4]),
}


def fail(text: str) -> None:
    sys.exit(f"deps.sh: no Linux to compare with (PEER=linux): {text}")


def output(*command: str, cwd: str | None = None, stdin: bytes | None = None) -> bytes:
    try:
        return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=True).stdout
    except FileNotFoundError:
        fail(f"{command[0]} is missing; Debian has it")
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode(errors="replace").strip().splitlines()
        fail(f"{' '.join(command[:3])}: {words[-1] if words else 'failed'}; try apt-get update")


def package_name() -> str:
    """The package that the newest kernel of this Debian is in."""
    names = re.findall(r"Depends: (linux-image-[0-9]\S+)", output("apt-cache", "depends", PACKAGE).decode())
    if not names:
        fail(f"apt-cache knows no {PACKAGE}; try apt-get update")
    return names[0]


def bzimage(package: str) -> bytes:
    """The kernel of a Debian package, as it is installed in /boot."""
    with tempfile.TemporaryDirectory() as folder:
        output("apt-get", "-q", "-o", "APT::Sandbox::User=", "download", package, cwd=folder)
        (archive_file,) = Path(folder).glob("*.deb")
        files = output("dpkg-deb", "--fsys-tarfile", str(archive_file))
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        for member in archive:
            if re.fullmatch(r"\./boot/vmlinuz-\S+", member.name):
                return archive.extractfile(member).read()
    fail(f"{package} has no /boot/vmlinuz")


def unpacked(image: bytes) -> bytes:
    """The ELF file in a bzImage."""
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    payload = image[(setup_sectors + 1) * 512 + offset :][:length]
    for magic, unpack in UNPACK.items():
        if payload.startswith(magic) and (data := unpack(payload)).startswith(b"\x7fELF"):
            return data
    fail("the kernel is packed in a way that this program does not know")


def put(data: bytes, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f"{out.name}.{os.getpid()}")
    part.write_bytes(data)
    part.rename(out)


def main() -> None:
    out, package = Path(sys.argv[1]), package_name()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    kept = cache / f"homeroom/{package}.vmlinux"
    if not kept.is_file():
        print(f"deps.sh: downloading Debian's Linux kernel ({package}) for PEER=linux", flush=True)
        data = unpacked(bzimage(package))
        with contextlib.suppress(OSError):  # a cache that cannot be written only costs the next download
            put(data, kept)
        put(data, out)
    else:
        put(kept.read_bytes(), out)


if __name__ == "__main__":
    main()
