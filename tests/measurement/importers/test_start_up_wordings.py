"""Start-up lines of other versions; the figures are published ones."""

from __future__ import annotations

import pytest


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
