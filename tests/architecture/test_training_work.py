"""What a layer does in training, against shapes that papers publish."""

from __future__ import annotations

import pytest

from planner.architecture.training import (
    Product,
    adapters,
    layer_work,
    matrix_names,
    outer_parameters,
    training_refusal,
)
from tests.performance.training_machines import blocks


def test_the_products_of_a_layer_of_llama(catalogue):
    work = layer_work(blocks(catalogue, "llama-3.1-8b").layers[0], 1)
    assert set(work.products) == {
        Product(6144, 4096),  # queries, keys and values as one
        Product(4096, 4096),
        Product(28672, 4096),  # gate and up as one
        Product(4096, 14336),
    }
    assert work.blocks == 2
    assert work.matrix_parameters == sum(one.elements for one in work.products)
    assert work.parameters == work.matrix_parameters + 2 * 4096
    assert work.split_width == 6144 + 4096 + 28672 + 14336
    assert (work.mixed_width, work.plain_width) == (4096, 14336)


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_ranks_divide_matrices_and_widths_but_not_norms(catalogue, tp):
    layer = blocks(catalogue, "llama-3.1-70b").layers[0]
    one, many = layer_work(layer, 1), layer_work(layer, tp)
    assert many.matrix_parameters * tp == one.matrix_parameters
    assert many.split_width * tp == one.split_width
    assert many.parameters - many.matrix_parameters == one.parameters - one.matrix_parameters


def test_gpt_3_has_the_parameters_of_its_paper(catalogue):
    """12 h^2 in the matrices of a layer (Brown et al. 2020, table 2.1)."""
    model = blocks(catalogue, "gpt-3-175b")
    assert len(model.layers) == 96
    assert layer_work(model.layers[0], 1).matrix_parameters == 12 * 12288**2
    whole = 96 * layer_work(model.layers[0], 1).parameters + outer_parameters(model.embedding, 1)
    assert whole == pytest.approx(174.6e9, rel=0.005)


def test_adapters_have_rank_times_both_sides(catalogue):
    """4.2 million parameters at rank 8 on queries and values of a 7B (Hu et al. 2021)."""
    model = blocks(catalogue, "llama-2-7b")
    thin = [
        one
        for layer in model.layers
        for one in adapters(layer, 1, 8, lambda tensor: tensor.name in ("q_proj", "v_proj"))
    ]
    assert sum(one.elements for one in thin) == 32 * 2 * 8 * (4096 + 4096) == 4_194_304


def test_the_names_of_matrices_tell_their_group(catalogue):
    names = matrix_names(blocks(catalogue, "llama-3.1-8b"))
    assert {name for name, group in names.items() if group == "attention"} == {
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
    }


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("deepseek-r1", "experts"),
        ("gpt-oss-120b", "experts"),
        ("qwen2.5-vl-7b", "towers"),
        ("llama-3.1-8b", None),
        ("gpt-3-175b", None),
        ("llama-65b", None),
    ],
)
def test_what_is_not_dense_is_refused_with_its_reason(catalogue, model, why):
    reason = training_refusal(blocks(catalogue, model))
    assert reason is None if why is None else why in reason
