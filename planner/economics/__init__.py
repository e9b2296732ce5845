"""What a deployment costs, and what its output costs.

The names below are imported when they are first used: a question that names no price pays for none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.economics.breakeven import flip_price, flip_utilisation, flip_volume
    from planner.economics.currency import DOLLAR, Currency, currency_of
    from planner.economics.energy import Power, energy_usd, power_of
    from planner.economics.hosted import HostedPrice, hosted_given, hosted_price, offers_of
    from planner.economics.kinds import check_kinds
    from planner.economics.monthly import MonthlyCost, monthly_cost, output_tokens_per_month, usd_per_month
    from planner.economics.owned import Owned, check_named, own_price, owned_terms, planned_use
    from planner.economics.owning import (
        OwningTerms,
        book_view,
        capital_recovery_factor,
        owning_price,
        resale_value,
    )
    from planner.economics.per_token import CACHED_WEIGHT, TokenCosts, cached_weight, token_costs
    from planner.economics.prices import (
        API,
        GIVEN,
        OWN,
        OWNING_ARGUMENTS,
        PURCHASE,
        CostPart,
        PricePerHour,
        catalogue_price,
        given_price,
        terms_given,
    )
    from planner.economics.purchase import bought_price, only_bought, use_of_purchase
    from planner.economics.rates import hourly_cost_usd, output_rate_per_usd_per_hour
    from planner.economics.use import FULL_LOAD, HOURS_PER_MONTH, HOURS_PER_YEAR, Use

_HOMES = {
    "API": "prices",
    "CACHED_WEIGHT": "per_token",
    "CostPart": "prices",
    "Currency": "currency",
    "DOLLAR": "currency",
    "FULL_LOAD": "use",
    "GIVEN": "prices",
    "HOURS_PER_MONTH": "use",
    "HOURS_PER_YEAR": "use",
    "HostedPrice": "hosted",
    "MonthlyCost": "monthly",
    "OWN": "prices",
    "Owned": "owned",
    "OWNING_ARGUMENTS": "prices",
    "OwningTerms": "owning",
    "PURCHASE": "prices",
    "Power": "energy",
    "PricePerHour": "prices",
    "TokenCosts": "per_token",
    "Use": "use",
    "cached_weight": "per_token",
    "capital_recovery_factor": "owning",
    "catalogue_price": "prices",
    "check_kinds": "kinds",
    "check_named": "owned",
    "currency_of": "currency",
    "energy_usd": "energy",
    "flip_price": "breakeven",
    "flip_utilisation": "breakeven",
    "flip_volume": "breakeven",
    "given_price": "prices",
    "hosted_given": "hosted",
    "hosted_price": "hosted",
    "hourly_cost_usd": "rates",
    "monthly_cost": "monthly",
    "offers_of": "hosted",
    "output_rate_per_usd_per_hour": "rates",
    "output_tokens_per_month": "monthly",
    "own_price": "owned",
    "owned_terms": "owned",
    "owning_price": "owning",
    "planned_use": "owned",
    "power_of": "energy",
    "resale_value": "owning",
    "book_view": "owning",
    "bought_price": "purchase",
    "only_bought": "purchase",
    "use_of_purchase": "purchase",
    "terms_given": "prices",
    "token_costs": "per_token",
    "usd_per_month": "monthly",
}

__all__ = [
    "API",
    "CACHED_WEIGHT",
    "DOLLAR",
    "FULL_LOAD",
    "GIVEN",
    "HOURS_PER_MONTH",
    "HOURS_PER_YEAR",
    "OWN",
    "OWNING_ARGUMENTS",
    "PURCHASE",
    "CostPart",
    "Currency",
    "HostedPrice",
    "MonthlyCost",
    "Owned",
    "OwningTerms",
    "Power",
    "PricePerHour",
    "TokenCosts",
    "Use",
    "book_view",
    "bought_price",
    "cached_weight",
    "capital_recovery_factor",
    "catalogue_price",
    "check_kinds",
    "check_named",
    "currency_of",
    "energy_usd",
    "flip_price",
    "flip_utilisation",
    "flip_volume",
    "given_price",
    "hosted_given",
    "hosted_price",
    "hourly_cost_usd",
    "monthly_cost",
    "offers_of",
    "only_bought",
    "output_rate_per_usd_per_hour",
    "output_tokens_per_month",
    "own_price",
    "owned_terms",
    "owning_price",
    "planned_use",
    "power_of",
    "resale_value",
    "terms_given",
    "token_costs",
    "usd_per_month",
    "use_of_purchase",
]


def __getattr__(name: str) -> Any:
    """Import a public name from the module it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
