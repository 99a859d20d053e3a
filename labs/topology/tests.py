# SPDX-License-Identifier: MIT
"""tests.py - what nodes, distances and levels a firmware's tables must give: the cases of the lab "topology".

THEORY      Each test of lab.toml is a function here.  It draws a machine from `t.random`.  The student's code gets its
            tables through `t.child`, and shows the topology that it made of them.
            Memory is drawn in units.  What must lie where is found by painting: each unit by itself has one owner.  So no
            piece is cut here, as it is in the kernel.
            The tests of distances and of levels ask for these parts alone: they need no nodes of the student.
"""

from dataclasses import dataclass, field

from homeroom import acpi

LOCAL, REMOTE = 10, 20  # synthetic distances
DESCENDING, FIRST_CPU = 1, 2  # values of bare_order, a parameter of lab.toml
ABOVE, NODE_0 = 1, 2  # values of unnamed
DOWN, BOTH_WAYS = 1, 2  # values of circle
CPUS_MAX = 256
PIECES_MAX = 320
LEVELS_MAX = 8
WORDS = CPUS_MAX // 64  # of a set of CPUs
INTERLEAVED = "MPO disabled because memory is interleaved"
UNNAMED = "SRAT rejected: it names no installed memory"
PIECES = "SRAT rejected: too many memory ranges"
ASYMMETRIC = "SLIT rejected: not symmetric"
DIAGONAL = "SLIT rejected: local distances differ"
NEARER = "SLIT rejected: remote is not farther than local"
LEFT_OUT = "SLIT rejected: it leaves out a domain of the SRAT"
ZEROS = "SLIT rejected: it is all zeros"
SYNTHETIC = "synthetic latencies: local 10, remote 20"


def drawn(t, least, most):
    return t.random.randrange(least, most + 1)


def shuffled(t, items):
    return t.random.sample(items, len(items))


def flat(rows):
    return [value for row in rows for value in row]


def rows_of(values, n):
    """A list of numbers as rows of n."""
    return [values[i : i + n] for i in range(0, len(values), n)]


def notes(t):
    """The lines for the console."""
    return bytes(t.child.ask("notes")).decode(errors="replace").split("\0")[:-1]


# ---- nodes: from the SRAT ----------------------------------------------------------------------


@dataclass
class Firmware:
    """A machine and its tables.  Memory ranges are (first unit, number of units)."""

    unit: int  # bytes
    term: dict  # the rules
    cpus: list = field(default_factory=list)  # (APIC id, domain), by CPU id
    absent: list = field(default_factory=list)  # CPUs of the SRAT that do not exist
    installed: list = field(default_factory=list)
    entries: list = field(default_factory=list)  # memory ranges of the SRAT: (first unit, units, domain)
    slit: list = field(default_factory=list)  # rows

    def build(self, t):
        srat_cpus = shuffled(t, self.cpus + self.absent)
        installed, entries = shuffled(t, self.installed), shuffled(t, self.entries)
        numbers = [len(self.cpus), len(installed), len(srat_cpus), len(entries), *(apic for apic, _ in self.cpus)]
        numbers += [x * self.unit for x in flat(installed)] + flat(srat_cpus)
        numbers += flat((base * self.unit, units * self.unit, domain) for base, units, domain in entries)
        t.child.ask("build", *numbers, len(self.slit), 0, *flat(self.slit))

    def claimed(self):
        """By installed unit, in ascending order: the domains that claim it."""
        units = sorted(u for base, n in self.installed for u in range(base, base + n))
        return {u: {d for base, n, d in self.entries if base <= u < base + n} for u in units}

    def owners(self):
        """By installed unit, in ascending order: the domain that owns it, as the term says if no entry claims it."""
        claimed, first = self.claimed(), self.memory_domains()[0]
        owners, neighbour = {}, first
        for unit, domains in reversed(claimed.items()) if self.term["unnamed"] == ABOVE else claimed.items():
            if domains and self.term["unnamed"] != NODE_0:
                neighbour = min(domains)
            owners[unit] = min(domains, default=neighbour)
        return {unit: owners[unit] for unit in claimed}

    def memory_domains(self):
        """The domains with memory, by ascending lowest address."""
        return list(dict.fromkeys(domain for domains in self.claimed().values() for domain in domains))

    def domains(self):
        """The domain of each node; a machine with one node has domain 0."""
        with_memory = self.memory_domains()
        bare = [domain for domain in dict.fromkeys(domain for _, domain in self.cpus) if domain not in with_memory]
        if self.term["bare_order"] != FIRST_CPU:
            bare.sort(reverse=self.term["bare_order"] == DESCENDING)
        all_domains = with_memory + bare
        return all_domains if len(all_domains) > 1 else [0]

    def fault(self):
        """Why the SRAT must be rejected, or None."""
        claimed = self.claimed().values()
        if any(len(domains) > 1 for domains in claimed):
            return INTERLEAVED
        return None if any(claimed) else UNNAMED

    def cpu_nodes(self):
        domains = self.domains()
        return [domains.index(domain) if len(domains) > 1 else 0 for _, domain in self.cpus]

    def memory_nodes(self):
        domains = self.domains()
        return {unit: domains.index(owner) if len(domains) > 1 else 0 for unit, owner in self.owners().items()}

    def text(self, nodes):
        """Memory as text, from {unit: node}.  Neighbours of the same node are one range."""
        ranges = []
        for unit, node in nodes.items():
            if ranges and ranges[-1][1] == unit and ranges[-1][2] == node:
                ranges[-1][1] += 1
            else:
                ranges.append([unit, unit + 1, node])
        return [f"{base * self.unit:#x}-{end * self.unit - 1:#x}: node {node}" for base, end, node in ranges]

    def found_memory(self, t):
        """The student's ranges as text, joined as in text()."""
        ranges = []
        for base, length, node in rows_of(t.child.ask("memory"), 3):
            if ranges and (ranges[-1][1], ranges[-1][2]) == (base, node):
                ranges[-1][1] += length
            else:
                ranges.append([base, base + length, node])
        return [f"{base:#x}-{end - 1:#x}: node {node}" for base, end, node in ranges]

    def expect_nodes(self, t, when):
        """The tables are accepted, and the nodes, the memory and the CPUs are as drawn."""
        self.build(t)
        t.expect(f"lines on the console {when}", [], [line for line in notes(t) if line != SYNTHETIC])
        _, with_memory, *domains = t.child.ask("nodes")
        t.expect(f"domains of the nodes 0, 1 .. {when}", self.domains(), domains)
        t.expect(f"nodes with memory {when}", len(self.memory_domains()), with_memory)
        t.expect(f"memory {when}", self.text(self.memory_nodes()), self.found_memory(t))
        t.expect(f"nodes of the CPUs 0, 1 .. {when}", self.cpu_nodes(), t.child.ask("cpus"))

    def expect_one_node(self, t, line, when):
        """The SRAT is rejected with this line: one node has everything."""
        self.build(t)
        t.expect(f"lines on the console {when}", [line], notes(t))
        t.expect(f"nodes {when}: how many, with memory, domains", [1, 1, 0], t.child.ask("nodes"))
        everything = dict.fromkeys(self.claimed(), 0)
        t.expect(f"memory {when}", self.text(everything), self.found_memory(t))
        t.expect(f"nodes of the CPUs {when}", [0] * len(self.cpus), t.child.ask("cpus"))


def _firmware(t):
    """An empty machine.  Its unit of memory is so large that addresses need more than 32 bits."""
    return Firmware(4096 * drawn(t, 1 << 14, 1 << 18), t.term)


def _add_cpus(t, firmware, domains, least=1, most=4):
    """CPUs of each domain, whose ids are mixed."""
    of_cpus = shuffled(t, [domain for domain in domains for _ in range(drawn(t, least, most))])
    used = {apic for apic, _ in firmware.cpus}
    apic_ids = [apic for apic in t.random.sample(range(1 << 16), CPUS_MAX) if apic not in used]
    firmware.cpus += list(zip(apic_ids, of_cpus, strict=False))


def _mix_domains(t, firmware, domains):
    """Shuffle the CPUs, so that the first CPUs of these domains do not come in ascending order of domains."""
    while True:
        firmware.cpus = shuffled(t, firmware.cpus)
        first = [domain for domain in dict.fromkeys(domain for _, domain in firmware.cpus) if domain in domains]
        if len(first) < 2 or first != sorted(first):
            return


def _sparse(t, n):
    """Different domain numbers, in no order; some have 32 bits."""
    small = t.random.sample(range(1000), n)
    return [d if t.random.random() < 0.6 else d + drawn(t, 1, (1 << 32) // 1000 - 1) * 1000 for d in small]


def _boards(t, domains):
    """Boards of equal memory, one above the other, without holes."""
    firmware, units = _firmware(t), drawn(t, 1, 8)
    firmware.installed = [(0, len(domains) * units)]
    firmware.entries = [(i * units, units, domain) for i, domain in enumerate(domains)]
    _add_cpus(t, firmware, domains)
    return firmware


def _alternating(t, domains):
    """Pieces of random size, each of a random domain, and memory that is installed in some places only."""
    firmware, at = _firmware(t), drawn(t, 1, 9)
    for domain in shuffled(t, domains * 3):
        units = drawn(t, 2, 7)
        firmware.entries.append((at, units, domain))
        at += units
    end, base = at, firmware.entries[0][0] + 1
    while base < end:
        units = min(drawn(t, 3, 20), end - base)
        firmware.installed.append((base, units))
        base += units + drawn(t, 1, 2)
    _add_cpus(t, firmware, domains)
    return firmware


def boards_become_nodes(t):
    for n in (2, drawn(t, 3, 17), 18):
        _boards(t, list(range(n))).expect_nodes(t, f"of {n} boards")


def nodes_are_numbered_by_address(t):
    for _ in range(3):
        domains = _sparse(t, drawn(t, 4, 18))
        if domains == sorted(domains):
            domains.reverse()
        _boards(t, domains).expect_nodes(t, f"if the boards, by address, are the domains {domains}")


def memory_is_cut_along_the_srat(t):
    for _ in range(6):
        _alternating(t, _sparse(t, drawn(t, 2, 5))).expect_nodes(t, "if boards alternate and memory has holes")


def memory_without_an_entry_joins_the_piece_below(t):
    firmware, domains, at = _firmware(t), _sparse(t, drawn(t, 3, 6)), 0
    for domain in domains:
        units = drawn(t, 1, 5)
        firmware.entries.append((at, units, domain))
        at += units + drawn(t, 1, 4)
    firmware.installed = [(0, at - 1), (at + 2, drawn(t, 1, 5))]  # one gap is above a hole
    _add_cpus(t, firmware, domains)
    firmware.expect_nodes(t, "if the SRAT leaves out some memory")


def memory_below_the_first_entry_joins_node_0(t):
    firmware, domains, below = _firmware(t), _sparse(t, drawn(t, 2, 5)), drawn(t, 2, 5)
    firmware.entries = [(below + 3 * i, 3, domain) for i, domain in enumerate(domains)]
    firmware.installed = [(0, 1), (1, below + 3 * len(domains) - 1)]
    _add_cpus(t, firmware, domains)
    firmware.expect_nodes(t, "if the lowest memory is not in the SRAT")


def domains_without_memory_come_last(t):
    for _ in range(3):
        domains, bare = _sparse(t, drawn(t, 2, 8)), []
        while len(bare) < 5:
            bare += [d for d in _sparse(t, 5) if d not in domains + bare]
        bare = sorted(bare[:5])
        firmware = _boards(t, domains)
        _add_cpus(t, firmware, bare)
        _mix_domains(t, firmware, bare)
        firmware.expect_nodes(t, f"if the domains with memory are {domains}, and {bare} have only CPUs")


def memory_without_cpus_is_a_node(t):
    domains = _sparse(t, drawn(t, 4, 8))
    firmware = _alternating(t, domains)
    bare = t.random.sample(domains, 2)
    firmware.cpus = [(apic, domain) for apic, domain in firmware.cpus if domain not in bare]
    firmware.expect_nodes(t, f"if the domains {bare} have no CPUs")


def parts_that_do_not_exist_are_ignored(t):
    n = drawn(t, 2, 6)
    domains = _sparse(t, n + 3)
    firmware = _boards(t, domains[:n])
    end = firmware.installed[0][1]
    absent = range(1 << 16, (1 << 16) + 3)  # no CPU has such an APIC id
    only_memory, only_cpus, both = domains[n:]
    firmware.absent = [(absent[0], only_cpus), (absent[1], both), (absent[2], domains[0])]
    firmware.entries += [(end + 10, 5, only_memory), (end + 20, 5, both), (end + 30, 5, domains[1])]
    firmware.expect_nodes(t, f"if nothing of the domains {domains[n:]} exists")
    _add_cpus(t, firmware, [only_memory])
    firmware.expect_nodes(t, f"if domain {only_memory} has CPUs, and its memory is not installed")


def two_domains_that_claim_an_address_disable_mpo(t):
    firmware = _alternating(t, _sparse(t, drawn(t, 2, 5)))
    owners = firmware.owners()
    starts = {base for base, _, _ in firmware.entries}
    claimed = t.random.choice([unit for unit in owners if unit - 1 in owners and unit not in starts])  # inside a piece
    owner = owners[claimed]
    good = list(firmware.entries)
    firmware.entries = [*good, (claimed, 1, owner)]
    firmware.expect_nodes(t, "if one domain claims some memory twice")
    other = t.random.choice([domain for _, _, domain in good if domain != owner])
    firmware.entries = [*good, (claimed, 1, other)]
    firmware.expect_one_node(t, INTERLEAVED, f"if two domains claim address {claimed * firmware.unit:#x}")


def an_overlap_outside_the_memory_is_harmless(t):
    firmware = _alternating(t, _sparse(t, drawn(t, 2, 5)))
    claimed = firmware.claimed()
    holes = [unit for base, n, _ in firmware.entries for unit in range(base, base + n) if unit not in claimed]
    domains = [domain for _, _, domain in firmware.entries]
    firmware.entries += [(unit, 1, domain) for unit in holes for domain in set(domains)]
    firmware.expect_nodes(t, "if two domains claim addresses at which no memory is installed")


def srat_without_installed_memory_is_rejected(t):
    domains = _sparse(t, drawn(t, 2, 6))
    firmware = _boards(t, domains)
    end = firmware.installed[0][1]
    firmware.entries = [(base + end, units, domain) for base, units, domain in firmware.entries]
    firmware.expect_one_node(t, UNNAMED, "if the SRAT names no installed memory")


def too_many_pieces_are_rejected(t):
    cuts = drawn(t, 5, 20)
    firmware = _firmware(t)
    firmware.installed = [(3 * i, 2) for i in range(PIECES_MAX - cuts)]
    where = sorted(t.random.sample(range(1, len(firmware.installed)), cuts + 1))
    ends = [0, *(3 * i + 1 for i in where), 3 * len(firmware.installed)]
    firmware.entries = [(ends[i], ends[i + 1] - ends[i], i % 2) for i in range(len(ends) - 1)]
    _add_cpus(t, firmware, [0, 1])
    firmware.expect_one_node(t, PIECES, f"with {PIECES_MAX + 1} pieces")
    *firmware.entries, last = firmware.entries
    base, units, domain = firmware.entries[-1]
    firmware.entries[-1] = (base, units + last[1], domain)
    firmware.expect_nodes(t, f"with {PIECES_MAX} pieces")


# ---- distances: from SLIT and HMAT -------------------------------------------------------------


def _synthetic(n):
    return [[LOCAL if i == j else REMOTE for j in range(n)] for i in range(n)]


def _sound(t, n, local=None):
    """A matrix without a flaw, with different remote distances.  One of them is the greatest that there can be."""
    local = drawn(t, 5, 60) if local is None else local
    rows = [[local] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            rows[i][j] = rows[j][i] = drawn(t, local + 1, 254)
    i, j = _pair(t, n)
    rows[i][j] = rows[j][i] = 254
    return rows


def _copied(t, rows):
    """The distances of a SLIT as they are used."""
    return [[min(distance, t.term["far_most"]) for distance in row] for row in rows]


def _ask_distances(t, domains, slit, hmat=()):
    """What the student's code makes of a SLIT, and of an HMAT {domain: {domain: ps}}: uniform, matrix, lines."""
    pxms = list(hmat)
    latencies = [hmat[i][j] for i in pxms for j in pxms]
    t.child.ask("distances", len(domains), *domains, len(slit), len(pxms), *flat(slit), *pxms, *latencies)
    uniform, *values = t.child.ask("latencies")
    return bool(uniform), rows_of(values, len(domains)), notes(t)


def _expect_accepted(t, domains, slit, expected, when, equal=False):
    """The SLIT is used without a line on the console; the distances of the nodes are `expected`."""
    uniform, found, lines = _ask_distances(t, domains, slit)
    t.expect(f"lines on the console {when}", [], lines)
    t.expect(f"distances of the nodes {when}", expected, found)
    t.expect(f"whether all memory is equally far {when}", equal, uniform)


def _expect_rejected(t, domains, slit, line, when):
    """The SLIT is rejected with this line; the distances are synthetic."""
    uniform, found, lines = _ask_distances(t, domains, slit)
    more = [SYNTHETIC] if len(domains) >= 4 else []
    t.expect(f"lines on the console {when}", [line, *more], lines)
    t.expect(f"distances of the nodes {when}", _synthetic(len(domains)), found)
    t.expect(f"whether all memory is equally far {when}", False, uniform)


def _pair(t, n):
    """Two different nodes, in no order."""
    return t.random.sample(range(n), 2)


def slit_is_read_by_domain(t):
    for n in (2, drawn(t, 3, 17), 18):
        size = n + drawn(t, 3, 20)
        domains = t.random.sample(range(size), n)
        if domains == sorted(domains):
            domains.reverse()
        slit = [[drawn(t, 0, 255) for _ in range(size)] for _ in range(size)]  # of domains without a node: anything
        expected = _sound(t, n)
        for i in range(n):
            for j in range(n):
                slit[domains[i]][domains[j]] = expected[i][j]
        _expect_accepted(t, domains, slit, _copied(t, expected), f"if the nodes are the domains {domains} of {size}")


def slit_with_one_asymmetry_is_rejected(t):
    for n in (2, drawn(t, 4, 18)):
        slit = _sound(t, n)
        i, j = _pair(t, n)
        slit[j][i] = drawn(t, 100, min(200, t.term["far_most"] - 1))
        slit[i][j] = slit[j][i] + t.random.choice([-1, 1])
        _expect_rejected(t, range(n), slit, ASYMMETRIC, f"if {i} to {j} is {slit[i][j]}, and {j} to {i} is {slit[j][i]}")
        slit[i][j], slit[j][i] = t.term["far_most"], 255
        _expect_accepted(
            t, range(n), slit, _copied(t, slit), f"if {i} to {j} is {slit[i][j]}, and {j} to {i} is {slit[j][i]}"
        )


def slit_with_different_local_distances_is_rejected(t):
    for n in (2, drawn(t, 4, 18)):
        slit = _sound(t, n, local=drawn(t, 10, 30))
        for i in range(n):
            for j in range(n):
                slit[i][j] += 10 * (i != j and slit[i][j] < 200)
        i = drawn(t, 0, n - 1)
        slit[i][i] += t.random.choice([-1, 1])
        _expect_rejected(t, range(n), slit, DIAGONAL, f"if the local distance of node {i} is {slit[i][i]}, of others not")


def remote_memory_must_be_farther_than_local(t):
    for n in (3, drawn(t, 4, 18)):
        for less in (0, 1):
            slit = _sound(t, n)
            i, j = _pair(t, n)
            slit[i][j] = slit[j][i] = slit[i][i] - less
            _expect_rejected(t, range(n), slit, NEARER, f"if local is {slit[i][i]}, and {i} to {j} is {slit[i][j]}")


def first_flaw_is_named(t):
    n = drawn(t, 5, 18)
    slit = _sound(t, n)
    i, j, k, m = t.random.sample(range(n), 4)
    slit[i][j] = slit[j][i] = slit[0][0] - 1
    slit[k][k] += 1
    slit[k][m] = slit[m][k] = 100
    _expect_rejected(t, range(n), slit, DIAGONAL, "if local distances differ, and remote memory is nearer")
    slit[k][m] -= 1
    _expect_rejected(t, range(n), slit, ASYMMETRIC, "if it is also not symmetric")


def slit_that_leaves_out_a_domain_is_rejected(t):
    n = drawn(t, 2, 18)
    slit, i = _sound(t, n), drawn(t, 0, n - 1)
    for domain in (n, drawn(t, n + 1, 1 << 31)):
        domains = list(range(n))
        domains[i] = domain
        _expect_rejected(t, domains, slit, LEFT_OUT, f"of {n} domains, if a node is domain {domain}")
    _expect_rejected(t, range(n), [[0] * n] * n, ZEROS, "if all is 0")


def equal_slit_means_that_locality_does_not_matter(t):
    n = drawn(t, 2, 18)
    for value in (drawn(t, 1, 100), 255):
        slit = [[value] * n] * n
        _expect_accepted(t, range(n), slit, _copied(t, slit), f"if all distances are {value}", equal=True)
    n, value = drawn(t, 4, 18), drawn(t, 1, 100)
    slit = [[value] * n for _ in range(n)]
    i, j = _pair(t, n)
    slit[i][j] = slit[j][i] = value + 1
    _expect_rejected(t, range(n), slit, NEARER, f"if all distances are {value}, but one pair has {value + 1}")


def zeros_take_the_opposite_direction(t):
    n = drawn(t, 4, 18)
    slit = _sound(t, n)
    expected = _copied(t, slit)
    for i in range(n):
        for j in range(i):
            if t.random.random() < 0.4 or (i, j) in ((1, 0), (n - 1, 1)):
                if t.random.random() < 0.5:
                    slit[i][j] = 0
                else:
                    slit[j][i] = 0
    _expect_accepted(t, range(n), slit, expected, "if some pairs are given in one direction only")


def zeros_of_a_pair_are_the_greatest_distance(t):
    n = drawn(t, 5, 18)
    (i, j), far = _pair(t, n), drawn(t, 245, 254)
    k = t.random.choice([x for x in range(n) if x not in (i, j)])
    slit = [[min(distance, far) for distance in row] for row in _sound(t, n)]
    slit[i][k] = slit[k][i] = slit[i][j] = slit[j][i] = far
    expected = _copied(t, slit)
    slit[i][j] = slit[j][i] = 0
    _expect_accepted(t, range(n), slit, expected, f"if {i} and {j} have no distance")


def zeros_of_local_distances_are_filled(t):
    n = drawn(t, 4, 18)
    slit = _sound(t, n)
    expected = _copied(t, slit)
    for i in t.random.sample(range(n), n - 1):
        slit[i][i] = 0
    _expect_accepted(t, range(n), slit, expected, "if one local distance is given")
    far = max(flat(expected))
    for i in range(n):
        slit[i][i], expected[i][i] = 0, far // 2
    _expect_accepted(t, range(n), slit, expected, f"if no local distance is given, and the greatest is {far}")
    for local in (drawn(t, 10, 100), drawn(t, 128, 254)):
        slit = [[local if i == j else 0 for j in range(n)] for i in range(n)]
        used = min(local, t.term["far_most"])
        expected = [[used if i == j else min(2 * used, 254) for j in range(n)] for i in range(n)]
        _expect_accepted(t, range(n), slit, expected, f"if only the local distance {local} is given")


def hmat_must_pass_the_same_checks(t):
    n = drawn(t, 4, 10)
    domains = t.random.sample(range(1000), n)
    ps = {i: {j: 100000 * (1 if i == j else 2) for j in domains} for i in domains}
    i, j = t.random.sample(domains, 2)
    ps[i][j] = ps[j][i] = 300000
    expected = [[ps[a][b] // 10000 for b in domains] for a in domains]
    t.expect("distances and lines with an HMAT", (False, expected, []), _ask_distances(t, domains, [], ps))
    flawed = _sound(t, n)
    flawed[0][1], flawed[1][0] = 99, 100
    t.expect(
        "distances and lines with an HMAT and a SLIT that is not symmetric",
        (False, expected, [ASYMMETRIC]),
        _ask_distances(t, range(n), flawed, {a: dict(enumerate(expected[a])) for a in range(n)}),
    )
    for what, a, b, value in (("not symmetric", i, j, 310000), ("of different locals", i, i, 110000)):
        kept, ps[a][b] = ps[a][b], value
        found = _ask_distances(t, domains, [], ps)
        t.expect(f"distances and lines with an HMAT that is {what}", (False, _synthetic(n), [SYNTHETIC]), found)
        ps[a][b] = kept


# ---- levels ------------------------------------------------------------------------------------


@dataclass
class Grouping:
    """What lgrp_topo_group() is given: distances between nodes, and the node of each CPU."""

    rows: list
    cpu_node: list

    def ask(self, t):
        n = len(self.rows)
        t.child.ask("group", n, n, len(self.cpu_node), *flat(self.rows), *self.cpu_node)

    def near(self, g, term):
        """All lgroups: first g, then by distance; equals in the order of the circle."""
        n = len(self.rows)
        up, down = [(g + i) % n for i in range(1, n)], [(g - i) % n for i in range(1, n)]
        circle = {DOWN: down, BOTH_WAYS: list(dict.fromkeys(flat(zip(up, down, strict=True))))}.get(term["circle"], up)
        return [g, *sorted(circle, key=lambda h: self.rows[g][h])]

    def levels(self, g, term):
        """The lgroups of each level."""
        levels = [[g]]
        for h in self.near(g, term)[1:]:
            first = levels[-1][0]
            if first == g or self.rows[g][h] > self.rows[g][first] + term["level_width"]:
                levels.append([])
            levels[-1].append(h)
        first, last = levels[: LEVELS_MAX - 1], levels[LEVELS_MAX - 1 :]
        return [*first, flat(last)] if last else first

    def expect_near(self, t, when):
        self.ask(t)
        _expect_near(t, self, when)

    def expect_ends(self, t, when):
        self.ask(t)
        _expect_ends(t, self, when)

    def expect_cpus(self, t, when):
        self.ask(t)
        _expect_cpus(t, self, when)


def _expect_near(t, grouping, when):
    n = len(grouping.rows)
    lgrps, *near = t.child.ask("near")
    t.expect(f"lgroups {when}", n, lgrps)
    for g, found in enumerate(rows_of(near, n)):
        t.expect(f"near[{g}] {when}; its distances are {grouping.rows[g]}", grouping.near(g, t.term), found)


def _levels(t, n):
    """By lgroup: the end and the CPUs of each level."""
    numbers, found = iter(t.child.ask("levels")), []
    for _ in range(n):
        levels = []
        for _ in range(next(numbers, 0)):
            end, words = next(numbers, 0), [next(numbers, 0) for _ in range(WORDS)]
            levels.append((end, [64 * w + bit for w in range(WORDS) for bit in range(64) if words[w] >> bit & 1]))
        found.append(levels)
    return found


def _expect_ends(t, grouping, when):
    for g, found in enumerate(_levels(t, len(grouping.rows))):
        sizes = [len(level) for level in grouping.levels(g, t.term)]
        expected = [sum(sizes[: k + 1]) for k in range(len(sizes))]
        t.expect(f"level_end[{g}] {when}; its distances are {grouping.rows[g]}", expected, [end for end, _ in found])


def _expect_cpus(t, grouping, when):
    for g, found in enumerate(_levels(t, len(grouping.rows))):
        expected = [[c for c, node in enumerate(grouping.cpu_node) if node in level] for level in grouping.levels(g, t.term)]
        cpus = [cpus for _, cpus in found]
        t.expect(f"CPUs of the levels of lgroup {g} {when}; its distances are {grouping.rows[g]}", expected, cpus)


def _random_cpus(t, n, most):
    return [drawn(t, 0, n - 1) for _ in range(most)]


def _few_distances(t, n, kinds):
    """Distances of which each occurs often."""
    values = t.random.sample(range(11, 255), kinds)
    rows = [[LOCAL] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            rows[i][j] = rows[j][i] = t.random.choice(values)
    return rows


def _close_distances(t, n, pairs):
    """Distances in pairs that may be in one level; the next pair is farther by 1."""
    width, first = t.term["level_width"], drawn(t, 11, 180)
    values = [first + k * (width + 1) + more for k in range(pairs) for more in {0, width}]
    rows = [[LOCAL] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            rows[i][j] = rows[j][i] = t.random.choice(values)
    rows[0][1] = rows[1][0] = first
    rows[0][2] = rows[2][0] = first + width
    return rows


def _all_different(t, n):
    """Distances of which no two in a row may be in one level."""
    values = t.random.sample(range(11, 255, t.term["level_width"] + 1), n | 1)
    rows = [[LOCAL] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if i != j:
                rows[i][j] = values[(i + j) % len(values)]
    return rows


def near_list_is_sorted_by_distance(t):
    for n in (2, drawn(t, 5, 17), 18):
        grouping = Grouping(_all_different(t, n), _random_cpus(t, n, 4 * n))
        grouping.expect_near(t, "if all distances differ")


def equally_far_lgroups_rotate(t):
    for n in (drawn(t, 4, 17), 18, 64):
        grouping = Grouping(_few_distances(t, n, 1), _random_cpus(t, n, n))
        grouping.expect_near(t, "if all others are equally far")


def rotation_holds_within_each_distance(t):
    for _ in range(4):
        n = drawn(t, 10, 24)
        grouping = Grouping(_few_distances(t, n, drawn(t, 2, 4)), _random_cpus(t, n, n))
        grouping.expect_near(t, "with few distances")


def levels_end_where_the_distance_changes(t):
    for n, kinds in ((18, 1), (drawn(t, 10, 24), 2), (drawn(t, 20, 40), 4)):
        for draw in (_few_distances, _close_distances):
            Grouping(draw(t, n, kinds), _random_cpus(t, n, n)).expect_ends(t, "with few remote distances")


def levels_have_the_cpus_of_their_lgroups(t):
    for n, cpus in ((drawn(t, 10, 18), 72), (64, CPUS_MAX), (drawn(t, 10, 18), 6)):
        grouping = Grouping(_close_distances(t, n, drawn(t, 2, 4)), _random_cpus(t, n, cpus))
        grouping.expect_cpus(t, f"with {cpus} CPUs")


def distances_beyond_the_eighth_join_the_last_level(t):
    for n in (LEVELS_MAX, LEVELS_MAX + 1, drawn(t, 12, 30)):
        for rows in (_all_different(t, n), _close_distances(t, n, 10)):
            grouping = Grouping(rows, _random_cpus(t, n, 2 * n))
            grouping.expect_ends(t, f"with {n} lgroups")
            grouping.expect_cpus(t, f"with {n} lgroups")


# ---- whole machines ----------------------------------------------------------------------------


def _expect_machine(t, firmware, rows, cpus, when):
    """Nodes as drawn, and lgroups with the distances `rows` of nodes, as the SLIT has them."""
    rows = _copied(t, rows)
    firmware.expect_nodes(t, when)
    _, *latencies = t.child.ask("latencies")
    t.expect(f"distances of the nodes {when}", rows, rows_of(latencies, len(rows)))
    grouping = Grouping(rows, cpus)
    _expect_near(t, grouping, when)
    _expect_ends(t, grouping, when)
    _expect_cpus(t, grouping, when)


def sun_fire_15k(t):
    firmware = _firmware(t)
    units = drawn(t, 1, 8)
    firmware.installed = [(0, 18 * units)]
    firmware.entries = [(i * units, units, i) for i in range(18)]
    of_cpus = [c // 4 for c in range(72)] + [c // 2 for c in range(2 * drawn(t, 1, 17))]
    firmware.cpus = list(enumerate(of_cpus))
    firmware.slit = [[10 if i == j else 18 for j in range(18)] for i in range(18)]
    _expect_machine(t, firmware, firmware.slit, of_cpus, "of a Sun Fire 15K with MaxCPU boards")


def any_machine(t):
    for _ in range(4):
        n, bare = drawn(t, 3, 7), drawn(t, 2, 4)
        domains = t.random.sample(range(40), n + bare)
        firmware = _alternating(t, domains[:n])
        _add_cpus(t, firmware, domains[n:])
        _mix_domains(t, firmware, domains[n:])
        size = max(domains) + 1
        firmware.slit = [[0] * size for _ in range(size)]
        for kinds in (1, drawn(t, 2, 5)):
            rows = _few_distances(t, len(firmware.domains()), kinds)
            for i, a in enumerate(firmware.domains()):
                for j, b in enumerate(firmware.domains()):
                    firmware.slit[a][b] = rows[i][j]
            _expect_machine(t, firmware, rows, firmware.cpu_nodes(), "of a machine with any tables")


# ---- booted ------------------------------------------------------------------------------------

SPILLS = 0.1  # the least share of a program's accesses that is to memory outside its board
STRAY = 0.02  # the greatest share that is where it should not be


def programs_use_the_memory_of_their_boards(t):
    seed = drawn(t, 1, 1 << 30)
    for machine, cpus in (("v880", 8), ("sf3800", 8), ("sf6800", 24)):
        run = t.kernel.boot(machine, f"memcopy -t {cpus} -P {24 * cpus} -i 180", seed)
        t.expect_own_memory(f"{cpus} threads on the machine {machine}", run)


def so_they_do_on_18_boards(t):
    run = t.kernel.boot("sf15k", "memcopy -t 72 -P 1728 -i 180", drawn(t, 1, 1 << 30))
    t.expect_own_memory("72 threads on the machine sf15k", run)


def full_board_falls_back_on_the_nearest(t):
    """Six small boards in a ring.  The neighbours of the full board are not those that come first, or next, by number."""
    n = 6
    full = drawn(t, 1, n - 1)
    ring = shuffled(t, [g for g in range(n) if g != full])
    while {ring[0], ring[-1]} & {0, (full + 1) % n}:
        t.random.shuffle(ring)
    ring.append(full)
    apart = [abs(ring.index(i) - ring.index(j)) for i in range(n) for j in range(n)]
    distances = [[10 + 10 * min(d, n - d) for d in apart[i * n : i * n + n]] for i in range(n)]
    command = f"sh -c 'pbind -b {4 * full} $$; exec memcopy -t 1 -i 1 -n 6m'; true"
    run = t.kernel.boot("sf6800", command, drawn(t, 1, 1 << 30), memory="64M", acpi=acpi.slit(distances))
    used = run.by_domain()[full]
    shares = [used[g] / max(1, sum(used)) for g in range(n)]
    near = shares[ring[0]] + shares[ring[-2]]
    wanted = f"a part in the memory of {full}, the rest in that of {ring[0]} and {ring[-2]}"
    found = ", ".join(f"{100 * share:.0f} % in that of {g}" for g, share in enumerate(shares))
    t.expect(
        f"accesses of a program on board {full} that needs more memory than the board has, as QEMU counts them",
        wanted,
        wanted if min(near, shares[full]) >= SPILLS and near + shares[full] >= 1 - STRAY else found,
    )
