"""`planner fit`: the drawing to the letter on answers made by hand, and the main job on real input."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from planner.cli.draw_fit import draw_fit
from planner.cli.output import json_text
from tests.report.made import answer, judged, report

GOLDEN = Path(__file__).with_name("golden")
ARTICLE = "mi355x=2.50,b200=4.25,b300=6.00"

REPORTS = {
    "one": lambda: report(answer()),
    "two_nodes": lambda: report(answer(small=True, price=4.25)),
    "refused": lambda: report(judged(weights_gib=190.0)),
    "several": lambda: report(answer(gpu="mi355x", price=2.5), answer(small=True, price=4.25)),
}


def drawn(made, width):
    text = io.StringIO()
    draw_fit(Console(file=text, width=width, no_color=True, highlight=False), made)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def check(name, text):
    """Compare with the golden file; UPDATE_GOLDEN=1 writes it anew."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", REPORTS)
def test_drawing_to_the_letter(name, width):
    text = drawn(REPORTS[name](), width)
    assert max(map(len, text.splitlines())) <= width
    check(f"{name}_{width}.txt", text)


@pytest.mark.parametrize("name", ["two_nodes", "several"])
def test_json_to_the_letter(name):
    check(f"{name}.json", json_text(REPORTS[name]().to_dict()))


@pytest.mark.parametrize("name", ["two_nodes", "several"])
def test_csv_to_the_letter(name):
    check(f"{name}.csv", REPORTS[name]().to_csv())


def one_line(text):
    return " ".join(text.split())


def test_kimi_k3_needs_two_nodes_of_b200(planner):
    ran = planner("fit", "--model", "kimi-k3", "--gpu", "b200")
    assert ran.code == 0
    text = one_line(ran.out)
    assert (
        "Kimi K3 does not fit on one node of 8 x B200-SXM (TP8): weights alone take 191.8 GiB of each GPU"
        in text
    )
    assert "It fits on 16 x B200-SXM over 2 nodes (TP8 PP2) with a KV cache of" in text


@pytest.mark.parametrize("gpu", ["mi355x", "b300"])
def test_kimi_k3_fits_one_node_of_the_larger_accelerators(planner, gpu):
    made = json.loads(planner("fit", "--model", "kimi-k3", "--gpu", gpu, "--json").out)
    assert (made["fits"], made["gpus"], made["nodes"], made["tp"]) == (True, 8, 1, 8)


def test_many_requests_are_counted_without_decimals(planner):
    ran = planner("fit", "--model", "llama-3.1-8b", "--gpu", "h200", "--context", "1k", "--json")
    record = json.loads(ran.out)
    assert record["max_concurrency"] > 100
    assert (
        record["binding_limit"]
        == f"KV pool: it holds {record['max_concurrency']:,.0f} requests of 1,000 tokens"
    )


def test_sizes_that_are_given_are_judged_and_a_no_is_exit_code_3(planner):
    ran = planner("fit", "--model", "kimi-k3", "--gpu", "b200", "--gpus", "8", "--json")
    made = json.loads(ran.out)
    assert ran.code == 3
    assert (made["fits"], made["gpus"], made["one_node"]) == (False, 8, None)
    assert made["binding_limit"].startswith("weights")
    assert made["remedies"]
    assert (made["smallest_deployment"]["gpus"], made["smallest_deployment"]["nodes"]) == (16, 2)


def test_measured_output_for_each_dollar_an_hour(planner):
    words = ("fit", "--model", "kimi-k3", "--gpu", "mi355x,b200,b300", "--price", ARTICLE)
    rows = list(csv.DictReader(io.StringIO(planner(*words, "--csv").out)))
    assert [round(float(row["measured_output_tps_per_usd_per_hour"]), 1) for row in rows] == [47.6, 7.3, 32.7]
    assert [float(row["measured_peak_output_tps_total"]) for row in rows] == [952, 498, 1568]
    assert [float(row["measured_single_stream_output_tps"]) for row in rows] == [118, 90, 172]
    text = planner(*words).out
    for figures in ("952         118      2.50       47.6", "498          90      4.25        7.3"):
        assert figures in text
    assert "Wafer Kimi K3 post (2026-08, weights mxfp4)" in one_line(text)


def test_a_price_of_a_kind_says_where_it_comes_from(planner):
    ran = planner("fit", "--model", "kimi-k3", "--gpu", "b200", "--price-kind", "on-demand", "--json")
    price = json.loads(ran.out)["price"]
    assert price["kind"] == "on-demand"
    assert "quotes" in price["provenance"]
    assert price["usd_per_hour"] == pytest.approx(16 * price["usd_per_gpu_hour"])


def test_counts_may_be_written_short(planner):
    words = ("fit", "--model", "llama-3.1-8b", "--gpu", "h100", "--json", "--context")
    short, plain, binary = (json.loads(planner(*words, text).out) for text in ("32k", "32000", "32Ki"))
    assert short == plain
    assert (short["context_tokens"], binary["context_tokens"]) == (32_000, 32_768)


def test_a_model_that_is_not_published_says_so(planner, catalogue):
    recalled = next(model.id for model in catalogue.models() if model.config_status == "recalled")
    ran = planner("fit", "--model", recalled, "--gpu", "b300")
    assert "is recalled" in one_line(ran.out)


def test_a_configuration_of_your_own(planner, tmp_path, catalogue):
    config = catalogue.model("llama-3.1-8b").config
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    words = ("--gpu", "h100", "--json")
    own = json.loads(planner("fit", "--model", str(tmp_path), *words).out)
    known = json.loads(planner("fit", "--model", "llama-3.1-8b", *words).out)
    assert own["config_status"] == "imported"
    assert own["per_rank"] == known["per_rank"]


def test_own_entries_lie_over_the_shipped_ones_before_and_after_the_command(planner, tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(
        "gpus:\n  h100-sxm:\n    memory:\n      framework:\n        value: 60 GiB\n"
        "        source: our own measurement\n        date: 2026-11-01\n",
        encoding="utf-8",
    )
    words = ("fit", "--model", "llama-3.1-8b", "--gpu", "h100", "--json")
    for ran in (planner("--catalogue", str(file), *words), planner(*words, "--catalogue", str(file))):
        assert json.loads(ran.out)["per_rank"]["usable_gib"] == pytest.approx(60.0)


def test_the_price_of_a_kind_is_shown_with_its_origin_in_text_and_csv(planner):
    words = ("fit", "--model", "llama-3.1-8b", "--gpu", "b200", "--price-kind", "on-demand")
    row = next(csv.DictReader(io.StringIO(planner(*words, "--csv").out)))
    assert row["price_kind"] == "on-demand"
    assert row["price_provenance"].startswith("median of ")
    text = one_line(planner(*words).out)
    usd = float(row["usd_per_gpu_hour"])
    assert f"1 GPU x {usd:,.2f} = {usd:,.2f} USD/h (on-demand: {row['price_provenance']})" in text


def test_an_accelerator_without_a_price_of_the_kind_keeps_its_answer(planner):
    words = ("fit", "--model", "kimi-k3", "--gpu", "mi355x,b300", "--price-kind", "spot")
    ran = planner(*words, "--json")
    assert ran.code == 0
    first, second = json.loads(ran.out)["results"]
    assert first["price"] is None
    assert first["no_price"].startswith("mi355x has no spot price; kinds quoted: ")
    assert second["price"]["usd_per_gpu_hour"] > 0
    assert second["no_price"] is None
    assert "none: mi355x has no spot price" in one_line(planner(*words).out)


def measured(planner, *words):
    """Return the `measured` of each answer."""
    made = json.loads(planner("fit", *words, "--json").out)
    return [one["measured"] for one in made.get("results", [made])]


def test_measured_output_is_shown_without_a_price(planner):
    words = ("--model", "kimi-k3", "--gpu", "mi355x,b200,b300")
    found = measured(planner, *words)
    assert [one["peak_output_tps_total"] for one in found] == [952, 498, 1568]
    assert [one["output_tps_per_usd_per_hour"] for one in found] == [None] * 3
    text = planner("fit", *words).out
    assert "Measured output of all GPUs together, 1,024 tokens in and 400 out" in one_line(text)
    assert "USD" not in text


LOADED = ("--model", "deepseek-r1", "--gpu", "h200,b200", "--isl", "1024", "--osl", "1024", "--concurrency")


def test_measured_output_is_of_the_load_that_is_asked_for(planner):
    prices = ("--price", "h200=3,b200=5")
    for one in measured(planner, *LOADED, "64", *prices):
        assert (one["match"], one["isl_tokens"], one["osl_tokens"], one["concurrency"]) == (
            "at the load", 1024, 1024, 64,
        )  # fmt: skip
        assert one["output_tps_per_usd_per_hour"] > 0
        assert one["peak_output_tps_total"] is None


def test_measured_output_beside_the_load_has_two_neighbours_and_no_ratio(planner):
    prices = ("--price", "h200=3,b200=5")
    for one in measured(planner, *LOADED, "60", *prices):
        below, above = (point["concurrency"] for point in one["points"])
        assert one["match"] == "around the load"
        assert below < 60 < above
        assert one["output_tps_per_usd_per_hour"] is None
        assert one["output_tps_total"] is None
    assert "other load, not comparable" in one_line(planner("fit", *LOADED, "60", *prices).out)


def test_accelerators_that_were_measured_with_other_lengths_are_not_compared(planner):
    words = ("--model", "kimi-k3", "--gpu", "h200,b200", "--price", "h200=3,b200=5")
    for one in measured(planner, *words):
        assert one["match"] == "none"
        assert one["output_tps_total"] is one["output_tps_per_usd_per_hour"] is None
        assert "different lengths; name some with --isl and --osl" in one["note"]
    assert "measured: H200-SXM: the accelerators were measured with different" in one_line(
        planner("fit", *words).out
    )


def test_several_accelerators_are_compared_at_lengths_that_all_share(planner):
    first, second = measured(planner, "--model", "deepseek-r1", "--gpu", "h200,b200")
    assert first["match"] == second["match"] == "peak"
    for length in ("isl_tokens", "osl_tokens"):
        assert first[length] == second[length] is not None


def test_a_load_that_nobody_measured_names_those_that_were(planner):
    (one,) = measured(planner, "--model", "deepseek-r1", "--gpu", "h200", "--isl", "50k", "--osl", "77")
    assert one["match"] == "none"
    assert one["note"].startswith("nothing at this load; measured with 1,024/1,024")


def test_an_accelerator_that_is_left_out_is_named_with_its_reason(planner):
    words = ("--model", "llama-3.1-8b", "--engine", "trtllm", "--gpu", "mi355x,b200")
    for command in (("fit",), ("predict", "--isl", "1000", "--osl", "100")):
        ran = planner(*command, *words)
        assert ran.code == 0
        assert "MI355X is left out: TensorRT-LLM does not run on mi355x" in " ".join(ran.out.split())
        assert "B200-SXM" in ran.out
