"""Search: every candidate under a ladder of loads, in bulk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.catalogue import Gpu
from planner.errors import IllegalDeployment, InvalidInput
from planner.memory.built import SameModel, architecture_of
from planner.memory.setup import engine_name
from planner.performance.levels import calibration_of
from planner.performance.parameters import Array
from planner.planning.kept import kept
from planner.planning.load import check_drafts
from planner.planning.question import Question
from planner.planning.search.evaluation import Evaluator, Found
from planner.planning.search.kinds import measured_apart
from planner.planning.search.layouts import deployments, drafts, gpu_counts
from planner.planning.search.options import aggregated, apart
from planner.planning.search.records import LeftOut, SearchSpace
from planner.planning.search.result import SATURATED, SearchResult
from planner.planning.search.units import Refusals, Workbench
from planner.planning.sizing import fills_nodes
from planner.scenario.legal import can_disaggregate

PER_DOUBLING = 2
"""Rungs of the ladder of loads to a doubling."""
NO_WHOLE_NODES = "no whole nodes"
HALVINGS = 30
"""Halvings of the logarithm of a load that a rate leaves in the system."""


def search(asked: Question, card: Gpu, *, space: SearchSpace | None = None) -> SearchResult:
    """Return what every legal deployment of a model on one accelerator type yields.

    Parameters
    ----------
    asked : Question
        The model, sizes that are fixed, dtypes and engine, and the load: lengths, and perhaps a concurrency
        or a rate, at which alone candidates are then judged; else it is a ladder of loads, from one request
        to what the KV pool holds.
    card : Gpu
        The accelerator.
    space : SearchSpace, optional
        What to try.

    Returns
    -------
    SearchResult

    Raises
    ------
    PlannerError
        For lengths that are missing, and drafts that contradict one another.
    """
    workload = asked.workload
    if not workload.isl or not workload.osl:
        raise InvalidInput(
            "isl and osl are needed: input and output tokens of a request, such as --isl 1024 --osl 400"
        )
    tried = _with_sizes(space or SearchSpace(), asked)
    architecture = architecture_of(SameModel(asked.model))
    check_drafts(max(drafts(architecture, tried, asked.base)), tried.draft, tried.tokens_per_step)
    refused = Refusals()
    counts = _whole_nodes(card, gpu_counts(card, tried), refused)
    bench = Workbench(
        model=asked.model,
        gpu=card,
        base=asked.base,
        workload=workload,
        space=tried,
        catalogue=asked.catalogue,
    )
    wanted = list(deployments(architecture, counts, tried, asked.base))
    if not wanted:
        raise InvalidInput(_unfilled(tried, counts))
    units = bench.units(wanted, refused)
    options = list(aggregated(card, units, counts, tried.copies))
    engine = asked.catalogue.resolve("stacks", engine_name(asked.base.engine)[0])
    calibration = calibration_of(asked.catalogue)
    separate = _tries_apart(tried.disaggregated, measured_apart(asked.model, card, engine, calibration))
    if separate and not can_disaggregate(engine):
        refused.add("prefill apart", f"{engine} does not hand a cache from one server to another")
    elif separate:
        options += apart(card, units, counts, float(workload.isl))
    if not options:
        return SearchResult.empty(asked, card, tried, refused.records(), separate)
    evaluator = Evaluator(
        units=units,
        options=options,
        model=asked.model,
        gpu=card,
        catalogue=asked.catalogue,
        calibration=calibration,
        isl=float(workload.isl),
        osl=float(workload.osl),
        hit=workload.prefix_hit,
    )
    most = evaluator.most_at_once()
    found, beyond = _loads(evaluator, most, workload.concurrency, workload.request_rate)
    steady, left_out = _steady(evaluator, found)
    return SearchResult(
        asked,
        card,
        tried,
        refused.records(),
        separate,
        evaluator,
        most,
        found,
        steady,
        replace(left_out, beyond_pool=beyond),
    )


_kept = kept(search)


def search_again(asked: Question, card: Gpu, *, space: SearchSpace | None = None) -> SearchResult:
    """Return what `search` does, at once where an earlier question differs by prices alone.

    Parameters
    ----------
    asked, card, space
        As for `search`.

    Returns
    -------
    SearchResult
        With the prices that are asked with; candidates and predictions that were made before are shared.
    """
    return replace(_kept(asked, card, space=space or SearchSpace()), asked=asked)


def _steady(evaluator: Evaluator, found: Found) -> tuple[np.ndarray, LeftOut]:
    """Return which points have queues of a steady length, and no gain that another runtime explains."""
    overloaded = found.busy > SATURATED
    apart = evaluator.filling[found.option] >= 0
    quickest = np.zeros(len(apart))
    quickest[apart] = evaluator.quickest_token_s(found.option[apart])
    unlikely = ~overloaded & (found.tpot_s < quickest)
    counts = LeftOut(overloaded=int(overloaded.sum()), unlikely=int(unlikely.sum()))
    return ~overloaded & ~unlikely, counts


def _whole_nodes(card: Gpu, counts: tuple[int, ...], refused: Refusals) -> tuple[int, ...]:
    """Return the numbers of GPUs that fill nodes, and count the others: what they leave idle is paid for."""
    whole = tuple(count for count in counts if fills_nodes(card, count))
    for count in counts:
        if count not in whole:
            node = card.node_gpus
            less = count // node * node
            why = f"{count} x {card.id} fill no whole nodes of {node}; {less} and {less + node} do"
            if not whole:
                raise IllegalDeployment(f"gpus: {why}")
            refused.add(NO_WHOLE_NODES, why)
    return whole


def _unfilled(space: SearchSpace, counts: tuple[int, ...]) -> str:
    """Return that sizes do not fill any number of GPUs."""
    names = ("tp", "pp", "dp")
    given = [f"{name} {sizes}" for name in names if (sizes := getattr(space, name)) is not None]
    shown = " and ".join(one.replace("(", "").replace(",)", "").replace(")", "") for one in given)
    numbers = ", ".join(map(str, counts))
    return f"{shown}: no whole copies of tp x pp x dp GPUs fill any of {numbers} GPUs; name others with gpus"


def _tries_apart(asked: bool | None, measured: bool) -> bool:
    """Return whether prefill may have its own GPUs: as asked, else where the calibration has seen it so."""
    return measured if asked is None else asked


def _with_sizes(space: SearchSpace, asked: Question) -> SearchSpace:
    """Return the space with the sizes that the question fixes."""
    given = {
        name: (size,)
        for name in ("gpus", "tp", "pp", "ep", "dp", "dcp")
        if (size := getattr(asked.sizes, name)) is not None and getattr(space, name) is None
    }
    return space.model_copy(update=given)


def _loads(
    evaluator: Evaluator, most: Array, concurrency: int | None, rate: float | None
) -> tuple[Found, int]:
    """Return the points to judge by, and how many candidates cannot carry the load that was given."""
    every = np.arange(len(most))
    if rate is not None:
        return _at_rate(evaluator, most, rate)
    if concurrency is not None:
        able = every[most >= concurrency]
        return evaluator.at(able, np.full(len(able), float(concurrency))), len(every) - len(able)
    option, loads = ladder(most, evaluator.copies)
    return evaluator.at(option, loads), 0


def ladder(most: Array, copies: np.ndarray) -> tuple[np.ndarray, Array]:
    """Return each candidate with its loads: two to a doubling, whole numbers on each copy, up to its most.

    Parameters
    ----------
    most : array
        Requests that each candidate runs at once.
    copies : array of int
        Copies of each.

    Returns
    -------
    tuple of array
        Candidate and load of every point, in that order.
    """
    doublings = np.arange(PER_DOUBLING * int(np.ceil(np.log2(most.max()))) + 1) / PER_DOUBLING
    rungs = np.unique(np.round(2.0**doublings))
    below = np.searchsorted(rungs, most / copies, side="left")
    option = np.repeat(np.arange(len(most)), below + 1)
    start = np.cumsum(below + 1) - (below + 1)
    place = np.arange(len(option)) - start[option]
    padded = np.append(rungs, np.inf)
    return option, np.where(place == below[option], most[option], padded[place] * copies[option])


def _at_rate(evaluator: Evaluator, most: Array, rate: float) -> tuple[Found, int]:
    """Return each candidate with as many requests as a rate leaves in it; too high a rate leaves it out."""
    every = np.arange(len(most))
    full = evaluator.at(every, most)
    able = every[full.output_tps / evaluator.osl * SATURATED >= rate]
    low, high = np.full(len(able), -30.0), np.log2(most[able])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        served = evaluator.at(able, 2.0**middle).output_tps / evaluator.osl
        low, high = np.where(served < rate, middle, low), np.where(served < rate, high, middle)
    return evaluator.at(able, 2.0**high), len(every) - len(able)
