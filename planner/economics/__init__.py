"""What a deployment costs, and what its output costs."""

from planner.economics.prices import GIVEN, PricePerHour, catalogue_price, given_price
from planner.economics.rates import hourly_cost_usd, output_rate_per_usd_per_hour

__all__ = [
    "GIVEN",
    "PricePerHour",
    "catalogue_price",
    "given_price",
    "hourly_cost_usd",
    "output_rate_per_usd_per_hour",
]
