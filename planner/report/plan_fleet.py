"""The answer to "which fleet": replicas of each model on each GPU type, what they cost, or what binds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.planning.fleet import FleetPlan, NoFleet
from planner.planning.fleet_making import FleetMade
from planner.report.base import Report
from planner.report.figures.named import NamedFigure
from planner.report.plan_text import counted, missed_text, slo_share_text
from planner.report.prediction_text import number
from planner.report.provenance import price_rows, sources_table
from planner.report.sentences import gpu_label
from planner.report.table import Column, Table, frame_of

if TYPE_CHECKING:
    import pandas

SCHEMA = "planner.plan/1"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _money(value: float) -> str:
    return f"{value:,.2f}"


PLACEMENT_COLUMNS = (
    Column("model", "model"),
    Column("gpu", "GPU", show=gpu_label),
    Column("layout", "replica"),
    Column("requests_per_s", "requests/s\na replica", right=True, show=number),
    Column("replicas", "replicas", right=True, show=_whole),
    Column("replicas_least", "least in\nan hour", right=True, show=_whole),
    Column("capacity_requests_per_s", "requests/s\nof all", right=True, show=number),
)
STAND_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("units", "nodes", right=True, show=_whole),
    Column("gpus", "GPUs", right=True, show=_whole),
    Column("stock_gpus", "in stock", right=True, show=_whole),
    Column("usd_per_gpu_hour", "USD/h\na GPU", right=True, show=_money),
    Column("usd_per_hour", "USD/h", right=True, show=_money),
    Column("power_kw", "kW", right=True, show=number),
)
SERVED_COLUMNS = (
    Column("model", "model"),
    Column("slo", "SLO", flexible=True),
    Column("peak_requests_per_s", "peak\nrequests/s", right=True, show=number),
    Column("served_percent", "served", right=True, show=lambda value: f"{value:.1f} %"),
)
OFFER_COLUMNS = (
    Column("model", "model"),
    Column("gpu", "GPU", show=gpu_label),
    Column("layout", "replica"),
    Column("replica_requests_per_s", "requests/s\nwithin the SLO", right=True, show=number),
    Column("usd_per_million_requests", "USD/M\nrequests", right=True, show=number),
    Column("failed", "why not", flexible=True),
)


@dataclass(frozen=True, slots=True, repr=False)
class FleetReport(Report):
    """A fleet for several models on several GPU types.

    Parameters
    ----------
    made : FleetMade
        The fleet, with what it was made from.
    digest : str
        Of the catalogue.
    """

    made: FleetMade
    digest: str = ""

    @property
    def plan(self) -> FleetPlan | None:
        """Return the fleet, where there is one."""
        return self.made.outcome if isinstance(self.made.outcome, FleetPlan) else None

    @property
    def answered(self) -> bool:
        """Return whether there is a fleet."""
        return self.plan is not None

    @property
    def fits(self) -> bool:
        """Return whether any model can run on any of the GPU types."""
        return any(on.kept or (on.missed is not None and on.missed.label) for on in self.made.on)

    @property
    def title(self) -> str:
        """Return what is planned."""
        return f"Fleet for {', '.join(model.name for model in self.made.models)}"

    @property
    def sentence(self) -> str:
        """Return the fleet with its cost and its gap, or what stands in its way."""
        outcome = self.made.outcome
        if isinstance(outcome, NoFleet):
            return f"{self.title}: {outcome.sentence}."
        gpus = ", ".join(f"{max(stand.gpus):,} {gpu_label(stand.supply.gpu)}" for stand in outcome.stands)
        said = f"{self.title}: {gpus or 'no GPU'}; {outcome.usd_per_hour:,.2f} USD/h"
        if len(outcome.problem.demands[0].rates_per_s) > 1 and outcome.problem.scaling == "hourly":
            said += f" on average, {outcome.usd_in_dearest_hour:,.2f} in the dearest hour"
        if outcome.problem.objective == "most-served":
            said += f"; {100 * outcome.served_share:.1f} % of the demand is served"
        proven = "proven best" if outcome.gap <= 1e-9 else f"within {100 * outcome.gap:.2g} % of the best"
        return f"{said}; {proven} ({outcome.status})."

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know."""
        plan = self.plan
        said = []
        if plan is not None and plan.status != "optimal":
            said.append(
                f"the best is not proven: a fleet up to {100 * plan.gap:.2g} % better may exist; fewer types "
                "and hours can be solved further"
            )
        return tuple(said)

    def __repr__(self) -> str:
        """Return the fleet in words."""
        return f"<FleetReport: {self.sentence}>"

    def __str__(self) -> str:
        """Return the fleet in words."""
        return self.sentence

    def placements_table(self) -> Table:
        """Return the replicas of each model."""
        plan = self.plan
        rows = tuple(
            {
                "model": one.offer.model,
                "gpu": one.offer.gpu,
                "layout": one.offer.label,
                "replica_gpus": one.offer.gpus,
                "requests_per_s": one.offer.rate_per_s,
                "replicas": max(one.replicas),
                "replicas_least": min(one.replicas) if len(one.replicas) > 1 else None,
                "capacity_requests_per_s": max(one.replicas) * one.offer.rate_per_s,
                "replicas_by_hour": list(one.replicas),
            }
            for one in (plan.placements if plan else ())
        )
        columns: tuple[Column, ...] = PLACEMENT_COLUMNS
        if all(row["replicas_least"] is None for row in rows):
            columns = tuple(column for column in columns if column.key != "replicas_least")
        return Table(columns, rows, "Replicas", ("replica_gpus", "replicas_by_hour"))

    def stands_table(self) -> Table:
        """Return the GPUs of each type, spares included."""
        plan = self.plan
        rows = tuple(
            {
                "gpu": one.supply.gpu,
                "units": max(one.units),
                "gpus": max(one.gpus),
                "stock_gpus": one.supply.stock_gpus,
                "usd_per_gpu_hour": one.supply.usd_per_gpu_hour,
                "usd_per_hour": sum(one.gpus) / len(one.gpus) * one.supply.usd_per_gpu_hour,
                "power_kw": None if one.supply.kw_per_gpu is None else max(one.gpus) * one.supply.kw_per_gpu,
                "gpus_by_hour": list(one.gpus),
            }
            for one in (plan.stands if plan else ())
        )
        return Table(STAND_COLUMNS, rows, "GPUs, spares included", ("gpus_by_hour",))

    def served_table(self) -> Table:
        """Return what is asked of each model, and served."""
        plan = self.plan
        rows = []
        for model in self.made.models:
            demand = next(
                one for one in self.made.outcome.problem.demands if one.model == model.name
            ).rates_per_s
            served = plan.served_per_s[model.name] if plan else ()
            rows.append(
                {
                    "model": model.name,
                    "slo": slo_share_text(model.slo),
                    "peak_requests_per_s": max(demand),
                    "served_percent": 100 * sum(served) / sum(demand) if plan and sum(demand) else None,
                }
            )
        return Table(SERVED_COLUMNS, tuple(rows), "Demand")

    def offers_table(self) -> Table:
        """Return what each model carries on each type, or why not."""
        rows: list[dict[str, Any]] = []
        for on in self.made.on:
            price = self.made.prices[on.gpu.id].usd_per_gpu_hour
            rows += [
                {
                    "model": on.model,
                    "gpu": on.gpu.id,
                    "layout": one.candidate.label,
                    "replica_requests_per_s": one.rate_per_s,
                    "usd_per_million_requests": price * one.candidate.gpus / one.rate_per_s / 3600 * 1e6,
                    "failed": None,
                }
                for one in on.kept
            ]
            if not on.kept:
                why = missed_text(on.missed) if on.missed is not None else on.refused
                rows.append({"model": on.model, "gpu": on.gpu.id, "failed": why})
        columns = OFFER_COLUMNS if any(row["failed"] for row in rows) else OFFER_COLUMNS[:-1]
        return Table(columns, tuple(rows), "Deployments to choose from")

    def tables(self) -> tuple[Table, ...]:
        """Return replicas, GPUs, demand, and what was chosen from."""
        chosen = (self.placements_table(), self.stands_table()) if self.answered else ()
        return (*chosen, self.served_table(), self.offers_table())

    def facts(self) -> list[tuple[str, str]]:
        """Return the totals, and what the solver says, as labelled facts."""
        asked, plan = self.made.asked, self.plan
        if plan is None:
            return []
        power = "" if plan.power_kw is None else f"{number(plan.power_kw)} kW"
        capex = "" if plan.capex_usd is None else f"{plan.capex_usd:,.0f} USD"
        spare = counted(asked.spare_nodes, "node")
        return [
            ("cost", f"{plan.usd_per_hour:,.2f} USD/h, {plan.usd_per_month:,.0f} USD in 730 h"),
            ("to buy", capex),
            ("power", power),
            ("scaling", f"{asked.scaling}; {plan.gpu_hours_per_day:,.0f} GPU-hours a day"),
            (
                "headroom",
                f"replicas filled to {100 * asked.peak_utilisation:g} %, {spare} of each type stand by",
            ),
            (
                "solver",
                f"HiGHS, {plan.status}, gap {100 * plan.gap:.2g} %, {plan.variables:,} columns and "
                f"{plan.constraints:,} rows",
            ),
        ]

    def sources(self) -> Table:
        """Return the quotes of the prices, and where power comes from."""
        rows: list[dict[str, Any]] = []
        for card in self.made.cards:
            rows += price_rows(gpu_label(card.id), self.made.prices.get(card.id))
            power = self.made.powers.get(card.id)
            if power is not None:
                rows.append({"what": f"power of {gpu_label(card.id)}", "source": power.provenance})
        return sources_table(rows)

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the GPUs by type and model."""
        from planner.report.figures.plan import fleet_figure

        plan = self.plan
        if plan is None:
            return ()
        return (NamedFigure("fleet", "GPUs of each type, by model", lambda: fleet_figure(plan)),)

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.plan/1`."""
        plan, asked = self.plan, self.made.asked
        outcome = self.made.outcome
        record: dict[str, Any] = {
            "schema": SCHEMA,
            "sentence": self.sentence,
            "answered": self.answered,
            "objective": asked.objective,
            "scaling": asked.scaling,
            "limits": asked.limits.model_dump(),
            "peak_utilisation": asked.peak_utilisation,
            "spare_nodes": asked.spare_nodes,
            "placements": self.placements_table().to_records(),
            "gpus": self.stands_table().to_records(),
            "demand": self.served_table().to_records(),
            "offers": self.offers_table().to_records(),
        }
        if plan is not None:
            record |= {
                "usd_per_hour": plan.usd_per_hour,
                "usd_per_month": plan.usd_per_month,
                "capex_usd": plan.capex_usd,
                "power_kw": plan.power_kw,
                "served_share": plan.served_share,
                "gpu_hours_per_day": plan.gpu_hours_per_day,
                "solver_status": plan.status,
                "optimality_gap": plan.gap,
                "columns": plan.variables,
                "rows": plan.constraints,
            }
        if isinstance(outcome, NoFleet):
            for key, listed in (("binding", outcome.bindings), ("binding_together", outcome.together)):
                record[key] = [
                    {"limit": one.name, "allowed": one.limit, "needed": one.needed, "unit": one.unit}
                    for one in listed
                ]
            record["unserved"] = list(outcome.unserved)
        return self.signed({**record, "warnings": list(self.warnings), "catalogue_digest": self.digest})

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record for each deployment in the fleet, units in the keys."""
        table = self.placements_table() if self.answered else self.offers_table()
        return table.to_records()

    def to_csv(self) -> str:
        """Return one line for each deployment in the fleet under a header."""
        table = self.placements_table() if self.answered else self.offers_table()
        return table.to_csv()

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame with one row for each deployment in the fleet."""
        return frame_of(self.to_records())

    def _repr_html_(self) -> str:
        import html

        head = f"<p><strong>{html.escape(self.sentence)}</strong></p>"
        return head + "".join(table.to_html() for table in self.tables())
