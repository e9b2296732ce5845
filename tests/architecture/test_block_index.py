"""The index of block-sparse attention and the gated residual streams of Qwen4-Exp."""

from __future__ import annotations

import pytest

from planner.architecture.blocks.block_index import BlockIndexer
from planner.architecture.blocks.gated_residual import GatedResidual
from planner.architecture.tensors import Sharding

MINIMAX = BlockIndexer(hidden=6144, heads=4, head_dim=128, top_k=2048)
QWEN = BlockIndexer(hidden=2560, heads=4, head_dim=128, top_k=2048, pool=4)
RESIDUAL = GatedResidual(hidden=2560, streams=4, rank=320)


def parameters(block):
    return sum(t.parameters for t in block.tensors())


def test_indexes_have_the_published_parameters():
    assert parameters(MINIMAX) == 224_147_712 // 57
    assert parameters(QWEN) == 19_663_872 // 12


@pytest.mark.parametrize("tp", [1, 8])
def test_keys_are_whole_on_every_rank(tp):
    (each,), (pooled,) = MINIMAX.caches(), QWEN.caches()
    assert (each.kind, pooled.kind) == ("index", "index")
    assert each.entry_bytes("bf16", tp) == 256
    assert each.entry_bytes("fp8", tp) == 128
    # One BF16 key for each four tokens, whatever the dtype of the attention's cache.
    assert pooled.entry_bytes("bf16", tp) == pooled.entry_bytes("fp8", tp) == 256
    assert (each.entries(10), pooled.entries(10)) == (10, 2)


@pytest.mark.parametrize("block", [MINIMAX, QWEN, RESIDUAL])
def test_every_rank_holds_all_of_it(block):
    for tensor in block.tensors():
        assert tensor.rank_shape(Sharding(tp=8)) == tensor.rank_shape(Sharding())
    assert block.refusal(Sharding(tp=7)) is None


def test_residual_streams_have_the_published_parameters():
    # Two in each of 48 layers, and one before the LM head that writes nothing back.
    last = GatedResidual(hidden=2560, streams=4, rank=320, inject=False)
    assert 96 * parameters(RESIDUAL) + parameters(last) == 640_624_640
    assert RESIDUAL.caches() == ()
