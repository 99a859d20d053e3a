#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lint.py - what `make lint` checks in every file that git knows; `tools/lint.py FILE...`: in these.

    licence   each source file names its licence (SPDX) in its first three lines
    layers    a room of the kernel includes headers of its own level or below only (ROOMS, highest first)
    private   other folders include a folder's public headers only (PUBLIC)
    upward    what a header declares under "implemented by X/" is defined in X, or in main.c
    names     a static function's name is that of no other file's, and has more than one word
    ifs       the kernel assigns nothing in the condition of an if, and has no conditional expression in another one
    commits   a commit since COMMITS_SINCE has a subject of at most 72 characters: area: what it does
    paths     no absolute path of a developer's machine
    layout    C: no tabs, no blanks at line ends, at most 120 columns, and as clang-format lays it out (.clang-format);
              ruff on Python, shellcheck on shell scripts

That what comments and docs/ name exists is tested by tests/test_docs.py.
Prints one line for each fault, as file:line: text, and ends with status 1 if there was any.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from house import House

TOP = Path(__file__).resolve().parents[1]

# Rooms of equal level stand together; each may include its own level and what is below.
# absent/ stands in for several rooms, so it is the highest, and may include their private headers.
ROOMS = [{"absent"}, {"sys"}, {"procfs", "tty", "fireplane"}, {"proc", "ipc"}, {"fs", "net"}, {"vfs"}, {"vm"}, {"pages"}]
ROOMS += [{"blk"}, {"drivers"}, {"disp", "intr"}, {"lgrp"}, {"mem"}, {"x86", "acpi"}, {"stat", "lib"}]
LEVEL = {room: len(ROOMS) - i for i, rooms in enumerate(ROOMS) for room in rooms}

# The headers of each folder that others may include; the rest are private.
PUBLIC = {
    "acpi": "acpi.h",
    "blk": "blk.h",
    "drivers": "disk.h fireplane.h fw_cfg.h nic.h rtc.h uart.h",  # one for each kind of device
    "fireplane": "fpdev.h",
    "fs": "root.h",
    "fs/devfs": "statdev.h tracedev.h",  # one for each kind of device
    "fs/ext": "ext_init.h",
    "fs/initramfs": "initramfs.h",
    "fs/sysfs": "sysfs.h",
    "fs/tmpfs": "tmpfs.h",  # fs/devfs is a tmpfs with other operations
    "intr": "intr.h",
    "net": "net.h",
    "net/port": "hooks.h",  # lwIP's port: its names are lwIP's
    "net/port/arch": "cc.h",
    "procfs": "procfs.h",
    "sys": "sys.h selftest.h",
    "tty": "tty.h",
    # Several subjects, which few files need together:
    "disp": "thread.h sync.h timer.h disp.h context.h pset.h loadavg.h clock.h",
    "ipc": "ipc.h futex.h ctimer.h event.h",
    "lgrp": "lgrp.h lgrpstat.h load.h place.h mempolicy.h observe.h",
    "mem": "page.h kmem.h usermem.h kstack.h percpu.h mem_init.h",
    "pages": "object.h owner.h mapping.h placement.h busy.h deferred_release.h filecache.h pcache.h pageout.h swap.h "
    "reserve.h cachelist.h around.h scan.h victims.h advice.h rangepolicy.h",
    # proc_impl.h: sys/ carries out what a call asks of a process
    "proc": "proc.h proc_impl.h ptrace.h itimer.h ptimer.h sigio.h signalfd.h vdso.h uts.h",
    "vfs": "vnode.h name.h file.h filepriv.h pseudo.h",
    "vm": "vm.h observe.h",
    # Small things of the language and of the processor, a header each:
    "lib": "*",
    "stat": "*",
    "x86": "*",
}

# Where this checkout lies; /root is also the name of a folder in the guest.
HERE = TOP if TOP.parent == Path("/root") else TOP.parent

LWIP_PORT = ("kernel", "net", "port")  # in lwIP's layout
SOURCE = {".c", ".h", ".S", ".py", ".sh", ".mk", ".toml", ".ld", ".cfg"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def tracked() -> list[Path]:
    """The project's files, relative to TOP: those that git knows, or without git's data (an archive) all but what was made."""
    if (TOP / ".git").exists():
        # The checkout may belong to another user, as in a container.
        git = ["git", "-c", f"safe.directory={TOP}", "ls-files"]
        out = subprocess.run(git, cwd=TOP, capture_output=True, text=True, check=True)
        return [Path(line) for line in out.stdout.splitlines() if (TOP / line).is_file()]
    made = {"build", "__pycache__", *(p.name for p in TOP.glob(".venv*"))}
    found = (p.relative_to(TOP) for p in sorted(TOP.rglob("*")) if p.is_file())
    return [p for p in found if not made & set(p.parts)]


def room_of(path: Path) -> str | None:
    """The room a kernel file lives in; None outside, and for kernel/main.c, which may see everything."""
    parts = path.parts
    if parts[0] == "drivers":
        return "drivers"
    return parts[1] if parts[0] == "kernel" and len(parts) > 2 else None


def licence(path: Path, text: str) -> Iterator[str]:
    is_script = text.startswith("#!")
    if (path.suffix in SOURCE or path.name == "Makefile" or is_script) and "SPDX-License-Identifier:" not in "\n".join(
        text.splitlines()[:3]
    ):
        yield f"{path}:1: no SPDX-License-Identifier in the first three lines"


def layers(path: Path, text: str) -> Iterator[str]:
    room = room_of(path)
    if room is None or path.suffix not in {".c", ".h", ".S"}:
        return
    if room not in LEVEL:
        yield f"{path}:1: room '{room}' has no place among the layers (tools/lint.py)"
        return
    for number, line in enumerate(text.splitlines(), 1):
        if match := INCLUDE.match(line):
            other = match[1].split("/")[0]
            if LEVEL.get(other, 0) > LEVEL[room]:
                yield f'{path}:{number}: {room} is below {other} and may not include "{match[1]}"'


ONE_WORD = {"clamp", "rotl"}  # the field's word for exactly that


def private_headers(path: Path, text: str) -> Iterator[str]:
    """Headers of other folders that `path` includes and that are not public."""
    if path.parts[0] not in {"kernel", "drivers"} or len(path.parts) < 2 or path.suffix not in {".c", ".h", ".S"}:
        return
    own = folder_of(path)
    if own == "absent":
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match and "/" in match[1]:
            folder, _, name = match[1].rpartition("/")
            public = PUBLIC.get(folder, name if folder == "uapi" else "").split()
            if folder != own and name not in public and "*" not in public and (TOP / "kernel" / folder).is_dir():
                yield f'{path}:{number}: "{match[1]}" is a private header of {folder}/'


def folder_of(path: Path) -> str:
    return "/".join(path.parts[:-1]).removeprefix("kernel/")


def upward_calls(house: House) -> Iterator[str]:
    """What is declared for a higher folder to implement, and is not there."""
    for path, by, name in house.implemented_above():
        where = Path("kernel") / by
        code = [text for file, text in house.texts.items() if where in (file, file.parent) and file.suffix == ".c"]
        if not any(re.search(rf"^[a-z][\w *]*\b{name}\([^;]*?\)\n{{", text, re.M) for text in code):
            yield f"{path}:1: {name}() is not implemented by {by}"


def names(house: House) -> Iterator[str]:
    for name, paths in sorted(house.statics().items()):
        for path in sorted(set(paths))[1:]:
            yield f"{path}:1: static {name}() is in {paths[0]}, too: a backtrace must tell them apart"
        if "_" not in name and name not in ONE_WORD:
            yield f"{paths[0]}:1: static {name}(): say what it does to what, as in alloc_by_policy()"


NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r"^\s*#(?:\\\n|[^\n])*", re.M)
ASSIGNMENT = r"(?<![=!<>])=(?!=)|(?:<<|>>)="
EXPRESSION_BEGINS = re.compile(r"[;{}]|\breturn\b|" + ASSIGNMENT)


def code_of(text: str) -> str:
    """The text with each comment and string as blanks, and each directive of the preprocessor as a statement."""
    code = NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return DIRECTIVE.sub(lambda m: m[0] + ";", code)


def in_brackets(code: str, at: int) -> str:
    """What stands between the bracket at `at` and the one that closes it."""
    depth = 0
    for end in range(at, len(code)):
        depth += (code[end] in "([") - (code[end] in ")]")
        if depth == 0:
            return code[at + 1 : end]
    return code[at + 1 :]


def has_another_in_it(code: str, at: int) -> bool:
    """Whether the conditional expression with the ? at `at` has one in it."""
    depth = 0
    for char in code[at + 1 :]:
        depth += (char in "([") - (char in ")]")
        if depth < 0 or char in ";{}" or (depth == 0 and char == ","):
            break
        if char == "?":
            return True
    depth = 0
    for char in reversed(EXPRESSION_BEGINS.split(code[max(0, at - 2000) : at])[-1]):
        depth += (char in ")]") - (char in "([")
        if depth < 0 or (depth == 0 and char in ",?"):
            break
        if char == "?":
            return True
    return False


def conditions(path: Path, text: str) -> Iterator[str]:
    if path.parts[0] not in {"kernel", "drivers"} or path.suffix not in {".c", ".h"}:
        return
    code = code_of(text)
    for match in re.finditer(r"\bif \(", code):
        if re.search(ASSIGNMENT, in_brackets(code, match.end() - 1)):
            yield f"{path}:{code.count(chr(10), 0, match.start()) + 1}: an assignment in the condition of an if"
    for match in re.finditer(r"\?", code):
        if has_another_in_it(code, match.start()):
            yield f"{path}:{code.count(chr(10), 0, match.start()) + 1}: a conditional expression in another one"


COMMITS_SINCE = "e31f4915f332"
SUBJECT = re.compile(r"[\w.,/ -]+: \S")
SUBJECT_MAX = 72


def commits() -> Iterator[str]:
    """What is wrong with the subjects of commits that are younger than the rule; nothing where git or that commit is not."""
    git = ["git", "-c", f"safe.directory={TOP}", "log", "--no-merges", "--format=%h %s", f"{COMMITS_SINCE}.."]
    done = subprocess.run(git, cwd=TOP, capture_output=True, text=True)
    for line in done.stdout.splitlines() if done.returncode == 0 else []:
        name, _, subject = line.partition(" ")
        yield from subject_faults(name, subject)


def subject_faults(name: str, subject: str) -> Iterator[str]:
    if len(subject) > SUBJECT_MAX:
        yield f"commit {name}: its subject has {len(subject)} characters, at most {SUBJECT_MAX}: {subject}"
    if not SUBJECT.match(subject):
        yield f"commit {name}: a subject begins with the area and a colon: {subject}"


def machine_paths(path: Path, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if (len(HERE.parts) > 1 and f"{HERE}/" in line) or re.search(r"(?<![\w.])/home/(?!student\b)\w+/", line):
            yield f"{path}:{number}: a path of one developer's machine"


def layout(path: Path, text: str) -> Iterator[str]:
    if path.suffix not in {".c", ".h", ".S"}:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            yield f"{path}:{number}: a tab; indent by 4 blanks"
        if line != line.rstrip():
            yield f"{path}:{number}: blanks at the end of the line"
        if len(line) > 120:
            yield f"{path}:{number}: {len(line)} columns; at most 120"
    if not text.endswith("\n"):
        yield f"{path}:1: no newline at the end of the file"


def tool(command: list[str], files: list[Path]) -> Iterator[str]:
    """Run a checker that prints what it finds."""
    if not files:
        return
    program = TOP / ".venv/bin" / command[0]
    found = str(program) if program.exists() else shutil.which(command[0])
    if found is None:
        yield f"{command[0]} is missing: tools/deps.sh lint"
        return
    done = subprocess.run([found, *command[1:], *map(str, files)], cwd=TOP, capture_output=True, text=True)
    if done.returncode:
        yield (done.stdout + done.stderr).strip()


def main() -> int:
    files = [Path(name).resolve().relative_to(TOP) for name in sys.argv[1:]] or tracked()
    texts = {p: (TOP / p).read_text(errors="replace") for p in files}
    faults: list[str] = []
    for path, text in texts.items():
        faults += licence(path, text)
        faults += layers(path, text)
        faults += private_headers(path, text)
        faults += conditions(path, text)
        faults += layout(path, text)
        faults += machine_paths(path, text)
    if len(sys.argv) < 2 and (TOP / ".git").exists():
        faults += commits()
    house = House(TOP)
    of_the_kernel = [*names(house), *upward_calls(house)]
    faults += [fault for fault in of_the_kernel if Path(fault.split(":")[0]) in texts]
    formatted = [p for p in files if p.suffix in {".c", ".h"} and p.parts[:3] != LWIP_PORT]
    faults += tool(["clang-format", "--dry-run", "-Werror"], formatted)
    faults += tool(["ruff", "check", "--quiet"], [p for p in files if p.suffix == ".py"])
    scripts = [p for p in files if texts[p].startswith(("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/env bash"))]
    faults += tool(["shellcheck"], scripts)
    print("\n".join(faults) if faults else f"lint: {len(files)} files, nothing to mend")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
