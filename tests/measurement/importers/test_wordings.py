"""Wordings of other versions, and what containers and shells do to a file; the figures are published ones."""

from __future__ import annotations

import json

import pytest

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


def test_the_model_is_read_from_the_settings_that_the_client_prints(read) -> None:
    settings = (
        "Namespace(backend='vllm', model='google/gemma-4-26B-A4B-it', tokenizer=None, num_prompts=100)\n"
    )
    (row,) = read(settings + BLOCK, model="").serving
    assert row.cells["model"] == "google/gemma-4-26B-A4B-it"


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


def test_guidellm_0_5_counts_arrivals_at_a_rate_and_dates_them_by_its_scheduler(read) -> None:
    """5.6 requests/s x 3.861 s = 21.6 requests at once, of which 21.67 were measured."""

    def metric(mean: float, median: float, p99: float) -> dict[str, object]:
        none = {"mean": 0.0, "median": 0.0, "percentiles": {"p99": 0.0}, "count": 0}
        good = {"mean": mean, "median": median, "percentiles": {"p99": p99}, "count": 337}
        return {"successful": good, "errored": none, "incomplete": none, "total": good}

    backend = {"model": "Qwen/Qwen3-0.6B"}
    benchmark = {
        "type_": "generative_benchmark",
        "config": {"strategy": {"type_": "poisson", "max_concurrency": 512, "rate": 5.0}, "backend": backend},
        "scheduler_metrics": {"start_time": 1771584883.082664},
        "metrics": {
            "request_totals": {"successful": 337, "errored": 0, "incomplete": 3, "total": 340},
            "requests_per_second": metric(5.6, 3.1, 44.7),
            "request_concurrency": metric(21.67, 15, 70),
            "request_latency": metric(3.861406882, 3.752965927, 5.0846717),
            "prompt_token_count": metric(264, 264, 264),
            "output_token_count": metric(128, 128, 128),
            "time_to_first_token_ms": metric(94.1, 85.9, 180.0),
            "inter_token_latency_ms": metric(29.7, 28.9, 39.0),
            "output_tokens_per_second": metric(716.8, 700.0, 900.0),
        },
    }
    report = {"metadata": {"version": 1, "guidellm_version": "0.5.0"}, "args": {}, "benchmarks": [benchmark]}
    (row,) = read(json.dumps(report), model="").serving
    columns = ("model", "date", "request_rate", "concurrency", "e2e_s_median", "output_tps_total")
    expected = ["Qwen/Qwen3-0.6B", "2026-02-20", "5", "21.67", "3.752965927", "716.8"]
    assert [row.cells[name] for name in columns] == expected
    assert float(row.cells["total_tps_per_gpu"]) == pytest.approx(5.6 * 392)
    assert row.doubts == ()
