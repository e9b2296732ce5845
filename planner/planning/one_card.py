"""What one card alone does with a model that takes several, where the engine runs the rest on the CPU."""

from __future__ import annotations

from planner.catalogue import Gpu
from planner.memory import fit_memory
from planner.memory.setup import engine_name
from planner.planning.question import Question
from planner.planning.sizing import Judgement
from planner.scenario.offload import ON_CPU, asks_offload


def one_card_notes(asked: Question, gpu: Gpu, judged: Judgement) -> tuple[str, ...]:
    """Return how much of a model one card holds, where several were chosen and the CPU may run the rest.

    Parameters
    ----------
    asked : Question
        What was asked.
    gpu : Gpu
        The card.
    judged : Judgement
        Its memory.

    Returns
    -------
    tuple of str
        Empty where one card holds it, sizes or an offload were given, or the engine runs nothing on the CPU.
    """
    engine = asked.catalogue.resolve("stacks", engine_name(asked.base.engine)[0])
    several = judged.memory.deployment.gpus > 1
    if engine not in ON_CPU or not several or asked.sizes.given or asks_offload(asked.base):
        return ()
    alone = fit_memory(
        model=asked.model,
        gpu=gpu,
        deployment=asked.base,
        workload=asked.workload,
        catalogue=asked.catalogue,
    )
    ways = [text for text in alone.remedies if "on the CPU" in text and "(enough by itself)" in text]
    said = [text.removesuffix(" (enough by itself)") for text in ways]
    return (f"one {gpu.id} alone holds it with {', or '.join(said)}",) if said else ()
