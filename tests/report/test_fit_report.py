"""Fit answers as sentences, records, tables, CSV and HTML."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from planner.report.facts import answer_facts
from planner.report.measured import measured_table
from planner.report.sentences import layout, reason, requests_held
from planner.report.tables import (
    assumption_text,
    assumptions_table,
    memory_parts,
    memory_table,
    side_by_side,
    with_marks,
)
from planner.scenario import Deployment
from tests.report.made import GIB, answer, judged, memory, report

DEMANDED = {
    "model", "gpu", "tp", "pp", "ep", "dp", "gpus", "nodes", "fits", "binding_limit", "per_rank",
    "kv_bytes_per_token_per_rank", "kv_tokens", "max_concurrency", "smallest_deployment", "warnings",
}  # fmt: skip
DEMANDED_PER_RANK = {
    "usable_gib", "weights_gib", "kv_pool_gib", "state_gib", "activation_gib", "graph_gib", "reserve_gib",
}  # fmt: skip


def test_verdict_of_one_node():
    assert answer().sentence == (
        "Made 1T fits on one node of 8 x B200-SXM (TP8) with a KV cache of 622,592 tokens, "
        "enough for 4.8 requests of 131,072 tokens."
    )


def test_verdict_names_why_one_node_is_too_small_and_what_is_not():
    assert answer(small=True).sentence == (
        "Made 1T does not fit on one node of 8 x B200-SXM (TP8): weights alone take 190.0 GiB of each GPU, "
        "where 144.0 GiB can be used. It fits on 16 x B200-SXM over 2 nodes (TP8 PP2) with a KV cache of "
        "704,512 tokens, enough for 5.4 requests of 131,072 tokens."
    )


def test_verdict_on_sizes_that_were_given():
    assert judged(weights_gib=141.0).sentence == (
        "Made 1T does not fit on one node of 8 x B200-SXM (TP8): weights and working memory take 147.0 GiB "
        "of each GPU, where 144.0 GiB can be used. The smallest that holds it is 16 x B200-SXM over 2 nodes "
        "(TP8 PP2)."
    )
    near = judged(weights_gib=141.0)
    near = replace(near, memory=replace(near.memory, verdict="tight"))
    assert near.sentence.startswith(
        "Made 1T is tight on one node of 8 x B200-SXM (TP8) and does not fit as set up: weights and working"
    )
    lost = replace(judged(weights_gib=190.0), smallest=None)
    assert lost.sentence.endswith("No deployment that was tried holds it.")


def test_reason_when_only_the_pool_is_too_small():
    wanting = replace(memory(weights_gib=120.0), fits=False, concurrency=5)
    assert reason(wanting) == (
        "5 requests of 131,072 tokens would take 40.0 GiB of KV cache in each GPU, where 18.0 GiB is left"
    )


def test_layout_names_tp_and_every_size_above_one():
    assert layout(Deployment()) == "TP1"
    assert layout(Deployment(tp=8, pp=2, ep=16, dcp=4)) == "TP8 PP2 EP16 DCP4"
    assert layout(Deployment(tp=1, dp=8, ep=8)) == "DP8 EP8"


def test_json_holds_what_was_promised_and_is_plain():
    made = answer(small=True, price=4.25).to_dict()
    assert made["schema"] == "planner.fit/1"
    assert made.keys() >= DEMANDED
    assert made["per_rank"].keys() >= DEMANDED_PER_RANK
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert (made["gpus"], made["nodes"], made["fits"]) == (16, 2, True)
    assert (made["one_node"]["gpus"], made["one_node"]["fits"]) == (8, False)
    assert made["smallest_deployment"]["gpus"] == 16
    assert made["price"]["usd_per_hour"] == 68.0
    assert round(made["measured"]["output_tps_per_usd_per_hour"], 1) == 7.3


def test_parts_of_a_gpu_that_fits_add_up_to_what_is_usable():
    one = memory()
    assert sum(size for _, size, _ in memory_parts(one)) == pytest.approx(one.per_rank.usable_bytes)


def test_parts_leave_out_what_is_empty():
    names = [name for name, _, _ in memory_parts(memory(weights_gib=190.0))]
    assert names == ["weights", "activation", "graphs", "buffers"]


def test_several_answers_stand_under_results():
    both = report(answer(gpu="mi355x"), answer(gpu="b200-sxm", small=True))
    made = both.to_dict()
    assert made["schema"] == "planner.fit/1"
    assert [one["gpu"] for one in made["results"]] == ["mi355x", "b200-sxm"]
    assert both["b200-sxm"].nodes == 2
    assert len(both) == len(list(both)) == 2
    with pytest.raises(KeyError, match="there are mi355x, b200-sxm"):
        both["h100"]


def test_a_report_fits_when_one_accelerator_does():
    assert report(judged(weights_gib=190.0), answer()).fits
    assert not report(judged(weights_gib=190.0)).fits


def test_csv_has_one_line_for_each_accelerator_with_the_same_columns():
    text = report(answer(gpu="mi355x", price=2.5), answer(small=True)).to_csv()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["gpu"] for row in rows] == ["mi355x", "b200-sxm"]
    assert rows[1]["one_node_fits"] == "False"
    assert rows[0]["measured_output_tps_per_usd_per_hour"] == "47.6"
    assert rows[1]["measured_output_tps_per_usd_per_hour"] == ""


def test_side_by_side_shows_the_node_that_is_too_small_before_the_nodes_that_are_not():
    cells = side_by_side([answer(gpu="mi355x"), answer(small=True)]).cells()
    assert [row[:5] for row in cells] == [
        ["MI355X", "yes", "8", "1", "TP8"],
        ["B200-SXM", "no", "8", "1", "TP8"],
        ["B200-SXM", "yes", "16", "2", "TP8 PP2"],
    ]
    assert cells[1][-2:] == ["", ""]


def test_measured_output_has_its_price_and_lengths():
    table = measured_table([answer(gpu="mi355x", price=2.5), answer(price=4.25)])
    assert table.title == "Measured output of all GPUs together, 1,024 tokens in and 400 out"
    assert [row[:6] for row in table.cells()] == [
        ["MI355X", "8", "952", "118", "2.50", "47.6"],
        ["B200-SXM", "16", "498", "90", "4.25", "7.3"],
    ]
    assert measured_table([answer()]) is None


def test_assumptions_have_units_and_one_row_where_all_share_them():
    table = assumptions_table([answer(gpu="mi355x"), answer()])
    assert [row[:2] for row in table.cells()] == [
        ["memory fraction", "0.9"],
        ["max num batched tokens", "8,192"],
        ["context", "131,072 tokens"],
        ["workspace", "256.00 MiB"],
        ["prefix caching", "yes"],
    ]
    other = answer()
    changed = replace(other.memory.assumptions[0], value=0.92)
    other = replace(other, memory=replace(other.memory, assumptions=(changed,)))
    names = [row[0] for row in assumptions_table([answer(gpu="mi355x"), other]).cells()]
    assert names[0] == "memory fraction (MI355X)"
    assert names[-1] == "memory fraction (B200-SXM)"


def test_a_source_that_is_cited_twice_gets_a_mark():
    table, marks = with_marks(assumptions_table([answer()]), "provenance")
    assert [row[2] for row in table.cells()][:3] == [
        "[1], since 0.20.0",
        "[1]",
        "published: the model's maximum",
    ]
    assert marks == (("[1]", "published: engine source (2026-11)"),)


def test_an_assumption_that_is_text_keeps_it():
    item = replace(memory().assumptions[0], value="fp8", unit="")
    assert assumption_text(item) == "fp8"
    assert assumption_text(replace(item, value=None)) == "none"


def test_html_escapes_what_users_name():
    hostile = replace(answer(), model_name="<script>alert(1)</script>")
    page = report(hostile)._repr_html_() + report(hostile, answer())._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<table>" in page


def test_memory_table_names_the_stage_of_the_fullest_gpu():
    assert memory_table(answer()).title == "Memory of each B200-SXM"
    assert (
        memory_table(answer(small=True)).title
        == "Memory of the fullest B200-SXM (stage 1 of 2, layers 1 to 30)"
    )


def test_frames_have_one_row_for_each_accelerator():
    pandas = pytest.importorskip("pandas")
    frame = report(answer(gpu="mi355x"), answer(small=True)).to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["gpus"]) == [8, 16]
    assert list(answer().to_frame()["kv_tokens"]) == [622_592]
    assert frame["usable_gib"].iloc[0] == 160.0 * GIB / GIB


def test_tight_says_whether_it_is_a_yes_or_a_no():
    tight = replace(answer(), memory=replace(memory(), verdict="tight"))
    assert (
        "it fits (exit code 0), but with less to spare than the 1.00 GiB"
        in dict(answer_facts(tight))["tight"]
    )
    near = replace(tight, memory=replace(tight.memory, fits=False))
    assert "does not fit as set up (exit code 3)" in dict(answer_facts(near))["tight"]
    assert "tight" not in dict(answer_facts(answer()))


def test_a_pool_that_is_empty_says_nothing_of_max_num_seqs():
    none = replace(judged(weights_gib=190.0), memory=replace(memory(weights_gib=190.0), safe_max_num_seqs=0))
    assert "max_num_seqs" not in dict(answer_facts(none))
    some = replace(answer(), memory=replace(memory(), safe_max_num_seqs=5))
    assert dict(answer_facts(some))["max_num_seqs"] == "at most 5, or the engine does not start"


def test_one_request_is_said_in_the_singular():
    one = replace(memory(), pool=replace(memory().pool, max_concurrency=1.02))
    assert requests_held(one) == "enough for 1.0 request of 131,072 tokens"
