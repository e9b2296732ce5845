"""The dense feed-forward block: shapes on each rank and legal sizes."""

from __future__ import annotations

import pytest

from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.formats import FORMATS
from planner.architecture.tensors import Sharding


def shapes(block, tp):
    return {t.name: t.rank_shape(Sharding(tp=tp))[1:] for t in block.tensors()}


def test_three_matrices_and_two():
    assert sum(t.parameters for t in DenseMlp(4096, 14336).tensors()) == 176_160_768
    assert sum(t.parameters for t in DenseMlp(4096, 16384, gated=False).tensors()) == 134_217_728


@pytest.mark.parametrize("tp", [1, 2, 8])
def test_columns_of_the_inputs_and_rows_of_the_output_are_divided(tp):
    rank = shapes(DenseMlp(4096, 14336, bias=True), tp)
    assert rank["gate_proj"] == rank["up_proj"] == (14336 // tp, 4096)
    assert rank["down_proj"] == (4096, 14336 // tp)
    assert rank["up_proj.bias"] == (14336 // tp, 1)
    assert rank["down_proj.bias"] == (4096, 1)


def test_a_fused_matrix_stores_its_tensor_scale_once():
    apart, fused = DenseMlp(3072, 8192), DenseMlp(3072, 8192, fused=True)
    static = FORMATS["fp8-tensor"]
    sizes = [sum(t.checkpoint_bytes(static) for t in block.tensors()) for block in (apart, fused)]
    assert sizes == [75_497_496, 75_497_488]
    assert shapes(fused, 4)["gate_up_proj"] == (4096, 3072)


def test_refusal_names_the_legal_sizes():
    block = DenseMlp(1280, 3420)
    assert block.refusal(Sharding(tp=4)) is None
    refusal = block.refusal(Sharding(tp=8))
    assert refusal.startswith("TP 8 does not divide the 3420 columns of dense_mlp; legal: 1, 2, 3, 4, 5, 6")
