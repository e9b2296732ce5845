"""What a deployment costs, and what its output costs."""

from planner.economics.owning import OwningTerms, capital_recovery_factor, owning_price
from planner.economics.prices import API, GIVEN, OWN, CostPart, PricePerHour, catalogue_price, given_price
from planner.economics.rates import hourly_cost_usd, output_rate_per_usd_per_hour
from planner.economics.token_costs import CACHED_WEIGHT, TokenCosts, cached_weight, token_costs
from planner.economics.use import FULL_LOAD, HOURS_PER_MONTH, HOURS_PER_YEAR, Use

__all__ = [
    "API",
    "CACHED_WEIGHT",
    "FULL_LOAD",
    "GIVEN",
    "HOURS_PER_MONTH",
    "HOURS_PER_YEAR",
    "OWN",
    "CostPart",
    "OwningTerms",
    "PricePerHour",
    "TokenCosts",
    "Use",
    "cached_weight",
    "capital_recovery_factor",
    "catalogue_price",
    "given_price",
    "hourly_cost_usd",
    "output_rate_per_usd_per_hour",
    "owning_price",
    "token_costs",
]
