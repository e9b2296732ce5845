"""The same GPUs in other layouts: which hold more, at what price, and what latency a layout costs."""

from __future__ import annotations

import pytest

import planner
from planner.planning.other_layouts import MORE, layout_cautions
from planner.report.sentences import layout
from planner.scenario import Deployment


def asked(catalogue, **words):
    return planner.fit(catalogue=catalogue, **words).answer


def test_a_latent_cache_has_layouts_that_hold_more(catalogue):
    answer = asked(catalogue, model="deepseek-r1", gpu="h200", gpus=8)
    found = {layout(one.deployment): one for one in answer.others}
    assert found.keys() == {"TP8 DCP8", "DP8 EP8", "TP4 PP2"}
    for other in found.values():
        assert other.deployment.gpus == 8
        assert other.fits
        assert other.max_concurrency > MORE * answer.memory.max_concurrency
    held = [one.max_concurrency for one in answer.others]
    assert held == sorted(held, reverse=True)
    # DCP divides the tokens and leaves the weights; copies of attention cost weights on every rank.
    assert found["TP8 DCP8"].per_rank.weights_bytes == answer.memory.per_rank.weights_bytes
    assert found["DP8 EP8"].per_rank.weights_bytes > answer.memory.per_rank.weights_bytes


def test_divided_heads_have_no_layout_that_holds_more(catalogue):
    assert asked(catalogue, model="llama-3.3-70b", gpu="h100", gpus=4).others == ()
    assert asked(catalogue, model="deepseek-r1", gpu="h200", tp=8, dcp=8).others == ()


def test_the_record_names_the_extra_weights(catalogue):
    answer = asked(catalogue, model="deepseek-r1", gpu="h200", gpus=8)
    for row, other in zip(answer.to_dict()["other_layouts"], answer.others, strict=True):
        extra = (other.per_rank.weights_bytes - answer.memory.per_rank.weights_bytes) / 2**30
        assert row["layout"] == layout(other.deployment)
        assert row["extra_weights_gib"] == pytest.approx(extra)


def test_gpus_alone_say_which_layout_was_taken_where_it_is_not_the_usual_one(catalogue):
    answer = asked(catalogue, model="qwen3-8b", gpu="h100", gpus=6)
    assert answer.memory.deployment.tp != 6
    usual = asked(catalogue, model="qwen3-8b", gpu="h100", gpus=4)
    assert usual.memory.deployment.tp == 4
    assert not any("is usual" in note for note in usual.notes)
    assert any("is usual" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"tp": 16}, "TP16 reaches over nodes"),
        ({"tp": 8, "pp": 2}, "PP2 over nodes"),
        ({"pp": 8}, "TP1 PP8: a token passes 8 GPUs one after the other"),
        ({"tp": 8}, None),
        ({"tp": 4, "pp": 2}, None),
    ],
)
def test_what_a_layout_costs_in_latency_is_said(sizes, said):
    found = layout_cautions(Deployment(**sizes), node_gpus=8)
    assert [text.startswith(said) for text in found] == ([True] if said else [])
