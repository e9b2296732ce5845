"""What every engine's writer has in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from planner.errors import Unsupported
from planner.memory.preparing import KV_ALIASES
from planner.serving.flags import Value
from planner.serving.wanted import Wanted

Flag = tuple[str, str | None]
"""A flag with its value; None for a switch."""

Arguments = dict[str, Any]
"""Arguments of `planner.fit`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one process of several nodes runs.

    Parameters
    ----------
    rank : str
        Number of the node, or a shell expression that gives it.
    head : str
        Address of the first node, or a shell expression.
    first : bool
        Whether it is the first node, which answers requests.
    """

    rank: str
    head: str
    first: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One command.

    Parameters
    ----------
    words : tuple of str
        The command, its flags and values.
    before : tuple of tuple of str
        Commands that come before it on the same node, such as ``ray start``.
    """

    words: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = field(default=())


class Writer(Protocol):
    """Writes the command lines of one engine, and reads them back."""

    program: str
    """Whose flags it has in the data file."""

    def command(self, wanted: Wanted) -> list[str]:
        """Return the words before the flags."""
        ...

    def flags(self, wanted: Wanted, role: str) -> list[Flag]:
        """Return the flags of a server on one node; `role` is empty, ``prefill`` or ``decode``."""
        ...

    def line(self, wanted: Wanted, flags: list[Flag], place: Place) -> Line:
        """Return the command on one of several nodes."""
        ...

    def files(self, wanted: Wanted) -> dict[str, dict[str, Any]]:
        """Return files that the command reads, as plain data by name."""
        ...

    def read(self, flags: Mapping[str, Value], files: Mapping[str, Mapping[str, Any]]) -> Arguments:
        """Return the arguments of `planner.fit` that the flags stand for."""
        ...


def given(*pairs: tuple[str, object]) -> list[Flag]:
    """Return flags with values as text; those without a value are left out, and a true one is a switch."""
    return [
        (name, None if value is True else shown(value)) for name, value in pairs if value not in (None, False)
    ]


def shown(value: object) -> str:
    """Return a value as a command line has it."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def words_of(flags: Iterable[Flag]) -> list[str]:
    """Return flags as words."""
    return [word for name, value in flags for word in ((name,) if value is None else (name, value))]


def above_one(size: int) -> int | None:
    """Return a size that needs a flag, or None."""
    return size if size > 1 else None


def kv_flag(wanted: Wanted, flag: str) -> list[Flag]:
    """Return the flag of the KV dtype where one was asked for, by the engine's own name."""
    return [] if wanted.asked.kv_dtype.lower() == "auto" else [(flag, kv_name(wanted))]


def kv_name(wanted: Wanted) -> str:
    """Return the engine's own name of the KV dtype that was asked for; refuse one that it does not have."""
    asked = wanted.asked.kv_dtype.lower()
    asked = asked if asked in wanted.book.kv_dtypes else KV_ALIASES.get(asked, asked)
    if asked not in wanted.book.kv_dtypes:
        have = ", ".join(wanted.book.kv_dtypes)
        raise Unsupported(f"{wanted.stack.name} has no flag for a KV cache in {asked}; it has: {have}")
    return wanted.book.kv_dtypes[asked]


def kv_dtype_of(name: object, names: Mapping[str, str]) -> str:
    """Return planner's name of a KV dtype from the engine's."""
    return next((ours for ours, theirs in names.items() if theirs == name), "auto")


def put(arguments: Arguments, flags: Mapping[str, Value], names: Mapping[str, str]) -> None:
    """Copy values of flags to arguments, where they are there."""
    arguments.update({argument: flags[flag] for flag, argument in names.items() if flag in flags})
