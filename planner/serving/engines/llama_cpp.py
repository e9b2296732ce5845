"""`llama-server`: its flags from a deployment, and back; the cache is given for all sequences together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.serving.book import launch_book
from planner.serving.engines.base import (
    Arguments,
    Flag,
    Line,
    Place,
    given,
    kv_dtype_of,
    kv_name,
    put,
    words_of,
)
from planner.serving.flags import Value
from planner.serving.wanted import Wanted

LEAST_BATCH = 2048
"""The logical batch, which the micro-batch may not exceed."""

ALL_LAYERS = "999"
"""More than any model has, which every version takes for all."""

LAYER, ROW = "layer", "row"


class LlamaCppWriter:
    """llama.cpp's server."""

    program = "llama.cpp"

    def command(self, wanted: Wanted) -> list[str]:
        """Return the words before the flags."""
        return ["llama-server"]

    def flags(self, wanted: Wanted, role: str) -> list[Flag]:
        """Return the flags of a server."""
        made, asked, fit = wanted.deployment, wanted.asked, wanted.fit
        batch = made.max_num_batched_tokens
        dtype = kv_name(wanted)
        cache = dtype if asked.kv_dtype.lower() != "auto" else None
        split = ROW if made.tp > 1 else LAYER if made.pp > 1 else "none"
        return given(
            ("--model" if wanted.checkpoint.endswith(".gguf") else "--hf-repo", wanted.checkpoint),
            ("--host", "0.0.0.0"),
            ("--port", wanted.port),
            ("--gpu-layers", ALL_LAYERS if asked.ngl is None else str(asked.ngl)),
            ("--n-cpu-moe", asked.n_cpu_moe),
            ("--split-mode", split),
            ("--tensor-split", ",".join(["1"] * made.gpus) if made.gpus > 1 else None),
            ("--ctx-size", fit.context * fit.concurrency),
            ("--parallel", fit.concurrency),
            ("--no-kv-unified", True),
            ("--batch-size", max(LEAST_BATCH, batch or 0)),
            ("--ubatch-size", batch),
            ("--cache-type-k", cache),
            ("--cache-type-v", cache),
            ("--flash-attn", "on"),
            ("--no-cache-prompt", asked.prefix_caching is False),
            ("--no-mmproj", asked.text_only),
            ("--spec-draft-model", wanted.draft.checkpoint if wanted.draft else None),
            ("--spec-draft-n-max", made.speculative_tokens or None),
        )

    def line(self, wanted: Wanted, flags: list[Flag], place: Place) -> Line:
        """Return the command; it has one node."""
        return Line((*self.command(wanted), *words_of(flags)))

    def files(self, wanted: Wanted) -> dict[str, dict[str, Any]]:
        """Return no file: everything is said by flags."""
        return {}

    def read(self, flags: Mapping[str, Value], files: Mapping[str, Mapping[str, Any]]) -> Arguments:
        """Return the arguments of `planner.fit` that the flags stand for."""
        devices = str(flags.get("--tensor-split", "1")).count(",") + 1
        split = flags.get("--split-mode")
        found: Arguments = {"tp": devices if split == ROW else 1, "pp": devices if split == LAYER else 1}
        sequences = int(str(flags["--parallel"]))
        found |= {"concurrency": sequences, "context": int(str(flags["--ctx-size"])) // sequences}
        put(found, flags, {"--ubatch-size": "max_num_batched_tokens", "--no-mmproj": "text_only"})
        put(found, flags, {"--spec-draft-n-max": "speculative_tokens"})
        if flags["--gpu-layers"] != ALL_LAYERS:
            found["ngl"] = int(str(flags["--gpu-layers"]))
        put(found, flags, {"--n-cpu-moe": "n_cpu_moe"})
        if flags.get("--no-cache-prompt"):
            found["prefix_caching"] = False
        if "--cache-type-k" in flags:
            found["kv_dtype"] = kv_dtype_of(
                flags["--cache-type-k"], launch_book().engine("llama.cpp").kv_dtypes
            )
        return found
