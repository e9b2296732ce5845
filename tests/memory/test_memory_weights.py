"""Weights of each rank against start-up logs and against arithmetic on a page."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue
from planner.errors import IllegalDeployment
from planner.memory.weights import split_layers
from tests.memory.asking import GIB, fit


@pytest.mark.parametrize(
    ("layers", "stages", "sizes"),
    [
        (32, 4, [8, 8, 8, 8]),
        (61, 2, [31, 30]),
        (93, 2, [47, 46]),
        (62, 4, [15, 16, 16, 15]),
        (5, 4, [1, 1, 2, 1]),
    ],
)
def test_uneven_layers_go_to_the_later_stages_but_not_the_last(
    layers: int, stages: int, sizes: list[int]
) -> None:
    split = split_layers(layers, stages)
    assert [len(stage) for stage in split] == sizes
    assert [layer for stage in split for layer in stage] == list(range(layers))


def test_an_explicit_split_must_add_up() -> None:
    assert [len(stage) for stage in split_layers(48, 2, (16, 32))] == [16, 32]
    with pytest.raises(IllegalDeployment, match="add up to 40; the model has 48"):
        split_layers(48, 2, (8, 32))
    with pytest.raises(IllegalDeployment, match="PP 9 needs at least 9 layers; the model has 8"):
        split_layers(8, 9)


# model, deployment, logged GiB of one GPU, tolerance.
LOGGED = [
    ("llama-3.1-8b", {}, 14.99, 0.005),
    ("llama-3.1-8b", {"tp": 4}, 3.77, 0.01),
    ("llama-3.1-8b", {"pp": 4}, 4.26, 0.01),
    ("llama-3.1-8b", {"weight_dtype": "f32"}, 29.98, 0.005),
    ("llama-3.1-8b", {"weight_dtype": "fp8-dynamic"}, 8.49, 0.005),
    ("llama-3.3-70b", {"tp": 4, "weight_dtype": "fp8-dynamic"}, 16.96, 0.005),
    ("mixtral-8x7b", {"tp": 2}, 43.51, 0.002),
    ("qwen3-next-80b-a3b", {"tp": 2}, 74.28, 0.002),
    ("deepseek-r1", {"tp": 8}, 79.80, 0.01),
    ("kimi-k2.5", {"tp": 4, "weight_dtype": "nvfp4"}, 139.53, 0.01),
    ("minimax-m2.5", {"tp": 4}, 53.75, 0.005),
    ("glm-5.2", {"tp": 4, "ep": 4, "weight_dtype": "nvfp4"}, 106.69, 0.01),
    ("gpt-oss-120b", {"tp": 1, "engine": "vllm==0.22.0"}, 66.14, 0.005),
    ("gpt-oss-120b", {"tp": 8, "engine": "vllm==0.22.1"}, 8.66, 0.02),
]


@pytest.mark.parametrize(("model", "deployment", "logged_gib", "tolerance"), LOGGED)
def test_weights_of_a_rank_equal_the_log(
    catalogue: Catalogue, model: str, deployment: dict[str, object], logged_gib: float, tolerance: float
) -> None:
    found = fit(catalogue, model, "h200-sxm", 2048, **deployment)
    fullest = max(stage.weights_bytes for stage in found.stages)
    assert fullest / GIB == pytest.approx(logged_gib, rel=tolerance)


@pytest.mark.parametrize(("tp", "experts_gb"), [(8, 180.8), (16, 120.5), (32, 60.3)])
def test_kernels_pad_narrow_experts(catalogue: Catalogue, tp: int, experts_gb: float) -> None:
    # Kimi K3's experts are 3,072 wide: 384 a rank at TP 8 stays, 192 and 96 are padded to a multiple of 128.
    found = fit(catalogue, "kimi-k3", "b300-sxm", 8192, tp=tp)
    assert found.per_rank.weights_by_group["routed_experts"] / 1e9 == pytest.approx(experts_gb, abs=0.1)
    assert any("kernels pad each expert" in text for text in found.warnings) is (tp > 8)


def test_weights_in_groups_add_up(catalogue: Catalogue) -> None:
    found = fit(catalogue, "deepseek-v3", "h200-sxm", 8192, tp=8)
    for stage in found.stages:
        assert stage.weights_by_group.total() == stage.weights_bytes


def test_dp_attention_holds_attention_and_shared_experts_whole(catalogue: Catalogue) -> None:
    split = fit(catalogue, "deepseek-r1", "h200-sxm", 8192, tp=8).per_rank.weights_by_group
    copied = fit(catalogue, "deepseek-r1", "h200-sxm", 8192, tp=1, dp=8, ep=8).per_rank.weights_by_group
    assert copied["shared_experts"] == 8 * split["shared_experts"]
    assert copied["attention"] > 4 * split["attention"]
    assert copied["routed_experts"] == pytest.approx(split["routed_experts"], rel=0.001)


def test_embedding_is_on_the_first_stage_and_the_head_on_the_last(catalogue: Catalogue) -> None:
    first, middle, last = fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, pp=3).stages
    assert first.weights_by_group["embed"] == last.weights_by_group["lm_head"] == 128256 * 4096 * 2
    assert not middle.weights_by_group["embed"]
    assert not middle.weights_by_group["lm_head"]


def test_a_tied_table_is_on_both_ends_of_a_pipeline(catalogue: Catalogue) -> None:
    first, last = fit(catalogue, "gemma-2-9b", "h100-sxm", 8192, pp=2).stages
    assert first.weights_by_group["embed"] == last.weights_by_group["embed"]


def test_only_the_tied_table_is_repeated(catalogue: Catalogue) -> None:
    for model in ("gemma-4-e2b", "gemma-4-e4b"):
        first, last = fit(catalogue, model, "h100-sxm", 8192, pp=2).stages
        vocabulary = catalogue.model(model).config["text_config"]["vocab_size"]
        hidden = catalogue.model(model).config["text_config"]["hidden_size"]
        assert last.weights_by_group["embed"] == first.weights_by_group["embed"] == 2 * vocabulary * hidden
        # The table of per-layer embeddings is looked up before the first layer alone.
        assert first.weights_by_group["ple"] > 4e9
        assert last.weights_by_group["ple"] < 0.1e9


def test_speech_output_is_not_loaded(catalogue: Catalogue) -> None:
    found = fit(catalogue, "qwen3-omni-30b-a3b", "h100-sxm", 8192)
    assert "talker" not in found.per_rank.weights_by_group
    assert found.per_rank.weights_by_group["vision"] > 0
    # The thinker alone has 31.7 billion parameters.
    assert found.per_rank.weights_bytes / 2 == pytest.approx(31_719_205_488, rel=0.001)


def test_draft_layers_and_towers_are_counted_when_they_are_loaded(catalogue: Catalogue) -> None:
    plain = fit(catalogue, "qwen3.8-27b", "h200-sxm", 8192)
    drafting = fit(catalogue, "qwen3.8-27b", "h200-sxm", 8192, speculative_tokens=1)
    # Logged: 51.1 GiB alone and 51.89 with the draft layer.
    gained = drafting.per_rank.weights_bytes - plain.per_rank.weights_bytes
    assert gained / GIB == pytest.approx(0.79, abs=0.02)
    assert drafting.kv_bytes_per_token_per_rank == plain.kv_bytes_per_token_per_rank * 17 / 16
    text = fit(catalogue, "qwen3.8-27b", "h200-sxm", 8192, text_only=True)
    assert plain.per_rank.weights_by_group["vision"] > 0
    assert not text.per_rank.weights_by_group["vision"]


def test_a_separate_draft_model_adds_its_weights_and_its_cache(catalogue: Catalogue) -> None:
    alone = fit(catalogue, "llama-3.3-70b", "h200-sxm", 8192, tp=4)
    drafted = fit(
        catalogue, "llama-3.3-70b", "h200-sxm", 8192, tp=4, draft_model="llama-3.2-1b", speculative_tokens=4
    )
    extra = drafted.per_rank.weights_bytes - alone.per_rank.weights_bytes
    assert extra == drafted.per_rank.weights_by_group.total() - alone.per_rank.weights_by_group.total()
    assert extra / GIB == pytest.approx(1.24e9 * 2 / 4 / GIB, rel=0.02)
    assert drafted.kv_bytes_per_token_per_rank - alone.kv_bytes_per_token_per_rank == 16 * 2 * 64 * 2 * 2


def test_tables_that_an_engine_keeps_on_the_host_are_named(catalogue: Catalogue) -> None:
    found = fit(catalogue, "deepseek-v4.1-flash", "b300-sxm", 8192, dp=8, ep=8, engine="vllm")
    assert found.per_rank.weights_bytes / GIB == pytest.approx(45.11, rel=0.05)
    assert any("host" in warning and "188.8" in warning for warning in found.warnings)
