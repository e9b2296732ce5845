"""What holds for every deployment: more demand never takes less memory, more GPUs never more of one."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from planner.catalogue import Catalogue, load_catalogue
from planner.errors import IllegalDeployment, PlannerError
from planner.memory import MemoryFit, fit_memory
from planner.report.records import per_rank_gib
from planner.scenario import Deployment, Workload
from tests.memory.asking import fit

MODELS = (
    "llama-3.1-8b",
    "llama-3.1-70b",
    "gemma-3-27b",
    "gpt-oss-120b",
    "qwen3-235b-a22b",
    "deepseek-r1",
    "deepseek-v3.2",
    "deepseek-v4-flash",
    "qwen3-next-80b-a3b",
    "nemotron-3-super-120b-a12b",
    "kimi-k3",
)
ENGINES = ("vllm", "vllm==0.19.0", "sglang", "tensorrt-llm")
QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def whole() -> Catalogue:
    return load_catalogue()


def ask(model: str, context: int, concurrency: int = 1, **deployment: object) -> MemoryFit:
    return fit_memory(
        model=whole().model(model),
        gpu=whole().gpu("b200-sxm"),
        deployment=Deployment(**deployment),  # type: ignore[arg-type]
        workload=Workload(context=context, concurrency=concurrency),
        catalogue=whole(),
    )


models = st.sampled_from(MODELS)
engines = st.sampled_from(ENGINES)
sizes = st.sampled_from((1, 2, 4, 8))
contexts = st.integers(256, 32768)


@QUIET
@given(models, engines, sizes, contexts, st.integers(0, 8192))
def test_a_longer_context_never_takes_less(model: str, engine: str, tp: int, context: int, more: int) -> None:
    try:
        short, long = (ask(model, length, engine=engine, tp=tp) for length in (context, context + more))
    except IllegalDeployment:
        assume(False)
    assert long.needed_kv_bytes >= short.needed_kv_bytes
    assert long.max_concurrency <= short.max_concurrency * (1 + 1e-9)
    assert long.margin_bytes <= short.margin_bytes
    assert short.fits or not long.fits


@QUIET
@given(models, engines, sizes, contexts, st.integers(1, 500), st.integers(1, 500))
def test_more_requests_never_leave_more(
    model: str, engine: str, tp: int, context: int, few: int, more: int
) -> None:
    try:
        less, much = (ask(model, context, count, engine=engine, tp=tp) for count in (few, few + more))
    except IllegalDeployment:
        assume(False)
    assert much.margin_bytes <= less.margin_bytes
    assert less.fits or not much.fits
    assert much.max_concurrency == less.max_concurrency


@QUIET
@given(st.sampled_from(("llama-3.1-70b", "qwen3-235b-a22b", "gemma-3-27b")), engines, sizes)
def test_more_bits_never_take_less(model: str, engine: str, tp: int) -> None:
    try:
        weights = [
            ask(model, 4096, engine=engine, tp=tp, weight_dtype=name).per_rank.weights_bytes
            for name in ("int4", "fp8-dynamic", "bf16", "f32")
        ]
        caches = [
            ask(model, 4096, engine=engine, tp=tp, kv_dtype=name).kv_bytes_per_token_per_rank
            for name in ("fp8", "bf16")
        ]
    except IllegalDeployment:
        assume(False)
    assert weights == sorted(weights)
    assert caches == sorted(caches)


@QUIET
@given(models, engines, st.sampled_from((1, 2, 4)), contexts)
def test_twice_the_tensor_parallelism_never_holds_more(
    model: str, engine: str, tp: int, context: int
) -> None:
    try:
        small, large = (ask(model, context, engine=engine, tp=size) for size in (tp, 2 * tp))
    except IllegalDeployment:
        assume(False)
    assert large.per_rank.weights_bytes <= small.per_rank.weights_bytes
    assert large.kv_bytes_per_token_per_rank <= small.kv_bytes_per_token_per_rank
    if large.kv_bytes_per_token_per_rank == small.kv_bytes_per_token_per_rank:
        assert any("latent" in text or "KV heads" in text for text in large.warnings)


@QUIET
@given(models, engines, st.sampled_from((1, 2, 3)))
def test_more_stages_never_hold_more_each(model: str, engine: str, pp: int) -> None:
    few, many = (ask(model, 4096, engine=engine, pp=stages) for stages in (pp, pp + 1))
    fullest = [max(stage.weights_bytes for stage in found.stages) for found in (few, many)]
    assert fullest[1] <= fullest[0]
    layers = [number for stage in many.stages for number in range(stage.layers[0], stage.layers[1] + 1)]
    assert layers == list(range(len(layers)))


@QUIET
@given(models, st.sampled_from((1, 2, 4, 8)))
def test_expert_parallelism_never_holds_more_experts(model: str, ep: int) -> None:
    try:
        shared, spread = (ask(model, 4096, tp=8, ep=size) for size in (1, ep))
    except IllegalDeployment:
        assume(False)
    key = "routed_experts"
    experts = [found.per_rank.weights_by_group[key] for found in (shared, spread)]
    assert experts[1] <= experts[0] * 1.02  # Scales of whole experts against those of slices.


@QUIET
@given(models, engines, sizes, st.floats(0.3, 0.98), st.floats(0.0, 0.02))
def test_a_larger_share_of_the_device_never_holds_fewer_tokens(
    model: str, engine: str, tp: int, fraction: float, more: float
) -> None:
    try:
        less, much = (
            ask(model, 8192, engine=engine, tp=tp, memory_fraction=share)
            for share in (fraction, fraction + more)
        )
    except IllegalDeployment:
        assume(False)
    assert much.kv_tokens >= less.kv_tokens
    graphs_fit = all(stage.taken_bytes <= stage.usable_bytes for stage in much.stages)
    assert much.fits or not less.fits or not graphs_fit


@QUIET
@given(models, engines, sizes)
def test_the_parts_of_a_stage_add_up(model: str, engine: str, tp: int) -> None:
    try:
        found = ask(model, 8192, engine=engine, tp=tp)
    except IllegalDeployment:
        assume(False)
    for stage in found.stages:
        assert stage.weights_by_group.total() == stage.weights_bytes
        assert stage.budget_bytes <= stage.usable_bytes
        assert stage.kv_pool_bytes == max(stage.available_bytes, 0)
    assert found.pool.bytes <= max(stage.available_bytes for stage in found.stages) or found.pool.bytes == 0


@QUIET
@given(
    models,
    st.sampled_from((*ENGINES, "llama.cpp")),
    st.sampled_from(("b200-sxm", "mi300x", "l40s", "h100-sxm")),
    sizes,
    st.one_of(st.none(), st.floats(0.3, 1.0)),
    st.one_of(st.none(), st.integers(1, 1 << 38)),
)
def test_the_parts_of_a_deployment_that_fits_fill_the_device(
    model: str, engine: str, gpu: str, tp: int, fraction: float | None, pool_bytes: int | None
) -> None:
    try:
        found = fit(
            whole(),
            model,
            gpu,
            8192,
            engine=engine,
            tp=tp,
            memory_fraction=fraction,
            kv_cache_memory_bytes=pool_bytes,
        )
    except PlannerError:
        assume(False)
    for stage in found.stages:
        shown = per_rank_gib(stage)
        parts = [shown[f"{part}_gib"] for part in ("weights", "kv_pool", "activation", "graph", "non_torch")]
        parts.append(shown["reserve_gib"])
        assert min(parts) >= 0
        if found.fits:
            assert sum(parts) == pytest.approx(shown["usable_gib"], abs=1 / 1024)
        else:
            assert sum(parts) >= shown["usable_gib"] - 1 / 1024
    assert found.kv_tokens >= 0


def test_graphs_beyond_the_memory_fraction_do_not_start() -> None:
    found = fit(whole(), "llama-3.1-8b", "h100-sxm", 8192, engine="vllm==0.19.0", memory_fraction=1.0)
    assert (found.fits, found.verdict, found.holds) == (False, "tight", True)
    assert found.binding_limit.startswith("graphs: ")
    assert "the memory fraction leaves 0 B; lower it to 0.98" in found.binding_limit
    assert any(text.startswith("lower the memory fraction to 0.98") for text in found.remedies)


def test_a_pool_set_by_hand_is_no_larger_than_what_is_left() -> None:
    found = fit(whole(), "llama-3.1-8b", "h100-sxm", 8192, kv_cache_memory_bytes=70 * 2**30)
    assert not found.fits
    assert found.binding_limit.startswith("kv_cache_memory_bytes: 70.00 GiB are asked, and beside the rest 6")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("engine", [*ENGINES, "llama.cpp"])
def test_every_kind_of_model_is_answered_by_every_engine(
    catalogue: Catalogue, model: str, engine: str
) -> None:
    found = fit(catalogue, model, "b300-sxm", 4096, engine=engine)
    assert found.verdict in ("fits", "tight", "does not fit")
    assert found.binding_limit
    assert not (found.remedies and found.verdict == "fits")
