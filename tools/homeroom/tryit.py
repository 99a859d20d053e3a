# SPDX-License-Identifier: MIT
"""tryit.py - the blocks of *Try it* in the pages of docs/: run them, compare what they print, and write that into the pages.

THEORY      A block is a fenced one of the language console whose title is what a reader types to get the machine:

                ```console title="make qemu-sf3800 SYSTEM='set mpo_enable=0'"
                # lgrpinfo -c
                lgroup 0 (leaf):
                ...
                ```

            A line that begins with "# " is a command for the guest's shell; the lines below it are what it prints.  The
            commands of a block run in this order in one shell on the console of one machine, booted with seed 1.
            The output must have the shape of the page's.  Numbers, also hexadecimal, count as "a number", as does the
            month of a date (Nov 28), spaces as one space, and blank lines not at all; the words must agree.  A line "..."
            stands for any lines, and " ..." at the end of one for any words.
            A command may end with another status than 0 only if the page shows why: a line that begins with a program's
            name and a colon, or has FAILED in it.
            The last command may end the machine: by a panic, if the page shows a line that begins with "panic:", or with
            poweroff.
            What the host must do first is in blocks of the language sh above, in the same section (##), that have no title.
            They are run in a copy of the checkout's top that consists of links and goes with the machine, so that disk
            images of the reader stay as they are.  Lines that begin with make are left out: what they build is there.
            A line that ends in " &" runs until the machine has ended.
            A block is recorded from RUNS runs: lines that only some of them print become "...".
USAGE       make docs-record [PAGE=docs/NAME.md]; tests/test_try_it.py compares
SEE ALSO    CONTRIBUTING.md (what to do with what was recorded)
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from homeroom import guest
from homeroom.machine import TOP, MachineError

FENCE = re.compile(r"^( *)```(\w+)?([^\n]*)\n(.*?)^\1```$", re.M | re.S)
TITLE = re.compile(r'title="make qemu-([\w-]+)([^"]*)"')
MONTH = re.compile(r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?= +\d)")
ANY = "..."
LINES_MAX, WIDTH_MAX = 12, 120  # of what is recorded for a command
RUNS = 3
BOOT_LIMIT, COMMAND_LIMIT, HOST_LIMIT = 120, 180, 300  # seconds
MARK = "\x1e"  # around the status of a command, on the console
SEED = 1
PROMPT = r"# (?:\x1b\[6n)?$"  # the shell may ask the terminal where the cursor is

# The shell reads commands with the terminal's echo off, so that nothing but their output is printed.
DRIVER = (
    "stty -echo; printf '\\036ready\\036'; while IFS= read -r try_it; do eval \"$try_it\"; printf '\\036%d\\036' $?; done\n"
)


class Fault(Exception):
    """What is wrong with a block, or with what it printed."""


@dataclass
class Command:
    text: str
    shown: list[str] = field(default_factory=list)  # the lines below it in the page


@dataclass
class Block:
    page: str  # its path from the top
    line: int
    machine: str
    variables: dict[str, str]
    host: list[str]  # commands of the host that come first
    commands: list[Command]
    start: int  # where its text begins in the page, and ends
    end: int
    indent: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    def text(self) -> str:
        lines = [line for command in self.commands for line in (f"# {command.text}", *command.shown)]
        return "".join(f"{self.indent}{line}".rstrip() + "\n" for line in lines)


def variables_of(words: str, where: str) -> dict[str, str]:
    pairs = [word.partition("=") for word in shlex.split(words)]
    if any(not re.fullmatch("[A-Z_]+", name) or not equals for name, equals, _ in pairs):
        raise Fault(f"{where}: the title is no command of make: {words}")
    return {name: value for name, _, value in pairs}


def blocks_of(page: str, text: str) -> Iterator[Block]:
    """The blocks of a page that boot a machine."""
    host: list[str] = []
    section = 0
    for fence in FENCE.finditer(text):
        indent, language, rest, body = fence.groups()
        if (now := text.count("\n## ", 0, fence.start())) != section:
            host, section = [], now
        lines = [line.removeprefix(indent) for line in body.splitlines()]
        line = text.count("\n", 0, fence.start()) + 1
        if language == "sh" and not rest.strip():
            host += [line for line in lines if not re.match(r"make\b", line)]
        title = TITLE.search(rest)
        if language != "console" or title is None:
            continue
        commands: list[Command] = []
        for written in lines:
            if written.startswith("# "):
                commands.append(Command(written[2:]))
            elif commands:
                commands[-1].shown.append(written)
            else:
                raise Fault(f"{page}:{line}: a block begins with a command, in a line that begins with '# '")
        variables = variables_of(title[2], f"{page}:{line}")
        yield Block(page, line, title[1], variables, list(host), commands, fence.start(4), fence.end(4), indent)


# ---- shapes ------------------------------------------------------------------------------------


def shape(line: str) -> str:
    """The line with numbers, also hexadecimal, and months as `#` and runs of spaces as one."""
    line = MONTH.sub("#", line)
    line = re.sub(r"(?<!\w)(?:0[xX][0-9a-fA-F]+|[0-9a-fA-F]*\d[0-9a-fA-F]*)(?!\w)", "#", line)
    line = re.sub(r"(?<!\w)-#", "#", re.sub(r"\d+|#", "#", line))
    return " ".join(re.sub(r"#(?:\.#)+", "#", line).split())


def fits(shown: str, printed: str) -> bool:
    if shown.endswith(f" {ANY}"):
        return shape(printed).startswith(shape(shown.removesuffix(f" {ANY}")))
    return shape(shown) == shape(printed)


def likeness(shown: str, printed: str) -> int:
    """How many words of the two are equal, as they are."""
    return sum(map(str.__eq__, shown.split(), printed.split()))


def align(shown: list[str], printed: list[str]) -> list[int | None] | None:
    """For each line of `shown` the line of `printed` that it fits, None for "..."; None if they do not agree.

    Where there is a choice, the lines are those most like the page's.  Neither has blank lines.
    """
    # best[j]: of the lines of `shown` from the current one on, and those of `printed` from j on: (likeness, lines)
    best: list[tuple[int, list[int | None]] | None] = [None] * len(printed) + [(0, [])]
    for line in reversed(shown):
        after, best = best, [None] * (len(printed) + 1)
        for j in reversed(range(len(printed) + 1)):
            if line == ANY:
                ways = [(after[j][0], [None, *after[j][1]])] if after[j] else []
                ways += [best[j + 1]] if j < len(printed) and best[j + 1] else []
                best[j] = max(ways, key=lambda way: way[0], default=None)
            elif j < len(printed) and after[j + 1] and fits(line, printed[j]):
                best[j] = (likeness(line, printed[j]) + after[j + 1][0], [j, *after[j + 1][1]])
    return best[0][1] if best[0] else None


def without_blanks(lines: list[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def shortened(lines: list[str]) -> list[str]:
    """At most LINES_MAX lines, the middle left out, of at most WIDTH_MAX characters; none looks like a command."""
    if len(lines) > LINES_MAX:
        lines = [*lines[: LINES_MAX - 4], ANY, *lines[-3:]]
    return [narrowed(f" {line}" if line.startswith("# ") else line) for line in lines]


def narrowed(line: str) -> str:
    if len(line) <= WIDTH_MAX:
        return line
    return line[: WIDTH_MAX - len(ANY)].rpartition(" ")[0].rstrip() + f" {ANY}"


def cut_like(shown: str, printed: str) -> str:
    """The printed line, with " ..." after as many words as `shown` has before that."""
    if not shown.endswith(f" {ANY}"):
        return printed
    return re.match(rf"(?:\s*\S+){{{len(shown.split()) - 1}}}", printed)[0] + f" {ANY}"


def recorded(shown: list[str], printed: list[str]) -> list[str]:
    """What the page is to show: the lines that it chose already if they fit what was printed, with what they are now."""
    printed = without_blanks(printed)
    shown = without_blanks(shown)
    found = align(shown, printed) if shown else None
    if found is None:
        return shortened(printed)
    return [ANY if at is None else cut_like(line, narrowed(printed[at])) for line, at in zip(shown, found, strict=True)]


def common(chosen: list[str], printed: list[str]) -> list[str]:
    """The lines of `chosen` that `printed` has, too, in the same order; "..." where one of the two has other lines."""
    printed = without_blanks(printed)
    # best[j]: for the lines of `chosen` from the current one on, and of `printed` from j on: (number, pairs of lines)
    best: list[tuple[int, list[tuple[int, int]]]] = [(0, [])] * (len(printed) + 1)
    for i in reversed(range(len(chosen))):
        after, best = best, [(0, [])] * (len(printed) + 1)
        for j in reversed(range(len(printed))):
            ways = [after[j], best[j + 1]]
            if chosen[i] != ANY and fits(chosen[i], printed[j]):
                ways.insert(0, (after[j + 1][0] + 1, [(i, j), *after[j + 1][1]]))  # of equal ways the earliest line
            best[j] = max(ways, key=lambda way: way[0])
    lines, last = [], (-1, -1)
    for pair in [*best[0][1], (len(chosen), len(printed))]:
        if pair != (last[0] + 1, last[1] + 1):
            lines.append(ANY)
        lines += chosen[pair[0] : pair[0] + 1]
        last = pair
    return lines


def shows_a_failure(shown: list[str]) -> bool:
    return any(re.match(r"[\w./-]+: \S", line) or "FAILED" in line for line in shown)


# ---- running -----------------------------------------------------------------------------------


def launcher():
    """The module qemu/launch.py, which must not change what Ctrl-C does here."""
    before = signal.getsignal(signal.SIGINT)
    sys.path.insert(0, str(TOP / "qemu"))
    try:
        import launch
    finally:
        sys.path.pop(0)
        signal.signal(signal.SIGINT, before)
    return launch


def run_on_host(line: str, top: Path) -> None:
    shell = ["bash", "-c", line]
    try:
        done = subprocess.run(shell, cwd=top, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HOST_LIMIT)
    except subprocess.TimeoutExpired:
        raise Fault(f"the host's '{line}' did not end in {HOST_LIMIT} s") from None
    if done.returncode != 0:
        raise Fault(f"the host's '{line}' ended with status {done.returncode}: {done.stderr.strip()}")


@contextlib.contextmanager
def in_background(line: str, top: Path) -> Iterator[None]:
    """The command of the host runs meanwhile; it must not end by itself."""
    with tempfile.TemporaryFile("w+") as said:
        shell = subprocess.Popen(
            ["bash", "-c", line], cwd=top, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        try:
            yield
            if shell.poll() is not None:
                said.seek(0)
                raise Fault(f"the host's '{line}' ended with status {shell.returncode}: {said.read().strip()}")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()


@contextlib.contextmanager
def copy_of_top(host: list[str], root: bool) -> Iterator[Path]:
    """A folder with links to what the top and build/ have, in which the commands of the host have run.

    With `root` the root's image is copied, because the run writes to it.
    """
    with contextlib.ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="homeroom.")))
        for folder in ("build", "build/test"):
            (top / folder).mkdir()
            for path in (TOP / folder).glob("*"):
                if path.suffix != ".img" and path.name != "test" and not path.name.startswith("."):
                    (top / folder / path.name).symlink_to(path)
                elif root and path.name == "root.img":
                    subprocess.run(["cp", "--sparse=always", path, top / folder / path.name], check=True)
        for path in TOP.iterdir():
            if path.name != "build" and not path.name.startswith("."):
                (top / path.name).symlink_to(path)
        for line in host:
            if line.endswith(" &"):
                stack.enter_context(in_background(line.removesuffix(" &"), top))
            else:
                run_on_host(line, top)
        yield top


def make_guest(block: Block, speed: float = 1.0) -> guest.Guest:
    """The machine that the title names, as `make` would start it; its files are found from the current folder."""
    launch = launcher()
    given = dict(block.variables)
    build = (Path() if "ROOT" in given else TOP) / ("build/test" if given.pop("TEST", "0") == "1" else "build")
    words = [block.machine, f"--iso={build}/homeroom.iso", f"--seed={given.pop('SEED', SEED)}"]
    for name, value in given.items():
        for part in shlex.split(value) if name in ("DISK", "FORWARD") else [value]:
            words.append(f"--{name.lower().replace('_', '-')}={part}")
    try:
        run = launch.make_guest(launch.arguments(words))
    except SystemExit:
        raise Fault(f"{block.name}: the title is no command of make") from None
    run.options.piped, run.options.terminal = "", None
    run.options.speed = speed
    return run


class Session:
    """The shell on the console of a machine that runs."""

    def __init__(self, run: guest.Guest) -> None:
        self._run, self._read_to = run, 0
        self._wait(PROMPT, BOOT_LIMIT, "the shell")
        run.send(DRIVER.encode())
        self._wait(f"{MARK}ready{MARK}", BOOT_LIMIT, "the shell")

    def _find(self, pattern: str, limit: float) -> re.Match | None:
        wanted = re.compile(pattern)

        def found() -> re.Match | None:
            return wanted.search(self._new_text())

        match = self._run.wait_until(found, limit)
        if match:
            self._read_to = len(self._run.console)
        return match

    def _new_text(self) -> str:
        return self._run.console[self._read_to :].decode(errors="replace").replace("\r", "")

    def _wait(self, pattern: str, limit: float, what: str) -> None:
        if not self._find(pattern, limit):
            raise self._fault(limit, what)

    def _fault(self, limit: float, what: str) -> Fault:
        ended = "the machine ended" if not self._run.running else f"no end in {limit} s"
        return Fault(f"{what}: {ended}; the console's end is\n{self._run.tail(20)}")

    def do(self, command: str, last: bool = False) -> tuple[int, list[str]]:
        """The status of the command, and the lines that were printed until it ended.

        The last command may end the machine; the status is then that of the launcher.
        """
        self._run.send(command.encode() + b"\n")
        match = self._find(f"{MARK}([0-9]+){MARK}", COMMAND_LIMIT)
        if match:
            return int(match[1]), match.string[: match.start()].expandtabs().splitlines()
        if not last or self._run.running:
            raise self._fault(COMMAND_LIMIT, f"'{command}'")
        return self._run.wait().exit_code(False), self._new_text().expandtabs().splitlines()


def outputs(block: Block, speed: float = 1.0, started=lambda run: None) -> Iterator[tuple[Command, int, list[str]]]:
    """Boot the block's machine and run its commands: (command, status, lines) for each.

    `started` gets the guest before it starts.
    """
    with copy_of_top(block.host, "ROOT" in block.variables) as top, contextlib.chdir(top):
        run = make_guest(block, speed)
        started(run)
        try:
            session = Session(run.start())
            for command in block.commands:
                yield command, *session.do(command.text, last=command is block.commands[-1])
        finally:
            run.close()


def faults_of(command: Command, status: int, printed: list[str]) -> Iterator[str]:
    """What is wrong with what a command did, as lines."""
    shown, printed = without_blanks(command.shown), without_blanks(printed)
    if shown == [ANY]:
        yield f"'{command.text}': no line is in the output of each run; choose a command that shows something"
    if align(shown, printed) is None:
        yield f"'{command.text}' does not print what the page shows.  The page:\n{lines(shown)}\nThe machine:\n{lines(printed)}"
    if status != 0 and not shows_a_failure(shown):
        yield f"'{command.text}' ended with status {status}, and the page shows no error"


def lines(texts: list[str]) -> str:
    return "\n".join(f"    {text}" for text in texts) or "    (nothing)"


def has_outputs(block: Block) -> bool:
    return any(command.shown for command in block.commands)


def how_to_record(block: Block) -> str:
    return f"{block.name}: this block has no outputs yet: make docs-record PAGE={block.page}"


def record(page: str) -> list[str]:
    """Run all blocks of a page and write what they print into it; what is wrong with them."""
    path, faults = TOP / page, []
    text = path.read_text()
    blocks = list(blocks_of(page, text))
    for block in reversed(blocks):
        print(f"  TRY     {block.name}", flush=True)
        try:
            for number in range(RUNS):
                for command, status, printed in outputs(block):
                    command.shown = common(command.shown, printed) if number else recorded(command.shown, printed)
                    faults += [f"{block.name}: {fault}" for fault in faults_of(command, status, printed)]
            text = text[: block.start] + block.text() + text[block.end :]
            path.write_text(text)
        except Fault as fault:
            faults.append(f"{block.name}: {fault}")
    return faults


def main() -> int:
    there = [str(page.relative_to(TOP)) for page in sorted(TOP.glob("docs/*.md"))]
    only_check = sys.argv[1:2] == ["--check"]
    pages = sys.argv[1 + only_check :]
    for page in pages:
        if page not in there:
            print(f"PAGE={page}: write a page of docs/, as in PAGE=docs/memory.md", file=sys.stderr)
            return 1
    if only_check:
        return 0
    try:
        faults = [fault for page in pages or there for fault in record(page)]
    except (MachineError, Fault, OSError) as error:
        faults = [str(error)]
    print("\n".join(faults), end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
