"""The rows of a part of a sweep: a deployment is made once, and all its loads are solved together."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planner.catalogue import Catalogue, Gpu
from planner.economics.per_token import token_costs
from planner.errors import DoesNotFit, InvalidInput, PlannerError
from planner.memory import MemoryFit
from planner.performance.intervals import QUANTITIES, width
from planner.performance.levels import Circumstances
from planner.performance.predict import make_service
from planner.performance.service import Service, overload_text
from planner.performance.steady import Steady
from planner.performance.sweep import SweepTable, Swept
from planner.planning.load import check_drafts, deployment_of, judged
from planner.planning.question import question
from planner.planning.sweeping import SIZES, Group, Piece, PriceTerm, SweepQuestion, Task
from planner.scenario import Workload

ANSWERED, DOES_NOT_FIT, REFUSED, OVERLOAD = "answered", "does not fit", "refused", "overload"

INTERPOLATED_FROM = 20_000
"""Loads of a group from which on the steady state is read between the nodes of a grid."""
EXACT, INTERPOLATED = "exact", "interpolated"
"""How a row was found: solved by itself, or read between nodes, which is within about 1 % of that."""

ENDS = ("low", "high")

COLUMNS: dict[str, type] = {
    "row": int,
    "model": str,
    "gpu": str,
    "engine": str,
    "weight_dtype": str,
    "kv_dtype": str,
    **dict.fromkeys(SIZES, int),
    "nodes": int,
    "kv_tokens": int,
    "prefix_hit": float,
    "isl_tokens": int,
    "osl_tokens": int,
    "concurrency": float,
    "request_rate_per_s": float,
    "state": str,
    "reason": str,
    "method": str,
    "output_tps_total": float,
    "output_tps_per_gpu": float,
    "total_tps_per_gpu": float,
    "tps_per_user": float,
    "ttft_ms": float,
    "tpot_ms": float,
    **{f"{quantity}_{end}_ratio": float for quantity in QUANTITIES for end in ENDS},
    "usd_per_gpu_hour": float,
    "price_kind": str,
    "served_share": float,
    "usd_per_million_output_tokens": float,
    "usd_per_million_tokens": float,
    "tokens_per_dollar": float,
}
"""Of a row, in order, with the kind of value; any of them but `row`, `model`, `gpu`, `state` may be empty.

The ratios are the ends of the 80 % interval over the expected value: of output rates, TTFT and TPOT."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one group in a range.

    Parameters
    ----------
    count : int
        How many.
    fixed : dict
        Values that all of them share, by column; what stands neither here nor in `varying` is empty.
    varying : dict of str to array
        The others; NaN is an empty value.
    """

    count: int
    fixed: dict[str, Any]
    varying: dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What does not depend on the load: the deployment, or why there is none."""

    fixed: dict[str, Any]
    service: Service | None = None
    table: SweepTable | None = None


class Sweeper:
    """Answers the tasks of one sweep in one process.

    Parameters
    ----------
    asked : SweepQuestion
        The sweep.
    catalogue : Catalogue, optional
        The open catalogue; it is opened where it was otherwise.
    """

    KEPT = 4
    """Deployments that are kept for the next task."""

    def __init__(self, asked: SweepQuestion, catalogue: Catalogue | None = None) -> None:
        self.asked = asked
        self.catalogue = catalogue or Catalogue(Path(asked.directory), [Path(file) for file in asked.own])
        if self.catalogue.digest != asked.catalogue_digest:
            raise InvalidInput("catalogue: its files changed, or are others where a part of the sweep runs")
        self._answers: OrderedDict[int, _Answer] = OrderedDict()

    def rows_of(self, task: Task) -> Iterator[Rows]:
        """Yield the rows of each piece of a task, in order."""
        for piece in task.pieces:
            yield self._piece(piece)

    def _piece(self, piece: Piece) -> Rows:
        group = self.asked.group(piece.group)
        answer = self._answer(group)
        terms = self.asked.prices[group.gpu]
        inputs, outputs, last = self._loads(piece)
        rows = (piece.stop - piece.start) * len(terms)
        first = group.first_row + piece.start * len(terms)
        found: dict[str, np.ndarray] = {"isl_tokens": inputs, "osl_tokens": outputs}
        found["request_rate_per_s" if self.asked.by_rate else "concurrency"] = last
        fixed = dict(answer.fixed)
        if answer.service is not None:
            hit = float(group.settings["prefix_hit"])
            if self.asked.by_rate:
                found |= _at_rates(answer.service, hit, inputs, outputs, last)
            else:
                found |= _figures(answer, hit, inputs, outputs, last)
        varying = {"row": np.arange(first, first + rows)}
        varying |= {name: np.repeat(values, len(terms)) for name, values in found.items()}
        _price(fixed, varying, terms, self.asked)
        return Rows(rows, fixed, varying)

    def _loads(self, piece: Piece) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return input, output, and requests at once or rates of a range of loads."""
        axes = [np.array(values) for values in self.asked.loads.values()]
        places = np.unravel_index(np.arange(piece.start, piece.stop), [len(axis) for axis in axes])
        inputs, outputs, last = (axis[place] for axis, place in zip(axes, places, strict=True))
        return inputs, outputs, last

    def _answer(self, group: Group) -> _Answer:
        """Return the deployment of a group, from those kept or made anew."""
        answer = self._answers.get(group.number)
        if answer is None:
            answer = self._answers[group.number] = _answered(self.asked, group, self.catalogue)
            if len(self._answers) > self.KEPT:
                self._answers.popitem(last=False)
        return answer


def _figures(
    answer: _Answer, hit: float, inputs: np.ndarray, outputs: np.ndarray, at_once: np.ndarray
) -> dict[str, np.ndarray]:
    """Return what loads yield on a deployment."""
    service = answer.service
    assert service is not None
    if answer.table is not None:
        return _columns(service, inputs, outputs, answer.table.at(at_once, inputs, outputs))
    return _columns(service, inputs, outputs, service.at(inputs, outputs, at_once, hit))


def _at_rates(
    service: Service, hit: float, inputs: np.ndarray, outputs: np.ndarray, rates: np.ndarray
) -> dict[str, np.ndarray]:
    """Return what requests that arrive at rates find; a rate above what is served has a reason instead."""
    at_once, capacity = service.concurrencies_at(rates, inputs.astype(float), outputs.astype(float), hit)
    served = np.isfinite(at_once)
    some = _columns(
        service,
        inputs[served],
        outputs[served],
        service.at(inputs[served], outputs[served], at_once[served], hit),
    )
    figures = {name: np.full(rates.size, np.nan) for name in some}
    for name, values in some.items():
        figures[name][served] = values
    figures["concurrency"], figures["request_rate_per_s"] = at_once, rates
    if not served.all():
        figures["state"] = np.where(served, ANSWERED, OVERLOAD).astype(object)
        figures["reason"] = np.full(rates.size, None, dtype=object)
        for place in np.flatnonzero(~served):
            figures["reason"][place] = overload_text(float(rates[place]), float(capacity[place]))
    return figures


def _columns(
    service: Service, inputs: np.ndarray, outputs: np.ndarray, found: Swept | Steady
) -> dict[str, np.ndarray]:
    # A single output token has no time to the next one.
    tpot_ms = np.where(outputs > 1, 1e3 * found.tpot_s, np.nan)
    per_gpu = found.output_tps / service.gpus
    return {
        "request_rate_per_s": found.output_tps / outputs,
        "output_tps_total": found.output_tps,
        "ttft_ms": 1e3 * found.ttft_s,
        "tpot_ms": tpot_ms,
        "output_tps_per_gpu": per_gpu,
        "total_tps_per_gpu": per_gpu * (inputs + outputs) / outputs,
        "tps_per_user": 1e3 / tpot_ms,
    }


def _answered(asked: SweepQuestion, group: Group, catalogue: Catalogue) -> _Answer:
    """Return the deployment that a group is about; what cannot be deployed says why."""
    settings = group.settings
    gpu = catalogue.gpu(group.gpu)
    fixed: dict[str, Any] = {
        "model": group.model if isinstance(group.model, str) else group.model.id,
        "gpu": group.gpu,
        **{name: value for name, value in settings.items() if value is not None},
    }
    try:
        return _deployed(asked, group, gpu, fixed, catalogue)
    except PlannerError as error:
        state = DOES_NOT_FIT if isinstance(error, DoesNotFit) else REFUSED
        return _Answer({**fixed, "state": state, "reason": str(error)})


def _deployed(
    asked: SweepQuestion, group: Group, gpu: Gpu, fixed: dict[str, Any], catalogue: Catalogue
) -> _Answer:
    loads, settings = asked.loads, dict(group.settings)
    hit = float(settings.pop("prefix_hit"))
    workload = Workload(isl=max(loads["isl"]), osl=max(loads["osl"]), prefix_hit=hit)
    one = question(
        model=group.model,
        gpu=gpu,
        load={"isl": workload.isl, "osl": workload.osl, "prefix_hit": hit},
        options={**asked.options, **settings},
        catalogue=catalogue,
    )
    fixed["model"] = one.model.id
    check_drafts(one.base.speculative_tokens, asked.draft, asked.tokens_per_step)
    memory = judged(one, gpu, workload)[0].memory
    fixed |= _sizes(memory, gpu)
    if not memory.fits:
        return _Answer({**fixed, "state": DOES_NOT_FIT, "reason": memory.binding_limit})
    service = make_service(
        model=one.model,
        gpu=gpu,
        deployment=deployment_of(one.base, memory),
        workload=workload,
        catalogue=catalogue,
        network_bytes_per_s=asked.network_bytes_per_s,
        draft=asked.draft,
        tokens_per_step=asked.tokens_per_step,
    )
    many = asked.loads_of_a_group >= INTERPOLATED_FROM and not asked.by_rate
    fixed |= {"state": ANSWERED, "method": INTERPOLATED if many else EXACT}
    # The grid spans the whole sweep, so that a row is the same in whatever piece it is computed.
    ends = [(float(min(values)), float(max(values))) for values in loads.values()]
    table = SweepTable(service, ends[2], ends[0], ends[1], hit) if many else None
    case = service.case(ends[0][1], ends[1][1], 1.0 if asked.by_rate else ends[2][1])
    for quantity in QUANTITIES:
        for end, ratio in zip(ENDS, _ratios(service, quantity, case), strict=True):
            fixed[f"{quantity}_{end}_ratio"] = round(ratio, 6)
    return _Answer(fixed, service, table)


def _sizes(memory: MemoryFit, gpu: Gpu) -> dict[str, Any]:
    deployment = memory.deployment
    return {
        **{name: getattr(deployment, name) for name in SIZES},
        "nodes": math.ceil(deployment.gpus / gpu.node_gpus),
        "kv_tokens": memory.kv_tokens if memory.per_rank.available_bytes > 0 else None,
        "weight_dtype": deployment.weight_dtype,
        "kv_dtype": deployment.kv_dtype,
        "engine": deployment.engine,
    }


def _ratios(service: Service, quantity: str, case: Circumstances) -> tuple[float, float]:
    """Return what an expected value is multiplied by for both ends of its interval, as `estimate` has it."""
    low, high = width(service.calibration, quantity, case)
    return math.exp(min(low, 0.0)), math.exp(max(high, 0.0))


def _price(
    fixed: dict[str, Any],
    varying: dict[str, np.ndarray],
    terms: tuple[PriceTerm, ...],
    asked: SweepQuestion,
) -> None:
    """Add prices and what tokens cost; the price runs fastest among the rows."""
    count = len(varying["row"])
    usd = np.array([np.nan if term.usd_per_gpu_hour is None else term.usd_per_gpu_hour for term in terms])
    usd = np.tile(usd, count // len(terms))
    if len(terms) == 1:
        fixed["usd_per_gpu_hour"] = terms[0].usd_per_gpu_hour
    else:
        varying["usd_per_gpu_hour"] = usd
    if len({term.kind for term in terms}) == 1:
        fixed["price_kind"] = terms[0].kind
    else:
        kinds = np.array([term.kind for term in terms], dtype=object)
        varying["price_kind"] = np.tile(kinds, count // len(terms))
    missing = np.array([term.reason or None for term in terms], dtype=object)
    if any(missing) and "reason" not in fixed:
        said = np.tile(missing, count // len(terms))
        held = varying.get("reason", said)
        varying["reason"] = np.where(held.astype(bool), held, said)
    rate = varying.get("output_tps_total")
    if rate is None:
        return
    priced = np.isfinite(usd) & np.isfinite(rate)
    if not priced.any():
        return
    fixed["served_share"] = asked.use.served
    costs = token_costs(
        output_tps_total=rate[priced],
        isl=varying["isl_tokens"][priced],
        osl=varying["osl_tokens"][priced],
        gpus=float(fixed["gpus"]),
        usd_per_gpu_hour=usd[priced],
        use=asked.use,
    )
    for name, found in (
        ("usd_per_million_output_tokens", costs.usd_per_million_output_all),
        ("usd_per_million_tokens", costs.usd_per_million_total),
        ("tokens_per_dollar", costs.tokens_per_usd),
    ):
        varying[name] = np.full(count, np.nan)
        varying[name][priced] = found
