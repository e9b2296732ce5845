"""A report says how it was asked, and its command line asks the same."""

from __future__ import annotations

import importlib
import inspect
import json
import shlex

import click
import pytest

import planner
import planner.api
from planner.api.recording import UNASKED, YES_ONLY
from planner.cli.entry import COMMANDS, MODULES
from planner.report.reproduction import POSITIONAL, Reproduction, option_of
from planner.scenario import Deployment

NO_ARGUMENTS = {"achieved", "as_csv", "as_json", "dry_run", "restart"}
"""Options of the command line that are no arguments of the function."""

NO_REPORT = ("verify", "import")
ASKING = [name for name in COMMANDS if hasattr(planner.api, name) and name not in NO_REPORT]


def command_of(name: str) -> click.Command:
    return importlib.import_module(f"planner.cli.{MODULES.get(name, name)}").command


@pytest.mark.parametrize("name", ASKING)
def test_every_argument_has_the_option_that_a_command_line_is_written_with(name):
    options = {one.name: one for one in command_of(name).params if isinstance(one, click.Option)}
    for argument, parameter in inspect.signature(getattr(planner.api, name)).parameters.items():
        if argument in UNASKED or argument in POSITIONAL.get(name, ()):
            continue
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            assert option_of(argument) in options[argument].opts


@pytest.mark.parametrize("name", ASKING)
def test_every_option_that_is_an_argument_is_spelt_as_command_lines_are_written(name):
    arguments = inspect.signature(getattr(planner.api, name)).parameters
    for one in command_of(name).params:
        asked = one.name in arguments or one.name in Deployment.model_fields
        if isinstance(one, click.Option) and asked and one.name not in UNASKED:
            assert option_of(one.name) in one.opts


@pytest.mark.parametrize(
    "words",
    [
        "fit --model kimi-k3 --gpu mi355x,b200 --price mi355x=2.50,b200=4.25",
        "fit --model llama-3.3-70b --gpu h100 --tp 4 --context 32Ki --text-only --memory-fraction 0.85",
        "predict --model kimi-k3 --gpu b200 --isl 1k --osl 400 --rate 0.1 --network '25 GB/s'",
        "predict --model deepseek-r1 --gpu b200 --tp 8 --isl 8k --osl 1k --disaggregated 8:16",
        "prices own mi355x,b200 --life-years 5 --resale 0.1 --capex mi355x=31000",
        "simulate --model llama-3.1-8b --gpu h100 --isl 1k --osl 64 --rate 4 --requests 50 --slo-ttft 50ms",
        "sweep --model llama-3.1-8b --gpu h100,mi300x --isl 1k,2k --osl 64 --price h100=2/3 --tp 1,2",
    ],
)
def test_the_command_of_a_report_asks_the_same(words):
    run = importlib.import_module("tests.cli.running").run_json
    first = run(shlex.split(words))
    again = run(shlex.split(first["reproduction"]["command"])[1:])
    assert again == first


def test_what_was_left_at_its_default_is_not_recorded(catalogue):
    made = planner.fit(model="llama-3.1-8b", gpu="h100", kv_dtype="auto", tp=None, catalogue=catalogue)
    assert made.reproduction.arguments == {"model": "llama-3.1-8b", "gpu": "h100"}


def test_sizes_of_one_are_recorded_because_they_say_that_the_layout_is_given(catalogue):
    load = {"model": "llama-3.1-8b", "gpu": "h100", "isl": 1000, "osl": 200}
    made = planner.compare(**load, tp=1, kv_dtype="auto", catalogue=catalogue).reproduction
    assert made.arguments == {**load, "tp": 1}


def test_records_of_the_catalogue_become_their_ids_and_others_are_named(catalogue):
    model, gpu = catalogue.model("llama-3.1-8b"), catalogue.gpu("h100")
    made = planner.fit(model=model, gpu=[gpu, "b200"], catalogue=catalogue).reproduction
    assert made.arguments == {"model": "llama-3.1-8b", "gpu": ["h100-sxm", "b200"]}
    assert made.command == "planner fit --model llama-3.1-8b --gpu h100-sxm,b200"
    other = model.model_copy(update={"name": "Another"})
    made = planner.fit(model=other, gpu="h100", catalogue=catalogue).reproduction
    assert made.unrecorded == ("model",)
    assert made.to_dict()["command"] is None


def test_accelerators_of_a_generator_are_recorded(catalogue):
    named = (gpu for gpu in ("h100", "b200"))
    made = planner.fit(model="llama-3.1-8b", gpu=named, catalogue=catalogue)
    assert [answer.gpu for answer in made] == ["h100-sxm", "b200-sxm"]
    assert made.reproduction.arguments["gpu"] == ["h100", "b200"]


def test_one_price_for_all_is_written_for_each():
    made = Reproduction("fit", {"gpu": "b200, h100", "price": 2.0}, "", "1", "2026-11-30")
    assert made.command == "planner fit --gpu 'b200, h100' --price b200=2,h100=2"


def test_words_that_look_like_options_or_shell_are_quoted():
    made = Reproduction("fit", {"model": "-x; rm -rf $HOME", "engine": "a b'c"}, "", "1", "2026-11-30")
    assert shlex.split(made.command) == ["planner", "fit", "--model=-x; rm -rf $HOME", "--engine", "a b'c"]


def test_the_date_can_be_fixed(monkeypatch, catalogue):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    made = planner.fit(model="llama-3.1-8b", gpu="h100", catalogue=catalogue)
    assert json.loads(json.dumps(made.to_dict()))["reproduction"]["made_on"] == "1970-01-02"


@pytest.mark.parametrize("name", ASKING)
def test_a_flag_without_its_opposite_is_never_recorded_as_a_no(name):
    arguments = inspect.signature(getattr(planner.api, name)).parameters
    for one in command_of(name).params:
        if not (isinstance(one, click.Option) and one.is_flag) or one.secondary_opts:
            continue
        field = Deployment.model_fields.get(one.name)
        if one.name in arguments:
            assert arguments[one.name].default is False or one.name in UNASKED, one.name
        elif field is not None:
            assert field.default is False, one.name
        else:
            assert one.name in YES_ONLY | NO_ARGUMENTS, one.name


def test_a_no_to_offloading_asks_the_same_by_its_command(catalogue):
    made = planner.fit(model="flux.1-dev", gpu="h100", offload=False, catalogue=catalogue)
    assert made.reproduction.command == "planner fit --model flux.1-dev --gpu h100"
