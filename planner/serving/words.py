"""Words of a command line: names that are safe to print, and quoting for a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from planner.errors import InvalidInput, shorten

WIDTH = 100

CHECKPOINT = re.compile(
    r"(?:/|\./|\.\./|~/)?[A-Za-z0-9][A-Za-z0-9._+-]*(?:/[A-Za-z0-9][A-Za-z0-9._+-]*)*(?::[A-Za-z0-9._-]+)?"
)
IMAGE = re.compile(
    r"[a-z0-9][a-z0-9.-]*(?::\d+)?(?:/[a-z0-9][a-z0-9._-]*)*(?::[A-Za-z0-9_][A-Za-z0-9._-]*)?(?:@sha256:[0-9a-f]{64})?"
)
HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\]")
LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?")
KINDS = {
    "checkpoint": (CHECKPOINT, "a repository such as org/name, or a path of letters, digits and . _ + -"),
    "image": (IMAGE, "an image such as vllm/vllm-openai:v0.20.2"),
    "head": (HOST, "a host name or an IP address"),
    "name": (LABEL, "lower-case letters, digits and hyphens, at most 52"),
    "hf_secret": (LABEL, "the name of a Secret: lower-case letters, digits and hyphens"),
}


class Shell(str):
    """A word that a shell expands, such as ``$HEAD_ADDRESS``: it is put in double quotes."""

    __slots__ = ()


def checked(kind: str, given: object) -> str:
    """Return a name that goes into command lines and manifests, or refuse one with odd characters.

    Parameters
    ----------
    kind : str
        A key of `KINDS`.
    given : object
        What the user gave.

    Returns
    -------
    str

    Raises
    ------
    InvalidInput
        Saying what is possible.
    """
    pattern, legal = KINDS[kind]
    if not isinstance(given, str) or not pattern.fullmatch(given) or len(given) > 300 or ".." in given[2:]:
        raise InvalidInput(f"{kind}: {shorten(given)} is not possible; {legal}")
    return given


def label_of(name: str) -> str:
    """Return a name as Kubernetes takes it: lower case, with hyphens, at most 52 characters."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:52].strip("-") or "model"


def quoted(word: str) -> str:
    """Return a word as a POSIX shell reads it back."""
    return f'"{word}"' if isinstance(word, Shell) else shlex.quote(word)


def shell_text(words: Iterable[str], environment: Iterable[tuple[str, str]] = ()) -> str:
    """Return one command over as many lines as it needs, each flag with its value.

    Parameters
    ----------
    words : iterable of str
        The command; those of type `Shell` are expanded by the shell.
    environment : iterable of (str, str)
        Variables that are set before it.

    Returns
    -------
    str
    """
    pieces = [f"{name}={quoted(value)}" for name, value in environment]
    for word in words:
        starts = word.startswith("--") or not pieces or not pieces[-1].startswith("--") or " " in pieces[-1]
        pieces = [*pieces, quoted(word)] if starts else [*pieces[:-1], f"{pieces[-1]} {quoted(word)}"]
    return " \\\n".join(_filled(pieces))


def _filled(pieces: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for piece in pieces:
        if lines and len(lines[-1]) + len(piece) + 3 <= WIDTH:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece if not lines else f"  {piece}")
    return lines
