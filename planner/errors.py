"""The typed errors of planner: an expected "no" is one of these, and never a traceback.

Every error carries one line that says what was wrong, where, and what would be right. The command
line prints that line and leaves with `exit_code`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


class PlannerError(Exception):
    """Base of all errors that a user of planner can cause and can mend.

    Its message is one line of bounded length that any output can take, whatever a file or an argument holds.
    """

    exit_code: int = 2

    def __init__(self, said: object = "") -> None:
        super().__init__(_bounded(str(said)))


LONGEST_MESSAGE = 2000
"""Characters of a message."""

_STEERING = ((0, 32), (127, 160), (0x2028, 0x202F), (0x2066, 0x206A), (0xD800, 0xE000))
CONTROLS = dict.fromkeys((code for span in _STEERING for code in range(*span)), "\ufffd")
"""Signs that end a line, steer a terminal, turn text round or have no bytes, and what stands for them."""


class InvalidInput(PlannerError):
    """An argument, option or file value is outside what is possible."""


class CatalogueError(PlannerError):
    """A catalogue file cannot be read, or says something that cannot be."""


class UnknownName(PlannerError):
    """A model, GPU, engine or dtype is not in the catalogue."""


class UnsupportedArchitecture(PlannerError):
    """A model's configuration names a part that planner has no block for."""


class Unsupported(PlannerError):
    """A GPU or engine does not have what was asked of it, such as FP4 on Hopper."""


class IllegalDeployment(PlannerError):
    """Parallel sizes that the model or the engine cannot run."""


class DoesNotFit(PlannerError):
    """A deployment whose memory does not hold the model or one request."""

    exit_code = 3


class Overload(PlannerError):
    """A load that a deployment cannot carry, so that its queue grows without end."""


LISTED = ("model", "gpu", "price")
"""Kinds of names that a command lists."""

MOST_NAMED = 12

LONGEST_SHOWN = 60
"""Characters of what a user gave that a message repeats."""


_CREDENTIALS = re.compile(r"(:/{1,2})[^\s/@]+(?=@)")
"""One slash is what is left of two where an address was taken for a path."""


def without_credentials(text: str) -> str:
    """Return a text whose addresses name no user and no password.

    Parameters
    ----------
    text : str
        Such as ``cannot reach https://user:password@host/v1``.

    Returns
    -------
    str
        Such as ``cannot reach https://***@host/v1``.
    """
    return _CREDENTIALS.sub(r"\1***", text) if "@" in text else text


def _bounded(said: str) -> str:
    """Return a message on one line, without passwords, and with its middle left out where it is long."""
    said = without_credentials(said)
    line = " ".join(said.splitlines()) if "\n" in said else said
    if not line.isprintable():
        line = line.translate(CONTROLS)
    if len(line) > LONGEST_MESSAGE:
        line = f"{line[: LONGEST_MESSAGE * 3 // 4]} ... {line[-LONGEST_MESSAGE // 5 :]}"
    return line


def shorten(given: object) -> str:
    """Return what a user gave as a message shows it, cut short where it is long."""
    shown = repr(given)
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[: LONGEST_SHOWN - 4]}...'"


def nearest_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the known names closest to `name`, compared in lower case.

    Parameters
    ----------
    name : str
        What was asked for.
    known : iterable of str
        The names to choose from.
    limit : int
        How many to return at most.

    Returns
    -------
    list of str
        The closest names, best first; empty when none is close. Of names that differ in blanks and hyphens
        alone one is named.
    """
    by_lower: dict[str, str] = {}
    for candidate in known:
        by_lower.setdefault(candidate.lower(), candidate)
    matches = difflib.get_close_matches(name.lower(), list(by_lower), n=3 * limit, cutoff=0.5)
    apart: dict[str, str] = {}
    for match in matches:
        apart.setdefault(match.replace(" ", "-"), by_lower[match])
    return list(apart.values())[:limit]


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownName:
    """Build the error for a name that the catalogue does not hold.

    Parameters
    ----------
    kind : str
        What the name stands for, such as "model".
    name : object
        What was asked for, which may be no name at all.
    known : iterable of str
        The names that exist.

    Returns
    -------
    UnknownName
        With the nearest names in its message.
    """
    names = list(known)
    near = nearest_names(name, names) if isinstance(name, str) else []
    if near:
        hint = f"nearest: {', '.join(near)}"
        if kind in LISTED:
            hint += f"; `planner {kind}s TEXT` searches"
    elif kind in LISTED:
        hint = f"`planner {kind}s TEXT` searches what there is"
    else:
        hint = f"there is {', '.join(names[:MOST_NAMED])}"
    return UnknownName(f"unknown {kind} {shorten(name)}; {hint}")
