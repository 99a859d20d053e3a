# SPDX-License-Identifier: MIT
"""test_limits.py - one user cannot take everything: the kernel memory of ordinary users is limited, and root can work."""

import re

import pytest

from homeroom.machine import TOP

pytestmark = pytest.mark.core

# openssl passwd -6 secret
SECRET = "$6$qHCLC74dykB640D6$6rfkm6RHAul2m7LqRIvAtMW7WC66z8W1LAbW7J.7bOIJg7TlKpiMGjR3LpjWxqROBP9gbqTVExFblFscg3kHb1"
KINDS = 11  # kinds of user/test/hoard.c
MARGIN_KIB = 24576  # caches that grew, and stacks of threads that have ended

# What root must always be able to do: make processes, load programs, write a file.
ROOT_WORKS = """sh -c 'ls / | wc -l > /dev/null' && dd if=/dev/zero of=/tmp/roots bs=64k count=1 2> /dev/null &&
    test $(wc -c < /tmp/roots) = 65536 && rm /tmp/roots && echo root works"""


def test_root_may_have_a_password(boot, tmp_path):
    """Without a password for root, su asks for none (docs/userland.md); with one in /etc/shadow it does."""
    (tmp_path / "etc").mkdir()
    shadow = (TOP / "user/etc/shadow").read_text()
    assert shadow.startswith("root::")
    (tmp_path / "etc/shadow").write_text(shadow.replace("root::", f"root:{SECRET}:", 1))
    machine = boot("sf280r", overlay=tmp_path)
    assert "uid=0" not in machine.run("su student -c 'echo wrong | su root -c id'").out
    assert "uid=0" in machine.check("su student -c 'echo secret | su root -c id'")


@pytest.mark.machine("sf3800", memory="128M")
@pytest.mark.parametrize("processes", [KINDS, 100])
def test_one_user_cannot_take_everything(machine, processes):
    """First one process for each kind of object, then many for all kinds at the same time."""
    before = machine.free_kib()
    text = machine.check(
        f"""mkfifo /root/said; su student -c 'exec /usr/test/hoard {processes}' > /root/said & hoard=$!
        while read line; do echo "$line"; test "$line" = full && break; done < /root/said
        {ROOT_WORKS}; kill $hoard; wait; rm -rf /tmp/hoard /root/said""",
        timeout=120,
    )
    took = re.findall(r"^\w+ (\d+) \d+$", text, re.M)
    assert len(took) == processes
    assert "root works" in text
    assert sum(map(int, took)) > 1000, text
    machine.expect_free(before, MARGIN_KIB)  # the processes that it has left end one after the other
