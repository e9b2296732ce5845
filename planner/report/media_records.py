"""Answers on media models as plain data, units in the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.memory.media import MediaMemory
from planner.performance.media import PartTime
from planner.report.provenance import price_record
from planner.report.table import GIB
from planner.scenario.media import expert_steps, job_of, passes_of

if TYPE_CHECKING:
    from planner.report.media import MediaAnswer


def media_record(answer: MediaAnswer) -> dict[str, Any]:
    """Return an answer as one JSON-ready object.

    Parameters
    ----------
    answer : MediaAnswer
        A media model on one accelerator.

    Returns
    -------
    dict
    """
    model, workload, time = answer.model, answer.workload, answer.time
    interval = answer.interval_s
    job = job_of(model, workload)
    return {
        "model": model.id,
        "makes": model.makes,
        "gpu": answer.gpu,
        "gpus": 1,
        "stack": answer.stack.id,
        "workload": {
            "width_pixels": workload.width,
            "height_pixels": workload.height,
            "frames": workload.frames,
            "latents": workload.latents,
            "octree": workload.octree,
            "steps": workload.steps,
            "guidance": workload.guidance,
            "passes_per_step": passes_of(model, workload),
            "steps_of_experts": list(expert_steps(model, workload)),
            "latent_tokens": job.tokens,
            "text_tokens": job.text_tokens,
        },
        "fits": answer.fits,
        "binding_limit": answer.memory.binding,
        "memory": memory_record(answer.memory),
        "unit_seconds": None
        if interval is None
        else dict(zip(("value", "low", "high"), interval, strict=True)),
        "units_per_hour": answer.units_per_hour,
        "usd_per_unit": answer.usd_per_unit,
        "units_per_usd": answer.units_per_usd,
        "price": price_record(answer.price, 1),
        "measured": answer.run is not None,
        "provenance": answer.provenance,
        "simulated_seconds": None if time is None else time.seconds,
        "tflop": None if time is None else time.flop / 1e12,
        "bound_by": None if time is None else time.bound_by,
        "parts": [] if time is None else [part_record(part) for part in time.parts],
        "warnings": list(answer.warnings),
    }


def memory_record(memory: MediaMemory) -> dict[str, Any]:
    """Return what is on the accelerator as plain data."""
    return {
        "mode": memory.mode,
        "usable_gib": memory.usable_bytes / GIB,
        "reserve_gib": memory.reserve_bytes / GIB,
        "peak_gib": memory.peak_bytes / GIB,
        "weights_gib": memory.weight_bytes / GIB,
        "streamed_gib": memory.streamed_bytes / GIB,
        "tiled": memory.tiled,
        "untiled_decoder_gib": memory.untiled_bytes / GIB,
        "components": [
            {
                "name": part.name,
                "role": part.role,
                "format": part.format,
                "copies": part.copies,
                "parameters": part.parameters,
                "weights_gib": part.weight_bytes / GIB,
                "activation_gib": part.activation_bytes / GIB,
            }
            for part in memory.parts
        ],
    }


def part_record(part: PartTime) -> dict[str, Any]:
    """Return the time of one component as plain data."""
    return {
        "name": part.name,
        "passes": part.passes,
        "seconds": part.seconds,
        "matrix_products_s": part.linear_s,
        "attention_s": part.attention_s,
        "convolutions_s": part.convolution_s,
        "memory_s": part.moved_s,
        "waiting_s": part.waiting_s,
        "tflop": part.flop / 1e12,
    }
