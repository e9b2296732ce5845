"""Why a point is what it is: the whole prediction of one candidate under one load."""

from __future__ import annotations

from planner.performance.predict import Prediction, predict_deployment
from planner.planning.search.records import Point
from planner.planning.search.result import SearchResult
from planner.scenario import Workload


def explain(result: SearchResult, point: Point) -> Prediction:
    """Return the prediction of a point with its working: the parts of a step, and what it is bound by.

    Parameters
    ----------
    result : SearchResult
        The search.
    point : Point
        One of its points.

    Returns
    -------
    Prediction
        Of the same figures.
    """
    key = (id(point.candidate), point.concurrency)
    if key not in result.explained:
        result.explained[key] = _explain(result, point)
    return result.explained[key]


def _explain(result: SearchResult, point: Point) -> Prediction:
    asked, candidate, space = result.asked, point.candidate, result.space
    load = asked.workload
    return predict_deployment(
        model=asked.model,
        gpu=result.gpu,
        deployment=candidate.deployment,
        workload=Workload(
            context=load.context,
            isl=load.isl,
            osl=load.osl,
            concurrency=max(round(point.concurrency), 1),
            prefix_hit=load.prefix_hit,
        ),
        catalogue=asked.catalogue,
        copies=candidate.copies,
        prefill_deployment=candidate.prefill,
        prefill_copies=max(candidate.prefill_copies, 1),
        network_bytes_per_s=space.network_bytes_per_s,
        draft=space.draft if candidate.deployment.speculative_tokens else None,
        tokens_per_step=space.tokens_per_step,
    )
