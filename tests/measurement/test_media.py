"""Published times of media models against predictions that were not fitted to them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from planner.catalogue.media import media_host, media_model, media_runs, media_stack
from planner.measurement.media import (
    attention_share,
    leave_one_out,
    predicted_run,
    published_run,
    run_workload,
    together,
)
from planner.memory.media import media_memory
from planner.performance.media import media_time, rate_of
from planner.scenario.media import media_workload

ROOT = Path(__file__).parents[2]
NAMES = {"Wan2.2": "wan2.2-t2v-a14b", "FLUX.1-dev": "flux.1-dev", "Hunyuan3D-2.1": "hunyuan3d-2.1"}
GPUS = {"MI355X": "mi355x", "B200": "b200-sxm"}


@pytest.fixture(scope="module")
def left_out(catalogue):
    return {(one.run.model, one.run.gpu): one for one in leave_one_out(catalogue)}


def test_runs_say_what_the_rows_of_the_measurements_say(catalogue):
    with (ROOT / "measurements/serving/amd_comfyui.csv").open(encoding="utf-8") as file:
        rows = {
            (NAMES[row["model"]], GPUS[row["gpu"]]): float(row["e2e_s_median"])
            for row in csv.DictReader(file)
        }
    assert {(run.model, run.gpu): run.seconds for run in media_runs(catalogue)} == rows


def test_each_published_time_is_met_without_having_been_looked_at(left_out):
    """25 % was asked for; the worst is 10 %."""
    assert len(left_out) == 6
    for one in left_out.values():
        assert one.run.id not in one.calibrated_on
        assert abs(one.error) < 0.10, (one.run.id, one.error)
        assert one.time.low_s <= one.run.seconds <= one.time.high_s


def test_nothing_of_b200_was_calibrated_on_a_published_run(left_out):
    for (_, gpu), one in left_out.items():
        if gpu == "b200-sxm":
            assert one.calibrated_on == ()
            assert abs(one.error) < 0.02


@pytest.mark.parametrize(
    ("model", "published", "tolerance"),
    [
        ("wan2.2-t2v-a14b", 1.439, 0.12),  # missed by 11 %: see docs/media.md
        ("flux.1-dev", 1.416, 0.10),
        ("hunyuan3d-2.1", 1.201, 0.10),
    ],
)
def test_published_ratios_left_out(left_out, model, published, tolerance):
    predicted = left_out[model, "b200-sxm"].time.seconds / left_out[model, "mi355x"].time.seconds
    assert predicted == pytest.approx(published, rel=tolerance)


@pytest.mark.parametrize(
    ("model", "published"),
    [("wan2.2-t2v-a14b", 1.439), ("flux.1-dev", 1.416), ("hunyuan3d-2.1", 1.201)],
)
def test_published_ratios_with_the_shares_of_the_catalogue(catalogue, model, published):
    times = {
        run.gpu: predicted_run(catalogue, run).seconds for run in media_runs(catalogue) if run.model == model
    }
    assert times["b200-sxm"] / times["mi355x"] == pytest.approx(published, rel=0.10)


def test_the_calibrated_share_is_what_its_runs_give(catalogue):
    runs = {run.id: run for run in media_runs(catalogue)}
    rate = rate_of(media_stack(catalogue, "AMD"), catalogue.gpu("mi355x"))
    shares = [attention_share(catalogue, runs[name]) for name in rate.calibrated_on]
    assert rate.attention == pytest.approx(together(shares), rel=0.005)
    assert max(shares) / min(shares) < 1.15


def test_a_share_that_was_solved_gives_the_published_time_back(catalogue):
    for run in media_runs(catalogue)[:4]:
        share = attention_share(catalogue, run)
        assert predicted_run(catalogue, run, share).seconds == pytest.approx(run.seconds)


def test_the_share_on_b200_follows_from_an_h200_by_multiprocessors(catalogue):
    rates = media_stack(catalogue, "NVIDIA").rates
    of_h200 = rates["sm_90"].attention * catalogue.gpu("h200-sxm").peak_flop_per_s("bf16")
    of_b200 = rates["sm_100"].attention * catalogue.gpu("b200-sxm").peak_flop_per_s("bf16")
    assert of_b200 / of_h200 == pytest.approx(148 / 132, rel=0.01)


def test_20_steps_with_guidance_cannot_have_been_the_published_workflow(catalogue):
    """Ten times the work: B200 would have run at more than its peak."""
    run = next(run for run in media_runs(catalogue) if run.id == "rocm-blog-wan2.2-b200")
    model, card = media_model(catalogue, run.model), catalogue.gpu(run.gpu)
    workload = media_workload(model, {"size": "1280x1280", "steps": 20, "guidance": 3.5})
    stack = media_stack(catalogue, "NVIDIA")
    memory = media_memory(model, workload, card, stack)
    time = media_time(model, workload, card, stack, memory, media_host(catalogue))
    assert time.flop / run.seconds > card.peak_flop_per_s("bf16")


@pytest.mark.parametrize(("asked", "published"), [({}, 71), ({"steps": 20, "guidance": 3.5}, 513)])
def test_times_that_comfyuis_template_notes_of_an_rtx_4090_d(catalogue, asked, published):
    """Second runs at 640x640 on a card with 14,592 of the RTX 4090's 16,384 cores."""
    model, card = media_model(catalogue, "wan2.2"), catalogue.gpu("rtx-4090")
    workload, stack = media_workload(model, asked), media_stack(catalogue, "NVIDIA")
    memory = media_memory(model, workload, card, stack)
    time = media_time(model, workload, card, stack, memory, media_host(catalogue))
    assert time.seconds * 16_384 / 14_592 == pytest.approx(published, rel=0.25)


def test_a_published_time_answers_its_own_question_alone(catalogue):
    for run in media_runs(catalogue):
        model = media_model(catalogue, run.model)
        asked = run_workload(model, run)
        assert published_run(catalogue, model, asked, run.gpu) == run
        assert published_run(catalogue, model, asked, "h200-sxm") is None
        other = asked.model_copy(update={"steps": asked.steps + 1})
        assert published_run(catalogue, model, other, run.gpu) is None
        fewer = asked.model_copy(update={"weight_dtype": "fp4"})
        assert published_run(catalogue, model, fewer, run.gpu) is None
