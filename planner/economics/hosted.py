"""Hosted APIs: a price for a million tokens, as the user states it or as somebody published it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field, model_validator

from planner.catalogue import Catalogue
from planner.catalogue.money import HostedOffer
from planner.economics.amounts import part, positive
from planner.economics.prices import API
from planner.economics.tokens import MILLION
from planner.economics.use import GIVEN_BY_YOU
from planner.errors import InvalidInput, Unsupported, shorten, unknown_name
from planner.scenario.records import Name, Plain, Scenario

PerMillion = Annotated[float, Plain, Field(ge=0, le=1e6)]


class HostedPrice(Scenario):
    """What an API asks for a million tokens; nothing idles and nothing fails at the user's cost."""

    usd_per_million_input: PerMillion
    """Uncached input [USD]."""
    usd_per_million_output: PerMillion
    """Output [USD]."""
    usd_per_million_cached: PerMillion | None = None
    """Input that the provider's cache holds [USD]; the price of input where the provider has no other."""
    provenance: Name = GIVEN_BY_YOU

    @model_validator(mode="after")
    def _possible(self) -> HostedPrice:
        if self.usd_per_million_input == 0 and self.usd_per_million_output == 0:
            raise InvalidInput("HostedPrice: nothing is free; a price of input or output above 0 is needed")
        return self

    @property
    def kind(self) -> str:
        """Return "api", which compares with no price per GPU-hour unless the user says so."""
        return API

    @property
    def cached(self) -> float:
        """Return what a million cached input tokens cost [USD]."""
        stated = self.usd_per_million_cached
        return self.usd_per_million_input if stated is None else stated

    def scaled(self, factor: float) -> HostedPrice:
        """Return the same offer with every price so many times what it is."""
        names = ("usd_per_million_input", "usd_per_million_output", "usd_per_million_cached")
        stated = {name: price for name in names if (price := getattr(self, name)) is not None}
        return self.model_copy(update={name: factor * price for name, price in stated.items()})

    def usd_per_request(self, *, isl: float, osl: float, prefix_hit: float = 0.0) -> float:
        """Return what one request costs.

        Parameters
        ----------
        isl, osl : float
            Input and output [tokens].
        prefix_hit : float
            Share of the input that the provider's cache holds, from 0 to 1.

        Returns
        -------
        float
            ``(isl (1 - h) p_in + isl h p_cached + osl p_out) / 1e6`` [USD].

        Raises
        ------
        InvalidInput
            When an argument is not a number in its range.
        """
        given = positive("isl", isl, "tokens")
        hit = part("prefix_hit", prefix_hit)
        asked = given * (1 - hit) * self.usd_per_million_input + given * hit * self.cached
        return (asked + positive("osl", osl, "tokens") * self.usd_per_million_output) / MILLION

    def usd_per_million_output_all(self, *, isl: float, osl: float, prefix_hit: float = 0.0) -> float:
        """Return the whole bill over the output alone [USD per million output tokens].

        It compares with `TokenCosts.usd_per_million_output_all`; arguments as for `usd_per_request`.
        """
        return MILLION * self.usd_per_request(isl=isl, osl=osl, prefix_hit=prefix_hit) / osl


def hosted_given(prices: Iterable[float]) -> HostedPrice:
    """Return the price of a hosted API that a user states.

    Parameters
    ----------
    prices : iterable of float
        Of input, output and, perhaps, cached input [USD per million].

    Returns
    -------
    HostedPrice

    Raises
    ------
    InvalidInput
        Where it is not two or three numbers that an API can ask.
    """
    given = tuple(prices) if isinstance(prices, Iterable) else ()
    if len(given) not in (2, 3):
        raise InvalidInput(
            f"api_price: {shorten(prices)} is not input, output and perhaps cached, as 3, 15, 0.3"
        )
    return HostedPrice(
        usd_per_million_input=given[0],
        usd_per_million_output=given[1],
        usd_per_million_cached=given[2] if len(given) == 3 else None,
    )


def offers_of(model: str, catalogue: Catalogue) -> dict[str, HostedOffer]:
    """Return the hosted offers of a model by their ids, in the order of the files."""
    found: dict[str, HostedOffer] = {}
    for key in catalogue.ids("hosted"):
        offer = catalogue.load_entry("hosted", key)
        assert isinstance(offer, HostedOffer)
        if offer.model == model:
            found[key] = offer
    return found


def hosted_price(model: str, catalogue: Catalogue, offer: str | None = None) -> HostedPrice:
    """Return what a hosted API asks for a model.

    Parameters
    ----------
    model : str
        Id of the model.
    catalogue : Catalogue
        Where offers stand (`hosted:`).
    offer : str, optional
        Id of one of them; the first of the model otherwise.

    Returns
    -------
    HostedPrice
        With provider, source and date.

    Raises
    ------
    Unsupported
        Where no offer of the model is known.
    UnknownName
        Where none of this id is one of the model.
    """
    found = offers_of(model, catalogue)
    if not found:
        raise Unsupported(f"{model}: no hosted price is known; state one: --api-price INPUT,OUTPUT[,CACHED]")
    if offer is not None and offer not in found:
        raise unknown_name("hosted price", offer, found)
    one = found[offer or next(iter(found))]
    return HostedPrice(
        usd_per_million_input=one.input,
        usd_per_million_output=one.output,
        usd_per_million_cached=one.cached_input,
        provenance=f"{one.provider}, {one.provenance()}",
    )
