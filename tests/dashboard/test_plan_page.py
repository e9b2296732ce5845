"""The page Plan: every kind of traffic that the command line takes, from files too, and wrong files."""

from __future__ import annotations

import json

import pytest

import planner
from planner.dashboard import traffic
from planner.dashboard.scenario import read_hours
from planner.errors import PlannerError
from tests.dashboard.reading import answers, said

LINK = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "isl": "1000", "osl": "100", "price": "h100-sxm=2"}
ASKED = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "price": {"h100-sxm": 2.0}}
HOURS = ",".join(["1"] * 12 + ["3"] * 12)
TRACE = "arrival_s,isl,osl\n" + "".join(f"{second * 0.5},{900 + second},100\n" for second in range(400))
FLEET = """\
models:
  - {model: llama-3.1-8b, rate: 2, isl: 1000, osl: 100, slo_ttft: 2 s, tp: 1}
gpus:
  - {gpu: h100, price: 2.5 USD/h, stock: 16}
"""


@pytest.fixture
def plan_page(opened):
    """Open the page with a kind of traffic, and an uploaded file where it takes one."""

    def plan_page(kind, file=None, **link):
        page = opened("plan", **LINK, **link)
        page.radio[0].set_value(kind)
        page.run()
        if file is not None:
            key, name, content = file
            content = content.encode() if isinstance(content, str) else content
            page.file_uploader(key).set_value((name, content, "text/plain"))
            page.run()
        return page

    return plan_page


def test_users_with_a_pause_are_planned_as_the_front_door_does(plan_page):
    page = plan_page(traffic.USERS, slo_ttft_s="2")
    assert "Give users, with either requests of each an hour or a pause" in said(page)
    page = plan_page(traffic.USERS, users="300", think_s="20", slo_ttft_s="2")
    assert not page.exception
    assert not page.error
    report = planner.plan(**ASKED, isl=1000, osl=100, users=300, think_s=20.0, slo_ttft_s=2.0)
    assert report.sentence in said(page)


def test_choosing_a_rate_forgets_the_users(plan_page):
    page = plan_page(traffic.RATE, users="300", think_s="20", slo_ttft_s="2")
    assert "users" not in page.query_params
    assert "Give requests a second" in said(page)


@pytest.mark.parametrize("typed", [True, False])
def test_hours_of_ones_own_are_typed_or_uploaded_and_stand_in_the_link(plan_page, typed):
    page = plan_page(traffic.RATE, request_rate="2", slo_ttft_s="2")
    page.selectbox("input plan hours").set_value(traffic.OWN_HOURS)
    page.run()
    if typed:
        page.text_input("input plan 24 hours").set_value(HOURS)
    else:
        content = HOURS.replace(",", "\n").encode()
        page.file_uploader("hours file").set_value(("hours.csv", content, "text/csv"))
    page.run()
    assert not page.exception
    assert not page.error
    assert page.query_params["profile"] == HOURS
    given = tuple(map(float, HOURS.split(",")))
    asked = {"isl": 1000, "osl": 100, "request_rate": 2.0, "slo_ttft_s": 2.0, "profile": given}
    assert planner.plan(**ASKED, **asked).sentence in said(page)


@pytest.mark.parametrize("text", ["1,2,3", "1," * 23 + "-1", "0," * 23 + "0", "nan," * 24, "weekly", " , "])
def test_hours_that_are_none_are_refused_in_a_line(text):
    with pytest.raises(PlannerError) as refused:
        read_hours(text)
    assert "\n" not in str(refused.value)


def test_a_trace_is_planned_by_its_own_lengths_and_named_without_its_folder(plan_page, offered, tmp_path):
    page = plan_page(traffic.TRACE, slo_ttft_s="2")
    assert "Give a file of recorded requests." in said(page)
    page = plan_page(traffic.TRACE, ("trace file", "our requests.csv", TRACE), slo_ttft_s="2")
    assert not page.exception
    assert not page.error
    path = tmp_path / "our-requests.csv"
    path.write_text(TRACE)
    sentence = planner.plan(**ASKED, trace=path, slo_ttft_s=2.0).sentence
    assert sentence.replace(f"{tmp_path}/", "") in said(page)
    (answer,) = answers(offered[-3:])
    assert answer["reproduction"]["arguments"]["trace"] == "our-requests.csv"
    assert page.session_state["folder"].name not in said(page) + json.dumps(answer)


def test_another_trace_of_the_same_name_is_another_plan(plan_page):
    page = plan_page(traffic.TRACE, ("trace file", "a.csv", TRACE), slo_ttft_s="2")
    before = said(page)
    page.file_uploader("trace file").set_value(
        ("a.csv", TRACE.replace(",100\n", ",150\n").encode(), "text/csv")
    )
    page.run()
    assert said(page) != before


def test_a_fleet_file_is_planned_and_drawn(plan_page, offered):
    page = plan_page(traffic.FLEET, ("fleet file", "fleet.yaml", FLEET))
    assert not page.exception
    assert not page.error
    assert "Fleet for llama-3.1-8b" in said(page)
    assert len(page.get("plotly_chart")) == 1
    assert page.session_state["folder"].name not in said(page)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (FLEET.replace("rate: 2, isl: 1000, osl: 100", "trace: /etc/passwd"), "names no other"),
        (FLEET.replace("llama-3.1-8b", "/etc/config.json"), "unknown model"),
        (FLEET.replace("llama-3.1-8b", "somebody/some-model"), "unknown model"),
        (FLEET.replace("h100,", "h9000,"), "h9000"),
        (FLEET.replace("models:", "models:" + FLEET.splitlines()[1].join(["\n"] * 14)), "models on"),
        ("models: [", "fleet.yaml"),
        ("", "fleet.yaml"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nmodels: [*b, *b]", "fleet.yaml"),
        ("!!python/object/apply:os.system ['true']", "fleet.yaml"),
        (b"\xff\xfe\x00", "fleet.yaml"),
    ],
)
def test_a_wrong_fleet_file_is_refused_in_a_line(plan_page, content, told):
    page = plan_page(traffic.FLEET, ("fleet file", "fleet.yaml", content))
    assert not page.exception
    assert len(page.error) == 1
    text = page.error[0].value.replace("\\", "")
    assert told in text
    assert "root:" not in text
    assert page.session_state["folder"].name not in text


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff" * 50, b"{" * 4000, b"arrival_s,isl,osl\n", TRACE[:18].encode()]
)
def test_a_wrong_trace_is_refused_in_a_line(plan_page, content):
    page = plan_page(traffic.TRACE, ("trace file", "../x\u202e.csv", content), slo_ttft_s="2")
    assert not page.exception
    assert len(page.error) == 1
    assert page.session_state["folder"].name not in page.error[0].value


def test_no_node_has_to_stand_by(opened):
    page = opened("plan", **LINK, request_rate="2", slo_ttft_s="2", spare="0", peak_utilisation="0.5")
    assert not page.exception
    assert not page.error
    assert not page.warning
    page.run()
    assert page.query_params["spare"] == "0"
    assert page.query_params["peak_utilisation"] == "0.5"


def test_what_is_usual_stays_unsaid(opened):
    page = opened("plan", **LINK, request_rate="2", slo_ttft_s="2")
    page.run()
    assert "peak_utilisation" not in page.query_params


@pytest.mark.parametrize("kind", ["requests a second", "users"])
def test_an_example_is_filled_in_for_who_has_no_numbers_yet(opened, kind):
    page = opened("plan", model="llama-3.1-8b", gpu="h100-sxm")
    page.radio[0].set_value(kind).run()
    next(button for button in page.button if button.label == "Fill in an example").click().run()
    assert not page.exception
    assert not page.error
    assert not page.info
    assert page.radio[0].value == kind
    assert "Llama-3.1-8B" in said(page)
    assert page.query_params["slo_ttft_s"] == "5"
