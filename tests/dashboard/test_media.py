"""The page on media: it opens with an answer, follows what is chosen, and says what cannot be made."""

from __future__ import annotations

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
    page.selectbox(key="media model").set_value("wan2.2-t2v-a14b")
    page.run()
    assert not page.exception
    page.number_input(key="media wan2.2-t2v-a14b width").set_value(1280)
    page.number_input(key="media wan2.2-t2v-a14b height").set_value(1280)
    page.run()
    assert not page.exception
    assert "takes 116.91 s (published) on MI355X" in said(page)


def test_a_plan_and_a_flip_need_a_rate_and_two_accelerators(opened):
    page = opened("media")
    page.multiselect(key="media gpu").set_value(["mi355x", "b200-sxm"])
    page.number_input(key="media rate").set_value(4.0)
    page.run()
    page.number_input(key="media price mi355x").set_value(2.5)
    page.number_input(key="media price b200-sxm").set_value(4.25)
    page.run()
    assert not page.exception
    text = said(page)
    assert "images a second at the peak" in text
    assert "they cost the same where MI355X costs" in text


def test_what_cannot_be_made_is_one_line(opened):
    page = opened("media")
    page.number_input(key="media flux.1-dev width").set_value(1000)
    page.run()
    assert not page.exception
    assert any("no multiple of 16" in error.value for error in page.error)
    page.multiselect(key="media gpu").set_value([])
    page.run()
    assert not page.exception
    assert any("at least one accelerator" in info.value for info in page.info)


def test_meshes_have_sizes_of_their_own(opened):
    page = opened("media")
    page.selectbox(key="media model").set_value("hunyuan3d-2.1")
    page.run()
    assert not page.exception
    assert page.number_input(key="media hunyuan3d-2.1 octree").value == 256
    assert "meshes an hour" in said(page)
