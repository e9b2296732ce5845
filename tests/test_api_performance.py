"""The library's front door to speed: `planner.predict` and `planner.simulate`."""

from __future__ import annotations

import math

import pytest

import planner
from planner.errors import IllegalDeployment, InvalidInput, UnknownName

LOAD = {"model": "llama-3.1-8b", "gpu": "h100", "isl": 1024, "osl": 256}
FIGURES = (
    "output_tps_total",
    "output_tps_per_gpu",
    "total_tps_per_gpu",
    "tps_per_user",
    "ttft_ms",
    "tpot_ms",
)


def figure(catalogue, name="output_tps_total", **asked):
    report = planner.predict(**{**LOAD, "throughput": "simulated", "catalogue": catalogue, **asked})
    return report.answer.figures[name].value


def test_ids_aliases_and_records_are_alike(catalogue):
    named = planner.predict(**LOAD, concurrency=8, catalogue=catalogue)
    records = planner.predict(
        model=catalogue.model("llama-3.1-8b"),
        gpu=catalogue.gpu("h100-sxm"),
        isl="1024",
        osl=256,
        concurrency="8",
        catalogue=catalogue,
    )
    assert named.answer.to_dict() == records.answer.to_dict()


def test_several_accelerators_each_have_an_answer(catalogue):
    report = planner.predict(
        **{**LOAD, "gpu": ["mi300x", "h200"]}, concurrency=8, price=2.0, catalogue=catalogue
    )
    assert [answer.gpu for answer in report] == ["mi300x", "h200-sxm"]
    assert report["h200-sxm"].to_dict()["price"]["usd_per_hour"] == 2.0 * report["h200-sxm"].gpus
    assert len(report.to_dict()["results"]) == 2
    assert report.to_csv().count("\n") == 3


def test_representations_are_short_and_html_holds_the_figures(catalogue):
    report = planner.predict(**LOAD, concurrency=8, catalogue=catalogue)
    assert repr(report).startswith(
        "<PredictReport: Llama-3.1-8B on 1 x H100-SXM, 1,024 tokens in and 256 out"
    )
    assert len(repr(report)) < 400
    assert str(report) == report.answer.sentence
    assert "time to first token" in report._repr_html_()


def test_more_load_never_gives_more_to_each_user(catalogue):
    rates = [figure(catalogue, "tps_per_user", concurrency=load) for load in (1, 4, 16, 64)]
    assert rates == sorted(rates, reverse=True)


def test_cached_input_never_makes_the_first_token_later(catalogue):
    times = [figure(catalogue, "ttft_ms", concurrency=4, isl=8192, prefix_hit=hit) for hit in (0.0, 0.04)]
    assert times[1] <= times[0]


def test_sizes_that_are_given_are_kept_and_need_to_hold_one_request(catalogue):
    answer = planner.predict(**LOAD, concurrency=4000, tp=1, catalogue=catalogue).answer
    assert (answer.gpus, answer.answered) == (1, True)
    assert any("queue" in warning for warning in answer.warnings)


def test_without_sizes_the_deployment_is_that_of_fit(catalogue):
    asked = {"model": "llama-3.1-8b", "gpu": "l4", "isl": 4000, "osl": 1000, "concurrency": 16}
    answer = planner.predict(**asked, catalogue=catalogue).answer
    fit = planner.fit(**asked, catalogue=catalogue).answer
    assert answer.fit.memory.deployment == fit.memory.deployment
    assert "16 requests at once" in answer.warnings[0]


def test_pools_of_prefill_and_decode_are_counted_together(catalogue):
    answer = planner.predict(
        model="deepseek-r1", gpu="h200", tp=8, isl=8000, osl=1000, concurrency=64, disaggregated=(8, 16),
        catalogue=catalogue, price=2.0,
    ).answer  # fmt: skip
    made = answer.to_dict()
    assert (made["gpus"], made["prefill_gpus"], made["decode_gpus"]) == (24, 8, 16)
    assert made["price"]["usd_per_hour"] == 48.0
    assert made["output_tps_per_gpu"]["value"] == pytest.approx(made["output_tps_total"]["value"] / 24)


def test_one_output_token_has_no_time_to_the_next(catalogue):
    made = planner.predict(**{**LOAD, "osl": 1}, catalogue=catalogue).to_dict()
    assert (made["tpot_ms"], made["tps_per_user"]) == (None, None)
    assert made["ttft_ms"]["value"] > 0


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({"isl": None}, InvalidInput, "isl: give input and output tokens"),
        ({"osl": math.nan}, InvalidInput, "osl: nan is not possible"),
        ({"concurrency": 0}, InvalidInput, "concurrency: 0 is not possible"),
        ({"request_rate": -1.0}, InvalidInput, "request_rate: -1.0 is not possible"),
        ({"request_rate": math.inf}, InvalidInput, "request_rate: inf is not possible"),
        ({"prefix_hit": 1.0}, InvalidInput, "prefix_hit: 1.0 is not possible"),
        ({"isl": 131_000, "osl": 1000}, InvalidInput, "over the model's maximum of 131,072"),
        ({"throughput": "simulate"}, UnknownName, "nearest: simulated"),
        ({"kv_dtipe": "fp8"}, UnknownName, "nearest: kv_dtype"),
        ({"kv_dtype": "fp3"}, InvalidInput, "kv dtype 'fp3' is unknown"),
        ({"tp": 5}, IllegalDeployment, "legal: 1, 2, 4, 8"),
    ],
)
def test_a_mistake_is_a_typed_error_of_one_line(catalogue, arguments, error, complaint):
    with pytest.raises(error) as caught:
        planner.predict(**{**LOAD, "catalogue": catalogue, **arguments})
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_simulation_agrees_with_the_prediction_far_from_the_limits(catalogue):
    served = planner.simulate(**LOAD, concurrency=8, requests=400, catalogue=catalogue)
    expected = figure(catalogue, concurrency=8)
    assert served.result.output_tps == pytest.approx(expected, rel=0.35)


def test_a_simulation_is_repeatable_and_prints_short(catalogue):
    asked = {**LOAD, "request_rate": 3.0, "requests": 200, "catalogue": catalogue}
    first, again = planner.simulate(**asked), planner.simulate(**asked)
    assert first.to_dict() == again.to_dict()
    assert repr(first).startswith("<SimulateReport: Llama-3.1-8B on 1 x H100-SXM")
    assert "time to first token" in first._repr_html_()
    assert len(first.to_records()) == 200


def test_progress_is_told(catalogue):
    told = []
    planner.simulate(
        **LOAD,
        request_rate=3.0,
        requests=100,
        catalogue=catalogue,
        progress=lambda done, all_: told.append((done, all_)),
    )
    assert told[-1] == (100, 100)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "no load"),
        ({"request_rate": 1.0, "gpu": "h100, h200"}, "a simulation is of one"),
        ({"request_rate": 1.0, "arrivals": "burst"}, "arrivals"),
        ({"request_rate": 1.0, "lengths": "unifrom"}, "nearest: uniform"),
        ({"request_rate": 1.0, "requests": 0}, "requests: 0"),
        ({"request_rate": 1.0, "seed": -1}, "seed: -1 is below zero"),
        ({"request_rate": 1.0, "draft": "mtp"}, "nothing is drafted"),
        ({"request_rate": 1.0, "slo_ttft_s": 0.0}, "not above zero"),
    ],
)
def test_a_mistake_in_a_simulation_is_one_line(catalogue, arguments, complaint):
    with pytest.raises(planner.PlannerError) as caught:
        planner.simulate(**{**LOAD, "catalogue": catalogue, **arguments})
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
