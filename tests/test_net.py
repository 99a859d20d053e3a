# SPDX-License-Identifier: MIT
"""test_net.py - the network on a machine: cards, the host behind them, DHCP, leaks, too little memory.

user/test/t_net.c and t_epoll.c test the results of socket calls; tests/host/test_net.c tests malformed frames.
"""

import hashlib
import http.server
import random
import re
import shutil
import socket
import socketserver
import subprocess
import threading

import pytest

from harness import HOST_LIMIT, make_guest
from homeroom import machine as machines
from homeroom import net
from homeroom.machine import TOP, MachineError

SIZE = 1 << 20
# Closed connections are forgotten after one second, so that tests need not wait a minute.
WIRED = pytest.mark.machine("sf3800", cards=2, forward=("5001", "5002/udp@1"), system="set net_tcp_time_wait_ms=1000")


@pytest.fixture(scope="module")
def web():
    """A web server on the host's loopback: its port, and the contents of its page."""
    data = random.Random(5).randbytes(SIZE)

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Page) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], data
        server.shutdown()


def md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


def fetch(machine, card: int, port: int) -> str:
    return machine.check(f"wget -q http://10.0.{2 + card}.2:{port}/ -O - | md5sum", timeout=120).split()[0]


@WIRED
def test_interfaces(machine):
    text = machine.check("ifconfig -a")
    for card in range(2):
        assert re.search(rf"eth{card} .*HWaddr 52:54:00:12:34:5{6 + card}\s+inet addr:10.0.{2 + card}.15 ", text), text
    assert "inet addr:127.0.0.1" in text
    routes = [line.split() for line in machine.check("route -n").splitlines()[2:]]
    assert [(r[0], r[1], r[7]) for r in routes] == [
        ("0.0.0.0", "10.0.2.2", "eth0"),
        ("10.0.2.0", "0.0.0.0", "eth0"),
        ("10.0.3.0", "0.0.0.0", "eth1"),
    ]


@WIRED
@pytest.mark.parametrize("card", [0, 1])
def test_the_host_is_reached(machine, web, card):
    before = machine.kstats("link:")
    port, data = web
    assert fetch(machine, card, port) == md5(data)
    after = machine.kstats("link:")
    mine, other = f"link:{card + 1}:eth{card}:rx_bytes", f"link:{2 - card}:eth{1 - card}:rx_bytes"
    assert after[mine] - before[mine] > SIZE
    assert after[other] - before[other] < SIZE / 100  # the end of an earlier connection, and what a router announces
    assert after[f"link:{card}:vnet{card}:interrupts"] > before[f"link:{card}:vnet{card}:interrupts"]
    assert f"10.0.{2 + card}.2" in machine.check("arp -an")


@WIRED
def test_each_card_interrupts_a_cpu_of_its_own(machine):
    machine.check("ping -c 1 10.0.2.2; ping -c 1 10.0.3.2")
    lines = [line.split() for line in machine.check("cat /proc/interrupts").splitlines() if "vnet" in line]
    where = {words[-1]: [i for i, n in enumerate(words[1:9]) if int(n)] for words in lines}
    assert set(where) == {"vnet0", "vnet1"}
    assert where["vnet0"] and where["vnet1"] and not set(where["vnet0"]) & set(where["vnet1"]), where


@WIRED
def test_ping(machine):
    assert "3 packets transmitted, 3 packets received" in machine.check("ping -c 3 -i 0.2 10.0.2.2")
    assert "2 packets transmitted, 2 packets received" in machine.check("ping -c 2 -i 0.2 -s 4000 127.0.0.1")


@WIRED
def test_the_guest_is_reached(machine):
    """A forwarded port: the guest returns the data that it gets, from a stream and in a datagram."""
    tcp, udp = machine.guest.forwards
    machine.check("nc -l -p 5001 -e cat >/dev/null 2>&1 & while ! netstat -tln 2>/dev/null | grep -q :5001; do :; done")
    data = random.Random(6).randbytes(200000)
    with socket.create_connection(("127.0.0.1", tcp.host), timeout=HOST_LIMIT) as s:
        threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
        back = bytearray()
        while piece := s.recv(65536):
            back += piece
    assert md5(back) == md5(data)
    # QEMU knows the guest's address after a packet of the guest; before, it drops a datagram if the guest answers ARP late.
    machine.check("ping -c 1 10.0.3.2")
    machine.check("/usr/test/netstorm -u 5002 >/tmp/echo & while ! grep -q ready /tmp/echo; do :; done")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(HOST_LIMIT)
        s.sendto(b"hello", ("127.0.0.1", udp.host))
        assert s.recv(100) == b"hello"


@WIRED
def test_dhcp(machine):
    machine.check("ifconfig eth1 0.0.0.0 up; route del default")
    assert "10.0.3.15" not in machine.check("ifconfig eth1")
    assert "lease of 10.0.3.15 obtained" in machine.check("udhcpc -i eth1 -n -q -t 5 2>&1")
    assert "inet addr:10.0.3.15  Bcast:10.0.3.255  Mask:255.255.255.0" in machine.check("ifconfig eth1")
    assert re.search(r"^0\.0\.0\.0 +10\.0\.3\.2 .* eth1$", machine.check("route -n"), re.M)
    machine.check("route del default; route add default gw 10.0.2.2")


def wait_quiet(machine) -> dict[str, int]:
    """The network's counts, when no connection is left, not even in TIME_WAIT."""
    machine.check("while grep -q ': ' /proc/net/tcp; do sleep 0.2; done", timeout=60)
    return {k: v for k, v in machine.kstats("net:0:").items() if k.split(":")[2] in ("pools", "sockets", "memory")}


def resources(machine) -> dict[str, int]:
    found = wait_quiet(machine)
    found["threads"] = len(machine.check("ls -d /proc/[0-9]*/task/[0-9]*").split())
    found["free"] = int(re.search(r"MemFree: +(\d+)", machine.check("cat /proc/meminfo"))[1])
    return found


@pytest.mark.long
def test_connections_leave_nothing(boot, tmp_path):
    """30,000 connections are opened and closed in three ways.  The normal kernel: the test kernel would need twice the time."""
    folder = tmp_path / "usr/test"
    folder.mkdir(parents=True)
    shutil.copy(TOP / "build/user/test/netstorm", folder)
    machine = boot("sf280r", kernel="normal", overlay=tmp_path, system="set net_tcp_time_wait_ms=1000")
    machine.check("/usr/test/netstorm 2000", timeout=120)  # fill caches that stay
    before = resources(machine)
    assert machine.check("/usr/test/netstorm 30000", timeout=300) == "30000 connections\n"
    after = resources(machine)
    free, had = after.pop("free"), before.pop("free")
    assert after.pop("net:0:memory:failed") >= before.pop("net:0:memory:failed")
    assert after == before
    assert free > had - 2048, f"{had - free} KiB less"  # of other CPUs; a frame for each connection: 120 MB
    assert all(after[f"net:0:sockets:{kind}"] == 0 for kind in ("tcp", "udp", "raw", "packet"))


@WIRED
def test_a_killed_process_frees_its_sockets(machine):
    before = resources(machine)
    before.pop("free")
    machine.check("/usr/test/netstorm -h >/tmp/held & while ! grep -q holding /tmp/held; do :; done")
    during = machine.kstats("net:0:sockets:")
    assert during["net:0:sockets:tcp"] == 9 and during["net:0:sockets:udp"] == during["net:0:sockets:raw"] == 1, during
    machine.check("killall -9 netstorm; while pidof netstorm; do :; done")
    after = resources(machine)
    after.pop("free")
    assert after == before


FAILED = "awk '$1 == \"net:0:memory:failed\" { print $2 }' /dev/kstat"


def fetch_starved(machine, url: str, then: str = ":") -> str:
    """The md5sum of a page that is read only after the network has run out of memory; `then` is executed before that."""
    machine.check(
        f"rm -f /tmp/pipe /tmp/ended; mkfifo /tmp/pipe; n=$({FAILED}); "
        f"(wget -q {url} -O /tmp/pipe; echo $? >/tmp/ended) >/dev/null 2>&1 & "
        f"until [ $({FAILED}) -gt $n ] || [ -e /tmp/ended ]; do sleep 0.05; done",
        timeout=120,
    )
    end = "until [ -s /tmp/ended ]; do sleep 0.05; done; exit $(cat /tmp/ended)"
    return machine.check(f"{then}; md5sum </tmp/pipe; {end}", timeout=120).split()[-2]


@WIRED
def test_memory_runs_out(machine, web):
    """With little memory, packets are dropped and counted; all data arrive in spite of that.

    The host sends lost packets again, slowly if many are lost.  So the test gives the memory back when some were lost.
    """
    port, data = web
    old = machine.check("echo net_mem_max_kib/D | mdb -k").split()[-1]
    much, little = (f"echo net_mem_max_kib/W {kib:#x} | mdb -kw" for kib in (int(old), 48))
    failed = machine.kstats("net:0:memory:")["net:0:memory:failed"]
    try:
        machine.check(little)
        assert fetch_starved(machine, f"http://10.0.2.2:{port}/", much) == md5(data)
        assert (once := machine.kstats("net:0:memory:")["net:0:memory:failed"]) > failed
        machine.check(f"{little}; head -c 500000 /dev/urandom >/tmp/a; httpd -p 127.0.0.1:5003 -h /tmp")
        assert fetch_starved(machine, "http://127.0.0.1:5003/a") == machine.check("md5sum </tmp/a").split()[0]
        assert machine.kstats("net:0:memory:")["net:0:memory:failed"] > once
    finally:
        machine.check(much)
        machine.run("killall httpd")


@pytest.mark.machine("sf3800")
def test_without_cards(machine):
    assert re.findall(r"^\w+", machine.check("ifconfig -a"), re.M) == ["lo"]
    assert machine.run("ping -c 1 -W 1 10.0.2.2").status != 0


def test_the_launcher(speed):
    one = make_guest("t2000", speed)
    args = one.command()
    assert sum(a.startswith("virtio-net-pci,") for a in args) == 4
    assert one.run_files()["net"].decode().splitlines()[3] == "10.0.5.15/24 10.0.5.2"
    assert "virtio-net-pci" not in " ".join(make_guest("sf3800", speed).command())
    two = make_guest("sf3800", speed, cards=1, forward=["80", "53/udp"])
    ports = [f.host for f in two.forwards]
    assert len(set(ports)) == 2 and all(f"127.0.0.1:{p}-:" in " ".join(two.command()) for p in ports)
    assert "NET=1" in two.repeat() and "FORWARD='80 53/udp'" in two.repeat()
    for text in ("x", "0", "70000", "80/tls", "80@1"):
        with pytest.raises(MachineError, match="FORWARD"):
            net.parse([text], 1)
    with pytest.raises(MachineError, match="NET="):
        machines.load("sf3800", cards=9)


def test_on_the_host():
    """Malformed frames and calls in any order, with the sanitizers, for three more seeds than in tests/test_host.py."""
    subprocess.run(["make", "-s", "build/host/test_net"], cwd=TOP, check=True, stdin=subprocess.DEVNULL)
    for seed in ("11", "12", "13"):
        done = subprocess.run(["build/host/test_net", "-s", seed], cwd=TOP, capture_output=True, text=True, timeout=HOST_LIMIT)
        assert done.returncode == 0, f"build/host/test_net -s {seed}\n{done.stdout}{done.stderr}"
