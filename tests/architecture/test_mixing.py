"""The work of mixing tokens: published FLOPs, exact sums of a prefill, what is read, and growth."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture import Architecture, build_architecture
from planner.architecture.blocks.compressed import Compressor, SharedVectorAttention
from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mla import LatentAttention
from planner.architecture.caches import TokenCache
from planner.architecture.mixing import Mixing
from planner.architecture.totals import active_parameters, linear_flops_per_token, mixings
from planner.catalogue import load_catalogue

CATALOGUE = load_catalogue()
IDS = CATALOGUE.model_ids()
PAIRS = [key for key in IDS if CATALOGUE.model(key).checks.attention_flops_per_pair]
EXPANDED = [key for key in IDS if CATALOGUE.model(key).checks.attention_prefill_flops_per_pair]


@cache
def architecture(key: str) -> Architecture:
    return build_architecture(CATALOGUE.model(key).config)


def attention(key: str) -> list[tuple[Mixing, int]]:
    """Return the attention of layers without a sliding window, before an indexer limits it."""
    found = [
        (mixing, count)
        for layer, count in architecture(key).layer_kinds().items()
        for block in layer.blocks
        for mixing in block.mixings()
    ]
    plain = [(m, n) for m, n in found if m.kind in ("gqa", "mla")]
    # Where every layer has a window, the pairs are those before it is full.
    return [(m, n) for m, n in plain if m.most is None or m.chunk] or plain


@pytest.mark.parametrize("key", PAIRS)
def test_flops_of_a_pair_in_decode(key):
    checks = CATALOGUE.model(key).checks
    got = sum(count * m.heads * m.decode_pair_flops for m, count in attention(key))
    assert got == checks.attention_flops_per_pair


@pytest.mark.parametrize("key", EXPANDED)
def test_flops_of_a_pair_of_expanded_latents(key):
    got = sum(count * m.heads * m.prefill_pair_flops for m, count in attention(key))
    assert got == CATALOGUE.model(key).checks.attention_prefill_flops_per_pair


@pytest.mark.parametrize("key", IDS)
def test_linear_flops_are_two_for_each_active_parameter_of_a_matrix(key):
    # Vectors (norms, biases, decays) are active parameters that no matrix unit multiplies: 0.2 % at most.
    share = linear_flops_per_token(architecture(key)) / (2 * active_parameters(architecture(key)))
    assert 0.998 < share <= 1


def test_linear_flops_of_llama():
    # 32 layers of 218,103,808 matrix elements, and an LM head of 128,256 x 4,096.
    assert linear_flops_per_token(architecture("llama-3.1-8b")) == 2 * (32 * 218_103_808 + 128_256 * 4_096)


def test_delta_rule_of_kimi_k3():
    kda = [(m, n) for m, n in mixings(architecture("kimi-k3")).items() if m.kind == "kda"]
    assert sum(n * m.decode_flops(1_000) for m, n in kda) == 651_165_696
    assert sum(n * m.state_bytes() for m, n in kda) == 449_372_160


GQA = GroupedQueryAttention(4096, 32, 8, 128, 128)
FULL = GQA.mixings()[0]
WINDOW = GroupedQueryAttention(4096, 32, 8, 128, 128, window=128).mixings()[0]
CHUNKED = GroupedQueryAttention(4096, 32, 8, 128, 128, window=64, chunked=True).mixings()[0]
MLA = LatentAttention(7168, 128, 512, 128, 64, 128, q_lora=1536).mixings()[0]
SPARSE = MLA.limited(50)
GROUPS = Compressor(4096, 512, 4, overlap=True)
BOTH = SharedVectorAttention(4096, 64, 512, 1024, 8, 1024, 128, (), GROUPS.entries(), 32).mixings()
KINDS = {
    "full": FULL,
    "window": WINDOW,
    "chunked": CHUNKED,
    "latent": MLA,
    "sparse": SPARSE,
    "compressed": BOTH[1],
    "sums": GROUPS.mixings()[0],
}
RISING = [kind for kind in KINDS if kind != "chunked"]
TOKENS = st.integers(0, 2_000)


@pytest.mark.parametrize("kind", KINDS)
@given(cached=TOKENS, new=TOKENS)
def test_a_prefill_has_the_pairs_of_as_many_decodes(kind, cached, new):
    mixing = KINDS[kind]
    assert mixing.pairs(cached, new) == sum(mixing.attended(t) for t in range(cached + 1, cached + new + 1))


@pytest.mark.parametrize("kind", ["full", "window", "chunked", "sparse", "compressed"])
@given(cached=TOKENS, new=st.integers(1, 300))
def test_a_prefill_costs_as_many_decodes_where_nothing_is_expanded(kind, cached, new):
    mixing = KINDS[kind]
    steps = sum(mixing.decode_flops(t, tp=4) for t in range(cached + 1, cached + new + 1))
    assert mixing.prefill_flops(cached, new, tp=4) == steps


@pytest.mark.parametrize("kind", RISING)
@given(cached=TOKENS, new=TOKENS, more=st.integers(0, 500))
def test_work_never_shrinks_with_context_or_tokens(kind, cached, new, more):
    mixing = KINDS[kind]
    assert mixing.decode_flops(cached + more) >= mixing.decode_flops(cached)
    assert mixing.decode_read_bytes(cached + more, "fp8") >= mixing.decode_read_bytes(cached, "fp8")
    assert mixing.prefill_flops(cached + more, new) >= mixing.prefill_flops(cached, new)
    assert mixing.prefill_flops(cached, new + more) >= mixing.prefill_flops(cached, new)
    assert mixing.spanned(cached, new + more) >= mixing.spanned(cached, new)


@pytest.mark.parametrize("kind", KINDS)
@given(cached=TOKENS, new=st.integers(1, 300))
def test_queries_together_span_what_each_meets(kind, cached, new):
    mixing = KINDS[kind]
    each = [mixing.attended(t) for t in range(cached + 1, cached + new + 1)]
    assert max(each) <= mixing.spanned(cached, new) <= sum(each)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_give_what_numbers_give(kind):
    mixing, contexts = KINDS[kind], np.array([1, 7, 64, 65, 128, 129, 1_000, 100_000])
    whole = mixing.decode_read_bytes(contexts, "bf16", 2)
    assert whole.tolist() == [mixing.decode_read_bytes(int(t), "bf16", 2) for t in contexts]
    whole = mixing.prefill_flops(contexts, contexts[::-1], 2)
    pairs = zip(contexts, contexts[::-1], strict=True)
    assert whole.tolist() == [mixing.prefill_flops(int(c), int(n), 2) for c, n in pairs]


def test_llama_reads_its_keys_and_values():
    # 8 heads of 128 + 128 values in BF16 for each token and layer.
    assert FULL.decode_read_bytes(1_000, "bf16") == 1_000 * 4_096
    assert FULL.decode_read_bytes(1_000, "bf16", tp=8) == 1_000 * 512
    # More ranks than KV heads hold copies of them, and divide the queries still.
    assert FULL.decode_read_bytes(1_000, "bf16", tp=16) == 1_000 * 512
    assert FULL.decode_flops(1_000, tp=16) == 2 * 512 * 1_000
    assert FULL.write_bytes("bf16") == 4_096


def test_every_rank_reads_the_latents_once_and_divides_the_heads():
    assert MLA.decode_read_bytes(1_000, "bf16", tp=8) == 1_000 * 1_152
    assert MLA.decode_read_bytes(1_000, "fp8_ds_mla", tp=8) == 1_000 * 656
    assert MLA.decode_read_bytes(1_000, "bf16", tp=8, dcp=8) == 1_000 * 144
    assert MLA.decode_flops(1_000, tp=8) == 16 * 1_000 * 2 * (576 + 512)
    # A prefill after cached tokens expands their latents again.
    assert MLA.prefill_flops(100, 0) == 100 * 128 * 2 * 512 * 256


def test_windows_and_chunks_end():
    assert [WINDOW.attended(t) for t in (1, 127, 128, 129, 5_000)] == [1, 127, 128, 128, 128]
    assert [CHUNKED.attended(t) for t in (1, 64, 65, 128, 129)] == [1, 64, 1, 64, 1]


def test_an_indexer_limits_the_attention_beside_it(catalogue):
    found = mixings(build_architecture(catalogue.model("deepseek-v3.2").config))
    (index, layers), (latent, beside) = sorted(found.items(), key=lambda item: item[0].kind)
    assert (layers, beside) == (61, 61)
    assert (latent.attended(1_000), latent.attended(100_000)) == (1_000, 2_048)
    # Sparse kernels read latents as they are, in prefill too.
    assert latent.prefill_pair_flops == latent.decode_pair_flops
    assert latent.expand_flops == 0
    assert index.decode_flops(100_000, tp=8) == 64 * 2 * 128 * 100_000
    assert index.decode_read_bytes(100_000, "bf16", tp=8) == 132 * 100_000


def test_a_reused_choice_costs_nothing_but_limits(catalogue):
    found = mixings(build_architecture(catalogue.model("glm-5.2").config))
    indexers = {m.heads: n for m, n in found.items() if m.kind == "index"}
    assert indexers == {32: 21, 0: 57}
    assert all(m.attended(1_000_000) == 2_048 for m in found if m.kind == "mla")


def test_layers_of_deepseek_v4_read_a_window_and_compressed_entries(catalogue):
    found = mixings(build_architecture(catalogue.model("deepseek-v4-flash").config))
    reads = {
        (m.entries.window, m.entries.stride): (m.attended(100_000), n)
        for m, n in found.items()
        if m.kind == "shared_vector" and isinstance(m.cache, TokenCache)
    }
    assert reads == {(128, 1): (128, 43), (None, 4): (512, 21), (None, 128): (781, 20)}


def test_layers_of_deepseek_v41_share_compressed_entries(catalogue):
    found = mixings(build_architecture(catalogue.model("deepseek-v4.1-flash").config))
    reads = {
        m.entries.stride: (m.attended(100_000), n)
        for m, n in found.items()
        if m.kind == "shared_vector" and m.shared and isinstance(m.cache, TokenCache)
    }
    assert reads == {2: (512, 18), 1: (512, 20)}


def test_attention_to_an_image_does_not_depend_on_the_text(catalogue):
    found = mixings(build_architecture(catalogue.model("llama-3.2-11b-vision").config))
    cross = next(m for m in found if m.kind == "cross")
    assert cross.decode_flops(10_000) == cross.decode_read_bytes(10_000, "bf16") == 0
