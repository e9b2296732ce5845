"""What a bought card costs: its price over its years, and electricity in the hours in which it works."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from planner.catalogue import Catalogue, Figure, Gpu
from planner.economics.listed import AS_LISTED, OF_MACHINE, list_price, power_with_machine
from planner.economics.owned import entry
from planner.economics.owning import Rate, Usd, capital_recovery_factor
from planner.economics.prices import OWNING_ARGUMENTS, PURCHASE, CostPart, PricePerHour
from planner.economics.use import GIVEN_BY_YOU, HOURS_PER_YEAR, Use
from planner.errors import InvalidInput, Unsupported, shorten
from planner.scenario.records import Plain, Scenario

HOURS_PER_DAY = 24.0
BY_GPU = ("price_usd", "kw_per_gpu")
"""Terms that may be given by the name of a card."""


class PurchaseTerms(Scenario):
    """All that the cost of a bought card is worked out from."""

    price_usd: Usd
    """Price of the card."""
    life_years: Annotated[float, Plain, Field(gt=0, le=30)]
    """Years of use."""
    hours_a_day: Annotated[float, Plain, Field(gt=0, le=HOURS_PER_DAY)]
    """Hours of a day in which it works, and draws power."""
    kw_per_gpu: Annotated[float, Plain, Field(gt=0, le=100)]
    """Power of the card and its machine at work [kW]."""
    electricity_usd_per_kwh: Annotated[float, Plain, Field(ge=0, le=10)]
    """Price of a kWh."""
    cost_of_capital: Rate
    """Interest a year, as a share."""
    residual_share: Rate = 0.0
    """Resale at the end, as a share of the price."""

    @property
    def used_share(self) -> float:
        """Return the share of all hours in which it works."""
        return used_share(self.hours_a_day)


def purchase_price(terms: PurchaseTerms, provenance: Mapping[str, str] | None = None) -> PricePerHour:
    """Return what a bought card costs in every hour of the year, whether it works or not.

    Parameters
    ----------
    terms : PurchaseTerms
        What it is worked out from.
    provenance : mapping, optional
        Where the fields come from; "given by you" by default.

    Returns
    -------
    PricePerHour
        Of the kind "purchase": ``P (1 - s / (1 + r)^n) CRF(r, n) / 8760 + kW x hours / 24 x USD/kWh``; its
        `used_share` is ``hours / 24``, by which costs per token at full load divide.
    """
    said = dict.fromkeys(PurchaseTerms.model_fields, GIVEN_BY_YOU) | dict(provenance or {})
    resale = terms.residual_share / (1.0 + terms.cost_of_capital) ** terms.life_years
    factor = capital_recovery_factor(terms.cost_of_capital, terms.life_years)
    card = terms.price_usd * (1.0 - resale) * factor / HOURS_PER_YEAR
    power = terms.kw_per_gpu * terms.used_share * terms.electricity_usd_per_kwh
    over = f"over {terms.life_years:g} years ({said['life_years']}) at {100 * terms.cost_of_capital:g} %"
    parts = (
        CostPart("card", card, f"{terms.price_usd:,.0f} USD ({said['price_usd']}) {over}"),
        CostPart(
            "electricity",
            power,
            f"{terms.kw_per_gpu:g} kW ({said['kw_per_gpu']}) in {terms.hours_a_day:g} hours a day "
            f"({said['hours_a_day']}) at {terms.electricity_usd_per_kwh:g} USD/kWh "
            f"({said['electricity_usd_per_kwh']})",
        ),
    )
    summary = (
        f"bought for {terms.price_usd:,.0f} USD ({said['price_usd']}), {over}, {terms.hours_a_day:g} hours a "
        f"day ({said['hours_a_day']}); the machine around the card is not in the price"
    )
    return PricePerHour(card + power, PURCHASE, summary, parts=parts, used_share=terms.used_share)


def bought_price(gpu: Gpu, catalogue: Catalogue, given: Mapping[str, Any] | None = None) -> PricePerHour:
    """Return what a bought card costs an hour: the user's figures first, the catalogue's for the rest.

    Parameters
    ----------
    gpu : Gpu
        The card.
    catalogue : Catalogue
        With list prices (`purchases:`) and usual terms (`purchase_terms:`).
    given : mapping, optional
        Fields of `PurchaseTerms`; `price_usd` and `kw_per_gpu` are numbers, or mappings by id or alias.

    Returns
    -------
    PricePerHour

    Raises
    ------
    InvalidInput
        For a term that a purchase does not have.
    Unsupported
        Where no price of the card is known.
    """
    asked = {name: value for name, value in (given or {}).items() if value is not None}
    for name in asked:
        if name not in PurchaseTerms.model_fields:
            option = next(one for one, field in OWNING_ARGUMENTS.items() if field == name)
            raise InvalidInput(f"{option}: no part of a purchase; it is one of the price kind own")
    for name in BY_GPU:
        if isinstance(asked.get(name), Mapping):
            of_card = [usd for key, usd in asked[name].items() if catalogue.gpu(key).id == gpu.id]
            asked = {key: value for key, value in asked.items() if key != name}
            if of_card:
                asked[name] = of_card[0]
    usual = usual_terms(catalogue)
    values: dict[str, Any] = {name: figure.value for name, figure in usual.items()}
    said = {name: f"{figure.confidence}, {figure.date}" for name, figure in usual.items()}
    listed = list_price(gpu, catalogue)
    if listed is not None:
        values["price_usd"] = listed.value
        said["price_usd"] = f"{AS_LISTED}, {listed.confidence}, {listed.date}"
    elif "price_usd" not in asked:
        raise Unsupported(f"{gpu.id}: no price of buying one is known; give it: --purchase {gpu.id}=USD")
    power = power_with_machine(gpu)
    if power is not None:
        values["kw_per_gpu"] = power.value / 1e3
        said["kw_per_gpu"] = OF_MACHINE
    elif "kw_per_gpu" not in asked:
        raise Unsupported(f"{gpu.id}: no power is known; give it: --kw {gpu.id}=KW")
    terms = PurchaseTerms(**{**values, **asked})
    return purchase_price(terms, {**said, **dict.fromkeys(asked, GIVEN_BY_YOU)})


def usual_terms(catalogue: Catalogue) -> dict[str, Figure]:
    """Return the catalogue's terms of a purchase by field."""
    terms = entry(catalogue, "purchase_terms", "default")
    return {
        "life_years": terms.life_years,
        "hours_a_day": terms.hours_a_day,
        "electricity_usd_per_kwh": terms.electricity,
        "cost_of_capital": terms.cost_of_capital,
    }


def only_bought(gpus: Iterable[Gpu], catalogue: Catalogue) -> bool:
    """Return whether all these have a list price, and no kind of rent is quoted of all of them."""
    cards = list(gpus)
    if not all(list_price(card, catalogue) for card in cards):
        return False
    kinds = [{quote.kind for quote in catalogue.prices(card.id)} for card in cards]
    return not set.intersection(*kinds)


def use_of_purchase(catalogue: Catalogue, given: Mapping[str, Any], availability: float | None) -> Use:
    """Return the use of a bought card: the hours a day in which it works.

    Parameters
    ----------
    catalogue : Catalogue
        With the usual hours.
    given : mapping
        Arguments of the front door, of which `hours_a_day` counts.
    availability : float, optional
        Share of these in which it can; 1 where none is given, since hours of use are counted.

    Returns
    -------
    Use
    """
    hours = given.get("hours_a_day")
    said = GIVEN_BY_YOU
    if hours is None:
        figure = usual_terms(catalogue)["hours_a_day"]
        hours, said = figure.value, figure.confidence
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 < hours <= HOURS_PER_DAY:
        raise InvalidInput(
            f"hours_a_day: {shorten(hours)} is not possible; above 0 and at most {HOURS_PER_DAY:g}"
        )
    return Use(
        utilisation=used_share(hours),
        availability=1.0 if availability is None else availability,
        provenance=f"{hours:g} hours a day, {said}",
    )


def used_share(hours_a_day: float) -> float:
    """Return the share of all hours that some hours of each day are, in steps of a hundredth of a percent."""
    return round(hours_a_day / HOURS_PER_DAY, 4)
