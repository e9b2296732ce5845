"""Ask for percentiles: serve requests one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from planner.api.arguments import open_catalogue, path_text
from planner.api.recording import reproducible
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import InvalidInput
from planner.planning.question import question
from planner.report.answers import fit_answer

if TYPE_CHECKING:
    from planner.performance.simulation import Trace
    from planner.report.simulation import SimulateReport


@reproducible
def simulate(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu,
    isl: int | str | None = None,
    osl: int | str | None = None,
    concurrency: int | str | None = None,
    request_rate: float | None = None,
    context: int | str | None = None,
    prefix_hit: float = 0.0,
    arrivals: str = "poisson",
    cv: float | None = None,
    lengths: str = "fixed",
    length_cv: float = 0.5,
    trace: str | os.PathLike[str] | Trace | None = None,
    requests: int | None = None,
    seed: int = 0,
    slo_ttft_s: float | None = None,
    slo_tpot_s: float | None = None,
    slo_e2e_s: float | None = None,
    draft: str | None = None,
    tokens_per_step: float | None = None,
    network_bytes_per_s: float | None = None,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> SimulateReport:
    """Serve requests one by one: percentiles of TTFT, TPOT and whole requests, goodput and overload.

    Parameters
    ----------
    model, gpu, isl, osl, context, prefix_hit, draft, tokens_per_step, network_bytes_per_s
        As for `predict`; one accelerator.
    concurrency : int or str, optional
        Users of whom each asks again when answered.
    request_rate : float, optional
        Requests that arrive in a second, instead of a concurrency [1/s].
    arrivals, cv
        How they arrive: ``poisson``, ``gamma`` with the spread `cv` of the gaps, or ``fixed``.
    lengths, length_cv
        How lengths are drawn: ``fixed``, ``uniform`` (80 to 100 %) or ``lognormal`` with a spread.
    trace : path or Trace, optional
        Recorded requests, replayed; with a rate or a concurrency only their lengths are drawn.
    requests : int, optional
        How many.
    seed : int
        Of the random numbers.
    slo_ttft_s, slo_tpot_s, slo_e2e_s : float, optional
        Limits that a request must keep to count for goodput [s].
    progress : callable, optional
        Called with the requests that have finished, and all of them.
    price, price_kind, catalogue, **options
        As for `predict`.

    Returns
    -------
    SimulateReport
        Percentiles of all requests; `overloaded` where more came than could be served; no result where it
        does not fit.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.measurement.traces import read_trace
    from planner.performance.simulation import Trace
    from planner.planning.service_simulation import SimulatedLoad, simulated_service
    from planner.report.simulation import SimulateReport
    from planner.scenario.slo import latency_slo

    load = {
        "isl": isl,
        "osl": osl,
        "concurrency": concurrency,
        "request_rate": request_rate,
        "context": context,
        "prefix_hit": prefix_hit,
    }
    asked = question(
        model=model,
        gpu=gpu,
        load=load,
        options=options,
        catalogue=open_catalogue(catalogue),
        price=price,
        price_kind=price_kind,
    )
    if len(asked.gpus) > 1:
        raise InvalidInput(f"gpu: {len(asked.gpus)} types named; a simulation is of one")
    found = simulated_service(
        asked,
        asked.gpus[0],
        SimulatedLoad(
            arrivals=arrivals,
            cv=cv,
            lengths=lengths,
            length_cv=length_cv,
            trace=trace
            if trace is None or isinstance(trace, Trace)
            else read_trace(path_text("trace", trace)),
            requests=requests,
            seed=seed,
            slo=latency_slo(slo_ttft_s, slo_tpot_s, slo_e2e_s),
        ),
        draft=draft,
        tokens_per_step=tokens_per_step,
        network_bytes_per_s=network_bytes_per_s,
        progress=progress,
    )
    return SimulateReport(fit_answer(asked, asked.gpus[0], found.judgement), found)
