"""Memory of training: ZeRO's table exactly, Korthikanti's formulae exactly, published limits of cards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture.training import layer_work
from planner.errors import DoesNotFit
from planner.memory.training import (
    NF4_BYTES,
    activation_bytes_per_token,
    check_one_layer,
    frozen_bytes,
    micro_batches_in_flight,
    model_states_bytes,
    stage_parameters,
    training_memory,
)
from planner.scenario.training import TrainingRun
from tests.performance.training_machines import blocks

GIB = 2**30


@pytest.fixture(scope="module")
def gpt_3(catalogue):
    return blocks(catalogue, "gpt-3-175b")


@pytest.mark.parametrize(("fsdp", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_states_are_those_of_figure_1_of_the_zero_paper(fsdp, gigabytes):
    """7.5e9 parameters over 64 copies (Rajbhandari et al. 2020)."""
    assert round(sum(model_states_bytes(7.5e9, dp=64, fsdp=fsdp)) / 1e9, 1) == gigabytes


@given(
    parameters=st.floats(1e6, 1e12),
    dp=st.integers(1, 4096),
    fsdp=st.integers(0, 2),
    gradient_bytes=st.sampled_from([2, 4]),
)
def test_more_sharing_never_takes_more(parameters, dp, fsdp, gradient_bytes):
    less, more = (
        sum(model_states_bytes(parameters, dp=dp, fsdp=stage, gradient_bytes=gradient_bytes))
        for stage in (fsdp + 1, fsdp)
    )
    assert less <= more
    assert more <= (14 + gradient_bytes) * parameters * (1 + 1e-12)


def kept(model, tp=1, **changes):
    run = TrainingRun(tp=tp, seq_len=2048, dropout=True, attention="unfused", **changes)
    return activation_bytes_per_token(layer_work(model.layers[0], tp), model.hidden_size, run)


def test_activations_of_a_layer_are_those_of_korthikanti(gpt_3):
    """Equations 1, 2, 4 and 6 of Korthikanti et al. 2022, divided by s b h."""
    h, scores = 12288, 5 * 96 * 2048 / 12288
    assert kept(gpt_3) == pytest.approx(h * (34 + scores))
    assert kept(gpt_3, tp=8, sequence_parallel=False) == pytest.approx(h * (10 + 24 / 8 + scores / 8))
    assert kept(gpt_3, tp=8) == pytest.approx(h * (34 + scores) / 8)
    assert kept(gpt_3, tp=8, recompute="selective") == pytest.approx(h * 34 / 8)
    assert kept(gpt_3, recompute="full") == 2 * h


def test_selective_recomputation_saves_what_its_paper_says(gpt_3):
    """70 % of the activations of GPT-3 (Korthikanti et al. 2022, section 5)."""
    assert 1 - kept(gpt_3, recompute="selective") / kept(gpt_3) == pytest.approx(0.70, abs=0.005)


def test_fp8_keeps_inputs_in_a_byte(catalogue):
    model = blocks(catalogue, "llama-3.1-8b")
    work = layer_work(model.layers[0], 1)
    bf16, fp8 = (
        activation_bytes_per_token(work, 4096, TrainingRun(seq_len=4096, dtype=dtype))
        for dtype in ("bf16", "fp8")
    )
    assert bf16 == 136 * 1024
    assert (
        bf16 - fp8 == 2 * 4096 + 14336 - 4096
    )  # inputs of both blocks, of the way back, less attention's cast


def test_stages_in_flight_keep_the_activations_of_the_whole_model(gpt_3, catalogue):
    """The first of p stages holds p micro-batches: L layers of one; interleaving adds (p-1)/(p v)."""
    gpu = catalogue.gpu("a100-sxm-80")
    sizes = {"tp": 8, "pp": 8, "seq_len": 2048, "recompute": "selective", "global_batch": 64}
    plain, parts = (
        training_memory(gpt_3, TrainingRun(**sizes, interleave=v), gpu).parts_bytes["activations"]
        for v in (1, 3)
    )
    one = activation_bytes_per_token(layer_work(gpt_3.layers[0], 8), 12288, TrainingRun(**sizes))
    assert plain == pytest.approx(96 * 2048 * one)
    assert parts == pytest.approx(plain * (1 + 7 / 24))


def test_nobody_trains_all_of_a_7b_on_80_gb(catalogue):
    """More than 100 GB of states, published as about 112 GB with what lies around them."""
    run = TrainingRun(seq_len=2048)
    small, large = (
        training_memory(blocks(catalogue, "llama-2-7b"), run, catalogue.gpu(gpu))
        for gpu in ("h100-sxm", "h200-sxm")
    )
    assert small.states_bytes == pytest.approx(16 * 6_738_415_616)
    assert small.total_bytes > 112e9
    assert not small.fits
    assert large.fits


def test_lora_of_a_7b_fits_a_card_of_24_gb(catalogue):
    run = TrainingRun(method="lora", lora_rank=8, lora_targets="q_proj,v_proj", seq_len=512)
    model = blocks(catalogue, "llama-2-7b")
    assert stage_parameters(model, run)[1] == 4_194_304
    memory = training_memory(model, run, catalogue.gpu("rtx-4090"))
    assert memory.fits
    assert 14 * GIB < memory.total_bytes < 18 * GIB
    assert memory.parts_bytes["gradients"] == 2 * 4_194_304


def test_qlora_of_65b_fits_48_gb_and_16_bits_do_not(catalogue):
    """Rank 64 on all matrices (Dettmers et al. 2023), whose optimiser is paged."""
    assert round(NF4_BYTES * 8, 3) == 4.127
    model, gpu = blocks(catalogue, "llama-65b"), catalogue.gpu("l40s")
    sizes = {"lora_rank": 64, "seq_len": 512, "recompute": "full"}
    packed = training_memory(model, TrainingRun(method="qlora", **sizes), gpu)
    whole = training_memory(model, TrainingRun(method="lora", lora_targets="all", **sizes), gpu)
    assert packed.fits
    assert packed.paged_bytes == pytest.approx(5.3 * GIB, abs=0.1 * GIB)
    assert not whole.fits
    assert whole.paged_bytes == 0


def test_states_of_qlora_are_paged_only_where_they_must(catalogue):
    run = TrainingRun(method="qlora", lora_rank=64, seq_len=512, recompute="full")
    model = blocks(catalogue, "llama-65b")
    assert training_memory(model, run, catalogue.gpu("h100-sxm")).paged_bytes == 0


def test_a_card_that_holds_no_layer_is_refused(catalogue):
    model, gpu = blocks(catalogue, "llama-3.1-405b"), catalogue.gpu("rtx-4090")
    with pytest.raises(DoesNotFit, match="rtx-4090 cannot hold one layer of Llama"):
        check_one_layer(model, TrainingRun(seq_len=32768), gpu, "Llama-3.1-405B")
    check_one_layer(model, TrainingRun(seq_len=1024, tp=8), gpu, "Llama-3.1-405B")


@given(
    micro=st.integers(1, 8),
    length=st.sampled_from([512, 2048, 8192]),
    recompute=st.sampled_from(["none", "selective", "full"]),
    dtype=st.sampled_from(["bf16", "fp8"]),
)
def test_memory_grows_with_the_batch_and_shrinks_with_recomputation(
    catalogue, micro, length, recompute, dtype
):
    model, gpu = blocks(catalogue, "llama-3.1-8b"), catalogue.gpu("h100-sxm")
    asked = {"seq_len": length, "dtype": dtype}

    def total(micro_batch, how):
        run = TrainingRun(**asked, micro_batch=micro_batch, global_batch=micro_batch, recompute=how)
        return training_memory(model, run, gpu).total_bytes

    assert total(micro, recompute) < total(micro + 1, recompute)
    assert total(micro, "full") < total(micro, "none")


def test_every_published_run_nearly_fits(catalogue):
    """All of them fitted where they ran: 68 of 80 are predicted to, and 71 to within 5 %."""
    from planner.measurement.training import training_points

    shares = []
    for point in training_points(catalogue):
        memory = training_memory(point.architecture, point.run, catalogue.gpu(point.gpu))
        shares.append(memory.total_bytes / memory.usable_bytes)
    assert len(shares) == 80
    assert sum(share <= 1 for share in shares) == 68
    assert sum(share <= 1.05 for share in shares) == 71


def test_the_fuller_end_of_a_pipeline_counts(catalogue):
    """The last stage has logits of 8 bytes; with whole layers recomputed they are more than a micro-batch."""
    model = blocks(catalogue, "llama-3.1-8b")
    card = catalogue.gpu("h100-sxm")
    sizes = {"pp": 2, "micro_batch": 2, "global_batch": 64}
    kept = training_memory(model, TrainingRun(**sizes), card).parts_bytes
    again = training_memory(model, TrainingRun(**sizes, recompute="full"), card).parts_bytes
    assert kept["logits"] == 0
    assert kept["activations"] == 2 * 16 * 2 * 4096 * 136 * 1024
    assert again["logits"] == 8 * 2 * 4096 * 128_256
    assert again["activations"] == (16 * 2 * 4096 + 136 * 1024) * 2 * 4096


def test_micro_batches_in_flight_are_those_of_narayanan():
    assert micro_batches_in_flight(TrainingRun(pp=8, global_batch=64)) == (8, 1)
    assert micro_batches_in_flight(TrainingRun(pp=8, interleave=4, global_batch=64)) == (9.75, 6.25)
    assert micro_batches_in_flight(TrainingRun(pp=8, global_batch=2)) == (2, 1)


def test_frozen_weights_are_held_and_sent_in_nf4(catalogue):
    model = blocks(catalogue, "llama-3.1-8b")
    lora, qlora = (
        frozen_bytes(model, TrainingRun(method=method), 8_030_261_248) for method in ("lora", "qlora")
    )
    assert lora == 2 * 8_030_261_248
    assert lora - qlora == pytest.approx((2 - NF4_BYTES) * 32 * 218_103_808)
