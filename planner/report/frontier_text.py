"""A frontier in words: the best of it and why, both of its ends, or what comes closest to limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.report.prediction_text import interval, number, time_text
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from planner.planning.search import FailedLimit, Point
    from planner.report.frontier import FrontierAnswer, FrontierReport
    from planner.scenario.slo import LatencySlo

LIMIT_NAMES = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_s": "whole request"}
AIM_NAMES = {
    "throughput": "most output per GPU",
    "cost": "cheapest output",
    "interactivity": "most tok/s for each request",
}
NO_LIMITS = (
    "no limits were given, so the most output is that of loads under which each request is slow; --slo-tpot "
    "and --slo-ttft set limits"
)
NOT_APART = "not tried: never measured so on this GPU with this engine; --disaggregated tries it"
MEDIANS = (
    "limits are held against medians of the steady state; `planner simulate` says what share of requests "
    "keeps them"
)
NEAR = 0.02
"""Layouts whose best points differ by less than this are said to be level."""


def slo_text(slo: LatencySlo) -> str:
    """Return limits in words, such as "TTFT up to 2 s and TPOT up to 50 ms"."""
    said = [f"{LIMIT_NAMES[name]} up to {time_text(1e3 * limit)}" for name, limit in slo.limits.items()]
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def point_text(point: Point) -> str:
    """Return where a point runs and what it yields, in words."""
    candidate = point.candidate
    gpus = "1 GPU" if candidate.gpus == 1 else f"{candidate.gpus} GPUs"
    many = "1 request" if point.concurrency == 1 else f"{number(point.concurrency)} requests"
    cost = point.usd_per_million_output_tokens
    money = "" if cost is None else f", USD {number(cost.value)} per million output tokens"
    return (
        f"{candidate.label} on {gpus} with {many} at once yields {number(point.output_tps_per_gpu.value)} "
        f"output tok/s a GPU (80 % interval {interval(point.output_tps_per_gpu)}), "
        f"{number(point.tps_per_user.value)} tok/s for each request, first token after "
        f"{time_text(point.ttft_ms.value)}{money}"
    )


def answer_sentence(answer: FrontierAnswer) -> str:
    """Return the answer for one accelerator.

    Parameters
    ----------
    answer : FrontierAnswer
        The answer.

    Returns
    -------
    str
        What is best and what it is bound by; what comes closest where limits are not kept; or why
        nothing runs.
    """
    where = f"{answer.result.asked.model.name} on {gpu_label(answer.gpu)}"
    if not answer.fits:
        return f"{where}: none of the deployments that were tried can run. {_why_none(answer)}."
    if answer.closest is not None:
        return f"{where}: {_closest_text(answer, *answer.closest)}."
    if answer.best is None:
        return f"{where}: no load that was tried is steady."
    aim = AIM_NAMES[answer.by]
    within = f" with {slo_text(answer.slo)}" if answer.slo is not None else ""
    return (
        f"{where}, {aim}{within}: {point_text(answer.best)}; bound by {answer.bound_by}.{_runner_up(answer)}"
    )


def _runner_up(answer: FrontierAnswer) -> str:
    """Return how far the next layout is behind, and what holds it back."""
    if len(answer.layouts) < 2:
        return ""
    (first, _), (second, working) = answer.layouts[:2]
    behind = 1 - second.merit(answer.by) / first.merit(answer.by)
    if behind < NEAR:
        return f" {second.candidate.label} is level with it."
    return f" Next is {second.candidate.label}, {100 * behind:.0f} % behind and bound by {working.bound_by}."


def _closest_text(answer: FrontierAnswer, point: Point, failed: Iterable[FailedLimit]) -> str:
    assert answer.slo is not None
    misses = " and ".join(
        f"{LIMIT_NAMES[one.name]} of {time_text(1e3 * one.value_s)} is {number(one.over)} times the limit of "
        f"{time_text(1e3 * one.limit_s)}"
        for one in failed
    )
    candidate = point.candidate
    gpus = "1 GPU" if candidate.gpus == 1 else f"{candidate.gpus} GPUs"
    many = "1 request" if point.concurrency == 1 else f"{number(point.concurrency)} requests"
    return (
        f"nothing keeps {slo_text(answer.slo)}. Closest is {candidate.label} on {gpus} with {many} at once: "
        f"its {misses}"
    )


def _why_none(answer: FrontierAnswer) -> str:
    refused = answer.result.refused
    return refused[0].example if refused else "No number of GPUs that was asked for can be filled"


def paragraphs(report: FrontierReport) -> list[str]:
    """Return which accelerator is best, where there are several, and then the answer for each."""
    said = [answer.sentence for answer in report.answers]
    winner = report.winner
    if len(report) > 1 and winner is not None:
        within = f" with {slo_text(winner.slo)}" if winner.slo is not None else ""
        said.insert(0, f"{gpu_label(winner.gpu)} has the {AIM_NAMES[winner.by]}{within}.")
    return said


def facts(answer: FrontierAnswer) -> list[tuple[str, str]]:
    """Return what a search tried and what it left out, each with its label.

    Parameters
    ----------
    answer : FrontierAnswer
        The answer.

    Returns
    -------
    list of (label, text)
    """
    result, left = answer.result, answer.result.left_out
    said = [("tried", f"{result.candidates:,} deployments that can run, {len(result.found.option):,} points")]
    said += [(one.reason, f"{one.count:,}, such as {one.example}") for one in result.refused]
    if answer.fits and not result.apart:
        said.append(("prefill apart", NOT_APART))
    counts = (
        (left.overloaded, "overloaded points, where prefill has no time left"),
        (left.unlikely, "points of separate prefill that beat the same copy alone, which no gain explains"),
    )
    if texts := [f"{count:,} {what}" for count, what in counts if count]:
        said.append(("left out", "; ".join(texts)))
    if answer.measured:
        said.append(("measured", _measured_text(answer)))
    if answer.best is not None:
        said.append(("parameters", answer.best.provenance))
    return said


def _measured_text(answer: FrontierAnswer) -> str:
    best = max(answer.measured, key=lambda one: one.output_tps_per_gpu)
    alike = sum(one.alike for one in answer.measured)
    return (
        f"{len(answer.measured):,} runs with requests of these lengths, {alike:,} of them with this engine "
        f"and weights of as many bits; up to {number(best.output_tps_per_gpu)} output tok/s a GPU at "
        f"{number(best.tps_per_user)} tok/s for each request ({best.point.source}, "
        f"{best.point.date or 'undated'})"
    )
