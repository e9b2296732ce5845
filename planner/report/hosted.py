"""Hosted APIs beside a comparison: what the same tokens cost there, another kind of price without a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.economics import DOLLAR, Currency, HostedPrice
from planner.economics.tokens import MILLION
from planner.report.prediction_text import interval, number
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from planner.performance.intervals import Estimate
    from planner.planning.load import Load
    from planner.report.compare import CompareAnswer


@dataclass(frozen=True, slots=True)
class HostedAnswer:
    """What a hosted API asks for the requests of a comparison.

    Parameters
    ----------
    name : str
        As people read it, such as "hosted API (Moonshot)".
    price : HostedPrice
        What it asks for a million tokens.
    load : Load
        The lengths, and the share of the input that its cache holds.
    """

    name: str
    price: HostedPrice
    load: Load

    @property
    def usd_per_million_output_all(self) -> float:
        """Return the whole bill over the output alone [USD per million output tokens]."""
        load = self.load
        return self.price.usd_per_million_output_all(isl=load.isl, osl=load.osl, prefix_hit=load.prefix_hit)

    @property
    def usd_per_million_total(self) -> float:
        """Return the whole bill over every token, cached input too [USD per million tokens]."""
        load = self.load
        return self.usd_per_million_output_all * load.osl / (load.isl + load.osl)

    @property
    def tokens_per_usd(self) -> float:
        """Return the output tokens that a dollar buys with their input."""
        return MILLION / self.usd_per_million_output_all

    def over(self, cost: Estimate) -> Estimate:
        """Return what it costs over what a deployment does, both with everything charged to the output."""
        return cost.inverse().scaled(self.usd_per_million_output_all)


def hosted_record(hosted: HostedAnswer, first: CompareAnswer | None) -> dict[str, Any]:
    """Return a hosted API as plain data.

    Parameters
    ----------
    hosted : HostedAnswer
        The offer.
    first : CompareAnswer or None
        The accelerator in the first place, to hold it against.

    Returns
    -------
    dict
    """
    over = hosted.over(first.costs.usd_per_million_output_all) if first and first.costs else None
    return {
        "name": hosted.name,
        "price_kind": hosted.price.kind,
        "price_provenance": hosted.price.provenance,
        "usd_per_million_output": hosted.price.usd_per_million_output,
        "usd_per_million_input": hosted.price.usd_per_million_input,
        "usd_per_million_cached": hosted.price.cached,
        "usd_per_million_total": hosted.usd_per_million_total,
        "usd_per_million_output_all": hosted.usd_per_million_output_all,
        "tokens_per_usd": hosted.tokens_per_usd,
        "held_against": first.gpu if over and first else None,
        "cost_ratio": {"value": over.value, "low": over.low, "high": over.high} if over else None,
    }


def hosted_notes(
    hosted: Sequence[HostedAnswer], first: CompareAnswer | None, currency: Currency = DOLLAR
) -> tuple[str, ...]:
    """Return what hosted APIs cost beside the first place, and why they have none themselves."""
    said = []
    for one in hosted:
        usd = number(currency.of_usd(one.usd_per_million_output_all))
        text = f"{one.name}: {usd} {currency.code} per million output tokens with their input"
        if first is not None and first.costs is not None:
            over = one.over(first.costs.usd_per_million_output_all)
            text += f", {number(over.value)} times {gpu_label(first.gpu)}'s ({interval(over)})"
        said.append(text)
    if said:
        said.append(
            "a hosted API is paid by the token, another kind of price, and so has no place in the order; "
            "planner breakeven --price-kind KIND,api says where it is cheaper"
        )
    return tuple(said)
