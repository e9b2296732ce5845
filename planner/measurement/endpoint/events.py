"""Reading a stream of server-sent events, and what an event of the OpenAI API says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_LINE_BYTES = 1 << 20
"""An event of one token takes some hundred bytes; no server sends a line near this."""

DONE = b"[DONE]"


class BadStream(Exception):
    """A stream that is no stream of events of the API."""


class EventReader:
    """Put events together from the pieces in which a connection delivers them.

    Comments, which servers send to keep a connection open, and fields other than ``data`` are left out.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the data of every event that this piece completes.

        Parameters
        ----------
        piece : bytes
            Whatever came, cut anywhere.

        Yields
        ------
        bytes
            Data of one event; several lines of data are joined by newlines.

        Raises
        ------
        BadStream
            When a line has no end.
        """
        *lines, self._rest = (self._rest + piece).split(b"\n") if self._rest else piece.split(b"\n")
        if len(self._rest) > LONGEST_LINE_BYTES or any(len(line) > LONGEST_LINE_BYTES for line in lines):
            raise BadStream(f"a line of more than {LONGEST_LINE_BYTES:,} bytes")
        for line in lines:
            yield from self._take(line.removesuffix(b"\r"))

    def end(self) -> Iterator[bytes]:
        """Yield the last event of a stream that ends without an empty line."""
        yield from self._take(self._rest.removesuffix(b"\r"))
        yield from self._take(b"")
        self._rest = b""

    def _take(self, line: bytes) -> Iterator[bytes]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            yield data


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a request as the server counts them; None for what it does not say."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None


@dataclass(frozen=True, slots=True)
class Said:
    """What one event says.

    Parameters
    ----------
    token : bool
        Whether it carries output: text, reasoning, a tool call, or a token whose text is not out yet.
    finish : str or None
        Why the output ends, in the event that says so.
    usage : Usage or None
        Token counts.
    error : str or None
        The message of an error.
    """

    token: bool = False
    finish: str | None = None
    usage: Usage | None = None
    error: str | None = None


def read_event(data: bytes) -> Said:
    """Read one event of `/v1/completions` or `/v1/chat/completions`.

    Parameters
    ----------
    data : bytes
        The event's data.

    Returns
    -------
    Said

    Raises
    ------
    BadStream
        When it is no JSON object in UTF-8.
    """
    try:
        found = json.loads(data)
    except UnicodeDecodeError:
        raise BadStream("an event that is not UTF-8") from None
    except (ValueError, RecursionError):
        raise BadStream("an event that is not JSON") from None
    if not isinstance(found, dict):
        raise BadStream("an event that is no JSON object")
    if (error := found.get("error")) is not None:
        return Said(error=error_message(error))
    if found.get("object") == "error":
        return Said(error=error_message(found))
    choices = found.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    token, finish = _output(choice) if isinstance(choice, dict) else (False, None)
    return Said(token, finish, read_usage(found.get("usage")))


def error_message(error: object) -> str:
    """Return the message of an error object, as short text."""
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("detail") or dict(error)
    return " ".join(str(error).split())[:300]


def read_usage(usage: object) -> Usage | None:
    """Return the token counts of a usage object, or None where there is none."""
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _output(choice: dict[str, Any]) -> tuple[bool, str | None]:
    """Return whether a choice carries output, and why it ends."""
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else None
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        # A completion: an event without text is a token whose text waits for the next, unless it is the end.
        text = choice.get("text")
        return bool(text) or (isinstance(text, str) and finish is None), finish
    said = any(
        delta.get(part) for part in ("content", "reasoning_content", "reasoning", "tool_calls", "refusal")
    )
    waiting = delta.get("content") == "" and "role" not in delta and finish is None
    return said or waiting, finish
