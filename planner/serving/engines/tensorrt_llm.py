"""`trtllm-serve`: its flags and the YAML file beside them from a deployment, and back.

TensorRT-LLM counts the ranks of attention copies in `--tp_size`; with attention DP each rank is a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.serving.book import launch_book
from planner.serving.engines.base import (
    Arguments,
    Flag,
    Line,
    Place,
    above_one,
    given,
    kv_dtype_of,
    kv_name,
    put,
    words_of,
)
from planner.serving.flags import Value
from planner.serving.wanted import Wanted

FILE = "trtllm.yaml"


class TensorRtLlmWriter:
    """TensorRT-LLM's server, with its PyTorch backend."""

    program = "tensorrt-llm"

    def command(self, wanted: Wanted) -> list[str]:
        """Return the words before the flags."""
        return ["trtllm-serve", wanted.checkpoint]

    def flags(self, wanted: Wanted, role: str) -> list[Flag]:
        """Return the flags of a server."""
        made = wanted.deployment
        return given(
            ("--backend", "pytorch"),
            ("--host", "0.0.0.0"),
            ("--port", wanted.port),
            ("--trust_remote_code", wanted.recipe.remote_code),
            ("--tp_size", wanted.ranks),
            ("--pp_size", above_one(made.pp)),
            ("--ep_size", above_one(made.ep)),
            ("--gpus_per_node", wanted.gpus_per_node if wanted.nodes > 1 else None),
            ("--max_seq_len", wanted.fit.context),
            ("--max_batch_size", made.max_num_seqs),
            ("--max_num_tokens", made.max_num_batched_tokens),
            ("--kv_cache_free_gpu_memory_fraction", made.memory_fraction),
            ("--extra_llm_api_options", FILE if self.files(wanted) else None),
        )

    def line(self, wanted: Wanted, flags: list[Flag], place: Place) -> Line:
        """Return the command for all nodes, which is given on the first one: MPI starts the others."""
        ranks = str(wanted.deployment.gpus)
        start = ["mpirun", "-n", ranks, "--hostfile", "hosts", "--allow-run-as-root", "trtllm-llmapi-launch"]
        return Line((*start, *self.command(wanted), *words_of(flags)))

    def files(self, wanted: Wanted) -> dict[str, dict[str, Any]]:
        """Return the file of what has no flag."""
        asked, draft = wanted.asked, wanted.draft
        cache: dict[str, Any] = {}
        if (name := kv_name(wanted)) != "auto":
            cache["dtype"] = name
        if asked.kv_cache_memory_bytes is not None:
            cache["max_gpu_total_bytes"] = asked.kv_cache_memory_bytes
        if asked.prefix_caching is not None:
            cache["enable_block_reuse"] = asked.prefix_caching
        if asked.block_size is not None:
            cache["tokens_per_block"] = asked.block_size
        found: dict[str, Any] = {"kv_cache_config": cache} if cache else {}
        if wanted.cast is not None:
            found["dtype"] = wanted.cast
        if wanted.deployment.dp > 1:
            found["enable_attention_dp"] = True
        if asked.enforce_eager:
            found["cuda_graph_config"] = None
        if draft is not None:
            tokens = wanted.deployment.speculative_tokens
            named = {"speculative_model": draft.checkpoint} if draft.checkpoint else {}
            count = {"max_draft_len": tokens} if draft.checkpoint else {"num_nextn_predict_layers": tokens}
            found["speculative_config"] = {"decoding_type": wanted.book.drafts[draft.kind], **count, **named}
        return {FILE: found} if found else {}

    def read(self, flags: Mapping[str, Value], files: Mapping[str, Mapping[str, Any]]) -> Arguments:
        """Return the arguments of `planner.fit` that the flags and the file stand for."""
        more = files.get(FILE, {})
        ranks = int(str(flags.get("--tp_size", 1)))
        copies = ranks if more.get("enable_attention_dp") else 1
        found: Arguments = {"tp": ranks // copies, "dp": copies}
        names = {
            "--pp_size": "pp",
            "--ep_size": "ep",
            "--max_seq_len": "context",
            "--max_batch_size": "max_num_seqs",
            "--max_num_tokens": "max_num_batched_tokens",
            "--kv_cache_free_gpu_memory_fraction": "memory_fraction",
        }
        put(found, flags, names)
        cache = more.get("kv_cache_config", {})
        if "dtype" in cache:
            found["kv_dtype"] = kv_dtype_of(cache["dtype"], launch_book().engine("tensorrt-llm").kv_dtypes)
        inside = {
            "max_gpu_total_bytes": "kv_cache_memory_bytes",
            "enable_block_reuse": "prefix_caching",
            "tokens_per_block": "block_size",
        }
        put(found, cache, inside)
        if "cuda_graph_config" in more:
            found["enforce_eager"] = more["cuda_graph_config"] is None
        drafts = more.get("speculative_config", {})
        for name in ("max_draft_len", "num_nextn_predict_layers"):
            if name in drafts:
                found["speculative_tokens"] = drafts[name]
        return found
