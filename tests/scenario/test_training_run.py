"""What of a training run is legal, and what is said of what is not."""

from __future__ import annotations

import pytest

from planner.errors import IllegalDeployment, InvalidInput, PlannerError, Unsupported
from planner.scenario.training import TrainingRun, check_run, check_trainable, stage_layers
from tests.performance.training_machines import blocks


@pytest.fixture(scope="module")
def llama(catalogue):
    return blocks(catalogue, "llama-3.1-8b")


@pytest.mark.parametrize(
    ("layers", "pp", "interleave", "each"),
    [
        (32, 4, 1, 8),
        (32, 4, 2, 8),
        (96, 8, 6, 12),
        (126, 16, 8, 8),
        (126, 16, 1, 8),
        (32, 5, 1, 0),
        (32, 1, 1, 32),
    ],
)
def test_layers_of_a_stage(layers, pp, interleave, each):
    """126 layers in 16 stages count embedding and head as two more (Llama 3, 2024, section 3.3)."""
    assert stage_layers(layers, pp, interleave) == each


@pytest.mark.parametrize(
    ("sizes", "error", "said"),
    [
        ({"dp": 8, "micro_batch": 3, "global_batch": 100}, InvalidInput, "nearest: 96 or 120"),
        ({"pp": 5, "global_batch": 5}, IllegalDeployment, "32 layers do not divide over 5 stages"),
        ({"pp": 4, "interleave": 3, "global_batch": 4}, IllegalDeployment, "4 stages x 3 parts"),
        ({"tp": 3}, IllegalDeployment, "3"),
        ({"pp": 4, "interleave": 2, "global_batch": 6}, InvalidInput, "in groups of pp 4"),
        ({"seq_len": 1 << 20}, InvalidInput, "over the model's maximum of 131,072"),
        ({"method": "lora", "lora_targets": "q_prj"}, PlannerError, "q_proj"),
        ({"lora_targets": "q_proj"}, InvalidInput, "lora and qlora"),
    ],
)
def test_what_cannot_be_is_one_line_that_says_what_can(llama, sizes, error, said):
    with pytest.raises(error) as raised:
        check_run(TrainingRun(**sizes), llama)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("model", ["deepseek-r1", "kimi-k3", "qwen2.5-vl-7b"])
def test_models_that_are_not_dense_are_refused(catalogue, model):
    with pytest.raises(Unsupported, match="dense language models alone"):
        check_trainable(blocks(catalogue, model), model)


def test_counts_follow_from_the_sizes():
    run = TrainingRun(tp=4, pp=8, dp=16, micro_batch=2, global_batch=2048, seq_len=2048, interleave=4)
    assert (run.gpus, run.micro_batches, run.tokens) == (512, 64, 4_194_304)
    assert run.layout == "TP4 PP8 VP4 DP16 ZeRO-1"
