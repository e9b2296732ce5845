"""GGUF types are weight dtypes of every model in llama.cpp, refused where an engine cannot load them."""

from __future__ import annotations

import pytest

import planner
from planner.catalogue import Catalogue
from planner.errors import Unsupported
from planner.memory import fit_memory
from planner.scenario import Deployment, Workload
from planner.scenario.gguf import GGUF_BITS


def weights_gb(catalogue: Catalogue, model: str, dtype: str, engine: str = "llama.cpp") -> float:
    found = fit_memory(
        model=catalogue.model(model),
        gpu=catalogue.gpu("b300-sxm"),
        deployment=Deployment(weight_dtype=dtype, engine=engine),
        workload=Workload(context=4096),
        catalogue=catalogue,
        advise=False,
    )
    return found.per_rank.weights_bytes / 1e9


def test_qwen35_122b_in_q4_k_m_does_not_fit_48_gb(catalogue: Catalogue) -> None:
    # A tool sized it by its 10 B active parameters: 33 GB, "perfect fit". It is 70 to 75 GB.
    found = planner.fit(
        model="qwen3.5-122b-a10b",
        gpu="rtx-4090-48",
        gpus=1,
        engine="llama.cpp",
        weight_dtype="Q4_K_M",
        context=8192,
        catalogue=catalogue,
    ).answer
    assert (found.fits, found.memory.verdict) == (False, "does not fit")
    assert 70 < found.memory.per_rank.weights_bytes / 1e9 < 75
    assert "GGUF type q4_k_m" in found.weight_format


@pytest.mark.parametrize(
    ("model", "dtype", "published_gb"),
    [("llama-3.1-8b", "q4_k_m", 4.9), ("llama-3.1-70b", "Q4_K_M", 43.1), ("llama-3.1-405b", "q4_K_m", 249.1)],
)
def test_published_sizes_of_files(catalogue: Catalogue, model: str, dtype: str, published_gb: float) -> None:
    assert weights_gb(catalogue, model, dtype) == pytest.approx(published_gb, rel=0.01)


@pytest.mark.parametrize("dtype", [*GGUF_BITS, "f16", "bf16", "Q8_0", "IQ4_XS"])
@pytest.mark.parametrize(
    "model", ["llama-3.1-8b", "qwen3-30b-a3b", "nemotron-nano-9b-v2", "deepseek-v2-lite"]
)
def test_every_type_of_every_kind_of_model(catalogue: Catalogue, model: str, dtype: str) -> None:
    bits = GGUF_BITS.get(dtype.lower(), 16.0)
    whole = weights_gb(catalogue, model, "bf16")
    assert weights_gb(catalogue, model, dtype) == pytest.approx(whole * bits / 16, rel=0.01)


@pytest.mark.parametrize(
    ("model", "engine", "message"),
    [
        ("llama-3.1-8b", "tensorrt-llm", "TensorRT-LLM reads no GGUF files"),
        ("qwen3.5-122b-a10b", "vllm", "vLLM is not known to load q4_k_m of a model with recurrent states"),
    ],
)
def test_engines_that_cannot_load_them(catalogue: Catalogue, model: str, engine: str, message: str) -> None:
    with pytest.raises(Unsupported, match=f"{message}.*; use --engine llama.cpp"):
        weights_gb(catalogue, model, "q4_k_m", engine)


def test_vllm_says_that_they_are_experimental(catalogue: Catalogue) -> None:
    found = planner.fit(model="llama-3.1-8b", gpu="h100", weight_dtype="q4_k_m", catalogue=catalogue).answer
    assert found.fits
    assert any("experimental in vLLM" in text for text in found.warnings)
