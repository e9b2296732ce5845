"""Block-scaled weights: engines that stop at broken blocks refuse them in one line, with the way out."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue
from planner.errors import IllegalDeployment
from planner.memory import MemoryFit, fit_memory
from planner.scenario import Deployment, Workload


def fit(catalogue: Catalogue, model: str, gpu: str = "h100-sxm", **options: object) -> MemoryFit:
    return fit_memory(
        model=catalogue.model(model),
        gpu=catalogue.gpu(gpu),
        deployment=Deployment(**options),  # type: ignore[arg-type]
        workload=Workload(context=8192),
        catalogue=catalogue,
        advise=False,
    )


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
@pytest.mark.parametrize(
    ("model", "options"),
    [("minimax-m2", {}), ("qwen3-235b-a22b", {"weight_dtype": "fp8-block128"})],
)
def test_experts_of_1536_stop_at_tp_8_and_run_with_ep_8_or_tp_4(
    catalogue: Catalogue, engine: str, model: str, options: dict[str, str]
) -> None:
    with pytest.raises(IllegalDeployment) as refused:
        fit(catalogue, model, tp=8, engine=engine, **options)
    message = str(refused.value)
    assert "(1,536) of routed_experts into 192, no whole number of fp8-block128 blocks of 128" in message
    assert message.endswith("stops there; it runs with --ep 8 or with --tp 4")
    assert message.count("into") == 1
    assert fit(catalogue, model, tp=8, ep=8, engine=engine, **options).fits
    fit(catalogue, model, tp=4, engine=engine, **options)


def test_an_engine_that_is_not_known_to_stop_is_not_refused(catalogue: Catalogue) -> None:
    found = fit(catalogue, "minimax-m2", tp=8, engine="tensorrt-llm")
    assert any("whether TensorRT-LLM does is not known" in warning for warning in found.warnings)


def test_formats_without_blocks_are_cut_anywhere(catalogue: Catalogue) -> None:
    assert fit(catalogue, "qwen3-235b-a22b", tp=8, weight_dtype="fp8-dynamic").fits
