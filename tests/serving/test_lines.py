"""The command lines of each engine, and what each refuses."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from planner.errors import DoesNotFit, IllegalDeployment, InvalidInput, Unsupported
from planner.report.launch import launch_text
from planner.serving.book import launch_book
from tests.serving.making import flags_in, launched, line_of

R1 = {"model": "deepseek-r1", "gpu": "h200", "context": 32768}
LLAMA = {"model": "llama-3.1-8b", "gpu": "h100"}


def test_kimi_k3_on_two_nodes_of_b200_under_vllm(catalogue):
    report = launched(model="kimi-k3", gpu="b200", engine="vllm==0.20.2", context=131072, catalogue=catalogue)
    first, second = line_of(report), line_of(report, node=1)
    begin = shlex.split(
        "vllm serve moonshotai/Kimi-K3 --host 0.0.0.0 --port 8000 --trust-remote-code "
        "--tensor-parallel-size 8 --pipeline-parallel-size 2 --max-model-len 131072 --max-num-seqs 1024 "
        "--max-num-batched-tokens 8192 "
        "--gpu-memory-utilization 0.92 --nnodes 2 --node-rank"
    )
    end = ["--master-addr", "$HEAD_ADDRESS", "--master-port", "29501"]
    assert first == [*begin, "0", *end]
    assert second == [*begin, "1", *end, "--headless"]
    assert report.launch.image == "vllm/vllm-openai:v0.20.2"
    assert '--master-addr "$HEAD_ADDRESS"' in report.to_text()


def test_aiter_is_switched_on_where_kernel_rules_assume_it(catalogue):
    mla = launched(model="kimi-k3", gpu="mi355x", engine="vllm==0.33.0", context=131072, catalogue=catalogue)
    assert mla.launch.environment == {"VLLM_ROCM_USE_AITER": "1"}
    assert mla.launch.image == "vllm/vllm-openai-rocm:v0.33.0"
    assert mla.to_text().splitlines()[1].startswith("VLLM_ROCM_USE_AITER=1 vllm serve moonshotai/Kimi-K3")
    gqa = launched(model="llama-3.1-8b", gpu="mi300x", engine="vllm==0.20.2", catalogue=catalogue)
    assert gqa.launch.environment == {"VLLM_ROCM_USE_AITER": "1"}
    assert flags_in(line_of(gqa))["--attention-backend"] == "ROCM_AITER_FA"
    old = launched(
        model="kimi-linear-48b-a3b",
        gpu="mi300x",
        tp=4,
        engine="vllm==0.17.1",
        context=8192,
        catalogue=catalogue,
    )
    assert old.launch.environment == {"VLLM_ROCM_USE_AITER": "1", "VLLM_ROCM_USE_AITER_MLA": "0"}
    sglang = launched(model="llama-3.1-8b", gpu="mi355x", engine="sglang", catalogue=catalogue)
    assert sglang.launch.environment == {"SGLANG_USE_AITER": "1"}
    assert launched(**LLAMA, catalogue=catalogue).launch.environment == {}


def test_copies_of_attention_are_counted_as_each_engine_does(catalogue):
    copies = {
        **R1,
        "dp": 8,
        "ep": 8,
        "max_num_seqs": 64,
        "max_num_batched_tokens": 4096,
        "catalogue": catalogue,
    }
    vllm = flags_in(line_of(launched(**copies)))
    assert (vllm["--tensor-parallel-size"], vllm["--data-parallel-size"]) == ("1", "8")
    assert "--enable-expert-parallel" in vllm
    assert vllm["--max-num-seqs"] == "64"
    sglang = flags_in(line_of(launched(**copies, engine="sglang", memory_fraction=0.9)))
    assert (sglang["--tp-size"], sglang["--attn-dp-size"], sglang["--ep-size"]) == ("8", "8", "8")
    assert (sglang["--max-running-requests"], sglang["--chunked-prefill-size"]) == ("512", "32768")
    older = flags_in(line_of(launched(**copies, engine="sglang==0.5.9", memory_fraction=0.9)))
    assert (older["--dp-size"], older["--enable-dp-attention"]) == ("8", "")
    trtllm = launched(**copies, engine="tensorrt-llm")
    assert flags_in(line_of(trtllm))["--tp_size"] == "8"
    assert trtllm.launch.files == {"trtllm.yaml": {"enable_attention_dp": True}}
    assert "cat > trtllm.yaml <<'EOF'\nenable_attention_dp: true\nEOF" in trtllm.to_text()


def test_data_parallel_ranks_over_nodes_start_where_the_others_end(catalogue):
    report = launched(**R1, dp=16, ep=16, head="10.0.0.1", catalogue=catalogue)
    first, second = (flags_in(line_of(report, node=node)) for node in (0, 1))
    assert first["--data-parallel-size-local"] == second["--data-parallel-size-local"] == "8"
    assert first["--data-parallel-address"] == "10.0.0.1"
    assert "--data-parallel-start-rank" not in first
    assert second["--data-parallel-start-rank"] == "8"
    assert "--headless" in second


def test_nodes_of_versions_without_nnodes_are_joined_by_ray(catalogue):
    report = launched(
        model="kimi-k2.5", gpu="h200", gpus=16, engine="vllm==0.10.2", context=8192, catalogue=catalogue
    )
    server = report.launch.servers[0]
    assert server.lines[0].before == (("ray", "start", "--head", "--port", "6379"),)
    assert flags_in(line_of(report))["--distributed-executor-backend"] == "ray"
    assert line_of(report, node=1) == ["ray", "start", "--address", "$HEAD_ADDRESS:6379", "--block"]


def test_mpi_starts_all_nodes_of_tensorrt_llm(catalogue):
    report = launched(
        model="deepseek-r1", gpu="h200", tp=16, engine="trtllm", context=8192, catalogue=catalogue
    )
    (line,) = report.launch.servers[0].lines
    assert line.words[:4] == ("mpirun", "-n", "16", "--hostfile")
    assert "trtllm-llmapi-launch" in line.words
    assert "once, for 2 nodes" in report.to_text()


def test_llama_cpp_is_given_the_cache_of_all_sequences(catalogue):
    asked = {**LLAMA, "engine": "llama.cpp", "weight_dtype": "q4_k_m", "concurrency": 4, "context": 8192}
    flags = flags_in(
        line_of(launched(**asked, checkpoint="./llama.gguf", kv_dtype="q8_0", catalogue=catalogue))
    )
    assert (flags["--ctx-size"], flags["--parallel"]) == ("32768", "4")
    assert (flags["--model"], flags["--cache-type-k"], flags["--split-mode"]) == (
        "./llama.gguf",
        "q8_0",
        "none",
    )
    two = flags_in(line_of(launched(**asked, pp=2, checkpoint="x/y-GGUF:Q4_K_M", catalogue=catalogue)))
    assert (two["--hf-repo"], two["--split-mode"], two["--tensor-split"]) == (
        "x/y-GGUF:Q4_K_M",
        "layer",
        "1,1",
    )


def test_drafts_are_configured_as_each_engine_names_them(catalogue):
    pair = {"model": "llama-3.3-70b", "gpu": "h200", "draft_model": "llama-3.1-8b", "speculative_tokens": 3}
    config = flags_in(line_of(launched(**pair, catalogue=catalogue)))["--speculative-config"]
    assert json.loads(config) == {
        "method": "draft_model",
        "num_speculative_tokens": 3,
        "model": "meta-llama/Llama-3.1-8B-Instruct",
    }
    sglang = flags_in(line_of(launched(**pair, draft="eagle3", engine="sglang", tp=2, catalogue=catalogue)))
    assert sglang["--speculative-algorithm"] == "EAGLE3"
    assert (sglang["--speculative-num-steps"], sglang["--speculative-num-draft-tokens"]) == ("3", "4")
    own = launched(
        model="deepseek-v4-pro", gpu="b300", speculative_tokens=2, context=65536, catalogue=catalogue
    )
    assert json.loads(flags_in(line_of(own))["--speculative-config"])["method"] == "mtp"
    trtllm = launched(**pair, engine="trtllm", tp=2, catalogue=catalogue).launch.files["trtllm.yaml"]
    assert trtllm["speculative_config"]["decoding_type"] == "DraftTarget"


def test_pools_have_servers_of_each_kind_and_a_router(catalogue):
    pools = {**R1, "tp": 8, "disaggregated": (8, 16), "catalogue": catalogue}
    report = launched(**pools)
    assert [(server.role, server.copies) for server in report.launch.servers] == [
        ("prefill", 1),
        ("decode", 2),
    ]
    transfer = json.loads(flags_in(line_of(report))["--kv-transfer-config"])
    assert transfer == {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
    assert 'VLLM_NIXL_SIDE_CHANNEL_HOST="$(hostname -i)" vllm serve' in report.to_text()
    assert '--prefill "http://$PREFILL_1:8000"' in report.to_text()
    sglang = launched(**pools, engine="sglang")
    assert [flags_in(line_of(sglang, server))["--disaggregation-mode"] for server in (0, 1)] == [
        "prefill",
        "decode",
    ]
    assert "8998" in sglang.launch.router()
    assert launched(**R1, tp=8, catalogue=catalogue).launch.router() == ()


def test_options_that_were_asked_for_are_said(catalogue):
    asked = {
        "kv_dtype": "fp8",
        "prefix_caching": False,
        "enforce_eager": True,
        "block_size": 32,
        "kv_cache_memory_bytes": 20_000_000_000,
        "deduct_graphs": False,
    }
    report = launched(**LLAMA, **asked, catalogue=catalogue)
    flags = flags_in(line_of(report))
    assert {"--enforce-eager", "--no-enable-prefix-caching"} <= set(flags)
    assert (flags["--kv-cache-dtype"], flags["--block-size"]) == ("fp8", "32")
    assert flags["--kv-cache-memory-bytes"] == "20000000000"
    assert report.launch.environment == {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0"}
    split = launched(
        model="llama-3.3-70b", gpu="h100", pipeline_layers=(42, 38), tp=2, context=8192, catalogue=catalogue
    )
    assert split.launch.environment == {"VLLM_PP_LAYER_PARTITION": "42,38"}
    cast = launched(**LLAMA, weight_dtype="fp16", catalogue=catalogue)
    assert flags_in(line_of(cast))["--dtype"] == "float16"


def test_a_quantised_checkpoint_is_named_by_the_catalogue(catalogue):
    report = launched(**LLAMA, weight_dtype="fp8-static", catalogue=catalogue)
    assert line_of(report)[2] == "nvidia/Llama-3.1-8B-Instruct-FP8"


BIG = {"model": "deepseek-r1", "gpu": "h200", "context": 8192}
MOE = {"model": "qwen3-235b-a22b", "gpu": "h200", "context": 8192}
PLAIN = {"model": "llama-3.3-70b", "gpu": "h200", "context": 8192}
GGUF = {
    **LLAMA,
    "context": 8192,
    "weight_dtype": "q4_k_m",
    "checkpoint": "./llama.gguf",
    "engine": "llama.cpp",
}
DRAFT = {"draft_model": "llama-3.1-8b", "speculative_tokens": 2}
REFUSED = {
    "vllm": [
        ({**BIG, "tp": 8, "ep": 4}, "EP must be 1 or 8"),
        ({**BIG, "tp": 16, "dp": 2, "ep": 32}, "(TP 16 x PP 1) must lie in one node of 8"),
        ({**PLAIN, "tp": 8, "dp": 2}, "with --dp 1 and --replicas 2"),
        ({**PLAIN, "tp": 2, "speculative_tokens": 2}, "name a draft model with --draft-model"),
        ({**BIG, "gpu": "mi300x", "tp": 8, "engine": "vllm==0.10.2"}, "give --block-size 1"),
        ({**PLAIN, "tp": 1, "pp": 2, "disaggregated": (2, 2)}, "not known to work over pipeline stages"),
    ],
    "sglang": [
        ({**PLAIN, "pp": 2, "tp": 1, **DRAFT}, "PP must be 1"),
        ({**PLAIN, "tp": 8, "dp": 2}, "replicas do not span nodes"),
        ({**PLAIN, "tp": 2, "speculative_tokens": 2}, "name a draft model with --draft-model"),
    ],
    "tensorrt-llm": [
        ({**BIG, "tp": 8, "dcp": 8}, "Helix"),
        ({**BIG, "tp": 2, "dp": 4, "ep": 8}, "with DP 4 TP must be 1"),
        ({**PLAIN, "tp": 2, "dp": 2}, "attention DP is for models with experts"),
        (
            {"model": "gemma-3-27b", "gpu": "h100", "text_only": True, "context": 8192},
            "no flag that leaves vision",
        ),
        ({**PLAIN, "pp": 2, "tp": 1, "pipeline_layers": (40, 40)}, "no flag for the layers"),
        ({**PLAIN, "tp": 2, "disaggregated": (2, 2)}, "trtllm-serve disaggregated"),
        ({**BIG, "tp": 16, "format": "kubernetes"}, "needs ssh between pods"),
        ({**PLAIN, "tp": 2, "speculative_tokens": 2}, "name a draft model with --draft-model"),
    ],
    "llama.cpp": [
        ({**GGUF, "tp": 2, "pp": 2}, "not both"),
        ({**GGUF, "pp": 16}, "RPC backend"),
        (
            {**GGUF, "model": "deepseek-v4-pro", "gpu": "b300", "pp": 8, "speculative_tokens": 1},
            "name a draft model",
        ),
        ({**GGUF, "speculative_tokens": 2}, "name one with --draft-model"),
        ({**GGUF, "pp": 2, "pipeline_layers": (16, 16)}, "shares and no layers"),
    ],
}
CASES = [(engine, asked, said) for engine, cases in REFUSED.items() for asked, said in cases]


@pytest.mark.parametrize(("engine", "asked", "said"), CASES, ids=[f"{e}: {said}" for e, _, said in CASES])
def test_what_an_engine_does_not_run_is_refused_with_the_reason(engine, asked, said, catalogue):
    with pytest.raises(IllegalDeployment, match=re.escape(said)):
        launched(**{"engine": engine, **asked}, catalogue=catalogue)


def test_every_refusal_of_the_book_is_tried_above():
    for engine, book in launch_book().engines.items():
        assert len(REFUSED[engine]) == len(book.refusals)


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        (
            {**BIG, "tp": 8, "dcp": 8, "engine": "sglang==0.5.9"},
            Unsupported,
            "SGLang 0.5.9 has no --dcp-size",
        ),
        ({**BIG, "gpu": "mi300x", "tp": 8, "engine": "trtllm"}, Unsupported, "it runs on NVIDIA GPUs alone"),
        ({**GGUF, "ep": 2}, IllegalDeployment, "llama.cpp has tp and pp only"),
        ({**GGUF, "disaggregated": (1, 1)}, Unsupported, "does not keep prefill and decode apart"),
        ({**BIG, "pp": 8, "engine": "llama.cpp"}, Unsupported, "does not load fp8-block128 weights"),
        ({**LLAMA, "weight_dtype": "q4_k_m", "engine": "trtllm"}, Unsupported, "reads no GGUF files"),
        (
            {**LLAMA, "weight_dtype": "fp8-dynamic"},
            InvalidInput,
            "there is --weight-dtype fp8-static (nvidia/",
        ),
        (
            {**LLAMA, "engine": "llama.cpp", "context": 8192},
            InvalidInput,
            "no GGUF file of llama-3.1-8b is known",
        ),
        ({**LLAMA, "engine": "vllm==0.9.2"}, Unsupported, "known from version 0.10.2 on"),
        ({**LLAMA, "kv_dtype": "int8"}, Unsupported, "no flag for a KV cache in int8"),
        ({**LLAMA, "kv_dtype": "bf16", "engine": "vllm==0.10.2"}, Unsupported, "and not 'bfloat16'"),
        (
            {**LLAMA, "engine": "mlc-llm", "context": 8192},
            Unsupported,
            "no launch line is written for mlc-llm",
        ),
        ({"model": "kimi-k3", "gpu": "b200", "tp": 8}, DoesNotFit, "kimi-k3 does not fit on b200-sxm as TP8"),
        ({**PLAIN, "pp": 9, "tp": 1}, IllegalDeployment, "do not divide over"),
        ({**PLAIN, "tp": 2, "disaggregated": (3, 2)}, InvalidInput, "no whole number of servers of 2 GPUs"),
        (
            {**PLAIN, "tp": 2, **DRAFT, "engine": "vllm==0.13.0"},
            Unsupported,
            "draft by draft: version 0.15.1 is",
        ),
        (
            {**PLAIN, "tp": 2, **DRAFT, "draft": "dspark", "engine": "sglang==0.5.9"},
            Unsupported,
            "0.5.9 is not known to draft by dspark: version 0.5.18 is",
        ),
        ({**GGUF, "max_num_seqs": 8}, Unsupported, "llama.cpp has no flag for max_num_seqs"),
        ({**LLAMA, "engine": "sglang", "deduct_graphs": True}, Unsupported, "no flag for deduct_graphs"),
        ({**LLAMA, "draft": "eagle3"}, InvalidInput, "needs --speculative-tokens"),
    ],
)
def test_other_refusals_are_typed_and_say_why(asked, error, said, catalogue):
    with pytest.raises(error, match=re.escape(said)):
        launched(**asked, catalogue=catalogue)


def test_the_report_says_what_the_fit_of_its_flags_is(catalogue):
    report = launched(**R1, tp=8, catalogue=catalogue)
    assert report.launch.proof.kv_tokens == report.launch.wanted.fit.kv_tokens
    assert f"{report.launch.proof.kv_tokens:,} KV tokens" in report.sentence
    assert "vllm serve" in launch_text(report)
    reasons = {row["flag"]: row["because"] for row in report.to_records()}
    assert reasons["--gpu-memory-utilization"].startswith("published: vLLM release wheels")
    assert reasons["--max-model-len"] == "asked for"


def test_weights_in_the_hosts_memory_have_their_flags(catalogue):
    streamed = {"model": "llama-3.1-8b", "gpu": "rtx-4090", "context": 8192, "cpu_offload_gb": 4}
    assert flags_in(line_of(launched(**streamed, catalogue=catalogue)))["--cpu-offload-gb"] == "4"
    experts = {**GGUF, "model": "gpt-oss-20b", "gpu": "rtx-4090", "n_cpu_moe": 4, "weight_dtype": "mxfp4"}
    assert flags_in(line_of(launched(**experts, catalogue=catalogue)))["--n-cpu-moe"] == "4"


def test_a_longest_request_without_room_is_said(catalogue):
    tight = launched(**LLAMA, isl=2000, osl=300, catalogue=catalogue)
    assert any("2,300 tokens: give --context" in warning for warning in tight.warnings)
    assert not any(
        "--context" in one for one in launched(**LLAMA, context=4096, catalogue=catalogue).warnings
    )


def test_every_field_of_the_json_is_in_the_glossary(catalogue):
    page = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
    table = page.split("## Fields of `planner.launch/1`")[1]
    record = launched(**LLAMA, isl=2000, osl=300, format="json", catalogue=catalogue).to_dict()
    inside = [
        record,
        record["servers"][0],
        record["servers"][0]["nodes"][0],
        record["load_test"],
        record["proof"],
    ]
    names = {name for one in inside for name in one} - {"schema", "reproduction"}
    assert not [name for name in sorted(names) if f"`{name}`" not in table]
