"""A judged deployment as the answer to a question: with names, price and what the user should know."""

from __future__ import annotations

from planner.catalogue import Gpu, Model
from planner.planning.one_card import one_card_notes
from planner.planning.question import Question
from planner.planning.sizing import Judgement
from planner.report.fit import FitAnswer
from planner.report.layout_notes import layout_notes
from planner.report.weight_format import weight_format


def fit_answer(asked: Question, gpu: Gpu, judged: Judgement) -> FitAnswer:
    """Return the memory answer for one accelerator, without what was measured.

    Parameters
    ----------
    asked : Question
        What was asked.
    gpu : Gpu
        One of its accelerators.
    judged : Judgement
        Its memory.

    Returns
    -------
    FitAnswer
    """
    weights = weight_format(
        asked.model,
        asked.base.weight_dtype,
        None if asked.dtype_given or not asked.chosen.quantisation else asked.name,
    )
    return FitAnswer(
        model=asked.model.id,
        model_name=asked.model.name,
        config_status=asked.model.config_status,
        gpu=gpu.id,
        gpu_name=gpu.name,
        vendor=gpu.vendor,
        node_gpus=gpu.node_gpus,
        sized=asked.sizes.given,
        memory=judged.memory,
        one_node=judged.one_node,
        smallest=judged.smallest,
        catalogue_digest=asked.catalogue.digest,
        usable_known=gpu.usable.confidence,
        weight_format=weights.text,
        variant=weights.variant,
        price=asked.prices.get(gpu.id),
        no_price=asked.unpriced.get(gpu.id),
        notes=(
            *_notes(asked.model),
            *layout_notes(judged, gpu, asked.sizes),
            *one_card_notes(asked, gpu, judged),
        ),
    )


def _notes(model: Model) -> tuple[str, ...]:
    if model.config_status == "published":
        return ()
    because = f": {model.config_note}" if model.config_note else ""
    return (f"the configuration of {model.name} is {model.config_status}{because}",)
