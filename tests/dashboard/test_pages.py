"""Every page in several states: the worked example, links, what does not fit, nothing chosen, bad values."""

from __future__ import annotations

import pytest

import planner
from planner.dashboard.main import PAGES, WITHOUT_QUESTION
from tests.dashboard.reading import answers, said
from tests.dashboard.test_same_numbers import printed

ASKING = [name for name in PAGES if name not in WITHOUT_QUESTION]

HOSTILE = {
    "model": "<script>alert(1)</script>",
    "gpu": "![x](http://example.org/x.png)",
    "isl": "1e9999",
    "trace": "/etc/passwd",
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_with_the_worked_example(opened, name):
    page = opened(name)
    assert not page.exception
    assert not page.error
    assert not page.warning


def test_the_first_screen_answers_without_a_click(opened):
    page = opened("overview")
    text = said(page)
    assert "take 8 x MI355X, at USD 8.42 per million output tokens" in text
    assert "(over 0.99 probability)" in text
    assert "B300-SXM wins if its price is under 1.65 times MI355X's" in text
    assert [f"##### {card}" for card in ("1. MI355X", "2. B300-SXM", "3. B200-SXM")] == [
        element.value.replace("\\", "") for element in page.markdown if element.value.startswith("##### ")
    ]
    assert len(page.get("plotly_chart")) == 3


def test_the_whole_scenario_stands_in_the_address(opened):
    page = opened("overview")
    assert page.query_params["price"] == "mi355x=2.5,b200-sxm=4.25,b300-sxm=6"
    page.sidebar.number_input[2].set_value(6.5)
    page.run()
    assert page.query_params["price"] == "mi355x=6.5,b200-sxm=4.25,b300-sxm=6"
    assert "take 8 x B300-SXM" in said(page)


@pytest.mark.parametrize("name", ASKING)
def test_a_link_brings_its_scenario(opened, name):
    link = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "isl": "1000", "osl": "200", "price": "h100-sxm=2"}
    page = opened(name, **link)
    assert not page.exception
    assert not page.error
    assert not page.warning
    assert page.sidebar.selectbox[0].value == "llama-3.1-8b"
    assert {key: page.query_params[key] for key in link} == link


@pytest.mark.parametrize("name", ASKING)
def test_values_that_are_not_accepted_are_told_and_the_others_answered(opened, name):
    page = opened(name, **HOSTILE, osl="400")
    assert not page.exception
    assert len(page.warning) == 1
    for key in HOSTILE:
        assert f"- {key}" in page.warning[0].value
    assert "<script>" not in page.warning[0].value
    assert page.sidebar.selectbox[0].value == "kimi-k3"


@pytest.mark.parametrize("name", ASKING)
def test_what_fits_nowhere_is_said_without_an_error_of_ours(opened, name):
    page = opened(name, model="kimi-k3", gpu="l4", isl="1024", osl="400", gpus="8")
    assert not page.exception
    if name in ("fit", "compare"):
        assert "does not fit on" in said(page)


@pytest.mark.parametrize("name", ASKING)
def test_nothing_chosen_asks_for_an_accelerator(opened, name):
    page = opened(name)
    page.sidebar.multiselect[0].set_value([])
    page.run()
    assert not page.exception
    assert [element.value for element in page.info] == ["Choose at least one accelerator."]


@pytest.mark.parametrize("name", ASKING)
def test_empty_lengths_and_prices_are_asked_for_in_one_line(opened, name):
    page = opened(name)
    for field in page.sidebar.number_input:
        field.set_value(None)
    page.run()
    assert not page.exception
    assert all("\n" not in element.value for element in page.error)


def test_published_prices_stand_for_those_that_were_typed(opened, offered):
    page = opened("compare", price_kind="on-demand", price="b300-sxm=1", gpu="b200-sxm,b300-sxm")
    assert not page.exception
    assert not page.error
    assert all(field.disabled for field in page.sidebar.number_input[2:])
    (answer,) = answers(offered)
    assert answer["reproduction"]["arguments"]["price_kind"] == "on-demand"
    assert "price" not in answer["reproduction"]["arguments"]
    page.sidebar.selectbox[1].set_value("as typed here")
    page.run()
    assert page.query_params["price"] == "b300-sxm=1"
    assert "price_kind" not in page.query_params


def test_what_is_wrong_is_said_once(opened):
    page = opened("overview", isl="1000000000")
    assert len(page.error) == 1
    page.run()
    assert len(page.error) == 1


def test_sliders_of_the_fit_page_ask_anew(opened):
    page = opened("fit")
    context = next(slider for slider in page.select_slider if slider.label.startswith("Longest"))
    context.set_value(1048576)
    page.run()
    assert not page.exception
    assert "requests of 1,048,576 tokens" in said(page)
    assert page.query_params["context"] == "1048576"


def test_every_table_is_offered_as_csv_and_every_answer_as_json_csv_and_page(opened, offered):
    page = opened("compare")
    names = [name for name, _ in offered]
    tables = len(page.dataframe) + len(page.table)
    assert len(names) == len({id(how) for _, how in offered}) == tables + len(["launch.sh"]) + 3
    assert names[-3:] == ["planner-compare.json", "planner-compare.csv", "planner-compare.html"]
    whole = dict(offered)
    assert whole["planner-compare.csv"]().startswith("model,")
    assert whole["planner-compare.html"]().startswith("<!doctype html>")
    assert all(how().count("\n") >= 1 for name, how in offered if name.endswith(".csv"))


def test_a_plan_asks_for_what_it_needs_and_answers(opened, offered):
    page = opened("plan")
    assert "at least one limit" in page.info[0].value
    link = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "isl": "1000", "osl": "100", "profile": "daily"}
    page = opened("plan", **link, request_rate="2", slo_ttft_s="2", price="h100-sxm=2")
    assert not page.exception
    assert not page.error
    asked = {"request_rate": 2.0, "slo_ttft_s": 2.0, "profile": "daily", "price": 2.0}
    plan = planner.plan(model="llama-3.1-8b", gpu="h100-sxm", isl=1000, osl=100, **asked)
    assert plan.sentence in said(page)
    assert len(page.get("plotly_chart")) == 2
    assert "planner-plan.json" in [name for name, _ in offered]


def test_a_plan_that_nothing_keeps_says_so(opened):
    page = opened("plan", model="llama-3.1-8b", gpu="h100-sxm", request_rate="2", slo_tpot_s="0.0001")
    assert not page.exception
    assert "No deployment keeps the limits." in said(page)


def test_the_catalogue_shows_every_figure_with_its_source(opened):
    page = opened("catalogue")
    page.selectbox("detail gpus").set_value("mi355x")
    page.run()
    assert not page.exception
    tables = (*page.dataframe, *page.table)
    titles = [column for frame in tables for column in frame.value.columns]
    assert {"figure", "confidence", "source"} <= set(titles)
    page.text_input("search models").set_value("nothing of this name")
    page.run()
    assert not page.exception


def test_the_accuracy_page_has_the_figures_that_are_published(opened):
    page = opened("accuracy")
    rows = page.dataframe[0].value
    assert rows.iloc[0].tolist()[:2] == ["all", "output tok/s per GPU"]
    assert f"output of a GPU by {rows.iloc[0]['median error']} ({rows.iloc[0]['number']} points" in said(page)
    assert len(page.get("plotly_chart")) == 1


def test_owning_is_asked_for_as_on_the_command_line(opened, offered):
    terms = {"capex": "h100-sxm=30000,mi300x=25000", "kw": "h100-sxm=1.6", "life_years": "5", "resale": "0.1"}
    load = {"model": "llama-3.1-8b", "gpu": "h100-sxm,mi300x", "isl": "1000", "osl": "100"}
    page = opened("cost", **load, **terms, price_kind="own")
    assert not page.exception
    assert not page.error
    asked = [one for one in answers(offered) if "h100-sxm=30000" in one["reproduction"]["command"]]
    schemas = {one["schema"].split("/")[0] for one in asked}
    assert schemas == {"planner.compare", "planner.breakeven", "planner.owning"}
    for answer in asked:
        command = answer["reproduction"]["command"]
        assert "--life-years 5" in command
        assert "--resale 0.1" in command
        assert printed(command) == (0, answer)
    key = next(one.key for one in page.number_input if one.label.startswith("Years until written off"))
    page.number_input(key).set_value(4.0)
    page.run()
    assert page.query_params["life_years"] == "4"
    assert "--life-years 4" in said(page)


def test_pages_share_the_scenario(opened):
    page = opened("cost", utilisation="0.5", osl="300")
    assert page.query_params["utilisation"] == "0.5"
    assert page.query_params["osl"] == "300"
    assert page.select_slider[0].value == 0.5


def test_all_tables_are_sent_to_who_opens_them(opened):
    page = opened("fit")
    few = len(page.dataframe) + len(page.table)
    page.session_state["all tables fit"] = True
    page.run()
    assert not page.exception
    assert len(page.dataframe) + len(page.table) > few
