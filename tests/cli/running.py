"""Run the command line in this process where no fixture can be used."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

from planner.cli.entry import run


def run_json(words: list[str]) -> dict[str, Any]:
    """Run a command line with --json and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run([*words, "--json"])
    assert code == 0
    return json.loads(printed.getvalue())
