"""The answer to a sweep: its rows, in memory or in a file, and what is said of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.economics.prices import GIVEN
from planner.errors import InvalidInput
from planner.planning.sweep_rows import ANSWERED, Rows
from planner.planning.sweeping import SweepQuestion
from planner.report.base import Report
from planner.report.plan_text import counted
from planner.report.prediction_text import number
from planner.report.provenance import sources_table
from planner.report.sentences import gpu_label
from planner.report.sweep_parts import Summary, records
from planner.report.sweep_text import csv_bytes, csv_header
from planner.report.table import Column, Table, facts_table, frame_of

if TYPE_CHECKING:
    import pandas

SCHEMA = "planner.sweep/1"

MOST_RECORDS = 1000
"""Rows that the JSON of a sweep holds; more stand in CSV and Parquet."""
MOST_REASONS_SHOWN = 20

_BEST = (
    Column("model", "model", flexible=True),
    Column("gpu", "GPU", show=gpu_label),
    Column("gpus", "GPUs", right=True),
    Column("weight_dtype", "weights"),
    Column("isl_tokens", "tokens\nin", right=True, show="{:,}".format),
    Column("osl_tokens", "tokens\nout", right=True, show="{:,}".format),
    Column("concurrency", "requests\nat once", right=True, show=number),
    Column("output_tps_per_gpu", "output\ntok/s\na GPU", right=True, show=number),
    Column("tps_per_user", "tok/s a\nrequest", right=True, show=number),
)
_CHEAPEST = (
    *(column for column in _BEST if column.key != "tps_per_user"),
    Column("usd_per_gpu_hour", "USD a\nGPU-\nhour", right=True, show="{:,.2f}".format),
    Column("usd_per_million_output_tokens", "USD per\nM output\ntokens", right=True, show="{:,.2f}".format),
)


@dataclass(frozen=True, slots=True, repr=False)
class SweepReport(Report):
    """What a sweep found.

    Parameters
    ----------
    asked : SweepQuestion
        The sweep.
    summary : Summary
        What is said of all rows.
    parts : tuple of Rows or None
        The rows, where they are in memory.
    out : str or None
        The file that holds them otherwise.
    """

    asked: SweepQuestion
    summary: Summary
    parts: tuple[Rows, ...] | None = None
    out: str | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.summary.rows

    @property
    def answered(self) -> int:
        """Return how many rows have figures."""
        return self.summary.states.get(ANSWERED, 0)

    @property
    def title(self) -> str:
        """Return what the report is about."""
        return f"{len(self):,} operating points of {self.asked.groups:,} deployments"

    @property
    def sentence(self) -> str:
        """Return how many rows there are, and how many of them have figures."""
        others = [f"{count:,} {state}" for state, count in self.summary.states.items() if state != ANSWERED]
        rest = f"; {', '.join(others)}" if others else ""
        return f"{len(self):,} rows, {self.answered:,} with figures{rest}."

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return why rows have no figures or no price, with how many rows each reason has."""
        said = sorted(self.summary.reasons.items(), key=lambda item: (-item[1], item[0]))
        shown = tuple(f"{counted(count, 'row')}: {reason}" for reason, count in said[:MOST_REASONS_SHOWN])
        more = sum(count for _, count in said[MOST_REASONS_SHOWN:])
        return (*shown, f"{counted(more, 'row')}: other reasons, in the rows themselves") if more else shown

    def tables(self) -> tuple[Table, ...]:
        """Return the best rows of each model on each accelerator, and what was swept."""
        tables = [
            Table(_BEST, self._best("most_output"), "Most output of a GPU, by model and accelerator"),
            Table(
                _CHEAPEST,
                self._best("cheapest"),
                "Cheapest output, by model and accelerator",
                ("tps_per_user",),
            ),
        ]
        return (
            *(table.without_empty() for table in tables if table.rows),
            facts_table(self._axes(), "What was swept"),
        )

    def _best(self, what: str) -> tuple[Mapping[str, Any], ...]:
        return tuple(found[what] for found in self.summary.best.values() if what in found)

    def _axes(self) -> list[tuple[str, str]]:
        asked = self.asked
        models = [one if isinstance(one, str) else one.id for one in asked.models]
        axes = {"models": models, "GPUs": asked.gpus, **asked.settings, **asked.loads}
        facts = [(name.replace("_", " "), _listed(values)) for name, values in axes.items()]
        facts.append(("options", ", ".join(f"{name} {value}" for name, value in asked.options.items())))
        if any(term.usd_per_gpu_hour for terms in asked.prices.values() for term in terms):
            facts.append(("cost of tokens", asked.use.sentence))
        return facts

    def sources(self) -> Table:
        """Return the prices of each accelerator and their terms."""
        return sources_table(
            {
                "what": f"price of {gpu_label(gpu)}, {term.usd_per_gpu_hour:,.2f} USD/h",
                "source": term.provenance if term.kind == GIVEN else f"{term.kind}: {term.provenance}",
            }
            for gpu, terms in self.asked.prices.items()
            for term in terms
            if term.usd_per_gpu_hour is not None
        )

    def to_records(self) -> list[dict[str, Any]]:
        """Return every row as a record; of rows in a file, as `to_frame` reads them."""
        if self.parts is None:
            frame = self.to_frame()
            return [
                {key: None if value != value else value for key, value in record.items()}
                for record in frame.to_dict("records")
            ]
        return list(records(self.parts))

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.sweep/1`; up to 1,000 rows stand in it."""
        said = self.summary.to_dict()
        best = [{"model": m, "gpu": g, **found} for (m, _, g), found in self._pairs()]
        small = self.parts is not None and len(self) <= MOST_RECORDS
        record = {
            "schema": SCHEMA,
            "sentence": self.sentence,
            "groups": self.asked.groups,
            **said,
            "best": best,
        }
        if small:
            record["results"] = self.to_records()
        record["catalogue_digest"] = self.asked.catalogue_digest
        return self.signed(record)

    def _pairs(self) -> list[tuple[tuple[str, str, str], dict[str, dict[str, Any]]]]:
        return [(pair.partition("\t"), found) for pair, found in self.summary.best.items()]

    def to_csv(self) -> str:
        """Return every row under a header, as the file of a sweep has them."""
        if self.parts is None:
            assert self.out is not None
            if not self.out.endswith(".csv"):
                raise InvalidInput(f"the rows stand in {self.out}; read them with to_frame()")
            return Path(self.out).read_text(encoding="utf-8")
        return csv_header() + csv_bytes(self.parts).decode()

    def to_frame(self) -> pandas.DataFrame:
        """Return every row as a pandas frame, read from the file where they are in one."""
        if self.parts is not None:
            return frame_of(self.to_records())
        import pandas

        assert self.out is not None
        return pandas.read_csv(self.out) if self.out.endswith(".csv") else pandas.read_parquet(self.out)

    def __repr__(self) -> str:
        """Return the outcome in words."""
        return f"<SweepReport: {self.sentence}>"

    def __str__(self) -> str:
        """Return the outcome in words."""
        return self.sentence

    def _repr_html_(self) -> str:
        return f"<p><strong>{self.sentence}</strong></p>" + "".join(
            table.to_html() for table in self.tables()
        )


def _listed(values: Any) -> str:
    named = ["as usual" if value is None else str(value) for value in values]
    if len(named) > 12:
        named = [*named[:10], f"... {named[-1]} ({len(named):,} values)"]
    return ", ".join(named)
