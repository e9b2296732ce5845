"""Keeps the rows of a benchmark as they come, beside a file that says on what they were measured."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any

from planner.measurement.user_folder import append_rows, user_folder

NAME = "gpu"
EVERY_S = 2.0
"""Rows are written so often [s]; an interrupted run loses no more."""


class KernelRows:
    """Rows of one run on their way to the user's folder.

    Parameters
    ----------
    folder : path or None
        As for `user_folder`.
    facts : mapping of str to str
        On what they are measured.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, facts: Mapping[str, str]) -> None:
        self._folder, self.environment = folder, dict(facts)
        self.rows: list[dict[str, Any]] = []
        self._pending: list[dict[str, Any]] = []
        self._written = time.monotonic()
        moment = time.strftime("%Y%m%dT%H%M%S")
        digest = hashlib.sha256(json.dumps(self.environment, sort_keys=True).encode()).hexdigest()[:6]
        self.run = f"{moment}-{digest}"
        self.path = user_folder(folder) / "kernels" / f"{NAME}.csv"
        self.sidecar = self.path.with_name(f"{NAME}-{self.run}.json")

    def add(self, row: Mapping[str, Any]) -> None:
        """Take a row; it is on disk two seconds later at the latest, if more rows come, or at `close`."""
        kept = {**row, "run": self.run}
        self.rows.append(kept)
        self._pending.append(kept)
        if time.monotonic() - self._written > EVERY_S:
            self._write()

    def close(self, readings: Mapping[str, str]) -> None:
        """Write what is left, and what power and clocks were meanwhile."""
        self.environment |= readings
        self._write()

    def _write(self) -> None:
        if self._pending:
            append_rows("kernels", self._pending, name=NAME, folder=self._folder)
            self._pending = []
        self.sidecar.parent.mkdir(parents=True, exist_ok=True)
        part = self.sidecar.with_name(f".{self.sidecar.name}.part")
        facts = {"run": self.run, "rows": len(self.rows), "environment": self.environment}
        part.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        part.replace(self.sidecar)
        self._written = time.monotonic()
