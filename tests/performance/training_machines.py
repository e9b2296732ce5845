"""Models and machines that tests of training share."""

from __future__ import annotations

from planner.memory.built import SameModel, architecture_of
from planner.performance.fabric import fabric_of
from planner.performance.training import Machine
from planner.performance.training_rates import achieved_rate, training_model


def blocks(catalogue, model):
    """Return the blocks of a model."""
    return architecture_of(SameModel(catalogue.model(model)))


def machine(catalogue, gpu, rates=None, **changes):
    """Return an accelerator with what its products reach, some figures of the time model changed."""
    card = catalogue.gpu(gpu)
    found = rates or {
        dtype: achieved_rate(catalogue, card, dtype).flop_per_s
        for dtype in ("bf16", "fp8")
        if dtype in card.rated_dtypes()
    }
    model = training_model(catalogue).model_copy(update=changes)
    return Machine(card, fabric_of(card, catalogue.fabrics()), model, found)
