"""The input records refuse what cannot be, in one line."""

from __future__ import annotations

import pytest

from planner.errors import InvalidInput
from planner.scenario import Deployment, Workload


def test_gpus_and_sharding_follow_from_the_sizes() -> None:
    deployment = Deployment(tp=4, pp=2, dp=2, ep=8)
    assert deployment.gpus == 16
    assert deployment.sharding.ranks == 16
    assert deployment.sharding.expert_tp == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tp", 0),
        ("tp", 10**9),
        ("pp", -1),
        ("memory_fraction", 0.0),
        ("memory_fraction", 1.5),
        ("memory_fraction", float("nan")),
        ("max_num_batched_tokens", 0),
        ("speculative_tokens", 1000),
        ("tensor_parallel", 8),
    ],
)
def test_impossible_values_name_the_field(field: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=rf"^Deployment {field}: .* is not possible"):
        Deployment(**{field: value})  # type: ignore[arg-type]


def test_stages_must_agree_with_the_pipeline_size() -> None:
    assert Deployment(pp=2, pipeline_layers=(16, 32)).pipeline_layers == (16, 32)
    with pytest.raises(InvalidInput, match="names 2 stages, but pp is 3"):
        Deployment(pp=3, pipeline_layers=(16, 32))


def test_a_workload_is_positive() -> None:
    assert Workload(isl=1024, osl=400).context is None
    with pytest.raises(InvalidInput, match=r"^Workload context: 0 is not possible"):
        Workload(context=0)


def test_records_are_frozen() -> None:
    with pytest.raises((InvalidInput, ValueError, TypeError)):
        Deployment().tp = 2  # type: ignore[misc]
