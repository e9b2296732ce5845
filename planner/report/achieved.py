"""Datasheet against achieved: what matrix products reach on each accelerator, by stack and date."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from planner.performance.training_rates import AchievedRate
from planner.report.base import Report
from planner.report.provenance import sources_table
from planner.report.sentences import gpu_label
from planner.report.table import Column, Table, records_to_csv
from planner.units import format_significant

SCHEMA = "planner.achieved/1"
TERA = 1e12


def _tera(value: float) -> str:
    return format_significant(value, 4)


def _percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")


COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("dtype", "dtype", show=str.upper),
    Column("peak_tflop_per_s", "datasheet\nTFLOP/s", right=True, show=_tera),
    Column("achieved_tflop_per_s", "achieved\nTFLOP/s", right=True, show=_tera),
    Column("share", "share", right=True, show=_percent),
    Column("channel", "kind"),
    Column("date", "date"),
    Column("what", "stack or benchmark", flexible=True),
)
TAKEN = Column("taken", "used")
MORE = ("stack", "stat", "provenance", "source", "url")


def achieved_record(rate: AchievedRate) -> dict[str, Any]:
    """Return a rate as plain data, units in the keys."""
    return {
        "gpu": rate.gpu,
        "dtype": rate.dtype,
        "peak_tflop_per_s": rate.peak_flop_per_s / TERA,
        "achieved_tflop_per_s": rate.flop_per_s / TERA,
        "share": rate.share,
        "channel": rate.channel or None,
        "date": rate.date or None,
        "stack": rate.stack or None,
        "stat": rate.stat,
        "provenance": rate.provenance,
        "source": rate.source,
        "url": rate.url,
    }


def achieved_table(
    rates: Iterable[AchievedRate], title: str, taken: Collection[AchievedRate] | None = None
) -> Table:
    """Return datasheet against achieved, one row for each figure.

    Parameters
    ----------
    rates : iterable of AchievedRate
        The figures.
    title : str
        What they are about.
    taken : collection of AchievedRate, optional
        Those that an answer rests on, which get a mark.

    Returns
    -------
    Table
    """
    rows = tuple(
        {
            **achieved_record(rate),
            "what": rate.stack or rate.stat,
            "taken": "*" if taken is not None and rate in taken else None,
        }
        for rate in rates
    )
    return Table(COLUMNS if taken is None else (*COLUMNS[:-1], TAKEN, COLUMNS[-1]), rows, title, MORE)


@dataclass(frozen=True, slots=True, repr=False)
class AchievedReport(Report):
    """What matrix products reach on some accelerators.

    Parameters
    ----------
    rates : tuple of AchievedRate
        By accelerator, then format, then date.
    """

    rates: tuple[AchievedRate, ...]

    @property
    def title(self) -> str:
        """Return what the report is about."""
        return "Datasheet against achieved, by stack and date"

    @property
    def sentence(self) -> str:
        """Return the lowest and the highest share of each accelerator."""
        return " ".join(self._of_gpu(gpu) for gpu in dict.fromkeys(rate.gpu for rate in self.rates))

    def _of_gpu(self, gpu: str) -> str:
        said = []
        for dtype in dict.fromkeys(rate.dtype for rate in self.rates if rate.gpu == gpu):
            found = [rate for rate in self.rates if (rate.gpu, rate.dtype) == (gpu, dtype)]
            ordered = sorted(found, key=lambda rate: rate.share)
            least, most = ordered[0], ordered[-1]
            said.append(
                f"{least.share:.0%} to {most.share:.0%} of {_tera(most.peak_flop_per_s / TERA)} TFLOP/s in "
                f"{dtype.upper()}"
            )
        return f"{gpu_label(gpu)}: {', '.join(said)}.".replace("%", " %")

    def tables(self) -> tuple[Table, ...]:
        """Return the one table."""
        return (achieved_table(self.rates, self.title),)

    def sources(self) -> Table:
        """Return where each figure was read."""
        return sources_table(
            {
                "what": f"{gpu_label(rate.gpu)} {rate.dtype.upper()}, {rate.channel or rate.stat}, "
                f"{_tera(rate.flop_per_s / TERA)} TFLOP/s",
                "source": rate.source,
                "date": rate.date,
                "url": rate.url,
            }
            for rate in self.rates
        )

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.achieved/1`."""
        return self.signed({"schema": SCHEMA, "rates": self.to_records()})

    def to_records(self) -> list[dict[str, Any]]:
        """Return one record for each figure."""
        return [achieved_record(rate) for rate in self.rates]

    def to_csv(self) -> str:
        """Return one line for each figure under a header."""
        records = self.to_records()
        return records_to_csv(records, list(records[0]))

    def to_frame(self) -> Any:
        """Return a pandas frame with one row for each figure."""
        return self.tables()[0].to_frame()

    def __repr__(self) -> str:
        """Return the report in words."""
        return f"<AchievedReport: {len(self.rates)} figures>"

    def _repr_html_(self) -> str:
        return self.tables()[0].to_html()
