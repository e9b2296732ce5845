"""What an owned GPU costs an hour: annuity of what is bought, less resale, space, power, staff."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from planner.economics.amounts import not_negative, positive
from planner.economics.prices import OWN, CostPart, PricePerHour
from planner.economics.use import GIVEN_BY_YOU, HOURS_PER_YEAR, MONTHS_PER_YEAR
from planner.scenario.records import Plain, Scenario

Usd = Annotated[float, Plain, Field(gt=0, le=1e9)]
UsdOrNone = Annotated[float, Plain, Field(ge=0, le=1e9)]
Rate = Annotated[float, Plain, Field(ge=0, lt=1)]


class OwningTerms(Scenario):
    """All that the cost of an owned GPU-hour is worked out from; a GPU is paid for whether it works or not.

    Idle hours and failures are no part of it: `planner.economics.Use` counts them, once.
    """

    capex_usd_per_gpu: Usd
    """Price of a GPU with its share of server and, unless `network_usd_per_gpu` has it, of the network."""
    cost_of_capital: Rate
    """Interest a year, as a share."""
    life_years: Annotated[float, Plain, Field(gt=0, le=30)]
    """Years until it is written off."""
    kw_per_gpu: Annotated[float, Plain, Field(gt=0, le=100)]
    """All-in power: a GPU with its share of server and network [kW]."""
    colocation_usd_per_kw_month: UsdOrNone
    """Space, cooling and, where `power_in_colocation`, power [USD per kW and month]."""
    power_in_colocation: bool
    """Whether the colocation price includes electricity."""
    electricity_usd_per_kwh: Annotated[float, Plain, Field(ge=0, le=10)] = 0.0
    """Price of electricity where it is billed on top."""
    pue: Annotated[float, Plain, Field(ge=1, le=4)] = 1.0
    """Power of the site over that of its computers; counted where power is billed on top."""
    residual_share: Rate = 0.0
    """Resale at the end of the life, as a share of the capex."""
    network_usd_per_gpu: UsdOrNone = 0.0
    """What the network costs in addition."""
    spare_share: Rate = 0.0
    """Spare parts bought, as a share of capex and network."""
    staff_usd_per_gpu_year: UsdOrNone = 0.0
    """Staff, support and insurance [USD per GPU and year]."""


def capital_recovery_factor(cost_of_capital: float, life_years: float) -> float:
    """Return the constant yearly payment, at the end of each year, that repays 1 with interest.

    Parameters
    ----------
    cost_of_capital : float
        Interest a year, as a share; 0 is possible.
    life_years : float
        Years.

    Returns
    -------
    float
        ``r / (1 - (1 + r)**-n)`` [1/year], and ``1 / n`` without interest.

    Raises
    ------
    InvalidInput
        When the interest is negative or the life not above 0.
    """
    years = positive("life_years", life_years, "years")
    rate = not_negative("cost_of_capital", cost_of_capital, "a year")
    if rate == 0:
        return 1.0 / years
    # expm1 and log1p keep all digits where the interest is small.
    return rate / -math.expm1(-years * math.log1p(rate))


def resale_value(terms: OwningTerms) -> float:
    """Return what the resale of one GPU is worth today [USD]: ``capex * share / (1 + r)**n``."""
    growth = math.pow(1.0 + terms.cost_of_capital, terms.life_years)
    return terms.capex_usd_per_gpu * terms.residual_share / growth


@dataclass(frozen=True, slots=True)
class BookView:
    """What the accounts show of one owned GPU.

    Parameters
    ----------
    depreciation_usd_per_gpu_hour : float
        What is bought, less the resale, in equal parts over the hours of its life [USD/h].
    financing_usd_per_gpu_hour : float
        What the annuity asks beyond that: interest on what is tied up [USD/h].
    book_value_usd : tuple of float
        Value at the end of each whole year, from year 0 [USD].
    """

    depreciation_usd_per_gpu_hour: float
    financing_usd_per_gpu_hour: float
    book_value_usd: tuple[float, ...]


def book_view(terms: OwningTerms) -> BookView:
    """Return the straight-line depreciation of one GPU, and what the annuity asks beyond it.

    Parameters
    ----------
    terms : OwningTerms
        What it is worked out from.

    Returns
    -------
    BookView
        Both figures add up to hardware, network, spares and resale of `owning_price`.
    """
    bought = (terms.capex_usd_per_gpu + terms.network_usd_per_gpu) * (1.0 + terms.spare_share)
    lost = bought - terms.capex_usd_per_gpu * terms.residual_share
    factor = capital_recovery_factor(terms.cost_of_capital, terms.life_years)
    annuity = (bought - resale_value(terms)) * factor
    depreciation = lost / terms.life_years
    values = tuple(bought - depreciation * year for year in range(math.floor(terms.life_years) + 1))
    return BookView(depreciation / HOURS_PER_YEAR, (annuity - depreciation) / HOURS_PER_YEAR, values)


def owning_price(terms: OwningTerms, provenance: Mapping[str, str] | None = None) -> PricePerHour:
    """Return what one owned GPU costs an hour, part by part.

    Parameters
    ----------
    terms : OwningTerms
        What it is worked out from.
    provenance : mapping, optional
        Where the fields of the terms come from; "given by you" by default.

    Returns
    -------
    PricePerHour
        Of the kind "own"; its parts add up to it. Every hour of the year counts, used or not.

    Notes
    -----
    ``[(capex + network) (1 + spares) CRF(r, n) - resale CRF(r, n) + kW colocation 12 + kW PUE 8760 USD/kWh +
    staff] / 8760``, where the fourth term falls away with power in the colocation price, and the resale is
    its present value.
    """
    said = dict.fromkeys(OwningTerms.model_fields, GIVEN_BY_YOU) | dict(provenance or {})
    factor = capital_recovery_factor(terms.cost_of_capital, terms.life_years)
    over = (
        f"over {terms.life_years:g} years ({said['life_years']}) "
        f"at {100 * terms.cost_of_capital:g} % ({said['cost_of_capital']})"
    )
    bought = terms.capex_usd_per_gpu + terms.network_usd_per_gpu
    yearly = (
        (
            "hardware",
            terms.capex_usd_per_gpu * factor,
            f"{terms.capex_usd_per_gpu:,.0f} USD per GPU ({said['capex_usd_per_gpu']}) {over}",
        ),
        (
            "network",
            terms.network_usd_per_gpu * factor,
            f"{terms.network_usd_per_gpu:,.0f} USD per GPU ({said['network_usd_per_gpu']}) {over}",
        ),
        (
            "spares",
            bought * terms.spare_share * factor,
            f"{100 * terms.spare_share:g} % of what is bought ({said['spare_share']})",
        ),
        (
            "resale",
            -resale_value(terms) * factor,
            f"{100 * terms.residual_share:g} % of the hardware after {terms.life_years:g} years "
            f"({said['residual_share']})",
        ),
        ("colocation", _colocation(terms), _colocation_said(terms, said)),
        (
            "electricity",
            _electricity(terms),
            f"{terms.kw_per_gpu:g} kW x PUE {terms.pue:g} at {terms.electricity_usd_per_kwh:g} USD/kWh "
            f"({said['electricity_usd_per_kwh']})",
        ),
        (
            "staff",
            terms.staff_usd_per_gpu_year,
            f"{terms.staff_usd_per_gpu_year:,.0f} USD per GPU and year ({said['staff_usd_per_gpu_year']})",
        ),
    )
    parts = tuple(CostPart(name, usd / HOURS_PER_YEAR, text) for name, usd, text in yearly if usd)
    total = math.fsum(part.usd_per_gpu_hour for part in parts)
    summary = (
        f"owned {over}; {terms.capex_usd_per_gpu:,.0f} USD ({said['capex_usd_per_gpu']}) and "
        f"{terms.kw_per_gpu:g} kW ({said['kw_per_gpu']}) per GPU; every hour is paid, used or not"
    )
    return PricePerHour(total, OWN, summary, parts=parts)


def _colocation(terms: OwningTerms) -> float:
    return terms.kw_per_gpu * terms.colocation_usd_per_kw_month * MONTHS_PER_YEAR


def _electricity(terms: OwningTerms) -> float:
    if terms.power_in_colocation:
        return 0.0
    return terms.kw_per_gpu * terms.pue * HOURS_PER_YEAR * terms.electricity_usd_per_kwh


def _colocation_said(terms: OwningTerms, said: Mapping[str, str]) -> str:
    power = "with power" if terms.power_in_colocation else "without power"
    return (
        f"{terms.kw_per_gpu:g} kW ({said['kw_per_gpu']}) at {terms.colocation_usd_per_kw_month:g} "
        f"USD per kW-month {power} ({said['colocation_usd_per_kw_month']})"
    )
