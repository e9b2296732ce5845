"""The outcome of a simulation of one deployment, as a record, tables, CSV of requests and HTML."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from planner.economics.tokens import usd_per_million_tokens
from planner.report.base import Report
from planner.report.facts import fit_tables
from planner.report.figures.named import NamedFigure
from planner.report.fit import FitAnswer
from planner.report.prediction_text import load_text, number
from planner.report.provenance import price_rows, sources_table
from planner.report.sentences import gpu_label, place
from planner.report.table import Column, Table, facts_table, frame_of, records_to_csv
from planner.report.tables import assumptions_table

if TYPE_CHECKING:
    import pandas
    from plotly.graph_objects import Figure

    from planner.performance.simulation import SimulationResult, Summary
    from planner.planning.load import Load
    from planner.planning.service_simulation import SimulatedService

LATENCY_COLUMNS = (
    Column("name", "latency"),
    *(Column(key, key, right=True, show=number) for key in ("mean", "p50", "p90", "p95", "p99")),
)
UNSTEADY = "none: under overload they grow for as long as one looks"


@dataclass(frozen=True, slots=True, repr=False)
class SimulateReport(Report):
    """What a simulation of a deployment says, or why there is none.

    Parameters
    ----------
    fit : FitAnswer
        The memory of the deployment, with names and the price.
    simulated : SimulatedService
        The load and the simulation, which has no result where the model does not fit.
    """

    fit: FitAnswer
    simulated: SimulatedService

    @property
    def load(self) -> Load:
        """Return the load, with mean lengths."""
        return self.simulated.load

    @property
    def result(self) -> SimulationResult | None:
        """Return rates and latencies, of all lanes of the deployment together."""
        return self.simulated.result

    @property
    def overloaded(self) -> bool:
        """Return whether more came than could be served."""
        return self.result is not None and self.result.overloaded

    @property
    def sentence(self) -> str:
        """Return the outcome in one sentence."""
        result = self.result
        if result is None:
            return self.fit.sentence
        where = f"{self.fit.named} on {place(self.fit, self.fit.memory)}, {_load_text(self)}"
        said = f"{where}: {result.verdict}; {number(result.output_tps)} output tok/s"
        most = self.simulated.capacity_per_s
        return f"{said}; about {number(most)} requests/s can be carried." if most else f"{said}."

    @property
    def title(self) -> str:
        """Return what the report is about."""
        return f"{self.fit.named} on {place(self.fit, self.fit.memory)}, simulated: {_load_text(self)}"

    def tables(self) -> tuple[Table, ...]:
        """Return the percentiles and the single facts."""
        if self.result is None:
            return fit_tables((self.fit,))
        facts = facts_table(simulation_facts(self), "Simulation")
        return (replace(latency_table(self.result), title="Latencies of requests"), facts)

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return how latencies are spread; none where nothing was served steadily."""
        if self.result is None or self.result.ttft_s is None:
            return ()
        return (NamedFigure("latency", "Share of requests that are faster than a time", self._latency),)

    def _latency(self) -> Figure:
        from planner.report.figures.simulation import latency_figure

        assert self.result is not None
        return latency_figure(self.result)

    def assumptions(self) -> Table:
        """Return every value that nobody gave, and why it may be believed."""
        return assumptions_table((self.fit,))

    def sources(self) -> Table:
        """Return where the price comes from, with its date."""
        return sources_table(price_rows(gpu_label(self.fit.gpu), self.fit.price))

    @property
    def usd_per_million_output_tokens(self) -> float | None:
        """Return what a million output tokens cost; None without a price."""
        if self.result is None or self.fit.price is None or self.result.output_tps <= 0:
            return None
        return usd_per_million_tokens(
            output_tokens_per_s=self.result.output_tps,
            gpus=self.fit.gpus,
            usd_per_gpu_hour=self.fit.price.usd_per_gpu_hour,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, each once."""
        return tuple(dict.fromkeys((*self.simulated.notes, *self.fit.warnings)))

    def __repr__(self) -> str:
        """Return the outcome in words; `to_dict` has the rest."""
        return f"<SimulateReport: {self.sentence}>"

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.simulate/1`, units in the names."""
        return self.signed(self._record())

    def _record(self) -> dict[str, Any]:
        deployment, price = self.fit.memory.deployment, self.fit.price
        return {
            **(self.result.to_dict() if self.result else {"schema": "planner.simulate/1"}),
            "model": self.fit.model,
            "gpu": self.fit.gpu,
            **{name: getattr(deployment, name) for name in ("tp", "pp", "ep", "dp", "dcp")},
            "gpus": self.fit.gpus,
            "engine": deployment.engine,
            "weight_dtype": deployment.weight_dtype,
            "kv_dtype": deployment.kv_dtype,
            "isl_tokens": self.load.isl,
            "osl_tokens": self.load.osl,
            "concurrency": self.load.concurrency,
            "request_rate_per_s": self.load.request_rate_per_s,
            "prefix_hit": self.load.prefix_hit,
            "fits": self.fit.fits,
            "sentence": self.sentence,
            "capacity_requests_per_s": self.simulated.capacity_per_s,
            "lanes": self.simulated.lanes,
            "output_tps_per_gpu": self.result.output_tps / self.fit.gpus if self.result else None,
            "usd_per_gpu_hour": price.usd_per_gpu_hour if price else None,
            "usd_per_million_output_tokens": self.usd_per_million_output_tokens,
            "provenance": self.simulated.source or None,
            "warnings": list(self.warnings),
            "catalogue_digest": self.fit.catalogue_digest,
        }

    def __str__(self) -> str:
        """Return the outcome in words."""
        return self.sentence

    def to_records(self) -> list[dict[str, Any]]:
        """Return one record for each simulated request, times in seconds."""
        if self.result is None:
            return []
        columns = {name: values.tolist() for name, values in self.result.requests.columns().items()}
        return [
            {name: None if value != value else value for name, value in zip(columns, values, strict=True)}
            for values in zip(*columns.values(), strict=True)
        ]

    def to_csv(self) -> str:
        """Return one line for each simulated request under a header, which stands alone where nothing ran."""
        from planner.performance.simulation.requests import COLUMNS

        return records_to_csv(self.to_records(), COLUMNS)

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame with one row for each simulated request."""
        return frame_of(self.to_records())

    def _repr_html_(self) -> str:
        import html

        head = f"<p><strong>{html.escape(self.sentence)}</strong></p>"
        return head + (latency_table(self.result).to_html() if self.result else "")


def _load_text(report: SimulateReport) -> str:
    load = report.load
    if load.concurrency is None and load.request_rate_per_s is None:
        return f"a trace of {load.isl:,} tokens in and {load.osl:,} out on average"
    return load_text(load)


def latency_table(result: SimulationResult) -> Table:
    """Return the percentiles of every latency.

    Parameters
    ----------
    result : SimulationResult
        The outcome; latencies that have no steady value are left out.

    Returns
    -------
    Table
    """
    named: list[tuple[str, Summary | None, float]] = [
        ("time to first token, ms", result.ttft_s, 1e3),
        ("time per output token, ms", result.tpot_s, 1e3),
        ("gaps between outputs, ms", result.itl_s, 1e3),
        ("whole request, s", result.e2e_s, 1.0),
        ("in the queue, ms", result.queue_s, 1e3),
    ]
    rows = tuple({"name": name, **found.to_dict(scale)} for name, found, scale in named if found is not None)
    return Table(LATENCY_COLUMNS, rows)


def simulation_facts(report: SimulateReport) -> list[tuple[str, str]]:
    """Return the single facts of a simulation, each with its label.

    Parameters
    ----------
    report : SimulateReport
        A report with a simulation.

    Returns
    -------
    list of (label, text)
    """
    simulated, result = report.simulated, report.result
    if result is None:
        return []
    per_gpu = result.output_tps / report.fit.gpus
    window = result.window
    facts = [
        (
            "throughput",
            f"{number(result.output_tps)} output tok/s ({number(per_gpu)} a GPU), "
            f"{number(result.total_tps)} input and output",
        ),
        (
            "requests",
            f"{number(result.flow.offered_per_s)} a second offered, "
            f"{number(result.flow.sustained_per_s)} served",
        ),
        ("latencies", UNSTEADY if result.overloaded else ""),
        ("goodput", _goodput(result)),
        ("batch", f"{number(result.mean_batch)} requests decode at once on average"),
        (
            "KV pool",
            f"{result.kv_utilisation:.0%} full on average, {result.kv_utilisation_peak:.0%} at most; "
            f"{result.preemptions:,} preemptions".replace("%", " %"),
        ),
        (
            "counted",
            f"{int(result.requests.measured.sum()):,} of {len(result.requests.isl):,} requests "
            f"({window.measure}), {number(window.length_s)} s, seed {result.seed}",
        ),
    ]
    if simulated.lanes > 1:
        facts.append(
            ("copies", f"one of {simulated.lanes} alike is simulated with its share; rates are those of all")
        )
    cost = report.usd_per_million_output_tokens
    if cost is not None:
        facts.append(("cost", f"{number(cost)} USD per million output tokens at full load"))
    facts.append(("step times", simulated.source))
    return facts


def _goodput(result: SimulationResult) -> str:
    if result.slo is None or result.goodput_per_s is None or result.slo_share is None:
        return ""
    limits = " and ".join(
        f"{name} {number(1e3 * limit)} ms"
        for name, limit in (("TTFT", result.slo.ttft_s), ("TPOT", result.slo.tpot_s))
        if limit is not None
    )
    share = f"{result.slo_share:.1%}".replace("%", " %")
    return f"{number(result.goodput_per_s)} requests/s keep {limits}: {share} of them"
