"""A comparison in words: who comes first, by how much, how sure that is, and what would change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.economics import DOLLAR, Currency
from planner.planning.compare import merit
from planner.report.prediction_text import load_text, number
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from planner.performance.intervals import Estimate
    from planner.planning.compare import Option, Pair
    from planner.planning.compare_kinds import KindRanking
    from planner.report.compare import CompareReport

PER_GPU = "tok/s a GPU"
SMALL = 1.0
"""Rates below it are told with three digits: one decimal would make them nothing."""


def report_sentence(report: CompareReport) -> str:
    """Return the order with its figures, and who is first, in one sentence or two.

    Parameters
    ----------
    report : CompareReport
        The comparison.

    Returns
    -------
    str
    """
    if not report.answered:
        return f"{report.about}: {_nobody(report)}"
    unit = f"tok/s per {report.currency.code}/h" if report.ranking.priced else PER_GPU
    named = [
        f"{gpu_label(option.name)} {merit_text(shown_merit(report, option).value)}"
        for option in report.ranking.options
    ]
    said = f"{report.about}: {', '.join(named)} {unit}."
    if report.ranking.pairs:
        first = report.ranking.pairs[0]
        told = pair_sentence(first, report.ranking.priced, report.currency.unit)
        said += f" {told} {flip_sentence(first, report.currency)}."
    failed = [answer for answer in report if not answer.answered]
    without = [f"{gpu_label(answer.gpu)}: {answer.found.state}." for answer in failed]
    return " ".join([said, *without, *(f"{gpu_label(gpu)}: left out." for gpu in report.left_out)])


def shown_merit(report: CompareReport, option: Option, priced: bool | None = None) -> Estimate:
    """Return what an option is ranked by, in the currency of the report.

    Parameters
    ----------
    report : CompareReport
        The comparison.
    option : Option
        One of its options.
    priced : bool, optional
        Whether its price counts; as in the order of the report by default.

    Returns
    -------
    Estimate
        Output rate for each unit of the currency an hour, or per GPU [tok/s].
    """
    counts = report.ranking.priced if priced is None else priced
    found = merit(option, counts)
    return found.scaled(1 / report.currency.per_usd) if counts else found


def _nobody(report: CompareReport) -> str:
    return "; ".join(f"{gpu_label(answer.gpu)}: {answer.reason}" for answer in report) + "."


def about_text(report: CompareReport) -> str:
    """Return what is compared, such as "Kimi K3, 1,024 tokens in and 400 out, each at its best"."""
    first = report.answer
    load = first.load
    if load.concurrency is None and load.request_rate_per_s is None:
        hit = f" ({100 * load.prefix_hit:.0f} % of the input cached)" if load.prefix_hit else ""
        said = f"{load.isl:,} tokens in and {load.osl:,} out{hit}, each at its best"
    else:
        said = load_text(load)
    if report.slo is not None:
        limits = ", ".join(f"{name} {_seconds(limit)}" for name, limit in slo_limits(report))
        said += f" within {limits} (medians)"
    return f"{first.fit.named}, {said}"


def slo_limits(report: CompareReport) -> list[tuple[str, float]]:
    """Return the limits of the SLO as people name them [s]."""
    named = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_s": "E2E"}
    return [] if report.slo is None else [(named[name], limit) for name, limit in report.slo.limits.items()]


def _seconds(limit: float) -> str:
    return f"{number(1e3 * limit)} ms" if limit < 1 else f"{number(limit)} s"


def merit_text(value: float) -> str:
    """Return a rate for each dollar an hour or for each GPU, with one decimal below 1,000."""
    if value < SMALL:
        return number(value)
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def percent(share: float) -> str:
    """Return a share as a whole percentage, such as "65 %"; with a digit more where it is small."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def pair_sentence(pair: Pair, priced: bool, unit: str = "dollar") -> str:
    """Return who is ahead of whom, by how much, and whether that is more than the uncertainty.

    Parameters
    ----------
    pair : Pair
        The two.
    priced : bool
        Whether they are compared for their money, or for each GPU.
    unit : str
        Of the money.

    Returns
    -------
    str
    """
    per = f"per {unit}" if priced else "per GPU"
    if pair.sure:
        how = f"more than the uncertainty ({probability(pair.probability)} probability)"
    else:
        how = f"within the uncertainty: {probability(pair.probability)} probability"
    lead = percent(pair.lead.value - 1)
    return f"{gpu_label(pair.ahead)} is ahead of {gpu_label(pair.behind)} by {lead} {per}, {how}."


def probability(value: float) -> str:
    """Return a probability with two digits; none is told as certain."""
    return "over 0.99" if value > 0.995 else f"{value:.2f}"


def flip_sentence(pair: Pair, currency: Currency = DOLLAR) -> str:
    """Return the ratio of prices at which the order flips, and the price itself, told of the faster one.

    Parameters
    ----------
    pair : Pair
        The two.
    currency : Currency
        In which a price is told.

    Returns
    -------
    str
        Such as "B300-SXM wins if its price is under 1.65 times MI355X's (80 % interval 1.40 to 1.93), under
        4.12 USD/h at MI355X's 2.50"; without the latter where MI355X has no price.
    """
    flip, now, first, second = pair.flip_price_ratio, pair.price_ratio, pair.ahead, pair.behind
    usd = pair.usd_per_gpu_hour[0 if flip.value < 1 else 1]
    if flip.value < 1:
        flip, first, second = flip.inverse(), second, first
        now = None if now is None else 1 / now
    said = (
        f"{gpu_label(first)} wins if its price is under {flip.value:.2f} times {gpu_label(second)}'s "
        f"(80 % interval {flip.low:.2f} to {flip.high:.2f})"
    )
    if usd is not None:
        other = currency.of_usd(usd)
        said += f", under {flip.value * other:,.2f} {currency.code}/h at {gpu_label(second)}'s {other:,.2f}"
    return f"{said}; it is {now:.2f} times now" if now is not None else said


def kinds_sentence(kinds: tuple[KindRanking, ...]) -> str:
    """Return whether the kind of price alone changes the winner; empty where there are no kinds.

    Parameters
    ----------
    kinds : tuple of KindRanking
        The order under each.

    Returns
    -------
    str
    """
    by_winner: dict[str, list[str]] = {}
    for each in kinds:
        by_winner.setdefault(each.median.names[0], []).append(each.kind)
    if not by_winner:
        return ""
    if len(by_winner) == 1:
        name, under = next(iter(by_winner.items()))
        return f"{gpu_label(name)} wins under every kind of price that all have ({', '.join(under)})"
    parts = [f"{gpu_label(name)} under {', '.join(under)}" for name, under in by_winner.items()]
    return f"the kind of price alone flips the winner: {'; '.join(parts)}"
