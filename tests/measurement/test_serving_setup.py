"""Serving points mapped to the catalogue, and looked up by operating point."""

from __future__ import annotations

from collections import Counter

import pytest

from planner.architecture import build_architecture
from planner.errors import UnknownName
from planner.measurement.serving import ServingFlag
from planner.measurement.serving_layout import Copies, layout_of
from planner.measurement.serving_lookup import measured_points
from planner.measurement.serving_setup import (
    SetupResolver,
    engine_name,
    states_operating_point,
    unpredictable,
    weight_bits,
)
from planner.measurement.setups import NotPredictable
from planner.scenario.schemes import weight_scheme


def found_in(points, **cells):
    return next(p for p in points if all(getattr(p, name) == value for name, value in cells.items()))


def test_every_point_that_states_its_operating_point_can_be_predicted(catalogue, serving_points):
    stated = [point for point in serving_points if states_operating_point(point)]
    assert len(stated) == 10973
    assert unpredictable(stated, catalogue) == Counter()


def test_what_other_points_lack_is_counted(catalogue, serving_points):
    reasons = unpredictable(serving_points, catalogue)
    assert reasons["model not known"] == 6
    assert reasons["accelerator not known"] == 2
    assert reasons["number of GPUs not stated"] == 853
    assert sum(reasons.values()) == 1170


def test_every_weight_dtype_is_one_that_its_model_can_have(catalogue, serving_points):
    resolver = SetupResolver(catalogue)
    combinations = set()
    for point in serving_points:
        try:
            setup = resolver.setup(point)
        except NotPredictable:
            continue
        combinations.add((setup.model.id, setup.weight_dtype))
    assert len(combinations) > 100
    for model, weight_dtype in combinations:
        record = catalogue.model(model)
        assert weight_scheme(record, build_architecture(record.config), weight_dtype)


@pytest.mark.parametrize(
    ("model", "vendor", "weight_dtype", "expected"),
    [
        ("DeepSeek-R1-0528", "AMD", "fp4", "mxfp4"),
        ("DeepSeek-R1-0528", "NVIDIA", "fp4", "nvfp4"),
        ("gpt-oss-120b", "NVIDIA", "fp4", "mxfp4"),
        ("Kimi-K2.5", "NVIDIA", "int4", None),
        ("DeepSeek-V4-Pro", "AMD", "fp4/fp8 native", None),
        ("MiniMax-M3", "AMD", "mxfp8", "mxfp8"),
    ],
)
def test_weight_dtypes_are_read_by_vendor_and_model(
    catalogue, serving_points, model, vendor, weight_dtype, expected
):
    point = found_in(serving_points, model=model, vendor=vendor, weight_dtype=weight_dtype)
    assert SetupResolver(catalogue).setup(point).weight_dtype == expected


def test_engines_are_named_by_their_kernels():
    names = {"dynamo-trtllm": "tensorrt-llm", "mori-sglang": "sglang", "vllm-atom": "atom", "vllm": "vllm"}
    assert {name: engine_name(name) for name in names} == names
    assert engine_name("sambaflow") is None


def test_weights_are_classed_by_bits(catalogue):
    deepseek = catalogue.model("deepseek-r1")
    assert [weight_bits(name, deepseek) for name in (None, "nvfp4", "bf16")] == [8, 4, 16]
    assert weight_bits(None, catalogue.model("gpt-oss-120b")) == 4


def test_the_copies_of_an_aggregated_point_use_all_its_gpus(serving_points):
    for point in serving_points:
        copies = layout_of(point).decode
        if not point.disagg and copies is not None and point.n_gpus:
            assert copies.gpus == point.n_gpus


def test_both_pools_together_use_all_gpus(serving_points):
    known = 0
    for point in serving_points:
        layout = layout_of(point)
        if layout.prefill and layout.decode and layout.prefill.gpus and layout.decode.gpus and point.n_gpus:
            assert layout.prefill.gpus + layout.decode.gpus == point.n_gpus
            known += 1
    assert known > 2000


def test_attention_copies_are_taken_out_of_tp(serving_points):
    inside = found_in(serving_points, n_gpus=8, tp=8, dp=8, ep=8, disagg=False)
    assert layout_of(inside).decode == Copies(copies=1, tp=1, pp=1, ep=8, dp=8)
    pools = next(
        point
        for point in serving_points
        if "prefill 2x(tp4,ep4,dpa=True) decode 1x(tp16,ep16,dpa=True)" in (point.notes or "")
    )
    assert layout_of(pools).prefill == Copies(copies=2, tp=1, pp=1, ep=4, dp=4)
    assert layout_of(pools).decode == Copies(copies=1, tp=1, pp=1, ep=16, dp=16)


def test_points_at_an_operating_point_are_found(catalogue):
    asked = {"model": "gpt-oss-120b", "gpu": "mi355x", "gpus": 1, "isl": 1024, "osl": 1024}
    found = measured_points(**asked, concurrency=64, engine="atom", catalogue=catalogue)
    assert found
    for point in found.at:
        assert (point.gpu, point.n_gpus, point.concurrency, point.isl) == ("MI355X", 1, 64, 1024)
        assert point.source_url
        assert not point.flags & ServingFlag.NOT_A_SERVICE
    dates = [point.date for point in found.at]
    assert dates == sorted(dates, reverse=True)


def test_a_concurrency_between_two_points_of_one_sweep_is_bracketed(catalogue):
    found = measured_points(
        model="deepseek-r1", gpu="mi355x", gpus=8, isl=1024, osl=1024, concurrency=48, catalogue=catalogue
    )
    assert found.between
    for below, above in found.between:
        assert below.concurrency < 48 < above.concurrency
        assert (below.source, below.engine, below.tp) == (above.source, above.engine, above.tp)


def test_other_weights_lengths_and_names_do_not_match(catalogue):
    asked = {"model": "deepseek-r1", "gpu": "mi355x", "gpus": 8, "catalogue": catalogue}
    four, eight = (measured_points(**asked, weight_dtype=name).at for name in ("mxfp4", "native"))
    assert {point.weight_dtype for point in four} <= {"fp4", "mxfp4", "mxfp4 (MoE), fp8 attention"}
    assert {point.weight_dtype for point in eight} <= {"fp8", None}
    assert four
    assert eight
    assert not measured_points(**asked, isl=777)
    with pytest.raises(UnknownName):
        measured_points(model="deepseek-r1", gpu="mi999", catalogue=catalogue)
