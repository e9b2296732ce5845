"""Measured output of a fit answer: as a JSON object, and as a table in which equal loads share a ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.economics import GIVEN, PricePerHour, output_rate_per_usd_per_hour
from planner.report.sentences import gpu_label
from planner.report.table import Column, Table

if TYPE_CHECKING:
    from planner.measurement.measured_output import MeasuredOutput
    from planner.measurement.serving import ServingPoint
    from planner.report.fit import FitAnswer

PEAK, EXACT, AROUND, NOTHING = "peak", "at the load", "around the load", "none"
"""As `planner.measurement.measured_output` names them, which is not imported where nothing was measured."""

OTHER_LOAD = "other load"

_GPU_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("gpus", "GPUs", right=True),
)
_LOAD_COLUMNS = (
    Column("isl_tokens", "tokens\nin", right=True, show="{:,.0f}".format),
    Column("osl_tokens", "tokens\nout", right=True, show="{:,.0f}".format),
)
_CONCURRENCY = Column("concurrency", "requests\nat once", right=True, show="{:,.0f}".format)
_STREAM = Column("single_stream_output_tps", "one stream\ntok/s", right=True, show="{:,.0f}".format)
_USER = Column("tps_per_user", "tok/s a\nrequest", right=True, show="{:,.0f}".format)
_MONEY_COLUMNS = (
    Column("usd_per_gpu_hour", "USD per\nGPU-hour", right=True, show="{:,.2f}".format),
    Column("ratio", "tok/s per\nUSD/h", right=True),
    Column("price_provenance", "price", flexible=True),
)


def measured_record(answer: FitAnswer) -> dict[str, Any] | None:
    """Return what was measured and what it costs, or None where nothing was.

    Parameters
    ----------
    answer : FitAnswer
        The answer.

    Returns
    -------
    dict or None
        `match` says how it answers the load asked for. Rates are those of the whole deployment that was
        measured, divided by the price of all its GPUs; without a run at the load itself `points` holds its
        neighbours, and there is no rate and no ratio.
    """
    found = answer.measured
    if found is None:
        return None
    made = [point_record(point) for point in found.points]
    one = made[0] if found.match in (PEAK, EXACT) else {}
    point = found.points[0] if one else None
    stream = found.single_stream
    peak = found.match == PEAK
    return {
        "match": found.match,
        "runs": found.runs,
        "note": found.note or None,
        **{key: one.get(key) for key in _POINT_KEYS},
        "peak_output_tps_total": one.get("output_tps_total") if peak else None,
        "peak_output_tps_per_gpu": one.get("output_tps_per_gpu") if peak else None,
        "single_stream_output_tps": None if stream is None else _stream_rate(stream),
        "output_tps_per_usd_per_hour": None if point is None else _ratio(answer, point),
        "provenance": "measured",
        "single_stream_source": None if stream is None else stream.source,
        "points": made,
    }


def point_record(point: ServingPoint) -> dict[str, Any]:
    """Return one measured run, units in the keys.

    Parameters
    ----------
    point : ServingPoint
        The run.

    Returns
    -------
    dict
    """
    total, gpus = point.output_tps_total, point.n_gpus
    return {
        "gpus": gpus,
        "nodes": point.n_nodes,
        "isl_tokens": point.isl,
        "osl_tokens": point.osl,
        "concurrency": point.concurrency,
        "weight_dtype": point.weight_dtype,
        "engine": _engine_text(point) or None,
        "speculative": point.spec_decode,
        "output_tps_total": total,
        "output_tps_per_gpu": total / gpus if total and gpus else None,
        "tps_per_user": point.tps_per_user,
        "source": point.cited if point.own else point.source,
        "source_url": point.source_url,
        "date": point.date,
        "notes": point.notes,
    }


_POINT_KEYS = (
    "gpus", "nodes", "isl_tokens", "osl_tokens", "concurrency", "weight_dtype", "engine", "speculative",
    "output_tps_total", "output_tps_per_gpu", "tps_per_user", "source", "source_url", "date", "notes",
)  # fmt: skip


def _stream_rate(point: ServingPoint) -> float | None:
    return point.tps_per_user or point.output_tps_total


def _ratio(answer: FitAnswer, point: ServingPoint) -> float | None:
    """Return the output rate for each dollar an hour of the GPUs that were measured."""
    if answer.price is None or not point.output_tps_total or not point.n_gpus:
        return None
    return output_rate_per_usd_per_hour(
        output_tokens_per_s=point.output_tps_total,
        gpus=point.n_gpus,
        usd_per_gpu_hour=answer.price.usd_per_gpu_hour,
    )


def measured_table(answers: Sequence[FitAnswer]) -> Table | None:
    """Return measured output and what a dollar per hour buys, or None where nothing was measured.

    Parameters
    ----------
    answers : sequence of FitAnswer
        The answers, of one model.

    Returns
    -------
    Table or None
        Runs beside the load asked for have rows of their own and no ratio.
    """
    rows = [row for answer in answers if answer.measured for row in _rows(answer, answer.measured)]
    if not rows:
        return None
    peaks = all(row["match"] == PEAK for row in rows)
    rate = Column("output_tps_total", "peak\ntok/s" if peaks else "tok/s", right=True, show="{:,.0f}".format)
    title = "Measured output of all GPUs together"
    lengths = {(row["isl_tokens"], row["osl_tokens"]) for row in rows}
    columns = [*_GPU_COLUMNS]
    if len(lengths) == 1 and None not in (only := next(iter(lengths))):
        title += f", {only[0]:,.0f} tokens in and {only[1]:,.0f} out"
    else:
        columns += _LOAD_COLUMNS
    columns += [rate, _STREAM] if peaks else [_CONCURRENCY, rate, _USER]
    if any(answer.price for answer in answers):
        columns += _MONEY_COLUMNS
    return Table(tuple(columns), tuple(rows), title)


def _rows(answer: FitAnswer, found: MeasuredOutput) -> list[dict[str, Any]]:
    price, stream = answer.price, found.single_stream
    rows = []
    for point in found.points:
        ratio = _ratio(answer, point)
        shown = None if ratio is None else f"{ratio:,.1f}" if found.match != AROUND else OTHER_LOAD
        rows.append(
            {
                **point_record(point),
                "match": found.match,
                "gpu": answer.gpu,
                "single_stream_output_tps": None if stream is None else _stream_rate(stream),
                "usd_per_gpu_hour": price.usd_per_gpu_hour if price else None,
                "ratio": shown,
                "price_provenance": price_text(price) if price else None,
            }
        )
    return rows


def price_text(price: PricePerHour) -> str:
    """Return the terms of a price and where it comes from, in words."""
    return price.provenance if price.kind == GIVEN else f"{price.kind}: {price.provenance}"


def measured_sources(answers: Sequence[FitAnswer]) -> list[str]:
    """Return where the measured figures come from and on what they ran, each source once."""
    points = _points(answers)
    return list(dict.fromkeys(f"{point.source} ({_ran_on(point)}), {point.source_url}" for point in points))


def measured_source_rows(answers: Sequence[FitAnswer]) -> list[dict[str, Any]]:
    """Return where the measured figures come from as rows of a table of sources."""
    return [point_source(point) for point in _points(answers)]


def point_source(point: ServingPoint) -> dict[str, Any]:
    """Return the source of one measured run as a row of a table of sources."""
    what = f"measured on {point.gpu}" + (f" with {_engine_text(point)}" if _engine_text(point) else "")
    source = point.cited if point.own else point.source
    return {"what": what, "source": source, "date": point.date, "url": point.source_url}


def _points(answers: Sequence[FitAnswer]) -> list[ServingPoint]:
    found = [answer.measured for answer in answers if answer.measured is not None]
    return [point for one in found for point in (*one.points, one.single_stream) if point is not None]


def _engine_text(point: ServingPoint) -> str:
    return " ".join(part for part in (point.engine, point.engine_version) if part)


def _ran_on(point: ServingPoint) -> str:
    draft = point.spec_decode if point.spec_decode not in (None, "none") else None
    parts = (
        point.date,
        _engine_text(point),
        f"weights {point.weight_dtype}" if point.weight_dtype else None,
        draft,
    )
    return ", ".join(part for part in parts if part)


def measured_notes(answers: Sequence[FitAnswer]) -> list[str]:
    """Return what to know of the measured figures, and why others are not shown, each once with its GPUs."""
    gpus: dict[str, list[str]] = {}
    for answer in answers:
        if answer.measured is not None and (note := _note(answer.measured)):
            gpus.setdefault(note, []).append(gpu_label(answer.gpu))
    return [f"{', '.join(names)}: {note}" for note, names in gpus.items()]


def _note(found: MeasuredOutput) -> str:
    if found.match == AROUND:
        return "nearest below and above the requests at once that were asked for: other load, not comparable"
    return found.note
