"""Collectives against published times, the speed of light, and what must hold for any size and group."""

from __future__ import annotations

import runpy
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.catalogue import load_catalogue
from planner.errors import CatalogueError, InvalidInput, UnknownName, Unsupported
from planner.measurement.collective_rows import collective_rows
from planner.performance.collectives import VOLUMES, collective_s, collective_spread, lower_bound_s
from planner.performance.fabric import Fabric, fabric_of

CATALOGUE = load_catalogue()
FAMILIES = CATALOGUE.fabrics()
ROWS = collective_rows(CATALOGUE)
MAKE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_collectives.py"))
PAGE = Path(__file__).parents[2] / "docs" / "collectives.md"
KINDS = (*VOLUMES, "all_to_all", "send")
TOKEN = 7168
"""Width of DeepSeek-V3 and Kimi K3."""


def links(gpu: str, **options: object) -> Fabric:
    return fabric_of(CATALOGUE.gpu(gpu), FAMILIES, **options)


def us(kind: str, size: float, ranks: int, gpu: str, **options: object) -> float:
    return float(collective_s(kind, size, ranks, links(gpu), **options)) * 1e6


def close(value: float, share: float) -> object:
    return pytest.approx(value, rel=share)


# -- where ranks are -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "ranks", "stride", "layout"),
    [
        ("h100", 8, 1, (8, 1)),
        ("h100", 16, 1, (8, 2)),
        ("h100", 12, 1, (8, 2)),
        ("b200", 2, 8, (1, 2)),
        ("b200", 4, 4, (2, 2)),
        ("gb200", 72, 1, (72, 1)),
        ("gb300", 144, 1, (72, 2)),
        ("mi355x", 16, 1, (8, 2)),
        ("h100-nvl", 8, 1, (2, 4)),
        ("h100-nvl", 2, 2, (1, 2)),
        ("gb10", 2, 1, (2,)),
        ("rtx-4090", 1, 1, (1,)),
    ],
)
def test_a_group_fills_a_node_before_it_takes_another(gpu, ranks, stride, layout):
    fabric = links(gpu)
    assert fabric.layout(ranks, stride) == layout
    network = [tier.family.topology == "network" for tier in fabric.tiers]
    crosses = any(size > 1 and net for size, net in zip(layout, network, strict=True))
    assert fabric.crosses_nodes(ranks, stride) == crosses


def test_a_mesh_gives_a_pair_one_link_and_a_switch_gives_it_all():
    mesh, switch = links("mi300x").tiers[0], links("h100").tiers[0]
    assert [mesh.rate(n) for n in (2, 3, 4, 8)] == [64e9, 128e9, 189e9, 448e9]
    assert [switch.rate(n) for n in (2, 4, 8)] == [450e9] * 3
    assert links("mi355x").tiers[0].rate(2) == 76.8e9


def test_every_accelerator_with_links_has_a_family():
    tiers = {gpu.id: links(gpu.id).tiers for gpu in CATALOGUE.gpus()}
    assert {tier.family.id for found in tiers.values() for tier in found} == set(FAMILIES) - {"efa"}
    families = {gpu: tiers[gpu][0].family.id for gpu in ("a100-sxm-80", "h20-96", "b300-sxm", "gb200-nvl72")}
    assert list(families.values()) == ["nvlink3", "nvlink4", "nvlink5", "nvlink5-rack"]
    assert [tier.family.id for tier in tiers["h200-nvl"]] == ["nvlink-bridge", "pcie"]
    assert [tier.family.id for tier in tiers["l40s"]] == ["pcie-host"]


def test_a_rate_of_your_own_replaces_that_of_the_catalogue():
    assert links("b200").tiers[-1].bytes_per_s == 50e9
    assert links("b200", network_bytes_per_s=195e9 / 8).tiers[-1].bytes_per_s == 24.375e9


# -- published times -----------------------------------------------------------------------------------------

# All-reduce on 8 GPUs of one node [us]: the fastest kernel of 16, 64 and 128 KiB as a range, NCCL's floor,
# NCCL at 16 MiB, and bus bandwidth of large messages [GB/s].
ALL_REDUCE = [
    ("a100", (8, 12), 22, 217, (222, 235)),
    ("h100", (3.6, 6.4), 16, 122, (445, 482)),
    ("h200", (3.6, 6.4), 16, 122, (445, 482)),
    ("b200", (5.8, 6.3), 25, 99, (704, 846)),
    ("b300", (5.8, 6.3), 25, 98, (704, 846)),
]


@pytest.mark.parametrize(("gpu", "small", "floor", "medium", "busbw"), ALL_REDUCE)
def test_an_all_reduce_of_one_node_takes_what_was_published(gpu, small, floor, medium, busbw):
    for size in (16, 64, 128):
        assert 0.75 * small[0] <= us("all_reduce", size * 1024, 8, gpu) <= 1.15 * small[1]
    assert us("all_reduce", 1024, 8, gpu, engine="nccl") == close(floor, 0.12)
    assert us("all_reduce", 2**24, 8, gpu, engine="nccl") == close(medium, 0.12)
    large = 1.75 * 2**34 / us("all_reduce", 2**34, 8, gpu, engine="nccl") / 1e3
    assert 0.97 * busbw[0] <= large <= 1.03 * busbw[1]


def test_an_nvl72_rack_is_one_domain():
    """GB300, 8 GPUs: 4.4-5.1 us up to 128 KiB, 9.9 at 2 MiB, 49 at 16 MiB; GB200, 72 GPUs: 834 GB/s."""
    assert us("all_reduce", 16 * 1024, 8, "gb300") == close(4.4, 0.15)
    assert us("all_reduce", 128 * 1024, 8, "gb300") == close(5.1, 0.2)
    assert us("all_reduce", 2**21, 8, "gb300") == close(9.9, 0.3)
    assert us("all_reduce", 2**24, 8, "gb300") == close(48.8, 0.3)
    assert 2 * 71 / 72 * 2**33 / us("all_reduce", 2**33, 72, "gb200", engine="nccl") / 1e3 == close(834, 0.05)


def test_four_nodes_on_efa_take_what_was_published():
    """B200: 382 GB/s at 16 GiB, 229 at 256 MiB, 64 at 16 MiB, 5.4 at 1 MiB; 360-380 us up to 512 KiB."""
    fabric = links("b200", network="efa")
    for size, busbw in ((2**34, 382e9), (2**28, 229e9), (2**24, 64e9), (2**20, 5.4e9)):
        predicted = 2 * 31 / 32 * size / float(collective_s("all_reduce", size, 32, fabric, engine="nccl"))
        assert predicted == close(busbw, 0.15)
    assert 360e-6 <= collective_s("all_reduce", 32 * 1024, 32, fabric, engine="nccl") <= 385e-6


def test_two_nodes_of_amd_take_what_was_published():
    """MI350X: 156, 190 and 249 GB/s at 32, 64 and 128 MiB; AMD expects 330-350 of two MI300X nodes."""
    fabric = links("mi350x", network_bytes_per_s=50e9)
    for size, busbw in ((2**25, 156.35e9), (2**26, 190.33e9), (2**27, 249.4e9)):
        assert 1.875 * size / float(collective_s("all_reduce", size, 16, fabric, engine="rccl")) == close(
            busbw, 0.22
        )
    assert 1.875 * 2**34 / us("all_reduce", 2**34, 16, "mi300x", engine="rccl") / 1e3 == close(340, 0.17)


EP = [
    ("h100", "low_latency", 128, {8: 112, 16: 288, 32: 406, 64: 471}, 0.15),
    ("h100", "low_latency", 16, {8: 36, 16: 76, 32: 97, 64: 105}, 0.15),
    ("h100", "normal", 4096, {8: 1464, 16: 2943, 32: 5329, 64: 18409}, 0.15),
    ("mi300x", None, 128, {8: 82, 16: 198, 32: 437}, 0.15),
    ("mi355x", None, 128, {8: 67, 16: 192, 32: 339}, 0.2),
]


@pytest.mark.parametrize(("gpu", "engine", "tokens", "published", "tolerance"), EP)
def test_dispatch_and_combination_take_what_was_published(gpu, engine, tokens, published, tolerance):
    """8 of 256 experts; FP8 with its scales goes out, BF16 comes back."""
    for ranks, expected in published.items():
        copies = tokens * TOKEN * 8
        both = sum(
            us("all_to_all", copies * width, ranks, gpu, engine=engine or "low_latency", top_k=8)
            for width in (33 / 32, 2)
        )
        assert both == close(expected, tolerance), ranks


def test_two_stages_of_kimi_k3_over_195_gbit_per_s():
    """The worked example of docs/collectives.md."""
    fabric = links("b200", network_bytes_per_s=195e9 / 8)
    tokens = np.array([1, 1024, 8192])
    size = tokens * TOKEN * 2.0
    sent, wire = (f("send", size, 2, fabric, stride=8) for f in (collective_s, lower_bound_s))
    assert sent * 1e3 == pytest.approx([0.0183, 0.736, 5.33], rel=0.01)
    assert wire[2] == pytest.approx(8192 * TOKEN * 2 / 24.375e9)
    assert sent[2] == pytest.approx(wire[2] / 0.95, rel=0.06)
    # Inside one node the same hand-over is 20 times faster, and TP16 pays for each layer what PP2 pays once.
    assert collective_s("send", size, 2, fabric)[2] < sent[2] / 20
    assert 2 * 61 * collective_s("all_reduce", size, 16, fabric)[0] > 100 * sent[0]


def test_worked_numbers_of_the_page():
    assert us("all_reduce", 2**20, 8, "h100") == close(13.4, 0.01)
    assert us("all_reduce", 2**20, 8, "h100", engine="nccl") == close(28.0, 0.01)
    times = {gpu: [us("all_reduce", 2**26, n, gpu) for n in (2, 4, 8)] for gpu in ("mi300x", "h100")}
    assert times["mi300x"] == pytest.approx([1405, 907, 467], rel=0.01)
    assert times["h100"] == pytest.approx([223, 323, 327], rel=0.01)
    wire = [float(lower_bound_s("all_reduce", 2**26, n, links("mi300x"))) * 1e3 for n in (2, 4, 8)]
    assert wire == pytest.approx([1.05, 0.53, 0.26], rel=0.01)
    assert us("all_to_all", 128 * TOKEN * 8 * 33 / 32, 16, "h100", engine="low_latency", top_k=8) == close(
        104, 0.01
    )


# -- the shipped rows ----------------------------------------------------------------------------------------


def test_no_measured_row_beats_the_wire():
    for row in ROWS:
        fabric = MAKE["fabric"](row, CATALOGUE)
        wire = float(lower_bound_s(row.kind, row.bytes, row.ranks, fabric, top_k=row.top_k))
        assert row.seconds >= wire, row
        assert MAKE["predicted"](row, fabric) >= wire, row


def test_errors_stay_within_their_gates():
    """Overall, and for each operator of each GPU; the exceptions are explained on the page."""
    off = defaultdict(list)
    for row in ROWS:
        ratio = MAKE["predicted"](row, MAKE["fabric"](row, CATALOGUE)) / row.seconds
        off[row.gpu, row.op].append(abs(np.log(ratio)))
    every = np.concatenate([np.array(found) for found in off.values()])
    assert every.size == len(ROWS) > 1900
    assert np.median(every) < 0.055
    assert np.quantile(every, 0.9) < 0.22
    rack = {(gpu, f"deepep_low_latency_{way}") for gpu in ("gb200-nvl72", "gb300-nvl72") for way in WAYS}
    weak = {("gaudi3", "all_reduce_busbw"), ("mi355x", "all_reduce_aiter_n8")}
    above = {key for key, found in off.items() if np.median(found) > 0.2}
    assert above <= rack | weak | {("gb10", "nccl_all_reduce_n2")}


WAYS = ("dispatch", "combine")


def test_the_spread_covers_four_rows_of_five():
    inside = []
    for row in ROWS:
        if row.op != "all_reduce_busbw" and not ("nvl72" in row.gpu and "deepep_low" in row.op):
            fabric = MAKE["fabric"](row, CATALOGUE)
            factor = collective_spread(row.kind, row.ranks, fabric, engine=row.engine)
            inside.append(abs(np.log(MAKE["predicted"](row, fabric) / row.seconds)) <= np.log(factor))
    assert 0.78 <= np.mean(inside) <= 0.95


def test_the_table_of_the_page_is_current():
    shown = PAGE.read_text(encoding="utf-8").split(MAKE["BEGIN"])[1].split(MAKE["END"])[0]
    assert shown.strip() == MAKE["table"](CATALOGUE)


# -- what must hold for any message --------------------------------------------------------------------------

GPUS = [
    "a100",
    "h100",
    "b200",
    "b300",
    "gb200",
    "mi300x",
    "mi355x",
    "rtx-pro-6000",
    "l40s",
    "h100-nvl",
    "gaudi3",
]
RATE = 50e9
messages = st.floats(1, 1e10)
groups = st.sampled_from([2, 3, 4, 6, 8, 12, 16, 32, 64])
engines = st.sampled_from([None, "vllm", "nccl"])


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(GPUS), st.sampled_from(KINDS), messages, groups, st.sampled_from([1, 2, 8]), engines,
    st.sampled_from([1, 8]),
)  # fmt: skip
def test_time_grows_with_bytes_and_never_beats_the_wire(gpu, kind, size, ranks, stride, engine, top_k):
    fabric = links(gpu, network_bytes_per_s=RATE)
    sizes = np.array([0.0, size, 1.01 * size, 100 * size])
    times = collective_s(kind, sizes, ranks, fabric, engine=engine, stride=stride, top_k=top_k)
    assert times[0] == 0
    assert (np.diff(times) > 0).all()
    assert (times >= lower_bound_s(kind, sizes, ranks, fabric, stride=stride, top_k=top_k)).all()


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(GPUS), st.sampled_from([*VOLUMES, "send"]), messages, st.sampled_from([2, 4, 8]),
    st.sampled_from([2, 4, 8]), engines,
)  # fmt: skip
def test_crossing_a_node_is_never_cheaper_than_staying_inside(gpu, kind, size, ranks, stride, engine):
    fabric = links(gpu, network_bytes_per_s=RATE)
    inside = collective_s(kind, size, ranks, fabric, engine=engine)
    assert collective_s(kind, size, ranks, fabric, engine=engine, stride=stride) >= inside


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(GPUS), st.sampled_from(KINDS), messages, groups, st.floats(1, 20))
def test_a_faster_network_is_never_slower(gpu, kind, size, ranks, factor):
    slow, fast = links(gpu, network_bytes_per_s=RATE), links(gpu, network_bytes_per_s=factor * RATE)
    assert collective_s(kind, size, ranks, fast) <= collective_s(kind, size, ranks, slow)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["a100", "h100", "b200", "gb200", "rtx-pro-6000", "l40s"]),
    st.sampled_from(["all_reduce", "all_gather", "reduce_scatter"]), st.floats(1, 1e9), groups, engines,
)  # fmt: skip
def test_more_ranks_take_longer_where_the_links_stay_the_same(gpu, kind, size, ranks, engine):
    """On a switch or PCIe, within the 4 % to which shares of different group sizes were fitted.

    The exceptions are physical: a switch that adds serves eight better than four, and a mesh has more links.
    """
    size = min(size, 1e6) if gpu in ("h100", "b200", "gb200") and kind == "all_reduce" else size
    fabric = links(gpu, network_bytes_per_s=RATE)
    few, more = (collective_s(kind, size, n, fabric, engine=engine) for n in (ranks, ranks + 1))
    assert more >= 0.96 * few


def test_more_ranks_help_on_a_mesh_and_where_the_switch_adds():
    for gpu, few in (("mi300x", 2), ("mi355x", 4), ("h100", 4)):
        assert us("all_reduce", 2**30, 8, gpu) < us("all_reduce", 2**30, few, gpu)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(GPUS), st.sampled_from(KINDS), groups)
def test_many_sizes_at_once_are_each_alone(gpu, kind, ranks):
    fabric = links(gpu, network_bytes_per_s=RATE)
    sizes = np.geomspace(1, 1e10, 12).reshape(3, 4)
    together = collective_s(kind, sizes, ranks, fabric, top_k=8)
    alone = [float(collective_s(kind, size, ranks, fabric, top_k=8)) for size in sizes.flat]
    assert together.shape == (3, 4)
    assert together.ravel() == pytest.approx(alone)
    assert (sizes == np.geomspace(1, 1e10, 12).reshape(3, 4)).all(), "the caller's array is left alone"


def test_one_rank_sends_nothing():
    for kind in KINDS:
        assert us(kind, 1e6, 1, "h100") == 0
        assert collective_spread(kind, 1, links("h100")) == 1


def test_a_library_alone_is_never_faster_than_the_best():
    sizes = np.geomspace(1, 1e10, 200)
    for gpu in GPUS:
        fabric = links(gpu)
        best, library = (collective_s("all_reduce", sizes, 8, fabric, engine=e) for e in ("vllm", "nccl"))
        assert (best <= library).all()


# -- what cannot be ------------------------------------------------------------------------------------------


def test_what_cannot_be_is_refused_in_one_line():
    with pytest.raises(UnknownName, match="all_reduce"):
        collective_s("allreduce", 1.0, 8, links("h100"))
    with pytest.raises(InvalidInput, match="at least 1"):
        collective_s("send", 1.0, 0, links("h100"))
    with pytest.raises(Unsupported, match=r"rtx-4090: 16 ranks need links between nodes.*Gbit/s"):
        collective_s("all_reduce", 1.0, 16, links("rtx-4090"))
    with pytest.raises(UnknownName, match="rdma"):
        links("h100", network="rmda")
    with pytest.raises(InvalidInput, match="a rate between nodes of"):
        links("h100", network_bytes_per_s=-1.0)


def test_a_file_of_your_own_replaces_an_algorithm(tmp_path):
    own = tmp_path / "cluster.yaml"
    ring = "{floor: 30 us, step: 8 us, share: 85 %, spread: 1.1, source: our tests, date: 2026-11-30}"
    own.write_text(f"fabrics:\n  rdma:\n    algorithms:\n      ring: {ring}\n")
    families = load_catalogue(extra=[own]).fabrics()
    assert families["rdma"].algorithms["ring"].share == {2: 0.85}
    assert families["rdma"].algorithms["send"] == FAMILIES["rdma"].algorithms["send"]
    own.write_text("fabrics:\n  rdma:\n    algorithms:\n      ring: {floor: 30, share: 85 %, spread: 1.1}\n")
    with pytest.raises(CatalogueError, match=r"cluster.yaml:4: fabrics.rdma.*no unit"):
        load_catalogue(extra=[own])
    own.write_text(
        "fabrics:\n  rdma:\n    algorithms:\n      ring: {floor: 30 us, share: 120 %, spread: 1.1}\n"
    )
    with pytest.raises(CatalogueError, match=r"cluster.yaml:4: fabrics.rdma.algorithms.ring.share"):
        load_catalogue(extra=[own])
