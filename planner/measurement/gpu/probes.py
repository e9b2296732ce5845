"""What is timed on one GPU: each probe allocates its operands when asked, and says what it must do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from planner.catalogue import Catalogue
from planner.measurement.gpu.shapes import (
    COPIED_BYTES,
    GEMM_ROWS,
    LARGEST_BYTES,
    AttentionShape,
    MoeShape,
    Suite,
    attention_shapes,
    layer_matrices,
    moe_shapes,
)
from planner.measurement.gpu.work import DTYPE_BYTES, Work, attention_work, gemm_work, moe_work

Call = Callable[[], object]

LEAST_INT8_ROWS = 17
"""`torch._int_mm` refuses fewer rows."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One operation to time.

    Parameters
    ----------
    fields : dict
        Columns of the kernel table that say what it is.
    work : Work
        The least that it must do.
    make : callable
        Allocates the operands and returns what starts the operation.
    flush : bool
        Whether operands must come from memory.
    graph : bool
        Whether it may be replayed from a graph, without the host's time.
    """

    fields: dict[str, Any]
    work: Work
    make: Callable[[], Call]
    flush: bool = True
    graph: bool = True


@dataclass(frozen=True, slots=True)
class Bench:
    """PyTorch, a device, and which sizes to time."""

    torch: Any
    device: str
    suite: Suite
    catalogue: Catalogue

    def random(self, *shape: int, dtype: str = "bfloat16") -> Any:
        """Return normal numbers; zeros would run faster than real data."""
        torch = self.torch
        if dtype == "int8":
            return torch.randint(-127, 127, shape, dtype=torch.int8, device=self.device)
        if dtype == "fp8":
            plain = torch.randn(shape, dtype=torch.bfloat16, device=self.device)
            return plain.to(fp8_of(torch))
        kind = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
        return torch.randn(shape, dtype=kind, device=self.device)


def fp8_of(torch: Any) -> Any:
    """Return the FP8 type that this device multiplies: CDNA3 has one with another zero."""
    name = torch.cuda.get_device_properties(0).gcnArchName if torch.version.hip else ""
    return torch.float8_e4m3fnuz if name.startswith("gfx94") else torch.float8_e4m3fn


def gemm_probes(bench: Bench) -> Iterator[Probe]:
    """Yield matrix products of every dtype; m = 1 is the reading of weights."""
    for dtype in ("bfloat16", "fp8", "int8", "float16", "tf32", "float32"):
        plain = dtype in ("bfloat16", "fp8", "int8")
        for n, k in layer_matrices(bench.catalogue, bench.suite):
            for m in GEMM_ROWS[bench.suite] if plain or bench.suite == "tiny" else (1, 256, 4096):
                size = DTYPE_BYTES[dtype] * (m * k + n * k) + 4 * m * n
                if size <= LARGEST_BYTES and not (dtype == "int8" and m < LEAST_INT8_ROWS):
                    yield _gemm(bench, m, n, k, dtype)


def _gemm(bench: Bench, m: int, n: int, k: int, dtype: str) -> Probe:
    kernel = {"fp8": "torch._scaled_mm, a scale per row", "int8": "torch._int_mm"}
    fields = {
        "op": "gemm",
        "dtype": dtype,
        "m": m,
        "n": n,
        "k": k,
        "kernel": kernel.get(dtype, "torch.matmul"),
    }
    return Probe(fields, gemm_work(m, n, k, dtype), lambda: _gemm_call(bench, m, n, k, dtype))


def _gemm_call(bench: Bench, m: int, n: int, k: int, dtype: str) -> Call:
    torch = bench.torch
    left, right = bench.random(m, k, dtype=dtype), bench.random(n, k, dtype=dtype).t()
    if dtype == "int8":
        return lambda: torch._int_mm(left, right)
    if dtype == "fp8":
        rows = torch.ones((m, 1), dtype=torch.float32, device=bench.device)
        columns = torch.ones((1, n), dtype=torch.float32, device=bench.device)
        return lambda: torch._scaled_mm(left, right, scale_a=rows, scale_b=columns, out_dtype=torch.bfloat16)
    if dtype in ("float32", "tf32"):
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    return lambda: torch.matmul(left, right)


def bandwidth_probes(bench: Bench) -> Iterator[Probe]:
    """Yield a copy of memory, and a write of it."""
    for size in COPIED_BYTES[bench.suite]:
        for kind, times in (("copy", 2), ("fill", 1)):
            fields = {"op": kind, "dtype": "bytes", "bytes": times * size, "kernel": f"torch {kind}"}
            # A graph would copy with the copy engines, which are slower than kernels.
            work = Work(bytes=float(times * size))
            yield Probe(fields, work, _moved(bench, kind, size), graph=False)


def _moved(bench: Bench, kind: str, size: int) -> Callable[[], Call]:
    def make() -> Call:
        source = bench.random(size, dtype="int8")
        target = bench.torch.empty_like(source)
        return (lambda: target.copy_(source)) if kind == "copy" else (lambda: target.fill_(7))

    return make


def attention_probes(bench: Bench) -> Iterator[Probe]:
    """Yield attention of whole prompts, and of one query for each request."""
    for shape in attention_shapes(bench.suite, "prefill"):
        yield _attention(bench, shape, queries=shape.context)
    for shape in attention_shapes(bench.suite, "decode"):
        yield _attention(bench, shape, queries=1)


def _attention(bench: Bench, shape: AttentionShape, queries: int) -> Probe:
    prefill = queries > 1
    fields = {
        "op": "attention_prefill" if prefill else "attention_decode",
        "kernel": "scaled_dot_product_attention" + ("" if prefill else ", heads of a group as queries"),
        "dtype": "bfloat16" if prefill else "kv_bfloat16",
        "batch": shape.batch,
        "context": shape.context,
        "heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "bytes": 4 * shape.batch * shape.context * shape.kv_heads * shape.head_dim,
    }
    work = attention_work(
        batch=shape.batch, queries=queries, context=shape.context, heads=shape.heads,
        kv_heads=shape.kv_heads, head_dim=shape.head_dim, causal=prefill,
    )  # fmt: skip
    return Probe(fields, work, lambda: _attention_call(bench, shape, queries))


def _attention_call(bench: Bench, shape: AttentionShape, queries: int) -> Call:
    attend = bench.torch.nn.functional.scaled_dot_product_attention
    batch, dim = shape.batch, shape.head_dim
    keys = bench.random(batch, shape.kv_heads, shape.context, dim)
    values = bench.random(batch, shape.kv_heads, shape.context, dim)
    if queries > 1:
        asked = bench.random(batch, shape.heads, queries, dim)
        return lambda: attend(asked, keys, values, is_causal=True, enable_gqa=shape.heads > shape.kv_heads)
    # One query of each head: those that share keys stand beside each other, so that keys are read once.
    asked = bench.random(batch, shape.kv_heads, shape.heads // shape.kv_heads, dim)
    return lambda: attend(asked, keys, values)


def moe_probes(bench: Bench) -> Iterator[Probe]:
    """Yield the products of routed experts, whose tokens stand sorted by expert."""
    for shape in moe_shapes(bench.suite):
        fields = {
            "op": "moe",
            "kernel": "torch._grouped_mm" if _grouped(bench) else "a product for each expert",
            "dtype": "bfloat16",
            "tokens": shape.tokens,
            "hidden": shape.hidden,
            "inter": shape.inter,
            "topk": shape.topk,
            "experts": shape.experts,
            "moe_tp": 1,
            "moe_ep": 1,
            "routing": "uniform",
        }
        work = moe_work(
            tokens=shape.tokens,
            hidden=shape.hidden,
            inter=shape.inter,
            topk=shape.topk,
            experts=shape.experts,
        )
        yield Probe(fields, work, lambda shape=shape: _moe_call(bench, shape))  # type: ignore[misc]


def _grouped(bench: Bench) -> bool:
    return hasattr(bench.torch, "_grouped_mm") and bench.device.startswith("cuda")


def _moe_call(bench: Bench, shape: MoeShape) -> Call:
    torch, silu = bench.torch, bench.torch.nn.functional.silu
    chosen = torch.rand((shape.tokens, shape.experts)).topk(shape.topk).indices.flatten()
    counts = torch.bincount(chosen, minlength=shape.experts)
    inputs = bench.random(shape.tokens * shape.topk, shape.hidden)
    up = bench.random(shape.experts, 2 * shape.inter, shape.hidden).transpose(1, 2)
    down = bench.random(shape.experts, shape.hidden, shape.inter).transpose(1, 2)
    if _grouped(bench):
        ends = counts.cumsum(0).to(torch.int32).to(bench.device)

        def grouped() -> object:
            gate, value = torch._grouped_mm(inputs, up, offs=ends).chunk(2, dim=-1)
            return torch._grouped_mm(silu(gate) * value, down, offs=ends)

        return grouped
    parts = [(i, part) for i, part in enumerate(inputs.split(counts.tolist())) if len(part)]

    def looped() -> object:
        for i, part in parts:
            gate, value = (part @ up[i]).chunk(2, dim=-1)
            (silu(gate) * value) @ down[i]
        return None

    return looped


LAUNCHES = 100


def launch_probes(bench: Bench) -> Iterator[Probe]:
    """Yield the smallest kernel many times over, from the host and from a graph."""
    for graph in (False, True):
        how = "replayed from a graph" if graph else "started by the host"
        fields = {"op": "launch", "dtype": "float32", "kernel": f"{LAUNCHES} of one element, {how}"}
        yield Probe(fields, Work(), lambda: _launches(bench), flush=False, graph=graph)


def _launches(bench: Bench) -> Call:
    one = bench.random(1, dtype="float32")

    def run() -> object:
        for _ in range(LAUNCHES):
            one.add_(1.0)
        return one

    return run


PARTS: dict[str, Callable[[Bench], Iterator[Probe]]] = {
    "launch": launch_probes,
    "bandwidth": bandwidth_probes,
    "gemm": gemm_probes,
    "attention": attention_probes,
    "moe": moe_probes,
}
"""What is timed on one GPU, by the names that `--what` takes; "collectives" take several."""
