"""Requests and prompts in a pipeline: the rules of schedulers, and two H200 that no calibration saw."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import numpy as np
import pytest

import planner
from planner.measurement.case_builder import CaseBuilder
from planner.measurement.serving_points import load_serving
from planner.performance.levels import calibration_of
from planner.performance.parameters import neutral
from planner.performance.pipeline import batch_share, chunked_share, copy_share, decode_parts, prompt_share
from planner.performance.predict import make_service
from planner.performance.simulated import ServiceStepTimes
from planner.performance.times import decode_step
from planner.scenario import Deployment, Workload

ROOT = Path(__file__).parents[2]
TAKES_ALL, FILLS = "vllm==0.20.2", "vllm==0.33.0"


@pytest.fixture(scope="module")
def profile_of(catalogue):
    def make(engine, pp=2):
        return make_service(
            model=catalogue.model("llama-3.1-8b"),
            gpu=catalogue.gpu("h200"),
            deployment=Deployment(pp=pp, engine=engine),
            workload=Workload(isl=1024, osl=128),
            catalogue=catalogue,
        ).decode.profile

    return make


@pytest.mark.parametrize(
    ("engine", "fills"),
    [
        ("vllm==0.15.1", 1), ("vllm==0.16.0", 0), (TAKES_ALL, 0), ("vllm==0.24.0", 0), ("vllm==0.25.0", 1),
        ("vllm", 1), ("sglang", 1), ("tensorrt-llm", 1),
    ],
)  # fmt: skip
def test_versions_know_whether_parts_fill_the_stages(profile_of, engine, fills):
    assert profile_of(engine).fills_stages[0] == fills


def test_a_batch_has_as_many_parts_as_stages_requests_and_steps_of_prefill(profile_of):
    four = profile_of(FILLS, pp=4)
    batch = np.array([1.0, 3.0, 64.0, 64.0, 64.0])
    steps = np.array([np.inf, np.inf, np.inf, 1.0, 2.5])
    assert decode_parts(four, batch, steps) == pytest.approx([1, 3, 4, 1, 2.5])
    assert (decode_parts(profile_of(TAKES_ALL, pp=4), batch, steps) == 1).all()


def test_a_step_of_all_requests_takes_what_one_part_of_as_many_takes(profile_of):
    context = np.array([1088.0])
    for engine, parts in ((TAKES_ALL, 1), (FILLS, 2)):
        profile = profile_of(engine)
        step = decode_step(profile, neutral(), np.array([64.0]), context)
        alone = decode_step(profile, neutral(), np.array([64.0 / parts]), context, 0.0, np.ones(1))
        assert step.total == pytest.approx(alone.total)


def test_chunks_of_a_prompt_follow_one_another(profile_of):
    two, four = profile_of(TAKES_ALL), profile_of(TAKES_ALL, pp=4)
    tokens = np.array([1024.0, 8192.0, 12288.0, 32768.0])
    assert chunked_share(two, tokens) == pytest.approx([1, 1, 2.5 / 3, 5 / 8])
    assert chunked_share(four, tokens) == pytest.approx([1, 1, 4.5 / 6, 7 / 16])
    assert chunked_share(profile_of(TAKES_ALL, pp=1), tokens) == pytest.approx(1)


def test_tokens_of_others_hold_chunks_up_where_a_step_takes_all(profile_of):
    tokens, fills, all_ = np.array([32768.0]), profile_of(FILLS), profile_of(TAKES_ALL)
    assert prompt_share(all_, tokens, 0.0) == prompt_share(fills, tokens, 7.0) == pytest.approx(5 / 8)
    assert prompt_share(all_, tokens, 7.0) == pytest.approx(5 / 8 + 3 / 8 * 7 / 8)
    assert copy_share(fills, tokens, 7.0) == pytest.approx(1 / 2)
    assert copy_share(all_, tokens, 7.0) == prompt_share(all_, tokens, 7.0)
    eight = np.array([8.0])
    assert batch_share(fills, np.array([4096.0]), eight) == pytest.approx(5 / 8)
    assert batch_share(all_, np.array([4096.0]), eight) == pytest.approx(1)


def test_a_simulated_step_of_a_lane_is_a_part_of_the_pipeline(profile_of):
    for engine, parts in ((TAKES_ALL, 1), (FILLS, 2)):
        profile = profile_of(engine)
        lane = ServiceStepTimes(profile, neutral()).step_s(16, 16 * 1000.0, 0, 0)
        whole = decode_step(profile, neutral(), np.array([16.0 * parts]), np.array([1000.0]))
        assert lane == pytest.approx(float(whole.total[0]))


@pytest.mark.parametrize(("engine", "lanes"), [(TAKES_ALL, 1), (FILLS, 2)])
def test_a_simulation_has_a_lane_for_each_part(catalogue, engine, lanes):
    asked = {"isl": 1024, "osl": 4, "concurrency": 8, "requests": 80}
    found = planner.simulate(
        model="llama-3.1-8b", gpu="h200", pp=2, engine=engine, catalogue=catalogue, **asked
    )
    assert found.to_dict()["lanes"] == lanes


def test_a_simulated_prompt_is_pipelined_as_the_closed_form_says(catalogue):
    asked = {"isl": 32768, "osl": 2, "concurrency": 1, "requests": 4, "gpu": "h200", "catalogue": catalogue}
    found = planner.simulate(model="llama-3.1-8b", pp=2, engine=TAKES_ALL, **asked)
    apart = planner.simulate(model="llama-3.1-8b", pp=2, engine=FILLS, **asked)
    share = found.result.ttft_s.p50 / apart.result.ttft_s.p50
    # Later chunks attend to more and take longer, so that the last one, which nothing follows, weighs more.
    assert 5 / 8 < share < 0.72


@pytest.fixture(scope="module")
def pipelines(catalogue):
    """Cases of the two H200 at PP2, with what the shipped calibration says of them."""
    builder = CaseBuilder(catalogue)
    files = ("measurements/h200_x2/static.csv", "measurements/serving/own_h200_x2.csv")
    points = [point for name in files for point in load_serving(ROOT / name) if point.pp == 2]
    data = builder.gather([builder.case(point) for point in points])
    about = [case.about for case in data.cases]
    said = data.predict(calibration_of(catalogue).parameters(about))
    return data, np.expm1(said - data.measured)


def test_steps_of_two_h200_are_within_ten_per_cent(pipelines):
    data, error = pipelines
    steps = [error[i, 1] for i, case in enumerate(data.cases) if case.kind == 1 and np.isfinite(error[i, 1])]
    assert len(steps) == 15
    assert max(map(abs, steps)) < 0.12  # up to 0.26 with as many parts as stages
    assert median(map(abs, steps)) < 0.06


def test_long_prompts_of_two_h200_are_pipelined(pipelines):
    data, error = pipelines
    found = {
        case.about.model: error[i, 2]
        for i, case in enumerate(data.cases)
        if case.isl == 32768 and np.isfinite(error[i, 2])
    }
    assert abs(found["llama-3.1-70b"]) < 0.2  # 0.44 where chunks wait for one another
    assert abs(found["deepseek-v2-lite"]) < 0.5  # 1.07


def test_prompts_of_a_batch_do_not_follow_one_another_where_each_yields_a_token(pipelines):
    data, error = pipelines
    batches = [
        error[i, 2]
        for i, case in enumerate(data.cases)
        if case.about.model == "llama-3.1-70b" and case.concurrency >= 8 and case.kind == 1
    ]
    assert len(batches) == 5
    assert max(map(abs, batches)) < 0.12
