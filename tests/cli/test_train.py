"""`planner train`: answers, forms, exit codes, and one clear line for what cannot be."""

from __future__ import annotations

import csv
import io
import json

import pytest

EIGHT = ("train", "--model", "llama-3.1-8b", "--gpu", "h100", "--gpus", "8")


def test_it_answers_in_words_and_tables(planner):
    ran = planner(*EIGHT, "--price", "2", "--tokens", "1T")
    assert ran.code == 0
    assert ran.err == ""
    assert "tok/s a GPU (80 % interval" in " ".join(ran.out.split())
    for words in ("Where the time of an optimiser step goes", "Memory of the fullest GPU"):
        assert words in ran.out
    assert "USD of" in ran.out
    assert "MWh of" in ran.out
    assert "by stack and date" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_several_stand_side_by_side(planner):
    ran = planner("train", "--model", "llama-3.1-70b", "--gpu", "mi300x,h100,h200", "--gpus", "64")
    assert ran.code == 0
    for name in ("MI300X", "H100-SXM", "H200-SXM"):
        assert ran.out.count(name) >= 4


def test_json_and_csv_say_the_same(planner):
    one = json.loads(planner(*EIGHT, "--json").out)
    row = next(csv.DictReader(io.StringIO(planner(*EIGHT, "--csv").out)))
    assert one["schema"] == "planner.train/1"
    assert float(row["tokens_per_s_per_gpu"]) == one["tokens_per_s_per_gpu"]["value"]
    assert int(row["tp"]) == one["tp"]


def test_a_layout_is_taken_as_given(planner):
    ran = planner(
        *("train", "--model", "gpt-3-175b", "--gpu", "h100", "--tp", "4", "--pp", "8", "--dp", "16"),
        *("--micro-batch", "2", "--global-batch", "2048", "--seq-len", "2048", "--interleave", "4"),
        *("--dtype", "fp8", "--fsdp", "1", "--recompute", "none", "--json"),
    )
    assert ran.code == 0
    record = json.loads(ran.out)
    assert record["gpus"] == 512
    assert record["layouts_searched"] == 1
    # MLPerf Training v4.0: 9.68 s for such a step
    assert record["step_s"]["value"] == pytest.approx(4_194_304 / 512 / 845.8, rel=0.25)


def test_stack_and_date_change_the_answer(planner):
    asked = ("train", "--model", "llama-3.1-8b", "--gpu", "mi300x", "--gpus", "8", "--dtype", "fp8", "--json")
    rates = [
        json.loads(planner(*asked, *more).out)["rates"]["fp8"]["achieved_tflop_per_s"]
        for more in ((), ("--as-of", "2024-12"), ("--as-of", "2024-12", "--stack", "development"))
    ]
    assert [round(rate, 1) for rate in rates] == [1134.9, 206.8, 990]


def test_datasheet_against_achieved(planner):
    ran = planner("train", "--achieved", "--gpu", "mi300x,h200")
    assert ran.code == 0
    assert "ROCm 6.2" in ran.out
    assert "nightly" in ran.out
    record = json.loads(planner("train", "--achieved", "--json").out)
    assert record["schema"] == "planner.achieved/1"
    assert record["reproduction"]["command"].startswith("planner train --achieved")
    row = next(csv.DictReader(io.StringIO(planner("train", "--achieved", "--gpu", "h100", "--csv").out)))
    assert (row["gpu"], row["dtype"], float(row["achieved_tflop_per_s"])) == ("h100-sxm", "bf16", 720)


def test_adapters_in_nf4_fit_a_consumer_card(planner):
    ran = planner(
        *("train", "--model", "llama-2-7b", "--gpu", "rtx-4090", "--method", "qlora", "--lora-rank", "64"),
        *("--lora-targets", "all", "--json"),
    )
    record = json.loads(ran.out)
    assert ran.code == 0
    assert record["gpus"] == 1
    assert record["lora_rank"] == 64


def test_owning_and_electricity_are_those_of_the_other_commands(planner):
    ran = planner(*EIGHT, "--price-kind", "own", "--capex", "31000", "--kw", "1.4", "--json")
    record = json.loads(ran.out)
    assert record["price"]["kind"] == "own"
    assert record["kw_per_gpu"] == 1.4
    assert record["usd_per_trillion_tokens"]["value"] > 0


def test_out_writes_the_whole_answer(planner, tmp_path):
    for ending, held in (
        (".json", '"planner.train/1"'),
        (".csv", "tokens_per_s"),
        (".md", "| "),
        (".html", "<table"),
    ):
        file = tmp_path / f"train{ending}"
        assert planner(*EIGHT, "--out", str(file)).code == 0
        assert held in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("--gpus 8 --tp 1 --pp 1 --dp 8 --micro-batch 3 --global-batch 100", 2, "nearest: 96 or 120"),
        ("--pp 5 --tp 1 --dp 1", 2, "32 layers do not divide over 5 stages"),
        ("--pp 4 --tp 1 --dp 1 --interleave 3", 2, "4 stages x 3 parts"),
        ("--tp 3 --pp 1 --dp 1", 2, "32"),
        ("--gpus 12 --tp 8", 2, "nearest"),
        ("--gpus 8 --seq-len 1M", 2, "maximum"),
        ("--gpus 8 --fsdp 7", 2, "--fsdp"),
        ("--gpus 0", 2, "--gpus"),
        ("--gpus 8 --as-of yesterday", 2, "2024-12-31"),
        ("--gpus 8 --method lora --lora-targets foo", 2, "foo"),
        ("--model deepseek-r1", 2, "experts"),
        ("--model qwen2.5-vl-7b", 2, "towers"),
        ("--model no-such-model", 2, "no-such-model"),
        ("--gpus 8 --capex 31000", 2, "price kind own"),
    ],
)
def test_what_cannot_be_is_one_line(planner, words, code, said):
    ran = planner("train", "--model", "llama-3.1-8b", "--gpu", "h100", *words.split())
    assert ran.code == code
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("llama-3.1-8b --gpu a100 --gpus 8 --dtype fp8", 2, "a100"),
        ("llama-3.1-405b --gpu rtx-4090 --gpus 8 --tp 1 --seq-len 32k", 3, "rtx-4090 cannot hold one layer"),
    ],
)
def test_what_a_card_cannot_is_one_line(planner, words, code, said):
    ran = planner("train", "--model", *words.split())
    assert ran.code == code
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_what_does_not_fit_is_code_3_with_the_memory(planner):
    ran = planner("train", "--model", "llama-3.1-70b", "--gpu", "h100", "--gpus", "8")
    assert ran.code == 3
    assert "does not fit" in ran.out
    assert "Memory of the fullest GPU" in ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "--gpu", "h100"), "--model is missing"),
        (("train", "--model", "llama-3.1-8b"), "--gpu is missing"),
        (("train", "--achieved", "--tp", "8"), "--tp says nothing to --achieved"),
        (("train", "--achieved", "--gpu", "l4"), "l4"),
    ],
)
def test_what_is_missing_or_too_much_is_said(planner, words, said):
    ran = planner(*words)
    assert ran.code == 2
    assert said in ran.err


def test_gpus_are_counted_for_a_number_of_days(planner):
    ran = planner(
        "train", "--model", "llama-3.1-8b", "--gpu", "h100", "--tokens", "1T", "--days", "30", "--price", "2"
    )
    said = " ".join(ran.out.split())
    assert ran.code == 0
    assert "on 40 x H100-SXM over 5 nodes" in said
    assert "1 T tokens in 28.5 days (24.5 to 33.3) for USD 54,700" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--days 30", "tokens of the whole training"),
        ("--days 30 --tokens 1T --gpus 8", "the GPUs are counted for it"),
        ("--days 0 --tokens 1T", "--days"),
        ("--days 0.001 --tokens 15T", "no number up to"),
    ],
)
def test_days_that_cannot_be_are_refused(planner, words, said):
    ran = planner("train", "--model", "llama-3.1-8b", "--gpu", "h100", *words.split())
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert said in ran.err


@pytest.mark.parametrize(
    ("words", "cost"),
    [
        (("train", "--model", "llama-2-7b", "--gpus", "1", "--method", "qlora"), "usd_per_trillion_tokens"),
        (("predict", "--model", "flux.1-dev", "--offload"), "usd_per_unit"),
    ],
)
def test_a_bought_card_costs_more_a_unit_the_less_it_is_used(planner, words, cost):
    """An hour of use costs card x 24 / hours + kW x USD/kWh."""
    used = {}
    for hours in (4, 24):
        bought = ("--gpu", "rtx-4090", "--purchase", "1599", "--hours-a-day", str(hours), "--kw", "0.5")
        record = json.loads(planner(*words, *bought, "--electricity", "0.2", "--json").out)
        value = record[cost] if isinstance(record[cost], float) else record[cost]["value"]
        used[hours] = value
    card = 1599 * 0.05 / (1 - 1.05**-3) / 8760
    assert used[4] / used[24] == pytest.approx((6 * card + 0.1) / (card + 0.1), rel=1e-3)
