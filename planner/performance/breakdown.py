"""The working behind a prediction: parts of a step, kernels that were assumed, and what physics allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.performance.collectives import lower_bound_s
from planner.performance.costs import peak_of, width_of
from planner.performance.parameters import Array, factor
from planner.performance.pipeline import decode_parts
from planner.performance.service import Service
from planner.performance.steady import Steady
from planner.performance.table import Step
from planner.performance.times import decode_step, host_step_s


@dataclass(frozen=True, slots=True)
class StepRow:
    """One part of a decode step, or of what stretches it.

    Parameters
    ----------
    operator : str
        The part.
    time_s : float
        Its time in one step [s].
    share : float
        Of the time between tokens.
    bound : str
        What limits it.
    """

    operator: str
    time_s: float
    share: float
    bound: str


@dataclass(frozen=True, slots=True)
class KernelAssumed:
    """A kernel that was assumed, and what it costs.

    Parameters
    ----------
    operator, phase, kernel, compute_dtype : str
        What it serves, when, its name and its arithmetic.
    slowdown, padding : float
        Times longer than the fast kernel, and heads worked on for each head there is.
    note : str
        Why this kernel.
    remedy : str or None
        What avoids it.
    source : str
        Confidence, source and date.
    """

    operator: str
    phase: str
    kernel: str
    compute_dtype: str
    slowdown: float
    padding: float
    note: str
    remedy: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between what physics allows and no overlap at all.

    Parameters
    ----------
    fastest_step_s : float
        Everything overlaps at nameplate bandwidth, dense peak and wire rate [s].
    serial_step_s : float
        Nothing overlaps, at calibrated efficiencies [s].
    most_output_tps : float
        Output rate of all copies at the fastest step [tok/s].
    """

    fastest_step_s: float
    serial_step_s: float
    most_output_tps: float


def step_rows(
    service: Service, parameters: Array, found: Steady, isl: float, osl: float
) -> tuple[StepRow, ...]:
    """Return the parts of a decode step, the largest first.

    Parameters
    ----------
    service : Service
        The deployment.
    parameters : array, shape (1, parameters)
        Logarithms of factors.
    found : Steady
        One operating point.
    isl, osl : float
        Its lengths [tokens].

    Returns
    -------
    tuple of StepRow
    """
    profile = service.decode.profile
    context = np.array([isl + osl / 2])
    parts = decode_step(profile, parameters, found.batch, context, float(service.drafted), found.parts)
    tokens = max(float(found.batch[0] / profile.dp[0] / found.parts[0]), 1.0) * (1 + service.drafted)
    reading = float((profile.dense_read_s * factor(parameters, "dense_read"))[0])
    multiplying = float((profile.dense_token_s * factor(parameters, "dense_compute"))[0]) * tokens
    group = tokens * float(profile.dp[0])
    hit = 1 - (1 - float(profile.choice[0])) ** group
    expert_read = float((profile.expert_read_s * factor(parameters, "expert_read"))[0]) * hit
    expert_work = float((profile.expert_token_s * factor(parameters, "expert_compute"))[0]) * group
    memory, compute = "memory bandwidth", "matrix units"
    step = float(parts.total[0])
    stretched = float(found.tpot_s[0]) * float(found.tokens_per_step[0])
    named = [
        ("dense matrices", parts.dense, memory if reading > multiplying else compute),
        ("routed experts", parts.experts, memory if expert_read > expert_work else compute),
        ("attention", parts.attention, memory),
        ("kernel floors", parts.launch, "latency of kernels"),
        ("collectives", parts.collectives, "links"),
        ("host", parts.host, "host"),
        ("sampling", parts.sampling, "host and memory bandwidth"),
        ("drafting", parts.drafting, memory),
    ]
    offload = service.decode.offload
    if offload is not None:
        named.append(("weights off the GPU", parts.offload, offload.bound))
    rows = [(name, float(np.ravel(time)[0]), bound) for name, time, bound in named]
    rows.append(("prefill of others", max(stretched - step, 0.0), "prefill"))
    whole = max(stretched, step)
    return tuple(
        StepRow(name, time, time / whole, bound)
        for name, time, bound in sorted(rows, key=lambda row: -row[1])
        if time > 0
    )


def bound_by(service: Service, found: Steady, rows: tuple[StepRow, ...], osl: float) -> str:
    """Return what most of the time goes to, or the limit that keeps requests waiting."""
    rate = float(found.output_tps[0]) / osl / service.copies
    if rate * float(found.prefill_s[0]) > 0.9:
        return "prefill"
    if float(found.batch[0]) > 0.97 * float(found.most[0]):
        return "KV pool"
    totals: dict[str, float] = {}
    for row in rows:
        totals[row.bound] = totals.get(row.bound, 0.0) + row.time_s
    return max(totals, key=lambda name: totals[name])


def kernels_of(service: Service) -> tuple[KernelAssumed, ...]:
    """Return the kernels that a rule of the catalogue speaks of, each once."""
    found: dict[tuple[str, str, str], KernelAssumed] = {}
    for deployed in (service.decode, *([service.prefill] if service.prefill else [])):
        for i, cost in deployed.costs.items():
            choice, row = cost.choice, deployed.table.rows[i]
            if choice is None or choice.rule is None:
                continue
            name = row.mixing.kind if row.mixing is not None else row.kind
            found.setdefault(
                (name, row.phase, choice.name),
                KernelAssumed(
                    operator=name,
                    phase=row.phase,
                    kernel=choice.name,
                    compute_dtype=choice.compute_dtype,
                    slowdown=choice.slowdown[1],
                    padding=choice.padding,
                    note=choice.note,
                    remedy=choice.remedy,
                    source=choice.source,
                ),
            )
    return tuple(found.values())


def fastest_step_s(service: Service, batch: float, context: float) -> float:
    """Return the time of a decode step that no machine of these figures beats.

    Parameters
    ----------
    service : Service
        The deployment.
    batch : float
        Requests that decode in one copy.
    context : float
        Their mean context [tokens].

    Returns
    -------
    float
        The longest of: all bytes at nameplate bandwidth, all FLOPs at dense peak, all messages at wire rate;
        each rank has its part of a request where there are fewer requests than ranks [s].
    """
    decode = service.decode
    table, gpu = decode.table, decode.gpu
    each = max(batch / decode.deployment.dp / _parts(service, batch), 1.0)
    step = Step(sequences=each, context=context, queries=1.0 + service.drafted)
    reading = float(table.bytes(step).sum()) / gpu.bandwidth_bytes_per_s
    flops = table.flops(step)[:, 0]
    peaks = [
        peak_of(gpu, _width(decode.costs[i].choice) if i in decode.costs else "bf16")
        for i in range(len(flops))
    ]
    working = float((flops / np.array(peaks)).sum())
    sizes = table.message_bytes(step)[:, 0]
    wires = 0.0
    for sent, size, count in zip(table.messages, sizes, table.message_count, strict=True):
        message = sent.message
        stride = decode.deployment.tp * decode.deployment.dp if message.group == "pp" else 1
        wires += float(count * lower_bound_s(message.kind, size, message.size, decode.fabric, stride=stride))
    return max(reading, working, wires)


def _parts(service: Service, batch: float) -> float:
    """Return the most parts that a batch decodes in."""
    return float(decode_parts(service.decode.profile, np.array([batch]))[0])


def _host_at_peak_s(service: Service, batch: float, context: float) -> float:
    """Return what the host's part of a decode step takes at the peak of its memory or link [s]."""
    decode = service.decode
    if decode.offload is None:
        return 0.0
    each = max(batch / decode.deployment.dp / _parts(service, batch), 1.0)
    one = np.array([each])
    host = host_step_s(decode.profile, one, one, one * decode.deployment.dp, np.array([context]))
    return float(host[0]) * decode.offload.peak


def _width(choice: object) -> str:
    dtype = getattr(choice, "compute_dtype", "bf16")
    return width_of(str(dtype))


def bounds_of(service: Service, found: Steady, isl: float, osl: float) -> Bounds:
    """Return the bounds of a step, and what output rate the fastest one allows.

    Parameters
    ----------
    service : Service
        The deployment.
    found : Steady
        One operating point.
    isl, osl : float
        Its lengths [tokens].

    Returns
    -------
    Bounds
    """
    batch = float(found.batch[0])
    profile = service.decode.profile
    fastest = fastest_step_s(service, batch, isl + osl / 2) + _host_at_peak_s(service, batch, isl + osl / 2)
    tokens = max(batch / float(profile.dp[0] * found.parts[0]), 1.0) * (1 + service.drafted)
    group = tokens * float(profile.dp[0])
    overlapped = float(profile.dense_token_s[0] * tokens + profile.expert_token_s[0] * group)
    serial = float(found.step_s[0]) + overlapped
    return Bounds(fastest, serial, batch * float(found.tokens_per_step[0]) / fastest * service.copies)
