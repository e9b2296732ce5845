"""Rates of products by stack and date: the published figures, which one counts when, and what is assumed."""

from __future__ import annotations

import pytest

from planner.catalogue.training import TrainingRate
from planner.errors import InvalidInput, Unsupported
from planner.performance.training_rates import achieved_rate, achieved_rows, training_records


def rate(catalogue, gpu, dtype, **asked):
    return achieved_rate(catalogue, catalogue.gpu(gpu), dtype, **asked).flop_per_s / 1e12


@pytest.mark.parametrize(("dtype", "published"), [("bf16", 620 / 720), ("fp8", 990 / 1280)])
@pytest.mark.parametrize("other", ["h100-sxm", "h200-sxm"])
def test_ratios_of_december_2024_are_those_published(catalogue, dtype, published, other):
    """SemiAnalysis, December 2024: AMD's development build against what NVIDIA released."""
    when = {"stack": "development", "as_of": "2024-12-31"}
    assert rate(catalogue, "mi300x", dtype, **when) / rate(catalogue, other, dtype, **when) == pytest.approx(
        published
    )


@pytest.mark.parametrize(
    ("stack", "as_of", "bf16", "fp8"),
    [
        ("stable", "2024-12-31", 354.4, 206.8),
        ("stable", "2024-12", 354.4, 206.8),
        ("development", "2024-12-31", 620, 990),
        ("development", "2024-11", 354.4, 206.8),
        ("stable", "2025", 620, 1134.9),
        ("stable", None, 620, 1134.9),
        ("development", None, 620, 1134.9),
    ],
)
def test_stack_and_date_say_which_rate_of_mi300x_counts(catalogue, stack, as_of, bf16, fp8):
    assert rate(catalogue, "mi300x", "bf16", stack=stack, as_of=as_of) == pytest.approx(bf16)
    assert rate(catalogue, "mi300x", "fp8", stack=stack, as_of=as_of) == pytest.approx(fp8)


def test_nightly_builds_are_listed_and_never_planned_with(catalogue):
    mi300x = catalogue.gpu("mi300x")
    nightly = [one for one in achieved_rows(catalogue, mi300x) if one.channel == "nightly"]
    assert [one.flop_per_s for one in nightly] == [109.9e12]
    assert round(nightly[0].share, 2) == 0.04
    assert rate(catalogue, "mi300x", "fp8", stack="development", as_of="2024-12-19") != 109.9


def test_the_value_of_a_record_is_the_median_of_its_shapes(catalogue):
    checked = 0
    for gpu in catalogue.gpus():
        for record in training_records(catalogue, gpu):
            assert isinstance(record, TrainingRate)
            if record.shapes:
                ordered = sorted(record.shapes.values())
                middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
                assert record.value == pytest.approx(middle), record.id
                checked += 1
            assert record.value < gpu.peak_flop_per_s(record.dtype), record.id
    assert checked >= 5


def test_benchmarks_serve_where_no_stack_was_measured(catalogue):
    found = achieved_rate(catalogue, catalogue.gpu("mi325x"), "bf16")
    assert found.channel == "benchmark"
    assert not found.assumed
    assert found.source


def test_an_unmeasured_card_says_so(catalogue):
    found = achieved_rate(catalogue, catalogue.gpu("rtx-4090"), "bf16")
    assert found.assumed
    assert found.share == pytest.approx(0.65)
    assert "nobody measured it" in found.provenance


def test_no_rate_is_above_its_datasheet(catalogue):
    for gpu in catalogue.gpus():
        for one in achieved_rows(catalogue, gpu):
            assert 0 < one.share <= 1.01, one


def test_a_format_that_a_card_has_not_and_a_date_that_is_none(catalogue):
    with pytest.raises(Unsupported, match="a100"):
        achieved_rate(catalogue, catalogue.gpu("a100-sxm-80"), "fp8")
    for date in ("yesterday", "24-12", "2024-12-31-1", ""):
        with pytest.raises(InvalidInput, match="as_of"):
            achieved_rate(catalogue, catalogue.gpu("h100-sxm"), "bf16", as_of=date)


def test_no_benchmark_is_known_before_its_date(catalogue):
    found = achieved_rate(catalogue, catalogue.gpu("h100-sxm"), "bf16", as_of="2024-06")
    assert found.assumed
    assert found.flop_per_s == pytest.approx(0.65 * found.peak_flop_per_s)
