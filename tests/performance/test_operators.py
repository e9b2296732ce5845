"""Operators of known models against counts by hand, the weights of the memory room, and their invariants."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.architecture import Architecture, Sharding, build_architecture
from planner.architecture.quantisation import WeightScheme
from planner.architecture.totals import linear_flops_per_token
from planner.catalogue import load_catalogue
from planner.memory.weights import Tiles, split_layers, stage_weights
from planner.performance.operators import gather_operators
from planner.performance.table import OperatorTable, Step
from planner.scenario.schemes import weight_scheme

CATALOGUE = load_catalogue()
WEIGHTS = ("gemm", "lm_head", "norm", "vector", "moe_gemm", "moe_vector", "embedding")


@cache
def parts(model: str) -> tuple[Architecture, WeightScheme]:
    record = CATALOGUE.model(model)
    architecture = build_architecture(record.config)
    return architecture, weight_scheme(record, architecture)


@cache
def table(model: str, kv_dtype: str = "bf16", draft: bool = False, **sizes: int) -> OperatorTable:
    return OperatorTable(gather_operators(*parts(model), Sharding(**sizes), kv_dtype=kv_dtype, draft=draft))


def total(values: np.ndarray, of: OperatorTable, *kinds: str) -> float:
    """Return the sum over rows at the only operating point."""
    return float(values[of.select(*kinds), 0].sum())


def rows(of: OperatorTable) -> dict[str, tuple[int, int, int]]:
    return {row.label: (int(n), row.n, row.k) for row, n in zip(of.rows, of.count, strict=True) if row.n}


def test_matrices_of_llama_are_fused_as_engines_fuse_them():
    found = {label: shape for label, shape in rows(table("llama-3.1-8b", tp=2)).items() if "_proj" in label}
    assert found == {
        "attention/q_proj+k_proj+v_proj": (32, 3072, 4096),
        "attention/o_proj": (32, 4096, 2048),
        "dense_mlp/gate_proj+up_proj": (32, 14336, 4096),
        "dense_mlp/down_proj": (32, 4096, 7168),
    }


def test_llama_reads_all_weights_but_the_embedding():
    llama = table("llama-3.1-8b")
    read = llama.bytes(Step(1, 1000)) - llama.bytes(Step(1e-9, 1000))
    dense = llama.select("gemm", "lm_head", "vector")
    assert (llama.count * llama.weight_bytes)[dense].sum() + 65 * 4096 * 2 == 2 * 7_504_924_672
    # What is left at almost no tokens is the weights; one token adds its activations, 4 MB of 15 GB.
    assert llama.bytes(Step(1e-9, 1000))[dense].sum() == pytest.approx(2 * (7_504_924_672 - 65 * 4096))
    assert 0 < read[dense].sum() < 5e6


def test_llama_reads_keys_and_values_of_its_context():
    llama = table("llama-3.1-8b")
    # 131,072 bytes for each of 1,000 tokens, as much to write one, and queries and results of 32 x 128.
    expected = 131_072 * 1_001 + 32 * 2 * 32 * (128 + 128)
    assert total(llama.bytes(Step(1, 1000)), llama, "attention") == expected
    assert total(llama.bytes(Step(7, 1000)), llama, "attention") == 7 * expected
    # In verifying three tokens the context is read once.
    assert total(llama.bytes(Step(1, 1000, 3)), llama, "attention") == expected + 2 * (expected - 131_072_000)


def test_flops_of_llama():
    llama = table("llama-3.1-8b")
    linear = linear_flops_per_token(parts("llama-3.1-8b")[0])
    assert total(llama.flops(Step(1, 1000)), llama) == linear + 524_288 * 1_000
    # A prefill of 512 tokens needs one row of logits.
    head = 2 * 128_256 * 4096
    causal = 524_288 * 512 * 513 / 2
    assert total(llama.flops(Step(0, 0, prefills=1, new=512)), llama) == 512 * (linear - head) + head + causal


def test_deepseek_r1_on_eight_ranks():
    r1 = table("deepseek-r1", tp=8)
    one = r1.bytes(Step(1, 1000))
    # Two of 128 x 128 scales for gate and up, one for down: an expert is 2 x 256 x 7168 + 7168 x 256 values.
    expert = 3 * 256 * 7168 + 3 * (256 // 128) * (7168 // 128) * 4
    activations = 2 * (512 + 7168) + 2 * (7168 + 256)
    assert total(one, r1, "moe_gemm") == pytest.approx(58 * 8 * (expert + activations))
    # Every rank reads the whole latents of its 16 heads.
    beside = 1_152 + 2 * 16 * (576 + 512)
    assert total(one, r1, "attention") == 61 * (1_152 * 1_000 + beside)
    assert total(r1.flops(Step(1, 1000)), r1, "attention") == 16_990_208 // 8 * 1_000
    assert total(r1.flops(Step(0, 0, 1, 1, 1000)), r1, "attention") == 4_997_120 / 8 * 500_500


def test_experts_that_many_tokens_choose():
    r1 = table("deepseek-r1", dp=16, ep=16)
    (gate, down) = r1.select("moe_gemm")
    hit = r1.hit_experts(Step(np.array([1.0, 4.0, 1e6]), 1000))[gate]
    # 16 experts on a rank; 16 ranks send their tokens.
    assert hit == pytest.approx([16 * (1 - (31 / 32) ** 16), 16 * (1 - (31 / 32) ** 64), 16])
    # 16 x 4 tokens go to 8 experts each, on 16 ranks.
    served = r1.tokens(Step(4, 1000))[down, 0]
    assert served == pytest.approx(32 / hit[1])


def test_gpt_oss_windows_and_four_bit_experts():
    oss = table("gpt-oss-120b")
    one = oss.bytes(Step(1, 1000))
    # 8 heads of 64 + 64 values in BF16: 18 layers see 128 tokens, 18 see all.
    entry = 8 * 128 * 2
    beside = entry + 2 * 64 * 128
    assert total(one, oss, "attention") == 18 * entry * 1_128 + 36 * beside
    # 4 experts of 3 matrices of 2880 x 2880 at 4.25 bits, with biases.
    expert = 3 * 2880 * 2880 * 4.25 / 8
    assert total(one, oss, "moe_gemm") == pytest.approx(36 * 4 * (expert + 2 * 5 * 2880))
    assert total(one, oss, "moe_vector") == pytest.approx(36 * 4 * 2 * 3 * 2880)
    assert {row.compute for row in oss.rows if row.kind == "moe_gemm"} == {"fp4"}


def test_kimi_k3_on_eight_ranks():
    k3 = table("kimi-k3", kv_dtype="fp8", tp=8)
    one = k3.bytes(Step(1, 100_000))
    # 24 latent layers; 12 heads of a rank.
    beside = 576 + 2 * 12 * (576 + 512)
    assert total(one, k3, "attention") == 24 * (576 * 100_000 + beside)
    # The state of 69 layers is read and written.
    assert total(one, k3, "linear_attention") == 2 * 449_372_160 / 8 + 69 * 2 * 12 * 256
    expert = 3 * 3584 * 384 * 4.25 / 8
    activations = 2 * (768 + 3584) + 2 * (3584 + 384)
    assert total(one, k3, "moe_gemm") == pytest.approx(92 * 16 * (expert + activations))
    assert [row.n for row in k3.rows if row.kind == "attention"] == [12, 12]


SETUPS = [
    ("llama-3.1-8b", {"tp": 4}),
    ("deepseek-r1", {"tp": 8}),
    ("deepseek-r1", {"dp": 16, "ep": 16}),
    ("gpt-oss-120b", {"tp": 2, "ep": 2}),
    ("kimi-k3", {"tp": 8, "pp": 2}),
    ("qwen3-30b-a3b", {"tp": 8}),
    ("nemotron-3-nano-30b-a3b", {"tp": 2}),
    ("deepseek-v4-flash", {"tp": 4}),
    ("minimax-m3", {"tp": 4, "pp": 3}),
]


@pytest.mark.parametrize(("model", "sizes"), SETUPS)
def test_weights_are_those_of_the_memory_room(model, sizes):
    sharding = Sharding(**sizes)
    architecture, scheme = parts(model)
    stages = split_layers(len(architecture.layers), sharding.pp)
    memory = stage_weights(architecture, scheme, sharding, stages, tiles=Tiles(), towers=False)
    found = table(model, **sizes)
    held = found.count * found.weight_bytes * np.maximum(found.rank_experts, 1)
    for stage, groups in enumerate(memory):
        # Biases of one block are one row, so that each is rounded up to whole bytes together.
        assert held[found.select(*WEIGHTS, stage=stage)].sum() == pytest.approx(groups.total(), rel=1e-9)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "kimi-k3", "deepseek-v3.2", "deepseek-v4-flash"])
def test_stages_share_the_work_of_one(model):
    whole, parts_of_it = table(model), table(model, pp=4)
    step = Step(3, 5_000, 1, 1, 300, 700)
    assert parts_of_it.flops(step).sum() == pytest.approx(whole.flops(step).sum())
    assert parts_of_it.bytes(step).sum() == pytest.approx(whole.bytes(step).sum())
    sent = [m for m in parts_of_it.messages if m.message.kind == "send"]
    assert [m.stage for m in sent] == [0, 1, 2]


@pytest.mark.parametrize("model", ["llama-3.1-8b", "deepseek-r1", "gpt-oss-120b", "kimi-k3"])
def test_ranks_together_do_all_the_work(model):
    step, alone = Step(8, 5_000), table(model)
    flops = alone.flops(step).sum()
    for tp in (2, 4, 8):
        divided = table(model, tp=tp)
        assert flops <= tp * divided.flops(step).sum() * (1 + 1e-9)
        assert divided.flops(step).sum() < flops
        assert divided.bytes(step).sum() < alone.bytes(step).sum()


def test_draft_layers_run_once_for_each_drafted_token():
    r1 = table("deepseek-r1", draft=True, tp=8)
    draft = np.flatnonzero(r1.draft)
    idle, once, thrice = (Step(4, 1000, 1 + n, draft_passes=n) for n in (0, 1, 3))
    assert not r1.flops(idle)[draft].any()
    assert not r1.bytes(idle)[draft].any()
    assert not r1.launches(idle)[draft].any()
    for of in (r1.flops, r1.bytes, r1.launches):
        assert of(thrice)[draft] == pytest.approx(3 * of(once)[draft])
    # One layer with experts and one LM head; embedding and head are not stored again.
    assert {row.label for row in r1.rows if row.draft and row.kind == "lm_head"} == {"lm_head/lm_head"}
    assert not any("copies" in row.label for row in r1.rows)
    assert r1.tokens(thrice)[draft].max() <= 4


def test_messages_follow_the_tokens():
    llama = table("llama-3.1-8b", tp=4)
    sent = {m.message.kind: i for i, m in enumerate(llama.messages)}
    step = Step(10, 1000, prefills=2, new=100)
    # 64 sums in the layers and one of the embedding.
    assert llama.message_count[sent["all_reduce"]] == 65
    assert llama.message_bytes(step)[sent["all_reduce"], 0] == 210 * 8192
    assert llama.message_bytes(step)[sent["all_gather"], 0] == 12 * 2 * 128_256


def test_kernels_that_have_nothing_to_do_are_not_started():
    llama = table("llama-3.1-8b")
    decode, prefill = (llama.launches(step) for step in (Step(4, 100), Step(0, 0, 1, 1, 100)))
    (phases,) = {tuple(llama.rows[i].phase for i in llama.select("attention"))}
    assert phases == ("decode", "prefill")
    assert decode[llama.select("attention"), 0].tolist() == [32, 0]
    assert prefill[llama.select("attention"), 0].tolist() == [0, 32]


STEPS = st.builds(
    Step,
    sequences=st.floats(1, 512),
    context=st.floats(1, 200_000),
    queries=st.integers(1, 4),
    prefills=st.floats(0, 4),
    new=st.integers(1, 8192),
    cached=st.integers(0, 100_000),
)


@settings(deadline=None, max_examples=30)
@pytest.mark.parametrize("model", ["gpt-oss-120b", "kimi-k3", "deepseek-v3.2", "deepseek-v4-flash"])
@given(
    step=STEPS, field=st.sampled_from(["sequences", "context", "prefills", "new"]), more=st.integers(1, 500)
)
def test_more_load_is_never_less_work(model, step, field, more):
    found = table(model, tp=8)
    values = {name: getattr(step, name) for name in Step.__dataclass_fields__}
    bigger = Step(**{**values, field: values[field] + more})
    for of in (found.flops, found.bytes):
        assert (of(bigger) >= of(step) * (1 - 1e-12)).all()


@settings(deadline=None, max_examples=30)
@given(steps=st.lists(STEPS, min_size=2, max_size=5))
def test_many_points_at_once_give_what_each_gives_alone(steps):
    found = table("deepseek-v3.2", draft=True, tp=8)
    names = Step.__dataclass_fields__
    together = Step(**{name: np.array([getattr(s, name) for s in steps], dtype=float) for name in names})
    for of in (found.flops, found.bytes, found.tokens, found.launches, found.message_bytes):
        assert of(together) == pytest.approx(np.hstack([of(step) for step in steps]))
