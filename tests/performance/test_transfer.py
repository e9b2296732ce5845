"""KV transfer by the published curves, and what any transfer must obey."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalogue import Catalogue, load_catalogue
from planner.errors import InvalidInput, UnknownName
from planner.performance.transfer import transfer_time

SHIPPED = load_catalogue()
TOKEN_BYTES = 36 * 2 * 8 * 128 * 2
"""KV of one token of Qwen3-8B in BF16."""


@pytest.mark.parametrize(("tokens", "milliseconds"), [(1024, 1.50), (8192, 8.84), (32768, 31.65)])
def test_mooncake_times_as_published(catalogue: Catalogue, tokens: int, milliseconds: float) -> None:
    found = transfer_time(catalogue=catalogue, transferred_bytes=tokens * TOKEN_BYTES)
    assert found.curve == "mooncake-vllm-h800"
    assert found.time_s == pytest.approx(milliseconds / 1e3, rel=0.02)


def test_mooncake_in_sglang_as_published(catalogue: Catalogue) -> None:
    """12.6 GB in 76.8 ms."""
    found = transfer_time(catalogue=catalogue, transferred_bytes=12.6e9)
    assert found.low_s <= 0.0768 <= found.high_s


def test_small_pieces_are_slow(catalogue: Catalogue) -> None:
    def rate(piece: float) -> float:
        return transfer_time(
            catalogue=catalogue, transferred_bytes=4e9, library="mori", piece_bytes=piece
        ).rate_bytes_per_s

    assert rate(4096) == pytest.approx(12.46e9)
    assert rate(65536) == pytest.approx(41.39e9)
    assert rate(2**20) == pytest.approx(48.32e9)
    efa = transfer_time(catalogue=catalogue, transferred_bytes=4e9, fabric="efa", piece_bytes=65536)
    assert (efa.curve, efa.rate_bytes_per_s) == ("mooncake-efa-h200", pytest.approx(97e9))


def test_descriptors_limit_nixl(catalogue: Catalogue) -> None:
    """313 MB in 174 ms with 40,064 descriptors, 167 MB in 38.7 ms with 1,785."""
    for total, descriptors, seconds in ((313e6, 40_064, 0.1738), (167e6, 1785, 0.0387)):
        found = transfer_time(
            catalogue=catalogue, transferred_bytes=total, library="nixl", piece_bytes=total / descriptors
        )
        assert found.time_s == pytest.approx(seconds, rel=0.02)


@given(st.floats(1e5, 1e11), st.floats(1e9, 1e12), st.sampled_from(["mooncake", "mori", "nixl"]))
def test_no_transfer_beats_the_wire(total: float, line_rate: float, library: str) -> None:
    found = transfer_time(
        catalogue=SHIPPED, transferred_bytes=total, library=library, line_rate_bytes_per_s=line_rate
    )
    assert found.time_s >= total / line_rate * (1 - 1e-12)
    assert found.low_s <= found.time_s <= found.high_s
    more = transfer_time(
        catalogue=SHIPPED, transferred_bytes=total * 1.5, library=library, line_rate_bytes_per_s=line_rate
    )
    assert more.time_s >= found.time_s
    faster = transfer_time(
        catalogue=SHIPPED, transferred_bytes=total, library=library, line_rate_bytes_per_s=line_rate * 2
    )
    assert faster.time_s <= found.time_s * (1 + 1e-12)


def test_what_cannot_be_is_refused(catalogue: Catalogue) -> None:
    with pytest.raises(InvalidInput, match="transferred_bytes: 0 is not possible"):
        transfer_time(catalogue=catalogue, transferred_bytes=0)
    with pytest.raises(InvalidInput, match="line_rate_bytes_per_s: inf"):
        transfer_time(catalogue=catalogue, transferred_bytes=1, line_rate_bytes_per_s=float("inf"))
    with pytest.raises(UnknownName, match="unknown transfer library 'moncake'; nearest: mooncake"):
        transfer_time(catalogue=catalogue, transferred_bytes=1, library="moncake")
