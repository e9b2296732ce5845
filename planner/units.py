"""Quantities with units: reading them from text and printing them for people.

Inside planner every quantity is a float in SI units with the unit in its name. Text carries its unit: a bare
number is refused, because nobody can tell GB from GiB afterwards. Prefixes follow SI (kB = 1,000 bytes) and
IEC (KiB = 1,024 bytes); `b` is a bit and `B` is a byte.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum

from planner.errors import InvalidInput, shorten


class Dimension(StrEnum):
    """What a quantity measures; the value is the name of its SI unit."""

    BYTES = "bytes"
    BYTES_PER_S = "bytes/s"
    BITS_PER_S = "bit/s"
    FLOP_PER_S = "FLOP/s"
    WATTS = "W"
    SECONDS = "s"
    USD_PER_HOUR = "USD/h"
    USD = "USD"
    USD_PER_KWH = "USD/kWh"
    USD_PER_KW_MONTH = "USD/kW-month"
    USD_PER_MTOK = "USD/Mtok"
    HERTZ = "Hz"
    TOKENS_PER_S = "tok/s"
    SHARE = "share"


_DECIMAL = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}


MOST_DIGITS = 18
"""Of a whole number; no count of anything here has more."""


def _scaled(base: str, prefixes: dict[str, float], suffix: str = "") -> dict[str, float]:
    return {f"{prefix}{base}{suffix}": factor for prefix, factor in prefixes.items()}


_BYTES = {"B": 1.0, **_scaled("B", _DECIMAL), **_scaled("B", _BINARY)}
_BITS = {
    f"{prefix}{bit}": factor
    for bit in ("bit/s", "b/s", "bps")
    for prefix, factor in {"": 1.0, **_DECIMAL}.items()
}
_OPS = {
    f"{prefix}{operation}": factor
    for operation in ("FLOP/s", "FLOPS", "OP/s", "OPS")
    for prefix, factor in {"G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}.items()
}

UNITS: dict[Dimension, dict[str, float]] = {
    Dimension.BYTES: _BYTES,
    Dimension.BYTES_PER_S: {f"{unit}/s": factor for unit, factor in _BYTES.items()},
    Dimension.BITS_PER_S: _BITS,
    Dimension.FLOP_PER_S: _OPS,
    Dimension.WATTS: {"W": 1.0, "kW": 1e3, "MW": 1e6},
    Dimension.SECONDS: {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    Dimension.USD_PER_HOUR: {"USD/h": 1.0, "$/h": 1.0},
    Dimension.USD: {"USD": 1.0, "$": 1.0, "kUSD": 1e3, "MUSD": 1e6},
    Dimension.USD_PER_KWH: {"USD/kWh": 1.0, "$/kWh": 1.0},
    Dimension.USD_PER_KW_MONTH: {"USD/kW-month": 1.0, "$/kW-month": 1.0},
    Dimension.USD_PER_MTOK: {"USD/Mtok": 1.0, "$/Mtok": 1.0},
    Dimension.HERTZ: {"Hz": 1.0, **_scaled("Hz", _DECIMAL)},
    Dimension.TOKENS_PER_S: {"tok/s": 1.0},
    Dimension.SHARE: {"%": 0.01},
}

EXAMPLES: dict[Dimension, str] = {
    Dimension.BYTES: "80 GB or 79.2 GiB",
    Dimension.BYTES_PER_S: "8 TB/s or 450 GB/s",
    Dimension.BITS_PER_S: "400 Gbit/s",
    Dimension.FLOP_PER_S: "989 TFLOPS or 624 TOPS",
    Dimension.WATTS: "700 W or 10.2 kW",
    Dimension.SECONDS: "25 us or 1.5 s",
    Dimension.USD_PER_HOUR: "4.25 USD/h",
    Dimension.USD: "31 kUSD or 31000 USD",
    Dimension.USD_PER_KWH: "0.08 USD/kWh",
    Dimension.USD_PER_KW_MONTH: "130 USD/kW-month",
    Dimension.USD_PER_MTOK: "15 USD/Mtok",
    Dimension.HERTZ: "1.98 GHz",
    Dimension.TOKENS_PER_S: "952 tok/s",
    Dimension.SHARE: "85 %",
}

_QUANTITY = re.compile(r"\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?P<unit>\S.*?)?\s*")
_COUNTS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "Ki": 2.0**10, "Mi": 2.0**20}


def parse(text: str, dimension: Dimension | str) -> float:
    """Read a quantity such as `8 TB/s` into SI units.

    Parameters
    ----------
    text : str
        A number followed by its unit; the case of the unit counts (`Gb` is bits, `GB` bytes).
    dimension : Dimension or str
        What the quantity must measure, such as "bytes/s".

    Returns
    -------
    float
        The value [SI unit of the dimension], finite and not negative.

    Raises
    ------
    InvalidInput
        For a bare number, an unknown unit, a unit of another dimension, NaN, infinity or a negative value.
    """
    wanted = Dimension(dimension)
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) and len(text) <= 100 else None
    if match is None:
        raise InvalidInput(f"{shorten(text)} is not a quantity; write it like {EXAMPLES[wanted]}")
    unit = match["unit"]
    if unit is None:
        raise InvalidInput(f"{shorten(text)} has no unit; write it like {EXAMPLES[wanted]}")
    factor = UNITS[wanted].get(unit)
    if factor is None:
        raise InvalidInput(_wrong_unit(text.strip(), float(match["number"]), unit, wanted))
    return _positive_finite(text, float(match["number"]) * factor)


def whole_number(text: str) -> int | None:
    """Read a whole number of digits alone; None for any other text, and for one that nothing counts.

    Parameters
    ----------
    text : str
        What may be a number.

    Returns
    -------
    int or None
        Python itself reads other alphabets' digits, and refuses thousands of them with an error.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


def parse_count(text: str) -> int:
    """Read a whole count such as `128k`, `1M`, `2.8T` or `128Ki` (k = 1,000, Ki = 1,024).

    Parameters
    ----------
    text : str
        A number, with a prefix or without.

    Returns
    -------
    int
        The count, not negative.

    Raises
    ------
    InvalidInput
        For anything that is not a whole, finite, non-negative count.
    """
    match = _QUANTITY.fullmatch(text) if len(text) <= 100 else None
    factor = _COUNTS.get(match["unit"] or "") if match else None
    if match is None or factor is None:
        raise InvalidInput(
            f"{shorten(text)} is not a count; write it like 4096, 128k (x1,000) or 128Ki (x1,024)"
        )
    value = _positive_finite(text, float(match["number"]) * factor)
    if not math.isclose(value, round(value), rel_tol=1e-12):
        raise InvalidInput(f"{shorten(text)} is not a whole number")
    return round(value)


def _positive_finite(text: str, value: float) -> float:
    if not math.isfinite(value):
        raise InvalidInput(f"{shorten(text)} is not a finite quantity")
    if value < 0 or math.copysign(1.0, value) < 0:
        raise InvalidInput(f"{shorten(text)} is negative; a quantity here is zero or more")
    return value


def _wrong_unit(text: str, number: float, unit: str, wanted: Dimension) -> str:
    known = UNITS[wanted]
    by_lower = {name.lower(): name for name in reversed(known)}
    for dimension, units in UNITS.items():
        if unit in units:
            equal = ""
            if {wanted, dimension} == {Dimension.BITS_PER_S, Dimension.BYTES_PER_S}:
                scale = 1 / 8 if wanted is Dimension.BYTES_PER_S else 8
                equal = f"; {text} = {format_quantity(number * units[unit] * scale, wanted)}"
            return f"{text!r} is in {dimension}, but {wanted} is needed, like {EXAMPLES[wanted]}{equal}"
    close = by_lower.get(unit.lower())
    hint = f"; did you mean {close}?" if close else ""
    written = f"{wanted} is written like {EXAMPLES[wanted]}"
    return f"{shorten(text)} has an unknown unit {shorten(unit)}{hint} {written}"


def format_significant(value: float, digits: int = 4) -> str:
    """Print a number with so many significant digits, thousands separated and no trailing zeros.

    Parameters
    ----------
    value : float
        The number.
    digits : int
        Significant digits to keep; digits before the point are never dropped.

    Returns
    -------
    str
        Such as "179.1", "2,516" or "0.0047".
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    shown = f"{value:,.{decimals}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def format_bytes(value_bytes: float, decimals: int = 2) -> str:
    """Print bytes in binary units with a fixed number of decimals.

    Parameters
    ----------
    value_bytes : float
        The amount [bytes].
    decimals : int
        Digits after the point.

    Returns
    -------
    str
        Such as "179.06 GiB".
    """
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if abs(value_bytes) >= _BYTES[unit]:
            return f"{value_bytes / _BYTES[unit]:,.{decimals}f} {unit}"
    return f"{value_bytes:,.0f} B"


def format_count(value: float, digits: int = 3) -> str:
    """Print a count with a short-scale letter.

    Parameters
    ----------
    value : float
        The count.
    digits : int
        Significant digits to keep.

    Returns
    -------
    str
        Such as "2.8 T", "671 B" or "512".
    """
    for letter in ("T", "B", "M"):
        if abs(value) >= _COUNTS[letter]:
            return f"{format_significant(value / _COUNTS[letter], digits)} {letter}"
    return format_significant(value, max(digits, 6))


_PRINTED: dict[Dimension, tuple[str, ...]] = {
    Dimension.BYTES_PER_S: ("TB/s", "GB/s", "MB/s", "kB/s", "B/s"),
    Dimension.BITS_PER_S: ("Tbit/s", "Gbit/s", "Mbit/s", "bit/s"),
    Dimension.FLOP_PER_S: ("PFLOPS", "TFLOPS", "GFLOPS"),
    Dimension.WATTS: ("kW", "W"),
    Dimension.SECONDS: ("s", "ms", "us", "ns"),
    Dimension.USD_PER_HOUR: ("USD/h",),
    Dimension.USD: ("USD",),
    Dimension.USD_PER_KWH: ("USD/kWh",),
    Dimension.USD_PER_KW_MONTH: ("USD/kW-month",),
    Dimension.USD_PER_MTOK: ("USD/Mtok",),
    Dimension.HERTZ: ("GHz", "MHz", "Hz"),
    Dimension.TOKENS_PER_S: ("tok/s",),
    Dimension.SHARE: ("%",),
}


def format_quantity(value: float, dimension: Dimension | str, digits: int = 4) -> str:
    """Print a quantity in the largest unit that leaves at least one before the point.

    Parameters
    ----------
    value : float
        The value [SI unit of the dimension].
    dimension : Dimension or str
        What it measures.
    digits : int
        Significant digits to keep.

    Returns
    -------
    str
        Such as "8 TB/s" or "2.516 PFLOPS"; bytes print as `format_bytes` does.
    """
    measured = Dimension(dimension)
    if measured is Dimension.BYTES:
        return format_bytes(value)
    units = UNITS[measured]
    unit = next((name for name in _PRINTED[measured] if abs(value) >= units[name]), _PRINTED[measured][-1])
    return f"{format_significant(value / units[unit], digits)} {unit}"
