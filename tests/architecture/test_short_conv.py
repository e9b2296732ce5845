"""Short convolutions: published sizes, shapes on each rank, what a request keeps."""

from __future__ import annotations

from planner.architecture.blocks.short_conv import ShortConvolution
from planner.architecture.tensors import Sharding

LFM = ShortConvolution(2048, kernel=3, kept=3, projections=True)


def shapes(block, tp):
    return {t.name: t.rank_shape(Sharding(tp=tp))[1:] for t in block.tensors()}


def test_a_mixer_of_lfm2_has_the_published_parameters():
    # 2048 x 6144 in, 2048 x 2048 out, 2048 x 3 of convolution: 369,233,920 in 22 layers.
    assert sum(t.parameters for t in LFM.tensors()) == 369_233_920 // 22


def test_channels_are_divided():
    assert shapes(LFM, 4) == {"conv1d": (512, 3), "in_proj": (1536, 2048), "out_proj": (2048, 512)}
    assert LFM.refusal(Sharding(tp=4)) is None
    assert LFM.refusal(Sharding(tp=3)) == (
        "TP 3 does not divide the 2048 channels of a convolution; legal: 1, 2, 4, 8, 16, 32, 64"
    )


def test_a_request_keeps_the_published_bytes():
    (state,) = LFM.caches()
    assert 22 * state.request_bytes() == 270_336
    assert 22 * state.request_bytes(tp=2) == 135_168


def test_convolutions_of_kv_heads_are_replicated_like_the_heads():
    keys = ShortConvolution(1024, kernel=4, kept=3, heads=8)
    assert shapes(keys, 8) == shapes(keys, 16) == {"conv1d": (128, 4)}
    assert keys.refusal(Sharding(tp=3)) is None  # the attention beside it refuses
    stream = ShortConvolution(6144, kernel=4, kept=3, heads=1)
    assert shapes(stream, 8) == {"conv1d": (6144, 4)}


def test_biases_are_counted_where_there_are_any():
    biased = ShortConvolution(2048, kernel=3, kept=3, projections=True, bias=True)
    more = {t.name: t.rows for t in biased.tensors() if t.name.endswith(".bias")}
    assert more == {"conv1d.bias": 2048, "in_proj.bias": 6144, "out_proj.bias": 2048}
