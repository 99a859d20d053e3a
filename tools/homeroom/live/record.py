# SPDX-License-Identifier: MIT
"""record.py - recordings of what the page has shown: one HTML file, which a browser opens from disk.

THEORY      The file is the page itself, with the style and the scripts inside, and after it the frames in pieces of PIECE
            frames.  A piece is compressed by itself, so the page can go to any second without reading all before it.
            A frame resembles the one before it, so compression makes it small.  A piece is written when it is full, so a
            recording that is cut short still opens, and lacks at most the last PIECE frames.  The marks of the slider are
            beside the pieces, so the page has them without reading the frames.
            The page shows more than the last frame has: values that only some frames have, the shares of links while no
            modelled time passes, trails of threads that have moved, and past events.  A piece begins with these (class Past),
            so the page of a recording shows at each frame what the live page showed.
            A piece has the number of its first frame, and the file ends with the number of all.  So a piece that is missing
            or damaged is noticed.  The others are still shown.
            `make replay FILE=...` checks a recording and opens it.
EXIT        (of make replay) 0: the recording is whole, or was cut short, or lacks frames, which one line names.  1: no frame
            of it can be shown, or it is none, or of another version
SEE ALSO    page/tape.js (reads it, by the same rules), server.py
"""

import base64
import errno
import fcntl
import json
import math
import os
import re
import stat
import sys
import webbrowser
import zlib
from collections import Counter, deque
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, TextIO

from homeroom.live.layout import VERSION
from homeroom.live.memory import LiveError

PIECE = 100  # frames
PIECE_MAX = 1 << 26  # bytes of a piece that is not compressed
LINES = 200  # events that the page lists
PAGE = Path(__file__).parent / "page"
MARKED = {"first touch": "t", "stolen": "s", "fence broken": "f", "reclaim": "r"}  # events with a mark on the slider
SELDOM = ("i", "p")  # what only some frames have; the page shows the last one
QUEUED, RUNS, DOTS = 1, 2, 3  # states of threads, and how many that wait for a CPU have a dot, as in picture.js
FADE, TRAILS = 1.5, 100  # seconds that the page shows a trail, and how many at most
COUNTED = ("b", "k", "a")  # from which the page computes the shares of links
FRAME = {"w": (int, float), "t": (int, float), "c": list, "n": list, "e": list, "h": dict}  # what each frame has
FRAMES = r'<script type="x-frames" data-at="([0-9]{1,9})" data-n="([0-9]{1,4})"[^>]*>([^<]*)'
PIECES = re.compile(FRAMES + r"(?:</script>|(?:</?\w*)?\Z)")  # the end of the last one may be cut off
END = re.compile(r'<script type="x-end" data-n="([0-9]{1,9})">')
SCRIPT = re.compile(r'<script src="(\w+\.js)" defer></script>\n')
LAYOUT = re.compile(r'<script type="application/json" id="layout">(.*?)</script>', re.S)


class Recording(NamedTuple):
    """What a file has."""

    layout: dict
    frames: list  # what was kept of each
    whole: bool  # it was not cut short
    lacks: list[tuple[int, int]]  # frames that are missing or damaged: the first of a row, and the one after the last


def claim(path: Path) -> TextIO:
    """Open a file to write a recording, with its contents as they are, so that no other program does this at the same time.

    OSError if the file cannot be opened, or another program writes a recording into it.
    """
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise OSError(errno.EBUSY, "another program writes a recording into it; name another file") from None
    except OSError:  # a file system without locks
        pass
    return file


def check(path: Path) -> None:
    """LiveError if a recording cannot be written to a file, or to that to which a link points.  Leaves both as they are."""
    try:
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            target = Path(os.path.realpath(path))
            target.open("x").close()
            target.unlink()
            return
        if not stat.S_ISREG(mode):
            raise LiveError(
                f"{path}: {'Is a directory' if stat.S_ISDIR(mode) else 'not a regular file'}; a recording is a file"
            )
        claim(path).close()
    except OSError as error:
        raise LiveError(f"{path}: {error.strerror}") from error


def _layout(text: str) -> dict:
    """The layout in a recording.  LiveError if there is none, or it cannot be drawn, or is of another version."""
    found = LAYOUT.search(text)
    if found is None:
        raise LiveError("not a recording")
    try:
        layout = json.loads(found[1])
        if layout["version"] != VERSION:
            raise LiveError(f"a recording of version {layout['version']}; this program reads {VERSION}")
        boards = [board["mib"] + sum(board["cpus"]) for board in layout["boards"]]
        if not isinstance(layout["title"], str) or not boards:
            raise ValueError
    except (KeyError, TypeError, ValueError, RecursionError):
        raise LiveError("the recording is damaged: no frame can be shown") from None
    return layout


def _no_number(word: str) -> None:
    """Browsers refuse NaN and Infinity, which JSON does not have."""
    raise ValueError(word)


def _frames(data: str, number: int) -> list[dict]:
    """The frames of a piece.  ValueError if they are not as many, or one is no frame, or their times go back."""
    try:
        inflate = zlib.decompressobj()
        text = inflate.decompress(base64.b64decode("".join(data.split()), validate=True), PIECE_MAX)
        found = json.loads(text, parse_constant=_no_number)
        frames = found["frames"]
        past = found["past"]["frame"]
        times = [frame["w"] for frame in ([past] if past else []) + frames]
        if not inflate.eof or len(frames) != number or not all(map(math.isfinite, times)) or times != sorted(times):
            raise ValueError
        if not all(math.isfinite(frame["t"]) for frame in frames):
            raise ValueError
        if any(isinstance(frame[key], bool) for frame in frames for key in "wt"):  # JavaScript has no bool among its numbers
            raise ValueError
        if not all(isinstance(frame[key], kind) for frame in frames for key, kind in FRAME.items()):
            raise ValueError
    except (KeyError, TypeError, OverflowError, RecursionError, zlib.error):
        raise ValueError from None
    return frames


def read(path: Path, keep: Callable[[dict], object] = lambda frame: frame) -> Recording:
    """What a recording has.  LiveError if the file is no recording, or of another version, or no frame can be shown.

    `keep`: what to keep of a frame; all frames of an hour can need more than 1 GiB.
    """
    try:
        if path.exists() and not path.is_file():
            raise LiveError("not a regular file")
        text = path.read_text(errors="replace")
        layout, end, frames, lacks, at, latest = _layout(text), END.search(text), [], [], 0, -math.inf

        def lack(first: int, after: int) -> None:
            if lacks and lacks[-1][1] == first:
                first = lacks.pop()[0]
            lacks.append((first, after))

        pieces = PIECES.findall(text)
        for i, (first, number, data) in enumerate(pieces, 1):
            first, after = int(first), int(first) + int(number)
            if first < at or after == first:
                continue  # not where it belongs
            if first > at:
                lack(at, first)
            try:
                found = _frames(data, after - first)
                if found[0]["w"] < latest:
                    raise ValueError
                latest = found[-1]["w"]
                frames += map(keep, found)
            except ValueError:
                if end is None and i == len(pieces):
                    break  # the recording was cut short here
                lack(first, after)
            at = after
        if end is not None and int(end[1]) > at:
            lack(at, int(end[1]))
        if not frames:
            short = "was cut short before its first frame" if not lacks and end is None else "is damaged: no frame can be shown"
            raise LiveError(f"the recording {short}")
    except (OSError, LiveError) as error:
        raise LiveError(f"{path}: {getattr(error, 'strerror', error)}") from error
    return Recording(layout, frames, end is not None, lacks)


def page(layout: dict) -> str:
    """The page with everything inside."""
    text = (PAGE / "live.html").read_text()
    names = [name for name in SCRIPT.findall(text) if name != "heat.js"]  # page heat is not recorded
    scripts = "".join(f"<script>{(PAGE / name).read_text()}</script>\n" for name in names)
    style, data = (PAGE / "live.css").read_text(), json.dumps(layout).replace("<", "\\u003c")
    text = text.replace('<link rel="stylesheet" href="live.css">', f"<style>{style}</style>")
    text = SCRIPT.sub("", text).replace("</head>", f'<script type="application/json" id="layout">{data}</script>\n</head>')
    return text.replace("</body>", scripts).replace("</html>", "")


class Past:
    """What the page shows of the frames until now, so far as the last frame does not have it."""

    def __init__(self, cpus: set[int]) -> None:
        """`cpus`: those that the page draws."""
        self._cpus = cpus
        self._last = "null"  # the last frame, as text
        self._places: dict[int, tuple[int, int, int]] = {}  # by thread: process, CPU, and from where its next dot has a trail
        self._moves: list[tuple[float, int, int]] = []  # the trails: w, and the CPUs from and to
        self._seldom: dict = {}
        self._links: list[dict] = []  # COUNTED of the frames from which the shares come, and of the last frame
        self._events: deque[dict] = deque()  # w and e of frames, and how many events these are together
        self._lines = 0

    def _follow(self, frame: dict) -> None:
        """Note where threads are and the trails, as follow() in picture.js does."""
        before, self._places, waiting = self._places, {}, Counter()
        moves = [move for move in self._moves if frame["w"] - move[0] < FADE]
        for tid, (pid, _, state, _, cpu, *_) in sorted((int(tid), thread) for tid, thread in frame["h"].items()):
            old_pid, old_cpu, start = before.get(tid, (pid, cpu, -1))
            start = -1 if old_pid != pid else old_cpu if old_cpu != cpu else start
            if cpu in self._cpus and (state == RUNS or (state == QUEUED and waiting[cpu] < DOTS)):
                waiting[cpu] += state == QUEUED
                if start in self._cpus:
                    moves.append((frame["w"], start, cpu))
                start = -1
            self._places[tid] = (pid, cpu, start)
        self._moves = moves[-TRAILS:]

    def add(self, text: str, frame: dict) -> None:
        self._last = text
        self._follow(frame)
        self._seldom |= {key: frame[key] for key in SELDOM if key in frame}
        now = {key: frame[key] for key in COUNTED if key in frame}
        stays = bool(self._links and frame.get("a") and self._links[-1].get("k") == frame["k"])  # as picture.js has it
        self._links = [*(self._links[:2] if stays else self._links[-1:]), now]
        if frame["e"]:
            self._events.append({"w": frame["w"], "e": frame["e"]})
            self._lines += len(frame["e"])
        while self._events and self._lines - len(self._events[0]["e"]) >= LINES:
            self._lines -= len(self._events.popleft()["e"])

    def text(self) -> str:
        about = {"seldom": self._seldom, "links": self._links[:-1], "events": [*self._events]}
        about["moved"] = {tid: start for tid, (_, _, start) in self._places.items() if start >= 0}
        about["moves"] = self._moves
        return f'{json.dumps(about, separators=(",", ":"))[:-1]},"frame":{self._last}}}'


class Recorder:
    """Writes a recording.  Each function: OSError if the file cannot be written."""

    def __init__(self, path: Path, layout: dict) -> None:
        self._frames: list[str] = []
        self._written = 0  # frames
        self._marks: list[str] = []  # of these frames: number and letter
        self._past = Past({cpu for board in layout["boards"] for cpu in board["cpus"]})
        self._before = self._past.text()  # that of the first of these frames
        self._file = claim(path)
        self._file.truncate(0)
        self._file.write(page(layout))
        self._file.flush()  # so that a recording that is cut short has the whole page

    def add(self, text: str, frame: dict) -> None:
        """Add a frame, which is also given as text."""
        kinds = {MARKED[kind] for kind, *_ in frame["e"] if kind in MARKED}
        self._marks += [f"{len(self._frames)}{kind}" for kind in sorted(kinds)]
        self._frames.append(text)
        self._past.add(text, frame)
        if len(self._frames) == PIECE:
            self._write()

    def _write(self) -> None:
        number = len(self._frames)
        if number:
            data = zlib.compress(f'{{"past":{self._before},"frames":[{",".join(self._frames)}]}}'.encode(), 9)
            marks = " ".join(self._marks)
            self._file.write(f'<script type="x-frames" data-at="{self._written}" data-n="{number}" data-marks="{marks}">')
            self._file.write(f"{base64.b64encode(data).decode()}</script>\n")
            self._file.flush()
            self._frames, self._marks, self._before = [], [], self._past.text()
            self._written += number

    def close(self) -> None:
        self._write()
        self._file.write(f'<script type="x-end" data-n="{self._written}"></script>\n</body></html>\n')
        self._file.close()


def plain(text: str) -> str:
    """A text from a file, for a line of a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def main() -> int:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        if not name:
            raise LiveError("write FILE=recording.html; make live RECORD=recording.html makes one")
        layout, times, whole, lacks = read(Path(name), itemgetter("w"))
    except LiveError as error:
        print(f"replay: {plain(str(error))}", file=sys.stderr)
        return 1
    seconds = times[-1] - times[0]
    address = Path(name).absolute().as_uri()
    words = plain(f"{layout['title']}, {len(times)} frames, {seconds:.0f} s{'' if whole else ', cut short'}: {address}")
    print(f"replay: {words}")
    if lacks:
        rows = ", ".join(f"{first} to {after - 1}" for first, after in lacks)
        print(f"replay: warning: frames are missing or damaged: {rows}; the page shows the others", file=sys.stderr)
    webbrowser.open(address)
    return 0


if __name__ == "__main__":
    sys.exit(main())
