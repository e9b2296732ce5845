"""Host time of a step by engine and version."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue
from planner.performance.host import UNKNOWN, host_time


@pytest.mark.parametrize(
    ("engine", "version", "low_ms", "high_ms", "mode"),
    [
        ("vllm", "0.6.6", 4, 13, "synchronous (V0)"),
        ("vllm", "0.13.0", 1, 2, "synchronous (V1)"),
        ("vllm", "0.14.0", 0.1, 0.4, "asynchronous"),
        ("vllm", None, 0.1, 0.4, "asynchronous"),
        ("sglang", "0.5.23", 0.1, 0.4, "overlapped"),
        ("trtllm", None, 0.1, 0.4, "overlapped"),
    ],
)
def test_host_time_by_version(
    catalogue: Catalogue, engine: str, version: str | None, low_ms: float, high_ms: float, mode: str
) -> None:
    found = host_time(catalogue=catalogue, engine=engine, version=version)
    assert (found.low_s, found.high_s) == (pytest.approx(low_ms / 1e3), pytest.approx(high_ms / 1e3))
    assert found.low_s <= found.mid_s <= found.high_s
    assert found.mode == mode


@pytest.mark.parametrize("engine", ["llama.cpp", "no-such-engine"])
def test_an_engine_without_a_figure_gets_an_assumption(catalogue: Catalogue, engine: str) -> None:
    found = host_time(catalogue=catalogue, engine=engine)
    assert found is UNKNOWN
    assert found.source.startswith("assumed: ")
