"""The shipped files as a whole: every entry of every file can be read, and nothing odd is new."""

from __future__ import annotations

import re

from planner.catalogue import Catalogue
from planner.catalogue.documents import Document
from planner.catalogue.roots import FILES


def test_every_entry_of_every_file_is_valid(catalogue: Catalogue) -> None:
    warnings = catalogue.validate()
    assert len(warnings) == 9, warnings
    assert sum("differ by exactly two" in warning for warning in warnings) == 8
    assert sum("'openai-jalapeno' is no gpu" in warning for warning in warnings) == 1


def test_the_shipped_files_are_read_entry_by_entry(catalogue: Catalogue) -> None:
    """A line in the wrong column would make every question parse a whole file."""
    for file in FILES:
        document = Document(catalogue.directory / file)
        assert document._slices is not None, file
        for root in document.roots():
            assert document.ids(root) == list(document._whole[root]), (file, root)


def test_every_source_is_used(catalogue: Catalogue) -> None:
    for file in ("economics.yaml", "hardware.yaml", "prices.yaml"):
        text = (catalogue.directory / file).read_text()
        for key in Document(catalogue.directory / file).ids("sources"):
            assert re.search(rf"source: '?{re.escape(key)}['\s,}}]", text), (file, key)
