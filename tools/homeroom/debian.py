# SPDX-License-Identifier: MIT
"""debian.py - root disks with packages of Debian: their files, unmodified, with Homeroom's commands.

THEORY   apt-get finds the packages that a list of packages needs, and downloads them into build/debian.  It gets folders of
         its own and an empty list of what is installed, so it needs no privilege, and the packages of the host do not matter.
         The sources of packages are those of the host, and so is the release of Debian.  The lists of packages are
         downloaded once; if a package is no longer on the server, they are downloaded again.
         The disk has all files of the packages but manuals, translations and documentation.  No script of a package is
         run.  So there are no files that only such scripts make: users other than those of base-passwd, certificates, the
         cache of the loader.  /bin, /sbin and /lib are links to folders of /usr, as in a Debian that is installed.
         busybox and Homeroom's commands are there as well, where Debian's packages have no program of that name.
SEE ALSO image.py (the disk), programs.py, docs/userland.md
"""

import argparse
import fcntl
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from homeroom import image
from homeroom.cpio import Archive
from homeroom.machine import TOP, MachineError

FOLDER = TOP / "build/debian"
ESSENTIAL = "?essential"  # apt's pattern for the packages that all others may use without naming them
MERGED = ("bin", "sbin", "lib", "lib64")
LEFT_OUT = ("doc", "man", "info", "locale", "i18n/locales", "icons", "lintian")
# In the folder of the disk: the packages' files, then the users of Debian after those of Homeroom.
UNPACK = """
for package in {packages}; do
    dpkg-deb --fsys-tarfile "$package" | tar -xp --numeric-owner --keep-directory-symlink {left_out} -f -
done
for file in passwd group; do
    grep -vE '^(root|tty|nobody):' usr/share/base-passwd/$file.master >> etc/$file
done
"""


def apt_get(*words: str) -> str:
    """The output of apt-get with our folders.  MachineError if it fails."""
    if shutil.which("apt-get") is None:
        raise MachineError("there is no apt-get here, which downloads Debian's packages")
    options = {
        "Dir::State::lists": FOLDER / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": FOLDER / "cache",
        "APT::Architecture": "amd64",
        "APT::Install-Recommends": "false",
        "Acquire::http::Timeout": "20",  # s
        "Debug::NoLocking": "true",  # the lock of dpkg belongs to root; fetch() has a lock of its own
    }
    given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    done = subprocess.run(["apt-get", "-q", "-y", *given, *words], capture_output=True, text=True)
    if done.returncode != 0:
        why = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        raise MachineError(f"Debian's packages cannot be had: {why[-1] if why else done.stderr.strip()}")
    return done.stdout


def install(packages: list[str]) -> list[Path]:
    """The files of the packages and of all packages that they need, downloaded."""
    names = [ESSENTIAL, *packages]
    planned = re.findall(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", apt_get("install", "--simulate", *names), re.M)
    archives = [f"{name}_{version.replace(':', '%3a')}_{kind}.deb" for name, version, kind in planned]
    files = sorted(FOLDER / "cache/archives" / archive for archive in archives)
    if not all(file.is_file() for file in files):
        apt_get("install", "--download-only", *names)
    return files


def fetch(packages: list[str]) -> list[Path]:
    """Like install(); the lists of packages are downloaded first if they are missing or too old.  MachineError."""
    for folder in ("lists/partial", "cache/archives/partial"):
        (FOLDER / folder).mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return install(packages)
        except MachineError:
            apt_get("update")
            return install(packages)


def merged(archive: Archive) -> Archive:
    """The archive with the links that a Debian has: those of MERGED to folders of /usr, and /var/run."""
    found = Archive()
    for path, (mode, data) in archive.entries.items():
        inside = path.split("/")[0] in MERGED
        found.entries[f"usr/{path}" if inside else path] = (mode, data)
    for name in MERGED:
        found.directory(f"usr/{name}")
        found.symlink(name, f"usr/{name}")
    found.directory("run")
    found.symlink("var/run", "../run")
    return found


def write_disk(name: str, mib: int, packages: list[Path]) -> None:
    """Make a root disk of `mib` MiB with the packages' files and the commands of build/user.  SystemExit if it fails."""
    ours = argparse.Namespace(etc=TOP / "user/etc", bin=[TOP / "build/user/bin"], test=None, tree=None)
    left_out = [f"--exclude=./usr/share/{folder}/*" for folder in LEFT_OUT]
    unpack = UNPACK.format(packages=shlex.join(map(str, packages)), left_out=shlex.join(left_out))
    image.write_root(merged(image.tree(ours)), name, mib, unpack)
