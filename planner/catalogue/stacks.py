"""The record of one engine stack as `data/stacks.yaml` states it: versions, named settings and facts."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from planner.catalogue.figures import (
    Confidence,
    Date,
    Record,
    Source,
    Tuple,
    read_any_quantity,
    read_quantity,
    resolve_source,
)
from planner.catalogue.gpu import Gpu
from planner.errors import CatalogueError
from planner.units import Dimension

Version = tuple[int, ...]


_VERSION = re.compile(
    r"v?(?P<numbers>\d{1,5}(?:\.\d{1,5}){0,3})(?P<early>[.-]?(?:a|b|c|rc|alpha|beta|pre|dev)\.?\d*)?"
    r"(?P<rest>(?:[.-]?(?:post|dev)\.?\d*)*(?:\+[\w.-]+)?)",
    re.IGNORECASE,
)
_UNNUMBERED = re.compile(r"0\.[01]\.dev\d*\S*|b\d{1,6}|main|latest|nightly", re.IGNORECASE)
"""Builds whose name says nothing about rules: of an untagged checkout, and llama.cpp's."""

BEFORE = 1_000_000
"""Stands after the number before a release: its release candidates and development builds."""


def is_version(text: str) -> bool:
    """Return whether a text is a version, or the name of a build that has none.

    Parameters
    ----------
    text : str
        Such as ``0.20.2``, ``0.20.2rc1.dev249+g1a2b``, ``0.9.2+v0``, ``b4567`` or ``nightly``.

    Returns
    -------
    bool
    """
    return bool(_VERSION.fullmatch(text.strip()) or _UNNUMBERED.fullmatch(text.strip()))


@lru_cache(maxsize=1024)
def parse_version(text: str | None) -> Version | None:
    """Read the leading numbers of a version, or None where there are none.

    Parameters
    ----------
    text : str or None
        Such as ``0.20.2``, ``0.20.2rc1.dev249`` or ``0.9.2 (V0)``. Development builds that call themselves
        ``0.1.dev`` have no usable number.

    Returns
    -------
    tuple of int or None
        Such as (0, 20, 2); zeros at the end are left out, so that 0.20 is 0.20.0. Candidates and development
        builds stand before their release and after the one before it (PEP 440): 0.20.0rc1 is
        (0, 19, BEFORE).
    """
    stripped = (text or "").strip()
    match = _VERSION.match(stripped)
    if match is None or _UNNUMBERED.match(stripped):
        return None
    parts = [int(part) for part in match["numbers"].split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    if match["early"] and parts[-1]:
        parts = [*parts[:-1], parts[-1] - 1, BEFORE]
    return tuple(parts)


def _read_bytes(value: Any) -> Any:
    return read_quantity(value, Dimension.BYTES) if isinstance(value, str) else value


class Setting(Record):
    """One value of a named parameter, from a version on and for some accelerators."""

    value: bool | int | float | str
    """In SI units where it is a quantity."""
    unit: Dimension | None = Field(default=None, strict=False)
    since: str | None = None
    """First version that has it; None for all."""
    vendor: str | None = None
    gpus: tuple[str, ...] = Tuple
    """Accelerators it is for; empty for all."""
    isa: tuple[str, ...] = Tuple
    """Instruction sets it is for (``sm_100``); empty for all."""
    at_least: Annotated[float, BeforeValidator(_read_bytes)] = Field(default=0.0, ge=0)
    """For accelerators with at least this much memory [bytes]."""
    source: Source
    date: Date
    confidence: Confidence = "published"
    note: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict) or isinstance(data.get("source"), Source):
            return data
        raw = resolve_source(data, info)
        value = raw.get("value")
        if isinstance(value, str) and value[:1].isdigit():
            raw["value"], raw["unit"] = read_any_quantity(value)
        return raw

    def applies(self, version: Version | None, gpu: Gpu) -> bool:
        """Return whether it holds for this version (None is the newest) on this accelerator."""
        since = parse_version(self.since)
        return (
            (since is None or version is None or version >= since)
            and (self.vendor is None or self.vendor == gpu.vendor.lower())
            and (not self.gpus or gpu.id in self.gpus)
            and (not self.isa or gpu.isa in self.isa)
            and (not self.at_least or gpu.usable_bytes >= self.at_least)
        )

    def provenance(self) -> str:
        """Return confidence, source and date as one phrase."""
        since = f", since {self.since}" if self.since else ""
        return f"{self.confidence}: {self.source.title} ({self.date}){since}"


class Platform(Record):
    """Whether an engine runs on the accelerators of a vendor."""

    vendor: str
    """In lower case."""
    isa: tuple[str, ...] = Tuple
    """Instruction sets it is about; empty for all of the vendor."""
    support: Literal["native", "plugin", "none"]
    why: str = ""
    """Name of the plugin, or why it does not run and what does."""
    source: Source
    date: Date
    confidence: Confidence = "published"

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict) or isinstance(data.get("source"), Source):
            return data
        return resolve_source(data, info)

    @model_validator(mode="after")
    def _explained(self) -> Platform:
        if self.support != "native" and not self.why:
            raise ValueError("`why` is needed: the name of the plugin, or what speaks against it")
        return self

    def provenance(self) -> str:
        """Return confidence, source and date as one phrase."""
        return f"{self.confidence}: {self.source.title} ({self.date})"


class Stack(Record):
    """An inference engine: its versions, the named settings of its memory rules and sourced facts."""

    id: str
    name: str
    aliases: tuple[str, ...] = Tuple
    versions: tuple[str, ...] = Tuple
    """Known versions in order; the last is assumed where none is asked for."""
    settings: dict[str, Annotated[tuple[Setting, ...], Field(strict=False)]] = Field(default_factory=dict)
    """Values of each named parameter; of those that apply, the last one holds."""
    platforms: Annotated[tuple[Platform, ...], Field(strict=False)] = ()
    """On what it runs; of those that match an accelerator the last one holds."""
    facts: dict[str, Any] = Field(default_factory=dict)
    notes: tuple[str, ...] = Tuple

    def platform(self, gpu: Gpu) -> Platform | None:
        """Return what is known about this engine on an accelerator, or None."""
        found = [
            item
            for item in self.platforms
            if item.vendor == gpu.vendor.lower() and (not item.isa or gpu.isa in item.isa)
        ]
        return found[-1] if found else None

    def setting(self, name: str, version: Version | None, gpu: Gpu) -> Setting:
        """Return the value of a named parameter for a version and an accelerator.

        Parameters
        ----------
        name : str
            A key of `settings`.
        version : tuple of int or None
            Engine version; None is the newest.
        gpu : Gpu
            The accelerator.

        Returns
        -------
        Setting

        Raises
        ------
        CatalogueError
            When the stack has no value for this case.
        """
        found = [item for item in self.settings.get(name, ()) if item.applies(version, gpu)]
        if not found:
            raise CatalogueError(
                f"stacks: {self.id} has no setting {name!r} for {gpu.id}; add one to `settings:`"
            )
        return found[-1]
