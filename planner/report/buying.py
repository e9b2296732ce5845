"""A comparison for who buys: which accelerator, how many, at what cost, how sure, and what would flip it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.compare_text import flip_sentence, merit_text, pair_sentence
from planner.report.prediction_text import interval, number
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from planner.report.compare import CompareAnswer, CompareReport


def buying_sentence(report: CompareReport) -> str:
    """Return what to take, how many, what tokens cost on it, how sure the order is, and which price flips it.

    Parameters
    ----------
    report : CompareReport
        The comparison.

    Returns
    -------
    str
        That of the report where no accelerator has figures.
    """
    return " ".join(part for part in (what_to_take(report), why_and_until_when(report)) if part)


def what_to_take(report: CompareReport) -> str:
    """Return what to take, how many, and what a million tokens cost on it."""
    first = report.answer
    if not first.answered:
        return report.sentence
    said, costs = f"{first.fit.named}: take {first.gpus} x {gpu_label(first.gpu)}", first.costs
    if costs is None:
        rate = first.figures["output_tps_per_gpu"]
        said += f", for {number(rate.value)} output tok/s a GPU (80 % interval {interval(rate)})"
    else:
        cost = costs.usd_per_million_output_all
        said += f", at USD {number(cost.value)} per million output tokens (80 % interval {interval(cost)})"
    return f"{said}, {first.found.source}."


def why_and_until_when(report: CompareReport) -> str:
    """Return how sure the order is, and at which ratio of prices it flips; empty where one answers alone."""
    if not report.ranking.pairs:
        return ""
    pair = report.ranking.pairs[0]
    return f"{pair_sentence(pair, report.ranking.priced)} {flip_sentence(pair, report.currency)}."


def card_facts(answer: CompareAnswer) -> tuple[tuple[str, str], ...]:
    """Return what the card of an accelerator says.

    Parameters
    ----------
    answer : CompareAnswer
        An accelerator of a comparison.

    Returns
    -------
    tuple of (label, text)
        One fact where it has no figures: why.
    """
    if not answer.answered:
        return (("no figures", answer.reason),)
    total = answer.figures["output_tps_total"]
    facts = [
        ("deployment", f"{answer.gpus} GPUs, {answer.nodes} {'node' if answer.nodes == 1 else 'nodes'}"),
        ("output", f"{number(total.value)} tok/s ({interval(total)}), {answer.found.source}"),
    ]
    if (costs := answer.costs) is not None and answer.price is not None:
        cost, bought = costs.usd_per_million_output_all, answer.output_tps_per_usd_per_hour
        assert bought is not None
        facts += [
            ("USD per million output tokens", f"{number(cost.value)} ({interval(cost)})"),
            ("output for each USD/h", f"{merit_text(bought.value)} tok/s ({interval(bought)})"),
            ("price", f"{answer.price.usd_per_gpu_hour:,.2f} USD per GPU-hour, {answer.price.provenance}"),
        ]
    return tuple(facts)


def place_text(answer: CompareAnswer) -> str:
    """Return the heading of a card, such as "1. MI355X"."""
    return gpu_label(answer.gpu) if answer.rank is None else f"{answer.rank}. {gpu_label(answer.gpu)}"
