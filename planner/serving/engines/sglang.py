"""`python -m sglang.launch_server`: its flags from a deployment, and back.

SGLang counts the ranks of attention copies in `--tp-size`, and divides chunks and running requests among
them; planner's `tp`, `max_num_batched_tokens` and `max_num_seqs` are those of one copy.
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
    kv_flag,
    put,
    words_of,
)
from planner.serving.flags import Value, flags_of
from planner.serving.wanted import PREFILL, Wanted
from planner.serving.words import Shell

INIT_PORT = 5000


class SglangWriter:
    """SGLang's server."""

    program = "sglang"

    def command(self, wanted: Wanted) -> list[str]:
        """Return the words before the flags."""
        return ["python3", "-m", "sglang.launch_server"]

    def flags(self, wanted: Wanted, role: str) -> list[Flag]:
        """Return the flags of a server on one node."""
        made, asked = wanted.deployment, wanted.asked
        chunk, most = made.max_num_batched_tokens, made.max_num_seqs
        copies = made.dp if wanted.shares_experts else 1
        gguf = "gguf" if wanted.checkpoint.endswith(".gguf") else None
        return [
            *given(
                ("--model-path", wanted.checkpoint),
                ("--load-format", gguf),
                ("--quantization", gguf),
                ("--trust-remote-code", wanted.recipe.remote_code),
                ("--host", "0.0.0.0"),
                ("--port", wanted.port),
                ("--tp-size", made.tp * copies),
                ("--pp-size", above_one(made.pp)),
                ("--ep-size", above_one(made.ep)),
                ("--dcp-size", above_one(made.dcp)),
            ),
            *self._copies(wanted),
            *given(("--dtype", wanted.cast)),
            *kv_flag(wanted, "--kv-cache-dtype"),
            *given(
                ("--context-length", wanted.fit.context),
                ("--max-running-requests", most and most * copies),
                ("--chunked-prefill-size", chunk and chunk * copies),
                ("--mem-fraction-static", made.memory_fraction),
                ("--page-size", asked.block_size),
                ("--disable-radix-cache", asked.prefix_caching is False),
                ("--disable-cuda-graph", asked.enforce_eager),
                ("--cpu-offload-gb", asked.cpu_offload_gb),
                ("--language-model-only", asked.text_only),
            ),
            *self._drafts(wanted),
            *given(
                ("--disaggregation-mode", role or None),
                ("--disaggregation-bootstrap-port", wanted.book.bootstrap_port if role == PREFILL else None),
                ("--disaggregation-transfer-backend", "nixl" if role else None),
            ),
        ]

    def _copies(self, wanted: Wanted) -> list[Flag]:
        """Return the flags of data parallelism: copies of attention inside of TP, or servers of their own."""
        dp = wanted.deployment.dp
        if dp == 1:
            return []
        if not wanted.shares_experts:
            return [("--dp-size", str(dp))]
        if "--attn-dp-size" in flags_of(self.program, wanted.version):
            return [("--attn-dp-size", str(dp))]
        return [("--dp-size", str(dp)), ("--enable-dp-attention", None)]

    def _drafts(self, wanted: Wanted) -> list[Flag]:
        draft, tokens = wanted.draft, wanted.deployment.speculative_tokens
        if draft is None:
            return []
        return given(
            ("--speculative-algorithm", wanted.book.drafts[draft.kind]),
            ("--speculative-draft-model-path", draft.checkpoint),
            ("--speculative-num-steps", tokens),
            ("--speculative-eagle-topk", 1),
            ("--speculative-num-draft-tokens", tokens + 1),
        )

    def line(self, wanted: Wanted, flags: list[Flag], place: Place) -> Line:
        """Return the command on one of several nodes."""
        address = f"{place.head}:{INIT_PORT}"
        more = ["--nnodes", str(wanted.nodes), "--node-rank", place.rank, "--dist-init-addr"]
        head = Shell(address) if isinstance(place.head, Shell) else address
        return Line((*self.command(wanted), *words_of(flags), *more, head))

    def files(self, wanted: Wanted) -> dict[str, dict[str, Any]]:
        """Return no file: everything is said by flags."""
        return {}

    def read(self, flags: Mapping[str, Value], files: Mapping[str, Mapping[str, Any]]) -> Arguments:
        """Return the arguments of `planner.fit` that the flags stand for."""
        alone = int(str(flags.get("--dp-size", 1))) if not flags.get("--enable-dp-attention") else 1
        inside = int(str(flags.get("--attn-dp-size", 1 if alone > 1 else flags.get("--dp-size", 1))))
        found: Arguments = {"tp": int(str(flags.get("--tp-size", 1))) // inside, "dp": inside * alone}
        names = {
            "--pp-size": "pp",
            "--ep-size": "ep",
            "--dcp-size": "dcp",
            "--context-length": "context",
            "--mem-fraction-static": "memory_fraction",
            "--page-size": "block_size",
            "--cpu-offload-gb": "cpu_offload_gb",
            "--disable-cuda-graph": "enforce_eager",
            "--language-model-only": "text_only",
            "--speculative-num-steps": "speculative_tokens",
        }
        put(found, flags, names)
        for flag, argument in (
            ("--max-running-requests", "max_num_seqs"),
            ("--chunked-prefill-size", "max_num_batched_tokens"),
        ):
            if flag in flags:
                found[argument] = int(str(flags[flag])) // inside
        if flags.get("--disable-radix-cache"):
            found["prefix_caching"] = False
        if "--kv-cache-dtype" in flags:
            found["kv_dtype"] = kv_dtype_of(
                flags["--kv-cache-dtype"], launch_book().engine("sglang").kv_dtypes
            )
        return found
