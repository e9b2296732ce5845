"""What published recipes add to a launch: code of the checkpoint, backends, parsers, first versions."""

from __future__ import annotations

import shlex

import pytest

from planner.catalogue import load_catalogue
from planner.catalogue.stacks import parse_version
from planner.errors import IllegalDeployment, InvalidInput
from planner.serving.book import launch_book
from planner.serving.flags import flags_of
from planner.serving.recipes import recipe_of, recipes
from tests.serving.making import flags_in, launched, line_of


def test_every_recipe_is_of_a_model_and_of_an_engine_with_lines() -> None:
    known = set(load_catalogue().model_ids())
    assert len(recipes().models) > 70
    for model, recipe in recipes().models.items():
        assert model in known
        assert recipe.vllm is not None
        for engine in ("vllm", "sglang"):
            said = recipe.of(engine)
            assert engine in launch_book().engines
            assert said.since is None or parse_version(said.since)
            for text in (said.chat or "", *said.besides.values()):
                assert shlex.split(text) or not text  # a shell reads it
            assert all(flag in flags_of(engine, None) for flag in said.flags)


@pytest.mark.parametrize(
    ("engine", "flag"),
    [
        ("vllm", "--trust-remote-code"),
        ("sglang", "--trust-remote-code"),
        ("trtllm", "--trust_remote_code"),
    ],
)
def test_code_of_a_checkpoint_is_allowed_and_said(engine: str, flag: str) -> None:
    report = launched(model="kimi-k2", gpu="h200", tp=16, engine=engine, context=32768)
    assert flag in line_of(report)
    assert any("has code of its own" in note for note in report.warnings)
    (row,) = (row for row in report.to_records() if row["flag"] == flag)
    assert "recipe" in row["because"]


def test_no_code_is_allowed_where_no_recipe_asks() -> None:
    report = launched(model="llama-3.3-70b", gpu="h200", tp=2, context=8192)
    assert "--trust-remote-code" not in line_of(report)
    assert not any("code of its own" in note for note in report.warnings)


def test_the_client_of_the_load_test_reads_the_tokenizer_in_the_same_way() -> None:
    report = launched(model="kimi-k2", gpu="h200", tp=16, isl=1000, osl=400, concurrency=8)
    assert report.test is not None
    assert "--trust-remote-code" in report.test.bench


def test_sinks_need_the_unified_backend_on_amd() -> None:
    flags = flags_in(line_of(launched(model="gpt-oss-120b", gpu="mi355x", context=8192)))
    assert flags["--attention-backend"] == "ROCM_AITER_UNIFIED_ATTN"
    plain = flags_in(line_of(launched(model="llama-3.3-70b", gpu="mi355x", context=8192)))
    assert plain["--attention-backend"] == "ROCM_AITER_FA"


def test_files_in_a_form_of_their_own_are_read_so_for_their_own_checkpoint_alone() -> None:
    asked = {"model": "mistral-large-3", "gpu": "b200", "tp": 8, "context": 8192}
    own = flags_in(line_of(launched(**asked)))
    assert {own[f"--{name}"] for name in ("tokenizer-mode", "config-format", "load-format")} == {"mistral"}
    other = flags_in(line_of(launched(**asked, checkpoint="someone/mistral-large-3-copy")))
    assert "--config-format" not in other


def test_an_engine_before_the_first_version_of_the_recipe_is_named() -> None:
    asked = {"model": "glm-5", "gpu": "h200", "tp": 16, "context": 32768}
    assert recipe_of("glm-5").of("vllm").since == "0.16.0"
    old = launched(**asked, engine="vllm==0.15.1")
    assert any("begins at vLLM 0.16.0" in note for note in old.warnings)
    assert not any("begins at" in note for note in launched(**asked).warnings)


def test_settings_of_kernels_are_those_of_the_accelerator() -> None:
    blackwell = recipe_of("gpt-oss-120b").of("vllm").settings(load_catalogue().gpu("b200"))
    hopper = recipe_of("gpt-oss-120b").of("vllm").settings(load_catalogue().gpu("h200"))
    assert blackwell == "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8=1"
    assert hopper == ""


def test_several_nodes_of_a_cluster_are_told_of_the_fast_network_and_the_model() -> None:
    asked = {"model": "kimi-k3", "gpu": "b200", "tp": 8, "pp": 2, "context": 131072}
    note = [one for one in launched(**asked, format="kubernetes").warnings if "RDMA" in one]
    assert len(note) == 1
    assert not any("RDMA" in one for one in launched(**asked).warnings)


def test_a_version_that_nobody_examined_is_said() -> None:
    asked = {"model": "llama-3.1-8b", "gpu": "h100", "context": 8192}
    (note,) = (n for n in launched(**asked, engine="vllm==9.9.9").warnings if "newest known" in n)
    assert "9.9.9" in note
    assert not any("newest known" in n for n in launched(**asked).warnings)


def test_pools_have_their_own_numbers_of_servers() -> None:
    with pytest.raises(InvalidInput, match="replicas"):
        launched(model="llama-3.1-8b", gpu="h100", context=8192, disaggregated=(1, 1), replicas=3)


def test_latent_caches_on_amd_had_blocks_of_one_token() -> None:
    asked = {"model": "deepseek-r1", "gpu": "mi300x", "tp": 8, "context": 32768, "engine": "vllm==0.10.2"}
    with pytest.raises(IllegalDeployment, match="block-size 1"):
        launched(**asked)
    assert flags_in(line_of(launched(**asked, block_size=1)))["--block-size"] == "1"
    assert "--block-size" not in line_of(launched(**{**asked, "engine": "vllm==0.12.0"}))
    assert "--block-size" not in line_of(launched(**{**asked, "gpu": "h200"}))


def test_a_manifest_of_pools_says_how_a_router_reaches_its_services() -> None:
    asked = {"model": "llama-3.1-8b", "gpu": "h100", "context": 8192, "disaggregated": (1, 12)}
    report = launched(**asked, format="kubernetes", name="eight")
    (note,) = (one for one in report.warnings if "router" in one)
    urls = [word for word in note.split() if word.startswith("http")]
    names = [one["metadata"]["name"] for one in report.objects if one["kind"] == "Service"]
    assert urls == [f"http://{name}:8000" for name in names]
    assert "$" not in note
