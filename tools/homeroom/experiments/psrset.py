# SPDX-License-Identifier: MIT
"""psrset.py - the paper's experiment with a processor set: a network benchmark outside and inside a set without interrupts.

THEORY      A processor set is a group of CPUs that only chosen processes use.  Its CPUs can also be fenced: device
            interrupts then go to other CPUs.  The paper measures the network benchmark iperf beside such a set.
            Debian's iperf sends in both directions at the same time (--dualtest) between the guest and a server on the
            host's loopback, through QEMU's user network; the server connects back through a forwarded port.
            The steps of the paper: all CPUs; CPUs 0 to 15 in a fenced set, and iperf outside it; iperf inside; the set
            removed.  Each step gives the throughput, the output of mpstat, and the number of interrupts on each CPU by
            source (/proc/interrupts; the kstats intr:N:cpu count pokes, interrupts from one CPU to another, by reason).
            The paper ends with a question: why do CPUs of the set take interrupts when iperf runs there?  The counts by
            source answer it.  A further step shows the consequence: with halt_fenced_cpus=0, idle CPUs of the set do not
            halt but look for work, so other CPUs need not poke them, and there are no interrupts with iperf inside.
            The last steps are the first three again, with an iperf on each of the machine's four cards and a process that
            makes system calls all the time, as in the first two listings of the paper.  The interrupts of the cards are
            then spread over the CPUs that take interrupts (as Solaris's intrd does), and threads are forced off CPUs.
            In these steps each CPU has a host thread.  With one thread for all, QEMU would run the busy CPU for 100 ms at a
            time; iperf stops reading two seconds after its end, and would not receive all bytes.
            iperf also gives up if its server does not connect back within a few seconds.  Then the step is repeated, with
            a message, up to three times in all.
            The server's TCP window is that of the paper; it limits the bytes that are still under way at the end.
            Throughput is per second of the guest's clock under QEMU: compare only steps of the same run.  Rates are counts
            per second.
USAGE       make experiment-psrset [WINDOW=10]
SEE ALSO    docs/experiments.md, kernel/intr/intr.c, tools/homeroom/experiments/psrset_report.py
"""

import re
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from homeroom.experiments import psrset_report, storage
from homeroom.machine import TOP, MachineError

MACHINE, SEED, SET = "t2000", 11, range(16)
CARDS = 4
WINDOW = "48K"  # the paper's TCP window
LEAD = 2  # seconds of iperf before counting begins
PATIENCE = 30  # seconds to wait for the server's report
TRIES = 3  # attempts for a step whose iperf gave up waiting
GAVE_UP = "expected reverse connect did not occur"  # iperf's message
EFFECTIVE = "for f in /proc/irq/*/effective_affinity_list; do echo $f $(cat $f); done"


@dataclass
class Flow:
    """One direction of a run: bytes sent and received, and bits per second as measured in the guest."""

    sent: int
    received: int
    rate: float


@dataclass
class Step:
    title: str
    prefix: str = ""  # before the command
    before: tuple[str, ...] = ()  # commands that are executed first
    cards: int = 1  # number of network cards, with an iperf on each
    busy: bool = False  # with a process that makes system calls all the time
    out: Flow | None = None  # guest to host
    back: Flow | None = None  # host to guest
    mpstat: dict[int, dict[str, int]] = field(default_factory=dict)  # by CPU and column
    sources: dict[str, dict[int, float]] = field(default_factory=dict)  # interrupts per second, by source and CPU
    pokes: dict[str, dict[int, float]] = field(default_factory=dict)  # pokes to a CPU per second, by reason and CPU
    senders: dict[int, float] = field(default_factory=dict)  # pokes per second that a CPU sent
    devices: set[str] = field(default_factory=set)  # the names in `sources` that are devices
    targets: dict[str, str] = field(default_factory=dict)  # device -> the CPU that takes its interrupt


def steps() -> list[Step]:
    make = (f"psrset -c {' '.join(map(str, SET))}", "psrset -f 1")
    many = {"cards": CARDS, "busy": True}
    return [
        Step("all CPUs"),
        Step("outside the fenced set", before=make),
        Step("inside the fenced set", prefix="psrset -e 1 "),
        Step("inside, fenced CPUs do not halt", prefix="psrset -e 1 ", before=("echo halt_fenced_cpus/W 0 | mdb -kw",)),
        Step("set removed", before=("echo halt_fenced_cpus/W 1 | mdb -kw", "psrset -n 1", "psrset -d 1")),
        Step("four cards: all CPUs", **many),
        Step("four cards: outside", before=make, **many),
        Step("four cards: inside", prefix="psrset -e 1 ", **many),
    ]


# ---- reading ----------------------------------------------------------------------------------------------------------------


def parse_mpstat(text: str) -> dict[int, dict[str, int]]:
    """mpstat's last report: for each CPU, its columns."""
    head, rows = [], {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["CPU"]:
            head, rows = words[1:], {}
        elif head and len(words) == len(head) + 1 and all(w.isdigit() for w in words):
            rows[int(words[0])] = dict(zip(head, map(int, words[1:]), strict=True))
    return rows


def parse_interrupts(text: str) -> dict[str, dict[int, int]]:
    """The counts of /proc/interrupts by source and CPU.  A source is "number name" for a device, otherwise the label."""
    head, *lines = text.splitlines()
    cpus = [int(word.removeprefix("CPU")) for word in head.split()]
    out = {}
    for line in lines:
        label, rest = line.split(":", 1)
        words = rest.split()
        name = f"{label.strip()} {words[-1]}" if label.strip().isdigit() else label.strip()
        out[name] = dict(zip(cpus, map(int, words[: len(cpus)]), strict=True))
    return out


def parse_pokes(text: str) -> dict[str, dict[int, int]]:
    """The pokes sent to each CPU, by reason, from the kstats intr:N:cpu."""
    out: dict[str, dict[int, int]] = {}
    for cpu, reason, count in re.findall(r"^intr:(\d+):cpu:poke (\w+)\t(\d+)$", text, re.M):
        out.setdefault(reason, {})[int(cpu)] = int(count)
    return out


def parse_senders(text: str) -> dict[int, int]:
    """The pokes that each CPU has sent, from the kstats cpu:N:sys."""
    return {int(cpu): int(count) for cpu, count in re.findall(r"^cpu:(\d+):sys:pokes\t(\d+)$", text, re.M)}


def rates(before: dict, after: dict, seconds: float) -> dict[str, dict[int, float]]:
    """The increase of each count per second."""
    return {
        name: {cpu: (count - before.get(name, {}).get(cpu, 0)) / seconds for cpu, count in row.items()}
        for name, row in after.items()
    }


def parse_csv(text: str) -> dict[int, tuple[int, float]]:
    """iperf's CSV lines, each for one direction: (bytes, bits per second) by the port of the receiver."""
    rows = [line.split(",") for line in text.splitlines() if line.count(",") == 8]
    return {int(r[4]): (int(r[7]), float(r[8])) for r in rows}


def flows(guest: str, server: str, port: int, back: int) -> tuple[Flow, Flow]:
    """Both directions, from the output of iperf in the guest and of the server.  MachineError if a line is missing."""
    here, there = parse_csv(guest), parse_csv(server)
    if not {port, back} <= here.keys() & there.keys():
        raise MachineError(f"iperf has not reported all four ends; in the guest:\n{guest}\nserver:\n{server}")
    return Flow(here[port][0], there[port][0], here[port][1]), Flow(there[back][0], here[back][0], here[back][1])


# ---- running ----------------------------------------------------------------------------------------------------------------


def free_port() -> int:
    """A TCP port of the host's loopback that is free at this moment."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """An iperf server on the host's loopback."""

    def __init__(self, folder: Path, card: int) -> None:
        self.port, self.file = free_port(), folder / f"server{card}.csv"
        command = ["stdbuf", "-oL", "iperf", "--server", "--bind", "127.0.0.1", "--port", str(self.port)]
        command += ["--window", WINDOW, "-y", "C"]
        with open(self.file, "w") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)

    def report(self) -> str:
        """Its output, after both connections have ended, or PATIENCE seconds later."""
        end = time.monotonic() + PATIENCE
        while len(parse_csv(self.file.read_text())) < 2 and time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.1)
        return self.file.read_text()

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def together(parts: list[Flow]) -> Flow:
    """The sum of several flows."""
    return Flow(sum(f.sent for f in parts), sum(f.received for f in parts), sum(f.rate for f in parts))


def measure(guest: storage.Machine, step: Step, folder: Path, backs: list[int], seconds: int) -> None:
    """Run iperf on each card and set the step's results.  `backs`: the forwarded port of each card.

    MachineError if iperf fails or does not report both directions.
    """
    servers = [Server(folder, card) for card in range(step.cards)]
    try:
        snap = "cat /proc/uptime /proc/interrupts > /tmp/{0}; grep -E '^intr:|:sys:pokes' /dev/kstat > /tmp/{0}.kstat"
        busy = "dd if=/dev/zero of=/dev/null bs=1 2> /dev/null & busy=$!; " if step.busy else ""
        calm = "kill $busy; " if step.busy else ""
        runs = [
            f"{step.prefix}iperf --client 10.0.{2 + card}.2 --port {server.port} --listenport {back} "
            f"--time {seconds + 2 * LEAD} --dualtest -y C > /tmp/iperf{card} 2>&1 & p{card}=$!; "
            for card, (server, back) in enumerate(zip(servers, backs, strict=False))
        ]
        ends = [f"wait $p{card} || {{ cat /tmp/iperf{card}; status=1; }}; " for card in range(step.cards)]
        guest.check(
            f"status=0; {busy}{''.join(runs)}sleep {LEAD}; {snap.format('a')}; "
            f"mpstat {seconds} 2 > /tmp/mpstat; {snap.format('b')}; {''.join(ends)}{calm}exit $status",
            timeout=60 + 20 * seconds * step.cards,
        )
        pairs = [
            flows(guest.check(f"cat /tmp/iperf{card}"), server.report(), server.port, back)
            for card, (server, back) in enumerate(zip(servers, backs, strict=False))
        ]
        step.out, step.back = (together(list(way)) for way in zip(*pairs, strict=True))
    finally:
        for server in servers:
            server.close()
    step.mpstat = parse_mpstat(guest.check("cat /tmp/mpstat"))
    times, counts, pokes, senders = [], [], [], []
    for name in "ab":
        first, _, rest = guest.check(f"cat /tmp/{name}").partition("\n")
        times.append(float(first.split()[0]))
        counts.append(parse_interrupts(rest))
        kstats = guest.check(f"cat /tmp/{name}.kstat")
        pokes.append(parse_pokes(kstats))
        senders.append({"": parse_senders(kstats)})
    step.sources = rates(*counts, times[1] - times[0])
    step.pokes = rates(*pokes, times[1] - times[0])
    step.senders = rates(*senders, times[1] - times[0])[""]
    step.devices = {name for name in step.sources if name[0].isdigit()}
    arrive = dict(re.findall(r"^/proc/irq/(\d+)/\S+ (\S+)$", guest.check(EFFECTIVE), re.M))
    step.targets = {name: arrive[name.split()[0]] for name in step.devices if name.split()[0] in arrive}


def attempt(guest: storage.Machine, step: Step, folder: Path, backs: list[int], seconds: int) -> None:
    """Execute the commands before a step, and measure it; again, up to TRIES times, if iperf gave up waiting."""
    for command in step.before:
        guest.check(command)
    for again in range(TRIES - 1, -1, -1):
        try:
            measure(guest, step, folder, backs, seconds)
            return
        except MachineError as error:
            if GAVE_UP not in str(error) or not again:
                raise
            print(f"psrset: {step.title}: iperf gave up waiting for its server; again", file=sys.stderr, flush=True)


def execute(seconds: int) -> list[Step]:
    """Measure all steps, in two boots: one host thread for all CPUs, then one for each."""
    todo, backs = steps(), [free_port() for _ in range(CARDS)]
    forward = [f"{port}:{port}@{card}" for card, port in enumerate(backs)]
    options = {"seed": SEED, "overlay": TOP / "build/dynamic", "forward": forward}
    for busy, threads in ((False, "single"), (True, "multi")):
        with (
            tempfile.TemporaryDirectory(prefix="homeroom.") as name,
            storage.Machine(MACHINE, threads=threads, **options) as guest,
        ):
            for step in (one for one in todo if one.busy == busy):
                attempt(guest, step, Path(name), backs, seconds)
                said = f"{step.out.rate / 1e6:.1f} and {step.back.rate / 1e6:.1f} Mbit/s"
                print(f"psrset: {step.title}: {said}", file=sys.stderr, flush=True)
    return todo


def main() -> int:
    seconds = storage.arguments("psrset", window=10).window  # counted in each step
    try:
        done = execute(seconds)
    except MachineError as error:
        print(f"psrset: {error}", file=sys.stderr)
        return 2
    return psrset_report.report(done, MACHINE, SEED, SET, seconds)


if __name__ == "__main__":
    sys.exit(main())
