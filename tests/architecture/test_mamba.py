"""Mamba-2: published sizes, heads and groups on each rank, state, legal sizes."""

from __future__ import annotations

import pytest

from planner.architecture.blocks.mamba import Mamba2
from planner.architecture.tensors import Sharding

# One mixer of Nemotron-3 Nano 30B-A3B, and one of Granite 4.0 H Small, whose heads share one group.
NANO = Mamba2(hidden=2688, heads=64, head_dim=64, groups=8, state=128, kernel=4)
GRANITE = Mamba2(hidden=4096, heads=128, head_dim=64, groups=1, state=128, kernel=4)


def shapes(block, tp):
    return {t.name: t.rank_shape(Sharding(tp=tp))[1:] for t in block.tensors()}


def test_a_mixer_has_the_published_parameters():
    # 2688 x (2 x 4096 + 2 x 1024 + 64) in, 4096 x 2688 out, 6144 x 4 + 6144 of convolution, 3 x 64, norm of
    # 4096: 891,070,784 in 23 mixers.
    assert sum(t.parameters for t in NANO.tensors()) == 891_070_784 // 23


@pytest.mark.parametrize(("tp", "groups"), [(1, 8), (2, 4), (8, 1), (16, 1), (32, 1)])
def test_heads_are_divided_and_too_few_groups_are_replicated(tp, groups):
    rank = shapes(NANO, tp)
    assert rank["in_proj"] == ((2 * 4096 + 64) // tp + 2 * 128 * groups, 2688)
    assert rank["conv1d"] == (4096 // tp + 2 * 128 * groups, 4)
    assert rank["out_proj"] == (2688, 4096 // tp)
    assert rank["gated_norm"] == (4096 // tp, 1)


def test_one_group_is_whole_on_every_rank():
    assert shapes(GRANITE, 4)["in_proj"] == ((2 * 8192 + 128) // 4 + 256, 4096)


def test_state_of_a_request_is_the_published_one():
    (state,) = NANO.caches()
    assert 23 * state.request_bytes() == 49_082_368
    # At TP 16 the window of B and C is that of one group of eight.
    assert state.request_bytes(tp=16) == 3 * (256 + 256) * 2 + 4 * 64 * 128 * 4
    (granite,) = GRANITE.caches()
    assert 36 * granite.request_bytes() == 152_819_712


@pytest.mark.parametrize("tp", [1, 2, 4, 8, 16, 32, 64])
def test_legal_sizes(tp):
    assert NANO.refusal(Sharding(tp=tp)) is None


def test_refusals_name_what_does_not_fit():
    assert NANO.refusal(Sharding(tp=3)) == (
        "TP 3 does not divide the 64 Mamba heads; legal: 1, 2, 4, 8, 16, 32, 64"
    )
    odd = Mamba2(hidden=3136, heads=96, head_dim=80, groups=8, state=128, kernel=4)
    assert odd.refusal(Sharding(tp=3)) == (
        "TP 3 fits no whole share of the 8 Mamba groups; legal: 1, 2, 4, 8, 16, 24, 32, 48"
    )


def test_biases_of_projections_are_counted_where_there_are_any():
    biased = Mamba2(2688, 64, 64, 8, 128, 4, conv_bias=False, proj_bias=True)
    more = {t.name: t.rows for t in biased.tensors() if t.name.endswith(".bias")}
    assert more == {"in_proj.bias": 10_304, "out_proj.bias": 2688}
