# SPDX-License-Identifier: MIT
"""image.py - build the initramfs, the root disk and the bootable CD image.

    python3 -m homeroom.image initramfs OUT --etc DIR [--bin DIR]... [--test DIR]
    python3 -m homeroom.image root OUT --etc DIR [--bin DIR]... [--test DIR] [--tree DIR]
    python3 -m homeroom.image iso OUT KERNEL [INITRAMFS]

THEORY   The initramfs is an archive that becomes the root file system in memory.  It contains busybox, with a link for
         each of its commands (applets), our commands in /usr/bin, their manual pages, and /etc.  The kernel itself
         provides /dev, /proc and /sys.  It gets the archive from QEMU's fw_cfg device or, when it boots from the CD, as a
         multiboot2 module.
         `root` makes a disk with the same tree: an ext3 file system in which all files belong to root; it needs no
         privilege.  --tree adds a second tree (dynamic.py).
         A run adds its own files through fw_cfg (qemu/launch.py), so the files made here are the same for all runs.
         Each file is made under another name and then renamed: a running machine keeps the old file.
         The options of the ISO were chosen for a short boot; docs/boot.md has the measurements.
"""

import argparse
import contextlib
import errno
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from homeroom import manual
from homeroom.cpio import Archive

TOP = Path(__file__).resolve().parents[2]
STUDENT_UID = 1000
ROOT_MIB = 64
ROOT_UUID = "686f6d65-726f-6f6d-8000-000000000001"


def fail(message: str) -> None:
    """End the program with status 1 and one line."""
    sys.exit(f"image: {message}")


@contextlib.contextmanager
def made(name: str) -> Iterator[Path]:
    """A temporary name under which to make a file.  At the end it is renamed to `name`; after an error it is removed."""
    out = Path(f"{name}.{os.getpid()}.part")
    try:
        yield out
        out.replace(name)
    finally:
        out.unlink(missing_ok=True)


def busybox() -> tuple[bytes, list[str]]:
    """This host's static busybox for x86-64, and the paths of its applets."""
    path = shutil.which("busybox")
    if path is None:
        fail("busybox is missing: apt-get install busybox-static")
    data = Path(path).read_bytes()
    if data[18:20] != b"\x3e\x00":  # e_machine: EM_X86_64
        fail(f"{path} is not a program for x86-64: install Debian's busybox-static:amd64 instead")
    if b"/ld-linux" in data[:4096]:
        fail(f"{path} is not static: apt-get install busybox-static")
    run = [] if platform.machine() == "x86_64" else ["qemu-x86_64"]
    names = subprocess.run([*run, path, "--list-full"], capture_output=True, text=True, check=True)
    return data, [name for name in names.stdout.split() if Path(name).name != "busybox"]


def stripped(path: Path) -> bytes:
    """A program without its symbols, because GRUB needs time for each byte."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([os.environ.get("STRIP", "strip"), "-o", out.name, str(path)], check=True)
        return Path(out.name).read_bytes()


def tree(args: argparse.Namespace) -> Archive:
    """The tree of the root file system."""
    archive = Archive()
    for name in ("bin", "sbin", "usr/bin", "usr/sbin", "dev", "proc", "sys", "var", "mnt", "home"):
        archive.directory(name)
    archive.directory("root", 0o700)
    archive.directory("home/student")
    for name in ("tmp", "var/tmp"):
        archive.directory(name, 0o1777)
    program, applets = busybox()
    # Set-uid root, because su needs it; for other applets busybox drops the privilege first.
    archive.file("bin/busybox", program, 0o4755)
    for name in applets:
        archive.symlink(name, "/bin/busybox")
    # A command of ours replaces the applet of the same name, in whatever folder the applet is.
    where = {Path(name).name: name for name in applets}
    for source in [p for directory in args.bin for p in sorted(Path(directory).iterdir())]:
        target = "sbin/init" if source.name == "init" else f"usr/bin/{source.name}"
        archive.entries.pop(where.get(source.name, ""), None)
        archive.file(target, stripped(source), 0o755)
        if text := manual.page(source):
            archive.file(f"usr/share/man/{source.name}", text.encode())
    if args.test:
        for source in sorted(Path(args.test).iterdir()):
            archive.file(f"usr/test/{source.name}", stripped(source), 0o755)
    if args.tree:
        archive.tree(Path(args.tree))
    for source in sorted(Path(args.etc).rglob("*")):
        name = f"etc/{source.relative_to(args.etc)}"
        if source.is_dir():
            archive.directory(name)
        else:
            mode = 0o600 if source.name == "shadow" else 0o755 if os.access(source, os.X_OK) else 0o644
            archive.file(name, source.read_bytes(), mode)
    return archive


def initramfs(args: argparse.Namespace) -> None:
    with made(args.out) as out:
        out.write_bytes(tree(args).pack({"home/student": STUDENT_UID}))


def tool(name: str) -> str:
    """The path of a program, also if it is in a folder that only root has in PATH."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        fail(f"{name} is missing: tools/deps.sh run")
    return path


def temporary(folder: str) -> dict[str, str]:
    """The environment for a tool that must write its temporary files into `folder`."""
    return {**os.environ, "TMPDIR": folder}


def write_root(archive: Archive, name: str, mib: int, unpack: str = "") -> None:
    """Make a disk with an ext3 file system of `mib` MiB that contains the archive.

    mke2fs copies a folder; under fakeroot it sees root as the owner of the files, and set-id bits.  `unpack` is a command of
    the shell that adds files to the folder, which is the working directory, under fakeroot as well.
    """
    with tempfile.TemporaryDirectory() as scratch, made(name) as out:
        top = Path(scratch) / "root"
        archive.extract(top)
        mke2fs = [tool("mke2fs"), "-q", "-F", "-t", "ext3", "-b", "4096", "-U", ROOT_UUID, "-L", "root"]
        mke2fs += ["-E", f"hash_seed={ROOT_UUID}", "-d", str(top), str(out.absolute()), f"{mib}M"]
        steps = [["chown", "-hR", "0:0", str(top)], ["chown", f"{STUDENT_UID}:{STUDENT_UID}", str(top / "home/student")]]
        steps += [["chmod", f"{mode & 0o7777:o}", str(top / name)] for name, (mode, _) in archive.special()]
        script = "\n".join(["set -e", *map(shlex.join, steps), unpack, shlex.join(mke2fs)])
        run = [tool("fakeroot"), "sh", "-c", script]
        done = subprocess.run(run, cwd=top, capture_output=True, text=True, env=temporary(scratch))
        if done.returncode != 0:
            fail(f"mke2fs failed:\n{done.stdout}{done.stderr}")


def root(args: argparse.Namespace) -> None:
    write_root(tree(args), args.out, ROOT_MIB)


def iso(args: argparse.Namespace) -> None:
    """Make the CD with kernel, initramfs and grub.cfg, without GRUB's fonts, themes and translations."""
    with tempfile.TemporaryDirectory() as scratch, made(args.out) as out:
        top = Path(scratch) / "cd"
        boot = top / "boot"
        (boot / "grub").mkdir(parents=True)
        (boot / "kernel.elf").write_bytes(stripped(Path(args.kernel)))
        lines = (TOP / "boot/grub.cfg").read_text().splitlines(keepends=True)
        if args.initramfs:
            shutil.copy(args.initramfs, boot / "initramfs.cpio")
        else:
            lines = [line for line in lines if not line.startswith("module2")]
        (boot / "grub/grub.cfg").write_text("".join(lines))
        command = ["grub-mkrescue", "-d", "/usr/lib/grub/i386-pc", "--locales=", "--fonts=", "--themes="]
        done = subprocess.run([*command, "-o", out, top], capture_output=True, text=True, env=temporary(scratch))
        if done.returncode != 0:
            fail(f"grub-mkrescue failed:\n{done.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="image")
    commands = parser.add_subparsers(required=True)
    for name, make in (("initramfs", initramfs), ("root", root)):
        one = commands.add_parser(name)
        one.add_argument("out")
        one.add_argument("--etc", required=True)
        one.add_argument("--bin", action="append", default=[])
        one.add_argument("--test")
        one.add_argument("--tree")
        one.set_defaults(run=make)
    two = commands.add_parser("iso")
    two.add_argument("out")
    two.add_argument("kernel")
    two.add_argument("initramfs", nargs="?")
    two.set_defaults(run=iso)
    args = parser.parse_args()
    try:
        args.run(args)
    except OSError as error:
        room = f": make room there and in {tempfile.gettempdir()} (TMPDIR= names another folder)"
        fail(f"{error.filename or args.out}: {error.strerror}{room if error.errno == errno.ENOSPC else ''}")
    except subprocess.CalledProcessError as error:
        fail(f"{error.cmd[0]} ended with status {error.returncode}; the reason is above")


if __name__ == "__main__":
    main()
