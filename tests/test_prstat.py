# SPDX-License-Identifier: MIT
"""test_prstat.py - prstat and lgrptop on a booted machine: their lines are those of the kernel's processes and lgroups.

test_commands.py tests the formats on the host, test_tty.py the screen.
"""

import re
from collections import Counter
from dataclasses import dataclass

import pytest

pytestmark = [pytest.mark.core, pytest.mark.machine("sf3800")]

LINE = re.compile(
    r" *(?P<pid>\d+) (?P<user>\S{1,8}) +(?P<size>\d+)[KMG] +(?P<rss>\d+)[KMG] (?P<state>\w+) +(?P<pri>\d+) +(?P<nice>-|-?\d+)"
    r" +(?P<time>\d+:\d\d:\d\d) +(?P<share>[\d.]+)%(?: +(?P<home>-|\d+))? (?P<name>.*)/(?P<lwp>\d+)"
)
TOTAL = re.compile(r"Total: (\d+) processes, (\d+) lwps, load averages: \d+\.\d\d, \d+\.\d\d, \d+\.\d\d")
SPIN = "(while :; do :; done) & p=$!; pbind -b 5 $p > /dev/null"
LGRPTOP = ["id", "cpus", "load", "run", "wait", "home", "size", "free", "local", "remote", "migin", "migout"]


@dataclass
class Report:
    """The lines of processes as dictionaries, the lines of users as lists of words, and both numbers of the last line."""

    rows: list[dict[str, str]]
    users: list[list[str]]
    processes: int
    lwps: int


def reports(text: str) -> list[Report]:
    found, rows, users, in_users = [], [], [], False
    for line in text.splitlines():
        if re.match(r"   PID | NPROC |  NLWP ", line):
            in_users = not line.startswith("   PID ")
        elif total := TOTAL.fullmatch(line):
            found.append(Report(rows, users, int(total[1]), int(total[2])))
            rows, users = [], []
        elif in_users:
            users.append(line.split())
        else:
            match = LINE.fullmatch(line)
            assert match, f"not a line of a process: {line!r}"
            rows.append(match.groupdict())
    assert not rows and not users, f"no line of totals at the end of:\n{text}"
    return found


def prstat(machine, options: str) -> Report:
    (only,) = reports(machine.check(f"prstat {options} 1 1"))
    return only


def test_a_pinned_thread_is_first_and_on_its_cpu(machine):
    """It may have been preempted when one of the reports read its state, but not each time."""
    wait = "until [ $(sed -n 's/Cpu_recent:.//p' /proc/$p/status) -gt 8500 ]; do usleep 100000; done"
    out = machine.check(f"{SPIN}; {wait}; prstat -H -n 1 1 4; echo $p; kill $p")
    text, _, pid = out.rstrip("\n").rpartition("\n")
    rows = [report.rows for report in reports(text)]
    assert len(rows) == 4 and all(len(one) == 1 for one in rows)
    assert {(row["pid"], row["user"], row["home"], row["lwp"]) for (row,) in rows} == {(pid, "root", "1", "1")}
    assert {row["state"] for (row,) in rows} - {"run"} == {"cpu5"}
    shares = [float(row["share"]) for (row,) in rows]
    assert all(100 / 8 * 0.8 < share <= 100 / 8 + 0.5 for share in shares), shares  # most of one of eight CPUs


def test_threads_have_the_homes_that_plgrp_shows(machine):
    """The first thread of the process sleeps and the others compute, so its line shows the state of one of these."""
    out = machine.check(
        "/usr/test/disp crowd 1 3 600000 & p=$!; "
        "until [ $(grep -l '^State:.R' /proc/$p/task/*/status | wc -l) = 3 ]; do usleep 20000; done; sleep 1; "
        "plgrp -H 0 $p/3 > /dev/null; plgrp $p; echo; prstat -LH -p $p 1 1; prstat -p $p 1 1; kill $p"
    )
    homes, rest = out.split("\n\n")
    threads, whole = reports(rest)
    assert "PROCESS/LWPID\n" in rest and "PROCESS/NLWP\n" in rest
    wanted = dict(re.findall(r"^ +\d+/(\d+) +(\d+)$", homes, re.M))
    assert wanted == {"1": "1", "2": "1", "3": "0", "4": "1"}
    assert {row["lwp"]: row["home"] for row in threads.rows} == wanted
    assert (threads.processes, threads.lwps, whole.rows[0]["lwp"]) == (1, 4, "4")
    assert threads.rows[-1]["lwp"] == "1" and threads.rows[-1]["state"] == "sleep"
    assert all(re.fullmatch(r"cpu\d|run", row["state"]) for row in [*threads.rows[:-1], *whole.rows])


def test_a_process_that_does_not_exist(machine):
    none = machine.run("prstat -p 99999 1 1")
    assert (none.status, none.out) == (1, "prstat: process 99999: No such process\n")
    some = machine.check("prstat -p 1,99999 1 1 2> /tmp/missing; cat /tmp/missing")
    assert some.endswith("\nprstat: process 99999: No such process\n")
    assert [row["pid"] for row in reports(some.rsplit("\n", 2)[0])[0].rows] == ["1"]


def test_a_process_that_ends_between_two_reports(machine):
    out = machine.check(
        "exec 2> /dev/null; sleep 300 & p=$!; prstat -p $p 1 > /tmp/reports & q=$!; reports() { grep -c Total /tmp/reports; }; "
        "until [ $(reports) -ge 1 ]; do usleep 50000; done; kill $p; wait $p; n=$(reports); "
        "until [ $(reports) -ge $((n + 2)) ]; do usleep 50000; done; kill $q; wait $q; cat /tmp/reports"
    )
    found = reports(out)
    assert len(found[0].rows) == found[0].processes == 1
    assert found[-1].rows == [] and (found[-1].processes, found[-1].lwps) == (0, 0)


def test_users(machine):
    # The reports are compared, so no shell may become sleep between them.
    asleep = "until grep -q sleep /proc/$!/comm; do usleep 20000; done"
    pids = machine.check(f"for i in 1 2 3; do sleep 300 > /dev/null 2>&1 & {asleep}; echo $!; done", uid=1000).split()
    both = prstat(machine, "-a -n 1000,100")
    student = prstat(machine, "-u student -n 1000")
    number = prstat(machine, "-u 1000,0 -n 1000")
    threads = prstat(machine, "-a -L -n 1000,100")
    users = reports(machine.check("prstat -t 1 1"))[0]
    machine.check(f"kill {' '.join(pids)}")
    counts = Counter(row["user"] for row in both.rows)
    assert counts["student"] == 3, (pids, both.rows)
    assert {user[1]: int(user[0]) for user in both.users} == counts
    assert both.processes == len(both.rows) and both.lwps == sum(int(row["lwp"]) for row in both.rows)
    assert sorted(row["pid"] for row in student.rows) == sorted(pids, key=str) and student.processes == 3
    assert {row["user"] for row in number.rows} == {"root", "student"}
    assert {user[1]: int(user[0]) for user in threads.users} == Counter(row["user"] for row in threads.rows)
    assert users.rows == [] and {user[1] for user in users.users} == set(counts)
    sizes = {user[1]: user[2] for user in users.users}
    assert sizes["student"] == f"{sum(int(row['size']) for row in student.rows)}K"


def test_a_zombie(machine):
    """Its parent is sleep, which does not wait for it.  It ends after the shell has become sleep: the shell could wait."""
    out = machine.check(
        "sh -c '(until grep -q sleep /proc/$$/comm; do usleep 10000; done) & echo $! > /tmp/zombie; exec sleep 300' & p=$!; "
        "{ until grep -q Z.*zombie /proc/$(cat /tmp/zombie)/status; do usleep 20000; done; } 2> /dev/null; "
        "prstat -H -p $(cat /tmp/zombie) 1 1; prstat -LH -p $(cat /tmp/zombie) 1 1; kill $p"
    )
    for report in reports(out):
        (row,) = report.rows
        assert (row["state"], row["size"], row["rss"], row["nice"]) == ("zombie", "0", "0", "-")
        assert report.processes == 1


@pytest.mark.parametrize(
    "octal, shown",
    [
        ("two words", "two words"),
        (r"a\012Uid:\0117\0117", r"a\nUid:?7?7"),
        (r"\033[2J\134x", r"?[2J\\x"),
        (r"fifteen/letters", "fifteen/letters"),
        (r"\012", ""),
    ],
)
def test_names(machine, octal, shown):
    """Any byte may be in a name.  None adds a line, and none reaches the terminal that is not a character."""
    out = machine.check(
        f"sh -c \"printf '{octal}' > /proc/self/comm; kill -STOP \\$\\$\" & p=$!; "
        "until grep -q '^State:.T' /proc/$p/status; do usleep 20000; done; "
        "prstat -p $p 1 1; prstat -L -p $p 1 1; kill -9 $p"
    )
    for report in reports(out):
        (row,) = report.rows
        assert (row["name"], row["user"], row["lwp"], row["state"]) == (shown, "root", "1", "stop")


@pytest.mark.long
def test_load_averages(machine):
    """They rise by the machine's clock, also when a busy host makes it lose ticks: 8 threads give 0.64 in 5 seconds."""
    spin = 'for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & p="$p $!"; done'
    uptime = "$(cut -d. -f1 /proc/uptime)"
    wait = f"s={uptime}; until [ {uptime} -gt $((s + 7)) ]; do usleep 200000; done"
    assert float(machine.check(f"{spin}; {wait}; cut -d' ' -f1 /proc/loadavg; kill $p")) > 0.5


@pytest.mark.long
def test_a_thousand_processes(machine):
    out = machine.check(
        "for i in $(seq 1000); do sleep 300 & done; prstat -n 2000 1 1; prstat -n 5 -s size 1 1; prstat -S time -n 3 1 1; "
        "kill $(pidof sleep); wait",
        timeout=240,
    )
    every, five, three = reports(out)
    threads = machine.check(
        "for i in $(seq 16); do /usr/test/disp crowd 1 64 600000 & done; "
        "until [ $(cat /proc/[0-9]*/task/*/comm | grep -c disp) -gt 1024 ]; do sleep 1; done 2> /dev/null; "
        "prstat -LH -n 2000 1 1; kill $(pidof disp); wait",
        timeout=240,
    )
    (all_threads,) = reports(threads)
    assert sum(row["name"] == "disp" for row in all_threads.rows) > 1000
    assert all_threads.lwps == len(all_threads.rows)
    assert sum(row["name"] in ("sleep", "sh", "exe") for row in every.rows) >= 1000  # some are still about to become sleep
    assert every.processes == len(every.rows) > 1000
    assert len(five.rows) == 5 and len(three.rows) == 3
    sizes = [int(row["size"]) for row in five.rows]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == max(int(row["size"]) for row in every.rows)
    assert {row["time"] for row in three.rows} == {"0:00:00"}


def test_no_terminal(machine):
    """15 lines of processes, 5 of users, and one report below the other."""
    out = machine.check("for i in $(seq 20); do sleep 300 & done; prstat -a 1 2; prstat -t 1 1; kill $(pidof sleep); wait")
    first, second, users = reports(out)
    assert "\x1b" not in out and len(first.rows) == len(second.rows) == 15
    assert 1 <= len(first.users) <= 5 and users.rows == []


# ---- lgrptop -----------------------------------------------------------------------------------


def lgroups(text: str) -> list[dict[str, float]]:
    """The lines of the last report; the last of them is that of the sums."""
    lines = text.rstrip("\n").splitlines()
    last = max(i for i, line in enumerate(lines) if line.startswith("LGRP "))
    rows = [dict(zip(LGRPTOP, line.replace("sum", "-1").split(), strict=True)) for line in lines[last + 1 :]]
    return [{name: float(value) for name, value in row.items()} for row in rows]


def total(kstats: dict[str, int], end: str) -> int:
    return sum(value for name, value in kstats.items() if name.endswith(end))


def test_dispatches_of_lgroups_are_those_of_their_cpus(machine):
    """Each snapshot is a bit later than the one before; the middle one lies between the others."""
    before, middle, after = (machine.kstats() for _ in range(3))
    for whole, part in (("dispatches at home", ":disp_home"), ("dispatches remote", ":disp_remote")):
        assert total(before, part) <= total(middle, ":" + whole) <= total(after, part)
        assert total(middle, part) > 0 or part == ":disp_remote"


def test_lgrptop_sums_are_those_of_the_kstats(machine):
    before, up = machine.kstats(), float(machine.check("cat /proc/uptime").split()[0])
    *rows, sums = lgroups(machine.check("lgrptop 1 1"))
    after, later = machine.kstats(), float(machine.check("cat /proc/uptime").split()[0])
    assert [row["id"] for row in rows] == [0, 1]
    for name in ("cpus", "run", "wait", "home"):
        assert sums[name] == sum(row[name] for row in rows)
    for name in ("size", "free", "local", "remote", "migin", "migout"):
        assert abs(sums[name] - sum(row[name] for row in rows)) <= len(rows)  # each number is rounded
    assert sums["cpus"] == total(after, ":cpus") - total(after, ":pset:cpus") == 8
    assert sums["size"] == round(total(after, ":pages installed") / 256)
    for name, part in (("local", ":disp_home"), ("remote", ":disp_remote")):
        assert (sums[name] - 0.5) * up <= total(after, part)
        assert (sums[name] + 0.5) * later >= total(before, part)


def test_lgrptop_shows_where_threads_run_and_wait(machine):
    """Three threads that compute are bound to CPU 5: one runs, two wait, and all are at home in its lgroup."""
    out = machine.check(
        f"{SPIN}; q=$p; {SPIN}; r=$p; {SPIN}; sleep 1; "
        "kstat -p pset:0:pset:'lgrp1 homes'; lgrptop 1 2; kill $p $q $r; psradm -f 7; lgrptop 1 1; psradm -n 7"
    )
    first, _, last = out.rpartition("LGRP ")
    homes, reports_of_two = int(first.split()[2]), "LGRP " + first.partition("LGRP ")[2]
    _, there, sums = lgroups(reports_of_two)
    assert there["run"] >= 1 and there["wait"] >= 2
    assert 3 <= there["home"] <= homes + 3  # the shell and lgrptop may have changed theirs since
    assert there["load"] > 0 and sums["load"] > 0
    assert [row["cpus"] for row in lgroups("LGRP " + last)] == [4, 3, 7]


def test_lgrptop_counts_migrated_pages(machine):
    before = machine.kstats("lgrp:")
    machine.check("memcopy -t 8 -m -i 3")
    moved = total(machine.kstats("lgrp:"), ":pages migrated to") - total(before, ":pages migrated to")
    sums = lgroups(machine.check("lgrptop 1 1"))[-1]
    assert moved > 0 and sums["migin"] > 0 and abs(sums["migin"] - sums["migout"]) <= 1
