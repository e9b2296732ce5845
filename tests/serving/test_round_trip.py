"""Any legal deployment becomes a line that its version's flags read, and that stands for the deployment."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import planner
from planner.errors import DoesNotFit, IllegalDeployment, InvalidInput, Unsupported
from planner.serving.engines import WRITERS
from planner.serving.flags import flags_of, read_flags
from planner.serving.launching import all_flags

ENGINES = ["vllm==0.10.2", "vllm==0.20.2", "vllm", "sglang==0.5.9", "sglang", "tensorrt-llm", "llama.cpp"]
GPUS = ["h100-sxm", "h200-sxm", "b200-sxm", "mi300x", "mi355x", "l40s", "a100-sxm-80"]
SIZES = st.sampled_from([1, 2, 4, 8, 16])
MODELS = (
    "llama-3.1-8b", "llama-3.3-70b", "qwen3-8b", "qwen3-235b-a22b", "gpt-oss-120b", "deepseek-r1", "kimi-k3",
    "gemma-3-27b", "mixtral-8x7b", "kimi-linear-48b-a3b", "nemotron-nano-9b-v2", "deepseek-v4-pro",
)  # fmt: skip


@st.composite
def questions(draw: st.DrawFn) -> dict[str, object]:
    """Draw a deployment, most of which are legal."""
    tp = draw(SIZES)
    dp = draw(st.sampled_from([1, 1, 1, 2, 8]))
    asked: dict[str, object] = {
        "model": draw(st.sampled_from(MODELS)),
        "gpu": draw(st.sampled_from(GPUS)),
        "engine": draw(st.sampled_from(ENGINES)),
        "tp": tp,
        "pp": draw(st.sampled_from([1, 1, 1, 2])),
        "dp": dp,
        "ep": draw(st.sampled_from([1, 1, tp * dp])),
        "dcp": draw(st.sampled_from([1, 1, 1, 2, 8])),
        "context": draw(st.integers(1_000, 60_000)),
    }
    others = {
        "concurrency": st.integers(1, 64),
        "kv_dtype": st.sampled_from(["fp8", "bf16", "auto"]),
        "memory_fraction": st.floats(0.5, 0.97),
        "max_num_seqs": st.integers(64, 600),
        "max_num_batched_tokens": st.integers(1024, 16384),
        "prefix_caching": st.booleans(),
        "enforce_eager": st.booleans(),
        "text_only": st.booleans(),
        "block_size": st.sampled_from([16, 32, 64]),
    }
    for name, values in others.items():
        if draw(st.integers(0, 3)) == 0:
            asked[name] = draw(values)
    if asked["engine"] == "llama.cpp":
        asked |= {"checkpoint": "./model.gguf", "weight_dtype": "q4_k_m"}
    return asked


def answer(asked, catalogue):
    """Return a launch, or nothing and why it was refused."""
    try:
        return planner.launch(**asked, catalogue=catalogue), ""
    except (DoesNotFit, IllegalDeployment, InvalidInput, Unsupported) as error:
        return None, str(error)


def own_words(words):
    """Return the words of the engine alone, without what starts its processes."""
    return words[words.index("trtllm-serve") :] if "trtllm-serve" in words else words


@settings(max_examples=150)
@given(asked=questions())
def test_a_line_stands_for_the_deployment_that_it_was_made_of(asked, catalogue):
    report, refusal = answer(asked, catalogue)
    assert "cannot say this deployment" not in refusal
    assume(report is not None)
    wanted = report.launch.wanted
    known = flags_of(wanted.stack.id, wanted.version)
    flags = all_flags(wanted, "", report.launch.backend)
    assert len({name for name, _ in flags}) == len(flags)
    for server in report.launch.servers:
        for line in server.lines:
            if line.words[0] != "ray":
                assert read_flags(own_words(line.words), known)
    # The arguments are read from the words alone, and asked of the front door.
    said = WRITERS[wanted.stack.id].read(
        read_flags(own_words(report.launch.servers[0].lines[0].words), known), report.launch.files
    )
    told = {name: asked[name] for name in ("model", "gpu", "engine", "weight_dtype") if name in asked}
    load = {"concurrency": asked["concurrency"]} if "concurrency" in asked else {}
    again = planner.fit(**{**load, **said}, **told, catalogue=catalogue).answer.memory
    assert again.deployment.sharding == wanted.deployment.sharding
    assert (again.verdict, again.kv_tokens, again.context) == (
        wanted.fit.verdict,
        wanted.fit.kv_tokens,
        wanted.fit.context,
    )
    assert again.per_rank.available_bytes == pytest.approx(wanted.fit.per_rank.available_bytes, rel=1e-8)
    assert again.deployment.memory_fraction == pytest.approx(wanted.deployment.memory_fraction)


@pytest.mark.parametrize(
    "model", ["llama-3.1-8b", "qwen3-235b-a22b", "deepseek-r1", "kimi-k3", "gpt-oss-120b"]
)
@pytest.mark.parametrize("engine", ["vllm==0.20.2", "vllm", "sglang", "tensorrt-llm"])
def test_the_smallest_deployment_of_usual_models_has_a_line_or_a_reason(model, engine, catalogue):
    for gpu in ("h200", "b200", "mi355x"):
        report, refusal = answer({"model": model, "gpu": gpu, "engine": engine, "context": 32768}, catalogue)
        if report is None:
            assert "NVIDIA GPUs alone" in refusal, refusal
            continue
        assert report.launch.proof.fits
        assert report.launch.proof.kv_tokens == report.launch.wanted.fit.kv_tokens
