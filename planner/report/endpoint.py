"""What a run against an endpoint measured, as a sentence, tables, JSON and CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.measurement.endpoint.run import Measured
from planner.measurement.endpoint.summary import PointSummary
from planner.report.base import Report
from planner.report.prediction_text import number
from planner.report.table import Column, Table, frame_of, records_to_csv

if TYPE_CHECKING:
    import pandas

    from planner.performance.simulation.summary import Summary

SCHEMA = "planner.measure-endpoint/1"
BUSY = 0.7
"""Share of one core above which a client is no longer quick at every moment."""

RATES = ("requests", "isl", "osl", "output_tps", "total_tps", "requests_per_s")
QUANTITIES = ("ttft", "tpot", "itl", "e2e")
NAMES = {"ttft": "TTFT, ms", "tpot": "TPOT, ms", "itl": "ITL, ms", "e2e": "E2E, s"}
STATISTICS = {"p50": "median", "mean": "mean", "p90": "p90", "p99": "p99"}

RATE_COLUMNS = (
    Column("load", "load"),
    Column("requests", "requests", right=True, show="{:,}".format),
    Column("failed", "failed", right=True, show="{:,}".format),
    Column("isl", "tokens\nin", right=True, show=number),
    Column("osl", "tokens\nout", right=True, show=number),
    Column("output_tps", "output\ntok/s", right=True, show=number),
    Column("total_tps", "in + out\ntok/s", right=True, show=number),
    Column("requests_per_s", "requests\n/s", right=True, show=number),
)
LATENCY_COLUMNS = (
    Column("load", "load"),
    Column("name", "latency"),
    *(Column(key, name, right=True, show=number) for key, name in STATISTICS.items()),
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EndpointReport(Report):
    """What was measured.

    Parameters
    ----------
    run : Measured
        The run.
    points : tuple of PointSummary
        The figures of its points.
    kept : str
        What became of the rows, in words.
    """

    run: Measured
    points: tuple[PointSummary, ...]
    kept: str = ""

    @property
    def title(self) -> str:
        """Return what was measured."""
        return f"{self.run.server['served_model']} as served"

    @property
    def answered(self) -> bool:
        """Return whether any request was answered."""
        return any(point.requests for point in self.points)

    @property
    def sentence(self) -> str:
        """Return the point of the highest throughput, or that there is none."""
        good = [point for point in self.points if point.requests]
        if not good:
            failed = next((point for point in self.points if point.errors), None)
            if failed is None:
                return "No request was answered."
            kind = next(iter(failed.errors))
            return f"No request was answered: {failed.errors[kind]:,} {kind} ({failed.error_example})."
        best = max(good, key=lambda point: point.output_tps)
        latencies = ", ".join(
            f"{name} {number(1e3 * found.p50)} ms"
            for name, found in (("TTFT", best.ttft_s), ("TPOT", best.tpot_s))
            if found is not None
        )
        name = self.run.server["served_model"]
        rate = f"{number(best.output_tps)} output tok/s at {load_of(best)}"
        return f"{name} gives {rate}; medians of {best.requests:,} requests: {latencies}."

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what makes the figures less than they seem, with the point where it is of one."""
        several = len(self.points) > 1
        doubts = [
            f"{load_of(point)}: {doubt}" if several else doubt
            for point in self.points
            for doubt in (*point.doubts, *_error_text(point))
        ]
        return tuple(dict.fromkeys((*self.run.server.get("notes", ()), *doubts, *self._busy())))

    def _busy(self) -> tuple[str, ...]:
        share = self.run.busy_share
        if share < BUSY:
            return ()
        return (f"this process used {100 * share:.0f} % of a core: some of the times may be its own",)

    def tables(self) -> tuple[Table, ...]:
        """Return rates and latencies."""
        return (self.rates(), self.latencies())

    def rates(self) -> Table:
        """Return the rates of each point."""
        rows = tuple(
            {
                "load": load_of(point),
                "failed": sum(point.errors.values()),
                **{name: getattr(point, name) for name in RATES},
            }
            for point in self.points
        )
        return Table(RATE_COLUMNS, rows)

    def latencies(self) -> Table:
        """Return median, mean, p90 and p99 of each latency at each point."""
        rows = []
        for point in self.points:
            load = load_of(point)
            for name, found in _summaries(point).items():
                if found is not None:
                    rows.append({"load": load, "name": NAMES[name], **_scaled(name, found)})
                    load = ""
        return Table(LATENCY_COLUMNS, tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.measure-endpoint/1`, units in the names."""
        run = self.run
        return {
            "schema": SCHEMA,
            "sentence": self.sentence,
            "url": run.server["root"],
            "api": run.endpoint.api,
            "served_model": run.server["served_model"],
            "engine": run.facts.get("engine") or run.server["engine"],
            "deployment": {name: value for name, value in run.facts.items() if value is not None},
            "load": run.load.model_dump(mode="json", exclude_none=True),
            "interrupted": run.interrupted,
            "run_file": str(run.path),
            "points": self.to_records(),
            "kept": self.kept,
            "provenance": "measured",
            "warnings": list(self.warnings),
        }

    def to_records(self) -> list[dict[str, Any]]:
        """Return one record for each point: rates, and the latencies with their unit in the name."""
        return [_record(point) for point in self.points]

    def to_csv(self) -> str:
        """Return one line for each point under a header."""
        records = [{**record, "errors": sum(record["errors"].values())} for record in self.to_records()]
        return records_to_csv(records, [name for name in records[0] if name != "doubts"]) if records else ""

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame with one row for each point."""
        return frame_of(self.to_records())

    def _repr_html_(self) -> str:
        import html

        tables = "".join(table.to_html() for table in self.tables())
        return f"<p><strong>{html.escape(self.sentence)}</strong></p>{tables}"


def load_of(point: PointSummary) -> str:
    """Return the load of a point in words."""
    if point.concurrency is not None:
        return f"concurrency {point.concurrency:,}"
    return "as recorded" if point.rate_per_s is None else f"{number(point.rate_per_s)} requests/s"


def _summaries(point: PointSummary) -> dict[str, Summary | None]:
    return {name: getattr(point, f"{name}_s") for name in QUANTITIES}


def _scaled(name: str, found: Summary) -> dict[str, float]:
    factor = 1.0 if name == "e2e" else 1e3
    return {key: factor * getattr(found, key) for key in STATISTICS}


def _record(point: PointSummary) -> dict[str, Any]:
    record: dict[str, Any] = {
        "concurrency": point.concurrency,
        "request_rate_per_s": point.rate_per_s,
        "requests": point.requests,
        "errors": point.errors,
        "isl_tokens": point.isl,
        "osl_tokens": point.osl,
        "tokens_per_chunk": point.tokens_per_chunk,
        "cached_share": point.cached_share,
        "output_tps": point.output_tps,
        "total_tps": point.total_tps,
        "requests_per_s": point.requests_per_s,
        "mean_in_flight": point.mean_in_flight,
        "window_s": point.window_s,
    }
    for name, found in _summaries(point).items():
        unit = "s" if name == "e2e" else "ms"
        values = dict.fromkeys(STATISTICS) if found is None else _scaled(name, found)
        record |= {f"{name}_{unit}_{STATISTICS[key]}": value for key, value in values.items()}
    return {**record, "ended": point.ended, "doubts": list(point.doubts)}


def _error_text(point: PointSummary) -> tuple[str, ...]:
    if not point.errors:
        return ()
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in point.errors.items())
    return (f"failed: {kinds}" + (f" ({point.error_example})" if point.error_example else ""),)
