# SPDX-License-Identifier: MIT
"""test_commands.py - the output formats of the commands, on the host: each command is linked with tests/fakekernel.c.

The fake kernel has two boards of four CPUs; CPU 5 is off-line, CPU 6 no-intr, CPU 7 busy.
test_commands_boot.py tests the answers of the real kernel.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from harness import HOST_LIMIT

ROOT = Path(__file__).resolve().parent.parent
HRCC = ROOT / "tools/hrcc"
NO_CPU = "Invalid argument (psrinfo lists the processors)"
NO_SET = "Invalid argument (psrset -i lists the sets)"
SINCE = "12/19/2006 18:15:15"

LGRPINFO = """\
lgroup {0} (leaf):
\tChildren: none, Parent: none
\tCPUs: {1}
\tMemory: installed 256M, allocated 64M, free 192M
\tLgroup resources: {0} (CPU); {0} (memory)
\tLoad: 0.25
\tLatency: 10
"""

KSTATS = """\
lgrp:1:lgrp1:lwp migrations\t0
lgrp:0:lgrp0:cpus\t4
lgrp:0:lgrp0:alloc fail\t17
unix:0:system_misc:ncpus\t8
"""

MAPS = """\
00400000-00402000 r-xp 00000000 00:02 17 /bin/prog
00600000-00604000 rw-p 00000000 00:00 0 [heap]
7fff0000-7fff2000 rw-s 00000000 00:00 0
"""

LGRPMAP = """\
00400000-00402000 r-xp 0 2 4096 /bin/prog
00600000-00603000 rw-p 1 3 4096 [heap]
00603000-00604000 rw-p - 0 4096 [heap]
7fff0000-7fff2000 rw-s 0 1 4096
"""


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    """A function that runs a command against the fake kernel; it builds the command at its first use."""
    build = tmp_path_factory.mktemp("commands")
    root = build / "root"
    proc = root / "proc/77"
    (proc / "task/77").mkdir(parents=True)
    (proc / "task/78").mkdir()
    (root / "dev").mkdir()
    (root / "dev/kstat").write_text(KSTATS)
    (proc / "maps").write_text(MAPS)
    (proc / "lgrpmap").write_text(LGRPMAP)
    (proc / "cmdline").write_bytes(b"/bin/prog\0-v\0")

    def run(command, *args, stdin="", lgrps=2, root=root):
        program = build / command
        if not program.exists():
            subprocess.run(
                [HRCC, "-D_GNU_SOURCE", ROOT / f"user/cmd/{command}.c", ROOT / "tests/fakekernel.c"] + ["-o", program],
                check=True,
            )
        env = {**os.environ, "FAKE_ROOT": str(root), "FAKE_LGRPS": str(lgrps), "TZ": "UTC"}
        return subprocess.run([program, *args], input=stdin, capture_output=True, text=True, env=env, timeout=HOST_LIMIT)

    return run


def test_lgrpinfo_all(fake):
    out = fake("lgrpinfo")
    assert out.returncode == 0
    assert out.stdout == LGRPINFO.format(0, "0-3") + LGRPINFO.format(1, "4 6 7")


def test_lgrpinfo_selects(fake):
    assert fake("lgrpinfo", "-c", "1").stdout == "lgroup 1 (leaf):\n\tCPUs: 4 6 7\n"
    assert fake("lgrpinfo", "-I").stdout == "0 1\n"
    assert fake("lgrpinfo", "-I", "-C", "root").stdout == "0 1\n"
    assert fake("lgrpinfo", "-cI", "0").stdout == "0-3\n"
    assert fake("lgrpinfo", "-m", "-u", "k", "0").stdout.splitlines()[1] == (
        "\tMemory: installed 262144K, allocated 65536K, free 196608K"
    )
    root = fake("lgrpinfo", "root").stdout.splitlines()
    assert root[0] == "lgroup 2 (root):"
    assert root[1] == "\tChildren: 0 1"
    assert root[-1] == "\tLatency: 12"
    assert not any("Load" in line for line in root)


def test_lgrpinfo_tables(fake):
    assert fake("lgrpinfo", "-T").stdout == "2\n|-- 0\n`-- 1\n"
    rows = [line.split() for line in fake("lgrpinfo", "-L").stdout.splitlines()]
    assert ["0", "|", "10", "12"] in rows
    assert ["1", "|", "12", "10"] in rows


def test_lgrpinfo_one_lgroup_is_the_root(fake):
    out = fake("lgrpinfo", "-t", lgrps=1)
    assert out.stdout == "lgroup 0 (root):\n\tChildren: none\n"


def test_lgrpinfo_exit_codes(fake):
    assert fake("lgrpinfo", "9").returncode == 2
    assert fake("lgrpinfo", "-Z").returncode == 3
    assert fake("lgrpinfo", "-u", "q").returncode == 3


def test_plgrp_home(fake):
    out = fake("plgrp", "77")
    assert out.stdout == ("     PID/LWPID    HOME\n      77/1        1\n      77/3        1\n")
    assert out.returncode == 0
    assert fake("plgrp", "77/3").stdout.splitlines()[1:] == ["      77/3        1"]


def test_plgrp_changes(fake):
    assert fake("plgrp", "-H", "0", "77/1").stdout.splitlines()[1] == "      77/1        1 => 0"
    assert fake("plgrp", "-a", "0-1", "77/1").stdout.splitlines() == [
        "     PID/LWPID    HOME  AFFINITY",
        "      77/1        1     0,1/none",
    ]
    row = fake("plgrp", "-A", "0/strong,1/weak", "77/1").stdout.splitlines()[1]
    assert row == "      77/1        1 => 0     0,1/none => 0/strong,1/weak"


def test_plgrp_exit_codes(fake):
    assert fake("plgrp").returncode == 1
    assert fake("plgrp", "-H", "5", "77").returncode == 1
    assert fake("plgrp", "4242").returncode == 2
    assert fake("plgrp", "77/2").returncode == 2


def test_pmap_plain(fake):
    assert fake("pmap", "77").stdout == (
        "77: /bin/prog -v\n"
        "00400000       8K r-x--  /bin/prog\n"
        "00600000      16K rw---    [ heap ]\n"
        "7FFF0000       8K rw-s-    [ anon ]\n"
        " total        32K\n"
    )


def test_pmap_lgroups(fake):
    assert fake("pmap", "-L", "77").stdout == (
        "77: /bin/prog -v\n"
        "00400000       8K r-x--   0 /bin/prog\n"
        "00600000      12K rw---   1   [ heap ]\n"
        "00603000       4K rw---   -   [ heap ]\n"
        "7FFF0000       8K rw-s-   0   [ anon ]\n"
        " total        32K\n"
    )


HEAT = """\
every 16
00400000 0 0:160 1:32
00600000 1 1:320
00601000 1 0:960 1:0
7fff1000 0 1:16
"""


def test_pmap_misses(fake, tmp_path):
    """With page heat, pmap -L shows the misses of each run, and the share of other lgroups in them."""
    proc = tmp_path / "proc/77"
    proc.mkdir(parents=True)
    for name, text in (("lgrpmap", LGRPMAP), ("heat", HEAT), ("cmdline", "/bin/prog\0")):
        (proc / name).write_text(text)
    assert fake("pmap", "-L", "77", root=tmp_path).stdout == (
        "77: /bin/prog\n"
        "Address      Size Mode Lgrp     Misses  Far Mapped File\n"
        "00400000       8K r-x--   0        192  17% /bin/prog\n"
        "00600000      12K rw---   1       1280  75%   [ heap ]\n"
        "00603000       4K rw---   -          -    -   [ heap ]\n"
        "7FFF0000       8K rw-s-   0         16 100%   [ anon ]\n"
        " total        32K                 1488  68%\n"
        "one of 16 misses was counted, times 16\n"
    )
    (proc / "heat").write_text("")
    assert "Misses" not in fake("pmap", "-L", "77", root=tmp_path).stdout


def test_pmap_extended(fake):
    assert fake("pmap", "-x", "77").stdout == (
        "77: /bin/prog -v\n"
        " Address  Kbytes     RSS    Anon  Locked Mode   Mapped File\n"
        "00400000       8       8       -       - r-x--  /bin/prog\n"
        "00600000      16      12      12       - rw---    [ heap ]\n"
        "7FFF0000       8       4       4       - rw-s-    [ anon ]\n"
        "-------- ------- ------- ------- -------\n"
        "total Kb      32      24      16       -\n"
    )
    assert fake("pmap", "4242").returncode == 1


def test_psrinfo(fake):
    lines = fake("psrinfo").stdout.splitlines()
    assert len(lines) == 8
    assert lines[0] == f"0\ton-line   since {SINCE}"
    assert lines[5] == f"5\toff-line  since {SINCE}"
    assert lines[6] == f"6\tno-intr   since {SINCE}"
    assert fake("psrinfo", "-s", "0").stdout == "1\n"
    assert fake("psrinfo", "-s", "6").stdout == "0\n"
    assert fake("psrinfo", "8").stderr == f"psrinfo: processor 8: {NO_CPU}\n"


def test_psrinfo_verbose(fake):
    lines = fake("psrinfo", "-v", "6").stdout.splitlines()
    assert lines[0].startswith("Status of virtual processor 6 as of: ")
    assert lines[1:] == [
        f"  no-intr since {SINCE}.",
        "  The x86-64 processor operates at 1050 MHz,",
        "\tand has a sse2 floating point processor.",
    ]


def test_psradm(fake):
    assert fake("psradm", "-fv", "3").stdout == "processor 3 taken off-line.\n"
    assert fake("psradm", "-nv", "5").stdout == "processor 5 brought on-line.\n"
    assert fake("psradm", "-iv", "3").stdout == "processor 3 set to no-intr.\n"
    assert fake("psradm", "-nv", "3").stdout == "processor 3 already on-line.\n"
    assert fake("psradm", "-fv", "2-3").stdout == "processor 2 taken off-line.\nprocessor 3 taken off-line.\n"
    busy = fake("psradm", "-f", "7", "3")
    assert (busy.stderr, busy.returncode) == ("psradm: processor 7: Device busy\n", 1)
    absent = fake("psradm", "-fv", "3", "99")
    assert (absent.stdout, absent.stderr, absent.returncode) == ("", f"psradm: processor 99: {NO_CPU}\n", 2)
    assert fake("psradm", "-a", "-f").returncode == 0
    assert fake("psradm", "-f", "x").returncode == 2
    assert fake("psradm", "3").returncode == 2
    assert fake("psradm", "-f").returncode == 2


SETS = """\
user processor set 1: processors 0 1 2
user processor set 2: processor 3
user processor set 3: empty
"""


@pytest.mark.parametrize(
    "args, out, err, status",
    [
        ("", SETS, "", 0),
        ("-i 2", "user processor set 2: processor 3\n", "", 0),
        ("-i 9 3", "user processor set 3: empty\n", f"processor set 9: {NO_SET}", 1),
        ("-c", "created processor set 4\n", "", 0),
        (
            "-c 3 4",
            "created processor set 4\nprocessor 3: was 2, now 4\nprocessor 4: was not assigned, now 4\n",
            "",
            0,
        ),
        (
            "-c 7 6",
            "created processor set 4\nprocessor 6: was not assigned, now 4\n",
            "cannot assign processor 7: Device busy",
            1,
        ),
        ("-a 1 4-6", "".join(f"processor {i}: was not assigned, now 1\n" for i in (4, 5, 6)), "", 0),
        ("-a 1 99", "", f"processor 99: {NO_CPU}", 1),
        ("-a 9 4", "", f"processor set 9: {NO_SET}", 1),
        ("-a 1 20-22", "", "no processors in range 20-22 (psrinfo lists them)", 1),
        ("-c 99", "", f"processor 99: {NO_CPU}", 1),
        ("-c 3 99", "", f"processor 99: {NO_CPU}", 1),
        ("-c 3 abc", "", "invalid processor ID abc (psrinfo lists the processors)", 2),
        ("-c 7", "created processor set 4\nremoved processor set 4\n", "cannot assign processor 7: Device busy", 1),
        ("-a 1 4 abc", "", "invalid processor ID abc (psrinfo lists the processors)", 2),
        ("-d 3 abc", "", "invalid processor set ID abc (psrset -i lists the sets)", 2),
        ("-b 9 99999", "", f"processor set 9: {NO_SET}", 1),
        ("-b 2 77 abc", "", "invalid process ID abc (ps lists the processes)", 2),
        ("-u 77 77/x", "", "invalid lwp ID 77/x (write pid/2,4-8)", 2),
        ("-r 0 7", "processor 0: was 1, now not assigned\n", "cannot remove processor 7: Device busy", 1),
        ("-p", "processor 0: 1\nprocessor 1: 1\nprocessor 2: 1\nprocessor 3: 2\n", "", 0),
        ("-p 5 3", "processor 5: not assigned\nprocessor 3: 2\n", "", 0),
        ("-p 99", "", f"processor 99: {NO_CPU}", 1),
        ("-d 3", "removed processor set 3\n", "", 0),
        ("-d 2 3", "removed processor set 3\n", "could not remove processor set 2: Device busy", 1),
        ("-b 2 77", "process id 77: was 1, now 2\n", "", 0),
        ("-b 3 77", "", "processor set 3 is empty (psrset -a 3 processor_id fills it)", 1),
        ("-b 2 5 77", "process id 77: was 1, now 2\n", "cannot bind pid 5: No such process", 1),
        ("-b 2 77/1,3-", "lwp id 77/1: was 1, now 2\nlwp id 77/3: was 2, now 2\n", "", 0),
        ("-u 77", "process id 77: was 1, now not bound\n", "", 0),
        ("-u 5", "", "cannot unbind pid 5: No such process", 1),
        ("-q", "process id 77: 1\n", "", 0),
        ("-q 77", "process id 77: 1\n", "", 0),
        ("-q 77/-2", "lwp id 77/1: 1\n", "", 0),
        ("-q 5", "", "cannot query pid 5: No such process", 1),
        ("-Q 1", "lwp id 77/1: 1\nlwp id 77/3: 1\n", "", 0),
        ("-Q 2", "", "", 0),
        ("-U", "", "", 0),
        ("-f 1", "", "", 0),
        ("-n 2", "", "", 0),
        ("-f 9", "", f"processor set 9: {NO_SET}", 1),
        ("-e 2 echo inside", "inside\n", "", 0),
        ("-e 2 /no/such", "", "/no/such: cannot exec in processor set 2: No such file or directory", 2),
        ("-e 3 echo inside", "", "processor set 3 is empty (psrset -a 3 processor_id fills it)", 2),
        ("-a 1 x", "", "invalid processor ID x (psrinfo lists the processors)", 2),
        ("-b 2 x", "", "invalid process ID x (ps lists the processes)", 2),
        ("-d x", "", "invalid processor set ID x (psrset -i lists the sets)", 2),
        ("-a", "", "must specify a processor set", 2),
        ("-d", "", "must specify a processor set", 2),
        ("-a 1", "", "must specify at least one processor", 2),
        ("-r", "", "must specify at least one processor", 2),
        ("-b 1", "", "must specify at least one pid", 2),
        ("-u", "", "must specify at least one pid", 2),
        ("-e 1", "", "must specify command", 2),
        ("-p -i", "", None, 2),
        ("-f 1 2", "", None, 2),
        ("-q -F", "", None, 2),
        ("-x", "", None, 2),
    ],
)
def test_psrset(fake, args, out, err, status):
    """The lines of each action, the message of each failure, and the status; the rest of a list is always processed."""
    done = fake("psrset", *args.split())
    assert done.returncode == status, done.stderr
    assert done.stdout == out
    first = done.stderr.splitlines()[0] if done.stderr else ""
    if err is not None:
        assert first == (f"psrset: {err}" if err else "")
    if err is None or "must specify" in err:
        assert "usage:" in done.stderr and "\tpsrset -a [-F] processor_set_id processor_id ..." in done.stderr


INTERVAL = "interval (in seconds) and count are whole numbers from 1 to 1073741824"
NO_PID = "invalid process ID abc (ps lists the processes)"
LINES = "invalid argument for -n (numbers of lines and users are 1 to 2147483647)"
CYCLES = "pic0=Cycle_cnt"
WRONG = [
    ("psrset", ["-c", ""], 2, "invalid processor ID  (psrinfo lists the processors)"),
    ("psradm", ["-fv", "3", "abc"], 2, f"processor abc: {NO_CPU}"),
    ("psrinfo", ["0", "abc"], 2, f"processor abc: {NO_CPU}"),
    ("pbind", ["-b", "1", "77", "abc"], 2, NO_PID),
    ("pbind", ["-b", "99", "77"], 1, f"processor 99: {NO_CPU}"),
    ("pbind", ["-b", "5", "77"], 1, "processor 5: Invalid argument (it is off-line: psradm -n 5 brings it back)"),
    ("plgrp", ["-H", "-1", "77"], 1, "no such lgroup: '-1' (lgrpinfo -I lists them)"),
    ("plgrp", ["-H", "0", "77", "abc"], 1, NO_PID),
    ("plgrp", ["-A", "1", "77"], 1, "'1': write lgroups and their affinity, as 0,1/strong"),
    ("plgrp", ["-A", "", "77"], 1, "'': write lgroups and their affinity, as 0,1/strong"),
    ("plgrp", ["-A", "1/weak,", "77"], 1, "'': write lgroups and their affinity, as 0,1/strong"),
    ("plgrp", ["-A", "1/huge", "77"], 1, "'huge': an affinity is none, weak or strong"),
    ("plgrp", ["-A", "1/", "77"], 1, "'': an affinity is none, weak or strong"),
    ("priocntl", ["-l", "77"], 2, "77: nothing comes after -l"),
    ("priocntl", ["-s", "-c", "FX", "77", "abc"], 2, NO_PID),
    ("priocntl", ["-s", "-c", "XX", "77"], 1, "XX: no such class; there are TS, IA, FX, FSS and RT"),
    ("priocntl", ["-s", "-c", "RT", "-p", "99", "77", "78"], 1, "RT priorities are 0 to 59"),
    ("cfgadm", ["-x", "passthru", "-o", "showlpa", "abc"], 2, "'abc' is no attachment point"),
    ("pmap", ["abc"], 2, NO_PID),
    ("pmap", ["77", "abc"], 2, NO_PID),
    ("lgrpinfo", ["9"], 2, "no such lgroup: '9' (lgrpinfo -I lists them)"),
    ("lgrpinfo", ["-C", "0"], 2, "-C: children: none of these lgroups has any (lgrpinfo -T shows the tree)"),
    ("lgrpinfo", ["-u", "q"], 3, "-u 'q': a unit is b, k, m, g, t, p or e"),
    ("intrstat", ["-c", "99"], 2, f"processor 99: {NO_CPU}"),
    ("intrstat", ["-c", "20-30"], 2, "no processors in range 20-30 (psrinfo lists them)"),
    ("intrstat", ["-c", ""], 2, "-c '': write processors as 0,2-4"),
    ("intrstat", ["abc"], 2, f"'abc': {INTERVAL}"),
    ("mpstat", ["0"], 2, f"'0': {INTERVAL}"),
    ("vmstat", ["1e9"], 2, f"'1e9': {INTERVAL}"),
    ("vmstat", ["1", "2", "3"], 2, "'3': nothing comes after interval and count"),
    ("vmstat", ["-s", "abc"], 2, "'abc': -s and -i print once, about all: nothing comes after them"),
    ("vmstat", ["nodisk"], 1, "there is no disk 'nodisk'; there are: sd0 sd1"),
    ("iostat", ["1", "abc"], 2, f"'abc': {INTERVAL}"),
    ("iostat", ["abc"], 1, "there is no disk 'abc'; there are: sd0 sd1"),
    ("iostat", ["-x", "nodisk"], 1, "there is no disk 'nodisk'; there are: sd0 sd1"),
    ("kstat", ["-m", "nosuch"], 1, "no statistic is selected (kstat -l lists them)"),
    ("kstat", ["nosuch", "1"], 1, "no statistic is selected (kstat -l lists them)"),
    ("kstat", ["1", "0"], 2, f"'0': {INTERVAL}"),
    ("kstat", ["a:b:c:d:e"], 2, "':e': a selection has four parts, module:instance:name:statistic"),
    ("prstat", ["0"], 2, f"'0': {INTERVAL}"),
    ("prstat", ["1", "2", "3"], 2, "'3': nothing comes after interval and count"),
    ("prstat", ["-p", "1,abc"], 2, NO_PID),
    ("prstat", ["-p", ""], 2, "invalid process ID  (ps lists the processes)"),
    ("prstat", ["-p", "99"], 1, "process 99: No such process"),
    ("prstat", ["-u", "nobody-here"], 2, "unknown user -- nobody-here (/etc/passwd lists the users)"),
    ("prstat", ["-s", "swap"], 2, "invalid sort key -- swap (keys are cpu, time, size, rss and pri)"),
    ("prstat", ["-n", "0"], 2, LINES),
    ("prstat", ["-n", "5,"], 2, LINES),
    ("prstat", ["-n", "2147483648"], 2, LINES),
    ("prstat", ["-n", "5,99999999999999999999"], 2, LINES),
    ("trace", ["-n", "1073741825", "true"], 2, "-n 1073741825: write a number of events, 1 to 1073741824"),
    ("cpustat", ["-c", CYCLES, "1", "1073741825"], 2, "'1073741825': give the number of samples, 1 to 1073741824"),
    ("cputrack", ["-c", CYCLES, "-N", "1073741825", "true"], 2, "-N '1073741825': give a number of samples, 1 to 1073741824"),
    ("prstat", ["-at"], 2, "-t option cannot be used with -a"),
    ("lgrptop", ["abc"], 2, f"'abc': {INTERVAL}"),
    ("trace", ["-e", "", "true"], 2, "-e names no event"),
    ("trace", ["-o", "/no/such", "echo", "ran"], 1, "/no/such: No such file or directory"),
]


@pytest.mark.parametrize("command, args, status, says", WRONG, ids=[" ".join([c, *a]) for c, a, _, _ in WRONG])
def test_a_wrong_command_line_does_nothing_and_says_why(fake, tmp_path, command, args, status, says):
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kstat").write_text("sd:0:sd0:reads\t1\nsd:0:sd0:writes\t1\nsd:1:sd1:reads\t1\n")
    done = fake(command, *args, root=tmp_path)
    assert (done.returncode, done.stdout) == (status, ""), done
    assert done.stderr.splitlines()[0] == f"{command}: {says}"


MPSTAT_NAMES = ["minf", "mjf", "xcal", "intr", "ithr", "csw", "icsw", "migr", "smtx", "srw", "syscl"]
MPSTAT_NAMES += ["usr_ticks", "sys_ticks", "wt_ticks", "idl_ticks"]
MPSTAT = {  # by CPU: totals after 20 seconds
    0: [1920, 0, 4960, 69620, 0, 142520, 80, 680, 8780, 0, 120820, 40, 500, 0, 1460],
    3: [0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2000],
    4: [540, 0, 399300, 825180, 820720, 12700, 300, 560, 57240, 0, 8300, 0, 940, 0, 1060],
    6: [0, 0, 0, 180, 0, 0, 160, 0, 80, 0, 10699400, 750, 250, 0, 0],  # half the time on-line
}
HEADING = "CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl"


@pytest.fixture
def counted(tmp_path):
    """A root directory with files that contain the counts of CPUs after 20 seconds."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "proc").mkdir()
    rows = [(cpu, MPSTAT.get(cpu, [0] * 14 + [2000])) for cpu in range(8)]
    text = "".join(
        f"cpu:{cpu}:sys:{name}\t{value}\n" for cpu, row in rows for name, value in zip(MPSTAT_NAMES, row, strict=True)
    )
    (tmp_path / "dev/kstat").write_text(text)
    (tmp_path / "proc/uptime").write_text("20.00 100.00\n")
    return tmp_path


def test_mpstat(fake, counted):
    """The columns are those of the blog; CPU 5 is off-line and has no line."""
    lines = fake("mpstat", root=counted).stdout.splitlines()
    assert lines[0] == HEADING
    assert lines[1] == "  0   96   0  248  3481    0 7126    4   34  439    0  6041    2  25   0  73"
    assert lines[4] == "  3    0   0    0     1    0    0    0    0    0    0     0    0   0   0 100"
    assert lines[5] == "  4   27   0 19965 41259 41036  635   15   28 2862    0   415    0  47   0  53"
    assert lines[6] == "  6    0   0    0    18    0    0   16    0    8    0 1069940   75  25   0   0"
    assert [int(line.split()[0]) for line in lines[1:]] == [0, 1, 2, 3, 4, 6, 7]


def test_mpstat_by_set(fake, counted):
    lines = fake("mpstat", "-p", root=counted).stdout.splitlines()
    assert lines[0] == HEADING + " set"
    assert [line.split()[::16] for line in lines[1:]] == [
        ["4", "-1"],
        ["6", "-1"],
        ["7", "-1"],
        ["0", "1"],
        ["1", "1"],
        ["2", "1"],
        ["3", "2"],
    ]
    assert lines[7] == "  3    0   0    0     1    0    0    0    0    0    0     0    0   0   0 100   2"
    assert fake("mpstat", "-P", "2", root=counted).stdout.splitlines()[1].split()[0] == "3"
    gone = fake("mpstat", "-P", "9", root=counted)
    assert (gone.stderr, gone.returncode) == ("mpstat: pset 9 does not exist (psrset lists the sets)\n", 1)


def test_mpstat_of_sets(fake, counted):
    lines = fake("mpstat", "-a", root=counted).stdout.splitlines()
    assert lines[0] == "SET" + HEADING[3:] + " sze"
    assert [line.split()[::16] for line in lines[1:]] == [["-1", "3"], ["1", "3"], ["2", "1"], ["3", "0"]]
    one = lines[2].split()
    assert one[1] == "96" and one[12:16] == ["1", "8", "0", "91"]  # sums of counts, and means of shares of time


def test_mpstat_arguments(fake, counted):
    assert fake("mpstat", "1", "0", root=counted).stdout == ""
    assert len(fake("mpstat", "1", "2", root=counted).stdout.splitlines()) == 16  # a heading before each report
    for wrong in (["-p", "-P", "1"], ["x"], ["1", "2", "3"], ["-z"], ["0"]):
        assert fake("mpstat", *wrong, root=counted).returncode == 2


PROCESS_TITLE = "   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/NLWP"
TOTALS = "Total: 4 processes, 12 lwps, load averages: 1.50, 0.25, 0.00"


def status(pid, name, **values):
    """A file `status` with the lines that prstat reads."""
    lines = {"State": "S (sleeping)", "Tgid": pid, "Uid": 0, "VmSize": 100, "VmRSS": 10, "Threads": 1}
    lines |= {"Home_lgrp": 0, "Lwpid": 1, "On_cpu": -1, "Priority": 59, "Nice": 0, "Cpu_time": 0, "Cpu_recent": 0}
    lines |= values
    lines["Uid"] = f"7\t{lines['Uid']}\t7\t7"  # real, effective, saved, that of file access
    return f"Name:\t{name}\n" + "".join(f"{key}:\t{value}\n" for key, value in lines.items())


@pytest.fixture
def processes(tmp_path):
    """A root directory with four processes.  The machine has seven CPUs on-line."""

    def put(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    put("proc/loadavg", "1.50 0.25 0.00 1/12 40\n")
    put("proc/meminfo", "MemTotal:          10000 kB\nMemFree:            5000 kB\n")
    put("proc/10/status", status(10, "init", Cpu_time=3723004, VmSize=9999, VmRSS=3416))
    big = {"VmSize": 10000, "VmRSS": 20000000, "Threads": 9, "Uid": 4242, "Nice": -5}
    put("proc/20/status", status(20, "db writer", Cpu_recent=35000, Cpu_time=360000000, **big))
    for tid, values in {20: {"Lwpid": 1}, 21: {"Lwpid": 2, "State": "R (running)", "Cpu_recent": 30000}}.items():
        put(f"proc/20/task/{tid}/status", status(20, "db writer", **big, **values))
    busy = {"State": "R (running)", "On_cpu": 6, "Priority": 19, "Home_lgrp": 1, "Cpu_recent": 5000, "Cpu_time": 61000}
    put("proc/20/task/22/status", status(20, "worker\x1b", Lwpid=3, **(big | busy)))
    put("proc/30/status", status(30, "clock", Priority=159, State="T (stopped)", Cpu_recent=699, VmSize=12345678))
    gone = status(40, "gone", State="Z (zombie)", Home_lgrp=-1, Priority=0)
    put("proc/40/status", "".join(line for line in gone.splitlines(True) if not line.startswith("Vm")))
    put("proc/50/comm", "ended while it was looked at\n")
    return tmp_path


def test_prstat(fake, processes):
    """Shares are those of seven CPUs.  The line of a process shows the state of the thread that runs."""
    done = fake("prstat", "1", "1", root=processes)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        PROCESS_TITLE,
        "    20 4242       10M   19G cpu6    19   -5 100:00:00  50% db writer/9",
        "    30 root       12G   10K stop   159    -   0:00:00 1.0% clock/1",
        "    10 root     9999K 3416K sleep   59    0   1:02:03 0.0% init/1",
        "    40 root        0K    0K zombie   0    -   0:00:00 0.0% gone/1",
        TOTALS,
    ]


def test_prstat_threads_and_homes(fake, processes):
    """A zombie without threads has a line of its own."""
    lines = fake("prstat", "-LH", "-p", "20,40", "1", "1", root=processes).stdout.splitlines()
    assert lines == [
        "   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU LGRP PROCESS/LWPID",
        "    20 4242       10M   19G run     59   -5   0:00:00  43%    0 db writer/2",
        "    20 4242       10M   19G cpu6    19   -5   0:01:01 7.1%    1 worker?/3",
        "    20 4242       10M   19G sleep   59   -5   0:00:00 0.0%    0 db writer/1",
        "    40 root        0K    0K zombie   0    -   0:00:00 0.0%    - gone/1",
        "Total: 2 processes, 10 lwps, load averages: 1.50, 0.25, 0.00",
    ]


@pytest.mark.parametrize(
    "args, order",
    [
        (["-S", "cpu"], [10, 40, 30, 20]),
        (["-s", "time"], [20, 10, 30, 40]),
        (["-s", "size"], [30, 20, 10, 40]),
        (["-S", "rss"], [40, 30, 10, 20]),
        (["-s", "pri"], [30, 10, 20, 40]),
        (["-n", "2"], [20, 30]),
        (["-n", "1,1"], [20]),
        (["-u", "4242 root"], [20, 30, 10, 40]),
        (["-u", "4242"], [20]),
        (["-p", "10,30,10,99"], [30, 10]),
    ],
)
def test_prstat_selects_and_sorts(fake, processes, args, order):
    lines = fake("prstat", *args, "1", "1", root=processes).stdout.splitlines()
    assert [int(line.split()[0]) for line in lines[1:-1]] == order


def test_prstat_users(fake, processes):
    users = [
        " NPROC USERNAME  SIZE   RSS MEMORY      TIME  CPU",
        "     1 4242       10M   19G   100% 100:00:00  50%",
        "     3 root       12G 3426K    34%   1:02:03 1.0%",
        TOTALS,
    ]
    assert fake("prstat", "-t", "1", "1", root=processes).stdout.splitlines() == users
    both = fake("prstat", "-a", "-n", "1", "1", "1", root=processes).stdout.splitlines()
    assert both[0] == PROCESS_TITLE and both[1].split()[0] == "20" and both[2:] == users
    one = fake("prstat", "-aL", "-n", "9,1", "1", "1", root=processes).stdout.splitlines()
    assert one[-3:-1] == ["  NLWP USERNAME  SIZE   RSS MEMORY      TIME  CPU", users[1].replace("     1", "     9", 1)]


def test_prstat_reports_again(fake, processes):
    twice = fake("prstat", "-c", "1", "2", root=processes).stdout.splitlines()
    assert twice[:6] == twice[6:] and len(twice) == 12


LGRPTOP = """\
cpu:0:sys:disp_home\t17
lgrp:0:lgrp0:cpus\t4
lgrp:0:lgrp0:pages free\t1000
lgrp:0:lgrp0:pages installed\t65536
lgrp:0:lgrp0:load average\t32767
lgrp:0:lgrp0:threads waiting\t12
lgrp:0:lgrp0:threads running\t4
lgrp:0:lgrp0:threads at home\t30
lgrp:1:lgrp1:cpus\t2
lgrp:1:lgrp1:pages free\t4000
lgrp:1:lgrp1:pages installed\t65536
lgrp:1:lgrp1:load average\t8192
lgrp:1:lgrp1:threads at home\t5
lgrp:1:lgrp1:dispatches at home\t0
"""


def test_lgrptop(fake, tmp_path):
    """The load of the sums is the mean of all CPUs: (4 * 1.00 + 2 * 0.25) / 6."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kstat").write_text(LGRPTOP)
    assert fake("lgrptop", "1", "1", root=tmp_path).stdout.splitlines() == [
        "LGRP CPUS  LOAD   RUN  WAIT  HOME    SIZE    FREE   LOCAL  REMOTE  MIGIN MIGOUT",
        "   0    4  1.00     4    12    30     256       4       0       0      0      0",
        "   1    2  0.25     0     0     5     256      16       0       0      0      0",
        " sum    6  0.75     4    12    35     512      20       0       0      0      0",
    ]
    assert fake("lgrptop", "1", "1", root=tmp_path / "dev").returncode == 1


def test_lgrptop_counts_pages_to_and_from_where_they_move(fake, tmp_path):
    """A rate since boot is not 0 if the count is large enough; each column is that of its own counter."""
    (tmp_path / "dev").mkdir()
    columns = {"dispatches at home": 8, "dispatches remote": 9, "pages migrated to": 10, "pages migrated from": 11}
    for name, column in columns.items():
        (tmp_path / "dev/kstat").write_text(f"lgrp:0:lgrp0:cpus\t4\nlgrp:0:lgrp0:{name}\t{10**15}\n")
        row = fake("lgrptop", "1", "1", root=tmp_path).stdout.splitlines()[1].split()
        assert [i for i in range(8, 12) if row[i] != "0"] == [column], (name, row)


def test_pbind(fake):
    assert fake("pbind", "-b", "2", "77").stdout == "process id 77: was not bound, now 2\n"
    assert fake("pbind", "-u", "77").stdout == "process id 77: was not bound, now not bound\n"
    assert fake("pbind", "-q", "77").stdout == "process id 77: not bound\n"
    gone = fake("pbind", "-q", "999")
    assert gone.stderr == "pbind: cannot query pid 999: No such process\n"
    assert gone.returncode == 1
    assert fake("pbind", "-b", "x", "77").returncode == 2


def test_mdb_reads(fake):
    def mdb(line):
        return fake("mdb", "-k", stdin=line + "\n").stdout

    assert mdb("nlgrps/X") == "nlgrps:\nnlgrps:         2\n"
    assert mdb("lgrp_mem_default_policy/X") == ("lgrp_mem_default_policy:\nlgrp_mem_default_policy:        1\n")
    assert mdb("lgrp_shm_random_thresh/J").split()[-1] == "123456789abcdef0"
    assert mdb("lgrp_shm_random_thresh/X").split()[-1] == "9abcdef0"
    assert mdb("lgrp_loadavg_tolerance/U").split()[-1] == "65536"
    assert mdb("minus/D").split()[-1] == "-2"
    assert mdb("minus/d").split()[-1] == "-2"
    assert mdb("minus/B").split()[-1] == "fe"


def test_mdb_writes(fake):
    both = fake("mdb", "-kw", stdin="lgrp_loadavg_tolerance/W 1000\nlgrp_loadavg_tolerance/X\n")
    assert both.stdout == (
        "lgrp_loadavg_tolerance:         0x10000         =       0x1000\n"
        "lgrp_loadavg_tolerance:\n"
        "lgrp_loadavg_tolerance:         1000\n"
    )
    assert fake("mdb", "-kw", stdin="lgrp_loadavg_tolerance/W0t10\n").stdout.split()[-1] == "0xa"
    for letter, bits in (("W", 32), ("w", 16)):
        assert fake("mdb", "-kw", stdin=f"minus/{letter} -1\n").stdout.split()[-1] == hex((1 << bits) - 1)
    assert fake("mdb", "-kw", stdin="lgrp_shm_random_thresh/Z -1\n").stdout.split()[-1] == hex((1 << 64) - 1)
    # W on a 64-bit variable does not change the upper half; Z changes all 8 bytes.
    half = fake("mdb", "-kw", stdin="lgrp_shm_random_thresh/W 1\nlgrp_shm_random_thresh/J\n")
    assert half.stdout.split()[-1] == "1234567800000001"
    whole = fake("mdb", "-kw", stdin="lgrp_shm_random_thresh/Z 1\nlgrp_shm_random_thresh/J\n")
    assert whole.stdout.split()[-1] == "1"


POLICY = "failed to write lgrp_mem_default_policy: allowed are 0t0 to 0t6, not {}; 0t1 stays"
THRESH = f"failed to write lgrp_shm_random_thresh: allowed are 0t0 to 0t{2**64 - 1}, not -5; 0t{0x123456789ABCDEF0} stays"


@pytest.mark.parametrize(
    ("flags", "line", "message"),
    [
        ("-k", "nonsense/X", "failed to dereference symbol nonsense: unknown symbol name"),
        ("-kw", "nonsense/W 1", "failed to dereference symbol nonsense: unknown symbol name"),
        ("-k", "minus/W 1", "failed to write minus: kernel is not open for writing (use -kw)"),
        ("-kw", "nlgrps/W 5", "failed to write nlgrps: it is read only"),
        ("-kw", "nlgrps/W -5", "failed to write nlgrps: it is read only"),
        ("-kw", "lgrp_mem_default_policy/W", "syntax error: lgrp_mem_default_policy/W lacks a value: "
         "write it behind the W, 0t5 for decimal 5"),
        ("-kw", "lgrp_mem_default_policy/W 1z", 'syntax error: "1z" is not a number: 1f is hexadecimal, 0t31 decimal'),
        ("-kw", "lgrp_mem_default_policy/W 0t99", POLICY.format("0t99")),
        ("-kw", "lgrp_mem_default_policy/W -1", POLICY.format("-1")),
        ("-kw", "lgrp_mem_default_policy/W -5", POLICY.format("-5")),
        ("-kw", "lgrp_mem_default_policy/Z 100000001", POLICY.format("100000001")),
        ("-kw", "lgrp_mem_default_policy/W 100000001", "failed to write lgrp_mem_default_policy: 100000001 "
         "does not fit into the 4 bytes of W"),
        ("-kw", "lgrp_shm_random_thresh/Z -5", THRESH),
        ("-k", "nlgrps", 'syntax error near "nlgrps"'),
    ],
)  # fmt: skip
def test_mdb_refuses(fake, flags, line, message):
    """One line for each, and the variable keeps its value."""
    name = line.split("/")[0]
    result = fake("mdb", flags, stdin=f"{line}\n{name}/J\n")
    assert result.stderr.splitlines()[0] == f"mdb: {message}"
    assert result.returncode == 1
    if (after := result.stdout.split()) and name != "nonsense":
        assert after[-1] == fake("mdb", "-k", stdin=f"{name}/J\n").stdout.split()[-1]
    assert len(result.stderr.splitlines()) == 1 + (name == "nonsense")
    assert fake("mdb").returncode == 2


def test_kstat(fake):
    assert fake("kstat", "-p", "-m", "lgrp", "-i", "0").stdout == ("lgrp:0:lgrp0:cpus\t4\nlgrp:0:lgrp0:alloc fail\t17\n")
    assert fake("kstat", "-p", "::lgrp*:cpus", "unix:::ncpus").stdout == ("lgrp:0:lgrp0:cpus\t4\nunix:0:system_misc:ncpus\t8\n")
    assert fake("kstat", "-l", "-s", "cpus").stdout == "lgrp:0:lgrp0:cpus\n"
    assert fake("kstat", "-p", "-m", "none").returncode == 1
    assert fake("kstat", "-n", "lgrp0").stdout == (
        "module: lgrp                            instance: 0     \n"
        "name:   lgrp0                           class:    misc\n"
        "\tcpus                            4\n"
        "\talloc fail                      17\n"
        "\n"
    )


def test_cfgadm(fake):
    show = ("-x", "passthru", "-o", "showlpa")
    assert fake("cfgadm", *show, "SB1::cpu0").stdout == ("showlpa SB1::cpu0 portid 32, base pa 10000000, bound pa 20000000\n")
    assert fake("cfgadm", *show, "SB0::cpu3", lgrps=1).stdout == ("showlpa SB0::cpu3 portid 3, base pa 0, bound pa 0\n")
    missing = fake("cfgadm", *show, "SB2::cpu0")
    assert missing.stderr == "cfgadm: Attachment point not found: SB2::cpu0 (lgrpinfo -c lists boards and CPUs)\n"
    assert missing.returncode == 1
    assert fake("cfgadm", "SB1::cpu0").returncode == 2


TRACE = r"""77 1 2 7fff0 80000 0 0 0 0 3 1500 "/etc/passwd"
77 1 0 3 8000 1000 0 0 0 -9 700
78 1 39 0 0 0 0 0 0 78 100
77 1 231 0 0 0 0 0 0 - 0
"""


def test_truss_names_all_calls():
    """Each system call that exists has a name and the kinds of its arguments in truss."""
    table = (ROOT / "kernel/sys/syscalls.tbl.h").read_text().partition("#define SYSCALLS_ABSENT")[0]
    exist = set(re.findall(r"X\(\d+, (\w+)\)", table))
    named = set(re.findall(r'(?:CALL\(|\] = \{")(\w+)"?, "', (ROOT / "user/cmd/truss.c").read_text()))
    assert len(exist) > 250
    assert exist <= named, sorted(exist - named)


def test_truss(fake, tmp_path):
    script = tmp_path / "traced"
    trace = tmp_path / "trace"
    trace.write_text(TRACE.replace("77 1", "@ 1"))
    # The fake kernel gives the pipe to the command, which writes the trace itself, with its own pid.
    script.write_text(f'#!/bin/sh\nsed "s/@/$$/" {trace} >&$FAKE_TRUSS_FD\nexit 5\n')
    script.chmod(0o755)
    out = fake("truss", script)
    assert out.returncode == 5
    assert [line.rstrip() for line in out.stderr.splitlines()] == [
        'open("/etc/passwd", O_RDONLY|O_CLOEXEC, 0)'.ljust(40) + " = 3",
        "read(3, 0X8000, 4096)".ljust(40) + " Err#9 EBADF",
        "exit_group(0)",
    ]
    counted = fake("truss", "-c", script).stderr
    assert [line.split()[0::2] for line in counted.splitlines()[1:3]] == [
        ["read", "1"],
        ["open", "1"],
    ]


def test_man(fake, tmp_path):
    """What is no page is told as on Linux; a name is no path."""
    pages = tmp_path / "usr/share/man"
    pages.mkdir(parents=True)
    for name, purpose in {"lgrpinfo": "show the locality groups", "psrset": "make and show processor sets"}.items():
        (pages / name).write_text(f"NAME\n    {name} - {purpose}\n\nSYNOPSIS\n    {name}\n")
    (tmp_path / "secret").write_text("")

    def man(*args):
        done = fake("man", *args, root=tmp_path)
        return done.returncode, done.stdout, done.stderr

    assert man("psrset") == (0, (pages / "psrset").read_text(), "")
    status, out, err = man("nosuch", "lgrpinfo", "../../../secret", ".")
    assert (status, out) == (16, (pages / "lgrpinfo").read_text())
    assert err == "".join(f"No manual entry for {name}\n" for name in ("nosuch", "../../../secret", "."))
    assert man("-k", "PROCESSOR") == (0, "psrset - make and show processor sets\n", "")
    assert man("-k", ".")[1].splitlines() == ["lgrpinfo - show the locality groups", "psrset - make and show processor sets"]
    assert man("-k", "nosuch") == (16, "", "nosuch: nothing appropriate.\n")
    assert man()[0] == man("-x")[0] == man("-k")[0] == 2
