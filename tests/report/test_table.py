"""Tables: the same rows as text, CSV, records and HTML."""

from __future__ import annotations

import csv
import io

from planner.report.table import Column, Table

TABLE = Table(
    (
        Column("name", "name"),
        Column("size_gib", "size GiB", right=True, show="{:,.1f}".format),
    ),
    ({"name": 'a "quoted", name', "size_gib": 1234.56}, {"name": "<b>"}),
    "Sizes",
)


def test_cells_are_formatted_and_missing_values_are_empty():
    assert TABLE.cells() == [['a "quoted", name', "1,234.6"], ["<b>", ""]]


def test_csv_keeps_full_precision_under_keys_with_units():
    rows = list(csv.DictReader(io.StringIO(TABLE.to_csv())))
    assert rows == [{"name": 'a "quoted", name', "size_gib": "1234.56"}, {"name": "<b>", "size_gib": ""}]


def test_records_have_every_column():
    assert TABLE.to_records()[1] == {"name": "<b>", "size_gib": None}


def test_html_is_escaped_and_aligned():
    page = TABLE._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<caption>Sizes</caption>" in page
    assert '<td style="text-align:right">1,234.6</td>' in page
