# SPDX-License-Identifier: MIT
"""test_procfs.py - /proc, /sys and /dev/kstat: their contents, in the formats of Linux."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.machine("sf6800")


def shape(text):
    """The text with each number replaced, so that only the format is left."""
    return re.sub(r"-?\d+(\.\d+)?", "N", text)


@pytest.mark.parametrize("name", ["uptime", "loadavg", "self/statm", "sys/kernel/ostype", "sys/kernel/pid_max"])
def test_same_shape_as_on_the_host(machine, name):
    assert shape(machine.check(f"cat /proc/{name}")) == shape(Path("/proc", name).read_text())


def test_stat_of_a_process(machine):
    line = machine.check("cat /proc/self/stat")
    name, after = re.fullmatch(r"\d+ \((.*)\) (.*)\n", line).groups()
    fields = after.split()
    assert name == "cat" and fields[0] == "R"
    assert len(fields) == len(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split())
    assert int(fields[20]) > 100 * 1024 and int(fields[21]) > 10  # vsize in bytes, rss in pages
    out = machine.check("sh -c 'echo $$; exec cat /proc/self/stat'").split()
    assert out[0] == out[1]


def test_status_of_a_process(machine):
    status = dict(line.split(":\t", 1) for line in machine.check("cat /proc/self/status").splitlines())
    assert status["Name"] == "cat" and status["State"] == "R (running)"
    assert status["Uid"].split() == ["0"] * 4
    assert status["Cpus_allowed"] == "ffffff" and status["Cpus_allowed_list"] == "0-23"
    assert status["Mems_allowed_list"] == "0-5"
    assert 0 <= int(status["Home_lgrp"]) < 6
    assert 0 <= int(status["On_cpu"]) < 24 and status["Lwpid"] == "1" and 0 <= int(status["Priority"]) < 100
    assert int(status["Cpu_time"]) % 10 == 0 and 0 <= int(status["Cpu_recent"]) <= 10000
    assert int(status["VmRSS"].split()[0]) > 0
    status = machine.check("cat /proc/self/status", uid=1000)
    assert re.search(r"^Uid:\t1000\t1000\t1000\t1000$", status, re.M)


def test_cpu_share_in_status(machine):
    """A thread that begins to compute comes near a whole CPU; a process has the sum of its threads."""
    out = machine.check(
        "/usr/test/disp crowd 1 2 600000 & p=$!; until [ $(ls /proc/$p/task | wc -l) = 3 ]; do usleep 20000; done; "
        "sleep 5; grep -H -E '^(Lwpid|Cpu_|Nice|State)' /proc/$p/task/*/status /proc/$p/status; kill $p"
    )
    files = {}
    for path, name, value in re.findall(r"^(\S+):(\w+):\t(.*)$", out, re.M):
        files.setdefault(path, {})[name] = value
    *threads, whole = files.values()
    threads.sort(key=lambda thread: int(thread["Lwpid"]))
    assert [thread["Lwpid"] for thread in threads] == ["1", "2", "3"]
    assert [thread["State"][0] for thread in threads] == ["S", "R", "R"] and whole["Nice"] == "0"
    first, *shares = [int(thread["Cpu_recent"]) for thread in threads]
    assert first < 1000 and all(5000 < share <= 10000 for share in shares), (first, shares)
    assert first + sum(shares) - 500 <= int(whole["Cpu_recent"]) <= 30000
    assert int(whole["Cpu_time"]) >= sum(int(thread["Cpu_time"]) for thread in threads) > 2000


def test_name_in_status(machine):
    """As on Linux, a name does not add lines."""
    out = machine.check(
        r"""sh -c 'printf "a\nUid:\t\134" > /proc/self/comm; grep -E "^(Name|Uid)" /proc/$$/status; cat /proc/$$/comm; true'"""
    )
    assert out == "Name:\ta\\nUid:\t\\\\\nUid:\t0\t0\t0\t0\na\nUid:\t\\\n"


def test_affinity_in_status(machine):
    out = machine.check("taskset 0x100003 cat /proc/self/status")
    assert "Cpus_allowed:\t100003\n" in out and "Cpus_allowed_list:\t0-1,20\n" in out


def test_cmdline_environ_comm(machine):
    assert machine.check("cat /proc/self/cmdline | tr '\\0' '|'") == "cat|/proc/self/cmdline|"
    assert "PROOF=yes|" in machine.check("PROOF=yes cat /proc/self/environ | tr '\\0' '|'")
    assert machine.check("cat /proc/self/comm") == "cat\n"
    assert machine.check("sh -c 'echo newname > /proc/self/comm; cat /proc/$$/comm; true'") == "newname\n"
    assert machine.run("echo newname > /proc/1/comm").status != 0


def test_links(machine):
    assert machine.check("readlink /proc/self/exe") == "/bin/busybox\n"
    assert machine.check("cd /tmp && readlink /proc/self/cwd; readlink /proc/self/root") == "/tmp\n/\n"
    assert machine.check("cd /proc/self/cwd && pwd -P") == machine.check("pwd")
    assert machine.check("readlink /proc/self | grep -c '^[0-9]*$'") == "1\n"
    assert re.fullmatch(r"\d+/task/\d+\n", machine.check("readlink /proc/thread-self"))


def test_descriptors(machine):
    out = machine.check("exec 5< /etc/passwd; readlink /proc/self/fd/5; ls /proc/self/fd")
    assert out.splitlines()[0] == "/etc/passwd" and "5" in out.split()
    links = "cd /tmp; echo x > l1; ln l1 l2; rm l2; exec 5< l1; readlink /proc/self/fd/5; rm l1"
    assert machine.check(links) == "/tmp/l1\n"
    links = "cd /tmp; echo x > l1; ln l1 l2; exec 5< l1 6< l2 5< l1; readlink /proc/self/fd/5; rm l1 l2"
    assert machine.check(links) == "/tmp/l1\n"
    assert machine.check("exec 5> /tmp/fd5; rm /tmp/fd5; echo kept >&5; cat /proc/self/fd/5") == "kept\n"
    assert machine.check("echo piped | cat /dev/stdin") == "piped\n"
    assert machine.check("echo piped | cat /proc/self/fd/0") == "piped\n"
    assert re.search(r"pipe:\[\d+\]", machine.check("true | readlink /proc/self/fd/0"))


def test_secrets_are_for_the_owner(machine):
    for name in ("environ", "maps", "lgrpmap", "heat"):
        result = machine.run(f"cat /proc/1/{name}", uid=1000)
        assert result.status != 0 and "Permission denied" in result.out, name
    for name in ("exe", "cwd", "root"):
        assert machine.run(f"readlink /proc/1/{name}", uid=1000).out == ""
    assert "Permission denied" in machine.run("ls /proc/1/fd", uid=1000).out
    assert machine.check("cat /proc/1/cmdline", uid=1000) != ""
    machine.check("cat /proc/self/environ > /dev/null && ls /proc/self/fd > /dev/null", uid=1000)
    assert machine.check("stat -c %u /proc/self/", uid=1000) == "1000\n"


def test_a_process_that_has_gone(machine):
    out = machine.check("sleep 1000 & p=$!; exec 5< /proc/$p/stat; kill -9 $p; wait $p; cat <&5; ls -d /proc/$p; true")
    assert "No such process" in out and "No such file" in out


def test_maps(machine):
    maps = machine.check("cat /proc/self/maps").splitlines()
    line = r"[0-9a-f]{8,}-[0-9a-f]{8,} [r-][w-][x-][ps] [0-9a-f]{8} \w\w:\w\w \d+( +.*)?$"
    assert all(re.match(line, m) for m in maps)
    assert any(m.endswith("/bin/busybox") and " r-xp " in m for m in maps)
    assert any(m.endswith("[stack]") for m in maps) and any(m.endswith("[heap]") for m in maps)
    starts = [int(m.split("-")[0], 16) for m in maps]
    assert starts == sorted(starts)


def test_lgrpmap(machine):
    """Runs of pages cover each mapping, and count the resident pages."""
    out = machine.check("cat /proc/self/lgrpmap; cat /proc/self/maps")
    runs = [ln.split() for ln in out.splitlines() if re.match(r"\S+ \S{4} (\d+|-) \d+ \d+", ln)]
    maps = [ln.split() for ln in out.splitlines() if re.match(r"\S+ \S{4} [0-9a-f]{8} ", ln)]
    assert len(runs) >= len(maps) > 3
    for _, _, lgrp, pages, size, *_ in runs:
        assert (lgrp == "-") == (pages == "0") and size in ("4096", "2097152")
        assert lgrp == "-" or int(lgrp) < 6
    for first, _, _, pages, size, *_ in runs:
        start, end = (int(x, 16) for x in first.split("-"))
        assert int(pages) * int(size) in (0, end - start)


def test_threads_of_a_process(machine):
    out = machine.check("sh -c 'cd /proc/$$/task; echo $$; ls; cat */comm; true'").split()
    assert out[0] == out[1] and out[2] == "sh"


def test_zombie(machine):
    """It ends after its parent, the shell, has become sleep, which does not wait for it."""
    out = machine.check(
        "sh -c '(until grep -q sleep /proc/$$/comm; do usleep 10000; done) & echo $! > /tmp/zombie; exec sleep 99' & p=$!; "
        "{ until grep -q ^State:.Z /proc/$(cat /tmp/zombie)/status; do usleep 20000; done; } 2> /dev/null; "
        "ps -o pid,stat,comm | grep '[Z]'; kill $p"
    )
    assert re.search(r"\d+ Z +(sh|\[)", out), out


def test_system_files(machine):
    assert machine.check("cat /proc/version").startswith("Linux version 6.1.0-homeroom")
    stat = machine.check("cat /proc/stat")
    assert len(re.findall(r"^cpu\d+ (\d+ ){9}\d+$", stat, re.M)) == 24
    assert re.search(r"^ctxt [1-9]\d*$", stat, re.M) and re.search(r"^btime 1[6-9]\d{8}$", stat, re.M)
    mem = dict(re.findall(r"^(\w+): +(\d+) kB$", machine.check("cat /proc/meminfo"), re.M))
    assert 6 * 200 * 1024 < int(mem["MemTotal"]) <= 6 * 1024 * 1024 and int(mem["MemFree"]) < int(mem["MemTotal"])
    assert machine.check("grep -c ^processor /proc/cpuinfo") == "24\n"
    mounts = machine.check("cat /proc/mounts")
    assert {"/", "/proc", "/sys", "/dev"} <= {line.split()[1] for line in mounts.splitlines()}
    assert "tmpfs" in machine.check("cat /proc/filesystems")
    assert re.search(r"uart1$", machine.check("cat /proc/interrupts"), re.M)


def test_hostname_through_sysctl(machine):
    assert machine.check("sysctl -n kernel.osrelease") == "6.1.0-homeroom\n"
    assert machine.check("sysctl -w kernel.hostname=sunfire > /dev/null; hostname; uname -n") == "sunfire\nsunfire\n"
    assert machine.run("echo x > /proc/sys/kernel/hostname", uid=1000).status != 0


def test_commands_that_read_proc(machine):
    assert re.search(r"^ +1 root .*/sbin/init$", machine.check("ps"), re.M)
    assert "sleep 77" in machine.check("sleep 77 & usleep 300000; ps; kill $!")
    top = machine.check("top -b -n 1")
    assert "Mem:" in top and "Load average:" in top and re.search(r"^ +1 +0 root", top, re.M)
    assert re.search(r"^Mem: +\d+ +\d+ +\d+", machine.check("free"), re.M)
    assert re.search(r"up .*load average: [\d.]+, [\d.]+, [\d.]+", machine.check("uptime"))
    assert re.search(r"on /proc type proc", machine.check("mount"))
    assert "/dev" in machine.check("df")
    machine.check("sleep 78 & until pidof sleep | grep -qw $!; do usleep 20000; done; kill $!")
    assert machine.check("nproc") == "24\n"


def test_many_processes(machine):
    """ps makes one pass over many processes."""
    count = "ps | grep -c 'root *[s]leep 300'"
    start = f"for i in $(seq 500); do sleep 300 & done; until [ $({count}) -ge 500 ]; do sleep 0.2; done"
    out = machine.check(f"{start}; {count}; kill $(pidof sleep); wait", 180)
    assert out.splitlines()[0] == "500"


def test_nodes(machine):
    m = machine.machine
    base = "/sys/devices/system/node"
    assert machine.check(f"cat {base}/online {base}/has_memory {base}/has_cpu") == "0-5\n" * 3
    for node in range(m.domains):
        cpus = m.domain_cpus(node)
        out = machine.check(f"cd {base}/node{node}; cat cpulist cpumap distance meminfo")
        cpulist, cpumap, distance, *meminfo = out.splitlines()
        assert cpulist == f"{cpus[0]}-{cpus[-1]}"
        assert cpumap == f"{sum(1 << c for c in cpus):06x}"
        assert [int(x) for x in distance.split()] == m.slit[node]
        total = int(re.search(rf"Node {node} MemTotal: +(\d+) kB", meminfo[0])[1])
        assert 0.7 < total / (m.domain_memory_mib(node) * 1024) <= 1


def test_cpus(machine):
    base = "/sys/devices/system/cpu"
    assert machine.check(f"cat {base}/online {base}/possible {base}/present") == "0-23\n" * 3
    assert machine.check(f"cd {base}/cpu5; cat online topology/physical_package_id topology/core_id") == "1\n2\n1\n"
    assert machine.check(f"cd {base}/cpu5/topology; cat package_cpus_list thread_siblings_list") == "4-5\n5\n"
    assert machine.check(f"cat {base}/cpu5/node1/cpulist") == "4-7\n"


def test_fw_cfg_files(machine):
    base = "/sys/firmware/qemu_fw_cfg/by_name"
    assert machine.check(f"cat {base}/opt/homeroom/agent/raw") == "shell"
    assert "seed" in machine.check(f"ls {base}/opt/homeroom").split()
    assert machine.run(f"cat {base}/opt/homeroom/agent/raw", uid=1000).status != 0


def test_kstat_device(machine):
    lines = machine.check("cat /dev/kstat").splitlines()
    assert lines and all(re.fullmatch(r"\w+:-?\d+:[^:]+:[^\t]+\t-?\d+", ln) for ln in lines)
    assert machine.run("echo nonsense > /dev/kstat").status != 0
    assert machine.run("echo cpu:0:sys > /dev/kstat", uid=1000).status != 0


def test_kernel_messages(machine):
    assert "Homeroom: 24 CPUs" in machine.check("dmesg")
