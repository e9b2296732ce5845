from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InvalidInput
from planner.units import (
    EXAMPLES,
    UNITS,
    Dimension,
    format_bytes,
    format_count,
    format_quantity,
    format_significant,
    parse,
    parse_count,
)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("80 GB", "bytes", 80e9),
        ("80GB", "bytes", 80e9),
        ("179.06 GiB", "bytes", 179.06 * 2**30),
        ("183359 MiB", "bytes", 183359 * 2**20),
        ("1.5 TB", "bytes", 1.5e12),
        ("1 TiB", "bytes", 2**40),
        ("64 KiB", "bytes", 65536),
        ("64 kB", "bytes", 64000),
        ("7 B", "bytes", 7),
        ("8 TB/s", "bytes/s", 8e12),
        ("450 GB/s", "bytes/s", 450e9),
        ("1 GiB/s", "bytes/s", 2**30),
        ("400 Gb/s", "bit/s", 400e9),
        ("400 Gbit/s", "bit/s", 400e9),
        ("400 Gbps", "bit/s", 400e9),
        ("989 TFLOPS", "FLOP/s", 989e12),
        ("2.516 PFLOP/s", "FLOP/s", 2.516e15),
        ("624 TOPS", "FLOP/s", 624e12),
        ("700 W", "W", 700),
        ("10.2 kW", "W", 10200),
        ("25 us", "s", 25e-6),
        ("25 µs", "s", 25e-6),
        ("1.5 ms", "s", 1.5e-3),
        ("4.25 USD/h", "USD/h", 4.25),
        ("1.98 GHz", "Hz", 1.98e9),
        ("952 tok/s", "tok/s", 952),
        ("84 %", "share", 0.84),
        ("3.35e3 GB/s", "bytes/s", 3.35e12),
        ("  8  TB/s ", "bytes/s", 8e12),
        ("0 GB", "bytes", 0),
    ],
)
def test_parse_gives_si_units(text: str, dimension: str, value: float) -> None:
    assert parse(text, dimension) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "dimension", "said"),
    [
        ("80", "bytes", "'80' has no unit; write it like 80 GB or 79.2 GiB"),
        ("3.35e12", "bytes/s", "no unit; write it like 8 TB/s"),
        ("-80 GB", "bytes", "negative"),
        ("-0 GB", "bytes", "negative"),
        ("nan GB", "bytes", "not a quantity"),
        ("inf GB", "bytes", "not a quantity"),
        ("1e400 GB", "bytes", "not a finite quantity"),
        ("", "bytes", "not a quantity"),
        ("GB", "bytes", "not a quantity"),
        ("1,000 GB", "bytes", "unknown unit"),
        ("80 gb", "bytes", "did you mean GB?"),
        ("8 tb/s", "bytes/s", "did you mean TB/s?"),
        ("80 GB", "bytes/s", "is in bytes, but bytes/s is needed, like 8 TB/s"),
        (
            "400 Gb/s",
            "bytes/s",
            "is in bit/s, but bytes/s is needed, like 8 TB/s or 450 GB/s; 400 Gb/s = 50 GB/s",
        ),
        ("50 GB/s", "bit/s", "50 GB/s = 400 Gbit/s"),
        ("700 kWh", "W", "unknown unit 'kWh'"),
        ("9" * 200 + " GB", "bytes", "not a quantity"),
    ],
)
def test_parse_refuses_and_says_what_would_be_right(text: str, dimension: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(text, dimension)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_parse_refuses_what_is_not_text() -> None:
    with pytest.raises(InvalidInput, match="not a quantity"):
        parse(80, "bytes")  # type: ignore[arg-type]


def test_every_dimension_reads_its_own_example() -> None:
    for dimension, example in EXAMPLES.items():
        for text in example.split(" or "):
            assert parse(text, dimension) > 0
    assert set(EXAMPLES) == set(Dimension) == set(UNITS)


def test_no_unit_belongs_to_two_dimensions() -> None:
    seen: dict[str, Dimension] = {}
    for dimension, units in UNITS.items():
        for unit in units:
            assert seen.setdefault(unit, dimension) is dimension


@given(
    st.floats(min_value=1024, max_value=1e15),
    st.sampled_from([d for d in Dimension if d is not Dimension.SHARE]),
)
def test_printing_and_reading_agree(value: float, dimension: Dimension) -> None:
    again = parse(format_quantity(value, dimension, digits=9).replace(",", ""), dimension)
    assert again == pytest.approx(value, rel=6e-3 if dimension is Dimension.BYTES else 1e-7)


@pytest.mark.parametrize(
    ("value", "printed"),
    [(179.06 * 2**30, "179.06 GiB"), (2**40, "1.00 TiB"), (512, "512 B"), (1536, "1.50 KiB"), (0, "0 B")],
)
def test_format_bytes(value: float, printed: str) -> None:
    assert format_bytes(value) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (2.8e12, "2.8 T"),
        (671e9, "671 B"),
        (8030261248, "8.03 B"),
        (1e6, "1 M"),
        (131072, "131,072"),
        (0, "0"),
    ],
)
def test_format_count(value: float, printed: str) -> None:
    assert format_count(value) == printed


@pytest.mark.parametrize(
    ("value", "digits", "printed"),
    [(179.0625, 4, "179.1"), (2516, 2, "2,516"), (0.004712, 2, "0.0047"), (10.0, 4, "10"), (0, 4, "0")],
)
def test_format_significant(value: float, digits: int, printed: str) -> None:
    assert format_significant(value, digits) == printed


@pytest.mark.parametrize(
    ("value", "dimension", "printed"),
    [
        (8e12, "bytes/s", "8 TB/s"),
        (2.516e15, "FLOP/s", "2.516 PFLOPS"),
        (153.5e12, "FLOP/s", "153.5 TFLOPS"),
        (0.9e-6, "s", "900 ns"),
        (1.4e3, "W", "1.4 kW"),
        (4.25, "USD/h", "4.25 USD/h"),
        (0.84, "share", "84 %"),
    ],
)
def test_format_quantity(value: float, dimension: str, printed: str) -> None:
    assert format_quantity(value, dimension) == printed


@pytest.mark.parametrize(
    ("text", "count"),
    [("4096", 4096), ("128k", 128_000), ("128Ki", 131_072), ("1M", 10**6), ("2.8T", 2_800_000_000_000)],
)
def test_parse_count(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "abc", "-1", "1.5", "nan", "inf", "1e400", "128 GB", "1e3x"])
def test_parse_count_refuses(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_count(text)


def test_gib_is_not_gb() -> None:
    assert math.isclose(parse("1 GiB", "bytes") / parse("1 GB", "bytes"), 1.073741824)
