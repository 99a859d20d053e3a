# SPDX-License-Identifier: MIT
"""server.py - show a running machine as a page in a browser: `make live`.

    make live MACHINE=sf15k           start this machine (with the RUN=, MODEL= ... of make qemu-sf15k), and show it
    make live                         show the machine that was started last; PID=: that of this QEMU process
    make live RECORD=file.html        and write what the page shows into a file, which opens in a browser without a server
    make replay FILE=file.html        open such a file

THEORY      One thread reads the machine ten times a second (state.py) and gives the frame to all pages that are open, as
            server-sent events.  If no page is open and nothing is recorded, it does not read.  A recording begins with the
            first frame, so a machine that cannot be shown leaves the file as it was.  The server listens on the
            loopback address only, and answers only requests that name this address: so a page of another origin cannot read
            the machine by a name that it lets point here.
            The page consists of the files in the folder page/, which refer to nothing outside.
            Each start of the server has an id, which the layout and each stream of frames name first.  A browser connects a
            stream again by itself; if another server answers then, the page loads itself again, and so the other machine.
EXIT        0: the machine has ended, or Ctrl-C, or SIGTERM.  1: there is nothing to show.  2: wrong options
SEE ALSO    state.py, record.py, page/, docs/live.md
"""

import argparse
import json
import math
import os
import queue
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from homeroom import guest, heat
from homeroom.live import layout, record
from homeroom.live.memory import LiveError, Process, find, processes
from homeroom.live.state import ENCODE, frames_of
from homeroom.machine import TOP

PAGE = Path(__file__).parent / "page"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript"}
FILES = {"/": "live.html"} | {
    f"/{name}": name for name in ("live.css", "picture.js", "live.js", "keys.js", "tape.js", "heat.js")
}
PORT = "8015"
HTTP_PORT = 80
PERIOD = 0.1  # seconds between two frames
DELAY = 0.5  # seconds of delay that are made up for
WAITING = 50  # frames that a page may be behind before it loses some
FAREWELL = 5  # seconds in which the pages get their last event
LOAD = 49  # page heat: pause for each second of CPU time that a picture has used, in seconds; so it uses 2 % of a CPU
POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:"


class BusyError(Exception):
    """It is not the turn of this request."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds  # after which to try again
        super().__init__(f"page heat uses at most 2 % of a CPU: it pauses for {self.seconds} s")


class Turns:
    """Lets one request at a time through; after each there is a pause."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due = 0.0  # when the next may begin, in seconds of time.monotonic()

    def left(self) -> int:
        """The seconds until the next may begin, rounded up."""
        return max(0, math.ceil(self._due - time.monotonic()))

    @contextmanager
    def take(self) -> Iterator[None]:
        """For the work of one request.  BusyError if another one is at work, or in the pause after it."""
        if not self._lock.acquire(blocking=False):
            raise BusyError(1)
        try:
            if left := self.left():
                raise BusyError(left)
            began = time.thread_time()
            try:
                yield
            finally:
                self._due = time.monotonic() + LOAD * (time.thread_time() - began)
        finally:
            self._lock.release()


class Feed:
    """Reads one machine, and gives its frames to each page that is open."""

    def __init__(self, process: Process, file: Path | None) -> None:
        """`file`: for a recording, or None."""
        self.process, self.layout = process, layout.of(process)
        self.heat_turns = Turns()
        self._file = file
        self._recorder: record.Recorder | None = None
        self.ended = ""  # why there are no more frames
        self.failed = False  # whether that is an error
        self._due = 0.0  # when the last frame should have been read, in seconds of time.monotonic()
        self._listeners: list[queue.Queue] = []
        self._changed = threading.Condition()

    @cached_property
    def heat(self) -> heat.Reader:
        """The page heat of the machine.  LiveError if it does not count, or its kernel has not started."""
        return heat.Reader(self.process)

    def listen(self) -> queue.Queue:
        frames: queue.Queue = queue.Queue(WAITING)
        with self._changed:
            self._listeners.append(frames)
            if self.ended:
                frames.put_nowait("")
            self._changed.notify()
        return frames

    def leave(self, frames: queue.Queue) -> None:
        with self._changed:
            self._listeners.remove(frames)
            self._changed.notify()

    def wait_until_left(self) -> None:
        """Wait until each page has got its last event, but not for longer than FAREWELL."""
        with self._changed:
            self._changed.wait_for(lambda: not self._listeners, FAREWELL)

    def _give(self, text: str) -> None:
        """A frame, or "": there are no more."""
        with self._changed:
            for frames in self._listeners:
                if not text and frames.full():
                    with suppress(queue.Empty):
                        frames.get_nowait()
                with suppress(queue.Full):  # a slow page; it continues with a later frame
                    frames.put_nowait(text)

    def _wait_for_listeners(self) -> None:
        with self._changed:
            while not self._listeners and self._file is None and self.process.runs():
                self._changed.wait(1)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """If the disk is full, the page goes on without a recording."""
        try:
            yield
        except OSError as error:
            what = "the recording ends here" if self._recorder else f"nothing is recorded: {self._file}"
            print(f"live: {what}: {error.strerror}", file=sys.stderr)
            self._file = self._recorder = None

    def _record(self, text: str, frame: dict) -> None:
        with self._writing():
            if self._file is not None and self._recorder is None:
                self._recorder = record.Recorder(self._file, self.layout)
            if self._recorder is not None:
                self._recorder.add(text, frame)

    def stop_recording(self) -> None:
        """Write the end of the recording, and say where it is."""
        with self._writing():
            if self._recorder is not None:
                self._recorder.close()
                print(f"live: the recording is {self._file}")
            elif self._file is not None:
                print(f"live: nothing was recorded, and {self._file} is as it was", file=sys.stderr)

    def _pause(self) -> None:
        """Wait for the time of the next frame, and until the frame is wanted.  The frames after a delay come sooner."""
        now = time.monotonic()
        self._due = max(self._due + PERIOD, now - DELAY)
        time.sleep(max(0.0, self._due - now))
        self._wait_for_listeners()

    def run(self) -> None:
        """Read until the machine ends."""
        self._wait_for_listeners()
        try:
            for frame in frames_of(self.process, self._pause):
                text = ENCODE(frame)
                self._record(text, frame)
                self._give(text)
            self.ended = "the machine has ended"
        except LiveError as error:
            self.ended, self.failed = str(error), True
        self._give("")


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    timeout = 20  # seconds for a request, and for a page to take a frame
    server: "Server"

    def log_message(self, format: str, *args) -> None:
        """Nothing: requests are not worth a line."""

    def _send(self, status: int, kind: str, data: bytes, **more: str) -> None:
        self.send_response(status)
        fixed = {"Content-Type": kind, "Content-Length": str(len(data)), "Cache-Control": "no-store"}
        for name, value in (fixed | more).items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.headers.get("Host", "") not in self.server.hosts:
            self._send(403, "text/plain", b"this server answers on the loopback address only\n")
        elif self.path == "/frames":
            self._frames()
        elif self.path == "/layout":
            self._send(200, "application/json", json.dumps(self.server.feed.layout | {"server": self.server.id}).encode())
        elif self.path.startswith("/heat?pid="):
            self._heat(self.path.removeprefix("/heat?pid="))
        elif self.path in FILES:
            path = PAGE / FILES[self.path]
            self._send(200, TYPES[path.suffix], path.read_bytes())
        else:
            self._send(404, "text/plain", b"not found\n")

    def _heat(self, pid: str) -> None:
        """The address space of one process of the guest, computed for this request."""
        turns = self.server.feed.heat_turns
        try:
            if not pid.isdecimal() or len(pid) > 9:
                raise LiveError("there is no such process")
            with turns.take():
                found = self.server.feed.heat.picture(int(pid))
                data = json.dumps(found, separators=(",", ":")).encode()
            self._send(200, "application/json", data, **{"Retry-After": str(turns.left())})
        except BusyError as error:
            self._send(503, "text/plain", f"{error}\n".encode(), **{"Retry-After": str(error.seconds)})
        except LiveError as error:
            self._send(404, "text/plain", f"{error}\n".encode())

    def _frames(self) -> None:
        """Server-sent events: the id of the server, then a frame each, until the machine or the page ends."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        frames = self.server.feed.listen()
        try:
            self.wfile.write(b"event: server\ndata: " + self.server.id.encode() + b"\n\n")
            while text := frames.get():
                self.wfile.write(b"data: " + text.encode() + b"\n\n")
            self.wfile.write(b"event: end\ndata: " + self.server.feed.ended.encode() + b"\n\n")
        except OSError:  # the page was closed
            pass
        finally:
            self.server.feed.leave(frames)
            self.close_connection = True


def hosts_of(port: int) -> set[str]:
    """What requests to the loopback address have as Host.  A browser leaves out the default port of HTTP."""
    names = ("127.0.0.1", "localhost")
    return {f"{name}:{port}" for name in names} | ({*names} if port == HTTP_PORT else set())


class Server(ThreadingHTTPServer):
    """The server of one machine."""

    daemon_threads = True
    request_queue_size = 128  # with the default of 5, some of many connections at once wait for a second

    def handle_error(self, request, client_address) -> None:
        """Nothing if the other side has closed the connection."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.feed: Feed | None = None  # set before the first request is answered
        self.id = secrets.token_hex(8)
        self.hosts = hosts_of(self.server_port)


def started(launcher: subprocess.Popen) -> Process | None:
    """The machine that a launcher starts; None: it has ended already."""
    while launcher.poll() is None:
        for process in processes():
            if process.parent == launcher.pid:
                return process
        time.sleep(0.05)
    return None


def show(process: Process, server: Server, file: Path | None) -> bool:
    """Show the machine until it ends, and say why there are no more frames.  Returns whether it could be shown."""
    server.feed = feed = Feed(process, file)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        feed.run()
    finally:
        feed.stop_recording()
    feed.wait_until_left()
    server.shutdown()
    print(f"live: {feed.ended}", file=sys.stderr if feed.failed else sys.stdout)
    return not feed.failed


def listen(port: str) -> Server:
    """A server at a port of the loopback address.  LiveError if that is not possible."""
    if not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        raise LiveError(f"PORT={port}: write a number from 0 to 65535; 0 is any port that is free")
    try:
        return Server(int(port))
    except OSError as error:
        raise LiveError(f"port {port}: {error.strerror}; name another with PORT=") from error


def check_apart(file: Path, machine: str | None) -> None:
    """LiveError if the machine that is started writes another file in the place of the recording."""
    for name in ("TRACE", "MODEL_PAGE") if machine is not None else ():
        if (other := os.environ.get(name)) and guest.same_file(file, Path(other)):
            raise LiveError(f"{file} is RECORD and {name} at once: name another file for one of them")


def main() -> int:
    parser = argparse.ArgumentParser(prog="live", description="show a running machine as a page in a browser")
    parser.add_argument("--port", default=PORT, help="port on the loopback address (0: any free one)")
    parser.add_argument("--record", type=Path, help="write a recording into this file (.html)")
    parser.add_argument("--pid", help="the QEMU process of the machine, if several run")
    parser.add_argument("--machine", help="start this machine, with the variables of make, and show it")
    parser.add_argument("--iso", help="image of --machine")
    args = parser.parse_args()
    launcher = None
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends a recording, too
    try:
        if args.record is not None:
            record.check(args.record)
            check_apart(args.record, args.machine)
        server = listen(args.port.strip() or PORT)
        process = find("live", args.pid) if args.machine is None else None
        shown = args.machine or f"{process.name} (Ctrl-C ends this)"
        print(f"live: http://127.0.0.1:{server.server_port}/ shows {shown}", flush=True)
        if args.machine is not None:
            command = [sys.executable, str(TOP / "qemu/launch.py"), args.machine, "--make", "--iso", args.iso]
            launcher = subprocess.Popen(command)  # with the variables of make; its console is ours
            process = started(launcher)
        if process is not None and not show(process, server, args.record) and launcher is None:
            return 1
    except LiveError as error:
        print(f"live: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        if launcher is not None:
            launcher.terminate()
    return launcher.wait() if launcher else 0


if __name__ == "__main__":
    sys.exit(main())
