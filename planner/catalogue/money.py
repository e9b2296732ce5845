"""Records of money: what a GPU costs to own and on which terms, how far it is used, what hosted APIs ask."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from planner.catalogue.effects import Sourced
from planner.catalogue.figures import (
    Count,
    Record,
    Shares,
    Usd,
    UsdPerKwh,
    UsdPerKwMonth,
    Watts,
    read_quantity,
)
from planner.units import Dimension

UsdPerMillion = Annotated[
    float, BeforeValidator(lambda value: read_quantity(value, Dimension.USD_PER_MTOK)), Field(ge=0)
]


class OwnedHardware(Record):
    """What one GPU costs to buy, and the power that it needs."""

    id: str
    """The accelerator."""
    capex: Usd
    """Price of one GPU with its share of server and network."""
    all_in_power: Watts | None = None
    """IT power of the system divided by its GPUs; where absent that of the accelerator's entry counts."""


class TermsOfOwning(Record):
    """On which terms hardware is owned; a user's options go before each of them."""

    id: str
    cost_of_capital: Shares
    life_years: Count
    colocation: UsdPerKwMonth
    power_in_colocation: bool
    electricity: UsdPerKwh
    """Counted only where power is not in the colocation price."""
    pue: Count
    """Power of the site over that of its computers; counted as the electricity is."""


class ListPrice(Record):
    """What a card is sold for to anybody."""

    id: str
    """The accelerator."""
    price: Usd
    """Price of one card when it came out, or now."""


class TermsOfPurchase(Record):
    """How long and how much a bought card is used; a user's options go before each of them."""

    id: str
    life_years: Count
    hours_a_day: Count
    electricity: UsdPerKwh
    cost_of_capital: Shares


class PlannedUse(Record):
    """Which share of paid GPU time serves, where a user does not say."""

    id: str
    utilisation: Shares
    availability: Shares


class HostedOffer(Sourced):
    """What a hosted API asks for a million tokens of a model."""

    id: str
    model: str
    provider: str
    input: UsdPerMillion
    """Uncached input [USD per million tokens]."""
    cached_input: UsdPerMillion | None = None
    """Input that the provider's cache holds [USD per million tokens]; if absent it costs the full price."""
    output: UsdPerMillion
    """Output [USD per million tokens]."""
