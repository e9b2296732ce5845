"""What an importer hands on: one run as its file states it, before it becomes a row of the tidy schema."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from planner.errors import shorten
from planner.measurement.serving_points import LARGEST

NUMBER = re.compile(r"[-+]?(\d[\d,]*\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Latency:
    """Statistics of one latency over the requests of a run [ms]; None where the file does not give it.

    Parameters
    ----------
    mean, median, p99 : float or None
    """

    mean: float | None = None
    median: float | None = None
    p99: float | None = None

    def times(self, factor: float) -> Latency:
        """Return the same in another unit."""
        return Latency(*(None if x is None else x * factor for x in (self.mean, self.median, self.p99)))


@dataclass(frozen=True, slots=True)
class Run:
    """One serving run as a result file states it; None where it does not say.

    Rates are of the whole deployment [tok/s] unless the name says per GPU; lengths are means [tokens].
    `facts` are further columns of the tidy schema, such as `tp` or `weight_dtype`.
    """

    where: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    isl: float | None = None
    osl: float | None = None
    concurrency: float | None = None
    request_rate: float | None = None
    requests: int | None = None
    duration_s: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    output_tps: float | None = None
    total_tps: float | None = None
    output_tps_per_gpu: float | None = None
    total_tps_per_gpu: float | None = None
    ttft: Latency = Latency()
    tpot: Latency = Latency()
    e2e: Latency = Latency()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Start:
    """One start-up of an engine as its log prints it: cells of the columns of start-up logs."""

    where: str
    cells: Mapping[str, Any]


@dataclass(slots=True)
class Reading:
    """What was found in one file.

    Parameters
    ----------
    format : str
        Which format it is, for people.
    runs : list of Run
    starts : list of Start
    problems : list of str
        One line for each thing that could not be read, with its place.
    """

    format: str
    runs: list[Run] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Fields:
    """Typed access to one record; what is not of its type is complained of and counts as absent.

    Parameters
    ----------
    data : mapping
        The record.
    where : str
        Its place in the file, for complaints.
    problems : list of str
        Takes the complaints.
    """

    def __init__(self, data: Mapping[str, Any], where: str, problems: list[str]) -> None:
        self.data, self.where, self.problems = data, where, problems

    def number(self, *names: str, least: float = 0.0, most: float = LARGEST) -> float | None:
        """Return the first of some fields that is there as a finite number; NaN counts as absent."""
        for name in names:
            value = self.data.get(name)
            if value is None or value == "":
                continue
            number = as_number(value)
            if number is None or (math.isfinite(number) and not least <= number <= most):
                wanted = f"a number from {least:g} to {most:g} is needed"
                self.problems.append(f"{self.where}: {name} is {shorten(value)}; {wanted}")
                continue
            if math.isfinite(number):
                return number
        return None

    def rate(self, name: str) -> float | None:
        """Return a request rate, which may be infinite."""
        value = self.data.get(name)
        if (isinstance(value, str) and value.strip().lower() in ("inf", "infinity")) or value == math.inf:
            return math.inf
        return self.number(name)

    def count(self, *names: str, least: int = 0) -> int | None:
        """Return a whole number."""
        number = self.number(*names, least=least)
        if number is not None and number != int(number):
            self.problems.append(f"{self.where}: {names[0]} is {number:g}; a whole number is needed")
            return None
        return None if number is None else int(number)

    def size(self, *names: str) -> int | None:
        """Return a number of GPUs or a parallel size: 1 or more."""
        return self.count(*names, least=1)

    def text(self, *names: str) -> str | None:
        """Return the first of some fields that is there as text, on one line and of bounded length."""
        for name in names:
            value = self.data.get(name)
            if value is None or value == "":
                continue
            if isinstance(value, str):
                return one_line(value)
            self.problems.append(f"{self.where}: {name} is {shorten(value)}; text is needed")
        return None

    def flag(self, *names: str) -> bool | None:
        """Return a truth value, also where it is written as text."""
        for name in names:
            value = self.data.get(name)
            if value is None or value == "":
                continue
            known = {"true": True, "false": False, "1": True, "0": False}.get(str(value).lower())
            if known is None:
                self.problems.append(f"{self.where}: {name} is {shorten(value)}; true or false is needed")
            else:
                return known
        return None

    def child(self, *path: str) -> Fields:
        """Return a record inside this one; an empty one where there is none."""
        data: Any = self.data
        for name in path:
            data = data.get(name) if isinstance(data, Mapping) else None
        inner: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        return Fields(inner, f"{self.where}: {'.'.join(path)}", self.problems)

    def items(self, name: str) -> Iterator[Fields]:
        """Yield the records of a list, each with its position."""
        found = self.data.get(name)
        for position, item in enumerate(found if isinstance(found, list) else ()):
            where = f"{self.where}: {name}[{position}]"
            if isinstance(item, Mapping):
                yield Fields(item, where, self.problems)
            else:
                self.problems.append(f"{where} is {shorten(item)}; an object is needed")

    def latency(self, mean: str, median: str, p99: str, factor: float = 1.0) -> Latency:
        """Return three statistics by their fields, times a factor to milliseconds.

        Zero counts as absent: tools write it where they timed nothing, as of requests of one token.
        """
        return Latency(*(self.number(name) or None for name in (mean, median, p99))).times(factor)


def as_number(value: object) -> float | None:
    """Return a number, also one that is written as text with thousands separators; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            return None
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in ("nan", "inf", "-inf", "infinity"):
            return float(text)
        if len(text) <= 40 and NUMBER.fullmatch(text):
            return float(text.replace(",", ""))
    return None


def one_line(text: str, longest: int = 200) -> str:
    """Return a text without line breaks and control characters, cut short where it is very long."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text[: 4 * longest])
    words = " ".join(shown.split())
    return words if len(words) <= longest else f"{words[: longest - 3]}..."


def as_date(value: object) -> str | None:
    """Return the day of a date as tools write it: ISO, `20260610-200909`, or seconds since 1970."""
    if isinstance(value, str):
        match = re.match(r"(20\d\d)-?(\d\d)-?(\d\d)(?!\d)", value.strip(), re.ASCII)
        if match and 1 <= int(match[2]) <= 12 and 1 <= int(match[3]) <= 31:
            return "-".join(match.groups())
        return None
    number = as_number(value)
    if number is None or not 1.4e9 < number < 4.0e9:
        return None
    return datetime.fromtimestamp(number, UTC).date().isoformat()


def ratio(part: float | None, whole: float | None) -> float | None:
    """Return a quotient, or None where either is absent or the divisor is zero."""
    return None if part is None or not whole else part / whole
