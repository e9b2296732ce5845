"""The best deployment that a search finds for a comparison: under an SLO, or of so many GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.catalogue import Gpu
from planner.measurement.best_load import keeps
from planner.measurement.compared import ANSWERED, MISSES, NO_FIT, OVERLOADED, UNMEASURED, Compared
from planner.measurement.comparing import Best, engine_of
from planner.measurement.operating_point import (
    MEASURED_RATE,
    QUANTITIES,
    SIMULATED_RATE,
    Asked,
    chosen_figures,
    measured_at,
)
from planner.measurement.predicted import BETWEEN_TOKENS, Speculation
from planner.memory.setup import engine_name
from planner.performance.intervals import Estimate
from planner.planning.load import judged
from planner.planning.question import Question
from planner.planning.search import FailedLimit, Point, SearchResult, SearchSpace, search_again
from planner.scenario.slo import LatencySlo

LIMITS = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_s": "E2E"}


def searched(
    asked: Question,
    gpu: Gpu,
    *,
    throughput: str,
    slo: LatencySlo | None,
    speculation: Speculation | None = None,
    network_bytes_per_s: float | None = None,
) -> Compared:
    """Answer for one accelerator with the best deployment that a search finds.

    Parameters
    ----------
    asked : Question
        With lengths; sizes that were given are kept.
    gpu : Gpu
        One of its accelerators.
    throughput : str
        ``auto``, ``measured`` or ``simulated``.
    slo : LatencySlo or None
        Limits that medians must keep.
    speculation : Speculation, optional
        Where drafts were asked for; none are tried otherwise.
    network_bytes_per_s : float, optional
        One-way line rate between nodes for each GPU [bytes/s].

    Returns
    -------
    Compared
        Where no load was stated and a measured run keeps the SLO, the best such run.
    """
    known = speculation or Speculation()
    open_load = asked.workload.concurrency is None and asked.workload.request_rate is None
    memory = judged(asked, gpu, asked.workload)[0].memory
    if open_load:
        best = Best(asked, gpu, throughput, known, network_bytes_per_s)
        if (run := best.measured(memory, asked.sizes.gpus, slo)) is not None:
            return run
    if open_load and throughput == MEASURED_RATE:
        why = f"nothing was measured of {asked.model.id} on {gpu.id} that keeps it"
        return Compared(memory, UNMEASURED, why, gpus=memory.deployment.gpus)
    space = SearchSpace(
        speculative_tokens=(asked.base.speculative_tokens,),
        disaggregated=False,
        # Without a number of GPUs or a load to carry, more copies yield no more for each GPU.
        copies=asked.sizes.gpus is not None or not open_load,
        draft=known.draft,
        tokens_per_step=known.tokens_per_step,
        network_bytes_per_s=network_bytes_per_s,
    )
    found = search_again(asked, gpu, space=space)
    point = found.best(slo)
    if point is None:
        return _none(found, Compared(memory, ANSWERED, gpus=memory.deployment.gpus), slo)
    return _at_point(asked, gpu, point, slo, throughput)


def _none(found: SearchResult, made: Compared, slo: LatencySlo | None) -> Compared:
    """Return why nothing answers: it does not fit, cannot carry the load, or misses the SLO."""
    if not found.candidates:
        limit = made.memory.binding_limit if not made.memory.fits else found.refused[0].example
        return replace(made, state=NO_FIT, reason=limit)
    closest = found.closest(slo) if slo is not None else None
    if closest is None:
        return replace(made, state=OVERLOADED, reason="no deployment that was tried carries this load")
    point, failed = closest
    return replace(
        made,
        state=MISSES,
        reason=f"closest is {_where(point)}: {failed_text(failed)}",
        memory=point.candidate.memory,
        gpus=point.candidate.gpus,
        copies=point.candidate.copies,
        label=point.candidate.label,
        concurrency=point.concurrency,
        simulated=_figures(point, int(found.osl)),
    )


def _where(point: Point) -> str:
    at = "1 request" if point.concurrency == 1 else f"{point.concurrency:,.0f} requests"
    return f"{point.candidate.gpus} GPUs ({point.candidate.label}) with {at} at once"


def failed_text(failed: Sequence[FailedLimit]) -> str:
    """Return the limits that a point does not keep, such as "TTFT 3.1 s, where 2 s is the limit"."""
    return "; ".join(
        f"{LIMITS[one.name]} {one.value_s:.3g} s, where {one.limit_s:.3g} s is the limit" for one in failed
    )


def _at_point(asked: Question, gpu: Gpu, point: Point, slo: LatencySlo | None, throughput: str) -> Compared:
    """Return a point of the search, with what was measured there where it keeps the SLO too."""
    candidate, workload = point.candidate, asked.workload
    simulated = _figures(point, workload.osl or 0)
    made = Compared(
        candidate.memory,
        ANSWERED,
        chosen="the highest output per GPU that a search found"
        + (" within the SLO" if slo is not None else ""),
        gpus=candidate.gpus,
        copies=candidate.copies,
        label=candidate.label,
        concurrency=point.concurrency,
        figures=simulated,
        simulated=simulated,
        engine=engine_of(candidate.memory, None),
        prefill_share=point.prefill_share,
    )
    measured = None
    if workload.concurrency is not None and throughput != SIMULATED_RATE:
        operating = Asked(
            model=asked.model.id,
            gpu=gpu.id,
            engine=asked.catalogue.resolve("stacks", engine_name(asked.base.engine)[0]),
            deployment=candidate.deployment,
            gpus=candidate.gpus,
            isl=float(workload.isl or 0),
            osl=float(workload.osl or 0),
            concurrency=point.concurrency,
            prefix_hit=workload.prefix_hit,
            layout_given=True,
        )
        measured = measured_at(operating, asked.catalogue)
    if measured is None:
        if throughput == MEASURED_RATE:
            return replace(made, state=UNMEASURED, reason="nothing was measured of it at this load")
        return made
    figures = chosen_figures(simulated, measured, throughput)
    if not keeps(slo, {**simulated, **figures}, asked):
        said = (
            "what was measured at this point misses the SLO that the model says it keeps; the model's figures"
        )
        return replace(made, notes=(f"{said} are shown",))
    return replace(made, figures=figures, measured=measured, engine=engine_of(candidate.memory, measured))


def _figures(point: Point, osl: int) -> dict[str, Estimate]:
    """Return the figures of a point; a single output token has no time to the next one."""
    return {name: getattr(point, name) for name in QUANTITIES if osl > 1 or name not in BETWEEN_TOKENS}
