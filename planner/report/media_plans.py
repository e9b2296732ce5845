"""Answers on a traffic of media, and on the price at which the cheaper of two accelerators changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planner.economics.tokens import SECONDS_PER_HOUR
from planner.economics.use import HOURS_PER_MONTH
from planner.planning.media import MediaFlip, MediaPlan
from planner.report.base import Report
from planner.report.figures.named import NamedFigure
from planner.report.media import MediaAnswer, MediaReport
from planner.report.media_tables import side_by_side
from planner.report.sentences import gpu_label
from planner.report.table import Column, Table, frame_of, records_to_csv
from planner.scenario.media import plural

if TYPE_CHECKING:
    import pandas

PLAN_SCHEMA, BREAKEVEN_SCHEMA = "planner.media_plan/1", "planner.media_breakeven/1"
_MONEY = "{:,.2f}".format

PLAN_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("seconds", "time of\na unit, s", right=True, show=_MONEY),
    Column("serving_gpus", "serving\nGPUs", right=True, show="{:,}".format),
    Column("spare_gpus", "standing\nby", right=True, show="{:,}".format),
    Column("gpus", "GPUs\npaid", right=True, show="{:,}".format),
    Column("nodes", "nodes", right=True, show="{:,}".format),
    Column("busy", "busy", right=True, show="{:.0%}".format),
    Column("usd_per_hour", "USD\nan hour", right=True, show=_MONEY),
    Column("usd_per_month", "USD\na month", right=True, show="{:,.0f}".format),
    Column("usd_per_unit", "USD\na unit", right=True, show="{:,.4f}".format),
)

FLIP_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("seconds", "time of\na unit, s", right=True, show=_MONEY),
    Column("usd_per_gpu_hour", "USD\nan hour", right=True, show=_MONEY),
    Column("usd_per_unit", "USD\na unit", right=True, show="{:,.4f}".format),
    Column("flips_at_usd_per_gpu_hour", "the same cost\nat USD an hour", right=True, show=_MONEY),
)


class _Media(Report):
    """What both answers share: tables of the times behind them."""

    __slots__ = ()

    @property
    def behind(self) -> MediaReport:
        """Return the times that the answer rests on."""
        raise NotImplementedError

    def rows(self) -> Table:
        """Return what CSV and frames hold, with every column."""
        raise NotImplementedError

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know."""
        return self.behind.warnings

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the time of a unit by part."""
        return self.behind.figures()

    def assumptions(self) -> Table:
        """Return every value that nobody gave, and why it may be believed."""
        return self.behind.assumptions()

    def sources(self) -> Table:
        """Return where rates, runs and prices come from."""
        return self.behind.sources()

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record for each accelerator, units in the keys."""
        return self.rows().to_records()

    def to_csv(self) -> str:
        """Return the same under a header."""
        records = self.to_records()
        return records_to_csv(records, list(records[0]))

    def to_frame(self) -> pandas.DataFrame:
        """Return the same as a pandas frame."""
        return frame_of(self.to_records())

    def __repr__(self) -> str:
        """Return the answer in words."""
        return f"<{type(self).__name__}: {self.sentence}>"

    def _repr_html_(self) -> str:
        import html

        return f"<p><strong>{html.escape(self.sentence)}</strong></p>{self.rows().to_html()}"


@dataclass(frozen=True, slots=True, repr=False)
class MediaPlanReport(_Media):
    """Accelerators for a traffic of media, the cheapest first; without prices by their number.

    Parameters
    ----------
    answers : tuple of MediaAnswer
        The time of a unit on each accelerator.
    plans : mapping of str to MediaPlan
        By accelerator; those that miss the limit have none.
    limit_s : float or None
        Longest time of a unit [s].
    left_out : mapping of str to str
        Accelerators that cannot make the unit, and why.
    """

    answers: tuple[MediaAnswer, ...]
    plans: Mapping[str, MediaPlan]
    limit_s: float | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def behind(self) -> MediaReport:
        """Return the times that the plan rests on."""
        return MediaReport(self.answers, asked="predict", left_out=self.left_out)

    @property
    def fits(self) -> bool:
        """Return whether the unit can be made on at least one of the accelerators."""
        return any(answer.fits for answer in self.answers)

    @property
    def answered(self) -> bool:
        """Return whether there is a plan."""
        return bool(self.plans)

    @property
    def ranked(self) -> tuple[MediaAnswer, ...]:
        """Return the accelerators with a plan in order: by cost where all have prices, else by GPUs."""
        planned = [answer for answer in self.answers if answer.gpu in self.plans]
        if planned and all(answer.price for answer in planned):
            return tuple(sorted(planned, key=lambda one: self.usd_per_hour(one) or 0.0))
        return tuple(sorted(planned, key=lambda one: self.plans[one.gpu].gpus))

    def usd_per_hour(self, answer: MediaAnswer) -> float | None:
        """Return what the accelerators of a plan cost in an hour [USD/h]."""
        if answer.price is None:
            return None
        return self.plans[answer.gpu].gpus * answer.price.usd_per_gpu_hour

    @property
    def title(self) -> str:
        """Return what the plan is about."""
        first = self.answers[0]
        return f"A plan for {plural(first.model.makes)} of {first.model.name}, {first.workload.text}"

    @property
    def sentence(self) -> str:
        """Return the plan in words."""
        if not self.plans:
            within = "" if self.limit_s is None else f" within {self.limit_s:g} s"
            return f"No accelerator that was named makes a unit{within}. " + " ".join(
                answer.sentence for answer in self.answers
            )
        best = self.ranked[0]
        plan = self.plans[best.gpu]
        usd = self.usd_per_hour(best)
        cost = ""
        if best.price is not None and usd is not None:
            each = plan.usd_per_unit(best.price.usd_per_gpu_hour)
            cost = f", {usd:,.2f} USD an hour, {each:,.4f} USD a unit with idle hours"
        node = "node" if plan.nodes == 1 else "nodes"
        return (
            f"{plan.gpus:,} x {gpu_label(best.gpu)} in {plan.nodes:,} {node} make {plan.peak_per_s:.4g} "
            f"{plural(best.model.makes)} a second at the peak ({best.model.name}, {best.workload.text}, "
            f"{plan.seconds:,.2f} s each): {plan.serving:,} serve at {plan.utilisation:.0%}, {plan.spare:,} "
            f"are over or stand by{cost}."
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the plan of each accelerator, and the times behind them."""
        times = self.behind.tables()
        return (self.rows().without_empty(), *times) if self.plans else times

    def rows(self) -> Table:
        """Return the plan of each accelerator, or the times where none keeps the limit."""
        if not self.plans:
            return side_by_side(self.answers)
        return Table(PLAN_COLUMNS, tuple(self._row(answer) for answer in self.ranked), "GPUs for the traffic")

    def _row(self, answer: MediaAnswer) -> dict[str, Any]:
        plan = self.plans[answer.gpu]
        price, usd = answer.price, self.usd_per_hour(answer)
        return {
            "gpu": answer.gpu,
            "seconds": plan.seconds,
            "serving_gpus": plan.serving,
            "spare_gpus": plan.spare,
            "gpus": plan.gpus,
            "nodes": plan.nodes,
            "busy": plan.busy,
            "usd_per_hour": usd,
            "usd_per_month": None if usd is None else usd * HOURS_PER_MONTH,
            "usd_per_unit": None if price is None else plan.usd_per_unit(price.usd_per_gpu_hour),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.media_plan/1`."""
        plan = next(iter(self.plans.values()), None)
        return self.signed(
            {
                "schema": PLAN_SCHEMA,
                "model": self.answers[0].model.id,
                "answered": self.answered,
                "mean_units_per_s": None if plan is None else plan.mean_per_s,
                "peak_units_per_s": None if plan is None else plan.peak_per_s,
                "peak_utilisation": None if plan is None else plan.utilisation,
                "limit_s": self.limit_s,
                "plans": [self._row(answer) for answer in self.ranked],
                "times": [answer.to_dict() for answer in self.answers],
                "left_out": dict(self.left_out),
            }
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, accelerators that are too slow first."""
        slow = [one for one in self.answers if one.gpu not in self.plans and one.seconds is not None]
        said = [f"{gpu_label(one.gpu)} takes {one.seconds:,.2f} s, longer than the limit" for one in slow]
        return (*self._by_the_hour(), *said, *self.behind.warnings)

    def _by_the_hour(self) -> tuple[str, ...]:
        """Return what the units of a month cost where GPUs are paid for the time that they work alone."""
        best = next(iter(self.ranked), None)
        if best is None or best.price is None:
            return ()
        plan, named = self.plans[best.gpu], plural(best.model.makes)
        hours = plan.gpu_hours_per_month
        units = plan.mean_per_s * SECONDS_PER_HOUR * HOURS_PER_MONTH
        usd = hours * best.price.usd_per_used_hour
        return (
            f"made one after the other, the {units:,.0f} {named} of a month take {hours:,.1f} hours of one "
            f"{gpu_label(best.gpu)}: {usd:,.0f} USD where no GPU waits for the next (--part-nodes pays for "
            "GPUs one by one, --spare 0 for none that stands by)",
        )


@dataclass(frozen=True, slots=True, repr=False)
class MediaBreakEvenReport(_Media):
    """The ratio of prices at which two accelerators make a unit at the same cost.

    Parameters
    ----------
    answers : tuple of MediaAnswer
        Both.
    flip : MediaFlip
        Where it changes.
    """

    answers: tuple[MediaAnswer, MediaAnswer]
    flip: MediaFlip

    @property
    def behind(self) -> MediaReport:
        """Return the times that it rests on."""
        return MediaReport(self.answers, asked="predict")

    @property
    def title(self) -> str:
        """Return what it is about."""
        first, second = self.answers
        both = f"{gpu_label(first.gpu)} against {gpu_label(second.gpu)}"
        return f"{both}: {first.model.name}, {first.workload.text}"

    @property
    def sentence(self) -> str:
        """Return where the cheaper one changes."""
        first, second = self.answers
        flip = self.flip
        said = (
            f"{gpu_label(first.gpu)} makes a unit in {first.seconds:,.2f} s and {gpu_label(second.gpu)} in "
            f"{second.seconds:,.2f} s: they cost the same where {gpu_label(first.gpu)} costs "
            f"{flip.ratio:.2f} ({flip.low:.2f} to {flip.high:.2f}) times {gpu_label(second.gpu)}"
        )
        if first.usd_per_unit is not None and second.usd_per_unit is not None:
            pair = (first, second) if first.usd_per_unit <= second.usd_per_unit else (second, first)
            cheaper, other = pair
            said += (
                f". At {first.price_text} and {second.price_text} {gpu_label(cheaper.gpu)} is cheaper; "
                f"{gpu_label(other.gpu)} is from {self._flips_at(other):,.2f} USD an hour down"
            )
        return f"{said}."

    def _flips_at(self, answer: MediaAnswer) -> float:
        usd = self.flip.first_usd if answer is self.answers[0] else self.flip.second_usd
        assert usd is not None
        return usd

    def tables(self) -> tuple[Table, ...]:
        """Return both with their prices, and the times behind them."""
        return (self.rows().without_empty(), *self.behind.tables())

    def rows(self) -> Table:
        """Return both with their prices, and those at which each costs as much as the other."""
        flips = (self.flip.first_usd, self.flip.second_usd)
        rows = tuple(
            {
                "gpu": answer.gpu,
                "seconds": answer.seconds,
                "usd_per_gpu_hour": None if answer.price is None else answer.price.usd_per_used_hour,
                "usd_per_unit": answer.usd_per_unit,
                "flips_at_usd_per_gpu_hour": at,
            }
            for answer, at in zip(self.answers, flips, strict=True)
        )
        return Table(FLIP_COLUMNS, rows, "Prices at which a unit costs the same")

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.media_breakeven/1`."""
        first, second = self.answers
        return self.signed(
            {
                "schema": BREAKEVEN_SCHEMA,
                "model": first.model.id,
                "over": "price",
                "first": first.gpu,
                "second": second.gpu,
                "price_ratio": {"value": self.flip.ratio, "low": self.flip.low, "high": self.flip.high},
                "first_flips_at_usd_per_gpu_hour": self.flip.first_usd,
                "second_flips_at_usd_per_gpu_hour": self.flip.second_usd,
                "results": [answer.to_dict() for answer in self.answers],
            }
        )
