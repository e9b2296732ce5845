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
    page.selectbox(key="input training train_dtype").set_value("fp8")
    page.selectbox(key="input training stack").set_value("development")
    page.select_slider(key="input training train_gpus").set_value(8)
    page.number_input(key="input training train_tokens").set_value(15.0)
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
    page.select_slider(key="input training train_gpus").set_value(8)
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


def test_a_link_brings_what_was_chosen(opened, offered):
    link = {
        "model": "kimi-k3",
        "gpu": "mi300x",
        "train_model": "llama-3.1-8b",
        "train_gpus": "24",
        "train_dtype": "fp8",
        "stack": "development",
        "train_tokens": "1.5e+13",
    }
    page = opened("training", **link)
    assert not page.exception
    assert not page.error
    record = answers(offered)[0]
    assert (record["model"], record["gpus"], record["dtype"]) == ("llama-3.1-8b", 24, "fp8")
    assert record["training_tokens"] == 15 * 10**12
    assert page.query_params["train_gpus"] == "24"
    page.sidebar.selectbox[0].set_value("qwen3-32b")
    offered.clear()
    page.run()
    assert answers(offered)[0]["model"] == "qwen3-32b"


@pytest.mark.parametrize(
    "link",
    [
        {"train_gpus": "1"},
        {"train_gpus": "7"},
        {"train_gpus": "16384", "train_tokens": "1e15"},
        {"gpu": "tpu-v7", "method": "qlora", "train_dtype": "fp8"},
        {"gpu": "v100s-32", "train_dtype": "fp8"},
        {"gpu": "jetson-agx-orin-64,l4", "train_tokens": "1e9"},
        {"price_kind": "purchase"},
        {"price_kind": "spot", "gpu": "tpu-v7"},
    ],
)
def test_what_nobody_would_train_is_answered_or_refused_in_a_line(opened, link):
    page = opened("training", **{"model": "llama-3.1-8b", "gpu": "h100-sxm", **link})
    assert not page.exception
    assert len(page.error) <= 1
