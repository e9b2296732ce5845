"""From measured serving points to cases: each deployment is made ready once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from planner.architecture import Architecture
from planner.catalogue import Catalogue, Model
from planner.catalogue.stacks import parse_version
from planner.errors import PlannerError
from planner.measurement.cases import Case, CaseSet
from planner.measurement.run_dates import period_of_run
from planner.measurement.serving_flags import ServingFlag, mean_lengths
from planner.measurement.serving_layout import Copies
from planner.measurement.serving_points import ServingPoint
from planner.measurement.serving_setup import PointSetup, SetupResolver, missing_statement, weight_bits
from planner.measurement.serving_sources import source_families
from planner.measurement.setups import NotPredictable
from planner.measurement.static_runs import OWN_SOURCES
from planner.measurement.usual_layouts import Pools, pools_of
from planner.memory.built import SameModel, architecture_of
from planner.performance.deployed import Deployed, deploy
from planner.performance.levels import Circumstances
from planner.performance.parameters import Array
from planner.performance.profile import stack
from planner.performance.speculation import acceptance_of
from planner.performance.steady import DECODE, OFFLINE, SERVICE, STATIC, Points
from planner.scenario import Deployment, Workload, weight_scheme

STACKS = ("vllm", "sglang", "tensorrt-llm", "llama.cpp")
"""Engines with a memory rule of their own; others are taken to keep memory like vLLM."""
BEFORE_V1 = "2025-02"
"""Month before which vLLM without a version is V0, and engines count as old."""
USUAL_DRAFTS = 3
USUAL_HIT, MOST_HIT = 0.85, 0.99
MOST_DRAFTS = 16
USUAL_OUTPUT = 256.0
"""Output of points that only decode and do not say it [tokens]."""
LARGEST_RATIO = 64.0

_ACCEPTED = re.compile(r"accept (\d+(?:\.\d+)?)")
_NUMBER = re.compile(r"\d{1,9}")
_MIXED = "speculative decoding not recorded"
"""What notes of a source say whose rows mix plain and speculative runs under one label."""


class CaseBuilder:
    """Builds cases from points; each deployment is made ready once.

    Parameters
    ----------
    catalogue : Catalogue
        Models, GPUs and stacks.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._resolver = SetupResolver(catalogue)
        self._deployed: dict[tuple[object, ...], Deployed | NotPredictable] = {}
        self._weights: dict[tuple[str, str | None], float] = {}
        self._flags = {
            source: family.flags for family in source_families().values() for source in family.sources
        }

    def case(self, point: ServingPoint) -> Case:
        """Return a point as a question.

        Raises
        ------
        NotPredictable
            With the reason.
        """
        point = replace(point, flags=point.flags | self._flags.get(point.source or "", ServingFlag.NONE))
        setup = self._resolver.setup(point)
        lacking = missing_statement(point)
        if lacking and not (point.n_gpus is None and lacking.startswith("number of GPUs")):
            raise NotPredictable(lacking)
        if point.flags & ServingFlag.PREFILL_ONLY:
            raise NotPredictable("prefill alone")
        pools = pools_of(point, setup, self._weight_bytes(setup))
        deployed, key = self._deploy(point, setup, pools.decode)
        prefill_key = self._deploy(point, setup, pools.prefill)[1] if pools.prefill else key
        return _case(point, setup, pools, deployed, (key, prefill_key), self._catalogue)

    def gather(self, cases: Sequence[Case]) -> CaseSet:
        """Return cases with their deployments as arrays."""
        keys = list(dict.fromkeys(key for case in cases for key in (case.key, case.prefill_key)))
        rows = {key: row for row, key in enumerate(keys)}
        profiles = []
        for key in keys:
            deployed = self._deployed[key]
            assert isinstance(deployed, Deployed)
            profiles.append(deployed.profile)

        def column(values: Iterable[float]) -> Array:
            return np.array(list(values), dtype=float)

        points = Points(
            isl=column(case.isl for case in cases),
            osl=column(case.osl for case in cases),
            concurrency=column(
                case.concurrency if case.kind == OFFLINE or math.isfinite(case.concurrency) else 32.0
                for case in cases
            ),
            hit=column(case.hit for case in cases),
            copies=column(case.pools.decode.copies or 1 for case in cases),
            gpus=column(case.pools.gpus for case in cases),
            prefill_gpus=column(case.pools.prefill_gpus for case in cases),
            transfer_s=column(0.0 for _ in cases),
            drafted=column(case.drafted for case in cases),
            tokens_per_step=column(case.tokens_per_step for case in cases),
            kind=np.array([case.kind for case in cases]),
        )
        return CaseSet(
            list(cases),
            stack(profiles, [rows[case.key] for case in cases]),
            stack(profiles, [rows[case.prefill_key] for case in cases]),
            points,
            np.array([case.measured for case in cases]).reshape(-1, 3),
            np.array([case.teaches for case in cases]).reshape(-1, 3),
            np.array([case.about.mean for case in cases], dtype=bool),
        )

    def _weight_bytes(self, setup: PointSetup) -> float:
        key = (setup.model.id, setup.weight_dtype)
        if key not in self._weights:
            architecture = self._architecture(setup.model)
            try:
                scheme = weight_scheme(setup.model, architecture, setup.weight_dtype)
            except PlannerError:
                raise NotPredictable("weight dtype not known", str(setup.weight_dtype)) from None
            self._weights[key] = float(
                sum(
                    tensor.checkpoint_bytes(scheme.format_of(tensor)) * count
                    for tensor, count in architecture.counted_tensors()
                )
            )
        return self._weights[key]

    def _architecture(self, model: Model) -> Architecture:
        try:
            return architecture_of(SameModel(model))
        except PlannerError as error:
            raise NotPredictable("architecture not supported", str(error)) from None

    def _deploy(
        self, point: ServingPoint, setup: PointSetup, copy: Copies
    ) -> tuple[Deployed, tuple[object, ...]]:
        kv = _kv_dtype(setup)
        engine = _stack(point, setup)
        key = (
            setup.model.id,
            setup.gpu.id,
            setup.weight_dtype,
            kv,
            engine,
            copy.tp,
            copy.pp,
            copy.ep,
            copy.dp,
        )
        if key not in self._deployed:
            self._deployed[key] = self._make(setup, copy, kv, engine)
        found = self._deployed[key]
        if isinstance(found, NotPredictable):
            raise found
        return found, key

    def _make(self, setup: PointSetup, copy: Copies, kv: str, engine: str) -> Deployed | NotPredictable:
        try:
            return deploy(
                model=setup.model,
                gpu=setup.gpu,
                deployment=Deployment(
                    tp=copy.tp,
                    pp=copy.pp,
                    ep=copy.ep,
                    dp=copy.dp,
                    weight_dtype=setup.weight_dtype,
                    kv_dtype=kv,
                    engine=engine,
                ),
                workload=Workload(context=POOL_CONTEXT),
                catalogue=self._catalogue,
                measured=True,
            )
        except PlannerError as error:
            return NotPredictable("refused by planner", str(error))


POOL_CONTEXT = 4096
"""Length of request at which the pool of a measured deployment is counted [tokens]."""


def _kv_dtype(setup: PointSetup) -> str:
    """Return the dtype of the cache: usually FP8 where the weights have few bits, but not in llama.cpp."""
    stated = setup.kv_dtype
    if stated.startswith("fp8"):
        return "fp8"
    if stated in ("bf16", "fp16", "nvfp4", "int8"):
        return stated
    few = weight_bits(setup.weight_dtype, setup.model) < 16 and setup.engine != "llama.cpp"
    return "fp8" if few else "bf16"


def _stack(point: ServingPoint, setup: PointSetup) -> str:
    """Return the engine whose memory rule holds, with its version where that matters and is known."""
    engine = setup.engine if setup.engine in STACKS else "vllm"
    if engine != "vllm" or setup.engine != "vllm":
        return str(engine)
    version = parse_version(point.engine_version or "")
    if version is not None and version[0] == 0 and len(version) > 1 and 3 <= version[1] < 40:
        return f"vllm=={version[0]}.{version[1]}.0"
    old = bool(point.date) and str(point.date)[:7] < BEFORE_V1
    return "vllm==0.6.6" if old else "vllm"


def _case(
    point: ServingPoint,
    setup: PointSetup,
    pools: Pools,
    deployed: Deployed,
    keys: tuple[tuple[object, ...], tuple[object, ...]],
    catalogue: Catalogue,
) -> Case:
    flags = point.flags
    kind = SERVICE
    for flag, number in (
        (ServingFlag.STATIC_BATCH, STATIC),
        (ServingFlag.OFFLINE, OFFLINE),
        (ServingFlag.DECODE_ONLY, DECODE),
    ):
        if flags & flag:
            kind = number
            break
    isl, osl = mean_lengths(point)
    drafted, tokens = _speculation(point, deployed, catalogue)
    name = ("service", "static", "offline", "decode")[kind]
    if kind == SERVICE and flags & ServingFlag.CACHED_INPUT:
        name = "cached"
    mean = point.ttft_ms_median is None and point.ttft_ms_mean is not None
    rate = point.request_rate if point.request_rate and math.isfinite(point.request_rate) else math.nan
    about = Circumstances(
        model=setup.model.id,
        family=deployed.architecture.family,
        gpu=setup.gpu.id,
        architecture=setup.gpu.architecture,
        vendor=setup.gpu.vendor,
        engine=(setup.engine or "other") + _age(point),
        runtime=runtime_of(point.engine) + _age(point),
        quantisation=deployed.main_format,
        period=period_of_run(point, setup.gpu.vendor),
        kind=name,
        disaggregated=pools.prefill_gpus > 0,
        speculative=drafted > 0,
        expert_parallel=pools.decode.ep > 1,
        attention_copies=pools.decode.dp > 1,
        crosses_nodes=deployed.crosses_nodes,
        mean=mean,
        isl=float(point.isl or 0),
        osl=float(point.osl or USUAL_OUTPUT),
        concurrency=float(point.concurrency or 1024),
    )
    measured = _measured(point)
    return Case(
        point=point,
        key=keys[0],
        prefill_key=keys[1],
        pools=pools,
        about=about,
        isl=float(isl or 1.0),
        osl=float(osl or USUAL_OUTPUT),
        concurrency=float(point.concurrency) if point.concurrency else math.nan,
        hit=_hit(point),
        drafted=drafted,
        tokens_per_step=tokens,
        rate=rate,
        kind=kind,
        measured=measured,
        teaches=_teaches(point, kind, measured),
    )


def _age(point: ServingPoint) -> str:
    """Return what sets the engines of 2024 apart: schedulers and kernels were others then."""
    return " of 2024" if point.date and point.date[:7] < BEFORE_V1 else ""


def _hit(point: ServingPoint) -> float:
    """Return the share of the input that is cached; replays of agents hit most of theirs."""
    if point.prefix_hit is not None:
        return min(point.prefix_hit, MOST_HIT)
    return USUAL_HIT if point.flags & ServingFlag.CACHED_INPUT else 0.0


def runtime_of(engine: str | None) -> str:
    """Return what serves, as the calibration names it."""
    lowered = (engine or "unknown").lower()
    return {"trtllm": "tensorrt-llm", "nvidia tensorrt-llm": "tensorrt-llm", "vllm/rocm": "vllm"}.get(
        lowered, lowered
    )


def _speculation(point: ServingPoint, deployed: Deployed, catalogue: Catalogue) -> tuple[float, float]:
    """Return drafted tokens and the tokens of a step."""
    if not point.flags & ServingFlag.SPECULATIVE:
        return 0.0, 1.0
    text = (point.spec_decode or "").lower()
    number = _NUMBER.search(text.replace("eagle3", "eagle"))
    drafted = int(number[0]) if number else USUAL_DRAFTS
    drafted = drafted if 0 < drafted < MOST_DRAFTS else USUAL_DRAFTS
    accepted = _ACCEPTED.search(text)
    found = acceptance_of(
        catalogue=catalogue,
        model=deployed.model.id,
        architecture=deployed.architecture,
        drafted=drafted,
        draft="mtp" if text.startswith("mtp") else None,
        stated=float(accepted[1]) if accepted else None,
    )
    return float(drafted), found.tokens


def _measured(point: ServingPoint) -> tuple[float, float, float]:
    tpot = point.tpot_ms_median or point.tpot_ms_mean
    ttft = point.ttft_ms_median or point.ttft_ms_mean
    output = point.output_tps_per_gpu
    if output is None and point.output_tps_total and point.n_gpus:
        output = point.output_tps_total / point.n_gpus
    values = (output, tpot and tpot / 1e3, ttft and ttft / 1e3)
    logs = tuple(math.log(value) if value else math.nan for value in values)
    return logs[0], logs[1], logs[2]


def _teaches(point: ServingPoint, kind: int, measured: tuple[float, float, float]) -> tuple[bool, bool, bool]:
    """Return which figures say what they seem to say."""
    flags, notes = point.flags, (point.notes or "").lower()
    paced = bool(point.concurrency) or kind == OFFLINE
    known = [
        math.isfinite(value) and paced and not flags & ServingFlag.FASTER_THAN_LIGHT for value in measured
    ]
    odd = flags & (ServingFlag.ODD_CONCURRENCY | ServingFlag.ITL_AS_TPOT)
    mixed = _MIXED in notes and "auto-gap" not in notes
    plain = kind == SERVICE and not flags & ServingFlag.CACHED_INPUT
    tpot = known[1] and kind != STATIC and not mixed and (plain or not odd)
    guessed = kind == SERVICE and point.prefix_hit is None and bool(flags & ServingFlag.CACHED_INPUT)
    # The latency of most static batches is that of the whole batch; own runs timed the prefill by itself.
    own = point.source in OWN_SOURCES
    tpot = known[1] if own else tpot
    ttft = known[2] and (own or kind not in (STATIC, DECODE)) and not guessed
    return known[0] and not guessed, tpot, ttft
