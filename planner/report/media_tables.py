"""Tables of an answer on media models: side by side, memory, time by part, assumptions, sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from planner.catalogue.media import MediaRun
from planner.measurement.media import LeftOut
from planner.memory.media import OFFLOADED, RESIDENT, SWAPPED, MediaPart
from planner.performance.media import rate_of
from planner.report.sentences import gpu_label
from planner.report.table import GIB, Column, Table
from planner.units import format_count

if TYPE_CHECKING:
    from planner.report.media import MediaAnswer

_SECONDS = "{:,.2f}".format
_GIB = "{:,.1f}".format
HELD = {RESIDENT: "all", SWAPPED: "one component", OFFLOADED: "a part"}

SIDE_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("fits", "fits", show=lambda fits: "yes" if fits else "no"),
    Column("seconds", "time\ns", right=True, show=_SECONDS),
    Column("low_s", "low\ns", right=True, show=_GIB),
    Column("high_s", "high\ns", right=True, show=_GIB),
    Column("units_per_hour", "units\nan hour", right=True, show=_GIB),
    Column("usd_per_unit", "USD\neach", right=True, show="{:,.4f}".format),
    Column("units_per_usd", "units\na USD", right=True, show=_GIB),
    Column("times_of_first", "times\nthe first", right=True, show=_SECONDS),
    Column("peak_gib", "memory\nGiB", right=True, show=_GIB),
    Column("source", "from", flexible=True),
)

MEMORY_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("name", "component"),
    Column("parameters", "params", right=True, show=format_count),
    Column("copies", "copies", right=True),
    Column("format", "format"),
    Column("weights_gib", "weights\nGiB", right=True, show=_GIB),
    Column("activation_gib", "activations\nGiB", right=True, show=_GIB),
    Column("kept", "weights kept", flexible=True),
)

PARTS_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("name", "part"),
    Column("seconds", "time\ns", right=True, show=_SECONDS),
    Column("share", "share", right=True, show="{:.0%}".format),
)

TIME_COLUMNS = (
    Column("name", "part"),
    Column("passes", "passes", right=True, show="{:,.0f}".format),
    Column("seconds", "time\ns", right=True, show=_SECONDS),
    Column("share", "share", right=True, show="{:.0%}".format),
    Column("matrix_products_s", "matrix\ns", right=True, show=_SECONDS),
    Column("attention_s", "attention\ns", right=True, show=_SECONDS),
    Column("convolutions_s", "convol.\ns", right=True, show=_SECONDS),
    Column("memory_s", "memory\ns", right=True, show=_SECONDS),
    Column("waiting_s", "waiting\ns", right=True, show=_SECONDS),
    Column("tflop", "TFLOP", right=True, show="{:,.0f}".format),
)


def side_by_side(answers: Sequence[MediaAnswer]) -> Table:
    """Return the figures of each accelerator, one row for each.

    Parameters
    ----------
    answers : sequence of MediaAnswer
        In the order in which they are shown.

    Returns
    -------
    Table
    """
    first = next((answer.seconds for answer in answers if answer.seconds is not None), None)
    rows = [_side(answer, first if len(answers) > 1 else None) for answer in answers]
    return Table(SIDE_COLUMNS, tuple(rows), "Time and cost of a unit on one GPU")


def _side(answer: MediaAnswer, first: float | None) -> dict[str, Any]:
    value, low, high = answer.interval_s or (None, None, None)
    return {
        "gpu": answer.gpu,
        "fits": answer.fits,
        "seconds": value,
        "low_s": low,
        "high_s": high,
        "units_per_hour": answer.units_per_hour,
        "usd_per_unit": answer.usd_per_unit,
        "units_per_usd": answer.units_per_usd,
        "times_of_first": None if value is None or first is None else value / first,
        "peak_gib": answer.memory.peak_bytes / GIB if answer.fits else None,
        "source": _source(answer),
    }


def _source(answer: MediaAnswer) -> str:
    if answer.seconds is None:
        return "nobody published it" if answer.fits else "does not fit"
    return "published" if answer.run else "simulated"


def memory_table(answers: Sequence[MediaAnswer]) -> Table:
    """Return the components with weights and activations, and how the weights are kept."""
    rows = [_memory(answer, part) for answer in answers for part in answer.memory.parts]
    return Table(MEMORY_COLUMNS, tuple(rows), "Components: weights, and activations beside them")


def _memory(answer: MediaAnswer, part: MediaPart) -> dict[str, Any]:
    return {
        "gpu": answer.gpu,
        "name": part.name,
        "parameters": part.parameters,
        "copies": part.copies,
        "format": part.format,
        "weights_gib": part.weight_bytes / GIB,
        "activation_gib": part.activation_bytes / GIB,
        "kept": HELD[answer.memory.mode] if answer.fits else "do not fit",
    }


def parts_table(answers: Sequence[MediaAnswer]) -> Table:
    """Return the time of a unit part by part on each accelerator that holds the model."""
    rows = [
        {
            "gpu": answer.gpu,
            "name": part.name,
            "seconds": part.seconds,
            "share": part.seconds / answer.time.seconds,
        }
        for answer in answers
        if answer.time is not None
        for part in answer.time.parts
    ]
    return Table(PARTS_COLUMNS, tuple(rows), "Time of a unit by part")


def time_table(answer: MediaAnswer) -> Table:
    """Return the time of a unit part by part, as the model has it."""
    assert answer.time is not None
    rows = [
        {
            "name": part.name,
            "passes": part.passes,
            "seconds": part.seconds,
            "share": part.seconds / answer.time.seconds,
            "matrix_products_s": part.linear_s,
            "attention_s": part.attention_s,
            "convolutions_s": part.convolution_s,
            "memory_s": part.moved_s,
            "waiting_s": part.waiting_s,
            "tflop": part.flop / 1e12,
        }
        for part in answer.time.parts
    ]
    return Table(TIME_COLUMNS, tuple(rows), f"Time of a unit on {gpu_label(answer.gpu)} by part, simulated")


def assumed_rows(answer: MediaAnswer) -> Iterator[dict[str, str]]:
    """Yield what nobody gave: the usual workflow, shares of peak, the host."""
    usual, host = answer.model.defaults, answer.host
    yield {
        "name": "workflow",
        "value": f"{answer.workload.text}, guidance {answer.workload.guidance:g}",
        "provenance": f"what was not given is of {usual.provenance()}",
    }
    rate = rate_of(answer.stack, answer.card)
    shares = (
        f"matrices {rate.linear:.1%}, attention {rate.attention:.1%}, convolutions {rate.convolution:.1%}"
    )
    yield {
        "name": f"shares of BF16 peak, {gpu_label(answer.gpu)}",
        "value": f"{shares}, memory {rate.memory:.0%}; {rate.attention_kernel}",
        "provenance": rate.provenance(),
    }
    yield {
        "name": "host",
        "value": f"PNG {host.picture_megapixel:.2f} s a megapixel, a mesh cell {host.mesh_cell * 1e6:.0f} us",
        "provenance": host.provenance(),
    }
    yield {
        "name": "stack",
        "value": f"{answer.stack.version}; a kernel every {answer.stack.kernel * 1e6:.0f} us",
        "provenance": answer.stack.provenance(),
    }


def source_rows(answer: MediaAnswer) -> Iterator[dict[str, Any]]:
    """Yield the sources of the workflow, the rates, the effects of the stack, and a published run."""
    rate = rate_of(answer.stack, answer.card)
    stated = [("workflow", answer.model.defaults), (f"rates of {gpu_label(answer.gpu)}", rate)]
    stated += [(f"{answer.stack.name}: {effect.what}", effect) for effect in answer.stack.effects]
    if answer.run is not None:
        stated.append((_run_text(answer.run), answer.run))
    for what, one in stated:
        source = one.source
        yield {"what": what, "source": source.title, "date": one.date, "url": source.url}


def _run_text(run: MediaRun) -> str:
    return f"published time of {run.model} on {gpu_label(run.gpu)} beside a {run.host}, {run.seconds:,.2f} s"


LEFT_OUT_COLUMNS = (
    Column("model", "model"),
    Column("gpu", "GPU", show=gpu_label),
    Column("published_s", "published\ns", right=True, show=_SECONDS),
    Column("predicted_s", "predicted\ns", right=True, show=_SECONDS),
    Column("error", "off by", right=True, show="{:+.1%}".format),
    Column("attention_share", "attention,\nof peak", right=True, show="{:.1%}".format),
    Column("calibrated_on", "attention from", flexible=True),
)


def left_out_table(found: Sequence[LeftOut]) -> Table:
    """Return published runs beside what is predicted of each without it.

    Parameters
    ----------
    found : sequence of LeftOut
        As `planner.measurement.media.leave_one_out` gives them.

    Returns
    -------
    Table
    """
    rows = tuple(
        {
            "model": one.run.model,
            "gpu": one.run.gpu,
            "published_s": one.run.seconds,
            "predicted_s": one.time.seconds,
            "error": one.error,
            "attention_share": one.attention,
            "calibrated_on": ", ".join(one.calibrated_on) or "no published run",
        }
        for one in found
    )
    return Table(LEFT_OUT_COLUMNS, rows, "Published times, each predicted without itself")
