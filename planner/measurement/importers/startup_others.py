"""Start-up logs of SGLang, TensorRT-LLM and llama.cpp.

SGLang prints "GB" and divides by 2^30. TensorRT-LLM prints GiB and MiB of one GPU. llama.cpp prints MiB of
each device, of which the sum is kept, for it splits whole layers.
"""

from __future__ import annotations

import re

from planner.measurement.importers.startup_lines import (
    EngineLog,
    Outcome,
    Pattern,
    count,
    last,
    least,
    least_of_main,
    most,
    total,
)

N = r"(-?\d[\d,]*(?:\.\d+)?)"
DEVICE = r"(?:CUDA|ROCm|Vulkan|SYCL|Metal)(?!_Host)"
OOM: tuple[Outcome, ...] = (
    (re.compile(r"OutOfMemoryError|(?:CUDA|HIP) out of memory|cudaMalloc failed: out of memory"), "oom"),
)

SGLANG = EngineLog(
    "SGLang",
    re.compile(r"server_args=ServerArgs\(|KV Cache is allocated\..*?#tokens:|Load weight end\."),
    (
        Pattern(r"ServerArgs\(.*?model_path='([^']+)'", model=last),
        Pattern(r"ServerArgs\(.*?[( ]tp_size=(\d+)", tp=last),
        Pattern(r"ServerArgs\(.*?[( ]pp_size=(\d+)", pp=last),
        Pattern(r"ServerArgs\(.*?[( ]dp_size=(\d+)", dp=last),
        Pattern(r"ServerArgs\(.*?[( ]ep_size=(\d+)", ep=last),
        Pattern(r"ServerArgs\(.*?quantization='([^']+)'", weight_quant=last),
        Pattern(r"ServerArgs\(.*?kv_cache_dtype='([^']+)'", kv_cache_dtype=last),
        Pattern(rf"ServerArgs\(.*?mem_fraction_static={N}", mem_fraction=last),
        Pattern(r"ServerArgs\(.*?context_length=(\d+)", max_model_len=last),
        Pattern(r"ServerArgs\(.*?page_size=(\d+)", block_size=last),
        Pattern(r"ServerArgs\(.*?disable_cuda_graph=(True|False)", enforce_eager=last),
        Pattern(r"Load weight end\..*?, quant=(\w+)", weight_quant=last),
        Pattern(rf"Load weight end\..*?mem usage={N} GB", weights_gib=most),
        Pattern(rf"Load weight end\..*?avail mem={N} GB", sgl_avail_after_load_gb=least),
        # With sliding windows there are two pools, the second for the layers that see everything.
        Pattern(rf"KV Cache is allocated\..*?#tokens: {N}", kv_tokens=most),
        Pattern(rf"KV Cache is allocated\..*? K size: {N} GB", k_size_gb=least_of_main),
        Pattern(rf"KV Cache is allocated\..*?, V size: {N} GB", v_size_gb=least_of_main),
        Pattern(rf"KV Cache is allocated\..*?KV size: {N} GB", kv_size_gb=least_of_main),
        Pattern(rf"SWAKVPool mem usage: {N} GB", kv_size_gb=least_of_main),
        Pattern(rf"SWAKVPool .*?swa size: {N}", kv_swa_tokens=least),
        Pattern(rf"Mamba Cache is allocated\..*?max_mamba_cache_size: {N}", mamba_slots=least),
        Pattern(rf"Memory pool end\. avail mem={N} GB", sgl_avail_after_pool_gb=least),
        Pattern(
            rf"[Cc]apture (?:target decode |draft )?(?:cuda|CUDA) graph end\..*?mem usage={N} GB",
            cudagraph_gib=most,
        ),
        Pattern(rf"max_total_num_tokens={N}", kv_tokens=least),
        Pattern(rf"chunked_prefill_size={N}, max_prefill", max_num_batched_tokens=last),
        Pattern(rf"max_running_requests={N}, context_len", max_num_seqs=last),
        Pattern(rf"context_len={N}", max_model_len=last),
    ),
    (
        (re.compile(r"Not enough memory\. Please try to increase --mem-fraction-static"), "no_kv_memory"),
        *OOM,
    ),
    re.compile(r"fired up and ready to roll|max_total_num_tokens=|KV Cache is allocated\."),
)

TENSORRT_LLM = EngineLog(
    "TensorRT-LLM",
    re.compile(r"in paged KV cache \(\d+\)|\[TensorRT-LLM\]|\[TRT-LLM\]"),
    (
        Pattern(r"TensorRT[- ]LLM version: (\S+)", engine_version=last),
        Pattern(r"'tensor_parallel_size': (\d+)", tp=last),
        Pattern(r"'pipeline_parallel_size': (\d+)", pp=last),
        Pattern(r"'moe_expert_parallel_size': (\d+)", ep=last),
        Pattern(r"'model': '([^']+)'", model=last),
        Pattern(rf"free_gpu_memory_fraction[=:'\s]+{N}", mem_fraction=last),
        Pattern(r"max_seq_len=(\d+), max_num_requests", max_model_len=last),
        Pattern(r"max_num_requests=(\d+)", max_num_seqs=last),
        Pattern(r"max_num_tokens=(\d+)", max_num_batched_tokens=last),
        Pattern(rf"Loaded engine size: {N} MiB", weights_gib=most, factor=1 / 1024),
        Pattern(rf"Allocated {N} MiB for execution context memory", activation_gib=most, factor=1 / 1024),
        Pattern(rf"paged kv cache: total: {N} GiB", total_gpu_gib=least),
        Pattern(rf"paged kv cache: total: [\d.]+ GiB, available: {N} GiB", free_before_kv_gib=least),
        Pattern(rf"Number of blocks in KV cache primary pool: {N}", kv_blocks=least_of_main),
        Pattern(rf"Max KV cache blocks per sequence: .*?primary blocks={N}", kv_blocks=least_of_main),
        Pattern(rf"[Nn]umber of tokens per block: {N}", block_size=last),
        Pattern(rf"tokens per block={N}", block_size=last),
        Pattern(rf"Allocated {N} GiB for max tokens in paged KV cache", avail_kv_gib=least_of_main),
        Pattern(rf"for max tokens in paged KV cache \({N}\)", kv_tokens=least_of_main),
    ),
    OOM,
    re.compile(r"in paged KV cache \(\d+\)|Engine loaded and ready to serve|Application startup complete"),
)

LLAMA_CPP = EngineLog(
    "llama.cpp",
    re.compile(r"llm_load_tensors:|load_tensors:.*model buffer size|llama_kv_cache\w*:|KV self size"),
    (
        Pattern(r"\b(?:build|version)(?::| =) (\d+) \(", engine_version=last, text="b{}"),
        Pattern(r"general\.name\s+str\s+= (.+)$", model=last),
        Pattern(
            r"(?:file type|model ftype)\s+= (?:all )?(?:mostly )?(I?Q\w+(?: - [SML]\w+)?|F16|BF16|F32)",
            weight_quant=last,
        ),
        Pattern(r"^\s*Device (\d+): ", n_gpus=count),
        Pattern(r"^\s*Device \d+: ([^,]+),", gpu=last),
        Pattern(
            rf"load_tensors: .*?{DEVICE}\S*(?: model)? buffer size =\s*{N} MiB",
            weights_gib=total,
            factor=1 / 1024,
        ),
        Pattern(rf"n_ctx\s+= {N}$", max_model_len=last),
        Pattern(rf"llama_kv_cache(?:_unified)?: size =\s*{N} MiB", kv_size_mib=total),
        Pattern(rf"KV self size\s+=\s*{N} MiB", kv_size_mib=last),
        Pattern(r"KV self size.*?K \((\w+)\)", kv_cache_dtype=last),
        Pattern(r"llama_kv_cache(?:_unified)?: size =.*?K \((\w+)\)", kv_cache_dtype=last),
        Pattern(rf"llama_kv_cache(?:_unified)?: size =\s*[\d.]+ MiB \(\s*{N} cells", kv_tokens=most),
        Pattern(rf"llama_memory_recurrent: size =\s*{N} MiB", recurrent_mib=last),
    ),
    ((re.compile(r"failed to (?:load model|create context)|unable to allocate"), "oom"), *OOM),
    re.compile(r"llama_kv_cache\w*: size =|KV self size|server is listening"),
)
