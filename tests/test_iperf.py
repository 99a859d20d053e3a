# SPDX-License-Identifier: MIT
"""test_iperf.py - Debian's iperf3 and iperf, unmodified: in the guest as client or server, or both over its loopback.

iperf3 does not transfer all data, also on Linux.  Its client ends a test once it has sent enough; the server does not read
data that are still on their way.  With -R the client ends the test once it has received enough, and the server may have sent
more.  So bounds are tested, and that both ends report the same.  iperf reads to the end of each connection, so all data that
were sent must be received.
"""

import contextlib
import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from harness import HOST_LIMIT, Booted
from homeroom import dynamic
from homeroom.net import free_port

BLOCK = 128 << 10  # size of iperf3's writes; since 3.16 a stream sends one more at its end, which is not counted
BYTES = 16 * BLOCK
# Twice the datagrams of a test fit into each queue on their way (128 buffers of the card, sockets of 208 KiB): none is lost.
DATAGRAM, DATAGRAMS = 1000, 64
UDP = f"-u -b 20M -l {DATAGRAM} -n {DATAGRAM * DATAGRAMS}"
PORT = 5201
LIMIT = 120  # seconds
WAYS = ("client", "server", "both")  # the role of the guest

pytestmark = pytest.mark.xdist_group("iperf")


@pytest.fixture(scope="module")
def booted(speed, tmp_path_factory):
    tree = tmp_path_factory.mktemp("iperf")
    for name in ("iperf", "iperf3"):
        dynamic.put(shutil.which(name), tree, f"usr/bin/{name}")
        for library in dynamic.libraries(shutil.which(name)):
            dynamic.put(library, tree, library)
    port = free_port("tcp")  # the same number for TCP and UDP
    one = Booted("sf3800", speed, cards=1, forward=(f"{port}:{PORT}", f"{port}:{PORT}/udp"), overlay=tree)
    yield one, port
    one.close()


@pytest.fixture
def machine(booted, guests):
    guests.append(booted[0].guest)
    return booted[0]


@pytest.fixture
def run(machine, booted):
    """run(way, program, server's options, client's options, kind): the output of the client and of the server."""

    def guest_server(text, kind):
        wait = f"until netstat -ln | grep -q '^{kind} .*:{PORT} ' || [ -e /tmp/ended ]; do sleep 0.02; done"
        machine.check(f"rm -f /tmp/ended; ({text} -p {PORT} >/tmp/out 2>&1; mv /tmp/out /tmp/ended) >/dev/null 2>&1 & {wait}")

    def guest_result():
        return machine.check("until [ -e /tmp/ended ]; do sleep 0.02; done; cat /tmp/ended", timeout=LIMIT)

    def once(way, program, serve, ask, kind="tcp"):
        serve = f"{program} -s {serve}"
        if way == "client":
            with host_server(serve, kind) as (port, result):
                return machine.run(f"{program} -c 10.0.2.2 -p {port} {ask}", timeout=LIMIT).out, result()
        guest_server(serve, kind)
        if way == "both":
            return machine.run(f"{program} -c 127.0.0.1 -p {PORT} {ask}", timeout=LIMIT).out, guest_result()
        command = [program, "-c", "127.0.0.1", "-p", str(booted[1]), *ask.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HOST_LIMIT, stdin=subprocess.DEVNULL)
        return done.stdout + done.stderr, guest_result()

    return once


@contextlib.contextmanager
def host_server(command, kind):
    """A server on the host's loopback: its port, and a function that waits for its end and returns its output."""
    while True:
        port = free_port(kind)
        words = [*command.split(), "-B", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while process.poll() is None and not bound(kind, port):
            time.sleep(0.01)
        if process.poll() is None:
            break
        text = process.stdout.read()
        assert "in use" in text, text  # another program has taken the port: try the next
    try:
        yield port, lambda: process.communicate(timeout=HOST_LIMIT)[0]
    finally:
        process.kill()
        process.wait()


def bound(kind, port):
    """Whether a port of the host's loopback has a listener, or an unconnected socket for datagrams."""
    rows = [line.split() for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
    return any(row[1] == f"0100007F:{port:04X}" and row[2] == "00000000:0000" for row in rows)


# ---- iperf3 -----------------------------------------------------------------------------------------------------------------


def parse(text):
    """The end of a report, which must contain no error, and whether each stream has a thread (iperf3 3.16)."""
    found = json.loads(text[max(text.find("{"), 0) :])  # a message about IPv6 may come first
    assert "error" not in found, text
    version = [int(part) for part in re.findall(r"\d+", found["start"]["version"])]
    return found["end"] | {"threads": version >= [3, 16]}


def streams(end, what, which="bytes"):
    """A value of each stream's sender or receiver, sorted."""
    return sorted((s["udp"] if "udp" in s else s[what])[which] for s in end["streams"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options, count", [("", 1), ("-P 4 -Z", 4), ("-N -l 1000 -w 32K -M 1000", 1)])
def test_streams(run, way, options, count):
    """From client to server.  Both ends report the same counts."""
    client, server = map(parse, run(way, "iperf3", "-1 -J", f"-J -n {BYTES} {options}"))
    assert len(client["streams"]) == len(server["streams"]) == count
    assert streams(client, "receiver") == streams(server, "receiver")
    assert server["sum_received"]["bytes"] == client["sum_received"]["bytes"] == sum(streams(server, "receiver"))
    assert client["sum_sent"]["bytes"] == sum(streams(client, "sender")) >= BYTES
    assert client["sum_received"]["bytes"] <= client["sum_sent"]["bytes"] + count * BLOCK


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options, count", [("", 1), ("-P 4 -Z", 4)])
def test_streams_back(run, way, options, count):
    """From server to client, which receives as much as it requested.  Both ends report the same counts of sent data.

    Since 3.16 each stream has a thread.  It may count a block after the server has sent its result and before it prints it.
    """
    client, server = map(parse, run(way, "iperf3", "-1 -J", f"-J -R -n {BYTES} {options}"))
    assert len(client["streams"]) == len(server["streams"]) == count
    late = BLOCK if server["threads"] else 0
    told = zip(streams(client, "sender"), streams(server, "sender"), strict=True)
    assert all(abs(there - here) <= late for there, here in told)
    assert abs(server["sum_sent"]["bytes"] - client["sum_sent"]["bytes"]) <= count * late
    assert server["sum_sent"]["bytes"] == sum(streams(server, "sender"))
    assert BYTES <= client["sum_received"]["bytes"] == sum(streams(client, "receiver"))
    assert client["sum_received"]["bytes"] <= server["sum_sent"]["bytes"] + len(server["streams"]) * BLOCK


@pytest.mark.parametrize("way", WAYS)
def test_streams_both_ways(run, way):
    client, server = map(parse, run(way, "iperf3", "-1 -J", f"-J --bidir -P 2 -n {BYTES}"))
    assert len(client["streams"]) == len(server["streams"]) == 4
    for suffix in ("", "_bidir_reverse"):
        assert client[f"sum_received{suffix}"]["bytes"] <= client[f"sum_sent{suffix}"]["bytes"] + 2 * BLOCK
    assert max(client["sum_sent"]["bytes"], client["sum_received_bidir_reverse"]["bytes"]) >= BYTES
    assert server["sum_received"]["bytes"] == client["sum_received"]["bytes"]
    assert server["sum_sent_bidir_reverse"]["bytes"] == client["sum_sent_bidir_reverse"]["bytes"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("back", ["", "-R"])
def test_datagrams(run, way, back):
    """Four streams, none of which is reordered.  No datagram is lost, and with -R all requested ones arrive.

    Exception: a sender with threads continues until it learns of the end; if it sends more than the queues hold, some are lost.
    """
    client, server = map(parse, run(way, "iperf3", "-1 -J", f"-J -P 4 {UDP} {back}"))
    sender, receiver = (server, client) if back else (client, server)
    assert len(sender["streams"]) == len(receiver["streams"]) == 4
    sent, got = sender["sum_sent"], receiver["sum_received"]
    lost = got["lost_packets"]
    assert lost == 0 or (sender["threads"] and sent["packets"] > 2 * DATAGRAMS)
    assert streams(receiver, "receiver", "out_of_order") == [0] * 4
    assert got["packets"] <= sent["packets"] >= DATAGRAMS and (not back or got["packets"] - lost >= DATAGRAMS)
    assert 0 <= sent["packets"] * DATAGRAM - sent["bytes"] <= 4 * DATAGRAM
    assert got["bytes"] == (got["packets"] - lost) * DATAGRAM


# ---- iperf ------------------------------------------------------------------------------------------------------------------


def rows(text):
    """The bytes of each stream in iperf's output, sorted; iperf 2.2 adds a headline, and the sum as number -1."""
    found = [line.split(",") for line in text.splitlines() if line.count(",") >= 8]
    return sorted(int(row[7]) for row in found if row[0].isdigit() and row[5] != "-1")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options, count, lines", [("-P 4", 4, 4), ("-P 4 -R", 4, 4), ("--full-duplex", 1, 2)])
def test_iperf(run, way, options, count, lines):
    """All data that were sent are received, in each direction."""
    client, server = run(way, "iperf", f"-y C -P {count}", f"-y C -n {BYTES} {options}")
    assert rows(client) == rows(server) and len(rows(client)) == lines, (client, server)
    assert all(BYTES <= n <= BYTES + BLOCK for n in rows(client)), (client, server)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("back", ["", "-R"])
def test_iperf_datagrams(run, way, back):
    client, server = run(way, "iperf", "-y C -u -P 1", f"-y C {UDP} {back}", "udp")
    assert len(rows(client)) == 1 and rows(client) == rows(server), (client, server)
    assert re.search(rf",0,{rows(client)[0] // DATAGRAM},-?0\.000,0$", client if back else server, re.M), (client, server)


@pytest.mark.parametrize("host", ["10.0.2.2", "127.0.0.1"])
def test_refused(machine, host):
    """No program listens on the port: the next call of the client returns an error."""
    said = machine.run(f"iperf -u -c {host} -p {free_port('udp')} -n {4 * DATAGRAM} -l {DATAGRAM}", timeout=LIMIT).out
    assert re.search(r"[Rr]ead (UDP fin )?failed: Connection refused", said), said
