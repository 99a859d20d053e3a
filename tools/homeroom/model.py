# SPDX-License-Identifier: MIT
"""model.py - the parameters and the shared page of the interconnect model, a plugin of QEMU.

The [fireplane] table of a machine names a family of qemu/fireplane.toml and may override values; MODEL_SET overrides
values for one run.  parameters() joins them into the plugin's parameter file: a line "key = value" for each parameter,
in a fixed order.  qemu/fireplane/params.c reads the file and makes the same checks again.

SEE ALSO    docs/fireplane.md, qemu/fireplane/plugin.c, guest.py
"""

import contextlib
import fcntl
import functools
import itertools
import os
import re
import shutil
import tomllib
from pathlib import Path

from homeroom.machine import TOP, Machine, MachineError, ask_program

PLUGIN = TOP / "build/fireplane.so"
PAGES = TOP / "build/fireplane"
PAGE_BYTES = 1 << 20  # FP_SHARED_BYTES
HEAT_MOST = 1_000_000  # page heat counts at least one of so many misses; the same in qemu/fireplane/plugin.c
FAMILIES = TOP / "qemu/fireplane.toml"

# The limits, the same as in qemu/fireplane/params.c: the least and the greatest number, or the two words.
CLOCKS, LATENCY, RATE = (1, 1000), (1000, 100_000_000), (100, 10_000_000)
LIMITS = {
    "clock_ps": (10, 1_000_000),
    "fp_latency": CLOCKS,
    "fp_move_latency": CLOCKS,
    "fp_div_latency": CLOCKS,
    "fp_sqrt_latency": CLOCKS,
    "fp_divs_latency": CLOCKS,
    "fp_sqrts_latency": CLOCKS,
    "ecache_kib": (1, 1 << 20),
    "ecache_ways": (1, 16),
    "ecache_latency": (0, 1000),
    "misses_in_flight": (1, 64),
    "stores_in_flight": (1, 64),
    "store_queue": (1, 64),
    "writebacks_in_flight": (1, 64),
    "streams": (1, 16),
    "write_allocate": ("merge", "always"),
    "own_ps": LATENCY,
    "pair_ps": LATENCY,
    "board_ps": LATENCY,
    "expander_ps": LATENCY,
    "remote_ps": LATENCY,
    "remote_miss_ps": LATENCY,
    "cdc_hit_percent": (0, 100),
    "port_mbps": RATE,
    "memory_mbps": RATE,
    "bus_mbps": RATE,
    "request_mbps": RATE,
    "response_mbps": RATE,
    "crossbar_mbps": RATE,
    "crossbar_queue": (1, 64),
    "bus": ("machine", "board"),
    "centerplane": ("full", "double-pumped"),
    "skew_ps": (1000, 1_000_000_000),
    "order_ps": (1000, 1_000_000_000),
    "bucket_ps": (640_000, 1_000_000_000),
}


def _check(where: str, key: str, value: object) -> None:
    """Raise MachineError if there is no such parameter, or its value is outside its limits."""
    limits = LIMITS.get(key)
    if limits is None:
        raise MachineError(f"{where}: no parameter '{key}'; there are: {', '.join(LIMITS)}")
    if isinstance(limits[0], str):
        if value not in limits:
            raise MachineError(f'{where}: {key} = {value!r}: it is "{limits[0]}" or "{limits[1]}"')
    elif type(value) is not int or not limits[0] <= value <= limits[1]:
        raise MachineError(f"{where}: {key} = {value!r}: a number from {limits[0]} to {limits[1]}")


def _settings(text: str) -> dict:
    """A text such as "ecache_kib=256; write_allocate=always" as a dictionary.  MachineError if a part has no =."""
    out = {}
    for part in filter(None, (p.strip() for p in text.replace("\n", ";").split(";"))):
        key, equals, value = (p.strip() for p in part.partition("="))
        if not equals:
            raise MachineError(f"MODEL_SET: write '{part}' as name=value")
        if "=" in value:
            raise MachineError(f"MODEL_SET: '{part}': parameters are separated by ;")
        out[key] = int(value) if re.fullmatch("[0-9]{1,18}", value) else value.strip("\"'")
    return out


def _contradictions(name: str, p: dict) -> None:
    """Raise MachineError if parameters contradict each other."""
    lines, ways = p["ecache_kib"] * 16, p["ecache_ways"]
    sets = lines // ways
    if sets * ways != lines or sets & (sets - 1):
        raise MachineError(f"{name}: ecache_kib = {p['ecache_kib']}: the lines in a way must be a power of two")
    order = ["own_ps", "pair_ps", "board_ps", "expander_ps", "remote_ps", "remote_miss_ps"]
    for near, far in itertools.pairwise(order):
        if p[near] > p[far]:
            raise MachineError(f"{name}: {near} = {p[near]} is more than {far} = {p[far]}")
    if p["bus"] == "machine" and p["remote_ps"] != p["remote_miss_ps"]:
        raise MachineError(f'{name}: with bus = "machine" there is no directory: remote_miss_ps must be remote_ps')
    if p["order_ps"] > p["skew_ps"]:
        raise MachineError(f"{name}: order_ps = {p['order_ps']} is more than skew_ps = {p['skew_ps']}")
    for key in (k for k in p if k.endswith("_mbps")):
        size = p[key] * p["bucket_ps"] // 1_000_000
        if not 128 <= size < 1 << 24:
            raise MachineError(f"{name}: {key} and bucket_ps: {size} bytes in a bucket is out of range")


def _cpus(machine: Machine) -> str:
    """The plugin's description of boards, in the order of CPU numbers: DOMAIN:CPUS for each.

    "m" after it marks a MaxCPU board: a board without memory in a domain that has memory.
    """
    words = []
    for board in machine.boards:
        extra = board.memory_mib == 0 and machine.domain_memory_mib(board.domain) > 0
        words.append(f"{board.domain}:{board.cpus}{'m' if extra else ''}")
    return " ".join(words)


def parameters(machine: Machine, settings: str | None = None) -> str:
    """The text of the plugin's parameter file.  MachineError if a value is wrong."""
    if machine.fireplane is None:
        raise MachineError(f"{machine.name}: the machine file has no [fireplane] table, so MODEL= cannot be used")
    try:
        families = tomllib.loads(FAMILIES.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise MachineError(f"{FAMILIES.name}: {error}") from error
    own = dict(machine.fireplane)
    family = own.pop("family", None)
    if not isinstance(family, str) or family == "common" or family not in families:
        known = ", ".join(f for f in families if f != "common")
        raise MachineError(f"{machine.name}: [fireplane] family = {family!r}; there are: {known}")
    values = {}
    sources = {FAMILIES.name: families["common"] | families[family], f"{machine.name}.toml": own}
    sources["MODEL_SET"] = _settings(settings or "")
    for where, table in sources.items():
        for key, value in table.items():
            _check(where, key, value)
            values[key] = value
    if missing := [key for key in LIMITS if key not in values]:
        raise MachineError(f"{FAMILIES.name}: {missing[0]} is missing")
    _contradictions(machine.name, values)
    text = f"cpus = {_cpus(machine)}\nmemory_mib = {machine.memory_mib}\n"
    return text + "".join(f"{key} = {values[key]}\n" for key in LIMITS)


def link_mbps(text: str) -> float:
    """The rate of a board's port on the data crossbar, MB/s, of the parameter file `text`; as in qemu/fireplane/crossbar.c."""
    values = dict(line.split(" = ", 1) for line in text.splitlines())
    return int(values["crossbar_mbps"]) / (2 if values["centerplane"] == "double-pumped" else 1)


@functools.cache
def _takes_plugins(qemu: str) -> bool:
    """Whether this QEMU was built with support for plugins."""
    return "-plugin" in ask_program(qemu, "-help")


def check(name: str) -> None:
    """Raise MachineError unless `name` is the name of the model."""
    if name != "fireplane":
        raise MachineError(f"MODEL={name}: the only model is fireplane")


def check_built(qemu: str) -> None:
    """Raise MachineError if the plugin is not built, or this QEMU takes no plugins."""
    if not PLUGIN.is_file():
        raise MachineError(f"{PLUGIN.relative_to(TOP)} is missing: make fireplane")
    if shutil.which(qemu) and not _takes_plugins(qemu):
        raise MachineError(f"this {qemu} was built without plugins, which MODEL=fireplane needs")


def new_page(machine: Machine, wanted: Path | None, locks: list[int]) -> Path:
    """Make an empty shared page: the file `wanted`, or a new one in build/fireplane.

    Adds the file descriptor that holds its lock to `locks`.  MachineError if another run has the file, or it cannot be
    written.
    """
    try:
        if wanted is None:
            PAGES.mkdir(parents=True, exist_ok=True)
            stem, n = f"{machine.name}.{os.getpid()}", 1
            wanted = PAGES / f"{stem}.page"
            while wanted.exists():
                n += 1
                wanted = PAGES / f"{stem}.{n}.page"
        locks.append(os.open(wanted, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666))
        fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(locks[-1], 0)
        os.truncate(locks[-1], PAGE_BYTES)
    except BlockingIOError:
        raise MachineError(f"MODEL_PAGE={wanted}: another run uses it; name another file") from None
    except OSError as error:
        raise MachineError(f"MODEL_PAGE: {error.filename}: {error.strerror}") from error
    return wanted


def keep_last(page: Path, machine: Machine) -> None:
    """Rename the page of a run that has ended to MACHINE.last, for `make watch`; it replaces the page of an earlier run."""
    with contextlib.suppress(OSError):
        page.replace(page.with_name(f"{machine.name}.last"))


def qemu_args(config: Path, page: Path, heat: int, seed: int) -> list[str]:
    """QEMU's arguments for the model: the plugin, and a PCI device through which the guest reaches the page.

    `heat`: count one of so many misses by page; 0: none.  `seed` determines which.
    """

    def quoted(path):
        return str(path).replace(",", ",,")

    backend = f"memory-backend-file,id=fireplane,share=on,mem-path={quoted(page)},size={PAGE_BYTES}"
    more = f",heat={heat},heat_seed={seed:#x}" if heat else ""
    args = ["-plugin", f"{quoted(PLUGIN)},config={quoted(config)},page={quoted(page)}{more}"]
    return [*args, "-object", backend, "-device", "ivshmem-plain,memdev=fireplane"]
