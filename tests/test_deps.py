# SPDX-License-Identifier: MIT
"""test_deps.py - what tools/deps.sh installs: for grading, and in the image of the Containerfile."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from homeroom.machine import TOP

COMMANDS = ("sh", "dirname", "uname", "mkdir", "sort", "tr", "cmp")  # what deps.sh -n needs itself


def copied(folder: Path) -> Path:
    """What the Containerfile copies from the checkout into the image, in a folder."""
    for sources, target in re.findall(r"^COPY (.*) (\S+)$", (TOP / "Containerfile").read_text(), re.M):
        for source in [path for pattern in sources.split() for path in TOP.glob(pattern)]:
            if source.is_dir():
                shutil.copytree(source, folder / target, dirs_exist_ok=True)
            else:
                shutil.copy(source, folder / target)
    return folder


def missing(top: Path, tmp_path: Path, *groups: str) -> str:
    """What deps.sh finds missing where almost no program is installed."""
    path = tmp_path / "bin"
    path.mkdir()
    for name in COMMANDS:
        (path / name).symlink_to(shutil.which(name))
    script = (top / "tools/deps.sh").read_text().replace("PATH=$PATH:/usr/sbin:/sbin", "")
    (top / "tools/deps.sh").write_text(script)
    done = subprocess.run(["tools/deps.sh", "-n", *groups], cwd=top, capture_output=True, text=True, env={"PATH": str(path)})
    assert done.returncode == 1 and not done.stderr, done.stderr
    return done.stdout


def test_grading_needs_what_a_boot_needs(tmp_path):
    words = missing(copied(tmp_path), tmp_path, "grade").split()
    assert {"gcc", "binutils", "python3", "qemu-system-x86", "xz-utils", "build/lwip/lwip.tar.xz"} <= set(words)
    assert not {"grub-common", "xorriso", "git"} & set(words)


def test_the_image_has_what_its_steps_read(tmp_path):
    groups = re.search(r"^RUN tools/deps.sh (.*)$", (TOP / "Containerfile").read_text(), re.M)[1].split()
    top = copied(tmp_path)
    lists = re.findall(r"with the packages of (\S+)", missing(top, tmp_path, *groups))
    assert len(lists) == 5
    for name in lists:
        assert (top / name).read_bytes() == (TOP / name).read_bytes()
    done = subprocess.run([sys.executable, "-E", top / "tools/peer/kernel.py"], cwd=top, capture_output=True, text=True)
    assert "ModuleNotFoundError" not in done.stderr


def test_the_development_container_mounts_the_checkout_where_the_image_expects_it():
    path = TOP / ".devcontainer/devcontainer.json"
    made = json.loads(re.sub(r"^\s*//.*", "", path.read_text(), flags=re.M))
    image = path.parent / made["build"]["dockerfile"]
    assert image.resolve() == TOP / "Containerfile"
    assert re.findall(r"^WORKDIR (\S+)$", image.read_text(), re.M)[-1] == made["workspaceFolder"]
    assert f"target={made['workspaceFolder']}," in made["workspaceMount"]
