"""Consumer cards and their engines on the pages: selectable, and the numbers of the command line."""

from __future__ import annotations

import pytest

from tests.dashboard.reading import answers, said
from tests.dashboard.test_same_numbers import printed

CARDS = {"gpu": "rx-7900-xtx,rtx-3090-ti,rtx-4090", "isl": "512", "osl": "256", "concurrency": "1"}
GRID = [
    {"model": "llama-2-7b", "engine": "mlc-llm", "weight_dtype": "int4", **CARDS},
    {"model": "llama-2-13b", "engine": "exllamav2", "weight_dtype": "int4", **CARDS},
    {"model": "llama-2-13b", "engine": "llama.cpp", "weight_dtype": "q4_k_m", **CARDS},
]


@pytest.mark.parametrize("scenario", GRID, ids=lambda scenario: scenario["engine"])
@pytest.mark.parametrize("name", ["fit", "compare"])
def test_a_page_has_the_numbers_of_its_command_line(opened, offered, name, scenario):
    page = opened(name, **scenario)
    assert not page.exception
    assert not page.error
    shown = answers(offered)
    assert shown
    for answer in shown:
        command = answer["reproduction"]["command"]
        assert f"--engine {scenario['engine']}" in command
        assert command in said(page).replace("\\", "")
        assert printed(command) == (0, answer)


def test_cards_without_a_rent_are_compared_as_bought(opened, offered):
    page = opened("compare", **GRID[0])
    assert "compared as bought, at list prices" in said(page)
    assert [one["price_kind"] for answer in answers(offered) for one in answer["results"]] == ["purchase"] * 3


def test_layers_on_the_cpu_and_their_host_are_asked_for(opened, offered):
    off = {"model": "llama-2-70b", "engine": "llama.cpp", "weight_dtype": "q4_k_m", "gpu": "rtx-4090"}
    page = opened("fit", **off, context="4096", ngl="40", host="epyc-9004-ddr5-4800")
    assert not page.error
    (answer,) = answers(offered)
    command = answer["reproduction"]["command"]
    assert "--ngl 40 --host epyc-9004-ddr5-4800" in command
    assert printed(command) == (0, answer)
    assert answer["gpus"] == 1
    page = opened("fit", **off, ngl="400")
    assert "above the 80 layers and the output" in said(page).replace("\\", "")


def test_a_card_costs_what_it_is_bought_for(opened, offered):
    opened("cost", **{**GRID[2], "gpu": "rx-7900-xtx,rtx-4090"}, purchase="rtx-4090=1000", hours_a_day="24")
    answer = next(one for one in answers(offered) if one["schema"].startswith("planner.breakeven"))
    command = answer["reproduction"]["command"]
    assert "--purchase rtx-4090=1000" in command
    assert "--hours-a-day 24" in command
    assert printed(command) == (0, answer)


def test_owning_a_card_counts_its_list_price(opened, offered):
    page = opened("cost", **{**GRID[2], "gpu": "rx-7900-xtx,rtx-4090"})
    assert not page.error
    assert "the list price of the card without the machine around it" in said(page)
    answer = next(one for one in answers(offered) if one["schema"].startswith("planner.own"))
    assert printed(answer["reproduction"]["command"]) == (0, answer)
    alone = opened("cost", **{**GRID[2], "gpu": "rx-7900-xtx"})  # nobody rents it out, nor serves this model
    assert not alone.error
    assert "Owning is compared with nothing" in said(alone)
