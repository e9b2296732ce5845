"""A plan in words: how many GPUs carry the traffic, what they cost, or what comes closest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.planning.plan import GpuPlan, NoPlan
from planner.report.frontier_text import LIMIT_NAMES
from planner.report.prediction_text import number, time_text
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from planner.planning.replica import Missed
    from planner.planning.search import FailedLimit
    from planner.report.plan import PlanAnswer
    from planner.scenario.slo import LatencySlo


def counted(count: int, what: str) -> str:
    """Return a count with its noun, such as "1 node" or "2 nodes"."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def slo_share_text(slo: LatencySlo) -> str:
    """Return percentile limits in words, such as "95 % of requests with TTFT up to 2 s"."""
    limits = ", ".join(
        f"{LIMIT_NAMES[name]} up to {time_text(1e3 * limit)}" for name, limit in slo.limits.items()
    )
    return f"{100 * slo.share:g} % of requests with {limits}"


def answer_sentence(answer: PlanAnswer) -> str:
    """Return the plan on one accelerator type in one sentence.

    Parameters
    ----------
    answer : PlanAnswer
        The answer.

    Returns
    -------
    str
    """
    if isinstance(answer.found, NoPlan):
        return f"{gpu_label(answer.gpu)}: no plan: {missed_text(answer.found.missed)}."
    plan: GpuPlan = answer.found
    sized = plan.sized
    said = (
        f"{gpu_label(answer.gpu)}, {counted(sized.gpus, 'GPU')} in {counted(sized.nodes, 'node')} "
        f"({sized.replicas:,} x {plan.candidate.label}, {sized.replicas - sized.working} spare)"
    )
    if plan.traffic.think_s is not None:
        said += f", for {number(plan.traffic.peak_per_s)} requests/s at the peak"
    if plan.usd_per_hour is not None and plan.costs is not None:
        cost = number(plan.costs.usd_per_million_output_all)
        said += f"; {plan.usd_per_hour:,.2f} USD/h, {cost} USD per million output tokens"
    return f"{said}."


def missed_text(missed: Missed) -> str:
    """Return what comes closest to limits that nothing keeps."""
    if not missed.label:
        return "; ".join(missed.reasons) or "nothing can run there"
    failed = " and ".join(failed_text(one) for one in missed.failed)
    return f"closest is {missed.label} ({missed.how}), which fails {failed or 'the share'}"


def failed_text(one: FailedLimit) -> str:
    """Return a limit that is not kept, such as "TPOT: 21 ms over 5 ms"."""
    return f"{LIMIT_NAMES[one.name]}: {time_text(1e3 * one.value_s)} against {time_text(1e3 * one.limit_s)}"
