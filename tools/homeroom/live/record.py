# SPDX-License-Identifier: MIT
"""record.py - recordings of what the page has shown: one HTML file, which a browser opens from disk.

THEORY      The file is the page itself, with the style and the scripts inside, and after it the frames in pieces of PIECE
            frames.  A piece is compressed by itself, so the page can go to any second without reading all before it.
            A frame resembles the one before it, so compression makes it small.  A piece is written when it is full, so a
            recording that is cut short still opens, and lacks at most the last PIECE frames.  The marks of the slider are
            beside the pieces, so the page has them without reading the frames.
            `make replay FILE=...` checks a recording and opens it.
EXIT        (of make replay) 0: the recording is whole, or was only cut short.  1: it is none, or of another version
SEE ALSO    page/tape.js, server.py
"""

import base64
import json
import os
import re
import stat
import sys
import webbrowser
import zlib
from pathlib import Path

from homeroom.live.layout import VERSION
from homeroom.live.memory import LiveError

PIECE = 100  # frames
PAGE = Path(__file__).parent / "page"
MARKED = {"first touch": "t", "stolen": "s", "fence broken": "f", "reclaim": "r"}  # events with a mark on the slider
PIECES = re.compile(r'<script type="x-frames" data-n="(\d+)" data-marks="[^"]*">([A-Za-z0-9+/=]+)</script>')
SCRIPT = re.compile(r'<script src="(\w+\.js)" defer></script>\n')
LAYOUT = re.compile(r'<script type="application/json" id="layout">(.*?)</script>', re.S)


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
        path.open("a").close()
    except OSError as error:
        raise LiveError(f"{path}: {error.strerror}") from error


def read(path: Path) -> tuple[dict, list[dict], bool]:
    """The layout and the frames of a recording, and whether it is whole.

    LiveError if the file is no recording, or damaged, or of another version.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise LiveError(f"{path}: {getattr(error, 'strerror', 'not a recording')}") from error
    found = LAYOUT.search(text)
    if found is None:
        raise LiveError(f"{path}: not a recording")
    try:
        layout = json.loads(found[1])
        if layout["version"] != VERSION:
            raise LiveError(f"{path}: a recording of version {layout['version']}; this program reads {VERSION}")
        pieces = [(int(n), json.loads(zlib.decompress(base64.b64decode(data)))) for n, data in PIECES.findall(text)]
        if any(len(piece) != n or not all("w" in frame for frame in piece) for n, piece in pieces) or "title" not in layout:
            raise ValueError
    except (KeyError, TypeError, ValueError, zlib.error):
        raise LiveError(f"{path}: the recording is damaged") from None
    frames = [frame for _, piece in pieces for frame in piece]
    return layout, frames, text.rstrip().endswith("</html>")


def page(layout: dict) -> str:
    """The page with everything inside."""
    text = (PAGE / "live.html").read_text()
    names = [name for name in SCRIPT.findall(text) if name != "heat.js"]  # page heat is not recorded
    scripts = "".join(f"<script>{(PAGE / name).read_text()}</script>\n" for name in names)
    style, data = (PAGE / "live.css").read_text(), json.dumps(layout).replace("<", "\\u003c")
    text = text.replace('<link rel="stylesheet" href="live.css">', f"<style>{style}</style>")
    text = SCRIPT.sub("", text).replace("</head>", f'<script type="application/json" id="layout">{data}</script>\n</head>')
    return text.replace("</body>", scripts).replace("</html>", "")


class Recorder:
    """Writes a recording.  Each function: OSError if the file cannot be written."""

    def __init__(self, path: Path, layout: dict) -> None:
        self._frames: list[str] = []
        self._marks: list[str] = []  # of these frames: number and letter
        self._file = path.open("w")
        self._file.write(page(layout))

    def add(self, frame: str, events: list[list]) -> None:
        """Add a frame, as text."""
        kinds = {MARKED[kind] for kind, *_ in events if kind in MARKED}
        self._marks += [f"{len(self._frames)}{kind}" for kind in sorted(kinds)]
        self._frames.append(frame)
        if len(self._frames) == PIECE:
            self._write()

    def _write(self) -> None:
        if self._frames:
            data = zlib.compress(("[" + ",".join(self._frames) + "]").encode(), 9)
            text = base64.b64encode(data).decode()
            marks = " ".join(self._marks)
            self._file.write(f'<script type="x-frames" data-n="{len(self._frames)}" data-marks="{marks}">{text}</script>\n')
            self._file.flush()
            self._frames, self._marks = [], []

    def close(self) -> None:
        self._write()
        self._file.write("</body></html>\n")
        self._file.close()


def main() -> int:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        if not name:
            raise LiveError("write FILE=recording.html; make live RECORD=recording.html makes one")
        layout, frames, whole = read(Path(name))
    except LiveError as error:
        print(f"replay: {error}", file=sys.stderr)
        return 1
    seconds = frames[-1]["w"] - frames[0]["w"] if frames else 0
    address = Path(name).absolute().as_uri()
    print(f"replay: {layout['title']}, {len(frames)} frames, {seconds:.0f} s{'' if whole else ', cut short'}: {address}")
    webbrowser.open(address)
    return 0


if __name__ == "__main__":
    sys.exit(main())
