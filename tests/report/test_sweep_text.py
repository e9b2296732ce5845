"""Numbers of a sweep as text: what ``%.7g`` writes, worked out for many at once."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.planning.sweep_rows import COLUMNS, Rows
from planner.report.sweep_text import csv_bytes, csv_header, decimals, integers


def texts(table):
    return [bytes(column[column != 0]).decode() for column in table.T]


def is_tie(value):
    """Return whether a number is so near to half-way between two of seven digits that either will do."""
    digits = Decimal(value).as_tuple().digits
    half = Decimal(int("".join(map(str, digits[7:]))) if digits[7:] else 0).scaleb(7 - len(digits))
    return abs(half - Decimal("0.5")) < Decimal("1e-8")


@given(st.lists(st.floats(1e-8, 1e12), min_size=1, max_size=20))
def test_numbers_have_the_seven_digits_of_the_usual_format(values):
    for found, value in zip(texts(decimals(np.array(values))), values, strict=True):
        assert found == f"{value:.7g}" or is_tie(value)


def test_edges_of_the_format_to_the_letter():
    values = [0.0, 1e-4, 9.9999999e-5, 9.9999999e-4, 0.1, 99.999999, 1.0, 10.0, 9999999.0, 9999999.6, 1e300]
    values += [-1.5, 1234567.8, 0.00012345678, 100.05, float("inf")]
    assert texts(decimals(np.array(values))) == [f"{value:.7g}" for value in values]
    assert texts(decimals(np.array([np.nan, 2.0, np.nan]))) == ["", "2", ""]


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=20))
def test_whole_numbers_have_all_their_digits(values):
    assert texts(integers(np.array(values))) == [str(value) for value in values]


def test_words_of_strangers_stay_in_their_cell():
    said = 'no "such",\nthing, 100 % é'
    rows = Rows(
        2,
        {"model": said, "gpu": "h100", "tp": 8, "state": "refused"},
        {"row": np.arange(2), "ttft_ms": np.array([0.5, np.nan]), "reason": np.array([said, None], object)},
    )
    first, second = csv.DictReader(io.StringIO(csv_header() + csv_bytes([rows]).decode()))
    assert list(first) == list(COLUMNS)
    assert (first["model"], first["reason"], first["ttft_ms"], first["row"]) == (said, said, "0.5", "0")
    assert (second["reason"], second["ttft_ms"], second["row"], second["tp"]) == ("", "", "1", "8")
