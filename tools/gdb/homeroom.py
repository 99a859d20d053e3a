# SPDX-License-Identifier: MIT
"""homeroom.py - GDB commands that print the kernel's data structures; `make gdb MACHINE=sf6800` loads them.

    lgrps            the locality groups: CPUs, memory, load, distances
    runq [CPU]       the thread that each CPU runs, and the threads that wait on its queues
    threads [WORD]   all threads, or those whose name, state or number contains WORD
    pages            free memory by memory node and block size
    pages ADDRESS    the frame behind a physical or kernel address

GDB stops the machine at any instruction and takes no locks.  So a list may be in the middle of a change, and appear too
short.  tests/test_gdb.py runs each command.
"""

import gdb

PAGE_SHIFT = 12
DIRECT_BASE = 0xFFFF888000000000
VMEMMAP_BASE = 0xFFFFEA0000000000
DIRECT_END = VMEMMAP_BASE
KERNEL_BASE = 0xFFFFFFFF80000000
LIST_LIMIT = 100000  # a list longer than this is broken
LGRP_NONE = 255


def value(expression: str) -> gdb.Value:
    return gdb.parse_and_eval(expression)


def enum_name(type_name: str, number: int, prefix: str) -> str:
    """The name of an enum's value, without `prefix`; the number if the enum has no such value."""
    for field in gdb.lookup_type(f"enum {type_name}").fields():
        if field.enumval == number:
            return field.name.removeprefix(prefix)
    return str(number)


def list_items(head: gdb.Value, type_name: str, link: str):
    """Pointers to the structs on a circular list; `link` is the field of the struct that is in the list."""
    kind = gdb.lookup_type(f"struct {type_name}")
    offset = next(f.bitpos // 8 for f in kind.fields() if f.name == link)
    here, end, count = head["next"], int(head.address), 0
    while int(here) != end and int(here) != 0 and count < LIST_LIMIT:
        yield (here.cast(gdb.lookup_type("unsigned long")) - offset).cast(kind.pointer())
        here, count = here["next"], count + 1


def mask_text(words: gdb.Value) -> str:
    """The set bits of a cpumask, as "0-3 72 73"."""
    low, high = words.type.range()
    bits = [64 * w + b for w in range(low, high + 1) for b in range(64) if int(words[w]) >> b & 1]
    runs: list[list[int]] = []
    for bit in bits:
        if runs and runs[-1][1] == bit - 1:
            runs[-1][1] = bit
        else:
            runs.append([bit, bit])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "none"


def thread_name(thread: gdb.Value) -> str:
    return thread["name"].string(errors="replace") or "?"


def cpus():
    """The kernel's struct cpu of each CPU."""
    for i in range(int(value("ncpu"))):
        cpu = value(f"cpus[{i}]")
        if int(cpu) != 0:
            yield cpu


def mib(pages: int) -> str:
    return f"{pages >> (20 - PAGE_SHIFT)}M"


class Lgrps(gdb.Command):
    """The locality groups: CPUs, memory, load, distances."""

    def __init__(self) -> None:
        super().__init__("lgrps", gdb.COMMAND_DATA)

    def invoke(self, argument: str, from_tty: bool) -> None:
        topo = value("lgrp_topo")
        part = value("cpupart_default")["lgrps"]
        count = int(topo["nlgrps"])
        print(f"{'lgrp':>4} {'cpus':16} {'memory':>8} {'free':>8} {'homes':>5} {'load':>5}  distances")
        for g in range(count):
            nodes = [n for n in range(int(topo["nmem"])) if int(topo["lgrp_nodes"][g]) >> n & 1]
            total = sum(int(value(f"mem_nodes[{n}].ninstalled_pages")) for n in nodes)
            free = sum(int(value(f"mem_nodes[{n}].nfree_pages")) for n in nodes)
            where = mask_text(topo["lgrp_cpus"][g]["w"])
            far = " ".join(str(int(topo["lat"][g][h])) for h in range(count))
            homes, load = int(part["lpl"][g]["homed"]), int(part["lpl"][g]["avg"]) * 100 // 65536
            print(f"{g:4} {where:16} {mib(total):>8} {mib(free):>8} {homes:5} {load:4}%  {far}")
        print(f"{count} lgroups, {int(part['updates'])} load updates so far")


class Runq(gdb.Command):
    """The thread that each CPU runs, and those that wait on its queues and on the real-time queues of sets: runq [CPU]."""

    def __init__(self) -> None:
        super().__init__("runq", gdb.COMMAND_DATA)

    def invoke(self, argument: str, from_tty: bool) -> None:
        print(f"{'cpu':>3} {'lgrp':>4} {'pri':>4} {'queued':>6}  running")
        for cpu in cpus():
            if argument and int(cpu["id"]) != int(argument):
                continue
            queue, running = cpu["disp"], cpu["thread"]
            if int(queue) == 0:
                print(f"{int(cpu['id']):3} {int(cpu['lgrp']):4}  not started")
                continue
            name = "idle" if int(running) == int(queue["idle_thread"]) else thread_name(running)
            print(
                f"{int(cpu['id']):3} {int(cpu['lgrp']):4} {int(queue['runpri']):4} {int(queue['q']['nrun']):6}"
                f"  {name} ({int(running['tid'])})"
            )
            self.waiting(queue["q"])
        for i in range(int(value("cpupart_end"))):
            part = value(f"cpuparts[{i}]")
            if int(part) != 0 and int(part["rt"]["nrun"]) != 0:
                print(f"set {int(part['id'])}")
                self.waiting(part["rt"])

    def waiting(self, queue: gdb.Value) -> None:
        """Print the threads on a run queue, highest priority first."""
        for pri in range(int(value("(int)NPRI")) - 1, -1, -1):
            if not int(queue["mask"][pri // 64]) >> (pri % 64) & 1:
                continue
            for thread in list_items(queue["queue"][pri], "thread", "runq_link"):
                print(f"{'':9} {pri:4} {'':6}    waits: {thread_name(thread)} ({int(thread['tid'])})")


class Threads(gdb.Command):
    """All threads, or those whose name, state or number contains WORD: threads [WORD]."""

    def __init__(self) -> None:
        super().__init__("threads", gdb.COMMAND_DATA)

    def invoke(self, argument: str, from_tty: bool) -> None:
        print(f"{'tid':>6} {'name':16} {'state':8} {'class':5} {'pri':>4} {'home':>4} {'cpu':>3}  waits for")
        for t in list_items(value("all_threads"), "thread", "all_link"):
            state = enum_name("thread_state", int(t["state"]), "TS_")
            cls = enum_name("sched_class", int(t["cls"]), "CLASS_")
            home = int(t["lg"]["home"]) if int(t["lg"]["part"]) != 0 else LGRP_NONE
            cpu = str(int(t["cpu"]["id"])) if int(t["cpu"]) != 0 else "-"
            waits = t["wait_what"].string() if state == "SLEEP" and int(t["wait_what"]) != 0 else ""
            line = (
                f"{int(t['tid']):6} {thread_name(t):16} {state:8} {cls:5} {int(t['pri']):4} "
                f"{'-' if home == LGRP_NONE else home:>4} {cpu:>3}  {waits}"
            )
            if not argument or argument in line:
                print(line)


class Pages(gdb.Command):
    """Free memory by node and block size, or the frame behind an address: pages [ADDRESS]."""

    def __init__(self) -> None:
        super().__init__("pages", gdb.COMMAND_DATA)

    def invoke(self, argument: str, from_tty: bool) -> None:
        if argument:
            self.one(int(value(f"(unsigned long)({argument})")))
        else:
            self.nodes()

    def nodes(self) -> None:
        """Print the free memory of each node."""
        orders = int(value("sizeof(mem_nodes[0].free) / sizeof(mem_nodes[0].free[0])"))
        sizes = " ".join(f"{4 << o}K" if 4 << o < 1024 else f"{4 << o >> 10}M" for o in range(orders))
        print(f"{'node':>4} {'pages':>9} {'free':>9}  free blocks of {sizes}")
        for n in range(int(value("nnodes"))):
            node = value(f"mem_nodes[{n}]")
            blocks = [sum(1 for _ in list_items(node["free"][o], "page", "link")) for o in range(orders)]
            counts = " ".join(map(str, blocks))
            print(f"{n:4} {int(node['ninstalled_pages']):9} {int(node['nfree_pages']):9}  {counts}")

    def one(self, address: int) -> None:
        """Print the frame behind an address.  GdbError if there is no memory."""
        if DIRECT_BASE <= address < DIRECT_END:
            address -= DIRECT_BASE
        elif address >= KERNEL_BASE:
            address -= KERNEL_BASE
        frame = address >> PAGE_SHIFT
        page = value(f"((struct page *){VMEMMAP_BASE:#x}) + {frame}").dereference()
        try:
            flags = int(page["flags"])
        except gdb.MemoryError:
            raise gdb.GdbError(f"no memory at physical address {address:#x}") from None
        names = [f.name for f in gdb.lookup_type("enum page_flags").fields() if flags & f.enumval]
        print(f"frame {frame:#x} on node {int(page['node'])}: {' '.join(names) or 'no flags'}")
        print(f"  refs {int(page['refs'])}, mapped {int(page['mapcount'])} times, order {int(page['order'])}")
        if flags & int(value("(int)PG_FREE")):
            return
        if int(page["obj"]) != 0 and not flags & int(value("(int)PG_SLAB | (int)PG_PT")):
            what = "family" if flags & int(value("(int)PG_ANON")) else "object"
            print(f"  {what} {int(page['obj']):#x}, index {int(page['index'])}, held by {int(page['share'])} objects")


for command in (Lgrps, Runq, Threads, Pages):
    command()
