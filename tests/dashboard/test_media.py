"""The page on media: it opens with an answer, follows what is chosen, and says what cannot be made."""

from __future__ import annotations

import pytest

from tests.dashboard.reading import said


def test_it_opens_with_an_answer(opened):
    page = opened("media")
    assert not page.exception
    assert not page.error
    text = said(page)
    assert "FLUX.1-dev, 1024x1024, 20 steps, takes 2.40 s" in text
    assert "MI355X is first" in text
    assert len(page.get("plotly_chart")) == 1


def test_it_follows_the_model_and_the_size(opened):
    page = opened("media")
    page.selectbox(key="input media media_model").set_value("wan2.2-t2v-a14b")
    page.run()
    assert not page.exception
    page.number_input(key="input media media_width wan2.2-t2v-a14b").set_value(1280)
    page.number_input(key="input media media_height wan2.2-t2v-a14b").set_value(1280)
    page.run()
    assert not page.exception
    assert "takes 116.91 s (published) on MI355X" in said(page)


def test_a_plan_and_a_flip_need_a_rate_and_two_accelerators(opened):
    page = opened("media")
    page.multiselect(key="input media media_gpu").set_value(["mi355x", "b200-sxm"])
    page.number_input(key="input media media_rate").set_value(4.0)
    page.run()
    page.number_input(key="input media media_price mi355x").set_value(2.5)
    page.number_input(key="input media media_price b200-sxm").set_value(4.25)
    page.run()
    assert not page.exception
    text = said(page)
    assert "images a second at the peak" in text
    assert "they cost the same where MI355X costs" in text


def test_what_cannot_be_made_is_one_line(opened):
    page = opened("media")
    page.number_input(key="input media media_width flux.1-dev").set_value(1000)
    page.run()
    assert not page.exception
    assert any("no multiple of 16" in error.value for error in page.error)
    page.multiselect(key="input media media_gpu").set_value([])
    page.run()
    assert not page.exception
    assert any("at least one accelerator" in info.value for info in page.info)


def test_a_link_brings_what_was_chosen_and_what_is_wrong_in_it_is_told(opened):
    link = {
        "media_model": "wan2.2-t2v-a14b",
        "media_gpu": "mi355x,b200-sxm",
        "media_width": "1280",
        "media_height": "1280",
        "media_price": "mi355x=2.5,b200-sxm=4.25",
    }
    page = opened("media", **link, media_steps="0", media_octree="99999", media_rate="-3")
    assert not page.exception
    assert not page.error
    assert "takes 116.91 s (published) on MI355X" in said(page)
    assert all(f"- {name}" in said(page) for name in ("media_steps", "media_octree", "media_rate"))
    assert {key: page.query_params[key] for key in link} == link
    assert "media_steps" not in page.query_params
    page.selectbox(key="input media media_model").set_value("flux.1-dev").run()
    assert page.number_input(key="input media media_width flux.1-dev").value == 1024
    assert "media_width" not in page.query_params


@pytest.mark.parametrize(
    "link",
    [
        {"media_width": "8192", "media_height": "8192", "media_steps": "200"},
        {"media_width": "16", "media_height": "8192", "media_steps": "1"},
        {"media_width": "1001"},
        {"media_gpu": "l4,rtx-3080", "media_width": "4096", "media_height": "4096"},
        {"media_gpu": "tpu-v5e,jetson-agx-orin-64,mi50-32"},
        {"media_gpu": "b200-sxm,mi355x", "media_price": "b200-sxm=2"},
        {"media_gpu": "b200-sxm,mi355x", "media_price": "l4=2", "media_rate": "10000"},
        {"media_gpu": "mi300x", "media_weights": "nvfp4", "media_offload": "yes"},
        {"media_model": "hunyuan3d-2.1", "media_octree": "1024", "media_latents": "16384"},
        {"media_model": "wan2.2-t2v-a14b", "media_frames": "2001", "media_width": "4096"},
        {"media_model": "wan2.2-t2v-a14b", "media_frames": "2", "media_guidance": "0"},
    ],
)
def test_what_nobody_would_make_is_answered_or_refused_in_a_line(opened, link):
    page = opened("media", **link)
    assert not page.exception
    assert len(page.error) <= 1


def test_meshes_have_sizes_of_their_own(opened):
    page = opened("media")
    page.selectbox(key="input media media_model").set_value("hunyuan3d-2.1")
    page.run()
    assert not page.exception
    assert page.number_input(key="input media media_octree hunyuan3d-2.1").value == 256
    assert "meshes an hour" in said(page)
