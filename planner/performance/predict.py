"""What a deployment yields under a load: rates, TTFT and TPOT with intervals, and the working behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import DoesNotFit, InvalidInput
from planner.performance.breakdown import (
    Bounds,
    KernelAssumed,
    StepRow,
    bound_by,
    bounds_of,
    kernels_of,
    step_rows,
)
from planner.performance.deployed import Deployed, deploy
from planner.performance.intervals import Estimate, estimate
from planner.performance.levels import Calibration, calibration_of
from planner.performance.offload import slower_host
from planner.performance.parameters import Array
from planner.performance.service import Service, with_transfer
from planner.performance.speculation import acceptance_of, check_draft
from planner.performance.steady import Steady
from planner.scenario import Deployment, Workload


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a deployment yields under a load.

    Parameters
    ----------
    model, gpu, engine : str
        Ids.
    gpus : int
        GPUs of all copies and pools.
    isl, osl, concurrency : float
        The load; the concurrency is found where a rate was given.
    request_rate_per_s : float
        Requests that are served [1/s].
    output_tps_total, output_tps_per_gpu, total_tps_per_gpu : Estimate
        Generated tokens of all GPUs and of each, and input and output together of each [tok/s].
    tps_per_user : Estimate
        1 / TPOT [tok/s].
    ttft_ms, tpot_ms : Estimate
        Median time to the first token, and between tokens of a request [ms].
    ttft_mean_ms : float
        Mean time to the first token [ms].
    batch : float
        Requests that decode at once in one copy.
    most_requests : float
        Requests that the KV pool of one copy holds.
    bound_by : str
        What most of the time goes to.
    step_breakdown : tuple of StepRow
        The parts of a decode step, the largest first, and the prefill of one request.
    kernels : tuple of KernelAssumed
        Kernels that were assumed, where a rule speaks of them.
    bounds : Bounds
        TPOT if everything overlapped at nameplate speed, and if nothing overlapped.
    tokens_per_step : float
        Tokens that a step yields for each request: 1 without drafts.
    warnings : tuple of str
        What the user should know.
    provenance : str
        Where the parameters come from.
    """

    model: str
    gpu: str
    engine: str
    gpus: int
    isl: float
    osl: float
    concurrency: float
    request_rate_per_s: float
    output_tps_total: Estimate
    output_tps_per_gpu: Estimate
    total_tps_per_gpu: Estimate
    tps_per_user: Estimate
    ttft_ms: Estimate
    tpot_ms: Estimate
    ttft_mean_ms: float
    batch: float
    most_requests: float
    bound_by: str
    step_breakdown: tuple[StepRow, ...]
    kernels: tuple[KernelAssumed, ...]
    bounds: Bounds
    tokens_per_step: float
    warnings: tuple[str, ...]
    provenance: str


def predict_deployment(
    *,
    model: Model,
    gpu: Gpu,
    deployment: Deployment,
    workload: Workload,
    catalogue: Catalogue,
    copies: int = 1,
    prefill_deployment: Deployment | None = None,
    prefill_copies: int = 1,
    network_bytes_per_s: float | None = None,
    static: bool = False,
    draft: str | None = None,
    tokens_per_step: float | None = None,
    calibration: Calibration | None = None,
) -> Prediction:
    """Predict throughput and latencies of a deployment under a load.

    Parameters
    ----------
    model : Model
        The model.
    gpu : Gpu
        The accelerator.
    deployment : Deployment
        How one copy runs; of the decoding pool where prefill has its own.
    workload : Workload
        Lengths, and a concurrency or a request rate; the load of all copies together.
    catalogue : Catalogue
        With stacks, links, kernel rules and the calibration.
    copies : int
        Copies of the deployment.
    prefill_deployment : Deployment, optional
        How one copy of a pool runs that only prefills.
    prefill_copies : int
        Copies of it.
    network_bytes_per_s : float, optional
        One-way line rate between nodes for each GPU [bytes/s], instead of the catalogue's.
    static : bool
        Whether the batch starts and ends together.
    draft : str, optional
        Kind of draft (``mtp``, ``eagle3``, ``dspark``) where `deployment.speculative_tokens` is above 0.
    tokens_per_step : float, optional
        Tokens that a step of speculation yields, where the user knows it.
    calibration : Calibration, optional
        Parameters instead of the catalogue's.

    Returns
    -------
    Prediction

    Raises
    ------
    DoesNotFit
        When the weights or one request do not fit.
    Overload
        When the request rate is above what the deployment carries.
    PlannerError
        For what the model, GPU or engine cannot run, and for loads that cannot be.
    """
    service = make_service(
        model=model,
        gpu=gpu,
        deployment=deployment,
        workload=workload,
        catalogue=catalogue,
        copies=copies,
        prefill_deployment=prefill_deployment,
        prefill_copies=prefill_copies,
        network_bytes_per_s=network_bytes_per_s,
        static=static,
        draft=draft,
        tokens_per_step=tokens_per_step,
        calibration=calibration,
    )
    isl, osl, hit = float(workload.isl or 0), float(workload.osl or 0), workload.prefix_hit
    rate = workload.request_rate
    load = service.concurrency_at(rate, isl, osl, hit) if rate else float(workload.concurrency or 1)
    return _prediction(service, isl, osl, load, hit)


def make_service(
    *,
    model: Model,
    gpu: Gpu,
    deployment: Deployment,
    workload: Workload,
    catalogue: Catalogue,
    copies: int = 1,
    prefill_deployment: Deployment | None = None,
    prefill_copies: int = 1,
    network_bytes_per_s: float | None = None,
    static: bool = False,
    draft: str | None = None,
    tokens_per_step: float | None = None,
    calibration: Calibration | None = None,
) -> Service:
    """Return the service that `predict_deployment` asks, for many questions about one deployment.

    Parameters
    ----------
    model, gpu, deployment, workload, catalogue, copies, prefill_deployment, prefill_copies
        As for `predict_deployment`.
    network_bytes_per_s, static, draft, tokens_per_step, calibration
        As for `predict_deployment`.

    Returns
    -------
    Service

    Raises
    ------
    PlannerError
        As for `predict_deployment`.
    """
    if not workload.isl or not workload.osl:
        raise InvalidInput(
            "isl and osl are needed: input and output tokens of a request, such as 1024 and 400"
        )
    if workload.request_rate is not None and workload.concurrency is not None:
        raise InvalidInput("give a concurrency or a request rate, not both")
    # The pool is asked for one request: how many more fit is part of the answer.
    one = Workload(context=workload.context, isl=workload.isl, osl=workload.osl)

    def made(how: Deployment) -> Deployed:
        found = deploy(
            model=model,
            gpu=gpu,
            deployment=how,
            workload=one,
            catalogue=catalogue,
            network_bytes_per_s=network_bytes_per_s,
        )
        _refuse_what_does_not_fit(found)
        return found

    decode = made(deployment)
    drafted = deployment.speculative_tokens
    accepted = None
    if drafted:
        if draft is not None:
            check_draft(catalogue, draft)
        accepted = acceptance_of(
            catalogue=catalogue,
            model=model.id,
            architecture=decode.architecture,
            drafted=drafted,
            draft=draft,
            stated=tokens_per_step,
        )
    service = Service(
        decode=decode,
        copies=copies,
        prefill=made(prefill_deployment) if prefill_deployment else None,
        prefill_copies=prefill_copies if prefill_deployment else 0,
        transfer_s=0.0,
        drafted=drafted,
        acceptance=accepted,
        static=static,
        calibration=calibration or calibration_of(catalogue),
    )
    return with_transfer(service, catalogue, float(workload.isl))


def _refuse_what_does_not_fit(found: Deployed) -> None:
    memory = found.memory
    if memory is None or memory.pool.max_concurrency >= 1:
        return
    remedy = f"; {memory.remedies[0]}" if memory.remedies else ""
    raise DoesNotFit(
        f"{found.model.id} on {found.deployment.gpus} x {found.gpu.id}: {memory.binding_limit}{remedy}"
    )


def _prediction(service: Service, isl: float, osl: float, load: float, hit: float) -> Prediction:
    found = service.at(isl, osl, load, hit)
    case = service.case(isl, osl, load)
    calibration, decode = service.calibration, service.decode
    total = estimate(calibration, "output", case, float(found.output_tps[0]))
    tpot = estimate(calibration, "tpot", case, 1e3 * float(found.tpot_s[0]))
    ttft = estimate(calibration, "ttft", case, 1e3 * float(found.ttft_s[0]))
    if decode.offload is not None:
        total, tpot, ttft = _by_host_range(service, (isl, osl, load, hit), total, tpot, ttft)
    parameters = service.parameters(*(np.array([value]) for value in (isl, osl, load)))
    rows = step_rows(service, parameters, found, isl, osl)
    return Prediction(
        model=decode.model.id,
        gpu=decode.gpu.id,
        engine=decode.engine,
        gpus=service.gpus,
        isl=isl,
        osl=osl,
        concurrency=load,
        request_rate_per_s=total.value / osl,
        output_tps_total=total,
        output_tps_per_gpu=total.scaled(1 / service.gpus),
        total_tps_per_gpu=total.scaled((isl + osl) / osl / service.gpus),
        tps_per_user=tpot.inverse().scaled(1e3),
        ttft_ms=ttft,
        tpot_ms=tpot,
        ttft_mean_ms=1e3 * float(found.ttft_mean_s[0]),
        batch=float(found.batch[0]),
        most_requests=float(found.most[0]),
        bound_by=bound_by(service, found, rows, osl),
        step_breakdown=rows,
        kernels=kernels_of(service),
        bounds=bounds_of(service, found, isl, osl),
        tokens_per_step=float(found.tokens_per_step[0]),
        warnings=_warnings(service, found, load),
        provenance=calibration.source,
    )


def _by_host_range(
    service: Service,
    point: tuple[float, float, float, float],
    total: Estimate,
    tpot: Estimate,
    ttft: Estimate,
) -> tuple[Estimate, Estimate, Estimate]:
    """Return estimates whose intervals also span what the host's memory or link may reach."""
    offload = service.decode.offload
    assert offload is not None

    def at(times: float) -> Steady:
        slower = replace(service.decode, profile=slower_host(service.decode.profile, times))
        return replace(service, decode=slower).at(*point)

    fast, slow, mid = at(offload.low), at(offload.high), at(1.0)
    share = (float(slow.tpot_s[0] / mid.tpot_s[0]) - 1) / (offload.high - 1)

    def widened(one: Estimate, down: Array, up: Array, middle: Array) -> Estimate:
        """Add the host's deviation to that of the GPU, which has but its share of the time."""
        low, high = (float(end[0] / middle[0]) - 1 for end in (down, up))
        least = math.hypot((1 - one.low / one.value) * (1 - share), low)
        most = math.hypot((one.high / one.value - 1) * (1 - share), high)
        return replace(one, low=one.value * (1 - min(least, 0.95)), high=one.value * (1 + most))

    return (
        widened(total, slow.output_tps, fast.output_tps, mid.output_tps),
        widened(tpot, fast.tpot_s, slow.tpot_s, mid.tpot_s),
        widened(ttft, fast.ttft_s, slow.ttft_s, mid.ttft_s),
    )


def _warnings(service: Service, found: Steady, load: float) -> tuple[str, ...]:
    decode = service.decode
    most = float(found.most[0]) * service.copies
    said = list(decode.warnings)
    if decode.memory is not None:
        said += decode.memory.warnings
    if decode.deployment.max_num_batched_tokens is not None:
        said.append(
            "max_num_batched_tokens counts for memory alone here: prefill comes in usual chunks; "
            "`planner simulate` schedules by it"
        )
    seen = service.calibration.seen
    if seen and decode.gpu.id not in seen.get("gpus", ()):
        said.append(
            f"no point of {decode.gpu.id} was measured: it is taken as others of its architecture and vendor"
        )
    if load > most:
        said.append(f"{load:g} requests at once, of which the KV pool holds {most:.0f}: the others queue")
    for kernel in kernels_of(service):
        if kernel.slowdown > 1:
            said.append(f"{kernel.operator}: {kernel.note}" + (f"; {kernel.remedy}" if kernel.remedy else ""))
    return tuple(dict.fromkeys(said))
