"""What the tests of the importers share."""

from __future__ import annotations

import pytest

from planner.measurement.importers.importing import ImportedFile, Names, read_file

SAID = {"model": "qwen2.5-7b-instruct", "gpu": "h100", "n_gpus": "1"}


@pytest.fixture
def read(catalogue, tmp_path):
    """Read a text as a file."""

    def go(text: str, **said: str) -> ImportedFile:
        path = tmp_path / "file"
        path.write_text(text)
        stated = {key: value for key, value in {**SAID, **said}.items() if value}
        return read_file(str(path), stated, Names(catalogue))

    return go
