"""The answer to "how many": the plan on each accelerator type with its steps, cheapest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.planning.plan import GpuPlan, NoPlan, PlanTerms
from planner.planning.question import Question
from planner.planning.replica import Missed
from planner.planning.traffic import Traffic
from planner.report.figures.named import NamedFigure
from planner.report.plan_records import plan_record
from planner.report.plan_tables import (
    assumed_table,
    gpu_row,
    gpus_table,
    hours_table,
    plan_sources,
    scaling_sentence,
    steps_table,
)
from planner.report.plan_text import answer_sentence, slo_share_text
from planner.report.prediction_text import number
from planner.report.sentences import gpu_label
from planner.report.several import Answers
from planner.report.table import Table, frame_of, records_to_csv
from planner.scenario import Workload

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True, repr=False)
class PlanAnswer:
    """The plan on one accelerator type.

    Parameters
    ----------
    asked : Question
        The model, and where everything was looked up.
    found : GpuPlan or NoPlan
        The plan, or what comes closest.
    traffic : Traffic
        Arrivals, as they were given.
    terms : PlanTerms
        SLO and headroom.
    workload : Workload
        Lengths.
    """

    asked: Question
    found: GpuPlan | NoPlan
    traffic: Traffic
    terms: PlanTerms
    workload: Workload

    @property
    def gpu(self) -> str:
        """Return the id of the accelerator."""
        return self.found.gpu.id

    @property
    def plan(self) -> GpuPlan | None:
        """Return the plan, where there is one."""
        return self.found if isinstance(self.found, GpuPlan) else None

    @property
    def missed(self) -> Missed | None:
        """Return what comes closest, where there is no plan."""
        return self.found.missed if isinstance(self.found, NoPlan) else None

    @property
    def sentence(self) -> str:
        """Return the plan in one sentence."""
        return answer_sentence(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know."""
        plan = self.plan
        if plan is None:
            return ()
        said = list(plan.carried.ready.service.decode.warnings)
        share = plan.goodput.slo_share
        if share is not None and not plan.goodput.meets_slo:
            said.append(
                f"at the chosen size {100 * share:.1f} % of the requests keep the limits, which is short of "
                f"{100 * plan.terms.slo.share:g} %; a lower utilisation leaves more room"
            )
        if plan.price is not None and plan.price.caveats:
            said.append(f"{plan.price.kind}: {plan.price.caveats[0]}")
        if plan.unpriced and plan.price is None:
            said.append(f"no cost: {plan.unpriced}")
        if plan.no_power and plan.terms.rack_kw is not None:
            said.append(f"no racks: {plan.no_power}")
        return tuple(said)


def ranked(answers: Sequence[PlanAnswer]) -> tuple[PlanAnswer, ...]:
    """Return the cheapest first, then plans without a price, the fewest GPUs first; no plan comes last.

    Parameters
    ----------
    answers : sequence of PlanAnswer
        In the order in which the accelerators were named.

    Returns
    -------
    tuple of PlanAnswer
    """

    def place(answer: PlanAnswer) -> tuple[bool, float, float]:
        plan = answer.plan
        if plan is None:
            return True, math.inf, math.inf
        usd = plan.usd_per_hour
        return False, math.inf if usd is None else usd, plan.sized.gpus

    return tuple(sorted(answers, key=place))


@dataclass(frozen=True, slots=True, repr=False)
class PlanReport(Answers[PlanAnswer]):
    """Plans for one traffic on one or several accelerator types.

    Parameters
    ----------
    answers : tuple of PlanAnswer
        Cheapest first; those without a price after them, the fewest GPUs first.
    notes : tuple of str
        What else is to be said.
    """

    notes: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        """Return whether there is a plan on at least one accelerator type."""
        return any(answer.plan is not None for answer in self)

    @property
    def fits(self) -> bool:
        """Return whether any deployment can run on at least one accelerator type."""
        return any(answer.missed is None or answer.missed.label for answer in self)

    @property
    def plans(self) -> tuple[GpuPlan, ...]:
        """Return the plans, the best first."""
        return tuple(answer.plan for answer in self if answer.plan is not None)

    @property
    def ranked_by(self) -> str | None:
        """Return the field that the first places are told by; None where there is no plan."""
        if not self.plans:
            return None
        return "gpus" if self.plans[0].usd_per_hour is None else "usd_per_hour"

    @property
    def title(self) -> str:
        """Return what is planned for."""
        return f"Plan for {self.about}"

    @property
    def about(self) -> str:
        """Return model, lengths and traffic in words."""
        first = self.answer
        load, traffic = first.workload, first.plan.traffic if first.plan else first.traffic
        rate = traffic.stated
        if traffic.think_s is None and traffic.peak_per_s != traffic.mean_per_s:
            unit = "" if rate.endswith("requests/s") else " requests/s"
            rate += f", {number(traffic.peak_per_s)}{unit} at the peak"
        return f"{first.asked.model.name}, {load.isl:,} tokens in and {load.osl:,} out, {rate}"

    @property
    def _unranked(self) -> tuple[str, ...]:
        """Say which plans have no place by cost."""
        without = [gpu_label(plan.gpu.id) for plan in self.plans if plan.usd_per_hour is None]
        if len(self) == 1 or not without:
            return ()
        if self.ranked_by == "gpus":
            return ("no prices: ranked by GPUs, whose prices differ; --price or --price-kind ranks by cost",)
        return (f"last for want of a price: {', '.join(without)}; --price GPU=USD ranks them too",)

    @property
    def sentence(self) -> str:
        """Return the best plan, or that nothing keeps the limits; the table has the others."""
        head = f"{self.about}; {slo_share_text(self.answer.terms.slo)}."
        if not self.answered:
            return " ".join([head, "No deployment keeps the limits.", *(answer.sentence for answer in self)])
        best = self.answer.sentence
        if len(self) == 1:
            return f"{head} {best}"
        return f"{head} {'Fewest GPUs (no prices)' if self.ranked_by == 'gpus' else 'Cheapest'}: {best}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, each once."""
        said = (*self.notes, *self._unranked, *Answers.warnings.fget(self))  # type: ignore[attr-defined]
        return tuple(dict.fromkeys(said))

    def tables(self) -> tuple[Table, ...]:
        """Return the accelerators side by side, the steps of each, and its hours."""
        return (
            gpus_table(self),
            *(steps_table(plan) for plan in self.plans),
            *(hours_table(plan) for plan in self.plans if plan.hours),
        )

    def scaling(self) -> tuple[str, ...]:
        """Return GPU-hours at a fixed size and by the hour, one line for each accelerator."""
        return tuple(dict.fromkeys(scaling_sentence(plan) for plan in self.plans))

    def assumptions(self) -> Table | None:
        """Return what nobody stated."""
        return assumed_table(self.plans[0]) if self.plans else None

    def sources(self) -> Table:
        """Return where prices, power and step times come from."""
        return plan_sources(self)

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the day with the capacity of each plan, and the GPUs."""
        from planner.report.figures.plan import day_figure, gpus_figure

        if not self.answered:
            return ()
        drawn = [NamedFigure("gpus", "GPUs, with 80 % intervals", lambda: gpus_figure(self))]
        plan = self.plans[0]
        if plan.hours:
            title = f"Requests/s over the day, and what {gpu_label(plan.gpu.id)} carries"
            drawn.insert(0, NamedFigure("day", title, lambda: day_figure(plan)))
        return tuple(drawn)

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.plan/1`."""
        return self.signed(plan_record(self))

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record for each accelerator, units in the keys."""
        return gpus_table(self).to_records()

    def to_csv(self) -> str:
        """Return one line for each accelerator under a header."""
        keys = list(gpus_table(self).keys)
        return records_to_csv([gpu_row(answer) for answer in self], keys)

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame with one row for each accelerator."""
        return frame_of(self.to_records())

    def _repr_html_(self) -> str:
        import html

        head = f"<p><strong>{html.escape(self.sentence)}</strong></p>"
        return head + "".join(table.to_html() for table in self.tables())
