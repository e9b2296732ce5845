"""What of a media model is on the accelerator at once, and what a small card needs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalogue.media import media_model, media_stack
from planner.errors import DoesNotFit, Unsupported
from planner.memory.media import media_memory
from planner.performance.media import media_time, not_fitting
from planner.scenario.media import media_workload

GIB = 2**30


def memory(catalogue, model, gpu, **asked):
    found, card = media_model(catalogue, model), catalogue.gpu(gpu)
    return media_memory(found, media_workload(found, asked), card, media_stack(catalogue, card.vendor))


def test_weights_are_parameters_times_bytes(catalogue):
    flux = memory(catalogue, "flux.1-dev", "mi355x")
    by_name = {part.name: part for part in flux.parts}
    assert by_name["transformer"].weight_bytes == 2 * 11_901_408_320  # published: 23.8 GB
    assert by_name["T5-XXL"].weight_bytes == 2 * 4_762_310_656
    wan = memory(catalogue, "wan2.2", "mi355x", weight_dtype="bf16")
    assert wan.parts[1].weight_bytes == 2 * 14_288_491_584  # published: 28.6 GB each
    assert wan.weight_bytes > 2 * wan.parts[1].weight_bytes


def test_order_is_that_in_which_components_run(catalogue):
    assert [part.role for part in memory(catalogue, "hunyuan3d", "b200").parts] == [
        "picture",
        "denoiser",
        "decoder",
    ]


@pytest.mark.parametrize(
    ("model", "gpu", "asked", "mode", "fits"),
    [
        ("flux.1-dev", "mi355x", {"size": "2560x2560"}, "resident", True),
        ("flux.1-dev", "rtx-4090", {}, "offloaded", False),
        ("flux.1-dev", "rtx-4090", {"offload": True}, "offloaded", True),
        ("flux.1-dev", "rtx-4090", {"weight_dtype": "fp8"}, "swapped", True),
        ("wan2.2", "rtx-4090", {}, "swapped", True),  # a workflow of ComfyUI for cards of 24 GB
        ("wan2.2", "rtx-4090", {"weight_dtype": "bf16"}, "offloaded", False),
        ("wan2.2", "h100", {"size": "1280x720", "weight_dtype": "bf16"}, "resident", True),  # as published
        ("hunyuan3d", "rtx-4090", {}, "resident", True),  # published: 10 GB
        ("wan2.2", "rtx-4090", {"size": "4096x4096", "frames": 401}, "none", False),
    ],
)
def test_how_it_fits(catalogue, model, gpu, asked, mode, fits):
    found = memory(catalogue, model, gpu, **asked)
    assert (found.mode, found.fits) == (mode, fits)
    assert (found.peak_bytes <= found.usable_bytes) == (mode != "none")


def test_published_memory_of_hunyuan3d_is_met(catalogue):
    assert 7 < memory(catalogue, "hunyuan3d", "h200").peak_bytes / GIB < 10  # published: 10 GB for shapes


def test_a_decoder_that_does_not_fit_whole_works_in_tiles(catalogue):
    small = memory(catalogue, "flux.1-dev", "rtx-4090", size="4096x4096", weight_dtype="fp8")
    assert small.tiled
    assert small.untiled_bytes > 24e9
    assert small.parts[-1].activation_bytes < small.untiled_bytes / 5
    assert not memory(catalogue, "flux.1-dev", "mi355x", size="4096x4096").tiled


def test_what_was_measured_on_an_h200_is_held(catalogue):
    by_name = {part.name: part for part in memory(catalogue, "flux.1-dev", "h200", size="2560x2560").parts}
    assert by_name["transformer"].activation_bytes / GIB == pytest.approx(2.84, rel=0.03)
    assert by_name["autoencoder"].activation_bytes / GIB == pytest.approx(14.06, rel=0.03)
    wan = memory(catalogue, "wan2.2", "h200", size="1280x1280")
    assert wan.parts[1].activation_bytes / GIB == pytest.approx(14.10, rel=0.03)


def test_the_refusal_names_what_decides_and_what_would_do(catalogue):
    found, card = media_model(catalogue, "flux.1-dev"), catalogue.gpu("rtx-4090")
    held, stack = memory(catalogue, "flux.1-dev", "rtx-4090"), media_stack(catalogue, "NVIDIA")
    said = not_fitting(found, card, held)
    assert "transformer: weights 22.2 GiB" in said
    assert "--offload" in said
    assert "--weight-dtype fp8" in said
    with pytest.raises(DoesNotFit) as refused:
        media_time(found, media_workload(found, {}), card, stack, held, None)
    assert refused.value.exit_code == 3


def test_a_format_that_nobody_knows_is_refused(catalogue):
    with pytest.raises(Unsupported, match="unknown weight format"):
        memory(catalogue, "flux.1-dev", "h200", weight_dtype="fp7")


@given(less=st.floats(0.02, 1.0))
def test_less_memory_never_fits_better(catalogue, less):
    order = ["resident", "swapped", "offloaded", "none"]
    found, card = media_model(catalogue, "flux.1-dev"), catalogue.gpu("h200")
    stack, workload = media_stack(catalogue, "NVIDIA"), media_workload(found, {})
    whole = media_memory(found, workload, card, stack)
    figure = card.memory.framework
    smaller = card.model_copy(
        update={
            "memory": card.memory.model_copy(
                update={"framework": figure.model_copy(update={"value": less * figure.value})}
            )
        }
    )
    part = media_memory(found, workload, smaller, stack)
    assert order.index(part.mode) >= order.index(whole.mode)
    assert replace(part, allowed=True).fits == (part.mode != "none")
