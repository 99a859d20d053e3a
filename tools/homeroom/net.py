# SPDX-License-Identifier: MIT
"""net.py - the network cards of a run, and the networks behind them.

THEORY      Each card is in a user network of its own, which QEMU simulates.  Card i has the address 10.0.(2+i).15; the
            host is 10.0.(2+i).2, and a program that listens on the host's loopback can be reached there.
            The host reaches the guest only through forwarded ports: PORT, PORT/udp, PORT@CARD.  A forwarded port of the
            guest appears on the host's loopback, at a free port, or for HOST:PORT at the port HOST.
SEE ALSO    docs/network.md, kernel/net/iface.c (configure), QEMU's manual, "Using the user mode network stack"
"""

import errno
import os
import random
import re
import socket
from contextlib import suppress
from dataclasses import dataclass

from homeroom.machine import MachineError

FIRST_NET = 2
PORTS = range(10000, 20000)  # below /proc/sys/net/ipv4/ip_local_port_range


@dataclass(frozen=True)
class Forward:
    """A port of the guest that is forwarded to the host."""

    kind: str  # tcp, udp
    guest: int
    card: int
    host: int  # the port on the host's loopback

    def note(self) -> str:
        return f"port {self.guest}/{self.kind} of the guest is 127.0.0.1:{self.host}"


def free_port(kind: str) -> int:
    """A port ("tcp" or "udp") of the host's loopback that is free at this moment.  MachineError if all of PORTS are in use.

    Linux gives one of PORTS only to a program that names it, so the port is most likely still free when it is used.
    """
    for port in random.sample(PORTS, len(PORTS)):
        with suppress(MachineError):
            check_port("PORTS", kind, port)
            return port
    raise MachineError(f"all ports from {PORTS[0]} to {PORTS[-1]} of this host are in use")


def check_port(what: str, kind: str, port: int, taken: list[int] | None = None) -> None:
    """Raise MachineError unless a port of the host's loopback is free.  `taken`: ports that this run already uses."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as probe:
        if kind == "tcp":  # as QEMU does: a connection that has just ended does not block the port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            if port in (taken or []):
                raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise MachineError(f"{what}: port {port}/{kind} of this host: {error.strerror}; name another one") from error


def parse(texts: list[str], cards: int) -> list[Forward]:
    """The forwarded ports.  MachineError if one is written wrong, its card does not exist, or its host port is not free."""
    out = []
    for text in texts:
        match = re.fullmatch(r"(?:(\d+):)?(\d+)(?:/(tcp|udp))?(?:@(\d+))?", text, re.ASCII)
        if match is None or not all(1 <= int(port) <= 65535 for port in (match[1] or 1, match[2])):
            raise MachineError(f"FORWARD: '{text}': write PORT, HOST:PORT, PORT/udp or PORT@CARD")
        kind, card = match[3] or "tcp", int(match[4] or 0)
        if card >= cards:
            raise MachineError(f"FORWARD: '{text}': the machine has {cards} cards: add NET={card + 1}")
        if match[1]:
            check_port(f"FORWARD: '{text}'", kind, int(match[1]), [f.host for f in out if f.kind == kind])
        out.append(Forward(kind, int(match[2]), card, int(match[1] or free_port(kind))))
    return out


def address(card: int, host: int) -> str:
    """An address in the network of a card."""
    return f"10.0.{FIRST_NET + card}.{host}"


def config(cards: int) -> bytes:
    """The kernel's network settings (a fw_cfg file): for each card a line with its address and its gateway."""
    return "".join(f"{address(card, 15)}/24 {address(card, 2)}\n" for card in range(cards)).encode()


def qemu_args(cards: int, forwards: list[Forward]) -> list[str]:
    """QEMU's arguments for the cards, their networks and the forwarded ports."""
    args = []
    for card in range(cards):
        back = f"user,id=net{card},net={address(card, 0)}/24,host={address(card, 2)},dhcpstart={address(card, 15)}"
        for f in forwards:
            if f.card == card:
                back += f",hostfwd={f.kind}:127.0.0.1:{f.host}-:{f.guest}"
        # No ROM (romfile=): the firmware would need time to run it.
        mac = f"52:54:00:12:34:{0x56 + card:02x}"
        args += ["-netdev", back, "-device", f"virtio-net-pci,netdev=net{card},mac={mac},romfile=,disable-legacy=on"]
    return args
