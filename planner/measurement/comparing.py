"""Find what an accelerator of a comparison yields: at a load, or at its best where none is stated."""

from __future__ import annotations

from dataclasses import replace

from planner.catalogue import Gpu
from planner.measurement.best_load import best_concurrency, best_measured
from planner.measurement.compared import ANSWERED, NO_FIT, OVERLOADED, UNMEASURED, Compared
from planner.measurement.operating_point import (
    MEASURED_RATE,
    QUANTITIES,
    SIMULATED_RATE,
    MeasuredPoint,
)
from planner.measurement.predicted import BETWEEN_TOKENS, Predicted, Speculation, predicted
from planner.memory import MemoryFit
from planner.performance.intervals import Estimate
from planner.performance.predict import Prediction, make_service, predict_deployment
from planner.performance.service import Service
from planner.planning.load import check_drafts, deployment_of, judged
from planner.planning.question import Question
from planner.scenario import Deployment, Workload
from planner.scenario.slo import LatencySlo


def compared(
    asked: Question,
    gpu: Gpu,
    *,
    throughput: str,
    speculation: Speculation | None = None,
    network_bytes_per_s: float | None = None,
) -> Compared:
    """Answer for one accelerator with the deployment that was given, or the smallest that fits.

    Parameters
    ----------
    asked : Question
        With lengths. With a concurrency or a rate it is that load; otherwise the best of this accelerator:
        of all that was measured with these lengths, or else of the loads that the model tries.
    gpu : Gpu
        One of its accelerators.
    throughput : str
        ``auto``, ``measured`` or ``simulated``.
    speculation : Speculation, optional
        Where `speculative_tokens` of the deployment is above 0.
    network_bytes_per_s : float, optional
        One-way line rate between nodes for each GPU [bytes/s].

    Returns
    -------
    Compared
    """
    if asked.workload.concurrency is None and asked.workload.request_rate is None:
        return Best(asked, gpu, throughput, speculation or Speculation(), network_bytes_per_s).found()
    found = predicted(
        asked, gpu, throughput=throughput, speculation=speculation, network_bytes_per_s=network_bytes_per_s
    )
    return at_load(asked, gpu, found, network_bytes_per_s)


def at_load(
    asked: Question, gpu: Gpu, found: Predicted, network_bytes_per_s: float | None = None
) -> Compared:
    """Return the answer of `planner.measurement.predicted.predicted` as one of a comparison.

    Parameters
    ----------
    asked : Question
        What was asked.
    gpu : Gpu
        The accelerator.
    found : Predicted
        The answer.
    network_bytes_per_s : float, optional
        As for `compared`.

    Returns
    -------
    Compared
    """
    memory, prediction = found.memory, found.prediction
    how = "sizes as given" if asked.sizes.given else "the smallest that fits"
    made = Compared(memory, ANSWERED, chosen=how, gpus=memory.deployment.gpus, notes=found.notes)
    if not memory.fits:
        return replace(made, state=NO_FIT, reason=memory.binding_limit)
    if prediction is None:
        return replace(made, state=OVERLOADED, reason=found.overload)
    service = make_service(
        model=asked.model,
        gpu=gpu,
        deployment=deployment_of(asked.base, memory),
        workload=asked.workload,
        catalogue=asked.catalogue,
        network_bytes_per_s=network_bytes_per_s,
        tokens_per_step=prediction.tokens_per_step if asked.base.speculative_tokens else None,
    )
    made = replace(
        made,
        gpus=prediction.gpus,
        concurrency=prediction.concurrency,
        simulated=simulated_figures(prediction),
        prefill_share=prefill_share(service, prediction, asked.workload.prefix_hit),
        notes=(*found.notes, *prediction.warnings),
    )
    if found.unmeasured:
        return replace(made, state=UNMEASURED, reason=found.unmeasured)
    made = replace(made, figures=found.figures, measured=found.measured)
    return replace(made, engine=engine_of(memory, found.measured if made.source == MEASURED_RATE else None))


def simulated_figures(prediction: Prediction) -> dict[str, Estimate]:
    """Return the figures of the model; a single output token has no time to the next one."""
    return {
        name: getattr(prediction, name)
        for name in QUANTITIES
        if prediction.osl > 1 or name not in BETWEEN_TOKENS
    }


def prefill_share(service: Service, prediction: Prediction, hit: float) -> float:
    """Return the share of GPU time that goes to prefill: prefills a second times what one takes of a copy."""
    found = service.at(prediction.isl, prediction.osl, prediction.concurrency, hit)
    busy = float(found.output_tps[0] / prediction.osl / service.copies * found.prefill_s[0])
    return min(1.0, busy)


def engine_of(memory: MemoryFit, measured: MeasuredPoint | None) -> str:
    """Return the engine of the figures with its version, as far as it is stated."""
    if measured is None:
        return memory.deployment.engine
    run = measured.points[0]
    return " ".join(part for part in (run.engine, run.engine_version) if part) or "not stated"


class Best:
    """The best of one accelerator where no load was stated."""

    def __init__(
        self,
        asked: Question,
        gpu: Gpu,
        throughput: str,
        speculation: Speculation,
        network_bytes_per_s: float | None,
    ) -> None:
        check_drafts(asked.base.speculative_tokens, speculation.draft, speculation.tokens_per_step)
        self.asked, self.gpu, self.throughput = asked, gpu, throughput
        self.speculation, self.network = speculation, network_bytes_per_s

    def found(self) -> Compared:
        """Return the best run that was measured where one may answer, or the best load of the model."""
        judgement, _ = judged(self.asked, self.gpu, self.asked.workload)
        memory = judgement.memory
        given = memory.deployment.gpus if self.asked.sizes.given else None
        if (found := self.measured(memory, given)) is not None:
            return found
        how = "sizes as given" if given else "the smallest that fits"
        made = Compared(memory, ANSWERED, chosen=how, gpus=memory.deployment.gpus)
        if not memory.fits:
            return replace(made, state=NO_FIT, reason=memory.binding_limit)
        made, prediction = self._simulated(made)
        if self.throughput == MEASURED_RATE:
            why = f"nothing was measured of {self.asked.model.id} on {self.gpu.id} with these lengths"
            return replace(made, state=UNMEASURED, reason=why)
        return replace(
            made,
            chosen=f"{how}; the best of the loads that the model tries",
            figures=made.simulated,
            concurrency=prediction.concurrency,
            engine=engine_of(memory, None),
        )

    def measured(self, memory: MemoryFit, gpus: int | None, slo: LatencySlo | None = None) -> Compared | None:
        """Return the best run that keeps an SLO, where runs may answer and one does."""
        if self.throughput == SIMULATED_RATE:
            return None
        run = best_measured(self.asked, self.gpu, gpus, slo)
        return None if run is None else self._as_measured(memory, run)

    def _as_measured(self, memory: MemoryFit, measured: MeasuredPoint) -> Compared:
        """Return the best run, with what the model says of as many GPUs at its own best load."""
        run = measured.points[0]
        gpus = run.n_gpus or memory.deployment.gpus
        if memory.deployment.gpus != gpus:
            sizes = self.asked.sizes.model_copy(update={"gpus": gpus})
            memory = judged(replace(self.asked, sizes=sizes), self.gpu, self.asked.workload)[0].memory
        made = Compared(
            memory,
            ANSWERED,
            chosen=f"as measured: {measured.match} at these lengths",
            gpus=gpus,
            concurrency=run.concurrency,
            figures=measured.figures,
            measured=measured,
            engine=engine_of(memory, measured),
        )
        if not memory.fits:
            said = f"it was measured on {gpus} GPUs, of which memory says: {memory.binding_limit}"
            return replace(made, notes=(said,))
        return self._simulated(made)[0]

    def _simulated(self, made: Compared) -> tuple[Compared, Prediction]:
        """Add what the model says: at the load of the run where it states one, or else at the best load."""
        asked, workload = self.asked, self.asked.workload
        deployment = deployment_of(asked.base, made.memory)
        service = self._service(deployment)
        isl, osl, hit = float(workload.isl or 0), float(workload.osl or 0), workload.prefix_hit
        load = made.concurrency or best_concurrency(service, made.memory.deployment, isl, osl, hit)
        prediction = predict_deployment(
            model=asked.model,
            gpu=self.gpu,
            deployment=deployment,
            workload=workload.model_copy(update={"concurrency": int(load)}),
            catalogue=asked.catalogue,
            network_bytes_per_s=self.network,
            draft=self.speculation.draft,
            tokens_per_step=self.speculation.tokens_per_step,
        )
        figures = simulated_figures(prediction)
        made = replace(
            made,
            simulated=figures,
            prefill_share=prefill_share(service, prediction, hit),
            notes=(*made.notes, *prediction.warnings),
        )
        if made.measured is not None and made.concurrency is not None and self.throughput != MEASURED_RATE:
            made = replace(made, figures={**figures, **made.measured.figures})
        return made, prediction

    def _service(self, deployment: Deployment) -> Service:
        workload = self.asked.workload
        return make_service(
            model=self.asked.model,
            gpu=self.gpu,
            deployment=deployment,
            workload=Workload(context=workload.context, isl=workload.isl, osl=workload.osl),
            catalogue=self.asked.catalogue,
            network_bytes_per_s=self.network,
            draft=self.speculation.draft,
            tokens_per_step=self.speculation.tokens_per_step,
        )
