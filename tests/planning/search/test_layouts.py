"""Which deployments are tried: legal ones, in the numbers that a GPU comes in, and none for no reason."""

from __future__ import annotations

import math

import pytest

from planner.errors import IllegalDeployment, InvalidInput, UnknownName
from planner.memory.built import SameModel, architecture_of
from planner.planning.search import SearchSpace, search
from planner.planning.search.layouts import deployments, divisors, gpu_counts
from planner.scenario import Deployment, Workload, check_legal
from tests.planning.search.made_search import CATALOGUE, LLAMA, R1, asked, searched


@pytest.mark.parametrize(
    ("gpu", "counts"),
    [
        ("b200", (1, 2, 4, 8, 16)),
        ("mi355x", (1, 2, 4, 8, 16)),
        ("gb200", (1, 2, 4, 8, 12, 16)),
        ("rtx-4090", (1, 2, 4, 8, 16)),
    ],
)
def test_numbers_of_gpus_are_those_a_type_comes_in(gpu: str, counts: tuple[int, ...]) -> None:
    assert gpu_counts(CATALOGUE.gpu(gpu), SearchSpace()) == counts


def test_numbers_that_were_given_are_taken() -> None:
    assert gpu_counts(CATALOGUE.gpu("b200"), SearchSpace(gpus=(24, 3, 3))) == (3, 24)


def test_numbers_that_leave_gpus_of_a_node_idle_are_not_filled() -> None:
    """They would be paid for, so that nothing for each GPU could be compared with whole nodes."""
    result = searched(*LLAMA, space=SearchSpace(gpus=(8, 12, 16)))
    assert {option.gpus for option in result.evaluator.options} == {8, 16}
    refused = {one.reason: one for one in result.refused}
    assert refused["no whole nodes"].example == "12 x b200-sxm fill no whole nodes of 8; 8 and 16 do"
    # A rack joins 72 GPUs, and comes in trays of 4; a server holds any number of cards.
    for gpu in ("gb200", "rtx-pro-6000"):
        options = searched("llama-3.1-8b", gpu, space=SearchSpace(gpus=(12,))).evaluator.options
        assert {option.gpus for option in options} == {12}


def test_no_copy_lies_over_the_edge_of_a_node() -> None:
    """Eight copies of three GPUs have no place in three nodes of eight, but one of them has in one node."""
    options = searched(*LLAMA, space=SearchSpace(gpus=(6, 24), every_layout=True)).evaluator
    sizes = {
        count: {options.units[one.unit].deployment.gpus for one in options.options if one.gpus == count}
        for count in (6, 24)
    }
    assert sizes == {6: {1, 2, 3, 6}, 24: {1, 2, 4, 8, 12, 24}}


def test_every_split_of_a_dense_model_is_tried_once() -> None:
    architecture = architecture_of(SameModel(CATALOGUE.model("llama-3.1-8b")))
    found = list(deployments(architecture, (8,), SearchSpace(), Deployment()))
    sizes = [(one.tp, one.pp, one.dp, one.ep, one.dcp) for one in found if one.dcp == 1]
    # TP x PP of 1, 2, 4 and 8 GPUs: one for each divisor.
    assert sorted(sizes) == sorted((tp, n // tp, 1, 1, 1) for n in (1, 2, 4, 8) for tp in divisors(n))
    assert all(one.tp * one.pp * one.dp in (1, 2, 4, 8) for one in found)


def test_experts_are_divided_and_attention_is_copied_where_there_are_any() -> None:
    architecture = architecture_of(SameModel(CATALOGUE.model("deepseek-r1")))
    found = list(deployments(architecture, (8,), SearchSpace(), Deployment()))
    assert {one.speculative_tokens for one in found} == {0, 1, 3}
    assert {(one.tp, one.dp, one.ep) for one in found if one.tp * one.dp == 8} == {
        (tp, 8 // tp, ep) for tp in (1, 2, 4, 8) for ep in (1, 8)
    }
    assert {one.dcp for one in found if one.tp == 8} == {1, 2, 4, 8}


@pytest.mark.parametrize("case", [LLAMA, R1])
def test_every_candidate_is_legal_and_fits(case: tuple[str, str]) -> None:
    result = searched(*case)
    architecture = architecture_of(SameModel(result.asked.model))
    for unit in result.evaluator.units:
        check_legal(
            architecture=architecture,
            deployment=unit.deployment,
            workload=Workload(isl=1, osl=1),
            gpu=result.gpu,
            engine="vllm",
        )
    for point in result.frontier():
        memory = point.candidate.memory
        assert memory.fits
        assert point.concurrency <= memory.max_concurrency * point.candidate.copies * 1.6


def test_a_small_dense_model_is_not_run_as_a_pipeline_or_over_nodes() -> None:
    for unit in searched(*LLAMA).evaluator.units:
        assert unit.deployment.pp == 1
        assert not unit.crosses_nodes


def test_a_model_beyond_a_node_is_run_over_nodes_in_whole_stages() -> None:
    units = searched("kimi-k3", "b200").evaluator.units
    assert units
    for unit in units:
        assert unit.crosses_nodes
        assert unit.deployment.tp * unit.deployment.dp % 8 == 0


def test_cards_are_run_as_a_pipeline_of_no_more_stages_than_are_needed() -> None:
    units = searched("llama-3.3-70b", "l40s", space=SearchSpace(gpus=(8,))).evaluator.units
    fewest: dict[tuple[int, int], int] = {}
    for unit in units:
        deployment = unit.deployment
        sizes = (deployment.tp, deployment.dcp)
        assert fewest.setdefault(sizes, deployment.pp) == deployment.pp
    assert max(unit.deployment.pp for unit in units) > 1


def test_every_layout_adds_to_the_usual_ones() -> None:
    usual = {str(unit.deployment) for unit in searched(*LLAMA).evaluator.units}
    every = searched(*LLAMA, space=SearchSpace(every_layout=True))
    assert usual < {str(unit.deployment) for unit in every.evaluator.units}
    assert any(unit.deployment.pp == 16 for unit in every.evaluator.units)


def test_what_cannot_be_is_counted_by_reason() -> None:
    result = searched("kimi-k3", "b200", space=SearchSpace(gpus=(8,)))
    assert result.candidates == 0
    assert result.frontier() == ()
    assert result.best() is None
    counts = {one.reason: one.count for one in result.refused}
    assert counts["weights too large"] > 0
    assert math.prod(one.count for one in result.refused) > 0
    assert all(one.example for one in result.refused)


def test_llama_cpp_has_no_copies_of_attention_and_no_separate_prefill() -> None:
    space = SearchSpace(gpus=(2,), dp=(1, 2), ep=(1, 2), every_layout=True, disaggregated=True)
    result = searched("qwen3-30b-a3b", "rtx-pro-6000", "llama.cpp", space)
    assert {(unit.deployment.dp, unit.deployment.ep) for unit in result.evaluator.units} == {(1, 1)}
    assert {"EP", "DP", "prefill apart"} <= {one.reason for one in result.refused}
    assert (result.evaluator.filling < 0).all()


@pytest.mark.parametrize(
    ("space", "error", "said"),
    [
        (SearchSpace(tp=(3,)), InvalidInput, "tp 3: no whole copies"),
        (SearchSpace(gpus=(9,)), IllegalDeployment, "9 x b200-sxm fill no whole nodes of 8; 8 and 16 do"),
        (SearchSpace(kv_dtypes=("auto", "fp7")), InvalidInput, "'fp7' is unknown"),
        (SearchSpace(weight_dtypes=("nfp4",)), UnknownName, "unknown weight dtype 'nfp4'"),
        (SearchSpace(draft="eagle3"), InvalidInput, "nothing is drafted"),
        (SearchSpace(draft="egle3", speculative_tokens=(2,)), UnknownName, "nearest: eagle3"),
        (SearchSpace(tokens_per_step=4, speculative_tokens=(2,)), InvalidInput, "1 to 3"),
    ],
)
def test_what_cannot_be_meant_is_refused(space: SearchSpace, error: type[Exception], said: str) -> None:
    made = asked(*LLAMA)
    with pytest.raises(error, match=said):
        search(made, made.gpus[0], space=space)


@pytest.mark.parametrize("field", ["gpus", "tp", "kv_dtypes", "speculative_tokens"])
def test_an_empty_list_names_nothing_to_try(field: str) -> None:
    with pytest.raises(InvalidInput, match=f"SearchSpace {field}"):
        SearchSpace(**{field: ()})
