"""Time of a unit of media: laws it must keep, and blocks that were measured on an H200."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture.media import Job, Work, build_component
from planner.catalogue.media import media_host, media_model, media_stack
from planner.memory.media import media_memory
from planner.performance.media import media_time, rate_of
from planner.scenario.media import media_workload

ROOT = Path(__file__).parents[2]


def timed(catalogue, model, gpu, **asked):
    found, card = media_model(catalogue, model), catalogue.gpu(gpu)
    workload, stack = media_workload(found, asked), media_stack(catalogue, card.vendor)
    memory = media_memory(found, workload, card, stack)
    return media_time(found, workload, card, stack, memory, media_host(catalogue))


def denoising(time):
    return next(part for part in time.parts if part.name == "transformer")


@pytest.mark.parametrize("model", ["flux.1-dev", "wan2.2", "hunyuan3d"])
@given(steps=st.integers(1, 200))
def test_denoising_is_linear_in_the_steps(catalogue, model, steps):
    one, many = (denoising(timed(catalogue, model, "mi355x", steps=n)) for n in (1, steps))
    assert many.seconds == pytest.approx(steps * one.seconds)
    assert many.passes == steps


def test_attention_is_quadratic_in_the_tokens(catalogue):
    small, large = (
        denoising(timed(catalogue, "wan2.2", "b200", size=size)) for size in ("1280x640", "1280x1280")
    )
    # keys of the text grow with the tokens alone, and are 512 beside 67,200
    assert large.attention_s / small.attention_s == pytest.approx(4, rel=0.005)
    assert large.linear_s / small.linear_s == pytest.approx(2, rel=0.005)


@given(side=st.integers(16, 200), more=st.integers(1, 50))
def test_larger_pictures_take_longer(catalogue, side, more):
    small, large = (
        timed(catalogue, "flux.1-dev", "mi355x", size=(16 * n, 1024)).seconds for n in (side, side + more)
    )
    assert small < large


@given(units=st.integers(0, 60), more=st.integers(1, 40))
def test_longer_videos_take_longer(catalogue, units, more):
    short, long = (
        timed(catalogue, "wan2.2", "mi355x", frames=4 * n + 1).seconds for n in (units, units + more)
    )
    assert short < long


def test_guidance_doubles_the_denoising_of_wan_and_not_of_flux(catalogue):
    without, with_it = (denoising(timed(catalogue, "wan2.2", "mi355x", guidance=g)).flop for g in (1.0, 3.5))
    assert with_it == 2 * without
    assert timed(catalogue, "flux.1-dev", "mi355x", guidance=0.0) == timed(catalogue, "flux.1-dev", "mi355x")


@pytest.mark.parametrize("model", ["flux.1-dev", "wan2.2", "hunyuan3d"])
def test_a_part_that_is_better_everywhere_is_never_slower(catalogue, model):
    found, card = media_model(catalogue, model), catalogue.gpu("b200-sxm")
    stack, workload, host = media_stack(catalogue, "NVIDIA"), media_workload(found, {}), media_host(catalogue)
    memory = media_memory(found, workload, card, stack)
    base = media_time(found, workload, card, stack, memory, host)
    rate = rate_of(stack, card)
    for name in ("linear", "attention", "convolution", "memory"):
        better = rate.model_copy(update={name: min(1.0, 1.1 * getattr(rate, name))})
        assert media_time(found, workload, card, stack, memory, host, rate=better).seconds <= base.seconds
    assert media_time(found, workload, card, stack, memory, host, host_speed=2.0).seconds < base.seconds


def test_the_interval_holds_the_time(catalogue):
    for gpu in ("mi355x", "b200", "h200", "rtx-4090", "mi300x", "rtx-5090"):
        time = timed(catalogue, "hunyuan3d", gpu)
        assert time.low_s < time.seconds < time.high_s
    unknown = timed(catalogue, "hunyuan3d", "gaudi-3") if "gaudi-3" in catalogue.gpu_ids() else None
    assert unknown is None or unknown.rate.confidence == "assumed"


def test_small_pictures_wait_for_launches(catalogue):
    small, smaller = (denoising(timed(catalogue, "flux.1-dev", "b200", size=s)) for s in ("128x128", "64x64"))
    assert small.seconds == pytest.approx(smaller.seconds)
    assert small.seconds == pytest.approx(20 * 57 * 100 * 12e-6)
    assert smaller.bound_by == "launches and the host"


def test_weights_of_the_host_come_over_for_every_pass(catalogue):
    held, card = media_model(catalogue, "flux.1-dev"), catalogue.gpu("rtx-4090")
    stack, workload = media_stack(catalogue, "NVIDIA"), media_workload(held, {"offload": True})
    memory = media_memory(held, workload, card, stack)
    slow = replace(memory, streamed_bytes=40e9)
    part = denoising(media_time(held, workload, card, stack, slow, media_host(catalogue)))
    assert part.seconds == pytest.approx(20 * 40e9 / (0.8 * 32e9))


def seconds_of(work: Work, catalogue) -> float:
    """Return the time of one block on an H200 at the shares of the catalogue."""
    card = catalogue.gpu("h200-sxm")
    rate = rate_of(media_stack(catalogue, "NVIDIA"), card)
    peak, bandwidth = card.peak_flop_per_s("bf16"), card.bandwidth_bytes_per_s * rate.memory
    return (
        work.linear_flop / (peak * rate.linear)
        + work.attention_flop / (peak * rate.attention)
        + work.convolution_flop / (peak * rate.convolution)
        + work.moved_bytes / bandwidth
    )


def measured_blocks() -> dict[tuple[str, str], float]:
    with (ROOT / "measurements/kernels/own_h200_media.csv").open(encoding="utf-8") as file:
        return {(row["block"], row["case"]): float(row["ms"]) / 1e3 for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    ("model", "size", "frames", "blocks", "tolerance"),
    [
        ("flux.1-dev", 2560, 1, {("flux double", "2560"): 19, ("flux single", "2560"): 38}, 0.05),
        ("flux.1-dev", 1024, 1, {("flux double", "1024"): 19, ("flux single", "1024"): 38}, 0.10),
        ("wan2.2", 1280, 81, {("wan block", "134400"): 40}, 0.05),
        ("wan2.2", 640, 81, {("wan block", "33600"): 40}, 0.10),
    ],
)
def test_measured_blocks_of_transformers(catalogue, model, size, frames, blocks, tolerance):
    found = media_model(catalogue, model)
    block = build_component(found.denoiser.kind, found.denoiser.sizes)
    tokens = ((frames - 1) // 4 + 1) * (size // 16) ** 2
    predicted = seconds_of(block.work(Job(tokens, 512)), catalogue)
    known = measured_blocks()
    assert predicted == pytest.approx(sum(n * known[key] for key, n in blocks.items()), rel=tolerance)


def test_measured_blocks_of_hunyuan3d(catalogue):
    found = media_model(catalogue, "hunyuan3d")
    block = build_component(found.denoiser.kind, found.denoiser.sizes)
    predicted = seconds_of(block.work(Job(4096, 1370, sequences=2)), catalogue)
    known = measured_blocks()
    # the measured blocks all take what an earlier one left, which 11 of the 21 do not
    measured = 15 * known["hunyuan block", "dense"] + 6 * known["hunyuan block", "experts"]
    assert predicted == pytest.approx(measured, rel=0.25)


@pytest.mark.parametrize(
    ("model", "case", "job", "share"),
    [
        ("flux.1-dev", ("flux vae", "2560"), Job(0, 0, 2560, 2560), 1.0),
        ("flux.1-dev", ("flux vae", "1024"), Job(0, 0, 1024, 1024), 1.0),
        ("wan2.2", ("wan vae latent frame", "1280 bfloat16"), Job(0, 0, 1280, 1280, 21), 1 / 21),
        ("wan2.2", ("wan vae latent frame", "640 bfloat16"), Job(0, 0, 640, 640, 21), 1 / 21),
    ],
)
def test_measured_decoders(catalogue, model, case, job, share):
    found = media_model(catalogue, model)
    block = build_component(found.decoder.kind, found.decoder.sizes)
    predicted = share * seconds_of(block.work(job), catalogue)
    assert predicted == pytest.approx(measured_blocks()[case], rel=0.40)


@pytest.mark.parametrize("model", ["flux.1-dev", "wan2.2", "hunyuan3d"])
@pytest.mark.parametrize(
    "better",
    [
        ("a100-sxm-80", "h100-sxm", "h200-sxm", "b200-sxm", "b300-sxm"),
        ("gb200-nvl72", "gb300-nvl72"),
        ("mi300x", "mi325x", "mi350x", "mi355x"),
    ],
)
def test_the_next_generation_is_never_slower(catalogue, model, better):
    times = [timed(catalogue, model, gpu).seconds for gpu in better]
    assert times == sorted(times, reverse=True)
