"""Time of a training step: closed forms, worked numbers of docs/training.md, and what must always hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.architecture.training import Product
from planner.performance.training import training_flops_per_token, training_step
from planner.scenario.training import TrainingRun
from tests.performance.training_machines import blocks, machine


@pytest.fixture(scope="module")
def llama(catalogue):
    return blocks(catalogue, "llama-3.1-8b")


@pytest.fixture(scope="module")
def h100(catalogue):
    return machine(catalogue, "h100-sxm")


def test_flops_of_a_token_of_llama(llama):
    """6 N + 12 layers x width x length (Chowdhery et al. 2022); N without the table of embeddings."""
    matrices = 32 * 218_103_808 + 128_256 * 4096
    needed, done = training_flops_per_token(llama, TrainingRun(seq_len=4096))
    assert needed == done == 6 * matrices + 12 * 32 * 4096 * 4096
    assert needed == pytest.approx(51.47e9, rel=1e-4)
    _, again = training_flops_per_token(llama, TrainingRun(seq_len=4096, recompute="full"))
    assert again == pytest.approx(67.58e9, rel=1e-4)


@pytest.mark.parametrize(("layers", "hidden", "length", "vocabulary"), [(96, 12288, 2048, 51200)])
def test_flops_of_gpt_3_are_those_of_megatron(catalogue, layers, hidden, length, vocabulary):
    """Equation 3 of Narayanan et al. 2021: 96 l h^2 (1 + s/(6h) + V/(16 l h)) with full recomputation."""
    _, done = training_flops_per_token(
        blocks(catalogue, "gpt-3-175b"), TrainingRun(seq_len=length, recompute="full")
    )
    published = 96 * layers * hidden**2 * (1 + length / (6 * hidden) + vocabulary / (16 * layers * hidden))
    assert done == pytest.approx(published, rel=0.002)


def test_selective_recomputation_does_attention_again(catalogue):
    """A third of its 12 l h s FLOPs, where attention is not fused (Korthikanti et al. 2022, appendix A)."""
    model = blocks(catalogue, "gpt-3-175b")
    run = TrainingRun(seq_len=2048, recompute="selective", attention="unfused")
    needed, done = training_flops_per_token(model, run)
    assert done - needed == 4 * 96 * 12288 * 2048


def test_frozen_weights_need_two_thirds(llama):
    whole, _ = training_flops_per_token(llama, TrainingRun(seq_len=128))
    frozen, _ = training_flops_per_token(llama, TrainingRun(seq_len=128, method="lora", lora_rank=1))
    assert frozen / whole == pytest.approx(2 / 3, rel=0.005)


def test_worked_numbers_of_the_page(llama, h100):
    assert h100.product_s(Product(4096, 14336), 4096, "bf16") == pytest.approx(821e-6, rel=1e-3)
    assert h100.attention_flop_per_s == pytest.approx(0.335 * 989e12)
    once = training_step(llama, TrainingRun(seq_len=4096), h100)
    forward_and_backward = 3.5 * 32
    assert once.parts_s["attention"] == pytest.approx(forward_and_backward * 421e-6, rel=2e-3)
    assert once.parts_s["elementwise"] == pytest.approx(3 * 32 * 373e-6, rel=2e-3)
    assert once.parts_s["optimiser"] == pytest.approx(90e-3, rel=2e-3)


def test_worked_numbers_of_communication(catalogue, llama, h100):
    def parts(model, **sizes):
        return training_step(model, TrainingRun(seq_len=4096, **sizes), h100).parts_s

    tensor = parts(blocks(catalogue, "llama-3.1-70b"), tp=8)["tensor_parallel"]
    assert tensor == pytest.approx(4 * 80 * 267e-6, rel=2e-3)
    assert parts(llama, dp=8, global_batch=8, fsdp=1)["data_parallel"] == pytest.approx(55.1e-3, rel=2e-3)
    assert parts(llama, dp=8, global_batch=8, fsdp=3)["data_parallel"] == pytest.approx(82.6e-3, rel=2e-3)
    four = parts(llama, dp=8, global_batch=32, fsdp=3)["data_parallel"]
    assert four == pytest.approx(4 * 82.6e-3, rel=2e-3)
    two = parts(llama, dp=8, global_batch=32, fsdp=2)["data_parallel"]
    assert two == pytest.approx(5 * 55.1e-3 / 2, rel=2e-3)  # gathered once, scattered four times
    assert parts(llama, dp=8, global_batch=32, fsdp=1)["optimiser"] == pytest.approx(11.2e-3, rel=5e-3)


@pytest.mark.parametrize(("interleave", "share"), [(1, 7 / 64), (4, 7 / 256)])
def test_the_bubble_is_that_of_narayanan(catalogue, h100, interleave, share):
    """(p - 1) / (m v) of the work of a stage (Narayanan et al. 2021, section 2.2)."""
    run = TrainingRun(
        tp=4, pp=8, dp=16, micro_batch=2, global_batch=2048, seq_len=2048, interleave=interleave
    )
    parts = training_step(blocks(catalogue, "gpt-3-175b"), run, h100).parts_s
    work = sum(parts[name] for name in ("gemm", "attention", "elementwise", "tensor_parallel"))
    assert parts["bubble"] == pytest.approx(share * work)


def test_full_recomputation_adds_a_forward_pass_and_one_gpu_says_nothing(llama, h100):
    kept, again = (
        training_step(llama, TrainingRun(seq_len=4096, recompute=how), h100).parts_s
        for how in ("none", "full")
    )
    assert again["attention"] / kept["attention"] == pytest.approx(4.5 / 3.5)
    assert again["elementwise"] / kept["elementwise"] == pytest.approx(4 / 3)
    for part in ("tensor_parallel", "pipeline", "data_parallel", "bubble"):
        assert kept[part] == 0


RUNS = st.fixed_dictionaries(
    {
        "tp": st.sampled_from([1, 2, 4, 8]),
        "pp": st.sampled_from([1, 2, 4]),
        "dp": st.sampled_from([1, 2, 8, 64]),
        "fsdp": st.integers(0, 3),
        "micro_batch": st.sampled_from([1, 2, 4]),
        "seq_len": st.sampled_from([512, 2048, 8192]),
        "recompute": st.sampled_from(["none", "selective", "full"]),
        "dtype": st.sampled_from(["bf16", "fp8"]),
        "method": st.sampled_from(["full", "lora", "qlora"]),
    }
)


def run_of(sizes, **changes):
    return TrainingRun(**{**sizes, "global_batch": 8 * sizes["dp"] * sizes["micro_batch"], **changes})


@given(sizes=RUNS)
@settings(max_examples=60)
def test_a_step_is_the_sum_of_its_parts_and_below_the_peak(llama, h100, sizes):
    run = run_of(sizes)
    step = training_step(llama, run, h100)
    assert all(time >= 0 for time in step.parts_s.values())
    assert step.step_s == pytest.approx(sum(step.parts_s.values()))
    assert step.tokens_per_s_per_gpu * step.step_s * run.gpus == pytest.approx(run.tokens)
    assert step.hardware_flop_per_s_per_gpu <= h100.rates[run.dtype] / h100.model.sustained
    assert step.flop_per_s_per_gpu <= step.hardware_flop_per_s_per_gpu


@given(sizes=RUNS, faster=st.floats(1.01, 4))
@settings(max_examples=40)
def test_faster_products_never_make_a_slower_step(catalogue, llama, h100, sizes, faster):
    quick = machine(catalogue, "h100-sxm", {name: rate * faster for name, rate in h100.rates.items()})
    run = run_of(sizes)
    assert training_step(llama, run, quick).step_s < training_step(llama, run, h100).step_s


@given(sizes=RUNS)
@settings(max_examples=40)
def test_work_that_is_left_out_never_costs(llama, h100, sizes):
    """Adapters cost no more than all weights, no recomputation no more than full, shorter bubbles less."""
    step = training_step(llama, run_of(sizes, method="full", recompute="full"), h100).step_s
    assert training_step(llama, run_of(sizes, method="full", recompute="none"), h100).step_s < step
    if sizes["micro_batch"] * sizes["seq_len"] >= 2048 * sizes["tp"]:  # else launches of adapters count
        assert training_step(llama, run_of(sizes, method="lora", recompute="full"), h100).step_s < step
    if sizes["pp"] > 1:
        plain = training_step(llama, run_of(sizes), h100).parts_s["bubble"]
        assert training_step(llama, run_of(sizes, interleave=2), h100).parts_s["bubble"] < plain


@given(sizes=RUNS)
@settings(max_examples=40)
def test_hidden_communication_only_helps(catalogue, llama, h100, sizes):
    hidden = machine(catalogue, "h100-sxm", tensor_hidden=0.9, data_hidden=0.9)
    run = run_of(sizes)
    assert training_step(llama, run, hidden).step_s <= training_step(llama, run, h100).step_s


def test_paged_states_cost_their_way_over_the_link(catalogue):
    model, card = blocks(catalogue, "llama-65b"), machine(catalogue, "l40s")
    sizes = {"method": "qlora", "seq_len": 512, "recompute": "full"}
    little, much = (
        training_step(model, TrainingRun(lora_rank=rank, **sizes), card).parts_s["optimiser"]
        for rank in (16, 64)
    )
    assert little < 0.02
    assert much == pytest.approx(4 * little + 2 * 5.3 * 2**30 / 25e9, rel=0.05)
