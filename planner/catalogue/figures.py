"""Figures with their unit, source, date and confidence: what every number of the catalogue is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from planner.errors import InvalidInput, nearest_names
from planner.units import Dimension, format_quantity, format_significant, parse


class Record(BaseModel):
    """Base of all catalogue records: frozen, no unknown fields, no NaN, no silent conversions."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


Confidence = Literal["published", "measured", "inferred", "recalled", "assumed", "unverified"]
"""How far a figure can be trusted.

published: read in the cited source. measured: read off the real part, by a tool or a benchmark. inferred:
worked out from other figures, the source says how. recalled: general knowledge, no page was read. assumed: a
rule of planner without evidence for this part. unverified: read in a place whose address was not kept.
"""

_DATE = re.compile(r"(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?|-Q[1-4])?")


def _read_date(value: Any) -> Any:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(text, str) and not _DATE.fullmatch(text):
        raise ValueError(f"{text!r} is not a date; write it like 2026-09-30, 2026-09 or 2026")
    return text


Date = Annotated[str, BeforeValidator(_read_date)]
Tuple = Field(default=(), strict=False)


class Source(Record):
    """Where figures were read."""

    id: str | None = None
    title: str
    url: str | None = None
    date: Date
    as_of: bool = False
    """True where the source states no date: `date` is then the day on which it was read."""


class SourceTable(Protocol):
    """What a record needs while it is being read: its file's sources and the entry's own default."""

    def source(self, key: str) -> Source | None:
        """Return the source with this id, or None."""

    def source_ids(self) -> list[str]:
        """Return the ids there are, for "nearest" messages."""


class Figure(Record):
    """One number: its value in SI units, and why it may be believed."""

    value: float = Field(gt=0)
    unit: Dimension | None = Field(default=None, strict=False)
    """The dimension, whose SI unit `value` is in; None for a plain count."""
    source: Source
    date: Date
    confidence: Confidence = "published"
    note: str | None = None
    alternatives: tuple[Figure, ...] = Tuple
    """What other sources say about the same quantity."""

    def __str__(self) -> str:
        """Print the value with its unit."""
        return (
            format_significant(self.value, 6)
            if self.unit is None
            else format_quantity(self.value, self.unit, 5)
        )

    def provenance(self) -> str:
        """Return confidence, source and date as one phrase."""
        as_of = "as of " if self.source.as_of and self.date == self.source.date else ""
        return f"{self.confidence}: {self.source.title} ({as_of}{self.date})"


def resolve_source(data: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Replace the `source` of a raw mapping by the source it names and fill its date.

    Parameters
    ----------
    data : dict
        A mapping from a catalogue file with `source` (an id of the file's `sources:` table, or free text
        beside a `date`) and perhaps `date`.
    info : ValidationInfo
        Whose context holds the tables.

    Returns
    -------
    dict
        The same with a Source and a date.
    """
    context: Mapping[str, Any] = info.context or {}
    source = data.get("source", context.get("default_source"))
    date = data.get("date", context.get("default_date") if "source" not in data else None)
    if source is None:
        raise ValueError("no source; name an entry of `sources:`, or give free text with a `date`")
    if isinstance(source, str):
        table: SourceTable | None = context.get("sources")
        found = table.source(source) if table else None
        if found is None and re.fullmatch(r"[a-z0-9][a-z0-9.-]*", source):
            near = nearest_names(source, table.source_ids() if table else ())
            hint = f"; nearest: {', '.join(near)}" if near else ""
            raise ValueError(f"unknown source {source!r}{hint}; add it to `sources:`")
        if found is None and not isinstance(date, str | int):
            raise ValueError(f"undated: source {source!r} is not in `sources:`, so a `date` is needed")
        source = found or Source(title=source, date=_read_date(date))
    if date is None and isinstance(source, Source):
        date = source.date
    return {**data, "source": source, "date": date}


def read_quantity(value: Any, unit: Dimension | None) -> Any:
    """Turn `8 TB/s` into SI units; a count stays a bare number.

    Raises
    ------
    ValueError
        What is wrong with the text, and what would be right.
    """
    if unit is None:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    try:
        return parse(value, unit)
    except InvalidInput as error:
        raise ValueError(str(error)) from None


def _reader(unit: Dimension | None) -> Any:
    """Return the validator that makes a Figure of this dimension from what a file holds."""

    def read(data: Any, info: ValidationInfo) -> Any:
        if isinstance(data, Figure):
            return data
        raw = dict(data) if isinstance(data, Mapping) else {"value": data}
        if "value" not in raw:
            raise ValueError("a figure needs `value`")
        raw["value"] = read_quantity(raw["value"], unit)
        raw["unit"] = unit
        raw = resolve_source(raw, info)
        others = raw.get("alternatives", ())
        if not isinstance(others, list | tuple):
            raise ValueError("`alternatives` must be a list")
        raw["alternatives"] = tuple(read(other, info) for other in others)
        return raw

    return BeforeValidator(read)


Bytes = Annotated[Figure, _reader(Dimension.BYTES)]
BytesPerS = Annotated[Figure, _reader(Dimension.BYTES_PER_S)]
BitsPerS = Annotated[Figure, _reader(Dimension.BITS_PER_S)]
FlopPerS = Annotated[Figure, _reader(Dimension.FLOP_PER_S)]
Watts = Annotated[Figure, _reader(Dimension.WATTS)]
UsdPerHour = Annotated[Figure, _reader(Dimension.USD_PER_HOUR)]
Shares = Annotated[Figure, _reader(Dimension.SHARE)]
Usd = Annotated[Figure, _reader(Dimension.USD)]
UsdPerKwMonth = Annotated[Figure, _reader(Dimension.USD_PER_KW_MONTH)]
UsdPerKwh = Annotated[Figure, _reader(Dimension.USD_PER_KWH)]
Count = Annotated[Figure, _reader(None)]


def read_any_quantity(text: Any) -> tuple[float, Dimension]:
    """Read a quantity of whatever dimension its unit says.

    Raises
    ------
    ValueError
        When no dimension has the unit.
    """
    for dimension in Dimension:
        try:
            return parse(text, dimension), dimension
        except InvalidInput:
            continue
    raise ValueError(
        f"{text!r} is not a quantity with a known unit, such as 271 TFLOPS, 1.6 TB/s, 84 % or 25 us"
    )


class Achieved(Record):
    """One published or measured result on the real part: a single value, or a curve of points."""

    value: float | None = Field(default=None, gt=0)
    unit: Dimension = Field(strict=False)
    points: dict[int, float] | None = None
    """For a curve: message size [bytes] to `unit`."""
    stat: str
    """What was run and which statistic this is."""
    dtype: str | None = None
    gpus: int | None = Field(default=None, gt=0)
    nodes: int | None = Field(default=None, gt=0)
    message: str | None = None
    """Message size as stated, such as "16 GiB" or "large"."""
    tokens_per_gpu: int | None = Field(default=None, gt=0)
    source: Source
    date: Date
    confidence: Confidence = "measured"
    note: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping):
            raise ValueError("a result needs `value`, `stat` and `source`")
        raw = dict(data)
        if ("value" in raw) == ("points" in raw):
            raise ValueError("a result has either `value` or `points`")
        if "value" in raw:
            raw["value"], raw["unit"] = read_any_quantity(raw["value"])
        else:
            raw["unit"] = Dimension.SECONDS
            raw["points"] = _read_points(raw["points"])
        return resolve_source(raw, info)


def _read_points(points: Any) -> dict[int, float]:
    if not isinstance(points, Mapping) or not points:
        raise ValueError("`points` maps message sizes to times, like {16 KiB: 5.1 us}")
    return {
        round(read_quantity(size, Dimension.BYTES)): read_quantity(time, Dimension.SECONDS)
        for size, time in points.items()
    }
