"""The search over layouts of a training run: legal, fitting, no slower than any other that fits."""

from __future__ import annotations

import pytest

from planner.errors import DoesNotFit, InvalidInput, PlannerError
from planner.memory.training import training_memory
from planner.performance.training import training_step
from planner.planning.training_search import training_plan
from planner.scenario.training import TrainingRun, check_run
from tests.performance.training_machines import blocks, machine


def plan(catalogue, model, gpu, gpus=None, **given):
    return training_plan(
        blocks(catalogue, model), machine(catalogue, gpu), given=given, gpus=gpus, name=model
    )


@pytest.mark.parametrize(
    ("model", "gpu", "gpus", "given"),
    [
        ("llama-3.1-8b", "h100-sxm", 8, {}),
        ("llama-3.1-70b", "mi300x", 64, {"dtype": "fp8"}),
        ("llama-2-7b", "rtx-4090", 1, {"method": "qlora"}),
        ("gpt-3-175b", "h100-sxm", 512, {"tp": 4, "seq_len": 2048}),
    ],
)
def test_what_is_found_is_legal_fits_and_keeps_what_was_given(catalogue, model, gpu, gpus, given):
    found = plan(catalogue, model, gpu, gpus, **given)
    check_run(found.run, blocks(catalogue, model))
    assert found.run.gpus == gpus
    assert found.memory.fits
    assert found.searched > 1
    assert all(getattr(found.run, name) == value for name, value in given.items())


def test_nothing_simple_that_fits_is_faster(catalogue):
    """Every power of two of TP, PP and DP, stage of ZeRO and micro-batch on eight GPUs, tried one by one."""
    model, h100 = blocks(catalogue, "llama-3.1-8b"), machine(catalogue, "h100-sxm")
    found = plan(catalogue, "llama-3.1-8b", "h100-sxm", 8, global_batch=1024, seq_len=4096)
    assert found.step is not None
    tried = 0
    for tp, pp in [(1, 1), (1, 2), (1, 4), (1, 8), (2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (8, 1)]:
        for fsdp in range(4):
            for micro in (1, 2, 4, 8, 16):
                for recompute in ("none", "full"):
                    run = TrainingRun(
                        tp=tp,
                        pp=pp,
                        dp=8 // tp // pp,
                        fsdp=fsdp,
                        micro_batch=micro,
                        global_batch=1024,
                        recompute=recompute,
                    )
                    if training_memory(model, run, h100.gpu).fits:
                        tried += 1
                        assert training_step(model, run, h100).step_s >= found.step.step_s * (1 - 1e-9)
    assert tried > 50


def test_the_fewest_gpus_that_hold_a_model(catalogue):
    found = plan(catalogue, "llama-3.1-70b", "h100-sxm")
    assert found.step is not None
    with_half = plan(catalogue, "llama-3.1-70b", "h100-sxm", found.run.gpus // 2)
    assert with_half.step is None
    assert not with_half.memory.fits


def test_a_whole_layout_is_taken_as_it_is(catalogue):
    sizes = {"tp": 2, "pp": 1, "dp": 4, "fsdp": 1, "micro_batch": 2, "global_batch": 64, "interleave": 1}
    found = plan(catalogue, "llama-3.1-8b", "h100-sxm", None, **sizes, recompute="full")
    assert found.searched == 1
    assert found.run.recompute == "full"
    assert all(getattr(found.run, name) == value for name, value in sizes.items())


def test_more_memory_or_faster_links_never_find_a_slower_run(catalogue):
    small = plan(catalogue, "llama-3.1-70b", "h100-sxm", 64)
    large = plan(catalogue, "llama-3.1-70b", "h200-sxm", 64)  # the same chip with more and faster memory
    assert small.step is not None
    assert large.step is not None
    assert large.step.step_s <= small.step.step_s


@pytest.mark.parametrize(
    ("gpus", "given", "error"),
    [
        (12, {"tp": 8}, PlannerError),
        (8, {"tp": 2, "pp": 2, "dp": 4}, InvalidInput),
        (8, {"global_batch": 12, "dp": 8}, InvalidInput),
        (8, {"pp": 5}, PlannerError),
        (None, {"pp": 256}, PlannerError),
        (None, {"pp": 3, "dp": 1 << 20, "micro_batch": 1}, PlannerError),
    ],
)
def test_sizes_that_cannot_be_are_one_line(catalogue, gpus, given, error):
    with pytest.raises(error) as raised:
        plan(catalogue, "llama-3.1-8b", "h100-sxm", gpus, **given)
    assert "\n" not in str(raised.value)


def test_a_card_that_holds_no_layer_is_said_so(catalogue):
    with pytest.raises(DoesNotFit, match="cannot hold one layer"):
        plan(catalogue, "llama-3.1-405b", "rtx-4090", 8, tp=1, seq_len=32768)


def days_of(catalogue, days, model="llama-3.1-8b", tokens=10**12, **given):
    from planner.planning.training import trained

    return trained(
        model=catalogue.model(model),
        gpu=catalogue.gpu("h100-sxm"),
        catalogue=catalogue,
        given=given,
        tokens=tokens,
        days=days,
    )


@pytest.mark.parametrize("days", [30, 365, 3])
def test_the_fewest_gpus_that_train_in_time(catalogue, days):
    found = days_of(catalogue, days)
    assert found.run_hours.value <= 24 * days
    gpus = found.plan.run.gpus
    fewer = gpus - (8 if gpus > 8 else 1)
    run = plan(catalogue, "llama-3.1-8b", "h100-sxm", fewer).step
    assert 1e12 / run.tokens * run.step_s / 3600 / 0.99 > 24 * days


def test_gpus_in_time_keep_the_sizes_that_are_given(catalogue):
    run = days_of(catalogue, 30, model="llama-3.1-70b", tp=8, pp=4).plan.run
    assert (run.tp, run.pp, run.gpus % 32) == (8, 4, 0)


def test_no_number_of_gpus_is_said(catalogue):
    with pytest.raises(InvalidInput, match="no number up to"):
        days_of(catalogue, 0.001)


def test_what_would_let_a_run_fit_does(catalogue):
    from planner.planning.training_remedies import remedies

    model, card = blocks(catalogue, "llama-3.1-70b"), machine(catalogue, "rtx-4090")

    def plan_of(given, gpus):
        return training_plan(model, card, given=given, gpus=gpus, name="llama")

    given = {"method": "qlora"}
    said = remedies(plan_of, plan_of(given, 2), given)
    assert said == ("with sequences of 1,024 tokens", "on 4 GPUs")
    assert plan_of({**given, "seq_len": 1024}, 2).step
    assert not plan_of({**given, "seq_len": 2048}, 2).step
    assert plan_of(given, 4).step
