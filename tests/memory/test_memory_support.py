"""Formats that a GPU's units lack, and engines on hardware they do not run on: said, or refused."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue
from planner.errors import IllegalDeployment, PlannerError, Unsupported
from planner.scenario.support import has_units
from tests.memory.asking import fit


def warned(catalogue: Catalogue, model: str, gpu: str, **options: object) -> str:
    return " | ".join(fit(catalogue, model, gpu, 8192, **options).warnings)


@pytest.mark.parametrize(
    ("model", "gpu", "options", "said"),
    [
        ("llama-3.1-8b", "l40s", {"weight_dtype": "nvfp4"}, "nvfp4 weights on l40s run as Marlin W4A16"),
        ("gpt-oss-20b", "h100-sxm", {}, "mxfp4 weights on h100-sxm run as Marlin W4A16"),
        ("gpt-oss-120b", "mi300x", {}, "better: a GPU with FP4 units (gfx950, sm_100)"),
        ("llama-3.1-8b", "mi300x", {"weight_dtype": "nvfp4"}, "NVFP4 emulation"),
        ("llama-3.1-8b", "mi355x", {"weight_dtype": "nvfp4"}, "compute is that of fp8; better: an MXFP4"),
        ("llama-3.1-8b", "a100-sxm-80", {"weight_dtype": "fp8"}, "no FP8 matrix units before compute capab"),
        ("llama-3.1-8b", "a100-sxm-80", {"kv_dtype": "fp8"}, "the KV cache is expanded to 16 bits"),
        ("llama-3.1-8b", "t4", {"weight_dtype": "fp8"}, "whether vLLM has such a kernel is not known"),
        ("qwen3-0.6b", "t4", {}, "t4 has no BF16 units: BF16 weights are cast to FP16"),
        ("qwen3-0.6b", "v100s-32", {}, "v100s-32 has no BF16 units"),
        ("llama-3.1-8b", "tpu-v6e", {}, "vLLM runs on tpu-v6e through the plugin tpu-inference"),
        ("llama-3.1-8b", "apple-m2-ultra-76c", {}, "through the plugin vllm-metal"),
        ("llama-3.1-8b", "ascend-910b", {}, "through the plugin vllm-ascend"),
        ("llama-3.1-8b", "ascend-910b", {"engine": "sglang"}, "through its NPU backend"),
    ],
)
def test_what_units_lack_is_said(
    catalogue: Catalogue, model: str, gpu: str, options: dict[str, str], said: str
) -> None:
    assert said in warned(catalogue, model, gpu, **options)


@pytest.mark.parametrize(
    ("model", "gpu", "options"),
    [
        ("llama-3.1-8b", "b200-sxm", {"weight_dtype": "nvfp4", "kv_dtype": "fp8"}),
        ("llama-3.1-8b", "h100-sxm", {"weight_dtype": "fp8", "kv_dtype": "fp8"}),
        ("llama-3.1-8b", "mi300x", {"weight_dtype": "fp8", "kv_dtype": "fp8"}),
        ("llama-3.1-8b", "l4", {"weight_dtype": "int4"}),
        ("llama-3.1-8b", "t4", {"weight_dtype": "fp16"}),
        ("llama-3.1-8b", "apple-m2-ultra-76c", {"engine": "llama.cpp"}),
        ("llama-3.1-8b", "ascend-910b", {"engine": "llama.cpp"}),
    ],
)
def test_what_runs_as_it_should_gives_no_warning(
    catalogue: Catalogue, model: str, gpu: str, options: dict[str, str]
) -> None:
    said = warned(catalogue, model, gpu, **options)
    assert "units" not in said
    assert "plugin" not in said


@pytest.mark.parametrize(
    ("gpu", "options", "why"),
    [
        ("mi300x", {"engine": "tensorrt-llm"}, "TensorRT-LLM does not run on mi300x: it runs on NVIDIA GPUs"),
        ("t4", {"engine": "tensorrt-llm"}, "it begins at Ampere; vLLM and llama.cpp run"),
        ("sn40l", {}, "vLLM does not run on sn40l"),
        ("tpu-v6e", {"engine": "llama.cpp"}, "no backend for TPUs; vLLM has a plugin"),
        ("apple-m2-ultra-76c", {"engine": "sglang"}, "no backend for Metal; llama.cpp runs"),
        ("t4", {"weight_dtype": "bf16"}, "refuses weights in BF16 there; ask for fp16"),
        ("v100s-32", {"kv_dtype": "bf16"}, "no BF16 units for a BF16 KV cache; ask for f16"),
        ("v100s-32", {"weight_dtype": "fp8"}, "neither FP8 units nor a Marlin kernel on Volta; FP16 weights"),
        ("mi250", {"weight_dtype": "fp8"}, "FP8 on ROCm begins at gfx942"),
        ("h100-sxm", {"kv_dtype": "nvfp4"}, "only on GPUs with NVFP4 units; ask for fp8"),
    ],
)
def test_what_cannot_run_is_refused_with_a_way_out(
    catalogue: Catalogue, gpu: str, options: dict[str, str], why: str
) -> None:
    with pytest.raises(Unsupported, match=why):
        fit(catalogue, "llama-3.1-8b", gpu, 8192, **options)


def test_a_kernel_that_stops_for_the_heads_of_a_rank_refuses_that_size_only(catalogue: Catalogue) -> None:
    options = {"engine": "vllm==0.17.0", "kv_dtype": "fp8"}
    with pytest.raises(IllegalDeployment, match="TP 4 leaves 32 heads on a GPU, for which vLLM stops"):
        fit(catalogue, "deepseek-r1", "mi300x", 8192, tp=4, **options)
    assert fit(catalogue, "deepseek-r1", "mi300x", 8192, tp=8, **options).fits
    assert fit(catalogue, "deepseek-r1", "mi300x", 8192, tp=4, kv_dtype="fp8", engine="vllm").fits


def test_every_engine_says_something_about_every_vendor(catalogue: Catalogue) -> None:
    for gpu in catalogue.gpus():
        for stack in catalogue.stacks():
            assert stack.platform(gpu) is not None, (stack.id, gpu.id)


def test_an_accelerator_of_a_vendor_that_no_engine_knows_is_said(catalogue: Catalogue) -> None:
    from planner.memory import fit_memory
    from planner.scenario import Deployment, Workload

    part = catalogue.gpu("h100-sxm").model_copy(update={"id": "mine", "vendor": "Nobody"})
    found = fit_memory(
        model=catalogue.model("llama-3.1-8b"),
        gpu=part,
        deployment=Deployment(),
        workload=Workload(context=8192),
        catalogue=catalogue,
    )
    assert found.warnings == (
        "vLLM is not known to run on mine (Nobody): its memory rules are assumed to hold",
    )


def test_units_are_those_of_the_silicon(catalogue: Catalogue) -> None:
    assert has_units(catalogue.gpu("mi300x"), "fp8-block128")
    assert not has_units(catalogue.gpu("mi355x"), "nvfp4")
    assert has_units(catalogue.gpu("t4"), "int4-g128")
    assert not has_units(catalogue.gpu("t4"), "bf16")


def test_no_answer_on_any_gpu_ends_in_anything_but_a_refusal(catalogue: Catalogue) -> None:
    said = []
    for gpu in catalogue.gpu_ids():
        for dtype in ("auto", "fp8", "nvfp4", "mxfp4", "int8", "int4", "bf16"):
            try:
                fit(catalogue, "qwen3-0.6b", gpu, 2048, weight_dtype=dtype)
            except PlannerError as error:
                said.append(str(error))
    assert 10 < len(said) < 60
    assert not [text for text in said if "\n" in text]
