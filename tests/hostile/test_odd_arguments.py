"""Every argument of every function with a few values that it may not be."""

from __future__ import annotations

import pytest
from odd_arguments import PLAIN, SMALL, arguments, faults, questions

import planner
from planner.errors import InvalidInput

FEW = ({}, [{}], 0, SMALL, "\0")


@pytest.mark.parametrize("function", PLAIN)
def test_each_is_answered_or_refused_in_one_line(function, catalogue):
    wrong = {}
    for asked in questions(function, FEW if function != "plan" else FEW[:2]):
        for line in faults(function, asked, catalogue):
            wrong[str(asked)] = line
    assert wrong == {}


def test_options_are_among_what_is_asked():
    assert {"tp", "hours_a_day", "size", "kw", "nonsense"} <= set(arguments("plan"))
    assert "capex" in arguments("own")


def test_every_function_that_answers_questions_is_asked():
    from planner.api.verifying import FUNCTIONS

    assert set(PLAIN) == FUNCTIONS


@pytest.mark.parametrize(
    ("function", "given", "named"),
    [
        ("predict", {"disaggregated": 0}, "disaggregated: 0 is no pair"),
        ("predict", {"disaggregated": "12"}, "disaggregated: '12' is no pair"),
        ("frontier", {"disaggregated": 0}, "disaggregated: 0 is no answer"),
        ("frontier", {"tp": [{}]}, "tp: {} is nothing to try"),
        ("frontier", {"slo_ttft_s": SMALL}, "not above zero by any clock"),
        ("simulate", {"trace": 0}, "trace: 0 is no path"),
        ("compare", {"draft": []}, "draft"),
        ("compare", {"network_bytes_per_s": []}, "a rate between nodes of"),
        ("breakeven", {"hours_a_day": "x"}, "hours_a_day: 'x' is not possible"),
        ("plan", {"kw": []}, r"kw: \[\] is not possible"),
        ("plan", {"kw": {"h100": -1}}, "kw: -1 is not possible"),
        ("plan", {"profile": 0}, "profile"),
        ("plan", {"peak_utilisation": SMALL}, "peak_utilisation"),
        ("plan", {"seed": []}, "seed"),
        ("sweep", {"price_kind": [None]}, "price_kind: None is no name"),
        ("fit", {"size": 0}, "size: llama-3.1-8b is a language model"),
    ],
)
def test_the_line_names_the_argument(function, given, named, catalogue):
    with pytest.raises(InvalidInput, match=named):
        getattr(planner, function)(catalogue=catalogue, **PLAIN[function] | given)


def test_gaps_that_hardly_differ_are_even(catalogue):
    asked = PLAIN["simulate"] | {"concurrency": None, "request_rate": 1.0, "arrivals": "gamma"}
    least, even = (planner.simulate(catalogue=catalogue, **asked, cv=cv).to_dict() for cv in (SMALL, 0.0))
    for one in (least, even):
        del one["reproduction"]
    assert least == even
