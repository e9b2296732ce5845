"""Wordings of other versions, and what containers and shells do to a file; the figures are published ones."""

from __future__ import annotations

import json

import pytest

from planner.measurement.importers.importing import ImportedFile, Names, read_file

SAID = {"model": "qwen2.5-7b-instruct", "gpu": "h100", "n_gpus": "1"}
RESULT = {
    "model_id": "m",
    "completed": 8,
    "duration": 2.0,
    "max_concurrency": 2,
    "request_rate": "inf",
    "total_input_tokens": 256,
    "total_output_tokens": 128,
    "output_throughput": 64.0,
    "median_ttft_ms": 55.7,
    "median_tpot_ms": 11.2,
}


@pytest.fixture
def read(catalogue, tmp_path):
    """Read a text as a file."""

    def go(text: str, **said: str) -> ImportedFile:
        path = tmp_path / "file"
        path.write_text(text)
        stated = {key: value for key, value in {**SAID, **said}.items() if value}
        return read_file(str(path), stated, Names(catalogue))

    return go


BLOCK = """\
============ Serving Benchmark Result ============
Successful requests:                     100
Maximum request concurrency:             16
Benchmark duration (s):                  41.24
Total input tokens:                      99744
Total generated tokens:                  100000
Output token throughput (tok/s):         2425.01
Total Token throughput (tok/s):          4843.81
---------------Time to First Token----------------
Mean TTFT (ms):                          60.77
Median TTFT (ms):                        58.10
==================================================
"""


@pytest.mark.parametrize(
    "prefix",
    [
        "# ",
        "bench-1  | ",
        "2026-01-02T03:04:05.678901234Z ",
        "2026-01-02T03:04:05.67Z stdout F ",
        "[1,0]<stdout>:",
    ],
)
def test_a_block_is_read_behind_what_a_container_puts_before_its_lines(prefix, read) -> None:
    found = read("".join(f"{prefix}{line}\n" for line in BLOCK.splitlines()))
    assert found.problems == []
    (row,) = found.serving
    assert (row.cells["concurrency"], row.cells["output_tps_total"]) == ("16", "2425.01")
    assert (row.cells["isl"], row.cells["ttft_ms_median"]) == ("997.44", "58.1")


def test_a_block_behind_a_progress_bar_is_read(read) -> None:
    found = read("100%|####| 100/100 [00:41<00:00]" + BLOCK)
    assert found.problems == []
    assert found.serving[0].cells["ttft_ms_mean"] == "60.77"


def test_an_old_block_of_sglang_calls_its_total_otherwise_and_times_nothing(read) -> None:
    text = BLOCK.replace("Total Token throughput (tok/s): ", "Total throughput (tok/s):")
    (row,) = read(text + "Median TPOT (ms): 3\n").serving
    assert row.cells["total_tps_per_gpu"] == "4843.81"
    (row,) = read(
        text.replace("Median TTFT (ms):                        58.10", "Median TPOT (ms): -0.00")
    ).serving
    assert (row.cells["tpot_ms_median"], row.cells["tps_per_user"]) == ("", "")


def test_a_run_of_which_every_request_failed_is_none(read) -> None:
    failed = {**RESULT, "completed": 0, "failed": 8, "output_throughput": 0.0, "median_ttft_ms": 0.0}
    found = read(json.dumps(failed))
    assert found.serving == []
    assert "no request of the run succeeded" in found.problems[0]


def test_a_time_of_zero_is_none(read) -> None:
    (row,) = read(json.dumps({**RESULT, "median_tpot_ms": 0.0})).serving
    assert (row.cells["tpot_ms_median"], row.cells["ttft_ms_median"]) == ("", "55.7")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("between", ["", "\n"])
def test_files_that_were_joined_are_read_one_after_the_other(indent, between, read) -> None:
    texts = [
        json.dumps({**RESULT, "max_concurrency": n, "median_ttft_ms": 50.0 + n}, indent=indent)
        for n in (2, 4, 8)
    ]
    found = read(between.join(texts))
    assert found.problems == []
    assert [row.cells["concurrency"] for row in found.serving] == ["2", "4", "8"]


def test_of_joined_files_that_break_off_the_whole_ones_are_kept(read) -> None:
    text = json.dumps(RESULT, indent=2)
    found = read(f"{text}\n{text[:60]}")
    assert len(found.serving) == 1
    line = len(text.splitlines()) + 1
    assert found.problems[0].endswith(
        f"file:{line}: not valid JSON from here; the 1 items before it are read"
    )


def test_a_first_line_that_is_cut_off_keeps_no_other_line_from_being_read(read) -> None:
    line = json.dumps(RESULT)
    found = read(f"{line[:40]}\n{line}\n")
    assert len(found.serving) == 1
    assert "file:1: not valid JSON" in found.problems[0]


def test_what_prometheus_says_of_a_server_is_no_run(read) -> None:
    counts = {"count": 102048, "request_latency": {"mean": 5.1}, "time_to_first_token": {"mean": 3.7}}
    found = read(json.dumps({"load_summary": {}, "successes": counts, "failures": {}}))
    assert found.serving == []
    assert "import the lifecycle metrics beside it" in found.problems[0]


GENAI = """\
                              NVIDIA GenAI-Perf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
┃                         Statistic ┃    avg ┃    min ┃    max ┃    p99 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━╇━━━━━━━━╇━━━━━━━━┩
│          Time to first token (ms) │  13.68 │  11.07 │  21.50 │  18.81 │
│          Inter token latency (ms) │   1.86 │   1.28 │   2.11 │   2.11 │
│              Request latency (ms) │ 203.70 │ 180.33 │ 228.30 │ 225.45 │
│            Output sequence length │ 103.46 │  95.00 │ 134.00 │ 122.96 │
│ Output token throughput (per sec) │ 504.02 │    N/A │    N/A │    N/A │
└───────────────────────────────────┴────────┴────────┴────────┴────────┘
"""


def test_the_consoles_of_two_runs_are_two_runs(read) -> None:
    found = read(
        GENAI + GENAI.replace("13.68", "22.04").replace("203.70", "542.48").replace("504.02", "212.04")
    )
    assert found.problems == []
    assert [row.cells["ttft_ms_mean"] for row in found.serving] == ["13.68", "22.04"]
    assert [row.cells["output_tps_total"] for row in found.serving] == ["504.02", "212.04"]
    assert found.serving[0].cells["osl"] == "103.46"


def test_the_first_genai_perf_counts_nanoseconds_and_has_names_of_its_own(read) -> None:
    found = read(
        "Metric,avg,min,max,p99,p50\n"
        'Time To First Token (ns),"23,940,000",22920000,30750000,30100000,23200000\n'
        "Num Output Token,511.90,505,516,515,512\n"
        "Num Input Token,127.50,126,128,128,128\n\n"
        "Metric,Value\nOutput Token Throughput (per sec),86.48\n"
    )
    (row,) = found.serving
    assert [row.cells[name] for name in ("ttft_ms_mean", "ttft_ms_median", "isl", "osl")] == [
        "23.94",
        "23.2",
        "127.5",
        "511.9",
    ]


TRTLLM = """\
= ENGINE DETAILS
Model:                  meta-llama/Llama-2-7b-hf
TensorRT-LLM Version:   0.12.0
Quantization:           FP8
= WORLD + RUNTIME INFORMATION
TP Size:                2
PP Size:                1
= STATISTICS
===========================================================
Number of requests:             3000
Average Input Length (tokens):  128.0
Average Output Length (tokens): 128.0
Token Throughput (tokens/sec):  23405.927228471104
Request Throughput (req/sec):   182.8588064724305
Total Latency (seconds):        16.406100739
"""


@pytest.mark.parametrize("title", ["= STATISTICS", "= PERFORMANCE OVERVIEW"])
def test_early_trtllm_bench_counts_output_tokens_alone(title, read) -> None:
    """182.8588 requests/s x 128 tokens = 23,405.9 tok/s."""
    (row,) = read(TRTLLM.replace("= STATISTICS", title)).serving
    assert float(row.cells["output_tps_total"]) == pytest.approx(182.8588064724305 * 128)
    assert (row.cells["total_tps_per_gpu"], row.cells["concurrency"]) == ("", "")
    assert "offline maximum throughput: all 3000 requests" in row.cells["notes"]
    assert row.doubts == ()


def test_a_report_without_a_world_size_is_by_its_parallel_sizes(read) -> None:
    report = {
        "engine": {"model": "m", "version": "1.2"},
        "machine": {"name": "NVIDIA GB10"},
        "world_info": {"tp_size": 2, "pp_size": 1},
        "performance": {"system_output_throughput_tok_s": 3.37},
        "energy": {"average_gpu_power": 11.83},
    }
    (row,) = read(json.dumps(report), n_gpus="").serving
    assert row.cells["n_gpus"] == "2"
    assert "mean power of a GPU 11.83 W" in row.cells["notes"]


def test_the_cache_that_tries_memory_out_is_not_the_cache(read) -> None:
    text = (
        "[TensorRT-LLM] TensorRT LLM version: 1.2.0rc2\n"
        "[TensorRT-LLM][INFO] Max KV cache blocks per sequence: 288 [window size=8224], tokens per block=32, "
        "primary blocks=257, secondary blocks=0, max sequence length=9193\n"
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.56 GiB for max tokens in paged KV cache (8224).\n"
        "[TensorRT-LLM][INFO] Max KV cache blocks per sequence: 288 [window size=9193], tokens per block=32, "
        "primary blocks=1444, secondary blocks=0, max sequence length=9193\n"
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 3.17 GiB for max tokens in paged KV cache (46208).\n"
    )
    for log in (text, "".join(f"[1,0]<stdout>:{line}\n" for line in text.splitlines())):
        (row,) = read(log, tp="1").startup
        assert [row.cells[name] for name in ("avail_kv_gib", "kv_tokens", "kv_blocks")] == [
            "3.17",
            "46208",
            "1444",
        ]


def test_pools_of_sglang_with_sliding_windows_and_a_draft_are_told_apart(read) -> None:
    kv = "KV Cache is allocated. dtype: torch.bfloat16, #tokens:"
    found = read(
        "Load weight end. type=M, quant=fp8, fmt=e4m3, avail mem=58.40 GB, mem usage=79.80 GB.\n"
        f"[TP0] {kv} 612620, K size: 26.29 GB, V size: 26.29 GB\n"
        f"[TP0] {kv} 765776, K size: 1.64 GB, V size: 1.64 GB\n"
        "[TP0] SWAKVPool mem usage: 55.87 GB, swa size: 612620, full size: 765776\n"
        f"[TP0] {kv} 765776, K size: 0.20 GB, V size: 0.20 GB\n",
        tp="1",
    )
    (row,) = found.startup
    columns = ("kv_tokens", "kv_swa_tokens", "kv_size_gb", "k_size_gb", "weight_quant", "weights_gib")
    assert [row.cells[name] for name in columns] == ["765776", "612620", "55.87", "26.29", "fp8", "79.8"]


def test_buffers_of_the_host_are_no_memory_of_a_gpu(read) -> None:
    found = read(
        "0.01.234 I build: 8247 (aaa18bb49) with GNU\n"
        "load_tensors:      Vulkan0 model buffer size =  4717.38 MiB\n"
        "load_tensors:  Vulkan_Host model buffer size =   545.63 MiB\n"
        "llama_kv_cache: size = 4352.00 MiB (262144 cells, 8 layers, 1/1 seqs), K (q8_0): 2176.00 MiB\n"
    )
    (row,) = found.startup
    assert float(row.cells["weights_gib"]) == pytest.approx(4717.38 / 1024)
    assert row.cells["engine_version"] == "b8247"


def test_gpus_that_aiperf_watched_are_named_and_their_power_is_noted(read) -> None:
    def watched(name: str, watts: float) -> dict[str, object]:
        return {"gpu_name": name, "metrics": {"gpu_power_usage": {"unit": "W", "avg": watts}}}

    def result(*gpus: dict[str, object]) -> str:
        latency = {"unit": "ms", "avg": 200.0}
        nodes = {"node:9401": {"gpus": {f"gpu_{i}": gpu for i, gpu in enumerate(gpus)}}}
        return json.dumps(
            {
                "request_latency": latency,
                "time_to_first_token": latency,
                "telemetry_data": {"endpoints": nodes},
            }
        )

    (row,) = read(result(watched("NVIDIA H200", 600), watched("NVIDIA H200", 500)), gpu="").serving
    assert (row.cells["gpu"], row.cells["n_gpus"]) == ("NVIDIA H200", "1")
    assert "mean power of 2 GPUs 550 W" in row.cells["notes"]
    found = read(result(watched("NVIDIA H200", 600), watched("NVIDIA A2", 20)), gpu="")
    assert [row.missing for row in found.incomplete] == [("gpu",)]


def test_without_a_first_token_the_time_of_the_others_is_not_known(read) -> None:
    """4.765 ms x 999 tokens = 4,760 ms: the prefill of 250,000 tokens would be in the time of each token."""
    latencies = {"mean_ttft_ms": 0.0, "median_ttft_ms": 0.0, "mean_tpot_ms": 4.765, "median_tpot_ms": 4.83}
    whole = {**RESULT, **latencies, "mean_e2e_latency_ms": 4760.2, "median_e2e_latency_ms": 4825.55}
    (row,) = read(json.dumps(whole)).serving
    assert [row.cells[name] for name in ("ttft_ms_mean", "tpot_ms_mean", "tpot_ms_median")] == ["", "", ""]
    assert row.cells["e2e_s_median"] == "4.82555"
    assert "not streamed" in row.cells["notes"]


PROFILES = {
    "a table": """\
INFO 12-13 19:54:18 worker.py:243] Memory profiling results:
INFO 12-13 19:54:18 worker.py:243] total_gpu_memory     79.22GiB
INFO 12-13 19:54:18 worker.py:243] gpu_memory_utilization       0.90
INFO 12-13 19:54:18 worker.py:243] the current vLLM instance can use    71.29GiB
INFO 12-13 19:54:18 worker.py:243] model weights take   14.96GiB
INFO 12-13 19:54:18 worker.py:243] non_torch_memory     1.79GiB
INFO 12-13 19:54:18 worker.py:243] PyTorch activation peak memory       1.26GiB
INFO 12-13 19:54:18 worker.py:243] available_kv_cache_memory    53.29GiB
""",
    "values": """\
INFO 11-20 10:00:00 llm_engine.py:249] Initializing an LLM engine (v0.6.4) with config: model='m'
INFO 11-20 10:00:09 model_runner.py:1077] Loading model weights took 14.96 GB
INFO 11-20 10:00:12 worker.py:232] Memory profiling results: total_gpu_memory=79.22GiB \
initial_memory_usage=15.52GiB peak_torch_memory=16.22GiB memory_usage_post_profile=15.61GiB \
non_torch_memory=1.79GiB kv_cache_size=53.29GiB gpu_memory_utilization=0.90
""",
}


@pytest.mark.parametrize("form", PROFILES)
def test_the_memory_of_vllm_at_the_end_of_2024_is_read(form, read) -> None:
    """79.22 x 0.90 - 14.96 - 1.79 - 1.26 = 53.29 GiB."""
    (row,) = read(PROFILES[form], tp="1").startup
    columns = ("total_gpu_gib", "mem_fraction", "weights_gib", "non_torch_gib", "avail_kv_gib")
    assert [row.cells[name] for name in columns] == ["79.22", "0.9", "14.96", "1.79", "53.29"]
    assert row.cells["activation_gib"] == ("1.26" if form == "a table" else "")


AGGREGATE = {
    "hw": "gb300",
    "conc": 512,
    "model": "deepseek-ai/DeepSeek-R1",
    "framework": "dynamo-trt",
    "precision": "fp4",
    "isl": 1024,
    "osl": 1024,
    "median_ttft": 0.5,
}


def aggregate(output: float, total: float, prefill: int, decode: int, **more: object) -> str:
    """Return what InferenceX's CI writes of a run over several nodes."""
    return json.dumps(
        {
            **AGGREGATE,
            "is_multinode": True,
            "num_prefill_gpu": prefill,
            "num_decode_gpu": decode,
            "tput_per_gpu": total / (prefill + decode),
            "output_tput_per_gpu": output / (decode or prefill),
            "input_tput_per_gpu": (total - output) / prefill,
            "prefill_tp": 4,
            "prefill_ep": 4,
            "decode_tp": 32 if decode else 0,
            "decode_ep": 32 if decode else 0,
            **more,
        }
    )


def test_an_aggregate_over_nodes_divides_by_all_gpus(read) -> None:
    """32,000 output tokens/s by 32 GPUs that decode and 8 that prefill are 800 of each of the 40."""
    found = read(aggregate(32_000, 64_000, 8, 32, disagg=True), n_gpus="", gpu="")
    (row,) = found.serving
    columns = (
        "n_gpus",
        "prefill_gpus",
        "decode_gpus",
        "tp",
        "output_tps_per_gpu",
        "total_tps_per_gpu",
        "disagg",
    )
    assert [row.cells[name] for name in columns] == ["40", "8", "32", "32", "800", "1600", "true"]
    assert found.problems == []


def test_an_aggregate_over_nodes_without_a_split_has_no_part_that_decodes(read) -> None:
    found = read(aggregate(32_000, 64_000, 16, 0, disagg=False, prefill_pp=2), n_gpus="", gpu="")
    (row,) = found.serving
    columns = ("n_gpus", "tp", "pp", "output_tps_per_gpu", "total_tps_per_gpu")
    assert [row.cells[name] for name in columns] == ["16", "4", "2", "2000", "4000"]
    assert (found.problems, row.doubts) == ([], ())


def test_a_replica_of_pipeline_stages_has_tp_x_pp_gpus(read) -> None:
    single = {
        **AGGREGATE,
        "framework": "vllm",
        "is_multinode": False,
        "tp": 4,
        "pp": 2,
        "tput_per_gpu": 100.0,
    }
    (row,) = read(json.dumps({**single, "output_tput_per_gpu": 50.0}), n_gpus="").serving
    assert [row.cells[name] for name in ("n_gpus", "tp", "pp")] == ["8", "4", "2"]
    assert row.cells["output_tps_total"] == "400"


LLAMA_BENCH = {
    "build_number": 9927,
    "gpu_info": "AMD Radeon 8060S Graphics",
    "model_filename": "/models/Qwen3.6-35B-A3B-UD-Q4_K_XL.gguf",
    "model_type": "qwen35moe 35B.A3B Q4_K - Medium",
    "n_gpu_layers": 99,
    "n_prompt": 0,
    "n_gen": 128,
    "n_depth": 8192,
    "avg_ns": 1,
    "avg_ts": 46.668729,
}


def test_a_model_is_called_without_how_it_was_quantised(read) -> None:
    (row,) = read(json.dumps(LLAMA_BENCH), model="", gpu="", n_gpus="").serving
    columns = ("model", "weight_dtype", "isl", "osl", "output_tps_total")
    assert [row.cells[name] for name in columns] == ["Qwen3.6-35B-A3B", "Q4_K_XL", "8192", "128", "46.668729"]


def test_a_table_that_others_made_of_llama_bench_is_not_taken_for_its_own(read) -> None:
    found = read("model,start_depth,n_prompt,n_gen,avg_ts,gpu_info\nm,8192,0,128,10.4,GPU\n")
    assert found.serving == []
    assert "in no known format" in found.problems[0]
