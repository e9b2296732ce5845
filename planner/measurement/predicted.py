"""A question about throughput, answered for one accelerator: memory, what was measured, and the model."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalogue import Gpu
from planner.errors import InvalidInput, Overload
from planner.measurement.operating_point import (
    AUTO_RATE,
    MEASURED_RATE,
    QUANTITIES,
    SIMULATED_RATE,
    Asked,
    MeasuredPoint,
    chosen_figures,
    measured_at,
    nothing_measured,
)
from planner.memory import MemoryFit
from planner.memory.setup import engine_name
from planner.performance.intervals import Estimate
from planner.performance.predict import Prediction, predict_deployment
from planner.performance.providers import Provided, Provider, ProviderPoint
from planner.planning.load import check_drafts, deployment_of, full_load, judged
from planner.planning.question import Question
from planner.planning.sizing import Judgement
from planner.scenario import Deployment, Workload

BETWEEN_TOKENS = ("tps_per_user", "tpot_ms")
BY_RATE = "measured runs are looked up by the requests at once, not by their rate; state a concurrency"


@dataclass(frozen=True, slots=True)
class Pools:
    """GPUs that only prefill, and GPUs that decode."""

    prefill_gpus: int
    decode_gpus: int


@dataclass(frozen=True, slots=True)
class Speculation:
    """What is known of drafts beside how many tokens are drafted.

    Parameters
    ----------
    draft : str or None
        Kind of draft (``mtp``, ``eagle3``, ``dspark``).
    tokens_per_step : float or None
        Tokens that a step yields, where the user knows it.
    """

    draft: str | None = None
    tokens_per_step: float | None = None


@dataclass(frozen=True, slots=True)
class Predicted:
    """The answer for one accelerator.

    Parameters
    ----------
    judgement : Judgement
        The memory of the deployment that the answer is about.
    prediction : Prediction or None
        What the time model says; None where it does not fit, or cannot carry the load.
    measured : MeasuredPoint or None
        What was measured at the operating point.
    figures : dict of str to Estimate
        The figures to answer with; of each the provenance says where it comes from.
    throughput : str
        What the user wants them from.
    overload : str
        Why the load cannot be carried; empty where it can.
    unmeasured : str
        That nothing was measured, where only that may answer.
    pools : Pools or None
        Where prefill has GPUs of its own.
    notes : tuple of str
        What was chosen that nobody gave.
    provided : Provided or None
        What another predictor says, where one was asked.
    """

    judgement: Judgement
    prediction: Prediction | None
    measured: MeasuredPoint | None
    figures: dict[str, Estimate]
    throughput: str = AUTO_RATE
    overload: str = ""
    unmeasured: str = ""
    pools: Pools | None = None
    notes: tuple[str, ...] = ()
    provided: Provided | None = None

    def source_of(self, name: str) -> str:
        """Return whether a figure was measured or simulated, or the name of the provider that it is of."""
        if self.provided is not None and name in self.provided.figures:
            return self.provided.name
        found = self.measured.figures.get(name) if self.measured else None
        return MEASURED_RATE if found is not None and self.figures.get(name) is found else SIMULATED_RATE

    @property
    def memory(self) -> MemoryFit:
        """Return the memory of one copy."""
        return self.judgement.memory


def predicted(
    asked: Question,
    gpu: Gpu,
    *,
    throughput: str = AUTO_RATE,
    speculation: Speculation | None = None,
    pools: Pools | None = None,
    network_bytes_per_s: float | None = None,
    provider: Provider | None = None,
) -> Predicted:
    """Answer a question about throughput for one accelerator.

    Parameters
    ----------
    asked : Question
        With input and output tokens, and a concurrency or a request rate.
    gpu : Gpu
        One of its accelerators.
    throughput : str
        ``measured``, ``simulated`` or ``auto``, which prefers what was measured.
    speculation : Speculation, optional
        Where `speculative_tokens` of the deployment is above 0.
    pools : Pools, optional
        Prefill and decode on GPUs of their own; each copy has the same layout.
    network_bytes_per_s : float, optional
        One-way line rate between nodes for each GPU [bytes/s].
    provider : Provider, optional
        Another predictor, whose figures then stand before those of the model.

    Returns
    -------
    Predicted

    Raises
    ------
    PlannerError
        For what cannot run, and for lengths that are missing or contradict one another.
    """
    known = speculation or Speculation()
    check_drafts(asked.base.speculative_tokens, known.draft, known.tokens_per_step)
    load, notes = full_load(asked.workload)
    judgement, more = judged(asked, gpu, load, sized_for_load=pools is None)
    notes += more
    memory = judgement.memory
    if not memory.fits:
        return Predicted(judgement, None, None, {}, throughput, pools=pools, notes=notes)
    deployment = deployment_of(asked.base, memory)
    copies, prefill_copies = _copies(deployment, pools)
    notes += _most_at_once(asked, memory, load, copies)
    try:
        prediction = predict_deployment(
            model=asked.model,
            gpu=gpu,
            deployment=deployment,
            workload=load,
            catalogue=asked.catalogue,
            copies=copies,
            prefill_deployment=deployment if pools else None,
            prefill_copies=prefill_copies,
            network_bytes_per_s=network_bytes_per_s,
            draft=known.draft,
            tokens_per_step=known.tokens_per_step,
        )
    except Overload as error:
        return Predicted(judgement, None, None, {}, throughput, overload=str(error), pools=pools, notes=notes)
    point = Asked(
        model=asked.model.id,
        gpu=gpu.id,
        engine=prediction.engine,
        deployment=deployment,
        gpus=prediction.gpus,
        isl=prediction.isl,
        osl=prediction.osl,
        concurrency=prediction.concurrency,
        prefix_hit=load.prefix_hit,
        disaggregated=pools is not None,
        layout_given=asked.sizes.model_copy(update={"gpus": None}).given,
    )
    # An open loop is another load than a closed one with as many requests on average.
    measured = measured_at(point, asked.catalogue) if load.concurrency else None
    unmeasured = ""
    if throughput == MEASURED_RATE and measured is None:
        unmeasured = BY_RATE if load.request_rate else nothing_measured(point, asked.catalogue)
    # A single output token has no time to the next one.
    stated = [name for name in QUANTITIES if prediction.osl > 1 or name not in BETWEEN_TOKENS]
    simulated = {name: getattr(prediction, name) for name in stated}
    provided = None if provider is None else _provided(provider, asked, gpu, memory, load, pools)
    if provided is not None:
        figures = {**simulated, **provided.figures}
    else:
        figures = {} if unmeasured else chosen_figures(simulated, measured, throughput)
    return Predicted(
        judgement,
        prediction,
        measured,
        figures,
        throughput,
        unmeasured=unmeasured,
        pools=pools,
        notes=(*notes, *(provided.notes if provided else ())),
        provided=provided,
    )


def _provided(
    provider: Provider, asked: Question, gpu: Gpu, memory: MemoryFit, load: Workload, pools: Pools | None
) -> Provided:
    """Return what another predictor says of the deployment, under a closed load of one copy."""
    if pools is not None or load.concurrency is None:
        what = "prefill and decode on GPUs of their own" if pools else "a rate of requests"
        raise InvalidInput(f"throughput {provider.name} is not asked about {what}; state --concurrency")
    deployment = deployment_of(asked.base, memory).model_copy(update={"kv_dtype": memory.deployment.kv_dtype})
    point = ProviderPoint(
        model=asked.model,
        gpu=gpu,
        deployment=deployment,
        engine=engine_name(deployment.engine)[0],
        node_gpus=gpu.node_gpus,
        isl=int(load.isl or 0),
        osl=int(load.osl or 0),
        concurrency=load.concurrency,
        prefix_hit=load.prefix_hit,
    )
    return provider.figures(point)


def _copies(deployment: Deployment, pools: Pools | None) -> tuple[int, int]:
    """Return how many copies decode and how many only prefill."""
    if pools is None:
        return 1, 1
    each = deployment.gpus
    for name, gpus in (("prefill", pools.prefill_gpus), ("decode", pools.decode_gpus)):
        if gpus % each:
            nearest = max(each, round(gpus / each) * each)
            raise InvalidInput(
                f"disaggregated: {gpus} GPUs for {name} are no whole copies of {each} GPUs "
                f"(tp x pp x dp); the nearest is {nearest}"
            )
    return pools.decode_gpus // each, pools.prefill_gpus // each


def _most_at_once(asked: Question, memory: MemoryFit, load: Workload, copies: int) -> tuple[str, ...]:
    """Return that the engine runs fewer at once than are asked for, where it does by default."""
    each, wanted = memory.deployment.max_num_seqs, load.concurrency
    if each is None or wanted is None or wanted <= each * memory.deployment.dp * copies:
        return ()
    by = "as set up" if asked.base.max_num_seqs else "by default"
    return (
        f"the engine runs {each * memory.deployment.dp * copies:,} requests at once {by}; "
        f"the {wanted:,} asked for need --max-num-seqs",
    )
