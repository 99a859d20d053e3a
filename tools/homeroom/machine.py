# SPDX-License-Identifier: MIT
"""machine.py - read and check machine files, and turn a machine into arguments for QEMU.

A machine consists of boards with CPUs and memory.  Boards form proximity domains: to the kernel, the CPUs and the memory
of a domain are near each other, and each domain becomes a leaf lgroup.

A machine file (qemu/machines/NAME.toml) has

    title              text
    [[board]]          a group of equal boards; groups are in the order of their CPU numbers:
      count            number of boards (1)
      cpus             CPUs of each board, 0 to 255
      memory           memory of each board: "256M", "1G", "0M"
      domain           "own": each board is a domain (the default); "expander": the i-th board of this group
                       belongs to the i-th domain; a number: all boards belong to that domain
    cores              cores of a socket (2, for the pair of CPUs of a Uniboard)
    threads            CPUs (hardware threads) of a core (1)
    remote_distance    SLIT distance between any two domains, 11 to 254
    slit               in place of remote_distance: the whole matrix; with neither, QEMU makes no SLIT
    srat = false       no SRAT (and no SLIT)
    cards              number of network cards (0); net.py describes the networks behind them
    [releases]         "9/02" = /etc/system lines with the settings of an older Solaris release on this machine (RELEASE=)
    proximity_domains  the numbers of domains 0, 1, ... in the tables that the kernel reads
    [fireplane]        parameters of the interconnect model (model.py)

QEMU's memory node i is domain i.  A domain may have no memory, or no CPUs.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PLACES = (TOP / "qemu/machines", TOP / "tests/machines")

CPU_MODEL = "qemu64,+smep,+smap,+fsgsbase,+rdrand,+pdpe1gb,+erms,+umip,+rdtscp"
CPU_LIMIT = 255  # number of xAPIC ids; TCG in QEMU 7.2 has no x2APIC
APIC_LIMIT = 254  # id 255 addresses all CPUs
DOMAIN_LIMIT = 64
PROXIMITY_LIMIT = 200  # the kernel's buffer for replaced tables (kernel/main.c) has room for a SLIT with so many rows
CARD_LIMIT = 8  # NIC_MAX of drivers/nic.h


class MachineError(Exception):
    """A machine file or an option is wrong; the text is one line that says what to do."""


ANSWER_LIMIT = 10  # seconds in which a program must print its version


def ask_program(program: str, argument: str) -> str:
    """The output of a program called with --version or -help.  MachineError if it cannot be run, fails, or does not end."""
    path = shutil.which(program) or program
    try:
        child = subprocess.Popen(
            [path, argument],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,  # so that killpg() ends the processes that it has started, too
        )
    except OSError as error:
        raise MachineError(f"{path} cannot be run: {error.strerror}; tools/deps.sh run installs a missing one") from error
    try:
        out = child.communicate(timeout=ANSWER_LIMIT)[0]
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise MachineError(f"{path} {argument} has not ended after {ANSWER_LIMIT} seconds: it is not a working QEMU") from None
    if child.returncode != 0:
        raise MachineError(f"{path} {argument} ends with status {child.returncode}: it is not a working QEMU")
    return out


@dataclass(frozen=True)
class Board:
    cpus: int
    memory_mib: int
    domain: int


@dataclass
class Machine:
    name: str
    title: str
    boards: list[Board]
    cores: int = 2
    threads: int = 1
    slit: list[list[int]] | None = None
    srat: bool = True
    proximity_domains: list[int] | None = None
    fireplane: dict | None = None
    cards: int = 0
    releases: dict[str, str] = field(default_factory=dict)
    changes: tuple[str, ...] = ()  # the make variables that changed it

    @property
    def cpus(self) -> int:
        return sum(b.cpus for b in self.boards)

    @property
    def socket_cpus(self) -> int:
        return self.cores * self.threads

    @property
    def memory_mib(self) -> int:
        return sum(b.memory_mib for b in self.boards)

    @property
    def domains(self) -> int:
        return 1 + max(b.domain for b in self.boards)

    def domain_memory_mib(self, domain: int) -> int:
        return sum(b.memory_mib for b in self.boards if b.domain == domain)

    def apic_id(self, cpu: int) -> int:
        """The APIC id that QEMU gives a CPU.

        It consists of the numbers of socket, core and thread; core and thread have as many bits as their largest
        number needs, so ids have gaps unless `cores` and `threads` are powers of two.
        """
        socket, rest = divmod(cpu, self.socket_cpus)
        core, thread = divmod(rest, self.threads)
        thread_bits, core_bits = (self.threads - 1).bit_length(), (self.cores - 1).bit_length()
        return (socket << core_bits | core) << thread_bits | thread

    def domain_cpus(self, domain: int) -> list[int]:
        """CPU numbers of a domain."""
        out, first = [], 0
        for board in self.boards:
            if board.domain == domain:
                out += range(first, first + board.cpus)
            first += board.cpus
        return out

    def describe(self) -> str:
        return (
            f"{self.title}: {len(self.boards)} boards, {self.cpus} CPUs, {self.memory_mib} MiB"
        )

    def release(self, name: str) -> str:
        """The /etc/system lines for a Solaris release.  MachineError if the machine's file does not have this release."""
        if name not in self.releases:
            known = f"there is {', '.join(self.releases)}" if self.releases else "its file has no releases: leave it out"
            raise MachineError(f"RELEASE={name}: {self.name} does not know it; {known}")
        return self.releases[name]

    def qemu_args(self) -> list[str]:
        """QEMU's arguments for CPUs, memory and domains; not those for disks and consoles."""
        sockets = -(-self.cpus // self.socket_cpus)
        # QEMU's AMD CPUs have threads only with topoext, which TCG lacks.
        cpu = CPU_MODEL if self.threads == 1 else f"{CPU_MODEL},vendor=GenuineIntel"
        args = ["-name", f"homeroom-{self.name}", "-nodefaults", "-no-user-config", "-cpu", cpu]
        args += ["-m", f"{self.memory_mib}M"]
        args += ["-smp", f"{self.cpus},sockets={sockets},cores={self.cores},threads={self.threads}"]
        if not self.srat:
            whole = f"memory-backend-memfd,id=board0,size={self.memory_mib}M"
            return [*args, "-object", whole, "-machine", "memory-backend=board0"]
        for domain in range(self.domains):
            node = f"node,nodeid={domain}"
            if size := self.domain_memory_mib(domain):
                args += ["-object", f"memory-backend-memfd,id=board{domain},size={size}M"]
                node += f",memdev=board{domain}"
            args += ["-numa", node]
        for domain in range(self.domains):
            for socket in sorted({cpu // self.socket_cpus for cpu in self.domain_cpus(domain)}):
                args += ["-numa", f"cpu,node-id={domain},socket-id={socket}"]
        for source, row in enumerate(self.slit or []):
            for target, distance in enumerate(row):
                args += ["-numa", f"dist,src={source},dst={target},val={distance}"]
        return args


def parse_size_mib(text: str) -> int:
    """MiB of "256M" or "1G"; a bare number is MiB."""
    match = re.fullmatch(r"([0-9]{1,9})\s*([MG]?)i?B?", str(text).strip())
    if match is None:
        raise MachineError(f"memory size '{text}': write it as 256M or 1G")
    return int(match[1]) * (1024 if match[2] == "G" else 1)


# ---- the keys of a machine file ----------------------------------------------------------------


def _number(least: int, most: int) -> tuple[Callable[[object], bool], str]:
    """An entry of KEYS for a number from `least` to `most`."""
    # type(v) and not isinstance(): in Python, True and False are instances of int.
    return lambda v: type(v) is int and least <= v <= most, f"write a number from {least} to {most}"


def _numbers(value: object, least: int, most: int) -> bool:
    return isinstance(value, list) and all(type(v) is int and least <= v <= most for v in value)


def _text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and value != ""


# For each key a function that checks its value, and the advice for a wrong value.
KEYS = {
    "title": (_text, "write a line of text in quotes"),
    "board": (
        lambda v: isinstance(v, list) and v != [] and all(isinstance(group, dict) for group in v),
        "write [[board]], and below it cpus and memory",
    ),
    "cores": _number(1, CPU_LIMIT),
    "threads": _number(1, CPU_LIMIT),
    "remote_distance": _number(11, 254),
    "slit": (
        lambda v: isinstance(v, list) and all(_numbers(row, 10, 254) for row in v),
        "write a matrix of distances from 10 to 254: [[10, 20], [20, 10]]",
    ),
    "srat": (lambda v: isinstance(v, bool), "write true or false"),
    "proximity_domains": (
        lambda v: _numbers(v, 0, PROXIMITY_LIMIT),
        f"write a list of numbers from 0 to {PROXIMITY_LIMIT}",
    ),
    "fireplane": (lambda v: isinstance(v, dict), "write [fireplane], and below it family"),
    "cards": _number(0, CARD_LIMIT),
    "releases": (
        lambda v: isinstance(v, dict) and all(map(_text, v.values())),
        'write [releases], and below it "9/02" = "lines of /etc/system"',
    ),
}
BOARD_KEYS = {
    "count": _number(1, CPU_LIMIT),
    "cpus": _number(0, CPU_LIMIT),
    "memory": (
        lambda v: type(v) is int or (isinstance(v, str) and re.fullmatch(r"[0-9]{1,9}\s*[MG]?i?B?", v.strip())),
        'write a size in quotes: "256M" or "1G"',
    ),
    "domain": (
        lambda v: v in ("own", "expander") or (type(v) is int and 0 <= v < DOMAIN_LIMIT),
        f'write "own", "expander" or a number from 0 to {DOMAIN_LIMIT - 1}',
    ),
}


def _check_keys(where: str, table: dict, keys: dict, required: tuple[str, ...]) -> None:
    """Raise MachineError for an unknown key, a missing one, or a wrong value; `where` begins the message."""
    if unknown := set(table) - set(keys):
        raise MachineError(f"{where}: unknown key '{min(unknown)}'; there are: {', '.join(keys)}")
    for key in required:
        if key not in table:
            raise MachineError(f"{where}: '{key}' is missing: {keys[key][1]}")
    for key, value in table.items():
        fits, remedy = keys[key]
        if not fits(value):
            raise MachineError(f"{where}: {key} = {repr(value)[:60]}: {remedy}")


def _read(path: Path) -> dict:
    """The contents of a machine file.  MachineError if it cannot be read, or if a value has a wrong type or range."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise MachineError(f"{path}: not a text file in UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise MachineError(f"{path}: not TOML: {error}") from error
    _check_keys(str(path), raw, KEYS, ("title", "board"))
    for group in raw["board"]:
        _check_keys(f"{path}: [[board]]", group, BOARD_KEYS, ("cpus", "memory"))
    if "slit" in raw and "remote_distance" in raw:
        raise MachineError(f"{path}: slit and remote_distance both give the distances: leave one out")
    return raw


def names() -> list[str]:
    """The names of the machines in qemu/machines, which messages list; tests/machines has more."""
    return sorted(p.stem for p in PLACES[0].glob("*.toml"))


def find(name: str) -> Path:
    """The file of a machine, by its name or its path.  MachineError if there is none."""
    if name.endswith(".toml"):
        path = Path(name)
        if path.is_file():
            return path
        raise MachineError(f"{name} is not a file; there are the machines {', '.join(names())}")
    for place in PLACES:
        if (place / f"{name}.toml").is_file():
            return place / f"{name}.toml"
    raise MachineError(f"no machine '{name}'; there are: {', '.join(names())}")


def _boards(raw: dict, path: Path, limit: int | None, memory: str | None) -> list[Board]:
    """The boards of the first `limit` slots.  A MaxCPU board (domain "expander") belongs to the slot of its CPU board."""
    boards, slots, domains = [], 0, 0
    for group in raw["board"]:
        where, size = group.get("domain", "own"), parse_size_mib(group["memory"])
        for i in range(group.get("count", 1)):
            if where == "expander":
                slot = domain = i
            else:
                slot, domain = slots, domains if where == "own" else where
                slots, domains = slots + 1, max(domains, domain + 1)
            if limit is None or slot < limit:
                mib = parse_size_mib(memory) if memory and size else size
                boards.append(Board(group["cpus"], mib, domain))
    if limit is not None and not 1 <= limit <= slots:
        raise MachineError(f"BOARDS={limit}: {path.stem} takes 1 to {slots}")
    return boards


def load(name: str, boards: int | None = None, memory: str | None = None, cards: int | None = None) -> Machine:
    """Read and check a machine.  MachineError says in one line what is wrong.

    `boards`: only the first boards.  `memory`: of each board that has memory, in place of the file's.  `cards`: number of
    network cards, in place of the file's.
    """
    path = find(name)
    raw = _read(path)
    machine = Machine(path.stem, raw["title"], _boards(raw, path, boards, memory))
    changes = (("BOARDS", boards), ("MEM", memory), ("NET", cards))
    machine.changes = tuple(f"{k}={v}" for k, v in changes if v is not None)
    n = machine.domains
    machine.cores = raw.get("cores", 2)
    machine.threads = raw.get("threads", 1)
    machine.srat = raw.get("srat", True)
    if "slit" in raw:
        machine.slit = [row[:n] for row in raw["slit"][:n]]
    elif "remote_distance" in raw:
        far = raw["remote_distance"]
        machine.slit = [[10 if i == j else far for j in range(n)] for i in range(n)]
    if "proximity_domains" in raw:
        machine.proximity_domains = raw["proximity_domains"][:n]
    machine.fireplane = raw.get("fireplane")
    machine.cards = raw.get("cards", 0) if cards is None else cards
    machine.releases = raw.get("releases", {})
    _check(machine)
    return machine


def _check(m: Machine) -> None:
    """Raise MachineError if QEMU or the kernel cannot run the machine."""
    if not 1 <= m.cpus <= CPU_LIMIT:
        raise MachineError(f"{m.name}: {m.cpus} CPUs; there may be 1 to {CPU_LIMIT}")
    if m.domains > DOMAIN_LIMIT:
        raise MachineError(f"{m.name}: {m.domains} domains; there may be {DOMAIN_LIMIT}")
    if m.memory_mib < 64:
        raise MachineError(f"{m.name}: {m.memory_mib} MiB of memory in all; 64 MiB is the least (MEM=)")
    if m.domain_memory_mib(0) < 32:
        raise MachineError(f"{m.name}: the first board needs 32 MiB or more (MEM=)")
    if wrong := [b.cpus for b in m.boards if b.cpus % m.socket_cpus]:
        raise MachineError(
            f"{m.name}: a board of {wrong[0]} CPUs cannot have sockets of {m.socket_cpus}: change cpus, cores or threads"
        )
    if m.apic_id(m.cpus - 1) > APIC_LIMIT:
        raise MachineError(
            f"{m.name}: the last CPU's APIC id would be {m.apic_id(m.cpus - 1)}, {APIC_LIMIT} is the greatest: "
            f"fewer boards (BOARDS=), or cores = a power of two"
        )
    if not 0 <= m.cards <= CARD_LIMIT:
        raise MachineError(f"{m.name}: {m.cards} network cards; there may be 0 to {CARD_LIMIT} (NET=)")
    if m.slit is not None:
        square = len(m.slit) == m.domains and all(len(row) == m.domains for row in m.slit)
        if not square or any(row[i] != 10 for i, row in enumerate(m.slit)):
            raise MachineError(f"{m.name}: slit must be {m.domains} x {m.domains} distances, 10 from a domain to itself")
    if m.proximity_domains is not None and len(set(m.proximity_domains)) != m.domains:
        raise MachineError(f"{m.name}: proximity_domains must be {m.domains} different numbers")
    if m.proximity_domains is not None and not m.srat:
        raise MachineError(f"{m.name}: proximity_domains needs an SRAT: leave srat = false out")


def check_writable(what: str, path: Path) -> None:
    """Raise MachineError unless `path` can be written as a file.  No file is left there.  `what` is the option's name."""
    if path.is_dir():
        raise MachineError(f"{what}={path}: it is a directory; name a file")
    if path.exists() and not path.is_file():
        raise MachineError(f"{what}={path}: it is a device, pipe or socket; name a file")
    if path.is_symlink() and not path.exists():
        raise MachineError(f"{what}={path}: it is a link to nothing; name a file")
    new = not path.exists()
    try:
        with open(path, "ab"):
            pass
        if new:
            path.unlink()
    except OSError as error:
        raise MachineError(f"{what}={path}: it cannot be written: {error.strerror}; name another file") from error


def one_cpu(m: Machine) -> Machine:
    """The machine with only CPU 0 and the memory of its first board, for counting instructions."""
    first = m.boards[0]
    boards = [Board(1, first.memory_mib, 0)]
    return Machine(m.name, m.title, boards, cores=1, srat=m.srat, fireplane=m.fireplane, cards=m.cards, changes=m.changes)


def check_host_memory(m: Machine) -> None:
    """Raise MachineError if the host has not enough free memory for the machine."""
    try:
        info = Path("/proc/meminfo").read_text()
    except OSError:
        return
    match = re.search(r"MemAvailable:\s+(\d+) kB", info)
    if match and int(match[1]) // 1024 < m.memory_mib + 256:
        raise MachineError(
            f"{m.name} needs {m.memory_mib + 256} MiB, this host has {int(match[1]) // 1024} MiB free: "
            f"try MEM= (per board) or BOARDS="
        )
