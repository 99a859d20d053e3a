# SPDX-License-Identifier: MIT
"""test_launcher.py - the launcher: machine files, options, their errors, and how it reports each kind of end."""

import contextlib
import errno
import fcntl
import hashlib
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time
from pathlib import Path

import pytest

from harness import HOST_LIMIT, ISO, build_exit_image, default_signals
from homeroom import acpi, guest, machine, net, patience, trace
from homeroom.cpio import Archive
from homeroom.machine import TOP, MachineError
from homeroom.verdict import Lines, escape, unescape

LAUNCH = TOP / "qemu/launch.py"

# boards, CPUs, domains, and the SLIT distance of a remote board
TABLE = {
    "sf280r": (1, 2, 1, None),
    "v880": (4, 8, 1, None),
    "t2000": (1, 32, 1, None),
    "sf3800": (2, 8, 2, 12),
    "sf4800": (3, 12, 3, 12),
    "sf6800": (6, 24, 6, 12),
    "sf12k": (9, 36, 9, 18),
    "sf15k": (18, 72, 18, 18),
    "sf15k-76": (20, 76, 18, 18),
    "sf15k-maxcpu": (35, 106, 18, 18),
}


def launch(*args, **variables):
    env = {**os.environ, **variables}
    return subprocess.run(
        [LAUNCH, *args], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=HOST_LIMIT
    )


def test_the_machines():
    assert machine.names() == sorted(TABLE)
    for name, (boards, cpus, domains, remote) in TABLE.items():
        m = machine.load(name)
        assert (len(m.boards), m.cpus, m.domains) == (boards, cpus, domains), name
        if remote is not None:
            assert all(d == (10 if i == j else remote) for i, row in enumerate(m.slit) for j, d in enumerate(row))


def test_maxcpu_boards_belong_to_their_expander():
    m = machine.load("sf15k-maxcpu")
    assert m.domain_cpus(0) == [0, 1, 2, 3, 72, 73]
    assert m.domain_cpus(16) == [64, 65, 66, 67, 104, 105]
    assert m.domain_cpus(17) == [68, 69, 70, 71]
    part = machine.load("sf15k-maxcpu", boards=2)
    assert [b.domain for b in part.boards] == [0, 1, 0, 1]


@pytest.mark.long
def test_every_machine_file_is_taken_by_qemu():
    """QEMU itself accepts the topology of each file: it starts stopped (-S) and gets a QMP `quit` at once."""
    for path in [*(TOP / "qemu/machines").glob("*.toml"), *(TOP / "tests/machines").glob("*.toml")]:
        args = machine.load(str(path)).qemu_args()
        done = subprocess.run(
            [guest.QEMU, *args, "-display", "none", "-S", "-qmp", "stdio"],
            input='{"execute":"qmp_capabilities"}\n{"execute":"quit"}\n',
            capture_output=True,
            text=True,
            timeout=HOST_LIMIT,
        )
        assert done.returncode == 0 and not done.stderr, f"{path.name}: {done.stderr}"


def test_host_threads(monkeypatch):
    """THREADS=auto gives each CPU a host thread if the host has the cores and nothing needs repeatable runs."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    for name, options, threads in (
        ("sf280r", {}, 1),
        ("sf280r", {"threads": "auto"}, 2),
        ("sf280r", {"threads": "auto", "seed": 1}, 1),
        ("sf280r", {"threads": "auto", "icount": True}, 1),
        ("sf280r", {"threads": "auto", "run": "true", "trace": Path("/tmp/t.json")}, 1),
        ("sf280r", {"threads": "auto", "model": "fireplane"}, 1),
        ("sf3800", {"threads": "auto"}, 1),
        ("sf3800", {"threads": "multi"}, 8),
    ):
        run = guest.Guest(machine.load(name), guest.Options(**options))
        assert run.threads == threads, (name, options)
        if "trace" not in options:  # the disk of the trace is made at the start
            assert f"tcg,thread={'single' if threads == 1 else 'multi'}" in run.command()
    for wrong in ({"model": "fireplane"}, {"icount": True}):
        with pytest.raises(MachineError, match=r"THREADS=multi: with .* all CPUs run in one host thread"):
            guest.Guest(machine.load("sf280r"), guest.Options(threads="multi", **wrong))


@pytest.mark.parametrize(
    "version, model, status, says",
    [
        pytest.param("7.2.22", "", 0, None, marks=pytest.mark.long),
        ("10.0.13", "", 0, None),
        ("9.2.0", "fireplane", 0, "(7.2, 10.0, 11.1 were): machines should run, and MODEL= tests itself before it counts"),
        pytest.param("12.0.50", "", 0, "QEMU 12.0.50 was not tried", marks=pytest.mark.long),
        ("6.2.0", "", 0, "QEMU 6.2.0 was not tried (7.2, 10.0, 11.1 were): machines should run, but not with MODEL="),
        ("6.2.0", "fireplane", guest.STATUS_SETUP, "MODEL=fireplane needs QEMU 7.2 or newer; the version here is 6.2.0"),
        ("of my own", "", 0, "QEMU unknown was not tried (7.2, 10.0, 11.1 were): machines should run, but not with MODEL="),
        ("of my own", "fireplane", guest.STATUS_SETUP, "needs QEMU 7.2 or newer; the version here is unknown"),
        pytest.param("\\377\\376 7.2", "", 0, "QEMU unknown was not tried", marks=pytest.mark.long),
        pytest.param("7.2.22 \\377", "", 0, None, marks=pytest.mark.long),
    ],
)
def test_versions_of_qemu(tmp_path, version, model, status, says):
    """Another version gives one line, and everything that can work still does; make doctor reports the same."""
    fake = tmp_path / guest.QEMU
    real = shutil.which(guest.QEMU)
    fake.write_text(
        f'#!/bin/sh\ncase $1 in --version) printf "QEMU emulator version {version}\\n" ;; *) exec {real} "$@" ;; esac\n'
    )
    fake.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RUN": "true", "MODEL": model}
    done = launch("sf280r", "--make", "--iso", str(ISO["test"]), **variables)
    assert done.returncode == status, done.stderr
    notes = [line for line in done.stderr.splitlines() if "QEMU" in line]
    assert len(notes) == (says is not None) and (not notes or says in notes[0]), done.stderr
    row, plugins = doctor(tmp_path)
    assert row.endswith(" ok"), "machines run"
    if says is None:
        assert "the model was tried on this version" in plugins
    elif "MODEL= tests itself" in says or version.startswith("12"):
        assert "it tests itself first" in plugins
    else:
        assert "machines should run, but not with MODEL=" in plugins


def doctor(folder):
    """make doctor's lines about QEMU and about its plugins, with `folder` first in PATH; the second is empty for no QEMU."""
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "tools/doctor.sh"], cwd=TOP, env=env, capture_output=True, text=True, timeout=HOST_LIMIT)
    assert not done.stderr, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith((guest.QEMU, "plugins of QEMU"))]
    return rows[0], "".join(rows[1:])


HANGS = ("#!/bin/sh\nsleep 1000\n", "--version has not ended after 10 seconds")
NO_QEMU = [
    ("no program at all\n", "cannot be run: Exec format error"),
    ("#!/nonexistent/interpreter\n", "cannot be run: No such file or directory"),
    ("#!/bin/sh\nexit 3\n", "--version ends with status 3: it is not a working QEMU"),
]


@pytest.mark.parametrize(
    "text, says, model", [(*row, model) for row in NO_QEMU for model in ["", "fireplane"]] + [(*HANGS, "fireplane")]
)
def test_what_is_no_qemu(tmp_path, text, says, model):
    """The launcher and make doctor print one line soon, with the file and the reason."""
    fake = tmp_path / guest.QEMU
    fake.write_text(text)
    fake.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RUN": "true", "MODEL": model}
    done = launch("sf280r", "--make", "--iso", str(ISO["test"]), **variables)
    assert done.returncode == guest.STATUS_SETUP
    assert len(done.stderr.splitlines()) == 1 and f"{fake} " in done.stderr and says in done.stderr, done.stderr
    if not model:
        row, plugins = doctor(tmp_path)
        assert f"{fake} is not a working QEMU" in row and not plugins


@pytest.mark.parametrize(
    "args, says",
    [
        (["sf99"], "no machine 'sf99'; there are: sf12k, sf15k"),
        (["sf15k", "--boards", "19"], "BOARDS=19: sf15k takes 1 to 18"),
        (["sf15k", "--boards", "x"], "BOARDS=x: write a number"),
        (["sf15k", "--mem", "lots"], "memory size 'lots': write it as 256M or 1G"),
        (["sf15k", "--mem", "1M"], "64 MiB is the least"),
        (["sf15k", "--mem", "900000G"], "try MEM= (per board) or BOARDS="),
        (["sf3800", "--overlay", "/nonexistent"], "OVERLAY: /nonexistent is not a directory"),
        (["sf3800", "--acpi", "/nonexistent"], "ACPI: /nonexistent is not a file"),
        (["sf3800", "--iso", "/nonexistent"], "/nonexistent is missing: make iso"),
        (["sf3800", "--disk", "/nonexistent"], "/nonexistent is not a file"),
        (["sf3800", "--disk", "Makefile,bus=scsi"], "'bus=scsi' is not an option; DISK='FILE[,bus=ide]"),
        (["sf3800", "--disk", "Makefile,bus=ide,readonly"], "an IDE disk has one queue and can be written"),
        (["sf3800", "--disk", "nbd:/nonexistent"], "/nonexistent is not a socket"),
        (["sf3800", "--disk", "Makefile,queues=65"], "queues=65: write a number from 1 to 64"),
        (["sf3800", "--disk", "Makefile,bps=999"], "bps=999: write a number from 1000 to 999999999999"),
        (["sf3800", "--disk", "Makefile,blklogwrites=/nonexistent/log"], "DISK=/nonexistent/log: it cannot be written"),
        (["sf3800", *["--disk", "Makefile"] * 17], "there may be 4 IDE and 16 virtio disks"),
        (["sf3800", "--qemu-args", "-d '"], "QEMU_ARGS=-d ': No closing quotation"),
        (["sf6800", "--release", "9/02"], "RELEASE=9/02: sf6800 does not know it; its file has no releases"),
        (["sf15k", "--release", "12/02"], "RELEASE=12/02: sf15k does not know it; there is 9/02"),
        (["sf3800", "--root", "zfs"], "ROOT=zfs: there is only ext"),
        (["sf3800", "--model", "fire"], "MODEL=fire: the only model is fireplane"),
        (["sf3800", "--run", "true", "--trace", "/nonexistent/t"], "TRACE=/nonexistent/t: it cannot be written: No such"),
        (["sf3800", "--run", "true", "--trace", "/tmp"], "TRACE=/tmp: it is a directory"),
        (["sf3800", "--system", "* " * 2050], "SYSTEM: at most 4095 bytes"),
        *(
            (["sf3800", f"--{option}", value], f"{option.upper()}={value}: write {range_}")
            for option, value, range_ in (
                ("seed", "-1", "a number from 0 to 18446744073709551615"),
                ("seed", "0x10000000000000000", "a number from 0 to"),
                ("watchdog", "-4", "a number from 0 to 86400"),
                ("timeout", "0", "a number from 1 to"),
                ("timeout", "1.5", "a number from 1 to"),
                ("icount", "yes", "0 or 1"),
                ("icount", "2", "0 or 1"),
                ("gdb", "65536", "a number from 1 to 65535"),
                ("net", "9", "a number from 0 to 8"),
                ("boards", "0", "a number from 1 to"),
            )
        ),
    ],
)
def test_wrong_options_are_one_line(args, says):
    iso = [] if "--iso" in args else ["--iso", str(LAUNCH)]
    done = launch(*args, *iso)
    assert done.returncode == guest.STATUS_SETUP
    assert len(done.stderr.splitlines()) == 1
    assert says in done.stderr


def test_a_seed_is_what_the_guest_gets():
    seed = 2**64 - 1
    assert guest.Guest(machine.load("sf3800"), guest.Options(seed=seed)).run_files()["seed"] == b"0xffffffffffffffff"


@pytest.mark.parametrize("option, kind", [("--forward", "tcp"), ("--forward", "udp"), ("--gdb", "tcp")])
def test_a_busy_port_is_one_line(option, kind):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        if kind == "tcp":
            taken.listen()
        port = taken.getsockname()[1]
        done = launch("sf3800", "--net", "1", option, f"{port}:80/{kind}" if option == "--forward" else str(port), "--check")
    assert done.returncode == guest.STATUS_SETUP
    assert len(done.stderr.splitlines()) == 1
    assert f"port {port}/{kind} of this host: Address already in use; name another one" in done.stderr


def test_one_port_is_not_forwarded_twice():
    port = net.free_port("tcp")
    done = launch("sf3800", "--net", "1", "--forward", f"{port}:80", "--forward", f"{port}:81", "--check")
    assert f"FORWARD: '{port}:81': port {port}/tcp of this host: Address already in use" in done.stderr


def test_check_asks_for_nothing_that_make_builds(monkeypatch):
    """--check works before images are built; it still reports wrong options."""
    missing = ["--iso", "/nonexistent", "--root", "ext", "--overlay", "build/dynamic-of-tomorrow", "--check"]
    assert launch("sf3800", *missing).returncode == 0
    assert "there is only linux" in launch("sf3800", *missing, "--peer", "windows").stderr


def test_a_folder_for_files_of_the_run_that_is_full(monkeypatch, tmp_path):
    """One line; no process and no file remain."""

    def full(self, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run = guest.Guest(machine.load("sf280r"), guest.Options(iso=LAUNCH))
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(MachineError, match=f"{tmp_path}: No space left on device: make room there, or name .* TMPDIR"):
        run.start()
    assert list(tmp_path.iterdir()) == []


def test_any_other_error_of_the_system_is_one_line(tmp_path):
    """Here: a name that is too long for the file system."""
    done = launch("sf280r", "--iso", "x" * 300)
    assert (done.returncode, done.stderr) == (guest.STATUS_SETUP, f"homeroom: {'x' * 300}: File name too long\n")


def test_a_trace_that_cannot_be_converted(monkeypatch, tmp_path):
    """The message gives the real reason, and no incomplete file remains."""
    source, target = tmp_path / "trace.img", tmp_path / "out.json"
    source.write_bytes(bytes(4096))
    with pytest.raises(trace.TraceError, match="the run ended before the trace was written"):
        trace.write(source, target)
    source.write_bytes(
        trace.HEADER.pack(trace.MAGIC, trace.VERSION, trace.RECORD.size, 1, 0, 0)
        + trace.RECORD.pack(0, trace.CPU, 0, 0, 0, 0, 0)
    )
    with pytest.raises(trace.TraceError, match="/dev/full: No space left on device"):
        trace.write(source, Path("/dev/full"))
    with pytest.raises(trace.TraceError, match="No such file or directory"):
        trace.write(source, tmp_path / "no/folder")
    assert list(tmp_path.iterdir()) == [source]


class Clock:
    """Replaces the host's clock, and Linux's count of the time for which a process has waited."""

    def __init__(self, monkeypatch):
        self.now = self.waited = 0.0
        monkeypatch.setattr(patience.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(patience, "kept_waiting", lambda pid: self.waited)


@pytest.mark.parametrize(
    "now, waited, left, too_busy",
    [
        (0, 0, 60, False),
        (59, 59, 1, False),  # QEMU's waiting time is not read yet
        (60, 0, 0, False),  # an idle host
        (60, 45, 45, False),
        (100, 45, 5, False),
        (105, 45, 0, False),
        (599, 598, 1, False),
        (600, 599, 0, True),
        (90, -5, -30, False),  # QEMU has ended
    ],
)
def test_a_busy_host_stretches_limits(monkeypatch, now, waited, left, too_busy):
    clock = Clock(monkeypatch)
    limit = patience.Limit(1, 60)
    clock.now, clock.waited = now, waited
    assert limit.left() == left
    assert limit.host_too_busy() == too_busy


def test_what_a_thread_waits_for_a_cpu_is_counted():
    """Two threads share a CPU and wait for each other: this one, and a child that computes."""
    cpu = min(os.sched_getaffinity(0))
    child = subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    before, old = patience.kept_waiting(child.pid), os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        turns = 0
        while patience.kept_waiting(child.pid) - before < 0.05:
            turns += 1
            assert turns < 10**6
    finally:
        os.sched_setaffinity(0, old)
        child.kill()
        child.wait()
    assert patience.kept_waiting(child.pid) == 0
    for _ in range(100):  # it may end while it is examined
        child = subprocess.Popen(["true"])
        reaper = threading.Thread(target=child.wait)
        reaper.start()
        while reaper.is_alive():
            patience.kept_waiting(child.pid)
        reaper.join()


def test_a_run_that_the_host_starved_says_so():
    run = guest.Guest(machine.load("sf280r"), guest.Options(iso=LAUNCH))
    run._process = subprocess.CompletedProcess([], -9)
    run._kill_kind, run._host_too_busy, run._usage, run._started = "timeout", True, 12.0, time.monotonic() - 600
    message = run._judge("").message(True)
    assert message == (
        "the time limit is over; the run was killed (this host is too busy: it gave QEMU 12 s of CPU time in 600 s)"
    )


HEAD, TWO = 'title = "x"\n[[board]]\n', 'cpus = 2\nmemory = "64M"\n'


@pytest.mark.parametrize(
    "text, says",
    [
        ("title = 3 3", "not TOML: "),
        ('title = "x"', "'board' is missing: write [[board]]"),
        ("[[board]]\n" + TWO, "'title' is missing"),
        ("[[board]]\n" + TWO + "[title]", "title = {}: write a line of text"),
        (HEAD + "cpus = 2", "'memory' is missing"),
        (HEAD + 'memory = "64M"', "'cpus' is missing"),
        ('title = "x"\nspeed = 1\n[[board]]\n' + TWO, "unknown key 'speed'; there are: title, board"),
        (HEAD + TWO + "slots = 1", "unknown key 'slots'; there are: count, cpus"),
        ("title = 3\n[[board]]\n" + TWO, "title = 3: write a line of text"),
        ('title = "a\\nb"\n[[board]]\n' + TWO, "write a line of text"),
        ('title = "x"\nboard = 3', "board = 3: write [[board]]"),
        ('title = "x"\nboard = []', "board = []: write [[board]]"),
        ('title = "x"\n[board]\n' + TWO, "write [[board]]"),
        *(
            (f'title = "x"\n{line}\n[[board]]\ncount = 2\n{TWO}', says)
            for line, says in (
                ("cores = 0", "cores = 0: write a number from 1 to 255"),
                ("cores = true", "cores = True: write a number"),
                ('cores = "2"', "cores = '2': write a number"),
                ("remote_distance = 10", "a number from 11 to 254"),
                ("remote_distance = 18.5", "a number from 11 to 254"),
                ("slit = 3", "write a matrix of distances"),
                ("slit = [10, 20]", "write a matrix of distances"),
                ("slit = [[10, 9], [12, 10]]", "distances from 10 to 254"),
                ("slit = [[10, true], [12, 10]]", "distances from 10 to 254"),
                ("slit = [[10, 20]]", "slit must be 2 x 2"),
                ("slit = [[20, 10], [10, 20]]", "10 from a domain to itself"),
                ("slit = [[10, 20], [20, 10]]\nremote_distance = 20", "leave one out"),
                ("srat = 1", "write true or false"),
                ("srat = false\nproximity_domains = [1, 2]", "leave srat = false out"),
                ("proximity_domains = [1, 1]", "2 different"),
                ("proximity_domains = 1", "write a list of numbers from 0 to 200"),
                ("proximity_domains = [1, -1]", "write a list of numbers from 0 to 200"),
                ("proximity_domains = [1, 4294967296]", "write a list of numbers from 0 to 200"),
                ("fireplane = 3", "write [fireplane]"),
                ("cards = 9", "a number from 0 to 8"),
                ("cards = false", "a number from 0 to 8"),
                ("releases = 3", "write [releases], and below it"),
                ("[releases]\n'9/02' = 4", "write [releases], and below it"),
            )
        ),
        *(
            (HEAD + line, says)
            for line, says in (
                ("count = 0\n" + TWO, "count = 0: write a number from 1 to 255"),
                ('count = "2"\n' + TWO, "count = '2': write a number"),
                ("count = 65\n" + TWO, "65 domains; there may be 64"),
                ('cpus = -1\nmemory = "64M"', "cpus = -1: write a number from 0 to 255"),
                ('cpus = [2]\nmemory = "64M"', "cpus = [2]: write a number"),
                ('cpus = 0\nmemory = "64M"', "0 CPUs; there may be 1 to 255"),
                ('cpus = 2\nmemory = "-64M"', "memory = '-64M': write a size"),
                ("cpus = 2\nmemory = true", "memory = True: write a size"),
                ('cpus = 2\nmemory = ["64M"]', "write a size"),
                ('cpus = 2\nmemory = "0M"', "64 MiB is the least"),
                (TWO + 'domain = "mine"', 'write "own", "expander" or a number from 0 to 63'),
                (TWO + "domain = -1", "a number from 0 to 63"),
                (TWO + "domain = true", "a number from 0 to 63"),
                (TWO + "domain = [0]", "a number from 0 to 63"),
                ('count = 64\ncpus = 4\nmemory = "64M"', "256 CPUs; there may be 1 to 255"),
                ('count = 2\ncpus = 3\nmemory = "64M"', "a board of 3 CPUs cannot have sockets of 2: change cpus, cores"),
            )
        ),
        ('title = "x"\ncores = 5\n[[board]]\ncount = 51\ncpus = 5\nmemory = "64M"', "APIC id would be 404, 254 is the"),
    ],
)
def test_wrong_machine_files(text, says, tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text(text)
    with pytest.raises(MachineError, match=re.escape(says)) as error:
        machine.load(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "lines, says",
    [
        ("", "[fireplane] family = None; there are: "),
        ("family = 3", "[fireplane] family = 3; there are: "),
        ('family = ["high-end"]', "[fireplane] family = ['high-end']; there are: "),
        ('family = "high-end"\nspeed = 1', "no parameter 'speed'; there are: clock_ps, "),
        ('family = "high-end"\nstreams = true', "streams = True: a number from 1 to 16"),
        ('family = "high-end"\nbus = [1]', 'bus = [1]: it is "machine" or "board"'),
    ],
)
def test_wrong_parameters_of_the_model(lines, says, tmp_path):
    """Wrong parameters are reported even if the model is not used."""
    path = tmp_path / "odd.toml"
    path.write_text(f"{HEAD}{TWO}[fireplane]\n{lines}\n")
    with pytest.raises(MachineError, match=re.escape(says)):
        guest.Guest(machine.load(str(path)), guest.Options())


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda path: path.mkdir(), "is not a file"),
        (lambda path: path.write_bytes(b"title = '\xff'"), "not a text file in UTF-8"),
        (lambda path: path.symlink_to("/proc/self/mem"), "Input/output error"),
    ],
)
def test_machine_files_that_cannot_be_read(make, says, tmp_path):
    make(tmp_path / "odd.toml")
    with pytest.raises(MachineError, match=says):
        machine.load(str(tmp_path / "odd.toml"))


def test_apic_ids_have_gaps():
    """A socket of three CPUs uses four ids; the SRAT has the same ids."""
    m = machine.Machine("x", "x", [machine.Board(6, 64, 0), machine.Board(3, 64, 1)], cores=3)
    assert [m.apic_id(cpu) for cpu in range(m.cpus)] == [0, 1, 2, 4, 5, 6, 8, 9, 10]
    entries = acpi.tables(m, [1, 0])[48:]
    assert [(entries[16 * i + 2], entries[16 * i + 3]) for i in range(9)] == [
        *((1, apic) for apic in (0, 1, 2, 4, 5, 6)),
        *((0, apic) for apic in (8, 9, 10)),
    ]


@pytest.mark.parametrize(
    "defines, status, says",
    [
        (['VERDICT="@exit 0\\n"'], 0, ""),
        (['VERDICT="@exit 7\\n"'], 7, ""),
        ([], guest.STATUS_NO_VERDICT, "no verdict: the machine ended"),
        (["RESET"], guest.STATUS_NO_VERDICT, "no verdict: the machine reset itself (a triple fault?)"),
        (["RESET", 'VERDICT="@reboot\\n"'], guest.STATUS_NO_VERDICT, "no verdict: the machine was rebooted before"),
        (["EXIT_CODE=0x11", 'VERDICT="@panic I2 broken\\n"'], guest.STATUS_PANIC, "panicked: I2 broken"),
        (["EXIT_CODE=0x12"], guest.STATUS_HUNG, "watchdog"),
        (["HANG"], guest.STATUS_TIMEOUT, "the time limit is over"),
        (["EXIT_CODE=0x11", 'VERDICT="@exit 0\\n"'], guest.STATUS_PANIC, "panicked"),
    ],
)
def test_each_kind_of_end(defines, status, says, tmp_path):
    iso = build_exit_image(tmp_path, *defines)
    limit = "4" if "HANG" in defines else "100"
    done = launch("sf280r", "--iso", str(iso), "--run", "true", "--timeout", limit)
    assert done.returncode == status, done.stderr
    assert says in done.stderr
    assert ("to repeat it: make qemu-sf280r SEED=0x" in done.stderr) == bool(says)


def test_an_end_is_told_right_to_a_caller_that_asks_too_late(tmp_path, speed):
    """The first command of QMP comes after QEMU has ended."""
    iso = build_exit_image(tmp_path, "EXIT_CODE=0x11", 'VERDICT="@panic I2 broken\\n"')
    run = guest.Guest(machine.load("sf280r"), guest.Options(run="true", iso=iso, speed=speed)).start()
    run.wait_until(lambda: not run.running, HOST_LIMIT)
    assert run.qmp("stop") == {} and run.wait(HOST_LIMIT).kind == "panic"


@pytest.mark.long
def test_a_hung_guest_gets_an_nmi(tmp_path, speed):
    """If the @alive lines stop, the guest counts as hung.  This guest ends at the NMI; the real kernel reports its CPUs."""
    iso = build_exit_image(tmp_path, "HANG", 'VERDICT="@alive 1\\n"')
    run = guest.Guest(machine.load("sf280r"), guest.Options(run="true", watchdog=1, iso=iso, speed=speed))
    outcome = run.start().wait(60)
    assert outcome.kind == "hung"
    assert outcome.exit_code(True) == guest.STATUS_HUNG


def test_a_release_sets_what_it_had_and_system_comes_after():
    ask = "echo lgrp_mem_default_policy/X | mdb -k"
    for system, policy in (("", "4"), ("set lgrp_mem_default_policy=1", "1")):
        done = launch("sf12k", "--make", "--iso", str(ISO["test"]), BOARDS="2", RELEASE="9/02", RUN=ask, SYSTEM=system)
        assert done.returncode == 0 and done.stdout.split()[-1] == policy, done.stdout + done.stderr


def test_make_variables_reach_the_launcher(tmp_path):
    done = launch(
        *("sf3800", "--make", "--print", "--iso", str(LAUNCH)),
        **{"RUN": "echo '$x' \"y\", z", "BOARDS": "1", "ICOUNT": "1", "QEMU_ARGS": "-d int"},
    )
    assert done.returncode == 0
    assert "-icount shift=0,sleep=off -rtc clock=vm" in done.stdout
    assert "-smp 1,sockets=1,cores=1,threads=1" in done.stdout
    assert done.stdout.strip().endswith("-d int")


def test_cpio_is_what_cpio_reads(tmp_path):
    tree = tmp_path / "tree"
    (tree / "a/b").mkdir(parents=True)
    (tree / "a/b/program").write_bytes(b"\0" * 4097)
    (tree / "a/b/program").chmod(0o751)
    (tree / "link").symlink_to("a/b/program")
    archive = Archive()
    archive.tree(tree)
    data = archive.pack()
    assert data == archive.pack()
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["cpio", "-id", "--quiet"], input=data, cwd=out, check=True)
    assert (out / "a/b/program").read_bytes() == b"\0" * 4097
    assert (out / "a/b/program").stat().st_mode & 0o7777 == 0o751
    assert os.readlink(out / "link") == "a/b/program"


def test_verdict_lines_survive_interruption():
    parser = Lines()
    assert parser.feed(b"@out 1 hel@alive 7\nlo\n@do") == [b"alive 7", b"out 1 hello"]
    assert parser.feed(b"ne 1 0\r\nnoise\n") == [b"done 1 0"]
    data = bytes(range(256))
    assert unescape(escape(data)) == data
    assert b"@" not in escape(data) and b"\n" not in escape(data)


def test_memory_of_a_big_machine_goes_round_the_hole():
    ranges = acpi.memory_ranges(machine.load("sf15k"))
    assert ranges[11] == (11, 11 * 256 << 20, 256 << 20)
    assert ranges[12] == (12, 1 << 32, 256 << 20)
    assert sum(length for _, _, length in ranges) == 4608 << 20


def test_tables_have_right_checksums():
    tables = acpi.tables(machine.load("sparse"), [7, 3, 40])
    srat_length = int.from_bytes(tables[4:8], "little")
    assert tables[:4] == b"SRAT" and sum(tables[:srat_length]) % 256 == 0
    assert tables[srat_length : srat_length + 4] == b"SLIT" and sum(tables[srat_length:]) % 256 == 0


ODD_BYTES = random.Random(1).randbytes(20000)  # more than the serial port and the terminal can hold, with control characters


def test_an_input_of_nothing_ends_at_once():
    """With /dev/null nothing is sent over the console, whatever the host's timing; the command reads an empty input."""
    run = guest.Guest(machine.load("sf280r"), guest.Options(run="true", piped="nothing"))
    assert run.run_files()["piped"] == b"nothing"
    for command in (["--run", "wc -c; readlink /proc/self/fd/0"], []):
        done = launch("sf280r", "--iso", str(ISO["test"]), *command)
        assert done.returncode == 0, done.stderr
        assert not command or "0\n/dev/null\n" in done.stdout


@pytest.mark.parametrize(
    "run, piped, status, printed",
    [
        (None, b"echo hello\npoweroff\n", 0, b"hello\n"),
        (None, b"echo $((6 * 7)); sh -c 'exit 3'", 3, b"42\n"),  # the last line has no newline
        (None, b"", 0, b""),
        ("md5sum; wc -c; exit 7", ODD_BYTES, 7, f"{hashlib.md5(ODD_BYTES).hexdigest()}  -\n0\n".encode()),
    ],
    ids=["commands", "no newline", "nothing", "bytes"],
)
def test_piped_input_arrives_whole_and_its_end_ends_the_run(run, piped, status, printed):
    """The shell or the command reads all bytes that are piped into the launcher, and then the end of the file."""
    command = [LAUNCH, "sf280r", "--iso", ISO["test"], "--timeout", "100", *(["--run", run] if run else [])]
    done = subprocess.run(command, input=piped, capture_output=True, timeout=HOST_LIMIT)
    assert done.returncode == status, done.stderr
    assert done.stdout.partition(b"\n")[2] == printed  # the first line is the kernel's


def test_the_terminal_and_what_is_typed_before_the_boot():
    """The guest's console has the size of the terminal, and keys that were pressed too early are not lost."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 43, 132, 0, 0))
    os.write(master, b"stty size; poweroff\n")
    command = [LAUNCH, "sf280r", "--iso", ISO["test"], "--timeout", "100"]
    shown = b""
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave) as launcher:
        os.close(slave)
        try:
            while data := os.read(master, 65536):
                shown += data
        except OSError:  # EIO: the launcher has ended
            pass
    os.close(master)
    assert launcher.returncode == 0 and b"\n43 132\r\n" in shown, shown.decode(errors="replace")


@pytest.mark.parametrize(
    "words, says",
    [
        (["qemu-nope"], "homeroom: no machine 'nope'; there are: sf12k, "),
        (["qemu-sf3800", "ROOT=zfs"], "homeroom: ROOT=zfs: there is only ext"),
        (["qemu-sf3800", "PEER=windows"], "PEER=windows: there is only linux.  Stop."),
        (["qemu-sf3800", "RUNN=true"], "RUNN= is not a variable of this Makefile; there are: RUN SYSTEM "),
        (["qemu-sf3800", "DISK='a"], "homeroom: DISK='a: No closing quotation; write it as words of a shell"),
        (["qemu-sf3800", "BOARDS=3"], "homeroom: BOARDS=3: sf3800 takes 1 to 2"),
        (["gdb", "MACHINE=nope"], "homeroom: no machine 'nope'; there are: sf12k, "),
        (["model-speed", "MACHINE=nope"], "homeroom: no machine 'nope'; there are: sf12k, "),
        (["iso", "TEST=yes"], "TEST=yes: write 0 or 1.  Stop."),
        (["experiments", "QUICK=yes"], "QUICK=yes: write 0 or 1.  Stop."),
        (["experiments", "JOBS=0"], "JOBS=0: write a number from 1.  Stop."),
        (["experiment-nope"], "experiments: no experiment 'nope'; there are: memcopy-12k-24, "),
    ],
)
def test_make_refuses_before_it_builds(words, says):
    """One line says what is wrong; the only other line is make's own message about the error."""
    done = subprocess.run(["make", *words], cwd=TOP, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if not re.match(r"make: \*\*\* \[.*\] Error \d+$", line)]
    assert len(said) == 1 and says in said[0], done.stderr
    assert done.stdout == ""


def test_one_make_at_a_time(tmp_path):
    """Only one command runs at a time, and the lock is free when the command has ended."""
    work = f"mkdir {tmp_path}/busy && sleep 0.05 && rmdir {tmp_path}/busy"
    runs = [subprocess.Popen([TOP / "tools/alone.sh", "sh", "-c", work], cwd=tmp_path) for _ in range(4)]
    assert [run.wait() for run in runs] == [0] * 4


def test_make_runs_nothing_that_a_command_line_says():
    """RUN is for the guest's shell: no make expands any part of it."""
    word = r"\$(info EXPANDED) $(info EXPANDED) $$(info EXPANDED)"
    done = subprocess.run(["make", "qemu-sf280r", f"RUN=: '{word}'"], cwd=TOP, capture_output=True, text=True)
    assert (done.returncode, "EXPANDED" in done.stdout + done.stderr) == (0, False), done.stderr


def test_images_that_cannot_be_written_are_one_line():
    command = ["python3", "-m", "homeroom.image", "initramfs", "/nonexistent/out", "--etc", "user/etc"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "tools"})
    assert done.returncode == 1
    assert re.fullmatch(r"image: /nonexistent/out\.\d+\.part: No such file or directory\n", done.stderr)


def test_no_file_of_a_run_is_used_in_two_ways(tmp_path):
    """Otherwise a file that the run writes could replace one that it reads."""
    for name in ("a.img", "b.img"):
        (tmp_path / name).write_bytes(bytes(1 << 20))
    (tmp_path / "link").symlink_to("a.img")
    (tmp_path / "hard").hardlink_to(tmp_path / "a.img")
    a, b, link, hard = (str(tmp_path / name) for name in ("a.img", "b.img", "link", "hard"))
    tables = str(tmp_path / "tables")
    Path(tables).write_bytes(b"SRAT" + bytes(32))
    options = [
        ["--disk", a, "--run", "true", "--trace", a],
        ["--disk", a, "--run", "true", "--trace", link],
        ["--disk", a, "--model", "fireplane", "--model-page", a],
        ["--disk", f"refdisk:{a},log={a}"],
        ["--disk", a, "--disk", f"{b},blklogwrites={a}"],
        ["--disk", a, "--disk", link],
        ["--disk", a, "--run", "true", "--trace", hard],
        ["--disk", f"{a},blkdebug={b}", "--run", "true", "--trace", b],
        ["--acpi", tables, "--run", "true", "--trace", tables],
        ["--disk", f"refdisk:{a}", "--disk", f"{a},readonly"],
        ["--run", "true", "--trace", str(TOP / "build/initramfs.cpio")],
        ["--model", "fireplane", "--model-page", str(TOP / "build/kernel.elf")],
        ["--run", "true", "--model", "fireplane", "--trace", f"{tmp_path}/new", "--model-page", f"{tmp_path}/new"],
    ]
    for words in options:
        done = launch("sf3800", "--check", *words)
        assert (done.returncode, len(done.stderr.splitlines())) == (guest.STATUS_SETUP, 1), words
        assert "at once: name another file" in done.stderr, words
    with open(a, "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)  # as another run does
        for disk in (a, f"{a},readonly", f"refdisk:{a}"):
            done = launch("sf3800", "--iso", str(ISO["test"]), "--run", "true", "--disk", disk)
            assert (done.returncode, "another run uses" in done.stderr) == (guest.STATUS_SETUP, True), done.stderr
        done = launch("sf3800", "--iso", str(ISO["test"]), "--run", "true", "--model", "fireplane", "--model-page", a)
        assert (done.returncode, "another run uses" in done.stderr) == (guest.STATUS_SETUP, True), done.stderr
    done = launch("sf3800", "--check", "--disk", f"{a},readonly", "--disk", f"{a},readonly")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("seconds", [0.1, 0.3, 0.8])
def test_a_signal_ends_the_run_at_any_time(number, seconds, tmp_path):
    """At any time from the start on, there is no traceback, and neither QEMU nor a file remains."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    run = subprocess.Popen(
        [LAUNCH, "sf280r", "--iso", ISO["test"]], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=default_signals,
    )  # fmt: skip
    time.sleep(seconds)
    run.send_signal(number)
    _, said = run.communicate(timeout=HOST_LIMIT)
    ours = LAUNCH.read_text().splitlines().index("import signal") + 1  # before that line Python starts, and prints a traceback
    assert [line for line in re.findall(rb'launch.py", line (\d+)', said) if int(line) > ours] == [], said
    assert list(tmp_path.iterdir()) == []
    mine = [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path).encode() in read_if_there(p)]
    assert mine == []


def read_if_there(path):
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


def test_qemu_ends_with_the_launcher(tmp_path):
    """QEMU ends even if the launcher is killed."""
    name = f"{tmp_path.name}-{os.getpid()}"  # of no machine of another test run on this host
    run = subprocess.Popen(
        [LAUNCH, "sf280r", "--iso", ISO["test"], "--qemu-args", f"-name {name}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert run.stdout.readline()  # the guest runs
    qemu = [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"-name\0" + name.encode() in read_if_there(p)]
    assert len(qemu) == 1
    run.kill()
    run.wait()
    end = time.monotonic() + HOST_LIMIT
    while read_if_there(qemu[0]) and time.monotonic() < end:
        time.sleep(0.01)
    assert read_if_there(qemu[0]) == b""


@pytest.mark.parametrize(
    "redirection, says",
    [(">/dev/full", "homeroom: standard output: No space left on device"), (">&-", "homeroom: standard output is closed")],
)
def test_an_output_that_cannot_be_written_ends_the_run(redirection, says):
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" sf280r --iso "$1" --run true {redirection}', LAUNCH, ISO["test"]],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=HOST_LIMIT,
    )  # fmt: skip
    assert done.returncode == guest.STATUS_SETUP
    assert says in done.stderr and "Traceback" not in done.stderr


def test_an_output_that_nothing_reads_ends_the_run():
    """Like other programs before head(1): no message, and the status of a program that SIGPIPE has ended."""
    run = subprocess.Popen(
        [LAUNCH, "sf280r", "--iso", ISO["test"], "--run", "yes"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout.readline()
    run.stdout.close()
    said = run.stderr.read().splitlines()
    assert (run.wait(HOST_LIMIT), len(said)) == (128 + signal.SIGPIPE, 1), said


def test_a_qemu_that_only_prints_something_ran_no_machine():
    done = launch("sf280r", "--iso", str(ISO["test"]), "--qemu-args=-version")
    assert done.returncode == guest.STATUS_SETUP
    assert "QEMU failed: it ended before the machine had started" in done.stderr
