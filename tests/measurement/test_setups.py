"""From what people write in logs to planner's records."""

from __future__ import annotations

import pytest

from planner.catalogue import Catalogue
from planner.errors import UnknownName
from planner.measurement.csvtable import CsvRow
from planner.measurement.engine_versions import engine_of, stated_version
from planner.measurement.names import find_model, quantisation_name
from planner.measurement.setups import (
    GIB,
    NotPredictable,
    nominal_gpu,
    setup_of,
    speculative_tokens,
    states_its_setup,
)
from planner.measurement.startup_logs import StartupLog, parse_log

CELLS = {"engine": "vLLM", "engine_version": "0.19.0", "model": "Qwen/Qwen3-8B", "gpu": "H100 SXM", "tp": "1"}


def log(**cells: str) -> StartupLog:
    made = parse_log(CsvRow(2, {**CELLS, **cells}))
    assert isinstance(made, StartupLog)
    return made


@pytest.mark.parametrize(
    ("name", "model", "quantisation"),
    [
        ("Qwen/Qwen3-8B", "qwen3-8b", None),
        ("somebody/Qwen3-8B-AWQ", "qwen3-8b", "int4-awq-g128"),
        ("somebody/Qwen3-8B-NVFP4", "qwen3-8b", "nvfp4"),
        ("somebody/Qwen3-32B-FP8-dynamic", "qwen3-32b", "fp8-dynamic"),
        ("somebody/Llama-3.3-70B-Instruct-quantized.w8a8", "llama-3.3-70b", "int8-w8a8"),
        ("zai-org/GLM-5.2 (NVFP4)", "glm-5.2", "nvfp4"),
        ("Qwen/Qwen3-32B (fine-tune) (fp8)", "qwen3-32b", "fp8"),
        ("nvidia/Kimi-K2.5-NVFP4", "kimi-k2.5", "nvfp4"),
    ],
)
def test_models_are_found_by_ever_shorter_forms_of_a_name(
    catalogue: Catalogue, name: str, model: str, quantisation: str | None
) -> None:
    found = find_model(name, catalogue)
    assert (found.model.id, found.quantisation) == (model, quantisation)


def test_an_unknown_model_is_named_as_it_was_written(catalogue: Catalogue) -> None:
    with pytest.raises(UnknownName, match="nobody/Qwen9-1B-AWQ"):
        find_model("nobody/Qwen9-1B-AWQ", catalogue)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("compressed-tensors int8 w8a8", "int8-w8a8"),
        ("int4 autoround", "int4-w4a16-g128"),
        ("gptq int4", "int4-w4a16-g128"),
        ("awq4", "int4-awq-g128"),
        ("fp8 (online)", "fp8-dynamic"),
        ("fp8/fp4", "mxfp4"),
        ("Q4_K_M", "gguf-q4_k_m"),
        ("UD-Q4_K_XL", "gguf-q4_k_xl"),
        ("fp8 w8a8", "fp8"),
        ("F16", "fp16"),
        ("bf16", "bf16"),
        ("", None),
        ("quantised", None),
    ],
)
def test_weight_formats(text: str, name: str | None) -> None:
    assert quantisation_name(text) == name


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.22.1rc1.dev281+gad2337814", "0.22.1rc1"),
        ("0.9.3.dev6 (V0)", "0.9.3.dev6"),
        ("0.7-0.8 (V0)", "0.7"),
        ("0.25+", "0.25"),
        ("0.21.x", "0.21"),
        ("ollama 0.30.2", "0.30.2"),
        ("0.1.dev20073", None),
        ("2023-11/12", None),
        ("image of 2026-09", None),
        ("", None),
    ],
)
def test_loose_versions(text: str, version: str | None) -> None:
    assert stated_version(text) == version


@pytest.mark.parametrize(
    ("cells", "engine"),
    [
        ({"engine_version": "0.8.1 (V0)"}, "vllm==0.8.1+v0"),
        ({"engine_version": "0.8.4 (V1)"}, "vllm==0.8.4"),
        ({"engine_version": "", "date": "2026-05-03"}, "vllm==0.19.0"),
        ({"engine_version": "", "date": "2026-05-04"}, "vllm==0.20.0"),
        ({"engine_version": "", "date": "2026-06"}, "vllm==0.22.0"),
        ({"engine_version": "", "date": "2026-07", "consumed_gib": "5"}, "vllm==0.26.0"),
        ({"engine_version": "", "consumed_gib": "5"}, "vllm==0.26.0"),
        ({"engine_version": "", "date": ""}, "vllm"),
        ({"engine_version": "V0", "date": ""}, "vllm==0.9.0+v0"),
        ({"engine_version": "V0", "date": "2025-02"}, "vllm==0.7.2+v0"),
        ({"engine_version": "2026 build", "date": "2026-04-17"}, "vllm==0.19.0"),
        ({"engine": "SGLang", "engine_version": "0.5.12"}, "sglang==0.5.12"),
        ({"engine": "TensorRT-LLM", "engine_version": ""}, "tensorrt-llm"),
    ],
)
def test_versions_that_are_not_stated_follow_from_date_and_wording(
    cells: dict[str, str], engine: str
) -> None:
    found = engine_of(log(**cells))
    assert found is not None
    assert found.name == engine


@pytest.mark.parametrize(
    ("cells", "sizes"),
    [
        ({"tp": "8", "n_gpus": "16", "pp": "2"}, (8, 2, 1, 1)),
        ({"tp": "", "n_gpus": "8", "dp": "8", "ep": "on"}, (1, 1, 8, 8)),
        ({"tp": "8", "n_gpus": "8", "dp": "8", "engine": "SGLang"}, (1, 1, 8, 1)),
        ({"tp": "", "n_gpus": "2", "pp": "2"}, (1, 2, 1, 1)),
        ({"tp": "", "n_gpus": "4", "engine": "llama.cpp"}, (1, 4, 1, 1)),
        ({"tp": "4", "ep": "on"}, (4, 1, 1, 4)),
        ({"tp": "4", "ep": "off"}, (4, 1, 1, 1)),
        ({"tp": "2", "n_gpus": "8"}, (2, 1, 1, 1)),
    ],
)
def test_parallel_sizes(catalogue: Catalogue, cells: dict[str, str], sizes: tuple[int, ...]) -> None:
    made = setup_of(log(model="deepseek-ai/DeepSeek-R1", **cells), catalogue).deployment
    assert (made.tp, made.pp, made.dp, made.ep) == sizes


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"model": "not stated (MTP)"}, "model not stated"),
        ({"model": "8B class"}, "model named only by its class"),
        ({"model": "nobody/Qwen9-1B"}, "model not known"),
        ({"tp": ""}, "sizes not stated"),
        ({"tp": "4", "n_gpus": "2"}, "sizes contradict each other"),
        ({"tp": "9999"}, "sizes out of range"),
        ({"tp": "2", "ep": "8"}, "sizes contradict each other"),
        ({"ep": "some"}, "unreadable value"),
        ({"total_gpu_gib": "-1"}, "unreadable value"),
        ({"engine": "MLC"}, "engine not known"),
    ],
)
def test_a_row_that_says_too_little_gives_its_reason(
    catalogue: Catalogue, cells: dict[str, str], reason: str
) -> None:
    with pytest.raises(NotPredictable) as caught:
        setup_of(log(**cells), catalogue)
    assert caught.value.reason == reason


def test_the_memory_that_the_driver_reported_replaces_the_catalogues(catalogue: Catalogue) -> None:
    made = setup_of(log(total_gpu_gib="79.19"), catalogue)
    assert made.gpu is not None
    assert made.gpu.id == "h100-sxm"
    assert made.gpu.usable_bytes == pytest.approx(79.19 * GIB)
    assert setup_of(log(), catalogue).gpu == catalogue.gpu("h100-sxm")


def test_an_accelerator_known_by_its_memory_alone(catalogue: Catalogue) -> None:
    made = setup_of(log(gpu="24GB class (not stated)", total_gpu_gib="23.53"), catalogue)
    assert made.gpu is not None
    assert made.gpu.usable_bytes == pytest.approx(23.53 * GIB)
    assert setup_of(log(gpu="not stated"), catalogue).gpu is None
    assert nominal_gpu(log(gpu="", gpu_mem="24GB")).usable_bytes == 24e9


def test_the_memory_size_beside_a_name_decides_between_forms(catalogue: Catalogue) -> None:
    made = setup_of(log(gpu="A100", gpu_mem="40GB"), catalogue)
    assert made.gpu is not None
    assert made.gpu.id == "a100-sxm-40"


def test_weights_are_unknown_where_the_log_only_says_that_they_are_quantised(catalogue: Catalogue) -> None:
    assert not setup_of(log(model="Qwen/Qwen3-8B (quantised)"), catalogue).weights_known
    assert not setup_of(log(weight_quant="something new"), catalogue).weights_known
    assert setup_of(log(weight_quant="bf16"), catalogue).weights_known
    assert not setup_of(log(weight_quant="exl3"), catalogue).weights_known


def test_a_gguf_type_has_its_usual_size_where_the_catalogue_lists_none(catalogue: Catalogue) -> None:
    made = setup_of(log(engine="llama.cpp", weight_quant="Q8_0"), catalogue)
    assert made.weights_known
    assert made.deployment.weight_dtype == "gguf-q8_0"
    assert made.model.quantisations["gguf-q8_0"].formats == {"embed": "8.5bpw"}
    own = setup_of(
        log(engine="llama.cpp", model="meta-llama/Meta-Llama-3-8B", weight_quant="Q4_K_M"), catalogue
    )
    assert own.model == catalogue.model("llama-3-8b")


@pytest.mark.parametrize(
    ("text", "dtype", "known"),
    [("", "auto", True), ("fp16", "f16", True), ("fp8_e5m2", "fp8_e5m2", True), ("tq4", "auto", False)],
)
def test_kv_dtypes(catalogue: Catalogue, text: str, dtype: str, known: bool) -> None:
    made = setup_of(log(kv_cache_dtype=text), catalogue)
    assert (made.deployment.kv_dtype, made.kv_known) == (dtype, known)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("none", 0), ("MTP", 1), ("mtp 3", 3), ("2", 2), ("ngram 4", 0)],
)
def test_speculation_with_the_checkpoints_own_layers(catalogue: Catalogue, text: str, tokens: int) -> None:
    assert speculative_tokens(text, catalogue.model("qwen3.6-27b")) == tokens


@pytest.mark.parametrize("text", ["dspark 7", "EAGLE3 4", "dflash"])
def test_a_separate_draft_is_not_guessed(catalogue: Catalogue, text: str) -> None:
    with pytest.raises(NotPredictable, match="draft model not known"):
        speculative_tokens(text, catalogue.model("qwen3.6-27b"))


def test_a_checkpoint_that_holds_a_dspark_draft_needs_no_other(catalogue: Catalogue) -> None:
    assert speculative_tokens("dspark 5", catalogue.model("deepseek-v4.1-flash")) == 5


@pytest.mark.parametrize(
    ("cells", "stated"),
    [
        ({}, True),
        ({"gpu": "not stated"}, False),
        ({"gpu": "24GB class (not stated)"}, False),
        ({"gpu": "24GB class (not stated)", "total_gpu_gib": "23.5"}, True),
        ({"model": "8B class"}, False),
        ({"tp": ""}, False),
        ({"tp": "", "n_gpus": "2"}, True),
    ],
)
def test_which_rows_ought_to_be_predicted(cells: dict[str, str], stated: bool) -> None:
    assert states_its_setup(log(**cells)) is stated
