"""Which version of an engine wrote a log, where the log says it loosely or only gives a date."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.measurement.names import ENGINES
from planner.measurement.startup_logs import StartupLog

VLLM_FIRST_SEEN: tuple[tuple[str, str], ...] = (
    ("2023-11", "0.2.4"),
    ("2024-02", "0.3.0"),
    ("2024-04", "0.4.0"),
    ("2024-07", "0.5.3"),
    ("2024-09", "0.6.0"),
    ("2024-12", "0.6.4"),
    ("2025-02", "0.7.2"),
    ("2025-03-18", "0.8.0"),
    ("2025-06", "0.9.0"),
    ("2025-07-24", "0.10.0"),
    ("2025-10-02", "0.11.0"),
    ("2026-01-27", "0.14.1"),
    ("2026-02-13", "0.15.1"),
    ("2026-03-01", "0.16.0"),
    ("2026-03-11", "0.17.0"),
    ("2026-03-26", "0.18.0"),
    ("2026-04-17", "0.19.0"),
    ("2026-05-04", "0.20.0"),
    ("2026-05-14", "0.21.0"),
    ("2026-06-01", "0.22.0"),
    ("2026-07-15", "0.25.0"),
    ("2026-08-08", "0.26.0"),
    ("2026-08-16", "0.27.1"),
    ("2026-09-03", "0.28.0"),
    ("2026-09-20", "0.29.0"),
    ("2026-10-06", "0.31.0"),
)
"""Earliest dated public log or measurement that states each version; a release may be a few weeks older."""

CONSUMED_WORDING = "0.26.0"
"""First vLLM release that prints "consumed memory (weights + non-torch)" as one figure."""

LAST_OLD_CORE = "0.9.0"
"""A vLLM release in which the old core (V0) could still be asked for."""


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """The engine that a log is of.

    Parameters
    ----------
    name : str
        As a `Deployment` takes it, such as ``vllm==0.20.2``; ``+v0`` where the old core ran.
    family : str
        The engine without version.
    note : str or None
        How the version was found, where the log does not state one.
    """

    name: str
    family: str
    note: str | None = None


def engine_of(log: StartupLog) -> EngineVersion | None:
    """Return the engine and version that a log is of, or None when planner does not know the engine.

    Parameters
    ----------
    log : StartupLog
        The log.

    Returns
    -------
    EngineVersion or None
    """
    family = ENGINES.get(log.engine.lower())
    if family is None:
        return None
    stated = stated_version(log.engine_version)
    core = "+v0" if re.search(r"\bV0\b", log.engine_version) else ""
    if stated:
        return EngineVersion(f"{family}=={stated}{core}", family)
    if family != "vllm":
        return EngineVersion(family, family)
    version, why = _dated_version(log)
    if version is None and core:
        version, why = LAST_OLD_CORE, "the name of its old core"
    if version is None:
        return EngineVersion(family, family, "version not stated: the newest is assumed")
    return EngineVersion(f"vllm=={version}{core}", family, f"version not stated: {version} by {why}")


def stated_version(text: str) -> str | None:
    """Return the first number in a loosely written version, and whether it stands before that release.

    Parameters
    ----------
    text : str
        Such as ``0.22.1rc1.dev281+gad23378``, ``0.7-0.8 (V0)`` or ``image of 2026-09``.

    Returns
    -------
    str or None
        Such as ``0.22.1`` or ``0.22.1rc1``, which is before 0.22.1; None where there is none. ``0.1.dev…`` is
        a build without a tag, not release 0.1.
    """
    found = re.search(r"(?<![\d.])(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:rc\d+|\.dev\d+)?)(?![\d])", text)
    if found is None or re.match(r"0\.1\.dev", text[found.start() :]):
        return None
    return found[1]


def _dated_version(log: StartupLog) -> tuple[str | None, str]:
    """Return the newest version seen by the log's date, but none older than its wording."""
    day = re.match(r"\d{4}(?:-\d\d){0,2}", log.date)
    found, why = None, ""
    if day:
        known = [version for since, version in VLLM_FIRST_SEEN if since <= f"{day[0]}~"]
        found, why = (known[-1] if known else VLLM_FIRST_SEEN[0][1]), f"the date {log.date}"
    if log.consumed_gib is not None and (found is None or _order(found) < _order(CONSUMED_WORDING)):
        found, why = CONSUMED_WORDING, "the wording 'consumed memory'"
    return found, why


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
