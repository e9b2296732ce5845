"""Media models in the listing of models, and one of them in full."""

from __future__ import annotations

from typing import Any

from planner.architecture.formats import weight_format
from planner.architecture.media import build_component
from planner.catalogue import Catalogue
from planner.catalogue.media import MediaComponent, MediaModel, media_models
from planner.memory.media import FULL_NAMES
from planner.report.details import Detail
from planner.report.listings import models_table
from planner.report.table import Column, Table
from planner.scenario.media import media_workload, plural
from planner.units import format_count, format_significant

COMPONENT_COLUMNS = (
    Column("name", "component"),
    Column("role", "role"),
    Column("kind", "block"),
    Column("copies", "copies", right=True),
    Column("parameters", "params", right=True, show=format_count),
    Column("format", "format"),
    Column("weights_gb", "weights\nGB", right=True, show=lambda value: format_significant(value, 4)),
)


def all_models_table(catalogue: Catalogue, search: str | None = None) -> Table:
    """Return the language models of a catalogue, and then its media models.

    Parameters
    ----------
    catalogue : Catalogue
        Where they stand.
    search : str, optional
        Words that must all occur; every media model is found by "media" and by what it makes.

    Returns
    -------
    Table
    """
    table = models_table(catalogue, search)
    rows = [_row(model) for model in media_models(catalogue) if _matches(model, search)]
    return Table(table.columns, (*table.rows, *rows), table.title, table.more_keys)


def _matches(model: MediaModel, search: str | None) -> bool:
    texts = [model.id, model.name, model.hf_repo or "", *model.aliases, _status(model)]
    together = " ".join(texts).casefold()
    return all(word in together for word in (search or "").casefold().split())


def _status(model: MediaModel) -> str:
    return f"media: makes {plural(model.makes)}"


def _row(model: MediaModel) -> dict[str, Any]:
    parts = [_component(one) for one in model.components]
    return {
        "id": model.id,
        "parameters": sum(part["copies"] * part["parameters"] for part in parts),
        "active_parameters": sum(part["parameters"] for part in parts if part["role"] == "denoiser"),
        "weights_gb": sum(part["copies"] * part["weights_gb"] for part in parts),
        "max_context_tokens": None,
        "config_status": _status(model),
    }


def _component(component: MediaComponent) -> dict[str, Any]:
    parameters = build_component(component.kind, component.sizes).parameters()
    bits = weight_format(FULL_NAMES.get(component.format, component.format)).bits_per_weight
    return {
        "name": component.name,
        "role": component.role,
        "kind": component.kind,
        "copies": component.copies,
        "parameters": parameters,
        "format": component.format,
        "weights_gb": parameters * bits / 8e9,
    }


def media_detail(model: MediaModel, catalogue: Catalogue) -> Detail:
    """Return one media model in full.

    Parameters
    ----------
    model : MediaModel
        The record.
    catalogue : Catalogue
        For its aliases.

    Returns
    -------
    Detail
        Parameters are counted from its blocks.
    """
    row = _row(model)
    usual = media_workload(model, {})
    facts = (
        ("id", model.id),
        ("makes", plural(model.makes)),
        ("repository", model.hf_repo or ""),
        ("released", model.released or ""),
        ("parameters", f"{row['parameters']:,} in all components"),
        ("weights", f"{row['weights_gb']:,.1f} GB in the usual files"),
        ("usual workflow", f"{usual.text}, guidance {usual.guidance:g} ({model.defaults.provenance()})"),
        ("publisher says", ", ".join(f"{what} {size}" for what, size in model.published.items())),
        ("aliases", ", ".join(sorted({*catalogue.aliases("media_models", model.id)}, key=str.casefold))),
    )
    table = Table(COMPONENT_COLUMNS, tuple(_component(one) for one in model.components), "Components")
    data = {**model.model_dump(mode="json"), "computed": {"components": table.to_records(), **row}}
    lines = (("Sources", model.sources), ("Notes", model.notes))
    return Detail("planner.media_model/1", model.name, facts, (table,), lines, data)
