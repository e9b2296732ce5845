"""One entry of the catalogue in full: every figure with its unit, confidence, source and date."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planner.architecture import build_architecture
from planner.architecture.model import Architecture
from planner.architecture.totals import (
    active_parameters,
    kv_bytes_per_token,
    parameters,
    state_bytes,
    weight_bytes,
)
from planner.catalogue import Catalogue, Figure, Gpu, Model, Price
from planner.errors import PlannerError
from planner.report.listings import QUOTE_KEYS, price_row, usable_gib
from planner.report.table import GIB, Column, Table
from planner.scenario.schemes import weight_scheme
from planner.units import format_bytes, format_count, format_significant

MARKETED = "memory, marketed"
"""Sold in GB, and so shown in GB; all other memory is in GiB."""

FIGURE_COLUMNS = (
    Column("figure", "figure"),
    Column("value", "value", right=True),
    Column("confidence", "confidence"),
    Column("date", "date"),
    Column("source", "source"),
    Column("note", "note", flexible=True),
)

QUOTE_COLUMNS = (
    Column("usd_per_gpu_hour", "USD/h", right=True, show="{:,.2f}".format),
    Column("kind", "kind"),
    Column("date", "date"),
    Column("provider", "provider", flexible=True),
    Column("source", "source"),
    Column("note", "note", flexible=True),
)

VARIANT_COLUMNS = (
    Column("weight_dtype", "--weight-dtype"),
    Column("weights_gb", "weights GB", right=True, show="{:,.1f}".format),
    Column("status", "status"),
    Column("note", "note", flexible=True),
)


@dataclass(frozen=True, slots=True)
class Detail:
    """One entry of the catalogue, ready to be printed.

    Parameters
    ----------
    schema : str
        Name of the JSON object.
    heading : str
        What it is, in one line.
    facts : tuple of (label, text)
        Single facts.
    tables : tuple of Table
        Figures, variants or quotes.
    lines : tuple of (title, lines)
        Lists of texts.
    sources : tuple of (mark, text)
        The sources that tables refer to by mark.
    data : dict
        The same as plain data, units in the keys.
    """

    schema: str
    heading: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    lines: tuple[tuple[str, tuple[str, ...]], ...]
    data: dict[str, Any]
    sources: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as one JSON-ready object."""
        return {"schema": self.schema, **self.data}


def model_detail(model: Model, catalogue: Catalogue) -> Detail:
    """Return one model in full.

    Parameters
    ----------
    model : Model
        The record.
    catalogue : Catalogue
        For its aliases.

    Returns
    -------
    Detail
        Totals are computed from the model's blocks; where planner has no block for a part of it, the fact
        says which.
    """
    totals = _model_totals(model)
    status = f"{model.config_status}: {model.config_note}" if model.config_note else model.config_status
    facts = (
        ("id", model.id),
        ("repository", model.hf_repo or ""),
        ("released", model.released or ""),
        ("config", status),
        ("context", f"{model.max_context:,} tokens at most" if model.max_context else ""),
        *_total_facts(totals),
        ("publisher says", _published(model)),
        ("aliases", ", ".join(sorted({*catalogue.aliases("models", model.id)}, key=str.casefold))),
    )
    variants = tuple(
        {
            "weight_dtype": name,
            "weights_gb": None if variant.weight_bytes is None else variant.weight_bytes / 1e9,
            "status": variant.status,
            "note": variant.note,
        }
        for name, variant in model.quantisations.items()
    )
    tables = (Table(VARIANT_COLUMNS, variants, "Quantised variants"),) if variants else ()
    data = {
        **model.model_dump(mode="json"),
        "computed": {key: value for key, value in totals.items() if value is not None},
    }
    lines = (("Sources", model.sources), ("Notes", model.notes))
    return Detail("planner.model/1", model.name, facts, tables, lines, data)


def _model_totals(model: Model) -> dict[str, Any]:
    try:
        architecture = build_architecture(model.config)
    except PlannerError as error:
        return {"unsupported": str(error)}
    return {
        "parameters": parameters(architecture),
        "active_parameters": active_parameters(architecture),
        "weights_bytes": weight_bytes(architecture, weight_scheme(model, architecture)),
        "kv_bytes_per_token_bf16": kv_bytes_per_token(architecture, "bf16"),
        "kv_bytes_per_token_fp8": _kv_fp8(architecture),
        "state_bytes_per_request": state_bytes(architecture),
    }


def _kv_fp8(architecture: Architecture) -> float | None:
    try:
        return kv_bytes_per_token(architecture, "fp8")
    except PlannerError:
        return None


def _total_facts(totals: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "unsupported" in totals:
        yield "not supported", totals["unsupported"]
        return
    yield (
        "parameters",
        f"{format_count(totals['parameters'])}, {format_count(totals['active_parameters'])} active",
    )
    weights = totals["weights_bytes"]
    yield "weights", f"{weights / 1e9:,.1f} GB ({weights / GIB:,.1f} GiB) as the checkpoint has them"
    kv = f"{totals['kv_bytes_per_token_bf16']:,.0f} bytes a token in BF16"
    if totals["kv_bytes_per_token_fp8"] is not None:
        kv += f", {totals['kv_bytes_per_token_fp8']:,.0f} in FP8"
    yield "KV cache", f"{kv}, on one GPU without sharding"
    if totals["state_bytes_per_request"]:
        yield "state", f"{format_bytes(totals['state_bytes_per_request'])} a request, whatever its length"


def _published(model: Model) -> str:
    said = model.published
    parts = [
        f"{said.parameters} parameters" if said.parameters else "",
        f"{said.active_parameters} active" if said.active_parameters else "",
        f"{said.tensor_bytes / 1e9:,.1f} GB of tensors" if said.tensor_bytes else "",
    ]
    return ", ".join(part for part in parts if part)


def gpu_detail(gpu: Gpu, catalogue: Catalogue) -> Detail:
    """Return one accelerator in full.

    Parameters
    ----------
    gpu : Gpu
        The record.
    catalogue : Catalogue
        For its aliases.

    Returns
    -------
    Detail
        Every figure with source, date and confidence, and what other sources say about the same one.
    """
    usable = usable_gib(gpu)
    facts = (
        ("id", gpu.id),
        ("vendor", f"{gpu.vendor}, {gpu.architecture}" + (f" ({gpu.isa})" if gpu.isa else "")),
        ("status", gpu.status),
        ("launched", gpu.launch.value if gpu.launch else ""),
        ("usable memory", "not known" if usable is None else f"{usable:,.2f} GiB: {gpu.usable_source}"),
        ("GB and GiB", _marketed_in_gib(gpu)),
        ("formats", ", ".join(gpu.formats)),
        ("links", f"{gpu.scale_up.link}, {gpu.scale_up.topology}" if gpu.scale_up else ""),
        ("network", gpu.scale_out.fabric or ""),
        ("aliases", ", ".join(sorted({*catalogue.aliases("gpus", gpu.id)}, key=str.casefold))),
    )
    marks = _Marks()
    rows = tuple(row for name, figure in gpu_figures(gpu) for row in _figure_rows(name, figure, marks))
    lines = (("Notes", gpu.notes), ("Traps", gpu.traps))
    data = {"usable_gib": usable, **gpu.model_dump(mode="json", exclude_none=True)}
    table = Table(FIGURE_COLUMNS, rows, "Figures (dense peaks, links one way)")
    return Detail("planner.gpu/1", gpu.name, facts, (table,), lines, data, marks.listed())


def gpu_figures(gpu: Gpu) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of an accelerator with a name for each, in the order in which people ask for them.

    Parameters
    ----------
    gpu : Gpu
        The record.

    Yields
    ------
    (str, Figure)
    """
    memory, up, power = gpu.memory, gpu.scale_up, gpu.power
    named: list[tuple[str, Figure | None]] = [
        (MARKETED, memory.marketed),
        ("memory, driver", memory.driver),
        ("memory, process", memory.framework),
        ("memory, practical", memory.practical),
        ("memory bandwidth", memory.bandwidth),
        *((f"peak {dtype}", figure) for dtype, figure in gpu.peaks.items()),
        ("power", power.tdp),
        ("links of a GPU", up.per_gpu if up else None),
        ("one link", up.p2p_link if up else None),
        ("GPUs in a domain", up.domain_gpus if up else None),
        ("GPUs in a node", gpu.node.gpus),
        ("network of a GPU", gpu.scale_out.per_gpu),
    ]
    yield from ((name, figure) for name, figure in named if figure is not None)


class _Marks:
    """Numbers sources in the order in which they are first cited."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, title: str, url: str | None) -> str:
        """Return the mark of a source, such as "[3]"."""
        text = f"{title}, {url}" if url and url.removeprefix("https://") not in title else title
        return f"[{self._numbers.setdefault(text, len(self._numbers) + 1)}]"

    def listed(self) -> tuple[tuple[str, str], ...]:
        """Return every mark with its source."""
        return tuple((f"[{number}]", text) for text, number in self._numbers.items())


def _figure_rows(name: str, figure: Figure, marks: _Marks) -> Iterator[dict[str, Any]]:
    for label, stated in ((name, figure), *(("  or", other) for other in figure.alternatives)):
        yield {
            "figure": label,
            "value": _stated(name, stated),
            "confidence": stated.confidence,
            "date": stated.date,
            "source": marks.mark(stated.source.title, stated.source.url),
            "note": stated.note,
        }


def _stated(name: str, figure: Figure) -> str:
    if name == MARKETED:
        return f"{figure.value / 1e9:g} GB"
    if name.startswith("peak int"):
        return f"{format_significant(figure.value / 1e12, 5)} TOPS"
    return str(figure)


def _marketed_in_gib(gpu: Gpu) -> str:
    """Return what to know where the number that is sold as GB is the number of GiB there are."""
    sold, driver = gpu.memory.marketed, gpu.memory.driver
    if sold is None or driver is None or abs(driver.value / GIB - sold.value / 1e9) > 0.01 * sold.value / 1e9:
        return ""
    return (
        f"sold as {sold.value / 1e9:g} GB, but the driver reports {driver.value / GIB:,.2f} GiB, which is "
        f"{driver.value / 1e9:,.1f} GB: the number that is sold counts GiB (2**30 bytes)"
    )


def price_detail(gpu: Gpu, catalogue: Catalogue) -> Detail:
    """Return the prices of one accelerator with their sources, the lowest of each kind first.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    catalogue : Catalogue
        Where the prices stand.

    Returns
    -------
    Detail
    """
    prices = sorted(catalogue.prices(gpu.id), key=lambda price: (price.kind.value, price.usd_per_gpu_hour))
    marks = _Marks()
    rows = tuple(_quote_row(price, marks) for price in prices)
    heading = f"{gpu.name} ({gpu.id}): {len(rows)} prices in USD per GPU-hour"
    tables = (Table(QUOTE_COLUMNS, rows),) if rows else ()
    data = {"prices": [{key: price_row(price)[key] for key in QUOTE_KEYS} for price in prices]}
    return Detail("planner.prices/1", heading, (), tables, (), data, marks.listed())


def _quote_row(price: Price, marks: _Marks) -> dict[str, object]:
    doubt = "" if price.confidence == "published" else price.confidence
    note = "; ".join(part for part in (doubt, price.note) if part)
    mark = marks.mark(price.source.title, price.source.url)
    return {**price_row(price), "source": mark, "note": note or None}
