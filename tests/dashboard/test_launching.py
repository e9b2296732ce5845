"""What starts a deployment stands on the pages that name one, and is what the command line prints."""

from __future__ import annotations

import json
import shlex

import pytest

import planner
from planner.catalogue.imported import model_from_config
from planner.dashboard.scenario import OWN_MODEL
from planner.report.launch import launch_text
from tests.dashboard.reading import said

SMALL = {"model": "llama-3.1-8b", "gpu": "l40s,h100-sxm", "isl": "500", "osl": "100"}
QUESTIONS = {
    "fit": {"tp": 1},
    "compare": {"concurrency": 4},
    "plan": {"request_rate": 1.0, "slo_ttft_s": 3.0},
}


def saved(offered, name):
    """Return the files of a launch that a page offered."""
    return [how() for file, how in offered if file == name]


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_launch_is_that_of_the_answer(opened, offered, name):
    link = SMALL | {key: str(value) for key, value in QUESTIONS[name].items()}
    page = opened(name, **link)
    assert not page.exception
    assert not page.error
    lengths = {} if name == "fit" else {"isl": 500, "osl": 100}
    report = getattr(planner, name)(model=SMALL["model"], gpu=SMALL["gpu"], **lengths, **QUESTIONS[name])
    gpu = page.selectbox(key=f"launch on {name}").value
    text = launch_text(planner.launch(saved=report, gpu=gpu))
    assert saved(offered, "launch.sh") == [text]
    assert text.strip() in [code.value for code in page.code]
    assert "vllm serve meta-llama/Llama-3.1-8B" in text


def test_another_accelerator_and_form_are_followed_and_a_refusal_is_a_line(opened, offered):
    page = opened("fit")
    page.selectbox(key="launch on fit").set_value("b200-sxm").run()
    assert "--nnodes 2" in saved(offered, "launch.sh")[-1]
    page.selectbox(key="launch as fit").set_value("kubernetes").run()
    assert "apiVersion" in saved(offered, "launch.yaml")[-1]
    page.selectbox(key="launch as fit").set_value("compose").run()
    assert not page.exception
    assert not page.error
    assert "it has one server on one node" in said(page)


def test_what_fits_nowhere_has_nothing_to_launch(opened):
    page = opened("fit", model="kimi-k3", gpu="l4", gpus="8")
    assert not page.exception
    assert "Launch it" not in [one.label for one in page.expander]


def test_an_uploaded_model_is_launched_from_a_checkpoint_of_its_own(opened, offered, catalogue, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(catalogue.model("llama-3.1-8b").config), encoding="utf-8")
    page = opened("fit", gpu="h100-sxm")
    page.session_state["own model"] = model_from_config(config, "x; touch /tmp/y `id` $HOME")
    page.run()
    page.sidebar.selectbox[0].set_value(OWN_MODEL)
    offered.clear()
    page.run()
    assert not page.exception
    assert "name one with --checkpoint" in said(page)
    page.text_input(key="launch from fit").set_value("ours/model; touch /tmp/y").run()
    assert "a repository such as org/name" in said(page)
    assert not saved(offered, "launch.sh")
    page.text_input(key="launch from fit").set_value("ours/model").run()
    (text,) = saved(offered, "launch.sh")
    commands = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert "vllm serve ours/model" in commands
    assert "touch" not in shlex.split(commands)
