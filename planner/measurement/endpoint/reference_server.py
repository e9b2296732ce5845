"""A server of known delays that speaks the OpenAI API, to check a load generator against.

    python -m planner.measurement.endpoint.reference_server --port 8000 --ttft-ms 200 --itl-ms 20

It generates nothing: the first output of a request leaves after the TTFT, each later one after the ITL, both
optionally spread by a seeded lognormal. `/recorded` gives the times at which it received and sent.

It speaks just enough HTTP/1.1 by itself: what a web framework takes for each request would be part of the
delays. A request is stamped before it is read, and read while its delay runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

MODEL = "reference"
MOST_RECORDED = 100_000
WORD = " word"
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found"}
DONE = b"data: [DONE]\n\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Delays:
    """What the server takes.

    Parameters
    ----------
    ttft_s, itl_s : float
        Time to the first output, and between two [s].
    cv : float
        Spread of both, standard deviation over mean; 0 makes each the same.
    tokens_per_chunk : int
        Tokens that leave together.
    """

    ttft_s: float
    itl_s: float
    cv: float = 0.0
    tokens_per_chunk: int = 1

    def draw(self, tokens: int, rng: random.Random) -> Iterator[tuple[float, int]]:
        """Yield when each chunk of a request leaves, from its arrival [s], and the tokens in it."""
        variance = math.log1p(self.cv**2)
        due, left = self.ttft_s * self._factor(variance, rng), tokens
        while left > 0:
            size = min(left, self.tokens_per_chunk)
            yield due, size
            left -= size
            due += self.itl_s * size * self._factor(variance, rng)

    def _factor(self, variance: float, rng: random.Random) -> float:
        """Return a lognormal factor of mean 1."""
        return math.exp(rng.gauss(-variance / 2, math.sqrt(variance))) if variance else 1.0


@dataclass
class Reference:
    """What all connections share."""

    delays: Delays
    rng: random.Random
    tokenize: bool = True
    recorded: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MOST_RECORDED))

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any] | None:
        """Return status and JSON of what is no stream; None of a request that is answered by a stream."""
        match method, path:
            case "GET", "/v1/models":
                return 200, {"object": "list", "data": [{"id": MODEL, "owned_by": "planner"}]}
            case "GET", "/health":
                return 200, {}
            case "GET", "/recorded":
                return 200, list(self.recorded)
            case "POST", "/tokenize" if self.tokenize:
                return 200, {"count": tokens_of(body)}
            case "POST", "/v1/completions" | "/v1/chat/completions":
                model = body.get("model")
                return None if model == MODEL else (404, error(f"The model {model!r} does not exist."))
        return 404, error(f"There is no {method} {path}.")


class Connection(asyncio.Protocol):
    """One connection: requests one after another, each answered before the next."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        self._loop = asyncio.get_running_loop()
        self._data = bytearray()
        self._received: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        """Stop a stream that nobody reads any more."""
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Stamp a request as soon as its first bytes are there; read it when the others have been stamped."""
        if self._received is None:
            self._received = perf_counter()
        self._data += data
        self._loop.call_soon(self._read)

    def _read(self) -> None:
        head, blank, rest = self._data.partition(b"\r\n\r\n")
        if not blank or self._received is None:
            return
        lines = head.decode("latin-1").split("\r\n")
        fields = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        length = int(fields.get("content-length", 0))
        if len(rest) < length:
            return
        self._data = rest[length:]
        method, path, _ = lines[0].split(" ")
        try:
            body = json.loads(rest[:length]) if length else {}
        except ValueError:
            self._send_json(400, error("The body is not JSON."))
            return
        answer = self._reference.answer(method, path, body)
        if answer is None:
            self._begin(body, chat="chat" in path)
        else:
            self._send_json(*answer)

    def _send_json(self, status: int, data: Any) -> None:
        body = json.dumps(data).encode()
        head = f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: application/json\r\n"
        self._transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self._received = None

    def _begin(self, body: dict[str, Any], chat: bool) -> None:
        """Send the head of a stream and set the time of its first output."""
        tokens = int(body.get("max_tokens") or body.get("max_completion_tokens") or 16)
        role = event({"choices": [{"index": 0, "delta": {"role": "assistant"}}]}) if chat else b""
        self._transport.write(STREAM + chunked(role))
        end = DONE
        if (body.get("stream_options") or {}).get("include_usage"):
            prompt = tokens_of(body)
            usage = {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
            end = event({"choices": [], "usage": usage}) + DONE
        moments = list(self._reference.delays.draw(tokens, self._reference.rng))
        self._next(moments, 0, chat, end, [])

    def _next(
        self, moments: list[tuple[float, int]], number: int, chat: bool, end: bytes, sent: list[float]
    ) -> None:
        assert self._received is not None
        if number < len(moments):
            wait = self._received + moments[number][0] - perf_counter()
            self._timer = self._loop.call_later(wait, self._output, moments, number, chat, end, sent)
            return
        tokens = sum(size for _, size in moments)
        self._reference.recorded.append({"received_s": self._received, "sent_s": sent, "tokens": tokens})
        self._received = None

    def _output(
        self, moments: list[tuple[float, int]], number: int, chat: bool, end: bytes, sent: list[float]
    ) -> None:
        last = number == len(moments) - 1
        text = output(WORD * moments[number][1], chat, last)
        sent.append(perf_counter())
        self._transport.write(chunked(text) + (chunked(end) + b"0\r\n\r\n" if last else b""))
        self._next(moments, number + 1, chat, end, sent)


def tokens_of(body: dict[str, Any]) -> int:
    """Return the tokens of a request: ids, or words, of which a chat has three more."""
    if "messages" in body:
        contents = [message.get("content") or "" for message in body["messages"]]
        texts = [part if isinstance(part, str) else _text_of(part) for part in contents]
        return 3 + sum(len(text.split()) for text in texts)
    prompt = body.get("prompt", "")
    return len(prompt) if isinstance(prompt, list) else len(prompt.split())


def _text_of(parts: list[dict[str, Any]]) -> str:
    """Return the text of a message that is given in parts."""
    return " ".join(str(part.get("text", "")) for part in parts)


def error(message: str) -> dict[str, Any]:
    """Return the body of an error."""
    return {"error": {"message": message}}


def event(data: dict[str, Any]) -> bytes:
    """Return one event."""
    return b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


def output(text: str, chat: bool, last: bool) -> bytes:
    """Return the event of some output."""
    said = {"delta": {"content": text}} if chat else {"text": text}
    return event({"choices": [{"index": 0, **said, "finish_reason": "length" if last else None}]})


def chunked(data: bytes) -> bytes:
    """Return data as a chunk of HTTP; nothing of nothing, since an empty chunk ends a body."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="reference_server", description="A server of known delays.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes any free port")
    parser.add_argument("--ttft-ms", type=float, default=100.0, help="time to the first token")
    parser.add_argument("--itl-ms", type=float, default=20.0, help="time of each later token")
    parser.add_argument("--cv", type=float, default=0.0, help="spread of both: standard deviation over mean")
    parser.add_argument("--tokens-per-chunk", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-tokenize", action="store_true", help="without /tokenize")
    asked = parser.parse_args()
    delays = Delays(asked.ttft_ms / 1e3, asked.itl_ms / 1e3, asked.cv, asked.tokens_per_chunk)
    reference = Reference(delays, random.Random(asked.seed), tokenize=not asked.no_tokenize)
    asyncio.run(_serve(reference, asked.host, asked.port))


async def _serve(reference: Reference, host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(reference), host, port, backlog=4096)
    address = server.sockets[0].getsockname()
    # The only line: whoever started the server waits for it.
    print(f"http://{address[0]}:{address[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    main()
