"""Levers: every one that is named helps, and what is said to be enough is enough."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue
from planner.memory.levers import Lever, Pulled, remedies
from tests.memory.asking import fit

GIB = 2**30


def test_a_lever_that_is_enough_is_enough(catalogue: Catalogue) -> None:
    found = fit(catalogue, "llama-3.3-70b", "h100-sxm", 131072, tp=2)
    assert not found.fits
    assert f"lower the context to {found.max_context:,} tokens or less (enough by itself)" in found.remedies
    assert "a smaller checkpoint, fp8-dynamic (enough by itself)" in found.remedies
    assert "more GPUs: 4 (tp=4) (enough by itself)" in found.remedies
    assert fit(catalogue, "llama-3.3-70b", "h100-sxm", found.max_context, tp=2).fits
    assert not fit(catalogue, "llama-3.3-70b", "h100-sxm", found.max_context + 64, tp=2).fits
    assert fit(catalogue, "llama-3.3-70b", "h100-sxm", 131072, tp=2, weight_dtype="fp8-dynamic").fits
    assert fit(catalogue, "llama-3.3-70b", "h100-sxm", 131072, tp=4).fits


def test_a_lever_that_helps_in_part_says_by_how_much(catalogue: Catalogue) -> None:
    found = fit(catalogue, "llama-3.3-70b", "h100-sxm", 131072, tp=2)
    (fraction,) = [text for text in found.remedies if "memory fraction" in text]
    assert fraction.endswith("(gives 2.38 GiB of the 18.13 GiB that are lacking)")
    raised = fit(catalogue, "llama-3.3-70b", "h100-sxm", 131072, tp=2, memory_fraction=0.95)
    assert (raised.margin_bytes - found.margin_bytes) / GIB == pytest.approx(2.38, abs=0.005)
    assert -found.margin_bytes / GIB == pytest.approx(18.13, abs=0.005)


@pytest.mark.parametrize("model", ["gpt-oss-120b", "kimi-k3", "deepseek-v4-pro"])
def test_no_checkpoint_is_named_that_is_larger_than_the_present_one(catalogue: Catalogue, model: str) -> None:
    found = fit(catalogue, model, "l40s", 8192)
    assert not found.fits
    record = catalogue.model(model)
    for text in found.remedies:
        if "checkpoint" in text:
            name = text.split("checkpoint, ")[1].split(" ")[0]
            assert name in record.quantisations
            smaller = fit(catalogue, model, "l40s", 8192, weight_dtype=name)
            assert smaller.per_rank.weights_bytes < found.per_rank.weights_bytes


def test_where_weights_are_too_large_only_what_shrinks_them_is_named(catalogue: Catalogue) -> None:
    found = fit(catalogue, "kimi-k3", "b200-sxm", tp=8)
    assert found.per_rank.weights_bytes > found.per_rank.budget_bytes
    assert found.remedies == ("more GPUs: 16 (tp=8, pp=2) (enough by itself)",)


@pytest.mark.parametrize("gpu", ["rtx-3090", "l4", "h100-sxm"])
def test_without_a_pool_nothing_is_said_about_max_num_seqs(catalogue: Catalogue, gpu: str) -> None:
    found = fit(catalogue, "qwen3-next-80b-a3b", gpu, 8192)
    assert found.per_rank.available_bytes < 0
    assert found.safe_max_num_seqs is None
    assert not [text for text in (*found.warnings, *found.remedies) if "max_num_seqs" in text]


def test_how_little_is_left_is_a_warning_and_no_lever(catalogue: Catalogue) -> None:
    found = fit(catalogue, "llama-3.1-8b", "h100-sxm", 8192, concurrency=55)
    assert (found.fits, found.verdict) == (True, "tight")
    assert any(
        text.startswith("tight: ") and "are left over what was asked" in text for text in found.warnings
    )
    assert not [text for text in found.remedies if "are left" in text]


def test_of_alternatives_the_first_that_is_enough_is_named() -> None:
    mild, strong = Lever("GPUs", "2 GPUs"), Lever("GPUs", "4 GPUs")
    other, useless = Lever("batch", "a smaller batch"), Lever("towers", "no towers")
    pulled = [
        Pulled(useless, False, 0.0),
        Pulled(other, False, GIB),
        Pulled(mild, True, 3.0 * GIB),
        Pulled(strong, True, 9.0 * GIB),
    ]
    assert remedies(pulled, 2.0 * GIB) == (
        "2 GPUs (enough by itself)",
        "a smaller batch (gives 1.00 GiB of the 2.00 GiB that are lacking)",
    )
    assert remedies([Pulled(other, False, 0.04 * GIB)], GIB) == ()
