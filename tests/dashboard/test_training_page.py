"""The page on training: an answer at once, what is chosen, and datasheet against achieved."""

from __future__ import annotations

import pytest

from tests.dashboard.reading import answers, said


def test_it_opens_with_an_answer_figures_and_the_lesson(opened, offered):
    page = opened("training", model="llama-3.1-70b", gpu="h100-sxm,mi300x")
    assert not page.exception
    assert not page.error
    text = said(page)
    assert "Llama-3.1-70B trains on 64 x H100-SXM" in text
    assert "Datasheet against achieved in matrix products" in text
    assert len(page.get("plotly_chart")) == 2
    record = answers(offered)[0]
    assert [one["gpu"] for one in record["results"]] == ["h100-sxm", "mi300x"]


def test_it_follows_what_is_chosen(opened, offered):
    page = opened("training", model="llama-3.1-8b", gpu="mi300x")
    page.selectbox(key="train dtype").set_value("fp8")
    page.selectbox(key="train stack").set_value("development")
    page.select_slider(key="train gpus").set_value(8)
    page.number_input(key="train tokens").set_value(15.0)
    offered.clear()
    page.run()
    assert not page.exception
    assert "in FP8" in said(page)
    record = answers(offered)[0]
    assert (record["dtype"], record["gpus"], record["training_tokens"]) == ("fp8", 8, 15_000_000_000_000)


@pytest.mark.parametrize("model", ["deepseek-r1", "kimi-k3"])
def test_a_model_with_experts_is_noted_and_another_one_shown(opened, model):
    page = opened("training", model=model, gpu="h100-sxm")
    assert not page.exception
    assert "not dense" in said(page)
    assert "trains on" in said(page)


def test_what_does_not_fit_is_said(opened):
    page = opened("training", model="llama-3.1-405b", gpu="h100-sxm")
    page.select_slider(key="train gpus").set_value(8)
    page.run()
    assert not page.exception
    assert "does not fit" in said(page)


def test_a_card_that_nobody_measured_still_trains(opened):
    page = opened("training", model="llama-3.1-8b", gpu="rtx-4090")
    assert not page.exception
    assert not page.error
    assert "trains on" in said(page)
    assert "Nobody published what products reach" in said(page)


def test_prices_are_those_of_the_scenario(opened, offered):
    page = opened("training", model="llama-3.1-8b", gpu="h100-sxm", price_kind="on-demand")
    assert not page.exception
    record = answers(offered)[0]
    assert record["price"]["kind"] == "on-demand"
    assert record["usd_per_trillion_tokens"]["value"] > 0
