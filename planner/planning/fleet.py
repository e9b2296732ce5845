"""What a fleet is chosen from and for: supplies, offers, demands, limits, and the plan that comes out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.errors import InvalidInput, unknown_name
from planner.scenario.records import Count, Name, Plain, Scenario

HOURS_PER_MONTH = 730.0
"""Hours of a month, on average: 8,760 / 12."""

Objective = Literal["least-cost", "most-served"]
Scaling = Literal["fixed", "reassigned", "hourly"]
"""``fixed``: replicas stay for the whole day. ``reassigned``: the GPUs stay, and serve whichever model needs
them in an hour. ``hourly``: GPUs are rented by the hour as well."""

Amount = Annotated[float, Plain, Field(gt=0)]
Usage = Annotated[float, Plain, Field(ge=0)]


class Supply(Scenario):
    """One accelerator type that can be had."""

    gpu: Name
    """Id of the accelerator."""
    unit_gpus: Count
    """GPUs that come together: those of a node, or 1 where single ones can be had."""
    usd_per_gpu_hour: Amount
    """Price of one GPU, busy or idle [USD/h]."""
    stock_gpus: Annotated[int, Plain, Field(ge=0)] | None = None
    """GPUs that can be had at most; None is no limit."""
    capex_usd_per_gpu: Amount | None = None
    """What one GPU costs to buy, with its share of the system [USD]."""
    kw_per_gpu: Amount | None = None
    """Power of one GPU, with its share of the system [kW]."""


class Offer(Scenario):
    """One deployment of a model on a GPU type, and what it carries."""

    model: Name
    gpu: Name
    label: Name
    """Its sizes, such as "TP4"."""
    gpus: Count
    """GPUs of one replica."""
    rate_per_s: Amount
    """Requests that one replica is given within the SLO, the headroom taken off [requests/s]."""


class ModelDemand(Scenario):
    """What one model must carry."""

    model: Name
    rates_per_s: Annotated[tuple[Usage, ...], Field(min_length=1)]
    """Requests in each hour, or only those of the peak [requests/s]."""
    weight: Amount = 1.0
    """What a request of this model is worth beside those of others, where not all can be served."""


class Limits(Scenario):
    """What the fleet may take; None is no limit."""

    usd_per_hour: Amount | None = None
    """In every hour [USD/h]."""
    usd_per_month: Amount | None = None
    """Over 730 hours that repeat the demands [USD]."""
    capex_usd: Amount | None = None
    """To buy all GPUs [USD]."""
    power_kw: Amount | None = None
    """Of all GPUs with their share of the systems [kW]."""


class FleetProblem(Scenario):
    """A fleet to be chosen."""

    supplies: Annotated[tuple[Supply, ...], Field(min_length=1)]
    offers: tuple[Offer, ...]
    demands: Annotated[tuple[ModelDemand, ...], Field(min_length=1)]
    limits: Limits = Limits()
    objective: Objective = "least-cost"
    scaling: Scaling = "fixed"
    spare_units: Annotated[int, Plain, Field(ge=0)] = 0
    """Units (nodes) of each GPU type in use that stand by beyond those needed: 1 is N+1."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse what contradicts itself, and limits of what nobody stated."""
        gpus, models = [one.gpu for one in self.supplies], [one.model for one in self.demands]
        for kind, names in (("gpu", gpus), ("model", models)):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise InvalidInput(f"fleet: {kind} {twice} is named twice; each stands once")
        for offer in self.offers:
            for kind, name, known in (("gpu", offer.gpu, gpus), ("model", offer.model, models)):
                if name not in known:
                    raise unknown_name(f"{kind} in an offer", name, known)
        if len({len(one.rates_per_s) for one in self.demands}) > 1:
            raise InvalidInput("fleet: the demands have different numbers of hours; state all for the same")
        if not any(max(one.rates_per_s) > 0 for one in self.demands):
            raise InvalidInput("fleet: the demand is zero; at least one model needs a rate above zero")
        self._check_limits()

    def _check_limits(self) -> None:
        for limit, field in (("capex_usd", "capex_usd_per_gpu"), ("power_kw", "kw_per_gpu")):
            if getattr(self.limits, limit) is None:
                continue
            without = [one.gpu for one in self.supplies if getattr(one, field) is None]
            if without:
                raise InvalidInput(f"fleet: {limit} is limited, but {field} of {without[0]} is not stated")
        if self.limits.capex_usd is not None and self.scaling == "hourly":
            raise InvalidInput("fleet: capex_usd limits what is bought, but hourly scaling rents by the hour")

    @property
    def hours(self) -> int:
        """Return how many hours the demands state."""
        return len(self.demands[0].rates_per_s)

    def unit_share(self, offer: Offer) -> float:
        """Return how much of a unit one replica takes; several units where it is larger than one.

        Replicas that share a node are taken as the same part of it each: exact where their sizes divide the
        node, and on the safe side elsewhere.
        """
        unit = next(one.unit_gpus for one in self.supplies if one.gpu == offer.gpu)
        if offer.gpus >= unit:
            return float(math.ceil(offer.gpus / unit))
        return 1.0 / (unit // offer.gpus)


@dataclass(frozen=True, slots=True)
class Placement:
    """Replicas of one offer.

    Parameters
    ----------
    offer : Offer
        The deployment.
    replicas : tuple of int
        In each hour; one number where the fleet is fixed.
    """

    offer: Offer
    replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stand:
    """GPUs of one type, spares included.

    Parameters
    ----------
    supply : Supply
        The type.
    units : tuple of int
        Nodes (or single GPUs) in each hour; one number where they stay.
    """

    supply: Supply
    units: tuple[int, ...]

    @property
    def gpus(self) -> tuple[int, ...]:
        """Return the GPUs in each hour."""
        return tuple(count * self.supply.unit_gpus for count in self.units)


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """The fleet that was chosen.

    Parameters
    ----------
    problem : FleetProblem
        What was asked.
    placements : tuple of Placement
        Replicas, those of no use left out.
    stands : tuple of Stand
        GPUs by type, those of no use left out.
    served_per_s : dict of str to tuple of float
        Requests of each model that are served in each hour [requests/s].
    status : str
        "optimal" within the gap that was asked for, or "best found": in the time, or by parts, which have a
        bound that the gap is counted from.
    gap : float
        How far the objective may be from the best there is, as a share of it.
    solve_s : float
        Time of the solver [s].
    variables, constraints : int
        Size of the programme.
    """

    problem: FleetProblem
    placements: tuple[Placement, ...]
    stands: tuple[Stand, ...]
    served_per_s: dict[str, tuple[float, ...]]
    status: str
    gap: float
    solve_s: float
    variables: int
    constraints: int

    def _each_hour(self, field: str) -> tuple[float, ...] | None:
        """Return a quantity of one GPU times the GPUs, in each hour; None where a type does not state it."""
        if any(getattr(stand.supply, field) is None for stand in self.stands):
            return None
        columns = [[count * getattr(stand.supply, field) for count in stand.gpus] for stand in self.stands]
        return tuple(sum(column) for column in zip(*columns, strict=True)) if columns else (0.0,)

    @property
    def usd_per_hour(self) -> float:
        """Return the cost of an hour, on average over the day [USD/h]."""
        each = self._each_hour("usd_per_gpu_hour") or (0.0,)
        return sum(each) / len(each)

    @property
    def usd_per_month(self) -> float:
        """Return the cost of 730 hours [USD]."""
        return HOURS_PER_MONTH * self.usd_per_hour

    @property
    def usd_in_dearest_hour(self) -> float:
        """Return the cost of the hour with most GPUs [USD/h]."""
        return max(self._each_hour("usd_per_gpu_hour") or (0.0,))

    @property
    def power_kw(self) -> float | None:
        """Return the power of all GPUs in the hour with most [kW]; None where a type does not state it."""
        each = self._each_hour("kw_per_gpu")
        return None if each is None else max(each)

    @property
    def capex_usd(self) -> float | None:
        """Return what all GPUs cost to buy [USD]; None where a type does not state it."""
        each = self._each_hour("capex_usd_per_gpu")
        return None if each is None else max(each)

    @property
    def gpus(self) -> int:
        """Return the GPUs in the hour with most."""
        return max((sum(column) for column in zip(*(s.gpus for s in self.stands), strict=True)), default=0)

    @property
    def gpu_hours_per_day(self) -> float:
        """Return the GPU-hours of a day."""
        return sum(24.0 * sum(stand.gpus) / len(stand.gpus) for stand in self.stands)

    @property
    def served_share(self) -> float:
        """Return the weighted share of the demand that is served."""
        asked = {one.model: one for one in self.problem.demands}
        total = sum(one.weight * sum(one.rates_per_s) for one in asked.values())
        served = sum(asked[model].weight * sum(rates) for model, rates in self.served_per_s.items())
        return served / total


@dataclass(frozen=True, slots=True)
class Binding:
    """A limit that stands in the way by itself.

    Parameters
    ----------
    name : str
        The limit, such as "power_kw" or "stock of b200".
    limit : float
        What is allowed.
    needed : float
        The least that would do, the other limits as they are.
    unit : str
        Of both.
    """

    name: str
    limit: float
    needed: float
    unit: str

    @property
    def sentence(self) -> str:
        """Return what is needed instead of what is allowed."""
        return f"{self.name}: {self.needed:,.4g} {self.unit} are needed, {self.limit:,.4g} are allowed"


@dataclass(frozen=True, slots=True)
class NoFleet:
    """Why no fleet carries the demands.

    Parameters
    ----------
    problem : FleetProblem
        What was asked.
    unserved : tuple of str
        Models that no offer carries.
    bindings : tuple of Binding
        Limits of which each alone stands in the way; none where several do together.
    together : tuple of Binding
        Limits that stand in the way together, where none does alone; each with the least of it that would do
        without all others.
    """

    problem: FleetProblem
    unserved: tuple[str, ...] = ()
    bindings: tuple[Binding, ...] = ()
    together: tuple[Binding, ...] = ()

    @property
    def sentence(self) -> str:
        """Return why, in one line."""
        if self.unserved:
            return f"no fleet: no deployment on these GPUs carries {', '.join(self.unserved)} within its SLO"
        if self.bindings:
            return "no fleet: " + "; or ".join(binding.sentence for binding in self.bindings)
        each = ", ".join(
            f"{one.name} (at least {one.needed:,.4g} {one.unit}, {one.limit:,.4g} allowed)"
            for one in self.together
        )
        return f"no fleet: no one limit stands in the way alone, but together {each}"
