# SPDX-License-Identifier: MIT
"""ACPI tables made by hand, for opt/homeroom/acpi: SRAT, SLIT, HMAT, and records that remove a table.

Each function returns a whole table as bytes; join several with +.  Checksums are right unless a test
spoils them itself.
"""

import struct

MIB = 1 << 20


def table(signature, body, revision=1):
    head = struct.pack("<4sIBB6s8sI4sI", signature, 36 + len(body), revision, 0, b"HMROOM", b"TESTTABL", 1,
                       b"HMRM", 1)
    whole = bytearray(head + body)
    whole[9] = -sum(whole) & 0xff
    return bytes(whole)


def remove(signature):
    """The record that takes the firmware's table away."""
    return signature + struct.pack("<I", 8)


def srat_cpu(apic_id, pxm, enabled=True):
    high = pxm >> 8
    return struct.pack("<BBBBIBBBBI", 0, 16, pxm & 0xff, apic_id, enabled, 0, high & 0xff, high >> 8 & 0xff,
                       high >> 16 & 0xff, 0)


def srat_x2apic(apic_id, pxm, enabled=True):
    return struct.pack("<BBHIIIII", 2, 24, 0, pxm, apic_id, enabled, 0, 0)


def srat_mem(base, length, pxm, flags=1):
    return struct.pack("<BBIHQQIIQ", 1, 40, pxm, 0, base, length, 0, flags, 0)


def srat(*entries):
    return table(b"SRAT", struct.pack("<IQ", 1, 0) + b"".join(entries))


def board_entries(boards, cpus, mem_bytes, pxm=lambda board: board):
    """The entries of a machine of equal boards, with its memory from address 0 on."""
    entries = []
    for board in range(boards):
        entries += [srat_cpu(board * cpus + i, pxm(board)) for i in range(cpus)]
        entries.append(srat_mem(board * mem_bytes, mem_bytes, pxm(board)))
    return entries


def slit(matrix):
    """From a square list of lists."""
    return table(b"SLIT", struct.pack("<Q", len(matrix)) + b"".join(bytes(row) for row in matrix))


def flat_matrix(n, local=10, remote=20):
    return [[local if i == j else remote for j in range(n)] for i in range(n)]


def hmat(latency_ns):
    """One latency structure over domains 0 .. n-1; None entries are left out (0)."""
    n = len(latency_ns)
    domains = struct.pack(f"<{n}I", *range(n))
    values = b"".join(struct.pack("<H", v or 0) for row in latency_ns for v in row)
    body = struct.pack("<BBBBIIIQ", 0, 0, 0, 0, n, n, 0, 1000) + domains * 2 + values
    return table(b"HMAT", struct.pack("<I", 0) + struct.pack("<HHI", 1, 0, 8 + len(body)) + body, revision=2)
