"""Physics as tests: nothing beats light, better machines are never slower, load never helps one user."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.catalogue import load_catalogue
from planner.errors import DoesNotFit, InvalidInput, Overload
from planner.performance.levels import calibration_of
from planner.performance.parameters import INDEX, neutral
from planner.performance.predict import make_service, predict_deployment
from planner.performance.steady import steady_state
from planner.performance.times import decode_step, prefill, reading_s
from planner.scenario import Deployment, Workload

SETUPS = (
    ("llama-3.1-8b", "h100", {}),
    ("llama-3.3-70b", "mi300x", {"tp": 2}),
    ("deepseek-r1", "b200", {"tp": 8}),
    ("deepseek-r1", "mi355x", {"tp": 1, "dp": 8, "ep": 8}),
    ("gpt-oss-120b", "h200", {"tp": 2}),
    ("qwen3.5-397b-a17b", "b300", {"tp": 8}),
    ("kimi-k3", "mi355x", {"tp": 8}),
)


@cache
def book():
    return load_catalogue()


@cache
def service(number: int):
    model, gpu, sizes = SETUPS[number]
    return make_service(
        model=book().model(model),
        gpu=book().gpu(gpu),
        deployment=Deployment(**sizes),
        workload=Workload(isl=1024, osl=1024),
        catalogue=book(),
    )


def asked(model="llama-3.1-8b", gpu="h200", load=None, **sizes):
    return predict_deployment(
        model=book().model(model),
        gpu=book().gpu(gpu) if isinstance(gpu, str) else gpu,
        deployment=Deployment(**sizes),
        workload=load or Workload(isl=1024, osl=512, concurrency=8),
        catalogue=book(),
    )


numbers = st.integers(0, len(SETUPS) - 1)
lengths = st.integers(16, 32_000)
loads = st.floats(1, 2048)


@settings(max_examples=60, deadline=None)
@given(numbers, lengths, lengths, loads)
def test_no_step_is_faster_than_reading_weights_and_caches_at_nameplate_bandwidth(number, isl, osl, load):
    found = service(number).at(isl, osl, load)
    profile = service(number).decode.profile
    each = np.maximum(found.batch / profile.dp, 1.0)
    light = reading_s(profile, each, np.maximum(found.batch, 1.0), np.array([isl + osl / 2]))
    assert found.step_s[0] >= light[0]
    assert found.tpot_s[0] >= 0.99 * light[0]


@settings(max_examples=60, deadline=None)
@given(numbers, lengths)
def test_no_prefill_beats_dense_peak(number, isl):
    one = service(number)
    parameters = one.parameters(*(np.array([value]) for value in (float(isl), 512.0, 1.0)))
    time = prefill(
        one.decode.profile, parameters, np.array([float(isl)]), np.zeros(1), floors=False, once=False
    )
    profile = one.decode.profile
    light = (profile.dense_light_s + profile.expert_light_s * profile.dp) * isl
    assert time[0] >= light[0]


@settings(max_examples=60, deadline=None)
@given(numbers, lengths, lengths, loads, st.floats(1.01, 8))
def test_more_load_never_gives_a_user_more(number, isl, osl, load, more):
    classes = service(number)
    parameters = classes.parameters(*(np.array([value]) for value in (float(isl), float(osl), load)))

    def tpot(concurrency):
        points = classes.points(*(np.array([v]) for v in (float(isl), float(osl), concurrency, 0.0)))
        return float(steady_state(classes.decode.profile, parameters, points).tpot_s[0])

    assert tpot(load * more) >= tpot(load) * (1 - 5e-3)


@settings(max_examples=40, deadline=None)
@given(numbers, lengths, st.floats(1, 512))
def test_longer_contexts_and_larger_batches_are_never_faster(number, context, batch):
    profile = service(number).decode.profile

    def step(requests, tokens):
        return float(decode_step(profile, neutral(), np.array([requests]), np.array([tokens])).total[0])

    assert step(batch, 2.0 * context) >= step(batch, float(context))
    assert step(2 * batch, float(context)) >= step(batch, float(context))


@pytest.mark.parametrize("better", [("bandwidth",), ("peaks",), ("bandwidth", "peaks")])
def test_a_gpu_with_better_figures_is_never_slower(better):
    card = book().gpu("h200")

    def doubled(figure):
        return figure.model_copy(update={"value": 2 * figure.value})

    faster = card
    if "bandwidth" in better:
        memory = card.memory.model_copy(update={"bandwidth": doubled(card.memory.bandwidth)})
        faster = faster.model_copy(update={"memory": memory})
    if "peaks" in better:
        peaks = {name: doubled(figure) for name, figure in card.peaks.items()}
        faster = faster.model_copy(update={"peaks": peaks})
    for concurrency in (1, 16, 256):
        load = Workload(isl=4096, osl=256, concurrency=concurrency)
        slow, fast = asked(gpu=card, load=load), asked(gpu=faster, load=load)
        assert fast.output_tps_total.value > slow.output_tps_total.value
        assert fast.tpot_ms.value <= slow.tpot_ms.value
        # In a closed loop faster decoding alone brings requests back sooner, so that prefills queue more.
        if better != ("bandwidth",) or concurrency == 1:
            assert fast.ttft_ms.value <= slow.ttft_ms.value * (1 + 1e-9)


def test_tensor_parallelism_across_nodes_is_never_cheaper_in_communication():
    inside, across = (
        make_service(
            model=book().model("kimi-k3"),
            gpu=book().gpu(gpu),
            deployment=Deployment(tp=tp),
            workload=Workload(isl=1024, osl=400),
            catalogue=book(),
        ).decode.profile.collective_s[0]
        for gpu, tp in (("b300", 8), ("b300", 16))
    )
    assert (across >= inside).all()


def test_every_parameter_slows_down_what_it_multiplies():
    one = service(2)
    points = one.points(*(np.array([value]) for value in (2048.0, 512.0, 64.0, 0.0)))
    plain = steady_state(one.decode.profile, neutral(), points)
    for name in ("dense_read", "launch", "expert_read", "collective_latency", "host", "sampling", "decode"):
        moved = neutral()
        moved[:, INDEX[name]] = 0.5
        assert steady_state(one.decode.profile, moved, points).tpot_s[0] > plain.tpot_s[0], name


def test_a_full_pool_keeps_requests_waiting():
    one = service(1)
    profile = replace(one.decode.profile, pool_bytes=np.array([2e9]))
    points = one.points(*(np.array([value]) for value in (4096.0, 512.0, 128.0, 0.0)))
    tight = steady_state(profile, neutral(), points)
    roomy = steady_state(one.decode.profile, neutral(), points)
    assert tight.batch[0] <= tight.most[0] < roomy.batch[0]
    assert tight.ttft_s[0] > 2 * roomy.ttft_s[0]
    assert tight.output_tps[0] < roomy.output_tps[0]


def test_a_rate_that_cannot_be_carried_is_named_with_the_nearest_one():
    with pytest.raises(Overload, match=r"request rate 1e\+06/s is above .*nearest steady rate is"):
        asked(load=Workload(isl=1024, osl=512, request_rate=1e6))


def test_a_rate_and_the_concurrency_it_leads_to_give_the_same():
    by_rate = asked(load=Workload(isl=1024, osl=512, request_rate=2.0))
    assert by_rate.request_rate_per_s == pytest.approx(2.0, rel=1e-3)
    assert by_rate.concurrency > 1


def test_loads_that_cannot_be_are_refused():
    with pytest.raises(InvalidInput, match="isl and osl are needed"):
        asked(load=Workload(isl=100, concurrency=1))
    with pytest.raises(InvalidInput, match="not both"):
        asked(load=Workload(isl=100, osl=10, concurrency=1, request_rate=1.0))
    with pytest.raises(DoesNotFit, match="kimi-k3 on 1 x h200"):
        asked("kimi-k3", "h200")
    with pytest.raises(InvalidInput, match="over the model's maximum"):
        asked(load=Workload(isl=200_000, osl=512, concurrency=1))


def test_cached_input_shortens_the_first_token_and_prefill_gpus_relieve_decoding():
    fresh = asked(load=Workload(isl=8192, osl=512, concurrency=64))
    cached = asked(load=Workload(isl=8192, osl=512, concurrency=64, prefix_hit=0.9))
    assert cached.tpot_ms.value < fresh.tpot_ms.value
    apart = predict_deployment(
        model=book().model("llama-3.1-8b"),
        gpu=book().gpu("h200"),
        deployment=Deployment(),
        workload=Workload(isl=8192, osl=512, concurrency=64),
        catalogue=book(),
        prefill_deployment=Deployment(),
        prefill_copies=2,
        calibration=replace(calibration_of(book()), levels={}),
    )
    alone = predict_deployment(
        model=book().model("llama-3.1-8b"),
        gpu=book().gpu("h200"),
        deployment=Deployment(),
        workload=Workload(isl=8192, osl=512, concurrency=64),
        catalogue=book(),
        calibration=replace(calibration_of(book()), levels={}),
    )
    assert apart.gpus == 3
    assert apart.tpot_ms.value < alone.tpot_ms.value


def test_the_gain_of_speculation_shrinks_under_load():
    gains = []
    for concurrency in (1, 64, 512):
        load = Workload(isl=1024, osl=1024, concurrency=concurrency)
        plain = asked("deepseek-r1", "b200", load=load, tp=8)
        drafted = asked("deepseek-r1", "b200", load=load, tp=8, speculative_tokens=3)
        gains.append(drafted.output_tps_total.value / plain.output_tps_total.value)
    assert gains[0] > gains[1] > gains[2]
    assert gains[0] > 1.4


def test_an_interval_holds_its_prediction_and_rates_agree():
    found = asked("deepseek-r1", "mi355x", tp=8)
    for figure in (found.output_tps_total, found.tpot_ms, found.ttft_ms, found.tps_per_user):
        assert figure.low < figure.value < figure.high
    assert found.output_tps_per_gpu.value == pytest.approx(found.output_tps_total.value / 8)
    assert found.tps_per_user.value == pytest.approx(1e3 / found.tpot_ms.value)
    assert sum(row.share for row in found.step_breakdown) == pytest.approx(1, abs=0.02)
    assert found.bounds.fastest_step_s < found.bounds.serial_step_s


@pytest.mark.parametrize(
    ("model", "gpu", "engine"),
    [
        ("llama-3.1-8b", "b200", "vllm"),
        ("llama-3.3-70b", "h200", "sglang"),
        ("deepseek-r1", "b200", "vllm"),
        ("qwen3.5-397b-a17b", "mi355x", "vllm"),
        ("kimi-k2.5", "h200", "tensorrt-llm"),
    ],
)
def test_stages_on_another_node_make_no_single_request_faster(model, gpu, engine):
    alone = Workload(isl=1024, osl=512, concurrency=1)
    inside = asked(model, gpu, alone, tp=8, engine=engine)
    across = asked(model, gpu, alone, tp=8, pp=2, engine=engine)
    assert across.tpot_ms.value >= inside.tpot_ms.value
