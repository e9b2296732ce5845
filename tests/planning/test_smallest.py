"""The smallest deployment is the smallest: every number of cards, nodes of boards, and no contradiction."""

from __future__ import annotations

import pytest

import planner
from planner.catalogue import Catalogue
from planner.memory import smallest_deployment
from planner.memory.smallest import layouts
from planner.scenario import Deployment, Workload


@pytest.mark.parametrize(("model", "gpu"), [("llama-3.3-70b", "l40s"), ("qwen3-32b", "rtx-4090")])
def test_no_number_of_cards_under_the_smallest_fits(catalogue: Catalogue, model: str, gpu: str) -> None:
    alone = planner.fit(model=model, gpu=gpu, catalogue=catalogue).answer
    assert alone.memory.fits
    for gpus in range(1, alone.gpus + 3):
        asked = planner.fit(model=model, gpu=gpu, gpus=gpus, catalogue=catalogue).answer
        assert asked.smallest is not None
        assert asked.smallest.deployment.gpus == alone.gpus
        assert asked.memory.fits == (gpus >= alone.gpus)


def test_llama_70b_takes_five_l40s(catalogue: Catalogue) -> None:
    found = planner.fit(model="llama-3.3-70b", gpu="l40s", catalogue=catalogue).answer
    assert (found.gpus, found.memory.deployment.pp) == (5, 5)


def test_boards_come_by_divisors_of_a_node_and_whole_nodes(catalogue: Catalogue) -> None:
    board, card = catalogue.gpu("h100-sxm"), catalogue.gpu("l40s")
    assert sorted({tp * pp for tp, pp in layouts(board, 3)}) == [1, 2, 4, 8, 16, 24]
    assert sorted({tp * pp for tp, pp in layouts(card, 2)}) == list(range(1, 17))
    assert all(tp <= 8 for tp, _ in layouts(card, 4))


def test_fewer_gpus_of_a_board_than_the_smallest_are_not_contradicted(catalogue: Catalogue) -> None:
    model = "qwen3-235b-a22b"
    alone = planner.fit(model=model, gpu="h100-sxm", catalogue=catalogue).answer
    assert alone.gpus == 8
    asked = planner.fit(model=model, gpu="h100-sxm", gpus=7, catalogue=catalogue).answer
    assert asked.memory.fits
    assert asked.smallest is asked.memory
    assert any(
        "7 GPUs do not divide a node of 8: the smallest that divides or fills nodes is 8 x H100-SXM" in text
        for text in asked.warnings
    )


def test_nothing_is_found_where_weights_exceed_every_node(catalogue: Catalogue) -> None:
    found = smallest_deployment(
        model=catalogue.model("tml-inkling"),
        gpu=catalogue.gpu("arc-pro-b50"),
        workload=Workload(),
        deployment=Deployment(),
        catalogue=catalogue,
        max_nodes=16,
    )
    assert found is None
