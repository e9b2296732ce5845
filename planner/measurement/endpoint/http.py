"""Just enough HTTP/1.1 to load a server: a request leaves at once, and each piece of its answer is stamped.

A general client takes several times as long for a request, and sends it from a task of its own: with
hundreds of streams that end together, this would stand in the times.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from time import perf_counter
from typing import Protocol, cast
from urllib.parse import urlsplit

from planner.units import whole_number

LONGEST_HEAD_BYTES = 1 << 16
LONGEST_SIZE_LINE_BYTES = 1 << 10
KEEP_OPEN_S = 4.0
"""Below the 5 s after which common servers close a connection that nobody uses."""

_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: |$)")
_SIZE = re.compile(rb"\s*([0-9a-fA-F]{1,15})\s*(;.*)?", re.DOTALL)


class Failed(Exception):
    """A request that did not end as it should: the kind of the error, and what it was."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


class Listener(Protocol):
    """Hears an answer as it comes."""

    def head(self, status: int, fields: Mapping[str, str]) -> None:
        """Take the status and the fields of the head, names in lower case."""

    def piece(self, data: bytes, now: float) -> None:
        """Take a part of the body, with the time it came [s of perf_counter]."""


class _Part(Enum):
    """What of an answer comes next."""

    HEAD = auto()
    CHUNK_SIZE = auto()
    CHUNK = auto()
    CHUNK_END = auto()
    TRAILER = auto()
    COUNTED = auto()
    TO_THE_END = auto()
    IDLE = auto()


class Connection(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._part = _Part.IDLE
        self._left = 0
        self._listener: Listener | None = None
        self._ended: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self.heard = False
        """Whether anything of the present answer has come."""
        self.open = True
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # Event loops have transports of their own classes.
        self._transport = cast(asyncio.Transport, transport)

    async def exchange(self, request: bytes, listener: Listener) -> None:
        """Send a request and wait for the end of its answer.

        Parameters
        ----------
        request : bytes
            Head and body.
        listener : Listener
            Hears the answer; what it raises ends the exchange.
        """
        assert self._transport is not None
        if not self.open:
            raise Failed("disconnected", "the server closed the connection")
        self._listener, self._part, self.heard = listener, _Part.HEAD, False
        self._ended = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            await self._ended
        except BaseException:
            self.close()
            raise
        finally:
            self._listener, self._ended = None, None

    def close(self) -> None:
        """Cut the connection."""
        self.open = False
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        now = perf_counter()
        if self._ended is None or self._ended.done():
            self.close()  # Nothing was asked.
            return
        self.heard = True
        self._buffer += data
        try:
            while self._part is not _Part.IDLE and self._advance(now):
                pass
        except Exception as error:
            self._end(error)

    def eof_received(self) -> None:
        """Let the transport close."""

    def connection_lost(self, exc: Exception | None) -> None:
        """End an answer that goes on to the end of the connection; any other is cut off."""
        self.open = False
        if self._ended is None or self._ended.done():
            return
        if self._part is _Part.TO_THE_END and exc is None:
            self._end(None)
        elif self.heard:
            self._end(Failed("cut-off", "the connection ended in the middle of the answer"))
        else:
            self._end(Failed("disconnected", "the server closed the connection without an answer"))

    def _end(self, error: Exception | None) -> None:
        self._part = _Part.IDLE
        self.idle_since = perf_counter()
        if self._ended is not None and not self._ended.done():
            if error is None:
                self._ended.set_result(None)
            else:
                self._ended.set_exception(error)

    def _advance(self, now: float) -> bool:
        """Read one part of the answer; return whether there may be more to read."""
        match self._part:
            case _Part.CHUNK_SIZE:
                return self._chunk_size()
            case _Part.CHUNK | _Part.COUNTED:
                return self._counted(now)
            case _Part.CHUNK_END:
                line = self._line(LONGEST_SIZE_LINE_BYTES)
                if line:
                    raise Failed("protocol", "a chunk is longer than it says")
                self._part = self._part if line is None else _Part.CHUNK_SIZE
                return line is not None
            case _Part.TRAILER:
                line = self._line(LONGEST_HEAD_BYTES)
                if line == b"":
                    self._end(None)
                return line is not None
            case _Part.TO_THE_END:
                self._tell(len(self._buffer), now)
                return False
        return self._head()

    def _line(self, longest: int) -> bytes | None:
        """Take a line off the buffer; None while it is not whole."""
        end = self._buffer.find(b"\r\n")
        if end > longest or (end < 0 and len(self._buffer) > longest):
            raise Failed("protocol", f"a line of more than {longest:,} bytes")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _chunk_size(self) -> bool:
        line = self._line(LONGEST_SIZE_LINE_BYTES)
        if line is None:
            return False
        size = _SIZE.fullmatch(line)
        if size is None:
            raise Failed("protocol", "a chunk without its size")
        self._left = int(size[1], 16)
        self._part = _Part.CHUNK if self._left else _Part.TRAILER
        return True

    def _counted(self, now: float) -> bool:
        taken = min(self._left, len(self._buffer))
        self._left -= taken
        self._tell(taken, now)
        if self._left:
            return False
        if self._part is _Part.COUNTED:
            self._end(None)
        else:
            self._part = _Part.CHUNK_END
        return True

    def _tell(self, size: int, now: float) -> None:
        if size:
            piece = bytes(self._buffer[:size])
            del self._buffer[:size]
            assert self._listener is not None
            self._listener.piece(piece, now)

    def _head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > LONGEST_HEAD_BYTES:
                raise Failed("protocol", f"a head of more than {LONGEST_HEAD_BYTES:,} bytes")
            if not b"HTTP/1.".startswith(self._buffer[:7]):
                raise Failed("protocol", "no answer of HTTP/1.1")
            return False
        first, *rest = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        said = _STATUS.match(first)
        if said is None:
            raise Failed("protocol", "no answer of HTTP/1.1")
        status = int(said[2])
        if status < 200:
            return True
        parts = (line.decode("latin-1").partition(":") for line in rest)
        fields = {name.strip().lower(): value.strip() for name, _, value in parts}
        keeps = said[1] == b"1" and fields.get("connection", "").lower() != "close"
        self.open = self.open and keeps
        self._frame(status, fields)
        assert self._listener is not None
        self._listener.head(status, fields)
        if self._part is _Part.COUNTED and not self._left:
            self._end(None)
        return True

    def _frame(self, status: int, fields: Mapping[str, str]) -> None:
        """Find out where the body ends."""
        if "chunked" in fields.get("transfer-encoding", "").lower():
            self._part = _Part.CHUNK_SIZE
        elif (length := fields.get("content-length")) is not None or status in (204, 304):
            left = 0 if length is None else whole_number(length)
            if left is None:
                raise Failed("protocol", "a body whose length is no number")
            self._left, self._part = left, _Part.COUNTED
        else:
            self._part = _Part.TO_THE_END


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: status, fields of the head, and the start of the body."""

    status: int
    fields: Mapping[str, str]
    body: bytes


class _Collector:
    """Keeps a whole answer, up to a number of bytes."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self.status = 0
        self.fields: Mapping[str, str] = {}
        self.body = bytearray()

    def head(self, status: int, fields: Mapping[str, str]) -> None:
        self.status, self.fields = status, fields

    def piece(self, data: bytes, now: float) -> None:
        self.body += data
        if len(self.body) > self._longest:
            raise Failed("endless", f"an answer of more than {self._longest:,} bytes")


class Http:
    """Requests to one server, over connections that are kept open.

    Parameters
    ----------
    root : str
        Scheme, host and port.
    fields : mapping
        Of the head of each request.
    connect_s : float
        How long a connection may take [s].
    """

    def __init__(self, root: str, fields: Mapping[str, str], connect_s: float) -> None:
        parts = urlsplit(root)
        assert parts.hostname is not None
        secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port or (443 if secure else 80)
        self._tls = ssl.create_default_context() if secure else None
        self._connect_s = connect_s
        self._shake_s = connect_s / 2 if secure else None
        self._lines = "".join(
            f"{name}: {value}\r\n" for name, value in {"Host": parts.netloc, **fields}.items()
        )
        self._idle: list[Connection] = []

    def request(self, method: str, url: str, body: bytes = b"") -> bytes:
        """Return the bytes of a request."""
        path = urlsplit(url).path or "/"
        head = f"{method} {path} HTTP/1.1\r\n{self._lines}Content-Length: {len(body)}\r\n\r\n"
        return head.encode("latin-1") + body

    async def exchange(self, request: bytes, listener: Listener) -> None:
        """Send a request on a connection that is free, or a new one, and wait for the end of its answer.

        Parameters
        ----------
        request : bytes
            What `request` made.
        listener : Listener
            Hears the answer.

        Raises
        ------
        Failed
            When it does not end as it should; also whatever the listener raises.
        """
        kept = self._free()
        connection = kept or await self._connect()
        try:
            await connection.exchange(request, listener)
        except Failed as failure:
            if failure.kind != "disconnected" or kept is None:
                raise
            # A server may close a connection at the very moment at which it is used again.
            connection = await self._connect()
            await connection.exchange(request, listener)
        if connection.open:
            self._idle.append(connection)
        else:
            connection.close()

    async def fetch(self, method: str, url: str, body: bytes = b"", longest: int = 1 << 22) -> Answer:
        """Send a request and return its whole answer."""
        collector = _Collector(longest)
        await self.exchange(self.request(method, url, body), collector)
        return Answer(collector.status, collector.fields, bytes(collector.body))

    def close(self) -> None:
        """Close all connections that are free."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    def _free(self) -> Connection | None:
        now = perf_counter()
        while self._idle:
            connection = self._idle.pop()
            if connection.open and now - connection.idle_since < KEEP_OPEN_S:
                return connection
            connection.close()
        return None

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_s):
                _, connection = await loop.create_connection(
                    Connection, self._host, self._port, ssl=self._tls, ssl_handshake_timeout=self._shake_s
                )
        except ssl.SSLCertVerificationError as error:
            why = f"{error.verify_message.rstrip('.')}; SSL_CERT_FILE names an authority of your own"
            raise Failed("tls", f"no secure connection: {why}") from None
        except ssl.SSLError as error:
            raise Failed("tls", f"no secure connection: {error.reason or error}; is it http://?") from None
        except socket.gaierror:
            raise Failed("name", "there is no host of this name") from None
        except TimeoutError:
            raise Failed("timeout", f"no connection within {self._connect_s:g} s") from None
        except OSError as error:
            if self._tls and isinstance(error, ConnectionAbortedError):
                raise Failed(
                    "tls", f"no secure connection within {self._shake_s:g} s; is it http://?"
                ) from None
            if self._tls and isinstance(error, ConnectionResetError):
                raise Failed("tls", "the server broke off the secure connection; is it http://?") from None
            raise Failed("connect", "nothing answers there; is the server up?") from None
        return connection
