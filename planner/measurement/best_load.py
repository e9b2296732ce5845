"""Where no load is stated: the best run that was measured, or the best load that the model finds."""

from __future__ import annotations

from collections.abc import Mapping

from planner.catalogue import Gpu
from planner.measurement.operating_point import Asked, MeasuredPoint, figures_of
from planner.measurement.serving import measured_rates
from planner.measurement.serving_lookup import measured_points
from planner.measurement.serving_points import ServingPoint
from planner.performance.intervals import Estimate
from planner.performance.service import Service
from planner.planning.question import Question
from planner.scenario import Deployment
from planner.scenario.slo import LatencySlo

PEAK = "the best of all loads measured"
"""How a run answers where no load is stated."""

PER_DOUBLING = 2
"""Loads of the ladder to a doubling."""


def best_measured(
    asked: Question, gpu: Gpu, gpus: int | None, slo: LatencySlo | None = None
) -> MeasuredPoint | None:
    """Return the run with the highest output rate per GPU at the lengths asked for.

    Parameters
    ----------
    asked : Question
        With lengths; without a load.
    gpu : Gpu
        The accelerator.
    gpus : int or None
        GPUs that were given; any number otherwise.
    slo : LatencySlo, optional
        Limits that the latencies must keep; a run that does not state one of them is passed over.

    Returns
    -------
    MeasuredPoint or None
        Of runs with the engine asked for, or else of those that do not name one; prompts are fresh.
    """
    workload = asked.workload
    if workload.prefix_hit or asked.model.id not in asked.catalogue.model_ids():
        return None
    runs = _runs(asked, gpu, gpus)
    if slo is not None:
        late = [_latencies(figures_of(run, _asked(asked, gpu, run)), asked) for run in runs]
        stated = [all(known[name] is not None for name in slo.limits) for known in late]
        kept = [run for run, known in zip(runs, late, strict=True) if _within(slo, known)]
        runs = kept if len(kept) < sum(stated) else []
    best = measured_rates(runs).peak
    if best is None:
        return None
    return MeasuredPoint(PEAK, (best,), len(runs), figures_of(best, _asked(asked, gpu, best)))


def keeps(slo: LatencySlo | None, figures: Mapping[str, Estimate], asked: Question) -> bool:
    """Return whether the latencies among some figures keep every limit of an SLO; an absent one does not."""
    return slo is None or _within(slo, _latencies(figures, asked))


def _latencies(figures: Mapping[str, Estimate], asked: Question) -> dict[str, float | None]:
    """Return what an SLO may limit, where it is known [s]; a single output token has no time to the next."""
    steps = max(0, (asked.workload.osl or 1) - 1)
    first, between = (
        figures[name].value / 1e3 if name in figures else None for name in ("ttft_ms", "tpot_ms")
    )
    between = between if steps else 0.0
    whole = None if first is None or between is None else first + steps * between
    return {"ttft_s": first, "tpot_s": between, "e2e_s": whole}


def _within(slo: LatencySlo, known: Mapping[str, float | None]) -> bool:
    return all((value := known[name]) is not None and value <= limit for name, limit in slo.limits.items())


def _runs(asked: Question, gpu: Gpu, gpus: int | None) -> list[ServingPoint]:
    engine = asked.base.engine.partition("==")[0].strip()

    def found(engine: str | None) -> list[ServingPoint]:
        match = measured_points(
            model=asked.model.id,
            gpu=gpu.id,
            catalogue=asked.catalogue,
            gpus=gpus,
            weight_dtype=asked.base.weight_dtype or "native",
            isl=asked.workload.isl,
            osl=asked.workload.osl,
            engine=engine,
            speculative=asked.base.speculative_tokens > 0,
            disaggregated=False,
        )
        return [point for point in match.at if point.output_tps_total and point.n_gpus]

    return found(engine) or [point for point in found(None) if point.engine is None]


def _asked(asked: Question, gpu: Gpu, run: ServingPoint) -> Asked:
    return Asked(
        model=asked.model.id,
        gpu=gpu.id,
        engine=run.engine or "",
        deployment=asked.base,
        gpus=run.n_gpus or 1,
        isl=float(asked.workload.isl or 0),
        osl=float(asked.workload.osl or 0),
        concurrency=run.concurrency or 1.0,
    )


def best_concurrency(service: Service, deployment: Deployment, isl: float, osl: float, hit: float) -> int:
    """Return the requests at once at which the model has the highest output rate.

    Parameters
    ----------
    service : Service
        The deployment.
    deployment : Deployment
        One copy of it, for the requests that its engine runs at once.
    isl, osl : float
        Lengths [tokens].
    hit : float
        Share of the input that is cached.

    Returns
    -------
    int
        Of loads up to what the KV pool holds and the engine runs at once, two to a doubling.
    """
    import numpy as np

    held = float(service.at(isl, osl, 1.0, hit).most[0]) * service.copies
    if deployment.max_num_seqs is not None:
        held = min(held, float(deployment.max_num_seqs * deployment.dp * service.copies))
    most = max(1.0, held)
    steps = int(np.log2(most) * PER_DOUBLING)
    ladder = np.unique(np.floor(np.append(2.0 ** (np.arange(steps + 1) / PER_DOUBLING), most)))
    return int(ladder[int(np.argmax(service.at(isl, osl, ladder, hit).output_tps))])
