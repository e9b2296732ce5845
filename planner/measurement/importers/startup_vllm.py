"""Start-up logs of vLLM: from the first V0 engine to the wording of 2026. Memory is in GiB of one GPU."""

from __future__ import annotations

import re

from planner.measurement.importers.startup_lines import EngineLog, Outcome, Pattern, last, least, most

MARK = re.compile(
    r"Initializing an? (?:V1 )?LLM engine|vLLM API server version|GPU KV cache size:"
    r"|Available KV cache memory:|model weights take\s+[\d.]+GiB|for consumed memory \(weights"
)
N = r"(-?\d[\d,]*(?:\.\d+)?)"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(r"LLM engine \(v([^)\s]+)\)", engine_version=last),
    Pattern(r"vLLM API server version ([^\s,]+)", engine_version=last),
    Pattern(r"LLM engine .*?model='([^']+)'", model=last),
    Pattern(r"non-default args: .*?'model(?:_tag)?': '([^']+)'", model=last),
    Pattern(r"LLM engine .*?quantization=([^,\s]+)", weight_quant=last),
    Pattern(r"LLM engine .*?max_seq_len=(\d+)", max_model_len=last),
    Pattern(r"LLM engine .*?tensor_parallel_size=(\d+)", tp=last),
    Pattern(r"LLM engine .*?pipeline_parallel_size=(\d+)", pp=last),
    Pattern(r"LLM engine .*?data_parallel_size=(\d+)", dp=last),
    Pattern(r"LLM engine .*?decode_context_parallel_size=(\d+)", dcp=last),
    Pattern(r"LLM engine .*?enforce_eager=(True|False)", enforce_eager=last),
    Pattern(r"LLM engine .*?kv_cache_dtype=([^,\s]+)", kv_cache_dtype=last),
    Pattern(r"LLM engine .*?enable_prefix_caching=(True|False)", prefix_caching=last),
    Pattern(r"non-default args: .*?'gpu_memory_utilization': ([\d.]+)", mem_fraction=last),
    Pattern(r"non-default args: .*?'tensor_parallel_size': (\d+)", tp=last),
    Pattern(r"non-default args: .*?'max_model_len': (\d+)", max_model_len=last),
    Pattern(r"non-default args: .*?'max_num_seqs': (\d+)", max_num_seqs=last),
    Pattern(r"non-default args: .*?'max_num_batched_tokens': (\d+)", max_num_batched_tokens=last),
    Pattern(r"non-default args: .*?'enable_expert_parallel': (True|False)", ep=last),
    Pattern(r"Chunked prefill is enabled with max_num_batched_tokens=(\d+)", max_num_batched_tokens=last),
    Pattern(rf"Model loading took {N} Gi?B", weights_gib=most),
    Pattern(rf"Loading model weights took {N} Gi?B", weights_gib=most),
    # In a sentence, in a table of December 2024, or as `name=value` before.
    Pattern(rf"total_gpu_memory(?: \(|=|\s+){N}Gi?B", total_gpu_gib=least),
    Pattern(rf"gpu_memory_utilization(?: \(|=|\s+){N}", mem_fraction=last),
    Pattern(rf"model weights take\s+{N}Gi?B", weights_gib=most),
    Pattern(rf"non_torch_memory(?: takes |=|\s+){N}Gi?B", non_torch_gib=most),
    Pattern(rf"activation peak memory(?: takes)?\s+{N}Gi?B", activation_gib=most),
    Pattern(rf"reserved for KV Cache is {N}Gi?B", avail_kv_gib=least),
    Pattern(rf"available_kv_cache_memory\s+{N}Gi?B", avail_kv_gib=least),
    Pattern(rf" kv_cache_size={N}Gi?B", avail_kv_gib=least),
    Pattern(rf"Free memory on device(?: \S+)? \([\d.]+/{N} GiB\) on startup", total_gpu_gib=least),
    Pattern(rf"Desired GPU memory utilization is \({N},", mem_fraction=last),
    Pattern(rf"Actual usage is {N} GiB for consumed memory", consumed_gib=most),
    Pattern(rf"Actual usage is {N} GiB for weight", weights_gib=most),
    Pattern(rf"{N} GiB for peak activation", activation_gib=most),
    Pattern(rf"{N} GiB for non-torch memory", non_torch_gib=most),
    Pattern(rf"Estimated CUDA graph memory: {N} GiB", cudagraph_est_gib=most),
    Pattern(rf"Graph capturing finished in \d+ secs?, took {N} GiB", cudagraph_gib=most),
    Pattern(rf"Available KV cache memory: {N} GiB", avail_kv_gib=least),
    Pattern(rf"GPU KV cache size: {N} tokens", kv_tokens=least),
    Pattern(rf"# (?:GPU|CUDA|cuda|rocm) blocks: {N}", kv_blocks=least),
    Pattern(rf"Maximum concurrency for {N} tokens per request: [\d.,]+x", max_model_len=last),
    Pattern(rf"Maximum concurrency for [\d,]+ tokens per request: {N}x", max_concurrency=least),
    Pattern(rf"\({N} GiB KV cache is needed", needed_kv_gib=last),
    Pattern(rf"larger than the available KV cache memory \({N} GiB\)", avail_kv_gib=least),
    Pattern(rf"estimated maximum model length is {N}", est_max_len=last),
    Pattern(rf"Mamba cache blocks \({N}\)", kv_blocks=least),
)

OUTCOMES: tuple[Outcome, ...] = (
    (re.compile(r"No available memory for the cache blocks"), "no_kv_memory"),
    (re.compile(r"KV cache is needed, which is larger than the available"), "kv_too_small"),
    (re.compile(r"larger than the maximum number of tokens that can be stored in KV cache"), "kv_too_small"),
    (re.compile(r"is less than desired GPU memory utilization"), "free_memory_too_low"),
    (re.compile(r"exceeds available Mamba cache blocks"), "max_num_seqs_over_blocks"),
    (re.compile(r"OutOfMemoryError|(?:CUDA|HIP) out of memory"), "oom"),
)
"""What ends a start-up, the most telling first."""

UP = re.compile(
    r"Application startup complete|init engine \(profile|Graph capturing finished|GPU KV cache size:"
    r"|# (?:GPU|cuda|CUDA|rocm) blocks:"
)
"""What only a start-up prints that found room."""

VLLM = EngineLog("vLLM", MARK, PATTERNS, OUTCOMES, UP)
