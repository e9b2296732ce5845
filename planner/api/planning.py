"""Ask how many GPUs a traffic needs: replicas, nodes, racks, cost, goodput; or a fleet of several models."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.api.arguments import open_catalogue, path_text
from planner.api.media_door import answers_media
from planner.api.recording import reproducible
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import InvalidInput, PlannerError, shorten
from planner.planning.question import Question, gpu_records, prices_of, question

if TYPE_CHECKING:
    from planner.performance.simulation import Trace
    from planner.planning.fleet_asked import FleetAsked, FleetModel
    from planner.planning.fleet_making import ModelLoad
    from planner.planning.service_simulation import SimulatedLoad
    from planner.planning.traffic import Traffic
    from planner.report.plan import PlanReport
    from planner.report.plan_fleet import FleetReport
    from planner.scenario import Workload

Progress = Callable[[int, int], None]

NO_POOLS = (
    "disaggregated: deployments with prefill on GPUs of their own are not simulated request by request, so "
    "they are not planned with; predict and frontier give their medians"
)


@reproducible
@answers_media
def plan(
    *,
    model: str | os.PathLike[str] | Model | None = None,
    gpu: str | Gpu | Iterable[str | Gpu] | None = None,
    isl: int | str | None = None,
    osl: int | str | None = None,
    request_rate: float | None = None,
    users: int | str | None = None,
    requests_per_user_hour: float | None = None,
    think_s: float | None = None,
    peak_factor: float | None = None,
    profile: str | Sequence[float] | None = None,
    cv: float | None = None,
    trace: str | os.PathLike[str] | Trace | None = None,
    lengths: str = "fixed",
    length_cv: float = 0.5,
    context: int | str | None = None,
    prefix_hit: float = 0.0,
    slo_ttft_s: float | None = None,
    slo_tpot_s: float | None = None,
    slo_e2e_s: float | None = None,
    slo_share: float = 0.95,
    peak_utilisation: float | None = None,
    spare: int | None = None,
    availability_target: float | None = None,
    node_availability: float | None = None,
    gpu_availability: float | None = None,
    part_nodes: bool = False,
    rack_kw: float | None = None,
    requests: int = 2000,
    seed: int = 0,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
    mixed_kinds: bool = False,
    fleet: str | os.PathLike[str] | FleetAsked | None = None,
    progress: Progress | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> PlanReport | FleetReport:
    """Size a deployment for a traffic and percentile limits, with every step; or choose a fleet.

    Parameters
    ----------
    model, gpu, isl, osl, context, prefix_hit, price, price_kind
        As for `predict`; several accelerators are planned each and ranked by cost, those
        without a price last; without any price by GPUs.
    request_rate : float, optional
        Requests on average over the day [1/s]; or one of the two below.
    users, requests_per_user_hour, think_s : optional
        How many users there are, and how many requests each makes [1/h] or for how long one reads an answer
        before the next request [s].
    trace : path or Trace, optional
        Recorded requests with their lengths; a rate scales it.
    peak_factor : float, optional
        The rate to plan for over the mean.
    profile : str or sequence of 24 numbers, optional
        Shares of the hours: ``flat``, ``daily`` (an assumed shape), or numbers of any sum.
    cv : float, optional
        Standard deviation of the gaps between arrivals over their mean; 1 by default, or the trace's.
    lengths, length_cv
        As for `simulate`.
    slo_ttft_s, slo_tpot_s, slo_e2e_s : float
        Limits that a share of the requests must keep [s]; at least one.
    slo_share : float
        That share.
    peak_utilisation : float, optional
        Peak load over what the replicas carry within the limits; 0.8 by default.
    spare : int, optional
        Nodes (or replicas of several nodes) that stand by; 1 by default, N+1.
    availability_target, node_availability, gpu_availability : float, optional
        Instead of `spare`: share of time in which enough must work, and in which a node or a GPU works.
    part_nodes : bool
        Pay for GPUs one by one, and not for whole nodes.
    rack_kw : float, optional
        Power that a rack takes [kW]; with it racks are counted.
    requests, seed : int
        Of the simulation at the chosen size.
    mixed_kinds : bool
        Whether prices of different kinds may be ranked.
    fleet : path or FleetAsked, optional
        A fleet of several models and GPU types instead of all of the above.
    progress : callable, optional
        Called with what is done, and all of it.
    catalogue : Catalogue or path, optional
        An open catalogue, or the user's own file over the shipped one.
    **options
        Sizes, fields of `planner.scenario.Deployment`, and `kw` by accelerator.

    Returns
    -------
    PlanReport or FleetReport
        It has no plan where nothing keeps the limits, and says what comes closest.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.scenario.slo import LatencySlo

    book = open_catalogue(catalogue)
    if fleet is not None:
        if model is not None or gpu is not None:
            raise InvalidInput("fleet: models and GPUs stand in the fleet; leave model and gpu out")
        return _fleet(fleet, book, progress)
    if model is None or gpu is None:
        raise InvalidInput("model and gpu are needed, or a fleet")
    if options.pop("disaggregated", None) is not None:
        raise InvalidInput(NO_POOLS)
    recorded = _trace(trace)
    demand = {
        "rate_per_s": request_rate,
        "users": _count("users", users),
        "requests_per_user_hour": requests_per_user_hour,
        "think_s": think_s,
        "peak_factor": peak_factor,
        "profile": tuple(profile)
        if isinstance(profile, Iterable) and not isinstance(profile, str)
        else profile,
        "cv": cv,
    }
    power = options.get("kw") if price_kind == "own" else options.pop("kw", None)
    asked = question(
        model=model,
        gpu=gpu,
        load={"isl": isl, "osl": osl, "context": context, "prefix_hit": prefix_hit},
        options=options,
        catalogue=book,
        price=price,
        price_kind=price_kind,
    )
    if slo_ttft_s is None and slo_tpot_s is None and slo_e2e_s is None:
        raise InvalidInput("no limit is given; give one or more, such as --slo-ttft 2s --slo-tpot 50ms")
    slo = LatencySlo(ttft_s=slo_ttft_s, tpot_s=slo_tpot_s, e2e_s=slo_e2e_s, share=slo_share)
    asked, workload, traffic = _load(asked, recorded, demand)
    terms = _terms(
        slo,
        {
            "peak_utilisation": peak_utilisation,
            "spare": spare,
            "availability_target": availability_target,
            "node_availability": node_availability,
            "gpu_availability": gpu_availability,
        },
        part_nodes=part_nodes,
        rack_kw=rack_kw,
        requests=requests,
        kw_per_gpu=_by_gpu(power, asked),
    )
    load = _simulated(traffic, recorded, lengths=lengths, length_cv=length_cv, seed=seed)
    return _planned(asked, traffic, terms, load, workload, mixed_kinds, progress)


def _planned(
    asked: Question,
    traffic: Traffic,
    terms: Any,
    load: SimulatedLoad,
    workload: Workload,
    mixed_kinds: bool,
    progress: Progress | None,
) -> PlanReport:
    from planner.economics import check_kinds
    from planner.planning.plan import plan_on
    from planner.report.plan import PlanAnswer, PlanReport, ranked

    warning = check_kinds({gpu: price.kind for gpu, price in asked.prices.items()}, mixed_kinds)
    answers = []
    for number, card in enumerate(asked.gpus):
        share = _part_of(progress, number, len(asked.gpus))
        found = plan_on(asked, card, traffic, terms, load, workload=workload, progress=share)
        answers.append(PlanAnswer(asked, found, traffic, terms, workload))
    return PlanReport(ranked(answers), notes=(warning,) if warning else ())


def _part_of(progress: Progress | None, number: int, parts: int) -> Progress | None:
    """Return a progress that is one part of a whole."""
    if progress is None:
        return None
    return lambda done, every: progress(number * every + done, parts * every)


def _count(name: str, value: int | str | None) -> int | None:
    from planner.units import parse_count

    if not isinstance(value, str):
        return value
    try:
        return parse_count(value)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


def _trace(given: str | os.PathLike[str] | Trace | None) -> Trace | None:
    from planner.measurement.traces import read_trace
    from planner.performance.simulation import Trace

    if given is None or isinstance(given, Trace):
        return given
    return read_trace(path_text("trace", given))


def _by_gpu(power: float | Mapping[str, float] | None, asked: Question) -> dict[str, float]:
    if power is None:
        return {}
    if not isinstance(power, Mapping):
        return dict.fromkeys((card.id for card in asked.gpus), _kw(power))
    known = {asked.catalogue.gpu(name).id: _kw(kw) for name, kw in power.items()}
    others = sorted(set(known) - {card.id for card in asked.gpus})
    if others:
        raise InvalidInput(f"kw: {', '.join(others)} is given, but not among the GPUs asked about")
    return known


def _kw(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < math.inf:
        raise InvalidInput(f"kw: {shorten(given)} is not possible; a power above 0 is needed [kW]")
    return float(given)


def _terms(slo: Any, headroom: Mapping[str, Any], **given: Any) -> Any:
    from planner.planning.headroom import Headroom
    from planner.planning.plan import PlanTerms

    kept = {name: value for name, value in headroom.items() if value is not None}
    return PlanTerms(slo=slo, headroom=Headroom(**kept), **given)


def _load(
    asked: Question, trace: Trace | None, demand: Mapping[str, Any]
) -> tuple[Question, Workload, Traffic]:
    """Return the question with the lengths to plan for, the workload, and the arrivals."""
    from dataclasses import replace

    from planner.planning.traffic import Demand, trace_traffic, traffic_of

    workload = asked.workload
    stated = {name: value for name, value in demand.items() if value is not None}
    if trace is None:
        if workload.isl is None or workload.osl is None:
            raise InvalidInput(
                "isl and osl: give input and output tokens of a request, such as --isl 1024 --osl 400, "
                "or a trace"
            )
        return asked, workload, traffic_of(Demand(**stated))
    if workload.isl is not None or workload.osl is not None:
        raise InvalidInput("a trace has lengths of its own: isl and osl are not possible beside it")
    beside = sorted(set(stated) - {"rate_per_s", "peak_factor", "cv"})
    if beside:
        raise InvalidInput(f"a trace has a demand of its own: {beside[0]} is not possible beside it")
    longest = int((trace.isl + trace.osl).max())
    isl, osl = (max(1, round(float(values.mean()))) for values in (trace.isl, trace.osl))
    means = {"isl": isl, "osl": osl, "context": workload.context or longest}
    workload = workload.model_copy(update=means)
    checked = Demand(**{"rate_per_s": 1.0, **stated})
    traffic = trace_traffic(
        trace,
        peak_factor=checked.peak_factor,
        rate_per_s=checked.rate_per_s if "rate_per_s" in stated else None,
    )
    if "cv" in stated:
        traffic = replace(traffic, cv=checked.cv)
    return replace(asked, workload=workload), workload, traffic


def _simulated(traffic: Traffic, trace: Trace | None, **given: Any) -> SimulatedLoad:
    from planner.errors import unknown_name
    from planner.planning.service_simulation import LENGTHS, SimulatedLoad

    if given.get("lengths", "fixed") not in LENGTHS:
        raise unknown_name("lengths", given["lengths"], LENGTHS)
    if traffic.cv == 1.0:
        return SimulatedLoad(trace=trace, **given)
    return SimulatedLoad(arrivals="gamma", cv=traffic.cv, trace=trace, **given)


def _fleet(given: Any, book: Catalogue, progress: Progress | None) -> FleetReport:
    from planner.planning.fleet_asked import FleetAsked, place_of_model, read_fleet
    from planner.planning.fleet_making import make_fleet
    from planner.report.plan_fleet import FleetReport

    if isinstance(given, Mapping):
        given = FleetAsked(**given)
    asked = given if isinstance(given, FleetAsked) else read_fleet(path_text("fleet", given))
    cards = [gpu_records(one.gpu, book)[0] for one in asked.gpus]
    twice = next((card.id for i, card in enumerate(cards) if card in cards[:i]), None)
    if twice is not None:
        raise InvalidInput(f"fleet: {twice} is named twice; each type stands once")
    stated = {
        card.id: one.usd_per_gpu_hour
        for card, one in zip(cards, asked.gpus, strict=True)
        if one.usd_per_gpu_hour is not None
    }
    prices, unpriced = prices_of(cards, stated, asked.price_kind, book)
    for card in cards:
        if card.id not in prices:
            said = unpriced.get(card.id) or "it has no price, and no price kind is named"
            raise InvalidInput(f"fleet: {card.id}: {said}")
    models = []
    for number, one in enumerate(asked.models):
        try:
            models.append(_fleet_model(one, asked, cards, book))
        except PlannerError as error:
            place = "fleet" if asked is given else place_of_model(path_text("fleet", given), number)
            raise type(error)(f"{place}: {one.model}: {error}") from None
    return FleetReport(make_fleet(asked, models, cards, prices, progress=progress), digest=book.digest)


def _fleet_model(one: FleetModel, asked: FleetAsked, cards: list[Gpu], book: Catalogue) -> ModelLoad:
    from planner.planning.fleet_making import ModelLoad

    put = question(
        model=one.model,
        gpu=cards,
        load={"isl": one.isl, "osl": one.osl, "prefix_hit": one.prefix_hit},
        options=one.options,
        catalogue=book,
    )
    trace = _trace(one.trace)
    demand = one.demand.model_dump(exclude_unset=True) if one.demand is not None else {}
    put, workload, traffic = _load(put, trace, demand)
    load = _simulated(traffic, trace, seed=asked.seed)
    name = put.model.id if put.base.weight_dtype is None else f"{put.model.id} {put.base.weight_dtype}"
    return ModelLoad(name, put, traffic, load, workload, one.slo, one.weight)
