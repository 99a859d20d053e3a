#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kernel.py - download Debian's Linux kernel, for comparisons (PEER=linux): kernel.py OUT     (tools/deps.sh peer calls it)

THEORY      The script downloads the package on which linux-image-amd64 depends, and does not install it.  It makes two
            files from it:
              OUT           the kernel.  The package has it as a bzImage, which contains a compressed ELF file.  QEMU can
                            boot this ELF file directly (PVH), without the code that unpacks it.  The setup header of
                            the bzImage gives its place (Documentation/x86/boot.rst: setup_sects, payload_offset,
                            payload_length)
              modules.cpio  in the same folder: the modules for disks, uncompressed, and modules/order, which lists
                            them in an order in which they can be loaded.  A module names the modules that it needs
                            in its section .modinfo.  Modules that are built into this kernel are left out.
            Copies stay in the user's cache, so neither `make clean` nor another checkout causes a download.
EXIT        0; 1 with one line that says what to do
"""

import bz2
import contextlib
import gzip
import lzma
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from homeroom.cpio import Archive

PACKAGE = "linux-image-amd64"
# The modules for disks; modules that these need are added.  crc32c_generic is requested by the name of an algorithm, so no
# module names it in .modinfo.
MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "bfq", "kyber-iosched")
# The compressed kernel by its first bytes.  After the compressed data come four bytes with the unpacked length, which gzip
# and zstd would report as an error.
UNPACK = {
    b"\xfd7zXZ": lambda data: lzma.LZMADecompressor().decompress(data),
    b"\x1f\x8b": lambda data: gzip.decompress(data[:-4]),
    b"BZh": lambda data: bz2.BZ2Decompressor().decompress(data),
    b"\x28\xb5\x2f\xfd": lambda data: output("zstd", "-dc", stdin=data[:-4]),
}


def fail(text: str) -> None:
    """End the program with status 1 and one line."""
    sys.exit(f"deps.sh: no Linux to compare with (PEER=linux): {text}")


def output(*command: str, cwd: str | None = None, stdin: bytes | None = None) -> bytes:
    """Standard output of a command; ends the program if it is missing or fails."""
    try:
        return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=True).stdout
    except FileNotFoundError:
        fail(f"{command[0]} is missing; Debian has it")
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode(errors="replace").strip().splitlines()
        fail(f"{' '.join(command[:3])}: {words[-1] if words else 'failed'}; try apt-get update")


def package_name() -> str:
    """The package with the newest kernel of this Debian release."""
    names = re.findall(r"Depends: (linux-image-[0-9]\S+)", output("apt-cache", "depends", PACKAGE).decode())
    if not names:
        fail(f"apt-cache knows no {PACKAGE}; try apt-get update")
    return names[0]


def unpack_package(package: str, folder: Path) -> Path:
    """Download and unpack a Debian package below a folder.  Returns the folder with its files."""
    output("apt-get", "-q", "-o", "APT::Sandbox::User=", "download", package, cwd=str(folder))
    (archive,) = folder.glob("*.deb")
    output("dpkg-deb", "-x", str(archive), str(folder / "files"))
    return folder / "files"


def bzimage(files: Path) -> bytes:
    """The bzImage in a package's /boot."""
    for path in files.glob("boot/vmlinuz-*"):
        return path.read_bytes()
    fail("the package has no /boot/vmlinuz")


def plain_name(name: str) -> str:
    """The name of a module, with _ for -: file names and lists use either."""
    return name.split(".ko")[0].replace("-", "_")


def module_data(path: Path) -> bytes:
    """The uncompressed module; since Debian 13 modules are compressed."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".zst":
        return output("zstd", "-dc", stdin=data)
    return gzip.decompress(data) if path.suffix == ".gz" else data


def needs(module: bytes) -> list[str]:
    """The modules that a module needs, from its section .modinfo."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return found[1].decode().split(",") if found and found[1] else []


def module_archive(files: Path) -> bytes:
    """modules.cpio, from the files of a package."""
    folder = next((f for where in ("lib", "usr/lib") for f in files.glob(f"{where}/modules/*") if f.is_dir()), None)
    if folder is None:
        fail("the package has no modules")
    paths = {plain_name(path.name): path for path in folder.rglob("*.ko*")}
    built_in = {plain_name(Path(line).name) for line in (folder / "modules.builtin").read_text().split()}
    order: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in order or name in built_in:
            return
        if name not in paths:
            fail(f"the package has no module {name}")
        data = module_data(paths[name])
        for other in needs(data):
            add(plain_name(other))
        order[name] = data

    for name in MODULES:
        add(plain_name(name))
    archive = Archive()
    for name, data in order.items():
        archive.file(f"modules/{name}.ko", data)
    archive.file("modules/order", "".join(f"{name}\n" for name in order).encode())
    return archive.pack()


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
    """Write a file under another name, then rename it: a file with the name `out` is always complete."""
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f"{out.name}.{os.getpid()}")
    part.write_bytes(data)
    part.rename(out)


def main() -> None:
    out, package = Path(sys.argv[1]), package_name()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "homeroom"
    targets = {cache / f"{package}.vmlinux": out, cache / f"{package}.modules.cpio": out.with_name("modules.cpio")}
    if not all(kept.is_file() for kept in targets):
        print(f"deps.sh: downloading Debian's Linux kernel ({package}) for PEER=linux", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            files = unpack_package(package, Path(folder))
            made = [unpacked(bzimage(files)), module_archive(files)]
        for data, (kept, target) in zip(made, targets.items(), strict=True):
            with contextlib.suppress(OSError):  # a cache that cannot be written only costs the next download
                put(data, kept)
            put(data, target)
    else:
        for kept, target in targets.items():
            put(kept.read_bytes(), target)


if __name__ == "__main__":
    main()
