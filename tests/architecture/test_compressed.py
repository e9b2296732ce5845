"""Compressed attention of DeepSeek-V4 and hyper-connections: published sizes, caches by length, refusals."""

from __future__ import annotations

import pytest

from planner.architecture import Sharding, build_architecture
from planner.architecture.blocks.compressed import Compressor, SharedVectorAttention, packed_entry
from planner.architecture.blocks.hyper import HyperConnection
from planner.architecture.caches import TokenCache
from planner.architecture.totals import kv_bytes, kv_bytes_per_token, parameters_by_group
from planner.errors import InvalidInput

FLASH = SharedVectorAttention(
    4096, 64, 512, q_lora=1024, out_groups=8, out_lora=1024, window=128, packed=packed_entry(512, 64)
)


@pytest.fixture(scope="module")
def flash(catalogue):
    return build_architecture(catalogue.model("deepseek-v4-flash").config)


def test_packed_entry():
    # 448 FP8 values, 64 position values in BF16, 7 one-byte scales padded to 8.
    assert dict(packed_entry(512, 64)) == {"fp8": 584, "fp8_ds_mla": 584}


def test_attention_parameters():
    parameters = sum(t.parameters for t in FLASH.tensors() if t.group == "attention")
    assert parameters == 4_599_057_088 // 43


@pytest.mark.parametrize("tp", [1, 2, 8])
def test_rank_shapes(tp):
    shapes = {t.name: t.rank_shape(Sharding(tp=tp))[1:] for t in FLASH.tensors()}
    assert shapes["kv_proj"] == (512, 4096)  # one vector for all heads: replicated
    assert shapes["q_b_proj"] == (32_768 // tp, 1024)
    assert shapes["o_a_proj"] == (8192 // tp, 4096)
    assert shapes["o_b_proj"] == (4096, 8192 // tp)
    assert shapes["sinks"] == (64 // tp, 1)


def test_groups_limit_tensor_parallelism():
    assert (
        FLASH.refusal(Sharding(tp=16))
        == "TP 16 does not divide the 8 groups of the output; legal: 1, 2, 4, 8"
    )


def test_weights_by_group(flash):
    groups = parameters_by_group(flash)
    assert groups["compressor"] == 261_443_584
    assert groups["indexer"] == 225_727_488
    assert groups["hyper_connection"] == 33_884_439


def test_bytes_per_token(flash):
    assert kv_bytes_per_token(flash, "bf16") == 6229
    assert kv_bytes_per_token(flash, "fp8") == 3850.25
    assert kv_bytes_per_token(flash, "fp8", tp=8) == 3850.25


@pytest.mark.parametrize(("tokens", "in_windows"), [(100, 100), (128, 128), (10_000, 128)])
def test_bytes_of_a_request(flash, tokens, in_windows):
    entries = 21 * (tokens // 4) * (584 + 132) + 20 * (tokens // 128) * 584
    sums = 21 * min(tokens, 8) * 2 * (1024 + 256) * 4 + 20 * in_windows * 2 * 512 * 4
    assert kv_bytes(flash, tokens, "fp8") == 43 * in_windows * 584 + entries + sums


def test_a_compressor_keeps_whole_groups():
    entries, sums = Compressor(4096, 512, ratio=128).caches()
    assert isinstance(entries, TokenCache)
    assert [entries.entries(n) for n in (127, 128, 300)] == [0, 1, 2]
    assert not sums.grows


def test_unknown_ratio(catalogue):
    config = {**catalogue.model("deepseek-v4-flash").config}
    config["compress_ratios"] = [0, 0, 8, *config["compress_ratios"][3:]]
    with pytest.raises(InvalidInput, match="compress_ratios has 8; expected 0, 4 or 128"):
        build_architecture(config)


def test_ratios_cover_layers_and_draft(catalogue):
    config = {**catalogue.model("deepseek-v4-flash").config}
    config["compress_ratios"] = config["compress_ratios"][:-1]
    with pytest.raises(InvalidInput, match="compress_ratios has 43 items; expected 44"):
        build_architecture(config)


def test_hyper_connection():
    # 24 weights (4 to read, 4 to write, 16 to mix) from the 4 streams together, their biases and 3 scales.
    mixing = HyperConnection(4096, 4)
    assert sum(t.parameters for t in mixing.tensors()) == 24 * 4 * 4096 + 24 + 3
    joining = HyperConnection(4096, 4, head=True)
    assert sum(t.parameters for t in joining.tensors()) == 4 * 4 * 4096 + 4 + 1
    assert mixing.caches() == ()
    assert mixing.refusal(Sharding(tp=7)) is None
