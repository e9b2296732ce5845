"""Blocks of media models: exact parameters, and work by closed forms."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture.media import Job, build_component
from planner.architecture.media.work import attention_flop
from planner.catalogue.media import media_models
from planner.errors import UnsupportedArchitecture

PUBLISHED = {
    ("flux.1-dev", "transformer"): 11_901_408_320,
    ("flux.1-dev", "T5-XXL"): 4_762_310_656,
    ("flux.1-dev", "CLIP-L text"): 123_060_480,
    ("flux.1-dev", "autoencoder"): 83_819_683,
    ("wan2.2-t2v-a14b", "transformer"): 14_288_491_584,
    ("wan2.2-t2v-a14b", "UMT5-XXL"): 5_680_910_336,
    ("wan2.2-t2v-a14b", "autoencoder"): 126_892_531,
    ("hunyuan3d-2.1", "transformer"): 3_050_758_720,
    ("hunyuan3d-2.1", "DINOv2-L"): 304_368_640,
}


def blocks(catalogue):
    return {
        (model.id, one.name): build_component(one.kind, one.sizes)
        for model in media_models(catalogue)
        for one in model.components
    }


def test_parameters_equal_counts_made_apart_from_the_blocks(catalogue):
    found = blocks(catalogue)
    for key, parameters in PUBLISHED.items():
        assert found[key].parameters() == parameters, key
    stated = {
        (model.id, one.name): one.parameters
        for model in media_models(catalogue)
        for one in model.components
        if one.parameters
    }
    assert stated == PUBLISHED


def test_a_schnell_lacks_the_embedding_of_guidance(catalogue):
    sizes = media_models(catalogue)[0].denoiser.sizes
    assert build_component("flux", {**sizes, "guidance_embedded": 0}).parameters() == 11_891_178_560


def test_hunyuan3d_with_its_picture_encoder_is_what_was_published(catalogue):
    found = blocks(catalogue)
    both = (
        found["hunyuan3d-2.1", "transformer"].parameters() + found["hunyuan3d-2.1", "DINOv2-L"].parameters()
    )
    assert f"{both / 1e9:.1f}" in ("3.3", "3.4")  # published as 3.3B, cut short


def test_flux_in_closed_form(catalogue):
    work = blocks(catalogue)["flux.1-dev", "transformer"].work(Job(tokens=25_600, text_tokens=512))
    tokens, layers = 26_112, 57
    assert work.linear_flop == 2 * 12 * 3072**2 * tokens * layers
    assert work.attention_flop == 4 * tokens**2 * 3072 * layers


def test_wan_in_closed_form(catalogue):
    work = blocks(catalogue)["wan2.2-t2v-a14b", "transformer"].work(Job(tokens=134_400, text_tokens=512))
    own, cross = 4 * 134_400**2 * 5120, 4 * 134_400 * 512 * 5120
    assert work.attention_flop == 40 * (own + cross)
    per_token = 6 * 5120**2 + 2 * 5120 * 13_824
    assert work.linear_flop == 2 * 40 * (per_token * 134_400 + 2 * 5120**2 * 512)


def test_experts_of_hunyuan3d_work_as_many_as_a_token_uses(catalogue):
    sizes = media_models(catalogue)[2].denoiser.sizes
    job = Job(tokens=4096, text_tokens=1370)
    few, many = (build_component("hunyuan3d", {**sizes, "experts": n}) for n in (4, 8))
    assert few.work(job) == many.work(job)
    more = build_component("hunyuan3d", {**sizes, "top_k": 3}).work(job).linear_flop
    assert more - many.work(job).linear_flop == 2 * 6 * 8 * 2048**2 * 4097


KINDS = ("flux.1-dev", "transformer"), ("wan2.2-t2v-a14b", "transformer"), ("hunyuan3d-2.1", "transformer")


@pytest.mark.parametrize("key", KINDS)
@given(tokens=st.integers(256, 200_000), more=st.integers(1, 50_000))
def test_more_tokens_are_more_of_everything(catalogue, key, tokens, more):
    block = blocks(catalogue)[key]
    job = Job(tokens=tokens, text_tokens=512)
    bigger = replace(job, tokens=tokens + more)
    small, big = block.work(job), block.work(bigger)
    assert small.linear_flop < big.linear_flop
    assert small.attention_flop < big.attention_flop
    assert small.moved_bytes < big.moved_bytes
    assert block.activation_bytes(job) < block.activation_bytes(bigger)


@given(tokens=st.integers(1, 1_000_000))
def test_attention_is_quadratic(tokens):
    assert attention_flop(2 * tokens, 2 * tokens, 128) == 4 * attention_flop(tokens, tokens, 128)


def test_convolutions_grow_with_pixels_and_attention_of_the_autoencoder_with_their_square(catalogue):
    block = blocks(catalogue)["flux.1-dev", "autoencoder"]
    one, four = (block.work(Job(0, 0, side, side)) for side in (1024, 2048))
    assert four.convolution_flop == pytest.approx(4 * one.convolution_flop)
    assert four.attention_flop == pytest.approx(16 * one.attention_flop)


def test_a_video_decodes_one_frame_and_then_four_for_each_latent_frame(catalogue):
    block = blocks(catalogue)["wan2.2-t2v-a14b", "autoencoder"]
    first, second, third = (
        block.work(Job(0, 0, 640, 640, latent_frames=n)).convolution_flop for n in (1, 2, 3)
    )
    assert third - second == pytest.approx(second - first)
    assert 3 < (second - first) / first < 4


def test_every_point_of_a_mesh_is_asked_for(catalogue):
    block = blocks(catalogue)["hunyuan3d-2.1", "shape autoencoder"]
    small, large = (block.work(Job(4096, 0, points=(n + 1) ** 3)) for n in (128, 256))
    assert large.attention_flop > 7 * small.attention_flop
    assert block.parameters() == 327_746_177


@pytest.mark.parametrize(
    ("kind", "sizes", "said"),
    [
        ("unet", {}, "no block"),
        ("wan", {"hidden": 5120}, "ffn is missing"),
        (
            "dinov2",
            {"hidden": 1, "layers": 1, "heads": 1, "patch": 1, "image": 1, "tail": 2},
            "tail is no size",
        ),
    ],
)
def test_a_component_that_nobody_knows_is_refused(kind, sizes, said):
    with pytest.raises(UnsupportedArchitecture, match=said):
        build_component(kind, sizes)
