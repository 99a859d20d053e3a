# SPDX-License-Identifier: MIT
"""test_mistakes.py - wrong input quickly gives a line with the mistake and the remedy, and a status; nothing is left behind.

The rows are in data/mistakes.toml: make variables, machine files, lines of /etc/system, input of mdb, commands of the guest.
"""

import fcntl
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

import harness
from homeroom.machine import TOP
from homeroom.patience import LAST_RESORT, Limit

TABLE = tomllib.loads((TOP / "tests/data/mistakes.toml").read_text())
LIMIT = 5  # seconds of an idle host
LAUNCH = f"python3 qemu/launch.py $T/odd.toml --run true --iso {harness.ISO['test']}"
MACHINE_FILE = {"title": '"Odd"', "remote_distance": "12", "board.count": "2", "board.cpus": "4", "board.memory": '"128M"'}

# Answers must not contain messages of Python, QEMU or the kernel, nor the output of a machine or of a compilation.
NEVER = re.compile(
    r"Traceback|^sh: .*: not found|^qemu-system-x86_64:|triple fault|segmentation fault|panic|bad address|"
    r"^Homeroom: \d+ CPUs|^  [A-Z0-9]{2,8} {2,}\S",
    re.MULTILINE | re.IGNORECASE,
)


def soon(speed: float) -> float:
    """The time limit at this moment, in seconds: it depends on the host's speed and on its load of the last minute."""
    return LIMIT * speed * max(1.0, os.getloadavg()[0] / os.cpu_count())


def waited() -> float:
    """Seconds since the host's boot in which any program waited for a CPU, up to 2 s ago; 0 if Linux does not count them."""
    try:
        return int(re.match(r"some .* total=(\d+)", Path("/proc/pressure/cpu").read_text())[1]) / 1e6
    except OSError:
        return 0.0


def rows(*kinds: str):
    """A parameter for each row of these tables, with its name as the id."""
    return [pytest.param(*row[1:], id=row[0]) for kind in kinds for row in TABLE[kind]["rows"]]


def pattern(text: str) -> re.Pattern:
    """The regular expression of a row, with $word replaced by the entry of [words]."""
    text = re.sub(r"\$([a-z]+)", lambda word: f"(?:{TABLE['words'][word[1]]})", text)
    return re.compile(text.replace("(?i)", ""), re.IGNORECASE if "(?i)" in text else 0)


def refused(status: int) -> bool:
    """Whether a status is neither success nor the death by a signal (128 + signal)."""
    return 0 < status < 128 or status > 192


# ---- commands on the host ----------------------------------------------------------------------


class Shell:
    """Runs wrong commands in a checkout, with a folder $T of test files, and checks that they leave nothing behind."""

    def __init__(self, folder: Path, limit: float) -> None:
        self.folder, self.temporary, self.limit = folder / "t", folder / "tmpdir", limit
        (self.folder / "dir").mkdir(parents=True)
        self.temporary.mkdir()
        for letter in "abcde":
            (self.folder / f"{letter}.img").write_bytes(bytes(1 << 20))
        (self.folder / "empty").touch()
        (self.folder / "text").write_text("no table, no disk\n")

    def run(self, typed: str, checkout: Path, **variables: str) -> tuple[int, str]:
        """Run a command; returns its status and output.  It fails if it does not end within the limit, or leaves something."""
        alien = re.compile("MAKE.*|MFLAGS|TEST|PYTEST.*")  # variables of `make test` and pytest, which the command must not see
        env = {name: value for name, value in os.environ.items() if not alien.fullmatch(name)}
        env |= {"TMPDIR": str(self.temporary), "T": str(self.folder), **variables}
        before = self._listing()
        start, waited_before = time.monotonic(), waited()

        def remaining() -> float:
            """Seconds until the limit.  The load may have grown since it was chosen, so time without a CPU does not count."""
            passed = time.monotonic() - start
            return min(self.limit - (passed - (waited() - waited_before)), LAST_RESORT * self.limit - passed)

        with subprocess.Popen(
            ["sh", "-c", typed],
            cwd=checkout,
            env=env,
            text=True,
            errors="replace",
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as shell:
            late = True
            while late and (seconds := remaining()) > 0:
                with suppress(subprocess.TimeoutExpired):
                    out, late = shell.communicate(timeout=seconds)[0], False
            if late:
                self._end(signal.SIGTERM)
                try:
                    out = shell.communicate(timeout=self.limit)[0]
                except subprocess.TimeoutExpired:
                    self._end(signal.SIGKILL)
                    out = shell.communicate()[0]
        left = self._end(signal.SIGKILL)
        assert not late, f"no end in {self.limit:.1f} s; it printed:\n{out}"
        assert not left, f"still running after {time.monotonic() - start:.1f} s: {left}; it printed:\n{out}"
        rest = [path.name for path in self.temporary.iterdir() if not path.name.startswith("pytest-of-")]
        assert not rest, f"left in TMPDIR: {rest}; it printed:\n{out}"
        assert self._listing() == before, f"left behind: {self._listing() ^ before}; it printed:\n{out}"
        return shell.returncode, out

    def _listing(self) -> set[tuple[str, int]]:
        return {(str(path), path.stat().st_size) for path in self.folder.rglob("*")}

    def _end(self, number: int) -> list[str]:
        """Send a signal to every process with our TMPDIR; returns their command lines."""
        mark, found = f"TMPDIR={self.temporary}".encode(), []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
                    os.kill(int(process.name), number)
            except (OSError, ProcessLookupError):
                continue
        return [line for line in found if line]


# Rows of commands that build before they see the mistake.
BUILD = re.compile("contention-rows|experiment-(psrset-window|setting)|live-(port-busy|record)|pytest-missing|qemu-args-")


@pytest.fixture
def shell(tmp_path, speed, request, monkeypatch):
    """A shell.  While a command builds, no other make builds here: the command would have to wait for it."""
    with (TOP / "build/.lock").open("a") as lock:
        if BUILD.search(request.node.callspec.id):
            fcntl.flock(lock, fcntl.LOCK_EX)  # as tools/alone.sh does, for all makes below
            monkeypatch.setenv("HR_ALONE", "1")
        yield Shell(tmp_path, soon(speed))


@pytest.fixture(scope="module")
def busy_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield str(taken.getsockname()[1])


@pytest.fixture(scope="module")
def unbuilt(tmp_path_factory):
    """A copy of the checkout without built files, but with the installed Python environments."""
    copy = tmp_path_factory.mktemp("unbuilt") / "checkout"
    shutil.copytree(TOP, copy, ignore=shutil.ignore_patterns("build", ".git", ".venv*", "__pycache__", ".*_cache"))
    for installed in TOP.glob(".venv*"):
        (copy / installed.name).symlink_to(installed.resolve())
    return copy


def judge(status: int, out: str, names: str, remedy: str, most: int = 3) -> None:
    """One line must have the mistake and the remedy, and there may be only few other lines; make's own do not count."""
    lines = [line for line in out.splitlines() if line.strip() and not re.match(r"make(\[\d+\])?: ", line)]
    assert refused(status), f"status {status}; it printed:\n{out}"
    assert not NEVER.search(out), out
    assert any(pattern(names).search(line) and pattern(remedy).search(line) for line in lines), (
        f"no line with /{names}/ and /{remedy}/, but:\n{out}"
    )
    assert len(lines) <= most, out


@pytest.mark.parametrize("typed, names, remedy", rows("typed"))
def test_typed(shell, busy_port, typed, names, remedy):
    judge(*shell.run(typed, TOP, BUSY=busy_port), names.replace("$BUSY", busy_port), remedy)


@pytest.mark.parametrize("typed, names, remedy", rows("tools"))
def test_tools(shell, typed, names, remedy):
    judge(*shell.run(typed, TOP), names, remedy, most=12)


@pytest.mark.parametrize("typed, names, remedy", rows("unbuilt"))
def test_unbuilt(shell, unbuilt, typed, names, remedy):
    judge(*shell.run(typed, unbuilt), names, remedy)
    assert not list(unbuilt.glob("build/**/*.o"))


@pytest.mark.parametrize("changes, names, remedy", rows("machine"))
def test_machine(shell, changes, names, remedy):
    keys = dict(MACHINE_FILE)
    for change in changes.split("; "):
        key, value = (part.strip() for part in change.split("=", 1))
        keys[key] = value
    lines = {True: [], False: ["[[board]]"]}
    for key, value in keys.items():
        if value:
            lines[not key.startswith("board.")].append(f"{key.removeprefix('board.')} = {value}")
    (shell.folder / "odd.toml").write_text("\n".join(lines[True] + (lines[False] if len(lines[False]) > 1 else [])) + "\n")
    judge(*shell.run(LAUNCH, TOP), names, remedy)


@pytest.mark.parametrize("setup, names, remedy", rows("machine_file"))
def test_machine_file(shell, setup, names, remedy):
    subprocess.run(["sh", "-ec", setup], env={**os.environ, "T": str(shell.folder)}, check=True)
    judge(*shell.run(LAUNCH, TOP), names, remedy)


# ---- /etc/system -------------------------------------------------------------------------------

SYSTEM = [row[1] for row in TABLE["system"]["rows"]]


@pytest.mark.machine("sf3800", system=";".join(SYSTEM))
@pytest.mark.parametrize(
    "number, line, names, remedy, stays",
    [pytest.param(n, *row[1:4], row[4] if row[4:] else "", id=row[0]) for n, row in enumerate(TABLE["system"]["rows"], 1)],
)
def test_system(machine, number, line, names, remedy, stays):
    """Each wrong line gives a message of its own, the machine works, and the variable has its default."""
    variable = re.match(r"\s*[Ss]et (?:\w+:)?(\w+)", line)
    if not names:
        value = re.escape(re.split("[=|]", line)[1].strip())
        names = rf"{variable[1]}.*(?<!\w)(LINE|{value}\b)|LINE.*{variable[1]}"
    log = machine.check("dmesg")
    names = names.replace("LINE", rf"line {number}\b")
    assert any(pattern(names).search(answer) and pattern(remedy).search(answer) for answer in log.splitlines()), (
        f"no line with /{names}/ and /{remedy}/, but:\n{log}"
    )
    if variable and "not defined" not in remedy:
        assert re.fullmatch(stays, machine.check(f"echo {variable[1]}/D | mdb -k").split()[-1])


# ---- the guest ---------------------------------------------------------------------------------


@pytest.fixture
def untouched(machine):
    """Sets, states of CPUs, mounts and swap must not change; if they do, restore them for the next row."""
    state = "psrset; psrinfo | cut -c -12; cat /proc/mounts; swap -l"
    sets = "psrset | sed 's/^[a-z ]*\\([0-9]*\\).*/\\1/'"
    before = machine.run(state).out
    yield
    after = machine.run(state).out
    if after != before:
        machine.run(f"for s in $({sets}); do psrset -d $s; done; psradm -a -n; umount /mnt")
    assert after == before


def ask(machine, speed, command: str, names: str, remedy: str) -> None:
    """A command of the guest must fail soon.  The remedy may also be in the first line of the usage."""
    limit = Limit(machine.guest.pid, LIMIT * speed)
    most = int(LAST_RESORT * limit.seconds)  # of the guest, whose clock goes on while QEMU waits for a CPU of the host
    result = machine.run(f"timeout -s KILL {most} sh -c {shlex.quote(command)}", timeout=2 * most)
    assert limit.left() > 0, f"no end in {limit.seconds:.1f} s; it printed:\n{result.out}"
    judge(result.status, result.out.replace("\nusage:", " usage:"), names, remedy, most=30)


@pytest.mark.machine("sf3800")
@pytest.mark.parametrize("command, names, remedy", rows("guest"))
def test_guest(machine, speed, untouched, command, names, remedy):
    ask(machine, speed, command, names, remedy)


@pytest.mark.machine("sf3800")
@pytest.mark.parametrize("line, names, remedy", rows("mdb"))
def test_mdb(machine, speed, line, names, remedy):
    variable, letter = re.match(r"(\w*)(?:/(\w))?", line).groups()
    show = f"echo {variable}/J | mdb -k"
    before = machine.run(show).out
    try:
        ask(machine, speed, f"echo '{line}' | mdb -kw", names, remedy)
        assert machine.run(show).out == before
    finally:
        if machine.alive and machine.run(show).out != before:
            machine.run(f"echo '{variable}/{letter} {before.split()[-1]}' | mdb -kw")


def test_no_row_is_met_by_what_was_typed():
    """A program that only repeats its command line must not satisfy any row."""
    for kind in ("typed", "tools", "unbuilt", "guest", "mdb"):
        for name, typed, names, remedy in TABLE[kind]["rows"]:
            assert not (pattern(names).search(typed) and pattern(remedy).search(typed)), name


def test_the_table_is_long():
    """Names are unique: a row that repeats a name would hide another."""
    names = [row[0] for table in TABLE.values() if "rows" in table for row in table["rows"]]
    assert len(names) == len(set(names)) >= 140
