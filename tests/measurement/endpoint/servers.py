"""Servers on the loopback: one plays a script, and the reference server runs in its own process."""

from __future__ import annotations

import json
import socketserver
import subprocess
import sys
import threading
from contextlib import contextmanager

MODELS = {"object": "list", "data": [{"id": "tiny", "owned_by": "vllm", "max_model_len": 4096}]}
USAGE = {"prompt_tokens": 32, "completion_tokens": 2}


def reply(data, status="200 OK", kind="application/json", more=""):
    """Return an answer with a length."""
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def chunked(*pieces, end=True):
    """Return a stream of events, each piece a chunk of its own."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return head + body + (b"0\r\n\r\n" if end else b"")


def event(data):
    """Return one event."""
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def text(said="a", finish=None):
    """Return the event of a completion."""
    return event({"choices": [{"index": 0, "text": said, "finish_reason": finish}]})


def delta(finish=None, **said):
    """Return the event of a chat."""
    return event({"choices": [{"index": 0, "delta": said, "finish_reason": finish}]})


def usage(**counts):
    """Return the last event, with nothing but counts."""
    return event({"choices": [], "usage": counts or USAGE})


DONE = event(b"[DONE]")
GOOD = chunked(text(), text("b", "length"), usage(), DONE)


class Script(socketserver.ThreadingTCPServer):
    """Answers each request by what `answer(method, path, body)` returns: bytes, or None to hang."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.heard = []
        self.stopped = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while line := self.rfile.readline():
            if len(line.split()) != 3 or not line.isascii():
                return
            method, path, _ = line.decode().split()
            fields = {}
            while (line := self.rfile.readline().strip()) != b"":
                name, _, value = line.decode().partition(":")
                fields[name.lower()] = value.strip()
            raw = self.rfile.read(int(fields.get("content-length", 0)))
            body = json.loads(raw) if raw else None
            self.server.heard.append((method, path, fields, body))
            answer = self.server.answer(method, path, body)
            if answer is None:
                self.server.stopped.wait(20)
                return
            try:
                if isinstance(answer, bytes):
                    self.wfile.write(answer)
                else:
                    for piece in answer:
                        self.wfile.write(piece)
                        self.wfile.flush()
            except OSError:
                return
            if b"Connection: close" in (answer if isinstance(answer, bytes) else b""):
                return


@contextmanager
def serving(answer):
    """Serve a script while the block runs."""
    server = Script(answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()


def answering(posted, after=0):
    """Return the script of a server that gives some good answers, and then `posted`."""
    left = [after]

    def answer(method, path, body):
        if path == "/v1/models":
            return reply(MODELS)
        if path == "/version":
            return reply({"version": "0.20.2"})
        if method == "POST" and path.startswith("/v1/"):
            left[0] -= 1
            if left[0] >= 0:
                return GOOD
            return posted(body) if callable(posted) else posted
        return reply({"error": {"message": "no such path"}}, "404 Not Found")

    return answer


@contextmanager
def reference(*words):
    """Run the reference server in a process of its own and give its address."""
    command = [sys.executable, "-m", "planner.measurement.endpoint.reference_server", "--port", "0", *words]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
