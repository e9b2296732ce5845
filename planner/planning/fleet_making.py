"""From models and GPU types to a fleet: what each carries on each, and the programme that chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from planner.catalogue import Gpu
from planner.economics import PricePerHour
from planner.economics.energy import Power, power_of
from planner.errors import DoesNotFit, IllegalDeployment, InvalidInput, PlannerError, Unsupported
from planner.planning.fleet import FleetPlan, FleetProblem, ModelDemand, NoFleet, Offer, Supply
from planner.planning.fleet_asked import FleetAsked
from planner.planning.fleet_solving import best_fleet
from planner.planning.question import Question
from planner.planning.replica import Carried, Missed, carried, served
from planner.planning.search import Candidate
from planner.planning.service_simulation import SimulatedLoad
from planner.planning.traffic import Traffic
from planner.scenario import Workload
from planner.scenario.slo import LatencySlo

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ModelLoad:
    """One model of a fleet, looked up.

    Parameters
    ----------
    name : str
        Id of the model; unique in the fleet.
    question : Question
        The model with its lengths, on all GPU types.
    traffic : Traffic
        Its arrivals.
    load : SimulatedLoad
        How they arrive in a simulation.
    workload : Workload
        Mean lengths, and the longest.
    slo : LatencySlo
        What its requests must keep.
    weight : float
        What one of them is worth.
    """

    name: str
    question: Question
    traffic: Traffic
    load: SimulatedLoad
    workload: Workload
    slo: LatencySlo
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class OnGpu:
    """What one model carries on one GPU type.

    Parameters
    ----------
    model : str
        Id of the model.
    gpu : Gpu
        The type.
    kept : tuple of Carried
        Deployments that keep the SLO; empty where none does.
    missed : Missed or None
        What comes closest where none does.
    refused : str
        Why the model cannot run there at all.
    """

    model: str
    gpu: Gpu
    kept: tuple[Carried, ...]
    missed: Missed | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FleetMade:
    """A fleet with all that it was made from.

    Parameters
    ----------
    asked : FleetAsked
        What was asked.
    models : tuple of ModelLoad
        The models.
    cards : tuple of Gpu
        The GPU types.
    prices : dict of str to PricePerHour
        By GPU type.
    powers : dict of str to Power
        By GPU type, where it is known.
    on : tuple of OnGpu
        What each model carries on each type.
    outcome : FleetPlan or NoFleet
        The fleet, or what stands in its way.
    """

    asked: FleetAsked
    models: tuple[ModelLoad, ...]
    cards: tuple[Gpu, ...]
    prices: Mapping[str, PricePerHour]
    powers: Mapping[str, Power]
    on: tuple[OnGpu, ...]
    outcome: FleetPlan | NoFleet


def make_fleet(
    asked: FleetAsked,
    models: Sequence[ModelLoad],
    cards: Sequence[Gpu],
    prices: Mapping[str, PricePerHour],
    *,
    gap: float | None = None,
    progress: Progress | None = None,
) -> FleetMade:
    """Find what each model carries on each GPU type, and choose the fleet.

    Parameters
    ----------
    asked : FleetAsked
        Stocks, limits, objective and headroom; its GPUs in the order of `cards`.
    models : sequence of ModelLoad
        The models.
    cards : sequence of Gpu
        The GPU types.
    prices : mapping
        Price of each type.
    gap : float, optional
        As for `best_fleet`.
    progress : callable, optional
        Called with the pairs of model and type that are done, and all of them.

    Returns
    -------
    FleetMade

    Raises
    ------
    PlannerError
        For what contradicts itself.
    """
    found: list[OnGpu] = []
    pairs = [(model, card) for model in models for card in cards]
    for done, (model, card) in enumerate(pairs):
        if progress is not None:
            progress(done, len(pairs))
        found.append(_on(model, card))
    if progress is not None:
        progress(len(pairs), len(pairs))
    powers = _powers(asked, cards, models[0].question)
    outcome = best_fleet(_problem(asked, models, cards, prices, powers, found), gap=gap)
    return FleetMade(asked, tuple(models), tuple(cards), prices, powers, tuple(found), outcome)


def _on(model: ModelLoad, card: Gpu) -> OnGpu:
    """Return the deployments of which a fleet may need: of each size the one with most rate a GPU.

    A smaller one with less of a GPU leaves less of it idle where little is asked.
    """

    def dear(candidate: Candidate, rate_per_s: float, _: float) -> tuple[float, ...]:
        return (candidate.gpus / rate_per_s,)

    try:
        kept = carried(
            model.question, card, model.slo, model.load, workload=model.workload, judge=dear, by_size=True
        )
    except (DoesNotFit, IllegalDeployment, Unsupported) as error:
        return OnGpu(model.name, card, (), refused=str(error))
    except PlannerError as error:
        raise type(error)(f"fleet: {model.name}: {error}") from None
    if isinstance(kept, Missed):
        return OnGpu(model.name, card, (), missed=kept)
    return OnGpu(model.name, card, tuple(kept))


def _powers(asked: FleetAsked, cards: Sequence[Gpu], question: Question) -> dict[str, Power]:
    known: dict[str, Power] = {}
    for one, card in zip(asked.gpus, cards, strict=True):
        try:
            known[card.id] = power_of(card, question.catalogue, kw_per_gpu=one.kw_per_gpu)
        except Unsupported as error:
            if asked.limits.power_kw is not None:
                raise InvalidInput(f"power is limited, but {error}") from None
    return known


def _problem(
    asked: FleetAsked,
    models: Sequence[ModelLoad],
    cards: Sequence[Gpu],
    prices: Mapping[str, PricePerHour],
    powers: Mapping[str, Power],
    found: Sequence[OnGpu],
) -> FleetProblem:
    supplies = tuple(
        Supply(
            gpu=card.id,
            unit_gpus=card.node_gpus if card.whole_nodes and not asked.part_nodes else 1,
            usd_per_gpu_hour=prices[card.id].usd_per_gpu_hour,
            stock_gpus=one.stock_gpus,
            capex_usd_per_gpu=one.capex_usd_per_gpu,
            kw_per_gpu=powers[card.id].kw_per_gpu if card.id in powers else None,
        )
        for one, card in zip(asked.gpus, cards, strict=True)
    )
    offers = tuple(
        Offer(
            model=on.model,
            gpu=on.gpu.id,
            label=one.candidate.label,
            gpus=one.candidate.gpus,
            rate_per_s=one.rate_per_s * asked.peak_utilisation,
        )
        for on in found
        for one in on.kept
    )
    by_hour = any(model.traffic.hours_known for model in models)
    demands = tuple(
        ModelDemand(
            model=model.name,
            rates_per_s=_rates(model, found, by_hour, asked.peak_utilisation),
            weight=model.weight,
        )
        for model in models
    )
    return FleetProblem(
        supplies=supplies,
        offers=offers,
        demands=demands,
        limits=asked.limits,
        objective=asked.objective,
        scaling=asked.scaling,
        spare_units=asked.spare_nodes,
    )


def _rates(
    model: ModelLoad, found: Sequence[OnGpu], by_hour: bool, peak_utilisation: float
) -> tuple[float, ...]:
    """Return the rates to plan for; users who think ask most often where they are answered soonest."""
    kept = [one for on in found if on.model == model.name for one in on.kept]
    traffic = model.traffic
    if kept and traffic.think_s is not None:
        traffic = traffic.answered_in(min(_time_s(model, one, peak_utilisation) for one in kept))
    return traffic.planned_per_s if by_hour else (traffic.peak_per_s,)


def _time_s(model: ModelLoad, one: Carried, peak_utilisation: float) -> float:
    """Return the mean time of a request at the rate that a replica is given [s]."""
    rate, requests = one.rate_per_s * peak_utilisation, len(one.result.requests.isl)
    found = served(one.ready, model.load, model.workload, rate, requests, model.slo)
    assert found.e2e_s is not None
    return found.e2e_s.mean
