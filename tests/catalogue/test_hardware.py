"""The shipped accelerators: exact values, and rules that would catch the usual mistakes of public tables."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

from planner.catalogue import Catalogue, Confidence, Figure, Gpu, check_gpu
from planner.catalogue.gpu import NAMEPLATE_SHARE
from planner.catalogue.integrity import ONE_WAY_GB_S, Problem
from planner.errors import Unsupported
from planner.units import Dimension

GIB = 2**30


def test_every_accelerator_is_there(catalogue: Catalogue) -> None:
    gpus = catalogue.gpus()
    assert len(gpus) == len(catalogue.gpu_ids()) == 82
    assert Counter(gpu.vendor for gpu in gpus) == {
        "NVIDIA": 53,
        "AMD": 13,
        "Google": 4,
        "Apple": 4,
        "Intel": 6,
        "SambaNova": 1,
        "Huawei": 1,
    }


def test_every_alias_is_there(catalogue: Catalogue) -> None:
    aliases = [alias for key in catalogue.gpu_ids() for alias in catalogue.aliases("gpus", key)]
    unmapped = catalogue.ids("unmapped")
    assert len(unmapped) == 12
    assert len(set(aliases) | set(unmapped)) == 355
    for key in catalogue.gpu_ids():
        assert list(catalogue.gpu(key).aliases) == catalogue.aliases("gpus", key)


@pytest.mark.parametrize(
    ("name", "field", "gib"),
    [
        ("b200", "framework", 178.35),
        ("b300", "framework", 267.7),
        ("mi355x", "framework", 287.98),
        ("h200", "framework", 139.8),
        ("h100", "framework", 79.18),
        ("a100", "framework", 79.25),
        ("gb200", "framework", 184.3),
        ("gb300", "driver", 284208 / 1024),
        ("mi300x", "framework", 191.98),
        ("l40s", "framework", 44.3),
        ("rtx pro 6000", "framework", 94.97),
        ("gb10", "framework", 121.69),
        ("rtx 5090", "framework", 31.4),
        ("rtx 3090", "framework", 23.58),
        ("apple-m2-ultra-76c", "practical", 139.4),
    ],
)
def test_usable_memory(catalogue: Catalogue, name: str, field: str, gib: float) -> None:
    gpu = catalogue.gpu(name)
    assert gpu.usable_field == field
    assert gpu.usable_bytes == pytest.approx(gib * GIB, rel=1e-12)
    assert f"memory.{field}, {gpu.usable.confidence}" in gpu.usable_source


@pytest.mark.parametrize(
    ("name", "gib"),
    [("b200", 179.06), ("b300", 268.6), ("mi355x", 287.98), ("h200", 140.4), ("gb300", 277.55)],
)
def test_memory_that_the_driver_shows(catalogue: Catalogue, name: str, gib: float) -> None:
    driver = catalogue.gpu(name).memory.driver
    assert driver is not None
    assert driver.value / GIB == pytest.approx(gib, abs=0.011)
    assert driver.confidence == "measured"


def test_the_nameplate_is_never_taken_as_usable(catalogue: Catalogue) -> None:
    for gpu in catalogue.gpus():
        if gpu.memory.marketed is None:
            continue
        if gpu.usable_field == "marketed":
            assert gpu.usable.confidence == "assumed", gpu.id
            assert gpu.usable_bytes * gpu.devices == NAMEPLATE_SHARE * gpu.memory.marketed.value
            assert "97% of the marketed" in gpu.usable_source
        elif gpu.usable_field == "framework":
            # The assumed share promises less than any part with a published total really gives.
            assert gpu.usable_bytes * gpu.devices > NAMEPLATE_SHARE * gpu.memory.marketed.value, gpu.id


@pytest.mark.parametrize(
    ("name", "dtype", "tflops"),
    [
        ("b200", "bf16", 2250),
        ("b200", "fp8", 4500),
        ("b200", "fp4", 9000),
        ("b200", "nvfp4", 9000),
        ("b300", "fp4", 13500),
        ("b300", "int8", 153.5),
        ("mi355x", "bf16", 2516),
        ("mi355x", "fp8", 5033),
        ("mi355x", "mxfp4", 10066),
        ("h100", "bf16", 989),
        ("h100", "fp16", 989),
        ("h100", "FP8", 1979),
        ("a100", "int8", 624),
        ("rtx 4090", "fp8", 330.3),
        ("l40s", "fp8", 733),
        ("t4", "fp16", 65.13),
    ],
)
def test_dense_peaks(catalogue: Catalogue, name: str, dtype: str, tflops: float) -> None:
    assert catalogue.gpu(name).peak_flop_per_s(dtype) == pytest.approx(tflops * 1e12, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("h100", "fp4"), ("h200", "nvfp4"), ("mi300x", "fp4"), ("a100", "fp8"), ("mi250", "fp8"), ("t4", "bf16"),
     ("mi355x", "nvfp4"), ("h100", "fp3"), ("a100", "int4"), ("b100", "bf16")],
)  # fmt: skip
def test_an_absent_format_is_refused_and_the_existing_ones_are_named(
    catalogue: Catalogue, name: str, dtype: str
) -> None:
    gpu = catalogue.gpu(name)
    with pytest.raises(Unsupported, match=f"{gpu.id} has no dense {dtype} peak; it has: ") as caught:
        gpu.peak_flop_per_s(dtype)
    for known in gpu.rated_dtypes():
        assert known in str(caught.value)
        assert gpu.peak_flop_per_s(known) > 0
        assert gpu.supports(known)


def test_b100_has_no_credible_figure(catalogue: Catalogue) -> None:
    gpu = catalogue.gpu("b100")
    for question in (
        "usable_bytes",
        "bandwidth_bytes_per_s",
        "scale_up_bytes_per_s",
        "tdp_watts",
    ):
        with pytest.raises(Unsupported, match=r"b100: no .* is known \([a-z_.]+\)"):
            getattr(gpu, question)


def test_a_rank_runs_on_one_device_of_a_card(catalogue: Catalogue) -> None:
    card = catalogue.gpu("mi250")
    assert card.devices == 2
    assert card.usable_bytes == 65520 * 2**20
    assert card.bandwidth_bytes_per_s == 3.28e12 / 2
    assert card.peak_flop_per_s("bf16") == card.peaks["bf16"].value / 2
    assert "one of the 2 devices of a card" in card.usable_source
    assert card.node_gpus == 2 * card.node.gpus.value
    assert catalogue.gpu("max-1550").usable_bytes == NAMEPLATE_SHARE * 64e9


@pytest.mark.parametrize(
    ("name", "node", "domain", "whole", "topology"),
    [
        ("b200", 8, 8, True, "switch"),
        ("gb200", 4, 72, True, "switch"),
        ("mi355x", 8, 8, True, "mesh"),
        ("rtx 4090", 8, 1, False, "pcie"),
        ("h100 nvl", 8, 2, False, "mesh"),
        ("gb10", 1, 1, False, "none"),
        ("tpu v5p", 4, 8960, True, "torus"),
    ],
)
def test_nodes(catalogue: Catalogue, name: str, node: int, domain: int, whole: bool, topology: str) -> None:
    gpu = catalogue.gpu(name)
    assert (gpu.node_gpus, gpu.max_gpus_per_node, gpu.domain_gpus) == (node, node, domain)
    assert gpu.whole_nodes is whole
    assert gpu.scale_up is not None
    assert gpu.scale_up.topology == topology


def test_links_and_networks(catalogue: Catalogue) -> None:
    mi355x, b200 = catalogue.gpu("mi355x"), catalogue.gpu("b200")
    assert mi355x.scale_up_bytes_per_s == pytest.approx(537.6e9)
    assert mi355x.scale_up is not None
    assert mi355x.scale_up.p2p_link is not None
    assert mi355x.scale_up.p2p_link.value * 7 == pytest.approx(mi355x.scale_up_bytes_per_s)
    assert b200.scale_up_bytes_per_s == 900e9
    assert b200.scale_out_bytes_per_s == 50e9
    assert b200.node.nic_rate is not None
    assert b200.node.nic_rate.value == 400e9
    assert b200.node.nic_rate.unit is Dimension.BITS_PER_S


def figures_in(value: object) -> list[Figure]:
    if isinstance(value, Figure):
        return [value, *value.alternatives]
    if isinstance(value, dict):
        return [figure for part in value.values() for figure in figures_in(part)]
    if isinstance(value, tuple):
        return [figure for part in value for figure in figures_in(part)]
    fields = getattr(type(value), "model_fields", {})
    return [figure for field in fields for figure in figures_in(getattr(value, field))]


def test_every_figure_has_source_date_and_confidence(catalogue: Catalogue) -> None:
    figures = [figure for gpu in catalogue.gpus() for figure in figures_in(gpu)]
    assert len(figures) > 1000
    assert all(figure.source.title and figure.date and figure.confidence for figure in figures)
    assert {figure.confidence for figure in figures} == set(get_args(Confidence))
    assert all(figure.note for figure in figures if figure.source.id in ("derived", "planner-rule"))


def test_achieved_figures_are_kept(catalogue: Catalogue) -> None:
    rows = Counter(kind for gpu in catalogue.gpus() for kind, found in gpu.achieved.items() for _ in found)
    assert rows["gemm"] == 128 + 11
    assert rows["memory_bandwidth"] == 46 + 34
    assert rows["allreduce_busbw"] == 36 + 6
    assert rows["collective_latency"] == 77 + 4
    b200 = catalogue.gpu("b200").achieved
    curve = next(row for row in b200["collective_latency"] if row.stat.startswith("custom") and row.gpus == 8)
    assert curve.points is not None
    assert list(curve.points)[:2] == [1024, 16384]
    assert all(0 < seconds < 1 for seconds in curve.points.values())
    copy = catalogue.gpu("mi355x").achieved["p2p_copy"][0]
    assert (copy.value, copy.unit) == (pytest.approx(61.37e9), Dimension.BYTES_PER_S)


def test_the_shipped_catalogue_breaks_no_rule(catalogue: Catalogue) -> None:
    problems = [(gpu.id, problem) for gpu in catalogue.gpus() for problem in check_gpu(gpu)]
    assert [entry for entry in problems if entry[1].severity == "error"] == []
    # Sources that disagree by a factor of two; each was looked at, and the note says which is meant.
    assert {(key, problem.path[-1]) for key, problem in problems} == {
        ("rx-7900-xtx", "bf16"),
        ("rtx-a6000", "bf16"),
        ("gb10", "bf16"),
        ("rtx-pro-4500", "bf16"),
        ("rtx-pro-4500", "fp8"),
        ("rtx-pro-5000-48", "bf16"),
        ("mi250", "fp32"),
        ("mi210", "fp32"),
    }


def changed(gpu: Gpu, *path: str, value: float) -> Gpu:
    """Return the accelerator with one figure changed, or set where there was none."""
    first, rest = path[0], path[1:]
    if not rest:
        raise AssertionError("a figure stands inside a part of the record")
    part = getattr(gpu, first)
    old = part.get(rest[0]) if isinstance(part, dict) else getattr(part, rest[0])
    figure = (old or gpu.peaks["bf16"]).model_copy(update={"value": value})
    new = {**part, rest[0]: figure} if isinstance(part, dict) else part.model_copy(update={rest[0]: figure})
    return gpu.model_copy(update={first: new})


def errors(gpu: Gpu) -> list[Problem]:
    return [problem for problem in check_gpu(gpu) if problem.severity == "error"]


@pytest.mark.parametrize(
    ("name", "path", "value", "said"),
    [
        ("mi355x", ("peaks", "fp8"), 10.1e15, "a sparse figure?"),
        ("mi355x", ("peaks", "bf16"), 5.03e15, "a sparse figure?"),
        ("l40s", ("peaks", "fp8"), 1466e12, "a sparse figure?"),
        ("b200", ("peaks", "fp4"), 18e15, "a sparse figure?"),
        ("b300", ("peaks", "fp4"), 27e15, "a sparse figure?"),
        ("a100", ("peaks", "int8"), 1248e12, "a sparse figure?"),
        ("h100", ("peaks", "bf16"), 1979e12, "a sparse figure?"),
        ("b200", ("scale_up", "per_gpu"), 1800e9, "both ways added up?"),
        ("h100", ("scale_up", "per_gpu"), 900e9, "both ways added up?"),
        ("mi300x", ("scale_up", "per_gpu"), 896e9, "both ways added up?"),
        ("mi355x", ("scale_up", "p2p_link"), 153.6e9, "both ways added up?"),
        ("l40s", ("scale_up", "per_gpu"), 64e9, "both ways added up?"),
        ("mi355x", ("scale_up", "usable_p2p"), 80e9, "is above the link's"),
        ("b200", ("memory", "driver"), 192 * GIB, "above the nameplate even in GiB"),
        ("b300", ("memory", "driver"), 250 * GIB, "more than 12 % below the nameplate"),
        ("b200", ("memory", "framework"), 180 * GIB, "more than the driver shows"),
        ("h100", ("peaks", "fp4"), 3958e12, "sm_90 has no fp4 units"),
        ("mi300x", ("peaks", "fp4"), 5230e12, "gfx942 has no fp4 units"),
        ("mi250x", ("peaks", "fp4"), 766e12, "gfx90a has no fp4 units"),
        ("a100", ("peaks", "fp8"), 624e12, "sm_80 has no fp8 units"),
        ("rtx 3090", ("peaks", "fp8"), 142e12, "sm_86 has no fp8 units"),
        ("mi210", ("peaks", "fp8"), 362e12, "gfx90a has no fp8 units"),
        ("t4", ("peaks", "bf16"), 65e12, "sm_75 has no bf16 units"),
    ],
)  # fmt: skip
def test_an_injected_mistake_is_found(
    catalogue: Catalogue, name: str, path: tuple[str, str], value: float, said: str
) -> None:
    gpu = catalogue.gpu(name)
    assert errors(gpu) == []
    if gpu.peaks.get("bf16") is None:
        gpu = gpu.model_copy(update={"peaks": {**gpu.peaks, "bf16": gpu.peaks["fp16"]}})
    found = errors(changed(gpu, *path, value=value))
    assert any(said in problem.message and problem.path == path for problem in found), found


def test_gb_taken_for_gib_is_warned_of(catalogue: Catalogue) -> None:
    problems = check_gpu(changed(catalogue.gpu("b200"), "memory", "framework", value=178.35e9))
    assert [problem.severity for problem in problems] == ["warning"]
    assert "GB were taken for GiB" in problems[0].message


def test_formats_are_checked_like_peaks(catalogue: Catalogue) -> None:
    h100 = catalogue.gpu("h100")
    assert h100.dtypes is not None
    formats = h100.dtypes.model_copy(update={"list": (*h100.formats, "nvfp4")})
    found = errors(h100.model_copy(update={"dtypes": formats}))
    assert [problem.message for problem in found] == [
        "sm_90 has no fp4 units, so nvfp4 is not among its formats"
    ]


def test_links_stay_at_or_under_their_generation(catalogue: Catalogue) -> None:
    checked = 0
    for gpu in catalogue.gpus():
        link = gpu.scale_up
        if link and link.per_gpu and link.link in ONE_WAY_GB_S:
            checked += 1
            assert link.per_gpu.value <= ONE_WAY_GB_S[link.link] * 1e9, gpu.id
    assert checked > 30
