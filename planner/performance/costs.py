"""What the operators and messages of a deployment cost on its GPUs, gathered into a profile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.architecture.messages import ACTIVATION_BYTES
from planner.architecture.mixing import Mixing
from planner.catalogue import Catalogue, Gpu
from planner.performance.collectives import collective_s
from planner.performance.coverage import KernelChoice, kernel_of
from planner.performance.fabric import Fabric
from planner.performance.operators import MATRICES, Operator
from planner.performance.parameters import (
    ATTENTION_DECODE_SHARE,
    ATTENTION_PREFILL_SHARE,
    EXPERT_SHARE,
    LAUNCH_S,
    MATRIX_SHARE,
    READ_CACHE,
    READ_DENSE,
    READ_EXPERTS,
    RECURRENCE_SHARE,
    Array,
)
from planner.performance.profile import ENDLESS, GRID, MIXINGS, Profile
from planner.performance.table import OperatorTable


@dataclass(frozen=True, slots=True)
class RowCost:
    """What one row of the operator table costs on its GPU, before calibration.

    Parameters
    ----------
    read_s : float
        Reading its weights once in a pass.
    token_s : float
        Multiplying one token (of experts: one token of the whole group).
    light_s : float
        The same at dense peak.
    choice : KernelChoice or None
        The kernel that was assumed.
    """

    read_s: float
    token_s: float
    light_s: float
    choice: KernelChoice | None


KnownKernels = dict[tuple[object, ...], KernelChoice]
"""Kernels of one model, accelerator and engine, by what `kernel_of` tells apart of an operator."""


def build_profile(
    table: OperatorTable,
    *,
    gpu: Gpu,
    fabric: Fabric,
    catalogue: Catalogue,
    engine: str,
    version: str | None,
    model: str,
    host_s: float,
    pool_bytes: float,
    layers: int,
    kernels: KnownKernels | None = None,
) -> tuple[Profile, dict[int, RowCost]]:
    """Return the numbers of a deployment.

    Parameters
    ----------
    table : OperatorTable
        Its operators.
    gpu : Gpu
        The accelerator.
    fabric : Fabric
        What joins the ranks.
    catalogue : Catalogue
        With the rules of kernel coverage.
    engine : str
        Id of the engine.
    version : str or None
        Its version; None is the newest.
    model : str
        Id of the model.
    host_s : float
        Host time of a decode step [s].
    pool_bytes : float
        KV pool of one rank [bytes].
    layers : int
        Layers of the model.
    kernels : dict, optional
        Kernels of the same model, accelerator and engine that are known; what is missing is added.

    Returns
    -------
    tuple of Profile and dict
        The profile, and the cost of each row of the table.
    """
    costs = _Costs(table, gpu, catalogue, engine, version, model, {} if kernels is None else kernels)
    rows = {i: costs.row(i) for i in range(len(table.rows)) if not table.draft[i]}
    dense = [i for i in rows if table.rows[i].kind in ("gemm", "vector", "norm")]
    head = [i for i in rows if table.rows[i].kind == "lm_head"]
    experts = [i for i in rows if table.rows[i].experts]
    first = table.rows[experts[0]] if experts else None
    mixings = costs.mixings()
    bandwidth = gpu.bandwidth_bytes_per_s
    sharding = table.sharding
    profile = Profile(
        **{
            name: np.atleast_1d(np.asarray(value, dtype=float))
            for name, value in {
                "tp": sharding.tp,
                "dp": sharding.dp,
                "ep": sharding.ep,
                "pp": sharding.pp,
                "layers": layers,
                "dense_read_s": sum(rows[i].read_s for i in dense),
                "dense_token_s": sum(rows[i].token_s for i in dense),
                "head_read_s": sum(rows[i].read_s for i in head),
                "head_token_s": sum(rows[i].token_s for i in head),
                "expert_read_s": sum(rows[i].read_s for i in experts),
                "expert_token_s": sum(rows[i].token_s for i in experts),
                "dense_light_s": sum(rows[i].light_s for i in dense),
                "expert_light_s": sum(rows[i].light_s for i in experts),
                "choice": min(first.top_k / first.experts, 0.999999) if first else 0.0,
                "chosen": first.top_k if first else 0,
                "activation_token_s": costs.activation_bytes() / bandwidth,
                "launch_s": costs.launch_s(),
                "logit_token_s": sum(table.n[i] for i in head) * 16 / bandwidth,
                "decode_slow": costs.step_slowdown("decode"),
                "prefill_slow": costs.step_slowdown("prefill"),
                "host_s": host_s,
                "state_s": 2 * costs.state_bytes() / (bandwidth * READ_CACHE),
                "state_bytes": costs.state_bytes(),
                "recurrence_token_s": costs.recurrence_s(),
                "expand_token_s": costs.expand_s(),
                "pool_bytes": pool_bytes,
                "weight_bytes": costs.weight_bytes(),
            }.items()
        },
        collective_s=_collectives(table, fabric, ("all", "decode", "sampled"))[None, :],
        prefill_collective_s=_collectives(table, fabric, ("all",))[None, :],
        **{name: column[None, :] for name, column in mixings.items()},
    )
    return profile, rows


class _Costs:
    """Costs of the rows of one table on one GPU."""

    def __init__(
        self,
        table: OperatorTable,
        gpu: Gpu,
        catalogue: Catalogue,
        engine: str,
        version: str | None,
        model: str,
        kernels: KnownKernels,
    ) -> None:
        self.table, self.gpu, self.model, self.kernels = table, gpu, model, kernels
        self.catalogue, self.engine, self.version = catalogue, engine, version
        self.bandwidth = gpu.bandwidth_bytes_per_s
        self._known: dict[tuple[object, ...], KernelChoice] = {}

    def choice(self, row: Operator, phase: str) -> KernelChoice:
        key = (row.kind, row.label, row.format, row.n, row.k, phase)
        if key not in self._known:
            self._known[key] = self._kernel(row, phase)
        return self._known[key]

    def _kernel(self, row: Operator, phase: str) -> KernelChoice:
        """Return the kernel of a row, looked up once for all tables that share what is known."""
        mixing = row.mixing
        shape = (mixing.kind, mixing.top_k is None, row.n, row.k, self.table.kv_dtype) if mixing else ()
        key = (row.kind, row.format, phase, *shape)
        if key not in self.kernels:
            self.kernels[key] = kernel_of(
                catalogue=self.catalogue,
                engine=self.engine,
                gpu=self.gpu,
                operator=row,
                phase=phase,
                kv_dtype=self.table.kv_dtype,
                version=self.version,
                model=self.model,
            )
        return self.kernels[key]

    def step_slowdown(self, phase: str) -> float:
        """Return how many times longer whole steps of a phase take, by the worst kernel that was assumed."""
        found = [choice for (*_, served), choice in self._known.items() if served in ("both", phase)]
        return max((one.slowdown[1] for one in found if one.slowdown_of == "step"), default=1.0)

    def row(self, i: int) -> RowCost:
        row, table = self.table.rows[i], self.table
        count = table.count[i]
        if row.mixing is not None:
            return RowCost(0.0, 0.0, 0.0, self.choice(row, row.phase))
        if row.kind not in (*MATRICES, "lm_head"):
            read = 0.0 if row.kind == "embedding" else count * row.weight_bytes / self.bandwidth
            return RowCost(read / READ_DENSE, 0.0, 0.0, None)
        choice = self.choice(row, "both")
        slow = choice.slowdown[1] if choice.slowdown_of == "operator" else 1.0
        shares = EXPERT_SHARE if row.experts else MATRIX_SHARE
        width = width_of(choice.compute_dtype)
        peak = peak_of(self.gpu, width)
        copies = row.rank_experts if row.experts else 1
        read = count * row.weight_bytes * copies / self.bandwidth
        share = row.top_k / table.sharding.ep if row.experts else 1.0
        return RowCost(
            slow * read / (READ_EXPERTS if row.experts else READ_DENSE),
            slow * count * row.flops * share / (peak * shares[width]),
            count * row.flops * share / peak,
            choice,
        )

    def launch_s(self) -> float:
        """Return the floors of all kernels of a decode step."""
        total = 0.0
        for row, count in zip(self.table.rows, self.table.count, strict=True):
            if row.draft or row.phase == "prefill":
                continue
            kind = "latent" if row.mixing is not None and row.mixing.kind == "mla" else row.kind
            total += count * LAUNCH_S.get("gemm" if kind == "lm_head" else kind, 0.0)
        return total

    def activation_bytes(self) -> float:
        """Return what one token makes kernels read and write beside weights and caches."""
        return float(
            sum(
                count
                * (4 if row.kind == "norm" else 1)
                * ACTIVATION_BYTES
                * (row.n + row.k * (row.kind != "norm"))
                for row, count in zip(self.table.rows, self.table.count, strict=True)
                if row.kind in ("gemm", "norm") and not row.draft
            )
        )

    def weight_bytes(self) -> float:
        """Return the weights of a rank, over all stages."""
        return float(
            sum(
                count * row.weight_bytes * (row.rank_experts if row.experts else 1)
                for row, count in zip(self.table.rows, self.table.count, strict=True)
                if not row.draft
            )
        )

    def _mixed(self, phase: str) -> list[tuple[Operator, Mixing, float]]:
        return [
            (row, row.mixing, float(count))
            for row, count in zip(self.table.rows, self.table.count, strict=True)
            if row.mixing is not None and row.phase == phase and not row.draft
        ]

    def state_bytes(self) -> float:
        """Return the recurrent states of one request on a rank."""
        tp, dtypes = self.table.sharding.tp, self.table.state_dtypes
        return sum(count * mixing.state_bytes(tp, dtypes) for _, mixing, count in self._mixed("decode"))

    def recurrence_s(self) -> float:
        """Return the time of one token in linear attention."""
        rate = peak_of(self.gpu, "bf16") * RECURRENCE_SHARE
        total = 0.0
        for row, mixing, count in self._mixed("prefill"):
            if mixing.state is not None:
                moved = 2 * ACTIVATION_BYTES * row.n * (mixing.key_dim + mixing.value_dim)
                total += count * (row.n * mixing.token_flops / rate + moved / self.bandwidth)
        return total

    def expand_s(self) -> float:
        """Return the time to bring one cached token back into keys and values."""
        rate = peak_of(self.gpu, "bf16") * MATRIX_SHARE["bf16"]
        return sum(
            count * row.n * mixing.expand_flops / rate for row, mixing, count in self._mixed("prefill")
        )

    def mixings(self) -> dict[str, Array]:
        """Return the columns of the mixings with entries."""
        sharding, kv = self.table.sharding, self.table.kv_dtype
        peak = peak_of(self.gpu, "bf16")
        prefill = {(row.label, mixing): row for row, mixing, _ in self._mixed("prefill")}
        found: list[tuple[float, ...]] = []
        for row, mixing, count in self._mixed("decode"):
            if mixing.entries is None:
                continue
            entry = mixing.entry_bytes(kv, sharding.tp, sharding.dcp) * count
            decode = self.choice(row, "decode")
            other = prefill.get((row.label, mixing))
            first = self.choice(other, "prefill") if other is not None else decode
            shared = sharding.dcp if mixing.replicated and mixing.entries.grows else 1
            work = mixing.decode_pair_flops * row.n * count / shared
            stride, most = mixing.entries.stride, mixing.most
            limit = most * stride if most is not None else ENDLESS
            if mixing.chunk is not None:
                limit = mixing.chunk / 2
            found.append(
                (
                    slowdown(decode) * entry / (self.bandwidth * READ_CACHE),
                    0.0 if mixing.shared else entry,
                    slowdown(decode) * decode.padding * work / (peak * ATTENTION_DECODE_SHARE),
                    slowdown(first)
                    * first.padding
                    * mixing.prefill_pair_flops
                    * row.n
                    * count
                    / (peak * ATTENTION_PREFILL_SHARE),
                    limit,
                    stride,
                    mixing.entries.window or ENDLESS,
                )
            )
        found.sort(key=lambda one: -one[0])
        found = (found + [(0.0, 0.0, 0.0, 0.0, ENDLESS, 1.0, ENDLESS)] * MIXINGS)[:MIXINGS]
        names = ("entry_s", "entry_bytes", "decode_entry_s", "prefill_pair_s", "limit", "stride", "kept")
        columns = np.array(found, dtype=float).T
        return dict(zip(names, columns, strict=True))


def slowdown(choice: KernelChoice) -> float:
    """Return how many times longer the kernel of a choice takes, where that is about the kernel alone."""
    return choice.slowdown[1] if choice.slowdown_of == "operator" else 1.0


def width_of(dtype: str) -> str:
    """Return the class of an arithmetic: ``fp4``, ``fp8`` or ``bf16``."""
    if dtype.endswith("fp4"):
        return "fp4"
    return "fp8" if dtype in ("fp8", "mxfp8", "int8", "fp6", "mxfp6") else "bf16"


def peak_of(gpu: Gpu, width: str) -> float:
    """Return the dense peak of a class of arithmetic, of a wider one where the GPU lacks it [FLOP/s]."""
    names = {"fp4": ("fp4", "fp8", "int8"), "fp8": ("fp8", "int8"), "bf16": ()}[width]
    for name in (*names, "bf16", "fp16", "fp32"):
        if name in gpu.peaks:
            return gpu.peaks[name].value
    return gpu.peak_flop_per_s("bf16")


def _collectives(table: OperatorTable, fabric: Fabric, served: tuple[str, ...]) -> Array:
    """Return the time of all messages of one pass at `GRID` tokens of an attention rank."""
    total = np.zeros_like(GRID)
    sharding = table.sharding
    top_k = max((row.top_k for row in table.rows), default=1)
    for sent, count in zip(table.messages, table.message_count, strict=True):
        message = sent.message
        if sent.draft or message.tokens not in served:
            continue
        stride = sharding.tp * sharding.dp if message.group == "pp" else 1
        total += count * collective_s(
            message.kind,
            message.token_bytes * GRID,
            message.size,
            fabric,
            stride=stride,
            top_k=top_k if message.kind == "all_to_all" else 1,
        )
    return np.asarray(np.maximum.accumulate(total))
