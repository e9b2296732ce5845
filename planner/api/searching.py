"""Ask which deployment: search all of them, to the frontier of output and interactivity."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.api.arguments import open_catalogue
from planner.api.recording import reproducible
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import InvalidInput, shorten, unknown_name
from planner.planning.question import Question, question

if TYPE_CHECKING:
    from planner.planning.search import SearchSpace
    from planner.report.frontier import FrontierAnswer, FrontierReport
    from planner.scenario.slo import LatencySlo

LAYOUTS = 4
"""Layouts whose best point is shown, with what it is bound by."""


@reproducible
def frontier(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu | Iterable[str | Gpu],
    isl: int | str | None = None,
    osl: int | str | None = None,
    context: int | str | None = None,
    prefix_hit: float = 0.0,
    gpus: int | Iterable[int] | None = None,
    tp: int | Iterable[int] | None = None,
    pp: int | Iterable[int] | None = None,
    ep: int | Iterable[int] | None = None,
    dp: int | Iterable[int] | None = None,
    dcp: int | Iterable[int] | None = None,
    weight_dtype: str | Iterable[str] | None = None,
    kv_dtype: str | Iterable[str] | None = None,
    speculative_tokens: int | Iterable[int] | None = None,
    draft: str | None = None,
    tokens_per_step: float | None = None,
    disaggregated: bool | None = None,
    every_layout: bool = False,
    slo_ttft_s: float | None = None,
    slo_tpot_s: float | None = None,
    slo_e2e_s: float | None = None,
    by: str | None = None,
    network_bytes_per_s: float | None = None,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> FrontierReport:
    """Search the deployments of a model on accelerators, to what nothing beats in output and interactivity.

    Parameters
    ----------
    model, gpu, context, price, price_kind, catalogue
        As for `fit`.
    isl, osl : int or str
        Input and output of a request [tokens].
    prefix_hit : float
        Share of the input that a prefix cache holds, from 0 to below 1.
    gpus : int or several, optional
        GPUs of all copies together; 1 to 16 in the numbers that the type comes in by default.
    tp, pp, ep, dp, dcp : int or several, optional
        Parallel sizes to try; all that are legal and usual by default.
    weight_dtype, kv_dtype : str or several, optional
        Formats to try; the checkpoint's, and what the engine picks, by default.
    speculative_tokens : int or several, optional
        Tokens drafted for each step; by default none, and those of the model's own draft where it has one.
    draft, tokens_per_step, network_bytes_per_s
        As for `predict`.
    disaggregated : bool, optional
        Whether prefill may have GPUs of its own; by default where the model was measured so on the GPU.
    every_layout : bool
        Whether to try pipelines and copies over nodes that nothing calls for.
    slo_ttft_s, slo_tpot_s, slo_e2e_s : float, optional
        Limits that the medians of a point must keep [s].
    by : str, optional
        What is best: ``throughput`` of a GPU, ``cost`` of output, or ``interactivity``; by default cost where
        all have a price, else throughput.
    **options
        Fields of `planner.scenario.Deployment`, such as `engine` or `max_num_seqs`.

    Returns
    -------
    FrontierReport
        One answer for each accelerator type.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.planning.search import SearchSpace
    from planner.planning.search.result import AIMS
    from planner.report.frontier import FrontierReport
    from planner.scenario.slo import latency_slo

    weights, caches = _several("weight_dtype", weight_dtype), _several("kv_dtype", kv_dtype)
    single = {"weight_dtype": weights, "kv_dtype": caches}
    asked = question(
        model=model,
        gpu=gpu,
        load={"isl": isl, "osl": osl, "context": context, "prefix_hit": prefix_hit},
        options={
            **options,
            **{name: given[0] for name, given in single.items() if given is not None and len(given) == 1},
        },
        catalogue=open_catalogue(catalogue),
        price=price,
        price_kind=price_kind,
    )
    if asked.workload.osl == 1:
        raise InvalidInput("osl: 1 token has no time to the next, and so no interactivity; give 2 or more")
    if disaggregated is not None and not isinstance(disaggregated, bool):
        raise InvalidInput(f"disaggregated: {shorten(disaggregated)} is no answer; True or False is one")
    space = SearchSpace(
        gpus=_several("gpus", gpus),
        tp=_several("tp", tp),
        pp=_several("pp", pp),
        ep=_several("ep", ep),
        dp=_several("dp", dp),
        dcp=_several("dcp", dcp),
        weight_dtypes=weights if weights is not None and len(weights) > 1 else None,
        kv_dtypes=caches if caches is not None and len(caches) > 1 else None,
        speculative_tokens=_several("speculative_tokens", speculative_tokens),
        disaggregated=disaggregated,
        every_layout=every_layout,
        draft=draft,
        tokens_per_step=tokens_per_step,
        network_bytes_per_s=network_bytes_per_s,
    )
    priced = all(card.id in asked.prices for card in asked.gpus)
    aim = by or ("cost" if priced else "throughput")
    if aim not in AIMS:
        raise unknown_name("aim", aim, AIMS)
    slo = latency_slo(slo_ttft_s, slo_tpot_s, slo_e2e_s)
    return FrontierReport(tuple(_answer(asked, card, space, slo, aim) for card in asked.gpus))


def _answer(
    asked: Question, card: Gpu, space: SearchSpace, slo: LatencySlo | None, by: str
) -> FrontierAnswer:
    """Return what a search finds on one accelerator."""
    from planner.measurement.frontier_points import measured_markers
    from planner.memory.setup import engine_name
    from planner.planning.load import load_of
    from planner.planning.search import search_again
    from planner.planning.search.explaining import explain
    from planner.report.frontier import FrontierAnswer

    result = search_again(asked, card, space=space)
    load = load_of(asked.workload)
    points = result.frontier(slo)
    best = result.ranked(slo, by, LAYOUTS) if points else []
    return FrontierAnswer(
        result=result,
        load=load,
        by=by,
        slo=slo,
        points=points,
        layouts=tuple((point, explain(result, point)) for point in best),
        closest=None if points or slo is None else result.closest(slo),
        measured=measured_markers(
            model=asked.model,
            gpu=card,
            catalogue=asked.catalogue,
            isl=load.isl,
            osl=load.osl,
            engine=asked.catalogue.resolve("stacks", engine_name(asked.base.engine)[0]),
            weight_dtype=asked.base.weight_dtype,
        ),
    )


def _several(name: str, given: Any) -> Any:
    """Return one value or several as a tuple, or None where nothing was given."""
    if given is None:
        return None
    if isinstance(given, str):
        values = tuple(part.strip() for part in given.split(","))
    elif isinstance(given, Iterable) and not isinstance(given, Mapping | bytes):
        values = tuple(given)
    else:
        values = (given,)
    if not values:
        raise InvalidInput(f"{name}: {shorten(given)} names nothing to try; leave it out to try all")
    odd = next((one for one in values if not isinstance(one, Hashable)), None)
    if odd is not None:
        raise InvalidInput(
            f"{name}: {shorten(odd)} is nothing to try; one name or number is needed, or a list"
        )
    return tuple(dict.fromkeys(values))
