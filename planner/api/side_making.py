"""The two options of a break-even, from the one argument that names two."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.catalogue import Catalogue, Gpu, Model
from planner.economics import (
    API,
    GIVEN,
    OWN,
    OWNING_ARGUMENTS,
    PURCHASE,
    HostedPrice,
    PricePerHour,
    Use,
    hosted_given,
    hosted_price,
)
from planner.errors import DoesNotFit, InvalidInput, shorten
from planner.measurement.predicted import Speculation
from planner.planning.kept import kept
from planner.planning.question import Question, gpu_records, question
from planner.report.sentences import gpu_label
from planner.units import whole_number

if TYPE_CHECKING:
    from planner.measurement.compared import Compared
    from planner.measurement.sides import Side
    from planner.performance.service import Service

TWO = 2
FLAGS = {
    "gpu": "--gpu",
    "gpus": "--gpus",
    "weight_dtype": "--weight-dtype",
    "engine": "--engine",
    "price_kind": "--price-kind",
}
"""Arguments that may name both options, with the option of the command line."""

BOUGHT = (OWN, PURCHASE)
"""Kinds of prices that have terms of owning."""


@dataclass(frozen=True, slots=True)
class Maker:
    """All that both options share.

    Parameters
    ----------
    model : str, path or Model
        The model.
    load : mapping
        Fields of `Workload`.
    options : mapping
        Sizes, fields of `Deployment` and terms of owning.
    price : float or mapping, optional
        Prices that the user states.
    api_price : tuple of float, optional
        Of a hosted API.
    throughput : str
        Where figures come from.
    speculation : Speculation
        Of drafts.
    network_bytes_per_s : float, optional
        Between nodes.
    use : Use
        Share of paid time that serves.
    catalogue : Catalogue
        Where names are looked up.
    """

    model: str | os.PathLike[str] | Model
    load: Mapping[str, Any]
    options: Mapping[str, Any]
    price: float | Mapping[str, float] | None
    api_price: tuple[float, ...] | None
    throughput: str
    speculation: Speculation
    network_bytes_per_s: float | None
    use: Use
    catalogue: Catalogue

    def side(self, name: str, chosen: Mapping[str, Any]) -> tuple[Side, Question | None]:
        """Return one option, and what was asked of it; None of a hosted API.

        Raises
        ------
        DoesNotFit, InvalidInput
            Where it has no figures.
        """
        from planner.measurement.sides import Side

        kind, card = chosen["price_kind"], chosen["gpu"]
        if kind == API:
            return Side(name, self.use, hosted=self._hosted(card)), None
        asked = self._question(chosen)
        found, service = found_on(
            asked,
            card,
            throughput=self.throughput,
            speculation=self.speculation,
            network_bytes_per_s=self.network_bytes_per_s,
        )
        price: PricePerHour | None = asked.prices.get(card.id)
        if price is None and card.id in asked.unpriced:
            raise InvalidInput(asked.unpriced[card.id])
        return Side(name, self.use, found, service, price, gpu=card.id), asked

    def _question(self, chosen: Mapping[str, Any]) -> Question:
        kind, card = chosen["price_kind"], chosen["gpu"]
        price = self.price
        if isinstance(price, Mapping):
            price = {name: usd for name, usd in price.items() if self.catalogue.gpu(name).id == card.id}
        if kind == GIVEN and not price:
            raise InvalidInput(f"price_kind: given needs a price of {card.id}: --price {card.id}=USD")
        deployed = {part: chosen[part] for part in ("gpus", "weight_dtype", "engine")}
        return question(
            model=self.model,
            gpu=card,
            load=self.load,
            options={**self._options(chosen), **deployed},
            catalogue=self.catalogue,
            price=None if kind not in (None, GIVEN) and chosen["kinds"] == TWO else price,
            price_kind=None if kind == GIVEN else kind,
        )

    def _options(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options; terms of owning are none of a side that is rented beside one that is owned."""
        if chosen["price_kind"] in BOUGHT or not chosen["owned"]:
            return {name: self._of_card(value, chosen["gpu"]) for name, value in self.options.items()}
        return {name: value for name, value in self.options.items() if name not in OWNING_ARGUMENTS}

    def _of_card(self, value: Any, card: Gpu) -> Any:
        """Return what is given by accelerator for this one alone; None where nothing is."""
        if not isinstance(value, Mapping):
            return value
        return {name: one for name, one in value.items() if self.catalogue.gpu(name).id == card.id} or None

    def _hosted(self, card: Gpu) -> HostedPrice:
        if self.api_price is not None:
            return hosted_given(self.api_price)
        asked = question(model=self.model, gpu=card, load=self.load, options={}, catalogue=self.catalogue)
        return hosted_price(asked.model.id, self.catalogue)


@kept
def found_on(
    asked: Question,
    card: Gpu,
    *,
    throughput: str,
    speculation: Speculation,
    network_bytes_per_s: float | None,
) -> tuple[Compared, Service | None]:
    """Return what an option yields, and how that moves with the load; no price changes either."""
    from planner.api.comparing import outcome
    from planner.measurement.compared import NO_FIT
    from planner.performance.predict import make_service
    from planner.planning.load import deployment_of, full_load
    from planner.scenario import Workload

    full_load(asked.workload)  # refuses lengths that are missing
    found = outcome(
        asked,
        card,
        throughput=throughput,
        slo=None,
        speculation=speculation,
        network_bytes_per_s=network_bytes_per_s,
    )
    if not found.answered:
        kind = DoesNotFit if found.state == NO_FIT else InvalidInput
        raise kind(f"{asked.model.id} on {card.id} {found.state}: {found.reason}")
    workload = asked.workload
    try:
        service = make_service(
            model=asked.model,
            gpu=card,
            deployment=deployment_of(asked.base, found.memory),
            workload=Workload(context=workload.context, isl=workload.isl, osl=workload.osl),
            catalogue=asked.catalogue,
            copies=found.copies,
            network_bytes_per_s=network_bytes_per_s,
            draft=speculation.draft,
            tokens_per_step=speculation.tokens_per_step,
        )
    except DoesNotFit:
        return found, None  # it was measured, though memory says that it does not fit
    return found, service


def options_of(given: Mapping[str, Any], catalogue: Catalogue) -> list[tuple[str, dict[str, Any]]]:
    """Return both options, each with its name and what makes it.

    Parameters
    ----------
    given : mapping
        The arguments of `FLAGS`; exactly one of them names two.
    catalogue : Catalogue
        Where accelerators are looked up.

    Returns
    -------
    list of (str, dict)

    Raises
    ------
    InvalidInput
        Where none, several, or more than two are named.
    """
    named: dict[str, list[Any]] = {
        "gpu": list(gpu_records(given["gpu"], catalogue)),
        "gpus": [_whole(value) for value in listed("gpus", given["gpus"])],
        **{part: listed(part, given[part]) for part in ("weight_dtype", "engine", "price_kind")},
    }
    many = [part for part, values in named.items() if len(values) > TWO]
    if many:
        raise InvalidInput(f"{many[0]}: {len(named[many[0]])} are named; a break-even is between two")
    both = [part for part, values in named.items() if len(values) == TWO]
    if len(both) != 1:
        what = " and ".join(FLAGS[part] for part in both) or "nothing"
        example = "--gpu mi355x,b300 or --price-kind on-demand,own"
        raise InvalidInput(
            f"a break-even is between two options, named by one argument: {what} names two; {example}"
        )
    part = both[0]
    kinds = len(named["price_kind"])
    made = []
    for place in range(TWO):
        chosen = {key: values[min(place, len(values) - 1)] for key, values in named.items()}
        made.append(
            (
                _label(part, chosen[part]),
                {**chosen, "kinds": kinds, "owned": any(kind in BOUGHT for kind in named["price_kind"])},
            )
        )
    if made[0][0] == made[1][0]:
        raise InvalidInput(f"{part}: {made[0][0]} is named twice; a break-even is between two options")
    return made


def _label(part: str, value: Any) -> str:
    if part == "gpu":
        return gpu_label(value.id)
    if part == "gpus":
        return f"{value} GPUs"
    return "API" if value == API else str(value)


def listed(name: str, value: Any) -> list[Any]:
    """Return one or several values, given with commas or as a list; [None] where nothing was given."""
    if value is None:
        return [None]
    if isinstance(value, str):
        parts: list[Any] = [part.strip() for part in value.split(",")]
    else:
        parts = list(value) if isinstance(value, Iterable) else [value]
    if not parts or "" in parts:
        raise InvalidInput(f"{name}: {shorten(value)} has an empty part; write it like a,b")
    return parts


def _whole(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    number = whole_number(value)
    if not number:
        raise InvalidInput(f"gpus: {shorten(value)} is no number of GPUs; write it like 8 or 8,16")
    return number
