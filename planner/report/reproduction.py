"""What a report needs to be made again: the function, what was given to it, and what it was answered from."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "planner.reproduction/1"

MARK = "reproduction"
"""The key of a report's JSON under which it stands."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that an answer depends on; it is recognised by its digest and never opened by its name alone.

    Parameters
    ----------
    role : str
        What it is: "catalogue", or the argument that named it, such as "trace".
    name : str
        As it was given.
    sha256 : str
        Digest of its bytes [hex].
    """

    role: str
    name: str
    sha256: str

    def to_dict(self) -> dict[str, str]:
        """Return the file as a JSON-ready object."""
        return {"role": self.role, "name": self.name, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A question as it was put, and what it was answered from.

    Parameters
    ----------
    function : str
        Name of the function of the front door, such as "fit".
    arguments : dict
        What was given, by argument, JSON-ready; what was left at its default is not there.
    catalogue_digest : str
        SHA-256 of all files of the catalogue [hex].
    planner_version : str
        The version that answered.
    made_on : str
        Date [YYYY-MM-DD].
    files : tuple of InputFile
        The user's catalogue files and every other file that the answer depends on.
    unrecorded : tuple of str
        Arguments that cannot be written down, such as a model given as a record that the catalogue does not
        hold: the report cannot be made again from this record alone.
    """

    function: str
    arguments: Mapping[str, Any]
    catalogue_digest: str
    planner_version: str
    made_on: str
    files: tuple[InputFile, ...] = ()
    unrecorded: tuple[str, ...] = field(default=())

    @property
    def complete(self) -> bool:
        """Return whether everything that was given is written down."""
        return not self.unrecorded

    @property
    def catalogue_files(self) -> tuple[InputFile, ...]:
        """Return the user's own catalogue files."""
        return tuple(file for file in self.files if file.role == "catalogue")

    @property
    def command(self) -> str:
        """Return the line that asks the same of the command line, quoted for a shell."""
        return " ".join(shlex.quote(word) for word in command_words(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the record as a JSON-ready object of schema `planner.reproduction/1`."""
        return {
            "schema": SCHEMA,
            "function": self.function,
            "arguments": dict(self.arguments),
            "unrecorded": list(self.unrecorded),
            "command": self.command if self.complete else None,
            "catalogue_digest": self.catalogue_digest,
            "files": [file.to_dict() for file in self.files],
            "planner_version": self.planner_version,
            "made_on": self.made_on,
        }


def _pair(value: Any) -> str:
    return ":".join(map(str, value))


def _seconds(value: Any) -> str:
    return f"{_text(value)}s"


def _bytes_per_s(value: Any) -> str:
    return f"{_text(value)} B/s"


def _by(value: Any) -> str:
    return value if isinstance(value, str) else "x".join(map(str, value))


SPELT: dict[str, tuple[str, Callable[[Any], str] | None]] = {
    "request_rate": ("--rate", None),
    "network_bytes_per_s": ("--network", _bytes_per_s),
    "slo_ttft_s": ("--slo-ttft", _seconds),
    "slo_tpot_s": ("--slo-tpot", _seconds),
    "slo_e2e_s": ("--slo-e2e", _seconds),
    "think_s": ("--think", _seconds),
    "requests_per_user_hour": ("--requests-per-user", None),
    "disaggregated": ("--disaggregated", _pair),
    "between": ("--between", _pair),
    "size": ("--size", _by),
    "saved": ("--from", None),
}
"""Arguments whose option has another name or is written with a unit; the others are spelt alike."""

COMMANDS = {"own": ("prices", "own"), "achieved": ("train", "--achieved")}
"""Functions whose command has another name."""

POSITIONAL = {"own": ("gpu",), "validate": ("path",)}
"""Arguments that stand by themselves, in order, by function."""


def option_of(argument: str) -> str:
    """Return the option of the command line that stands for an argument of the front door."""
    return SPELT[argument][0] if argument in SPELT else f"--{argument.replace('_', '-')}"


def command_words(made: Reproduction) -> list[str]:
    """Return the words of the command line that asks the same.

    Parameters
    ----------
    made : Reproduction
        The question.

    Returns
    -------
    list of str
        An argument is an option of the same name with dashes, but for `SPELT`; a list has commas, a mapping
        is written ``key=value,...``, and a yes is the option alone.
    """
    words = ["planner", *COMMANDS.get(made.function, (made.function,))]
    arguments = dict(made.arguments)
    for name in POSITIONAL.get(made.function, ()):
        if name in arguments:
            words.append(_text(arguments.pop(name)))
    for name, value in arguments.items():
        words += _option_words(name, value, arguments)
    for file in made.catalogue_files:
        words += ["--catalogue", file.name]
    return words


def _option_words(name: str, value: Any, arguments: Mapping[str, Any]) -> list[str]:
    option, write = option_of(name), SPELT.get(name, ("", None))[1]
    if value is True:
        return [option]
    if value is False:
        return [f"--no-{option[2:]}"]
    if name == "price" and not isinstance(value, Mapping):
        value = dict.fromkeys(_names(arguments.get("gpu", ())), value)
    text = write(value) if write else _text(value)
    return [f"{option}={text}"] if text.startswith("-") else [option, text]


def _names(gpu: Any) -> list[str]:
    named = [gpu] if isinstance(gpu, str) else list(gpu)
    return [part.strip() for one in named for part in str(one).split(",")]


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_text(one).replace(',', '/')}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ",".join(_text(one) for one in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
