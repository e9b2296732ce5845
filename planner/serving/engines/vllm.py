"""`vllm serve`: its flags from a deployment, and back."""

from __future__ import annotations

import json
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
    kv_flag,
    put,
    words_of,
)
from planner.serving.flags import Value, flags_of
from planner.serving.wanted import Wanted
from planner.serving.words import Shell

MASTER_PORT, RPC_PORT, RAY_PORT = 29501, 13345, 6379
TRANSFER = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}


class VllmWriter:
    """vLLM's OpenAI server."""

    program = "vllm"

    def command(self, wanted: Wanted) -> list[str]:
        """Return the words before the flags."""
        return ["vllm", "serve", wanted.checkpoint]

    def flags(self, wanted: Wanted, role: str) -> list[Flag]:
        """Return the flags of a server on one node."""
        made, asked = wanted.deployment, wanted.asked
        return [
            *given(
                ("--host", "0.0.0.0"),
                ("--port", wanted.port),
                ("--tokenizer", wanted.model.hf_repo if wanted.checkpoint.endswith(".gguf") else None),
                ("--trust-remote-code", wanted.recipe.remote_code),
                *wanted.load_flags.items(),
                ("--tensor-parallel-size", made.tp),
                ("--pipeline-parallel-size", above_one(made.pp)),
                ("--data-parallel-size", above_one(made.dp)),
                ("--decode-context-parallel-size", above_one(made.dcp)),
                ("--enable-expert-parallel", made.ep > 1),
                ("--dtype", wanted.cast),
            ),
            *kv_flag(wanted, "--kv-cache-dtype"),
            *given(
                ("--max-model-len", wanted.fit.context),
                ("--max-num-seqs", made.max_num_seqs),
                ("--max-num-batched-tokens", made.max_num_batched_tokens),
                ("--gpu-memory-utilization", made.memory_fraction),
                ("--kv-cache-memory-bytes", asked.kv_cache_memory_bytes),
                ("--block-size", asked.block_size),
                ("--enable-prefix-caching", asked.prefix_caching),
                ("--no-enable-prefix-caching", asked.prefix_caching is False),
                ("--enforce-eager", asked.enforce_eager),
                ("--cpu-offload-gb", asked.cpu_offload_gb),
                ("--language-model-only", asked.text_only),
            ),
            *self._drafts(wanted),
            *given(("--kv-transfer-config", json.dumps(TRANSFER) if role else None)),
        ]

    def _drafts(self, wanted: Wanted) -> list[Flag]:
        draft = wanted.draft
        if draft is None:
            return []
        config: dict[str, Any] = {
            "method": wanted.book.drafts[draft.kind],
            "num_speculative_tokens": wanted.deployment.speculative_tokens,
        }
        return [
            (
                "--speculative-config",
                json.dumps(config | ({"model": draft.checkpoint} if draft.checkpoint else {})),
            )
        ]

    def line(self, wanted: Wanted, flags: list[Flag], place: Place) -> Line:
        """Return the command on one of several nodes: by data-parallel ranks, `--nnodes`, or else Ray."""
        words = [*self.command(wanted), *words_of(flags)]
        headless = [] if place.first else ["--headless"]
        if wanted.deployment.dp > 1:
            local = wanted.deployment.dp // wanted.nodes
            start = (
                str(int(place.rank) * local)
                if place.rank.isdecimal()
                else Shell(f"$(({place.rank} * {local}))")
            )
            more = ["--data-parallel-size-local", str(local), "--data-parallel-address", place.head]
            begin = [] if place.first else ["--data-parallel-start-rank", start]
            return Line((*words, *more, "--data-parallel-rpc-port", str(RPC_PORT), *begin, *headless))
        if "--nnodes" in flags_of(self.program, wanted.version):
            more = ["--nnodes", str(wanted.nodes), "--node-rank", place.rank, "--master-addr", place.head]
            return Line((*words, *more, "--master-port", str(MASTER_PORT), *headless))
        if place.first:
            start_ray = ("ray", "start", "--head", "--port", str(RAY_PORT))
            return Line((*words, "--distributed-executor-backend", "ray"), (start_ray,))
        address = f"{place.head}:{RAY_PORT}"
        return Line(
            (
                "ray",
                "start",
                "--address",
                Shell(address) if isinstance(place.head, Shell) else address,
                "--block",
            )
        )

    def files(self, wanted: Wanted) -> dict[str, dict[str, Any]]:
        """Return no file: everything is said by flags."""
        return {}

    def read(self, flags: Mapping[str, Value], files: Mapping[str, Mapping[str, Any]]) -> Arguments:
        """Return the arguments of `planner.fit` that the flags stand for."""
        tp, dp = (
            int(str(flags.get("--tensor-parallel-size", 1))),
            int(str(flags.get("--data-parallel-size", 1))),
        )
        found: Arguments = {"tp": tp, "dp": dp, "ep": tp * dp if flags.get("--enable-expert-parallel") else 1}
        names = {
            "--pipeline-parallel-size": "pp",
            "--decode-context-parallel-size": "dcp",
            "--max-model-len": "context",
            "--max-num-seqs": "max_num_seqs",
            "--max-num-batched-tokens": "max_num_batched_tokens",
            "--gpu-memory-utilization": "memory_fraction",
            "--block-size": "block_size",
            "--cpu-offload-gb": "cpu_offload_gb",
            "--enable-prefix-caching": "prefix_caching",
            "--enforce-eager": "enforce_eager",
            "--language-model-only": "text_only",
        }
        put(found, flags, names)
        if "--kv-cache-memory-bytes" in flags:
            found["kv_cache_memory_bytes"] = int(str(flags["--kv-cache-memory-bytes"]))
        if "--kv-cache-dtype" in flags:
            found["kv_dtype"] = kv_dtype_of(flags["--kv-cache-dtype"], launch_book().engine("vllm").kv_dtypes)
        config = flags.get("--speculative-config")
        if isinstance(config, dict):
            found["speculative_tokens"] = config["num_speculative_tokens"]
        return found
