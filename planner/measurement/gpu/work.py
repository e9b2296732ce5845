"""What an operation must compute and move, and what share of the hardware's limits its time is."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalogue import Gpu

DTYPE_BYTES = {"bfloat16": 2, "float16": 2, "fp8": 1, "int8": 1, "float32": 4, "tf32": 4}
PEAK_NAMES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "fp8": "fp8",
    "int8": "int8",
    "float32": "fp32",
    "tf32": "tf32",
}
"""Names of dtypes in the kernel table, and of their peaks in the catalogue."""


@dataclass(frozen=True, slots=True)
class Work:
    """The least that an operation must do.

    Parameters
    ----------
    flops : float
        Useful operations [FLOP].
    bytes : float
        Each input read once and each output written once [bytes].
    dtype : str
        Of the arithmetic, see `PEAK_NAMES`.
    link_bytes : float
        What each GPU must send to others [bytes].
    """

    flops: float = 0.0
    bytes: float = 0.0
    dtype: str = "bfloat16"
    link_bytes: float = 0.0


def gemm_work(m: int, n: int, k: int, dtype: str) -> Work:
    """Return the work of an (m, k) by (k, n) product whose result is in 16 bits, or in 32 for such inputs."""
    each = DTYPE_BYTES[dtype]
    return Work(2.0 * m * n * k, float(each * (m * k + k * n) + max(each, 2) * m * n), dtype)


def attention_work(
    *, batch: int, queries: int, context: int, heads: int, kv_heads: int, head_dim: int, causal: bool
) -> Work:
    """Return the work of attention: scores and their product with values; half of the square is masked."""
    pairs = queries * context * (0.5 if causal else 1.0)
    flops = 4.0 * batch * heads * head_dim * pairs
    moved = batch * head_dim * (2 * queries * heads + 2 * context * kv_heads)
    return Work(flops, 2.0 * moved)


def moe_work(*, tokens: int, hidden: int, inter: int, topk: int, experts: int, each: int = 2) -> Work:
    """Return the work of gate, up and down products of the experts that any token chose.

    The expected number of distinct experts is E (1 - (1 - k/E)^tokens), for uniform routing.
    """
    chosen = experts * (1 - (1 - topk / experts) ** tokens)
    flops = 2.0 * tokens * topk * 3 * hidden * inter
    weights = chosen * 3 * hidden * inter * each
    activations = 2.0 * tokens * topk * (2 * hidden + 3 * inter)
    return Work(flops, weights + activations)


BUS_TIMES = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "alltoall": 1}
"""How often each GPU must send its share of the others' buffer, (ranks - 1) / ranks of the whole."""
PAIRS = "p2p"
COLLECTIVE_KINDS = (*BUS_TIMES, PAIRS)
ENGINE_ALL_REDUCE = "custom_all_reduce"
"""An engine's own kernel for it, which does the same work."""


def link_work(kind: str, ranks: int, whole_bytes: float) -> Work:
    """Return the work of a collective on a buffer of so many bytes."""
    known = "all_reduce" if kind == ENGINE_ALL_REDUCE else kind
    share = 1.0 if known == PAIRS else BUS_TIMES[known] * (ranks - 1) / ranks
    return Work(link_bytes=share * whole_bytes)


def fractions(work: Work, seconds: float, gpu: Gpu | None) -> dict[str, float | None]:
    """Return which share of each limit a time is, in the columns of the kernel table.

    Parameters
    ----------
    work : Work
        The least that must be done.
    seconds : float
        How long it took [s].
    gpu : Gpu or None
        Whose limits; nothing can be said without.

    Returns
    -------
    dict
        `flops_fraction`, `membw_fraction`, `link_fraction` and the largest of them; None where unknown.
    """
    found: dict[str, float | None] = dict.fromkeys(("flops_fraction", "membw_fraction", "link_fraction"))
    if gpu is not None:
        peak = PEAK_NAMES[work.dtype]
        if work.flops and peak in gpu.peaks:
            found["flops_fraction"] = work.flops / seconds / gpu.peak_flop_per_s(peak)
        if work.bytes:
            found["membw_fraction"] = work.bytes / seconds / gpu.bandwidth_bytes_per_s
        if work.link_bytes and gpu.scale_up is not None:
            found["link_fraction"] = work.link_bytes / seconds / gpu.scale_up_bytes_per_s
    known = [value for value in found.values() if value is not None]
    return {**found, "achieved_fraction": max(known) if known else None}
