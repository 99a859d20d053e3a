# SPDX-License-Identifier: MIT
"""test_commands_boot.py - the commands on a booted machine: they show, and change, the state of the real kernel.

test_commands.py tests their output formats on the host.
"""

import re

import pytest

from homeroom.machine import TOP

pytestmark = pytest.mark.machine("sf3800")


def test_lgrpinfo(machine):
    text = machine.check("lgrpinfo")
    assert re.findall(r"^lgroup (\d+) \((\w+)\):", text, re.M) == [("0", "leaf"), ("1", "leaf")]
    assert re.findall(r"CPUs: (.*)", text) == ["0-3", "4-7"]
    assert machine.check("lgrpinfo -I").split() == ["0", "1"]
    rows = [line.split() for line in machine.check("lgrpinfo -L").splitlines()]
    assert ["0", "|", "10", "12"] in rows and ["1", "|", "12", "10"] in rows


def test_the_papers_mdb_lines(machine):
    assert machine.check("echo nlgrps/X | mdb -k") == "nlgrps:\nnlgrps:         2\n"
    assert machine.check("echo lgrp_mem_default_policy/X | mdb -k").split()[-1] == "1"
    assert machine.run("echo nonsense/X | mdb -k").status == 1


def test_mdb_writes_all_seven_variables(machine):
    seven = {
        "lgrp_mem_default_policy": ("W", 4),
        "lgrp_shm_random_thresh": ("Z", 4),
        "lgrp_mem_pset_aware": ("W", 1),
        "lgrp_expand_proc_thresh": ("W", 4),
        "lgrp_privm_random_thresh": ("Z", 4),
        "lgrp_expand_proc_diff": ("W", 4),
        "lgrp_loadavg_tolerance": ("W", 4),
    }
    for name, (letter, value) in seven.items():
        show = "J" if letter == "Z" else "X"
        old = machine.check(f"echo {name}/{show} | mdb -k").split()[-1]
        machine.check(f"echo {name}/{letter} {value} | mdb -kw")
        assert machine.check(f"echo {name}/{show} | mdb -k").split()[-1] == str(value), name
        machine.check(f"echo {name}/{letter} {old} | mdb -kw")
    refused = machine.run("echo lgrp_loadavg_tolerance/W 4 | mdb -kw", uid=1000)
    assert refused.status == 1 and "Not owner" in refused.out


def test_disk_pacing_as_on_aix(machine):
    """lsattr shows what chdev has changed.  A wrong value changes nothing, and gives one line."""
    show = "lsattr -E -l sys0"
    lines = [line.split() for line in machine.check(show).splitlines()]
    assert [(w[0], w[1], w[-1]) for w in lines] == [("maxpout", "0", "True"), ("minpout", "0", "True")]
    assert machine.check("chdev -l sys0 -a maxpout=33 -a minpout=24") == "sys0 changed\n"
    assert machine.check("echo maxpout/U | mdb -k").split()[-1] == "33"
    assert [line.split()[1] for line in machine.check(show).splitlines()] == ["33", "24"]
    for wrong, says in {
        "-l sys0 -a minpout=33": "minpout=33 is not below maxpout=33",
        "-l sys0 -a maxpout=many": "maxpout=many: write maxpout=number",
        "-l sys0 -a maxpout=99999999999": "allowed are 0 to 1048576",
        "-l sys0 -a maxuproc=5": "sys0 has no attribute maxuproc; it has maxpout and minpout",
        "-l hdisk0 -a maxpout=5": "no device hdisk0; there is sys0",
    }.items():
        done = machine.run(f"chdev {wrong}")
        assert done.status == 1 and says in done.out, wrong
    refused = machine.run("chdev -l sys0 -a maxpout=5 -a minpout=1", uid=1000)
    assert refused.status == 1 and "Not owner" in refused.out
    assert [line.split()[1] for line in machine.check(show).splitlines()] == ["33", "24"]
    machine.check("chdev -l sys0 -a maxpout=0 -a minpout=0")
    assert machine.run("lsattr -l sys0").status == 2


def test_showlpa(machine):
    words = machine.check("cfgadm -x passthru -o showlpa SB1::cpu0").split()
    assert words[:4] == ["showlpa", "SB1::cpu0", "portid", "32,"]
    base, bound = int(words[6].rstrip(","), 16), int(words[9], 16)
    assert 0 < base < bound
    assert machine.run("cfgadm -x passthru -o showlpa SB7::cpu0").status == 1


def test_psrinfo_and_psradm(machine):
    assert len(machine.check("psrinfo").splitlines()) == 8
    assert machine.check("psrinfo -p").strip() == "4"
    pairs = [line for line in machine.check("psrinfo -pv").splitlines() if "physical" in line]
    assert pairs == [f"The physical processor has 2 virtual processors ({i} {i + 1})" for i in range(0, 8, 2)]
    assert machine.check("psradm -fv 5") == "processor 5 taken off-line.\n"
    assert machine.check("psrinfo 5").split()[:2] == ["5", "off-line"]
    assert machine.check("psrinfo -s 5") == "0\n"
    assert machine.check("lgrpinfo -c 1").splitlines()[1] == "\tCPUs: 4 6 7"
    assert machine.check("psradm -nv 5") == "processor 5 brought on-line.\n"
    assert machine.check("psradm -nv 5") == "processor 5 already on-line.\n"
    assert machine.run("psradm -f 200").out == "psradm: processor 200: Invalid argument (psrinfo lists the processors)\n"
    refused = machine.run("psradm -f 5", uid=1000)
    assert refused.out == "psradm: processor 5: Not owner\n" and refused.status == 1


@pytest.mark.parametrize("cpus", ["99", "abc", "''", "3 99", "3 abc"])
def test_a_set_that_cannot_be_made_leaves_nothing(machine, cpus):
    done = machine.run(f"psrset -c {cpus}")
    assert done.status != 0 and len(done.lines) == 1, done.out
    assert machine.check("psrset; psrset -p") == ""


def test_binding_says_whether_set_or_process_is_missing(machine):
    assert machine.run("psrset -b 1 99999").out == "psrset: processor set 1: Invalid argument (psrset -i lists the sets)\n"
    machine.check("psrset -c 7")
    assert machine.run("psrset -b 1 99999").out == "psrset: cannot bind pid 99999: No such process\n"
    machine.check("psrset -d 1")


def test_swap_says_what_is_no_swap_area(machine):
    fit = "cannot be swap: that takes a disk, or a file without holes on ext3 with 4 KiB blocks"
    assert machine.run("swap -a /etc/passwd").out == f"swap: /etc/passwd: {fit}\n"
    assert machine.run("swap -d /etc/passwd").out == "swap: /etc/passwd: not in use as swap (swap -l lists what is)\n"


def test_the_last_cpu_stays(machine):
    assert machine.run("psradm -a -f").status == 0
    states = [line.split()[1] for line in machine.check("psrinfo").splitlines()]
    machine.check("psradm -a -n")
    assert states.count("on-line") >= 1 and states.count("off-line") >= 1


def test_pbind_and_plgrp(machine):
    script = """
        sleep 30 & p=$!
        pbind -q $p; pbind -b 6 $p; plgrp $p | tail -1; pbind -q $p
        pbind -b 1 $p; plgrp $p | tail -1; pbind -u $p; plgrp $p | tail -1
        plgrp -H 1 $p | tail -1; plgrp -a 0-1 $p | tail -1; kill $p
        pbind -q $p; echo $?
    """
    lines = re.sub(r"process id \d+", "process id P", machine.run(script).out).splitlines()
    lines = [re.sub(r"^ +\d+/1 +", "P/1 ", line) for line in lines]
    assert lines[:7] == [
        "process id P: not bound",
        "process id P: was not bound, now 6",
        "P/1 1",
        "process id P: 6",
        "process id P: was 6, now 1",
        "P/1 0",
        "process id P: was 1, now not bound",
    ]
    assert lines[7] == "P/1 0"
    assert lines[8] == "P/1 0 => 1"
    assert lines[9] == "P/1 1     1/strong,0/none"


def test_pmap_shows_where_pages_are(machine):
    asleep = "until grep -q sleep /proc/$p/comm && grep -q '^State:.S' /proc/$p/status; do sleep 0.1; done"  # after its exec
    text = machine.check(f"sleep 20 & p=$!; pbind -b 7 $p >/dev/null; {asleep}; pmap -L $p; pmap -x $p; pmap $p; kill $p; wait")
    assert re.search(r"^[0-9A-F]{8,} +\d+K r-x-- +[01] /bin/busybox$", text, re.M)
    assert re.search(r"^[0-9A-F]{8,} +\d+K rw--- +[01-]   \[ stack \]$", text, re.M)
    total, rss = map(int, re.search(r"^total Kb +(\d+) +(\d+)", text, re.M).groups())
    assert total >= rss > 0
    assert machine.run("pmap 99999").status == 1


def test_kstat(machine):
    assert machine.check("kstat -p -n lgrp1 -s cpus") == "lgrp:1:lgrp1:cpus\t4\n"
    text = machine.check("kstat -m lgrp -i 0")
    assert text.startswith("module: lgrp                            instance: 0")
    names = set(re.findall(r"^\t(.{30})", text, re.M))
    assert {name.strip() for name in names} >= {"alloc fail", "pages free", "load average"}
    machine.check("echo lgrp:0:lgrp0 > /dev/kstat")
    assert machine.run("kstat -m nothing").status == 1


def test_truss(machine):
    text = machine.check("truss -o /tmp/t cat /etc/hostname; cat /tmp/t")
    assert re.search(r'^open(at)?\(.*"/etc/hostname", O_RDONLY.*\) += \d+$', text, re.M)
    assert re.search(r"^exit_group\(0\)", text, re.M)
    assert machine.run("truss -o /dev/null sh -c 'exit 9'").status == 9
    counted = machine.check("truss -c -f sh -c 'true; ls /none; true' 2>&1 || true")
    assert re.search(r"^fork|^clone|^vfork", counted, re.M)
    assert re.search(r"^sys totals:", counted, re.M)
    failed = machine.run("truss ls /none 2>&1").out
    assert re.search(r'"/none".*Err#2 ENOENT$', failed, re.M)


def test_priocntl(machine):
    assert "TIME SHARING PROCESSES" in machine.check("priocntl -d $$")
    shown = machine.check("priocntl -e -c FX -p 20 priocntl -d").splitlines()
    assert shown[0] == "FIXED PRIORITY PROCESSES:" and shown[2].split()[1] == "20"
    assert machine.run("priocntl -e -c RT true", uid=1000).status == 1
    assert machine.run("priocntl -e -c XX true").status == 1


NOT_COMMANDS = {"init", "verdictd", "ddt"}  # two start without a command line; ddt is on a disk
TOOLS = {file.stem for folder in ("cmd", "bench") for file in (TOP / "user" / folder).glob("*.c")} - NOT_COMMANDS
PRINTS = {  # command lines with more output than the manual page, which the other tools print
    "cfgadm": "-x passthru -o showlpa SB1::cpu0",
    "intrstat": "1 2",
    "iostat": "",
    "kstat": "-p",
    "lgrpinfo": "",
    "lgrptop": "1 2",
    "lsattr": "-El sys0",
    "man": "prstat",
    "memcopy": "-t 1 -n 4k -i 1",
    "mpstat": "1 2",
    "plgrp": "$$",
    "pmap": "-L $$",
    "priocntl": "-d $$",
    "prstat": "-a 1 2",
    "psrinfo": "",
    "swap": "-s",
    "trace": "-e switch true",
    "vmstat": "1 2",
}


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_output_that_cannot_be_written(machine, tool):
    """Each tool says so, once, and its status is 1; with its output in a file it ends well."""
    command = f"{tool} {PRINTS.get(tool, '--help')}"
    assert machine.check(f"{command} > /tmp/written; test -s /tmp/written") == ""
    full = machine.run(f"{command} > /dev/full")
    assert full.status == 1
    assert re.fullmatch(rf"{tool}: standard output: .*\n", full.out), full.out
