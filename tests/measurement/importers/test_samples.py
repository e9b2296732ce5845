"""Formats of which no published file is at hand, by samples written after the source of each tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.measurement.importers.importing import Names, read_file
from planner.measurement.importers.startup_lines import plain_part

SAMPLES = Path(__file__).parents[2] / "data" / "bench_samples"
SAID = {"model": "qwen2.5-7b-instruct", "gpu": "h100", "n_gpus": "1"}


@pytest.fixture(scope="module")
def names(catalogue) -> Names:
    return Names(catalogue)


def _check(cells: dict[str, str], values: dict[str, object]) -> None:
    for column, value in values.items():
        if isinstance(value, str):
            assert cells[column] == value, column
        else:
            assert float(cells[column]) == pytest.approx(value), column


SERVING = [
    (
        "genai_perf.json",
        0,
        {"concurrency": 10, "output_tps_total": 261.25, "ttft_ms_median": 640.07, "tpot_ms_p99": 35.23},
    ),
    ("genai_perf.csv", 0, {"isl": 3000.05, "ttft_ms_mean": 1146.31, "e2e_s_median": 5.69023}),
    (
        "guidellm_before_0.4.json",
        0,
        {
            "concurrency": 8,
            "request_rate": "inf",
            "tpot_ms_median": 14.9,
            "ttft_ms_p99": 140,
            "total_tps_per_gpu": 4 * 640,
            "date": "2025-08-15",
        },
    ),
    ("guidellm_before_0.4.json", 1, {"concurrency": "", "output_tps_total": 1920, "e2e_s_median": 21}),
    (
        "guidellm_after_0.4.csv",
        1,
        {
            "request_rate": 6,
            "concurrency": 14.4,
            "ttft_ms_p99": 900,
            "tpot_ms_median": 17.2,
            "tpot_ms_p99": 20,
            "output_tps_total": 768,
            "date": "2026-03-01",
        },
    ),
    (
        "inference_perf_stage.json",
        0,
        {
            "request_rate": 10,
            "concurrency": 9.84375 * 2.1,
            "ttft_ms_median": 110,
            "tpot_ms_p99": 22,
            "e2e_s_median": 2,
            "total_tps_per_gpu": 6300,
        },
    ),
    ("llama_bench.json", 0, {"isl": 512, "total_tps_per_gpu": 7100.002165, "output_tps_total": ""}),
    (
        "llama_bench.jsonl",
        1,
        {"isl": 4096, "osl": 128, "output_tps_total": 118.881588, "tpot_ms_mean": 1000 / 118.881588},
    ),
    ("llama_bench.json", 2, {"output_tps_total": 853.333333 / 8, "total_tps_per_gpu": 853.333333}),
    ("llama_bench.csv", 1, {"engine_version": "b5163", "kv_dtype": "f16", "weight_dtype": "Q4_K_M"}),
    ("llama_bench.sql", 1, {"output_tps_total": 118.881588, "date": "2025-04-24"}),
    ("llama_bench.md", 1, {"isl": 512, "osl": 128, "output_tps_total": 116.71, "weight_dtype": "Q4_K_M"}),
    (
        "trtllm_report.json",
        0,
        {
            "n_gpus": 2,
            "tp": 2,
            "concurrency": 240.5,
            "output_tps_per_gpu": 2560,
            "total_tps_per_gpu": 5120,
            "ttft_ms_median": 900,
            "tpot_ms_p99": 48,
            "weight_dtype": "fp8",
            "e2e_s_median": 48,
        },
    ),
    (
        "trtllm_console.txt",
        0,
        {"n_gpus": 2, "output_tps_total": 5120, "ttft_ms_p99": 3000, "tpot_ms_mean": 46},
    ),
]


@pytest.mark.parametrize(("name", "position", "values"), SERVING)
def test_a_result_is_read_with_the_values_in_it(name, position, values, names) -> None:
    found = read_file(str(SAMPLES / name), SAID, names)
    assert found.problems == []
    _check(found.serving[position].cells, values)


LOGS = {
    "vllm_v0.log": {
        "engine": "vLLM",
        "engine_version": "0.6.6",
        "max_model_len": 20000,
        "total_gpu_gib": 79.10,
        "mem_fraction": 0.9,
        "weights_gib": 14.99,
        "non_torch_gib": 0.15,
        "activation_gib": 2.10,
        "avail_kv_gib": 53.95,
        "kv_blocks": 27622,
        "max_concurrency": 22.10,
        "cudagraph_gib": 0.26,
        "outcome": "fits",
    },
    "vllm_2026.log": {
        "engine_version": "0.28.0",
        "tp": 2,
        "weights_gib": 30.61,
        "avail_kv_gib": 37.91,
        "kv_tokens": 310544,
        "max_concurrency": 9.47,
        "consumed_gib": 31.46,
        "activation_gib": 1.90,
        "cudagraph_gib": 0.71,
        "total_gpu_gib": 79.18,
        "max_num_seqs": 256,
        "max_num_batched_tokens": 8192,
        "outcome": "fits",
    },
    "vllm_too_small.log": {
        "avail_kv_gib": 3.21,
        "needed_kv_gib": 6.0,
        "est_max_len": 17520,
        "outcome": "kv_too_small",
    },
    "sglang.log": {
        "engine": "SGLang",
        "model": "moonshotai/Kimi-K2.5",
        "tp": 8,
        "mem_fraction": 0.85,
        "weights_gib": 73.58,
        "sgl_avail_after_load_gb": 209.96,
        "kv_tokens": 2454421,
        "kv_size_gb": 160.63,
        "v_size_gb": "",
        "sgl_avail_after_pool_gb": 45.24,
        "cudagraph_gib": 2.37,
        "max_model_len": 262144,
        "outcome": "fits",
    },
    "trtllm.log": {
        "engine": "TensorRT-LLM",
        "engine_version": "0.21.0",
        "weights_gib": 6695 / 1024,
        "activation_gib": 1134.01 / 1024,
        "total_gpu_gib": 79.10,
        "free_before_kv_gib": 70.48,
        "avail_kv_gib": 63.43,
        "kv_blocks": 4060,
        "kv_tokens": 259840,
        "block_size": 64,
    },
    "llama_cpp.log": {
        "engine": "llama.cpp",
        "gpu": "h100",
        "n_gpus": 2,
        "weight_quant": "Q4_K_M",
        "weights_gib": (9219.87 + 9198.57) / 1024,
        "kv_size_mib": 8192,
        "kv_tokens": 32768,
    },
}


@pytest.mark.parametrize("name", LOGS)
def test_a_start_up_is_read_with_the_figures_it_prints(name, names) -> None:
    said = {"gpu": "h100", **({"model": "llama-2-7b", "tp": "1"} if name == "trtllm.log" else {})}
    found = read_file(str(SAMPLES / name), said, names)
    assert found.problems == []
    (row,) = found.startup
    _check(row.cells, LOGS[name])


def test_the_memory_of_a_start_up_adds_up(names) -> None:
    """total x fraction - consumed - activation = KV pool, by which a wrong unit or column would show."""
    cells = read_file(str(SAMPLES / "vllm_2026.log"), {"gpu": "h100"}, names).startup[0].cells
    total, share, used, peak, pool = (
        float(cells[name])
        for name in ("total_gpu_gib", "mem_fraction", "consumed_gib", "activation_gib", "avail_kv_gib")
    )
    assert total * share - used - peak == pytest.approx(pool, abs=0.02)


def test_every_sample_is_used() -> None:
    used = {name for name, *_ in SERVING} | set(LOGS) | {"README.md"}
    assert {path.name for path in SAMPLES.iterdir()} == used


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        (r"LLM engine \(v([^)\s]+)\)", "LLM engine (v"),
        (r"Graph capturing finished in \d+ secs?, took (\d+) GiB", "Graph capturing finished in "),
        (r"[Cc]apture (?:target decode |draft )?(?:cuda|CUDA) graph end\..*?mem usage=(\d+)", " graph end."),
        (r"(?:file type|model ftype)\s+= (Q4)", "= "),
        (r"a{2}bc*d+", "b"),
    ],
)
def test_what_a_line_must_contain_is_found_in_its_expression(expression, plain) -> None:
    assert plain_part(expression) == plain
