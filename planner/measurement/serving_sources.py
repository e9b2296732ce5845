"""Where the shipped serving points come from: one entry of `sources.yaml` for each CSV beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, reduce
from importlib import resources
from operator import or_
from pathlib import Path

from planner.measurement.serving_flags import ServingFlag


@dataclass(frozen=True, slots=True)
class SourceFamily:
    """Where the points of one CSV come from.

    Parameters
    ----------
    name : str
        The file's name without ending.
    rows : int
        How many points it holds.
    sources : tuple of str
        The values of its column `source`.
    urls : tuple of str
        Where the figures were published.
    holds : str
        What was measured.
    dates : str
        When.
    licence, attribution : str
        Under which terms the source published them, and whom to name.
    statistic : str
        Whether latencies are medians or means.
    flags : ServingFlag
        What holds of every row although its notes do not say so.
    cautions : tuple of str
        What to know before use.
    """

    name: str
    rows: int
    sources: tuple[str, ...]
    urls: tuple[str, ...]
    holds: str
    dates: str
    licence: str
    attribution: str
    statistic: str
    flags: ServingFlag
    cautions: tuple[str, ...]


def serving_directory() -> Path:
    """Return the directory of the shipped serving points: the installed package's, else the checkout's."""
    packaged = Path(str(resources.files("planner"))) / "measurements"
    root = packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "measurements"
    return root / "serving"


def serving_files() -> list[Path]:
    """Return the shipped CSVs of serving points, by name."""
    return sorted(serving_directory().glob("*.csv"))


@cache
def source_families() -> dict[str, SourceFamily]:
    """Return what is known of each shipped CSV of serving points, by the file's name without ending."""
    from planner.catalogue.yamltext import Slice, parse

    file = serving_directory() / "sources.yaml"
    entries = parse(Slice(file.name, file.read_text(encoding="utf-8")))
    return {
        name: SourceFamily(
            name=name,
            rows=entry["rows"],
            sources=tuple(entry["sources"]),
            urls=tuple(entry["urls"]),
            holds=entry["holds"],
            dates=str(entry["dates"]),
            licence=entry["licence"],
            attribution=entry["attribution"],
            statistic=entry["statistic"],
            flags=reduce(
                or_, (ServingFlag[flag.upper()] for flag in entry.get("flags", ())), ServingFlag.NONE
            ),
            cautions=tuple(entry["cautions"]),
        )
        for name, entry in entries.items()
    }


@cache
def _flags_by_source() -> dict[str, ServingFlag]:
    """Return what holds of every point of each source, in files that hold one source or several alike."""
    return {source: family.flags for family in source_families().values() for source in family.sources}


def source_flags(source: str | None) -> ServingFlag:
    """Return what holds of every point of a source although its notes do not say so, in whichever file it is.

    Parameters
    ----------
    source : str or None
        The column `source` of a point.

    Returns
    -------
    ServingFlag
        `NONE` where the source is not one of the shipped ones.
    """
    return _flags_by_source().get(source or "", ServingFlag.NONE)
