# SPDX-License-Identifier: MIT
"""test_conformance.py - Debian's busybox-static prints the same on Homeroom as on the host.

The same busybox runs each script of tests/conformance on both systems: in an empty directory, with the same environment, as
uid 1000 (tests/conformance/permissions.sh depends on that).  Output with standard error, and exit status, must be equal.
"""

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import HOST_LIMIT, default_signals

SCRIPTS = sorted((Path(__file__).parent / "conformance").glob("*.sh"))
UID = 1000


@pytest.fixture(scope="session")
def applets():
    """A directory with a link to busybox for each of its applets."""
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("busybox-static is not installed")
    with tempfile.TemporaryDirectory(prefix="conformance.") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(busybox, folder / "busybox")
        for applet in subprocess.check_output([busybox, "--list"], text=True).split():
            if applet != "busybox":
                (folder / applet).symlink_to("busybox")
        yield folder


def start(script, path):
    """The command that runs a script in the parent directory."""
    return f"umask 022 && env -i LC_ALL=C TZ=UTC HOME=/tmp PATH={path} busybox sh ../{script.name}"


def on_host(script, applets):
    """Output and exit status of a script on this host."""
    with tempfile.TemporaryDirectory(prefix="conformance.") as parent:
        os.chmod(parent, 0o755)
        shutil.copy(script, parent)
        work = Path(parent) / "work"
        work.mkdir()
        work.chmod(0o777)
        drop = {"user": UID, "group": UID, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run(
            [applets / "busybox", "sh", "-c", start(script, applets)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": str(applets)},
            cwd=work,
            timeout=HOST_LIMIT,
            preexec_fn=default_signals,
            **drop,
        )
    return done.stdout.decode(errors="replace"), done.returncode


def in_guest(script):
    """The command line that runs the script on Homeroom in the same way."""
    text = shlex.quote(script.read_text())
    work = f"/tmp/conformance.{script.stem}"
    prepare = f"rm -rf {work}; mkdir {work} && cd {work} && printf %s {text} > ../{script.name}"
    return f"{prepare} && {start(script, '/bin:/sbin:/usr/bin:/usr/sbin')}"


@pytest.mark.machine("sf3800")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_same_as_on_the_host(machine, applets, script):
    if os.geteuid() != 0 and script.stem == "permissions":
        pytest.skip("prints the uid, and only root can become 1000")
    wanted, status = on_host(script, applets)
    result = machine.run(in_guest(script), timeout=120, uid=UID)
    assert result.out == wanted
    assert result.status == status


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_are_repeatable(applets, script):
    """Each script prints the same in two runs on the host; otherwise the comparison would prove nothing."""
    assert on_host(script, applets) == on_host(script, applets)
