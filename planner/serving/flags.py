"""The flags that each version of a program accepts: `data/launch_flags.yaml`, and reading a line by it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.catalogue.figures import Record, Tuple
from planner.catalogue.stacks import Version, parse_version
from planner.errors import Unsupported
from planner.serving.book import Names, read_data

FILE = "launch_flags.yaml"
NEGATED = "--no-"

Value = str | int | float | bool | dict[str, Any]


class Form(Record):
    """One form of a flag: what it takes, in which of the examined versions."""

    type: Literal["bool", "int", "float", "str", "json"]
    since: str | None = None
    to: str | None = None
    choices: tuple[str, ...] = Tuple


class Program(Record):
    """What is known of the command line of one program."""

    versions: Names
    """Examined versions, in order."""
    flags: dict[str, Annotated[tuple[Form, ...], Field(strict=False)]]

    def at(self, version: Version | None, name: str) -> Mapping[str, Form]:
        """Return the flags of a version: those of the newest examined one that is not newer.

        Parameters
        ----------
        version : tuple of int or None
            None is the newest.
        name : str
            What messages call the program.

        Returns
        -------
        mapping of str to Form

        Raises
        ------
        Unsupported
            For a version before the first examined one.
        """
        order = [parse_version(text) or () for text in self.versions]
        if version is not None and order[0] and version < order[0]:
            raise Unsupported(f"the command line of {name} is known from version {self.versions[0]} on")
        at = max((one for one in order if version is None or one <= version), default=order[0])
        return {
            flag: form
            for flag, forms in self.flags.items()
            for form in forms
            if (parse_version(form.since) or ()) <= at
            and (form.to is None or at <= (parse_version(form.to) or ()))
        }


class Programs(Record):
    """The whole file."""

    programs: dict[str, Program]


@cache
def programs() -> Mapping[str, Program]:
    """Return the shipped programs, read once."""
    found: Programs = read_data(FILE, Programs)
    return found.programs


def flags_of(program: str, version: Version | None) -> Mapping[str, Form]:
    """Return the flags that a version of a program accepts.

    Parameters
    ----------
    program : str
        Such as ``vllm`` or ``vllm-bench``.
    version : tuple of int or None
        None is the newest.

    Returns
    -------
    mapping of str to Form
    """
    return programs()[program].at(version, program)


def read_flags(words: Sequence[str], known: Mapping[str, Form]) -> dict[str, Value]:
    """Read the words after a program as its own parser would.

    Parameters
    ----------
    words : sequence of str
        Flags and values; words before the first flag are passed over.
    known : mapping of str to Form
        The flags of the version.

    Returns
    -------
    dict
        Values by flag; a switch is true, and false in its negated form.

    Raises
    ------
    Unsupported
        For a flag that the version does not have, and a value that it does not take.
    """
    found: dict[str, Value] = {}
    rest = list(words)
    while rest and not rest[0].startswith("--"):
        rest.pop(0)
    while rest:
        word = rest.pop(0)
        flag = (
            word if word in known else f"--{word.removeprefix(NEGATED)}" if word.startswith(NEGATED) else word
        )
        if flag not in known:
            raise Unsupported(f"no flag {word} in this version")
        form = known[flag]
        if form.type == "bool":
            found[flag] = word == flag
        elif not rest:
            raise Unsupported(f"{word} needs a value")
        else:
            found[flag] = _value(flag, rest.pop(0), form)
    return found


def _value(flag: str, text: str, form: Form) -> Value:
    try:
        if form.type == "int":
            return int(text)
        if form.type == "float":
            return float(text)
        if form.type == "json":
            value = json.loads(text)
            if not isinstance(value, dict):
                raise ValueError
            return value
    except ValueError:
        raise Unsupported(f"{flag} takes a value of type {form.type}, and not {text!r}") from None
    if form.choices and text not in form.choices:
        raise Unsupported(f"{flag} takes {', '.join(form.choices)}, and not {text!r}")
    return text


def newest_examined(program: str) -> str:
    """Return the newest version of a program whose flags were read."""
    return programs()[program].versions[-1]


def missing_flags(flags: Iterable[str], known: Mapping[str, Form]) -> list[str]:
    """Return which flags a version does not have."""
    return [flag for flag in flags if flag not in known and f"--{flag.removeprefix(NEGATED)}" not in known]
