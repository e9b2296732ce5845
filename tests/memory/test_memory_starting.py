"""A pool that holds enough is not a start: states for the default requests, and requests that wait."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalogue import Catalogue
from planner.memory import fit_memory, smallest_deployment
from planner.scenario import Deployment, Workload
from tests.memory.asking import fit


def test_gpt_oss_120b_needs_one_node_and_nemotron_nano_two_a10(catalogue: Catalogue) -> None:
    # A tool answered two nodes of A100 for the first, and one A10 for the second.
    for gpu in ("a100-sxm-80", "h100-sxm", "gb10"):
        found = fit(catalogue, "gpt-oss-120b", gpu, 8192)
        assert found.fits
        assert found.per_rank.weights_bytes / 2**30 == pytest.approx(61, abs=6)
    one = fit(catalogue, "nemotron-nano-9b-v2", "a10", 8192)
    assert (one.fits, one.verdict, one.holds) == (False, "tight", True)
    blocks = one.safe_max_num_seqs
    assert blocks is not None
    assert blocks < 256
    assert one.binding_limit.endswith(f"does not start as set up, set max_num_seqs to {blocks:,}")
    assert any(text.startswith(f"set max_num_seqs to {blocks:,}") for text in one.remedies)
    two = smallest_deployment(
        model=catalogue.model("nemotron-nano-9b-v2"),
        gpu=catalogue.gpu("a10"),
        workload=Workload(context=8192),
        deployment=Deployment(),
        catalogue=catalogue,
    )
    assert two is not None
    assert two.deployment.gpus == 2
    assert any(text.startswith(f"1 GPU holds it too with max_num_seqs {blocks:,}") for text in two.warnings)


@pytest.mark.parametrize(
    "options", [{"max_num_seqs": 128}, {"enforce_eager": True}, {"engine": "vllm==0.18.0"}]
)
def test_it_starts_with_fewer_requests_without_graphs_and_before_the_check(
    catalogue: Catalogue, options: dict[str, object]
) -> None:
    assert fit(catalogue, "nemotron-nano-9b-v2", "a10", 8192, **options).fits


def test_requests_over_the_default_of_the_engine_wait(catalogue: Catalogue) -> None:
    def warned(concurrency: int, **options: object) -> list[str]:
        found = fit_memory(
            model=catalogue.model("llama-3.1-8b"),
            gpu=catalogue.gpu("l40s"),
            deployment=Deployment(**options),  # type: ignore[arg-type]
            workload=Workload(context=256, concurrency=concurrency),
            catalogue=catalogue,
        )
        return [text for text in found.warnings if "the others wait" in text]

    assert not warned(256)
    assert warned(257) == [
        "257 requests at once are over vLLM's default max_num_seqs of 256: the others wait; "
        "set max_num_seqs to 257"
    ]
    assert not warned(257, max_num_seqs=257)
    assert "TensorRT-LLM's default max_num_seqs of 2,048" in warned(3000, engine="tensorrt-llm")[0]
    assert not warned(3000, engine="sglang")


def test_sglang_never_counts_negative_tokens(catalogue: Catalogue) -> None:
    found = fit(catalogue, "deepseek-r1", "mi300x", 8192, engine="sglang", tp=2)
    assert found.per_rank.available_bytes < 0
    assert (found.kv_tokens, found.max_concurrency, found.max_context) == (0, 0.0, 0)


def test_kimi_linear_runs_out_of_memory_in_its_profile_step(catalogue: Catalogue) -> None:
    # Measured on one H200: "tried to allocate 29.50 GiB", with 29.60 GiB reserved and unused.
    found = fit(catalogue, "kimi-linear-48b-a3b", "h200-sxm", 36_864, engine="vllm==0.20.2")
    assert (found.fits, found.verdict, found.overdrawn, found.block_size) == (False, "tight", True, 1888)
    assert found.binding_limit.startswith("profile step: 29.50 GiB of keys and values")
    assert found.remedies[0].startswith("lower max_num_seqs to 512: a profile step then sets 14.75 GiB")
    assert found.remedies[0].endswith("(enough by itself)")
    few = fit(catalogue, "kimi-linear-48b-a3b", "h200-sxm", 36_864, engine="vllm==0.20.2", max_num_seqs=128)
    assert (few.fits, few.overdrawn) == (True, False)
    assert fit(catalogue, "kimi-linear-48b-a3b", "h200-sxm", 36_864, engine="vllm==0.28.0").fits


@pytest.mark.parametrize(
    ("options", "came_up"),
    [
        ({"engine": "vllm==0.20.2"}, False),
        ({"engine": "vllm==0.20.2", "memory_fraction": 0.85, "max_num_seqs": 256}, True),
        ({"engine": "vllm==0.22.0", "memory_fraction": 0.9, "max_num_seqs": 64}, True),
    ],
)
def test_what_loading_leaves_must_fit_outside_the_fraction(
    catalogue: Catalogue, options: dict[str, Any], came_up: bool
) -> None:
    # Measured on one H200: 11.8 GiB more in use after loading than counted, at 0.92 out of memory.
    found = fit(catalogue, "gpt-oss-120b", "h200-sxm", 36_864, **options)
    assert (found.fits, found.overdrawn) == (came_up, not came_up)
    if not came_up:
        assert found.binding_limit.startswith("warm-up: loading leaves 11.77 GiB")
        assert found.remedies[0].startswith("lower the memory fraction to 0.91")
