# SPDX-License-Identifier: MIT
"""test_fs.py - files at the shell, the initramfs and its overlay, and many processes that use the same files."""

import pytest

from homeroom.cpio import Archive

pytestmark = pytest.mark.core

BOARDS = "sf6800"
TWO = pytest.mark.machine("sf280r")
SIX = pytest.mark.machine(BOARDS)


@TWO
def test_mounts(machine):
    rows = [line.split() for line in machine.check("cat /proc/mounts").splitlines()]
    mounted = {row[1]: row[2] for row in rows}
    assert mounted["/"] == "tmpfs" and mounted["/dev"] == "devtmpfs"
    assert mounted["/proc"] == "proc" and mounted["/sys"] == "sysfs"
    assert "/dev" in machine.check("df") and machine.check("df /etc").splitlines()[1].endswith(" /")


@TWO
def test_mounting(machine):
    machine.check("mkdir -p /mnt/a && mount -t tmpfs -o size=1m none /mnt/a && echo x > /mnt/a/f")
    assert machine.run("umount /mnt/a", uid=1000).status != 0
    assert machine.run("cd /mnt/a && umount /mnt/a").status != 0
    assert machine.check("cd /mnt/a/../a && pwd -P") == "/mnt/a\n"
    assert machine.run("mv /mnt/a /mnt/b").status != 0
    assert machine.run("rmdir /mnt/a").status != 0
    assert machine.run("ln /mnt/a/f /mnt/f").status != 0  # to another file system
    machine.check("umount /mnt/a && ls /mnt/a && rmdir /mnt/a")
    assert machine.run("mount -t nosuchfs none /mnt").status != 0
    for options in ("size=abc", "size=0", "mode=9", "mode=77777", "nothing", "size=1m,x", "mode=1k", "size=17179869185g"):
        assert machine.run(f"mount -t tmpfs -o {options} none /mnt").status != 0, options
    machine.check("mount -t tmpfs -o size=2m,mode=700 none /mnt && dd if=/dev/zero of=/mnt/f bs=1M count=1")
    assert machine.check("stat -c %a /mnt; mount -o remount,size=1m /mnt; df -k /mnt | awk 'END { print $2 }'") == "700\n1024\n"
    for options in ("size=4k", "mode=755", "nothing"):
        assert machine.run(f"mount -o remount,{options} /mnt").status != 0, options
    assert machine.run("mount -o remount,nothing /proc").status != 0
    # A file that is open for writing keeps the mount from becoming read-only.
    assert "busy" in machine.run("exec 3>/mnt/g; mount -o remount,ro,size=2m /mnt").out
    assert machine.check("df -k /mnt | awk 'END { print $2 }'") == "1024\n"
    machine.check("mount -o remount,ro /mnt")
    assert "Read-only" in machine.run(": > /mnt/g").out
    machine.check("mount -o remount,rw /mnt && : > /mnt/g")
    machine.check("umount /mnt")


@TWO
def test_full(machine):
    limit, before = (int(word) for word in machine.check("df /").splitlines()[1].split()[1:3])
    out = machine.run("dd if=/dev/zero of=/tmp/big bs=1M; ls -l /tmp/big; rm /tmp/big")
    assert "No space left on device" in out.out and out.status == 0
    size, room = int(out.lines[-1].split()[4]), (limit - before) * 1024  # the root's programs use some of the room
    assert room * 0.97 < size <= room
    after = int(machine.check("df /").splitlines()[1].split()[2])
    assert abs(after - before) <= 64


@TWO
def test_devices(machine):
    assert machine.check("head -c 5 /dev/zero | od -An -tx1").split() == ["00"] * 5
    assert machine.check("cat /dev/null; echo lost > /dev/null") == ""
    assert "No space left" in machine.run("echo x > /dev/full").out
    assert machine.check("head -c 16 /dev/urandom | wc -c") == "16\n"
    assert machine.check("stat -c '%t:%T %a' /dev/null /dev/zero") == "1:3 666\n1:5 666\n"
    assert machine.run("mknod /tmp/none c 99 99 && cat /tmp/none; rm /tmp/none").out.count("No such device") == 1


@TWO
def test_links_of_descriptors(machine):
    assert machine.check("echo through | cat /dev/stdin") == "through\n"
    assert machine.check("echo out > /dev/stdout | cat") == "out\n"
    assert machine.check("readlink /proc/self/fd/0 < /etc/passwd") == "/etc/passwd\n"
    assert machine.check("exec 5< /etc/passwd; rm -f /tmp/x; cat /proc/self/fd/5 | head -n 1").startswith("root:")


@TWO
def test_ids_in_files(machine):
    machine.check("mkdir -p /tmp/g && chgrp 2000 /tmp/g && chmod 2777 /tmp/g && touch /tmp/g/f && mkdir /tmp/g/d")
    assert machine.check("stat -c '%g %a' /tmp/g/f /tmp/g/d").splitlines() == ["2000 644", "2000 2755"]
    machine.check("cp /bin/busybox /tmp/g/s && chmod 6755 /tmp/g/s && chown 1000 /tmp/g/s")
    assert machine.check("stat -c %a /tmp/g/s") == "755\n"
    machine.check("rm -r /tmp/g")


@SIX
@pytest.mark.parametrize("again", range(2))
def test_programs_at_once(machine, again):
    """user/test/t_fsrace.c: names, data, descriptors, pipes and polling, with 24 CPUs."""
    out = machine.check("/usr/test/t_fsrace", timeout=120)
    assert "FAIL" not in out and out.count("PASS") == 12, out


@TWO
def test_programs(machine):
    assert "FAIL" not in machine.check("/usr/test/t_fsrace", timeout=120)


def overlay():
    archive = Archive()
    archive.directory("etc")
    archive.file("etc/motd", b"from the overlay\n", 0o600)
    archive.file("new/deep/file", b"x" * 10000)
    archive.symlink("new/link", "deep/file")
    archive.file("bin/true", b"#!/bin/sh\necho replaced\n", 0o755)  # in place of a link to busybox
    return archive.pack()


def test_overlay(boot_once):
    run = "cat /etc/motd; stat -c %a /etc/motd; wc -c < /new/link; /bin/true; readlink /new/link; busybox echo whole"
    outcome, text, _ = boot_once("sf280r", run=run, overlay=overlay())
    assert outcome.status == 0
    assert "from the overlay\n600\n10000\nreplaced\n" in text and "deep/file" in text and "whole" in text


@pytest.mark.parametrize("how", ["cut", "magic", "name"])
def test_bad_overlay(boot_once, how):
    """One line says what is wrong; the files before the fault are there, and the machine works."""
    data = overlay()
    bad = {
        "cut": data[: data.index(b"x" * 100) + 300],
        "magic": data.replace(b"070701", b"070707").replace(b"070707", b"070701", 4),
        "name": data.replace(b"new/deep/file\0", b"new/../file/\0\0"),
    }[how]
    outcome, text, _ = boot_once("sf280r", run="cat /etc/motd", overlay=bad)
    assert outcome.status == 0 and "from the overlay" in text
    assert text.count("WARNING: overlay: ") == 1
