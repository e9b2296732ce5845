"""One request: send it, read its stream as it comes, and note when each output arrived."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter

from planner.measurement.endpoint.events import (
    DONE,
    BadStream,
    EventReader,
    Usage,
    error_message,
    read_event,
)
from planner.measurement.endpoint.http import Failed, Http
from planner.measurement.endpoint.records import Outcome

OK = 200
AFTER_DONE_S = 1.0
"""How long an answer may stay open after its last event; some servers never end it."""

LONGEST_ANSWER_BYTES = 1 << 16
"""Of a body that is no stream: enough for any message of an error."""

EVENT_BYTES = 1 << 14
"""Bytes that a server may send for each token asked for before its stream counts as endless."""

LONGEST_FINISH = 40
ENDLESS_FACTOR, ENDLESS_TOKENS = 4, 1024
"""A stream is cut after so many times the output asked for, and so many events more."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request that is ready to be sent.

    Parameters
    ----------
    number : int
        Which request of its point.
    counts : bool
        False for the warm-up.
    isl, osl : int
        Tokens that are asked for.
    body : bytes
        JSON.
    planned_s : float or None
        When it is to be sent, from the start of the point; None in a closed loop [s].
    """

    number: int
    counts: bool
    isl: int
    osl: int
    body: bytes
    planned_s: float | None = None


class _Heard:
    """What has come of an answer so far; times are those of `perf_counter`."""

    def __init__(self, osl: int) -> None:
        self.at_done: Callable[[], None] = lambda: None
        self._most_events = max(ENDLESS_FACTOR * osl, osl + ENDLESS_TOKENS)
        self._most_bytes = EVENT_BYTES * (osl + ENDLESS_TOKENS)
        self._reader = EventReader()
        self._events = self._size = 0
        self._whole: bytearray | None = None
        self._begun = False
        self._status = 0
        self.fields: Mapping[str, str] = {}
        self.times: list[float] = []
        self.last: float | None = None
        self.usage: Usage | None = None
        self.finish: str | None = None
        self.done = False

    def head(self, status: int, fields: Mapping[str, str]) -> None:
        """Note what kind of answer it is; a stream is read as it comes, a refusal when it is whole."""
        self.fields, self._status = fields, status
        coding = fields.get("content-encoding", "").lower()
        if status != OK:
            self._whole = bytearray()
        elif coding not in ("", "identity"):
            raise Failed("protocol", f"the answer is packed ({coding[:20]}), although it was asked for plain")

    def piece(self, data: bytes, now: float) -> None:
        """Take a part of the body; whatever it is called, one that begins like JSON is no stream."""
        if not self._begun and (start := data.lstrip()):
            self._begun = True
            if start.startswith(b"{"):
                self._whole = bytearray()
        if self._whole is not None:
            self._whole += data[: LONGEST_ANSWER_BYTES - len(self._whole)]
        self._size += len(data)
        if self._size > self._most_bytes:
            raise Failed("endless", f"more than {self._most_bytes:,} bytes")
        if self._whole is None:
            for event in self._reader.feed(data):
                self._event(event, now)

    def end(self) -> None:
        """Take the end of the answer, and refuse one that is no whole stream."""
        if self._whole is not None:
            if self._status != OK:
                raise Failed(f"http-{self._status}", failure_text(self.fields, bytes(self._whole)))
            raise Failed("not-streamed", "the whole answer came at once, although a stream was asked for")
        now = perf_counter()
        for event in self._reader.end():
            self._event(event, now)

    def _event(self, data: bytes, now: float) -> None:
        if data == DONE:
            self.done = True
            self.at_done()
            return
        said = read_event(data)
        self._events += 1
        if self._events > self._most_events:
            raise Failed("endless", f"more than {self._most_events:,} events")
        if said.error is not None:
            raise Failed("server-error", said.error)
        if said.token:
            self.times.append(now)
        if said.token or said.finish is not None:
            self.last = now
            self.finish = said.finish or self.finish
        if said.usage is not None and (self.usage is None or said.usage.output_tokens is not None):
            self.usage = said.usage


class Client:
    """Sends requests to one address.

    Parameters
    ----------
    http : Http
        The server.
    url : str
        Where requests go.
    timeout_s : float
        For a whole request [s].
    hide : callable
        Takes secrets out of a text of the server's.
    """

    def __init__(self, http: Http, url: str, timeout_s: float, hide: Callable[[str], str]) -> None:
        self._http = http
        self._url = url
        self._timeout_s = timeout_s
        self._hide = hide

    async def ask(self, call: Call, started: float) -> Outcome:
        """Send one request and wait for the end of its stream.

        Parameters
        ----------
        call : Call
            The request.
        started : float
            Start of the point, of `perf_counter` [s].

        Returns
        -------
        Outcome
            Also where the request failed.
        """
        heard = _Heard(call.osl)
        error, detail = None, ""
        request = self._http.request("POST", self._url, call.body)
        sent = perf_counter()
        try:
            await self._hear(request, heard)
            _check(heard, call.osl)
        except Failed as failure:
            error, detail = failure.kind, failure.detail
        except BadStream as failure:
            error, detail = "bad-stream", str(failure)
        except TimeoutError:
            error, detail = "timeout", f"no end after {self._timeout_s:g} s"
        except OSError as failure:
            error, detail = "disconnected", str(failure.strerror or failure)
        finish = None if heard.finish is None else self._hide(heard.finish)[:LONGEST_FINISH]
        return _outcome(call, heard, sent - started, sent, finish, error, self._hide(detail)[:300])

    async def _hear(self, request: bytes, heard: _Heard) -> None:
        """Send a request and hear its answer, not waiting long for the end of one whose stream has ended."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                heard.at_done = lambda: limit.reschedule(loop.time() + AFTER_DONE_S)
                await self._http.exchange(request, heard)
        except TimeoutError:
            if not heard.done:
                raise
        heard.end()


def _check(heard: _Heard, osl: int) -> None:
    """Refuse a stream that came to an end too early."""
    if not heard.times:
        raise Failed("no-output", "the stream ended without output")
    whole = heard.done or heard.finish is not None or heard.usage is not None or len(heard.times) >= osl
    if not whole:
        raise Failed("cut-off", f"the stream ended after {len(heard.times):,} of {osl:,} tokens")


def _outcome(
    call: Call, heard: _Heard, sent_s: float, sent: float, finish: str | None, error: str | None, detail: str
) -> Outcome:
    times, usage = heard.times, heard.usage or Usage(None, None, None)
    return Outcome(
        number=call.number,
        counts=call.counts,
        sent_s=sent_s,
        late_s=0.0 if call.planned_s is None else sent_s - call.planned_s,
        ttft_s=times[0] - sent if times else None,
        e2e_s=heard.last - sent if times and heard.last is not None else None,
        gaps_s=tuple(after - before for before, after in pairwise(times)),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        chunks=len(times),
        asked_isl=call.isl,
        asked_osl=call.osl,
        finish=finish,
        error=error,
        detail=detail,
    )


def failure_text(fields: Mapping[str, str], body: bytes) -> str:
    """Return what a server says of a request that it refuses.

    Parameters
    ----------
    fields : mapping
        Of the head.
    body : bytes
        The body, or its start.

    Returns
    -------
    str
        Where it redirects to, else the message of a JSON body, else the start of the body.
    """
    if location := fields.get("location"):
        return f"redirects to {location[:200]}"
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return " ".join(body.decode(errors="replace").split())[:200] or "no reason given"
    error = found.get("error") if isinstance(found, dict) and found.get("error") else found
    return error_message(error)
