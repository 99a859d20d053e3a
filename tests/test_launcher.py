# SPDX-License-Identifier: MIT
"""The launcher: machine files, options and their errors, and how each kind of end is told from the others."""

import fcntl
import hashlib
import os
import random
import struct
import subprocess
import termios

import pytest

from harness import ISO, build_exit_image
from homeroom import acpi, guest, machine
from homeroom.cpio import Archive
from homeroom.machine import TOP, MachineError
from homeroom.verdict import Lines, escape, unescape

LAUNCH = TOP / "qemu/launch.py"

# boards, CPUs, domains, and what a remote board's SLIT distance is
TABLE = {
    "sf280r": (1, 2, 1, None),
    "v880": (4, 8, 1, None),
    "t2000": (1, 32, 1, None),
    "sf3800": (2, 8, 2, 12),
    "sf4800": (3, 12, 3, 12),
    "sf6800": (6, 24, 6, 12),
    "sf12k": (9, 36, 9, 18),
    "sf15k": (18, 72, 18, 18),
    "sf15k-maxcpu": (35, 106, 18, 18),
}


def launch(*args, **variables):
    env = {**os.environ, **variables}
    return subprocess.run(
        [LAUNCH, *args], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=120
    )


def test_the_nine_machines():
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


def test_every_machine_file_is_taken_by_qemu():
    """QEMU itself checks the topology: -S with a QMP `quit` at once."""
    for path in [*(TOP / "qemu/machines").glob("*.toml"), *(TOP / "tests/machines").glob("*.toml")]:
        args = machine.load(str(path)).qemu_args()
        done = subprocess.run(
            [guest.QEMU, *args, "-display", "none", "-S", "-qmp", "stdio"],
            input='{"execute":"qmp_capabilities"}\n{"execute":"quit"}\n',
            capture_output=True, text=True, timeout=60,
        )
        assert done.returncode == 0 and not done.stderr, f"{path.name}: {done.stderr}"


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
        (["sf3800", "--disk", "Makefile,bus=scsi"], "'bus=scsi' is no option; DISK='FILE[,bus=ide]"),
        (["sf3800", "--disk", "Makefile,bus=ide,readonly"], "an IDE disk has one queue and can be written"),
        (["sf3800", "--disk", "nbd:/nonexistent"], "/nonexistent is not a socket"),
    ],
)
def test_wrong_options_are_one_line(args, says, tmp_path):
    iso = [] if "--iso" in args else ["--iso", str(LAUNCH)]
    done = launch(*args, *iso)
    assert done.returncode == guest.STATUS_SETUP
    assert len(done.stderr.splitlines()) == 1
    assert says in done.stderr


@pytest.mark.parametrize(
    "text, says",
    [
        ("title = 3 3", "TOMLDecodeError"),
        ('title = "x"', "'board'"),
        ('title = "x"\nspeed = 1\n[[board]]\ncpus = 2\nmemory = "64M"', "unknown key 'speed'"),
        ('title = "x"\n[[board]]\ncpus = 2\nmemory = "64M"\nslots = 1', "unknown key 'slots'"),
        ('title = "x"\n[[board]]\ncount = 64\ncpus = 4\nmemory = "64M"', "256 CPUs; there may be 1 to 255"),
        ('title = "x"\n[[board]]\ncount = 2\ncpus = 3\nmemory = "64M"', "may not be on two boards"),
        ('title = "x"\nslit = [[10, 9], [12, 10]]\n[[board]]\ncount = 2\ncpus = 2\nmemory = "64M"', "slit must be 2"),
        ('title = "x"\nproximity_domains = [1, 1]\n[[board]]\ncount = 2\ncpus = 2\nmemory = "64M"', "2 different"),
    ],
)
def test_wrong_machine_files(text, says, tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text(text)
    with pytest.raises(MachineError, match=says):
        machine.load(str(path))


@pytest.mark.parametrize(
    "defines, status, says",
    [
        (['VERDICT="@exit 0\\n"'], 0, ""),
        (['VERDICT="@exit 7\\n"'], 7, ""),
        ([], guest.STATUS_NO_VERDICT, "no verdict: the machine ended"),
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


def test_a_hung_guest_gets_an_nmi(tmp_path, speed):
    """@alive lines that stop mean hung; this guest dies of the NMI, the real kernel reports its CPUs."""
    iso = build_exit_image(tmp_path, "HANG", 'VERDICT="@alive 1\\n"')
    run = guest.Guest(machine.load("sf280r"), guest.Options(run="true", watchdog=1, iso=iso, speed=speed))
    outcome = run.start().wait(60)
    assert outcome.kind == "hung"
    assert outcome.exit_code(True) == guest.STATUS_HUNG


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


ODD_BYTES = random.Random(1).randbytes(20000)  # more than the port and the terminal hold, control characters among them


@pytest.mark.parametrize(
    "run, piped, status, printed",
    [
        (None, b"echo hello\npoweroff\n", 0, b"hello\n"),
        (None, b"echo $((6 * 7)); sh -c 'exit 3'", 3, b"42\n"),  # a last line without its newline
        (None, b"", 0, b""),
        ("md5sum; wc -c; exit 7", ODD_BYTES, 7, f"{hashlib.md5(ODD_BYTES).hexdigest()}  -\n0\n".encode()),
    ],
    ids=["commands", "no newline", "nothing", "bytes"],
)
def test_piped_input_arrives_whole_and_its_end_ends_the_run(run, piped, status, printed):
    """The shell or command reads what is piped into the launcher, from the first byte to the end of file."""
    command = [LAUNCH, "sf280r", "--iso", ISO["test"], "--timeout", "100", *(["--run", run] if run else [])]
    done = subprocess.run(command, input=piped, capture_output=True, timeout=120)
    assert done.returncode == status, done.stderr
    assert done.stdout.partition(b"\n")[2] == printed  # the first line is the kernel's


def test_the_terminal_and_what_is_typed_before_the_boot():
    """The guest's console has the size of the terminal, and what was typed too early is not lost."""
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
