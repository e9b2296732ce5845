"""Plans, the directory that an engine takes for a checkpoint, and how steps are timed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.errors import InvalidInput, PlannerError
from planner.measurement.engine.inside import SglangEngine, common_steps, load_figures, quantile
from planner.measurement.engine.model_directory import engine_config, merged, write_model_directory
from planner.measurement.engine.plan import EngineRun, read_plan, standard_points
from planner.measurement.engine.running import job_of, memory_logging

ROOT = Path(__file__).parents[3]


def test_the_plan_that_was_run_can_be_read(catalogue):
    runs = read_plan(str(ROOT / "measurements" / "h200" / "plan.yaml"))
    assert [run.model for run in runs] == [
        "deepseek-v2-lite",
        "gpt-oss-120b",
        "qwen3-32b",
        "llama-3.1-8b",
        "kimi-linear-48b-a3b",
        "qwen3-30b-a3b",
    ]
    assert runs[2].weight_dtype == "fp8-dynamic"
    for run in runs:
        assert engine_config(catalogue.model(run.model), run.weight_dtype, run.config)["architectures"]


def test_the_standard_set_has_what_was_promised():
    points = standard_points(36864)
    prompts = [point.isl for point in points if point.kind == "prefill"]
    batches = [(point.batch, point.context) for point in points if point.kind == "decode"]
    loads = sorted(point.concurrency for point in points if point.kind == "load")
    assert prompts == [1024, 8192, 32768]
    assert batches == [(b, 1024) for b in (1, 8, 32, 64, 128)] + [(b, 8192) for b in (1, 8, 32)]
    assert loads == [1, 4, 16, 64, 256]
    assert [point.isl for point in standard_points(4096) if point.kind == "prefill"] == [1024]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("runs: []", "no run in it"),
        ("models: []", "a plan has `runs:`"),
        ("runs:\n  - model: x\n    sped: 3", "run 1"),
        ("runs:\n  - model: x\n    points: [{kind: decode, batch: 0, context: 5}]", "run 1"),
        ("runs:\n  - model: x\n    points: [{kind: sleep}]", "run 1"),
    ],
)
def test_a_plan_that_cannot_be_is_one_line(tmp_path, text, said):
    file = tmp_path / "plan.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PlannerError, match=said) as caught:
        read_plan(str(file))
    assert "\n" not in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_plan_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_plan(str(tmp_path / "none.yaml"))


def test_a_directory_holds_the_catalogues_configuration(catalogue, tmp_path):
    directory = write_model_directory(tmp_path / "model", catalogue.model("qwen3-32b"), "fp8-block128")
    config = json.loads((directory / "config.json").read_text())
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    assert config["quantization_config"]["weight_block_size"] == [128, 128]
    assert config["torch_dtype"] == "bfloat16"


def test_formats_are_written_as_engines_read_them(catalogue):
    model = catalogue.model("qwen3-32b")
    assert "quantization_config" not in engine_config(model)
    dynamic = engine_config(model, "fp8-dynamic")["quantization_config"]
    assert dynamic["quant_method"] == "compressed-tensors"
    assert dynamic["config_groups"]["group_0"]["input_activations"]["strategy"] == "token"
    assert engine_config(catalogue.model("gpt-oss-120b"))["quantization_config"]["quant_method"] == "mxfp4"
    with pytest.raises(PlannerError, match="fp8-static"):
        engine_config(model, "fp8-statik")


def test_what_absence_means_is_written_out(catalogue):
    config = engine_config(catalogue.model("deepseek-v2-lite"))
    assert config["q_lora_rank"] is None
    assert merged({"a": {"b": 1}, "c": 2}, {"a": {"d": 3}, "c": 4}) == {"a": {"b": 1, "d": 3}, "c": 4}


def test_the_job_says_what_was_asked_for(catalogue, tmp_path):
    run = EngineRun(model="llama-3.1-8b", tp=2, memory_fraction=0.8, max_num_seqs=64)
    job = job_of(run, catalogue.model(run.model), tmp_path, tmp_path / "results")
    assert job["arguments"] == {
        "dtype": "bfloat16", "tensor_parallel_size": 2, "pipeline_parallel_size": 1, "max_model_len": 36864,
        "gpu_memory_utilization": 0.8, "max_num_seqs": 64,
    }  # fmt: skip
    other = job_of(
        run.model_copy(update={"engine": "sglang"}), catalogue.model(run.model), tmp_path, tmp_path
    )
    assert other["arguments"]["mem_fraction_static"] == 0.8
    assert memory_logging()["loggers"]["vllm"]["level"] == "INFO"
    assert SglangEngine is not None


def test_a_step_is_that_which_all_requests_have_in_common():
    # Three requests whose first tokens come at 1, 2 and 3 s; from then on a step takes 0.5 s.
    tokens = [
        [1 + 0.5 * i for i in range(24)],
        [2 + 0.5 * i for i in range(24)],
        [3 + 0.5 * i for i in range(24)],
    ]
    found = common_steps(0.0, tokens, context=100)
    assert found["tpot_ms_mean"] == pytest.approx(500)
    assert found["tpot_ms_median"] == pytest.approx(500)
    assert found["prefill_s"] == 3
    assert found["steps_timed"] == 19  # from 3 s to 12.5 s, where the first request ends
    assert found["mean_context"] == pytest.approx(100 + (5 + 3 + 1) / 3 + 19 / 2)
    assert found["total_s"] == 14.5


def test_too_few_common_steps_are_refused():
    with pytest.raises(RuntimeError, match="common to all"):
        common_steps(0.0, [[1.0, 2.0, 3.0], [2.5, 3.5, 4.5]], context=1)


def test_figures_of_a_load():
    served = [(0.0, [1.0, 1.5, 2.0]), (0.0, [2.0, 2.5, 3.0]), (2.0, [3.0, 3.5, 4.0])]
    found = load_figures(0.0, 4.0, served, isl=10)
    assert found["output_tps_total"] == 9 / 4
    assert found["total_tps"] == (9 + 30) / 4
    assert found["ttft_ms_median"] == 1000
    assert found["ttft_ms_mean"] == pytest.approx(4000 / 3)
    assert found["tpot_ms_median"] == 500
    assert found["e2e_s_median"] == 2
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert quantile([5.0], 0.99) == 5.0
