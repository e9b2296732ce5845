"""Options of money: what owning costs, how far hardware is used, hosted prices, and the currency."""

from __future__ import annotations

import math
from typing import Any

import click

from planner.cli.load_options import Number
from planner.cli.options import Fraction, share_of, stacked

MOST_USD = 1e7
MOST_KW = 100.0
MOST_YEARS = 30.0


class ByGpu(click.ParamType["float | dict[str, float]"]):
    """A number for all accelerators, or one for each: ``31000`` or ``mi355x=31000,b300=53000``."""

    name = "number or gpu=number"

    def __init__(self, most: float, what: str, example: str) -> None:
        self.most = most
        self.what = what
        self.example = example

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | dict[str, float]:
        """Read a number or every pair, or say how they are written."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        if "=" not in value:
            return self._number(value, value, param, ctx)
        numbers: dict[str, float] = {}
        for pair in value.split(","):
            gpu, equals, text = (part.strip() for part in pair.partition("="))
            if not gpu or not equals:
                self.fail(f"{pair!r} is no figure of a GPU; write it like {self.example}", param, ctx)
            if gpu in numbers:
                self.fail(f"{gpu} has two figures", param, ctx)
            numbers[gpu] = self._number(text, pair, param, ctx)
        return numbers

    def _number(
        self, text: str, shown: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 < number <= self.most:
            legal = f"above 0 and at most {self.most:,.0f} {self.what}, like {self.example}"
            self.fail(f"{shown!r} is not possible; {legal}", param, ctx)
        return number


class Amount(click.ParamType[float]):
    """A number from 0 to a limit that is itself possible or not."""

    name = "number"

    def __init__(self, most: float, what: str, below: bool = False) -> None:
        self.most = most
        self.what = what
        self.below = below

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number, or say which range is legal."""
        number = share_of(value)
        if value.endswith("%") and self.most != 1:
            number = math.nan
        if not 0 <= number <= self.most or (self.below and number == self.most):
            to = "to below" if self.below else "to"
            self.fail(f"{value!r} is not possible; {self.what} from 0 {to} {self.most:,g}", param, ctx)
        return number


class ApiPrice(click.ParamType[tuple[float, ...]]):
    """Prices of a hosted API: ``3,15`` or ``3,15,0.3`` USD per million input, output and cached tokens."""

    name = "input,output[,cached]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Read the two or three prices, or say how they are written."""
        if isinstance(value, tuple):
            return value
        try:
            prices = tuple(float(part) for part in value.split(","))
        except ValueError:
            prices = ()
        if len(prices) not in (2, 3) or not all(0 <= price <= 1e6 for price in prices):
            legal = "INPUT,OUTPUT[,CACHED] in USD per million tokens, like 3,15,0.3"
            self.fail(f"{value!r} is no hosted price; write it like {legal}", param, ctx)
        return prices


owning_options = stacked(
    click.option(
        "--capex",
        type=ByGpu(MOST_USD, "USD", "mi355x=31000"),
        metavar="[GPU=]USD[,...]",
        help="Price of buying a GPU with its share of server and network: 31000 or mi355x=31000,b300=53000.",
    ),
    click.option(
        "--kw",
        type=ByGpu(MOST_KW, "kW", "mi355x=2.09"),
        metavar="[GPU=]KW[,...]",
        help="All-in power of a GPU with its share of server and network.",
    ),
    click.option(
        "--cost-of-capital",
        type=Amount(1.0, "a share a year", below=True),
        metavar="SHARE",
        help="Interest a year: 0.1 is 10 %.",
    ),
    click.option(
        "--life-years", type=Number(0, MOST_YEARS, "years"), metavar="N", help="Years until written off."
    ),
    click.option(
        "--colocation",
        type=Amount(1e5, "USD per kW-month"),
        metavar="USD",
        help="Space and cooling, per kW and month.",
    ),
    click.option(
        "--power-in-colocation/--no-power-in-colocation",
        default=None,
        help="Whether the colocation price includes electricity.  [default: unless --electricity or --pue]",
    ),
    click.option(
        "--electricity",
        type=Amount(10.0, "USD per kWh"),
        metavar="USD",
        help="Price of a kWh that is billed on top.",
    ),
    click.option(
        "--pue",
        type=Number(1, 4.0, "times the IT power"),
        metavar="N",
        help="Power of the site over that of its computers, 1 or more.",
    ),
    click.option(
        "--resale",
        type=Amount(1.0, "a share of the capex", below=True),
        metavar="SHARE",
        help="Share of the capex that is got back at the end.  [default: 0]",
    ),
    click.option(
        "--network-capex",
        type=Amount(MOST_USD, "USD per GPU"),
        metavar="USD",
        help="Network per GPU, where the capex has none.  [default: 0]",
    ),
    click.option(
        "--spares",
        type=Amount(1.0, "a share of what is bought", below=True),
        metavar="SHARE",
        help="Spare parts, as a share of what is bought.  [default: 0]",
    ),
    click.option(
        "--staff",
        type=Amount(MOST_USD, "USD per GPU and year"),
        metavar="USD",
        help="Staff, support and insurance per GPU and year.  [default: 0]",
    ),
)

purchase_options = stacked(
    click.option(
        "--purchase",
        type=ByGpu(MOST_USD, "USD", "rtx-4090=1599"),
        metavar="[GPU=]USD[,...]",
        help="What a card is bought for, 1599 or rtx-4090=1599; the price kind is then purchase.  "
        "[default: list prices]",
    ),
    click.option(
        "--hours-a-day",
        type=Number(0, 24, "hours a day"),
        metavar="N",
        help="Hours of a day in which a bought card works.  [default: 8, assumed]",
    ),
)
"""Of cards that are bought; --life-years, --electricity, --cost-of-capital and --kw count too."""

use_options = stacked(
    click.option(
        "--utilisation",
        type=Fraction(),
        metavar="SHARE",
        help="Mean load over what working GPUs could carry, above 0 and at most 1.  [default: 0.7, assumed]",
    ),
    click.option(
        "--availability",
        type=Fraction(),
        metavar="SHARE",
        help="Share of paid time in which a GPU works.  [default: 0.99, assumed]",
    ),
)

api_price_option = click.option(
    "--api-price",
    type=ApiPrice(),
    metavar="INPUT,OUTPUT[,CACHED]",
    help="What a hosted API asks, in USD per million tokens: 3,15,0.3.",
)

currency_options = stacked(
    click.option("--currency", metavar="CODE", help="Show money in this currency of ISO 4217, such as eur."),
    click.option(
        "--usd-rate",
        type=Number(0, 1e9, "units of the currency for 1 USD"),
        metavar="N",
        help="Units of it that 1 USD is worth: --currency eur --usd-rate 0.92.",
    ),
)
